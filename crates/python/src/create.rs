//! Functions that make new tensors.

use crate::convert::{array, copy_of, fits, tensor_of};
use crate::device::{converted, current, device_or_default, device_or_that_of, moved, of, parse};
use crate::dtype::{DTypeArg, default_float, of_number};
use crate::error::{raise, type_error, value_error};
use crate::tensor::PyTensor;
use crate::unary::MoreMethods;
use crate::value::{Count, Operand, PerAxis, T, extents, float, integer, integers, number};
use gradus::mem::Storage;
use gradus::{Aval, DType, Device, Error, Kind, Memory, Number, Shape, Tensor};
use num_complex::Complex;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

/// Finishes a new tensor: moves it to its device, and makes it a leaf if gradients are required.
fn made(t: Tensor, requires_grad: bool, device: Device) -> PyResult<PyTensor> {
    let t = moved(t, device);
    PyTensor::out(if requires_grad { crate::trace_deps::register_leaf(t.requires_grad_()) } else { t })
}

fn shape(size: &Bound<'_, PyTuple>) -> PyResult<Shape> {
    Ok(Shape::from(extents(integers(size)?)?))
}

/// Largest size in bytes for which writing elements is faster than an operation.
const FEW: usize = 256;

/// Smallest size in bytes of memory that the system provides as pages of zeros, which need not be written.
const MIN_ZERO_PAGES: usize = 1 << 22;

/// Fills a small tensor of this type with a number. Returns `None` for larger ones, which are broadcast
/// instead.
pub(crate) fn small_full(x: &Tensor, n: Number) -> Option<Tensor> {
    let aval = x.aval().filter(|a| a.shape.numel().saturating_mul(a.dtype.size()) <= FEW)?;
    (!gradus::is_tracing() && x.device().is_cpu()).then(|| full_of(&aval, n))
}

/// Fills a tensor of a type with a number, in its own memory. Returns a failed tensor if the allocation
/// fails.
fn full_of(aval: &Aval, n: Number) -> Tensor {
    let one = n.literal(aval.dtype);
    let zero = matches!(n, Number::Bool(false) | Number::Int(0))
        || matches!(n, Number::Float(x) if x.to_bits() == 0);
    let bytes = aval.shape.numel().saturating_mul(aval.dtype.size());
    if gradus::is_tracing() || (bytes > FEW && !(zero && bytes >= MIN_ZERO_PAGES)) {
        return match gradus::ir::size::check_bytes(bytes) {
            Ok(()) => Tensor::from_literal(&one).expand(&aval.shape).contiguous(),
            Err(e) => Tensor::failed(e),
        };
    }
    if bytes <= FEW {
        let mut all = [0; FEW];
        if !zero && let Ok(one) = Tensor::from_literal(&one).to_bytes() {
            all[..bytes].chunks_exact_mut(one.len()).for_each(|element| element.copy_from_slice(&one));
        }
        return Tensor::from_bytes(aval, &all[..bytes]);
    }
    let storage = gradus::ir::size::check_bytes(bytes).map(|()| Storage::zeroed(bytes));
    match storage {
        Ok(Some(storage)) => {
            let strides = aval.shape.strides().into_iter().map(|s| s as i64).collect();
            Tensor::from_memory(Memory { storage, offset: 0, strides, aval: aval.clone() })
        }
        Ok(None) => Tensor::failed(Error::new(Kind::Memory { bytes })),
        Err(e) => Tensor::failed(e),
    }
}

/// Fills a tensor on a device with a number, of which one element is transferred. Errors name the call `name`.
fn full_on(name: &str, aval: &Aval, n: Number, device: Device) -> Tensor {
    if device.is_cpu() || gradus::is_tracing() {
        return full_of(aval, n);
    }
    let filled = Tensor::from_literal(&n.literal(aval.dtype)).to(device).expand(&aval.shape).contiguous();
    match filled.error() {
        // Drops the op that copies the elements: it is not what the caller asked for.
        Some(e) => Tensor::failed(Error::new(e.kind().clone()).in_op(name, &[])),
        None => filled,
    }
}

/// Returns an error for lists that exceed memory: allocating them would abort the process.
fn check_memory(numbers: usize) -> PyResult<()> {
    raise(gradus::ir::size::check_elements(numbers, 8))
}

