//! Texts and places in them.

use std::sync::Arc;

/// A stretch of bytes in one of a program's texts.
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
    /// From the beginning of one to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span { end: other.end.max(self.end), ..self }
    }
}

/// A text with the name it is shown under.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in messages.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl Source {
    /// A text under a name.
    pub fn new(name: impl AsRef<str>, text: impl AsRef<str>) -> Source {
        // Some editors begin texts with a mark that says nothing.
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

    /// What stands in a span.
    pub fn slice(&self, span: Span) -> &str {
        let (start, end) = (span.start as usize, span.end as usize);
        self.text.get(start.min(self.text.len())..end.min(self.text.len())).unwrap_or("")
    }
}
