//! Allocates memory of the device. Storages of up to [`SMALL`] bytes share one buffer, the heap; larger ones have their own.
//! Takes sizes; returns [`Block`]s. Commands and uploads are in `queue`.
//!
//! The device executes an upload before all commands that are in the list when the upload is made. Memory that is freed
//! while commands are in the list is therefore allocated again only after these commands have been submitted.

use crate::context::{Context, Fault, guarded, lock};
use crate::late::Suspect;
use crate::queue::State;
use gradus_device::memory_error;
use gradus_gpu::SMALL;
use gradus_ir::{Error, Result};
use gradus_mem::{Remote, Storage};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Largest heap in bytes, unless the device's bindings are smaller. The matrices of a language model of 135 million weights
/// of `f32` take 430 MB of it.
const HEAP: usize = 1 << 30;
/// Bytes of freed large storages that may wait for the next submission. If there are more, the list is submitted.
const WAITING: usize = 64 << 20;
/// Bytes of freed large buffers that are kept for later use: this many, or as many as are in use, whichever is more.
const KEPT: usize = 256 << 20;
/// Number of arenas that are kept for later runs.
const ARENAS: usize = 8;

/// The memory of a block.
#[derive(Clone, Debug)]
pub(crate) enum BlockMemory {
    /// No memory, for zero bytes.
    Empty,
    /// A range of the heap.
    Heap { start: usize, bytes: usize },
    /// A separate buffer.
    Own(Arc<Owned>),
}

/// A buffer of the device.
pub(crate) struct Owned {
    pub(crate) buffer: wgpu::Buffer,
    /// Identifies the buffer in the cache of bind groups.
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    reserved: Arc<AtomicUsize>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owned").field("number", &self.number).field("bytes", &self.bytes).finish()
    }
}

/// Byte counters.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Bytes of blocks and of the arenas of running programs.
    pub(crate) used: AtomicUsize,
    pub(crate) peak: AtomicUsize,
    /// Bytes allocated from the system.
    pub(crate) reserved: Arc<AtomicUsize>,
    /// Freed bytes of the heap that wait for the next submission.
    waiting_heap: AtomicUsize,
    /// Freed bytes of other buffers that wait for the next submission.
    waiting_own: AtomicUsize,
}

impl Usage {
    fn add(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
    }

    fn sub(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The memory of a storage. Dropping it frees the memory.
pub(crate) struct Block {
    context: Arc<Context>,
    memory: BlockMemory,
    bytes: usize,
    /// The run that last wrote this memory.
    run: AtomicU64,
    /// The runs that computed its value and that may have failed.
    suspects: Mutex<Vec<Arc<Suspect>>>,
}

impl Remote for Block {}

impl Block {
    /// Returns the location of the memory.
    pub(crate) fn memory(&self) -> &BlockMemory {
        &self.memory
    }

    /// Returns the run that last wrote this memory.
    pub(crate) fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }

    /// Records that a run is about to write this memory. `suspects` are those of the run's operands, and the run's own.
    pub(crate) fn written_by(&self, run: u64, suspects: &[Arc<Suspect>]) {
        self.run.store(run, Ordering::Relaxed);
        let mut own = lock(&self.suspects);
        own.clear();
        own.extend_from_slice(suspects);
    }

    /// Adds the runs that computed its value to a list, except for those that are known to have succeeded. Returns the
    /// error if one of them has failed.
    pub(crate) fn add_suspects(&self, to: &mut Vec<Arc<Suspect>>) -> Result<()> {
        let mut own = lock(&self.suspects);
        if let Some(error) = own.iter().find_map(|s| s.error()) {
            return Err(error);
        }
        own.retain(|s| !s.is_known());
        for suspect in own.iter() {
            if !to.iter().any(|s| Arc::ptr_eq(s, suspect)) {
                to.push(suspect.clone());
            }
        }
        Ok(())
    }

    /// Wraps this memory in a storage.
    pub(crate) fn storage(self) -> Result<Storage> {
        let (id, bytes) = (self.context.id, self.bytes);
        Storage::on_device(id, bytes, Box::new(self)).ok_or_else(|| memory_error(bytes))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let memory = std::mem::replace(&mut self.memory, BlockMemory::Empty);
        let usage = &self.context.usage;
        match &memory {
            BlockMemory::Empty => return,
            BlockMemory::Heap { .. } => usage.waiting_heap.fetch_add(self.bytes, Ordering::Relaxed),
            BlockMemory::Own(own) => usage.waiting_own.fetch_add(own.bytes, Ordering::Relaxed),
        };
        usage.sub(self.bytes);
        lock(&self.context.freed).push(memory);
    }
}

impl Context {
    /// Allocates memory.
    pub(crate) fn take(self: &Arc<Context>, state: &mut State, bytes: usize) -> Result<Block> {
        self.check()?;
        let memory = match bytes {
            0 => BlockMemory::Empty,
            n if n <= SMALL => BlockMemory::Heap { start: self.take_heap(state, bytes)?, bytes },
            _ => BlockMemory::Own(self.take_own(state, bytes)?),
        };
        self.usage.add(bytes);
        let (run, suspects) = (AtomicU64::new(0), Mutex::default());
        Ok(Block { context: self.clone(), memory, bytes, run, suspects })
    }

