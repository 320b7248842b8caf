//! Operators on tensors and Python numbers, with their methods and in-place forms.

use crate::error::{raise, runtime_error, type_error};
use crate::integer_division::{integer_binary, power};
use crate::tensor::{PyTensor, compute};
use crate::value::Operand;
use gradus::ir::Class;
use gradus::{DType, Number, Tensor};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

/// Promotes operands as PyTorch does: a scalar tensor does not widen the other operand within its class.
pub(crate) fn balanced(a: Tensor, b: Tensor) -> (Tensor, Tensor) {
    match (a.dtype() == b.dtype(), a.rank(), b.rank()) {
        (false, 0, 1..) => (promote_scalar(a, b.dtype()), b),
        (false, 1.., 0) => {
            let b = promote_scalar(b, a.dtype());
            (a, b)
        }
        _ => (a, b),
    }
}

/// Converts a scalar tensor to the dtype that it takes in an operation with a tensor that has axes.
fn promote_scalar(small: Tensor, large: DType) -> Tensor {
    let own = small.dtype();
    if own.class() <= large.class() {
        return small.to_dtype(large);
    }
    if own.is_complex() && large.is_differentiable() { small.to_dtype(large.complex()) } else { small }
}

/// Returns true if both operands are boolean: their sum is `or`, their product `and`.
fn both_boolean(a: &Tensor, b: &gradus::Arg<'_>) -> bool {
    a.dtype() == DType::Bool
        && match b {
            gradus::Arg::Tensor(b) => b.dtype() == DType::Bool,
            gradus::Arg::Number(n) => matches!(n, Number::Bool(_)),
        }
}

pub(crate) fn sum(a: &Tensor, b: gradus::Arg<'_>) -> Tensor {
    if both_boolean(a, &b) { a.logical_or(b) } else { a.add(b) }
}

pub(crate) fn product(a: &Tensor, b: gradus::Arg<'_>) -> Tensor {
    if both_boolean(a, &b) { a.logical_and(b) } else { a.mul(b) }
}

pub(crate) type Binary = fn(&Tensor, gradus::Arg<'_>) -> Tensor;

/// Computes `f(a, b)` for a number or tensor `b`.
pub(crate) fn binary(py: Python<'_>, a: Tensor, b: Operand, f: Binary) -> Tensor {
    match b {
        Operand::Number(n) => compute(py, &a, |a| f(a, n.into_arg())),
        Operand::Tensor(b) => {
            let (a, b) = balanced(a, b);
            let larger = if a.numel() >= b.numel() { &a } else { &b };
            compute(py, larger, |_| f(&a, (&b).into()))
        }
    }
}

/// Computes `f(b, a)` for a number `b` on the left.
fn reflected(py: Python<'_>, a: Tensor, b: Operand, f: Binary) -> Tensor {
    let left = match b {
        Operand::Number(n) => n.tensor_like(&a),
        Operand::Tensor(b) => b,
    };
    binary(py, left, Operand::Tensor(a), f)
}

trait IntoArg {
    fn into_arg(self) -> gradus::Arg<'static>;
}

impl IntoArg for Number {
    fn into_arg(self) -> gradus::Arg<'static> {
        gradus::Arg::Number(self)
    }
}

/// Converts an operand. Returns `None` for other classes, which may implement the operator themselves.
fn operand(other: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    match other.extract::<Operand>() {
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyOverflowError>(other.py()) => Err(e),
        found => Ok(found.ok()),
    }
}

/// Returns the result of an operator slot: a tensor, or `NotImplemented`.
fn slot<'py>(
    x: &PyTensor,
    other: &Bound<'py, PyAny>,
    f: Binary,
    apply: fn(Python<'_>, Tensor, Operand, Binary) -> Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    let py = other.py();
    let Some(b) = operand(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    Ok(Bound::new(py, PyTensor::out(apply(py, x.value(py)?, b, f))?)?.into_any())
}

fn operator<'py>(x: &PyTensor, other: &Bound<'py, PyAny>, f: Binary) -> PyResult<Bound<'py, PyAny>> {
    slot(x, other, f, binary)
}

fn reflected_operator<'py>(
    x: &PyTensor,
    other: &Bound<'py, PyAny>,
    f: Binary,
) -> PyResult<Bound<'py, PyAny>> {
    slot(x, other, f, reflected)
}

fn in_place(x: &PyTensor, py: Python<'_>, other: Operand, f: Binary) -> PyResult<()> {
    x.write(py, binary(py, x.value(py)?, other, f))
}

/// `a @ b` as a `Binary` function.
fn matmul(a: &Tensor, b: gradus::Arg<'_>) -> Tensor {
    match b {
        gradus::Arg::Tensor(b) => a.matmul(b),
        gradus::Arg::Number(_) => {
            Tensor::failed(gradus::Error::value("a number", "has no axes to multiply matrices along; use *"))
        }
    }
}

