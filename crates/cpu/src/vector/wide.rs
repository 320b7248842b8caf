//! The functions of `f32` that are computed in `f64`. This has half as many lanes, but no problems with cancellation,
//! overflow or subnormal numbers. The error of results is little more than half an ulp.
//!
//! The `f64` functions in this file are accurate to about 36 bits, for the arguments that `f32` operands can lead to.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, LOG10_E, PI};

/// Returns `a·b + c`, rounded once if `FUSED` is true, else twice.
#[inline(always)]
pub(super) fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// A number that, added to a small number, leaves the nearest integer in the low bits of the sum.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// Returns `exp(r) - 1` for magnitudes of `r` up to half of ln 2.
#[inline(always)]
fn expm1_reduced<const FUSED: bool>(r: f64) -> f64 {
    let q = poly!(r; 0.5, 0.1666666671962903, 0.041666666719612104, 0.008333298203871147,
        0.0013888853769855418, 0.00019899506525511751, 2.485981068352248e-5);
    fma::<FUSED>(r * r, q, r)
}

/// Splits `exp(x)` as `2^n · exp(r)`. Returns `2^n` and `exp(r) - 1`. Takes `x / ln 2`, which it clamps to a range beyond
/// that of `f32` results.
#[inline(always)]
fn exp_parts<const FUSED: bool>(y: f64) -> (f64, f64) {
    let y = if y < -500.0 { -500.0 } else { y };
    let y = if y > 500.0 { 500.0 } else { y };
    let t = y + ROUND;
    let p = expm1_reduced::<FUSED>((y - (t - ROUND)) * LN_2);
    (f64::from_bits(1.0_f64.to_bits().wrapping_add(t.to_bits() << 52)), p)
}

/// Returns `2^y`.
#[inline(always)]
fn exp2<const FUSED: bool>(y: f64) -> f64 {
    let (s, p) = exp_parts::<FUSED>(y);
    fma::<FUSED>(s, p, s)
}

#[inline(always)]
fn exp_m1<const FUSED: bool>(x: f64) -> f64 {
    let (s, p) = exp_parts::<FUSED>(x * LOG2_E);
    fma::<FUSED>(s, p, s - 1.0)
}

/// Returns the logarithm of a positive normal number.
#[inline(always)]
fn ln_normal<const FUSED: bool>(x: f64) -> f64 {
    let bits = x.to_bits();
    // The exponent that leaves a mantissa between the square roots of 1/2 and 2.
    let n = bits.wrapping_add(1.0_f64.to_bits() - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> 52;
    let f = f64::from_bits(bits.wrapping_sub(n.wrapping_sub(1023) << 52)) - 1.0;
    // Converts the exponent to a float by placing it in the low bits of 2^52.
    let n = f64::from_bits(n | 4_503_599_627_370_496.0_f64.to_bits()) - (4_503_599_627_370_496.0 + 1023.0);
    let q = poly!(f; 0.3333333333223731, -0.2500000003142678, 0.2000000080106479, -0.1666666031512894,
        0.1428561643238556, -0.1250031213059721, 0.11115570033463776, -0.09996045664006165,
        0.08999034560633898, -0.08285382849023316, 0.08527488821766416, -0.08434961957058733,
        0.04533890921866675);
    let z = f * f;
    fma::<FUSED>(n, LN_2, fma::<FUSED>(z, fma::<FUSED>(f, q, -0.5), f))
}

/// Returns the logarithm of any number.
#[inline(always)]
fn ln<const FUSED: bool>(x: f64) -> f64 {
    let y = ln_normal::<FUSED>(x);
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    if (x < 0.0) | x.is_nan() { f64::NAN } else { y }
}

#[inline(always)]
fn ln_1p<const FUSED: bool>(x: f64) -> f64 {
    // For small numbers, adding 1 would lose too many bits, and the series is accurate enough.
    let small = x * poly!(x; 1.0, -0.5, 1.0 / 3.0, -0.25);
    let large = ln::<FUSED>(1.0 + x);
    if x.abs() < 1e-3 { small } else { large }
}

#[inline(always)]
pub(super) fn expm1<const FUSED: bool>(x: f32) -> f32 {
    // Restores the sign of zero, which the sum loses.
    (exp_m1::<FUSED>(x.into()) as f32).copysign(x)
}

#[inline(always)]
pub(super) fn log1p<const FUSED: bool>(x: f32) -> f32 {
    ln_1p::<FUSED>(x.into()) as f32
}

#[inline(always)]
pub(super) fn log2<const FUSED: bool>(x: f32) -> f32 {
    (ln::<FUSED>(x.into()) * LOG2_E) as f32
}

#[inline(always)]
pub(super) fn log10<const FUSED: bool>(x: f32) -> f32 {
    (ln::<FUSED>(x.into()) * LOG10_E) as f32
}

#[inline(always)]
pub(super) fn sinh<const FUSED: bool>(x: f32) -> f32 {
    let e = exp_m1::<FUSED>(x.abs().into());
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

#[inline(always)]
pub(super) fn cosh<const FUSED: bool>(x: f32) -> f32 {
    let e = exp2::<FUSED>(f64::from(x.abs()) * LOG2_E);
    (0.5 * (e + 1.0 / e)) as f32
}

#[inline(always)]
pub(super) fn asinh<const FUSED: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let z = a * a;
    let y = ln_1p::<FUSED>(a + z / (1.0 + (z + 1.0).sqrt()));
    let y = if a == f64::INFINITY { a } else { y };
    (y as f32).copysign(x)
}

#[inline(always)]
pub(super) fn acosh<const FUSED: bool>(x: f32) -> f32 {
    let t = f64::from(x) - 1.0;
    let y = ln_1p::<FUSED>(t + (t * (t + 2.0)).sqrt()) as f32;
    if x < 1.0 { f32::NAN } else { y }
}

#[inline(always)]
pub(super) fn atanh<const FUSED: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    ((0.5 * ln_1p::<FUSED>((a + a) / (1.0 - a))) as f32).copysign(x)
}

