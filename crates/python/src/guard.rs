//! Guards: values that a compiled function read from outside while it was traced, and their locations. A
//! program applies to calls for which these values are unchanged.

use crate::error::type_error;
use crate::tensor::PyTensor;
use gradus::Aval;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyModule, PySet, PyString,
    PyTuple, PyType,
};

/// Deepest nesting that is compared. Bounds the recursion into objects that contain themselves.
const MAX_DEPTH: usize = 24;

/// Largest size of an array, in bytes, that is compared completely; larger ones are sampled.
const MAX_COMPARED_BYTES: usize = 1 << 16;

/// Location of a value.
enum Location {
    /// A variable of an enclosing function.
    Cell(Py<PyAny>),
    /// An entry of a dictionary: a global name of a module, an attribute of an object, a member of a module.
    Item(Py<PyDict>, Py<PyAny>),
    /// An attribute of a class, or one in a slot.
    Attribute(Py<PyAny>, Py<PyString>),
    /// The result of a function without arguments, for values that C code returns.
    Computed(Py<PyAny>),
}

impl Location {
    fn now<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Location::Cell(cell) => cell.bind(py).getattr(pyo3::intern!(py, "cell_contents")).ok(),
            Location::Item(items, name) => items.bind(py).get_item(name).ok().flatten(),
            Location::Attribute(of, name) => of.bind(py).getattr(name).ok(),
            Location::Computed(by) => by.bind(py).call0().ok(),
        }
    }

    fn put(&self, py: Python<'_>, value: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        match (self, value) {
            (Location::Cell(cell), Some(value)) => cell.bind(py).setattr("cell_contents", value),
            (Location::Cell(cell), None) => cell.bind(py).delattr("cell_contents"),
            // Calls Python's method, because dictionaries of modules register changes.
            (Location::Item(items, name), Some(value)) => items.bind(py).as_any().set_item(name, value),
            (Location::Item(items, name), None) => items.bind(py).as_any().del_item(name),
            (Location::Attribute(of, name), Some(value)) => of.bind(py).setattr(name, value),
            (Location::Attribute(of, name), None) => of.bind(py).delattr(name),
            (Location::Computed(_), _) => Ok(()),
        }
    }
}

/// The property of a value that must not change.
enum Expected {
    /// The location was empty.
    Missing,
    /// Any value, because the function received it as an argument.
    Anything,
    /// Equal to this, and of the same type.
    Equal(Py<PyAny>),
    /// This object.
    Same(Py<PyAny>),
    /// This tensor, of this type.
    Tensor(Py<PyAny>, Option<Aval>),
    /// A container of this type, with these elements.
    Items(Py<PyType>, Vec<Expected>),
    /// A dictionary of this type, with these entries.
    Entries(Py<PyType>, Vec<(Expected, Expected)>),
    /// This array, with these bytes.
    Array(Py<PyAny>, Py<PyAny>),
}

fn is_number_or_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBytes>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// Returns true if two values of one type are equal. Zeros of different sign are not equal, because division
/// distinguishes them.
pub(crate) fn is_equal(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<bool> {
    let bits = |x: &Bound<'_, PyAny>| x.extract::<f64>().map(f64::to_bits);
    if a.is_exact_instance_of::<PyFloat>() {
        return Ok(bits(a)? == bits(b)?);
    }
    if a.is_exact_instance_of::<PyComplex>() {
        let parts =
            |x: &Bound<'_, PyAny>| Ok::<_, PyErr>((bits(&x.getattr("real")?)?, bits(&x.getattr("imag")?)?));
        return Ok(parts(a)? == parts(b)?);
    }
    a.eq(b)
}

/// Returns shape, dtype and bytes of an array; of a large array, the bytes of a sample.
fn bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (size, all) =
        (array.getattr("size")?.extract::<usize>()?, array.getattr("nbytes")?.extract::<usize>()?);
    let step = all.div_ceil(MAX_COMPARED_BYTES).max(1);
    let seen = if step > 1 && size > 1 {
        let part = pyo3::types::PySlice::new(array.py(), 0, size as isize, step as isize);
        array.getattr("flat")?.get_item(part)?
    } else {
        array.clone()
    };
    let about = (array.getattr("shape")?, array.getattr("dtype")?, seen.call_method0("tobytes")?);
    Ok(about.into_pyobject(array.py())?.into_any())
}

fn is_array(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type();
    class.name().is_ok_and(|n| n == "ndarray") && class.module().is_ok_and(|m| m == "numpy")
}

impl Expected {
    fn of(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Expected> {
        if is_number_or_text(value) {
            return Ok(Expected::Equal(value.clone().unbind()));
        }
        if let Ok(t) = value.cast::<PyTensor>() {
            let held = t.get().stored_value();
            return Ok(match held.is_traced() {
                true => Expected::Anything,
                false => Expected::Tensor(value.clone().unbind(), held.aval()),
            });
        }
        if depth < MAX_DEPTH {
            let class = value.get_type().unbind();
            if let Ok(dict) = value.cast::<PyDict>() {
                let both = |(k, v): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                    Ok((Expected::of(&k, depth + 1)?, Expected::of(&v, depth + 1)?))
                };
                return Ok(Expected::Entries(class, dict.iter().map(both).collect::<PyResult<_>>()?));
            }
            if is_sequence(value) {
                let items = value.try_iter()?.map(|x| Expected::of(&x?, depth + 1));
                return Ok(Expected::Items(class, items.collect::<PyResult<_>>()?));
            }
            if value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() {
                return Ok(Expected::Equal(value.call_method0("copy")?.unbind()));
            }
            if is_array(value) {
                return Ok(Expected::Array(value.clone().unbind(), bytes(value)?.unbind()));
            }
            if value.get_type().name()? == "method" {
                return Ok(Expected::Equal(value.clone().unbind()));
            }
        }
        Ok(Expected::Same(value.clone().unbind()))
    }

