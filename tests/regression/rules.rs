//! Rules in special cases: ties, zeros, negative bases, dtypes.

use crate::common::{adjoint, checked, close, f64s, gradients, near, noise, second_order};
use gradus::func::{AvgPoolOptions, MaxPoolOptions, avg_pool2d, max_pool2d};
use gradus::ir::C;
use gradus::{DType, FftNorm, Tensor, grad, jvp};

/// Value and gradient of a sum, elements as `f64`, in a dtype.
fn typed(x: &Tensor, dtype: DType, f: impl Fn(&Tensor) -> Tensor) -> (Vec<f64>, Vec<f64>) {
    let x = x.to_dtype(dtype);
    let y = f(&x);
    let g = grad(&[&x], |x| f(&x[0]).to_dtype(DType::F64).sum(())).unwrap().remove(0);
    assert_eq!((y.dtype(), g.dtype()), (dtype, dtype));
    (f64s(&y.to_dtype(DType::F64)), f64s(&g.to_dtype(DType::F64)))
}

const FLOATS: [DType; 4] = [DType::F64, DType::F32, DType::BF16, DType::F16];

#[test]
fn fault_04_ties_of_reduced_extremes_share() {
    let x = Tensor::from([2.0, 2.0, 1.0]);
    assert_eq!(gradients(&[&x], |x| x[0].max(0)), [[0.5, 0.5, 0.0]]);
    let y = Tensor::from([1.0, 3.0, 1.0, 1.0]);
    close(&gradients(&[&y], |x| x[0].min(0))[0], &[1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]);
    let rows = Tensor::from([[1.0, 1.0], [0.0, 5.0]]);
    assert_eq!(gradients(&[&rows], |x| x[0].max(1).sum(())), [[0.5, 0.5, 0.0, 1.0]]);
}

