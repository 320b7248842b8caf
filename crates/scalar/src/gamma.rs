//! The logarithm of the gamma function and its derivative, of `f32` in `f32` arithmetic, without branches, for targets
//! without `f64`. Near zeros on the negative axis only the absolute error is small.

use crate::Real;
use crate::circular;
use crate::exponential::log;
use std::f32::consts::PI;

/// Number of recurrence steps that bring a number below 8 to one between 2 and 3.
const STEPS: usize = 5;

/// Returns a nonnegative number minus the nearest integer; 0 from 2^23 on, where all are integers.
#[inline(always)]
fn fraction<N: Real>(a: N) -> N {
    let small = N::select(a.lt(8_388_608.0), a, 0.0);
    let nearest = (small + 8_388_608.0.into()) - 8_388_608.0.into();
    N::select(a.lt(8_388_608.0), small - nearest, 0.0)
}

/// Returns the logarithm of the modulus of the gamma function; infinite at its poles.
#[inline(always)]
pub fn lgamma<N: Real>(x: N) -> N {
    let a = x.abs();
    let one = N::from(1.0);
    // A series around 1, to which numbers below 1/2 are shifted.
    let low = a.lt(0.5);
    let t = N::select(low, a, a - one);
    let t = N::select(t.gt(0.5), 0.5, t);
    let near = t
        * horner!(N; t; -0.577_215_7, 0.822_467, -0.400_685_5, 0.270_594_27, -0.207_398_2, 0.169_134_5,
            -0.143_652_92, 0.131_095_5, -0.116_579_37, 0.065_309_31, -0.058_302_138, 0.179_739_27, -0.167_297_33);
    // A series around the minimum, which is far from both zeros.
    let t = N::select(a.gt(2.0), 2.0, a) - 1.5.into();
    let bottom = horner!(N; t; -0.120_782_24, 0.036_489_975, 0.467_401_42, -0.138_132_96, 0.058_686_89,
        -0.028_937_222, 0.016_075_47, -0.008_999_38);
    let near = N::select(low, near - log(a), near);
    // A series around 2, to which numbers up to 8 are shifted; each step contributes a factor.
    let (mut y, mut factor) = (N::select(a.gt(8.0), 8.0, a), one);
    for _ in 0..STEPS {
        let down = y - one;
        let above = N::either(y.gt(3.0), y.eq(3.0));
        factor = N::select(above, factor * down, factor);
        y = N::select(above, down, y);
    }
    let t = y - 2.0.into();
    let middle = t
        * horner!(N; t; 0.422_784_33, 0.322_467_03, -0.067_352_32, 0.020_581_001, -0.007_385_329_3, 0.002_888_128_6,
            -0.001_192_123_2, 0.000_520_163_45, -0.000_235_325_74, 8.961_39e-5, -1.799_251_4e-5);
    let middle = N::select(factor.gt(1.0), middle + log(factor), middle);
    // Stirling's series.
    let large = N::select(a.lt(8.0), 8.0, a);
    let inverse = one / large;
    let z = inverse * inverse;
    let series = inverse * horner!(N; z; 0.083_333_336, -0.002_777_777_8, 0.000_793_650_8);
    let far = (large - 0.5.into()) * (log(large) - one) + (series + 0.418_938_53.into());
    let y = N::select(a.lt(8.0), middle, far);
    let y = N::select(a.lt(1.25), near, N::select(a.lt(1.75), bottom, y));
    let y = N::select(a.eq(f32::INFINITY), f32::INFINITY, y);
    // Reflection formula: log(pi / |x sin(pi x)|) - lgamma(|x|). Takes the logarithms of the factors, because the
    // product may underflow.
    let sine = circular::sin(fraction(a) * PI.into()).abs();
    let pole = N::both(N::both(x.lt(0.0), a.gt(1e-8)), sine.eq(0.0));
    let reflected = (N::from(1.144_729_9) - log(N::select(sine.eq(0.0), 1.0, sine))) - (log(a) + y);
    // Close to zero both formulas agree, and the angle has too few digits for the reflection.
    let y = N::select(N::both(x.lt(0.0), a.gt(1e-8)), reflected, y);
    let y = N::select(N::either(pole, a.eq(0.0)), f32::INFINITY, y);
    N::select(x.is_nan(), f32::NAN, y)
}

// The zero of the function between 1 and 2, in two parts.
const ROOT: (f32, f32) = (1.461_632_1, 1.243_815e-8);

/// Returns the derivative of `lgamma`; minus infinity at 0, infinity at -0, NaN at negative integers.
#[inline(always)]
pub fn digamma<N: Real>(x: N) -> N {
    let one = N::from(1.0);
    let negative = x.lt(0.0);
    let a = N::select(negative, one - x, x);
    let low = a.lt(1.0);
    // Shift to the interval from 1 to 2: up by one, or down step by step.
    let mut y = N::select(low, a + one, N::select(a.gt(8.0), 8.0, a));
    let mut sum = N::from(0.0);
    for _ in 0..STEPS + 1 {
        let down = y - one;
        let above = y.gt(2.0);
        sum = N::select(above, sum + one / N::select(above, down, one), sum);
        y = N::select(above, down, y);
    }
    let t = y - 1.5.into();
    let p = horner!(N; t; 0.951_055_9, -0.423_627_5, 0.240_542_53, -0.148_398_86, 0.094_984_69, -0.062_055_98,
        0.040_850_03, -0.025_786_884, 0.017_114_99, -0.016_373_62, 0.010_902_588);
    let near = ((y - ROOT.0.into()) - ROOT.1.into()) * p + sum;
    let near = N::select(low, near - one / N::select(low, a, one), near);
    let large = N::select(a.lt(8.0), 8.0, a);
    let inverse = one / large;
    let z = inverse * inverse;
    let series = z * horner!(N; z; 0.083_333_336, -0.008_333_334, 0.003_968_254);
    let far = (log(large) - inverse * 0.5.into()) - series;
    let y = N::select(a.lt(8.0), near, far);
    let y = N::select(a.eq(f32::INFINITY), a, y);
    // Reflection formula: digamma(1 - x) - pi / tan(pi x).
    let r = fraction(x.abs()).copysign(one) * PI.into();
    let signed = N::select(fraction(x.abs()).lt(0.0), r, -r);
    let tangent = circular::tan(N::select(signed.eq(0.0), 1.0, signed));
    let reflected = y - N::from(PI) / tangent;
    let y = N::select(negative, N::select(r.eq(0.0), f32::NAN, reflected), y);
    let y = N::select(x.eq(0.0), N::from(f32::NEG_INFINITY).copysign(-x), y);
    N::select(x.is_nan(), f32::NAN, y)
}
