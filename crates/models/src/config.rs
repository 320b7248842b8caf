//! The configuration of a decoder, read from the `config.json` of a Hugging Face folder.
//!
//! GGUF metadata is first converted to the same form (`gguf/keys.rs`), so that one reader serves both.
//! `rope.rs` reads the rotations.

use crate::rope::Rope;
use gradus_ir::{Error, Result};
use gradus_tensor::{CacheKind, Tensor};
use serde_json::Value;

/// Sizes and variations of a decoder of the Llama family.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The architecture: `model_type` of the `config.json`, such as `llama`.
    pub architecture: String,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Largest number of positions of a text.
    pub context: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of heads of keys and values; it divides `heads`.
    pub kv_heads: usize,
    /// Number of features of a head.
    pub head: usize,
    /// Width of the hidden layer of a block's network.
    pub hidden: usize,
    /// Added to the mean square or to the variance in norms, to avoid division by zero.
    pub eps: f64,
    /// The kind of norms.
    pub norm: Norms,
    /// The activation of the networks.
    pub activation: Activation,
    /// If true, networks are gated: the activation of one projection is multiplied by another projection.
    pub gated: bool,
    /// Kinds of rotations; empty if positions are learned.
    pub ropes: Vec<Rope>,
    /// Attention options of each layer.
    pub attention: Vec<Reach>,
    /// Soft limit of attention scores: `cap · tanh(score / cap)`.
    pub attention_cap: Option<f64>,
    /// Soft limit of logits, by the same formula.
    pub logit_cap: Option<f64>,
    /// Factor of token embeddings; 1 has no effect.
    pub embedding_scale: f64,
    /// If true, the results of attention and network are normalised before they are added to the residual
    /// stream.
    pub post_norms: bool,
    /// Sizes of mixtures of experts, if some layers have them.
    pub experts: Option<Experts>,
    /// If true, the token embedding is also the output projection.
    pub tied: bool,
    /// If true, the projections to queries, keys and values have biases.
    pub qkv_bias: bool,
    /// If true, the output projection of attention has a bias.
    pub out_bias: bool,
    /// If true, the projections of networks have biases.
    pub mlp_bias: bool,
    /// If true, queries and keys are normalised for each head before they are rotated.
    pub qk_norm: bool,
    /// Tokens that end a text.
    pub end: Vec<i64>,
    /// Representation of cached keys and values, which configuration files do not state.
    pub cache: CacheKind,
}

/// Attention options of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Number of positions that a position attends to, including its own; `None` means all earlier ones.
    pub window: Option<usize>,
    /// Index of the layer's rotations in [`Config::ropes`].
    pub rope: usize,
    /// Factor of attention scores.
    pub scale: f64,
}

/// Kinds of norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// `x / rms(x) · weight`.
    Rms,
    /// `x / rms(x) · (1 + weight)`.
    OnePlusRms,
    /// `(x - mean) / deviation · weight + bias`.
    Layer,
}

/// Activations of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x · sigmoid(x)`.
    Silu,
    /// `x · Φ(x)`, where `Φ` is the normal distribution function.
    Gelu,
    /// GELU with `Φ` approximated by a hyperbolic tangent.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// Returns the activation with this name in a `config.json`.
    pub fn of_name(name: &str) -> Option<Activation> {
        match name {
            "silu" | "swish" => Some(Activation::Silu),
            "gelu" => Some(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Some(Activation::GeluTanh),
            "relu" => Some(Activation::Relu),
            _ => None,
        }
    }

    /// Applies the activation to every element.
    #[track_caller]
    pub fn apply(self, x: &Tensor) -> Tensor {
        match self {
            Activation::Silu => x.silu(),
            Activation::Gelu => x.gelu(),
            Activation::GeluTanh => x.gelu_tanh(),
            Activation::Relu => x.relu(),
        }
    }
}

