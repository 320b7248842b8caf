//! Branches. What flows back through one is 0 where it is not taken, whatever the branch would give there.
//!
//! So a cotangent is chosen where it arrives at a tensor, not where it enters the branch: in between it meets the
//! branch's derivative, which may be infinite where the branch is not taken, and 0 times that is no number.

use super::along::{along, ones_at_offset};
use super::back::{Walk, times};
use super::needed::Needed;
use super::parts::Parts;
use super::settled::{movable, names_in, settled};
use crate::builtin::{self, Base, Callee, Mixes};
use crate::elaborate::scope::{
    Names, axis_order, bound_by, free, fresh, kept_by_each, kept_within, occurrences, renamed,
};
use crate::program::Program;
use crate::syntax::ast::{Call, Comparison, Equation, Expr, Index, Kind, Name, Place, Projection};
use std::collections::HashMap;

/// A condition, and whether a branch is taken where it holds or where it does not.
#[derive(Clone)]
pub(super) struct Mask {
    condition: Expr,
    holds: bool,
    /// The indices that the condition has where it stands.
    indices: Names,
}

fn zero() -> Expr {
    Kind::Number(0.0).bare()
}

impl Mask {
    /// A condition, with the indices that the expression around it keeps.
    pub(super) fn new(condition: &Expr, holds: bool, keep: &Names, program: &Program) -> Mask {
        Mask { condition: condition.clone(), holds, indices: free(condition, keep, program) }
    }

    fn on(&self, ct: Expr) -> Expr {
        self.or(ct, 0.0)
    }

    /// An expression where the branch is taken, and a number elsewhere.
    pub(super) fn or(&self, e: Expr, other: f64) -> Expr {
        let other = match other < 0.0 {
            true => Kind::Negative(Box::new(Kind::Number(-other).bare())).bare(),
            false => Kind::Number(other).bare(),
        };
        let [yes, no] = if self.holds { [e, other] } else { [other, e] };
        Kind::Choose(Box::new([self.condition.clone(), yes, no])).bare()
    }

    /// Whether the condition has an index, or had it before that was brought together.
    pub(super) fn reads(&self, index: &Name) -> bool {
        occurrences(&self.condition).contains(index)
    }

    fn truth(&self) -> Expr {
        match self.holds {
            true => self.condition.clone(),
            false => Kind::Not(Box::new(self.condition.clone())).bare(),
        }
    }

