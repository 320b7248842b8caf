//! Transforms of functions: values against formulas, composition in any order, captured values.

use gradus_ir::DType;
use gradus_tensor::{
    Tensor, checkpoint, compile, custom_jvp, custom_vjp, grad, hessian, hvp, jacobian, jvp, linearize,
    no_grad, trace, value_and_grad, value_and_grad_of, vjp, vmap,
};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

fn assert_close(found: &[f64], right: &[f64]) {
    assert_eq!(found.len(), right.len(), "{found:?} {right:?}");
    for (a, b) in found.iter().zip(right) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{found:?} is not {right:?}");
    }
}

#[test]
fn gradients_of_gradients() {
    let x = Tensor::from(1.3f64);
    let nth = |n: usize| {
        fn go(x: &Tensor, n: usize) -> Tensor {
            if n == 0 { x.sin() } else { grad(&[x], |x| go(&x[0], n - 1)).unwrap().remove(0) }
        }
        go(&x, n).item::<f64>().unwrap()
    };
    assert_close(
        &[nth(0), nth(1), nth(2), nth(3)],
        &[1.3f64.sin(), 1.3f64.cos(), -1.3f64.sin(), -1.3f64.cos()],
    );
}

#[test]
fn values_come_with_gradients_and_auxiliary_outputs() {
    let (x, w) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, -1.0]));
    let (outs, grads) = value_and_grad(&[&x, &w], |v| {
        let y = &v[0] * &v[1];
        (y.square().sum(()), y)
    })
    .unwrap();
    assert_eq!(outs[0].item::<f64>().unwrap(), 13.0);
    assert_eq!(f64s(&outs[1]), [3.0, -2.0]);
    assert_eq!((f64s(&grads[0]), f64s(&grads[1])), (vec![18.0, 4.0], vec![6.0, -8.0]));
    let e = grad(&[&x], |x| x[0].clone()).unwrap_err().to_string();
    assert!(e.contains("real scalar") && e.contains("transforms.rs"), "{e}");
}

#[test]
fn forward_reverse_and_linear_parts_agree() {
    let x = Tensor::from([[0.5, -1.0, 2.0], [1.5, 0.1, -0.3]]);
    let f = |x: &[Tensor]| x[0].tanh().matmul(&x[0].t());
    let t = Tensor::from([[1.0, 0.0, -2.0], [0.5, 0.25, 1.0]]);
    let (outs, tangents) = jvp(&[&x], &[&t], f).unwrap();
    let (again, push) = linearize(&[&x], f).unwrap();
    assert_close(&f64s(&outs[0]), &f64s(&again[0]));
    assert_close(&f64s(&tangents[0]), &f64s(&push(&[&t]).unwrap()[0]));
    let (_, pull) = vjp(&[&x], f).unwrap();
    let c = Tensor::from([[1.0, 2.0], [-1.0, 0.5]]);
    let back = pull(&[&c]).unwrap();
    let (left, right) = ((&c * &tangents[0]).sum(()), (&back[0] * &t).sum(()));
    assert_close(&f64s(&left), &f64s(&right));
    assert!(pull(&[&t]).unwrap_err().to_string().contains("must be [f64[2,2]]"));
}

#[test]
fn jacobians_and_hessians() {
    let a = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let x = Tensor::from([0.5, -1.0]);
    // Forward mode (2 inputs, 3 outputs) and reverse mode (3 inputs, 2 outputs).
    assert_eq!(f64s(&jacobian(&x, |x| a.matmul(x)).unwrap()), f64s(&a));
    let y = Tensor::from([1.0, 2.0, 3.0]);
    let j = jacobian(&y, |y| a.t().matmul(y)).unwrap();
    assert_eq!((j.shape().to_vec(), f64s(&j)), (vec![2, 3], f64s(&a.t())));
    // f = x₀² x₁ + sin x₁
    let f = |x: &Tensor| x.at(0).square() * x.at(1) + x.at(1).sin();
    let h = hessian(&x, f).unwrap();
    assert_close(&f64s(&h), &[-2.0, 1.0, 1.0, 1.0f64.sin()]);
    let v = Tensor::from([2.0, 3.0]);
    let product = hvp(&[&x], &[&v], |x| f(&x[0])).unwrap();
    assert_close(&f64s(&product[0]), &f64s(&h.matmul(&v)));
}

