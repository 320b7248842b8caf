//! A pointer to elements that the tasks of a job share.

/// Elements of which each task writes its own. No task reads elements that another one writes in the same job.
#[derive(Clone, Copy)]
pub(crate) struct Elements<T>(pub(crate) *mut T);

// SAFETY: sharing an address accesses no memory. Each unsafe block that reads or writes an element states why no other task
// writes it.
unsafe impl<T> Sync for Elements<T> {}

impl<T> Elements<T> {
    /// Returns the address of an element.
    pub(crate) fn at(&self, i: usize) -> *mut T {
        self.0.wrapping_add(i)
    }

    /// Returns elements as a slice.
    ///
    /// # Safety
    /// The elements exist, hold values of the type, and no other thread accesses them while the slice lives.
    pub(crate) unsafe fn slice<'s>(&self, from: usize, count: usize) -> &'s mut [T] {
        // SAFETY: the caller guarantees that the elements exist, hold values of the type, and are not accessed by other
        // threads.
        unsafe { std::slice::from_raw_parts_mut(self.at(from), count) }
    }
}