    fn holds(&self, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let Some(now) = now else { return Ok(matches!(self, Expected::Missing | Expected::Anything)) };
        let py = now.py();
        Ok(match self {
            Expected::Missing => false,
            Expected::Anything => true,
            Expected::Same(was) => now.is(was),
            Expected::Equal(was) => {
                let was = was.bind(py);
                now.is(was) || (now.get_type().is(was.get_type()) && is_equal(now, was)?)
            }
            Expected::Tensor(was, aval) => {
                now.is(was) && now.cast::<PyTensor>().is_ok_and(|t| t.get().stored_value().aval() == *aval)
            }
            Expected::Items(class, was) => {
                if !now.get_type().is(class.bind(py)) || now.len()? != was.len() {
                    return Ok(false);
                }
                for (x, was) in now.try_iter()?.zip(was) {
                    if !was.holds(Some(&x?))? {
                        return Ok(false);
                    }
                }
                true
            }
            Expected::Entries(class, was) => {
                let Ok(dict) = now.cast::<PyDict>() else { return Ok(false) };
                if !now.get_type().is(class.bind(py)) || dict.len() != was.len() {
                    return Ok(false);
                }
                for ((key, value), (was_key, was)) in dict.iter().zip(was) {
                    if !was_key.holds(Some(&key))? || !was.holds(Some(&value))? {
                        return Ok(false);
                    }
                }
                true
            }
            Expected::Array(was, seen) => now.is(was) && bytes(now)?.eq(seen)?,
        })
    }
}

fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.get_type().name().is_ok_and(|n| n == "deque")
}

/// Collects the traced tensors that a value is or contains.
pub(crate) fn traced_in(
    value: &Bound<'_, PyAny>,
    depth: usize,
    found: &mut Vec<Py<PyTensor>>,
) -> PyResult<()> {
    if let Ok(t) = value.cast::<PyTensor>() {
        if t.get().stored_value().is_traced() {
            found.push(t.clone().unbind());
        }
        return Ok(());
    }
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    let inside = if let Ok(dict) = value.cast::<PyDict>() {
        dict.values().into_any()
    } else if is_sequence(value) || value.is_instance_of::<PySet>() {
        value.clone()
    } else {
        // Attributes of an object of a Python class.
        let own = value.getattr("__dict__").ok().filter(|_| !value.is_instance_of::<PyType>());
        match own.and_then(|d| d.cast_into::<PyDict>().ok()) {
            Some(own) if !value.is_instance_of::<PyModule>() => own.values().into_any(),
            _ => return Ok(()),
        }
    };
    inside.try_iter()?.try_for_each(|x| traced_in(&x?, depth + 1, found))
}

/// One value that a function read: its location, and its value then.
#[pyclass(name = "_Guard", module = "gradus", frozen)]
pub(crate) struct Guard {
    location: Location,
    expected: Expected,
    /// The object at the location when the guard was made.
    before: Option<Py<PyAny>>,
    /// Name for messages.
    pub(crate) name: String,
}

impl Guard {
    /// Returns true if the value is unchanged. A value that cannot be compared counts as changed.
    pub(crate) fn holds(&self, py: Python<'_>) -> bool {
        self.expected.holds(self.location.now(py).as_ref()).unwrap_or(false)
    }

    pub(crate) fn now<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.location.now(py)
    }

    /// Returns true if it guards this tensor.
    pub(crate) fn is_of(&self, py: Python<'_>, tensor: &Py<PyTensor>) -> bool {
        self.before.as_ref().is_some_and(|v| v.bind(py).is(tensor.bind(py)))
    }

    pub(crate) fn put(&self, py: Python<'_>, value: Bound<'_, PyAny>) -> PyResult<()> {
        self.location.put(py, Some(value))
    }

    /// Puts the object from when the guard was made back at its location, and returns it.
    pub(crate) fn restore<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let before = self.before.as_ref().map(|v| v.bind(py).clone());
        self.location.put(py, before.clone())?;
        Ok(before)
    }
}

#[pymethods]
impl Guard {
    /// `kind` is "cell", "item" or "attribute"; "same" is an item that must be the same object, whatever it
    /// contains; "computed" is the result of the function `owner`.
    #[new]
    fn create(kind: &str, owner: Bound<'_, PyAny>, key: Bound<'_, PyAny>, name: String) -> PyResult<Guard> {
        let py = owner.py();
        let location = match kind {
            "cell" => Location::Cell(owner.unbind()),
            "item" | "same" => Location::Item(owner.cast_into::<PyDict>()?.unbind(), key.unbind()),
            "attribute" => Location::Attribute(owner.unbind(), key.cast_into::<PyString>()?.unbind()),
            "computed" => Location::Computed(owner.unbind()),
            _ => {
                return Err(type_error(
                    "the kind of a guard must be cell, item, attribute, same or computed",
                ));
            }
        };
        let before = location.now(py);
        let expected = match &before {
            None => Expected::Missing,
            Some(v) if kind == "same" => Expected::Same(v.clone().unbind()),
            Some(v) => Expected::of(v, 0)?,
        };
        Ok(Guard { location, expected, before: before.map(Bound::unbind), name })
    }

    /// The object that was there.
    #[getter]
    fn before(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.before.as_ref().map(|v| v.clone_ref(py))
    }
}
