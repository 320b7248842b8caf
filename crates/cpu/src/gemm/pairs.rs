//! Packs `bf16` for AMX tiles: as pairs along k.
//!
//! A panel has 32 lanes. Each 32 steps of a panel are two squares of 1 KiB with 16 lanes each. The elements of a square
//! are pairs of consecutive steps along k. A row of a square is a lane of A, or a pair of steps of B. Missing elements
//! are zero.

use super::square::{SIDE, transpose};
use super::vector::prefetch;
use half::bf16;
use std::arch::x86_64::*;

/// Number of lanes of a panel, and of steps that are packed together.
pub(super) const WIDTH: usize = 32;
/// Distance at which rows are prefetched, in rows. They are too far apart for the hardware prefetcher.
const AHEAD: usize = 10;
/// Number of elements in the two squares of 32 steps.
pub(super) const STRETCH: usize = 2 * SIDE * 2 * SIDE;

/// Fills a panel. If `LANES` is true, the rows of squares are lanes, otherwise pairs of steps. If the elements are contiguous
/// along the other axis, squares are transposed.
///
/// # Safety
/// The elements of the source exist, `out` has space for the panel, and the processor has AVX-512.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
pub(super) unsafe fn pack<const LANES: bool>(
    source: *const bf16,
    lane: isize,
    depth: isize,
    lanes: usize,
    steps: usize,
    out: *mut bf16,
) {
    // SAFETY: the caller guarantees source, `out` and AVX-512; only existing lanes and steps are read.
    unsafe {
        if depth == 1 {
            pack_lanes(source, lane, lanes, steps, out);
        }
        for from in (0..steps).step_by(2 * SIDE) {
            let (first, count) =
                (source.wrapping_offset(from as isize * depth), (2 * SIDE).min(steps - from));
            let out = out.add(from * WIDTH);
            if depth != 1 && lane == 1 {
                pack_pairs(first, depth, lanes, count, out.cast());
            } else if depth != 1 {
                let mut near = [bf16::ZERO; STRETCH];
                for (l, near) in near.chunks_exact_mut(2 * SIDE).enumerate().take(lanes) {
                    for (p, near) in near.iter_mut().enumerate().take(count) {
                        *near = *first.offset(l as isize * lane + p as isize * depth);
                    }
                }
                out.cast::<[bf16; STRETCH]>().write(near);
            }
            if LANES == (depth != 1 && lane == 1) {
                transpose(out.cast());
                transpose(out.cast::<__m512i>().add(SIDE));
            }
        }
    }
}

/// Packs squares with a lane in each row, from lanes that are contiguous along k. Finishes each lane before the
/// next: lanes may be too far apart to stay in the cache together.
///
/// # Safety
/// The lanes and steps exist, and the processor has AVX-512. The functions below have the same requirements.
#[inline(always)]
unsafe fn pack_lanes(first: *const bf16, lane: isize, lanes: usize, steps: usize, out: *mut bf16) {
    for l in 0..WIDTH {
        let from = first.wrapping_offset(l as isize * lane);
        for p in (0..steps).step_by(2 * SIDE) {
            // SAFETY: the caller guarantees the elements and AVX-512.
            unsafe {
                let row = if l >= lanes {
                    _mm512_setzero_si512()
                } else if p + 2 * SIDE <= steps {
                    prefetch(from.wrapping_offset(lane).wrapping_add(p));
                    _mm512_loadu_si512(from.add(p).cast())
                } else {
                    _mm512_maskz_loadu_epi16(((1u64 << (steps - p)) - 1) as u32, from.add(p).cast())
                };
                _mm512_storeu_si512(out.add(p * WIDTH + l * 2 * SIDE).cast(), row);
            }
        }
    }
}

/// Packs two squares with a pair of steps in each row, from steps whose lanes are contiguous.
#[inline(always)]
unsafe fn pack_pairs(first: *const bf16, depth: isize, lanes: usize, steps: usize, out: *mut __m512i) {
    let mask = ((1u64 << lanes) - 1) as u32;
    // SAFETY: the caller guarantees the lanes and steps, and AVX-512.
    unsafe {
        // Source indices of the elements of a row: below 32 for the even step, others for the odd step.
        let index = _mm512_set1_epi32(32 << 16);
        let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let low = _mm512_add_epi32(index, _mm512_or_si512(lane, _mm512_slli_epi32::<16>(lane)));
        let high = _mm512_add_epi32(low, _mm512_set1_epi32(16 << 16 | 16));
        for pair in 0..SIDE {
            let step = |p: usize| first.wrapping_offset(p as isize * depth);
            let (even, odd) = (step(2 * pair), step(2 * pair + 1));
            let rows = if lanes == WIDTH && steps == 2 * SIDE {
                prefetch(step(2 * pair + AHEAD));
                prefetch(step(2 * pair + 1 + AHEAD));
                (_mm512_loadu_si512(even.cast()), _mm512_loadu_si512(odd.cast()))
            } else {
                let some = |p: usize| if p < steps { mask } else { 0 };
                let odd = _mm512_maskz_loadu_epi16(some(2 * pair + 1), odd.cast());
                (_mm512_maskz_loadu_epi16(some(2 * pair), even.cast()), odd)
            };
            _mm512_storeu_si512(out.add(pair), _mm512_permutex2var_epi16(rows.0, low, rows.1));
            _mm512_storeu_si512(out.add(SIDE + pair), _mm512_permutex2var_epi16(rows.0, high, rows.1));
        }
    }
}
