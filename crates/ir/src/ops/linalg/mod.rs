//! Linear algebra on the last two axes: systems, factorisations, eigenvalues. All other axes are batch axes.
//!
//! The values come from simple dense algorithms (`dense`, `spectral`). The derivatives are rules in terms of other
//! ops, so they transpose and differentiate again. Results that are unique only up to a phase are normalised, and the
//! rules are the derivatives of the normalised results. If a function does not depend on the phase, its gradient is the
//! same for every normalisation.
//! `eigh` and `cholesky` are functions of the Hermitian part of their operand.

mod cholesky;
mod dense;
mod det;
mod eigen;
mod lu;
mod pinv;
mod qr;
mod solve;
mod spectral;
mod svd;

pub use cholesky::Cholesky;
pub use det::{Adjugate, Det, Slogdet};
pub use eigen::{Eig, Eigh};
pub use lu::Lu;
pub use pinv::Pinv;
pub use qr::Qr;
pub use solve::{Solve, TriangularSolve};
pub use svd::Svd;

use super::*;
use crate::literal::Data;
use crate::{C, Class, DType, Shape, stop};
use dense::{Mat, Scalar};

/// Largest allowed difference between a factorisation of well-conditioned matrices and the reference.
const BOUND: Bound = Bound::Largest(256.0);

/// Returns the numbers of rows and columns of the matrices in an operand.
fn extents(x: &Aval) -> Result<[usize; 2]> {
    if !x.dtype.is_differentiable() {
        return Err(Error::dtype(x.dtype, "it takes floats and complex numbers"));
    }
    match x.shape[..] {
        [.., m, n] => Ok([m, n]),
        _ => Err(Error::shape(
            format!("shape {}", x.shape),
            "must have at least two axes, [.., rows, columns]",
        )),
    }
}

/// Returns the extent of the square matrices in an operand.
fn square(x: &Aval) -> Result<usize> {
    match extents(x)? {
        [m, n] if m == n => Ok(n),
        [m, n] => Err(Error::shape(format!("matrices of {m} rows and {n} columns"), "must be square")),
    }
}

/// Replaces the last two extents of a type by `last`.
fn with_last_extents(x: &Aval, last: &[usize]) -> Aval {
    let lead = &x.shape[..x.rank().saturating_sub(2)];
    x.with_shape(lead.iter().chain(last).copied().collect::<Shape>())
}

/// The computation of an op on one matrix of each operand: the elements of each result, or an error.
trait MatrixFunction: Send + Sync + 'static {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String>;
}

/// A function of matrices, for devices that compute it in their own way: see the op of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the op")]
pub enum Factorisation {
    Adjugate,
    Cholesky,
    Det,
    Eig,
    Eigh,
    Lu,
    Pinv,
    Qr { reflected: bool },
    Slogdet,
    Solve,
    Svd,
    TriangularSolve { lower: bool, transpose: bool, unit: bool },
}

/// Returns the form of an op that processes the matrices of its operands one after the other.
fn form_per_matrix(kind: Factorisation, function: impl MatrixFunction, outs: Result<Vec<Aval>>) -> Form {
    let reference = Arc::new(move |ins: &[Literal]| {
        let outs = outs.clone()?;
        match ins.first().map(|l| l.dtype().class()) {
            Some(Class::Complex) => run_per_matrix::<C>(&function, ins, &outs),
            _ => run_per_matrix::<f64>(&function, ins, &outs),
        }
    });
    Form::External { kind: External::Matrix(kind), reference }
}

