//! Dense matrix algorithms by elimination and reflection, in simple loops: the definition of the linear algebra ops.
//!
//! These are references: the backward stable textbook algorithms, on one matrix, real or complex.

use crate::literal::Data;
use crate::{C, Literal, stop};
use std::ops::{Add, Div, Index, IndexMut, Mul, Neg, Sub};

/// Real and complex numbers, with the operations that the algorithms need.
pub(super) trait Scalar:
    Copy
    + Default
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// Converts a real number.
    fn of(x: f64) -> Self;
    /// Returns the real part.
    fn re(self) -> f64;
    /// Returns the complex conjugate.
    fn conj(self) -> Self;
    /// Returns the modulus.
    fn size(self) -> f64;
    /// Converts to a complex number.
    fn complex(self) -> C;
    /// Returns the elements of a literal of this class.
    fn elements(l: &Literal) -> &[Self];
    /// Converts elements to the data of a literal.
    fn data(v: Vec<Self>) -> Data;

    /// Returns the number of modulus 1 in the same direction; 1 for 0 and for subnormal numbers, whose
    /// reciprocals may overflow.
    fn phase(self) -> Self {
        let size = self.size();
        if size >= f64::MIN_POSITIVE { self * Self::of(1.0 / size) } else { Self::of(1.0) }
    }
    /// Returns the square of the modulus.
    fn square(self) -> f64 {
        (self * self.conj()).re()
    }
    /// Returns the sum of the moduli of both parts, by which LAPACK selects pivots.
    fn taxicab(self) -> f64 {
        let z = self.complex();
        z.re.abs() + z.im.abs()
    }
}

impl Scalar for f64 {
    fn of(x: f64) -> f64 {
        x
    }
    fn re(self) -> f64 {
        self
    }
    fn conj(self) -> f64 {
        self
    }
    fn size(self) -> f64 {
        self.abs()
    }
    fn complex(self) -> C {
        C::new(self, 0.0)
    }
    fn elements(l: &Literal) -> &[f64] {
        l.f()
    }
    fn data(v: Vec<f64>) -> Data {
        v.into()
    }
}

impl Scalar for C {
    fn of(x: f64) -> C {
        C::new(x, 0.0)
    }
    fn re(self) -> f64 {
        self.re
    }
    fn conj(self) -> C {
        C::conj(&self)
    }
    fn size(self) -> f64 {
        self.norm()
    }
    fn complex(self) -> C {
        self
    }
    fn elements(l: &Literal) -> &[C] {
        l.c()
    }
    fn data(v: Vec<C>) -> Data {
        v.into()
    }
}

/// A matrix in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Mat<T> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<T>,
}

impl<T> Index<(usize, usize)> for Mat<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[i * self.cols + j]
    }
}

impl<T> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[i * self.cols + j]
    }
}

impl<T: Scalar> Mat<T> {
    pub(super) fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> T) -> Mat<T> {
        let mut data = vec![T::default(); rows * cols];
        for (i, row) in data.chunks_exact_mut(cols.max(1)).enumerate() {
            if stop::requested() {
                break;
            }
            row.iter_mut().enumerate().for_each(|(j, x)| *x = f(i, j));
        }
        Mat { rows, cols, data }
    }

    pub(super) fn eye(rows: usize, cols: usize) -> Mat<T> {
        Mat::from_fn(rows, cols, |i, j| T::of((i == j) as u8 as f64))
    }

    pub(super) fn adjoint(&self) -> Mat<T> {
        Mat::from_fn(self.cols, self.rows, |i, j| self[(j, i)].conj())
    }

    pub(super) fn times(&self, other: &Mat<T>) -> Mat<T> {
        let terms = |i, j| (0..self.cols).map(move |k| self[(i, k)] * other[(k, j)]);
        let one = |i, j| match stop::requested() {
            true => T::default(),
            false => terms(i, j).fold(T::default(), |a, b| a + b),
        };
        Mat::from_fn(self.rows, other.cols, one)
    }

    /// Returns the Hermitian part.
    pub(super) fn hermitian(&self) -> Mat<T> {
        Mat::from_fn(self.rows, self.cols, |i, j| (self[(i, j)] + self[(j, i)].conj()) * T::of(0.5))
    }

    /// Rejects NaN and infinity, for which iterations do not converge, or converge to an arbitrary result.
    pub(super) fn check_finite(&self) -> Result<(), String> {
        let mut chunks = self.data.chunks(stop::STRIDE).take_while(|_| !stop::requested());
        match chunks.all(|some| some.iter().all(|x| x.size().is_finite())) {
            true => Ok(()),
            false => Err("contains values that are not finite: the algorithm would not converge".into()),
        }
    }

    pub(super) fn swap_rows(&mut self, i: usize, j: usize) {
        for k in 0..self.cols {
            self.data.swap(i * self.cols + k, j * self.cols + k);
        }
    }

    /// Multiplies one column by a number.
    pub(super) fn scale_column(&mut self, j: usize, by: T) {
        for i in 0..self.rows {
            self[(i, j)] = self[(i, j)] * by;
        }
    }

    /// Replaces columns `p` and `q` by `c p - s conj(e) q` and `s e p + c q`.
    pub(super) fn rotate(&mut self, (p, q): (usize, usize), (c, s): (f64, f64), e: T) {
        let (c, s) = (T::of(c), T::of(s));
        for i in 0..self.rows {
            let (x, y) = (self[(i, p)], self[(i, q)]);
            self[(i, p)] = c * x - s * e.conj() * y;
            self[(i, q)] = s * e * x + c * y;
        }
    }

    /// Multiplies from the left by the adjoint of the rotation of [`rotate`](Mat::rotate).
    pub(super) fn rotate_rows(&mut self, (p, q): (usize, usize), (c, s): (f64, f64), e: T) {
        let (c, s) = (T::of(c), T::of(s));
        for j in 0..self.cols {
            let (x, y) = (self[(p, j)], self[(q, j)]);
            self[(p, j)] = c * x - s * e * y;
            self[(q, j)] = s * e.conj() * x + c * y;
        }
    }
}

