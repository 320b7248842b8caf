//! Fine-tuning of language models, wrapped by `python/gradus/tune.py`.

use crate::device::parse;
use crate::error::{raise, store_exception};
use crate::models::{PyLanguageModel, Settings};
use gradus::models::LanguageModel;
use gradus::models::chat::Message;
use gradus::models::small::{Small, create};
use gradus::models::tune::{
    self, Data, Decay, Dpo, Grpo, Lora, Pair, Ppo, Progress, Prompt, RewardModel, Rollout, Round, Tuning,
    parse_data,
};
use gradus::{Device, Error, Result};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Rank, alpha and targets of an adapter.
type PyLora = Option<(usize, f64, Option<Vec<String>>)>;

/// Options of all tuning, named like the keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TuneSettings {
    lora: PyLora,
    steps: u64,
    batch: usize,
    accumulate: u64,
    length: Option<usize>,
    pack: bool,
    rate: f64,
    warmup: u64,
    decay: String,
    weight_decay: f64,
    clip: f64,
    seed: u64,
}

impl TuneSettings {
    fn tuning(&self) -> Result<Tuning> {
        let lora = self.lora.as_ref().map(|(rank, alpha, targets)| {
            let targets = targets.clone().unwrap_or_else(|| Lora::default().targets);
            Lora { rank: *rank, alpha: *alpha, targets }
        });
        let decay = match self.decay.as_str() {
            "constant" => Decay::Constant,
            "linear" => Decay::Linear,
            "cosine" => Decay::Cosine,
            other => {
                return Err(Error::value(format!("decay `{other}`"), "must be constant, linear or cosine"));
            }
        };
        Ok(Tuning {
            lora,
            steps: self.steps,
            batch: self.batch,
            accumulate: self.accumulate,
            length: self.length,
            pack: self.pack,
            rate: self.rate,
            warmup: self.warmup,
            decay,
            weight_decay: self.weight_decay,
            clip: self.clip,
            seed: self.seed,
        })
    }
}

/// Options of GRPO and PPO that other tuning does not have.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PolicySettings {
    group: usize,
    epochs: usize,
    ratio: (f64, f64),
    kl: f64,
    scaled: bool,
    value_clip: f64,
    value: f64,
    discount: f64,
    lambda: f64,
}

/// A prompt: a text, or the roles and contents of a conversation.
#[derive(FromPyObject)]
pub(crate) enum PyPrompt {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Chat(Vec<(String, String)>),
}

fn prompts(model: &LanguageModel, all: &[PyPrompt]) -> Result<Vec<Prompt>> {
    let message = |(role, content): &(String, String)| Message::new(role, content.clone());
    let prompt = |p: &PyPrompt| match p {
        PyPrompt::Text(text) => model.prompt(text),
        PyPrompt::Chat(all) => model.chat_prompt(&all.iter().map(message).collect::<Vec<_>>()),
    };
    all.iter().map(prompt).collect()
}

/// Calls a Python function with the step and the loss; its `False` ends the run, its exception is raised.
fn report(each: Option<&Py<PyAny>>, progress: &Progress<'_>) -> Result<bool> {
    let Some(each) = each else { return Ok(true) };
    Python::attach(|py| {
        let answer = each.call1(py, (progress.step, progress.loss)).map_err(store_exception)?;
        Ok(!answer.bind(py).is(pyo3::types::PyBool::new(py, false)))
    })
}

/// Calls a Python function with the step, the reward and the divergence of a round; its `False` ends the run,
/// its exception is raised.
fn report_round(each: Option<&Py<PyAny>>, round: &Round<'_>) -> Result<bool> {
    let Some(each) = each else { return Ok(true) };
    Python::attach(|py| {
        let answer = each.call1(py, (round.step, round.reward, round.kl)).map_err(store_exception)?;
        Ok(!answer.bind(py).is(pyo3::types::PyBool::new(py, false)))
    })
}

/// Asks a Python function for the reward of each answer, by the number of its prompt and its text.
fn reward_of(reward: &Py<PyAny>, rollouts: &[Rollout]) -> Result<Vec<f64>> {
    Python::attach(|py| {
        let one = |r: &Rollout| reward.call1(py, (r.prompt, &r.text))?.extract::<f64>(py);
        rollouts.iter().map(one).collect::<PyResult<Vec<f64>>>().map_err(store_exception)
    })
}

fn pairs(model: &LanguageModel, data: &str) -> Result<Vec<Pair>> {
    match parse_data(data, model)? {
        Data::Pairs(pairs) => Ok(pairs),
        Data::Examples(_) => {
            Err(Error::value("the data", "has texts; pairs have `prompt`, `chosen` and `rejected`"))
        }
    }
}

/// Trains a model on lines of JSON; returns the last loss.
#[pyfunction]
pub(crate) fn _tune(
    py: Python<'_>,
    model: &PyLanguageModel,
    data: String,
    settings: TuneSettings,
    each: Option<Py<PyAny>>,
) -> PyResult<f64> {
    raise(py.detach(|| {
        let mut model = model.lock();
        match parse_data(&data, &model)? {
            Data::Examples(examples) => {
                model.tune(&examples, &settings.tuning()?, |p| report(each.as_ref(), p))
            }
            Data::Pairs(_) => {
                Err(Error::value("the data", "has pairs of answers; `prefer` learns from these"))
            }
        }
    }))
}

