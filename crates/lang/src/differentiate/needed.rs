//! Finds where names are needed. A name that only branches read is needed only where they are taken, so its
//! derivative, which may be infinite elsewhere, must not contribute there. The result is the same as if the expression
//! were written inside the branch.

use super::branch::{Mask, behind, branches, guard, joined};
use super::settled::movable_equation;
use crate::builtin;
use crate::elaborate::scope::{Names, fresh, kept_by_each, key, keys, occurrences, renamed};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::order::components;
use std::collections::{HashMap, HashSet};

/// Conditions by name. Their indices are `#0`, `#1` and so on: positions in the left side.
pub(crate) type Needed = HashMap<Name, Expr>;

/// The name of the index at a position of the left side, in a condition.
fn at(place: usize) -> Name {
    format!("#{place}").into()
}

fn has_branches(e: &Expr) -> bool {
    matches!(e.kind, Kind::Choose(_) | Kind::Case(..)) || e.parts().into_iter().any(has_branches)
}

fn has_list(e: &Expr) -> bool {
    matches!(e.kind, Kind::Array(_)) || e.any_part(has_list)
}

/// The index names, if all are plain and distinct.
fn plain_keys(places: &[Place]) -> Option<Vec<Name>> {
    let plain = |p: &Place| match p.index {
        Index::Named(_, 0) | Index::Time(_, 0) => key(p),
        _ => None,
    };
    let all: Vec<Name> = places.iter().map(plain).collect::<Option<_>>()?;
    (1..all.len()).all(|i| !all[..i].contains(&all[i])).then_some(all)
}

/// The conditions under which names are needed by equations. Results and names that are needed everywhere have no
/// entry.
pub(crate) fn where_needed(
    equations: &[&Equation],
    results: impl Fn(&Name) -> bool,
    program: &Program,
) -> Needed {
    let mut out = Needed::new();
    if !equations.iter().any(|e| e.guard.is_some() || has_branches(&e.value)) {
        return out;
    }
    // Conditions are moved to other lines.
    let equations: Vec<Equation> = equations.iter().map(|e| movable_equation(program, e)).collect();
    let mut names: Vec<&Name> = Vec::new();
    let mut at: HashMap<&Name, usize> = HashMap::new();
    for e in &equations {
        at.entry(&e.target.name).or_insert_with(|| {
            names.push(&e.target.name);
            names.len() - 1
        });
    }
    let mut needs = vec![Vec::new(); names.len()];
    let mut readers: Vec<Vec<&Equation>> = vec![Vec::new(); names.len()];
    for e in &equations {
        let own: HashSet<usize> = e.reads().iter().filter_map(|r| at.get(&r.name).copied()).collect();
        own.iter().for_each(|read| readers[*read].push(e));
        needs[at[&e.target.name]].extend(own);
    }
    for group in components(&needs).into_iter().rev() {
        let &[one] = &group[..] else { continue };
        let name = names[one];
        if results(name) || needs[one].contains(&one) {
            continue;
        }
        let mut all: Vec<Expr> = Vec::new();
        let everywhere = readers[one].iter().any(|e| !read_in(e, name, &out, program, &mut all));
        let either = joined(all, |n| n.starts_with('#'), Kind::Or, Names::new(), program);
        if let Some(either) = either.filter(|_| !everywhere) {
            out.insert(name.clone(), either);
        }
    }
    out
}

/// The condition under which an equation's value is needed, in its own indices, unless it equals the guard.
pub(crate) fn condition(e: &Equation, needed: &Needed, program: &Program) -> Option<Expr> {
    let condition = needed.get(&e.target.name)?;
    let own = plain_keys(&e.target.places)?;
    let mut names: HashMap<Name, Name> = own.iter().enumerate().map(|(p, k)| (at(p), k.clone())).collect();
    if e.guard.as_ref() == Some(&renamed(condition, &names)) {
        return None;
    }
    // Indices that the condition sums over must not be indices of the equation.
    let mut taken = occurrences(&e.value);
    taken.extend(own);
    taken.extend(e.guard.iter().flat_map(occurrences));
    let inside = occurrences(condition);
    let met: Vec<Name> = inside.iter().filter(|n| taken.contains(n)).cloned().collect();
    taken.extend(inside);
    for name in met {
        let new = fresh(&name, &taken, program);
        taken.insert(new.clone());
        names.insert(name, new);
    }
    Some(renamed(condition, &names))
}

/// Adds to `all` the conditions under which an equation reads a name. Returns false if some read has no condition.
fn read_in(e: &Equation, name: &Name, needed: &Needed, program: &Program, all: &mut Vec<Expr>) -> bool {
    let left: Names = keys(&e.target).into_iter().collect();
    let mut keep = left.clone();
    keep.extend(e.guard.iter().flat_map(occurrences));
    let around: Names = left.union(&occurrences(&e.value)).cloned().collect();
    let outside = condition(e, needed, program);
    let guarded = e.guard.as_ref().filter(|_| e.projection == Projection::Sum);
    let mut masks: Vec<Mask> = outside.iter().map(|c| Mask::new(c, true, &around, program)).collect();
    masks.extend(guarded.map(|g| Mask::new(g, true, &around, program)));
    let mut readings = Readings { program, equation: e, name, all, everywhere: false };
    readings.look(&e.value, &masks, &keep);
    !readings.everywhere
}

struct Readings<'a> {
    program: &'a Program,
    equation: &'a Equation,
    name: &'a Name,
    all: &'a mut Vec<Expr>,
    everywhere: bool,
}

impl Readings<'_> {
    fn look(&mut self, e: &Expr, masks: &[Mask], keep: &Names) {
        let name = self.name;
        let reads = |e: &Expr| e.any_ref(&mut |r| r.name == *name);
        match &e.kind {
            // Conditions carry no derivative.
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => {}
            Kind::Ref(r) if r.name == *self.name => self.note(r, masks),
            Kind::Choose(_) | Kind::Case(..) => {
                for (own, value, keep) in branches(e, keep, self.program, reads) {
                    self.look(value, &[masks, &own].concat(), &keep);
                }
            }
            Kind::Call(c) => {
                let Some(callee) = builtin::find(&c.function, self.program) else { return };
                let mixed = behind(masks, self.program, self.equation, &callee, c, keep);
                let masks = mixed.as_deref().unwrap_or(masks);
                c.args
                    .iter()
                    .zip(kept_by_each(keep, &c.args))
                    .for_each(|(a, keep)| self.look(a, masks, &keep));
            }
            Kind::Reduce(_, axes, body) => {
                let masks: Vec<Mask> = masks.iter().map(|m| m.anywhere(|n| axes.contains(n))).collect();
                let keep = keep.iter().chain(axes).cloned().collect();
                self.look(body, &masks, &keep);
            }
            _ => {
                let parts: Vec<Expr> = e.parts().into_iter().cloned().collect();
                parts.iter().zip(kept_by_each(keep, &parts)).for_each(|(p, keep)| self.look(p, masks, &keep));
            }
        }
    }

    fn note(&mut self, r: &Ref, masks: &[Mask]) {
        let found = plain_keys(&r.places).and_then(|keys| {
            let condition = guard(masks, &keys, Names::new(), self.program)?;
            // An expression that takes its indices from the left side cannot be moved to another line.
            if has_list(&condition) || builtin::leaning(&condition, self.program).is_some() {
                return None;
            }
            let names = keys.into_iter().enumerate().map(|(p, k)| (k, at(p))).collect();
            Some(renamed(&condition, &names))
        });
        self.everywhere |= found.is_none();
        self.all.extend(found);
    }
}
