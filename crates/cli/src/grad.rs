//! `gradus grad`: writes the gradient of a program as equations.

use crate::args::GradArgs;
use crate::{Done, Terminal, open};
use gradus::files::atomic;
use gradus::lang::GradientOptions;
use std::path::Path;

pub(crate) fn run(args: &GradArgs, terminal: &mut Terminal<'_>) -> Done {
    args.on.device()?;
    let opened = open::program(&args.file, terminal)?;
    let program = &opened.program;
    let options = GradientOptions {
        loss: args.loss.as_deref().map(Into::into),
        wrt: args.wrt.iter().map(|n| n.as_str().into()).collect(),
        merged: args.merged,
        complex: args.complex.iter().map(|n| n.as_str().into()).collect(),
    };
    let pointed = |f| crate::point_at_options(f, args.command.as_ref(), &["--loss", "--wrt", "--complex"]);
    let gradient = program.gradient(&options).map_err(pointed)?;
    // A program that cannot run must not get a gradient program.
    program.check_sizes()?;
    open::warn(program, &gradient.warnings, terminal);
    let mut text = String::new();
    if !args.gradients_only {
        let relative_path =
            args.output.as_deref().map(|path| relative_path(&open::folder(path), &opened.folder));
        text.push_str(program.open_text_from(&relative_path.unwrap_or_default()).trim_end());
        text.push_str("\n\n");
    }
    text.push_str(&gradient.text());
    match &args.output {
        Some(path) => atomic::write(path, &[text.as_bytes()])?,
        None => write!(terminal.out, "{text}")?,
    }
    Ok(())
}

/// Returns the relative path from one folder to another; empty if they are the same, or one of them does not
/// exist.
fn relative_path(from: &Path, to: &Path) -> String {
    let (Ok(from), Ok(to)) = (from.canonicalize(), to.canonicalize()) else { return String::new() };
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_string());
    let down = to.components().skip(shared).map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}
