//! Converts errors of Gradus to Python exceptions.
//! Takes an error; returns an exception of the class that PyTorch's users catch. `words.rs` writes the
//! message.

use crate::words::{PythonWords, message};
use gradus::ir::Words;
use gradus::{DType, Error, Kind};
use pyo3::exceptions::{
    PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use std::cell::RefCell;

thread_local! {
    /// The exception that a signal handler or hook raised during a run.
    static STOPPED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Stores an exception and returns an error that ends the run; [`to_exception`] restores the exception.
pub(crate) fn store_exception(e: PyErr) -> Error {
    STOPPED.with(|s| *s.borrow_mut() = Some(e));
    Error::new(Kind::Interrupted)
}

/// Raises a stored exception that was not restored because the interrupted code continued in another way.
pub(crate) fn raise_stored() -> PyResult<()> {
    STOPPED.with(|s| s.borrow_mut().take()).map_or(Ok(()), Err)
}

/// Returns true if a signal (Ctrl-C) requests the run on this thread to stop.
pub(crate) fn stop_requested() -> bool {
    Python::attach(|py| {
        // Lets other threads take the GIL.
        py.detach(std::thread::yield_now);
        match py.check_signals() {
            Ok(()) => false,
            Err(e) => {
                store_exception(e);
                true
            }
        }
    })
}

/// Returns the line of the user's program that is running, formatted as in a traceback: that of the innermost
/// frame outside of this package.
pub(crate) fn line() -> Option<String> {
    Python::attach(|py| {
        let named = || -> PyResult<Option<String>> {
            // Looked up once, because every node of a trace calls this function, and importing runs Python
            // code, which Ctrl-C may interrupt.
            static HERE: PyOnceLock<(String, Py<PyAny>)> = PyOnceLock::new();
            let (ours, getframe) = HERE.get_or_try_init(py, || {
                let ours = py.import("gradus")?.getattr("__path__")?.get_item(0)?.extract::<String>()?;
                Ok::<_, PyErr>((ours, py.import("sys")?.getattr("_getframe")?.unbind()))
            })?;
            let mut frame = getframe.bind(py).call0()?;
            while !frame.is_none() {
                let code = frame.getattr("f_code")?;
                let file = code.getattr("co_filename")?.extract::<String>()?;
                if !file.starts_with(ours) && !file.starts_with("<frozen") {
                    // Extracts Rust values, because Python's `str` checks for Ctrl-C, and that exception
                    // would be lost here.
                    let line = frame.getattr("f_lineno")?.extract::<usize>()?;
                    let name = code.getattr("co_name")?.extract::<String>()?;
                    return Ok(Some(format!("File \"{file}\", line {line}, in {name}")));
                }
                frame = frame.getattr("f_back")?;
            }
            Ok(None)
        };
        // Without a line, the error still names the function.
        named().unwrap_or_default()
    })
}

/// Exceptions for invalid values and indices: instances of Python's `ValueError` or `IndexError` and of
/// `RuntimeError`, which PyTorch raises for most of them.
#[derive(Clone, Copy)]
enum ErrorClass {
    Value,
    Index,
}

/// Returns an exception class, which is made at first use.
fn class<'py>(py: Python<'py>, kind: ErrorClass) -> PyResult<Bound<'py, PyType>> {
    static CLASSES: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();
    let made = CLASSES.get_or_try_init(py, || {
        let make = |name: &str, base: Bound<'py, PyType>| -> PyResult<Py<PyAny>> {
            let own = PyDict::new(py);
            own.set_item("__module__", "gradus")?;
            let bases = (base, py.get_type::<PyRuntimeError>());
            Ok(py.get_type::<PyType>().call1((name, bases, own))?.unbind())
        };
        Ok::<_, PyErr>([
            make("ValueError", py.get_type::<PyValueError>())?,
            make("IndexError", py.get_type::<PyIndexError>())?,
        ])
    })?;
    Ok(made[kind as usize].bind(py).clone().cast_into::<PyType>()?)
}

fn of_class(kind: ErrorClass, text: String) -> PyErr {
    Python::attach(|py| match class(py, kind) {
        Ok(class) => PyErr::from_type(class, text),
        Err(e) => e,
    })
}

/// The class of exceptions for invalid values.
#[pyfunction]
pub(crate) fn _value_error(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    class(py, ErrorClass::Value)
}

/// Makes the exception for a dtype that a device lacks: a `TypeError` of a class that functions of the
/// package recognize.
fn unsupported_dtype(device: &str, dtype: DType, instead: DType) -> PyErr {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let [dtype, instead] = [dtype, instead].map(|d| PythonWords.dtype(d));
    let text = format!(
        "Cannot convert a {device} tensor to {dtype}, because the device does not support {dtype}. Please use {instead} instead."
    );
    Python::attach(|py| {
        let class = crate::convert::class(py, &CLASS, "gradus._device", "UnsupportedDtype");
        match class.and_then(|c| Ok(c.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, text),
            Err(e) => e,
        }
    })
}

/// Makes the exception for an error, of the class that users of PyTorch catch.
pub(crate) fn to_exception(error: &Error) -> PyErr {
    let text = message(error);
    match error.kind() {
        Kind::Index { .. } | Kind::Axis { .. } => of_class(ErrorClass::Index, text),
        // `NotImplementedError` is a `RuntimeError` too.
        Kind::DType { .. } => pyo3::exceptions::PyNotImplementedError::new_err(text),
        Kind::Value { .. } => of_class(ErrorClass::Value, text),
        // PyTorch's sentence, because programs compare it.
        Kind::Devices { first, second } => PyRuntimeError::new_err(format!(
            "Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
        )),
        Kind::File { .. } => PyOSError::new_err(text),
        Kind::Memory { .. } => PyMemoryError::new_err(text),
        // PyTorch raises `TypeError` for dtypes that a device lacks.
        Kind::Unsupported { device, dtype, instead } => unsupported_dtype(device, *dtype, *instead),
        Kind::Device { .. } => PyRuntimeError::new_err(text),
        Kind::Interrupted => {
            STOPPED.with(|s| s.borrow_mut().take()).unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        _ => PyRuntimeError::new_err(text),
    }
}

/// Makes a `TypeError`: an argument has the wrong type.
pub(crate) fn type_error(why: impl Into<String>) -> PyErr {
    PyTypeError::new_err(why.into())
}

/// Makes a `RuntimeError`: a computation is impossible.
pub(crate) fn runtime_error(why: impl Into<String>) -> PyErr {
    PyRuntimeError::new_err(why.into())
}

/// Makes a `ValueError`: an argument has the wrong value.
pub(crate) fn value_error(why: impl Into<String>) -> PyErr {
    of_class(ErrorClass::Value, why.into())
}

/// Returns the value, or raises an exception.
pub(crate) fn raise<T>(result: gradus::Result<T>) -> pyo3::PyResult<T> {
    result.map_err(|e| to_exception(&e))
}
