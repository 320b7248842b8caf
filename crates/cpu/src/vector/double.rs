//! The most frequent functions of `f64`, without branches and within 2 ulp, and exact remainders. All other functions are
//! evaluated one element at a time by the definitions in the catalog.
//!
//! The methods are those of `gradus_scalar` for `f32`, with polynomials for 53 bits.

use super::wide::{ROUND, fma};
use std::f64::consts::LOG2_E;

// ln 2 in two parts. The first has so few bits that its product with any exponent is exact.
const LN2_HI: f64 = 0.693_147_180_369_123_8;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Splits `exp(x)` as `(1 + d) · 2^n`. Returns `d`, between -0.3 and 0.42, and `n + ROUND`.
#[inline(always)]
fn exp_parts<const FUSED: bool>(x: f64) -> (f64, f64) {
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 746.0 { 746.0 } else { x };
    let t = fma::<FUSED>(x, LOG2_E, ROUND);
    let n = t - ROUND;
    let r = fma::<FUSED>(n, -LN2_LO, fma::<FUSED>(n, -LN2_HI, x));
    let q = poly!(r; 0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326025,
        0.001388888888888367, 0.00019841269875205077, 2.4801587325822283e-05, 2.75572549134867e-06,
        2.7557273295539724e-07, 2.5105419192016337e-08, 2.091483135138041e-09);
    (fma::<FUSED>(r * r, q, r), t)
}

/// Returns `2^n` as two factors, because it may be out of range when the result is not. `t` is `n + ROUND`.
#[inline(always)]
fn powers(t: f64) -> (f64, f64) {
    // Computes half of `n` in floats, because not every machine has an arithmetic shift of 64 bits.
    let half = (t - ROUND) * 0.5 + ROUND;
    let power = |n: u64| f64::from_bits(1.0_f64.to_bits().wrapping_add(n << 52));
    (power(half.to_bits()), power(t.to_bits().wrapping_sub(half.to_bits())))
}

#[inline(always)]
pub(super) fn exp<const FUSED: bool>(x: f64) -> f64 {
    let (d, t) = exp_parts::<FUSED>(x);
    let (a, b) = powers(t);
    (1.0 + d) * a * b
}

#[inline(always)]
pub(super) fn sigmoid<const FUSED: bool>(x: f64) -> f64 {
    let (d, t) = exp_parts::<FUSED>(-x);
    let (a, b) = powers(t);
    let inverse = f64::from_bits((2046_u64 << 52).wrapping_sub(a.to_bits()));
    let (small, large) = if inverse < b { (inverse, b) } else { (b, inverse) };
    let sum = small + large;
    inverse / (sum + fma::<FUSED>(b, d, small - (sum - large)))
}

#[inline(always)]
pub(super) fn tanh<const FUSED: bool>(x: f64) -> f64 {
    let a = x.abs();
    let z = x * x;
    let q = poly!(z; -0.3333333333333333, 0.13333333333333042, -0.05396825396789699, 0.021869488519008305,
        -0.008863235103240878, 0.0035921217511549622, -0.0014557754120478055, 0.0005896606577757043,
        -0.0002375906496055562, 9.257116129556769e-05, -3.12011014257974e-05, 6.485163482793113e-06);
    let small = fma::<FUSED>(a, z * q, a);
    // For larger arguments the result rounds to 1.
    let top = if a > 20.0 { 20.0 } else { a };
    let (d, t) = exp_parts::<FUSED>(top + top);
    let e = (1.0 + d) * f64::from_bits(1.0_f64.to_bits().wrapping_add(t.to_bits() << 52));
    let large = 1.0 - 2.0 / (e + 1.0);
    (if a < 0.625 { small } else { large }).copysign(x)
}

