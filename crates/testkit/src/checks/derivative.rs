//! Checks that forward mode is the derivative, and reverse mode its adjoint.
//! Takes a graph and a point; returns a failure if a mode is wrong. Second derivatives are in `second.rs`.

use super::{differentiable, precision, require, same_types, subsets};
use crate::Failure;
use crate::compare::{Allowed, compare, largest};
use crate::random::Random;
use crate::vector::{combine, inner, size, zero_where_nan};
use gradus_ir::reference::evaluate;
use gradus_ir::transform;
use gradus_ir::{Aval, Graph, Literal};

/// Steps of the central differences along a tangent of size about 1. Each is used only if the one before
/// fails. Two halvings and Richardson extrapolation leave an error of about `h⁶`, which is small unless the
/// graph is strongly curved. The rounding error is about `1e-16 / h`.
const STEPS: [f64; 3] = [4e-3, 5e-4, 6e-5];

/// Allowed difference of forward mode from central differences, relative to the largest element.
const DIFFERENCE: f64 = 1e-7;

/// Allowed difference of the two sides of the adjoint identity, relative to the sum of magnitudes.
pub(super) const ADJOINT: f64 = 1e-11;

/// Checks that forward mode gives the outputs themselves and, where smooth, the slopes of central
/// differences. Directions are random, complex for complex inputs. Each differentiable input is checked
/// alone, and all together.
pub fn jvp(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    let values = require("jvp", "a value", evaluate(graph, inputs))?;
    if smooth
        && !wrt.is_empty()
        && values.iter().any(|v| v.f().iter().any(|x| x.is_nan()) || v.c().iter().any(|z| z.is_nan()))
    {
        return Err(Failure::new("jvp", "numbers, since the graph is declared smooth", "NaN"));
    }
    let mut random = Random::of(graph);
    for (subset, alone) in subsets(&wrt) {
        let tangents: Vec<Literal> = subset.iter().map(|&i| random.literal(inputs[i].aval())).collect();
        forward(graph, inputs, &values, &subset, &tangents, smooth).map_err(|f| f.operand(alone))?;
    }
    Ok(())
}

