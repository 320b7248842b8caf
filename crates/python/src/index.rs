//! Indexing: `x[…]` and `x[…] = y` with integers, ranges, None, Ellipsis, masks and integer arrays.

use crate::convert::{array, tensor_of};
use crate::device::{converted, of};
use crate::error::{runtime_error, type_error};
use crate::tensor::{PyTensor, compute};
use crate::unary::MoreMethods;
use crate::value::integer;
use crate::view::View;
use crate::words::message;
use gradus::{Arg, DType, Ix, Kind, Tensor};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyList, PyRange, PySlice, PyTuple};

/// Parses one entry of an index.
fn entry(obj: &Bound<'_, PyAny>) -> PyResult<Ix> {
    if obj.is_none() {
        return Ok(Ix::New);
    }
    if let Ok(slice) = obj.cast::<PySlice>() {
        let end = |name: &str| -> PyResult<Option<isize>> {
            let end = slice.getattr(name)?;
            if end.is_none() {
                return Ok(None);
            }
            if let Ok(t) = end.cast::<PyTensor>()
                && t.get().value(obj.py())?.is_traced()
            {
                let why = "a slice with a bound that is a value of a traced function has no known extent; to select `n` \
                           elements from `i` on, use x[i + gradus.arange(n)]";
                return Err(runtime_error(why));
            }
            // A bound beyond 64 bits is clamped.
            if end.is_instance_of::<PyInt>() && end.extract::<i64>().is_err() {
                return Ok(Some(if end.lt(0)? { isize::MIN / 2 } else { isize::MAX / 2 }));
            }
            integer(&end).map(|i| Some(i as isize))
        };
        return Ok(Ix::Range(end("start")?, end("stop")?, end("step")?.unwrap_or(1)));
    }
    if obj.is_instance_of::<PyEllipsis>() {
        return Ok(Ix::Rest);
    }
    if let Ok(t) = obj.cast::<PyTensor>() {
        let t = t.get().value(obj.py())?;
        // `uint8` tensors are masks, as in old versions of PyTorch.
        if t.dtype() == DType::U8 && t.rank() > 0 {
            return Ok(Ix::Mask(t.ne(0)));
        }
        // A mask from outside of a function being compiled is known; the number of selected elements becomes
        // part of the program.
        if t.dtype() == DType::Bool
            && crate::trace_deps::is_compiling()
            && t.is_cell()
            && !gradus::is_rewritten(&t)
        {
            let known = obj.cast::<PyTensor>().map_err(PyErr::from)?.get().elements(obj.py())?;
            return Ok(Ix::Mask(gradus::outside_traces(|| known.copied())));
        }
        // A tensor of one integer counts as an integer, unless its value is known only later.
        let single = t.rank() == 0 && t.dtype() != DType::Bool && !t.is_traced();
        return if single && !t.dtype().is_differentiable() {
            Ok(Ix::At(integer(obj)? as isize))
        } else {
            Ok(Ix::from(&t))
        };
    }
    if let Ok(one) = obj.cast::<PyBool>() {
        return Ok(Ix::Mask(gradus::outside_traces(|| Tensor::from(one.is_true()))));
    }
    if obj.is_instance_of::<PyFloat>() {
        return Err(PyIndexError::new_err(
            "only integers, slices, ellipsis, None and tensors are valid indices (got float)",
        ));
    }
    if obj.is_instance_of::<PyRange>() {
        let all = obj.try_iter()?.map(|i| i?.extract::<i64>()).collect::<PyResult<Vec<i64>>>()?;
        return Ok(Ix::from(&gradus::outside_traces(|| Tensor::from(all))));
    }
    if obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() {
        let dtype = if obj.len()? == 0 { Some(DType::I64) } else { None };
        return Ok(Ix::from(&tensor_of(obj, dtype)?));
    }
    match integer(obj) {
        Ok(i) => Ok(Ix::At(i as isize)),
        Err(e) if obj.is_instance_of::<PyInt>() => Err(e),
        Err(_) if obj.hasattr("__array__")? => Ok(Ix::from(&array(obj, true)?)),
        Err(_) => Err(type_error(format!(
            "an index must consist of ints, slices, None, Ellipsis, masks and integer arrays, not {}",
            obj.get_type().name()?
        ))),
    }
}

