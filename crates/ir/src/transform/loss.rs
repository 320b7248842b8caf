//! A loss and its gradients as one program.

use super::vjp::{check_wrt, vjp_into};
use crate::graph::{Builder, Id, Var};
use crate::{Error, Graph, Result};
use std::panic::Location;

/// What becomes of an input that gradients are asked for and that nothing flows to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// An error that names it: a forgotten connection is found where it is forgotten.
    Error,
    /// Zeros: in training, some parameters may not take part in every step.
    Zeros,
}

/// An input of a graph: positions change when a program does, these do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrt<'a> {
    /// By name.
    Name(&'a str),
    /// By the value that it is.
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
    /// Its position among the inputs, which carry derivatives.
    fn position(self, graph: &Graph) -> Result<usize> {
        let at = match self {
            Wrt::Name(name) => graph.input(name)?,
            Wrt::Id(id) => graph.inputs().iter().position(|(_, i)| *i == id).ok_or_else(|| {
                let names: Vec<&str> = graph.inputs().iter().map(|(n, _)| n.as_str()).collect();
                let why = format!("is not an input of the graph; those are {}", names.join(", "));
                Error::value(format!("%{}.{}", id.node, id.out), why)
            })?,
        };
        check_wrt(graph, at).map(|()| at)
    }
}

/// The graph of the same inputs that gives a loss, the other outputs, and the gradients of the loss for some inputs.
/// The loss is one of the outputs, a real scalar; the forward values are computed once for all three.
///
/// An input is reached if a derivative flows to it: a path through ops without derivatives (comparisons, rounding,
/// `stop_gradient`) is none, one through an operand of a loop or choice is.
///
/// ```
/// use gradus_ir::transform::{Unreachable, grad_with_loss};
/// use gradus_ir::{Aval, Builder, DType};
/// let b = Builder::new();
/// let x = b.input("x", Aval::new(DType::F64, [3]));
/// let loss = (x * x).sum(&[0]);
/// let graph = b.finish(&[loss]).unwrap();
/// let both = grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error).unwrap();
/// assert_eq!(both.output_avals()[1].to_string(), "f64[3]");
/// ```
#[track_caller]
pub fn grad_with_loss<'a, W: Into<Wrt<'a>>>(
    graph: &Graph,
    loss: Id,
    wrt: impl IntoIterator<Item = W>,
    unreachable: Unreachable,
) -> Result<Graph> {
    let place = Location::caller();
    let wrt: Vec<Wrt<'a>> = wrt.into_iter().map(W::into).collect();
    joint(graph, loss, &wrt, unreachable).map_err(|e| e.or_at(place))
}

fn joint(graph: &Graph, loss: Id, wrt: &[Wrt<'_>], unreachable: Unreachable) -> Result<Graph> {
    let Some(at) = graph.outputs().iter().position(|id| *id == loss) else {
        let why = format!("is not an output of the graph, which has {}", graph.outputs().len());
        return Err(Error::value(format!("the loss %{}.{}", loss.node, loss.out), why));
    };
    let aval = graph.aval(loss);
    if aval.rank() != 0 || !aval.dtype.is_differentiable() || aval.dtype.is_complex() {
        return Err(Error::gradient(format!("a gradient is of a real scalar, and the loss is {aval}")));
    }
    let wrt = wrt.iter().map(|w| w.position(graph)).collect::<Result<Vec<usize>>>()?;
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
    let mut needs = vec![false; ins.len()];
    wrt.iter().for_each(|&i| needs[i] = true);
    let mut cts = vec![None; graph.outputs().len()];
    cts[at] = Some(b.full(aval, 1.0));
    let (mut outs, grads) = vjp_into(&b, graph, &ins, &cts, &needs);
    // An error of a rule comes first: after one, what flows says nothing.
    if let (None, Unreachable::Error, Some(i)) =
        (b.error(), unreachable, wrt.iter().find(|&&i| grads[i].is_none()))
    {
        let (name, id) = &graph.inputs()[*i];
        let why = format!("no derivative of the loss flows to input `{name}` ({})", graph.aval(*id));
        return Err(Error::gradient(why));
    }
    outs[..=at].rotate_right(1);
    outs.extend(wrt.iter().map(|&i| grads[i].unwrap_or_else(|| b.zeros(&ins[i].aval()))));
    let outs: Vec<Id> = outs.into_iter().map(Var::id).collect();
    b.into_graph(&outs)
}
