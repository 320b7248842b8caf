//! Attributes of a tensor: its type, its elements as Python objects, its gradient.

use crate::convert::{item, size, to_list};
use crate::dtype::{self, DTypeArg, PyDType};
use crate::error::{raise, type_error, value_error};
use crate::tensor::{PyTensor, overwriting, owned};
use crate::unary::MoreMethods;
use crate::value::{Operand, T};
use crate::view::View;
use gradus::{Number, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyTuple};

#[pymethods]
impl PyTensor {
    /// A new tensor from numbers, nested lists or an array, or zeros of these extents.
    #[new]
    #[pyo3(signature = (data=None, requires_grad=None, *sizes, dtype=None))]
    fn create(
        data: Option<&Bound<'_, PyAny>>,
        requires_grad: Option<&Bound<'_, PyAny>>,
        sizes: &Bound<'_, PyTuple>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyTensor> {
        let flag = match requires_grad {
            None => false,
            Some(flag) if flag.is_instance_of::<PyBool>() => flag.extract()?,
            Some(_) => {
                let all = data.into_iter().chain(requires_grad).cloned().chain(sizes.iter());
                return PyTensor::out(crate::create::zeros_of_extents(all)?);
            }
        };
        let value = crate::create::from_constructor(data, dtype.map(|d| d.0))?;
        PyTensor::out(if flag { crate::trace_deps::register_leaf(value.requires_grad_()) } else { value })
    }

