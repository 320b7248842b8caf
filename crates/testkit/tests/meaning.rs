//! Compares the reference evaluator with numbers computed independently.
//!
//! All other checks compare with the reference evaluator, so only these tests detect errors of the evaluator
//! itself.

use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::movement::{Broadcast, Concat, Flip, Pad, Permute, Slice};
use gradus_ir::ops::pointwise::{Cast, arith, compare};
use gradus_ir::ops::reduce::{ArgMax, ArgMin, Max, Min, Prod, Sum};
use gradus_ir::ops::select::Select;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::source::{Iota, RandomBits};
use gradus_ir::ops::window::{Fold, Windows};
use gradus_ir::ops::{Combine, complex};
use gradus_ir::reference::{apply, evaluate};
use gradus_ir::{Aval, C, DType, Literal, Op};
use gradus_testkit::compare::{Allowed, compare as close};
use gradus_testkit::random::Random;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn f(shape: &[usize], v: &[f64]) -> Literal {
    Literal::floats(DType::F64, shape, v.to_vec()).unwrap()
}

fn i(dtype: DType, shape: &[usize], v: &[i64]) -> Literal {
    Literal::ints(dtype, shape, v.to_vec()).unwrap()
}

fn c(v: &[(f64, f64)]) -> Literal {
    let data: Vec<C> = v.iter().map(|(re, im)| C::new(*re, *im)).collect();
    Literal::new(Aval::new(DType::C128, [v.len()]), data).unwrap()
}

/// Asserts that the op gives exactly these results.
#[track_caller]
fn gives(op: impl Into<Op>, ins: impl Into<Vec<Literal>>, outs: impl Into<Vec<Literal>>) {
    let op = op.into();
    assert_eq!(apply(&op, &ins.into()).unwrap(), outs.into(), "{op:?}");
}

