//! Products of quantised weights with activations that are rounded to integers of 8 bits.
//!
//! Activations are rounded in blocks of 32 that share a scale, as `quantized_dot` does in `tensor/func/quantized.rs`. Products of
//! integers are summed exactly within a block and then scaled. The bits of a result do not depend on the number of rows or
//! threads.

#[cfg(target_arch = "x86_64")]
mod interleaved;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod piece;
#[cfg(target_arch = "x86_64")]
mod vnni;

use super::{Rows, Weights};
use crate::{Isa, Pool};

/// Activations that share a scale.
const BLOCK: usize = 32;

/// 1.5 · 2²³: adding it rounds a small `f32` to the nearest integer, which is then in the lowest bits.
const ROUND: f32 = 12_582_912.0;

/// A matrix of weights, the activations that it is multiplied with, and the results.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub(crate) weights: Weights,
    pub(crate) rows: Rows,
}

/// Computes `y = round(x) · weightsᵀ` of products with the same activations, whose weights have the same width and format.
/// Activations are rounded once.
///
/// # Safety
/// Weights, activations and results are as large as stated, and nobody else uses the results meanwhile. Results of different
/// products do not overlap.
pub(crate) unsafe fn dot(pool: &Pool, products: &[Product]) {
    let Some(Product { rows, .. }) = products.first() else { return };
    if rows.count == 0 {
        return;
    }
    debug_assert!(products.iter().all(|p| p.is_sibling(&products[0])), "products share activations");
    // SAFETY: the caller's contract; the instructions of `vnni` are available where it is called. Widths are multiples of 32,
    // as blocks of weights are.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if vnni::available() {
            return vnni::dot(pool, products);
        }
        lanes::dot(pool, products, Isa::best());
    }
}

/// As [`dot`], on a lesser instruction set without VNNI.
#[cfg(test)]
pub(super) unsafe fn dot_with(pool: &Pool, products: &[Product], isa: Isa) {
    // SAFETY: the caller's contract.
    unsafe { lanes::dot(pool, products, isa) }
}

/// Returns true if this processor copies weights of a format in files to another order.
#[cfg(test)]
pub(super) fn has_order_of_its_own(format: gradus_ir::format::Format) -> bool {
    #[cfg(target_arch = "x86_64")]
    return vnni::available() && interleaved::layout(format).is_some();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

impl Product {
    /// Returns true if both products have the same activations, and weights of the same width and format.
    fn is_sibling(&self, other: &Product) -> bool {
        let (own, their) = (&self.weights, &other.weights);
        let same_weights = own.format == their.format && own.width == their.width;
        same_weights && self.rows.x == other.rows.x && self.rows.count == other.rows.count
    }
}

/// The scale of a block and the number to divide by, from the bits of its largest magnitude. The scale is NaN if an
/// activation is not finite.
#[inline(always)]
fn scale_of(largest: u32) -> (f32, f32) {
    let largest = f32::from_bits(largest);
    let scale = if largest.is_finite() { largest / 127.0 } else { f32::NAN };
    (scale, if scale > 0.0 { scale } else { f32::INFINITY })
}

/// The nearest integers of a block, and their scale.
#[inline(always)]
fn round(x: &[f32; BLOCK]) -> ([i8; BLOCK], f32) {
    // Magnitudes are compared as bits: the order is the same, and NaN is above infinity.
    let mut largest = 0;
    for x in x {
        largest = largest.max(x.to_bits() & 0x7fff_ffff);
    }
    let (scale, divisor) = scale_of(largest);
    let mut q = [0; BLOCK];
    for (q, x) in q.iter_mut().zip(x) {
        // The quotient is larger than 127 only if the scale is subnormal.
        *q = ((x / divisor).clamp(-127.0, 127.0) + ROUND).to_bits() as i8;
    }
    (q, scale)
}
