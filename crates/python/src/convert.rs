//! Converts Python objects to tensors and back: numbers, nested lists, arrays.

use crate::dtype::{self, DTypeArg};
use crate::error::{raise, to_exception, type_error, value_error};
use crate::tensor::PyTensor;
use crate::unary::MoreMethods;
use crate::value::number;
use gradus::ir::literal::Data;
use gradus::{Aval, DType, Literal, Number, Shape, Tensor};
use num_complex::Complex;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::{Mutex, PoisonError};

/// Deepest nesting of lists that is read. Bounds the recursion into a list that contains itself.
const MAX_DEPTH: usize = 64;

/// Makes a tensor from any object that holds numbers.
pub(crate) fn tensor_of(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let converted = |t: Tensor| dtype.map_or_else(|| t.clone(), |d| t.to_dtype(d));
    if let Ok(t) = obj.cast::<PyTensor>() {
        return Ok(converted(t.get().value(obj.py())?));
    }
    // Before numbers: NumPy's scalars have a dtype, which is kept.
    if obj.hasattr("__dlpack__")? || obj.hasattr("__array__")? {
        return array(obj, true).map(converted);
    }
    if let Some(n) = element(obj, dtype)? {
        dtype.map_or(Ok(()), |d| fits(n, d))?;
        return Ok(Tensor::from_literal(&n.literal(dtype.unwrap_or(dtype::of_number(n)))));
    }
    if obj.is_instance_of::<PyString>() || obj.is_instance_of::<PyDict>() {
        return Err(type_error(format!("a tensor cannot be made of {}", obj.get_type().name()?)));
    }
    if !(obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() || obj.hasattr("__len__")?) {
        return Err(type_error(format!("a tensor cannot be made of {}", obj.get_type().name()?)));
    }
    let mut nested =
        Nested { dtype, shape: Vec::new(), flat: Vec::new(), natural: None, tensors: Vec::new() };
    nested.read(obj, 0)?;
    nested.tensor()
}

/// Makes a detached tensor with its own memory.
pub(crate) fn copy_of(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let t = tensor_of(obj, dtype)?.detach();
    // Other objects are copied when they are read.
    Ok(if obj.is_instance_of::<PyTensor>() { t.copied() } else { t })
}

