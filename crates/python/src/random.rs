//! Random tensors, from the default generator or a given one.

use crate::device::{device_or_default, device_or_that_of, moved, object, parse};
use crate::dtype::{DTypeArg, default_float};
use crate::error::{raise, value_error};
use crate::tensor::{BIG, PyTensor};
use crate::unary::MoreMethods;
use crate::value::{Count, Operand, T, extents, integers};
use gradus::{DType, Device, Generator, Shape, Tensor, default_generator};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};

/// A random number generator with its own state.
///
/// >>> import gradus
/// >>> g = gradus.Generator().manual_seed(0)
/// >>> gradus.randint(0, 10, (3,), generator=g).shape
/// gradus.Size([3])
#[pyclass(name = "Generator", module = "gradus", frozen)]
pub(crate) struct PyGenerator {
    own: Generator,
    seed: AtomicU64,
    /// The device that the caller asked for. Numbers are drawn on the CPU, for every device.
    device: Device,
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn create(device: Option<&Bound<'_, PyAny>>) -> PyResult<PyGenerator> {
        let device = parse(device)?.unwrap_or(Device::CPU);
        Ok(PyGenerator { own: Generator::new(0), seed: AtomicU64::new(0), device })
    }

    /// The device it was created for.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, self.device)
    }

    /// Restarts from this seed.
    fn manual_seed<'py>(slf: Bound<'py, PyGenerator>, seed: Seed) -> Bound<'py, PyGenerator> {
        slf.get().own.seed(seed.0);
        slf.get().seed.store(seed.0, Ordering::Relaxed);
        slf
    }

    /// The seed it was started from.
    fn initial_seed(&self) -> u64 {
        self.seed.load(Ordering::Relaxed)
    }

    /// The state, for `set_state`.
    fn get_state(&self) -> PyTensor {
        PyTensor::new(self.own.state().detach())
    }

    /// Copies and pickles continue from the current state.
    #[expect(clippy::type_complexity, reason = "the parts of a pickle")]
    fn __reduce__<'py>(
        slf: &Bound<'py, PyGenerator>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,), (u64, PyTensor))> {
        let own = slf.get();
        Ok((
            slf.get_type().into_any(),
            (object(slf.py(), own.device)?,),
            (own.initial_seed(), PyTensor::new(own.own.state().detach().copied())),
        ))
    }

    fn __setstate__(&self, state: (u64, T)) -> PyResult<()> {
        self.seed.store(state.0, Ordering::Relaxed);
        self.set_state(state.1)
    }

    /// Continues from a state.
    fn set_state(&self, state: T) -> PyResult<()> {
        raise(self.own.state().set_(&state.0))
    }
}

/// The seed of the default generator.
static SEED: AtomicU64 = AtomicU64::new(0);

type GeneratorArg<'a, 'py> = Option<&'a Bound<'py, PyGenerator>>;

/// Calls `f`, without the GIL if it draws many numbers. A trace keeps the GIL, because it needs the caller's
/// line.
fn with(
    generator: GeneratorArg<'_, '_>,
    shape: Shape,
    f: impl FnOnce(&Generator, Shape) -> Tensor + Send,
) -> Tensor {
    let own: &Generator = match generator {
        Some(g) => &g.get().own,
        None => default_generator(),
    };
    if shape.numel() < BIG || gradus::is_tracing() {
        return f(own, shape);
    }
    Python::attach(|py| py.detach(|| f(own, shape)))
}

/// Restarts the default generator from this seed, and returns it.
///
/// >>> import gradus
/// >>> generator = gradus.manual_seed(3)
/// >>> generator.initial_seed()
/// 3
#[pyfunction]
pub(crate) fn manual_seed(seed: Seed) -> PyGenerator {
    gradus::manual_seed(seed.0);
    SEED.store(seed.0, Ordering::Relaxed);
    PyGenerator { own: default_generator().clone(), seed: AtomicU64::new(seed.0), device: Device::CPU }
}

/// A seed: an object that `int` converts to 64 bits.
pub(crate) struct Seed(u64);

impl<'a, 'py> FromPyObject<'a, 'py> for Seed {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Seed> {
        let integer = obj.py().get_type::<pyo3::types::PyInt>().call1((obj,))?;
        let signed = integer.extract::<i64>().map(|i| i as u64);
        signed
            .or_else(|_| integer.extract())
            .map(Seed)
            .map_err(|_| value_error(format!("{integer} does not fit in 64 bits")))
    }
}

/// The seed that the default generator was started from.
#[doc = example!(initial_seed)]
#[pyfunction]
pub(crate) fn initial_seed() -> u64 {
    SEED.load(Ordering::Relaxed)
}

