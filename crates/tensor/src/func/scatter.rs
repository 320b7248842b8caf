//! Gathers at flat or aligned positions, and scatters with a reduction.

use super::each::{failed, pad_with, scalar};
use crate::axis::resolve;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::Combine;
use gradus_ir::{Aval, Class, DType, Error, Result, Shape};

/// The function by which [`Tensor::scatter_reduce`] combines values that arrive at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The sum.
    Sum,
    /// The product; zeros have exact derivatives.
    Prod,
    /// The mean; of integers, rounded down.
    Mean,
    /// The largest; ties share the derivative evenly.
    Amax,
    /// The smallest; ties share the derivative evenly.
    Amin,
}

impl Reduce {
    /// Returns PyTorch's name.
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Sum => "sum",
            Reduce::Prod => "prod",
            Reduce::Mean => "mean",
            Reduce::Amax => "amax",
            Reduce::Amin => "amin",
        }
    }

    /// Returns the neutral element.
    fn neutral(self, dtype: DType) -> f64 {
        match self {
            Reduce::Sum | Reduce::Mean => 0.0,
            Reduce::Prod => 1.0,
            Reduce::Amax => dtype.lowest(),
            // Saturates to the largest value of an integer dtype.
            Reduce::Amin => f64::INFINITY,
        }
    }
}

