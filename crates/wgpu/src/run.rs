//! Programs made ready: a [`Loaded`] program has its kernels and constants on the device. A run allocates all its memory,
//! then queues the commands. Steps without a kernel run on the host in between.

use crate::check;
use crate::context::{Context, lock};
use crate::device::bound;
use crate::late::{RECORD, Recorded, Subject, Suspect};
use crate::literal;
use crate::memory::{Block, Owned, Place};
use crate::pipeline::Pipeline;
use crate::queue::{Bound, State};
use crate::timer::MOST;
use gradus_compile::{Place as At, Plan, Text, Work};
use gradus_device::{Argument, Device, Done, Executable, Request, Sink};
use gradus_gpu::{Command, Memory, Program, Word};
use gradus_ir::{Error, Result, stop};
use gradus_mem::{HOST, Storage};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Operands of up to this many bytes may be on the host.
const HOST_OPERAND: usize = 16;
/// Runs that may have failed, among those that operands come from; if there are more, the next run waits for them.
const SUSPECTS: usize = 64;
/// Every buffer begins at a multiple of this, in bytes.
const ALIGN: usize = 16;

/// A program on a device. Safe to run from several threads at once.
#[derive(Debug)]
pub(crate) struct Loaded {
    context: Arc<Context>,
    program: Program,
    plan: Option<Plan>,
    text: Text,
    pipelines: Vec<Arc<Pipeline>>,
    /// Estimated seconds of each command.
    seconds: Vec<f64>,
    /// Per command that runs on the host, what runs it.
    hosts: Vec<Option<Arc<dyn Executable>>>,
    /// Constants on the device and, if a step on the host reads them, there too.
    constants: Vec<(usize, Storage, Option<Storage>)>,
    /// Where each buffer is; set for constants, the others are found by each run.
    table: Vec<Slot>,
    arena: Option<usize>,
    /// Whether some outputs are new values of cells, which must keep the old ones if the run fails.
    cells: bool,
    /// What its checks look at, and per command the checks whose records are stored after it.
    subjects: Arc<[Subject]>,
    records: Vec<Vec<usize>>,
    runs: AtomicU64,
}

/// The memory of a buffer and its first byte there; none if it has no elements.
type Slot = Option<(Bound, usize)>;

/// A run that has its memory.
struct Run {
    number: u64,
    table: Vec<Slot>,
    arena: Option<Arc<Owned>>,
    outputs: Vec<Output>,
    /// Copies to make first.
    copies: Vec<Copy>,
    /// Memory of copied and uploaded operands, freed when all is queued.
    temporaries: Vec<Block>,
    /// The runs that its operands come from and that may have failed.
    suspects: Vec<Arc<Suspect>>,
    /// The run itself, if it can fail late.
    own: Option<Arc<Suspect>>,
}

/// A copy on the device: source and target with their first bytes.
struct Copy {
    from: (Bound, usize),
    to: (Bound, usize),
    bytes: usize,
}

enum Output {
    New(Block),
    /// The memory of this argument.
    Taken(usize),
}

