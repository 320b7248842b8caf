//! Devices by their Python names: parses `device=` arguments, and holds the default device of each thread.
//! Takes strings, numbers and `gradus.device` objects; returns devices of the core. The core's own default
//! stays the CPU, so that only functions that make tensors for the caller use Python's default.

use crate::convert::class;
use crate::error::{raise, runtime_error};
use crate::tensor::PyTensor;
use gradus::{DType, Device, Memory, Tensor};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The device on which this thread makes tensors by the user's choice. `OVERRIDE` overrides it inside a
    /// function of the package.
    static DEFAULT_DEVICE: Cell<Device> = const { Cell::new(Device::CPU) };
    static OVERRIDE: Cell<Option<Device>> = const { Cell::new(None) };
    /// The device of the operands of the function being traced. Traced tensors have no device themselves.
    static TRACED: Cell<Device> = const { Cell::new(Device::CPU) };
}

/// True after a device other than the CPU was requested. Until then all tensors are on the CPU, and nothing
/// is looked up.
static OTHER_DEVICES_USED: AtomicBool = AtomicBool::new(false);

/// Returns true if tensors can be on devices other than the CPU.
#[inline]
pub(crate) fn other_devices_used() -> bool {
    OTHER_DEVICES_USED.load(Ordering::Relaxed)
}

/// Returns the device of a new tensor without `device=`.
#[inline]
pub(crate) fn current() -> Device {
    match other_devices_used() {
        true => OVERRIDE.get().unwrap_or(DEFAULT_DEVICE.get()),
        false => Device::CPU,
    }
}

/// Returns the device of a tensor; for a traced one, that of the traced function's operands.
pub(crate) fn of(t: &Tensor) -> Device {
    if other_devices_used() && t.is_traced() { TRACED.get() } else { t.device() }
}

/// Returns the first device of the operands that is not the CPU, else the CPU; `None` without operands.
pub(crate) fn of_operands(all: &[Tensor]) -> Option<Device> {
    let other = all.iter().map(of).find(|d| !d.is_cpu());
    other.or((!all.is_empty()).then_some(Device::CPU))
}

/// Sets the device of traced tensors until it is dropped.
pub(crate) struct Traced(Device);

impl Traced {
    pub(crate) fn on(device: Option<Device>) -> Traced {
        Traced(TRACED.replace(device.unwrap_or(TRACED.get())))
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        TRACED.set(self.0);
    }
}

/// Returns the class `gradus.device`.
fn device_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static DEVICE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    class(py, &DEVICE, "gradus._device", "device")
}

