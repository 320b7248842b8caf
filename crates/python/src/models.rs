//! Language models from files, wrapped by `python/gradus/models.py`.

use crate::device::parse;
use crate::error::raise;
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::files::gguf::Format;
use gradus::ir::format::Compute;
use gradus::models::chat::Message;
use gradus::models::engine::{Options, WhenFull};
use gradus::models::{Generated, LanguageModel, convert};
use gradus::nn::Sampling;
use gradus::{CacheKind, DType, Device, Quantized, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A language model; calls from several threads are serialized.
#[pyclass(name = "_LanguageModel", frozen)]
pub(crate) struct PyLanguageModel(Mutex<LanguageModel>);

/// Options of text generation, named like the keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    tokens: usize,
    temperature: f64,
    top_k: Option<usize>,
    top_p: f64,
    min_p: f64,
    repetition_penalty: f64,
    frequency_penalty: f64,
    presence_penalty: f64,
    seed: u64,
    stop: Vec<String>,
    keep: Option<usize>,
    /// A JSON schema, as text.
    json_schema: Option<String>,
}

/// A token, its log-probability, and the likeliest tokens with theirs.
type GeneratedToken = (i64, f64, Vec<(i64, f64)>);

impl Settings {
    pub(crate) fn options(&self, model: &LanguageModel) -> gradus::Result<Options> {
        let sampling = Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            ..Sampling::default()
        };
        let when_full = self.keep.map_or(WhenFull::Stop, |keep| WhenFull::Forget { keep });
        let grammar = self.json_schema.as_ref().map(|s| model.json_schema(s.as_bytes())).transpose()?;
        let (tokens, seed) = (self.tokens, self.seed);
        Ok(Options { tokens, sampling, seed, when_full, grammar, ..Options::default() })
    }
}

impl PyLanguageModel {
    pub(crate) fn lock(&self) -> MutexGuard<'_, LanguageModel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Generates without the GIL, which is acquired to call `each` with every piece. An exception in `each`
    /// ends the text.
    fn run(
        &self,
        py: Python<'_>,
        each: Option<Py<PyAny>>,
        generate: impl FnOnce(&mut LanguageModel, &mut dyn FnMut(&str) -> bool) -> gradus::Result<Generated>
        + Send,
    ) -> PyResult<(String, String)> {
        let mut failed = None;
        let done = py.detach(|| {
            let mut hear = |piece: &str| {
                let Some(each) = &each else { return true };
                match Python::attach(|py| each.call1(py, (piece,)).map(drop)) {
                    Ok(()) => true,
                    Err(e) => {
                        failed = Some(e);
                        false
                    }
                }
            };
            generate(&mut self.lock(), &mut hear)
        });
        match failed {
            Some(e) => Err(e),
            None => raise(done).map(|done| (done.text, format!("{:?}", done.finish).to_lowercase())),
        }
    }
}

/// Returns the quantised format with this name.
fn format_of(name: &str) -> PyResult<Format> {
    let found = Format::all().find(|f| f.is_quantized() && f.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let known: Vec<&str> = Format::all().filter(|f| f.is_quantized()).map(Format::name).collect();
        PyValueError::new_err(format!("format {name} is not one of {}", known.join(", ")))
    })
}

/// Quantises floats. Returns the bytes and the error: its root mean square, relative and largest value.
#[pyfunction]
pub(crate) fn _quantize(py: Python<'_>, x: T, format: &str) -> PyResult<(PyTensor, [f64; 3])> {
    let format = format_of(format)?;
    let (quantized, r) = raise(py.detach(|| Quantized::quantize(&x.0, format)))?;
    Ok((PyTensor::out(quantized.bytes().clone())?, [r.rms, r.relative, r.largest]))
}

/// Returns the values of quantised bytes.
#[pyfunction]
pub(crate) fn _dequantize(bytes: T, format: &str) -> PyResult<PyTensor> {
    PyTensor::out(raise(gradus::dequantize(&bytes.0, format_of(format)?).check().cloned())?)
}

/// Converts a model to another file format. Returns a report if it was quantised.
#[pyfunction]
pub(crate) fn _convert(
    py: Python<'_>,
    source: PathBuf,
    output: PathBuf,
    format: Option<&str>,
    dtype: &str,
) -> PyResult<Option<(usize, usize, f64)>> {
    if let Some(format) = format {
        let format = format_of(format)?;
        let report = raise(py.detach(|| convert::quantize(&source, &output, format)))?;
        return Ok(Some((report.tensors, report.kept, report.relative)));
    }
    let dtype = match dtype {
        "f32" => DType::F32,
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        other => return Err(PyValueError::new_err(format!("dtype {other} is not one of f32, bf16, f16"))),
    };
    raise(py.detach(|| match source.is_dir() {
        true => convert::to_gguf(&source, &output),
        false => convert::to_folder(&source, &output, dtype),
    }))?;
    Ok(None)
}

