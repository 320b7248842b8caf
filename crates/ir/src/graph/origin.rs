//! Where nodes come from: what a user's program called on which line. Kept beside the meaning of a graph, which does not
//! depend on it, so that what fails when a compiled program runs is named as it would have been at once.

use crate::Aval;
use std::panic::Location;
use std::sync::Arc;

/// What was called, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    name: String,
    operands: Vec<Aval>,
    place: &'static Location<'static>,
    line: Option<String>,
}

impl Origin {
    /// The call of an op or composite on operands at a place; `line` is that of another language, if the program is written
    /// in one.
    pub fn new(
        name: &str,
        operands: Vec<Aval>,
        place: &'static Location<'static>,
        line: Option<String>,
    ) -> Origin {
        Origin(Arc::new(Inner { name: name.to_string(), operands, place, line }))
    }

    /// The op or composite that was called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The types of what it was called on.
    pub fn operands(&self) -> &[Aval] {
        &self.0.operands
    }

    /// The place in Rust.
    pub fn place(&self) -> &'static Location<'static> {
        self.0.place
    }

    /// The line in another language.
    pub fn line(&self) -> Option<&str> {
        self.0.line.as_deref()
    }
}
