//! Writes loops as functions of the program: loops inside a time step, loops with another number of steps,
//! and loops that end by a condition.

use super::View;
use super::draft::{Draft, Drafts, Own, local, operand};
use super::forms::call;
use crate::syntax::ast::{Expr, Name, Projection};
use gradus_ir::Result;
use std::collections::{BTreeMap, BTreeSet};

impl Drafts {
    /// Writes one function per result, with the equations that this result needs, and a call of each.
    /// `extents` are those of the results; `body` writes the equations.
    pub(super) fn function(
        &mut self,
        operands: &[View],
        extents: &[Vec<usize>],
        body: impl FnOnce(&[View], &mut Drafts) -> Result<Vec<View>>,
    ) -> Result<Vec<View>> {
        let operands: Vec<View> = operands.iter().map(|o| self.solid(o)).collect();
        let (outer, clock) = (std::mem::take(&mut self.drafts), std::mem::take(&mut self.clock));
        let mut params = Vec::new();
        for o in &operands {
            let kinds: Vec<usize> = o.kinds.iter().map(|k| self.kind(self.extent(*k))).collect();
            params.push((self.fresh(), kinds));
        }
        let given: Vec<View> =
            params.iter().map(|(name, kinds)| View::named(name.clone(), kinds.clone(), None)).collect();
        let results = body(&given, self);
        let all = std::mem::take(&mut self.drafts);
        let mut calls = Vec::new();
        for (view, extents) in results.iter().flatten().zip(extents) {
            let kinds: Vec<usize> = extents.iter().map(|n| self.kind(*n)).collect();
            let (result, places) = (self.fresh(), (0..kinds.len()).collect::<Vec<_>>());
            let value = operand(view, &places);
            // No result reads the condition that ends a time, but the function needs it.
            let ends = self
                .times_by_condition
                .iter()
                .map(|(_, go)| go.clone())
                .filter(|go| all.iter().any(|d| d.name == *go));
            let (body, used) = needed(&all, reads(&value).into_iter().chain(ends).collect());
            self.drafts = body;
            self.add(result.clone(), None, kinds.clone(), Vec::new(), Projection::Sum, value);
            let mine: Vec<usize> = (0..params.len()).filter(|p| used.contains(&params[*p].0)).collect();
            let name = self.named_like("loop");
            self.functions.push(Own {
                name: name.clone(),
                params: mine.iter().map(|p| params[*p].clone()).collect(),
                result: (result, kinds),
                body: std::mem::take(&mut self.drafts),
            });
            calls.push((name, mine, extents));
        }
        (self.drafts, self.clock) = (outer, clock);
        results?;
        let apply = |(name, mine, extents): (Name, Vec<usize>, &Vec<usize>)| {
            let left: Vec<usize> = extents.iter().map(|n| self.kind(*n)).collect();
            let given: Vec<&View> = mine.iter().map(|p| &operands[*p]).collect();
            let (more, args) = self.arguments(left.len(), &given);
            self.equation(left, more, Projection::Sum, call(&name, args, Vec::new()))
        };
        Ok(calls.into_iter().map(apply).collect())
    }

    /// Returns the kinds of the indices of a call's arguments, which are numbered after those of the left
    /// side, and the arguments. Axes of one kind have the same index in all arguments.
    fn arguments(&self, left: usize, all: &[&View]) -> (Vec<usize>, Vec<Expr>) {
        let (mut more, mut args) = (Vec::new(), Vec::new());
        let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for view in all {
            let mut places: Vec<usize> = Vec::new();
            for (axis, kind) in view.kinds.iter().enumerate() {
                let root = self.root(*kind);
                let before = view.kinds[..axis].iter().filter(|k| self.root(**k) == root).count();
                places.push(*known.entry((root, before)).or_insert_with(|| {
                    more.push(*kind);
                    left + more.len() - 1
                }));
            }
            args.push(operand(view, &places));
        }
        (more, args)
    }

    /// Makes a new name: `base` with a number.
    pub(super) fn named_like(&mut self, base: &str) -> Name {
        let free = |n: usize| Name::from(format!("{base}{n}"));
        let mut n = 1;
        while !self.taken.insert(free(n)) {
            n += 1;
        }
        free(n)
    }
}

fn reads(e: &Expr) -> Vec<Name> {
    e.refs().into_iter().map(|r| r.name.clone()).collect()
}

/// Returns the equations that names depend on, and all names that these read.
pub(super) fn needed(all: &[Draft], mut open: Vec<Name>) -> (Vec<Draft>, BTreeSet<Name>) {
    let mut used: BTreeSet<Name> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if used.insert(name.clone()) {
            all.iter().filter(|d| d.name == name).for_each(|d| open.extend(reads(&d.value)));
        }
    }
    (all.iter().filter(|d| used.contains(&d.name)).cloned().collect(), used)
}

/// Returns the setting `axis=` with an index of an equation.
pub(super) fn axis_called(at: usize) -> (&'static str, Expr) {
    ("axis", crate::syntax::ast::Kind::Text(local(at)).bare())
}
