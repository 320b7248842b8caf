//! Normalization, and norms and angles of vectors.

use crate::error::{raise, value_error};
use crate::tensor::{PyTensor, compute, result};
use crate::value::{PerAxis, T};
use pyo3::prelude::*;

/// Normalizes to mean 0 and variance 1 over the last axes, then applies weight and bias.
#[doc = example!(layer_norm)]
#[pyfunction]
#[pyo3(signature = (input, normalized_shape, weight=None, bias=None, eps=1e-5))]
pub(crate) fn layer_norm(
    py: Python<'_>,
    input: T,
    normalized_shape: PerAxis,
    weight: Option<T>,
    bias: Option<T>,
    eps: f64,
) -> PyResult<PyTensor> {
    let (w, b) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
    result(py, &input.0, |x| x.layer_norm(normalized_shape.0, w, b, eps))
}

/// Divides by the root mean square over the last axes, then applies the weight.
#[doc = example!(rms_norm)]
#[pyfunction]
#[pyo3(signature = (input, normalized_shape, weight=None, eps=None))]
pub(crate) fn rms_norm(
    py: Python<'_>,
    input: T,
    normalized_shape: PerAxis,
    weight: Option<T>,
    eps: Option<f64>,
) -> PyResult<PyTensor> {
    result(py, &input.0, |x| x.rms_norm(normalized_shape.0, weight.as_ref().map(|w| &w.0), eps))
}

/// Normalizes to mean 0 and variance 1 within groups of channels.
#[doc = example!(group_norm)]
#[pyfunction]
#[pyo3(signature = (input, num_groups, weight=None, bias=None, eps=1e-5))]
pub(crate) fn group_norm(
    py: Python<'_>,
    input: T,
    num_groups: usize,
    weight: Option<T>,
    bias: Option<T>,
    eps: f64,
) -> PyResult<PyTensor> {
    let (w, b) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
    result(py, &input.0, |x| x.group_norm(num_groups, w, b, eps))
}

/// Normalizes to mean 0 and variance 1 within each channel of each example.
#[doc = example!(instance_norm)]
#[pyfunction]
#[pyo3(signature = (input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=true, momentum=0.1, eps=1e-5))]
pub(crate) fn instance_norm(
    py: Python<'_>,
    input: T,
    running_mean: Option<T>,
    running_var: Option<T>,
    weight: Option<T>,
    bias: Option<T>,
    use_input_stats: bool,
    momentum: f64,
    eps: f64,
) -> PyResult<PyTensor> {
    if running_mean.is_some() || running_var.is_some() || !use_input_stats {
        return Err(value_error("instance_norm does not support running statistics"));
    }
    let _ = momentum;
    let (w, b) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
    result(py, &input.0, |x| x.instance_norm(w, b, eps))
}

/// Normalizes each channel to mean 0 and variance 1 over the batch; in training, updates the running
/// statistics in place.
#[doc = example!(batch_norm)]
#[pyfunction]
#[pyo3(signature = (input, running_mean=None, running_var=None, weight=None, bias=None, training=false, momentum=0.1, eps=1e-5))]
pub(crate) fn batch_norm(
    py: Python<'_>,
    input: T,
    running_mean: Option<&Bound<'_, PyTensor>>,
    running_var: Option<&Bound<'_, PyTensor>>,
    weight: Option<T>,
    bias: Option<T>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> PyResult<PyTensor> {
    if input.0.rank() == 1 && input.0.numel() == 0 {
        // As in PyTorch, a batch without items is returned unchanged.
        return PyTensor::out(input.0.clone());
    }
    let how = gradus::BatchNormOptions { training, momentum, eps };
    let running = match (running_mean, running_var) {
        (Some(m), Some(v)) => Some((m.get().value(py)?, v.get().value(py)?)),
        (None, None) => None,
        _ => return Err(value_error("running_mean and running_var must both be present or both be None")),
    };
    let (w, b) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
    let (y, mean, var) =
        compute(py, &input.0, |x| x.batch_norm(running.as_ref().map(|(m, v)| (m, v)), w, b, &how));
    raise(y.check())?;
    if let (true, Some(m), Some(v)) = (training, running_mean, running_var) {
        m.get().write(py, mean.detach())?;
        v.get().write(py, var.detach())?;
    }
    PyTensor::out(y)
}

/// Divides by a power of the mean square over adjacent channels.
#[doc = example!(local_response_norm)]
#[pyfunction]
#[pyo3(signature = (input, size, alpha=1e-4, beta=0.75, k=1.0))]
pub(crate) fn local_response_norm(
    input: T,
    size: usize,
    alpha: f64,
    beta: f64,
    k: f64,
) -> PyResult<PyTensor> {
    if input.0.numel() == 0 {
        // Empty integer tensors keep their dtype, as in PyTorch.
        return PyTensor::out(input.0.clone());
    }
    PyTensor::out(input.0.local_response_norm(size, alpha, beta, k))
}

/// Scales to norm 1 along an axis.
#[doc = example!(normalize)]
#[pyfunction]
#[pyo3(signature = (input, p=2.0, dim=1, eps=1e-12))]
pub(crate) fn normalize(input: T, p: f64, dim: isize, eps: f64) -> PyResult<PyTensor> {
    if input.0.rank() == 0 {
        return PyTensor::out(input.0.unsqueeze(0).normalize(p, dim, eps).reshape([0_usize; 0]));
    }
    PyTensor::out(input.0.normalize(p, dim, eps))
}

/// The cosine of the angle between vectors along an axis.
#[doc = example!(cosine_similarity)]
#[pyfunction]
#[pyo3(signature = (x1, x2, dim=1, eps=1e-8))]
pub(crate) fn cosine_similarity(x1: T, x2: T, dim: isize, eps: f64) -> PyResult<PyTensor> {
    if x1.0.rank() == 0 && x2.0.rank() == 0 {
        return PyTensor::out(gradus::cosine_similarity(&x1.0.unsqueeze(0), &x2.0.unsqueeze(0), dim, eps));
    }
    PyTensor::out(gradus::cosine_similarity(&x1.0, &x2.0, dim, eps))
}

/// The distance of vectors along the last axis.
#[doc = example!(pairwise_distance)]
#[pyfunction]
#[pyo3(signature = (x1, x2, p=2.0, eps=1e-6, keepdim=false))]
pub(crate) fn pairwise_distance(x1: T, x2: T, p: f64, eps: f64, keepdim: bool) -> PyResult<PyTensor> {
    PyTensor::out(gradus::pairwise_distance(&x1.0, &x2.0, p, eps, keepdim))
}
