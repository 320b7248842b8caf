//! Ones and zeros along an index, from a tensor of the equation that has it: how far an index goes is told by tensors.

use super::back::{call, plain};
use crate::builtin::{self, Base, Shape};
use crate::elaborate::scope::{Names, distinct, free, fresh, key, keys, occurrences, place_keys, renamed};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Index, Inside, Kind, Name, Place, Projection, Ref};
use std::collections::HashMap;

/// The index of a place whose size is that of the axis: not one with an offset, which only has it if nothing else says it.
pub(super) fn sized_key<E: Inside>(place: &Place<E>) -> Option<Name> {
    match &place.index {
        Index::Named(_, 1.. | ..=-1) => None,
        _ => key(place),
    }
}

/// Gives the index of a place, if the place says its size.
type Axis = fn(&Place) -> Option<Name>;

/// A tensor with an index that is that of the expression it stands in.
fn having<'e>(e: &'e Expr, index: &Name, axis: Axis, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) => Some(r).filter(|r| r.places.iter().any(|p| axis(p).as_ref() == Some(index))),
        Kind::Reduce(_, axes, _) if axes.contains(index) => None,
        Kind::Call(c) => {
            let callee = builtin::find(&c.function, program)?;
            // A function of the program's own that leaves an index leaves it as it is.
            let stays = || free(e, &Names::from_iter([index.clone()]), program).contains(index);
            let own = matches!(callee.base, Base::User(_)) && !builtin::leans(c, program) && stays();
            // Nor does a reduction touch what it leaves.
            let left = || matches!(callee.shape(), Shape::Reduce | Shape::ReduceOne) && stays();
            let by_name = own || matches!(callee.shape(), Shape::Pointwise | Shape::Along) || left();
            c.args.iter().filter(|_| by_name).find_map(|a| having(a, index, axis, program))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, axis, program)),
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
    Some(like(function, index, having(part, index, sized_key, program)?, equation, program))
}

/// Ones along an index that is only read at offsets: its size is that of the axis.
pub(super) fn ones_at_offset(
    index: &Name,
    part: &Expr,
    equation: &Equation,
    program: &Program,
) -> Option<Expr> {
    Some(like("ones_like", index, having(part, index, key, program)?, equation, program))
}

/// `ones_like` or `zeros_like` along an index of a tensor.
fn like(function: &str, index: &Name, r: &Ref, equation: &Equation, program: &Program) -> Expr {
    // What goes away has names that nothing in the equation has, also where time is at hand.
    let mut taken = occurrences(&equation.value);
    taken.extend(keys(&equation.target));
    taken.extend(equation.guard.iter().flat_map(occurrences));
    let mut names = HashMap::new();
    for other in keys(r).into_iter().filter(|k| k != index) {
        let new = fresh(&other, &taken, program);
        taken.insert(new.clone());
        names.insert(other, new);
    }
    let mut places = plain(&r.places);
    // Only the index in question has its size from the line: at an axis of its own, or else at the first offset.
    let mut gone: Vec<Name> = Vec::new();
    let mut has_axis = places.iter().any(|p| sized_key(p).as_ref() == Some(index));
    for place in places
        .iter_mut()
        .filter(|p| p.index.is_arithmetic() || matches!(&p.index, Index::Named(_, 1.. | ..=-1)))
    {
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
    let like = Kind::Ref(Ref { places, ..r.clone() }).bare();
    let all = call(function.into(), vec![renamed(&like, &names)], Vec::new());
    gone.extend(names.into_values());
    gone.sort();
    match gone.is_empty() {
        true => all,
        false => Kind::Reduce(Projection::Max, gone, Box::new(all)).bare(),
    }
}

/// A part of an equation for a line of its own, where functions of an index may have lost what says how far it goes. What the
/// right side does not say, its left side has from elsewhere.
pub(super) fn sized(e: &Expr, equation: &Equation, program: &Program) -> Expr {
    let left = Kind::Ref(equation.target.clone()).bare();
    let found = |index: &Name| {
        [&equation.value, &left].into_iter().find_map(|e| along("zeros_like", index, e, equation, program))
    };
    // In a copy of a part, an inner index has primes, and the size of the one it stands for.
    let zeros = |index: &Name| {
        let stem: Name = index.trim_end_matches('\'').into();
        let copied = || Some(renamed(&found(&stem)?, &HashMap::from([(stem.clone(), index.clone())])));
        found(index).or_else(copied)
    };
    let told = |index: &Name| {
        let has = |r: &Ref| r.places.iter().any(|p| matches!(&p.index, Index::Named(n, _) if n == index));
        program.axes.contains_key(index) || e.refs().into_iter().any(has)
    };
    with_sizes(e, &|index| if told(index) { None } else { zeros(index) })
}

/// The indices of a line that have no size there but by index arithmetic: those of sums of indices that are no tensor's axis,
/// except for indices that are reduced inside of the line.
///
/// With `offsets`, also those that are read at offsets only.
pub(super) fn unsized_indices(target: &Ref, value: &Expr, offsets: bool, program: &Program) -> Vec<Name> {
    fn collect(e: &Expr, offsets: bool, bound: &[Name], open: &mut Vec<Name>, sized: &mut Vec<Name>) {
        match &e.kind {
            Kind::Reduce(_, axes, body) => {
                let bound: Vec<Name> = bound.iter().chain(axes).cloned().collect();
                collect(body, offsets, &bound, open, sized);
            }
            _ => {
                if let Kind::Ref(r) = &e.kind {
                    let sums = r.places.iter().filter(|p| match p.index {
                        Index::Named(_, 1.. | ..=-1) => offsets,
                        _ => matches!(p.index, Index::Affine(_)),
                    });
                    open.extend(sums.flat_map(place_keys).filter(|n| !bound.contains(n)));
                    sized.extend(r.places.iter().filter_map(sized_key).filter(|n| !bound.contains(n)));
                }
                e.any_part(|p| {
                    collect(p, offsets, bound, open, sized);
                    false
                });
            }
        }
    }
    let (mut open, mut sized) = (Vec::new(), Vec::new());
    collect(value, offsets, &[], &mut open, &mut sized);
    target.computed().for_each(|p| collect(p, offsets, &[], &mut open, &mut sized));
    let sums = target.places.iter().filter(|p| matches!(p.index, Index::Affine(_)));
    open.extend(sums.flat_map(place_keys));
    let is_open = |n: &Name| !sized.contains(n) && !program.axes.contains_key(n);
    distinct(open.into_iter().filter(is_open))
}

fn with_sizes(e: &Expr, zeros: &dyn Fn(&Name) -> Option<Expr>) -> Expr {
    match &e.kind {
        Kind::Of(function, index) => match zeros(index) {
            Some(zeros) => {
                let sum = Kind::Sum(vec![e.clone(), zeros]).at(e.span);
                // A size is one number, wherever it comes from.
                let one = || Kind::Reduce(Projection::Max, vec![index.clone()], Box::new(sum.clone()));
                if &**function == "size" { one().at(e.span) } else { sum }
            }
            None => e.clone(),
        },
        _ => e.map_parts(&mut |p| with_sizes(p, zeros)),
    }
}