#[pymethods]
impl PyLanguageModel {
    #[new]
    #[pyo3(signature = (path, device=None, f32=false, compute="f32", cache="f32"))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        device: Option<&Bound<'_, PyAny>>,
        f32: bool,
        compute: &str,
        cache: &str,
    ) -> PyResult<PyLanguageModel> {
        let device = parse(device)?.unwrap_or(Device::CPU);
        let wrong =
            || PyValueError::new_err(format!("compute must be 'f32', 'bf16' or 'int8', not '{compute}'"));
        let compute = Compute::of_name(compute).ok_or_else(wrong)?;
        let wrong = || PyValueError::new_err(format!("cache must be 'f32', 'bf16' or 'q8', not '{cache}'"));
        let cache = CacheKind::of_name(cache).ok_or_else(wrong)?;
        let model = raise(py.detach(|| {
            let model = match f32 {
                true => LanguageModel::load_f32(path, device),
                false => LanguageModel::load_computing(path, device, compute),
            }?;
            if cache == CacheKind::default() { Ok(model) } else { model.with_cache(cache) }
        }))?;
        Ok(PyLanguageModel(Mutex::new(model)))
    }

    /// Generates text after a prompt. Returns the text and the reason why generation ended.
    fn generate(
        &self,
        py: Python<'_>,
        prompt: String,
        settings: Settings,
        each: Option<Py<PyAny>>,
    ) -> PyResult<(String, String)> {
        self.run(py, each, |m, hear| m.generate(&prompt, &settings.options(m)?, &settings.stop, hear))
    }

    /// Generates the answer to a conversation of roles and contents. Returns the answer and the reason why
    /// generation ended.
    fn chat(
        &self,
        py: Python<'_>,
        messages: Vec<(String, String)>,
        settings: Settings,
        each: Option<Py<PyAny>>,
    ) -> PyResult<(String, String)> {
        let messages: Vec<Message> =
            messages.into_iter().map(|(role, text)| Message::new(&role, text)).collect();
        self.run(py, each, |m, hear| m.chat(&messages, &settings.options(m)?, &settings.stop, hear))
    }

    fn encode(&self, text: &str) -> PyResult<Vec<i64>> {
        raise(self.lock().tokenizer.encode(text))
    }

    fn decode(&self, tokens: Vec<i64>) -> PyResult<String> {
        raise(self.lock().tokenizer.decode(&tokens))
    }

    /// Generates tokens after others. Returns the new tokens, each with its log-probability and those of the
    /// `log_probabilities` likeliest tokens, and the reason why generation ended.
    #[pyo3(signature = (tokens, settings, log_probabilities=None))]
    fn generate_tokens(
        &self,
        py: Python<'_>,
        tokens: Vec<i64>,
        settings: Settings,
        log_probabilities: Option<usize>,
    ) -> PyResult<(Vec<GeneratedToken>, String)> {
        let mut new = Vec::new();
        let finish = py.detach(|| {
            let mut model = self.lock();
            let options = Options { log_probabilities, ..settings.options(&model)? };
            model.engine.generate_with(&tokens, &options, |token| {
                new.push((token.id, token.log_probability, token.top.clone()));
                Ok(true)
            })
        });
        Ok((new, format!("{:?}", raise(finish)?).to_lowercase()))
    }

    /// Computes the logits of the token after `tokens`. Positions that the cache holds are not computed
    /// again.
    fn logits_after(&self, py: Python<'_>, tokens: Vec<i64>) -> PyResult<PyTensor> {
        let logits = raise(py.detach(|| self.lock().engine.logits_after(&tokens)))?;
        PyTensor::out(Tensor::from(logits))
    }

    /// Computes the logits at every position of `tokens`.
    fn logits(&self, py: Python<'_>, tokens: Vec<i64>) -> PyResult<PyTensor> {
        let logits = py.detach(|| {
            let model = self.lock().engine.shared();
            let ids = Tensor::from_slice(&tokens, [1, tokens.len()]);
            let ids = ids.to(gradus::nn::Module::device(&*model));
            gradus::no_grad(|| model.logits(&ids).reshape([tokens.len(), model.config.vocabulary]))
        });
        PyTensor::out(raise(logits.check().cloned())?)
    }
}
