//! Scratch memory of a thread for packed panels and partial sums, kept for reuse.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Initialized bytes with unspecified values: zeros, or values of earlier uses. Dropping it returns them to the thread.
pub(crate) struct Scratch(Option<Block>);

struct Block {
    /// The start of the allocation.
    allocation: NonNull<u8>,
    layout: Layout,
    /// The first page boundary in the allocation.
    data: NonNull<u8>,
}

/// Panels start at page boundaries, so that they do not share pages.
const ALIGN: usize = 4096;

/// Number of blocks that a thread keeps: for panels of both operands, for partial sums, and one more.
const KEEP: usize = 4;

thread_local! {
    /// The kept blocks, ordered by size.
    static KEPT: Cell<Vec<Block>> = const { Cell::new(Vec::new()) };
}

impl Scratch {
    /// Returns memory for `count` elements of a type for which every bit pattern is valid.
    pub(crate) fn take<T: Copy>(count: usize) -> Scratch {
        let bytes = count.saturating_mul(size_of::<T>());
        let mut kept = KEPT.take();
        let found = kept.iter().position(|block| block.bytes() >= bytes);
        let block = found.map(|index| kept.remove(index));
        KEPT.set(kept);
        Scratch(Some(block.unwrap_or_else(|| Block::new(bytes))))
    }

    pub(crate) fn as_ptr<T>(&self) -> *mut T {
        self.0.as_ref().map_or(std::ptr::null_mut(), |block| block.data.as_ptr().cast())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (Some(block), Ok(mut kept)) = (self.0.take(), KEPT.try_with(Cell::take)) else { return };
        let index = kept.partition_point(|other| other.bytes() < block.bytes());
        kept.insert(index, block);
        if kept.len() > KEEP {
            kept.remove(0);
        }
        KEPT.set(kept);
    }
}

impl Block {
    fn new(bytes: usize) -> Block {
        let rounded = bytes.max(ALIGN).checked_next_power_of_two().unwrap_or(bytes);
        // Allocates without page alignment, because `alloc_zeroed` writes zeros to blocks with a larger alignment, but
        // gets pages of zeros from the system for other blocks.
        let Ok(layout) = Layout::from_size_align(rounded.saturating_add(ALIGN), align_of::<u64>()) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // SAFETY: the layout is not empty.
        let allocation = unsafe { alloc_zeroed(layout) };
        let Some(allocation) = NonNull::new(allocation) else { handle_alloc_error(layout) };
        // SAFETY: the allocation has `ALIGN` bytes more than needed, so the aligned start is within it.
        let data = unsafe { allocation.add(allocation.as_ptr().align_offset(ALIGN).min(ALIGN)) };
        Block { allocation, layout, data }
    }

    fn bytes(&self) -> usize {
        self.layout.size() - ALIGN
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `allocation` came from `alloc_zeroed` with this layout.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) }
    }
}
