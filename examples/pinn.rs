//! A physics-informed fit: a network that solves u″ + u = 0, u(0) = 0, u′(0) = 1, trained on the equation alone,
//! without data.
//!
//! The loss contains second derivatives of the network, and its gradient third ones; all are graphs in one
//! compiled step. After 800 steps the network is within 0.02 of the sine on [0, 4].

use gradus::nn::{Forward, Linear, Module, Optimizer, Schedule, Sequential};
use gradus::nn::{compile_forward, compile_training, optim::Adam};
use gradus::{All, DType, Generator, Result, Tensor, grad};

/// Points at which the equation is required to hold.
const N: usize = 64;

/// The derivative of an elementwise function.
fn derivative(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    grad(&[x], |x| f(&x[0]).sum(All)).map_or_else(Tensor::failed, |mut g| g.remove(0))
}

/// The residual of the equation and of its initial values.
fn loss(net: &Sequential, x: &[Tensor]) -> Tensor {
    let u = |x: &Tensor| net.forward(x);
    let slope = |x: &Tensor| derivative(x, u);
    let equation = derivative(&x[0], slope) + u(&x[0]);
    let zero = x[0].narrow(0, 0, 1) * 0.0;
    equation.square().mean(All) + u(&zero).square().sum(All) + (slope(&zero) - 1.0).square().sum(All)
}

/// Trains for this many steps; returns the largest distance from the sine.
pub(crate) fn train(steps: u64) -> Result<f64> {
    let g = Generator::new(11);
    let net = Sequential::new().then(Linear::new(1, 32, &g)).then(Tensor::tanh).then(Linear::new(32, 32, &g));
    let net = net.then(Tensor::tanh).then(Linear::new(32, 1, &g));
    net.to_dtype(DType::F64)?;
    let points = |n: usize| Tensor::linspace(0.0, 4.0, n).to_dtype(DType::F64).unsqueeze(1);
    let adam = Optimizer::new(net.parameters(), Adam { rate: 1e-2, ..Adam::default() });
    let x = [points(N)];
    let mut step = compile_training(&net, loss, adam.schedule(Schedule::cosine(steps, 0.01)), &x)?;
    for i in 1..=steps {
        let outcome = step.run(&x)?;
        if i.is_multiple_of((steps / 5).max(1)) {
            println!("step {i}: loss {:.2e}", outcome.loss.item::<f64>()?);
        }
    }
    let error = compile_forward(&net, |m, x| (m.forward(&x[0]) - x[0].sin()).abs().max(All));
    error.run(&[points(101)])?[0].item::<f64>()
}

fn main() -> Result<()> {
    let steps = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(800);
    let error = train(steps)?;
    println!("largest distance from the sine: {error:.2e}");
    assert!(steps < 800 || error < 0.02, "it has learnt less than it should");
    Ok(())
}
