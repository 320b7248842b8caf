//! Elementwise functions of one tensor under PyTorch's names, as methods, each also in place.
//! Ops of the catalog that PyTorch does not have become methods in `python/gradus/catalog.py`.

use crate::error::{type_error, value_error};
use crate::tensor::{PyTensor, result};
use crate::value::{Operand, T};
use gradus::ir::Class;
use gradus::ir::ops::pointwise;
use gradus::{DType, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

macro_rules! unary {
    ($($name:ident $inplace:ident $doc:literal $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            fn $name(&self, py: Python<'_>) -> PyResult<PyTensor> {
                let f: fn(&Tensor) -> Tensor = $f;
                result(py, &self.value(py)?, f)
            }

            #[doc = concat!("In place: ", $doc)]
            #[doc = example!($inplace)]
            fn $inplace(slf: Bound<'_, PyTensor>) -> PyResult<Bound<'_, PyTensor>> {
                let f: fn(&Tensor) -> Tensor = $f;
                let new = crate::tensor::compute(slf.py(), &slf.get().value(slf.py())?, f);
                slf.get().write(slf.py(), new)?;
                Ok(slf)
            }
        )*}
    };
}

unary! {
    abs abs_ "The absolute value; of complex numbers the modulus." |x| x.abs();
    absolute absolute_ "The absolute value." |x| x.abs();
    neg neg_ "The negative." |x| -x;
    negative negative_ "The negative." |x| -x;
    sign sign_ "-1, 0 or 1." |x| if x.dtype() == gradus::DType::Bool { x.clone() } else { x.sign() };
    sgn sgn_ "x / |x|, 0 at 0." |x| crate::exponentials::sgn(x);
    exp exp_ "The exponential." |x| x.exp();
    exp2 exp2_ "2 to the power of x." |x| x.exp2();
    expm1 expm1_ "exp(x) - 1, accurate near 0." |x| x.expm1();
    log log_ "The natural logarithm." |x| x.log();
    log2 log2_ "The logarithm to base 2." |x| x.log2();
    log10 log10_ "The logarithm to base 10." |x| x.log10();
    log1p log1p_ "log(1 + x), accurate near 0." |x| x.log1p();
    sqrt sqrt_ "The square root." |x| x.sqrt();
    rsqrt rsqrt_ "1 / sqrt(x)." |x| x.rsqrt();
    square square_ "The square." |x| x.square();
    reciprocal reciprocal_ "1 / x." |x| x.reciprocal();
    sin sin_ "The sine." |x| x.sin();
    cos cos_ "The cosine." |x| x.cos();
    tan tan_ "The tangent." |x| x.tan();
    asin asin_ "The inverse sine." |x| x.asin();
    arcsin arcsin_ "The inverse sine." |x| x.asin();
    acos acos_ "The inverse cosine." |x| x.acos();
    arccos arccos_ "The inverse cosine." |x| x.acos();
    atan atan_ "The inverse tangent." |x| x.atan();
    arctan arctan_ "The inverse tangent." |x| x.atan();
    sinh sinh_ "The hyperbolic sine." |x| x.sinh();
    cosh cosh_ "The hyperbolic cosine." |x| x.cosh();
    tanh tanh_ "The hyperbolic tangent." |x| x.tanh();
    asinh asinh_ "The inverse hyperbolic sine." |x| x.asinh();
    acosh acosh_ "The inverse hyperbolic cosine." |x| x.acosh();
    atanh atanh_ "The inverse hyperbolic tangent." |x| x.atanh();
    sigmoid sigmoid_ "1 / (1 + exp(-x))." |x| x.sigmoid();
    expit expit_ "1 / (1 + exp(-x))." |x| x.sigmoid();
    erf erf_ "The error function." |x| x.erf();
    erfc erfc_ "1 - erf(x), accurate for large x." |x| x.erfc();
    erfinv erfinv_ "The inverse of the error function." |x| x.erfinv();
    lgamma lgamma_ "The logarithm of the gamma function's modulus." |x| x.lgamma();
    digamma digamma_ "The derivative of lgamma." |x| x.digamma();
    sinc sinc_ "sin(pi x) / (pi x), 1 at 0." |x| x.sinc();
    floor floor_ "Rounded down." |x| x.floor();
    ceil ceil_ "Rounded up." |x| x.ceil();
    trunc trunc_ "Rounded towards 0." |x| x.trunc();
    fix fix_ "Rounded towards 0." |x| x.trunc();
    frac frac_ "The fractional part." |x| x.frac();
    rad2deg rad2deg_ "Converts radians to degrees." |x| x.rad2deg();
    deg2rad deg2rad_ "Converts degrees to radians." |x| x.deg2rad();
    relu relu_ "x where positive, else 0." |x| x.relu();
    relu6 relu6_ "Clamped to the range 0 to 6." |x| x.relu6();
    selu selu_ "The scaled exponential linear unit, which keeps variances." |x| x.selu();
    silu silu_ "x sigmoid(x)." |x| x.silu();
    mish mish_ "x tanh(softplus(x))." |x| x.mish();
    logsigmoid logsigmoid_ "log(sigmoid(x)), without overflow." |x| x.logsigmoid();
    softsign softsign_ "x / (1 + |x|)." |x| x.softsign();
    tanhshrink tanhshrink_ "x - tanh(x)." |x| x.tanhshrink();
    hardsigmoid hardsigmoid_ "x / 6 + 1 / 2, clamped to the range 0 to 1." |x| x.hardsigmoid();
    hardswish hardswish_ "x hardsigmoid(x)." |x| x.hardswish();
    logical_not logical_not_ "True where elements are 0." |x| x.logical_not();
    bitwise_not bitwise_not_ "The inverted bits." |x| !x;
}

macro_rules! plain {
    ($($name:ident $doc:literal $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            fn $name(&self, py: Python<'_>) -> PyResult<PyTensor> {
                let f: fn(&Tensor) -> Tensor = $f;
                result(py, &self.value(py)?, f)
            }
        )*}
    };
}

