//! BERT and MiniLM encoders, and sentence encoders, which pool their states to one vector per text.

use crate::language::read_json;
use crate::tokenizer::Tokenizer;
use crate::weights::{Loader, Weights};
use gradus_ir::{DType, Error, Result};
use gradus_nn::file::{atomic, bytes_up_to};
use gradus_nn::{Embedding, Forward, LayerNorm, Linear, Module, module};
use gradus_tensor::{AttentionOptions, Compiled, Device, Tensor, compile, scaled_dot_product_attention};
use serde_json::Value as Json;
use std::path::Path;

/// A block: attention and a feed-forward network. The sum of each with its input is normalised.
pub struct Block {
    /// Projection to queries.
    pub query: Linear,
    /// Projection to keys.
    pub key: Linear,
    /// Projection to values.
    pub value: Linear,
    /// Projection from all heads to the width.
    pub attention_output: Linear,
    /// Norm after attention.
    pub attention_norm: LayerNorm,
    /// Projection to the hidden layer.
    pub intermediate: Linear,
    /// Projection from the hidden layer to the width.
    pub output: Linear,
    /// Norm after the network.
    pub output_norm: LayerNorm,
}
module!(Block { query, key, value, attention_output, attention_norm, intermediate, output, output_norm });

/// A BERT encoder.
pub struct Bert {
    /// Embeddings of tokens.
    pub words: Embedding,
    /// Embeddings of positions.
    pub positions: Embedding,
    /// Embeddings that distinguish the first and the second text of a pair.
    pub types: Embedding,
    /// Norm after the embeddings.
    pub norm: LayerNorm,
    /// The blocks.
    pub layers: Vec<Block>,
    /// Number of attention heads.
    pub heads: usize,
}
module!(Bert { words, positions, types, norm, layers; heads });

