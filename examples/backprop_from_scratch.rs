//! Backpropagation derived on paper, compared with the system's gradients.

use gradus::{DType, Result, Tensor};

fn close(found: Option<Tensor>, right: &Tensor) -> bool {
    found.is_some_and(|g| {
        g.shape() == right.shape() && (g - right).abs().max(()).item::<f64>().is_ok_and(|d| d < 1e-12)
    })
}

fn main() -> Result<()> {
    // g = log((a · b) · log(c)), with c broadcast. On paper: ga = 1/a, gb = 1/b, gc = Σ 1/(c log c).
    let a = Tensor::from([1.0, 2.0, 3.0]).requires_grad_();
    let b = Tensor::from([2.0, 3.0, 1.0]).requires_grad_();
    let c = Tensor::from([10.0]).requires_grad_();
    let g = ((&a * &b) * c.log()).log();
    g.backward_with(&g.ones_like())?;
    assert!(close(a.grad(), &a.reciprocal().detach()) && close(b.grad(), &b.reciprocal().detach()));
    assert!(close(c.grad(), &(3.0 / (&c * c.log())).detach()));

    // x of shape [2] with y of shape [4, 2]: the gradient of x is summed over the axis along which it is
    // broadcast.
    let x = Tensor::from([1.0, -1.0]).requires_grad_();
    let y = Tensor::iota(DType::F64, [4, 2], 0);
    (&x * &y).sum(()).backward()?;
    assert!(close(x.grad(), &y.sum(0)));

    // max(x, y): at a tie both sides get half.
    let (x, y) =
        (Tensor::from([1.0, 2.0, 3.0]).requires_grad_(), Tensor::from([2.0, 2.0, 2.0]).requires_grad_());
    x.maximum(&y).sum(()).backward()?;
    assert!(
        close(x.grad(), &Tensor::from([0.0, 0.5, 1.0])) && close(y.grad(), &Tensor::from([1.0, 0.5, 0.0]))
    );

    // M = X Y: dX = G Yᵀ, dY = Xᵀ G.
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).requires_grad_();
    let y = Tensor::from([[0.5, -1.0], [2.0, 1.5]]).requires_grad_();
    let seed = Tensor::from([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]);
    x.matmul(&y).backward_with(&seed)?;
    assert!(close(x.grad(), &seed.matmul(&y.t()).detach()) && close(y.grad(), &x.t().matmul(&seed).detach()));

    // The expression graph c = a·b, d = e + f, g = c·d, whose gradients are d·b, d·a, c, c.
    let scalars = [2.0, 3.0, 4.0, 5.0].map(|v: f64| Tensor::from(v).requires_grad_());
    let [a, b, e, f] = &scalars;
    let expression = |a: &Tensor, b: &Tensor, e: &Tensor, f: &Tensor| (a * b) * (e + f);
    expression(a, b, e, f).backward()?;
    let grads: Vec<f64> = scalars.iter().filter_map(|s| s.grad()?.item().ok()).collect();
    for (leaf, name) in scalars.iter().zip(["a", "b", "e", "f"]) {
        leaf.named(name);
    }
    println!("{}", expression(a, b, e, f).history()?.graph());
    println!("gradients of g for a, b, e, f: {grads:?}");
    assert_eq!(grads, [27.0, 18.0, 6.0, 6.0]);
    Ok(())
}