#[test]
fn movements() {
    let x = f(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    gives(Permute { axes: vec![1, 0] }, [x.clone()], [f(&[3, 2], &[1., 4., 2., 5., 3., 6.])]);
    gives(Flip { axes: vec![1] }, [x.clone()], [f(&[2, 3], &[3., 2., 1., 6., 5., 4.])]);
    let slice = Slice { start: vec![0, 1], stop: vec![2, 3], step: vec![1, 1] };
    gives(slice, [x.clone()], [f(&[2, 2], &[2., 3., 5., 6.])]);
    let slice = Slice { start: vec![1, 0], stop: vec![2, 3], step: vec![5, 2] };
    gives(slice, [x.clone()], [f(&[1, 2], &[4., 6.])]);
    let pad = Pad { low: vec![1, -1], high: vec![0, 2], interior: vec![1, 0] };
    let padded = [0., 0., 0., 0., 2., 3., 0., 0., 0., 0., 0., 0., 5., 6., 0., 0.];
    gives(pad, [x.clone()], [f(&[4, 4], &padded)]);
    let column = f(&[2, 1], &[1., 2.]);
    gives(
        Broadcast { shape: [2, 2, 2].into() },
        [column.clone()],
        [f(&[2, 2, 2], &[1., 1., 2., 2., 1., 1., 2., 2.])],
    );
    let both = f(&[2, 4], &[1., 2., 3., 1., 4., 5., 6., 2.]);
    gives(Concat { axis: 1 }, [x.clone(), column], [both]);
    gives(
        Iota { aval: Aval::new(DType::I32, [2, 2]), axis: 0 },
        vec![],
        [i(DType::I32, &[2, 2], &[0, 0, 1, 1])],
    );
    let windows = Windows { size: vec![2], stride: vec![1], dilation: vec![1] };
    let seen = f(&[2, 2, 2], &[1., 2., 2., 3., 4., 5., 5., 6.]);
    gives(windows, [x], [seen.clone()]);
    let fold = Fold { extent: [3].into(), size: vec![2], stride: vec![1], dilation: vec![1] };
    gives(fold, [seen], [f(&[2, 3], &[1., 4., 3., 4., 10., 6.])]);
}

#[test]
fn reductions() {
    let x = f(&[2, 3], &[1., -2., 3., 4., NAN, -6.]);
    gives(Sum { axes: vec![0] }, [x.clone()], [f(&[3], &[5., NAN, -3.])]);
    gives(Max { axes: vec![1] }, [x.clone()], [f(&[2], &[3., NAN])]);
    gives(Min { axes: vec![1] }, [x.clone()], [f(&[2], &[-2., NAN])]);
    gives(ArgMax { axis: 1 }, [x.clone()], [i(DType::I64, &[2], &[2, 1])]);
    gives(ArgMin { axis: 1 }, [x], [i(DType::I64, &[2], &[1, 1])]);
    let ties = f(&[4], &[1., 3., 3., 1.]);
    gives(ArgMax { axis: 0 }, [ties.clone()], [i(DType::I64, &[], &[1])]);
    gives(ArgMin { axis: 0 }, [ties], [i(DType::I64, &[], &[0])]);
    let bytes = i(DType::U8, &[3], &[200, 100, 3]);
    gives(Sum { axes: vec![0] }, [bytes.clone()], [i(DType::U8, &[], &[47])]);
    gives(Prod { axes: vec![0] }, [bytes], [i(DType::U8, &[], &[96])]);
    let bools = i(DType::Bool, &[2, 2], &[1, 0, 1, 1]);
    gives(Max { axes: vec![1] }, [bools.clone()], [i(DType::Bool, &[2], &[1, 1])]);
    gives(Min { axes: vec![1] }, [bools], [i(DType::Bool, &[2], &[0, 1])]);
}

#[test]
fn reductions_over_empty_axes() {
    let empty = |dtype| Literal::scalar(DType::I64, 0.0).cast(dtype).aval().with_shape([0]);
    let none = |dtype| Random::new(0).literal(&empty(dtype));
    gives(Sum { axes: vec![0] }, [none(DType::F64)], [f(&[], &[0.])]);
    gives(Prod { axes: vec![0] }, [none(DType::C128)], [Literal::scalar(DType::C128, 1.0)]);
    for (dtype, low, high) in [
        (DType::I8, i8::MIN as i64, i8::MAX as i64),
        (DType::U8, 0, 255),
        (DType::I32, i32::MIN as i64, i32::MAX as i64),
        (DType::U32, 0, u32::MAX as i64),
        (DType::I64, i64::MIN, i64::MAX),
        (DType::Bool, 0, 1),
    ] {
        gives(Max { axes: vec![0] }, [none(dtype)], [i(dtype, &[], &[low])]);
        gives(Min { axes: vec![0] }, [none(dtype)], [i(dtype, &[], &[high])]);
    }
    gives(Max { axes: vec![0] }, [none(DType::F16)], [Literal::scalar(DType::F16, -INF)]);
    assert!(apply(&ArgMax { axis: 0 }.into(), &[none(DType::F64)]).is_err());
}

#[test]
fn running_combinations() {
    let x = f(&[4], &[1., 3., 2., 4.]);
    let run = |combine, reverse| Cumulate { combine, axis: 0, reverse };
    gives(run(Combine::Sum, false), [x.clone()], [f(&[4], &[1., 4., 6., 10.])]);
    gives(run(Combine::Sum, true), [x.clone()], [f(&[4], &[10., 9., 6., 4.])]);
    gives(run(Combine::Prod, false), [x.clone()], [f(&[4], &[1., 3., 6., 24.])]);
    gives(run(Combine::Max, false), [x.clone()], [f(&[4], &[1., 3., 3., 4.])]);
    gives(run(Combine::Min, true), [x.clone()], [f(&[4], &[1., 2., 2., 4.])]);
    gives(run(Combine::Max, false), [f(&[3], &[1., NAN, 2.])], [f(&[3], &[1., NAN, NAN])]);
    let logs = apply(&run(Combine::LogSumExp, false).into(), &[x]).unwrap();
    let direct: Vec<f64> =
        (1..=4).map(|n| [1f64, 3., 2., 4.][..n].iter().map(|x| x.exp()).sum::<f64>().ln()).collect();
    close(&f(&[4], &direct), &logs[0], Allowed::Relative(1e-15)).unwrap();
    let large = apply(&run(Combine::LogSumExp, false).into(), &[f(&[3], &[-INF, 1e4, 1e4])]).unwrap();
    close(&f(&[3], &[-INF, 1e4, 1e4 + 2f64.ln()]), &large[0], Allowed::Relative(1e-15)).unwrap();
}

#[test]
fn sorting() {
    let x = f(&[6], &[2., NAN, -1., 2., INF, -INF]);
    let up = [f(&[6], &[-INF, -1., 2., 2., INF, NAN]), i(DType::I64, &[6], &[5, 2, 0, 3, 4, 1])];
    gives(Sort::all(0, false), [x.clone()], up.clone());
    let down = [f(&[6], &[NAN, INF, 2., 2., -1., -INF]), i(DType::I64, &[6], &[1, 4, 0, 3, 2, 5])];
    gives(Sort::all(0, true), [x], down.clone());
    let x = f(&[6], &[2., NAN, -1., 2., INF, -INF]);
    let three = [f(&[3], &[NAN, INF, 2.]), i(DType::I64, &[3], &[1, 4, 0])];
    gives(Sort { axis: 0, descending: true, first: Some(3) }, [x], three);
    let x = i(DType::I32, &[2, 2], &[3, 1, 2, 5]);
    let lowest = [i(DType::I32, &[1, 2], &[2, 1]), i(DType::I64, &[1, 2], &[1, 0])];
    gives(Sort { axis: 0, descending: false, first: Some(1) }, [x.clone()], lowest);
    let sorted = [i(DType::I32, &[2, 2], &[2, 1, 3, 5]), i(DType::I64, &[2, 2], &[1, 0, 0, 1])];
    gives(Sort::all(0, false), [x], sorted.clone());
}

#[test]
fn indices() {
    let x = f(&[3, 2], &[1., 2., 3., 4., 5., 6.]);
    let at = i(DType::U8, &[2, 2], &[2, 0, 0, 2]);
    gives(Take { axis: 0 }, [x.clone(), at.clone()], [f(&[2, 2, 2], &[5., 6., 1., 2., 1., 2., 5., 6.])]);
    let at_columns = i(DType::I64, &[1], &[1]);
    gives(Take { axis: 1 }, [x.clone(), at_columns], [f(&[3, 1], &[2., 4., 6.])]);
    let at = i(DType::I64, &[3], &[2, 0, 2]);
    let updates = f(&[3, 2], &[10., 20., 30., 40., 50., -60.]);
    let scatter = |combine| Scatter { axis: 0, combine };
    let ins = [x.clone(), at, updates];
    gives(scatter(None), ins.clone(), [f(&[3, 2], &[30., 40., 3., 4., 50., -60.])]);
    gives(scatter(Some(Combine::Sum)), ins.clone(), [f(&[3, 2], &[31., 42., 3., 4., 65., -34.])]);
    gives(scatter(Some(Combine::Max)), ins.clone(), [f(&[3, 2], &[30., 40., 3., 4., 50., 20.])]);
    gives(scatter(Some(Combine::Min)), ins.clone(), [f(&[3, 2], &[1., 2., 3., 4., 5., -60.])]);
    for wrong in [-1, 3] {
        let message = apply(&Take { axis: 0 }.into(), &[x.clone(), i(DType::I64, &[1], &[wrong])]);
        let message = message.unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("take: index {wrong} is out of range for extent 3")),
            "{message}"
        );
    }
}

