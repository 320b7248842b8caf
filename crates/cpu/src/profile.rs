//! The CPU's profile for the compiler: cache sizes, vector widths and the cost of starting work on threads.

use crate::routine::CLAIMS;
use gradus_compile::{Fuse, Loops, Memory, Profile, Recompute, Slices, Split, StoredScores};
use gradus_ir::{DType, size};

/// The limits with which graphs are compiled for the CPU.
pub const PROFILE: Profile = Profile {
    // Longer kernels save no further memory traffic and exceed the instruction cache. Small kernels are merged, because
    // starting one takes longer than running it.
    fuse: Fuse { most: 160, function: 1, small: 1 << 10, buffers: usize::MAX, large: usize::MAX },
    // A store and a load cost about as much as two dozen arithmetic operations on an element.
    recompute: Recompute { least: 1 << 12, work: 24, function: 6, loads: 1 },
    // Enough rows for the threads of a large processor, and columns that fill vectors for all of them.
    split: Split { rows: 64, columns: 1 << 13, least: 1 << 15, tile: 1 << 16, part: 16 },
    slices: Some(Slices {
        fewest: 8,
        least: 1 << 18,
        // Starting a slice takes some microseconds.
        small: 1 << 14,
        // Half of a core's second-level cache.
        cache: 1 << 19,
        // Smaller values stay in a core's cache from one step to the next.
        large: 1 << 21,
        work: 600.0,
        // Products of fewer rows are slow.
        rows: 64,
        shared: Some(1 << 22),
    }),
    // 64 elements of the narrowest dtype, of one byte each, fill one vector.
    loops: Loops { small: 64 },
    // Temporaries start at cache lines.
    memory: Memory { align: 64, page: usize::MAX, most: size::MAX_BYTES },
    products: &[DType::F32, DType::F64, DType::BF16],
    dtypes: &DType::ALL,
    claims: CLAIMS,
    // All calls of attention without a cache use products, because there is no other code for them.
    scores: StoredScores { keys: 0, most: usize::MAX },
};