/// Sizes of a mixture of experts.
#[derive(Clone, Debug, PartialEq)]
pub struct Experts {
    /// Number of experts.
    pub count: usize,
    /// Number of experts chosen for each token.
    pub chosen: usize,
    /// Width of the hidden layer of an expert.
    pub hidden: usize,
    /// If true, the weights of the chosen experts are scaled to a sum of 1.
    pub normalize: bool,
    /// For every layer, whether its network is a mixture of experts.
    pub layers: Vec<bool>,
}

/// Supported architectures.
pub const ARCHITECTURES: &[&str] =
    &["llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text", "gpt2"];

/// Largest value of a size. Larger values indicate a damaged file, and would exhaust memory.
const MAX: u64 = 1 << 20;

/// Largest number of layers.
const MAX_LAYERS: usize = 4096;

/// Largest number of elements of a weight.
const MAX_WEIGHT: usize = 1 << 36;

/// Makes an error about a key of the configuration.
fn key_error(key: &str, why: impl Into<String>) -> Error {
    Error::value(format!("`{key}` of the configuration"), why.into())
}

/// A `config.json`, with functions to read its values.
struct Json<'a>(&'a Value);

impl Json<'_> {
    fn size(&self, key: &str) -> Result<usize> {
        match self.0[key].as_u64() {
            Some(n @ 1..=MAX) => Ok(n as usize),
            _ => Err(key_error(key, format!("must be an integer from 1 to {MAX}, and is {}", self.0[key]))),
        }
    }

    fn size_or(&self, key: &str, other: usize) -> Result<usize> {
        if self.0[key].is_null() { Ok(other) } else { self.size(key) }
    }

    fn flag(&self, key: &str, other: bool) -> Result<bool> {
        match &self.0[key] {
            Value::Null => Ok(other),
            Value::Bool(on) => Ok(*on),
            x => Err(key_error(key, format!("must be true or false, and is {x}"))),
        }
    }

    /// Reads an integer of at least `least`. Returns `None` if the key is absent.
    fn count(&self, key: &str, least: usize) -> Result<Option<usize>> {
        match &self.0[key] {
            Value::Null => Ok(None),
            x => match x.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n >= least) {
                Some(n) => Ok(Some(n)),
                None => Err(key_error(key, format!("must be an integer of at least {least}, and is {x}"))),
            },
        }
    }

    /// Reads a positive number. Returns `None` if the key is absent.
    fn positive(&self, key: &str) -> Result<Option<f64>> {
        positive(key, &self.0[key])
    }

    /// Reads a list. Returns `None` if the key is absent.
    fn list(&self, key: &str) -> Result<Option<&Vec<Value>>> {
        match &self.0[key] {
            Value::Null => Ok(None),
            Value::Array(all) => Ok(Some(all)),
            x => Err(key_error(key, format!("must be a list, and is {x}"))),
        }
    }

    fn activation(&self, keys: &[&str], other: Activation) -> Result<Activation> {
        let Some(key) = keys.iter().find(|key| !self.0[**key].is_null()) else { return Ok(other) };
        Activation::of_name(self.0[*key].as_str().unwrap_or_default()).ok_or_else(|| {
            let why = "is not supported; supported are silu, gelu, gelu_new, gelu_pytorch_tanh and relu";
            key_error(key, format!("{} {why}", self.0[*key]))
        })
    }

    /// Returns for every layer whether it has a sliding window.
    fn windowed(&self, architecture: &str, layers: usize) -> Result<Vec<bool>> {
        if let Some(types) = self.list("layer_types")? {
            let kind = |t: &Value| match t.as_str() {
                Some("sliding_attention") => Ok(true),
                Some("full_attention") => Ok(false),
                _ => Err(key_error("layer_types", format!("has {t}, which is not supported"))),
            };
            if types.len() != layers {
                return Err(key_error(
                    "layer_types",
                    format!("has {} entries for {layers} layers", types.len()),
                ));
            }
            return types.iter().map(kind).collect();
        }
        // Qwen configurations state a window even if `use_sliding_window` turns it off.
        let qwen = architecture.starts_with("qwen");
        if qwen && !self.flag("use_sliding_window", false)? {
            return Ok(vec![false; layers]);
        }
        let pattern = ["sliding_window_pattern", "_sliding_window_pattern"];
        let pattern = match pattern.iter().find(|key| !self.0[**key].is_null()) {
            Some(key) => self.size(key)?,
            None => 6,
        };
        let first = self.count("max_window_layers", 0)?.unwrap_or(0);
        Ok((0..layers)
            .map(|i| match architecture {
                "gemma2" => i % 2 == 0,
                "gemma3_text" => (i + 1) % pattern != 0,
                "mistral" | "mixtral" => true,
                "qwen2" | "qwen3" => i >= first,
                "qwen3_moe" => true,
                _ => false,
            })
            .collect())
    }

    fn experts(&self, architecture: &str, layers: usize, hidden: usize) -> Result<Option<Experts>> {
        let (count, hidden, normalize) = match architecture {
            "mixtral" => ("num_local_experts", hidden, true),
            "qwen3_moe" => {
                let key = if self.0["num_experts"].is_null() { "num_local_experts" } else { "num_experts" };
                (key, self.size("moe_intermediate_size")?, self.flag("norm_topk_prob", false)?)
            }
            _ => return Ok(None),
        };
        let (count, chosen) = (self.size(count)?, self.size("num_experts_per_tok")?);
        if chosen > count {
            return Err(key_error("num_experts_per_tok", format!("is {chosen}, more than {count} experts")));
        }
        let every = self.size_or("decoder_sparse_step", 1)?;
        let dense = self.list("mlp_only_layers")?.map_or(&[][..], Vec::as_slice);
        if let Some(other) = dense.iter().find(|i| i.as_u64().is_none()) {
            return Err(key_error(
                "mlp_only_layers",
                format!("has {other}, which is not the index of a layer"),
            ));
        }
        let is_dense = |i: usize| dense.iter().any(|n| n.as_u64() == Some(i as u64));
        let layers = (0..layers).map(|i| (i + 1) % every == 0 && !is_dense(i)).collect();
        Ok(Some(Experts { count, chosen, hidden, normalize, layers }))
    }

    /// Reads the rotations of layers without a window and, in Gemma 3, those of layers with one.
    fn ropes(&self, gemma3: bool, head: usize, context: usize) -> Result<Vec<Rope>> {
        if head == 0 || !head.is_multiple_of(2) {
            return Err(key_error("head_dim", format!("is {head}; rotations need pairs of features")));
        }
        let [joint, scaling] = ["rope_parameters", "rope_scaling"].map(|key| match &self.0[key] {
            table @ (Value::Null | Value::Object(_)) => Ok(table),
            x => Err(key_error(key, format!("must be a table, and is {x}"))),
        });
        let joint = joint?;
        let scaling = if joint.is_object() { joint } else { scaling? };
        if !gemma3 {
            let joint = positive("rope_parameters.rope_theta", &joint["rope_theta"])?;
            let base = self.positive("rope_theta")?.or(joint).unwrap_or(1e4);
            return Ok(vec![Rope::scaled(base, head, scaling, context)?]);
        }
        let (full, sliding) = match joint["full_attention"].is_object() {
            true => (&joint["full_attention"], &joint["sliding_attention"]),
            false => (scaling, &Value::Null),
        };
        let base = |table: &Value, key: &str, other: f64| {
            let own = positive("rope_parameters.rope_theta", &table["rope_theta"])?;
            Ok::<f64, Error>(own.or(self.positive(key)?).unwrap_or(other))
        };
        Ok(vec![
            Rope::scaled(base(full, "rope_theta", 1e6)?, head, full, context)?,
            Rope::scaled(base(sliding, "rope_local_base_freq", 1e4)?, head, sliding, context)?,
        ])
    }
}

