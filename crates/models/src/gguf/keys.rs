//! Converts metadata of GGUF files to keys of a `config.json`, and back.

use super::{Model, ROPE_FREQS};
use crate::config::Config;
use gradus_ir::{Error, Result};
use gradus_nn::file::gguf::{Kind, Metadata, Value};
use serde_json::{Map, Value as Json, json};

/// Keys of sizes: pairs of GGUF's key, without the architecture prefix, and Hugging Face's.
const SIZES: &[(&str, &str)] = &[
    ("block_count", "num_hidden_layers"),
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.sliding_window", "sliding_window"),
    ("expert_count", "num_local_experts"),
    ("expert_used_count", "num_experts_per_tok"),
    ("expert_feed_forward_length", "moe_intermediate_size"),
];

/// Keys of other numbers, in pairs as in [`SIZES`].
const NUMBERS: &[(&str, &str)] = &[
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("rope.freq_base", "rope_theta"),
    ("rope.freq_base_swa", "rope_local_base_freq"),
    ("attn_logit_softcapping", "attn_logit_softcapping"),
    ("final_logit_softcapping", "final_logit_softcapping"),
];

/// Keys of the sizes of GPT-2.
const GPT2: &[(&str, &str)] = &[
    ("block_count", "n_layer"),
    ("context_length", "n_positions"),
    ("embedding_length", "n_embd"),
    ("feed_forward_length", "n_inner"),
    ("attention.head_count", "n_head"),
];

const GPT2_NUMBERS: &[(&str, &str)] = &[("attention.layer_norm_epsilon", "layer_norm_epsilon")];

type Keys = &'static [(&'static str, &'static str)];

fn keys(model_type: &str) -> (Keys, Keys) {
    if model_type == "gpt2" { (GPT2, GPT2_NUMBERS) } else { (SIZES, NUMBERS) }
}

/// Returns the `model_type` of a `config.json` for a GGUF architecture.
pub(super) fn model_type(architecture: &str, m: &Metadata) -> String {
    let has = |key: &str| m.integer(&format!("{architecture}.{key}")).is_some_and(|n| n > 0);
    let name = match architecture {
        "llama" if has("expert_count") => "mixtral",
        "llama" if has("attention.sliding_window") => "mistral",
        "qwen3moe" => "qwen3_moe",
        "gemma3" => "gemma3_text",
        other => other,
    };
    name.to_string()
}

/// Returns the GGUF architecture of a `model_type`.
fn architecture(model_type: &str) -> &str {
    match model_type {
        "mistral" | "mixtral" => "llama",
        "qwen3_moe" => "qwen3moe",
        "gemma3_text" => "gemma3",
        other => other,
    }
}

impl Model {
    /// Converts the metadata to a `config.json`.
    pub fn config(&self) -> Result<Json> {
        let (m, mut out) = (self.file.metadata(), Map::new());
        let get = |key: &str| m.get(&format!("{}.{key}", self.architecture));
        let mut put = |key: &str, value: Json| drop(out.insert(key.into(), value));
        put("model_type", json!(self.model_type));
        let (sizes, numbers) = keys(&self.model_type);
        for (own, theirs) in sizes {
            if let Some(v) = get(own) {
                let wrong = || Error::value(format!("`{own}` of the metadata"), "must be an integer");
                put(theirs, json!(v.integer().ok_or_else(wrong)?));
            }
        }
        for (own, theirs) in numbers {
            if let Some(v) = get(own) {
                put(theirs, json!(v.number()));
            }
        }
        let embedding = self.file.info("token_embd.weight")?.shape.clone();
        put("vocab_size", json!(embedding.first()));
        put("tie_word_embeddings", json!(self.file.info("output.weight").is_err()));
        put("attention_bias", json!(self.file.info("blk.0.attn_q.bias").is_ok()));
        match self.model_type.as_str() {
            "llama" => put("mlp_bias", json!(self.file.info("blk.0.ffn_up.bias").is_ok())),
            "qwen3_moe" => {
                let normalize = m.flag(&format!("{}.expert_weights_norm", self.architecture));
                put("norm_topk_prob", json!(normalize.unwrap_or(true)));
            }
            "gemma2" | "gemma3_text" => {
                if let Some(scalar) = self.query_scalar() {
                    put("query_pre_attn_scalar", json!(scalar));
                }
            }
            _ => {}
        }
        if let Some(Value::Array(_, layers)) = get("attention.sliding_window_pattern") {
            let kind = |v: &Value| match v {
                Value::Bool(true) => "sliding_attention",
                _ => "full_attention",
            };
            put("layer_types", json!(layers.iter().map(kind).collect::<Vec<_>>()));
            put("use_sliding_window", json!(layers.contains(&Value::Bool(true))));
        }
        for (own, theirs) in [("bos", "bos_token_id"), ("eos", "eos_token_id")] {
            if let Some(id) = m.integer(&format!("tokenizer.ggml.{own}_token_id")) {
                put(theirs, json!(id));
            }
        }
        if let Some(scaling) = self.scaling()? {
            put("rope_scaling", scaling);
        }
        Ok(Json::Object(out))
    }

