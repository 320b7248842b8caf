//! Raises the op `closure` to relations, with its rules as equations.

use super::View;
use super::draft::{Drafts, operand};
use super::forms::Raise;
use crate::rules::Closure;
use crate::syntax::ast::{Expr, Kind, Projection};
use gradus_ir::ops::Declared;

impl Raise<'_> {
    /// Returns the relations that grow, if this node is a closure op.
    pub(super) fn closure(&self, drafts: &mut Drafts) -> Option<Vec<View>> {
        let def = self.node.op.def();
        let attrs = def.attrs();
        let attr = |key: &str| attrs.iter().find(|(k, _)| *k == key).map(|(_, a)| a.clone());
        let op = Some(attr).filter(|_| def.name() == Closure::NAME).and_then(|a| Closure::from_attrs(&a))?;
        let rules = op.parsed().ok()?;
        // Inside a time step, a relation would depend on itself at that step.
        if drafts.clock.within || self.ins.iter().any(|s| s.when.is_some()) {
            return None;
        }
        let mut all = self.ins.to_vec();
        for view in &mut all[..op.grow] {
            let name = drafts.fresh();
            drafts.copy(view, name.clone(), None);
            drafts.relations.insert(name.clone());
            *view = View::named(name, view.kinds.clone(), None);
        }
        for rule in &rules {
            let mut variables: Vec<(usize, usize)> = Vec::new();
            for atom in [&rule.head].into_iter().chain(&rule.body) {
                for (v, kind) in atom.variables.iter().zip(&all[atom.relation].kinds) {
                    match variables.iter().find(|(w, _)| w == v) {
                        Some((_, before)) => drafts.join(*before, *kind),
                        None => variables.push((*v, *kind)),
                    }
                }
            }
            let at = |v: &usize| variables.iter().position(|(w, _)| w == v).unwrap_or(0);
            let factors: Vec<Expr> = rule
                .body
                .iter()
                .map(|atom| {
                    let places: Vec<usize> = atom.variables.iter().map(at).collect();
                    operand(&all[atom.relation], &places)
                })
                .collect();
            let kinds: Vec<usize> = variables.iter().map(|(_, kind)| *kind).collect();
            let (left, more) = kinds.split_at(rule.head.variables.len());
            let (name, value) = (all[rule.head.relation].name()?.clone(), Kind::Product(factors).bare());
            drafts.add(name, None, left.to_vec(), more.to_vec(), Projection::Sum, value);
        }
        all.truncate(op.grow);
        Some(all)
    }
}
