//! What a function reads from outside of it, by name: numbers, texts, lists of them, and which objects it finds there. They are
//! part of its program, so another value makes another program.

use crate::tensor::PyTensor;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyModule, PyString, PyTuple, PyType};

/// How deep functions that call functions are looked into, how many names at most, and how long a list may be.
const DEEPEST: usize = 8;
const MOST: usize = 256;
const LONGEST: usize = 64;

/// Where a value stands.
enum Place {
    /// A variable of an enclosing function.
    Cell(Py<PyAny>),
    /// A name of a module, or an attribute of an object.
    Name(Py<PyDict>, Py<PyAny>),
}

impl Place {
    fn now<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Place::Cell(cell) => cell.bind(py).getattr("cell_contents").ok(),
            Place::Name(names, name) => names.bind(py).get_item(name).ok().flatten(),
        }
    }
}

/// What must not change about a value.
enum Was {
    /// It is equal to this.
    Equal(Py<PyAny>),
    /// It is this very object.
    Same(Py<PyAny>),
}

/// The values that a function read when it was traced.
#[derive(Default)]
pub(crate) struct Numbers(Vec<(Place, Was)>);

/// Functions and objects that were looked at, by their addresses.
type Seen = Vec<(usize, usize)>;

impl Numbers {
    /// Those that a function, and functions it calls by name, can read now; of arguments that are objects, their attributes.
    pub(crate) fn of(function: &Bound<'_, PyAny>, arguments: &Bound<'_, PyTuple>) -> Numbers {
        let (mut found, mut seen) = (Numbers::default(), Vec::new());
        // What is no function of Python has no variables to look at.
        let _ = found.look(function, &mut seen, 0);
        if let Ok(code) = function.getattr("__code__") {
            for argument in arguments.iter().filter(|a| !a.is_instance_of::<PyTensor>()) {
                let _ = found.attributes(&argument, &code, &mut seen, 1);
            }
        }
        found
    }

    /// Whether all are as they were.
    pub(crate) fn unchanged(&self, py: Python<'_>) -> bool {
        self.0.iter().all(|(place, was)| {
            let Some(now) = place.now(py) else { return false };
            match was {
                Was::Same(was) => now.is(was),
                Was::Equal(was) => {
                    let was = was.bind(py);
                    now.is(was) || (now.get_type().is(was.get_type()) && now.eq(was).unwrap_or(false))
                }
            }
        })
    }

    fn look(&mut self, function: &Bound<'_, PyAny>, seen: &mut Seen, depth: usize) -> PyResult<()> {
        let itself = function.getattr("__self__").ok().filter(|of| !of.is_instance_of::<PyModule>());
        let function = function.getattr("__func__").unwrap_or_else(|_| function.clone());
        let address = (function.as_ptr() as usize, itself.as_ref().map_or(0, |of| of.as_ptr() as usize));
        if depth > DEEPEST || self.0.len() >= MOST || seen.contains(&address) {
            return Ok(());
        }
        seen.push(address);
        let code = function.getattr("__code__")?;
        if is_ours(&function)? {
            return Ok(());
        }
        if let Ok(cells) = function.getattr("__closure__")?.cast_into::<PyTuple>() {
            for cell in cells.iter() {
                self.add(Place::Cell(cell.unbind()), &code, seen, depth)?;
            }
        }
        if let Some(object) = itself {
            self.attributes(&object, &code, seen, depth)?;
        }
        let names = function.getattr("__globals__")?.cast_into::<PyDict>().map_err(PyErr::from)?;
        self.globals(&code, &names, seen, depth)
    }

