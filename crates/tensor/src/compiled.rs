//! Compiled functions: traced once, then run as one plan. Cells that a function reads are arguments of the plan, and cells
//! that it writes take over the memory they had.

use crate::cell::Cell;
use crate::data::Data;
use crate::execute::{argument, program, row_major};
use crate::profile::report;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_function};
use gradus_cpu::{Argument, Executable, Pool, Roof};
use gradus_ir::{Aval, Error, Graph, Result};
use gradus_mem::Storage;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A way to run an executable.
type Run<'a> = &'a mut dyn FnMut(&Executable, &mut Vec<Argument>) -> Result<Vec<Storage>>;

/// A function compiled at the types of its arguments.
pub struct Compiled {
    traced: TracedFunction,
    executable: Arc<Executable>,
    types: Vec<Aval>,
}

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Scalar operations.
    pub flops: u64,
    /// Bytes that the steps read and wrote, in each step every buffer once.
    pub bytes: u64,
    /// Turns of the outermost loops that go on while a condition holds.
    pub turns: u64,
}

/// Compiles a function at the types of these tensors.
///
/// Cells that the function reads are read anew at each run; cells that it writes are written when a run has ended, in
/// place where nobody else holds their value. Any other tensor from outside is a constant.
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
    let place = Location::caller();
    let mut types = Vec::with_capacity(ins.len());
    for t in ins {
        types.extend(t.check()?.aval());
    }
    compile_at(types, f).map_err(|e| e.or_at(place))
}

fn compile_at<R: Outputs>(types: Vec<Aval>, f: impl FnOnce(&[Tensor]) -> R) -> Result<Compiled> {
    let traced = trace_function(&types, f)?;
    if traced.captured.iter().any(|t| t.as_cell().is_none()) {
        return Err(Error::trace("a compiled function uses a value of an outer trace; make it an argument"));
    }
    let executable = program(&traced.graph)?;
    Ok(Compiled { traced, executable, types })
}

/// Makes one plan of a graph.
pub fn compile_graph(graph: &Arc<Graph>) -> Result<Compiled> {
    let executable = program(graph)?;
    let traced = TracedFunction { graph: graph.clone(), captured: Vec::new(), written: Vec::new() };
    Ok(Compiled { traced, executable, types: graph.input_avals() })
}

impl Compiled {
    /// The graph, cells included as inputs behind the function's own.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.traced.graph
    }

    /// The cells that a run changes, in the order of their outputs, which come last.
    pub fn written(&self) -> &[Tensor] {
        &self.traced.written
    }

    /// The cells that the function reads or writes, in the order of their inputs.
    pub fn cells(&self) -> &[Tensor] {
        &self.traced.captured
    }

    /// The plan for people: totals, what was simplified, what did not fuse and why, the arena, every step with its work.
    pub fn explain(&self) -> String {
        self.executable.plan().explained()
    }

    /// Bytes of temporaries.
    pub fn arena(&self) -> usize {
        self.executable.plan().arena
    }

    /// Runs it and says what that took: operations and bytes of every turn of its loops and of the branches taken, and how
    /// many turns those loops took that go on while a condition holds. Nobody else must run it meanwhile.
    #[track_caller]
    pub fn measured(&self, ins: &[&Tensor]) -> Result<Measured> {
        let before = self.executable.done();
        self.run(ins)?;
        let after = self.executable.done();
        Ok(Measured {
            flops: (after.work.flops - before.work.flops) as u64,
            bytes: (after.work.bytes - before.work.bytes) as u64,
            turns: after.turns - before.turns,
        })
    }

    /// What each step of the plan is, in order.
    pub fn steps(&self) -> Vec<String> {
        self.executable.plan().steps.iter().map(|step| step.title()).collect()
    }

    /// Runs it and says how long each step took, the longest first, with operations and bytes per second and how near
    /// that comes to what this machine can do (`Roof::measured`).
    #[track_caller]
    pub fn profile(&self, ins: &[&Tensor]) -> Result<String> {
        let place = Location::caller();
        let mut times = Vec::new();
        self.run_with(ins, &mut |executable, arguments| {
            let (outs, own) = executable.profile(Pool::global(), arguments)?;
            times = own;
            Ok(outs)
        })
        .map_err(|e| e.or_at(place))?;
        Ok(report(self.executable.plan(), &times, Roof::measured()))
    }

    /// Runs it on arguments of the types it was compiled for.
    #[track_caller]
    pub fn run(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
        let place = Location::caller();
        self.run_on(ins).map_err(|e| e.or_at(place))
    }

    fn run_on(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.run_with(ins, &mut |executable, arguments| executable.run(Pool::global(), arguments))
    }

    fn run_with(&self, ins: &[&Tensor], run: Run<'_>) -> Result<Vec<Tensor>> {
        let mut taken = loop {
            match self.gather(ins)? {
                Ok(taken) => break taken,
                // With nothing in hand that the other may need.
                Err(elsewhere) => elsewhere.wait(),
            }
        };
        let storages = run(&self.executable, &mut taken.arguments)?;
        let data = |(storage, aval)| Data { storage, aval, strides: None, offset: 0 };
        let mut outs: Vec<Data> =
            storages.into_iter().zip(self.traced.graph.output_avals()).map(data).collect();
        let written = outs.split_off(outs.len() - self.traced.written.len());
        taken.cells.clear();
        for (t, data) in self.traced.written.iter().zip(written) {
            if let Some(cell) = t.as_cell() {
                cell.put_back(data, true);
            }
        }
        Ok(outs.into_iter().map(Tensor::data).collect())
    }

    /// What a run is given, or the cell whose value another thread has.
    fn gather(&self, ins: &[&Tensor]) -> Result<std::result::Result<Taken, &Cell>> {
        let mut arguments = Vec::with_capacity(ins.len() + self.traced.captured.len());
        for t in ins {
            arguments.push(argument(&row_major(&t.check()?.concrete()?)?));
        }
        let found: Vec<Aval> = ins.iter().filter_map(|t| t.aval()).collect();
        if found != self.types {
            let why = format!("do not fit: it was compiled for {:?}", self.types);
            return Err(Error::shape(format!("arguments {found:?}"), why));
        }
        let mut taken = Taken { cells: Vec::new(), arguments };
        let cells = self.traced.captured.iter().zip(&self.traced.graph.inputs()[ins.len()..]);
        for (t, (_, input)) in cells {
            let Some(cell) = t.as_cell() else { continue };
            let (now, then) = (cell.aval(), self.traced.graph.aval(*input));
            if now != *then {
                let why = format!("was {then} when the function was compiled; compile it again");
                return Err(Error::shape(format!("a cell of type {now}"), why));
            }
            if self.traced.written.iter().any(|w| w.is_same(t)) {
                if !taken.take(cell)? {
                    return Ok(Err(cell));
                }
            } else if let Some(value) = cell.value_now() {
                taken.arguments.push(argument(&row_major(&value.concrete()?)?));
            } else {
                return Ok(Err(cell));
            }
        }
        Ok(Ok(taken))
    }
}

