//! Compiled functions: traced once, then run as one plan.
//! Takes arguments of the traced types; returns results and updates cells, in place where their memory is not
//! shared.
//! `trace.rs` records the function, the device's compiler makes the plan.

use crate::cell::Cell;
use crate::data::Data;
use crate::device::{Device, mixed_devices};
use crate::eager::execute::{AnyExecutable, CellUpdates, argument, program, row_major};
use crate::profile::Timeline;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_function_named};
use gradus_cpu::Argument;
use gradus_device::{Code, Sink};
use gradus_ir::{Aval, Error, Graph, Message, Result, Term, message};
use gradus_mem::Storage;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A function that runs a program: `AnyExecutable::run`, or one that also measures times.
type Run<'a> = &'a mut dyn FnMut(&AnyExecutable, &mut Vec<Argument>) -> Result<Vec<Storage>>;

/// A function compiled at the types of its arguments, for the device that they are on.
pub struct Compiled {
    traced: TracedFunction,
    /// For each captured tensor: true if a run changes it.
    is_written: Vec<bool>,
    ready: AnyExecutable,
    types: Vec<Aval>,
    device: Device,
}

/// Counts of operations, bytes and iterations of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Scalar operations.
    pub flops: u64,
    /// Bytes that the steps read and wrote; each step counts every buffer once.
    pub bytes: u64,
    /// Iterations of the outermost `while` loops.
    pub iterations: u64,
}

/// Compiles a function at the types of these tensors.
///
/// Each run reads the current values of the cells that the function reads. Cells that it writes are updated at the end
/// of a run, in place if no other tensor shares their memory. Any other captured tensor is a constant.
///
/// ```
/// use gradus_tensor::{All, Tensor, compile};
/// let w = Tensor::from([1.0f32, 2.0]).cell();
/// let x = Tensor::from([3.0f32, 4.0]);
/// let step = compile(&[&x], |x| {
///     w.set_(&(&w + &x[0])).unwrap();
///     w.sum(All)
/// })
/// .unwrap();
/// assert_eq!(step.run(&[&x]).unwrap()[0].item::<f32>().unwrap(), 10.0);
/// assert_eq!(w.to_vec::<f32>().unwrap(), [4.0, 6.0]);
/// ```
#[track_caller]
pub fn compile<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Compiled> {
    let location = Location::caller();
    compile_at(&[""; 0], types_of(ins)?, f, first_other_device(ins)).map_err(|e| e.or_at(location))
}

/// As [`compile`], with names of the arguments, which errors, graphs and [`Compiled::run_named`] use.
///
/// ```
/// use gradus_tensor::{Tensor, compile_named};
/// let (x, w) = (Tensor::from([1.0f32, 2.0]), Tensor::from(3.0f32));
/// let scaled = compile_named(&[("x", &x), ("w", &w)], |v| &v[0] * &v[1])?;
/// let y = scaled.run_named(&[("w", &w), ("x", &x)])?;
/// assert_eq!(y[0].to_vec::<f32>()?, [3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn compile_named<R: Outputs>(
    ins: &[(&str, &Tensor)],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Compiled> {
    let location = Location::caller();
    let (names, ins): (Vec<&str>, Vec<&Tensor>) = ins.iter().copied().unzip();
    compile_at(&names, types_of(&ins)?, f, first_other_device(&ins)).map_err(|e| e.or_at(location))
}

fn types_of(ins: &[&Tensor]) -> Result<Vec<Aval>> {
    let mut types = Vec::with_capacity(ins.len());
    for t in ins {
        types.extend(t.check()?.aval());
    }
    Ok(types)
}

/// Returns the device of the first tensor that is not on the CPU.
fn first_other_device(ins: &[&Tensor]) -> Option<Device> {
    ins.iter().map(|t| t.device()).find(|d| !d.is_cpu())
}

fn compile_at<R: Outputs>(
    names: &[impl AsRef<str>],
    types: Vec<Aval>,
    f: impl FnOnce(&[Tensor]) -> R,
    device: Option<Device>,
) -> Result<Compiled> {
    let traced = trace_function_named(names, &types, f)?;
    if traced.captured.iter().any(Tensor::is_traced) {
        return Err(Error::trace("a compiled function uses a value of an outer trace; make it an argument"));
    }
    let device = device_for(device, types.len(), &traced.captured);
    Compiled::new(traced, types, device)
}

/// Chooses the device of a function: `device` (the first device other than the CPU among its arguments), else the first
/// such device among captured tensors, else the CPU. A function without operands runs on the default device.
fn device_for(device: Option<Device>, arguments: usize, captured: &[Tensor]) -> Device {
    let none = || if arguments == 0 && captured.is_empty() { Device::default() } else { Device::CPU };
    device.or_else(|| first_other_device(&captured.iter().collect::<Vec<_>>())).unwrap_or_else(none)
}

