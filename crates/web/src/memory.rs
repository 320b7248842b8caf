//! Manages the memory of the page's GPU: assigns buffers, and ranges of the heap, to storages. The page
//! executes allocations in the order of the commands, so the next command can already reuse freed memory.

use crate::page::page;
use gradus_device::{Statistics, memory_error};
use gradus_gpu::{GRAIN, Ranges, SMALL};
use gradus_ir::Result;
use gradus_mem::{Remote, Storage};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Initial size of the heap, in bytes.
const INITIAL_HEAP: usize = 1 << 20;
/// Largest size of the heap, in bytes.
const MAX_HEAP: usize = 256 << 20;

/// The buffers of the page.
#[derive(Debug)]
pub(crate) struct Memory {
    state: Mutex<State>,
    /// Largest size of a buffer, in bytes.
    max_buffer: usize,
    /// The number of the device.
    device: u16,
}

#[derive(Debug)]
struct State {
    heap: Ranges,
    /// The number of the next buffer; 0 is the heap.
    next: u32,
    /// The buffer of temporaries. All programs share it, because they run one after the other.
    arena: Option<(u32, usize)>,
    used: usize,
    peak: usize,
    reserved: usize,
}

/// Bytes of a buffer that a storage owns.
pub(crate) struct Block {
    memory: Arc<Memory>,
    /// The buffer and offset; `None` if there are no bytes.
    pub(crate) location: Option<(u32, usize)>,
    bytes: usize,
}

impl Remote for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        let Some((buffer, start)) = self.location else { return };
        let mut state = self.memory.state();
        state.used -= self.bytes;
        if buffer == 0 {
            state.heap.give(start, self.bytes);
        } else {
            state.reserved -= self.bytes;
            drop(state);
            post(json!({"c": "drop", "id": buffer}));
        }
    }
}

/// Sends one command to the page. Has no effect if no page was set.
pub(crate) fn post(command: Value) {
    if let Ok(page) = page() {
        page.post(&json!([command]).to_string());
    }
}

impl Memory {
    pub(crate) fn new(device: u16, max_buffer: usize) -> Arc<Memory> {
        let state = State {
            heap: Ranges::new(INITIAL_HEAP),
            next: 1,
            arena: None,
            used: 0,
            peak: 0,
            reserved: INITIAL_HEAP,
        };
        Arc::new(Memory { state: Mutex::new(state), max_buffer, device })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory; the size is rounded up to words.
    pub(crate) fn take(self: &Arc<Memory>, bytes: usize) -> Result<Block> {
        let mut block = Block { memory: self.clone(), location: None, bytes: 0 };
        if bytes == 0 {
            return Ok(block);
        }
        let rounded = bytes.checked_next_multiple_of(GRAIN).ok_or_else(|| memory_error(bytes))?;
        if rounded > self.max_buffer {
            return Err(memory_error(bytes));
        }
        let mut state = self.state();
        let location = if bytes <= SMALL {
            (
                0,
                state
                    .allocate_in_heap(rounded, MAX_HEAP.min(self.max_buffer))
                    .ok_or_else(|| memory_error(bytes))?,
            )
        } else {
            let id = state.next;
            state.next += 1;
            state.reserved += rounded;
            post(json!({"c": "buffer", "id": id, "bytes": rounded}));
            (id, 0)
        };
        state.used += rounded;
        state.peak = state.peak.max(state.used);
        (block.location, block.bytes) = (Some(location), rounded);
        Ok(block)
    }

    /// Returns the buffer for temporaries of this size.
    pub(crate) fn arena(&self, bytes: usize) -> Result<u32> {
        let bytes = bytes.max(GRAIN);
        if bytes > self.max_buffer {
            return Err(memory_error(bytes));
        }
        let mut state = self.state();
        if let Some((id, size)) = state.arena {
            if size >= bytes {
                return Ok(id);
            }
            state.reserved -= size;
            post(json!({"c": "drop", "id": id}));
        }
        let id = state.next;
        state.next += 1;
        state.reserved += bytes;
        state.arena = Some((id, bytes));
        post(json!({"c": "buffer", "id": id, "bytes": bytes.next_multiple_of(GRAIN)}));
        Ok(id)
    }

    /// Makes a storage with this memory.
    pub(crate) fn storage(&self, block: Block, bytes: usize) -> Result<Storage> {
        Storage::on_device(self.device, bytes, Box::new(block)).ok_or_else(|| memory_error(bytes))
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let state = self.state();
        Statistics { used: state.used, reserved: state.reserved, peak: state.peak }
    }
}

impl State {
    /// Allocates bytes of the heap, which grows if necessary.
    fn allocate_in_heap(&mut self, bytes: usize, most: usize) -> Option<usize> {
        loop {
            if let Some(start) = self.heap.take(bytes) {
                return Some(start);
            }
            let size = self.heap.size();
            let next = (2 * size).min(most / GRAIN * GRAIN);
            if next <= size {
                return None;
            }
            post(json!({"c": "grow", "id": 0, "bytes": next}));
            self.heap.extend(next);
            self.reserved += next - size;
        }
    }
}
