//! The tile interpreter: runs a [`Kernel`](gradus_compile::Kernel) over tiles that fit into the first-level
//! cache.
//!
//! Every instruction is one loop over a tile, so that interpreting it costs little compared with the loop. Values are in
//! registers, which are memory for a tile of elements of one of five kinds. Memory that is contiguous and has the type of a
//! register is read and written directly.

mod build;
mod lanes;
mod loops;
pub(crate) mod memory;
mod run;
mod scalar;
mod transposed;

pub(crate) use build::TileProgram;
pub(crate) use run::Memory;

use gradus_ir::{C, DType};

/// The element type of a register. Each dtype is computed in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `f32`, and narrower floats.
    F32,
    /// `f64`.
    F64,
    /// All integers.
    I64,
    /// Booleans, a byte each.
    Bool,
    /// Both complex types.
    C,
}

impl Kind {
    pub(crate) fn of(dtype: DType) -> Kind {
        match dtype {
            DType::F32 | DType::BF16 | DType::F16 => Kind::F32,
            DType::F64 => Kind::F64,
            DType::Bool => Kind::Bool,
            DType::C64 | DType::C128 => Kind::C,
            _ => Kind::I64,
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Kind::F32 => 4,
            Kind::F64 | Kind::I64 => 8,
            Kind::Bool => 1,
            Kind::C => size_of::<C>(),
        }
    }

    /// Returns true if elements of the dtype have the same type in memory and in registers.
    pub(crate) fn is_stored_as(self, dtype: DType) -> bool {
        Kind::of(dtype) == self && dtype.size() == self.size()
    }
}
