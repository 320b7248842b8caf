//! Rules that scale gradients by their past magnitudes and keep no average of the gradients themselves.

use super::momentum::{Decay, toward};
use super::{Initial, Named, Rule, State};
use gradus_tensor::{Args, Tensor, arg};

/// RMSProp.
#[derive(Clone, Copy, Debug)]
pub struct RmsProp {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average square.
    pub alpha: f64,
    /// Added to the root that divides the gradient, against division by zero.
    pub eps: f64,
    /// Factor of the previous direction.
    pub momentum: f64,
    /// If true, scales by the variance instead of the average square.
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
    fn name(&self) -> &'static str {
        "rmsprop"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        let optional = [("grad_avg", self.centered), ("momentum_buffer", self.momentum != 0.0)];
        let kept = optional.into_iter().filter(|(_, kept)| *kept).map(|(name, _)| name);
        ["square_avg"].into_iter().chain(kept).map(|name| (name, Initial::Like(0.0))).collect()
    }

    fn structure(&self) -> Args {
        let momentum = self.momentum != 0.0;
        let decay = Decay::of(self.weight_decay, false);
        vec![arg("centered", self.centered), arg("momentum", momentum), decay.arg()]
    }

    fn numbers(&self, rate: f64, _: u64) -> Vec<Named> {
        vec![("rate", rate)]
    }

    fn settings(&self) -> Vec<Named> {
        let shares = [("alpha", self.alpha), ("share", 1.0 - self.alpha), ("eps", self.eps)];
        shares.into_iter().chain([("momentum", self.momentum), ("weight_decay", self.weight_decay)]).collect()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, alpha, share, eps, momentum) = (&n[0], &n[1], &n[2], &n[3], &n[4]);
        let g = Decay::of(self.weight_decay, false).with_penalty(p, g, &n[5]);
        let square = &state[0] * alpha + &g * &g * share;
        let mean = self.centered.then(|| toward(&state[1], &g, share));
        let variance = mean.as_ref().map_or_else(|| square.clone(), |m| &square - m * m);
        let scaled = &g / (variance.sqrt() + eps);
        let direction = (self.momentum != 0.0).then(|| &state[state.len() - 1] * momentum + &scaled);
        let next = p - rate * direction.as_ref().unwrap_or(&scaled);
        (next, [square].into_iter().chain(mean).chain(direction).collect())
    }
}

/// Adagrad.
#[derive(Clone, Copy, Debug)]
pub struct Adagrad {
    /// The learning rate.
    pub rate: f64,
    /// At step `t`, counted from 0, the rate is divided by `1 + rate_decay · t`.
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
    fn name(&self) -> &'static str {
        "adagrad"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        vec![("sum", Initial::Like(self.initial))]
    }

    fn structure(&self) -> Args {
        vec![Decay::of(self.weight_decay, false).arg()]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        vec![("rate", rate / (1.0 + (step as f64 - 1.0) * self.rate_decay))]
    }

    fn settings(&self) -> Vec<Named> {
        vec![("eps", self.eps), ("weight_decay", self.weight_decay)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, eps, decay) = (&n[0], &n[1], &n[2]);
        let g = Decay::of(self.weight_decay, false).with_penalty(p, g, decay);
        let sum = &state[0] + &g * &g;
        (p - rate * &g / (sum.sqrt() + eps), vec![sum])
    }
}

/// Adadelta: divides gradients by their root mean square, and multiplies them by that of the past updates.
#[derive(Clone, Copy, Debug)]
pub struct Adadelta {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average squares.
    pub rho: f64,
    /// Added to the average squares.
    pub eps: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for Adadelta {
    fn default() -> Adadelta {
        Adadelta { rate: 1.0, rho: 0.9, eps: 1e-6, weight_decay: 0.0 }
    }
}

impl Rule for Adadelta {
    fn name(&self) -> &'static str {
        "adadelta"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        vec![("square_avg", Initial::Like(0.0)), ("acc_delta", Initial::Like(0.0))]
    }

    fn structure(&self) -> Args {
        vec![Decay::of(self.weight_decay, false).arg()]
    }

    fn numbers(&self, rate: f64, _: u64) -> Vec<Named> {
        vec![("rate", rate)]
    }

    fn settings(&self) -> Vec<Named> {
        let shares = [("rho", self.rho), ("share", 1.0 - self.rho)];
        shares.into_iter().chain([("eps", self.eps), ("weight_decay", self.weight_decay)]).collect()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, rho, share, eps) = (&n[0], &n[1], &n[2], &n[3]);
        let g = Decay::of(self.weight_decay, false).with_penalty(p, g, &n[4]);
        let averaged = |old: &Tensor, new: &Tensor| old * rho + new * new * share;
        let square = averaged(&state[0], &g);
        let change = (&state[1] + eps).sqrt() / (&square + eps).sqrt() * g;
        let changes = averaged(&state[1], &change);
        (p - rate * change, vec![square, changes])
    }
}

/// Adafactor: stores the average square of a matrix's gradients as averages of its rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Adafactor {
    /// The largest relative learning rate.
    pub rate: f64,
    /// The weight of new squares at step `t` is `t` to this power.
    pub decay: f64,
    /// Two lower bounds: of the root mean square that divides the gradient (the machine epsilon of the dtype
    /// if `None`), and of the root mean square of a parameter.
    pub eps: (Option<f64>, f64),
    /// Updates with a root mean square above this are scaled down.
    pub clip: f64,
    /// Each step subtracts the parameters times this number and times the learning rate.
    pub weight_decay: f64,
}

impl Default for Adafactor {
    fn default() -> Adafactor {
        Adafactor { rate: 1e-2, decay: -0.8, eps: (None, 1e-3), clip: 1.0, weight_decay: 0.0 }
    }
}

fn root_mean_square(x: &Tensor) -> Tensor {
    x.square().mean(()).sqrt()
}

impl Rule for Adafactor {
    fn name(&self) -> &'static str {
        "adafactor"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, p: &Tensor) -> State {
        if p.rank() < 2 {
            return vec![("variance", Initial::Like(0.0))];
        }
        vec![("row_var", Initial::Along(-1)), ("col_var", Initial::Along(-2))]
    }

    fn structure(&self) -> Args {
        vec![arg("eps", self.eps.0.is_some())]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        let t = step as f64;
        let kept = 1.0 - rate * self.weight_decay;
        vec![("rate", rate.min(1.0 / t.sqrt())), ("share", t.powf(self.decay)), ("kept", kept)]
    }

    fn settings(&self) -> Vec<Named> {
        vec![("eps", self.eps.0.unwrap_or(0.0)), ("least", self.eps.1), ("clip", self.clip)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, share, kept, least, clip) = (&n[0], &n[1], &n[2], &n[4], &n[5]);
        let machine = Tensor::from(p.dtype().epsilon()).to_dtype(p.dtype());
        let eps = if self.eps.0.is_some() { &n[3] } else { &machine };
        let square = g.square();
        let (variance, state) = match state {
            [rows, columns] => {
                let rows = toward(rows, &square.mean_keepdim(-1), share);
                let columns = toward(columns, &square.mean_keepdim(-2), share);
                let both = rows.matmul(&columns) / rows.mean_keepdim(-2).maximum(eps);
                (both, vec![rows, columns])
            }
            _ => {
                let all = toward(&state[0], &square, share);
                (all.clone(), vec![all])
            }
        };
        let update = variance.maximum(&(eps * eps)).rsqrt() * g;
        let size = root_mean_square(&update);
        let rate = root_mean_square(p).maximum(least) * rate / (size / clip).clamp_min(1.0);
        (p * kept - update * rate, state)
    }
}
