//! The reference evaluator, which defines the meaning of every graph.
//!
//! It evaluates the forms that ops declare, one value at a time, in the exact carrier of each class (`f64`,
//! complex of `f64`, `i64`). Every other way to run a graph is compared with this one. Float results are rounded
//! to their dtype at the end and where a cast reads them; integers wrap at every op.

mod combine;
mod contract;
mod control;
mod index;
mod live;
mod movement;
mod pointwise;
mod strides;

pub use crate::size::{MAX_BYTES, check_bytes};
pub use combine::Combined;
pub use strides::Offsets;

use crate::graph::Id;
use crate::literal::Data;
use crate::ops::{Form, Op};
use crate::{Aval, DType, Error, Graph, Literal, Result, philox, size, stop};
use live::{Live, Value};
use std::panic::Location;

/// Returns the bytes of values in the carrier types of their classes.
fn carrier_bytes(avals: &[Aval]) -> usize {
    let bytes = |a: &Aval| a.shape.numel().saturating_mul(if a.dtype.is_complex() { 16 } else { 8 });
    avals.iter().map(bytes).fold(0, usize::saturating_add)
}

/// Evaluates a graph at these inputs. Returns its outputs.
#[track_caller]
pub fn evaluate(graph: &Graph, inputs: &[Literal]) -> Result<Vec<Literal>> {
    evaluate_live(graph, inputs, None)
}

/// Evaluates a graph. Returns its outputs, and the peak number of bytes held: each value counts from where it is
/// computed to where it is last read. Values that share their elements count once. Inputs count, and so do constants
/// where they are used.
#[track_caller]
pub fn evaluate_counted(graph: &Graph, inputs: &[Literal]) -> Result<(Vec<Literal>, usize)> {
    let live = Live::default();
    let outs = evaluate_live(graph, inputs, Some(&live))?;
    Ok((outs, live.peak()))
}

#[track_caller]
fn evaluate_live(graph: &Graph, inputs: &[Literal], live: Option<&Live>) -> Result<Vec<Literal>> {
    let location = Location::caller();
    let expected = graph.input_avals();
    let found: Vec<Aval> = inputs.iter().map(|l| l.aval().clone()).collect();
    if found != expected {
        let e = Error::shape(format!("inputs {found:?}"), format!("must be {expected:?}"));
        return Err(e.at(location));
    }
    rounded(evaluate_exact(graph, values(inputs, live), live).map_err(|e| e.or_at(location))?)
}

/// Evaluates one op. Returns its results, rounded to their dtypes.
pub fn apply(op: &Op, ins: &[Literal]) -> Result<Vec<Literal>> {
    let avals: Vec<Aval> = ins.iter().map(|l| l.aval().clone()).collect();
    let outs = op.infer(&avals)?;
    rounded(apply_exact(op, values(ins, None), &avals, &outs, None)?)
}

fn values<'l>(literals: &[Literal], live: Option<&'l Live>) -> Vec<Value<'l>> {
    literals.iter().map(|l| Value::new(l.clone(), live)).collect()
}

fn rounded(values: Vec<Value<'_>>) -> Result<Vec<Literal>> {
    let one = |v: Value<'_>| {
        let literal = (*v).clone();
        drop(v); // Unshared elements are rounded in place.
        literal.rounded()
    };
    // Results of loops that ended early are not rounded.
    stop::poll()?;
    Ok(values.into_iter().map(one).collect())
}

/// Evaluates without rounding. The op that reads a value last takes ownership of it.
fn evaluate_exact<'l>(
    graph: &Graph,
    inputs: Vec<Value<'l>>,
    live: Option<&'l Live>,
) -> Result<Vec<Value<'l>>> {
    let nodes = graph.nodes();
    let mut last_use: Vec<Vec<Option<usize>>> = nodes.iter().map(|n| vec![None; n.outs.len()]).collect();
    for (i, node) in nodes.iter().enumerate() {
        node.ins.iter().for_each(|id| last_use[id.node as usize][id.out as usize] = Some(i));
    }
    graph.outputs().iter().for_each(|id| last_use[id.node as usize][id.out as usize] = Some(usize::MAX));
    let mut inputs: Vec<Option<Value<'l>>> = inputs.into_iter().map(Some).collect();
    let mut values: Vec<Vec<Option<Value<'l>>>> = Vec::with_capacity(nodes.len());
    let gone = |id: &Id| Error::verify(format!("value %{}.{} is read after its last use", id.node, id.out));
    for (i, node) in nodes.iter().enumerate() {
        let outs = if let Op::Input(input) = &node.op {
            let missing = || Error::value("the inputs", format!("lack input {}", input.index));
            vec![inputs.get_mut(input.index).and_then(Option::take).ok_or_else(missing)?]
        } else {
            let mut ins: Vec<Value<'l>> = Vec::with_capacity(node.ins.len());
            for (k, id) in node.ins.iter().enumerate() {
                let (n, out) = (id.node as usize, id.out as usize);
                let is_last = last_use[n][out] == Some(i) && !node.ins[k + 1..].contains(id);
                let slot = &mut values[n][out];
                ins.push(if is_last { slot.take() } else { slot.clone() }.ok_or_else(|| gone(id))?);
            }
            let avals: Vec<Aval> = ins.iter().map(|l| l.aval().clone()).collect();
            apply_exact(&node.op, ins, &avals, &node.outs, live)?
        };
        values.push(outs.into_iter().zip(&last_use[i]).map(|(v, used)| used.map(|_| v)).collect());
    }
    let output = |id: &Id| values[id.node as usize][id.out as usize].clone().ok_or_else(|| gone(id));
    graph.outputs().iter().map(output).collect()
}