impl Config {
    /// Reads the JSON of a `config.json`. Fails if the architecture is not supported or a size is out of
    /// range.
    pub fn from_json(json: &Value) -> Result<Config> {
        let architecture = json["model_type"].as_str().unwrap_or_default().to_string();
        if !ARCHITECTURES.contains(&architecture.as_str()) {
            let why = format!("is `{architecture}`; supported are {}", ARCHITECTURES.join(", "));
            return Err(key_error("model_type", why));
        }
        let config = match architecture.as_str() {
            "gpt2" => Config::gpt2(&Json(json))?,
            _ => Config::rotary(&Json(json), architecture)?,
        };
        if config.layers > MAX_LAYERS {
            return Err(key_error(
                "num_hidden_layers",
                format!("is {}, more than {MAX_LAYERS}", config.layers),
            ));
        }
        let experts = config.experts.as_ref().map_or(1, |e| e.count);
        let largest = config.vocabulary.max(config.hidden).max(config.heads * config.head);
        let elements = largest.checked_mul(config.width).and_then(|n| n.checked_mul(experts));
        if elements.is_none_or(|n| n > MAX_WEIGHT) {
            return Err(key_error(
                "hidden_size",
                format!("makes weights of more than {MAX_WEIGHT} elements"),
            ));
        }
        Ok(config)
    }

