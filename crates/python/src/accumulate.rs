//! Sums of a tensor and a product, with factors: `addmm`, `addcmul`, `addcdiv`, and the helper of `addmv`,
//! `addr`, `addbmm`, `baddbmm`.

use crate::error::runtime_error;
use crate::operators::{product, sum};
use crate::tensor::PyTensor;
use crate::value::{Operand, T};
use gradus::ir::Class;
use gradus::{DType, Number, Tensor};
use pyo3::prelude::*;

/// Computes `beta · c + alpha · product`, with both factors in the dtype of the result; `c` broadcasts. If
/// `beta` is 0, `c` is ignored, NaN included.
fn accumulated(
    name: &str,
    c: &Tensor,
    x: Tensor,
    beta: Option<Operand>,
    alpha: Option<Operand>,
) -> PyResult<Tensor> {
    if x.error().is_some() {
        return Ok(x);
    }
    if c.error().is_none() && c.shape().broadcast(&x.shape()).as_ref() != Some(&x.shape()) {
        let why = format!("{name}: an input of shape {} does not broadcast to {}", c.shape(), x.shape());
        return Err(runtime_error(why));
    }
    let dtype = c.dtype().promote(x.dtype());
    let (beta, alpha) = (factor(beta, dtype)?, factor(alpha, dtype)?);
    let x = times(x, alpha).to_dtype(dtype);
    Ok(match beta {
        Some(Operand::Number(n)) if is_zero(n) => x,
        beta => sum(&times(c.clone(), beta), (&x).into()),
    })
}

fn is_zero(n: Number) -> bool {
    match n {
        Number::Bool(b) => !b,
        Number::Int(i) => i == 0,
        Number::Float(x) => x == 0.0,
        Number::Complex(z) => z.re == 0.0 && z.im == 0.0,
    }
}

/// Multiplies a tensor by a factor of its dtype.
fn times(x: Tensor, by: Option<Operand>) -> Tensor {
    match by {
        None => x,
        Some(by) => product(&x, by.arg()),
    }
}

/// beta * input + alpha * product. If beta is 0, the input is ignored.
#[pyfunction]
#[pyo3(signature = (input, product, beta, alpha))]
pub(crate) fn _accumulated(input: T, product: T, beta: Operand, alpha: Operand) -> PyResult<PyTensor> {
    PyTensor::out(accumulated("a sum of products", &input.0, product.0, Some(beta), Some(alpha))?)
}

/// Converts a factor to the dtype; `None` means 1. For integer dtypes the fraction is dropped, as in PyTorch.
fn factor(value: Option<Operand>, dtype: DType) -> PyResult<Option<Operand>> {
    let value = match value {
        None => return Ok(None),
        Some(Operand::Tensor(t)) => return Ok(Some(Operand::Tensor(t.to_dtype(dtype)))),
        Some(Operand::Number(n)) => n,
    };
    let number = match (value, dtype.class()) {
        (Number::Complex(z), class) if class < Class::Complex => {
            return Err(runtime_error(format!(
                "the factor {z} is complex, but the result is {}",
                crate::dtype::name(dtype)
            )));
        }
        (n, Class::Bool) => Number::Bool(!is_zero(n)),
        (Number::Float(x), Class::Int) => Number::Int(x as i64),
        (n, _) => n,
    };
    let one = matches!(number, Number::Bool(true) | Number::Int(1))
        || matches!(number, Number::Float(x) if x == 1.0);
    Ok((!one).then_some(Operand::Number(number)))
}

/// Computes `a + value · b · c`, or with a quotient instead of the product.
fn added_product(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    value: Option<Operand>,
    divide: bool,
) -> PyResult<Tensor> {
    let x = if divide { b / c } else { b * c };
    let value = factor(value, a.dtype().promote(x.dtype()))?;
    Ok(a + times(x, value))
}

#[pymethods]
impl PyTensor {
    /// self + value * tensor1 * tensor2.
    #[doc = example!(addcmul)]
    #[pyo3(signature = (tensor1, tensor2, *, value=None))]
    fn addcmul(&self, py: Python<'_>, tensor1: T, tensor2: T, value: Option<Operand>) -> PyResult<PyTensor> {
        PyTensor::out(added_product(&self.value(py)?, &tensor1.0, &tensor2.0, value, false)?)
    }

    /// In place: self + value * tensor1 * tensor2.
    #[doc = example!(addcmul_)]
    #[pyo3(signature = (tensor1, tensor2, *, value=None))]
    fn addcmul_(
        slf: Bound<'_, PyTensor>,
        tensor1: T,
        tensor2: T,
        value: Option<Operand>,
    ) -> PyResult<Bound<'_, PyTensor>> {
        let new = added_product(&slf.get().value(slf.py())?, &tensor1.0, &tensor2.0, value, false)?;
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }

    /// self + value * tensor1 / tensor2.
    #[doc = example!(addcdiv)]
    #[pyo3(signature = (tensor1, tensor2, *, value=None))]
    fn addcdiv(&self, py: Python<'_>, tensor1: T, tensor2: T, value: Option<Operand>) -> PyResult<PyTensor> {
        PyTensor::out(added_product(&self.value(py)?, &tensor1.0, &tensor2.0, value, true)?)
    }

    /// In place: self + value * tensor1 / tensor2.
    #[doc = example!(addcdiv_)]
    #[pyo3(signature = (tensor1, tensor2, *, value=None))]
    fn addcdiv_(
        slf: Bound<'_, PyTensor>,
        tensor1: T,
        tensor2: T,
        value: Option<Operand>,
    ) -> PyResult<Bound<'_, PyTensor>> {
        let new = added_product(&slf.get().value(slf.py())?, &tensor1.0, &tensor2.0, value, true)?;
        slf.get().write(slf.py(), new)?;
        Ok(slf)
    }

    /// beta * self + alpha * (mat1 @ mat2).
    #[doc = example!(addmm)]
    #[pyo3(signature = (mat1, mat2, *, beta=None, alpha=None))]
    fn addmm(
        &self,
        py: Python<'_>,
        mat1: T,
        mat2: T,
        beta: Option<Operand>,
        alpha: Option<Operand>,
    ) -> PyResult<PyTensor> {
        let c = self.value(py)?;
        if beta.is_none() && alpha.is_none() {
            return PyTensor::out(gradus::func::linear::addmm(&c, &mat1.0, &mat2.0, 1.0, 1.0));
        }
        PyTensor::out(accumulated("addmm", &c, mat1.0.mm(&mat2.0), beta, alpha)?)
    }
}