/// Compares with the documented sum, computed by plain loops.
#[test]
fn convolution() {
    let mut r = Random::new(3);
    for case in 0..60 {
        let pick = |r: &mut Random, low: i64, n: usize| low + r.below(n) as i64;
        let (stride, base, dilation) = (1 + r.below(3), 1 + r.below(3), 1 + r.below(3));
        let (low, high) = (pick(&mut r, -2, 6), pick(&mut r, -2, 6));
        let (n, g, ch, o, s, k) =
            (1 + r.below(2), 1 + r.below(2), 1 + r.below(2), 1 + r.below(2), 1 + r.below(5), 1 + r.below(3));
        let x = r.literal(&Aval::new(DType::F64, [n, g, ch, s]));
        let w = r.literal(&Aval::new(DType::F64, [g, o, ch, k]));
        let conv = Conv {
            stride: vec![stride],
            low: vec![low],
            high: vec![high],
            base_dilation: vec![base],
            window_dilation: vec![dilation],
        };
        let Ok(found) = apply(&conv.into(), &[x.clone(), w.clone()]) else { continue };
        let spread = (s as i64 - 1) * base as i64 + 1;
        // The operand as a function on all integers: its elements every `base`, zero elsewhere.
        let at = |ni: usize, gi: usize, ci: usize, p: i64| match p {
            p if p < 0 || p >= spread || p % base as i64 != 0 => 0.0,
            p => x.f()[((ni * g + gi) * ch + ci) * s + p as usize / base],
        };
        let p = (spread + low + high - ((k as i64 - 1) * dilation as i64 + 1)) as usize / stride + 1;
        let mut expected = Vec::new();
        for (ni, gi, oi, pi) in
            (0..n * g * o * p).map(|i| (i / (g * o * p), i / (o * p) % g, i / p % o, i % p))
        {
            let mut sum = 0.0;
            for (ci, ki) in (0..ch * k).map(|i| (i / k, i % k)) {
                let index = (pi * stride + ki * dilation) as i64 - low;
                sum += at(ni, gi, ci, index) * w.f()[((gi * o + oi) * ch + ci) * k + ki];
            }
            expected.push(sum);
        }
        let expected = f(&[n, g, o, p], &expected);
        if let Err(d) = close(&expected, &found[0], Allowed::Relative(1e-14)) {
            panic!("case {case}: {d}");
        }
    }
}

