//! Checks derivatives of derivatives: the rules are graphs, so they must differentiate again.

use super::derivative::{ADJOINT, adjoint, cotangents, equal_products, forward, jvp, pull, push};
use super::{differentiable, precision, require};
use crate::Failure;
use crate::compare::{Allowed, compare, largest};
use crate::random::Random;
use crate::vector::{combine, inner, size};
use gradus_ir::reference::evaluate;
use gradus_ir::transform;
use gradus_ir::{Graph, Literal};

/// Runs the first-order checks for the vjp graph as a function of inputs and cotangents, and the adjoint
/// check for the jvp graph. Forward over reverse and forward over forward must give the same second
/// derivative. Where the graph is smooth, the second derivative is symmetric, so reverse over forward must
/// give equal entries.
pub fn second(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    let values = require("second", "a value", evaluate(graph, inputs))?;
    let nan = values.iter().any(|v| v.f().iter().any(|x| x.is_nan()) || v.c().iter().any(|z| z.is_nan()));
    // Where a value is NaN, its second derivative is not checked.
    if nan || wrt.is_empty() || !values.iter().any(|v| v.dtype().is_differentiable()) {
        return Ok(());
    }
    let mut random = Random::of(graph);
    let along = |random: &mut Random| -> Vec<Literal> {
        wrt.iter().map(|&i| random.literal(inputs[i].aval())).collect()
    };
    let (u, s, c) = (along(&mut random), along(&mut random), cotangents(&mut random, &values));
    let joined = |more: &[Literal]| -> Vec<Literal> { inputs.iter().chain(more).cloned().collect() };

    let reverse = require("second", "a vjp graph", transform::vjp(graph, &wrt))?;
    jvp(&reverse, &joined(&c), smooth).map_err(|f| f.within("second, of the vjp graph"))?;
    adjoint(&reverse, &joined(&c), smooth).map_err(|f| f.within("second, of the vjp graph"))?;
    let forward = require("second", "a jvp graph", transform::jvp(graph, &wrt))?;
    adjoint(&forward, &joined(&s), smooth).map_err(|f| f.within("second, of the jvp graph"))?;

    // D(Jᵀc)[u] · s and c · D(J s)[u] both equal the second derivative along u and s, contracted with c.
    let (_, gradient_slope) = push("second", &reverse, &joined(&c), &wrt, &u)?;
    let mixed = inner(&gradient_slope, &s);
    let twice = |s: &[Literal], u: &[Literal]| -> Result<(f64, f64), Failure> {
        let (_, tangents) = push("second", &forward, &joined(s), &wrt, u)?;
        // Tangents of the outputs come first, then those of their tangents.
        let (_, of_tangents) = tangents.split_at(tangents.len() / 2);
        Ok(inner(&c, of_tangents))
    };
    let forward_twice = twice(&s, &u)?;
    let noise = size(&c) * size(&s) * size(&u);
    equal_products(
        "second",
        graph,
        noise,
        ("forward over forward", forward_twice),
        ("forward over reverse", mixed),
    )?;
    if smooth {
        equal_products("second", graph, noise, ("D²[s, u]", forward_twice), ("D²[u, s]", twice(&u, &s)?))?;
        // ∇⟨c, J u⟩ is D(Jᵀc)[u]: the two modes in the other order.
        let zeros = values.iter().filter(|v| v.dtype().is_differentiable()).map(|v| combine(&[(0.0, v)]));
        let seeds: Vec<Literal> = zeros.chain(c.iter().cloned()).collect();
        let back = pull("second", &forward, &joined(&u), &wrt, &seeds)?;
        for ((&i, expected), found) in wrt.iter().zip(&gradient_slope).zip(&back) {
            let part = ADJOINT.max(64.0 * precision(graph));
            let limit = part * largest(expected).max(largest(found)) + 1e-13 * (1.0 + size(&c) * size(&u));
            compare(expected, found, Allowed::Each(&vec![limit; expected.data().len()])).map_err(|d| {
                Failure::new("second", "reverse over forward to be forward over reverse", d).operand(Some(i))
            })?;
        }
    }
    Ok(())
}

/// Checks the derivative of the second derivative (forward over reverse) where the graph is smooth. It must
/// equal central differences, and reverse mode must be its adjoint.
pub fn third(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    if !smooth || wrt.is_empty() || differentiable(&graph.output_avals()).is_empty() {
        return Ok(());
    }
    let mut random = Random::of(graph);
    let along = |random: &mut Random| -> Vec<Literal> {
        wrt.iter().map(|&i| random.literal(inputs[i].aval())).collect()
    };
    let values = require("third", "a value", evaluate(graph, inputs))?;
    let (c, u, w) = (cotangents(&mut random, &values), along(&mut random), along(&mut random));
    let reverse = require("third", "a vjp graph", transform::vjp(graph, &wrt))?;
    let second_order = require("third", "a jvp graph of the vjp graph", transform::jvp(&reverse, &wrt))?;
    let point: Vec<Literal> = inputs.iter().chain(&c).chain(&u).cloned().collect();
    let values = require("third", "a second derivative", evaluate(&second_order, &point))?;
    let slope = forward(&second_order, &point, &values, &wrt, &w, true);
    slope.map_err(|f| f.within("third, of the jvp graph of the vjp graph"))?;
    let (_, pushed) = push("third", &second_order, &point, &wrt, &w)?;
    let c = cotangents(&mut random, &values);
    let pulled = pull("third", &second_order, &point, &wrt, &c)?;
    let noise = size(&c) * size(&w) * (1.0 + size(&u));
    equal_products(
        "third",
        graph,
        noise,
        ("⟨c, D³ w⟩", inner(&c, &pushed)),
        ("⟨D³ᵀ c, w⟩", inner(&pulled, &w)),
    )
}
