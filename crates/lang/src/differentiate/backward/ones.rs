//! Ones along an index, from a tensor of the equation that has it: how far an index goes is told by tensors.

use super::{Back, bare, plain, reference, times};
use crate::builtin::{Base, Shape};
use crate::elaborate::core::{Expr, Kind, Origin, Ref};
use crate::elaborate::scope::{Names, fresh, keys};
use crate::program::Program;
use crate::syntax::ast::{Name, Projection};
use std::collections::HashMap;

impl Back<'_, '_> {
    /// The cotangent of a term that is repeated along indices of its neighbours, which nothing else has: once for each
    /// position.
    pub(super) fn repeated(&self, whole: &Expr, all: &[Name], term: &Expr, ct: Expr) -> Option<Expr> {
        let mut said = term.laid(self.program);
        said.extend(ct.laid(self.program));
        said.extend(self.masks.iter().flat_map(|m| m.indices(self.program)));
        let missing: Names = all.iter().filter(|n| !said.contains(n)).cloned().collect();
        let mut ones = Vec::new();
        for index in &missing {
            let having = |e| having(e, index, self.program);
            ones.push(self.ones(index, having(whole).or_else(|| having(&self.equation.value))?)?);
        }
        Some(times(ct, ones))
    }

    /// Ones along an index of a tensor.
    fn ones(&self, index: &Name, r: &Ref) -> Option<Expr> {
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

/// A tensor with an index that is free in an expression and has there the size of an axis.
fn having<'e>(e: &'e Expr, index: &Name, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) => Some(r).filter(|r| keys(r).contains(index)),
        Kind::Reduce(_, axes, ..) if axes.contains(index) => None,
        Kind::Call(c) => {
            let stays = || e.laid(program).contains(index);
            let by_name = match (&c.callee.base, c.callee.shape()) {
                (Base::User(_), _) | (_, Shape::Reduce | Shape::ReduceOne) => stays(),
                (_, shape) => matches!(shape, Shape::Pointwise | Shape::Along),
            };
            c.args.iter().filter(|_| by_name).find_map(|a| having(&a.value, index, program))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, program)),
    }
}
