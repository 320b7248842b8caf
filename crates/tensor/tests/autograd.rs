//! Tests that eager autograd has the semantics of PyTorch.

use gradus_tensor::autograd::grad;
use gradus_tensor::{Backward, Tensor, compile, no_grad, trace};

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
        y += 1e-6;
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
    let location = format!("autograd.rs:{}:", line!() - 1);
    let e = (bad * 2.0).to_vec::<f32>().unwrap_err().to_string();
    assert!(e.contains("add: extents [2,3] and [4] do not broadcast") && e.contains(&location), "{e}");
}

#[test]
fn gradients_accumulate_until_they_are_cleared() {
    let x = Tensor::from([1.0, 2.0]).requires_grad_();
    (&x * 3.0).sum(()).backward().unwrap();
    (&x * &x).sum(()).backward().unwrap();
    assert_eq!(f64s(&x.grad().unwrap()), [5.0, 7.0]);
    x.zero_grad();
    assert!(x.grad().is_none());
    // A value used twice gets both contributions; an unused leaf gets none.
    let unused = Tensor::from([1.0]).requires_grad_();
    (&x + &x).sum(()).backward().unwrap();
    assert_eq!(f64s(&x.grad().unwrap()), [2.0, 2.0]);
    assert!(unused.grad().is_none());
}

#[test]
fn inner_gradients_leaves_and_detached_values() {
    let x = Tensor::from([1.0, 2.0]).requires_grad_();
    let y = &x * 2.0;
    assert!(x.is_leaf() && x.requires_grad() && !y.is_leaf() && y.requires_grad());
    assert!(y.grad().is_none());
    y.retain_grad();
    let z = (&y * &y.detach()).sum(());
    z.backward().unwrap();
    assert_eq!(f64s(&y.grad().unwrap()), [2.0, 4.0]);
    assert_eq!(f64s(&x.grad().unwrap()), [4.0, 8.0]);
    assert!(!y.detach().requires_grad() && y.detach().is_leaf());
    let constant = no_grad(|| &x * 2.0);
    assert!(!constant.requires_grad());
    assert!(!x.gt(0.0).requires_grad() && !x.argmax(0).requires_grad());
    assert!(Tensor::from([1i64]).requires_grad_().error().is_some());
}

#[test]
fn step_functions_have_gradient_zero() {
    // Also for an infinite cotangent: the derivative is zero, not zero times the cotangent.
    for step in [Tensor::floor, Tensor::ceil, Tensor::round, Tensor::trunc, Tensor::sign] {
        let x = Tensor::from([0.3f64, -1.7]).requires_grad_();
        let y = step(&x);
        assert!(y.requires_grad());
        (&y * f64::INFINITY).sum(()).backward().unwrap();
        assert_eq!(f64s(&x.grad().unwrap()), [0.0, 0.0]);
    }
    let x = Tensor::from([0.3f64, -1.7]).requires_grad_();
    (&x.floor() * &x).sum(()).backward().unwrap();
    assert_eq!(f64s(&x.grad().unwrap()), [0.0, -2.0]);
}

#[test]
fn values_for_a_second_pass_are_kept_on_request() {
    let x = Tensor::from(3.0).requires_grad_();
    let y = &x * &x * &x;
    let keep = Backward { retain_graph: true, ..Backward::default() };
    y.backward_as(None, keep).unwrap();
    y.backward_as(None, keep).unwrap();
    assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), 54.0);
    // Gradients of inner tensors only, without changing any `grad`; an unused tensor is an error, or `None`
    // if allowed.
    let (a, b) = (Tensor::from(2.0).requires_grad_(), Tensor::from(5.0).requires_grad_());
    let inner = &a * 3.0;
    let root = &inner * &inner;
    let e = grad(&[&root], &[], &[&inner, &a, &b], keep).unwrap_err().to_string();
    assert!(e.contains("no gradient reaches `wrt[2]` (f64[])"), "{e}");
    assert!(e.contains("tests/autograd.rs"), "{e}");
    let how = Backward { allow_unused: true, ..Backward::default() };
    let found = grad(&[&root], &[], &[&inner, &a, &b], how).unwrap();
    let found: Vec<Option<f64>> = found.iter().map(|g| g.as_ref().map(|g| g.item().unwrap())).collect();
    assert_eq!(found, [Some(12.0), Some(36.0), None]);
    assert!(a.grad().is_none());
}

