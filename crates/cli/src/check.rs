//! `gradus check`: the program, then each of its gradients against what it must equal.
//!
//! Every name gets one more term, an input that is zero (`Y[q0, q1] = Step_Y[q0, q1]`): the derivative for that input is the
//! gradient of the name, whether it is an input, a constant or computed.

use crate::args::CheckArgs;
use crate::given::Ready;
use crate::{Done, Failure, Terminal, open, show};
use gradus::ir::transform::{jvp, vjp};
use gradus::lang::ast::{Equation, Index, Kind, Name, Place, Projection, Ref};
use gradus::lang::{Gradient, GradientOptions, Lowered, Program, Settings, Span};
use gradus::{Aval, Compiled, DType, Generator, Tensor, compile_graph};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far forward mode and reverse mode may be apart, relative to their size: both are exact up to rounding.
const EXACT: f64 = 1e-9;
/// How near to rest fixpoints are brought.
const AT_REST: f64 = 1e-14;
/// At so many places of a tensor at most edges are looked for one by one.
const PLACES: usize = 64;
/// How long the steps of differences are at first.
const STEP: f64 = 1e-5;
/// How many times steps are made shorter, eight times each, where longer ones do not agree.
const SHORTER: i32 = 12;
/// How far slopes back and ahead may be apart, relative to the gradient, before that is looked into.
const APART: f64 = 1e-3;