/// The state of the default generator.
#[doc = example!(get_rng_state)]
#[pyfunction]
pub(crate) fn get_rng_state() -> PyTensor {
    PyTensor::new(default_generator().state().detach())
}

/// Sets the state of the default generator.
#[doc = example!(set_rng_state)]
#[pyfunction]
pub(crate) fn set_rng_state(new_state: T) -> PyResult<()> {
    raise(default_generator().state().set_(&new_state.0))
}

fn shape(size: &Bound<'_, PyTuple>) -> PyResult<Shape> {
    Ok(Shape::from(extents(integers(size)?)?))
}

fn made(t: Tensor, dtype: Option<DTypeArg>, requires_grad: bool, device: Device) -> PyResult<PyTensor> {
    let t = moved(dtype.map_or_else(|| t.clone(), |d| t.to_dtype(d.0)), device);
    PyTensor::out(if requires_grad { crate::trace_deps::register_leaf(t.requires_grad_()) } else { t })
}

/// Draws numbers of a dtype; for complex numbers both parts, scaled by `scale`.
fn drawn_as(
    generator: GeneratorArg<'_, '_>,
    shape: Shape,
    dtype: DType,
    (name, scale): (&str, f64),
    f: impl Fn(&Generator, Shape) -> Tensor + Send,
) -> PyResult<Tensor> {
    if dtype.is_complex() {
        let pairs: Shape = shape.iter().copied().chain([2]).collect();
        let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
        let both = with(generator, pairs, f).to_dtype(part) * scale;
        let of = |i: isize| both.at(vec![gradus::Ix::Rest, gradus::Ix::At(i)]);
        return Ok(of(0).complex(&of(1)));
    }
    if !dtype.is_differentiable() {
        let why = format!("{name} draws floats, which {} cannot hold", crate::dtype::name(dtype));
        return Err(pyo3::exceptions::PyNotImplementedError::new_err(why));
    }
    Ok(with(generator, shape, f).to_dtype(dtype))
}

/// Draws numbers in [0, 1) with all bits that a dtype holds.
fn uniform(g: &Generator, shape: Shape, dtype: DType) -> Tensor {
    if !matches!(dtype, DType::F64 | DType::C128) {
        return g.rand(shape);
    }
    let words = g.bits(shape.iter().copied().chain([2]).collect::<Shape>());
    let part = |i: isize, less: i64| {
        words.at(vec![gradus::Ix::Rest, gradus::Ix::At(i)]).shr(less).to_dtype(DType::F64)
    };
    (part(0, 5) * (1u64 << 26) as f64 + part(1, 6)) * (0.5 / (1u64 << 52) as f64)
}

/// Draws standard normal numbers with all bits that a dtype holds.
fn standard_normal(g: &Generator, shape: Shape, dtype: DType) -> Tensor {
    if !matches!(dtype, DType::F64 | DType::C128) {
        return g.randn(shape);
    }
    let middle = (uniform(g, shape, dtype) + 0.25 / (1u64 << 52) as f64) * 2.0 - 1.0;
    middle.erfinv() * std::f64::consts::SQRT_2
}

macro_rules! drawn {
    ($($name:ident $like:ident $draw:ident $scale:expr, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        #[pyo3(signature = (*sizes, size=None, generator=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $name(
            sizes: &Bound<'_, PyTuple>,
            size: Option<crate::value::PerAxis>,
            generator: Option<&Bound<'_, PyGenerator>>,
            dtype: Option<DTypeArg>,
            device: Option<&Bound<'_, PyAny>>,
            requires_grad: bool,
        ) -> PyResult<PyTensor> {
            let device = device_or_default(device)?;
            let shape = size.map_or_else(|| shape(sizes), |s| Ok(Shape::from(s.0)))?;
            let dtype = dtype.map_or_else(default_float, |d| d.0);
            let how = (stringify!($name), $scale);
            let drawn = drawn_as(generator, shape, dtype, how, |g, s| $draw(g, s, dtype))?;
            made(drawn, None, requires_grad, device)
        }

        #[doc = concat!($doc, " With shape and dtype of another tensor.")]
        #[doc = example!($like)]
        #[pyfunction]
        #[pyo3(signature = (input, *, generator=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $like(
            input: T,
            generator: Option<&Bound<'_, PyGenerator>>,
            dtype: Option<DTypeArg>,
            device: Option<&Bound<'_, PyAny>>,
            requires_grad: bool,
        ) -> PyResult<PyTensor> {
            let device = device_or_that_of(device, &input.0)?;
            let dtype = dtype.map_or_else(|| input.0.dtype(), |d| d.0);
            let how = (stringify!($like), $scale);
            let drawn = drawn_as(generator, input.0.shape(), dtype, how, |g, s| $draw(g, s, dtype))?;
            made(drawn, None, requires_grad, device)
        }
    )*};
}

