//! GPU programs: kernel texts, and commands that launch them over numbered buffers.
//! `translate.rs` builds a program from a plan; device crates run it; `saved.rs` stores it as JSON.
//! Where buffers are in device memory is decided by the device crates.

use gradus_compile::{Buffer, BufferLocation, Plan, in_page};
use gradus_ir::DType;

/// Tensors of at most this many bytes share one buffer of the device, the heap. Larger ones have their own.
pub const SMALL: usize = 4 << 20;

/// Alignment of temporaries that a program adds to those of its plan, in bytes.
pub(crate) const ALIGN: usize = 256;

/// The translation of a plan that a GPU runs.
#[derive(Clone, Debug)]
pub struct GpuProgram {
    /// The kernels, without duplicates.
    pub modules: Vec<Module>,
    /// The commands, in order.
    pub commands: Vec<Command>,
    /// The buffers of the plan, then those that the translation adds.
    pub buffers: Vec<Buffer>,
    /// Buffers of the inputs, in order.
    pub inputs: Vec<usize>,
    /// Buffers of the outputs, in order.
    pub outputs: Vec<usize>,
    /// For each output, the input whose memory it overwrites, if any. The device first copies an input that other tensors
    /// still use.
    pub donors: Vec<Option<usize>>,
    /// Bytes of the arena.
    pub arena: usize,
    /// Bytes of a page of the arena, if the arena consists of several buffers; `None` if it is one buffer.
    pub page: Option<usize>,
    /// Checks of computed indices. Kernels clamp indices, so if a check fails, results are unspecified, but no access is
    /// outside of a buffer.
    pub checks: Vec<Check>,
}

/// A word that reports whether all indices of a step are in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The step of the plan.
    pub step: usize,
    /// A buffer of one `u32` in the arena. After the run it holds `u32::MAX` if all indices are in range, else the
    /// position of the first index that is not.
    pub word: usize,
    /// The buffer of the indices.
    pub index: usize,
    /// Indices must be at least zero and below this.
    pub extent: usize,
}

/// The text of a kernel. Its entry point is `main`; in CUDA C it is `entry`, because `main` cannot be a kernel there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// WGSL or CUDA C.
    pub text: String,
    /// For each storage binding of group 0, in order, true if the kernel writes to it. The binding after them is the uniform
    /// buffer of parameters, with a dynamic offset.
    pub writable: Vec<bool>,
    /// Number of threads in a workgroup, along each dimension.
    pub group: [u32; 3],
}

/// One command.
#[derive(Clone, Debug)]
pub enum Command {
    /// Launches a kernel.
    Dispatch {
        /// The kernel, by number.
        module: usize,
        /// The memory to bind, in the order of the module's bindings. Each memory is bound at most once.
        bindings: Vec<Memory>,
        /// The parameter block.
        parameters: Vec<Word>,
        /// Number of workgroups along each dimension.
        groups: [u32; 3],
        /// The step of the plan that it belongs to.
        step: usize,
    },
    /// Runs a step of the plan on the CPU.
    Host {
        /// A plan of this step alone.
        plan: Box<Plan>,
        /// The buffers that are its inputs.
        reads: Vec<usize>,
        /// The buffers that are its outputs.
        writes: Vec<usize>,
        /// The reason why there is no kernel for it.
        why: String,
        /// The step of the plan.
        step: usize,
    },
}

/// A buffer of the device. Operands in the same buffer share a binding and differ by their first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// The heap, with all inputs, outputs and constants of at most [`SMALL`] bytes.
    Heap,
    /// The temporaries of the run, in the first page of the arena.
    Arena,
    /// A later page of the arena, by its number.
    Page(usize),
    /// The buffer of a large input, output or constant, by its number in the program.
    Own(usize),
}

/// A word of a parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A constant, by its bits.
    Value(u32),
    /// The position of an element of a buffer, counted in elements of its dtype from the start of the memory that contains
    /// the buffer. The first element of every buffer is aligned to 16 bytes.
    Start {
        /// The buffer.
        buffer: usize,
        /// Offset of the element in the buffer, in elements.
        plus: u32,
    },
}

impl GpuProgram {
    /// Returns the first byte and the end of a temporary of `bytes` bytes at or after offset `free` of the arena.
    pub(crate) fn next_temporary(&self, free: usize, bytes: usize) -> (usize, usize) {
        let bytes = bytes.next_multiple_of(ALIGN);
        let at = self.page.map_or(free, |page| in_page(free, bytes, page));
        (at, at + bytes)
    }

    /// Adds a buffer at byte `at` of the arena, and enlarges the arena if necessary.
    pub(crate) fn temporary(&mut self, dtype: DType, numel: usize, at: usize) -> usize {
        let buffer = Buffer { dtype, numel, location: BufferLocation::Arena(at) };
        self.arena = self.arena.max(at + buffer.bytes().next_multiple_of(ALIGN));
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    /// Returns the page that contains a byte of the arena, and the byte's offset in the page.
    pub fn page_of(&self, at: usize) -> (usize, usize) {
        self.page.map_or((0, at), |page| (at / page, at % page))
    }

    /// Returns the bytes of each page of the arena. There is at least one page, because kernels may bind an empty arena.
    pub fn pages(&self) -> Vec<usize> {
        match self.page {
            Some(page) => {
                (0..self.arena.div_ceil(page).max(1)).map(|k| (self.arena - k * page).min(page)).collect()
            }
            None => vec![self.arena],
        }
    }

    /// Returns true if a run needs memory for temporaries.
    pub fn needs_arena(&self) -> bool {
        let temporary = |m: &Memory| matches!(m, Memory::Arena | Memory::Page(_));
        let binds =
            |c: &Command| matches!(c, Command::Dispatch { bindings, .. } if bindings.iter().any(temporary));
        self.arena > 0 || self.commands.iter().any(binds)
    }

    /// Returns, in the order of the commands, the step and the source text of each kernel that is dispatched.
    pub fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.commands.iter().filter_map(|c| match c {
            Command::Dispatch { module, step, .. } => Some((*step, self.modules[*module].text.as_str())),
            Command::Host { .. } => None,
        })
    }

    /// Returns the memory of a buffer. An output that overwrites an input has the memory of the input.
    pub fn memory(&self, buffer: usize) -> Memory {
        let taken = |k: &usize| self.donors.get(*k).copied().flatten().map(|i| self.inputs[i]);
        match &self.buffers[buffer].location {
            BufferLocation::Arena(at) => match self.page_of(*at).0 {
                0 => Memory::Arena,
                page => Memory::Page(page),
            },
            BufferLocation::Output(k) if taken(k).is_some_and(|i| i != buffer) => {
                taken(k).map_or(Memory::Heap, |i| self.memory(i))
            }
            _ if self.buffers[buffer].bytes() <= SMALL => Memory::Heap,
            _ => Memory::Own(buffer),
        }
    }
}
