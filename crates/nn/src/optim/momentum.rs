//! Rules that follow gradients, their averages or their signs.

use super::{Initial, Named, Rule, State};
use gradus_ir::attr::Attr;
use gradus_tensor::{Args, Tensor, arg};

/// Stochastic gradient descent.
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f64,
    /// Factor of the previous direction.
    pub momentum: f64,
    /// Fraction of the gradient that is not added to the direction.
    pub dampening: f64,
    /// If true, uses Nesterov momentum.
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
    fn name(&self) -> &'static str {
        "sgd"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        if self.momentum == 0.0 { Vec::new() } else { vec![("momentum_buffer", Initial::Like(0.0))] }
    }

    fn structure(&self) -> Args {
        vec![
            arg("momentum", self.momentum != 0.0),
            arg("nesterov", self.nesterov),
            Decay::of(self.weight_decay, false).arg(),
        ]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        // The first direction is the complete first gradient.
        vec![("rate", rate), ("share", if step == 1 { 1.0 } else { 1.0 - self.dampening })]
    }

    fn settings(&self) -> Vec<Named> {
        vec![("momentum", self.momentum), ("weight_decay", self.weight_decay)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, share, momentum, decay) = (&n[0], &n[1], &n[2], &n[3]);
        let g = Decay::of(self.weight_decay, false).with_penalty(p, g, decay);
        let [direction] = state else { return (p - rate * &g, Vec::new()) };
        let direction = direction * momentum + &g * share;
        let along = if self.nesterov { &g + &direction * momentum } else { direction.clone() };
        (p - rate * along, vec![direction])
    }
}

/// The kind of weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decay {
    /// No decay.
    None,
    /// Adds a penalty of `decay / 2 · |p|²` to the loss.
    Penalty,
    /// Subtracts a fraction of the parameter per step.
    Decoupled,
}

impl Decay {
    pub(super) fn of(weight_decay: f64, decoupled: bool) -> Decay {
        match weight_decay != 0.0 {
            false => Decay::None,
            true if decoupled => Decay::Decoupled,
            true => Decay::Penalty,
        }
    }

    /// Returns the argument of a rule's structure.
    pub(super) fn arg(self) -> (String, Attr) {
        arg("decay", self as i64)
    }

    /// Returns the gradient of the loss with the penalty, if there is one.
    pub(super) fn with_penalty(self, p: &Tensor, g: &Tensor, decay: &Tensor) -> Tensor {
        if self == Decay::Penalty { g + p * decay } else { g.clone() }
    }

    /// Returns the parameter after decoupled weight decay: `kept` is the fraction of it that remains. Returns
    /// the parameter unchanged for other kinds of decay.
    pub(super) fn decayed(self, p: &Tensor, kept: &Tensor) -> Tensor {
        if self == Decay::Decoupled { p * kept } else { p.clone() }
    }
}

/// Moves an average towards a new value.
pub(super) fn toward(old: &Tensor, new: &Tensor, share: &Tensor) -> Tensor {
    old + (new - old) * share
}

/// Lion: steps along the sign of a momentum.
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
    fn name(&self) -> &'static str {
        "lion"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        vec![("exp_avg", Initial::Like(0.0))]
    }

    fn numbers(&self, rate: f64, _: u64) -> Vec<Named> {
        vec![("rate", rate), ("kept", 1.0 - rate * self.weight_decay)]
    }

    fn settings(&self) -> Vec<Named> {
        vec![("share_1", 1.0 - self.betas.0), ("share_2", 1.0 - self.betas.1)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (rate, kept, share1, share2) = (&n[0], &n[1], &n[2], &n[3]);
        let next = p * kept - rate * toward(&state[0], g, share1).sign();
        (next, vec![toward(&state[0], g, share2)])
    }
}

/// Rprop: follows the signs of gradients. Each element has a step, which grows while the sign is constant.
#[derive(Clone, Copy, Debug)]
pub struct Rprop {
    /// The initial step of each element.
    pub rate: f64,
    /// Factors of a step: after a change of the sign, and otherwise.
    pub etas: (f64, f64),
    /// Smallest and largest step.
    pub steps: (f64, f64),
}

impl Default for Rprop {
    fn default() -> Rprop {
        Rprop { rate: 1e-2, etas: (0.5, 1.2), steps: (1e-6, 50.0) }
    }
}

impl Rule for Rprop {
    fn name(&self) -> &'static str {
        "rprop"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        vec![("prev", Initial::Like(0.0)), ("step_size", Initial::Like(self.rate))]
    }

    fn numbers(&self, _: f64, _: u64) -> Vec<Named> {
        Vec::new()
    }

    fn settings(&self) -> Vec<Named> {
        let ((shrink, grow), (least, most)) = (self.etas, self.steps);
        vec![("shrink", shrink), ("grow", grow), ("least", least), ("most", most)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (shrink, grow, least, most) = (&n[0], &n[1], &n[2], &n[3]);
        let agree = g * &state[0];
        let (same, other) = (agree.gt(0.0), agree.lt(0.0));
        let step = same.select(&(&state[1] * grow), &other.select(&(&state[1] * shrink), &state[1]));
        let step = step.maximum(least).minimum(most);
        let g = other.select(0.0, g);
        (p - g.sign() * &step, vec![g, step])
    }
}

/// Averaged gradient descent (Polyak and Juditsky, 1992). State `ax` is the average of the parameters from
/// step `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Asgd {
    /// The learning rate.
    pub rate: f64,
    /// Decay of parameters and of the rate.
    pub lambda: f64,
    /// Power of the rate's decay.
    pub alpha: f64,
    /// The step from which parameters are averaged.
    pub start: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for Asgd {
    fn default() -> Asgd {
        Asgd { rate: 1e-2, lambda: 1e-4, alpha: 0.75, start: 1e6, weight_decay: 0.0 }
    }
}

impl Rule for Asgd {
    fn name(&self) -> &'static str {
        "asgd"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        // The rate and the weight of the average are those of the previous step.
        vec![("ax", Initial::Like(0.0)), ("eta", Initial::Scalar(self.rate)), ("mu", Initial::Scalar(1.0))]
    }

    fn structure(&self) -> Args {
        vec![Decay::of(self.weight_decay, false).arg()]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        let step = step as f64;
        let eta = rate / (1.0 + self.lambda * rate * step).powf(self.alpha);
        vec![("eta", eta), ("mu", 1.0 / (step - self.start).max(1.0))]
    }

    fn settings(&self) -> Vec<Named> {
        vec![("lambda", self.lambda), ("weight_decay", self.weight_decay)]
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let (eta, mu, lambda, decay) = (&n[0], &n[1], &n[2], &n[3]);
        let [average, now, share] = [0, 1, 2].map(|i| &state[i]);
        let g = Decay::of(self.weight_decay, false).with_penalty(p, g, decay);
        let rate = now.to_dtype(p.dtype());
        let next = p * (1.0 - lambda * &rate) - g * &rate;
        let average = toward(average, &next, &share.to_dtype(p.dtype()));
        (next, vec![average, eta.to_dtype(now.dtype()), mu.to_dtype(share.dtype())])
    }
}