#[test]
fn batches_equal_loops() {
    let x = Tensor::from([[0.5, -1.0], [2.0, 0.3], [1.0, 1.0]]);
    let w = Tensor::from([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0]]);
    let f = |x: &Tensor, w: &Tensor| (x * w).tanh().sum(());
    // x is sliced along its rows, w along its columns.
    let all = vmap(&[&x, &w], &[Some(0), Some(1)], |v| f(&v[0], &v[1])).unwrap().remove(0);
    let each: Vec<f64> = (0..3).map(|i| f(&x.at(i), &w.at((.., i))).item().unwrap()).collect();
    assert_close(&f64s(&all), &each);
    // Gradients per element: vmap of grad.
    let grads = vmap(&[&x, &w.at((.., 0))], &[Some(0), None], |v| {
        grad(&[&v[0], &v[1]], |v| f(&v[0], &v[1])).unwrap()
    })
    .unwrap();
    for i in 0..3 {
        let one = grad(&[&x.at(i), &w.at((.., 0))], |v| f(&v[0], &v[1])).unwrap();
        assert_close(&f64s(&grads[0].at(i)), &f64s(&one[0]));
        assert_close(&f64s(&grads[1].at(i)), &f64s(&one[1]));
    }
    // Batches of batches.
    let outer =
        vmap(&[&x], &[Some(0)], |x| vmap(&[&x[0], &w], &[None, Some(1)], |v| f(&v[0], &v[1])).unwrap())
            .unwrap();
    assert_eq!(outer[0].shape().to_vec(), [3, 3]);
    assert_close(&f64s(&outer[0].at((2, 1))), &[f(&x.at(2), &w.at((.., 1))).item().unwrap()]);
    let e = vmap(&[&x, &w], &[Some(0), Some(0)], |v| f(&v[0], &v[1])).unwrap_err().to_string();
    assert!(e.contains("a batch has one extent"), "{e}");
}

#[test]
fn captured_leaves_get_their_gradients() {
    let w = Tensor::from([2.0, 3.0]).requires_grad_();
    let x = Tensor::from([1.0, -1.0]);
    // d/dw of Σ (d/dx Σ w x³)²  =  Σ 18 w x⁴ with (3 w x²)² inside.
    let slope = grad(&[&x], |x| (&w * x[0].pow(3.0)).sum(())).unwrap().remove(0);
    slope.square().sum(()).backward().unwrap();
    assert_close(&f64s(&w.grad().unwrap()), &[36.0, 54.0]);
    let plain = no_grad(|| grad(&[&x], |x| (&w * x[0].pow(3.0)).sum(())).unwrap().remove(0));
    assert!(!plain.requires_grad());
}

#[test]
fn a_gradient_inside_a_trace_is_part_of_it() {
    let x = Tensor::from([0.5, 2.0]);
    let f = |x: &Tensor| grad(&[x], |x| x[0].exp().sum(())).unwrap().remove(0) * x;
    let g = trace(&[&x], |x| f(&x[0])).unwrap();
    let out = gradus_ir::reference::evaluate(&g, &[x.to_literal().unwrap()]).unwrap();
    assert_close(out[0].f(), &f64s(&f(&x)));
    assert_close(out[0].f(), &[0.5f64.exp() * 0.5, 2f64.exp() * 2.0]);
}

#[test]
fn a_checkpoint_changes_nothing_but_memory() {
    let x = Tensor::from([0.3, -0.7]).requires_grad_();
    let deep = |x: &Tensor| (0..20).fold(x.clone(), |y, _| (&y * 1.1).sin());
    let y = checkpoint(&[&x], |x| deep(&x[0])).unwrap().remove(0);
    y.sum(()).backward().unwrap();
    let g = f64s(&x.grad().unwrap());
    x.zero_grad();
    deep(&x).sum(()).backward().unwrap();
    assert_close(&g, &f64s(&x.grad().unwrap()));
}

