//! Converts models between a GGUF file and a Hugging Face folder, and quantises them.
//!
//! Both directions use the folder's form: `config.json`, `tokenizer.json` and weights with Hugging Face's
//! names.

use crate::config::Config;
use crate::gguf::{self, integers, reorder, rotated_heads};
use crate::language::read_json;
use crate::tokenizer::{json_of_gguf, pre_tokenizer_name};
use crate::weights::Weights;
use gradus_ir::{Aval, Class, DType, Error, Result, Shape};
use gradus_nn::file::gguf::{Content, Entry, Format, Kind, Metadata, Reader, Value, write};
use gradus_nn::file::{atomic, safetensors};
use gradus_tensor::{Quantized, Tensor};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Largest file of weights that [`to_folder`] writes, in bytes. Larger models are written as several files.
const SHARD: usize = 5_000_000_000;

/// Writes a GGUF file as a Hugging Face folder, with weights of this dtype. Weights are read and written one
/// by one.
pub fn to_folder(source: &Path, folder: &Path, dtype: DType) -> Result<()> {
    to_shards(source, folder, dtype, SHARD)
}

/// As [`to_folder`], with files of weights of at most `limit` bytes, or of one tensor. If several are needed,
/// their index is written too.
pub fn to_shards(source: &Path, folder: &Path, dtype: DType, limit: usize) -> Result<()> {
    let model = gguf::Model::open(source)?;
    let description = Description::new(&model, source, dtype)?;
    let (mut shards, mut total) = (Vec::<Vec<(String, Aval)>>::new(), 0);
    let mut left = 0;
    for name in model.names() {
        let Some(shape) = model.shape(&name) else {
            return Err(atomic::failed(source, format!("has no tensor `{name}`")));
        };
        let bytes = shape.numel() * dtype.size();
        if shards.is_empty() || bytes > left {
            shards.push(Vec::new());
            left = limit;
        }
        left = left.saturating_sub(bytes);
        total += bytes;
        shards.last_mut().into_iter().for_each(|s| s.push((name.clone(), Aval::new(dtype, shape.clone()))));
    }
    std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
    let notes = [("format".to_string(), "pt".to_string())].into();
    let read = |name: &str| model.tensor(name)?.to_dtype(dtype).check().cloned();
    let one = folder.join("model.safetensors");
    if shards.len() < 2 {
        let types = shards.pop().unwrap_or_default();
        safetensors::write_streamed(one, &types, &notes, read)?;
        return description.write(folder);
    }
    let (mut files, count) = (serde_json::Map::new(), shards.len());
    for (i, types) in shards.iter().enumerate() {
        let file = format!("model-{:05}-of-{count:05}.safetensors", i + 1);
        safetensors::write_streamed(folder.join(&file), types, &notes, read)?;
        files.extend(types.iter().map(|(name, _)| (name.clone(), json!(file))));
    }
    let index = json!({ "metadata": { "total_size": total }, "weight_map": files });
    put(folder, "model.safetensors.index.json", &index)?;
    // Readers prefer a single file of weights to an index.
    if one.exists() {
        std::fs::remove_file(&one).map_err(|e| atomic::failed(&one, e))?;
    }
    description.write(folder)
}

fn put(folder: &Path, name: &str, json: &Json) -> Result<()> {
    atomic::write(&folder.join(name), &[format!("{json:#}\n").as_bytes()])
}