    fn take_heap(&self, state: &mut State, bytes: usize) -> Result<usize> {
        if let Some(start) = state.ranges.take(bytes) {
            return Ok(start);
        }
        // If enough freed memory waits, submits the list to reuse that memory. Otherwise enlarges the heap.
        if self.usage.waiting_heap.load(Ordering::Relaxed) >= state.ranges.size() / 4 {
            self.collect(state)?;
            if let Some(start) = state.ranges.take(bytes) {
                return Ok(start);
            }
        }
        while self.grow(state, bytes)? {
            if let Some(start) = state.ranges.take(bytes) {
                return Ok(start);
            }
        }
        self.collect(state)?;
        state.ranges.take(bytes).ok_or_else(|| {
            let (size, largest) = (state.ranges.size() >> 20, SMALL >> 20);
            self.error(format!(
                "has no memory for {bytes} more bytes: tensors of up to {largest} MiB share one buffer, whose {size} MiB are in use; use a smaller model, or compute on the cpu"
            ))
        })
    }

    /// Replaces the heap by one that is at least twice as large, up to the largest size. Returns false if the
    /// heap already has that size.
    fn grow(&self, state: &mut State, bytes: usize) -> Result<bool> {
        let size = state.ranges.size();
        let limit = HEAP.min(self.binding()) / gradus_gpu::GRAIN * gradus_gpu::GRAIN;
        let wanted = (2 * size).max((size + bytes).next_power_of_two()).min(limit);
        if wanted <= size {
            return Ok(false);
        }
        let heap = self.create_or_reclaim(state, wanted)?;
        // Commands in the list use the old buffer, so its content must be copied after they have run.
        self.submit_list(state)?;
        self.call(wanted, || {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&state.heap.buffer, 0, &heap.buffer, 0, size as u64);
            self.queue.submit([encoder.finish()])
        })?;
        state.forget(state.heap.number);
        state.heap = heap;
        state.ranges.extend(wanted);
        Ok(true)
    }

    fn take_own(&self, state: &mut State, bytes: usize) -> Result<Arc<Owned>> {
        let limit = self.binding();
        if bytes > limit {
            return Err(self.too_large("a tensor", bytes));
        }
        // Rounds the size up to a multiple of a sixteenth of the next power of two, so that tensors of similar sizes can
        // reuse a buffer.
        let step = (bytes.next_power_of_two() / 16).max(64 << 10);
        let size = bytes.next_multiple_of(step).min(limit);
        if let Some(own) = state.pooled(size) {
            return Ok(own);
        }
        if self.usage.waiting_own.load(Ordering::Relaxed) >= WAITING {
            self.collect(state)?;
            if let Some(own) = state.pooled(size) {
                return Ok(own);
            }
        }
        self.create_or_reclaim(state, size)
    }

    /// Allocates memory for the temporaries of a run; [`Context::put_arena`] returns it. An arena can be reused at once,
    /// because runs execute in the order of the queue, and no upload is made to an arena that queued commands use.
    pub(crate) fn take_arena(&self, state: &mut State, bytes: usize) -> Result<Arc<Owned>> {
        self.check()?;
        let limit = self.binding();
        if bytes > limit {
            let why = format!(
                "the temporaries of a program take {bytes} bytes, more than the device's largest binding of \
                 {limit} bytes; use smaller batches, or compute on the cpu"
            );
            return Err(self.error(why));
        }
        let fits = |own: &&Arc<Owned>| own.bytes >= bytes && own.bytes / 8 <= bytes.max(64 << 10);
        let best = state.arenas.iter().filter(fits).min_by_key(|own| own.bytes).cloned();
        let own = match best {
            Some(own) => {
                state.arenas.retain(|a| a.number != own.number);
                own
            }
            None => {
                let size = bytes.max(64 << 10).next_power_of_two().min(limit);
                self.create_or_reclaim(state, size)?
            }
        };
        self.usage.add(own.bytes);
        Ok(own)
    }

    /// Makes an arena available for other runs. Called after the commands of its run have been queued.
    pub(crate) fn put_arena(&self, state: &mut State, own: Arc<Owned>) {
        self.usage.sub(own.bytes);
        state.arenas.push(own);
        if state.arenas.len() > ARENAS {
            let gone = state.arenas.remove(0);
            state.forget(gone.number);
        }
    }

