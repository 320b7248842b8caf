//! Inverse circular functions of `f32` in `f32` arithmetic, without branches, for targets without `f64`.

use crate::{Float, Real};
use std::f32::consts::{FRAC_PI_2, PI};

// pi/2 and pi minus their `f32` values.
const QUARTER_LOW: f32 = (std::f64::consts::FRAC_PI_2 - FRAC_PI_2 as f64) as f32;
const HALF_LOW: f32 = (std::f64::consts::PI - PI as f64) as f32;

/// Returns the angle of the point with ordinate `y` and abscissa `x`, from -pi to pi.
#[inline(always)]
pub fn atan2<N: Real>(y: N, x: N) -> N {
    let (b, a) = (y.abs(), x.abs());
    let steep = b.gt(a);
    let (low, high) = (N::select(steep, a, b), N::select(steep, b, a));
    // Numbers near the ends of the range are scaled, because their quotient may lose bits.
    let scale = N::select(high.gt(1e30), 1e-20, N::select(high.lt(1e-20), 1e20, 1.0));
    let t = (low * scale) / (high * scale);
    // Two infinities give a diagonal, and the origin counts as on the axis.
    let t = N::select(low.eq(f32::INFINITY), 1.0, N::select(high.eq(f32::INFINITY), 0.0, t));
    let t = N::select(high.eq(0.0), 0.0, t);
    let r = atan_unit(t);
    let r = N::select(steep, (N::from(FRAC_PI_2) - r) + QUARTER_LOW.into(), r);
    let left = N::from(1.0).copysign(x).lt(0.0);
    let r = N::select(left, (N::from(PI) - r) + HALF_LOW.into(), r);
    let r = N::select(N::either(x.is_nan(), y.is_nan()), f32::NAN, r);
    r.copysign(y)
}

/// Returns the inverse tangent of a number from 0 to 1.
#[inline(always)]
fn atan_unit<N: Float>(t: N) -> N {
    let z = t * t;
    let q = horner!(N; z; -0.333_333_34, 0.199_999_5, -0.142_840_04, 0.110_882_62, -0.089_318_27, 0.070_319_146,
        -0.048_960_514, 0.026_305, -0.009_144_629, 0.001_488_691_9);
    t.fma(z * q, t)
}

/// Returns the inverse tangent.
#[inline(always)]
pub fn atan<N: Real>(x: N) -> N {
    atan2(x, N::from(1.0))
}

/// Returns the inverse sine of a number up to one half.
#[inline(always)]
fn arcsine<N: Float>(x: N, z: N) -> N {
    let q =
        horner!(N; z; 0.166_666_66, 0.075_000_94, 0.044_599_403, 0.031_100_662, 0.017_149_238, 0.033_690_847);
    x.fma(z * q, x)
}

/// Returns the inverse sine.
#[inline(always)]
pub fn asin<N: Real>(x: N) -> N {
    let a = x.abs();
    let far = a.gt(0.5);
    let z = N::select(far, (N::from(1.0) - a) * 0.5.into(), a * a);
    let s = N::select(far, z.sqrt(), a);
    let r = arcsine(s, z);
    let r = N::select(far, (N::from(FRAC_PI_2) - (r + r)) + QUARTER_LOW.into(), r);
    N::select(N::either(a.gt(1.0), x.is_nan()), f32::NAN, r.copysign(x))
}

/// Returns the inverse cosine.
#[inline(always)]
pub fn acos<N: Real>(x: N) -> N {
    let a = x.abs();
    let far = a.gt(0.5);
    let z = N::select(far, (N::from(1.0) - a) * 0.5.into(), a * a);
    let s = N::select(far, z.sqrt(), a);
    let r = arcsine(s, z);
    let near = (N::from(FRAC_PI_2) - r.copysign(x)) + QUARTER_LOW.into();
    let double = r + r;
    let ends = N::select(x.lt(0.0), (N::from(PI) - double) + HALF_LOW.into(), double);
    let y = N::select(far, ends, near);
    N::select(N::either(a.gt(1.0), x.is_nan()), f32::NAN, y)
}
