//! `exp(x) - 1` and hyperbolic functions of `f32` in `f32` arithmetic, without branches, for targets without `f64`.

use crate::Real;
use crate::exponential::ROUND;
use std::f32::consts::LOG2_E;

const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;

/// Returns `d` and `n + ROUND` such that `exp(x) = (1 + d)·2^n`, for `x` whose exponential is finite.
#[inline(always)]
fn parts<N: Real>(x: N) -> (N, N) {
    let t = x.fma(LOG2_E, ROUND);
    let n = t - ROUND.into();
    let r = n.fma(-LN2_LO, n.fma(-LN2_HI, x));
    let q = horner!(N; r; 0.5, 0.166_665_76, 0.041_666_552, 0.008_363_293, 0.001_392_632_6);
    ((r * r).fma(q, r), t)
}

/// Returns half of the exponential of a nonnegative number.
#[inline(always)]
fn half_exp<N: Real>(a: N) -> N {
    let (d, t) = parts(N::select(a.gt(90.0), 90.0, a));
    (d + 1.0.into()).scaled(t - 1.0.into())
}

/// Returns `exp(x) - 1`, accurate near 0.
#[inline(always)]
pub fn expm1<N: Real>(x: N) -> N {
    let x0 = N::select(x.lt(-20.0), -20.0, x);
    let (d, t) = parts(N::select(x0.gt(89.0), 89.0, x0));
    // Compute half of the result, since the power of two may be out of range when the result is not.
    let half = N::from_bits((t.to_bits() << 23) + 0.5_f32.to_bits().into());
    let y = half * d + (half - 0.5.into());
    N::select(x.eq(0.0), x, y + y)
}

/// Returns the hyperbolic sine.
#[inline(always)]
pub fn sinh<N: Real>(x: N) -> N {
    let a = x.abs();
    let near = N::select(a.gt(1.0), 1.0, a);
    let e = expm1(near);
    let small = N::from(0.5) * (e + e / (e + 1.0.into()));
    let h = half_exp(a);
    N::select(a.lt(1.0), small, h - N::from(0.25) / h).copysign(x)
}

/// Returns the hyperbolic cosine.
#[inline(always)]
pub fn cosh<N: Real>(x: N) -> N {
    let h = half_exp(x.abs());
    h + N::from(0.25) / h
}
