//! Runs programs whose memory is allocated: queues their commands, runs host steps between them, and measures times on
//! request. `run` allocates the memory, and `late` handles errors that the device reports later.

use crate::context::lock;
use crate::late::{RECORD, Recorded};
use crate::queue::{Bound, State};
use crate::run::{Copy, Loaded, Run};
use crate::timer;
use gradus_compile::BufferLocation;
use gradus_device::Argument;
use gradus_gpu::{Command, Memory, Word};
use gradus_ir::{Result, stop};
use gradus_mem::HOST;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

impl Loaded {
    /// Queues all commands, and runs the host steps.
    pub(crate) fn execute(&self, run: &mut Run, arguments: &[Argument]) -> Result<()> {
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
            if self.last_check == Some(i) {
                drop(state);
                context.resolve(run.own.as_slice())?;
                state = lock(&context.state);
            }
        }
        // A run that writes cells returns only after its commands have been submitted successfully. The commands of other
        // runs are submitted with later commands, so that a run and the read of its results can be one submission.
        if state.count_run() || self.cells {
            context.submit_list(&mut state)?;
        }
        Ok(())
    }

    /// Runs the program as [`Loaded::execute`] does, and returns the time of each step.
    pub(crate) fn execute_timed(&self, run: &mut Run, arguments: &[Argument]) -> Result<Vec<Duration>> {
        let context = &self.context;
        let mut state = lock(&context.state);
        self.queue_copies(&mut state, run);
        // Submits the commands of other runs first, because their times would be included.
        context.submit_list(&mut state)?;
        let most = if context.has_timer() { timer::MAX } else { 1 };
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
            if self.last_check == Some(i) {
                self.submit_timed(state, &mut queued, &mut times)?;
                context.resolve(run.own.as_slice())?;
                state = lock(&context.state);
                context.submit_list(&mut state)?;
            }
        }
        self.submit_timed(state, &mut queued, &mut times)?;
        Ok(times)
    }

    /// Submits the queued dispatches, waits for them, and adds their times to their steps. `queued` has the step of each
    /// dispatch.
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

    /// Queues a dispatch, and the records of its checks.
    fn queue(&self, state: &mut State, run: &Run, command: usize) {
        self.queue_dispatch(state, run, command);
        let Some(own) = &run.own else { return };
        for &i in &self.records[command] {
            let check = &self.program.checks[i];
            let word = run.table[check.word].as_ref();
            if let (Some((arena, word)), Some(index), Some((_, to, _))) =
                (word, &run.table[check.index], own.range())
            {
                let is_same = self.program.memory(check.index) == self.program.memory(check.word);
                let dtype = self.subjects[i].dtype;
                let to = to + RECORD * i;
                let from = Recorded { arena, word: *word, index, is_same, dtype, to };
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
                Memory::Arena => run.arena.first().cloned().map(Bound::Own),
                Memory::Page(k) => run.arena.get(*k).cloned().map(Bound::Own),
                Memory::Own(b) => run.table[*b].as_ref().map(|(bound, _)| bound.clone()),
            };
            // A large buffer without memory has no elements, so there is nothing to dispatch.
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
        // Values that are already on the host need not be read.
        let known = |b: usize| match &program.buffers[b].location {
            BufferLocation::Constant(_) => {
                let own = self.constants.iter().find(|(c, _, _)| *c == b)?;
                own.2.clone().map(|storage| Argument { storage, offset: 0 })
            }
            BufferLocation::Input(i) => arguments.get(*i).filter(|a| a.storage.device() == HOST).cloned(),
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
        // Submits queued commands even if nothing is read, because they may use the memory to which results are written.
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
            let bytes = result
                .host::<u8>()
                .ok_or_else(|| context.error("the result of a host step is not on the cpu"))?;
            if let Some((bound, start)) = &run.table[*b] {
                let bytes = &bytes[..bytes.len().min(program.buffers[*b].bytes())];
                context.write(&mut state, (bound, *start), bytes, run.number)?;
            }
        }
        Ok(())
    }
}
