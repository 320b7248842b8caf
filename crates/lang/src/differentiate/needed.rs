//! Finds where names are needed. A name that only branches read is needed only where they are taken, so its
//! derivative, which may be infinite elsewhere, must not contribute there. The result is the same as if the
//! expression were written inside the branch.

use super::along::is_time_name;
use super::branch::{Mask, behind, branches, guard, joined};
use crate::builtin::Shape;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place, Ref};
use crate::elaborate::scope::{Names, fresh, key, place_keys};
use crate::program::Program;
use crate::syntax::ast::{Inside, Name, Projection};
use crate::syntax::indices::moving;
use crate::syntax::order::components;
use std::collections::{HashMap, HashSet};

/// Conditions by name. Their indices are `#0`, `#1` and so on: positions in the left side.
pub(crate) type Needed = HashMap<Name, Expr>;

/// Returns the name of the index at a position of the left side, in a condition.
fn at(position: usize) -> Name {
    format!("#{position}").into()
}

/// Returns the index names, if all are plain and distinct.
fn plain_keys(places: &[Place]) -> Option<Vec<Name>> {
    let plain = |p: &Place| match p.index {
        Index::Named(_, 0) | Index::Time(_, 0) => key(p),
        _ => None,
    };
    let all: Vec<Name> = places.iter().map(plain).collect::<Option<_>>()?;
    (1..all.len()).all(|i| !all[..i].contains(&all[i])).then_some(all)
}

