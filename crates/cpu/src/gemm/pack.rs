//! Copies a part of an operand into the order in which the innermost loop reads it.

use super::vector::prefetch;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;
/// Distance at which rows are prefetched, in rows.
const AHEAD: isize = 16;

/// Fills a panel: `out[p * W + l] = source[l * lane + p * depth]` for `l < lanes` and `p < steps`, and zero for the
/// lanes from `lanes` to the width `W` of the panel. (Panels of pairs have another order, see `pairs.rs`.)
pub(super) type Packer<T> =
    unsafe fn(source: *const T, lane: isize, depth: isize, lanes: usize, steps: usize, out: *mut T);

/// Number of rows of the largest block that is transposed at once.
pub(crate) const MAX_ROWS: usize = 8;

/// Element types whose `SIDE` by `SIDE` blocks can be transposed in registers. Without instructions for it `SIDE` is 1.
pub(crate) trait TransposeBlock: Copy + Default {
    const SIDE: usize = 1;

    /// Transposes a full block: `out[p * width + lane] = rows[lane][p]`. Uses no closures, because functions
    /// called in closures would not be inlined where the instruction set is enabled.
    ///
    /// # Safety
    /// The processor has AVX2 or NEON; both blocks are valid memory.
    #[inline(always)]
    unsafe fn transpose(rows: &[*const Self; MAX_ROWS], out: *mut Self, _width: usize) {
        // SAFETY: the caller guarantees that both blocks are valid memory.
        unsafe { *out = *rows[0] };
    }
}

/// Packs a panel on any processor.
///
/// # Safety
/// As for [`Packer`]: the elements of the source exist, and `out` has space for `steps * W`.
pub(super) unsafe fn portable<T: Copy + Default, const W: usize>(
    source: *const T,
    lane: isize,
    depth: isize,
    lanes: usize,
    steps: usize,
    out: *mut T,
) {
    // SAFETY: the caller guarantees the elements of the source and the space at `out`.
    unsafe { body::<T, W>(source, lane, depth, lanes, steps, out) }
}

/// Packs a panel, and transposes blocks in registers.
///
/// # Safety
/// As for [`portable`], and the processor has AVX2 or NEON.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "only kernels with explicit vectors use it")
)]
pub(super) unsafe fn transposing<T: TransposeBlock, const W: usize>(
    source: *const T,
    lane: isize,
    depth: isize,
    lanes: usize,
    steps: usize,
    out: *mut T,
) {
    // SAFETY: the caller guarantees source and `out`; a block reads existing lanes and steps and writes its own
    // lanes.
    unsafe {
        if depth != 1 || lane == 1 || steps < T::SIDE || !W.is_multiple_of(T::SIDE) {
            return body::<T, W>(source, lane, depth, lanes, steps, out);
        }
        // Packs one cache line of each lane at a time, because lanes may be too far apart to stay in the cache together.
        let line = LINE / size_of::<T>();
        for from in (0..steps).step_by(line) {
            for first in (0..lanes).step_by(T::SIDE) {
                let rows = source.offset(first as isize * lane);
                for l in 0..T::SIDE {
                    prefetch(rows.wrapping_offset(l as isize * lane).wrapping_add(from + 2 * line));
                }
                for p in (from..steps.min(from + line)).step_by(T::SIDE) {
                    // The last block of steps starts earlier, so that it is complete. The last block of lanes
                    // repeats its last lane.
                    let p = p.min(steps - T::SIDE);
                    let mut block = [rows; MAX_ROWS];
                    for (l, row) in block.iter_mut().enumerate() {
                        let l = l.min(lanes - 1 - first);
                        *row = rows.wrapping_offset(l as isize * lane).wrapping_add(p);
                    }
                    T::transpose(&block, out.add(p * W + first), W);
                }
            }
        }
        if lanes < W {
            for p in 0..steps {
                for l in lanes..W {
                    *out.add(p * W + l) = T::default();
                }
            }
        }
    }
}

