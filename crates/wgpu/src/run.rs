//! Prepared programs. The kernels and constants of a [`Loaded`] program are on the device. A run first allocates all its
//! memory, then queues the commands. Steps without a kernel run on the host between the commands.

use crate::check;
use crate::context::{Context, lock};
use crate::device::bound;
use crate::late::{RECORD, Subject, Suspect};
use crate::memory::{Block, BlockMemory, Owned};
use crate::pipeline::Pipeline;
use crate::queue::{Bound, State};
use gradus_compile::{BufferLocation, Plan, Text, Work};
use gradus_device::{Argument, Code, CodeBody, Device, Done, Executable, Request, Sink};
use gradus_gpu::{Command, GpuProgram, Memory};
use gradus_ir::{Error, Result, stop};
use gradus_mem::{HOST, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest operand on the host, in bytes, that is uploaded automatically.
const HOST_OPERAND: usize = 16;
/// Largest number of suspects of the operands of a run. If there are more, the run first waits for them.
const SUSPECTS: usize = 64;
/// Every buffer begins at a multiple of this, in bytes.
const ALIGN: usize = 16;

/// A program on a device. Safe to run from several threads at once.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    pub(crate) program: GpuProgram,
    pub(crate) plan: Option<Plan>,
    pub(crate) text: Text,
    pub(crate) pipelines: Vec<Arc<Pipeline>>,
    /// Estimated seconds of each command.
    pub(crate) seconds: Vec<f64>,
    /// The executable of each command that runs on the host.
    pub(crate) hosts: Vec<Option<Arc<dyn Executable>>>,
    /// Constants on the device and, if a host step reads them, on the host.
    pub(crate) constants: Vec<(usize, Storage, Option<Storage>)>,
    /// The memory of each buffer. Only that of constants is set; each run assigns the others.
    pub(crate) table: Vec<Slot>,
    /// Bytes of each page of the arena.
    pub(crate) arena: Vec<usize>,
    /// If true, some outputs are new values of cells. Cells must keep their old values if the run fails.
    pub(crate) cells: bool,
    /// The subjects of its checks, and for each command the checks whose records are stored directly after it.
    pub(crate) subjects: Arc<[Subject]>,
    pub(crate) records: Vec<Vec<usize>>,
    /// The last command whose checks are recorded, if the program writes cells. After it the run waits for
    /// the outcome of its checks, because cells must keep their values if a check fails.
    pub(crate) last_check: Option<usize>,
    pub(crate) runs: AtomicU64,
}

/// The memory of a buffer, and the first byte of the buffer in it; `None` if the buffer has no elements.
pub(crate) type Slot = Option<(Bound, usize)>;

/// A run whose memory is allocated.
pub(crate) struct Run {
    pub(crate) number: u64,
    pub(crate) table: Vec<Slot>,
    pub(crate) arena: Vec<Arc<Owned>>,
    pub(crate) outputs: Vec<Output>,
    /// Copies that are queued before the commands.
    pub(crate) copies: Vec<Copy>,
    /// Memory of copied and uploaded operands, freed when all commands are queued.
    pub(crate) temporaries: Vec<Block>,
    /// The runs that computed its operands and that may have failed.
    pub(crate) suspects: Vec<Arc<Suspect>>,
    /// The suspect of the run itself, if the program has checks.
    pub(crate) own: Option<Arc<Suspect>>,
}

/// A copy on the device: source and target with their first bytes.
pub(crate) struct Copy {
    pub(crate) from: (Bound, usize),
    pub(crate) to: (Bound, usize),
    pub(crate) bytes: usize,
}

pub(crate) enum Output {
    New(Block),
    /// The memory of this argument.
    Taken(usize),
}

