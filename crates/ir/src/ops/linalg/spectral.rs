//! Eigenvalues and singular values, by rotations (Hermitian, singular) and by shifted QR steps (general).
//!
//! Vectors that are unique only up to a phase are normalised: the first entry of at least half the largest modulus is
//! real and positive. So the results are smooth functions of the matrix wherever the values are distinct.

use super::dense::{Mat, Scalar, length, lu, reflect};
use crate::{C, stop};

/// More sweeps than any matrix needs, since convergence is quadratic.
const SWEEPS: usize = 60;

/// Rotations of two columns between two polls for a stop request.
const POLL_INTERVAL: usize = 16;

/// If columns are longer than this, every rotation polls.
const LONG: usize = 1000;

/// Returns the phase of the entry that is made real: the first of at least half the largest modulus.
fn anchor_phase<T: Scalar>(v: &Mat<T>, j: usize) -> T {
    let largest = (0..v.rows).map(|i| v[(i, j)].size()).fold(0.0, f64::max);
    let entry = (0..v.rows).map(|i| v[(i, j)]).find(|x| x.size() >= 0.5 * largest);
    entry.unwrap_or(T::of(1.0)).phase()
}

/// Reorders columns.
fn columns<T: Scalar>(v: &Mat<T>, order: &[usize]) -> Mat<T> {
    Mat::from_fn(v.rows, order.len(), |i, j| v[(i, order[j])])
}

/// Returns the cosine and sine of the rotation that diagonalises `[[a, r], [r, b]]`, for `r > 0`.
fn rotation(a: f64, b: f64, r: f64) -> (f64, f64) {
    let tau = (b - a) / (2.0 * r);
    let t = 1.0_f64.copysign(tau) / (tau.abs() + tau.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    (c, t * c)
}

/// Divides by a power of two near the largest entry, so that squares neither overflow nor underflow. Also returns
/// that power.
fn scaled<T: Scalar>(a: &Mat<T>) -> (Mat<T>, f64) {
    let largest = a.data.iter().map(|x| x.size()).fold(0.0, f64::max);
    let normal = largest.is_finite() && largest >= f64::MIN_POSITIVE;
    let scale = if normal { libm::scalbn(1.0, libm::ilogb(largest)) } else { 1.0 };
    (Mat::from_fn(a.rows, a.cols, |i, j| a[(i, j)] / T::of(scale)), scale)
}

/// Returns the eigenvalues of the Hermitian part in ascending order, and orthonormal eigenvectors as columns,
/// by Jacobi's method.
pub(super) fn eigh<T: Scalar>(a: &Mat<T>) -> Result<(Vec<f64>, Mat<T>), String> {
    a.check_finite()?;
    let (mut a, scale) = scaled(&a.hermitian());
    let n = a.rows;
    let mut v = Mat::eye(n, n);
    let total: f64 = a.data.iter().map(|x| x.square()).sum();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|at| a[at].square()).sum();
        if off <= 1e-36 * total {
            break;
        }
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            if (p % POLL_INTERVAL == 0 || n > LONG) && stop::requested() {
                break;
            }
            let r = a[(p, q)].size();
            if r == 0.0 {
                continue;
            }
            let e = a[(p, q)].phase();
            let by = rotation(a[(p, p)].re(), a[(q, q)].re(), r);
            a.rotate((p, q), by, e);
            a.rotate_rows((p, q), by, e);
            (a[(p, q)], a[(q, p)]) = (T::default(), T::default());
            v.rotate((p, q), by, e);
        }
    }
    if stop::requested() {
        return Ok((vec![0.0; n], v));
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(i, i)].re().total_cmp(&a[(j, j)].re()));
    let mut v = columns(&v, &order);
    for j in 0..n {
        let turn = anchor_phase(&v, j).conj();
        v.scale_column(j, turn);
    }
    Ok((order.iter().map(|&i| a[(i, i)].re() * scale).collect(), v))
}

/// The factors `U`, `s` and `V` of `A = U diag(s) Vᴴ`.
type Svd<T> = (Mat<T>, Vec<f64>, Mat<T>);

