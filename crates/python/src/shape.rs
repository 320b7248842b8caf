//! Views and other movements of elements.

use crate::error::{raise, type_error, value_error};
use crate::tensor::{PyTensor, result};
use crate::value::{Count, Dim, Operand, PerAxis, T, dim_or_axis, extents, integers_or, list};
use crate::view::View;
use gradus::{DType, Dims, Ix, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

fn axis(slf: &Bound<'_, PyTensor>, dim: isize) -> PyResult<usize> {
    axis_of(&slf.get().value(slf.py())?, dim)
}

pub(crate) fn axis_of(x: &Tensor, dim: isize) -> PyResult<usize> {
    use gradus::Axes;
    Ok(raise(dim.resolve(x.rank()))?[0])
}

/// Makes a view with other extents.
fn reshaped(slf: &Bound<'_, PyTensor>, dims: Vec<i64>) -> PyResult<PyTensor> {
    PyTensor::part_of(slf, View::Reshape(dims))
}

fn shape(slf: &Bound<'_, PyTensor>) -> PyResult<Vec<i64>> {
    Ok(slf.get().value(slf.py())?.shape().dims())
}

/// Extracts a list of tensors.
pub(crate) fn tensors(obj: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    match obj.cast_exact::<PyList>() {
        Ok(list) => list.iter().map(|t| Ok(t.extract::<T>()?.0)).collect(),
        Err(_) => obj.try_iter()?.map(|t| Ok(t?.extract::<T>()?.0)).collect(),
    }
}

/// Makes views of consecutive parts along an axis.
fn parts(slf: &Bound<'_, PyTensor>, a: usize, sizes: &[usize]) -> PyResult<Vec<PyTensor>> {
    let mut from = 0;
    let part = |&n: &usize| {
        let mut entries = vec![Ix::from(..); a];
        entries.push(Ix::Range(Some(from as isize), Some((from + n) as isize), 1));
        from += n;
        PyTensor::part_of(slf, View::At(entries))
    };
    sizes.iter().map(part).collect()
}

/// Reinterprets the bytes of a tensor as another dtype: a copy, because values never change.
fn as_dtype(slf: &Bound<'_, PyTensor>, dtype: DType) -> PyResult<PyTensor> {
    let x = slf.get().value(slf.py())?;
    let (old, new) = (x.dtype().size(), dtype.size());
    let mut shape = x.shape().to_vec();
    if old != new {
        let Some(last) = shape.last_mut() else {
            return Err(value_error(format!("a scalar tensor cannot be viewed as elements of {new} bytes")));
        };
        if *last * old % new != 0 {
            let why = format!("rows of {} bytes cannot be divided into elements of {new} bytes", *last * old);
            return Err(value_error(why));
        }
        *last = *last * old / new;
    }
    PyTensor::part_of(slf, View::Bytes(gradus::Aval::new(dtype, shape)))
}

#[pymethods]
impl PyTensor {
    /// The same elements with other extents, one of which may be -1.
    ///
    /// >>> import gradus
    /// >>> gradus.arange(6).view(2, -1)
    /// tensor([[0, 1, 2],
    ///         [3, 4, 5]])
    #[pyo3(signature = (*args, size=None, dtype=None))]
    fn view(
        slf: &Bound<'_, PyTensor>,
        args: &Bound<'_, PyTuple>,
        size: Option<&Bound<'_, PyAny>>,
        dtype: Option<crate::dtype::DTypeArg>,
    ) -> PyResult<PyTensor> {
        if let Some(dtype) = dtype {
            return as_dtype(slf, dtype.0);
        }
        if let Ok(dtype) = args.get_item(0).and_then(|d| Ok(d.cast::<crate::dtype::PyDType>()?.get().0)) {
            return as_dtype(slf, dtype);
        }
        reshaped(slf, integers_or(args, size)?)
    }

    /// The same elements with other extents, one of which may be -1.
    #[doc = example!(reshape)]
    #[pyo3(signature = (*args, shape=None))]
    fn reshape(
        slf: &Bound<'_, PyTensor>,
        args: &Bound<'_, PyTuple>,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        reshaped(slf, integers_or(args, shape)?)
    }

    /// The same elements with the extents of another tensor.
    #[doc = example!(view_as)]
    fn view_as(slf: &Bound<'_, PyTensor>, other: T) -> PyResult<PyTensor> {
        reshaped(slf, other.0.shape().dims())
    }

    /// The same elements with the extents of another tensor.
    #[doc = example!(reshape_as)]
    fn reshape_as(slf: &Bound<'_, PyTensor>, other: T) -> PyResult<PyTensor> {
        reshaped(slf, other.0.shape().dims())
    }

    /// Reorders the axes.
    #[doc = example!(permute)]
    #[pyo3(signature = (*args, dims=None))]
    fn permute(
        slf: &Bound<'_, PyTensor>,
        args: &Bound<'_, PyTuple>,
        dims: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        PyTensor::part_of(
            slf,
            View::Permute(integers_or(args, dims)?.into_iter().map(|d| d as isize).collect()),
        )
    }

    /// Swaps two axes.
    #[doc = example!(transpose)]
    fn transpose(slf: &Bound<'_, PyTensor>, dim0: isize, dim1: isize) -> PyResult<PyTensor> {
        let rank = slf.get().value(slf.py())?.rank();
        if rank == 0 {
            return PyTensor::part_of(slf, View::Permute(Vec::new()));
        }
        let (a, b) = (axis(slf, dim0)?, axis(slf, dim1)?);
        let mut axes: Vec<isize> = (0..rank as isize).collect();
        axes.swap(a, b);
        PyTensor::part_of(slf, View::Permute(axes))
    }

    /// Swaps two axes.
    #[doc = example!(swapaxes)]
    fn swapaxes(slf: &Bound<'_, PyTensor>, axis0: isize, axis1: isize) -> PyResult<PyTensor> {
        PyTensor::transpose(slf, axis0, axis1)
    }

    /// Swaps two axes.
    #[doc = example!(swapdims)]
    fn swapdims(slf: &Bound<'_, PyTensor>, dim0: isize, dim1: isize) -> PyResult<PyTensor> {
        PyTensor::transpose(slf, dim0, dim1)
    }

    /// Transposes a matrix.
    #[doc = example!(t)]
    fn t(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        match slf.get().value(slf.py())?.rank() {
            0 | 1 => PyTensor::part_of(slf, View::At(vec![Ix::Rest])),
            2 => PyTensor::transpose(slf, 0, 1),
            n => Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
                "t() needs a tensor of at most 2 axes, not {n}"
            ))),
        }
    }

    /// The tensor with its axes in reverse order.
    #[getter]
    fn T(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        let rank = slf.get().value(slf.py())?.rank() as isize;
        PyTensor::part_of(slf, View::Permute((0..rank).rev().collect()))
    }

    /// The tensor with its last two axes swapped.
    #[getter]
    fn mT(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::transpose(slf, -2, -1)
    }

    /// Moves axes to other positions.
    #[doc = example!(movedim)]
    fn movedim(slf: &Bound<'_, PyTensor>, source: Dim, destination: Dim) -> PyResult<PyTensor> {
        use gradus::Axes;
        let x = slf.get().value(slf.py())?;
        raise(x.movedim(source.clone(), destination.clone()).check())?;
        let rank = x.rank() as isize;
        let axes_of = |d: Dim| raise(d.resolve(x.rank())).map(|all| all.into_iter().map(|a| a as isize));
        let (from, to): (Vec<isize>, Vec<isize>) =
            (axes_of(source)?.collect(), axes_of(destination)?.collect());
        let mut rest = (0..rank).filter(|a| !from.contains(a));
        let source_of = |j: isize| to.iter().position(|t| *t == j).map(|k| from[k]).or_else(|| rest.next());
        PyTensor::part_of(slf, View::Permute((0..rank).filter_map(source_of).collect()))
    }

    /// Broadcasts axes of extent 1; -1 keeps an extent.
    #[doc = example!(expand)]
    #[pyo3(signature = (*args, size=None))]
    fn expand(
        slf: &Bound<'_, PyTensor>,
        args: &Bound<'_, PyTuple>,
        size: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        let dims = integers_or(args, size)?;
        let whole = slf.get().value(slf.py())?.expand(dims);
        raise(whole.check())?;
        PyTensor::part_of(slf, View::Expand(whole.shape().to_vec()))
    }

    /// Broadcasts to the extents of another tensor.
    #[doc = example!(expand_as)]
    fn expand_as(slf: &Bound<'_, PyTensor>, other: T) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Expand(other.0.shape().to_vec()))
    }

    /// Broadcasts to these extents.
    #[doc = example!(broadcast_to)]
    fn broadcast_to(slf: &Bound<'_, PyTensor>, size: PerAxis) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Expand(size.0))
    }

    /// Removes axes of extent 1: all, or these.
    #[doc = example!(squeeze)]
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn squeeze(slf: &Bound<'_, PyTensor>, dim: Option<Dim>, axis: Option<Dim>) -> PyResult<PyTensor> {
        use gradus::Axes;
        let x = slf.get().value(slf.py())?;
        let axes = match dim.or(axis) {
            // As in PyTorch, an empty list stands for no axis here, but for all axes in reductions.
            Some(Dim(None)) => Vec::new(),
            dim => raise(dim.unwrap_or(Dim(None)).resolve(x.rank()))?,
        };
        let named = gradus::ir::axis_mask(&axes, x.rank());
        let kept = |(a, &d): (usize, &usize)| (d != 1 || !named[a]).then_some(d as i64);
        reshaped(slf, x.shape().iter().enumerate().filter_map(kept).collect())
    }

    /// Inserts an axis of extent 1.
    #[doc = example!(unsqueeze)]
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn unsqueeze(slf: &Bound<'_, PyTensor>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis, "unsqueeze")?;
        let mut dims = shape(slf)?;
        let at = if dim < 0 { dim + dims.len() as isize + 1 } else { dim };
        if at < 0 || at as usize > dims.len() {
            let why = format!("a new axis {dim} is out of range for rank {}", dims.len());
            return Err(pyo3::exceptions::PyIndexError::new_err(why));
        }
        dims.insert(at as usize, 1);
        reshaped(slf, dims)
    }

    /// Merges several axes into one.
    #[doc = example!(flatten)]
    #[pyo3(signature = (start_dim=0, end_dim=-1), text_signature = "($self, start_dim=0, end_dim=-1)")]
    fn flatten(slf: &Bound<'_, PyTensor>, start_dim: isize, end_dim: isize) -> PyResult<PyTensor> {
        let flat = slf.get().value(slf.py())?;
        let flat = if flat.rank() == 0 { flat.reshape([1usize]) } else { flat.flatten(start_dim, end_dim) };
        raise(flat.check())?;
        reshaped(slf, flat.shape().dims())
    }

    /// Flattens to a vector.
    #[doc = example!(ravel)]
    fn ravel(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::flatten(slf, 0, -1)
    }

    /// Splits one axis into several.
    #[doc = example!(unflatten)]
    fn unflatten(slf: &Bound<'_, PyTensor>, dim: isize, sizes: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let cut = slf.get().value(slf.py())?.unflatten(dim, list(sizes)?);
        raise(cut.check())?;
        reshaped(slf, cut.shape().dims())
    }

    /// `length` elements of an axis from `start`.
    #[doc = example!(narrow)]
    fn narrow(slf: &Bound<'_, PyTensor>, dim: isize, start: isize, length: isize) -> PyResult<PyTensor> {
        let a = axis(slf, dim)?;
        let n = shape(slf)?[a] as isize;
        let from = if start < 0 { start + n } else { start };
        if from < 0 || length < 0 || length > n - from {
            let why = format!("{length} elements from {start} are not within an extent of {n}");
            return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
        }
        let mut entries = vec![Ix::from(..); a];
        entries.push(Ix::Range(Some(from), Some(from + length), 1));
        PyTensor::part_of(slf, View::At(entries))
    }

    /// The slice at one position of an axis.
    #[doc = example!(select)]
    fn select(slf: &Bound<'_, PyTensor>, dim: isize, index: isize) -> PyResult<PyTensor> {
        let mut entries = vec![Ix::from(..); axis(slf, dim)?];
        entries.push(Ix::At(index));
        PyTensor::part_of(slf, View::At(entries))
    }

    /// Splits an axis into parts of one size, or of these sizes.
    #[doc = example!(split)]
    #[pyo3(signature = (split_size, dim=0))]
    fn split(
        slf: &Bound<'_, PyTensor>,
        split_size: &Bound<'_, PyAny>,
        dim: isize,
    ) -> PyResult<Vec<PyTensor>> {
        let a = axis(slf, dim)?;
        let n = shape(slf)?[a] as usize;
        if split_size.is_instance_of::<PyList>() || split_size.is_instance_of::<PyTuple>() {
            let sizes = extents(list(split_size)?)?;
            if sizes.iter().sum::<usize>() != n {
                return Err(value_error(format!("sizes {sizes:?} do not add up to the extent {n}")));
            }
            return parts(slf, a, &sizes);
        }
        match crate::value::integer(split_size)? {
            size if size > 0 => {
                let size = size as usize;
                let sizes: Vec<usize> = (0..n.max(1)).step_by(size).map(|i| size.min(n - i)).collect();
                parts(slf, a, &sizes)
            }
            size => Err(value_error(format!("a part must have at least 1 element, not {size}"))),
        }
    }

    /// Splits an axis into at most this many parts of equal size.
    #[doc = example!(chunk)]
    #[pyo3(signature = (chunks, dim=0, *, axis=None))]
    fn chunk(
        slf: &Bound<'_, PyTensor>,
        chunks: Count,
        dim: isize,
        axis: Option<isize>,
    ) -> PyResult<Vec<PyTensor>> {
        let chunks = chunks.0;
        let a = self::axis(slf, axis.unwrap_or(dim))?;
        if chunks == 0 {
            return Err(value_error("chunks must be at least 1"));
        }
        let n = shape(slf)?[a] as usize;
        let size = n.div_ceil(chunks).max(1);
        let sizes: Vec<usize> = (0..n.max(1)).step_by(size).map(|i| size.min(n - i)).collect();
        parts(slf, a, &sizes)
    }

    /// The slices at each position of an axis.
    #[doc = example!(unbind)]
    #[pyo3(signature = (dim=0, *, axis=None))]
    fn unbind<'py>(
        slf: &Bound<'py, PyTensor>,
        dim: isize,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let a = self::axis(slf, axis.unwrap_or(dim))?;
        let n = shape(slf)?[a] as isize;
        let part = |i: isize| {
            let mut entries = vec![Ix::from(..); a];
            entries.push(Ix::At(i));
            PyTensor::part_of(slf, View::At(entries))
        };
        PyTuple::new(slf.py(), (0..n).map(part).collect::<PyResult<Vec<_>>>()?)
    }

    /// Repeats along each axis.
    #[doc = example!(repeat)]
    #[pyo3(signature = (*args, repeats=None))]
    fn repeat(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        repeats: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        let repeats = extents(integers_or(args, repeats)?)?;
        result(py, &self.value(py)?, |x| x.repeat(&repeats))
    }

    /// Repeats along the last axes.
    #[doc = example!(tile)]
    #[pyo3(signature = (*args, dims=None))]
    fn tile(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        dims: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        let repeats = extents(integers_or(args, dims)?)?;
        result(py, &self.value(py)?, |x| x.tile(&repeats))
    }

    /// Reverses axes.
    #[doc = example!(flip)]
    #[pyo3(signature = (*args, dims=None))]
    fn flip(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        dims: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTensor> {
        let axes: Vec<isize> = integers_or(args, dims)?.into_iter().map(|d| d as isize).collect();
        result(py, &self.value(py)?, |x| x.flip(axes))
    }

    /// Shifts elements along axes; elements that leave at the end reappear at the start.
    #[doc = example!(roll)]
    #[pyo3(signature = (shifts, dims=None))]
    fn roll(&self, py: Python<'_>, shifts: Dim, dims: Option<Dim>) -> PyResult<PyTensor> {
        let shifts: Vec<i64> = shifts.0.unwrap_or_default().into_iter().map(|s| s as i64).collect();
        let axes = dims.and_then(|d| d.0).unwrap_or_default();
        result(py, &self.value(py)?, |x| x.roll(&shifts, &axes))
    }

    /// Rotates by right angles in the plane of two axes.
    #[doc = example!(rot90)]
    #[pyo3(signature = (k=1, dims=None))]
    fn rot90(&self, py: Python<'_>, k: isize, dims: Option<Dim>) -> PyResult<PyTensor> {
        let axes = dims.and_then(|d| d.0).unwrap_or_else(|| vec![0, 1]);
        let [a, b] = axes[..] else { return Err(value_error("dims must be two axes")) };
        result(py, &self.value(py)?, |x| x.rot90(k, a, b))
    }

    /// The lower triangle of matrices.
    #[doc = example!(tril)]
    #[pyo3(signature = (diagonal=0))]
    fn tril(&self, py: Python<'_>, diagonal: isize) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.tril(diagonal))
    }

    /// The upper triangle of matrices.
    #[doc = example!(triu)]
    #[pyo3(signature = (diagonal=0))]
    fn triu(&self, py: Python<'_>, diagonal: isize) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.triu(diagonal))
    }

    /// The diagonal of a matrix, or the matrix with this diagonal.
    #[doc = example!(diag)]
    #[pyo3(signature = (diagonal=0))]
    fn diag(&self, py: Python<'_>, diagonal: isize) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.diag(diagonal))
    }

    /// Matrices with these diagonals.
    #[doc = example!(diag_embed)]
    #[pyo3(signature = (offset=0, dim1=-2, dim2=-1), text_signature = "($self, offset=0, dim1=-2, dim2=-1)")]
    fn diag_embed(&self, py: Python<'_>, offset: isize, dim1: isize, dim2: isize) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.diag_embed(offset, dim1, dim2))
    }

    /// self where the condition is true, other elsewhere.
    #[doc = example!(where)]
    #[pyo3(name = "where")]
    fn where_(&self, py: Python<'_>, condition: T, other: Operand) -> PyResult<PyTensor> {
        check_condition(&condition.0)?;
        PyTensor::out(condition.0.select(&self.value(py)?, other.arg()))
    }

    /// The cross product along an axis of extent 3.
    #[doc = example!(cross)]
    #[pyo3(signature = (other, dim=-1, *, axis=None), text_signature = "($self, other, dim=-1, *, axis=None)")]
    fn cross(&self, py: Python<'_>, other: T, dim: isize, axis: Option<isize>) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.cross(&other.0, axis.unwrap_or(dim)))
    }
}