    /// `query_pre_attn_scalar`: one over the square of the scale of attention scores. If the file has no
    /// `attention.scale`, this is the size of a head. In the largest model of each Gemma family (46 or 62
    /// layers) it is the width divided by the number of heads.
    fn query_scalar(&self) -> Option<f64> {
        let m = self.file.metadata();
        let key = |end: &str| format!("{}.{end}", self.architecture);
        if let Some(scale) = m.number(&key("attention.scale")).filter(|s| *s > 0.0) {
            return Some((scale * scale).recip());
        }
        let integer = |end: &str| m.integer(&key(end)).map(|n| n as f64);
        let largest = if self.architecture == "gemma2" { 46.0 } else { 62.0 };
        match integer("block_count") == Some(largest) {
            true => Some(integer("embedding_length")? / integer("attention.head_count")?.max(1.0)),
            false => integer("attention.key_length"),
        }
    }

    fn scaling(&self) -> Result<Option<Json>> {
        if self.file.info(ROPE_FREQS).is_ok() {
            let factors: Vec<f32> = self.file.dequantized(ROPE_FREQS)?.to_vec()?;
            let scaling = json!({ "rope_type": "longrope", "short_factor": factors, "long_factor": factors,
                                  "attention_factor": 1.0 });
            return Ok(Some(scaling));
        }
        let m = self.file.metadata();
        let key = |end: &str| format!("{}.rope.scaling.{end}", self.architecture);
        let Some(kind) = m.text(&key("type")).filter(|kind| *kind != "none") else { return Ok(None) };
        let mut out = Map::new();
        out.insert("rope_type".into(), json!(kind));
        for (own, theirs) in SCALING {
            if let Some(x) = m.number(&key(own)) {
                out.insert((*theirs).into(), json!(x));
            }
        }
        Ok(Some(Json::Object(out)))
    }
}

/// Keys of the scaling of rotary frequencies.
const SCALING: &[(&str, &str)] = &[
    ("factor", "factor"),
    ("original_context_length", "original_max_position_embeddings"),
    ("yarn_beta_fast", "beta_fast"),
    ("yarn_beta_slow", "beta_slow"),
];

