//! Printing: `{}` as NumPy prints arrays, `{:?}` with dtype and autograd.

use gradus_ir::{C, DType};
use gradus_tensor::{Tensor, trace};
use half::{bf16, f16};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[track_caller]
fn assert_shows(t: impl Into<Tensor>, right: &str) {
    let found = t.into().to_string();
    assert_eq!(found, right, "found\n{found}\nnot\n{right}");
}

#[track_caller]
fn assert_debug_shows(t: &Tensor, right: &str) {
    let found = format!("{t:?}");
    assert_eq!(found, right, "found\n{found}\nnot\n{right}");
}

#[test]
fn scalars_are_bare() {
    assert_shows(1.5f32, "1.5");
    assert_shows(2.0f64, "2.");
    assert_shows(-0.0f64, "-0.");
    assert_shows(7i64, "7");
    assert_shows(true, "true");
    assert_shows(NAN, "nan");
    assert_shows(-INF, "-inf");
    assert_shows(C::new(1.0, -2.5), "1.-2.5j");
    assert_shows(1e-10, "1.e-10");
    assert_shows(123456789.0, "1.23456789e+08");
}

#[test]
fn decimal_points_are_aligned() {
    assert_shows([1.0, 2.5, -3.25], "[ 1.    2.5  -3.25]");
    assert_shows([[1.0, 2.0], [3.0, 4.0]], "[[1. 2.]\n [3. 4.]]");
    assert_shows([[1.0, -20.0], [300.0, 0.5]], "[[  1.  -20. ]\n [300.    0.5]]");
    assert_shows([0.0, -0.0], "[ 0. -0.]");
}

#[test]
fn digits_identify_numbers() {
    assert_shows([1.0f64 / 3.0, 0.1], "[0.33333333 0.1       ]");
    assert_shows([1.0f32 / 3.0, 0.1], "[0.33333334 0.1       ]");
    assert_shows([f16::from_f64(1.0 / 3.0), f16::from_f64(0.1)], "[0.3333 0.1   ]");
    assert_shows([bf16::from_f64(1.0 / 3.0), bf16::from_f64(0.1)], "[0.334 0.1  ]");
    assert_shows([16777216.0f32, 123456.79], "[16777216.     123456.79]");
    assert_shows([99999.999999999], "[100000.]");
    assert_shows([0.1 + 0.2], "[0.3]");
}

#[test]
fn precision_bounds_the_digits() {
    let x = Tensor::from([std::f64::consts::PI, 0.5, -2.0]);
    assert_eq!(format!("{x:.2}"), "[ 3.14  0.5  -2.  ]");
    assert_eq!(format!("{x:.0?}"), "Tensor([ 3.,  0., -2.], dtype=f64)");
    assert_eq!(format!("{:.2}", x * 1e9), "[ 3.14e+09  5.00e+08 -2.00e+09]");
}

#[test]
fn exponents_where_the_range_needs_them() {
    assert_shows([1e-5, 1.0], "[1.e-05 1.e+00]");
    assert_shows([1.5e10, 2.25], "[1.50e+10 2.25e+00]");
    assert_shows([1e8, 1.0], "[1.e+08 1.e+00]");
    assert_shows([0.001, 100.0], "[1.e-03 1.e+02]");
    assert_shows([0.5, 100.0], "[  0.5 100. ]");
    assert_shows([1e200, -1e-300, 0.0], "[ 1.e+200 -1.e-300  0.e+000]");
    assert_shows([f32::MAX, 1.0], "[3.4028235e+38 1.0000000e+00]");
    assert_shows([1e-9, NAN, -INF], "[1.e-09    nan   -inf]");
}

#[test]
fn nan_and_infinity_are_aligned() {
    assert_shows([1.0, NAN, 2.5], "[1.  nan 2.5]");
    assert_shows([1.0, INF, -INF], "[  1.  inf -inf]");
    assert_shows([NAN, NAN], "[nan nan]");
    assert_shows([[NAN, 10.25], [-1.0, INF]], "[[  nan 10.25]\n [-1.     inf]]");
}

#[test]
fn integers_and_booleans_are_aligned_to_the_right() {
    assert_shows([1i64, -20, 300], "[  1 -20 300]");
    assert_shows([[1u8, 2], [30, 4]], "[[ 1  2]\n [30  4]]");
    assert_shows([i64::MIN, 0], "[-9223372036854775808                    0]");
    assert_shows([true, false], "[ true false]");
    assert_shows([true], "[true]");
}

