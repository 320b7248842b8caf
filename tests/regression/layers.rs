//! Layers whose rules were missing, incomplete or too expensive: gates, transposed convolutions, grouped
//! products.

use crate::common::{checked, close, f64s, gradients, near, noise, second_order, types_within};
use gradus::func::{ConvOptions, ConvTransposeOptions, Interpolation, conv_transpose2d, conv2d, interpolate};
use gradus::ir::transform;
use gradus::{DType, ScanOptions, Tensor, grad, scan, trace, vmap};

#[test]
fn fault_25_gates_use_the_right_half() {
    // With gate 1 and value 2: 2·silu(1) = 1.462. With exchanged halves: silu(2) = 1.762.
    let swiglu = |x: &Tensor, gate_first: bool| {
        let halves = x.chunk(2, -1);
        let (gate, up) = if gate_first { (&halves[0], &halves[1]) } else { (&halves[1], &halves[0]) };
        gate.silu() * up
    };
    let x = Tensor::from([1.0, 2.0]);
    near(&f64s(&swiglu(&x, true)), &[1.462_117], 1e-6);
    near(&f64s(&swiglu(&x, false)), &[1.761_594], 1e-6);
    let s = 1.0 / (1.0 + (-1f64).exp());
    let g = checked(&[&x], |x| swiglu(&x[0], true).sum(()));
    close(&g[0], &[2.0 * s * (1.0 + (1.0 - s)), s]);
    checked(&[&x], |x| swiglu(&x[0], false).sum(()));
    // glu: the second half is the gate.
    close(&f64s(&Tensor::from([2.0, 1.0]).glu(-1)), &[2.0 * s]);
    let g = gradients(&[&Tensor::from([2.0, 1.0])], |x| x[0].glu(-1).sum(()));
    close(&g[0], &[s, 2.0 * s * (1.0 - s)]);
}

#[test]
fn fault_28_the_input_gradient_of_a_convolution_depends_on_its_window() {
    let (x, w) = (noise(&[1, 2, 5, 5], 1), noise(&[4, 1, 3, 3], 2));
    let how = ConvOptions { stride: 2.into(), padding: 1.into(), groups: 2, ..ConvOptions::default() };
    let (c, v) = (noise(&[1, 4, 3, 3], 3), noise(&[1, 2, 5, 5], 4));
    // ⟨v, ∂/∂x ⟨c, conv(x, w)⟩⟩: its gradients in w and c are both there.
    let slope = |w: &Tensor, c: &Tensor| {
        let out = grad(&[&x], |x| (conv2d(&x[0], w, None, &how) * c).sum(())).unwrap().remove(0);
        (out * &v).sum(())
    };
    let g = checked(&[&w, &c], |a| slope(&a[0], &a[1]));
    // It is ⟨c, conv(v, w)⟩, so the gradient in c is that convolution.
    close(&g[1], &f64s(&conv2d(&v, &w, None, &how)));
    let right = grad(&[&w], |w| (conv2d(&v, &w[0], None, &how) * &c).sum(())).unwrap();
    close(&g[0], &f64s(&right[0]));
    assert!(g[0].iter().all(|g| g.abs() > 1e-6));
}

