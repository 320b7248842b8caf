//! Ones and zeros along an index, built from a tensor of the equation that has the index: sizes of indices come from
//! tensors.

use super::back::{call, plain};
use crate::ast::{Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::builtin::{self, Base, Shape};
use crate::program::Program;
use crate::scope::{Names, distinct, free, fresh, key, keys, occurrences, place_keys, renamed};
use std::collections::HashMap;

/// The index of a place whose size is that of the axis. Not an index with an offset: it has that size only if nothing
/// else determines it.
pub(super) fn sized_key(place: &Place) -> Option<Name> {
    match &place.index {
        Index::Named(_, 1.. | ..=-1) => None,
        _ => key(place),
    }
}

/// Finds a tensor in an expression in which an index has the same size as in the entire expression.
fn having<'e>(e: &'e Expr, index: &Name, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) => Some(r).filter(|r| r.places.iter().any(|p| sized_key(p).as_ref() == Some(index))),
        Kind::Reduce(_, axes, _) if axes.contains(index) => None,
        Kind::Call(c) => {
            let callee = builtin::find(&c.function, program)?;
            // If a function of the program keeps an index, it keeps its size.
            let stays = || free(e, &Names::from_iter([index.clone()]), program).contains(index);
            let own = matches!(callee.base, Base::User(_)) && !builtin::leans(c, program) && stays();
            // A reduction does not change the axes that it keeps.
            let left = || matches!(callee.shape(), Shape::Reduce | Shape::ReduceOne) && stays();
            let by_name = own || matches!(callee.shape(), Shape::Pointwise | Shape::Along) || left();
            c.args.iter().filter(|_| by_name).find_map(|a| having(a, index, program))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, program)),
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
    let r = having(part, index, program)?;
    // Indices that are reduced away get names that nothing in the equation has.
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
    // Indices at an offset or in index arithmetic are reduced away too: the line determines only the size of `index`.
    let mut gone: Vec<Name> = Vec::new();
    for place in places
        .iter_mut()
        .filter(|p| p.index.is_arithmetic() || matches!(&p.index, Index::Named(_, 1.. | ..=-1)))
    {
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
    Some(match gone.is_empty() {
        true => all,
        false => Kind::Reduce(Projection::Max, gone, Box::new(all)).bare(),
    })
}

/// A part of an equation, for a line of its own. Adds zeros along the index of `even(i)` and the like if the part
/// alone does not determine its size. If the right side does not either, the left side's size is used.
pub(super) fn sized(e: &Expr, equation: &Equation, program: &Program) -> Expr {
    let left = Kind::Ref(equation.target.clone()).bare();
    let found = |index: &Name| {
        [&equation.value, &left].into_iter().find_map(|e| along("zeros_like", index, e, equation, program))
    };
    // In a copy of a part, an inner index has primes added; its size is that of the index without them.
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

/// The indices of a line whose size is only given by index arithmetic: those in sums of indices that are not the axis
/// of any tensor, except for indices that are reduced inside the line.
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
                // A size is one number, so the added axis is reduced away.
                let one = || Kind::Reduce(Projection::Max, vec![index.clone()], Box::new(sum.clone()));
                if &**function == "size" { one().at(e.span) } else { sum }
            }
            None => e.clone(),
        },
        _ => e.map_parts(&mut |p| with_sizes(p, zeros)),
    }
}
