//! Views, padding and concatenation: every result element is an operand element, or zero.
//! Takes literals and an index map, padding or axis; returns the data of the result.

use super::strides::{Offsets, strides};
use crate::literal::Data;
use crate::ops::IndexMap;
use crate::{Aval, C, Class, Error, Literal, Result, Shape};
use std::sync::Arc;

/// Takes the elements at these offsets; zero for offsets out of range.
pub(super) fn pick(data: &Data, at: impl Iterator<Item = i64>) -> Data {
    fn go<T: Copy + Default>(v: &[T], at: impl Iterator<Item = i64>) -> Vec<T> {
        at.map(|i| usize::try_from(i).ok().and_then(|i| v.get(i)).copied().unwrap_or_default()).collect()
    }
    match data {
        Data::F(v) => go(v, at).into(),
        Data::C(v) => go(v, at).into(),
        Data::I(v) => go(v, at).into(),
    }
}

/// Returns an error if a map reads outside the operand or does not fit the ranks, which is an error of the op.
fn check_map(map: &IndexMap, from: &Shape, to: &Shape) -> Result<()> {
    let reads = |a: usize| {
        let (mut low, mut high) = (map.offset[a], map.offset[a]);
        for (step, &extent) in map.steps.iter().zip(to.iter()) {
            if let Some((axis, step)) = step
                && *axis == a
            {
                let reach = step * (extent as i64 - 1);
                (low, high) = (low + reach.min(0), high + reach.max(0));
            }
        }
        low >= 0 && high < from[a] as i64
    };
    let ranks = map.offset.len() == from.rank() && map.steps.len() == to.rank();
    let axes = map.steps.iter().flatten().all(|(axis, _)| *axis < from.rank());
    if ranks && axes && (to.contains(&0) || (0..from.rank()).all(reads)) {
        return Ok(());
    }
    Err(Error::verify(format!("{map:?} does not map indices of {to} into {from}")))
}

pub(super) fn view(x: &Literal, map: &IndexMap, shape: &Shape) -> Result<Data> {
    check_map(map, x.shape(), shape)?;
    let own = strides(x.shape());
    let base = map.offset.iter().zip(&own).map(|(o, s)| o * s).sum();
    let steps: Vec<i64> = map.steps.iter().map(|s| s.map_or(0, |(axis, step)| step * own[axis])).collect();
    Ok(pick(x.data(), Offsets::new(shape, &steps, base)))
}

/// Moves element `i` of the operand to `low + i·(interior + 1)`, if that index is inside.
pub(super) fn pad(x: &Literal, low: &[i64], interior: &[usize], shape: &Shape) -> Data {
    let own = strides(x.shape());
    let source = |index: &[usize]| {
        let mut at = 0;
        for a in 0..index.len() {
            let (from, step) = (index[a] as i64 - low[a], interior[a] as i64 + 1);
            if from < 0 || from % step != 0 || from / step >= x.shape()[a] as i64 {
                return -1;
            }
            at += from / step * own[a];
        }
        at
    };
    let mut index = vec![0; shape.rank()];
    let next = |_| {
        let at = source(&index);
        for a in (0..index.len()).rev() {
            index[a] += 1;
            if index[a] < shape[a] {
                break;
            }
            index[a] = 0;
        }
        at
    };
    pick(x.data(), (0..shape.numel()).map(next))
}

pub(super) fn concat(ins: &[Literal], axis: usize, out: &Aval) -> Result<Data> {
    fn go<T: Copy>(parts: &[&[T]], widths: &[usize], rows: usize) -> Vec<T> {
        let mut all = Vec::new();
        for row in 0..rows {
            parts.iter().zip(widths).for_each(|(p, w)| all.extend_from_slice(&p[row * w..(row + 1) * w]));
        }
        all
    }
    let rows: usize = out.shape[..axis].iter().product();
    let widths: Vec<usize> = ins.iter().map(|l| l.shape()[axis..].iter().product()).collect();
    Ok(match out.dtype.class() {
        Class::Float => go(&ins.iter().map(Literal::f).collect::<Vec<_>>(), &widths, rows).into(),
        Class::Complex => go(&ins.iter().map(Literal::c).collect::<Vec<_>>(), &widths, rows).into(),
        _ => go(&ins.iter().map(Literal::i).collect::<Vec<_>>(), &widths, rows).into(),
    })
}

pub(super) fn iota(out: &Aval, axis: usize) -> Data {
    let mut steps = vec![0; out.rank()];
    steps[axis] = 1;
    let values = Offsets::new(&out.shape, &steps, 0);
    match out.dtype.class() {
        Class::Float => values.map(|i| i as f64).collect::<Vec<_>>().into(),
        Class::Complex => values.map(|i| C::new(i as f64, 0.0)).collect::<Vec<_>>().into(),
        _ => values.collect::<Vec<_>>().into(),
    }
}

/// Overwrites elements by others of the same class, from index `at` on.
pub(super) fn put(data: &mut Data, at: usize, part: &Data) {
    fn go<T: Copy>(v: &mut [T], at: usize, part: &[T]) {
        if let Some(target) = v.get_mut(at..at + part.len()) {
            target.copy_from_slice(part);
        }
    }
    match (data, part) {
        (Data::F(v), Data::F(p)) => go(&mut Arc::make_mut(v)[..], at, p),
        (Data::C(v), Data::C(p)) => go(&mut Arc::make_mut(v)[..], at, p),
        (Data::I(v), Data::I(p)) => go(&mut Arc::make_mut(v)[..], at, p),
        _ => {} // Types are checked where graphs are built.
    }
}

pub(super) fn zeros(out: &Aval) -> Data {
    let n = out.shape.numel();
    match out.dtype.class() {
        Class::Float => vec![0.0; n].into(),
        Class::Complex => vec![C::ZERO; n].into(),
        _ => vec![0i64; n].into(),
    }
}
