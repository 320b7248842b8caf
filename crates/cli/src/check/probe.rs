//! Evaluates the loss with perturbed values, and compares each gradient with finite differences, forward mode
//! and reverse mode.

use super::slopes::{Slopes, limit};
use super::{CheckedName, Random, checked_names};
use crate::Done;
use crate::inputs::{Ready, avals};
use gradus::ir::transform::{jvp, vjp};
use gradus::lang::ast::{Equation, Kind, Name, Projection, Ref};
use gradus::lang::{Gradient, Lowered, Program, Settings};
use gradus::{Compiled, DType, Device, Tensor, compile_graph};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Largest accepted relative difference of forward and reverse mode. Both are exact up to rounding.
const MODE_TOLERANCE: f64 = 1e-9;
/// Tolerance to which fixpoints converge.
pub(super) const CONVERGED: f64 = 1e-14;
/// Largest number of elements without a derivative that are located in one tensor.
const MAX_KINKS: usize = 64;
/// Initial length of the steps of finite differences.
const STEP: f64 = 1e-5;
/// Largest number of step lengths that are tried. Each is an eighth of the one before.
const STEP_LENGTHS: i32 = 12;
/// If backward and forward slopes differ by at most this fraction of the gradient, no shorter steps are
/// tried.
const MAX_GAP: f64 = 1e-3;

/// The relative errors of a gradient.
pub(super) struct Errors {
    /// Error against finite differences. `None` if a function holds values constant that the differences
    /// would change, or if the differences are too inaccurate.
    pub(super) difference: Option<f64>,
    /// Error against forward mode; `None` if its result is not finite.
    pub(super) forward: Option<f64>,
    /// Error against reverse mode on the graph; `None` if there is none, or it is not finite.
    pub(super) graph: Option<f64>,
    /// Number of elements at which the loss has no derivative: kinks, jumps, infinite slopes.
    pub(super) kinks: usize,
}

/// A gradient, or the part of one that belongs to one term of a name that depends on time.
pub(super) struct Part {
    pub(super) name: Name,
    pub(super) label: String,
    pub(super) gradient: Tensor,
    /// The input to which the steps of finite differences are added.
    step: Name,
    /// The value whose gradient this is, if both have the same shape.
    value: Option<Tensor>,
}

/// The loss as a function of small changes, which are added to the values of names.
pub(super) struct Probe {
    pub(super) lowered: Lowered,
    loss: Compiled,
    inputs: BTreeMap<Name, Tensor>,
    pub(super) parts: Vec<Part>,
    pub(super) skipped: Vec<(String, String)>,
    /// A function of the program that uses `stop_gradient` inside, so that it holds values constant; if there is
    /// one.
    pub(super) holds: Option<Name>,
    /// Relative rounding error: that of the least precise float dtype of the program, or the tolerance of
    /// fixpoints.
    noise: f64,
}

/// Returns true if the equations of a name are combined by a reduction other than a sum.
fn reduces(program: &Program, name: &Name) -> bool {
    let own = program.definition(name).map(|d| &d.equations[..]).unwrap_or_default();
    own.iter().any(|i| program.equations[*i].projection != Projection::Sum)
}

/// Returns true if a name depends on itself or on time.
fn needs_itself(program: &Program, name: &Name) -> bool {
    let Some(d) = program.definition(name) else { return false };
    let reads = d.equations.iter().flat_map(|i| program.equations[*i].reads()).map(|r| r.name.clone());
    d.time.is_some() || program.needed(&reads.collect::<Vec<_>>()).contains(name)
}

/// Adds a step to the result of a name whose equations are not summed. Renames these equations:
/// `M[i] = Lines_M[i] + Step[i]`.
fn add_step(open: &mut Program, mut term: Equation) -> Equation {
    let name = Name::from(format!("Lines_{}", term.target.name));
    for e in open.equations.iter_mut().filter(|e| e.target.name == term.target.name) {
        e.target.name = name.clone();
    }
    let lines = Kind::Ref(Ref { name, ..term.target.clone() }).bare();
    term.value = Kind::Sum(vec![lines, term.value]).bare();
    term
}

