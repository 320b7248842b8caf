//! Reads weights of any format as pieces of 128 unsigned integers with scales and offsets.
//!
//! A weight is `scale · (q - shift) + offset`. In formats with signed integers, `shift` is added to each integer, because VNNI
//! multiplies unsigned with signed integers. All functions need AVX-512 and are inlined into a caller that enables it.

#![expect(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::super::unpack::{Any, Q4_0, Q4_1, Q4K, Q6K, Q8_0};
use crate::gemm::transpose_square;
use crate::wide::half_at;
use gradus_ir::format::six_bits;
use std::arch::x86_64::*;

/// Number of weights in a piece.
pub(super) const PIECE: usize = 128;
/// Number of weights in a run: the smallest group that has its own scale in any format.
pub(super) const RUN: usize = 16;
/// Number of rows whose scales fill a register.
pub(super) const SIDE: usize = 16;
/// Number of runs in a piece.
pub(super) const RUNS: usize = PIECE / RUN;

/// Two registers of integers, and one register of 8 scales and 8 offsets. Run `i` is at position `POSITION[i]` of each.
pub(super) type Piece = [__m512i; 3];

/// Reads pieces of a format.
pub(super) trait Pieces {
    /// The position of each run within a piece.
    const POSITION: [usize; RUNS];
    /// If true, runs `2 i` and `2 i + 1` share a scale and an offset.
    const PAIRED: bool;
    /// If true, weights have offsets.
    const OFFSETS: bool;
    /// Returns the number that is added to signed integers to make them unsigned; 0 if they are unsigned.
    fn shift(&self) -> i32;
    /// Returns piece number `at` of a row of `blocks` blocks. Weights after the end of the row are unspecified.
    ///
    /// # Safety
    /// `row` points to `blocks` blocks, the piece starts within the row, and the processor has AVX-512.
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece;

    /// Number of registers that hold the integers of a block of 16 interleaved rows: 4 for nibbles, 8 for bytes, 0 if the
    /// format is not interleaved.
    const REGISTERS: usize = 0;

    /// If true, [`Pieces::split`] returns words with scales and offsets.
    const SPLIT: bool = false;

    /// The position of each block's word in the register of words that [`Pieces::split`] returns.
    const WORDS: [i32; 4] = [0, 1, 2, 3];

    /// Returns the integers of a piece, and a 32-bit word for each of its four blocks. The lower half of a word is the
    /// scale, the upper half is the offset if the format has offsets. Words of blocks after the end of the row are
    /// unspecified. If `FULL` is true, the piece has four blocks. Called only if [`Pieces::SPLIT`] is true.
    ///
    /// # Safety
    /// As for [`Pieces::piece`].
    #[inline(always)]
    unsafe fn split<const FULL: bool>(
        &mut self,
        row: *const u8,
        blocks: usize,
        at: usize,
    ) -> ([__m512i; 2], __m512i) {
        // SAFETY: the caller guarantees what `piece` needs: the blocks of the row, the piece within it, and AVX-512.
        unsafe {
            let [low, high, _] = self.piece(row, blocks, at);
            ([low, high], _mm512_setzero_si512())
        }
    }

    /// Returns the scales and offsets of a piece of 16 rows. Each register holds those of one run, with a row in each lane.
    ///
    /// # Safety
    /// As for [`Pieces::piece`], for each row.
    #[inline(always)]
    unsafe fn numbers(&mut self, rows: &Lanes) -> Numbers {
        let mut square = [[0f32; SIDE]; SIDE];
        // SAFETY: the caller guarantees the blocks of each row, the piece within them, and AVX-512; `square` has the
        // numbers of 16 rows.
        unsafe {
            for (lane, to) in square.iter_mut().enumerate() {
                let [.., numbers] = self.piece(rows.row(lane), rows.blocks, rows.at);
                _mm512_storeu_si512(to.as_mut_ptr().cast(), numbers);
            }
            transpose_square(square.as_mut_ptr().cast());
            let numbers = square.as_ptr().cast::<__m512>();
            let mut result = [[_mm512_setzero_ps(); RUNS]; 2];
            for i in 0..RUNS {
                result[0][i] = _mm512_loadu_ps(numbers.add(i).cast());
                result[1][i] = _mm512_loadu_ps(numbers.add(RUNS + i).cast());
            }
            result
        }
    }
}

/// The scales, then the offsets, of each run; a register holds those of 16 rows.
pub(super) type Numbers = [[__m512; RUNS]; 2];

