//! The loss as a function of steps, and each gradient beside what it must equal.

use super::slopes::{Slopes, settling};
use super::{Random, Sought, avals, sought};
use crate::Done;
use crate::given::Ready;
use gradus::ir::transform::{jvp, vjp};
use gradus::lang::ast::{Equation, Kind, Name, Projection, Ref};
use gradus::lang::{Gradient, Lowered, Program, Settings};
use gradus::{Compiled, DType, Device, Tensor, compile_graph};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How far forward mode and reverse mode may be apart, relative to their size: both are exact up to rounding.
const EXACT: f64 = 1e-9;
/// How near to rest fixpoints are brought.
pub(super) const AT_REST: f64 = 1e-14;
/// So many places of a tensor at most are found that have an edge.
const PLACES: usize = 64;
/// How long the steps of differences are at first.
const STEP: f64 = 1e-5;
/// How many times steps are made shorter, eight times each, where longer ones do not agree.
const SHORTER: i32 = 12;
/// How far slopes back and ahead may be apart, relative to the gradient, before that is looked into.
const APART: f64 = 1e-3;

/// How far a gradient is from what it must equal, relative to the sizes of both.
pub(super) struct Errors {
    /// None where something is held constant that differences would move, and where they cannot tell.
    pub(super) difference: Option<f64>,
    /// None where forward mode gives no number.
    pub(super) forward: Option<f64>,
    /// None where the graph has none, or no number.
    pub(super) graph: Option<f64>,
    /// At how many places the loss has no derivative.
    pub(super) edges: usize,
}

/// A gradient, or the part of one that belongs to one term of a name that moves with time.
pub(super) struct Part {
    pub(super) name: Name,
    pub(super) label: String,
    pub(super) gradient: Tensor,
    /// The input that takes the steps.
    step: Name,
    /// What it is a gradient by, where that has the same places.
    value: Option<Tensor>,
}

/// The loss as a function of steps away from every name's value.
pub(super) struct Probe {
    pub(super) lowered: Lowered,
    loss: Compiled,
    inputs: BTreeMap<Name, Tensor>,
    pub(super) parts: Vec<Part>,
    pub(super) skipped: Vec<(String, String)>,
    /// A function of the program's own that holds something constant.
    pub(super) holds: Option<Name>,
    /// What one rounding is, relative to a number: that of the smallest floats that the program holds numbers as.
    noise: f64,
}

/// Whether lines of a name combine by another reduction than a sum.
fn reduces(program: &Program, name: &Name) -> bool {
    let own = program.definition(name).map(|d| &d.equations[..]).unwrap_or_default();
    own.iter().any(|i| program.equations[*i].projection != Projection::Sum)
}

/// Whether a name needs itself, or moves with time.
fn needs_itself(program: &Program, name: &Name) -> bool {
    let Some(d) = program.definition(name) else { return false };
    let reads = d.equations.iter().flat_map(|i| program.equations[*i].reads()).map(|r| r.name.clone());
    d.time.is_some() || program.needed(&reads.collect::<Vec<_>>()).contains(name)
}

/// Gives the lines of a name another name, so that a step can be added to what they come to: `M[i] = Lines_M[i] + Step[i]`.
fn moved_apart(open: &mut Program, mut term: Equation) -> Equation {
    let name = Name::from(format!("Lines_{}", term.target.name));
    for e in open.equations.iter_mut().filter(|e| e.target.name == term.target.name) {
        e.target.name = name.clone();
    }
    let lines = Kind::Ref(Ref { name, ..term.target.clone() }).bare();
    term.value = Kind::Sum(vec![lines, term.value]).bare();
    term
}

