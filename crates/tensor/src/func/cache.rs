//! A cache of keys and values for generating texts, and attention over it.
//!
//! A cache is a pool of blocks `[blocks, heads, positions, width]`. A table lists the blocks of each text, in
//! the order of its positions; texts with a common beginning may share blocks. One call serves several texts,
//! each at its own positions, so that one plan serves all of them. Devices that claim the regions write to the
//! cache in place and read only the positions that a token sees. A cache holds floats, or bytes of Q8_0
//! ([`CacheKind`]).

use super::attention::{AttentionOptions, scaled_dot_product_attention};
use super::quantized::{dequantize, quantize_rows};
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::format::Format;
use gradus_ir::{Class, DType, Error, Result, Shape, message};

/// The location of texts in a cache, as `i64`.
#[derive(Clone, Copy, Debug)]
pub struct TextBlocks<'a> {
    /// The blocks of each text, `[texts, count]`. Block `j` of a text holds its positions from `j` times the
    /// positions of a block on.
    pub table: &'a Tensor,
    /// The position of the first token of each text, `[texts]`.
    pub first: &'a Tensor,
}

/// The representation of keys and values in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheKind {
    /// `f32`.
    #[default]
    F32,
    /// `bf16`: half of the memory.
    Bf16,
    /// Integers of 8 bits in blocks of 32 that share a scale (Q8_0): about a quarter of the memory. Heads
    /// must have a multiple of 32 features.
    Q8,
}

impl CacheKind {
    /// All variants.
    pub const ALL: [CacheKind; 3] = [CacheKind::F32, CacheKind::Bf16, CacheKind::Q8];

    /// Returns the name, such as `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            CacheKind::F32 => "f32",
            CacheKind::Bf16 => "bf16",
            CacheKind::Q8 => "q8",
        }
    }

    /// Returns the variant with this name.
    pub fn of_name(name: &str) -> Option<CacheKind> {
        CacheKind::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Returns dtype and extent of a row of `width` features, or an error if Q8_0 blocks do not divide it.
    pub fn row(self, width: usize) -> Result<(DType, usize)> {
        match self {
            CacheKind::F32 => Ok((DType::F32, width)),
            CacheKind::Bf16 => Ok((DType::BF16, width)),
            CacheKind::Q8 => match Format::Q8_0.bytes_of(width) {
                Some(bytes) => Ok((DType::U8, bytes)),
                None => {
                    let why =
                        format!("cannot be stored as q8: {} must divide it", Format::Q8_0.block_elements());
                    Err(Error::value(format!("a head of {width} features"), why))
                }
            },
        }
    }

    /// Converts floats `[..., width]` to rows of the cache.
    #[track_caller]
    pub fn encode(self, x: &Tensor) -> Tensor {
        match self {
            CacheKind::F32 => x.to_dtype(DType::F32),
            CacheKind::Bf16 => x.to_dtype(DType::BF16),
            CacheKind::Q8 => quantize_rows(x),
        }
    }
}

/// Options of [`cached_attention`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CachedOptions {
    /// Multiplies the scores; one over the square root of the width if `None`.
    pub scale: Option<f64>,
    /// Tokens see only this many positions up to their own.
    pub window: Option<usize>,
    /// Maps the scores to `c·tanh(s/c)`, which limits them to `±c`.
    pub softcap: Option<f64>,
}

/// Returns the number of features in a row of a cache.
fn features(cache: &Tensor) -> usize {
    let row = cache.dim(-1);
    match cache.dtype() {
        DType::U8 => row / Format::Q8_0.block_bytes() * Format::Q8_0.block_elements(),
        _ => row,
    }
}

/// Returns an error unless the operands are a cache whose rows have `width` elements, and texts `[texts,
/// time, heads, width]` that fit it. `numbers` has one integer for each text.
fn check(cache: &Tensor, texts: &Tensor, width: usize, table: &Tensor, numbers: &[&Tensor]) -> Result<()> {
    for t in [cache, texts, table].into_iter().chain(numbers.iter().copied()) {
        t.check()?;
    }
    let (c, t) = (cache.shape(), texts.shape());
    let misfit = |why: &str| Err(Error::shape(format!("a cache {c} and texts {t}"), why));
    let ([_, heads, _, _], [count, _, own, features]) = (&c[..], &t[..]) else {
        return misfit("must be [blocks,heads,positions,width] and [texts,time,heads,width]");
    };
    if width != *features || *heads == 0 || own % heads != 0 {
        return misfit("do not fit: widths must be equal, and heads a multiple of those of the cache");
    }
    if c[0] == 0 {
        return misfit("do not fit: the cache has no blocks");
    }
    if table.dtype() != DType::I64 || table.rank() != 2 || table.dim(0) != *count {
        let what = message!("a table ", table.dtype(), " ", &table.shape());
        let why = message!("must be ", DType::I64, format!(" [{count},blocks], one row for each text"));
        return Err(Error::shape(what, why));
    }
    let wrong = numbers.iter().find(|i| i.dtype() != DType::I64 || i.shape() != Shape::from([*count]));
    wrong.map_or(Ok(()), |i| {
        let what = message!("integers ", i.dtype(), " ", &i.shape());
        Err(Error::shape(what, message!("must be ", DType::I64, format!(" [{count}], one for each text"))))
    })
}