#[test]
fn a_changed_value_matters_only_where_it_is_read() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_();
    let sum = w.sum(());
    no_grad(|| w.add_(1.0)).check().unwrap();
    sum.backward().unwrap(); // the gradient of a sum does not read w
    assert_eq!(f64s(&w.grad().unwrap()), [1.0, 1.0]);
    assert_eq!(f64s(&w), [2.0, 3.0]);
    let outside = w.add_(1.0);
    assert!(outside.error().unwrap().to_string().contains("inside `no_grad`"));
    assert_eq!(f64s(&w), [2.0, 3.0], "a refused update changes nothing");
    w.data_().mul_(10.0).check().unwrap();
    assert_eq!(f64s(&w), [20.0, 30.0]);
    // Operands without gradient, such as statistics, have the value that they had when they were read.
    for n in [2usize, 3000] {
        let (w, s) = (Tensor::full([n], 3.0).requires_grad_(), Tensor::full([n], 2.0).cell());
        let y = (&w * &s + &s * &w).sum(()) + w.matmul(&s);
        s.set_(&Tensor::full([n], 7.0)).unwrap();
        y.backward().unwrap();
        assert_eq!(f64s(&w.grad().unwrap()), vec![6.0; n]);
    }
}

#[test]
fn seeds_have_the_type_of_the_root() {
    let x = Tensor::ones([2, 3]).requires_grad_();
    let y = &x * 2.0;
    assert!(y.backward().unwrap_err().to_string().contains("needs a seed"));
    let e = y.backward_with(&Tensor::ones([3])).unwrap_err().to_string();
    assert!(e.contains("f32[3]") && e.contains("must be f32[2,3]"), "{e}");
    let e = Tensor::ones([1]).backward().unwrap_err().to_string();
    assert!(e.contains("requires gradients"), "{e}");
    assert!(x.grad().is_none());
}

#[test]
fn complex_gradients_follow_pytorch() {
    // L = |z|² has gradient 2z: the direction of steepest ascent.
    let z = Tensor::from([num_complex::Complex::new(3.0, -4.0)]).requires_grad_();
    (z.real().square() + z.imag().square()).sum(()).backward().unwrap();
    assert_eq!(
        z.grad().unwrap().to_vec::<num_complex::Complex<f64>>().unwrap(),
        [num_complex::Complex::new(6.0, -8.0)]
    );
    // A real leaf that becomes complex on the way keeps a real gradient: L = Re(x·i)² + |x|² at 3.
    let x = Tensor::from([3.0]).requires_grad_();
    let w = &x * num_complex::Complex::new(0.0, 1.0);
    (w.real().square() + w.imag().square()).sum(()).backward().unwrap();
    assert_eq!(f64s(&x.grad().unwrap()), [6.0]);
}

#[test]
fn tensors_cross_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Tensor>();
    let w = Tensor::from([1.0, 2.0]).requires_grad_();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..50).for_each(|_| drop((&w * 2.0).sum(()))));
        }
    });
    let made_elsewhere = std::thread::scope(|s| s.spawn(|| (&w * &w).sum(())).join()).unwrap();
    made_elsewhere.backward().unwrap();
    assert_eq!(f64s(&w.grad().unwrap()), [2.0, 4.0]);
}

/// A call is ordered after the calls that made its operands, on any thread: d/dw of 3y + y² at y = w².
#[test]
fn passes_follow_calls_across_threads() {
    let w = Tensor::from(2.0).requires_grad_();
    (0..100).for_each(|_| drop(&w + 1.0));
    let y = &w * &w;
    let z = std::thread::scope(|s| s.spawn(|| &y * 3.0 + &y * &y).join()).unwrap();
    (z * 1.0).backward().unwrap();
    assert_eq!(f64s(&w.grad().unwrap()), [(3.0 + 2.0 * 4.0) * 2.0 * 2.0]);
}

