//! The loops against `f64`: over the whole range, on every instruction set of this machine.

use gradus_cpu::vector::{Isa, Loops, loops_on};

/// How far a result is from the exact one, in units of the last place of `f32`. Infinity counts as the number
/// after the largest. What must not differ at all is infinitely far: NaN, signs, exact zeros.
fn ulps(got: f32, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let exact = want == 0.0 || want.is_infinite();
    if got.is_sign_negative() != want.is_sign_negative() || (exact && f64::from(got) != want) {
        return f64::INFINITY;
    }
    let top = 2.0_f64.powi(128);
    let (got, want) = (f64::from(got).clamp(-top, top), want.clamp(-top, top));
    let exponent = ((want.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (got - want).abs() / 2.0_f64.powi(exponent - 23)
}

/// Every 1009th bit pattern, and the neighbourhood of what is special.
fn sweep() -> Vec<f32> {
    let mut x: Vec<f32> = (0..u32::MAX / 1009).map(|i| f32::from_bits(i * 1009)).collect();
    let near = [
        0.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        0.5,
        0.625,
        0.92,
        1.0,
        1e-3,
        2.0,
        std::f32::consts::FRAC_1_SQRT_2,
        std::f32::consts::SQRT_2,
        std::f32::consts::FRAC_PI_4,
        std::f32::consts::FRAC_PI_2,
        std::f32::consts::PI,
        4.0,
        9.1,
        10.2,
        88.722_84,
        103.972_08,
        128.0,
        150.0,
        1e5,
        1e6,
    ];
    for v in near {
        for step in -200..=200_i32 {
            let bits = v.to_bits().wrapping_add_signed(step) & 0x7fff_ffff;
            x.extend([f32::from_bits(bits), -f32::from_bits(bits)]);
        }
    }
    // Multiples of a quarter turn are where sines and tangents lose the most.
    x.extend((1..200_000).map(|n| (f64::from(n) * std::f64::consts::FRAC_PI_2) as f32));
    x
}

fn each_isa(mut check: impl FnMut(Isa, &'static Loops<f32>)) {
    for isa in Isa::available() {
        check(*isa, loops_on(*isa).unwrap());
    }
}

fn unary(loops: &Loops<f32>, name: &str, x: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    let f = loops.unary(name).unwrap();
    // SAFETY: both are as long as `x`, and apart.
    unsafe { f(x.as_ptr(), y.as_mut_ptr(), x.len()) };
    y
}

/// Checks a function of one operand over the sweep.
fn check(name: &str, bound: f64, exact: impl Fn(f64) -> f64) {
    let x = sweep();
    let want: Vec<f64> = x.iter().map(|x| exact(f64::from(*x))).collect();
    each_isa(|isa, loops| {
        let y = unary(loops, name, &x);
        let mut worst = (0.0, 0);
        for i in 0..x.len() {
            let error = ulps(y[i], want[i]);
            if error > worst.0 {
                worst = (error, i);
            }
        }
        let (error, i) = worst;
        println!("{name:>10} {:>10} {error:8.3} at {:e}", format!("{isa:?}"), x[i]);
        assert!(
            error <= bound,
            "{name} on {isa:?}: {error} ulp at {:e} ({:#x}): {:e} for {:e}",
            x[i],
            x[i].to_bits(),
            y[i],
            want[i]
        );
    });
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

#[test]
fn arithmetic_is_rounded_once() {
    check("neg", 0.0, |x| -x);
    check("abs", 0.0, f64::abs);
    check("sign", 0.0, sign);
    check("floor", 0.0, f64::floor);
    check("ceil", 0.0, f64::ceil);
    check("round", 0.0, f64::round_ties_even);
    check("trunc", 0.0, f64::trunc);
    check("square", 0.5, |x| x * x);
    check("reciprocal", 0.5, |x| 1.0 / x);
    check("sqrt", 0.5, f64::sqrt);
    check("rsqrt", 2.0, |x| 1.0 / x.sqrt());
}

#[test]
fn exponentials() {
    check("exp", 2.0, f64::exp);
    check("exp2", 2.0, f64::exp2);
    check("expm1", 2.0, f64::exp_m1);
    check("sigmoid", 2.0, sigmoid);
}

#[test]
fn logarithms() {
    check("log", 2.0, f64::ln);
    check("log2", 2.0, f64::log2);
    check("log10", 2.0, f64::log10);
    check("log1p", 2.0, f64::ln_1p);
}

#[test]
fn circular() {
    check("sin", 2.0, f64::sin);
    check("cos", 2.0, f64::cos);
    check("tan", 2.0, f64::tan);
    check("asin", 2.0, f64::asin);
    check("acos", 2.0, f64::acos);
    check("atan", 2.0, f64::atan);
}

#[test]
fn hyperbolic() {
    check("sinh", 2.0, f64::sinh);
    check("cosh", 2.0, f64::cosh);
    check("tanh", 2.0, f64::tanh);
    check("asinh", 2.0, libm::asinh);
    check("acosh", 2.0, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) });
    check("atanh", 2.0, libm::atanh);
}

#[test]
fn error_functions() {
    check("erf", 2.0, libm::erf);
    check("erfc", 2.0, libm::erfc);
}
