//! Draws graphs. [`svg`] draws a graph; [`svg_with_gradients`] also draws the gradient of every value next to
//! the value; [`svg_with`] can also number the nodes in the order of evaluation. [`dot`](fn@dot) writes
//! Graphviz text. [`svg_of_parts`] draws any parts that depend on each other, such as the equations of a
//! program.
//!
//! Nested graphs are boxes around their nodes. Tooltips of boxes and wires contain the graph's text. The same
//! graph always gives the same drawing.
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

/// Options of a drawing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// If given, draws the gradients of all values between the outputs and the inputs with these indices.
    pub wrt: Option<&'a [usize]>,
    /// If true, numbers the nodes from `(1)` on in the order in which they are evaluated. The numbers of
    /// gradients follow, in the order of the backward pass. Inputs and constants have no number. Nodes of a
    /// nested graph are numbered separately.
    pub order: bool,
}

/// Draws a graph as SVG, with operands above results. Inputs are blue, constants sand-coloured, outputs
/// green. Nested graphs are boxes around their nodes. They are not drawn if the drawing would have thousands
/// of nodes.
pub fn svg(graph: &Graph) -> String {
    svg::write(&scene::scene(graph, None, false))
}

/// Draws a graph as SVG, with the gradient of each value to the right of it. A gradient has a name, a type,
/// and an expression of other gradients and values. Dashed arrows show the flow of gradients from the
/// cotangents of the outputs (`g_0`, …) to the inputs `wrt`. Values that are not on a path between them have
/// no gradient.
pub fn svg_with_gradients(graph: &Graph, wrt: &[usize]) -> Result<String> {
    svg_with(graph, &Options { wrt: Some(wrt), order: false })
}

/// Draws a graph as SVG, with gradients and numbers as the options select.
pub fn svg_with(graph: &Graph, options: &Options<'_>) -> Result<String> {
    let gradients = options.wrt.map(|wrt| gradients::Gradients::new(graph, wrt)).transpose()?;
    Ok(svg::write(&scene::scene(graph, gradients.as_ref(), options.order)))
}
