//! Branches. A cotangent is 0 where a branch is not taken, whatever the branch would give there.
//!
//! It is chosen where it arrives at a tensor, not where it enters the branch: in between it meets the branch's derivative,
//! which may be infinite where the branch is not taken, and 0 times that is not a number.

use super::{Back, bare};
use crate::builtin::{self, Base, Mixes};
use crate::differentiate::branch::{MOST_CHOICES, may_be_infinite, multiplies};
use crate::differentiate::needed::condition;
use crate::differentiate::settled::movable_equation;
use crate::elaborate::Elaborate;
use crate::elaborate::core::{Call, Expr, Kind, Origin};
use crate::elaborate::scope::{Names, bound_by, keys, occurrences};
use crate::program::Program;
use crate::syntax::ast::{self, Comparison, Name, Projection};

/// A condition, and whether a branch is taken where it holds or where it does not.
#[derive(Clone)]
pub(super) struct Mask {
    condition: Expr,
    holds: bool,
}

fn number(x: f64) -> Expr {
    match x < 0.0 {
        true => bare(Kind::Negative(Box::new(bare(Kind::Number(-x))))),
        false => bare(Kind::Number(x)),
    }
}

impl Mask {
    /// An expression where the branch is taken, and a number elsewhere.
    pub(super) fn or(&self, e: Expr, other: f64) -> Expr {
        let [yes, no] = if self.holds { [e, number(other)] } else { [number(other), e] };
        bare(Kind::Choose(vec![[self.condition.clone(), yes]], Some(Box::new(no))))
    }

    fn truth(&self) -> Expr {
        match self.holds {
            true => self.condition.clone(),
            false => bare(Kind::Not(Box::new(self.condition.clone()))),
        }
    }

    pub(super) fn indices(&self, program: &Program) -> Vec<Name> {
        self.condition.axis_order(program)
    }

    /// Where the branch is taken at some position of these indices at least.
    fn anywhere(&self, gone: impl Fn(&Name) -> bool, program: &Program) -> Mask {
        let gone: Names = self.indices(program).into_iter().filter(gone).collect();
        if gone.is_empty() {
            return self.clone();
        }
        let (gone, body) = (gone.into_iter().collect(), Box::new(self.truth()));
        Mask { condition: bare(Kind::Reduce(Projection::Max, gone, body, Origin::Written)), holds: true }
    }
}

/// A cotangent where all of some branches are taken, one inside of the other or, where there are many, case by case.
fn nested(masks: &[Mask], ct: Expr) -> Expr {
    let (last, before) = match masks.split_last() {
        Some(parts) if masks.len() > MOST_CHOICES => parts,
        _ => return masks.iter().rev().fold(ct, |ct, mask| mask.or(ct, 0.0)),
    };
    let untaken = |m: &Mask| Mask { holds: !m.holds, ..m.clone() }.truth();
    let [yes, no] = if last.holds { [ct, number(0.0)] } else { [number(0.0), ct] };
    let cases = before.iter().map(|m| [untaken(m), number(0.0)]).chain([[last.condition.clone(), yes]]);
    bare(Kind::Choose(cases.collect(), Some(Box::new(no))))
}

/// True if at most one of many cases holds, because they are numbered: 1, 2 and so on, the last possibly 0.
fn are_numbered(cases: &[[Expr; 2]]) -> bool {
    let of = |at: usize| match &cases[at][0].kind {
        Kind::Compare(Comparison::Eq, two) => match (&two[0].kind, &two[1].kind) {
            (Kind::Ref(r), Kind::Number(n)) => Some((r, *n)),
            _ => None,
        },
        _ => None,
    };
    let is = |at: usize, n: f64| n == (at + 1) as f64 || n == 0.0 && at + 1 == cases.len();
    let same = |at: usize| of(at).zip(of(0)).is_some_and(|((r, n), (first, _))| r == first && is(at, n));
    cases.len() > MOST_CHOICES && (0..cases.len()).all(same)
}

/// The values of a choice with the conditions of each: those of the cases before do not hold.
fn branches<'e>(cases: &'e [[Expr; 2]], otherwise: Option<&'e Expr>) -> Vec<(Vec<Mask>, &'e Expr)> {
    let (mut before, mut out): (Vec<Mask>, Vec<_>) = Default::default();
    let apart = are_numbered(cases);
    for [condition, value] in cases {
        let mask = |holds| Mask { condition: condition.clone(), holds };
        let earlier = if apart { &[] } else { &before[..] };
        out.push(([earlier, &[mask(true)]].concat(), value));
        if !apart || otherwise.is_some() {
            before.push(mask(false));
        }
    }
    out.extend(otherwise.map(|value| (before, value)));
    out
}

