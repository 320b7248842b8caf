//! Group relative policy optimisation (GRPO): reinforcement learning that compares several answers to each
//! prompt.

use super::example::Prompt;
use super::pack::{Row, Shape, numbers, tensors};
use super::reference::{Scorer, Snapshot, log_probabilities};
use super::rollout::{Rollout, Sampler};
use super::{Decay, Passes, Tuning, check_loss, number, objective};
use crate::config::Config;
use crate::decoder::Decoder;
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};
use gradus_nn::{Module, Sampling, Step, compile_training};
use gradus_tensor::{Device, Tensor};
use std::ops::Range;

/// Options of [`LanguageModel::grpo`]. In each round, `tuning.batch` prompts are answered `group` times each.
/// The rows of a round are split into `tuning.accumulate` parts.
#[derive(Clone, Debug)]
pub struct Grpo {
    /// Options common to all tuning; a step is one round of answers.
    pub tuning: Tuning,
    /// Number of answers to each prompt.
    pub group: usize,
    /// Number of updates with the answers of each round.
    pub epochs: usize,
    /// The ratio of new to old probabilities is clipped to `[1 - clip.0, 1 + clip.1]`.
    pub clip: (f64, f64),
    /// Weight of the divergence from the initial policy in the loss.
    pub kl: f64,
    /// If true, rewards are divided by the standard deviation of their group.
    pub scaled: bool,
    /// Largest number of tokens of an answer.
    pub tokens: usize,
    /// Sampling options of answers. Ratios use the model's own probabilities, so limits and penalties bias
    /// them.
    pub sampling: Sampling,
}

impl Default for Grpo {
    fn default() -> Grpo {
        let tuning = Tuning { rate: 5e-4, decay: Decay::Constant, ..Tuning::default() };
        Grpo {
            tuning,
            group: 8,
            epochs: 1,
            clip: (0.2, 0.2),
            kl: 0.02,
            scaled: true,
            tokens: 64,
            sampling: Sampling::default(),
        }
    }
}

/// Results of a round of answers.
pub struct Round<'a> {
    /// Number of rounds so far.
    pub step: u64,
    /// Number of rounds of the run.
    pub steps: u64,
    /// Mean reward of the answers, before the update.
    pub reward: f64,
    /// Mean estimate per token of the divergence from the initial policy.
    pub kl: f64,
    /// Mean number of tokens of an answer.
    pub tokens: f64,
    /// Fraction of answers that ended with an end token.
    pub ended: f64,
    /// Loss of the last update.
    pub loss: f64,
    /// The answers.
    pub rollouts: &'a [Rollout],
    /// The reward of each answer.
    pub rewards: &'a [f64],
    /// The model, for checkpoints.
    pub model: &'a Decoder,
}

impl<'a> Round<'a> {
    pub(super) fn new(rollouts: &'a [Rollout], rewards: &'a [f64], model: &'a Decoder) -> Round<'a> {
        let n = rollouts.len().max(1) as f64;
        let mean = |f: &dyn Fn(&Rollout) -> f64| rollouts.iter().map(f).sum::<f64>() / n;
        Round {
            step: 0,
            steps: 0,
            reward: rewards.iter().sum::<f64>() / n,
            kl: 0.0,
            tokens: mean(&|r| r.example.learned() as f64),
            ended: mean(&|r| f64::from(u8::from(r.ended))),
            loss: 0.0,
            rollouts,
            rewards,
            model,
        }
    }
}

/// Computes the mean over all learned tokens of the estimated divergence from the reference.
pub(super) fn mean_kl(rows: &[Row], new: &[Vec<f64>], reference: &[Vec<f64>]) -> f64 {
    let (mut total, mut count) = (0.0, 0.0);
    for ((row, new), reference) in rows.iter().zip(new).zip(reference) {
        for ((w, new), reference) in row.weights.iter().zip(new).zip(reference) {
            let d = reference - new;
            total += f64::from(*w) * (d.exp() - d - 1.0);
            count += f64::from(*w);
        }
    }
    total / f64::max(count, 1.0)
}

/// Computes log-probabilities of rows in parts of `part` rows, so that one plan suffices; the last part is
/// padded.
pub(super) fn score_rows(
    scorer: &Scorer,
    rows: &[Row],
    part: usize,
    device: Device,
) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::with_capacity(rows.len());
    for own in rows.chunks(part) {
        let mut filled: Vec<&Row> = own.iter().collect();
        filled.resize(part, &rows[0]);
        all.extend(scorer.rows(&tensors(&filled, 1.0, device))?.into_iter().take(own.len()));
    }
    Ok(all)
}

