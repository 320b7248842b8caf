//! `gradus check`: the program, then each of its gradients against what it must equal.
//!
//! Every name gets one more term, an input that is zero (`Y[q0, q1] = Step_Y[q0, q1]`): the derivative for that input is the
//! gradient of the name, whether it is an input, a constant or computed.

use crate::args::CheckArgs;
use crate::given::Ready;
use crate::{Done, Failure, Terminal, open, show};
use gradus::ir::transform::{jvp, vjp};
use gradus::lang::ast::{Equation, Kind, Name, Place, Projection, Ref};
use gradus::lang::{Gradient, GradientOptions, Lowered, Program, Span};
use gradus::{Aval, Compiled, DType, Generator, Tensor, compile_graph};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far forward mode and reverse mode may be apart, relative to their size: both are exact up to rounding.
const EXACT: f64 = 1e-9;

pub(crate) fn run(args: &CheckArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program(&args.file, terminal)?;
    let program = &opened.program;
    let wanted: Vec<Name> = program.outputs();
    let mut random = Random(Generator::new(args.seed));
    let mut ready = args.given.ready_in(&opened, &wanted, DType::F64)?;
    random.fill(program, &wanted, &mut ready)?;
    let equations = program.equations.len();
    // Sizes are checked by lowering.
    let avals = avals(&ready.inputs);
    program.lower(&avals, &ready.settings, &wanted)?;
    writeln!(terminal.out, "{equations} equations, {} names: no fault found", program.names.len())?;
    let Some((program, gradient)) = differentiated(program, args, &mut random, &mut ready)? else {
        writeln!(terminal.out, "nothing in it can be differentiated")?;
        return Ok(());
    };
    for warning in &gradient.warnings {
        writeln!(terminal.err, "{}", warning.render(&program.sources, terminal.colour))?;
    }
    let probe = Probe::new(&program, &gradient, ready)?;
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for name in gradient.names.keys().filter(|n| **n != gradient.loss) {
        let Some(found) = probe.errors(name, &mut random)? else { continue };
        let right = found.difference <= args.within
            && found.forward <= EXACT
            && found.graph.is_none_or(|e| e <= EXACT);
        if !right {
            wrong.push(name.to_string());
        }
        let graph = found.graph.map_or("-".to_string(), |e| format!("{e:.1e}"));
        let verdict = if right { "ok" } else { "WRONG" };
        let (d, f) = (format!("{:.1e}", found.difference), format!("{:.1e}", found.forward));
        rows.push(vec![gradient.names[name].to_string(), found.shape, d, f, graph, verdict.to_string()]);
    }
    writeln!(
        terminal.out,
        "gradients of {}, and how far they are from what they must equal:\n",
        gradient.loss
    )?;
    let heading = ["gradient", "shape", "differences", "forward mode", "graph's own", ""];
    write!(terminal.out, "{}", show::table(&heading, &rows))?;
    match wrong.is_empty() {
        true => Ok(()),
        false => {
            Err(Failure::Run(format!("gradients are wrong, or do not exist here: {}", wrong.join(", "))))
        }
    }
}

fn avals(tensors: &BTreeMap<Name, Tensor>) -> BTreeMap<Name, Aval> {
    tensors.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect()
}

struct Random(Generator);

impl Random {
    fn tensor(&mut self, shape: &[usize]) -> Tensor {
        self.0.randn(shape.to_vec()).to_dtype(DType::F64)
    }

    /// Inputs that are not given, where the sizes of all their indices are declared.
    fn fill(&mut self, program: &Program, wanted: &[Name], ready: &mut Ready) -> Done {
        let needed = program.needed(wanted);
        let numbers = program.numbers(&ready.settings.set).unwrap_or_default();
        for name in program.inputs().filter(|n| needed.contains(*n)) {
            let Some(d) = program.definition(name).filter(|_| !ready.inputs.contains_key(name)) else {
                continue;
            };
            let extents = crate::given::declared(program, &d.places, &numbers);
            if let Some(shape) = extents.into_iter().collect::<Option<Vec<usize>>>() {
                ready.inputs.insert(name.clone(), self.tensor(&shape));
            }
        }
        Ok(())
    }
}

