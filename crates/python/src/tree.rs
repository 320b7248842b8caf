//! Nested arguments and results: separates the tensors from the structure around them.

use crate::convert::tensor_of;
use crate::error::value_error;
use crate::tensor::PyTensor;
use gradus::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// The structure around tensors. Objects other than tensors, lists, tuples and dictionaries are part of the
/// structure.
pub(crate) enum Tree {
    Tensor,
    /// Another object, which must be the same or equal.
    Same(Py<PyAny>),
    List(Vec<Tree>),
    Tuple(Vec<Tree>),
    /// A named tuple, with its class.
    Named(Py<PyType>, Vec<Tree>),
    Dict(Vec<(Py<PyAny>, Tree)>),
}

fn is_array(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(obj.hasattr("__array__")? && obj.hasattr("shape")?)
}

/// Deepest nesting that is read. Bounds the recursion into objects that contain themselves.
const MAX_DEPTH: usize = 200;

impl Tree {
    /// Splits an object; appends its tensors to the list.
    pub(crate) fn of(obj: &Bound<'_, PyAny>, tensors: &mut Vec<Tensor>) -> PyResult<Tree> {
        Tree::at(obj, tensors, 0)
    }

    fn at(obj: &Bound<'_, PyAny>, tensors: &mut Vec<Tensor>, depth: usize) -> PyResult<Tree> {
        let py = obj.py();
        if depth > MAX_DEPTH {
            return Err(value_error("arguments and results are nested too deeply, or contain themselves"));
        }
        if let Ok(t) = obj.cast::<PyTensor>() {
            tensors.push(t.get().value(py)?);
            return Ok(Tree::Tensor);
        }
        if let Ok(list) = obj.cast::<PyList>() {
            return Ok(Tree::List(
                list.iter().map(|x| Tree::at(&x, tensors, depth + 1)).collect::<PyResult<_>>()?,
            ));
        }
        if let Ok(tuple) = obj.cast::<PyTuple>() {
            let parts = tuple.iter().map(|x| Tree::at(&x, tensors, depth + 1)).collect::<PyResult<_>>()?;
            return Ok(match obj.hasattr("_fields")? {
                true => Tree::Named(obj.get_type().unbind(), parts),
                false => Tree::Tuple(parts),
            });
        }
        if let Ok(dict) = obj.cast::<PyDict>() {
            let mut parts = Vec::new();
            for (key, x) in dict.iter() {
                parts.push((key.unbind(), Tree::at(&x, tensors, depth + 1)?));
            }
            return Ok(Tree::Dict(parts));
        }
        if is_array(obj)? {
            tensors.push(tensor_of(obj, None)?);
            return Ok(Tree::Tensor);
        }
        Ok(Tree::Same(obj.clone().unbind()))
    }

