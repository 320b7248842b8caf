//! Products of weights and activations as 8-bit integers, by the VNNI instructions of AVX-512.
//!
//! A task computes 32 outputs of all rows. It unpacks up to four pieces of the weights of these outputs into a panel, and
//! multiplies the panel with up to six rows of activations at a time. A register of the panel holds four integers of each of 16
//! outputs. Up to three rows are multiplied without a panel, and up to 16 rows with interleaved weights if there is a copy.

#![expect(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::super::unpack::{Any, Q4_0, Q4_1, Q4K, Q6K, Q8_0};
use super::super::{Rows, Weights, of_format};
use super::interleaved::{interleaved, multiply};
use super::piece::{Lanes, PIECE, Pieces, RUN, RUNS, SIDE, add_words, numbers_of_words};
use super::{BLOCK, Product, scale_of};
use crate::gemm::{Scratch, prefetch, transpose_square};
use crate::{Isa, Pool};
use gradus_ir::format::Format;
use gradus_mem::Storage;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;
use std::hint::black_box;
use std::ops::Range;

/// Number of outputs that a task computes with a panel.
const LANES: usize = 32;
/// Number of squares of 16 registers that hold a piece of 32 outputs.
const SQUARES: usize = 6;
/// Number of registers of a piece that precede those of the second 16 outputs.
const SECOND: usize = SQUARES / 2 * SIDE;
/// Number of pieces in a panel: together 24 KiB, which stay in the first-level cache.
const PIECES: usize = 4;
/// Largest number of rows that are multiplied without a panel.
const FEW: usize = 3;
/// Largest number of rows that are multiplied together: their sums fill the registers.
const MAX: usize = 6;
/// Largest number of rows that are multiplied with interleaved weights.
const INTERLEAVED: usize = 16;
/// Distance at which weights are prefetched, in rows.
const AHEAD: usize = 6;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Number of tasks per thread, if each of them has enough work.
const SHARES: usize = 3;
/// Smallest number of bytes of activations or weights per task.
const TASK: usize = 1 << 15;

/// Returns true if the processor has AVX-512 with VNNI.
pub(super) fn available() -> bool {
    Isa::best() >= Isa::Avx512 && is_x86_feature_detected!("avx512vnni")
}

/// 128 rounded activations, with their runs in the order of a piece of weights.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Activations {
    pub(super) q: [i8; PIECE],
    pub(super) scale: [f32; RUNS],
    /// The sum of the integers of each run. If runs are paired, the first run of a block has the sum of both.
    pub(super) total: [i32; RUNS],
    /// `scale · total`.
    pub(super) sum: [f32; RUNS],
}

/// Rounded activations of all rows: the pieces of the first row, then those of the second, and so on.
#[derive(Clone, Copy)]
pub(super) struct Rounded {
    data: *mut Activations,
    /// Number of pieces in a row.
    pieces: usize,
}

// SAFETY: an address alone accesses nothing. In `dot`, each task writes its own rows, and no task reads before all have been
// written.
unsafe impl Sync for Rounded {}

impl Rounded {
    pub(super) fn at(&self, row: usize, piece: usize) -> *mut Activations {
        self.data.wrapping_add(row * self.pieces + piece)
    }
}

