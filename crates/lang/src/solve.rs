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

pub(crate) use rest::unrest;
pub(crate) use schedule::sees_time;

use crate::ast::{Equation, Expr, Index, Kind, Name, Place, Ref};
use crate::diagnostic::Diagnostic;
use crate::eval::{Eval, Fault, Term, Value, Values};
use crate::gradient::{Needed, condition, where_needed};
use crate::named::Named;
use crate::order::components;
use crate::program::Program;
use crate::run::Options;
use crate::time::moving;
use crate::verdict::Verdict;
use gradus_ir::DType;
use std::collections::{HashMap, HashSet};

/// Equations being solved.
pub(crate) struct Solver<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    equations: &'a [Equation],
    /// The equations of each name, in order of first appearance.
    names: Vec<(Name, Vec<usize>)>,
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

/// True if an expression contains a `cast`.
fn casts(e: &Expr) -> bool {
    let here = matches!(&e.kind, Kind::Call(call) if &*call.function == "cast");
    here || e.parts().into_iter().any(casts)
}

impl<'a> Solver<'a> {
    pub(crate) fn new(
        program: &'a Program,
        options: &'a Options,
        equations: &'a [Equation],
        values: Values,
        batch: Vec<Name>,
    ) -> Solver<'a> {
        let mut names: Vec<(Name, Vec<usize>)> = Vec::new();
        let mut at: HashMap<&Name, usize> = HashMap::new();
        for (i, e) in equations.iter().enumerate() {
            // Names that are read from files have values already.
            if e.file().is_some() {
                continue;
            }
            let place = *at.entry(&e.target.name).or_insert_with(|| {
                names.push((e.target.name.clone(), Vec::new()));
                names.len() - 1
            });
            names[place].1.push(i);
        }
        let (faults, verdicts) = (Vec::new(), Vec::new());
        Solver {
            program,
            options,
            equations,
            names,
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
        self.names.retain(|(name, _)| !known.contains(name));
    }

    /// Restricts solving to these names and what they depend on.
    pub(crate) fn only(&mut self, wanted: &[Name]) {
        self.only = Some(self.program.needed(wanted));
        self.results(wanted);
    }

    /// Declares that only these names are read from the equations.
    pub(crate) fn results(&mut self, wanted: &[Name]) {
        if self.options.is_derived() {
            let read = |e: &&Equation| self.only.as_ref().is_none_or(|only| only.contains(&e.target.name));
            let all: Vec<&Equation> = self.equations.iter().filter(read).collect();
            self.needed = where_needed(&all, |n| wanted.contains(n), self.program);
        }
    }

    /// Computes the values of all names. An error is reported once; names that depend on it have no value.
    pub(crate) fn solve(&mut self) {
        let at: HashMap<&Name, usize> = self.names.iter().enumerate().map(|(i, n)| (&n.0, i)).collect();
        let mut needs: Vec<Vec<usize>> = self
            .names
            .iter()
            .map(|(_, own)| {
                let reads = own.iter().flat_map(|i| self.equations[*i].reads());
                let mut needs: Vec<usize> = reads.filter_map(|r| at.get(&r.name).copied()).collect();
                needs.sort_unstable();
                needs.dedup();
                needs
            })
            .collect();
        // At computed indices, sizes come from names that read the result there; these are solved first, unless they
        // depend on it.
        for (i, needs) in needs.iter_mut().enumerate() {
            let own = &self.names[i].0;
            for name in self.sized_by(i) {
                if let Some(&other) = at.get(name)
                    && !self.program.needed(std::slice::from_ref(name)).contains(own)
                    && !needs.contains(&other)
                {
                    needs.push(other);
                }
            }
        }
        // All names with a time that ends by a condition are one loop.
        for (time, (go, _)) in &self.program.times {
            let moves = |i: &usize| {
                let own = self.names[*i].1.iter().map(|e| moving(&self.equations[*e].target.places));
                own.flatten().any(|t| t.0 == time)
            };
            let Some(&go) = at.get(go).filter(|go| moves(go)) else { continue };
            let all: Vec<usize> = (0..needs.len()).filter(moves).collect();
            all.iter().for_each(|i| needs[*i].push(go));
            needs[go].extend(all);
        }
        for group in components(&needs) {
            if let Some(only) = &self.only
                && !group.iter().any(|i| only.contains(&self.names[*i].0))
            {
                continue;
            }
            // Names with a previous error have no value; the error has been reported.
            if group.iter().any(|i| matches!(self.values.get(&self.names[*i].0), Some(None))) {
                group.iter().for_each(|i| drop(self.values.insert(self.names[*i].0.clone(), None)));
                continue;
            }
            let recursive = group.len() > 1 || needs[group[0]].contains(&group[0]);
            let outcome = match (recursive, self.moves(&group)) {
                (false, true) if self.own(group[0]).iter().any(|e| self.program.is_by_moment(e)) => {
                    self.stream(&group)
                }
                (false, _) => self.plain(group[0]),
                (true, true) => self.stream(&group),
                (true, false) => self.fixpoint(&group),
            };
            if let Err(fault) = outcome {
                if let Fault::Shown(d) = fault {
                    self.faults.push(*d);
                }
                for i in &group {
                    self.values.insert(self.names[*i].0.clone(), None);
                }
            }
        }
    }