fn apply_exact<'l>(
    op: &Op,
    ins: Vec<Value<'l>>,
    avals: &[Aval],
    outs: &[Aval],
    live: Option<&'l Live>,
) -> Result<Vec<Value<'l>>> {
    size::check_bytes(carrier_bytes(outs)).map_err(|e| e.in_op(op.name(), avals))?;
    let literals = |ins: &[Value<'l>]| ins.iter().map(|v| (**v).clone()).collect::<Vec<Literal>>();
    let one = |(data, aval): (Data, &Aval)| Literal::new(aval.clone(), wrapped(data, aval.dtype));
    let results = match op.def().form(avals) {
        Form::Region(body) => evaluate_exact(&body, ins, live),
        Form::Switch(branches) => control::switch(&branches, ins, live),
        Form::Scan(scan) => control::scan(&scan, ins, outs, live),
        Form::While(op) => control::while_loop(&op, ins, live),
        Form::External { reference, .. } => reference(&literals(&ins)).map(|r| values(&r, live)),
        Form::Fourier(fft) => fft.run(&literals(&ins)).map(|r| values(&r, live)),
        form => form_data(&form, &literals(&ins), outs)
            .and_then(|data| data.into_iter().zip(outs).map(one).collect::<Result<Vec<_>>>())
            .map(|r| values(&r, live)),
    };
    results.and_then(|r| check_types(r, outs)).map_err(|e| e.in_op(op.name(), avals))
}

/// Returns an error if results have other types than the op inferred, because later ops rely on those types.
fn check_types<'l>(results: Vec<Value<'l>>, outs: &[Aval]) -> Result<Vec<Value<'l>>> {
    if results.iter().map(|v| v.aval()).eq(outs) {
        return Ok(results);
    }
    let found: Vec<&Aval> = results.iter().map(|v| v.aval()).collect();
    Err(Error::verify(format!("results of types {found:?} where {outs:?} are inferred")))
}

/// Wraps integers to their dtype; floats are unchanged.
fn wrapped(mut data: Data, dtype: DType) -> Data {
    if let Data::I(v) = &mut data
        && dtype != DType::I64
    {
        let chunks = std::sync::Arc::make_mut(v).chunks_mut(stop::STRIDE);
        chunks.take_while(|_| !stop::requested()).flatten().for_each(|x| *x = dtype.wrap(*x));
    }
    data
}

fn form_data(form: &Form, ins: &[Literal], outs: &[Aval]) -> Result<Vec<Data>> {
    let out = &outs[0];
    Ok(vec![match form {
        Form::Input => return Err(Error::verify("an input has no value of its own")),
        Form::Region(_)
        | Form::External { .. }
        | Form::Fourier(_)
        | Form::Switch(_)
        | Form::Scan(_)
        | Form::While(_) => {
            return Err(Error::verify("`form_data` cannot evaluate a form that holds graphs or a routine"));
        }
        Form::Constant(value) => value.data().clone(),
        Form::Iota { axis } => movement::iota(out, *axis),
        Form::Bits => return Ok(bits(&ins[0], out.shape.numel())),
        Form::Pointwise(scalar) => pointwise::pointwise(*scalar, ins, out)?,
        Form::View(map) => movement::view(&ins[0], map, &out.shape)?,
        Form::Reshape => ins[0].data().clone(),
        Form::Pad { low, interior } => movement::pad(&ins[0], low, interior, &out.shape),
        Form::Concat { axis } => movement::concat(ins, *axis, out)?,
        Form::Reduce { combine, axes } => combine::reduce(&ins[0], *combine, axes),
        Form::ArgReduce { largest, axis } => combine::arg_reduce(&ins[0], *largest, *axis),
        Form::Cumulate { combine, axis, reverse } => combine::cumulate(&ins[0], *combine, *axis, *reverse),
        Form::Contract { lhs, rhs, out: labels } => contract::contract(&ins[0], &ins[1], lhs, rhs, labels),
        Form::Convolve(window) => contract::convolve(&ins[0], &ins[1], window, out),
        Form::Fold(window) => contract::fold(&ins[0], window, out),
        Form::Take { axis } => index::take(&ins[0], &ins[1], *axis)?,
        Form::Scatter { axis, combine } => index::scatter(ins, *axis, *combine)?,
        Form::Sort { axis, descending, first } => {
            return Ok(index::sort(&ins[0], *axis, *descending, *first));
        }
    }])
}

fn bits(state: &Literal, n: usize) -> Vec<Data> {
    let word = |i: usize| state.i().get(i).copied().unwrap_or(0) as u32;
    let state = [word(0), word(1), word(2), word(3)];
    let mut words = Vec::with_capacity(n);
    philox::fill_bits(state, |w| words.push(w as i64), n);
    let next = philox::advance(state, n).map(|w| w as i64).to_vec();
    vec![words.into(), next.into()]
}
