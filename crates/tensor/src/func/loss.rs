//! Losses of regression and probability, and helpers shared by all losses.

use super::activation::wide;
use crate::region::{Args, arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error, Result, Shape};

/// Reduction of the losses of single elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The mean of the losses, NaN if there are none. A weighted classification loss divides by the sum of
    /// the weights.
    #[default]
    Mean,
    /// The sum of the losses.
    Sum,
    /// No reduction.
    None,
}

impl Reduction {
    pub(super) fn arg(self) -> (String, gradus_ir::attr::Attr) {
        let name = match self {
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
            Reduction::None => "none",
        };
        arg("reduction", name.to_string())
    }

    pub(super) fn of(self, losses: &Tensor) -> Tensor {
        match self {
            Reduction::Mean => losses.mean(()),
            Reduction::Sum => losses.sum(()),
            Reduction::None => losses.clone(),
        }
    }
}

/// Returns the real float dtype that the operands are promoted to; integers and booleans become `f32`.
pub(super) fn common(ins: &[&Tensor]) -> Result<DType> {
    let dtype = ins.iter().fold(DType::Bool, |d, t| d.promote(t.dtype()));
    match dtype.class() {
        Class::Complex => Err(Error::dtype(dtype, "it takes real numbers")),
        Class::Float => Ok(dtype),
        _ => Ok(DType::F32),
    }
}

/// Returns the common shape of prediction and target. Only axes of extent 1 and scalars broadcast. A target
/// of another rank is almost always a mistake: `[n]` and `[n, 1]` would give `n²` losses.
pub(super) fn paired_shape(a: &Tensor, b: &Tensor) -> Result<Shape> {
    let (sa, sb) = (a.shape(), b.shape());
    let ranks = sa.rank() == sb.rank() || sa.rank() == 0 || sb.rank() == 0;
    sa.broadcast(&sb).filter(|_| ranks).ok_or_else(|| {
        let why = "differ: both need one rank, and each pair of extents must be equal or have a 1";
        Error::shape(format!("extents {sa} of the input and {sb} of the target"), why)
    })
}

/// Evaluates a loss whose operands broadcast to one shape. The first two are input and target; the others,
/// weights for example, broadcast freely. The body receives all in one float dtype, half precision as `f32`.
#[track_caller]
pub(super) fn elementwise(
    name: &'static str,
    mut args: Args,
    ins: &[&Tensor],
    reduction: Reduction,
    f: impl FnOnce(&[Tensor]) -> Tensor,
) -> Tensor {
    let prepare = || {
        let shape = if let [a, b, ..] = ins { paired_shape(a, b)? } else { Shape::scalar() };
        let grow = |shape: Shape, t: &&Tensor| {
            shape
                .broadcast(&t.shape())
                .ok_or_else(|| Error::shape(format!("extents {shape} and {}", t.shape()), "do not broadcast"))
        };
        Ok((common(ins)?, ins.iter().try_fold(shape, grow)?))
    };
    match prepare() {
        Ok((dtype, shape)) => {
            args.push(reduction.arg());
            region1(name, args, ins, |x| {
                let full = |t: &Tensor| wide(&t.to_dtype(dtype)).expand_to(&shape);
                let x: Vec<Tensor> = x.iter().map(full).collect();
                reduction.of(&f(&x)).to_dtype(dtype)
            })
        }
        Err(e) => Tensor::refuse(name, ins, e),
    }
}

/// Returns an error with the subject `what` and the reason `why` unless the condition holds.
pub(super) fn must(holds: bool, what: impl Into<String>, why: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::value(what.into(), why)) }
}

/// The squared difference.
#[track_caller]
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Tensor {
    elementwise("mse_loss", vec![], &[input, target], reduction, |x| (&x[0] - &x[1]).square())
}

/// The absolute difference; its derivative where both are equal is 0.
#[track_caller]
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Tensor {
    elementwise("l1_loss", vec![], &[input, target], reduction, |x| (&x[0] - &x[1]).abs())
}

/// `d²/2β` for differences below `beta`, `|d| - β/2` above; `l1_loss` for `beta` 0.
#[track_caller]
pub fn smooth_l1_loss(input: &Tensor, target: &Tensor, beta: f64, reduction: Reduction) -> Tensor {
    let ins = [input, target];
    if let Err(e) = must(beta >= 0.0, format!("beta {beta}"), "must not be negative") {
        return Tensor::refuse("smooth_l1_loss", &ins, e);
    }
    elementwise("smooth_l1_loss", vec![arg("beta", beta)], &ins, reduction, |x| {
        let d = &x[0] - &x[1];
        if beta == 0.0 {
            return d.abs();
        }
        d.abs().lt(beta).select(&(d.square() * (0.5 / beta)), &(d.abs() - 0.5 * beta))
    })
}

