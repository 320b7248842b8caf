//! Conversions of tensors to other dtypes and devices: `to`, `type`, `float` and the rest.
//! Takes what PyTorch takes by position and by name; devices other than the processor raise. Arrays are read in `convert.rs`.

use crate::dtype::{self, DTypeArg, PyDType};
use crate::tensor::{PyTensor, compute};
use crate::value::T;
use gradus::DType;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[pymethods]
impl PyTensor {
    /// Another dtype or device; a tensor says both.
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
        if let Some(device) = device {
            crate::create::on_device(Some(device))?;
        }
        // By position the last two arguments are `non_blocking` and `copy`.
        let mut flags = Vec::new();
        for arg in args.iter() {
            if let Ok(flag) = arg.cast::<pyo3::types::PyBool>() {
                flags.push(flag.is_true());
            } else if let Ok(t) = arg.cast::<PyTensor>() {
                to = Some(t.get().dtype_now(py)?);
            } else if let Ok(d) = arg.cast::<PyDType>() {
                to = Some(d.get().0);
            } else if arg.is_instance_of::<pyo3::types::PyType>() {
                to = Some(arg.extract::<DTypeArg>()?.0);
            } else if !arg.is_none() {
                crate::create::on_device(Some(&arg))?;
            }
        }
        match to {
            Some(d) if d != x.dtype() => Bound::new(py, PyTensor::out(compute(py, &x, |x| x.to_dtype(d)))?),
            _ if copy || flags.get(1) == Some(&true) => Bound::new(py, PyTensor::out(x.mul(1))?),
            _ => Ok(slf.clone()),
        }
    }

    /// Of another dtype.
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
            None => format!("gradus.{}", dtype::class(x.dtype())).into_bound_py_any(py),
            Some(d) => PyTensor::out(x.to_dtype(d.0))?.into_bound_py_any(py),
        }
    }

    /// With the dtype of another tensor.
    #[doc = example!(type_as)]
    fn type_as(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.to_dtype(other.0.dtype()))
    }

    /// The same tensor: there is one device.
    #[doc = example!(cpu)]
    #[pyo3(signature = (memory_format=None))]
    fn cpu<'py>(
        slf: Bound<'py, PyTensor>,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> Bound<'py, PyTensor> {
        let _ = memory_format; // elements are in one order
        slf
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
                let _ = memory_format; // elements are in one order
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
