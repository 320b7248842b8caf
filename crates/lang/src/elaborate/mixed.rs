//! Ambiguous sums: an index that one term of a sum would close and another term leaves open, as in
//! `relu(W[d] X[d] + V[d])`. Takes lines of the surface tree; returns an error with both spellings.
//!
//! Under sums, products and divisions both spellings have the same value, so such a line is accepted: all terms keep the
//! index, and it is reduced at the left side. Where sums close otherwise is decided in `scope`.

use super::scope::{Names, Terms, axis_order, kept_by_each, kept_within, keys, occurrences};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Kind, Name, Projection};
use crate::syntax::diagnostic::Diagnostic;

/// The index of an ambiguous sum, the sum, and two of its terms.
pub(super) struct Mixed<'a> {
    index: Name,
    sum: &'a Expr,
    /// The term that would close the index.
    closed: &'a Expr,
    /// The positions of the terms that leave it open.
    open: Vec<usize>,
    /// If true, the sum is in the guard of its line.
    in_guard: bool,
}

impl Program {
    /// Refuses ambiguous sums in all equations.
    pub(super) fn check_terms(&self, faults: &mut Vec<Diagnostic>) {
        let bodies = self.functions.values().flat_map(|f| &f.body);
        for e in self.equations.iter().chain(bodies) {
            faults.extend(mixed_sum(e, self).map(|mixed| mixed.fault(e, self)));
        }
    }
}

/// Finds the first ambiguous sum of a line.
pub(super) fn mixed_sum<'a>(e: &'a Equation, program: &Program) -> Option<Mixed<'a>> {
    if !has_sum(&e.value) && !e.guard.as_ref().is_some_and(has_sum) {
        return None;
    }
    let left: Names = keys(&e.target).into_iter().collect();
    let mut keep = left.clone();
    keep.extend(e.guard.iter().flat_map(occurrences));
    let is_linear = e.projection == Projection::Sum;
    let terms = match &e.value.kind {
        // Each term of a relation is reduced on its own.
        Kind::Sum(terms) if e.target.relation => &terms[..],
        _ => std::slice::from_ref(&e.value),
    };
    let in_value = terms.iter().find_map(|t| match is_linear {
        true => find(t, &keep, true, program),
        false => find_reduced(t, &keep, program),
    });
    in_value.or_else(|| {
        let around = left.union(&occurrences(&e.value)).cloned().collect();
        let found = find(e.guard.as_ref()?, &around, false, program)?;
        Some(Mixed { in_guard: true, ..found })
    })
}

/// As [`find`], for the right side of a line whose reduction is not a sum: it reduces the indices that the terms of the
/// outermost sum share.
fn find_reduced<'a>(e: &'a Expr, keep: &Names, program: &Program) -> Option<Mixed<'a>> {
    match &e.kind {
        Kind::Negative(one) => find_reduced(one, keep, program),
        Kind::Product(factors) if factors.len() == 1 => find_reduced(&factors[0], keep, program),
        Kind::Quotient(two) => {
            let kept = kept_by_each(keep, &two[..]);
            let over = find_reduced(&two[0], &kept[0], program);
            over.or_else(|| find(&two[1], &kept[1], false, program))
        }
        Kind::Sum(terms) => {
            let mut kept = kept_by_each(keep, terms).into_iter();
            terms.iter().find_map(|t| find(t, &kept.next().unwrap_or_default(), false, program))
        }
        _ => find(e, keep, false, program),
    }
}

/// Returns true if an expression below a function has an ambiguous sum, with only the indices `keep` used around it.
pub(crate) fn is_ambiguous(e: &Expr, keep: &Names, program: &Program) -> bool {
    has_sum(e) && find(e, keep, false, program).is_some()
}

fn has_sum(e: &Expr) -> bool {
    matches!(e.kind, Kind::Sum(_)) || e.any_part(has_sum)
}