/// Returns the conditions under which names are needed by equations. Results and names that are needed
/// everywhere have no entry.
pub(crate) fn where_needed(
    equations: &[&Equation],
    results: impl Fn(&Name) -> bool,
    program: &Program,
) -> Needed {
    let mut out = Needed::new();
    let chooses = |e: &Expr| e.any(&|e| matches!(e.kind, Kind::Choose(..)));
    if !equations.iter().any(|e| e.guard.is_some() || chooses(&e.value)) {
        return out;
    }
    let mut names: Vec<&Name> = Vec::new();
    let mut at: HashMap<&Name, usize> = HashMap::new();
    for e in equations {
        at.entry(&e.target.name).or_insert_with(|| {
            names.push(&e.target.name);
            names.len() - 1
        });
    }
    let mut needs = vec![Vec::new(); names.len()];
    let mut readers: Vec<Vec<&Equation>> = vec![Vec::new(); names.len()];
    for e in equations {
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

/// Returns the condition under which an equation's value is needed, in its own indices, unless it equals the
/// guard.
pub(crate) fn condition(e: &Equation, needed: &Needed, program: &Program) -> Option<Expr> {
    let condition = needed.get(&e.target.name)?;
    let own = plain_keys(&e.target.places)?;
    let mut names: HashMap<Name, Name> = own.iter().enumerate().map(|(p, k)| (at(p), k.clone())).collect();
    if e.guard.as_ref() == Some(&condition.renamed(&names)) {
        return None;
    }
    // Indices that the condition sums over must not be indices of the equation.
    let mut taken: Names = e.value.index_names().into_iter().chain(own).collect();
    taken.extend(e.guard.iter().flat_map(Expr::index_names));
    let inside = condition.index_names();
    // An equation has one name for time; other indices over all steps have that name with primes.
    let times: Vec<Name> =
        condition.refs().into_iter().filter_map(|r| Some(moving(&r.places)?.0.clone())).collect();
    let time = times.iter().find_map(|n| names.get(n)).or(moving(&e.target.places).map(|t| t.0)).cloned();
    let stem = |n: &Name| Name::from(n.trim_end_matches('\''));
    let base = |n: &Name| {
        time.iter().find(|t| times.contains(n) && !names.contains_key(n) && stem(n) != stem(t)).cloned()
    };
    let met: Vec<(Name, Name)> = inside
        .iter()
        .filter(|n| taken.contains(n) || base(n).is_some())
        .map(|n| (n.clone(), base(n).unwrap_or(n.clone())))
        .collect();
    taken.extend(inside);
    for (name, base) in met {
        let new = fresh(&base, &taken, program);
        taken.insert(new.clone());
        names.insert(name, new);
    }
    let mut condition = condition.renamed(&names);
    // A time other than that of the equation is an axis here. With a star it would be a second time.
    let times = |refs: Vec<&Ref>| -> Vec<Name> {
        refs.into_iter().filter_map(|r| Some(moving(&r.places)?.0.clone())).collect()
    };
    let own = times(e.reads().into_iter().chain([&e.target]).collect());
    for time in times(condition.refs()) {
        if own.iter().any(|t| stem(t) != stem(&time)) {
            without_star(&mut condition, &time);
        }
    }
    Some(condition)
}

/// Replaces `*t+1` by `t+1` for a time that is an axis.
fn without_star(e: &mut Expr, time: &Name) {
    if let Kind::Ref(r) = &mut e.kind {
        for place in &mut r.places {
            if let Index::Time(name, by) = &place.index
                && name == time
            {
                place.index = Index::Named(name.clone(), *by);
            }
        }
    }
    e.change_parts(&mut |part| without_star(part, time));
}

/// Adds to `all` the conditions under which an equation reads a name. Returns false if some read has no condition.
fn read_in(e: &Equation, name: &Name, needed: &Needed, program: &Program, all: &mut Vec<Expr>) -> bool {
    let guarded = e.guard.clone().filter(|_| e.projection == Projection::Sum);
    let masks: Vec<Mask> = condition(e, needed, program).into_iter().chain(guarded).map(Mask::new).collect();
    let mut readings = Readings { program, name, all, everywhere: false };
    readings.look(&e.value, &masks);
    !readings.everywhere
}

/// Returns true if each index of a function such as `index(j)`, or of reads at offsets such as `A[j+1]`, has a size on
/// another line: it is one of `keys`, is declared, or a tensor is read at it.
fn has_sizes(condition: &Expr, keys: &[Name], program: &Program) -> bool {
    let refs = condition.refs();
    let is_read = |n: &Name| {
        refs.iter().flat_map(|r| &r.places).any(|p| matches!(&p.index, Index::Named(own, 0) if own == n))
    };
    let is_given = |n: &Name| program.axes.contains_key(n) || is_time_name(n, program);
    let has_size = |n: &Name| keys.contains(n) || is_read(n) || is_given(n);
    let at_offset = |p: &Place| matches!(p.index, Index::Named(_, 1.. | ..=-1) | Index::Affine(_));
    let offsets = refs.iter().flat_map(|r| &r.places).filter(|p| at_offset(p));
    offsets.flat_map(place_keys).all(|n| has_size(&n))
        && !condition.any(&|e| matches!(&e.kind, Kind::Of(_, _, n) if !has_size(n)))
}

/// Returns true if a call that works on axes has an argument that reads a time other than `keys`. Within a step, that time
/// is not an axis; on a line without it, it would be one, and the call would work on other axes.
fn has_time_as_axis(condition: &Expr, keys: &[Name]) -> bool {
    let other_time = |r: &Ref| moving(&r.places).is_some_and(|t| !keys.contains(t.0));
    condition.any(&|e| match &e.kind {
        Kind::Call(c) if c.callee.shape() != Shape::Pointwise => {
            c.args.iter().any(|a| a.value.any_ref(&mut |r| other_time(r)))
        }
        _ => false,
    })
}

struct Readings<'a> {
    program: &'a Program,
    name: &'a Name,
    all: &'a mut Vec<Expr>,
    everywhere: bool,
}

impl Readings<'_> {
    fn look(&mut self, e: &Expr, masks: &[Mask]) {
        match &e.kind {
            // Conditions carry no derivative.
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => {}
            Kind::Ref(r) if r.name == *self.name => self.note(r, masks),
            Kind::Choose(cases, otherwise) => {
                for (own, value) in branches(cases, otherwise.as_deref()) {
                    if value.any_ref(&mut |r| r.name == *self.name) {
                        self.look(value, &[masks, &own].concat());
                    }
                }
            }
            Kind::Call(c) => {
                let mixed = behind(masks, c, None, self.program);
                let masks = mixed.as_deref().unwrap_or(masks);
                c.args.iter().for_each(|a| self.look(&a.value, masks));
            }
            Kind::Reduce(_, axes, body, _) => {
                let over = |m: &Mask| m.anywhere(|n| axes.contains(n), self.program);
                self.look(body, &masks.iter().map(over).collect::<Vec<_>>());
            }
            _ => e.parts().into_iter().for_each(|p| self.look(p, masks)),
        }
    }

    fn note(&mut self, r: &Ref, masks: &[Mask]) {
        let found = plain_keys(&r.places).and_then(|keys| {
            let condition = guard(masks, &keys, Names::new(), self.program)?;
            // An expression that takes its indices from the left side cannot be moved to another line.
            let has_list = condition.any(&|e| matches!(e.kind, Kind::Array(..)));
            if has_list
                || condition.leaning(self.program).is_some()
                || has_time_as_axis(&condition, &keys)
                || !has_sizes(&condition, &keys, self.program)
            {
                return None;
            }
            let names = keys.into_iter().enumerate().map(|(p, k)| (k, at(p))).collect();
            Some(condition.renamed(&names))
        });
        self.everywhere |= found.is_none();
        self.all.extend(found);
    }
}
