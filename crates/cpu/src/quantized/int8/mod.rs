//! Products of quantised weights with activations that are rounded to integers of 8 bits.
//!
//! Activations are rounded in blocks of 32 that share a scale, as `quantized_dot` does in `tensor/func/quantized.rs`. With VNNI instructions the
//! products of integers are summed exactly within a block and then scaled; other processors multiply the rounded values as
//! `f32`. With VNNI, the bits of a result do not depend on the number of rows or threads.

#[cfg(target_arch = "x86_64")]
mod piece;
#[cfg(target_arch = "x86_64")]
mod vnni;

use super::{Rows, Weights};
use crate::Pool;
use crate::gemm::Scratch;

/// Activations that share a scale.
const BLOCK: usize = 32;

/// 1.5 · 2²³: adding it rounds a small `f32` to the nearest integer, which is then in the lowest bits.
const ROUND: f32 = 12_582_912.0;

/// Computes `y = round(x) · weightsᵀ`.
///
/// # Safety
/// Weights, activations and results are as large as stated, and nobody else uses the results meanwhile.
pub(crate) unsafe fn dot(pool: &Pool, weights: &Weights, rows: Rows) {
    if weights.rows == 0 || rows.count == 0 {
        return;
    }
    // SAFETY: the caller's contract; the instructions of `vnni` are available where it is called, and the scratch has a number
    // for every activation. Widths are multiples of 32, as blocks of weights are.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if vnni::available() {
            return vnni::dot(pool, weights, rows);
        }
        let rounded = Scratch::take::<f32>(rows.count * weights.width);
        for i in (0..rows.count * weights.width).step_by(BLOCK) {
            let (q, scale) = round(&*rows.x.add(i).cast::<[f32; BLOCK]>());
            for (j, q) in q.into_iter().enumerate() {
                rounded.as_ptr::<f32>().add(i + j).write(scale * f32::from(q));
            }
        }
        super::dot(pool, weights, Rows { x: rounded.as_ptr::<f32>().cast_const(), ..rows });
    }
}

/// Returns true if products are sums of integers on this processor.
#[cfg(test)]
pub(super) fn exact() -> bool {
    #[cfg(target_arch = "x86_64")]
    return vnni::available();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The nearest integers of a block, and their scale. The scale is NaN if an activation is not finite.
#[inline(always)]
fn round(x: &[f32; BLOCK]) -> ([i8; BLOCK], f32) {
    // Magnitudes are compared as bits: the order is the same, and NaN is above infinity.
    let mut largest = 0;
    for x in x {
        largest = largest.max(x.to_bits() & 0x7fff_ffff);
    }
    let largest = f32::from_bits(largest);
    let scale = if largest.is_finite() { largest / 127.0 } else { f32::NAN };
    let divisor = if scale > 0.0 { scale } else { f32::INFINITY };
    let mut q = [0; BLOCK];
    for (q, x) in q.iter_mut().zip(x) {
        // The quotient is larger than 127 only if the scale is subnormal.
        *q = ((x / divisor).clamp(-127.0, 127.0) + ROUND).to_bits() as i8;
    }
    (q, scale)
}
