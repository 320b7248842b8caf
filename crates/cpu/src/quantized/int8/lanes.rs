//! Products of weights and activations as 8-bit integers, on processors without VNNI.
//!
//! Each row of weights is unpacked to bytes once, and multiplied with up to four rows of activations at a time. Within a block,
//! eight lanes sum products of integers exactly. After the block, each lane is scaled and added to its `f32` sum.

#![expect(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::super::unpack::{Any, Blocks, Q4_0, Q4_1, Q4K, Q6K, Q8_0};
use super::super::{Rows, TASK, Weights, of_format};
use super::{BLOCK, Product, round};
use crate::elements::Elements;
use crate::gemm::Scratch;
use crate::wide::Unpack;
use crate::{Isa, Pool};
use gradus_ir::format::Format;

/// Largest number of rows of activations that are multiplied together.
const MAX: usize = 4;
/// Number of lanes in which a product is summed.
const LANES: usize = 8;

/// 32 activations or weights as integers. The two halves of 16 may have different scales and offsets.
#[derive(Clone, Copy)]
struct Group {
    q: [i8; BLOCK],
    /// The scale of each half.
    scale: [f32; 2],
    /// For weights: the offset of each half. For activations: `scale` times the sum of the integers of each half.
    offset: [f32; 2],
}

impl Unpack for Group {
    type Splat = f32;

    #[inline(always)]
    unsafe fn splat(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    unsafe fn nibbles<const CENTRE: i32>(p: *const u8, scale: f32, offset: Option<f32>) -> Group {
        // SAFETY: the caller guarantees 16 readable bytes.
        let b = unsafe { p.cast::<[u8; 16]>().read() };
        let mut q = [0; BLOCK];
        for i in 0..16 {
            q[i] = (b[i] & 15) as i8 - CENTRE as i8;
            q[16 + i] = (b[i] >> 4) as i8 - CENTRE as i8;
        }
        Group { q, scale: [scale; 2], offset: [offset.unwrap_or(0.0); 2] }
    }
    #[inline(always)]
    unsafe fn bytes(p: *const i8, scale: [f32; 2], offset: Option<[f32; 2]>) -> Group {
        // SAFETY: the caller guarantees 32 readable bytes.
        let q = unsafe { p.cast::<[i8; BLOCK]>().read() };
        Group { q, scale, offset: offset.unwrap_or_default() }
    }
}

impl Group {
    /// Rounds a block of activations.
    fn of_activations(x: &[f32; BLOCK]) -> Group {
        let (q, scale) = round(x);
        let total = |half: usize| q[16 * half..][..16].iter().map(|q| i32::from(*q)).sum::<i32>() as f32;
        Group { q, scale: [scale; 2], offset: [scale * total(0), scale * total(1)] }
    }
}

/// A register of eight `f32` sums.
///
/// # Safety
/// The processor must have the instruction set of the implementing type.
trait Lanes: Copy {
    unsafe fn zero() -> Self;
    /// Adds the products of the integers of two groups: four products to each lane, times both scales of their half.
    unsafe fn add(self, x: &Group, w: &Group) -> Self;
    /// Returns the sum of all lanes.
    unsafe fn sum(self) -> f32;
}

/// Sums in an array, for any processor.
#[derive(Clone, Copy)]
struct Plain([f32; LANES]);

impl Lanes for Plain {
    #[inline(always)]
    unsafe fn zero() -> Plain {
        Plain([0.0; LANES])
    }
    #[inline(always)]
    unsafe fn add(mut self, x: &Group, w: &Group) -> Plain {
        for half in 0..2 {
            let mut sums = [0i32; LANES / 2];
            // Each product fits in 16 bits.
            for i in 0..16 {
                sums[i % 4] += i32::from(i16::from(x.q[16 * half + i]) * i16::from(w.q[16 * half + i]));
            }
            let scale = x.scale[half] * w.scale[half];
            for i in 0..4 {
                self.0[4 * half + i] += scale * sums[i] as f32;
            }
        }
        self
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}

#[cfg(target_arch = "x86_64")]
use x86::Avx2;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Group, Lanes};
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(super) struct Avx2(__m256);

