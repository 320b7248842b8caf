//! Adam and its variants: averages of gradients, scaled by averages of their magnitudes.

use super::momentum::{Decay, toward};
use super::{Initial, Named, Rule, State};
use gradus_tensor::{Args, Tensor, arg};

/// Adam.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the root of the mean square, against division by zero.
    pub eps: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
    /// If true, uses the largest average square so far.
    pub amsgrad: bool,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, amsgrad: false }
    }
}

/// Settings that all variants have.
struct Common {
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
    decoupled: bool,
}

/// The common part of an update: parameter and gradient after weight decay, and the new averages.
struct Averages {
    p: Tensor,
    g: Tensor,
    mean: Tensor,
    square: Tensor,
}

impl Common {
    /// Length of the list that [`numbers`](Common::numbers) returns.
    const NUMBERS: usize = 2;
    /// Length of the list that [`settings`](Common::settings) returns.
    const SETTINGS: usize = 5;

    fn decay(&self) -> Decay {
        Decay::of(self.weight_decay, self.decoupled)
    }

    /// Returns 1 minus a power of each decay, which corrects the bias of averages that start at 0.
    fn corrections(&self, step: u64) -> (f64, f64) {
        let one_minus_power = |beta: f64| 1.0 - beta.powf(step as f64);
        (one_minus_power(self.betas.0), one_minus_power(self.betas.1))
    }

    /// Returns the step's numbers: the factor by which parameters decay, and the number that divides the
    /// roots of mean squares. The roots are divided, not multiplied by the reciprocal, because PyTorch
    /// divides them; so they round as in PyTorch.
    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        vec![("kept", 1.0 - rate * self.weight_decay), ("correction", self.corrections(step).1.sqrt())]
    }

    fn settings(&self) -> Vec<Named> {
        let (beta1, beta2) = self.betas;
        let shares = [("share_1", 1.0 - beta1), ("beta_2", beta2), ("share_2", 1.0 - beta2)];
        shares.into_iter().chain([("eps", self.eps), ("weight_decay", self.weight_decay)]).collect()
    }

    /// Computes the common part of an update. `n` begins with the common numbers and ends with the common
    /// settings.
    fn averages(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> Averages {
        let common = &n[n.len() - Common::SETTINGS..];
        let (share1, beta2, share2, decay) = (&common[0], &common[1], &common[2], &common[4]);
        let (p, g) = (self.decay().decayed(p, &n[0]), self.decay().with_penalty(p, g, decay));
        let mean = toward(&state[0], &g, share1);
        let square = &state[1] * beta2 + &g * &g * share2;
        Averages { p, g, mean, square }
    }
}

/// Returns `eps`, the last but one of the numbers of a step.
fn eps(n: &[Tensor]) -> &Tensor {
    &n[n.len() - 2]
}

fn average_states() -> State {
    vec![("exp_avg", Initial::Like(0.0)), ("exp_avg_sq", Initial::Like(0.0))]
}

/// Joins a rule's own numbers to those that all variants have.
fn with_own_numbers(common: Vec<Named>, own: impl IntoIterator<Item = Named>) -> Vec<Named> {
    common.into_iter().chain(own).collect()
}

impl Adam {
    fn common(&self, decoupled: bool) -> Common {
        Common { betas: self.betas, eps: self.eps, weight_decay: self.weight_decay, decoupled }
    }

    fn state(&self) -> State {
        let largest = self.amsgrad.then_some(("max_exp_avg_sq", Initial::Like(0.0)));
        average_states().into_iter().chain(largest).collect()
    }

    fn numbers(&self, common: &Common, rate: f64, step: u64) -> Vec<Named> {
        with_own_numbers(common.numbers(rate, step), [("rate", rate / common.corrections(step).0)])
    }