/// # Safety
/// As for [`super::dot`], and [`available`] returns true.
pub(super) unsafe fn dot(pool: &Pool, products: &[Product]) {
    let Some(&Product { weights, rows }) = products.first() else { return };
    let pieces = weights.width.div_ceil(PIECE);
    let scratch = Scratch::take::<Activations>(rows.count * pieces);
    let x = Rounded { data: scratch.as_ptr(), pieces };
    let each = (TASK / (weights.width * size_of::<f32>())).clamp(1, rows.count);
    pool.run(rows.count.div_ceil(each), &|task| {
        let own = task * each..((task + 1) * each).min(rows.count);
        // SAFETY: the caller guarantees the activations and the instructions; the scratch memory has the pieces of every
        // row, and no two tasks have the same row.
        own.for_each(|row| unsafe { round_row(&weights, rows, x, row) });
    });
    // For more rows, panels of 32 outputs are faster than interleaved weights, although panels are unpacked from the file.
    let may_interleave = rows.count <= INTERLEAVED;
    let copy = |p: &Product| if may_interleave { interleaved(pool, &p.weights) } else { None };
    let copies: Vec<_> = products.iter().map(copy).collect();
    // All products have the same width, format and activations, so one decision holds for all.
    let few = needs_no_panel(&weights, rows) || copies.iter().all(Option::is_some);
    let side = if few { SIDE } else { LANES };
    // Numbers the outputs of all products consecutively. The outputs of each product start at a multiple of `side`.
    let total: usize = products.iter().map(|p| p.weights.rows.next_multiple_of(side)).sum();
    // With few rows, 32 outputs are too little work for a task, so a task gets more of them.
    let share = total.div_ceil(pool.threads() * SHARES).next_multiple_of(SIDE);
    let many = share.max((TASK / weights.row_bytes()).next_multiple_of(SIDE));
    let each = if few { many } else { LANES };
    pool.run(total.div_ceil(each), &|task| {
        let mut start = 0;
        for (Product { weights, rows }, copy) in products.iter().zip(&copies) {
            let (from, to) = ((task * each).max(start), (task + 1) * each);
            let own = from - start..(to.saturating_sub(start)).min(weights.rows);
            if !own.is_empty() {
                // SAFETY: the caller guarantees the memory of the product and the instructions; `x` has the rounded
                // activations, `copy` is the interleaved copy of these weights, and no two tasks have the same output.
                unsafe { outputs(weights, copy.as_ref().map(Storage::as_ptr), x, *rows, own) }
            }
            start += weights.rows.next_multiple_of(side);
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn round_row(weights: &Weights, rows: Rows, x: Rounded, row: usize) {
    // SAFETY: the caller guarantees that `row` is a row of the activations and of `x`, and AVX-512.
    unsafe {
        let from = rows.x.add(row * weights.width);
        of_format!(weights.format, |b| round_pieces(b, weights.width, from, x.at(row, 0)));
    }
}

/// Rounds a row of activations to the same integers and scales as [`round`](super::round).
///
/// # Safety
/// `x` has `width` activations, `out` has space for a piece for each 128 of them, and the processor has AVX-512.
#[inline(always)]
unsafe fn round_pieces<B: Pieces>(_: &mut B, width: usize, x: *const f32, out: *mut Activations) {
    for piece in 0..width.div_ceil(PIECE) {
        let mut a = Activations { q: [0; PIECE], scale: [0.0; RUNS], total: [0; RUNS], sum: [0.0; RUNS] };
        for block in 0..(width / BLOCK - piece * (PIECE / BLOCK)).min(PIECE / BLOCK) {
            let [first, second] = [B::POSITION[2 * block], B::POSITION[2 * block + 1]];
            // SAFETY: the caller guarantees `width` activations and AVX-512; `a.q` has 16 bytes for each run.
            unsafe {
                let from = x.add(piece * PIECE + block * BLOCK);
                let x = [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(RUN))];
                let size = |x| _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fff_ffff));
                let largest = _mm512_reduce_max_epi32(_mm512_max_epi32(size(x[0]), size(x[1])));
                let (scale, divisor) = scale_of(largest as u32);
                let most = _mm512_set1_ps(127.0);
                let least = _mm512_set1_ps(-127.0);
                let mut sums = [0; 2];
                for (half, at) in [first, second].into_iter().enumerate() {
                    let quotient = _mm512_div_ps(x[half], _mm512_set1_ps(divisor));
                    // This conversion rounds to the nearest integer, ties to even.
                    let q = _mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(quotient, most), least));
                    _mm_storeu_si128(a.q.as_mut_ptr().add(at * RUN).cast(), _mm512_cvtepi32_epi8(q));
                    sums[half] = _mm512_reduce_add_epi32(q);
                    a.scale[at] = scale;
                    a.total[at] = sums[half];
                }
                if B::PAIRED {
                    a.total[first] = sums[0] + sums[1];
                }
                a.sum[first] = scale * a.total[first] as f32;
                a.sum[second] = scale * a.total[second] as f32;
            }
        }
        // SAFETY: the caller guarantees space for a piece for each 128 activations.
        unsafe { out.add(piece).write(a) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
unsafe fn outputs(weights: &Weights, copy: Option<*mut u8>, x: Rounded, rows: Rows, own: Range<usize>) {
    // SAFETY: the caller guarantees the weights or their interleaved copy, the rounded activations, the results `own`, which no
    // other thread accesses, and VNNI.
    unsafe {
        match (copy, weights.format) {
            (Some(data), Format::Q4_0) => multiply(&Q4_0, weights, data, x, rows, own),
            (Some(data), Format::Q4_1) => multiply(&Q4_1, weights, data, x, rows, own),
            (Some(data), Format::Q8_0) => multiply(&Q8_0, weights, data, x, rows, own),
            _ => of_format!(weights.format, |b| outputs_of(b, weights, x, rows, own.clone())),
        }
    }
}

/// Returns true if rows are multiplied without a panel: there are at most [`FEW`], and 16 rows of weights have at most
/// `i32::MAX` bytes.
fn needs_no_panel(weights: &Weights, rows: Rows) -> bool {
    rows.count <= FEW && weights.row_bytes() <= i32::MAX as usize / SIDE
}

/// Computes the outputs `own` of all rows; at most 32 outputs if [`needs_no_panel`] is false.
#[inline(always)]
unsafe fn outputs_of<B: Pieces>(b: &mut B, weights: &Weights, x: Rounded, rows: Rows, own: Range<usize>) {
    if needs_no_panel(weights, rows) {
        let row_bytes = weights.row_bytes();
        for byte in (0..SIDE.min(own.len()) * row_bytes).step_by(LINE) {
            prefetch(weights.data.wrapping_add(own.start * row_bytes + byte));
        }
        for from in own.clone().step_by(SIDE) {
            // Prefetches the next 16 rows of weights, which follow in memory. Does not prefetch those of the next task, because
            // another thread may read them.
            let ahead = if from + SIDE < own.end { SIDE * row_bytes } else { 0 };
            for row in 0..rows.count {
                // SAFETY: the caller guarantees the weights, the rounded activations and the results of each row, and VNNI.
                unsafe {
                    outputs_without_panel(
                        b,
                        weights,
                        x.at(row, 0),
                        rows.y.add(row * weights.rows),
                        from,
                        ahead,
                    )
                };
            }
        }
        return;
    }
    let (first, lanes) = (own.start, own.len());
    let scratch = Scratch::take::<__m512i>(PIECES * SQUARES * SIDE);
    let panel = scratch.as_ptr::<__m512i>();
    let blocks = weights.width / BLOCK;
    // Divides the rows into tiles of nearly equal height.
    let tiles = rows.count.div_ceil(MAX);
    for from in (0..x.pieces).step_by(PIECES) {
        let pieces = PIECES.min(x.pieces - from);
        // SAFETY: the caller guarantees the weights, the rounded activations, the results `own` and VNNI; the panel has
        // space for `PIECES` pieces of 32 outputs.
        unsafe {
            fill_panel(b, weights, first..first + lanes, from..from + pieces, panel);
            for tile in 0..tiles {
                let (start, end) = (tile * rows.count / tiles, (tile + 1) * rows.count / tiles);
                let one = Tile {
                    panel,
                    blocks: (blocks - from * (PIECE / BLOCK)).min(pieces * (PIECE / BLOCK)),
                    x: x.at(start, from),
                    row: x.pieces,
                    y: rows.y.add(start * weights.rows + first),
                    outputs: weights.rows,
                    masks: [0, SIDE].map(|half| ((1u32 << lanes.saturating_sub(half).min(SIDE)) - 1) as u16),
                    shift: b.shift(),
                    add: from > 0,
                };
                match end - start {
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

/// Computes up to 16 outputs from `first` on, of one row. Computes each result by the operations of [`Tile::multiply`], in the
/// same order, so that the bits are equal. `ahead` is the distance in bytes at which weights are prefetched.
#[inline(always)]
unsafe fn outputs_without_panel<B: Pieces>(
    b: &mut B,
    weights: &Weights,
    x: *const Activations,
    y: *mut f32,
    first: usize,
    ahead: usize,
) {
    let (blocks, row_bytes) = (weights.blocks(), weights.row_bytes());
    let last = (weights.rows - first).min(SIDE) - 1;
    let shift = b.shift();
    // Block `i` is in quarter `i` of both registers of a piece, so one register can sum the products of both.
    let stacked = B::PAIRED && B::POSITION[1] == B::POSITION[0] + RUNS / 2;
    let offsets: [usize; SIDE] = std::array::from_fn(|lane| lane.min(last) * row_bytes);
    // Hides the number of groups of four lanes from the compiler. Otherwise it unrolls the loop over them and moves all
    // loads to the beginning, where they wait for each other.
    let groups = black_box(SIDE / 4);
    // SAFETY: the caller guarantees the weights, a row of rounded activations at `x`, a row of results at `y`, and VNNI.
    // Rows after the last are read as the last, and `mask` excludes their results.
    unsafe {
        let from = weights.data.add(first * row_bytes);
        let piece_bytes = row_bytes * PIECE / weights.width;
        // The first byte that has not been prefetched.
        let mut next = from.wrapping_add(ahead);
        let zero = _mm512_setzero_si512();
        let mut sum = _mm512_setzero_ps();
        for at in 0..weights.width.div_ceil(PIECE) {
            let x = &*x.add(at);
            let q =
                [_mm512_loadu_si512(x.q.as_ptr().cast()), _mm512_loadu_si512(x.q.as_ptr().add(64).cast())];
            let (mut fours, mut words) = ([[zero; 4]; 2], [zero; 4]);
            let full = 4 * at + 4 <= blocks;
            for group in 0..groups {
                let end = next.wrapping_add(4 * piece_bytes);
                while next < end {
                    prefetch(next);
                    next = next.wrapping_add(LINE);
                }
                let mut products = [[zero; 4]; 2];
                for i in 0..4 {
                    let row = from.add(offsets[4 * group + i]);
                    let integers = if B::SPLIT {
                        let (integers, own) = if full {
                            b.split::<true>(row, blocks, at)
                        } else {
                            b.split::<false>(row, blocks, at)
                        };
                        words[group] = add_words::<B>(words[group], own, i);
                        integers
                    } else {
                        let [low, high, _] = b.piece(row, blocks, at);
                        [low, high]
                    };
                    let low = _mm512_dpbusd_epi32(zero, integers[0], q[0]);
                    products[0][i] = low;
                    products[1][i] = _mm512_dpbusd_epi32(if stacked { low } else { zero }, integers[1], q[1]);
                }
                fours[1][group] = four_sums(products[1]);
                if !stacked {
                    fours[0][group] = four_sums(products[0]);
                }
            }
            let high = transpose_quarters(fours[1]);
            let low = if stacked { high } else { transpose_quarters(fours[0]) };
            let [scale, offset] = if B::SPLIT {
                numbers_of_words::<B>(transpose_quarters(words))
            } else {
                b.numbers(&Lanes { first: from, row_bytes, last, blocks, at })
            };
            let left = (weights.width / BLOCK - at * (PIECE / BLOCK)).min(PIECE / BLOCK);
            for run in (0..2 * left).step_by(if B::PAIRED { 2 } else { 1 }) {
                let at = B::POSITION[run];
                let mut integers = if at < RUNS / 2 { low[at] } else { high[at - RUNS / 2] };
                if B::PAIRED && !stacked {
                    let next = B::POSITION[run + 1];
                    let other = if next < RUNS / 2 { low[next] } else { high[next - RUNS / 2] };
                    integers = _mm512_add_epi32(integers, other);
                }
                integers = _mm512_sub_epi32(integers, _mm512_set1_epi32(shift * x.total[at]));
                if B::OFFSETS {
                    sum = _mm512_fmadd_ps(offset[at], _mm512_set1_ps(x.sum[at]), sum);
                }
                let scale = _mm512_mul_ps(scale[at], _mm512_set1_ps(x.scale[at]));
                sum = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(integers), sum);
            }
        }
        let mask = ((1u32 << (last + 1)) - 1) as u16;
        _mm512_mask_storeu_ps(y.add(first), mask, sum);
    }
}

/// Sums the quarters of four registers. Word `i` of a quarter of the result is the sum of that quarter of register `i`.
#[inline(always)]
unsafe fn four_sums([a, b, c, d]: [__m512i; 4]) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
    }
}

/// Transposes the quarters of four registers: quarter `j` of register `i` becomes quarter `i` of register `j`.
#[inline(always)]
unsafe fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let (ab, cd) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d));
        let (ab2, cd2) = (_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d));
        [
            _mm512_shuffle_i32x4::<0x88>(ab, cd),
            _mm512_shuffle_i32x4::<0xdd>(ab, cd),
            _mm512_shuffle_i32x4::<0x88>(ab2, cd2),
            _mm512_shuffle_i32x4::<0xdd>(ab2, cd2),
        ]
    }
}

