//! Source texts and locations in them.

use std::sync::Arc;

/// A byte range in one of a program's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which text: 0 is the program itself, the others are imported.
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// No location: for errors about the entire program or its environment.
    pub const NOWHERE: Span = Span { file: u32::MAX, start: 0, end: 0 };

    /// Returns true if the other span is part of this one.
    pub fn holds(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// Returns the span from the start of this one to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span { end: other.end.max(self.end), ..self }
    }
}

/// A text with its name in messages.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in messages.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl Source {
    /// Makes a text with a name for messages.
    pub fn new(name: impl AsRef<str>, text: impl AsRef<str>) -> Source {
        // Removes the byte order mark that some editors write.
        let text = text.as_ref().trim_start_matches('\u{feff}');
        Source { name: name.as_ref().into(), text: text.into() }
    }

    /// Line and column of a byte, from 1.
    pub fn position(&self, byte: u32) -> (usize, usize) {
        let end = (0..=byte as usize).rev().find(|i| self.text.is_char_boundary(*i)).unwrap_or(0);
        let before = &self.text[..end];
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        (line, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    }

    /// Returns the span of an option in a command (`--steps`, `--set K=`), including its value.
    pub fn option(&self, option: &str, file: u32) -> Option<Span> {
        let start = self.text.find(option)?;
        let rest = &self.text[start + option.len()..];
        let value = rest.trim_start_matches([' ', '=']);
        // Up to the next option.
        let begins = |at: &usize| value[at + 2..].starts_with(|c: char| c == '-' || c.is_ascii_alphabetic());
        let length = value.match_indices(" -").map(|m| m.0).find(begins).unwrap_or(value.len());
        let end = start + option.len() + (rest.len() - value.len()) + length;
        Some(Span { file, start: start as u32, end: end as u32 })
    }

    /// Returns the text of a span.
    pub fn slice(&self, span: Span) -> &str {
        let (start, end) = (span.start as usize, span.end as usize);
        self.text.get(start.min(self.text.len())..end.min(self.text.len())).unwrap_or("")
    }
}
