//! Ranges on the left side of an equation that is differentiated.

use crate::ast::{Equation, Index, Place, Ref};
use crate::scope::{fresh, key, keys, occurrences, renamed};
use std::collections::HashMap;

/// An equation whose left side has ranges, which are names there, with names instead; the right side's ranges of the
/// same text get the same names.
pub(super) fn with_named_ranges(e: &Equation) -> Equation {
    let from_start = |p: &Place| !matches!(&p.index, Index::Slice(None, a, _, by) if a.unwrap_or(0) != 0 || by.unwrap_or(1) != 1);
    if e.target.places.iter().all(from_start) {
        return e.clone();
    }
    let mut taken = occurrences(&e.value);
    taken.extend(keys(&e.target));
    let mut names = HashMap::new();
    for place in e.target.places.iter().filter(|p| matches!(p.index, Index::Slice(None, ..))) {
        if let Some(k) = key(place) {
            let new = fresh("s", &taken);
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
    Equation { target, guard, value: renamed(&e.value, &names), ..e.clone() }
}
