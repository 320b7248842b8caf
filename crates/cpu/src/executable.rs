//! Executables: plans prepared for this device, with their constants and memory.
//! Takes a graph or a plan and then arguments; returns the storages of the outputs.
//! `gradus_compile` makes the plan; `tile`, `jit`, `gemm` and `routine` run its steps.

use crate::arena::Arenas;
use crate::literal::{from_memory, to_memory};
use crate::nested;
use crate::pool::Pool;
use crate::profile::PROFILE;
use crate::rolled::{Counts, LoopProgram};
use crate::routine::region::{self, PreparedRegion};
use crate::routine::siblings;
use crate::tile::{Memory, TileProgram};
use crate::{interrupt, product, routine};
use gradus_compile::{BufferLocation, InputLayout, Plan, Step, compile, compile_with};
use gradus_device::{Argument, Done, memory_error};
use gradus_ir::{Aval, DType, Error, Graph, Literal, Op, Result, stop};
use gradus_mem::{HOST, Storage};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A compiled graph. Safe to run from several threads at once.
#[derive(Debug)]
pub struct Executable {
    plan: Plan,
    work: Vec<Work>,
    /// For each step, the number of steps from it on that run as one job.
    job_lengths: Vec<usize>,
    /// For the first step of each job of products, the weights that the next such job reads; empty for other steps.
    next_weights: Vec<Vec<usize>>,
    constants: Vec<(usize, Storage)>,
    arenas: Arenas,
    /// Per step, the memory ranges (offset, bytes) filled with 0xFF before it; empty except in tests.
    poison: Vec<Vec<(usize, usize)>>,
    /// The number of runs; for the body of a loop, the number of iterations.
    runs: AtomicU64,
}

/// Prepared data of a step, in addition to the step itself.
#[derive(Debug)]
enum Work {
    None,
    Program(Box<TileProgram>),
    Region(PreparedRegion),
    Nested(Vec<Executable>),
    Slices(Box<Executable>),
    LoopProgram(Box<LoopProgram>),
}

impl Work {
    /// Prepares a step over these buffers, with generated code if `native`.
    fn of(step: &Step, buffers: &[(DType, usize)], native: bool) -> Result<Work> {
        let program = if native { TileProgram::new } else { TileProgram::interpreted };
        Ok(match step {
            Step::Kernel(k) => Work::Program(Box::new(program(k, buffers)?)),
            Step::Contract(c) => {
                product::check(c, buffers)?;
                match &c.finish {
                    Some(k) => Work::Program(Box::new(program(k, buffers)?)),
                    None => Work::None,
                }
            }
            Step::Routine(r) => match (&r.op, PreparedRegion::of_routine(r)) {
                (_, Some(region)) => Work::Region(region),
                (Op::Call(region), None) => {
                    let why =
                        format!("the cpu claims the region {} but has no code for this call", region.name);
                    return Err(Error::verify(why));
                }
                _ => Work::None,
            },
            Step::Slices { control, .. } => {
                let body =
                    control.plans.first().ok_or_else(|| Error::verify("a step of slices has no plan"))?;
                Work::Slices(Box::new(Executable::prepare((**body).clone(), native)?))
            }
            Step::Switch(c) | Step::Scan { control: c, .. } | Step::While { control: c, .. } => {
                match loop_program(step, buffers, native) {
                    Some(loop_program) => Work::LoopProgram(Box::new(loop_program)),
                    None => {
                        let plans = c.plans.iter().map(|p| Executable::prepare((**p).clone(), native));
                        Work::Nested(plans.collect::<Result<Vec<_>>>()?)
                    }
                }
            }
        })
    }