/// Piece number `at` of 16 rows of `blocks` blocks. A lane is a row; lanes after `last` repeat row `last`.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) first: *const u8,
    pub(super) row_bytes: usize,
    pub(super) last: usize,
    pub(super) blocks: usize,
    pub(super) at: usize,
}

impl Lanes {
    /// Returns the first byte of a row.
    #[inline(always)]
    pub(super) fn row(&self, lane: usize) -> *const u8 {
        self.first.wrapping_add(lane.min(self.last) * self.row_bytes)
    }
}

/// Inserts the words `own` of row `row`, one of four rows, into `all`. Quarter `block` of `all` holds word `block` of each row.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
pub(super) unsafe fn add_words<B: Pieces>(all: __m512i, own: __m512i, row: usize) -> __m512i {
    let order: [i32; SIDE] = std::array::from_fn(|i| match i % 4 == row {
        true => SIDE as i32 + B::WORDS[i / 4],
        false => i as i32,
    });
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_permutex2var_epi32(all, _mm512_loadu_si512(order.as_ptr().cast()), own) }
}

/// Returns the scales and offsets of a piece of 16 rows. Register `block` of `words` holds the words of that block of each row.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
pub(super) unsafe fn numbers_of_words<B: Pieces>(words: [__m512i; 4]) -> Numbers {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let mut result = [[_mm512_setzero_ps(); RUNS]; 2];
        for block in 0..4 {
            let at = B::POSITION[2 * block];
            result[0][at] = lower(words[block]);
            if B::OFFSETS {
                result[1][at] = lower(_mm512_srli_epi32::<16>(words[block]));
            }
        }
        result
    }
}

/// Converts the `f16` in the lower half of each word to `f32`.
#[inline(always)]
unsafe fn lower(words: __m512i) -> __m512 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)) }
}

/// Positions of runs in the order of their elements.
const NATURAL: [usize; RUNS] = [0, 1, 2, 3, 4, 5, 6, 7];
/// Positions of runs if a piece has the low nibbles of four blocks of 32 elements, then their high nibbles.
const NIBBLES: [usize; RUNS] = [0, 4, 1, 5, 2, 6, 3, 7];
/// Positions of runs if a piece has the low nibbles of two pairs of groups of 32 elements, then their high nibbles.
const NIBBLES_OF_64: [usize; RUNS] = [0, 1, 4, 5, 2, 3, 6, 7];

/// Returns the low and the high nibble of each byte.
#[inline(always)]
unsafe fn nibbles(bytes: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let mask = _mm512_set1_epi8(15);
        (_mm512_and_si512(bytes, mask), _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), mask))
    }
}

/// Returns a register of 8 scales and 8 offsets that are zero.
#[inline(always)]
unsafe fn scales(scale: __m256) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_castps_si512(_mm512_zextps256_ps512(scale)) }
}

impl Pieces for Q4_1 {
    const POSITION: [usize; RUNS] = NIBBLES;
    const WORDS: [i32; 4] = [0, 5, 10, 15];
    const REGISTERS: usize = 4;
    const PAIRED: bool = true;
    const OFFSETS: bool = true;
    #[inline(always)]
    fn shift(&self) -> i32 {
        0
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512.
        unsafe {
            let ([low, high], first) = self.split::<false>(row, blocks, at);
            let words = _mm512_setr_epi32(0, 5, 10, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            let words = _mm512_castsi512_si128(_mm512_permutexvar_epi32(words, first));
            let both = _mm512_castps256_ps512(_mm256_cvtph_ps(words));
            let order = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7);
            [low, high, _mm512_castps_si512(_mm512_permutexvar_ps(order, both))]
        }
    }
    const SPLIT: bool = true;
    #[inline(always)]
    unsafe fn split<const FULL: bool>(
        &mut self,
        row: *const u8,
        blocks: usize,
        at: usize,
    ) -> ([__m512i; 2], __m512i) {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512. A block is five words of
        // 32 bits: two `f16`, then nibbles. `there` masks the words after the end of the row.
        unsafe {
            let (p, left) = (row.add(80 * at), if FULL { 4 } else { (blocks - 4 * at).min(4) });
            let there = (1u32 << (5 * left)) - 1;
            // Loads of full pieces need no mask, which would cost an instruction.
            let load = |p: *const u8, there: u32| match FULL {
                true => _mm512_loadu_si512(p.cast()),
                false => _mm512_maskz_loadu_epi32(there as u16, p.cast()),
            };
            let (first, last) = (load(p, there), load(p.wrapping_add(16), there >> 4));
            let words = _mm512_setr_epi32(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 28, 29, 30, 31);
            let (low, high) = nibbles(_mm512_permutex2var_epi32(first, words, last));
            ([low, high], first)
        }
    }
}

