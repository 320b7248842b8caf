//! Tests properties of all loops: lengths, memory, masks, reductions, conversions, and equal bits on all instruction sets.

use gradus_cpu::Isa;
use gradus_cpu::vector::{Element, Loops, conversions_on, ints_on, loops_on, masks_on};
use std::fmt::Debug;

/// Numbers of all kinds, enough for lengths beyond two blocks.
fn numbers<T: From<f32>>(count: usize) -> Vec<T> {
    let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1.5, 2.5, 3e38, -0.5];
    let number = |i: usize| if i % 7 == 3 { special[i / 7 % special.len()] } else { i as f32 * 0.37 - 20.0 };
    (0..count).map(|i| T::from(number(i))).collect()
}

trait Float: Element + Default + Debug + PartialEq + PartialOrd + From<f32> {
    fn bits(self) -> u64;
}

impl Float for f32 {
    fn bits(self) -> u64 {
        if self.is_nan() { u64::MAX } else { self.to_bits().into() }
    }
}

impl Float for f64 {
    fn bits(self) -> u64 {
        if self.is_nan() { u64::MAX } else { self.to_bits() }
    }
}

fn bits<T: Float>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| x.bits()).collect()
}

fn all<T: Float>(check: impl Fn(Isa, &'static Loops<T>)) {
    for isa in Isa::available() {
        check(*isa, loops_on(*isa).unwrap());
    }
}

const LENGTHS: [usize; 6] = [127, 128, 129, 191, 192, 200];

fn lengths() -> impl Iterator<Item = usize> {
    (0..=70).chain(LENGTHS)
}

/// Checks that the value of an element does not depend on its position, that nothing is written after the end, and that
/// the result may overwrite the operand.
fn positions_and_overwriting<T: Float>() {
    let x = numbers::<T>(200);
    let guard = T::from(77.0);
    all(|isa, loops: &Loops<T>| {
        let (unary, binary) = loops.names();
        for name in unary {
            let f = loops.unary(name).unwrap();
            let mut whole = vec![guard; 200];
            // SAFETY: both have 200 elements.
            unsafe { f(x.as_ptr(), whole.as_mut_ptr(), 200) };
            for n in lengths() {
                let start = 200 - n;
                let (mut y, mut in_place) = (vec![guard; n + 1], x[start..].to_vec());
                in_place.push(guard);
                // SAFETY: all have at least `n` elements.
                unsafe {
                    f(x[start..].as_ptr(), y.as_mut_ptr(), n);
                    f(in_place.as_ptr(), in_place.as_mut_ptr(), n);
                }
                assert_eq!(bits(&y[..n]), bits(&whole[start..]), "{name} on {isa:?}, {n} elements");
                assert_eq!(bits(&y), bits(&in_place), "{name} on {isa:?} in place, {n} elements");
                assert_eq!(y[n], guard, "{name} on {isa:?} beyond {n} elements");
            }
        }
        for name in binary {
            let f = loops.binary(name).unwrap().vv;
            let b: Vec<T> = x.iter().rev().copied().collect();
            let mut whole = vec![guard; 200];
            // SAFETY: all have 200 elements.
            unsafe { f(x.as_ptr(), b.as_ptr(), whole.as_mut_ptr(), 200) };
            for n in lengths() {
                let start = 200 - n;
                let (mut y, mut first, mut second) =
                    (vec![guard; n + 1], x[start..].to_vec(), b[start..].to_vec());
                // SAFETY: all have at least `n` elements.
                unsafe {
                    f(first.as_ptr(), second.as_ptr(), y.as_mut_ptr(), n);
                    f(first.as_ptr(), second.as_ptr(), first.as_mut_ptr(), n);
                    f(x[start..].as_ptr(), second.as_ptr(), second.as_mut_ptr(), n);
                }
                for other in [&y[..n], &first, &second] {
                    assert_eq!(bits(other), bits(&whole[start..]), "{name} on {isa:?}, {n} elements");
                }
                assert_eq!(y[n], guard, "{name} on {isa:?} beyond {n} elements");
            }
        }
    });
}

#[test]
fn lengths_and_memory_f32() {
    positions_and_overwriting::<f32>();
}

#[test]
fn lengths_and_memory_f64() {
    positions_and_overwriting::<f64>();
}

/// Tests that arithmetic on `f64` equals that of Rust's operators.
#[test]
fn arithmetic_f64() {
    let x = numbers::<f64>(200);
    let b: Vec<f64> = x.iter().rev().map(|x| x * 1.1).collect();
    type Unary = fn(f64) -> f64;
    type Binary = fn(f64, f64) -> f64;
    let unary: [(&str, Unary); 11] = [
        ("neg", |x| -x),
        ("abs", f64::abs),
        ("sign", |x| if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }),
        ("floor", f64::floor),
        ("ceil", f64::ceil),
        ("round", f64::round_ties_even),
        ("trunc", f64::trunc),
        ("square", |x| x * x),
        ("reciprocal", |x| 1.0 / x),
        ("sqrt", f64::sqrt),
        ("rsqrt", |x| 1.0 / x.sqrt()),
    ];
    let binary: [(&str, Binary); 7] = [
        ("add", |a, b| a + b),
        ("sub", |a, b| a - b),
        ("mul", |a, b| a * b),
        ("div", |a, b| a / b),
        ("maximum", |a, b| if a.is_nan() || a >= b { a } else { b }),
        ("minimum", |a, b| if a.is_nan() || a <= b { a } else { b }),
        ("copysign", f64::copysign),
    ];
    all(|isa, loops: &Loops<f64>| {
        let mut y = vec![0.0; 200];
        for (name, exact) in unary {
            // SAFETY: both have 200 elements.
            unsafe { loops.unary(name).unwrap()(x.as_ptr(), y.as_mut_ptr(), 200) };
            let want: Vec<f64> = x.iter().map(|x| exact(*x)).collect();
            assert_eq!(bits(&y), bits(&want), "{name} on {isa:?}");
        }
        for (name, exact) in binary {
            // SAFETY: all have 200 elements.
            unsafe { (loops.binary(name).unwrap().vv)(x.as_ptr(), b.as_ptr(), y.as_mut_ptr(), 200) };
            let want: Vec<f64> = x.iter().zip(&b).map(|(a, b)| exact(*a, *b)).collect();
            assert_eq!(bits(&y), bits(&want), "{name} on {isa:?}");
        }
    });
}

