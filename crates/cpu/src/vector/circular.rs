//! Sine, cosine and tangent of `f32`, without branches, written once over [`Single`]: loops run them on numbers, the code
//! generator on values of code.
//!
//! An angle is reduced by quarter turns with products that are rounded once with their sums: the first difference is exact,
//! so that what is left near multiples of a quarter turn is as good as anywhere.

use super::number::Single;
use super::single::ROUND;
use std::f32::consts::FRAC_2_PI;

/// Angles larger than this need more of pi than the reduction below has.
pub(crate) const FAR: f32 = 3e5;

/// The sine of such an angle.
pub(crate) fn far_sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// The cosine of such an angle.
pub(crate) fn far_cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

/// The tangent of such an angle.
pub(crate) fn far_tan(x: f32) -> f32 {
    f64::from(x).tan() as f32
}

// pi/2 in three parts, each what is left of it, rounded.
const QUARTER: f32 = 1.570_796_4;
const QUARTER_MID: f32 = -4.371_139e-8;
const QUARTER_LOW: f32 = -1.715_124_5e-15;

/// An angle without its sign by quarter turns: how many, how many in the last bits, and what is left after the first part
/// of pi.
#[inline(always)]
fn turns<N: Single>(a: N) -> (N, N::Bits, N) {
    let t = a.fma(FRAC_2_PI, ROUND);
    let n = t - ROUND.into();
    (n, t.to_bits(), n.fused(-QUARTER, a))
}

/// Sine and cosine of an angle without its sign, up to their signs and order; and quarter turns in the last bits.
#[inline(always)]
fn sin_cos<N: Single>(a: N) -> (N, N, N::Bits) {
    let (n, turns, r) = turns(a);
    let r = n.fused(-QUARTER_LOW, n.fused(-QUARTER_MID, r));
    let z = r * r;
    let s = horner!(N; z; -0.166_666_52, 0.008_332_007, -0.000_194_945_75);
    let c = horner!(N; z; 0.041_666_64, -0.001_388_710_7, 2.440_948e-5);
    ((r * z).fma(s, r), (z * z).fma(c, z.fma(-0.5, 1.0)), turns)
}

/// The first if the number of quarter turns is odd.
#[inline(always)]
fn if_odd<N: Single>(turns: N::Bits, odd: N, even: N) -> N {
    N::select(N::from_bits((turns & 1.into()) << 29).gt(0.0), odd, even)
}

const SIGN: u32 = 1 << 31;

/// The number with its sign changed by the first bit of another, and that alone.
#[inline(always)]
fn signed<N: Single>(x: N, by: N::Bits) -> N {
    N::from_bits(x.to_bits() + (by & SIGN.into()))
}

#[inline(always)]
pub(crate) fn sin<N: Single>(x: N) -> N {
    let (s, c, turns) = sin_cos(x.abs());
    signed(if_odd(turns, c, s), ((turns & 2.into()) << 30) + x.to_bits())
}

#[inline(always)]
pub(crate) fn cos<N: Single>(x: N) -> N {
    let (s, c, turns) = sin_cos(x.abs());
    signed(if_odd(turns, s, c), (turns + 1.into()) << 30)
}

#[inline(always)]
pub(crate) fn tan<N: Single>(x: N) -> N {
    let (n, turns, first) = turns(x.abs());
    // What is left, and what rounding it lost: the quotient below would double the error.
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
    signed(if_odd(turns, q.fma(error, q), tan), x.to_bits())
}
