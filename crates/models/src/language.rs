//! Language models from files: a decoder with its tokeniser and chat template, which together generate text.

use crate::chat::{Message, Template};
use crate::config::{Config, tokens};
use crate::constrain::{Document, Grammar, Vocabulary};
use crate::decoder::Decoder;
use crate::engine::{Engine, Finish, Options};
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use crate::{gguf, stop::StopStrings};
use gradus_ir::format::Compute;
use gradus_ir::{Error, Result};
use gradus_nn::Module;
use gradus_nn::file::{atomic, bytes_up_to, gguf as file};
use gradus_tensor::{CacheKind, Device};
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest tokeniser file, in bytes.
const MAX_TOKENIZER: u64 = 256 << 20;

/// Largest other file of a model folder, in bytes.
const MAX_CONFIG: u64 = 16 << 20;

/// A model with its tokeniser and, if it has one, its chat template.
pub struct LanguageModel {
    /// The decoder, with the cache of the last text.
    pub engine: Engine,
    /// Converts text to tokens and back.
    pub tokenizer: Tokenizer,
    /// Converts conversations to tokens.
    pub template: Option<Template>,
}

/// A generated text.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The text.
    pub text: String,
    /// Number of tokens of the prompt.
    pub prompt: usize,
    /// Number of new tokens.
    pub tokens: usize,
    /// The reason why generation ended.
    pub finish: Finish,
    /// Time from the start to the first token.
    pub prefill: Duration,
    /// Time from the first token to the end.
    pub decode: Duration,
}

impl LanguageModel {
    /// Loads a GGUF file or a Hugging Face folder. On the CPU, quantised matrices stay quantised and are read
    /// from the mapped file, which must not change while the model is in use. On other devices they are
    /// dequantised to `f32`.
    pub fn load(path: impl AsRef<Path>, device: Device) -> Result<LanguageModel> {
        LanguageModel::load_computing(path, device, Compute::F32)
    }

    /// As [`LanguageModel::load`], with the representation of activations in products with quantised weights.
    /// Float weights ignore it: these are all weights of Hugging Face folders, and all weights on devices
    /// other than the CPU.
    pub fn load_computing(path: impl AsRef<Path>, device: Device, compute: Compute) -> Result<LanguageModel> {
        LanguageModel::load_with(path.as_ref(), device, !device.is_cpu(), compute)
    }

    /// As [`LanguageModel::load`], with all weights as `f32` parameters, for training.
    pub fn load_f32(path: impl AsRef<Path>, device: Device) -> Result<LanguageModel> {
        LanguageModel::load_with(path.as_ref(), device, true, Compute::F32)
    }

    fn load_with(path: &Path, device: Device, as_f32: bool, compute: Compute) -> Result<LanguageModel> {
        let model = match path.is_dir() {
            true => LanguageModel::of_folder(path)?,
            false => LanguageModel::of_gguf(path, as_f32, compute)?,
        };
        if !device.is_cpu() {
            model.engine.model().to(device)?;
            return Ok(LanguageModel { engine: Engine::new(model.engine.shared()), ..model });
        }
        Ok(model)
    }

    fn of_gguf(path: &Path, as_f32: bool, compute: Compute) -> Result<LanguageModel> {
        let mut source = gguf::Model::open(path)?;
        (source.as_f32, source.compute) = (as_f32, compute);
        let config = source.config()?;
        let failed = |e: Error| atomic::failed(path, e);
        let m = source.file.metadata();
        let tokenizer = Tokenizer::from_metadata(m).map_err(failed)?;
        let mut config = Config::from_json(&config).map_err(failed)?;
        config.end.extend(m.integer("tokenizer.ggml.eot_token_id"));
        let text = |key: &str| m.integer(key).and_then(|id| tokenizer.token(id)).unwrap_or_default();
        let template = m.text("tokenizer.chat_template").map(|source| Template {
            source: source.to_string(),
            bos_token: text("tokenizer.ggml.bos_token_id"),
            eos_token: text("tokenizer.ggml.eos_token_id"),
        });
        let weights = Weights::Gguf(Box::new(source));
        let decoder = Decoder::new(config, &weights).map_err(failed)?;
        if let Weights::Gguf(source) = &weights {
            // Neither metadata nor weights that were copied are read again.
            source.file.release();
        }
        Ok(LanguageModel { engine: Engine::new(Arc::new(decoder)), tokenizer, template })
    }

    fn of_folder(folder: &Path) -> Result<LanguageModel> {
        let config = read_json(&folder.join("config.json"))?;
        let failed = |e: Error| atomic::failed(folder, e);
        let mut config = Config::from_json(&config).map_err(failed)?;
        let tokenizer = Tokenizer::from_json(&bytes_up_to(&folder.join("tokenizer.json"), MAX_TOKENIZER)?)
            .map_err(failed)?;
        let optional = |name: &str| {
            let path = folder.join(name);
            if path.exists() { read_json(&path) } else { Ok(Json::Null) }
        };
        let end = tokens(&optional("generation_config.json")?, "eos_token_id").map_err(failed)?;
        end.into_iter().for_each(|id| {
            if !config.end.contains(&id) {
                config.end.push(id)
            }
        });
        let own = optional("tokenizer_config.json")?;
        let template = template_of(folder, &own)?;
        let decoder = Decoder::new(config, &Weights::of_folder(folder)?).map_err(failed)?;
        Ok(LanguageModel { engine: Engine::new(Arc::new(decoder)), tokenizer, template })
    }