/// Trains a model on preferences; returns the last loss.
#[pyfunction]
pub(crate) fn _prefer(
    py: Python<'_>,
    model: &PyLanguageModel,
    data: String,
    settings: TuneSettings,
    weights: (f64, f64),
    each: Option<Py<PyAny>>,
) -> PyResult<f64> {
    raise(py.detach(|| {
        let mut model = model.lock();
        let pairs = pairs(&model, &data)?;
        let (beta, smoothing) = weights;
        let options = Dpo { tuning: settings.tuning()?, beta, smoothing };
        model.prefer(&pairs, &options, |p| report(each.as_ref(), p))
    }))
}

/// Trains a model to increase a reward by GRPO or, if `ppo`, by PPO; returns the mean reward of the last round.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "one for each keyword of Python")]
pub(crate) fn _reinforce(
    py: Python<'_>,
    model: &PyLanguageModel,
    ppo: bool,
    start: Vec<PyPrompt>,
    reward: Py<PyAny>,
    settings: TuneSettings,
    policy: PolicySettings,
    sampling: Settings,
    each: Option<Py<PyAny>>,
) -> PyResult<f64> {
    raise(py.detach(|| {
        let mut model = model.lock();
        let prompts = prompts(&model, &start)?;
        let (tuning, sampling) = (settings.tuning()?, sampling.options(&model)?);
        let (tokens, sampling) = (sampling.tokens, sampling.sampling);
        let PolicySettings { group, epochs, ratio, kl, scaled, value_clip, value, discount, lambda } = policy;
        let own = |r: &[Rollout]| reward_of(&reward, r);
        let each = |r: &Round<'_>| report_round(each.as_ref(), r);
        if ppo {
            let clip = ratio.0;
            let options =
                Ppo { tuning, epochs, clip, value_clip, value, kl, discount, lambda, tokens, sampling };
            model.ppo(&prompts, own, &options, each)
        } else {
            let options = Grpo { tuning, group, epochs, clip: ratio, kl, scaled, tokens, sampling };
            model.grpo(&prompts, own, &options, each)
        }
    }))
}

/// Saves, loads, merges or removes the adapter of a model.
#[pyfunction]
pub(crate) fn _adapter(
    py: Python<'_>,
    model: &PyLanguageModel,
    action: &str,
    folder: Option<PathBuf>,
    base: Option<String>,
) -> PyResult<()> {
    let action = action.to_string();
    raise(py.detach(|| {
        let mut model = model.lock();
        let decoder = model.engine.shared();
        let folder = folder.unwrap_or_default();
        match action.as_str() {
            "save" => return tune::save_adapter(&*decoder, &folder, base.as_deref()),
            "load" => tune::load_adapter(&*decoder, &folder)?,
            "merge" => tune::merge(&*decoder)?,
            _ => tune::detach(&*decoder)?,
        }
        model.renew();
        Ok(())
    }))
}

/// Saves the weights of a model as a folder, with the other files of `source`.
#[pyfunction]
pub(crate) fn _save_model(
    py: Python<'_>,
    model: &PyLanguageModel,
    source: PathBuf,
    folder: PathBuf,
) -> PyResult<()> {
    raise(py.detach(|| tune::save(&model.lock().engine.shared(), &source, &folder)))
}

/// Writes a small model with random weights.
#[pyfunction]
pub(crate) fn _create_model(
    folder: PathBuf,
    alphabet: String,
    sizes: (usize, usize, usize, usize),
    seed: u64,
) -> PyResult<()> {
    let (width, layers, heads, context) = sizes;
    raise(create(&folder, &Small { alphabet, width, layers, heads, context, seed }))
}

/// A model that scores answers.
#[pyclass(name = "_RewardModel", frozen)]
pub(crate) struct PyRewardModel(Mutex<RewardModel>);

#[pymethods]
impl PyRewardModel {
    #[new]
    #[pyo3(signature = (path, device=None, f32=false, saved=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        device: Option<&Bound<'_, PyAny>>,
        f32: bool,
        saved: Option<PathBuf>,
    ) -> PyResult<Self> {
        let device = parse(device)?.unwrap_or(Device::CPU);
        let model = raise(py.detach(|| {
            let load = if f32 { LanguageModel::load_f32 } else { LanguageModel::load };
            let model = load(path, device)?;
            match &saved {
                None => RewardModel::new(model),
                Some(folder) => RewardModel::load(model, folder),
            }
        }))?;
        Ok(PyRewardModel(Mutex::new(model)))
    }

    /// Trains the score on pairs; returns the last loss.
    fn tune(
        &self,
        py: Python<'_>,
        data: String,
        settings: TuneSettings,
        each: Option<Py<PyAny>>,
    ) -> PyResult<f64> {
        raise(py.detach(|| {
            let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let pairs = pairs(&model.model, &data)?;
            model.tune(&pairs, &settings.tuning()?, |p| report(each.as_ref(), p))
        }))
    }

    /// Saves the adapter, or all weights, and the map to scores. `source` is the path of the model.
    fn save(&self, py: Python<'_>, source: PathBuf, folder: PathBuf) -> PyResult<()> {
        raise(py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).save(&source, &folder)))
    }

    /// Scores answers to prompts.
    fn score(&self, py: Python<'_>, texts: Vec<(String, String)>) -> PyResult<Vec<f64>> {
        raise(py.detach(|| {
            let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let example = |(prompt, text): &(String, String)| model.model.pair_example(prompt, text);
            let examples = texts.iter().map(example).collect::<Result<Vec<_>>>()?;
            model.score(&examples)
        }))
    }
}
