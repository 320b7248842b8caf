//! Groups of 32 numbers in vector registers, for quantised weights and for attention over a cache. Each instruction set has an
//! implementation of arithmetic and of the conversion of packed integers. `quantized/unpack.rs` defines the layout of formats.
//!
//! Methods are `#[inline(always)]` and enable no target features. They compile to vector instructions inside a function that
//! enables the features.

use half::f16;

/// Number of elements in a group. A block of every format has at least one group.
pub(crate) const GROUP: usize = 32;

/// A group of 32 weights in the form that a kernel needs: their values, or their integers, scales and offsets.
///
/// # Safety
/// The processor must have the instruction set of the implementing type, and pointers must be valid for the elements that
/// are read or written.
pub(crate) trait Unpack: Copy {
    /// A scale or an offset.
    type Splat: Copy;

    unsafe fn splat(x: f32) -> Self::Splat;
    /// Returns the `f16` at `p`.
    unsafe fn half(p: *const u8) -> Self::Splat {
        // SAFETY: the caller guarantees two readable bytes.
        unsafe { Self::splat(half_at(p)) }
    }
    /// Returns the two consecutive `f16` at `p`.
    unsafe fn halves(p: *const u8) -> (Self::Splat, Self::Splat) {
        // SAFETY: the caller guarantees four readable bytes.
        unsafe { (Self::half(p), Self::half(p.add(2))) }
    }
    /// Returns `scale · (q - CENTRE) + offset` for 16 bytes of nibbles: first the low nibbles, then the high ones. Each
    /// operation is rounded.
    unsafe fn nibbles<const CENTRE: i32>(
        p: *const u8,
        scale: Self::Splat,
        offset: Option<Self::Splat>,
    ) -> Self;
    /// Returns `scale · q + offset` for 32 signed bytes, with a scale and an offset for each half.
    unsafe fn bytes(p: *const i8, scale: [Self::Splat; 2], offset: Option<[Self::Splat; 2]>) -> Self;
}

/// Arithmetic on groups of 32 numbers. A `Splat` is one number in every lane.
///
/// # Safety
/// As for [`Unpack`].
pub(crate) trait Wide: Unpack {
    /// Largest number of rows of activations whose sums fit in the registers.
    const ROWS: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(p: *const f32) -> Self;
    unsafe fn store(self, p: *mut f32);
    /// Returns `self · x + sum`, rounded once.
    unsafe fn mul_add(self, x: Self, sum: Self) -> Self;
    /// Returns `self · x + sum` with one `x` for all.
    unsafe fn mul_add_splat(self, x: Self::Splat, sum: Self) -> Self;
    /// Returns the sum of all lanes. Adds the halves first.
    unsafe fn sum(self) -> f32;
}

/// Returns the `f16` at `p`.
///
/// # Safety
/// Two bytes are readable at `p`.
#[inline(always)]
pub(crate) unsafe fn half_at(p: *const u8) -> f32 {
    // SAFETY: the caller guarantees two readable bytes at `p`.
    unsafe { f16::from_le_bytes(p.cast::<[u8; 2]>().read()).to_f32() }
}

/// Numbers in an array, which the compiler keeps in registers of the target.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; GROUP]);

impl Unpack for Plain {
    type Splat = f32;

    #[inline(always)]
    unsafe fn splat(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    unsafe fn nibbles<const CENTRE: i32>(p: *const u8, scale: f32, offset: Option<f32>) -> Plain {
        // SAFETY: the caller guarantees 16 readable bytes.
        let b = unsafe { p.cast::<[u8; 16]>().read() };
        let q = |i: usize| i32::from(if i < 16 { b[i] & 15 } else { b[i - 16] >> 4 }) - CENTRE;
        Plain(std::array::from_fn(|i| {
            let product = scale * q(i) as f32;
            offset.map_or(product, |o| product + o)
        }))
    }
    #[inline(always)]
    unsafe fn bytes(p: *const i8, scale: [f32; 2], offset: Option<[f32; 2]>) -> Plain {
        // SAFETY: the caller guarantees 32 readable bytes.
        let q = unsafe { p.cast::<[i8; GROUP]>().read() };
        Plain(std::array::from_fn(|i| {
            let product = scale[i / 16] * f32::from(q[i]);
            offset.map_or(product, |o| product + o[i / 16])
        }))
    }
}

impl Wide for Plain {
    const ROWS: usize = 2;

