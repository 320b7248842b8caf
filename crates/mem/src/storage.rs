//! The bytes of a tensor: reference-counted, writable only while unshared, aligned for vector loads. They may be in the
//! memory of another device; then only that device can read them.

use std::alloc::{Layout, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::slice;

use crate::handle::RefCount;
use crate::live;
use crate::pod::Pod;
use crate::pool::{self, ALIGN, Block};

/// Largest buffer stored in the block of its header. A power-of-two buffer next to its header needs a block of twice
/// its size; up to this length one larger block is better than two.
const INLINE: usize = 192;

/// Alignment of blocks that are too large for the pool, and smallest alignment of foreign memory. It suits every
/// element type.
const SYSTEM_ALIGN: usize = 16;

/// A shared, reference-counted buffer of bytes.
///
/// On the host it is read and written as slices of any [`Pod`] type. Its start is aligned to 64 bytes and every byte
/// is initialised. A buffer that has been cloned cannot be written until the other clones are dropped. A buffer of
/// another device has no slice; that device finds its memory by [`Storage::remote`].
pub struct Storage(NonNull<Header>);

/// The target of a storage's pointer; a small buffer follows it directly.
#[repr(C, align(64))]
struct Header {
    refs: RefCount,
    len: usize,
    data: NonNull<u8>,
    allocation: Allocation,
    device: u16,
}

/// Memory of a device other than the host. Dropping it frees the memory.
pub trait Remote: Any + Send + Sync {}

/// The device number of the host.
pub const HOST: u16 = 0;

/// The location of a storage's bytes, and the owner that frees them.
enum Allocation {
    /// In the header's own block.
    Here,
    /// In a separate block.
    Spill(#[expect(dead_code, reason = "freed when dropped")] Block),
    /// In memory that another owner frees; dropping the box releases it.
    Foreign(#[expect(dead_code, reason = "only dropped, which notifies the owner")] Box<dyn Send + Sync>),
    /// In the memory of another device.
    Remote(Box<dyn Remote>),
}

const _: () = assert!(size_of::<Header>() == ALIGN);

// SAFETY: the bytes are plain data, written only through an unshared storage; the count is atomic.
unsafe impl Send for Storage {}
// SAFETY: the bytes are plain data, written only through an unshared storage; the count is atomic.
unsafe impl Sync for Storage {}

impl Storage {
    /// Allocates a buffer of `bytes` zero bytes. Returns `None` if there is not enough memory.
    pub fn zeroed(bytes: usize) -> Option<Storage> {
        // SAFETY: a separate block comes zeroed; bytes in the header's block are zeroed here.
        unsafe {
            let storage = Storage::allocate(bytes, Block::zeroed)?;
            if bytes <= INLINE {
                storage.header().data.write_bytes(0, bytes);
            }
            Some(storage)
        }
    }

    /// Allocates a buffer of `bytes` uninitialised bytes. Returns `None` if there is not enough memory.
    ///
    /// # Safety
    ///
    /// The caller writes every byte before any is read.
    pub unsafe fn uninit(bytes: usize) -> Option<Storage> {
        // SAFETY: the caller guarantees that every byte is written before it is read.
        unsafe { Storage::allocate(bytes, Block::uninit) }
    }

    /// Wraps memory of another owner, which is read in place and never written: [`is_unique`](Storage::is_unique) is
    /// false for it. Returns `None` if its start is not aligned for every element type.
    ///
    /// # Safety
    ///
    /// The `bytes` from `data` on are initialised and stay readable until `owner` is dropped. They are written only
    /// while no thread computes with them.
    pub unsafe fn foreign(data: NonNull<u8>, bytes: usize, owner: Box<dyn Send + Sync>) -> Option<Storage> {
        if !data.addr().get().is_multiple_of(SYSTEM_ALIGN) {
            return None;
        }
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        // SAFETY: the header's block is owned here and fits a header; the caller guarantees the bytes at `data`.
        Some(unsafe { Storage::emplace(header, bytes, data, Allocation::Foreign(owner)) })
    }

    /// Wraps memory of another device. It does not count as memory of the host. Returns `None` if there is no memory
    /// for the header.
    pub fn on_device(device: u16, bytes: usize, memory: Box<dyn Remote>) -> Option<Storage> {
        debug_assert!(device != HOST);
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        let allocation = Allocation::Remote(memory);
        // SAFETY: the header's block is owned here and fits a header. `data` is never read, because `host` checks the
        // device.
        unsafe {
            header.write(Header {
                refs: RefCount::one(),
                len: bytes,
                data: NonNull::dangling(),
                allocation,
                device,
            });
        }
        Some(Storage(header))
    }

    /// Returns the number of the device that holds the bytes; [`HOST`] for the host.
    #[inline]
    pub fn device(&self) -> u16 {
        self.header().device
    }

    /// Returns the memory of another device, if it is of type `T`.
    pub fn remote<T: Remote>(&self) -> Option<&T> {
        match &self.header().allocation {
            Allocation::Remote(memory) => (&**memory as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Returns true if the bytes belong to another owner, which may change them.
    pub fn is_foreign(&self) -> bool {
        matches!(self.header().allocation, Allocation::Foreign(_))
    }

    /// Returns a pointer to the first byte, on the host. A caller that writes through it ensures that no
    /// thread reads at the same time.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.header().data.as_ptr()
    }

    /// Copies `values` into a new buffer. Returns `None` if there is not enough memory.
    pub fn from_slice<T: Pod>(values: &[T]) -> Option<Storage> {
        let bytes = size_of_val(values);
        // SAFETY: all `bytes` of the new buffer are copied from `values`, which have no padding.
        unsafe {
            let storage = Storage::allocate(bytes, Block::uninit)?;
            storage.header().data.copy_from_nonoverlapping(NonNull::from(values).cast(), bytes);
            Some(storage)
        }
    }

    /// Copies `values`, whose own memory is seldom aligned. Like `Vec`, aborts the process if memory runs out.
    pub fn from_vec<T: Pod>(values: Vec<T>) -> Storage {
        Storage::from_slice(&values)
            .unwrap_or_else(|| handle_alloc_error(Layout::for_value(values.as_slice())))
    }

    /// Builds the buffer of `f(0)`, …, `f(len - 1)`. Returns `None` if there is not enough memory.
    pub fn from_fn<T: Pod>(len: usize, mut f: impl FnMut(usize) -> T) -> Option<Storage> {
        let () = Check::<T>::FITS;
        let bytes = len.checked_mul(size_of::<T>())?;
        // SAFETY: the buffer is aligned for T and fits `len` elements, each of which is written. If `f` panics before
        // that, the storage is freed unread.
        unsafe {
            let storage = Storage::allocate(bytes, Block::uninit)?;
            let data = storage.header().data.cast::<T>();
            for i in 0..len {
                data.add(i).write(f(i));
            }
            Some(storage)
        }
    }

    /// Allocates a storage of `len` bytes; `spill` makes a separate block if they do not fit next to the header.
    ///
    /// # Safety
    ///
    /// Unless `spill` initialises the bytes, the caller does so before any is read.
    #[inline]
    unsafe fn allocate(len: usize, spill: fn(Layout) -> Option<Block>) -> Option<Storage> {
        if len > INLINE {
            // SAFETY: the block has the layout of `len` bytes.
            return unsafe { Storage::with_spill(len, spill(spill_layout(len)?)?) };
        }
        let header = Block::uninit(header_layout(len))?.into_raw().cast::<Header>();
        // SAFETY: the block is owned here and fits a header followed by `len` bytes.
        Some(unsafe { Storage::emplace(header, len, header.add(1).cast(), Allocation::Here) })
    }

    /// Makes a storage of `len` bytes in a separate block.
    ///
    /// # Safety
    ///
    /// The block has the `spill_layout` of `len`, and its bytes are initialised as for `allocate`.
    unsafe fn with_spill(len: usize, block: Block) -> Option<Storage> {
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        let skip = block.ptr().addr().get().wrapping_neg() % ALIGN;
        // SAFETY: the header's block is owned here and fits a header; `spill_layout` includes the bytes skipped to
        // align.
        Some(unsafe { Storage::emplace(header, len, block.ptr().add(skip), Allocation::Spill(block)) })
    }

    /// Writes a new header and returns its first owner.
    ///
    /// # Safety
    ///
    /// `header` starts a block of the right `header_layout` that the caller owns; `data` has `len` bytes.
    #[inline]
    unsafe fn emplace(
        header: NonNull<Header>,
        len: usize,
        data: NonNull<u8>,
        allocation: Allocation,
    ) -> Storage {
        // SAFETY: the caller guarantees that `header` is writable and fits a header.
        unsafe { header.write(Header { refs: RefCount::one(), len, data, allocation, device: HOST }) };
        live::add(len);
        Storage(header)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the header lives until its last storage is dropped, and only its atomic count changes before.
        unsafe { self.0.as_ref() }
    }

    /// Returns the length of the buffer in bytes.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.header().len
    }

    /// Returns the buffer as elements of `T` if it is on the host. Omits the bytes of an incomplete last
    /// element.
    #[inline]
    pub fn host<T: Pod>(&self) -> Option<&[T]> {
        let () = Check::<T>::FITS;
        let header = self.header();
        if header.device != HOST {
            return None;
        }
        // SAFETY: the bytes are initialised, aligned for T and long enough, and any bit pattern is a T. They are
        // written only through an unshared, mutably borrowed storage.
        Some(unsafe { slice::from_raw_parts(header.data.cast().as_ptr(), header.len / size_of::<T>()) })
    }

    /// Returns the buffer as mutable elements of `T`, if it is on the host and unshared.
    #[inline]
    pub fn get_mut_slice<T: Pod>(&mut self) -> Option<&mut [T]> {
        let () = Check::<T>::FITS;
        if self.device() != HOST || !self.is_unique() {
            return None;
        }
        let header = self.header();
        let (data, len) = (header.data.cast().as_ptr(), header.len / size_of::<T>());
        // SAFETY: as in `host`. This is the only storage of the buffer and is borrowed mutably, so nothing else reads
        // it. A Pod has no padding, so any T written leaves initialised bytes.
        Some(unsafe { slice::from_raw_parts_mut(data, len) })
    }

    /// Returns true if no clone shares the buffer and it belongs to no other owner.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().refs.is_unique() && !matches!(self.header().allocation, Allocation::Foreign(_))
    }

    /// Returns true if both refer to the same buffer.
    #[inline]
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        self.0 == other.0
    }
}

impl Clone for Storage {
    #[inline]
    fn clone(&self) -> Storage {
        self.header().refs.retain();
        Storage(self.0)
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        if !self.header().refs.release() {
            return;
        }
        if self.header().device == HOST {
            live::sub(self.header().len);
        }
        let inline = if matches!(self.header().allocation, Allocation::Here) { self.header().len } else { 0 };
        // SAFETY: this was the last owner, so nothing else uses the header, and `allocation` is dropped once.
        unsafe { (&raw mut (*self.0.as_ptr()).allocation).drop_in_place() };
        // SAFETY: `emplace` received a block of this layout, and only the last owner takes it back.
        drop(unsafe { Block::from_raw(self.0.cast(), header_layout(inline)) });
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("len_bytes", &self.len_bytes()).finish_non_exhaustive()
    }
}

/// The requirements of a buffer on its element type, checked at compile time.
struct Check<T>(T);

impl<T> Check<T> {
    const FITS: () = assert!(size_of::<T>() > 0 && align_of::<T>() <= ALIGN);
}

/// Returns the layout of a header followed by `inline` bytes.
#[inline]
fn header_layout(inline: usize) -> Layout {
    debug_assert!(inline <= INLINE);
    // SAFETY: ALIGN is a power of two, and a header and at most INLINE bytes are far below the largest size.
    unsafe { Layout::from_size_align_unchecked(size_of::<Header>() + inline, ALIGN) }
}

/// Returns the layout of a block in which `len` bytes can be aligned. Returns `None` if the size overflows.
fn spill_layout(len: usize) -> Option<Layout> {
    if len <= pool::MAX_POOLED {
        return Layout::from_size_align(len, ALIGN).ok();
    }
    // Requests as many more bytes as may have to be skipped to align the first byte.
    Layout::from_size_align(len.checked_add(ALIGN - SYSTEM_ALIGN)?, SYSTEM_ALIGN).ok()
}
