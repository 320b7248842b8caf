//! Fine-tuning of language models: on texts, on preferences, and by rewards of generated answers.
//!
//! [`LanguageModel::tune`] trains on texts ([`Example`]); [`LanguageModel::prefer`] on pairs of answers
//! (DPO). [`RewardModel`] learns to score answers; [`LanguageModel::ppo`] and [`LanguageModel::grpo`] raise a
//! reward. Each trains all weights, or low-rank adapters of some of them ([`Lora`]), which also works on
//! quantised weights. The losses are functions of tensors in [`objective`].

mod adapter;
mod data;
mod example;
mod grpo;
pub mod objective;
mod pack;
mod ppo;
mod preference;
mod reference;
mod reward;
mod rollout;
mod save;

pub use adapter::{Lora, attach, detach, load_adapter, merge, save_adapter};
pub use data::{Data, MAX_DATA, parse_data, read_data};
pub use example::{Example, Pair, Prompt};
pub use grpo::{Grpo, Round};
pub use pack::{Row, pack};
pub use ppo::Ppo;
pub use preference::Dpo;
pub use reward::RewardModel;
pub use rollout::{Rollout, Sampler};
pub use save::save;

use crate::decoder::{Decoder, Packed};
use crate::engine::Engine;
use crate::language::LanguageModel;
use gradus_ir::{DType, Error, Result};
use gradus_nn::optim::AdamW;
use gradus_nn::{Clip, MAX_LOSS, Module, Optimizer, Part, Schedule, compile_training};
use gradus_tensor::{Device, Generator, Tensor};
use pack::Shape;

/// The schedule of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decay {
    /// The rate stays constant.
    Constant,
    /// The rate falls linearly to 0.
    #[default]
    Linear,
    /// The rate falls to 0 along half a cosine.
    Cosine,
}

/// Options common to all kinds of tuning.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The low-rank adapters to train; `None` trains all weights.
    pub lora: Option<Lora>,
    /// Number of updates.
    pub steps: u64,
    /// Size of a batch, in rows of packed texts, in pairs, or in prompts.
    pub batch: usize,
    /// Number of batches whose gradients are added before an update: the effect of a larger batch with the
    /// memory of a small one.
    pub accumulate: u64,
    /// Number of tokens of a row; by default the length of the longest text.
    pub length: Option<usize>,
    /// If true, several texts may share a row.
    pub pack: bool,
    /// The learning rate.
    pub rate: f64,
    /// Number of updates during which the rate rises from near 0 to its full value.
    pub warmup: u64,
    /// The schedule after the warm-up.
    pub decay: Decay,
    /// Weight decay.
    pub weight_decay: f64,
    /// Largest norm of the gradients; larger gradients are scaled down to it.
    pub clip: f64,
    /// Seed of the order of texts, of initial values and of sampling.
    pub seed: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            lora: Some(Lora::default()),
            steps: 100,
            batch: 4,
            accumulate: 1,
            length: None,
            pack: true,
            rate: 1e-3,
            warmup: 0,
            decay: Decay::Linear,
            weight_decay: 0.0,
            clip: 1.0,
            seed: 0,
        }
    }
}

/// State of a run after an update.
pub struct Progress<'a> {
    /// Number of updates so far.
    pub step: u64,
    /// Number of updates of the run.
    pub steps: u64,
    /// Loss of the batches of this update, computed with the weights before the update.
    pub loss: f64,
    /// Number of tokens of this update that have a loss.
    pub tokens: usize,
    /// Learning rate of the next update.
    pub rate: f64,
    /// The model, for checkpoints.
    pub model: &'a Decoder,
}

impl Tuning {
    /// Returns an error if an option is out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let counts = [("steps", self.steps), ("batch", self.batch as u64), ("accumulate", self.accumulate)];
        if let Some((name, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return Err(Error::value(format!("`{name}` 0"), "must be at least 1"));
        }
        let positive = [("rate", self.rate), ("clip", self.clip)];
        if let Some((name, x)) = positive.iter().find(|(_, x)| !(*x > 0.0 && x.is_finite())) {
            return Err(Error::value(format!("`{name}` {x}"), "must be positive and finite"));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(Error::value(format!("`weight_decay` {}", self.weight_decay), "must be 0 or more"));
        }
        self.lora.iter().try_for_each(Lora::check)
    }

    /// Makes the optimiser of `parameters`, with the schedule and clipping of the options.
    pub(crate) fn optimizer(&self, parameters: Vec<(String, Tensor)>) -> Optimizer {
        let left = self.steps.saturating_sub(self.warmup).max(1);
        let then = match self.decay {
            Decay::Constant => Schedule::constant(),
            Decay::Linear => Schedule::linear(1.0, 0.0, left),
            Decay::Cosine => Schedule::cosine(left, 0.0),
        };
        let first = 1.0 / (self.warmup + 1) as f64;
        let rule = AdamW { rate: self.rate, weight_decay: self.weight_decay, ..AdamW::default() };
        let schedule = if self.warmup > 0 { Schedule::warm_up(first, self.warmup, then) } else { then };
        Optimizer::new(parameters, rule).schedule(schedule).clip(Clip::Norm(self.clip))
    }

