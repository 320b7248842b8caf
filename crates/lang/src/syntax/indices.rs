//! Collects and renames the index names of entries, tensors and expressions, in the surface tree and in Core,
//! and finds time indices. `elaborate` decides which indices are summed where.

use super::ast::{Affine, Call, Expr, Index, Inside, Kind, Name, Place, Ref};
pub(crate) use super::names::Names;

/// Returns the name of the axis that an index entry leaves.
pub(crate) fn key<E: Inside>(place: &Place<E>) -> Option<Name> {
    match &place.index {
        // Outside its steps, time is an axis like any other: `All[i,t] = H[i,*t]`.
        Index::Named(name, _) | Index::Time(name, _) => Some(name.clone()),
        Index::Slice(Some(name), ..) => Some(name.clone()),
        Index::Slice(None, ..) => Some(place.index.to_string().into()),
        Index::At(_) | Index::Symbol(..) | Index::Step(_) | Index::Affine(_) | Index::Computed(_) => None,
    }
}

/// Returns the names of all axes that an index entry leaves: several for `i+k` and for `Idx[i,k]`.
pub(crate) fn place_keys<E: Inside>(place: &Place<E>) -> Vec<Name> {
    match &place.index {
        Index::Affine(sum) => sum.terms.iter().map(|t| t.1.clone()).collect(),
        Index::Computed(e) => e.index_names(),
        _ => key(place).into_iter().collect(),
    }
}

/// Returns the names of a tensor's axes.
pub(crate) fn keys<E: Inside>(r: &Ref<E>) -> Vec<Name> {
    let mut out = Vec::new();
    let mut add = |k: Name| {
        if !out.contains(&k) {
            out.push(k);
        }
    };
    for place in &r.places {
        match place.index.is_arithmetic() {
            true => place_keys(place).into_iter().for_each(&mut add),
            false => key(place).into_iter().for_each(&mut add),
        }
    }
    out
}

impl Inside for Expr {
    fn compact(&self) -> String {
        super::print::compact(self)
    }

    fn index_names(&self) -> Vec<Name> {
        let read = self.refs().into_iter().flat_map(keys).collect::<Vec<_>>();
        distinct(read.into_iter().chain(occurrences(self)))
    }
}

/// Returns all index names in an expression, including those given as axes.
pub(crate) fn occurrences(e: &Expr) -> Names {
    let mut out = Names::new();
    gather(e, &mut out);
    out
}

/// Adds all index names of an expression.
pub(crate) fn gather(e: &Expr, out: &mut Names) {
    match &e.kind {
        Kind::Ref(r) => {
            out.extend(r.places.iter().filter_map(key));
            out.extend(r.places.iter().filter(|p| p.index.is_arithmetic()).flat_map(place_keys));
        }
        Kind::Of(_, index) => {
            out.insert(index.clone());
        }
        Kind::Reduce(_, axes, body) => {
            out.extend(axes.iter().cloned());
            gather(body, out);
        }
        kind => {
            if let Kind::Call(call) = kind {
                out.extend(bound_by(call));
            }
            e.any_part(|p| {
                gather(p, out);
                false
            });
        }
    }
}

/// Collects the words of a setting.
fn words(e: &Expr, out: &mut Names) {
    match &e.kind {
        Kind::Text(t) => {
            out.insert(t.clone());
        }
        Kind::List(parts) => parts.iter().for_each(|p| words(p, out)),
        _ => {}
    }
}

/// Returns the names of the ranges in `at="s=1:3, :"`: explicit, or their text.
fn range_names(e: &Expr) -> Names {
    let Kind::Text(t) = &e.kind else { return Names::new() };
    let ranges = t.split(',').map(str::trim).filter(|r| r.contains(':') && *r != ":");
    ranges.map(|r| r.split_once('=').map_or(r, |(name, _)| name).into()).collect()
}

/// Returns the index names in the settings of a call: its axes and ranges.
pub(crate) fn bound_by(call: &Call) -> Names {
    let mut out = Names::new();
    for (k, value) in &call.named {
        match &**k {
            "axis" => words(value, &mut out),
            "at" => out.extend(range_names(value)),
            _ => {}
        }
    }
    out
}

/// Returns the indices of an expression in order of appearance.
pub(crate) fn in_order(e: &Expr, among: &Names) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for r in e.refs() {
        for k in keys(r) {
            if among.contains(&k) && !out.contains(&k) {
                out.push(k);
            }
        }
    }
    // Indices that appear only in functions of an index come last.
    let rest: Vec<Name> = among.iter().filter(|n| !out.contains(n)).cloned().collect();
    out.extend(rest);
    out
}

