//! The bytes of a tensor: shared by count, written only while unshared, aligned for vector loads. They may be in the
//! memory of another device, which alone can then read them.

use std::alloc::{Layout, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::slice;

use crate::handle::RefCount;
use crate::live;
use crate::pod::Pod;
use crate::pool::{self, ALIGN, Block};

/// Most bytes kept in the header's block. A power-of-two buffer beside its header takes a block of
/// twice its size; up to here one block is still worth that.
const INLINE: usize = 192;

/// Alignment the system gives for free. Asking for more would make it clear zeroed pages by hand.
const SYSTEM_ALIGN: usize = 16;

/// A shared, reference-counted buffer of bytes.
///
/// On the host it is read and written as slices of any [`Pod`] type: its start is aligned to 64 bytes and every byte is
/// initialised. Once cloned it can no longer be written, until the other clones are gone. A buffer of another device has
/// no slice; that device finds its memory by [`Storage::remote`].
pub struct Storage(NonNull<Header>);

/// What a storage points at; the bytes follow it directly if there are few.
#[repr(C, align(64))]
struct Header {
    refs: RefCount,
    len: usize,
    data: NonNull<u8>,
    home: Home,
    device: u16,
}

/// Memory of a device other than the host. Dropping it frees the memory.
pub trait Remote: Any + Send + Sync {}

/// The number of the host among devices.
pub const HOST: u16 = 0;

/// Where the bytes are.
enum Home {
    /// In the header's own block.
    Here,
    /// In a block of their own.
    Spill(#[expect(dead_code, reason = "freed when dropped")] Block),
    /// In memory of somebody else, who is told by the drop that they are no longer needed.
    Foreign(#[expect(dead_code, reason = "told when dropped")] Box<dyn Send + Sync>),
    /// In the memory of another device.
    Remote(Box<dyn Remote>),
}

const _: () = assert!(size_of::<Header>() == ALIGN);

// SAFETY: the bytes are plain data, written only through a unique storage; the count is atomic.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// A buffer of `bytes` zero bytes, or `None` when that much memory cannot be had.
    pub fn zeroed(bytes: usize) -> Option<Storage> {
        // SAFETY: bytes in a block of their own come zeroed, those beside the header are here.
        unsafe {
            let storage = Storage::allocate(bytes, Block::zeroed)?;
            if bytes <= INLINE {
                storage.header().data.write_bytes(0, bytes);
            }
            Some(storage)
        }
    }

    /// A buffer of `bytes` bytes that are yet to be written, or `None` when that much memory cannot be had.
    ///
    /// # Safety
    ///
    /// Every byte is written before it is read.
    pub unsafe fn uninit(bytes: usize) -> Option<Storage> {
        // SAFETY: the caller's promise.
        unsafe { Storage::allocate(bytes, Block::uninit) }
    }

    /// Memory of somebody else, read in place and never written: it does not count as unshared. `None` if its start is not
    /// aligned for every element type.
    ///
    /// # Safety
    ///
    /// The `bytes` from `data` on are initialised and stay readable until `owner` is dropped. Whoever writes them
    /// meanwhile does so while no thread computes with them.
    pub unsafe fn foreign(data: NonNull<u8>, bytes: usize, owner: Box<dyn Send + Sync>) -> Option<Storage> {
        if !data.addr().get().is_multiple_of(SYSTEM_ALIGN) {
            return None;
        }
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        // SAFETY: the header's block is ours and fits one; the bytes are the caller's promise.
        Some(unsafe { Storage::emplace(header, bytes, data, Home::Foreign(owner)) })
    }

    /// Memory of another device, by that device's number. It does not count as memory of the host. `None` when there is no
    /// memory for the header.
    pub fn on_device(device: u16, bytes: usize, memory: Box<dyn Remote>) -> Option<Storage> {
        debug_assert!(device != HOST);
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        let home = Home::Remote(memory);
        // SAFETY: the header's block is ours and fits one. Nobody reads through `data`, because `host` looks at the device.
        unsafe {
            header.write(Header {
                refs: RefCount::one(),
                len: bytes,
                data: NonNull::dangling(),
                home,
                device,
            });
        }
        Some(Storage(header))
    }

    /// The number of the device that has the bytes; [`HOST`] is the host.
    #[inline]
    pub fn device(&self) -> u16 {
        self.header().device
    }

    /// The memory of another device, if it is of this type.
    pub fn remote<T: Remote>(&self) -> Option<&T> {
        match &self.header().home {
            Home::Remote(memory) => (&**memory as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Whether the bytes are somebody else's, who may change them.
    pub fn is_foreign(&self) -> bool {
        matches!(self.header().home, Home::Foreign(_))
    }

    /// The first byte, on the host. Writing through it is for whoever knows that nobody reads meanwhile.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.header().data.as_ptr()
    }

    /// A copy of `values`, or `None` when that much memory cannot be had.
    pub fn from_slice<T: Pod>(values: &[T]) -> Option<Storage> {
        let bytes = size_of_val(values);
        // SAFETY: all `bytes` of the new buffer are copied from values, which have no padding.
        unsafe {
            let storage = Storage::allocate(bytes, Block::uninit)?;
            storage.header().data.copy_from_nonoverlapping(NonNull::from(values).cast(), bytes);
            Some(storage)
        }
    }

    /// A copy of `values`, whose own memory is seldom aligned. Like `Vec`, it ends the process when
    /// memory runs out.
    pub fn from_vec<T: Pod>(values: Vec<T>) -> Storage {
        Storage::from_slice(&values)
            .unwrap_or_else(|| handle_alloc_error(Layout::for_value(values.as_slice())))
    }

    /// The buffer of `f(0)`, `f(1)` and so on to `f(len - 1)`, or `None` when that much memory
    /// cannot be had.
    pub fn from_fn<T: Pod>(len: usize, mut f: impl FnMut(usize) -> T) -> Option<Storage> {
        let () = Check::<T>::FITS;
        let bytes = len.checked_mul(size_of::<T>())?;
        // SAFETY: the buffer is aligned for T and has room for `len` of them, each of which is
        // written. If `f` panics before that, the storage is freed unread.
        unsafe {
            let storage = Storage::allocate(bytes, Block::uninit)?;
            let data = storage.header().data.cast::<T>();
            for i in 0..len {
                data.add(i).write(f(i));
            }
            Some(storage)
        }
    }

    /// A storage of `len` bytes; `spill` makes the block for them if they do not fit beside the
    /// header.
    ///
    /// # Safety
    ///
    /// The caller initialises the bytes, unless `spill` did, before anyone can read them.
    #[inline]
    unsafe fn allocate(len: usize, spill: fn(Layout) -> Option<Block>) -> Option<Storage> {
        if len > INLINE {
            // SAFETY: the layout is that of `len` bytes.
            return unsafe { Storage::with_spill(len, spill(spill_layout(len)?)?) };
        }
        let header = Block::uninit(header_layout(len))?.into_raw().cast::<Header>();
        // SAFETY: the block is ours, starts with room for a header and goes on for `len` bytes.
        Some(unsafe { Storage::emplace(header, len, header.add(1).cast(), Home::Here) })
    }

    /// A storage of `len` bytes in a block of their own.
    ///
    /// # Safety
    ///
    /// The block has the `spill_layout` of `len`, and its bytes are initialised as for `allocate`.
    unsafe fn with_spill(len: usize, block: Block) -> Option<Storage> {
        let header = Block::uninit(header_layout(0))?.into_raw().cast::<Header>();
        let skip = block.ptr().addr().get().wrapping_neg() % ALIGN;
        // SAFETY: the header's block is ours and fits one; `spill_layout` left room to skip.
        Some(unsafe { Storage::emplace(header, len, block.ptr().add(skip), Home::Spill(block)) })
    }

    /// The first owner of a new header.
    ///
    /// # Safety
    ///
    /// `header` starts a block of the right `header_layout`, ours to write; `data` has `len` bytes.
    #[inline]
    unsafe fn emplace(header: NonNull<Header>, len: usize, data: NonNull<u8>, home: Home) -> Storage {
        // SAFETY: the caller's promise.
        unsafe { header.write(Header { refs: RefCount::one(), len, data, home, device: HOST }) };
        live::add(len);
        Storage(header)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the header lives until its last storage is gone and only its count ever changes.
        unsafe { self.0.as_ref() }
    }

    /// The length of the buffer in bytes.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.header().len
    }

    /// The buffer as elements of `T`, as many as fit whole, if it is on the host.
    #[inline]
    pub fn host<T: Pod>(&self) -> Option<&[T]> {
        let () = Check::<T>::FITS;
        let header = self.header();
        if header.device != HOST {
            return None;
        }
        // SAFETY: the bytes are initialised, aligned for T and long enough, any bits are a T, and
        // nobody writes them while this storage is borrowed.
        Some(unsafe { slice::from_raw_parts(header.data.cast().as_ptr(), header.len / size_of::<T>()) })
    }

    /// The buffer as elements of `T` to write, if it is on the host and no clone shares it.
    #[inline]
    pub fn get_mut_slice<T: Pod>(&mut self) -> Option<&mut [T]> {
        let () = Check::<T>::FITS;
        if self.device() != HOST || !self.is_unique() {
            return None;
        }
        let header = self.header();
        let (data, len) = (header.data.cast().as_ptr(), header.len / size_of::<T>());
        // SAFETY: as in `host`, and this only storage of the buffer is borrowed mutably, so
        // nobody else reads it. Any T written is initialised bytes, as a Pod has no padding.
        Some(unsafe { slice::from_raw_parts_mut(data, len) })
    }

    /// Whether no clone shares the buffer, and it is not somebody else's.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().refs.is_unique() && !matches!(self.header().home, Home::Foreign(_))
    }

    /// Whether both are the same buffer.
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
        let inline = if matches!(self.header().home, Home::Here) { self.header().len } else { 0 };
        // SAFETY: we were the last owner, so nobody else uses the header; `home` is dropped once.
        unsafe { (&raw mut (*self.0.as_ptr()).home).drop_in_place() };
        // SAFETY: `emplace` was given a block of this layout, and there is only one last owner.
        drop(unsafe { Block::from_raw(self.0.cast(), header_layout(inline)) });
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("len_bytes", &self.len_bytes()).finish_non_exhaustive()
    }
}

/// What a buffer asks of its element type, checked when the code is compiled.
struct Check<T>(T);

impl<T> Check<T> {
    const FITS: () = assert!(size_of::<T>() > 0 && align_of::<T>() <= ALIGN);
}

/// A header with `inline` bytes after it.
#[inline]
fn header_layout(inline: usize) -> Layout {
    debug_assert!(inline <= INLINE);
    // SAFETY: the alignment is a power of two and the size, of a header and INLINE bytes, small.
    unsafe { Layout::from_size_align_unchecked(size_of::<Header>() + inline, ALIGN) }
}

/// A block in which `len` bytes can be aligned, or `None` when no address space holds them.
fn spill_layout(len: usize) -> Option<Layout> {
    if len <= pool::MAX_POOLED {
        return Layout::from_size_align(len, ALIGN).ok();
    }
    // The system has zero pages for large blocks and clears them on first touch, by whichever
    // thread that is; it does so only for its own alignment, so ask for that and some slack to
    // align by hand.
    Layout::from_size_align(len.checked_add(ALIGN - SYSTEM_ALIGN)?, SYSTEM_ALIGN).ok()
}
