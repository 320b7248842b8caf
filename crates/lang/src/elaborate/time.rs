//! Virtual time: names that have a value at every step without time on their left, sums over time, and lines that must be
//! walked step by step. The number of steps is found by `solve::steps`.

use crate::builtin::{self, Base, Mixes};
use crate::program::Program;
use crate::syntax::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{Names, from_moment, is_timed, moving};
use crate::syntax::order::components;
use crate::syntax::source::Span;
use std::collections::{HashMap, HashSet};

impl Program {
    /// Adds time to names that depend on a state and that the state's next step depends on: they have a value at every
    /// step. `Pre[i] = W[i,j] H[j,*t]` becomes `Pre[i,*t] = …`. Lines with time read it at the same step, others at
    /// the last step.
    pub(crate) fn write_time_out(&mut self) {
        let found = self.steps_without_time();
        self.per_step.extend(found);
        if self.per_step.is_empty() {
            return;
        }
        let timed = |r: &Ref, index: Index| {
            let bare = !r.places.iter().any(is_timed) && self.per_step.contains_key(&r.name);
            bare.then(|| {
                let place = Place { index, dotted: false, span: r.span };
                Ref { places: r.places.iter().cloned().chain([place]).collect(), ..r.clone() }
            })
        };
        for e in &mut self.equations {
            let own = self.per_step.get(&e.target.name).or(moving(&e.target.places).map(|t| t.0)).cloned();
            let now = |r: &Ref| timed(r, own.clone().map_or(Index::Step(-1), |t| Index::Time(t, 0)));
            e.value = e.value.with_refs(&now);
            e.guard = e.guard.as_ref().map(|g| g.with_refs(&now));
            e.target.change_computed(&mut |p| *p = p.with_refs(&now));
            if let Some(target) = now(&e.target) {
                e.target = target;
            }
        }
    }

    /// Writes fixed steps as such: if some line writes or reads `N[s,*t]`, then `N[s,-1]` is `N[s,*-1]`.
    pub(crate) fn write_fixed_steps(&mut self) {
        fixed_steps(&mut self.equations);
        for f in self.functions.values_mut() {
            if f.body.iter().any(|e| moving(&e.target.places).is_some()) {
                fixed_steps(&mut std::sync::Arc::make_mut(f).body);
            }
        }
    }

    /// Returns the names that depend on themselves through a state, but have no time on their left, with
    /// their time.
    fn steps_without_time(&self) -> HashMap<Name, Name> {
        let mut out = HashMap::new();
        let has_time = |e: &Equation| e.target.places.iter().any(is_timed);
        // Fast path: most programs have no time.
        if !self.equations.iter().any(has_time) {
            return out;
        }
        let mut names: Vec<&Name> = Vec::new();
        let mut at: HashMap<&Name, usize> = HashMap::new();
        for e in &self.equations {
            at.entry(&e.target.name).or_insert_with(|| {
                names.push(&e.target.name);
                names.len() - 1
            });
        }
        let (mut needs, mut time) = (vec![Vec::new(); names.len()], vec![None; names.len()]);
        let mut timed = vec![false; names.len()];
        for e in &self.equations {
            let own = at[&e.target.name];
            needs[own].extend(e.reads().iter().filter_map(|r| at.get(&r.name).copied()));
            time[own] = time[own].or(moving(&e.target.places).map(|t| t.0));
            timed[own] |= has_time(e);
        }
        for group in components(&needs) {
            if let Some(time) = group.iter().find_map(|i| time[*i]) {
                let without = group.iter().filter(|i| !timed[**i]);
                out.extend(without.map(|i| (names[*i].clone(), time.clone())));
            }
        }
        out
    }

    /// Checks that each equation uses one name for time; a primed name is another index. If `some` is false, only
    /// functions are checked.
    pub(crate) fn check_times(&self, some: bool, faults: &mut Vec<Diagnostic>) {
        let bodies = self.functions.values().flat_map(|f| &f.body);
        let has = |r: &Ref| r.places.iter().any(|p| matches!(p.index, Index::Time(..)));
        let timed = |e: &&Equation| has(&e.target) || e.any_read(&mut |r| has(r));
        for e in self.equations.iter().filter(|_| some).chain(bodies).filter(timed) {
            let all = [&e.target].into_iter().chain(e.reads());
            let mut stars = all.flat_map(|r| &r.places).filter_map(|p| match &p.index {
                Index::Time(name, _) => Some((name.trim_end_matches('\''), p.span)),
                _ => None,
            });
            let Some((first, there)) = stars.next() else { continue };
            if let Some((other, here)) = stars.find(|(name, _)| *name != first) {
                let what = format!(
                    "`*{other}` and `*{first}` are the same time: use one name for it in an equation"
                );
                let help = format!("write *{first} for the same step, or *{first}' for a sum over all steps");
                let fault = Diagnostic::error(here, what).and(there, "and here").help(help);
                faults.push(fault.about(first).about(other));
            }
        }
    }

