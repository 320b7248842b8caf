//! Multi-head attention, for training and, with a cache, for generating token by token.

use super::{Dropout, Linear};
use crate::caller::tensor_at_caller;
use crate::module::{Buffer, Param};
use crate::{init, module};
use gradus_ir::{DType, Error, Result};
use gradus_tensor::func::linear;
use gradus_tensor::{AttentionOptions, Generator, Tensor, scaled_dot_product_attention};

/// Attention over `[batch, time, width]`, to itself or to another sequence. There may be fewer heads of keys
/// and values than of queries: adjacent query heads then share one.
#[derive(Clone, Debug)]
pub struct MultiHeadAttention {
    /// Weights of queries, keys and values, stacked: `[width + 2 · kv_heads · head, width]`.
    pub in_proj_weight: Param,
    /// Biases of queries, keys and values.
    pub in_proj_bias: Option<Param>,
    /// Projection of all heads to the width.
    pub out_proj: Linear,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// If true, a position sees only positions up to its own.
    pub causal: bool,
    /// Dropout of the attention weights.
    pub dropout: Option<Dropout>,
}
module!(MultiHeadAttention { in_proj_weight, in_proj_bias, out_proj, dropout; heads, kv_heads, causal });

/// Keys and values of the positions so far, with a fixed capacity, so that one compiled step works for every
/// position.
#[derive(Clone, Debug)]
pub struct Cache {
    /// `[batch, kv_heads, capacity, head]`.
    pub keys: Buffer,
    /// `[batch, kv_heads, capacity, head]`.
    pub values: Buffer,
    /// Number of filled positions.
    pub position: Buffer,
}
module!(Cache { keys, values, position });

impl Cache {
    /// Empties the cache.
    pub fn clear(&self) -> Result<()> {
        self.position.set_(&Tensor::from(0i64))
    }
}

impl MultiHeadAttention {
    /// Makes attention of this width.
    #[track_caller]
    pub fn new(width: usize, heads: usize, g: &Generator) -> MultiHeadAttention {
        MultiHeadAttention::grouped(width, heads, heads, g)
    }

    /// Makes attention with this many heads of keys and values.
    #[track_caller]
    pub fn grouped(width: usize, heads: usize, kv_heads: usize, g: &Generator) -> MultiHeadAttention {
        let rows = width + 2 * kv_heads * (width / heads.max(1));
        let out_proj = Linear::new(width, width, g);
        MultiHeadAttention {
            in_proj_weight: Param::new(&init::xavier_uniform([rows, width], init::Gain::Linear, g)),
            in_proj_bias: Some(Param::new(&Tensor::zeros([rows]))),
            out_proj: Linear { bias: Some(Param::new(&Tensor::zeros([width]))), ..out_proj },
            heads,
            kv_heads,
            causal: false,
            dropout: None,
        }
    }

    /// Hides later positions from each position.
    pub fn causal(self) -> MultiHeadAttention {
        MultiHeadAttention { causal: true, ..self }
    }

    /// Adds dropout of the attention weights.
    pub fn dropout(self, p: f64, g: &Generator) -> MultiHeadAttention {
        MultiHeadAttention { dropout: Some(Dropout::new(p, g)), ..self }
    }

    /// Removes the biases.
    pub fn without_bias(self) -> MultiHeadAttention {
        MultiHeadAttention { in_proj_bias: None, out_proj: self.out_proj.without_bias(), ..self }
    }

    /// Makes a cache for `capacity` positions of `batch` sequences.
    #[track_caller]
    pub fn cache(&self, batch: usize, capacity: usize) -> Cache {
        let head = self.in_proj_weight.dim(1) / self.heads.max(1);
        let empty = Tensor::zeros([batch, self.kv_heads, capacity, head])
            .to_dtype(self.in_proj_weight.dtype())
            .to(self.in_proj_weight.device());
        let position = Buffer::new(&Tensor::from(0i64));
        Cache { keys: Buffer::new(&empty), values: Buffer::new(&empty), position }
    }

