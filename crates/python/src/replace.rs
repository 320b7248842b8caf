//! Tensors with some elements replaced, at positions or where a mask holds, and the same in place.

use crate::error::{raise, value_error};
use crate::shape::axis_of;
use crate::tensor::PyTensor;
use crate::value::{Operand, T};
use gradus::{Number, Tensor};
use pyo3::prelude::*;

/// Methods that give a tensor with some elements replaced, and their forms in place.
macro_rules! replacing {
    ($($name:ident $inplace:ident ($($arg:ident: $ty:ty),*) $doc:literal |$x:ident| $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            fn $name(&self, py: Python<'_>, $($arg: $ty),*) -> PyResult<PyTensor> {
                let $x = &self.value(py)?;
                PyTensor::out($f)
            }

            #[doc = concat!("In place: ", $doc)]
            #[doc = example!($inplace)]
            fn $inplace<'py>(slf: Bound<'py, PyTensor>, $($arg: $ty),*) -> PyResult<Bound<'py, PyTensor>> {
                let $x = &slf.get().value(slf.py())?;
                let new = $f;
                slf.get().write(slf.py(), new)?;
                Ok(slf)
            }
        )*}
    };
}

/// A source of elements: a tensor, or one number everywhere.
fn source(x: &Tensor, index: &Tensor, src: &Operand) -> Tensor {
    match src {
        Operand::Tensor(t) => t.clone(),
        Operand::Number(n) => Tensor::from_literal(&n.literal(x.dtype())).expand(index.shape()),
    }
}

replacing! {
    scatter scatter_ (dim: isize, index: T, src: Operand) "With `src` written at positions along an axis."
        |x| x.scatter(dim, &index.0, &source(x, &index.0, &src));
    scatter_add scatter_add_ (dim: isize, index: T, src: T) "With `src` added at positions along an axis."
        |x| x.scatter_add(dim, &index.0, &src.0);
    index_add index_add_ (dim: isize, index: T, source: T) "With slices of `source` added at positions along an axis."
        |x| x.index_add(dim, &index.0, &source.0);
    index_copy index_copy_ (dim: isize, index: T, source: T) "With slices of `source` written at positions along an axis."
        |x| x.index_copy(dim, &index.0, &source.0);
    index_fill index_fill_ (dim: isize, index: T, value: Operand) "With `value` written at positions along an axis."
        |x| filled(x, dim, &index.0, &value);
}

#[pymethods]
impl PyTensor {
    /// `value` where the mask holds.
    #[doc = example!(masked_fill)]
    fn masked_fill(&self, py: Python<'_>, mask: T, value: Operand) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        PyTensor::out(x.masked_fill(&mask.0, filling(&x, value)?.arg()))
    }

    /// In place: `value` where the mask holds; where several elements are one in memory, where it holds for any of them.
    #[doc = example!(masked_fill_)]
    fn masked_fill_<'py>(
        slf: Bound<'py, PyTensor>,
        mask: T,
        value: Operand,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        let value = filling(&x, value)?;
        let new = x.masked_fill(&mask.0, value.arg());
        if !slf.get().repeats(py) {
            slf.get().write(py, new)?;
            return Ok(slf);
        }
        raise(new.check())?;
        let (root, places) = PyTensor::whole(&slf)?;
        let whole = root.get().value(py)?;
        let hit = mask.0.to_dtype(gradus::DType::I64).expand(x.shape()).reshape([-1i64]);
        let hits = crate::view::counted(&whole.reshape([-1i64])).zeros_like().index_add(
            0,
            &places.reshape([-1i64]),
            &hit,
        );
        root.get().write(py, whole.masked_fill(&hits.reshape(whole.shape()).gt(0), value.arg()))?;
        Ok(slf)
    }
}

/// One number that takes the dtype of what it is written to.
fn filling(x: &Tensor, value: Operand) -> PyResult<Operand> {
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
    let mut dims: Vec<usize> = x.shape().to_vec();
    if let Ok(a) = axis_of(x, dim) {
        dims[a] = index.numel();
    }
    x.index_copy(dim, index, &one.expand(dims))
}

#[pymethods]
impl PyTensor {
    /// With `src` combined in at positions along an axis by "sum", "prod", "mean", "amax" or "amin".
    #[doc = example!(scatter_reduce)]
    #[pyo3(signature = (dim, index, src, reduce, *, include_self=true))]
    fn scatter_reduce(
        &self,
        py: Python<'_>,
        dim: isize,
        index: T,
        src: T,
        reduce: &str,
        include_self: bool,
    ) -> PyResult<PyTensor> {
        use gradus::Reduce;
        let how = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];
        let Some(how) = how.into_iter().find(|r| r.name() == reduce) else {
            return Err(value_error(format!("reduce {reduce:?} is not one of sum, prod, mean, amax, amin")));
        };
        PyTensor::out(self.value(py)?.scatter_reduce(dim, &index.0, &src.0, how, include_self))
    }
}