/// Raises `MemoryError` if `count` elements of `size` bytes exceed memory. Python code calls it before it
/// builds lists itself. A count beyond 64 bits is an error too.
#[pyfunction]
#[pyo3(signature = (count, size=8))]
pub(crate) fn _reserve(count: &Bound<'_, PyAny>, size: usize) -> PyResult<()> {
    let count = if count.lt(0)? { 0 } else { count.extract::<usize>().unwrap_or(usize::MAX) };
    raise(gradus::ir::size::check_elements(count, size))
}

/// A tensor from numbers, nested lists or an array, copied.
///
/// >>> import gradus
/// >>> gradus.tensor([[1, 2], [3, 4]])
/// tensor([[1, 2],
///         [3, 4]])
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false, pin_memory=false))]
pub(crate) fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<PyTensor> {
    let _ = pin_memory; // there is no pinned memory
    copy_to_new(data, dtype.map(|d| d.0), device, None, requires_grad)
}

/// Copies data to a new tensor: on `device`, else on the device of the source tensor, else on `default`.
pub(crate) fn copy_to_new(
    data: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    device: Option<&Bound<'_, PyAny>>,
    default: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let device = parse(device)?.or(default);
    let t = match data.cast::<PyTensor>() {
        Ok(t) => {
            let x = t.get().value(data.py())?.detach();
            let to = device.unwrap_or_else(|| of(&x));
            let new = converted(&x, dtype.unwrap_or(x.dtype()), to);
            if new.is_same(&x) || x.is_foreign() { new.copied() } else { new }
        }
        Err(_) => moved(copy_of(data, dtype)?, device.unwrap_or_else(current)),
    };
    PyTensor::out(if requires_grad { crate::trace_deps::register_leaf(t.requires_grad_()) } else { t })
}

/// A tensor that shares memory with the data if possible, else a copy.
#[doc = example!(as_tensor)]
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None))]
pub(crate) fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (device, dtype) = (parse(device)?, dtype.map(|d| d.0));
    if let Ok(t) = data.cast::<PyTensor>() {
        let x = t.get().value(data.py())?;
        let (to, kind) = (device.unwrap_or_else(|| of(&x)), dtype.unwrap_or(x.dtype()));
        if x.dtype() == kind && of(&x) == to {
            return Ok(data.clone());
        }
        return Ok(Bound::new(data.py(), PyTensor::out(converted(&x, kind, to))?)?.into_any());
    }
    let t = if data.hasattr("__dlpack__")? { array(data, false)? } else { tensor_of(data, dtype)? };
    let t = dtype.map_or_else(|| t.clone(), |d| t.to_dtype(d));
    Ok(Bound::new(data.py(), PyTensor::out(moved(t, device.unwrap_or_else(current)))?)?.into_any())
}

/// A tensor that shares memory with a NumPy array.
#[doc = example!(from_numpy)]
#[pyfunction]
pub(crate) fn from_numpy(array: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    if !crate::array::is_array(array)? {
        return Err(type_error(format!("expected a NumPy array, not {}", array.get_type().name()?)));
    }
    match crate::array::share(array)? {
        Some(t) => PyTensor::out(t),
        None => PyTensor::out(self::array(array, false)?),
    }
}

/// A tensor that shares memory with any object with `__dlpack__`.
#[doc = example!(from_dlpack)]
#[pyfunction]
pub(crate) fn from_dlpack(ext_tensor: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    match crate::dlpack::import(ext_tensor, false) {
        Ok(t) => PyTensor::out(t),
        Err(_) => PyTensor::out(crate::dlpack::import(ext_tensor, true)?),
    }
}

/// Implements `Tensor(2, 3)`: zeros of these extents.
pub(crate) fn zeros_of_extents<'py>(sizes: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Tensor> {
    let sizes = sizes.map(|d| integer(&d)).collect::<PyResult<Vec<i64>>>()?;
    Ok(Tensor::zeros_of(&Aval::new(default_float(), Shape::from(extents(sizes)?))).contiguous())
}

/// Implements `Tensor(data)`: numbers become floats, and a single integer is an extent.
pub(crate) fn from_constructor(data: Option<&Bound<'_, PyAny>>, dtype: Option<DType>) -> PyResult<Tensor> {
    let Some(data) = data else { return Ok(Tensor::zeros([0usize])) };
    let typed = data.is_instance_of::<PyTensor>() || data.hasattr("dtype")?;
    if !typed && data.is_instance_of::<PyInt>() {
        return zeros_of_extents([data.clone()].into_iter());
    }
    let value = tensor_of(data, dtype)?.detach();
    let natural = data.is_instance_of::<PyTensor>() || dtype.is_some();
    Ok(if natural { value } else { value.to_dtype(default_float()) })
}

