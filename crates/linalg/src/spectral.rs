//! Eigenvalues and singular values.

use crate::{Failure, Number, Size, hermitian, row_major};
use faer::{Mat, MatMut, Side, set_global_parallelism};
use num_complex::Complex;

/// Returns the phase that makes the first entry of at least half the largest modulus real and positive, for each column.
fn phases<T: Number>(v: &Mat<T>) -> Vec<T> {
    let turn = |j: usize| {
        let largest = (0..v.nrows()).map(|i| v[(i, j)].modulus()).fold(0.0, f64::max);
        let entry = (0..v.nrows()).map(|i| v[(i, j)]).find(|x| x.modulus() >= 0.5 * largest)?;
        Some(entry.conjugate().scaled(1.0 / entry.modulus()))
    };
    (0..v.ncols()).map(|j| turn(j).unwrap_or(T::ZERO)).collect()
}

/// Multiplies each column by a number.
fn scale_columns<T: Number>(mut v: MatMut<'_, T>, by: &[T]) {
    for (j, by) in by.iter().enumerate() {
        for i in 0..v.nrows() {
            v[(i, j)] = v[(i, j)].times(*by);
        }
    }
}

/// Eigenvalues, and the eigenvectors as columns.
pub struct Eigen<V, T> {
    /// One value per column of `vectors`.
    pub values: Vec<V>,
    /// A square matrix in row-major order.
    pub vectors: Vec<T>,
}

/// Returns the eigenvalues of the Hermitian part in ascending order, and their eigenvectors.
pub fn eigh<T: Number>(a: &[T], size: Size) -> Result<Eigen<f64, T>, Failure> {
    set_global_parallelism(size.parallelism());
    let found = hermitian(size.view(a)).self_adjoint_eigen(Side::Lower).map_err(|_| Failure::NotConverged)?;
    let values = found.S().column_vector().iter().map(|x| x.real()).collect();
    let mut vectors = found.U().to_owned();
    let phases = phases(&vectors);
    scale_columns(vectors.as_mut(), &phases);
    Ok(Eigen { values, vectors: row_major(vectors.as_ref()) })
}

/// The factors of `A = U diag(s) Vᴴ`, reduced to the smaller extent of the matrix, in row-major order.
pub struct Svd<T> {
    /// The matrix `U`.
    pub u: Vec<T>,
    /// The singular values in descending order.
    pub s: Vec<f64>,
    /// The matrix `Vᴴ`.
    pub vh: Vec<T>,
}

/// The factors of `A = U diag(s) Vᴴ`, as matrices of `faer`.
struct Factors<T> {
    u: Mat<T>,
    s: Vec<f64>,
    v: Mat<T>,
}

fn factors<T: Number>(a: &[T], size: Size) -> Result<Factors<T>, Failure> {
    set_global_parallelism(size.parallelism());
    let found = size.view(a).thin_svd().map_err(|_| Failure::NotConverged)?;
    let s = found.S().column_vector().iter().map(|x| x.real()).collect();
    Ok(Factors { u: found.U().to_owned(), s, v: found.V().to_owned() })
}

/// Returns the singular value decomposition.
pub fn svd<T: Number>(a: &[T], size: Size) -> Result<Svd<T>, Failure> {
    let Factors { mut u, s, mut v } = factors(a, size)?;
    let phases = phases(&u);
    scale_columns(u.as_mut(), &phases);
    scale_columns(v.as_mut(), &phases);
    Ok(Svd { u: row_major(u.as_ref()), s, vh: row_major(v.adjoint().to_owned().as_ref()) })
}

/// Returns the pseudo-inverse. Singular values of at most `least` times the largest count as 0.
pub fn pinv<T: Number>(a: &[T], size: Size, least: f64) -> Result<Vec<T>, Failure> {
    let Factors { u, s, mut v } = factors(a, size)?;
    let least = least * s.first().copied().unwrap_or(0.0);
    for (j, &s) in s.iter().enumerate() {
        let inverse = if s <= least { 0.0 } else { 1.0 / s };
        (0..v.nrows()).for_each(|i| v[(i, j)] = v[(i, j)].scaled(inverse));
    }
    Ok(row_major((&v * u.adjoint()).as_ref()))
}

/// Returns the eigenvalues by ascending real part (equal ones by imaginary part, larger first), and unit eigenvectors.
pub fn eig(a: &[Complex<f64>], size: Size) -> Result<Eigen<Complex<f64>, Complex<f64>>, Failure> {
    set_global_parallelism(size.parallelism());
    let found = size.view(a).eigen().map_err(|_| Failure::NotConverged)?;
    let values: Vec<Complex<f64>> = found.S().column_vector().iter().copied().collect();
    let scale = values.iter().map(|x| x.norm()).fold(f64::MIN_POSITIVE, f64::max);
    let order = ordered(&values, 1e-10 * scale);
    let mut vectors = Mat::from_fn(size.rows, size.rows, |i, j| found.U()[(i, order[j])]);
    for j in 0..size.rows {
        let norm = (0..size.rows).map(|i| vectors[(i, j)].norm_sqr()).sum::<f64>().sqrt();
        (0..size.rows).for_each(|i| vectors[(i, j)] /= norm);
    }
    let phases = phases(&vectors);
    scale_columns(vectors.as_mut(), &phases);
    let values = order.iter().map(|&i| values[i]).collect();
    Ok(Eigen { values, vectors: row_major(vectors.as_ref()) })
}

/// Orders by ascending real part. Real parts that are equal up to rounding are ordered by imaginary part, larger first.
fn ordered(values: &[Complex<f64>], equal: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].re.total_cmp(&values[j].re));
    let mut start = 0;
    for end in 1..=order.len() {
        if end == order.len() || values[order[end]].re - values[order[end - 1]].re > equal {
            order[start..end].sort_by(|&i, &j| values[j].im.total_cmp(&values[i].im));
            start = end;
        }
    }
    order
}
