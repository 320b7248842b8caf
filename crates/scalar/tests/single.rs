//! Functions in `f32` arithmetic against `f64`: over the whole range of bit patterns and at special values, with and without
//! an instruction for fused products.

use gradus_scalar::{Plain, angle, gamma, hyperbolic, logarithm, power};

/// Returns the error of a result in units in the last place of `f32`. Infinity counts as the number after the
/// largest finite one. The error is infinite if only one of the numbers is NaN, or if an exact zero or
/// infinity is missed.
fn ulps(got: f32, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if (want == 0.0 || want.is_infinite()) && f64::from(got) != want {
        return f64::INFINITY;
    }
    let top = 2.0_f64.powi(128);
    let (got, want) = (f64::from(got).clamp(-top, top), want.clamp(-top, top));
    let exponent = ((want.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (got - want).abs() / 2.0_f64.powi(exponent - 23)
}

/// Numbers next to which functions change their formula or leave their domain.
const SPECIAL: [f32; 24] = [
    0.0,
    1e-45,
    1e-40,
    f32::MIN_POSITIVE,
    1e-20,
    1e-8,
    1e-3,
    0.25,
    0.5,
    std::f32::consts::FRAC_1_SQRT_2,
    0.999_999_94,
    1.0,
    1.000_000_1,
    std::f32::consts::SQRT_2,
    2.0,
    3.0,
    17.0,
    88.722_84,
    89.415_99,
    1e4,
    8_388_609.0,
    1e20,
    f32::MAX,
    f32::INFINITY,
];

fn specials() -> Vec<f32> {
    SPECIAL.iter().flat_map(|x| [*x, -*x]).chain([f32::NAN]).collect()
}

/// Distance between the bit patterns that are tested.
const STEP: usize = 8009;

fn sweep() -> impl Iterator<Item = f32> {
    (0..=u32::MAX).step_by(STEP).map(f32::from_bits).chain(specials())
}

fn unary(name: &str, bound: f64, f: [fn(f32) -> f32; 2], exact: fn(f64) -> f64) {
    for (fused, f) in f.iter().enumerate() {
        let mut worst = (0.0, 0.0_f32);
        for x in sweep() {
            let off = ulps(f(x), exact(x.into()));
            if off > worst.0 {
                worst = (off, x);
            }
        }
        let (off, x) = worst;
        let (got, want) = (f(x), exact(x.into()));
        assert!(off <= bound, "{name}({x:e}) is {got:e}, not {want:e}: {off} ulp, variant {fused}");
    }
}

macro_rules! check {
    ($($f:path, $bound:literal, $exact:expr;)*) => {$(
        unary(stringify!($f), $bound, [|x| $f(Plain::<false>(x)).0, |x| $f(Plain::<true>(x)).0], $exact);
    )*};
}

#[test]
fn functions_of_one_number() {
    check! {
        hyperbolic::expm1, 2.0, f64::exp_m1;
        hyperbolic::sinh, 3.0, f64::sinh;
        hyperbolic::cosh, 3.0, f64::cosh;
        logarithm::log1p, 2.0, f64::ln_1p;
        logarithm::log2, 1.5, f64::log2;
        logarithm::log10, 1.5, f64::log10;
        logarithm::asinh, 4.0, libm::asinh;
        logarithm::acosh, 4.0, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) };
        logarithm::atanh, 4.0, libm::atanh;
        angle::atan, 3.0, f64::atan;
        angle::asin, 3.0, f64::asin;
        angle::acos, 3.0, f64::acos;
        power::cbrt, 1.5, f64::cbrt;
    }
}

/// Computes the inverse of the error function by Halley's method, from the complement if the magnitude is at
/// least one half.
fn erfinv(x: f64) -> f64 {
    if x.abs() >= 1.0 || x == 0.0 || x.is_nan() {
        return if x.abs() == 1.0 {
            x * f64::INFINITY
        } else if x == 0.0 {
            x
        } else {
            f64::NAN
        };
    }
    let a = x.abs();
    let w = -((1.0 - a) * (1.0 + a)).ln();
    let mut y = if w < 5.0 { a * 0.9 } else { w.sqrt() };
    for _ in 0..60 {
        let off = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp();
        // Halley's step, which converges from every start here.
        let step = off / slope;
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

#[test]
fn inverse_of_the_error_function() {
    let f: [fn(f32) -> f32; 2] =
        [|x| logarithm::erfinv(Plain::<false>(x)).0, |x| logarithm::erfinv(Plain::<true>(x)).0];
    unary("erfinv", 4.0, f, erfinv);
}

/// Computes the derivative of the logarithm of the gamma function: by recurrence up to 20, then by its
/// asymptotic series.
fn digamma(x: f64) -> f64 {
    if x < 0.0 {
        return digamma(1.0 - x) - std::f64::consts::PI / (std::f64::consts::PI * (x - x.round())).tan();
    }
    let (mut y, mut sum) = (x, 0.0);
    while y < 20.0 {
        sum -= 1.0 / y;
        y += 1.0;
    }
    let z = 1.0 / (y * y);
    sum + y.ln() - 0.5 / y - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z / 240.0)))
}

