//! Dots: one on the left selects the axis that functions on the right work along. A dot that selects nothing is an
//! error.

use crate::builtin;
use crate::elaborate::scope::{key, occurrences};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Kind, Name};
use crate::syntax::diagnostic::Diagnostic;

const MEANS: &str = "a dot on the left chooses the axis that functions on the right work along";

impl Program {
    /// Checks the dots of an equation as written.
    pub(super) fn check_dots(&self, e: &Equation, faults: &mut Vec<Diagnostic>) {
        let mut dotted = e.target.places.iter().filter(|p| p.dotted);
        let first = dotted.next();
        if let (Some(first), Some(second)) = (first, dotted.next()) {
            let fault = Diagnostic::error(second.span, "a left side has one dot at most");
            faults.push(fault.and(first.span, "the first").help(MEANS));
            return;
        }
        if first.is_none() && !e.any_read(&mut |r| r.places.iter().any(|p| p.dotted)) {
            return;
        }
        let axis = first.and_then(key);
        for place in e.reads().into_iter().flat_map(|r| &r.places).filter(|p| p.dotted) {
            if key(place) != axis {
                let (index, target) = (&place.index, &e.target.name);
                let what = "a dot on the right is allowed only if the left side has it";
                let help = format!("{MEANS}: {target}[…, {index}., …] = …, or write axis=\"{index}\"");
                faults.push(Diagnostic::error(place.span, what).help(help));
            }
        }
        if let (Some(first), Some(axis)) = (first, &axis)
            && !self.works_along(&e.value, axis)
        {
            let what = format!("this dot has no effect: no function on the right works along `{axis}`");
            faults.push(Diagnostic::error(first.span, what).help(MEANS));
        }
    }

    /// Refuses dots in an expression without a left side.
    pub(super) fn check_no_dots(e: &Expr, faults: &mut Vec<Diagnostic>) {
        for place in e.refs().into_iter().flat_map(|r| &r.places).filter(|p| p.dotted) {
            let fault =
                Diagnostic::error(place.span, "a dot is not allowed in an expression without a left side");
            faults.push(fault.help(format!("write axis=\"{}\"", place.index)));
        }
    }

    /// Returns true if an expression contains a function along axes whose arguments have this axis. Unknown functions
    /// count too, since they are reported elsewhere.
    fn works_along(&self, e: &Expr, axis: &Name) -> bool {
        if let Kind::Call(c) = &e.kind {
            let has_axes = match builtin::find(&c.function, self) {
                Some(callee) => callee.shape().has_axes() && occurrences(e).contains(axis),
                None => true,
            };
            if has_axes {
                return true;
            }
        }
        e.parts().into_iter().any(|p| self.works_along(p, axis))
    }
}
