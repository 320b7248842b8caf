//! Factorisations without iteration, and solutions of systems.

use crate::{Failure, Number, Size, hermitian, row_major};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor;
use faer::linalg::triangular_solve as triangular;
use faer::{Mat, MatMut, MatRef, Side, set_global_parallelism};

/// Returns the lower Cholesky factor of the Hermitian part.
pub fn cholesky<T: Number>(a: &[T], size: Size) -> Result<Vec<T>, Failure> {
    set_global_parallelism(size.parallelism());
    match hermitian(size.view(a)).llt(Side::Lower) {
        Ok(factor) => Ok(row_major(factor.L())),
        Err(faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index }) => {
            Err(Failure::NotPositiveDefinite(index + 1))
        }
    }
}

/// Replaces a matrix by both factors of `P A = L U`. Returns the row of `A` that each row came from. Fails at the first
/// pivot of 0, because the elimination divides by it.
fn eliminate<T: Number>(mut a: MatMut<'_, T>, size: Size) -> Result<Vec<usize>, Failure> {
    let par = size.parallelism();
    let (mut from, mut to) = (vec![0; size.rows], vec![0; size.rows]);
    let scratch = factor::lu_in_place_scratch::<usize, T>(size.rows, size.cols, par, Default::default());
    let mut scratch = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut scratch);
    factor::lu_in_place(a.as_mut(), &mut from, &mut to, par, stack, Default::default());
    match (0..size.rows.min(size.cols)).find(|&i| a[(i, i)] == T::ZERO) {
        Some(pivot) => Err(Failure::Singular(pivot)),
        None => Ok(from),
    }
}

/// Returns both factors of `P A = L U` in one matrix, and the row of `A` that each row came from.
pub fn lu<T: Number>(a: &[T], size: Size) -> Result<(Vec<T>, Vec<usize>), Failure> {
    let mut both = size.view(a).to_owned();
    let from = eliminate(both.as_mut(), size)?;
    Ok((row_major(both.as_ref()), from))
}

/// Returns the pivots of an elimination, and the sign of its permutation of rows.
fn pivots<T: Number>(a: &[T], size: Size) -> Result<(Vec<T>, f64), Failure> {
    let mut both = size.view(a).to_owned();
    let mut from = eliminate(both.as_mut(), size)?;
    let mut sign = 1.0;
    for i in 0..from.len() {
        while from[i] != i {
            let at = from[i];
            from.swap(i, at);
            sign = -sign;
        }
    }
    Ok(((0..size.rows).map(|i| both[(i, i)]).collect(), sign))
}

/// Returns the determinant.
pub fn determinant<T: Number>(a: &[T], size: Size) -> T {
    pivots(a, size).map_or(T::ZERO, |(pivots, sign)| T::product(&pivots).scaled(sign))
}

/// Returns the phase of the determinant, or 0, and the logarithm of its modulus.
pub fn sign_and_log_determinant<T: Number>(a: &[T], size: Size) -> (T, f64) {
    let Ok((pivots, sign)) = pivots(a, size) else { return (T::ZERO, f64::NEG_INFINITY) };
    let phases: Vec<T> = pivots.iter().map(|p| p.scaled(1.0 / p.modulus())).collect();
    (T::product(&phases).scaled(sign), pivots.iter().map(|p| p.modulus().ln()).sum())
}

/// Returns `A⁻¹ B` for `B` of `cols` columns.
pub fn solve<T: Number>(a: &[T], size: Size, b: &[T], cols: usize) -> Result<Vec<T>, Failure> {
    let mut both = size.view(a).to_owned();
    let from = eliminate(both.as_mut(), size)?;
    let b = MatRef::from_row_major_slice(b, size.rows, cols);
    let mut x = Mat::from_fn(size.rows, cols, |i, j| b[(from[i], j)]);
    let par = size.parallelism();
    triangular::solve_unit_lower_triangular_in_place(both.as_ref(), x.as_mut(), par);
    triangular::solve_upper_triangular_in_place(both.as_ref(), x.as_mut(), par);
    Ok(row_major(x.as_ref()))
}

/// The triangle of a matrix in a system.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// If true, uses the lower triangle, else the upper.
    pub lower: bool,
    /// If true, the triangle is transposed.
    pub transpose: bool,
    /// If true, the diagonal counts as ones and is not read.
    pub unit: bool,
}

/// Returns `op(A)⁻¹ B` for a triangle of `A` and `B` of `cols` columns.
pub fn triangular_solve<T: Number>(
    a: &[T],
    size: Size,
    triangle: Triangle,
    b: &[T],
    cols: usize,
) -> Result<Vec<T>, Failure> {
    let stored = size.view(a);
    let forward = triangle.lower != triangle.transpose;
    let zero = |i: &usize| stored[(*i, *i)] == T::ZERO;
    let pivot = if forward { (0..size.rows).find(zero) } else { (0..size.rows).rev().find(zero) };
    if let Some(pivot) = pivot.filter(|_| !triangle.unit) {
        return Err(Failure::Singular(pivot));
    }
    let a = if triangle.transpose { stored.transpose() } else { stored };
    let mut x = MatRef::from_row_major_slice(b, size.rows, cols).to_owned();
    let (x_mut, par) = (x.as_mut(), size.parallelism());
    match (forward, triangle.unit) {
        (true, false) => triangular::solve_lower_triangular_in_place(a, x_mut, par),
        (true, true) => triangular::solve_unit_lower_triangular_in_place(a, x_mut, par),
        (false, false) => triangular::solve_upper_triangular_in_place(a, x_mut, par),
        (false, true) => triangular::solve_unit_upper_triangular_in_place(a, x_mut, par),
    }
    Ok(row_major(x.as_ref()))
}

/// Returns `Q` and `R`, reduced to the smaller extent of the matrix. With `reflected`, the diagonal of a real `R`
/// keeps the signs of the reflections, as in LAPACK; otherwise it is real and not negative.
pub fn qr<T: Number>(a: &[T], size: Size, reflected: bool) -> (Vec<T>, Vec<T>) {
    set_global_parallelism(size.parallelism());
    let k = size.rows.min(size.cols);
    let factors = size.view(a).qr();
    let (mut q, stored) = (row_major(factors.compute_thin_Q().as_ref()), factors.thin_R());
    let mut r = vec![T::ZERO; k * size.cols];
    for (i, row) in r.chunks_exact_mut(size.cols.max(1)).enumerate() {
        row.iter_mut().enumerate().skip(i).for_each(|(j, r)| *r = stored[(i, j)]);
    }
    if !reflected {
        for i in 0..k {
            let diagonal = r[i * size.cols + i];
            let phase = match diagonal.modulus() {
                0.0 => continue,
                modulus => diagonal.scaled(1.0 / modulus),
            };
            let back = phase.conjugate();
            r[i * size.cols..(i + 1) * size.cols].iter_mut().for_each(|x| *x = x.times(back));
            q.iter_mut().skip(i).step_by(k).for_each(|x| *x = x.times(phase));
        }
    }
    (q, r)
}
