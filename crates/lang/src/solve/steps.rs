//! The number of time steps of a run, from settings, declarations, inputs and constants, which must agree.

use crate::check::Settings;
use crate::elaborate::time::{array, timed_refs};
use crate::program::Program;
use crate::syntax::ast::{Equation, Index, Name};
use crate::syntax::diagnostic::{Diagnostic, Faults};
use crate::syntax::indices::{keys, moving};
use crate::syntax::source::Span;
use gradus_ir::Aval;
use std::collections::{BTreeMap, HashMap};

impl Program {
    /// Returns the number of time steps: that of `--steps`, of `axis`, and of inputs and constants with time,
    /// which must agree. If there is none, it is one; an error for a state without a start.
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
                let what = format!("no name in the program depends on time, so it cannot have {n} steps");
                return Err(Diagnostic::error(settings.place("--steps", self), what)
                    .help("a name depends on time if an index has a star: H[i,*t+1] = …"));
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
                let what = format!("the number of steps of `{}` is not known", state.target.name);
                let help = match self.read_as_time(state) {
                    Some((name, index)) => format!(
                        "`{name}` has `{index}`, not `*{index}`, where it is defined: write {name}[*{index}] there, or declare axis {time} = …"
                    ),
                    None => {
                        format!(
                            "set --steps, declare axis {time} = …, or read a tensor that has a value at every step"
                        )
                    }
                };
                Err(Diagnostic::error(state.target.span, what).help(help))
            }
        }
    }

    /// Returns true if a state has a start: a line at the first step, or an input.
    fn starts(&self, name: &Name, inputs: &BTreeMap<Name, Aval>) -> bool {
        let at_first = |e: &Equation| e.target.places.iter().any(|p| p.index == Index::Step(0));
        inputs.contains_key(name) || self.equations.iter().any(|e| e.target.name == *name && at_first(e))
    }

    /// Returns a state that takes one step because nothing determines the number of steps.
    pub fn single_step(&self, inputs: &BTreeMap<Name, Aval>, settings: &Settings) -> Option<&Name> {
        let ahead = |e: &&Equation| moving(&e.target.places).is_some_and(|t| t.1 > 0);
        let state = self.equations.iter().find(ahead).filter(|_| self.times.is_empty())?;
        let one = self.time_steps(inputs, settings).is_ok_and(|n| n == 1);
        // Another number of steps that is consistent shows that nothing determines it.
        let two = Settings { steps: Some(2), ..settings.clone() };
        let open = settings.steps.is_none() && self.time_steps(inputs, &two).is_ok();
        (one && open).then_some(&state.target.name)
    }

    /// Returns the undefined conditions of times that these names depend on.
    pub fn undecided(&self, names: &[Name]) -> Vec<&Name> {
        let needed = self.needed(names);
        let own = self.equations.iter().filter(|e| needed.contains(&e.target.name));
        let ends = own.filter_map(|e| self.times.get(moving(&e.target.places)?.0)).map(|(go, _)| go);
        let mut open: Vec<&Name> = ends.filter(|go| self.definition(go).is_none()).collect();
        open.dedup();
        open
    }

    /// Returns a name that an equation reads with time, but that is defined with a plain index there, and
    /// that index.
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

    /// Returns the extent of time in an equation with time on its left: that of a constant, or of a tensor
    /// read with time as a plain index.
    fn extent_of(&self, time: &Name, e: &Equation, inputs: &BTreeMap<Name, Aval>) -> Option<(usize, Span)> {
        let keys = keys(&e.target);
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

    /// Returns the number of time steps for inputs of these types.
    pub fn time_steps(&self, inputs: &BTreeMap<Name, Aval>, settings: &Settings) -> Result<usize, Faults> {
        let mut faults = Vec::new();
        let options = self.options(inputs, settings, &mut faults);
        options.map(|o| o.steps).ok_or_else(|| settings.faults(self, faults))
    }
}
