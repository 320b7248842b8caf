//! Reductions, cumulative operations, sorting, and statistics.

use crate::dtype::DTypeArg;
use crate::error::{raise, value_error};
use crate::tensor::{PyTensor, compute, result};
use crate::value::{Dim, Operand, T, dim_or_axis};
use gradus::{Axes, DType, Error, Kind, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBool;

fn cast(x: Tensor, dtype: Option<DTypeArg>) -> Tensor {
    dtype.map_or_else(|| x.clone(), |d| x.to_dtype(d.0))
}

/// The nuclear norms (sums of singular values) of the matrices along two axes, by default the last two.
fn nuclear(py: Python<'_>, x: Tensor, dim: Option<Vec<isize>>, keepdim: bool) -> PyResult<PyTensor> {
    let axes = match dim {
        Some(axes) => axes,
        None if x.rank() == 2 => vec![0, 1],
        None => {
            return Err(crate::error::runtime_error(
                "norm of order 'nuc': without dim the tensor must be a matrix",
            ));
        }
    };
    let [rows, columns] = axes[..] else {
        return Err(crate::error::runtime_error("norm of order 'nuc': dim must be two axes"));
    };
    result(py, &x, |x| {
        let sums = x.movedim([rows, columns], [-2, -1]).svdvals().sum(-1);
        match keepdim {
            true => sums.unsqueeze(-1).unsqueeze(-1).movedim([-2, -1], [rows, columns]),
            false => sums,
        }
    })
}

macro_rules! reductions {
    ($($name:ident $keep:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None, axis=None, keepdims=false))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<Dim>,
                keepdim: bool,
                dtype: Option<DTypeArg>,
                axis: Option<Dim>,
                keepdims: bool,
            ) -> PyResult<PyTensor> {
                let (x, dim) = (cast(self.value(py)?, dtype), dim.or(axis).unwrap_or(Dim(None)));
                let keepdim = keepdim || keepdims; // NumPy's name
                let all = |x: &Tensor| if keepdim { x.$keep(dim) } else { x.$name(dim) };
                result(py, &x, |x| cast(all(x), dtype)) // sums of booleans are integers
            }
        )*}
    };
}

reductions! {
    sum sum_keepdim "The sum over axes, or of all elements.";
    prod prod_keepdim "The product over axes, or of all elements.";
    mean mean_keepdim "The mean over axes, or of all elements.";
    any any_keepdim "True if any element is non-zero.";
    all all_keepdim "True if all elements are non-zero.";
    amax max_keepdim_as "The maximum over axes; ties share the gradient.";
    amin min_keepdim_as "The minimum over axes; ties share the gradient.";
}

/// Methods under the names that the macro above uses.
trait Extremes {
    fn amax(&self, dim: Dim) -> Tensor;
    fn amin(&self, dim: Dim) -> Tensor;
    fn max_keepdim_as(&self, dim: Dim) -> Tensor;
    fn min_keepdim_as(&self, dim: Dim) -> Tensor;
}

/// Returns an error if an axis to reduce has no elements.
fn empty_axis_error(x: &Tensor, dim: &Dim) -> Option<Error> {
    let axes = dim.resolve(x.rank()).ok()?;
    let empty = axes.into_iter().any(|a| x.shape()[a] == 0);
    empty.then(|| Error::new(Kind::Index { index: 0, extent: 0, from_end: false }))
}

impl Extremes for Tensor {
    fn amax(&self, dim: Dim) -> Tensor {
        if let Some(e) = empty_axis_error(self, &dim) { Tensor::failed(e) } else { self.max(dim) }
    }
    fn amin(&self, dim: Dim) -> Tensor {
        if let Some(e) = empty_axis_error(self, &dim) { Tensor::failed(e) } else { self.min(dim) }
    }
    fn max_keepdim_as(&self, dim: Dim) -> Tensor {
        if let Some(e) = empty_axis_error(self, &dim) { Tensor::failed(e) } else { self.max_keepdim(dim) }
    }
    fn min_keepdim_as(&self, dim: Dim) -> Tensor {
        if let Some(e) = empty_axis_error(self, &dim) { Tensor::failed(e) } else { self.min_keepdim(dim) }
    }
}

