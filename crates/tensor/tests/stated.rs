//! Composites with explicit gradients, which must equal the derived gradients, to second order and in every
//! mode, with fewer operations.

use gradus_ir::transform::{self, Unreachable, grad_with_loss};
use gradus_tensor::{Tensor, arg, func, grad, hvp, jvp, region1, region1_with_grad, trace, vjp, vmap};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

#[track_caller]
fn assert_close(found: &Tensor, right: &Tensor) {
    assert_eq!(found.shape(), right.shape());
    for (a, b) in f64s(found).iter().zip(f64s(right)) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{found} is not {right}");
    }
}

/// Pseudo-random numbers.
fn noise(shape: &[usize], seed: f64) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_slice(&(0..n).map(|i| (i as f64 * 12.9 + seed).sin() * 2.0).collect::<Vec<_>>(), shape)
}

type Function = fn(&Tensor) -> Tensor;

fn shifted(x: &Tensor) -> Tensor {
    x - x.max_keepdim(1).stop_gradient()
}

/// The name of each composite, the name of its gradient, the composite, and its body as a plain function.
const PAIRS: [(&str, &str, Function, Function); 3] = [
    ("softmax", "softmax_grad", |x| x.softmax(1), |x| shifted(x).exp() / shifted(x).exp().sum_keepdim(1)),
    ("softmin", "softmax_grad", |x| x.softmin(1), |x| shifted(&-x).exp() / shifted(&-x).exp().sum_keepdim(1)),
    (
        "log_softmax",
        "log_softmax_grad",
        |x| x.log_softmax(1),
        |x| shifted(x) - shifted(x).exp().sum_keepdim(1).log(),
    ),
];

#[test]
fn stated_gradients_are_the_derived_ones() {
    let (x, c, t) = (noise(&[3, 4], 0.0), noise(&[3, 4], 1.0), noise(&[3, 4], 2.0));
    for (_, _, f, g) in PAIRS {
        assert_close(&f(&x), &g(&x));
        let [found, right] = [f, g].map(|f| vjp(&[&x], |x| f(&x[0])).unwrap().1(&[&c]).unwrap().remove(0));
        assert_close(&found, &right);
        let [found, right] = [f, g].map(|f| jvp(&[&x], &[&t], |x| f(&x[0])).unwrap().1.remove(0));
        assert_close(&found, &right);
        // Second order, through a nonlinear loss, forward over reverse and reverse over reverse.
        let loss = |f: Function, v: &Tensor| (f(v).square() * &c).sum(());
        let [found, right] = [f, g].map(|f| hvp(&[&x], &[&t], |x| loss(f, &x[0])).unwrap().remove(0));
        assert_close(&found, &right);
        let slope = |f: Function, x: &Tensor| grad(&[x], |x| loss(f, &x[0])).unwrap().remove(0);
        let [found, right] =
            [f, g].map(|f| grad(&[&x], |x| (slope(f, &x[0]) * &t).sum(())).unwrap().remove(0));
        assert_close(&found, &right);
        // Batches of gradients, and the tape.
        let many = noise(&[2, 3, 4], 3.0);
        let [found, right] =
            [f, g].map(|f| vmap(&[&many], &[Some(0)], |x| slope(f, &x[0])).unwrap().remove(0));
        assert_close(&found, &right);
        let leaf = x.requires_grad_();
        f(&leaf).backward_with(&c).unwrap();
        assert_close(&leaf.grad().unwrap(), &vjp(&[&x], |x| g(&x[0])).unwrap().1(&[&c]).unwrap()[0]);
    }
}

#[test]
fn gradient_graphs_contain_them_and_take_fewer_operations() {
    let x = noise(&[3, 4], 0.0);
    for (name, stated, f, body) in PAIRS {
        let graph = trace(&[&x], |x| f(&x[0])).unwrap();
        let gradient = transform::vjp(&graph, &[0]).unwrap();
        let text = gradient.to_string();
        assert!(text.contains(&format!("\"{stated}\"")) && !text.contains(&format!("{name}_vjp")), "{text}");
        // A loss and its gradient: without an explicit gradient, the region recomputes its values in the
        // backward pass.
        let cost = |f: &dyn Fn(&Tensor) -> Tensor| {
            let graph = trace(&[&x], |x| (f(&x[0]) * &x[0]).sum(())).unwrap();
            let both = grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error).unwrap();
            both.stats().flops
        };
        let (found, derived) =
            (cost(&f), cost(&|x| region1("body", vec![arg("of", name.to_string())], &[x], |x| body(&x[0]))));
        assert!(found + 24 <= derived, "{name}: {found} against {derived}");
    }
    // The gradient is computed from the result, without exponentials.
    let flat = trace(&[&x, &x], |v| func::softmax_grad(&v[0], &v[1], 1)).unwrap().inlined().unwrap();
    assert!(flat.nodes().iter().all(|n| n.op.name() != "exp"));
    assert_eq!(flat.stats().flops, 4 * 12, "two products, a difference, a sum: {flat}");
}

#[test]
fn a_stated_gradient_that_does_not_fit_is_refused() {
    let x = noise(&[3], 0.0);
    let bad = region1_with_grad("bad", vec![], &[&x], |x| x[0].exp(), |_, _, g| g.sum(()));
    let e = bad.check().unwrap_err().to_string();
    assert!(e.contains("the gradient of bad must take") && e.contains("tests/stated.rs"), "{e}");
    let cell = Tensor::from([1.0]).cell();
    let reads = region1_with_grad("reads", vec![], &[&x], |x| x[0].exp(), |_, y, g| g * y * &cell);
    let e = reads.check().unwrap_err().to_string();
    assert!(e.contains("`reads` uses a cell") && e.contains("tests/stated.rs"), "{e}");
    // Two operands, one of which is shared by the batch: its gradients are summed.
    let w = noise(&[3], 1.0);
    let product = |x: &Tensor, w: &Tensor| {
        region1_with_grad("product", vec![], &[x, w], |v| &v[0] * &v[1], |v, _, g| [g * &v[1], g * &v[0]])
    };
    let xs = noise(&[4, 3], 2.0);
    let total = |w: &Tensor| vmap(&[&xs, w], &[Some(0), None], |v| product(&v[0], &v[1])).unwrap()[0].sum(());
    assert_close(&grad(&[&w], |w| total(&w[0])).unwrap()[0], &xs.sum(0));
}