    /// Higher than NumPy's, so that NumPy's scalars let tensors apply operators.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        size(py, self.value(py)?.shape())
    }

    /// The extents, or one of them.
    #[doc = example!(size)]
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn size<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.value(py)?.shape();
        match dim.or(axis) {
            None => size(py, shape),
            Some(d) => {
                use gradus::Axes;
                let a = raise(d.resolve(shape.rank()))?[0];
                Ok(shape[a].into_pyobject(py)?.into_any())
            }
        }
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.value(py)?.rank())
    }

    /// Number of axes.
    #[doc = example!(dim)]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        self.ndim(py)
    }

    /// Number of elements.
    #[doc = example!(numel)]
    fn numel(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.value(py)?.numel())
    }

    /// Number of elements.
    #[doc = example!(nelement)]
    fn nelement(&self, py: Python<'_>) -> PyResult<usize> {
        self.numel(py)
    }

    /// Bytes of an element.
    #[doc = example!(element_size)]
    fn element_size(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.dtype_now(py)?.size())
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        let x = self.value(py)?;
        Ok(x.numel() * x.dtype().size())
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        PyDType::object(py, self.dtype_now(py)?)
    }

    /// The device that stores the elements.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::device::object(py, crate::device::of(&self.value(py)?))
    }

    /// Returns true if the elements are in host memory.
    #[getter]
    fn is_cpu(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(crate::device::of(&self.value(py)?).is_cpu())
    }

    /// Returns true if the elements are on a WebGPU device.
    #[getter]
    fn is_wgpu(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(crate::device::of(&self.value(py)?).name().starts_with("wgpu"))
    }

    #[getter]
    fn is_cuda(&self) -> bool {
        false
    }

    /// Returns true if elements are real floats.
    #[doc = example!(is_floating_point)]
    fn is_floating_point(&self, py: Python<'_>) -> PyResult<bool> {
        let dtype = self.dtype_now(py)?;
        Ok(dtype.is_differentiable() && !dtype.is_complex())
    }

    /// Returns true if elements are complex.
    #[doc = example!(is_complex)]
    fn is_complex(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.dtype_now(py)?.is_complex())
    }

    /// Returns true if elements are in row-major order without gaps.
    #[doc = example!(is_contiguous)]
    #[pyo3(signature = (*, memory_format=None))]
    fn is_contiguous(&self, py: Python<'_>, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let _ = memory_format;
        Ok(self.value(py)?.is_contiguous())
    }

    /// The element of a tensor of one element, as a Python number.
    #[doc = example!(item)]
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.elements(py)?)
    }

    /// The elements as nested lists.
    #[doc = example!(tolist)]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_list(py, &self.elements(py)?)
    }

    /// A read-only NumPy array of the same memory.
    #[doc = example!(numpy)]
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(slf: &Bound<'py, PyTensor>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let mut x = slf.get().elements(slf.py())?;
        if !x.device().is_cpu() {
            if !force {
                return Err(type_error(format!(
                    "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
                    x.device()
                )));
            }
            x = x.detach().to(gradus::Device::CPU);
        }
        if x.requires_grad() && !force {
            let why = "a Tensor that requires grad cannot be converted to an array; call detach().numpy(), or numpy(force=True)";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
        }
        crate::array::numpy(slf.py(), &x)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, PyTensor>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = PyTensor::numpy(slf, false)?;
        let array = match dtype {
            Some(d) if !d.is_none() => array.call_method1("astype", (d,))?,
            _ => array,
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    /// Returns true if gradients flow to or through this tensor.
    #[getter(requires_grad)]
    fn get_requires_grad(&self, py: Python<'_>) -> PyResult<bool> {
        let on = self.value(py)?.requires_grad();
        crate::trace_deps::note_requirement(&self.stored_value(), on);
        Ok(on)
    }

    #[setter(requires_grad)]
    fn set_requires_grad(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.require(py, on)
    }

    /// In place: sets whether gradients are accumulated for this leaf.
    #[doc = example!(requires_grad_)]
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_(slf: Bound<'_, PyTensor>, requires_grad: bool) -> PyResult<Bound<'_, PyTensor>> {
        slf.get().require(slf.py(), requires_grad)?;
        Ok(slf)
    }

    /// Returns true if this tensor is a leaf: no recorded operation produced it.
    #[getter]
    fn is_leaf(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.value(py)?.is_leaf())
    }

    /// The accumulated gradient.
    #[getter(grad)]
    fn get_grad(slf: &Bound<'_, PyTensor>) -> PyResult<Option<PyTensor>> {
        PyTensor::gradient(slf)
    }

    #[setter(grad)]
    fn set_grad(&self, py: Python<'_>, grad: Option<T>) -> PyResult<()> {
        let mut x = crate::trace_deps::with_gradient(self, self.value(py)?);
        if x.is_leaf() && !x.is_cell() && !x.is_traced() {
            if grad.is_none() {
                return Ok(());
            }
            x = x.cell();
            self.rebind(x.clone());
        }
        raise(x.set_grad(grad.as_ref().map(|g| &g.0)))
    }

    /// Makes backward passes keep the gradient of this inner tensor.
    #[doc = example!(retain_grad)]
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.value(py)?.retain_grad();
        Ok(())
    }

    /// Returns true if backward passes keep the gradient of this inner tensor.
    #[getter]
    fn retains_grad(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.value(py)?.retains_grad())
    }

    /// The same value, detached from autograd; it shares memory, so that writes to it change this tensor too.
    #[doc = example!(detach)]
    fn detach(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Detached)
    }

    /// In place: detaches this tensor from its history.
    #[doc = example!(detach_)]
    fn detach_(slf: Bound<'_, PyTensor>) -> PyResult<Bound<'_, PyTensor>> {
        let value = slf.get().value(slf.py())?.detach();
        slf.get().rebind(value);
        Ok(slf)
    }

    /// In place: takes over the value of another tensor, of any shape.
    fn _become(slf: Bound<'_, PyTensor>, other: T) -> Bound<'_, PyTensor> {
        slf.get().rebind(other.0);
        slf
    }

    /// The same value, detached from autograd; it shares memory, so that writes to it change this tensor too.
    #[getter(data)]
    fn get_data(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Detached)
    }

    #[setter(data)]
    fn set_data(&self, py: Python<'_>, new: T) -> PyResult<()> {
        let (old, new) = (self.value(py)?, owned(new.0.detach()));
        raise(new.check())?;
        self.detach_views(py, &old)?;
        let (same, there) = (old.aval() == new.aval() && old.is_leaf(), new.device());
        if same && old.device() != there && old.is_cell() {
            raise(old.move_(there))?;
        }
        if same && (old.device() == there || old.is_cell()) {
            let _mode = gradus::set_grad_enabled(false);
            return self.write(py, new);
        }
        // A new dtype or shape: the tensor becomes a new leaf.
        let new = if old.requires_grad() { new.requires_grad_() } else { new };
        raise(new.check())?;
        self.rebind(new);
        Ok(())
    }

    /// In place: copies a value, which broadcasts and is converted to this dtype.
    #[doc = example!(copy_)]
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(slf: Bound<'py, PyTensor>, src: T, non_blocking: bool) -> PyResult<Bound<'py, PyTensor>> {
        let _ = non_blocking;
        let x = slf.get().value(slf.py())?;
        let new = crate::device::converted(&src.0, x.dtype(), crate::device::of(&x)).expand(x.shape());
        slf.get().write(slf.py(), if new.requires_grad() { overwriting(&x, new) } else { new })?;
        Ok(slf)
    }

    /// In place: zeros.
    #[doc = example!(zero_)]
    fn zero_(slf: Bound<'_, PyTensor>) -> PyResult<Bound<'_, PyTensor>> {
        if !slf.get().zero_in_place() {
            let x = slf.get().value(slf.py())?;
            let zeros = crate::create::small_full(&x, Number::Int(0)).unwrap_or_else(|| x.zeros_like());
            drop(x);
            slf.get().write_same(slf.py(), zeros)?;
        }
        Ok(slf)
    }

    /// In place: fills with one value.
    #[doc = example!(fill_)]
    fn fill_<'py>(slf: Bound<'py, PyTensor>, value: Operand) -> PyResult<Bound<'py, PyTensor>> {
        let x = slf.get().value(slf.py())?;
        match value {
            Operand::Number(n) => {
                crate::convert::fits(n, x.dtype())?;
                slf.get().write_same(slf.py(), n.tensor_like(&x).to_dtype(x.dtype()))?;
            }
            Operand::Tensor(t) => {
                let new = crate::device::converted(&t, x.dtype(), crate::device::of(&x)).expand(x.shape());
                slf.get().write(slf.py(), new)?
            }
        }
        Ok(slf)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(crate::print::text(&self.value(py)?))
    }

    fn __format__(slf: &Bound<'_, PyTensor>, spec: &str) -> PyResult<String> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        if x.is_traced() || x.rank() > 0 {
            if !spec.is_empty() {
                return Err(type_error("unsupported format string passed to Tensor.__format__"));
            }
            return slf.str().map(|s| s.to_string());
        }
        item(py, &x)?.call_method1("__format__", (spec,))?.extract()
    }

    /// A new leaf with the same value, of the same class and with the same attributes.
    fn __deepcopy__<'py>(
        slf: &Bound<'py, PyTensor>,
        memo: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        if !x.is_leaf() {
            let why = "only leaves can be copied deeply; call detach() or clone() first";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
        }
        if let Some(view) = crate::copy::of_view(slf, memo)? {
            return Ok(view);
        }
        let copy = crate::copy::of_class(slf, x.detach().copied())?;
        if x.requires_grad() {
            copy.call_method0("requires_grad_")?;
        }
        if let Some(grad) = x.grad() {
            let leaf = copy.cast::<PyTensor>().map_err(PyErr::from)?.get().value(py)?;
            raise(leaf.set_grad(Some(&grad.detach().copied())))?;
        }
        memo.set_item(slf.as_ptr() as usize, &copy)?;
        let attributes = slf.getattr("__dict__")?.cast_into::<PyDict>().map_err(PyErr::from)?;
        for (name, value) in attributes.iter() {
            let value = py.import("copy")?.call_method1("deepcopy", (value, memo))?;
            copy.getattr("__dict__")?.set_item(name, value)?;
        }
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        let bytes = PyBytes::new(py, &raise(x.detach().to_bytes())?);
        let shape: Vec<usize> = x.shape().to_vec();
        let rebuild = py.import("gradus._native")?.getattr("_rebuild")?;
        let (dtype, leaf) = (dtype::name(x.dtype()), x.requires_grad() && x.is_leaf());
        let args = (slf.get_type(), bytes, dtype, shape, leaf).into_pyobject(py)?;
        let args = match x.device() {
            gradus::Device::CPU => args,
            other => args.add((other.name(),))?.cast_into::<PyTuple>().map_err(PyErr::from)?,
        };
        PyTuple::new(py, [rebuild, args.into_any()])
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (stream, dl_device);
        crate::dlpack::export(py, &self.value(py)?, max_version, copy == Some(true))
    }

    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        crate::dlpack::of_host(&self.value(py)?)?;
        Ok(crate::dlpack::CPU)
    }

    /// The number of in-place changes.
    #[getter]
    fn _version(&self) -> u64 {
        self.stamp()
    }

    /// Returns true if this is a value of a function being traced.
    #[getter]
    fn _is_traced(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.value(py)?.is_traced())
    }

    /// A new tensor from data, with this tensor's dtype and device by default.
    #[doc = example!(new_tensor)]
    #[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
    fn new_tensor(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<&Bound<'_, PyAny>>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        let dtype = dtype.map_or(x.dtype(), |d| d.0);
        crate::create::copy_to_new(data, Some(dtype), device, Some(crate::device::of(&x)), requires_grad)
    }

    /// The strides of the tensor, in elements.
    #[doc = example!(stride)]
    fn stride<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTuple>> {
        let x = slf.get().value(slf.py())?;
        if !slf.get().is_view() && !x.is_traced() {
            return PyTuple::new(slf.py(), raise(x.memory())?.strides);
        }
        let (_, positions) = PyTensor::root(slf)?;
        let shape = positions.shape();
        let own: Vec<i64> = shape.strides().iter().map(|&s| s as i64).collect();
        if positions.numel() == 0 || positions.is_traced() {
            return PyTuple::new(slf.py(), own);
        }
        // The distance between adjacent elements along an axis. For extents of 1, it is as if the tensor was
        // contiguous.
        let positions = raise(positions.to_vec::<i64>())?;
        let step = |(&n, &to): (&usize, &i64)| if n > 1 { positions[to as usize] - positions[0] } else { to };
        PyTuple::new(slf.py(), shape.iter().zip(&own).map(step).collect::<Vec<_>>())
    }
}