/// Returns extremes along an axis and their positions; gradients flow to those positions.
fn extreme(x: &Tensor, axis: isize, keepdim: bool, largest: bool) -> (Tensor, Tensor) {
    if x.rank() == 0 {
        let (values, positions) = extreme(&x.reshape([1usize]), 0, false, largest);
        return (values, positions);
    }
    let positions = if largest { x.argmax(axis) } else { x.argmin(axis) };
    let kept = positions.unsqueeze(axis);
    let values = x.gather(axis, &kept);
    if keepdim { (values, kept) } else { (values.squeeze(axis), positions) }
}

/// Returns two results as the named tuple of PyTorch with this name.
fn pair<'py>(py: Python<'py>, kind: &str, two: (Tensor, Tensor)) -> PyResult<Bound<'py, PyAny>> {
    static RESULTS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = RESULTS.get_or_try_init(py, || py.import("gradus._results").map(Bound::unbind))?;
    module.bind(py).getattr(kind)?.call1((PyTensor::out(two.0)?, PyTensor::out(two.1)?))
}

/// Implements `max` and `min`: of all elements, along an axis with positions, or of two tensors.
fn extremes<'py>(
    slf: &PyTensor,
    py: Python<'py>,
    dim: Option<&Bound<'py, PyAny>>,
    keepdim: bool,
    largest: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let x = slf.value(py)?;
    let Some(dim) = dim else {
        if x.numel() == 0 {
            let why = "max() and min() need at least one element; pass a dim whose extent is not 0";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
        }
        return result(py, &x, |x| if largest { x.max(()) } else { x.min(()) })?.into_bound_py_any(py);
    };
    if dim.is_instance_of::<PyTensor>() {
        let other: Operand = dim.extract()?;
        let f: fn(&Tensor, gradus::Arg<'_>) -> Tensor =
            if largest { |a, b| a.maximum(b) } else { |a, b| a.minimum(b) };
        return PyTensor::out(crate::operators::binary(py, x, other, f))?.into_bound_py_any(py);
    }
    let axis = crate::value::integer(dim)? as isize;
    let two = compute(py, &x, |x| extreme(x, axis, keepdim, largest));
    pair(py, if largest { "max" } else { "min" }, two)
}

fn position(x: &Tensor, dim: Option<isize>, keepdim: bool, largest: bool) -> Tensor {
    let along = |x: &Tensor, a: isize| if largest { x.argmax(a) } else { x.argmin(a) };
    match dim {
        None => {
            let flat = along(&x.reshape([-1i64]), 0);
            if keepdim { flat.reshape(vec![1usize; x.rank()]) } else { flat }
        }
        Some(_) if x.rank() == 0 => along(&x.reshape([1usize]), 0),
        Some(a) if keepdim => along(x, a).unsqueeze(a),
        Some(a) => along(x, a),
    }
}