/// Tests the gamma functions for positive and special numbers. On the negative axis the error is absolute,
/// because their zeros there have no closed form.
#[test]
fn gamma_functions() {
    let near = |got: f32, want: f64, bound: f64| {
        let overflows = want.abs() >= 2.0_f64.powi(128) && f64::from(got) == want.signum() * f64::INFINITY;
        overflows || (f64::from(got) - want).abs() <= bound * want.abs().max(1.0)
    };
    for x in sweep() {
        let (got, want) = (gamma::lgamma(Plain::<true>(x)).0, libm::lgamma(x.into()));
        let fine = if x > 0.0 || !want.is_finite() { ulps(got, want) <= 4.0 } else { near(got, want, 4e-6) };
        assert!(fine || x.is_nan() && got.is_nan(), "lgamma({x:e}) is {got:e}, not {want:e}");
        // Beyond some millions all numbers are integers, and the function has only poles below zero.
        if x == 0.0 || x < 0.0 && (x == x.round() || x < -1e4) || x.is_nan() || x == f32::INFINITY {
            continue;
        }
        let (got, want) = (gamma::digamma(Plain::<true>(x)).0, digamma(x.into()));
        let fine = if x > 0.0 { ulps(got, want) <= 4.0 } else { near(got, want, 2e-3) };
        assert!(fine, "digamma({x:e}) is {got:e}, not {want:e}");
    }
    let digamma = |x: f32| gamma::digamma(Plain::<true>(x)).0;
    assert_eq!(
        (digamma(0.0), digamma(-0.0), digamma(f32::INFINITY)),
        (f32::NEG_INFINITY, f32::INFINITY, f32::INFINITY)
    );
    assert!([-1.0, -2.0, -1e9, f32::NAN].into_iter().all(|x| digamma(x).is_nan()));
}

/// Pairs of bit patterns over the whole range, of special numbers, and of numbers near 1.
fn pairs() -> impl Iterator<Item = (f32, f32)> {
    let mut state = 1_u64;
    let mut word = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mut near = word;
    let all = (0..400_000).map(move |_| (f32::from_bits(word()), f32::from_bits(word())));
    let unit = move |w: u32, scale: f32| (w as f32 / u32::MAX as f32 * 2.0 - 1.0) * scale;
    let small = (0..400_000).map(move |i| {
        let scale = [1.5, 20.0, 0.01][i % 3];
        (unit(near(), 1.0).abs() * 2.0 + 1e-3, unit(near(), scale * 20.0))
    });
    let special = specials();
    let cross: Vec<(f32, f32)> =
        special.iter().flat_map(|a| special.iter().map(|b| (*a, *b)).collect::<Vec<_>>()).collect();
    all.chain(small).chain(cross)
}

type Two = fn(f32, f32) -> f32;

fn binary(name: &str, bound: f64, f: [Two; 2], exact: fn(f64, f64) -> f64, allowed: fn(f64, f64) -> f64) {
    for (fused, f) in f.iter().enumerate() {
        for (a, b) in pairs() {
            let (got, want) = (f(a, b), exact(a.into(), b.into()));
            let off = ulps(got, want);
            let near = (f64::from(got) - want).abs() <= allowed(a.into(), b.into());
            assert!(
                off <= bound || near,
                "{name}({a:e}, {b:e}) is {got:e}, not {want:e}: {off} ulp, variant {fused}"
            );
        }
    }
}

macro_rules! check_two {
    ($($f:path, $bound:literal, $exact:expr, $allowed:expr;)*) => {$(
        let both: [Two; 2] = [
            |a, b| $f(Plain::<false>(a), Plain::<false>(b)).0,
            |a, b| $f(Plain::<true>(a), Plain::<true>(b)).0,
        ];
        binary(stringify!($f), $bound, both, $exact, $allowed);
    )*};
}

/// Computes `log(exp(a) + exp(b))` by its definition.
fn logaddexp(a: f64, b: f64) -> f64 {
    if a == b {
        return a + std::f64::consts::LN_2;
    }
    let (low, high) = (a.min(b), a.max(b));
    if a.is_nan() || b.is_nan() { f64::NAN } else { high + (low - high).exp().ln_1p() }
}

#[test]
fn functions_of_two_numbers() {
    check_two! {
        angle::atan2, 3.0, f64::atan2, |_, _| 0.0;
        power::hypot, 1.5, f64::hypot, |_, _| 0.0;
        power::pow, 4.0, f64::powf, |_, _| 0.0;
        // Near its zero the result is a small difference of numbers up to ln 2, which have half an ulp each.
        logarithm::logaddexp, 3.0, logaddexp, |_, _| 1.2e-7;
    }
}
