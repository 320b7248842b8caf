//! A two-layer network learns two interleaved spirals, in eager mode. It ends with every point classified
//! correctly.

use gradus::{Result, Tensor, manual_seed, no_grad};

const POINTS: usize = 60;
const HIDDEN: usize = 24;

/// Points of two spirals, and the spiral of each point.
fn spirals() -> (Tensor, Tensor) {
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for i in 0..POINTS {
        for arm in 0..2 {
            let t = i as f32 / POINTS as f32;
            let angle = 4.0 * t + std::f32::consts::PI * arm as f32;
            points.push([2.0 * (t + 0.1) * angle.cos(), 2.0 * (t + 0.1) * angle.sin()]);
            labels.push([arm as f32]);
        }
    }
    let n = points.len();
    (Tensor::from_slice(points.as_flattened(), [n, 2]), Tensor::from_slice(labels.as_flattened(), [n, 1]))
}

fn main() -> Result<()> {
    manual_seed(1);
    let (x, y) = spirals();
    let params = [
        Tensor::randn([2, HIDDEN]).requires_grad_(),
        Tensor::randn([HIDDEN]).requires_grad_(),
        (Tensor::randn([HIDDEN, 1]) * 0.2).requires_grad_(),
        Tensor::zeros([1]).requires_grad_(),
    ];
    let velocity = params.each_ref().map(|p| p.zeros_like().cell());
    let logits = || (x.matmul(&params[0]) + &params[1]).tanh().matmul(&params[2]) + &params[3];
    for step in 0..=600 {
        let z = logits();
        // The logistic loss in a form that cannot overflow.
        let loss = (z.maximum(0.0) - &z * &y + (-z.abs()).exp().log1p()).sum(()) / x.dim(0) as f64;
        params.iter().for_each(Tensor::zero_grad);
        loss.backward()?;
        no_grad(|| {
            for (p, v) in params.iter().zip(&velocity) {
                let g = p.grad().unwrap_or_else(|| p.zeros_like());
                v.mul_(0.9).check()?;
                v.add_(&g).check()?;
                p.sub_(&(v * 0.5)).check()?;
            }
            Result::Ok(())
        })?;
        if step % 100 == 0 {
            let right = logits().gt(0.0).eq(&y.gt(0.5)).sum(()).item::<i64>()?;
            println!("step {step:4}  loss {:.4}  right {right}/{}", loss.item::<f32>()?, x.dim(0));
        }
    }
    assert!(logits().gt(0.0).eq(&y.gt(0.5)).all(()).item::<bool>()?, "every point is classified right");
    Ok(())
}
