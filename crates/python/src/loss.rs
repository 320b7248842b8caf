//! Loss functions.

use crate::error::value_error;
use crate::tensor::{PyTensor, result};
use crate::value::T;
use gradus::{
    CrossEntropyOptions, KlReduction, NllOptions, PoissonNllOptions, Reduction, Tensor, TripletMarginOptions,
};
use pyo3::prelude::*;

fn parse_reduction(name: &str) -> PyResult<Reduction> {
    match name {
        "mean" => Ok(Reduction::Mean),
        "sum" => Ok(Reduction::Sum),
        "none" => Ok(Reduction::None),
        other => Err(value_error(format!("reduction {other:?} is not one of none, mean, sum"))),
    }
}

fn optional(t: &Option<T>) -> Option<&Tensor> {
    t.as_ref().map(|t| &t.0)
}

macro_rules! plain {
    ($($name:ident $doc:literal ($($arg:ident: $ty:ty = $default:tt),*);)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        #[pyo3(signature = (input, target, reduction="mean" $(, $arg=$default)*))]
        pub(crate) fn $name(py: Python<'_>, input: T, target: T, reduction: &str $(, $arg: $ty)*) -> PyResult<PyTensor> {
            let how = parse_reduction(reduction)?;
            result(py, &input.0, |x| gradus::$name(x, &target.0, $($arg,)* how))
        }
    )*};
}

plain! {
    mse_loss "The squared difference." ();
    smooth_l1_loss "Squared near 0, absolute beyond beta." (beta: f64 = 1.0);
    huber_loss "Squared near 0, absolute beyond delta." (delta: f64 = 1.0);
    soft_margin_loss "log(1 + exp(-target x))." ();
}

/// Reduces losses for which the core has no composite.
fn reduce(losses: Tensor, how: Reduction) -> Tensor {
    match how {
        Reduction::Mean => losses.mean(()),
        Reduction::Sum => losses.sum(()),
        Reduction::None => losses,
    }
}

/// The absolute difference.
#[doc = example!(l1_loss)]
#[pyfunction]
#[pyo3(signature = (input, target, reduction="mean"))]
pub(crate) fn l1_loss(py: Python<'_>, input: T, target: T, reduction: &str) -> PyResult<PyTensor> {
    let how = parse_reduction(reduction)?;
    if input.0.dtype().is_complex() || target.0.dtype().is_complex() {
        return result(py, &input.0, |x| reduce((x - &target.0).abs(), how));
    }
    result(py, &input.0, |x| gradus::l1_loss(x, &target.0, how))
}

/// x where target is 1, max(0, margin - x) where it is -1.
#[doc = example!(hinge_embedding_loss)]
#[pyfunction]
#[pyo3(signature = (input, target, margin=1.0, reduction="mean"))]
pub(crate) fn hinge_embedding_loss(input: T, target: T, margin: f64, reduction: &str) -> PyResult<PyTensor> {
    PyTensor::out(gradus::hinge_embedding_loss(&input.0, &target.0, margin, parse_reduction(reduction)?))
}

/// Cross entropy of logits and target classes (or class probabilities): -log softmax at the class.
///
/// >>> import gradus
/// >>> gradus.nn.functional.cross_entropy(gradus.zeros(1, 4), gradus.tensor([2]))
/// tensor(1.3863)
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0), text_signature = "(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0)")]
pub(crate) fn cross_entropy(
    py: Python<'_>,
    input: T,
    target: T,
    weight: Option<T>,
    ignore_index: i64,
    reduction: &str,
    label_smoothing: f64,
) -> PyResult<PyTensor> {
    let reduction = parse_reduction(reduction)?;
    let how = CrossEntropyOptions { weight: weight.map(|w| w.0), ignore_index, label_smoothing, reduction };
    result(py, &input.0, |x| gradus::cross_entropy(x, &target.0, &how))
}

/// Negative log-likelihood: minus the log-probability at the target class.
#[doc = example!(nll_loss)]
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, ignore_index=-100, reduction="mean"), text_signature = "(input, target, weight=None, ignore_index=-100, reduction='mean')")]
pub(crate) fn nll_loss(
    py: Python<'_>,
    input: T,
    target: T,
    weight: Option<T>,
    ignore_index: i64,
    reduction: &str,
) -> PyResult<PyTensor> {
    let how =
        NllOptions { weight: weight.map(|w| w.0), ignore_index, reduction: parse_reduction(reduction)? };
    result(py, &input.0, |x| gradus::nll_loss(x, &target.0, &how))
}

/// Binary cross entropy of probabilities and targets.
#[doc = example!(binary_cross_entropy)]
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, reduction="mean"))]
pub(crate) fn binary_cross_entropy(
    input: T,
    target: T,
    weight: Option<T>,
    reduction: &str,
) -> PyResult<PyTensor> {
    PyTensor::out(gradus::binary_cross_entropy(
        &input.0,
        &target.0,
        optional(&weight),
        parse_reduction(reduction)?,
    ))
}

