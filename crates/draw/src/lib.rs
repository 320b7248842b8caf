//! Graphs as pictures: [`svg`] draws a graph, [`svg_with_gradients`] draws the gradient of every value beside
//! it, [`svg_with`] also numbers the nodes in the order of evaluation, [`dot`](fn@dot) writes Graphviz text;
//! [`svg_of_parts`] draws anything else that has parts, such as programs.
//!
//! Graphs inside a graph are boxes around their nodes. Every box and wire says in its tooltip what the graph's
//! text says of it. The same graph gives the same text, always.
#![forbid(unsafe_code)]

mod chart;
mod dot;
mod gradients;
mod label;
mod layout;
mod scene;
mod svg;

pub use chart::{Part, Role, svg_of_parts};
pub use dot::dot;

use gradus_ir::{Graph, Result};

/// What a drawing shows besides the graph itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Draws the gradients of all values between the outputs and these inputs, given by position.
    pub wrt: Option<&'a [usize]>,
    /// Numbers the nodes in the order in which they are evaluated, from `(1)` on. The numbers of gradients follow, in the
    /// order of the backward pass. Inputs and constants have none. A graph inside an op has numbers of its own.
    pub order: bool,
}

/// The graph drawn as SVG, operands above results: inputs blue, constants sand, outputs green, and graphs inside
/// ops as boxes around their nodes, unless that would make thousands of them.
pub fn svg(graph: &Graph) -> String {
    svg::write(&scene::scene(graph, None, false))
}

/// The graph drawn as SVG with the gradient of each value at its right: what it is called, how it is computed
/// from other gradients and values, and its type. Dashed arrows show how gradients flow back, from the cotangents
/// of the outputs (`g_0`, …) to the inputs of `wrt`; values that do not lie between have none.
pub fn svg_with_gradients(graph: &Graph, wrt: &[usize]) -> Result<String> {
    svg_with(graph, &Options { wrt: Some(wrt), order: false })
}

/// As [`svg`] and [`svg_with_gradients`], with options.
pub fn svg_with(graph: &Graph, options: &Options<'_>) -> Result<String> {
    let gradients = options.wrt.map(|wrt| gradients::Gradients::new(graph, wrt)).transpose()?;
    Ok(svg::write(&scene::scene(graph, gradients.as_ref(), options.order)))
}