impl Loaded {
    /// Prepares a program: compiles its kernels in the background and uploads its constants.
    pub(crate) fn new(
        context: &Arc<Context>,
        host: &dyn Device,
        program: GpuProgram,
        plan: Option<Plan>,
        (text, cells): (Text, bool),
    ) -> Result<Loaded> {
        context.check()?;
        check::verify(context, &program)?;
        let prepare = |m| context.pipelines.prepare(m).map_err(|fault| context.fault(fault, 0));
        let pipelines = program.modules.iter().map(prepare).collect::<Result<Vec<_>>>()?;
        let mut hosts = Vec::with_capacity(program.commands.len());
        let mut read_by_host = vec![false; program.buffers.len()];
        for command in &program.commands {
            hosts.push(match command {
                Command::Dispatch { .. } => None,
                Command::Host { plan, reads, .. } => {
                    reads.iter().for_each(|b| read_by_host[*b] = true);
                    let request = Request { layouts: &[], keeps: &[], text: Text::Special };
                    Some(host.prepare((**plan).clone(), &request)?)
                }
            });
        }
        let mut constants = Vec::new();
        let mut table: Vec<Slot> = vec![None; program.buffers.len()];
        for (b, buffer) in program.buffers.iter().enumerate() {
            if let BufferLocation::Constant(value) = &buffer.location {
                let bytes = value.to_bytes();
                let storage = context.upload(&bytes)?;
                table[b] = bound(context.block(&storage)?.memory());
                let copy = if read_by_host[b] { Some(host.upload(&bytes)?) } else { None };
                constants.push((b, storage, copy));
            }
        }
        let pages = if program.needs_arena() { program.pages() } else { Vec::new() };
        let arena = pages.into_iter().map(|bytes| bytes.max(ALIGN)).collect();
        let seconds = check::estimates(&program, plan.as_ref(), context.software);
        let subjects = Subject::all(&program, plan.as_ref());
        let records = Subject::checks_by_command(&program);
        let last_check = records.iter().rposition(|r| !r.is_empty()).filter(|_| cells);
        Ok(Loaded {
            context: context.clone(),
            program,
            plan,
            text,
            pipelines,
            seconds,
            hosts,
            constants,
            table,
            arena,
            cells,
            subjects,
            records,
            last_check,
            runs: AtomicU64::new(0),
        })
    }

    fn check(&self, arguments: &[Argument]) -> Result<()> {
        let program = &self.program;
        if arguments.len() != program.inputs.len() {
            let why = format!("must be {}, got {}", program.inputs.len(), arguments.len());
            return Err(Error::value("the number of arguments", why));
        }
        for (a, &b) in arguments.iter().zip(&program.inputs) {
            let (buffer, bytes) = (&program.buffers[b], program.buffers[b].bytes());
            if a.offset.saturating_add(bytes) > a.storage.len_bytes() {
                let why = format!("has fewer than {bytes} bytes after its offset of {} bytes", a.offset);
                return Err(Error::value("an argument", why));
            }
            if !a.offset.is_multiple_of(buffer.dtype.size()) {
                let why = format!("of {} cannot start at byte {}", buffer.dtype, a.offset);
                return Err(Error::value("an argument", why));
            }
            if a.storage.device() == HOST {
                if bytes > HOST_OPERAND {
                    let why = format!(
                        "cannot read a tensor of {bytes} bytes on the cpu; move it to the device first"
                    );
                    return Err(self.context.error(why));
                }
            } else {
                self.context.block(&a.storage)?;
            }
        }
        Ok(())
    }

    /// Allocates everything that a run needs.
    fn begin(&self, state: &mut State, arguments: &[Argument], suspects: Vec<Arc<Suspect>>) -> Result<Run> {
        let (context, program) = (&self.context, &self.program);
        for a in arguments.iter().filter(|a| a.storage.device() != HOST) {
            state.check_run(context.block(&a.storage)?.run())?;
        }
        let mut arena = Vec::with_capacity(self.arena.len());
        for &bytes in &self.arena {
            match context.take_arena(state, bytes) {
                Ok(page) => arena.push(page),
                Err(e) => {
                    arena.into_iter().for_each(|page| context.put_arena(state, page));
                    return Err(e);
                }
            }
        }
        let mut run = Run {
            number: state.next_run(),
            table: self.table.clone(),
            arena,
            outputs: Vec::with_capacity(program.outputs.len()),
            copies: Vec::new(),
            temporaries: Vec::new(),
            suspects,
            own: None,
        };
        let filled = self.fill(state, arguments, &mut run);
        if filled.is_err() {
            run.arena.drain(..).for_each(|page| context.put_arena(state, page));
        }
        filled.map(|()| run)
    }