/// The files of a Hugging Face folder except the weights.
pub(crate) struct Description(Vec<(&'static str, Json)>);

impl Description {
    /// Reads the description of a GGUF file whose weights are written as `dtype`.
    pub(crate) fn of(source: &Path, dtype: DType) -> Result<Description> {
        Description::new(&gguf::Model::open(source)?, source, dtype)
    }

    fn new(model: &gguf::Model, source: &Path, dtype: DType) -> Result<Description> {
        describe(model, source, dtype).map(Description)
    }

    /// Writes the files.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        self.0.iter().try_for_each(|(name, json)| put(folder, name, json))
    }
}

fn describe(model: &gguf::Model, source: &Path, dtype: DType) -> Result<Vec<(&'static str, Json)>> {
    if dtype.class() != Class::Float {
        return Err(Error::dtype(dtype, "weights are floats: f32, bf16 or f16"));
    }
    let mut config = model.config()?;
    // Fails if this crate could not load the result.
    Config::from_json(&config).map_err(|e| atomic::failed(source, e))?;
    let m = model.file.metadata().clone();
    let tokenizer = json_of_gguf(&m).map_err(|e| atomic::failed(source, e))?;
    let name = match config["model_type"].as_str() {
        Some("qwen2") => "Qwen2ForCausalLM",
        Some("qwen3") => "Qwen3ForCausalLM",
        Some("qwen3_moe") => "Qwen3MoeForCausalLM",
        Some("mistral") => "MistralForCausalLM",
        Some("mixtral") => "MixtralForCausalLM",
        Some("gemma") => "GemmaForCausalLM",
        Some("gemma2") => "Gemma2ForCausalLM",
        Some("gemma3_text") => "Gemma3ForCausalLM",
        Some("gpt2") => "GPT2LMHeadModel",
        _ => "LlamaForCausalLM",
    };
    let words = [(DType::BF16, "bfloat16"), (DType::F16, "float16"), (DType::F64, "float64")];
    let word = words.iter().find(|(d, _)| *d == dtype).map_or("float32", |(_, word)| word);
    config["architectures"] = json!([name]);
    config["torch_dtype"] = json!(word);
    // GPT-2 and Gemma use the GELU approximated by a hyperbolic tangent.
    match config["model_type"].as_str() {
        Some("gpt2") => config["activation_function"] = json!("gelu_new"),
        Some(name) if name.starts_with("gemma") => config["hidden_activation"] = json!("gelu_pytorch_tanh"),
        _ => config["hidden_act"] = json!("silu"),
    }
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
    let mut end: Vec<i64> = config["eos_token_id"].as_i64().into_iter().collect();
    end.extend(m.integer("tokenizer.ggml.eot_token_id").filter(|id| !end.contains(id)));
    let mut generation = serde_json::Map::new();
    if let Some(id) = config["bos_token_id"].as_i64() {
        generation.insert("bos_token_id".into(), json!(id));
    }
    if !end.is_empty() {
        generation.insert("eos_token_id".into(), json!(end));
    }
    Ok(vec![
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", tokenizer_config),
        ("generation_config.json", Json::Object(generation)),
        // Written last: a folder that has a configuration is complete.
        ("config.json", config),
    ])
}

/// Writes a Hugging Face folder as a GGUF file. Matrices keep their dtype; vectors become `f32`, as other
/// readers expect.
pub fn to_gguf(folder: &Path, out: &Path) -> Result<()> {
    let (m, tensors) = of_folder(folder)?;
    let entry = |(name, t): (String, Tensor)| Entry { name, content: Content::Tensor(t) };
    write(out, &m, &tensors.into_iter().map(entry).collect::<Vec<_>>())
}

/// The result of a quantisation: numbers of tensors, and rounding errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Number of tensors that were quantised.
    pub tensors: usize,
    /// Number of tensors that were not quantised: vectors, routers, position embeddings, and matrices whose
    /// rows do not fill blocks.
    pub kept: usize,
    /// Root mean square of all errors, divided by the root mean square of the values.
    pub relative: f64,
    /// The tensor with the largest relative error, and that error.
    pub worst: (String, f64),
}

/// Writes a model (a GGUF file or a Hugging Face folder) as a GGUF file whose matrices are quantised to
/// `format`.
pub fn quantize(source: &Path, out: &Path, format: Format) -> Result<Quantization> {
    if !format.is_quantized() || !format.is_in_files() {
        return Err(Error::value(
            format!("format {}", format.name()),
            "is not a quantised format of GGUF files",
        ));
    }
    let file = if source.is_dir() { None } else { Some(Reader::open(source)?) };
    let (mut m, tensors) = match &file {
        None => of_folder(source)?,
        Some(file) => {
            let each = file.tensors().iter().map(|t| (t.name.clone(), Tensor::zeros([0])));
            (file.metadata().clone(), each.collect())
        }
    };
    let mut report = Quantization { tensors: 0, kept: 0, relative: 0.0, worst: (String::new(), 0.0) };
    let (mut wrong, mut all) = (0.0, 0.0);
    let mut stored: Vec<(String, Shape, Option<Vec<u8>>, Tensor)> = Vec::new();
    for (name, t) in tensors {
        let shape = match &file {
            Some(file) => file.info(&name)?.shape.clone(),
            None => t.shape(),
        };
        let fits = shape.last().is_some_and(|row| row.is_multiple_of(format.block_elements()));
        let kept =
            ["ffn_gate_inp", "position_embd", "norm", "rope_freqs"].iter().any(|part| name.contains(part));
        if shape.len() < 2 || !fits || kept || !name.ends_with(".weight") {
            report.kept += 1;
            stored.push((name, shape, None, t));
            continue;
        }
        let values = match &file {
            Some(file) => file.dequantized(&name)?,
            None => t,
        };
        let (quantized, rounding) = Quantized::quantize(&values, format)
            .map_err(|e| atomic::failed(source, format!("tensor `{name}`: {e}")))?;
        let square = rounding.rms.powi(2) * values.numel() as f64;
        wrong += square;
        all += if rounding.relative > 0.0 { square / rounding.relative.powi(2) } else { 0.0 };
        if rounding.relative >= report.worst.1 {
            report.worst = (name.clone(), rounding.relative);
        }
        report.tensors += 1;
        stored.push((name, shape, Some(quantized.bytes().to_vec()?), Tensor::zeros([0])));
    }
    report.relative = if all > 0.0 { (wrong / all).sqrt() } else { 0.0 };
    m.set("general.quantization_version", Value::U32(2));
    if let Some(n) = file_type(format) {
        m.set("general.file_type", Value::U32(n));
    }
    let entries = stored.iter().map(|(name, shape, bytes, t)| {
        let content = match (bytes, &file) {
            (Some(bytes), _) => Content::Bytes(format, shape.clone(), bytes),
            (None, None) => Content::Tensor(t.clone()),
            (None, Some(file)) => Content::Bytes(file.info(name)?.format, shape.clone(), file.bytes(name)?),
        };
        Ok(Entry { name: name.clone(), content })
    });
    write(out, &m, &entries.collect::<Result<Vec<_>>>()?)?;
    Ok(report)
}

