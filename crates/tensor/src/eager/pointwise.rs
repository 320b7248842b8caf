//! Runs pointwise ops directly on data, without compiling them.
//! Takes row-major or repeated `f32` and `f64` operands; returns new storage, or `None` if the compiled op
//! must run.
//! It also runs short programs of pointwise ops. Most gradient plans (`plan.rs`) are such programs.

use crate::data::Data;
use crate::eager::plan::PointwisePlans;
use gradus_cpu::vector::{self, Binary, Compare, Test, Unary};
use gradus_cpu::{map1, map2, map2_by, map2_scalar};
use gradus_ir::graph::{Graph, Id};
use gradus_ir::ops::{Form, Pointwise, Scalar, pointwise};
use gradus_ir::{Aval, DType, size};
use gradus_mem::{Pod, Storage};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// The loop that implements a pointwise op.
#[derive(Clone, Copy)]
enum ElementLoop<T> {
    Unary(Unary<T>),
    Binary(Binary<T>),
    /// A test or comparison; the result is boolean.
    Test(Test<T>),
    Compare(Compare<T>),
}

/// An operand of a loop.
enum Operand<'a, T> {
    /// Row-major elements.
    Slice(&'a [T]),
    /// One repeated element.
    One(T),
}

impl<'a, T: Pod> Operand<'a, T> {
    /// Makes an operand from `n` elements that are row-major, or one element repeated.
    #[inline(always)]
    fn of(d: &'a Data, n: usize) -> Option<Operand<'a, T>> {
        let from = &d.storage.host::<T>()?[d.offset..];
        match &d.strides {
            None => Some(Operand::Slice(&from[..n])),
            Some(s) if s.iter().all(|&s| s == 0) => Some(Operand::One(from[0])),
            Some(_) => None,
        }
    }
}

impl<T: Pod> ElementLoop<T> {
    /// Runs the loop. Returns `None` if the operands do not fit or the allocation fails.
    #[inline(always)]
    fn run(&self, first: Operand<'_, T>, second: Option<Operand<'_, T>>) -> Option<Storage> {
        use Operand::{One, Slice};
        match (self, first, second) {
            (ElementLoop::Unary(f), Slice(x), None) => map1(*f, x),
            (ElementLoop::Binary(f), Slice(x), Some(Slice(y))) => map2(f, x, y),
            (ElementLoop::Binary(f), Slice(x), Some(One(y))) => map2_scalar(f, x, y),
            (ElementLoop::Binary(f), One(x), Some(Slice(y))) => map2_by(f, x, y),
            (ElementLoop::Test(f), Slice(x), None) => map1(*f, x),
            (ElementLoop::Compare(f), Slice(x), Some(Slice(y))) => map2(f, x, y),
            (ElementLoop::Compare(f), Slice(x), Some(One(y))) => map2_scalar(f, x, y),
            (ElementLoop::Compare(f), One(x), Some(Slice(y))) => map2_by(f, x, y),
            _ => None,
        }
    }
}

/// Loops and gradient plans of the pointwise ops that have loops, by the address of the op.
type Table<T> = HashMap<usize, (ElementLoop<T>, PointwisePlans), BuildHasherDefault<ByAddress>>;

static F32: LazyLock<Table<f32>> = LazyLock::new(table);
static F64: LazyLock<Table<f64>> = LazyLock::new(table);

fn table<T: vector::Element>() -> Table<T> {
    let loops = vector::loops::<T>();
    let one = |op: &'static Pointwise| {
        let element_loop = match (op.predicate, op.arity) {
            (false, 1) => loops.unary(op.name).map(ElementLoop::Unary),
            (false, 2) => loops.binary(op.name).map(ElementLoop::Binary),
            (true, 1) => loops.test(op.name).map(ElementLoop::Test),
            (true, 2) => loops.compare(op.name).map(ElementLoop::Compare),
            _ => None,
        };
        Some((address(op), (element_loop?, PointwisePlans::default())))
    };
    pointwise::all().filter_map(one).collect()
}

fn address(op: &'static Pointwise) -> usize {
    std::ptr::from_ref(op).addr()
}

/// Hashes addresses of statics, for which one multiplication suffices.
#[derive(Default)]
struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_usize(usize::from(*b)));
    }
    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// The second operand of a pointwise op, if any.
#[derive(Clone, Copy)]
pub(crate) enum Second<'a> {
    None,
    Data(&'a Data),
    Number(f64),
}

/// Runs a pointwise op on one or two `f32` or `f64` operands of one type, each row-major or one repeated
/// element. Returns `None` in every other case, errors included. The result has the type of the operands or
/// is boolean; the op's gradient plans are returned with it.
pub(crate) fn run(
    op: &'static Pointwise,
    first: &Data,
    second: Second<'_>,
) -> Option<(Storage, &'static PointwisePlans)> {
    match first.aval.dtype {
        DType::F32 => run_in(&F32, op, first, second, |x| x as f32),
        DType::F64 => run_in(&F64, op, first, second, |x| x),
        _ => None,
    }
}

#[inline(always)]
fn run_in<T: Pod>(
    table: &'static Table<T>,
    op: &'static Pointwise,
    first: &Data,
    second: Second<'_>,
    number: fn(f64) -> T,
) -> Option<(Storage, &'static PointwisePlans)> {
    let n = first.aval.shape.numel();
    size::check_elements(n, size_of::<T>()).ok()?;
    let (element_loop, plans) = table.get(&address(op))?;
    let second = match second {
        Second::None => None,
        Second::Data(b) if first.aval == b.aval => Some(Operand::of(b, n)?),
        Second::Data(_) => return None,
        Second::Number(x) => Some(Operand::One(number(x))),
    };
    Some((element_loop.run(Operand::of(first, n)?, second)?, plans))
}

