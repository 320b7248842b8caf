//! A shared pointer to a value in a pooled block: an `Arc` without weak references, for millions of small nodes.
//! Takes a value; returns a pointer that is cloned and dropped on any thread. Blocks come from `pool.rs`.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pool::Block;

/// The count of a value that is never freed. Counting owners never reaches it: `retain` aborts before.
const FOREVER: usize = usize::MAX;

/// The number of owners of a block.
pub(crate) struct RefCount(AtomicUsize);

impl RefCount {
    /// Returns a count of one owner.
    #[inline]
    pub(crate) const fn one() -> RefCount {
        RefCount(AtomicUsize::new(1))
    }

    /// Returns the count of a value that lives until the process ends; its owners are not counted.
    const fn forever() -> RefCount {
        RefCount(AtomicUsize::new(FOREVER))
    }

    #[inline]
    fn is_forever(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FOREVER
    }

    /// Adds an owner. Relaxed ordering suffices: the caller is an owner, so the block stays alive.
    #[inline]
    pub(crate) fn retain(&self) {
        // Leaking clones in a loop could wrap the count and free a block in use. As in `Arc`, abort at half the
        // range: there are not enough threads to count through the other half between the check and the abort.
        if self.0.fetch_add(1, Ordering::Relaxed) > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Removes an owner. Returns `true` if it was the last, which then sees all writes of the others.
    #[inline]
    pub(crate) fn release(&self) -> bool {
        // A sole owner cannot gain another owner while it releases, so most drops need no atomic subtraction.
        self.is_unique() || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns true if there is one owner. Acquire ordering: that owner sees all writes of former owners.
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
// SAFETY: clones on several threads share `&T`, hence Sync; a `&Handle<T>` can be cloned into a handle, hence
// Send.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

impl<T> Handle<T> {
    const LAYOUT: Layout = Layout::new::<Inner<T>>();

    /// Moves `value` into a block. Like `Box::new`, aborts the process if memory runs out.
    #[inline]
    pub fn new(value: T) -> Handle<T> {
        Handle::with(|| value)
    }

    /// Builds a value directly in its block. A small value that is first written elsewhere and then copied with wider
    /// loads would stall store-to-load forwarding.
    #[inline(always)]
    pub fn with(value: impl FnOnce() -> T) -> Handle<T> {
        let Some(block) = Block::uninit(Self::LAYOUT) else { handle_alloc_error(Self::LAYOUT) };
        // SAFETY: `block` owns memory with the layout of an Inner<T>, and frees it if `value` panics.
        unsafe { block.ptr().cast::<Inner<T>>().write(Inner { refs: RefCount::one(), value: value() }) };
        Handle { inner: block.into_raw().cast(), owns: PhantomData }
    }

    /// Allocates a value that is never freed, for tables that live until the process ends. Cloning and dropping its
    /// handles does not touch the count, which would otherwise move between the caches of threads.
    pub fn forever(value: T) -> Handle<T> {
        let inner = Box::leak(Box::new(Inner { refs: RefCount::forever(), value }));
        Handle { inner: NonNull::from(inner), owns: PhantomData }
    }

    #[inline]
    fn inner(&self) -> &Inner<T> {
        // SAFETY: the block lives as long as a handle, and is written only through a unique handle.
        unsafe { self.inner.as_ref() }
    }

    /// Takes the block back from its handles, to be freed without dropping the value.
    ///
    /// # Safety
    ///
    /// The caller's `release` must have returned `true`, and no handle of the block may be used afterwards.
    #[inline]
    unsafe fn take_block(&self) -> Block {
        // SAFETY: `with` released a block of this layout by `into_raw`, and only the last owner takes it back.
        unsafe { Block::from_raw(self.inner.cast(), Self::LAYOUT) }
    }

    /// Returns true if this is the only handle to its value.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.inner().refs.is_unique()
    }

    /// Returns true if both handles share one value.
    #[inline]
    pub fn ptr_eq(&self, other: &Handle<T>) -> bool {
        self.inner == other.inner
    }

    /// Returns a pointer to the value, valid while a handle to it lives.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        // SAFETY: the block is alive, and only the address of the field is computed.
        unsafe { &raw const (*self.inner.as_ptr()).value }
    }

    /// Returns the address of the value. It identifies the value until the last handle is dropped and the
    /// block is reused.
    #[inline]
    pub fn addr(&self) -> usize {
        self.as_ptr().addr()
    }

    /// Returns the value for modification, if this is the only handle to it.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if !self.is_unique() {
            return None;
        }
        // SAFETY: there is no other handle, and the mutable borrow of this one prevents cloning it.
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
        // SAFETY: `release` reported that this was the last owner, and `this` is not dropped.
        let _block = unsafe { this.take_block() };
        // SAFETY: the value is initialised and is read once: freeing the block does not drop it.
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
            // SAFETY: `release` reported that this was the last owner. The block is declared first so that it is
            // freed last, even if the value's own drop panics.
            let _block = unsafe { self.take_block() };
            // SAFETY: only the last owner gets here, so the value is dropped once.
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
