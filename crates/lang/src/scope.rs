//! The scopes of indices. An index that appears twice in a product is summed at the innermost expression that contains
//! all its appearances; an index that appears once is kept, and reduced at the left side.

use crate::ast::{Affine, Expr, Index, Inside, Kind, Name, Place, Ref};
pub(crate) use crate::names::Names;
use crate::program::Program;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// The name of the axis that an index entry leaves.
pub(crate) fn key<E: Inside>(place: &Place<E>) -> Option<Name> {
    match &place.index {
        // Outside its steps, time is an axis like any other: `All[i,t] = H[i,*t]`.
        Index::Named(name, _) | Index::Time(name, _) => Some(name.clone()),
        Index::Slice(Some(name), ..) => Some(name.clone()),
        Index::Slice(None, ..) => Some(place.index.to_string().into()),
        Index::At(_) | Index::Symbol(..) | Index::Moment(_) | Index::Affine(_) | Index::Computed(_) => None,
    }
}

/// The names of all axes that an index entry leaves: several for `i+k` and for `Idx[i,k]`.
pub(crate) fn place_keys<E: Inside>(place: &Place<E>) -> Vec<Name> {
    match &place.index {
        Index::Affine(sum) => sum.terms.iter().map(|t| t.1.clone()).collect(),
        Index::Computed(e) => e.index_names(),
        _ => key(place).into_iter().collect(),
    }
}

/// The names of a tensor's axes.
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
        crate::print::compact(self)
    }

    fn index_names(&self) -> Vec<Name> {
        let read = self.refs().into_iter().flat_map(keys).collect::<Vec<_>>();
        distinct(read.into_iter().chain(occurrences(self)))
    }
}

/// All index names in an expression, including those given as axes.
pub(crate) fn occurrences(e: &Expr) -> Names {
    let mut out = Names::new();
    gather(e, &mut out);
    out
}

