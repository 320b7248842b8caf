//! Runs one op on data.
//! Takes an op and operands; returns views of the operand's storage, results of `small_ops.rs`, or results of
//! a compiled program.
//! Programs are cached globally per op, device, types and layouts; `call_cache.rs` is the faster cache of
//! each thread.

use crate::data::Data;
use crate::device::{Device, device_of};
use crate::eager::plan::BoundedCache;
use crate::eager::{call_cache, small_ops};
use gradus_cpu::{Argument, Executable, InputLayout, Layout, Pool};
use gradus_device::{Code, Done, Request, Sink, Text, Work};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::{Form, Scalar};
use gradus_ir::{Aval, Error, Graph, Op, Result, size};
use gradus_mem::Storage;
use std::sync::Arc;

/// Runs an op on data.
pub(crate) fn execute(op: &Op, ins: &[Data]) -> Result<Vec<Data>> {
    let avals: Vec<Aval> = ins.iter().map(|d| d.aval.clone()).collect();
    let outs = op.infer(&avals)?;
    let form = op.def().form(&avals);
    match &form {
        Form::View(map) => return Ok(vec![ins[0].view(map, &outs[0].shape)]),
        Form::Pointwise(Scalar::Identity) => return Ok(vec![ins[0].clone()]),
        Form::Reshape => {
            if let Some(view) = ins[0].reshaped(&outs[0].shape) {
                return Ok(vec![view]);
            }
        }
        _ => {}
    }
    if let Some(moved) = small_ops::evaluate_small(&form, ins, &outs) {
        return Ok(moved);
    }
    // Checks operands too: a broadcast operand takes no memory, but a loop over more elements than memory
    // could hold would not end.
    size::check_values(&avals)?;
    size::check_values(&outs)?;
    let device = device_for(ins)?;
    if !device.is_cpu() {
        outs.iter().try_for_each(|out| device.takes(out.dtype))?;
    }
    let ready = executable_for(op, device, ins, &avals)?;
    call_cache::remember_op(op, device, ins, &outs, &ready);
    run(&ready, &mut ins.iter().map(argument).collect(), outs)
}

/// Returns the device of an op: that of its operands, or the default device if it has none.
pub(crate) fn device_for(ins: &[Data]) -> Result<Device> {
    if ins.is_empty() { Ok(Device::default()) } else { device_of(ins) }
}

/// An executable on any device. That of the CPU is called without dynamic dispatch, because small eager calls
/// are frequent.
#[derive(Clone, Debug)]
pub(crate) enum AnyExecutable {
    Cpu(Arc<Executable>),
    Other(Arc<dyn gradus_device::Executable>),
}

impl AnyExecutable {
    pub(crate) fn run(&self, arguments: &mut Vec<Argument>) -> Result<Vec<Storage>> {
        match self {
            AnyExecutable::Cpu(executable) => executable.run(Pool::global(), arguments),
            AnyExecutable::Other(executable) => executable.run(arguments, None),
        }
    }

