//! Checks the same graph in other dtypes, and on a device other than the reference evaluator.

use super::{adjoint, differentiable, require, types};
use crate::Failure;
use crate::compare::{Allowed, compare, largest, ulp};
use crate::random::Random;
use crate::vector::combine;
use gradus_ir::graph::{Builder, Id, Var};
use gradus_ir::literal::Data;
use gradus_ir::ops::source::Constant;
use gradus_ir::ops::{Bound, Form};
use gradus_ir::reference::evaluate;
use gradus_ir::transform;
use gradus_ir::{Aval, C, Class, DType, Error, Graph, Kind, Literal, Op, Result as IrResult};
use std::sync::Arc;

/// A way to evaluate graphs: the device under test.
pub type Evaluator<'a> = &'a dyn Fn(&Graph, &[Literal]) -> IrResult<Vec<Literal>>;

/// Floats that devices often handle wrongly. [`specials`] adds the smallest normal number of the dtype, its negative, the
/// smallest subnormal number and the reciprocal of the smallest normal number.
const SPECIAL: [f64; 7] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0];

/// Runs the checks of [`types`](super::types) in every dtype that the ops take, and checks the types of
/// derivatives. In complex numbers, which samples may leave out, it also checks adjoints.
pub fn dtypes(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    for (dtype, graph, inputs) in variants(graph, inputs) {
        let named = |f: Failure| f.within(&format!("dtypes, in {dtype}"));
        types(&graph, &inputs, smooth).map_err(named)?;
        let avals = graph.input_avals();
        let wrt = differentiable(&avals);
        if wrt.is_empty() {
            continue;
        }
        let forward = require("dtypes", "a jvp graph", transform::jvp(&graph, &wrt)).map_err(named)?;
        let reverse = require("dtypes", "a vjp graph", transform::vjp(&graph, &wrt)).map_err(named)?;
        let outs = graph.output_avals();
        let tangents = outs.iter().filter(|a| a.dtype.is_differentiable());
        let expected: Vec<Aval> = outs.iter().chain(tangents).cloned().collect();
        let gradients: Vec<Aval> = wrt.iter().map(|&i| avals[i].clone()).collect();
        for (expected, found) in [(expected, forward.output_avals()), (gradients, reverse.output_avals())] {
            if expected != found {
                let expected = format!("derivatives of types {expected:?}");
                return Err(named(Failure::new("dtypes", expected, format!("{found:?}"))));
            }
        }
        if dtype == DType::C128 {
            adjoint(&graph, &inputs, smooth).map_err(named)?;
        }
    }
    Ok(())
}

/// Returns the graph over inputs of other dtypes, once for each dtype that its ops take. Inputs keep their
/// class, except that floats are also converted to all other classes.
fn variants(graph: &Graph, inputs: &[Literal]) -> Vec<(DType, Graph, Vec<Literal>)> {
    let one = |(from, to): (Class, DType)| {
        let taken = inputs.iter().any(|l| l.dtype().class() == from && l.dtype() != to);
        let moved = |(i, l): (usize, &Literal)| convert(l, from, to, i as u64);
        let graph = if taken { retyped(graph, from, to).ok()? } else { return None };
        let inputs: Vec<Literal> = inputs.iter().enumerate().map(moved).collect();
        // In an unsigned dtype a negative index wraps and is out of range, so this variant is left out.
        let out_of_range = |e: Error| matches!(e.kind(), Kind::Index { .. });
        let usable = !evaluate(&graph, &inputs).is_err_and(out_of_range);
        usable.then_some((to, graph, inputs))
    };
    let within = DType::ALL.into_iter().map(|to| (to.class(), to));
    let across = DType::ALL.into_iter().map(|to| (Class::Float, to)).filter(|(from, to)| *from != to.class());
    within.chain(across).filter_map(one).collect()
}

/// Converts a value of a class to another dtype; other classes stay. Floats get an imaginary part.
fn convert(value: &Literal, from: Class, to: DType, seed: u64) -> Literal {
    if value.dtype().class() != from {
        return value.clone();
    }
    let cast = value.cast(to);
    if from == Class::Float && to.is_complex() {
        return combine(&[(1.0, &cast), (0.3, &Random::new(seed).literal(cast.aval()))]).rounded();
    }
    cast
}

