//! Copies of tensors for the `copy` module.

use crate::tensor::PyTensor;
use gradus::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes a tensor of the same class as another.
pub(crate) fn of_class<'py>(like: &Bound<'py, PyTensor>, value: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let (py, class) = (like.py(), like.get_type());
    if class.is(py.get_type::<PyTensor>()) {
        return Ok(Bound::new(py, PyTensor::new(value))?.into_any());
    }
    // Skips `__init__`, which may need arguments.
    let new = class.call_method1("__new__", (&class,))?;
    new.cast::<PyTensor>().map_err(PyErr::from)?.get().rebind(value);
    Ok(new)
}

/// Deep-copies the parent of a view and takes the same view of the copy, so that both copies share memory.
pub(crate) fn of_view<'py>(
    view: &Bound<'py, PyTensor>,
    memo: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = view.py();
    let ancestry = view.get().ancestry(py);
    let (Some((parent, how)), Some((root, _))) = (ancestry.first(), ancestry.last()) else { return Ok(None) };
    let plain = view.get_type().is(py.get_type::<PyTensor>());
    if !plain || !how.keeps_elements() || !root.get().value(py)?.is_leaf() {
        return Ok(None);
    }
    let parent = py.import("copy")?.call_method1("deepcopy", (parent, memo))?;
    let parent = parent.cast_into::<PyTensor>().map_err(PyErr::from)?;
    let copy = Bound::new(py, PyTensor::part_of(&parent, how.clone())?)?.into_any();
    memo.set_item(view.as_ptr() as usize, &copy)?;
    Ok(Some(copy))
}

#[pymethods]
impl PyTensor {
    /// A shallow copy: the same class and the same memory.
    fn __copy__<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
        let mut x = slf.get().value(slf.py())?;
        if slf.get().is_view() {
            return of_class(slf, x);
        }
        if x.is_leaf() && !x.is_cell() && !x.is_traced() {
            x = x.cell();
            slf.get().rebind(x.clone());
        }
        let copy = of_class(slf, x)?;
        let attributes = slf.getattr("__dict__")?;
        copy.getattr("__dict__")?.call_method1("update", (attributes,))?;
        Ok(copy)
    }
}
