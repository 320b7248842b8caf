//! Decoders of the Llama family: blocks of attention and a feed-forward network, with norms, and rotary or
//! learned positions.
//!
//! Fields have the names of Hugging Face's weights of Llama. Differences between architectures are in the
//! [`Config`]; networks are in `network.rs`, norms in `norm.rs`. GPT-2, whose weights have other names, is
//! loaded into this form by `gpt2.rs`.

use crate::config::{Config, Reach};
use crate::gpt2;
use crate::matrix::{Matrix, Projection, Table};
use crate::network::Network;
use crate::norm::Norm;
use crate::weights::{Loader, Weights};
use gradus_ir::{Aval, DType, Error, Result};
use gradus_nn::{Buffer, Forward, Module, module};
use gradus_tensor::{
    AttentionOptions, CachedOptions, Device, Ix, Tensor, TextBlocks, cache_write, cached_attention,
    embedding, scaled_dot_product_attention,
};

/// Attention with grouped query heads: several query heads may share one head of keys and values.
pub struct Attention {
    /// Projection to queries.
    pub q_proj: Projection,
    /// Projection to keys.
    pub k_proj: Projection,
    /// Projection to values.
    pub v_proj: Projection,
    /// Projection from all heads to the width.
    pub o_proj: Projection,
    /// Norm of queries, for each head.
    pub q_norm: Option<Norm>,
    /// Norm of keys, for each head.
    pub k_norm: Option<Norm>,
}
module!(Attention { q_proj, k_proj, v_proj, o_proj, q_norm, k_norm });

/// A block of the decoder.
pub struct Block {
    /// Attention.
    pub self_attn: Attention,
    /// The feed-forward network.
    pub mlp: Network,
    /// Norm before attention.
    pub input_layernorm: Norm,
    /// Norm before the network; if the next two norms are present, norm of the result of attention instead.
    pub post_attention_layernorm: Norm,
    /// Norm before the network, in architectures that also normalise results.
    pub pre_feedforward_layernorm: Option<Norm>,
    /// Norm of the result of the network.
    pub post_feedforward_layernorm: Option<Norm>,
}
module!(Block {
    self_attn,
    mlp,
    input_layernorm,
    post_attention_layernorm,
    pre_feedforward_layernorm,
    post_feedforward_layernorm
});

/// The decoder without its output projection.
pub struct Body {
    /// Embeddings of tokens.
    pub embed_tokens: Table,
    /// Embeddings of positions, if these are learned.
    pub embed_positions: Option<Table>,
    /// The blocks.
    pub layers: Vec<Block>,
    /// The norm after the last block.
    pub norm: Norm,
}
module!(Body { embed_tokens, embed_positions, layers, norm });

/// A language model of the Llama family. See the [module](self).
pub struct Decoder {
    /// The decoder without its output projection.
    pub model: Body,
    /// The projection to logits; `None` if the token embedding is used for it.
    pub lm_head: Option<Projection>,
    /// Sizes and variations of the architecture.
    pub config: Config,
}
module!(Decoder { model, lm_head; config });

/// Positions of a block of a cache.
pub const BLOCK: usize = 64;

/// Cached keys and values of texts, in blocks of [`BLOCK`] positions. The number of positions of a text is
/// limited, so that one plan serves all of them.
pub struct KvCache {
    /// Keys of each layer, `[blocks, kv_heads, BLOCK, head]`; the last axis counts bytes if they are
    /// quantised.
    pub keys: Vec<Buffer>,
    /// Values of each layer, as `keys`.
    pub values: Vec<Buffer>,
    /// Cosines of the rotations at each position, `[positions, head / 2]`, for each kind of rotation.
    pub cos: Vec<Buffer>,
    /// Sines of the rotations, as `cos`.
    pub sin: Vec<Buffer>,
    /// Largest number of positions of a text.
    pub positions: usize,
}
module!(KvCache { keys, values, cos, sin; positions });