    /// Returns the generated instructions, including those of nested plans.
    fn code(&self) -> Vec<&[u8]> {
        match self {
            Work::None | Work::Region(_) => Vec::new(),
            Work::Program(program) => program.instructions(),
            Work::LoopProgram(loop_program) => loop_program.program().instructions(),
            Work::Nested(all) => all.iter().flat_map(Executable::instructions).map(|(_, c)| c).collect(),
            Work::Slices(one) => one.instructions().map(|(_, c)| c).collect(),
        }
    }

    fn poisoned(self) -> Work {
        match self {
            Work::Nested(all) => Work::Nested(all.into_iter().map(Executable::poisoned).collect()),
            Work::Slices(one) => Work::Slices(Box::new(one.poisoned())),
            other => other,
        }
    }
}

impl Executable {
    /// Compiles a graph whose inputs are row-major.
    pub fn new(graph: &Graph) -> Result<Executable> {
        interrupt::stoppable(true, || Executable::prepare(compile(graph, &PROFILE)?, true))
    }

    /// Compiles a graph whose inputs have these layouts.
    pub fn with(graph: &Graph, layouts: &[InputLayout]) -> Result<Executable> {
        interrupt::stoppable(true, || Executable::prepare(compile_with(graph, layouts, &PROFILE)?, true))
    }

    /// Prepares a plan, after verifying it.
    pub fn of(plan: Plan) -> Result<Executable> {
        plan.verify()?;
        Executable::prepare(plan, true)
    }

    /// As [`Executable::of`], without generated code. Tests and benchmarks compare with it.
    pub fn interpreted(plan: Plan) -> Result<Executable> {
        plan.verify()?;
        Executable::prepare(plan, false)
    }

    /// Prepares a verified plan, with generated code if `native`.
    fn prepare(plan: Plan, native: bool) -> Result<Executable> {
        let buffers: Vec<(DType, usize)> = plan.buffers.iter().map(|b| (b.dtype, b.numel)).collect();
        // Steps are prepared in parallel; after a failure, the remaining steps are skipped.
        let ready: Vec<OnceLock<Result<Work>>> = plan.steps.iter().map(|_| OnceLock::new()).collect();
        let failed = AtomicBool::new(false);
        Pool::global().run(ready.len(), &|i| {
            if !failed.load(Ordering::Relaxed) {
                let one = ready[i].get_or_init(|| Work::of(&plan.steps[i], &buffers, native));
                failed.fetch_or(one.is_err(), Ordering::Relaxed);
            }
        });
        let work: Vec<Work> = ready.into_iter().filter_map(OnceLock::into_inner).collect::<Result<_>>()?;
        stop::poll()?;
        if work.len() < plan.steps.len() {
            return Err(Error::verify("a step was not prepared"));
        }
        let mut constants = Vec::new();
        for (b, buffer) in plan.buffers.iter().enumerate() {
            if let BufferLocation::Constant(l) = &buffer.location {
                let storage = Storage::zeroed(buffer.bytes()).ok_or_else(|| memory_error(buffer.bytes()))?;
                // SAFETY: the storage is new and has the size of the literal.
                unsafe { to_memory(l, storage.as_ptr()) };
                constants.push((b, storage));
            }
        }
        let (job_lengths, next_weights) = jobs(&plan);
        Ok(Executable {
            plan,
            work,
            job_lengths,
            next_weights,
            constants,
            arenas: Arenas::new(),
            poison: Vec::new(),
            runs: AtomicU64::new(0),
        })
    }

    /// Fills every temporary with 0xFF before the step that first writes it, so that errors in memory planning,
    /// or reads before writes, change the results.
    pub fn poisoned(mut self) -> Executable {
        self.work = self.work.into_iter().map(Work::poisoned).collect();
        let range = |b: usize| match self.plan.buffers[b].location {
            BufferLocation::Arena(at) => Some((at, self.plan.buffers[b].bytes())),
            _ => None,
        };
        let mut seen = vec![false; self.plan.buffers.len()];
        for step in &self.plan.steps {
            let read: Vec<(usize, usize)> = step.reads().into_iter().filter_map(range).collect();
            let mut new = Vec::new();
            for b in step.writes() {
                // Skips a buffer that is written over its own operand.
                new.extend(range(b).filter(|p| !seen[b] && !read.contains(p)));
                seen[b] = true;
            }
            self.poison.push(new);
        }
        self
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the generated instructions of each step that has some, with the step's number.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let steps = self.work.iter().enumerate();
        steps.flat_map(|(step, work)| work.code().into_iter().map(move |code| (step, code)))
    }

