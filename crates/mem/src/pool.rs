//! Recycles blocks of memory per thread, because a system allocation takes as long as a small tensor operation.
//!
//! Each thread keeps the blocks that it frees, in one list per power-of-two size. Blocks are linked through
//! their own first bytes, so neither taking nor keeping a block allocates or locks. A block may be freed on any
//! thread.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::live::live_bytes;

/// Alignment of every pooled block, and the size of the smallest: a cache line, and the widest
/// vector register.
pub(crate) const ALIGN: usize = 64;
/// Size of the largest pooled block. Larger blocks are mapped by the system, which recycles pages itself.
pub(crate) const MAX_POOLED: usize = 64 << 20;

const CLASSES: usize = (MAX_POOLED / ALIGN).ilog2() as usize + 1;
/// Largest number of bytes that a thread keeps in one class.
const CLASS_LIMIT: usize = 128 << 20;
/// Largest number of bytes that a thread keeps in all classes.
const TOTAL_LIMIT: usize = 256 << 20;

/// An owned, possibly uninitialised block, returned to the pool or the system when dropped.
pub(crate) struct Block {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl Block {
    /// Allocates a block of unspecified content. Returns `None` if the system has no memory left.
    #[inline]
    pub(crate) fn uninit(layout: Layout) -> Option<Block> {
        let ptr = match class_of(layout) {
            // A thread that is ending has no cache any more: treat it as empty.
            Some(class) => match CACHE.try_with(|cache| cache.take(class)) {
                Ok(Some(ptr)) => ptr,
                _ => system_alloc(class_layout(class))?,
            },
            None => system_alloc(layout)?,
        };
        Some(Block { ptr, layout })
    }

    /// Allocates a block whose first `layout.size()` bytes are zero. Returns `None` if the system has no memory.
    pub(crate) fn zeroed(layout: Layout) -> Option<Block> {
        let class = class_of(layout);
        let cached = class.and_then(|class| CACHE.try_with(|cache| cache.take(class)).ok().flatten());
        let ptr = match cached {
            Some(ptr) => {
                // SAFETY: a block of the class has at least `layout.size()` bytes.
                unsafe { ptr.write_bytes(0, layout.size()) };
                ptr
            }
            None => {
                // Without large pages: a block that is used in part would take memory for unused parts of them.
                let ptr = alloc_small_pages(class.map_or(layout, class_layout))?;
                // SAFETY: the block is new and has at least `layout.size()` bytes.
                unsafe { clear(ptr, layout.size()) };
                ptr
            }
        };
        Some(Block { ptr, layout })
    }

    /// Returns a pointer to the first byte, valid for reads and writes of the layout's size while the block
    /// lives.
    #[inline]
    pub(crate) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Gives up ownership; [`Block::from_raw`] takes it back.
    #[inline]
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).ptr
    }

    /// Takes back a block that was given up.
    ///
    /// # Safety
    ///
    /// `ptr` must come from [`Block::into_raw`] of a block of this layout, and each pointer is passed at most once.
    #[inline]
    pub(crate) unsafe fn from_raw(ptr: NonNull<u8>, layout: Layout) -> Block {
        Block { ptr, layout }
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        let mut layout = self.layout;
        if let Some(class) = class_of(layout) {
            // SAFETY: this `Block` owns the memory, `class` is its class, and the memory is not used after the drop.
            if let Ok(true) = CACHE.try_with(|cache| unsafe { cache.put(class, self.ptr) }) {
                return;
            }
            layout = class_layout(class);
        }
        // SAFETY: `uninit` or `zeroed` allocated the block with this layout.
        unsafe { alloc::dealloc(self.ptr.as_ptr(), layout) };
    }
}

#[cold]
fn system_alloc(layout: Layout) -> Option<NonNull<u8>> {
    let ptr = alloc_small_pages(layout)?;
    request_large_pages(ptr, layout);
    Some(ptr)
}

/// Allocates a block as [`system_alloc`] does, without asking for large pages.
fn alloc_small_pages(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the size is not zero, as checked above.
    NonNull::new(unsafe { alloc::alloc(layout) })
}

/// Smallest size, in bytes, of a block whose pages [`clear`] returns to the system instead of writing zeros.
#[cfg(all(target_os = "linux", not(miri)))]
const MIN_RELEASED: usize = 1 << 16;

/// Writes zeros to new memory. Complete pages of a large block are returned to the system, which provides pages of zeros
/// when they are touched. A large tensor of zeros therefore takes no memory for pages that are never touched.
///
/// # Safety
/// The block at `ptr` came from the global allocator, has at least `bytes` bytes, and no other thread accesses it.
unsafe fn clear(ptr: NonNull<u8>, bytes: usize) {
    let (mut start, mut end) = (bytes, bytes);
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= MIN_RELEASED {
        // SAFETY: the call reads a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        let first =
            ptr.addr().get().checked_next_multiple_of(page.max(1)).map_or(bytes, |a| a - ptr.addr().get());
        let length = bytes.saturating_sub(first) / page.max(1) * page;
        // SAFETY: the range consists of complete pages of the block. The global allocator takes memory from private
        // anonymous maps, whose pages are zero when they are touched after this advice.
        let advised = length > 0
            && unsafe { libc::madvise(ptr.as_ptr().add(first).cast(), length, libc::MADV_DONTNEED) } == 0;
        if advised {
            (start, end) = (first, first + length);
        }
    }
    // SAFETY: both ranges are within the block, by the condition above.
    unsafe {
        ptr.write_bytes(0, start);
        ptr.add(end).write_bytes(0, bytes - end);
    }
}

/// Size of a large page. The first touch of one costs one page fault instead of 512, and it takes one TLB entry.
const LARGE_PAGE: usize = 2 << 20;

