//! Checks that a graph verifies, evaluates to values of the types it infers, and is unchanged by printing and
//! parsing.

use super::{differentiable, require, same_types};
use crate::Failure;
use crate::compare::{Allowed, compare};
use gradus_ir::graph::parse;
use gradus_ir::reference::evaluate;
use gradus_ir::transform;
use gradus_ir::{Graph, Literal};

/// Checks that the graph verifies, and evaluates to values of the types it infers that these types can
/// represent.
pub fn types(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    require("types", "a graph that verifies", graph.verify())?;
    let outs = require("types", "a value", evaluate(graph, inputs))?;
    same_types("types", "outputs", &graph.output_avals(), &outs)?;
    for out in &outs {
        if out.data().len() != out.shape().numel() {
            let expected = format!("{} elements of {}", out.shape().numel(), out.aval());
            return Err(Failure::new("types", expected, out.data().len()));
        }
        let rounded = out.clone().rounded();
        compare(&rounded, out, Allowed::Exact)
            .map_err(|d| Failure::new("types", format!("numbers of {}", out.dtype()), d))?;
    }
    Ok(())
}

/// Checks that the printed and parsed graph has the same hash, text and values; and so do its jvp and vjp
/// graphs.
pub fn text(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    let again = round_trip(graph)?;
    let (expected, found) = (
        require("text", "a value", evaluate(graph, inputs))?,
        require("text", "a value", evaluate(&again, inputs))?,
    );
    // Attributes missing from the text are missing from the hash too; only the values reveal them.
    for (expected, found) in expected.iter().zip(&found) {
        compare(expected, found, Allowed::Exact)
            .map_err(|d| Failure::new("text", "the parsed graph to have the same values", d))?;
    }
    let wrt = differentiable(&graph.input_avals());
    if wrt.is_empty() {
        return Ok(());
    }
    // A transform that fails is reported by the derivative checks.
    for derived in [transform::jvp(graph, &wrt), transform::vjp(graph, &wrt)].into_iter().flatten() {
        round_trip(&derived)?;
    }
    Ok(())
}

fn round_trip(graph: &Graph) -> Result<Graph, Failure> {
    let written = graph.to_string();
    let again = require("text", &format!("the text to parse\n{written}"), parse(&written))?;
    let read = again.to_string();
    if read != written {
        return Err(Failure::new("text", format!("the same text\n{written}"), read));
    }
    if again.canonical_hash() != graph.canonical_hash() {
        return Err(Failure::new("text", format!("the same hash of\n{written}"), "another"));
    }
    Ok(again)
}
