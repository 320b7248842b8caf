//! The compiler's profile of GPUs. The values are estimates, to be replaced by measurements.

use crate::limits::{Barriers, Limits};
use crate::program::SMALL;
use crate::routine::CLAIMS;
use gradus_compile::{Fuse, Loops, Memory, Profile, Recompute, Split, StoredScores};
use gradus_ir::DType;

/// Returns the limits by which graphs are compiled for an adapter: those of a desktop GPU, or of a software adapter if
/// barriers are expensive.
pub fn profile(limits: &Limits) -> Profile {
    let most = usize::try_from(limits.binding).unwrap_or(usize::MAX);
    let software = limits.barriers == Barriers::Expensive;
    // Small tensors share one binding, and temporaries need up to two. The others are for large tensors.
    let buffers = (limits.bindings as usize).saturating_sub(3).max(2);
    Profile {
        fuse: match software {
            true => Fuse { most: 160, function: 8, small: 1 << 12, buffers, large: SMALL },
            false => Fuse { most: 96, function: 4, small: 1 << 16, buffers, large: SMALL },
        },
        recompute: match software {
            true => Recompute { least: 1 << 12, work: 24, function: 6, loads: 1 },
            false => Recompute { least: 1 << 14, work: 64, function: 8, loads: 1 },
        },
        split: match software {
            true => Split { rows: 16, columns: 1 << 12, least: 1 << 16, tile: 1 << 16, part: 64 },
            false => Split { rows: 1 << 10, columns: 1 << 15, least: 1 << 16, tile: 1 << 18, part: 256 },
        },
        // Slices would run one after the other and leave a GPU idle; kernels over all slices keep it busy.
        slices: None,
        loops: Loops { small: if software { 1 << 16 } else { 1 << 20 } },
        memory: Memory { align: 256, page: limits.page().unwrap_or(usize::MAX), most },
        products: if software { &[DType::F32] } else { &[DType::F32, DType::F16, DType::BF16] },
        dtypes: &DType::WITHOUT_F64,
        claims: CLAIMS,
        scores: StoredScores { keys: 512, most: 1 << 24 },
    }
}
