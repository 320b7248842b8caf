//! GGUF files of models in the form of Hugging Face's: configuration, names of weights, order of rows.
//!
//! One table for keys and one for names serve both directions. GGUF stores the rows of queries and keys of `llama` models so that
//! features which rotate together are next to each other; here they are half a head apart.

use gradus_ir::{Error, Result, Shape};
use gradus_nn::file::gguf::{Format, Kind, Metadata, Reader, Value};
use gradus_tensor::Tensor;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Names of weights outside of blocks: GGUF's, then Hugging Face's.
const OUTER: &[(&str, &str)] = &[
    ("token_embd.weight", "model.embed_tokens.weight"),
    ("output_norm.weight", "model.norm.weight"),
    ("output.weight", "lm_head.weight"),
];

/// Names inside of a block, without `.weight` and `.bias`.
const INNER: &[(&str, &str)] = &[
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

/// Keys of sizes: GGUF's, after the architecture, then Hugging Face's.
const SIZES: &[(&str, &str)] = &[
    ("block_count", "num_hidden_layers"),
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.sliding_window", "sliding_window"),
];

/// Keys of other numbers.
const NUMBERS: &[(&str, &str)] =
    &[("attention.layer_norm_rms_epsilon", "rms_norm_eps"), ("rope.freq_base", "rope_theta")];

/// Divisors of the rotations, one for each pair of features.
pub(crate) const ROPE_FREQS: &str = "rope_freqs.weight";

/// The name that GGUF has for a weight.
pub fn to_gguf(name: &str) -> Option<String> {
    if let Some((own, _)) = OUTER.iter().find(|(_, theirs)| *theirs == name) {
        return Some((*own).to_string());
    }
    let (block, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (stem, end) = rest.rsplit_once('.')?;
    let (own, _) = INNER.iter().find(|(_, theirs)| *theirs == stem)?;
    Some(format!("blk.{block}.{own}.{end}"))
}

/// The name that Hugging Face has for a weight.
pub fn from_gguf(name: &str) -> Option<String> {
    if let Some((_, theirs)) = OUTER.iter().find(|(own, _)| *own == name) {
        return Some((*theirs).to_string());
    }
    let (block, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (stem, end) = rest.rsplit_once('.')?;
    let (_, theirs) = INNER.iter().find(|(own, _)| *own == stem)?;
    Some(format!("model.layers.{block}.{theirs}.{end}"))
}

/// A GGUF file of a language model.
pub struct Model {
    /// The file.
    pub file: Reader,
    architecture: String,
    heads: usize,
    kv_heads: usize,
    /// Whether quantised weights are given as `f32`.
    pub as_f32: bool,
}

impl Model {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let file = Reader::open(path)?;
        let Some(architecture) = file.metadata().text("general.architecture").map(str::to_string) else {
            return Err(file.failed("has no `general.architecture` in its metadata"));
        };
        let count = |key: &str| {
            let n = file.metadata().integer(&format!("{architecture}.{key}"));
            n.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0)
        };
        let heads = count("attention.head_count").unwrap_or(1);
        let kv_heads = count("attention.head_count_kv").unwrap_or(heads);
        Ok(Model { file, architecture, heads, kv_heads, as_f32: false })
    }

    /// The configuration as a `config.json` has it.
    pub fn config(&self) -> Result<Json> {
        let (m, mut out) = (self.file.metadata(), Map::new());
        let get = |key: &str| m.get(&format!("{}.{key}", self.architecture));
        out.insert("model_type".into(), json!(self.architecture));
        for (own, theirs) in SIZES {
            if let Some(v) = get(own) {
                out.insert((*theirs).into(), json!(v.integer()));
            }
        }
        for (own, theirs) in NUMBERS {
            if let Some(v) = get(own) {
                out.insert((*theirs).into(), json!(v.number()));
            }
        }
        let embedding = self.file.info("token_embd.weight")?.shape.clone();
        out.insert("vocab_size".into(), json!(embedding.first()));
        out.insert("tie_word_embeddings".into(), json!(self.file.info("output.weight").is_err()));
        if self.architecture == "llama" {
            out.insert("attention_bias".into(), json!(self.file.info("blk.0.attn_q.bias").is_ok()));
        }
        for (own, theirs) in [("bos", "bos_token_id"), ("eos", "eos_token_id")] {
            if let Some(id) = m.integer(&format!("tokenizer.ggml.{own}_token_id")) {
                out.insert(theirs.into(), json!(id));
            }
        }
        if let Some(scaling) = self.scaling()? {
            out.insert("rope_scaling".into(), scaling);
        }
        Ok(Json::Object(out))
    }

    fn scaling(&self) -> Result<Option<Json>> {
        if self.file.info(ROPE_FREQS).is_ok() {
            let factors: Vec<f32> = self.file.dequantized(ROPE_FREQS)?.to_vec()?;
            let scaling = json!({ "rope_type": "longrope", "short_factor": factors, "long_factor": factors,
                                  "attention_factor": 1.0 });
            return Ok(Some(scaling));
        }
        let key = |end: &str| format!("{}.rope.scaling.{end}", self.architecture);
        let m = self.file.metadata();
        Ok(match m.text(&key("type")) {
            None | Some("none") => None,
            Some(kind) => Some(json!({ "rope_type": kind, "factor": m.number(&key("factor")) })),
        })
    }

    /// Names of all weights; one that has no name in Hugging Face's files keeps its own.
    pub fn names(&self) -> Vec<String> {
        let own = self.file.tensors().iter().filter(|t| t.name != ROPE_FREQS);
        own.map(|t| from_gguf(&t.name).unwrap_or_else(|| t.name.clone())).collect()
    }

    fn own(&self, name: &str) -> String {
        to_gguf(name).unwrap_or_else(|| name.to_string())
    }

    /// The shape of a weight.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        self.file.info(&self.own(name)).ok().map(|t| t.shape.clone())
    }

    /// A weight, dequantised, with its rows in Hugging Face's order.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let t = self.file.tensor(&self.own(name))?;
        match rotated_heads(&self.architecture, name, self.heads, self.kv_heads) {
            Some(heads) => reorder(&t, heads, false).map_err(|e| self.file.failed(format!("`{name}`: {e}"))),
            None => Ok(t),
        }
    }
}

