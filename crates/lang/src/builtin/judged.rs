//! Data that evaluation passes around: run-time checks, and the positions of computed indices.

use super::named::Named;
use crate::syntax::ast::Name;
use crate::syntax::source::Span;
use gradus_ir::DType;
use gradus_tensor::Tensor;

/// The kind of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuntimeCheck {
    /// A fixpoint has converged.
    Converged,
    /// A time that ends by a condition has ended within this number of steps.
    Ends(usize),
    /// Numbers are integers.
    Whole,
    /// Numbers are integers below this number of classes, and not negative.
    Class(usize),
    /// Computed indices are positions of an axis with this extent.
    Position(usize),
}

/// The iteration of a loop whose check counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The first that failed: every iteration is part of the result.
    Each,
    /// The last: earlier ones were approximations.
    Last,
}

/// A check with its name, location and result in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) judged: RuntimeCheck,
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) verdict: Tensor,
}

/// The time step in which numbers are computed.
#[derive(Clone, Debug)]
pub(crate) enum AtStep {
    /// The current step.
    Now(Tensor),
    /// All steps at once: this axis has them, if there is one.
    Axis(Name),
}

/// The positions of one index entry, along an axis.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// The positions, as integers by index.
    pub(crate) at: Named,
    /// The least and the largest position, if known before the run: only for index arithmetic.
    pub(crate) range: Option<(i64, i64)>,
    /// If true, a position out of range is an error, as for computed indices.
    pub(crate) strict: bool,
    pub(crate) span: Span,
    /// The time step in which the positions are computed.
    pub(crate) step: Option<AtStep>,
}

impl Positions {
    /// Returns true if each position is within an extent, or `None` if all are known to be.
    pub(crate) fn inside(&self, extent: usize) -> Option<Named> {
        let n = extent as i64;
        match self.range {
            Some((low, high)) if low >= 0 && high < n => None,
            _ => {
                let t = &self.at.tensor;
                let lower = Tensor::full([], 0.0).to_dtype(DType::I64);
                let upper = Tensor::full([], n as f64).to_dtype(DType::I64);
                Some(self.at.with(t.ge(&lower).logical_and(&t.lt(&upper))))
            }
        }
    }
}
