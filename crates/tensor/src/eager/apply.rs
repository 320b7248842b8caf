//! Applies ops to tensors: every operation passes through [`try_apply`].
//! Takes an op and its operands; returns results that are recorded in a trace, recorded on the tape, or plain
//! data.
//! `execute.rs` runs the op on data, `tape.rs` records it for gradients, `trace.rs` adds it to a graph.

use crate::arg::{Arg, Number};
use crate::data::Data;
use crate::eager::execute::execute;
use crate::eager::pointwise::Second;
use crate::eager::tape::Edge;
use crate::eager::{call_cache, pointwise, tape};
use crate::tensor::{Inner, Tensor};
use crate::trace;
use gradus_ir::attr::Attr;
use gradus_ir::ops::Pointwise;
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, DType, Error, Graph, Op, Result};
use std::panic::Location;
use std::sync::Arc;

/// Applies an op. Returns an error if the operands do not fit the op.
#[track_caller]
pub fn try_apply(op: impl Into<Op>, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
    let (op, location) = (op.into(), Location::caller());
    match try_pointwise(&op, ins, location) {
        Some(t) => Ok(vec![t]),
        None => apply_generally(op, ins, location),
    }
}

fn try_pointwise(op: &Op, ins: &[&Tensor], location: &'static Location<'static>) -> Option<Tensor> {
    let Op::Map(map) = op else { return None };
    match ins {
        [a] => pointwise_directly(map.0, a, None, location),
        [a, b] => pointwise_directly(map.0, a, Some(Arg::Tensor(b)), location),
        _ => None,
    }
}

/// Applies a pointwise op to one or two operands that are data, without allocating operand lists. Returns
/// `None` in every other case, errors included; the caller then takes the general path.
pub(crate) fn pointwise_directly(
    op: &'static Pointwise,
    first: &Tensor,
    second: Option<Arg<'_>>,
    location: &'static Location<'static>,
) -> Option<Tensor> {
    match second {
        None => first.with_data_locked(|a| pointwise_on_data(op, &[first], a, Second::None, location)),
        Some(Arg::Number(n)) => {
            let n = Second::Number(n.real()?);
            first.with_data_locked(|a| pointwise_on_data(op, &[first], a, n, location))
        }
        Some(Arg::Tensor(second)) => {
            let on =
                |a: &Data, b: &Data| pointwise_on_data(op, &[first, second], a, Second::Data(b), location);
            // Holds the lock of at most one cell: two threads that lock the same two cells in opposite order
            // would deadlock.
            match second.is_cell() {
                true => first.with_data(|a| second.with_data(|b| on(a, b))),
                false => first.with_data_locked(|a| second.with_data(|b| on(a, b))),
            }
        }
    }
}

fn pointwise_on_data(
    op: &'static Pointwise,
    ins: &[&Tensor],
    a: &Data,
    b: Second<'_>,
    location: &'static Location<'static>,
) -> Option<Tensor> {
    let (storage, plans) = pointwise::run(op, a, b)?;
    if op.predicate {
        return Some(Tensor::data(Data::row_major(storage, &a.aval.with_dtype(DType::Bool))));
    }
    let value = |i: usize| match (i, b) {
        (0, _) => Tensor::with(|| Inner::Data(a.clone(), None)),
        (_, Second::Data(b)) => Tensor::with(|| Inner::Data(b.clone(), None)),
        (_, Second::Number(x)) => Number::Float(x).filled(&a.aval),
        (_, Second::None) => {
            Tensor::failed(Error::verify("a pointwise op of one operand reads a second operand"))
        }
    };
    let out = || Data::row_major(storage.clone(), &a.aval);
    // Each branch constructs the result in its final location, which saves a move.
    match tape::record_pointwise(op, plans, ins, value, out, a.aval.dtype, location).ok()? {
        None => Some(Tensor::with(|| Inner::Data(Data::row_major(storage, &a.aval), None))),
        Some(node) => {
            let edge = Some(Edge { node, out: 0 });
            Some(Tensor::with(|| Inner::Data(Data::row_major(storage, &a.aval), edge)))
        }
    }
}

fn apply_generally(op: Op, ins: &[&Tensor], location: &'static Location<'static>) -> Result<Vec<Tensor>> {
    for t in ins {
        t.check()?;
    }
    let avals = || ins.iter().filter_map(|t| t.aval()).collect::<Vec<Aval>>();
    if let Some(trace) = trace::for_operands(ins) {
        return trace.apply(op.clone(), ins, location).map_err(|e| e.in_op(op.name(), &avals()).at(location));
    }
    run_eagerly(&op, ins, location).map_err(|e| e.in_op(op.name(), &avals()).at(location))
}

fn run_eagerly(op: &Op, ins: &[&Tensor], location: &'static Location<'static>) -> Result<Vec<Tensor>> {
    if let Some(outs) = call_cache::run_op(op, ins) {
        return outs;
    }
    let datas = ins.iter().map(|t| t.concrete()).collect::<Result<Vec<Data>>>()?;
    let outs = execute(op, &datas)?;
    if !tape::is_grad_enabled() || ins.iter().all(|t| !t.requires_grad()) {
        return Ok(outs.into_iter().map(Tensor::data).collect());
    }
    let (of_ins, of_outs): (Vec<&Data>, Vec<&Data>) = (datas.iter().collect(), outs.iter().collect());
    let node = tape::record(op, ins, &of_ins, &of_outs, location)?;
    let wrap = |(out, data): (usize, Data)| {
        let node = node.as_ref().filter(|_| data.aval.dtype.is_differentiable());
        let edge = node.map(|node| Edge { node: node.clone(), out });
        Tensor::new(Inner::Data(data, edge))
    };
    Ok(outs.into_iter().enumerate().map(wrap).collect())
}

/// Applies an op; a failure becomes a failed tensor.
#[track_caller]
pub fn apply(op: impl Into<Op>, ins: &[&Tensor]) -> Vec<Tensor> {
    try_apply(op, ins).unwrap_or_else(|e| vec![Tensor::failed(e)])
}

/// Applies an op of one result; a failure becomes a failed tensor.
#[track_caller]
pub fn apply1(op: impl Into<Op>, ins: &[&Tensor]) -> Tensor {
    let (op, location) = (op.into(), Location::caller());
    if let Some(t) = try_pointwise(&op, ins, location) {
        return t;
    }
    match apply_generally(op, ins, location) {
        Ok(mut outs) if !outs.is_empty() => outs.swap_remove(0),
        Ok(_) => Tensor::failed(Error::verify("an op without results was used as a value")),
        Err(e) => Tensor::failed(e),
    }
}

/// Applies an op of `N` results; a failure becomes `N` failed tensors.
#[track_caller]
pub fn apply_n<const N: usize>(op: impl Into<Op>, ins: &[&Tensor]) -> [Tensor; N] {
    let outs = try_apply(op, ins).and_then(|outs| {
        outs.try_into().map_err(|v: Vec<Tensor>| {
            Error::verify(format!("an op has {} results, but its caller expects {N}", v.len()))
        })
    });
    outs.unwrap_or_else(|e| std::array::from_fn(|_| Tensor::failed(e.clone())))
}

/// Runs a graph on tensors, as one call: eagerly with autograd, or as a region of the trace being recorded.
#[track_caller]
pub fn call(name: &str, graph: &Arc<Graph>, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
    try_apply(Call::new(name, Vec::<(String, Attr)>::new(), graph.clone()), ins)
}
