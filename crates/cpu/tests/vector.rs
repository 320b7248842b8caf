//! Compares the loops over the full range with computations in `f64`, on every instruction set of this machine.

use gradus_cpu::Isa;
use gradus_cpu::vector::{Loops, loops_on};

/// Returns the error of a result in units in the last place of `f32`. Infinity counts as the number after the largest
/// finite one. Where values must be equal (NaN, signs, exact zeros) but are not, the error is infinite.
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

/// Distance between the bit patterns that are tested. Release builds test more.
const STEP: u32 = if cfg!(debug_assertions) { 2003 } else { 401 };

/// Returns numbers of bit patterns over the full range, in portions, and numbers near special values.
fn sweep() -> impl Iterator<Item = Vec<f32>> {
    const PORTION: u32 = 1 << 20;
    let portions = (0..u32::MAX / STEP).step_by(PORTION as usize).map(|start| {
        let end = (start + PORTION).min(u32::MAX / STEP);
        (start..end).map(|i| f32::from_bits(i * STEP)).collect()
    });
    portions.chain([near_special()])
}

fn near_special() -> Vec<f32> {
    let mut x = Vec::new();
    let near = [
        0.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        0.5,
        0.585_583_3,
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
    // Multiples of pi/2, where sines and tangents lose the most accuracy.
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
    // SAFETY: both have the length of `x` and do not overlap.
    unsafe { f(x.as_ptr(), y.as_mut_ptr(), x.len()) };
    y
}

/// Checks a function of one operand over the sweep.
fn check(name: &str, bound: f64, exact: impl Fn(f64) -> f64) {
    let mut worst = vec![(0.0, 0.0); Isa::available().len()];
    for x in sweep() {
        let want: Vec<f64> = x.iter().map(|x| exact(f64::from(*x))).collect();
        for (isa, worst) in Isa::available().iter().zip(&mut worst) {
            let y = unary(loops_on(*isa).unwrap(), name, &x);
            for i in 0..x.len() {
                let (x, y, want, error) = (x[i], y[i], want[i], ulps(y[i], want[i]));
                assert!(error <= bound, "{name} on {isa:?}: {error} ulp at {x:e}: {y:e} for {want:e}");
                if error > worst.0 {
                    *worst = (error, x);
                }
            }
        }
    }
    for (isa, (error, x)) in Isa::available().iter().zip(worst) {
        println!("{name:>10} {:>10} {error:8.3} at {x:e}", format!("{isa:?}"));
    }
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
    check("rsqrt", 1.5, |x| 1.0 / x.sqrt());
}

#[test]
fn exponentials() {
    check("exp", 1.2, f64::exp);
    check("exp2", 1.2, f64::exp2);
    check("expm1", 0.51, f64::exp_m1);
    check("sigmoid", 2.0, sigmoid);
}

#[test]
fn logarithms() {
    check("log", 1.0, f64::ln);
    check("log2", 0.51, f64::log2);
    check("log10", 0.51, f64::log10);
    check("log1p", 0.51, f64::ln_1p);
}

#[test]
fn circular() {
    check("sin", 1.6, f64::sin);
    check("cos", 1.6, f64::cos);
    check("tan", 1.4, f64::tan);
    check("asin", 0.51, f64::asin);
    check("acos", 0.51, f64::acos);
    check("atan", 0.51, f64::atan);
}

#[test]
fn hyperbolic() {
    check("sinh", 0.51, f64::sinh);
    check("cosh", 0.51, f64::cosh);
    check("tanh", 1.5, f64::tanh);
    check("asinh", 0.51, libm::asinh);
    check("acosh", 0.51, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) });
    check("atanh", 0.51, libm::atanh);
}

#[test]
fn error_functions() {
    check("erf", 1.5, libm::erf);
    check("erfc", 1.6, libm::erfc);
    // Compares with the definition in the catalog, which other tests check.
    let erfinv = gradus_ir::ops::pointwise::all().find(|op| op.name == "erfinv").unwrap().float.unwrap();
    check("erfinv", 0.51, |x| erfinv(&[x]));
}

/// Returns small pseudo-random numbers (a fixed sequence).
fn noise(count: usize) -> impl Iterator<Item = u32> {
    let mut state = 1_u64;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    })
}

/// Returns pairs of operands: all pairs of special values, pairs of arbitrary numbers, and pairs whose second number has
/// moderate size.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let special = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        2.5,
        1e-45,
        1e-40,
        f32::MIN_POSITIVE,
        0.1,
        0.999_999_94,
        1.000_000_1,
        16_777_215.0,
        16_777_216.0,
        4e9,
        1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let special: Vec<f32> = special.into_iter().flat_map(|v| [v, -v]).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in &special {
        for y in &special {
            a.push(*x);
            b.push(*y);
        }
    }
    for (i, x) in noise(1_000_000).enumerate() {
        a.push(f32::from_bits(x));
        let y = x.wrapping_mul(2_654_435_761).rotate_left(13);
        let moderate = (y as i32 as f32) / 2.0_f32.powi(20 + (i % 20) as i32);
        b.push(if i % 4 == 0 { f32::from_bits(y) } else { moderate });
    }
    (a, b)
}

