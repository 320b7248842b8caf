//! A reward model, learned from preferences: a decoder with a linear map from its last hidden state to a
//! score.

use super::adapter::{load_adapter, save_adapter};
use super::example::{Example, Pair};
use super::pack::{Row, tensors};
use super::preference::PairRows;
use super::save::save;
use super::{Progress, Tuning, objective};
use crate::decoder::{Decoder, Packed};
use crate::language::LanguageModel;
use gradus_ir::{DType, Error, Result};
use gradus_nn::file::{atomic, safetensors};
use gradus_nn::{Forward, Linear, Module, Param, Part, compile_training};
use gradus_tensor::{Compiled, Device, Tensor, compile};
use std::path::Path;

/// Number of texts scored at once.
const BATCH: usize = 16;

/// The file of the map to scores, and the name of its tensor.
const HEAD: (&str, &str) = ("score.safetensors", "score.weight");

/// A language model that scores answers.
pub struct RewardModel {
    /// The decoder, with its tokeniser.
    pub model: LanguageModel,
    /// The map from the last hidden state of a text to its score.
    pub head: Linear,
    /// Compiled scoring functions, by row length. They read the current weights.
    plans: Vec<(usize, Compiled)>,
}

/// Computes the score of each row's text, from the hidden state at its last position; [`with_dummy`] makes
/// this the text's last token.
fn scores(model: &Decoder, head: &Linear, x: &[Tensor]) -> Tensor {
    let [ids, _, segments, positions, ..] = x else {
        return Tensor::failed(Error::value(format!("{} tensors", x.len()), "must be 4 or more"));
    };
    let packed = Packed { segments: segments.clone(), positions: positions.clone() };
    let states = model.states(ids, Some(&packed));
    let length = segments.gt(0i64).to_dtype(DType::I64).sum(1);
    let at = Tensor::iota(DType::I64, [1, ids.dim(1)], 1).eq(&(length - 1i64).unsqueeze(1)).unsqueeze(2);
    head.forward(&at.select(&states, 0.0).sum(1)).squeeze(1)
}

/// Appends a dummy token. The last token of a text takes no position in a row, but the score is computed from
/// it.
fn with_dummy(example: &Example) -> Example {
    let mut tokens = example.tokens.clone();
    tokens.push(0);
    Example { tokens, given: example.given }
}

impl RewardModel {
    /// Makes a reward model that scores every text 0.
    pub fn new(model: LanguageModel) -> Result<RewardModel> {
        let decoder = model.engine.model();
        let (width, device) = (decoder.config.width, decoder.device());
        let weight = Param::new(&Tensor::zeros([1, width]).to(device));
        Ok(RewardModel { model, head: Linear { weight, bias: None }, plans: Vec::new() })
    }

    /// Saves the model in a folder: its adapter, or all weights if it has no adapter and they are not
    /// quantised, and the map to scores. `source` is the file or folder that the model was loaded from.
    pub fn save(&self, source: &Path, folder: &Path) -> Result<()> {
        let decoder = self.model.engine.model();
        let quantized =
            |(_, part): &(String, Part)| matches!(part, Part::Buffer(t) if t.dtype() == DType::U8);
        if decoder.lora_slots().iter().any(|(_, slot)| slot.get().is_some()) {
            save_adapter(decoder, folder, source.to_str())?;
        } else if !decoder.parts().iter().any(quantized) {
            save(decoder, source, folder)?;
        }
        std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
        let weight = self.head.weight.data_().detach().to(Device::CPU).check()?.clone();
        safetensors::write(folder.join(HEAD.0), &[(HEAD.1.to_string(), weight)], &Default::default())
    }

    /// Loads a model that [`save`](RewardModel::save) has written. `model` is the one that was trained; if
    /// the folder has a `config.json`, it has all weights, and `model` is loaded from it.
    pub fn load(model: LanguageModel, folder: &Path) -> Result<RewardModel> {
        let mut loaded = RewardModel::new(model)?;
        if folder.join("adapter_config.json").exists() {
            load_adapter(loaded.model.engine.model(), folder)?;
            loaded.model.renew();
        }
        let file = safetensors::Reader::open(folder.join(HEAD.0))?;
        let (weight, own) = (file.tensor(HEAD.1)?, &loaded.head.weight);
        if (weight.dtype(), weight.shape()) != (own.dtype(), own.shape()) {
            let why = format!("has scores of shape {}; the model needs {}", weight.shape(), own.shape());
            return Err(file.failed(why));
        }
        loaded.head.weight = Param::new(&weight.to(own.device()));
        Ok(loaded)
    }

