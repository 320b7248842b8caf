//! Rules that scale gradients by their past magnitudes and keep no average of the gradients themselves.

use super::Rule;
use super::momentum::decayed;
use gradus_tensor::Tensor;

/// RMSProp.
#[derive(Clone, Copy, Debug)]
pub struct RmsProp {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average square.
    pub alpha: f64,
    /// Added to the standard deviation.
    pub eps: f64,
    /// Factor of the previous direction.
    pub momentum: f64,
    /// Whether to scale by the variance instead of the average square.
    pub centered: bool,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { rate: 1e-2, alpha: 0.99, eps: 1e-8, momentum: 0.0, centered: false, weight_decay: 0.0 }
    }
}

impl Rule for RmsProp {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        let optional = [("grad_avg", self.centered), ("momentum_buffer", self.momentum != 0.0)];
        let kept = optional.into_iter().filter(|(_, kept)| *kept).map(|(name, _)| name);
        ["square_avg"].into_iter().chain(kept).map(|name| (name, p.zeros_like())).collect()
    }

    fn numbers(&self, rate: f64, _: u64) -> Vec<f64> {
        vec![rate]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let g = decayed(p, g, self.weight_decay);
        let averaged = |old: &Tensor, new: Tensor| old * self.alpha + new * (1.0 - self.alpha);
        let square = averaged(&state[0], &g * &g);
        let mean = self.centered.then(|| averaged(&state[1], g.clone()));
        let variance = mean.as_ref().map_or_else(|| square.clone(), |m| &square - m * m);
        let scaled = &g / (variance.sqrt() + self.eps);
        let direction = (self.momentum != 0.0).then(|| &state[state.len() - 1] * self.momentum + &scaled);
        let next = p - &n[0] * direction.as_ref().unwrap_or(&scaled);
        (next, [square].into_iter().chain(mean).chain(direction).collect())
    }
}

/// Adagrad.
#[derive(Clone, Copy, Debug)]
pub struct Adagrad {
    /// The learning rate.
    pub rate: f64,
    /// The rate is divided by 1 + this times the step.
    pub rate_decay: f64,
    /// Added to the root of the sum of squares.
    pub eps: f64,
    /// Initial value of the sums of squares.
    pub initial: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for Adagrad {
    fn default() -> Adagrad {
        Adagrad { rate: 1e-2, rate_decay: 0.0, eps: 1e-10, initial: 0.0, weight_decay: 0.0 }
    }
}

impl Rule for Adagrad {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        vec![("sum", p.full_like(self.initial))]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<f64> {
        vec![rate / (1.0 + (step - 1) as f64 * self.rate_decay)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let g = decayed(p, g, self.weight_decay);
        let sum = &state[0] + &g * &g;
        (p - &n[0] * &g / (sum.sqrt() + self.eps), vec![sum])
    }
}

/// Adafactor: stores the average square of a matrix's gradients as averages of its rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Adafactor {
    /// The largest relative learning rate.
    pub rate: f64,
    /// The weight of new squares is the step to this power.
    pub decay: f64,
    /// Smallest standard deviation (the machine epsilon of the dtype if `None`), and smallest magnitude of a
    /// parameter.
    pub eps: (Option<f64>, f64),
    /// Updates with a root mean square above this are scaled down.
    pub clip: f64,
    /// Fraction of the parameters that is subtracted per step, times the rate.
    pub weight_decay: f64,
}

impl Default for Adafactor {
    fn default() -> Adafactor {
        Adafactor { rate: 1e-2, decay: -0.8, eps: (None, 1e-3), clip: 1.0, weight_decay: 0.0 }
    }
}

/// Root mean square.
fn size(x: &Tensor) -> Tensor {
    x.square().mean(()).sqrt()
}

impl Rule for Adafactor {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> Vec<(&'static str, Tensor)> {
        if p.rank() < 2 {
            return vec![("variance", p.zeros_like())];
        }
        let along = |axis: isize| p.zeros_like().narrow(axis, 0, 1);
        vec![("row_var", along(-1)), ("col_var", along(-2))]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<f64> {
        let t = step as f64;
        vec![rate.min(1.0 / t.sqrt()), t.powf(self.decay), 1.0 - rate * self.weight_decay]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let eps = self.eps.0.unwrap_or(p.dtype().epsilon());
        let averaged = |old: &Tensor, new: Tensor| old + (new - old) * &n[1];
        let square = g.square();
        let (variance, state) = match state {
            [rows, columns] => {
                let rows = averaged(rows, square.mean_keepdim(-1));
                let columns = averaged(columns, square.mean_keepdim(-2));
                let both = rows.matmul(&columns) / rows.mean_keepdim(-2).clamp_min(eps);
                (both, vec![rows, columns])
            }
            _ => {
                let whole = averaged(&state[0], square);
                (whole.clone(), vec![whole])
            }
        };
        let update = variance.clamp_min(eps * eps).rsqrt() * g;
        let rate = size(p).clamp_min(self.eps.1) * &n[0] / (size(&update) / self.clip).clamp_min(1.0);
        (p * &n[2] - update * rate, state)
    }
}
