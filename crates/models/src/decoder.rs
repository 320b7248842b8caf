//! Llama and its relatives: blocks of attention and a gated network, each behind a norm, with rotary positions.
//!
//! Fields have the names of Hugging Face's weights. What differs between Llama, Mistral, Qwen2 and Qwen3 is in the [`Config`].

use crate::config::Config;
use crate::weights::{Loader, Weights};
use gradus_ir::{DType, Error, Result};
use gradus_nn::{Buffer, Embedding, Forward, Linear, Module, Param, RmsNorm, module};
use gradus_tensor::{AttentionOptions, Device, Tensor, scaled_dot_product_attention};

/// Attention with grouped heads.
pub struct Attention {
    /// Queries.
    pub q_proj: Linear,
    /// Keys.
    pub k_proj: Linear,
    /// Values.
    pub v_proj: Linear,
    /// From all heads to the width.
    pub o_proj: Linear,
    /// Of queries, by head.
    pub q_norm: Option<RmsNorm>,
    /// Of keys, by head.
    pub k_norm: Option<RmsNorm>,
}
module!(Attention { q_proj, k_proj, v_proj, o_proj, q_norm, k_norm });

/// The network of a block: `down(silu(gate(x)) · up(x))`.
pub struct Mlp {
    /// What lets through.
    pub gate_proj: Linear,
    /// Into the hidden layer.
    pub up_proj: Linear,
    /// Out of it.
    pub down_proj: Linear,
}
module!(Mlp { gate_proj, up_proj, down_proj });

/// A block.
pub struct Block {
    /// Attention.
    pub self_attn: Attention,
    /// The network.
    pub mlp: Mlp,
    /// Before attention.
    pub input_layernorm: RmsNorm,
    /// Before the network.
    pub post_attention_layernorm: RmsNorm,
}
module!(Block { self_attn, mlp, input_layernorm, post_attention_layernorm });

/// Everything but the output projection.
pub struct Body {
    /// Embeddings of tokens.
    pub embed_tokens: Embedding,
    /// The blocks.
    pub layers: Vec<Block>,
    /// The last norm.
    pub norm: RmsNorm,
}
module!(Body { embed_tokens, layers, norm });

/// The model.
pub struct Decoder {
    /// Everything but the output projection.
    pub model: Body,
    /// Logits; absent where the token embedding serves.
    pub lm_head: Option<Linear>,
    /// Sizes and variations.
    pub config: Config,
}
module!(Decoder { model, lm_head; config });

/// Keys and values of the positions so far, with capacity for a fixed number, so that one plan serves every position.
pub struct KvCache {
    /// Keys of each layer, `[1, kv_heads, capacity, head]`.
    pub keys: Vec<Buffer>,
    /// Values of each layer.
    pub values: Vec<Buffer>,
    /// How many positions are filled.
    pub position: Buffer,
    /// Cosines of each position's rotations, `[capacity, head / 2]`.
    pub cos: Buffer,
    /// Sines.
    pub sin: Buffer,
    /// Most positions.
    pub capacity: usize,
}
module!(KvCache { keys, values, position, cos, sin; capacity });

/// Where a piece of text is: rotations of its positions, and what each sees.
struct Place {
    cos: Tensor,
    sin: Tensor,
    /// Positions, if there is a cache to write them to.
    at: Option<Tensor>,
    seen: Option<Tensor>,
}