/// Asks the system for large pages for a block that spans at least one; without them small pages are used.
#[cfg(all(target_os = "linux", not(miri)))]
fn request_large_pages(ptr: NonNull<u8>, layout: Layout) {
    /// Alignment of the advised range. On machines with larger pages the advice is refused, which does no harm.
    const PAGE: usize = 4096;
    let skip = ptr.addr().get().wrapping_neg() % PAGE;
    if layout.size() >= LARGE_PAGE {
        // SAFETY: the range is inside the block just allocated, and the advice does not change its content.
        unsafe { libc::madvise(ptr.as_ptr().add(skip).cast(), layout.size() - skip, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn request_large_pages(_: NonNull<u8>, _: Layout) {}

/// Returns the class that serves `layout`, or `None` if the block is too large or too strictly aligned for the pool.
#[inline]
fn class_of(layout: Layout) -> Option<usize> {
    if cfg!(feature = "unpooled") || layout.align() > ALIGN || layout.size() > MAX_POOLED {
        return None;
    }
    let size = layout.size().max(ALIGN).next_power_of_two();
    Some((size / ALIGN).trailing_zeros() as usize)
}

#[inline]
fn class_size(class: usize) -> usize {
    ALIGN << class
}

fn class_layout(class: usize) -> Layout {
    let size = class_size(class);
    // Blocks of at least one large page are aligned to large pages.
    let align = if size >= LARGE_PAGE { LARGE_PAGE } else { ALIGN };
    // tidy: a class's size is at most MAX_POOLED, which is a valid size
    Layout::from_size_align(size, align).expect("at most MAX_POOLED")
}

thread_local! {
    static CACHE: Cache = const { Cache::new() };
}

/// The freed blocks that one thread keeps.
struct Cache {
    slots: [Slot; CLASSES],
    bytes: Cell<usize>,
}

/// The freed blocks of one class, as a linked list.
struct Slot {
    head: Cell<Option<NonNull<Link>>>,
    count: Cell<usize>,
}

/// The first bytes of a freed block: a link to the next one.
struct Link {
    next: Option<NonNull<Link>>,
}

impl Cache {
    const fn new() -> Cache {
        let slots = [const { Slot { head: Cell::new(None), count: Cell::new(0) } }; CLASSES];
        Cache { slots, bytes: Cell::new(0) }
    }

    /// Takes the block of `class` that was freed last, because it is most likely still in the processor's cache.
    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<u8>> {
        let slot = &self.slots[class];
        let block = slot.head.get()?;
        // SAFETY: the list owns its blocks, and each starts with the link that `put` wrote.
        slot.head.set(unsafe { block.read() }.next);
        slot.count.set(slot.count.get() - 1);
        self.bytes.set(self.bytes.get() - class_size(class));
        Some(block.cast())
    }

    /// Keeps a block and returns `true`; returns `false` if the block does not fit and stays with the caller.
    ///
    /// # Safety
    ///
    /// The caller owns the block, allocated it with `class_layout(class)`, and does not use it after `true` is
    /// returned.
    #[inline]
    unsafe fn put(&self, class: usize, block: NonNull<u8>) -> bool {
        let (slot, size) = (&self.slots[class], class_size(class));
        if slot.count.get() >= CLASS_LIMIT / size {
            return false;
        }
        if self.bytes.get() + size > TOTAL_LIMIT && !self.free_larger(class) {
            return false;
        }
        let block = block.cast::<Link>();
        // SAFETY: the caller owns the block; it has at least ALIGN bytes, so a link fits and is aligned.
        unsafe { block.write(Link { next: slot.head.get() }) };
        slot.head.set(Some(block));
        slot.count.set(slot.count.get() + 1);
        self.bytes.set(self.bytes.get() + size);
        true
    }

    /// Frees larger blocks, the largest first, until a block of `class` fits. Otherwise the blocks of a former phase
    /// of large tensors would fill the cache forever, and all later small blocks would come from the system.
    #[cold]
    fn free_larger(&self, class: usize) -> bool {
        let enough = TOTAL_LIMIT - class_size(class);
        for larger in (class + 1..CLASSES).rev() {
            while self.bytes.get() > enough && self.free_one(larger) {}
        }
        self.bytes.get() <= enough
    }

    /// Returns one block of `class` to the system. Returns `false` if there is none.
    fn free_one(&self, class: usize) -> bool {
        let Some(block) = self.take(class) else { return false };
        // SAFETY: cached blocks were allocated with the layout of their class, and `take` removed this one from the
        // list.
        unsafe { alloc::dealloc(block.as_ptr(), class_layout(class)) };
        true
    }

    fn clear(&self) {
        for class in 0..CLASSES {
            while self.free_one(class) {}
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Memory held by the pool and by storages at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of freed blocks that the calling thread keeps for reuse.
    pub cached_bytes: usize,
    /// Number of those blocks.
    pub cached_blocks: usize,
    /// Bytes in the live [`Storage`](crate::Storage)s of all threads; see [`live_bytes`].
    pub live_bytes: usize,
}

/// Reports the memory that the calling thread keeps for reuse, and the memory that all threads use.
pub fn stats() -> PoolStats {
    // A thread whose cache was dropped keeps nothing.
    let cached = |cache: &Cache| {
        let blocks = cache.slots.iter().map(|slot| slot.count.get()).sum();
        (cache.bytes.get(), blocks)
    };
    let (cached_bytes, cached_blocks) = CACHE.try_with(cached).unwrap_or_default();
    PoolStats { cached_bytes, cached_blocks, live_bytes: live_bytes() }
}

/// Returns every block the calling thread keeps for reuse to the system.
pub fn trim() {
    // A thread whose cache was dropped has nothing to return.
    let _ = CACHE.try_with(Cache::clear);
}