/// Checks a function of two operands, in all three forms, which must agree bit for bit.
fn check2(name: &str, bound: f64, exact: impl Fn(f64, f64) -> f64) {
    let (a, b) = pairs();
    let n = a.len();
    each_isa(|isa, loops| {
        let f = loops.binary(name).unwrap();
        let mut y = vec![0.0; n];
        // SAFETY: all have `n` elements, and the result does not overlap the operands.
        unsafe { (f.vv)(a.as_ptr(), b.as_ptr(), y.as_mut_ptr(), n) };
        let mut worst = 0.0_f64;
        for i in 0..n {
            let want = exact(f64::from(a[i]), f64::from(b[i]));
            let error = ulps(y[i], want);
            worst = worst.max(error);
            assert!(error <= bound, "{name}({:e}, {:e}) on {isa:?}: {:e} for {want:e}", a[i], b[i], y[i]);
        }
        println!("{name:>10} {:>10} {worst:8.3}", format!("{isa:?}"));
        for i in (0..n).step_by(997) {
            let (mut vs, mut sv) = (0.0, 0.0);
            // SAFETY: there is one element.
            unsafe {
                (f.vs)(&a[i], b[i], &mut vs, 1);
                (f.sv)(a[i], &b[i], &mut sv, 1);
            }
            let same = |z: f32| z.to_bits() == y[i].to_bits() || (z.is_nan() && y[i].is_nan());
            assert!(same(vs) && same(sv), "{name}({:e}, {:e}) on {isa:?}: {vs:e}, {sv:e}", a[i], b[i]);
        }
    });
}

#[test]
fn functions_of_two() {
    check2("add", 0.5, |a, b| a + b);
    check2("sub", 0.5, |a, b| a - b);
    check2("mul", 0.5, |a, b| a * b);
    check2("div", 0.5, |a, b| a / b);
    let nan = |a: f64, b: f64| a.is_nan() || b.is_nan();
    check2("maximum", 0.0, |a, b| {
        if nan(a, b) {
            f64::NAN
        } else if a < b {
            b
        } else {
            a
        }
    });
    check2("minimum", 0.0, |a, b| {
        if nan(a, b) {
            f64::NAN
        } else if b < a {
            b
        } else {
            a
        }
    });
    check2("copysign", 0.0, f64::copysign);
    check2("hypot", 0.51, f64::hypot);
    check2("atan2", 0.51, f64::atan2);
    check2("pow", 0.51, f64::powf);
    for name in ["fmod", "remainder", "floor_div"] {
        let float = gradus_ir::ops::pointwise::all().find(|op| op.name == name).unwrap().float.unwrap();
        check2(name, 0.5, |a, b| float(&[a, b]));
    }
}

/// Fails if a function has no check above, such as that of a new pointwise op.
#[test]
fn every_function_has_a_check() {
    let (unary, binary) = loops_on::<f32>(Isa::Portable).unwrap().names();
    assert_eq!((unary.len(), binary.len()), (34, 13));
    // `vector_loops.rs` checks the arithmetic among these.
    let (unary, binary) = loops_on::<f64>(Isa::Portable).unwrap().names();
    assert_eq!((unary.len(), binary.len()), (11 + 6, 10));
}

/// Returns the number of representable `f64` numbers between two results.
fn ulps_f64(got: f64, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_sign_negative() != want.is_sign_negative() || (want == 0.0 && got != 0.0) {
        return f64::INFINITY;
    }
    got.to_bits().abs_diff(want.to_bits()) as f64
}

/// Checks a function of `f64` against the standard library's, which has small errors too.
fn check_f64(name: &str, bound: f64, exact: impl Fn(f64) -> f64) {
    let mut x: Vec<f64> = Vec::new();
    // All exponents, and more numbers of ordinary size.
    for (i, bits) in noise(500_000).enumerate() {
        let bits = u64::from(bits) << 32 | u64::from(bits.wrapping_mul(2_654_435_761));
        x.push(f64::from_bits(bits));
        let unit = f64::from_bits(bits >> 12 | 1.0_f64.to_bits()) - 1.5;
        x.push(unit * 2.0_f64.powi(i as i32 % 24 - 12));
        x.push(1.0 + unit * 2.0_f64.powi(-(i as i32 % 30)));
    }
    for v in [0.0, 5e-324, f64::MIN_POSITIVE, 0.625, 1.0, 20.0, 709.782712893384, 745.2, f64::INFINITY] {
        for step in -100..=100_i64 {
            let bits = v.to_bits().wrapping_add_signed(step) & (u64::MAX >> 1);
            x.extend([f64::from_bits(bits), -f64::from_bits(bits)]);
        }
    }
    for isa in Isa::available() {
        let f = loops_on::<f64>(*isa).unwrap().unary(name).unwrap();
        let mut y = vec![0.0; x.len()];
        // SAFETY: both have the length of `x` and do not overlap.
        unsafe { f(x.as_ptr(), y.as_mut_ptr(), x.len()) };
        let mut worst = 0.0_f64;
        for (x, y) in x.iter().zip(&y) {
            let want = exact(*x);
            worst = worst.max(ulps_f64(*y, want));
            assert!(ulps_f64(*y, want) <= bound, "{name}({x:e}) on {isa:?}: {y:e} for {want:e}");
        }
        println!("{name:>10} {:>10} {worst:8.3} of f64", format!("{isa:?}"));
    }
}

#[test]
fn functions_of_f64() {
    check_f64("exp", 2.0, f64::exp);
    check_f64("log", 2.0, f64::ln);
    // The expected value has two more roundings.
    check_f64("sigmoid", 3.0, sigmoid);
    check_f64("tanh", 3.0, libm::tanh);
    check_f64("sin", 2.0, f64::sin);
    check_f64("cos", 2.0, f64::cos);
}
