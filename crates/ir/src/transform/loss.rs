//! Builds a loss and its gradients as one graph.
//! Takes a graph, its loss and the values to differentiate by; returns one graph of loss, outputs and gradients.
//! The backward walk is in `vjp.rs`.

use super::vjp::{check_wrt, cotangents_for};
use crate::graph::{Builder, Id, Var};
use crate::{Error, Graph, Result, message};
use std::panic::Location;

/// The gradient of an input that no derivative reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// An error that names the input, so that a forgotten connection is noticed.
    Error,
    /// Zeros: in training, some parameters may not take part in every step.
    Zeros,
}

/// A value of a graph for which gradients are requested: an input by name, or any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrt<'a> {
    /// An input, by name.
    Name(&'a str),
    /// Any value of the graph: an input, an intermediate value or an output.
    Id(Id),
}

impl<'a> From<&'a str> for Wrt<'a> {
    fn from(name: &'a str) -> Wrt<'a> {
        Wrt::Name(name)
    }
}

impl From<Id> for Wrt<'_> {
    fn from(id: Id) -> Self {
        Wrt::Id(id)
    }
}

impl Wrt<'_> {
    /// Returns the id of the value, which must exist and be differentiable.
    fn id(self, graph: &Graph) -> Result<Id> {
        let id = match self {
            Wrt::Name(name) => graph.inputs()[graph.input(name)?].1,
            Wrt::Id(id) => id,
        };
        let known = graph.nodes().get(id.node as usize).is_some_and(|n| (id.out as usize) < n.outs.len());
        if !known {
            let names: Vec<&str> = graph.inputs().iter().map(|(n, _)| n.as_str()).collect();
            let why = format!("is not a value of the graph; its inputs are {}", names.join(", "));
            return Err(Error::value(format!("%{}.{}", id.node, id.out), why));
        }
        match graph.inputs().iter().position(|(_, input)| *input == id) {
            Some(at) => check_wrt(graph, at)?,
            None if graph.aval(id).dtype.is_differentiable() => {}
            None => {
                let what = format!("value {} is ", describe(graph, id));
                let why = message!(what, graph.aval(id), ": only float and complex values have derivatives");
                return Err(Error::gradient(why));
            }
        }
        Ok(id)
    }
}

/// Returns the name of a value for messages: the name of an input; for any other value, its id in the graph's
/// text and its op.
fn describe(graph: &Graph, id: Id) -> String {
    match graph.inputs().iter().find(|(_, input)| *input == id) {
        Some((name, _)) => format!("`{name}`"),
        None => format!("%{}.{} ({})", id.node, id.out, graph.nodes()[id.node as usize].op.name()),
    }
}

/// Returns a graph of the same inputs that computes a loss, the other outputs, and the gradients of the loss for some
/// values. The loss is one of the outputs, a real scalar; the forward values are computed once for all.
///
/// Gradients may be requested for any value; that of an intermediate value sums the contributions of all its uses. A
/// value is reached if a derivative flows to it. Derivatives do not flow through ops without derivatives
/// (comparisons, rounding, `stop_gradient`); they do flow through every operand of a loop or switch.
///
/// ```
/// use gradus_ir::transform::{Unreachable, grad_with_loss};
/// use gradus_ir::{Aval, Builder, DType};
/// let b = Builder::new();
/// let x = b.input("x", Aval::new(DType::F64, [3]));
/// let loss = (x * x).sum(&[0]);
/// let graph = b.finish(&[loss])?;
/// let both = grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error)?;
/// assert_eq!(both.output_avals()[1].to_string(), "f64[3]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn grad_with_loss<'a, W: Into<Wrt<'a>>>(
    graph: &Graph,
    loss: Id,
    wrt: impl IntoIterator<Item = W>,
    unreachable: Unreachable,
) -> Result<Graph> {
    let location = Location::caller();
    let wrt: Vec<Wrt<'a>> = wrt.into_iter().map(W::into).collect();
    grad_graph(graph, loss, &wrt, unreachable, Seed::One).map_err(|e| e.or_at(location))
}

