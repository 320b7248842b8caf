//! What a check found.

use std::fmt;

/// A claim that does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The check that noticed, as `adjoint` or `second: adjoint`.
    pub check: String,
    /// The op or graph, with its operands.
    pub of: String,
    /// The operand the claim was about, when it was about one alone.
    pub operand: Option<usize>,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub found: String,
}

impl Failure {
    /// A claim of this check that does not hold.
    pub fn new(check: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Failure {
        Failure {
            check: check.into(),
            of: String::new(),
            operand: None,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    /// About this operand alone, if it is one.
    pub fn operand(self, operand: Option<usize>) -> Failure {
        Failure { operand: operand.or(self.operand), ..self }
    }

    /// Noticed within a larger check.
    pub fn within(self, check: &str) -> Failure {
        Failure { check: format!("{check}: {}", self.check), ..self }
    }

    /// Names what was checked, unless something within it has been named already.
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
