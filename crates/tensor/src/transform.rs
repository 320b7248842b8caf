//! Transforms of functions over tensors: derivatives, batching, rematerialization.
//!
//! Each transform traces its function at the types of the operands, transforms the graph, and calls the
//! result.
//! Captured cells and nodes of an enclosing trace become operands of that call. Transforms therefore work
//! eagerly, inside a trace, and inside another transform, and gradients flow to captured tensors.

use crate::axis::resolve;
use crate::eager::apply::{call, try_apply};
use crate::region::trace_rule;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_function, trace_function_named};
use gradus_ir::ops::call::Call;
use gradus_ir::transform::Unreachable;
use gradus_ir::{Aval, DType, Error, Graph, Result, Shape, Term, message, transform};
use std::panic::Location;
use std::sync::Arc;

/// A reusable linear map between lists of tensors. Its errors name the source location where it was made.
pub type LinearMap = Box<dyn Fn(&[&Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

/// A function traced at the types of its operands; captured tensors follow the operands.
struct TracedFn {
    graph: Arc<Graph>,
    operands: Vec<Tensor>,
    /// Number of operands that are the function's own.
    own: usize,
}

impl TracedFn {
    #[track_caller]
    fn new<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<TracedFn> {
        let mut avals = Vec::with_capacity(ins.len());
        for t in ins {
            avals.extend(t.check()?.aval());
        }
        TracedFn::at(&avals, ins.iter().map(|t| (*t).clone()).collect(), f)
    }

    /// Traces the function at these types. Errors without a location get the caller's: every function from
    /// the transform down to here is `track_caller`.
    #[track_caller]
    fn at<R: Outputs>(
        avals: &[Aval],
        mut operands: Vec<Tensor>,
        f: impl FnOnce(&[Tensor]) -> R,
    ) -> Result<TracedFn> {
        let location = Location::caller();
        let traced = trace_function(avals, f).map_err(|e| e.or_at(location))?;
        let own = operands.len();
        if traced.written.is_empty() {
            operands.extend(traced.captured);
            return Ok(TracedFn { graph: traced.graph, operands, own });
        }
        let graph = apply_writes(avals, &mut operands, traced).map_err(|e| e.or_at(location))?;
        Ok(TracedFn { graph, operands, own })
    }

    #[track_caller]
    fn call(&self, name: &str, graph: &Arc<Graph>, more: &[&Tensor]) -> Result<Vec<Tensor>> {
        let operands: Vec<&Tensor> = self.operands.iter().chain(more.iter().copied()).collect();
        call(name, graph, &operands)
    }

    /// Returns a graph of the function's outputs, then the gradients of the first output for the own operands.
    /// The first output must be a real scalar.
    #[track_caller]
    fn with_gradients(&self, unreachable: Unreachable) -> Result<Graph> {
        let Some(loss) = self.graph.outputs().first() else {
            let why = "a gradient needs a function that returns a real scalar; this one returns nothing";
            return Err(Error::gradient(why).at(Location::caller()));
        };
        if self.own > 0 && self.wrt().is_empty() {
            let types = &self.graph.input_avals()[..self.own];
            let why = message!("operands ", types, " have no derivatives: only float and complex values do");
            return Err(Error::gradient(why).at(Location::caller()));
        }
        let wrt = self.wrt().into_iter().map(|i| self.graph.inputs()[i].1);
        transform::grad_with_loss(&self.graph, *loss, wrt, unreachable)
    }

    /// Returns the graph of the gradients alone.
    #[track_caller]
    fn gradients(&self) -> Result<Graph> {
        let both = self.with_gradients(Unreachable::Zeros)?;
        let gradients: Vec<usize> = (self.graph.outputs().len()..both.outputs().len()).collect();
        both.with_outputs(&gradients)
    }

    /// Returns the own operands that have derivatives.
    fn wrt(&self) -> Vec<usize> {
        (0..self.own).filter(|&i| self.operands[i].dtype().is_differentiable()).collect()
    }

    /// Computes the Jacobian of a graph of one result for its first input. The graph has the inputs of the
    /// function.
    #[track_caller]
    fn jacobian(&self, graph: &Graph) -> Result<Tensor> {
        let location = Location::caller();
        transform::check_wrt(graph, 0).map_err(|e| e.at(location))?;
        let (from, to) = (graph.input_avals()[0].clone(), graph.output_avals()[0].clone());
        if from.dtype.is_complex() || to.dtype.is_complex() || !to.dtype.is_differentiable() {
            let why = message!("a Jacobian needs a real function; this one maps ", from, " to ", to);
            return Err(Error::gradient(why).at(location));
        }
        let shape: Shape = to.shape.iter().chain(from.shape.iter()).copied().collect();
        let forward = from.shape.numel() < to.shape.numel();
        let (directional, directions) = if forward {
            (transform::jvp(graph, &[0])?.with_outputs(&[1])?, basis(&from))
        } else {
            (transform::vjp(graph, &[0])?, basis(&to))
        };
        let mut axes = vec![None; directional.inputs().len()];
        if let Some(last) = axes.last_mut() {
            *last = Some(0);
        }
        let all = Arc::new(transform::vmap(&directional, &axes, directions.dim(0))?);
        let rows = self.call("jacobian", &all, &[&directions])?.remove(0);
        let rows = if forward { rows.movedim(0, -1) } else { rows };
        Ok(rows.reshape(shape))
    }

    /// Checks the tangents: one for each differentiable operand.
    #[track_caller]
    fn tangents(&self, given: &[&Tensor]) -> Result<Vec<Tensor>> {
        let expected: Vec<Aval> = self.wrt().iter().filter_map(|&i| self.operands[i].aval()).collect();
        check_types("tangents", &expected, given)
    }

    /// Checks the cotangents: one for each differentiable output.
    #[track_caller]
    fn cotangents(&self, given: &[&Tensor]) -> Result<Vec<Tensor>> {
        let outs: Vec<Aval> =
            self.graph.output_avals().into_iter().filter(|a| a.dtype.is_differentiable()).collect();
        check_types("cotangents", &outs, given)
    }
}

/// Applies the function's writes to cells once. Returns the graph of its own outputs, and adds the captured
/// tensors to `operands`; written cells keep the value that they had before the writes.
fn apply_writes(avals: &[Aval], operands: &mut Vec<Tensor>, traced: TracedFunction) -> Result<Arc<Graph>> {
    if traced.written.iter().any(Tensor::requires_grad) {
        return Err(Error::trace(message!(
            "a transformed function cannot write ",
            Term::Cell,
            " that requires gradients; return its new value instead"
        )));
    }
    let (all, of_writes) = (traced.graph.outputs().len(), traced.written.len());
    let writes = traced.graph.with_outputs(&(all - of_writes..all).collect::<Vec<_>>())?;
    let given: Vec<Option<Aval>> = operands.iter().map(|t| t.aval()).collect();
    let now = |t: &Tensor| match traced.written.iter().any(|w| w.is_same(t)) {
        true => t.stop_gradient(),
        false => t.clone(),
    };
    operands.extend(traced.captured.iter().map(now));
    let mut point = operands.clone();
    for (i, aval) in avals.iter().enumerate().filter(|(i, a)| given[*i].as_ref() != Some(*a)) {
        // A cell has one value, but a batch would write several.
        if writes.reaches(writes.inputs()[i].1) {
            let why = "with a value that differs between elements of the batch";
            return Err(Error::trace(message!(
                "a function over a batch cannot write ",
                Term::Cell,
                " ",
                why
            )));
        }
        point[i] = Tensor::zeros_of(aval);
    }
    let values = call("writes", &Arc::new(writes), &point.iter().collect::<Vec<_>>())?;
    for (cell, value) in traced.written.iter().zip(&values) {
        cell.data_().set_(&value.detach())?;
    }
    Ok(Arc::new(traced.graph.with_outputs(&(0..all - of_writes).collect::<Vec<_>>())?))
}

/// Returns an error if the types differ from those expected.
#[track_caller]
fn check_types(what: &str, expected: &[Aval], given: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut found = Vec::new();
    for t in given {
        found.extend(t.check()?.aval());
    }
    if found != expected {
        let e = Error::shape(message!(what, " of types ", found), message!("must be ", expected));
        return Err(e.at(Location::caller()));
    }
    Ok(given.iter().map(|t| (*t).clone()).collect())
}

/// Returns the outputs of a function, and the map from cotangents of its differentiable outputs to gradients
/// of its differentiable operands.
#[track_caller]
pub fn vjp<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<(Vec<Tensor>, LinearMap)> {
    vjp_within(ins, f, usize::MAX)
}

/// As [`vjp`], but returns an error if the function has more than `most` operations. Repeated differentiation
/// multiplies the number of operations.
#[track_caller]
pub fn vjp_within<R: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    most: usize,
) -> Result<(Vec<Tensor>, LinearMap)> {
    let program = TracedFn::new(ins, f)?;
    if most < usize::MAX {
        let own = program.graph.stats().nodes;
        if own > most as u64 {
            let why = format!("has {own} operations to differentiate, at most {most} are allowed");
            return Err(Error::value("the function", why));
        }
    }
    let outs = program.call("f", &program.graph, &[])?;
    let pull = Arc::new(transform::vjp(&program.graph, &program.wrt())?);
    let location = Location::caller();
    let map = move |cts: &[&Tensor]| {
        let pulled = |cts: Vec<Tensor>| program.call("vjp", &pull, &cts.iter().collect::<Vec<_>>());
        program.cotangents(cts).and_then(pulled).map_err(|e| e.at(location))
    };
    Ok((outs, Box::new(map) as LinearMap))
}

/// Returns the outputs of a function, and their tangents along tangents of all its differentiable operands.
#[track_caller]
pub fn jvp<R: Outputs>(
    ins: &[&Tensor],
    tangents: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let program = TracedFn::new(ins, f)?;
    let tangents = program.tangents(tangents)?;
    let push = Arc::new(transform::jvp(&program.graph, &program.wrt())?);
    let mut outs = program.call("jvp", &push, &tangents.iter().collect::<Vec<_>>())?;
    let touts = outs.split_off(program.graph.outputs().len());
    Ok((outs, touts))
}

/// Returns the outputs of a function, and its linearization: a reusable map from tangents to tangents.
#[track_caller]
pub fn linearize<R: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, LinearMap)> {
    let program = TracedFn::new(ins, f)?;
    let outs = program.call("f", &program.graph, &[])?;
    let push = transform::jvp(&program.graph, &program.wrt())?;
    let n = program.graph.outputs().len();
    let tangents: Vec<usize> = (n..push.outputs().len()).collect();
    let push = Arc::new(push.with_outputs(&tangents)?);
    let location = Location::caller();
    let map = move |ts: &[&Tensor]| {
        let pushed = |ts: Vec<Tensor>| program.call("linear", &push, &ts.iter().collect::<Vec<_>>());
        program.tangents(ts).and_then(pushed).map_err(|e| e.at(location))
    };
    Ok((outs, Box::new(map) as LinearMap))
}