/// `d²/2` for differences up to `delta`, `δ(|d| - δ/2)` above.
#[track_caller]
pub fn huber_loss(input: &Tensor, target: &Tensor, delta: f64, reduction: Reduction) -> Tensor {
    let ins = [input, target];
    if let Err(e) = must(delta > 0.0, format!("delta {delta}"), "must be positive") {
        return Tensor::refuse("huber_loss", &ins, e);
    }
    elementwise("huber_loss", vec![arg("delta", delta)], &ins, reduction, |x| {
        let d = &x[0] - &x[1];
        d.abs().le(delta).select(&(d.square() * 0.5), &((d.abs() - 0.5 * delta) * delta))
    })
}

/// `log x`, clamped at -100, so that a wrong prediction of probability 1 has a finite loss. The derivative is
/// 0 where the logarithm is clamped. Negative `x` gives NaN, as `log` does.
fn clamped_log(x: &Tensor) -> Tensor {
    let low = x.ge(0.0).and(&x.le((-100.0f64).exp()));
    low.select(-100.0, &low.select(1.0, x).log())
}

/// The negative log-likelihood `-(t·log x + (1-t)·log(1-x))` of the target `t` under the probability `x`,
/// times an optional weight. Logarithms are clamped at -100. NaN where the input is not a probability.
///
/// [`binary_cross_entropy_with_logits`] is accurate where this function is clamped.
#[track_caller]
pub fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Tensor {
    let ins: Vec<&Tensor> = [input, target].into_iter().chain(weight).collect();
    let args = vec![arg("weight", weight.is_some())];
    elementwise("binary_cross_entropy", args, &ins, reduction, |x| {
        let (p, t) = (&x[0], &x[1]);
        let other = p.eq(1.0).select(-100.0, &(-p.eq(1.0).select(0.0, p)).log1p());
        let losses = -(t * clamped_log(p) + (1.0 - t) * other);
        x.get(2).map_or(losses.clone(), |w| losses * w)
    })
}

/// [`binary_cross_entropy`] of `sigmoid(input)`, accurate for logits of any size. `pos_weight` multiplies the
/// term of positive targets; both weights broadcast to the input's shape.
#[track_caller]
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    pos_weight: Option<&Tensor>,
    reduction: Reduction,
) -> Tensor {
    let ins: Vec<&Tensor> = [input, target].into_iter().chain(weight).chain(pos_weight).collect();
    let (weighted, positive) = (weight.is_some(), pos_weight.is_some());
    let args = vec![arg("weight", weighted), arg("pos_weight", positive)];
    elementwise("binary_cross_entropy_with_logits", args, &ins, reduction, |x| {
        let (z, t) = (&x[0], &x[1]);
        let softplus = (-z).logaddexp(0.0);
        let scale = x.last().filter(|_| positive).map(|p| (p - 1.0) * t + 1.0);
        let losses = (1.0 - t) * z + scale.map_or(softplus.clone(), |s| s * softplus);
        x.get(2).filter(|_| weighted).map_or(losses.clone(), |w| losses * w)
    })
}

/// Reduction of the terms of [`kl_div`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KlReduction {
    /// The sum of the terms, divided by the extent of the first axis: the divergence per example.
    BatchMean,
    /// As for other losses; the mean then also divides by the number of classes.
    Plain(Reduction),
}

impl From<Reduction> for KlReduction {
    fn from(r: Reduction) -> KlReduction {
        KlReduction::Plain(r)
    }
}

