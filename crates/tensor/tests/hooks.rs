//! Hooks receive gradients in backward passes, may replace them, and can be removed.

use gradus_ir::{Error, Kind};
use gradus_tensor::autograd::grad;
use gradus_tensor::{Backward, Tensor, trace};
use std::sync::{Arc, Mutex};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_vec().unwrap()
}

#[test]
fn hooks_see_and_replace_gradients() {
    let x = Tensor::from([1.0, 2.0]).requires_grad_();
    let y = &x * 3.0;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let first = y.register_hook(move |g| {
        kept.lock().unwrap().push(f64s(g));
        Ok(None)
    });
    y.register_hook(|g| Ok(Some(g * 10.0))).unwrap();
    x.register_hook(|g| Ok(Some(g + 1.0))).unwrap();
    y.retain_grad();
    let keep = Backward { retain_graph: true, ..Backward::default() };
    (&y * &y).sum(()).backward_as(None, keep).unwrap();
    // The gradient of y is 2y, which its hook multiplies by 10. That of x is three times as large, and its
    // hook adds 1.
    assert_eq!(*seen.lock().unwrap(), [[6.0, 12.0]]);
    assert_eq!(f64s(&y.grad().unwrap()), [60.0, 120.0]);
    assert_eq!(f64s(&x.grad().unwrap()), [181.0, 361.0]);
    first.unwrap().remove();
    let z = (&y * &y).sum(());
    let asked = grad(&[&z], &[None], &[&x, &y], keep).unwrap();
    assert_eq!(f64s(asked[0].as_ref().unwrap()), [181.0, 361.0]);
    assert_eq!(f64s(asked[1].as_ref().unwrap()), [60.0, 120.0]);
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn a_hook_that_fails_leaves_gradients_as_they_were() {
    let (x, w) = (Tensor::from([1.0, 2.0]).requires_grad_(), Tensor::from([3.0, 4.0]).requires_grad_());
    x.register_hook(|_| Err(Error::value("this", "is refused"))).unwrap();
    let e = (&x * &w).sum(()).backward().unwrap_err();
    assert!(e.to_string().contains("this is refused"));
    assert!(x.grad().is_none() && w.grad().is_none());
    let y = &w * 1.0;
    y.register_hook(|_| Ok(Some(Tensor::from(1.0)))).unwrap();
    let e = y.sum(()).backward().unwrap_err();
    assert!(matches!(e.kind(), Kind::Shape { .. }), "{e}");
}

#[test]
fn tensors_without_gradient_refuse_hooks() {
    assert!(Tensor::from(1.0).register_hook(|_| Ok(None)).is_err());
    let graph = trace(&[&Tensor::from(1.0)], |x| {
        assert!(x[0].register_hook(|_| Ok(None)).is_err());
        x[0].clone()
    });
    assert!(graph.is_ok());
}

#[test]
fn tensors_name_the_op_that_made_them() {
    let x = Tensor::from([1.0, 2.0]).requires_grad_();
    assert_eq!((&x * 2.0).made_by().unwrap(), "mul");
    assert_eq!(x.softmax(0).made_by().unwrap(), "softmax");
    assert!(x.made_by().is_none() && x.detach().exp().made_by().is_none());
}
