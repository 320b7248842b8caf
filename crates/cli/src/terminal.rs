//! Where the command reads and writes: a terminal, files, or buffers in tests.

use std::io::{self, BufRead, BufWriter, IsTerminal, Write};

/// Standard input, output and errors, and what the output can show.
pub struct Terminal<'a> {
    /// What `-` reads.
    pub input: Box<dyn BufRead + 'a>,
    /// Results.
    pub out: Box<dyn Write + 'a>,
    /// What went wrong.
    pub err: Box<dyn Write + 'a>,
    /// Whether messages are coloured.
    pub colour: bool,
    /// Whether a person types: then lines can be edited.
    pub interactive: bool,
}

impl Terminal<'_> {
    /// Those of this process.
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

    /// A message behind a word that says what kind it is.
    pub(crate) fn marked(&self, word: &str, text: &str) -> String {
        if self.colour { format!("\x1b[1;31m{word}\x1b[0m: {text}") } else { format!("{word}: {text}") }
    }

    /// The exit code when all is written. A reader that has seen enough (`| head`) is no failure.
    pub(crate) fn flushed(&mut self) -> u8 {
        match self.out.flush() {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => 1,
            _ => 0,
        }
    }
}
