//! Solves names that depend on themselves, in rounds until nothing changes. Relations only grow, so rules read new
//! facts only (semi-naive evaluation); numbers are repeated until they converge, and the run checks that they did.

use super::closure::closed;
use super::place::{bare, help_for_size};
use super::rest::Watch;
use super::{Solver, has_arithmetic};
use crate::builtin::named::{Named, combined, identity};
use crate::builtin::{Counts, RuntimeCheck, Verdict};
use crate::elaborate::core::{Equation, Expr, Index, Kind, Ref};
use crate::elaborate::scope::key;
use crate::lower::eval::{Eval, Fault, Term, Value, Values, fault, real};
use crate::solve::Clock;
use crate::syntax::ast::{Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{is_timed, moving};
use crate::syntax::limit::bounded;
use gradus_ir::{DType, Error};
use gradus_tensor::{Tensor, jvp};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// The extents of a name's indices, as far as they are known.
pub(super) type Extents = Vec<Option<usize>>;

/// Notes the sizes that a term gives to the indices of its left side.
fn note_sizes(e: &Equation, term: &Named, known: &mut Extents) {
    for (p, place) in e.target.places.iter().enumerate().filter(|(_, p)| !is_timed(p)) {
        known[p] = known[p].or(key(place).and_then(|k| term.size(&k)));
    }
}

/// Sets the values of names, with the axes that a call added.
fn give(values: &mut Values, names: &[Name], given: &[Tensor], brought: &[Vec<Name>]) {
    for ((name, t), batch) in names.iter().zip(given).zip(brought) {
        values.insert(name.clone(), Some(Value { batch: batch.clone(), ..Value::new(t.clone()) }));
    }
}

impl<'a> Solver<'a> {
    pub(super) fn fixpoint(&mut self, group: &[usize]) -> Eval<()> {
        let sizes = self.group_sizes(group)?;
        self.keep_extents(group, &sizes);
        let relations = group.iter().all(|i| self.is_relation(*i));
        if relations && self.follows(group, &sizes)? {
            return Ok(());
        }
        if relations && self.grows(group) { self.rules(group, &sizes) } else { self.numbers(group, &sizes) }
    }

    /// Makes the extents of names that depend on themselves known to each of their terms.
    pub(super) fn keep_extents(&mut self, group: &[usize], sizes: &[Extents]) {
        let names = self.group_names(group);
        self.extents.extend(names.into_iter().zip(sizes.iter().cloned()));
    }

    fn group_names(&self, group: &[usize]) -> Vec<Name> {
        group.iter().map(|i| self.name(*i).clone()).collect()
    }

    /// Returns the extents of names that depend on themselves, from all other uses of their indices.
    pub(super) fn group_sizes(&self, group: &[usize]) -> Eval<Vec<Extents>> {
        let names = self.group_names(group);
        let rank = |i: &usize| self.own(*i).first().copied().map_or(0, |e| e.target.places.len());
        let mut known: Vec<Extents> = group.iter().map(|i| vec![None; rank(i)]).collect();
        let open = |(i, own): (&usize, &Extents)| {
            self.time_places(*i).zip(own).any(|(timed, n)| n.is_none() && !timed)
        };
        let count = |known: &[Extents]| known.iter().flatten().flatten().count();
        // A later pass is used only where the passes before it find nothing: an offset gives a size only if nothing else
        // does.
        while group.iter().zip(&known).any(open) {
            let before = count(&known);
            for moved in [false, true] {
                self.sizes_met(group, &names, &mut known, moved)?;
                if count(&known) == before {
                    self.sizes_at_start(group, &names, &mut known, moved)?;
                }
                if count(&known) == before {
                    self.sizes_of_steps(group, &names, &mut known, moved);
                }
                if count(&known) > before {
                    break;
                }
            }
            if count(&known) == before {
                break;
            }
        }
        for (g, i) in group.iter().enumerate() {
            // If all positions are written one by one, the largest determines the size.
            for p in 0..known[g].len() {
                if self.is_relation(*i) {
                    known[g][p] = known[g][p].or_else(|| self.options.domain_size(self.name(*i), p));
                }
                let at = |e: &Equation| {
                    let at = e.target.places.get(p)?.index.constant()?;
                    (at >= 0).then_some(at as usize + 1)
                };
                let all: Option<Vec<usize>> = self.own(*i).into_iter().map(at).collect();
                known[g][p] = known[g][p].or(all.and_then(|all| all.into_iter().max()));
                let computed = |e: &&Equation| {
                    e.target.places.get(p).is_some_and(|place| matches!(place.index, Index::Computed(_)))
                };
                if known[g][p].is_none() && self.own(*i).iter().any(computed) {
                    known[g][p] = self.size_by_readers(self.name(*i), p);
                }
            }
            let Some(e) = self.own(*i).first().copied() else { continue };
            for ((p, place), timed) in e.target.places.iter().enumerate().zip(self.time_places(*i)) {
                // The time axis of a line without time, `D[i,t] = …`, has as many elements as the name has steps.
                if timed {
                    known[g][p] = None;
                } else if known[g][p].is_none() {
                    let what =
                        format!("the size of index `{}` of `{}` is not known", place.index, e.target.name);
                    let (name, index) = (&e.target.name, bare(&place.index));
                    let help = match self.moves(group) {
                        true => format!(
                            "declare it (axis {index} = …), or define the first step ({name}[…,*0] = …)"
                        ),
                        false if key(place).is_none() => help_for_size(name),
                        false => format!("`{name}` depends on itself; declare the size: axis {index} = …"),
                    };
                    return Err(Diagnostic::error(place.span, what).help(help).about(name).into());
                }
            }
            let Some(Some(given)) = self.values.get(&names[g]) else { continue };
            let places = e.target.places.iter().zip(self.time_places(*i));
            let own = places.zip(&known[g]).filter(|((_, timed), _)| !timed).map(|((p, _), n)| (p, n));
            let shape = given.tensor.shape();
            let clash = own.zip(shape.iter()).find(|((_, n), m)| **n != Some(**m));
            if let Some(((place, n), m)) = clash {
                let (n, index) = (n.unwrap_or(0), &place.index);
                let what =
                    format!("the given `{}` has size {m} at `{index}`, which has size {n} here", names[g]);
                return Err(Diagnostic::error(place.span, what).about(&names[g]).into());
            }
        }
        Ok(known)
    }

    /// Infers extents from other tensors in the group's equations that have the same indices; with `moved`, also from
    /// those that have them at offsets.
    fn sizes_met(&self, group: &[usize], names: &[Name], known: &mut [Extents], moved: bool) -> Eval<()> {
        let at: HashMap<&Name, usize> = names.iter().enumerate().map(|(g, n)| (n, g)).collect();
        loop {
            let mut changed = false;
            for (g, i) in group.iter().enumerate() {
                for e in self.own(*i) {
                    let mut sizes: HashMap<Name, usize> = HashMap::new();
                    let mut note = |r: &Ref, extents: &dyn Fn(usize) -> Option<usize>| {
                        for (p, place) in r.places.iter().enumerate() {
                            if let (Index::Named(name, by), Some(n)) = (&place.index, extents(p))
                                && (moved || *by == 0)
                            {
                                sizes.entry(name.clone()).or_insert(n);
                            }
                        }
                    };
                    for r in e.reads() {
                        match at.get(&r.name) {
                            Some(&own) => note(r, &|p| known[own].get(p).copied().flatten()),
                            None => match self.values.get(&r.name) {
                                Some(Some(v)) => {
                                    note(r, &|p| Some(v.tensor.dim((v.batch.len() + p) as isize)));
                                }
                                // A parameter has a value, but no indices.
                                _ if self.options.numbers.contains_key(&r.name) => {}
                                _ => return Err(Fault::Silent),
                            },
                        }
                    }
                    note(&e.target, &|p| known[g].get(p).copied().flatten());
                    for (p, place) in e.target.places.iter().enumerate() {
                        let by = if let Index::Named(_, by) = &place.index { *by } else { 0 };
                        let Some(name) = key(place).filter(|_| !is_timed(place)) else { continue };
                        if known[g].get(p).copied().flatten().is_some() || !moved && by != 0 {
                            continue;
                        }
                        let declared = self.options.axes.get(&name).map(|a| a.0);
                        known[g][p] = declared.or(sizes.get(&name).copied());
                        changed |= known[g][p].is_some();
                    }
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// Infers extents from initial values: given starts, and equations that read none of the group. Equations
    /// with index arithmetic are used only if `moved` is true.
    fn sizes_at_start(
        &self,
        group: &[usize],
        names: &[Name],
        known: &mut [Extents],
        moved: bool,
    ) -> Eval<()> {
        let all: HashSet<&Name> = names.iter().collect();
        for (g, i) in group.iter().enumerate() {
            let own = self.own(*i);
            if let Some(Some(given)) = self.values.get(&names[g]) {
                let places = self.time_places(*i).enumerate().filter(|(_, timed)| !timed);
                for ((p, _), n) in places.zip(given.tensor.shape().iter()) {
                    known[g][p] = known[g][p].or(Some(*n));
                }
            }
            let own = own.into_iter().filter(|e| moved || !has_arithmetic(e));
            for e in own.filter(|e| !e.reads().iter().any(|r| all.contains(&r.name))) {
                let moment = match e.by_step {
                    true => Some(self.sample(e, &|_| None).ok_or(Fault::Silent)?),
                    false => None,
                };
                let term = match self.sized_term(e, &self.values, moment.as_ref(), known[g].clone()) {
                    // A function of an index takes the size from other terms.
                    Err(_) if e.value.is_of_index() => continue,
                    term => term?,
                };
                note_sizes(e, &term, &mut known[g]);
            }
        }
        Ok(())
    }

    /// Infers extents from steps of names with known sizes. Equations with index arithmetic are used only if
    /// `moved` is true.
    fn sizes_of_steps(&self, group: &[usize], names: &[Name], known: &mut [Extents], moved: bool) {
        if !self.moves(group) {
            return;
        }
        for (g, i) in group.iter().enumerate() {
            let own = self.own(*i).into_iter().filter(|e| moving(&e.target.places).is_some());
            for e in own.filter(|e| moved || !has_arithmetic(e)) {
                let zeros = |n: &Name| {
                    let own = names.iter().position(|m| m == n)?;
                    let plain =
                        known[own].iter().zip(self.time_places(group[own])).filter(|(_, timed)| !timed);
                    let lead = self.batch.iter().map(|b| Some(self.brought_extent(b)));
                    let extents: Option<Vec<usize>> = lead.chain(plain.map(|(n, _)| *n)).collect();
                    Some(extents.map(|e| Tensor::zeros(e).to_dtype(self.options.float)))
                };
                let Some(moment) = self.sample(e, &zeros) else { continue };
                let kept = known[g].clone();
                let term = self.options.within(|| self.sized_term(e, &self.values, Some(&moment), kept));
                if let Ok(term) = term {
                    note_sizes(e, &term, &mut known[g]);
                }
            }
        }
    }

    /// Returns true if every rule reads the names of its group as plain factors, so that relations can only grow.
    fn grows(&self, group: &[usize]) -> bool {
        let names: HashSet<Name> = self.group_names(group).into_iter().collect();
        let reads = |e: &Expr| e.refs().iter().any(|r| names.contains(&r.name));
        let plain = |e: &Equation| {
            let factors: Vec<&Expr> = match &e.value.kind {
                Kind::Product(factors) => factors.iter().collect(),
                _ => vec![&e.value],
            };
            !e.guard.as_ref().is_some_and(reads)
                && factors.iter().all(|f| matches!(f.kind, Kind::Ref(_)) || !reads(f))
        };
        group.iter().flat_map(|i| self.own(*i)).all(plain)
    }

    /// Returns the extent of an axis that a call added.
    pub(super) fn brought_extent(&self, axis: &Name) -> usize {
        let all = self.values.values().flatten();
        let mut found = all.filter_map(|v| Some((v, v.batch.iter().position(|b| b == axis)?)));
        found.next().map_or(1, |(v, at)| v.tensor.dim(at as isize))
    }

    /// Returns the initial values of a group: empty, with all indices and all axes that a call added.
    fn start(
        &self,
        group: &[usize],
        sizes: &[Extents],
        brought: &[Vec<Name>],
        dtypes: &[DType],
    ) -> Vec<Tensor> {
        let one = |g: usize| {
            let own = sizes[g].iter().map(|n| n.unwrap_or(1));
            let extents: Vec<usize> = brought[g].iter().map(|b| self.brought_extent(b)).chain(own).collect();
            bounded(&extents, || Tensor::zeros(extents.clone()).to_dtype(dtypes[g]))
        };
        (0..group.len()).map(one).collect()
    }

    /// Returns the dtypes of names that depend on themselves: those that a round gives. A name without a
    /// known dtype takes that of the other operands, as booleans do.
    fn kinds(
        &self,
        group: &[usize],
        names: &[Name],
        sizes: &[Extents],
        brought: &[Vec<Name>],
    ) -> Eval<Vec<DType>> {
        let float = |i: &usize| if self.is_relation(*i) { DType::Bool } else { self.options.float };
        if self.is_plain(group) {
            return Ok(group.iter().map(float).collect());
        }
        let mut kinds = vec![DType::Bool; group.len()];
        loop {
            let values = self.with(names, &self.start(group, sizes, brought, &kinds), brought);
            let round = || group.iter().map(|i| self.round(*i, &values)).collect();
            let round: Eval<Vec<Value>> = self.options.guessed(true, round);
            let found = round?.into_iter().zip(&kinds).map(|(v, k)| k.promote(v.tensor.dtype()));
            let found: Vec<DType> = found.collect();
            if found == kinds {
                break;
            }
            kinds = found;
        }
        let known = |(i, k): (&usize, DType)| if k == DType::Bool { float(i) } else { k };
        Ok(group.iter().zip(kinds).map(known).collect())
    }

    /// Returns the axes that calls add to the names of a group: a name that reads another has its axes too.
    fn brought(&self, group: &[usize], names: &[Name], sizes: &[Extents]) -> Eval<Vec<Vec<Name>>> {
        let mut brought = vec![Vec::new(); group.len()];
        let dtype = |i: &usize| if self.is_relation(*i) { DType::Bool } else { self.options.float };
        let dtypes: Vec<DType> = group.iter().map(dtype).collect();
        while !self.batch.is_empty() {
            let values = self.with(names, &self.start(group, sizes, &brought, &dtypes), &brought);
            let round = || group.iter().map(|i| self.round(*i, &values)).collect();
            let round: Eval<Vec<Value>> = self.options.within(round);
            let found: Vec<Vec<Name>> = round?.into_iter().map(|v| v.batch).collect();
            if found == brought {
                break;
            }
            brought = found;
        }
        Ok(brought)
    }

    /// Returns the values with some names set, with the axes that a call added.
    fn with(&self, names: &[Name], given: &[Tensor], brought: &[Vec<Name>]) -> Values {
        let mut values = self.values.clone();
        give(&mut values, names, given, brought);
        values
    }

    /// Solves rules that are all Boolean, fact by fact. Returns false if they are not.
    fn follows(&mut self, group: &[usize], sizes: &[Extents]) -> Eval<bool> {
        let names = self.group_names(group);
        let brought = vec![Vec::new(); group.len()];
        let truths = vec![DType::Bool; group.len()];
        let known = self.with(&names, &self.start(group, sizes, &brought, &truths), &brought);
        let Some((rules, still)) = self.closure(group, &names, &known)? else { return Ok(false) };
        let mut first = Vec::new();
        for (g, i) in group.iter().enumerate() {
            first.push(self.first(*i, &names, &known, &sizes[g])?);
        }
        let result = closed(&first, &still, &rules);
        self.finish(group, &names, &brought, RefCell::new(None), result)?;
        Ok(true)
    }

    /// Solves rules: in every round, each rule runs once for each of its recursive factors, with only the new facts of
    /// that factor.
    fn rules(&mut self, group: &[usize], sizes: &[Extents]) -> Eval<()> {
        let names = self.group_names(group);
        let brought = self.brought(group, &names, sizes)?;
        let truths = vec![DType::Bool; group.len()];
        let known = self.with(&names, &self.start(group, sizes, &brought, &truths), &brought);
        let mut first = Vec::new();
        for i in group {
            first.push(self.round(*i, &known)?.tensor);
        }
        let fault_inside: RefCell<Option<Fault>> = RefCell::new(None);
        let n = names.len();
        let step = |carries: &[Tensor]| {
            let (full, new) = carries.split_at(n);
            match self.derived(group, &names, full, new, &brought) {
                Ok(found) => {
                    let fresh: Vec<Tensor> = found
                        .iter()
                        .zip(full)
                        .map(|(f, known)| f.logical_and(&known.logical_not()))
                        .collect();
                    let grown = full.iter().zip(&fresh).map(|(k, f)| k.logical_or(f));
                    grown.chain(fresh.iter().cloned()).collect()
                }
                Err(fault) => {
                    *fault_inside.borrow_mut() = Some(fault);
                    vec![Tensor::failed(Error::value("a rule", "failed"))]
                }
            }
        };
        let any = |carries: &[Tensor]| {
            let each = carries[n..].iter().map(|t| t.any(()));
            each.reduce(|a, b| a.logical_or(&b)).unwrap_or_else(|| Tensor::full([], false))
        };
        let init: Vec<&Tensor> = first.iter().chain(&first).collect();
        let result = self
            .options
            .timed(Clock::looped, || self.options.checked_loop(Counts::Each, &init, None, any, step));
        self.finish(group, &names, &brought, fault_inside, result)
    }

    fn finish(
        &mut self,
        group: &[usize],
        names: &[Name],
        brought: &[Vec<Name>],
        inside: RefCell<Option<Fault>>,
        result: gradus_ir::Result<Vec<Tensor>>,
    ) -> Eval<()> {
        if let Some(fault) = inside.into_inner() {
            return Err(fault);
        }
        let span = self.own(group[0]).first().copied().map(|e| e.span).unwrap_or_default();
        let tensors = result.map_err(|e| fault(span, &e))?;
        give(&mut self.values, names, &tensors, brought);
        Ok(())
    }

    /// Evaluates one name from all its equations, with these values.
    fn round(&self, name: usize, values: &Values) -> Eval<Value> {
        let mut terms: Vec<(&'a Equation, Named)> = Vec::new();
        for e in self.own(name) {
            let term = self.term(e, values, None)?;
            terms.push((e, real(term, e.value.span, "cannot be iterated to a fixpoint")?));
        }
        self.joined(&terms, self.is_relation(name), None)
    }

    /// Returns the facts that follow from new ones.
    fn derived(
        &self,
        group: &[usize],
        names: &[Name],
        full: &[Tensor],
        new: &[Tensor],
        brought: &[Vec<Name>],
    ) -> Eval<Vec<Tensor>> {
        let fresh = |n: &Name| Name::from(format!("new {n}"));
        let mut values = self.with(names, full, brought);
        give(&mut values, &names.iter().map(fresh).collect::<Vec<_>>(), new, brought);
        let mut out = Vec::new();
        for (g, i) in group.iter().enumerate() {
            let mut found = full[g].zeros_like();
            for e in self.own(*i) {
                let factors = match &e.value.kind {
                    Kind::Product(factors) => factors.clone(),
                    _ => vec![e.value.clone()],
                };
                for (at, factor) in factors.iter().enumerate() {
                    let Kind::Ref(r) = &factor.kind else { continue };
                    if !names.contains(&r.name) {
                        continue;
                    }
                    let mut changed = factors.clone();
                    changed[at] = Kind::Ref(Ref { name: fresh(&r.name), ..r.clone() }).at(factor.span);
                    let value = Kind::Product(changed).at(e.value.span);
                    let rule = Equation { value, ..e.clone() };
                    let mut term = Term::new(self.core, self.options, &values, &self.batch, None, &rule)?;
                    term.infer_sizes()?;
                    let term = term.evaluate()?;
                    found = found.logical_or(&self.placed_rule(e, term)?);
                }
            }
            out.push(found);
        }
        Ok(out)
    }

    fn placed_rule(&self, e: &'a Equation, term: Named) -> Eval<Tensor> {
        Ok(self.joined(&[(e, term)], true, None)?.tensor)
    }

    /// Solves numbers: evaluates all names repeatedly, starting at 0, until they converge.
    fn numbers(&mut self, group: &[usize], sizes: &[Extents]) -> Eval<()> {
        let names = self.group_names(group);
        let extreme = |e: &Equation| matches!(e.projection, Projection::Max | Projection::Min);
        let infinite = group.iter().any(|i| self.own(*i).into_iter().any(extreme));
        let watch = Watch { float: self.options.float, tolerance: self.options.tolerance, infinite };
        let brought = self.brought(group, &names, sizes)?;
        let dtypes = self.kinds(group, &names, sizes, &brought)?;
        let mut init = self.start(group, sizes, &brought, &dtypes);
        self.start_from_nothing(group, &names, &mut init)?;
        // Values may converge before their derivatives. If derivatives are needed, both must converge.
        let pushed = self.options.is_derived() && !group.iter().any(|i| self.is_relation(*i));
        if pushed {
            init.extend(init.clone());
        }
        let count = init.len();
        init.extend(watch.start(&init));
        let inside: RefCell<Option<Fault>> = RefCell::new(None);
        let step = |carries: &[Tensor]| {
            let (before, watched) = carries.split_at(count);
            let (values, tangents) = before.split_at(names.len());
            let now = self.rounds(group, &names, values, &brought).and_then(|mut now| {
                if pushed {
                    now.extend(self.pushed(group, &names, values, tangents, &brought)?);
                }
                now.extend(watch.after(watched, before, &now));
                Ok(now)
            });
            now.unwrap_or_else(|fault| {
                *inside.borrow_mut() = Some(fault);
                vec![Tensor::failed(Error::value("an equation", "failed"))]
            })
        };
        let (init, rounds) = (init.iter().collect::<Vec<_>>(), Some(self.options.rounds));
        let result = self.options.timed(Clock::looped, || {
            self.options.checked_loop(Counts::Last, &init, rounds, Watch::needs_round, step)
        });
        if inside.borrow().is_none()
            && let (Ok(tensors), Some(e)) = (&result, self.own(group[0]).first().copied())
        {
            let (name, span, verdict) = (names[0].clone(), e.target.span, Watch::verdict(tensors));
            self.verdicts.push(Verdict { judged: RuntimeCheck::Converged, name, span, verdict });
        }
        self.finish(group, &names, &brought, inside, result)
    }

    /// Initialises recursive maxima and minima from the lines that do not read the group. Elements without
    /// such a line have the value of the empty reduction.
    fn start_from_nothing(&self, group: &[usize], names: &[Name], init: &mut [Tensor]) -> Eval<()> {
        for (i, init) in group.iter().zip(init) {
            let own = self.own(*i);
            let how = own.first().map_or(Projection::Sum, |e| e.projection);
            if !matches!(how, Projection::Max | Projection::Min) {
                continue;
            }
            *init = identity(how, init.dtype(), &init.shape());
            let mut terms: Vec<(&'a Equation, Named)> = Vec::new();
            for e in own.into_iter().filter(|e| !e.any_read(&mut |r| names.contains(&r.name))) {
                terms.push((e, self.term(e, &self.values, None)?));
            }
            if !terms.is_empty() {
                let sizes: Vec<Option<usize>> = self.extents.get(self.name(*i)).cloned().unwrap_or_default();
                let value = self.joined(&terms, false, Some(&sizes))?;
                if value.batch.is_empty() {
                    *init = combined(how, init, &value.tensor.to_dtype(init.dtype()));
                }
            }
        }
        Ok(())
    }

    /// Evaluates all names of a group once; each reads the new values of those before it.
    fn rounds(
        &self,
        group: &[usize],
        names: &[Name],
        before: &[Tensor],
        brought: &[Vec<Name>],
    ) -> Eval<Vec<Tensor>> {
        let mut values = self.with(names, before, brought);
        let mut out = Vec::new();
        for (g, i) in group.iter().enumerate() {
            let value = self.round(*i, &values)?;
            let now = Value { tensor: value.tensor.to_dtype(before[g].dtype()), ..value };
            out.push(now.tensor.clone());
            values.insert(names[g].clone(), Some(now));
        }
        Ok(out)
    }

    /// Pushes tangents through a round and adds 1 to every element. Repeated, the result converges if the
    /// derivatives do.
    fn pushed(
        &self,
        group: &[usize],
        names: &[Name],
        values: &[Tensor],
        tangents: &[Tensor],
        brought: &[Vec<Name>],
    ) -> Eval<Vec<Tensor>> {
        let inside: RefCell<Option<Fault>> = RefCell::new(None);
        let round = |values: &[Tensor]| {
            self.rounds(group, names, values, brought).unwrap_or_else(|fault| {
                *inside.borrow_mut() = Some(fault);
                vec![Tensor::failed(Error::value("an equation", "failed"))]
            })
        };
        let (values, tangents): (Vec<&Tensor>, Vec<&Tensor>) =
            (values.iter().collect(), tangents.iter().collect());
        let pushed = self.options.within(|| jvp(&values, &tangents, round));
        if let Some(fault) = inside.into_inner() {
            return Err(fault);
        }
        let span = self.own(group[0]).first().map(|e| e.span).unwrap_or_default();
        let (_, pushed) = pushed.map_err(|e| fault(span, &e))?;
        Ok(pushed.iter().map(|t| (t + 1.0).stop_gradient()).collect())
    }
}