fn gather(e: &Expr, out: &mut Names) {
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

/// The names of the ranges in `at="s=1:3, :"`: explicit, or their text.
fn range_names(e: &Expr) -> Names {
    let Kind::Text(t) = &e.kind else { return Names::new() };
    let ranges = t.split(',').map(str::trim).filter(|r| r.contains(':') && *r != ":");
    ranges.map(|r| r.split_once('=').map_or(r, |(name, _)| name).into()).collect()
}

/// The index names in the settings of a call: its axes and ranges.
pub(crate) fn bound_by(call: &crate::ast::Call) -> Names {
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

/// The indices of an expression in order of appearance.
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

/// The free indices of an expression, given the indices kept around it, in axis order: that of first appearance, or
/// that of a call's result.
pub(crate) fn laid(e: &Expr, keep: &Names, program: &Program) -> Vec<Name> {
    match &e.kind {
        Kind::Ref(r) => return keys(r),
        Kind::Of(_, index) => return vec![index.clone()],
        Kind::Number(_) | Kind::Text(_) | Kind::Array(_) => return Vec::new(),
        Kind::Call(call) => {
            if let Some(choice) = crate::builtin::choice(call, program) {
                return laid(&choice.at(e.span), keep, program);
            }
        }
        _ => {}
    }
    let mut parts = match &e.kind {
        Kind::Call(call) => call.args.iter().collect(),
        _ => e.parts(),
    };
    // Chains of `&&` or `||` are flattened, so that each condition is visited once.
    let nested = matches!(&e.kind, Kind::And(two) | Kind::Or(two) if same(e, &two[0]));
    if nested {
        parts = members(e);
    }
    // Parts without parts have no inner sums, so `keep` does not matter.
    let each: Vec<Vec<Name>> = match parts.iter().all(|p| p.is_single()) {
        true => parts.iter().map(|p| laid(p, keep, program)).collect(),
        false if nested => {
            parts.iter().zip(besides(keep, &parts)).map(|(p, keep)| laid(p, &keep, program)).collect()
        }
        false => parts.iter().zip(kept_within(e, keep)).map(|(p, keep)| laid(p, &keep, program)).collect(),
    };
    match &e.kind {
        Kind::Call(call) => {
            let left = crate::builtin::leaves(call, &each, program);
            let mut out = crate::builtin::laid_out(call, &each, program);
            out.retain(|n| left.contains(n));
            distinct(out.into_iter().chain(left))
        }
        Kind::Product(_) => {
            let once = |n: &Name| each.iter().filter(|names| names.contains(n)).count() < 2;
            distinct(each.iter().flatten().filter(|n| keep.contains(n) || once(n)).cloned())
        }
        Kind::Reduce(_, axes, _) => distinct(each.into_iter().flatten().filter(|n| !axes.contains(n))),
        // The axes of a choice are those of its values, then those of its conditions.
        Kind::Choose(_) | Kind::Case(..) => {
            let conditions = match &e.kind {
                Kind::Case(cases, _) => 2 * cases.len(),
                _ => 2,
            };
            let is_value = |(i, _): &(usize, _)| *i >= conditions || i % 2 == 1;
            let (values, conditions): (Vec<_>, Vec<_>) = each.into_iter().enumerate().partition(is_value);
            distinct(values.into_iter().chain(conditions).flat_map(|(_, names)| names))
        }
        _ => distinct(each.into_iter().flatten()),
    }
}

fn same(a: &Expr, b: &Expr) -> bool {
    std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
}

/// The conditions of a chain of `&&` or `||`, in order.
fn members(e: &Expr) -> Vec<&Expr> {
    let (mut out, mut first) = (Vec::new(), e);
    while let Kind::And(two) | Kind::Or(two) = &first.kind
        && same(first, e)
    {
        out.push(&two[1]);
        first = &two[0];
    }
    out.push(first);
    out.reverse();
    out
}

/// The index names of an argument in axis order, given the indices that the call keeps.
pub(crate) fn names_of(
    arg: &Expr,
    args: &[Expr],
    left: &[Name],
    keep: &Names,
    program: &Program,
) -> Vec<Name> {
    match &arg.kind {
        Kind::Ref(r) => keys(r),
        _ => {
            let around = beside(&keep.iter().chain(left).cloned().collect(), args, arg);
            laid(arg, &around, program)
        }
    }
}

/// The indices that a part must keep: those kept around the expression, and those that its neighbours use.
pub(crate) fn beside<'a>(keep: &Names, parts: impl IntoIterator<Item = &'a Expr>, me: &Expr) -> Names {
    let mut out = keep.clone();
    for part in parts {
        if !std::ptr::eq(part, me) {
            gather(part, &mut out);
        }
    }
    out
}

/// Up to this many parts, each part visits all its neighbours.
const FEW: usize = 4;

/// The result of `beside` for each part. The time is linear in the number of parts.
pub(crate) fn besides(keep: &Names, parts: &[impl Borrow<Expr>]) -> Vec<Names> {
    let own: Vec<Names> = parts.iter().map(|p| occurrences(p.borrow())).collect();
    if own.len() <= FEW {
        let others = |i: usize| {
            let mut out = keep.clone();
            own.iter().enumerate().filter(|(j, _)| *j != i).for_each(|(_, n)| out.extend(n.iter().cloned()));
            out
        };
        return (0..own.len()).map(others).collect();
    }
    let mut times: BTreeMap<&Name, usize> = BTreeMap::new();
    own.iter().flatten().for_each(|n| *times.entry(n).or_default() += 1);
    let others = |own: &Names| {
        let elsewhere = times.iter().filter(|(n, count)| **count > usize::from(own.contains(n)));
        keep.iter().cloned().chain(elsewhere.map(|(n, _)| (*n).clone())).collect()
    };
    own.iter().map(others).collect()
}

/// The indices that each part of an expression must keep, in order.
pub(crate) fn kept_within(e: &Expr, keep: &Names) -> Vec<Names> {
    let mut around = keep.clone();
    match &e.kind {
        Kind::Reduce(_, axes, _) => around.extend(axes.iter().cloned()),
        Kind::Call(call) => {
            around.extend(bound_by(call));
            let mut out = besides(&around, &call.args);
            out.resize(call.args.len() + call.named.len(), around);
            return out;
        }
        _ => {}
    }
    besides(&around, &e.parts())
}

/// The free indices of an expression, given the indices kept around it.
pub(crate) fn free(e: &Expr, keep: &Names, program: &Program) -> Names {
    laid(e, keep, program).into_iter().collect()
}

/// The free indices of an entire right side whose reduction is not a sum: the outermost product does not sum them.
pub(crate) fn outermost(e: &Expr, keep: &Names, program: &Program) -> Names {
    match &e.kind {
        Kind::Product(factors) => {
            let around = besides(keep, factors);
            factors.iter().zip(&around).flat_map(|(f, a)| free(f, a, program)).collect()
        }
        Kind::Negative(one) => outermost(one, keep, program),
        Kind::Quotient(two) => {
            let mut out = outermost(&two[0], &beside(keep, &two[..], &two[0]), program);
            out.extend(free(&two[1], &beside(keep, &two[..], &two[1]), program));
            out
        }
        _ => free(e, keep, program),
    }
}

/// Renames the indices of an expression.
pub(crate) fn renamed(e: &Expr, names: &std::collections::HashMap<Name, Name>) -> Expr {
    let new = |n: &Name| names.get(n).unwrap_or(n).clone();
    let place = |p: &Place| {
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
    };
    let out = e.map_parts(&mut |part| renamed(part, names));
    let kind = match out.kind {
        Kind::Ref(r) => Kind::Ref(Ref { places: r.places.iter().map(place).collect(), ..r }),
        Kind::Of(f, index) => Kind::Of(f, new(&index)),
        Kind::Reduce(how, axes, body) => Kind::Reduce(how, axes.iter().map(new).collect(), body),
        Kind::Call(mut call) => {
            for (k, v) in &mut call.named {
                match &**k {
                    "axis" => *v = renamed_words(v, names),
                    "at" => *v = renamed_ranges(v, names),
                    _ => {}
                }
            }
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

/// The name with numbers appended, before its primes: `Y_2`, `Y_3`, …
pub(crate) fn numbered(name: &str, from: usize) -> impl Iterator<Item = Name> {
    let base = name.trim_end_matches('\'');
    let primes = &name[base.len()..];
    (from..).map(move |n| format!("{base}_{n}{primes}").into())
}

/// A name that is not taken, made by adding primes. Names of declared axes are skipped, because they have their own
/// sizes.
pub(crate) fn fresh(name: &str, taken: &Names, program: &Program) -> Name {
    let base =
        if name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') { name } else { "s" };
    let mut out = base.to_string();
    while taken.contains(&out) || out != name && program.axes.contains_key(&*out) {
        out.push('\'');
    }
    out.into()
}