/// Returns an object as a number for a tensor of this dtype; an integer beyond 64 bits is accepted for floats
/// only.
fn element(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Number>> {
    if !obj.is_instance_of::<PyInt>() || obj.extract::<i64>().is_ok() {
        return number(obj);
    }
    match dtype.is_some_and(DType::is_differentiable) {
        true => Ok(Some(Number::Float(obj.extract()?))),
        false => Err(value_error(format!("{obj} does not fit in 64 bits"))),
    }
}

/// Returns the dtype of a number in a list. NumPy's numbers have dtypes of their own.
fn dtype_of(obj: &Bound<'_, PyAny>, n: Number) -> DType {
    let plain = obj.is_exact_instance_of::<PyFloat>() || obj.is_exact_instance_of::<PyInt>();
    let own = if plain { None } else { obj.getattr("dtype").ok().and_then(|d| d.extract::<DTypeArg>().ok()) };
    own.map_or_else(|| dtype::of_number(n), |d| d.0)
}

/// Returns an error for numbers that an integer dtype cannot hold. Negative ones wrap in an unsigned dtype,
/// as in PyTorch.
pub(crate) fn fits(n: Number, dtype: DType) -> PyResult<()> {
    use gradus::ir::Class;
    let bits = dtype.size() as i32 * 8;
    let fits = match (dtype.class(), n) {
        (Class::Int, Number::Int(i)) => {
            dtype.wrap(i) == i
                || (dtype.wrap(-1) > 0 && i < 0 && dtype.wrap(i.wrapping_neg()) == i.wrapping_neg())
        }
        (Class::Int, Number::Float(x)) if dtype.wrap(-1) > 0 => x.abs().trunc() < 2f64.powi(bits),
        (Class::Int, Number::Float(x)) => {
            x.trunc() < 2f64.powi(bits - 1) && x.trunc() >= -(2f64.powi(bits - 1))
        }
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => {
            let why = format!("value cannot be converted to type {} without overflow", dtype::name(dtype));
            Err(pyo3::exceptions::PyRuntimeError::new_err(why))
        }
    }
}

/// Numbers read from nested lists.
struct Nested {
    /// The requested dtype.
    dtype: Option<DType>,
    shape: Vec<usize>,
    flat: Vec<Number>,
    /// The dtype that holds all numbers so far.
    natural: Option<DType>,
    /// Tensors found in lists; all must have one shape.
    tensors: Vec<Tensor>,
}

impl Nested {
    fn read(&mut self, obj: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if depth > MAX_DEPTH {
            return Err(value_error("lists are nested too deep"));
        }
        let n = obj.len()?;
        match self.shape.get(depth) {
            Some(&known) if known != n => {
                return Err(value_error(format!(
                    "lists of different lengths, {known} and {n}, at depth {depth}: a tensor is a full rectangle"
                )));
            }
            Some(_) => {}
            None => self.shape.push(n),
        }
        for item in obj.try_iter()? {
            let item = item?;
            if let Ok(t) = item.cast::<PyTensor>() {
                // Tensors in lists are read like numbers, because the new tensor may be on another device.
                self.push(t.get().value(item.py())?.to(gradus::Device::CPU));
            } else if let Some(x) = element(&item, self.dtype)? {
                if self.shape.len() != depth + 1 {
                    return Err(value_error(format!("a number among lists at depth {depth}")));
                }
                let own = dtype_of(&item, x);
                if !self.tensors.is_empty() {
                    self.push(Tensor::from_literal(&x.literal(own)));
                    continue;
                }
                self.natural = Some(self.natural.map_or(own, |d| d.promote(own)));
                self.flat.push(x);
            } else if item.hasattr("__dlpack__")? || item.hasattr("__array__")? {
                self.push(array(&item, true)?);
            } else if item.is_instance_of::<PyList>()
                || item.is_instance_of::<PyTuple>()
                || item.hasattr("__len__")?
            {
                self.read(&item, depth + 1)?;
            } else {
                return Err(type_error(format!("a tensor cannot hold {}", item.get_type().name()?)));
            }
        }
        Ok(())
    }

    /// Adds a tensor found in a list; converts numbers before it to tensors.
    fn push(&mut self, t: Tensor) {
        let natural = self.natural.unwrap_or(dtype::default_float());
        self.tensors.extend(self.flat.drain(..).map(|n| Tensor::from_literal(&n.literal(natural))));
        self.tensors.push(t);
    }

    fn tensor(self) -> PyResult<Tensor> {
        if !self.tensors.is_empty() {
            return self.stacked();
        }
        let natural = self.natural.unwrap_or(dtype::default_float());
        let dtype = self.dtype.unwrap_or(natural);
        let float = |n: &Number| match *n {
            Number::Bool(b) => b as i64 as f64,
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
            Number::Complex(z) => z.re,
        };
        let data: Data = match (dtype.class(), natural.is_complex()) {
            (gradus::ir::Class::Complex, _) => {
                let pair =
                    |n: &Number| if let Number::Complex(z) = n { *z } else { Complex::new(float(n), 0.0) };
                self.flat.iter().map(pair).collect::<Vec<_>>().into()
            }
            (_, true) => {
                return Err(value_error(format!("complex numbers do not fit {}", dtype::name(dtype))));
            }
            (gradus::ir::Class::Float, _) => {
                self.flat.iter().map(|n| dtype.round(float(n))).collect::<Vec<_>>().into()
            }
            _ => {
                self.flat.iter().try_for_each(|n| fits(*n, dtype))?;
                let integer = |n: &Number| match *n {
                    Number::Bool(b) => b as i64,
                    Number::Int(i) if dtype == DType::Bool => (i != 0) as i64,
                    Number::Int(i) => dtype.wrap(i),
                    ref n if dtype == DType::Bool => (float(n) != 0.0) as i64,
                    ref n => dtype.wrap(dtype.from_float(float(n))),
                };
                self.flat.iter().map(integer).collect::<Vec<_>>().into()
            }
        };
        let literal = raise(Literal::new(Aval::new(dtype, Shape::from(self.shape)), data))?;
        raise(Tensor::from_literal(&literal).check().cloned())
    }

    /// Stacks lists of tensors.
    fn stacked(self) -> PyResult<Tensor> {
        let count = self.shape.iter().product::<usize>();
        // Tensors of one element count as numbers, as in PyTorch.
        let single = self.tensors.iter().all(|t| t.numel() == 1);
        let flat = |t: &Tensor| if single { t.reshape([0usize; 0]) } else { t.clone() };
        let all: Vec<Tensor> = self.tensors.iter().map(flat).collect();
        if count != all.len() || all.iter().any(|t| t.shape() != all[0].shape()) {
            return Err(value_error("a list holds either tensors of one shape or numbers"));
        }
        let refs: Vec<&Tensor> = all.iter().collect();
        // A single tensor is copied, because `unsqueeze` would return a view.
        let rows = if let [one] = &refs[..] { one.unsqueeze(0).copied() } else { Tensor::stack(&refs, 0) };
        let dims: Vec<usize> = self.shape.iter().copied().chain(all[0].shape().iter().copied()).collect();
        let t = rows.reshape(dims).detach();
        raise(self.dtype.map_or_else(|| t.clone(), |d| t.to_dtype(d)).check().cloned())
    }
}

/// Makes a tensor of an array; copies if requested or if the array cannot be shared.
pub(crate) fn array(obj: &Bound<'_, PyAny>, copy: bool) -> PyResult<Tensor> {
    if let Ok(t) = crate::dlpack::import(obj, copy) {
        return Ok(t);
    }
    // Without DLPack (read-only arrays, old libraries), copies NumPy's bytes.
    let numpy = obj.py().import("numpy")?;
    let array = numpy.call_method1("ascontiguousarray", (obj,))?;
    let own = array.getattr("dtype")?;
    let array = match own.getattr("isnative")?.is_truthy()? {
        true => array,
        false => array.call_method1("astype", (own.call_method1("newbyteorder", ("=",))?,))?,
    };
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let Some(dtype) = dtype::named(&name) else {
        return Err(type_error(format!("gradus has no dtype for an array of {name}")));
    };
    // `ascontiguousarray` returns at least one axis.
    let shape: Vec<usize> = obj.getattr("shape").or_else(|_| array.getattr("shape"))?.extract()?;
    let bytes = array.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>().map_err(|_| type_error("tobytes did not return bytes"))?;
    raise(Tensor::from_bytes(&Aval::new(dtype, Shape::from(shape)), bytes.as_bytes()).check().cloned())
}

/// Elements read at a time; between two reads Python can handle Ctrl-C.
const CHUNK: usize = 1 << 18;

/// The elements in row-major order, as Python objects.
struct Elements<'py> {
    py: Python<'py>,
    flat: Tensor,
    /// Position of the next elements to read.
    next: usize,
    /// The elements that were read last.
    read: Literal,
    /// Number of elements of `read` that were returned.
    consumed: usize,
}

