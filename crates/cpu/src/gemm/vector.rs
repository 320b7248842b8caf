//! The operations on vector registers that kernels use.
//!
//! Methods are `#[inline(always)]` without target features: they compile to instructions inside a function that
//! enables the features, and to calls elsewhere.

use super::Real;

/// A register of `LANES` elements.
///
/// Every method needs the instruction set of the implementing type. Loads and stores need valid memory for the lanes that they
/// access. Masked loads and stores access the lanes of the mask, which has at least one lane but not all.
pub(super) trait Vector: Copy {
    type Scalar: Real<Sum = Self::Scalar>;
    type Mask: Copy;
    const LANES: usize;

    /// Returns a mask of the first `lanes` lanes.
    fn mask(lanes: usize) -> Self::Mask;
    unsafe fn splat(x: Self::Scalar) -> Self;
    unsafe fn load(p: *const Self::Scalar) -> Self;
    /// Loads the lanes of the mask; the others are zero.
    unsafe fn load_some(mask: Self::Mask, p: *const Self::Scalar) -> Self;
    unsafe fn store(self, p: *mut Self::Scalar);
    unsafe fn store_some(self, mask: Self::Mask, p: *mut Self::Scalar);
    unsafe fn add(self, other: Self) -> Self;
    /// Returns `self * x + sum`.
    unsafe fn mul_add(self, x: Self, sum: Self) -> Self;
    /// Returns the sum of the lanes: adds the upper half to the lower half until one lane is left.
    unsafe fn sum(self) -> Self::Scalar;
    unsafe fn zero() -> Self;
}

/// Prefetches the cache line at `p`, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(p: *const T) {
    // SAFETY: prefetching accesses no memory; SSE is part of the target.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Prefetches the cache line at an address, which need not be valid, into the second-level cache.
