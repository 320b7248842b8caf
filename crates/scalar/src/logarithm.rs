//! Logarithms and inverse hyperbolic functions of `f32` in `f32` arithmetic, without branches, for targets without
//! `f64`.

use crate::Real;
use crate::exponential::{log, split};
use std::f32::consts::LN_2;

/// Returns `log(1 + x)`, accurate near 0.
#[inline(always)]
pub fn log1p<N: Real>(x: N) -> N {
    let one = N::from(1.0);
    let u = one + x;
    // Rounding error of the sum `1 + x`.
    let lost = x - (u - one);
    let y = log(u) + lost / u;
    // At -1 and for large numbers the sum has no error to correct.
    let y = N::select(N::either(u.eq(0.0), u.gt(1e9)), log(u), y);
    N::select(x.eq(0.0), x, y)
}

/// Returns a logarithm as three parts: the exponent, and the mantissa's logarithm as 12 leading bits and a remainder.
#[inline(always)]
fn log_parts<N: Real>(x: N) -> (N, N, N) {
    let (n, f) = split(x);
    let s = f / (f + 2.0.into());
    let z = s * s;
    // log(1 + f) = f - f²/2 + s·(f²/2 + z·q).
    let q = z * horner!(N; z; 0.666_666_7, 0.400_001_23, 0.285_508_03, 0.233_309_64);
    let half = f * f * 0.5.into();
    let sum = f - half;
    let high = N::from_bits(sum.to_bits() & 0xffff_f000.into());
    let rest = ((f - high) - half) + s * (half + q);
    (n, high, rest)
}

/// Returns the logarithm of an exceptional operand (zero, negative, infinite, NaN), else `y`.
#[inline(always)]
fn exceptions<N: Real>(x: N, y: N) -> N {
    let y = N::select(x.eq(0.0), f32::NEG_INFINITY, y);
    let y = N::select(x.eq(f32::INFINITY), x, y);
    let y = N::select(x.lt(0.0), f32::NAN, y);
    N::select(x.is_nan(), f32::NAN, y)
}

// 1 / ln 2, 1 / ln 10 and log10 2, each as a number whose product with 12 bits is exact, and the remainder.
const LOG2_E: (f32, f32) = (1.442_871_1, (std::f64::consts::LOG2_E - 1.442_871_1_f32 as f64) as f32);
const LOG10_E: (f32, f32) = (0.434_326_17, (std::f64::consts::LOG10_E - 0.434_326_17_f32 as f64) as f32);
const LOG10_2: (f32, f32) = (0.301_029_2, (std::f64::consts::LOG10_2 - 0.301_029_2_f32 as f64) as f32);

/// Returns the logarithm to base 2.
#[inline(always)]
pub fn log2<N: Real>(x: N) -> N {
    let (n, high, rest) = log_parts(x);
    let low = (rest + high) * LOG2_E.1.into() + rest * LOG2_E.0.into();
    // The exponent is added to the larger part first.
    let main = high * LOG2_E.0.into();
    let sum = n + main;
    let low = low + ((n - sum) + main);
    exceptions(x, sum + low)
}

/// Returns the logarithm to base 10.
#[inline(always)]
pub fn log10<N: Real>(x: N) -> N {
    let (n, high, rest) = log_parts(x);
    let low = n * LOG10_2.1.into() + ((rest + high) * LOG10_E.1.into() + rest * LOG10_E.0.into());
    let (main, power) = (high * LOG10_E.0.into(), n * LOG10_2.0.into());
    let sum = power + main;
    let low = low + ((power - sum) + main);
    exceptions(x, sum + low)
}

/// Returns the inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<N: Real>(x: N) -> N {
    let a = x.abs();
    let large = a.gt(1e4);
    let b = N::select(large, 1.0, a);
    let z = b * b;
    let near = log1p(b + z / (N::from(1.0) + (z + 1.0.into()).sqrt()));
    let far = log(a) + LN_2.into();
    N::select(large, far, near).copysign(x)
}

/// Returns the inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh<N: Real>(x: N) -> N {
    let large = x.gt(1e4);
    let t = N::select(large, 1.0, x) - 1.0.into();
    let near = log1p(t + (t * (t + 2.0.into())).sqrt());
    let y = N::select(large, log(x) + LN_2.into(), near);
    N::select(N::either(x.lt(1.0), x.is_nan()), f32::NAN, y)
}

/// Returns the inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.
#[inline(always)]
pub fn atanh<N: Real>(x: N) -> N {
    let a = x.abs();
    let b = N::select(a.lt(1.0), a, 0.0);
    let y = N::from(0.5) * log1p((b + b) / (N::from(1.0) - b));
    let y = N::select(a.eq(1.0), f32::INFINITY, y);
    let y = N::select(N::either(a.gt(1.0), a.is_nan()), f32::NAN, y);
    y.copysign(x)
}

/// Returns the inverse of the error function: the operand times a polynomial in `-log(1 - x²)`. In the tails the
/// polynomial is in the square root of that logarithm.
#[inline(always)]
pub fn erfinv<N: Real>(x: N) -> N {
    let one = N::from(1.0);
    let a = x.abs();
    let b = N::select(a.lt(1.0), a, 0.0);
    let w = -log((one - b) * (one + b));
    let near = horner!(N; w - 2.5.into(); 1.501_409_4, 0.246_640_28, -0.004_177_393, -0.001_252_726_4, 0.000_218_349_4,
        -4.972_42e-6, -3.463_985e-6, 4.681_313_6e-7, 2.333_596_8e-8, -8.931_926e-9);
    let far = horner!(N; w.sqrt() - 3.2.into(); 3.033_636_6, 1.004_692_3, 0.005_976_184_7, -0.004_292_378_7,
        0.002_925_221_3, -0.002_000_581_2, 0.001_156_448, -0.000_347_581_72, -0.000_114_061_67, 9.431_954e-5);
    let y = x * N::select(w.lt(5.0), near, far);
    let y = N::select(a.eq(1.0), N::from(f32::INFINITY).copysign(x), y);
    N::select(N::either(a.gt(1.0), x.is_nan()), f32::NAN, y)
}

/// Returns `log(exp(a) + exp(b))` without overflow.
#[inline(always)]
pub fn logaddexp<N: Real>(a: N, b: N) -> N {
    let ordered = a.lt(b);
    let (low, high) = (N::select(ordered, a, b), N::select(ordered, b, a));
    // Two equal infinities would give a difference of NaN.
    let d = N::select(a.eq(b), 0.0, low - high);
    let y = high + log1p(crate::exponential::exp(d));
    let y = N::select(N::both(a.eq(b), a.abs().eq(f32::INFINITY)), a, y);
    N::select(N::either(a.is_nan(), b.is_nan()), f32::NAN, y)
}
