//! Gradient descent, with and without momentum.

use super::Rule;
use gradus_tensor::Tensor;

/// Stochastic gradient descent.
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f64,
    /// Factor of the previous direction.
    pub momentum: f64,
    /// Fraction of the gradient that is not added to the direction.
    pub dampening: f64,
    /// Whether to use Nesterov momentum.
    pub nesterov: bool,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for Sgd {
    fn default() -> Sgd {
        Sgd { rate: 1e-3, momentum: 0.0, dampening: 0.0, nesterov: false, weight_decay: 0.0 }
    }
}

impl Rule for Sgd {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        if self.momentum == 0.0 { Vec::new() } else { vec![("momentum_buffer", p.zeros_like())] }
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<f64> {
        // The first direction is the complete first gradient.
        vec![rate, if step == 1 { 1.0 } else { 1.0 - self.dampening }]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let g = decayed(p, g, self.weight_decay);
        let [direction] = state else { return (p - &n[0] * &g, Vec::new()) };
        let direction = direction * self.momentum + &g * &n[1];
        let along = if self.nesterov { &g + &direction * self.momentum } else { direction.clone() };
        (p - &n[0] * along, vec![direction])
    }
}

/// The gradient of a loss to which `decay / 2 · |p|²` is added.
pub(super) fn decayed(p: &Tensor, g: &Tensor, decay: f64) -> Tensor {
    if decay == 0.0 { g.clone() } else { g + p * decay }
}

/// Lion: the sign of a momentum.
#[derive(Clone, Copy, Debug)]
pub struct Lion {
    /// The learning rate.
    pub rate: f64,
    /// Weight of the momentum in the direction, and its decay.
    pub betas: (f64, f64),
    /// Fraction of the parameters that is subtracted per step, times the rate.
    pub weight_decay: f64,
}

impl Default for Lion {
    fn default() -> Lion {
        Lion { rate: 1e-4, betas: (0.9, 0.99), weight_decay: 0.0 }
    }
}

impl Rule for Lion {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        vec![("exp_avg", p.zeros_like())]
    }

    fn numbers(&self, rate: f64, _: u64) -> Vec<f64> {
        vec![rate, 1.0 - rate * self.weight_decay]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let toward = |beta: f64| &state[0] * beta + g * (1.0 - beta);
        (p * &n[1] - &n[0] * toward(self.betas.0).sign(), vec![toward(self.betas.1)])
    }
}
