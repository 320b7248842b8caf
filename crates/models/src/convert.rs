//! Conversion of models between a GGUF file and a Hugging Face folder.
//!
//! Both directions go through the folder's form: `config.json`, `tokenizer.json` and weights by Hugging Face's names.

use crate::config::Config;
use crate::gguf::{self, integers, reorder, rotated_heads};
use crate::language::read_json;
use crate::tokenizer::{cutting_name, json_of_gguf};
use crate::weights::Weights;
use gradus_ir::{Class, DType, Error, Result};
use gradus_nn::file::gguf::{Content, Entry, Metadata, Value, write};
use gradus_nn::file::{atomic, safetensors};
use gradus_tensor::Tensor;
use serde_json::{Value as Json, json};
use std::path::Path;

/// Writes a GGUF file as a Hugging Face folder, with weights in this dtype.
pub fn to_folder(source: &Path, folder: &Path, dtype: DType) -> Result<()> {
    if dtype.class() != Class::Float {
        return Err(Error::dtype(dtype, "weights are floats: f32, bf16 or f16"));
    }
    let model = gguf::Model::open(source)?;
    let mut config = model.config()?;
    // Refuses what this crate would not load again.
    Config::from_json(&config).map_err(|e| atomic::failed(source, e))?;
    let m = model.file.metadata().clone();
    let tokenizer = json_of_gguf(&m).map_err(|e| atomic::failed(source, e))?;
    let name = match config["model_type"].as_str() {
        Some("qwen2") => "Qwen2ForCausalLM",
        Some("qwen3") => "Qwen3ForCausalLM",
        Some("mistral") => "MistralForCausalLM",
        _ => "LlamaForCausalLM",
    };
    let words = [(DType::BF16, "bfloat16"), (DType::F16, "float16"), (DType::F64, "float64")];
    let word = words.iter().find(|(d, _)| *d == dtype).map_or("float32", |(_, word)| word);
    config["architectures"] = json!([name]);
    config["torch_dtype"] = json!(word);
    config["hidden_act"] = json!("silu");
    let token = |key: &str| {
        let id = m.integer(&format!("tokenizer.ggml.{key}_token_id"))?;
        tokenizer["model"]["vocab"]
            .as_object()?
            .iter()
            .find(|(_, v)| v.as_i64() == Some(id))
            .map(|(k, _)| k.clone())
    };
    let tokenizer_config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": token("bos"),
        "eos_token": token("eos"),
        "chat_template": m.text("tokenizer.chat_template"),
    });
    let tensors = model.names().into_iter().map(|name| {
        let t = model.tensor(&name)?.to_dtype(dtype);
        Ok((name, t.check()?.clone()))
    });
    let tensors = tensors.collect::<Result<Vec<(String, Tensor)>>>()?;
    std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
    let put =
        |name: &str, json: &Json| atomic::write(&folder.join(name), &[format!("{json:#}\n").as_bytes()]);
    let notes = [("format".to_string(), "pt".to_string())].into();
    safetensors::write(folder.join("model.safetensors"), &tensors, &notes)?;
    put("tokenizer.json", &tokenizer)?;
    put("tokenizer_config.json", &tokenizer_config)?;
    // Last: a folder with a configuration is complete.
    put("config.json", &config)
}