    /// Refuses sums over time that lines with time read: one value per step could be meant as well.
    pub(crate) fn check_sums(&self, faults: &mut Vec<Diagnostic>) {
        let bodies = self.functions.values().map(|f| &f.body[..]);
        for equations in [&self.equations[..]].into_iter().chain(bodies) {
            for at in ambiguous_sums(&equations.iter().collect::<Vec<_>>()) {
                let e = &equations[at];
                let Some((time, span)) = summed_time(e) else { continue };
                let name = &e.target.name;
                let (what, here) = (
                    format!(
                        "`{name}` sums over `*{time}`, and a line with time reads it: which step is meant?"
                    ),
                    "summed over all steps",
                );
                let star = Place { index: Index::Time(time.clone(), 0), dotted: false, span };
                let places = e.target.places.iter().cloned().chain([star]).collect();
                let per_step = Ref { places, relation: false, ..e.target.clone() };
                let help = format!(
                    "for one value per step write {per_step} = …; for the sum over time {} sum= …",
                    e.target
                );
                let fault = Diagnostic::error(e.target.span, what).and(span, here).help(help);
                faults.push(fault.about(&e.target.name));
            }
        }
    }

    /// Returns warnings for states whose steps read past the end of an input: the value there is 0.
    pub(crate) fn doubtful_ends(&self) -> Vec<Diagnostic> {
        let ahead = |e: &Equation| moving(&e.target.places).map_or(0, |t| t.1);
        let states: HashSet<&Name> =
            self.equations.iter().filter(|e| ahead(e) > 0).map(|e| &e.target.name).collect();
        let given = |r: &Ref| {
            let own = self.definition(&r.name).map(|d| &d.equations[..]).unwrap_or_default();
            let constant = |e: &Expr| matches!(e.kind, Kind::Text(_)) || array(e).is_some();
            own.iter().all(|i| constant(&self.equations[*i].value))
        };
        let mut out = Vec::new();
        for e in self.equations.iter().filter(|e| ahead(e) > 0) {
            let reads = e.reads();
            let at = |r: &Ref| from_moment(&e.target, &r.places);
            if !reads.iter().any(|r| states.contains(&r.name) && at(r).is_some()) {
                continue;
            }
            let Some(r) = reads.iter().find(|r| at(r).is_some_and(|by| by >= ahead(e)) && given(r)) else {
                continue;
            };
            let what = format!("`{r}` is 0 at the last step: time has as many steps as `{}`", r.name);
            let help =
                "a state is one step ahead of what its steps read: write *t there, and *t+1 on the left";
            out.push(Diagnostic::warning(r.span, what).help(help).about(&r.name));
        }
        out
    }
}

fn fixed_steps(equations: &mut [Equation]) {
    let mut times: HashMap<Name, usize> = HashMap::new();
    for e in equations.iter() {
        e.any_read(&mut |r| note_time(r, &mut times));
        note_time(&e.target, &mut times);
    }
    if times.is_empty() {
        return;
    }
    let written = |r: &Ref| {
        let at = *times.get(&r.name)?;
        let Index::At(step) = r.places.get(at)?.index else { return None };
        let mut out = r.clone();
        out.places[at].index = Index::Step(step);
        Some(out)
    };
    for e in equations {
        e.value = e.value.with_refs(&written);
        e.guard = e.guard.as_ref().map(|g| g.with_refs(&written));
        e.target.change_computed(&mut |p| *p = p.with_refs(&written));
        e.target = written(&e.target).unwrap_or_else(|| e.target.clone());
    }
}

impl Equation {
    /// Writes a sum over time as `sum=`.
    pub(crate) fn spell_out(&mut self) {
        self.spelled |= summed_time(self).is_some();
    }
}

