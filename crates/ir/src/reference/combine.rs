//! Reductions and running combinations.
//! Takes a literal and a [`Combine`]; returns the data of the result. The caller rounds results of narrow dtypes.

use super::strides::{Offsets, strides};
use crate::literal::Data;
use crate::ops::Combine;
use crate::{C, DType, Literal, special};

/// Carrier types whose elements can be combined.
pub trait Combined: Copy + Default {
    /// Returns the identity of a combination.
    fn identity(combine: Combine, dtype: DType) -> Self;
    /// Combines two elements.
    fn combine(combine: Combine, a: Self, b: Self) -> Self;
}

impl Combined for f64 {
    fn identity(combine: Combine, _: DType) -> f64 {
        match combine {
            Combine::Sum => 0.0,
            Combine::Prod => 1.0,
            Combine::Min => f64::INFINITY,
            Combine::Max | Combine::LogSumExp => f64::NEG_INFINITY,
        }
    }
    #[inline]
    fn combine(combine: Combine, a: f64, b: f64) -> f64 {
        match combine {
            Combine::Sum => a + b,
            Combine::Prod => a * b,
            Combine::Max if b > a || b.is_nan() => b,
            Combine::Min if b < a || b.is_nan() => b,
            Combine::Max | Combine::Min => a,
            Combine::LogSumExp => special::logaddexp(a, b),
        }
    }
}

impl Combined for i64 {
    fn identity(combine: Combine, dtype: DType) -> i64 {
        match combine {
            Combine::Prod => 1,
            Combine::Max => dtype.from_float(dtype.lowest()),
            Combine::Min if dtype == DType::Bool => 1,
            Combine::Min => dtype.from_float(f64::INFINITY),
            Combine::Sum | Combine::LogSumExp => 0,
        }
    }
    #[inline]
    fn combine(combine: Combine, a: i64, b: i64) -> i64 {
        match combine {
            Combine::Prod => a.wrapping_mul(b),
            Combine::Max => a.max(b),
            Combine::Min => a.min(b),
            Combine::Sum | Combine::LogSumExp => a.wrapping_add(b),
        }
    }
}

impl Combined for C {
    fn identity(combine: Combine, _: DType) -> C {
        if combine == Combine::Prod { C::ONE } else { C::ZERO }
    }
    #[inline]
    fn combine(combine: Combine, a: C, b: C) -> C {
        if combine == Combine::Prod { a * b } else { a + b }
    }
}

pub(super) fn reduce(x: &Literal, combine: Combine, axes: &[usize]) -> Data {
    let own = strides(x.shape());
    let reduced = crate::axis_mask(axes, own.len());
    let (inner, outer): (Vec<usize>, Vec<usize>) = (0..own.len()).partition(|a| reduced[*a]);
    let split =
        |axes: &[usize]| -> (Vec<usize>, Vec<i64>) { axes.iter().map(|&a| (x.shape()[a], own[a])).unzip() };
    let ((oe, os), (ie, is)) = (split(&outer), split(&inner));
    let inside: Vec<i64> = Offsets::new(&ie, &is, 0).collect();
    fn go<T: Combined>(v: &[T], c: Combine, d: DType, outside: Offsets<'_>, inside: &[i64]) -> Vec<T> {
        let one =
            |o: i64| inside.iter().fold(T::identity(c, d), |acc, i| T::combine(c, acc, v[(o + i) as usize]));
        outside.map(one).collect()
    }
    let outside = Offsets::new(&oe, &os, 0);
    match x.data() {
        Data::F(v) => go(v, combine, x.dtype(), outside, &inside).into(),
        Data::C(v) => go(v, combine, x.dtype(), outside, &inside).into(),
        Data::I(v) => go(v, combine, x.dtype(), outside, &inside).into(),
    }
}

/// Returns the start of every vector along an axis, in row-major order of the other axes, its length and its stride.
pub(super) fn vectors_along(shape: &[usize], axis: usize) -> (Vec<i64>, usize, i64) {
    let own = strides(shape);
    let (extents, steps): (Vec<usize>, Vec<i64>) =
        (0..shape.len()).filter(|&a| a != axis).map(|a| (shape[a], own[a])).unzip();
    (Offsets::new(&extents, &steps, 0).collect(), shape[axis], own[axis])
}

pub(super) fn arg_reduce(x: &Literal, largest: bool, axis: usize) -> Data {
    let (starts, n, step) = vectors_along(x.shape(), axis);
    // Strictly better than the best so far. The first NaN is better than every number, and nothing is better than
    // NaN.
    let better = |a: f64, b: f64| !b.is_nan() && (a.is_nan() || if largest { a > b } else { a < b });
    let beats = |a: usize, b: usize| match x.data() {
        Data::F(v) => better(v[a], v[b]),
        _ if largest => x.i()[a] > x.i()[b],
        _ => x.i()[a] < x.i()[b],
    };
    let at = |start: i64, k: usize| (start + k as i64 * step) as usize;
    let best = |start: i64| {
        (1..n).fold(0, |best, k| if beats(at(start, k), at(start, best)) { k } else { best }) as i64
    };
    starts.into_iter().map(best).collect::<Vec<i64>>().into()
}

pub(super) fn cumulate(x: &Literal, combine: Combine, axis: usize, reverse: bool) -> Data {
    let (starts, n, step) = vectors_along(x.shape(), axis);
    fn go<T: Combined>(
        v: &[T],
        c: Combine,
        d: DType,
        (starts, n, step): (Vec<i64>, usize, i64),
        reverse: bool,
    ) -> Vec<T> {
        let mut out = v.to_vec();
        for start in starts {
            let mut acc = T::identity(c, d);
            for k in 0..n {
                let k = if reverse { n - 1 - k } else { k };
                let at = (start + k as i64 * step) as usize;
                acc = T::combine(c, acc, v[at]);
                out[at] = acc;
            }
        }
        out
    }
    let walk = (starts, n, step);
    match x.data() {
        Data::F(v) => go(v, combine, x.dtype(), walk, reverse).into(),
        Data::C(v) => go(v, combine, x.dtype(), walk, reverse).into(),
        Data::I(v) => go(v, combine, x.dtype(), walk, reverse).into(),
    }
}
