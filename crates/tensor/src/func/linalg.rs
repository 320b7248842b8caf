//! Linear algebra on the last two axes, with leading axes as a batch: systems, factorizations, matrix
//! functions.
//!
//! Integers are converted to `f32`, as by all functions that are defined for floats only.

use super::each::{failed, scalar};
use crate::control::while_loop;
use crate::eager::apply::{apply_n, apply1};
use crate::region::{arg, region, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::linalg::{Cholesky, Det, Eig, Eigh, Lu, Pinv, Qr, Slogdet, Solve, Svd, TriangularSolve};
use gradus_ir::{Class, DType, Error, Shape};

/// Options of a triangular system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triangular {
    /// If true, reads the lower triangle, else the upper; the other triangle is not read.
    pub lower: bool,
    /// If true, solves with the adjoint of the matrix.
    pub adjoint: bool,
    /// If true, the diagonal is assumed to be ones and not read.
    pub unit: bool,
}

impl Triangular {
    /// The lower triangle.
    pub const LOWER: Triangular = Triangular { lower: true, adjoint: false, unit: false };
    /// The upper triangle.
    pub const UPPER: Triangular = Triangular { lower: false, adjoint: false, unit: false };
}

/// Converts integers and booleans to `f32`.
#[track_caller]
fn float(x: &Tensor) -> Tensor {
    if x.dtype().class() < Class::Float && x.error().is_none() { x.to_dtype(DType::F32) } else { x.clone() }
}

/// Ones on the diagonals, zeros elsewhere.
#[track_caller]
fn eye_like(x: &Tensor) -> Tensor {
    let extents = [x.dim(-2), x.dim(-1)];
    let eye = Tensor::iota(DType::I64, extents, 0).eq(&Tensor::iota(DType::I64, extents, 1));
    eye.to_dtype(x.dtype()).expand_to(&x.shape())
}

/// Returns true if the right side of a system holds vectors, one for each matrix: if it has one axis, or the
/// extents of the matrix without the last extent. This is PyTorch's rule: for extents `[3, 3, 3]`, a right
/// side `[3, 3]` is three vectors.
fn holds_vectors(a: &Tensor, b: &Tensor) -> bool {
    b.rank() == 1 || a.shape().split_last().is_some_and(|(_, rows)| b.shape()[..] == *rows)
}

/// Brings a matrix and a right side to one dtype and equal leading extents. A `vector` becomes a column.
#[track_caller]
fn sides(name: &str, a: &Tensor, b: &Tensor, vector: bool) -> Result<(Tensor, Tensor, bool), Tensor> {
    if let Some(failed) = failed(&[a, b]) {
        return Err(failed);
    }
    let dtype = float(a).dtype().promote(float(b).dtype());
    let (x, y) = (a.to_dtype(dtype), b.to_dtype(dtype));
    let y = if vector { y.unsqueeze(-1) } else { y };
    match extents(&x.shape(), &y.shape()) {
        Ok([left, right]) => Ok((x.expand_to(&left), y.expand_to(&right), vector)),
        Err(e) => Err(Tensor::refuse(name, &[a, b], e)),
    }
}

/// Returns the extents of both sides of a system, with the leading extents broadcast.
fn extents(a: &Shape, b: &Shape) -> gradus_ir::Result<[Shape; 2]> {
    let ([la @ .., m, n], [lb @ .., rows, k]) = (&a[..], &b[..]) else {
        let why = "must be those of a matrix [..,m,n] and a right side [..,m,k], [..,m] or [m]";
        return Err(Error::shape(format!("extents {a} and {b}"), why));
    };
    if m != rows {
        let what = format!("a matrix of {m} rows and a right side of {rows}");
        return Err(Error::shape(what, "must have the same number of rows"));
    }
    let Some(lead) = Shape::from(la.to_vec()).broadcast(&lb.to_vec().into()) else {
        return Err(Error::shape(format!("leading extents {la:?} and {lb:?}"), "do not broadcast"));
    };
    let with = |last: [usize; 2]| -> Shape { lead.iter().chain(&last).copied().collect() };
    Ok([with([*m, *n]), with([*rows, *k])])
}

