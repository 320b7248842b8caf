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
    line: Option<Line>,
}

/// A line of a program that is not written in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The line as a front end shows it, such as that of a Python traceback.
    Text(String),
    /// A part of a source text.
    Part {
        /// The number of the source text.
        file: u32,
        /// The first byte.
        start: u32,
        /// The byte after the last.
        end: u32,
        /// The time step that the line computes. `None` outside of time steps, and where all steps are computed at once.
        step: Option<Step>,
    },
}

/// The time step that a line computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This step.
    One(i64),
    /// A step for each iteration of a loop.
    Each {
        /// The number of loops around the line.
        loops: usize,
        /// The index of the loop over steps among these loops; the outermost loop has index 0.
        number: usize,
        /// The step of iteration 0.
        first: i64,
    },
}

impl Step {
    /// Returns the step that is `by` later.
    pub fn later(self, by: i64) -> Step {
        match self {
            Step::One(step) => Step::One(step + by),
            Step::Each { loops, number, first } => Step::Each { loops, number, first: first + by },
        }
    }

    /// Returns the step in these iterations of the loops around the line, innermost loop first. Returns `None` if their
    /// number differs from `loops`, as for an op that the compiler moved out of a loop.
    pub fn at(self, iterations: &[usize]) -> Option<i64> {
        match self {
            Step::One(step) => Some(step),
            Step::Each { loops, number, first } if iterations.len() == loops => {
                iterations.iter().rev().nth(number).map(|i| first + *i as i64)
            }
            Step::Each { .. } => None,
        }
    }
}

impl Origin {
    /// Records the call of an op or composite on `operands` at a source location. `line` is the line in another
    /// language, if the program is written in one.
    pub fn new(
        name: &str,
        operands: Vec<Aval>,
        location: &'static Location<'static>,
        line: Option<Line>,
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
    pub fn line(&self) -> Option<&Line> {
        self.0.line.as_ref()
    }
}
