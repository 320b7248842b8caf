//! Evaluates branches so that they can be differentiated: no gradient flows through a branch where it is not taken,
//! even if the branch is NaN there.

use super::{Eval, Fault, Term, real};
use crate::builtin::Mixes;
use crate::builtin::named::{Named, meeting, pointwise};
use crate::elaborate::core::{Call, Expr};
use crate::elaborate::scope::distinct;
use crate::syntax::ast::Name;
use gradus_ir::Class;

/// Returns the negation of a condition.
pub(super) fn not(truth: &Named) -> Named {
    truth.with(truth.tensor.logical_not())
}

/// Returns a condition that is true where this one holds at some position along the axes that do not stay.
fn anywhere(truth: &Named, stays: impl Fn(&Name) -> bool) -> Named {
    let gone = truth.axes.iter().enumerate().filter(|(_, a)| !stays(a));
    let gone: Vec<isize> = gone.map(|(i, _)| i as isize).collect();
    if gone.is_empty() {
        return truth.clone();
    }
    let axes = truth.axes.iter().filter(|a| stays(a)).cloned().collect();
    Named::new(truth.tensor.any(gone), axes)
}

impl Term<'_> {
    /// Evaluates `f` in a branch that is taken where all of `masks` hold.
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

    /// Evaluates an expression through which no gradient flows, such as a position: it keeps its own axes in a branch.
    pub(super) fn constant<R>(&self, f: impl FnOnce() -> Eval<R>) -> Eval<R> {
        let before = self.masks.take();
        let out = f();
        self.masks.replace(before);
        out
    }

    /// Evaluates arguments of a call. Along axes that the call mixes, an argument is needed everywhere if the branch
    /// is taken anywhere.
    pub(super) fn mixed<R>(&self, call: &Call, f: impl FnOnce() -> Eval<R>) -> Eval<R> {
        if self.masks.borrow().is_empty() || matches!(call.mixes, Mixes::Nothing) {
            return f();
        }
        self.brought_together(|a| call.mixes.contains(a), f)
    }

    /// Evaluates an expression whose positions along some axes are combined afterwards.
    pub(super) fn brought_together<R>(
        &self,
        gone: impl Fn(&Name) -> bool,
        f: impl FnOnce() -> Eval<R>,
    ) -> Eval<R> {
        let before = self.masks.borrow().clone();
        self.masks.borrow_mut().iter_mut().for_each(|m| *m = anywhere(m, |a| !gone(a)));
        let out = f();
        *self.masks.borrow_mut() = before;
        out
    }

    /// Returns a tensor that a branch reads. Its value is unchanged, but it is constant where the branch is
    /// not taken, so the gradient from there is 0 even if the derivative of the branch is not finite.
    pub(super) fn where_taken(&self, x: Named) -> Named {
        if x.tensor.dtype().class() < Class::Float {
            return x;
        }
        let masked = |x: Named, mask: &Named| {
            // The branch keeps all axes of a condition. They come first, because a function's own axes are the last.
            let more = mask.axes.iter().filter(|a| !x.axes.contains(a)).cloned();
            let order: Vec<Name> = more.chain(x.axes.iter().cloned()).collect();
            let both = pointwise(&[x, mask.clone()], |t| t[1].select(t[0], &t[0].stop_gradient()));
            Named::new(both.aligned(&order), order)
        };
        self.masks.borrow().iter().fold(x, masked)
    }

    /// Evaluates the first case whose condition holds.
    pub(super) fn cases(&self, e: &Expr, cases: &[[Expr; 2]], otherwise: Option<&Expr>) -> Eval<Named> {
        let float = self.options.float;
        let (mut choices, mut values, mut masks) = (Vec::new(), Vec::new(), Vec::new());
        for [condition, value] in cases {
            let condition = real(self.eval(condition)?, condition.span, "is not a boolean")?.truth();
            masks.push(condition.clone());
            let value = self.taken(&masks, || self.eval(value))?;
            masks.pop();
            masks.push(not(&condition));
            choices.push(condition);
            values.push(value);
        }
        values.push(match otherwise {
            Some(value) => self.taken(&masks, || self.eval(value))?,
            None => Named::scalar(0.0, float),
        });
        let choose = |below, (c, v): (&Named, &Named)| {
            pointwise(&[c.clone(), v.clone(), below], |t| t[0].select(t[1], t[2]))
        };
        let chosen = |values: &[Named]| {
            let (last, values) = values.split_last()?;
            Some(choices.iter().zip(values).rev().fold(last.clone(), choose))
        };
        let values = meeting(&values, float);
        let value = chosen(&values).ok_or(Fault::Silent)?;
        // The axes are in the order of the values; axes that only conditions have come last.
        let by_condition = |a: &&Name| {
            self.options.is_derived() && !e.has_index(a) && choices.iter().any(|c| c.axes.contains(a))
        };
        let of_values = values.iter().flat_map(|v| &v.axes).filter(|a| !by_condition(a));
        let order = distinct(of_values.chain(choices.iter().flat_map(|c| &c.axes)).cloned());
        Ok(Named::new(value.aligned(&order), order).of_no_kind(&values, chosen))
    }
}
