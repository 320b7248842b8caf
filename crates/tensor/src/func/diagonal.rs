//! Diagonals and triangles of matrices.

use super::each::scalar;
use crate::axis::resolve;
use crate::eager::apply::apply1;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::movement::{Pad, Slice};
use gradus_ir::{DType, Error};

impl Tensor {
    /// Takes the diagonal of two axes, elements `(i, i + offset)`, as a new last axis. Returns a view if the
    /// layout allows it.
    #[track_caller]
    pub fn diagonal(&self, offset: isize, axis1: isize, axis2: isize) -> Tensor {
        let shape = self.shape();
        let rank = shape.rank();
        let (a, b) = match (resolve(axis1, rank), resolve(axis2, rank)) {
            _ if self.error().is_some() => return self.clone(),
            (Ok(a), Ok(b)) if a != b => (a, b),
            (Err(e), _) | (_, Err(e)) => return Tensor::refuse("diagonal", &[self], e),
            _ => return Tensor::refuse("diagonal", &[self], Error::value("the two axes", "must differ")),
        };
        let rest: Vec<usize> = (0..rank).filter(|x| *x != a && *x != b).collect();
        let order: Vec<isize> = rest.iter().chain([&a, &b]).map(|&x| x as isize).collect();
        let (n, m) = (shape[a], shape[b]);
        let (row, column) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
        let count = n.saturating_sub(row).min(m.saturating_sub(column));
        // In row-major order, consecutive elements of a diagonal are m + 1 apart.
        let flat = self.permute(order).flatten(-2, -1);
        let first = if count == 0 { 0 } else { row * m + column };
        let mut slice =
            Slice { start: vec![0; rank - 1], stop: flat.shape().to_vec(), step: vec![1; rank - 1] };
        let last = rank - 2;
        slice.start[last] = first;
        slice.stop[last] = if count == 0 { 0 } else { first + (count - 1) * (m + 1) + 1 };
        slice.step[last] = m + 1;
        apply1(slice, &[&flat])
    }

    /// Puts the last axis on the diagonal `(i, i + offset)` of two new axes, with zeros elsewhere.
    #[track_caller]
    pub fn diag_embed(&self, offset: isize, axis1: isize, axis2: isize) -> Tensor {
        let shape = self.shape();
        let rank = shape.rank() + 1;
        let (n, m) = match (shape.last(), resolve(axis1, rank), resolve(axis2, rank)) {
            _ if self.error().is_some() => return self.clone(),
            (Some(&n), Ok(a), Ok(b)) if a != b => (n, n.saturating_add(offset.unsigned_abs())),
            (None, ..) => {
                let e = Error::shape("a scalar", "has no axis for a diagonal");
                return Tensor::refuse("diag_embed", &[self], e);
            }
            (_, Err(e), _) | (_, _, Err(e)) => return Tensor::refuse("diag_embed", &[self], e),
            _ => return Tensor::refuse("diag_embed", &[self], Error::value("the two axes", "must differ")),
        };
        // In row-major order, consecutive elements of a diagonal are m + 1 apart.
        let (row, column) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
        let first = row.checked_mul(m).and_then(|r| r.checked_add(column)).filter(|_| n > 0);
        let (Some(all), first) = (m.checked_mul(m).filter(|&a| a <= i64::MAX as usize), first.unwrap_or(0))
        else {
            let e = Error::value(format!("offset {offset}"), "is too large");
            return Tensor::refuse("diag_embed", &[self], e);
        };
        let reach = if n == 0 { 0 } else { (n - 1) * (m + 1) + 1 };
        let args = vec![arg("offset", offset as i64), arg("axis1", axis1 as i64), arg("axis2", axis2 as i64)];
        region1("diag_embed", args, &[self], |x| {
            let lead = rank - 2;
            let last = |n: i64| [vec![0; lead], vec![n]].concat();
            let interior = [vec![0; lead], vec![m]].concat();
            let high = last((all - first - reach) as i64);
            let flat = apply1(Pad { low: last(first as i64), high, interior }, &[&x[0]]);
            let square = flat.reshape([&shape[..lead], &[m, m]].concat());
            square.movedim([-2, -1], [axis1, axis2])
        })
    }

