//! Attention and rotary position embeddings.

use crate::error::raise;
use crate::tensor::{PyTensor, result};
use crate::value::T;
use gradus::{AttentionOptions, Error};
use pyo3::prelude::*;

/// Computes softmax(q kᵀ scale) v. `scale` is 1 / sqrt(d) by default. The mask has booleans, or numbers that
/// are added to the scores.
///
/// Two keywords have no counterpart in PyTorch. With `window`, query i sees only the last `window` keys up to
/// i. With `softcap`, scores s become softcap tanh(s / softcap) before the mask.
#[doc = example!(scaled_dot_product_attention)]
#[pyfunction]
#[pyo3(signature = (query, key, value, attn_mask=None, dropout_p=0.0, is_causal=false, scale=None, enable_gqa=false, *, window=None, softcap=None))]
pub(crate) fn scaled_dot_product_attention(
    py: Python<'_>,
    query: T,
    key: T,
    value: T,
    attn_mask: Option<T>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
    window: Option<usize>,
    softcap: Option<f64>,
) -> PyResult<PyTensor> {
    if is_causal && attn_mask.is_some() {
        let why = "explicit attn_mask should not be set when is_causal=True";
        return raise(Err(Error::value("scaled_dot_product_attention", why)));
    }
    let how = AttentionOptions {
        mask: attn_mask.map(|m| m.0),
        causal: is_causal,
        window,
        scale,
        softcap,
        dropout: dropout_p,
        enable_gqa,
        ..AttentionOptions::default()
    };
    result(py, &query.0, |q| gradus::scaled_dot_product_attention(q, &key.0, &value.0, &how))
}

/// Rotary position embedding of (..., positions, features).
///
/// Feature i of the first half and feature i of the second half are rotated together by (offset + position)
/// base^(-2i/d).
#[doc = example!(rope)]
#[pyfunction]
#[pyo3(signature = (input, base=10000.0, offset=0))]
pub(crate) fn rope(py: Python<'_>, input: T, base: f64, offset: i64) -> PyResult<PyTensor> {
    result(py, &input.0, |x| x.rope(base, offset))
}

/// `rope` at the given positions, which broadcast to the shape of the input without its last axis.
///
/// Positions are integers or floats and receive no gradient.
#[doc = example!(rope_at)]
#[pyfunction]
#[pyo3(signature = (input, positions, base=10000.0))]
pub(crate) fn rope_at(py: Python<'_>, input: T, positions: T, base: f64) -> PyResult<PyTensor> {
    result(py, &input.0, |x| x.rope_at(&positions.0, base))
}

/// Applies `rope` with tables of cosines and sines, which have one entry for each feature or for each pair of
/// features.
///
/// The tables broadcast to the shape of the input on the other axes, and receive gradients.
#[doc = example!(rope_with)]
#[pyfunction]
pub(crate) fn rope_with(py: Python<'_>, input: T, cos: T, sin: T) -> PyResult<PyTensor> {
    result(py, &input.0, |x| x.rope_with(&cos.0, &sin.0))
}
