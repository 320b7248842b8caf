//! The sizes and variations of a decoder, read from the `config.json` of a Hugging Face folder.
//!
//! GGUF metadata is brought into the same form first (`gguf.rs`), so that there is one reading of either.

use gradus_ir::{Error, Result};
use serde_json::Value;

/// Sizes and variations of a decoder: Llama and its relatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The architecture by its name in `config.json`, such as `llama`.
    pub architecture: String,
    /// Kinds of tokens.
    pub vocabulary: usize,
    /// Most positions.
    pub context: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Blocks.
    pub layers: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values, which divide those of queries.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Width of the hidden layer of a block's network.
    pub hidden: usize,
    /// Added to the mean square in norms.
    pub eps: f64,
    /// Rotations per position of each pair of features, in radians.
    pub rates: Vec<f64>,
    /// The token embedding is also the output projection.
    pub tied: bool,
    /// Queries, keys and values have biases.
    pub qkv_bias: bool,
    /// The output projection of attention has one.
    pub out_bias: bool,
    /// Queries and keys are normalised by head before they are rotated.
    pub qk_norm: bool,
    /// Positions see only this many positions up to their own.
    pub window: Option<usize>,
    /// The base of the rotations before any scaling.
    pub rope_base: f64,
    /// Tokens that end a text.
    pub end: Vec<i64>,
}

/// Architectures that are variations of one decoder.
pub const ARCHITECTURES: &[&str] = &["llama", "mistral", "qwen2", "qwen3"];

/// Most layers, heads and features that are believed: beyond these a file is damaged, and would only exhaust memory.
const MOST: u64 = 1 << 20;

/// Most elements of a weight.
const MOST_WEIGHT: usize = 1 << 36;