    /// Returns the work of all runs so far: every loop iteration, and the branches taken.
    pub fn done(&self) -> Done {
        let runs = self.runs.load(Ordering::Relaxed);
        let mut done = Done::default();
        for (step, work) in self.plan.steps.iter().zip(&self.work) {
            match work {
                Work::Nested(inside) => {
                    inside.iter().for_each(|e| done.work = done.work + e.done().work);
                    if let (Step::While { .. }, [_, body]) = (step, &inside[..]) {
                        done.iterations += body.runs.load(Ordering::Relaxed);
                    }
                }
                _ => done.work = done.work + step.work(&self.plan).times(runs as usize),
            }
        }
        done
    }

    /// Runs the plan on arguments of the layouts for which it was compiled. Returns the storages of the
    /// outputs. An argument with unshared storage may become an output and is then removed from the list. If
    /// the run fails, the list is unchanged.
    pub fn run(&self, pool: &Pool, arguments: &mut Vec<Argument>) -> Result<Vec<Storage>> {
        self.run_with_times(pool, arguments, None)
    }

    /// As [`Executable::run`], and returns the time of each step.
    pub fn profile(
        &self,
        pool: &Pool,
        arguments: &mut Vec<Argument>,
    ) -> Result<(Vec<Storage>, Vec<Duration>)> {
        let mut times = Vec::with_capacity(self.plan.steps.len());
        let outputs = self.run_with_times(pool, arguments, Some(&mut times))?;
        Ok((outputs, times))
    }

    fn run_with_times(
        &self,
        pool: &Pool,
        arguments: &mut Vec<Argument>,
        times: Option<&mut Vec<Duration>>,
    ) -> Result<Vec<Storage>> {
        let plan = &self.plan;
        if arguments.len() != plan.inputs.len() {
            let why = format!("must be {}, got {}", plan.inputs.len(), arguments.len());
            return Err(Error::value("the number of arguments", why));
        }
        if arguments.iter().any(|a| a.storage.device() != HOST) {
            return Err(Error::device(
                "cpu",
                "cannot read the memory of another device; move the tensor to the cpu",
            ));
        }
        for (a, &b) in arguments.iter().zip(&plan.inputs) {
            let bytes = plan.buffers[b].bytes();
            if a.offset.saturating_add(bytes) > a.storage.len_bytes() {
                let why = format!("has less than {bytes} bytes from byte {} on", a.offset);
                return Err(Error::value("an argument", why));
            }
            if a.offset % plan.buffers[b].dtype.size() != 0 {
                return Err(Error::value(
                    "an argument",
                    format!("is not aligned: it starts at byte {}", a.offset),
                ));
            }
        }
        // For each output, its new storage, or as `Err` the address of the donated argument.
        let mut outputs = Vec::with_capacity(plan.outputs.len());
        for (k, &b) in plan.outputs.iter().enumerate() {
            let bytes = plan.buffers[b].bytes();
            let donor = plan.donors[k].map(|i| &arguments[i]);
            let free =
                |a: &&Argument| a.storage.is_unique() && a.offset == 0 && a.storage.len_bytes() == bytes;
            // SAFETY: the steps of a verified plan write every element of an output.
            let fresh = || unsafe { Storage::uninit(bytes) }.ok_or_else(|| memory_error(bytes));
            outputs.push(match donor.filter(free) {
                Some(a) => Err(a.storage.as_ptr()),
                None => Ok(fresh()?),
            });
        }
        let ins: Vec<*mut u8> = arguments.iter().map(|a| a.storage.as_ptr().wrapping_add(a.offset)).collect();
        let outs: Vec<*mut u8> =
            outputs.iter().map(|o| o.as_ref().map_or_else(|p| *p, Storage::as_ptr)).collect();
        // SAFETY: the sizes of arguments were checked above; outputs are new, or donated by an argument with
        // unshared storage.
        unsafe { self.run_steps(pool, &ins, &outs, times)? };
        // Removes donated arguments from the list: their storages are outputs now.
        let mut remaining: Vec<Option<Argument>> = arguments.drain(..).map(Some).collect();
        let taken = |(k, o): (usize, std::result::Result<Storage, *mut u8>)| match o {
            Ok(storage) => Some(storage),
            Err(_) => plan.donors[k].and_then(|i| remaining[i].take()).map(|a| a.storage),
        };
        let all = outputs.into_iter().enumerate().map(taken).collect::<Option<Vec<_>>>();
        all.ok_or_else(|| Error::verify("an argument was donated to two outputs"))
    }

