//! Calls Python functions while they are traced.

use crate::device;
use crate::error::{raise, to_exception};
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::{Device, Error, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::cell::RefCell;

/// A Python function from a list of tensors to a list of tensors. An exception is stored and raised when the
/// transform ends.
pub(crate) struct Function<'py> {
    f: Bound<'py, PyAny>,
    /// The device of traced tensors during the call, if its operands determine it.
    device: Option<Device>,
    failed: RefCell<Option<PyErr>>,
}

/// Converts tensors to Python objects.
pub(crate) fn wrapped<'py>(py: Python<'py>, all: &[Tensor]) -> PyResult<Bound<'py, PyList>> {
    let all = all.iter().map(|t| Py::new(py, PyTensor::out(t.clone())?)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, all)
}

/// Converts a list of Python tensors.
pub(crate) fn unwrapped(list: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    list.try_iter()?.map(|t| Ok(t?.extract::<T>()?.0)).collect()
}

impl<'py> Function<'py> {
    pub(crate) fn new(f: &Bound<'py, PyAny>) -> Function<'py> {
        Function { f: f.clone(), device: None, failed: RefCell::new(None) }
    }

    /// Sets the device of traced tensors to that of the operands.
    pub(crate) fn on(self, operands: &[Tensor]) -> Function<'py> {
        Function { device: device::of_operands(operands), ..self }
    }

    /// Calls the function. Returns one failed tensor if the function raises an exception.
    pub(crate) fn call(&self, lists: &[&[Tensor]]) -> Vec<Tensor> {
        let py = self.f.py();
        let _traced = device::Traced::on(self.device);
        let called = || {
            let lists = lists.iter().map(|l| wrapped(py, l)).collect::<PyResult<Vec<_>>>()?;
            unwrapped(&self.f.call1(pyo3::types::PyTuple::new(py, lists)?)?)
        };
        called().unwrap_or_else(|e| {
            self.failed.borrow_mut().get_or_insert(e);
            vec![Tensor::failed(Error::trace("the function raised an exception"))]
        })
    }

    /// Returns the result of a transform, or raises the exception of the function.
    pub(crate) fn finish<R>(&self, result: gradus::Result<R>) -> PyResult<R> {
        match (self.failed.borrow_mut().take(), result) {
            (Some(e), _) => Err(e),
            (None, Ok(r)) => Ok(r),
            (None, Err(e)) => Err(to_exception(&e)),
        }
    }
}

/// Converts both lists to lists of Python objects.
pub(crate) fn wrap_both<'py>(
    py: Python<'py>,
    lists: (Vec<Tensor>, Vec<Tensor>),
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
    Ok((wrapped(py, &lists.0)?, wrapped(py, &lists.1)?))
}

/// Returns references to all tensors.
pub(crate) fn refs(all: &[Tensor]) -> Vec<&Tensor> {
    all.iter().collect()
}

/// Returns the first tensor, or an error if there is none.
pub(crate) fn first(all: Vec<Tensor>) -> PyResult<Tensor> {
    let none = || raise(Err(Error::trace("the function returned no tensor")));
    all.into_iter().next().map_or_else(none, Ok)
}