/// Rebuilds the graph with all inputs and constants of a class in a dtype. Returns an error if an op does not
/// take it.
fn retyped(graph: &Graph, from: Class, to: DType) -> IrResult<Graph> {
    let b = Builder::new();
    let name = |id: Id| graph.inputs().iter().find(|(_, i)| *i == id).map_or("x", |(n, _)| n.as_str());
    let mut values: Vec<Vec<Var<'_>>> = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        let operands: Vec<Var<'_>> =
            node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
        values.push(if let Op::Input(input) = &node.op {
            let same = input.aval.dtype.class() == from;
            let aval = if same { input.aval.with_dtype(to) } else { input.aval.clone() };
            vec![b.input(name(Id { node: i as u32, out: 0 }), aval)]
        } else if let Op::Constant(c) = &node.op {
            b.try_apply(Constant { value: convert(&c.value, from, to, i as u64) }, &operands)?
        } else {
            b.try_apply(node.op.clone(), &operands)?
        });
    }
    let outs: Vec<Var<'_>> =
        graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect();
    b.finish(&outs)
}

/// Runs [`device`] with the reference evaluator as the device: checks that all dtypes evaluate consistently.
pub fn narrow(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    device(graph, inputs, &evaluate).map_err(|f| f.within("narrow"))
}

/// Checks that a device evaluates the graph as the reference does, in every dtype that its ops take, within
/// the bound that the op declares. The inputs are `inputs` and, for ops that are exact or accurate to
/// some units in the last place, special values. Device and reference get the same rounded inputs, so errors
/// of the inputs do not count.
///
/// A graph of several ops is allowed the sum of their bounds, relative to the largest value in it.
pub fn device(graph: &Graph, inputs: &[Literal], evaluator: Evaluator<'_>) -> Result<(), Failure> {
    device_with(graph, inputs, evaluator, Floats { subnormals: true })
}

/// Properties of a device's floats that standards leave open.
#[derive(Clone, Copy, Debug)]
pub struct Floats {
    /// If true, it keeps subnormal numbers. If not, operands and results may each be zero instead.
    pub subnormals: bool,
}

/// As [`device`], for a device that computes with floats in this way.
pub fn device_with(
    graph: &Graph,
    inputs: &[Literal],
    evaluator: Evaluator<'_>,
    floats: Floats,
) -> Result<(), Failure> {
    let own = inputs.first().map_or(DType::F64, Literal::dtype);
    let mut cases = vec![(own, graph.clone(), inputs.to_vec())];
    cases.extend(variants(graph, inputs));
    for (dtype, graph, inputs) in cases {
        let named = |f: Failure| f.within(&format!("device, in {dtype}"));
        check_at(&graph, &inputs, evaluator, floats).map_err(named)?;
        if !matches!(bound(&graph), Some(Bound::Exact | Bound::Ulps(_))) {
            continue;
        }
        for shift in 0..SPECIAL.len() + 4 {
            let special: Vec<Literal> =
                inputs.iter().enumerate().map(|(i, l)| specials(l, shift, i)).collect();
            check_at(&graph, &special, evaluator, floats)
                .map_err(|f| named(f.within("at special values")))?;
        }
    }
    Ok(())
}

/// Compares the results of a device at these inputs with those of the reference.
fn check_at(
    graph: &Graph,
    inputs: &[Literal],
    evaluator: Evaluator<'_>,
    floats: Floats,
) -> Result<(), Failure> {
    let found = evaluator(graph, inputs);
    let kept = compare_results(graph, inputs, &found, floats);
    if floats.subnormals || kept.is_ok() {
        return kept;
    }
    // Some operations of a device may flush subnormal operands to zero, and others not. Elements that are
    // correct for flushed operands are replaced by those of the reference, and the others are compared.
    let flushed: Vec<Literal> = inputs.iter().map(flushed).collect();
    let (Ok(found), Ok(own), Ok(expected)) = (found, evaluate(graph, inputs), evaluate(graph, &flushed))
    else {
        return kept;
    };
    let limits = limits(graph, &flushed, &expected)?;
    let mut merged = Vec::with_capacity(found.len());
    for (((found, own), expected), limits) in found.iter().zip(&own).zip(&expected).zip(&limits) {
        merged.push(require("device", "a literal", merge(found, own, expected, limits))?);
    }
    compare_results(graph, inputs, &Ok(merged), floats)
}