/// Runs a function on corresponding matrices of all operands, and appends the results to each other.
fn run_per_matrix<T: Scalar>(
    function: &impl MatrixFunction,
    ins: &[Literal],
    outs: &[Aval],
) -> Result<Vec<Literal>> {
    let lead = ins.first().map_or(&[][..], |l| &l.shape()[..l.shape().rank().saturating_sub(2)]);
    let count: usize = lead.iter().product();
    let matrix = |l: &Literal, b: usize| {
        let (rows, cols) = match l.shape()[..] {
            [.., m, n] => (m, n),
            _ => (1, 1),
        };
        let size = rows * cols;
        let data = stop::copied(&T::elements(l)[b * size..(b + 1) * size])?;
        Ok(Mat { rows, cols, data })
    };
    let mut all: Vec<Data> = outs.iter().map(|o| empty(o.dtype)).collect();
    for b in 0..count {
        stop::poll()?;
        let parts = function.run(ins.iter().map(|l| matrix(l, b)).collect::<Result<Vec<Mat<T>>>>()?);
        // A function that was stopped early may have failed because of it.
        stop::poll()?;
        let parts = parts.map_err(|why| Error::value(matrix_of_batch(b, count), why))?;
        match count {
            1 => all = parts,
            _ => all.iter_mut().zip(parts).for_each(|(all, part)| extend(all, &part)),
        }
    }
    outs.iter().zip(all).map(|(aval, data)| Literal::new(aval.clone(), data)).collect()
}

/// Returns the name of a matrix in errors, the `b`-th of `count`.
pub fn matrix_of_batch(b: usize, count: usize) -> String {
    if count == 1 { "the matrix".into() } else { format!("matrix {b} of the batch") }
}

/// Returns the reason why a system with a zero pivot has no solution, for errors.
pub fn singular(pivot: usize) -> String {
    format!("is singular: its pivot {pivot} is 0, so there is no unique solution")
}

/// Returns the reason why a matrix has no Cholesky factor, for errors.
pub fn not_positive_definite(order: usize) -> String {
    format!("is not positive definite: its leading minor of order {order} is not positive")
}

fn empty(dtype: DType) -> Data {
    match dtype.class() {
        Class::Float => Vec::<f64>::new().into(),
        Class::Complex => Vec::<C>::new().into(),
        _ => Vec::<i64>::new().into(),
    }
}

fn extend(all: &mut Data, part: &Data) {
    match (all, part) {
        (Data::F(all), Data::F(part)) => Arc::make_mut(all).extend_from_slice(part),
        (Data::C(all), Data::C(part)) => Arc::make_mut(all).extend_from_slice(part),
        (Data::I(all), Data::I(part)) => Arc::make_mut(all).extend_from_slice(part),
        _ => {}
    }
}

/// Part of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Below the diagonal.
    Below,
    /// Below and on the diagonal.
    Lower,
    /// The diagonal.
    Diagonal,
    /// On and above the diagonal.
    Upper,
    /// Above the diagonal.
    Above,
}

/// Operations on the last two axes, for derivative rules.
impl<'g> Var<'g> {
    /// Transposes the last two axes.
    pub(crate) fn mt(self) -> Var<'g> {
        let r = self.rank();
        if r < 2 {
            return self;
        }
        let axes: Vec<usize> = (0..r - 2).chain([r - 1, r - 2]).collect();
        self.permute(&axes)
    }

    /// Returns the conjugate transpose.
    pub(crate) fn mh(self) -> Var<'g> {
        self.mt().conj_if_complex()
    }

    /// Multiplies corresponding matrices of two batches.
    pub(crate) fn mm(self, other: Var<'g>) -> Var<'g> {
        let lead: String = ('A'..='Z').chain('\u{100}'..).take(self.rank().saturating_sub(2)).collect();
        self.dot(other, &format!("{lead}ik"), &format!("{lead}kj"), &format!("{lead}ij"))
    }

    /// Returns the Hermitian part.
    fn hermitian(self) -> Var<'g> {
        (self + self.mh()) * 0.5
    }

    /// Returns a mask that is true in a part of the matrices.
    fn mask(self, part: Part) -> Var<'g> {
        let (b, shape, r) = (self.builder(), self.shape(), self.rank());
        let (row, column) = (b.iota(DType::I64, &shape, r - 2), b.iota(DType::I64, &shape, r - 1));
        match part {
            Part::Below => row.gt(column),
            Part::Lower => row.ge(column),
            Part::Diagonal => row.eq(column),
            Part::Upper => row.le(column),
            Part::Above => row.lt(column),
        }
    }

    /// Keeps a part of the matrices, with zeros elsewhere.
    fn part(self, part: Part) -> Var<'g> {
        self.mask(part).select(self, self.full_like(0.0))
    }

    /// Returns the diagonals, as vectors.
    fn diagonals(self) -> Var<'g> {
        self.part(Part::Diagonal).sum(&[self.rank() - 1])
    }

    /// Places vectors on the diagonals of matrices of the type of `like`.
    fn on_diagonal(self, like: Var<'g>) -> Var<'g> {
        self.along_rows(like).part(Part::Diagonal)
    }

    /// Returns a vector repeated in every row of a matrix: one number for each column.
    fn along_rows(self, like: Var<'g>) -> Var<'g> {
        self.spread(&[like.rank() - 2], &like.shape())
    }

    /// Returns a vector repeated in every column of a matrix: one number for each row.
    fn along_columns(self, like: Var<'g>) -> Var<'g> {
        self.spread(&[like.rank() - 1], &like.shape())
    }

    /// Returns `i` times a real value.
    fn imaginary(self) -> Var<'g> {
        self.full_like(0.0).complex(self)
    }

    /// Returns `1 / self`, and 0 where `self` is 0.
    fn reciprocal_or_zero(self) -> Var<'g> {
        let (zero, one) = (self.full_like(0.0), self.full_like(1.0));
        let none = self.eq(zero);
        none.select(zero, one / none.select(one, self))
    }
}