#[pymethods]
impl PyTensor {
    /// The maximum of all elements; with `dim`, values and indices along it; with a tensor, the elementwise
    /// maximum.
    ///
    /// >>> import gradus
    /// >>> gradus.tensor([[1., 5.], [7., 2.]]).max(dim=1).indices
    /// tensor([1, 0])
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn max<'py>(
        &self,
        py: Python<'py>,
        dim: Option<&Bound<'py, PyAny>>,
        keepdim: bool,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        extremes(self, py, dim.or(axis), keepdim || keepdims, true)
    }

    /// The minimum of all elements; with `dim`, values and indices along it; with a tensor, the elementwise
    /// minimum.
    #[doc = example!(min)]
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn min<'py>(
        &self,
        py: Python<'py>,
        dim: Option<&Bound<'py, PyAny>>,
        keepdim: bool,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        extremes(self, py, dim.or(axis), keepdim || keepdims, false)
    }

    /// The position of the maximum, among all elements or along an axis.
    #[doc = example!(argmax)]
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn argmax(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        keepdim: bool,
        axis: Option<isize>,
        keepdims: bool,
    ) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| position(x, dim.or(axis), keepdim || keepdims, true))
    }

    /// The position of the minimum, among all elements or along an axis.
    #[doc = example!(argmin)]
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn argmin(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        keepdim: bool,
        axis: Option<isize>,
        keepdims: bool,
    ) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| position(x, dim.or(axis), keepdim || keepdims, false))
    }

    /// The norm of order `p` ("fro" is 2, "nuc" the sum of singular values) over axes, or of all elements.
    #[doc = example!(norm)]
    #[pyo3(signature = (p=None, dim=None, keepdim=false))]
    fn norm(
        &self,
        py: Python<'_>,
        p: Option<&Bound<'_, PyAny>>,
        dim: Option<Dim>,
        keepdim: bool,
    ) -> PyResult<PyTensor> {
        let p = match p {
            None => 2.0,
            Some(p) => match p.extract::<f64>() {
                Ok(p) => p,
                Err(_) => match p.extract::<String>().as_deref() {
                    Ok("fro") => 2.0,
                    Ok("nuc") => return nuclear(py, self.value(py)?, dim.and_then(|d| d.0), keepdim),
                    _ => return Err(value_error("p must be a number, 'fro' or 'nuc'")),
                },
            },
        };
        let dim = dim.unwrap_or(Dim(None));
        result(py, &self.value(py)?, |x| x.norm(p, dim, keepdim))
    }

    /// log(sum(exp(x))) over axes, without overflow.
    #[doc = example!(logsumexp)]
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn logsumexp(
        &self,
        py: Python<'_>,
        dim: Option<Dim>,
        keepdim: bool,
        axis: Option<Dim>,
        keepdims: bool,
    ) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis, "logsumexp")?;
        result(py, &self.value(py)?, |x| crate::exponentials::logsumexp(x, dim, keepdim || keepdims))
    }

    /// The cumulative sum along an axis.
    #[doc = example!(cumsum)]
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumsum(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        dtype: Option<DTypeArg>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis, "cumsum")?;
        result(py, &cast(self.value(py)?, dtype), |x| x.cumsum(dim))
    }

    /// The cumulative product along an axis.
    #[doc = example!(cumprod)]
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumprod(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        dtype: Option<DTypeArg>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis, "cumprod")?;
        result(py, &cast(self.value(py)?, dtype), |x| x.cumprod(dim))
    }

    /// The cumulative logarithm of the sum of exponentials along an axis.
    #[doc = example!(logcumsumexp)]
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn logcumsumexp(&self, py: Python<'_>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis, "logcumsumexp")?;
        result(py, &self.value(py)?, |x| crate::exponentials::logcumsumexp(x, dim))
    }

    /// Sorts along an axis. Returns values and their original positions.
    #[doc = example!(sort)]
    #[pyo3(signature = (dim=-1, descending=false, stable=true, *, axis=None), text_signature = "($self, dim=-1, descending=False, stable=True, *, axis=None)")]
    fn sort<'py>(
        &self,
        py: Python<'py>,
        dim: isize,
        descending: bool,
        stable: bool,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stable; // sorting is always stable
        let two = compute(py, &self.value(py)?, |x| x.sort(axis.unwrap_or(dim), descending));
        pair(py, "sort", two)
    }

    /// The positions that sort along an axis.
    #[doc = example!(argsort)]
    #[pyo3(signature = (dim=-1, descending=false, stable=true, *, axis=None), text_signature = "($self, dim=-1, descending=False, stable=True, *, axis=None)")]
    fn argsort(
        &self,
        py: Python<'_>,
        dim: isize,
        descending: bool,
        stable: bool,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let _ = stable;
        result(py, &self.value(py)?, |x| x.argsort(axis.unwrap_or(dim), descending))
    }

    /// The `k` largest along an axis, with their positions.
    #[doc = example!(topk)]
    #[pyo3(signature = (k, dim=-1, largest=true, sorted=true, *, axis=None), text_signature = "($self, k, dim=-1, largest=True, sorted=True, *, axis=None)")]
    fn topk<'py>(
        &self,
        py: Python<'py>,
        k: crate::value::Count,
        dim: isize,
        largest: bool,
        sorted: bool,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = sorted;
        let two = compute(py, &self.value(py)?, |x| x.topk(k.0, axis.unwrap_or(dim), largest));
        pair(py, "topk", two)
    }

    /// The median: of an even number of elements, the lower of the two in the middle.
    #[doc = example!(median)]
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn median<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        keepdim: bool,
        axis: Option<isize>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (x, dim, keepdim) = (self.value(py)?, dim.or(axis), keepdim || keepdims);
        let number = x.rank() == 0;
        let x = if number || dim.is_none() { x.reshape([-1i64]) } else { x };
        let a = dim.unwrap_or(0);
        let rank = x.rank() as isize;
        if !(-rank..rank).contains(&a) {
            let what = format!("median: axis {a} of a tensor of {rank} axes");
            return Err(pyo3::exceptions::PyIndexError::new_err(what));
        }
        if x.dim(a) == 0 {
            return Err(value_error("median needs at least one element"));
        }
        let at = (x.dim(a) - 1) / 2;
        let (values, indices) = x.topk(at + 1, a, false);
        let (mut values, mut indices) = (values.narrow(a, at, 1), indices.narrow(a, at, 1));
        if x.dtype().is_differentiable() {
            // If an element is NaN, the maximum is NaN too and `argmax` is its position: then the median is
            // that NaN.
            indices = x.max(a).unsqueeze(a).is_nan().select(&x.argmax(a).unsqueeze(a), &indices);
            values = x.gather(a, &indices);
        }
        let (values, indices) = match keepdim && !number && dim.is_some() {
            true => (values, indices),
            false => (values.squeeze(a), indices.squeeze(a)),
        };
        match dim {
            None => PyTensor::out(values)?.into_bound_py_any(py),
            Some(_) => pair(py, "median", (values, indices)),
        }
    }

    /// The number of non-zero elements.
    #[doc = example!(count_nonzero)]
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn count_nonzero(&self, py: Python<'_>, dim: Option<Dim>, axis: Option<Dim>) -> PyResult<PyTensor> {
        let dim = dim.or(axis).unwrap_or(Dim(None));
        result(py, &self.value(py)?, |x| x.to_dtype(DType::Bool).sum(dim))
    }

    /// The number of occurrences of each integer from 0 on; with `weights`, sums of weights instead.
    #[doc = example!(bincount)]
    #[pyo3(signature = (weights=None, minlength=0))]
    fn bincount(&self, py: Python<'_>, weights: Option<T>, minlength: usize) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        if let Some(counts) = count_few(&x, weights.is_none(), minlength) {
            return PyTensor::out(counts);
        }
        let largest = if x.numel() == 0 { -1 } else { raise(x.to_dtype(DType::I64).max(()).item::<i64>())? };
        if x.numel() > 0 && raise(x.to_dtype(DType::I64).min(()).item::<i64>())? < 0 {
            return Err(value_error("bincount needs non-negative integers"));
        }
        let n = ((largest + 1) as usize).max(minlength);
        // Weights are summed in float64, except float32 ones.
        let summed = |w: Tensor| if w.dtype() == DType::F32 { w } else { w.to_dtype(DType::F64) };
        // Without elements the counts are integers, also with weights, as in PyTorch.
        let weights = weights.filter(|_| x.numel() > 0);
        let ones = weights.map_or_else(|| x.ones_like().to_dtype(DType::I64), |w| summed(w.0));
        let zeros = Tensor::zeros_of(&gradus::Aval::new(ones.dtype(), [n])).to(x.device());
        PyTensor::out(zeros.index_add(0, &x, &ones))
    }
}

