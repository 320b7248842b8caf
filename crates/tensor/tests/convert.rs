//! Conversions to and from Rust containers, and the dtype of mixed expressions.

use gradus_ir::{Aval, C, DType, Literal};
use gradus_tensor::{Element, Tensor, compile};
use half::{bf16, f16};
use ndarray::{Array, Array2, ArrayD, ArrayView2, arr0, s};
use num_complex::Complex;
use std::fmt::Debug;

/// Converts values to a tensor and back by every conversion.
#[track_caller]
fn round_trip<T: Element + PartialEq + Debug>(v: [T; 4]) {
    let t = Tensor::from(v);
    assert_eq!((t.dtype(), &t.shape()[..]), (T::DTYPE, &[4][..]));
    assert_eq!(t.to_vec::<T>().unwrap(), v);
    assert_eq!(Tensor::from(v.to_vec()).to_vec::<T>().unwrap(), v);
    assert_eq!(Tensor::from(&v[..]).to_vec::<T>().unwrap(), v);
    assert_eq!(Tensor::from_slice(&v, [2, 2]).to_vec2::<T>().unwrap(), [&v[..2], &v[2..]]);
    assert_eq!(Tensor::from(v[1]).item::<T>().unwrap(), v[1]);
    assert_eq!(t.at(3).item::<T>().unwrap(), v[3]);
    assert_eq!(Tensor::from_literal(&t.to_literal().unwrap()).to_vec::<T>().unwrap(), v);
    assert_eq!(t.to_ndarray::<T>().unwrap(), ArrayD::from_shape_vec(vec![4], v.to_vec()).unwrap());
    assert_eq!(t.cell().to_vec::<T>().unwrap(), v);
    assert_eq!(t.flip(0).to_vec::<T>().unwrap(), [v[3], v[2], v[1], v[0]]);
}

#[test]
fn all_dtypes() {
    round_trip([1.5f32, -0.0, f32::MAX, f32::INFINITY]);
    round_trip([1.5f64, f64::MIN_POSITIVE, f64::MAX, f64::NEG_INFINITY]);
    round_trip([1.5, -2.25, 3e38, 1e-38].map(bf16::from_f64));
    round_trip([1.5, -2.25, 65504.0, 6e-8].map(f16::from_f64));
    round_trip([i8::MIN, -1, 0, i8::MAX]);
    round_trip([u8::MIN, 1, 128, u8::MAX]);
    round_trip([i32::MIN, -1, 0, i32::MAX]);
    round_trip([u32::MIN, 1, 1 << 31, u32::MAX]);
    round_trip([i64::MIN, -1, (1 << 53) + 1, i64::MAX]);
    round_trip([true, false, false, true]);
    round_trip([
        Complex::new(1.0f32, -2.0),
        Complex::new(0.0, 1.0),
        Complex::new(-1.5, 0.0),
        Complex::new(3.0, 3.0),
    ]);
    round_trip([C::new(1.0, -2.0), C::new(0.0, 1.0), C::new(-1.5, 0.0), C::new(3.0, 1e300)]);
}