/// Parses an index into a tensor; at most one entry per axis.
fn entries(x: &Tensor, index: &Bound<'_, PyAny>) -> PyResult<Vec<Ix>> {
    let all = match index.cast::<PyTuple>() {
        Ok(several) => several.iter().map(|i| entry(&i)).collect::<PyResult<Vec<_>>>()?,
        Err(_) => vec![entry(index)?],
    };
    let axes = |ix: &Ix| match ix {
        Ix::New | Ix::Rest => 0,
        Ix::Mask(m) => m.rank(),
        _ => 1,
    };
    let used: usize = all.iter().map(axes).sum();
    if used > x.rank() {
        let why = format!("too many indices for a tensor of dimension {}: {used}", x.rank());
        return Err(PyIndexError::new_err(why));
    }
    if all.iter().filter(|p| matches!(p, Ix::Rest)).count() > 1 {
        return Err(PyIndexError::new_err("an index can have only one ellipsis ('...')"));
    }
    Ok(all)
}

/// A boolean scalar has no axes to select along: it selects all or nothing of the tensor, along a new axis.
fn select_by_scalar<'py>(
    x: &Bound<'py, PyTensor>,
    entries: &[Ix],
) -> PyResult<Option<(Bound<'py, PyTensor>, Vec<Ix>)>> {
    let [Ix::Mask(one)] = entries else { return Ok(None) };
    if one.rank() > 0 {
        return Ok(None);
    }
    let whole = Bound::new(x.py(), PyTensor::part_of(x, View::At(vec![Ix::New]))?)?;
    let line = || one.reshape([1usize]);
    let mask = if one.is_traced() { line() } else { gradus::outside_traces(line) };
    Ok(Some((whole, vec![Ix::Mask(mask)])))
}

fn is_view(entries: &[Ix]) -> bool {
    !entries.iter().any(|p| matches!(p, Ix::Mask(_) | Ix::Ids(_)))
}

/// Writes one number where a traced mask is true, without the number of selected elements, which is unknown.
/// Other entries of the index must be ranges and integers.
fn fill(whole: &Bound<'_, PyTensor>, entries: &[Ix], value: &Tensor) -> Option<PyResult<()>> {
    let at = entries.iter().position(|p| matches!(p, Ix::Mask(m) if m.is_traced()))?;
    let (before, after) = (&entries[..at], &entries[at + 1..]);
    if !is_view(before) || !is_view(after) || before.iter().any(|p| matches!(p, Ix::Rest)) {
        return None;
    }
    let Ix::Mask(mask) = &entries[at] else { return None };
    let whole_axes = vec![Ix::Range(None, None, 1); mask.rank()];
    let part = PyTensor::part_of(whole, View::At([before, &whole_axes, after].concat())).ok()?;
    let x = part.value(whole.py()).ok()?;
    let in_front = before.iter().filter(|p| !matches!(p, Ix::At(_))).count();
    let mut dims = mask.shape().to_vec();
    if x.shape().get(in_front..in_front + dims.len()) != Some(&dims[..]) {
        return None; // the general path reports the error
    }
    dims.resize(x.rank() - in_front, 1);
    Some(part.write(whole.py(), x.masked_fill(&mask.reshape(dims), value)))
}

/// Writes to a part. Large tensors are copied without the GIL. Repeats the write if another thread has
/// written meanwhile.
fn put_at(whole: &Bound<'_, PyTensor>, entries: Vec<Ix>, value: Arg<'_>) -> PyResult<()> {
    let (py, target) = (whole.py(), whole.get());
    loop {
        let (seen, x) = (target.stamp(), target.value(py)?);
        let new = compute(py, &x, |x| x.with_at(entries.clone(), value));
        drop(x);
        if target.write_since(py, seen, new, false)? {
            return Ok(());
        }
    }
}

