//! Writes ones and zeros along an index. Tensors determine the sizes of indices. If a gradient line lacks the
//! tensor that determines a size in its equation, ones or zeros made from that tensor determine it.

use super::{bare, plain};
use crate::builtin::{Base, Shape};
use crate::elaborate::core::{Call, Equation, Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, key, keys, place_keys};
use crate::program::Program;
use crate::syntax::ast::{Inside, Name, Projection};
use crate::syntax::indices::moving;
use std::collections::HashMap;

/// Returns the index of an entry whose size is that of the axis. An index at an offset has that size only if
/// nothing else determines it.
pub(super) fn sized_key(place: &Place) -> Option<Name> {
    match &place.index {
        Index::Named(_, 1.. | ..=-1) => None,
        _ => key(place),
    }
}

/// Returns the index of an entry, if the entry determines its size.
type Axis = fn(&Place) -> Option<Name>;

/// Finds a tensor of an expression whose axis determines the size of a free index.
fn having<'e>(e: &'e Expr, index: &Name, axis: Axis, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) if r.places.iter().any(|p| axis(p).as_ref() == Some(index)) => Some(r),
        Kind::Reduce(_, axes, _, Origin::Written) if axes.contains(index) => None,
        Kind::Call(c) => {
            let stays = || e.axis_order(program).contains(index);
            // A function of the program that keeps an index does not change its size; neither does a reduction.
            let by_name = match (&c.callee.base, c.callee.shape()) {
                (Base::User(_), _) => !c.takes_names_from_left(program) && stays(),
                (_, Shape::Reduce | Shape::ReduceOne) => stays(),
                (_, shape) => matches!(shape, Shape::Pointwise | Shape::Along),
            };
            let find =
                |e| if by_name { having(e, index, axis, program) } else { summed(e, index, axis, program) };
            c.args.iter().find_map(|a| find(&a.value))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, axis, program)),
    }
}

/// Finds such a tensor inside of a sum over the index: no call around the sum changes its size.
fn summed<'e>(e: &'e Expr, index: &Name, axis: Axis, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Reduce(_, axes, body, Origin::Product) if axes.contains(index) => {
            having(body, index, axis, program)
        }
        _ => e.parts().into_iter().find_map(|p| summed(p, index, axis, program)),
    }
}

/// `ones_like` or `zeros_like` along an index that some part of an equation has.
pub(super) fn along(
    function: &str,
    index: &Name,
    part: &Expr,
    equation: &Equation,
    program: &Program,
) -> Option<Expr> {
    like(function, index, having(part, index, sized_key, program)?, equation, program)
}

/// Ones along an index that is only read at offsets: its size is that of the axis.
pub(super) fn ones_at_offset(
    index: &Name,
    part: &Expr,
    equation: &Equation,
    program: &Program,
) -> Option<Expr> {
    like("ones_like", index, having(part, index, key, program)?, equation, program)
}

/// `ones_like` or `zeros_like` along an index of a tensor.
fn like(function: &str, index: &Name, r: &Ref, equation: &Equation, program: &Program) -> Option<Expr> {
    let r = &at_last_step(r, index);
    // Indices that are reduced get names that the equation does not have.
    let mut taken: Names = equation.index_names();
    let mut names = HashMap::new();
    for other in keys(r).into_iter().filter(|k| k != index) {
        let new = fresh(&other, &taken, program);
        taken.insert(new.clone());
        names.insert(other, new);
    }
    let mut places = plain(&r.places);
    // Only this index has its size from the line: at an axis of its own, or else at the first offset.
    let mut gone: Vec<Name> = Vec::new();
    let mut has_axis = places.iter().any(|p| sized_key(p).as_ref() == Some(index));
    let moved = |p: &&mut Place| p.index.is_arithmetic() || matches!(&p.index, Index::Named(_, 1.. | ..=-1));
    for place in places.iter_mut().filter(moved) {
        if !has_axis && key(place).as_ref() == Some(index) {
            *place = Place::named(index);
            has_axis = true;
            continue;
        }
        let new = fresh("s", &taken, program);
        taken.insert(new.clone());
        *place = Place::named(&new);
        gone.push(new);
    }
    names.retain(|old, _| places.iter().any(|p| key(p).as_ref() == Some(old)));
    let tensor = bare(Kind::Ref(Ref { places, ..r.clone() })).renamed(&names);
    let name = equation.target.name.clone();
    let all = Call::made(function.into(), vec![tensor], Vec::new(), None, name, None, program)?;
    let all = bare(Kind::Call(Box::new(all)));
    gone.extend(names.into_values());
    gone.sort();
    Some(match gone.is_empty() {
        true => all,
        false => bare(Kind::Reduce(Projection::Max, gone, Box::new(all), Origin::Written)),
    })
}

/// Adds zeros to functions of an index where nothing in the expression determines the size of the index, as on a line of
/// its own. The size is that of the equation.
pub(super) fn size(value: &mut Expr, equation: &Equation, program: &Program) {
    if !value.is_of_index() {
        return;
    }
    let indices = indices_without_reads(value, program);
    let zeros = indices.into_iter().filter_map(|n| Some((n.clone(), zeros(&n, equation, program)?)));
    with_zeros(value, &zeros.collect());
}

/// Returns the indices of an expression that are not declared and that no read has by name, also at an offset.
fn indices_without_reads(value: &Expr, program: &Program) -> Vec<Name> {
    let has = |r: &Ref, n: &Name| r.places.iter().any(|p| matches!(&p.index, Index::Named(m, _) if m == n));
    let refs = value.refs();
    let given = |n: &Name| program.axes.contains_key(n) || refs.iter().any(|r| has(r, n));
    value.index_names().into_iter().filter(|n| !given(n)).collect()
}