    /// True if some name of a group depends on virtual time.
    fn moves(&self, group: &[usize]) -> bool {
        let own = group.iter().flat_map(|i| &self.names[*i].1);
        own.flat_map(|i| &self.equations[*i].target.places).any(|p| matches!(p.index, Index::Time(..)))
    }

    fn is_relation(&self, name: usize) -> bool {
        self.names[name].1.iter().any(|i| self.equations[*i].target.relation)
    }

    /// True if a group reads only booleans and the program's own floats, so that its names are floats too.
    fn is_plain(&self, group: &[usize]) -> bool {
        let plain = |r: &&Ref| match self.values.get(&r.name) {
            Some(Some(v)) => {
                matches!(v.tensor.dtype(), DType::Bool) || v.tensor.dtype() == self.options.float
            }
            _ => true,
        };
        group.iter().flat_map(|i| self.own(*i)).all(|e| e.reads().iter().all(plain) && !casts(&e.value))
    }

    /// The equations of a name.
    fn own(&self, name: usize) -> Vec<&'a Equation> {
        self.names[name].1.iter().map(|i| &self.equations[*i]).collect()
    }

    fn term(
        &self,
        e: &'a Equation,
        values: &Values,
        moment: Option<&HashMap<(Name, i64), Value>>,
    ) -> Eval<Named> {
        let mut term = Term::new(self.program, self.options, values, &self.batch, moment, e)?;
        term.beside = self.extents.get(&e.target.name).cloned().unwrap_or_default();
        term.infer_sizes()?;
        // Only conditions whose tensors have values by now can be used.
        let known = |c: &Expr| c.refs().iter().all(|r| matches!(values.get(&r.name), Some(Some(_))));
        let condition = condition(e, &self.needed, self.program).filter(|c| moment.is_none() && known(c));
        term.evaluate_where(condition.as_ref())
    }

    /// Notes the sizes that the equations of a name give to its indices, if some term has only functions of an index,
    /// `A[i] + even(i)`, or index arithmetic.
    fn note_extents(&mut self, name: usize) {
        let own = self.own(name);
        let of_index = |e: &&Equation| [&e.value].into_iter().chain(&e.guard).any(Expr::is_of_index);
        let moved = |p: &Place| matches!(p.index, Index::Affine(_) | Index::Named(_, 1.. | ..=-1));
        let arithmetic = |e: &&Equation| e.any_read(&mut |r| r.places.iter().any(moved));
        if own.len() < 2 || !own.iter().any(|e| of_index(e) || arithmetic(e)) {
            return;
        }
        let mut extents = vec![None; own[0].target.places.len()];
        for e in own {
            let term = Term::new(self.program, self.options, &self.values, &self.batch, None, e);
            let Ok(term) = term else { continue };
            for (place, n) in e.target.places.iter().zip(&mut extents) {
                // Only an index without offset determines the size.
                if let Index::Named(index, 0) = &place.index {
                    *n = n.or(term.sizes.get(index).map(|s| s.0));
                }
            }
        }
        self.extents.insert(self.names[name].0.clone(), extents);
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
        self.values.insert(self.names[name].0.clone(), Some(value));
        Ok(())
    }
}
