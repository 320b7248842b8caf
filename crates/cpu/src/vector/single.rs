//! The functions of `f32` that programs call most, in `f32` arithmetic, without branches.
//!
//! Polynomials interpolate at Chebyshev nodes, on the interval that the reduction before them leaves. `FUSED`
//! says whether a multiplication and an addition are one instruction; where they are not, asking for one is a
//! call. Comparisons are written so that NaN falls through to the arithmetic, which keeps it.

use std::f32::consts::{LN_2, LOG2_E};

/// `a·b + c`, rounded once where that is one instruction.
#[inline(always)]
pub(super) fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Added to a small number it leaves the nearest integer in the last bits.
const ROUND: f32 = 12_582_912.0;
// ln 2 in two parts, the first short enough that its product with any exponent is exact.
const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;

#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `exp(x) = (1 + d) · 2^n`: `d` between -0.3 and 0.42, and `n + ROUND`.
#[inline(always)]
fn exp_parts<const FUSED: bool>(x: f32) -> (f32, f32) {
    let t = fma::<FUSED>(x, LOG2_E, ROUND);
    let n = t - ROUND;
    let r = fma::<FUSED>(n, -LN2_LO, fma::<FUSED>(n, -LN2_HI, x));
    let q = poly!(r; 0.5, 0.166_665_76, 0.041_666_552, 0.008_363_293, 0.001_392_632_6);
    (fma::<FUSED>(r * r, q, r), t)
}

/// `2^n` as two factors, as it may be out of range when the result is not. `t` is `n + ROUND`.
#[inline(always)]
fn powers(t: f32) -> (f32, f32) {
    let n = (t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
    (power(half), power(n.wrapping_sub(half)))
}

/// `exp` where neither it nor its exponent is near the ends of the range.
#[inline(always)]
fn exp_near<const FUSED: bool>(x: f32) -> f32 {
    let (d, t) = exp_parts::<FUSED>(x);
    // A product, as it keeps NaN.
    (1.0 + d) * f32::from_bits(1.0_f32.to_bits().wrapping_add(t.to_bits() << 23))
}

#[inline(always)]
pub(super) fn exp<const FUSED: bool>(x: f32) -> f32 {
    let (d, t) = exp_parts::<FUSED>(clamp(x, -104.0, 89.0));
    let (a, b) = powers(t);
    (1.0 + d) * a * b
}

#[inline(always)]
pub(super) fn exp2<const FUSED: bool>(x: f32) -> f32 {
    let x = clamp(x, -151.0, 129.0);
    let t = x + ROUND;
    let r = x - (t - ROUND);
    let q = poly!(r; LN_2, 0.240_226_5, 0.055_503_566, 0.009_618_082, 0.001_339_109_4, 0.000_154_533_61);
    let (a, b) = powers(t);
    fma::<FUSED>(r, q, 1.0) * a * b
}

#[inline(always)]
pub(super) fn sigmoid<const FUSED: bool>(x: f32) -> f32 {
    // 1 / (1 + (1 + d)·a·b), both sides divided by `a`. What the sum of the powers loses and `d` are added last,
    // so that the sum is rounded once, and the exponential never.
    let (d, t) = exp_parts::<FUSED>(clamp(-x, -104.0, 104.0));
    let (a, b) = powers(t);
    let inverse = f32::from_bits((254_u32 << 23).wrapping_sub(a.to_bits()));
    let (small, large) = if inverse < b { (inverse, b) } else { (b, inverse) };
    let sum = small + large;
    inverse / (sum + fma::<FUSED>(b, d, small - (sum - large)))
}

#[inline(always)]
pub(super) fn tanh<const FUSED: bool>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let q =
        poly!(z; -0.333_333_34, 0.133_333_04, -0.053_959_258, 0.021_768_918, -0.008_343_945, 0.002_292_744_8);
    let small = fma::<FUSED>(a, z * q, a);
    // From here on the result rounds to 1.
    let top = if a > 9.1 { 9.1 } else { a };
    let large = 1.0 - 2.0 / (exp_near::<FUSED>(top + top) + 1.0);
    (if a < 0.625 { small } else { large }).copysign(x)
}

#[inline(always)]
pub(super) fn erf<const FUSED: bool>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let q = poly!(z; 0.128_379_17, -0.376_126_35, 0.112_837_01, -0.026_859_691, 0.005_201_714_6,
        -0.000_815_005_04, 8.399_778e-5);
    let small = fma::<FUSED>(a, q, a);
    // The logarithm of erfc; beyond 4 the result rounds to 1.
    let top = if a > 4.0 { 4.0 } else { a };
    let log = poly!(top; 0.000_318_539_65, -1.130_231, -0.631_823_9, -0.110_087_164, 0.026_427_638,
        -0.004_762_626, 0.000_597_585_75, -4.616_386e-5, 1.643_063_7e-6);
    let large = 1.0 - exp_near::<FUSED>(log);
    (if a < 0.92 { small } else { large }).copysign(x)
}

#[inline(always)]
pub(super) fn log<const FUSED: bool>(x: f32) -> f32 {
    // Numbers below the normal ones, scaled into them.
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits();
    let low = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    // The exponent that leaves a mantissa between the roots of 1/2 and 2.
    let above = bits.wrapping_sub(low);
    let n = (above as i32 >> 23) as f32 - if tiny { 23.0 } else { 0.0 };
    let f = f32::from_bits((above & 0x7f_ffff).wrapping_add(low)) - 1.0;
    let q = poly!(f; 0.333_333_3, -0.249_999_97, 0.200_007_16, -0.166_678_03, 0.142_490_58, -0.124_256_87,
        0.116_854_2, -0.114_797_34, 0.069_716_12);
    let z = f * f;
    let y = fma::<FUSED>(z, -0.5, fma::<FUSED>(n, LN2_LO, z * f * q));
    let y = fma::<FUSED>(n, LN2_HI, f + y);
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x == f32::INFINITY { x } else { y };
    if (x < 0.0) | x.is_nan() { f32::NAN } else { y }
}

/// Truncated and saturated, NaN to 0: `x as i32`, which the compiler does not turn into vectors.
#[inline(always)]
pub(super) fn to_i32(x: f32) -> i32 {
    let inside = if x.abs() < 2_147_483_648.0 { x } else { 0.0 };
    // SAFETY: the number is in range.
    let n = unsafe { inside.to_int_unchecked::<i32>() };
    let n = if x <= -2_147_483_648.0 { i32::MIN } else { n };
    if x >= 2_147_483_648.0 { i32::MAX } else { n }
}
