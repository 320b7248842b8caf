//! Errors of Gradus as Python's exceptions. The line is the caller's own, in the traceback, so ours is left out.

use gradus::{Error, Kind};
use pyo3::exceptions::{
    PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::{PyErr, Python};
use std::cell::RefCell;

thread_local! {
    /// What a signal's handler raised while a run asked whether to go on.
    static STOPPED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal (Ctrl-C) wants the run on this thread to stop.
pub(crate) fn stop_wanted() -> bool {
    Python::attach(|py| {
        // A loop that was started with Python's lock lets others have it now and then.
        py.detach(std::thread::yield_now);
        match py.check_signals() {
            Ok(()) => false,
            Err(e) => {
                STOPPED.with(|s| *s.borrow_mut() = Some(e));
                true
            }
        }
    })
}

/// The exception for an error: the kinds that PyTorch's users catch.
pub(crate) fn raised(error: &Error) -> PyErr {
    let text = error.to_string();
    let text = match text.rfind("\n  at ") {
        Some(at) if error.place().is_some() => text[..at].to_string(),
        _ => text,
    };
    match error.kind() {
        Kind::Index { .. } | Kind::Axis { .. } => PyIndexError::new_err(text),
        Kind::Value { .. } => PyValueError::new_err(text),
        Kind::File { .. } => PyOSError::new_err(text),
        Kind::Memory { .. } => PyMemoryError::new_err(text),
        Kind::Interrupted => {
            STOPPED.with(|s| s.borrow_mut().take()).unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        _ => PyRuntimeError::new_err(text),
    }
}

/// An argument of the wrong type.
pub(crate) fn type_error(why: impl Into<String>) -> PyErr {
    PyTypeError::new_err(why.into())
}

/// An argument of the wrong value.
pub(crate) fn value_error(why: impl Into<String>) -> PyErr {
    PyValueError::new_err(why.into())
}

/// The value, or an exception.
pub(crate) fn raise<T>(result: gradus::Result<T>) -> pyo3::PyResult<T> {
    result.map_err(|e| raised(&e))
}