/// Parses axes or the flag `unbiased`: PyTorch accepts both as the first argument.
fn axes_or_unbiased(dim: Option<&Bound<'_, PyAny>>, unbiased: Option<bool>) -> PyResult<(Dim, Option<bool>)> {
    match dim {
        None => Ok((Dim(None), unbiased)),
        Some(first) if first.is_instance_of::<PyBool>() => Ok((Dim(None), Some(first.extract()?))),
        Some(first) => Ok((first.extract()?, unbiased)),
    }
}

fn correction_of(unbiased: Option<bool>, correction: Option<f64>) -> f64 {
    correction.unwrap_or(if unbiased == Some(false) { 0.0 } else { 1.0 })
}

macro_rules! spreads {
    ($($name:ident $keep:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = (dim=None, unbiased=None, keepdim=false, *, correction=None, axis=None, keepdims=false))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<&Bound<'_, PyAny>>,
                unbiased: Option<bool>,
                keepdim: bool,
                correction: Option<f64>,
                axis: Option<&Bound<'_, PyAny>>,
                keepdims: bool,
            ) -> PyResult<PyTensor> {
                let (dim, unbiased) = axes_or_unbiased(dim.or(axis), unbiased)?;
                let c = correction_of(unbiased, correction);
                result(py, &self.value(py)?, |x| if keepdim || keepdims { x.$keep(dim, c) } else { x.$name(dim, c) })
            }
        )*}
    };
}

