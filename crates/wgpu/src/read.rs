//! Reads storages: copies byte ranges to one buffer that the host can map, after all queued work. A read waits only once.
//! Takes byte ranges; returns a [`Pending`] that can be awaited or waited for. A read also reports the late errors of the runs
//! that wrote the ranges.

use crate::context::{Context, lock};
use crate::device::bound;
use crate::late::Suspect;
use crate::memory::Block;
use crate::queue::{Bound, Collect, Epilogue, State};
use gradus_device::{Pending, Reading, memory_error};
use gradus_ir::{Error, Result, stop};
use gradus_mem::Storage;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Number of buffers for reads that are cached, and the largest size. Creating a buffer costs more than the copy.
const KEPT: usize = 4;
const LARGEST: u64 = 64 << 20;

/// A read in progress, or a wait for all queued work.
struct Read {
    context: Arc<Context>,
    staging: Option<wgpu::Buffer>,
    /// The range of each part in the staging buffer.
    parts: Vec<Range<usize>>,
    /// The submission to wait for; `None` if all work is known to be finished.
    index: Option<wgpu::SubmissionIndex>,
    /// The earlier submissions that may be unfinished, and the number of all submissions so far.
    earlier: Vec<wgpu::SubmissionIndex>,
    count: u64,
    signal: Arc<Signal>,
    /// The runs whose records are read after the parts, each with true if the run is over.
    suspects: Vec<(Arc<Suspect>, bool)>,
    /// If true, a thread polls the device and will wake the task.
    driven: bool,
}

/// The result of mapping a buffer.
type Mapped = std::result::Result<(), String>;

/// A result that a callback of wgpu sets.
#[derive(Default)]
struct Signal {
    state: Mutex<(Option<Mapped>, Option<Waker>)>,
    changed: Condvar,
}

