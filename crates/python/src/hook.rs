//! Functions that see gradients in backward passes.

use crate::error::kept;
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::HookHandle;
use pyo3::prelude::*;

/// Takes a hook away again, with `remove()` or at the end of a `with` block.
#[pyclass(name = "_Hook", module = "gradus", frozen)]
pub(crate) struct PyHook(HookHandle);

#[pymethods]
impl PyHook {
    /// From now on the hook is not called.
    fn remove(&self) {
        self.0.remove();
    }

    fn __enter__(slf: Py<PyHook>) -> Py<PyHook> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.0.remove();
    }
}

#[pymethods]
impl PyTensor {
    /// Calls `hook(gradient)` in every backward pass that reaches this tensor; what it gives, unless `None`, goes on in
    /// the gradient's place. `remove()` of the result takes the hook away.
    ///
    /// >>> import gradus
    /// >>> x = gradus.ones(2, requires_grad=True)
    /// >>> handle = x.register_hook(lambda g: g * 10)
    /// >>> (x * 3).sum().backward()
    /// >>> x.grad
    /// tensor([30., 30.])
    fn register_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<PyHook> {
        let call = move |g: &gradus::Tensor| {
            Python::attach(|py| {
                let called = || -> PyResult<Option<gradus::Tensor>> {
                    let new = hook.bind(py).call1((PyTensor::out(g.clone())?,))?;
                    if new.is_none() { Ok(None) } else { Ok(Some(new.extract::<T>()?.0)) }
                };
                called().map_err(kept)
            })
        };
        crate::error::raise(self.value(py)?.register_hook(call)).map(PyHook)
    }

    /// What PyTorch would call the gradient of the operation that made this tensor, if it was recorded.
    #[getter]
    fn _made_by(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.value(py)?.made_by().map(|op| crate::print::backward_name(&op)))
    }
}