    unsafe fn run_steps(
        &self,
        pool: &Pool,
        ins: &[*mut u8],
        outs: &[*mut u8],
        times: Option<&mut Vec<Duration>>,
    ) -> Result<()> {
        let mut session = self.session(pool)?;
        // SAFETY: the caller guarantees the sizes of inputs and outputs, and that an output shares memory with an input
        // only if the plan names that input as its donor.
        unsafe { session.run(pool, ins.iter().copied(), outs.iter().copied(), times) }
    }

    /// Allocates the arena and the memory of slices for consecutive runs. A run of the session allocates no further
    /// memory for temporaries, except for branches, loops, and routines that need memory of their own.
    pub(crate) fn session(&self, pool: &Pool) -> Result<Session<'_>> {
        let arena = self.arena()?;
        let mut slices = Vec::new();
        for (step, work) in self.plan.steps.iter().zip(&self.work) {
            if let (Step::Slices { extents, .. }, Work::Slices(body)) = (step, work) {
                let workers = pool.threads().min(extents.iter().product());
                slices.push((0..workers).map(|_| body.session(pool)).collect::<Result<Vec<_>>>()?);
            }
        }
        // Values without elements get an aligned, non-null address that is never read.
        let base = arena.as_ref().map_or(std::ptr::without_provenance_mut(64), Storage::as_ptr);
        let address = |b: &gradus_compile::Buffer| match b.location {
            BufferLocation::Arena(at) => base.wrapping_add(at),
            _ => std::ptr::null_mut(),
        };
        let mut table: Vec<*mut u8> = self.plan.buffers.iter().map(address).collect();
        for (b, storage) in &self.constants {
            table[*b] = storage.as_ptr();
        }
        Ok(Session { executable: self, arena, table, slices, runs: 0 })
    }

    fn arena(&self) -> Result<Option<Storage>> {
        if self.plan.arena == 0 {
            return Ok(None);
        }
        self.arenas.take(self.plan.arena).map(Some)
    }
}

/// Evaluates a graph as the reference evaluator would.
pub fn evaluate(graph: &Graph, inputs: &[Literal]) -> Result<Vec<Literal>> {
    evaluate_on(Pool::global(), &Executable::new(graph)?, graph, inputs)
}