impl Signal {
    fn set(&self, result: Mapped) {
        let waker = {
            let mut state = lock(&self.state);
            state.0 = Some(result);
            state.1.take()
        };
        self.changed.notify_all();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Context {
    /// Waits for all queued work. Returns the error of a rejected kernel even if its results are never read.
    pub(crate) fn finish(self: &Arc<Context>) -> Pending {
        let started = self.start_ranges(&[], &[], Vec::new());
        // Also waits for kernels that no queued command uses, so that the driver is idle afterwards.
        self.pipelines.finish();
        match started {
            Ok(read) => match lock(&self.state).refused.take() {
                Some(error) => Pending::ready(Err(error)),
                None => Pending::reading(read),
            },
            Err(error) => Pending::ready(Err(error)),
        }
    }

    /// Starts to read ranges of storages.
    pub(crate) fn read(self: &Arc<Context>, parts: &[(&Storage, Range<usize>)]) -> Pending {
        match self.start(parts) {
            Ok(read) => Pending::reading(read),
            Err(error) => Pending::ready(Err(error)),
        }
    }

    fn start(self: &Arc<Context>, parts: &[(&Storage, Range<usize>)]) -> Result<Read> {
        let mut ranges = Vec::with_capacity(parts.len());
        let mut runs = Vec::with_capacity(parts.len());
        let mut suspects = Vec::new();
        for (storage, at) in parts {
            let block = self.block(storage)?;
            if at.start > at.end || at.end > storage.len_bytes() {
                let why = format!("{at:?} is outside its storage of {} bytes", storage.len_bytes());
                return Err(Error::value("a range of bytes", why));
            }
            ranges.push(bound(block.memory()).map(|(from, start)| (from, start + at.start, at.len())));
            runs.push(block.run());
            block.add_suspects(&mut suspects)?;
        }
        self.start_ranges(&ranges, &runs, suspects.into_iter().map(|s| (s, true)).collect())
    }

    /// Reads ranges of buffers and waits for them. A range is a buffer, the first byte and a size; `None` is an empty
    /// range. `runs` are the runs that wrote the ranges. The values depend on `suspects`, each with true if the run is
    /// over.
    pub(crate) fn read_ranges(
        self: &Arc<Context>,
        ranges: &[Option<(Bound, usize, usize)>],
        runs: &[u64],
        suspects: Vec<(Arc<Suspect>, bool)>,
    ) -> Result<Vec<Storage>> {
        Box::new(self.start_ranges(ranges, runs, suspects)?).wait()
    }

    fn start_ranges(
        self: &Arc<Context>,
        ranges: &[Option<(Bound, usize, usize)>],
        runs: &[u64],
        suspects: Vec<(Arc<Suspect>, bool)>,
    ) -> Result<Read> {
        self.check()?;
        let mut state = lock(&self.state);
        runs.iter().try_for_each(|run| state.check_run(*run))?;
        let (mut copies, mut parts, mut size) = (Vec::new(), Vec::new(), 0);
        let records: Vec<_> = suspects.iter().map(|(suspect, _)| suspect.range()).collect();
        for range in ranges.iter().chain(&records) {
            let Some((from, start, bytes)) = range.as_ref().filter(|(_, _, bytes)| *bytes > 0) else {
                parts.push(0..0);
                continue;
            };
            // Copies must begin and end at complete words.
            let first = start / 4 * 4;
            let words = (start + bytes).next_multiple_of(4) - first;
            copies.push((from.clone(), first as u64, size as u64, words as u64));
            let begin = size + (start - first);
            parts.push(begin..begin + bytes);
            size += words;
        }
        let staging = if size > 0 { Some(self.staging(&mut state, size)?) } else { None };
        let collect = staging.clone().map(|staging| Collect { staging, copies });
        let last = if collect.is_none() { state.last_submission() } else { None };
        let index = match last {
            // The list is empty, so the read only waits for the last submission.
            Some(last) => {
                let freed = std::mem::take(&mut *lock(&self.freed));
                self.release(&mut state, freed);
                last
            }
            None => {
                let epilogue = collect.as_ref().map_or(Epilogue::Nothing, Epilogue::Copies);
                Some(self.submit(&mut state, &epilogue)?)
            }
        };
        // The runs may have failed in this submission.
        runs.iter().try_for_each(|run| state.check_run(*run))?;
        let before = state.earlier();
        drop(state);
        let mut read = self.map(staging, parts, index, before)?;
        read.suspects = suspects;
        Ok(read)
    }

    /// Starts to read parts of a buffer that a submission fills.
    fn map(
        self: &Arc<Context>,
        staging: Option<wgpu::Buffer>,
        parts: Vec<Range<usize>>,
        index: Option<wgpu::SubmissionIndex>,
        (earlier, count): (Vec<wgpu::SubmissionIndex>, u64),
    ) -> Result<Read> {
        let signal = Arc::new(Signal::default());
        let set = signal.clone();
        match (&staging, &index) {
            (Some(buffer), _) => self.call(0, || {
                buffer.map_async(wgpu::MapMode::Read, .., move |r| set.set(r.map_err(|e| e.to_string())));
            })?,
            (None, Some(_)) => self.queue.on_submitted_work_done(move || set.set(Ok(()))),
            (None, None) => set.set(Ok(())),
        }
        let (context, suspects) = (self.clone(), Vec::new());
        Ok(Read { context, staging, parts, index, earlier, count, signal, suspects, driven: false })
    }

    /// Reads the first bytes of a buffer that a submission fills.
    pub(crate) fn read_staging(
        self: &Arc<Context>,
        staging: wgpu::Buffer,
        bytes: usize,
        index: wgpu::SubmissionIndex,
    ) -> Result<Storage> {
        let part = 0..bytes;
        let mut all = Box::new(self.map(Some(staging), vec![part], Some(index), (Vec::new(), 0))?).wait()?;
        all.pop().ok_or_else(|| self.error("a read returned no values"))
    }

    /// Returns the memory of a storage, or an error if it belongs to another device.
    pub(crate) fn block<'a>(&self, storage: &'a Storage) -> Result<&'a Block> {
        let own = storage.device() == self.id;
        own.then(|| storage.remote::<Block>()).flatten().ok_or_else(|| {
            self.error(format!(
                "cannot use memory of device {}; move the tensor to this device first",
                storage.device()
            ))
        })
    }