/// Returns the time that an equation without time on its left sums over, and the location of the read.
pub(crate) fn summed_time(e: &Equation) -> Option<(Name, Span)> {
    if e.projection != Projection::Sum || e.spelled || e.target.places.iter().any(is_timed) {
        return None;
    }
    let left = crate::elaborate::scope::keys(&e.target);
    // A primed time is another index, which is always summed.
    let own = |name: &Name| !name.ends_with('\'') && !left.contains(name);
    let mut reads = e.reads().into_iter();
    reads
        .find_map(|r| moving(&r.places).filter(|(name, _)| own(name)).map(|(name, _)| (name.clone(), r.span)))
}

/// Returns the equations that sum over time by a plain `=` and that lines with time read, directly or through
/// names without time.
fn ambiguous_sums(equations: &[&Equation]) -> Vec<usize> {
    let sums: Vec<usize> = (0..equations.len()).filter(|i| summed_time(equations[*i]).is_some()).collect();
    if sums.is_empty() {
        return sums;
    }
    let mut own: HashMap<&Name, Vec<usize>> = HashMap::new();
    for (i, e) in equations.iter().enumerate().filter(|(_, e)| !e.target.places.iter().any(is_timed)) {
        own.entry(&e.target.name).or_default().push(i);
    }
    // Names without time that lines with time read.
    let moves = equations.iter().filter(|e| moving(&e.target.places).is_some());
    let mut work: Vec<&Name> = moves.flat_map(|e| e.reads()).map(|r| &r.name).collect();
    let mut read: HashSet<&Name> = HashSet::new();
    while let Some(name) = work.pop() {
        if own.contains_key(name) && read.insert(name) {
            work.extend(own[name].iter().flat_map(|i| equations[*i].reads()).map(|r| &r.name));
        }
    }
    sums.into_iter().filter(|i| read.contains(&equations[*i].target.name)).collect()
}

/// Notes the position of a name's time index.
fn note_time(r: &Ref, times: &mut HashMap<Name, usize>) -> bool {
    if let Some(at) = r.places.iter().position(is_timed) {
        times.entry(r.name.clone()).or_insert(at);
    }
    false
}

/// Returns all uses of time in an equation, with their offsets.
pub(crate) fn timed_refs(e: &Equation) -> impl Iterator<Item = (&Name, i64)> {
    e.reads().into_iter().chain([&e.target]).filter_map(|r| moving(&r.places))
}

/// Returns the extents of a constant.
pub(crate) fn array(e: &Expr) -> Option<&[usize]> {
    match &e.kind {
        Kind::Array(array) => Some(&array.shape),
        Kind::Call(call) if &*call.function == "const" => array(call.args.first()?),
        _ => None,
    }
}

/// Returns true if a call combines several elements of its arguments, as `softmax` does and `exp` does not.
fn mixes(call: &Call, program: &Program) -> bool {
    match builtin::find(&call.function, program) {
        Some(callee) => match &callee.base {
            Base::User(f) => !builtin::is_of_numbers(f, program),
            _ => !matches!(callee.mixes(call, Names::new(), &|_| Vec::new()), Mixes::Nothing),
        },
        None => false,
    }
}

/// Returns true if an expression would see time as an axis if all steps were computed at once: it contains a call that
/// mixes elements of an argument with this time, or a reduction over it.
pub(crate) fn sees_time(e: &Expr, time: &Name, program: &Program) -> bool {
    let moves = |e: &Expr| e.any_ref(&mut |r| crate::elaborate::scope::keys(r).contains(time));
    let here = match &e.kind {
        Kind::Call(call) => {
            // The derivative by an argument is summed over the axes that the argument lacks, so time must not be one of them.
            let sums = || call.named.iter().any(|(k, _)| &**k == "wrt") && !call.args.iter().all(moves);
            call.args.iter().any(moves) && (mixes(call, program) || sums())
        }
        Kind::Reduce(_, axes, _) => axes.contains(time),
        _ => false,
    };
    here || e.any_part(|part| sees_time(part, time, program))
}

impl Program {
    /// Returns true if an equation must be evaluated step by step even if it does not depend on itself: its value for
    /// all steps at once would differ, or its time ends by a condition.
    pub(crate) fn is_step_by_step(&self, e: &Equation) -> bool {
        let Some((time, _)) = moving(&e.target.places) else { return false };
        let mut parts = [&e.value].into_iter().chain(&e.guard);
        self.times.contains_key(time) || parts.any(|p| sees_time(p, time, self))
    }
}
