//! Gives names to the values of lines under `max=`, `min=` and `prod=` that write at positions, or to parts of a name, before
//! differentiation. Takes a program; returns one with lines for those names, which `backward::positions` differentiates.

use super::plain;
use crate::elaborate::scope::{Names, key, keys, numbered};
use crate::program::Program;
use crate::syntax::ast::{Equation, Index, Inside, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::is_timed;
use std::collections::HashSet;

/// Returns true if a line has a reduction other than a sum, and writes at positions or shares its name with a line that
/// writes to a part.
pub(super) fn is_written_in_parts<E: Inside>(program: &Program, how: Projection, target: &Ref<E>) -> bool {
    if how == Projection::Sum || target.relation {
        return false;
    }
    if target.places.iter().any(|p| p.index.is_arithmetic()) {
        return true;
    }
    let partial = |t: &Ref| {
        let all = keys(t);
        let distinct = (1..all.len()).all(|i| !all[..i].contains(&all[i]));
        let part = |p: &Place| !matches!(p.index, Index::Named(_, 0) | Index::Time(..));
        let fixed = t.places.iter().any(|p| matches!(p.index, Index::Step(_)));
        !fixed && (!distinct || t.places.iter().any(part))
    };
    let own = program.definition(&target.name).map(|d| &d.equations[..]).unwrap_or_default();
    let target = |i: &usize| &program.equations[*i].target;
    how != Projection::Avg && own.len() > 1 && own.iter().any(|i| partial(target(i)))
}

impl Program {
    /// Returns the program with names for the values that such lines write, and the equations of those names;
    /// `None` if there are none.
    pub(super) fn with_written_values(
        &self,
        among: impl Fn(&Name) -> bool,
    ) -> Result<Option<(Program, Vec<Equation>)>, Diagnostic> {
        let names: HashSet<&Name> = self
            .equations
            .iter()
            .filter(|e| among(&e.target.name) && is_written_in_parts(self, e.projection, &e.target))
            .map(|e| &e.target.name)
            .collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut taken: Names = self.names.iter().cloned().collect();
        let (mut equations, mut found) = (Vec::new(), Vec::new());
        for e in &self.equations {
            // A mean is over all values that arrive, so its terms are not combined before.
            let keeps = matches!(e.projection, Projection::Sum | Projection::Avg) || is_read(e);
            if !names.contains(&e.target.name) || keeps {
                equations.push(e.clone());
                continue;
            }
            let name = numbered(&e.target.name, 1).find(|n| !taken.contains(n)).unwrap_or_default();
            taken.insert(name.clone());
            let time: Vec<Place> = e.target.places.iter().filter(|p| is_timed(p)).cloned().collect();
            let timed: Vec<Name> = time.iter().filter_map(key).collect();
            let own = keys(&e.target).into_iter().filter(|k| !timed.contains(k));
            let places: Vec<Place> = own.map(|k| Place::named(&k)).chain(time.iter().cloned()).collect();
            let target = Ref { name, places: plain(&places), relation: false, span: e.target.span };
            let written = Equation { target: target.clone(), local: true, ..e.clone() };
            let read = Equation { value: Kind::Ref(target).at(e.value.span), guard: None, ..e.clone() };
            found.push(written.clone());
            equations.push(written);
            equations.push(read);
        }
        let program = Program { equations, ..self.clone() };
        program.again().map(|p| Some((p, found))).map_err(|mut faults| faults.faults.remove(0))
    }
}

/// Returns true if a line writes one tensor, unchanged.
fn is_read(e: &Equation) -> bool {
    let Kind::Ref(r) = &e.value.kind else { return false };
    let plain = |p: &Place| matches!(p.index, Index::Named(_, 0) | Index::Time(..));
    let (own, left) = (keys(r), keys(&e.target));
    e.guard.is_none()
        && r.places.iter().all(plain)
        && own.len() == r.places.len()
        && own.iter().all(|k| left.contains(k))
        && left.iter().all(|k| own.contains(k))
}
