//! Virtual time: names that have a value at every step without time on their left, and the number of steps.

use crate::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::builtin::{self, Base, Mixes};
use crate::diagnostic::Diagnostic;
use crate::order::components;
use crate::program::Program;
use crate::run::Settings;
use crate::scope::Names;
use crate::source::Span;
use gradus_ir::Aval;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The time index among some places and its offset.
pub(crate) fn moving<E>(places: &[Place<E>]) -> Option<(&Name, i64)> {
    places.iter().find_map(|p| match &p.index {
        Index::Time(name, by) => Some((name, *by)),
        _ => None,
    })
}

/// The time offset of an index entry from the current step, in an equation with this left side. A time with another
/// name is an ordinary index over all steps. A plain index with the name of the time is read at the current step.
fn own_time<E, F>(target: &Ref<E>, place: &Place<F>) -> Option<i64> {
    let own = moving(&target.places)?.0;
    match &place.index {
        Index::Time(time, by) | Index::Named(time, by) if time == own => Some(*by),
        _ => None,
    }
}

/// The time offset of a tensor from the current step.
pub(crate) fn from_moment<E, F>(target: &Ref<E>, places: &[Place<F>]) -> Option<i64> {
    places.iter().find_map(|p| own_time(target, p))
}

/// True if an index entry is the time of an equation with this left side.
pub(crate) fn is_time<E, F>(target: &Ref<E>, place: &Place<F>) -> bool {
    own_time(target, place).is_some()
}