/// Unpacks up to four pieces of up to 32 outputs into a panel. Each 16 outputs of a piece become three squares: the integers of
/// the first register, the integers of the second, and the scales and offsets.
#[inline(always)]
unsafe fn fill_panel<B: Pieces>(
    b: &mut B,
    weights: &Weights,
    outputs: Range<usize>,
    pieces: Range<usize>,
    panel: *mut __m512i,
) {
    let (blocks, row_bytes) = (weights.blocks(), weights.row_bytes());
    let piece_bytes = row_bytes * PIECE / weights.width;
    // SAFETY: the caller guarantees the weights, that `outputs` and `pieces` are within them, space for `PIECES` pieces of 32
    // outputs at `panel`, and AVX-512.
    unsafe {
        for (lane, output) in outputs.clone().enumerate() {
            let row = weights.data.add(output * row_bytes);
            for (i, at) in pieces.clone().enumerate() {
                // Prefetches, because rows are too far apart for the hardware prefetcher.
                let ahead = row.wrapping_add(AHEAD * row_bytes + at * piece_bytes);
                prefetch(ahead);
                prefetch(ahead.wrapping_add(LINE));
                let to = panel.add((i * SQUARES + lane / SIDE * (SQUARES / 2)) * SIDE + lane % SIDE);
                let [low, high, numbers] = b.piece(row, blocks, at);
                _mm512_store_si512(to, low);
                _mm512_store_si512(to.add(SIDE), high);
                _mm512_store_si512(to.add(2 * SIDE), numbers);
            }
        }
        let halves = outputs.len().div_ceil(SIDE);
        for i in 0..pieces.len() {
            for square in 0..SQUARES * halves / 2 {
                transpose_square(panel.add((i * SQUARES + square) * SIDE));
            }
        }
    }
}

