//! Reads and writes safetensors files.

use crate::error::raise;
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::files::safetensors::{self, Notes, Reader};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Writes named tensors and metadata. The file is written completely or not at all.
#[doc = example!(save_safetensors)]
#[pyfunction]
#[pyo3(signature = (path, tensors, metadata=None))]
pub(crate) fn save_safetensors(
    py: Python<'_>,
    path: PathBuf,
    tensors: &Bound<'_, PyDict>,
    metadata: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let mut all = Vec::new();
    for (name, t) in tensors.iter() {
        all.push((name.extract::<String>()?, t.extract::<T>()?.0.detach()));
    }
    let mut notes = Notes::default();
    for (key, value) in metadata.into_iter().flatten() {
        notes.insert(key.extract::<String>()?, value.extract::<String>()?);
    }
    raise(py.detach(|| safetensors::write(path, &all, &notes)))
}

/// Reads the named tensors and the metadata of a file.
#[doc = example!(load_safetensors)]
#[pyfunction]
pub(crate) fn load_safetensors(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Bound<'_, PyDict>, Bound<'_, PyDict>)> {
    let reader = raise(Reader::open(path))?;
    let (tensors, notes) = (PyDict::new(py), PyDict::new(py));
    for name in reader.names() {
        tensors.set_item(&name, PyTensor::out(raise(reader.tensor(&name))?)?)?;
    }
    for (key, value) in reader.notes() {
        notes.set_item(key, value)?;
    }
    Ok((tensors, notes))
}