#[test]
fn fault_05_product_with_zeros() {
    assert_eq!(gradients(&[&Tensor::from([0.0, 2.0, 3.0])], |x| x[0].prod(0)), [[6.0, 0.0, 0.0]]);
    assert_eq!(gradients(&[&Tensor::from([0.0, 0.0, 3.0])], |x| x[0].prod(0)), [[0.0, 0.0, 0.0]]);
    // The second derivative with respect to two zeros is the product of the other elements.
    let x = Tensor::from([0.0, 0.0, 3.0]);
    let h = gradus::hessian(&x, |x| x.prod(0)).unwrap();
    assert_eq!(f64s(&h), [0.0, 3.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    second_order(&[&x], |x| x[0].prod(0));
}

#[test]
fn fault_06_power_at_zero_and_below() {
    let (x, two) = (Tensor::from([0.0, 2.0]), Tensor::from([2.0, 2.0]));
    let g = gradients(&[&x, &two], |v| v[0].pow(&v[1]).sum(()));
    assert_eq!(g[0], [0.0, 4.0]);
    close(&g[1], &[0.0, 4.0 * 2f64.ln()]);
    // A power of a negative base has a derivative with respect to the base. That with respect to the exponent
    // is NaN.
    let (negative, two) = (Tensor::from([-3.0]), Tensor::from([2.0]));
    assert_eq!(gradients(&[&negative], |v| v[0].pow(&two).sum(())), [[-6.0]]);
    let exponent = gradus::grad(&[&two], |v| negative.pow(&v[0]).sum(())).unwrap();
    assert!(f64s(&exponent[0])[0].is_nan());
    assert_eq!(gradients(&[&Tensor::from(0.0)], |x| x[0].pow(1.0)), [[1.0]]);
    assert_eq!(gradients(&[&Tensor::from(0.0)], |x| x[0].pow(0.0)), [[0.0]]);
}

#[test]
fn fault_07_ties_of_two_operands_share_alike_in_both_modes() {
    let (a, b) = (Tensor::from([1.0, 2.0, 5.0]), Tensor::from([1.0, 3.0, 4.0]));
    let g = gradients(&[&a, &b], |v| v[0].maximum(&v[1]).sum(()));
    assert_eq!(g, [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]);
    let g = gradients(&[&a, &b], |v| v[0].minimum(&v[1]).sum(()));
    assert_eq!(g, [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]);
    let zero = a.zeros_like();
    let (_, t) = jvp(&[&a, &b], &[&a.ones_like(), &zero], |v| v[0].maximum(&v[1])).unwrap();
    assert_eq!(f64s(&t[0]), [0.5, 0.0, 1.0]);
}

#[test]
fn fault_08_zero_gradients_have_the_dtype_of_their_input() {
    let x = Tensor::from([-1.0, 0.5, 3.0]);
    for dtype in FLOATS {
        let (y, g) = typed(&x, dtype, |x| x.gt(0.0).select(&(x * 2.0), 0.0));
        assert_eq!((y, g), (vec![0.0, 1.0, 6.0], vec![0.0, 2.0, 2.0]));
        let (y, g) = typed(&x, dtype, |x| x.maximum(1.0));
        assert_eq!((y, g), (vec![1.0, 1.0, 3.0], vec![0.0, 0.0, 1.0]));
        let (y, g) = typed(&x, dtype, |x| x.minimum(1.0));
        assert_eq!((y, g), (vec![-1.0, 0.5, 1.0], vec![1.0, 1.0, 0.0]));
        // The gradient of an input on which the result does not depend is zeros of the input's dtype.
        let (a, b) = (x.to_dtype(dtype), x.to_dtype(dtype));
        let g = grad(&[&a, &b], |v| v[0].sum(()).to_dtype(DType::F64)).unwrap();
        assert_eq!((g[1].dtype(), f64s(&g[1].to_dtype(DType::F64))), (dtype, vec![0.0; 3]));
    }
}

#[test]
fn fault_09_constants_in_rules_have_the_operands_dtype() {
    let x = Tensor::from([1.0, 2.0, 3.0, 6.0]);
    for dtype in FLOATS {
        let (y, g) = typed(&x, dtype, |x| x.mean(()));
        assert_eq!((y, g), (vec![3.0], vec![0.25; 4]));
    }
    // Exact in f64, not a third rounded to f32.
    assert_eq!(gradients(&[&Tensor::from([1.0, 2.0, 3.0])], |x| x[0].mean(())), [[1.0 / 3.0; 3]]);
    // The factor 1/√n of an orthonormal Fourier transform, computed on paper for n = 4, in every width that
    // complex numbers have.
    for dtype in [DType::F64, DType::F32] {
        let y = x.to_dtype(dtype).fft(None, 0, FftNorm::Ortho);
        assert_eq!(y.dtype(), dtype.complex());
        close(&f64s(&y.real().to_dtype(DType::F64)), &[6.0, -1.0, -2.0, -1.0]);
        close(&f64s(&y.imag().to_dtype(DType::F64)), &[0.0, 2.0, 0.0, -2.0]);
        let (_, g) = typed(&x, dtype, |x| x.rfft(None, 0, FftNorm::Ortho).real().at(1));
        near(&g, &[0.5, 0.0, -0.5, 0.0], 1e-7);
    }
    // The transform keeps lengths, so the gradient of half the squared length is the point itself. For n = 3,
    // 1/√n is rounded.
    let x = Tensor::from([1.0, -2.0, 0.5]);
    for (norm, by) in [(FftNorm::Ortho, 1.0), (FftNorm::Backward, 3.0), (FftNorm::Forward, 1.0 / 3.0)] {
        let half = |x: &[Tensor]| {
            let y = x[0].fft(None, 0, norm);
            (y.real().square() + y.imag().square()).sum(()) * 0.5
        };
        close(&gradients(&[&x], half)[0], &f64s(&(&x * by)));
        second_order(&[&x], half);
    }
}

#[test]
fn fault_10_pools_of_every_kind_and_dtype() {
    let x = noise(&[1, 2, 4, 4], 3);
    for dtype in [DType::F64, DType::F32] {
        let (_, g) = typed(&x, dtype, |x| avg_pool2d(x, 2, &AvgPoolOptions::default()));
        assert_eq!(g, vec![0.25; 32]);
    }
    let weights = noise(&[1, 2, 2, 2], 4);
    checked(&[&x], |x| (avg_pool2d(&x[0], 2, &AvgPoolOptions::default()) * &weights).sum(()));
    checked(&[&x], |x| (max_pool2d(&x[0], 2, &MaxPoolOptions::default()) * &weights).sum(()));
    // Sum, minimum and product pools are reductions of windows.
    let windows = |x: &Tensor| x.unfold(2, 2, 2).unfold(3, 2, 2);
    let pooled: [&dyn Fn(&Tensor) -> Tensor; 3] =
        [&|w| w.sum([-1, -2]), &|w| w.min([-1, -2]), &|w| w.prod([-1, -2])];
    for pool in pooled {
        checked(&[&x], |x| (pool(&windows(&x[0])) * &weights).sum(()));
    }
    second_order(&[&x], |x| (windows(&x[0]).prod([-1, -2]) * &weights).sum(()));
}

#[test]
fn fault_18_rounding_and_absolute_value_alike_in_both_modes() {
    let x = Tensor::from([0.4, -2.6]);
    let one = Tensor::from([1.0, 1.0]);
    for f in [Tensor::round, Tensor::floor, Tensor::ceil, Tensor::trunc, Tensor::sign] {
        // The identity is added, because the tape reports that the result of step functions alone requires no
        // gradients.
        assert_eq!(gradients(&[&x], |x| (f(&x[0]) + &x[0]).sum(())), [[1.0, 1.0]]);
        assert_eq!(f64s(&grad(&[&x], |x| f(&x[0]).sum(())).unwrap()[0]), [0.0, 0.0]);
        let (_, t) = jvp(&[&x], &[&one], |x| f(&x[0])).unwrap();
        assert_eq!(f64s(&t[0]), [0.0, 0.0]);
    }
    let x = Tensor::from([0.0, -2.0]);
    assert_eq!(gradients(&[&x], |x| x[0].abs().sum(())), [[0.0, -1.0]]);
    let (_, t) = jvp(&[&x], &[&one], |x| x[0].abs()).unwrap();
    assert_eq!(f64s(&t[0]), [0.0, -1.0]);
    adjoint(&x, |x| x.abs());
}

#[test]
fn fault_31_integers_carry_no_gradient() {
    let x = Tensor::from([2.7, -2.7]);
    let cut = |x: &Tensor| x.to_dtype(DType::I32).to_dtype(DType::F64);
    assert_eq!(f64s(&cut(&x)), [2.0, -2.0]);
    assert_eq!(f64s(&grad(&[&x], |x| (cut(&x[0]) + &x[0]).sum(())).unwrap()[0]), [1.0, 1.0]);
    assert_eq!(f64s(&grad(&[&x], |x| cut(&x[0]).sum(())).unwrap()[0]), [0.0, 0.0]);
    assert_eq!(f64s(&jvp(&[&x], &[&x], |x| cut(&x[0])).unwrap().1[0]), [0.0, 0.0]);
    assert!(!x.requires_grad_().to_dtype(DType::I32).requires_grad());
}

#[test]
fn fault_32_complex_gradients_have_both_parts() {
    // L = |z|² at 3: 2z = 6, along both parts.
    let z = Tensor::from(C::new(3.0, 0.0));
    let length = |z: &[Tensor]| z[0].abs().square();
    assert_eq!(grad(&[&z], length).unwrap()[0].item::<C>().unwrap(), C::new(6.0, 0.0));
    let z = Tensor::from(C::new(3.0, -4.0));
    let g = grad(&[&z], length).unwrap()[0].item::<C>().unwrap();
    assert!((g - C::new(6.0, -8.0)).norm() < 1e-14, "{g}");
    let leaf = z.requires_grad_();
    length(std::slice::from_ref(&leaf)).backward().unwrap();
    assert!((leaf.grad().unwrap().item::<C>().unwrap() - g).norm() < 1e-14);
    // A real value that is cast to complex gets its complete gradient, which is real.
    let x = Tensor::from(3.0);
    assert_eq!(gradients(&[&x], |x| length(&[x[0].to_dtype(DType::C128)])), [[6.0]]);
    assert_eq!(gradients(&[&x], |x| length(&[x[0].complex(1.0)])), [[6.0]]);
    // Pullbacks of products use conjugates (Aᴴ, not Aᵀ). Real and imaginary parts are compared with
    // differences.
    let (re, im) = (noise(&[2, 2], 1), noise(&[2, 2], 2));
    checked(&[&re, &im], |v| {
        let a = v[0].complex(&v[1]);
        let y = a.matmul(&a.conj().t()).matmul(&a);
        (y.real() * &re + y.imag() * &im).sum(())
    });
    // The pullback of a linear solve uses Aᴴ too. It is compared with the formula for one number, then with
    // differences.
    let (a, b) = (Tensor::from([[C::new(1.0, 2.0)]]), Tensor::from([C::new(3.0, -1.0)]));
    // The gradients of Re(b / a) are 1 / conj(a) with respect to b, and -conj(b / a²) with respect to a.
    let g = grad(&[&a, &b], |v| v[0].solve(&v[1]).real().sum(())).unwrap();
    let (da, db) = (g[0].to_vec::<C>().unwrap()[0], g[1].to_vec::<C>().unwrap()[0]);
    assert!((db - C::new(0.2, 0.4)).norm() < 1e-15, "{db}");
    assert!((da - C::new(0.52, -0.36)).norm() < 1e-15, "{da}");
    let rights = [noise(&[2], 3), noise(&[2], 4)];
    let solved = |v: &[Tensor]| {
        let a = v[0].complex(&v[1]) + Tensor::eye(2).to_dtype(DType::C128) * 2.0;
        let y = a.solve(&v[2].complex(&v[3]));
        (y.real() * &rights[1] + y.imag() * y.real()).sum(())
    };
    checked(&[&re, &im, &rights[0], &rights[1]], solved);
    second_order(&[&re, &im, &rights[0], &rights[1]], solved);
}
