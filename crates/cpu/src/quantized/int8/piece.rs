//! Pieces of 128 weights as unsigned integers with scales and offsets: the common form of all formats.
//!
//! A weight is `scale · (q - shift) + offset`: the integers of formats with signed ones are shifted up, because VNNI multiplies
//! unsigned with signed integers. All functions need AVX-512, and are inlined into a caller with these target features.

#![expect(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::super::unpack::{Any, Q4_0, Q4_1, Q4K, Q6K, Q8_0};
use crate::gemm::transpose_square;
use crate::wide::half_at;
use gradus_ir::format::six_bits;
use std::arch::x86_64::*;

/// Weights of a piece.
pub(super) const PIECE: usize = 128;
/// Weights of the smallest group that has a scale, of any format.
pub(super) const RUN: usize = 16;
/// Rows whose numbers fill a register.
pub(super) const SIDE: usize = 16;
/// Runs of a piece.
pub(super) const RUNS: usize = PIECE / RUN;

/// Two registers of integers, and one of 8 scales and 8 offsets. Run `i` is at position `POSITION[i]`.
pub(super) type Piece = [__m512i; 3];

/// Reads pieces of a format.
pub(super) trait Pieces {
    /// The position in a piece of each run of elements.
    const POSITION: [usize; RUNS];
    /// True if runs `2 i` and `2 i + 1` share a scale and an offset.
    const PAIRED: bool;
    /// True if weights have offsets.
    const OFFSETS: bool;
    /// The number that was added to signed integers.
    fn shift(&self) -> i32;
    /// Piece number `at` of a row of `blocks` blocks. Weights after the end of the row are unspecified.
    ///
    /// # Safety
    /// `row` points to that many blocks, the piece is in the row, and the processor has AVX-512.
    unsafe fn piece(&mut self, row: *const u8, blocks: usize, at: usize) -> Piece;

    /// Registers of integers of a block of 16 interleaved rows, 4 if they are nibbles; 0 if rows are not interleaved.
    const REGISTERS: usize = 0;

    /// True if [`Pieces::split`] is available.
    const SPLIT: bool = false;

    /// The positions of the words that [`Pieces::split`] returns.
    const WORDS: [i32; 4] = [0, 1, 2, 3];

    /// The integers of a piece, and a word of 32 bits for each of its four blocks: a scale of 16 bits, then the offset if the
    /// format has offsets. Words of blocks after the end of the row are unspecified. Only if [`Pieces::SPLIT`]. `FULL` says
    /// that the piece has four blocks.
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
        // SAFETY: the caller's contract.
        unsafe {
            let [low, high, _] = self.piece(row, blocks, at);
            ([low, high], _mm512_setzero_si512())
        }
    }

    /// Scales and offsets of a piece of 16 rows: a register of 16 rows for each run.
    ///
    /// # Safety
    /// As for [`Pieces::piece`], for each row.
    #[inline(always)]
    unsafe fn numbers(&mut self, rows: &Lanes) -> Numbers {
        let mut square = [[0f32; SIDE]; SIDE];
        // SAFETY: the caller's contract.
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

/// Scales and offsets of each run, of 16 rows.
pub(super) type Numbers = [[__m512; RUNS]; 2];

/// Piece number `at` of 16 rows of `blocks` blocks. Lanes after `last` repeat row `last`.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) first: *const u8,
    pub(super) row_bytes: usize,
    pub(super) last: usize,
    pub(super) blocks: usize,
    pub(super) at: usize,
}

impl Lanes {
    /// The first byte of a row.
    #[inline(always)]
    pub(super) fn row(&self, lane: usize) -> *const u8 {
        self.first.wrapping_add(lane.min(self.last) * self.row_bytes)
    }
}

/// Adds the words of row `row` of four rows to `all`, in which word `block` of each row is in quarter `block`.
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

/// Scales and offsets of a piece of 16 rows from their words, a register of 16 rows for each block.
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

/// The lower half of each word as `f32`.
#[inline(always)]
unsafe fn lower(words: __m512i) -> __m512 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)) }
}

/// Runs in the order of the elements.
const NATURAL: [usize; RUNS] = [0, 1, 2, 3, 4, 5, 6, 7];
/// Low nibbles of four blocks of 32, then high nibbles.
const NIBBLES: [usize; RUNS] = [0, 4, 1, 5, 2, 6, 3, 7];
/// Low nibbles of two pairs of groups of 32, then high nibbles.
const NIBBLES_OF_64: [usize; RUNS] = [0, 1, 4, 5, 2, 3, 6, 7];

/// The low and the high nibble of each byte.
#[inline(always)]
unsafe fn nibbles(bytes: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let mask = _mm512_set1_epi8(15);
        (_mm512_and_si512(bytes, mask), _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), mask))
    }
}

/// Scales without offsets.
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
        // SAFETY: the caller's contract.
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
        // SAFETY: the caller's contract. Four blocks are 80 bytes, 20 words of 32 bits: two halves, then nibbles.
        unsafe {
            let (p, left) = (row.add(80 * at), if FULL { 4 } else { (blocks - 4 * at).min(4) });
            let there = (1u32 << (5 * left)) - 1;
            // Masks cost an instruction.
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
        // SAFETY: the caller's contract. Four blocks are 72 bytes, 36 words of 16 bits: a half, then nibbles.
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
        // SAFETY: the caller's contract.
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
        // SAFETY: the caller's contract. A block is a half and 32 signed bytes.
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
        // SAFETY: the caller's contract.
        unsafe {
            let ([low, high], words) = self.split::<false>(row, blocks, at);
            // The scale of a block, for both of its runs.
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
        // SAFETY: the caller's contract. A block of two pieces is two halves, 12 bytes of scales and offsets, and nibbles.
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
        // SAFETY: the caller's contract. A block of two pieces is 128 bytes of low bits, 64 of high bits, 16 scales and a half.
        unsafe {
            let (block, half) = (row.add(at / 2 * 210), at % 2);
            let (low, high) = nibbles(_mm512_loadu_si512(block.add(64 * half).cast()));
            let pairs = _mm512_broadcast_i64x4(_mm256_loadu_si256(block.add(128 + 32 * half).cast()));
            // Bit pairs 0 and 1 of 32 bytes, or 2 and 3, as bits 4 and 5.
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
        // Formats with offsets have unsigned integers.
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
                // SAFETY: the row has this block.
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
            // SAFETY: 64 bytes are readable; the caller guarantees AVX-512.
            unsafe { _mm512_loadu_si512(p.cast()) }
        };
        [load(q.as_ptr()), load(q[64..].as_ptr()), load(numbers.as_ptr().cast())]
    }
}
