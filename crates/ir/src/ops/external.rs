//! External routines: ops that are neither loop nests nor movements, with the functions that devices may compute in
//! their own way.

use super::{Form, linalg};
use crate::{Literal, Result};
use std::sync::Arc;

impl Form {
    /// Returns the form of an op that devices do not recognise: they call `reference`.
    pub fn external(reference: impl Fn(&[Literal]) -> Result<Vec<Literal>> + Send + Sync + 'static) -> Form {
        Form::External { kind: External::Other, reference: Arc::new(reference) }
    }
}

/// The function that an external routine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    /// A factorisation of matrices, or another function of them.
    Matrix(linalg::Factorisation),
    /// A function that devices do not recognise: they call its definition.
    Other,
}

/// The definition of an external routine: a function from operands to results.
pub type Routine = dyn Fn(&[Literal]) -> Result<Vec<Literal>> + Send + Sync;
