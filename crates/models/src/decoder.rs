//! Llama and its relatives: blocks of attention and a gated network, each behind a norm, with rotary positions.
//!
//! Fields have the names of Hugging Face's weights. What differs between Llama, Mistral, Qwen2 and Qwen3 is in the [`Config`].

use crate::config::Config;
use crate::matrix::{Matrix, Projection, Table};
use crate::weights::{Loader, Weights};
use gradus_ir::{Aval, DType, Error, Result};
use gradus_nn::{Buffer, Forward, Module, RmsNorm, module};
use gradus_tensor::{
    AttentionOptions, Device, Slots, Tensor, cache_write, cached_attention, embedding,
    scaled_dot_product_attention,
};

/// Attention with grouped heads.
pub struct Attention {
    /// Queries.
    pub q_proj: Projection,
    /// Keys.
    pub k_proj: Projection,
    /// Values.
    pub v_proj: Projection,
    /// From all heads to the width.
    pub o_proj: Projection,
    /// Of queries, by head.
    pub q_norm: Option<RmsNorm>,
    /// Of keys, by head.
    pub k_norm: Option<RmsNorm>,
}
module!(Attention { q_proj, k_proj, v_proj, o_proj, q_norm, k_norm });

/// The network of a block: `down(silu(gate(x)) · up(x))`.
pub struct Mlp {
    /// What lets through.
    pub gate_proj: Projection,
    /// Into the hidden layer.
    pub up_proj: Projection,
    /// Out of it.
    pub down_proj: Projection,
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
    pub embed_tokens: Table,
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
    pub lm_head: Option<Projection>,
    /// Sizes and variations.
    pub config: Config,
}
module!(Decoder { model, lm_head; config });

/// Keys and values of the positions so far of several texts, each in a slot, with capacity for a fixed number, so that one plan
/// serves every position.
pub struct KvCache {
    /// Keys of each layer, `[slots, kv_heads, capacity, head]`.
    pub keys: Vec<Buffer>,
    /// Values of each layer.
    pub values: Vec<Buffer>,
    /// Cosines of each position's rotations, `[capacity, head / 2]`.
    pub cos: Buffer,
    /// Sines.
    pub sin: Buffer,
    /// Most positions of a slot.
    pub capacity: usize,
}
module!(KvCache { keys, values, cos, sin; capacity });

/// Where texts `[texts, time]` are in a cache: one integer for each text.
pub struct Texts<'a> {
    /// The slot of each text.
    pub slots: &'a Tensor,
    /// Positions that the slot holds already, which the text follows.
    pub first: &'a Tensor,
    /// Tokens of the text; those from here on are padding.
    pub count: &'a Tensor,
    /// The cache.
    pub cache: &'a KvCache,
}

/// Several texts in each row of `[batch, time]`, for training: texts do not see each other.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The number of the text that each token belongs to, `[batch, time]`.
    pub segments: Tensor,
    /// The position of each token in its text, `[batch, time]`.
    pub positions: Tensor,
}