/// The location of texts `[texts, time]` in a cache.
pub struct Texts<'a> {
    /// The blocks of each text, `[texts, blocks]`, in the order of positions.
    pub table: &'a Tensor,
    /// Number of positions of each text that the cache already holds, `[texts]`; the tokens follow them.
    pub first: &'a Tensor,
    /// Number of tokens of each text, `[texts]`; later tokens of its row are padding.
    pub count: &'a Tensor,
    /// The cache.
    pub cache: &'a KvCache,
}

/// Layout of rows `[batch, time]` that hold several texts each, for training. Texts of a row do not attend to
/// each other.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The index of the text that each token belongs to, `[batch, time]`.
    pub segments: Tensor,
    /// The position of each token in its text, `[batch, time]`.
    pub positions: Tensor,
}

/// Cosines and sines of one kind of rotation, at the positions of the tokens.
struct Rotations {
    cos: Tensor,
    sin: Tensor,
}

impl Decoder {
    /// Builds the model from weights by name. The error lists all weights that do not fit.
    pub fn new(config: Config, weights: &Weights) -> Result<Decoder> {
        if config.architecture == "gpt2" {
            return gpt2::load(config, weights);
        }
        let mut l = Loader::new(weights);
        let c = &config;
        let (d, q, kv) = (c.width, c.heads * c.head, c.kv_heads * c.head);
        let norm = |l: &mut Loader<'_>, name: &str, n: usize| Norm::load(l, c.norm, name, n, c.eps);
        let block = |l: &mut Loader<'_>, i: usize| {
            let name = |end: &str| format!("model.layers.{i}.{end}");
            let linear = |l: &mut Loader<'_>, end: &str, outputs, inputs, bias: bool| {
                let weight = l.matrix(&name(&format!("{end}.weight")), [outputs, inputs]);
                Projection::new(weight, bias.then(|| l.param(&name(&format!("{end}.bias")), [outputs])))
            };
            let by_head = |l: &mut Loader<'_>, end: &str| c.qk_norm.then(|| norm(l, &name(end), c.head));
            let post = |l: &mut Loader<'_>, end: &str| c.post_norms.then(|| norm(l, &name(end), d));
            Block {
                self_attn: Attention {
                    q_proj: linear(l, "self_attn.q_proj", q, d, c.qkv_bias),
                    k_proj: linear(l, "self_attn.k_proj", kv, d, c.qkv_bias),
                    v_proj: linear(l, "self_attn.v_proj", kv, d, c.qkv_bias),
                    o_proj: linear(l, "self_attn.o_proj", d, q, c.out_bias),
                    q_norm: by_head(l, "self_attn.q_norm"),
                    k_norm: by_head(l, "self_attn.k_norm"),
                },
                mlp: Network::load(l, c, i),
                input_layernorm: norm(l, &name("input_layernorm"), d),
                post_attention_layernorm: norm(l, &name("post_attention_layernorm"), d),
                pre_feedforward_layernorm: post(l, "pre_feedforward_layernorm"),
                post_feedforward_layernorm: post(l, "post_feedforward_layernorm"),
            }
        };
        let model = Body {
            embed_tokens: Table { weight: l.matrix("model.embed_tokens.weight", [c.vocabulary, d]) },
            embed_positions: None,
            layers: (0..c.layers).map(|i| block(&mut l, i)).collect(),
            norm: norm(&mut l, "model.norm", d),
        };
        let head = |weight: Matrix| Projection::new(weight, None);
        let lm_head = (!c.tied).then(|| head(l.matrix("lm_head.weight", [c.vocabulary, d])));
        // Older files store the rotary frequencies, which follow from the configuration. Files of tied models
        // may store a head.
        let tied = c.tied;
        l.finish(|name| name.ends_with("rotary_emb.inv_freq") || (tied && name == "lm_head.weight"))?;
        Ok(Decoder { model, lm_head, config })
    }

    /// Cosines and sines of the rotations of the first `positions` positions, for each kind of rotation.
    /// Angles are computed in `f64`, because `f32` is too coarse for large positions.
    fn rotations(&self, positions: usize) -> Vec<(Tensor, Tensor)> {
        let tables = self.config.ropes.iter().map(|rope| {
            let angles = || (0..positions).flat_map(|p| rope.rates.iter().map(move |rate| p as f64 * rate));
            let table = |f: fn(f64) -> f64| {
                let all: Vec<f32> = angles().map(|a| (rope.factor * f(a)) as f32).collect();
                Tensor::from_slice(&all, [positions, rope.rates.len()])
            };
            (table(f64::cos), table(f64::sin))
        });
        tables.collect()
    }

    /// Makes a cache of `blocks` blocks for texts of up to `positions` positions, on the model's device.
    pub fn cache(&self, blocks: usize, positions: usize) -> KvCache {
        let each = || (0..self.config.layers).map(|_| Buffer::new(&self.empty_blocks(blocks))).collect();
        let (cos, sin) = self.rotation_tables(positions);
        KvCache { keys: each(), values: each(), cos, sin, positions }
    }

    /// Increases the number of positions that a text may have.
    pub fn lengthen_cache(&self, cache: &mut KvCache, positions: usize) {
        cache.positions = positions;
        (cache.cos, cache.sin) = self.rotation_tables(positions);
    }

    /// Increases the number of blocks of a cache, and keeps its content.
    pub fn grow_cache(&self, cache: &mut KvCache, blocks: usize) {
        for own in cache.keys.iter_mut().chain(&mut cache.values) {
            let more = blocks.saturating_sub(own.dim(0));
            let all = self.empty_blocks(blocks);
            // A patch writes only the old blocks. On the CPU the others then take no memory before they are used.
            let head = [Ix::Range(None, Some(own.dim(0) as isize), 1)];
            let patch = all.patch_at(&head, own, usize::MAX);
            let mut grown = all;
            if !patch.is_some_and(|patch| patch.write(&mut grown)) {
                grown = Tensor::cat(&[own, &self.empty_blocks(more)], 0);
            }
            *own = Buffer::new(&grown);
        }
    }

    /// Copies a block of a cache. Both numbers are `[1, 1]`. Returns the number of copied positions.
    pub fn copy_block(&self, cache: &KvCache, from: &Tensor, to: &Tensor) -> Tensor {
        let first = Tensor::iota(DType::I64, [1], 0);
        let count = &first + BLOCK as i64;
        for cell in cache.keys.iter().chain(&cache.values) {
            // The number is clamped, because a plan with ops that may fail cannot write in place.
            let from = from.reshape([1]).clamp(0.0, (cell.dim(0) - 1) as f64);
            let rows = cell.index_select(0, &from).transpose(1, 2);
            let new = cache_write(cell, &rows, TextBlocks { table: to, first: &first }, &count);
            if let Err(e) = cell.set_(&new) {
                return Tensor::failed(e);
            }
        }
        count
    }

    /// Makes zeroed keys or values of a layer.
    fn empty_blocks(&self, count: usize) -> Tensor {
        let c = &self.config;
        match c.cache.row(c.head) {
            Ok((dtype, row)) => {
                Tensor::zeroed(&Aval::new(dtype, [count, c.kv_heads, BLOCK, row])).to(self.device())
            }
            Err(e) => Tensor::failed(e),
        }
    }

    fn rotation_tables(&self, positions: usize) -> (Vec<Buffer>, Vec<Buffer>) {
        let there = |t: Tensor| Buffer::new(&t.to(self.device()));
        self.rotations(positions).into_iter().map(|(cos, sin)| (there(cos), there(sin))).unzip()
    }

    /// Hidden states of all tokens `[texts, time]` before the last norm. With a cache, the tokens follow
    /// those that the cache holds, and their keys and values are written to the cache.
    fn hidden(&self, ids: &Tensor, texts: Option<&Texts<'_>>, packed: Option<&Packed>) -> Tensor {
        let (c, time) = (&self.config, ids.dim(1));
        // Positions of padding may exceed those of the cache.
        let at = texts.map(|t| {
            let at = t.first.unsqueeze(1) + Tensor::iota(DType::I64, [1, time], 1);
            at.clamp(0.0, (t.cache.positions - 1) as f64)
        });
        let rotations: Vec<Rotations> = match texts.zip(at.as_ref()) {
            None => {
                let device: Device = self.device();
                let rows = |t: Tensor| match packed {
                    Some(packed) => embedding(&packed.positions, &t.to(device), None).unsqueeze(1),
                    None => t.to(device),
                };
                let tables = self.rotations(time).into_iter();
                tables.map(|(cos, sin)| Rotations { cos: rows(cos), sin: rows(sin) }).collect()
            }
            Some((Texts { cache, .. }, at)) => {
                let rows = |t: &Tensor| embedding(at, t, None).unsqueeze(2);
                let tables = cache.cos.iter().zip(&cache.sin);
                tables.map(|(cos, sin)| Rotations { cos: rows(cos), sin: rows(sin) }).collect()
            }
        };
        // The mask that hides tokens of other texts of the same row.
        let seen = packed.map(|p| p.segments.unsqueeze(2).eq(&p.segments.unsqueeze(1)).unsqueeze(1));
        let mut x = self.model.embed_tokens.forward(ids);
        if c.embedding_scale != 1.0 {
            x *= c.embedding_scale;
        }
        if let Some(positions) = &self.model.embed_positions {
            let own = packed.map(|p| p.positions.clone());
            let at = at.or(own).unwrap_or_else(|| Tensor::iota(DType::I64, [1, time], 1));
            x = x + positions.forward(&at);
        }
        for (i, (block, reach)) in self.model.layers.iter().zip(&c.attention).enumerate() {
            let h = block.input_layernorm.forward(&x);
            let own = texts.and_then(|t| Some((t, t.cache.keys.get(i)?, t.cache.values.get(i)?)));
            let around = (rotations.get(reach.rope), reach);
            let a = match own {
                Some(own) => self.attention_cached(&block.self_attn, &h, around, own),
                None => self.attention(&block.self_attn, &h, around, seen.as_ref()),
            };
            x = match (&block.pre_feedforward_layernorm, &block.post_feedforward_layernorm) {
                (Some(before), Some(after)) => {
                    let x = x + block.post_attention_layernorm.forward(&a);
                    &x + after.forward(&block.mlp.forward(&before.forward(&x)))
                }
                _ => {
                    let x = x + a;
                    &x + block.mlp.forward(&block.post_attention_layernorm.forward(&x))
                }
            };
        }
        x
    }

    /// Queries, keys and values by head, `[texts, time, heads, head]`.
    fn by_head(&self, a: &Attention, x: &Tensor) -> [Tensor; 3] {
        let c = &self.config;
        let split = |t: Tensor, heads: usize, norm: Option<&Norm>| {
            let t = t.reshape([x.dim(0), x.dim(1), heads, c.head]);
            norm.map_or(t.clone(), |n| n.forward(&t))
        };
        // Products of the same activations are adjacent in the graph, so that devices can run them together.
        let [q, k, v] = [&a.q_proj, &a.k_proj, &a.v_proj].map(|p| p.forward(x));
        [
            split(q, c.heads, a.q_norm.as_ref()),
            split(k, c.kv_heads, a.k_norm.as_ref()),
            split(v, c.kv_heads, None),
        ]
    }

    /// Attention without a cache. `seen` masks keys in addition to causality: a query attends to keys where
    /// it is true.
    fn attention(
        &self,
        a: &Attention,
        x: &Tensor,
        (r, reach): (Option<&Rotations>, &Reach),
        seen: Option<&Tensor>,
    ) -> Tensor {
        let c = &self.config;
        let [q, k, v] = self.by_head(a, x).map(|t| t.transpose(1, 2));
        let [q, k] = [q, k].map(|t| rotate(t, r));
        let options = AttentionOptions {
            enable_gqa: c.kv_heads != c.heads,
            causal: true,
            window: reach.window,
            scale: Some(reach.scale),
            softcap: c.attention_cap,
            mask: seen.cloned(),
            ..AttentionOptions::default()
        };
        let o = scaled_dot_product_attention(&q, &k, &v, &options).transpose(1, 2).flatten(2, 3);
        a.o_proj.forward(&o)
    }

    fn attention_cached(
        &self,
        a: &Attention,
        x: &Tensor,
        (r, reach): (Option<&Rotations>, &Reach),
        (texts, keys, values): (&Texts<'_>, &Buffer, &Buffer),
    ) -> Tensor {
        let [q, k, v] = self.by_head(a, x);
        let [q, k] = [q, k].map(|t| rotate(t, r));
        let at = TextBlocks { table: texts.table, first: texts.first };
        let kind = self.config.cache;
        let new =
            [(keys, &k), (values, &v)].map(|(cell, t)| cache_write(cell, &kind.encode(t), at, texts.count));
        for (cell, value) in [keys, values].into_iter().zip(&new) {
            if let Err(e) = cell.set_(value) {
                return Tensor::failed(e);
            }
        }
        let options = CachedOptions {
            scale: Some(reach.scale),
            window: reach.window,
            softcap: self.config.attention_cap,
        };
        let o = cached_attention(&q, (&new[0], &new[1]), at, options);
        a.o_proj.forward(&o.flatten(2, 3))
    }

    /// Logits of hidden states, to which the last norm has been applied.
    pub fn head(&self, x: &Tensor) -> Tensor {
        let logits = match &self.lm_head {
            Some(head) => head.forward(x),
            None => self.model.embed_tokens.weight.dot(x),
        };
        self.config.logit_cap.map_or(logits.clone(), |cap| (logits / cap).tanh() * cap)
    }

    /// Logits of every position, `[batch, time, vocabulary]`, for tokens `[batch, time]`.
    pub fn logits(&self, ids: &Tensor) -> Tensor {
        self.head(&self.states(ids, None))
    }

    /// Hidden states of every position after the last norm, `[batch, time, width]`, for tokens
    /// `[batch, time]`. Each row is one text, unless `packed` says otherwise. Fails if rows are longer than
    /// the context.
    pub fn states(&self, ids: &Tensor, packed: Option<&Packed>) -> Tensor {
        if ids.dim(1) > self.config.context {
            let why = format!("are more than the model's context of {}", self.config.context);
            return Tensor::failed(Error::value(format!("{} tokens", ids.dim(1)), why));
        }
        self.model.norm.forward(&self.hidden(ids, None, packed))
    }

    /// Logits `[texts, vocabulary]` after the first `count` tokens of each text of `[texts, time]`. The
    /// tokens follow those of the text that the cache holds, and are added to the cache.
    pub fn step(&self, ids: &Tensor, texts: &Texts<'_>) -> Tensor {
        let mut x = self.hidden(ids, Some(texts), None);
        let time = ids.dim(1);
        // Selects the last token by a masked sum instead of an index. Indexing may fail, and a plan with ops
        // that may fail cannot write to its cache in place.
        let last = Tensor::iota(DType::I64, [1, time, 1], 1).eq(&(texts.count - 1i64).reshape([-1, 1, 1]));
        x = if time == 1 { x.reshape([x.dim(0), x.dim(2)]) } else { last.select(&x, 0.0).sum(1) };
        self.head(&self.model.norm.forward(&x))
    }
}

/// Rotates queries or keys; returns them unchanged if positions are learned.
fn rotate(t: Tensor, r: Option<&Rotations>) -> Tensor {
    r.map_or(t.clone(), |r| t.rope_with(&r.cos, &r.sin))
}
