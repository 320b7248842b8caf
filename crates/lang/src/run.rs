//! Running programs: options, inputs, and the graph that everything is lowered to.

use crate::ast::Name;
use crate::diagnostic::Diagnostic;
use crate::eval::{Value, Values};
use crate::program::{Faults, Program, number};
use crate::solve::{Solver, Verdict};
use crate::source::Span;
use gradus_ir::{Aval, DType, Graph};
use gradus_tensor::{Compiled, Tensor, compile_graph};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// How a program runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The dtype of its numbers.
    pub float: DType,
    /// Parameters given from outside.
    pub set: HashMap<Name, f64>,
    /// Steps of virtual time; without, as many as the inputs have.
    pub steps: Option<usize>,
    /// Temperatures by the name on the left, `*` for all.
    pub temperatures: HashMap<Name, f64>,
    /// How far numbers may still move when a fixpoint counts as reached, relative to their size; without, that of
    /// the dtype.
    pub tolerance: Option<f64>,
    /// How many rounds a fixpoint may take.
    pub rounds: usize,
    /// Whether a fixpoint that is not reached is no error.
    pub allow_unconverged: bool,
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
        }
    }
}

/// The settings with everything worked out.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) float: DType,
    pub(crate) numbers: HashMap<Name, f64>,
    pub(crate) axes: HashMap<Name, (usize, Span)>,
    pub(crate) steps: usize,
    pub(crate) temperatures: HashMap<Name, f64>,
    pub(crate) tolerance: f64,
    pub(crate) rounds: usize,
    /// Calls of the program's own functions so far.
    pub(crate) calls: Arc<AtomicUsize>,
}

/// A program lowered to one graph: from its inputs to the values of names.
pub struct Lowered {
    /// The inputs, in order.
    pub inputs: Vec<Name>,
    /// The names whose values are given, in order.
    pub outputs: Vec<Name>,
    /// The graph; behind the outputs come how far fixpoints were from being reached.
    pub graph: Arc<Graph>,
    verdicts: Vec<(Name, Span)>,
    allow_unconverged: bool,
    tolerance: f64,
    sources: Vec<crate::source::Source>,
}

impl Program {
    /// The graph of a program for inputs of these types.
    pub fn lower(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        wanted: &[Name],
    ) -> Result<Lowered, Faults> {
        let faulty = |faults: Vec<Diagnostic>| Faults { sources: self.sources.clone(), faults };
        let options = self.options(inputs, settings).map_err(faulty)?;
        self.check_inputs(inputs, wanted).map_err(faulty)?;
        let names: Vec<Name> = inputs.keys().cloned().collect();
        let avals: Vec<Aval> = inputs.values().cloned().collect();
        let mut found: (Vec<Diagnostic>, Vec<Name>, Vec<Verdict>) = Default::default();
        let traced = gradus_tensor::trace_function(&avals, |nodes: &[Tensor]| {
            let mut values: Values = HashMap::new();
            for (name, node) in names.iter().zip(nodes) {
                values.insert(name.clone(), Some(Value::new(node.clone())));
            }
            let mut solver = Solver::new(self, &options, &self.equations, values, Vec::new());
            solver.only(wanted);
            solver.solve();
            let mut outputs = Vec::new();
            for name in wanted {
                if let Some(Some(value)) = solver.values.get(name) {
                    found.1.push(name.clone());
                    outputs.push(self.shown(name, value));
                }
            }
            outputs.extend(solver.verdicts.iter().map(|v| v.moved.clone()));
            (found.0, found.2) = (solver.faults, solver.verdicts);
            outputs
        });
        let (faults, outputs, verdicts) = found;
        if !faults.is_empty() {
            return Err(faulty(faults));
        }
        if let Some(name) = wanted.iter().find(|n| !outputs.contains(n)) {
            let at = self.definition(name).map(|d| d.span).unwrap_or_default();
            return Err(faulty(vec![Diagnostic::error(at, format!("`{name}` has no value"))]));
        }
        let whole = Span::default();
        let traced = traced.map_err(|e| faulty(vec![Diagnostic::error(whole, e.to_string())]))?;
        Ok(Lowered {
            inputs: names,
            outputs,
            graph: traced.graph,
            verdicts: verdicts.into_iter().map(|v| (v.name, v.span)).collect(),
            allow_unconverged: settings.allow_unconverged,
            tolerance: options.tolerance,
            sources: self.sources.clone(),
        })
    }