    /// Where the branch is taken at some place of these indices at least.
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

/// So many choices stand one inside of the other at most: texts nest only so deep.
pub(super) const MOST_CHOICES: usize = 8;

/// A cotangent where all of some branches are taken, one inside of the other or, where there are many, case by case.
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

/// The condition that some branches are taken, for an expression with these indices in a product with others.
pub(super) fn guard(masks: &[Mask], names: &[Name], kept_by: Names, program: &Program) -> Option<Expr> {
    let each = masks.iter().map(|m| m.anywhere(|n| !names.contains(n)).truth());
    joined(each.collect(), |n| names.contains(n), Kind::And, kept_by, program)
}

/// Conditions with these indices as one. What each of them sums over is called otherwise than in the others, and than what
/// is taken: an index that two have would be kept for the other.
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

/// Whether of many cases one holds at most, as they have numbers: 1, 2 and so on, the last maybe 0.
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

/// Those values of a choice that are wanted with the conditions of each: of cases, those before do not hold.
pub(super) fn branches<'e>(
    e: &'e Expr,
    keep: &Names,
    program: &Program,
    wanted: impl Fn(&Expr) -> bool,
) -> Vec<(Vec<Mask>, &'e Expr, Names)> {
    let mut keeps = kept_by_each(keep, &e.parts()).into_iter();
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
        let kept_by = next();
        if wanted(value) {
            let before = if apart { &[] } else { &before[..] };
            out.push(([before, &[mask(true)]].concat(), value, kept_by));
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

/// A choice with other conditions, given the indices that each of them keeps.
fn with_conditions(e: &Expr, keep: &Names, mut other: impl FnMut(&Expr, &Names) -> Expr) -> Expr {
    // A condition and what it chooses between stand in turns.
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

/// Whether a choice is written as a call.
pub(super) fn chooses(e: &Expr, program: &Program) -> bool {
    matches!(&e.kind, Kind::Call(c) if builtin::choice(c, program).is_some())
        || e.any_part(|p| chooses(p, program))
}

/// Makes a choice that is written as a call one that is not.
pub(super) fn as_choice(e: &mut Expr, program: &Program) {
    e.change_parts(&mut |p| as_choice(p, program));
    if let Kind::Call(c) = &e.kind
        && let Some(choice) = builtin::choice(c, program)
    {
        e.kind = choice;
    }
}

impl Walk<'_> {
    /// Does something inside of branches.
    pub(super) fn under(&mut self, masks: &[Mask], f: impl FnOnce(&mut Self)) {
        let before = self.masks.len();
        self.masks.extend_from_slice(masks);
        f(self);
        self.masks.truncate(before);
    }

    /// Contributions of a choice.
    pub(super) fn choice(&mut self, e: &Expr, ct: &Expr, keep: &Names) {
        let all = free(e, keep, self.program);
        for (masks, value, kept_by) in branches(e, keep, self.program, |v| self.reads_wanted(v)) {
            self.under(&masks, |walk| {
                let ct = walk.repeated(e, &all, value, ct.clone(), keep);
                walk.back(value, ct, &kept_by);
            });
        }
    }

    /// The cotangent of a part that is repeated along indices of its neighbours, among all that the whole has, which nothing else
    /// says: once for each place.
    pub(super) fn repeated(
        &mut self,
        whole: &Expr,
        all: &Names,
        part: &Expr,
        ct: Expr,
        keep: &Names,
    ) -> Expr {
        let around: Names = keep.union(all).cloned().collect();
        let mut said = free(part, &around, self.program);
        if all.iter().all(|n| said.contains(n)) {
            return ct;
        }
        said.extend(free(&ct, &around, self.program));
        said.extend(self.masks.iter().flat_map(|m| m.indices.iter().cloned()));
        let mut ones = Vec::new();
        for n in all.iter().filter(|n| !said.contains(n)) {
            ones.push(self.ones(whole, n).unwrap_or_else(|| Kind::Of("size".into(), n.clone()).bare()));
        }
        times(ct, ones)
    }

    /// Ones along an index of the equation at hand. An index has one size in all of an equation: that of an axis, or else of an axis
    /// that is read at an offset, or else the size that index arithmetic infers.
    fn ones(&mut self, whole: &Expr, index: &Name) -> Option<Expr> {
        let equation = self.equation.clone()?;
        let parts = [whole, &equation.value];
        let axis = parts.into_iter().find_map(|e| along("ones_like", index, e, &equation, self.program));
        let declared = self.program.axes.contains_key(index);
        let at_offset = || {
            let found = |e| ones_at_offset(index, e, &equation, self.program);
            parts.into_iter().find_map(found).filter(|_| !declared)
        };
        match axis.or_else(at_offset) {
            None if !declared => self.inferred(&equation, index),
            found => found,
        }
    }

    /// A cotangent where the branches at hand are taken, beside which these indices stand. What a condition sums over stays
    /// apart where it stands; on another line only a sum around it says so.
    pub(super) fn chosen(&mut self, ct: Expr, around: &Names) -> Expr {
        if self.masks.is_empty() {
            return ct;
        }
        let mut kept_by = occurrences(&ct);
        kept_by.extend(around.iter().cloned());
        let masks = self.masks.clone();
        let masks = self.masks_apart(&masks);
        let lost = |m: &Mask| {
            let here = free(&m.condition, &kept_by, self.program);
            m.indices.iter().filter(|n| !here.contains(n)).cloned().collect::<Vec<_>>()
        };
        let lost: Names = masks.iter().flat_map(lost).collect();
        let ct = chosen(&masks, ct);
        match lost.is_empty() {
            true => ct,
            false => Kind::Reduce(Projection::Sum, lost.into_iter().collect(), Box::new(ct)).bare(),
        }
    }

    /// Conditions for one more place: what they sum over is called otherwise there, or it would meet the same elsewhere.
    pub(super) fn masks_apart(&mut self, masks: &[Mask]) -> Vec<Mask> {
        let apart = |m: &Mask| Mask { condition: self.copy(&m.condition, &m.indices), ..m.clone() };
        masks.iter().map(apart).collect()
    }

    /// Goes back through a call. Where its derivative is no mere factor, its cotangent is chosen before: what the call mixes,
    /// and what an argument has not, cannot be told apart behind it.
    pub(super) fn through(&mut self, e: &Expr, c: &Call, ct: Expr, keep: &Names) {
        let (Some(callee), Some(equation)) = (builtin::find(&c.function, self.program), &self.equation)
        else {
            return;
        };
        let behind = behind(&self.masks, self.program, equation, &callee, c, keep);
        // The program's own functions take their cotangent as an argument, also those of one number.
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

    /// Goes back into a part whose cotangent has no other indices than the part itself: behind that, what is left to say is
    /// where nothing was taken at any of the others.
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

/// Where arguments of a call are needed that stands in branches, unless that is where the call is.
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
    /// A choice with names for parts of its branches: what they stand for is there where the branch is taken.
    pub(super) fn choice(&mut self, e: &Expr, keep: &Names) -> Expr {
        // Conditions first, since the names of parts read them.
        let e = with_conditions(e, keep, |c, kept| self.still(c, kept));
        let e = self.numbered(e, keep);
        // Where they say on other lines which parts there are, they mean what they do here.
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

    /// Of many cases, which one it is has a name, so that each says so itself and not that all before it do not hold.
    fn numbered(&mut self, e: Expr, keep: &Names) -> Expr {
        let Kind::Case(cases, otherwise) = &e.kind else { return e };
        // What is read elsewhere than at its own places may have other sizes on a line of its own.
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
        let names = axis_order(&which, &around, self.program);
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

/// Returns true if a derivative may be infinite where the numbers are finite.
pub(super) fn may_be_infinite(e: &Expr) -> bool {
    match &e.kind {
        Kind::Quotient(two) if !matches!(two[1].kind, Kind::Number(_)) => true,
        Kind::Power(_) | Kind::Call(_) => true,
        _ => e.parts().into_iter().any(may_be_infinite),
    }
}

/// Returns true if something that only branches need, and may be infinite elsewhere, is a factor.
pub(super) fn multiplies(e: &Expr, needed: &Needed) -> bool {
    let doubtful = |e: &Expr| e.any_ref(&mut |r| needed.contains_key(&r.name));
    match &e.kind {
        Kind::Product(factors) if factors.len() > 1 && factors.iter().any(doubtful) => true,
        _ => e.parts().into_iter().any(|part| multiplies(part, needed)),
    }
}
