//! The two dialects. Kernels are written in a subset of WGSL that is also C++ after the definitions in `cuda.rs`.
//! This module holds the differences: declarations, functions and the entry point.

mod cuda;
mod wgsl;

/// A kernel language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// WGSL, for wgpu and browsers.
    Wgsl,
    /// CUDA C++, for NVRTC.
    Cuda,
}

/// The accesses of kernels to a storage binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Words.
    Word,
    /// Four words at a time.
    Four,
    /// Words of which several threads write parts.
    Atomic,
}

/// The text around the lines of a kernel.
pub(crate) struct Frame<'a> {
    /// For each storage binding, how it is used and whether it is written.
    pub(crate) bindings: &'a [(Unit, bool)],
    /// Number of four-word vectors in the parameter block.
    pub(crate) parameters: usize,
    /// Arrays in shared memory: name, type and length.
    pub(crate) shared: &'a [(String, &'static str, u32)],
    /// Threads of a group, along each dimension.
    pub(crate) group: [u32; 3],
    /// The library functions.
    pub(crate) functions: &'a str,
    /// Functions used by this kernel only, without results: name, parameters and lines.
    pub(crate) local: &'a [(String, String, String)],
    /// The lines of the kernel.
    pub(crate) body: &'a str,
}

impl Dialect {
    /// Returns true if the library function is part of the language or of its definitions.
    pub(crate) fn is_builtin(self, name: &str) -> bool {
        self == Dialect::Cuda && cuda::BUILTIN.contains(&name)
    }

    /// Converts a library function from WGSL.
    pub(crate) fn function(self, text: &str) -> String {
        match self {
            Dialect::Wgsl => text.to_string(),
            Dialect::Cuda => cuda::function(text),
        }
    }

    /// The complete text of a kernel.
    pub(crate) fn entry(self, frame: &Frame<'_>) -> String {
        match self {
            Dialect::Wgsl => wgsl::entry(frame),
            Dialect::Cuda => cuda::entry(frame),
        }
    }

    /// Reads a word of a binding.
    pub(crate) fn read(self, binding: usize, unit: Unit, at: &str) -> String {
        match (self, unit) {
            (Dialect::Wgsl, Unit::Atomic) => format!("atomicLoad(&m{binding}[{at}])"),
            _ => format!("m{binding}[{at}]"),
        }
    }

    /// Replaces the bits of a word that are set in the mask.
    pub(crate) fn merge(self, binding: usize, at: &str, mask: &str, bits: &str) -> String {
        format!("atomicAnd(&m{binding}[{at}], ~{mask}); atomicOr(&m{binding}[{at}], {bits});")
    }

    /// Writes a word of a binding.
    pub(crate) fn write(self, binding: usize, unit: Unit, at: &str, word: &str) -> String {
        match (self, unit) {
            (Dialect::Wgsl, Unit::Atomic) => format!("atomicStore(&m{binding}[{at}], {word});"),
            _ => format!("m{binding}[{at}] = {word};"),
        }
    }
}
