//! Memory that code runs from: written first, then executable, never both.

use std::ptr::{NonNull, null_mut};

/// Pages of code.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: nobody writes to the pages after they are made.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// A copy of the code, ready to run; nothing if the system gives no such memory.
    pub(super) fn new(code: &[u8]) -> Option<Pages> {
        let len = code.len();
        let (flags, rights) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: fresh memory of our own.
        let start = unsafe { libc::mmap(null_mut(), len, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let pages = Pages { start: NonNull::new(start.cast())?, len };
        // SAFETY: the memory is new, as long as the code and writable until its rights change.
        let changed = unsafe {
            pages.start.as_ptr().copy_from_nonoverlapping(code.as_ptr(), len);
            libc::mprotect(start, len, libc::PROT_READ | libc::PROT_EXEC)
        };
        (changed == 0).then_some(pages)
    }

    /// The instructions.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory has this length, is readable, and nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The first byte.
    pub(super) fn start(&self) -> *const u8 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and code in it runs only while it is borrowed.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
