//! The queue: a list of dispatches that is submitted as one command buffer with one compute pass. A pass for each
//! dispatch would cost sixteen times as much. The parameters of all dispatches are in one uniform buffer, which is
//! written once per submission. `execute` decides what is queued, and when a list is submitted early.

use crate::context::{Context, lock};
use crate::memory::Owned;
use crate::pipeline::Pipeline;
use crate::timer::Timer;
use gradus_gpu::Ranges;
use gradus_ir::{Error, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Number of bind groups to cache.
const GROUPS: usize = 1024;
/// Largest upload, in bytes, that is collected in the list and copied together with others.
const SMALL_UPLOAD: usize = 64 << 10;
/// Bytes of uploads after which the list is submitted, because wgpu keeps a copy of the bytes until then.
const UPLOADS: usize = 64 << 20;
/// Number of runs of eager calls after which the list is submitted.
const RUNS: usize = 64;
/// Estimated seconds of eager calls after which the list is submitted.
const EAGER: f64 = 1e-3;
/// Largest estimated duration of one submission in seconds, because systems reset a GPU that is busy for too long.
const LONGEST: f64 = 0.1;
/// Largest number of dispatches of one submission.
const DISPATCHES: usize = 4096;
/// Largest number of submissions that may be unfinished at the same time.
const IN_FLIGHT: usize = 64;

/// The memory of a device and its queued work.
pub(crate) struct State {
    pub(crate) heap: Arc<Owned>,
    pub(crate) ranges: Ranges,
    /// Cached buffers by size, and their total bytes.
    pub(crate) pool: BTreeMap<usize, Vec<Arc<Owned>>>,
    pub(crate) kept: usize,
    pub(crate) arenas: Vec<Arc<Owned>>,
    /// Unused buffers for reads.
    pub(crate) staging: Vec<wgpu::Buffer>,
    list: List,
    groups: HashMap<GroupKey, wgpu::BindGroup>,
    /// The buffer of parameters, and its number.
    parameters: Option<(u64, wgpu::Buffer)>,
    /// The bytes last written to the buffer of parameters. If they begin with the parameters of a list, as in most steps
    /// of a training run, the list writes none.
    written: Vec<u8>,
    numbers: u64,
    runs: u64,
    /// Runs whose results are invalid, and why.
    failed: Vec<(Range<u64>, Error)>,
    /// The first error of a rejected kernel that `Context::finish` has not reported yet.
    pub(crate) refused: Option<Error>,
    /// The submissions that may be unfinished, and the number of all submissions so far.
    in_flight: VecDeque<wgpu::SubmissionIndex>,
    submissions: u64,
}

/// The key of a bind group: for each binding true if it is written, the size of the parameter block, and the buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    writable: Vec<bool>,
    parameters: u64,
    buffers: Vec<u64>,
}

/// Commands that wait for submission.
#[derive(Default)]
struct List {
    dispatches: Vec<Dispatch>,
    parameters: Vec<u8>,
    uploads: Vec<Upload>,
    bytes: Vec<u8>,
    /// Bytes of large uploads since the last submission.
    large: usize,
    runs: usize,
    seconds: f64,
    /// The first run that has commands in the list.
    first: Option<u64>,
}

/// A small upload: the target buffer, the offset in it, and the range in the list's bytes.
struct Upload {
    to: Bound,
    start: u64,
    at: Range<usize>,
}

struct Dispatch {
    pipeline: Arc<Pipeline>,
    buffers: Vec<Bound>,
    /// The offset of its parameters, and the size of their binding.
    offset: u32,
    parameters: u64,
    groups: [u32; 3],
    run: u64,
}

/// A buffer that a command uses. `Heap` means the heap at the time of the submission, because the heap may be replaced before.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Heap,
    Own(Arc<Owned>),
}