impl Tensor {
    /// The conjugate transpose of the last two axes.
    #[track_caller]
    pub fn adjoint(&self) -> Tensor {
        self.t().conj()
    }

    /// The solution `X` of `self · X = right` for square matrices `[..,n,n]`. The right side holds vectors if
    /// it has one axis or exactly the extents `[..,n]`; otherwise it holds matrices `[..,n,k]`, and leading
    /// axes broadcast. Dtypes are promoted. A singular matrix is an error.
    #[track_caller]
    pub fn solve(&self, right: &Tensor) -> Tensor {
        match sides("solve", self, right, holds_vectors(self, right)) {
            Ok((a, b, vector)) => drop_column(vector, apply1(Solve {}, &[&a, &b])),
            Err(failed) => failed,
        }
    }

    /// Solves `op(self) · X = right` for a triangle of a square matrix; `how` selects triangle and `op`.
    #[track_caller]
    pub fn triangular_solve(&self, right: &Tensor, how: Triangular) -> Tensor {
        let op = TriangularSolve { lower: how.lower, transpose: how.adjoint, unit: how.unit };
        match sides("triangular_solve", self, right, right.rank() == 1) {
            Ok((a, b, vector)) => {
                let a = if how.adjoint { a.conj() } else { a };
                drop_column(vector, apply1(op, &[&a, &b]))
            }
            Err(failed) => failed,
        }
    }

    /// The inverse of a square matrix; a singular one is an error.
    #[track_caller]
    pub fn inv(&self) -> Tensor {
        if let Some(refused) = self.refuse_non_square("inv") {
            return refused;
        }
        region1("inv", vec![], &[&float(self)], |x| apply1(Solve {}, &[&x[0], &eye_like(&x[0])]))
    }

    /// The pseudo-inverse of Moore and Penrose; see [`Pinv`].
    #[track_caller]
    pub fn pinv(&self) -> Tensor {
        apply1(Pinv {}, &[&float(self)])
    }

    /// The determinant of a square matrix; see [`Det`].
    #[track_caller]
    pub fn det(&self) -> Tensor {
        apply1(Det {}, &[&float(self)])
    }

    /// Sign and logarithm of the modulus of the determinant; see [`Slogdet`].
    #[track_caller]
    pub fn slogdet(&self) -> (Tensor, Tensor) {
        apply_n::<2>(Slogdet {}, &[&float(self)]).into()
    }

    /// The lower triangular `L` with positive diagonal and `L Lᴴ = self`; see [`Cholesky`].
    #[track_caller]
    pub fn cholesky(&self) -> Tensor {
        apply1(Cholesky {}, &[&float(self)])
    }

    /// `self = P L U`: a permutation, a unit lower triangle and an upper triangle. For a matrix `[m,n]` they
    /// are `[m,m]`, `[m,k]` and `[k,n]` with `k = min(m, n)`; see [`Lu`].
    #[track_caller]
    pub fn lu(&self) -> (Tensor, Tensor, Tensor) {
        let a = float(self);
        let k = match a.shape()[..] {
            [.., m, n] if a.error().is_none() => m.min(n),
            _ => {
                // The operand is invalid or has failed already: the op reports the error.
                let refused = apply_n::<2>(Lu {}, &[&a])[0].clone();
                return (refused.clone(), refused.clone(), refused);
            }
        };
        let parts = region("lu", vec![], &[&a], |x| {
            let [lu, from] = apply_n::<2>(Lu {}, &[&x[0]]);
            // Row k of L U is row from[k] of the matrix, so P has a one at row from[k] and column k.
            let (rows, m) = (lu.rank().saturating_sub(2), lu.dim(-2));
            let square: Shape = lu.shape()[..rows].iter().copied().chain([m, m]).collect();
            let p = Tensor::iota(DType::I64, square, rows).eq(&from.unsqueeze(-2)).to_dtype(lu.dtype());
            let l = lu.narrow(-1, 0, k);
            [p, l.tril(-1) + eye_like(&l), lu.narrow(-2, 0, k).triu(0)]
        });
        triple_or_failed(parts)
    }

