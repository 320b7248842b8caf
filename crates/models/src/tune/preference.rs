//! Direct preference optimisation (DPO): learns from pairs of answers without a reward model.

use super::example::{Example, Pair};
use super::pack::{Row, Shape, numbers, tensors};
use super::reference::{Scorer, log_probabilities};
use super::{Decay, Passes, Progress, Tuning, check_loss, number, objective};
use crate::config::Config;
use crate::decoder::Decoder;
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};
use gradus_nn::{Module, Step, compile_training};
use gradus_tensor::Tensor;

/// Options of [`LanguageModel::prefer`]. A batch is `tuning.batch` pairs.
#[derive(Clone, Debug)]
pub struct Dpo {
    /// Options common to all tuning.
    pub tuning: Tuning,
    /// Strength of the pull towards the initial policy: larger values keep the model closer to it.
    pub beta: f64,
    /// Assumed fraction of pairs in the wrong order; 0 trusts all pairs.
    pub smoothing: f64,
}

impl Default for Dpo {
    fn default() -> Dpo {
        let tuning = Tuning { rate: 5e-4, decay: Decay::Constant, ..Tuning::default() };
        Dpo { tuning, beta: 0.1, smoothing: 0.0 }
    }
}

/// The rows of pairs: one row for each chosen and for each rejected text.
pub(super) struct PairRows {
    pub(super) chosen: Vec<Row>,
    pub(super) rejected: Vec<Row>,
}

impl PairRows {
    pub(super) fn new(pairs: &[Pair], tuning: &Tuning, config: &Config) -> Result<PairRows> {
        if pairs.is_empty() {
            return Err(Error::value("no pairs", "were given; training needs at least one"));
        }
        let all: Vec<Example> = pairs.iter().flat_map(|p| [p.chosen.clone(), p.rejected.clone()]).collect();
        let length = Shape::of_examples(&all, tuning, config)?.length;
        if let Some(at) = all.iter().position(|e| e.tokens.len() > length + 1) {
            let why = format!("has a text of {} tokens; rows have {length}", all[at].tokens.len());
            return Err(Error::value(format!("pair {}", at / 2 + 1), why));
        }
        let rows = |of: fn(&Pair) -> &Example| pairs.iter().map(|p| Row::single(of(p), length)).collect();
        Ok(PairRows { chosen: rows(|p| &p.chosen), rejected: rows(|p| &p.rejected) })
    }

    /// Returns the rows of the pairs with these indices: the chosen texts, then the rejected ones.
    pub(super) fn of(&self, pairs: &[usize]) -> Vec<&Row> {
        let chosen = pairs.iter().map(|i| &self.chosen[*i]);
        chosen.chain(pairs.iter().map(|i| &self.rejected[*i])).collect()
    }

    /// Runs the updates of a tuning, each with batches of `batch` pairs. `inputs` returns the tensors of the
    /// pairs with these indices. Calls `each` after every update, and ends early if it returns false.
    /// Returns the last loss.
    pub(super) fn train(
        &self,
        step: Step<'_>,
        tuning: &Tuning,
        batch: usize,
        inputs: impl Fn(&[usize]) -> Vec<Tensor>,
        model: &Decoder,
        mut each: impl FnMut(&Progress<'_>) -> Result<bool>,
    ) -> Result<f64> {
        let mut step = step.accumulate(tuning.accumulate);
        let (mut passes, mut last) = (Passes::new(self.chosen.len(), tuning.seed)?, 0.0);
        for n in 1..=tuning.steps {
            let chosen = passes.take(batch * tuning.accumulate as usize)?;
            let mut loss = 0.0;
            for part in chosen.chunks(batch) {
                loss += number(&step.run(&inputs(part))?.loss)? / tuning.accumulate as f64;
            }
            last = check_loss(n, loss)?;
            let tokens = self.of(&chosen).iter().map(|row| row.total()).sum::<f64>() as usize;
            let rate = step.optimizer().rate();
            if !each(&Progress { step: n, steps: tuning.steps, loss, tokens, rate, model })? {
                break;
            }
        }
        Ok(last)
    }
}

/// Sums log-probabilities of tokens to those of answers; returns those of chosen and of rejected texts.
fn sums_by_answer(tokens: &Tensor, weights: &Tensor) -> [Tensor; 2] {
    let texts = (tokens * weights).sum(1);
    let pairs = texts.dim(0) / 2;
    [texts.narrow(0, 0, pairs), texts.narrow(0, pairs, pairs)]
}

impl LanguageModel {
    /// Trains the model by DPO to prefer the chosen answers of pairs, with its current weights as the
    /// reference. Calls `each` after every update; the run ends early if it returns false. Returns the loss
    /// of the last update, `ln 2` if nothing was learned.
    pub fn prefer(
        &mut self,
        pairs: &[Pair],
        options: &Dpo,
        each: impl FnMut(&Progress<'_>) -> Result<bool>,
    ) -> Result<f64> {
        let Dpo { tuning, beta, smoothing } = options;
        let (beta, smoothing) = (*beta, *smoothing);
        if !(beta > 0.0 && beta.is_finite() && (0.0..0.5).contains(&smoothing)) {
            let why = "must be a positive `beta` and a `smoothing` from 0 to below 0.5";
            return Err(Error::value(format!("beta {beta} and smoothing {smoothing}"), why));
        }
        let model = self.engine.shared();
        let rows = PairRows::new(pairs, tuning, &model.config)?;
        let trained = tuning.prepare(&model)?;
        let device = model.device();
        let batch = tuning.batch.min(pairs.len());
        let length = rows.chosen[0].ids.len();
        // The reference does not change, so its log-probabilities are computed once.
        let scorer = Scorer::new(model.clone());
        let mut reference: Vec<[Vec<f64>; 2]> = Vec::with_capacity(pairs.len());
        let numbered: Vec<usize> = (0..pairs.len()).collect();
        for part in numbered.chunks(batch) {
            let mut filled = part.to_vec();
            filled.resize(batch, 0);
            let mut all = scorer.rows(&tensors(&rows.of(&filled), 1.0, device))?;
            let rejected = all.split_off(batch);
            reference.extend(all.into_iter().zip(rejected).take(part.len()).map(|(c, r)| [c, r]));
        }
        let inputs = |chosen: &[usize]| {
            let mut batch = tensors(&rows.of(chosen), 1.0, device);
            let of = |kind: usize| chosen.iter().map(move |i| (i, kind));
            let own: Vec<Vec<f64>> =
                of(0).chain(of(1)).map(|(i, kind)| reference[*i][kind].clone()).collect();
            batch.push(numbers(&own, length, device));
            batch
        };
        let loss = move |model: &Decoder, x: &[Tensor]| {
            let policy = sums_by_answer(&log_probabilities(model, x), &x[4]);
            let reference = sums_by_answer(&x[5], &x[4]);
            let pairs = (&policy[0], &policy[1]);
            objective::dpo(pairs, (&reference[0], &reference[1]), beta, smoothing).mean(0)
        };
        let first = inputs(&numbered[..batch]);
        let step = compile_training(model.clone(), loss, tuning.optimizer(trained), &first)?;
        let last = rows.train(step, tuning, batch, inputs, &model, each)?;
        self.renew();
        Ok(last)
    }
}