impl PyTensor {
    fn require(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        let x = self.value(py)?;
        if x.is_cell() {
            crate::trace_deps::note_requirement(&x, x.requires_grad());
            return raise(x.set_requires_grad(on));
        }
        if !x.is_leaf() {
            return if on {
                Ok(())
            } else {
                Err(pyo3::exceptions::PyRuntimeError::new_err(
                    "requires_grad can be set to False for leaves only; use detach()",
                ))
            };
        }
        if on == x.requires_grad() {
            return Ok(());
        }
        let leaf = if on { crate::trace_deps::register_leaf(x.requires_grad_()) } else { x.detach() };
        raise(leaf.check())?;
        if !leaf.is_same(&x) {
            self.rebind(leaf);
        }
        Ok(())
    }
}

/// A tensor from its pickled parts.
#[pyfunction]
#[pyo3(signature = (class, bytes, dtype, shape, requires_grad, device=None))]
pub(crate) fn _rebuild<'py>(
    class: &Bound<'py, PyAny>,
    bytes: &[u8],
    dtype: &str,
    shape: Vec<usize>,
    requires_grad: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let dtype = dtype::named(dtype).ok_or_else(|| value_error(format!("{dtype} is not a dtype")))?;
    let t = Tensor::from_bytes(&gradus::Aval::new(dtype, shape), bytes);
    let t = crate::device::parse(device)?.map_or_else(|| t.clone(), |device| t.to(device));
    let kept = PyDict::new(py);
    kept.set_item("requires_grad", requires_grad)?;
    class.call((PyTensor::out(t)?,), Some(&kept))
}

/// Returns true if an object is a tensor.
#[doc = example!(is_tensor)]
#[pyfunction]
pub(crate) fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<PyTensor>()
}

/// Number of elements.
#[doc = example!(numel)]
#[pyfunction]
pub(crate) fn numel(input: T) -> usize {
    input.0.numel()
}