/// Cells whose values are out for a run; on any way out but success they come back.
struct Taken {
    cells: Vec<(Cell, usize, Aval)>,
    arguments: Vec<Argument>,
}

impl Taken {
    /// Takes a cell's value, unless another thread has it.
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
        self.cells.push((cell.clone(), self.arguments.len(), aval));
        let offset = whole.offset * whole.aval.dtype.size();
        self.arguments.push(Argument { storage: whole.storage, offset });
        Ok(true)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for (cell, i, aval) in self.cells.drain(..) {
            if let Some(a) = self.arguments.get(i) {
                let offset = a.offset / aval.dtype.size();
                cell.put_back(Data { storage: a.storage.clone(), aval, strides: None, offset }, false);
            }
        }
    }
}

/// A function that is compiled when it is first called with arguments of new types.
pub struct Jit<F> {
    f: F,
    known: Mutex<Vec<Arc<Compiled>>>,
}

/// Most types a function is kept compiled for.
const MOST: usize = 64;

/// Wraps a function so that each call runs as one plan.
///
/// ```
/// use gradus_tensor::{All, Tensor, jit};
/// let f = jit(|x: &[Tensor]| (&x[0] * 2.0).exp().sum(All));
/// let y = f.call(&[&Tensor::from([0.0f32, 0.5])]).unwrap();
/// assert!((y[0].item::<f32>().unwrap() - 3.7182817).abs() < 1e-6);
/// ```
pub fn jit<F, R: Outputs>(f: F) -> Jit<F>
where
    F: Fn(&[Tensor]) -> R,
{
    Jit { f, known: Mutex::new(Vec::new()) }
}

impl<F> Jit<F> {
    /// Calls the function; inside a trace it is simply traced.
    #[track_caller]
    pub fn call<R: Outputs>(&self, ins: &[&Tensor]) -> Result<Vec<Tensor>>
    where
        F: Fn(&[Tensor]) -> R,
    {
        let place = Location::caller();
        if crate::trace::is_tracing() {
            let ins: Vec<Tensor> = ins.iter().map(|t| (*t).clone()).collect();
            return Ok((self.f)(&ins).outputs());
        }
        self.compiled(ins).and_then(|c| c.run_on(ins)).map_err(|e| e.or_at(place))
    }

    /// The compiled function for arguments like these.
    pub fn compiled<R: Outputs>(&self, ins: &[&Tensor]) -> Result<Arc<Compiled>>
    where
        F: Fn(&[Tensor]) -> R,
    {
        let mut types = Vec::with_capacity(ins.len());
        for t in ins {
            types.extend(t.check()?.aval());
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(c) = known().iter().find(|c| c.types == types) {
            return Ok(c.clone());
        }
        let new = Arc::new(compile_at(types, &self.f)?);
        let mut all = known();
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push(new.clone());
        Ok(new)
    }
}