    /// Reads the configuration of Llama and of architectures with the same keys.
    fn rotary(json: &Json<'_>, architecture: String) -> Result<Config> {
        let (width, heads) = (json.size("hidden_size")?, json.size("num_attention_heads")?);
        let kv_heads = json.size_or("num_key_value_heads", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            let why = format!("is {kv_heads}, which does not divide {heads} heads");
            return Err(key_error("num_key_value_heads", why));
        }
        let head = json.size_or("head_dim", width / heads)?;
        let (gemma, gemma3) = (architecture.starts_with("gemma"), architecture == "gemma3_text");
        let sandwich = gemma3 || architecture == "gemma2";
        if gemma && json.flag("use_bidirectional_attention", false)? {
            return Err(key_error("use_bidirectional_attention", "is not supported"));
        }
        let layers = json.size("num_hidden_layers")?.min(MAX_LAYERS + 1);
        let context = json.size_or("max_position_embeddings", if gemma { 8192 } else { 2048 })?;
        let hidden = json.size("intermediate_size")?;
        let scaled_by = if sandwich { json.positive("query_pre_attn_scalar")? } else { None };
        let scale = scaled_by.unwrap_or(head as f64).sqrt().recip();
        let window = json.count("sliding_window", 1)?;
        let reach = |windowed: bool| Reach {
            window: window.filter(|_| windowed),
            rope: usize::from(gemma3 && windowed),
            scale,
        };
        let attention_bias =
            json.flag("attention_bias", false)? && !matches!(&*architecture, "mistral" | "mixtral");
        let qwen2 = architecture == "qwen2";
        let silu = json.activation(&["hidden_activation", "hidden_act"], Activation::GeluTanh);
        let caps = |key: &str| if sandwich { json.positive(key) } else { Ok(None) };
        Ok(Config {
            vocabulary: json.size("vocab_size")?,
            context,
            width,
            layers,
            heads,
            kv_heads,
            head,
            hidden,
            eps: json.positive("rms_norm_eps")?.unwrap_or(1e-6),
            norm: if gemma { Norms::OnePlusRms } else { Norms::Rms },
            activation: if gemma { silu? } else { json.activation(&["hidden_act"], Activation::Silu)? },
            gated: true,
            ropes: json.ropes(gemma3, head, context)?,
            attention: json.windowed(&architecture, layers)?.into_iter().map(reach).collect(),
            // Gemma 3 has this key but does not use it.
            attention_cap: caps("attn_logit_softcapping")?.filter(|_| !gemma3),
            logit_cap: caps("final_logit_softcapping")?,
            embedding_scale: if gemma { (width as f64).sqrt() } else { 1.0 },
            post_norms: sandwich,
            experts: json.experts(&architecture, layers, hidden)?,
            tied: json.flag("tie_word_embeddings", gemma)?,
            qkv_bias: qwen2 || attention_bias,
            out_bias: !qwen2 && attention_bias,
            mlp_bias: architecture == "llama" && json.flag("mlp_bias", false)?,
            qk_norm: gemma3 || architecture.starts_with("qwen3"),
            end: tokens(json.0, "eos_token_id")?,
            cache: CacheKind::F32,
            architecture,
        })
    }