/// Checks that forward mode along these tangents gives the outputs themselves and, where smooth, the slopes.
pub(super) fn forward(
    graph: &Graph,
    inputs: &[Literal],
    values: &[Literal],
    wrt: &[usize],
    tangents: &[Literal],
    smooth: bool,
) -> Result<(), Failure> {
    let (outs, pushed) = push("jvp", graph, inputs, wrt, tangents)?;
    for (value, out) in values.iter().zip(&outs) {
        compare(value, out, Allowed::Exact)
            .map_err(|d| Failure::new("jvp", "the outputs next to the tangents", d))?;
    }
    if !smooth || precision(graph) > f64::EPSILON {
        return Ok(());
    }
    let at = |h: f64| {
        let mut moved = inputs.to_vec();
        for (&i, t) in wrt.iter().zip(tangents) {
            moved[i] = combine(&[(1.0, &inputs[i]), (h, t)]);
        }
        require("jvp", "a value nearby", evaluate(graph, &moved))
    };
    let mut outcome = Ok(());
    for step in STEPS {
        // Error of the slopes from rounding the inputs, where all other terms cancel.
        let noise = 1e-14 * (1.0 + size(inputs)) / step;
        outcome = slopes(graph, (values, &pushed), &at, step, noise);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Checks that the tangents equal the slopes of central differences, within the error of the differences.
fn slopes(
    graph: &Graph,
    (values, pushed): (&[Literal], &[Literal]),
    at: &dyn Fn(f64) -> Result<Vec<Literal>, Failure>,
    step: f64,
    noise: f64,
) -> Result<(), Failure> {
    let mut sides = Vec::new();
    for (h, weight) in [(step, 1.0), (step / 2.0, -20.0), (step / 4.0, 64.0)] {
        // Romberg's table of three central differences, (D₁ - 20 D₂ + 64 D₃) / 45, written out.
        let factor = weight / 45.0 / (2.0 * h);
        sides.push((factor, at(h)?));
        sides.push((-factor, at(-h)?));
    }
    for (&k, pushed) in differentiable(&graph.output_avals()).iter().zip(pushed) {
        let terms: Vec<(f64, &Literal)> =
            sides.iter().map(|(factor, values)| (*factor, &values[k])).collect();
        let slope = combine(&terms);
        // An infinite value has no difference.
        let (expected, found) = (zero_where_nan(&slope, &slope), zero_where_nan(pushed, &slope));
        let scale = largest(&expected).max(largest(&found)) + 1e-5 * largest(&values[k]);
        let limits = vec![DIFFERENCE * scale + noise; slope.data().len()];
        compare(&expected, &found, Allowed::Each(&limits))
            .map_err(|d| Failure::new("jvp", format!("the slope of output {k}"), d))?;
    }
    Ok(())
}

/// Returns outputs, and tangents of the differentiable ones, by forward mode.
pub(super) fn push(
    check: &str,
    graph: &Graph,
    inputs: &[Literal],
    wrt: &[usize],
    tangents: &[Literal],
) -> Result<(Vec<Literal>, Vec<Literal>), Failure> {
    let forward = require(check, "a jvp graph", transform::jvp(graph, wrt))?;
    let point: Vec<Literal> = inputs.iter().chain(tangents).cloned().collect();
    let mut outs = require(check, "a value of the jvp graph", evaluate(&forward, &point))?;
    let tangents = outs.split_off(graph.outputs().len().min(outs.len()));
    let of_outputs: Vec<Aval> =
        graph.output_avals().into_iter().filter(|a| a.dtype.is_differentiable()).collect();
    same_types(check, "tangents", &of_outputs, &tangents)?;
    Ok((outs, tangents))
}

/// Returns gradients of the inputs of `wrt`, by reverse mode.
pub(super) fn pull(
    check: &str,
    graph: &Graph,
    inputs: &[Literal],
    wrt: &[usize],
    cotangents: &[Literal],
) -> Result<Vec<Literal>, Failure> {
    let reverse = require(check, "a vjp graph", transform::vjp(graph, wrt))?;
    let point: Vec<Literal> = inputs.iter().chain(cotangents).cloned().collect();
    let gradients = require(check, "a value of the vjp graph", evaluate(&reverse, &point))?;
    let of_inputs: Vec<Aval> = wrt.iter().map(|&i| inputs[i].aval().clone()).collect();
    same_types(check, "gradients", &of_inputs, &gradients)?;
    Ok(gradients)
}

/// Returns a random cotangent for each differentiable output. It is zero where the output is NaN, since there
/// is no slope.
pub(super) fn cotangents(random: &mut Random, values: &[Literal]) -> Vec<Literal> {
    let differentiable = values.iter().filter(|v| v.dtype().is_differentiable());
    differentiable.map(|v| zero_where_nan(&random.literal(v.aval()), v)).collect()
}

/// Checks that `⟨c, J t⟩ = ⟨Jᵀc, t⟩` for random `c` and `t`, for each differentiable input alone and for all
/// together. Checks also that every gradient has its operand's type.
pub fn adjoint(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    let values = require("adjoint", "a value", evaluate(graph, inputs))?;
    let mut random = Random::of(graph);
    for (subset, alone) in subsets(&wrt) {
        let tangents: Vec<Literal> = subset.iter().map(|&i| random.literal(inputs[i].aval())).collect();
        let cotangents = cotangents(&mut random, &values);
        let side = || -> Result<(), Failure> {
            let (outs, pushed) = push("adjoint", graph, inputs, &subset, &tangents)?;
            let smooth_outs = outs.iter().filter(|o| o.dtype().is_differentiable());
            let pushed: Vec<Literal> =
                pushed.iter().zip(smooth_outs).map(|(t, o)| zero_where_nan(t, o)).collect();
            let gradients = pull("adjoint", graph, inputs, &subset, &cotangents)?;
            let (forward, reverse) = (inner(&cotangents, &pushed), inner(&gradients, &tangents));
            let noise = size(&cotangents) * size(&tangents);
            equal_products("adjoint", graph, noise, ("⟨c, J t⟩", forward), ("⟨Jᵀc, t⟩", reverse))
        };
        side().map_err(|f| f.operand(alone))?;
    }
    Ok(())
}

/// Compares inner products up to rounding. The error is relative to the magnitudes of their terms and, in
/// case those cancel earlier, to the sizes of the input vectors.
pub(super) fn equal_products(
    check: &str,
    graph: &Graph,
    noise: f64,
    (left, (a, a_scale)): (&str, (f64, f64)),
    (right, (b, b_scale)): (&str, (f64, f64)),
) -> Result<(), Failure> {
    let part = ADJOINT.max(64.0 * precision(graph));
    let off = (a - b).abs();
    let allowed = part * (a_scale + b_scale) + 1e-14 * (1.0 + noise);
    if off <= allowed {
        return Ok(());
    }
    let found = format!("{right} = {b:?} (off by {off:.3e}, allowed {allowed:.3e})");
    Err(Failure::new(check, format!("{left} = {a:?}"), found))
}
