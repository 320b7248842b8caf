//! Properties of functions that the differentiation of branches needs: which calls choose between their arguments, and
//! which combine several positions of an argument, so that a result at one position needs the argument at others.

use super::{Base, Callee, Shape, find};
use crate::program::Program;
use crate::syntax::ast::{Call, Expr, Function, Kind, Name, Ref};
use crate::syntax::indices::{Names, keys};
use std::sync::Arc;

/// The axes along which a call combines positions of its arguments into one element of the result.
#[derive(Clone, Debug)]
pub(crate) enum Mixes {
    Nothing,
    /// Positions along these axes.
    Along(Names),
    Everything,
}

impl Mixes {
    /// Returns true if the call combines positions along this axis.
    pub(crate) fn contains(&self, axis: &Name) -> bool {
        match self {
            Mixes::Nothing => false,
            Mixes::Along(axes) => axes.contains(axis),
            Mixes::Everything => true,
        }
    }
}

impl Callee {
    /// Returns the axes along which this call mixes positions. `axes` are those that the call names; `names`
    /// returns the axis names of an argument.
    pub(crate) fn mixes(&self, call: &Call, axes: Names, names: &dyn Fn(&Expr) -> Vec<Name>) -> Mixes {
        if let Base::User(f) = &self.base {
            let known: Vec<Name> = f.params.iter().flat_map(keys).collect();
            if keys(&f.result).iter().any(|k| !known.contains(k)) {
                return Mixes::Everything;
            }
            // The last axes of an argument are those that the parameter names.
            let own =
                |(p, a): (&Ref, &Expr)| names(a).into_iter().rev().take(p.places.len()).collect::<Vec<_>>();
            let mixed: Names = f.params.iter().zip(&call.args).flat_map(own).collect();
            return if mixed.is_empty() { Mixes::Nothing } else { Mixes::Along(mixed) };
        }
        match self.shape() {
            Shape::Pointwise if !self.gives_one_number(call) => Mixes::Nothing,
            Shape::Along | Shape::Reduce | Shape::ReduceOne if !axes.is_empty() => Mixes::Along(axes),
            _ => Mixes::Everything,
        }
    }
}

/// Returns true if a function of the program maps numbers to one number: neither it nor any function it calls has an
/// index or time, or combines several positions.
pub(crate) fn is_of_numbers(f: &Arc<Function>, program: &Program) -> bool {
    fn each(e: &Expr, program: &Program, calls: &mut Vec<Arc<Function>>) -> bool {
        let alone = match &e.kind {
            Kind::Ref(r) => r.places.is_empty(),
            Kind::Of(..) | Kind::Reduce(..) => false,
            Kind::Call(c) => match find(&c.function, program) {
                Some(Callee { base: Base::User(f), .. }) => {
                    calls.push(f);
                    true
                }
                Some(callee) => matches!(callee.mixes(c, Names::new(), &|_| Vec::new()), Mixes::Nothing),
                None => true,
            },
            _ => true,
        };
        alone && !e.any_part(|part| !each(part, program, calls))
    }
    let (mut seen, mut calls) = (Names::new(), vec![f.clone()]);
    while let Some(f) = calls.pop() {
        if !seen.insert(f.name.clone()) {
            continue;
        }
        let mut heads = f.params.iter().chain([&f.result]).chain(f.body.iter().map(|e| &e.target));
        let mut parts = f.body.iter().flat_map(|e| [&e.value].into_iter().chain(&e.guard));
        if heads.any(|r| !r.places.is_empty()) || parts.any(|e| !each(e, program, &mut calls)) {
            return false;
        }
    }
    true
}

/// Rewrites a call that chooses between its arguments (`where`, `masked_fill`, `case`) as a choice expression, which
/// then determines its meaning, its axes and its derivative.
pub(crate) fn choice(call: &Call, program: &Program) -> Option<Kind> {
    let Some(Callee { base: Base::Table(b), order: 0 }) = find(&call.function, program) else { return None };
    let choose =
        |c: &Expr, yes: &Expr, no: &Expr| Kind::Choose(Box::new([c.clone(), yes.clone(), no.clone()]));
    match (b.name, &call.args[..]) {
        ("where", [c, x, y]) => Some(choose(c, x, y)),
        ("masked_fill", [x, mask, value]) => Some(choose(mask, value, x)),
        ("case", args) => {
            // The function `case` takes the last condition that holds, `case { … }` the first; so pairs are reversed.
            let pairs = args.chunks_exact(2).rev().map(|two| [two[0].clone(), two[1].clone()]).collect();
            let last = args.chunks_exact(2).remainder().first();
            Some(Kind::Case(pairs, last.map(|e| Box::new(e.clone()))))
        }
        _ => None,
    }
}