fn masks<T: Float>() {
    let a = numbers::<T>(150);
    let mut b = a.clone();
    b.rotate_left(7);
    b[..40].copy_from_slice(&a[..40]);
    type Test<T> = fn(T, T) -> bool;
    let compares: [(&str, Test<T>); 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    let infinity = T::from(f32::INFINITY);
    all(|isa, loops: &Loops<T>| {
        let mut m = vec![9_u8; 151];
        for (name, holds) in compares {
            let f = loops.compare(name).unwrap();
            // SAFETY: all have at least 150 elements.
            unsafe { (f.vv)(a.as_ptr(), b.as_ptr(), m.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().zip(&b).map(|(a, b)| holds(*a, *b).into()).collect();
            assert_eq!((&m[..150], m[150]), (&want[..], 9), "{name} on {isa:?}");
            // SAFETY: `a` and `m` have at least 150 elements.
            unsafe { (f.vs)(a.as_ptr(), a[20], m.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().map(|x| holds(*x, a[20]).into()).collect();
            assert_eq!(m[..150], want, "{name} on {isa:?}");
            // SAFETY: `a` and `m` have at least 150 elements.
            unsafe { (f.sv)(a[20], a.as_ptr(), m.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().map(|x| holds(a[20], *x).into()).collect();
            assert_eq!(m[..150], want, "{name} on {isa:?}");
        }
        let is_inf = |x: T| x == infinity || x.bits() == T::from(f32::NEG_INFINITY).bits();
        let tests: [(&str, &dyn Fn(T) -> bool); 3] = [
            ("is_nan", &|x| x.bits() == u64::MAX),
            ("is_inf", &is_inf),
            ("is_finite", &|x| !is_inf(x) && x.bits() != u64::MAX),
        ];
        for (name, holds) in tests {
            // SAFETY: `a` and `m` have at least 150 elements.
            unsafe { loops.test(name).unwrap()(a.as_ptr(), m.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().map(|x| holds(*x).into()).collect();
            assert_eq!(m[..150], want, "{name} on {isa:?}");
        }
        // Any byte but 0 is true.
        let mask: Vec<u8> = (0..150).map(|i| if i % 3 == 0 { 0 } else { i }).collect();
        let (s, t) = (T::from(4.0), T::from(5.0));
        let choose = |a: &dyn Fn(usize) -> T, b: &dyn Fn(usize) -> T| -> Vec<u64> {
            (0..150).map(|i| if mask[i] != 0 { a(i).bits() } else { b(i).bits() }).collect()
        };
        let mut y = vec![T::default(); 150];
        // SAFETY: all have at least 150 elements.
        unsafe { (loops.select.vv)(mask.as_ptr(), a.as_ptr(), b.as_ptr(), y.as_mut_ptr(), 150) };
        assert_eq!(bits(&y), choose(&|i| a[i], &|i| b[i]));
        // SAFETY: all have at least 150 elements.
        unsafe { (loops.select.vs)(mask.as_ptr(), a.as_ptr(), s, y.as_mut_ptr(), 150) };
        assert_eq!(bits(&y), choose(&|i| a[i], &|_| s));
        // SAFETY: all have at least 150 elements.
        unsafe { (loops.select.sv)(mask.as_ptr(), s, b.as_ptr(), y.as_mut_ptr(), 150) };
        assert_eq!(bits(&y), choose(&|_| s, &|i| b[i]));
        // SAFETY: mask and `y` have 150 elements.
        unsafe { (loops.select.ss)(mask.as_ptr(), s, t, y.as_mut_ptr(), 150) };
        assert_eq!(bits(&y), choose(&|_| s, &|_| t));
    });
}

#[test]
fn masks_f32() {
    masks::<f32>();
}

#[test]
fn masks_f64() {
    masks::<f64>();
}

#[test]
fn logic() {
    // Any byte but 0 is true.
    let a: Vec<u8> = (0..150).map(|i| [0, 1, 2, 255][i % 4]).collect();
    let b: Vec<u8> = (0..150).map(|i| [0, 4, 0, 1, 128][i % 5]).collect();
    type Rule = fn(bool, bool) -> bool;
    let rules: [(&str, Rule); 3] = [("and", |a, b| a & b), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)];
    for isa in Isa::available() {
        let masks = masks_on(*isa).unwrap();
        let mut y = vec![9; 150];
        for (name, rule) in rules {
            let f = masks.binary(name).unwrap();
            // SAFETY: all have 150 elements.
            unsafe { (f.vv)(a.as_ptr(), b.as_ptr(), y.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().zip(&b).map(|(a, b)| rule(*a != 0, *b != 0).into()).collect();
            assert_eq!(y, want, "{name} on {isa:?}");
            // SAFETY: all have 150 elements.
            unsafe { (f.vs)(a.as_ptr(), 2, y.as_mut_ptr(), 150) };
            let want: Vec<u8> = a.iter().map(|a| rule(*a != 0, true).into()).collect();
            assert_eq!(y, want, "{name} on {isa:?}");
        }
        // SAFETY: both have 150 elements.
        unsafe { masks.unary("not").unwrap()(a.as_ptr(), y.as_mut_ptr(), 150) };
        let want: Vec<u8> = a.iter().map(|a| (*a == 0).into()).collect();
        assert_eq!(y, want, "not on {isa:?}");
    }
}

#[test]
fn integer_loops() {
    let edge = [0, 1, -1, 7, i64::MAX, i64::MIN, -100, 27];
    // Tests lengths with every kind of remainder after complete blocks.
    for (isa, n) in Isa::available().iter().flat_map(|isa| [1, 2, 3, 7, 8, 15, 64, 77].map(|n| (isa, n))) {
        let a: Vec<i64> = (0..n).map(|i| edge[i % 8]).collect();
        let b: Vec<i64> = (0..n).map(|i| edge[(i * 3 + i / 8) % 8]).collect();
        let ints = ints_on(*isa).unwrap();
        let (mut y, mut m) = (vec![9; n], vec![9; n]);
        type Sum = fn(i64, i64) -> i64;
        let rules: [(&str, Sum); 10] = [
            ("add", i64::wrapping_add),
            ("sub", i64::wrapping_sub),
            ("mul", i64::wrapping_mul),
            ("maximum", Ord::max),
            ("minimum", Ord::min),
            ("and", |a, b| a & b),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
            ("shl", |a, b| if (0..64).contains(&b) { a << b } else { 0 }),
            ("shr", |a, b| if (0..64).contains(&b) { a >> b } else { a >> 63 }),
        ];
        for (name, rule) in rules {
            let f = ints.binary(name).unwrap();
            // SAFETY: all have `n` elements.
            unsafe { (f.vv)(a.as_ptr(), b.as_ptr(), y.as_mut_ptr(), n) };
            assert_eq!(
                y,
                a.iter().zip(&b).map(|(a, b)| rule(*a, *b)).collect::<Vec<_>>(),
                "{name} on {isa:?}"
            );
            // SAFETY: `b` and `y` have `n` elements.
            unsafe { (f.sv)(-3, b.as_ptr(), y.as_mut_ptr(), n) };
            assert_eq!(y, b.iter().map(|b| rule(-3, *b)).collect::<Vec<_>>(), "{name} on {isa:?}");
        }
        type One = fn(i64) -> i64;
        let rules: [(&str, One); 5] = [
            ("neg", i64::wrapping_neg),
            ("abs", i64::wrapping_abs),
            ("sign", i64::signum),
            ("square", |a| a.wrapping_mul(a)),
            ("not", |a| !a),
        ];
        for (name, rule) in rules {
            // SAFETY: all have `n` elements.
            unsafe { ints.unary(name).unwrap()(a.as_ptr(), y.as_mut_ptr(), n) };
            assert_eq!(y, a.iter().map(|a| rule(*a)).collect::<Vec<_>>(), "{name} on {isa:?}");
        }
        // SAFETY: there are `n` elements.
        let folds =
            unsafe { [(ints.sum)(a.as_ptr(), n), (ints.max)(a.as_ptr(), n), (ints.min)(a.as_ptr(), n)] };
        let sum = a.iter().fold(0, |x: i64, y| x.wrapping_add(*y));
        assert_eq!(folds, [sum, *a.iter().max().unwrap(), *a.iter().min().unwrap()], "{isa:?}");
        type Rule = fn(&i64, &i64) -> bool;
        let rules: [(&str, Rule); 6] = [
            ("eq", i64::eq),
            ("ne", i64::ne),
            ("lt", i64::lt),
            ("le", i64::le),
            ("gt", i64::gt),
            ("ge", i64::ge),
        ];
        for (name, rule) in rules {
            let f = ints.compare(name).unwrap();
            // SAFETY: all have `n` elements.
            unsafe { (f.vv)(a.as_ptr(), b.as_ptr(), m.as_mut_ptr(), n) };
            assert_eq!(m, a.iter().zip(&b).map(|(a, b)| rule(a, b).into()).collect::<Vec<u8>>(), "{name}");
            // SAFETY: all have `n` elements; a mask may have any bytes.
            unsafe { (ints.select.vs)(m.as_ptr(), a.as_ptr(), 5, y.as_mut_ptr(), n) };
            let want: Vec<i64> = a.iter().zip(&m).map(|(a, m)| if *m != 0 { *a } else { 5 }).collect();
            assert_eq!(y, want, "select on {isa:?}");
        }
    }
}

/// Returns integers, whose products and sums are exact in any order.
fn integers<T: From<f32>>(count: usize) -> Vec<T> {
    (0..count).map(|i| T::from(((i * 37) % 101) as f32 - 50.0)).collect()
}

fn products<T: Float + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + std::iter::Sum>() {
    let (a, b, c) = (integers::<T>(150), integers::<T>(220).split_off(70), integers::<T>(199).split_off(49));
    let (s, t) = (T::from(3.0), T::from(-7.0));
    all(|_, loops: &Loops<T>| {
        let f = loops.fma;
        let mut y = vec![T::default(); 150];
        let out = y.as_mut_ptr();
        let want = |f: &dyn Fn(usize) -> T| (0..150).map(f).collect::<Vec<T>>();
        // SAFETY: all have 150 elements.
        unsafe { (f.vvv)(a.as_ptr(), b.as_ptr(), c.as_ptr(), out, 150) };
        assert_eq!(y, want(&|i| a[i] * b[i] + c[i]));
        // SAFETY: all have 150 elements.
        unsafe { (f.vvs)(a.as_ptr(), b.as_ptr(), s, y.as_mut_ptr(), 150) };
        assert_eq!(y, want(&|i| a[i] * b[i] + s));
        // SAFETY: all have 150 elements.
        unsafe { (f.vsv)(a.as_ptr(), t, c.as_ptr(), y.as_mut_ptr(), 150) };
        assert_eq!(y, want(&|i| a[i] * t + c[i]));
        // SAFETY: all have 150 elements.
        unsafe { (f.vss)(a.as_ptr(), t, s, y.as_mut_ptr(), 150) };
        assert_eq!(y, want(&|i| a[i] * t + s));
        for n in lengths().filter(|n| *n <= 150) {
            // SAFETY: both have at least `n` elements.
            let dot = unsafe { (loops.dot)(a.as_ptr(), b.as_ptr(), n) };
            assert_eq!(dot, (0..n).map(|i| a[i] * b[i]).sum(), "{n} elements");
        }
    });
}

#[test]
fn products_f32() {
    products::<f32>();
}

#[test]
fn products_f64() {
    products::<f64>();
}

/// Returns a sum in the documented order, by an independent implementation.
fn sum_in_order<T: Float + std::ops::Add<Output = T>>(x: &[T]) -> T {
    let mut lanes: Vec<T> = vec![T::from(-0.0); 64];
    for (i, x) in x.iter().enumerate() {
        lanes[i % 64] = lanes[i % 64] + *x;
    }
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        lanes = lanes.iter().zip(upper).map(|(a, b)| *a + b).collect();
    }
    if x.is_empty() { T::from(0.0) } else { lanes[0] }
}

fn reductions<T: Float + std::ops::Add<Output = T>>() {
    let finite: Vec<T> =
        (0..200).map(|i| T::from((i as f32 * 0.73).sin() * 10.0_f32.powi(i % 9 - 4))).collect();
    let special = numbers::<T>(200);
    all(|isa, loops: &Loops<T>| {
        for x in [&finite, &special] {
            for n in lengths() {
                let x = &x[200 - n..];
                // SAFETY: there are `n` elements.
                let (sum, max, min) = unsafe {
                    ((loops.sum)(x.as_ptr(), n), (loops.max)(x.as_ptr(), n), (loops.min)(x.as_ptr(), n))
                };
                assert_eq!(sum.bits(), sum_in_order(x).bits(), "sum of {n} on {isa:?}");
                let nan = x.iter().find(|x| x.bits() == u64::MAX).copied();
                let larger = |a: T, b: &T| if a < *b { *b } else { a };
                let smaller = |a: T, b: &T| if *b < a { *b } else { a };
                let wants = [
                    (max, nan.unwrap_or(x.iter().fold(T::from(f32::NEG_INFINITY), larger))),
                    (min, nan.unwrap_or(x.iter().fold(T::from(f32::INFINITY), smaller))),
                ];
                for (got, want) in wants {
                    assert!(
                        got == want || got.bits() == want.bits(),
                        "{got:?} for {want:?} of {n} on {isa:?}"
                    );
                }
            }
        }
        // Tests NaN at every position of a block and of the remainder.
        for position in 0..130 {
            let mut x = [T::from(1.0); 130];
            x[position] = T::from(f32::NAN);
            // SAFETY: there are 130 elements.
            let (max, min) = unsafe { ((loops.max)(x.as_ptr(), 130), (loops.min)(x.as_ptr(), 130)) };
            assert_eq!((max.bits(), min.bits()), (u64::MAX, u64::MAX), "NaN at {position} on {isa:?}");
        }
    });
}

#[test]
fn reductions_f32() {
    reductions::<f32>();
}

#[test]
fn reductions_f64() {
    reductions::<f64>();
}

/// Runs a conversion over all values, in one call.
fn converted<T, U: Clone + Default>(f: unsafe fn(*const T, *mut U, usize), x: &[T]) -> Vec<U> {
    let mut y = vec![U::default(); x.len()];
    // SAFETY: both have as many elements as `x`.
    unsafe { f(x.as_ptr(), y.as_mut_ptr(), x.len()) };
    y
}

#[test]
fn conversions() {
    let every_half: Vec<u16> = (0..=u16::MAX).collect();
    let mut singles: Vec<f32> = (0..u32::MAX / 4001).map(|i| f32::from_bits(i * 4001)).collect();
    // Tests numbers halfway between adjacent values of the narrow types, and their neighbours.
    for bits in (0..=u16::MAX).step_by(3) {
        for step in [-1, 0, 1] {
            let f16 = half::f16::from_bits(bits).to_f32().to_bits().wrapping_add(0x1000);
            singles.push(f32::from_bits(f16.wrapping_add_signed(step)));
            singles.push(f32::from_bits((u32::from(bits) << 16 | 0x8000).wrapping_add_signed(step)));
        }
    }
    singles.extend([65_519.996, 65_520.0, 2.0_f32.powi(-25), 2.0_f32.powi(-24), f32::NAN, -0.0]);
    let mut ints: Vec<i64> = (0..100_000).map(|i: i32| i64::from(i.wrapping_mul(42_949_673))).collect();
    ints.extend((0..100_000).map(|i: i64| i.wrapping_mul(184_467_440_737_095_517)));
    ints.extend([i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into(), -1, 0, 1 << 53 | 1]);
    let doubles: Vec<f64> = singles.iter().map(|x| f64::from(*x) * 1.000_000_031).collect();
    let bytes: Vec<u8> = (0..=255).collect();
    for isa in Isa::available() {
        let to = conversions_on(*isa).unwrap();
        let wide = converted(to.bf16_f32, &every_half);
        let wider = converted(to.f16_f32, &every_half);
        for (i, bits) in every_half.iter().enumerate() {
            let want = (half::bf16::from_bits(*bits).to_f32(), half::f16::from_bits(*bits).to_f32());
            assert_eq!(
                (wide[i].bits(), wider[i].bits()),
                (want.0.bits(), want.1.bits()),
                "{bits:#x} on {isa:?}"
            );
        }
        let (bf16, f16) = (converted(to.f32_bf16, &singles), converted(to.f32_f16, &singles));
        let (i64s, f64s) = (converted(to.f32_i64, &singles), converted(to.f32_f64, &singles));
        let mask = converted(to.f32_mask, &singles);
        for (i, x) in singles.iter().enumerate() {
            assert_eq!(bf16[i], half::bf16::from_f32(*x).to_bits(), "{x:e} on {isa:?}");
            assert_eq!(f16[i], half::f16::from_f32(*x).to_bits(), "{x:e} on {isa:?}");
            assert_eq!((i64s[i], f64s[i].bits()), (*x as i64, f64::from(*x).bits()), "{x:e} on {isa:?}");
            assert_eq!(mask[i], u8::from(*x != 0.0), "{x:e} on {isa:?}");
        }
        let (f32s, i64s) = (converted(to.f64_f32, &doubles), converted(to.f64_i64, &doubles));
        let mask = converted(to.f64_mask, &doubles);
        for (i, x) in doubles.iter().enumerate() {
            let got = (f32s[i].bits(), i64s[i], mask[i]);
            assert_eq!(got, ((*x as f32).bits(), *x as i64, u8::from(*x != 0.0)), "{x:e} on {isa:?}");
        }
        let (f32s, f64s) = (converted(to.i64_f32, &ints), converted(to.i64_f64, &ints));
        let narrow = (
            converted(to.i64_i8, &ints),
            converted(to.i64_u8, &ints),
            converted(to.i64_i32, &ints),
            converted(to.i64_u32, &ints),
        );
        let wrapped = [to.wrap_i8, to.wrap_u8, to.wrap_i32, to.wrap_u32].map(|f| converted(f, &ints));
        let widened = [
            converted(to.i8_i64, &narrow.0),
            converted(to.u8_i64, &narrow.1),
            converted(to.i32_i64, &narrow.2),
            converted(to.u32_i64, &narrow.3),
        ];
        let mask = converted(to.i64_mask, &ints);
        for (i, x) in ints.iter().enumerate() {
            assert_eq!((f32s[i], f64s[i]), (*x as f32, *x as f64), "{x} on {isa:?}");
            assert_eq!(mask[i], u8::from(*x != 0), "{x} on {isa:?}");
            let want = [*x as i8 as i64, *x as u8 as i64, *x as i32 as i64, *x as u32 as i64];
            assert_eq!([0, 1, 2, 3].map(|k: usize| wrapped[k][i]), want, "{x} on {isa:?}");
            assert_eq!([0, 1, 2, 3].map(|k: usize| widened[k][i]), want, "{x} on {isa:?}");
        }
        let want: Vec<f32> = (0..=255).map(|m| f32::from(u8::from(m != 0))).collect();
        assert_eq!(converted(to.mask_f32, &bytes), want);
        assert_eq!(converted(to.mask_i64, &bytes), want.iter().map(|x| *x as i64).collect::<Vec<_>>());
        assert_eq!(converted(to.mask_f64, &bytes), want.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
    }
}

#[test]
fn names() {
    let loops = loops_on::<f32>(Isa::best()).unwrap();
    assert!(loops.unary("exp").is_some() && loops.binary("pow").is_some());
    assert!(loops.unary("pow").is_none() && loops.compare("add").is_none() && loops.test("exp").is_none());
    assert_eq!(Isa::available()[0], Isa::Portable);
}
