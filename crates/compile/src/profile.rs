//! The compiler's assumptions about a device, as data.
//! Passes read limits and sizes from a [`Profile`]; the device crates define the values. Limits that bound the running time
//! of the compiler do not depend on the device and are constants of their passes.

use crate::group::Limits;
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, DType};

/// The limits by which a graph is compiled for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Limits on the ops that share a kernel.
    pub fuse: Fuse,
    /// Limits on the values that are computed again instead of stored and loaded.
    pub recompute: Recompute,
    /// Limits below which a reduction is done in two kernels.
    pub split: Split,
    /// Conditions under which neighbouring steps run slice by slice; `None` if the device never does this.
    pub slices: Option<Slices>,
    /// Limits on the values that a loop computes for all its iterations at once.
    pub loops: Loops,
    /// Alignment and largest sizes of values in memory.
    pub memory: Memory,
    /// Operand dtypes of matrix products. Operands of other float dtypes are cast first.
    pub products: &'static [DType],
    /// Dtypes that tensors of the device may have.
    pub dtypes: &'static [DType],
    /// The regions that the device runs as one step. All others are inlined.
    pub claims: &'static [Claim],
    /// The calls of attention that are inlined although a claim has code for them.
    pub scores: StoredScores,
}

/// Limits within which attention is faster by products that store its scores than by kernels that do not.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredScores {
    /// Smallest number of keys that a query sees.
    pub keys: usize,
    /// Largest number of scores, in all heads.
    pub most: usize,
}

/// A region that a device runs as one step, with its own code for all of it.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The name of the region.
    pub name: &'static str,
    /// Returns true if the device has code for a call with these operand types.
    pub fits: fn(&Profile, &Call, &[Aval]) -> bool,
    /// The operand that the first result may overwrite. The device's code must then work if both are the same memory.
    pub overwrites: Option<usize>,
    /// If true, the device's code can return an error.
    pub can_fail: bool,
}

impl PartialEq for Claim {
    fn eq(&self, other: &Claim) -> bool {
        self.name == other.name
    }
}

impl Profile {
    /// Returns true if the device runs this call as one step.
    pub(crate) fn claims(&self, call: &Call, types: &[Aval]) -> bool {
        self.claim(call, types).is_some()
    }

    /// Returns the claim by which the device runs this call as one step.
    pub(crate) fn claim(&self, call: &Call, types: &[Aval]) -> Option<&'static Claim> {
        self.claims.iter().find(|c| *c.name == *call.name && (c.fits)(self, call, types))
    }
}

/// Limits of fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Fuse {
    /// Longest kernel, in ops.
    pub most: usize,
    /// Length of a function that is not exact arithmetic, such as `exp`, in ops. Devices that inline functions take
    /// longer to compile them.
    pub function: usize,
    /// Largest kernels, in elements, that are merged although neither reads the other, because starting them takes
    /// longer than running them.
    pub small: usize,
    /// Largest number of inputs and outputs with memory of their own that a kernel reads and writes.
    pub buffers: usize,
    /// Inputs and outputs of more than this many bytes have memory of their own.
    pub large: usize,
}

impl Fuse {
    pub(crate) fn limits(&self) -> Limits {
        Limits { most: self.most, function: self.function, buffers: self.buffers }
    }
}

/// Limits of recomputation.
#[derive(Clone, Debug, PartialEq)]
pub struct Recompute {
    /// Smallest value that is recomputed, in elements.
    pub least: usize,
    /// Largest work per element, where an arithmetic operation counts as 1.
    pub work: usize,
    /// Work of a function that is not exact arithmetic, such as `exp`.
    pub function: usize,
    /// Largest number of loads that replace the load of the recomputed value.
    pub loads: usize,
}

/// Limits below which a reduction has too few parallel indices to occupy the device and is done in two kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Number of rows that occupy the device, for reductions along contiguous axes.
    pub rows: usize,
    /// Number of columns that occupy the device, for reductions along outer axes.
    pub columns: usize,
    /// Smallest operand that is reduced in two kernels, in elements.
    pub least: usize,
    /// Number of elements in one part of a reduction along columns, so that they stay in cache.
    pub tile: usize,
    /// Smallest number of elements in a part of a row.
    pub part: usize,
}

/// Conditions under which neighbouring steps run slice by slice, so that values which they pass on stay in cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Slices {
    /// Smallest number of slices.
    pub fewest: usize,
    /// Smallest number of bytes that steps pass to each other, in all slices together.
    pub least: usize,
    /// Smallest number of bytes that steps of one slice should pass to each other, because starting a slice has a cost.
    pub small: usize,
    /// Largest number of bytes that steps of one slice should pass to each other.
    pub cache: usize,
    /// Smallest value, in bytes, that a later run of slices computes again instead of loading.
    pub large: usize,
    /// Largest number of operations per element of such a value.
    pub work: f64,
    /// Smallest number of rows of a product in a slice.
    pub rows: usize,
    /// Smallest value, in bytes, for which a sum along columns runs in slices together with the kernels that use the same
    /// value; `None` if such sums are always separate kernels.
    pub shared: Option<usize>,
}

/// Limits of loop optimisation.
#[derive(Clone, Debug, PartialEq)]
pub struct Loops {
    /// Largest value of an iteration, in elements, that does not occupy the device. Functions of the inputs of such iterations
    /// are computed for all iterations at once.
    pub small: usize,
}

/// Limits of memory planning.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Alignment of temporaries in the arena, in bytes.
    pub align: usize,
    /// Bytes of a page of the arena, a multiple of the alignment. A temporary is in one page.
    pub page: usize,
    /// Largest value that a graph may compute, in bytes, stored or not.
    pub most: usize,
}

/// The degree to which generated code is specialised to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// Extents, strides and constants are parameters, so that new shapes need no new code. Eager calls use it.
    Generic,
    /// Extents and strides are part of the code.
    Special,
}