/// Compiles a graph for the default device of this thread.
pub fn compile_graph(graph: &Arc<Graph>) -> Result<Compiled> {
    let traced = TracedFunction { graph: graph.clone(), captured: Vec::new(), written: Vec::new() };
    Compiled::new(traced, graph.input_avals(), Device::default())
}

impl Compiled {
    fn new(traced: TracedFunction, types: Vec<Aval>, device: Device) -> Result<Compiled> {
        let first = traced.graph.output_avals().len() - traced.written.len();
        let input = |t: &Tensor| traced.captured.iter().position(|c| c.is_same(t));
        let keep = |(k, t): (usize, &Tensor)| Some((first + k, types.len() + input(t)?));
        let keeps: CellUpdates = traced.written.iter().enumerate().filter_map(keep).collect();
        let ready = program(&traced.graph, device, &keeps)?;
        let is_written = |t: &Tensor| traced.written.iter().any(|w| w.is_same(t));
        let is_written = traced.captured.iter().map(is_written).collect();
        Ok(Compiled { traced, is_written, ready, types, device })
    }

    /// Returns the device on which the function runs.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the graph; its inputs are the function's arguments, then the captured tensors.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.traced.graph
    }

    /// Returns the cells that a run changes, in the order of their outputs, which come last.
    pub fn written(&self) -> &[Tensor] {
        &self.traced.written
    }

    /// Returns the captured tensors in the order of their inputs: cells that the function reads or writes, and
    /// constants on other devices.
    pub fn cells(&self) -> &[Tensor] {
        &self.traced.captured
    }

    /// Describes the plan as text: totals, simplifications, reasons for missed fusion, arena, and every step
    /// with its cost.
    pub fn explain(&self) -> String {
        self.ready.explain()
    }

    /// Returns the size of the temporaries in bytes.
    pub fn arena(&self) -> usize {
        self.ready.arena()
    }

    /// Runs the function and returns operation and byte counts, including every loop iteration and the
    /// branches taken. No other thread may run the function at the same time, because the counters are
    /// shared.
    #[track_caller]
    pub fn measured(&self, ins: &[&Tensor]) -> Result<Measured> {
        let before = self.ready.done();
        self.run(ins)?;
        let after = self.ready.done();
        Ok(Measured {
            flops: (after.work.flops - before.work.flops) as u64,
            bytes: (after.work.bytes - before.work.bytes) as u64,
            iterations: after.iterations - before.iterations,
        })
    }

    /// Describes each step of the plan, in order.
    pub fn steps(&self) -> Vec<String> {
        self.ready.steps()
    }

    /// Returns the generated code of the steps that have some, in order: kernel source or CPU instructions.
    pub fn code(&self) -> Vec<Code> {
        self.ready.code()
    }

    /// Runs the function and returns the time and cost of each step, in order. [`Timeline::trace`] writes
    /// them as a trace file.
    #[track_caller]
    pub fn timeline(&self, ins: &[&Tensor]) -> Result<Timeline> {
        let location = Location::caller();
        let mut times = Times::default();
        self.run_with(ins, &mut |ready, arguments| ready.run_timed(arguments, &mut times))
            .map_err(|e| e.or_at(location))?;
        Ok(Timeline::new(&self.ready, &times.0, self.device))
    }

    /// Runs the function and reports the time of each step, longest first, with operations and bytes per
    /// second as fractions of the device's rates (`Device::roofline`).
    #[track_caller]
    pub fn profile(&self, ins: &[&Tensor]) -> Result<String> {
        Ok(self.timeline(ins)?.report(self.device.roofline()?))
    }

    /// Runs the function. The arguments must have the types for which it was compiled.
    #[track_caller]
    pub fn run(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        self.run_on(ins).map_err(|e| e.or_at(location))
    }

    /// Runs the function with named arguments, in any order. The names are those of [`compile_named`], else `x`, `y`
    /// and so on.
    #[track_caller]
    pub fn run_named(&self, ins: &[(&str, &Tensor)]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        in_order(&self.names(), ins).and_then(|ins| self.run_on(&ins)).map_err(|e| e.or_at(location))
    }

    /// Returns the names of the arguments, in order.
    pub fn names(&self) -> Vec<&str> {
        self.traced.graph.inputs()[..self.types.len()].iter().map(|(name, _)| name.as_str()).collect()
    }

    fn run_on(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.run_with(ins, &mut |ready, arguments| ready.run(arguments))
    }

    fn run_with(&self, ins: &[&Tensor], run: Run<'_>) -> Result<Vec<Tensor>> {
        let mut taken = loop {
            match self.gather(ins)? {
                Ok(taken) => break taken,
                // Another thread has taken the value of a cell: waits for it, without holding the values of other
                // cells.
                Err(taken_cell) => taken_cell.wait(),
            }
        };
        let storages = run(&self.ready, &mut taken.arguments)?;
        let data = |(storage, aval)| Data { storage, aval, strides: None, offset: 0 };
        let mut outs: Vec<Data> =
            storages.into_iter().zip(self.traced.graph.output_avals()).map(data).collect();
        let written = outs.split_off(outs.len() - self.traced.written.len());
        // Moves new values to the devices of their cells: the state of a generator stays on the CPU.
        let mut failed = None;
        for (out, data) in std::mem::take(&mut taken.cells).into_iter().zip(written) {
            let back = data.to(out.device).unwrap_or_else(|e| {
                failed = Some(e);
                data
            });
            out.cell.put_back(back, true);
        }
        if let Some(e) = failed {
            return Err(e);
        }
        Ok(outs.into_iter().map(Tensor::data).collect())
    }

    /// Converts a value to an argument. Scalars and generator states may be on the CPU.
    fn argument(&self, data: &Data) -> Result<Argument> {
        match data.device() {
            own if own == self.device => {}
            _ if data.is_small_on_host() => {}
            own => return Err(mixed_devices(self.device, own)),
        }
        Ok(argument(&row_major(data)?))
    }

    /// Collects the arguments of a run, or returns the cell whose value another thread has taken.
    fn gather(&self, ins: &[&Tensor]) -> Result<std::result::Result<TakenInputs, &Cell>> {
        let mut arguments = Vec::with_capacity(ins.len() + self.traced.captured.len());
        for t in ins {
            arguments.push(self.argument(&t.check()?.concrete()?)?);
        }
        let found: Vec<Aval> = ins.iter().filter_map(|t| t.aval()).collect();
        if found != self.types {
            let named = |(name, aval): (&str, &Aval)| message!(name, ": ", aval);
            let types = Message::join(self.names().into_iter().zip(&self.types).map(named), ", ");
            let why = message!("do not match the types for which the function was compiled: (", types, ")");
            return Err(Error::shape(format!("arguments {found:?}"), why));
        }
        let mut taken = TakenInputs { cells: Vec::new(), arguments };
        let cells = self.traced.captured.iter().zip(&self.is_written);
        for ((t, is_written), (_, input)) in cells.zip(&self.traced.graph.inputs()[ins.len()..]) {
            let Some(cell) = t.as_cell() else {
                taken.arguments.push(self.argument(&t.concrete()?)?);
                continue;
            };
            let (now, then) = (cell.aval(), self.traced.graph.aval(*input));
            if now != *then {
                let why = message!("was ", then, " when the function was compiled; compile it again");
                let what = cell.name().map_or(Term::Cell.into(), |name| message!("`", &*name, "`"));
                return Err(Error::shape(message!(what, " of type ", now), why));
            }
            if *is_written {
                if !taken.take(cell)? {
                    return Ok(Err(cell));
                }
            } else if let Some(value) = cell.value_now() {
                taken.arguments.push(self.argument(&value.concrete()?)?);
            } else {
                return Ok(Err(cell));
            }
        }
        Ok(Ok(taken))
    }
}

