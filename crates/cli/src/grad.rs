//! `gradus grad`.

use crate::args::GradArgs;
use crate::{Done, Terminal, open};
use gradus::files::atomic;
use gradus::lang::GradientOptions;

pub(crate) fn run(args: &GradArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program(&args.file, terminal)?;
    let program = &opened.program;
    let options = GradientOptions {
        loss: args.loss.as_deref().map(Into::into),
        wrt: args.wrt.iter().map(|n| n.trim().into()).collect(),
        merged: args.merged,
    };
    let pointed = |f| crate::pointed(f, args.command.as_ref(), &["--loss", "--wrt"]);
    let gradient = program.gradient(&options).map_err(pointed)?;
    open::warn(program, &gradient.warnings, terminal);
    let mut text = String::new();
    if !args.gradients_only {
        text.push_str(program.open_text().trim_end());
        text.push_str("\n\n");
    }
    text.push_str(&gradient.text());
    match &args.output {
        Some(path) => atomic::write(path, &[text.as_bytes()])?,
        None => write!(terminal.out, "{text}")?,
    }
    Ok(())
}
