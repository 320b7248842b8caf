//! Branches. The gradient through a branch is 0 where it is not taken, whatever its derivative is there.
//!
//! So a cotangent is masked where it arrives at a tensor, not where it enters the branch. In between it is multiplied
//! by the derivative of the branch, which may be infinite where the branch is not taken, and 0 times infinity is NaN.

use super::along::along;
use super::back::{Walk, times};
use super::needed::Needed;
use super::parts::Parts;
use super::settled::{movable, names_in, settled};
use crate::ast::{Call, Comparison, Equation, Expr, Index, Kind, Name, Place, Projection};
use crate::builtin::{self, Base, Callee, Mixes};
use crate::program::Program;
use crate::scope::{Names, besides, bound_by, free, fresh, kept_within, laid, occurrences, renamed};
use std::collections::HashMap;

/// A condition, and whether the branch is taken where it holds or where it does not.
#[derive(Clone)]
pub(super) struct Mask {
    condition: Expr,
    holds: bool,
    /// The indices of the condition at its place in the equation.
    indices: Names,
}

fn zero() -> Expr {
    Kind::Number(0.0).bare()
}

impl Mask {
    /// The mask of a condition in a context that keeps these indices.
    pub(super) fn new(condition: &Expr, holds: bool, keep: &Names, program: &Program) -> Mask {
        Mask { condition: condition.clone(), holds, indices: free(condition, keep, program) }
    }

    fn on(&self, ct: Expr) -> Expr {
        self.or(ct, 0.0)
    }

    /// The expression where the branch is taken, and `other` elsewhere.
    pub(super) fn or(&self, e: Expr, other: f64) -> Expr {
        let other = match other < 0.0 {
            true => Kind::Negative(Box::new(Kind::Number(-other).bare())).bare(),
            false => Kind::Number(other).bare(),
        };
        let [yes, no] = if self.holds { [e, other] } else { [other, e] };
        Kind::Choose(Box::new([self.condition.clone(), yes, no])).bare()
    }

    /// True if the condition contains an index, even if it is reduced over it.
    pub(super) fn reads(&self, index: &Name) -> bool {
        occurrences(&self.condition).contains(index)
    }

    fn truth(&self) -> Expr {
        match self.holds {
            true => self.condition.clone(),
            false => Kind::Not(Box::new(self.condition.clone())).bare(),
        }
    }

    /// The mask that holds where the branch is taken at some position along the indices selected by `gone`.
    pub(super) fn anywhere(&self, gone: impl Fn(&Name) -> bool) -> Mask {
        let (gone, indices): (Names, Names) = self.indices.iter().cloned().partition(gone);
        if gone.is_empty() {
            return self.clone();
        }
        let body = Box::new(self.truth());
        let condition = Kind::Reduce(Projection::Max, gone.into_iter().collect(), body).bare();
        Mask { condition, holds: true, indices }
    }
}

/// The largest number of choices nested in each other; more become a `case`, because nesting depth is limited.
const MOST_CHOICES: usize = 8;

/// The cotangent where all of some branches are taken: as nested choices, or as one `case` if there are many.
fn chosen(masks: &[Mask], ct: Expr) -> Expr {
    let (last, before) = match masks.split_last() {
        Some(parts) if masks.len() > MOST_CHOICES => parts,
        _ => return masks.iter().rev().fold(ct, |ct, mask| mask.on(ct)),
    };
    let untaken = |m: &Mask| Mask { holds: !m.holds, ..m.clone() }.truth();
    let [yes, no] = if last.holds { [ct, zero()] } else { [zero(), ct] };
    let cases = before.iter().map(|m| [untaken(m), zero()]).chain([[last.condition.clone(), yes]]);
    Kind::Case(cases.collect(), Some(Box::new(no))).bare()
}

/// The condition under which some branches are taken, for an expression with the indices `names`, next to one with the
/// indices `beside`.
pub(super) fn guard(masks: &[Mask], names: &[Name], beside: Names, program: &Program) -> Option<Expr> {
    let each = masks.iter().map(|m| m.anywhere(|n| !names.contains(n)).truth());
    joined(each.collect(), |n| names.contains(n), Kind::And, beside, program)
}