/// Returns the outputs of a function whose first output is a real scalar, and the gradients of that scalar
/// for all differentiable operands. A gradient is zero where none flows.
#[track_caller]
pub fn value_and_grad<R: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    value_and_grad_as(ins, Unreachable::Zeros, f)
}

/// As [`value_and_grad`], with a choice for operands that no gradient reaches.
#[track_caller]
pub fn value_and_grad_as<R: Outputs>(
    ins: &[&Tensor],
    unreachable: Unreachable,
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let program = TracedFn::new(ins, f)?;
    let both = Arc::new(program.with_gradients(unreachable)?);
    let mut outs = program.call("value_and_grad", &both, &[])?;
    let grads = outs.split_off(program.graph.outputs().len());
    Ok((outs, grads))
}

/// Returns the outputs of a function, and the gradients of its first output, a real scalar, for the cells
/// that it reads. A gradient is zero where none flows. A model with its loss is such a function: its cells
/// are the parameters.
///
/// The function runs once, so it may write cells (statistics, random generators), which then hold their new
/// values.
///
/// ```
/// use gradus_tensor::{All, Tensor, value_and_grad_of};
/// let w = Tensor::from([1.0, 2.0]).requires_grad_();
/// let (loss, grads) = value_and_grad_of(&[&w], || w.square().sum(All))?;
/// assert_eq!(loss[0].item::<f64>()?, 5.0);
/// assert_eq!(grads[0].to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn value_and_grad_of<R: Outputs>(
    cells: &[&Tensor],
    f: impl FnOnce() -> R,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let location = Location::caller();
    let traced = trace_function_named(&[""; 0], &[], |_| f()).map_err(|e| e.or_at(location))?;
    let Some(loss) = traced.graph.outputs().first().copied() else {
        return Err(Error::gradient(
            "a gradient needs a function that returns a real scalar; this one returns nothing",
        )
        .at(location));
    };
    let read: Vec<Option<usize>> =
        cells.iter().map(|c| traced.captured.iter().position(|t| t.is_same(c))).collect();
    let wrt = read.iter().flatten().map(|&i| traced.graph.inputs()[i].1);
    let both = transform::grad_with_loss(&traced.graph, loss, wrt, Unreachable::Zeros);
    let both = Arc::new(both.map_err(|e| e.or_at(location))?);
    let operands: Vec<&Tensor> = traced.captured.iter().collect();
    let mut outs = call("value_and_grad", &both, &operands)?;
    let mut grads = outs.split_off(traced.graph.outputs().len()).into_iter();
    let written = outs.split_off(outs.len() - traced.written.len());
    for (cell, value) in traced.written.iter().zip(&written) {
        cell.data_().set_(value)?;
    }
    let flowing = |(i, c): (&Option<usize>, &&Tensor)| match i {
        Some(_) => grads.next().unwrap_or_else(|| c.zeros_like()),
        None => c.zeros_like(),
    };
    let grads = read.iter().zip(cells).map(flowing).collect();
    Ok((outs, grads))
}

