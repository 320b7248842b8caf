//! Exponentials, logarithm, sigmoid, tanh and error functions of `f32`, in `f32` arithmetic, without branches.
//!
//! Polynomials interpolate at Chebyshev nodes, on the interval that the range reduction leaves. Comparisons are
//! written so that NaN takes the arithmetic path, which propagates it.

use crate::Float;
use std::f32::consts::{LN_2, LOG2_E};

/// Adding this to a small number leaves the nearest integer in the lowest bits of the sum.
pub const ROUND: f32 = 12_582_912.0;
// ln 2 in two parts, the first short enough that its product with any exponent is exact.
const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;

#[inline(always)]
fn clamp<N: Float>(x: N, low: f32, high: f32) -> N {
    let x = N::select(x.lt(low), low, x);
    N::select(x.gt(high), high, x)
}

/// Returns `d` between -0.3 and 0.42, and `n + ROUND`, such that `exp(x) = (1 + d) · 2^n`.
#[inline(always)]
fn exp_parts<N: Float>(x: N) -> (N, N) {
    let t = x.fma(LOG2_E, ROUND);
    let n = t - ROUND.into();
    let r = n.fma(-LN2_LO, n.fma(-LN2_HI, x));
    ((r * r).fma(exp_rest(r), r), t)
}

/// Returns `(exp(r) - 1 - r) / r²` for numbers up to ln 2 / 2.
#[inline(always)]
fn exp_rest<N: Float>(r: N) -> N {
    horner!(N; r; 0.5, 0.166_665_76, 0.041_666_552, 0.008_363_293, 0.001_392_632_6)
}

/// Returns `2^n` as two factors, since it may be out of range when the result is not. `t` is `n + ROUND`.
#[inline(always)]
pub fn powers<N: Float>(t: N) -> (N, N) {
    let n = t.to_bits() - ROUND.to_bits().into();
    let half = n >> 1;
    let power = |n: N::Bits| N::from_bits((n + 127.into()) << 23);
    (power(half), power(n - half))
}

/// Returns `exp(x)`, for results that are far from overflow and underflow.
#[inline(always)]
fn exp_near<N: Float>(x: N) -> N {
    let (d, t) = exp_parts(x);
    // A product propagates NaN.
    (d + 1.0.into()) * N::from_bits((t.to_bits() << 23) + 1.0_f32.to_bits().into())
}

/// Returns e to the power of `x`.
#[inline(always)]
pub fn exp<N: Float>(x: N) -> N {
    // A result that rounds to zero is not computed: subnormal results are slow, and attention masks are full of them.
    let zero = x.lt(-104.0);
    let x = N::select(zero, 0.0, x);
    let (d, t) = exp_parts(N::select(x.gt(89.0), 89.0, x));
    N::select(zero, 0.0, (d + 1.0.into()).scaled(t))
}

/// Returns 2 to the power of `x`.
#[inline(always)]
pub fn exp2<N: Float>(x: N) -> N {
    let x = clamp(x, -151.0, 129.0);
    let t = x + ROUND.into();
    let r = x - (t - ROUND.into());
    let q = horner!(N; r; LN_2, 0.240_226_5, 0.055_503_566, 0.009_618_082, 0.001_339_109_4, 0.000_154_533_61);
    r.fma(q, 1.0).scaled(t)
}

/// Returns `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid<N: Float>(x: N) -> N {
    // 1 / (1 + (1 + d)·a·b), numerator and denominator divided by `a`. The rounding error of the sum of the powers
    // and `d` are added last, so that the sum is rounded once and the exponential never.
    let (d, t) = exp_parts(clamp(-x, -104.0, 104.0));
    let (a, b) = powers(t);
    let inverse = N::from_bits(N::Bits::from(254 << 23) - a.to_bits());
    let ordered = inverse.lt(b);
    let (small, large) = (N::select(ordered, inverse, b), N::select(ordered, b, inverse));
    let sum = small + large;
    inverse / (sum + b.fma(d, small - (sum - large)))
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub fn tanh<N: Float>(x: N) -> N {
    let a = x.abs();
    let z = x * x;
    let q = horner!(N; z; -0.333_333_3, 0.133_330_08, -0.053_889_714, 0.021_194_931, -0.006_406_300_5);
    let small = a.fma(z * q, a);
    // 1 - 2 / (exp(2a) + 1), and exp(2a) = s + s·r·p for s = 2^n. From 9.1 on the result rounds to 1.
    let top = N::select(a.gt(9.1), 9.1, a);
    let t = top.fma(2.0 * LOG2_E, ROUND);
    // One part of ln 2 is enough: the larger the exponent, the less its error matters.
    let r = (t - ROUND.into()).fma(-0.5 * LN_2, top);
    let p = horner!(N; r; 2.0, 2.0, 1.333_320_4, 0.666_663_45, 0.267_813, 0.089_175_36);
    let s = N::from_bits((t.to_bits() << 23) + 1.0_f32.to_bits().into());
    let large = N::from(1.0) - N::from(2.0) / (s * r).fma(p, s + 1.0.into());
    N::select(a.lt(0.58), small, large).copysign(x)
}