/// Returns the indices of a condition that have no size on another line, also after [`size`].
pub(super) fn unsized_in_condition(condition: &Expr, equation: &Equation, program: &Program) -> Vec<Name> {
    let nothing = Ref { places: Vec::new(), ..equation.target.clone() };
    let mut out = unsized_indices(&nothing, condition, true, program);
    if condition.is_of_index() {
        let all = indices_without_reads(condition, program).into_iter();
        out.extend(all.filter(|n| zeros(n, equation, program).is_none()));
    }
    out.retain(|n| !is_time_name(n, program));
    distinct(out)
}

/// Returns true if an index is the time of an equation, whose size is the number of steps.
pub(super) fn is_time_name(index: &Name, program: &Program) -> bool {
    program.equations.iter().any(|e| moving(&e.target.places).is_some_and(|t| t.0 == index))
}

/// Zeros along an index of an equation. In a copy of a part, an inner index has primes, and the size of the one that it was
/// copied from.
fn zeros(index: &Name, equation: &Equation, program: &Program) -> Option<Expr> {
    let left = bare(Kind::Ref(equation.target.clone()));
    let found = |n: &Name| {
        [&equation.value, &left].into_iter().find_map(|p| along("zeros_like", n, p, equation, program))
    };
    let stem: Name = index.trim_end_matches('\'').into();
    let copied = || Some(found(&stem)?.renamed(&HashMap::from([(stem.clone(), index.clone())])));
    found(index).or_else(copied)
}

/// Adds zeros along some indices to functions of them.
fn with_zeros(e: &mut Expr, zeros: &HashMap<Name, Expr>) {
    let Kind::Of(function, _, index) = &e.kind else {
        return e.change_parts(&mut |p| with_zeros(p, zeros));
    };
    let Some(zeros) = zeros.get(index) else { return };
    let sum = Kind::Sum(vec![e.clone(), zeros.clone()]);
    e.kind = match &**function {
        // A size is one number, wherever it comes from.
        "size" => Kind::Reduce(Projection::Max, vec![index.clone()], Box::new(bare(sum)), Origin::Written),
        _ => sum,
    };
}

/// Returns the indices of a line that have no size there but by index arithmetic: those of sums of indices
/// that are not an axis of a tensor, except for indices of written reductions. With `offsets`, also those
/// that are read at offsets only.
pub(super) fn unsized_indices(target: &Ref, value: &Expr, offsets: bool, program: &Program) -> Vec<Name> {
    fn collect(e: &Expr, offsets: bool, bound: &[Name], open: &mut Vec<Name>, sized: &mut Vec<Name>) {
        if let Kind::Reduce(_, axes, body, Origin::Written) = &e.kind {
            let bound: Vec<Name> = bound.iter().chain(axes).cloned().collect();
            return collect(body, offsets, &bound, open, sized);
        }
        if let Kind::Ref(r) = &e.kind {
            let sums = r.places.iter().filter(|p| match p.index {
                Index::Named(_, 1.. | ..=-1) => offsets,
                _ => matches!(p.index, Index::Affine(_)),
            });
            open.extend(sums.flat_map(place_keys).filter(|n| !bound.contains(n)));
            sized.extend(r.places.iter().filter_map(sized_key).filter(|n| !bound.contains(n)));
        }
        e.parts().into_iter().for_each(|p| collect(p, offsets, bound, open, sized));
    }
    let (mut open, mut sized) = (Vec::new(), Vec::new());
    collect(value, offsets, &[], &mut open, &mut sized);
    target.computed().for_each(|p| collect(p, offsets, &[], &mut open, &mut sized));
    let sums = target.places.iter().filter(|p| matches!(p.index, Index::Affine(_)));
    open.extend(sums.flat_map(place_keys));
    let is_open = |n: &Name| !sized.contains(n) && !program.axes.contains_key(n);
    distinct(open.into_iter().filter(is_open))
}

/// Returns a read of the last step, unless its time is `index`: all steps have the same sizes, and only the last one can
/// always be read.
fn at_last_step(r: &Ref, index: &Name) -> Ref {
    let last = |p: &Place| match &p.index {
        Index::Time(time, _) if time != index => Place { index: Index::Step(-1), ..p.clone() },
        _ => p.clone(),
    };
    Ref { places: r.places.iter().map(last).collect(), ..r.clone() }
}

/// Returns a line of ones along an index of inferred size: the largest for which all reads of an equation are
/// in range.
pub(super) fn ones_along(
    equation: &Equation,
    index: &Name,
    name: &Name,
    program: &Program,
) -> Option<Equation> {
    let refs: Vec<Ref> = equation.reads().into_iter().map(|r| at_last_step(r, index)).collect();
    let several = |n: &Name| n != index && refs.iter().filter(|r| keys(r).contains(n)).count() > 1;
    let shared = distinct(refs.iter().flat_map(keys).filter(several));
    let reads = bare(Kind::Product(refs.into_iter().map(|r| bare(Kind::Ref(r))).collect()));
    let reads = match shared.is_empty() {
        true => reads,
        false => bare(Kind::Reduce(Projection::Sum, shared, Box::new(reads), Origin::Product)),
    };
    let like = equation.target.name.clone();
    let ones = Call::made("ones_like".into(), vec![reads], Vec::new(), None, like, None, program)?;
    let target =
        Ref { name: name.clone(), places: vec![Place::named(index)], relation: false, span: equation.span };
    Some(Equation {
        target,
        guard: None,
        projection: Projection::Max,
        value: bare(Kind::Call(Box::new(ones))),
        by_step: false,
        is_file: false,
        number: equation.number,
        span: equation.span,
    })
}
