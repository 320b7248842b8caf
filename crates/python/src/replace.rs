//! Replaces elements of tensors at positions or where a mask is true, in a copy or in place.

use crate::error::{raise, runtime_error, type_error, value_error};
use crate::shape::axis_of;
use crate::tensor::PyTensor;
use crate::value::{Operand, T};
use gradus::{DType, Number, Reduce, Tensor};
use pyo3::prelude::*;

/// Defines methods that return a copy with some elements replaced, and their in-place forms.
macro_rules! replacing {
    ($($name:ident $inplace:ident [$($sig:tt)*] ($($arg:ident: $ty:ty),*) $doc:literal |$x:ident| $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = ($($sig)*))]
            fn $name(&self, py: Python<'_>, $($arg: $ty),*) -> PyResult<PyTensor> {
                let $x = &self.value(py)?;
                PyTensor::out($f?)
            }

            #[doc = concat!("In place: ", $doc)]
            #[doc = example!($inplace)]
            #[pyo3(signature = ($($sig)*))]
            fn $inplace<'py>(slf: Bound<'py, PyTensor>, $($arg: $ty),*) -> PyResult<Bound<'py, PyTensor>> {
                let $x = &slf.get().value(slf.py())?;
                let new = $f?;
                slf.get().write(slf.py(), new)?;
                Ok(slf)
            }
        )*}
    };
}

replacing! {
    scatter scatter_ [dim, index, src=None, *, reduce=None, value=None]
        (dim: isize, index: T, src: Option<Operand>, reduce: Option<&str>, value: Option<Operand>)
        "A copy with `src` written at positions along an axis; with `reduce`, \"add\" or \"multiply\", combined with the old value."
        |x| scattered(x, dim, &index.0, src.or(value), reduce);
    scatter_add scatter_add_ [dim, index, src] (dim: isize, index: T, src: T)
        "A copy with `src` added at positions along an axis; logical or for booleans."
        |x| same_dtype("scatter_add", x, &src.0).map(|()| combined(x, dim, &index.0, &src.0, Reduce::Sum, true));
    scatter_reduce scatter_reduce_ [dim, index, src, reduce, *, include_self=true]
        (dim: isize, index: T, src: T, reduce: &str, include_self: bool)
        "A copy with `src` combined in at positions along an axis by \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"."
        |x| scatter_reduced(x, dim, &index.0, &src.0, reduce, include_self);
    index_add index_add_ [dim, index, source, *, alpha=None]
        (dim: isize, index: T, source: T, alpha: Option<Operand>)
        "A copy with slices of `source`, times `alpha`, added at positions along an axis; logical or for booleans."
        |x| slices_added(x, dim, &index.0, &source.0, alpha);
    index_copy index_copy_ [dim, index, source] (dim: isize, index: T, source: T)
        "A copy with slices of `source` written at positions along an axis."
        |x| same_dtype("index_copy", x, &source.0).map(|()| slices(x, &index.0, &source.0, |x, i, s| x.index_copy(dim, i, s)));
    index_fill index_fill_ [dim, index, value] (dim: isize, index: T, value: Operand)
        "A copy with `value` written at positions along an axis."
        |x| Ok::<_, PyErr>(filled(x, dim, &index.0, &value));
}

/// Returns an error for a source of another dtype, as PyTorch does.
fn same_dtype(name: &str, x: &Tensor, source: &Tensor) -> PyResult<()> {
    if x.dtype() == source.dtype() {
        return Ok(());
    }
    let (own, other) = (crate::dtype::name(x.dtype()), crate::dtype::name(source.dtype()));
    let why = format!(
        "{name}(): expected self and source to have one dtype, but self is {own} and source is {other}"
    );
    Err(runtime_error(why))
}

/// Scatters a number or a tensor, combined with the old value if `reduce` is set.
fn scattered(
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    src: Option<Operand>,
    reduce: Option<&str>,
) -> PyResult<Tensor> {
    let src = match src {
        Some(Operand::Tensor(t)) => {
            same_dtype("scatter", x, &t)?;
            t
        }
        Some(Operand::Number(n)) => Tensor::from_literal(&n.literal(x.dtype())).expand(index.shape()),
        None => return Err(type_error("scatter() missing 1 required positional argument: 'src'")),
    };
    match reduce {
        None if index.numel() == 0 => Ok(x.clone()),
        None => Ok(x.scatter(dim, index, &src)),
        Some("add") => Ok(combined(x, dim, index, &src, Reduce::Sum, true)),
        Some("multiply") => Ok(combined(x, dim, index, &src, Reduce::Prod, true)),
        Some(other) => {
            Err(runtime_error(format!("reduce argument must be either add or multiply, not {other}")))
        }
    }
}

fn scatter_reduced(
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    src: &Tensor,
    reduce: &str,
    include_self: bool,
) -> PyResult<Tensor> {
    let how = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];
    let Some(how) = how.into_iter().find(|r| r.name() == reduce) else {
        return Err(value_error(format!("reduce {reduce:?} is not one of sum, prod, mean, amax, amin")));
    };
    same_dtype("scatter_reduce", x, src)?;
    Ok(combined(x, dim, index, src, how, include_self))
}