#[test]
fn complex_numbers_keep_their_unit() {
    assert_shows([C::new(1.0, 2.0), C::new(3.0, -4.0)], "[1.+2.j 3.-4.j]");
    assert_shows([C::new(1.5, -0.25), C::new(-10.0, 1.0)], "[  1.5-0.25j -10. +1.j  ]");
    assert_shows([C::new(NAN, 0.0), C::new(0.0, INF)], "[nan +0.j  0.+infj]");
}

#[test]
fn arrays_nest() {
    let cube = [[[1i64, 2], [3, 4]], [[5, 6], [7, 8]]];
    assert_shows(cube, "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]");
    let deep = Tensor::from([1i64, 2]).reshape([2, 1, 1, 1]);
    assert_shows(deep, "[[[[1]]]\n\n\n [[[2]]]]");
}

#[test]
fn long_rows_are_wrapped() {
    let numbers: Vec<i64> = (1000..1020).collect();
    let right = "[1000 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010 1011 1012 1013\n 1014 1015 1016 1017 1018 1019]";
    assert_shows(numbers, right);
}

#[test]
fn views_print_their_own_elements() {
    let x = Tensor::arange(0, 6, 1).reshape([2, 3]);
    assert_shows(x.t(), "[[0 3]\n [1 4]\n [2 5]]");
    assert_shows(x.flip(1).at((.., 1..)), "[[1 0]\n [4 3]]");
}

#[test]
fn empty_arrays_show_their_extents() {
    assert_shows(Tensor::zeros([0]), "[]");
    assert_shows(Tensor::zeros([2, 0]), "[], shape=[2,0]");
    assert_debug_shows(&Tensor::zeros([0, 3]), "Tensor([], shape=[0,3], dtype=f32)");
}

#[test]
fn large_arrays_show_their_edges() {
    assert_shows(Tensor::arange(0, 1001, 1), "[   0    1    2 ...  998  999 1000]");
    let wide = Tensor::arange(0, 7000, 1).reshape([7, 1000]);
    let right = "[[   0    1    2 ...  997  998  999]
 [1000 1001 1002 ... 1997 1998 1999]
 [2000 2001 2002 ... 2997 2998 2999]
 ...
 [4000 4001 4002 ... 4997 4998 4999]
 [5000 5001 5002 ... 5997 5998 5999]
 [6000 6001 6002 ... 6997 6998 6999]]";
    assert_shows(wide, right);
    let narrow = Tensor::arange(0, 1002, 1).reshape([501, 2]);
    assert_shows(
        narrow,
        "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [ 996  997]\n [ 998  999]\n [1000 1001]]",
    );
    let right = "Tensor([[0., 0., 0., ..., 0., 0., 0.],
        [0., 0., 0., ..., 0., 0., 0.],
        [0., 0., 0., ..., 0., 0., 0.],
        ...,
        [0., 0., 0., ..., 0., 0., 0.],
        [0., 0., 0., ..., 0., 0., 0.],
        [0., 0., 0., ..., 0., 0., 0.]], dtype=f32)";
    assert_debug_shows(&Tensor::zeros([1 << 25, 1 << 25]), right);
}

#[test]
fn debug_shows_dtype_and_state() {
    let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.5]]);
    assert_debug_shows(&x, "Tensor([[1. , 2. ],\n        [3. , 4.5]], dtype=f32)");
    assert_debug_shows(&Tensor::from(3i64), "Tensor(3, dtype=i64)");
    let leaf = Tensor::from([1.0, 2.0]).requires_grad_();
    assert_debug_shows(&leaf, "Tensor([1., 2.], dtype=f64, requires_grad=true)");
    assert_debug_shows(&(&leaf * 2.0), "Tensor([2., 4.], dtype=f64, requires_grad=true)");
    assert_debug_shows(&leaf.detach(), "Tensor([1., 2.], dtype=f64)");
    assert_debug_shows(&x.to_dtype(DType::BF16).cell().at(0), "Tensor([1., 2.], dtype=bf16)");
    let bad = Tensor::ones([2]) + &Tensor::ones([3]);
    assert!(
        format!("{bad:?}").starts_with("Tensor(failed: add: extents [2] and [3] do not broadcast"),
        "{bad:?}"
    );
    assert!(bad.to_string().starts_with("failed: add: extents"), "{bad}");
    trace(&[&Tensor::ones([2, 3])], |x| {
        assert_debug_shows(&x[0], "Tensor(traced f32[2,3])");
        assert_shows(x[0].clone(), "traced f32[2,3]");
        x[0].clone()
    })
    .unwrap();
}