pub(crate) fn run(args: &CheckArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program(&args.file, terminal)?;
    let program = &opened.program;
    let wanted: Vec<Name> = program.outputs();
    let mut random = Random(Generator::new(args.seed));
    let mut ready = args.given.ready_in(&opened, &wanted, DType::F64)?;
    random.fill(program, &wanted, &mut ready)?;
    let equations = program.equations.len();
    // Differences of what is not quite at rest are off by a lot.
    ready.settings.tolerance.get_or_insert(AT_REST);
    // What is wrong with the program itself is not to be blamed on its gradient.
    program.run(&ready.inputs, &ready.settings, &wanted)?;
    writeln!(terminal.out, "{equations} equations, {} names: no fault found", program.names.len())?;
    if let Some((name, _)) = ready.inputs.iter().find(|(_, t)| t.dtype().is_complex()) {
        let why = "gradients take inputs for real numbers: give its parts, and write complex(x, y)";
        return Err(Failure::Run(format!("`{name}` is complex, and {why}")));
    }
    let Some((program, gradient)) = differentiated(program, args, &mut random, &mut ready)? else {
        writeln!(terminal.out, "nothing in it can be differentiated")?;
        return Ok(());
    };
    open::warn(&program, &gradient.warnings, terminal);
    let probe = Probe::new(&program, &gradient, ready)?;
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    // The rounds of a fixpoint come as near to its derivative as they come to rest.
    let exact = if probe.lowered.has_fixpoints() { args.within } else { EXACT };
    for part in &probe.parts {
        let found = probe.errors(part, args.within, &mut random)?;
        // Where there is no derivative, the others have no say; beside that, differences have.
        let edges = found.edges > 0;
        let right = found.difference.is_none_or(|e| e <= args.within)
            && (edges || found.forward.is_none_or(|e| e <= exact))
            && (edges || found.graph.is_none_or(|e| e <= EXACT));
        if !right && !wrong.contains(&part.name.to_string()) {
            wrong.push(part.name.to_string());
        }
        let shown = |e: Option<f64>| e.map_or("-".to_string(), |e| format!("{e:.1e}"));
        let verdict = match (right, probe.holds.as_ref()) {
            (false, _) => "WRONG".to_string(),
            (true, _) if found.edges == part.gradient.numel() => "not differentiable here".to_string(),
            (true, _) if edges => {
                format!("ok; {} of {} not differentiable here", found.edges, part.gradient.numel())
            }
            (true, Some(f)) => format!("ok; differences would move what `{f}` holds constant"),
            (true, None) => "ok".to_string(),
        };
        let shape: Vec<String> = part.gradient.shape().iter().map(usize::to_string).collect();
        let errors = [found.difference, found.forward, found.graph].map(shown);
        rows.push([vec![part.label.clone(), shape.join("×")], errors.to_vec(), vec![verdict]].concat());
    }
    for (name, why) in &probe.skipped {
        let dashes = vec!["-".to_string(); 3];
        rows.push([vec![name.clone(), String::new()], dashes, vec![format!("skipped: {why}")]].concat());
    }
    writeln!(
        terminal.out,
        "gradients of {}, and how far they are from what they must equal:\n",
        gradient.loss
    )?;
    let heading = ["gradient", "shape", "differences", "forward mode", "graph's own", ""];
    write!(terminal.out, "{}", show::table(&heading, &rows))?;
    if probe.lowered.has_fixpoints() {
        let why = "a graph of rounds has no reverse mode of its own to compare with; forward mode goes through the rounds";
        writeln!(terminal.out, "\nfixpoints: {why}")?;
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!("gradients are wrong: {}", wrong.join(", ")))),
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

    /// Along all numbers of a tensor, both parts of complex ones.
    fn direction(&mut self, of: &Tensor) -> Tensor {
        let real = self.tensor(&of.shape());
        if of.dtype().is_complex() { real.complex(&self.tensor(&of.shape())) } else { real }
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

/// A tensor at these indices.
fn at(name: &str, places: &[Index]) -> Ref {
    let place = |index: &Index| Place { index: index.clone(), dotted: false, span: Span::default() };
    Ref {
        name: name.into(),
        places: places.iter().map(place).collect(),
        relation: false,
        span: Span::default(),
    }
}

/// Indices that nobody else has.
fn indices(rank: usize) -> Vec<Index> {
    (0..rank).map(|i| Index::Named(format!("q{i}").into(), 0)).collect()
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
        Err(faults) if loss.is_some() => {
            return Err(crate::pointed(faults, args.given.command.as_ref(), &["--loss"]).into());
        }
        Err(faults) => faults,
    };
    let outputs = program.outputs();
    let values = program.run(&ready.inputs, &ready.settings, &outputs)?;
    let mut lines = Vec::new();
    for (name, value) in outputs.iter().filter_map(|n| Some((n, values.get(n)?))) {
        let Some(d) = program.definition(name) else { continue };
        if value.dtype() != DType::F64 || d.relation {
            continue;
        }
        // Of a state, its last moment is given.
        let mut places = indices(value.rank());
        if let Some(axis) = d.time.filter(|_| value.rank() < d.rank) {
            places.insert(axis, Index::Moment(-1));
        }
        let weight = Name::from(format!("Weight_{name}"));
        ready.inputs.insert(weight.clone(), random.tensor(&value.shape()));
        let factors = vec![at(name, &places), at(&weight, &indices(value.rank()))];
        lines.push(equation(at("Weighted", &[]), factors));
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
    /// None where something is held constant that differences would move.
    difference: Option<f64>,
    /// None where forward mode gives no number.
    forward: Option<f64>,
    /// None where the graph has none, or no number.
    graph: Option<f64>,
    /// At how many places the loss has no derivative.
    edges: usize,
}

/// The slopes of the loss along a direction, by steps back and ahead.
#[derive(Clone, Copy)]
struct Slopes {
    back: f64,
    ahead: f64,
    /// What rounding can make of them.
    rounding: f64,
}

impl Slopes {
    fn central(self) -> f64 {
        (self.back + self.ahead) / 2.0
    }

    fn gap(self) -> f64 {
        (self.ahead - self.back).abs()
    }

    /// Whether slopes back and ahead stay apart by shorter steps.
    fn splits(self, shorter: Slopes) -> bool {
        shorter.gap() > 0.5 * self.gap() && shorter.gap() > 4.0 * shorter.rounding
    }

    /// How far a slope is from these.
    fn error(self, slope: f64) -> f64 {
        let far = (self.central() - slope).abs();
        if far <= self.rounding { 0.0 } else { far - self.rounding }
    }

    /// Whether there is no derivative: shorter steps give slopes that are as far apart, or steeper without end, or none
    /// at all. A slope that lies beyond both is wrong nevertheless, unless both modes agree on it: edges that work against
    /// each other may each have theirs.
    fn kinked(self, shorter: Slopes, slope: f64, agreed: bool) -> bool {
        if !self.gap().is_finite() || !shorter.gap().is_finite() {
            return true;
        }
        let spare = shorter.rounding + 1e-3 * shorter.gap();
        let between = (shorter.back.min(shorter.ahead) - spare..=shorter.back.max(shorter.ahead) + spare)
            .contains(&slope);
        let apart = shorter.gap() > 0.5 * self.gap() && shorter.gap() > shorter.rounding;
        // Across a jump slopes grow as steps shrink; two jumps may look the same from both sides.
        let jumps =
            |long: f64, short: f64| short.abs() > 6.0 * long.abs() && short.abs() > 4.0 * shorter.rounding;
        if jumps(self.back, shorter.back) || jumps(self.ahead, shorter.ahead) {
            return true;
        }
        let endless = shorter.central().abs() > 1.5 * self.central().abs();
        apart && (between || agreed || !slope.is_finite()) || endless && !slope.is_finite()
    }
}

/// Where numbers go of which each is nearer by the same factor than the one before; none where they come no nearer.
fn settling([a, b, c]: [f64; 3]) -> f64 {
    let shrinks = (c - b).abs() < 0.9 * (b - a).abs();
    if shrinks { c - (c - b) * (c - b) / ((c - b) - (b - a)) } else { f64::NAN }
}

/// A gradient, or the part of one that belongs to one term of a name that moves with time.
struct Part {
    name: Name,
    label: String,
    gradient: Tensor,
    /// The input that takes the steps.
    step: Name,
}

/// The loss as a function of steps away from every name's value.
struct Probe {
    lowered: Lowered,
    loss: Compiled,
    inputs: BTreeMap<Name, Tensor>,
    parts: Vec<Part>,
    skipped: Vec<(String, String)>,
    /// A function of the program's own that holds something constant.
    holds: Option<Name>,
}

/// A name whose gradient is looked at: by an input of its own, or by one more term.
struct Sought {
    name: Name,
    label: String,
    /// What gives this part of the gradient, time laid out behind the other indices.
    part: Equation,
    /// Whether it is the first moment only.
    first: bool,
    step: Name,
    /// The term that takes the steps, unless the name is an input.
    term: Option<Equation>,
}

impl Probe {
    fn new(program: &Program, gradient: &Gradient, ready: Ready) -> Done<Probe> {
        let names = gradient.names.iter().filter(|(n, _)| **n != gradient.loss);
        let sought: Vec<Sought> = names.flat_map(|(n, g)| sought(program, n, g, &ready)).collect();
        let mut lines = gradient.equations.clone();
        lines.extend(sought.iter().map(|s| s.part.clone()));
        let wanted: Vec<Name> = sought.iter().map(|s| s.part.target.name.clone()).collect();
        let gradients = program.extended(&lines)?.run(&ready.inputs, &ready.settings, &wanted)?;
        let mut inputs = ready.inputs;
        // What is held constant stays what it is, wherever the steps lead.
        let (open, held) = program.held();
        let names: Vec<Name> = held.iter().map(|e| e.target.name.clone()).collect();
        let values = program.extended(&held)?.run(&inputs, &ready.settings, &names)?;
        let (mut parts, mut skipped, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for s in sought {
            let Some(g) = gradients.get(&s.part.target.name) else { continue };
            let gradient = if s.first { g.narrow(-1, 0, 1).squeeze([-1]) } else { g.clone() };
            match (s.term, inputs.get(&s.step)) {
                (Some(term), _) => {
                    inputs.insert(s.step.clone(), gradient.zeros_like());
                    terms.push(term);
                }
                (None, Some(x)) if x.dtype() != DType::F64 => {
                    skipped.push((s.label, format!("`{}` has no real numbers", s.name)));
                    continue;
                }
                (None, Some(x)) if x.shape() != gradient.shape() => {
                    let why =
                        format!("`{}` has shape {}, its gradient {}", s.name, x.shape(), gradient.shape());
                    skipped.push((s.label, why));
                    continue;
                }
                _ => {}
            }
            parts.push(Part { name: s.name, label: s.label, gradient, step: s.step });
        }
        inputs.extend(values);
        let stepped = open.extended(&terms)?;
        let wanted = [gradient.loss.clone()];
        let needed = stepped.needed(&wanted);
        inputs.retain(|n, _| needed.contains(n));
        let reached = |p: &Part| inputs.contains_key(&p.step);
        let unreached = parts.iter().filter(|p| !reached(p));
        skipped.extend(unreached.map(|p| (p.label.clone(), "the loss does not need it".to_string())));
        parts.retain(reached);
        let settings = Settings { differentiated: true, ..ready.settings };
        let lowered = stepped.lower(&avals(&inputs), &settings, &wanted)?;
        let loss = lowered.compiled()?;
        Ok(Probe { lowered, loss, inputs, parts, skipped, holds: program.holds_inside().cloned() })
    }

    fn at(&self, name: &Name, moved: Tensor) -> Done<f64> {
        let mut inputs = self.inputs.clone();
        inputs.insert(name.clone(), moved);
        let ins: Vec<&Tensor> = self.lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let outs = self.loss.run(&ins)?;
        // What is not at rest there, in its derivatives neither, is no value to take differences of.
        match outs.split_first() {
            Some((loss, verdicts)) if self.lowered.check(verdicts).is_ok() => Ok(loss.item::<f64>()?),
            _ => Ok(f64::NAN),
        }
    }

    fn errors(&self, part: &Part, within: f64, random: &mut Random) -> Done<Errors> {
        let (g, x) = (&part.gradient, &self.inputs[&part.step]);
        let direction = random.direction(x);
        let along = (g.conj() * &direction).real();
        let slope = along.sum(()).item::<f64>()?;
        // Relative to the terms that were added up, not to what is left of them.
        let size = along.abs().sum(()).item::<f64>()?.max(1e-3);
        let at = self.lowered.inputs.iter().position(|n| *n == part.step).unwrap_or_default();
        // Reverse mode would keep all rounds that a fixpoint may take.
        let graph = if self.lowered.has_fixpoints() { None } else { self.graph(at, g)? };
        let graph = graph.filter(|e| e.is_finite());
        // Where a function is infinitely steep at a place that does not move, modes give 0 · ∞.
        let forward = Some(self.forward(at, &direction)?);
        let forward = forward.filter(|f| f.is_finite()).map(|f| (f - slope).abs() / size);
        let agreed = forward.is_some_and(|e| e <= EXACT) && graph.is_none_or(|e| e <= EXACT);
        let mut found = Errors { difference: None, forward, graph, edges: 0 };
        if self.holds.is_some() {
            return Ok(found);
        }
        let (error, kinked) = self.difference(part, &direction, slope, size, within, agreed)?;
        found.difference = Some(error);
        if !kinked {
            return Ok(found);
        }
        // An edge excuses only the places that have it.
        let n = x.numel();
        let parts = if x.dtype().is_complex() { &[1.0, 0.0][..] } else { &[1.0] };
        let [re, im] = [g.real(), g.imag()].map(|t| t.reshape([-1]).to_vec::<f64>());
        let (re, im) = (re?, im?);
        let (mut worst, mut smooth) = (0f64, 0);
        for k in (0..n).step_by(n.div_ceil(PLACES).max(1)) {
            let mut edge = false;
            for by in parts {
                let unit = |by: f64| {
                    let mut one = vec![0.0; n];
                    one[k] = by;
                    Tensor::from_slice(&one, x.shape())
                };
                let direction = if parts.len() > 1 { unit(*by).complex(&unit(1.0 - by)) } else { unit(*by) };
                let slope = if *by == 1.0 { re[k] } else { im[k] };
                let (error, kinked) = self.difference(part, &direction, slope, size, within, agreed)?;
                edge |= kinked;
                worst = if kinked { worst } else { worst.max(error) };
            }
            smooth += usize::from(!edge);
        }
        // Places that are smooth one by one may have an edge between them.
        found.edges = if n <= PLACES { (n - smooth).max(1) } else { n };
        found.difference = Some(worst).filter(|_| smooth > 0);
        Ok(found)
    }

    /// How far a slope is from differences along a direction, and whether there is no derivative.
    fn difference(
        &self,
        part: &Part,
        direction: &Tensor,
        slope: f64,
        size: f64,
        within: f64,
        agreed: bool,
    ) -> Done<(f64, bool)> {
        let x = &self.inputs[&part.step];
        let (mut all, mut least) = (Vec::<Slopes>::new(), f64::INFINITY);
        for k in 0..SHORTER {
            let short = self.slopes(&part.step, x, direction, STEP / 8f64.powi(k))?;
            let telling = short.rounding <= within * size;
            if k > 1 && !telling {
                break;
            }
            // Of steps that agree by chance, others do not come nearer to each other as they shrink.
            if let Some(long) = all.last().filter(|_| least <= within) {
                return Ok((least, long.splits(short)));
            }
            let error = short.error(slope) / size;
            least = if error.is_nan() { least } else { least.min(error) };
            all.push(short);
            if error <= within && short.gap() <= APART * size {
                return Ok((error, false));
            }
        }
        // What grows like a power that is not whole comes near to its slope slowly, but surely.
        if let [.., a, b, c] = &all[..]
            && let far = (settling([*a, *b, *c].map(Slopes::central)) - slope).abs() / size
            && far <= within
        {
            return Ok((far, false));
        }
        let error = all.last().map_or(f64::NAN, |s| s.error(slope) / size);
        let kinked = matches!(&all[..], [.., long, short] if long.kinked(*short, slope, agreed));
        Ok((if least.is_finite() { least } else { error }, kinked))
    }

    /// Slopes by steps of this length.
    fn slopes(&self, name: &Name, x: &Tensor, direction: &Tensor, step: f64) -> Done<Slopes> {
        let at = |by: f64| self.at(name, x + &(direction * by));
        let (here, back, ahead) = (self.at(name, x.clone())?, at(-step)?, at(step)?);
        let noise = if self.lowered.has_fixpoints() { AT_REST } else { f64::EPSILON };
        let size = here.abs().max(back.abs()).max(ahead.abs());
        let rounding = if size.is_finite() { 8.0 * noise * size / step } else { 0.0 };
        Ok(Slopes { back: (here - back) / step, ahead: (ahead - here) / step, rounding })
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

/// What of a name's gradient is looked at. A name that moves with time takes steps at every moment that its equations
/// write: `H[i,*t+1] = Step[i,t]`, `H[i,*0] = Step[i]`.
fn sought(program: &Program, name: &Name, gradient: &Name, ready: &Ready) -> Vec<Sought> {
    let Some(d) = program.definition(name) else { return Vec::new() };
    let own = indices(d.rank);
    let (part, step) =
        (|k: usize| format!("Part_{k}_{name}"), |k: usize| Name::from(format!("Step_{k}_{name}")));
    let whole = equation(at(&part(0), &own), vec![at(gradient, &own)]);
    let plain = |step: Name, term: Option<Equation>| {
        let (name, label) = (name.clone(), gradient.to_string());
        vec![Sought { name, label, part: whole.clone(), first: false, step, term }]
    };
    let is_input = ready.inputs.contains_key(name);
    let Some(axis) = d.time.filter(|_| !is_input || program.is_state(name)) else {
        let term = equation(at(name, &own), vec![at(&step(0), &own)]);
        return if is_input { plain(name.clone(), None) } else { plain(step(0), Some(term)) };
    };
    let targets = d.equations.iter().map(|i| &program.equations[*i].target.places[axis].index);
    let mut written: Vec<Index> = Vec::new();
    for index in targets.chain(is_input.then_some(&Index::Moment(0))) {
        if !written.contains(index) && !matches!(index, Index::Moment(..0)) {
            written.push(index.clone());
        }
    }
    let time = written.iter().find_map(|i| if let Index::Time(t, _) = i { Some(t.clone()) } else { None });
    let time = time.unwrap_or_else(|| "t".into());
    let others: Vec<Index> = (0..d.rank).filter(|i| *i != axis).map(|i| own[i].clone()).collect();
    let laid_out = [&others[..], &[Index::Named(time.clone(), 0)]].concat();
    let with = |index: Index| {
        let mut places = own.clone();
        places[axis] = index;
        places
    };
    let one = |(k, index): (usize, Index)| {
        let (by, first) = match index {
            Index::Time(_, by) => (by, false),
            Index::Moment(m) => (m, true),
            _ => (0, false),
        };
        let read = at(gradient, &with(Index::Time(time.clone(), by)));
        let given = is_input && first;
        let steps = if first { &others } else { &laid_out };
        let term = equation(at(name, &with(index.clone())), vec![at(&step(k), steps)]);
        Sought {
            name: name.clone(),
            label: format!("{gradient} at {index}"),
            part: equation(at(&part(k), &laid_out), vec![read]),
            first,
            step: if given { name.clone() } else { step(k) },
            term: (!given).then_some(term),
        }
    };
    written.into_iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Slopes, settling};

    fn slopes(f: impl Fn(f64) -> f64, step: f64) -> Slopes {
        Slopes { back: (f(0.0) - f(-step)) / step, ahead: (f(step) - f(0.0)) / step, rounding: 1e-14 / step }
    }

    /// An edge is no excuse for every gradient, and a curve for none.
    #[test]
    fn edges_and_faults() {
        let kinked =
            |f: fn(f64) -> f64, slope: f64| slopes(f, 1e-5).kinked(slopes(f, 1e-5 / 8.0), slope, false);
        assert!(kinked(f64::abs, 0.0) && kinked(f64::abs, 1.0) && kinked(f64::abs, -1.0));
        assert!(!kinked(f64::abs, 1.5) && !kinked(f64::abs, -2.0));
        assert!(kinked(f64::sqrt, f64::INFINITY) && kinked(f64::cbrt, f64::INFINITY));
        let stairs = |x: f64| f64::from(x > 0.0) - f64::from(x < 0.0);
        assert!(kinked(stairs, 0.0) && kinked(|x| f64::from(x == 0.0), 0.0));
        assert!(kinked(|x| x.abs().sqrt(), f64::NAN) && kinked(|x| f64::from(x > 0.0), 0.0));
        for slope in [0.0, 0.9, 1.001, 2.0, f64::NAN, f64::INFINITY] {
            assert!(!kinked(f64::exp, slope) && !kinked(|x| 1e3 * (x + x * x), slope), "{slope}");
        }
        assert!(slopes(f64::exp, 1e-5).error(1.0) < 1e-9 && slopes(f64::exp, 1e-5).error(1.1) > 0.09);
        assert!(slopes(f64::exp, 1e-5).error(f64::NAN).is_nan());
        let splits = |f: fn(f64) -> f64| slopes(f, 1e-5).splits(slopes(f, 1e-5 / 8.0));
        assert!(splits(f64::abs) && splits(|x| x.max(0.0)) && !splits(f64::exp) && !splits(|x| x * x.abs()));
        assert!(settling([1.0, 2.0, 4.0]).is_nan() && settling([1.0, 2.0, 3.0]).is_nan());
        assert_eq!([settling([5.0, 3.0, 2.0]), settling([9.0, 5.0, 3.0])], [1.0, 1.0]);
    }
}