/// Combines `src` with `x` at positions. Sums and products of booleans are logical or and logical and.
fn combined(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor, how: Reduce, include_self: bool) -> Tensor {
    if x.dtype() == DType::Bool && matches!(how, Reduce::Sum | Reduce::Prod) {
        let [x, src] = [x, src].map(|t| t.to_dtype(DType::I64));
        return combined(&x, dim, index, &src, how, include_self).ne(0);
    }
    if index.numel() == 0 {
        return x.clone();
    }
    let one = |t: &Tensor| if t.rank() == 0 { t.reshape([1usize]) } else { t.clone() };
    if how == Reduce::Sum && include_self {
        return x.scatter_add(dim, index, src);
    }
    let scalar = x.rank() == 0;
    let new = one(x).scatter_reduce(dim, &one(index), &one(src), how, include_self);
    if scalar { new.reshape(x.shape()) } else { new }
}

/// Applies `f`, which writes slices at positions; a scalar tensor is treated as a vector of one element.
fn slices(
    x: &Tensor,
    index: &Tensor,
    source: &Tensor,
    f: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
) -> Tensor {
    let line = |t: &Tensor| if t.rank() == 0 { t.reshape([1usize]) } else { t.clone() };
    match (x.rank(), index.rank(), source.rank()) {
        (0, ..) => f(&line(x), &line(index), &line(source)).reshape(x.shape()),
        (1, _, 0) => f(x, &line(index), &line(source)),
        (_, 0, _) => f(x, &line(index), source),
        _ => f(x, index, source),
    }
}

fn slices_added(
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    source: &Tensor,
    alpha: Option<Operand>,
) -> PyResult<Tensor> {
    same_dtype("index_add", x, source)?;
    let wide = |t: &Tensor| if x.dtype() == DType::Bool { t.to_dtype(DType::I64) } else { t.clone() };
    let (own, mut source) = (wide(x), wide(source));
    if let Some(alpha) = alpha {
        source = source.mul(alpha.arg()).to_dtype(own.dtype());
    }
    let new = slices(&own, index, &source, |x, i, s| x.index_add(dim, i, s));
    Ok(if x.dtype() == DType::Bool { new.ne(0) } else { new })
}

#[pymethods]
impl PyTensor {
    /// A copy with `value` where the mask is true.
    #[doc = example!(masked_fill)]
    fn masked_fill(&self, py: Python<'_>, mask: T, value: Operand) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        PyTensor::out(x.masked_fill(&mask.0, fill_value(&x, value)?.arg()))
    }

    /// In place: writes `value` where the mask is true; for elements that share memory, where it is true for
    /// any of them.
    #[doc = example!(masked_fill_)]
    fn masked_fill_<'py>(
        slf: Bound<'py, PyTensor>,
        mask: T,
        value: Operand,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        let value = fill_value(&x, value)?;
        let new = x.masked_fill(&mask.0, value.arg());
        if !slf.get().repeats(py) {
            slf.get().write(py, new)?;
            return Ok(slf);
        }
        raise(new.check())?;
        let (root, positions) = PyTensor::root(&slf)?;
        let whole = root.get().value(py)?;
        let hit = mask.0.to_dtype(DType::I64).expand(x.shape()).reshape([-1i64]);
        let hits = crate::view::element_positions(&whole.reshape([-1i64])).zeros_like().index_add(
            0,
            &positions.reshape([-1i64]),
            &hit,
        );
        root.get().write(py, whole.masked_fill(&hits.reshape(whole.shape()).gt(0), value.arg()))?;
        Ok(slf)
    }
}

/// Converts a number to the dtype of the tensor that it is written to.
fn fill_value(x: &Tensor, value: Operand) -> PyResult<Operand> {
    Ok(match value {
        Operand::Number(n) if x.dtype().is_complex() || !matches!(n, Number::Complex(_)) => {
            crate::convert::fits(n, x.dtype())?;
            Operand::Tensor(Tensor::from_literal(&n.literal(x.dtype())))
        }
        Operand::Tensor(t) if t.rank() == 0 && (x.dtype().is_complex() || !t.dtype().is_complex()) => {
            Operand::Tensor(t.to_dtype(x.dtype()))
        }
        other => other,
    })
}

fn filled(x: &Tensor, dim: isize, index: &Tensor, value: &Operand) -> Tensor {
    let one = match value {
        Operand::Tensor(t) => t.to_dtype(x.dtype()),
        Operand::Number(n) => Tensor::from_literal(&n.literal(x.dtype())),
    };
    let own = x.rank() == 0;
    let mut dims: Vec<usize> = if own { vec![1] } else { x.shape().to_vec() };
    if let Ok(a) = axis_of(&if own { x.reshape([1usize]) } else { x.clone() }, dim) {
        dims[a] = index.numel();
    }
    slices(x, index, &one.expand(dims), |x, i, s| x.index_copy(dim, i, s))
}
