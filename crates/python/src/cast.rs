//! Conversions of tensors to other dtypes and devices: `to`, `type`, `float` and the rest.
//! Takes PyTorch's positional and keyword arguments. `convert.rs` reads arrays, `device.rs` parses devices.

use crate::device::{converted, of, parse};
use crate::dtype::{self, DTypeArg, PyDType};
use crate::tensor::{PyTensor, compute};
use crate::value::T;
use gradus::{DType, Device, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[pymethods]
impl PyTensor {
    /// Converts to another dtype or device; a tensor as argument gives both.
    #[doc = example!(to)]
    #[pyo3(signature = (*args, dtype=None, device=None, copy=false, non_blocking=false, memory_format=None))]
    fn to<'py>(
        slf: &Bound<'py, PyTensor>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<DTypeArg>,
        device: Option<&Bound<'py, PyAny>>,
        copy: bool,
        non_blocking: bool,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = (non_blocking, memory_format);
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        let mut to = dtype.map(|d| d.0);
        let mut on = parse(device)?;
        // By position the last two arguments are `non_blocking` and `copy`.
        let mut flags = Vec::new();
        for arg in args.iter() {
            if let Ok(flag) = arg.cast::<pyo3::types::PyBool>() {
                flags.push(flag.is_true());
            } else if let Ok(t) = arg.cast::<PyTensor>() {
                let like = t.get().value(py)?;
                (to, on) = (Some(like.dtype()), Some(of(&like)));
            } else if let Ok(d) = arg.cast::<PyDType>() {
                to = Some(d.get().0);
            } else if arg.is_instance_of::<pyo3::types::PyType>() {
                to = Some(arg.extract::<DTypeArg>()?.0);
            } else if !arg.is_none() {
                on = parse(Some(&arg))?;
            }
        }
        let on = on.filter(|on| *on != x.device() && !is_bound(&x));
        match (to.filter(|d| *d != x.dtype()), on) {
            (Some(d), None) => Bound::new(py, PyTensor::out(compute(py, &x, |x| x.to_dtype(d)))?),
            (to, Some(on)) => {
                let to = to.unwrap_or(x.dtype());
                Bound::new(py, PyTensor::out(py.detach(|| converted(&x, to, on)))?)
            }
            _ if copy || flags.get(1) == Some(&true) => Bound::new(py, PyTensor::out(x.mul(1))?),
            _ => Ok(slf.clone()),
        }
    }

    /// Converts to another dtype; without an argument, the name of the type.
    #[doc = example!(type)]
    #[pyo3(name = "type", signature = (dtype=None, non_blocking=false))]
    fn type_<'py>(
        slf: &Bound<'py, PyTensor>,
        dtype: Option<&Bound<'py, PyAny>>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        use pyo3::IntoPyObjectExt;
        let _ = non_blocking;
        let py = slf.py();
        let x = slf.get().value(py)?;
        match dtype.map(dtype::of_type).transpose()? {
            Some(d) if d.0 == x.dtype() => Ok(slf.clone().into_any()),
            // Programs compare the name with PyTorch's, as in `x.type() == "torch.FloatTensor"`.
            None => format!("torch.{}", dtype::class(x.dtype())).into_bound_py_any(py),
            Some(d) => PyTensor::out(x.to_dtype(d.0))?.into_bound_py_any(py),
        }
    }

    /// Converts to the dtype of another tensor.
    #[doc = example!(type_as)]
    fn type_as(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.to_dtype(other.0.dtype()))
    }

    /// Moves to host memory; returns the same tensor if it is there.
    #[doc = example!(cpu)]
    #[pyo3(signature = (memory_format=None))]
    fn cpu<'py>(
        slf: &Bound<'py, PyTensor>,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = memory_format; // there is one memory format
        PyTensor::on(slf, Device::CPU)
    }

    /// Moves to a WebGPU device, by its number; returns the same tensor if it is there.
    ///
    /// >>> import gradus
    /// >>> if gradus.wgpu.is_available():
    /// ...     assert gradus.ones(2).wgpu().device == gradus.device("wgpu:0")
    #[pyo3(signature = (device=None, non_blocking=false, memory_format=None))]
    fn wgpu<'py>(
        slf: &Bound<'py, PyTensor>,
        device: Option<&Bound<'py, PyAny>>,
        non_blocking: bool,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = (non_blocking, memory_format); // there is one memory format
        let py = slf.py();
        let named = match device.map(|d| d.extract::<usize>()) {
            Some(Ok(index)) => format!("wgpu:{index}").into_pyobject(py)?.into_any(),
            Some(Err(_)) => device.cloned().unwrap_or_else(|| py.None().into_bound(py)),
            None => "wgpu".into_pyobject(py)?.into_any(),
        };
        let device = parse(Some(&named))?.unwrap_or(Device::CPU);
        if device.is_cpu() {
            return Err(crate::error::value_error(format!("wgpu() takes a wgpu device, not {named}")));
        }
        PyTensor::on(slf, device)
    }
}

/// Returns true if a trace decides the device of a tensor: traced tensors have no device, and cells from
/// outside are inputs of the graph, which runs on one device.
fn is_bound(x: &Tensor) -> bool {
    x.is_traced() || (gradus::is_tracing() && x.is_cell())
}

impl PyTensor {
    fn on<'py>(slf: &Bound<'py, PyTensor>, device: Device) -> PyResult<Bound<'py, PyTensor>> {
        let (py, x) = (slf.py(), slf.get().value(slf.py())?);
        if x.device() == device || is_bound(&x) {
            return Ok(slf.clone());
        }
        Bound::new(py, PyTensor::out(py.detach(|| x.to(device)))?)
    }
}

macro_rules! conversions {
    ($($name:ident $dtype:ident;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = concat!("As `", stringify!($dtype), "`.")]
            #[doc = example!($name)]
            #[pyo3(signature = (memory_format=None))]
            fn $name<'py>(
                slf: &Bound<'py, PyTensor>,
                memory_format: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                let _ = memory_format; // there is one memory format
                let (py, x) = (slf.py(), slf.get().value(slf.py())?);
                if x.dtype() == DType::$dtype {
                    return Ok(slf.clone());
                }
                Bound::new(py, PyTensor::out(compute(py, &x, |x| x.to_dtype(DType::$dtype)))?)
            }
        )*}
    };
}

conversions! {
    float F32;
    double F64;
    half F16;
    bfloat16 BF16;
    int I32;
    long I64;
    bool Bool;
    byte U8;
    char I8;
    cfloat C64;
    cdouble C128;
}