/// Returns the cache with the first `count` tokens of each text written to its blocks, from its position on.
/// Tokens beyond the table, and those in blocks that the cache does not have, are left out. If several texts
/// write to one position of a block, the last one is kept. The blocks that one text writes to must be
/// distinct. Texts must have the representation of the cache ([`CacheKind::encode`]).
#[track_caller]
pub fn cache_write(cache: &Tensor, texts: &Tensor, at: TextBlocks<'_>, count: &Tensor) -> Tensor {
    let ins = [cache, texts, at.table, at.first, count];
    let width = cache.shape().last().copied().unwrap_or(0);
    let fits =
        check(cache, texts, width, at.table, &ins[3..]).and_then(|()| match texts.dim(2) == cache.dim(1) {
            true if cache.dtype() != texts.dtype() => {
                Err(Error::dtype(texts.dtype(), message!("the cache is ", cache.dtype())))
            }
            true => Ok(()),
            false => Err(Error::shape(format!("texts {}", texts.shape()), "need the heads of the cache")),
        });
    if let Err(e) = fits {
        return Tensor::refuse("cache_write", &ins, e);
    }
    region1("cache_write", vec![], &ins, |x| {
        let [cache, texts, table, first, count] = x else { return x[0].clone() };
        let (blocks, heads, length, row) = (cache.dim(0), cache.dim(1), cache.dim(2), cache.dim(3));
        let (time, columns) = (texts.dim(1), table.dim(1));
        if time == 0 || length == 0 || columns == 0 {
            return cache.clone();
        }
        let own = Tensor::iota(DType::I64, [blocks, 1], 0);
        let start = Tensor::iota(DType::I64, [1, columns], 1) * length as i64;
        let offset = Tensor::iota(DType::I64, [1, length], 1);
        let mut written = cache.clone();
        for b in 0..texts.dim(0) {
            let number = |t: &Tensor| t.narrow(0, b, 1).reshape([1, 1]);
            let (first, count) = (number(first), number(count).clamp(0.0, time as f64));
            // Positions are compared with the last token and not with the position after it, which may
            // overflow.
            let last = &first + (&count - 1i64);
            let holds = (&start + (length as i64 - 1)).ge(&first).and(&start.le(&last));
            let holds = holds.and(&table.narrow(0, b, 1).eq(&own));
            // The first position of each block that the text writes to, `[blocks, 1]`; of other blocks, -1.
            let from = holds.select(&start, -1i64).max_keepdim(1);
            let token = &from + &offset - &first;
            let inside = from.ge(0i64).and(&token.ge(0i64)).and(&token.lt(&count));
            let inside = inside.reshape([blocks, 1, length, 1]);
            let index = token.clamp(0.0, (time - 1) as f64).reshape([blocks * length]);
            let rows = texts.narrow(0, b, 1).transpose(1, 2).index_select(2, &index);
            let rows = rows.reshape([heads, blocks, length, row]).transpose(0, 1);
            written = inside.select(&rows, &written);
        }
        written
    })
}

