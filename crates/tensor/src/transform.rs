//! Transforms of functions over tensors: derivatives, batches, rematerialisation.
//!
//! Each traces its function at the types of the operands, transforms the graph, and calls the result. What the
//! function captures (cells, nodes of an enclosing trace) becomes an operand of that call, so that a transform works
//! eagerly, inside a trace, and inside another transform, and gradients flow to what was captured.

use crate::apply::{call, try_apply};
use crate::axis::resolve;
use crate::tensor::Tensor;
use crate::trace::{Outputs, trace_function};
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, DType, Error, Graph, Result, Shape, transform};
use std::panic::Location;
use std::sync::Arc;

/// A linear map between lists of tensors, to be used as often as one likes.
pub type LinearMap = Box<dyn Fn(&[&Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

/// A function traced at the types of its operands, with what it captured behind them.
struct Program {
    graph: Arc<Graph>,
    operands: Vec<Tensor>,
    /// How many operands are the function's own.
    own: usize,
}

impl Program {
    fn new<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Program> {
        let mut avals = Vec::with_capacity(ins.len());
        for t in ins {
            avals.extend(t.check()?.aval());
        }
        Program::at(&avals, ins.iter().map(|t| (*t).clone()).collect(), f)
    }

    fn at<R: Outputs>(
        avals: &[Aval],
        mut operands: Vec<Tensor>,
        f: impl FnOnce(&[Tensor]) -> R,
    ) -> Result<Program> {
        let traced = trace_function(avals, f)?;
        if !traced.written.is_empty() {
            return Err(Error::trace(
                "a transformed function writes a cell; give its new value back instead",
            ));
        }
        let own = operands.len();
        operands.extend(traced.captured);
        Ok(Program { graph: traced.graph, operands, own })
    }

    fn call(&self, name: &str, graph: &Arc<Graph>, more: &[&Tensor]) -> Result<Vec<Tensor>> {
        let operands: Vec<&Tensor> = self.operands.iter().chain(more.iter().copied()).collect();
        call(name, graph, &operands)
    }

    /// A derivative rule of the function as a graph over operands, results and directions.
    fn rule<G: Outputs>(
        &self,
        directions: Vec<Aval>,
        rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
    ) -> Result<Arc<Graph>> {
        let (ins, outs) = (self.graph.input_avals(), self.graph.output_avals());
        let (n, m) = (ins.len(), outs.len());
        let types: Vec<Aval> = ins.into_iter().chain(outs).chain(directions).collect();
        let traced = trace_function(&types, |v| rule(&v[..n], &v[n..n + m], &v[n + m..]))?;
        if self.own < self.operands.len() || !traced.captured.is_empty() || !traced.written.is_empty() {
            return Err(Error::trace(
                "a function with its own derivative must take everything it reads as an operand",
            ));
        }
        Ok(traced.graph)
    }

    /// The function's own operands that carry derivatives.
    fn wrt(&self) -> Vec<usize> {
        (0..self.own).filter(|&i| self.operands[i].dtype().is_differentiable()).collect()
    }

    /// Cotangents behind the inputs: one for each differentiable output.
    fn cotangents(&self, given: &[&Tensor]) -> Result<Vec<Tensor>> {
        let outs: Vec<Aval> =
            self.graph.output_avals().into_iter().filter(|a| a.dtype.is_differentiable()).collect();
        matching("cotangents", &outs, given)
    }
}

/// Refuses values of other types than expected.
fn matching(what: &str, expected: &[Aval], given: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut found = Vec::new();
    for t in given {
        found.extend(t.check()?.aval());
    }
    if found != expected {
        return Err(Error::shape(format!("{what} of types {found:?}"), format!("must be {expected:?}")));
    }
    Ok(given.iter().map(|t| (*t).clone()).collect())
}

/// The one output that a gradient is taken of: a real scalar.
fn scalar_loss(graph: &Graph) -> Result<()> {
    match graph.output_avals().first() {
        Some(a) if a.rank() == 0 && a.dtype.is_differentiable() && !a.dtype.is_complex() => Ok(()),
        a => {
            let what = a.map_or_else(|| "nothing".to_string(), |a| a.to_string());
            Err(Error::gradient(format!(
                "a gradient is of a real scalar, and the function gives {what} first"
            )))
        }
    }
}

/// Outputs of a function and the map from cotangents of its differentiable outputs to gradients of its
/// differentiable operands.
#[track_caller]
pub fn vjp<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<(Vec<Tensor>, LinearMap)> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(ins, f)?;
        let outs = program.call("f", &program.graph, &[])?;
        let pull = Arc::new(transform::vjp(&program.graph, &program.wrt())?);
        let map = move |cts: &[&Tensor]| {
            let cts = program.cotangents(cts)?;
            program.call("vjp", &pull, &cts.iter().collect::<Vec<_>>())
        };
        Ok((outs, Box::new(map) as LinearMap))
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// Outputs of a function and their tangents along tangents of all its differentiable operands.
#[track_caller]
pub fn jvp<R: Outputs>(
    ins: &[&Tensor],
    tangents: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(ins, f)?;
        let wrt = program.wrt();
        let expected: Vec<Aval> = wrt.iter().filter_map(|&i| program.operands[i].aval()).collect();
        let tangents = matching("tangents", &expected, tangents)?;
        let push = Arc::new(transform::jvp(&program.graph, &wrt)?);
        let mut outs = program.call("jvp", &push, &tangents.iter().collect::<Vec<_>>())?;
        let touts = outs.split_off(program.graph.outputs().len());
        Ok((outs, touts))
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// Outputs of a function, and its linear part there: a map from tangents to tangents that can be used again.
#[track_caller]
pub fn linearize<R: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, LinearMap)> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(ins, f)?;
        let outs = program.call("f", &program.graph, &[])?;
        let wrt = program.wrt();
        let push = transform::jvp(&program.graph, &wrt)?;
        let n = program.graph.outputs().len();
        let tangents: Vec<usize> = (n..push.outputs().len()).collect();
        let push = Arc::new(push.with_outputs(&tangents)?);
        let map = move |ts: &[&Tensor]| {
            let expected: Vec<Aval> = wrt.iter().filter_map(|&i| program.operands[i].aval()).collect();
            let ts = matching("tangents", &expected, ts)?;
            program.call("linear", &push, &ts.iter().collect::<Vec<_>>())
        };
        Ok((outs, Box::new(map) as LinearMap))
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// Outputs of a function whose first output is a real scalar (the others come along), and the gradients of that
/// scalar for all differentiable operands.
#[track_caller]
pub fn value_and_grad<R: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(ins, f)?;
        scalar_loss(&program.graph)?;
        let outs = program.call("f", &program.graph, &[])?;
        let loss = program.graph.with_outputs(&[0])?;
        let gradient = Arc::new(transform::vjp(&loss, &program.wrt())?);
        let one = Tensor::full_of(&loss.output_avals()[0], 1.0);
        Ok((outs, program.call("grad", &gradient, &[&one])?))
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// Gradients of a function whose first output is a real scalar, for all differentiable operands.
///
/// ```
/// use gradus_tensor::{Tensor, grad};
/// let x = Tensor::from(2.0f64);
/// let slope = |x: &Tensor| grad(&[x], |x| x[0].pow(3.0)).unwrap().remove(0);
/// let curvature = grad(&[&x], |x| slope(&x[0])).unwrap().remove(0);
/// assert_eq!(curvature.item::<f64>().unwrap(), 12.0);
/// ```
#[track_caller]
pub fn grad<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    value_and_grad(ins, f).map(|(_, grads)| grads).map_err(|e| e.or_at(place))
}

/// The product of the Hessian of a scalar function with a vector, forward over reverse: a few times the cost of the
/// function, whatever the number of operands.
#[track_caller]
pub fn hvp<R: Outputs>(
    ins: &[&Tensor],
    vectors: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let gradient =
        |x: &[Tensor]| grad(&x.iter().collect::<Vec<_>>(), f).unwrap_or_else(|e| vec![Tensor::failed(e)]);
    jvp(ins, vectors, gradient).map(|(_, products)| products).map_err(|e| e.or_at(place))
}

/// The rows of an identity of `aval`'s element count, each in its shape: `[n, shape…]`.
fn basis(aval: &Aval) -> Tensor {
    let n = aval.shape.numel();
    let identity = Tensor::iota(DType::I64, [n, n], 0).eq(&Tensor::iota(DType::I64, [n, n], 1));
    let shape: Shape = [n].iter().chain(aval.shape.iter()).copied().collect();
    identity.to_dtype(aval.dtype).reshape(shape)
}

/// The derivative of a function of one real tensor to one real tensor, with the output's axes first and then the
/// input's. Forward mode where the input is the smaller, reverse mode otherwise, all directions in one batch.
#[track_caller]
pub fn jacobian(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Result<Tensor> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(&[x], |x| f(&x[0]))?;
        let (from, to) = (program.graph.input_avals()[0].clone(), program.graph.output_avals()[0].clone());
        if from.dtype.is_complex() || to.dtype.is_complex() || !to.dtype.is_differentiable() {
            let why = format!("a Jacobian is of a real function, and this one goes from {from} to {to}");
            return Err(Error::gradient(why));
        }
        let shape: Shape = to.shape.iter().chain(from.shape.iter()).copied().collect();
        let forward = from.shape.numel() < to.shape.numel();
        let (graph, directions) = if forward {
            (transform::jvp(&program.graph, &[0])?.with_outputs(&[1])?, basis(&from))
        } else {
            (transform::vjp(&program.graph, &[0])?, basis(&to))
        };
        let mut axes = vec![None; graph.inputs().len()];
        if let Some(last) = axes.last_mut() {
            *last = Some(0);
        }
        let all = Arc::new(transform::vmap(&graph, &axes, directions.dim(0))?);
        let rows = program.call("jacobian", &all, &[&directions])?.remove(0);
        let rows = if forward { rows.movedim(0, -1) } else { rows };
        Ok(rows.reshape(shape))
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// The second derivative of a real scalar function of one real tensor: the Jacobian of its gradient.
#[track_caller]
pub fn hessian(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Result<Tensor> {
    let place = Location::caller();
    let gradient = |x: &Tensor| match grad(&[x], |x| f(&x[0])) {
        Ok(mut grads) => grads.remove(0),
        Err(e) => Tensor::failed(e),
    };
    jacobian(x, gradient).map_err(|e| e.or_at(place))
}

/// A function over a batch: each operand is cut along its axis (`None` is shared by all), the results are stacked
/// along a new first axis.
#[track_caller]
pub fn vmap<R: Outputs>(
    ins: &[&Tensor],
    axes: &[Option<isize>],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let make = || {
        if axes.len() != ins.len() {
            return Err(Error::value(format!("{} batch axes", axes.len()), format!("must be {}", ins.len())));
        }
        let (mut inner, mut places, mut size) = (Vec::new(), Vec::new(), None);
        for (t, axis) in ins.iter().zip(axes) {
            let Some(aval) = t.check()?.aval() else { continue };
            let Some(axis) = axis else {
                inner.push(aval);
                places.push(None);
                continue;
            };
            let axis = resolve(*axis, aval.rank())?;
            let n = aval.shape[axis];
            if *size.get_or_insert(n) != n {
                let why = format!("and another operand {}: a batch has one extent", size.unwrap_or(0));
                return Err(Error::shape(format!("an operand has a batch of {n}"), why));
            }
            inner.push(aval.with_shape(aval.shape.without(&[axis])));
            places.push(Some(axis));
        }
        let Some(size) = size else { return Err(Error::value("the batch axes", "must not all be None")) };
        let program = Program::at(&inner, ins.iter().map(|t| (*t).clone()).collect(), f)?;
        places.resize(program.operands.len(), None);
        let graph = Arc::new(transform::vmap(&program.graph, &places, size)?);
        program.call("vmap", &graph, &[])
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// A function whose inner values are not kept for its gradient but computed again: memory for time.
#[track_caller]
pub fn checkpoint<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let make = || {
        let program = Program::new(ins, f)?;
        program.call("checkpoint", &program.graph, &[])
    };
    make().map_err(|e: Error| e.or_at(place))
}

/// A function with a gradient of its own: `rule(operands, results, cotangents)` gives a gradient per operand. It must be
/// linear in the cotangents; forward mode is then its transpose. Both are traced, so they differentiate again.
///
/// ```
/// use gradus_tensor::{Tensor, custom_vjp};
/// let x = Tensor::from([0.2, 1.7]).requires_grad_();
/// // Rounding that passes gradients through.
/// let y = custom_vjp(&[&x], |x| x[0].round(), |_, _, g| g[0].clone()).unwrap().remove(0);
/// (y * 3.0).sum(()).backward().unwrap();
/// assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [3.0, 3.0]);
/// ```
#[track_caller]
pub fn custom_vjp<R: Outputs, G: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    with_rule("custom_vjp", ins, f, Graph::output_avals, Call::with_grad, rule).map_err(|e| e.at(place))
}

/// A function with tangents of its own: `rule(operands, results, tangents)` gives a tangent per result. It must be
/// linear in the tangents; reverse mode is then its transpose. Both are traced, so they differentiate again.
#[track_caller]
pub fn custom_jvp<R: Outputs, G: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    with_rule("custom_jvp", ins, f, Graph::input_avals, Call::with_jvp, rule).map_err(|e| e.at(place))
}

/// Calls a function as a region with a derivative rule, which takes directions of these types.
fn with_rule<R: Outputs, G: Outputs>(
    name: &str,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    directions: fn(&Graph) -> Vec<Aval>,
    attach: fn(Call, Arc<Graph>) -> Call,
    rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
) -> Result<Vec<Tensor>> {
    let program = Program::new(ins, f)?;
    let own = program.rule(directions(&program.graph), rule)?;
    try_apply(attach(Call::new(name, Vec::new(), program.graph), own), ins)
}
