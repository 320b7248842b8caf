//! Computes convolutions as sums of shifted products. The weights at each position of the window are multiplied with
//! the entire operand, and the products are added at their output positions. Writes neither patches nor padding to
//! memory.

use super::spread::Axis;
use std::ops::AddAssign;

/// Returns true if a convolution along these axes has strides and base dilations of 1, and an operand no larger than
/// the result.
pub(super) fn fits(axes: &[Axis]) -> bool {
    axes.iter().all(|a| a.stride == 1 && a.base == 1 && a.extent <= a.positions)
}

/// Transposes the windows `[outputs, channels, window]` of a group to `[window, outputs, channels]`.
pub(super) fn transpose_windows<T: Copy>(
    w: &[T],
    (outputs, channels, window): (usize, usize, usize),
    to: &mut [T],
) {
    for (k, to) in to.chunks_exact_mut(outputs * channels).enumerate() {
        for (i, to) in to.iter_mut().enumerate() {
            *to = w[i * window + k];
        }
    }
}

/// Adds the products `[window, outputs, space]` into `[outputs, positions]`.
pub(super) fn sum<T: Copy + Default + AddAssign>(
    products: &[T],
    axes: &[Axis],
    (window, outputs): (usize, usize),
    out: &mut [T],
) {
    out.fill(T::default());
    let space: usize = axes.iter().map(|a| a.extent).product();
    let positions: usize = axes.iter().map(|a| a.positions).product();
    for (o, out) in out.chunks_exact_mut(positions).enumerate() {
        for k in 0..window {
            add(&products[(k * outputs + o) * space..][..space], axes, k, out);
        }
    }
}

/// Adds the products of the weights at position `k` of the window to the result.
fn add<T: Copy + AddAssign>(product: &[T], axes: &[Axis], k: usize, out: &mut [T]) {
    let Some((axis, inner)) = axes.split_first() else {
        if let (Some(to), Some(x)) = (out.first_mut(), product.first()) {
            *to += *x;
        }
        return;
    };
    let below: usize = inner.iter().map(|a| a.window).product();
    // Output position `p` reads element `p + shift` of the operand.
    let shift = (k / below) as i64 * axis.dilation - axis.low;
    let (from, to) = ((-shift).max(0), (axis.positions as i64).min(axis.extent as i64 - shift));
    if from >= to {
        return;
    }
    let (from, to) = (from as usize, to as usize);
    let first = (from as i64 + shift) as usize;
    if inner.is_empty() {
        return out[from..to].iter_mut().zip(&product[first..]).for_each(|(to, x)| *to += *x);
    }
    let (space, positions) =
        (inner.iter().map(|a| a.extent).product(), inner.iter().map(|a| a.positions).product::<usize>());
    let rows = product[first * space..].chunks_exact(space);
    for (to, x) in out[from * positions..to * positions].chunks_exact_mut(positions).zip(rows) {
        add(x, inner, k % below, to);
    }
}