plain! {
    isnan "True where elements are NaN." |x| x.is_nan();
    isinf "True where elements are infinite." |x| x.is_inf();
    isfinite "True where elements are neither infinite nor NaN." |x| x.is_finite();
    signbit "True where the sign is negative, also of -0." |x| x.copysign_of_one().lt(0.0);
    angle "The angle of a complex number." |x| x.angle();
    conj "The complex conjugate." |x| x.conj();
    argwhere "The positions of non-zero elements, one row each." |x| x.nonzero().to(x.device());
    inverse "The inverse of matrices." |x| x.inv();
    det "The determinant of matrices." |x| x.det();
    logdet "The logarithm of the determinant of matrices." |x| x.det().log();
    cholesky "The lower Cholesky factor of matrices." |x| x.cholesky();
    pinverse "The pseudo-inverse of matrices." |x| x.pinv();
    matrix_exp "The exponential of matrices." |x| x.matrix_exp();
    trace "The sum of a matrix's diagonal." |x| x.trace();
    fliplr "The tensor with its columns in reverse order." |x| x.flip(1isize);
    flipud "The tensor with its rows in reverse order." |x| x.flip(0isize);
}

/// Methods that the core does not have.
pub(crate) trait MoreMethods {
    fn copysign_of_one(&self) -> Tensor;
    fn copied(&self) -> Tensor;
}

impl MoreMethods for Tensor {
    fn copysign_of_one(&self) -> Tensor {
        self.ones_like().copysign(self)
    }

    /// Copies to new memory, which no other tensor writes. A leaf's copy is not a leaf, but a value computed
    /// from it.
    fn copied(&self) -> Tensor {
        if self.is_traced() {
            return self.clone();
        }
        if self.requires_grad() {
            return self.mul(1);
        }
        // A tensor that a function being compiled reads from outside is an input, and so is its copy.
        if self.is_cell() && gradus::is_tracing() {
            return Tensor::cat(&[&self.unsqueeze(0)], 0).squeeze(0);
        }
        if !self.device().is_cpu() {
            return crate::device::copied(self);
        }
        match (self.aval(), self.to_bytes()) {
            (Some(aval), Ok(bytes)) => Tensor::from_bytes(&aval, &bytes),
            (_, Err(e)) => Tensor::failed(e),
            (None, _) => self.clone(),
        }
    }
}

