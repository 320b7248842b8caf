//! Scaled dot-product attention and rotary position embeddings.

use super::activation::wide;
use super::embedding::{check_dropout, drop_out};
use super::softmax::softmax_grad;
use crate::random::{Generator, default_generator};
use crate::region::{Args, arg, region1, region1_with_grad};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error, Result, Shape};

/// Options of [`scaled_dot_product_attention`].
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    /// Broadcasts to the scores `[..., heads, queries, keys]`. A boolean mask is true where a query sees a
    /// key. A float mask is added to the scores, with gradient; minus infinity hides a key.
    pub mask: Option<Tensor>,
    /// Query `i` sees keys `0..=i`, also if the numbers of queries and keys differ.
    pub causal: bool,
    /// Query `i` sees only the last `window` keys up to `i`; implies `causal`.
    pub window: Option<usize>,
    /// Factor of the scores; by default one over the square root of the head size.
    pub scale: Option<f64>,
    /// Maps the scores to `c·tanh(s/c)`, which limits them to `±c`.
    pub softcap: Option<f64>,
    /// Probability of dropping a weight.
    pub dropout: f64,
    /// Generator for dropout; the default generator if `None`.
    pub generator: Option<Generator>,
    /// Allows fewer heads of keys and values than of queries: consecutive query heads share one.
    pub enable_gqa: bool,
}

/// Extents and dtype of an attention call.
struct Extents {
    /// The scores, `[..., heads, queries, keys]`.
    scores: Shape,
    /// Number of query heads that share a head of keys; 1 without grouping.
    group: usize,
    dtype: DType,
}

/// Returns all but the last `n` extents.
fn lead(shape: &Shape, n: usize) -> &[usize] {
    &shape[..shape.rank().saturating_sub(n)]
}

fn extents(q: &Tensor, k: &Tensor, v: &Tensor, options: &AttentionOptions) -> Result<Extents> {
    let (sq, sk, sv) = (q.shape(), k.shape(), v.shape());
    let misfit = |why: &str| Error::shape(format!("query {sq}, key {sk} and value {sv}"), why);
    let [(queries, width), (keys, key_width), (values, _)] = [&sq, &sk, &sv].map(|s| match **s {
        [.., n, d] => (Some(n), d),
        _ => (None, 0),
    });
    let (Some(queries), Some(keys), Some(values)) = (queries, keys, values) else {
        return Err(misfit("need at least two axes: positions and features"));
    };
    if width != key_width {
        return Err(misfit(
            "do not fit: query and key must have the same number of features, the extent of the last axis",
        ));
    }
    if keys != values {
        return Err(misfit("do not fit: key and value must have the same extent on the second-to-last axis"));
    }
    let heads = |s: &Shape| lead(s, 2).last().copied();
    let mut group = 1;
    if options.enable_gqa {
        let (Some(hq), Some(hk), Some(hv)) = (heads(&sq), heads(&sk), heads(&sv)) else {
            return Err(misfit("have no axis of heads to group"));
        };
        if hk != hv || hk == 0 || hq == 0 || hq % hk != 0 {
            return Err(misfit(
                "do not fit: key and value need equally many heads, which must divide those of the query",
            ));
        }
        group = hq / hk;
    }
    // Broadcasts the leading extents of the query with those of keys and values, after heads are shared.
    let shared = |s: &Shape| -> Shape {
        let mut own = lead(s, 2).to_vec();
        if let Some(h) = own.last_mut() {
            *h *= group;
        }
        own.into()
    };
    let all = Shape::from(lead(&sq, 2)).broadcast(&shared(&sk)).and_then(|s| s.broadcast(&shared(&sv)));
    let Some(all) = all else {
        let why = "do not broadcast on their leading axes (fewer heads of keys need `enable_gqa`)";
        return Err(misfit(why));
    };
    let scores: Shape = all.iter().copied().chain([queries, keys]).collect();
    let dtype = super::loss::common(&[q, k, v])?;
    if let Some(mask) = &options.mask {
        let real = matches!(mask.dtype().class(), Class::Bool | Class::Float);
        if !real {
            return Err(Error::dtype(mask.dtype(), "a mask must be boolean or float"));
        }
        if mask.shape().broadcast(&scores).as_ref() != Some(&scores) {
            let what = format!("a mask of shape {}", mask.shape());
            return Err(Error::shape(what, format!("does not broadcast to the scores {scores}")));
        }
    }
    if options.window == Some(0) {
        return Err(Error::value("window 0", "must be at least 1: a query sees itself"));
    }
    if let Some(c) = options.softcap.filter(|c| c.is_nan() || *c <= 0.0) {
        return Err(Error::value(format!("softcap {c}"), "must be positive"));
    }
    check_dropout(options.dropout, dtype)?;
    Ok(Extents { scores, group, dtype })
}

