//! The scopes of indices. An index that appears twice in a product is summed at the innermost product that contains
//! all its appearances; an index that appears once is kept, and reduced at the left side. The terms of a sum are
//! separate scopes for an index that each of them sums by itself: `relu(W[d] X[d] + U[d] Z[d])` has two sums.

use crate::program::Program;
use crate::syntax::ast::{Expr, Kind, Name};
pub(crate) use crate::syntax::indices::*;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Returns the free indices of an expression, given the indices kept around it, in axis order: that of first
/// appearance, or that of a call's result.
pub(crate) fn axis_order(e: &Expr, keep: &Names, program: &Program) -> Vec<Name> {
    match &e.kind {
        Kind::Ref(r) => return keys(r),
        Kind::Of(_, index) => return vec![index.clone()],
        Kind::Number(_) | Kind::Text(_) | Kind::Array(_) => return Vec::new(),
        Kind::Call(call) => {
            if let Some(choice) = crate::builtin::choice(call, program) {
                return axis_order(&choice.at(e.span), keep, program);
            }
        }
        _ => {}
    }
    let mut parts = match &e.kind {
        Kind::Call(call) => call.args.iter().collect(),
        _ => e.parts(),
    };
    // Chains of `&&` or `||` are flattened, so that each condition is visited once.
    let nested = matches!(&e.kind, Kind::And(two) | Kind::Or(two) if same(e, &two[0]));
    if nested {
        parts = members(e);
    }
    // Parts without parts have no inner sums, so `keep` does not matter.
    let within = |kept: Vec<Names>| -> Vec<Vec<Name>> {
        parts.iter().zip(kept).map(|(p, keep)| axis_order(p, &keep, program)).collect()
    };
    let each = match &e.kind {
        _ if parts.iter().all(|p| p.is_single()) => {
            parts.iter().map(|p| axis_order(p, keep, program)).collect()
        }
        _ if nested => within(kept_by_each(keep, &parts)),
        Kind::Sum(terms) => Terms::new(keep, terms, program).orders,
        _ => within(kept_within(e, keep, program)),
    };
    match &e.kind {
        Kind::Call(call) => {
            let left = crate::builtin::leaves(call, &each, program);
            let mut out = crate::builtin::laid_out(call, &each, program);
            out.retain(|n| left.contains(n));
            distinct(out.into_iter().chain(left))
        }
        Kind::Product(_) => {
            let once = |n: &Name| each.iter().filter(|names| names.contains(n)).count() < 2;
            distinct(each.iter().flatten().filter(|n| keep.contains(n) || once(n)).cloned())
        }
        Kind::Reduce(_, axes, _) => distinct(each.into_iter().flatten().filter(|n| !axes.contains(n))),
        // The axes of a choice are those of its values, then those of its conditions.
        Kind::Choose(_) | Kind::Case(..) => {
            let conditions = match &e.kind {
                Kind::Case(cases, _) => 2 * cases.len(),
                _ => 2,
            };
            let is_value = |(i, _): &(usize, _)| *i >= conditions || i % 2 == 1;
            let (values, conditions): (Vec<_>, Vec<_>) = each.into_iter().enumerate().partition(is_value);
            distinct(values.into_iter().chain(conditions).flat_map(|(_, names)| names))
        }
        _ => distinct(each.into_iter().flatten()),
    }
}

fn same(a: &Expr, b: &Expr) -> bool {
    std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
}

/// Returns the conditions of a chain of `&&` or `||`, in order.
fn members(e: &Expr) -> Vec<&Expr> {
    let (mut out, mut first) = (Vec::new(), e);
    while let Kind::And(two) | Kind::Or(two) = &first.kind
        && same(first, e)
    {
        out.push(&two[1]);
        first = &two[0];
    }
    out.push(first);
    out.reverse();
    out
}

/// Returns the indices that a part must keep: those kept around the expression, and those that its neighbours
/// use.
pub(crate) fn kept_by<'a>(keep: &Names, parts: impl IntoIterator<Item = &'a Expr>, me: &Expr) -> Names {
    let mut out = keep.clone();
    for part in parts {
        if !std::ptr::eq(part, me) {
            gather(part, &mut out);
        }
    }
    out
}

/// Up to this many parts, each part visits all its neighbours.
const FEW: usize = 4;

