//! Products and linear algebra.

use crate::error::{type_error, value_error};
use crate::shape::tensors;
use crate::tensor::{PyTensor, result};
use crate::value::{Dim, T};
use gradus::{Tensor, Triangular};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

macro_rules! products {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            fn $name(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
                let x = self.value(py)?;
                let larger = if x.numel() >= other.0.numel() { x.clone() } else { other.0.clone() };
                result(py, &larger, |_| x.$name(&other.0))
            }
        )*}
    };
}

products! {
    matmul "The product of matrices; other axes broadcast.";
    mm "The product of two matrices.";
    bmm "The products of two lists of matrices.";
    mv "The product of a matrix and a vector.";
    dot "The product of two vectors.";
    outer "Every element times every element of another vector.";
    kron "The Kronecker product.";
}

#[pymethods]
impl PyTensor {
    /// The product of two vectors.
    #[doc = example!(inner)]
    fn inner(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        PyTensor::out(self.value(py)?.matmul(&other.0.transpose_last()))
    }

    /// beta * self + alpha * (mat1 @ mat2).
    #[doc = example!(addmm)]
    #[pyo3(signature = (mat1, mat2, *, beta=1.0, alpha=1.0))]
    fn addmm(&self, py: Python<'_>, mat1: T, mat2: T, beta: f64, alpha: f64) -> PyResult<PyTensor> {
        PyTensor::out(gradus::func::linear::addmm(&self.value(py)?, &mat1.0, &mat2.0, beta, alpha))
    }

    /// A matrix to an integer power.
    #[doc = example!(matrix_power)]
    fn matrix_power(&self, py: Python<'_>, n: i64) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.matrix_power(n))
    }
}

trait Last {
    fn transpose_last(&self) -> Tensor;
}

impl Last for Tensor {
    fn transpose_last(&self) -> Tensor {
        if self.rank() < 2 { self.clone() } else { self.transpose(-2, -1) }
    }
}

/// Sums of products by names of axes: einsum("ij,jk->ik", a, b).
///
/// >>> import gradus
/// >>> gradus.einsum("i,i->", gradus.tensor([1., 2.]), gradus.tensor([3., 4.]))
/// tensor(11.)
#[pyfunction]
#[pyo3(signature = (equation, *operands))]
pub(crate) fn einsum(py: Python<'_>, equation: &str, operands: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
    let all = match operands.len() {
        1 if operands.get_item(0)?.is_instance_of::<PyList>() => tensors(&operands.get_item(0)?)?,
        _ => tensors(operands.as_any())?,
    };
    let Some(largest) = all.iter().max_by_key(|t| t.numel()) else {
        return Err(type_error("einsum needs at least one tensor"));
    };
    result(py, &largest.clone(), |_| Tensor::einsum(equation, &all.iter().collect::<Vec<_>>()))
}

/// Products summed over several axes of both.
#[doc = example!(tensordot)]
#[pyfunction]
#[pyo3(signature = (a, b, dims=None))]
pub(crate) fn tensordot(a: T, b: T, dims: Option<&Bound<'_, PyAny>>) -> PyResult<PyTensor> {
    let n = match dims {
        None => 2,
        Some(dims) => match crate::value::integer(dims) {
            Ok(n) => n as isize,
            Err(_) => {
                let (of_a, of_b): (Dim, Dim) = dims.extract()?;
                return PyTensor::out(gradus::tensordot(&a.0, &b.0, of_a, of_b));
            }
        },
    };
    let (of_a, of_b): (Vec<isize>, Vec<isize>) = ((-n..0).collect(), (0..n).collect());
    PyTensor::out(gradus::tensordot(&a.0, &b.0, of_a, of_b))
}

/// Several results of a factorisation, under PyTorch's names.
fn named<'py>(py: Python<'py>, kind: &str, parts: Vec<Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let parts = parts.into_iter().map(PyTensor::out).collect::<PyResult<Vec<_>>>()?;
    py.import("gradus._results")?.getattr(kind)?.call1(PyTuple::new(py, parts)?)
}

macro_rules! factorisations {
    ($($name:ident $doc:literal |$x:ident| $parts:expr;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        pub(crate) fn $name<'py>(py: Python<'py>, input: T) -> PyResult<Bound<'py, PyAny>> {
            let $x = input.0;
            named(py, stringify!($name), py.detach(|| $parts))
        }
    )*};
}

factorisations! {
    qr "An orthogonal and an upper triangular factor." |x| { let (q, r) = x.qr(); vec![q, r] };
    svd "Singular vectors and values: U, S, Vh." |x| { let (u, s, v) = x.svd(); vec![u, s, v] };
    eigh "Eigenvalues and vectors of Hermitian matrices." |x| { let (l, v) = x.eigh(); vec![l, v] };
    eig "Eigenvalues and vectors, complex." |x| { let (l, v) = x.eig(); vec![l, v] };
    slogdet "Sign and logarithm of the determinant." |x| { let (s, l) = x.slogdet(); vec![s, l] };
    lu "Permutation, lower and upper triangular factors." |x| { let (p, l, u) = x.lu(); vec![p, l, u] };
}