impl AttentionOptions {
    fn args(&self, group: usize) -> Args {
        let mut args =
            vec![arg("mask", self.mask.is_some()), arg("causal", self.causal), arg("group", group)];
        args.extend(self.window.map(|w| arg("window", w)));
        args.extend(self.scale.map(|s| arg("scale", s)));
        args.extend(self.softcap.map(|c| arg("softcap", c)));
        args.push(arg("dropout", self.dropout));
        args
    }

    /// Returns a mask of the keys that each query sees, and a tensor to add to the scores. `None` stands for
    /// no mask and for nothing to add.
    fn visible_keys(&self, scores: &Tensor, mask: Option<&Tensor>) -> (Option<Tensor>, Option<Tensor>) {
        let shape = scores.shape();
        let (queries, keys) = (scores.dim(-2), scores.dim(-1));
        let (mut seen, mut bias) = (None, None);
        if self.causal || self.window.is_some() {
            let i = Tensor::iota(DType::I64, [queries, 1], 0);
            let j = Tensor::iota(DType::I64, [1, keys], 1);
            let upto = j.le(&i);
            let window = self.window.and_then(|w| i64::try_from(w).ok());
            seen = Some(window.map_or(upto.clone(), |w| upto.and(&(i - j).lt(w))));
        }
        if let Some(mask) = mask {
            let allowed = if mask.dtype() == DType::Bool {
                mask.clone()
            } else {
                let float = mask.to_dtype(scores.dtype());
                let allowed = float.ne(f64::NEG_INFINITY);
                bias = Some(allowed.select(&float, 0.0));
                allowed
            };
            seen = Some(seen.map_or(allowed.clone(), |s| s.and(&allowed)));
        }
        (seen.map(|s| s.expand_to(&shape)), bias)
    }
}

/// Softmax over the last axis among visible keys. If a query sees no key, its weights are 0.
pub(super) fn weights(scores: &Tensor, seen: Option<&Tensor>) -> Tensor {
    let scores = seen.map_or(scores.clone(), |seen| seen.select(scores, f64::NEG_INFINITY));
    let share = |x: &[Tensor]| {
        let top = x[0].max_keepdim(-1).stop_gradient();
        let raised = (&x[0] - top.is_finite().select(&top, 0.0)).exp();
        let total = raised.sum_keepdim(-1);
        &raised / total.eq(0.0).select(1.0, &total)
    };
    // The weights are 0 where no key is visible, so this gradient is 0 there too.
    let grad = |_: &[Tensor], y: &Tensor, g: &Tensor| softmax_grad(y, g, -1);
    region1_with_grad("softmax_seen", vec![], &[&scores], share, grad)
}

/// Splits the axis of heads into groups that share a head of keys, or merges them again.
fn grouped(x: &Tensor, group: usize) -> Tensor {
    let shape = x.shape();
    let split = shape.rank().saturating_sub(3);
    let dims = shape[..split].iter().copied();
    x.reshape(
        dims.chain([shape[split] / group, group])
            .chain(shape[split + 1..].iter().copied())
            .collect::<Vec<_>>(),
    )
}