/// As [`evaluate`], with an executable of the graph.
pub fn evaluate_on(
    pool: &Pool,
    executable: &Executable,
    graph: &Graph,
    inputs: &[Literal],
) -> Result<Vec<Literal>> {
    let expected = graph.input_avals();
    if !inputs.iter().map(Literal::aval).eq(&expected) {
        let found: Vec<_> = inputs.iter().map(Literal::aval).collect();
        return Err(Error::shape(format!("inputs {found:?}"), format!("must be {expected:?}")));
    }
    let mut arguments = Vec::with_capacity(inputs.len());
    for l in inputs {
        let bytes = l.data().len() * l.dtype().size();
        let storage = Storage::zeroed(bytes).ok_or_else(|| memory_error(bytes))?;
        // SAFETY: the storage is new and has the size of the literal.
        unsafe { to_memory(l, storage.as_ptr()) };
        arguments.push(Argument { storage, offset: 0 });
    }
    let outputs = executable.run(pool, &mut arguments)?;
    // SAFETY: `run` returns outputs of the sizes that their types state.
    let read = |(s, aval): (&Storage, &Aval)| unsafe { from_memory(aval, s.as_ptr()) };
    outputs.iter().zip(&graph.output_avals()).map(read).collect()
}

/// An executable with memory for one run at a time.
pub(crate) struct Session<'e> {
    executable: &'e Executable,
    arena: Option<Storage>,
    table: Vec<*mut u8>,
    /// Per step of slices, one session for each thread.
    slices: Vec<Vec<Session<'e>>>,
    runs: u64,
}

// SAFETY: a session accesses the memory behind its pointers only in `run`, whose caller guarantees that no other thread does.
unsafe impl Send for Session<'_> {}

impl Session<'_> {
    /// Runs the steps.
    ///
    /// # Safety
    /// Inputs and outputs have the sizes that the plan states. No other thread writes to the inputs or accesses
    /// the outputs during the call. An output shares memory with an input only if the plan names that input as
    /// its donor.
    pub(crate) unsafe fn run(
        &mut self,
        pool: &Pool,
        ins: impl Iterator<Item = *mut u8>,
        outs: impl Iterator<Item = *mut u8>,
        times: Option<&mut Vec<Duration>>,
    ) -> Result<()> {
        let interruptible = self.executable.plan.donors.iter().all(Option::is_none);
        // SAFETY: the caller guarantees the sizes of inputs and outputs, access to them, and the sharing that
        // the plan allows.
        unsafe { self.run_with_interrupts(pool, (ins, outs), times, interruptible) }
    }

    /// As [`Session::run`]. If `interruptible` is true, loop nests and products may be interrupted.
    ///
    /// # Safety
    /// As for [`Session::run`].
    pub(crate) unsafe fn run_with_interrupts(
        &mut self,
        pool: &Pool,
        (ins, outs): (impl Iterator<Item = *mut u8>, impl Iterator<Item = *mut u8>),
        mut times: Option<&mut Vec<Duration>>,
        interruptible: bool,
    ) -> Result<()> {
        self.runs += 1;
        let plan = &self.executable.plan;
        plan.inputs.iter().zip(ins).for_each(|(&b, p)| self.table[b] = p);
        plan.outputs.iter().zip(outs).for_each(|(&b, p)| self.table[b] = p);
        let memory = Memory(&self.table);
        let mut slices = self.slices.iter_mut();
        // The end of the steps that have run as part of an earlier step's job.
        let mut done = 0;
        for (i, (step, work)) in plan.steps.iter().zip(&self.executable.work).enumerate() {
            if i < done {
                times.iter_mut().for_each(|times| times.push(Duration::ZERO));
                continue;
            }
            done = i + self.executable.job_lengths[i];
            if !self.executable.next_weights[i].is_empty() {
                let range = |b: &usize| {
                    let weights = self.table[*b].cast_const();
                    (gradus_mem::copy_of(weights).unwrap_or(weights), plan.buffers[*b].bytes())
                };
                pool.read_ahead(self.executable.next_weights[i].iter().map(range));
            }
            for (at, bytes) in self.executable.poison.iter().take(done).skip(i).flatten() {
                if let Some(arena) = &self.arena {
                    // SAFETY: the range is within the arena, which only this session uses.
                    unsafe { arena.as_ptr().add(*at).write_bytes(0xFF, *bytes) };
                }
            }
            // A step may fail only before the steps that write to an argument's memory.
            let interruptible = interruptible || step.can_fail();
            let start = times.is_some().then(Instant::now);
            // SAFETY: the caller guarantees inputs and outputs; buffers of the arena that are in use do not
            // overlap (`plan/aliasing.rs`).
            interrupt::stoppable(interruptible, || unsafe {
                match step {
                    Step::Slices { control, extents, moves } => {
                        let own = slices.next().map_or(&mut [][..], |s| &mut s[..]);
                        nested::slices(control, (extents, moves), own, pool, memory, plan)
                    }
                    _ if done > i + 1 => {
                        let work = self.executable.work[i..done].iter();
                        let calls = plan.steps[i..done].iter().zip(work).filter_map(|(step, work)| {
                            let (Step::Routine(r), Work::Region(region)) = (step, work) else { return None };
                            Some((r, region))
                        });
                        siblings::run(calls, pool, memory)
                    }
                    _ => run_step(step, work, pool, memory, plan),
                }
            })?;
            if let (Some(times), Some(start)) = (&mut times, start) {
                times.push(start.elapsed());
            }
        }
        Ok(())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.executable.runs.fetch_add(self.runs, Ordering::Relaxed);
        if let Some(arena) = self.arena.take() {
            self.executable.arenas.put(arena);
        }
    }
}

