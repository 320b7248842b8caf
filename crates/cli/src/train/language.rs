//! Builds the language models that come with Gradus, from a configuration or from a checkpoint.

use super::Prepared;
use super::keys::Keys;
use super::optimizer::optimizer;
use super::validation::HeldOut;
use crate::{Done, Failure};
use gradus::files;
use gradus::models::{gpt, gpt::Gpt, names, names::Bengio};
use gradus::nn::checkpoint::{self, safetensors::Reader};
use gradus::nn::data::{Characters, Dataset, Loader, Tensors, Windows};
use gradus::nn::{Module, Sampling, compile_forward, compile_training};
use gradus::{Device, Generator, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Options common to all runs.
pub(crate) struct Common<'a> {
    pub(crate) folder: &'a Path,
    /// Number of updates of the run.
    pub(crate) updates: u64,
    pub(crate) seed: u64,
    /// The device of the model and its batches.
    pub(crate) device: Device,
}

fn text(keys: &mut Keys, folder: &Path) -> Done<String> {
    let fits = "the path of a text file";
    let path = keys.text("data", fits)?;
    let text = files::text(&folder.join(keys.need("data", fits, path)?))?;
    // A resumed run needs the same text, but its path may differ.
    keys.record("data", &files::fingerprint_of(text.as_bytes())?);
    Ok(text)
}

/// Prepares a run of the model of names.
pub(crate) fn names(keys: &mut Keys, common: &Common<'_>) -> Done<Prepared> {
    let text = text(keys, common.folder)?;
    let batch = keys.size("batch", 32)?;
    let (mut own, d) = (keys.table("sizes")?, names::Sizes::default());
    let sizes = names::Sizes {
        context: own.size("context", d.context)?,
        embed: own.size("embed", d.embed)?,
        width: own.size("width", d.width)?,
    };
    own.finish()?;
    let model = Arc::new(Bengio::new(sizes, &Generator::new(common.seed))?);
    model.to(common.device)?;
    let (train, test) = names::split(&text);
    let examples = names::examples(&train, sizes.context)?;
    let loader = Loader::new(examples, batch)?.shuffle(common.seed).to(common.device);
    // One name in ten is held out even without validation, so that validation does not change the run.
    let validation = match HeldOut::read(keys, true)? {
        Some(asked) => {
            let loss = compile_forward(model.clone(), names::loss);
            Some(asked.with(keys, names::examples(&test, sizes.context)?, batch, loss, common.device)?)
        }
        None => None,
    };
    let optimizer = optimizer(keys, model.parameters(), common.updates)?;
    let note = json!({"name": "names", "context": sizes.context, "embed": sizes.embed, "width": sizes.width});
    Prepared::new(loader, note, validation, |batch| compile_training(model, names::loss, optimizer, batch))
}

/// Prepares a run of the character GPT.
pub(crate) fn gpt(keys: &mut Keys, common: &Common<'_>) -> Done<Prepared> {
    let text = text(keys, common.folder)?;
    let batch = keys.size("batch", 16)?;
    let (mut own, d) = (keys.table("sizes")?, gpt::Sizes::default());
    let sizes = gpt::Sizes {
        context: own.size("context", d.context)?,
        width: own.size("width", d.width)?,
        heads: own.size("heads", d.heads)?,
        layers: own.size("layers", d.layers)?,
    };
    if !sizes.width.is_multiple_of(sizes.heads) {
        return Err(
            own.fault("width", &format!("is {}, not a multiple of the {} heads", sizes.width, sizes.heads))
        );
    }
    own.finish()?;
    let characters = Characters::of(&text);
    let model = Arc::new(Gpt::new(characters.len(), sizes, &Generator::new(common.seed))?);
    model.to(common.device)?;
    let tokens = characters.encode(&text)?;
    let asked = HeldOut::read(keys, false)?;
    let (train, test) =
        tokens.split_at(asked.as_ref().map_or(tokens.len(), |asked| asked.rest(tokens.len())));
    let windows = Windows::new(train, sizes.context);
    let loader = Loader::new(windows, batch)?.shuffle(common.seed).to(common.device);
    let validation = match asked {
        Some(asked) => {
            // Adjacent windows, so that every token of the held-out text is used once.
            let windows = Windows::new(test, sizes.context);
            let ids: Vec<usize> = (0..windows.len()).step_by(sizes.context).collect();
            let data = Tensors::new(windows.batch(&ids)?)?;
            Some(asked.with(keys, data, batch, compile_forward(model.clone(), gpt::loss), common.device)?)
        }
        None => None,
    };
    let optimizer = optimizer(keys, model.parameters(), common.updates)?;
    let all: Vec<i64> = (0..characters.len() as i64).collect();
    let note = json!({
        "name": "gpt", "context": sizes.context, "width": sizes.width, "heads": sizes.heads, "layers": sizes.layers,
        "characters": characters.decode(&all),
    });
    Prepared::new(loader, note, validation, |batch| compile_training(model, gpt::loss, optimizer, batch))
}