    /// Multiplies an input with `rows` rows of the projection, starting at row `from`.
    fn product(&self, x: &Tensor, from: usize, rows: usize) -> Result<Tensor> {
        let (width, shape) = (self.in_proj_weight.dim(1), x.shape());
        if x.error().is_none()
            && (shape.rank() != 3 || shape[2] != width || !width.is_multiple_of(self.heads))
        {
            let why = format!("must be [batch, time, {width}], for {} heads of equal width", self.heads);
            return Err(Error::shape(format!("an input of shape {shape}"), why));
        }
        let cut = |t: &Tensor| if rows == t.dim(0) { t.clone() } else { t.narrow(0, from, rows) };
        Ok(linear(x, &cut(&self.in_proj_weight), self.in_proj_bias.as_deref().map(cut).as_ref()))
    }

    /// Splits the features of `heads` heads, starting at head `from`, by head: `[batch, heads, time, head]`.
    fn by_head(&self, product: &Tensor, from: usize, heads: usize) -> Tensor {
        let head = self.in_proj_weight.dim(1) / self.heads;
        let own = product.narrow(-1, from * head, heads * head);
        own.reshape([product.dim(0), product.dim(1), heads, head]).transpose(1, 2)
    }

    /// Returns queries, keys and values by head.
    fn project(&self, x: &Tensor) -> Result<[Tensor; 3]> {
        let all = self.product(x, 0, self.in_proj_weight.dim(0))?;
        let (n, m) = (self.heads, self.kv_heads);
        Ok([(0, n), (n, m), (n + m, m)].map(|(from, heads)| self.by_head(&all, from, heads)))
    }

    /// Attends to another sequence: queries from `x`, keys and values from `memory`. Every position of `x`
    /// sees all positions of `memory`.
    #[track_caller]
    pub fn forward_to(&self, x: &Tensor, memory: &Tensor) -> Tensor {
        let (width, m) = (self.in_proj_weight.dim(1), self.kv_heads);
        let attended = || {
            let (q, kv) =
                (self.product(x, 0, width)?, self.product(memory, width, 2 * m * (width / self.heads))?);
            let (q, k, v) =
                (self.by_head(&q, 0, self.heads), self.by_head(&kv, 0, m), self.by_head(&kv, m, m));
            Ok(self.attend(&q, &k, &v, AttentionOptions::default()))
        };
        tensor_at_caller(attended(), std::panic::Location::caller())
    }

    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, options: AttentionOptions) -> Tensor {
        let dropping = self.dropout.as_ref().filter(|d| d.mode.is_training());
        let options = AttentionOptions {
            enable_gqa: self.kv_heads != self.heads,
            dropout: dropping.map_or(0.0, |d| d.p),
            generator: dropping.map(|d| d.generator.clone()),
            ..options
        };
        let o = scaled_dot_product_attention(q, k, v, &options).transpose(1, 2).flatten(2, 3);
        crate::Forward::forward(&self.out_proj, &o)
    }

    /// Appends the keys and values of the next positions to a cache: each position sees the cache and the new
    /// positions up to its own. Exceeding the capacity is an error when the function runs.
    #[track_caller]
    pub fn forward_cached(&self, x: &Tensor, cache: &Cache) -> Tensor {
        tensor_at_caller(self.attend_cached(x, cache), std::panic::Location::caller())
    }

    fn attend_cached(&self, x: &Tensor, cache: &Cache) -> Result<Tensor> {
        let [q, k, v] = self.project(x)?;
        let (time, capacity) = (x.dim(1), cache.keys.dim(2));
        let at = &*cache.position + Tensor::iota(DType::I64, [time], 0);
        let (keys, values) = (cache.keys.index_copy(2, &at, &k), cache.values.index_copy(2, &at, &v));
        let seen = Tensor::iota(DType::I64, [1, capacity], 1).le(&at.unsqueeze(1));
        let options = AttentionOptions { mask: Some(seen), ..AttentionOptions::default() };
        let y = self.attend(&q, &keys, &values, options);
        y.check()?;
        let next = &*cache.position + time as i64;
        let writes = [(&cache.keys, keys), (&cache.values, values), (&cache.position, next)];
        writes.iter().try_for_each(|(cell, value)| cell.set_(value))?;
        Ok(y)
    }
}

impl crate::Forward for MultiHeadAttention {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let options = AttentionOptions { causal: self.causal, ..AttentionOptions::default() };
        let attended = self.project(x).map(|[q, k, v]| self.attend(&q, &k, &v, options));
        tensor_at_caller(attended, std::panic::Location::caller())
    }
}