/// The divergence of the target distribution from the input, as its terms `t·(log t - input)`. The input
/// holds log-probabilities, and so does the target if `log_target` is set. A target probability of 0 gives 0.
#[track_caller]
pub fn kl_div(
    input: &Tensor,
    target: &Tensor,
    log_target: bool,
    reduction: impl Into<KlReduction>,
) -> Tensor {
    let (batchmean, plain) = match reduction.into() {
        KlReduction::BatchMean => (true, Reduction::Sum),
        KlReduction::Plain(r) => (false, r),
    };
    let args = vec![arg("log_target", log_target), arg("batchmean", batchmean)];
    elementwise("kl_div", args, &[input, target], plain, |x| {
        let (q, t) = (&x[0], &x[1]);
        let terms = if log_target {
            // A target probability of 0 gives 0, not NaN.
            let none = t.eq(f64::NEG_INFINITY);
            none.select(0.0, &(t.exp() * (none.select(0.0, t) - none.select(0.0, q))))
        } else {
            let none = t.eq(0.0);
            let safe = none.select(1.0, t);
            let impossible = none.and(&q.eq(f64::NEG_INFINITY));
            none.select(0.0, &(&safe * safe.log())) - t * impossible.select(0.0, q)
        };
        let batch = if batchmean { q.shape().first().copied().unwrap_or(1) } else { 1 };
        if batchmean { terms / batch as f64 } else { terms }
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    let all = [Reduction::Mean, Reduction::Sum, Reduction::None];
    for (k, reduction) in all.into_iter().enumerate() {
        for shape in [&[2, 3][..], &[1], &[], &[3, 0]] {
            if shape.contains(&0) && reduction == Reduction::Mean {
                continue; // the mean of no elements is NaN
            }
            let pair = [s.draw.normal(shape), s.draw.normal(shape)];
            s.case("mse_loss", pair.clone(), move |x| mse_loss(&x[0], &x[1], reduction));
            let apart = [s.draw.uniform((0.1, 1.0), shape), s.draw.uniform((1.1, 2.0), shape)];
            s.case("l1_loss", apart, move |x| l1_loss(&x[0], &x[1], reduction));
            let width = [0.05, 9.0, 7.0][k];
            s.case("smooth_l1_loss", pair.clone(), move |x| smooth_l1_loss(&x[0], &x[1], width, reduction));
            s.case("huber_loss", pair, move |x| huber_loss(&x[0], &x[1], width, reduction));
            let probable = [s.draw.uniform((0.1, 0.9), shape), s.draw.uniform((0.1, 0.9), shape)];
            s.case("binary_cross_entropy", probable, move |x| {
                binary_cross_entropy(&x[0], &x[1], None, reduction)
            });
            let logits = [s.draw.normal(shape), s.draw.uniform((0.1, 0.9), shape)];
            s.case("binary_cross_entropy_with_logits", logits.clone(), move |x| {
                binary_cross_entropy_with_logits(&x[0], &x[1], None, None, reduction)
            });
            s.case("kl_div", logits, move |x| kl_div(&x[0], &x[1], false, reduction));
            let logs = [s.draw.normal(shape), s.draw.normal(shape)];
            s.case("kl_div", logs, move |x| kl_div(&x[0], &x[1], true, reduction));
        }
    }
    let logits = [s.draw.normal([2, 3]), s.draw.uniform((0.1, 0.9), [2, 3])];
    s.case("kl_div", logits.clone(), |x| kl_div(&x[0], &x[1], false, KlReduction::BatchMean));
    let [z, t] = logits;
    let (w, p) = (s.draw.uniform((0.5, 2.0), [2, 1]), s.draw.uniform((0.5, 2.0), [3]));
    s.case("binary_cross_entropy_with_logits", [z.clone(), t.clone(), w.clone(), p.clone()], |x| {
        binary_cross_entropy_with_logits(&x[0], &x[1], Some(&x[2]), Some(&x[3]), Reduction::Mean)
    });
    s.case("binary_cross_entropy_with_logits", [z, t.clone(), p], |x| {
        binary_cross_entropy_with_logits(&x[0], &x[1], None, Some(&x[2]), Reduction::Sum)
    });
    let x = s.draw.uniform((0.1, 0.9), [2, 3]);
    s.case("binary_cross_entropy", [x, t, w], |x| {
        binary_cross_entropy(&x[0], &x[1], Some(&x[2]), Reduction::Mean)
    });
    // At and beyond the limits: predictions of probability 0 and 1, zero logits, equal values.
    let edge = [s.draw.floats([4], &[0.0, 1.0, 0.0, 1.0]), s.draw.floats([4], &[1.0, 0.0, 0.0, 1.0])];
    s.kink("binary_cross_entropy", edge.clone(), |x| {
        binary_cross_entropy(&x[0], &x[1], None, Reduction::None)
    });
    s.case("binary_cross_entropy_with_logits", edge.clone(), |x| {
        binary_cross_entropy_with_logits(&x[0], &x[1], None, None, Reduction::None)
    });
    s.kink("kl_div", edge.clone(), |x| kl_div(&x[0], &x[1], false, Reduction::None));
    s.kink("l1_loss", edge.clone(), |x| l1_loss(&x[0], &x[1], Reduction::None));
    s.kink("smooth_l1_loss", edge.clone(), |x| smooth_l1_loss(&x[0], &x[1], 1.0, Reduction::None));
    s.kink("huber_loss", edge, |x| huber_loss(&x[0], &x[1], 1.0, Reduction::None));
    let (column, matrix) = (s.draw.normal([2, 1]), s.draw.normal([2, 3]));
    s.case("mse_loss", [column, matrix], |x| mse_loss(&x[0], &x[1], Reduction::Mean));
}