    fn update(
        &self,
        common: &Common,
        (p, g): (&Tensor, &Tensor),
        state: &[Tensor],
        n: &[Tensor],
    ) -> (Tensor, Vec<Tensor>) {
        let Averages { p, mean, square, .. } = common.averages(p, g, state, n);
        let largest = state.get(2).map(|most| most.maximum(&square));
        let size = largest.as_ref().unwrap_or(&square).sqrt() / &n[1] + eps(n);
        let next = p - &n[Common::NUMBERS] * &mean / size;
        (next, [mean, square].into_iter().chain(largest).collect())
    }
}

/// Implements the trait for the two kinds of Adam by the functions above.
macro_rules! adam {
    ($($ty:ident $name:literal $decoupled:literal;)*) => {$(
        impl Rule for $ty {
            fn name(&self) -> &'static str {
                $name
            }

            fn rate(&self) -> f64 {
                self.rate
            }

            fn state(&self, _: &Tensor) -> State {
                self.adam().state()
            }

            fn structure(&self) -> Args {
                vec![arg("amsgrad", self.amsgrad), self.adam().common($decoupled).decay().arg()]
            }

            fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
                self.adam().numbers(&self.adam().common($decoupled), rate, step)
            }

            fn settings(&self) -> Vec<Named> {
                self.adam().common($decoupled).settings()
            }

            fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
                self.adam().update(&self.adam().common($decoupled), (p, g), state, n)
            }
        }
    )*};
}

adam! {
    Adam "adam" false;
    AdamW "adamw" true;
}

impl Adam {
    fn adam(&self) -> Adam {
        *self
    }
}

/// Adam with decoupled weight decay.
#[derive(Clone, Copy, Debug)]
pub struct AdamW {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the root of the mean square, against division by zero.
    pub eps: f64,
    /// Each step subtracts the parameters times this number and times the learning rate.
    pub weight_decay: f64,
    /// If true, uses the largest average square so far.
    pub amsgrad: bool,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 1e-2, amsgrad: false }
    }
}

impl AdamW {
    fn adam(&self) -> Adam {
        let AdamW { rate, betas, eps, weight_decay, amsgrad } = *self;
        Adam { rate, betas, eps, weight_decay, amsgrad }
    }
}

/// Adam with a decaying maximum of the magnitudes of gradients instead of the root of their mean square.
#[derive(Clone, Copy, Debug)]
pub struct Adamax {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the largest magnitude.
    pub betas: (f64, f64),
    /// Added to the magnitude of gradients.
    pub eps: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f64,
}

impl Default for Adamax {
    fn default() -> Adamax {
        Adamax { rate: 2e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0 }
    }
}

impl Adamax {
    fn common(&self) -> Common {
        Common { betas: self.betas, eps: self.eps, weight_decay: self.weight_decay, decoupled: false }
    }
}

impl Rule for Adamax {
    fn name(&self) -> &'static str {
        "adamax"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        vec![("exp_avg", Initial::Like(0.0)), ("exp_inf", Initial::Like(0.0))]
    }

    fn structure(&self) -> Args {
        vec![self.common().decay().arg()]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        with_own_numbers(
            self.common().numbers(rate, step),
            [("rate", rate / self.common().corrections(step).0)],
        )
    }

    fn settings(&self) -> Vec<Named> {
        self.common().settings()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let Averages { p, g, mean, .. } = self.common().averages(p, g, state, n);
        let beta2 = &n[n.len() - Common::SETTINGS + 1];
        let largest = (&state[1] * beta2).maximum(&(g.abs() + eps(n)));
        (p - &n[Common::NUMBERS] * &mean / &largest, vec![mean, largest])
    }
}

/// Adam with Nesterov's momentum.
#[derive(Clone, Copy, Debug)]
pub struct NAdam {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the root of the mean square, against division by zero.
    pub eps: f64,
    /// Decay of weights, in the way that `decoupled` selects.
    pub weight_decay: f64,
    /// Speed at which the momentum approaches its final value.
    pub momentum_decay: f64,
    /// If true, each step subtracts a fraction of the parameters; if false, an L2 penalty is added to the gradient.
    pub decoupled: bool,
}

impl Default for NAdam {
    fn default() -> NAdam {
        NAdam {
            rate: 2e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.0,
            momentum_decay: 4e-3,
            decoupled: false,
        }
    }
}