    /// Makes a matrix from its diagonal, or takes the diagonal of a matrix.
    #[track_caller]
    pub fn diag(&self, offset: isize) -> Tensor {
        match self.rank() {
            _ if self.error().is_some() => self.clone(),
            1 => self.diag_embed(offset, 0, 1),
            2 => self.diagonal(offset, 0, 1),
            _ => {
                let e =
                    Error::shape(format!("shape {}", self.shape()), "must be that of a vector or a matrix");
                Tensor::refuse("diag", &[self], e)
            }
        }
    }

    /// Sums the diagonal of a matrix.
    #[track_caller]
    pub fn trace(&self) -> Tensor {
        if self.error().is_none() && self.rank() != 2 {
            let e = Error::shape(format!("shape {}", self.shape()), "must have two axes");
            return Tensor::refuse("trace", &[self], e);
        }
        region1("trace", vec![], &[self], |x| x[0].diagonal(0, 0, 1).sum(()))
    }

    #[track_caller]
    fn triangle(&self, name: &'static str, offset: isize, lower: bool) -> Tensor {
        let shape = self.shape();
        let matrix = match &shape[..] {
            _ if self.error().is_some() => return self.clone(),
            [.., n, m] => [*n, *m],
            _ => {
                let e =
                    Error::shape(format!("shape {shape}"), "must be that of a matrix or a batch of matrices");
                return Tensor::refuse(name, &[self], e);
            }
        };
        region1(name, vec![arg("diagonal", offset as i64)], &[self], |x| {
            let (row, column) = (Tensor::iota(DType::I64, matrix, 0), Tensor::iota(DType::I64, matrix, 1));
            let beyond = column - row;
            let kept = if lower { beyond.le(offset as i64) } else { beyond.ge(offset as i64) };
            kept.select(&x[0], &scalar(x[0].dtype(), 0.0))
        })
    }

    /// Replaces the elements above the diagonal `(i, i + diagonal)` of matrices by zeros.
    #[track_caller]
    pub fn tril(&self, diagonal: isize) -> Tensor {
        self.triangle("tril", diagonal, true)
    }

    /// Replaces the elements below the diagonal `(i, i + diagonal)` of matrices by zeros.
    #[track_caller]
    pub fn triu(&self, diagonal: isize) -> Tensor {
        self.triangle("triu", diagonal, false)
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    for offset in [-1, 0, 2] {
        let x = s.draw.normal([3, 4]);
        s.case("diagonal", [x], move |x| x[0].diagonal(offset, 0, 1));
    }
    let x = s.draw.normal([2, 3, 2]);
    s.case("diagonal", [x], |x| x[0].diagonal(0, -1, 0));
    for offset in [-1, 0, 2] {
        let (v, x) = (s.draw.normal([2, 3]), s.draw.normal([2, 3, 4]));
        s.case("diag_embed", [v.clone()], move |x| x[0].diag_embed(offset, -2, -1));
        s.case("diag_embed", [v], move |x| x[0].diag_embed(offset, 2, 0));
        s.case("tril", [x.clone()], move |x| x[0].tril(offset));
        s.case("triu", [x], move |x| x[0].triu(offset));
        let (v, x) = (s.draw.normal([3]), s.draw.normal([4, 3]));
        s.case("diag", [v], move |x| x[0].diag(offset));
        s.case("diag", [x], move |x| x[0].diag(offset));
        let empty = s.draw.normal([0]);
        s.case("diag", [empty], move |x| x[0].diag(offset));
    }
    for shape in [[3, 3], [2, 4], [0, 3]] {
        let x = s.draw.normal(shape);
        s.case("trace", [x.clone()], |x| x[0].trace());
        s.case("tril", [x], |x| x[0].tril(0));
    }
}