/// Parses a device argument; `None` if there is no argument.
pub(crate) fn parse(device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Device>> {
    let Some(device) = device.filter(|d| !d.is_none()) else { return Ok(None) };
    let py = device.py();
    let class = device_class(py)?;
    let named = if device.is_instance(&class)? { device.clone() } else { class.call1((device,))? };
    let kind: String = named.getattr("type")?.extract()?;
    let index: Option<usize> = named.getattr("index")?.extract()?;
    let name = index.map_or_else(|| kind.clone(), |i| format!("{kind}:{i}"));
    match (kind.as_str(), index) {
        ("cpu", None | Some(0)) => Ok(Some(Device::CPU)),
        ("cpu", Some(i)) => Err(runtime_error(format!("CPU device index must be -1 or zero, got {i}"))),
        ("wgpu", _) => {
            let found = raise(py.detach(|| Device::named(&name)))?;
            if !OTHER_DEVICES_USED.swap(true, Ordering::Relaxed) {
                py.import("gradus._device")?.getattr("OPENED")?.call_method1("append", (found.name(),))?;
            }
            Ok(Some(found))
        }
        _ => Err(runtime_error(format!("no device \"{name}\"; the devices are \"cpu\" and \"wgpu\""))),
    }
}

/// Parses a device argument; the default is the device of new tensors.
pub(crate) fn device_or_default(device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    Ok(parse(device)?.unwrap_or_else(current))
}

/// Parses a device argument; the default is the device of a tensor.
pub(crate) fn device_or_that_of(device: Option<&Bound<'_, PyAny>>, like: &Tensor) -> PyResult<Device> {
    Ok(parse(device)?.unwrap_or_else(|| of(like)))
}

/// Moves a new tensor to a device. A traced tensor stays where its graph runs.
pub(crate) fn moved(t: Tensor, device: Device) -> Tensor {
    if t.device() == device || t.is_traced() { t } else { t.to(device) }
}

/// Converts and moves a tensor. Converts on the CPU if the tensor is there or moves there, because other
/// devices may lack wide dtypes.
pub(crate) fn converted(t: &Tensor, dtype: DType, device: Device) -> Tensor {
    let cast = |t: &Tensor| if t.dtype() == dtype { t.clone() } else { t.to_dtype(dtype) };
    if device.is_cpu() { cast(&t.to(device)) } else { cast(t).to(device) }
}

/// Copies a tensor on its device, to new memory.
pub(crate) fn copied(t: &Tensor) -> Tensor {
    let copy = || {
        let whole = t.detach().contiguous();
        let Memory { storage, offset, strides, aval } = whole.memory()?;
        let bytes = offset..offset + aval.shape.numel() * aval.dtype.size();
        let storage = t.device().get().copy(&storage, bytes)?;
        Ok(Tensor::from_memory(Memory { storage, offset: 0, strides, aval }))
    };
    copy().unwrap_or_else(Tensor::failed)
}

/// Returns a device as a Python object.
pub(crate) fn object(py: Python<'_>, device: Device) -> PyResult<Bound<'_, PyAny>> {
    static CPU: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static OTHERS: Mutex<Option<HashMap<Device, Py<PyAny>>>> = Mutex::new(None);
    if device.is_cpu() {
        return class(py, &CPU, "gradus._device", "CPU");
    }
    let known = || OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get_or_insert_default().get(&device) {
        return Ok(found.bind(py).clone());
    }
    let made = device_class(py)?.call1((device.name(),))?;
    known().get_or_insert_default().insert(device, made.clone().unbind());
    Ok(made)
}

/// Returns the device of the tensors among the arguments, including those in lists and tuples: the first
/// device that is not the CPU, else the CPU. Returns `None` if there is no tensor.
fn device_of_arguments(args: &Bound<'_, PyAny>, depth: usize) -> PyResult<Option<Device>> {
    let mut found = None;
    for arg in args.try_iter()? {
        let arg = arg?;
        let here = if let Ok(t) = arg.cast::<PyTensor>() {
            Some(of(&t.get().stored_value()))
        } else if depth > 0 && (arg.is_instance_of::<PyTuple>() || arg.is_instance_of::<PyList>()) {
            device_of_arguments(&arg, depth - 1)?
        } else {
            None
        };
        match here {
            Some(device) if !device.is_cpu() => return Ok(Some(device)),
            here => found = found.or(here),
        }
    }
    Ok(found)
}

/// Restores the device override of this thread when dropped.
struct DeviceOverride(Option<Device>);

impl Drop for DeviceOverride {
    fn drop(&mut self) {
        OVERRIDE.set(self.0);
    }
}

/// Calls a function of the package so that tensors which it makes are on the device of its operands.
#[pyfunction]
pub(crate) fn _call_near<'py>(
    f: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = match device_of_arguments(args.as_any(), 1)? {
        None => device_of_arguments(kwargs.call_method0("values")?.as_any(), 1)?,
        found => found,
    };
    let _back = device.map(|device| DeviceOverride(OVERRIDE.replace(Some(device))));
    f.call(args, Some(kwargs))
}

/// Calls a function so that tensors which it makes without `device=` are on a device. `None` selects the
/// default device of this thread.
#[pyfunction]
pub(crate) fn _call_on<'py>(
    device: Option<&Bound<'py, PyAny>>,
    f: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let _back = DeviceOverride(OVERRIDE.replace(parse(device)?));
    f.call(args, Some(kwargs))
}

/// Returns the device on which this thread makes tensors without `device=`.
#[pyfunction]
pub(crate) fn _default_device(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    object(py, current())
}

/// Sets the default device of this thread; returns the previous one.
#[pyfunction]
pub(crate) fn _set_default_device<'py>(
    py: Python<'py>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let new = parse(device)?.unwrap_or(Device::CPU);
    object(py, DEFAULT_DEVICE.replace(new))
}

/// Properties of a device, as pairs of name and value.
type Facts = Vec<(String, String)>;

/// Returns the number of the device with a name such as `wgpu:nvidia`, as text.
#[pyfunction]
pub(crate) fn _device_number(py: Python<'_>, name: &str) -> PyResult<String> {
    let found = raise(py.detach(|| Device::named(name)))?.name();
    Ok(found.split_once(':').map_or(String::new(), |(_, number)| number.to_string()))
}

/// Lists the devices of a kind: their names and properties.
#[pyfunction]
pub(crate) fn _devices(py: Python<'_>, kind: &str) -> Vec<(String, Facts)> {
    let all = py.detach(Device::list);
    let is = |name: &str| name.split(':').next() == Some(kind);
    all.into_iter().filter(|d| is(&d.name)).map(|d| (d.name, d.facts)).collect()
}

/// Waits until all queued work of a device is done.
#[pyfunction]
pub(crate) fn _finish(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<()> {
    let device = parse(Some(device))?.unwrap_or(Device::CPU);
    raise(py.detach(|| device.finish()))
}

/// Waits until the queued work of all devices is done. Python calls it before the process ends.
#[pyfunction]
pub(crate) fn _finish_all(py: Python<'_>) {
    py.detach(Device::finish_all);
}

/// Returns byte counts of a device: in use, allocated from the system, and the peak in use.
#[pyfunction]
pub(crate) fn _memory(device: &Bound<'_, PyAny>) -> PyResult<(usize, usize, usize)> {
    let all = parse(Some(device))?.unwrap_or(Device::CPU).get().memory();
    Ok((all.used, all.reserved, all.peak))
}

/// Frees memory that a device keeps for later use.
#[pyfunction]
pub(crate) fn _trim(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<()> {
    let device = parse(Some(device))?.unwrap_or(Device::CPU);
    py.detach(|| device.get().trim());
    Ok(())
}