#[test]
fn nested() {
    let shape = |t: Tensor| t.shape().to_vec();
    assert_eq!(shape(Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])), [2, 3]);
    assert_eq!(shape(Tensor::from([[[1i64; 4]; 3]; 2])), [2, 3, 4]);
    let deep = [[[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]];
    assert_eq!(shape(Tensor::from(deep)), [1, 2, 2, 2]);
    assert_eq!(Tensor::from(deep).to_vec::<u8>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    let rows = vec![vec![1.0f32, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
    assert_eq!(Tensor::from(rows.clone()).to_vec2::<f32>().unwrap(), rows);
    assert_eq!(shape(Tensor::from(Vec::<Vec<f32>>::new())), [0, 0]);
    assert_eq!(shape(Tensor::from(vec![Vec::<f32>::new(); 3])), [3, 0]);
    assert_eq!(shape(Tensor::from(Vec::<bool>::new())), [0]);
    assert_eq!(
        Tensor::from(vec![Vec::<i64>::new(); 2]).to_vec2::<i64>().unwrap(),
        vec![Vec::<i64>::new(); 2]
    );
}

#[test]
fn ndarrays() {
    let a = Array::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 12 + j * 4 + k) as f64);
    assert_eq!(Tensor::from(a.clone()).to_ndarray::<f64>().unwrap(), a.clone().into_dyn());
    // Views that are not in row-major order.
    let part = a.slice(s![.., ..;-1, 1..;2]);
    let t = Tensor::from(part);
    assert_eq!(&t.shape()[..], [2, 3, 2]);
    assert_eq!(t.to_ndarray::<f64>().unwrap(), part.to_owned().into_dyn());
    assert_eq!(Tensor::from(a.t()).to_ndarray::<f64>().unwrap(), a.t().to_owned().into_dyn());
    let wide = Array2::<i64>::eye(2);
    let spread: ArrayView2<'_, i64> = wide.slice(s![0..1, ..]);
    let spread = spread.broadcast((3, 2)).unwrap();
    assert_eq!(Tensor::from(spread).to_vec::<i64>().unwrap(), [1, 0, 1, 0, 1, 0]);
    assert_eq!(Tensor::from(arr0(2.5f32)).item::<f32>().unwrap(), 2.5);
    let fortran = Array2::from_shape_vec(ndarray::ShapeBuilder::f((2, 2)), vec![1i32, 2, 3, 4]).unwrap();
    assert_eq!(Tensor::from(fortran).to_vec::<i32>().unwrap(), [1, 3, 2, 4]);
    // A view is converted in its own order.
    let t = Tensor::from(a.clone()).permute([2, 0, 1]).at((1.., 0));
    let right = a.view().permuted_axes([2, 0, 1]).slice(s![1.., 0, ..]).to_owned();
    assert_eq!(t.to_ndarray::<f64>().unwrap(), right.into_dyn());
    assert_eq!(Tensor::zeros([2, 0]).to_ndarray::<f32>().unwrap().shape(), [2, 0]);
}

#[test]
fn casts() {
    let to = |t: Tensor, d: DType| t.to_dtype(d).to_literal().unwrap();
    let ints = |d: DType, v: &[i64]| Literal::ints(d, [v.len()], v.to_vec()).unwrap();
    let x = Tensor::from([2.9, -2.9, 300.0, f64::NAN, f64::INFINITY]);
    assert_eq!(to(x.clone(), DType::I8), ints(DType::I8, &[2, -2, 127, 0, 127]));
    assert_eq!(to(x.clone(), DType::U8), ints(DType::U8, &[2, 0, 255, 0, 255]));
    assert_eq!(to(x.clone(), DType::Bool), ints(DType::Bool, &[1, 1, 1, 1, 1]));
    assert_eq!(to(Tensor::from([300i64, -1]), DType::U8), ints(DType::U8, &[44, 255]));
    assert_eq!(to(Tensor::from([256i64, 0]), DType::Bool), ints(DType::Bool, &[1, 0]));
    let third = Tensor::from(1.0 / 3.0);
    assert_eq!(third.to_dtype(DType::F32).item::<f32>().unwrap(), 1.0 / 3.0);
    assert_eq!(third.to_dtype(DType::BF16).item::<bf16>().unwrap(), bf16::from_f64(1.0 / 3.0));
    assert_eq!(third.to_dtype(DType::F16).item::<f16>().unwrap(), f16::from_f64(1.0 / 3.0));
    assert_eq!(third.to_dtype(DType::C64).dtype(), DType::C64);
    assert!(third.to_dtype(DType::F64).is_same(&third));
    for a in DType::ALL {
        for b in DType::ALL {
            let one = Tensor::full([2], true).to_dtype(a).to_dtype(b).to_dtype(DType::I64);
            assert_eq!(one.to_vec::<i64>().unwrap(), [1, 1], "{a} to {b}");
        }
    }
}

/// A cast to a narrow dtype and back rounds in compiled code as in two eager calls.
#[test]
fn compiled_casts_round() {
    let x: Vec<f64> =
        (-20..17).map(|i| f64::from(i) * std::f64::consts::PI.powi(i / 4)).chain([7e4, 1e39]).collect();
    for from in [DType::F32, DType::F64, DType::C128] {
        let x = Tensor::from(x.clone()).to_dtype(from);
        for through in DType::ALL {
            // The sum makes a kernel of several ops. A product with an infinite complex number would have NaN
            // parts.
            let compiled = compile(&[&x], |x| x[0].to_dtype(through).to_dtype(from) + 0.5).unwrap();
            let narrow = x.to_dtype(through);
            let right = (narrow.to_dtype(from) + 0.5).to_literal().unwrap();
            assert_eq!(
                compiled.run(&[&x]).unwrap()[0].to_literal().unwrap(),
                right,
                "{from} through {through}"
            );
        }
    }
}

/// Promotion of every pair of dtypes, seen in the dtype of the sum.
#[test]
fn promotion_of_tensors() {
    use DType::*;
    let order = [Bool, I8, U8, I32, U32, I64, F16, BF16, F32, F64, C64, C128];
    // Row and column in that order; booleans are summed as i64.
    let table = [
        [I64, I8, U8, I32, U32, I64, F16, BF16, F32, F64, C64, C128],
        [I8, I8, I32, I32, I64, I64, F16, BF16, F32, F64, C64, C128],
        [U8, I32, U8, I32, U32, I64, F16, BF16, F32, F64, C64, C128],
        [I32, I32, I32, I32, I64, I64, F16, BF16, F32, F64, C64, C128],
        [U32, I64, U32, I64, U32, I64, F16, BF16, F32, F64, C64, C128],
        [I64, I64, I64, I64, I64, I64, F16, BF16, F32, F64, C64, C128],
        [F16, F16, F16, F16, F16, F16, F16, F32, F32, F64, C64, C128],
        [BF16, BF16, BF16, BF16, BF16, BF16, F32, BF16, F32, F64, C64, C128],
        [F32, F32, F32, F32, F32, F32, F32, F32, F32, F64, C64, C128],
        [F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, C128, C128],
        [C64, C64, C64, C64, C64, C64, C64, C64, C64, C128, C64, C128],
        [C128; 12],
    ];
    let one = |d: DType| Tensor::full([2], true).to_dtype(d);
    for (a, row) in order.into_iter().zip(table) {
        for (b, right) in order.into_iter().zip(row) {
            let sum = one(a) + one(b);
            assert_eq!(sum.dtype(), right, "{a} + {b}");
            assert_eq!(sum.to_dtype(I64).to_vec::<i64>().unwrap(), [2, 2], "{a} + {b}");
            assert_eq!((one(a) * one(b)).dtype(), right, "{a} * {b}");
            assert_eq!(one(a).eq(&one(b)).dtype(), Bool);
            let promoted = a.promote(b);
            assert_eq!(one(Bool).select(&one(a), &one(b)).dtype(), promoted, "select {a} {b}");
            assert_eq!(Tensor::cat(&[&one(a), &one(b)], 0).dtype(), promoted, "cat {a} {b}");
        }
    }
}

#[test]
fn numbers_adapt_to_the_other_operand() {
    use DType::*;
    let t = |d: DType| Tensor::full([2], true).to_dtype(d);
    for d in [I8, U8, I32, U32, I64] {
        assert_eq!((t(d) + 1).dtype(), d);
        assert_eq!((t(d) + true).dtype(), d);
        assert_eq!((t(d) + 1.5).dtype(), F32);
        assert_eq!((1.5 - t(d)).dtype(), F32);
        assert_eq!((t(d) * C::new(0.0, 1.0)).dtype(), C64);
        assert_eq!((t(d) / 2).dtype(), F32);
        assert_eq!((t(d) / &t(d)).dtype(), F32);
        assert_eq!(t(d).floor_div(2).dtype(), d);
        assert_eq!(t(d).div_trunc(2).dtype(), d);
        assert_eq!(t(d).remainder(2).dtype(), d);
        assert_eq!(t(d).pow(2).dtype(), d);
        assert_eq!(t(d).maximum(2).dtype(), d);
        assert_eq!(t(d).exp().dtype(), F32);
        assert_eq!(t(d).masked_fill(&t(Bool), 2).dtype(), d);
        assert_eq!(t(d).gt(0.5).dtype(), Bool);
    }
    for d in [F16, BF16, F32, F64] {
        assert_eq!((t(d) + 1).dtype(), d);
        assert_eq!((t(d) * 1.5).dtype(), d);
        assert_eq!((2 / t(d)).dtype(), d);
        assert_eq!(t(d).pow(0.5).dtype(), d);
        assert_eq!(t(Bool).select(&t(d), 0.0).dtype(), d);
        assert_eq!(t(Bool).select(0.0, &t(d)).dtype(), d);
        assert_eq!((t(d) + C::new(0.0, 1.0)).dtype(), if d == F64 { C128 } else { C64 });
    }
    assert_eq!((t(Bool) + 1).dtype(), I64);
    assert_eq!((t(Bool) * 2.5).dtype(), F32);
    assert_eq!((t(Bool) & true).dtype(), Bool);
    assert_eq!((t(Bool) / &t(Bool)).dtype(), F32);
    assert_eq!((-t(Bool)).to_vec::<i64>().unwrap(), [-1, -1]);
    assert_eq!((t(Bool) - &t(Bool)).to_vec::<i64>().unwrap(), [0, 0]);
    assert_eq!(t(Bool).exp().dtype(), F32);
    assert_eq!((t(C64) + 1.5).dtype(), C64);
    assert_eq!((t(C64) + C::new(0.0, 1.0)).dtype(), C64);
    let i = Tensor::from([3i64, -4]);
    assert_eq!((&i + 1.5).to_vec::<f32>().unwrap(), [4.5, -2.5]);
    assert_eq!((&i / 2).to_vec::<f32>().unwrap(), [1.5, -2.0]);
    assert_eq!((7 - &i).to_vec::<i64>().unwrap(), [4, 11]);
    assert_eq!((&Tensor::from([0.5f32, 1.0]) + &i).to_vec::<f32>().unwrap(), [3.5, -3.0]);
    assert_eq!((Tensor::from([250u8]) + 10).to_vec::<u8>().unwrap(), [4], "integers wrap");
    assert_eq!((Tensor::from([i64::MAX]) - 1).to_vec::<i64>().unwrap(), [i64::MAX - 1], "exactly");
    assert_eq!(i.floor_div(3).to_vec::<i64>().unwrap(), [1, -2]);
    assert_eq!(i.div_trunc(3).to_vec::<i64>().unwrap(), [1, -1]);
    assert_eq!(i.div_trunc(0).to_vec::<i64>().unwrap(), [0, 0]);
    assert_eq!(Tensor::from([7.5, -7.5]).div_trunc(2.0).to_vec::<f64>().unwrap(), [3.0, -3.0]);
    assert_eq!(i.logical_and(2.5).to_vec::<bool>().unwrap(), [true, true]);
}

#[test]
fn sums_of_narrow_integers_are_wide() {
    for d in [DType::Bool, DType::I8, DType::U8, DType::I32, DType::U32, DType::I64] {
        let many = Tensor::full([300], true).to_dtype(d);
        assert_eq!(many.sum(()).item::<i64>().unwrap(), 300, "{d}");
        assert_eq!(many.cumsum(0).at(-1).item::<i64>().unwrap(), 300, "{d}");
        assert_eq!(many.prod(()).item::<i64>().unwrap(), 1, "{d}");
        assert_eq!(many.max(()).dtype(), d);
        assert_eq!(many.any(()).dtype(), DType::Bool);
        assert_eq!(many.argmax(0).dtype(), DType::I64);
    }
    for d in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128] {
        assert_eq!(Tensor::full([2], true).to_dtype(d).sum(()).dtype(), d);
    }
}

