//! The profile that the compiler's tests use. It is separate from the CPU's, whose values may be tuned
//! without changing the plans that these tests expect.

use super::limits::{Fuse, Loops, Memory, Profile, Recompute, Slices, Split, StoredScores};
use gradus_ir::DType;

pub(crate) const PROFILE: Profile = Profile {
    fuse: Fuse { most: 160, function: 1, small: 1 << 10, buffers: usize::MAX, large: usize::MAX },
    recompute: Recompute { least: 1 << 12, work: 24, function: 6, loads: 1 },
    split: Split { rows: 64, columns: 1 << 13, least: 1 << 15, tile: 1 << 16, part: 16 },
    slices: Some(Slices {
        fewest: 8,
        least: 1 << 18,
        small: 1 << 14,
        cache: 1 << 19,
        large: 1 << 21,
        work: 600.0,
        rows: 64,
        shared: Some(1 << 22),
    }),
    loops: Loops { small: 64 },
    memory: Memory { align: 64, page: usize::MAX, most: gradus_ir::size::MAX_BYTES },
    products: &[DType::F32, DType::F64, DType::BF16],
    dtypes: &DType::ALL,
    claims: &[],
    scores: StoredScores { keys: 0, most: usize::MAX },
};
