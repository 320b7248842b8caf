//! Products, linear algebra and Fourier transforms.

use crate::error::{type_error, value_error};
use crate::operators::product;
use crate::shape::tensors;
use crate::tensor::{PyTensor, result};
use crate::value::{Dim, T};
use gradus::{DType, Tensor, Triangular};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

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
    matmul "The matrix product; leading axes broadcast.";
    mm "The product of two matrices.";
    bmm "The products of two batches of matrices.";
    mv "The product of a matrix and a vector.";
    dot "The product of two vectors.";
}

#[pymethods]
impl PyTensor {
    /// The outer product of two vectors.
    #[doc = example!(outer)]
    fn outer(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        with_booleans(py, self.value(py)?, other.0, Tensor::outer)
    }

    /// The Kronecker product.
    #[doc = example!(kron)]
    fn kron(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        with_booleans(py, self.value(py)?, other.0, Tensor::kron)
    }

    /// Sums of products over the last axes of both; the plain product if one is a scalar.
    #[doc = example!(inner)]
    fn inner(&self, py: Python<'_>, other: T) -> PyResult<PyTensor> {
        let x = self.value(py)?;
        match x.rank() == 0 || other.0.rank() == 0 {
            true => PyTensor::out(product(&x, (&other.0).into())),
            false => PyTensor::out(gradus::tensordot(&x, &other.0, -1, -1)),
        }
    }

    /// A matrix to an integer power.
    #[doc = example!(matrix_power)]
    fn matrix_power(&self, py: Python<'_>, n: i64) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.matrix_power(n))
    }
}

/// Computes a product of two tensors; that of booleans is boolean.
fn with_booleans(
    py: Python<'_>,
    a: Tensor,
    b: Tensor,
    f: fn(&Tensor, &Tensor) -> Tensor,
) -> PyResult<PyTensor> {
    let larger = if a.numel() >= b.numel() { a.clone() } else { b.clone() };
    let boolean = a.dtype() == DType::Bool && b.dtype() == DType::Bool;
    result(py, &larger, |_| if boolean { f(&a, &b).to_dtype(DType::Bool) } else { f(&a, &b) })
}

/// Sums of products by axis labels: einsum("ij,jk->ik", a, b).
///
/// >>> import gradus
/// >>> gradus.einsum("i,i->", gradus.tensor([1., 2.]), gradus.tensor([3., 4.]))
/// tensor(11.)
#[pyfunction]
#[pyo3(signature = (equation, *operands))]
pub(crate) fn einsum(py: Python<'_>, equation: &str, operands: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
    let all = match operands.len() {
        1 if !operands.get_item(0)?.is_instance_of::<PyTensor>() => tensors(&operands.get_item(0)?)?,
        _ => tensors(operands.as_any())?,
    };
    let Some(largest) = all.iter().max_by_key(|t| t.numel()) else {
        return Err(type_error("einsum needs at least one tensor"));
    };
    result(py, &largest.clone(), |_| Tensor::einsum(equation, &all.iter().collect::<Vec<_>>()))
}

/// Sums of products over several axes of both; an axis of extent 1 is broadcast.
#[doc = example!(tensordot)]
#[pyfunction]
#[pyo3(signature = (a, b, dims=None))]
pub(crate) fn tensordot(a: T, b: T, dims: Option<&Bound<'_, PyAny>>) -> PyResult<PyTensor> {
    let (mut a, mut b) = (a.0, b.0);
    let (of_a, of_b) = summed_axes(dims, a.rank().min(b.rank()))?;
    if of_a.len() == of_b.len() {
        for (&i, &j) in of_a.iter().zip(&of_b) {
            let extent = |x: &Tensor, i: isize| {
                let from_front = if i < 0 { i + x.rank() as isize } else { i };
                usize::try_from(from_front).ok().and_then(|i| x.shape().get(i).copied())
            };
            match (extent(&a, i), extent(&b, j)) {
                (Some(1), Some(n)) if n != 1 => b = b.sum_keepdim(j),
                (Some(n), Some(1)) if n != 1 => a = a.sum_keepdim(i),
                _ => {}
            }
        }
    }
    PyTensor::out(gradus::tensordot(&a, &b, of_a, of_b))
}

/// Parses `dims` of `tensordot`: a number of axes (the last of one with the first of the other), or two
/// lists.
fn summed_axes(dims: Option<&Bound<'_, PyAny>>, rank: usize) -> PyResult<(Vec<isize>, Vec<isize>)> {
    let n = match dims {
        None => 2,
        Some(dims) => match crate::value::integer(dims) {
            Ok(n) => n,
            Err(_) => {
                let (of_a, of_b): (Bound<'_, PyAny>, Bound<'_, PyAny>) = dims.extract()?;
                let axes = |of: Bound<'_, PyAny>| -> PyResult<Vec<isize>> {
                    let one = crate::value::integer(&of).map(|i| vec![i]);
                    Ok(one.or_else(|_| crate::value::list(&of))?.into_iter().map(|i| i as isize).collect())
                };
                return Ok((axes(of_a)?, axes(of_b)?));
            }
        },
    };
    if n < 0 || n > rank as i64 {
        let why = format!("tensordot: dims={n} must be at least 0 and at most the number of axes, {rank}");
        return Err(crate::error::runtime_error(why));
    }
    let n = n as isize;
    Ok(((-n..0).collect(), (0..n).collect()))
}

/// Returns results of a factorization as a named tuple of PyTorch's.
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
    qr "An orthogonal and an upper triangular factor." |x| { let (q, r) = x.qr_reflected(); vec![q, r] };
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

/// Moves the zero frequency to the middle.
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

/// The frequencies of fft's elements.
#[doc = example!(fftfreq)]
#[pyfunction]
#[pyo3(signature = (n, d=1.0))]
pub(crate) fn fftfreq(n: usize, d: f64) -> PyResult<PyTensor> {
    PyTensor::out(Tensor::fftfreq(n, d))
}

/// The frequencies of rfft's elements.
#[doc = example!(rfftfreq)]
#[pyfunction]
#[pyo3(signature = (n, d=1.0))]
pub(crate) fn rfftfreq(n: usize, d: f64) -> PyResult<PyTensor> {
    PyTensor::out(Tensor::rfftfreq(n, d))
}

/// The distances between all rows of two matrices.
#[doc = example!(cdist)]
#[pyfunction]
#[pyo3(signature = (x1, x2, p=2.0, compute_mode=None))]
pub(crate) fn cdist(x1: T, x2: T, p: f64, compute_mode: Option<&str>) -> PyResult<PyTensor> {
    // All modes compute sums of powers of differences, the most accurate method.
    const MODES: [&str; 3] =
        ["use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"];
    if let Some(mode) = compute_mode.filter(|mode| !MODES.contains(mode)) {
        return Err(value_error(format!(
            "{mode} is not a valid value for compute_mode: {}",
            MODES.join(", ")
        )));
    }
    PyTensor::out(gradus::cdist(&x1.0, &x2.0, p))
}
