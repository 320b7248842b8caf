//! A shared pointer in a pooled block: an `Arc` without weak references, for small nodes by the
//! million.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pool::Block;

/// The count of a value that is never freed. No count of owners gets there: see `retain`.
const FOREVER: usize = usize::MAX;

/// The number of owners of a block.
pub(crate) struct RefCount(AtomicUsize);

impl RefCount {
    /// A count of one.
    #[inline]
    pub(crate) const fn one() -> RefCount {
        RefCount(AtomicUsize::new(1))
    }

    /// Owned by the program as long as it runs: nobody counts.
    const fn forever() -> RefCount {
        RefCount(AtomicUsize::new(FOREVER))
    }

    #[inline]
    fn is_forever(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FOREVER
    }

    /// Adds an owner. Relaxed suffices: whoever clones is an owner, so the block stays alive.
    #[inline]
    pub(crate) fn retain(&self) {
        // Leaking clones in a loop could wrap the count and free a block in use. As in `Arc`, stop
        // half way: no number of threads covers the other half between the check and the abort.
        if self.0.fetch_add(1, Ordering::Relaxed) > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Removes an owner; `true` if it was the last, which then sees all that the others did.
    #[inline]
    pub(crate) fn release(&self) -> bool {
        // A sole owner gains no company while it lets go, so most drops need no locked write.
        self.is_unique() || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether there is one owner. Acquire: it sees all that former owners did.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}

/// A shared, reference-counted value in a pooled block.
///
/// It is one non-null pointer, so `Option<Handle<T>>` is as small. There are no weak references: a
/// cycle of handles is never freed.
///
/// Threads may share a handle if they may share its value:
///
/// ```compile_fail,E0277
/// let handle = gradus_mem::Handle::new(std::cell::Cell::new(1));
/// std::thread::spawn(move || handle.set(2));
/// ```
pub struct Handle<T> {
    inner: NonNull<Inner<T>>,
    owns: PhantomData<Inner<T>>,
}

struct Inner<T> {
    refs: RefCount,
    value: T,
}

// SAFETY: clones on several threads share `&T`, hence Sync; the last one drops the T, hence Send.
unsafe impl<T: Send + Sync> Send for Handle<T> {}
// SAFETY: as above; a `&Handle<T>` can be cloned into a handle.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

impl<T> Handle<T> {
    const LAYOUT: Layout = Layout::new::<Inner<T>>();

    /// Moves `value` into a block. Like `Box::new`, it ends the process when memory runs out.
    #[inline]
    pub fn new(value: T) -> Handle<T> {
        Handle::with(|| value)
    }

    /// Makes a value in a block: a small one is written where it stays, while one that is moved there in wider pieces than
    /// it was written in has the processor wait.
    #[inline(always)]
    pub fn with(value: impl FnOnce() -> T) -> Handle<T> {
        let Some(block) = Block::uninit(Self::LAYOUT) else { handle_alloc_error(Self::LAYOUT) };
        // SAFETY: the block is ours, freed if there is no value after all, and has the layout of an Inner<T>.
        unsafe { block.ptr().cast::<Inner<T>>().write(Inner { refs: RefCount::one(), value: value() }) };
        Handle { inner: block.into_raw().cast(), owns: PhantomData }
    }

    /// A value that is never freed, for tables that live as long as the program: its handles are
    /// cloned and dropped without a count, which threads would pass to and fro.
    pub fn forever(value: T) -> Handle<T> {
        let inner = Box::leak(Box::new(Inner { refs: RefCount::forever(), value }));
        Handle { inner: NonNull::from(inner), owns: PhantomData }
    }

    #[inline]
    fn inner(&self) -> &Inner<T> {
        // SAFETY: the block lives as long as a handle, and is written only through a unique one.
        unsafe { self.inner.as_ref() }
    }

    /// Takes the block back from its handles, to be freed without dropping the value.
    ///
    /// # Safety
    ///
    /// The caller's `release` said it was the last owner, and no handle is used after.
    #[inline]
    unsafe fn block(&self) -> Block {
        // SAFETY: `new` gave up a block of this layout, and there is only one last owner.
        unsafe { Block::from_raw(self.inner.cast(), Self::LAYOUT) }
    }

    /// Whether this is the only handle to its value.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.inner().refs.is_unique()
    }

    /// Whether both handles share one value.
    #[inline]
    pub fn ptr_eq(&self, other: &Handle<T>) -> bool {
        self.inner == other.inner
    }

    /// A pointer to the value, valid while a handle to it lives.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        // SAFETY: the block is alive; only the place of the field is computed.
        unsafe { &raw const (*self.inner.as_ptr()).value }
    }

    /// The address of the value: its identity, until the last handle is gone and the block reused.
    #[inline]
    pub fn addr(&self) -> usize {
        self.as_ptr().addr()
    }

    /// The value, if this is the only handle to it.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if !self.is_unique() {
            return None;
        }
        // SAFETY: nobody else has a handle, and the borrow of this one keeps it from being cloned.
        Some(unsafe { &mut (*self.inner.as_ptr()).value })
    }

    /// Moves the value out, if this is the only handle to it. When several threads call this on the
    /// handles of one value, exactly one gets it.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        let this = ManuallyDrop::new(self);
        if this.inner().refs.is_forever() || !this.inner().refs.release() {
            return None;
        }
        // SAFETY: we were the last owner and `this` is not dropped.
        let _block = unsafe { this.block() };
        // SAFETY: the value is intact and is read once: freeing the block does not drop it.
        Some(unsafe { this.as_ptr().read() })
    }
}

impl<T> Clone for Handle<T> {
    #[inline]
    fn clone(&self) -> Handle<T> {
        if !self.inner().refs.is_forever() {
            self.inner().refs.retain();
        }
        Handle { inner: self.inner, owns: PhantomData }
    }
}

impl<T> Drop for Handle<T> {
    #[inline]
    fn drop(&mut self) {
        let refs = &self.inner().refs;
        if !refs.is_forever() && refs.release() {
            // SAFETY: we were the last owner and are being dropped. The block is declared first, to
            // be freed last, and even if the value's own drop panics.
            let _block = unsafe { self.block() };
            // SAFETY: the last owner drops the value, here and only here.
            unsafe { self.as_ptr().cast_mut().drop_in_place() };
        }
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T: fmt::Debug> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
