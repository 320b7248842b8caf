//! Sine, cosine and tangent of `f32`, without branches, for angles up to [`FAR`].
//!
//! An angle is reduced by multiples of pi/2 with fused products: the first difference is exact, so the remainder keeps its
//! relative precision near multiples of pi/2.

use crate::Float;
use crate::exponential::ROUND;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2};

/// The largest angle for which the reduction here has enough digits of pi. Larger ones go through [`far_sin`] and the like.
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

// pi/2 in three parts, each what is left of it, cut off: positive all, so that no zero changes its sign.
const QUARTER: f32 = FRAC_PI_2.next_down();
const QUARTER_MID: f32 = 7.549_789_4e-8;
const QUARTER_LOW: f32 = 5.390_302_5e-15;

/// Reduces an angle by quarter turns. Returns their number, the same in the lowest bits of a word, and the remainder after
/// subtracting the first part of pi.
#[inline(always)]
fn turns<N: Float>(a: N) -> (N, N::Bits, N) {
    let t = a.fma(FRAC_2_PI, ROUND);
    let n = t - ROUND.into();
    (n, t.to_bits(), n.fused(-QUARTER, a))
}

/// Whether a number of quarter turns is odd.
#[inline(always)]
fn is_odd<N: Float>(turns: N::Bits) -> N::Mask {
    N::from_bits((turns & 1.into()) << 29).gt(0.0)
}

const SIGN: u32 = 1 << 31;

/// The number with its sign changed by the first bit of another, and that alone.
#[inline(always)]
fn signed<N: Float>(x: N, by: N::Bits) -> N {
    N::from_bits(x.to_bits() + (by & SIGN.into()))
}

/// The sine of what is left of an angle after some quarter turns, and those again.
///
/// What is chosen and negated by the number of turns is there before the polynomial, which alone is waited for.
#[inline(always)]
fn wave<N: Float>(n: N, turns: N::Bits, rest: N) -> N {
    let near = n.fused(-QUARTER_MID, rest);
    let r = n.fused(-QUARTER_LOW, near);
    // A trifle less than the square, so that a negative zero stays what it is.
    let z = near.fma(near, -1e-30);
    let odd = is_odd::<N>(turns);
    let p = N::select(odd, 2.440_948e-5, -0.000_194_945_75);
    let p = p.fma(z, N::select(odd, -0.001_388_710_7, 0.008_332_007));
    let p = p.fma(z, N::select(odd, 0.041_666_64, -0.166_666_52));
    let factor = signed(N::select(odd, z, near), turns << 30);
    let first = signed(N::select(odd, z.fma(-0.5, 1.0), r), turns << 30);
    (factor * z).fma(p, first)
}

/// Returns the sine.
#[inline(always)]
pub fn sin<N: Float>(x: N) -> N {
    let (n, turns, rest) = turns(x);
    wave(n, turns, rest)
}

/// Returns the cosine.
#[inline(always)]
pub fn cos<N: Float>(x: N) -> N {
    let (n, turns, rest) = turns(x);
    wave(n, turns + 1.into(), rest)
}

/// Returns the tangent.
#[inline(always)]
pub fn tan<N: Float>(x: N) -> N {
    let (n, turns, first) = turns(x.abs());
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
    // One step of Newton's on the quotient, which takes in the lower part.
    let q = N::from(-1.0) / tan;
    let error = low.fma(q, tan.fused(q, 1.0));
    signed(N::select(is_odd::<N>(turns), q.fma(error, q), tan), x.to_bits())
}