/// Factors `A = U diag(s) Vᴴ`, with `s` in descending order and as many columns as the smaller extent.
pub(super) fn svd<T: Scalar>(a: &Mat<T>) -> Result<Svd<T>, String> {
    a.check_finite()?;
    let (mut u, s, mut v) = if a.rows >= a.cols {
        one_sided_jacobi(a)
    } else {
        let (v, s, u) = one_sided_jacobi(&a.adjoint());
        (u, s, v)
    };
    for j in 0..s.len() {
        if stop::requested() {
            break;
        }
        let turn = anchor_phase(&u, j).conj();
        u.scale_column(j, turn);
        v.scale_column(j, turn);
    }
    Ok((u, s, v))
}

/// Factors `A = U diag(s) Vᴴ` if there are at least as many rows as columns. Rotates columns until they are orthogonal
/// (Hestenes); their lengths are the singular values.
fn one_sided_jacobi<T: Scalar>(a: &Mat<T>) -> (Mat<T>, Vec<f64>, Mat<T>) {
    let (m, n) = (a.rows, a.cols);
    let mut v = Mat::eye(n, n);
    let (mut a, scale) = scaled(a);
    for _ in 0..SWEEPS {
        let mut done = true;
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            if (p % POLL_INTERVAL == 0 || m > LONG) && stop::requested() {
                break;
            }
            let (mut pp, mut qq, mut pq) = (0.0, 0.0, T::default());
            for i in 0..m {
                let (x, y) = (a[(i, p)], a[(i, q)]);
                (pp, qq, pq) = (pp + x.square(), qq + y.square(), pq + x.conj() * y);
            }
            let r = pq.size();
            // A subnormal product means that one of the columns is 0 up to rounding.
            if r > 1e-16 * (pp * qq).sqrt() && r >= f64::MIN_POSITIVE {
                done &= r <= 1e-15 * (pp * qq).sqrt();
                let by = rotation(pp, qq, r);
                a.rotate((p, q), by, pq.phase());
                v.rotate((p, q), by, pq.phase());
            }
        }
        if done {
            break;
        }
    }
    if stop::requested() {
        return (a, vec![0.0; n], v);
    }
    let lengths: Vec<f64> = (0..n).map(|j| length(&column(&a, j))).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let s: Vec<f64> = order.iter().map(|&j| lengths[j]).collect();
    let mut u = columns(&a, &order);
    let tiny = s.first().map_or(0.0, |s| s * f64::EPSILON * m as f64);
    for (j, &length) in s.iter().enumerate() {
        if length <= tiny {
            complete(&mut u, j);
        } else {
            u.scale_column(j, T::of(1.0 / length));
        }
    }
    (u, s.iter().map(|s| s * scale).collect(), columns(&v, &order))
}

fn column<T: Scalar>(a: &Mat<T>, j: usize) -> Vec<T> {
    (0..a.rows).map(|i| a[(i, j)]).collect()
}

/// Sets column `j` to a unit vector orthogonal to those before it, because a column of rounding errors has no
/// direction.
fn complete<T: Scalar>(u: &mut Mat<T>, j: usize) {
    for k in 0..u.rows {
        let mut x: Vec<T> = (0..u.rows).map(|i| T::of((i == k) as u8 as f64)).collect();
        for _ in 0..2 {
            for c in 0..j {
                let along = (0..u.rows).map(|i| u[(i, c)].conj() * x[i]).fold(T::default(), |a, b| a + b);
                (0..u.rows).for_each(|i| x[i] = x[i] - u[(i, c)] * along);
            }
        }
        let norm = length(&x);
        // At least one unit vector has a component of this size outside of the span of j < rows columns.
        if norm * norm * u.rows as f64 >= 0.5 {
            (0..u.rows).for_each(|i| u[(i, j)] = x[i] * T::of(1.0 / norm));
            return;
        }
    }
}