/// Returns the error function.
#[inline(always)]
pub fn erf<N: Float>(x: N) -> N {
    let a = x.abs();
    let z = x * x;
    let q = horner!(N; z; 0.128_379_17, -0.376_126_35, 0.112_837_01, -0.026_859_691, 0.005_201_714_6,
        -0.000_815_005_04, 8.399_778e-5);
    let small = a.fma(q, a);
    // The logarithm of erfc; beyond 4 the result rounds to 1.
    let top = N::select(a.gt(4.0), 4.0, a);
    let log = horner!(N; top; 0.000_318_539_65, -1.130_231, -0.631_823_9, -0.110_087_164, 0.026_427_638,
        -0.004_762_626, 0.000_597_585_75, -4.616_386e-5, 1.643_063_7e-6);
    let large = N::from(1.0) - exp_near(log);
    N::select(a.lt(0.92), small, large).copysign(x)
}

/// Returns the complement of the error function: `exp(-a²)` times a polynomial in `1 / (2 + a)`, divided by `2 + a`.
/// Rounding errors of each operation are carried along, since an error in the square is magnified by the exponential.
#[inline(always)]
pub fn erfc<N: Float>(x: N) -> N {
    let two = N::from(2.0);
    // Above 10.06 the result is 0 and below -4.06 it rounds to 2, as at -4.06. Subnormal results would be slow to
    // compute.
    let a = N::select((x - 3.0.into()).abs().gt(7.06), 4.06, x.abs());
    let sum = a + two;
    let back = sum - a;
    let low = (a - (sum - back)) + (two - back);
    let u = N::from(1.0) / sum;
    // Relative error of the inverse `u`, and the resulting relative error of the product.
    let lack = u.fma(-low, u.fused(-sum, 1.0));
    let lack = lack * u.fma(2.812_712_2, 0.952_851_83);
    let v = u.fused(3.571_428_5, -0.785_714_27);
    let p = horner!(N; v; 0.331_933_68, 0.064_253_6, -0.026_775_744, -0.014_781_794, 0.004_218_102, 0.003_125_142_5,
        -0.001_330_565_2, -0.000_518_685_7, 0.000_475_656_44, -9.953_657e-5);
    let p = v.fused(p, 0.696_419_6);
    let first = N::from(0.943_080_54);
    let product = p * v;
    let rest = first + product;
    let rest_low = ((first - rest) + product) + (p.fused(v, -product) + 7.327_241_5e-9.into());
    let whole = u * rest;
    let whole_low = u.fma(rest_low, u.fused(rest, -whole));
    let square = a * a;
    let lost = a.fused(a, -square);
    let t = square.fma(-LOG2_E, ROUND);
    let n = t - ROUND.into();
    // The exponential is (1 + near + far + r²·q)·2^n, where `near` is exact.
    let near = n.fma(-LN2_HI, -square);
    let far = n.fma(-LN2_LO, -lost);
    let r = near + far;
    let whole_low = whole_low.fma(r, whole_low);
    let q = exp_rest(r);
    let small = (r * r).fma(q, far + lack.fma(r, lack));
    let y = (whole + whole.fused(near, whole.fma(small, whole_low))).scaled(t);
    N::select(x.gt(10.056), 0.0, N::select(x.lt(0.0), two - y, y))
}

/// Splits a positive number into `(n, f)` with `x = 2^n · (1 + f)`. `1 + f` is between the square roots of 1/2 and
/// 2.
#[inline(always)]
pub(crate) fn split<N: Float>(x: N) -> (N, N) {
    // Subnormal numbers are scaled into the normal range first.
    let tiny = x.lt(f32::MIN_POSITIVE);
    let bits = N::select(tiny, x * 8_388_608.0.into(), x).to_bits();
    let low = N::Bits::from(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let above = bits - low;
    let n = N::from_int(above >> 23) - N::select(tiny, 23.0, 0.0);
    let f = N::from_bits((above & 0x7f_ffff.into()) + low) - 1.0.into();
    (n, f)
}

/// Returns the natural logarithm.
#[inline(always)]
pub fn log<N: Float>(x: N) -> N {
    let (n, f) = split(x);
    let q = horner!(N; f; 0.333_333_3, -0.249_999_97, 0.200_007_16, -0.166_678_03, 0.142_490_58, -0.124_256_87,
        0.116_854_2, -0.114_797_34, 0.069_716_12);
    let z = f * f;
    let y = z.fma(-0.5, n.fma(LN2_LO, z * f * q));
    let y = n.fma(LN2_HI, f + y);
    let y = N::select(x.eq(0.0), f32::NEG_INFINITY, y);
    let y = N::select(x.eq(f32::INFINITY), x, y);
    let y = N::select(x.lt(0.0), f32::NAN, y);
    N::select(x.is_nan(), f32::NAN, y)
}