/// Returns tensors in the order of `names`. Returns an error if a name is missing, unknown or occurs twice.
pub fn in_order<'t>(names: &[&str], given: &[(&str, &'t Tensor)]) -> Result<Vec<&'t Tensor>> {
    let accepted = || format!("the arguments are {names:?}");
    if let Some((unknown, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
        return Err(Error::value(format!("argument `{unknown}`"), format!("is unknown; {}", accepted())));
    }
    let one = |name: &&str| {
        let mut found = given.iter().filter(|(n, _)| n == name).map(|(_, t)| *t);
        match (found.next(), found.next()) {
            (Some(t), None) => Ok(t),
            (None, _) => {
                Err(Error::value(format!("argument `{name}`"), format!("is missing; {}", accepted())))
            }
            _ => Err(Error::value(format!("argument `{name}`"), "occurs twice")),
        }
    };
    names.iter().map(one).collect()
}

/// The times of the steps of a run.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Sink for Times {
    fn span(&mut self, step: usize, took: Duration) {
        if self.0.len() <= step {
            self.0.resize(step + 1, Duration::ZERO);
        }
        self.0[step] += took;
    }
}

/// Arguments of a run, and the cells whose values are among them. Dropping it returns the values to their
/// cells.
struct TakenInputs {
    cells: Vec<TakenCell>,
    arguments: Vec<Argument>,
}

/// A cell whose value is taken for a run.
struct TakenCell {
    cell: Cell,
    argument: usize,
    aval: Aval,
    device: Device,
}