    /// Reads the configuration of GPT-2, which has its own keys.
    fn gpt2(json: &Json<'_>) -> Result<Config> {
        let (width, heads) = (json.size("n_embd")?, json.size("n_head")?);
        if !width.is_multiple_of(heads) {
            return Err(key_error("n_head", format!("is {heads}, which does not divide the width {width}")));
        }
        if json.flag("add_cross_attention", false)? {
            return Err(key_error("add_cross_attention", "is not supported"));
        }
        let layers = json.size("n_layer")?.min(MAX_LAYERS + 1);
        let head = width / heads;
        let scale = if json.flag("scale_attn_weights", true)? { (head as f64).sqrt().recip() } else { 1.0 };
        let by_layer = json.flag("scale_attn_by_inverse_layer_idx", false)?;
        let reach = |i: usize| Reach {
            window: None,
            rope: 0,
            scale: if by_layer { scale / (i + 1) as f64 } else { scale },
        };
        Ok(Config {
            architecture: "gpt2".into(),
            vocabulary: json.size("vocab_size")?,
            context: json.size_or("n_positions", 1024)?,
            width,
            layers,
            heads,
            kv_heads: heads,
            head,
            hidden: json.size_or("n_inner", 4 * width)?,
            eps: json.positive("layer_norm_epsilon")?.unwrap_or(1e-5),
            norm: Norms::Layer,
            activation: json.activation(&["activation_function"], Activation::GeluTanh)?,
            gated: false,
            ropes: Vec::new(),
            attention: (0..layers).map(reach).collect(),
            attention_cap: None,
            logit_cap: None,
            embedding_scale: 1.0,
            post_norms: false,
            experts: None,
            tied: json.flag("tie_word_embeddings", true)?,
            qkv_bias: true,
            out_bias: true,
            mlp_bias: true,
            qk_norm: false,
            end: tokens(json.0, "eos_token_id")?,
            cache: CacheKind::F32,
        })
    }

    /// Returns the divisor that scaling applies to the rotation frequency of each pair of features, in layers
    /// without a window. Returns `None` if no frequency is scaled.
    pub fn rope_factors(&self) -> Option<Vec<f32>> {
        self.ropes.first().and_then(Rope::divisors)
    }
}

/// Reads a positive number. Returns `None` for null.
fn positive(key: &str, value: &Value) -> Result<Option<f64>> {
    match value {
        Value::Null => Ok(None),
        x => match x.as_f64().filter(|x| *x > 0.0 && x.is_finite()) {
            Some(x) => Ok(Some(x)),
            None => Err(key_error(key, format!("must be a positive number, and is {x}"))),
        },
    }
}

/// Reads a token or a list of tokens. Returns an empty list if the key is absent.
pub(crate) fn tokens(json: &Value, key: &str) -> Result<Vec<i64>> {
    let found = match &json[key] {
        Value::Null => Some(Vec::new()),
        Value::Array(all) => all.iter().map(Value::as_i64).collect(),
        one => one.as_i64().map(|token| vec![token]),
    };
    found.ok_or_else(|| key_error(key, format!("must be a token or a list of tokens, and is {}", json[key])))
}