#[test]
fn fault_34_layers_that_had_no_rule() {
    let (x, w, b) = (noise(&[1, 2, 3, 3], 1), noise(&[2, 2, 3, 3], 2), noise(&[2], 3));
    let how = ConvTransposeOptions {
        stride: 2.into(),
        padding: 1.into(),
        output_padding: 1.into(),
        ..ConvTransposeOptions::default()
    };
    let c = noise(&[1, 2, 6, 6], 4);
    checked(&[&x, &w, &b], |v| (conv_transpose2d(&v[0], &v[1], Some(&v[2]), &how) * &c).sum(()));
    second_order(&[&x, &w], |v| conv_transpose2d(&v[0], &v[1], None, &how).tanh().sum(()));
    // Normalisation over the channels of images.
    let norm2d =
        |v: &[Tensor]| v[0].movedim(1, -1).layer_norm([2], Some(&v[1]), Some(&v[2]), 1e-6).movedim(-1, 1);
    let c = noise(&[1, 2, 3, 3], 5);
    let (gamma, beta) = (noise(&[2], 6), noise(&[2], 7));
    checked(&[&x, &gamma, &beta], |v| (norm2d(v) * &c).sum(()));
    // Groups of channels.
    checked(&[&x, &gamma, &beta], |v| (v[0].group_norm(1, Some(&v[1]), Some(&v[2]), 1e-5) * &c).sum(()));
    // Rotary positions on two axes: half of the features by row, half by column.
    let (rows, columns) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0i64, 1, 0, 1]));
    let axial = |x: &Tensor| {
        let halves = x.chunk(2, -1);
        Tensor::cat(&[&halves[0].rope_at(&rows, 100.0), &halves[1].rope_at(&columns, 100.0)], -1)
    };
    let (x, c) = (noise(&[4, 8], 8), noise(&[4, 8], 9));
    checked(&[&x], |x| (axial(&x[0]) * &c).sum(()));
    close(&f64s(&axial(&x).square().sum(())), &f64s(&x.square().sum(())));
    // Upsampling by 2 repeats each element four times, so four gradients are added.
    let x = Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]);
    let up = |x: &Tensor| interpolate(x, &[4, 4], Interpolation::Nearest);
    assert_eq!(f64s(&up(&x))[..4], [1.0, 1.0, 2.0, 2.0]);
    assert_eq!(gradients(&[&x], |x| up(&x[0]).sum(())), [[4.0; 4]]);
    checked(&[&x], |x| (up(&x[0]) * noise(&[1, 1, 4, 4], 10)).sum(()));
    // Products with vectors: matrix by vector, vector by matrix, vector by vector.
    let (a, v, u) = (noise(&[2, 3], 11), noise(&[3], 12), noise(&[2], 13));
    checked(&[&a, &v, &u], |t| t[2].matmul(&t[0].matmul(&t[1])));
    let g = gradients(&[&u, &a], |t| t[0].matmul(&t[1]).sum(()));
    close(&g[0], &f64s(&a.sum(1)));
    let g = gradients(&[&v, &v.exp()], |t| t[0].matmul(&t[1]));
    assert_eq!(g, [f64s(&v.exp()), f64s(&v)]);
}

/// Multiplies the rows of `x` by the weights of their expert, one expert after the other, without a copy of
/// weights per row.
fn grouped(x: &Tensor, w: &Tensor, expert: &Tensor) -> Tensor {
    let start = x.zeros_like().matmul(&w.at(0).zeros_like());
    let ids = Tensor::arange(0i64, w.dim(0) as i64, 1i64);
    let step = |y: &[Tensor], slices: &[Tensor]| {
        let mine = expert.eq(&slices[1]).unsqueeze(-1);
        (vec![&y[0] + mine.select(&x.matmul(&slices[0]), 0.0)], vec![])
    };
    scan(&[&start], &[w, &ids], ScanOptions::default(), step).unwrap().0.remove(0)
}

#[test]
fn fault_35_grouped_products_do_not_gather_weights() {
    let (m, k, n, e) = (6, 4, 5, 3);
    let (x, w) = (noise(&[m, k], 1), noise(&[e, k, n], 2));
    let expert = Tensor::from([2i64, 0, 0, 1, 2, 2]);
    // The definition by gathering, which stores m·k·n elements.
    let gathered = |v: &[Tensor]| v[0].unsqueeze(1).bmm(&v[1].index_select(0, &expert)).squeeze(1);
    let found = grouped(&x, &w, &expert);
    close(&f64s(&found), &f64s(&gathered(&[x.clone(), w.clone()])));
    let g = checked(&[&x, &w], |v| grouped(&v[0], &v[1], &expert).sin().sum(()));
    let right = grad(&[&x, &w], |v| gathered(v).sin().sum(())).unwrap();
    g.iter().zip(&right).for_each(|(a, b)| close(a, &f64s(b)));
    second_order(&[&x, &w], |v| grouped(&v[0], &v[1], &expert).sin().sum(()));
    // An expert that no token chose has gradient zero.
    let unused = grad(&[&w], |w| grouped(&x, &w[0], &expert.zeros_like()).sum(())).unwrap();
    assert!(f64s(&unused[0])[k * n..].iter().all(|g| *g == 0.0));
    // At 64 tokens, all values in the gradient are much smaller than a weight matrix per token.
    let (m, k, n, e) = (64, 16, 16, 3);
    let (x, w) = (noise(&[m, k], 3), noise(&[e, k, n], 4));
    let expert = Tensor::iota(DType::I64, [m], 0) % e as i64;
    let graph = trace(&[&x, &w], |v| grouped(&v[0], &v[1], &expert).sin().sum(())).unwrap();
    let gradient = transform::vjp(&graph, &[0, 1]).unwrap();
    let largest = types_within(&gradient).iter().map(|a| a.shape.numel()).max().unwrap();
    assert!(largest <= e * (m * n).max(k * n), "{largest} elements, of {} if gathered", m * k * n);
    // For each example of a batch.
    let xs = noise(&[2, m, k], 5);
    let all = vmap(&[&xs], &[Some(0)], |v| grouped(&v[0], &w, &expert)).unwrap();
    close(&f64s(&all[0].at(1)), &f64s(&grouped(&xs.at(1), &w, &expert)));
}
