//! Python's names in messages of the core: PyTorch's dtypes, functions and arguments.
//! Takes the values of a message; returns text. `error.rs` chooses the exception class.

use gradus::ir::graph::Line;
use gradus::ir::{Term, Words};
use gradus::{DType, Error};

/// The names that Python users know.
pub(crate) struct PythonWords;

impl Words for PythonWords {
    fn dtype(&self, dtype: DType) -> &'static str {
        crate::dtype::name(dtype)
    }

    fn term(&self, term: Term) -> &'static str {
        match term {
            Term::Select => "`where`",
            Term::NoGrad => "`no_grad()`",
            Term::LeafValue => "`.data`",
            Term::Cell => "a tensor from outside",
            Term::Mutable | Term::Leaf => "a leaf with `requires_grad=True`",
            Term::Wrt => "inputs",
            Term::AllowUnused => "`allow_unused=True`",
            Term::Seed => "gradient",
            Term::BackwardWithSeed => "`backward(gradient)`",
            Term::Rest => "`...`",
        }
    }

    fn op<'a>(&self, op: &'a str) -> &'a str {
        match op {
            "select" => "where",
            "with_at" => "index_put",
            op => op,
        }
    }
}

/// Returns the message of an error in Python's words. The traceback shows the caller's line, so the location
/// in Rust is omitted; an error of a recorded operation ends with the line that recorded the operation.
pub(crate) fn message(error: &Error) -> String {
    let text = error.text(&PythonWords);
    match error.line() {
        Some(Line::Text(line)) => format!("{text}\n  {line}"),
        Some(Line::Part { .. }) | None => text,
    }
}
