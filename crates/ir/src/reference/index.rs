//! Reading and writing at computed indices, and sorting.

use super::combine::{Combined, vectors_along};
use super::movement::pick;
use crate::literal::Data;
use crate::ops::Combine;
use crate::{Error, Literal, Result};
use std::cmp::Ordering;

/// Returns the product of extents before the axis, the extent of the axis, and the product of extents after it.
fn split_extents(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

fn checked(index: &Literal, extent: usize) -> Result<&[i64]> {
    match index.i().iter().find(|&&i| i < 0 || i >= extent as i64) {
        Some(&index) => Err(Error::index(index, extent)),
        None => Ok(index.i()),
    }
}

pub(super) fn take(x: &Literal, index: &Literal, axis: usize) -> Result<Data> {
    let (rows, n, width) = split_extents(x.shape(), axis);
    let index = checked(index, n)?;
    let at = (0..rows)
        .flat_map(|r| index.iter().map(move |&i| (r * n + i as usize) * width))
        .flat_map(|start| (start as i64)..(start + width) as i64);
    Ok(pick(x.data(), at))
}

fn write<T: Combined>(base: &[T], updates: &[T], at: &[usize], combine: Option<Combine>) -> Vec<T> {
    let mut out = base.to_vec();
    for (u, &i) in updates.iter().zip(at) {
        out[i] = combine.map_or(*u, |c| T::combine(c, out[i], *u));
    }
    out
}

pub(super) fn scatter(ins: &[Literal], axis: usize, combine: Option<Combine>) -> Result<Data> {
    let (base, updates) = (&ins[0], &ins[2]);
    let (rows, n, width) = split_extents(base.shape(), axis);
    let index = checked(&ins[1], n)?;
    let at: Vec<usize> = (0..rows)
        .flat_map(|r| index.iter().map(move |&i| (r * n + i as usize) * width))
        .flat_map(|start| start..start + width)
        .collect();
    Ok(match (base.data(), updates.data()) {
        (Data::F(b), Data::F(u)) => write(b, u, &at, combine).into(),
        (Data::C(b), Data::C(u)) => write(b, u, &at, combine).into(),
        _ => write(base.i(), updates.i(), &at, combine).into(),
    })
}

pub(super) fn sort(x: &Literal, axis: usize, descending: bool, first: Option<usize>) -> Vec<Data> {
    let (starts, n, step) = vectors_along(x.shape(), axis);
    // NaN is equal to NaN and greater than every number; 0 and -0 are equal.
    let float = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let order = |a: usize, b: usize| -> Ordering {
        let o = if let Data::F(v) = x.data() { float(v[a], v[b]) } else { x.i()[a].cmp(&x.i()[b]) };
        if descending { o.reverse() } else { o }
    };
    let mut shape = x.shape().to_vec();
    shape[axis] = first.unwrap_or(n);
    let numel: usize = shape.iter().product();
    let (mut from, mut positions) = (vec![0i64; numel], vec![0i64; numel]);
    for (start, to) in starts.into_iter().zip(vectors_along(&shape, axis).0) {
        let at = |k: usize| (start + k as i64 * step) as usize;
        let mut line: Vec<usize> = (0..n).collect();
        line.sort_by(|&a, &b| order(at(a), at(b)));
        for (k, &p) in line[..shape[axis]].iter().enumerate() {
            let to = (to + k as i64 * step) as usize;
            from[to] = at(p) as i64;
            positions[to] = p as i64;
        }
    }
    vec![pick(x.data(), from.into_iter()), positions.into()]
}