/// Returns the fields `job_lengths` and `next_weights` of an executable.
fn jobs(plan: &Plan) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut job_lengths, mut next_weights) = (vec![1; plan.steps.len()], vec![Vec::new(); plan.steps.len()]);
    let (mut first, mut last) = (0, None);
    while first < plan.steps.len() {
        let count = siblings::count(plan, first);
        job_lengths[first] = count;
        let weights: Vec<usize> =
            plan.steps[first..first + count].iter().filter_map(siblings::weights).collect();
        if !weights.is_empty()
            && let Some(last) = last.replace(first)
        {
            next_weights[last] = weights;
        }
        first += count;
    }
    (job_lengths, next_weights)
}

/// Prepares a loop as one program. Returns `None` if its body is not an elementwise kernel.
fn loop_program(step: &Step, buffers: &[(DType, usize)], native: bool) -> Option<LoopProgram> {
    let Step::Scan { control, shared, carries, length, reverse } = step else { return None };
    let counts = Counts { shared: *shared, carries: *carries, length: *length, reverse: *reverse };
    LoopProgram::new(control, counts, buffers, native)
}

unsafe fn run_step(step: &Step, work: &Work, pool: &Pool, memory: Memory<'_>, plan: &Plan) -> Result<()> {
    // SAFETY: the caller guarantees that `memory` is that of the plan and is not accessed elsewhere.
    unsafe {
        match (step, work) {
            (Step::Kernel(_), Work::Program(program)) => program.run(pool, memory),
            (Step::Contract(c), Work::Program(program)) => product::run(c, Some(program), pool, memory),
            (Step::Contract(c), _) => product::run(c, None, pool, memory),
            (Step::Routine(r), Work::Region(region)) => region::run(r, region, pool, memory),
            (Step::Routine(r), _) => routine::run(r, pool, memory)?,
            (Step::Scan { .. }, Work::LoopProgram(loop_program)) => loop_program.run(pool, memory),
            (Step::Switch(c), Work::Nested(n)) => nested::switch(c, n, pool, memory, plan)?,
            (Step::Scan { control, shared, carries, length, reverse }, Work::Nested(n)) => {
                let counts = (*shared, *carries, *length);
                nested::scan(control, counts, *reverse, &n[0], pool, memory, plan)?;
            }
            (Step::While { control, shared, bound }, Work::Nested(n)) => {
                nested::while_loop(control, *shared, *bound, n, pool, memory, plan)?;
            }
            _ => return Err(Error::verify("a step does not match its prepared data")),
        }
    }
    Ok(())
}
