//! Numbers and texts that a function reads from outside of it: they are part of its program, so another value makes
//! another program.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

/// How deep functions that call functions are looked into, and how many names at most.
const DEEPEST: usize = 8;
const MOST: usize = 256;

/// Where a value stands.
enum Place {
    /// A variable of an enclosing function.
    Cell(Py<PyAny>),
    /// A name of a module.
    Global(Py<PyDict>, Py<PyAny>),
}

impl Place {
    fn now<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Place::Cell(cell) => cell.bind(py).getattr("cell_contents").ok(),
            Place::Global(names, name) => names.bind(py).get_item(name).ok().flatten(),
        }
    }
}

/// The values that a function read when it was traced.
#[derive(Default)]
pub(crate) struct Numbers(Vec<(Place, Py<PyAny>)>);

impl Numbers {
    /// Those that a function, and functions it calls by name, can read now.
    pub(crate) fn of(function: &Bound<'_, PyAny>) -> Numbers {
        let (mut found, mut seen) = (Numbers::default(), Vec::new());
        // What is no function of Python has no variables to look at.
        let _ = found.look(function, &mut seen, 0);
        found
    }

    /// Whether all are as they were.
    pub(crate) fn unchanged(&self, py: Python<'_>) -> bool {
        self.0.iter().all(|(place, was)| {
            let was = was.bind(py);
            place.now(py).is_some_and(|now| {
                now.is(was) || (now.get_type().is(was.get_type()) && now.eq(was).unwrap_or(false))
            })
        })
    }

    fn look(&mut self, function: &Bound<'_, PyAny>, seen: &mut Vec<usize>, depth: usize) -> PyResult<()> {
        let function = function.getattr("__func__").unwrap_or_else(|_| function.clone());
        let address = function.as_ptr() as usize;
        if depth > DEEPEST || self.0.len() >= MOST || seen.contains(&address) {
            return Ok(());
        }
        seen.push(address);
        let code = function.getattr("__code__")?;
        let own = function.getattr("__module__")?.extract::<String>().unwrap_or_default();
        if own == "gradus" || own.starts_with("gradus.") {
            return Ok(());
        }
        if let Ok(cells) = function.getattr("__closure__")?.cast_into::<PyTuple>() {
            for cell in cells.iter() {
                self.add(Place::Cell(cell.unbind()), function.py(), seen, depth)?;
            }
        }
        let names = function.getattr("__globals__")?.cast_into::<PyDict>().map_err(PyErr::from)?;
        self.globals(&code, &names, seen, depth)
    }

    /// The names of a module that code and the functions inside of it read.
    fn globals(
        &mut self,
        code: &Bound<'_, PyAny>,
        names: &Bound<'_, PyDict>,
        seen: &mut Vec<usize>,
        depth: usize,
    ) -> PyResult<()> {
        for name in code.getattr("co_names")?.try_iter()? {
            let name = name?;
            if names.contains(&name)? {
                self.add(Place::Global(names.clone().unbind(), name.unbind()), code.py(), seen, depth)?;
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

    fn add(&mut self, place: Place, py: Python<'_>, seen: &mut Vec<usize>, depth: usize) -> PyResult<()> {
        let Some(value) = place.now(py) else { return Ok(()) };
        let plain = value.is_instance_of::<PyFloat>()
            || value.is_instance_of::<PyInt>()
            || value.is_instance_of::<PyBool>()
            || value.is_instance_of::<PyString>();
        if plain && self.0.len() < MOST {
            self.0.push((place, value.unbind()));
        } else if value.hasattr("__code__")? {
            self.look(&value, seen, depth + 1)?;
        }
        Ok(())
    }
}
