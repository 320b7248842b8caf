//! Running one op on data: views share storage, small pointwise ops run in place, all else is evaluated by the
//! reference.

use crate::data::Data;
use gradus_ir::ops::{Form, Pointwise, Scalar};
use gradus_ir::{Aval, DType, Error, Kind, Literal, Op, Result, reference};
use gradus_mem::{Pod, Storage};

/// The results of an op on data.
pub(crate) fn execute(op: &Op, ins: &[Data]) -> Result<Vec<Data>> {
    let avals: Vec<Aval> = ins.iter().map(|d| d.aval.clone()).collect();
    if let Some(result) = pointwise(op, &avals, ins) {
        return result.map(|d| vec![d]);
    }
    let outs = op.infer(&avals)?;
    match op.def().form(&avals) {
        Form::View(map) => return Ok(vec![ins[0].view(&map, &outs[0].shape)]),
        Form::Pointwise(Scalar::Identity) => return Ok(vec![ins[0].clone()]),
        Form::Reshape => {
            if let Some(view) = ins[0].reshaped(&outs[0].shape) {
                return Ok(vec![view]);
            }
        }
        _ => {}
    }
    let literals = ins.iter().map(Data::literal).collect::<Result<Vec<Literal>>>()?;
    reference::apply(op, &literals)?.iter().map(Data::from_literal).collect()
}

/// A float type that computes through `f64`, as the reference does.
trait Real: Pod {
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
}

impl Real for f32 {
    fn wide(self) -> f64 {
        self as f64
    }
    fn narrow(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn narrow(x: f64) -> f64 {
        x
    }
}

/// A row of the table on one or two `f32` or `f64` operands of one type, each row-major or one repeated element:
/// the reference's own meaning without its detours. Anything else is left to the reference.
fn pointwise(op: &Op, avals: &[Aval], ins: &[Data]) -> Option<Result<Data>> {
    let first = avals.first()?;
    // Only a row may be asked for its form before its operands have been checked.
    if !matches!(op, Op::Map(_)) {
        return None;
    }
    if !matches!(first.dtype, DType::F32 | DType::F64) || avals[1..].iter().any(|a| a != first) {
        return None;
    }
    let Form::Pointwise(Scalar::Row(row)) = op.def().form(avals) else { return None };
    if row.predicate || row.arity != ins.len() {
        return None;
    }
    let bytes = first.shape.numel().saturating_mul(first.dtype.size());
    if let Err(e) = reference::reserve(bytes) {
        return Some(Err(e));
    }
    let storage = if first.dtype == DType::F32 { run::<f32>(row, ins)? } else { run::<f64>(row, ins)? };
    let storage = storage.ok_or_else(|| Error::new(Kind::Memory { bytes }));
    Some(storage.map(|storage| Data { storage, aval: first.clone(), strides: None, offset: 0 }))
}

/// `None` if the layout or the row does not fit; `Some(None)` if memory could not be had.
fn run<T: Real>(row: &Pointwise, ins: &[Data]) -> Option<Option<Storage>> {
    let f = row.float?;
    // Elements from the offset on, and whether to step through them or to stay.
    let operand = |d: &'_ Data| match &d.strides {
        None => Some(1),
        Some(s) if s.iter().all(|&s| s == 0) => Some(0),
        Some(_) => None,
    };
    let n = ins[0].aval.shape.numel();
    match ins {
        [a] => {
            let (x, i) = (&a.storage.as_slice::<T>()[a.offset..], operand(a)?);
            Some(Storage::from_fn(n, |k| T::narrow(f(&[x[k * i].wide()]))))
        }
        [a, b] => {
            let (x, i) = (&a.storage.as_slice::<T>()[a.offset..], operand(a)?);
            let (y, j) = (&b.storage.as_slice::<T>()[b.offset..], operand(b)?);
            Some(Storage::from_fn(n, |k| T::narrow(f(&[x[k * i].wide(), y[k * j].wide()]))))
        }
        _ => None,
    }
}