#[inline(always)]
pub(super) fn log<const FUSED: bool>(x: f64) -> f64 {
    // Scales subnormal numbers into the normal range.
    let tiny = x < f64::MIN_POSITIVE;
    let bits = (if tiny { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    // The exponent for which the mantissa is between the square roots of 1/2 and 2.
    let n = bits.wrapping_add(1.0_f64.to_bits() - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> 52;
    let f = f64::from_bits(bits.wrapping_sub(n.wrapping_sub(1023) << 52)) - 1.0;
    // Converts the exponent to a float by placing it in the low bits of 2^52.
    let n = f64::from_bits(n | 4_503_599_627_370_496.0_f64.to_bits())
        - if tiny { 4_503_599_627_370_496.0 + 1077.0 } else { 4_503_599_627_370_496.0 + 1023.0 };
    let q = poly!(f; 0.33333333333333337, -0.2499999999999993, 0.19999999999993223, -0.16666666666697305,
        0.1428571428759174, -0.12499999997109267, 0.11111110909841072, -0.0999999999631727,
        0.09090919875998202, -0.08333345056413204, 0.0769198812013375, -0.0714223204915847,
        0.06671985555271291, -0.06265031869518063, 0.05837018351464999, -0.05368280388050548,
        0.0537187789066478, -0.06129561980727906, 0.0566642324205218, -0.025061228095282464);
    let z = f * f;
    let y = fma::<FUSED>(z, -0.5, fma::<FUSED>(n, LN2_LO, z * f * q));
    let y = fma::<FUSED>(n, LN2_HI, f + y);
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    if (x < 0.0) | x.is_nan() { f64::NAN } else { y }
}

/// Largest angle for which the reduction below has enough digits of pi.
pub(super) const FAR: f64 = 1e5;

// pi/2 in three parts. They are truncated, so all are positive and no zero changes its sign.
const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
const QUARTER_MID: f64 = 6.123233995736765e-17;
const QUARTER_LOW: f64 = 1.082856673921914e-32;

/// Returns the sine of an angle plus `further` quarter turns. Called only on machines with fused multiply-add, which makes the
/// first difference exact.
#[inline(always)]
fn sine_after_quarters<const FUSED: bool>(x: f64, further: u64) -> f64 {
    let t = fma::<FUSED>(x, std::f64::consts::FRAC_2_PI, ROUND);
    let n = t - ROUND;
    let r = fma::<FUSED>(n, -QUARTER, x);
    let r = fma::<FUSED>(n, -QUARTER_LOW, fma::<FUSED>(n, -QUARTER_MID, r));
    let z = r * r;
    let p = poly!(z; -0.16666666666666666, 0.008333333333333331, -0.00019841269841264821,
        2.7557319219150783e-06, -2.5052106167335705e-08, 1.6058521349954986e-10, -7.586094789672621e-13);
    let q = poly!(z; 0.041666666666666664, -0.0013888888888888887, 2.480158730158451e-05,
        -2.755731922129809e-07, 2.0876755754879594e-09, -1.1470455178216906e-11, 4.745537017319258e-14);
    // Keeps the sign of zero.
    let sine = if r == 0.0 { r } else { fma::<FUSED>(r * z, p, r) };
    let cosine = fma::<FUSED>(z, fma::<FUSED>(z, q, -0.5), 1.0);
    let quarters = t.to_bits().wrapping_add(further);
    let y = if quarters & 1 == 0 { sine } else { cosine };
    f64::from_bits(y.to_bits() ^ (quarters & 2) << 62)
}

#[inline(always)]
pub(super) fn sin<const FUSED: bool>(x: f64) -> f64 {
    sine_after_quarters::<FUSED>(x, 0)
}

#[inline(always)]
pub(super) fn cos<const FUSED: bool>(x: f64) -> f64 {
    sine_after_quarters::<FUSED>(x, 1)
}

/// Limit of the quotients for which [`fmod`] is used: 2^52, below which the spacing of `f64` is at most 1/2.
const MAX_QUOTIENT: f64 = 4_503_599_627_370_496.0;

/// Returns true if [`fmod`] and the functions based on it may be inexact for these operands, so that the slow path is
/// needed.
#[inline(always)]
pub(super) fn needs_slow<const FUSED: bool>(a: f64, b: f64) -> bool {
    // Negated, so that the result is true also if the quotient is NaN.
    !(FUSED && (a / b).abs() < MAX_QUOTIENT && b.abs() < f64::INFINITY)
}

/// Returns the exact remainder of division towards zero. The rounded quotient may be wrong by one, which is corrected.
#[inline(always)]
pub(super) fn fmod<const FUSED: bool>(a: f64, b: f64) -> f64 {
    let (x, d) = (a.abs(), b.abs());
    let r = fma::<FUSED>(-(x / d).trunc(), d, x);
    let r = if r < 0.0 { r + d } else { r };
    let r = if r >= d { r - d } else { r };
    r.copysign(a)
}

/// Returns the remainder of division towards minus infinity.
#[inline(always)]
pub(super) fn remainder<const FUSED: bool>(a: f64, b: f64) -> f64 {
    let r = fmod::<FUSED>(a, b);
    if (r != 0.0) & ((r < 0.0) != (b < 0.0)) { r + b } else { r }
}

/// Returns the quotient of division towards minus infinity.
#[inline(always)]
pub(super) fn floor_div<const FUSED: bool>(a: f64, b: f64) -> f64 {
    let r = fmod::<FUSED>(a, b);
    let down = if (r != 0.0) & ((r < 0.0) != (b < 0.0)) { 1.0 } else { 0.0 };
    let q = (a - r) / b - down;
    if q == 0.0 { 0.0_f64.copysign(a / b) } else { q.round_ties_even() }
}