/// Returns the inverse error function: a polynomial in `-ln(1 - x²)`, and near ±1 a polynomial in its square root.
#[inline(always)]
pub(super) fn erfinv<const FUSED: bool>(x: f32) -> f32 {
    let a = f64::from(x);
    let w = -ln_1p::<FUSED>(-a * a);
    let near = poly!(w - 2.5; 1.5014093511307305, 0.24664027679467995, -0.004177318038629429,
        -0.0012527081133214758, 0.00021825107431143112, -4.99585510328485e-6, -3.4174044823114227e-6,
        4.786352613808378e-7, 1.378055207145411e-8, -1.0852875909728537e-8, 8.200569104598616e-10,
        1.2294079606051944e-10, -2.0530249162321265e-11);
    let far = poly!(w.sqrt() - 3.2; 3.033636574427253, 1.004692452981864, 0.005973167472190697,
        -0.004294480887869134, 0.0029508589589772975, -0.001990433918166454, 0.0010781708109807882,
        -0.00036686942163679246, -1.123555630072924e-5, 0.00010941684471366624, -5.561355304965282e-5,
        -3.843195120236482e-6, 8.204833356617727e-6);
    let y = a * if w < 5.0 { near } else { far };
    let y = if a.abs() == 1.0 { a * f64::INFINITY } else { y };
    (if a.abs() <= 1.0 { y } else { f64::NAN }) as f32
}

/// Returns the angle of the point `(x, y)`, from -pi to pi.
#[inline(always)]
fn angle<const FUSED: bool>(y: f64, x: f64) -> f64 {
    let (b, a) = (y.abs(), x.abs());
    let steep = b > a;
    let (low, high) = if steep { (a, b) } else { (b, a) };
    // Two infinities are treated as equal numbers, and the origin as a point on the axis.
    let t = if low == f64::INFINITY { 1.0 } else { low / high };
    let t = if high == 0.0 { 0.0 } else { t };
    let z = t * t;
    let q = poly!(z; -0.3333333333230858, 0.1999999965269345, -0.14285694570640292, 0.11110666303625419,
        -0.09085624177887072, 0.07654295472644398, -0.06487062356606563, 0.052943908816199266,
        -0.038767022568525905, 0.02324837369843582, -0.010257166271499646, 0.002875485609943425,
        -0.0003778858076662609);
    let r = fma::<FUSED>(t * z, q, t);
    let r = if steep { FRAC_PI_2 - r } else { r };
    let r = if x.is_sign_negative() { PI - r } else { r };
    // Returns NaN for NaN, which the comparisons above have replaced.
    let r = if x.is_nan() | y.is_nan() { f64::NAN } else { r };
    r.copysign(y)
}

#[inline(always)]
pub(super) fn atan<const FUSED: bool>(x: f32) -> f32 {
    angle::<FUSED>(x.into(), 1.0) as f32
}

#[inline(always)]
pub(super) fn asin<const FUSED: bool>(x: f32) -> f32 {
    let x = f64::from(x);
    angle::<FUSED>(x, ((1.0 - x) * (1.0 + x)).sqrt()) as f32
}

#[inline(always)]
pub(super) fn acos<const FUSED: bool>(x: f32) -> f32 {
    let x = f64::from(x);
    angle::<FUSED>(((1.0 - x) * (1.0 + x)).sqrt(), x) as f32
}

#[inline(always)]
pub(super) fn atan2<const FUSED: bool>(y: f32, x: f32) -> f32 {
    angle::<FUSED>(y.into(), x.into()) as f32
}

#[inline(always)]
pub(super) fn hypot(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let r = (x * x + y * y).sqrt() as f32;
    if (a.abs() == f32::INFINITY) | (b.abs() == f32::INFINITY) { f32::INFINITY } else { r }
}

#[inline(always)]
pub(super) fn pow<const FUSED: bool>(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a.abs()), f64::from(b));
    // Large numbers are even integers. Others are integers if rounding does not change them, and even if half of them is an
    // integer.
    let small = y.abs() < 16_777_216.0;
    let whole = |v: f64| (v + ROUND) - ROUND == v;
    let integer = !small | whole(y);
    let odd = small & integer & !whole(0.5 * y);
    let log = ln_normal::<FUSED>(x);
    let log = if x == 0.0 { f64::NEG_INFINITY } else { log };
    let log = if x == f64::INFINITY { x } else { log };
    let r = exp2::<FUSED>(y * (log * LOG2_E)) as f32;
    let r = if a.is_nan() { f32::NAN } else { r };
    let r = if a.is_sign_negative() & odd { -r } else { r };
    let r = if (a < 0.0) & (a != f32::NEG_INFINITY) & !integer { f32::NAN } else { r };
    // 1 to any power is 1, and so is -1 to an infinite power.
    let r = if (a == 1.0) | ((a == -1.0) & (b.abs() == f32::INFINITY)) { 1.0 } else { r };
    if b == 0.0 { 1.0 } else { r }
}

/// Converts as `x as i64` does: truncates, saturates, and converts NaN to 0. The compiler does not vectorize `as`.
#[inline(always)]
pub(super) fn to_i64(x: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let inside = if x.abs() < END { x } else { 0.0 };
    // SAFETY: `inside` is clamped to the range of `i64`.
    let n = unsafe { inside.to_int_unchecked::<i64>() };
    let n = if x <= -END { i64::MIN } else { n };
    if x >= END { i64::MAX } else { n }
}