    /// Limits the context to `most` positions, if it is larger. Fails if another engine shares the weights.
    pub fn limit_context(self, most: usize) -> Result<LanguageModel> {
        self.configure("the context", |config| config.context = config.context.min(most.max(1)))
    }

    /// Stores keys and values in another representation. Fails if the representation does not support the
    /// model's number of features per head, or if another engine shares the weights.
    pub fn with_cache(self, kind: CacheKind) -> Result<LanguageModel> {
        kind.row(self.engine.model().config.head)?;
        self.configure("the cache", |config| config.cache = kind)
    }

    /// Changes the configuration, and begins with an empty cache.
    fn configure(self, what: &str, change: impl FnOnce(&mut Config)) -> Result<LanguageModel> {
        let LanguageModel { engine, tokenizer, template } = self;
        let model = engine.shared();
        drop(engine);
        let mut model = Arc::try_unwrap(model)
            .map_err(|_| Error::value(what, "cannot be changed while other engines use the model"))?;
        change(&mut model.config);
        Ok(LanguageModel { engine: Engine::new(Arc::new(model)), tokenizer, template })
    }

    /// Makes the grammar of texts of JSON that are valid under a JSON schema.
    pub fn json_schema(&self, schema: &[u8]) -> Result<Arc<Grammar>> {
        let schema: Document = serde_json::from_slice(schema)
            .map_err(|e| Error::value("the JSON schema", format!("is not valid JSON: {e}")))?;
        let vocabulary = Vocabulary::new(&self.tokenizer, self.engine.model().config.vocabulary);
        Grammar::json_schema(&schema, &Arc::new(vocabulary)).map(Arc::new)
    }

    /// Generates the text that follows a prompt. Calls `each` with every piece of text; generation stops if
    /// it returns false. A stop string ends the text before it.
    pub fn generate(
        &mut self,
        prompt: &str,
        options: &Options,
        stop: &[String],
        each: impl FnMut(&str) -> bool,
    ) -> Result<Generated> {
        let prompt = self.tokenizer.encode(prompt)?;
        self.continue_tokens(&prompt, options, stop, each)
    }

    /// Generates the answer to a conversation, as [`generate`](LanguageModel::generate) does for a prompt.
    pub fn chat(
        &mut self,
        messages: &[Message],
        options: &Options,
        stop: &[String],
        each: impl FnMut(&str) -> bool,
    ) -> Result<Generated> {
        let Some(template) = &self.template else {
            return Err(Error::value("the model", "has no chat template; give a plain prompt instead"));
        };
        let prompt = template.encode(messages, &self.tokenizer)?;
        self.continue_tokens(&prompt, options, stop, each)
    }

    /// Generates the text that follows tokens, as [`generate`](LanguageModel::generate) does for a prompt.
    pub fn continue_tokens(
        &mut self,
        prompt: &[i64],
        options: &Options,
        stop: &[String],
        mut each: impl FnMut(&str) -> bool,
    ) -> Result<Generated> {
        let (began, mut first) = (Instant::now(), None);
        let (mut stream, mut held, mut text) =
            (self.tokenizer.stream(), StopStrings::new(stop), String::new());
        let mut tokens = 0;
        let mut hear = |piece: &str, text: &mut String| {
            text.push_str(piece);
            piece.is_empty() || each(piece)
        };
        let finish = self.engine.generate(prompt, options, |token| {
            first.get_or_insert_with(Instant::now);
            tokens += 1;
            let (piece, stopped) = held.push(&stream.push(token)?);
            Ok(hear(&piece, &mut text) && !stopped)
        })?;
        if !held.stopped() {
            let (piece, _) = held.push(&stream.finish()?);
            hear(&(piece + &held.finish()), &mut text);
        }
        let now = Instant::now();
        let first = first.unwrap_or(now);
        let (prefill, decode) = (first - began, now - first);
        Ok(Generated { text, prompt: prompt.len(), tokens, finish, prefill, decode })
    }
}

/// Reads the chat template of a folder, from its own file or from the tokeniser's configuration.
pub(crate) fn template_of(folder: &Path, config: &Json) -> Result<Option<Template>> {
    let file = folder.join("chat_template.jinja");
    let source = match &config["chat_template"] {
        _ if file.exists() => {
            let bytes = bytes_up_to(&file, MAX_CONFIG)?;
            Some(String::from_utf8(bytes).map_err(|_| atomic::failed(&file, "is not UTF-8"))?)
        }
        Json::String(text) => Some(text.clone()),
        // A list of named templates.
        Json::Array(all) => {
            let usual = all.iter().find(|t| t["name"] == "default");
            usual.and_then(|t| t["template"].as_str()).map(str::to_string)
        }
        _ => None,
    };
    let token = |key: &str| {
        let own = &config[key];
        own.as_str().or(own["content"].as_str()).unwrap_or_default().to_string()
    };
    Ok(source.map(|source| Template { source, bos_token: token("bos_token"), eos_token: token("eos_token") }))
}

/// Reads a small JSON file.
pub(crate) fn read_json(path: &Path) -> Result<Json> {
    serde_json::from_slice(&bytes_up_to(path, MAX_CONFIG)?).map_err(|e| atomic::failed(path, e))
}

/// Returns true if [`LanguageModel::load`] can read this path, judged by its configuration file or magic
/// number.
pub fn is_model(path: &Path) -> bool {
    path.join("config.json").exists() || file::is_gguf(path)
}
