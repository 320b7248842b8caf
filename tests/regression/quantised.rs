//! Quantised arithmetic composed of rounding, clamping, `stop_gradient` and casts; the tests check its
//! derivatives. Integer kernels and packed file formats are not covered.

use crate::common::{adjoint, checked, close, f64s, gradients, noise};
use gradus::{DType, Tensor, grad, jvp};

/// Rounds, with the derivative of the identity.
fn straight_through(x: &Tensor) -> Tensor {
    x + (x.round() - x).stop_gradient()
}

/// Rounds to multiples of `scale` from `low * scale` to `high * scale`. The derivative is 1 inside the range
/// and 0 outside.
fn fake_quantised(x: &Tensor, scale: &Tensor, low: f64, high: f64) -> Tensor {
    straight_through(&(x / scale).clamp(low, high)) * scale
}

#[test]
fn fault_26_scales_and_zero_points_of_packed_weights_have_gradients() {
    let (k, n, block) = (4usize, 3usize, 2usize);
    // int4 pairs in bytes: low half first, values 0..15.
    let packed = Tensor::from_slice(&[0x21u8, 0xf3, 0x54, 0x07, 0x98, 0xba], [k / 2, n]);
    let (low, high) = (packed.and(15), packed.shr(4));
    let q = Tensor::stack(&[&low, &high], 1).reshape([k, n]);
    assert_eq!(
        q.to_dtype(DType::I64).to_vec::<i64>().unwrap(),
        [1, 3, 4, 2, 15, 5, 7, 8, 10, 0, 9, 11],
        "unpacked"
    );
    // One scale and zero point per block of rows, repeated over the block.
    let (scale, zero) = (noise(&[k / block, n], 1), noise(&[k / block, n], 2) + 7.0);
    let x = noise(&[2, k], 3);
    let product = |v: &[Tensor]| {
        let wide = |t: &Tensor| t.repeat_interleave(block, Some(0));
        let w = (q.to_dtype(DType::F64) - wide(&v[2])) * wide(&v[1]);
        v[0].matmul(&w).tanh().sum(())
    };
    let g = checked(&[&x, &scale, &zero], product);
    assert!(g.iter().flatten().all(|g| *g != 0.0));
    // Derivatives with respect to the integers are refused; the integers are not cast to floats.
    let e = gradus::ir::transform::vjp(
        &gradus::trace(&[&q], |q| q[0].to_dtype(DType::F64).sum(())).unwrap(),
        &[0],
    );
    assert!(e.unwrap_err().to_string().contains("only float and complex"));
}

#[test]
fn fault_27_quantised_products_have_exact_gradients_and_a_saturation_mask() {
    let (s, one) = (Tensor::from(0.1), Tensor::from(0.05));
    let x = Tensor::from([[0.33, -0.58, 40.0]]);
    let w = Tensor::from([[0.21], [-0.37], [0.5]]);
    let product = |v: &[Tensor]| {
        fake_quantised(&v[0], &s, -128.0, 127.0).matmul(&fake_quantised(&v[1], &one, -128.0, 127.0)).sum(())
    };
    // Forward: 0.3·0.2 + 0.6·0.35 + 12.7·0.5.
    close(&f64s(&product(&[x.clone(), w.clone()])), &[0.06 + 0.21 + 6.35]);
    let g = gradients(&[&x, &w], product);
    // Gradients are not truncated to integers. 40 is above 12.7, so its gradient is 0.
    close(&g[0], &[0.2, -0.35, 0.0]);
    close(&g[1], &[0.3, -0.6, 12.7]);
}

#[test]
fn fault_29_clipping_by_a_fixed_scale() {
    let x = Tensor::from([100.0, 0.05, -12.85, -3.0]);
    let f = |x: &[Tensor]| fake_quantised(&x[0], &Tensor::from(0.1), -128.0, 127.0).sum(());
    assert_eq!(gradients(&[&x], f), [[0.0, 1.0, 0.0, 1.0]]);
    // With a scale from the largest value of the batch, no value is clipped.
    let per_batch = |x: &[Tensor]| {
        let scale = (x[0].abs().max(()) / 127.0).stop_gradient();
        fake_quantised(&x[0], &scale, -128.0, 127.0).sum(())
    };
    close(&grad(&[&x], per_batch).unwrap().iter().flat_map(f64s).collect::<Vec<_>>()[1..], &[1.0; 3]);
    // The derivative of the identity, and that of a tanh in place of the step.
    assert_eq!(gradients(&[&x], |x| straight_through(&x[0]).sum(())), [[1.0; 4]]);
    let soft = |x: &Tensor| x.tanh() + (x.round() - x.tanh()).stop_gradient();
    let x = Tensor::from([0.3, -0.8]);
    assert_eq!(f64s(&soft(&x)), [0.0, -1.0]);
    close(&gradients(&[&x], |x| soft(&x[0]).sum(()))[0], &f64s(&(1.0 - x.tanh().square())));
    adjoint(&x, soft);
}

#[test]
fn fault_30_learned_steps() {
    let (low, high) = (-8.0, 7.0);
    let x = Tensor::from([0.37, -0.52, 5.0, -9.0]);
    let s = Tensor::from(0.25);
    let factor = 1.0 / (4.0f64 * high).sqrt();
    // The value is s; its gradient is scaled.
    let quantised = |x: &Tensor, s: &Tensor| {
        let s = s * factor + (s - s * factor).stop_gradient();
        fake_quantised(x, &s, low, high)
    };
    let y = quantised(&x, &s);
    close(&f64s(&y), &[0.25, -0.5, 1.75, -2.0]);
    // Gradient with respect to the step: round(v) - v inside the range, the limits outside.
    let inside = (1.0 - 1.48) + (-2.0 + 2.08);
    let g = gradients(&[&x, &s], |v| quantised(&v[0], &v[1]).sum(()));
    close(&g[0], &[1.0, 1.0, 0.0, 0.0]);
    close(&g[1], &[(inside + high + low) * factor]);
    // Quantisation divides by the scale, and dequantisation multiplies by it; so do their derivatives.
    let g = gradients(&[&x], |x| straight_through(&(&x[0] / &s)).sum(()));
    close(&g[0], &[4.0; 4]);
    let g = gradients(&[&Tensor::from([3.0, -2.0])], |q| (&q[0] * &s).sum(()));
    close(&g[0], &[0.25, 0.25]);
    let (_, t) = jvp(&[&s], &[&Tensor::from(1.0)], |s| quantised(&x, &s[0])).unwrap();
    close(&f64s(&t[0]), &[-0.48 * factor, 0.08 * factor, 7.0 * factor, -8.0 * factor]);
}