#[pymethods]
impl PyTensor {
    /// Rounds to the nearest, ties to even, with `decimals` digits after the point.
    #[doc = example!(round)]
    #[pyo3(signature = (*, decimals=0))]
    fn round(&self, py: Python<'_>, decimals: i32) -> PyResult<PyTensor> {
        let scale = 10f64.powi(decimals);
        result(py, &self.value(py)?, |x| if decimals == 0 { x.round() } else { (x * scale).round() / scale })
    }

    /// The positions of non-zero elements, one row each; as a tuple, one tensor per axis.
    #[doc = example!(nonzero)]
    #[pyo3(signature = (*, as_tuple=false))]
    fn nonzero<'py>(&self, py: Python<'py>, as_tuple: bool) -> PyResult<Bound<'py, PyAny>> {
        let x = self.value(py)?;
        match as_tuple {
            true => crate::shape::where_(py, T(x), None, None),
            false => Ok(Bound::new(py, PyTensor::out(x.nonzero().to(x.device()))?)?.into_any()),
        }
    }

    /// A copy with the same value and history.
    #[doc = example!(clone)]
    #[pyo3(signature = (*, memory_format=None))]
    fn clone(&self, py: Python<'_>, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<PyTensor> {
        let _ = memory_format;
        result(py, &self.value(py)?, |x| x.copied())
    }

    /// The tensor with elements in row-major order; itself if they are.
    #[doc = example!(contiguous)]
    #[pyo3(signature = (*, memory_format=None))]
    fn contiguous<'py>(
        slf: &Bound<'py, PyTensor>,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let _ = memory_format;
        let x = slf.get().value(slf.py())?;
        if x.is_contiguous() { Ok(slf.clone()) } else { Bound::new(slf.py(), PyTensor::out(x.contiguous())?) }
    }

    /// Clamps to a range whose bounds are numbers or tensors.
    #[doc = example!(clamp)]
    #[pyo3(signature = (min=None, max=None))]
    fn clamp(&self, py: Python<'_>, min: Option<Operand>, max: Option<Operand>) -> PyResult<PyTensor> {
        PyTensor::out(clamped(&self.value(py)?, min, max)?)
    }

    /// Clamps to a range whose bounds are numbers or tensors.
    #[doc = example!(clip)]
    #[pyo3(signature = (min=None, max=None))]
    fn clip(&self, py: Python<'_>, min: Option<Operand>, max: Option<Operand>) -> PyResult<PyTensor> {
        PyTensor::out(clamped(&self.value(py)?, min, max)?)
    }

    /// In place: clamps to a range.
    #[doc = example!(clamp_)]
    #[pyo3(signature = (min=None, max=None))]
    fn clamp_(
        slf: Bound<'_, PyTensor>,
        min: Option<Operand>,
        max: Option<Operand>,
    ) -> PyResult<Bound<'_, PyTensor>> {
        slf.get().write(slf.py(), clamped(&slf.get().value(slf.py())?, min, max)?)?;
        Ok(slf)
    }

    /// At least `min`.
    #[doc = example!(clamp_min)]
    fn clamp_min(&self, py: Python<'_>, min: Operand) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.clamp_min(min.arg()))
    }

    /// At most `max`.
    #[doc = example!(clamp_max)]
    fn clamp_max(&self, py: Python<'_>, max: Operand) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.clamp_max(max.arg()))
    }

    /// log(x / (1 - x)), with x clamped to [eps, 1 - eps].
    #[doc = example!(logit)]
    #[pyo3(signature = (eps=None))]
    fn logit(&self, py: Python<'_>, eps: Option<f64>) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.logit(eps))
    }

    /// Replaces NaN and infinities; infinities by the largest finite numbers by default.
    #[doc = example!(nan_to_num)]
    #[pyo3(signature = (nan=0.0, posinf=None, neginf=None))]
    fn nan_to_num(
        &self,
        py: Python<'_>,
        nan: f64,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.nan_to_num(nan, posinf, neginf))
    }

    /// The n-th derivative of digamma.
    #[doc = example!(polygamma)]
    fn polygamma(&self, py: Python<'_>, n: i64) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        let x = if x.dtype().class() < Class::Float { x.to_dtype(crate::dtype::default_float()) } else { x };
        PyTensor::out(x.full_like(n as f64).polygamma(&x))
    }

    /// Returns true for elements that are equal up to `atol + rtol * |other|`.
    #[doc = example!(isclose)]
    #[pyo3(signature = (other, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn isclose(&self, py: Python<'_>, other: T, rtol: f64, atol: f64, equal_nan: bool) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.is_close(&other.0, rtol, atol, equal_nan))
    }

    /// Returns true if all elements are equal up to `atol + rtol * |other|`.
    #[doc = example!(allclose)]
    #[pyo3(signature = (other, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn allclose(&self, py: Python<'_>, other: T, rtol: f64, atol: f64, equal_nan: bool) -> PyResult<bool> {
        crate::error::raise(self.value(py)?.allclose(&other.0, rtol, atol, equal_nan))
    }

    /// Returns true if shapes and all elements are equal.
    #[doc = example!(equal)]
    fn equal(&self, py: Python<'_>, other: T) -> PyResult<bool> {
        let (x, y) = (self.value(py)?, &other.0);
        if x.shape() == y.shape() && x.numel() <= 64 && x.dtype() == y.dtype() && !gradus::is_tracing() {
            let few = match x.dtype() {
                DType::F32 => x.to_vec::<f32>().ok().zip(y.to_vec::<f32>().ok()).map(|(x, y)| x == y),
                DType::I64 => x.to_vec::<i64>().ok().zip(y.to_vec::<i64>().ok()).map(|(x, y)| x == y),
                _ => None,
            };
            if let Some(equal) = few {
                return Ok(equal);
            }
        }
        Ok(x.shape() == other.0.shape() && crate::error::raise(x.eq(&other.0).all(()).item::<bool>())?)
    }
}