/// Factors `P A = L U` in place: the unit lower and the upper factor in one matrix. Returns which row of `A` each row
/// came from, and the sign of that permutation. A column without a pivot is left unchanged, with diagonal element 0.
pub(super) fn lu<T: Scalar>(a: &mut Mat<T>) -> (Vec<usize>, f64) {
    let (m, n) = (a.rows, a.cols);
    let (mut from, mut sign): (Vec<usize>, f64) = ((0..m).collect(), 1.0);
    for k in 0..m.min(n) {
        if stop::requested() {
            break;
        }
        let mut pivot = k;
        for i in k + 1..m {
            if a[(i, k)].taxicab() > a[(pivot, k)].taxicab() {
                pivot = i;
            }
        }
        if pivot != k {
            a.swap_rows(k, pivot);
            from.swap(k, pivot);
            sign = -sign;
        }
        if a[(k, k)] == T::default() {
            continue;
        }
        for i in k + 1..m {
            if stop::requested() {
                break;
            }
            let factor = a[(i, k)] / a[(k, k)];
            a[(i, k)] = factor;
            for j in k + 1..n {
                a[(i, j)] = a[(i, j)] - factor * a[(k, j)];
            }
        }
    }
    (from, sign)
}

/// Returns `A⁻¹ B`, or an error if `A` is singular.
pub(super) fn solve<T: Scalar>(mut a: Mat<T>, b: &Mat<T>) -> Result<Mat<T>, String> {
    let (from, _) = lu(&mut a);
    let moved = Mat::from_fn(b.rows, b.cols, |i, j| b[(from[i], j)]);
    let half = triangular(&a, moved, [true, false, true])?;
    triangular(&a, half, [false, false, false])
}

/// Returns `op(A)⁻¹ B` for the lower or upper triangle of `A`, transposed or not, with a unit diagonal or its own.
pub(super) fn triangular<T: Scalar>(
    a: &Mat<T>,
    mut b: Mat<T>,
    [lower, transpose, unit]: [bool; 3],
) -> Result<Mat<T>, String> {
    let n = a.rows;
    let at = |i: usize, j: usize| if transpose { a[(j, i)] } else { a[(i, j)] };
    let forward = lower != transpose;
    for step in 0..n {
        if stop::requested() {
            break;
        }
        let i = if forward { step } else { n - 1 - step };
        if !unit && at(i, i) == T::default() {
            return Err(super::singular(i));
        }
        let known = if forward { 0..i } else { i + 1..n };
        // Process row by row, since the rows of `b` are contiguous.
        let mut sums = vec![T::default(); b.cols];
        for j in known {
            if stop::requested() {
                break;
            }
            let (factor, row) = (at(i, j), &b.data[j * b.cols..(j + 1) * b.cols]);
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum = *sum + factor * *x);
        }
        for (k, sum) in sums.into_iter().enumerate() {
            let rest = b[(i, k)] - sum;
            b[(i, k)] = if unit { rest } else { rest / at(i, i) };
        }
    }
    Ok(b)
}