    /// Assigns memory to inputs, outputs and temporaries.
    fn fill(&self, state: &mut State, arguments: &[Argument], run: &mut Run) -> Result<()> {
        let (context, program) = (&self.context, &self.program);
        if !self.subjects.is_empty() {
            let record = context.take(state, RECORD * self.subjects.len())?;
            if let Some((to, start)) = bound(record.memory()) {
                // Initialises the record so that no check has failed.
                context.write(state, (&to, start), &vec![0xff; RECORD * self.subjects.len()], run.number)?;
            }
            run.own = Some(Suspect::new(&self.subjects, record));
        }
        let suspects: Vec<Arc<Suspect>> = run.suspects.iter().chain(&run.own).cloned().collect();
        let mut taken = vec![false; arguments.len()];
        program.donors.iter().flatten().for_each(|i| taken[*i] = true);
        for (i, (a, &b)) in arguments.iter().zip(&program.inputs).enumerate() {
            if !taken[i] {
                run.table[b] = self.operand(state, a, b, run)?;
            }
        }
        for (k, &b) in program.outputs.iter().enumerate() {
            let bytes = program.buffers[b].bytes();
            let Some(i) = program.donors.get(k).copied().flatten() else {
                let block = context.take(state, bytes)?;
                block.written_by(run.number, &suspects);
                run.table[b] = bound(block.memory());
                run.outputs.push(Output::New(block));
                continue;
            };
            let a = &arguments[i];
            let own = a.storage.is_unique() && a.offset == 0 && a.storage.len_bytes() == bytes;
            let slot = if own && a.storage.device() != HOST {
                let slot = bound(context.block(&a.storage)?.memory());
                run.outputs.push(Output::Taken(i));
                slot
            } else {
                // The old value is still in use, so a copy is overwritten.
                let block = self.copied(state, a, bytes, run)?;
                block.written_by(run.number, &suspects);
                let slot = bound(block.memory());
                run.outputs.push(Output::New(block));
                slot
            };
            run.table[program.inputs[i]] = slot.clone();
            run.table[b] = slot;
        }
        for (b, buffer) in program.buffers.iter().enumerate() {
            if let BufferLocation::Arena(at) = buffer.location {
                let (page, at) = program.page_of(at);
                run.table[b] = run.arena.get(page).map(|page| (Bound::Own(page.clone()), at));
            }
        }
        Ok(())
    }

    /// Returns memory of an operand that the program's kernels can read. Copies or uploads the operand if needed.
    fn operand(&self, state: &mut State, a: &Argument, b: usize, run: &mut Run) -> Result<Slot> {
        let bytes = self.program.buffers[b].bytes();
        if bytes == 0 {
            return Ok(None);
        }
        if a.storage.device() != HOST && a.offset.is_multiple_of(ALIGN) {
            let actual = self.context.block(&a.storage)?.memory();
            // Kernels read small operands from the heap, but a small part of a large tensor is in another buffer.
            let memory = self.program.memory(b);
            let fits = matches!(
                (actual, memory),
                (BlockMemory::Heap { .. }, Memory::Heap) | (BlockMemory::Own(_), Memory::Own(_))
            );
            if fits {
                return Ok(bound(actual).map(|(buffer, start)| (buffer, start + a.offset)));
            }
        }
        let block = self.copied(state, a, bytes, run)?;
        let slot = bound(block.memory());
        run.temporaries.push(block);
        Ok(slot)
    }

    /// Allocates memory for a copy of an argument, and queues the copy.
    fn copied(&self, state: &mut State, a: &Argument, bytes: usize, run: &mut Run) -> Result<Block> {
        let block = self.context.take(state, bytes)?;
        let Some((to, at)) = bound(block.memory()) else { return Ok(block) };
        if let Some(all) = a.storage.host::<u8>() {
            self.context.write(state, (&to, at), &all[a.offset..a.offset + bytes], run.number)?;
        } else if let Some((from, start)) = bound(self.context.block(&a.storage)?.memory()) {
            run.copies.push(Copy { from: (from, start + a.offset), to: (to, at), bytes });
        }
        Ok(block)
    }

