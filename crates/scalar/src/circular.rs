//! Sine, cosine and tangent of `f32`, without branches, for angles up to [`FAR`].
//!
//! An angle is reduced by multiples of pi/2 with fused products. The first difference is exact, so the remainder
//! keeps its relative precision near multiples of pi/2.

use crate::Float;
use crate::exponential::ROUND;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2};

/// The largest angle for which the reduction here has enough digits of pi. Larger angles need [`far_sin`],
/// [`far_cos`] or [`far_tan`].
pub const FAR: f32 = 2e5;

/// Returns the sine of an angle beyond [`FAR`].
pub fn far_sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// Returns the cosine of an angle beyond [`FAR`].
pub fn far_cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

/// Returns the tangent of an angle beyond [`FAR`].
pub fn far_tan(x: f32) -> f32 {
    f64::from(x).tan() as f32
}

// pi/2 in three parts, each the remainder rounded down. All are positive, so that no zero changes its sign.
const QUARTER: f32 = FRAC_PI_2.next_down();
const QUARTER_MID: f32 = 7.549_789_4e-8;
const QUARTER_LOW: f32 = 5.390_302_5e-15;

/// Reduces an angle by quarter turns. Returns their number, the same number in the lowest bits of a word, and the
/// remainder after subtracting their product with [`QUARTER`].
#[inline(always)]
fn reduce_angle<N: Float>(a: N) -> (N, N::Bits, N) {
    let t = a.fma(FRAC_2_PI, ROUND);
    let n = t - ROUND.into();
    (n, t.to_bits(), n.fused(-QUARTER, a))
}

/// Returns the mask of odd numbers of quarter turns.
#[inline(always)]
fn is_odd<N: Float>(turns: N::Bits) -> N::Mask {
    N::from_bits((turns & 1.into()) << 29).gt(0.0)
}

const SIGN: u32 = 1 << 31;

/// Flips the sign of `x` by the highest bit of `by`; other bits are ignored.
#[inline(always)]
fn flip_sign<N: Float>(x: N, by: N::Bits) -> N {
    N::from_bits(x.to_bits() + (by & SIGN.into()))
}

/// Returns the sine of an angle given by its remainder and its number of quarter turns.
///
/// The sign and the choice of polynomial depend on the number of turns alone. They are computed first, so that only the
/// polynomial waits for the remainder.
#[inline(always)]
fn reduced_sine<N: Float>(n: N, turns: N::Bits, rest: N) -> N {
    let near = n.fused(-QUARTER_MID, rest);
    let r = n.fused(-QUARTER_LOW, near);
    // Slightly less than the square, so that a negative zero keeps its sign.
    let z = near.fma(near, -1e-30);
    let odd = is_odd::<N>(turns);
    let p = N::select(odd, 2.440_948e-5, -0.000_194_945_75);
    let p = p.fma(z, N::select(odd, -0.001_388_710_7, 0.008_332_007));
    let p = p.fma(z, N::select(odd, 0.041_666_64, -0.166_666_52));
    let factor = flip_sign(N::select(odd, z, near), turns << 30);
    let first = flip_sign(N::select(odd, z.fma(-0.5, 1.0), r), turns << 30);
    (factor * z).fma(p, first)
}

/// Returns the sine.
#[inline(always)]
pub fn sin<N: Float>(x: N) -> N {
    let (n, turns, rest) = reduce_angle(x);
    reduced_sine(n, turns, rest)
}

/// Returns the sine of `x` plus a number of quarter turns, an integer from 0 to 4.
#[inline(always)]
pub fn turned_sin<N: Float>(x: N, quarters: N) -> N {
    let t = x.fma(FRAC_2_PI, ROUND);
    let n = t - ROUND.into();
    reduced_sine(n, (t + quarters).to_bits(), n.fused(-QUARTER, x))
}

/// Returns the cosine.
#[inline(always)]
pub fn cos<N: Float>(x: N) -> N {
    let (n, turns, rest) = reduce_angle(x);
    reduced_sine(n, turns + 1.into(), rest)
}

/// Returns the tangent.
#[inline(always)]
pub fn tan<N: Float>(x: N) -> N {
    let (n, turns, first) = reduce_angle(x.abs());
    // The remainder and its rounding error: the quotient below would double that error.
    let mid = n * QUARTER_MID.into();
    let sum = first - mid;
    let part = sum - first;
    let lost = (first - (sum - part)) - (mid + part);
    let low = n.fused(-QUARTER_LOW, lost - n.fused(QUARTER_MID, -mid));
    let r = sum + low;
    let low = (sum - r) + low;
    let z = r * r;
    let p = horner!(N; z; 0.333_333_6, 0.133_322_83, 0.054_103_117, 0.021_058_893, 0.011_414_07, -0.000_641_635_14,
        0.004_735_511_6);
    let rest = (r * z).fma(p, low.fma(z, low));
    let tan = r + rest;
    let low = (r - tan) + rest;
    // One Newton step on the quotient adds the lower part.
    let q = N::from(-1.0) / tan;
    let error = low.fma(q, tan.fused(q, 1.0));
    flip_sign(N::select(is_odd::<N>(turns), q.fma(error, q), tan), x.to_bits())
}