/// Returns the resolved axis, or an error if index and source do not fit.
fn check(x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<usize> {
    let (own, ids, from) = (x.shape(), index.shape(), source.shape());
    let a = resolve(axis, own.rank())?;
    if index.dtype().class() != Class::Int {
        return Err(Error::dtype(index.dtype(), "indices must be integers"));
    }
    let ranks = ids.rank() == own.rank() && from.rank() == own.rank();
    if !ranks || (0..own.rank()).any(|i| ids[i] > from[i] || i != a && ids[i] > own[i]) {
        let why = format!(
            "must have rank {}, and extents no larger than those of the source {from} and, except on axis {a}, of {own}",
            own.rank()
        );
        return Err(Error::shape(format!("an index of shape {ids}"), why));
    }
    Ok(a)
}

/// Multiplies the updates of each element; 1 where there are none. Compares every index of the axis with
/// every update, so that the product is one reduction, whose derivative needs no division.
#[track_caller]
fn products(own: &Shape, axis: usize, index: &Tensor, source: &Tensor) -> Tensor {
    let a = axis as isize;
    let (ids, updates) = (index.movedim(a, -1).unsqueeze(-2), source.movedim(a, -1).unsqueeze(-2));
    let positions = Tensor::iota(DType::I64, [own[axis], 1], 0);
    let from_end = ids.lt(0).select(&(&ids + own[axis] as i64), &ids);
    let one = scalar(source.dtype(), 1.0);
    let part = from_end.eq(&positions).select(&updates, &one).prod(-1).movedim(-1, a);
    let high: Vec<i64> = own.iter().zip(part.shape().iter()).map(|(&n, &m)| n as i64 - m as i64).collect();
    pad_with(&part, &vec![0; high.len()], &high, 1.0)
}

impl Tensor {
    /// Combines `source` into `self[index[i, j], j]` (for axis 0). With `include_self` the old value takes
    /// part; without it, the old value remains only where nothing arrives. The index may be smaller than the
    /// source.
    #[track_caller]
    pub fn scatter_reduce(
        &self,
        axis: isize,
        index: &Tensor,
        source: &Tensor,
        reduce: Reduce,
        include_self: bool,
    ) -> Tensor {
        let ins = [self, index, source];
        if let Some(failed) = failed(&ins) {
            return failed;
        }
        let a = match check(self, axis, index, source) {
            Ok(a) => a,
            Err(e) => return Tensor::refuse("scatter_reduce", &ins, e),
        };
        let args =
            vec![arg("axis", a), arg("reduce", reduce.name().to_string()), arg("include_self", include_self)];
        region1("scatter_reduce", args, &ins, |x| {
            let (index, source, axis) = (x[1].to_dtype(DType::I64), x[2].to_dtype(x[0].dtype()), a as isize);
            let x = &x[0];
            let (shape, dtype, ids) = (x.shape(), x.dtype(), index.shape());
            // Crops the source to the extents of the index.
            let fit = |t: Tensor, (i, &n): (usize, &usize)| t.narrow(i as isize, 0, n);
            let source = ids.iter().enumerate().fold(source, fit);
            let zeros = Tensor::zeros_of(&Aval::new(DType::I64, &shape));
            let ones = Tensor::full_of(&Aval::new(DType::I64, &ids), 1.0);
            let count = || zeros.scatter_add(axis, &index, &ones);
            let base = match include_self {
                true => x.clone(),
                false => count().gt(0).select(&scalar(dtype, reduce.neutral(dtype)), x),
            };
            let scattered = |how| base.scatter_with(axis, &index, &source, Some(how));
            match reduce {
                Reduce::Sum => scattered(Combine::Sum),
                Reduce::Amax => scattered(Combine::Max),
                Reduce::Amin => scattered(Combine::Min),
                Reduce::Prod => {
                    let all = base * products(&shape, a, &index, &source).to_dtype(dtype);
                    count().gt(0).select(&all, x)
                }
                Reduce::Mean => {
                    let total = scattered(Combine::Sum);
                    let count = if include_self { count() + 1 } else { count().maximum(1) };
                    let count = count.to_dtype(dtype);
                    if dtype.is_differentiable() { total / &count } else { total.floor_div(&count) }
                }
            }
        })
    }

    /// Gathers elements at positions in row-major order; the result has the shape of the index.
    #[track_caller]
    pub fn take(&self, index: &Tensor) -> Tensor {
        if let Some(failed) = failed(&[self, index]) { failed } else { self.ravel().index_select(0, index) }
    }

    /// Gathers one element per index along an axis, as [`gather`](Tensor::gather), but broadcasts this tensor
    /// and the index on the other axes. Without an axis, indices count elements in row-major order.
    #[track_caller]
    pub fn take_along_dim(&self, index: &Tensor, axis: Option<isize>) -> Tensor {
        if let Some(failed) = failed(&[self, index]) {
            return failed;
        }
        let Some(axis) = axis else { return self.take(&index.ravel()) };
        let plan = || {
            let (own, ids) = (self.shape(), index.shape());
            let a = resolve(axis, own.rank())?;
            let both = (ids.rank() == own.rank()).then(|| own.with(a, 1).broadcast(&ids.with(a, 1)));
            let Some(Some(both)) = both else {
                let why = format!("does not broadcast with {own} on the axes other than {a}");
                return Err(Error::shape(format!("an index of shape {ids}"), why));
            };
            Ok((a, both.with(a, own[a]), both.with(a, ids[a])))
        };
        match plan() {
            Ok((a, own, ids)) => self.expand_to(&own).gather(a as isize, &index.expand_to(&ids)),
            Err(e) => Tensor::refuse("take_along_dim", &[self, index], e),
        }
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    let ways = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];
    for (reduce, include_self) in ways.into_iter().flat_map(|r| [(r, true), (r, false)]) {
        for (own, ids, from, axis) in [
            (&[2, 4][..], &[2, 3][..], &[2, 3][..], 1),
            (&[3, 3], &[4, 2], &[5, 3], 0),
            (&[2], &[0], &[3], 0),
        ] {
            let both = s.draw.distinct([24]);
            let (own, from) = (cut(s, &both, own, 0), cut(s, &both, from, 9));
            let ids = s.draw.ints((0, own.shape()[axis] as i64), ids);
            s.case("scatter_reduce", [own, ids, from], move |x| {
                x[0].scatter_reduce(axis as isize, &x[1], &x[2], reduce, include_self)
            });
        }
        let x = s.draw.floats([3], &[0.0, 2.0, 1.0]);
        let (ids, from) = (s.draw.ints((0, 2), [4]), s.draw.floats([4], &[0.0, 2.0, 0.0, 2.0]));
        let f = move |x: &[Tensor]| x[0].scatter_reduce(0, &x[1], &x[2], reduce, include_self);
        s.kink("scatter_reduce", [x, ids, from], f);
    }
    let (x, ids) = (s.draw.normal([2, 3]), s.draw.ints((-6, 6), [2, 2, 1]));
    s.case("take", [x.clone(), ids], |x| x[0].take(&x[1]));
    for ids in [[2, 4], [1, 2], [2, 0]] {
        let ids = s.draw.ints((0, 3), ids);
        s.case("take_along_dim", [x.clone(), ids], |x| x[0].take_along_dim(&x[1], Some(1)));
    }
    let ids = s.draw.ints((0, 6), [4]);
    s.case("take_along_dim", [x, ids], |x| x[0].take_along_dim(&x[1], None));
}

/// Takes numbers from index `start` on, as many as the shape has elements, with that shape.
fn cut(
    s: &mut super::Samples,
    from: &gradus_ir::Literal,
    shape: &[usize],
    start: usize,
) -> gradus_ir::Literal {
    let count = shape.iter().product();
    let data: Vec<f64> = from.f().iter().skip(start).take(count).copied().collect();
    s.draw.floats(shape, &data)
}
