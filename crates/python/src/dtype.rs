//! Dtypes as Python objects: `gradus.float32` and the rest.

use crate::error::type_error;
use gradus::{DType, Number};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyType};
use std::sync::atomic::{AtomicBool, Ordering};

/// The element type of a tensor.
///
/// >>> import gradus
/// >>> gradus.float64, gradus.float64.itemsize, gradus.int8.is_floating_point
/// (gradus.float64, 8, False)
#[pyclass(name = "dtype", module = "gradus", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyDType(pub(crate) DType);

/// PyTorch's names of dtypes; the first name of a dtype is printed.
pub(crate) const NAMES: &[(&str, DType)] = &[
    ("float32", DType::F32),
    ("float", DType::F32),
    ("float64", DType::F64),
    ("double", DType::F64),
    ("bfloat16", DType::BF16),
    ("float16", DType::F16),
    ("half", DType::F16),
    ("int8", DType::I8),
    ("uint8", DType::U8),
    ("int32", DType::I32),
    ("int", DType::I32),
    ("uint32", DType::U32),
    ("int64", DType::I64),
    ("long", DType::I64),
    ("bool", DType::Bool),
    ("complex64", DType::C64),
    ("cfloat", DType::C64),
    ("complex128", DType::C128),
    ("cdouble", DType::C128),
];

impl PyDType {
    /// Returns the only object of a dtype, because programs compare dtypes with `is`.
    pub(crate) fn object(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
        static ALL: PyOnceLock<Vec<(DType, Py<PyDType>)>> = PyOnceLock::new();
        let all = ALL.get_or_try_init(py, || {
            let one = |(_, dtype): &(&str, DType)| Ok((*dtype, Py::new(py, PyDType(*dtype))?));
            NAMES.iter().map(one).collect::<PyResult<Vec<_>>>()
        })?;
        match all.iter().find(|(d, _)| *d == dtype) {
            Some((_, object)) => Ok(object.clone_ref(py)),
            None => Py::new(py, PyDType(dtype)),
        }
    }
}

/// If true, the default float dtype is `float64`.
static DOUBLE: AtomicBool = AtomicBool::new(false);

/// Returns the default float dtype.
pub(crate) fn default_float() -> DType {
    if DOUBLE.load(Ordering::Relaxed) { DType::F64 } else { DType::F32 }
}

/// Returns the dtype of a tensor made from a number.
pub(crate) fn of_number(n: Number) -> DType {
    match n {
        Number::Float(_) => default_float(),
        Number::Complex(_) => default_float().complex(),
        n => n.dtype(),
    }
}

/// The default dtype of floats.
#[doc = example!(get_default_dtype)]
#[pyfunction]
pub(crate) fn get_default_dtype(py: Python<'_>) -> PyResult<Py<PyDType>> {
    PyDType::object(py, default_float())
}

/// Makes `float32` or `float64` the default dtype of floats.
#[doc = example!(set_default_dtype)]
#[pyfunction]
pub(crate) fn set_default_dtype(d: DTypeArg) -> PyResult<()> {
    match d.0 {
        DType::F32 => DOUBLE.store(false, Ordering::Relaxed),
        DType::F64 => DOUBLE.store(true, Ordering::Relaxed),
        other => {
            return Err(type_error(format!(
                "the default dtype must be float32 or float64, not {}",
                name(other)
            )));
        }
    }
    Ok(())
}

/// Returns the name that is printed.
pub(crate) fn name(dtype: DType) -> &'static str {
    NAMES.iter().find(|(_, d)| *d == dtype).map_or("?", |(name, _)| name)
}

/// Returns PyTorch's name of tensors of a dtype.
pub(crate) fn class(dtype: DType) -> String {
    let short = match dtype {
        DType::F32 => "Float",
        DType::F64 => "Double",
        DType::F16 => "Half",
        DType::BF16 => "BFloat16",
        DType::I8 => "Char",
        DType::U8 => "Byte",
        DType::I32 => "Int",
        DType::I64 => "Long",
        DType::Bool => "Bool",
        DType::C64 => "ComplexFloat",
        DType::C128 => "ComplexDouble",
        other => name(other),
    };
    format!("{short}Tensor")
}

/// Parses the argument of `Tensor.type`: a dtype, a class such as `LongTensor`, or the name of either.
pub(crate) fn of_type(obj: &Bound<'_, PyAny>) -> PyResult<DTypeArg> {
    let text = match obj.getattr("__name__") {
        Ok(name) => format!("{}.{}", obj.getattr("__module__")?, name),
        Err(_) => obj.str()?.to_string(),
    };
    let (path, last) = text.rsplit_once('.').unwrap_or(("", &text));
    match NAMES.iter().find(|(_, d)| class(*d) == last) {
        Some(_) if path.ends_with("cuda") => {
            Err(crate::error::runtime_error(format!("no device \"cuda\" for {text}: there is \"cpu\"")))
        }
        Some((_, dtype)) => Ok(DTypeArg(*dtype)),
        None => obj.extract(),
    }
}

/// Returns the dtype with this name.
pub(crate) fn named(name: &str) -> Option<DType> {
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, d)| *d)
}

#[pymethods]
impl PyDType {
    fn __repr__(&self) -> String {
        format!("gradus.{}", name(self.0))
    }

    /// Pickled by name.
    fn __reduce__(&self) -> &'static str {
        name(self.0)
    }

    /// Returns true if elements are real floats.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_differentiable() && !self.0.is_complex()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// Returns true if elements may be negative.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0 != DType::Bool && self.0.wrap(-1) < 0
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }
}

/// A dtype argument: a dtype of this package or of another library, or Python's `float`, `int`, `bool`, `complex`.
#[derive(Clone, Copy)]
pub(crate) struct DTypeArg(pub(crate) DType);

impl<'a, 'py> FromPyObject<'a, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<DTypeArg> {
        if let Ok(d) = obj.cast::<PyDType>() {
            return Ok(DTypeArg(d.get().0));
        }
        let py = obj.py();
        if let Ok(t) = obj.cast::<PyType>() {
            for (own, dtype) in [
                (py.get_type::<PyBool>(), DType::Bool),
                (py.get_type::<PyInt>(), DType::I64),
                (py.get_type::<PyFloat>(), DType::F64),
                (py.get_type::<PyComplex>(), DType::C128),
            ] {
                if t.is(&own) {
                    return Ok(DTypeArg(dtype));
                }
            }
        }
        // NumPy's and PyTorch's dtypes and scalar types have a name.
        let text =
            obj.getattr("name").or_else(|_| obj.getattr("__name__")).and_then(|n| n.extract::<String>());
        let text = text.or_else(|_| obj.str().map(|s| s.to_string()))?;
        let text = text.rsplit('.').next().unwrap_or(&text);
        named(text).map(DTypeArg).ok_or_else(|| type_error(format!("{text} is not a dtype of gradus")))
    }
}