    pub(crate) fn steps_count(&self) -> usize {
        let step = |c: &Command| match c {
            Command::Dispatch { step, .. } | Command::Host { step, .. } => step + 1,
        };
        let known = self.plan.as_ref().map_or(0, |p| p.steps.len());
        self.program.commands.iter().map(step).max().unwrap_or(0).max(known)
    }
}

impl Executable for Loaded {
    fn run(&self, arguments: &mut Vec<Argument>, sink: Option<&mut dyn Sink>) -> Result<Vec<Storage>> {
        let context = &self.context;
        stop::poll()?;
        context.check()?;
        self.check(arguments)?;
        if self.text == Text::Special || self.cells || sink.is_some() {
            // Waits for the kernels before any memory is written, so that a rejected kernel leaves all values unchanged.
            let ready = |p: &Arc<Pipeline>| p.ready().map(|_| ()).map_err(|why| context.error(why));
            self.pipelines.iter().try_for_each(ready)?;
        }
        let mut suspects = Vec::new();
        for a in arguments.iter().filter(|a| a.storage.device() != HOST) {
            context.block(&a.storage)?.add_suspects(&mut suspects)?;
        }
        if self.cells || suspects.len() > SUSPECTS {
            context.resolve(&suspects)?;
            suspects.clear();
        }
        let mut run = self.begin(&mut lock(&context.state), arguments, suspects)?;
        // A run that overwrites arguments must not be interrupted.
        let in_place = run.outputs.iter().any(|o| matches!(o, Output::Taken(_)));
        let quiet = in_place.then(stop::quiet);
        let executed = match sink {
            None => self.execute(&mut run, arguments),
            Some(sink) => self.execute_timed(&mut run, arguments).map(|times| {
                times.into_iter().enumerate().for_each(|(step, took)| sink.span(step, took));
            }),
        };
        drop(quiet);
        if !run.arena.is_empty() {
            let mut state = lock(&context.state);
            run.arena.drain(..).for_each(|page| context.put_arena(&mut state, page));
        }
        executed?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        let mut remaining: Vec<Option<Argument>> = arguments.drain(..).map(Some).collect();
        let output = |output| match output {
            Output::New(block) => Block::storage(block),
            Output::Taken(i) => {
                let gone = || Error::verify("an argument is overwritten by two outputs");
                let storage = remaining[i].take().ok_or_else(gone)?.storage;
                // A run that writes cells has waited for its suspects, so there are none.
                context.block(&storage)?.written_by(run.number, &[]);
                Ok(storage)
            }
        };
        run.outputs.drain(..).map(output).collect()
    }

    fn explain(&self) -> String {
        self.program.explained(self.plan.as_ref())
    }

    fn code(&self) -> Vec<Code> {
        let code = |(step, text): (usize, &str)| Code { step, body: CodeBody::Text(text.to_string()) };
        self.program.texts().map(code).collect()
    }

    fn steps(&self) -> Vec<String> {
        match &self.plan {
            Some(plan) => plan.steps.iter().map(|step| step.title()).collect(),
            None => (0..self.steps_count()).map(|i| format!("step {i}")).collect(),
        }
    }

    fn costs(&self) -> Vec<Work> {
        let plan = self.plan.as_ref();
        plan.map_or_else(Vec::new, |p| p.steps.iter().map(|step| step.work(p)).collect())
    }

    fn arena(&self) -> usize {
        self.program.arena
    }

    fn done(&self) -> Done {
        let runs = self.runs.load(Ordering::Relaxed) as usize;
        let work = self.plan.as_ref().map_or_else(Work::default, Plan::work).times(runs);
        let iterations = self.hosts.iter().flatten().map(|host| host.done().iterations).sum();
        Done { work, iterations }
    }
}