    /// Runs a program: the values of these names.
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

    /// What is shown of a name: of a state, which is written ahead of its time, its last moment.
    fn shown(&self, name: &Name, value: &Value) -> Tensor {
        let moving = |e: &&crate::ast::Equation| {
            e.target.name == *name
                && e.target.places.iter().any(|p| matches!(p.index, crate::ast::Index::Time(_, 1..)))
        };
        match self.definition(name).and_then(|d| d.time) {
            Some(axis) if self.equations.iter().any(|e| moving(&e)) => {
                let last = value.tensor.dim(axis as isize).saturating_sub(1);
                value.tensor.narrow(axis as isize, last, 1).squeeze([axis as isize])
            }
            _ => value.tensor.clone(),
        }
    }

    fn options(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
    ) -> Result<Options, Vec<Diagnostic>> {
        for (name, x) in &settings.set {
            let whole = Span::default();
            let known = self.params.iter().find(|(n, _)| n == name);
            match known {
                None => {
                    let names = self.params.iter().map(|(n, _)| &**n);
                    let what = format!("there is no parameter `{name}` to set to {x}");
                    return Err(vec![Diagnostic::error(whole, what).nearest(name, names)]);
                }
                Some((_, p)) if p.fixed => {
                    return Err(vec![Diagnostic::error(
                        p.span,
                        format!("`{name}` is a constant and cannot be set"),
                    )]);
                }
                Some(_) => {}
            }
        }
        let numbers = self.numbers(&settings.set).map_err(|d| vec![d])?;
        let mut axes = HashMap::new();
        for (name, (size, span)) in &self.axes {
            let n = number(size, &numbers).map_err(|d| vec![d])?;
            axes.insert(name.clone(), (n as usize, *span));
        }
        let tolerance = settings.tolerance.unwrap_or(if settings.float == DType::F64 { 1e-12 } else { 1e-6 });
        Ok(Options {
            float: settings.float,
            steps: self.steps(inputs, settings, &axes)?,
            numbers,
            axes,
            temperatures: settings.temperatures.clone(),
            tolerance,
            rounds: settings.rounds,
            calls: Arc::default(),
        })
    }

    /// How many steps virtual time has: as many as asked for, else as inputs have, else as declared, else one.
    fn steps(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        axes: &HashMap<Name, (usize, Span)>,
    ) -> Result<usize, Vec<Diagnostic>> {
        let mut found: Option<(usize, &Name)> = None;
        for (name, aval) in inputs {
            let Some(d) = self.definition(name).filter(|d| d.equations.is_empty()) else { continue };
            let Some(n) = d.time.and_then(|axis| aval.shape.get(axis).copied()) else { continue };
            match found {
                Some((before, other)) if before != n && settings.steps.is_none() => {
                    let what = format!("`{name}` has {n} moments, but `{other}` has {before}");
                    return Err(vec![Diagnostic::error(d.span, what)]);
                }
                _ => found = Some((n, name)),
            }
        }
        let times = self.equations.iter().flat_map(|e| e.reads().into_iter().chain([&e.target]));
        let declared = times.flat_map(|r| &r.places).find_map(|p| match &p.index {
            crate::ast::Index::Time(name, _) => axes.get(name).map(|a| a.0),
            _ => None,
        });
        Ok(settings.steps.or(declared).or(found.map(|f| f.0)).unwrap_or(1))
    }

