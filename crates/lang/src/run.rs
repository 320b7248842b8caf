//! Runs programs: settings, inputs, and the graph that a program is lowered to.

use crate::ast::{Expr, Kind, Name};
use crate::builtin;
use crate::diagnostic::{Diagnostic, add_near};
use crate::elaborate::Core;
use crate::eval::{Value, Values, in_words, window};
use crate::limit::{MOST_ROUNDS, MOST_STEPS};
use crate::program::{Definition, Faults, Program, number};
use crate::relations::{Domains, Tables};
use crate::solve::Solver;
use crate::source::{Source, Span};
use crate::time::{moving, timed_refs};
use crate::verdict::{Judged, Verdict};
use gradus_ir::{Aval, Builder, DType, Graph};
use gradus_tensor::{Compiled, Tensor, TracedFunction, compile_graph};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The dtype of its numbers.
    pub float: DType,
    /// Parameters given from outside.
    pub set: HashMap<Name, f64>,
    /// The number of time steps; if `None`, that of the inputs. For a time that ends by a condition, the maximum.
    pub steps: Option<usize>,
    /// Temperatures by the name on the left, `*` for all.
    pub temperatures: HashMap<Name, f64>,
    /// The remaining relative distance at which a fixpoint counts as converged; if `None`, it depends on the dtype.
    pub tolerance: Option<f64>,
    /// The most rounds of a fixpoint.
    pub rounds: usize,
    /// True if a fixpoint that has not converged is not an error.
    pub allow_unconverged: bool,
    /// Tables of relations, which the program reads by name.
    pub tables: Tables,
    /// Whether rules that read only relations, constants and tables are solved over tuples before lowering.
    pub sparse: bool,
    /// True if the graph will be differentiated: the derivatives of its fixpoints must converge too.
    pub differentiated: bool,
    /// The text of the settings, such as a command line, for error messages.
    pub command: Option<Source>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            float: DType::F32,
            set: HashMap::new(),
            steps: None,
            temperatures: HashMap::new(),
            tolerance: None,
            rounds: 10_000,
            allow_unconverged: false,
            tables: Tables::default(),
            sparse: true,
            differentiated: false,
            command: None,
        }
    }
}

impl Settings {
    /// The span of an option (`--steps`, `--set K=`) in the command, whose file number follows those of the program.
    pub fn place(&self, option: &str, program: &Program) -> Span {
        let file = program.sources.len() as u32;
        self.command.as_ref().and_then(|c| c.option(option, file)).unwrap_or(Span::NOWHERE)
    }

    /// Errors with the program's texts and the command.
    pub fn faults(&self, program: &Program, faults: Vec<Diagnostic>) -> Faults {
        Faults { sources: program.sources.iter().chain(&self.command).cloned().collect(), faults }
    }
}

/// The settings with everything evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) float: DType,
    pub(crate) numbers: HashMap<Name, f64>,
    pub(crate) axes: HashMap<Name, (usize, Span)>,
    pub(crate) steps: usize,
    /// The most steps of a time that ends by a condition.
    pub(crate) most_steps: usize,
    pub(crate) temperatures: HashMap<Name, f64>,
    pub(crate) tolerance: f64,
    pub(crate) rounds: usize,
    /// Tables of relations, the domains of argument positions, and whether rules are solved over tuples.
    pub(crate) tables: Tables,
    pub(crate) domains: Arc<Domains>,
    pub(crate) sparse: bool,
    /// The number of calls of the program's own functions so far.
    pub(crate) calls: Arc<AtomicUsize>,
    /// True if a fixpoint that has not converged is not an error.
    pub(crate) allow_unconverged: bool,
    /// Run-time checks of fixpoints inside functions, and of numbers.
    pub(crate) verdicts: Rc<RefCell<Vec<Verdict>>>,
    /// The number of loops and derivatives being traced; checks inside them do not reach the run.
    traced: Rc<Cell<usize>>,
    /// The number of these that are loops over steps, which return their checks.
    read_at: Rc<Cell<usize>>,
    /// The number of these that are derivatives.
    derived: Rc<Cell<usize>>,
}

impl Options {
    /// The size of the domain of an argument position, if it has one.
    pub(crate) fn domain_size(&self, name: &str, position: usize) -> Option<usize> {
        let domain = self.domains.number(name, position)?;
        self.domains.size(domain, |n| self.axes.get(n).map(|a| a.0))
    }

    /// The same options with another number of time steps.
    pub(crate) fn lasting(self, steps: usize) -> Options {
        Options { steps, ..self }
    }