fn reference(name: Name, rank: usize) -> Ref {
    let index = |i: usize| Place::named(&Name::from(format!("q{i}")));
    Ref { name, places: (0..rank).map(index).collect(), relation: false, span: Span::default() }
}

fn equation(target: Ref, factors: Vec<Ref>) -> Equation {
    let mut factors: Vec<_> = factors.into_iter().map(|r| Kind::Ref(r).bare()).collect();
    let value = if factors.len() == 1 { factors.remove(0) } else { Kind::Product(factors).bare() };
    Equation { target, guard: None, projection: Projection::Sum, value, local: false, span: Span::default() }
}

/// The program and its gradient. Without a loss, its outputs with random weights are one.
fn differentiated(
    program: &Program,
    args: &CheckArgs,
    random: &mut Random,
    ready: &mut Ready,
) -> Done<Option<(Program, Gradient)>> {
    let loss = args.loss.as_deref().map(Name::from);
    let options = GradientOptions { loss: loss.clone(), ..GradientOptions::default() };
    let faults = match program.gradient(&options) {
        Ok(gradient) => return Ok(Some((program.clone(), gradient))),
        Err(faults) if loss.is_some() => return Err(faults.into()),
        Err(faults) => faults,
    };
    let outputs = program.outputs();
    let values = program.run(&ready.inputs, &ready.settings, &outputs)?;
    let mut lines = Vec::new();
    for (name, value) in outputs.iter().filter_map(|n| Some((n, values.get(n)?))) {
        let Some(d) = program.definition(name).filter(|d| d.rank == value.rank()) else { continue };
        if value.dtype() != DType::F64 || d.relation {
            continue;
        }
        let weight = Name::from(format!("Weight_{name}"));
        ready.inputs.insert(weight.clone(), random.tensor(&value.shape()));
        let factors = vec![reference(name.clone(), d.rank), reference(weight, d.rank)];
        lines.push(equation(reference("Weighted".into(), 0), factors));
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let weighted = program.extended(&lines)?;
    let options = GradientOptions { loss: Some("Weighted".into()), ..options };
    match weighted.gradient(&options) {
        Ok(gradient) => Ok(Some((weighted, gradient))),
        Err(_) => Err(faults.into()),
    }
}

/// How far a gradient is from what it must equal, relative to the sizes of both.
struct Errors {
    shape: String,
    difference: f64,
    forward: f64,
    graph: Option<f64>,
}

/// The loss as a function of steps away from every name's value.
struct Probe {
    lowered: Lowered,
    loss: Compiled,
    inputs: BTreeMap<Name, Tensor>,
    gradients: BTreeMap<Name, Tensor>,
}

fn step_of(name: &Name) -> Name {
    Name::from(format!("Step_{name}"))
}

impl Probe {
    fn new(program: &Program, gradient: &Gradient, ready: Ready) -> Done<Probe> {
        let names: Vec<Name> = gradient.names.keys().cloned().collect();
        let mut wanted: Vec<Name> = gradient.names.values().cloned().collect();
        wanted.push(gradient.loss.clone());
        let gradients =
            program.extended(&gradient.equations)?.run(&ready.inputs, &ready.settings, &wanted)?;
        let mut inputs = ready.inputs;
        let mut lines = Vec::new();
        let mut own = BTreeMap::new();
        for name in names {
            let (Some(d), Some(g)) = (program.definition(&name), gradients.get(&gradient.names[&name]))
            else {
                continue;
            };
            own.insert(name.clone(), g.clone());
            // An input takes its steps itself, and so does what moves with time.
            if inputs.contains_key(&name) || d.time.is_some() || name == gradient.loss {
                continue;
            }
            inputs.insert(step_of(&name), g.zeros_like());
            lines.push(equation(reference(name.clone(), d.rank), vec![reference(step_of(&name), d.rank)]));
        }
        let stepped = program.extended(&lines)?;
        let wanted = [gradient.loss.clone()];
        let needed = stepped.needed(&wanted);
        inputs.retain(|n, _| needed.contains(n));
        let lowered = stepped.lower(&avals(&inputs), &ready.settings, &wanted)?;
        let loss = lowered.compiled()?;
        Ok(Probe { lowered, loss, inputs, gradients: own })
    }

    fn at(&self, name: &Name, moved: Tensor) -> Done<f64> {
        let mut inputs = self.inputs.clone();
        inputs.insert(name.clone(), moved);
        let ins: Vec<&Tensor> = self.lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let outs = self.loss.run(&ins)?;
        Ok(outs.first().map_or(Ok(f64::NAN), |t| t.item::<f64>())?)
    }

    fn errors(&self, name: &Name, random: &mut Random) -> Done<Option<Errors>> {
        let Some(g) = self.gradients.get(name) else { return Ok(None) };
        let step = if self.inputs.contains_key(&step_of(name)) { step_of(name) } else { name.clone() };
        let Some(x) = self.inputs.get(&step).filter(|x| x.dtype() == DType::F64 && x.shape() == g.shape())
        else {
            return Ok(None);
        };
        let direction = random.tensor(&x.shape());
        let slope = (g * &direction).sum(()).item::<f64>()?;
        // Relative to the terms that were added up, not to what is left of them.
        let size = (g * &direction).abs().sum(()).item::<f64>()?.max(1e-3);
        let h = 1e-5;
        let (up, down) = (self.at(&step, x + &(&direction * h))?, self.at(&step, x - &(&direction * h))?);
        let difference = ((up - down) / (2.0 * h) - slope).abs() / size;
        let at = self.lowered.inputs.iter().position(|n| *n == step).unwrap_or_default();
        let forward = (self.forward(at, &direction)? - slope).abs() / size;
        let graph = self.graph(at, g)?;
        let shape: Vec<String> = g.shape().iter().map(usize::to_string).collect();
        Ok(Some(Errors { shape: shape.join("×"), difference, forward, graph }))
    }

    fn ins(&self) -> Vec<&Tensor> {
        self.lowered.inputs.iter().filter_map(|n| self.inputs.get(n)).collect()
    }

    /// The derivative along a direction, by forward mode.
    fn forward(&self, at: usize, direction: &Tensor) -> Done<f64> {
        let plan = compile_graph(&Arc::new(jvp(&self.lowered.graph, &[at])?))?;
        let outs = plan.run(&[self.ins(), vec![direction]].concat())?;
        let tangent = outs.get(self.lowered.graph.outputs().len());
        Ok(tangent.map_or(Ok(f64::NAN), |t| t.item::<f64>())?)
    }

    /// How far the gradient is from the graph's own; a loop that ends when it ends has none to compare with.
    fn graph(&self, at: usize, g: &Tensor) -> Done<Option<f64>> {
        let graph = &self.lowered.graph;
        let Ok(pulled) = vjp(graph, &[at]) else { return Ok(None) };
        let plan = compile_graph(&Arc::new(pulled))?;
        let one = Tensor::from_slice(&[1.0f64], []);
        let zeros: Vec<Tensor> = graph.output_avals().iter().skip(1).map(|a| Tensor::zeros_of(a)).collect();
        let cotangents = [&one].into_iter().chain(&zeros);
        let outs = plan.run(&self.ins().into_iter().chain(cotangents).collect::<Vec<_>>())?;
        let Some(own) = outs.first() else { return Ok(None) };
        let far = (g - own).abs().max(()).item::<f64>()?;
        let size = own.abs().max(()).item::<f64>()?;
        Ok(Some(far / size.max(1e-3)))
    }
}