/// Attention, `softmax(q·kᵀ·scale)·v`, of the queries `[texts, time, heads, width]`. Each token sees the
/// positions of its text up to its own, or only the last `window` of them. Neighbouring heads of queries
/// share a head of the cache. Blocks outside of the cache count as the nearest one. Keys and values may have
/// any representation of [`CacheKind`]; the result has the dtype of the queries.
#[track_caller]
pub fn cached_attention(
    queries: &Tensor,
    (keys, values): (&Tensor, &Tensor),
    at: TextBlocks<'_>,
    options: CachedOptions,
) -> Tensor {
    let ins = [queries, keys, values, at.table, at.first];
    let width = if keys.shape().rank() == 4 { features(keys) } else { 0 };
    let fits = check(keys, queries, width, at.table, &ins[4..]).and_then(|()| match keys.dtype().class() {
        Class::Float => Ok(()),
        _ if keys.dtype() == DType::U8 && keys.dim(3) % Format::Q8_0.block_bytes() == 0 => Ok(()),
        _ => Err(Error::dtype(keys.dtype(), "keys and values are floats, or bytes of whole blocks of Q8_0")),
    });
    let fits = fits.and_then(|()| match values.aval() == keys.aval() {
        true => Ok(()),
        false => Err(Error::shape(format!("values {}", values.shape()), "need the type of the keys")),
    });
    let fits = fits.and_then(|()| match options.softcap {
        Some(c) if c.is_nan() || c <= 0.0 => Err(Error::value(format!("softcap {c}"), "must be positive")),
        _ => Ok(()),
    });
    if let Err(e) = fits {
        return Tensor::refuse("cached_attention", &ins, e);
    }
    let CachedOptions { scale, window, softcap } = options;
    let scale = scale.unwrap_or_else(|| 1.0 / (queries.dim(3).max(1) as f64).sqrt());
    let mut args = vec![arg("scale", scale)];
    args.extend(window.map(|w| arg("window", w)));
    args.extend(softcap.map(|c| arg("softcap", c)));
    region1("cached_attention", args, &ins, |x| {
        let [q, keys, values, table, first] = x else { return x[0].clone() };
        let own = table.clamp(0.0, (keys.dim(0) - 1) as f64).reshape([-1]);
        let (texts, columns, length) = (table.dim(0), table.dim(1), keys.dim(2));
        let (time, capacity) = (q.dim(1), columns * length);
        let position = first.reshape([-1, 1, 1, 1]) + Tensor::iota(DType::I64, [1, 1, time, 1], 2);
        let key = Tensor::iota(DType::I64, [1, 1, 1, capacity], 3);
        let mut seen = key.le(&position);
        if let Some(w) = window.and_then(|w| i64::try_from(w).ok()) {
            seen = seen.and(&(&position - &key).lt(w));
        }
        let options = AttentionOptions {
            mask: Some(seen),
            scale: Some(scale),
            softcap,
            enable_gqa: q.dim(2) != keys.dim(1),
            ..AttentionOptions::default()
        };
        let [keys, values] = [keys, values].map(|pool| {
            let (heads, row) = (pool.dim(1), pool.dim(3));
            let t = pool.index_select(0, &own).reshape([texts, columns, heads, length, row]);
            let t = t.transpose(1, 2).reshape([texts, heads, capacity, row]);
            match t.dtype() {
                DType::U8 => dequantize(&t, Format::Q8_0).to_dtype(q.dtype()),
                _ => t.to_dtype(q.dtype()),
            }
        });
        scaled_dot_product_attention(&q.transpose(1, 2), &keys, &values, &options).transpose(1, 2)
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    let ints = |s: &mut super::Samples, values: &[i64], shape: &[usize]| {
        gradus_ir::Literal::ints(DType::I64, shape.to_vec(), values.to_vec())
            .unwrap_or_else(|_| s.draw.ints((0, 1), [1]))
    };
    for (table, first, count) in
        [([1, 0, 3, 2], [3, 0], [2, 1]), ([0, 7, 1, 2], [3, 2], [2, 2]), ([2, 3, 2, 1], [0, 1], [3, 0])]
    {
        let (cache, texts) = (s.draw.normal([4, 2, 3, 2]), s.draw.normal([2, 2, 2, 2]));
        let table = ints(s, &table, &[2, 2]);
        let [first, count] = [&first, &count].map(|v| ints(s, v, &[2]));
        let ins = [cache, texts, table.clone(), first.clone(), count];
        s.case("cache_write", ins, |x| {
            cache_write(&x[0], &x[1], TextBlocks { table: &x[2], first: &x[3] }, &x[4])
        });
        for (scale, window, softcap) in
            [(None, None, None), (Some(0.3), Some(2), None), (None, None, Some(0.5))]
        {
            let options = CachedOptions { scale, window, softcap };
            let q = s.draw.normal([2, 2, 4, 2]);
            let (keys, values) = (s.draw.normal([4, 2, 3, 2]), s.draw.normal([4, 2, 3, 2]));
            let ins = [q, keys, values, table.clone(), first.clone()];
            s.case("cached_attention", ins, move |x| {
                cached_attention(&x[0], (&x[1], &x[2]), TextBlocks { table: &x[3], first: &x[4] }, options)
            });
        }
    }
}