/// Returns `found`, but with the elements of `own` wherever `found` is near `expected`.
fn merge(found: &Literal, own: &Literal, expected: &Literal, limits: &[f64]) -> IrResult<Literal> {
    let near = |i: usize, x: f64, y: f64| {
        let limit = limits.get(i).copied().unwrap_or(0.0).max(TINY);
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= limit
    };
    let data: Data = match (found.data(), own.data(), expected.data()) {
        (Data::F(found), Data::F(own), Data::F(expected)) => {
            let all = found.iter().zip(own.iter()).zip(expected.iter()).enumerate();
            all.map(|(i, ((f, o), e))| if near(i, *f, *e) { *o } else { *f }).collect::<Vec<_>>().into()
        }
        (Data::C(found), Data::C(own), Data::C(expected)) => {
            let all = found.iter().zip(own.iter()).zip(expected.iter()).enumerate();
            let is_near =
                |i: usize, f: &C, e: &C| f == e || (f.is_nan() && e.is_nan()) || near(i, (f - e).norm(), 0.0);
            all.map(|(i, ((f, o), e))| if is_near(i, f, e) { *o } else { *f }).collect::<Vec<_>>().into()
        }
        // Integers and booleans are results of comparisons, or positions of sorted elements.
        (Data::I(found), Data::I(own), Data::I(expected)) => {
            let all = found.iter().zip(own.iter()).zip(expected.iter());
            Data::I(Arc::new(all.map(|((f, o), e)| if f == e { *o } else { *f }).collect()))
        }
        _ => return Ok(found.clone()),
    };
    Literal::new(found.aval().clone(), data)
}

/// The smallest positive normal number of the floats that devices compute in.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Replaces subnormal numbers by zeros.
fn flushed(l: &Literal) -> Literal {
    let flush = |x: f64| if x.abs() < TINY { 0.0 * x } else { x };
    let data: Data = match l.data() {
        Data::F(v) => v.iter().map(|x| flush(*x)).collect::<Vec<_>>().into(),
        Data::C(v) => v.iter().map(|z| C::new(flush(z.re), flush(z.im))).collect::<Vec<_>>().into(),
        Data::I(_) => return l.clone(),
    };
    Literal::new(l.aval().clone(), data).unwrap_or_else(|_| l.clone())
}

/// Compares the results of a device with those of the reference at these inputs.
fn compare_results(
    graph: &Graph,
    inputs: &[Literal],
    found: &Result<Vec<Literal>, Error>,
    floats: Floats,
) -> Result<(), Failure> {
    let (expected, found) = match (evaluate(graph, inputs), found) {
        (Err(_), Err(_)) => return Ok(()),
        (Err(e), Ok(_)) => return Err(Failure::new("device", format!("error: {e}"), "a value")),
        (Ok(_), Err(e)) => return Err(Failure::new("device", "a value", format!("error: {e}"))),
        (Ok(expected), Ok(found)) => (expected, found),
    };
    if expected.len() != found.len() {
        return Err(Failure::new("device", format!("{} outputs", expected.len()), found.len()));
    }
    let mut limits = limits(graph, inputs, &expected)?;
    if !floats.subnormals {
        limits.iter_mut().flatten().for_each(|limit| *limit = limit.max(TINY));
    }
    for (k, ((expected, found), limits)) in expected.iter().zip(found).zip(&limits).enumerate() {
        compare(expected, found, Allowed::Each(limits)).map_err(|d| {
            let input = inputs.iter().map(gradus_ir::graph::literal_text).collect::<Vec<_>>().join(", ");
            Failure::new("device", format!("output {k} of the reference within the bound at {input}"), d)
        })?;
    }
    Ok(())
}

/// Returns the bound of a graph of one op, or `None` if it has several ops or its op has nested graphs.
fn bound(graph: &Graph) -> Option<Bound> {
    let mut ops = graph.nodes().iter().filter(|n| !matches!(n.op, Op::Input(_)));
    let (Some(node), None) = (ops.next(), ops.next()) else { return None };
    let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
    // The bound of an op with nested graphs is that of the graphs.
    match node.op.def().form(&ins) {
        Form::Region(_) | Form::Switch(_) | Form::Scan(_) | Form::While(_) => None,
        _ => Some(node.op.def().bound()),
    }
}