/// Computes the adjugate from the singular values. It is `det(A) A⁻¹` if `A` is regular, and is accurate for every `A`.
pub(super) fn adjugate<T: Scalar>(a: &Mat<T>) -> Mat<T> {
    let n = a.rows;
    // The determinant of a matrix with NaN is NaN, not an error, and so are its derivatives.
    let Ok((u, s, v)) = svd(a) else { return Mat::from_fn(n, n, |_, _| T::of(f64::NAN)) };
    let turn = determinant(u.clone()) * determinant(v.clone()).conj();
    let others = |i: usize| (0..n).filter(|&j| j != i).map(|j| s[j]).product::<f64>();
    let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * T::of(others(j)) * turn);
    scaled.times(&u.adjoint())
}

/// Computes the determinant by elimination.
pub(super) fn determinant<T: Scalar>(mut a: Mat<T>) -> T {
    let (_, sign) = lu(&mut a);
    (0..a.rows).map(|i| a[(i, i)]).fold(T::of(sign), |x, y| x * y)
}

/// Returns the eigenvalues by ascending real part (equal ones by imaginary part, larger first) and unit eigenvectors as
/// columns.
pub(super) fn eig(a: &Mat<C>) -> Result<(Vec<C>, Mat<C>), String> {
    let n = a.rows;
    a.check_finite()?;
    let (mut t, mut z) = hessenberg(a);
    schur(&mut t, &mut z)?;
    let scale = t.data.iter().map(|x| x.norm()).fold(f64::MIN_POSITIVE, f64::max);
    let mut v = Mat::from_fn(n, n, |_, _| C::ZERO);
    for k in 0..n {
        if stop::requested() {
            break;
        }
        let mut x = vec![C::ZERO; n];
        x[k] = C::ONE;
        for i in (0..k).rev() {
            let sum: C = (i + 1..=k).map(|j| t[(i, j)] * x[j]).sum();
            let gap = t[(k, k)] - t[(i, i)];
            let least = C::new(f64::EPSILON * scale, 0.0);
            x[i] = sum / if gap.norm() < least.re { least } else { gap };
        }
        let full: Vec<C> = (0..n).map(|i| (0..=k).map(|j| z[(i, j)] * x[j]).sum()).collect();
        let norm = length(&full);
        (0..n).for_each(|i| v[(i, k)] = full[i] / norm);
        let turn = anchor_phase(&v, k).conj();
        v.scale_column(k, turn);
    }
    let w: Vec<C> = (0..n).map(|i| t[(i, i)]).collect();
    let order = ordered(&w, 1e-10 * scale);
    Ok((order.iter().map(|&i| w[i]).collect(), columns(&v, &order)))
}

/// Orders by ascending real part. Real parts that are equal up to rounding, as those of conjugates, are ordered by
/// imaginary part, larger first.
fn ordered(w: &[C], equal: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..w.len()).collect();
    order.sort_by(|&i, &j| w[i].re.total_cmp(&w[j].re));
    let mut start = 0;
    for end in 1..=order.len() {
        if end == order.len() || w[order[end]].re - w[order[end - 1]].re > equal {
            order[start..end].sort_by(|&i, &j| w[j].im.total_cmp(&w[i].im));
            start = end;
        }
    }
    order
}

/// Factors `A = Z H Zᴴ`, with zeros below the first subdiagonal of `H`.
fn hessenberg(a: &Mat<C>) -> (Mat<C>, Mat<C>) {
    let n = a.rows;
    let (mut h, mut z) = (a.clone(), Mat::eye(n, n));
    for j in 0..n.saturating_sub(2) {
        if stop::requested() {
            break;
        }
        let mut v: Vec<C> = (j + 1..n).map(|i| h[(i, j)]).collect();
        v[0] = v[0] + v[0].phase() * length(&v);
        let norm = length(&v);
        if norm == 0.0 {
            continue;
        }
        v.iter_mut().for_each(|x| *x /= norm);
        reflect(&mut h, &v, j + 1, C::of(2.0));
        // Multiplying from the right is multiplying the adjoint from the left.
        for x in [&mut h, &mut z] {
            let mut adjoint = x.adjoint();
            reflect(&mut adjoint, &v, j + 1, C::of(2.0));
            *x = adjoint.adjoint();
        }
        (j + 2..n).for_each(|i| h[(i, j)] = C::ZERO);
    }
    (h, z)
}

