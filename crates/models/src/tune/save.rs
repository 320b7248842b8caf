//! Saves a tuned model as a Hugging Face folder.

use super::adapter::is_adapter;
use crate::convert::Description;
use crate::decoder::Decoder;
use crate::weights::Weights;
use gradus_ir::{DType, Result};
use gradus_nn::Module;
use gradus_nn::file::{atomic, bytes_up_to, safetensors};
use gradus_tensor::{Device, Tensor};
use std::collections::BTreeSet;
use std::path::Path;

/// Files of a model folder that are copied. The configuration is last, so that a folder that has one is
/// complete.
const OTHERS: [&str; 7] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
    "added_tokens.json",
    "config.json",
];

/// Largest copied file, in bytes.
const MAX: u64 = 256 << 20;

/// Writes the weights of a model as `f32` into a folder. Configuration and tokeniser are copied from
/// `source`, the GGUF file or folder that the model was loaded from. Fails if the model has adapters or
/// quantised weights.
pub fn save(model: &Decoder, source: &Path, folder: &Path) -> Result<()> {
    let failed = |why: String| atomic::failed(folder, why);
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for (name, t) in model.state() {
        if is_adapter(&name) {
            return Err(failed(
                "cannot be written: the model has an adapter; merge it or save it alone".into(),
            ));
        }
        if t.dtype() == DType::U8 {
            let why = format!("cannot be written: `{name}` is quantised; load the model as f32");
            return Err(failed(why));
        }
        let value = t.data_().detach().to(Device::CPU).to_dtype(DType::F32);
        tensors.push((name, value.check()?.clone()));
    }
    if source == folder {
        return Err(failed("cannot be written: it is the folder that the model was loaded from".into()));
    }
    std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
    if source.is_dir() {
        let known: BTreeSet<String> = Weights::of_folder(source)?.names().into_iter().collect();
        if let Some((name, _)) = tensors.iter().find(|(name, _)| !known.contains(name)) {
            return Err(failed(format!(
                "cannot be written: the files of the model have no tensor `{name}`; they name their tensors differently"
            )));
        }
        // The configuration comes last: a folder that has one is complete.
        let notes = [("format".to_string(), "pt".to_string())].into();
        safetensors::write(folder.join("model.safetensors"), &tensors, &notes)?;
        for name in OTHERS {
            let from = source.join(name);
            if from.exists() {
                atomic::write(&folder.join(name), &[&bytes_up_to(&from, MAX)?])?;
            }
        }
        return Ok(());
    }
    let description = Description::of(source, DType::F32)?;
    let notes = [("format".to_string(), "pt".to_string())].into();
    safetensors::write(folder.join("model.safetensors"), &tensors, &notes)?;
    description.write(folder)
}
