//! The input and output of the command: a terminal, files, or buffers in tests.

use std::io::{self, BufRead, BufWriter, IsTerminal, Write};

/// Standard input, output and error, and the capabilities of the output.
pub struct Terminal<'a> {
    /// Standard input, read by `-`.
    pub input: Box<dyn BufRead + 'a>,
    /// Standard output, for results.
    pub out: Box<dyn Write + 'a>,
    /// Standard error, for messages.
    pub err: Box<dyn Write + 'a>,
    /// If true, messages are coloured.
    pub colour: bool,
    /// If true, input and output are a terminal, so that lines can be edited.
    pub interactive: bool,
}

impl Terminal<'_> {
    /// Returns the standard streams of this process.
    pub fn of_process() -> Terminal<'static> {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Terminal {
            input: Box::new(io::stdin().lock()),
            out: Box::new(BufWriter::new(io::stdout())),
            err: Box::new(io::stderr()),
            colour: io::stderr().is_terminal() && !plain,
            interactive: io::stdin().is_terminal() && io::stdout().is_terminal(),
        }
    }

    /// Returns a message after a word for its kind, such as `error: …`.
    pub(crate) fn marked(&self, word: &str, text: &str) -> String {
        if self.colour { format!("\x1b[1;31m{word}\x1b[0m: {text}") } else { format!("{word}: {text}") }
    }

    /// Flushes the output and returns the exit code. A closed pipe, as of `| head`, is not a failure.
    pub(crate) fn flushed(&mut self) -> u8 {
        match self.out.flush() {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => 1,
            _ => 0,
        }
    }
}