impl Model {
    /// The bytes of a quantised weight with their format, with its rows in Hugging Face's order; `None` if it is not quantised,
    /// or floats were asked for. Bytes whose order is that of the file are read in place.
    pub fn quantized(&self, name: &str) -> Result<Option<(Tensor, Format)>> {
        let own = self.own(name);
        let format = self.file.info(&own)?.format;
        if self.as_f32 || !format.is_quantized() {
            return Ok(None);
        }
        let bytes = self.file.stored(&own)?;
        let bytes = match rotated_heads(&self.architecture, name, self.heads, self.kv_heads) {
            Some(heads) => {
                reorder(&bytes, heads, false).map_err(|e| self.file.failed(format!("`{name}`: {e}")))?
            }
            None => bytes,
        };
        Ok(Some((bytes, format)))
    }
}

/// How many heads the rows of a weight belong to, if GGUF orders them in its own way.
pub(crate) fn rotated_heads(architecture: &str, name: &str, heads: usize, kv_heads: usize) -> Option<usize> {
    let is = |stem: &str| name.contains(&format!("self_attn.{stem}."));
    match architecture {
        "llama" if is("q_proj") => Some(heads),
        "llama" if is("k_proj") => Some(kv_heads),
        _ => None,
    }
}

/// Orders the rows of each head: from pairs next to each other to pairs half a head apart, or back.
pub(crate) fn reorder(t: &Tensor, heads: usize, to_gguf: bool) -> Result<Tensor> {
    let (rows, shape) = (t.dim(0), t.shape());
    if heads == 0 || !rows.is_multiple_of(2 * heads) {
        return Err(Error::shape(
            format!("shape {shape}"),
            format!("cannot be cut into {heads} heads of pairs"),
        ));
    }
    let half = rows / heads / 2;
    let rest = t.numel() / rows;
    let cut = if to_gguf { [heads, 2, half, rest] } else { [heads, half, 2, rest] };
    t.reshape(cut).transpose(1, 2).reshape(shape).check().cloned()
}

/// The metadata of a model with this `config.json`.
pub(crate) fn metadata(config: &Json) -> Metadata {
    let mut m = Metadata::new();
    // Mistral is Llama there.
    let architecture = match config["model_type"].as_str() {
        Some("mistral") | None => "llama",
        Some(name) => name,
    };
    m.set("general.architecture", Value::String(architecture.into()));
    if let Some(name) = config["_name_or_path"].as_str().filter(|n| !n.is_empty()) {
        m.set("general.name", Value::String(name.into()));
    }
    for (own, theirs) in SIZES {
        if let Some(n) = config[*theirs].as_u64().and_then(|n| u32::try_from(n).ok()) {
            m.set(format!("{architecture}.{own}"), Value::U32(n));
        }
    }
    for (own, theirs) in NUMBERS {
        if let Some(x) = config[*theirs].as_f64() {
            m.set(format!("{architecture}.{own}"), Value::F32(x as f32));
        }
    }
    m
}

/// An array of integers.
pub(crate) fn integers(items: impl IntoIterator<Item = i32>) -> Value {
    Value::Array(Kind::I32, items.into_iter().map(Value::I32).collect())
}
