//! Solves all equations in dependency order: plain names by their equations, groups that depend on themselves as
//! fixpoints or loops over time.

mod closure;
mod fixpoint;
mod kinds;
mod place;
mod rest;
mod scatter;
mod schedule;
mod starts;
mod stream;
mod until;

pub(crate) use rest::explain_nonconvergence;

use crate::builtin::Verdict;
use crate::builtin::named::Named;
use crate::differentiate::{Needed, condition, where_needed};
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place, Ref};
use crate::elaborate::scope::keys;
use crate::elaborate::{Core, Equations, Group, Solved};
use crate::lower::eval::{Eval, Fault, Term, Value, Values};
use crate::solve::Options;
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use gradus_ir::DType;
use std::collections::{HashMap, HashSet};

/// Equations being solved.
pub(crate) struct Solver<'a> {
    pub(crate) core: &'a Core<'a>,
    pub(crate) options: &'a Options,
    equations: Equations<'a>,
    pub(crate) values: Values,
    pub(crate) batch: Vec<Name>,
    pub(crate) faults: Vec<Diagnostic>,
    pub(crate) verdicts: Vec<Verdict>,
    only: Option<HashSet<Name>>,
    /// For differentiation: the conditions under which names are needed that only branches read.
    needed: Needed,
    /// The sizes of names' indices, for terms that cannot determine them alone.
    extents: HashMap<Name, Vec<Option<usize>>>,
}

/// Returns true if an equation reads at an offset or by index arithmetic.
fn has_arithmetic(e: &Equation) -> bool {
    let moved = |p: &Place| matches!(p.index, Index::Affine(_) | Index::Named(_, 1.. | ..=-1));
    e.any_read(&mut |r| r.places.iter().any(moved))
}

/// Returns true for a call of `cast`.
fn casts(e: &Expr) -> bool {
    matches!(&e.kind, Kind::Call(call) if &*call.function == "cast")
}

