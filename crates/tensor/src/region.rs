//! Composites: functions over tensors that run, print and differentiate as one named call. Takes a name,
//! arguments, operands and a body; returns the results of a `call` op, whose graph is traced once for each
//! combination of types. `func/` holds the composites, `call_cache.rs` the programs that this thread used
//! last.

use crate::eager::apply::try_apply;
use crate::eager::call_cache;
use crate::eager::plan::BoundedCache;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_body};
use gradus_ir::attr::{Attr, AttrField};
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, Error, Graph, Op, Result, Term, message};
use std::panic::Location;
use std::sync::Arc;

/// Arguments of a composite in addition to its operands. They are printed and are part of the cache key.
pub type Args = Vec<(String, Attr)>;

/// An argument by name.
pub fn arg(name: &str, value: impl AttrField) -> (String, Attr) {
    (name.to_string(), value.to_attr())
}

type Key = (&'static str, Args, Vec<Aval>);

static REGIONS: BoundedCache<Key, Op> = BoundedCache::new();

/// Calls a function of the operands as one region.
///
/// The function is traced once per name, arguments and operand types. Its result may depend on nothing else,
/// so everything that it reads from outside must be in `ins` or `args`. Eagerly the region is one call with
/// one tape node; in a trace it stays a named call.
#[track_caller]
pub fn region<R: Outputs>(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    apply_cached(name, args, ins, f, Ok)
}

/// As [`region`], for a function of one result; a failure becomes a failed tensor.
#[track_caller]
pub fn region1(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> Tensor,
) -> Tensor {
    first(region(name, args, ins, f))
}

/// As [`region1`], with an explicit gradient: `grad(operands, result, cotangent)` returns a gradient per
/// operand and must be linear in the cotangent. It must equal the derivative of the body, computed more
/// cheaply; forward mode is its transpose. A gradient that is itself a region appears by name in gradient
/// graphs.
#[track_caller]
pub fn region1_with_grad<G: Outputs>(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> Tensor,
    grad: impl FnOnce(&[Tensor], &Tensor, &Tensor) -> G,
) -> Tensor {
    first(apply_cached(name, args, ins, f, |call| {
        let traced = trace_rule(&call.body, call.body.output_avals(), |x, y, g| grad(x, &y[0], &g[0]))?;
        Ok(call.with_grad(require_closed(name, traced)?))
    }))
}

fn first(outs: Result<Vec<Tensor>>) -> Tensor {
    match outs {
        Ok(mut outs) => outs.swap_remove(0),
        Err(e) => Tensor::failed(e),
    }
}

/// Applies the cached call for this name, these arguments and types; traces the body on a miss.
#[track_caller]
fn apply_cached<R: Outputs>(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
    finish: impl FnOnce(Call) -> Result<Call>,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    if let Some(outs) = call_cache::run(name, &args, ins) {
        return outs.map_err(|e| e.in_call(name).at(location));
    }
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        avals.extend(t.check()?.aval());
    }
    let make = || {
        let body = require_closed(name, trace_body(&avals, f)?)?;
        let op = Op::from(finish(Call::new(name, args.clone(), body))?);
        Ok(((name, args.clone(), avals.clone()), op))
    };
    let is = |(n, a, i): &Key, _: &Op| *n == name && *a == args && *i == avals;
    let op =
        REGIONS.get_or_make(&(name, &args, &avals), is, make).map_err(|e| e.in_call(name).at(location))?;
    let outs = try_apply(op.clone(), ins).map_err(|e| e.in_call(name).at(location))?;
    // Cached after the call has succeeded, because caching ignores errors, such as an interrupt by Ctrl-C.
    call_cache::remember(name, &args, ins, &op);
    Ok(outs)
}

/// Returns the graph of a function that reads only its operands, or an error.
fn require_closed(name: &str, traced: TracedFunction) -> Result<Arc<Graph>> {
    if traced.captured.is_empty() {
        return Ok(traced.graph);
    }
    Err(Error::trace(message!("`", name, "` uses ", Term::Cell, " or outer value that is not an operand")))
}

/// Traces a derivative rule of a function as a graph over operands, results and directions of these types.
pub(crate) fn trace_rule<G: Outputs>(
    body: &Graph,
    directions: Vec<Aval>,
    rule: impl FnOnce(&[Tensor], &[Tensor], &[Tensor]) -> G,
) -> Result<TracedFunction> {
    let (ins, outs) = (body.input_avals(), body.output_avals());
    let (n, m) = (ins.len(), outs.len());
    let types: Vec<Aval> = ins.into_iter().chain(outs).chain(directions).collect();
    trace_body(&types, |v| rule(&v[..n], &v[n..n + m], &v[n + m..]))
}