#[test]
fn two_cells_on_two_threads() {
    let (a, b) = (Tensor::from([1.0, 2.0]).cell(), Tensor::from([3.0, 4.0]).cell());
    let sums = |x: &Tensor, y: &Tensor| (0..2000).all(|_| f64s(&(x + y)) == [4.0, 6.0]);
    std::thread::scope(|s| {
        let other = s.spawn(|| sums(&b, &a));
        let writer = s.spawn(|| (0..2000).for_each(|_| a.set_(&Tensor::from([1.0, 2.0])).unwrap()));
        assert!(sums(&a, &b) && other.join().unwrap());
        writer.join().unwrap();
    });
    assert_eq!((a.version(), f64s(&(&a + &a))), (2000, vec![2.0, 4.0]));
}

#[test]
fn traced_equals_eager() {
    let x = Tensor::from([[0.5, 2.0, -1.0], [0.1, 0.2, 0.3]]);
    let f = |x: &Tensor| (x.exp() + 1.0).log().sum(1).max(());
    let g = trace(&[&x], |x| f(&x[0])).unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 4.0 * f64::EPSILON * a.abs(), "{a} and {b}");
    let out = gradus_ir::reference::evaluate(&g, &[x.to_literal().unwrap()]).unwrap();
    close(out[0].f()[0], f(&x).item::<f64>().unwrap());
    // One plan runs the same loops as the separate operations.
    let whole = compile(&[&x], |x| f(&x[0])).unwrap();
    assert_eq!(whole.run(&[&x]).unwrap()[0].item::<f64>().unwrap(), f(&x).item::<f64>().unwrap());
    let vjp = gradus_ir::transform::vjp(&g, &[0]).unwrap();
    let one = Tensor::from(1.0f64).to_literal().unwrap();
    let by_graph = gradus_ir::reference::evaluate(&vjp, &[x.to_literal().unwrap(), one]).unwrap();
    let x = x.requires_grad_();
    f(&x).backward().unwrap();
    by_graph[0].f().iter().zip(f64s(&x.grad().unwrap())).for_each(|(a, b)| close(*a, b));
}

#[test]
fn a_failed_pass_writes_nothing() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_();
    let y = &w * &w;
    let z = (&y * 3.0).sum(());
    y.retain_grad();
    no_grad(|| w.add_(1.0)).check().unwrap();
    for _ in 0..2 {
        let how = Backward { retain_graph: true, ..Backward::default() };
        let e = z.backward_as(None, how).unwrap_err().to_string();
        assert!(e.contains("mul: a value needed") && e.contains("f64[2]"), "{e}");
    }
    assert!(w.grad().is_none() && y.grad().is_none());
}

#[test]
fn a_leaf_takes_only_gradients_of_its_own_type() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_();
    for bad in [Tensor::from([1.0; 5]), Tensor::from([[1.0], [2.0]]), Tensor::ones([2])] {
        let e = w.set_grad(Some(&bad)).unwrap_err().to_string();
        assert!(e.contains("does not fit a leaf of type f64[2]"), "{e}");
    }
    w.set_grad(Some(&Tensor::from([10.0, 20.0]))).unwrap();
    w.sum(()).backward().unwrap();
    assert_eq!(f64s(&w.grad().unwrap()), [11.0, 21.0]);
    assert!(Tensor::ones([2]).set_grad(None).is_err());
    assert_eq!(Tensor::from(true).select(true, false).dtype(), gradus_ir::DType::Bool);
    assert_eq!(f64s(&Tensor::from([f64::INFINITY]).imag()), [0.0]);
}

