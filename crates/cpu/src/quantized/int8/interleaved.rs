//! Copies the weights of a mapped file so that 16 rows are interleaved, and multiplies such copies with activations.
//!
//! In a copy, block `k` of 16 rows is stored as 16 scales, then 16 offsets if the format has them, then the integers of the 16
//! blocks. Each register of integers holds four integers of every row. A product therefore reads memory once, from beginning
//! to end, and does not transpose the sums of the 16 rows. A copy is as large as the weights in the file, whose pages are
//! released after the copy.

#![expect(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::super::{Rows, Weights};
use super::BLOCK;
use super::piece::{PIECE, Pieces, SIDE};
use super::vnni::Rounded;
use crate::Pool;
use crate::elements::Elements;
use crate::gemm::prefetch;
use gradus_ir::format::Format;
use gradus_mem::Storage;
use std::arch::x86_64::*;
use std::ops::Range;

/// Largest number of rows of activations that are multiplied together: their sums fill the registers.
pub(super) const MAX: usize = 8;
/// Distance in bytes at which weights are prefetched.
const AHEAD: usize = 4096;
/// Bytes of weights that one task copies.
const TASK: usize = 1 << 18;
/// Bytes of a register.
const REGISTER: usize = 64;

/// Returns the bytes before the integers of a block, and the number of registers that hold the integers of one block of 16
/// rows. Returns `None` if weights of this format are not interleaved.
pub(super) fn layout(format: Format) -> Option<(usize, usize)> {
    match format {
        Format::Q4_0 => Some((2, 4)),
        Format::Q4_1 => Some((4, 4)),
        Format::Q8_0 => Some((2, 8)),
        _ => None,
    }
}

/// Returns the interleaved copy of weights, which is made at the first call. Returns `None` if the weights are not in a mapped
/// file, or their format, their number of rows or the processor does not allow a copy.
pub(super) fn interleaved(pool: &Pool, weights: &Weights) -> Option<Storage> {
    let (head, registers) = layout(weights.format)?;
    if !weights.rows.is_multiple_of(SIDE) || !super::vnni::available() {
        return None;
    }
    let bytes = std::ptr::slice_from_raw_parts(weights.data, weights.rows * weights.row_bytes());
    let kind = [weights.format as usize, weights.rows, weights.width];
    // SAFETY: `rearranged` gives memory for as many bytes as `weights` has.
    gradus_mem::rearranged(bytes, kind, |to| unsafe {
        interleave(pool, weights, (head, registers), to.as_ptr())
    })
}

/// Copies weights in interleaved order, with the [`layout`] of their format. The number of rows is a multiple of 16.
///
/// # Safety
/// `to` has space for the bytes of all rows, which no other thread accesses.
unsafe fn interleave(pool: &Pool, weights: &Weights, (head, registers): (usize, usize), to: *mut u8) {
    let (blocks, row_bytes, block_bytes) =
        (weights.blocks(), weights.row_bytes(), weights.format.block_bytes());
    // Flipping the highest bit of a signed byte adds 128, which makes it unsigned.
    let flip = if registers == 8 { 0x8080_8080u32 } else { 0 };
    let to = Elements(to);
    let each = (TASK / (SIDE * row_bytes).max(1)).max(1);
    let groups = weights.rows / SIDE;
    pool.run(groups.div_ceil(each), &|task| {
        for group in task * each..((task + 1) * each).min(groups) {
            for block in 0..blocks {
                let to = to.at((group * blocks + block) * SIDE * block_bytes);
                for lane in 0..SIDE {
                    // SAFETY: `group`, `lane` and `block` are below their counts, so the block is within the weights and
                    // the copy. No two tasks have the same group of rows.
                    unsafe {
                        let from = weights.data.add((group * SIDE + lane) * row_bytes + block * block_bytes);
                        for number in 0..head / 2 {
                            let half = from.cast::<u16>().add(number).read_unaligned();
                            to.cast::<u16>().add(number * SIDE + lane).write(half);
                        }
                        for register in 0..registers {
                            let four = from.add(head).cast::<u32>().add(register).read_unaligned();
                            let to = to.add(head * SIDE).cast::<u32>();
                            to.add(register * SIDE + lane).write(four ^ flip);
                        }
                    }
                }
            }
        }
    });
}