impl NAdam {
    fn common(&self) -> Common {
        let NAdam { betas, eps, weight_decay, decoupled, .. } = *self;
        Common { betas, eps, weight_decay, decoupled }
    }
}

impl Rule for NAdam {
    fn name(&self) -> &'static str {
        "nadam"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        average_states().into_iter().chain([("mu_product", Initial::Scalar(1.0))]).collect()
    }

    fn structure(&self) -> Args {
        vec![self.common().decay().arg()]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        let mu = |step: u64| self.betas.0 * (1.0 - 0.5 * 0.96f64.powf(step as f64 * self.momentum_decay));
        with_own_numbers(
            self.common().numbers(rate, step),
            [("rate", rate), ("mu", mu(step)), ("next_mu", mu(step + 1))],
        )
    }

    fn settings(&self) -> Vec<Named> {
        self.common().settings()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let Averages { p, g, mean, square } = self.common().averages(p, g, state, n);
        let [rate, mu, next] = [0, 1, 2].map(|i| &n[Common::NUMBERS + i]);
        // Converts to the dtype of `state[2]`, the product of the momenta of all steps so far.
        let of = |x: &Tensor| x.to_dtype(state[2].dtype());
        let product = &state[2] * of(mu);
        let own = of(rate) * (1.0 - of(mu)) / (1.0 - &product);
        let ahead = of(rate) * of(next) / (1.0 - &product * of(next));
        let along = g * own.to_dtype(p.dtype()) + &mean * ahead.to_dtype(p.dtype());
        let next = &p - along / (square.sqrt() / &n[1] + eps(n));
        (next, vec![mean, square, product])
    }
}

/// Adam that scales only after the estimate of the variance is reliable (RAdam).
#[derive(Clone, Copy, Debug)]
pub struct RAdam {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the average gradient, and of the average square.
    pub betas: (f64, f64),
    /// Added to the root of the mean square, against division by zero.
    pub eps: f64,
    /// Decay of weights, in the way that `decoupled` selects.
    pub weight_decay: f64,
    /// If true, each step subtracts a fraction of the parameters; if false, an L2 penalty is added to the gradient.
    pub decoupled: bool,
}

impl Default for RAdam {
    fn default() -> RAdam {
        RAdam { rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, decoupled: false }
    }
}

impl RAdam {
    fn common(&self) -> Common {
        let RAdam { betas, eps, weight_decay, decoupled, .. } = *self;
        Common { betas, eps, weight_decay, decoupled }
    }

    /// Returns the rate of the unscaled update and that of the scaled update; one of them is 0.
    fn rates(&self, rate: f64, step: u64) -> (f64, f64) {
        let (beta2, (first, second)) = (self.betas.1, self.common().corrections(step));
        let rate = rate / first;
        // The effective number of gradients in the average square.
        let most = 2.0 / (1.0 - beta2) - 1.0;
        let length = most - 2.0 * step as f64 * beta2.powf(step as f64) / second;
        if length <= 5.0 {
            return (rate, 0.0);
        }
        let rectified = (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length);
        (0.0, rate * second.sqrt() * rectified.sqrt())
    }
}

impl Rule for RAdam {
    fn name(&self) -> &'static str {
        "radam"
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn state(&self, _: &Tensor) -> State {
        average_states()
    }

    fn structure(&self) -> Args {
        vec![self.common().decay().arg()]
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        let (plain, scaled) = self.rates(rate, step);
        with_own_numbers(self.common().numbers(rate, step), [("plain_rate", plain), ("scaled_rate", scaled)])
    }

    fn settings(&self) -> Vec<Named> {
        self.common().settings()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], n: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let Averages { p, mean, square, .. } = self.common().averages(p, g, state, n);
        let (plain, scaled) = (&n[Common::NUMBERS], &n[Common::NUMBERS + 1]);
        (p - &mean * (scaled / (square.sqrt() + eps(n)) + plain), vec![mean, square])
    }
}