/// Applies the logical operation to booleans, and the bitwise one to integers.
pub(crate) fn bitwise(a: &Tensor, b: gradus::Arg<'_>, f: Binary) -> Tensor {
    if a.error().is_none() && a.dtype().is_differentiable() {
        return Tensor::failed(gradus::Error::dtype(a.dtype(), "&, | and ^ need booleans or integers"));
    }
    f(a, b)
}

const ADD: Binary = sum;
const SUB: Binary = |a, b| a.sub(b);
const MUL: Binary = product;
const DIV: Binary = |a, b| a.div(b);
const FLOOR_DIV: Binary = |a, b| integer_binary(a, b, |a, b| a.floor_div(b));
const REMAINDER: Binary = |a, b| integer_binary(a, b, |a, b| a.remainder(b));
const MATMUL: Binary = matmul;
const AND: Binary = |a, b| bitwise(a, b, |a, b| a.and(b));
const OR: Binary = |a, b| bitwise(a, b, |a, b| a.or(b));
const XOR: Binary = |a, b| bitwise(a, b, |a, b| a.xor(b));
const SHL: Binary = |a, b| a.shl(b);
const SHR: Binary = |a, b| a.shr(b);
const POW: Binary = power;

// Written out, because PyO3's macros do not accept slots from other macros.
#[pymethods]
impl PyTensor {
    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, ADD)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, ADD)
    }

    fn __iadd__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, ADD)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, SUB)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, SUB)
    }

    fn __isub__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, SUB)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, MUL)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, MUL)
    }

    fn __imul__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, MUL)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, DIV)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, DIV)
    }

    fn __itruediv__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, DIV)
    }

    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, FLOOR_DIV)
    }

    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, FLOOR_DIV)
    }

    fn __ifloordiv__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, FLOOR_DIV)
    }

    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, REMAINDER)
    }

    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, REMAINDER)
    }

    fn __imod__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, REMAINDER)
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, MATMUL)
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, MATMUL)
    }

    fn __imatmul__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, MATMUL)
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, AND)
    }

    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, AND)
    }

    fn __iand__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, AND)
    }

    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, OR)
    }

    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, OR)
    }

    fn __ior__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, OR)
    }

    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, XOR)
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, XOR)
    }

    fn __ixor__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, XOR)
    }

    fn __lshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, SHL)
    }

    fn __rlshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, SHL)
    }

    fn __ilshift__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, SHL)
    }

    fn __rshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        operator(self, other, SHR)
    }

    fn __rrshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, SHR)
    }

    fn __irshift__(&self, py: Python<'_>, other: Operand) -> PyResult<()> {
        in_place(self, py, other, SHR)
    }
}

#[pymethods]
impl PyTensor {
    fn __pow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if modulo.is_some() {
            return Err(type_error("pow() of tensors does not support a modulus"));
        }
        operator(self, other, POW)
    }

    fn __rpow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reflected_operator(self, other, POW)
    }

    fn __ipow__(&self, py: Python<'_>, other: Operand, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        in_place(self, py, other, POW)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        crate::tensor::result(py, &self.value(py)?, |x| -x)
    }

    fn __pos__(slf: &Bound<'_, PyTensor>) -> Py<PyTensor> {
        slf.clone().unbind()
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        crate::tensor::result(py, &self.value(py)?, |x| x.abs())
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        match self.dtype_now(py)?.is_differentiable() {
            true => Err(type_error("~ needs booleans or integers")),
            false => crate::tensor::result(py, &self.value(py)?, |x| !x),
        }
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let f: Binary = match op {
            CompareOp::Lt => |a, b| a.lt(b),
            CompareOp::Le => |a, b| a.le(b),
            CompareOp::Eq => |a, b| a.eq(b),
            CompareOp::Ne => |a, b| a.ne(b),
            CompareOp::Gt => |a, b| a.gt(b),
            CompareOp::Ge => |a, b| a.ge(b),
        };
        operator(self, other, f)
    }

    /// The identity of the object, for use as a dictionary key.
    fn __hash__(slf: &Bound<'_, PyTensor>) -> usize {
        slf.as_ptr() as usize >> 4
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let x = self.elements(py)?;
        if !x.is_traced() && x.numel() != 1 {
            let why = format!(
                "the boolean value of a Tensor with {} elements is ambiguous; use any() or all()",
                x.numel()
            );
            return Err(pyo3::exceptions::PyRuntimeError::new_err(why));
        }
        raise(x.to(gradus::Device::CPU).to_dtype(DType::Bool).item::<bool>())
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        raise(self.elements(py)?.to(gradus::Device::CPU).to_dtype(DType::F64).item::<f64>())
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<i64> {
        raise(self.elements(py)?.to(gradus::Device::CPU).to_dtype(DType::I64).item::<i64>())
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        let x = self.elements(py)?;
        if x.dtype().is_differentiable() {
            return Err(type_error(format!(
                "a tensor of {} cannot be an index; only integer tensors can",
                crate::dtype::name(x.dtype())
            )));
        }
        raise(x.to(gradus::Device::CPU).to_dtype(DType::I64).item::<i64>())
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::convert::item(py, &self.elements(py)?.to(gradus::Device::CPU).to_dtype(DType::C128))
    }
}