/// Computes the outputs `own` of all rows. `own` begins at a multiple of 16.
///
/// # Safety
/// `data` points to the interleaved copy of `weights`. `x` and `rows` point to memory for `rows.count` rows of the width
/// and the number of outputs of `weights`, and no other thread accesses the outputs `own`. The processor has VNNI.
#[inline(always)]
pub(super) unsafe fn multiply<B: Pieces>(
    b: &B,
    weights: &Weights,
    data: *const u8,
    x: Rounded,
    rows: Rows,
    own: Range<usize>,
) {
    let bytes = SIDE * weights.row_bytes();
    let tiles = rows.count.div_ceil(MAX);
    for first in own.step_by(SIDE) {
        for tile in 0..tiles {
            let (start, end) = (tile * rows.count / tiles, (tile + 1) * rows.count / tiles);
            let one = Group {
                data: data.wrapping_add(first / SIDE * bytes),
                blocks: weights.blocks(),
                shift: b.shift(),
                x,
                row: start,
                y: rows.y.wrapping_add(start * weights.rows + first),
                outputs: weights.rows,
            };
            // SAFETY: the caller guarantees the memory of the copy, the activations and the results, and VNNI; `start..end` is
            // within the rows.
            unsafe {
                match end - start {
                    8 => one.multiply::<B, 8>(),
                    7 => one.multiply::<B, 7>(),
                    6 => one.multiply::<B, 6>(),
                    5 => one.multiply::<B, 5>(),
                    4 => one.multiply::<B, 4>(),
                    3 => one.multiply::<B, 3>(),
                    2 => one.multiply::<B, 2>(),
                    _ => one.multiply::<B, 1>(),
                }
            }
        }
    }
}

/// A product of some rows of activations with 16 interleaved rows of weights.
struct Group {
    /// The first block of the 16 rows.
    data: *const u8,
    blocks: usize,
    /// The number that was added to signed integers to make them unsigned.
    shift: i32,
    x: Rounded,
    /// The first row of activations.
    row: usize,
    y: *mut f32,
    /// Stride between rows of results, in elements.
    outputs: usize,
}

impl Group {
    /// Multiplies `R` rows of activations. Computes each result by the operations of `Tile::multiply`, in the same order,
    /// so that the bits are equal.
    #[inline(always)]
    unsafe fn multiply<B: Pieces, const R: usize>(&self) {
        let head = if B::OFFSETS { 4 } else { 2 };
        let bytes = SIDE * head + REGISTER * B::REGISTERS;
        // SAFETY: the caller guarantees `blocks` blocks at `data`, `R` rows of activations from `row` on, `R` rows of 16
        // results at `y`, and VNNI.
        unsafe {
            let mut sums = [_mm512_setzero_ps(); R];
            for block in 0..self.blocks {
                let at = self.data.add(block * bytes);
                for line in (0..bytes).step_by(REGISTER) {
                    prefetch(at.wrapping_add(AHEAD + line));
                }
                let numbers = |i: usize| _mm512_cvtph_ps(_mm256_loadu_si256(at.add(2 * SIDE * i).cast()));
                let scale = numbers(0);
                let offset = if B::OFFSETS { numbers(1) } else { scale };
                let integers = |i: usize| _mm512_loadu_si512(at.add(SIDE * head + REGISTER * i).cast());
                let mut w = [_mm512_setzero_si512(); 8];
                for i in 0..4 {
                    if B::REGISTERS == 4 {
                        let (mask, both) = (_mm512_set1_epi8(15), integers(i));
                        w[i] = _mm512_and_si512(both, mask);
                        w[4 + i] = _mm512_and_si512(_mm512_srli_epi16::<4>(both), mask);
                    } else {
                        w[i] = integers(i);
                        w[4 + i] = integers(4 + i);
                    }
                }
                let (piece, run) = (block / (PIECE / BLOCK), block % (PIECE / BLOCK) * 2);
                let [low, high] = [B::POSITION[run], B::POSITION[run + 1]];
                for r in 0..R {
                    let x = &*self.x.at(self.row + r, piece);
                    let q = x.q.as_ptr().cast::<i32>();
                    let mut sum = _mm512_set1_epi32(-self.shift * x.total[low]);
                    for i in 0..4 {
                        sum = _mm512_dpbusd_epi32(sum, w[i], _mm512_set1_epi32(q.add(4 * low + i).read()));
                    }
                    for i in 0..4 {
                        sum =
                            _mm512_dpbusd_epi32(sum, w[4 + i], _mm512_set1_epi32(q.add(4 * high + i).read()));
                    }
                    if B::OFFSETS {
                        sums[r] = _mm512_fmadd_ps(offset, _mm512_set1_ps(x.sum[low]), sums[r]);
                    }
                    let scale = _mm512_mul_ps(scale, _mm512_set1_ps(x.scale[low]));
                    sums[r] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum), sums[r]);
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                _mm512_storeu_ps(self.y.add(r * self.outputs), sum);
            }
        }
    }
}
