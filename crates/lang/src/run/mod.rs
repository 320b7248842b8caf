//! Runs programs: lowers them for inputs of some types, compiles and runs the graph, and reads its checks.

mod load;

pub use load::Unsound;

use crate::builtin;
use crate::builtin::{RuntimeCheck, Verdict};
use crate::check::Settings;
use crate::elaborate::Core;
use crate::lower::eval::{Value, Values, in_words, located, window};
use crate::lower::solver::Solver;
use crate::program::{Faults, Program};
use crate::solve::{Options, failure};
use crate::syntax::ast::{Expr, Kind, Name};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::source::{Source, Span};
use gradus_ir::{Aval, Builder, Graph, Kind as ErrorKind};
use gradus_tensor::{Compiled, Tensor, TracedFunction, compile_graph};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A program lowered to one graph, from its inputs to the values of names.
pub struct Lowered {
    /// The inputs, in order.
    pub inputs: Vec<Name>,
    /// The names of the outputs, in order.
    pub outputs: Vec<Name>,
    /// The graph; after the outputs come the results of run-time checks.
    pub graph: Arc<Graph>,
    verdicts: Vec<(RuntimeCheck, Name, Span)>,
    /// The calls of functions that take positions.
    by_places: Vec<(Name, Span)>,
    allow_unconverged: bool,
    sources: Vec<Source>,
}

/// The result of solving equations.
struct Solved {
    traced: gradus_ir::Result<TracedFunction>,
    faults: Vec<Diagnostic>,
    /// The requested names that have a value.
    outputs: Vec<Name>,
    verdicts: Vec<Verdict>,
}

impl Program {
    /// Returns errors about sizes that do not depend on inputs, except for those that involve the names in
    /// `bad`.
    pub(crate) fn faults_beside(&self, bad: &HashSet<Name>) -> Vec<Diagnostic> {
        let none = BTreeMap::new();
        let Some(options) = self.options(&none, &Settings::default(), &mut Vec::new()) else {
            return Vec::new();
        };
        let from_files = self.equations.iter().filter(|e| e.file().is_some());
        let from_files = from_files.map(|e| &e.target.name);
        let unknown = self.inputs().chain(bad).chain(from_files).cloned().collect();
        self.solved(&none, &unknown, &options, None).faults
    }

    /// Returns errors about inputs and sizes, except for those that involve the names in `unknown`.
    pub fn faults_besides(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        unknown: &HashSet<Name>,
        settings: &Settings,
        wanted: &[Name],
    ) -> Vec<Diagnostic> {
        let mut faults = self.check_inputs(inputs, unknown, settings, wanted);
        // The number of time steps may depend on the unknown names.
        if self.definitions.values().any(|d| d.time.is_some()) {
            return faults;
        }
        if let Some(options) = self.options(inputs, settings, &mut faults) {
            faults.extend(self.solved(inputs, unknown, &options, Some(wanted)).faults);
        }
        faults
    }

    /// Checks sizes as far as they do not depend on inputs; programs with time are not checked.
    pub fn check_sizes(&self) -> Result<(), Faults> {
        let timed = self.definitions.values().any(|d| d.time.is_some());
        let faults = if timed { Vec::new() } else { self.faults_beside(&HashSet::new()) };
        if faults.is_empty() { Ok(()) } else { Err(Faults { sources: self.sources.clone(), faults }) }
    }

    /// Lowers a program to a graph for inputs of these types.
    pub fn lower(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        wanted: &[Name],
    ) -> Result<Lowered, Faults> {
        let faulty = |faults: Vec<Diagnostic>| settings.faults(self, faults);
        let mut faults = self.check_inputs(inputs, &HashSet::new(), settings, wanted);
        let complex = inputs.iter().filter(|(_, a)| a.dtype.is_complex()).map(|(n, _)| n.clone());
        faults.extend(self.taken_for_real(&complex.collect::<Vec<_>>(), wanted));
        let options = self.options(inputs, settings, &mut faults);
        let Some(options) = options else { return Err(faulty(faults)) };
        let solved = self.solved(inputs, &HashSet::new(), &options, Some(wanted));
        faults.extend(solved.faults);
        if !faults.is_empty() {
            return Err(faulty(faults));
        }
        let (outputs, verdicts) = (solved.outputs, solved.verdicts);
        let computed: HashSet<&Name> = outputs.iter().collect();
        if let Some(name) = wanted.iter().find(|n| !computed.contains(n)) {
            let at = self.definition(name).map(|d| d.span).unwrap_or_default();
            let fault = Diagnostic::error(at, format!("`{name}` has no value"));
            return Err(faulty(vec![fault.about(name)]));
        }
        let traced = solved.traced;
        let traced = traced.map_err(|e| faulty(vec![Diagnostic::error(Span::NOWHERE, e.to_string())]))?;
        Ok(Lowered {
            inputs: inputs.keys().cloned().collect(),
            outputs,
            graph: traced.graph,
            verdicts: verdicts.into_iter().map(|v| (v.judged, v.name, v.span)).collect(),
            by_places: self.calls_by_places(wanted),
            allow_unconverged: settings.allow_unconverged,
            sources: self.sources.clone(),
        })
    }

