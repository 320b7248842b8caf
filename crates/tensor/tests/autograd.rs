//! Eager autograd has PyTorch's meaning.

use gradus_tensor::{Backward, Tensor, grad, no_grad, trace};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_dtype(gradus_ir::DType::F64).to_vec().unwrap()
}

#[test]
fn the_log_and_multiply_graph() {
    let a = Tensor::from([1.0, 2.0, 3.0]).requires_grad_();
    let b = Tensor::from([2.0, 3.0, 1.0]).requires_grad_();
    let c = Tensor::from([10.0]).requires_grad_();
    let g = (&a * &b * c.log()).log();
    g.backward_with(&g.ones_like()).unwrap();
    for (found, right) in f64s(&a.grad().unwrap()).iter().zip([1.0, 0.5, 1.0 / 3.0]) {
        assert!((found - right).abs() < 1e-15);
    }
    let gc = a.numel() as f64 / (10.0 * 10f64.ln());
    assert!((f64s(&c.grad().unwrap())[0] - gc).abs() < 1e-15);
}

#[test]
fn a_million_nodes() {
    let x = Tensor::from(1.0f64).requires_grad_();
    let mut y = &x * 1.0;
    for _ in 0..1_000_000 {
        y = y + 1e-6;
    }
    y.backward().unwrap();
    assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), 1.0);
    assert!((y.item::<f64>().unwrap() - 2.0).abs() < 1e-6);
    drop(y);
}

#[test]
fn second_order_and_errors() {
    let x = Tensor::from([0.5, 2.0]).requires_grad_();
    let y = (x.exp() * &x).sum(());
    let how = Backward { create_graph: true, ..Backward::default() };
    let g = grad(&[&y], &[], &[&x], how).unwrap().remove(0).unwrap();
    let h = grad(&[&g.sum(())], &[], &[&x], Backward::default()).unwrap().remove(0).unwrap();
    for (x, h) in [0.5f64, 2.0].iter().zip(f64s(&h)) {
        assert!((h - x.exp() * (x + 2.0)).abs() < 1e-12);
    }
    let z = (&x * &x).sum(());
    z.backward().unwrap();
    assert!(z.backward().unwrap_err().to_string().contains("second time"));
    let w = (&x * &x).sum(());
    no_grad(|| x.add_(1.0)).check().unwrap();
    let e = w.backward().unwrap_err().to_string();
    assert!(e.contains("changed in place") && e.contains("autograd.rs"), "{e}");
    let bad = Tensor::ones([2, 3]) + &Tensor::ones([4]);
    let e = (bad * 2.0).to_vec::<f32>().unwrap_err().to_string();
    assert!(
        e.contains("add: extents [2,3] and [4] do not broadcast") && e.contains("autograd.rs:53:"),
        "{e}"
    );
}

#[test]
fn traced_equals_eager() {
    let x = Tensor::from([[0.5, 2.0, -1.0], [0.1, 0.2, 0.3]]);
    let f = |x: &Tensor| (x.exp() + 1.0).log().sum(1).max(());
    let g = trace(&[&x], |x| f(&x[0])).unwrap();
    println!("{g}");
    let out = gradus_ir::reference::evaluate(&g, &[x.to_literal().unwrap()]).unwrap();
    assert_eq!(out[0].f()[0], f(&x).item::<f64>().unwrap());
    println!("{}", gradus_ir::transform::vjp(&g, &[0]).unwrap());
}