    /// Runs `f`, which traces into a graph of its own.
    pub(crate) fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        self.traced.set(self.traced.get() + 1);
        let done = f();
        self.traced.set(self.traced.get() - 1);
        done
    }

    /// Runs `f`, which is traced for differentiation.
    pub(crate) fn derived<R>(&self, f: impl FnOnce() -> R) -> R {
        self.derived.set(self.derived.get() + 1);
        let done = self.within(f);
        self.derived.set(self.derived.get() - 1);
        done
    }

    /// True inside something that will be differentiated.
    pub(crate) fn is_derived(&self) -> bool {
        self.derived.get() > 0
    }

    /// Runs `f`, which is traced step by step and returns the checks of each step.
    pub(crate) fn by_steps<R>(&self, f: impl FnOnce() -> R) -> R {
        let read = self.read_at.get();
        if self.is_read() {
            self.read_at.set(read + 1);
        }
        let done = self.within(f);
        self.read_at.set(read);
        done
    }

    /// True if checks of fixpoints and numbers made here reach the run.
    pub(crate) fn is_read(&self) -> bool {
        self.traced.get() == self.read_at.get()
    }
}

/// A program lowered to one graph, from its inputs to the values of names.
pub struct Lowered {
    /// The inputs, in order.
    pub inputs: Vec<Name>,
    /// The names of the outputs, in order.
    pub outputs: Vec<Name>,
    /// The graph; after the outputs come the results of run-time checks.
    pub graph: Arc<Graph>,
    verdicts: Vec<(Judged, Name, Span)>,
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
    /// Errors about sizes that do not depend on inputs, except for those that involve the names in `bad`.
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