drawn! {
    rand rand_like uniform 1.0, "Uniform numbers in [0, 1).";
    randn randn_like standard_normal std::f64::consts::FRAC_1_SQRT_2, "Standard normal numbers.";
}

/// Integers in [low, high): `randint(high, size)` or `randint(low, high, size)`.
#[doc = example!(randint)]
#[pyfunction]
#[pyo3(signature = (*args, low=None, high=None, size=None, generator=None, dtype=None, device=None))]
pub(crate) fn randint(
    args: &Bound<'_, PyTuple>,
    low: Option<i64>,
    high: Option<i64>,
    size: Option<crate::value::PerAxis>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    let device = device_or_default(device)?;
    let mut numbers = Vec::new();
    let mut size = size.map(|s| s.0);
    for arg in args.iter() {
        // Checked first, because converting a non-integer is slow.
        let sizes = arg.is_instance_of::<PyTuple>() || arg.is_instance_of::<pyo3::types::PyList>();
        match if sizes { None } else { crate::value::integer(&arg).ok() } {
            Some(i) => numbers.push(i),
            None => size = Some(arg.extract::<crate::value::PerAxis>()?.0),
        }
    }
    let (low, high) = match (&numbers[..], low, high) {
        ([high], low, None) => (low.unwrap_or(0), *high),
        ([low], None, Some(high)) => (*low, high),
        ([low, high], None, None) => (*low, *high),
        ([], low, Some(high)) => (low.unwrap_or(0), high),
        _ => return Err(value_error("randint takes (high, size) or (low, high, size)")),
    };
    let size = size.ok_or_else(|| value_error("randint needs a size, as a tuple"))?;
    let wide = (high as i128 - low as i128) > 1 << 32;
    let draw =
        |g: &Generator, s: Shape| if wide { wide_integers(g, low, high, s) } else { g.randint(low, high, s) };
    made(with(generator, Shape::from(size), draw), dtype, false, device)
}

/// Draws integers of a range above 2^32, each from 64 random bits.
fn wide_integers(g: &Generator, low: i64, high: i64, shape: Shape) -> Tensor {
    let words = g.bits(shape.iter().copied().chain([2]).collect::<Shape>());
    let word = |i: isize| words.at(vec![gradus::Ix::Rest, gradus::Ix::At(i)]).to_dtype(DType::I64);
    let (range, joined) = (high.wrapping_sub(low), |first: Tensor| first * (1i64 << 32) + word(1));
    if range > 0 {
        // 63 bits, which are not negative.
        return joined(word(0).remainder(1i64 << 31)).remainder(range) + low;
    }
    // The range is at least 2^63, so an unsigned 64-bit number is less than twice the range, and at most one
    // subtraction brings it into the range. Adding the least integer orders unsigned numbers as signed ones.
    // Integers wrap around.
    let all = joined(word(0));
    let beyond = (&all + i64::MIN).ge(range.wrapping_add(i64::MIN));
    beyond.select(&(&all - range), &all) + low
}

/// A random permutation of the integers below `n`.
#[doc = example!(randperm)]
#[pyfunction]
#[pyo3(signature = (n, *, generator=None, dtype=None, device=None))]
pub(crate) fn randperm(
    n: Count,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    let device = device_or_default(device)?;
    // Sorts words of 32 random bits. The sort is stable, so that ties have a fixed order.
    made(with(generator, Shape::from([n.0]), |g, s| g.bits(s).argsort(0, false)), dtype, false, device)
}

/// Numbers from a normal distribution.
#[doc = example!(normal)]
#[pyfunction]
#[pyo3(signature = (mean, std=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=false))]
pub(crate) fn normal(
    mean: Operand,
    std: Option<Operand>,
    size: Option<crate::value::PerAxis>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeArg>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let device = match (&mean, &std) {
        (Operand::Tensor(t), _) | (_, Some(Operand::Tensor(t))) => device_or_that_of(device, t)?,
        _ => device_or_default(device)?,
    };
    let std = std.unwrap_or(Operand::Number(gradus::Number::Float(1.0)));
    let shape = match (&mean, &std, size) {
        (_, _, Some(size)) => Shape::from(size.0),
        (Operand::Tensor(m), Operand::Tensor(s), None) => {
            m.shape().broadcast(&s.shape()).ok_or_else(|| value_error("mean and std do not broadcast"))?
        }
        (Operand::Tensor(t), _, None) | (_, Operand::Tensor(t), None) => t.shape(),
        _ => return Err(value_error("normal of two numbers needs a size")),
    };
    let negative = match &std {
        Operand::Tensor(t) => !t.is_traced() && raise(t.detach().lt(0.0).any(()).item::<bool>())?,
        Operand::Number(n) => matches!(n, gradus::Number::Float(x) if *x < 0.0),
    };
    if negative {
        return Err(value_error("normal expects all elements of std >= 0.0"));
    }
    let z = moved(with(generator, shape, |g, s| g.randn(s)), device);
    made(z.mul(std.arg()).add(mean.arg()), dtype, requires_grad, device)
}