    #[inline(always)]
    unsafe fn zero() -> Plain {
        Plain([0.0; GROUP])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Plain {
        // SAFETY: the caller guarantees 32 readable numbers.
        Plain(unsafe { p.cast::<[f32; GROUP]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: the caller guarantees 32 writable numbers.
        unsafe { p.cast::<[f32; GROUP]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, x: Plain, sum: Plain) -> Plain {
        Plain(std::array::from_fn(|i| self.0[i] * x.0[i] + sum.0[i]))
    }
    #[inline(always)]
    unsafe fn mul_add_splat(self, x: f32, sum: Plain) -> Plain {
        Plain(std::array::from_fn(|i| self.0[i] * x + sum.0[i]))
    }
    #[inline(always)]
    unsafe fn sum(mut self) -> f32 {
        let mut half = GROUP / 2;
        while half > 0 {
            (0..half).for_each(|i| self.0[i] += self.0[i + half]);
            half /= 2;
        }
        self.0[0]
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Unpack, Wide};
    use std::arch::x86_64::*;

    /// Two registers of AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512, __m512);

    impl Unpack for Avx512 {
        type Splat = __m512;

        #[inline(always)]
        unsafe fn splat(x: f32) -> __m512 {
            // SAFETY: the caller guarantees AVX-512.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn half(p: *const u8) -> __m512 {
            // SAFETY: the caller guarantees AVX-512 and two readable bytes.
            unsafe { _mm512_cvtph_ps(_mm256_set1_epi16(p.cast::<i16>().read_unaligned())) }
        }
        #[inline(always)]
        unsafe fn halves(p: *const u8) -> (__m512, __m512) {
            // SAFETY: the caller guarantees AVX-512 and four readable bytes.
            unsafe {
                // Even lanes hold the first number, odd lanes the second.
                let both = _mm512_cvtph_ps(_mm256_set1_epi32(p.cast::<i32>().read_unaligned()));
                (_mm512_moveldup_ps(both), _mm512_movehdup_ps(both))
            }
        }
        /// Computes the values of all 16 nibbles as a table, and looks up the low four bits of each lane in it.
        #[inline(always)]
        unsafe fn nibbles<const CENTRE: i32>(p: *const u8, scale: __m512, offset: Option<__m512>) -> Self {
            // SAFETY: the caller guarantees AVX-512 and 16 readable bytes.
            unsafe {
                let q = _mm512_setr_ps(
                    0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0,
                );
                let q = _mm512_sub_ps(q, _mm512_set1_ps(CENTRE as f32));
                let product = _mm512_mul_ps(scale, q);
                let table = offset.map_or(product, |o| _mm512_add_ps(product, o));
                let index = _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast()));
                Avx512(
                    _mm512_permutexvar_ps(index, table),
                    _mm512_permutexvar_ps(_mm512_srli_epi32::<4>(index), table),
                )
            }
        }
        #[inline(always)]
        unsafe fn bytes(p: *const i8, scale: [__m512; 2], offset: Option<[__m512; 2]>) -> Self {
            // SAFETY: the caller guarantees AVX-512 and 32 readable bytes.
            unsafe {
                let q = |p: *const i8| _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p.cast())));
                let (a, b) = (_mm512_mul_ps(scale[0], q(p)), _mm512_mul_ps(scale[1], q(p.add(16))));
                match offset {
                    Some(o) => Avx512(_mm512_add_ps(a, o[0]), _mm512_add_ps(b, o[1])),
                    None => Avx512(a, b),
                }
            }
        }
    }