    /// Runs the program and reports the time of each step to a sink.
    pub(crate) fn run_timed(
        &self,
        arguments: &mut Vec<Argument>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Storage>> {
        self.get().run(arguments, Some(sink))
    }

    /// Returns true if a run can return an error that names a source line.
    fn can_fail(&self) -> bool {
        match self {
            AnyExecutable::Cpu(executable) => executable.plan().can_fail(),
            AnyExecutable::Other(_) => true,
        }
    }

    fn get(&self) -> &dyn gradus_device::Executable {
        match self {
            AnyExecutable::Cpu(executable) => &**executable,
            AnyExecutable::Other(executable) => &**executable,
        }
    }

    pub(crate) fn explain(&self) -> String {
        self.get().explain()
    }

    pub(crate) fn steps(&self) -> Vec<String> {
        self.get().steps()
    }

    pub(crate) fn costs(&self) -> Vec<Work> {
        self.get().costs()
    }

    pub(crate) fn code(&self) -> Vec<Code> {
        self.get().code()
    }

    pub(crate) fn arena(&self) -> usize {
        self.get().arena()
    }

    pub(crate) fn done(&self) -> Done {
        self.get().done()
    }
}

/// Returns the program of an op and the types of its results, or `None` if the results are views.
pub(crate) fn executable_unless_view(
    op: &Op,
    device: Device,
    ins: &[Data],
) -> Result<Option<(AnyExecutable, Vec<Aval>)>> {
    let avals: Vec<Aval> = ins.iter().map(|d| d.aval.clone()).collect();
    let outs = op.infer(&avals)?;
    if matches!(op.def().form(&avals), Form::View(_) | Form::Pointwise(Scalar::Identity) | Form::Reshape) {
        return Ok(None);
    }
    size::check_values(&avals)?;
    size::check_values(&outs)?;
    Ok(Some((executable_for(op, device, ins, &avals)?, outs)))
}

/// Runs a program; `outs` are the types of its results.
pub(crate) fn run(
    ready: &AnyExecutable,
    arguments: &mut Vec<Argument>,
    outs: Vec<Aval>,
) -> Result<Vec<Data>> {
    let storages = ready.run(arguments)?;
    let data = |(storage, aval)| Data { storage, aval, strides: None, offset: 0 };
    Ok(storages.into_iter().zip(outs).map(data).collect())
}

type Key = (Op, Device, Vec<(Aval, Option<Box<[i64]>>)>);

static OP_EXECUTABLES: BoundedCache<Key, AnyExecutable> = BoundedCache::new();

/// Returns the program of an op at these types and layouts, compiling it on first use.
fn executable_for(op: &Op, device: Device, ins: &[Data], avals: &[Aval]) -> Result<AnyExecutable> {
    let parts: Vec<(&Aval, &Option<Box<[i64]>>)> = ins.iter().map(|d| (&d.aval, &d.strides)).collect();
    let is = |(o, d, own): &Key, known: &AnyExecutable| {
        o == op
            && *d == device
            && (!known.can_fail() || same_lines(o, op))
            && own.len() == ins.len()
            && own.iter().zip(ins).all(|(k, d)| k.0 == d.aval && k.1 == d.strides)
    };
    OP_EXECUTABLES.get_or_make(&(op, device.id(), &parts), is, || {
        let graph = graph_of(op, avals)?;
        let layouts: Vec<InputLayout> = ins.iter().map(input_layout).collect();
        let ready = match device.is_cpu() {
            true => AnyExecutable::Cpu(Arc::new(Executable::with(&graph, &layouts)?)),
            false => {
                let request = Request { layouts: &layouts, keeps: &[], text: Text::Generic };
                AnyExecutable::Other(device.get().program(&graph, &request)?)
            }
        };
        let key = (op.clone(), device, ins.iter().map(|d| (d.aval.clone(), d.strides.clone())).collect());
        Ok((key, ready))
    })
}

/// Returns true if two equal calls come from the same source lines, so that errors name the right ones.
fn same_lines(a: &Op, b: &Op) -> bool {
    if let (Op::Call(a), Op::Call(b)) = (a, b) { a.body.same_origins(&b.body) } else { true }
}

/// Programs of graphs. The capacity is lower than for programs of ops, because programs of graphs may hold
/// large constants.
static GRAPH_EXECUTABLES: BoundedCache<(Arc<Graph>, Device, CellUpdates), AnyExecutable> =
    BoundedCache::of(256);

/// Pairs of an output and an input that are the new and the old value of a cell.
pub(crate) type CellUpdates = Vec<(usize, usize)>;

/// Returns the program of a graph on a device. Equal graphs share one program.
pub(crate) fn program(graph: &Arc<Graph>, device: Device, keeps: &CellUpdates) -> Result<AnyExecutable> {
    GRAPH_EXECUTABLES.get_or_make(
        &(graph.canonical_hash(), device.id()),
        |(own, d, k), _| *d == device && k == keeps && **own == **graph && own.same_origins(graph),
        || {
            let ready = match device.is_cpu() {
                true => AnyExecutable::Cpu(Arc::new(Executable::new(graph)?)),
                false => {
                    let request = Request { layouts: &[], keeps, text: Text::Special };
                    AnyExecutable::Other(device.get().program(graph, &request)?)
                }
            };
            Ok(((graph.clone(), device, keeps.clone()), ready))
        },
    )
}

fn graph_of(op: &Op, avals: &[Aval]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = avals.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = b.try_apply(op.clone(), &ins)?;
    b.finish(&outs)
}

/// Returns the lowest and highest offset of an element, relative to the first.
fn offset_range(d: &Data) -> (i64, i64) {
    let Some(strides) = &d.strides else { return (0, d.aval.shape.numel() as i64 - 1) };
    let ends = d.aval.shape.iter().zip(strides).map(|(&e, &s)| s * (e as i64 - 1));
    ends.fold((0, 0), |(low, high), e| (low + e.min(0), high + e.max(0)))
}

/// Returns the layout of data, relative to its lowest offset.
fn input_layout(d: &Data) -> InputLayout {
    let (low, high) = offset_range(d);
    InputLayout { numel: (high - low + 1) as usize, layout: Layout { offset: -low, strides: d.strides() } }
}

/// Makes an argument from data. Its offset is that of the lowest element, in bytes.
pub(crate) fn argument(d: &Data) -> Argument {
    let first = d.offset as i64 + offset_range(d).0;
    Argument { storage: d.storage.clone(), offset: first.max(0) as usize * d.aval.dtype.size() }
}

/// Copies the elements to row-major order. Returns row-major data unchanged.
pub(crate) fn row_major(d: &Data) -> Result<Data> {
    if d.strides.is_none() {
        return Ok(d.clone());
    }
    // A concatenation of one operand copies it.
    let op = Op::from(gradus_ir::ops::movement::Concat { axis: 0 });
    let one = execute(&op, std::slice::from_ref(d))?;
    one.into_iter().next().ok_or_else(|| Error::verify("a copy returned no result"))
}