    /// Solves all equations for inputs of these types, or those that `wanted` depends on. Names in `unknown`, and
    /// those that depend on them, have no value, which is not an error.
    fn solved(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        unknown: &HashSet<Name>,
        options: &Options,
        wanted: Option<&[Name]>,
    ) -> Solved {
        let (mut faults, mut outputs, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
        let avals: Vec<Aval> = inputs.values().cloned().collect();
        let relations = self.relations_before(inputs, unknown, options, wanted).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let core = Core::new(self);
        let traced = gradus_tensor::trace_function(&avals, |nodes: &[Tensor]| {
            let mut values: Values = HashMap::new();
            for (name, node) in inputs.keys().zip(nodes) {
                let own = self.input_dtype(name, node.dtype(), options.float);
                values.insert(name.clone(), Some(Value::new(node.to_dtype(own))));
            }
            // Errors in inputs have been reported. Names that depend on them have no value; all others are still
            // checked.
            let usable = |n: &&Name| inputs.get(*n).is_some_and(|a| self.fits_input(n, a));
            for name in self.inputs().filter(|n| !usable(n)).chain(unknown) {
                values.insert(name.clone(), None);
            }
            let mut early = Vec::new();
            let known = self.known_before(relations.as_ref(), options, wanted, &mut values, &mut early);
            let mut solver = Solver::new(&core, options, &core.equations, values, Vec::new());
            solver.faults = early;
            solver.leave_out(&known);
            if let Some(wanted) = wanted {
                solver.only(wanted);
            }
            solver.solve();
            let mut given = Vec::new();
            for name in wanted.unwrap_or_default() {
                if let Some(Some(value)) = solver.values.get(name) {
                    outputs.push(name.clone());
                    given.push(self.shown(name, value));
                }
            }
            solver.verdicts.append(&mut options.verdicts.borrow_mut());
            given.extend(solver.verdicts.iter().map(|v| v.verdict.clone()));
            faults.append(&mut solver.faults);
            verdicts = solver.verdicts;
            given
        });
        Solved { traced, faults, outputs, verdicts }
    }

    /// Returns the calls of functions that take positions, among what `wanted` depends on.
    fn calls_by_places(&self, wanted: &[Name]) -> Vec<(Name, Span)> {
        fn look(e: &Expr, program: &Program, out: &mut Vec<(Name, Span)>) {
            if let Kind::Call(c) = &e.kind
                && builtin::find(&c.function, program).is_some_and(|c| c.takes_places())
            {
                out.push((c.function.clone(), e.span));
            }
            e.parts().into_iter().for_each(|p| look(p, program, out));
        }
        let needed = self.needed(wanted);
        let own = self.equations.iter().filter(|e| needed.contains(&e.target.name));
        let bodies = self.functions.values().flat_map(|f| &f.body);
        let mut out = Vec::new();
        own.chain(bodies).for_each(|e| look(&e.value, self, &mut out));
        out
    }

    /// Runs a program and returns the values of `wanted`.
    pub fn run(
        &self,
        inputs: &BTreeMap<Name, Tensor>,
        settings: &Settings,
        wanted: &[Name],
    ) -> Result<BTreeMap<Name, Tensor>, Faults> {
        let avals = inputs.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect();
        let lowered = self.lower(&avals, settings, wanted)?;
        lowered.run(inputs)
    }

    /// Returns the value shown for a name. For a state, a per-step name, or a time that ends by a condition,
    /// it is that of the last step.
    fn shown(&self, name: &Name, value: &Value) -> Tensor {
        let ahead = |e: &crate::syntax::ast::Equation| {
            e.target.name == *name && moving(&e.target.places).is_some_and(|t| t.1 > 0)
        };
        match self.definition(name).and_then(|d| d.time) {
            Some(axis)
                if value.ended || self.per_step.contains_key(name) || self.equations.iter().any(ahead) =>
            {
                // With no steps at all, the value is 0.
                let last = value.tensor.dim(axis as isize) as i64 - 1;
                window(&value.tensor, axis, last, 1).squeeze([axis as isize])
            }
            _ => value.tensor.clone(),
        }
    }
}

impl Lowered {
    /// Runs the graph.
    pub fn run(&self, inputs: &BTreeMap<Name, Tensor>) -> Result<BTreeMap<Name, Tensor>, Faults> {
        let failed = |e: gradus_ir::Error| self.failed(&e);
        let compiled = self.compiled().map_err(failed)?;
        self.run_with(&compiled, inputs)
    }