impl Bert {
    /// Builds the encoder that a `config.json` describes. Fails if weights do not fit.
    pub fn new(config: &Json, weights: &Weights) -> Result<Bert> {
        let size = |key: &str| match config[key].as_u64() {
            Some(n @ 1..=0x10_0000) => Ok(n as usize),
            _ => Err(Error::value(
                format!("`{key}` of the configuration"),
                "must be an integer from 1 to 1048576",
            )),
        };
        if config["model_type"] != "bert" {
            return Err(Error::value(format!("`model_type` {}", config["model_type"]), "must be \"bert\""));
        }
        if config["hidden_act"].as_str().is_some_and(|f| f != "gelu") {
            return Err(Error::value(format!("`hidden_act` {}", config["hidden_act"]), "must be \"gelu\""));
        }
        let (d, hidden, heads) =
            (size("hidden_size")?, size("intermediate_size")?, size("num_attention_heads")?);
        if !d.is_multiple_of(heads) {
            return Err(Error::value(format!("{heads} heads"), format!("do not divide the width of {d}")));
        }
        let eps = config["layer_norm_eps"].as_f64().filter(|e| *e > 0.0).unwrap_or(1e-12);
        // Names have a prefix in files of models with a task head.
        let plain = Loader::new(weights);
        let prefixed = !plain.has("embeddings.word_embeddings.weight");
        let mut l = if prefixed { plain.prefixed("bert.") } else { plain };
        let norm = |l: &mut Loader<'_>, name: &str| LayerNorm {
            weight: l.param(&format!("{name}.weight"), [d]),
            bias: Some(l.param(&format!("{name}.bias"), [d])),
            eps,
        };
        let linear = |l: &mut Loader<'_>, name: &str, outputs: usize, inputs: usize| Linear {
            weight: l.param(&format!("{name}.weight"), [outputs, inputs]),
            bias: Some(l.param(&format!("{name}.bias"), [outputs])),
        };
        let table = |l: &mut Loader<'_>, name: &str, rows: usize| Embedding {
            weight: l.param(&format!("embeddings.{name}_embeddings.weight"), [rows, d]),
        };
        let block = |l: &mut Loader<'_>, i: usize| {
            let at = |name: &str| format!("encoder.layer.{i}.{name}");
            Block {
                query: linear(l, &at("attention.self.query"), d, d),
                key: linear(l, &at("attention.self.key"), d, d),
                value: linear(l, &at("attention.self.value"), d, d),
                attention_output: linear(l, &at("attention.output.dense"), d, d),
                attention_norm: norm(l, &at("attention.output.LayerNorm")),
                intermediate: linear(l, &at("intermediate.dense"), hidden, d),
                output: linear(l, &at("output.dense"), d, hidden),
                output_norm: norm(l, &at("output.LayerNorm")),
            }
        };
        let bert = Bert {
            words: table(&mut l, "word", size("vocab_size")?),
            positions: table(&mut l, "position", size("max_position_embeddings")?),
            types: table(&mut l, "token_type", size("type_vocab_size")?),
            norm: norm(&mut l, "embeddings.LayerNorm"),
            layers: (0..size("num_hidden_layers")?).map(|i| block(&mut l, i)).collect(),
            heads,
        };
        // The pooler and task heads are not part of the encoder.
        let other = |n: &str| n.contains("pooler.") || n.contains("position_ids") || n.starts_with("cls.");
        l.finish(other)?;
        Ok(bert)
    }

    /// Computes the final states `[batch, time, width]` of tokens `[batch, time]`. The boolean mask is
    /// false for padding.
    pub fn states(&self, ids: &Tensor, mask: &Tensor) -> Tensor {
        let (batch, time) = (ids.dim(0), ids.dim(1));
        let at = Tensor::iota(DType::I64, [time], 0);
        let first = self.types.weight.narrow(0, 0, 1);
        let mut x = self.norm.forward(&(self.words.forward(ids) + self.positions.forward(&at) + first));
        let options =
            AttentionOptions { mask: Some(mask.reshape([batch, 1, 1, time])), ..AttentionOptions::default() };
        let by_head =
            |t: Tensor| t.reshape([batch, time, self.heads, t.dim(-1) / self.heads]).transpose(1, 2);
        for b in &self.layers {
            let [q, k, v] = [&b.query, &b.key, &b.value].map(|l| by_head(l.forward(&x)));
            let o = scaled_dot_product_attention(&q, &k, &v, &options).transpose(1, 2).flatten(2, 3);
            x = b.attention_norm.forward(&(&x + b.attention_output.forward(&o)));
            x = b.output_norm.forward(&(&x + b.output.forward(&b.intermediate.forward(&x).gelu())));
        }
        x
    }
}

/// The way in which the states of a text become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of all states.
    Mean,
    /// The state of the first token.
    First,
}

/// Lengths to which texts are padded; each length has its own plan.
const LENGTHS: &[usize] = &[16, 32, 64, 128, 256, 512];

/// A sentence encoder, which maps texts to vectors.
pub struct Embedder {
    /// The encoder.
    pub bert: Bert,
    /// Converts text to tokens.
    pub tokenizer: Tokenizer,
    /// The way in which states become one vector.
    pub pooling: Pooling,
    /// If true, vectors are scaled to length 1.
    pub normalize: bool,
    /// Largest number of tokens of a text; longer texts are truncated.
    pub most: usize,
    plans: Vec<(usize, Compiled)>,
}

