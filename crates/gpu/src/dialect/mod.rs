//! The two kernel languages. Kernels are written in a subset of WGSL that, with the definitions in `cuda.rs`, is also C++.
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

/// The unit in which a kernel reads and writes a storage binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One word of 32 bits.
    Word,
    /// A vector of four words.
    Four,
    /// One atomic word, for words of which several threads write parts.
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
    /// Number of threads in a group, along each dimension.
    pub(crate) group: [u32; 3],
    /// The library functions.
    pub(crate) functions: &'a str,
    /// Functions that only this kernel uses and that have no result: name, parameters and lines.
    pub(crate) local: &'a [(String, String, String)],
    /// The lines of the kernel.
    pub(crate) body: &'a str,
}

impl Dialect {
    /// Returns true if the language, or the definitions in `cuda.rs`, have this library function, so that its text is
    /// omitted.
    pub(crate) fn is_builtin(self, name: &str) -> bool {
        self == Dialect::Cuda && cuda::BUILTIN.contains(&name)
    }

    /// Converts the text of a library function from WGSL.
    pub(crate) fn function(self, text: &str) -> String {
        match self {
            Dialect::Wgsl => text.to_string(),
            Dialect::Cuda => cuda::function(text),
        }
    }

    /// Returns the complete text of a kernel.
    pub(crate) fn entry(self, frame: &Frame<'_>) -> String {
        match self {
            Dialect::Wgsl => wgsl::entry(frame),
            Dialect::Cuda => cuda::entry(frame),
        }
    }

    /// Returns an expression that reads a word of a binding.
    pub(crate) fn read(self, binding: usize, unit: Unit, at: &str) -> String {
        match (self, unit) {
            (Dialect::Wgsl, Unit::Atomic) => format!("atomicLoad(&m{binding}[{at}])"),
            _ => format!("m{binding}[{at}]"),
        }
    }

    /// Returns statements that replace the bits of a word that are set in `mask` by those of `bits`.
    pub(crate) fn merge(self, binding: usize, at: &str, mask: &str, bits: &str) -> String {
        format!("atomicAnd(&m{binding}[{at}], ~{mask}); atomicOr(&m{binding}[{at}], {bits});")
    }

    /// Returns a statement that writes a word of a binding.
    pub(crate) fn write(self, binding: usize, unit: Unit, at: &str, word: &str) -> String {
        match (self, unit) {
            (Dialect::Wgsl, Unit::Atomic) => format!("atomicStore(&m{binding}[{at}], {word});"),
            _ => format!("m{binding}[{at}] = {word};"),
        }
    }
}