    impl Lanes for Avx2 {
        #[inline(always)]
        unsafe fn zero() -> Avx2 {
            // SAFETY: the caller guarantees AVX2.
            Avx2(unsafe { _mm256_setzero_ps() })
        }
        #[inline(always)]
        unsafe fn add(self, x: &Group, w: &Group) -> Avx2 {
            // SAFETY: the caller guarantees AVX2 and FMA; a group has 32 bytes.
            unsafe {
                let [a, b] = [x, w].map(|g| _mm256_loadu_si256(g.q.as_ptr().cast()));
                // The instruction multiplies unsigned with signed integers, so the sign of `b` is moved to `a`. Sums of two
                // products fit in 16 bits, because the magnitudes of activations are at most 127, those of weights at most 128.
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(a, b));
                let fours = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                let [low, high] = [0, 1].map(|i| _mm_set1_ps(x.scale[i] * w.scale[i]));
                Avx2(_mm256_fmadd_ps(_mm256_set_m128(high, low), fours, self.0))
            }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: the caller guarantees AVX2.
            unsafe {
                let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }
}

/// Computes products as [`super::dot`] does.
///
/// # Safety
/// As for [`super::dot`].
pub(super) unsafe fn dot(pool: &Pool, products: &[Product], isa: Isa) {
    let Some(Product { weights, rows }) = products.first() else { return };
    let groups = weights.width / BLOCK;
    let scratch = Scratch::take::<Group>(rows.count * groups);
    let x = Elements(scratch.as_ptr::<Group>());
    let each = (TASK / (weights.width * size_of::<f32>())).clamp(1, rows.count);
    pool.run(rows.count.div_ceil(each), &|task| {
        for i in task * each * groups..((task + 1) * each).min(rows.count) * groups {
            // SAFETY: the caller guarantees `rows.count` rows of activations, and widths are multiples of `BLOCK`. The scratch
            // memory has a group for each block, and no two tasks have the same row.
            unsafe { x.at(i).write(Group::of_activations(&*rows.x.add(i * BLOCK).cast())) };
        }
    });
    let outputs = match isa.clamped() {
        #[cfg(target_arch = "x86_64")]
        isa if isa >= Isa::Avx2 => outputs_avx2,
        _ => outputs_plain,
    };
    for Product { weights, rows } in products {
        let each = (TASK / (weights.row_bytes() * rows.count).max(1)).clamp(1, weights.rows.max(1));
        pool.run(weights.rows.div_ceil(each), &|task| {
            let own = task * each..((task + 1) * each).min(weights.rows);
            // SAFETY: the caller guarantees the memory of the product; `x` has the groups of all rows. No two tasks have the
            // same output, and the processor has the instructions of a clamped `isa`.
            own.for_each(|output| unsafe { outputs(weights, x.at(0), *rows, output) });
        });
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn outputs_avx2(weights: &Weights, x: *const Group, rows: Rows, output: usize) {
    // SAFETY: the caller guarantees the weights, the groups of the activations, space for the results, and AVX2, FMA and F16C.
    unsafe { of_format!(weights.format, |b| output_of::<Avx2, _>(b, weights, x, rows, output)) }
}

unsafe fn outputs_plain(weights: &Weights, x: *const Group, rows: Rows, output: usize) {
    // SAFETY: the caller guarantees the weights, the groups of the activations and space for the results.
    unsafe { of_format!(weights.format, |b| output_of::<Plain, _>(b, weights, x, rows, output)) }
}

/// Computes one output of all rows.
#[inline(always)]
unsafe fn output_of<L: Lanes, B: Blocks>(
    b: &mut B,
    weights: &Weights,
    x: *const Group,
    rows: Rows,
    output: usize,
) {
    let groups = weights.width / BLOCK;
    let scratch = Scratch::take::<Group>(groups);
    let w = scratch.as_ptr::<Group>();
    let each = weights.format.block_elements() / BLOCK;
    // SAFETY: the caller guarantees the weights, the groups of the activations and space for the results; the scratch
    // memory has a group for each block of 32 weights of a row.
    unsafe {
        let row = weights.data.add(output * weights.row_bytes());
        for k in 0..weights.blocks() {
            let to = w.add(k * each);
            b.each::<Group>(row.add(k * weights.format.block_bytes()), |j, group| to.add(j).write(group));
        }
        let mut row = 0;
        while row < rows.count {
            let (x, y) = (x.add(row * groups), rows.y.add(row * weights.rows + output));
            row += match rows.count - row {
                MAX.. => dot_rows::<L, MAX>(w, x, y, groups, weights.rows),
                2.. => dot_rows::<L, 2>(w, x, y, groups, weights.rows),
                _ => dot_rows::<L, 1>(w, x, y, groups, weights.rows),
            };
        }
    }
}

/// Computes one output of `R` rows. Returns `R`.
#[inline(always)]
unsafe fn dot_rows<L: Lanes, const R: usize>(
    w: *const Group,
    x: *const Group,
    y: *mut f32,
    groups: usize,
    outputs: usize,
) -> usize {
    // SAFETY: the caller guarantees `groups` groups at `w`, `R` rows of them at `x`, and a result in each of `R` rows at `y`.
    unsafe {
        let (mut sums, mut offsets) = ([L::zero(); R], [0f32; R]);
        for group in 0..groups {
            let w = &*w.add(group);
            for r in 0..R {
                let x = &*x.add(r * groups + group);
                sums[r] = sums[r].add(x, w);
                offsets[r] += w.offset[0] * x.offset[0] + w.offset[1] * x.offset[1];
            }
        }
        for r in 0..R {
            y.add(r * outputs).write(sums[r].sum() + offsets[r]);
        }
    }
    R
}