/// Writes a value to the indexed part of a tensor.
fn put(slf: &Bound<'_, PyTensor>, entries: Vec<Ix>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = slf.py();
    let x = slf.get().value(py)?;
    let number = crate::value::number(value)?;
    let new = match number {
        Some(n) => Tensor::from_literal(&n.literal(n.dtype_with(x.dtype()))),
        None => tensor_of(value, None)?,
    };
    let there = of(&x);
    let elsewhere = number.is_none() && of(&new) != there && !new.dtype().is_complex();
    let new = if elsewhere { converted(&new, x.dtype(), there) } else { new };
    if slf.get().replace_at(x, &entries, &new) {
        return Ok(());
    }
    let x = slf.get().value(py)?;
    if slf.get().repeats(py) {
        // Writes element by element, because several elements of the view may share memory. Of the elements
        // that an index selects one by one, the last one is kept.
        let same = number.is_some() || !is_view(&entries);
        let part = PyTensor::part_of(slf, View::At(entries))?;
        let new = new.to_dtype(x.dtype()).expand(part.value(py)?.shape());
        return if same { part.write_same(py, new) } else { part.write(py, new) };
    }
    if let Some(n) = number {
        if let Some(done) = fill(slf, &entries, &Tensor::from_literal(&n.literal(x.dtype()))) {
            return done;
        }
        return put_at(slf, entries, Arg::Number(n));
    }
    let value: Tensor = new.to_dtype(x.dtype());
    if value.rank() == 0
        && let Some(done) = fill(slf, &entries, &value)
    {
        return done;
    }
    put_at(slf, entries, Arg::Tensor(&value))
}

/// Returns the result of an index; errors of shape or dtype become `IndexError`.
fn with_index_error(found: Tensor) -> PyResult<Tensor> {
    match found.error().map(|e| (e, e.kind())) {
        Some((e, Kind::Shape { .. } | Kind::DType { .. })) => Err(PyIndexError::new_err(message(e))),
        _ => Ok(found),
    }
}

#[pymethods]
impl PyTensor {
    fn __getitem__(slf: &Bound<'_, PyTensor>, index: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let x = slf.get().value(slf.py())?;
        let entries = entries(&x, index)?;
        if is_view(&entries) {
            return PyTensor::part_of(slf, View::At(entries));
        }
        if let Some((whole, entries)) = select_by_scalar(slf, &entries)? {
            let x = whole.get().value(slf.py())?;
            return PyTensor::out(with_index_error(compute(slf.py(), &x, |x| x.at(entries)))?);
        }
        PyTensor::out(with_index_error(compute(slf.py(), &x, |x| x.at(entries)))?)
    }

    fn __setitem__(
        slf: &Bound<'_, PyTensor>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let entries = entries(&slf.get().value(slf.py())?, index)?;
        match select_by_scalar(slf, &entries)? {
            Some((whole, entries)) => put(&whole, entries, value),
            None => put(slf, entries, value),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.value(py)?.shape().first() {
            Some(&n) => Ok(n),
            None => Err(type_error("len() of a 0-d tensor")),
        }
    }

    fn __iter__<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
        let n = slf.get().__len__(slf.py()).map_err(|_| type_error("iteration over a 0-d tensor"))?;
        let parts = (0..n)
            .map(|i| PyTensor::part_of(slf, View::At(vec![Ix::At(i as isize)])))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(
            slf.py(),
            parts.into_iter().map(|p| Py::new(slf.py(), p)).collect::<PyResult<Vec<_>>>()?,
        )?
        .try_iter()?
        .into_any())
    }

    fn __contains__(&self, py: Python<'_>, item: crate::value::Operand) -> PyResult<bool> {
        crate::error::raise(self.value(py)?.eq(item.arg()).any(()).item::<bool>())
    }
}
