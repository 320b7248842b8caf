//! Margin losses, and losses of Gaussian and Poisson distributions.

use super::activation::wide;
use super::loss::{Reduction, common, elementwise};
use super::stats::pairwise_distance;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::DType;
use gradus_ir::Error;

/// For targets 1 the input, for targets -1 `max(0, margin - input)`.
#[track_caller]
pub fn hinge_embedding_loss(input: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
    elementwise("hinge_embedding_loss", vec![arg("margin", margin)], &[input, target], reduction, |x| {
        let (d, y) = (&x[0], &x[1]);
        y.ne(-1.0).select(d, 0.0) + y.ne(1.0).select(&(margin - d).maximum(0.0), 0.0)
    })
}

/// `max(0, margin - target·(first - second))`: target 1 ranks the first higher, -1 the second.
#[track_caller]
pub fn margin_ranking_loss(
    first: &Tensor,
    second: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Tensor {
    let ins = [first, second, target];
    elementwise("margin_ranking_loss", vec![arg("margin", margin)], &ins, reduction, |x| {
        (margin - &x[2] * (&x[0] - &x[1])).maximum(0.0)
    })
}

/// `log(1 + exp(-target·input))` for targets 1 and -1, without overflow.
#[track_caller]
pub fn soft_margin_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Tensor {
    elementwise("soft_margin_loss", vec![], &[input, target], reduction, |x| {
        (-(&x[0] * &x[1])).logaddexp(0.0)
    })
}

/// For targets 1, one minus the cosine of the rows; for targets -1, `max(0, cosine - margin)`. Rows are along
/// the last axis; a row of zeros has cosine 0.
#[track_caller]
pub fn cosine_embedding_loss(
    first: &Tensor,
    second: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Tensor {
    let ins = [first, second, target];
    let (shape, own) = (first.shape(), target.shape());
    let fits = || {
        let rows = shape.split_last().map(|(_, rows)| rows);
        if second.shape() != shape || rows != Some(&own) {
            let what = format!("rows of {shape} and {} with targets {own}", second.shape());
            return Err(Error::shape(
                what,
                "do not fit: both inputs must have the same shape, and each row needs one target",
            ));
        }
        common(&ins)
    };
    let dtype = match fits() {
        Ok(dtype) => dtype,
        Err(e) => return Tensor::refuse("cosine_embedding_loss", &ins, e),
    };
    let args = vec![arg("margin", margin), reduction.arg()];
    region1("cosine_embedding_loss", args, &ins, |x| {
        let [a, b, y] = [0, 1, 2].map(|i| wide(&x[i].to_dtype(dtype)));
        // Adds PyTorch's epsilon to the squared lengths, so that they are never 0.
        let length = |t: &Tensor| t.square().sum(-1) + 1e-12;
        let cosine = (&a * &b).sum(-1) / (length(&a) * length(&b)).sqrt();
        let apart = (&cosine - margin).maximum(0.0);
        let losses = y.eq(1.0).select(&(1.0 - cosine), &y.eq(-1.0).select(&apart, 0.0));
        reduction.of(&losses).to_dtype(dtype)
    })
}

/// Options of [`triplet_margin_loss`].
#[derive(Clone, Debug)]
pub struct TripletMarginOptions {
    /// Margin by which the positive must be nearer.
    pub margin: f64,
    /// The order of the norm of the distances.
    pub p: f64,
    /// Added to every difference.
    pub eps: f64,
    /// Uses the distance of positive and negative where it is smaller than that of anchor and negative.
    pub swap: bool,
    /// Reduction of the single losses.
    pub reduction: Reduction,
}

impl Default for TripletMarginOptions {
    fn default() -> TripletMarginOptions {
        TripletMarginOptions { margin: 1.0, p: 2.0, eps: 1e-6, swap: false, reduction: Reduction::Mean }
    }
}

/// `max(0, margin + |anchor - positive| - |anchor - negative|)` of rows along the last axis.
#[track_caller]
pub fn triplet_margin_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    options: &TripletMarginOptions,
) -> Tensor {
    let TripletMarginOptions { margin, p, eps, swap, reduction } = *options;
    let ins = [anchor, positive, negative];
    let fits = || {
        let shape = ins.iter().try_fold(anchor.shape(), |s, t| s.broadcast(&t.shape()));
        match shape {
            Some(shape) if shape.rank() > 0 => common(&ins),
            _ => {
                let [a, b, c] = ins.map(|t| t.shape());
                Err(Error::shape(
                    format!("rows of {a}, {b} and {c}"),
                    "do not broadcast to rows of one length",
                ))
            }
        }
    };
    let dtype = match fits() {
        Ok(dtype) => dtype,
        Err(e) => return Tensor::refuse("triplet_margin_loss", &ins, e),
    };
    let args = vec![arg("margin", margin), arg("p", p), arg("eps", eps), arg("swap", swap), reduction.arg()];
    region1("triplet_margin_loss", args, &ins, |x| {
        let [a, b, c] = [0, 1, 2].map(|i| wide(&x[i].to_dtype(dtype)));
        let distance = |a: &Tensor, b: &Tensor| pairwise_distance(a, b, p, eps, false);
        let (near, far) = (distance(&a, &b), distance(&a, &c));
        let far = if swap { far.minimum(&distance(&b, &c)) } else { far };
        reduction.of(&(near - far + margin).maximum(0.0)).to_dtype(dtype)
    })
}

/// `(log v + (input - target)² / v) / 2` for a Gaussian of variance `v`, plus `log(2π) / 2` if `full`.
/// Variances are clamped to at least `eps`, without changing their gradient. The variance has the input's
/// shape, or one value for each row of the last axis.
#[track_caller]
pub fn gaussian_nll_loss(
    input: &Tensor,
    target: &Tensor,
    variance: &Tensor,
    full: bool,
    eps: f64,
    reduction: Reduction,
) -> Tensor {
    let ins = [input, target, variance];
    let (shape, own) = (input.shape(), variance.shape());
    let rows = shape.split_last().is_some_and(|(_, rows)| *own == *rows);
    let wide = if rows { variance.unsqueeze(-1) } else { variance.clone() };
    let column = || {
        wide.rank() == shape.rank()
            && wide.dim(-1) == 1
            && shape[..shape.rank() - 1] == wide.shape()[..shape.rank() - 1]
    };
    if wide.shape() != shape && wide.rank() > 0 && !column() {
        let why = format!(
            "does not fit the input's {shape}: it must have that shape, or one element for each row of the last axis"
        );
        let e = Error::shape(format!("a variance of shape {own}"), why);
        return Tensor::refuse("gaussian_nll_loss", &ins, e);
    }
    let ins = [input, target, &wide];
    let args = vec![arg("full", full), arg("eps", eps)];
    elementwise("gaussian_nll_loss", args, &ins, reduction, |x| {
        let (d, v) = (&x[0] - &x[1], &x[2]);
        let v = v + (v.maximum(eps) - v).stop_gradient();
        let losses = (v.log() + d.square() / v) * 0.5;
        if full { losses + 0.5 * (2.0 * std::f64::consts::PI).ln() } else { losses }
    })
}

/// Options of [`poisson_nll_loss`].
#[derive(Clone, Debug)]
pub struct PoissonNllOptions {
    /// If true, the input is the logarithm of the rate.
    pub log_input: bool,
    /// If true, `log(target!)` is added, by Stirling's formula, where the target is above 1.
    pub full: bool,
    /// Added to a rate before its logarithm is taken.
    pub eps: f64,
    /// Reduction of the single losses.
    pub reduction: Reduction,
}

impl Default for PoissonNllOptions {
    fn default() -> PoissonNllOptions {
        PoissonNllOptions { log_input: true, full: false, eps: 1e-8, reduction: Reduction::Mean }
    }
}

/// `rate - target·log(rate)` for counts of a Poisson distribution.
#[track_caller]
pub fn poisson_nll_loss(input: &Tensor, target: &Tensor, options: &PoissonNllOptions) -> Tensor {
    let PoissonNllOptions { log_input, full, eps, reduction } = *options;
    let args = vec![arg("log_input", log_input), arg("full", full), arg("eps", eps)];
    elementwise("poisson_nll_loss", args, &[input, target], reduction, |x| {
        let (r, t) = (&x[0], &x[1]);
        let losses = if log_input { r.exp() - t * r } else { r - t * (r + eps).log() };
        if !full {
            return losses;
        }
        let above = t.gt(1.0);
        let n = above.select(t, 1.0);
        let stirling = &n * n.log() - &n + (&n * (2.0 * std::f64::consts::PI)).log() * 0.5;
        losses + above.select(&stirling, 0.0)
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    use Reduction::{Mean, None, Sum};
    let signs = s.draw.floats([2, 3], &[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]);
    let spread = s.draw.floats([2, 3], &[0.4, 0.3, 1.5, 1.6, -0.7, 0.2]);
    for reduction in [Mean, Sum, None] {
        // The target is compared only. As an integer it has no derivative to check.
        let ins = [spread.clone(), signs.cast(DType::I64)];
        s.case("hinge_embedding_loss", ins, move |x| hinge_embedding_loss(&x[0], &x[1], 1.0, reduction));
        let ins = [spread.clone(), s.draw.uniform((2.0, 3.0), [2, 3]), signs.clone()];
        s.case("margin_ranking_loss", ins, move |x| margin_ranking_loss(&x[0], &x[1], &x[2], 0.5, reduction));
        let ins = [s.draw.normal([2, 3]), signs.clone()];
        s.case("soft_margin_loss", ins, move |x| soft_margin_loss(&x[0], &x[1], reduction));
        let row = s.draw.floats([3], &[1.0, -1.0, 0.0]).cast(DType::I64);
        let ins = [s.draw.uniform((0.5, 2.0), [3, 4]), s.draw.uniform((0.5, 2.0), [3, 4]), row];
        s.case("cosine_embedding_loss", ins, move |x| {
            cosine_embedding_loss(&x[0], &x[1], &x[2], 0.1, reduction)
        });
        for (k, p) in [2.0, 1.0, 3.5, f64::INFINITY].into_iter().enumerate() {
            let options = TripletMarginOptions { margin: 9.0, p, swap: k % 2 == 1, reduction, eps: 1e-6 };
            let ins = [s.draw.distinct([3, 4]), s.draw.normal([3, 4]), s.draw.uniform((-9.0, -8.0), [3, 4])];
            s.case("triplet_margin_loss", ins, move |x| triplet_margin_loss(&x[0], &x[1], &x[2], &options));
        }
        for variance in [&[2, 3][..], &[2, 1], &[2], &[]] {
            let ins = [s.draw.normal([2, 3]), s.draw.normal([2, 3]), s.draw.uniform((0.5, 2.0), variance)];
            let full = variance.len() == 1;
            s.case("gaussian_nll_loss", ins, move |x| {
                gaussian_nll_loss(&x[0], &x[1], &x[2], full, 1e-6, reduction)
            });
        }
        for (log_input, full) in [(true, false), (false, true)] {
            let counts = s.draw.floats([2, 3], &[0.0, 2.0, 3.0, 0.5, 4.0, 7.0]);
            let ins = [s.draw.uniform((0.5, 2.0), [2, 3]), counts];
            let options = PoissonNllOptions { log_input, full, eps: 1e-8, reduction };
            s.case("poisson_nll_loss", ins, move |x| poisson_nll_loss(&x[0], &x[1], &options));
        }
    }
    let ins = [s.draw.normal([4]), s.draw.normal([4]), s.draw.floats([], &[1.0]).cast(DType::I64)];
    s.case("cosine_embedding_loss", ins, |x| cosine_embedding_loss(&x[0], &x[1], &x[2], 0.0, Mean));
    let ins =
        [s.draw.floats([1, 2], &[0.0; 2]), s.draw.floats([1, 2], &[1.0, 0.0]), s.draw.floats([1], &[1.0])];
    s.kink("cosine_embedding_loss", ins, |x| cosine_embedding_loss(&x[0], &x[1], &x[2], 0.0, Sum));
    let ins = [s.draw.normal([0, 3]), s.draw.normal([0, 3])];
    s.case("soft_margin_loss", ins, |x| soft_margin_loss(&x[0], &x[1], Sum));
    // At zero and at the margins.
    let ins = [s.draw.floats([3], &[1.0, 1.0, 0.0]), s.draw.floats([3], &[1.0, -1.0, 1.0])];
    s.kink("hinge_embedding_loss", ins.clone(), |x| hinge_embedding_loss(&x[0], &x[1], 1.0, None));
    s.case("soft_margin_loss", ins.clone(), |x| soft_margin_loss(&x[0], &x[1], None));
    let [a, y] = ins;
    s.kink("margin_ranking_loss", [a.clone(), a, y], |x| margin_ranking_loss(&x[0], &x[1], &x[2], 0.0, None));
    for p in [2.0, 1.5, 1.0] {
        let ins = [(); 3].map(|()| s.draw.floats([1, 2], &[1.0, 2.0]));
        let options = TripletMarginOptions { p, eps: 0.0, ..TripletMarginOptions::default() };
        s.kink("triplet_margin_loss", ins, move |x| triplet_margin_loss(&x[0], &x[1], &x[2], &options));
    }
    let ins = [s.draw.normal([2]), s.draw.normal([2]), s.draw.floats([2], &[0.5, 1.0])];
    s.kink("gaussian_nll_loss", ins, |x| gaussian_nll_loss(&x[0], &x[1], &x[2], true, 1.0, None));
}