    /// Returns true if an object has this structure; appends its tensors to the list.
    pub(crate) fn matches(&self, obj: &Bound<'_, PyAny>, tensors: &mut Vec<Tensor>) -> PyResult<bool> {
        let py = obj.py();
        match self {
            Tree::Tensor => match obj.cast::<PyTensor>() {
                Ok(t) => tensors.push(t.get().value(py)?),
                Err(_) if is_array(obj)? => tensors.push(tensor_of(obj, None)?),
                Err(_) => return Ok(false),
            },
            Tree::Same(known) => {
                let known = known.bind(py);
                return Ok(known.is(obj)
                    || (known.get_type().is(obj.get_type())
                        && crate::guard::is_equal(known, obj).unwrap_or(false)));
            }
            Tree::List(parts) => match obj.cast::<PyList>() {
                Ok(list) if list.len() == parts.len() => {
                    for (part, x) in parts.iter().zip(list.iter()) {
                        if !part.matches(&x, tensors)? {
                            return Ok(false);
                        }
                    }
                }
                _ => return Ok(false),
            },
            Tree::Tuple(parts) | Tree::Named(_, parts) => match obj.cast::<PyTuple>() {
                Ok(tuple) if tuple.len() == parts.len() => {
                    if let Tree::Named(class, _) = self
                        && !obj.get_type().is(class.bind(py))
                    {
                        return Ok(false);
                    }
                    for (part, x) in parts.iter().zip(tuple.iter()) {
                        if !part.matches(&x, tensors)? {
                            return Ok(false);
                        }
                    }
                }
                _ => return Ok(false),
            },
            Tree::Dict(parts) => match obj.cast::<PyDict>() {
                Ok(dict) if dict.len() == parts.len() => {
                    for (key, part) in parts {
                        match dict.get_item(key)? {
                            Some(x) if part.matches(&x, tensors)? => {}
                            _ => return Ok(false),
                        }
                    }
                }
                _ => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Collects the Python tensors of an object of this structure; `None` for arrays.
    pub(crate) fn objects<'py>(
        &self,
        obj: &Bound<'py, PyAny>,
        found: &mut Vec<Option<Bound<'py, PyTensor>>>,
    ) {
        let mut all = |parts: &[Tree]| {
            for (i, part) in parts.iter().enumerate() {
                if let Ok(x) = obj.get_item(i) {
                    part.objects(&x, found);
                }
            }
        };
        match self {
            Tree::Tensor => found.push(obj.cast::<PyTensor>().ok().cloned()),
            Tree::Same(_) => {}
            Tree::List(parts) | Tree::Tuple(parts) | Tree::Named(_, parts) => all(parts),
            Tree::Dict(parts) => {
                for (key, part) in parts {
                    if let Ok(x) = obj.get_item(key) {
                        part.objects(&x, found);
                    }
                }
            }
        }
    }

    /// Appends a name for each tensor: `name` for the object itself, `name.0` or `name.key` for its parts.
    pub(crate) fn names(&self, py: Python<'_>, name: &str, names: &mut Vec<String>) {
        match self {
            Tree::Tensor => names.push(name.to_string()),
            Tree::Same(_) => {}
            Tree::List(parts) | Tree::Tuple(parts) => {
                let all = parts.iter().enumerate();
                all.for_each(|(i, part)| part.names(py, &format!("{name}.{i}"), names));
            }
            Tree::Named(class, parts) => {
                let fields = class.bind(py).getattr("_fields").and_then(|f| f.extract::<Vec<String>>());
                let fields = fields.unwrap_or_default();
                for (i, part) in parts.iter().enumerate() {
                    let field = fields.get(i).cloned().unwrap_or_else(|| i.to_string());
                    part.names(py, &format!("{name}.{field}"), names);
                }
            }
            Tree::Dict(parts) => {
                for (key, part) in parts {
                    let key = key.bind(py).str().map_or_else(|_| "item".to_string(), |key| key.to_string());
                    part.names(py, &format!("{name}.{key}"), names);
                }
            }
        }
    }

    /// Returns names for the tensors of a call. Its structure is a tuple of positional arguments, with the names
    /// `positional`, and a dictionary of keyword arguments.
    pub(crate) fn argument_names(&self, py: Python<'_>, positional: &[String]) -> Vec<String> {
        let mut names = Vec::new();
        if let Tree::Tuple(call) = self {
            if let Some(Tree::Tuple(parts)) = call.first() {
                parts.iter().zip(positional).for_each(|(part, name)| part.names(py, name, &mut names));
            }
            if let Some(Tree::Dict(parts)) = call.get(1) {
                for (key, part) in parts {
                    let key = key.bind(py).str().map_or_else(|_| "item".to_string(), |key| key.to_string());
                    part.names(py, &key, &mut names);
                }
            }
        }
        names
    }

    /// The number of positional arguments of a call.
    pub(crate) fn positional(&self) -> usize {
        match self {
            Tree::Tuple(call) => match call.first() {
                Some(Tree::Tuple(parts)) => parts.len(),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Rebuilds the object from tensors.
    pub(crate) fn build<'py>(
        &self,
        py: Python<'py>,
        tensors: &mut dyn Iterator<Item = Tensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all =
            |parts: &[Tree]| parts.iter().map(|p| p.build(py, tensors)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Tree::Tensor => match tensors.next() {
                Some(t) => Bound::new(py, PyTensor::out(t)?)?.into_any(),
                None => py.None().into_bound(py),
            },
            Tree::Same(obj) => obj.bind(py).clone(),
            Tree::List(parts) => PyList::new(py, all(parts)?)?.into_any(),
            Tree::Tuple(parts) => PyTuple::new(py, all(parts)?)?.into_any(),
            Tree::Named(class, parts) => class.bind(py).call1(PyTuple::new(py, all(parts)?)?)?,
            Tree::Dict(parts) => {
                let dict = PyDict::new(py);
                for (key, part) in parts {
                    dict.set_item(key, part.build(py, tensors)?)?;
                }
                dict.into_any()
            }
        })
    }
}

/// The structure of an object, without its tensors.
///
/// >>> import gradus
/// >>> tensors, structure = gradus._native._flatten({"a": gradus.ones(1), "b": [2, gradus.zeros(1)]})
/// >>> structure.build(tensors)
/// {'a': tensor([1.]), 'b': [2, tensor([0.])]}
#[pyclass(name = "Structure", module = "gradus", frozen)]
pub(crate) struct Structure(Tree);

#[pymethods]
impl Structure {
    /// Rebuilds the object from tensors.
    fn build<'py>(&self, tensors: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let all = crate::call::unwrapped(tensors)?;
        self.0.build(tensors.py(), &mut all.into_iter())
    }

    /// Names for its tensors, if the object is called `name`.
    fn names(&self, py: Python<'_>, name: &str) -> Vec<String> {
        let mut names = Vec::new();
        self.0.names(py, name, &mut names);
        names
    }
}

/// Splits a nested object into its tensors and its structure.
#[pyfunction]
pub(crate) fn _flatten<'py>(obj: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyList>, Structure)> {
    let mut tensors = Vec::new();
    let tree = Tree::of(obj, &mut tensors)?;
    Ok((crate::call::wrapped(obj.py(), &tensors)?, Structure(tree)))
}