/// Computes the length of rows for the prompts and answers of up to `tokens` tokens.
pub(super) fn row_length(
    prompts: &[Prompt],
    tokens: usize,
    tuning: &Tuning,
    config: &Config,
) -> Result<usize> {
    let longest = prompts.iter().map(|p| p.tokens.len()).max().unwrap_or(0);
    if longest == 0 {
        return Err(Error::value("no prompts", "were given; generation needs at least one"));
    }
    Ok(Shape::of_longest((longest + tokens).min(config.context), tuning, config)?.length)
}

/// Calls `reward`. Fails unless it returns one finite number for each answer.
pub(super) fn checked_rewards(
    rollouts: &[Rollout],
    reward: &mut impl FnMut(&[Rollout]) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let rewards = reward(rollouts)?;
    if rewards.len() != rollouts.len() {
        let why = format!("were given for {} answers", rollouts.len());
        return Err(Error::value(format!("{} rewards", rewards.len()), why));
    }
    match rewards.iter().find(|r| !r.is_finite()) {
        Some(r) => Err(Error::value(format!("reward {r}"), "must be finite")),
        None => Ok(rewards),
    }
}

impl LanguageModel {
    /// Trains the model to raise a reward by GRPO. Each round samples answers, rewards them, and raises the
    /// probability of answers that are better than others to the same prompt. `reward` takes the answers of a
    /// round and returns a number for each. Calls `each` after every round; the run ends early if it returns
    /// false. Returns the mean reward of the last round.
    pub fn grpo(
        &mut self,
        prompts: &[Prompt],
        mut reward: impl FnMut(&[Rollout]) -> Result<Vec<f64>>,
        options: &Grpo,
        mut each: impl FnMut(&Round<'_>) -> Result<bool>,
    ) -> Result<f64> {
        let Grpo { tuning, group, epochs, clip, kl, scaled, tokens, sampling } = options.clone();
        if group < 2 || epochs == 0 {
            let why = "cannot learn: a group needs at least 2 answers, and a round 1 epoch";
            return Err(Error::value(format!("group {group} and epochs {epochs}"), why));
        }
        if !(clip.0 > 0.0 && clip.1 > 0.0 && kl >= 0.0 && kl.is_finite()) {
            let why = "are out of range: both clips must be positive, and kl 0 or more";
            return Err(Error::value(format!("clip {clip:?} and kl {kl}"), why));
        }
        let model = self.engine.shared();
        let device = model.device();
        let length = row_length(prompts, tokens, &tuning, &model.config)?;
        let trained = tuning.prepare(&model)?;
        let start = Snapshot::new(&trained);
        let scorer = Scorer::new(model.clone());
        let mut sampler = Sampler::new(model.clone(), self.tokenizer.clone(), sampling, tokens, tuning.seed)?;
        let count = tuning.batch.min(prompts.len()) * group;
        let part = count.div_ceil(tuning.accumulate as usize);
        let loss = move |model: &Decoder, x: &[Tensor]| {
            let new = log_probabilities(model, x);
            let (weights, old, reference, advantages) = (&x[4], &x[5], &x[6], &x[7]);
            let own = objective::clipped_policy(&new, old, advantages, clip);
            ((own + objective::kl_estimate(&new, reference) * kl) * weights).sum(())
        };
        let zeros = || Tensor::zeros([part, length]).to(device);
        let mut first = tensors(&vec![&Row::single(&prompts[0].example(), length); part], 0.0, device);
        first.extend([zeros(), zeros(), zeros()]);
        let step = compile_training(model.clone(), loss, tuning.optimizer(trained), &first)?;
        let mut step = step.accumulate(tuning.accumulate);
        let (mut passes, mut last) = (Passes::new(prompts.len(), tuning.seed)?, 0.0);
        for n in 1..=tuning.steps {
            let chosen = passes.take(count / group)?;
            let chosen: Vec<usize> = chosen.into_iter().flat_map(|i| std::iter::repeat_n(i, group)).collect();
            let rollouts = sampler.sample(prompts, &chosen)?;
            let rewards = checked_rewards(&rollouts, &mut reward)?;
            let advantages = objective::group_advantages(&rewards, group, scaled);
            let rows: Vec<Row> = rollouts.iter().map(|r| Row::single(&r.example, length)).collect();
            let old = score_rows(&scorer, &rows, part, device)?;
            let reference = start.with(|| score_rows(&scorer, &rows, part, device))?;
            // Each text has the same weight, divided equally among its tokens. The step averages over parts,
            // hence the factor.
            let scale = tuning.accumulate as f64 / count as f64;
            let inputs = |own: Range<usize>| {
                let mut batch = Batch::new(&rows[own.clone()], part, length, device);
                batch.weigh(|row| scale / row.total().max(1.0));
                batch.push(&old[own.clone()]);
                batch.push(&reference[own.clone()]);
                batch.push(&advantages[own].iter().map(|a| vec![*a; length]).collect::<Vec<_>>());
                batch.tensors
            };
            let parts = (count, part, tuning.accumulate);
            let mut round = Round::new(&rollouts, &rewards, &model);
            last = round.reward;
            (round.step, round.steps) = (n, tuning.steps);
            round.loss = update(&mut step, (n, epochs), parts, inputs)?;
            round.kl = mean_kl(&rows, &old, &reference);
            if !each(&round)? {
                break;
            }
        }
        drop(step);
        self.renew();
        Ok(last)
    }
}

impl Prompt {
    /// Makes a short example that starts like the prompt; only its shape is used, to compile the step.
    pub(super) fn example(&self) -> super::Example {
        super::Example { tokens: [&self.tokens[..1], &self.tokens[..1]].concat(), given: 1 }
    }
}

/// Updates the weights `epochs` times with all rows of round `n`. `(count, part, parts)` are the number of
/// rows, the number of rows per run of the step, and the number of runs per update. `inputs` returns the
/// tensors of a range of rows. Returns the last loss.
pub(super) fn update(
    step: &mut Step<'_>,
    (n, epochs): (u64, usize),
    (count, part, parts): (usize, usize, u64),
    inputs: impl Fn(Range<usize>) -> Vec<Tensor>,
) -> Result<f64> {
    let mut loss = 0.0;
    for _ in 0..epochs {
        loss = 0.0;
        for at in 0..parts as usize {
            let own = (at * part).min(count)..((at + 1) * part).min(count);
            loss += number(&step.run(&inputs(own))?.loss)? / parts as f64;
        }
        check_loss(n, loss)?;
    }
    Ok(loss)
}

/// The tensors of some rows, padded to a fixed number of rows.
pub(super) struct Batch<'a> {
    rows: &'a [Row],
    part: usize,
    length: usize,
    device: Device,
    pub(super) tensors: Vec<Tensor>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(rows: &'a [Row], part: usize, length: usize, device: Device) -> Batch<'a> {
        let empty = Row::single(&super::Example { tokens: vec![0, 0], given: 1 }, length);
        let mut all: Vec<&Row> = rows.iter().collect();
        all.resize(part, &empty);
        Batch { rows, part, length, device, tensors: tensors(&all, 1.0, device) }
    }

    /// Sets the weights of tokens to those of their rows times `scale(row)`. Padding rows get weight 0.
    pub(super) fn weigh(&mut self, scale: impl Fn(&Row) -> f64) {
        let weights =
            |row: &Row| row.weights.iter().map(|w| f64::from(*w) * scale(row)).collect::<Vec<f64>>();
        let all: Vec<Vec<f64>> = self.rows.iter().map(weights).collect();
        self.tensors.truncate(4);
        self.push(&all);
    }

    /// Adds a tensor with a number for each position.
    pub(super) fn push(&mut self, all: &[Vec<f64>]) {
        let mut all = all.to_vec();
        all.resize(self.part, Vec::new());
        self.tensors.push(numbers(&all, self.length, self.device));
    }
}