/// Builds the GGUF metadata of a model with this `config.json`, without its tokeniser.
pub(crate) fn metadata(json: &Json, config: &Config) -> Result<Metadata> {
    let mut m = Metadata::new();
    let model_type = config.architecture.as_str();
    let architecture = architecture(model_type);
    let key = |end: &str| format!("{architecture}.{end}");
    m.set("general.architecture", Value::String(architecture.into()));
    if let Some(name) = json["_name_or_path"].as_str().filter(|n| !n.is_empty()) {
        m.set("general.name", Value::String(name.into()));
    }
    let size = |n: usize| Value::U32(u32::try_from(n).unwrap_or(u32::MAX));
    let sizes = [
        ("block_count", config.layers),
        ("context_length", config.context),
        ("embedding_length", config.width),
        ("feed_forward_length", config.hidden),
        ("attention.head_count", config.heads),
        ("attention.head_count_kv", config.kv_heads),
        ("vocab_size", config.vocabulary),
    ];
    sizes.into_iter().for_each(|(end, n)| drop(m.set(key(end), size(n))));
    if model_type == "gpt2" {
        m.set(key("attention.layer_norm_epsilon"), Value::F32(config.eps as f32));
        return match config.attention.iter().all(|r| r.scale == (config.head as f64).sqrt().recip()) {
            true => Ok(m),
            false => Err(Error::value(
                "the scale of attention",
                "cannot be stored in a GGUF file: for GPT-2 it must be 1 / √(head size)",
            )),
        };
    }
    for end in ["attention.key_length", "attention.value_length", "rope.dimension_count"] {
        m.set(key(end), size(config.head));
    }
    m.set(key("attention.layer_norm_rms_epsilon"), Value::F32(config.eps as f32));
    if let Some(e) = &config.experts {
        if e.layers.contains(&false) {
            return Err(Error::value(
                "a model with experts in only some layers",
                "cannot be stored in a GGUF file",
            ));
        }
        m.set(key("expert_count"), size(e.count));
        m.set(key("expert_used_count"), size(e.chosen));
        m.set(key("expert_weights_norm"), Value::Bool(e.normalize));
        if model_type != "mixtral" {
            m.set(key("expert_feed_forward_length"), size(e.hidden));
        }
    }
    for (end, cap) in
        [("attn_logit_softcapping", config.attention_cap), ("final_logit_softcapping", config.logit_cap)]
    {
        if let Some(cap) = cap {
            m.set(key(end), Value::F32(cap as f32));
        }
    }
    if let Some(reach) = config.attention.first().filter(|_| config.post_norms) {
        m.set(key("attention.scale"), Value::F32(reach.scale as f32));
    }
    let windows: Vec<bool> = config.attention.iter().map(|r| r.window.is_some()).collect();
    if let Some(window) = config.attention.iter().find_map(|r| r.window) {
        m.set(key("attention.sliding_window"), size(window));
        // Without a pattern, readers assume that Qwen has no windows, and that every layer of a `llama` file
        // with a window has one.
        if windows.contains(&false) || architecture.starts_with("qwen") {
            let layers = windows.into_iter().map(Value::Bool).collect();
            m.set(key("attention.sliding_window_pattern"), Value::Array(Kind::Bool, layers));
        }
    }
    for (end, rope) in ["rope.freq_base", "rope.freq_base_swa"].iter().zip(&config.ropes) {
        m.set(key(end), Value::F32(rope.base as f32));
    }
    scaling(&mut m, json, config, &key)?;
    Ok(m)
}

/// Writes the scaling of rotary frequencies if metadata keys can express it; otherwise the caller stores
/// divisors.
fn scaling(m: &mut Metadata, json: &Json, config: &Config, key: &impl Fn(&str) -> String) -> Result<()> {
    let joint = &json["rope_parameters"];
    let table = match (joint["full_attention"].is_object(), joint.is_object()) {
        (true, _) => &joint["full_attention"],
        (false, true) => joint,
        (false, false) => &json["rope_scaling"],
    };
    let kind = table["rope_type"].as_str().or(table["type"].as_str()).unwrap_or("default");
    if config.ropes.get(1).is_some_and(|r| r.divisors().is_some()) {
        return Err(Error::value(
            "scaled rotations of layers with a window",
            "cannot be stored in a GGUF file",
        ));
    }
    if !matches!(kind, "linear" | "yarn") {
        let plain = config.ropes.iter().all(|r| r.factor == 1.0);
        return if plain {
            Ok(())
        } else {
            Err(Error::value("`attention_factor`", "cannot be stored in a GGUF file"))
        };
    }
    for extra in ["attention_factor", "mscale", "mscale_all_dim", "truncate"] {
        if kind == "yarn" && !table[extra].is_null() {
            return Err(Error::value(format!("`{extra}` of rotations"), "cannot be stored in a GGUF file"));
        }
    }
    m.set(key("rope.scaling.type"), Value::String(kind.into()));
    for (own, theirs) in SCALING {
        if let Some(x) = table[*theirs].as_f64() {
            let value = match *own {
                "original_context_length" => Value::U32(x as u32),
                _ => Value::F32(x as f32),
            };
            m.set(key(&format!("rope.scaling.{own}")), value);
        }
    }
    Ok(())
}

/// Returns true if the metadata states the scaling of rotary frequencies, so that no divisors need to be
/// stored.
pub(crate) fn states_scaling(m: &Metadata) -> bool {
    let architecture = m.text("general.architecture").unwrap_or_default();
    m.text(&format!("{architecture}.rope.scaling.type")).is_some()
}