fn clamped(x: &Tensor, min: Option<Operand>, max: Option<Operand>) -> PyResult<Tensor> {
    Ok(match (&min, &max) {
        (None, None) => {
            return Err(crate::error::runtime_error(
                "torch.clamp: At least one of 'min' or 'max' must not be None",
            ));
        }
        (Some(Operand::Tensor(_)), _) | (_, Some(Operand::Tensor(_))) => {
            let x = min.map_or_else(|| x.clone(), |m| x.maximum(m.arg()));
            max.map_or_else(|| x.clone(), |m| x.minimum(m.arg()))
        }
        _ => {
            let end = |e: &Option<Operand>| match e {
                Some(Operand::Number(n)) => Some(crate::value::float(*n)),
                _ => None,
            };
            x.clamp(end(&min), end(&max))
        }
    })
}

/// Applies a pointwise op of the catalog to tensors and numbers, at least one of which is a tensor.
#[pyfunction]
#[pyo3(signature = (name, *operands))]
pub(crate) fn _pointwise(py: Python<'_>, name: &str, operands: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
    let operands: Vec<Operand> = operands.extract()?;
    let op = pointwise::find(name).ok_or_else(|| value_error(format!("the catalog has no op {name:?}")))?;
    let tensor =
        operands.iter().find_map(|o| if let Operand::Tensor(t) = o { Some(t.clone()) } else { None });
    let tensor = tensor.ok_or_else(|| type_error(format!("{name}() needs a Tensor among its operands")))?;
    result(py, &tensor, |_| gradus::pointwise(op, &operands.iter().map(Operand::arg).collect::<Vec<_>>()))
}

/// A pointwise op for Python: its name, its documentation, and for each operand the range from which samples
/// are drawn.
type CatalogOp = (&'static str, &'static str, Vec<(f64, f64)>);

/// Returns the pointwise ops of the catalog that are defined for floats.
#[pyfunction]
pub(crate) fn _pointwise_ops() -> Vec<CatalogOp> {
    let of_floats = pointwise::all().filter(|op| op.takes(DType::F64));
    of_floats.map(|op| (op.name, op.docs.trim(), (0..op.arity).map(|i| op.domain_of(i)).collect())).collect()
}