spreads! {
    var var_keepdim "The variance; the divisor is the number of elements minus `correction`.";
    std std_keepdim "The standard deviation; the divisor is the number of elements minus `correction`.";
}

#[pymethods]
impl PyTensor {
    /// The variance, or its square root, and the mean.
    #[pyo3(signature = (root, dim, unbiased, keepdim, correction))]
    fn _spread_and_mean(
        &self,
        py: Python<'_>,
        root: bool,
        dim: Option<&Bound<'_, PyAny>>,
        unbiased: bool,
        keepdim: bool,
        correction: Option<f64>,
    ) -> PyResult<(PyTensor, PyTensor)> {
        let (dim, unbiased) = axes_or_unbiased(dim, Some(unbiased))?;
        let c = correction_of(unbiased, correction);
        let (spread, mean) = compute(py, &self.value(py)?, |x| match root {
            true => x.std_mean(dim, c, keepdim),
            false => x.var_mean(dim, c, keepdim),
        });
        Ok((PyTensor::out(spread)?, PyTensor::out(mean)?))
    }
}

macro_rules! along_with_positions {
    ($($name:ident $largest:literal $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = (dim=None, *, axis=None))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                dim: Option<isize>,
                axis: Option<isize>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let (x, dim) = (self.value(py)?, dim_or_axis(dim, axis, stringify!($name))?);
                if x.rank() == 0 && matches!(dim, 0 | -1) {
                    let index = Tensor::from(0i64).to(x.device());
                    return pair(py, stringify!($name), (x, index));
                }
                let values = if $largest { x.cummax(dim) } else { x.cummin(dim) };
                // The last position of the extreme so far.
                let n = x.rank().max(1);
                let axis = if dim < 0 { dim + n as isize } else { dim };
                let along = || Tensor::iota(DType::I64, x.shape(), axis.max(0) as usize);
                let indices = x.device().with(along);
                let at = x.eq(&values).select(&indices, &indices.zeros_like()).cummax(dim);
                pair(py, stringify!($name), (values, at))
            }
        )*}
    };
}

along_with_positions! {
    cummax true "The cumulative maximum, with positions.";
    cummin false "The cumulative minimum, with positions.";
}

/// Counts occurrences of few integers directly, which is faster than operations. Returns `None` for weights,
/// for many elements, and for negative or large ones.
fn count_few(x: &Tensor, unweighted: bool, minlength: usize) -> Option<Tensor> {
    const FEW: usize = 1 << 10;
    let is_integer = !x.dtype().is_differentiable() && x.dtype() != DType::Bool;
    if !unweighted || !is_integer || x.rank() != 1 || x.numel() > FEW || minlength > FEW || x.is_traced() {
        return None;
    }
    let all = x.to_dtype(DType::I64).to_vec::<i64>().ok()?;
    let mut counts = vec![0i64; minlength];
    for i in all {
        let i = usize::try_from(i).ok().filter(|i| *i < FEW)?;
        counts.resize(counts.len().max(i + 1), 0);
        counts[i] += 1;
    }
    Some(Tensor::from(counts).to(x.device()))
}