impl Probe {
    /// Computes the gradients for `wrt`, or all if that is empty.
    pub(super) fn new(program: &Program, gradient: &Gradient, wrt: &[Name], ready: Ready) -> Done<Probe> {
        let chosen = |n: &Name| *n != gradient.loss && (wrt.is_empty() || wrt.contains(n));
        let names = gradient.names.iter().filter(|(n, _)| chosen(n));
        let checked: Vec<CheckedName> =
            names.flat_map(|(n, g)| checked_names(program, n, g, &ready)).collect();
        let mut lines = gradient.equations.clone();
        lines.extend(checked.iter().map(|s| s.part.clone()));
        let mut wanted: Vec<Name> = checked.iter().map(|s| s.part.target.name.clone()).collect();
        let values: BTreeSet<&Name> = checked.iter().map(|s| &s.name).collect();
        wanted.extend(values.into_iter().filter(|n| !ready.inputs.contains_key(*n)).cloned());
        let gradients = program.extended(&lines)?.run(&ready.inputs, &ready.settings, &wanted)?;
        let mut inputs = ready.inputs;
        // Values that are held constant must not change with the steps, so they become inputs.
        let (mut open, held) = program.held();
        let names: Vec<Name> = held.iter().map(|e| e.target.name.clone()).collect();
        let values = program.extended(&held)?.run(&inputs, &ready.settings, &names)?;
        let (mut parts, mut skipped, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for s in checked {
            let Some(g) = gradients.get(&s.part.target.name) else { continue };
            let gradient = if s.first { g.narrow(-1, 0, 1).squeeze([-1]) } else { g.clone() };
            let is_reduced = s.term.is_some() && reduces(program, &s.name);
            if is_reduced && needs_itself(program, &s.name) {
                let why = format!("`{}` depends on itself, and its equations are not summed", s.name);
                skipped.push((s.label, why));
                continue;
            }
            let term = s.term.map(|term| if is_reduced { add_step(&mut open, term) } else { term });
            match (term, inputs.get(&s.step)) {
                (Some(term), _) => {
                    inputs.insert(s.step.clone(), gradient.zeros_like());
                    terms.push(term);
                }
                (None, Some(x)) if x.dtype() != gradient.dtype() => {
                    skipped.push((s.label, format!("`{}` is not real", s.name)));
                    continue;
                }
                (None, Some(x)) if x.shape() != gradient.shape() => {
                    let why = format!(
                        "`{}` has shape {}, but its gradient has shape {}",
                        s.name,
                        x.shape(),
                        gradient.shape()
                    );
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
        skipped.extend(unreached.map(|p| (p.label.clone(), "the loss does not depend on it".to_string())));
        parts.retain(reached);
        let settings = Settings { differentiated: true, ..ready.settings };
        let lowered = stepped.lower(&avals(&inputs), &settings, &wanted)?;
        let loss = lowered.compiled()?;
        let noise = match lowered.has_fixpoints() {
            true => CONVERGED,
            false => program.least_float(DType::F64).epsilon(),
        };
        let holds = program.holds_inside().cloned();
        Ok(Probe { lowered, loss, inputs, parts, skipped, holds, noise })
    }

    /// Returns the largest accepted relative difference between modes.
    pub(super) fn exact(&self, within: f64) -> f64 {
        // Derivatives of a fixpoint are only as accurate as its convergence.
        if self.lowered.has_fixpoints() { within } else { MODE_TOLERANCE.max(64.0 * self.noise) }
    }

    /// Evaluates the loss with some inputs replaced by these values. Returns NaN if a fixpoint has not
    /// converged.
    fn at(&self, moved: Vec<(&Name, Tensor)>) -> Done<f64> {
        let moved: BTreeMap<&Name, Tensor> = moved.into_iter().collect();
        let input = |n| moved.get(n).or_else(|| self.inputs.get(n));
        let ins: Vec<&Tensor> = self.lowered.inputs.iter().filter_map(input).collect();
        let outs = self.loss.run(&ins)?;
        // If a fixpoint or its derivatives have not converged, the loss has no value.
        match outs.split_first() {
            Some((loss, verdicts)) if self.lowered.check(verdicts).is_ok() => {
                Ok(loss.to(Device::CPU).to_dtype(DType::F64).item::<f64>()?)
            }
            _ => Ok(f64::NAN),
        }
    }

    /// Computes the errors of several gradients together: the values of all their names move along one
    /// direction.
    pub(super) fn errors(&self, parts: &[Part], within: f64, random: &mut Random) -> Done<Errors> {
        let directions = parts.iter().map(|p| random.direction(&self.inputs[&p.step])).collect();
        let positions: BTreeMap<&Name, usize> = self.lowered.inputs.iter().zip(0..).collect();
        let positions: Vec<usize> = parts.iter().map(|p| positions[&p.step]).collect();
        let along = ProbeDirection::new(parts, directions);
        let (slope, size) = along.slope()?;
        // Reverse mode through a fixpoint would have to store all its iterations.
        let graph = if self.lowered.has_fixpoints() { None } else { self.graph(&positions, parts)? };
        let graph = graph.filter(|e| e.is_finite());
        // Forward mode computes 0 · ∞, which is NaN, if a function is infinitely steep at an element that is
        // not changed.
        let forward = Some(self.forward(&positions, &along.directions)?);
        let forward = forward.filter(|f| f.is_finite()).map(|f| (f - slope).abs() / size);
        let exact = self.exact(within);
        let agreed = forward.is_some_and(|e| e <= exact) && graph.is_none_or(|e| e <= exact);
        let mut found = Errors { difference: None, forward, graph, kinks: 0 };
        if self.holds.is_some() {
            return Ok(found);
        }
        let judge = SlopeCriteria { size, within, agreed };
        let (error, kinked) = self.difference(&along, slope, &judge, None)?;
        found.difference = error;
        let [part] = parts else {
            found.kinks = usize::from(kinked);
            return Ok(found);
        };
        if !kinked {
            return Ok(found);
        }
        // Only elements without a derivative may differ. They are found by bisection of the tensor.
        let n = part.gradient.numel();
        let (mut worst, mut smooth) = (0f64, 0);
        let mut work = Vec::from_iter([Range { start: 0, end: n }]);
        while let Some(range) = work.pop().filter(|_| found.kinks < MAX_KINKS) {
            let middle = range.start.midpoint(range.end);
            for half in [range.start..middle, middle..range.end] {
                if half.is_empty() {
                    continue;
                }
                let inside = within_range(n, &half, &part.gradient.shape());
                let along = ProbeDirection::new(parts, vec![&along.directions[0] * &inside]);
                let (slope, _) = along.slope()?;
                let (error, kinked) = self.difference(&along, slope, &judge, Some(half.clone()))?;
                match kinked {
                    true if half.len() == 1 => found.kinks += 1,
                    true => work.push(half),
                    false => {
                        smooth += half.len();
                        worst = worst.max(error.unwrap_or(0.0));
                    }
                }
            }
        }
        // The loss may have a kink only if several elements change together, so at least one is counted.
        found.kinks = if found.kinks < MAX_KINKS { found.kinks.max(1) } else { n };
        found.difference = Some(worst).filter(|_| smooth > 0);
        Ok(found)
    }

    /// Compares a predicted slope with finite differences along a direction, in which only the elements
    /// `moved` change (`None`: all). Returns the error, or `None` if the differences are too inaccurate, and
    /// true if the loss has no derivative there. If the loss seems to have no derivative, tries shorter steps,
    /// relative to the smallest values.
    fn difference(
        &self,
        along: &ProbeDirection<'_>,
        slope: f64,
        judge: &SlopeCriteria,
        moved: Option<Range<usize>>,
    ) -> Done<(Option<f64>, bool)> {
        let first = STEP.max(self.noise.cbrt());
        let found = self.by_steps(along, slope, judge, first)?;
        if !found.1 {
            return Ok(found);
        }
        let sizes = |value: &Tensor| value.abs().to(Device::CPU).to_dtype(DType::F64).to_vec::<f64>().ok();
        let mut least = first;
        for all in along.parts.iter().filter_map(|p| p.value.as_ref().and_then(sizes)) {
            let own = &all[moved.clone().unwrap_or(0..all.len())];
            least = own.iter().filter(|x| **x > 0.0).fold(least, |least, x| least.min(x * STEP));
        }
        if least == first {
            return Ok(found);
        }
        let near = self.slopes(along, least)?;
        let closer = self.by_steps(along, slope, judge, least)?;
        let tells = near.rounding <= judge.within * judge.size
            && !closer.1
            && closer.0.is_some_and(|e| e <= judge.within);
        Ok(if tells { closer } else { found })
    }

    /// Compares slopes as [`difference`](Probe::difference) does, with steps of length `first` and shorter
    /// ones.
    fn by_steps(
        &self,
        along: &ProbeDirection<'_>,
        slope: f64,
        judge: &SlopeCriteria,
        first: f64,
    ) -> Done<(Option<f64>, bool)> {
        let SlopeCriteria { size, within, agreed } = *judge;
        let (mut all, mut least) = (Vec::<Slopes>::new(), f64::INFINITY);
        for k in 0..STEP_LENGTHS {
            let short = self.slopes(along, first / 8f64.powi(k))?;
            let telling = short.rounding <= within * size;
            if k > 1 && !telling {
                break;
            }
            // Slopes may agree by chance, so one shorter step checks whether backward and forward slopes
            // converge.
            if let Some(long) = all.last().filter(|_| least <= within) {
                return Ok((Some(least), long.splits(short)));
            }
            let error = short.error(slope) / size;
            least = if error.is_nan() { least } else { least.min(error) };
            all.push(short);
            if error <= within && short.gap() <= MAX_GAP * size {
                return Ok((Some(error), false));
            }
        }
        // For a fractional power, slopes converge slowly; their limit is extrapolated.
        if let [.., a, b, c] = &all[..]
            && let far = (limit([*a, *b, *c].map(Slopes::central)) - slope).abs() / size
            && far <= within
        {
            return Ok((Some(far), false));
        }
        let error = all.last().map_or(f64::NAN, |s| s.error(slope) / size);
        let kinked = matches!(&all[..], [.., long, short] if long.kinked(*short, slope, agreed));
        // If the loss is too curved for these steps, the predicted slope is between the backward and the
        // forward slope.
        let bent = |s: &Slopes| s.gap() > within * size && s.contains(slope) && error > within;
        if !kinked && agreed && all.last().is_some_and(bent) {
            return Ok((None, false));
        }
        Ok((Some(if least.is_finite() { least } else { error }), kinked))
    }

    /// Computes backward and forward slopes with steps of this length.
    fn slopes(&self, along: &ProbeDirection<'_>, step: f64) -> Done<Slopes> {
        let at = |by: f64| {
            let moved =
                |(part, direction): (&Part, &Tensor)| self.inputs[&part.step].clone() + direction * by;
            let steps = along.parts.iter().zip(&along.directions);
            self.at(steps.map(|pair| (&pair.0.step, moved(pair))).collect())
        };
        let (here, back, ahead) = (self.at(Vec::new())?, at(-step)?, at(step)?);
        let size = here.abs().max(back.abs()).max(ahead.abs());
        let rounding = if size.is_finite() { 8.0 * self.noise * size / step } else { 0.0 };
        Ok(Slopes { back: (here - back) / step, ahead: (ahead - here) / step, rounding })
    }

    fn ins(&self) -> Vec<&Tensor> {
        self.lowered.inputs.iter().filter_map(|n| self.inputs.get(n)).collect()
    }

    /// Computes the derivative along directions of the inputs at these positions, by forward mode.
    fn forward(&self, positions: &[usize], directions: &[Tensor]) -> Done<f64> {
        let plan = compile_graph(&Arc::new(jvp(&self.lowered.graph, positions)?))?;
        let outs = plan.run(&self.ins().into_iter().chain(directions).collect::<Vec<_>>())?;
        let tangent = outs.get(self.lowered.graph.outputs().len());
        Ok(tangent.map_or(Ok(f64::NAN), |t| t.to(Device::CPU).to_dtype(DType::F64).item::<f64>())?)
    }

    /// Computes the largest relative error of the gradients against reverse mode on the graph; `None` if the
    /// graph has a loop without a reverse mode.
    fn graph(&self, positions: &[usize], parts: &[Part]) -> Done<Option<f64>> {
        let graph = &self.lowered.graph;
        let Ok(pulled) = vjp(graph, positions) else { return Ok(None) };
        let plan = compile_graph(&Arc::new(pulled))?;
        let one = graph
            .output_avals()
            .first()
            .map_or_else(|| Tensor::full([], 1.0), |a| Tensor::ones([]).to_dtype(a.dtype));
        let zeros: Vec<Tensor> = graph.output_avals().iter().skip(1).map(|a| Tensor::zeros_of(a)).collect();
        let cotangents = [&one].into_iter().chain(&zeros);
        let outs = plan.run(&self.ins().into_iter().chain(cotangents).collect::<Vec<_>>())?;
        let mut worst = 0f64;
        for (part, own) in parts.iter().zip(&outs) {
            let far = (&part.gradient - own).abs().max(()).item::<f64>()?;
            let size = own.abs().max(()).item::<f64>()?;
            let error = far / size.max(1e-3);
            worst = if error.is_nan() { f64::NAN } else { worst.max(error) };
            if worst.is_nan() {
                break;
            }
        }
        Ok(Some(worst))
    }
}

/// A direction in which the names of some gradients move.
struct ProbeDirection<'a> {
    parts: &'a [Part],
    /// One per gradient.
    directions: Vec<Tensor>,
}

impl<'a> ProbeDirection<'a> {
    fn new(parts: &'a [Part], directions: Vec<Tensor>) -> Self {
        Self { parts, directions }
    }

    /// Returns the slope that the gradients predict, and the sum of its absolute terms. Errors are relative
    /// to that sum, because the terms may cancel.
    fn slope(&self) -> Done<(f64, f64)> {
        let (mut slope, mut size) = (0.0, 0.0);
        for (part, direction) in self.parts.iter().zip(&self.directions) {
            let terms = (part.gradient.conj() * direction).real();
            slope += terms.sum(()).item::<f64>()?;
            size += terms.abs().sum(()).item::<f64>()?;
        }
        Ok((slope, f64::max(size, 1e-3)))
    }
}

/// Criteria for comparing a slope with differences.
struct SlopeCriteria {
    /// The sum of the absolute terms of a slope.
    size: f64,
    within: f64,
    /// If true, forward and reverse mode agree on the gradient.
    agreed: bool,
}

/// Makes a mask: 1 at the elements of a range, 0 elsewhere.
fn within_range(n: usize, range: &Range<usize>, shape: &[usize]) -> Tensor {
    let one: Vec<f64> = (0..n).map(|i| f64::from(u8::from(range.contains(&i)))).collect();
    Tensor::from_slice(&one, shape.to_vec())
}
