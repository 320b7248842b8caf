//! Memory a thread borrows for packed panels and partial sums, and keeps for the next time.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Bytes that hold numbers of some earlier use (at first zero), given back to the thread when dropped.
pub(crate) struct Scratch(Option<Block>);

struct Block {
    data: NonNull<u8>,
    layout: Layout,
}

/// A panel that starts a page does not share it.
const ALIGN: usize = 4096;

/// Blocks a thread keeps: panels of both operands and partial sums, and one more.
const KEEP: usize = 4;

thread_local! {
    /// From the smallest to the largest.
    static KEPT: Cell<Vec<Block>> = const { Cell::new(Vec::new()) };
}

impl Scratch {
    /// Room for `count` numbers, every bit pattern of which must be one.
    pub(crate) fn take<T: Copy>(count: usize) -> Scratch {
        let bytes = count.saturating_mul(size_of::<T>());
        let mut kept = KEPT.take();
        let found = kept.iter().position(|block| block.layout.size() >= bytes);
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
        let place = kept.partition_point(|other| other.layout.size() < block.layout.size());
        kept.insert(place, block);
        if kept.len() > KEEP {
            kept.remove(0);
        }
        KEPT.set(kept);
    }
}

impl Block {
    fn new(bytes: usize) -> Block {
        let rounded = bytes.max(ALIGN).checked_next_power_of_two().unwrap_or(bytes);
        let Ok(layout) = Layout::from_size_align(rounded, ALIGN) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // SAFETY: the layout is not empty.
        let data = unsafe { alloc_zeroed(layout) };
        let Some(data) = NonNull::new(data) else { handle_alloc_error(layout) };
        Block { data, layout }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it came from `alloc_zeroed` with this layout.
        unsafe { dealloc(self.data.as_ptr(), self.layout) }
    }
}