macro_rules! of_matrices {
    ($($name:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        pub(crate) fn $name(py: Python<'_>, input: T) -> PyResult<PyTensor> {
            result(py, &input.0, |x| x.$name())
        }
    )*};
}

of_matrices! {
    inv "The inverse.";
    pinv "The pseudo-inverse.";
    svdvals "The singular values.";
    eigvalsh "The eigenvalues of Hermitian matrices.";
    eigvals "The eigenvalues, complex.";
}

/// X with A X = B.
#[doc = example!(solve)]
#[pyfunction]
#[pyo3(name = "solve")]
pub(crate) fn solve(py: Python<'_>, a: T, b: T) -> PyResult<PyTensor> {
    result(py, &a.0, |a| a.solve(&b.0))
}

/// X with A X = B for a triangular A.
#[doc = example!(solve_triangular)]
#[pyfunction]
#[pyo3(signature = (a, b, *, upper, left=true, unitriangular=false))]
pub(crate) fn solve_triangular(
    a: T,
    b: T,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> PyResult<PyTensor> {
    let how = |lower: bool| Triangular { lower, adjoint: false, unit: unitriangular };
    match left {
        true => PyTensor::out(a.0.triangular_solve(&b.0, how(!upper))),
        // X A = B is Aᵀ Xᵀ = Bᵀ.
        false => PyTensor::out(
            a.0.transpose(-2, -1).triangular_solve(&b.0.transpose(-2, -1), how(upper)).transpose(-2, -1),
        ),
    }
}

/// The X that makes A X nearest to B.
#[doc = example!(lstsq)]
#[pyfunction]
pub(crate) fn lstsq<'py>(py: Python<'py>, a: T, b: T) -> PyResult<Bound<'py, PyAny>> {
    named(py, "lstsq", vec![a.0.lstsq(&b.0)])
}

macro_rules! transforms {
    ($($name:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        #[pyo3(signature = (input, n=None, dim=-1, norm=None), text_signature = "(input, n=None, dim=-1, norm=None)")]
        pub(crate) fn $name(py: Python<'_>, input: T, n: Option<usize>, dim: isize, norm: Option<&str>) -> PyResult<PyTensor> {
            let norm = fft_norm(norm)?;
            result(py, &input.0, |x| x.$name(n, dim, norm))
        }
    )*};
}

fn fft_norm(norm: Option<&str>) -> PyResult<gradus::FftNorm> {
    match norm {
        None | Some("backward") => Ok(gradus::FftNorm::Backward),
        Some("ortho") => Ok(gradus::FftNorm::Ortho),
        Some("forward") => Ok(gradus::FftNorm::Forward),
        Some(other) => Err(value_error(format!("norm {other:?} is not one of backward, ortho, forward"))),
    }
}

transforms! {
    fft "The discrete Fourier transform along an axis.";
    ifft "The inverse of fft.";
    rfft "The first half of the transform of a real signal.";
    irfft "The inverse of rfft.";
}

macro_rules! transforms_of_axes {
    ($($name:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = example!($name)]
        #[pyfunction]
        #[pyo3(signature = (input, dim=None, norm=None))]
        pub(crate) fn $name(input: T, dim: Option<Dim>, norm: Option<&str>) -> PyResult<PyTensor> {
            PyTensor::out(input.0.$name(dim.unwrap_or(Dim(None)), fft_norm(norm)?))
        }
    )*};
}

transforms_of_axes! {
    fftn "The discrete Fourier transform along axes.";
    ifftn "The inverse of fftn.";
    rfftn "The first half of the transform of a real signal along axes.";
}

/// The zero frequency in the middle.
#[doc = example!(fftshift)]
#[pyfunction]
#[pyo3(signature = (input, dim=None))]
pub(crate) fn fftshift(input: T, dim: Option<Dim>) -> PyResult<PyTensor> {
    PyTensor::out(input.0.fftshift(dim.unwrap_or(Dim(None))))
}

/// The inverse of fftshift.
#[doc = example!(ifftshift)]
#[pyfunction]
#[pyo3(signature = (input, dim=None))]
pub(crate) fn ifftshift(input: T, dim: Option<Dim>) -> PyResult<PyTensor> {
    PyTensor::out(input.0.ifftshift(dim.unwrap_or(Dim(None))))
}

/// The frequencies of fft.
#[doc = example!(fftfreq)]
#[pyfunction]
#[pyo3(signature = (n, d=1.0))]
pub(crate) fn fftfreq(n: usize, d: f64) -> PyResult<PyTensor> {
    PyTensor::out(Tensor::fftfreq(n, d))
}

/// The frequencies of rfft.
#[doc = example!(rfftfreq)]
#[pyfunction]
#[pyo3(signature = (n, d=1.0))]
pub(crate) fn rfftfreq(n: usize, d: f64) -> PyResult<PyTensor> {
    PyTensor::out(Tensor::rfftfreq(n, d))
}

/// The distances between all rows of two lists.
#[doc = example!(cdist)]
#[pyfunction]
#[pyo3(signature = (x1, x2, p=2.0))]
pub(crate) fn cdist(x1: T, x2: T, p: f64) -> PyResult<PyTensor> {
    PyTensor::out(gradus::cdist(&x1.0, &x2.0, p))
}