/// True if an index entry is a time or a fixed step.
pub(crate) fn is_timed<E>(p: &Place<E>) -> bool {
    matches!(p.index, Index::Time(..) | Index::Moment(_))
}

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
            let now = |r: &Ref| timed(r, own.clone().map_or(Index::Moment(-1), |t| Index::Time(t, 0)));
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

    /// The names that depend on themselves through a state, but have no time on their left, with their time.
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
                let what =
                    format!("`*{other}` and `*{first}` are one time: an equation calls it by one name");
                let help = format!(
                    "write *{first} for the same moment; for a sum over all moments beside it, *{first}'"
                );
                faults.push(Diagnostic::error(here, what).and(there, "and here").help(help));
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
                faults.push(Diagnostic::error(e.target.span, what).and(span, here).help(help));
            }
        }
    }

    /// Warnings for states whose steps read past the end of an input: the value there is 0.
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
            let help = "a state is a moment ahead of what its steps read: *t there, *t+1 on the left";
            out.push(Diagnostic::warning(r.span, what).help(help));
        }
        out
    }

    /// The number of time steps: that of `--steps`, of `axis`, and of inputs and constants with time, which must
    /// agree. If there is none, it is one; an error for a state without a start.
    pub(crate) fn steps(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        axes: &HashMap<Name, (usize, Span)>,
    ) -> Result<usize, Diagnostic> {
        let mut said: Option<(usize, Span, String)> = None;
        let mut say = |n: usize, span: Span, who: String| match &said {
            None => {
                said = Some((n, span, who));
                Ok(())
            }
            Some((before, ..)) if *before == n => Ok(()),
            Some((before, other, first)) => {
                let what = format!("virtual time has {before} steps {first}, but {n} {who}");
                Err(Diagnostic::error(span, what)
                    .here(format!("{n} here"))
                    .and(*other, format!("{before} here")))
            }
        };
        if let Some(n) = settings.steps {
            let moves = self.equations.iter().any(|e| timed_refs(e).next().is_some());
            if !moves && self.times.is_empty() {
                let what = format!("nothing in the program moves with time, so it has no {n} steps");
                return Err(Diagnostic::error(settings.place("--steps", self), what)
                    .help("a name moves with time where an index has a star: H[i,*t+1] = …"));
            }
            // For a time that ends by a condition, `--steps` is the maximum.
            let ends = |(time, _): (&Name, i64)| self.times.contains_key(time);
            if moves && !self.equations.iter().flat_map(timed_refs).any(ends) {
                say(n, settings.place("--steps", self), "by --steps".into())?;
            }
        }
        // `--steps` replaces the declared number.
        for (time, _) in self.equations.iter().flat_map(timed_refs).filter(|_| settings.steps.is_none()) {
            if let Some((n, span)) = axes.get(time) {
                say(*n, *span, format!("by `axis {time}`"))?;
            }
        }
        for (name, aval) in inputs {
            let Some(d) = self.definition(name) else { continue };
            let file = |i: &usize| self.equations[*i].file().is_some();
            let whole = d.equations.iter().all(file);
            if let Some(n) = d.time.filter(|_| whole).and_then(|axis| aval.shape.get(axis).copied()) {
                say(n, d.span, format!("in the input `{name}`"))?;
            }
        }
        for e in &self.equations {
            let Some((time, _)) = moving(&e.target.places) else { continue };
            if let Some((n, span)) = self.extent_of(time, e, inputs) {
                say(n, span, format!("in `{}`", e.target.name))?;
            }
        }
        // A state needs a number of steps; other names with time have one step by default.
        let ahead = |e: &&Equation| moving(&e.target.places).is_some_and(|t| t.1 > 0);
        match (said, self.equations.iter().find(ahead)) {
            (Some((n, ..)), _) => Ok(n),
            (None, Some(e)) if moving(&e.target.places).is_some_and(|t| self.times.contains_key(t.0)) => {
                Ok(1)
            }
            (None, None) => Ok(1),
            // A state that has a start takes one step.
            (None, Some(state)) if self.starts(&state.target.name, inputs) => Ok(1),
            (None, Some(state)) => {
                let time = moving(&state.target.places).map_or("t", |t| t.0);
                let what = format!("nothing says how many steps `{}` takes", state.target.name);
                let help = match self.read_as_time(state) {
                    Some((name, index)) => format!(
                        "`{name}` has `{index}`, not `*{index}`, where it is defined: write {name}[*{index}] there, or say it with axis {time} = …"
                    ),
                    None => {
                        format!(
                            "say it with --steps or with axis {time} = …, or read something at every step"
                        )
                    }
                };
                Err(Diagnostic::error(state.target.span, what).help(help))
            }
        }
    }

    /// True if a state has a start: a line at the first step, or an input.
    fn starts(&self, name: &Name, inputs: &BTreeMap<Name, Aval>) -> bool {
        let at_first = |e: &Equation| e.target.places.iter().any(|p| p.index == Index::Moment(0));
        inputs.contains_key(name) || self.equations.iter().any(|e| e.target.name == *name && at_first(e))
    }

    /// A state that takes one step because nothing says how many steps there are.
    pub fn single_step(&self, inputs: &BTreeMap<Name, Aval>, settings: &Settings) -> Option<&Name> {
        let ahead = |e: &&Equation| moving(&e.target.places).is_some_and(|t| t.1 > 0);
        let state = self.equations.iter().find(ahead).filter(|_| self.times.is_empty())?;
        let one = self.time_steps(inputs, settings).is_ok_and(|n| n == 1);
        // True if another number of steps would be consistent, so that nothing determines it.
        let two = Settings { steps: Some(2), ..settings.clone() };
        let open = settings.steps.is_none() && self.time_steps(inputs, &two).is_ok();
        (one && open).then_some(&state.target.name)
    }

    /// The undefined conditions of times that these names depend on.
    pub fn undecided(&self, names: &[Name]) -> Vec<&Name> {
        let needed = self.needed(names);
        let own = self.equations.iter().filter(|e| needed.contains(&e.target.name));
        let ends = own.filter_map(|e| self.times.get(moving(&e.target.places)?.0)).map(|(go, _)| go);
        let mut open: Vec<&Name> = ends.filter(|go| self.definition(go).is_none()).collect();
        open.dedup();
        open
    }

    /// A name that an equation reads with time, but that is defined with a plain index there, and that index.
    fn read_as_time(&self, e: &Equation) -> Option<(Name, Name)> {
        let own = self.equations.iter().filter(|other| other.target.name == e.target.name);
        own.flat_map(Equation::reads).find_map(|r| {
            let axis = r.places.iter().position(|p| matches!(p.index, Index::Time(..)))?;
            match &self.definition(&r.name)?.places.get(axis)?.index {
                Index::Named(index, _) => Some((r.name.clone(), index.clone())),
                _ => None,
            }
        })
    }

    /// The extent of time in an equation with time on its left: that of a constant, or of a tensor read with time as a
    /// plain index.
    fn extent_of(&self, time: &Name, e: &Equation, inputs: &BTreeMap<Name, Aval>) -> Option<(usize, Span)> {
        let keys = crate::scope::keys(&e.target);
        if let Some(shape) = array(&e.value).filter(|s| s.len() == keys.len()) {
            return keys.iter().position(|k| k == time).map(|p| (shape[p], e.value.span));
        }
        e.reads().into_iter().find_map(|r| {
            let axis = r.places.iter().position(|p| p.index == Index::Named(time.clone(), 0))?;
            let n = match inputs.get(&r.name) {
                Some(aval) => aval.shape.get(axis).copied(),
                None => {
                    let own = &self.definition(&r.name)?.equations;
                    own.iter().find_map(|i| array(&self.equations[*i].value)?.get(axis).copied())
                }
            };
            n.map(|n| (n, r.span))
        })
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
        out.places[at].index = Index::Moment(step);
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

/// The time that an equation without time on its left sums over, and the location of the read.
pub(crate) fn summed_time(e: &Equation) -> Option<(Name, Span)> {
    if e.projection != Projection::Sum || e.spelled || e.target.places.iter().any(is_timed) {
        return None;
    }
    let left = crate::scope::keys(&e.target);
    // A primed time is another index, which is always summed.
    let own = |name: &Name| !name.ends_with('\'') && !left.contains(name);
    let mut reads = e.reads().into_iter();
    reads
        .find_map(|r| moving(&r.places).filter(|(name, _)| own(name)).map(|(name, _)| (name.clone(), r.span)))
}

/// The equations that sum over time by a plain `=` and that lines with time read, directly or through names without
/// time.
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

/// All uses of time in an equation, with their offsets.
pub(crate) fn timed_refs(e: &Equation) -> impl Iterator<Item = (&Name, i64)> {
    e.reads().into_iter().chain([&e.target]).filter_map(|r| moving(&r.places))
}

/// The extents of a constant.
fn array(e: &Expr) -> Option<&[usize]> {
    match &e.kind {
        Kind::Array(array) => Some(&array.shape),
        Kind::Call(call) if &*call.function == "const" => array(call.args.first()?),
        _ => None,
    }
}

/// True if a call combines several elements of its arguments, as `softmax` does and `exp` does not.
fn mixes(call: &Call, program: &Program) -> bool {
    match builtin::find(&call.function, program) {
        Some(callee) => match &callee.base {
            Base::User(f) => !builtin::is_of_numbers(f, program),
            _ => !matches!(callee.mixes(call, Names::new(), &|_| Vec::new()), Mixes::Nothing),
        },
        None => false,
    }
}

/// True if an expression would see time as an axis if all steps were computed at once: it contains a call that mixes
/// elements of an argument with this time, or a reduction over it.
pub(crate) fn sees_time(e: &Expr, time: &Name, program: &Program) -> bool {
    let moves = |e: &Expr| e.any_ref(&mut |r| moving(&r.places).is_some_and(|t| t.0 == time));
    let here = match &e.kind {
        Kind::Call(call) => call.args.iter().any(moves) && mixes(call, program),
        Kind::Reduce(_, axes, _) => axes.contains(time),
        _ => false,
    };
    here || e.any_part(|part| sees_time(part, time, program))
}

impl Program {
    /// True if an equation must be evaluated step by step even if it does not depend on itself: its value for all
    /// steps at once would differ, or its time ends by a condition.
    pub(crate) fn is_by_moment(&self, e: &Equation) -> bool {
        let Some((time, _)) = moving(&e.target.places) else { return false };
        let mut parts = [&e.value].into_iter().chain(&e.guard);
        self.times.contains_key(time) || parts.any(|p| sees_time(p, time, self))
    }
}