impl<'py> Elements<'py> {
    /// Reads more elements if all read ones are consumed.
    fn refill(&mut self) -> PyResult<()> {
        if self.consumed == self.read.data().len() {
            self.py.detach(std::thread::yield_now); // lets other threads take the GIL
            self.py.check_signals()?;
            let count = CHUNK.min(self.flat.numel() - self.next);
            self.read = raise(self.flat.narrow(0, self.next, count).to_literal())?;
            (self.next, self.consumed) = (self.next + count, 0);
        }
        Ok(())
    }

    fn next(&mut self) -> PyResult<Bound<'py, PyAny>> {
        self.refill()?;
        let (py, i) = (self.py, self.consumed);
        self.consumed += 1;
        Ok(match self.read.data() {
            Data::C(all) => PyComplex::from_doubles(py, all[i].re, all[i].im).into_any(),
            Data::F(all) => PyFloat::new(py, all[i]).into_any(),
            Data::I(all) if self.read.dtype() == DType::Bool => {
                PyBool::new(py, all[i] != 0).to_owned().into_any()
            }
            Data::I(all) => all[i].into_pyobject(py)?.into_any(),
        })
    }

    /// Returns the next `n` elements as a list. Converts them together if all of them have been read.
    fn row(&mut self, n: usize) -> PyResult<Bound<'py, PyList>> {
        let (py, from) = (self.py, self.consumed);
        let read = from..from + n;
        self.consumed += n;
        match self.read.data() {
            Data::F(all) if read.end <= all.len() => PyList::new(py, &all[read]),
            Data::I(all) if read.end <= all.len() && self.read.dtype() != DType::Bool => {
                PyList::new(py, &all[read])
            }
            _ => {
                self.consumed = from;
                let items = (0..n).map(|_| self.next()).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, items)
            }
        }
    }

    fn nested(&mut self, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        match shape.split_first() {
            None => self.next(),
            Some((&n, [])) => self.row(n).map(Bound::into_any),
            Some((&n, rest)) => {
                let items = (0..n).map(|_| self.nested(rest)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyList::new(self.py, items)?.into_any())
            }
        }
    }
}

