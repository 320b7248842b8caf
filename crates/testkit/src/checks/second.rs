//! Derivatives of derivatives: the rules are graphs, so they must differentiate again.

use super::derivative::{adjoint, cotangents, equal_products, jvp, push};
use super::{differentiable, must};
use crate::Failure;
use crate::random::Random;
use crate::vector::{inner, size};
use gradus_ir::reference::evaluate;
use gradus_ir::transform;
use gradus_ir::{Graph, Literal};

/// The first-order checks hold for the vjp graph as a function of inputs and cotangents, and the adjoint
/// identity for the jvp graph; the second derivative is the same forward over reverse and forward over
/// forward, and symmetric where the graph is smooth.
pub fn second(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    let values = must("second", "a value", evaluate(graph, inputs))?;
    let nan = values.iter().any(|v| v.f().iter().any(|x| x.is_nan()) || v.c().iter().any(|z| z.is_nan()));
    // Where a value is NaN nothing is claimed of its curvature.
    if nan || wrt.is_empty() || !values.iter().any(|v| v.dtype().is_differentiable()) {
        return Ok(());
    }
    let mut random = Random::of(graph);
    let along = |random: &mut Random| -> Vec<Literal> {
        wrt.iter().map(|&i| random.literal(inputs[i].aval())).collect()
    };
    let (u, s, c) = (along(&mut random), along(&mut random), cotangents(&mut random, &values));
    let joined = |more: &[Literal]| -> Vec<Literal> { inputs.iter().chain(more).cloned().collect() };

    let reverse = must("second", "a vjp graph", transform::vjp(graph, &wrt))?;
    jvp(&reverse, &joined(&c), smooth).map_err(|f| f.within("second, of the vjp graph"))?;
    adjoint(&reverse, &joined(&c), smooth).map_err(|f| f.within("second, of the vjp graph"))?;
    let forward = must("second", "a jvp graph", transform::jvp(graph, &wrt))?;
    adjoint(&forward, &joined(&s), smooth).map_err(|f| f.within("second, of the jvp graph"))?;

    // D(Jᵀc)[u] · s and c · D(J s)[u] are both the second derivative along u and s, seen by c.
    let (_, bent) = push("second", &reverse, &joined(&c), &wrt, &u)?;
    let mixed = inner(&bent, &s);
    let twice = |s: &[Literal], u: &[Literal]| -> Result<(f64, f64), Failure> {
        let (_, tangents) = push("second", &forward, &joined(s), &wrt, u)?;
        // Tangents of the outputs come first, then those of their tangents.
        let (_, of_tangents) = tangents.split_at(tangents.len() / 2);
        Ok(inner(&c, of_tangents))
    };
    let straight = twice(&s, &u)?;
    let noise = size(&c) * size(&s) * size(&u);
    equal_products(
        "second",
        graph,
        noise,
        ("forward over forward", straight),
        ("forward over reverse", mixed),
    )?;
    if smooth {
        equal_products("second", graph, noise, ("D²[s, u]", straight), ("D²[u, s]", twice(&u, &s)?))?;
    }
    Ok(())
}