macro_rules! filled {
    ($($name:ident $like:ident $method:ident $value:literal $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        #[pyo3(signature = (*sizes, size=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $name(
            sizes: &Bound<'_, PyTuple>,
            size: Option<PerAxis>,
            dtype: Option<DTypeArg>,
            device: Option<&Bound<'_, PyAny>>,
            requires_grad: bool,
        ) -> PyResult<PyTensor> {
            let dtype = dtype.map_or(default_float(), |d| d.0);
            let shape = size.map_or_else(|| shape(sizes), |s| Ok(Shape::from(s.0)))?;
            let device = device_or_default(device)?;
            let filled = full_on(stringify!($name), &Aval::new(dtype, shape), Number::Float($value), device);
            made(filled, requires_grad, device)
        }

        #[doc = concat!($doc, " With shape and dtype of another tensor.")]
        #[doc = example!($like)]
        #[pyfunction]
        #[pyo3(signature = (input, *, dtype=None, device=None, requires_grad=false, memory_format=None))]
        pub(crate) fn $like(
            input: T,
            dtype: Option<DTypeArg>,
            device: Option<&Bound<'_, PyAny>>,
            requires_grad: bool,
            memory_format: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<PyTensor> {
            let _ = memory_format;
            let dtype = dtype.map_or(input.0.dtype(), |d| d.0);
            let device = device_or_that_of(device, &input.0)?;
            let like = Aval::new(dtype, input.0.shape());
            made(full_on(stringify!($like), &like, Number::Float($value), device), requires_grad, device)
        }

        #[pymethods]
        impl PyTensor {
            #[doc = concat!($doc, " With this tensor's dtype.")]
            #[doc = example!($method)]
            #[pyo3(signature = (*sizes, size=None, dtype=None, device=None, requires_grad=false, layout=None, pin_memory=false))]
            #[expect(clippy::too_many_arguments, reason = "each is an argument of PyTorch's method")]
            fn $method(
                &self,
                py: Python<'_>,
                sizes: &Bound<'_, PyTuple>,
                size: Option<PerAxis>,
                dtype: Option<DTypeArg>,
                device: Option<&Bound<'_, PyAny>>,
                requires_grad: bool,
                layout: Option<&Bound<'_, PyAny>>,
                pin_memory: bool,
            ) -> PyResult<PyTensor> {
                let _ = (layout, pin_memory); // there is one layout and no pinned memory
                let shape = size.map_or_else(|| shape(sizes), |s| Ok(Shape::from(s.0)))?;
                let x = self.value(py)?;
                let (dtype, device) = (dtype.map_or(x.dtype(), |d| d.0), device_or_that_of(device, &x)?);
                let like = Aval::new(dtype, shape);
                made(full_on(stringify!($method), &like, Number::Float($value), device), requires_grad, device)
            }
        }
    )*};
}

filled! {
    zeros zeros_like new_zeros 0.0 "Zeros.";
    ones ones_like new_ones 1.0 "Ones.";
    empty empty_like new_empty 0.0 "A new tensor; its elements are zeros here, unspecified in PyTorch.";
}

/// A tensor filled with one value.
#[doc = example!(full)]
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let n = number(fill_value)?;
    let n = match n {
        Some(n) => n,
        None => {
            let what = || type_error(format!("fill_value must be a number, not {}", fill_value.get_type()));
            let item = fill_value.call_method0("item").map_err(|_| what())?;
            number(&item)?.ok_or_else(what)?
        }
    };
    let size = size.extract::<PerAxis>()?.0;
    let dtype = dtype.map_or(of_number(n), |d| d.0);
    fits(n, dtype)?;
    let device = device_or_default(device)?;
    made(full_on("full", &Aval::new(dtype, Shape::from(size)), n, device), requires_grad, device)
}

/// A tensor filled with one value, with shape and dtype of another tensor.
#[doc = example!(full_like)]
#[pyfunction]
#[pyo3(signature = (input, fill_value, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn full_like(
    input: T,
    fill_value: Operand,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let dtype = dtype.map_or(input.0.dtype(), |d| d.0);
    let device = device_or_that_of(device, &input.0)?;
    let t = match fill_value {
        Operand::Number(n) => {
            fits(n, dtype)?;
            full_on("full_like", &Aval::new(dtype, input.0.shape()), n, device)
        }
        Operand::Tensor(t) => t.to_dtype(dtype).expand(input.0.shape()),
    };
    made(t, requires_grad, device)
}