#[test]
fn constructors() {
    let ints = |t: Tensor| t.to_vec::<i64>().unwrap();
    let floats = |t: Tensor| t.to_vec::<f32>().unwrap();
    assert_eq!(ints(Tensor::arange(0, 10, 3)), [0, 3, 6, 9]);
    assert_eq!(ints(Tensor::arange(5, 0, -2)), [5, 3, 1]);
    assert_eq!(ints(Tensor::arange(5, 0, 1)), [0i64; 0]);
    assert_eq!(ints(Tensor::arange(-2, 2, 1)), [-2, -1, 0, 1]);
    assert_eq!(ints(Tensor::arange(i64::MAX - 2, i64::MAX, 1)), [i64::MAX - 2, i64::MAX - 1]);
    assert_eq!(floats(Tensor::arange(0.0, 1.0, 0.25)), [0.0, 0.25, 0.5, 0.75]);
    assert_eq!(floats(Tensor::arange(0, 1.0, 0.5)), [0.0, 0.5]);
    assert_eq!(floats(Tensor::arange(1.0, 0.0, -0.5)), [1.0, 0.5]);
    assert_eq!(floats(Tensor::arange(1.0, 0.0, 0.5)), [0f32; 0]);
    assert_eq!(floats(Tensor::linspace(0.0, 1.0, 5)), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(floats(Tensor::linspace(3.0, -3.0, 3)), [3.0, 0.0, -3.0]);
    assert_eq!(floats(Tensor::linspace(2.0, 5.0, 1)), [2.0]);
    assert_eq!(floats(Tensor::linspace(2.0, 5.0, 0)), [0f32; 0]);
    assert_eq!(floats(Tensor::linspace(f64::INFINITY, 5.0, 1)), [f32::INFINITY]);
    let of = |dtype, n| Aval::new(dtype, [n]);
    assert_eq!(ints(Tensor::linspace_of(&of(DType::I64, 50), 0.0, 49.0)), (0..50).collect::<Vec<i64>>());
    let evenly = Tensor::linspace_of(&of(DType::F64, 101), 0.0, 100.0).to_vec::<f64>().unwrap();
    assert_eq!(evenly, (0..=100).map(f64::from).collect::<Vec<_>>());
    assert_eq!(ints(Tensor::linspace_of(&of(DType::I64, 5), 0.5, 9.7)), [0, 2, 4, 6, 9]);
    assert_eq!(Tensor::linspace_of(&of(DType::F64, 4), 0.0, 1e308).to_vec::<f64>().unwrap()[3], 1e308);
    assert_eq!(floats(Tensor::eye(2)), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(&Tensor::eye(0).shape()[..], [0, 0]);
    assert_eq!(floats(Tensor::full([2], 1.5)), [1.5, 1.5]);
    assert_eq!(ints(Tensor::full([2], 3)), [3, 3]);
    assert_eq!(Tensor::full([1], true).to_vec::<bool>().unwrap(), [true]);
    assert_eq!(Tensor::full([], C::new(1.0, 2.0)).item::<Complex<f32>>().unwrap(), Complex::new(1.0, 2.0));
    assert_eq!(floats(Tensor::zeros([2])), [0.0; 2]);
    assert_eq!(floats(Tensor::ones([0, 3])), [0f32; 0]);
    let x = Tensor::from([[1i8, 2]]);
    assert_eq!(x.ones_like().to_vec::<i8>().unwrap(), [1, 1]);
    assert_eq!(x.full_like(7.0).aval(), x.aval());
    assert_eq!(Tensor::iota(DType::F64, [2, 2], 0).to_vec::<f64>().unwrap(), [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn tensors_are_converted_to_bytes_and_back() {
    let x = Tensor::from([[1.5f32, -2.0, 3.0], [4.0, 5.0, f32::NAN]]);
    let bytes = x.t().to_bytes().unwrap();
    assert_eq!(bytes[..8], [1.5f32.to_le_bytes(), 4.0f32.to_le_bytes()].concat());
    let aval = Aval::new(DType::F32, [3, 2]);
    assert_eq!(Tensor::from_bytes(&aval, &bytes).to_bytes().unwrap(), bytes);
    let e = Tensor::from_bytes(&aval, &bytes[1..]).check().unwrap_err().to_string();
    assert!(e.contains("23 bytes do not hold f32[3,2], which takes 24"), "{e}");
    let flags = Tensor::from_bytes(&Aval::new(DType::Bool, [3]), &[1, 0, 1]);
    assert_eq!(flags.to_vec::<bool>().unwrap(), [true, false, true]);
    assert!(Tensor::from_bytes(&Aval::new(DType::Bool, [1]), &[2]).error().is_some());
}
