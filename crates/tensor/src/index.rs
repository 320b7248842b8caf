//! Indexing: integers, ranges with steps, new axes, masks and integer tensors; reading and assigning.

use crate::apply::apply1;
use crate::arg::{Arg, unify};
use crate::axis::resolve;
use crate::tensor::Tensor;
use gradus_ir::ops::Combine;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::movement::{Flip, Slice};
use gradus_ir::{Class, DType, Error, Kind, Result, Shape};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What stands at one place of an index.
#[derive(Clone)]
pub enum Ix {
    /// One element; the axis disappears. Negative counts from the end.
    At(isize),
    /// A range with a step; missing ends reach as far as there is, negative ends count from the end.
    Range(Option<isize>, Option<isize>, isize),
    /// A new axis of extent 1.
    New,
    /// As many whole axes as are left.
    Rest,
    /// Where this mask holds (eager only: the extent depends on the data).
    Mask(Tensor),
    /// At these integers.
    Ids(Tensor),
}

/// A range with a step: `step(.., -1)` is backwards.
pub fn step(range: impl Into<Ix>, by: isize) -> Ix {
    match range.into() {
        Ix::Range(a, b, _) => Ix::Range(a, b, by),
        other => other,
    }
}

/// A new axis in an index.
pub const NEW: Ix = Ix::New;
/// All remaining axes in an index.
pub const REST: Ix = Ix::Rest;

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl From<$t> for Ix {
            fn from(i: $t) -> Ix { Ix::At(i as isize) }
        }
        impl From<Range<$t>> for Ix {
            fn from(r: Range<$t>) -> Ix { Ix::Range(Some(r.start as isize), Some(r.end as isize), 1) }
        }
        impl From<RangeFrom<$t>> for Ix {
            fn from(r: RangeFrom<$t>) -> Ix { Ix::Range(Some(r.start as isize), None, 1) }
        }
        impl From<RangeTo<$t>> for Ix {
            fn from(r: RangeTo<$t>) -> Ix { Ix::Range(None, Some(r.end as isize), 1) }
        }
        impl From<RangeInclusive<$t>> for Ix {
            fn from(r: RangeInclusive<$t>) -> Ix { Ix::through(Some(*r.start() as isize), *r.end() as isize) }
        }
        impl From<RangeToInclusive<$t>> for Ix {
            fn from(r: RangeToInclusive<$t>) -> Ix { Ix::through(None, r.end as isize) }
        }
    )*};
}
integers!(isize, usize, i32, i64);

impl Ix {
    /// Up to and with `last`; -1 is the last element, so nothing bounds it from above.
    fn through(first: Option<isize>, last: isize) -> Ix {
        Ix::Range(first, if last == -1 { None } else { Some(last.saturating_add(1)) }, 1)
    }
}

impl From<RangeFull> for Ix {
    fn from(_: RangeFull) -> Ix {
        Ix::Range(None, None, 1)
    }
}

impl From<&Tensor> for Ix {
    fn from(t: &Tensor) -> Ix {
        if t.dtype() == DType::Bool { Ix::Mask(t.clone()) } else { Ix::Ids(t.clone()) }
    }
}

/// A whole index: one place, or a tuple of places.
pub trait Index {
    /// As a list.
    fn places(self) -> Vec<Ix>;
}

impl<T: Into<Ix>> Index for T {
    fn places(self) -> Vec<Ix> {
        vec![self.into()]
    }
}

impl Index for Vec<Ix> {
    fn places(self) -> Vec<Ix> {
        self
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),+))*) => {$(
        impl<$($t: Into<Ix>),+> Index for ($($t,)+) {
            fn places(self) -> Vec<Ix> { vec![$(self.$i.into()),+] }
        }
    )*};
}
tuples! { (A 0) (A 0, B 1) (A 0, B 1, D 2) (A 0, B 1, D 2, E 3) (A 0, B 1, D 2, E 3, F 4) (A 0, B 1, D 2, E 3, F 4, G 5) }