impl Decoder {
    /// Builds the model from weights by name, or lists those that do not fit.
    pub fn new(config: Config, weights: &Weights) -> Result<Decoder> {
        let mut l = Loader::new(weights);
        let c = &config;
        let (d, q, kv) = (c.width, c.heads * c.head, c.kv_heads * c.head);
        let eps = Some(c.eps);
        let norm = |l: &mut Loader<'_>, name: &str, n: usize| RmsNorm { weight: l.param(name, [n]), eps };
        let block = |l: &mut Loader<'_>, i: usize| {
            let name = |end: &str| format!("model.layers.{i}.{end}");
            let linear = |l: &mut Loader<'_>, end: &str, outputs, inputs, bias: bool| Linear {
                weight: l.param(&name(&format!("{end}.weight")), [outputs, inputs]),
                bias: bias.then(|| l.param(&name(&format!("{end}.bias")), [outputs])),
            };
            let by_head = |l: &mut Loader<'_>, end: &str| c.qk_norm.then(|| norm(l, &name(end), c.head));
            Block {
                self_attn: Attention {
                    q_proj: linear(l, "self_attn.q_proj", q, d, c.qkv_bias),
                    k_proj: linear(l, "self_attn.k_proj", kv, d, c.qkv_bias),
                    v_proj: linear(l, "self_attn.v_proj", kv, d, c.qkv_bias),
                    o_proj: linear(l, "self_attn.o_proj", d, q, c.out_bias),
                    q_norm: by_head(l, "self_attn.q_norm.weight"),
                    k_norm: by_head(l, "self_attn.k_norm.weight"),
                },
                mlp: Mlp {
                    gate_proj: linear(l, "mlp.gate_proj", c.hidden, d, false),
                    up_proj: linear(l, "mlp.up_proj", c.hidden, d, false),
                    down_proj: linear(l, "mlp.down_proj", d, c.hidden, false),
                },
                input_layernorm: norm(l, &name("input_layernorm.weight"), d),
                post_attention_layernorm: norm(l, &name("post_attention_layernorm.weight"), d),
            }
        };
        let model = Body {
            embed_tokens: Embedding { weight: l.param("model.embed_tokens.weight", [c.vocabulary, d]) },
            layers: (0..c.layers).map(|i| block(&mut l, i)).collect(),
            norm: norm(&mut l, "model.norm.weight", d),
        };
        let head = |weight: Param| Linear { weight, bias: None };
        let lm_head = (!c.tied).then(|| head(l.param("lm_head.weight", [c.vocabulary, d])));
        // Older files keep the rotations, which follow from the configuration; tied heads may be stored all the same.
        let tied = c.tied;
        l.finish(|name| name.ends_with("rotary_emb.inv_freq") || (tied && name == "lm_head.weight"))?;
        Ok(Decoder { model, lm_head, config })
    }

    /// Cosines and sines of the rotations of the first positions. Angles are computed in `f64`, as positions may be large.
    fn rotations(&self, positions: usize) -> (Tensor, Tensor) {
        let rates = &self.config.rates;
        let angles = || (0..positions).flat_map(|p| rates.iter().map(move |rate| p as f64 * rate));
        let table = |f: fn(f64) -> f64| {
            let all: Vec<f32> = angles().map(|a| f(a) as f32).collect();
            Tensor::from_slice(&all, [positions, rates.len()])
        };
        (table(f64::cos), table(f64::sin))
    }

    /// A cache for this many positions, on the model's device.
    pub fn cache(&self, capacity: usize) -> KvCache {
        let c = &self.config;
        let device = self.device();
        let empty = Tensor::zeros([1, c.kv_heads, capacity, c.head]).to(device);
        let each = || (0..c.layers).map(|_| Buffer::new(&empty)).collect();
        let (cos, sin) = self.rotations(capacity);
        let there = |t: &Tensor| Buffer::new(&t.to(device));
        let position = Buffer::new(&Tensor::from(0i64));
        KvCache { keys: each(), values: each(), position, cos: there(&cos), sin: there(&sin), capacity }
    }

    /// The last hidden states of all tokens `[1, time]`. With a cache the tokens follow those that it holds; their keys and
    /// values are written to it, and its position stays where it was.
    fn hidden(&self, ids: &Tensor, cache: Option<&KvCache>) -> Tensor {
        let time = ids.dim(1);
        let i = Tensor::iota(DType::I64, [time], 0);
        let place = match cache {
            None => {
                let (cos, sin) = self.rotations(time);
                let device: Device = self.device();
                Place { cos: cos.to(device), sin: sin.to(device), at: None, seen: None }
            }
            Some(cache) => {
                let at = &*cache.position + i;
                let (row, keys) = (at.unsqueeze(1), Tensor::iota(DType::I64, [1, cache.capacity], 1));
                let mut seen = keys.le(&row);
                if let Some(w) = self.config.window {
                    seen = seen.and(&(&row - &keys).lt(w as i64));
                }
                let rows = |t: &Tensor| t.index_select(0, &at);
                Place { cos: rows(&cache.cos), sin: rows(&cache.sin), at: Some(at), seen: Some(seen) }
            }
        };
        let mut x = self.model.embed_tokens.forward(ids);
        for (i, block) in self.model.layers.iter().enumerate() {
            let own = cache.and_then(|c| Some((c.keys.get(i)?, c.values.get(i)?)));
            let attended = self.attention(&block.self_attn, &block.input_layernorm.forward(&x), &place, own);
            x = x + attended;
            let (h, mlp) = (block.post_attention_layernorm.forward(&x), &block.mlp);
            x = x + mlp.down_proj.forward(&(mlp.gate_proj.forward(&h).silu() * mlp.up_proj.forward(&h)));
        }
        self.model.norm.forward(&x)
    }

    fn attention(
        &self,
        a: &Attention,
        x: &Tensor,
        place: &Place,
        cache: Option<(&Buffer, &Buffer)>,
    ) -> Tensor {
        let c = &self.config;
        let by_head = |t: Tensor, heads: usize, norm: Option<&RmsNorm>| {
            let t = t.reshape([x.dim(0), x.dim(1), heads, c.head]);
            norm.map_or(t.clone(), |n| n.forward(&t)).transpose(1, 2)
        };
        let q = by_head(a.q_proj.forward(x), c.heads, a.q_norm.as_ref()).rope_with(&place.cos, &place.sin);
        let k = by_head(a.k_proj.forward(x), c.kv_heads, a.k_norm.as_ref()).rope_with(&place.cos, &place.sin);
        let v = by_head(a.v_proj.forward(x), c.kv_heads, None);
        let mut options =
            AttentionOptions { enable_gqa: c.kv_heads != c.heads, ..AttentionOptions::default() };
        let (keys, values) = match (cache, &place.at) {
            (Some((keys, values)), Some(at)) => {
                options.mask = place.seen.clone();
                let (new_keys, new_values) = (keys.index_copy(2, at, &k), values.index_copy(2, at, &v));
                for (cell, value) in [(keys, &new_keys), (values, &new_values)] {
                    if let Err(e) = cell.set_(value) {
                        return Tensor::failed(e);
                    }
                }
                (new_keys, new_values)
            }
            _ => {
                options.causal = true;
                options.window = c.window;
                (k, v)
            }
        };
        let o = scaled_dot_product_attention(&q, &keys, &values, &options).transpose(1, 2).flatten(2, 3);
        a.o_proj.forward(&o)
    }

    fn head(&self, x: &Tensor) -> Tensor {
        match &self.lm_head {
            Some(head) => head.forward(x),
            None => gradus_tensor::func::linear(x, &self.model.embed_tokens.weight, None),
        }
    }

    /// Logits of every position `[batch, time, vocabulary]`, for tokens `[batch, time]`.
    pub fn logits(&self, ids: &Tensor) -> Tensor {
        if ids.dim(1) > self.config.context {
            let why = format!("are more than the model's context of {}", self.config.context);
            return Tensor::failed(Error::value(format!("{} tokens", ids.dim(1)), why));
        }
        self.head(&self.hidden(ids, None))
    }

    /// Logits `[vocabulary]` behind the first `count` tokens of `[1, time]`, which follow those in the cache; the cache then
    /// holds these too. Tokens from `count` on are padding.
    pub fn step(&self, ids: &Tensor, count: &Tensor, cache: &KvCache) -> Tensor {
        let last = (count - 1i64).reshape([1]);
        let x = self.hidden(ids, Some(cache)).index_select(1, &last);
        let logits = self.head(&x).reshape([-1]);
        match cache.position.set_(&(&*cache.position + count)) {
            Ok(()) => logits,
            Err(e) => Tensor::failed(e),
        }
    }
}