/// Numbers from `start` up to, but excluding, `end`: `arange(end)` or `arange(start, end, step)`.
///
/// >>> import gradus
/// >>> gradus.arange(1, 2.5, 0.5)
/// tensor([1.0000, 1.5000, 2.0000])
#[pyfunction]
#[pyo3(signature = (start, end=None, step=None, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn arange(
    start: &Bound<'_, PyAny>,
    end: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let one = |x: &Bound<'_, PyAny>| match number(x)? {
        Some(n) => Ok(n),
        None => number(&x.call_method0("item")?)?.ok_or_else(|| type_error("arange takes numbers")),
    };
    let (from, to) = match end {
        Some(end) => (one(start)?, one(end)?),
        None => (Number::Int(0), one(start)?),
    };
    let step = step.map_or(Ok(Number::Int(1)), one)?;
    let dtype = dtype.map(|d| d.0);
    let t = match (from, to, step) {
        (Number::Int(a), Number::Int(b), Number::Int(s)) if s != 0 => {
            let n = (b as i128 - a as i128).signum() * s.signum() as i128;
            let n = if n > 0 {
                (b as i128 - a as i128).unsigned_abs().div_ceil(s.unsigned_abs() as u128)
            } else {
                0
            };
            match n <= FEW as u128 / 8 && !gradus::is_tracing() {
                true => Tensor::from((0..n as i64).map(|i| a + i * s).collect::<Vec<i64>>()),
                false => Tensor::arange(a, b, s),
            }
        }
        (Number::Int(_), Number::Int(_), Number::Int(_)) => Tensor::arange(from, to, step),
        _ => {
            let (a, b, s) = (float(from), float(to), float(step));
            let n = ((b - a) / s).ceil();
            let why = "arange: start, end and step must be finite and the step not 0";
            let n = if n.is_finite() { n.max(0.0) as usize } else { return Err(value_error(why)) };
            // For an integer dtype start and step are truncated, but the count is not.
            let integral = dtype.is_some_and(|d| !d.is_differentiable() && d != DType::Bool);
            let (a, s) = if integral { (a.trunc(), s.trunc()) } else { (a, s) };
            let all = match n <= FEW / 8 && !gradus::is_tracing() {
                true => Tensor::from((0..n).map(|i| i as f64 * s + a).collect::<Vec<f64>>()),
                false => Tensor::iota(DType::F64, [n], 0).mul(s).add(a),
            };
            all.to_dtype(dtype.unwrap_or(default_float()))
        }
    };
    made(dtype.map_or_else(|| t.clone(), |d| t.to_dtype(d)), requires_grad, device_or_default(device)?)
}

/// Evenly spaced numbers from `start` to `end`, both included.
#[doc = example!(linspace)]
#[pyfunction]
#[pyo3(signature = (start, end, steps, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn linspace(
    start: Operand,
    end: Operand,
    steps: Count,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let steps = steps.0;
    let end_of = |o: Operand| match o {
        Operand::Number(n) => Ok(float(n)),
        Operand::Tensor(t) => raise(converted(&t, DType::F64, Device::CPU).item::<f64>()),
    };
    let (from, to) = (end_of(start)?, end_of(end)?);
    let dtype = spaced_dtype("linspace", dtype)?;
    made(Tensor::linspace_of(&Aval::new(dtype, [steps]), from, to), requires_grad, device_or_default(device)?)
}

/// Returns the dtype of evenly spaced numbers: `dtype`, by default the default float. Booleans are an error.
fn spaced_dtype(name: &str, dtype: Option<DTypeArg>) -> PyResult<DType> {
    match dtype.map_or(default_float(), |d| d.0) {
        DType::Bool => Err(PyNotImplementedError::new_err(format!("{name} is not implemented for bool"))),
        dtype => Ok(dtype),
    }
}

