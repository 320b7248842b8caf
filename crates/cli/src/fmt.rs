//! `gradus fmt`: formats programs.

use crate::args::FmtArgs;
use crate::{Done, Failure, Terminal, open};
use gradus::files::atomic;
use gradus::lang::format;
use std::path::Path;

pub(crate) fn run(args: &FmtArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut changed = Vec::new();
    for file in &args.files {
        let source = open::text(file, terminal)?;
        let formatted = format(&source)?;
        let same = *formatted == *source.text;
        match (args.check, file == Path::new("-")) {
            (true, _) if !same => changed.push(source.name.to_string()),
            (true, _) => {}
            (false, true) => write!(terminal.out, "{formatted}")?,
            (false, false) if same => {}
            (false, false) => atomic::write(file, &[formatted.as_bytes()])?,
        }
    }
    match changed.is_empty() {
        true => Ok(()),
        false => {
            Err(Failure::Run(format!("not formatted: {}; `gradus fmt` formats them", changed.join(", "))))
        }
    }
}
