//! Branches that are to be differentiated: nothing flows through one where it is not taken, not even what is no number.

use super::{Eval, Fault, Term, real};
use crate::ast::{Call, Expr, Name};
use crate::builtin::{Callee, Mixes};
use crate::named::{Named, meeting, pointwise};
use crate::scope::{Names, besides, bound_by, distinct, names_of, occurrences};
use crate::time::moving;
use gradus_ir::Class;

/// Where something does not hold.
pub(super) fn not(truth: &Named) -> Named {
    truth.with(truth.tensor.logical_not())
}

/// Where something holds at some place at least along all axes but those that stay.
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

    /// Evaluates arguments of a call. What it mixes is needed wherever the branch is taken at some of the places.
    pub(super) fn mixed<R>(
        &self,
        callee: &Callee,
        call: &Call,
        keep: &Names,
        f: impl FnOnce() -> Eval<R>,
    ) -> Eval<R> {
        if self.masks.borrow().is_empty() {
            return f();
        }
        let time = self.moment.and(moving(&self.equation.target.places)).map(|t| t.0);
        let names = |a: &Expr| {
            let mut names = names_of(a, &call.args, &self.left, keep, self.program);
            names.retain(|n| Some(n) != time);
            names
        };
        let gone = match callee.mixes(call, bound_by(call), &names) {
            Mixes::Nothing => return f(),
            Mixes::Along(axes) => Some(axes),
            Mixes::Everything => None,
        };
        self.brought_together(|a| gone.as_ref().is_none_or(|gone| gone.contains(a)), f)
    }

    /// Evaluates something whose places along some axes come together.
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

    /// A tensor that branches read. It is the same everywhere, but constant where they are not taken: what flows back to it
    /// from there is 0, whatever the derivative of the branch is.
    pub(super) fn where_taken(&self, x: Named) -> Named {
        if x.tensor.dtype().class() < Class::Float {
            return x;
        }
        let masked = |x: Named, mask: &Named| {
            // Whatever axes a condition has, the branch keeps them; a function's own are the last.
            let more = mask.axes.iter().filter(|a| !x.axes.contains(a)).cloned();
            let order: Vec<Name> = more.chain(x.axes.iter().cloned()).collect();
            let both = pointwise(&[x, mask.clone()], |t| t[1].select(t[0], &t[0].stop_gradient()));
            Named::new(both.aligned(&order), order)
        };
        self.masks.borrow().iter().fold(x, masked)
    }

    /// The value of the first case whose condition holds.
    pub(super) fn cases(
        &self,
        e: &Expr,
        cases: &[[&Expr; 2]],
        otherwise: Option<&Expr>,
        keep: &Names,
    ) -> Eval<Named> {
        let float = self.options.float;
        let parts: Vec<Expr> = e.parts().into_iter().cloned().collect();
        let around = besides(keep, &parts);
        let (mut choices, mut values, mut masks) = (Vec::new(), Vec::new(), Vec::new());
        for (i, [condition, value]) in cases.iter().enumerate() {
            let condition =
                real(self.eval(condition, &around[2 * i])?, condition.span, "is no truth value")?.truth();
            masks.push(condition.clone());
            let value = self.taken(&masks, || self.eval(value, &around[2 * i + 1]))?;
            masks.pop();
            masks.push(not(&condition));
            choices.push(condition);
            values.push(value);
        }
        values.push(match otherwise {
            Some(value) => self.taken(&masks, || self.eval(value, &around[2 * cases.len()]))?,
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
        // It lies as what it chooses from; what only conditions have comes after that.
        let own = occurrences(e);
        let by_condition = |a: &&Name| {
            self.options.is_derived() && !own.contains(a) && choices.iter().any(|c| c.axes.contains(a))
        };
        let of_values = values.iter().flat_map(|v| &v.axes).filter(|a| !by_condition(a));
        let order = distinct(of_values.chain(choices.iter().flat_map(|c| &c.axes)).cloned());
        Ok(Named::new(value.aligned(&order), order).of_no_kind(&values, chosen))
    }
}
