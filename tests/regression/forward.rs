//! Forward mode: activations, normalisation, extremes, broadcasts, and second derivatives through it.

use crate::common::{adjoint, checked, close, f64s, gradients, near, noise, second_order};
use gradus::func::{MaxPoolOptions, conv2d, max_pool2d};
use gradus::{CrossEntropyOptions, ScanOptions, Tensor, cross_entropy, grad, hvp, jvp, scan};

/// A function of several tensors.
type Of<'a> = &'a dyn Fn(&[Tensor]) -> Tensor;

fn pushed(x: &Tensor, t: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Vec<f64> {
    f64s(&jvp(&[x], &[t], |x| f(&x[0])).unwrap().1[0])
}

#[test]
fn fault_11_gelu_forward() {
    let (x, one) = (Tensor::from(0.7), Tensor::from(1.0));
    // Φ(x) + x φ(x), and the derivative of the tanh form.
    let phi = (-0.245f64).exp() / std::f64::consts::TAU.sqrt();
    let right = 0.758_036_347_776_927 + 0.7 * phi;
    near(&pushed(&x, &one, Tensor::gelu), &[right], 1e-12);
    near(&pushed(&x, &one, Tensor::gelu), &[0.976_6], 1e-3);
    let c = (2.0 / std::f64::consts::PI).sqrt();
    let u = c * (0.7 + 0.044715 * 0.343);
    let tanh = 0.5 * (1.0 + u.tanh()) + 0.35 * (1.0 - u.tanh().powi(2)) * c * (1.0 + 3.0 * 0.044715 * 0.49);
    close(&pushed(&x, &one, Tensor::gelu_tanh), &[tanh]);
    assert!((right - tanh).abs() > 1e-5, "two functions");
    let sigmoid = 1.0 / (1.0 + (-0.7f64).exp());
    close(&pushed(&x, &one, Tensor::silu), &[sigmoid * (1.0 + 0.7 * (1.0 - sigmoid))]);
    for f in [Tensor::gelu, Tensor::gelu_tanh, Tensor::silu] {
        let x = Tensor::from([0.7, -1.2, 0.0, 4.0]);
        checked(&[&x], |x| f(&x[0]).sum(()));
        second_order(&[&x], |x| f(&x[0]).sum(()));
    }
}

#[test]
fn fault_12_norms_move_their_statistics() {
    let (x, w, b) = (noise(&[2, 4, 3], 1), noise(&[3], 2), noise(&[3], 3));
    let (gw, gb) = (noise(&[4], 4), noise(&[4], 5));
    let c = noise(&[2, 4, 3], 6);
    let norms: [Of<'_>; 2] = [&|v| v[0].layer_norm([3], Some(&v[1]), Some(&v[2]), 1e-5), &|v| {
        v[0].rms_norm([3], Some(&v[1]), 1e-5) + &v[2]
    }];
    for norm in norms {
        checked(&[&x, &w, &b], |v| (norm(v) * &c).sum(()));
        second_order(&[&x, &w, &b], |v| (norm(v) * &c).sum(()));
    }
    let group = |v: &[Tensor]| (v[0].group_norm(2, Some(&v[1]), Some(&v[2]), 1e-5) * &c).sum(());
    checked(&[&x, &gw, &gb], group);
    second_order(&[&x, &gw, &gb], group);
    // If a change of the inputs does not change the result, the tangent is 0. This holds for a shift of all
    // elements, and approximately for a scale.
    let t = pushed(&x, &x.ones_like(), |x| x.layer_norm([3], None, None, 1e-5));
    near(&t, &[0.0; 24], 1e-12);
    // The tangents of scale and shift contribute: d(ŵ·n + b) = n·dw + db.
    let n = x.layer_norm([3], None, None, 1e-5);
    let (zero, dw, db) = (x.zeros_like(), noise(&[3], 7), noise(&[3], 8));
    let (_, t) =
        jvp(&[&x, &w, &b], &[&zero, &dw, &db], |v| v[0].layer_norm([3], Some(&v[1]), Some(&v[2]), 1e-5))
            .unwrap();
    close(&f64s(&t[0]), &f64s(&(&n * &dw + &db)));
}

