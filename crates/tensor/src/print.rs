//! Printing.

use crate::tensor::{Inner, Tensor};
use std::fmt;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Inner::Failed(e) => write!(f, "failed: {e}"),
            Inner::Node(n) => write!(f, "traced {}", n.aval),
            _ => write!(f, "{:?}", self.to_literal()),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