/// Writes a Hugging Face folder as a GGUF file. Matrices keep their dtype; vectors become `f32`, as other readers expect.
pub fn to_gguf(folder: &Path, out: &Path) -> Result<()> {
    let json = read_json(&folder.join("config.json"))?;
    let config = Config::from_json(&json).map_err(|e| atomic::failed(folder, e))?;
    let tokenizer = read_json(&folder.join("tokenizer.json"))?;
    let own = folder.join("tokenizer_config.json");
    let tokenizer_config = if own.exists() { read_json(&own)? } else { Json::Null };
    let mut m = gguf::metadata(&json);
    let architecture = m.text("general.architecture").unwrap_or_default().to_string();
    m.set(format!("{architecture}.rope.dimension_count"), Value::U32(config.head as u32));
    m.set(format!("{architecture}.vocab_size"), Value::U32(config.vocabulary as u32));
    tokens(&mut m, &tokenizer, config.vocabulary).map_err(|e| atomic::failed(folder, e))?;
    for (key, theirs) in [("bos", "bos_token_id"), ("eos", "eos_token_id")] {
        if let Some(id) = crate::config::tokens(&json[theirs]).first() {
            m.set(format!("tokenizer.ggml.{key}_token_id"), Value::U32(u32::try_from(*id).unwrap_or(0)));
        }
    }
    if let Some(template) = crate::language::template_of(folder, &tokenizer_config)? {
        m.set("tokenizer.chat_template", Value::String(template.source));
    }
    let weights = Weights::of_folder(folder)?;
    let mut entries = Vec::new();
    let mut push = |name: &str, t: Tensor| {
        entries.push(Entry { name: name.to_string(), content: Content::Tensor(t) });
    };
    if let Some(factors) = config.rope_factors() {
        push(gguf::ROPE_FREQS, Tensor::from(factors));
    }
    for name in weights.names() {
        if name.ends_with("rotary_emb.inv_freq") || (config.tied && name == "lm_head.weight") {
            continue;
        }
        let Some(theirs) = gguf::to_gguf(&name) else {
            return Err(atomic::failed(
                folder,
                format!("has tensor `{name}`, which has no name in GGUF files"),
            ));
        };
        let mut t = weights.tensor(&name)?;
        if let Some(heads) = rotated_heads(&architecture, &name, config.heads, config.kv_heads) {
            t = reorder(&t, heads, true)?;
        }
        push(&theirs, if t.rank() == 1 { t.to_dtype(DType::F32) } else { t });
    }
    write(out, &m, &entries)
}

/// The tokeniser in the metadata of a GGUF file.
fn tokens(m: &mut Metadata, json: &Json, vocabulary: usize) -> Result<()> {
    let unfit = |why: &str| Error::value("the tokeniser", format!("cannot be written to a GGUF file: {why}"));
    let model = &json["model"];
    let (Some("BPE"), Some(words)) = (model["type"].as_str(), model["vocab"].as_object()) else {
        return Err(unfit("it is not one of merges"));
    };
    let pre =
        cutting_name(&json["pre_tokenizer"]).ok_or_else(|| unfit("its way of cutting text is unknown"))?;
    let mut all: Vec<(String, i32)> = (0..vocabulary).map(|i| (format!("[PAD{i}]"), 5)).collect();
    let mut place =
        |id: &Json, text: &str, kind: i32| match id.as_u64().and_then(|id| all.get_mut(id as usize)) {
            Some(slot) => {
                *slot = (text.to_string(), kind);
                Ok(())
            }
            None => Err(unfit(&format!("token `{text}` is beyond the vocabulary"))),
        };
    words.iter().try_for_each(|(text, id)| place(id, text, 1))?;
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        let kind = if added["special"] == true { 3 } else { 4 };
        place(&added["id"], added["content"].as_str().unwrap_or_default(), kind)?;
    }
    // A pair, or in older files two words in one text.
    let merge = |v: &Json| match v {
        Json::String(s) => Some(s.clone()),
        v => Some(format!("{} {}", v[0].as_str()?, v[1].as_str()?)),
    };
    let merges: Option<Vec<String>> =
        model["merges"].as_array().map(|all| all.iter().filter_map(merge).collect());
    m.set("tokenizer.ggml.model", Value::String("gpt2".into()));
    m.set("tokenizer.ggml.pre", Value::String(pre.into()));
    m.set("tokenizer.ggml.token_type", integers(all.iter().map(|(_, kind)| *kind)));
    m.set("tokenizer.ggml.tokens", Value::strings(all.into_iter().map(|(text, _)| text)));
    m.set("tokenizer.ggml.merges", Value::strings(merges.unwrap_or_default()));
    let first = json["post_processor"]["single"][0]["SpecialToken"].is_object();
    m.set("tokenizer.ggml.add_bos_token", Value::Bool(first));
    Ok(())
}