#[test]
fn fault_15_extremes_and_products_forward() {
    let x = Tensor::from([[1.0, 4.0, 2.0], [3.0, -1.0, 0.0]]);
    let t = Tensor::from([[1.0, 6.0, -2.0], [3.0, 5.0, 7.0]]);
    assert_eq!(pushed(&x, &t, |x| x.max(1)), [6.0, 3.0]);
    assert_eq!(pushed(&x, &t, |x| x.min(1)), [1.0, 5.0]);
    assert_eq!(pushed(&x, &t, |x| x.max(())), [6.0]);
    // 1·4·2: 8 + 2·6 + 4·(-2); 3·(-1)·0: only the zero's own tangent counts.
    assert_eq!(pushed(&x, &t, |x| x.prod(1)), [8.0 + 12.0 - 8.0, -21.0]);
    for f in [|x: &Tensor| x.max(1), |x: &Tensor| x.min(0), |x: &Tensor| x.prod(1)] {
        adjoint(&x, f);
    }
}

#[test]
fn fault_16_a_tangent_is_broadcast_as_its_value() {
    let (x, y) = (Tensor::from([1.0, 2.0, 3.0]), noise(&[2, 3], 1));
    let t = Tensor::from([1.0, -1.0, 2.0]);
    let twice = [1.0, -1.0, 2.0, 1.0, -1.0, 2.0];
    let (_, out) = jvp(&[&x], &[&t], |x| &x[0] + &y).unwrap();
    assert_eq!((out[0].shape().to_vec(), f64s(&out[0])), (vec![2, 3], twice.to_vec()));
    assert_eq!(pushed(&x, &t, |x| &y - x), twice.map(|v| -v));
    // With a second operand that has a tangent, zero or not.
    let (_, out) = jvp(&[&x, &y], &[&t, &y.zeros_like()], |v| &v[0] + &v[1]).unwrap();
    assert_eq!(f64s(&out[0]), twice);
    let g = gradients(&[&x, &y], |v| (&v[0] + &v[1]).sum(()));
    assert_eq!(g, [vec![2.0; 3], vec![1.0; 6]]);
}

#[test]
fn fault_17_second_order_of_everything() {
    let x = noise(&[2, 3], 1);
    let c = noise(&[2, 3], 2);
    for f in [Tensor::tanh, Tensor::exp, Tensor::sigmoid, Tensor::gelu] {
        second_order(&[&x], |x| (f(&x[0]) * &c).sum(()));
    }
    second_order(&[&x], |x| (x[0].softmax(-1) * &c).sum(()));
    second_order(&[&x], |x| (x[0].log_softmax(0) * &c).sum(()));
    let classes = Tensor::from([2i64, 0]);
    second_order(&[&x], |x| cross_entropy(&x[0], &classes, &CrossEntropyOptions::default()));
    let (image, window) = (noise(&[1, 2, 4, 4], 3), noise(&[2, 2, 3, 3], 4));
    second_order(&[&image, &window], |v| conv2d(&v[0], &v[1], None, &Default::default()).tanh().sum(()));
    second_order(&[&image], |v| max_pool2d(&v[0].square(), 2, &MaxPoolOptions::default()).square().sum(()));
    second_order(&[&x, &noise(&[3], 5)], |v| {
        let step = |h: &[Tensor], x: &[Tensor]| (vec![(&h[0] * &x[0]).sin()], vec![h[0].square()]);
        let (last, ys) = scan(&[&v[1]], &[&v[0]], ScanOptions::default(), step).unwrap();
        last[0].sum(()) + ys[0].sum(())
    });
    let ids = Tensor::from([[0i64, 2, 2], [1, 1, 1]]);
    second_order(&[&x], |v| v[0].zeros_like().scatter_add(1, &ids, &v[0].square()).square().sum(()));
    second_order(&[&noise(&[2, 3, 3], 6), &noise(&[2, 3, 2], 7)], |v| v[0].bmm(&v[1]).tanh().sum(()));
    // Third order: (tanh)''' at 0 is -2.
    let zero = Tensor::from(0.0);
    let nth = |x: &Tensor| {
        grad(&[x], |x| grad(&[&x[0]], |x| grad(&[&x[0]], |x| x[0].tanh()).unwrap()).unwrap())
            .unwrap()
            .remove(0)
    };
    assert_eq!(nth(&zero).item::<f64>().unwrap(), -2.0);
    let product = hvp(&[&zero], &[&Tensor::from(1.0)], |x| x[0].exp()).unwrap();
    assert_eq!(f64s(&product[0]), [1.0]);
}
