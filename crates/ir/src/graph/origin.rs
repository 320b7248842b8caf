//! The origin of nodes: which function a user's program called on which line. It does not affect the meaning of a
//! graph. If a compiled program fails, the error names the call as an eager failure would.

use crate::Aval;
use std::panic::Location;
use std::sync::Arc;

/// A call in a user's program, and its source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    name: String,
    operands: Vec<Aval>,
    location: &'static Location<'static>,
    line: Option<String>,
}

impl Origin {
    /// Records the call of an op or composite on `operands` at a source location. `line` is the line in another
    /// language, if the program is written in one.
    pub fn new(
        name: &str,
        operands: Vec<Aval>,
        location: &'static Location<'static>,
        line: Option<String>,
    ) -> Origin {
        Origin(Arc::new(Inner { name: name.to_string(), operands, location, line }))
    }

    /// Returns the op or composite that was called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the types of the operands of the call.
    pub fn operands(&self) -> &[Aval] {
        &self.0.operands
    }

    /// Returns the source location in Rust.
    pub fn location(&self) -> &'static Location<'static> {
        self.0.location
    }

    /// Returns the line in another language.
    pub fn line(&self) -> Option<&str> {
        self.0.line.as_deref()
    }
}