/// Returns the allowed difference from the reference, for each element of each output.
fn limits(graph: &Graph, inputs: &[Literal], expected: &[Literal]) -> Result<Vec<Vec<f64>>, Failure> {
    let each = |f: &dyn Fn(&Literal) -> Vec<f64>| expected.iter().map(f).collect();
    Ok(match bound(graph) {
        Some(Bound::Exact) => each(&|l| vec![0.0; l.data().len()]),
        Some(Bound::Ulps(n)) => each(&|l| magnitudes(l).into_iter().map(|m| n * ulp(l.dtype(), m)).collect()),
        Some(Bound::Largest(n)) => {
            let scale = inputs.iter().chain(expected).map(largest).fold(0.0, f64::max);
            each(&|l| vec![n * l.dtype().epsilon() * scale; l.data().len()])
        }
        Some(Bound::Terms(n)) => {
            let sizes: Vec<Literal> = inputs.iter().map(absolute).collect();
            let sums = require("device", "a value of the magnitudes", evaluate(graph, &sizes))?;
            let limit = |(l, sum): (&Literal, &Literal)| -> Vec<f64> {
                let (sum, own) = (magnitudes(sum), magnitudes(l));
                let terms = sum.iter().zip(&own).map(|(s, o)| if s.is_finite() { s.max(*o) } else { *o });
                // Half a unit of the result covers the rounding of the reference itself.
                terms.zip(&own).map(|(t, o)| n * l.dtype().epsilon() * t + ulp(l.dtype(), *o) / 2.0).collect()
            };
            expected.iter().zip(&sums).map(limit).collect()
        }
        None => {
            let (ops, scale) = (total_bound(graph), scale(graph, inputs)?);
            each(&|l| vec![ops * l.dtype().epsilon() * scale; l.data().len()])
        }
    })
}

/// Returns the sum of the bounds of all ops of a graph; regions and loops count by their bodies.
fn total_bound(graph: &Graph) -> f64 {
    let one = |node: &gradus_ir::graph::Node| {
        let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        match (node.op.def().form(&ins), node.op.def().bound()) {
            (Form::Region(body), _) => total_bound(&body),
            (Form::Switch(branches), _) => branches.iter().map(|b| total_bound(b)).fold(0.0, f64::max),
            (Form::Scan(scan), _) => total_bound(&scan.body) * scan.length as f64,
            (Form::While(op), _) => total_bound(&op.body) * op.bound.max(8) as f64,
            (_, Bound::Exact) => 0.0,
            (_, Bound::Ulps(n) | Bound::Terms(n) | Bound::Largest(n)) => n.max(1.0),
        }
    };
    graph.nodes().iter().map(one).sum()
}

/// Returns the largest magnitude of any float in a graph; of a region, only its results count.
fn scale(graph: &Graph, inputs: &[Literal]) -> Result<f64, Failure> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
    let values: Vec<Var<'_>> = b.inline_all(graph, &ins).into_iter().flatten().collect();
    let floats: Vec<Var<'_>> = values.into_iter().filter(|v| v.dtype().is_differentiable()).collect();
    let all =
        require("device", "all values of the graph", b.finish(&floats).and_then(|g| evaluate(&g, inputs)))?;
    Ok(all.iter().map(largest).fold(f64::MIN_POSITIVE, f64::max))
}

fn magnitudes(l: &Literal) -> Vec<f64> {
    match l.data() {
        Data::F(v) => v.iter().map(|x| x.abs()).collect(),
        Data::C(v) => v.iter().map(|z| z.norm()).collect(),
        Data::I(v) => vec![0.0; v.len()],
    }
}

/// Returns the magnitudes of floats; integers, which are indices, are unchanged.
fn absolute(l: &Literal) -> Literal {
    let data = match l.data() {
        Data::F(v) => v.iter().map(|x| x.abs()).collect::<Vec<_>>().into(),
        Data::C(v) => v.iter().map(|z| C::new(z.norm(), 0.0)).collect::<Vec<_>>().into(),
        Data::I(v) => Data::I(v.clone()),
    };
    Literal::new(l.aval().clone(), data).unwrap_or_else(|_| l.clone())
}

/// Replaces the elements by special floats, in another order for each `shift` and operand.
fn specials(l: &Literal, shift: usize, operand: usize) -> Literal {
    let d = l.dtype();
    let tiny = d.min_positive();
    let mut all = SPECIAL.to_vec();
    all.extend([tiny, tiny * d.epsilon(), -tiny, d.round(1.0 / tiny)]);
    let mut k = 0;
    let mut next = || {
        k += 1;
        // Operands advance through the list at different speeds, so that all pairs occur.
        all[(shift + k * (operand + 1)) % all.len()]
    };
    let n = l.data().len();
    let data: Data = match d.class() {
        Class::Float => (0..n).map(|_| next()).collect::<Vec<_>>().into(),
        Class::Complex => (0..n).map(|_| C::new(next(), next())).collect::<Vec<_>>().into(),
        _ => return l.clone(),
    };
    Literal::new(l.aval().clone(), data).map_or_else(|_| l.clone(), Literal::rounded)
}