/// Joins conditions into one. Indices that a condition sums over are renamed if another condition or the context uses
/// them: otherwise they would not be summed separately.
pub(super) fn joined(
    conditions: Vec<Expr>,
    index: impl Fn(&Name) -> bool,
    join: impl Fn(Box<[Expr; 2]>) -> Kind,
    mut taken: Names,
    program: &Program,
) -> Option<Expr> {
    let mut apart: Vec<Expr> = Vec::new();
    for (i, condition) in conditions.iter().enumerate() {
        if conditions[..i].contains(condition) {
            continue;
        }
        let own = occurrences(condition);
        let met: Vec<Name> = own.iter().filter(|n| !index(n) && taken.contains(n)).cloned().collect();
        taken.extend(own);
        let mut names = HashMap::new();
        for name in met {
            let new = fresh(&name, &taken, program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        apart.push(renamed(condition, &names));
    }
    apart.into_iter().reduce(|a, b| join(Box::new([a, b])).bare())
}

/// True if there are many cases and at most one holds, because they compare one tensor with the numbers 1, 2 and so
/// on; the last may be 0.
fn are_numbered(cases: &[(&Expr, &Expr)]) -> bool {
    let of = |at: usize| match &cases[at].0.kind {
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

/// The wanted values of a choice, each with its conditions: for a case, all earlier ones do not hold.
pub(super) fn branches<'e>(
    e: &'e Expr,
    keep: &Names,
    program: &Program,
    wanted: impl Fn(&Expr) -> bool,
) -> Vec<(Vec<Mask>, &'e Expr, Names)> {
    let mut keeps = besides(keep, &e.parts()).into_iter();
    let mut next = || keeps.next().unwrap_or_default();
    let (mut before, mut out): (Vec<Mask>, Vec<_>) = Default::default();
    let (cases, otherwise): (Vec<(&Expr, &Expr)>, Option<&Expr>) = match &e.kind {
        Kind::Choose(three) => (vec![(&three[0], &three[1])], Some(&three[2])),
        Kind::Case(cases, otherwise) => (cases.iter().map(|[c, v]| (c, v)).collect(), otherwise.as_deref()),
        _ => return out,
    };
    let apart = are_numbered(&cases);
    for (condition, value) in cases {
        let around = next();
        let mask = |holds| Mask::new(condition, holds, &around, program);
        let beside = next();
        if wanted(value) {
            let before = if apart { &[] } else { &before[..] };
            out.push(([before, &[mask(true)]].concat(), value, beside));
        }
        if !apart || otherwise.is_some() {
            before.push(mask(false));
        }
    }
    if let Some(value) = otherwise.filter(|v| wanted(v)) {
        out.push((before, value, next()));
    }
    out
}

/// The choice with each condition replaced by `other`, which gets the condition and the indices it keeps.
fn with_conditions(e: &Expr, keep: &Names, mut other: impl FnMut(&Expr, &Names) -> Expr) -> Expr {
    // Conditions and values alternate.
    let mut kept = kept_within(e, keep).into_iter().step_by(2);
    let mut other = |c: &Expr| other(c, &kept.next().unwrap_or_default());
    let kind = match &e.kind {
        Kind::Choose(three) => {
            let [c, yes, no] = &**three;
            Kind::Choose(Box::new([other(c), yes.clone(), no.clone()]))
        }
        Kind::Case(cases, otherwise) => {
            Kind::Case(cases.iter().map(|[c, v]| [other(c), v.clone()]).collect(), otherwise.clone())
        }
        same => same.clone(),
    };
    kind.at(e.span)
}

/// True if an expression contains a choice that is written as a call.
pub(super) fn chooses(e: &Expr, program: &Program) -> bool {
    matches!(&e.kind, Kind::Call(c) if builtin::choice(c, program).is_some())
        || e.any_part(|p| chooses(p, program))
}

/// Rewrites choices that are written as calls.
pub(super) fn as_choice(e: &mut Expr, program: &Program) {
    e.change_parts(&mut |p| as_choice(p, program));
    if let Kind::Call(c) = &e.kind
        && let Some(choice) = builtin::choice(c, program)
    {
        e.kind = choice;
    }
}

impl Walk<'_> {
    /// Runs `f` inside branches.
    pub(super) fn under(&mut self, masks: &[Mask], f: impl FnOnce(&mut Self)) {
        let before = self.masks.len();
        self.masks.extend_from_slice(masks);
        f(self);
        self.masks.truncate(before);
    }

    /// Emits the contributions of a choice.
    pub(super) fn choice(&mut self, e: &Expr, ct: &Expr, keep: &Names) {
        let all = free(e, keep, self.program);
        for (masks, value, beside) in branches(e, keep, self.program, |v| self.reads_wanted(v)) {
            self.under(&masks, |walk| {
                let ct = walk.repeated(e, &all, value, ct.clone(), keep);
                walk.back(value, ct, &beside);
            });
        }
    }

    /// The cotangent of a part of `whole`. If the part is repeated along indices that only its neighbours have, ones
    /// along these make the cotangent count every repetition.
    pub(super) fn repeated(&self, whole: &Expr, all: &Names, part: &Expr, ct: Expr, keep: &Names) -> Expr {
        let around: Names = keep.union(all).cloned().collect();
        let mut said = free(part, &around, self.program);
        if all.iter().all(|n| said.contains(n)) {
            return ct;
        }
        said.extend(free(&ct, &around, self.program));
        said.extend(self.masks.iter().flat_map(|m| m.indices.iter().cloned()));
        let size = |index: &Name| Kind::Of("size".into(), index.clone()).bare();
        // An index has one size in the entire equation.
        let one = |n: &Name| {
            let ones = self.equation.as_ref().and_then(|q| {
                let near = [whole, &q.value];
                near.into_iter().find_map(|e| along("ones_like", n, e, q, self.program))
            });
            ones.unwrap_or_else(|| size(n))
        };
        let ones: Vec<Expr> = all.iter().filter(|n| !said.contains(n)).map(one).collect();
        times(ct, ones)
    }

    /// Masks a cotangent by the current branches, in a context with the indices `around`. Indices that a condition
    /// keeps in its equation, but would sum here, are summed around the masked cotangent.
    pub(super) fn chosen(&mut self, ct: Expr, around: &Names) -> Expr {
        if self.masks.is_empty() {
            return ct;
        }
        let mut beside = occurrences(&ct);
        beside.extend(around.iter().cloned());
        let masks = self.masks.clone();
        let masks = self.masks_apart(&masks);
        let lost = |m: &Mask| {
            let here = free(&m.condition, &beside, self.program);
            m.indices.iter().filter(|n| !here.contains(n)).cloned().collect::<Vec<_>>()
        };
        let lost: Names = masks.iter().flat_map(lost).collect();
        let ct = chosen(&masks, ct);
        match lost.is_empty() {
            true => ct,
            false => Kind::Reduce(Projection::Sum, lost.into_iter().collect(), Box::new(ct)).bare(),
        }
    }

    /// Copies conditions for another line, with new names for the indices that they sum over.
    pub(super) fn masks_apart(&mut self, masks: &[Mask]) -> Vec<Mask> {
        let apart = |m: &Mask| Mask { condition: self.copy(&m.condition, &m.indices), ..m.clone() };
        masks.iter().map(apart).collect()
    }

    /// Goes back through a call. If its derivative is not just a factor, the cotangent is masked before the call:
    /// positions that the call mixes, and indices that an argument lacks, cannot be told apart after it.
    pub(super) fn through(&mut self, e: &Expr, c: &Call, ct: Expr, keep: &Names) {
        let (Some(callee), Some(equation)) = (builtin::find(&c.function, self.program), &self.equation)
        else {
            return;
        };
        let behind = behind(&self.masks, self.program, equation, &callee, c, keep);
        // The derivative of a program's own function takes the cotangent as an argument, even for one number.
        let factor = c.args.len() == 1 && !matches!(callee.base, Base::User(_));
        if self.masks.is_empty() {
            return self.call(e, c, ct, keep);
        }
        let before = self.masks.clone();
        let ct = match behind.is_none() && factor {
            true => ct,
            false => self.chosen(ct, &keep.union(&occurrences(e)).cloned().collect()),
        };
        self.masks = behind.unwrap_or_else(|| before.clone());
        self.call(e, c, ct, keep);
        self.masks = before;
    }

    /// Goes back into a part whose cotangent has only the part's own indices. The masks are narrowed to these: the
    /// part is needed where a branch is taken at any position of the other indices.
    pub(super) fn enter(&mut self, part: &Expr, ct: Expr, keep: &Names) {
        if self.masks.is_empty() {
            return self.back(part, ct, keep);
        }
        let own = free(part, keep, self.program);
        let narrowed = self.masks.iter().map(|m| m.anywhere(|n| !own.contains(n))).collect();
        let before = std::mem::replace(&mut self.masks, narrowed);
        self.back(part, ct, keep);
        self.masks = before;
    }
}

/// The masks for the arguments of a call inside branches, or `None` if they are those of the call.
pub(super) fn behind(
    masks: &[Mask],
    program: &Program,
    equation: &Equation,
    callee: &Callee,
    c: &Call,
    keep: &Names,
) -> Option<Vec<Mask>> {
    if masks.is_empty() {
        return None;
    }
    let named = settled(program, equation, callee, c, keep);
    let axes = bound_by(&Call { function: c.function.clone(), args: Vec::new(), named });
    let names = |a: &Expr| names_in(program, equation, c, a, keep);
    let mixed: Box<dyn Fn(&Name) -> bool> = match callee.mixes(c, axes, &names) {
        Mixes::Nothing => return None,
        Mixes::Along(axes) => Box::new(move |n| axes.contains(n)),
        Mixes::Everything => Box::new(|_| true),
    };
    Some(masks.iter().map(|m| m.anywhere(&mixed)).collect())
}

impl Parts<'_> {
    /// A choice with names for parts of its branches; these names have values only where the branch is taken.
    pub(super) fn choice(&mut self, e: &Expr, keep: &Names) -> Expr {
        // Conditions come first, because the equations of the new names read them.
        let e = with_conditions(e, keep, |c, kept| self.still(c, kept));
        let e = self.numbered(e, keep);
        // On other lines, the conditions must mean the same as here.
        let elsewhere = with_conditions(&e, keep, |c, kept| movable(self.program, self.equation, c, kept));
        let mut values = Vec::new();
        for (masks, value, keep) in branches(&elsewhere, keep, self.program, |_| true) {
            let before = self.masks.len();
            self.masks.extend(masks);
            values.push(self.part(value, &keep));
            self.masks.truncate(before);
        }
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or_else(zero);
        let kind = match e.kind {
            Kind::Choose(three) => {
                let [c, ..] = *three;
                Kind::Choose(Box::new([c, next(), next()]))
            }
            Kind::Case(cases, otherwise) => {
                let cases = cases.into_iter().map(|[c, _]| [c, next()]).collect();
                Kind::Case(cases, otherwise.map(|_| Box::new(next())))
            }
            other => other,
        };
        kind.at(e.span)
    }

    /// If there are many cases, names the number of the case that holds, so that each branch tests it instead of
    /// negating all earlier conditions.
    fn numbered(&mut self, e: Expr, keep: &Names) -> Expr {
        let Kind::Case(cases, otherwise) = &e.kind else { return e };
        // Indices with offsets or arithmetic may have other sizes on a line of their own.
        let here = |p: &Place| {
            matches!(p.index, Index::Named(_, 0) | Index::Time(_, 0) | Index::At(_) | Index::Symbol(..))
        };
        let plain = |c: &Expr| !c.is_of_index() && !c.any_ref(&mut |r| !r.places.iter().all(here));
        if cases.len() <= MOST_CHOICES || !cases.iter().all(|[c, _]| plain(c)) {
            return e;
        }
        let number = |n: usize| Kind::Number(n as f64).bare();
        let which = cases.iter().enumerate().map(|(n, [c, _])| [c.clone(), number(n + 1)]).collect();
        let which = Kind::Case(which, Some(Box::new(number(0)))).at(e.span);
        let around = keep.union(&occurrences(&e)).cloned().collect();
        let names = laid(&which, &around, self.program);
        let which = self.named(which, names, &around);
        if !matches!(which.kind, Kind::Ref(_)) {
            return e;
        }
        let is = |n: usize| Kind::Compare(Comparison::Eq, Box::new([which.clone(), number(n)])).at(e.span);
        let values = cases.iter().enumerate().map(|(n, [_, v])| [is(n + 1), v.clone()]);
        let other = otherwise.iter().map(|v| [is(0), (**v).clone()]);
        Kind::Case(values.chain(other).collect(), None).at(e.span)
    }
}

/// True if a derivative may be infinite at finite values.
pub(super) fn may_be_infinite(e: &Expr) -> bool {
    match &e.kind {
        Kind::Quotient(two) if !matches!(two[1].kind, Kind::Number(_)) => true,
        Kind::Power(_) | Kind::Call(_) => true,
        _ => e.parts().into_iter().any(may_be_infinite),
    }
}

/// True if a product contains a name that only branches need and that may be infinite elsewhere.
pub(super) fn multiplies(e: &Expr, needed: &Needed) -> bool {
    let doubtful = |e: &Expr| e.any_ref(&mut |r| needed.contains_key(&r.name));
    match &e.kind {
        Kind::Product(factors) if factors.len() > 1 && factors.iter().any(doubtful) => true,
        _ => e.parts().into_iter().any(|part| multiplies(part, needed)),
    }
}
