//! Rewrites of indices: shifts by offsets, changes to the current time step, names instead of ranges.

use crate::elaborate::scope::{fresh, key, keys, occurrences, place_keys, renamed};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Index, Kind, Name, Place, Ref};
use std::borrow::Cow;
use std::collections::HashMap;

/// True if an expression is a product of tensors and numbers in which an index can be shifted. A range cannot be.
pub(super) fn shiftable(e: &Expr, name: &Name) -> bool {
    match &e.kind {
        Kind::Ref(r) => {
            let range = |p: &Place| matches!(p.index, Index::Slice(..)) && key(p).as_ref() == Some(name);
            let arithmetic = |p: &Place| p.index.is_arithmetic() && place_keys(p).contains(name);
            !r.places.iter().any(|p| range(p) || arithmetic(p))
        }
        Kind::Number(_) => true,
        Kind::Product(parts) => parts.iter().all(|p| shiftable(p, name)),
        Kind::Negative(one) => shiftable(one, name),
        _ => false,
    }
}

/// The index without its time offset.
pub(super) fn at_hand<E: Clone>(p: &Place<E>) -> Place<E> {
    match &p.index {
        Index::Time(name, _) => Place { index: Index::Time(name.clone(), 0), ..p.clone() },
        _ => p.clone(),
    }
}

/// The index without its offset.
pub(super) fn unmoved(p: &Place) -> Place {
    match &p.index {
        Index::Named(name, _) => Place { index: Index::Named(name.clone(), 0), ..p.clone() },
        _ => p.clone(),
    }
}

pub(super) fn shifted(e: &Expr, name: &Name, by: i64) -> Expr {
    let moved = |p: &Place| match &p.index {
        Index::Named(n, old) if n == name => Place { index: Index::Named(n.clone(), old + by), ..p.clone() },
        _ => p.clone(),
    };
    match &e.kind {
        Kind::Ref(r) => {
            Kind::Ref(Ref { places: r.places.iter().map(moved).collect(), ..r.clone() }).at(e.span)
        }
        _ => e.map_parts(&mut |p| shifted(p, name, by)),
    }
}

/// Replaces ranges on the left side of an equation, which are names there, by plain names; ranges with the same text
/// on the right side get the same names.
pub(super) fn with_named_ranges<'e>(e: &'e Equation, program: &Program) -> Cow<'e, Equation> {
    let from_start = |p: &Place| !matches!(&p.index, Index::Slice(None, r) if r[0].unwrap_or(0) != 0 || r[2].unwrap_or(1) != 1);
    if e.target.places.iter().all(from_start) {
        return Cow::Borrowed(e);
    }
    let mut taken = occurrences(&e.value);
    taken.extend(keys(&e.target));
    let mut names = HashMap::new();
    for place in e.target.places.iter().filter(|p| matches!(p.index, Index::Slice(None, ..))) {
        if let Some(k) = key(place) {
            let new = fresh(&k, &taken, program);
            taken.insert(new.clone());
            names.insert(k, new);
        }
    }
    let renamed_place = |p: &Place| match key(p).and_then(|k| names.get(&k).cloned()) {
        Some(n) => Place { index: Index::Named(n, 0), ..p.clone() },
        None => p.clone(),
    };
    let target = Ref { places: e.target.places.iter().map(renamed_place).collect(), ..e.target.clone() };
    let guard = e.guard.as_ref().map(|g| renamed(g, &names));
    Cow::Owned(Equation { target, guard, value: renamed(&e.value, &names), ..*e })
}