/// Numbers whose logarithms are evenly spaced.
#[doc = example!(logspace)]
#[pyfunction]
#[pyo3(signature = (start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn logspace(
    start: Operand,
    end: Operand,
    steps: Count,
    base: f64,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let (steps, dtype) = (steps.0, spaced_dtype("logspace", dtype)?);
    let integral = !dtype.is_differentiable();
    let end_of = |o: Operand| -> PyResult<Complex<f64>> {
        let z = match o {
            Operand::Number(Number::Complex(z)) => z,
            Operand::Number(n) => Complex::from(float(n)),
            Operand::Tensor(t) => raise(converted(&t, DType::C128, Device::CPU).item::<Complex<f64>>())?,
        };
        Ok(if integral { Complex::from(z.re.trunc()) } else { z })
    };
    let (from, to) = (end_of(start)?, end_of(end)?);
    let step = if steps > 1 { (to - from) / (steps - 1) as f64 } else { Complex::from(0.0) };
    // Computes from the nearer end, so that both ends are exact.
    let exponent = |i: usize| match i < steps.div_ceil(2) {
        true => from + step * i as f64,
        false => to - step * (steps - 1 - i) as f64,
    };
    let bytes = steps.saturating_mul(if dtype.is_complex() { 16 } else { 8 });
    raise(gradus::ir::size::check_bytes(bytes))?;
    let all = match dtype.is_complex() {
        true => Tensor::from(
            (0..steps).map(|i| Complex::from(base).powc(exponent(i))).collect::<Vec<Complex<f64>>>(),
        ),
        false => Tensor::from((0..steps).map(|i| base.powf(exponent(i).re)).collect::<Vec<f64>>()),
    };
    made(all.to_dtype(dtype), requires_grad, device_or_default(device)?)
}

/// The identity matrix.
#[doc = example!(eye)]
#[pyfunction]
#[pyo3(signature = (n, m=None, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn eye(
    n: Count,
    m: Option<Count>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let (n, m, device) = (n.0, m.unwrap_or(n).0, device_or_default(device)?);
    let own = dtype.map_or(default_float(), |d| d.0);
    let bytes = n.saturating_mul(m).saturating_mul(own.size());
    if bytes <= FEW && !gradus::is_tracing() {
        let (mut all, one) =
            ([0; FEW], raise(Tensor::from_literal(&Number::Int(1).literal(own)).to_bytes())?);
        for start in (0..n.min(m)).map(|i| i * (m + 1) * own.size()) {
            all[start..start + one.len()].copy_from_slice(&one);
        }
        return made(Tensor::from_bytes(&Aval::new(own, [n, m]), &all[..bytes]), requires_grad, device);
    }
    made(Tensor::eye_of(&Aval::new(own, [n, m])), requires_grad, device)
}

/// The indices of a triangle of a matrix, as two rows.
fn triangle(
    (row, col): (usize, usize),
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    keep: impl Fn(i64, i64) -> bool,
) -> PyResult<PyTensor> {
    check_memory(row.saturating_mul(col).saturating_mul(4))?;
    let all = || (0..row as i64).flat_map(|i| (0..col as i64).map(move |j| (i, j)));
    let kept: Vec<(i64, i64)> = all().filter(|&(i, j)| keep(i, j)).collect();
    let flat: Vec<i64> = kept.iter().map(|p| p.0).chain(kept.iter().map(|p| p.1)).collect();
    let indices = Tensor::from_slice(&flat, [2, kept.len()]);
    made(dtype.map_or_else(|| indices.clone(), |d| indices.to_dtype(d.0)), false, device_or_default(device)?)
}

/// The indices on and below a diagonal.
#[doc = example!(tril_indices)]
#[pyfunction]
#[pyo3(signature = (row, col, offset=0, *, dtype=None, device=None))]
pub(crate) fn tril_indices(
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    triangle((row, col), dtype, device, |i, j| j - i <= offset)
}

/// The indices on and above a diagonal.
#[doc = example!(triu_indices)]
#[pyfunction]
#[pyo3(signature = (row, col, offset=0, *, dtype=None, device=None))]
pub(crate) fn triu_indices(
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    triangle((row, col), dtype, device, |i, j| j - i >= offset)
}

/// A complex tensor from real and imaginary parts.
#[doc = example!(complex)]
#[pyfunction]
pub(crate) fn complex(real: T, imag: T) -> PyResult<PyTensor> {
    PyTensor::out(real.0.complex(&imag.0))
}

/// A complex tensor from moduli and angles.
#[doc = example!(polar)]
#[pyfunction]
pub(crate) fn polar(abs: T, angle: T) -> PyResult<PyTensor> {
    PyTensor::out(abs.0.polar(&angle.0))
}