/// Returns the value of `general.file_type` for files whose tensors are mostly of this format.
fn file_type(format: Format) -> Option<u32> {
    match format {
        Format::Q4_0 => Some(2),
        Format::Q4_1 => Some(3),
        Format::Q8_0 => Some(7),
        Format::Q5_0 => Some(8),
        Format::Q5_1 => Some(9),
        Format::Q2K => Some(10),
        Format::Q3K => Some(12),
        Format::Q4K => Some(15),
        Format::Q5K => Some(17),
        Format::Q6K => Some(18),
        _ => None,
    }
}

/// Converts a Hugging Face folder to the metadata and tensors of a GGUF file.
fn of_folder(folder: &Path) -> Result<(Metadata, Vec<(String, Tensor)>)> {
    let json = read_json(&folder.join("config.json"))?;
    let config = Config::from_json(&json).map_err(|e| atomic::failed(folder, e))?;
    let tokenizer = read_json(&folder.join("tokenizer.json"))?;
    let own = folder.join("tokenizer_config.json");
    let tokenizer_config = if own.exists() { read_json(&own)? } else { Json::Null };
    let mut m = gguf::keys::metadata(&json, &config).map_err(|e| atomic::failed(folder, e))?;
    let architecture = m.text("general.architecture").unwrap_or_default().to_string();
    tokens(&mut m, &tokenizer, config.vocabulary).map_err(|e| atomic::failed(folder, e))?;
    for (key, theirs) in [("bos", "bos_token_id"), ("eos", "eos_token_id")] {
        let ids = crate::config::tokens(&json, theirs).map_err(|e| atomic::failed(folder, e))?;
        if let Some(id) = ids.first() {
            m.set(format!("tokenizer.ggml.{key}_token_id"), Value::U32(u32::try_from(*id).unwrap_or(0)));
        }
    }
    if let Some(template) = crate::language::template_of(folder, &tokenizer_config)? {
        m.set("tokenizer.chat_template", Value::String(template.source));
    }
    let weights = Weights::of_folder(folder)?;
    let names = gguf::Names::of(&config.architecture);
    let mut stacks: BTreeMap<String, Vec<(usize, Tensor)>> = BTreeMap::new();
    let mut entries = Vec::new();
    let mut push = |name: &str, t: Tensor| {
        entries.push((name.to_string(), t));
    };
    if let Some(factors) = config.rope_factors().filter(|_| !gguf::keys::states_scaling(&m)) {
        push(gguf::ROPE_FREQS, Tensor::from(factors));
    }
    for name in weights.names() {
        if name.ends_with("rotary_emb.inv_freq") || (config.tied && name == "lm_head.weight") {
            continue;
        }
        // Files of GPT-2 may store attention masks.
        if name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") {
            continue;
        }
        let prefixed = match config.architecture.as_str() {
            "gpt2" if !name.starts_with("transformer.") && name != "lm_head.weight" => {
                format!("transformer.{name}")
            }
            _ => name.clone(),
        };
        let Some((theirs, expert)) = names.to_gguf(&prefixed) else {
            return Err(atomic::failed(
                folder,
                format!("has tensor `{name}`, which has no name in GGUF files"),
            ));
        };
        let mut t = weights.tensor(&name)?;
        if let Some(heads) = rotated_heads(&architecture, &name, config.heads, config.kv_heads) {
            t = reorder(&t, heads, true)?;
        }
        if gguf::is_transposed(&config.architecture, &name) {
            t = t.t().contiguous();
        }
        if gguf::is_one_plus(&config.architecture, &name) {
            t = t.to_dtype(DType::F32) + 1.0;
        }
        match expert {
            Some(n) => stacks.entry(theirs).or_default().push((n, t)),
            None => push(&theirs, if t.rank() == 1 { t.to_dtype(DType::F32) } else { t }),
        }
    }
    for (name, mut all) in stacks {
        all.sort_by_key(|(n, _)| *n);
        let all: Vec<&Tensor> = all.iter().map(|(_, t)| t).collect();
        push(&name, Tensor::stack(&all, 0).check()?.clone());
    }
    Ok((m, entries))
}

