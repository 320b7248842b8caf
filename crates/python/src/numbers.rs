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

/// Where an expression such as `a.b.c` begins.
#[derive(PartialEq)]
enum Base {
    Global,
    /// A variable of an enclosing function, or of the function itself.
    Variable,
    Unknown,
}

/// An expression that code reads: where it begins, and the names on the way.
struct Chain {
    base: Base,
    names: Vec<String>,
}

/// Functions and objects that were looked at, by their addresses.
type Seen = Vec<(usize, usize)>;

impl Numbers {
    /// Those that a function, and functions it calls by name, can read now; of arguments that are objects, their attributes.
    pub(crate) fn of(function: &Bound<'_, PyAny>, arguments: &Bound<'_, PyTuple>) -> Numbers {
        let mut found = Numbers::default();
        // What is no function of Python has no variables to look at.
        let _ = found.look(function, &arguments.iter().collect::<Vec<_>>(), &mut Vec::new(), 0);
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

    /// What a function reads; the first of its arguments are these.
    fn look<'py>(
        &mut self,
        function: &Bound<'py, PyAny>,
        arguments: &[Bound<'py, PyAny>],
        seen: &mut Seen,
        depth: usize,
    ) -> PyResult<()> {
        let itself = function.getattr("__self__").ok().filter(|of| !of.is_instance_of::<PyModule>());
        let function = function.getattr("__func__").unwrap_or_else(|_| function.clone());
        let address = (function.as_ptr() as usize, itself.as_ref().map_or(0, |of| of.as_ptr() as usize));
        if depth > DEEPEST || self.0.len() >= MOST || seen.contains(&address) || is_ours(&function)? {
            return Ok(());
        }
        seen.push(address);
        let code = function.getattr("__code__")?;
        let chains = chains(&code)?;
        let mut variables: Vec<(String, Bound<'py, PyAny>)> = Vec::new();
        let named = code.getattr("co_varnames")?.extract::<Vec<String>>()?;
        let given = itself.into_iter().chain(arguments.iter().cloned());
        variables.extend(named.into_iter().zip(given));
        if let Ok(cells) = function.getattr("__closure__")?.cast_into::<PyTuple>() {
            let free = code.getattr("co_freevars")?.extract::<Vec<String>>()?;
            for (name, cell) in free.into_iter().zip(cells.iter()) {
                let value = cell.getattr("cell_contents").ok();
                self.add(Place::Cell(cell.unbind()), function.py(), seen, depth)?;
                variables.extend(value.map(|value| (name, value)));
            }
        }
        let globals = function.getattr("__globals__")?.cast_into::<PyDict>().map_err(PyErr::from)?;
        for chain in &chains {
            let Some((first, rest)) = chain.names.split_first() else { continue };
            let object = match chain.base {
                Base::Global => {
                    let Some(value) = globals.get_item(first)? else { continue };
                    let name = PyString::new(function.py(), first).into_any().unbind();
                    self.add(Place::Name(globals.clone().unbind(), name), function.py(), seen, depth)?;
                    value
                }
                Base::Variable => match variables.iter().find(|(name, _)| name == first) {
                    Some((_, value)) => value.clone(),
                    None => continue,
                },
                Base::Unknown => continue,
            };
            self.follow(&object, rest, seen, depth)?;
        }
        // What is read from a value that has no name is looked for in all that have one.
        let known = |chain: &Chain| match (&chain.base, chain.names.first()) {
            (Base::Variable, Some(first)) => variables.iter().any(|(name, _)| name == first),
            (Base::Global, _) => true,
            _ => false,
        };
        let skipped = |chain: &Chain| usize::from(chain.base == Base::Variable);
        let loose: Vec<&String> =
            chains.iter().filter(|c| !known(c)).flat_map(|c| c.names.iter().skip(skipped(c))).collect();
        for (_, object) in &variables {
            for name in &loose {
                self.follow(object, std::slice::from_ref(*name), seen, depth)?;
            }
        }
        Ok(())
    }

    /// The attributes along a chain of names, from an object on.
    fn follow(
        &mut self,
        object: &Bound<'_, PyAny>,
        names: &[String],
        seen: &mut Seen,
        depth: usize,
    ) -> PyResult<()> {
        let Some((first, rest)) = names.split_first() else { return Ok(()) };
        if object.is_instance_of::<PyTensor>() || is_ours(&object.get_type())? {
            return Ok(());
        }
        let Ok(own) = object.getattr("__dict__").and_then(|d| Ok(d.cast_into::<PyDict>()?)) else {
            return Ok(());
        };
        let Some(value) = own.get_item(first)? else {
            // A method, unless it computes itself what it is.
            let of_class = object.get_type().getattr(&**first).ok();
            if let Some(method) = of_class.filter(|m| m.hasattr("__code__").unwrap_or(false))
                && !object.is_instance_of::<PyType>()
                && !method.is_none()
            {
                self.look(&object.getattr(&**first)?, &[], seen, depth + 1)?;
            }
            return Ok(());
        };
        let is_module = object.is_instance_of::<PyModule>();
        if !is_module || is_plain(&value) || value.hasattr("__code__")? {
            let name = PyString::new(object.py(), first).into_any().unbind();
            self.add(Place::Name(own.unbind(), name), object.py(), seen, depth)?;
        }
        self.follow(&value, rest, seen, depth)
    }

    fn add(&mut self, place: Place, py: Python<'_>, seen: &mut Seen, depth: usize) -> PyResult<()> {
        let Some(value) = place.now(py) else { return Ok(()) };
        if self.0.len() >= MOST {
            return Ok(());
        }
        if is_plain(&value) {
            self.0.push((place, Was::Equal(copied(&value)?)));
        } else if !value.is_instance_of::<PyModule>() && !value.is_instance_of::<PyType>() {
            self.0.push((place, Was::Same(value.clone().unbind())));
            if value.hasattr("__code__")? {
                self.look(&value, &[], seen, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// The expressions that code, and functions inside of it, read.
fn chains(code: &Bound<'_, PyAny>) -> PyResult<Vec<Chain>> {
    let mut all: Vec<Chain> = Vec::new();
    let mut goes_on = false;
    for instruction in code.py().import("dis")?.call_method1("get_instructions", (code,))?.try_iter()? {
        let instruction = instruction?;
        let (op, value) =
            (instruction.getattr("opname")?.extract::<String>()?, instruction.getattr("argval")?);
        // Two variables may be loaded at once; what follows is of the second.
        let name =
            value.extract::<String>().or_else(|_| Ok::<_, PyErr>(value.extract::<(String, String)>()?.1));
        let Ok(name) = name else {
            goes_on = false;
            continue;
        };
        let base = match &*op {
            "LOAD_ATTR" | "LOAD_METHOD" => {
                match all.last_mut().filter(|_| goes_on) {
                    Some(last) => last.names.push(name),
                    None => all.push(Chain { base: Base::Unknown, names: vec![name] }),
                }
                goes_on = true;
                continue;
            }
            "LOAD_GLOBAL" | "LOAD_NAME" => Base::Global,
            op if op.starts_with("LOAD_FAST") || op.starts_with("LOAD_DEREF") => Base::Variable,
            _ => {
                goes_on = false;
                continue;
            }
        };
        all.push(Chain { base, names: vec![name] });
        goes_on = true;
    }
    for inner in code.getattr("co_consts")?.try_iter()? {
        let inner = inner?;
        if inner.hasattr("co_names")? {
            all.extend(chains(&inner)?);
        }
    }
    Ok(all)
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
    if value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyTuple>()
    {
        return Ok(value.py().import("copy")?.call_method1("deepcopy", (value,))?.unbind());
    }
    Ok(value.clone().unbind())
}