/// Returns, for each column of a complex matrix with these tangents, the angle by which the column must be rotated
/// back. The rotation keeps the entry that fixes the phase (see [`spectral`]) real.
fn phase_correction<'g>(v: Var<'g>, dv: Var<'g>) -> Var<'g> {
    let (b, shape, rows) = (v.builder(), v.shape(), v.rank() - 2);
    let square = v.re() * v.re() + v.im() * v.im();
    let largest = b.apply1(reduce::Max { axes: vec![rows] }, &[square]).spread(&[rows], &shape);
    let sizeable = square.ge(largest * 0.25).to(DType::I64);
    let at = b.apply1(reduce::ArgMax { axis: rows }, &[sizeable]);
    let at = at.reshape(shape.with(rows, 1));
    let angle = dv.take_along(at, rows).im() * v.take_along(at, rows).re().reciprocal_or_zero();
    angle.reshape(shape.without(&[rows]))
}

/// Returns well-conditioned sample matrices: random, with larger diagonals.
fn sample_matrix(s: &mut Samples, shape: &[usize], complex: bool, diagonal: f64) -> Literal {
    let x = if complex { s.complex((-1.0, 1.0), shape) } else { s.normal(shape) };
    let n = *shape.last().unwrap_or(&1);
    let rows = shape.len().checked_sub(2).map_or(1, |r| shape[r]);
    // Different for each index, so that all eigenvalues are distinct.
    let add = |k: usize| {
        let (i, j) = ((k / n.max(1)) % rows.max(1), k % n.max(1));
        if i == j { diagonal * (1.0 + 0.5 * i as f64) } else { 0.0 }
    };
    let data: Data = match x.data() {
        Data::C(v) => v.iter().enumerate().map(|(k, z)| z + add(k)).collect::<Vec<C>>().into(),
        _ => x.f().iter().enumerate().map(|(k, z)| z + add(k)).collect::<Vec<f64>>().into(),
    };
    Literal::new(x.aval().clone(), data).unwrap_or(x)
}

/// Operands that every op on square matrices must reject.
fn square_errors(s: &mut Samples, op: impl Into<Op> + Clone, more: &[Aval]) {
    let with = |first: Aval| -> Vec<Aval> { [first].iter().chain(more).cloned().collect() };
    s.error(op.clone(), &with(Aval::new(DType::C128, [2, 3])), "must be square");
    s.error(op.clone(), &with(Aval::new(DType::C128, [3])), "must have at least two axes");
    s.error(op, &with(Aval::new(DType::I64, [2, 2])), "it takes");
}

/// Shapes of square sample matrices.
const SQUARES: [&[usize]; 4] = [&[3, 3], &[2, 2, 2], &[1, 1], &[0, 0]];