    /// Returns the parameters to train and freezes all others. These are the parameters of the adapters,
    /// which are attached if the model has none, or all parameters if `lora` is `None`.
    pub(crate) fn prepare(&self, model: &Decoder) -> Result<Vec<(String, Tensor)>> {
        self.check()?;
        let attached = model.lora_slots().iter().any(|(_, slot)| slot.get().is_some());
        match &self.lora {
            Some(lora) if !attached => attach(model, lora, self.seed)?,
            None if attached => {
                let why = "has an adapter; merge or detach it before all weights are trained";
                return Err(Error::value("the model", why));
            }
            _ => {}
        }
        let quantized =
            |(_, part): &(String, Part)| matches!(part, Part::Buffer(t) if t.dtype() == DType::U8);
        if self.lora.is_none() && model.parts().iter().any(quantized) {
            let why = "has quantised weights, which cannot be trained; load it as f32, or train an adapter";
            return Err(Error::value("the model", why));
        }
        let mut trained = Vec::new();
        for (name, p) in model.parameters() {
            let train = self.lora.is_none() || adapter::is_adapter(&name);
            p.set_requires_grad(train)?;
            if train {
                trained.push((name, p));
            }
        }
        Ok(trained)
    }
}

/// Returns the loss, or an error if it is so large that the run has diverged.
pub(crate) fn check_loss(step: u64, loss: f64) -> Result<f64> {
    match loss.is_finite() && loss.abs() <= MAX_LOSS {
        true => Ok(loss),
        false => {
            let why = format!("the loss is {loss:e}; try a lower rate or a warm-up");
            Err(Error::value(format!("step {step}:"), why))
        }
    }
}

/// Reads the single element of a tensor.
pub(crate) fn number(t: &Tensor) -> Result<f64> {
    t.to(Device::CPU).to_dtype(DType::F64).item::<f64>()
}

/// Draws a random order of `n` items for pass `epoch` over the data.
pub(crate) fn shuffled(n: usize, seed: u64, epoch: u64) -> Result<Vec<usize>> {
    let words = Generator::new(seed.wrapping_add(epoch.wrapping_mul(0x9E37_79B9_7F4A_7C15))).bits([n]);
    Ok(words.argsort(0, false).to_vec::<i64>()?.into_iter().map(|i| i as usize).collect())
}

/// An endless sequence of indices of a dataset: pass after pass, each in a new random order.
pub(crate) struct Passes {
    order: Vec<usize>,
    at: usize,
    epoch: u64,
    seed: u64,
}

impl Passes {
    pub(crate) fn new(n: usize, seed: u64) -> Result<Passes> {
        Ok(Passes { order: shuffled(n, seed, 0)?, at: 0, epoch: 0, seed })
    }

    /// Returns the next `count` indices; they may cross the end of a pass.
    pub(crate) fn take(&mut self, count: usize) -> Result<Vec<usize>> {
        let mut items = Vec::with_capacity(count);
        while items.len() < count {
            if self.at == self.order.len() {
                self.epoch += 1;
                (self.order, self.at) = (shuffled(self.order.len(), self.seed, self.epoch)?, 0);
            }
            items.push(self.order[self.at]);
            self.at += 1;
        }
        Ok(items)
    }
}

/// Computes the weighted sum of the losses of tokens. `batch` holds `ids`, `targets`, `segments`, `positions`
/// and `weights`, all of shape `[batch, time]`.
pub fn token_loss(model: &Decoder, batch: &[Tensor]) -> Tensor {
    let [ids, targets, segments, positions, weights] = batch else {
        return Tensor::failed(Error::value(format!("{} tensors", batch.len()), "must be 5"));
    };
    let packed = Packed { segments: segments.clone(), positions: positions.clone() };
    let logits = model.head(&model.states(ids, Some(&packed)));
    -(objective::token_log_probabilities(&logits, targets) * weights).sum(())
}

impl LanguageModel {
    /// Trains the model on examples. Calls `each` after every update; the run ends early if `each` returns
    /// false. Returns the loss of the last update.
    pub fn tune(
        &mut self,
        examples: &[Example],
        tuning: &Tuning,
        mut each: impl FnMut(&Progress<'_>) -> Result<bool>,
    ) -> Result<f64> {
        let model = self.engine.shared();
        let shape = Shape::of_examples(examples, tuning, &model.config)?;
        let rows = pack(examples, shape.length, tuning.pack)?;
        let trained = tuning.prepare(&model)?;
        let batch = tuning.batch.min(rows.len());
        let per_step = batch * tuning.accumulate as usize;
        let mut passes = Passes::new(rows.len(), tuning.seed)?;
        let (device, mut last) = (model.device(), 0.0);
        let first = pack::tensors(&rows.iter().take(batch).collect::<Vec<_>>(), 1.0, device);
        let step = compile_training(model.clone(), token_loss, tuning.optimizer(trained), &first)?;
        let mut step = step.accumulate(tuning.accumulate);
        for n in 1..=tuning.steps {
            let chosen: Vec<&Row> = passes.take(per_step)?.into_iter().map(|i| &rows[i]).collect();
            let total: f64 = chosen.iter().map(|row| row.total()).sum();
            let (scale, mut loss) = (tuning.accumulate as f64 / total.max(1.0), 0.0);
            for part in chosen.chunks(batch) {
                let outcome = step.run(&pack::tensors(part, scale, device))?;
                loss += number(&outcome.loss)? / tuning.accumulate as f64;
            }
            last = check_loss(n, loss)?;
            let rate = step.optimizer().rate();
            let tokens = total as usize;
            if !each(&Progress { step: n, steps: tuning.steps, loss, tokens, rate, model: &model })? {
                break;
            }
        }
        drop(step);
        self.renew();
        Ok(last)
    }

    /// Drops the cache and the compiled plans. Must be called after weights or adapters have changed.
    pub fn renew(&mut self) {
        self.engine = Engine::new(self.engine.shared());
    }
}
