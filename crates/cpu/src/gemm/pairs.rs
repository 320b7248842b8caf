//! How `bf16` are packed for tiles: as pairs along k.
//!
//! A panel has 32 lanes. Of each 32 steps it has two squares of 1 KiB, one for 16 lanes each, whose elements are pairs of
//! neighbours along k: of A with a lane in each row, of B with a pair of steps in each row. What does not exist is zero.

use super::vector::prefetch;
use half::bf16;
use std::arch::x86_64::*;

/// Lanes of a panel, and steps that are packed together.
pub(super) const WIDTH: usize = 32;
/// Lanes and pairs of steps of a square.
const SIDE: usize = 16;
/// Elements of the squares of one stretch of steps.
pub(super) const STRETCH: usize = 2 * SIDE * 2 * SIDE;

/// Fills a panel; `LANES` if its rows are lanes. Where elements lie the other way squares are turned.
///
/// # Safety
/// The elements of the source exist, `out` has room for the panel, the processor has AVX-512.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
pub(super) unsafe fn pack<const LANES: bool>(
    source: *const bf16,
    lane: isize,
    depth: isize,
    lanes: usize,
    steps: usize,
    out: *mut bf16,
) {
    for from in (0..steps).step_by(2 * SIDE) {
        let (first, count) = (source.wrapping_offset(from as isize * depth), (2 * SIDE).min(steps - from));
        for half in 0..2 {
            let first = first.wrapping_offset((half * SIDE) as isize * lane);
            let across = lanes.saturating_sub(half * SIDE).min(SIDE);
            // SAFETY: as the caller vouches; only lanes and steps that exist are read.
            unsafe {
                let out = out.add(from * WIDTH + half * SIDE * 2 * SIDE);
                let (square, by_lane) = if depth == 1 {
                    (along(first, lane, across, count), true)
                } else if lane == 1 {
                    (across_lanes(first, depth, across, count), false)
                } else {
                    (apart(first, lane, depth, across, count), true)
                };
                let square = if by_lane == LANES { square } else { turned(square) };
                for (i, row) in square.into_iter().enumerate() {
                    _mm512_storeu_si512(out.add(i * 2 * SIDE).cast(), row);
                }
            }
        }
    }
}

type Square = [__m512i; SIDE];

/// A square of lanes whose steps are neighbours.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn along(first: *const bf16, lane: isize, lanes: usize, steps: usize) -> Square {
    let mut square = [_mm512_setzero_si512(); SIDE];
    let mask = ((1u64 << steps) - 1) as u32;
    for (l, row) in square.iter_mut().enumerate().take(lanes) {
        let from = first.wrapping_offset(l as isize * lane);
        // Lanes may be far apart, where the processor does not guess that they will be read.
        prefetch(from.wrapping_add(4 * SIDE));
        // SAFETY: this lane exists, and as many steps of it.
        *row = unsafe { _mm512_maskz_loadu_epi16(mask, from.cast()) };
    }
    square
}

/// A square of pairs of steps whose lanes are neighbours.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn across_lanes(first: *const bf16, depth: isize, lanes: usize, steps: usize) -> Square {
    let mut square = [_mm512_setzero_si512(); SIDE];
    let mask = ((1u32 << lanes) - 1) as u16;
    for (pair, row) in square.iter_mut().enumerate().take(steps.div_ceil(2)) {
        let even = first.wrapping_offset(2 * pair as isize * depth);
        let odd = even.wrapping_offset(depth);
        prefetch(even.wrapping_offset(2 * SIDE as isize * depth));
        prefetch(odd.wrapping_offset(2 * SIDE as isize * depth));
        // Without the odd step of a last pair nothing of it is read.
        let beside = if 2 * pair + 1 < steps { mask } else { 0 };
        // SAFETY: these steps exist, and as many lanes of them.
        let (even, odd) = unsafe {
            (_mm256_maskz_loadu_epi16(mask, even.cast()), _mm256_maskz_loadu_epi16(beside, odd.cast()))
        };
        let odd = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(odd));
        *row = _mm512_or_si512(_mm512_cvtepu16_epi32(even), odd);
    }
    square
}

/// A square of lanes with nothing beside anything.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn apart(first: *const bf16, lane: isize, depth: isize, lanes: usize, steps: usize) -> Square {
    let mut near = [[bf16::ZERO; 2 * SIDE]; SIDE];
    for (l, near) in near.iter_mut().enumerate().take(lanes) {
        for (p, near) in near.iter_mut().enumerate().take(steps) {
            // SAFETY: this lane and step exist.
            *near = unsafe { *first.offset(l as isize * lane + p as isize * depth) };
        }
    }
    // SAFETY: all of it is there.
    unsafe { along(near.as_ptr().cast(), 2 * SIDE as isize, SIDE, 2 * SIDE) }
}

/// Rows as columns.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
fn turned(mut x: Square) -> Square {
    // Pairs of rows, then of pairs, then of quarters of registers, twice: each time half of what is not in place is.
    for i in (0..SIDE).step_by(2) {
        (x[i], x[i + 1]) = (_mm512_unpacklo_epi32(x[i], x[i + 1]), _mm512_unpackhi_epi32(x[i], x[i + 1]));
    }
    let mut y = x;
    for i in (0..SIDE).step_by(4) {
        y[i] = _mm512_unpacklo_epi64(x[i], x[i + 2]);
        y[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 2]);
        y[i + 2] = _mm512_unpacklo_epi64(x[i + 1], x[i + 3]);
        y[i + 3] = _mm512_unpackhi_epi64(x[i + 1], x[i + 3]);
    }
    for i in 0..4 {
        for j in [0, 8] {
            x[j + i] = _mm512_shuffle_i32x4::<0x88>(y[j + i], y[j + i + 4]);
            x[j + i + 4] = _mm512_shuffle_i32x4::<0xdd>(y[j + i], y[j + i + 4]);
        }
    }
    for i in 0..8 {
        y[i] = _mm512_shuffle_i32x4::<0x88>(x[i], x[i + 8]);
        y[i + 8] = _mm512_shuffle_i32x4::<0xdd>(x[i], x[i + 8]);
    }
    y
}