    /// `self = Q R` with orthonormal columns of `Q` and an upper triangle `R` of non-negative diagonal; see
    /// [`Qr`].
    #[track_caller]
    pub fn qr(&self) -> (Tensor, Tensor) {
        apply_n::<2>(Qr { reflected: false }, &[&float(self)]).into()
    }

    /// As [`qr`](Tensor::qr), with the signs that Householder reflections leave on the diagonal, as in
    /// LAPACK.
    #[track_caller]
    pub fn qr_reflected(&self) -> (Tensor, Tensor) {
        apply_n::<2>(Qr { reflected: true }, &[&float(self)]).into()
    }

    /// `self = U diag(s) Vᴴ`, as `(U, s, Vᴴ)` with the singular values in descending order; see [`Svd`].
    #[track_caller]
    pub fn svd(&self) -> (Tensor, Tensor, Tensor) {
        apply_n::<3>(Svd {}, &[&float(self)]).into()
    }

    /// The singular values in descending order.
    #[track_caller]
    pub fn svdvals(&self) -> Tensor {
        self.svd().1
    }

    /// Eigenvalues (ascending) and eigenvectors (columns) of a Hermitian matrix; see [`Eigh`].
    #[track_caller]
    pub fn eigh(&self) -> (Tensor, Tensor) {
        apply_n::<2>(Eigh {}, &[&float(self)]).into()
    }

    /// The eigenvalues of a Hermitian matrix in ascending order.
    #[track_caller]
    pub fn eigvalsh(&self) -> Tensor {
        self.eigh().0
    }

    /// Eigenvalues and eigenvectors (columns) of a square matrix, complex also for a real matrix; see
    /// [`Eig`].
    #[track_caller]
    pub fn eig(&self) -> (Tensor, Tensor) {
        let x = float(self);
        if x.error().is_some() {
            return (x.clone(), x);
        }
        apply_n::<2>(Eig {}, &[&x.to_dtype(x.dtype().complex())]).into()
    }

    /// The eigenvalues of a square matrix, complex also for a real matrix.
    #[track_caller]
    pub fn eigvals(&self) -> Tensor {
        self.eig().0
    }

    /// Solves a least-squares problem for a matrix of any extents and rank. Of all `X` that minimize the norm
    /// of each column of `self · X - right`, returns the one of least norm. Rank and derivative are those of
    /// [`Pinv`]: at a rank-deficient matrix, the derivative is along matrices of the same rank.
    #[track_caller]
    pub fn lstsq(&self, right: &Tensor) -> Tensor {
        let (a, b, vector) = match sides("lstsq", self, right, right.rank() == 1) {
            Ok(sides) => sides,
            Err(failed) => return failed,
        };
        drop_column(vector, region1("lstsq", vec![], &[&a, &b], |x| x[0].pinv().matmul(&x[1])))
    }

    /// The `n`-th power of a square matrix: the identity for 0, powers of the inverse for negative `n`.
    #[track_caller]
    pub fn matrix_power(&self, n: i64) -> Tensor {
        if let Some(refused) = self.refuse_non_square("matrix_power") {
            return refused;
        }
        region1("matrix_power", vec![arg("n", n)], &[&float(self)], |x| {
            let mut factor = if n < 0 { x[0].inv() } else { x[0].clone() };
            let (mut left, mut power) = (n.unsigned_abs(), None::<Tensor>);
            while left > 0 {
                if left & 1 == 1 {
                    power = Some(power.map_or(factor.clone(), |p| p.matmul(&factor)));
                }
                left >>= 1;
                if left > 0 {
                    factor = factor.matmul(&factor);
                }
            }
            power.unwrap_or_else(|| eye_like(&x[0]))
        })
    }