impl Embedder {
    /// Loads a Hugging Face folder. Pooling and normalisation are read from the files of
    /// `sentence-transformers`, if present.
    pub fn load(folder: impl AsRef<Path>, device: Device) -> Result<Embedder> {
        let folder = folder.as_ref();
        if folder.is_file() {
            let why = "is not a folder; embeddings need a folder with config.json, tokenizer.json and safetensors files of a BERT model";
            return Err(atomic::failed(folder, why));
        }
        let optional = |name: &str| {
            let path = folder.join(name);
            if path.exists() { read_json(&path) } else { Ok(Json::Null) }
        };
        let failed = |e: Error| atomic::failed(folder, e);
        let config = read_json(&folder.join("config.json"))?;
        let tokenizer = bytes_up_to(&folder.join("tokenizer.json"), 256 << 20)?;
        let tokenizer = Tokenizer::from_json(&tokenizer).map_err(failed)?;
        let bert = Bert::new(&config, &Weights::of_folder(folder)?).map_err(failed)?;
        let pooling = optional("1_Pooling/config.json")?;
        let pooling = if pooling["pooling_mode_cls_token"] == true { Pooling::First } else { Pooling::Mean };
        let steps = optional("modules.json")?;
        let is_norm = |m: &Json| m["type"].as_str().is_some_and(|t| t.ends_with("Normalize"));
        let normalize = steps.as_array().is_some_and(|all| all.iter().any(is_norm));
        let stated = optional("sentence_bert_config.json")?["max_seq_length"].as_u64();
        let positions = bert.positions.weight.dim(0);
        let most = stated.map_or(positions, |n| (n as usize).clamp(2, positions));
        if !device.is_cpu() {
            bert.to(device)?;
        }
        Ok(Embedder { bert, tokenizer, pooling, normalize, most, plans: Vec::new() })
    }

    /// Computes the vector of a text.
    pub fn embed(&mut self, text: &str) -> Result<Vec<f32>> {
        let ids = self.tokenizer.encode(text)?;
        self.embed_tokens(ids)
    }

    /// Computes the vector of a text from its tokens, which must include the first and last special tokens.
    pub fn embed_tokens(&mut self, mut ids: Vec<i64>) -> Result<Vec<f32>> {
        let vocabulary = self.bert.words.weight.dim(0) as i64;
        if let Some(bad) = ids.iter().find(|t| !(0..vocabulary).contains(*t)) {
            return Err(Error::value(
                format!("token {bad}"),
                format!("must be from 0 to {}", vocabulary - 1),
            ));
        }
        if ids.len() > self.most {
            // Truncation keeps the last token, which marks the end of the text.
            let last = ids[ids.len() - 1];
            ids.truncate(self.most - 1);
            ids.push(last);
        }
        let count = ids.len();
        if count == 0 {
            return Err(Error::value("a text without tokens", "has no vector"));
        }
        let length = LENGTHS.iter().copied().find(|n| *n >= count).unwrap_or(count);
        let length = length.min(self.bert.positions.weight.dim(0));
        ids.resize(length, 0);
        let device = self.bert.device();
        let ids = Tensor::from_slice(&ids, [1, length]).to(device);
        let count = Tensor::from(count as i64);
        if !self.plans.iter().any(|(n, _)| *n == length) {
            let plan = compile(&[&ids, &count], |x| self.vector(&x[0], &x[1]))?;
            self.plans.push((length, plan));
        }
        let plan = self.plans.iter().find(|(n, _)| *n == length);
        let (_, plan) = plan.ok_or_else(|| Error::value("a plan", "is missing"))?;
        plan.run(&[&ids, &count])?.remove(0).to(Device::CPU).to_vec()
    }

    /// Computes the vector of the first `count` tokens of `[1, time]`.
    fn vector(&self, ids: &Tensor, count: &Tensor) -> Tensor {
        let mask = Tensor::iota(DType::I64, [1, ids.dim(1)], 1).lt(count);
        let states = self.bert.states(ids, &mask);
        let pooled = match self.pooling {
            Pooling::First => states.narrow(1, 0, 1).reshape([-1]),
            Pooling::Mean => {
                let sum = mask.unsqueeze(-1).select(&states, 0.0).sum([0, 1]);
                sum / count.to_dtype(DType::F32)
            }
        };
        match self.normalize {
            true => &pooled / pooled.square().sum(()).sqrt().maximum(1e-12),
            false => pooled,
        }
    }
}
