//! Memory a thread borrows for packed panels and partial sums, and keeps for the next time.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Bytes that hold numbers of some earlier use (at first zero), given back to the thread when dropped.
pub(crate) struct Scratch(Option<Block>);

struct Block {
    /// As the system gave it.
    whole: NonNull<u8>,
    layout: Layout,
    /// The first page that starts in it.
    data: NonNull<u8>,
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
        let place = kept.partition_point(|other| other.bytes() < block.bytes());
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
        // Asked for without its alignment: zeros that are to lie somewhere are written, others come with the page.
        let Ok(layout) = Layout::from_size_align(rounded.saturating_add(ALIGN), align_of::<u64>()) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // SAFETY: the layout is not empty.
        let whole = unsafe { alloc_zeroed(layout) };
        let Some(whole) = NonNull::new(whole) else { handle_alloc_error(layout) };
        // SAFETY: a page starts within the first bytes, and there are so many more.
        let data = unsafe { whole.add(whole.as_ptr().align_offset(ALIGN).min(ALIGN)) };
        Block { whole, layout, data }
    }

    fn bytes(&self) -> usize {
        self.layout.size() - ALIGN
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it came from `alloc_zeroed` with this layout.
        unsafe { dealloc(self.whole.as_ptr(), self.layout) }
    }
}