    /// The exponential of a square matrix: Padé approximant of order 13 of the matrix scaled down by a power
    /// of two, then squared repeatedly.
    #[track_caller]
    pub fn matrix_exp(&self) -> Tensor {
        if let Some(refused) = self.refuse_non_square("matrix_exp") {
            return refused;
        }
        if self.numel() == 0 {
            return float(self);
        }
        region1("matrix_exp", vec![], &[&float(self)], |x| exponential(&x[0]))
    }

    /// Returns a failed tensor if this is not a batch of square matrices.
    #[track_caller]
    fn refuse_non_square(&self, name: &str) -> Option<Tensor> {
        if self.error().is_some() {
            return Some(self.clone());
        }
        match self.shape()[..] {
            [.., m, n] if m == n => None,
            _ => {
                let e = Error::shape(format!("shape {}", self.shape()), "must be that of square matrices");
                Some(Tensor::refuse(name, &[self], e))
            }
        }
    }
}

/// Removes the last axis if the right side was a vector.
#[track_caller]
fn drop_column(vector: bool, x: Tensor) -> Tensor {
    if vector && x.error().is_none() { x.squeeze(-1) } else { x }
}

fn triple_or_failed(parts: gradus_ir::Result<Vec<Tensor>>) -> (Tensor, Tensor, Tensor) {
    match parts.map(<[Tensor; 3]>::try_from) {
        Ok(Ok(parts)) => parts.into(),
        Ok(Err(_)) => triple_or_failed(Err(Error::verify("expected three results"))),
        Err(e) => (Tensor::failed(e.clone()), Tensor::failed(e.clone()), Tensor::failed(e)),
    }
}

/// Coefficients of the Padé approximant of order 13. The code divides them by the first, which keeps them in
/// range of narrow dtypes.
const PADE: [f64; 14] = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
];

/// Norm up to which the approximant is accurate in `f64`.
const MAX_NORM: f64 = 5.371920351148152;

/// Number of squarings that suffices for every matrix whose exponential is neither 0 nor infinite.
const SQUARINGS: usize = 24;

fn exponential(x: &Tensor) -> Tensor {
    let fixed = x.stop_gradient();
    let size = if x.dtype().is_complex() { fixed.real().hypot(&fixed.imag()) } else { fixed.abs() };
    let norm = size.sum(-2).max(-1);
    let times = (norm / MAX_NORM).log2().ceil().clamp(0.0, SQUARINGS as f64);
    let times = times.unsqueeze(-1).unsqueeze(-1);
    let a = x * &(-&times).exp2();
    let (one, a2) = (eye_like(x), a.matmul(&a));
    let a4 = a2.matmul(&a2);
    let a6 = a4.matmul(&a2);
    let b = |k: usize| PADE[k] / PADE[0];
    let sum = |k: usize| &a6 * b(k + 6) + &a4 * b(k + 4) + &a2 * b(k + 2);
    let odd = a.matmul(&(a6.matmul(&(&a6 * b(13) + &a4 * b(11) + &a2 * b(9))) + sum(1) + &one * b(1)));
    let even = a6.matmul(&(&a6 * b(12) + &a4 * b(10) + &a2 * b(8))) + sum(0) + &one * b(0);
    let start = (&even - &odd).solve(&(&even + &odd));
    let squared = while_loop(
        &[&start, &times],
        Some(SQUARINGS),
        |c| c[1].max(()).gt(0.0),
        |c| [c[1].gt(0.0).select(&c[0].matmul(&c[0]), &c[0]), &c[1] - 1.0],
    );
    match squared {
        Ok(mut carries) => carries.swap_remove(0),
        Err(e) => Tensor::failed(e),
    }
}