impl<'a> Solver<'a> {
    pub(crate) fn new(
        core: &'a Core<'a>,
        options: &'a Options,
        equations: &'a [Equation],
        values: Values,
        batch: Vec<Name>,
    ) -> Solver<'a> {
        let equations = Equations::new(core.program, equations);
        let (faults, verdicts) = (Vec::new(), Vec::new());
        Solver {
            core,
            options,
            equations,
            values,
            batch,
            faults,
            verdicts,
            only: None,
            needed: Needed::new(),
            extents: HashMap::new(),
        }
    }

    /// Removes names whose values are known.
    pub(crate) fn leave_out(&mut self, known: &HashSet<Name>) {
        self.equations.names.retain(|(name, _)| !known.contains(name));
    }

    /// Restricts solving to these names and what they depend on.
    pub(crate) fn only(&mut self, wanted: &[Name]) {
        self.only = Some(self.core.program.needed(wanted));
        self.results(wanted);
    }

    /// Declares that only these values are read after solving, so that other values are needed only where
    /// these depend on them.
    pub(crate) fn results(&mut self, wanted: &[Name]) {
        if self.options.is_derived() {
            let read = |e: &&Equation| self.only.as_ref().is_none_or(|only| only.contains(&e.target.name));
            let all: Vec<&Equation> = self.equations.equations.iter().filter(read).collect();
            self.needed = where_needed(&all, |n| wanted.contains(n), self.core.program);
        }
    }

    /// Computes the values of all names. An error is reported once; names that depend on it have no value.
    pub(crate) fn solve(&mut self) {
        for Group { names: group, solved } in self.equations.groups() {
            if let Some(only) = &self.only
                && !group.iter().any(|i| only.contains(self.name(*i)))
            {
                continue;
            }
            // Names with a previous error have no value; the error has been reported.
            if group.iter().any(|i| matches!(self.values.get(self.name(*i)), Some(None))) {
                group.iter().for_each(|i| drop(self.values.insert(self.name(*i).clone(), None)));
                continue;
            }
            let outcome = match solved {
                Solved::Plain => self.plain(group[0]),
                Solved::Steps => self.stream(&group),
                Solved::Rules | Solved::Fixpoint => self.fixpoint(&group),
            };
            if let Err(fault) = outcome {
                if let Fault::Shown(d) = fault {
                    self.faults.push(*d);
                }
                for i in &group {
                    self.values.insert(self.name(*i).clone(), None);
                }
            }
        }
    }

    /// Returns true if some name of a group depends on virtual time.
    fn moves(&self, group: &[usize]) -> bool {
        group.iter().flat_map(|i| self.own(*i)).any(|e| moving(&e.target.places).is_some())
    }

    fn is_relation(&self, name: usize) -> bool {
        self.equations.is_relation(name)
    }

    /// Returns the name with this number.
    fn name(&self, name: usize) -> &Name {
        &self.equations.names[name].0
    }

    /// Returns true if a group reads only booleans and the program's own floats, so that its names are floats too.
    fn is_plain(&self, group: &[usize]) -> bool {
        let plain = |r: &&Ref| match self.values.get(&r.name) {
            Some(Some(v)) => {
                matches!(v.tensor.dtype(), DType::Bool) || v.tensor.dtype() == self.options.float
            }
            _ => true,
        };
        group.iter().flat_map(|i| self.own(*i)).all(|e| e.reads().iter().all(plain) && !e.value.any(&casts))
    }

    /// Returns the equations of a name.
    fn own(&self, name: usize) -> Vec<&'a Equation> {
        self.equations.own(name)
    }

    fn term(
        &self,
        e: &'a Equation,
        values: &Values,
        moment: Option<&HashMap<(Name, i64), Value>>,
    ) -> Eval<Named> {
        let kept_by = self.extents.get(&e.target.name).cloned().unwrap_or_default();
        self.sized_term(e, values, moment, kept_by)
    }

    /// As `term`, but the other terms of the line determine sizes of left-side indices that the term does not
    /// determine.
    fn sized_term(
        &self,
        e: &'a Equation,
        values: &Values,
        moment: Option<&HashMap<(Name, i64), Value>>,
        kept_by: Vec<Option<usize>>,
    ) -> Eval<Named> {
        let mut term = Term::new(self.core, self.options, values, &self.batch, moment, e)?;
        term.kept_by = kept_by;
        if e.target.places.iter().any(|p| p.index.is_arithmetic()) {
            // Other terms of the line may have an index of the left side.
            let (all, same) = (self.equations.equations, |o: &&Equation| o.target.span == e.target.span);
            let before = all.iter().take(e.number).rev().take_while(same);
            let after = all.iter().skip(e.number + 1).take_while(same);
            for other in before.chain(after).filter(|o| o.target == e.target) {
                let other = Term::new(self.core, self.options, values, &self.batch, moment, other);
                let Ok(other) = other else { continue };
                for index in keys(&e.target) {
                    if let Some(size) = other.sizes.get(&index) {
                        term.sizes.entry(index).or_insert(*size);
                    }
                }
            }
        }
        term.infer_sizes()?;
        term.evaluate_where(self.condition(e, values).filter(|_| moment.is_none()).as_ref())
    }

    /// Returns the condition under which a derivative needs the value of an equation.
    fn condition(&self, e: &Equation, values: &Values) -> Option<Expr> {
        let condition = condition(e, &self.needed, self.core.program)?;
        // Only conditions whose tensors have values by now can be used.
        let known = condition.refs().iter().all(|r| matches!(values.get(&r.name), Some(Some(_))));
        known.then_some(condition)
    }

    /// Notes the sizes that the equations of a name give to its indices, if some term has only functions of an index,
    /// `A[i] + even(i)`, or index arithmetic.
    fn note_extents(&mut self, name: usize) {
        let own = self.own(name);
        let of_index = |e: &Equation| [&e.value].into_iter().chain(&e.guard).any(Expr::is_of_index);
        if own.len() < 2 || !own.iter().any(|e| of_index(e) || has_arithmetic(e)) {
            return;
        }
        let mut extents = vec![None; own[0].target.places.len()];
        for e in own {
            let term = Term::new(self.core, self.options, &self.values, &self.batch, None, e);
            let Ok(term) = term else { continue };
            for (place, n) in e.target.places.iter().zip(&mut extents) {
                // Only an index without offset determines the size.
                if let Index::Named(index, 0) = &place.index {
                    *n = n.or(term.sizes.get(index).map(|s| s.0));
                }
            }
        }
        self.extents.insert(self.name(name).clone(), extents);
    }

    /// Evaluates a name that does not depend on itself.
    fn plain(&mut self, name: usize) -> Eval<()> {
        self.note_extents(name);
        let mut terms = Vec::new();
        let mut failed = false;
        for e in self.own(name) {
            match self.term(e, &self.values, None) {
                Ok(value) => terms.push((e, value)),
                Err(Fault::Shown(d)) => {
                    self.faults.push(*d);
                    failed = true;
                }
                Err(Fault::Silent) => failed = true,
            }
        }
        if failed {
            return Err(Fault::Silent);
        }
        let value = self.joined(&terms, self.is_relation(name), None)?;
        self.values.insert(self.name(name).clone(), Some(value));
        Ok(())
    }
}
