//! Sizes of indices in lines of a gradient. In the equation that is differentiated, an index of `X[i+k]` has its size from other
//! tensors, or the largest for which all reads are inside; a line of the gradient may lack what says so, and gets ones along it.

use super::along::{along, unsized_indices};
use super::back::{Walk, call, reference, times};
use super::line;
use crate::elaborate::scope::{numbered, occurrences};
use crate::syntax::ast::{Equation, Expr, Kind, Name, Place, Projection, Ref};
use crate::syntax::source::Span;

impl Walk<'_> {
    /// A value with ones along indices that only index arithmetic has: their sizes are those of the equation.
    pub(super) fn with_sizes_of_arithmetic(&mut self, target: &Ref, value: Expr) -> Expr {
        let Some(equation) = self.equation.clone() else { return value };
        let mut ones = Vec::new();
        let open = unsized_indices(target, &value, false, self.program);
        // Inner sums in copies of parts have all that says how far they go.
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

    /// Ones along an index whose size the equation infers, by a name of their own.
    pub(super) fn inferred(&mut self, equation: &Equation, index: &Name) -> Option<Expr> {
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

/// A line of ones along an index, as far as all reads of an equation are inside.
pub(super) fn ones_along(equation: &Equation, index: &Name, name: &Name) -> Equation {
    let reads = equation.reads().into_iter().map(|r| Kind::Ref(r.clone()).bare()).collect();
    let ones = call("ones_like".into(), vec![Kind::Product(reads).bare()], Vec::new());
    let places = vec![Place::named(index)];
    let target = Ref { name: name.clone(), places, relation: false, span: Span::default() };
    let line = line(target, ones, equation.span);
    Equation { projection: Projection::Max, local: true, ..line }
}