impl TakenInputs {
    /// Takes a cell's value. Returns `false` if another thread has taken it.
    fn take(&mut self, cell: &Cell) -> Result<bool> {
        let Some(data) = cell.take()? else { return Ok(false) };
        let aval = data.aval.clone();
        let whole = match row_major(&data) {
            Ok(whole) => whole,
            Err(e) => {
                cell.put_back(data, false);
                return Err(e);
            }
        };
        drop(data);
        let device = whole.device();
        self.cells.push(TakenCell { cell: cell.clone(), argument: self.arguments.len(), aval, device });
        let offset = whole.offset * whole.aval.dtype.size();
        self.arguments.push(Argument { storage: whole.storage, offset });
        Ok(true)
    }
}

impl Drop for TakenInputs {
    fn drop(&mut self) {
        for TakenCell { cell, argument, aval, .. } in self.cells.drain(..) {
            if let Some(a) = self.arguments.get(argument) {
                let offset = a.offset / aval.dtype.size();
                cell.put_back(Data { storage: a.storage.clone(), aval, strides: None, offset }, false);
            }
        }
    }
}

/// A function that is compiled once for each combination of argument types and devices.
pub struct Jit<F> {
    f: F,
    names: Vec<String>,
    known: Mutex<Vec<Arc<Compiled>>>,
}

/// Largest number of compiled versions that are kept.
const MAX_VERSIONS: usize = 64;

/// Wraps a function so that each call runs as one plan.
///
/// ```
/// use gradus_tensor::{All, Tensor, jit};
/// let f = jit(|x: &[Tensor]| (&x[0] * 2.0).exp().sum(All));
/// let y = f.call(&[&Tensor::from([0.0f32, 0.5])])?;
/// assert!((y[0].item::<f32>()? - 3.7182817).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn jit<F, R: Outputs>(f: F) -> Jit<F>
where
    F: Fn(&[Tensor]) -> R,
{
    Jit { f, names: Vec::new(), known: Mutex::new(Vec::new()) }
}

impl<F> Jit<F> {
    /// Sets the names of the arguments, for graphs, errors and [`call_named`](Jit::call_named).
    ///
    /// ```
    /// use gradus_tensor::{Tensor, jit};
    /// let f = jit(|v: &[Tensor]| &v[0] - &v[1]).names(&["from", "take"]);
    /// let (a, b) = (Tensor::from(5.0), Tensor::from(3.0));
    /// let y = f.call_named(&[("take", &b), ("from", &a)])?;
    /// assert_eq!(y[0].item::<f64>()?, 2.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(mut self, names: &[&str]) -> Jit<F> {
        self.names = names.iter().map(|name| name.to_string()).collect();
        self.known = Mutex::new(Vec::new());
        self
    }

    /// Calls the function with arguments by name, in any order. The names must have been set.
    #[track_caller]
    pub fn call_named<R: Outputs>(&self, ins: &[(&str, &Tensor)]) -> Result<Vec<Tensor>>
    where
        F: Fn(&[Tensor]) -> R,
    {
        let location = Location::caller();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        in_order(&names, ins).and_then(|ins| self.call(&ins)).map_err(|e| e.or_at(location))
    }

    /// Calls the function. Inside a trace it is traced instead of compiled.
    #[track_caller]
    pub fn call<R: Outputs>(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>>
    where
        F: Fn(&[Tensor]) -> R,
    {
        let location = Location::caller();
        if crate::trace::is_tracing() {
            let ins: Vec<Tensor> = ins.iter().map(|t| (*t).clone()).collect();
            return Ok((self.f)(&ins).outputs());
        }
        self.compiled(ins).and_then(|c| c.run_on(ins)).map_err(|e| e.or_at(location))
    }

    /// Returns the version for arguments of these types and devices. Compiles it on first use.
    pub fn compiled<R: Outputs>(&self, ins: &[&Tensor]) -> Result<Arc<Compiled>>
    where
        F: Fn(&[Tensor]) -> R,
    {
        let (types, device) = (types_of(ins)?, first_other_device(ins));
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Captured cells may have moved to another device since the function was compiled.
        let is_on_right_device = |c: &Compiled| {
            !gradus_device::is_any_open() || c.device == device_for(device, types.len(), &c.traced.captured)
        };
        let fits = |c: &&Arc<Compiled>| c.types == types && is_on_right_device(c);
        if let Some(c) = known().iter().find(fits) {
            return Ok(c.clone());
        }
        let new = Arc::new(compile_at(&self.names, types, &self.f, device)?);
        let mut all = known();
        if all.len() >= MAX_VERSIONS {
            all.remove(0);
        }
        all.push(new.clone());
        Ok(new)
    }
}
