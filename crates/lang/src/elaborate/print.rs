//! Prints Core: turns an equation into a line of the surface tree, without the sums and axes that follow from
//! the line. Something is left out only if elaborating the line gives the same Core.

use super::Elaborate;
use super::mixed::mixed_sum;
use super::surface::Spelling;
use crate::builtin::Shape;
use crate::elaborate::core::{Equation, Expr, Kind, Origin};
use crate::elaborate::scope::keys;
use crate::program::Program;
use crate::syntax::ast::{self, Name, Projection};

impl Equation {
    /// Returns the equation as a line that elaborates to it. `None` if there is none, because something
    /// depends on the line that the equation came from.
    pub(crate) fn printed(&self, program: &Program) -> Option<ast::Equation> {
        if self.sums() && is_plain(&self.value) {
            return Some(self.with(self.value.surface()));
        }
        let goal = self.comparable();
        let value = match self.open(program) {
            none if none.is_empty() => self.value.clone(),
            // The terms of a sum are lines of their own.
            _ if matches!(goal.kind, Kind::Sum(_)) => return None,
            open => {
                let span = self.value.span;
                Kind::Reduce(Projection::Sum, open, Box::new(self.value.clone()), Origin::Product).at(span)
            }
        };
        let line = |s: &Spelling| self.with(value.spelled(s));
        let same = |line: &ast::Equation| {
            mixed_sum(line, program).is_none()
                && Elaborate::new(program, line).equation(0).comparable() == goal
        };
        let full = Spelling::default();
        let all = line(&full);
        let count = full.count();
        let shortest = self.with(value.shortest());
        if same(&shortest) {
            return Some(shortest);
        }
        if !same(&all) {
            return None;
        }
        let mut left_out = vec![false; count];
        for i in 0..count {
            left_out[i] = true;
            left_out[i] = same(&line(&Spelling::without(left_out.clone())));
        }
        Some(line(&Spelling::without(left_out)))
    }

    /// Returns the indices that the equation sums at its left side.
    fn open(&self, program: &Program) -> Vec<Name> {
        if !self.sums() {
            return Vec::new();
        }
        let left = keys(&self.target);
        self.value.axis_order(program).into_iter().filter(|n| !left.contains(n)).collect()
    }

    /// Returns true if a sum around the right side is the sum of the line.
    fn sums(&self) -> bool {
        self.projection == Projection::Sum && self.guard.is_none()
    }

    /// Returns the right side without the sums around it, which the line implies, and without hints that have
    /// no effect.
    fn comparable(&self) -> Expr {
        let mut value = self.value.clone();
        without_hints(&mut value);
        if self.sums() { opened(value, &keys(&self.target)) } else { value }
    }
}

/// Returns an expression without the sums around it: also without those of what is negated or divided.
fn opened(e: Expr, left: &[Name]) -> Expr {
    let kind = match e.kind {
        Kind::Reduce(Projection::Sum, axes, body, _) if !axes.iter().any(|n| left.contains(n)) => {
            return opened(*body, left);
        }
        Kind::Negative(one) => Kind::Negative(Box::new(opened(*one, left))),
        Kind::Quotient(two) => {
            let [over, under] = *two;
            Kind::Quotient(Box::new([opened(over, left), under]))
        }
        other => other,
    };
    kind.at(e.span)
}

/// Removes hints without effect from calls: a temperature that the function does not use, and the flag for an
/// entire right side if all axes have names.
fn without_hints(e: &mut Expr) {
    e.change_parts(&mut without_hints);
    if let Kind::Array(_, at) = &mut e.kind {
        *at = Default::default();
    }
    if let Kind::Call(call) = &mut e.kind {
        let by_name =
            matches!(call.callee.shape(), Shape::Pointwise | Shape::Along | Shape::Reduce | Shape::ReduceOne);
        call.whole &= !by_name;
        if !call.has_temperature() {
            call.like = "".into();
        }
    }
}

/// Returns true if a right side is a product of tensors, numbers, and calls of them, in which nothing can be left out:
/// elaborating its text gives the same Core in any case.
fn is_plain(e: &Expr) -> bool {
    let single = |e: &Expr| matches!(e.kind, Kind::Ref(_) | Kind::Number(_) | Kind::Of(..));
    let factor = |e: &Expr| match &e.kind {
        Kind::Call(call) => {
            matches!(call.callee.shape(), Shape::Pointwise | Shape::Along)
                && (call.axes.is_none() && !call.callee.shape().has_axes()
                    || call.axes.is_some() && !call.may_leave_axes())
                && call.args.iter().all(|a| single(&a.value))
        }
        _ => single(e),
    };
    match &e.kind {
        Kind::Product(factors) => factors.iter().all(factor),
        Kind::Negative(one) => !matches!(one.kind, Kind::Negative(_)) && is_plain(one),
        _ => factor(e),
    }
}