/// `softmax(query·keyᵀ·scale)·value` over the last two axes: queries `[..., heads, n, d]`, keys `[..., heads,
/// m, d]`, values `[..., heads, m, e]`. Scores are scaled, then capped, then masked, as the options say. A
/// query that sees no key gives 0 and has gradient 0.
#[track_caller]
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    options: &AttentionOptions,
) -> Tensor {
    let name = "scaled_dot_product_attention";
    let mut ins: Vec<&Tensor> = [query, key, value].into_iter().chain(&options.mask).collect();
    if let Some(failed) = ins.iter().find(|t| t.error().is_some()) {
        return (*failed).clone();
    }
    let Extents { scores, group, dtype } = match extents(query, key, value, options) {
        Ok(extents) => extents,
        Err(e) => return Tensor::refuse(name, &ins, e),
    };
    let drops = options.dropout > 0.0;
    // Drawn outside of the region, because a region must not change state.
    let kept = drops.then(|| {
        let generator = options.generator.as_ref().unwrap_or(default_generator());
        generator.rand(&scores).ge(options.dropout)
    });
    ins.extend(&kept);
    let (args, masked) = (options.args(group), options.mask.is_some());
    region1(name, args, &ins, |x| {
        let [q, k, v] = [0, 1, 2].map(|i| x[i].to_dtype(dtype));
        let features = q.dim(-1).max(1) as f64;
        let q = q * options.scale.unwrap_or(1.0 / features.sqrt());
        let flat = |t: Tensor| if group > 1 { t.flatten(-4, -3) } else { t };
        let product = |a: &Tensor, b: &Tensor| match group {
            1 => a.matmul(b),
            _ => grouped(a, group).matmul(&b.unsqueeze(-3)),
        };
        let mut s = wide(&flat(product(&q, &k.t())));
        if let Some(c) = options.softcap {
            s = (s / c).tanh() * c;
        }
        let (seen, bias) = options.visible_keys(&s.expand_to(&scores), x.get(3).filter(|_| masked));
        s = s.expand_to(&scores);
        if let Some(bias) = bias {
            s = s + bias;
        }
        let mut p = weights(&s, seen.as_ref());
        if let Some(kept) = x.last().filter(|_| drops) {
            p = drop_out(&p, kept, options.dropout);
        }
        flat(product(&p.to_dtype(dtype), &v))
    })
}

/// Rotates each pair (feature `i` of the first half, feature `i` of the second half) by the angle with this
/// cosine and sine.
fn rotate_pairs(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
    let half = x.dim(-1) / 2;
    let halves = |t: &Tensor| match t.dim(-1) {
        d if d == 2 * half => [t.narrow(-1, 0, half), t.narrow(-1, half, half)],
        _ => [t.clone(), t.clone()],
    };
    let ([a, b], [ca, cb], [sa, sb]) = (halves(x), halves(cos), halves(sin));
    Tensor::cat(&[&(&a * ca - &b * sa), &(&b * cb + &a * sb)], -1)
}

/// Returns the dtype of the rotated tensor, or an error if the number of features is odd.
fn rotated_dtype(x: &Tensor) -> Result<DType> {
    let shape = x.shape();
    match shape.last() {
        Some(d) if d % 2 == 0 => super::loss::common(&[x]),
        _ => Err(Error::shape(format!("shape {shape}"), "needs a last axis of even extent, the features")),
    }
}

/// Cosine and sine of `position · base^(-2i/d)` for each position and `i < d/2`. The angles are computed in
/// `f64`, because positions may be large.
fn angles(positions: &Tensor, d: usize, base: f64, dtype: DType) -> (Tensor, Tensor) {
    let rates: Vec<f64> = (0..d / 2).map(|i| base.powf(-2.0 * i as f64 / d as f64)).collect();
    let angle = positions.to_dtype(DType::F64).unsqueeze(-1) * &Tensor::from(rates);
    let dtype = if dtype == DType::F64 { dtype } else { DType::F32 };
    (angle.cos().to_dtype(dtype), angle.sin().to_dtype(dtype))
}

fn check_base(base: f64) -> Result<()> {
    if base > 0.0 && base.is_finite() {
        return Ok(());
    }
    Err(Error::value(format!("base {base}"), "must be positive and finite"))
}

