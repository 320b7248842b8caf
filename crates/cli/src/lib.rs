//! The command `gradus`, as a library: `main` is a function of arguments and a terminal, so that tests can
//! call it.
#![forbid(unsafe_code)]

mod args;
mod check;
mod convert;
mod devices;
mod embed;
mod explain;
mod export;
mod fmt;
mod generate;
mod grad;
mod inputs;
mod inspect;
mod open;
mod query;
mod repl;
mod run;
mod sample;
mod serve;
mod show;
mod tables;
mod terminal;
mod train;
mod tune;
mod web;

pub use terminal::Terminal;

use args::{Cli, Verb};
use clap::{CommandFactory, Parser};
use gradus::lang::{Faults, Source, Span};
use std::ffi::OsString;
use std::sync::Arc;

/// The reason why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The program is wrong, or its run failed.
    Program(Faults),
    /// Another error: a file, a size, a wrong gradient.
    Run(String),
    /// The command line is wrong.
    Usage(String),
    /// The command line is wrong; the message shows the position.
    UsageAt(Faults),
}

pub(crate) type Done<T = ()> = Result<T, Failure>;

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Failure {
        Failure::Program(faults)
    }
}

impl From<gradus::Error> for Failure {
    fn from(e: gradus::Error) -> Failure {
        Failure::Run(e.message())
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        Failure::Run(e.to_string())
    }
}

/// Returns the command line as one text, for messages that point at it.
fn command(args: &[OsString]) -> Source {
    let words = args.iter().skip(1).map(|a| a.to_string_lossy());
    Source::new("command line", words.fold("gradus".to_string(), |all, word| format!("{all} {word}")))
}

/// Gives positions to faults that have none: each gets that of the option in `options` whose value it is about.
pub(crate) fn point_at_options(mut faults: Faults, command: Option<&Source>, options: &[&str]) -> Faults {
    let Some(command) = command else { return faults };
    let file = faults.sources.len() as u32;
    let spans: Vec<Span> = options.iter().filter_map(|o| command.option(o, file)).collect();
    for fault in faults.faults.iter_mut().filter(|f| f.span() == Span::NOWHERE) {
        let named = |s: &&Span| {
            let words = command.slice(**s).split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'');
            words.filter(|w| !w.is_empty()).any(|w| fault.names.iter().any(|n| **n == *w))
        };
        if let (Some(span), Some(label)) = (spans.iter().find(named), fault.labels.first_mut()) {
            label.0 = *span;
        }
    }
    faults.sources.push(command.clone());
    faults
}

/// Returns true if a fault points at the command line, for instance at an option that the program does not
/// use.
fn points_at_command(faults: &Faults, command_line: &Source) -> bool {
    let inside = |(span, _): &(Span, String)| {
        faults.sources.get(span.file as usize).is_some_and(|s| Arc::ptr_eq(&s.text, &command_line.text))
    };
    faults.faults.iter().any(|f| f.labels.iter().any(inside))
}

/// Runs the command and returns its exit code: 0, or 1 if the program or its run failed, or 2 if the
/// arguments are wrong.
pub fn main<I, T>(args: I, terminal: &mut Terminal<'_>) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let command_line = command(&args);
    let cli = match Cli::try_parse_from(&args) {
        Ok(mut cli) => {
            if let Some(command) = cli.verb.command() {
                *command = Some(command_line.clone());
            }
            cli
        }
        Err(e) => {
            let text = if terminal.colour { e.render().ansi().to_string() } else { e.render().to_string() };
            let to = if e.use_stderr() { &mut terminal.err } else { &mut terminal.out };
            let _ = write!(to, "{text}");
            return e.exit_code() as u8;
        }
    };
    let done = match &cli.verb {
        Verb::Run(args) => run::run(args, terminal),
        Verb::Grad(args) => grad::run(args, terminal),
        Verb::Check(args) => check::run(args, terminal),
        Verb::Explain(args) => explain::run(args, terminal),
        Verb::Export(args) => export::run(args, terminal),
        Verb::Web(args) => web::run(args, terminal),
        Verb::Devices(args) => devices::run(args, terminal),
        Verb::Fmt(args) => fmt::run(args, terminal),
        Verb::Query(args) => query::run(args, terminal),
        Verb::Train(args) => train::run(args, terminal),
        Verb::Sample(args) => sample::run(args, terminal),
        Verb::Generate(args) => generate::run(args, terminal),
        Verb::Chat(args) => generate::chat(args, terminal),
        Verb::Tune(args) => tune::run(args, terminal),
        Verb::Embed(args) => embed::run(args, terminal),
        Verb::Serve(args) => serve::run(args, terminal),
        Verb::Inspect(args) => inspect::run(args, terminal),
        Verb::Convert(args) => convert::run(args, terminal),
        Verb::Repl(args) => repl::run(args, terminal),
        Verb::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "gradus", &mut text);
            terminal.out.write_all(&text).map_err(Failure::from)
        }
    };
    let (code, text) = match done {
        Ok(()) => return terminal.flushed(),
        Err(Failure::Program(faults)) => {
            (1 + u8::from(points_at_command(&faults, &command_line)), faults.render(terminal.colour))
        }
        Err(Failure::UsageAt(faults)) => (2, faults.render(terminal.colour)),
        Err(Failure::Run(why)) => (1, terminal.marked("error", &why)),
        Err(Failure::Usage(why)) => (2, terminal.marked("error", &why)),
    };
    let _ = terminal.out.flush();
    let _ = writeln!(terminal.err, "{text}");
    code
}
