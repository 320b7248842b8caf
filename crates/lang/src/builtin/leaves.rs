//! The indices of its arguments that remain in the result of a call, as far as they are known before the run.

use super::apply::{given, has_twins};
use super::{Base, Callee, Shape, along, find};
use crate::program::Program;
use crate::syntax::ast::{Call, Function, Kind, Name};
use crate::syntax::indices::moving;
use crate::syntax::indices::{Names, bound_by, distinct, key, keys};
use std::collections::HashMap;

/// Returns the indices of the result of a positional function, if the table and the arguments determine them.
fn known(callee: &Callee, call: &Call, each: &[Vec<Name>]) -> Option<Names> {
    if let Base::User(f) = &callee.base {
        return known_of_own(f, call, each);
    }
    let Base::Table(b) = &callee.base else { return None };
    let tensors = call.args.iter().all(|a| matches!(a.kind, Kind::Ref(_)));
    let each: Vec<&[Name]> = each.iter().map(|names| &names[..]).collect();
    let names = given(b.gives, &each, None).filter(|_| tensors && !b.gives.is_empty())?;
    Some(names.into_iter().filter(|n| !n.contains(' ')).collect())
}

/// As `known`, for the program's own functions. Leading axes that a parameter does not name remain, and of the named
/// ones those that the result has. Time that a parameter does not name remains too: the function is called at every
/// time step.
fn known_of_own(f: &Function, call: &Call, each: &[Vec<Name>]) -> Option<Names> {
    let left = keys(&f.result);
    let (mut out, mut taken) = (Names::new(), Names::new());
    for ((param, arg), names) in f.params.iter().zip(&call.args).zip(each) {
        let mut own = names.clone();
        let spare = own.len() > param.places.len();
        if let Some((time, _)) = arg.refs().into_iter().filter(|_| spare).find_map(|r| moving(&r.places)) {
            own.retain(|k| k != time);
            out.insert(time.clone());
        }
        let spare = own.len().checked_sub(param.places.len())?;
        out.extend(own[..spare].iter().cloned());
        for (place, name) in param.places.iter().filter_map(key).zip(&own[spare..]) {
            // An index of several parameters has the name from the first argument.
            if !taken.contains(&place) && left.contains(&place) {
                out.insert(name.clone());
            }
            taken.insert(place);
        }
    }
    Some(out)
}

/// Returns true if a function of the program returns an index that none of its parameters has. The left side then names
/// it.
pub(super) fn gives_new(f: &Function) -> bool {
    let known: Vec<_> = f.params.iter().flat_map(keys).collect();
    keys(&f.result).iter().any(|k| !known.contains(k))
}

/// Returns the axis names of the result of a function of the program, in order, for arguments with these axis
/// names: leading axes that the parameters do not name, then those of the result. New axes have the names
/// used inside the function.
pub(crate) fn own_names(f: &Function, args: &[Vec<Name>]) -> Option<Vec<Name>> {
    let (mut out, mut actual) = (Vec::new(), HashMap::new());
    for (param, arg) in f.params.iter().zip(args) {
        let (before, own) = arg.split_at(arg.len().checked_sub(param.places.len())?);
        for name in before {
            if !out.contains(name) {
                out.push(name.clone());
            }
        }
        for (formal, name) in param.places.iter().filter_map(key).zip(own) {
            actual.entry(formal).or_insert_with(|| name.clone());
        }
    }
    out.extend(keys(&f.result).into_iter().map(|k| actual.get(&k).cloned().unwrap_or(k)));
    Some(out)
}

/// Returns the position of the argument that a derivative is taken for, if `wrt` names one.
pub(crate) fn differentiated(callee: &Callee, call: &Call) -> Option<usize> {
    let last = match call.named.iter().find(|(k, _)| &**k == "wrt").map(|(_, v)| &v.kind) {
        Some(Kind::List(all)) => all.last().map(|e| &e.kind),
        other => other,
    };
    let Some(Kind::Text(last)) = last else { return None };
    let before = Callee { order: callee.order - 1, ..callee.clone() };
    let bound = before.bound(call.args.len().saturating_sub(1), before.order > 0);
    bound.iter().position(|p| p.name == *last)
}

/// Returns the indices of the result of a call, from those of its arguments.
pub(crate) fn leaves(call: &Call, each: &[Vec<Name>], program: &Program) -> Names {
    let all = || each.iter().flatten().cloned().collect::<Names>();
    let Some(callee) = find(&call.function, program) else { return all() };
    let setting = |key: &str| call.named.iter().find(|(k, _)| &**k == key).map(|(_, v)| &v.kind);
    if callee.order > 0 {
        let by = differentiated(&callee, call).and_then(|at| each.get(at));
        return by.map_or_else(all, |names| names.iter().cloned().collect());
    }
    if callee.gives_one_number(call) {
        return Names::new();
    }
    let mut named = bound_by(call);
    if setting("axis").is_some() || callee.shape().has_one_axis() {
        named.extend(along(call));
    }
    let without = |gone: Names| all().into_iter().filter(|n| !gone.contains(n)).collect();
    match callee.shape() {
        Shape::Reduce if named.is_empty() => Names::new(),
        Shape::Reduce => without(named),
        Shape::ReduceOne | Shape::Gather => without(named),
        Shape::Grow => all().into_iter().chain(named).collect(),
        Shape::Scatter => each.first().into_iter().flatten().cloned().collect(),
        Shape::Positional => known(&callee, call, each).unwrap_or_else(all),
        _ => all(),
    }
}

/// Returns the indices of the result of a call in axis order, for arguments with these indices. May include
/// indices that the result does not have.
pub(crate) fn laid_out(call: &Call, each: &[Vec<Name>], program: &Program) -> Vec<Name> {
    let all = || distinct(each.iter().flatten().cloned());
    let Some(callee) = find(&call.function, program) else { return all() };
    if callee.order > 0 {
        let by = differentiated(&callee, call).and_then(|at| each.get(at));
        return by.cloned().unwrap_or_else(all);
    }
    let given = match &callee.base {
        Base::User(f) => own_names(f, each),
        Base::Table(b) if b.shape == Shape::Positional && !b.gives.is_empty() => {
            given(b.gives, &each.iter().map(|names| &names[..]).collect::<Vec<_>>(), None)
        }
        Base::Table(b) if b.shape == Shape::Gather => gathered(call, each),
        _ => None,
    };
    // New axes take their names from the left side, so no argument has them.
    let known = |names: &Vec<Name>| !has_twins(names);
    match given.filter(known) {
        Some(names) => names.into_iter().filter(|n| all().contains(n)).collect(),
        None => distinct(all().into_iter().chain(bound_by(call))),
    }
}

/// Returns the axes of the result of `gather`: those that both arguments share, those of the positions, then
/// the others.
fn gathered(call: &Call, each: &[Vec<Name>]) -> Option<Vec<Name>> {
    let [x, ids, ..] = each else { return None };
    let axis = bound_by(call).into_iter().next().or(x.last().cloned());
    let (shared, rest): (Vec<Name>, Vec<Name>) =
        x.iter().filter(|n| Some(*n) != axis.as_ref()).cloned().partition(|n| ids.contains(n));
    Some(distinct([shared, ids.clone(), rest].concat()))
}