fn wrapped(i: isize, extent: usize) -> isize {
    if i < 0 { i + extent as isize } else { i }
}

/// First index, index behind the last (going up), step and whether to go backwards.
fn bounds(
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    n: usize,
) -> Result<(usize, usize, usize, bool)> {
    if step == 0 {
        return Err(Error::value("step", "must not be 0"));
    }
    let clamp = |i: isize, low: isize, high: isize| wrapped(i, n).clamp(low, high);
    let last = n as isize - 1;
    let by = step.unsigned_abs();
    if step > 0 {
        let a = start.map_or(0, |i| clamp(i, 0, n as isize)) as usize;
        let b = stop.map_or(n, |i| clamp(i, 0, n as isize) as usize).max(a);
        return Ok((a, b, by, false));
    }
    // Backwards from `a` down to before `b`: the same elements upwards, then flipped.
    let a = start.map_or(last, |i| clamp(i, -1, last));
    let b = stop.map_or(-1, |i| clamp(i, -1, last));
    let count = if a > b { (a - b) as usize } else { 0 }.div_ceil(by);
    if count == 0 {
        return Ok((0, 0, 1, false));
    }
    Ok(((a - (count as isize - 1) * by as isize) as usize, a as usize + 1, by, true))
}

/// Expands `Rest`, turns masks into integers, and checks that there are not too many places.
fn complete(places: Vec<Ix>, shape: &Shape) -> Result<Vec<Ix>> {
    let takes = |ix: &Ix| match ix {
        Ix::New | Ix::Rest => 0,
        Ix::Mask(m) => m.rank(),
        _ => 1,
    };
    let used: usize = places.iter().map(takes).sum();
    let rests = places.iter().filter(|p| matches!(p, Ix::Rest)).count();
    let Some(left) = shape.rank().checked_sub(used).filter(|_| rests <= 1) else {
        let why = format!("has {used} places for {} axes (and at most one REST)", shape.rank());
        return Err(Error::shape("the index", why));
    };
    let whole = || std::iter::repeat_n(Ix::Range(None, None, 1), left);
    let mut out = Vec::new();
    for place in places {
        match place {
            Ix::Rest => out.extend(whole()),
            Ix::Mask(m) => {
                let axis = out.iter().filter(|p| !matches!(p, Ix::New)).count();
                if m.shape()[..] != shape[axis..(axis + m.rank()).min(shape.rank())] {
                    let why = format!("must have the extents {} has from axis {axis} on", shape);
                    return Err(Error::shape(format!("mask {}", m.shape()), why));
                }
                let at = m.nonzero();
                at.check()?;
                out.extend((0..m.rank()).map(|a| Ix::Ids(at.narrow(1, a, 1).squeeze(1))));
            }
            other => out.push(other),
        }
    }
    if rests == 0 {
        out.extend(whole());
    }
    Ok(out)
}