/// As [`grad_with_loss`], for a loss of any shape, real or complex. The graph has one more input after the others,
/// `d_output`, the cotangent of the loss, and returns the gradients of `Σ ⟨loss, d_output⟩`.
///
/// ```
/// use gradus_ir::transform::{Unreachable, grad_with_cotangent};
/// use gradus_ir::{Aval, Builder, DType};
/// let b = Builder::new();
/// let x = b.input("x", Aval::new(DType::F64, [3]));
/// let graph = b.finish(&[x * x])?;
/// let both = grad_with_cotangent(&graph, graph.outputs()[0], ["x"], Unreachable::Error)?;
/// assert_eq!(both.inputs()[1].0, "d_output");
/// assert_eq!(both.output_avals()[1].to_string(), "f64[3]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn grad_with_cotangent<'a, W: Into<Wrt<'a>>>(
    graph: &Graph,
    loss: Id,
    wrt: impl IntoIterator<Item = W>,
    unreachable: Unreachable,
) -> Result<Graph> {
    let location = Location::caller();
    let wrt: Vec<Wrt<'a>> = wrt.into_iter().map(W::into).collect();
    grad_graph(graph, loss, &wrt, unreachable, Seed::Input).map_err(|e| e.or_at(location))
}

/// The cotangent of the loss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seed {
    /// The constant 1, for a real scalar.
    One,
    /// An input of the graph.
    Input,
}

fn grad_graph(
    graph: &Graph,
    loss: Id,
    wrt: &[Wrt<'_>],
    unreachable: Unreachable,
    seed: Seed,
) -> Result<Graph> {
    let Some(at) = graph.outputs().iter().position(|id| *id == loss) else {
        let why = format!("is not an output of the graph, which has {}", graph.outputs().len());
        return Err(Error::value(format!("the loss %{}.{}", loss.node, loss.out), why));
    };
    let aval = graph.aval(loss);
    if seed == Seed::One && (aval.rank() != 0 || !aval.dtype.is_differentiable() || aval.dtype.is_complex()) {
        return Err(Error::gradient(message!(
            "a loss must be a real scalar to have gradients; this one is ",
            aval
        )));
    }
    if !aval.dtype.is_differentiable() {
        let why = message!("the loss is ", aval, ": only float and complex values have derivatives");
        return Err(Error::gradient(why));
    }
    let wrt = wrt.iter().map(|w| w.id(graph)).collect::<Result<Vec<Id>>>()?;
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
    let mut cts = vec![None; graph.outputs().len()];
    cts[at] = Some(match seed {
        Seed::One => b.full(aval, 1.0),
        Seed::Input => b.input("d_output", aval.clone()),
    });
    let mut needed = vec![false; graph.nodes().len()];
    wrt.iter().for_each(|id| needed[id.node as usize] = true);
    let (values, found) = cotangents_for(&b, graph, &ins, &cts, |i, _| needed[i]);
    let value = |id: &Id| values[id.node as usize][id.out as usize];
    let grad = |id: &Id| found[id.node as usize][id.out as usize];
    // If a rule failed, its error is reported instead: it is then unreliable which values are reached.
    if let (None, Unreachable::Error, Some(id)) =
        (b.error(), unreachable, wrt.iter().find(|id| grad(id).is_none()))
    {
        let what = match graph.inputs().iter().any(|(_, input)| input == id) {
            true => "input",
            false => "value",
        };
        let what = format!("no derivative of the loss flows to {what} {} (", describe(graph, *id));
        let why = message!(what, graph.aval(*id), ")");
        return Err(Error::gradient(why));
    }
    let mut outs: Vec<Var<'_>> = graph.outputs().iter().map(value).collect();
    outs[..=at].rotate_right(1);
    outs.extend(wrt.iter().map(|id| grad(id).unwrap_or_else(|| b.zeros(graph.aval(*id)))));
    let outs: Vec<Id> = outs.into_iter().map(Var::id).collect();
    b.into_graph(&outs)
}
