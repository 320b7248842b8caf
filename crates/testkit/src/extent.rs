//! Selects the cases of a run: a short form, for every change, or all cases (`GRADUS_KIT=full`). Tests whose
//! time grows with the catalog use this selection. The catalog decides which samples exist.

use std::collections::HashMap;
use std::hash::Hash;

/// Samples of each name that the short form always includes.
const FIRST: usize = 3;

/// Of the samples after the first ones, the short form takes one in this many.
const STRIDE: usize = 6;

/// Returns true if this run is a full one.
pub fn full() -> bool {
    std::env::var_os("GRADUS_KIT").is_some_and(|kit| kit == "full")
}

/// Returns all cases in a full run. Otherwise returns, for every key, the first cases and every sixth of the
/// others.
pub fn select<T, K: Eq + Hash>(cases: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    chosen(cases, key, |count| count <= FIRST || count.is_multiple_of(STRIDE))
}

/// Returns all cases in a full run. Otherwise returns the first case of every key, for devices on which each
/// case compiles kernels.
pub fn first<T, K: Eq + Hash>(cases: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    chosen(cases, key, |count| count == 1)
}

/// Returns all cases in a full run, otherwise those whose number within their key, counted from 1, is
/// accepted.
fn chosen<T, K: Eq + Hash>(cases: Vec<T>, key: impl Fn(&T) -> K, accepted: impl Fn(usize) -> bool) -> Vec<T> {
    if full() {
        return cases;
    }
    let mut seen: HashMap<K, usize> = HashMap::new();
    let mut wanted = |case: &T| {
        let count = seen.entry(key(case)).or_default();
        *count += 1;
        accepted(*count)
    };
    cases.into_iter().filter(|case| wanted(case)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_forms_take_the_first_of_each_name() {
        if super::full() {
            return;
        }
        let cases: Vec<(char, usize)> = (0..13).map(|i| ('a', i)).chain([('b', 0)]).collect();
        let taken = super::select(cases.clone(), |case| case.0);
        assert_eq!(taken, [('a', 0), ('a', 1), ('a', 2), ('a', 5), ('a', 11), ('b', 0)]);
        assert_eq!(super::first(cases, |case| case.0), [('a', 0), ('b', 0)]);
    }
}