    impl Wide for Avx512 {
        const ROWS: usize = 8;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller guarantees AVX-512.
            unsafe { Avx512(_mm512_setzero_ps(), _mm512_setzero_ps()) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: the caller guarantees AVX-512 and 32 readable numbers.
            unsafe { Avx512(_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(16))) }
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: the caller guarantees AVX-512 and 32 writable numbers.
            unsafe {
                _mm512_storeu_ps(p, self.0);
                _mm512_storeu_ps(p.add(16), self.1);
            }
        }
        #[inline(always)]
        unsafe fn mul_add(self, x: Self, sum: Self) -> Self {
            // SAFETY: the caller guarantees AVX-512.
            unsafe { Avx512(_mm512_fmadd_ps(self.0, x.0, sum.0), _mm512_fmadd_ps(self.1, x.1, sum.1)) }
        }
        #[inline(always)]
        unsafe fn mul_add_splat(self, x: __m512, sum: Self) -> Self {
            // SAFETY: the caller guarantees AVX-512.
            unsafe { Avx512(_mm512_fmadd_ps(self.0, x, sum.0), _mm512_fmadd_ps(self.1, x, sum.1)) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: the caller guarantees AVX-512.
            unsafe { _mm512_reduce_add_ps(_mm512_add_ps(self.0, self.1)) }
        }
    }

    /// Four registers of AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2([__m256; 4]);

    impl Unpack for Avx2 {
        type Splat = __m256;

        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            // SAFETY: the caller guarantees AVX2.
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn half(p: *const u8) -> __m256 {
            // SAFETY: the caller guarantees AVX2, F16C and two readable bytes.
            unsafe { _mm256_cvtph_ps(_mm_set1_epi16(p.cast::<i16>().read_unaligned())) }
        }
        #[inline(always)]
        unsafe fn nibbles<const CENTRE: i32>(p: *const u8, scale: __m256, offset: Option<__m256>) -> Self {
            // SAFETY: the caller guarantees AVX2 and 16 readable bytes.
            unsafe {
                let b = _mm_loadu_si128(p.cast());
                let mask = _mm_set1_epi8(15);
                let centre = _mm_set1_epi8(CENTRE as i8);
                let low = _mm_sub_epi8(_mm_and_si128(b, mask), centre);
                let high = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16::<4>(b), mask), centre);
                let parts = [low, _mm_srli_si128::<8>(low), high, _mm_srli_si128::<8>(high)];
                Avx2(parts.map(|q| {
                    let product = _mm256_mul_ps(scale, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)));
                    offset.map_or(product, |o| _mm256_add_ps(product, o))
                }))
            }
        }
        #[inline(always)]
        unsafe fn bytes(p: *const i8, scale: [__m256; 2], offset: Option<[__m256; 2]>) -> Self {
            // SAFETY: the caller guarantees AVX2 and 32 readable bytes.
            Avx2(std::array::from_fn(|i| unsafe {
                let q = _mm256_cvtepi8_epi32(_mm_loadl_epi64(p.add(8 * i).cast()));
                let product = _mm256_mul_ps(scale[i / 2], _mm256_cvtepi32_ps(q));
                offset.map_or(product, |o| _mm256_add_ps(product, o[i / 2]))
            }))
        }
    }

    impl Wide for Avx2 {
        const ROWS: usize = 2;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller guarantees AVX2.
            unsafe { Avx2([_mm256_setzero_ps(); 4]) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: the caller guarantees AVX2 and 32 readable numbers.
            Avx2([0, 8, 16, 24].map(|i| unsafe { _mm256_loadu_ps(p.add(i)) }))
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            for (i, v) in self.0.into_iter().enumerate() {
                // SAFETY: the caller guarantees AVX2 and 32 writable numbers.
                unsafe { _mm256_storeu_ps(p.add(8 * i), v) };
            }
        }
        #[inline(always)]
        unsafe fn mul_add(self, x: Self, sum: Self) -> Self {
            // SAFETY: the caller guarantees AVX2 and FMA.
            Avx2(std::array::from_fn(|i| unsafe { _mm256_fmadd_ps(self.0[i], x.0[i], sum.0[i]) }))
        }
        #[inline(always)]
        unsafe fn mul_add_splat(self, x: __m256, sum: Self) -> Self {
            // SAFETY: the caller guarantees AVX2 and FMA.
            Avx2(std::array::from_fn(|i| unsafe { _mm256_fmadd_ps(self.0[i], x, sum.0[i]) }))
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            let [a, b, c, d] = self.0;
            // SAFETY: the caller guarantees AVX2.
            unsafe {
                let all = _mm256_add_ps(_mm256_add_ps(a, c), _mm256_add_ps(b, d));
                let four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }
}
