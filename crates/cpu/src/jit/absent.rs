//! Replaces the code generator on processors for which there is none.

use gradus_compile::Kernel;
use gradus_ir::DType;

/// The code of a kernel. This type has no values.
#[derive(Debug)]
pub(crate) enum Native {}

impl Native {
    pub(crate) fn new(_: &Kernel, _: &[(DType, usize)]) -> Option<Native> {
        None
    }

    pub(crate) fn instructions(&self) -> usize {
        match *self {}
    }

    pub(crate) fn code(&self) -> Vec<&[u8]> {
        match *self {}
    }

    pub(crate) fn scratch(&self) -> usize {
        match *self {}
    }

    /// # Safety
    /// Cannot be called: the type has no values.
    pub(crate) unsafe fn run(&self, _: &[*mut u8], _: usize, _: usize, _: *mut u8) {
        match *self {}
    }

    /// # Safety
    /// Cannot be called: the type has no values.
    pub(crate) unsafe fn run_block(&self, _: &[*mut u8], _: (usize, usize), _: (usize, usize), _: *mut u8) {
        match *self {}
    }

    /// # Safety
    /// Cannot be called: the type has no values.
    pub(crate) unsafe fn run_rows(&self, _: &[*mut u8], _: (usize, usize), _: (usize, usize), _: *mut u8) {
        match *self {}
    }
}