#[test]
fn contractions() {
    let a = f(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    let b = f(&[3, 2], &[1., 0., 0., 1., 1., 1.]);
    gives(Dot::new("ik", "kj", "ij"), [a.clone(), b.clone()], [f(&[2, 2], &[4., 5., 10., 11.])]);
    gives(Dot::new("ik", "kj", "ji"), [a.clone(), b], [f(&[2, 2], &[4., 10., 5., 11.])]);
    gives(Dot::new("ij", "ij", "j"), [a.clone(), a.clone()], [f(&[3], &[17., 29., 45.])]);
    gives(Dot::new("ij", "", "i"), [a, f(&[], &[2.])], [f(&[2], &[12., 30.])]);
    let z = c(&[(0., 1.), (1., 1.)]);
    gives(Dot::new("i", "i", ""), [z.clone(), z], [c(&[(-1., 2.)]).reshaped(&[].into()).unwrap()]);
}

#[test]
fn arithmetic_of_integers() {
    let (a, b) = (i(DType::I64, &[4], &[7, -7, 7, i64::MIN]), i(DType::I64, &[4], &[2, 2, 0, -1]));
    gives(&arith::div, [a, b], [i(DType::I64, &[4], &[3, -3, 0, i64::MIN])]);
    let (a, b) = (i(DType::I8, &[2], &[100, -128]), i(DType::I8, &[2], &[100, 1]));
    gives(&arith::add, [a.clone(), b.clone()], [i(DType::I8, &[2], &[-56, -127])]);
    gives(&arith::neg, [a.clone()], [i(DType::I8, &[2], &[-100, -128])]);
    gives(&compare::lt, [a, b], [i(DType::Bool, &[2], &[0, 1])]);
}

#[test]
fn casts() {
    let x = f(&[6], &[-1.9, 300.5, NAN, INF, -INF, 0.4]);
    gives(Cast { to: DType::U8 }, [x.clone()], [i(DType::U8, &[6], &[0, 255, 0, 255, 0, 0])]);
    gives(Cast { to: DType::I64 }, [x.clone()], [i(DType::I64, &[6], &[-1, 300, 0, i64::MAX, i64::MIN, 0])]);
    gives(Cast { to: DType::Bool }, [x], [i(DType::Bool, &[6], &[1, 1, 1, 1, 1, 1])]);
    gives(Cast { to: DType::I8 }, [i(DType::I64, &[2], &[200, -129])], [i(DType::I8, &[2], &[-56, 127])]);
    gives(Cast { to: DType::F64 }, [c(&[(1.5, 2.)])], [f(&[1], &[1.5])]);
    gives(Cast { to: DType::Bool }, [c(&[(0., 2.), (0., 0.)])], [i(DType::Bool, &[2], &[1, 0])]);
    // Just above the midpoint of two floats: rounding through f64 first would lose the difference.
    let above = (1i64 << 60) + (1 << 36) + 1;
    let expected = Literal::scalar(DType::F32, (above as f32) as f64);
    gives(Cast { to: DType::F32 }, [i(DType::I64, &[], &[above])], [expected]);
}

/// Rounding to narrow floats is to nearest, ties to even, also for digits beyond single precision.
#[test]
fn rounding() {
    let tiny = 2f64.powi(-26);
    for (dtype, bits) in [(DType::F16, 10), (DType::BF16, 7), (DType::F32, 23)] {
        let unit = 2f64.powi(-bits);
        for base in [1.0, 1.0 + unit, -1.0, 1.5, 2f64.powi(-10)] {
            let size = f64::abs(base).log2().floor().exp2();
            let half = unit * size / 2.0 * base.signum();
            let even = if (base.abs() / (unit * size)) % 2.0 == 0.0 { base } else { base + 2.0 * half };
            assert_eq!(dtype.round(base + half), even, "{dtype} tie at {base}");
            assert_eq!(dtype.round(base + half * (1.0 + tiny)), base + 2.0 * half, "{dtype} above at {base}");
            assert_eq!(dtype.round(base + half * (1.0 - tiny)), base, "{dtype} below at {base}");
        }
        for x in [0.0, -0.0, INF, -INF] {
            assert_eq!(dtype.round(x).to_bits(), x.to_bits(), "{dtype} {x}");
        }
        assert!(dtype.round(NAN).is_nan());
        let least = dtype.min_positive() * unit;
        assert_eq!(dtype.round(least), least, "{dtype}: the least subnormal");
        assert_eq!(dtype.round(least * 0.5), 0.0, "{dtype}: half of it");
        assert_eq!(dtype.round(least * 0.500001), least, "{dtype}: more than half of it");
        assert_eq!(dtype.round(1e300), INF);
    }
    assert_eq!(DType::F16.round(65519.99), 65504.0);
    assert_eq!(DType::F16.round(65520.0), INF);
    assert_eq!(DType::F16.round(-65520.0), -INF);
}

/// Every number of a narrow format rounds to itself, and the midpoint of two neighbours to the even one.
#[test]
fn rounding_of_every_half() {
    for (dtype, fraction, top) in [(DType::F16, 10, 31), (DType::BF16, 7, 255)] {
        let bias = top / 2;
        let value = |code: i64| {
            let (e, m) = (code >> fraction, code & ((1 << fraction) - 1));
            let scale = 2f64.powi((e.max(1) - bias - fraction) as i32);
            (if e == 0 { m } else { m + (1 << fraction) }) as f64 * scale
        };
        for code in 0..(top << fraction) - 1 {
            let (x, next) = (value(code), value(code + 1));
            assert_eq!(dtype.round(x), x);
            let middle = x + (next - x) / 2.0;
            assert_eq!(dtype.round(middle), if code % 2 == 0 { x } else { next }, "{dtype} {code}");
            assert_eq!(dtype.round(-middle), if code % 2 == 0 { -x } else { -next }, "{dtype} {code}");
        }
    }
}

#[test]
fn selections_and_complex_parts() {
    let (yes, no) = (f(&[2], &[1., NAN]), f(&[2], &[NAN, 2.]));
    gives(Select {}, [i(DType::Bool, &[2], &[1, 0]), yes, no], [f(&[2], &[1., 2.])]);
    let z = c(&[(1., 2.), (-0., -3.)]);
    gives(complex::Re {}, [z.clone()], [f(&[2], &[1., -0.])]);
    gives(complex::Im {}, [z.clone()], [f(&[2], &[2., -3.])]);
    gives(complex::Conj {}, [z.clone()], [c(&[(1., -2.), (-0., 3.)])]);
    gives(complex::Complex {}, [f(&[2], &[1., -0.]), f(&[2], &[2., -3.])], [z]);
    let (a, b) = (f(&[3], &[NAN, 1., -0.]), f(&[3], &[1., NAN, 0.]));
    let top = apply(&Op::from(&arith::maximum), &[a, b]).unwrap();
    close(&f(&[3], &[NAN, NAN, 0.]), &top[0], Allowed::Exact).unwrap();
}

/// The first words of Philox4x32-10 for key and counter zero, as its authors publish them.
#[test]
fn random_bits() {
    let state = i(DType::U32, &[4], &[0, 0, 0, 0]);
    let outs = apply(&RandomBits { shape: [4].into() }.into(), &[state]).unwrap();
    assert_eq!(outs[0].i(), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    // Continuing from the state after them gives the same stream.
    let rest = apply(&RandomBits { shape: [3].into() }.into(), &outs[1..]).unwrap();
    let all = apply(&RandomBits { shape: [7].into() }.into(), &[i(DType::U32, &[4], &[0; 4])]).unwrap();
    assert_eq!(all[0].i(), [outs[0].i(), rest[0].i()].concat());
    assert_eq!(all[1], rest[1]);
}

/// Floats are rounded once, at the end: no op inside a graph loses precision.
#[test]
fn a_graph_rounds_once() {
    let b = gradus_ir::Builder::new();
    let x = b.input("x", Aval::scalar(DType::F16));
    let graph = b.finish(&[(x * 1000.0) * x.full_like(1.0 / 1024.0)]).unwrap();
    let out = evaluate(&graph, &[Literal::scalar(DType::F16, 100.0)]).unwrap();
    assert_eq!(out[0], Literal::scalar(DType::F16, 100.0 * 1000.0 / 1024.0));
}