/// Concatenates tensors along an axis.
#[doc = example!(cat)]
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
pub(crate) fn cat(tensors: &Bound<'_, PyAny>, dim: isize, axis: Option<isize>) -> PyResult<PyTensor> {
    let (all, dim) = (self::tensors(tensors)?, axis.unwrap_or(dim));
    // As in PyTorch, an empty vector, such as `tensor([])`, fits everything and contributes its dtype only.
    let is_nothing = |t: &Tensor| t.rank() == 1 && t.numel() == 0 && t.error().is_none();
    let mut refs: Vec<&Tensor> = all.iter().collect();
    if refs.iter().any(|t| is_nothing(t)) && refs.iter().any(|t| t.rank() != 1) {
        refs.retain(|t| !is_nothing(t));
        let dtype = all.iter().fold(all[0].dtype(), |d, t| d.promote(t.dtype()));
        return PyTensor::out(Tensor::cat(&refs, dim).to_dtype(dtype));
    }
    PyTensor::out(Tensor::cat(&refs, dim))
}

/// Stacks tensors of one shape along a new axis.
#[doc = example!(stack)]
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
pub(crate) fn stack(tensors: &Bound<'_, PyAny>, dim: isize, axis: Option<isize>) -> PyResult<PyTensor> {
    let all = self::tensors(tensors)?;
    let refs: Vec<&Tensor> = all.iter().collect();
    PyTensor::out(Tensor::stack(&refs, axis.unwrap_or(dim)))
}

