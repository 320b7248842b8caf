//! Merges all contributions to one gradient into one line, at the position of the first.

use crate::elaborate::scope::{Names, fresh, keys, occurrences, renamed};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Index, Kind, Name, Projection};
use std::collections::HashMap;

pub(super) fn merged(lines: Vec<Equation>, program: &Program) -> Vec<Equation> {
    let mut out: Vec<Equation> = Vec::new();
    for line in lines {
        let first = out.iter_mut().find(|l| l.target.name == line.target.name && adds(l));
        match first {
            Some(first) if adds(&line) => {
                let term = in_terms_of(&line, first, program);
                first.value = match std::mem::replace(&mut first.value, Kind::Number(0.0).bare()).kind {
                    Kind::Sum(mut terms) => {
                        terms.push(term);
                        Kind::Sum(terms).bare()
                    }
                    one => Kind::Sum(vec![one.bare(), term]).bare(),
                };
            }
            _ => out.push(line),
        }
    }
    out
}

/// Returns true if an equation adds its value to every element: it sums, and its left side consists of plain indices, each
/// once.
fn adds(e: &Equation) -> bool {
    if e.projection != Projection::Sum {
        return false;
    }
    let named = e.target.places.iter().all(|p| matches!(p.index, Index::Named(_, 0) | Index::Time(_, 0)));
    named && keys(&e.target).len() == e.target.places.len()
}

/// Returns the right side of an equation, renamed to the indices of another left side.
fn in_terms_of(e: &Equation, other: &Equation, program: &Program) -> Expr {
    let (own, new) = (keys(&e.target), keys(&other.target));
    if own == new {
        return e.value.clone();
    }
    let mut taken: Names = occurrences(&e.value);
    taken.extend(new.iter().cloned());
    let mut names: HashMap<Name, Name> = HashMap::new();
    for name in occurrences(&e.value) {
        if let Some(at) = own.iter().position(|k| *k == name) {
            names.insert(name, new[at].clone());
        } else if new.contains(&name) {
            let spare = fresh(&name, &taken, program);
            taken.insert(spare.clone());
            names.insert(name, spare);
        }
    }
    renamed(&e.value, &names)
}