/// Returns the gradients of a function whose first output is a real scalar, for all differentiable operands.
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
    value_and_grad(ins, f).map(|(_, grads)| grads)
}

/// Returns the product of the Hessian of a scalar function with a vector, computed forward over reverse.
/// Costs a few evaluations of the function, independent of the number of operands.
#[track_caller]
pub fn hvp<R: Outputs>(
    ins: &[&Tensor],
    vectors: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let program = TracedFn::new(ins, f)?;
    let vectors = program.tangents(vectors)?;
    let push = transform::jvp(&program.gradients()?, &program.wrt())?;
    let mut outs = program.call("hvp", &Arc::new(push), &vectors.iter().collect::<Vec<_>>())?;
    Ok(outs.split_off(vectors.len()))
}

/// Returns the rows of the identity matrix of `aval`'s element count, each in its shape: `[n, shape…]`.
fn basis(aval: &Aval) -> Tensor {
    let n = aval.shape.numel();
    let identity = Tensor::iota(DType::I64, [n, n], 0).eq(&Tensor::iota(DType::I64, [n, n], 1));
    let shape: Shape = [n].iter().chain(aval.shape.iter()).copied().collect();
    identity.to_dtype(aval.dtype).reshape(shape)
}

/// Returns the derivative of a function of one real tensor to one real tensor, with the output's axes first
/// and then the input's. Uses forward mode if the input is smaller, else reverse mode, with all directions in
/// one batch.
#[track_caller]
pub fn jacobian(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Result<Tensor> {
    let program = TracedFn::new(&[x], |x| f(&x[0]))?;
    program.jacobian(&program.graph)
}

/// Returns the second derivative of a real scalar function of one real tensor: the Jacobian of its gradient.
#[track_caller]
pub fn hessian(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Result<Tensor> {
    let program = TracedFn::new(&[x], |x| f(&x[0]))?;
    program.jacobian(&program.gradients()?)
}

/// Maps a function over a batch. Each operand is sliced along its axis, or shared if the axis is `None`;
/// results are stacked along a new first axis.
#[track_caller]
pub fn vmap<R: Outputs>(
    ins: &[&Tensor],
    axes: &[Option<isize>],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    if axes.len() != ins.len() {
        let why = format!("must be {}, one per operand", ins.len());
        return Err(Error::value(format!("{} batch axes", axes.len()), why).at(location));
    }
    let (mut inner, mut batch_axes, mut size) = (Vec::new(), Vec::new(), None);
    for (t, axis) in ins.iter().zip(axes) {
        let Some(aval) = t.check()?.aval() else { continue };
        let Some(axis) = axis else {
            inner.push(aval);
            batch_axes.push(None);
            continue;
        };
        let axis = resolve(*axis, aval.rank()).map_err(|e| e.at(location))?;
        let n = aval.shape[axis];
        if *size.get_or_insert(n) != n {
            let why = format!("and another operand {}: a batch has one extent", size.unwrap_or(0));
            return Err(Error::shape(format!("an operand has a batch of {n}"), why).at(location));
        }
        inner.push(aval.with_shape(aval.shape.without(&[axis])));
        batch_axes.push(Some(axis));
    }
    let Some(size) = size else {
        return Err(Error::value("the batch axes", "must not all be None").at(location));
    };
    let program = TracedFn::at(&inner, ins.iter().map(|t| (*t).clone()).collect(), f)?;
    batch_axes.resize(program.operands.len(), None);
    let graph = Arc::new(transform::vmap(&program.graph, &batch_axes, size)?);
    program.call("vmap", &graph, &[])
}

/// Calls a function whose intermediate values are recomputed for the gradient instead of stored. Saves memory
/// at the cost of time, also if the compiler inlines regions.
#[track_caller]
pub fn checkpoint<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Vec<Tensor>> {
    let program = TracedFn::new(ins, f)?;
    let again = Call::new("checkpoint", Vec::new(), program.graph.clone()).with_remat();
    try_apply(again, &program.operands.iter().collect::<Vec<_>>())
}

/// Calls a function with an explicit gradient: `rule(operands, results, cotangents)` returns a gradient per
/// operand. The rule must be linear in the cotangents; forward mode is its transpose. Function and rule are
/// traced, so they can be differentiated again.
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
    let location = Location::caller();
    with_rule("custom_vjp", ins, f, Graph::output_avals, Call::with_grad, rule).map_err(|e| e.at(location))
}

/// Calls a function with explicit tangents: `rule(operands, results, tangents)` returns a tangent per result.
/// The rule must be linear in the tangents; reverse mode is its transpose. Function and rule are traced, so
/// they can be differentiated again.
#[track_caller]
pub fn custom_jvp<R: Outputs, G: Outputs>(
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    with_rule("custom_jvp", ins, f, Graph::input_avals, Call::with_jvp, rule).map_err(|e| e.at(location))
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
    let program = TracedFn::new(ins, f)?;
    let traced = trace_rule(&program.graph, directions(&program.graph), rule)?;
    if program.own < program.operands.len() || !traced.captured.is_empty() || !traced.written.is_empty() {
        return Err(Error::trace(
            "a function with its own derivative must take everything it reads as an operand",
        ));
    }
    let own = traced.graph;
    try_apply(attach(Call::new(name, Vec::new(), program.graph), own), ins)
}
