//! Ones along an index, from a tensor of the equation that has it: how far an index goes is told by tensors.

use super::{Back, bare, is_moved, plain, reference, times};
use crate::builtin::{Base, Shape};
use crate::differentiate::along::{along, sized_key};
use crate::elaborate::Elaborate;
use crate::elaborate::core::{Expr, Index, Kind, Origin, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, keys, place_keys, renamed};
use crate::program::Program;
use crate::syntax::ast::{self, Inside, Name, Projection};
use std::collections::HashMap;

impl Back<'_, '_> {
    /// The cotangent of a term that is repeated along indices of its neighbours, which nothing else has: once for each
    /// position.
    pub(super) fn repeated(&self, whole: &Expr, all: &[Name], term: &Expr, ct: Expr) -> Option<Expr> {
        let mut said = term.axis_order(self.program);
        said.extend(ct.axis_order(self.program));
        said.extend(self.masks.iter().flat_map(|m| m.indices(self.program)));
        let missing: Names = all.iter().filter(|n| !said.contains(n)).cloned().collect();
        let mut ones = Vec::new();
        for index in &missing {
            let having = |e| having(e, index, self.program);
            ones.push(self.ones(index, having(whole).or_else(|| having(&self.equation.value))?)?);
        }
        Some(times(ct, ones))
    }

    /// A value with ones along indices that only index arithmetic has: their sizes are those of the equation.
    pub(super) fn with_sizes(&mut self, target: &Ref, value: Expr) -> Option<Expr> {
        let open = self.unsized_indices(target, &value);
        let mut ones = Vec::new();
        for index in open.into_iter().filter(|n| !self.walk.introduced.contains(n)).collect::<Vec<_>>() {
            let e = self.written;
            let left = ast::Kind::Ref(e.target.clone()).bare();
            let mut parts = [&e.value].into_iter().chain(&e.guard).chain([&left]);
            let known = parts.find_map(|p| along("ones_like", &index, p, e, self.program));
            let found = known.or_else(|| self.walk.inferred(e, &index));
            ones.extend(found.map(|f| Elaborate::new(self.program, e).expr(&f, &self.all)));
        }
        Some(times(value, ones))
    }

    /// The indices of a line that have no size there but by sums of indices, except for those of written reductions.
    fn unsized_indices(&self, target: &Ref, value: &Expr) -> Vec<Name> {
        fn collect(e: &Expr, bound: &[Name], open: &mut Vec<Name>, sized: &mut Vec<Name>) {
            if let Kind::Reduce(_, axes, body, Origin::Written) = &e.kind {
                let bound: Vec<Name> = bound.iter().chain(axes).cloned().collect();
                return collect(body, &bound, open, sized);
            }
            if let Kind::Ref(r) = &e.kind {
                let sums = r.places.iter().filter(|p| matches!(p.index, Index::Affine(_)));
                open.extend(sums.flat_map(place_keys).filter(|n| !bound.contains(n)));
                sized.extend(r.places.iter().filter_map(sized_key).filter(|n| !bound.contains(n)));
            }
            e.parts().into_iter().for_each(|p| collect(p, bound, open, sized));
        }
        let (mut open, mut sized) = (Vec::new(), Vec::new());
        collect(value, &[], &mut open, &mut sized);
        target.computed().for_each(|p| collect(p, &[], &mut open, &mut sized));
        let sums = target.places.iter().filter(|p| matches!(p.index, Index::Affine(_)));
        open.extend(sums.flat_map(place_keys));
        let is_open = |n: &Name| !sized.contains(n) && !self.program.axes.contains_key(n);
        distinct(open.into_iter().filter(is_open))
    }

    /// Adds zeros to functions of an index where nothing on the line says how far the index goes.
    pub(super) fn size(&self, value: &mut Expr) {
        if !value.is_of_index() {
            return;
        }
        let has =
            |r: &Ref, n: &Name| r.places.iter().any(|p| matches!(&p.index, Index::Named(m, _) if m == n));
        let refs = value.refs();
        let given = |n: &Name| self.program.axes.contains_key(n) || refs.iter().any(|r| has(r, n));
        let indices: Vec<Name> = value.index_names().into_iter().filter(|n| !given(n)).collect();
        let zeros = indices.into_iter().filter_map(|n| Some((n.clone(), self.zeros(&n)?)));
        with_zeros(value, &zeros.collect());
    }

    /// Zeros along an index of the equation. In a copy of a part, an inner index has primes, and the size of the one that
    /// it was copied from.
    fn zeros(&self, index: &Name) -> Option<Expr> {
        let (e, left) = (self.written, ast::Kind::Ref(self.written.target.clone()).bare());
        let found =
            |n: &Name| [&e.value, &left].into_iter().find_map(|p| along("zeros_like", n, p, e, self.program));
        let stem: Name = index.trim_end_matches('\'').into();
        let copied = || Some(renamed(&found(&stem)?, &HashMap::from([(stem.clone(), index.clone())])));
        let zeros = found(index).or_else(copied)?;
        Some(Elaborate::new(self.program, e).expr(&zeros, &self.all))
    }

    /// Ones along an index of a tensor.
    fn ones(&self, index: &Name, r: &Ref) -> Option<Expr> {
        if r.places.iter().any(is_moved) {
            return None;
        }
        let mut taken = self.all.clone();
        let mut names = HashMap::new();
        for other in keys(r).into_iter().filter(|k| k != index) {
            let new = fresh(&other, &taken, self.program);
            taken.insert(new.clone());
            names.insert(other, new);
        }
        let like = reference(r.name.clone(), plain(&r.places)).renamed(&names);
        let all = self.made("ones_like".into(), vec![like], Vec::new(), None)?;
        let gone: Names = names.into_values().collect();
        if gone.is_empty() {
            return Some(all);
        }
        Some(bare(Kind::Reduce(Projection::Max, gone.into_iter().collect(), Box::new(all), Origin::Written)))
    }
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

/// A tensor with an index that is free in an expression and has there the size of an axis.
fn having<'e>(e: &'e Expr, index: &Name, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) => Some(r).filter(|r| r.places.iter().any(|p| sized_key(p).as_ref() == Some(index))),
        Kind::Reduce(_, axes, ..) if axes.contains(index) => None,
        Kind::Call(c) => {
            let stays = || e.axis_order(program).contains(index);
            let by_name = match (&c.callee.base, c.callee.shape()) {
                (Base::User(_), _) | (_, Shape::Reduce | Shape::ReduceOne) => stays(),
                (_, shape) => matches!(shape, Shape::Pointwise | Shape::Along),
            };
            c.args.iter().filter(|_| by_name).find_map(|a| having(&a.value, index, program))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, program)),
    }
}