    /// Every input that is needed is given, nothing else is, and it has as many axes as indices.
    fn check_inputs(&self, inputs: &BTreeMap<Name, Aval>, wanted: &[Name]) -> Result<(), Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let needed = self.needed(wanted);
        for name in self.inputs().filter(|n| needed.contains(*n) && !inputs.contains_key(*n)) {
            let Some(d) = self.definition(name) else { continue };
            let what = format!("`{name}` has no equation, so it is an input, and none was given");
            let others = self.names.iter().filter(|n| *n != name).map(|n| &**n);
            let fault = Diagnostic::error(d.span, what);
            let give = format!("give it (--input {name}=FILE), or define it");
            faults.push(fault.help(give).nearest(name, others));
        }
        for (name, aval) in inputs {
            let Some(d) = self.definition(name) else {
                let what = format!("nothing reads the input `{name}`");
                let fault = Diagnostic::error(Span::default(), what);
                faults.push(fault.nearest(name, self.inputs().map(|n| &**n)));
                continue;
            };
            let source = |i: &usize| matches!(self.equations[*i].value.kind, crate::ast::Kind::Text(_));
            if !d.equations.is_empty() && d.time.is_none() && !d.equations.iter().all(source) {
                let what = format!("`{name}` has an equation and cannot be given as an input");
                faults.push(Diagnostic::error(d.span, what));
            }
            let expected = d.rank - usize::from(d.time.is_some() && !d.equations.is_empty());
            if aval.shape.rank() != expected {
                let what =
                    format!("the input `{name}` has shape {}, but {expected} indices here", aval.shape);
                faults.push(Diagnostic::error(d.span, what));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// The names that these need, themselves included.
    pub fn needed(&self, wanted: &[Name]) -> HashSet<Name> {
        let mut needed: HashSet<Name> = HashSet::new();
        let mut work: Vec<Name> = wanted.to_vec();
        while let Some(name) = work.pop() {
            if !needed.insert(name.clone()) {
                continue;
            }
            for i in self.definition(&name).iter().flat_map(|d| &d.equations) {
                work.extend(self.equations[*i].reads().iter().map(|r| r.name.clone()));
            }
        }
        needed
    }
}

impl Lowered {
    /// Runs the graph.
    pub fn run(&self, inputs: &BTreeMap<Name, Tensor>) -> Result<BTreeMap<Name, Tensor>, Faults> {
        let failed = |e: gradus_ir::Error| self.faulty(Diagnostic::error(Span::default(), e.to_string()));
        let compiled = self.compiled().map_err(failed)?;
        self.run_with(&compiled, inputs)
    }

    /// The graph as one plan, to be run more than once.
    pub fn compiled(&self) -> gradus_ir::Result<Compiled> {
        compile_graph(&self.graph)
    }

    /// Runs the plan of the graph.
    pub fn run_with(
        &self,
        compiled: &Compiled,
        inputs: &BTreeMap<Name, Tensor>,
    ) -> Result<BTreeMap<Name, Tensor>, Faults> {
        let given: Vec<&Tensor> = self.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let failed = |e: gradus_ir::Error| self.faulty(Diagnostic::error(Span::default(), e.to_string()));
        let mut outs = compiled.run(&given).map_err(failed)?;
        let moved = outs.split_off(self.outputs.len().min(outs.len()));
        self.check(&moved)?;
        Ok(self.outputs.iter().cloned().zip(outs).collect())
    }

    /// Whether fixpoints were reached: `moved` is what the graph gives behind the outputs.
    pub fn check(&self, moved: &[Tensor]) -> Result<(), Faults> {
        let failed = |e: gradus_ir::Error| self.faulty(Diagnostic::error(Span::default(), e.to_string()));
        for ((name, span), moved) in self.verdicts.iter().zip(moved) {
            let moved = moved.to_dtype(DType::F64).item::<f64>().map_err(failed)?;
            // NaN never comes to rest.
            if (moved > 1.0 || moved.is_nan()) && !self.allow_unconverged {
                let how = match moved.is_finite() {
                    true => format!("in the last round it moved by {:.1e}", moved * self.tolerance),
                    false => "its numbers grew beyond bounds".to_string(),
                };
                let what = format!("`{name}` did not come to rest: {how}");
                return Err(self.faulty(
                    Diagnostic::error(*span, what)
                        .here("needs itself")
                        .help("allow more rounds, a larger tolerance, or values that did not come to rest"),
                ));
            }
        }
        Ok(())
    }

    fn faulty(&self, fault: Diagnostic) -> Faults {
        Faults { sources: self.sources.clone(), faults: vec![fault] }
    }
}
