//! Proximal policy optimisation (PPO): reinforcement learning with a learned value per token and a penalty on
//! the divergence from the initial policy.

use super::example::Prompt;
use super::grpo::{Batch, Round, checked_rewards, mean_kl, row_length, update};
use super::pack::{Row, tensors};
use super::reference::{Scorer, Snapshot};
use super::rollout::{Rollout, Sampler};
use super::{Decay, Passes, Tuning, objective};
use crate::decoder::{Decoder, Packed};
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};
use gradus_nn::{Evaluate, Forward, Linear, Module, Param, Sampling, compile_forward, compile_training};
use gradus_tensor::{Device, Tensor};
use std::ops::Range;

/// Options of [`LanguageModel::ppo`]. In each round, `tuning.batch` prompts are answered once each.
#[derive(Clone, Debug)]
pub struct Ppo {
    /// Options common to all tuning; a step is one round of answers.
    pub tuning: Tuning,
    /// Number of updates with the answers of each round.
    pub epochs: usize,
    /// The ratio of new to old probabilities is clipped to `[1 - clip, 1 + clip]`.
    pub clip: f64,
    /// New values are clipped to within this distance of the old values.
    pub value_clip: f64,
    /// Weight of the value loss.
    pub value: f64,
    /// Penalty subtracted from the reward, per nat of divergence from the initial policy.
    pub kl: f64,
    /// Discount factor of later rewards.
    pub discount: f64,
    /// The λ of generalised advantage estimation: 0 uses the value after one token, 1 all rewards to the end.
    pub lambda: f64,
    /// Largest number of tokens of an answer.
    pub tokens: usize,
    /// Sampling options of answers.
    pub sampling: Sampling,
}

impl Default for Ppo {
    fn default() -> Ppo {
        let tuning = Tuning { rate: 5e-4, batch: 16, decay: Decay::Constant, ..Tuning::default() };
        Ppo {
            tuning,
            epochs: 2,
            clip: 0.2,
            value_clip: 0.2,
            value: 0.5,
            kl: 0.05,
            discount: 1.0,
            lambda: 0.95,
            tokens: 64,
            sampling: Sampling::default(),
        }
    }
}

/// Computes the log-probability of each target and the value at its position, `[batch, time]` each.
fn log_probabilities_and_values(model: &Decoder, head: &Linear, x: &[Tensor]) -> [Tensor; 2] {
    let packed = Packed { segments: x[2].clone(), positions: x[3].clone() };
    let states = model.states(&x[0], Some(&packed));
    let new = objective::token_log_probabilities(&model.head(&states), &x[1]);
    [new, head.forward(&states).squeeze(2)]
}

/// Computes log-probabilities and values of rows, in padded parts of `part` rows.
fn evaluate_rows(f: &Evaluate<'_>, rows: &[Row], part: usize, device: Device) -> Result<[Vec<Vec<f64>>; 2]> {
    let mut all = [Vec::new(), Vec::new()];
    for own in rows.chunks(part) {
        let mut filled: Vec<&Row> = own.iter().collect();
        filled.resize(part, &rows[0]);
        let out = f.run(&tensors(&filled, 1.0, device)[..4])?;
        for (list, t) in all.iter_mut().zip(&out) {
            let rows = t.to(Device::CPU).to_vec2::<f32>()?;
            list.extend(rows.into_iter().take(own.len()).map(|row| row.into_iter().map(f64::from).collect()));
        }
    }
    Ok(all)
}

/// Advantages and returns of the tokens of a row's answer; 0 at other positions.
fn advantages(row: &Row, score: f64, values: &[f64], penalty: &[f64], options: &Ppo) -> [Vec<f64>; 2] {
    let mut all = [vec![0.0; row.ids.len()], vec![0.0; row.ids.len()]];
    let Some(first) = row.weights.iter().position(|w| *w > 0.0) else { return all };
    let last = row.weights.iter().rposition(|w| *w > 0.0).unwrap_or(first);
    let mut rewards: Vec<f64> = penalty[first..=last].iter().map(|p| -options.kl * p).collect();
    if let Some(end) = rewards.last_mut() {
        *end += score;
    }
    let own = &values[first..=last];
    let (a, r) = objective::generalised_advantages(&rewards, own, options.discount, options.lambda);
    all[0][first..=last].copy_from_slice(&a);
    all[1][first..=last].copy_from_slice(&r);
    all
}