/// Removes repetitions.
pub(crate) fn distinct(names: impl IntoIterator<Item = Name>) -> Vec<Name> {
    let mut out = Vec::new();
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// Renames the indices of a place, except for those of expressions within.
pub(crate) fn renamed_place<E: Inside + Clone>(
    p: &Place<E>,
    names: &std::collections::HashMap<Name, Name>,
) -> Place<E> {
    let new = |n: &Name| names.get(n).unwrap_or(n).clone();
    let index = match &p.index {
        Index::Named(n, by) => Index::Named(new(n), *by),
        Index::Time(n, by) => Index::Time(new(n), *by),
        Index::Slice(Some(n), range) => Index::Slice(Some(new(n)), range.clone()),
        Index::Slice(None, range) => match key(p).and_then(|k| names.get(&k).cloned()) {
            Some(n) => Index::Slice(Some(n), range.clone()),
            None => p.index.clone(),
        },
        Index::Affine(sum) => {
            let terms = sum.terms.iter().map(|(by, n)| (by.clone(), new(n))).collect();
            Index::Affine(Box::new(Affine { terms, offset: sum.offset.clone() }))
        }
        other => other.clone(),
    };
    Place { index, ..p.clone() }
}

/// Renames the indices in the settings of a call: its axes and ranges.
pub(crate) fn rename_settings(settings: &mut [(Name, Expr)], names: &std::collections::HashMap<Name, Name>) {
    for (k, v) in settings {
        match &**k {
            "axis" => *v = renamed_words(v, names),
            "at" => *v = renamed_ranges(v, names),
            _ => {}
        }
    }
}

/// Renames the indices of an expression.
pub(crate) fn renamed(e: &Expr, names: &std::collections::HashMap<Name, Name>) -> Expr {
    let new = |n: &Name| names.get(n).unwrap_or(n).clone();
    let out = e.map_parts(&mut |part| renamed(part, names));
    let kind = match out.kind {
        Kind::Ref(r) => {
            Kind::Ref(Ref { places: r.places.iter().map(|p| renamed_place(p, names)).collect(), ..r })
        }
        Kind::Of(f, index) => Kind::Of(f, new(&index)),
        Kind::Reduce(how, axes, body) => Kind::Reduce(how, axes.iter().map(new).collect(), body),
        Kind::Call(mut call) => {
            rename_settings(&mut call.named, names);
            Kind::Call(call)
        }
        other => other,
    };
    kind.at(e.span)
}

fn renamed_words(e: &Expr, names: &std::collections::HashMap<Name, Name>) -> Expr {
    match &e.kind {
        Kind::Text(t) => Kind::Text(names.get(t).unwrap_or(t).clone()).at(e.span),
        Kind::List(parts) => Kind::List(parts.iter().map(|p| renamed_words(p, names)).collect()).at(e.span),
        _ => e.clone(),
    }
}

/// Renames the ranges of `at="s=1:3, :"`.
fn renamed_ranges(e: &Expr, names: &std::collections::HashMap<Name, Name>) -> Expr {
    let Kind::Text(t) = &e.kind else { return e.clone() };
    let one = |r: &str| {
        let (name, range) = r.split_once('=').unwrap_or((r, r));
        match names.get(name).filter(|_| range != ":") {
            Some(new) => format!("{new}={range}"),
            None => r.to_string(),
        }
    };
    let all: Vec<String> = t.split(',').map(|r| one(r.trim())).collect();
    Kind::Text(all.join(", ").into()).at(e.span)
}

/// Returns the name with numbers appended, before its primes: `Y_2`, `Y_3`, …
pub(crate) fn numbered(name: &str, from: usize) -> impl Iterator<Item = Name> {
    let base = name.trim_end_matches('\'');
    let primes = &name[base.len()..];
    (from..).map(move |n| format!("{base}_{n}{primes}").into())
}

/// Returns the time index among some places and its offset.
pub(crate) fn moving<E>(places: &[Place<E>]) -> Option<(&Name, i64)> {
    places.iter().find_map(|p| match &p.index {
        Index::Time(name, by) => Some((name, *by)),
        _ => None,
    })
}

/// Returns the time offset of an index entry from the current step, in an equation with this left side. A
/// time with another name is an ordinary index over all steps. A plain index with the name of the time is
/// read at the current step.
fn own_time<E, F>(target: &Ref<E>, place: &Place<F>) -> Option<i64> {
    let own = moving(&target.places)?.0;
    match &place.index {
        Index::Time(time, by) | Index::Named(time, by) if time == own => Some(*by),
        _ => None,
    }
}

/// Returns the time offset of a tensor from the current step.
pub(crate) fn from_moment<E, F>(target: &Ref<E>, places: &[Place<F>]) -> Option<i64> {
    places.iter().find_map(|p| own_time(target, p))
}

/// Returns true if an index entry is the time of an equation with this left side.
pub(crate) fn is_time<E, F>(target: &Ref<E>, place: &Place<F>) -> bool {
    own_time(target, place).is_some()
}

/// Returns true if an index entry is a time or a fixed step.
pub(crate) fn is_timed<E>(p: &Place<E>) -> bool {
    matches!(p.index, Index::Time(..) | Index::Step(_))
}
