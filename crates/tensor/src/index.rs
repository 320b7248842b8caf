//! Indexing: reading and assigning parts, gathering, scattering.

use crate::apply::apply1;
use crate::arg::{Arg, unify};
use crate::axis::resolve;
use crate::place::{Index, Ix, bounds, complete, wrapped};
use crate::tensor::Tensor;
use crate::trace;
use gradus_ir::ops::Combine;
use gradus_ir::ops::index::{Scatter, Take, astray};
use gradus_ir::ops::movement::{Flip, Slice};
use gradus_ir::{Class, DType, Error, Kind, Result, Shape};

/// Integers, ranges and new axes as views; gives what integer tensors are left, with their axes.
#[track_caller]
fn basic(t: &Tensor, places: Vec<Ix>) -> Result<(Tensor, Vec<(usize, Tensor)>)> {
    let shape = t.shape();
    let rank = shape.rank();
    let mut slice = Slice { start: vec![0; rank], stop: shape.to_vec(), step: vec![1; rank] };
    let (mut flips, mut dims, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut from = Vec::with_capacity(rank); // the axis that each result axis is of
    let mut axis = 0;
    for place in places {
        let new = matches!(place, Ix::New);
        match place {
            Ix::At(i) => {
                let n = shape[axis];
                let at = wrapped(i, n);
                if at < 0 || at >= n as isize {
                    return Err(Error::new(Kind::Index { index: i as i64, extent: n, from_end: true }));
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
                from.push(Some(axis));
            }
            Ix::New => {
                dims.push(1);
                from.push(None);
            }
            Ix::Ids(t) => {
                ids.push((dims.len(), t));
                dims.push(shape[axis]);
                from.push(Some(axis));
            }
            Ix::Rest | Ix::Mask(_) => return Err(Error::verify("an index was not completed")),
        }
        axis += !new as usize;
    }
    if let Some(view) = at_once(t, &slice, &flips, &dims, &from) {
        return Ok((view, ids));
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

/// The view of data that no gradient is recorded for, without an operation for it.
fn at_once(
    t: &Tensor,
    slice: &Slice,
    flips: &[usize],
    dims: &[usize],
    from: &[Option<usize>],
) -> Option<Tensor> {
    if t.requires_grad() && crate::tape::is_grad_enabled() {
        return None;
    }
    t.with_data(|d| {
        let own = d.strides();
        let mut offset =
            d.offset as i64 + slice.start.iter().zip(&own).map(|(&at, s)| at as i64 * s).sum::<i64>();
        let mut strides = Vec::with_capacity(dims.len());
        for (&n, axis) in dims.iter().zip(from) {
            let Some(a) = *axis else {
                strides.push(0);
                continue;
            };
            let step = slice.step[a] as i64 * own[a];
            let flipped = flips.contains(&a);
            if flipped {
                offset += (n as i64 - 1) * step;
            }
            strides.push(if flipped { -step } else { step });
        }
        // An empty view has no first element; any offset inside will do.
        let offset = if dims.contains(&0) { 0 } else { offset as usize };
        Some(Tensor::data(d.with_layout(&dims.iter().copied().collect(), strides, offset)))
    })
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
    for (axis, ids) in &index {
        ids.check()?;
        if index.iter().any(|(_, other)| ids.shape().broadcast(&other.shape()).is_none()) {
            let all: Vec<String> = index.iter().map(|(_, ids)| ids.shape().to_string()).collect();
            let what = format!("index tensors of extents {}", all.join(" and "));
            return Err(Error::shape(what, format!("do not broadcast together (axis {axis})")));
        }
    }
    if let [(axis, ids)] = &index[..] {
        return Ok(apply1(Take { axis: *axis }, &[&t, ids]));
    }
    let axes: Vec<usize> = index.iter().map(|(a, _)| *a).collect();
    let rest: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
    let order: Vec<isize> = axes.iter().chain(&rest).map(|&a| a as isize).collect();
    let merged: usize = axes.iter().map(|&a| shape[a]).product();
    let dims: Vec<usize> = [merged].into_iter().chain(rest.iter().map(|&a| shape[a])).collect();
    // Row-major position within the merged axes; outside of one axis is outside of all.
    let mut position = index[0].1.clone();
    for (axis, ids) in &index[1..] {
        position = position * shape[*axis] as i64 + ids;
    }
    for (axis, ids) in &index {
        position = ids.guarded(shape[*axis], &position);
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
    /// Integers with negative ones counted from the end, as `i64`. Where they are known they are checked.
    #[track_caller]
    fn wrapped_ids(&self, extent: usize) -> Result<Tensor> {
        if self.check()?.dtype().class() != Class::Int {
            return Err(Error::dtype(self.dtype(), "indices are integers (or a bool mask)"));
        }
        let ids = self.to_dtype(DType::I64);
        if trace::for_operands(&[&ids]).is_none() {
            let known = ids.to_vec::<i64>()?;
            let n = extent as i64;
            if let Some(&index) = known.iter().find(|i| !(-n..n).contains(*i)) {
                return Err(Error::new(Kind::Index { index, extent, from_end: true }));
            }
            if known.iter().all(|i| *i >= 0) {
                return Ok(ids);
            }
        }
        let from_end = &ids + extent as i64;
        Ok(ids.lt(0).select(&from_end, &ids))
    }

    /// `position` where these traced ids are inside the extent, else one that is nowhere and says which id it was.
    #[track_caller]
    fn guarded(&self, extent: usize, position: &Tensor) -> Tensor {
        if self.is_traced() {
            self.ge(0).and(&self.lt(extent as i64)).select(position, &(self + astray(extent)))
        } else {
            position.clone()
        }
    }

    /// The part at an index: `x.at(3)`, `x.at((.., 1..-1))`, `x.at((REST, step(.., -1)))`, `x.at(&mask)`,
    /// `table.at(&ids)` with ids of any rank, `x.at((&rows, &columns))`. Integers and ranges are views.
    ///
    /// Several index tensors broadcast together; their axes stand where the first was if they are neighbours, else
    /// in front. Integers are taken first, as in PyTorch, and do not count as index tensors.
    #[track_caller]
    pub fn at(&self, index: impl Index) -> Tensor {
        let places = index.places();
        let mut operands = vec![self.clone()];
        operands.extend(places.iter().filter_map(|p| match p {
            Ix::Mask(t) | Ix::Ids(t) => Some(t.clone()),
            _ => None,
        }));
        let operands: Vec<&Tensor> = operands.iter().collect();
        if let Some(failed) = operands.iter().find(|t| t.error().is_some()) {
            return (*failed).clone();
        }
        match self.part(places) {
            Ok(t) => t,
            Err(e) => Tensor::refuse("index", &operands, e),
        }
    }

    #[track_caller]
    fn part(&self, places: Vec<Ix>) -> Result<Tensor> {
        let (view, ids) = basic(self, complete(places, &self.shape())?)?;
        if ids.is_empty() { Ok(view) } else { advanced(view, ids) }
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
        if positions.error().is_some() {
            return positions;
        }
        let value = match value.into() {
            Arg::Tensor(t) => t.clone(),
            Arg::Number(n) => Tensor::from_literal(&n.literal(n.dtype_beside(self.dtype()))),
        };
        if value.dtype().is_complex() && !self.dtype().is_complex() {
            let why = format!("cannot be assigned into {}; take `real()` or `abs()` of it", self.dtype());
            return Tensor::refuse("with_at", &[self, &value], Error::dtype(value.dtype(), why));
        }
        // Leading axes of extent 1 that the part does not have are dropped.
        let surplus = value.rank().saturating_sub(positions.rank());
        let ones = value.shape().iter().take_while(|d| **d == 1).count().min(surplus);
        let value = if ones > 0 { value.reshape(&value.shape()[ones..]) } else { value };
        if value.shape().broadcast(&positions.shape()) != Some(positions.shape()) {
            let why = format!("do not broadcast to those of the part, {}", positions.shape());
            let e = Error::shape(format!("extents {}", value.shape()), why);
            return Tensor::refuse("with_at", &[self, &value], e);
        }
        let updates = value.to_dtype(self.dtype()).expand_to(&positions.shape());
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
        match self.found() {
            Ok(t) => t,
            Err(e) => Tensor::refuse("nonzero", &[self], e),
        }
    }

    #[track_caller]
    fn found(&self) -> Result<Tensor> {
        if trace::for_operands(&[self]).is_some() {
            let why =
                "the extent of a mask or `nonzero` depends on the data, so it cannot be traced; use `select`";
            return Err(Error::trace(why));
        }
        let flags = self.to_dtype(DType::Bool).to_vec::<bool>()?;
        let (shape, strides) = (self.shape(), self.shape().strides());
        let hits: Vec<usize> = (0..flags.len()).filter(|&i| flags[i]).collect();
        let row = |i: usize| (0..shape.rank()).map(move |a| (a, i));
        let place = |(a, i): (usize, usize)| ((i / strides[a]) % shape[a]) as i64;
        let rows: Vec<i64> = hits.iter().flat_map(|&i| row(i)).map(place).collect();
        Ok(Tensor::from_slice(&rows, [hits.len(), shape.rank()]))
    }

    /// Slices along an axis at integers.
    #[track_caller]
    pub fn index_select(&self, axis: isize, ids: &Tensor) -> Tensor {
        match self.indexed(axis, ids) {
            Ok((axis, ids)) => apply1(Take { axis }, &[self, &ids]),
            Err(e) => Tensor::refuse("index_select", &[self, ids], e),
        }
    }

    /// One element per index along an axis: `out[i, j] = self[index[i, j], j]` for axis 0. The index may be smaller
    /// than this tensor on the other axes.
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        match self.indexed(axis, index).and_then(|(axis, ids)| flat_positions(&self.shape(), axis, &ids)) {
            Ok(at) => apply1(Take { axis: 0 }, &[&self.reshape([-1]), &at]),
            Err(e) => Tensor::refuse("gather", &[self, index], e),
        }
    }

    /// With `source` combined in at `self[index[i, j], j]` for axis 0; `None` replaces, the last one winning. The
    /// source may be larger than the index, which then uses its first elements.
    #[track_caller]
    pub fn scatter_with(
        &self,
        axis: isize,
        index: &Tensor,
        source: &Tensor,
        combine: Option<Combine>,
    ) -> Tensor {
        let fitting = || {
            let (axis, ids) = self.indexed(axis, index)?;
            let (own, needed) = (source.check()?.shape(), ids.shape());
            if own.rank() != needed.rank() || own.iter().zip(&needed[..]).any(|(have, need)| have < need) {
                let why = format!("must be at least those of the index, {needed}");
                return Err(Error::shape(format!("extents {own} of the source"), why));
            }
            flat_positions(&self.shape(), axis, &ids)
        };
        let at = match fitting() {
            Ok(at) => at,
            Err(e) => return Tensor::refuse("scatter", &[self, index, source], e),
        };
        let first: Vec<Ix> = at.shape().iter().map(|&d| Ix::from(..d)).collect();
        let updates = source.to_dtype(self.dtype()).at(first);
        let ins = [&self.reshape([-1]), &at.reshape([-1]), &updates.reshape([-1])];
        apply1(Scatter { axis: 0, combine }, &ins).reshape(self.shape())
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
        self.with_slices("index_add", axis, ids, source, Some(Combine::Sum))
    }

    /// With slices of `source` written at integers along an axis.
    #[track_caller]
    pub fn index_copy(&self, axis: isize, ids: &Tensor, source: &Tensor) -> Tensor {
        self.with_slices("index_copy", axis, ids, source, None)
    }

    #[track_caller]
    fn with_slices(
        &self,
        name: &str,
        axis: isize,
        ids: &Tensor,
        source: &Tensor,
        combine: Option<Combine>,
    ) -> Tensor {
        match self.indexed(axis, ids) {
            Ok((axis, at)) => apply1(Scatter { axis, combine }, &[self, &at, &source.to_dtype(self.dtype())]),
            Err(e) => Tensor::refuse(name, &[self, ids, source], e),
        }
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

    /// The axis and the ids counted from the front.
    #[track_caller]
    fn indexed(&self, axis: isize, ids: &Tensor) -> Result<(usize, Tensor)> {
        let axis = resolve(axis, self.check()?.rank())?;
        Ok((axis, ids.wrapped_ids(self.shape()[axis])?))
    }
}

/// Row-major positions in a tensor of `shape` of elements indexed along `axis`.
#[track_caller]
fn flat_positions(shape: &Shape, axis: usize, ids: &Tensor) -> Result<Tensor> {
    let (own, strides) = (ids.shape(), shape.strides());
    if own.rank() != shape.rank() || (0..own.rank()).any(|a| a != axis && own[a] > shape[a]) {
        let why = format!("must have the rank of {shape} and be no larger off axis {axis}");
        return Err(Error::shape(format!("an index of extents {own}"), why));
    }
    let along = |a: usize| if a == axis { ids.clone() } else { Tensor::iota(DType::I64, &own, a) };
    let terms = (0..own.rank()).map(|a| along(a) * strides[a] as i64);
    let position = terms.reduce(|x, y| x + y).unwrap_or_else(|| ids.clone());
    Ok(ids.guarded(shape[axis], &position))
}