/// `input` where the condition is true, `other` elsewhere; with a condition alone, the positions where it is
/// true.
#[doc = example!(where)]
#[pyfunction]
#[pyo3(name = "where", signature = (condition, input=None, other=None))]
pub(crate) fn where_<'py>(
    py: Python<'py>,
    condition: T,
    input: Option<Operand>,
    other: Option<Operand>,
) -> PyResult<Bound<'py, PyAny>> {
    use pyo3::IntoPyObjectExt;
    match (input, other) {
        (Some(yes), Some(no)) => {
            check_condition(&condition.0)?;
            let (yes, no) = match (&yes, &no) {
                (Operand::Number(a), Operand::Number(b)) => {
                    let dtype = a.dtype().promote(b.dtype());
                    let of = |n: &gradus::Number| Tensor::from_literal(&n.literal(dtype));
                    (Operand::Tensor(of(a)), Operand::Tensor(of(b)))
                }
                _ => match (yes, no) {
                    (Operand::Tensor(a), Operand::Tensor(b)) => {
                        let (a, b) = crate::operators::balanced(a, b);
                        (Operand::Tensor(a), Operand::Tensor(b))
                    }
                    pair => pair,
                },
            };
            PyTensor::out(condition.0.select(yes.arg(), no.arg()))?.into_bound_py_any(py)
        }
        (None, None) => {
            // A scalar tensor is treated as a vector of one element.
            let (axes, device) = (condition.0.rank().max(1), condition.0.device());
            let at = if condition.0.rank() == 0 { condition.0.reshape([1usize]) } else { condition.0 }
                .nonzero()
                .to(device);
            raise(at.check())?;
            let columns = (0..axes).map(|a| PyTensor::out(at.at((.., a as isize))));
            PyTuple::new(py, columns.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
        _ => Err(type_error("where needs a condition alone, or a condition and two values")),
    }
}

/// Returns an error for conditions that are not boolean.
fn check_condition(x: &Tensor) -> PyResult<()> {
    match x.dtype() {
        DType::Bool | DType::U8 => Ok(()),
        other => {
            let why = format!("where expects a boolean condition, not {}", crate::dtype::name(other));
            Err(crate::error::runtime_error(why))
        }
    }
}

/// Coordinates of a grid: one tensor per vector.
#[doc = example!(meshgrid)]
#[pyfunction]
#[pyo3(signature = (*tensors, indexing="ij"))]
pub(crate) fn meshgrid(tensors: &Bound<'_, PyTuple>, indexing: &str) -> PyResult<Vec<PyTensor>> {
    let how = match indexing {
        "ij" => gradus::Indexing::Ij,
        "xy" => gradus::Indexing::Xy,
        _ => return Err(value_error("indexing must be 'ij' or 'xy'")),
    };
    let all = match tensors.len() {
        1 if !tensors.get_item(0)?.is_instance_of::<PyTensor>() => self::tensors(&tensors.get_item(0)?)?,
        _ => self::tensors(tensors.as_any())?,
    };
    gradus::meshgrid(&all.iter().collect::<Vec<_>>(), how).into_iter().map(PyTensor::out).collect()
}

/// Broadcasts tensors to their common extents.
#[doc = example!(broadcast_tensors)]
#[pyfunction]
#[pyo3(signature = (*tensors))]
pub(crate) fn broadcast_tensors(tensors: &Bound<'_, PyTuple>) -> PyResult<Vec<PyTensor>> {
    let all = self::tensors(tensors.as_any())?;
    let mut shape = gradus::Shape::scalar();
    for t in &all {
        shape = shape
            .broadcast(&t.shape())
            .ok_or_else(|| value_error(format!("extents {shape} and {} do not broadcast", t.shape())))?;
    }
    all.iter().map(|t| PyTensor::out(t.expand(&shape))).collect()
}
