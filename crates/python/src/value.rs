//! Converts Python arguments: numbers and tensors as operands, axes, extents.

use crate::error::{type_error, value_error};
use crate::tensor::PyTensor;
use gradus::{Arg, Axes, Each, Number, Tensor};
use num_complex::Complex;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyTuple};

/// A tensor argument.
pub(crate) struct T(pub(crate) Tensor);

impl<'a, 'py> FromPyObject<'a, 'py> for T {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<T> {
        match obj.cast::<PyTensor>() {
            Ok(t) => Ok(T(t.get().value(obj.py())?)),
            Err(_) => Err(type_error(format!("expected a Tensor, not {}", obj.get_type().name()?))),
        }
    }
}

/// A tensor or a number.
pub(crate) enum Operand {
    Tensor(Tensor),
    Number(Number),
}

impl Operand {
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Operand::Tensor(t) => Arg::Tensor(t),
            Operand::Number(n) => Arg::Number(*n),
        }
    }
}

/// Returns a Python object as a number, if it is one.
pub(crate) fn number(obj: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if obj.is_instance_of::<PyFloat>() {
        return Ok(Some(Number::Float(obj.extract()?)));
    }
    if obj.is_instance_of::<PyBool>() {
        return Ok(Some(Number::Bool(obj.extract()?)));
    }
    if obj.is_instance_of::<PyInt>() {
        let wide = |_| pyo3::exceptions::PyOverflowError::new_err(format!("{obj} does not fit in 64 bits"));
        return Ok(Some(Number::Int(obj.extract::<i64>().map_err(wide)?)));
    }
    if obj.is_instance_of::<PyComplex>() {
        return Ok(Some(Number::Complex(obj.extract::<Complex<f64>>()?)));
    }
    // NumPy's scalars, which have no axes and convert to numbers.
    if !obj.is_instance_of::<PyTensor>()
        && obj.hasattr("dtype")?
        && obj.getattr("shape").and_then(|s| s.len()).is_ok_and(|n| n == 0)
    {
        return number(&obj.call_method0("item")?);
    }
    Ok(None)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Operand {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Operand> {
        if let Ok(t) = obj.cast::<PyTensor>() {
            return Ok(Operand::Tensor(t.get().value(obj.py())?));
        }
        match number(&obj)? {
            Some(n) => Ok(Operand::Number(n)),
            None if obj.hasattr("__array__")? => Ok(Operand::Tensor(crate::convert::tensor_of(&obj, None)?)),
            None => Err(type_error(format!("expected a Tensor or a number, not {}", obj.get_type().name()?))),
        }
    }
}

/// Converts an integer: a Python integer, or a tensor of one integer.
pub(crate) fn integer(obj: &Bound<'_, PyAny>) -> PyResult<i64> {
    if let Ok(i) = obj.extract::<i64>() {
        return Ok(i);
    }
    if obj.is_instance_of::<PyInt>() {
        return Err(value_error(format!("{obj} does not fit in 64 bits")));
    }
    let index = obj.call_method0("__index__");
    index
        .and_then(|i| i.extract())
        .map_err(|_| type_error(format!("expected an int, not {}", obj.get_type())))
}

/// Converts integers passed one by one or as one list: `view(2, 3)` and `view((2, 3))`.
pub(crate) fn integers(args: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    match args.len() {
        1 => match args.get_item(0)? {
            one if one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>() => list(&one),
            one => Ok(vec![integer(&one)?]),
        },
        _ => args.iter().map(|i| integer(&i)).collect(),
    }
}

/// Converts integers passed by position, or as one list by name: `flip(0, 1)`, `flip((0, 1))` and
/// `flip(dims=(0, 1))`.
pub(crate) fn integers_or(args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<i64>> {
    match named {
        None => integers(args),
        Some(_) if !args.is_empty() => Err(type_error("the argument is passed both by position and by name")),
        Some(one) if one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>() => list(one),
        Some(one) => Ok(vec![integer(one)?]),
    }
}

/// Converts a list of integers.
pub(crate) fn list(obj: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    obj.try_iter()?.map(|i| integer(&i?)).collect()
}

/// Converts extents; negative ones are an error.
pub(crate) fn extents(sizes: Vec<i64>) -> PyResult<Vec<usize>> {
    let extent =
        |d: i64| usize::try_from(d).map_err(|_| value_error(format!("an extent of {d} is negative")));
    sizes.into_iter().map(extent).collect()
}

/// A non-negative number.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Count {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Count> {
        let n = integer(&obj)?;
        let negative = |_| value_error(format!("expected a non-negative number, not {n}"));
        usize::try_from(n).map(Count).map_err(negative)
    }
}

/// The argument `dim`: all axes (`None` or an empty list), one, or several.
#[derive(Clone)]
pub(crate) struct Dim(pub(crate) Option<Vec<isize>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Dim {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Dim> {
        if obj.is_none() {
            return Ok(Dim(None));
        }
        if obj.is_instance_of::<PyTuple>() || obj.is_instance_of::<PyList>() {
            let axes = list(&obj)?;
            return Ok(Dim((!axes.is_empty()).then(|| axes.into_iter().map(|a| a as isize).collect())));
        }
        Ok(Dim(Some(vec![integer(&obj)? as isize])))
    }
}

impl Axes for Dim {
    fn resolve(&self, rank: usize) -> gradus::Result<Vec<usize>> {
        match &self.0 {
            None => Ok((0..rank).collect()),
            // As in PyTorch, a scalar has an axis 0 or -1.
            Some(axes) if rank == 0 && axes.iter().all(|a| (-1..=0).contains(a)) => Ok(Vec::new()),
            Some(axes) => axes.resolve(rank),
        }
    }
}

/// Returns `dim`, or NumPy's name for it, `axis`.
pub(crate) fn dim_or_axis<D>(dim: Option<D>, axis: Option<D>, name: &str) -> PyResult<D> {
    dim.or(axis).ok_or_else(|| type_error(format!("{name}() missing 1 required positional argument: 'dim'")))
}

/// One number for all axes, or one per axis.
pub(crate) struct PerAxis(pub(crate) Vec<usize>);

impl PerAxis {
    pub(crate) fn each(self) -> Each {
        Each(self.0)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for PerAxis {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<PerAxis> {
        let all = match obj.is_instance_of::<PyTuple>() || obj.is_instance_of::<PyList>() {
            true => list(&obj)?,
            false => vec![integer(&obj)?],
        };
        Ok(PerAxis(extents(all)?))
    }
}

/// Converts a number to a float; takes the real part of a complex one.
pub(crate) fn float(n: Number) -> f64 {
    match n {
        Number::Bool(b) => b as i64 as f64,
        Number::Int(i) => i as f64,
        Number::Float(x) => x,
        Number::Complex(z) => z.re,
    }
}