    /// Returns the graph for display: its inputs have the names of the program, and the results of run-time
    /// checks are left out.
    pub fn named_graph(&self) -> gradus_ir::Result<Graph> {
        let b = Builder::new();
        let inputs = self.inputs.iter().zip(self.graph.input_avals());
        let ins: Vec<_> = inputs.map(|(name, aval)| b.input(name, aval)).collect();
        let outs = b.inline(&self.graph, &ins);
        b.finish(&outs[..self.outputs.len()])
    }

    /// Returns the graph as one plan for this thread's default device, to be run more than once.
    pub fn compiled(&self) -> gradus_ir::Result<Compiled> {
        compile_graph(&self.graph)
    }

    /// Runs the plan of the graph.
    pub fn run_with(
        &self,
        compiled: &Compiled,
        inputs: &BTreeMap<Name, Tensor>,
    ) -> Result<BTreeMap<Name, Tensor>, Faults> {
        let given: Vec<Tensor> =
            self.inputs.iter().filter_map(|n| inputs.get(n)).map(|t| t.to(compiled.device())).collect();
        let failed = |e: gradus_ir::Error| self.failed(&e);
        let mut outs = compiled.run(&given.iter().collect::<Vec<_>>()).map_err(failed)?;
        let verdicts = outs.split_off(self.outputs.len().min(outs.len()));
        self.check(&verdicts)?;
        Ok(self.outputs.iter().cloned().zip(outs).collect())
    }

    /// Returns true if some names depend on themselves and are computed in rounds.
    pub fn has_fixpoints(&self) -> bool {
        self.verdicts.iter().any(|v| v.0 == RuntimeCheck::Converged)
    }

    /// Checks that fixpoints converged and numbers are valid; `verdicts` are the graph's results after the outputs.
    pub fn check(&self, verdicts: &[Tensor]) -> Result<(), Faults> {
        let failed = |e: gradus_ir::Error| self.failed(&e);
        for ((judged, name, span), verdict) in self.verdicts.iter().zip(verdicts) {
            if *judged == RuntimeCheck::Converged && self.allow_unconverged {
                continue;
            }
            if let Some(fault) = Verdict::fault(*judged, name, *span, verdict).map_err(failed)? {
                return Err(self.faulty(fault));
            }
        }
        Ok(())
    }

    /// Returns the error of a failed run. An index out of range is attributed to the call of a function of
    /// positions, if there is only one.
    fn failed(&self, e: &gradus_ir::Error) -> Faults {
        let own = failure(e).and_then(|(span, _)| self.by_places.iter().find(|(_, at)| *at == span));
        if let Some(fault) = located(e, own.map(|(name, _)| &**name)) {
            return self.faulty(fault);
        }
        let (function, span) = match &self.by_places[..] {
            [(function, span)] => (Some(&**function), *span),
            _ => (None, Span::NOWHERE),
        };
        let span = if matches!(e.kind(), ErrorKind::Index { .. }) { span } else { Span::NOWHERE };
        self.faulty(Diagnostic::error(span, in_words(e, function)))
    }

    fn faulty(&self, fault: Diagnostic) -> Faults {
        Faults { sources: self.sources.clone(), faults: vec![fault] }
    }
}