macro_rules! binary_methods {
    ($($name:ident $inplace:ident $doc:literal $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            fn $name(&self, py: Python<'_>, other: Operand) -> PyResult<PyTensor> {
                PyTensor::out(binary(py, self.value(py)?, other, $f))
            }

            #[doc = concat!("In place: ", $doc)]
            #[doc = example!($inplace)]
            fn $inplace<'py>(slf: Bound<'py, PyTensor>, other: Operand) -> PyResult<Bound<'py, PyTensor>> {
                let (py, x) = (slf.py(), slf.get());
                x.write(py, binary(py, x.value(py)?, other, $f))?;
                Ok(slf)
            }
        )*}
    };
}

binary_methods! {
    mul mul_ "The product." product;
    multiply multiply_ "The product." product;
    pow pow_ "To the power of `other`." power;
    fmod fmod_ "The remainder of division, with the sign of the dividend." |a, b| integer_binary(a, b, |a, b| a.fmod(b));
    remainder remainder_ "The remainder of division, with the sign of the divisor." REMAINDER;
    floor_divide floor_divide_ "The quotient, rounded down." FLOOR_DIV;
    maximum maximum_ "The larger of two elements; NaN wins." |a, b| a.maximum(b);
    minimum minimum_ "The smaller of two elements; NaN wins." |a, b| a.minimum(b);
    atan2 atan2_ "The angle of the point (other, self)." |a, b| a.atan2(b);
    arctan2 arctan2_ "The angle of the point (other, self)." |a, b| a.atan2(b);
    hypot hypot_ "The root of the sum of two squares, without overflow." |a, b| a.hypot(b);
    copysign copysign_ "The absolute value with the sign of `other`." |a, b| a.copysign(b);
    logaddexp logaddexp_ "The logarithm of a sum of two exponentials." crate::exponentials::logaddexp;
    xlogy xlogy_ "self * log(other), 0 where self is 0." |a, b| a.xlogy(b);
    heaviside heaviside_ "0 below 0, 1 above, `other` at 0." |a, b| a.heaviside(b);
    eq eq_ "True where elements are equal." |a, b| a.eq(b);
    ne ne_ "True where elements differ." |a, b| a.ne(b);
    not_equal not_equal_ "True where elements differ." |a, b| a.ne(b);
    lt lt_ "True where elements are less." |a, b| a.lt(b);
    less less_ "True where elements are less." |a, b| a.lt(b);
    le le_ "True where elements are less or equal." |a, b| a.le(b);
    less_equal less_equal_ "True where elements are less or equal." |a, b| a.le(b);
    gt gt_ "True where elements are greater." |a, b| a.gt(b);
    greater greater_ "True where elements are greater." |a, b| a.gt(b);
    ge ge_ "True where elements are greater or equal." |a, b| a.ge(b);
    greater_equal greater_equal_ "True where elements are greater or equal." |a, b| a.ge(b);
    logical_and logical_and_ "True where both are non-zero." |a, b| a.logical_and(b);
    logical_or logical_or_ "True where at least one is non-zero." |a, b| a.logical_or(b);
    logical_xor logical_xor_ "True where exactly one is non-zero." |a, b| a.logical_xor(b);
    bitwise_and bitwise_and_ "The bits set in both." |a, b| bitwise(a, b, |a, b| a.and(b));
    bitwise_or bitwise_or_ "The bits set in at least one." |a, b| bitwise(a, b, |a, b| a.or(b));
    bitwise_xor bitwise_xor_ "The bits set in exactly one." |a, b| bitwise(a, b, |a, b| a.xor(b));
    bitwise_left_shift bitwise_left_shift_ "Bits shifted left." |a, b| a.shl(b);
    bitwise_right_shift bitwise_right_shift_ "Bits shifted right." |a, b| a.shr(b);
}