/// The part of a submission after the commands of the list.
pub(crate) enum Epilogue<'a> {
    Nothing,
    Copies(&'a Collect),
    /// Makes each dispatch a separate pass, between two timestamps.
    Times(&'a Timer),
}

/// Copies to a buffer that the host can map.
#[derive(Debug)]
pub(crate) struct Collect {
    pub(crate) staging: wgpu::Buffer,
    /// Each copy has the source, its first byte, the first byte in `staging`, and the size. All numbers are multiples of 4.
    pub(crate) copies: Vec<(Bound, u64, u64, u64)>,
}

impl List {
    /// Records that a run has commands in the list.
    fn note(&mut self, run: u64) {
        self.first = Some(self.first.map_or(run, |first| first.min(run)));
    }
}

impl State {
    pub(crate) fn new(heap: Arc<Owned>) -> State {
        State {
            ranges: Ranges::new(heap.bytes),
            heap,
            pool: BTreeMap::new(),
            kept: 0,
            arenas: Vec::new(),
            staging: Vec::new(),
            list: List::default(),
            groups: HashMap::new(),
            parameters: None,
            written: Vec::new(),
            numbers: 0,
            runs: 0,
            failed: Vec::new(),
            refused: None,
            in_flight: VecDeque::new(),
            submissions: 0,
        }
    }

    /// Returns a new number for a buffer.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns a new number for a run.
    pub(crate) fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    /// Drops the bind groups of a buffer that is about to be freed, because they would keep its memory alive.
    pub(crate) fn forget(&mut self, number: u64) {
        self.groups.retain(|key, _| !key.buffers.contains(&number));
    }

    /// Returns an error if the results of a run are invalid.
    pub(crate) fn check_run(&self, run: u64) -> Result<()> {
        match self.failed.iter().find(|(runs, _)| runs.contains(&run)) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Marks the results of all runs from `from` on, up to the latest, as invalid.
    fn fail(&mut self, from: u64, error: &Error) {
        self.failed.push((from..self.runs + 1, error.clone()));
    }

    /// Adds a dispatch to the list. `parameters` are the bytes of its parameter block.
    pub(crate) fn dispatch(
        &mut self,
        context: &Context,
        (pipeline, buffers): (&Arc<Pipeline>, Vec<Bound>),
        parameters: &[u8],
        groups: [u32; 3],
        run: u64,
    ) {
        if groups.contains(&0) {
            return;
        }
        let offset = self.list.parameters.len().next_multiple_of(context.align);
        self.list.parameters.resize(offset, 0);
        self.list.parameters.extend_from_slice(parameters);
        self.list.note(run);
        self.list.dispatches.push(Dispatch {
            pipeline: pipeline.clone(),
            buffers,
            offset: offset as u32,
            // Rounds to few different sizes, so that kernels with different parameters share bind groups.
            parameters: parameters.len().next_power_of_two().max(256) as u64,
            groups,
            run,
        });
    }

    /// Returns true if the list should be submitted before this much work is added to it.
    pub(crate) fn is_full(&self, dispatches: usize, seconds: f64) -> bool {
        let list = &self.list;
        !list.dispatches.is_empty()
            && (list.dispatches.len() + dispatches > DISPATCHES || list.seconds + seconds > LONGEST)
    }

    /// Returns the submissions before the last that may be unfinished, and the number of all submissions so far.
    pub(crate) fn earlier(&self) -> (Vec<wgpu::SubmissionIndex>, u64) {
        let earlier = self.in_flight.iter().rev().skip(1).rev();
        (earlier.cloned().collect(), self.submissions)
    }

    /// Returns the number of all submissions so far.
    pub(crate) fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Records that the first `count` of all submissions are finished.
    pub(crate) fn finished(&mut self, count: u64) {
        let later = self.submissions.saturating_sub(count) as usize;
        let done = self.in_flight.len().saturating_sub(later);
        self.in_flight.drain(..done);
    }

    /// Returns the last submission if nothing has been queued since. The inner value is `None` if all submissions are
    /// known to be finished.
    pub(crate) fn last_submission(&self) -> Option<Option<wgpu::SubmissionIndex>> {
        let list = &self.list;
        let is_empty = list.dispatches.is_empty() && list.uploads.is_empty() && list.large == 0;
        is_empty.then(|| self.in_flight.back().cloned())
    }

    /// Returns the number of dispatches in the list.
    pub(crate) fn queued(&self) -> usize {
        self.list.dispatches.len()
    }

    /// Adds estimated seconds of queued work.
    pub(crate) fn count(&mut self, seconds: f64) {
        self.list.seconds += seconds;
    }

    /// Counts a queued run of an eager call. Returns true if the list should be submitted.
    pub(crate) fn count_run(&mut self) -> bool {
        self.list.runs += 1;
        self.list.runs >= RUNS || self.list.seconds >= EAGER
    }
}

impl Context {
    /// Writes bytes for a run to memory that no queued command uses.
    pub(crate) fn write(
        &self,
        state: &mut State,
        (to, start): (&Bound, usize),
        bytes: &[u8],
        run: u64,
    ) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        state.list.note(run);
        if bytes.len() <= SMALL_UPLOAD {
            let from = state.list.bytes.len();
            state.list.bytes.extend_from_slice(bytes);
            // Writes complete words, which is allowed because memory is padded.
            state.list.bytes.resize(from + bytes.len().next_multiple_of(4), 0);
            let at = from..state.list.bytes.len();
            state.list.uploads.push(Upload { to: to.clone(), start: start as u64, at });
        } else {
            self.write_large(state, (to, start), bytes, run)?;
        }
        if state.list.large + state.list.bytes.len() >= UPLOADS {
            self.submit_list(state)?;
        }
        Ok(())
    }

    /// Writes a large upload in parts, so that wgpu does not keep a copy of all bytes.
    fn write_large(
        &self,
        state: &mut State,
        (to, start): (&Bound, usize),
        bytes: &[u8],
        run: u64,
    ) -> Result<()> {
        let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some((words.len(), &last[..]));
        let pieces = words.chunks(UPLOADS).enumerate().map(|(i, piece)| (i * UPLOADS, piece));
        for (at, piece) in pieces.chain(last) {
            let buffer = state.buffer(to);
            self.call(piece.len(), || self.queue.write_buffer(buffer, (start + at) as u64, piece))?;
            state.list.large += piece.len();
            if state.list.large >= UPLOADS {
                self.submit_list(state)?;
                state.list.note(run);
            }
        }
        Ok(())
    }

    /// Submits the list.
    pub(crate) fn submit_list(&self, state: &mut State) -> Result<()> {
        self.submit(state, &Epilogue::Nothing).map(|_| ())
    }

    /// Submits the list, then the epilogue. If a kernel was rejected, the runs that need it fail: the error is stored,
    /// and reads of their results return it. If this function itself returns an error, nothing was submitted.
    pub(crate) fn submit(&self, state: &mut State, epilogue: &Epilogue<'_>) -> Result<wgpu::SubmissionIndex> {
        let freed = std::mem::take(&mut *lock(&self.freed));
        let mut list = std::mem::take(&mut state.list);
        self.drop_refused(state, &mut list);
        let submitted = self.encode(state, &list, epilogue);
        if let Err(error) = &submitted {
            list.first.into_iter().for_each(|run| state.fail(run, error));
        }
        self.release(state, freed);
        if state.in_flight.len() > IN_FLIGHT
            && let Some(oldest) = state.in_flight.pop_front()
        {
            let wait = wgpu::PollType::Wait { submission_index: Some(oldest), timeout: None };
            let _ = self.device.poll(wait);
        }
        submitted
    }

    /// Waits for the kernels of a list. If one was rejected, drops its dispatch and all later ones, and marks their runs
    /// as failed.
    fn drop_refused(&self, state: &mut State, list: &mut List) {
        let Some(at) = list.dispatches.iter().position(|d| d.pipeline.ready().is_err()) else { return };
        let dropped = list.dispatches.split_off(at);
        let first = dropped.iter().map(|d| d.run).min().unwrap_or_default();
        let why = dropped.iter().find_map(|d| d.pipeline.ready().err()).unwrap_or_default();
        let error = self.check().err().unwrap_or_else(|| self.error(why));
        state.fail(first, &error);
        state.refused.get_or_insert(error);
    }

    fn encode(
        &self,
        state: &mut State,
        list: &List,
        epilogue: &Epilogue<'_>,
    ) -> Result<wgpu::SubmissionIndex> {
        let groups = self.bind(state, list)?;
        let upload = self.staged(list)?;
        let index = self.call(list.parameters.len(), || {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            if let Some(from) = &upload {
                for Upload { to, start, at } in &list.uploads {
                    let bytes = at.len() as u64;
                    encoder.copy_buffer_to_buffer(from, at.start as u64, state.buffer(to), *start, bytes);
                }
            }
            let commands = list.dispatches.iter().zip(&groups);
            if let Epilogue::Times(timer) = epilogue {
                commands
                    .enumerate()
                    .for_each(|(i, (d, group))| d.encode(&mut timer.pass(&mut encoder, i), group));
                timer.resolve(&mut encoder, list.dispatches.len());
            } else if !list.dispatches.is_empty() {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                commands.for_each(|(d, group)| d.encode(&mut pass, group));
            }
            if let Epilogue::Copies(Collect { staging, copies }) = epilogue {
                for (from, start, to, bytes) in copies {
                    encoder.copy_buffer_to_buffer(state.buffer(from), *start, staging, *to, *bytes);
                }
            }
            self.queue.submit([encoder.finish()])
        })?;
        state.in_flight.push_back(index.clone());
        state.submissions += 1;
        Ok(index)
    }

    /// Writes the uploads of a list to a buffer from which they can be copied.
    fn staged(&self, list: &List) -> Result<Option<wgpu::Buffer>> {
        if list.bytes.is_empty() {
            return Ok(None);
        }
        let descriptor = wgpu::BufferDescriptor {
            label: None,
            size: list.bytes.len() as u64,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        };
        let staging = self.call(list.bytes.len(), || {
            let staging = self.device.create_buffer(&descriptor);
            let mapped = staging.get_mapped_range_mut(..).map(|mut view| view.copy_from_slice(&list.bytes));
            staging.unmap();
            mapped.map(|()| staging)
        })?;
        staging.map(Some).map_err(|e| self.error(e.to_string()))
    }

    /// Writes the parameters of a list. Returns the bind group of each dispatch.
    fn bind(&self, state: &mut State, list: &List) -> Result<Vec<wgpu::BindGroup>> {
        if list.dispatches.is_empty() {
            return Ok(Vec::new());
        }
        // Adds the largest binding to the size, because the binding of the last dispatch must end inside the buffer too.
        let largest = list.dispatches.iter().map(|d| d.parameters).max().unwrap_or_default();
        let size = list.parameters.len() as u64 + largest;
        let (number, parameters) = match state.parameters.take() {
            Some((number, buffer)) if buffer.size() >= size => (number, buffer),
            old => {
                state.written.clear();
                old.into_iter().for_each(|(number, _)| state.forget(number));
                let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
                let size = size.next_power_of_two().max(64 << 10);
                let descriptor =
                    wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
                let buffer = self.call(size as usize, || self.device.create_buffer(&descriptor))?;
                (state.number(), buffer)
            }
        };
        let mut words = list.parameters.clone();
        words.resize(words.len().next_multiple_of(4), 0);
        if !state.written.starts_with(&words) {
            state.written.clear();
            self.call(words.len(), || self.queue.write_buffer(&parameters, 0, &words))?;
            state.written = words;
        }
        if state.groups.len() > GROUPS {
            state.groups.clear();
        }
        let groups = list.dispatches.iter().map(|d| self.group(state, d, (number, &parameters))).collect();
        state.parameters = Some((number, parameters));
        groups
    }

    fn group(
        &self,
        state: &mut State,
        dispatch: &Dispatch,
        (number, parameters): (u64, &wgpu::Buffer),
    ) -> Result<wgpu::BindGroup> {
        let numbers = dispatch.buffers.iter().map(|b| match b {
            Bound::Heap => state.heap.number,
            Bound::Own(own) => own.number,
        });
        let key = GroupKey {
            writable: dispatch.pipeline.writable().to_vec(),
            parameters: dispatch.parameters,
            buffers: numbers.chain([number]).collect(),
        };
        if let Some(group) = state.groups.get(&key) {
            return Ok(group.clone());
        }
        let mut entries: Vec<wgpu::BindGroupEntry<'_>> = Vec::with_capacity(dispatch.buffers.len() + 1);
        for (i, bound) in dispatch.buffers.iter().enumerate() {
            let resource = state.buffer(bound).as_entire_binding();
            entries.push(wgpu::BindGroupEntry { binding: i as u32, resource });
        }
        let size = wgpu::BufferSize::new(dispatch.parameters);
        let resource =
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: parameters, offset: 0, size });
        entries.push(wgpu::BindGroupEntry { binding: dispatch.buffers.len() as u32, resource });
        let layout = dispatch.pipeline.layout();
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
        let group = self.call(0, || self.device.create_bind_group(&descriptor))?;
        state.groups.insert(key, group.clone());
        Ok(group)
    }
}

impl State {
    /// Returns the buffer of a command.
    pub(crate) fn buffer<'a>(&'a self, bound: &'a Bound) -> &'a wgpu::Buffer {
        match bound {
            Bound::Heap => &self.heap.buffer,
            Bound::Own(own) => &own.buffer,
        }
    }
}

impl Dispatch {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>, group: &wgpu::BindGroup) {
        // `drop_refused` has removed dispatches without a pipeline.
        let Ok(pipeline) = self.pipeline.ready() else { return };
        let [x, y, z] = self.groups;
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[self.offset]);
        pass.dispatch_workgroups(x, y, z);
    }
}