/// A language model that can be sampled.
pub(crate) enum Language {
    Names(Bengio),
    Gpt(Gpt, Characters),
}

impl Language {
    /// Loads the model of a checkpoint on a device.
    pub(crate) fn load(path: &Path, device: Device) -> Done<Language> {
        let file = Reader::open(path)?;
        let failed = |why: &str| Failure::Run(format!("{}: {why}", path.display()));
        let note = file.note("model").and_then(|text| serde_json::from_str::<Value>(text).ok());
        let note = note.ok_or_else(|| {
            failed("does not name its model; only checkpoints written by `gradus train` do")
        })?;
        let size = |key: &str| {
            let n = note[key].as_u64().filter(|n| (1..=1 << 20).contains(n));
            n.map(|n| n as usize).ok_or_else(|| failed(&format!("its model has no size `{key}`")))
        };
        let g = Generator::new(0);
        let model = match note["name"].as_str() {
            Some("names") => {
                let sizes =
                    names::Sizes { context: size("context")?, embed: size("embed")?, width: size("width")? };
                Language::Names(Bengio::new(sizes, &g)?)
            }
            Some("gpt") => {
                let characters = Characters::of(note["characters"].as_str().unwrap_or_default());
                let sizes = gpt::Sizes {
                    context: size("context")?,
                    width: size("width")?,
                    heads: size("heads")?,
                    layers: size("layers")?,
                };
                Language::Gpt(Gpt::new(characters.len(), sizes, &g)?, characters)
            }
            _ => return Err(failed("is not a checkpoint of a language model (names or gpt)")),
        };
        let stored = |own: &str| file.stored(own);
        match &model {
            Language::Names(m) => m.to(device).and_then(|()| checkpoint::load_as(path, m, stored))?,
            Language::Gpt(m, _) => m.to(device).and_then(|()| checkpoint::load_as(path, m, stored))?,
        }
        Ok(model)
    }

    /// Returns the name of the model in configurations.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Language::Names(_) => "names",
            Language::Gpt(..) => "gpt",
        }
    }

    /// Returns the characters of all tokens, in order. Token 0 of the model of names, the end of a name, is a
    /// full stop here.
    pub(crate) fn characters(&self) -> String {
        match self {
            Language::Names(_) => std::iter::once('.').chain('a'..='z').collect(),
            Language::Gpt(_, characters) => {
                characters.decode(&(0..characters.len() as i64).collect::<Vec<_>>())
            }
        }
    }

    /// Samples a text: a name, or `length` characters.
    pub(crate) fn sample(&self, length: usize, sampling: &Sampling, g: &Generator) -> Result<String> {
        match self {
            Language::Names(m) => m.sample(sampling, g),
            Language::Gpt(m, characters) => Ok(characters.decode(&m.sample(0, length, sampling, g)?)),
        }
    }
}