/// Small operands use a pointwise program, large ones and other layouts a compiled kernel, `create_graph` the
/// graph: the gradients equal the formula in every case.
#[test]
fn every_way_of_a_gradient_agrees() {
    // Gradient of tanh(x)·x / (1 + x²) + exp(-x), which reads operands, results and cotangents.
    let f = |x: &Tensor| x.tanh() * x / (x * x + 1.0) + (-x).exp();
    let slope = |x: f64| {
        let (t, d) = (x.tanh(), 1.0 + x * x);
        ((1.0 - t * t) * x + t) / d - 2.0 * x * x * t / (d * d) - (-x).exp()
    };
    for n in [0usize, 1, 5, 64, 3000] {
        let values: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 2.0).collect();
        let seeds: Vec<f64> = (0..n).map(|i| (i as f64 * 1.3).cos()).collect();
        let right: Vec<f64> = values.iter().zip(&seeds).map(|(x, g)| slope(*x) * g).collect();
        let check = |found: &Tensor| {
            for (found, right) in f64s(found).iter().zip(&right) {
                assert!((found - right).abs() < 1e-14, "{n}: {found} and {right}");
            }
            assert_eq!(found.numel(), n);
        };
        let seed = Tensor::from(seeds);
        // A leaf, a view of a leaf that is not row-major, and both with `create_graph`.
        for create_graph in [false, true] {
            let how = Backward { create_graph, ..Backward::default() };
            let x = Tensor::from(values.clone()).requires_grad_();
            f(&x).backward_as(Some(&seed), how).unwrap();
            check(&x.grad().unwrap());
            let x = Tensor::from(values.clone()).requires_grad_();
            let twice = Tensor::stack(&[&x, &x], 1).t();
            let y = f(&twice);
            y.backward_as(Some(&Tensor::stack(&[&seed, &seed.zeros_like()], 0)), how).unwrap();
            check(&x.grad().unwrap());
        }
        // A cotangent that is one repeated element.
        let x = Tensor::from(values.clone()).requires_grad_();
        f(&x).sum(()).backward().unwrap();
        for (found, x) in f64s(&x.grad().unwrap()).iter().zip(&values) {
            assert!((found - slope(*x)).abs() < 1e-14);
        }
    }
}

/// A gradient that is passed on unchanged is a separate value: adding to it, or recording from its seed,
/// changes nothing else.
#[test]
fn cotangents_passed_on_are_separate_values() {
    let (x, seed) = (Tensor::from([1.0, 2.0]).requires_grad_(), Tensor::from([3.0, 4.0]).requires_grad_());
    for _ in 0..2 {
        (&x + 1.0).backward_with(&seed).unwrap();
    }
    assert_eq!(f64s(&x.grad().unwrap()), [6.0, 8.0]);
    assert_eq!(f64s(&seed), [3.0, 4.0]);
    assert!(seed.grad().is_none() && !x.grad().unwrap().requires_grad());
    no_grad(|| seed.set_(&Tensor::from([0.0, 0.0]))).unwrap();
    assert_eq!(f64s(&x.grad().unwrap()), [6.0, 8.0]);
    // One gradient for two operands of the same call, and for a leaf used twice.
    let x = Tensor::from(2.0).requires_grad_();
    (&x + &x).backward().unwrap();
    assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), 2.0);
}

#[test]
fn numbers_with_tensors() {
    let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    assert_eq!(
        (&x * 0.1).to_vec::<f32>().unwrap(),
        [0.1, 0.2, 0.3, 0.4].map(|v: f64| (v * 10.0) as f32 * 0.1f32)
    );
    assert_eq!((1.0 - &x).to_vec::<f32>().unwrap(), [0.0, -1.0, -2.0, -3.0]);
    assert_eq!((Tensor::from([1i64, 2]) + 0.5).to_vec::<f32>().unwrap(), [1.5, 2.5]);
    assert_eq!((Tensor::from([1i64, 2]) * 3).to_vec::<i64>().unwrap(), [3, 6]);
    assert_eq!((Tensor::from([true, false]) + 1).to_vec::<i64>().unwrap(), [2, 1]);
    assert_eq!((Tensor::from(Vec::<f32>::new()) + 1.0).to_vec::<f32>().unwrap(), [0f32; 0]);
    let w = Tensor::from([2.0, 5.0]).requires_grad_();
    (&w * 3.0).sum(()).backward().unwrap();
    assert_eq!(f64s(&w.grad().unwrap()), [3.0, 3.0]);
}