/// Largest number of steps of a program.
const MAX_STEPS: usize = 8;

/// Largest number of elements for which separate loops are faster than one compiled kernel.
const MAX_ELEMENTS: usize = 2048;

/// A graph of pointwise ops on operands of one float type, ready to run.
pub(crate) enum PointwiseProgram {
    F32(Steps<f32>),
    F64(Steps<f64>),
}

pub(crate) struct Steps<T> {
    steps: Vec<Step<T>>,
    outputs: Vec<Value<T>>,
}

/// The loop of an op, and its operands.
type Step<T> = (ElementLoop<T>, Value<T>, Option<Value<T>>);

#[derive(Clone, Copy)]
enum Value<T> {
    Input(usize),
    Step(usize),
    Number(T),
}

/// An output of a program: one of its inputs, or new elements.
pub(crate) enum Output<'a> {
    Input(usize),
    New(Storage, &'a Aval),
}

impl PointwiseProgram {
    /// Converts a graph. Returns `None` if it has other ops, other dtypes or too many steps.
    pub(crate) fn of(graph: &Graph) -> Option<PointwiseProgram> {
        match graph.aval(graph.inputs().first()?.1).dtype {
            DType::F32 => Some(PointwiseProgram::F32(Steps::of(graph, &F32, |x| x as f32)?)),
            DType::F64 => Some(PointwiseProgram::F64(Steps::of(graph, &F64, |x| x)?)),
            _ => None,
        }
    }

    /// Computes the outputs and passes each to `emit`. Returns `None`, before any output, if a layout does
    /// not fit, a compiled kernel would be faster, or an allocation fails.
    pub(crate) fn run<'a>(
        &self,
        input: impl Fn(usize) -> Option<&'a Data>,
        emit: impl FnMut(usize, Output<'a>),
    ) -> Option<()> {
        match self {
            PointwiseProgram::F32(steps) => steps.run(input, emit),
            PointwiseProgram::F64(steps) => steps.run(input, emit),
        }
    }
}

impl<T: Pod> Steps<T> {
    fn of(graph: &Graph, table: &Table<T>, number: impl Fn(f64) -> T) -> Option<Steps<T>> {
        let aval = graph.aval(graph.inputs().first()?.1);
        let mut steps = Vec::new();
        let mut values: Vec<Value<T>> = Vec::with_capacity(graph.nodes().len());
        let inputs: HashMap<Id, usize> =
            graph.inputs().iter().enumerate().map(|(i, (_, id))| (*id, i)).collect();
        for (k, node) in graph.nodes().iter().enumerate() {
            let of = |i: usize| node.ins.get(i).and_then(|id| values.get(id.node as usize)).copied();
            let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
            let has_input_type = node.outs.as_slice() == std::slice::from_ref(aval);
            values.push(match (node.op.def().form(&ins), of(0)) {
                (Form::Input, _) if has_input_type => {
                    Value::Input(*inputs.get(&Id { node: k as u32, out: 0 })?)
                }
                (Form::Constant(l), _) if l.dtype() == aval.dtype => Value::Number(number(l.splat()?)),
                (Form::View(_), Some(x @ Value::Number(_))) => x,
                (Form::Pointwise(Scalar::Pointwise(op)), Some(x))
                    if has_input_type && steps.len() < MAX_STEPS =>
                {
                    steps.push((table.get(&address(op))?.0, x, of(1)));
                    Value::Step(steps.len() - 1)
                }
                _ => return None,
            });
        }
        let output =
            |id: &Id| values.get(id.node as usize).copied().filter(|v| !matches!(v, Value::Number(_)));
        Some(Steps { steps, outputs: graph.outputs().iter().map(output).collect::<Option<_>>()? })
    }

    fn run<'a>(
        &self,
        input: impl Fn(usize) -> Option<&'a Data>,
        mut emit: impl FnMut(usize, Output<'a>),
    ) -> Option<()> {
        let aval = &input(0)?.aval;
        let elements = aval.shape.numel();
        if self.steps.len() > 1 && elements > MAX_ELEMENTS {
            return None;
        }
        size::check_elements(elements, size_of::<T>()).ok()?;
        let mut results = [const { None::<Storage> }; MAX_STEPS];
        for (k, (element_loop, first, second)) in self.steps.iter().enumerate() {
            let read = |value: Value<T>| match value {
                Value::Input(i) => Operand::of(input(i)?, elements),
                Value::Step(k) => Some(Operand::Slice(&results[k].as_ref()?.host::<T>()?[..elements])),
                Value::Number(x) => Some(Operand::One(x)),
            };
            let second = match second {
                Some(second) => Some(read(*second)?),
                None => None,
            };
            results[k] = Some(element_loop.run(read(*first)?, second)?);
        }
        for (k, value) in self.outputs.iter().enumerate() {
            match value {
                Value::Input(i) => emit(k, Output::Input(*i)),
                Value::Step(step) => {
                    results[*step].iter().for_each(|s| emit(k, Output::New(s.clone(), aval)))
                }
                Value::Number(_) => {} // excluded by `of`
            }
        }
        Some(())
    }
}
