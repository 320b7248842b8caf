//! Sine, cosine and tangent of `f32` in `f64` arithmetic, written once over [`Double`]: loops run them on numbers, the code
//! generator on values of code.

use super::number::Double;
use std::f64::consts::FRAC_PI_2;

/// Angles larger than this need more of pi than the reduction below has.
pub(crate) const FAR: f32 = 1e6;

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

/// Added to a small number it leaves the nearest integer in the last bits.
const ROUND: f64 = super::wide::ROUND;

// pi/2 in two parts, the first short enough that its product with any number of quarter turns is exact.
const QUARTER_HI: f64 = 1.570_796_326_734_125_6;
const QUARTER_LO: f64 = 6.077_100_506_506_192e-11;

/// Sine and cosine of `x` up to their signs and order: of the remainder by quarter turns; and their number, in the last
/// bits.
#[inline(always)]
fn sin_cos<D: Double>(x: D) -> (D, D, D) {
    let turns = x.fma(1.0 / FRAC_PI_2, ROUND);
    let n = turns - ROUND.into();
    let r = n.fma(-QUARTER_LO, n.fma(-QUARTER_HI, x));
    let z = r * r;
    let s = horner!(D; z; -0.16666666666663857, 0.00833333333106116, -0.00019841266899437397,
        2.7555985625200863e-6, -2.480514540674743e-8);
    let c = horner!(D; z; 0.0416666666643024, -0.0013888887664713619, 2.4800596435621998e-5,
        -2.7300448619488353e-7);
    ((r * z).fma(s, r), z.fma(z.fma(c, -0.5), 1.0), turns)
}

#[inline(always)]
pub(crate) fn sin<D: Double>(x: D) -> D {
    let (s, c, turns) = sin_cos(x);
    D::select(turns.is_odd(), c, s).turned(turns)
}

#[inline(always)]
pub(crate) fn cos<D: Double>(x: D) -> D {
    let (s, c, turns) = sin_cos(x);
    D::select(turns.is_odd(), s, c).turned(turns + 1.0.into())
}

#[inline(always)]
pub(crate) fn tan<D: Double>(x: D) -> D {
    let (s, c, turns) = sin_cos(x);
    let odd = turns.is_odd();
    D::select(odd, D::from(0.0) - c, s) / D::select(odd, s, c)
}