/// Binary cross entropy of logits and targets.
#[doc = example!(binary_cross_entropy_with_logits)]
#[pyfunction]
#[pyo3(signature = (input, target, weight=None, reduction="mean", pos_weight=None))]
pub(crate) fn binary_cross_entropy_with_logits(
    input: T,
    target: T,
    weight: Option<T>,
    reduction: &str,
    pos_weight: Option<T>,
) -> PyResult<PyTensor> {
    let how = parse_reduction(reduction)?;
    PyTensor::out(gradus::binary_cross_entropy_with_logits(
        &input.0,
        &target.0,
        optional(&weight),
        optional(&pos_weight),
        how,
    ))
}

/// The Kullback-Leibler divergence of a target distribution from log-probabilities.
#[doc = example!(kl_div)]
#[pyfunction]
#[pyo3(signature = (input, target, reduction="mean", log_target=false))]
pub(crate) fn kl_div(input: T, target: T, reduction: &str, log_target: bool) -> PyResult<PyTensor> {
    let how = match reduction {
        "batchmean" => KlReduction::BatchMean,
        other => parse_reduction(other)?.into(),
    };
    PyTensor::out(gradus::kl_div(&input.0, &target.0, log_target, how))
}

/// max(0, -target (input1 - input2) + margin).
#[doc = example!(margin_ranking_loss)]
#[pyfunction]
#[pyo3(signature = (input1, input2, target, margin=0.0, reduction="mean"))]
pub(crate) fn margin_ranking_loss(
    input1: T,
    input2: T,
    target: T,
    margin: f64,
    reduction: &str,
) -> PyResult<PyTensor> {
    PyTensor::out(gradus::margin_ranking_loss(
        &input1.0,
        &input2.0,
        &target.0,
        margin,
        parse_reduction(reduction)?,
    ))
}

/// 1 - cos where target is 1, max(0, cos - margin) where it is -1.
#[doc = example!(cosine_embedding_loss)]
#[pyfunction]
#[pyo3(signature = (input1, input2, target, margin=0.0, reduction="mean"))]
pub(crate) fn cosine_embedding_loss(
    input1: T,
    input2: T,
    target: T,
    margin: f64,
    reduction: &str,
) -> PyResult<PyTensor> {
    PyTensor::out(gradus::cosine_embedding_loss(
        &input1.0,
        &input2.0,
        &target.0,
        margin,
        parse_reduction(reduction)?,
    ))
}

/// max(0, d(anchor, positive) - d(anchor, negative) + margin).
#[doc = example!(triplet_margin_loss)]
#[pyfunction]
#[pyo3(signature = (anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=false, reduction="mean"))]
pub(crate) fn triplet_margin_loss(
    anchor: T,
    positive: T,
    negative: T,
    margin: f64,
    p: f64,
    eps: f64,
    swap: bool,
    reduction: &str,
) -> PyResult<PyTensor> {
    let how = TripletMarginOptions { margin, p, eps, swap, reduction: parse_reduction(reduction)? };
    if [&anchor, &positive, &negative].iter().any(|t| t.0.dtype().is_complex()) {
        let distance = |a: &T, b: &T| gradus::pairwise_distance(&a.0, &b.0, p, eps, false);
        let (near, far) = (distance(&anchor, &positive), distance(&anchor, &negative));
        let far = if swap { far.minimum(&distance(&positive, &negative)) } else { far };
        return PyTensor::out(reduce((near - far + margin).maximum(0.0), how.reduction));
    }
    PyTensor::out(gradus::triplet_margin_loss(&anchor.0, &positive.0, &negative.0, &how))
}

/// The negative log-likelihood of a Gaussian with these means and variances.
#[doc = example!(gaussian_nll_loss)]
#[pyfunction]
#[pyo3(signature = (input, target, var, full=false, eps=1e-6, reduction="mean"))]
pub(crate) fn gaussian_nll_loss(
    input: T,
    target: T,
    var: T,
    full: bool,
    eps: f64,
    reduction: &str,
) -> PyResult<PyTensor> {
    PyTensor::out(gradus::gaussian_nll_loss(
        &input.0,
        &target.0,
        &var.0,
        full,
        eps,
        parse_reduction(reduction)?,
    ))
}

/// The negative log-likelihood of counts with Poisson rates (or their logarithms).
#[doc = example!(poisson_nll_loss)]
#[pyfunction]
#[pyo3(signature = (input, target, log_input=true, full=false, eps=1e-8, reduction="mean"))]
pub(crate) fn poisson_nll_loss(
    input: T,
    target: T,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: &str,
) -> PyResult<PyTensor> {
    let how = PoissonNllOptions { log_input, full, eps, reduction: parse_reduction(reduction)? };
    PyTensor::out(gradus::poisson_nll_loss(&input.0, &target.0, &how))
}