/// Draws a well-conditioned matrix: random, with a larger diagonal.
fn draw(s: &mut super::Samples, shape: &[usize], complex: bool) -> gradus_ir::Literal {
    let x = if complex { s.draw.complex((-1.0, 1.0), shape) } else { s.draw.normal(shape) };
    let x = Tensor::from_literal(&x);
    let n = x.dim(-1);
    let axis = shape.len().saturating_sub(2);
    let (row, column) = (Tensor::iota(DType::I64, shape, axis), Tensor::iota(DType::I64, shape, axis + 1));
    let more = Tensor::iota(DType::I64, shape, axis).to_dtype(x.dtype()) + 2.0;
    let sum = row.eq(&column).select(&(&x + more), &x);
    sum.to_literal().unwrap_or_else(|_| gradus_ir::Literal::scalar(DType::F64, n as f64))
}

pub(super) fn samples(s: &mut super::Samples) {
    for complex in [false, true] {
        for shape in [&[3, 3][..], &[2, 2, 2]] {
            let a = draw(s, shape, complex);
            s.case("inv", [a.clone()], |x| x[0].inv());
            s.case("lu", [a.clone()], |x| {
                let (_, l, u) = x[0].lu();
                (l, u)
            });
            s.case("matrix_power", [a.clone()], |x| x[0].matrix_power(3));
            s.case("matrix_exp", [a.clone()], |x| (&x[0] * 0.3).matrix_exp());
            // Checks functions of the matrix and projections, because eigenvectors are unique only up to a
            // phase.
            s.case("eigh", [a.clone()], |x| {
                let (w, v) = x[0].eigh();
                (&v * &w.square().unsqueeze(-2)).matmul(&v.adjoint())
            });
            s.case("svd", [a.clone()], |x| {
                let (u, s, vh) = x[0].svd();
                (&u * &s.exp().unsqueeze(-2)).matmul(&vh)
            });
            s.case("eig", [a], |x| {
                let (w, v) = x[0].eig();
                (&v * &w.exp().unsqueeze(-2)).matmul(&v.inv())
            });
        }
        for (shape, k) in [([3, 2], 2), ([2, 3], 1)] {
            let (a, b) = (draw(s, &shape, complex), s.draw.normal([shape[0], k]));
            s.case("lstsq", [a.clone(), b], |x| x[0].lstsq(&x[1]));
            s.case("lu", [a], |x| {
                let (_, l, u) = x[0].lu();
                (l, u)
            });
        }
        // Products of rank 1: the result is smooth in the factors.
        for [m, n] in [[3, 2], [2, 3], [2, 2]] {
            let ins = [draw(s, &[m, 1], complex), draw(s, &[1, n], complex), s.draw.normal([m, 2])];
            s.case("lstsq", ins, |x| x[0].matmul(&x[1]).lstsq(&x[2]));
        }
    }
    let ins = [draw(s, &[2, 1, 2, 2], false), s.draw.normal([3, 2, 1])];
    s.case("solve", ins, |x| x[0].solve(&x[1]));
    for (matrix, right) in [(&[2, 2, 2][..], &[2, 2][..]), (&[3, 2, 2], &[3, 2]), (&[3, 2, 2], &[2])] {
        let ins = [draw(s, matrix, false), s.draw.normal(right)];
        s.case("solve", ins, |x| x[0].solve(&x[1]));
    }
    let ins = [draw(s, &[2, 2], true), s.draw.normal([2])];
    s.case("triangular_solve", ins, |x| {
        x[0].triangular_solve(&x[1], Triangular { adjoint: true, ..Triangular::LOWER })
    });
    let a = draw(s, &[2, 2], false);
    s.case("matrix_power", [a.clone()], |x| x[0].matrix_power(-2));
    s.case("matrix_power", [a.clone()], |x| x[0].matrix_power(0));
    // Two matrices that need different powers of two.
    let both = draw(s, &[2, 2, 2], false);
    s.case("matrix_exp", [both], |x| {
        let scale = Tensor::from_slice(&[0.1, -4.0], [2, 1, 1]);
        (&x[0] * &scale).matrix_exp() + scalar(x[0].dtype(), 1.0)
    });
}
