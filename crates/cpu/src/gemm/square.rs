//! Transposes 16×16 blocks of 32-bit elements in AVX-512 registers.

use std::arch::x86_64::*;

/// Number of rows and of columns of a block.
pub(super) const SIDE: usize = 16;

/// Transposes a square.
///
/// # Safety
/// `square` points to `SIDE` readable and writable registers, and the processor has AVX-512.
#[inline(always)]
pub(crate) unsafe fn transpose(square: *mut __m512i) {
    // Four passes: interleave elements of rows, then pairs of elements, then exchange quarters of registers twice.
    // SAFETY: the caller guarantees the square and AVX-512.
    unsafe {
        let mut x = [_mm512_setzero_si512(); SIDE];
        for i in (0..SIDE).step_by(2) {
            let rows = (_mm512_loadu_si512(square.add(i)), _mm512_loadu_si512(square.add(i + 1)));
            x[i] = _mm512_unpacklo_epi32(rows.0, rows.1);
            x[i + 1] = _mm512_unpackhi_epi32(rows.0, rows.1);
        }
        let mut y = x;
        for i in (0..SIDE).step_by(4) {
            y[i] = _mm512_unpacklo_epi64(x[i], x[i + 2]);
            y[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 2]);
            y[i + 2] = _mm512_unpacklo_epi64(x[i + 1], x[i + 3]);
            y[i + 3] = _mm512_unpackhi_epi64(x[i + 1], x[i + 3]);
        }
        for i in [0, 1, 2, 3, 8, 9, 10, 11] {
            x[i] = _mm512_shuffle_i32x4::<0x88>(y[i], y[i + 4]);
            x[i + 4] = _mm512_shuffle_i32x4::<0xdd>(y[i], y[i + 4]);
        }
        for i in 0..8 {
            _mm512_storeu_si512(square.add(i), _mm512_shuffle_i32x4::<0x88>(x[i], x[i + 8]));
            _mm512_storeu_si512(square.add(i + 8), _mm512_shuffle_i32x4::<0xdd>(x[i], x[i + 8]));
        }
    }
}