/// A product of some rows of activations with the panel of 32 outputs.
struct Tile {
    panel: *const __m512i,
    /// Number of blocks of 32 activations that the panel covers.
    blocks: usize,
    /// The activations of the first row.
    x: *const Activations,
    /// Stride between rows of activations, in pieces.
    row: usize,
    y: *mut f32,
    /// Stride between rows of results, in elements.
    outputs: usize,
    /// For the first and the second 16 outputs, a mask of those that exist.
    masks: [u16; 2],
    /// The number that was added to signed integers to make them unsigned.
    shift: i32,
    /// If true, `y` holds the sums of earlier pieces, to which this product is added.
    add: bool,
}

impl Tile {
    /// Multiplies `R` rows with the panel.
    #[inline(always)]
    unsafe fn multiply<B: Pieces, const R: usize>(&self) {
        // The number of runs whose products are summed as integers before they are scaled.
        let together = if B::PAIRED { 2 } else { 1 };
        // SAFETY: the caller guarantees `blocks` blocks in the panel, `R` rows of activations at `x`, `R` rows of the
        // outputs in `masks` at `y`, and VNNI.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); 2]; R];
            if self.add {
                for r in 0..R {
                    let y = self.y.add(r * self.outputs);
                    sums[r][0] = _mm512_maskz_loadu_ps(self.masks[0], y);
                    sums[r][1] = _mm512_maskz_loadu_ps(self.masks[1], y.wrapping_add(SIDE));
                }
            }
            for block in 0..self.blocks {
                let piece = block / (PIECE / BLOCK);
                let squares = self.panel.add(piece * SQUARES * SIDE);
                let x = self.x.add(piece);
                let run = block % (PIECE / BLOCK) * 2;
                for group in (0..2).step_by(together) {
                    let first = B::POSITION[run + group];
                    let mut integers = [[_mm512_setzero_si512(); 2]; R];
                    for r in 0..R {
                        let total = (*x.add(r * self.row)).total[first];
                        integers[r] = [_mm512_set1_epi32(-self.shift * total); 2];
                    }
                    for k in 0..together {
                        let at = B::POSITION[run + group + k];
                        for word in at * 4..at * 4 + 4 {
                            let w = [*squares.add(word), *squares.add(SECOND + word)];
                            for r in 0..R {
                                let x = &raw const (*x.add(r * self.row)).q;
                                let x = _mm512_set1_epi32(x.cast::<i32>().add(word).read());
                                integers[r][0] = _mm512_dpbusd_epi32(integers[r][0], w[0], x);
                                integers[r][1] = _mm512_dpbusd_epi32(integers[r][1], w[1], x);
                            }
                        }
                    }
                    let numbers = squares.add(2 * SIDE + first).cast::<__m512>();
                    let scale = [*numbers, *numbers.add(SECOND)];
                    let offset = [*numbers.add(RUNS), *numbers.add(SECOND + RUNS)];
                    for r in 0..R {
                        let x = &*x.add(r * self.row);
                        let own = _mm512_set1_ps(x.scale[first]);
                        let total = _mm512_set1_ps(x.sum[first]);
                        for half in 0..2 {
                            let product = _mm512_cvtepi32_ps(integers[r][half]);
                            let mut sum = sums[r][half];
                            if B::OFFSETS {
                                sum = _mm512_fmadd_ps(offset[half], total, sum);
                            }
                            sums[r][half] = _mm512_fmadd_ps(_mm512_mul_ps(scale[half], own), product, sum);
                        }
                    }
                }
            }
            for r in 0..R {
                let y = self.y.add(r * self.outputs);
                _mm512_mask_storeu_ps(y, self.masks[0], sums[r][0]);
                _mm512_mask_storeu_ps(y.wrapping_add(SIDE), self.masks[1], sums[r][1]);
            }
        }
    }
}