/// `keep` are the indices used outside of the sums around the expression. `is_linear` is true if only sums, products and
/// numerators are between the expression and the left side.
fn find<'a>(e: &'a Expr, keep: &Names, is_linear: bool, program: &Program) -> Option<Mixed<'a>> {
    let each = |parts: Vec<&'a Expr>, is_linear: bool| {
        let mut kept = kept_within(e, keep, program).into_iter();
        parts.into_iter().find_map(|p| find(p, &kept.next().unwrap_or_default(), is_linear, program))
    };
    match &e.kind {
        // A term alone: the indices of the other terms do not count as used outside.
        Kind::Sum(terms) => {
            let mixed = Terms::new(keep, terms, program);
            let apart = |(at, n): &&(usize, Name)| !is_linear || !closes_linearly(&terms[*at], n);
            if let Some((at, index)) = mixed.mixed.iter().find(apart) {
                let closes = |i: &usize| mixed.mixed.iter().any(|(j, n)| j == i && n == index);
                let open = (0..terms.len()).filter(|i| !closes(i) && mixed.orders[*i].contains(index));
                return Some(Mixed {
                    index: index.clone(),
                    sum: e,
                    closed: &terms[*at],
                    open: open.collect(),
                    in_guard: false,
                });
            }
            terms.iter().find_map(|t| find(t, keep, is_linear, program))
        }
        Kind::Product(_) | Kind::Negative(_) | Kind::Reduce(Projection::Sum, ..) => {
            each(e.parts(), is_linear)
        }
        Kind::Quotient(two) => {
            let kept = kept_by_each(keep, &two[..]);
            let over = find(&two[0], &kept[0], is_linear, program);
            over.or_else(|| find(&two[1], &kept[1], false, program))
        }
        Kind::Call(call) => each(call.args.iter().collect(), false),
        // Computed indices keep all their indices.
        Kind::Ref(_) => None,
        _ => each(e.parts(), false),
    }
}

/// Returns true if only sums, products and numerators are between a term and the product in it that closes an index.
fn closes_linearly(e: &Expr, index: &Name) -> bool {
    let has = |e: &&Expr| occurrences(e).contains(index);
    match &e.kind {
        Kind::Product(factors) => {
            let own: Vec<&Expr> = factors.iter().filter(has).collect();
            own.len() > 1 || own.iter().all(|f| closes_linearly(f, index))
        }
        Kind::Sum(terms) => terms.iter().filter(has).all(|t| closes_linearly(t, index)),
        Kind::Negative(one) | Kind::Reduce(Projection::Sum, _, one) => closes_linearly(one, index),
        Kind::Quotient(two) => !has(&&two[1]) && closes_linearly(&two[0], index),
        _ => false,
    }
}

impl Mixed<'_> {
    fn fault(&self, e: &Equation, program: &Program) -> Diagnostic {
        let Mixed { index, sum, closed, .. } = self;
        let terms = sum.parts();
        let open = self.open.first().map_or(*closed, |at| terms[*at]);
        let what = format!(
            "the sum over `{index}` is ambiguous: `{closed}` sums over it, `{}` does not",
            positive(open)
        );
        let fault = Diagnostic::error(closed.span, what).here("sums over it").about(index);
        let fault = fault.and(open.span, "leaves it open");
        let own = |(at, term): (usize, &&Expr)| match self.open.contains(&at) {
            true => reduced(Projection::Sum, index, term),
            false => (*term).clone(),
        };
        let apart = Kind::Sum(terms.iter().enumerate().map(own).collect()).at(sum.span);
        let root = if self.in_guard { e.guard.as_ref().unwrap_or(&e.value) } else { &e.value };
        let inside = replaced(root, sum, &apart);
        if self.in_guard {
            return fault.help(format!(
                "for a sum in each term write `when {inside}`; for a condition at every `{index}` give the sum a name"
            ));
        }
        // A function that works along the index leaves none to sum at the end.
        if !axis_order(root, &[index.clone()].into_iter().collect(), program).contains(index) {
            let help = format!("for a sum in each term write {inside}; for none give the sum a name");
            return fault.help(help);
        }
        let line = |value: Expr| Equation { value, guard: None, ..e.clone() };
        fault.help(format!(
            "for a sum in each term write {}; for one sum at the end write {}",
            line(inside),
            line(reduced(e.projection, index, root))
        ))
    }
}

fn positive(e: &Expr) -> &Expr {
    if let Kind::Negative(one) = &e.kind { one } else { e }
}

/// Returns the reduction of an expression over an index, inside of its sign.
fn reduced(how: Projection, index: &Name, e: &Expr) -> Expr {
    let kind = match &e.kind {
        Kind::Negative(one) if how == Projection::Sum => Kind::Negative(Box::new(reduced(how, index, one))),
        _ => Kind::Reduce(how, vec![index.clone()], Box::new(e.clone())),
    };
    kind.at(e.span)
}

/// Returns the expression with one of its parts replaced.
fn replaced(e: &Expr, part: &Expr, by: &Expr) -> Expr {
    match std::ptr::eq(e, part) {
        true => by.clone(),
        false => e.map_parts(&mut |p| replaced(p, part, by)),
    }
}