/// Computes `f(a, alpha · b)`, a sum or a difference.
fn scaled(py: Python<'_>, a: Tensor, b: Operand, alpha: Option<Operand>, f: Binary) -> PyResult<Tensor> {
    let Some(alpha) = alpha else { return Ok(binary(py, a, b, f)) };
    let b = match b {
        Operand::Tensor(b) => b,
        Operand::Number(n) => n.tensor_like(&a),
    };
    check_alpha(&a, &b, &alpha)?;
    let alpha = match alpha {
        // The sum of booleans is a boolean, whatever the integer.
        Operand::Number(Number::Int(n)) if a.dtype() == DType::Bool && b.dtype() == DType::Bool => {
            Operand::Number(Number::Bool(n != 0))
        }
        alpha => alpha,
    };
    let b = binary(py, b, alpha, product);
    Ok(binary(py, a, Operand::Tensor(b), f))
}

/// Returns an error if the number `alpha` would change the dtype of a sum, as 0.5 does for integers.
fn check_alpha(a: &Tensor, b: &Tensor, alpha: &Operand) -> PyResult<()> {
    let class = a.dtype().class().max(b.dtype().class());
    let why = match alpha {
        Operand::Number(Number::Bool(_)) if class != Class::Bool => "a boolean alpha needs boolean operands",
        Operand::Number(Number::Float(_)) if class < Class::Float => {
            "alpha must not be a float for integers and booleans"
        }
        Operand::Number(Number::Complex(_)) if class != Class::Complex => {
            "alpha must not be complex for real operands"
        }
        _ => return Ok(()),
    };
    Err(runtime_error(format!(
        "{why}; operands are {} and {}",
        crate::dtype::name(a.dtype()),
        crate::dtype::name(b.dtype())
    )))
}

fn divided(py: Python<'_>, a: Tensor, b: Operand, rounding: Option<&str>) -> PyResult<Tensor> {
    let f: Binary = match rounding {
        None => |a, b| a.div(b),
        Some("floor") => FLOOR_DIV,
        Some("trunc") => |a, b| integer_binary(a, b, |a, b| a.div_trunc(b)),
        Some(other) => {
            let why = format!("rounding_mode {other:?} is not one of None, 'trunc', 'floor'");
            return Err(crate::error::value_error(why));
        }
    };
    Ok(binary(py, a, b, f))
}

macro_rules! scaled_methods {
    ($($name:ident $inplace:ident $doc:literal $f:expr;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = (other, *, alpha=None))]
            fn $name(&self, py: Python<'_>, other: Operand, alpha: Option<Operand>) -> PyResult<PyTensor> {
                PyTensor::out(scaled(py, self.value(py)?, other, alpha, $f)?)
            }

            #[doc = concat!("In place: ", $doc)]
            #[doc = example!($inplace)]
            #[pyo3(signature = (other, *, alpha=None))]
            fn $inplace<'py>(
                slf: Bound<'py, PyTensor>,
                other: Operand,
                alpha: Option<Operand>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                let (py, x) = (slf.py(), slf.get());
                x.write(py, scaled(py, x.value(py)?, other, alpha, $f)?)?;
                Ok(slf)
            }
        )*}
    };
}

scaled_methods! {
    add add_ "self + alpha * other." sum;
    sub sub_ "self - alpha * other." |a, b| a.sub(b);
    subtract subtract_ "self - alpha * other." |a, b| a.sub(b);
}

macro_rules! division {
    ($($name:ident $inplace:ident)*) => {
        #[pymethods]
        impl PyTensor {$(
            /// The quotient; rounded with `rounding_mode` "floor" or "trunc".
            #[doc = example!($name)]
            #[pyo3(signature = (other, *, rounding_mode=None))]
            fn $name(&self, py: Python<'_>, other: Operand, rounding_mode: Option<&str>) -> PyResult<PyTensor> {
                PyTensor::out(divided(py, self.value(py)?, other, rounding_mode)?)
            }

            /// In place: the quotient.
            #[doc = example!($inplace)]
            #[pyo3(signature = (other, *, rounding_mode=None))]
            fn $inplace<'py>(
                slf: Bound<'py, PyTensor>,
                other: Operand,
                rounding_mode: Option<&str>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                let (py, x) = (slf.py(), slf.get());
                x.write(py, divided(py, x.value(py)?, other, rounding_mode)?)?;
                Ok(slf)
            }
        )*}
    };
}
division!(div div_ divide divide_ true_divide true_divide_);

#[pymethods]
impl PyTensor {
    /// Interpolates linearly from self to `end` by `weight`.
    #[doc = example!(lerp)]
    fn lerp(&self, py: Python<'_>, end: Operand, weight: Operand) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.lerp(end.arg(), weight.arg()))
    }

    /// In place: interpolates linearly from self to `end` by `weight`.
    #[doc = example!(lerp_)]
    fn lerp_(slf: Bound<'_, PyTensor>, end: Operand, weight: Operand) -> PyResult<Bound<'_, PyTensor>> {
        let new = slf.get().value(slf.py())?.lerp(end.arg(), weight.arg());
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }
}