#[test]
fn a_function_with_its_own_rule_in_every_mode() {
    let x = Tensor::from([0.2, 1.7, -0.6]);
    let t = Tensor::from([1.0, 2.0, 3.0]);
    // Rounding that passes derivatives through: rule in reverse mode used forward, and the other way round.
    let through = |x: &Tensor| custom_vjp(&[x], |x| x[0].round(), |_, _, g| g[0].clone()).unwrap().remove(0);
    let along = |x: &Tensor| custom_jvp(&[x], |x| x[0].round(), |_, _, t| t[0].clone()).unwrap().remove(0);
    let check = |f: &dyn Fn(&Tensor) -> Tensor| {
        let (outs, touts) = jvp(&[&x], &[&t], |x| f(&x[0]).square()).unwrap();
        assert_eq!(f64s(&outs[0]), [0.0, 4.0, 1.0]);
        assert_eq!(f64s(&touts[0]), [0.0, 8.0, -6.0]);
        assert_eq!(f64s(&grad(&[&x], |x| f(&x[0]).square().sum(())).unwrap()[0]), [0.0, 4.0, -2.0]);
        let each = vmap(&[&x], &[Some(0)], |x| grad(&[&x[0]], |x| f(&x[0]).square()).unwrap()).unwrap();
        assert_eq!(f64s(&each[0]), [0.0, 4.0, -2.0]);
    };
    check(&through);
    check(&along);
    // Rules are traced: the derivative of a derivative is that of the rule. Here d/dx x³ is stated as 3x².
    let cube = |x: &Tensor| {
        custom_vjp(&[x], |x| x[0].pow(3.0), |x, _, g| &g[0] * x[0].square() * 3.0).unwrap().remove(0)
    };
    let second = grad(&[&x], |x| grad(&[&x[0]], |x| cube(&x[0]).sum(())).unwrap().remove(0).sum(())).unwrap();
    assert_close(&f64s(&second[0]), &[1.2, 10.2, -3.6]);
    let w = Tensor::from([2.0]).requires_grad_();
    let e = custom_vjp(&[&x], |x| &x[0] * &w, |_, _, g| g[0].clone()).unwrap_err().to_string();
    assert!(e.contains("must take everything it reads as an operand"), "{e}");
    let e = custom_vjp(&[&x], |x| x[0].sum(()), |_, _, g| g[0].clone()).unwrap_err().to_string();
    assert!(e.contains("the gradient of custom_vjp must take") && e.contains("tests/transforms.rs"), "{e}");
}

#[test]
fn gradients_for_cells_that_are_read() {
    let (w, unused) = (Tensor::from([1.0, -2.0]).requires_grad_(), Tensor::from([3.0]).requires_grad_());
    let mean = Tensor::from(0.0).cell();
    let run = || {
        value_and_grad_of(&[&w, &unused], || {
            let now = w.square().sum(());
            // A statistic that the function updates, and a second path without gradients.
            mean.set_(&(&mean * 0.5 + now.stop_gradient() * 0.5)).unwrap();
            [&now + (w.detach() * &w).sum(()), w.sum(())]
        })
        .unwrap()
    };
    let (outs, grads) = run();
    assert_close(&f64s(&outs[0]), &[10.0]);
    assert_close(&f64s(&outs[1]), &[-1.0]);
    assert_close(&f64s(&grads[0]), &[3.0, -6.0]);
    assert_close(&f64s(&grads[1]), &[0.0]);
    assert_close(&f64s(&mean), &[2.5]);
    run();
    assert_close(&f64s(&mean), &[3.75]);
    assert!(w.grad().is_none());
}

#[test]
fn a_cell_is_frozen_converted_and_refused() {
    let w = Tensor::from([1.0, -2.0]).requires_grad_();
    let square = || w.square().sum(());
    let f = compile(&[], |_| square()).unwrap();
    assert_close(&f64s(&f.run(&[]).unwrap()[0]), &[5.0]);
    w.set_requires_grad(false).unwrap();
    assert!(!square().requires_grad());
    w.set_requires_grad(true).unwrap();
    square().backward().unwrap();
    assert_close(&f64s(&w.grad().unwrap()), &[2.0, -4.0]);
    w.convert_(DType::F32).unwrap();
    assert_eq!(w.to_vec::<f32>().unwrap(), [1.0, -2.0]);
    assert!(w.grad().is_none() && w.requires_grad());
    let e = f.run(&[]).unwrap_err().to_string();
    assert!(e.contains("a cell of type f32[2] was f64[2] when the function was compiled"), "{e}");
    assert!(w.convert_(DType::I64).is_err());
    assert!(Tensor::from([1, 2]).cell().set_requires_grad(true).is_err());
    assert!(Tensor::from([1.0]).convert_(DType::F32).is_err());
}
