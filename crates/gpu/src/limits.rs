//! Properties of an adapter that code generation needs in addition to the compiler's profile.

use crate::program::ALIGN;

/// Limits of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Largest number of threads in a workgroup.
    pub group: u32,
    /// Bytes of memory that a workgroup shares.
    pub shared: u32,
    /// Storage buffers that one kernel may bind.
    pub bindings: u32,
    /// Bytes of the largest binding.
    pub binding: u64,
    /// Workgroups along one dimension of a dispatch.
    pub groups: u32,
    /// The cost of a barrier.
    pub barriers: Barriers,
    /// If true, the arena of a program may consist of several pages, each as large as a binding. Otherwise it is one
    /// buffer, and a program whose temporaries exceed a binding cannot run.
    pub pages: bool,
}

impl Limits {
    /// The limits that every WebGPU adapter supports. With them, programs can be generated without an adapter.
    pub const WEBGPU: Limits = Limits {
        group: 256,
        shared: 16 << 10,
        bindings: 8,
        binding: 128 << 20,
        groups: 65_535,
        barriers: Barriers::Cheap,
        pages: false,
    };

    /// Returns the bytes of a page of the arena; `None` if it has one page, of any size.
    pub fn page(&self) -> Option<usize> {
        let page = usize::try_from(self.binding).unwrap_or(usize::MAX) / ALIGN * ALIGN;
        (self.pages && page > 0).then_some(page)
    }
}

/// The cost of a workgroup barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barriers {
    /// Low, as on hardware.
    Cheap,
    /// So high that one thread should do the work of a group, as on software adapters.
    Expensive,
}