    /// Makes the error for data that are larger than a binding.
    pub(crate) fn too_large(&self, what: &str, bytes: usize) -> Error {
        let limit = self.binding();
        self.error(format!(
            "{what} of {bytes} bytes is larger than the device's largest binding of {limit} bytes; \
             split the tensor, or compute on the cpu"
        ))
    }

    /// Returns the size of the largest binding in bytes, rounded down to complete vectors of four words.
    pub(crate) fn binding(&self) -> usize {
        usize::try_from(self.limits.binding).unwrap_or(usize::MAX) / 16 * 16
    }

    /// Creates a buffer that kernels can use.
    pub(crate) fn create(&self, state: &mut State, bytes: usize) -> std::result::Result<Arc<Owned>, Fault> {
        let reserved = &self.usage.reserved;
        if reserved.load(Ordering::Relaxed).saturating_add(bytes) > self.most {
            return Err(Fault::Memory);
        }
        let buffer = new_buffer(&self.device, bytes)?;
        reserved.fetch_add(bytes, Ordering::Relaxed);
        Ok(Arc::new(Owned { buffer, number: state.number(), bytes, reserved: reserved.clone() }))
    }

    /// Creates a buffer that kernels can use. If there is not enough memory, frees all cached memory and tries again.
    fn create_or_reclaim(&self, state: &mut State, bytes: usize) -> Result<Arc<Owned>> {
        match self.create(state, bytes) {
            Err(Fault::Memory) => {
                self.reclaim(state)?;
                self.create(state, bytes).map_err(|fault| self.fault(fault, bytes))
            }
            other => other.map_err(|fault| self.fault(fault, bytes)),
        }
    }

    /// Waits for the device and frees all cached memory.
    pub(crate) fn reclaim(&self, state: &mut State) -> Result<()> {
        self.collect(state)?;
        let _ = self.device.poll(wgpu::PollType::wait_indefinitely());
        let pool = std::mem::take(&mut state.pool).into_values().flatten();
        for own in pool.chain(std::mem::take(&mut state.arenas)) {
            state.forget(own.number);
        }
        state.kept = 0;
        state.staging.clear();
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.check()
    }

    /// Submits the list, so that memory freed before can be reused.
    fn collect(&self, state: &mut State) -> Result<()> {
        // Ignores errors of queued runs here: they are stored, and reported when results are read.
        let _ = self.submit_list(state);
        self.check()
    }

    /// Makes freed memory available. Called after the commands that were in the list when it was freed have been submitted.
    pub(crate) fn release(&self, state: &mut State, blocks: Vec<BlockMemory>) {
        for memory in blocks {
            match memory {
                BlockMemory::Empty => {}
                BlockMemory::Heap { start, bytes } => {
                    self.usage.waiting_heap.fetch_sub(bytes, Ordering::Relaxed);
                    state.ranges.give(start, bytes);
                }
                BlockMemory::Own(own) => {
                    self.usage.waiting_own.fetch_sub(own.bytes, Ordering::Relaxed);
                    state.kept += own.bytes;
                    state.pool.entry(own.bytes).or_default().push(own);
                }
            }
        }
        let most = KEPT.max(self.usage.used.load(Ordering::Relaxed));
        while state.kept > most {
            // Frees the largest buffers first, because few large buffers have most of the bytes.
            let Some(own) = state.pool.last_entry().and_then(|mut e| e.get_mut().pop()) else { break };
            state.kept -= own.bytes;
            if state.pool.get(&own.bytes).is_some_and(Vec::is_empty) {
                state.pool.remove(&own.bytes);
            }
            state.forget(own.number);
        }
    }
}

impl State {
    /// Returns a cached buffer of at least this size that is not much larger, if there is one.
    fn pooled(&mut self, size: usize) -> Option<Arc<Owned>> {
        let key = *self.pool.range(size..=size + size / 8).next()?.0;
        let same = self.pool.get_mut(&key)?;
        let own = same.pop();
        if same.is_empty() {
            self.pool.remove(&key);
        }
        self.kept -= own.as_ref().map_or(0, |o| o.bytes);
        own
    }
}

/// Creates the first heap of a device.
pub(crate) fn first_heap(
    device: &wgpu::Device,
    usage: &Usage,
    bytes: usize,
) -> std::result::Result<Arc<Owned>, Fault> {
    let buffer = new_buffer(device, bytes)?;
    usage.reserved.fetch_add(bytes, Ordering::Relaxed);
    Ok(Arc::new(Owned { buffer, number: 0, bytes, reserved: usage.reserved.clone() }))
}

fn new_buffer(device: &wgpu::Device, bytes: usize) -> std::result::Result<wgpu::Buffer, Fault> {
    use wgpu::BufferUsages;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let size = bytes as u64;
    guarded(device, || {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    })
}
