//! Determines the dtypes of names with time: those that a step gives them.

use super::Solver;
use crate::lower::eval::{Eval, Fault};
use gradus_ir::DType;
use std::cell::RefCell;

/// The dtype of a name before its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// The name has no value before its steps.
    Nothing,
    /// Integer literals, which take the dtype of the operands they are combined with.
    Open,
    /// A fixed dtype.
    Known(DType),
}

impl Solver<'_> {
    /// Infers the dtypes of names with time. `round` maps the dtypes of the names to those after one step; its flag says
    /// whether booleans are still open. An open dtype, boolean or not, becomes that of the other operands, and the float
    /// dtype of the program if there are none. A group that consists only of steps which return booleans is boolean.
    pub(super) fn kinds_of_steps(
        &self,
        before: &[Before],
        inside: &RefCell<Option<Fault>>,
        round: impl Fn(&[DType], bool) -> Vec<DType>,
    ) -> Eval<Vec<DType>> {
        let float = self.options.float;
        let round = |dtypes: &[DType], open: bool| {
            let found = self.options.guessed(open, || round(dtypes, open));
            inside.borrow_mut().take().map_or(Ok(found), Err)
        };
        let first = |b: &Before| if let Before::Known(d) = b { *d } else { DType::Bool };
        let mut dtypes: Vec<DType> = before.iter().map(first).collect();
        loop {
            let found = round(&dtypes, true)?;
            let wider: Vec<DType> = dtypes.iter().zip(found).map(|(a, b)| a.promote(b)).collect();
            if wider == dtypes {
                break;
            }
            dtypes = wider;
        }
        dtypes.iter_mut().filter(|d| **d == DType::Bool).for_each(|d| *d = float);
        while before.contains(&Before::Nothing) {
            let found = round(&dtypes, false)?;
            let is_truth = |g: usize| before[g] == Before::Nothing && found[g] == DType::Bool;
            let truths: Vec<usize> =
                (0..before.len()).filter(|g| is_truth(*g) && dtypes[*g] != DType::Bool).collect();
            if truths.is_empty() {
                break;
            }
            truths.into_iter().for_each(|g| dtypes[g] = DType::Bool);
        }
        Ok(dtypes)
    }
}
