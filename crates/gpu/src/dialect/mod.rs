//! The two dialects. Kernels are written in a part of WGSL that is also C++ after the definitions in `cuda.rs`; what
//! differs is here: declarations, functions and the entry point.

mod cuda;
mod wgsl;

/// A language of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// WGSL, for wgpu and browsers.
    Wgsl,
    /// CUDA C++, for NVRTC.
    Cuda,
}

/// How kernels use a storage binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Words.
    Word,
    /// Four words at a time.
    Four,
    /// Words that several threads write parts of.
    Atomic,
}

/// What surrounds the lines of a kernel.
pub(crate) struct Frame<'a> {
    /// Per storage binding, how it is used and whether it is written.
    pub(crate) bindings: &'a [(Unit, bool)],
    /// Vectors of four words in the parameter block.
    pub(crate) parameters: usize,
    /// Arrays that a group shares: name, type and length.
    pub(crate) shared: &'a [(String, &'static str, u32)],
    /// Threads of a group, along each dimension.
    pub(crate) group: [u32; 3],
    /// The library functions.
    pub(crate) functions: &'a str,
    /// Functions of this kernel alone, without results: name, parameters and lines.
    pub(crate) local: &'a [(String, String, String)],
    /// The lines of the kernel.
    pub(crate) body: &'a str,
}

impl Dialect {
    /// Whether the language has the library function itself, or its definitions do.
    pub(crate) fn is_builtin(self, name: &str) -> bool {
        self == Dialect::Cuda && cuda::BUILTIN.contains(&name)
    }

    /// A library function, given as WGSL.
    pub(crate) fn function(self, text: &str) -> String {
        match self {
            Dialect::Wgsl => text.to_string(),
            Dialect::Cuda => cuda::function(text),
        }
    }

    /// The whole text of a kernel.
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

    /// Replaces the bits of a word that the mask has, without touching the others.
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
