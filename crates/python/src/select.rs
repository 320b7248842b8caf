//! Selects elements and slices by positions, by a mask, or repeated: `gather`, `index_select`,
//! `masked_select` and others. Scalar tensors count as vectors of one element, as in PyTorch.

use crate::error::{raise, runtime_error};
use crate::tensor::{PyTensor, result};
use crate::value::{PerAxis, T, extents};
use gradus::{DType, Tensor};
use pyo3::prelude::*;

#[pymethods]
impl PyTensor {
    /// Repeats each element. Without `repeats`, the elements are counts: repeats each index `i` `self[i]` times.
    #[doc = example!(repeat_interleave)]
    #[pyo3(signature = (repeats=None, dim=None, *, output_size=None, axis=None))]
    fn repeat_interleave(
        &self,
        py: Python<'_>,
        repeats: Option<&Bound<'_, PyAny>>,
        dim: Option<isize>,
        output_size: Option<usize>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let (mut x, axis) = (self.value(py)?, dim.or(axis));
        let counts = |t: &Tensor| extents(raise(t.to_dtype(DType::I64).to_vec::<i64>())?);
        let repeats = match repeats.map(|r| (r, r.extract::<T>())) {
            Some((_, Ok(t))) => counts(&t.0)?,
            Some((other, Err(_))) => other.extract::<PerAxis>()?.0,
            None => {
                // Given only counts, repeats each position.
                let repeats = counts(&x)?;
                x = x.device().with(|| Tensor::iota(DType::I64, [repeats.len()], 0));
                repeats
            }
        };
        if let Some(expected) = output_size {
            let along = axis.map_or(x.numel(), |a| if x.rank() == 0 { 1 } else { x.dim(a) });
            let total =
                if repeats.len() == 1 { repeats[0].saturating_mul(along) } else { repeats.iter().sum() };
            if total != expected {
                let why = format!(
                    "repeat_interleave: output_size is {expected}, but the repeats add up to {total}"
                );
                return Err(runtime_error(why));
            }
        }
        result(py, &x, |x| x.repeat_interleave(repeats, axis))
    }

    /// Gathers elements at positions along an axis: out[i, j] = self[index[i, j], j] for dim 0.
    #[doc = example!(gather)]
    #[pyo3(signature = (dim, index, *, sparse_grad=false))]
    fn gather(&self, py: Python<'_>, dim: isize, index: T, sparse_grad: bool) -> PyResult<PyTensor> {
        let _ = sparse_grad; // gradients are dense
        let x = self.value(py)?;
        if index.0.numel() == 0 {
            // PyTorch allows any rank for an empty index.
            return PyTensor::out(x.reshape([-1i64]).narrow(0, 0, 0).reshape(index.0.shape()));
        }
        result(py, &x, |x| x.gather(dim, &index.0))
    }

    /// Gathers slices at positions along an axis.
    #[doc = example!(index_select)]
    fn index_select(&self, py: Python<'_>, dim: isize, index: T) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        if x.rank() > 0 {
            let ids = if index.0.rank() == 0 { index.0.reshape([1usize]) } else { index.0 };
            return result(py, &x, |x| x.index_select(dim, &ids));
        }
        if index.0.numel() != 1 {
            return Err(runtime_error("index_select(): Index to scalar must have exactly 1 value"));
        }
        PyTensor::out(x.reshape([1usize]).index_select(dim, &index.0.reshape([1usize])).reshape(x.shape()))
    }

    /// Gathers elements at positions in row-major order.
    #[doc = example!(take)]
    fn take(&self, py: Python<'_>, index: T) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.take(&index.0))
    }

    /// Gathers elements at positions along an axis; tensor and positions broadcast.
    #[doc = example!(take_along_dim)]
    #[pyo3(signature = (indices, dim=None, *, axis=None))]
    fn take_along_dim(
        &self,
        py: Python<'_>,
        indices: T,
        dim: Option<isize>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.take_along_dim(&indices.0, dim.or(axis)))
    }

    /// The elements where the mask is true, as a vector.
    #[doc = example!(masked_select)]
    fn masked_select(&self, py: Python<'_>, mask: T) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        let x = if x.rank() == 0 && mask.0.rank() == 0 { x.reshape([1usize]) } else { x };
        result(py, &x, |x| x.masked_select(&mask.0))
    }
}
