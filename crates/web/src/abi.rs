//! Exports and imports of the WebAssembly module. This file has all unsafe code of the crate, which passes
//! bytes to and from JavaScript.

use crate::page::{Page, set_page};
use std::sync::Once;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    fn post(at: *const u8, bytes: usize);
    fn callback(function: u32, at: *const u8, bytes: usize) -> *mut u8;
    fn panic(at: *const u8, bytes: usize);
}

/// The JavaScript page.
struct Browser;

impl Page for Browser {
    fn post(&self, commands: &str) {
        // SAFETY: the page copies the text before it returns.
        unsafe { post(commands.as_ptr(), commands.len()) }
    }

    fn write(&self, buffer: u32, offset: usize, bytes: &[u8]) {
        let (at, count) = (bytes.as_ptr() as usize, bytes.len());
        self.post(&format!("[{{\"c\":\"write\",\"to\":[{buffer},{offset}],\"at\":{at},\"bytes\":{count}}}]"));
    }

    fn callback(&self, function: u32, request: &str) -> String {
        // SAFETY: the page reads the request before it returns. It returns a record that it has allocated
        // with `gradus_alloc`: 4 bytes with the length of the text, then the text. This module now owns the
        // record.
        let record = unsafe {
            let at = callback(function, request.as_ptr(), request.len());
            let mut length = [0; 4];
            std::ptr::copy_nonoverlapping(at, length.as_mut_ptr(), 4);
            let bytes = 4 + u32::from_le_bytes(length) as usize;
            Vec::from_raw_parts(at, bytes, bytes)
        };
        String::from_utf8_lossy(&record[4..]).into_owned()
    }

    fn take(&self, at: usize, bytes: usize) -> Vec<u8> {
        if bytes == 0 {
            return Vec::new();
        }
        // SAFETY: the page allocated these bytes with `gradus_alloc` and does not use them any more.
        unsafe { Vec::from_raw_parts(at as *mut u8, bytes, bytes) }
    }

    fn give(&self, bytes: Vec<u8>) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        // The page frees them with `gradus_free`.
        Box::into_raw(bytes.into_boxed_slice()) as *mut u8 as usize
    }
}

/// Allocates memory to which the page can write.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn gradus_alloc(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; bytes].into_boxed_slice()) as *mut u8
}

/// Frees memory that was allocated by [`gradus_alloc`], or that is an answer.
///
/// # Safety
/// The block must have been allocated by this module for the page, and must not be used afterwards.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gradus_free(at: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller guarantees that this module allocated `bytes` bytes at `at` for the page. The
        // capacity of all such blocks equals their length.
        drop(unsafe { Vec::from_raw_parts(at, bytes, bytes) });
    }
}

/// Answers a request, which it frees. Returns a record: length, then JSON.
///
/// # Safety
/// The request must have been allocated by [`gradus_alloc`] with this size, and must not be used afterwards.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gradus_call(at: *mut u8, bytes: usize) -> *mut u8 {
    static START: Once = Once::new();
    START.call_once(|| {
        set_page(Box::new(Browser));
        std::panic::set_hook(Box::new(|info| {
            let text = info.to_string();
            // SAFETY: the page copies the text before it returns.
            unsafe { panic(text.as_ptr(), text.len()) }
        }));
    });
    let request = Browser.take(at as usize, bytes);
    let answer = crate::call(&String::from_utf8_lossy(&request));
    let mut record = Vec::with_capacity(4 + answer.len());
    record.extend_from_slice(&(answer.len() as u32).to_le_bytes());
    record.extend_from_slice(answer.as_bytes());
    Box::into_raw(record.into_boxed_slice()) as *mut u8
}