/// Scores of tokens from the order of the merges that produce them: earlier merges have higher scores.
fn scores(tokens: &[(String, i32)], merges: &[String]) -> Value {
    let mut first = HashMap::new();
    for (i, merge) in merges.iter().enumerate() {
        first.entry(merge.replacen(' ', "", 1)).or_insert(i);
    }
    let of = |(text, kind): &(String, i32)| match first.get(text) {
        Some(i) if *kind == 1 => -(*i as f32) - 1.0,
        _ => 0.0,
    };
    Value::Array(Kind::F32, tokens.iter().map(|t| Value::F32(of(t))).collect())
}

/// Writes a tokeniser to the metadata of a GGUF file. Fails if GGUF cannot express it.
fn tokens(m: &mut Metadata, json: &Json, vocabulary: usize) -> Result<()> {
    let unfit = |why: &str| Error::value("the tokeniser", format!("cannot be written to a GGUF file: {why}"));
    let model = &json["model"];
    let (Some("BPE"), Some(words)) = (model["type"].as_str(), model["vocab"].as_object()) else {
        return Err(unfit("only BPE tokenisers, which merge pairs, can be stored"));
    };
    // SentencePiece models have byte tokens for characters that are not in any piece.
    let scored = model["byte_fallback"] == true;
    let pre = match scored {
        true => "default",
        false => pre_tokenizer_name(&json["pre_tokenizer"])
            .ok_or_else(|| unfit("its pre-tokeniser has no name in GGUF files"))?,
    };
    let mut all: Vec<(String, i32)> = (0..vocabulary).map(|i| (format!("[PAD{i}]"), 5)).collect();
    let mut place =
        |id: &Json, text: &str, kind: i32| match id.as_u64().and_then(|id| all.get_mut(id as usize)) {
            Some(slot) => {
                *slot = (text.to_string(), kind);
                Ok(())
            }
            None => Err(unfit(&format!("token `{text}` is beyond the vocabulary"))),
        };
    let is_byte = |text: &str| scored && text.len() == 6 && text.starts_with("<0x") && text.ends_with('>');
    words.iter().try_for_each(|(text, id)| place(id, text, if is_byte(text) { 6 } else { 1 }))?;
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        let kind = if added["special"] == true { 3 } else { 4 };
        let text = added["content"].as_str().unwrap_or_default();
        let kind = if scored && model["unk_token"].as_str() == Some(text) { 2 } else { kind };
        place(&added["id"], text, kind)?;
    }
    // A merge is a list of two texts or, in older files, one text with a space.
    let merge = |v: &Json| match v {
        Json::String(s) => Some(s.clone()),
        v => Some(format!("{} {}", v[0].as_str()?, v[1].as_str()?)),
    };
    let merges: Option<Vec<String>> =
        model["merges"].as_array().map(|all| all.iter().filter_map(merge).collect());
    if scored {
        m.set("tokenizer.ggml.scores", scores(&all, merges.as_deref().unwrap_or_default()));
        let prefix = json["normalizer"].to_string().contains("\"Prepend\"");
        m.set("tokenizer.ggml.add_space_prefix", Value::Bool(prefix));
    }
    m.set("tokenizer.ggml.model", Value::String(if scored { "llama" } else { "gpt2" }.into()));
    m.set("tokenizer.ggml.pre", Value::String(pre.into()));
    m.set("tokenizer.ggml.token_type", integers(all.iter().map(|(_, kind)| *kind)));
    m.set("tokenizer.ggml.tokens", Value::strings(all.into_iter().map(|(text, _)| text)));
    if !scored {
        m.set("tokenizer.ggml.merges", Value::strings(merges.unwrap_or_default()));
    }
    let first = json["post_processor"]["single"][0]["SpecialToken"].is_object();
    m.set("tokenizer.ggml.add_bos_token", Value::Bool(first));
    Ok(())
}
