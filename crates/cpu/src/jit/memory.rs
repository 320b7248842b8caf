//! Memory for generated code. It is first writable, then executable, but never both.

use std::ptr::{NonNull, null_mut};

/// Pages of code.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: no thread writes to the pages after `new`.
unsafe impl Send for Pages {}
// SAFETY: no thread writes to the pages after `new`.
unsafe impl Sync for Pages {}

impl Pages {
    /// Copies code to executable memory. Returns `None` if the system refuses such memory.
    pub(super) fn new(code: &[u8]) -> Option<Pages> {
        let len = code.len();
        let (flags, rights) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the call maps new anonymous memory.
        let start = unsafe { libc::mmap(null_mut(), len, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let pages = Pages { start: NonNull::new(start.cast())?, len };
        // SAFETY: the mapping is new, has the length of the code, and is writable until `mprotect`.
        let changed = unsafe {
            pages.start.as_ptr().copy_from_nonoverlapping(code.as_ptr(), len);
            libc::mprotect(start, len, libc::PROT_READ | libc::PROT_EXEC)
        };
        (changed == 0).then_some(pages)
    }

    /// Returns the instructions.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length, is readable, and is not written after `new`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Returns the address of the first byte.
    pub(super) fn start(&self) -> *const u8 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping, and code in it runs only while the object is borrowed.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