/// Shifts and scales the advantages of all learned tokens to mean 0 and standard deviation 1.
fn whiten(rows: &[Row], advantages: &mut [Vec<f64>]) {
    let learned = |row: &Row, own: &[f64]| {
        row.weights.iter().zip(own).filter(|(w, _)| **w > 0.0).map(|(_, a)| *a).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = rows.iter().zip(advantages.iter()).flat_map(|(row, own)| learned(row, own)).collect();
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / n;
    let deviation = (all.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / n).sqrt();
    advantages.iter_mut().flatten().for_each(|a| *a = (*a - mean) / (deviation + 1e-8));
}

impl LanguageModel {
    /// Trains the model to raise a reward by PPO. Each round samples answers. Their reward is reduced by
    /// their divergence from the initial policy. The update raises the probability of tokens that were better
    /// than their values predicted. `reward` takes the answers of a round and returns a number for each.
    /// Calls `each` after every round; the run ends early if it returns false. Returns the mean reward of the
    /// last round.
    pub fn ppo(
        &mut self,
        prompts: &[Prompt],
        mut reward: impl FnMut(&[Rollout]) -> Result<Vec<f64>>,
        options: &Ppo,
        mut each: impl FnMut(&Round<'_>) -> Result<bool>,
    ) -> Result<f64> {
        let o = options.clone();
        let positive = [o.clip, o.value_clip].iter().all(|x| *x > 0.0 && x.is_finite());
        let shares = [o.discount, o.lambda].iter().all(|x| (0.0..=1.0).contains(x));
        let penalties = o.kl >= 0.0 && o.value >= 0.0;
        if o.epochs == 0 || !positive || !shares || !penalties {
            let why = "must have at least 1 epoch, positive clips, a discount and lambda from 0 to 1, and kl and value of \
                       0 or more";
            return Err(Error::value("the options", why));
        }
        let tuning = &o.tuning;
        let model = self.engine.shared();
        let device = model.device();
        let length = row_length(prompts, o.tokens, tuning, &model.config)?;
        let mut trained = tuning.prepare(&model)?;
        let start = Snapshot::new(&trained);
        let weight = Param::new(&Tensor::zeros([1, model.config.width]).to(device));
        let head = Linear { weight, bias: Some(Param::new(&Tensor::zeros([1]).to(device))) };
        trained.extend(head.parameters().into_iter().map(|(name, p)| (format!("value.{name}"), p)));
        let scorer = Scorer::new(model.clone());
        let own = head.clone();
        let judging = compile_forward(model.clone(), move |m: &Decoder, x: &[Tensor]| {
            log_probabilities_and_values(m, &own, x)
        });
        let mut sampler =
            Sampler::new(model.clone(), self.tokenizer.clone(), o.sampling, o.tokens, tuning.seed)?;
        let count = tuning.batch.min(prompts.len());
        let part = count.div_ceil(tuning.accumulate as usize);
        let loss = move |model: &Decoder, x: &[Tensor]| {
            let [new, values] = log_probabilities_and_values(model, &head, x);
            let (weights, old, old_values, advantages, returns) = (&x[4], &x[5], &x[6], &x[7], &x[8]);
            let policy = objective::clipped_policy(&new, old, advantages, (o.clip, o.clip));
            let value = objective::clipped_value(&values, old_values, returns, o.value_clip);
            ((policy + value * o.value) * weights).sum(())
        };
        let zeros = || Tensor::zeros([part, length]).to(device);
        let mut first = tensors(&vec![&Row::single(&prompts[0].example(), length); part], 0.0, device);
        first.extend([zeros(), zeros(), zeros(), zeros()]);
        let step = compile_training(model.clone(), loss, tuning.optimizer(trained), &first)?;
        let mut step = step.accumulate(tuning.accumulate);
        let (mut passes, mut last) = (Passes::new(prompts.len(), tuning.seed)?, 0.0);
        for n in 1..=tuning.steps {
            let rollouts = sampler.sample(prompts, &passes.take(count)?)?;
            let rewards = checked_rewards(&rollouts, &mut reward)?;
            let rows: Vec<Row> = rollouts.iter().map(|r| Row::single(&r.example, length)).collect();
            let [old, values] = evaluate_rows(&judging, &rows, part, device)?;
            let reference = start.with(|| super::grpo::score_rows(&scorer, &rows, part, device))?;
            let (mut all, mut returns) = (Vec::new(), Vec::new());
            for (i, row) in rows.iter().enumerate() {
                let penalty: Vec<f64> = old[i].iter().zip(&reference[i]).map(|(a, b)| a - b).collect();
                let [a, r] = advantages(row, rewards[i], &values[i], &penalty, options);
                all.push(a);
                returns.push(r);
            }
            whiten(&rows, &mut all);
            let total: f64 = rows.iter().map(Row::total).sum();
            let scale = tuning.accumulate as f64 / total.max(1.0);
            let inputs = |own: Range<usize>| {
                let mut batch = Batch::new(&rows[own.clone()], part, length, device);
                batch.weigh(|_| scale);
                for list in [&old, &values, &all, &returns] {
                    batch.push(&list[own.clone()]);
                }
                batch.tensors
            };
            let parts = (count, part, tuning.accumulate);
            let mut round = Round::new(&rollouts, &rewards, &model);
            last = round.reward;
            (round.step, round.steps) = (n, tuning.steps);
            round.loss = update(&mut step, (n, o.epochs), parts, inputs)?;
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