impl Back<'_, '_> {
    /// The conditions under which the value of the equation contributes: where its name is needed, and its guard.
    pub(super) fn conditions(&self, written: &ast::Equation) -> Vec<Mask> {
        let (program, needed) = (self.program, &self.walk.needed);
        let elsewhere = || {
            let moved = movable_equation(program, written);
            let infinite = may_be_infinite(&moved.value) || multiplies(&moved.value, needed);
            // A call that takes its names from the left side cannot be inside a choice whose condition has other names.
            let leaning = builtin::leaning(&moved.value, program);
            let later = infinite && leaning.is_none_or(|c| program.functions.contains_key(&c.function));
            let found = condition(&moved, needed, program).filter(|_| later)?;
            let mut around: Names = keys(&moved.target).into_iter().collect();
            around.extend(occurrences(&moved.value));
            Some(Elaborate::new(program, written).expr(&found, &around))
        };
        let is_needed = needed.contains_key(&written.target.name);
        let elsewhere = is_needed.then(elsewhere).flatten();
        let conditions = elsewhere.into_iter().chain(self.equation.guard.clone());
        conditions.map(|condition| Mask { condition, holds: true }).collect()
    }

    /// Does something inside of branches.
    pub(super) fn under(&mut self, masks: Vec<Mask>, f: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let before = self.masks.len();
        self.masks.extend(masks);
        let out = f(self);
        self.masks.truncate(before);
        out
    }

    /// Contributions of a choice.
    pub(super) fn choice(
        &mut self,
        e: &Expr,
        cases: &[[Expr; 2]],
        otherwise: Option<&Expr>,
        ct: &Expr,
    ) -> Option<()> {
        let all = e.axis_order(self.program);
        for (masks, value) in branches(cases, otherwise) {
            if self.reads_wanted(value) {
                self.under(masks, |back| {
                    let ct = back.repeated(e, &all, value, ct.clone())?;
                    back.back(value, ct)
                })?;
            }
        }
        Some(())
    }

    /// A cotangent where the current branches are taken.
    pub(super) fn chosen(&mut self, ct: Expr) -> Expr {
        let masks = self.masks.clone();
        nested(&self.masks_apart(&masks), ct)
    }

    /// Copies of conditions, with new names for what they sum over.
    pub(super) fn masks_apart(&mut self, masks: &[Mask]) -> Vec<Mask> {
        masks.iter().map(|m| Mask { condition: self.copy_all(&m.condition), ..m.clone() }).collect()
    }

    /// Goes back through a call. Where its derivative is not a factor, its cotangent is chosen before: positions that the
    /// call mixes, and indices that an argument lacks, cannot be told apart after it.
    pub(super) fn through(&mut self, e: &Expr, c: &Call, ct: Expr) -> Option<()> {
        if self.masks.is_empty() {
            return self.call(e, c, ct);
        }
        let behind = self.behind(c);
        // The program's own functions take their cotangent as an argument, also those of one number.
        let factor = c.args.len() == 1 && !matches!(c.callee.base, Base::User(_));
        let ct = if behind.is_none() && factor { ct } else { self.chosen(ct) };
        let before = self.masks.clone();
        self.masks = behind.unwrap_or_else(|| before.clone());
        let out = self.call(e, c, ct);
        self.masks = before;
        out
    }

    /// The conditions under which arguments of a call are needed, unless they are those of the call.
    fn behind(&self, c: &Call) -> Option<Vec<Mask>> {
        let call = c.surface();
        let names = |arg: &ast::Expr| {
            let own = call.args.iter().position(|a| std::ptr::eq(a, arg));
            own.map(|at| c.args[at].names.clone()).unwrap_or_default()
        };
        let mixed = |m: &Mask| match c.callee.mixes(&call, bound_by(&call), &names) {
            Mixes::Nothing => None,
            Mixes::Along(axes) => Some(m.anywhere(|n| axes.contains(n), self.program)),
            Mixes::Everything => Some(m.anywhere(|_| true, self.program)),
        };
        self.masks.iter().map(mixed).collect()
    }

    /// Narrows the current conditions to those that are left after sums over some indices.
    pub(super) fn forget(&mut self, gone: impl Fn(&Name) -> bool) {
        self.masks = self.masks.iter().map(|m| m.anywhere(&gone, self.program)).collect();
    }

    /// Goes back into a part whose cotangent has no other indices than the part itself.
    pub(super) fn enter(&mut self, part: &Expr, ct: Expr) -> Option<()> {
        if self.masks.is_empty() {
            return self.back(part, ct);
        }
        let (own, before) = (part.axis_order(self.program), self.masks.clone());
        self.forget(|n| !own.contains(n));
        let out = self.back(part, ct);
        self.masks = before;
        out
    }
}