#[inline(always)]
pub(crate) fn prefetch_far(address: usize) {
    let p = std::ptr::without_provenance::<i8>(address);
    // SAFETY: prefetching accesses no memory; SSE is part of the target.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(p)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Prefetches the cache line at `p`, which need not be valid, for exclusive ownership.
#[inline(always)]
pub(super) fn prefetch_to_write<T>(p: *const T) {
    // SAFETY: prefetching accesses no memory, and is a no-op on processors that lack it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(p.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Elements in an array, which the compiler keeps in registers of the target.
#[derive(Clone, Copy)]
pub(super) struct Lanes<T, const N: usize>([T; N]);

macro_rules! portable {
    ($t:ty, $n:literal) => {
        impl Vector for Lanes<$t, $n> {
            type Scalar = $t;
            type Mask = usize;
            const LANES: usize = $n;

            #[inline(always)]
            fn mask(lanes: usize) -> usize {
                lanes
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                Lanes([0.0; $n])
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                Lanes([x; $n])
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller guarantees memory for all lanes.
                Lanes(unsafe { p.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_some(mask: usize, p: *const $t) -> Self {
                // SAFETY: the caller guarantees memory for the lanes below `mask`.
                Lanes(std::array::from_fn(|lane| if lane < mask { unsafe { *p.add(lane) } } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller guarantees memory for all lanes.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_some(self, mask: usize, p: *mut $t) {
                for lane in 0..mask.min($n) {
                    // SAFETY: the caller guarantees memory for the lanes below `mask`.
                    unsafe { *p.add(lane) = self.0[lane] };
                }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Lanes(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
            }
            #[inline(always)]
            unsafe fn mul_add(self, x: Self, sum: Self) -> Self {
                // If the target has no such instruction, `mul_add` is a slow library function.
                const FUSED: bool = cfg!(target_feature = "fma");
                Lanes(std::array::from_fn(|lane| match FUSED {
                    true => self.0[lane].mul_add(x.0[lane], sum.0[lane]),
                    false => self.0[lane] * x.0[lane] + sum.0[lane],
                }))
            }
            #[inline(always)]
            unsafe fn sum(mut self) -> $t {
                let mut half = $n / 2;
                while half > 0 {
                    (0..half).for_each(|lane| self.0[lane] += self.0[lane + half]);
                    half /= 2;
                }
                self.0[0]
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);

/// Implements [`Vector`] for a register type: its elements, its mask, and the instruction of each method.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! register {
    ($v:ty, $t:ty, $n:literal, $mask:ty, |$lanes:ident| $mask_of:expr, $zero:expr, $splat:ident, $load:ident,
     $load_some:expr, $store:ident, $store_some:expr, $add:ident, $fma:expr, $sum:expr) => {
        #[allow(unused_unsafe, reason = "some instructions are always available on the target")]
        impl Vector for $v {
            type Scalar = $t;
            type Mask = $mask;
            const LANES: usize = $n;

            #[inline(always)]
            fn mask($lanes: usize) -> $mask {
                $mask_of
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller guarantees the instruction set.
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                // SAFETY: the caller guarantees the instruction set.
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller guarantees the instruction set and memory for all lanes.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn load_some(mask: $mask, p: *const $t) -> Self {
                // SAFETY: the caller guarantees the instruction set and memory for the lanes of the mask.
                unsafe { $load_some(mask, p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller guarantees the instruction set and memory for all lanes.
                unsafe { $store(p, self) }
            }
            #[inline(always)]
            unsafe fn store_some(self, mask: $mask, p: *mut $t) {
                // SAFETY: the caller guarantees the instruction set and memory for the lanes of the mask.
                unsafe { $store_some(p, mask, self) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller guarantees the instruction set.
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, x: Self, sum: Self) -> Self {
                // SAFETY: the caller guarantees the instruction set.
                unsafe { $fma(self, x, sum) }
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                // SAFETY: the caller guarantees the instruction set.
                unsafe { $sum(self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    register!(
        __m512,
        f32,
        16,
        __mmask16,
        |lanes| (((1u32 << lanes) - 1) & 0xffff) as u16,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_maskz_loadu_ps,
        _mm512_storeu_ps,
        _mm512_mask_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        |v| Vector::sum(_mm256_add_ps(
            _mm512_castps512_ps256(v),
            _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(v))),
        ))
    );
    register!(
        __m512d,
        f64,
        8,
        __mmask8,
        |lanes| ((1u32 << lanes) - 1) as u8,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_maskz_loadu_pd,
        _mm512_storeu_pd,
        _mm512_mask_storeu_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd,
        |v| Vector::sum(_mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v)))
    );
    register!(
        __m256,
        f32,
        8,
        usize,
        |lanes| lanes,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        |mask, p| _mm256_maskload_ps(p, bits32(mask)),
        _mm256_storeu_ps,
        |p, mask, v| _mm256_maskstore_ps(p, bits32(mask), v),
        _mm256_add_ps,
        _mm256_fmadd_ps,
        |v| {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    );
    register!(
        __m256d,
        f64,
        4,
        usize,
        |lanes| lanes,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        |mask, p| _mm256_maskload_pd(p, bits64(mask)),
        _mm256_storeu_pd,
        |p, mask, v| _mm256_maskstore_pd(p, bits64(mask), v),
        _mm256_add_pd,
        _mm256_fmadd_pd,
        |v| {
            let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        }
    );

    /// Sets all bits of the first `lanes` lanes.
    #[inline(always)]
    unsafe fn bits32(lanes: usize) -> __m256i {
        // SAFETY: the caller guarantees AVX2.
        unsafe {
            _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
        }
    }

    #[inline(always)]
    unsafe fn bits64(lanes: usize) -> __m256i {
        // SAFETY: the caller guarantees AVX2.
        unsafe { _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes as i64), _mm256_setr_epi64x(0, 1, 2, 3)) }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::Vector;
    use std::arch::aarch64::*;

    // Computes masks with few branches. With more, the compiler does not unroll the loop over the rows of a tile, and keeps its
    // sums in memory.
    register!(
        float32x4_t,
        f32,
        4,
        usize,
        |lanes| lanes,
        || vdupq_n_f32(0.0),
        vdupq_n_f32,
        vld1q_f32,
        |mask, p: *const f32| {
            let none = vdup_n_f32(0.0);
            let low = if mask > 1 { vld1_f32(p) } else { vld1_lane_f32::<0>(p, none) };
            vcombine_f32(low, if mask > 2 { vld1_lane_f32::<0>(p.add(2), none) } else { none })
        },
        vst1q_f32,
        |p: *mut f32, mask, v| {
            if mask > 1 {
                vst1_f32(p, vget_low_f32(v))
            } else {
                vst1q_lane_f32::<0>(p, v)
            }
            if mask > 2 {
                vst1q_lane_f32::<2>(p.add(2), v);
            }
        },
        vaddq_f32,
        |a, b, sum| vfmaq_f32(sum, a, b),
        |v| vpadds_f32(vadd_f32(vget_low_f32(v), vget_high_f32(v)))
    );
    register!(
        float64x2_t,
        f64,
        2,
        usize,
        |lanes| lanes,
        || vdupq_n_f64(0.0),
        vdupq_n_f64,
        vld1q_f64,
        |_, p| vld1q_lane_f64::<0>(p, vdupq_n_f64(0.0)),
        vst1q_f64,
        |p, _, v| vst1q_lane_f64::<0>(p, v),
        vaddq_f64,
        |a, b, sum| vfmaq_f64(sum, a, b),
        vpaddd_f64
    );
}
