//! Branches: the conditions under which an expression contributes. A cotangent is 0 where a branch is not taken, whatever
//! the branch would give there.
//!
//! It is set to 0 where it arrives at a tensor, not where it enters the branch: in between it is multiplied
//! by the branch's derivative, which may be infinite where the branch is not taken, and 0 times infinity is
//! NaN.

use super::bare;
use super::needed::Needed;
use crate::builtin::Mixes;
use crate::elaborate::core::{Call, Expr, Index, Kind, Origin, Place};
use crate::elaborate::scope::{Names, bound_by, fresh};
use crate::program::Program;
use crate::syntax::ast::{self, Comparison, Inside, Name, Projection};
use std::collections::HashMap;

/// A condition, and whether a branch is taken where it holds or where it does not.
#[derive(Clone)]
pub(super) struct Mask {
    pub(super) condition: Expr,
    pub(super) holds: bool,
}

fn number(x: f64) -> Expr {
    match x < 0.0 {
        true => bare(Kind::Negative(Box::new(bare(Kind::Number(-x))))),
        false => bare(Kind::Number(x)),
    }
}

impl Mask {
    /// Returns the mask of a condition that must hold.
    pub(super) fn new(condition: Expr) -> Mask {
        Mask { condition, holds: true }
    }

    /// Returns an expression where the branch is taken, and a number elsewhere.
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

    /// Returns true if a read in the condition has the size of the index.
    pub(super) fn has_size_of(&self, index: &Name) -> bool {
        let is = |p: &Place| matches!(&p.index, Index::Named(n, 0) | Index::Time(n, _) if n == index);
        self.condition.refs().iter().flat_map(|r| &r.places).any(is)
    }

    /// Returns the mask that also needs a number to be positive.
    pub(super) fn and_positive(&self, e: Expr) -> Mask {
        let positive = bare(Kind::Compare(Comparison::Gt, Box::new([e, number(0.0)])));
        Mask::new(bare(Kind::And(Box::new([self.truth(), positive]))))
    }

    pub(super) fn indices(&self, program: &Program) -> Vec<Name> {
        self.condition.axis_order(program)
    }

    /// Returns the mask that is true where the branch is taken at some position of these indices.
    pub(super) fn anywhere(&self, gone: impl Fn(&Name) -> bool, program: &Program) -> Mask {
        let gone: Names = self.indices(program).into_iter().filter(gone).collect();
        if gone.is_empty() {
            return self.clone();
        }
        let (gone, body) = (gone.into_iter().collect(), Box::new(self.truth()));
        Mask::new(bare(Kind::Reduce(Projection::Max, gone, body, Origin::Written)))
    }
}

/// The largest number of nested choices: the parser limits nesting.
const MAX_CHOICES: usize = 8;

/// Returns true if a choice has more than `MAX_CHOICES` cases, which are then numbered.
pub(super) fn has_many(cases: &[[Expr; 2]]) -> bool {
    cases.len() > MAX_CHOICES
}

/// Returns a cotangent that is 0 unless all branches are taken: by nested choices or, for more than
/// `MAX_CHOICES`, case by case.
pub(super) fn nested(masks: &[Mask], ct: Expr) -> Expr {
    let (last, before) = match masks.split_last() {
        Some(parts) if masks.len() > MAX_CHOICES => parts,
        _ => return masks.iter().rev().fold(ct, |ct, mask| mask.or(ct, 0.0)),
    };
    let untaken = |m: &Mask| Mask { holds: !m.holds, ..m.clone() }.truth();
    let [yes, no] = if last.holds { [ct, number(0.0)] } else { [number(0.0), ct] };
    let cases = before.iter().map(|m| [untaken(m), number(0.0)]).chain([[last.condition.clone(), yes]]);
    bare(Kind::Choose(cases.collect(), Some(Box::new(no))))
}

/// Returns true if at most one of many cases holds, because they are numbered: 1, 2 and so on, the last possibly 0.
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
    has_many(cases) && (0..cases.len()).all(same)
}

/// Returns the values of a choice with the conditions of each: those of the cases before do not hold.
pub(super) fn branches<'e>(
    cases: &'e [[Expr; 2]],
    otherwise: Option<&'e Expr>,
) -> Vec<(Vec<Mask>, &'e Expr)> {
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

/// Returns the condition that some branches are taken, for an expression with these indices.
pub(super) fn guard(masks: &[Mask], names: &[Name], taken: Names, program: &Program) -> Option<Expr> {
    let each = masks.iter().map(|m| m.anywhere(|n| !names.contains(n), program).truth());
    joined(each.collect(), |n| names.contains(n), Kind::And, taken, program)
}

/// Combines conditions with these indices. Their inner indices get names that neither the others nor `taken` have.
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
        let own = condition.index_names();
        let met: Vec<Name> = own.iter().filter(|n| !index(n) && taken.contains(n)).cloned().collect();
        taken.extend(own);
        let mut names = HashMap::new();
        for name in met {
            let new = fresh(&name, &taken, program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        apart.push(condition.renamed(&names));
    }
    apart.into_iter().reduce(|a, b| bare(join(Box::new([a, b]))))
}

/// Returns the conditions under which arguments of a call are needed, unless they are those of the call.
/// Within a step, nothing is combined over its time.
pub(super) fn behind(masks: &[Mask], c: &Call, step: Option<&Name>, program: &Program) -> Option<Vec<Mask>> {
    if masks.is_empty() {
        return None;
    }
    let mixed = mixed_axes(c);
    let gone = |n: &Name| Some(n) != step && mixed.contains(n);
    let narrowed = || masks.iter().map(|m| m.anywhere(gone, program)).collect();
    (!matches!(mixed, Mixes::Nothing)).then(narrowed)
}

/// Returns the axes along which a call combines elements of its arguments.
pub(super) fn mixed_axes(c: &Call) -> Mixes {
    let call = c.outline();
    let names = |arg: &ast::Expr| {
        let own = call.args.iter().position(|a| std::ptr::eq(a, arg));
        own.map(|at| c.args[at].names.clone()).unwrap_or_default()
    };
    c.callee.mixes(&call, bound_by(&call), &names)
}

/// Returns true if a derivative may be infinite where the numbers are finite.
pub(super) fn may_be_infinite(e: &Expr) -> bool {
    match &e.kind {
        Kind::Quotient(two) if !matches!(two[1].kind, Kind::Number(_)) => true,
        Kind::Power(_) | Kind::Call(_) => true,
        _ => e.any_part(may_be_infinite),
    }
}

/// Returns true if a name that only branches need, and that may be infinite elsewhere, is a factor.
pub(super) fn multiplies(e: &Expr, needed: &Needed) -> bool {
    let doubtful = |e: &Expr| e.any_ref(&mut |r| needed.contains_key(&r.name));
    match &e.kind {
        Kind::Product(factors) if factors.len() > 1 && factors.iter().any(doubtful) => true,
        _ => e.any_part(|part| multiplies(part, needed)),
    }
}
