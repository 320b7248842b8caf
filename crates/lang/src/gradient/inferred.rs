//! Sizes of indices in lines of a gradient. In the original equation, an index of `X[i+k]` has its size from other
//! tensors, or the largest for which all reads are in range. A line of the gradient may lack these tensors, so it is
//! multiplied by ones along the index.

use super::along::{along, unsized_indices};
use super::back::{Walk, call, reference, times};
use super::line;
use crate::ast::{Equation, Expr, Kind, Name, Place, Projection, Ref};
use crate::scope::{numbered, occurrences};
use crate::source::Span;

impl Walk<'_> {
    /// Multiplies a value by ones along indices that occur only in index arithmetic, so that they have the sizes of
    /// the equation.
    pub(super) fn with_sizes_of_arithmetic(&mut self, target: &Ref, value: Expr) -> Expr {
        let Some(equation) = self.equation.clone() else { return value };
        let mut ones = Vec::new();
        let open = unsized_indices(target, &value, false, self.program);
        // Inner sums in copies of parts contain everything that determines their sizes.
        for index in open.into_iter().filter(|n| !self.introduced.contains(n)).collect::<Vec<_>>() {
            let left = Kind::Ref(equation.target.clone()).bare();
            let parts = [&equation.value].into_iter().chain(&equation.guard).chain([&left]);
            let mut known = parts.filter_map(|p| along("ones_like", &index, p, &equation, self.program));
            match known.next() {
                Some(known) => ones.push(known),
                None => ones.extend(self.inferred(&equation, &index)),
            }
        }
        if ones.is_empty() { value } else { times(value, ones) }
    }

    /// Ones along an index whose size the equation infers, under a new name.
    fn inferred(&mut self, equation: &Equation, index: &Name) -> Option<Expr> {
        if !occurrences(&equation.value).contains(index) {
            return None;
        }
        let known = (equation.span, index.clone());
        let name = match self.inferred.iter().find(|(k, _)| *k == known) {
            Some((_, name)) => name.clone(),
            None => {
                let free = |n: &Name| {
                    self.program.definition(n).is_none() && !self.inferred.iter().any(|(_, m)| m == n)
                };
                let name = numbered("Size", 1).find(free).unwrap_or_default();
                self.lines.push(ones_along(equation, index, &name));
                self.inferred.push((known, name.clone()));
                name
            }
        };
        Some(reference(name, vec![Place::named(index)]))
    }
}

/// A line of ones along an index, of the size for which all reads of an equation are in range.
pub(super) fn ones_along(equation: &Equation, index: &Name, name: &Name) -> Equation {
    let reads = equation.reads().into_iter().map(|r| Kind::Ref(r.clone()).bare()).collect();
    let ones = call("ones_like".into(), vec![Kind::Product(reads).bare()], Vec::new());
    let places = vec![Place::named(index)];
    let target = Ref { name: name.clone(), places, relation: false, span: Span::default() };
    let line = line(target, ones, equation.span);
    Equation { projection: Projection::Max, local: true, ..line }
}
