//! Helpers of composites over spatial axes: numbers per axis, scalars of a dtype, constant padding.

use crate::eager::apply::apply1;
use crate::tensor::Tensor;
use gradus_ir::ops::movement::Pad;
use gradus_ir::{Aval, DType, Error, Literal, Result, Shape};

/// One number for all axes, or one number per axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Each(pub Vec<usize>);

impl From<usize> for Each {
    fn from(n: usize) -> Each {
        Each(vec![n])
    }
}

impl<const N: usize> From<[usize; N]> for Each {
    fn from(n: [usize; N]) -> Each {
        Each(n.to_vec())
    }
}

impl From<&[usize]> for Each {
    fn from(n: &[usize]) -> Each {
        Each(n.to_vec())
    }
}

impl From<Vec<usize>> for Each {
    fn from(n: Vec<usize>) -> Each {
        Each(n)
    }
}

impl Each {
    /// Returns one number per axis, or an error if one is below `least` or above `i32::MAX`.
    pub(crate) fn resolve(&self, what: &str, axes: usize, least: usize) -> Result<Vec<usize>> {
        let all = match &self.0[..] {
            [one] => vec![*one; axes],
            each if each.len() == axes => each.to_vec(),
            each => {
                let why = format!("must be one number, or one for each of {axes} axes");
                return Err(Error::value(format!("{what} {each:?}"), why));
            }
        };
        if all.iter().any(|&n| n < least || n > i32::MAX as usize) {
            let why = format!("must be at least {least} and at most {} on every axis", i32::MAX);
            return Err(Error::value(format!("{what} {all:?}"), why));
        }
        Ok(all)
    }
}

/// Splits the extents into the leading ones and the last `axes`.
pub(crate) fn split_shape(shape: &Shape, axes: usize, what: &str) -> Result<(Vec<usize>, Vec<usize>)> {
    match shape.rank().checked_sub(axes) {
        Some(lead) => Ok((shape[..lead].to_vec(), shape[lead..].to_vec())),
        None => {
            let why = format!("has too few axes: {what} is over the last {axes}");
            Err(Error::shape(format!("shape {shape}"), why))
        }
    }
}

/// Returns a memory error if a result with these last extents, or an index table per extent, cannot be
/// allocated. Must be called before tables are built: building tables as large as the memory would take long.
pub(crate) fn check_memory(x: &Tensor, size: &[usize]) -> Result<()> {
    let shape = x.shape();
    let lead = &shape[..shape.rank().saturating_sub(size.len())];
    let all = lead.iter().chain(size).try_fold(x.dtype().size(), |n, &m| n.checked_mul(m));
    // Per position: a bin (two numbers), an index and a weight, 8 bytes each.
    let tables = size.iter().try_fold(0_usize, |n, &m| n.checked_add(m.checked_mul(32)?));
    let bytes = all.zip(tables).and_then(|(a, t)| a.checked_add(t));
    gradus_ir::reference::check_bytes(bytes.unwrap_or(usize::MAX))
}

/// Returns the first operand that has failed.
pub(crate) fn failed(ins: &[&Tensor]) -> Option<Tensor> {
    ins.iter().find(|t| t.error().is_some()).map(|t| (*t).clone())
}

/// Makes a scalar of a dtype.
#[track_caller]
pub(crate) fn scalar(dtype: DType, value: f64) -> Tensor {
    Tensor::from_literal(&Literal::scalar(dtype, value))
}

/// Makes a constant of integers.
#[track_caller]
pub(crate) fn integers(values: Vec<i64>, shape: impl Into<Shape>) -> Tensor {
    Tensor::from_slice(&values, shape)
}

/// Makes a constant of a dtype from floats.
#[track_caller]
pub(crate) fn floats(dtype: DType, values: Vec<f64>, shape: impl Into<Shape>) -> Tensor {
    Tensor::from_slice(&values, shape).to_dtype(dtype)
}

/// Pads the last axes with a value; negative numbers crop.
#[track_caller]
pub(crate) fn pad_with(x: &Tensor, low: &[i64], high: &[i64], value: f64) -> Tensor {
    if low.iter().chain(high).all(|&n| n == 0) {
        return x.clone();
    }
    let padding: Vec<(i64, i64)> = low.iter().copied().zip(high.iter().copied()).collect();
    let padded = x.pad_zeros(&padding);
    if value == 0.0 && value.is_sign_positive() || low.iter().chain(high).all(|&n| n <= 0) {
        return padded;
    }
    // Pads with zeros, then selects the value outside of the input.
    let shape = x.shape();
    let spatial = &shape[shape.rank().saturating_sub(low.len())..];
    let inside = Tensor::full_of(&Aval::new(DType::Bool, spatial), 1.0);
    let pad = Pad { low: low.to_vec(), high: high.to_vec(), interior: vec![0; low.len()] };
    apply1(pad, &[&inside]).select(&padded, &scalar(x.dtype(), value))
}

/// Converts to signed numbers. The values must be extents or results of [`Each::resolve`], which fit.
pub(crate) fn signed(values: &[usize]) -> Vec<i64> {
    values.iter().map(|&n| n as i64).collect()
}