/// Integers, ranges and new axes as views; gives what integer tensors are left, with their axes.
#[track_caller]
fn basic(t: &Tensor, places: Vec<Ix>) -> Result<(Tensor, Vec<(usize, Tensor)>)> {
    let shape = t.shape();
    let rank = shape.rank();
    let mut slice = Slice { start: vec![0; rank], stop: shape.to_vec(), step: vec![1; rank] };
    let (mut flips, mut dims, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut axis = 0;
    for place in places {
        let new = matches!(place, Ix::New);
        match place {
            Ix::At(i) => {
                let n = shape[axis];
                let at = wrapped(i, n);
                if at < 0 || at >= n as isize {
                    return Err(Error::new(Kind::Index { index: i as i64, extent: n }));
                }
                (slice.start[axis], slice.stop[axis]) = (at as usize, at as usize + 1);
            }
            Ix::Range(a, b, by) => {
                let (start, stop, step, backwards) = bounds(a, b, by, shape[axis])?;
                (slice.start[axis], slice.stop[axis], slice.step[axis]) = (start, stop, step);
                if backwards {
                    flips.push(axis);
                }
                dims.push((stop - start).div_ceil(step));
            }
            Ix::New => dims.push(1),
            Ix::Ids(t) => {
                ids.push((dims.len(), t));
                dims.push(shape[axis]);
            }
            Ix::Rest | Ix::Mask(_) => return Err(Error::verify("an index was not completed")),
        }
        axis += !new as usize;
    }
    let whole = slice.start.iter().all(|&s| s == 0)
        && slice.stop[..] == shape[..]
        && slice.step.iter().all(|&s| s == 1);
    let mut view = if whole { t.clone() } else { apply1(slice, &[t]) };
    if !flips.is_empty() {
        view = apply1(Flip { axes: flips }, &[&view]);
    }
    Ok((view.reshape(dims), ids))
}

/// Slices at integer tensors, which broadcast together. Their axes stand where the first was if all were
/// neighbours, else in front.
#[track_caller]
fn advanced(t: Tensor, ids: Vec<(usize, Tensor)>) -> Result<Tensor> {
    let shape = t.shape();
    let mut index: Vec<(usize, Tensor)> = Vec::new();
    for (axis, ids) in ids {
        index.push((axis, ids.wrapped_ids(shape[axis])?));
    }
    if let [(axis, ids)] = &index[..] {
        return Ok(apply1(Take { axis: *axis }, &[&t, ids]));
    }
    let axes: Vec<usize> = index.iter().map(|(a, _)| *a).collect();
    let rest: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
    let order: Vec<isize> = axes.iter().chain(&rest).map(|&a| a as isize).collect();
    let merged: usize = axes.iter().map(|&a| shape[a]).product();
    let dims: Vec<usize> = [merged].into_iter().chain(rest.iter().map(|&a| shape[a])).collect();
    // Row-major position within the merged axes.
    let mut position = index[0].1.clone();
    for (axis, ids) in &index[1..] {
        position = position * shape[*axis] as i64 + ids;
    }
    let taken = apply1(Take { axis: 0 }, &[&t.permute(order).reshape(dims), position.check()?]);
    let neighbours = axes.windows(2).all(|w| w[0] + 1 == w[1]);
    if !neighbours || axes[0] == 0 {
        return Ok(taken);
    }
    let (n, before) = (position.rank(), axes[0]);
    let back =
        (n..n + before).chain(0..n).chain(n + before..taken.rank()).map(|a| a as isize).collect::<Vec<_>>();
    Ok(taken.permute(back))
}

impl Tensor {
    /// Integers with negative ones counted from the end, as `i64`.
    fn wrapped_ids(&self, extent: usize) -> Result<Tensor> {
        if self.check()?.dtype().class() != Class::Int {
            return Err(Error::dtype(self.dtype(), "indices are integers (or a bool mask)"));
        }
        let ids = self.to_dtype(DType::I64);
        let from_end = &ids + extent as i64;
        Ok(ids.lt(0).select(&from_end, &ids))
    }

    /// The part at an index: `x.at(3)`, `x.at((.., 1..-1))`, `x.at((REST, step(.., -1)))`, `x.at(&mask)`,
    /// `table.at(&ids)` with ids of any rank, `x.at((&rows, &columns))`. Integers and ranges are views.
    #[track_caller]
    pub fn at(&self, index: impl Index) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let places = index.places();
        if let Some(failed) = places.iter().find_map(|p| match p {
            Ix::Mask(t) | Ix::Ids(t) if t.error().is_some() => Some(t.clone()),
            _ => None,
        }) {
            return failed;
        }
        let read = || {
            let (view, ids) = basic(self, complete(places, &self.shape())?)?;
            if ids.is_empty() { Ok(view) } else { advanced(view, ids) }
        };
        match read() {
            Ok(t) => t,
            Err(e) => Tensor::refuse("index", &[self], e),
        }
    }

    /// With the part at an index replaced; the value broadcasts. Works on every tensor and gives a new one;
    /// [`assign_`](Tensor::assign_) swaps a cell's value.
    #[track_caller]
    pub fn with_at<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let shape = self.shape();
        let positions = Tensor::iota(DType::I64, [shape.numel()], 0).reshape(&shape).at(index);
        let value = match value.into() {
            Arg::Tensor(t) => t.to_dtype(self.dtype()),
            Arg::Number(n) => Tensor::from_literal(&n.literal(self.dtype())),
        };
        if positions.error().is_some() {
            return positions;
        }
        let updates = value.expand_to(&positions.shape());
        let scatter = Scatter { axis: 0, combine: None };
        apply1(scatter, &[&self.reshape([-1]), &positions.reshape([-1]), &updates.reshape([-1])])
            .reshape(&shape)
    }

    /// Replaces the part of a cell at an index.
    #[track_caller]
    pub fn assign_<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Result<()> {
        let new = self.data_().with_at(index, value).detach();
        self.set_(new.check()?)
    }

    /// `len` elements of an axis from `start`.
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Tensor {
        let shape = self.shape();
        match resolve(axis, shape.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axis) => {
                let mut slice =
                    Slice { start: vec![0; shape.rank()], stop: shape.to_vec(), step: vec![1; shape.rank()] };
                (slice.start[axis], slice.stop[axis]) = (start, start.saturating_add(len));
                apply1(slice, &[self])
            }
            Err(e) => Tensor::refuse("narrow", &[self], e),
        }
    }

    /// Positions of the non-zero elements, one row each (eager only: how many depends on the data).
    #[track_caller]
    pub fn nonzero(&self) -> Tensor {
        let find = || {
            let flags = match self.to_dtype(DType::Bool).to_vec::<bool>() {
                Err(e) if self.is_traced() => {
                    let why = "the extent of a mask or `nonzero` depends on the data, so it cannot be traced; use `select`";
                    return Err(if e.place().is_some() { Error::trace(why) } else { e });
                }
                flags => flags?,
            };
            let (shape, strides) = (self.shape(), self.shape().strides());
            let hits = flags.iter().enumerate().filter(|(_, f)| **f).map(|(i, _)| i);
            let rows: Vec<i64> = hits
                .flat_map(|i| {
                    (0..shape.rank()).map(|a| ((i / strides[a]) % shape[a]) as i64).collect::<Vec<_>>()
                })
                .collect();
            let count = flags.iter().filter(|f| **f).count();
            Ok(Tensor::from_slice(&rows, [count, shape.rank()]))
        };
        match find() {
            Ok(t) => t,
            Err(e) => Tensor::refuse("nonzero", &[self], e),
        }
    }

    /// Slices along an axis at integers.
    #[track_caller]
    pub fn index_select(&self, axis: isize, ids: &Tensor) -> Tensor {
        self.indexed("index_select", axis, ids, None, |axis, ids| apply1(Take { axis }, &[self, &ids]))
    }

    /// One element per index along an axis: `out[i, j] = self[index[i, j], j]` for axis 0. The index may be smaller
    /// than this tensor on the other axes.
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        self.indexed("gather", axis, index, None, |axis, ids| {
            let at = flat_positions(&self.shape(), axis, &ids);
            apply1(Take { axis: 0 }, &[&self.reshape([-1]), &at])
        })
    }

    /// With `source` combined in at `self[index[i, j], j]` for axis 0; `None` replaces, the last one winning.
    #[track_caller]
    pub fn scatter_with(
        &self,
        axis: isize,
        index: &Tensor,
        source: &Tensor,
        combine: Option<Combine>,
    ) -> Tensor {
        self.indexed("scatter", axis, index, Some(source), |axis, ids| {
            let at = flat_positions(&self.shape(), axis, &ids);
            let own = source.to_dtype(self.dtype());
            let fits: Vec<(isize, isize, isize)> = ids.shape().iter().map(|&d| (0, d as isize, 1)).collect();
            let places: Vec<Ix> = fits.into_iter().map(|(a, b, s)| Ix::Range(Some(a), Some(b), s)).collect();
            let updates = if own.shape() == ids.shape() { own } else { own.at(places) };
            let flat = apply1(
                Scatter { axis: 0, combine },
                &[&self.reshape([-1]), &at.reshape([-1]), &updates.reshape([-1])],
            );
            flat.reshape(self.shape())
        })
    }

    /// With `source` written at indices along an axis.
    #[track_caller]
    pub fn scatter(&self, axis: isize, index: &Tensor, source: &Tensor) -> Tensor {
        self.scatter_with(axis, index, source, None)
    }

    /// With `source` added at indices along an axis.
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, source: &Tensor) -> Tensor {
        self.scatter_with(axis, index, source, Some(Combine::Sum))
    }

    /// With slices of `source` added at integers along an axis.
    #[track_caller]
    pub fn index_add(&self, axis: isize, ids: &Tensor, source: &Tensor) -> Tensor {
        self.indexed("index_add", axis, ids, Some(source), |axis, ids| {
            apply1(
                Scatter { axis, combine: Some(Combine::Sum) },
                &[self, &ids, &source.to_dtype(self.dtype())],
            )
        })
    }

    /// With slices of `source` written at integers along an axis.
    #[track_caller]
    pub fn index_copy(&self, axis: isize, ids: &Tensor, source: &Tensor) -> Tensor {
        self.indexed("index_copy", axis, ids, Some(source), |axis, ids| {
            apply1(Scatter { axis, combine: None }, &[self, &ids, &source.to_dtype(self.dtype())])
        })
    }

    /// `value` where the mask holds, this tensor elsewhere.
    #[track_caller]
    pub fn masked_fill<'a>(&self, mask: &Tensor, value: impl Into<Arg<'a>>) -> Tensor {
        match unify("masked_fill", self, value.into()) {
            Ok((own, value)) => mask.select(&value, &own),
            Err(failed) => failed,
        }
    }

    /// The elements where the mask holds, as a vector (eager only).
    #[track_caller]
    pub fn masked_select(&self, mask: &Tensor) -> Tensor {
        match self.shape().broadcast(&mask.shape()) {
            Some(shape) => self.expand_to(&shape).at(&mask.expand_to(&shape)),
            None => {
                let what = format!("extents {} and {}", self.shape(), mask.shape());
                Tensor::refuse("masked_select", &[self, mask], Error::shape(what, "do not broadcast"))
            }
        }
    }

    #[track_caller]
    fn indexed(
        &self,
        name: &str,
        axis: isize,
        ids: &Tensor,
        source: Option<&Tensor>,
        f: impl FnOnce(usize, Tensor) -> Tensor,
    ) -> Tensor {
        for t in [self, ids].into_iter().chain(source) {
            if t.error().is_some() {
                return t.clone();
            }
        }
        let both = resolve(axis, self.rank()).and_then(|a| Ok((a, ids.wrapped_ids(self.shape()[a])?)));
        match both {
            Ok((axis, ids)) => f(axis, ids).made_by(name),
            Err(e) => Tensor::refuse(name, &[self, ids], e),
        }
    }
}

/// Row-major positions in a tensor of `shape` of elements indexed along `axis`.
#[track_caller]
fn flat_positions(shape: &Shape, axis: usize, ids: &Tensor) -> Tensor {
    let (own, strides) = (ids.shape(), shape.strides());
    if own.rank() != shape.rank() || (0..own.rank()).any(|a| a != axis && own[a] > shape[a]) {
        let why = format!("must have the rank of {shape} and be no larger off axis {axis}");
        return Tensor::refuse("gather", &[ids], Error::shape(format!("an index of shape {own}"), why));
    }
    let along = |a: usize| if a == axis { ids.clone() } else { ids.iota_beside(DType::I64, &own, a) };
    let at = (0..own.rank()).map(|a| along(a) * strides[a] as i64).reduce(|x, y| x + y);
    // An index outside of its row must not reach into another one: it stays outside of the whole.
    let numel = shape.numel() as i64;
    let fitting = |at: Tensor| ids.ge(shape[axis] as i64).select(&ids.maximum(numel), &at);
    at.map_or_else(|| ids.clone(), |at| ids.lt(0).select(&(ids - numel), &fitting(at)))
}