    /// Trains the scores on pairs, so that the chosen answer of each pair gets the higher score. Returns the
    /// loss of the last update, `ln 2` if nothing was learned.
    pub fn tune(
        &mut self,
        pairs: &[Pair],
        tuning: &Tuning,
        each: impl FnMut(&Progress<'_>) -> Result<bool>,
    ) -> Result<f64> {
        // Compiled plans do not include an adapter that `prepare` may attach.
        self.plans.clear();
        let model = self.model.engine.shared();
        let pairs: Vec<Pair> = pairs
            .iter()
            .map(|p| Pair { chosen: with_dummy(&p.chosen), rejected: with_dummy(&p.rejected) })
            .collect();
        let rows = PairRows::new(&pairs, tuning, &model.config)?;
        let mut trained = tuning.prepare(&model)?;
        trained.extend(self.head.parameters().into_iter().map(|(name, p)| (format!("score.{name}"), p)));
        let (device, batch) = (model.device(), tuning.batch.min(pairs.len()));
        let inputs = |chosen: &[usize]| tensors(&rows.of(chosen), 1.0, device)[..4].to_vec();
        let head = self.head.clone();
        let loss = move |model: &Decoder, x: &[Tensor]| {
            let scores = scores(model, &head, x);
            let pairs = scores.dim(0) / 2;
            objective::pairwise(&scores.narrow(0, 0, pairs), &scores.narrow(0, pairs, pairs)).mean(0)
        };
        let first = inputs(&(0..batch).collect::<Vec<_>>());
        let step = compile_training(model.clone(), loss, tuning.optimizer(trained), &first)?;
        let last = rows.train(step, tuning, batch, inputs, &model, each)?;
        self.model.renew();
        Ok(last)
    }

    /// Scores texts. Fails if one does not fit the model.
    pub fn score(&mut self, examples: &[Example]) -> Result<Vec<f64>> {
        let model = self.model.engine.shared();
        let (context, vocabulary) = (model.config.context, model.config.vocabulary);
        for (i, example) in examples.iter().enumerate() {
            example.check(i, vocabulary)?;
            if example.tokens.len() > context {
                let why = format!("has {} tokens; the model's context is {context}", example.tokens.len());
                return Err(Error::value(format!("example {}", i + 1), why));
            }
        }
        let longest = examples.iter().map(|e| e.tokens.len()).max().unwrap_or(0);
        let length = longest.next_multiple_of(BATCH).min(context);
        let device = model.device();
        let mut all = Vec::with_capacity(examples.len());
        for part in examples.chunks(BATCH) {
            let mut rows: Vec<Row> = part.iter().map(|e| Row::single(&with_dummy(e), length)).collect();
            rows.resize(BATCH, rows[0].clone());
            let x = tensors(&rows.iter().collect::<Vec<_>>(), 1.0, device);
            let operands = [&x[0], &x[1], &x[2], &x[3]];
            if !self.plans.iter().any(|(own, _)| *own == length) {
                let plan = compile(&operands, |x: &[Tensor]| scores(&model, &self.head, x))?;
                self.plans.push((length, plan));
            }
            let plan = self.plans.iter().find(|(own, _)| *own == length);
            let (_, plan) = plan.ok_or_else(|| Error::value("a plan", "is missing"))?;
            let out = plan.run(&operands)?.swap_remove(0).to(Device::CPU).to_vec::<f32>()?;
            all.extend(out.into_iter().take(part.len()).map(f64::from));
        }
        Ok(all)
    }

    /// Computes the fraction of pairs whose chosen answer has the higher score.
    pub fn accuracy(&mut self, pairs: &[Pair]) -> Result<f64> {
        let chosen = self.score(&pairs.iter().map(|p| p.chosen.clone()).collect::<Vec<_>>())?;
        let rejected = self.score(&pairs.iter().map(|p| p.rejected.clone()).collect::<Vec<_>>())?;
        let right = chosen.iter().zip(&rejected).filter(|(c, r)| c > r).count();
        Ok(right as f64 / pairs.len().max(1) as f64)
    }
}
