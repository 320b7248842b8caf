//! Rules that scale each element by the magnitude of its past gradients.

use super::Rule;
use super::momentum::decayed;
use gradus_tensor::Tensor;

/// Adam.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the standard deviation.
    pub eps: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
    /// Whether to use the largest average square so far.
    pub amsgrad: bool,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, amsgrad: false }
    }
}

impl Rule for Adam {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        let names = ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"];
        names[..2 + self.amsgrad as usize].iter().map(|name| (*name, p.zeros_like())).collect()
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<f64> {
        // Corrects the bias of averages, which start at 0.
        let short = |beta: f64| 1.0 - beta.powf(step as f64);
        vec![rate / short(self.betas.0), 1.0 / short(self.betas.1).sqrt()]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (b1, b2) = self.betas;
        let g = decayed(p, g, self.weight_decay);
        let mean = &state[0] * b1 + &g * (1.0 - b1);
        let square = &state[1] * b2 + &g * &g * (1.0 - b2);
        let largest = state.get(2).map(|most| most.maximum(&square));
        let size = largest.as_ref().unwrap_or(&square);
        let next = p - &n[0] * &mean / (size.sqrt() * &n[1] + self.eps);
        (next, [mean, square].into_iter().chain(largest).collect())
    }
}

/// Adam with decoupled weight decay.
#[derive(Clone, Copy, Debug)]
pub struct AdamW {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the standard deviation.
    pub eps: f64,
    /// Fraction of the parameters that is subtracted per step, times the rate.
    pub weight_decay: f64,
    /// Whether to use the largest average square so far.
    pub amsgrad: bool,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 1e-2, amsgrad: false }
    }
}

impl AdamW {
    fn adam(&self) -> Adam {
        Adam { rate: self.rate, betas: self.betas, eps: self.eps, weight_decay: 0.0, amsgrad: self.amsgrad }
    }
}

impl Rule for AdamW {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        self.adam().state(p)
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<f64> {
        let mut numbers = self.adam().numbers(rate, step);
        numbers.push(1.0 - rate * self.weight_decay);
        numbers
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        self.adam().update(&(p * &n[2]), g, state, n)
    }
}
