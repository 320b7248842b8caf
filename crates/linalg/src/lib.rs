//! Dense factorisations by `faer`, for matrices that are too large for the simple algorithms of the reference evaluator.
//!
//! Matrices are slices in row-major order. Results follow the conventions of the ops in `gradus-ir`: see their docs for
//! the order of values and the phase of vectors. This crate is separate, because it takes long to compile and rarely
//! changes.

#![forbid(unsafe_code)]

mod factor;
mod number;
mod spectral;

pub use factor::{
    Triangle, cholesky, determinant, lu, qr, sign_and_log_determinant, solve, triangular_solve,
};
pub use number::Number;
pub use spectral::{Eigen, Svd, eig, eigh, pinv, svd};

use faer::{Mat, MatMut, MatRef, Par};

/// The reason why a factorisation, or the solution of a system, fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The pivot of this index is 0.
    Singular(usize),
    /// The leading minor of this order is not positive.
    NotPositiveDefinite(usize),
    /// The iteration did not converge.
    NotConverged,
}

/// Smallest extent for which several threads are faster than one.
const PARALLEL: usize = 192;

/// Extents of a matrix, and the number of threads that may work on it.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of threads.
    pub threads: usize,
}

impl Size {
    fn parallelism(self) -> Par {
        if self.threads < 2 || self.rows.min(self.cols) < PARALLEL {
            Par::Seq
        } else {
            Par::rayon(self.threads)
        }
    }

    fn view<T>(self, data: &[T]) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(data, self.rows, self.cols)
    }
}

/// Returns the elements in row-major order.
fn row_major<T: Number>(matrix: MatRef<'_, T>) -> Vec<T> {
    let mut data = vec![T::ZERO; matrix.nrows() * matrix.ncols()];
    MatMut::from_row_major_slice_mut(&mut data, matrix.nrows(), matrix.ncols()).copy_from(matrix);
    data
}

/// Returns the Hermitian part.
fn hermitian<T: Number>(a: MatRef<'_, T>) -> Mat<T> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| T::mean(a[(i, j)], a[(j, i)].conjugate()))
}
