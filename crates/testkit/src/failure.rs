//! The failure of a check.

use std::fmt;

/// A failed check.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The check that failed, such as `adjoint` or `second: adjoint`.
    pub check: String,
    /// The op or graph, with its operands.
    pub of: String,
    /// The operand, if the check was about one alone.
    pub operand: Option<usize>,
    /// The expected outcome.
    pub expected: String,
    /// The outcome found.
    pub found: String,
}

impl Failure {
    /// Makes a failure of this check.
    pub fn new(check: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Failure {
        Failure {
            check: check.into(),
            of: String::new(),
            operand: None,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    /// Sets the operand, if the check was about one alone.
    pub fn operand(self, operand: Option<usize>) -> Failure {
        Failure { operand: operand.or(self.operand), ..self }
    }

    /// Adds the name of a larger check that contains this one.
    pub fn within(self, check: &str) -> Failure {
        Failure { check: format!("{check}: {}", self.check), ..self }
    }

    /// Names the checked item, unless an inner item was named before.
    pub fn of(mut self, what: impl fmt::Display) -> Failure {
        if self.of.is_empty() {
            self.of = what.to_string();
        }
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.check)?;
        if let Some(i) = self.operand {
            write!(f, ", operand {i}")?;
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)?;
        if self.of.is_empty() { Ok(()) } else { write!(f, "\n  of {}", self.of.replace('\n', "\n  ")) }
    }
}

impl std::error::Error for Failure {}