impl Probe {
    pub(super) fn new(program: &Program, gradient: &Gradient, ready: Ready) -> Done<Probe> {
        let names = gradient.names.iter().filter(|(n, _)| **n != gradient.loss);
        let sought: Vec<Sought> = names.flat_map(|(n, g)| sought(program, n, g, &ready)).collect();
        let mut lines = gradient.equations.clone();
        lines.extend(sought.iter().map(|s| s.part.clone()));
        let mut wanted: Vec<Name> = sought.iter().map(|s| s.part.target.name.clone()).collect();
        for name in sought.iter().map(|s| &s.name).filter(|n| !ready.inputs.contains_key(*n)) {
            if !wanted.contains(name) {
                wanted.push(name.clone());
            }
        }
        let gradients = program.extended(&lines)?.run(&ready.inputs, &ready.settings, &wanted)?;
        let mut inputs = ready.inputs;
        // What is held constant stays what it is, wherever the steps lead.
        let (mut open, held) = program.held();
        let names: Vec<Name> = held.iter().map(|e| e.target.name.clone()).collect();
        let values = program.extended(&held)?.run(&inputs, &ready.settings, &names)?;
        let (mut parts, mut skipped, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for s in sought {
            let Some(g) = gradients.get(&s.part.target.name) else { continue };
            let gradient = if s.first { g.narrow(-1, 0, 1).squeeze([-1]) } else { g.clone() };
            let is_reduced = s.term.is_some() && reduces(program, &s.name);
            if is_reduced && needs_itself(program, &s.name) {
                let why = format!("`{}` needs itself, and its lines are not added", s.name);
                skipped.push((s.label, why));
                continue;
            }
            let term = s.term.map(|term| if is_reduced { moved_apart(&mut open, term) } else { term });
            match (term, inputs.get(&s.step)) {
                (Some(term), _) => {
                    inputs.insert(s.step.clone(), gradient.zeros_like());
                    terms.push(term);
                }
                (None, Some(x)) if x.dtype() != gradient.dtype() => {
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
            let value = gradients.get(&s.name).or(inputs.get(&s.name));
            let value = value.filter(|v| v.shape() == gradient.shape()).cloned();
            parts.push(Part { name: s.name, label: s.label, gradient, step: s.step, value });
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
        let noise = match lowered.has_fixpoints() {
            true => AT_REST,
            false => program.least_float(DType::F64).epsilon(),
        };
        let holds = program.holds_inside().cloned();
        Ok(Probe { lowered, loss, inputs, parts, skipped, holds, noise })
    }

    /// How far modes may be apart.
    pub(super) fn exact(&self, within: f64) -> f64 {
        // The rounds of a fixpoint come as near to its derivative as they come to rest.
        if self.lowered.has_fixpoints() { within } else { EXACT.max(64.0 * self.noise) }
    }

    fn at(&self, name: &Name, moved: Tensor) -> Done<f64> {
        let mut inputs = self.inputs.clone();
        inputs.insert(name.clone(), moved);
        let ins: Vec<&Tensor> = self.lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let outs = self.loss.run(&ins)?;
        // What is not at rest there, in its derivatives neither, is no value to take differences of.
        match outs.split_first() {
            Some((loss, verdicts)) if self.lowered.check(verdicts).is_ok() => {
                Ok(loss.to(Device::CPU).to_dtype(DType::F64).item::<f64>()?)
            }
            _ => Ok(f64::NAN),
        }
    }

    pub(super) fn errors(&self, part: &Part, within: f64, random: &mut Random) -> Done<Errors> {
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
        let exact = self.exact(within);
        let agreed = forward.is_some_and(|e| e <= exact) && graph.is_none_or(|e| e <= exact);
        let mut found = Errors { difference: None, forward, graph, edges: 0 };
        if self.holds.is_some() {
            return Ok(found);
        }
        let n = x.numel();
        let judge = Judge { size, within, agreed };
        let (error, kinked) = self.difference(part, &direction, slope, &judge, 0..n)?;
        found.difference = error;
        if !kinked {
            return Ok(found);
        }
        // An edge excuses only the places that have it: halves of the tensor, down to those that have one.
        let (mut worst, mut smooth) = (0f64, 0);
        let mut work = Vec::from_iter([Range { start: 0, end: n }]);
        while let Some(range) = work.pop().filter(|_| found.edges < PLACES) {
            let middle = range.start.midpoint(range.end);
            for half in [range.start..middle, middle..range.end] {
                if half.is_empty() {
                    continue;
                }
                let inside = within_range(n, &half, &x.shape());
                let (direction, along) = (&direction * &inside, &along * &inside);
                let slope = along.sum(()).item::<f64>()?;
                let (error, kinked) = self.difference(part, &direction, slope, &judge, half.clone())?;
                match kinked {
                    true if half.len() == 1 => found.edges += 1,
                    true => work.push(half),
                    false => {
                        smooth += half.len();
                        worst = worst.max(error.unwrap_or(0.0));
                    }
                }
            }
        }
        // Places that are smooth one by one may have an edge between them.
        found.edges = if found.edges < PLACES { found.edges.max(1) } else { n };
        found.difference = Some(worst).filter(|_| smooth > 0);
        Ok(found)
    }

    /// How far a slope is from differences along a direction that moves some places, if they can tell, and whether there is no derivative. Where
    /// there seems to be none, and numbers are smaller than the steps, shorter ones have a look.
    fn difference(
        &self,
        part: &Part,
        direction: &Tensor,
        slope: f64,
        judge: &Judge,
        places: Range<usize>,
    ) -> Done<(Option<f64>, bool)> {
        let first = STEP.max(self.noise.cbrt());
        let found = self.by_steps(part, direction, slope, judge, first)?;
        let sizes = part
            .value
            .as_ref()
            .and_then(|v| v.abs().to(Device::CPU).to_dtype(DType::F64).to_vec::<f64>().ok());
        let own = sizes.iter().flat_map(|all| &all[places.clone()]).filter(|x| **x > 0.0);
        let least = own.fold(first, |least, x| least.min(x * STEP));
        if !found.1 || least == first {
            return Ok(found);
        }
        let near = self.slopes(&part.step, &self.inputs[&part.step], direction, least)?;
        let closer = self.by_steps(part, direction, slope, judge, least)?;
        let tells = near.rounding <= judge.within * judge.size
            && !closer.1
            && closer.0.is_some_and(|e| e <= judge.within);
        Ok(if tells { closer } else { found })
    }

    /// The same by steps of this length and shorter ones.
    fn by_steps(
        &self,
        part: &Part,
        direction: &Tensor,
        slope: f64,
        judge: &Judge,
        first: f64,
    ) -> Done<(Option<f64>, bool)> {
        let Judge { size, within, agreed } = *judge;
        let x = &self.inputs[&part.step];
        let (mut all, mut least) = (Vec::<Slopes>::new(), f64::INFINITY);
        for k in 0..SHORTER {
            let short = self.slopes(&part.step, x, direction, first / 8f64.powi(k))?;
            let telling = short.rounding <= within * size;
            if k > 1 && !telling {
                break;
            }
            // Of steps that agree by chance, others do not come nearer to each other as they shrink.
            if let Some(long) = all.last().filter(|_| least <= within) {
                return Ok((Some(least), long.splits(short)));
            }
            let error = short.error(slope) / size;
            least = if error.is_nan() { least } else { least.min(error) };
            all.push(short);
            if error <= within && short.gap() <= APART * size {
                return Ok((Some(error), false));
            }
        }
        // What grows like a power that is not whole comes near to its slope slowly, but surely.
        if let [.., a, b, c] = &all[..]
            && let far = (settling([*a, *b, *c].map(Slopes::central)) - slope).abs() / size
            && far <= within
        {
            return Ok((Some(far), false));
        }
        let error = all.last().map_or(f64::NAN, |s| s.error(slope) / size);
        let kinked = matches!(&all[..], [.., long, short] if long.kinked(*short, slope, agreed));
        // What bends more than steps can tell has a slope between those back and ahead.
        let bent = |s: &Slopes| s.gap() > within * size && s.contains(slope) && error > within;
        if !kinked && agreed && all.last().is_some_and(bent) {
            return Ok((None, false));
        }
        Ok((Some(if least.is_finite() { least } else { error }), kinked))
    }

    /// Slopes by steps of this length.
    fn slopes(&self, name: &Name, x: &Tensor, direction: &Tensor, step: f64) -> Done<Slopes> {
        let at = |by: f64| self.at(name, x + &(direction * by));
        let (here, back, ahead) = (self.at(name, x.clone())?, at(-step)?, at(step)?);
        let size = here.abs().max(back.abs()).max(ahead.abs());
        let rounding = if size.is_finite() { 8.0 * self.noise * size / step } else { 0.0 };
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
        Ok(tangent.map_or(Ok(f64::NAN), |t| t.to(Device::CPU).to_dtype(DType::F64).item::<f64>())?)
    }

    /// How far the gradient is from the graph's own; a loop that ends when it ends has none to compare with.
    fn graph(&self, at: usize, g: &Tensor) -> Done<Option<f64>> {
        let graph = &self.lowered.graph;
        let Ok(pulled) = vjp(graph, &[at]) else { return Ok(None) };
        let plan = compile_graph(&Arc::new(pulled))?;
        let one = graph
            .output_avals()
            .first()
            .map_or_else(|| Tensor::full([], 1.0), |a| Tensor::ones([]).to_dtype(a.dtype));
        let zeros: Vec<Tensor> = graph.output_avals().iter().skip(1).map(|a| Tensor::zeros_of(a)).collect();
        let cotangents = [&one].into_iter().chain(&zeros);
        let outs = plan.run(&self.ins().into_iter().chain(cotangents).collect::<Vec<_>>())?;
        let Some(own) = outs.first() else { return Ok(None) };
        let far = (g - own).abs().max(()).item::<f64>()?;
        let size = own.abs().max(()).item::<f64>()?;
        Ok(Some(far / size.max(1e-3)))
    }
}

/// How differences are judged.
struct Judge {
    /// The size of what was added up to a slope.
    size: f64,
    within: f64,
    /// Whether both modes agree on the gradient.
    agreed: bool,
}

/// 1 at some places in a row, 0 elsewhere.
fn within_range(n: usize, range: &Range<usize>, shape: &[usize]) -> Tensor {
    let one: Vec<f64> = (0..n).map(|i| f64::from(u8::from(range.contains(&i)))).collect();
    Tensor::from_slice(&one, shape.to_vec())
}