    /// Errors about inputs and sizes, except for those that involve the names in `unknown`.
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
        if let Some(name) = wanted.iter().find(|n| !outputs.contains(n)) {
            let at = self.definition(name).map(|d| d.span).unwrap_or_default();
            return Err(faulty(vec![Diagnostic::error(at, format!("`{name}` has no value"))]));
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
            let mut solver =
                Solver::new(&core, options, &core.equations, &self.equations, values, Vec::new());
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

    /// The calls of functions that take positions, among what `wanted` depends on.
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

    /// The value shown for a name. For a state, a per-step name, or a time that ends by a condition, it is that of the
    /// last step.
    fn shown(&self, name: &Name, value: &Value) -> Tensor {
        let ahead = |e: &crate::ast::Equation| {
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

    /// True if a name is a state: it depends on time, and its start may be an input.
    pub fn is_state(&self, name: &str) -> bool {
        let own =
            |d: &Definition| d.equations.iter().any(|i| moving(&self.equations[*i].target.places).is_some());
        !self.per_step.contains_key(name) && self.definition(name).is_some_and(own)
    }

    /// The number of time steps for inputs of these types.
    pub fn time_steps(&self, inputs: &BTreeMap<Name, Aval>, settings: &Settings) -> Result<usize, Faults> {
        let mut faults = Vec::new();
        let options = self.options(inputs, settings, &mut faults);
        options.map(|o| o.steps).ok_or_else(|| settings.faults(self, faults))
    }

    /// Evaluates the settings; errors in them are added to `faults`.
    pub(crate) fn options(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Options> {
        for (name, x) in settings.set.iter().collect::<BTreeMap<_, _>>() {
            let place = settings.place(&format!("--set {name}="), self);
            match self.params.iter().find(|(n, _)| n == name) {
                None => {
                    let names = self.params.iter().map(|(n, _)| &**n);
                    let what = format!("there is no parameter `{name}` to set to {x}");
                    add_near(faults, Diagnostic::error(place, what), name, names);
                }
                Some((_, p)) if p.fixed => {
                    let what = format!("`{name}` is a constant and cannot be set");
                    faults.push(Diagnostic::error(place, what).and(p.span, "declared here"));
                }
                Some(_) => {}
            }
        }
        if settings.rounds > MOST_ROUNDS {
            let what = format!("a fixpoint may take at most {MOST_ROUNDS} rounds, not {}", settings.rounds);
            let help = "what does not rest by then creeps, and is better solved than repeated";
            faults.push(Diagnostic::error(settings.place("--rounds", self), what).help(help));
        }
        for name in settings.temperatures.keys().collect::<BTreeSet<_>>() {
            self.check_temperature(name, settings.place(&format!("--temperature {name}="), self), faults);
        }
        let mut kept = |d: Diagnostic| faults.push(d);
        let numbers = self.numbers(&settings.set).map_err(&mut kept).ok()?;
        let mut axes = HashMap::new();
        for (name, (size, span)) in &self.axes {
            let n = number(size, &numbers).map_err(&mut kept).ok()?;
            axes.insert(name.clone(), (n as usize, *span));
        }
        let steps = self.steps(inputs, settings, &axes).map_err(&mut kept).ok()?;
        if settings.steps.is_some() {
            for (time, _) in self.equations.iter().flat_map(timed_refs) {
                axes.entry(time.clone()).and_modify(|(n, _)| *n = steps);
            }
        }
        let tolerance = settings.tolerance.unwrap_or(if settings.float == DType::F64 { 1e-12 } else { 1e-6 });
        Some(Options {
            float: settings.float,
            steps,
            most_steps: settings.steps.unwrap_or(MOST_STEPS),
            numbers,
            axes,
            temperatures: settings.temperatures.clone(),
            tolerance,
            // A refused number of rounds is not tried.
            rounds: if settings.rounds > MOST_ROUNDS { 1 } else { settings.rounds },
            tables: settings.tables.clone(),
            domains: Arc::new(if self.has_facts() {
                self.domains(&settings.tables)
            } else {
                Domains::default()
            }),
            sparse: settings.sparse,
            calls: Arc::default(),
            allow_unconverged: settings.allow_unconverged,
            verdicts: Rc::default(),
            traced: Rc::default(),
            read_at: Rc::default(),
            derived: Rc::new(Cell::new(usize::from(settings.differentiated))),
        })
    }

    /// Checks that a temperature is set for something that uses one.
    fn check_temperature(&self, name: &Name, place: Span, faults: &mut Vec<Diagnostic>) {
        let all = &**name == "*";
        if !all && self.definition(name).is_none_or(|d| d.equations.is_empty()) {
            let what = format!("no equation defines `{name}`, so it has no temperature");
            let names = self.names.iter().filter(|n| !self.is_input(n)).map(|n| &**n);
            return add_near(faults, Diagnostic::error(place, what), name, names);
        }
        let bodies = self.functions.values().flat_map(|f| &f.body).filter(|_| all);
        let own = self.equations.iter().filter(|e| all || e.target.name == *name);
        let mut parts = own.chain(bodies).flat_map(|e| [&e.value].into_iter().chain(&e.guard));
        if !parts.any(|e| builtin::has_temperature(e, self)) {
            let who = if all { "nothing in the program".into() } else { format!("no equation of `{name}`") };
            let what = format!("{who} has a temperature");
            faults.push(Diagnostic::error(place, what).help("sig(x) without one of its own has it"));
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

    /// The graph for people: its inputs have the names of the program, and the error flags after its outputs are left out.
    pub fn named_graph(&self) -> gradus_ir::Result<Graph> {
        let b = Builder::new();
        let inputs = self.inputs.iter().zip(self.graph.input_avals());
        let ins: Vec<_> = inputs.map(|(name, aval)| b.input(name, aval)).collect();
        let outs = b.inline(&self.graph, &ins);
        b.finish(&outs[..self.outputs.len()])
    }

    /// The graph as one plan for this thread's default device, to be run more than once.
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

    /// True if some names depend on themselves and are computed in rounds.
    pub fn has_fixpoints(&self) -> bool {
        self.verdicts.iter().any(|v| v.0 == Judged::Rest)
    }

    /// Checks that fixpoints converged and numbers are valid; `verdicts` are the graph's results after the outputs.
    pub fn check(&self, verdicts: &[Tensor]) -> Result<(), Faults> {
        let failed = |e: gradus_ir::Error| self.failed(&e);
        for ((judged, name, span), verdict) in self.verdicts.iter().zip(verdicts) {
            if *judged == Judged::Rest && self.allow_unconverged {
                continue;
            }
            if let Some(fault) = Verdict::fault(*judged, name, *span, verdict).map_err(failed)? {
                return Err(self.faulty(fault));
            }
        }
        Ok(())
    }

    /// The error of a failed run. An index out of range is attributed to the call of a function of positions, if there
    /// is only one.
    fn failed(&self, e: &gradus_ir::Error) -> Faults {
        let (function, span) = match &self.by_places[..] {
            [(function, span)] => (Some(&**function), *span),
            _ => (None, Span::NOWHERE),
        };
        // Only the first line is kept: the others name locations in the implementation.
        let whole = e.to_string();
        let text = whole.lines().next().unwrap_or_default();
        let plain = in_words(text, None);
        let told = in_words(text, function);
        let span = if told == plain { Span::NOWHERE } else { span };
        self.faulty(Diagnostic::error(span, told))
    }

    fn faulty(&self, fault: Diagnostic) -> Faults {
        Faults { sources: self.sources.clone(), faults: vec![fault] }
    }
}
