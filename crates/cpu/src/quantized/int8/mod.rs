//! Products of quantised weights with activations that are rounded to 8-bit integers.
//!
//! Activations are rounded in blocks of 32 that share a scale, as `quantized_dot` in `tensor/func/quantized.rs` defines it.
//! Products of integers are summed exactly within a block and then scaled. The bits of a result do not depend on the number
//! of rows or threads.

#[cfg(target_arch = "x86_64")]
mod interleaved;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod piece;
#[cfg(target_arch = "x86_64")]
mod vnni;

use super::{Rows, Weights};
use crate::{Isa, Pool};

/// Number of consecutive activations that share a scale.
const BLOCK: usize = 32;

/// 1.5 · 2²³. Adding it to an `f32` of small magnitude rounds that number to an integer and leaves the integer in the lowest
/// bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// A matrix of weights, the activations that it is multiplied with, and the results.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub(crate) weights: Weights,
    pub(crate) rows: Rows,
}

/// Computes `y = round(x) · weightsᵀ` for each product. All products have the same activations, which are rounded once, and
/// weights of the same width and format.
///
/// # Safety
/// Each product has weights, activations and space for results of the sizes in its [`Weights`] and [`Rows`]. During the call no
/// other thread accesses the results. Results of different products do not overlap.
pub(crate) unsafe fn dot(pool: &Pool, products: &[Product]) {
    let Some(Product { rows, .. }) = products.first() else { return };
    if rows.count == 0 {
        return;
    }
    debug_assert!(products.iter().all(|p| p.is_sibling(&products[0])), "products share activations");
    // SAFETY: the caller guarantees the memory of each product. `vnni` is called only if the processor has its
    // instructions, and `Isa::best` is a set that the processor has. Widths are multiples of 32, because the blocks of
    // every format are.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if vnni::available() {
            return vnni::dot(pool, products);
        }
        lanes::dot(pool, products, Isa::best());
    }
}

/// As [`dot`], but without VNNI and on the given instruction set.
#[cfg(test)]
pub(super) unsafe fn dot_with(pool: &Pool, products: &[Product], isa: Isa) {
    // SAFETY: the caller guarantees the memory of each product, as for `dot`.
    unsafe { lanes::dot(pool, products, isa) }
}

/// Returns true if weights of this format in mapped files are copied in interleaved order on this processor.
#[cfg(test)]
pub(super) fn has_interleaved_copy(format: gradus_ir::format::Format) -> bool {
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

/// Returns the scale of a block and the number to divide its activations by. Takes the bits of the largest magnitude. The scale
/// is NaN if an activation is not finite.
#[inline(always)]
fn scale_of(largest: u32) -> (f32, f32) {
    let largest = f32::from_bits(largest);
    let scale = if largest.is_finite() { largest / 127.0 } else { f32::NAN };
    (scale, if scale > 0.0 { scale } else { f32::INFINITY })
}

/// Rounds a block to integers. Returns the integers and their scale.
#[inline(always)]
fn round(x: &[f32; BLOCK]) -> ([i8; BLOCK], f32) {
    // Compares the bits of magnitudes. They have the order of the magnitudes, and those of NaN are above those of infinity.
    let mut largest = 0;
    for x in x {
        largest = largest.max(x.to_bits() & 0x7fff_ffff);
    }
    let (scale, divisor) = scale_of(largest);
    let mut q = [0; BLOCK];
    for (q, x) in q.iter_mut().zip(x) {
        // Clamped, because the quotient exceeds 127 if the scale is subnormal.
        *q = ((x / divisor).clamp(-127.0, 127.0) + ROUND).to_bits() as i8;
    }
    (q, scale)
}