impl Pieces for Q4_0 {
    const POSITION: [usize; RUNS] = NIBBLES;
    const REGISTERS: usize = 4;
    const PAIRED: bool = true;
    const OFFSETS: bool = false;
    #[inline(always)]
    fn shift(&self) -> i32 {
        8
    }
    const SPLIT: bool = true;
    #[inline(always)]
    unsafe fn split<const FULL: bool>(
        &mut self,
        row: *const u8,
        blocks: usize,
        at: usize,
    ) -> ([__m512i; 2], __m512i) {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512. A block is nine words of
        // 16 bits: an `f16`, then nibbles. `there` masks the words after the end of the row.
        unsafe {
            let (p, left) = (row.add(72 * at), if FULL { 4 } else { (blocks - 4 * at).min(4) });
            let there = (1u64 << (9 * left)) - 1;
            let load = |p: *const u8, there: u64| match FULL {
                true => _mm512_loadu_si512(p.cast()),
                false => _mm512_maskz_loadu_epi16(there as u32, p.cast()),
            };
            let (first, last) = (load(p, there), load(p.wrapping_add(8), there >> 4));
            let words: [u16; 32] = [
                1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 28,
                29, 30, 31, 60, 61, 62, 63,
            ];
            let words = _mm512_loadu_si512(words.as_ptr().cast());
            let (low, high) = nibbles(_mm512_permutex2var_epi16(first, words, last));
            let words = _mm512_castsi128_si512(_mm_setr_epi16(0, 0, 9, 9, 18, 18, 27, 27));
            ([low, high], _mm512_permutexvar_epi16(words, first))
        }
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512.
        unsafe {
            let ([low, high], words) = self.split::<false>(row, blocks, at);
            let order = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            let both = _mm256_cvtph_ps(_mm512_castsi512_si128(words));
            [low, high, scales(_mm256_permutevar8x32_ps(both, order))]
        }
    }
}

impl Pieces for Q8_0 {
    const POSITION: [usize; RUNS] = NATURAL;
    const REGISTERS: usize = 8;
    const PAIRED: bool = true;
    const OFFSETS: bool = false;
    #[inline(always)]
    fn shift(&self) -> i32 {
        128
    }
    const SPLIT: bool = true;
    #[inline(always)]
    unsafe fn split<const FULL: bool>(
        &mut self,
        row: *const u8,
        blocks: usize,
        at: usize,
    ) -> ([__m512i; 2], __m512i) {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512. A block is an `f16` and
        // 32 signed bytes. Blocks after the last are read as the last.
        unsafe {
            let (first, last) = (4 * at, blocks - 1);
            let p = |b: usize| row.add(34 * if FULL { first + b } else { (first + b).min(last) });
            let bytes = |b: usize| _mm256_loadu_si256(p(b).add(2).cast());
            let two = |a, b| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
            let shift = |q| _mm512_xor_si512(q, _mm512_set1_epi8(-128));
            let scale = |b: usize| i32::from(p(b).cast::<u16>().read_unaligned());
            let words = _mm_setr_epi32(scale(0), scale(1), scale(2), scale(3));
            let integers = [shift(two(bytes(0), bytes(1))), shift(two(bytes(2), bytes(3)))];
            (integers, _mm512_castsi128_si512(words))
        }
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512.
        unsafe {
            let ([low, high], words) = self.split::<false>(row, blocks, at);
            // Repeats the scale of each block for both of its runs.
            let twice = _mm_set_epi8(13, 12, 13, 12, 9, 8, 9, 8, 5, 4, 5, 4, 1, 0, 1, 0);
            let words = _mm_shuffle_epi8(_mm512_castsi512_si128(words), twice);
            [low, high, scales(_mm256_cvtph_ps(words))]
        }
    }
}