/// Converts the elements to nested lists, or to a number.
pub(crate) fn to_list<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    // An object and a pointer per element: returns an error before anything is allocated.
    raise(gradus::ir::size::check_bytes(t.numel().saturating_mul(40)))?;
    if t.numel() > FEW && t.shape().rank() <= MAX_AXES {
        return many_to_list(py, &t.detach().to(gradus::Device::CPU));
    }
    let many = t.numel() > CHUNK;
    let flat = if many { t.detach().reshape([-1]) } else { t.clone() };
    let read = raise(if many { flat.narrow(0, 0, 0).to_literal() } else { flat.to_literal() })?;
    Elements { py, flat, next: 0, read, consumed: 0 }.nested(&t.shape())
}

/// Largest number of elements of a list that is built here. Functions that create Python objects panic if
/// memory runs out; NumPy raises `MemoryError` instead.
const FEW: usize = 1 << 10;

/// Largest number of axes of an array in any version of NumPy.
const MAX_AXES: usize = 32;

/// Converts the elements to nested lists with NumPy, in parts, and checks signals in between.
fn many_to_list<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let (shape, all) = (t.shape(), t.numel());
    if all <= CHUNK {
        py.detach(std::thread::yield_now); // lets other threads take the GIL
        py.check_signals()?;
        let known = if t.dtype() == DType::BF16 { t.to_dtype(DType::F32) } else { t.clone() };
        return crate::array::numpy(py, &known)?.call_method0("tolist");
    }
    let list = py.get_type::<PyList>().call0()?;
    let (rows, row) = (shape[0], all / shape[0]);
    let together = (CHUNK / row).max(1);
    for first in (0..rows).step_by(together) {
        let count = together.min(rows - first);
        let part = t.narrow(0, first, count);
        match row > CHUNK {
            true => list.call_method1("append", (many_to_list(py, &part.squeeze(0))?,))?,
            false => list.call_method1("extend", (many_to_list(py, &part)?,))?,
        };
    }
    Ok(list)
}

/// Returns the element of a tensor of one element as a Python number.
pub(crate) fn item<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    if let Some(e) = t.error() {
        return Err(to_exception(e));
    }
    if t.numel() != 1 {
        let why = format!("a Tensor with {} elements cannot be converted to a number", t.numel());
        return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
    }
    to_list(py, &t.reshape(Vec::<i64>::new()))
}

/// Returns a class written in Python, imported once.
pub(crate) fn class<'py>(
    py: Python<'py>,
    lock: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let class = lock.get_or_try_init(py, || Ok::<_, PyErr>(py.import(module)?.getattr(name)?.unbind()))?;
    Ok(class.bind(py).clone())
}

/// Returns extents as `gradus.Size`. Recently made objects are cached, because programs ask repeatedly.
pub(crate) fn size<'py>(py: Python<'py>, shape: Shape) -> PyResult<Bound<'py, PyAny>> {
    const SLOTS: usize = 64;
    static SIZE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    type Entry = Option<(Shape, Py<PyAny>)>;
    static CACHE: Mutex<[Entry; SLOTS]> = Mutex::new([const { None }; SLOTS]);
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = shape.iter().fold(shape.rank(), |at, d| at.wrapping_mul(31).wrapping_add(*d)) % SLOTS;
    if let Some((_, known)) = cache()[at].as_ref().filter(|(of, _)| *of == shape) {
        return Ok(known.bind(py).clone());
    }
    let new = class(py, &SIZE, "gradus._results", "Size")?.call1((PyTuple::new(py, &*shape)?,))?;
    let before = cache()[at].replace((shape, new.clone().unbind()));
    drop(before); // outside of the lock
    Ok(new)
}