/// 1 with these probabilities, else 0.
#[doc = example!(bernoulli)]
#[pyfunction]
#[pyo3(signature = (input, *, generator=None))]
pub(crate) fn bernoulli(input: T, generator: Option<&Bound<'_, PyGenerator>>) -> PyResult<PyTensor> {
    let p = input.0.detach();
    if !p.is_traced() && !raise((p.ge(0.0) & p.le(1.0)).all(()).item::<bool>())? {
        return Err(value_error("Expected p_in >= 0 && p_in <= 1 to be true, but got false."));
    }
    let drawn = moved(with(generator, input.0.shape(), |g, s| g.rand(s)), crate::device::of(&input.0));
    PyTensor::out(drawn.lt(&input.0.detach()).to_dtype(input.0.dtype()))
}

/// Positions drawn from rows of weights.
#[doc = example!(multinomial)]
#[pyfunction]
#[pyo3(signature = (input, num_samples, replacement=false, *, generator=None))]
pub(crate) fn multinomial(
    input: T,
    num_samples: Count,
    replacement: bool,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<PyTensor> {
    let weights = input.0.detach();
    PyTensor::out(with(generator, weights.shape(), |g, _| {
        g.multinomial(&weights, num_samples.0, replacement)
    }))
}

/// In training, zeroes elements with probability `p` and scales the others by 1 / (1 - p).
#[doc = example!(dropout)]
#[pyfunction]
#[pyo3(signature = (input, p=0.5, training=true, inplace=false))]
pub(crate) fn dropout(input: T, p: f64, training: bool, inplace: bool) -> PyResult<PyTensor> {
    let _ = inplace;
    PyTensor::out(input.0.dropout(p, training, default_generator()))
}

#[pymethods]
impl PyTensor {
    /// Positions drawn from rows of weights.
    #[doc = example!(multinomial)]
    #[pyo3(signature = (num_samples, replacement=false, *, generator=None))]
    fn multinomial(
        &self,
        py: Python<'_>,
        num_samples: Count,
        replacement: bool,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<PyTensor> {
        multinomial(T(self.value(py)?), num_samples, replacement, generator)
    }

    /// 1 with these probabilities, else 0.
    #[doc = example!(bernoulli)]
    #[pyo3(signature = (*, generator=None))]
    fn bernoulli(&self, py: Python<'_>, generator: Option<&Bound<'_, PyGenerator>>) -> PyResult<PyTensor> {
        bernoulli(T(self.value(py)?), generator)
    }

    /// In place: uniform numbers from a range.
    #[doc = example!(uniform_)]
    #[pyo3(signature = (a=0.0, b=1.0, *, generator=None))]
    fn uniform_<'py>(
        slf: Bound<'py, PyTensor>,
        a: f64,
        b: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let x = slf.get().value(slf.py())?;
        let new =
            with(generator, x.shape(), |g, s| uniform(g, s, x.dtype())).to_dtype(x.dtype()) * (b - a) + a;
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }

    /// In place: numbers from a normal distribution.
    #[doc = example!(normal_)]
    #[pyo3(signature = (mean=0.0, std=1.0, *, generator=None))]
    fn normal_<'py>(
        slf: Bound<'py, PyTensor>,
        mean: f64,
        std: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let x = slf.get().value(slf.py())?;
        let how = ("normal_", std::f64::consts::FRAC_1_SQRT_2);
        let new = drawn_as(generator, x.shape(), x.dtype(), how, |g, s| standard_normal(g, s, x.dtype()))?
            * std
            + mean;
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }

    /// In place: 1 with a probability, else 0.
    #[doc = example!(bernoulli_)]
    #[pyo3(signature = (p=0.5, *, generator=None))]
    fn bernoulli_<'py>(
        slf: Bound<'py, PyTensor>,
        p: f64,
        generator: Option<&Bound<'py, PyGenerator>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let x = slf.get().value(slf.py())?;
        let new = with(generator, x.shape(), |g, s| g.rand(s)).lt(p).to_dtype(x.dtype());
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }
}