/// Packs a panel element by element.
///
/// # Safety
/// As for [`portable`].
#[inline(always)]
unsafe fn body<T: Copy + Default, const W: usize>(
    source: *const T,
    lane: isize,
    depth: isize,
    lanes: usize,
    steps: usize,
    out: *mut T,
) {
    // SAFETY: the caller guarantees the elements of the source and the space at `out`.
    unsafe {
        for p in 0..steps {
            let (from, to) = (source.offset(p as isize * depth), out.add(p * W));
            if lanes == W && lane == 1 {
                // Prefetches, because rows may be too far apart for the hardware prefetcher.
                for line in (0..W).step_by(LINE / size_of::<T>()) {
                    prefetch(from.wrapping_offset(AHEAD * depth).wrapping_add(line));
                }
                to.cast::<[T; W]>().write_unaligned(from.cast::<[T; W]>().read_unaligned());
            } else {
                for l in 0..W {
                    *to.add(l) = if l < lanes { *from.offset(l as isize * lane) } else { T::default() };
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{MAX_ROWS, TransposeBlock};
    use std::arch::x86_64::*;

    impl TransposeBlock for f32 {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(rows: &[*const f32; MAX_ROWS], out: *mut f32, width: usize) {
            // SAFETY: the caller guarantees AVX2, and that both blocks are valid memory.
            unsafe {
                // Rows 0..4 in the low halves and 4..8 in the high halves: two 4 by 4 transposes in parallel.
                let mut halves = [[_mm256_setzero_ps(); 4]; 2];
                for (half, to) in halves.iter_mut().enumerate() {
                    for (r, to) in to.iter_mut().enumerate() {
                        let low = _mm_loadu_ps(rows[r].add(half * 4));
                        let high = _mm_loadu_ps(rows[r + 4].add(half * 4));
                        *to = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high);
                    }
                }
                for (half, &[r0, r1, r2, r3]) in halves.iter().enumerate() {
                    let (a, b) = (_mm256_unpacklo_ps(r0, r1), _mm256_unpackhi_ps(r0, r1));
                    let (c, d) = (_mm256_unpacklo_ps(r2, r3), _mm256_unpackhi_ps(r2, r3));
                    let transposed = [
                        _mm256_shuffle_ps::<0x44>(a, c),
                        _mm256_shuffle_ps::<0xee>(a, c),
                        _mm256_shuffle_ps::<0x44>(b, d),
                        _mm256_shuffle_ps::<0xee>(b, d),
                    ];
                    for (row, &transposed) in transposed.iter().enumerate() {
                        _mm256_storeu_ps(out.add((half * 4 + row) * width), transposed);
                    }
                }
            }
        }
    }

    impl TransposeBlock for f64 {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(rows: &[*const f64; MAX_ROWS], out: *mut f64, width: usize) {
            // SAFETY: the caller guarantees AVX2, and that both blocks are valid memory.
            unsafe {
                for half in 0..2 {
                    let mut pair = [_mm256_setzero_pd(); 2];
                    for (r, to) in pair.iter_mut().enumerate() {
                        let low = _mm_loadu_pd(rows[r].add(half * 2));
                        let high = _mm_loadu_pd(rows[r + 2].add(half * 2));
                        *to = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high);
                    }
                    let [r0, r1] = pair;
                    _mm256_storeu_pd(out.add(half * 2 * width), _mm256_unpacklo_pd(r0, r1));
                    _mm256_storeu_pd(out.add((half * 2 + 1) * width), _mm256_unpackhi_pd(r0, r1));
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::{MAX_ROWS, TransposeBlock};
    use std::arch::aarch64::*;

    impl TransposeBlock for f32 {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(rows: &[*const f32; MAX_ROWS], out: *mut f32, width: usize) {
            // SAFETY: the caller guarantees that both blocks are valid memory.
            unsafe {
                let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|r| vld1q_f32(rows[r]));
                // Interleaves rows 0 and 2, and rows 1 and 3, then the results.
                let (a, b) = (vzip1q_f32(r0, r2), vzip2q_f32(r0, r2));
                let (c, d) = (vzip1q_f32(r1, r3), vzip2q_f32(r1, r3));
                vst1q_f32(out, vzip1q_f32(a, c));
                vst1q_f32(out.add(width), vzip2q_f32(a, c));
                vst1q_f32(out.add(2 * width), vzip1q_f32(b, d));
                vst1q_f32(out.add(3 * width), vzip2q_f32(b, d));
            }
        }
    }

    impl TransposeBlock for f64 {
        const SIDE: usize = 2;

        #[inline(always)]
        unsafe fn transpose(rows: &[*const f64; MAX_ROWS], out: *mut f64, width: usize) {
            // SAFETY: the caller guarantees that both blocks are valid memory.
            unsafe {
                let (r0, r1) = (vld1q_f64(rows[0]), vld1q_f64(rows[1]));
                vst1q_f64(out, vzip1q_f64(r0, r1));
                vst1q_f64(out.add(width), vzip2q_f64(r0, r1));
            }
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod plain {
    impl super::TransposeBlock for f32 {}
    impl super::TransposeBlock for f64 {}
}
