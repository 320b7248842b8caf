//! Branches that are to be differentiated: nothing flows through one where it is not taken, not even what is no number.

use super::{Eval, Term};
use crate::ast::{Call, Expr, Kind};
use crate::builtin;
use crate::named::{Named, pointwise};
use crate::scope::{Names, besides};

/// Where something does not hold.
pub(super) fn not(truth: &Named) -> Named {
    Named { tensor: truth.tensor.logical_not(), ..truth.clone() }
}

impl Term<'_> {
    /// Evaluates something that counts where all of these hold.
    pub(super) fn taken<R>(&self, masks: &[Named], f: impl FnOnce() -> Eval<R>) -> Eval<R> {
        if !self.options.is_derived() {
            return f();
        }
        let before = self.masks.borrow().len();
        self.masks.borrow_mut().extend_from_slice(masks);
        let out = f();
        self.masks.borrow_mut().truncate(before);
        out
    }

    /// A tensor that branches read. It is the same everywhere, but constant where they are not taken: what flows back to it
    /// from there is 0, whatever the derivative of the branch is.
    pub(super) fn where_taken(&self, x: Named) -> Named {
        if x.tensor.dtype() != self.options.float {
            return x;
        }
        self.masks.borrow().iter().fold(x, |x, mask| {
            let gone = mask.axes.iter().enumerate().filter(|(_, a)| !x.axes.contains(a));
            let gone: Vec<isize> = gone.map(|(i, _)| i as isize).collect();
            let axes = mask.axes.iter().filter(|a| x.axes.contains(a)).cloned().collect();
            let here = if gone.is_empty() { mask.tensor.clone() } else { mask.tensor.any(gone) };
            pointwise(&[x, Named::new(here, axes)], |t| t[1].select(t[0], &t[0].stop_gradient()))
        })
    }

    /// A call that chooses, as a choice, where that makes a difference.
    pub(super) fn choice(&self, call: &Call) -> Option<Kind> {
        if self.options.is_derived() { builtin::choice(call, self.program) } else { None }
    }

    /// The value of the first case whose condition holds.
    pub(super) fn cases(
        &self,
        e: &Expr,
        cases: &[[Expr; 2]],
        otherwise: Option<&Expr>,
        keep: &Names,
    ) -> Eval<Named> {
        let float = self.options.float;
        let parts: Vec<Expr> = e.parts().into_iter().cloned().collect();
        let around = besides(keep, &parts);
        let (mut choices, mut masks) = (Vec::new(), Vec::new());
        for (i, [condition, value]) in cases.iter().enumerate() {
            let condition = self.eval(condition, &around[2 * i])?.truth();
            masks.push(condition.clone());
            let value = self.taken(&masks, || self.eval(value, &around[2 * i + 1]))?.float(float);
            masks.pop();
            masks.push(not(&condition));
            choices.push((condition, value));
        }
        let last = match otherwise {
            Some(value) => self.taken(&masks, || self.eval(value, &around[2 * cases.len()]))?.float(float),
            None => Named::scalar(0.0, float),
        };
        let choose = |below, (c, v)| pointwise(&[c, v, below], |t| t[0].select(t[1], t[2]));
        Ok(choices.into_iter().rev().fold(last, choose))
    }
}