impl Loaded {
    /// Makes a program ready. Compiles its kernels in the background and uploads its constants.
    pub(crate) fn new(
        context: &Arc<Context>,
        host: &dyn Device,
        program: Program,
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
                    let request = Request { given: &[], keeps: &[], text: Text::Special };
                    Some(host.prepare((**plan).clone(), &request)?)
                }
            });
        }
        let mut constants = Vec::new();
        let mut table: Vec<Slot> = vec![None; program.buffers.len()];
        for (b, buffer) in program.buffers.iter().enumerate() {
            if let At::Constant(value) = &buffer.place {
                let bytes = literal::bytes(value);
                let storage = context.upload(&bytes)?;
                table[b] = bound(context.block(&storage)?.place());
                let copy = if read_by_host[b] { Some(host.upload(&bytes)?) } else { None };
                constants.push((b, storage, copy));
            }
        }
        let binds_arena = |c: &Command| matches!(c, Command::Dispatch { bindings, .. } if bindings.contains(&Memory::Arena));
        let needed = program.arena > 0 || program.commands.iter().any(binds_arena);
        let arena = needed.then(|| program.arena.max(ALIGN));
        let seconds = check::estimates(&program, plan.as_ref(), context.software);
        let subjects = Subject::all(&program, plan.as_ref());
        let mut records = vec![Vec::new(); program.commands.len()];
        for (i, check) in program.checks.iter().enumerate() {
            let of_step = |c: &Command| matches!(c, Command::Dispatch { step, .. } if *step == check.step);
            program.commands.iter().rposition(of_step).into_iter().for_each(|at| records[at].push(i));
        }
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
            runs: AtomicU64::new(0),
        })
    }

    fn check(&self, arguments: &[Argument]) -> Result<()> {
        let program = &self.program;
        if arguments.len() != program.inputs.len() {
            let why = format!("must be {}, were {}", program.inputs.len(), arguments.len());
            return Err(Error::value("the arguments", why));
        }
        for (a, &b) in arguments.iter().zip(&program.inputs) {
            let (buffer, bytes) = (&program.buffers[b], program.buffers[b].bytes());
            if a.offset.saturating_add(bytes) > a.storage.len_bytes() {
                return Err(Error::value("an argument", format!("needs {bytes} bytes from its offset")));
            }
            if !a.offset.is_multiple_of(buffer.dtype.size()) {
                return Err(Error::value("an argument", format!("cannot start at byte {}", a.offset)));
            }
            if a.storage.device() == HOST {
                if bytes > HOST_OPERAND {
                    let why =
                        format!("cannot use {bytes} bytes of the cpu; move the tensor to the device first");
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
        let arena = self.arena.map(|bytes| context.take_arena(state, bytes)).transpose()?;
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
        if filled.is_err()
            && let Some(arena) = run.arena.take()
        {
            context.put_arena(state, arena);
        }
        filled.map(|()| run)
    }

    /// Finds memory for inputs, outputs and temporaries.
    fn fill(&self, state: &mut State, arguments: &[Argument], run: &mut Run) -> Result<()> {
        let (context, program) = (&self.context, &self.program);
        if !self.subjects.is_empty() {
            let record = context.take(state, RECORD * self.subjects.len())?;
            if let Some((to, start)) = bound(record.place()) {
                // No check has failed yet.
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
                run.table[b] = bound(block.place());
                run.outputs.push(Output::New(block));
                continue;
            };
            let a = &arguments[i];
            let own = a.storage.is_unique() && a.offset == 0 && a.storage.len_bytes() == bytes;
            let slot = if own && a.storage.device() != HOST {
                let slot = bound(context.block(&a.storage)?.place());
                run.outputs.push(Output::Taken(i));
                slot
            } else {
                // Somebody still uses the old value.
                let block = self.copied(state, a, bytes, run)?;
                block.written_by(run.number, &suspects);
                let slot = bound(block.place());
                run.outputs.push(Output::New(block));
                slot
            };
            run.table[program.inputs[i]] = slot.clone();
            run.table[b] = slot;
        }
        if let Some(arena) = &run.arena {
            for (b, buffer) in program.buffers.iter().enumerate() {
                if let At::Arena(at) = buffer.place {
                    run.table[b] = Some((Bound::Own(arena.clone()), at));
                }
            }
        }
        Ok(())
    }

    /// The memory of an operand, where the program's kernels can read it.
    fn operand(&self, state: &mut State, a: &Argument, b: usize, run: &mut Run) -> Result<Slot> {
        let bytes = self.program.buffers[b].bytes();
        if bytes == 0 {
            return Ok(None);
        }
        if a.storage.device() != HOST && a.offset.is_multiple_of(ALIGN) {
            let place = self.context.block(&a.storage)?.place();
            // A small part of a large tensor is not where kernels look for small operands.
            let memory = self.program.memory(b);
            let fits = matches!(
                (place, memory),
                (Place::Heap { .. }, Memory::Heap) | (Place::Own(_), Memory::Own(_))
            );
            if fits {
                return Ok(bound(place).map(|(buffer, start)| (buffer, start + a.offset)));
            }
        }
        let block = self.copied(state, a, bytes, run)?;
        let slot = bound(block.place());
        run.temporaries.push(block);
        Ok(slot)
    }

    /// New memory that will have the value of an argument.
    fn copied(&self, state: &mut State, a: &Argument, bytes: usize, run: &mut Run) -> Result<Block> {
        let block = self.context.take(state, bytes)?;
        let Some((to, at)) = bound(block.place()) else { return Ok(block) };
        if let Some(all) = a.storage.host::<u8>() {
            self.context.write(state, (&to, at), &all[a.offset..a.offset + bytes], run.number)?;
        } else if let Some((from, start)) = bound(self.context.block(&a.storage)?.place()) {
            run.copies.push(Copy { from: (from, start + a.offset), to: (to, at), bytes });
        }
        Ok(block)
    }

    /// Queues all commands, and runs those of the host.
    fn execute(&self, run: &mut Run, arguments: &[Argument]) -> Result<()> {
        let context = &self.context;
        let mut state = lock(&context.state);
        self.queue_copies(&mut state, run);
        for (i, command) in self.program.commands.iter().enumerate() {
            match command {
                Command::Dispatch { .. } => {
                    if state.is_full(1, self.seconds[i]) {
                        context.submit_list(&mut state)?;
                        drop(state);
                        stop::poll()?;
                        state = lock(&context.state);
                    }
                    self.queue(&mut state, run, i);
                }
                Command::Host { .. } => {
                    drop(state);
                    self.run_on_host(run, i, arguments)?;
                    state = lock(&context.state);
                }
            }
            if self.decides(i) {
                drop(state);
                context.resolve(run.own.as_slice())?;
                state = lock(&context.state);
            }
        }
        if state.count_run() || self.text == Text::Special {
            context.submit_list(&mut state)?;
        }
        Ok(())
    }

    /// As [`Loaded::execute`], with the time of each step.
    fn execute_timed(&self, run: &mut Run, arguments: &[Argument]) -> Result<Vec<Duration>> {
        let context = &self.context;
        let mut state = lock(&context.state);
        self.queue_copies(&mut state, run);
        // Nobody else's work may be in the list.
        context.submit_list(&mut state)?;
        let most = if context.has_timer() { MOST } else { 1 };
        let mut times = vec![Duration::ZERO; self.steps_count()];
        let mut queued: Vec<usize> = Vec::new();
        for (i, command) in self.program.commands.iter().enumerate() {
            match command {
                Command::Dispatch { step, .. } => {
                    let before = state.queued();
                    self.queue(&mut state, run, i);
                    queued.resize(queued.len() + state.queued() - before, *step);
                    if queued.len() >= most {
                        self.submit_timed(state, &mut queued, &mut times)?;
                        stop::poll()?;
                        state = lock(&context.state);
                        context.submit_list(&mut state)?;
                    }
                }
                Command::Host { step, .. } => {
                    self.submit_timed(state, &mut queued, &mut times)?;
                    let start = Instant::now();
                    self.run_on_host(run, i, arguments)?;
                    times[*step] += start.elapsed();
                    state = lock(&context.state);
                    context.submit_list(&mut state)?;
                }
            }
            if self.decides(i) {
                self.submit_timed(state, &mut queued, &mut times)?;
                context.resolve(run.own.as_slice())?;
                state = lock(&context.state);
                context.submit_list(&mut state)?;
            }
        }
        self.submit_timed(state, &mut queued, &mut times)?;
        Ok(times)
    }

    /// Submits queued dispatches of these steps, waits for them and counts their times.
    fn submit_timed(
        &self,
        mut state: MutexGuard<'_, State>,
        queued: &mut Vec<usize>,
        times: &mut [Duration],
    ) -> Result<()> {
        let took = if self.context.has_timer() {
            self.context.submit_timed(state)?
        } else {
            let start = Instant::now();
            self.context.submit_list(&mut state)?;
            drop(state);
            self.context.read_ranges(&[], &[], Vec::new())?;
            vec![start.elapsed(); queued.len()]
        };
        queued.drain(..).zip(took).for_each(|(step, took)| times[step] += took);
        Ok(())
    }

    fn queue_copies(&self, state: &mut State, run: &mut Run) {
        for Copy { from, to, bytes } in std::mem::take(&mut run.copies) {
            self.context.queue_copy(state, from, to, bytes, run.number);
        }
    }

    /// Whether it must be known after this command that no check has failed: cells are written later.
    fn decides(&self, command: usize) -> bool {
        self.cells && self.records.iter().rposition(|r| !r.is_empty()) == Some(command)
    }

    /// Queues a dispatch, and the records of its checks.
    fn queue(&self, state: &mut State, run: &Run, command: usize) {
        self.queue_dispatch(state, run, command);
        let (Some(arena), Some(own)) = (&run.arena, &run.own) else { return };
        let arena = Bound::Own(arena.clone());
        for &i in &self.records[command] {
            let check = &self.program.checks[i];
            let word = run.table[check.word].as_ref();
            if let (Some((_, word)), Some(index), Some((_, to, _))) =
                (word, &run.table[check.index], own.range())
            {
                let is_temporary = self.program.memory(check.index) == Memory::Arena;
                let dtype = self.subjects[i].dtype;
                let to = to + RECORD * i;
                let from = Recorded { arena: &arena, word: *word, index, is_temporary, dtype, to };
                self.context.queue_record(state, &from, run.number);
            }
        }
    }

    fn queue_dispatch(&self, state: &mut State, run: &Run, command: usize) {
        let Command::Dispatch { module, bindings, parameters, groups, .. } = &self.program.commands[command]
        else {
            return;
        };
        let mut buffers = Vec::with_capacity(bindings.len());
        for memory in bindings {
            let own = match memory {
                Memory::Heap => Some(Bound::Heap),
                Memory::Arena => run.arena.clone().map(Bound::Own),
                Memory::Own(b) => run.table[*b].as_ref().map(|(bound, _)| bound.clone()),
            };
            // A large buffer without memory has no elements, so there is nothing to do.
            let Some(own) = own else { return };
            buffers.push(own);
        }
        let mut bytes = Vec::with_capacity(4 * parameters.len());
        for word in parameters {
            let word = match word {
                Word::Value(bits) => *bits,
                Word::Start { buffer, plus } => {
                    let start = run.table[*buffer].as_ref().map_or(0, |(_, start)| *start);
                    (start / self.program.buffers[*buffer].dtype.size()) as u32 + plus
                }
            };
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        state.dispatch(&self.context, (&self.pipelines[*module], buffers), &bytes, *groups, run.number);
        state.count(self.seconds[command]);
    }

    /// Runs a step on the host: reads its operands, and uploads its results.
    fn run_on_host(&self, run: &Run, command: usize, arguments: &[Argument]) -> Result<()> {
        let (context, program) = (&self.context, &self.program);
        let (Command::Host { reads, writes, .. }, Some(executable)) =
            (&program.commands[command], &self.hosts[command])
        else {
            return Ok(());
        };
        // Values that the host has already need no read.
        let known = |b: usize| match &program.buffers[b].place {
            At::Constant(_) => {
                let own = self.constants.iter().find(|(c, _, _)| *c == b)?;
                own.2.clone().map(|storage| Argument { storage, offset: 0 })
            }
            At::Input(i) => arguments.get(*i).filter(|a| a.storage.device() == HOST).cloned(),
            _ => None,
        };
        let mut operands: Vec<Option<Argument>> = reads.iter().map(|b| known(*b)).collect();
        let missing: Vec<usize> = (0..reads.len()).filter(|i| operands[*i].is_none()).collect();
        let range = |i: &usize| {
            let (bound, start) = run.table[reads[*i]].clone()?;
            Some((bound, start, program.buffers[reads[*i]].bytes()))
        };
        let ranges: Vec<_> = missing.iter().map(range).collect();
        let suspects = run.suspects.iter().map(|s| (s.clone(), true));
        let suspects: Vec<_> = suspects.chain(run.own.iter().map(|s| (s.clone(), false))).collect();
        // What is queued is submitted in any case: results may go to memory that queued commands use.
        let values = match ranges.is_empty() && suspects.is_empty() {
            true => context.submit_list(&mut lock(&context.state)).map(|()| Vec::new())?,
            false => context.read_ranges(&ranges, &[run.number], suspects)?,
        };
        for (i, storage) in missing.into_iter().zip(values) {
            operands[i] = Some(Argument { storage, offset: 0 });
        }
        let mut operands: Vec<Argument> = operands.into_iter().flatten().collect();
        let results = executable.run(&mut operands, None)?;
        let mut state = lock(&context.state);
        for (b, result) in writes.iter().zip(&results) {
            let bytes =
                result.host::<u8>().ok_or_else(|| context.error("a step of the host has no result"))?;
            if let Some((bound, start)) = &run.table[*b] {
                let bytes = &bytes[..bytes.len().min(program.buffers[*b].bytes())];
                context.write(&mut state, (bound, *start), bytes, run.number)?;
            }
        }
        Ok(())
    }

    fn steps_count(&self) -> usize {
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
            // If a kernel is refused, nothing has been written yet.
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
        // A run that writes over its arguments must not end in the middle.
        let in_place = run.outputs.iter().any(|o| matches!(o, Output::Taken(_)));
        let quiet = in_place.then(stop::quiet);
        let executed = match sink {
            None => self.execute(&mut run, arguments),
            Some(sink) => self.execute_timed(&mut run, arguments).map(|times| {
                times.into_iter().enumerate().for_each(|(step, took)| sink.span(step, took));
            }),
        };
        drop(quiet);
        if let Some(arena) = run.arena.take() {
            context.put_arena(&mut lock(&context.state), arena);
        }
        executed?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        let mut given: Vec<Option<Argument>> = arguments.drain(..).map(Some).collect();
        let output = |output| match output {
            Output::New(block) => Block::storage(block),
            Output::Taken(i) => {
                let gone = || Error::verify("an argument gave its memory to two outputs");
                let storage = given[i].take().ok_or_else(gone)?.storage;
                // Cells wait for suspects, so there are none.
                context.block(&storage)?.written_by(run.number, &[]);
                Ok(storage)
            }
        };
        run.outputs.drain(..).map(output).collect()
    }

    fn explain(&self) -> String {
        crate::explain::explain(&self.program, self.plan.as_ref())
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
        let turns = self.hosts.iter().flatten().map(|host| host.done().turns).sum();
        Done { work, turns }
    }
}