    /// The names of a module that code and the functions inside of it read.
    fn globals(
        &mut self,
        code: &Bound<'_, PyAny>,
        names: &Bound<'_, PyDict>,
        seen: &mut Seen,
        depth: usize,
    ) -> PyResult<()> {
        for name in loaded(code, &["LOAD_GLOBAL", "LOAD_NAME"])? {
            if names.contains(&name)? {
                self.add(Place::Name(names.clone().unbind(), name.unbind()), code, seen, depth)?;
            }
        }
        for inner in code.getattr("co_consts")?.try_iter()? {
            let inner = inner?;
            if depth < DEEPEST && inner.hasattr("co_names")? {
                self.globals(&inner, names, seen, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The attributes of an object that code reads, and what its methods read that the code calls.
    fn attributes(
        &mut self,
        object: &Bound<'_, PyAny>,
        code: &Bound<'_, PyAny>,
        seen: &mut Seen,
        depth: usize,
    ) -> PyResult<()> {
        let address = (object.as_ptr() as usize, code.as_ptr() as usize);
        if depth > DEEPEST || seen.contains(&address) || is_ours(&object.get_type())? {
            return Ok(());
        }
        seen.push(address);
        let Ok(own) = object.getattr("__dict__").and_then(|d| Ok(d.cast_into::<PyDict>()?)) else {
            return Ok(());
        };
        for name in loaded(code, &["LOAD_ATTR", "LOAD_METHOD"])? {
            if own.contains(&name)? {
                self.add(Place::Name(own.clone().unbind(), name.unbind()), code, seen, depth + 1)?;
            } else if let Ok(method) = object.get_type().getattr(name.cast::<PyString>()?)
                && method.hasattr("__code__")?
                && let Ok(bound) = object.getattr(name.cast::<PyString>()?)
            {
                self.look(&bound, seen, depth + 1)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, place: Place, code: &Bound<'_, PyAny>, seen: &mut Seen, depth: usize) -> PyResult<()> {
        let Some(value) = place.now(code.py()) else { return Ok(()) };
        if self.0.len() >= MOST {
            return Ok(());
        }
        if is_plain(&value) {
            self.0.push((place, Was::Equal(copied(&value)?)));
        } else if value.hasattr("__code__")? {
            self.0.push((place, Was::Same(value.clone().unbind())));
            self.look(&value, seen, depth + 1)?;
        } else if !value.is_instance_of::<PyModule>() && !value.is_instance_of::<PyType>() {
            self.0.push((place, Was::Same(value.clone().unbind())));
            if !value.is_instance_of::<PyTensor>() {
                self.attributes(&value, code, seen, depth)?;
            }
        }
        Ok(())
    }
}

/// The names that code reads by these instructions.
fn loaded<'py>(code: &Bound<'py, PyAny>, by: &[&str]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut names = Vec::new();
    for instruction in code.py().import("dis")?.call_method1("get_instructions", (code,))?.try_iter()? {
        let instruction = instruction?;
        if by.contains(&&*instruction.getattr("opname")?.extract::<String>()?) {
            names.push(instruction.getattr("argval")?);
        }
    }
    Ok(names)
}

/// Whether something is part of this package: its own functions read nothing that is not looked at elsewhere.
fn is_ours(of: &Bound<'_, PyAny>) -> PyResult<bool> {
    let own = of.getattr("__module__")?.extract::<String>().unwrap_or_default();
    Ok(own == "gradus" || own.starts_with("gradus."))
}

/// Whether a value is a number, a text, or a short list or dictionary of such.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    let all = |values: Vec<Bound<'_, PyAny>>| values.len() <= LONGEST && values.iter().all(is_plain);
    if let Ok(list) = value.cast::<PyList>() {
        return all(list.iter().collect());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return all(tuple.iter().collect());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return all(dict.iter().flat_map(|(key, value)| [key, value]).collect());
    }
    value.is_none()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyString>()
}

/// A plain value that does not change with the original.
fn copied(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyDict>() || value.is_instance_of::<PyTuple>() {
        return Ok(value.py().import("copy")?.call_method1("deepcopy", (value,))?.unbind());
    }
    Ok(value.clone().unbind())
}