    /// Returns a buffer that the host can map.
    pub(crate) fn staging(&self, state: &mut State, bytes: usize) -> Result<wgpu::Buffer> {
        let fits = |(_, b): &(usize, &wgpu::Buffer)| b.size() >= bytes as u64;
        let best = state.staging.iter().enumerate().filter(fits).min_by_key(|(_, b)| b.size());
        if let Some((at, _)) = best {
            return Ok(state.staging.swap_remove(at));
        }
        let size = if (bytes as u64) < LARGEST {
            (bytes as u64).next_power_of_two().max(4096)
        } else {
            bytes as u64
        };
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        self.call(bytes, || self.device.create_buffer(&descriptor))
    }
}

impl Read {
    /// Returns the storages, once the signal is set.
    fn take(&mut self, result: Mapped) -> Result<Vec<Storage>> {
        self.context.check()?;
        result.map_err(|why| self.context.error(format!("a read failed: {why}")))?;
        lock(&self.context.state).finished(self.count);
        let Some(staging) = self.staging.take() else {
            let none = |r: &Range<usize>| Storage::zeroed(r.len()).ok_or_else(|| memory_error(r.len()));
            return self.parts.iter().map(none).collect();
        };
        let view = staging.get_mapped_range(..).map_err(|e| self.context.error(e.to_string()))?;
        let copy = |r: &Range<usize>| {
            let bytes = view.get(r.clone()).unwrap_or_default();
            Storage::from_slice(bytes).ok_or_else(|| memory_error(r.len()))
        };
        let all = self.parts.iter().map(copy).collect::<Result<Vec<Storage>>>();
        drop(view);
        staging.unmap();
        let mut state = lock(&self.context.state);
        if staging.size() <= LARGEST {
            state.staging.push(staging);
        }
        if state.staging.len() > KEPT {
            state.staging.remove(0);
        }
        drop(state);
        let mut all = all?;
        let records = all.split_off(all.len() - self.suspects.len());
        for ((suspect, is_over), record) in self.suspects.iter().zip(&records) {
            suspect.decide(record.host().unwrap_or_default(), *is_over);
        }
        self.suspects.iter().find_map(|(suspect, _)| suspect.error()).map_or(Ok(all), Err)
    }
}

impl Reading for Read {
    fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<Vec<Storage>>> {
        let _ = self.context.device.poll(wgpu::PollType::Poll);
        let mut state = lock(&self.signal.state);
        if let Some(result) = state.0.take() {
            drop(state);
            return Poll::Ready(self.take(result));
        }
        state.1 = Some(task.waker().clone());
        drop(state);
        if let (false, Some(index)) = (self.driven, self.index.clone()) {
            self.driven = true;
            let (context, signal) = (self.context.clone(), self.signal.clone());
            let has_copies = self.staging.is_some();
            // Callbacks run only while a thread polls the device. If no thread can be started, the task polls repeatedly.
            let drive = move || {
                let wait = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
                let _ = context.device.poll(wait);
                // The callback that is awaited may belong to a later submission of another thread.
                if !has_copies {
                    signal.set(Ok(()));
                }
            };
            if thread::Builder::new().name("gradus-read".to_string()).spawn(drive).is_err() {
                self.driven = false;
                task.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    fn wait(mut self: Box<Self>) -> Result<Vec<Storage>> {
        // Waits for one submission after the other, so that a long computation can be interrupted. A timeout would be
        // simpler, but wgpu 30 panics if a wait times out while another thread finishes the queue.
        for index in std::mem::take(&mut self.earlier).into_iter().chain(self.index.clone()) {
            let wait = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
            let polled = self.context.device.poll(wait);
            self.context.check()?;
            polled.map_err(|e| self.context.error(e.to_string()))?;
            stop::poll()?;
        }
        if self.staging.is_none() {
            // The callback may belong to a later submission of another thread, which this thread does not wait for.
            return self.take(Ok(()));
        }
        let mut state = lock(&self.signal.state);
        let result = loop {
            if let Some(result) = state.0.take() {
                break result;
            }
            // Another thread has taken the callback and will call it soon.
            let changed = self.signal.changed.wait_timeout(state, Duration::from_millis(10));
            state = changed.map_or_else(|e| e.into_inner().0, |(guard, _)| guard);
            self.context.check()?;
        };
        drop(state);
        self.take(result)
    }
}
