//! Batching: applies a graph over a leading axis of some inputs, as one graph.
//! Takes a graph and the batch axis of each input; returns a graph whose outputs have the batch first.
//! The rules are declared by the ops.

use crate::graph::{Builder, Id, Var};
use crate::ops::{Batch, Op};
use crate::{Error, Graph, Result};
use std::panic::Location;

/// Returns the graph over a batch of `size`. Inputs with an axis in `axes` have the batch there, the others are
/// shared; every output has the batch as its first axis.
#[track_caller]
pub fn vmap(graph: &Graph, axes: &[Option<usize>], size: usize) -> Result<Graph> {
    let location = Location::caller();
    build_vmap(graph, axes, size).map_err(|e| e.or_at(location))
}

fn build_vmap(graph: &Graph, axes: &[Option<usize>], size: usize) -> Result<Graph> {
    if axes.len() != graph.inputs().len() {
        let why = format!("must be {}, one per input", graph.inputs().len());
        return Err(Error::value(format!("{} batch axes", axes.len()), why));
    }
    let b = Builder::new();
    let mut ins: Vec<Option<Var<'_>>> = Vec::new();
    for ((name, id), axis) in graph.inputs().iter().zip(axes) {
        let inner = graph.aval(*id);
        let Some(axis) = *axis else {
            ins.push(Some(b.input(name, inner.clone())));
            continue;
        };
        if axis > inner.rank() {
            return Err(Error::new(crate::Kind::Axis { axis: axis as i64, rank: inner.rank() + 1 }));
        }
        let mut shape = inner.shape.to_vec();
        shape.insert(axis, size);
        let x = b.input(name, inner.with_shape(shape));
        let order: Vec<usize> = [axis].into_iter().chain((0..=inner.rank()).filter(|a| *a != axis)).collect();
        ins.push(Some(x.permute(&order)));
    }
    let ins: Vec<Var<'_>> = ins.into_iter().flatten().collect();
    let batched: Vec<bool> = axes.iter().map(Option::is_some).collect();
    let outs = vmap_into(&b, graph, &ins, &batched, size);
    b.finish(&outs)
}

/// As [`vmap`], with the batch axis first in the inputs that have one.
pub fn vmap_mask(graph: &Graph, batched: &[bool], size: usize) -> Result<Graph> {
    let axes: Vec<Option<usize>> = batched.iter().map(|b| b.then_some(0)).collect();
    build_vmap(graph, &axes, size)
}

/// Builds the outputs of a graph over a batch, each with the batch as its first axis.
pub fn vmap_into<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    batched: &[bool],
    size: usize,
) -> Vec<Var<'g>> {
    let mut values: Vec<(Vec<Var<'g>>, bool)> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let entry = if let Op::Input(input) = &node.op {
            match (ins.get(input.index), batched.get(input.index)) {
                (Some(v), Some(batched)) => (vec![*v], *batched),
                _ => (vec![b.fail(Error::value("the inputs", format!("lack input {}", input.index)))], false),
            }
        } else {
            let of = |id: &Id| (values[id.node as usize].0[id.out as usize], values[id.node as usize].1);
            let (operands, batched): (Vec<Var<'g>>, Vec<bool>) = node.ins.iter().map(of).unzip();
            // Values that do not depend on the batch are computed once.
            if batched.iter().any(|b| *b) {
                let batch = Batch { builder: b, op: &node.op, ins: &operands, batched: &batched, size };
                let outs = b.from_origin(&node.origin, || node.op.def().batch(&batch));
                check_shapes(b, &node.op, &outs, node.outs.iter().map(|a| &a.shape[..]), size);
                (padded(outs, node.outs.len(), b), true)
            } else {
                let outs = b.from_origin(&node.origin, || b.apply(node.op.clone(), &operands));
                (padded(outs, node.outs.len(), b), false)
            }
        };
        values.push(entry);
    }
    let out = |id: &Id| {
        let (outs, batched) = &values[id.node as usize];
        let v = outs[id.out as usize];
        let wide = || [size].into_iter().chain(v.shape().iter().copied()).collect();
        if *batched { v } else { v.broadcast_to(&wide()) }
    };
    graph.outputs().iter().map(out).collect()
}

/// Fills up the results of a failed application, which returns one placeholder.
fn padded<'g>(mut outs: Vec<Var<'g>>, count: usize, b: &'g Builder) -> Vec<Var<'g>> {
    let first =
        outs.first().copied().unwrap_or_else(|| b.fail(Error::verify("a batching rule returned no results")));
    outs.resize(count, first);
    outs
}

/// Reports an error if results are not the op's own with the batch axis in front.
fn check_shapes<'s>(
    b: &Builder,
    op: &Op,
    outs: &[Var<'_>],
    inner: impl Iterator<Item = &'s [usize]>,
    size: usize,
) {
    if b.error().is_some() {
        return;
    }
    for (out, inner) in outs.iter().zip(inner) {
        let shape = out.shape();
        if shape.first() != Some(&size) || shape[1..] != *inner {
            let why = format!(
                "the batching rule of {} gives {shape} for {inner:?} in a batch of {size}",
                op.name()
            );
            b.fail(Error::verify(why));
        }
    }
}