impl Tensor {
    /// Rotary position embedding of `[..., positions, features]`. Feature `i` of the first half and feature
    /// `i` of the second half form a pair, which is rotated by `(offset + position) · base^(-2i/d)`.
    #[track_caller]
    pub fn rope(&self, base: f64, offset: i64) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let fits = rotated_dtype(self).and_then(|dtype| check_base(base).map(|()| dtype));
        let dtype = match fits {
            Ok(dtype) if self.rank() >= 2 => dtype,
            Ok(_) => {
                let e =
                    Error::shape(format!("shape {}", self.shape()), "needs two axes: positions and features");
                return Tensor::refuse("rope", &[self], e);
            }
            Err(e) => return Tensor::refuse("rope", &[self], e),
        };
        region1("rope", vec![arg("base", base), arg("offset", offset)], &[self], |x| {
            let positions = Tensor::iota(DType::I64, [x[0].dim(-2)], 0) + offset;
            let (cos, sin) = angles(&positions, x[0].dim(-1), base, dtype);
            rotate_pairs(&wide(&x[0].to_dtype(dtype)), &cos, &sin).to_dtype(dtype)
        })
    }

    /// [`rope`](Tensor::rope) at explicit positions, which broadcast to the shape without features: `[n]`, or
    /// `[batch, 1, n]` for a tensor `[batch, heads, n, d]`. Positions may be fractional; they have no
    /// gradient.
    #[track_caller]
    pub fn rope_at(&self, positions: &Tensor, base: f64) -> Tensor {
        let ins = [self, positions];
        let fits = || {
            let dtype = rotated_dtype(self)?;
            check_base(base)?;
            if matches!(positions.dtype().class(), Class::Bool | Class::Complex) {
                return Err(Error::dtype(positions.dtype(), "positions are integers or floats"));
            }
            let (shape, own) = (self.shape(), positions.shape());
            let rows = Shape::from(lead(&shape, 1));
            if own.broadcast(&rows).as_ref() != Some(&rows) {
                let why = format!("do not broadcast to {rows}, the shape without features");
                return Err(Error::shape(format!("positions of shape {own}"), why));
            }
            Ok(dtype)
        };
        match fits() {
            Ok(dtype) => region1("rope_at", vec![arg("base", base)], &ins, |x| {
                let (cos, sin) = angles(&x[1].stop_gradient(), x[0].dim(-1), base, dtype);
                rotate_pairs(&wide(&x[0].to_dtype(dtype)), &cos, &sin).to_dtype(dtype)
            }),
            Err(e) => Tensor::refuse("rope_at", &ins, e),
        }
    }

    /// [`rope`](Tensor::rope) with explicit cosines and sines, which receive gradients: one for each feature
    /// or for each pair of features. They broadcast to this tensor's shape on the other axes.
    #[track_caller]
    pub fn rope_with(&self, cos: &Tensor, sin: &Tensor) -> Tensor {
        let ins = [self, cos, sin];
        let fits = || {
            rotated_dtype(self)?;
            let shape = self.shape();
            let d = self.dim(-1);
            for t in [cos, sin] {
                let own = t.shape();
                let last = own.last().copied().unwrap_or(0);
                let (outer, rows) = (Shape::from(lead(&own, 1)), Shape::from(lead(&shape, 1)));
                if (last != d && last != d / 2) || outer.broadcast(&rows).as_ref() != Some(&rows) {
                    let why = format!("does not fit {shape}: the last axis must be {d} or {}", d / 2);
                    return Err(Error::shape(format!("a cosine or sine of shape {own}"), why));
                }
            }
            super::loss::common(&ins)
        };
        match fits() {
            Ok(dtype) => region1("rope_with", vec![], &ins, |x| {
                let [x, cos, sin] = [0, 1, 2].map(|i| wide(&x[i].to_dtype(dtype)));
                rotate_pairs(&x, &cos, &sin).to_dtype(dtype)
            }),
            Err(e) => Tensor::refuse("rope_with", &ins, e),
        }
    }
}
