//! Running one op on data: views share storage, pointwise ops on plain layouts run their loop at once, all else is
//! compiled once per types and layouts.

use crate::data::Data;
use crate::plan::Bounded;
use gradus_cpu::vector::{self, Binary, Unary};
use gradus_cpu::{Argument, Executable, Given, Layout, Pool};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::{Form, Pointwise, Scalar, pointwise};
use gradus_ir::{Aval, DType, Error, Graph, Kind, Op, Result, reference};
use gradus_mem::{Pod, Storage};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The results of an op on data.
pub(crate) fn execute(op: &Op, ins: &[Data]) -> Result<Vec<Data>> {
    if let Some(result) = pointwise(op, ins) {
        return result.map(|d| vec![d]);
    }
    let avals: Vec<Aval> = ins.iter().map(|d| d.aval.clone()).collect();
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
    reserve(&outs)?;
    let executable = executable(op, ins, &avals)?;
    run(&executable, &mut ins.iter().map(argument).collect(), outs)
}

/// Runs an executable; gives results of these types.
pub(crate) fn run(
    executable: &Executable,
    arguments: &mut Vec<Argument>,
    outs: Vec<Aval>,
) -> Result<Vec<Data>> {
    let storages = executable.run(Pool::global(), arguments)?;
    let data = |(storage, aval)| Data { storage, aval, strides: None, offset: 0 };
    Ok(storages.into_iter().zip(outs).map(data).collect())
}

/// Refuses results that memory cannot hold.
fn reserve(outs: &[Aval]) -> Result<()> {
    let bytes = |a: &Aval| a.shape.numel().saturating_mul(a.dtype.size());
    outs.iter().map(bytes).try_for_each(reference::reserve)
}

type Key = (Op, Vec<(Aval, Option<Box<[i64]>>)>);

static EXECUTABLES: Bounded<Key, Arc<Executable>> = Bounded::new();

/// The executable of an op at these types and layouts.
fn executable(op: &Op, ins: &[Data], avals: &[Aval]) -> Result<Arc<Executable>> {
    let parts: Vec<(&Aval, &Option<Box<[i64]>>)> = ins.iter().map(|d| (&d.aval, &d.strides)).collect();
    let is = |(o, own): &Key| {
        o == op
            && own.len() == ins.len()
            && own.iter().zip(ins).all(|(k, d)| k.0 == d.aval && k.1 == d.strides)
    };
    EXECUTABLES.get_or_make(&(op, &parts), is, || {
        let graph = graph_of(op, avals)?;
        let given: Vec<Given> = ins.iter().map(given).collect();
        let executable = Executable::with(&graph, &given)?;
        let key = (op.clone(), ins.iter().map(|d| (d.aval.clone(), d.strides.clone())).collect());
        Ok((key, Arc::new(executable)))
    })
}

fn graph_of(op: &Op, avals: &[Aval]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = avals.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = b.try_apply(op.clone(), &ins)?;
    b.finish(&outs)
}

/// The least and greatest place of an element, from the first.
fn reach(d: &Data) -> (i64, i64) {
    let Some(strides) = &d.strides else { return (0, d.aval.shape.numel() as i64 - 1) };
    let ends = d.aval.shape.iter().zip(strides).map(|(&e, &s)| s * (e as i64 - 1));
    ends.fold((0, 0), |(low, high), e| (low + e.min(0), high + e.max(0)))
}

/// How data lies from its least place on.
fn given(d: &Data) -> Given {
    let (low, high) = reach(d);
    Given { numel: (high - low + 1) as usize, layout: Layout { offset: -low, strides: d.strides() } }
}

/// Data as an argument, from its least place on.
pub(crate) fn argument(d: &Data) -> Argument {
    let first = d.offset as i64 + reach(d).0;
    Argument { storage: d.storage.clone(), offset: first.max(0) as usize * d.aval.dtype.size() }
}

/// The same elements in row-major order.
pub(crate) fn row_major(d: &Data) -> Result<Data> {
    if d.strides.is_none() {
        return Ok(d.clone());
    }
    let op = Op::from(gradus_ir::ops::movement::Concat { axis: 0 });
    let one = execute(&op, std::slice::from_ref(d))?;
    one.into_iter().next().ok_or_else(|| Error::verify("a copy gave nothing"))
}

/// The loops of the rows that have them.
struct Fast {
    f32: HashMap<usize, Lanes<f32>>,
    f64: HashMap<usize, Lanes<f64>>,
}

enum Lanes<T> {
    Unary(Unary<T>),
    Binary(Binary<T>),
}

static FAST: LazyLock<Fast> = LazyLock::new(|| {
    fn of<T: vector::Element>() -> HashMap<usize, Lanes<T>> {
        let loops = vector::loops::<T>();
        let one = |row: &'static Pointwise| {
            let lanes = match (row.predicate, row.arity) {
                (false, 1) => loops.unary(row.name).map(Lanes::Unary),
                (false, 2) => loops.binary(row.name).map(Lanes::Binary),
                _ => None,
            };
            Some((std::ptr::from_ref(row).addr(), lanes?))
        };
        pointwise::rows().filter_map(one).collect()
    }
    Fast { f32: of(), f64: of() }
});

/// A row of the table on one or two `f32` or `f64` operands of one type, each row-major or one repeated element.
/// Anything else is left to the compiler.
fn pointwise(op: &Op, ins: &[Data]) -> Option<Result<Data>> {
    let Op::Map(map) = op else { return None };
    let first = &ins.first()?.aval;
    if ins.len() != map.0.arity || ins[1..].iter().any(|d| d.aval != *first) {
        return None;
    }
    let row = std::ptr::from_ref(map.0).addr();
    let bytes = first.shape.numel().saturating_mul(first.dtype.size());
    if let Err(e) = reference::reserve(bytes) {
        return Some(Err(e));
    }
    let storage = match first.dtype {
        DType::F32 => lanes(FAST.f32.get(&row)?, ins)?,
        DType::F64 => lanes(FAST.f64.get(&row)?, ins)?,
        _ => return None,
    };
    let storage = storage.ok_or_else(|| Error::new(Kind::Memory { bytes }));
    Some(storage.map(|storage| Data { storage, aval: first.clone(), strides: None, offset: 0 }))
}

/// `None` if the layout does not fit; `Some(None)` if memory could not be had.
fn lanes<T: Pod>(lanes: &Lanes<T>, ins: &[Data]) -> Option<Option<Storage>> {
    // Elements from the offset on, and whether they are one repeated.
    let operand = |d: &'_ Data| match &d.strides {
        None => Some(false),
        Some(s) if s.iter().all(|&s| s == 0) => Some(true),
        Some(_) => None,
    };
    let n = ins[0].aval.shape.numel();
    match (lanes, ins) {
        (Lanes::Unary(f), [a]) => {
            let x = &a.storage.as_slice::<T>()[a.offset..];
            (!operand(a)?).then(|| gradus_cpu::map1(*f, &x[..n]))
        }
        (Lanes::Binary(f), [a, b]) => {
            let (x, y) = (&a.storage.as_slice::<T>()[a.offset..], &b.storage.as_slice::<T>()[b.offset..]);
            match (operand(a)?, operand(b)?) {
                (false, false) => Some(gradus_cpu::map2(f, &x[..n], &y[..n])),
                (false, true) => Some(gradus_cpu::map2_scalar(f, &x[..n], y[0])),
                (true, false) => Some(gradus_cpu::map2_by(f, x[0], &y[..n])),
                (true, true) => None,
            }
        }
        _ => None,
    }
}