impl Config {
    /// Reads the JSON of a `config.json`.
    pub fn from_json(json: &Value) -> Result<Config> {
        let bad = |key: &str, why: String| Error::value(format!("`{key}` of the configuration"), why);
        let size = |key: &str| match json[key].as_u64() {
            Some(n @ 1..=MOST) => Ok(n as usize),
            _ => Err(bad(key, format!("must be an integer from 1 to {MOST}, and is {}", json[key]))),
        };
        let size_or = |key: &str, other: usize| if json[key].is_null() { Ok(other) } else { size(key) };
        let architecture = json["model_type"].as_str().unwrap_or_default().to_string();
        if !ARCHITECTURES.contains(&architecture.as_str()) {
            let why = format!("is `{architecture}`; supported are {}", ARCHITECTURES.join(", "));
            return Err(bad("model_type", why));
        }
        let (width, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let kv_heads = size_or("num_key_value_heads", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            return Err(bad(
                "num_key_value_heads",
                format!("is {kv_heads}, which does not divide {heads} heads"),
            ));
        }
        let head = size_or("head_dim", width / heads)?;
        if head == 0 || !head.is_multiple_of(2) {
            return Err(bad("head_dim", format!("is {head}; rotations need pairs of features")));
        }
        let flag = |key: &str, other: bool| json[key].as_bool().unwrap_or(other);
        let qwen2 = architecture == "qwen2";
        // Qwen configurations state a window that is off unless they say so.
        let windowed = flag("use_sliding_window", architecture == "mistral");
        let config = Config {
            vocabulary: size("vocab_size")?,
            context: size_or("max_position_embeddings", 2048)?,
            width,
            layers: size("num_hidden_layers")?,
            heads,
            kv_heads,
            head,
            hidden: size("intermediate_size")?,
            eps: json["rms_norm_eps"].as_f64().filter(|e| *e > 0.0).unwrap_or(1e-6),
            rates: rates(json, head)?,
            rope_base: rope_base(json),
            tied: flag("tie_word_embeddings", false),
            qkv_bias: qwen2 || flag("attention_bias", false),
            out_bias: !qwen2 && flag("attention_bias", false),
            qk_norm: architecture == "qwen3",
            window: json["sliding_window"].as_u64().filter(|_| windowed).map(|w| w.max(1) as usize),
            end: tokens(&json["eos_token_id"]),
            architecture,
        };
        let largest = config.vocabulary.max(config.hidden).max(config.heads * config.head);
        if largest.checked_mul(config.width).is_none_or(|n| n > MOST_WEIGHT) {
            return Err(bad("hidden_size", format!("makes weights of more than {MOST_WEIGHT} elements")));
        }
        Ok(config)
    }

    /// What scaling divides the rotations by, if it changes any.
    pub fn rope_factors(&self) -> Option<Vec<f32>> {
        let plain = plain_rates(self.rope_base, self.head);
        let factors: Vec<f32> = plain.zip(&self.rates).map(|(plain, rate)| (plain / rate) as f32).collect();
        factors.iter().any(|f| *f != 1.0).then_some(factors)
    }
}

/// `base^(-2i/d)` for each pair of features.
fn plain_rates(base: f64, head: usize) -> impl Iterator<Item = f64> {
    (0..head / 2).map(move |i| base.powf(-2.0 * i as f64 / head as f64))
}

/// The base of the rotations; newer files keep it with the scaling.
fn rope_base(json: &Value) -> f64 {
    json["rope_theta"].as_f64().or(json["rope_parameters"]["rope_theta"].as_f64()).unwrap_or(10_000.0)
}

/// One token or a list of them.
pub(crate) fn tokens(json: &Value) -> Vec<i64> {
    match json {
        Value::Array(all) => all.iter().filter_map(Value::as_i64).collect(),
        one => one.as_i64().into_iter().collect(),
    }
}

/// How fast each pair of features turns: `base^(-2i/d)`, changed by the scaling that stretches the context.
fn rates(json: &Value, head: usize) -> Result<Vec<f64>> {
    let joint = &json["rope_parameters"];
    let scaling = if joint.is_object() { joint } else { &json["rope_scaling"] };
    let base = rope_base(json);
    if !(base > 0.0 && base.is_finite()) {
        return Err(Error::value(format!("`rope_theta` {base}"), "must be positive and finite"));
    }
    let plain = plain_rates(base, head);
    let number = |key: &str| match scaling[key].as_f64().filter(|x| *x > 0.0 && x.is_finite()) {
        Some(x) => Ok(x),
        None => {
            Err(Error::value(format!("`rope_scaling.{key}` {}", scaling[key]), "must be a positive number"))
        }
    };
    let kind = scaling["rope_type"].as_str().or(scaling["type"].as_str()).unwrap_or("default");
    match kind {
        "default" | "none" => Ok(plain.collect()),
        "linear" => number("factor").map(|factor| plain.map(|rate| rate / factor).collect()),
        "llama3" => {
            let (factor, context) = (number("factor")?, number("original_max_position_embeddings")?);
            let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
            // Fast rotations stay, slow ones are stretched, those between go from one to the other.
            let scaled = |rate: f64| {
                let turns = context * rate / (2.0 * std::f64::consts::PI);
                let smooth = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                (1.0 - smooth) * rate / factor + smooth * rate
            };
            Ok(plain.map(scaled).collect())
        }
        // A divisor for each pair, as GGUF files store any scaling.
        "longrope" if scaling["short_factor"] == scaling["long_factor"] => {
            let factors: Option<Vec<f64>> =
                scaling["long_factor"].as_array().and_then(|a| a.iter().map(Value::as_f64).collect());
            match factors.filter(|f| f.len() == head / 2 && f.iter().all(|x| *x > 0.0 && x.is_finite())) {
                Some(factors) => Ok(plain.zip(factors).map(|(rate, factor)| rate / factor).collect()),
                None => Err(Error::value(
                    "`rope_scaling.long_factor`",
                    format!("must be {} positive numbers", head / 2),
                )),
            }
        }
        other => {
            let why = "is not supported: default, linear, llama3, and longrope with equal factors are";
            Err(Error::value(format!("`rope_scaling.rope_type` `{other}`"), why))
        }
    }
}