/// Returns the lower Cholesky factor of the Hermitian part, or an error if it is not positive definite.
pub(super) fn cholesky<T: Scalar>(a: &Mat<T>) -> Result<Mat<T>, String> {
    a.check_finite()?;
    let (n, a) = (a.rows, a.hermitian());
    let mut l: Mat<T> = Mat::from_fn(n, n, |_, _| T::default());
    for j in 0..n {
        if stop::requested() {
            break;
        }
        let square = a[(j, j)].re() - (0..j).map(|k| l[(j, k)].square()).sum::<f64>();
        if square <= 0.0 {
            return Err(super::not_positive_definite(j + 1));
        }
        let root = T::of(square.sqrt());
        l[(j, j)] = root;
        for i in j + 1..n {
            if stop::requested() {
                break;
            }
            let sum = (0..j).map(|k| l[(i, k)] * l[(j, k)].conj()).fold(T::default(), |x, y| x + y);
            l[(i, j)] = (a[(i, j)] - sum) / root;
        }
    }
    Ok(l)
}

/// Factors `A = Q R` by Householder reflections: orthonormal columns and an upper triangle with a real diagonal. With
/// `reflected` the diagonal keeps the signs of the reflections, as in LAPACK; otherwise it is not negative.
pub(super) fn qr<T: Scalar>(mut r: Mat<T>, reflected: bool) -> (Mat<T>, Mat<T>) {
    let (m, n) = (r.rows, r.cols);
    let k = m.min(n);
    let mut reflectors: Vec<(Vec<T>, T)> = Vec::with_capacity(k);
    for j in 0..k {
        if stop::requested() {
            break;
        }
        let (v, tau, diagonal) = reflector((j..m).map(|i| r[(i, j)]).collect());
        reflect(&mut r, &v, j, tau.conj());
        r[(j, j)] = diagonal;
        reflectors.push((v, tau));
    }
    let mut q = Mat::eye(m, k);
    for (j, (v, tau)) in reflectors.iter().enumerate().rev() {
        if stop::requested() {
            break;
        }
        reflect(&mut q, v, j, *tau);
    }
    if !reflected {
        let negative: Vec<bool> = (0..k).map(|i| r[(i, i)].re() < 0.0).collect();
        for row in q.data.chunks_exact_mut(k.max(1)) {
            if stop::requested() {
                break;
            }
            row.iter_mut().zip(&negative).filter(|(_, negative)| **negative).for_each(|(x, _)| *x = -*x);
        }
        for (row, _) in r.data.chunks_exact_mut(n.max(1)).zip(&negative).filter(|(_, negative)| **negative) {
            if stop::requested() {
                break;
            }
            row.iter_mut().for_each(|x| *x = -*x);
        }
    }
    (q, Mat::from_fn(k, n, |i, j| if i <= j { r[(i, j)] } else { T::default() }))
}

/// Returns a Householder reflection as `v`, with first element 1, `tau` and a real `beta`: `I - conj(tau) v vᴴ`
/// maps `x` to `beta` times the first unit vector. The sign of `beta` is opposite to that of the first element, to
/// avoid cancellation. If `x` is a real multiple of the first unit vector already, `tau` is 0.
fn reflector<T: Scalar>(mut x: Vec<T>) -> (Vec<T>, T, T) {
    let first = x[0];
    if first == first.conj() && x[1..].iter().all(|x| *x == T::default()) {
        x[0] = T::of(1.0);
        return (x, T::default(), first);
    }
    let beta = T::of(length(&x) * if first.re().is_sign_negative() { 1.0 } else { -1.0 });
    let scale = first - beta;
    x[1..].iter_mut().for_each(|x| *x = *x / scale);
    x[0] = T::of(1.0);
    (x, (beta - first) / beta, beta)
}

/// Returns the Euclidean norm, scaled so that squares neither overflow nor vanish.
pub(super) fn length<T: Scalar>(v: &[T]) -> f64 {
    let largest = v.iter().map(|x| x.size()).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() {
        return v.iter().map(|x| x.size()).sum();
    }
    v.iter().map(|x| (x.size() / largest).powi(2)).sum::<f64>().sqrt() * largest
}

/// Replaces the rows from `j` on of `x` by `(I - tau v vᴴ) x`.
pub(super) fn reflect<T: Scalar>(x: &mut Mat<T>, v: &[T], j: usize, tau: T) {
    if x.cols == 0 || tau == T::default() {
        return;
    }
    let cols = x.cols;
    let rows = &mut x.data[j * cols..(j + v.len()) * cols];
    let mut along = vec![T::default(); cols];
    for (row, v) in rows.chunks_exact(cols).zip(v) {
        if stop::requested() {
            return;
        }
        along.iter_mut().zip(row).for_each(|(sum, x)| *sum = *sum + v.conj() * *x);
    }
    along.iter_mut().for_each(|sum| *sum = *sum * tau);
    for (row, v) in rows.chunks_exact_mut(cols).zip(v) {
        if stop::requested() {
            return;
        }
        row.iter_mut().zip(&along).for_each(|(x, along)| *x = *x - *v * *along);
    }
}