/// Applies shifted QR steps until the matrix is upper triangular, and accumulates them in `z`.
fn schur(h: &mut Mat<C>, z: &mut Mat<C>) -> Result<(), String> {
    let n = h.rows;
    let (mut last, mut steps) = (n.saturating_sub(1), 0);
    while last > 0 && !stop::requested() {
        let small = |k: usize| {
            let near = h[(k, k)].norm() + h[(k - 1, k - 1)].norm();
            h[(k, k - 1)].norm() <= f64::EPSILON * near.max(f64::MIN_POSITIVE)
        };
        let first = (1..=last).rev().find(|&k| small(k)).unwrap_or(0);
        if first > 0 {
            h[(first, first - 1)] = C::ZERO;
        }
        if first == last {
            (last, steps) = (last - 1, 0);
            continue;
        }
        steps += 1;
        if steps > 300 {
            return Err("has eigenvalues for which the QR iteration does not converge".into());
        }
        let shift = if steps % 10 == 0 {
            // Applies an exceptional shift at intervals, in case the usual shift cycles.
            h[(last, last)] + h[(last, last - 1)].norm()
        } else {
            wilkinson(h, last)
        };
        step(h, z, (first, last), shift);
    }
    Ok(())
}

/// Returns the eigenvalue of the last 2×2 block that is nearer to its last element.
fn wilkinson(h: &Mat<C>, last: usize) -> C {
    let (a, b) = (h[(last - 1, last - 1)], h[(last - 1, last)]);
    let (c, d) = (h[(last, last - 1)], h[(last, last)]);
    let half = (a - d) / 2.0;
    let root = crate::complex::sqrt(half * half + b * c);
    let (plus, minus) = (half + root, half - root);
    let far = if plus.norm() >= minus.norm() { plus } else { minus };
    if far == C::ZERO { d } else { d - b * c / far }
}

/// Applies one QR step to the rows and columns from `first` to `last`.
fn step(h: &mut Mat<C>, z: &mut Mat<C>, (first, last): (usize, usize), shift: C) {
    let n = h.rows;
    (first..=last).for_each(|i| h[(i, i)] -= shift);
    let mut turns = Vec::with_capacity(last - first);
    for k in first..last {
        let (x, y) = (h[(k, k)], h[(k + 1, k)]);
        let norm = x.norm().hypot(y.norm());
        let (c, s) = if norm > 0.0 { (x / norm, y / norm) } else { (C::ONE, C::ZERO) };
        for j in k..n {
            let (x, y) = (h[(k, j)], h[(k + 1, j)]);
            h[(k, j)] = c.conj() * x + s.conj() * y;
            h[(k + 1, j)] = c * y - s * x;
        }
        turns.push((k, c, s));
    }
    for (k, c, s) in turns {
        for (m, rows) in [(&mut *h, (k + 2).min(last + 1)), (&mut *z, n)] {
            for i in 0..rows {
                let (x, y) = (m[(i, k)], m[(i, k + 1)]);
                m[(i, k)] = x * c + y * s;
                m[(i, k + 1)] = y * c.conj() - x * s.conj();
            }
        }
    }
    (first..=last).for_each(|i| h[(i, i)] += shift);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_the_nearer_eigenvalue_of_the_last_block() {
        let z = |re, im| C::new(re, im);
        let real = |a, d| [z(a, 0.0), z(2.0, 0.0), z(2.0, 0.0), z(d, 0.0)];
        let complex = [z(8.0, 1.0), z(-4.0, -1.0), z(8.0, 2.0), z(-4.0, -2.0)];
        // The other eigenvalue is 3, -2 and 4.
        let cases =
            [(real(2.0, -1.0), z(-2.0, 0.0)), (real(-1.0, 2.0), z(3.0, 0.0)), (complex, z(0.0, -1.0))];
        for (block, expected) in cases {
            let shift = wilkinson(&Mat { rows: 2, cols: 2, data: block.to_vec() }, 1);
            assert!((shift - expected).norm() < 1e-14, "{shift} and {expected}");
        }
    }
}
