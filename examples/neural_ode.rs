//! A neural ODE: a network is the right-hand side of a differential equation, fitted to the motion of a
//! pendulum.
//!
//! The solver is a scan, so its gradient is the adjoint run backwards in time as another scan; `Keep::Sqrt`
//! stores a state every few steps and recomputes those between. After 300 steps the paths are within 0.05 of
//! the pendulum's on average.

use gradus::nn::{Forward, Linear, Module, Optimizer, Schedule, Sequential, compile_training, optim::Adam};
use gradus::{All, Generator, Keep, Result, ScanOptions, Tensor, scan};

/// Steps of the solver, and their length.
const STEPS: usize = 40;
const H: f64 = 0.1;

/// Computes the path from `y` of `dy/dt = f(y)`, `[STEPS, …]`, by the classical Runge-Kutta method.
fn solve(y: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let how = ScanOptions { length: Some(STEPS), keep: Keep::Sqrt, ..ScanOptions::default() };
    let path = scan(&[y], &[], how, |y, _| {
        let y = &y[0];
        let k1 = f(y);
        let k2 = f(&(y + &k1 * (H / 2.0)));
        let k3 = f(&(y + &k2 * (H / 2.0)));
        let k4 = f(&(y + &k3 * H));
        let next = y + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (H / 6.0);
        (vec![next.clone()], vec![next])
    });
    path.map_or_else(Tensor::failed, |(_, mut ys)| ys.remove(0))
}

/// A pendulum with friction: the derivatives of angle and speed.
fn pendulum(y: &Tensor) -> Tensor {
    let (angle, speed) = (y.narrow(-1, 0, 1), y.narrow(-1, 1, 1));
    Tensor::cat(&[&speed, &(-angle.sin() - &speed * 0.2)], -1)
}

/// Fits for this many steps; returns the average distance of the paths.
pub(crate) fn train(steps: u64) -> Result<f32> {
    let g = Generator::new(1);
    let net = Sequential::new().then(Linear::new(2, 32, &g)).then(Tensor::tanh).then(Linear::new(32, 2, &g));
    let start = Tensor::from([[2.0f32, 0.0], [-1.5, 0.5], [1.0, -1.0], [0.5, 1.5]]);
    let batch = [start.clone(), solve(&start, pendulum)];
    let path = |net: &Sequential, start: &Tensor| solve(start, |y| net.forward(y));
    let loss = |net: &Sequential, b: &[Tensor]| (path(net, &b[0]) - &b[1]).abs().mean(All);
    let adam = Optimizer::new(net.parameters(), Adam { rate: 1e-2, ..Adam::default() });
    let adam = adam.schedule(Schedule::cosine(steps, 0.01));
    let mut step = compile_training(&net, loss, adam, &batch)?;
    let mut distance = 0.0;
    for i in 1..=steps {
        distance = step.run(&batch)?.loss.item::<f32>()?;
        if i.is_multiple_of((steps / 5).max(1)) {
            println!("step {i}: distance {distance:.4}");
        }
    }
    Ok(distance)
}

fn main() -> Result<()> {
    let steps = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(300);
    let distance = train(steps)?;
    assert!(steps < 300 || distance < 0.05, "it has learnt less than it should");
    Ok(())
}