/// Rotations of the positions of tokens.
struct Rotations {
    cos: Tensor,
    sin: Tensor,
    /// Which keys a query may see besides those that causality hides; all without it.
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
            let linear = |l: &mut Loader<'_>, end: &str, outputs, inputs, bias: bool| {
                let weight = l.matrix(&name(&format!("{end}.weight")), [outputs, inputs]);
                Projection::new(weight, bias.then(|| l.param(&name(&format!("{end}.bias")), [outputs])))
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
            embed_tokens: Table { weight: l.matrix("model.embed_tokens.weight", [c.vocabulary, d]) },
            layers: (0..c.layers).map(|i| block(&mut l, i)).collect(),
            norm: norm(&mut l, "model.norm.weight", d),
        };
        let head = |weight: Matrix| Projection::new(weight, None);
        let lm_head = (!c.tied).then(|| head(l.matrix("lm_head.weight", [c.vocabulary, d])));
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

    /// A cache of `slots` texts of up to `capacity` positions, on the model's device.
    pub fn cache(&self, slots: usize, capacity: usize) -> KvCache {
        let c = &self.config;
        let device = self.device();
        let aval = Aval::new(DType::F32, [slots, c.kv_heads, capacity, c.head]);
        let each = || (0..c.layers).map(|_| Buffer::new(&Tensor::zeroed(&aval).to(device))).collect();
        let (cos, sin) = self.rotations(capacity);
        let there = |t: &Tensor| Buffer::new(&t.to(device));
        KvCache { keys: each(), values: each(), cos: there(&cos), sin: there(&sin), capacity }
    }

    /// The hidden states of all tokens `[texts, time]` before the last norm. With a cache the tokens follow those that their
    /// slots hold, and their keys and values are written to it.
    fn hidden(&self, ids: &Tensor, texts: Option<&Texts<'_>>, packed: Option<&Packed>) -> Tensor {
        let time = ids.dim(1);
        let rotations = match texts {
            None => {
                let (cos, sin) = self.rotations(time);
                let device: Device = self.device();
                let [cos, sin] = [cos, sin].map(|t| match packed {
                    Some(packed) => embedding(&packed.positions, &t.to(device), None).unsqueeze(1),
                    None => t.to(device),
                });
                let seen = packed.map(|p| p.segments.unsqueeze(2).eq(&p.segments.unsqueeze(1)).unsqueeze(1));
                Rotations { cos, sin, seen }
            }
            Some(Texts { first, cache, .. }) => {
                let at = first.unsqueeze(1) + Tensor::iota(DType::I64, [1, time], 1);
                // Padding may be behind the last position.
                let at = at.clamp(0.0, (cache.capacity - 1) as f64);
                let rows = |t: &Tensor| embedding(&at, t, None).unsqueeze(2);
                Rotations { cos: rows(&cache.cos), sin: rows(&cache.sin), seen: None }
            }
        };
        let mut x = self.model.embed_tokens.forward(ids);
        for (i, block) in self.model.layers.iter().enumerate() {
            let h = block.input_layernorm.forward(&x);
            let own = texts.and_then(|t| Some((t, t.cache.keys.get(i)?, t.cache.values.get(i)?)));
            x = x + match own {
                Some(own) => self.attention_cached(&block.self_attn, &h, &rotations, own),
                None => self.attention(&block.self_attn, &h, &rotations),
            };
            let (h, mlp) = (block.post_attention_layernorm.forward(&x), &block.mlp);
            x = x + mlp.down_proj.forward(&(mlp.gate_proj.forward(&h).silu() * mlp.up_proj.forward(&h)));
        }
        x
    }

    /// Queries, keys and values by head, `[texts, time, heads, head]`.
    fn by_head(&self, a: &Attention, x: &Tensor) -> [Tensor; 3] {
        let c = &self.config;
        let split = |t: Tensor, heads: usize, norm: Option<&RmsNorm>| {
            let t = t.reshape([x.dim(0), x.dim(1), heads, c.head]);
            norm.map_or(t.clone(), |n| n.forward(&t))
        };
        [
            split(a.q_proj.forward(x), c.heads, a.q_norm.as_ref()),
            split(a.k_proj.forward(x), c.kv_heads, a.k_norm.as_ref()),
            split(a.v_proj.forward(x), c.kv_heads, None),
        ]
    }

    fn attention(&self, a: &Attention, x: &Tensor, r: &Rotations) -> Tensor {
        let c = &self.config;
        let [q, k, v] = self.by_head(a, x).map(|t| t.transpose(1, 2));
        let [q, k] = [q, k].map(|t| t.rope_with(&r.cos, &r.sin));
        let options = AttentionOptions {
            enable_gqa: c.kv_heads != c.heads,
            causal: true,
            window: c.window,
            mask: r.seen.clone(),
            ..AttentionOptions::default()
        };
        let o = scaled_dot_product_attention(&q, &k, &v, &options).transpose(1, 2).flatten(2, 3);
        a.o_proj.forward(&o)
    }

    fn attention_cached(
        &self,
        a: &Attention,
        x: &Tensor,
        r: &Rotations,
        (texts, keys, values): (&Texts<'_>, &Buffer, &Buffer),
    ) -> Tensor {
        let [q, k, v] = self.by_head(a, x);
        let [q, k] = [q, k].map(|t| t.rope_with(&r.cos, &r.sin));
        let at = Slots { slots: texts.slots, first: texts.first };
        let new = [(keys, &k), (values, &v)].map(|(cell, t)| cache_write(cell, t, at, texts.count));
        for (cell, value) in [keys, values].into_iter().zip(&new) {
            if let Err(e) = cell.set_(value) {
                return Tensor::failed(e);
            }
        }
        let o = cached_attention(&q, (&new[0], &new[1]), at, (None, self.config.window));
        a.o_proj.forward(&o.flatten(2, 3))
    }

    /// Logits of hidden states that the last norm has normalised.
    pub fn head(&self, x: &Tensor) -> Tensor {
        match &self.lm_head {
            Some(head) => head.forward(x),
            None => self.model.embed_tokens.weight.dot(x),
        }
    }

    /// Logits of every position `[batch, time, vocabulary]`, for tokens `[batch, time]`.
    pub fn logits(&self, ids: &Tensor) -> Tensor {
        self.head(&self.states(ids, None))
    }

    /// Hidden states of every position after the last norm, `[batch, time, width]`, for tokens `[batch, time]`. Each row is one
    /// text, unless the rows are packed.
    pub fn states(&self, ids: &Tensor, packed: Option<&Packed>) -> Tensor {
        if ids.dim(1) > self.config.context {
            let why = format!("are more than the model's context of {}", self.config.context);
            return Tensor::failed(Error::value(format!("{} tokens", ids.dim(1)), why));
        }
        self.model.norm.forward(&self.hidden(ids, None, packed))
    }

    /// Logits `[texts, vocabulary]` behind the first `count` tokens of each text of `[texts, time]`, which follow those that its
    /// slot holds; the slot then holds these too.
    pub fn step(&self, ids: &Tensor, texts: &Texts<'_>) -> Tensor {
        let mut x = self.hidden(ids, Some(texts), None);
        let time = ids.dim(1);
        // A sum over one token that is not zero: taking a row by its number could fail, and then no cache could be
        // written in place.
        let last = Tensor::iota(DType::I64, [1, time, 1], 1).eq(&(texts.count - 1i64).reshape([-1, 1, 1]));
        x = if time == 1 { x.reshape([x.dim(0), x.dim(2)]) } else { last.select(&x, 0.0).sum(1) };
        self.head(&self.model.norm.forward(&x))
    }
}