impl Pieces for Q4K {
    const POSITION: [usize; RUNS] = NIBBLES_OF_64;
    const PAIRED: bool = true;
    const OFFSETS: bool = true;
    #[inline(always)]
    fn shift(&self) -> i32 {
        0
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, _: usize, at: usize) -> Piece {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512. A block of two pieces is
        // two `f16`, 12 bytes of scales and offsets, and 128 bytes of nibbles.
        unsafe {
            let (block, half) = (row.add(at / 2 * 144), at % 2);
            let (d, least) = (half_at(block), half_at(block.add(2)));
            let packed = block.add(4).cast::<[u8; 12]>().read();
            let mut numbers = [0f32; 2 * RUNS];
            for run in 0..RUNS {
                let (scale, offset) = six_bits(&packed, 4 * half + run / 2);
                numbers[NIBBLES_OF_64[run]] = d * f32::from(scale);
                numbers[RUNS + NIBBLES_OF_64[run]] = -(least * f32::from(offset));
            }
            let (low, high) = nibbles(_mm512_loadu_si512(block.add(16 + 64 * half).cast()));
            [low, high, _mm512_loadu_si512(numbers.as_ptr().cast())]
        }
    }
}

impl Pieces for Q6K {
    const POSITION: [usize; RUNS] = NATURAL;
    const PAIRED: bool = false;
    const OFFSETS: bool = false;
    #[inline(always)]
    fn shift(&self) -> i32 {
        32
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, _: usize, at: usize) -> Piece {
        // SAFETY: the caller guarantees the blocks of the row, the piece within it, and AVX-512. A block of two pieces is
        // 128 bytes of low bits, 64 bytes of high bits, 16 scales and an `f16`.
        unsafe {
            let (block, half) = (row.add(at / 2 * 210), at % 2);
            let (low, high) = nibbles(_mm512_loadu_si512(block.add(64 * half).cast()));
            let pairs = _mm512_broadcast_i64x4(_mm256_loadu_si256(block.add(128 + 32 * half).cast()));
            // Extracts two of the four pairs of bits of each of 32 bytes, and moves each pair to bits 4 and 5.
            let top = |first: i64, second: i64| {
                let [a, b] = [first, second].map(|n| n * 0x0001_0001_0001_0001);
                let count = _mm512_setr_epi64(a, a, a, a, b, b, b, b);
                let pair = _mm512_and_si512(_mm512_srlv_epi16(pairs, count), _mm512_set1_epi8(3));
                _mm512_slli_epi16::<4>(pair)
            };
            let q = [_mm512_or_si512(low, top(0, 2)), _mm512_or_si512(high, top(4, 6))];
            let scale = _mm256_cvtepi8_epi32(_mm_loadl_epi64(block.add(192 + RUNS * half).cast()));
            let scale = _mm256_mul_ps(_mm256_set1_ps(half_at(block.add(208))), _mm256_cvtepi32_ps(scale));
            [q[0], q[1], scales(scale)]
        }
    }
}

impl Pieces for Any {
    const POSITION: [usize; RUNS] = NATURAL;
    const PAIRED: bool = false;
    const OFFSETS: bool = true;
    #[inline(always)]
    fn shift(&self) -> i32 {
        // Formats with offsets have unsigned integers, the others signed ones.
        if self.parts.has_offsets { 0 } else { 128 }
    }
    #[inline(always)]
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece {
        let (elements, bytes) = (self.format.block_elements(), self.format.block_bytes());
        let (mut q, mut numbers) = ([0u8; PIECE], [0f32; 2 * RUNS]);
        for run in 0..RUNS {
            let (block, within) = ((PIECE * at + RUN * run) / elements, (PIECE * at + RUN * run) % elements);
            if block >= blocks {
                break;
            }
            if within == 0 || run == 0 {
                // SAFETY: the caller guarantees `blocks` blocks at `row`, and `block` is below `blocks`.
                let block = unsafe { std::slice::from_raw_parts(row.add(block * bytes), bytes) };
                self.format.unpack(block, &mut self.parts);
            }
            let (parts, shift) = (&self.parts, self.shift());
            for i in 0..RUN {
                q[RUN * run + i] = (i32::from(parts.q[within + i]) + shift) as u8;
            }
            numbers[run] = parts.scales[within / parts.group];
            if parts.has_offsets {
                numbers[RUNS + run] = parts.offsets[within / parts.group];
            }
        }
        let load = |p: *const u8| {
            // SAFETY: each of the three arguments below has 64 readable bytes from `p` on; the caller guarantees AVX-512.
            unsafe { _mm512_loadu_si512(p.cast()) }
        };
        [load(q.as_ptr()), load(q[64..].as_ptr()), load(numbers.as_ptr().cast())]
    }
}