/// Returns the result of `kept_by` for each part. The time is linear in the number of parts.
pub(crate) fn kept_by_each(keep: &Names, parts: &[impl Borrow<Expr>]) -> Vec<Names> {
    let own: Vec<Names> = parts.iter().map(|p| occurrences(p.borrow())).collect();
    if own.len() <= FEW {
        let others = |i: usize| {
            let mut out = keep.clone();
            own.iter().enumerate().filter(|(j, _)| *j != i).for_each(|(_, n)| out.extend(n.iter().cloned()));
            out
        };
        return (0..own.len()).map(others).collect();
    }
    let mut times: BTreeMap<&Name, usize> = BTreeMap::new();
    own.iter().flatten().for_each(|n| *times.entry(n).or_default() += 1);
    let others = |own: &Names| {
        let elsewhere = times.iter().filter(|(n, count)| **count > usize::from(own.contains(n)));
        keep.iter().cloned().chain(elsewhere.map(|(n, _)| (*n).clone())).collect()
    };
    own.iter().map(others).collect()
}

/// The terms of a sum as scopes.
///
/// If every term that contains an index sums over it, as in `W[d] X[d] + U[d] Z[d]`, each term has its own sum. If some
/// term leaves the index open, as both do in `P[d] - Q[d]`, all terms keep it, and it is reduced around the sum.
pub(crate) struct Terms {
    /// The indices that each term must keep.
    pub(crate) keep: Names,
    /// The axis order of each term.
    pub(crate) orders: Vec<Vec<Name>>,
    /// Positions of terms that would sum over an index, and the index, which they keep because another term leaves it
    /// open.
    pub(crate) mixed: Vec<(usize, Name)>,
}

impl Terms {
    /// `keep` are the indices kept around the sum.
    pub(crate) fn new(keep: &Names, terms: &[Expr], program: &Program) -> Terms {
        let mut orders: Vec<Vec<Name>> = terms.iter().map(|t| axis_order(t, keep, program)).collect();
        let (mut keep, mut mixed) = (keep.clone(), Vec::new());
        if terms.iter().all(Expr::is_single) {
            return Terms { keep, orders, mixed };
        }
        let own: Vec<Names> = terms.iter().map(occurrences).collect();
        let mut times: BTreeMap<&Name, usize> = BTreeMap::new();
        own.iter().flat_map(Names::iter).for_each(|n| *times.entry(n).or_default() += 1);
        let shared = |n: &&Name| times.get(n).is_some_and(|count| *count > 1) && !keep.contains(n);
        let open: Names = orders.iter().flatten().filter(shared).cloned().collect();
        if open.is_empty() {
            return Terms { keep, orders, mixed };
        }
        keep.extend(open.iter().cloned());
        for (at, term) in terms.iter().enumerate() {
            let closed: Vec<&Name> =
                open.iter().filter(|n| own[at].contains(n) && !orders[at].contains(n)).collect();
            if closed.is_empty() {
                continue;
            }
            let kept = axis_order(term, &keep, program);
            // An index that is bound in the term, as by `reduce(sum, d)`, is not free even if it is kept.
            mixed.extend(closed.into_iter().filter(|n| kept.contains(n)).map(|n| (at, n.clone())));
            orders[at] = kept;
        }
        Terms { keep, orders, mixed }
    }
}

/// Returns the indices that each part of an expression must keep, in order.
pub(crate) fn kept_within(e: &Expr, keep: &Names, program: &Program) -> Vec<Names> {
    let mut around = keep.clone();
    match &e.kind {
        Kind::Sum(terms) => return vec![Terms::new(keep, terms, program).keep; terms.len()],
        Kind::Reduce(_, axes, _) => around.extend(axes.iter().cloned()),
        Kind::Call(call) => {
            around.extend(bound_by(call));
            let mut out = kept_by_each(&around, &call.args);
            out.resize(call.args.len() + call.named.len(), around);
            return out;
        }
        _ => {}
    }
    kept_by_each(&around, &e.parts())
}

/// Returns the free indices of an expression, given the indices kept around it.
pub(crate) fn free(e: &Expr, keep: &Names, program: &Program) -> Names {
    axis_order(e, keep, program).into_iter().collect()
}

/// Returns a name that is not taken, made by adding primes. Names of declared axes are skipped, because they
/// have their own sizes.
pub(crate) fn fresh(name: &str, taken: &Names, program: &Program) -> Name {
    let base =
        if name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') { name } else { "s" };
    let mut out = base.to_string();
    let number = |n: &str| program.params.iter().any(|p| *p.0 == *n);
    while taken.contains(&out) || number(&out) || out != name && program.axes.contains_key(&*out) {
        out.push('\'');
    }
    out.into()
}
