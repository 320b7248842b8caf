//! Indexing of tensors: reading parts, gathering, scattering, masks.
//! Takes an index (`index_spec.rs`); returns views for integers and ranges, and copies for masks and integer
//! tensors.
//! `assign.rs` writes parts; `small_ops.rs` evaluates small gathers and scatters directly.

use crate::arg::{Arg, unify};
use crate::axis::resolve;
use crate::data::Data;
use crate::eager::apply::apply1;
use crate::eager::small_ops;
use crate::index_spec::{Index, Ix, bounds, complete, from_front};
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use crate::trace;
use gradus_cpu::Pool;
use gradus_ir::ops::Combine;
use gradus_ir::ops::index::{Scatter, Take, out_of_range_marker};
use gradus_ir::ops::movement::{Flip, Slice};
use gradus_ir::reference::Offsets;
use gradus_ir::{Class, DType, Error, Kind, Result, Shape, Term, message, stop};
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest number of positions computed directly, which is faster than running operations.
const MAX_DIRECT: usize = 256;

/// The integers, ranges and new axes of an index, as one slice.
pub(crate) struct BasicIndex {
    slice: Slice,
    flips: Vec<usize>,
    dims: Vec<usize>,
    /// The source axis of each result axis.
    from: Vec<Option<usize>>,
}

impl BasicIndex {
    /// Splits a completed index into the slice and the remaining integer tensors with their axes.
    pub(crate) fn of(shape: &Shape, entries: Vec<Ix>) -> Result<(BasicIndex, Vec<(usize, Tensor)>)> {
        let rank = shape.rank();
        let mut slice = Slice { start: vec![0; rank], stop: shape.to_vec(), step: vec![1; rank] };
        let (mut flips, mut dims, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut from = Vec::with_capacity(rank);
        let mut axis = 0;
        for entry in entries {
            let new = matches!(entry, Ix::New);
            match entry {
                Ix::At(i) => {
                    let n = shape[axis];
                    let at = from_front(i, n);
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
        Ok((BasicIndex { slice, flips, dims, from }, ids))
    }

    /// Returns shape, strides and offset of the part in the given data.
    pub(crate) fn layout(&self, d: &Data) -> (Shape, Vec<i64>, usize) {
        let own = d.strides();
        let mut offset =
            d.offset as i64 + self.slice.start.iter().zip(&own).map(|(&at, s)| at as i64 * s).sum::<i64>();
        let mut strides = Vec::with_capacity(self.dims.len());
        for (&n, axis) in self.dims.iter().zip(&self.from) {
            let Some(a) = *axis else {
                strides.push(0);
                continue;
            };
            let step = self.slice.step[a] as i64 * own[a];
            let flipped = self.flips.contains(&a);
            if flipped {
                offset += (n as i64 - 1) * step;
            }
            strides.push(if flipped { -step } else { step });
        }
        // An empty part has no first element; any offset within the storage is valid.
        let offset = if self.dims.contains(&0) { 0 } else { offset as usize };
        (self.dims.iter().copied().collect(), strides, offset)
    }

    /// Returns the part as a view. Skips the op if no gradient is recorded.
    #[track_caller]
    fn view(self, t: &Tensor) -> Tensor {
        let view = t.try_view(|d| {
            let (shape, strides, offset) = self.layout(d);
            Some(d.with_layout(&shape, strides, offset))
        });
        if let Some(view) = view {
            return view;
        }
        let slice = self.slice;
        let whole = slice.start.iter().all(|&s| s == 0)
            && slice.stop[..] == t.shape()[..]
            && slice.step.iter().all(|&s| s == 1);
        let mut view = if whole { t.clone() } else { apply1(slice, &[t]) };
        if !self.flips.is_empty() {
            view = apply1(Flip { axes: self.flips }, &[&view]);
        }
        view.reshape(self.dims)
    }
}

/// Gathers slices at integer tensors, which broadcast together. Their axes replace the first indexed axis if
/// the indexed axes are adjacent, else they come first.
#[track_caller]
fn gather_advanced(t: Tensor, ids: Vec<(usize, Tensor)>) -> Result<Tensor> {
    let shape = t.shape();
    let mut index: Vec<(usize, Tensor)> = Vec::new();
    for (axis, ids) in ids {
        index.push((axis, ids.wrapped_ids(shape[axis])?.on_device_of(&t)));
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
    let position = match merge_known_indices(&shape, &index) {
        Some(position) => position,
        None => {
            // Row-major position within the merged axes. An index out of range on one axis makes the position
            // invalid.
            let mut position = index[0].1.clone();
            for (axis, ids) in &index[1..] {
                position = position * shape[*axis] as i64 + ids;
            }
            index
                .iter()
                .fold(position, |position, (axis, ids)| ids.mark_out_of_range(shape[*axis], &position))
        }
    };
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

/// Computes the positions within the merged axes directly. Returns `None` unless the integers are few, known
/// and of one shape.
fn merge_known_indices(shape: &Shape, index: &[(usize, Tensor)]) -> Option<Tensor> {
    let own = index[0].1.shape();
    let unfit = |ids: &Tensor| ids.shape() != own || !ids.device().is_cpu();
    if own.numel() > MAX_DIRECT || trace::is_tracing() || index.iter().any(|(_, ids)| unfit(ids)) {
        return None;
    }
    let mut position = vec![0; own.numel()];
    for (axis, ids) in index {
        let ids = ids.with_data(|d| d.to_vec::<i64>().ok())?;
        position.iter_mut().zip(ids).for_each(|(p, i)| *p = *p * shape[*axis] as i64 + i);
    }
    Some(Tensor::from_slice(&position, own))
}

impl Tensor {
    /// Returns the ids as `i64`, with negative ones counted from the end. Checks the range if the values are
    /// known.
    #[track_caller]
    pub(crate) fn wrapped_ids(&self, extent: usize) -> Result<Tensor> {
        if self.check()?.dtype().class() != Class::Int {
            return Err(Error::dtype(self.dtype(), "indices must be integers (or a bool mask)"));
        }
        let ids = self.to_dtype(DType::I64);
        if trace::for_operands(&[&ids]).is_none() && ids.device().is_cpu() {
            let n = extent as i64;
            if ids.with_data(|d| d.i64_slice().map(|all| are_in_range(all, n))) == Some(true) {
                return Ok(ids);
            }
            // Minimum (at most 0) and maximum (at least -1).
            let ends = |all: &[i64]| {
                all.iter().fold((0, -1), |(low, high): (i64, i64), i| (low.min(*i), high.max(*i)))
            };
            let known = ids.with_data(|d| d.i64_slice().map(ends));
            let (low, high) = known.map_or_else(|| ids.to_vec::<i64>().map(|all| ends(&all)), Ok)?;
            if low < -n || high >= n {
                let known = ids.to_vec::<i64>()?;
                let index = known.into_iter().find(|i| !(-n..n).contains(i)).unwrap_or(high);
                return Err(Error::new(Kind::Index { index, extent, from_end: true }));
            }
            if low >= 0 {
                return Ok(ids);
            }
        }
        let from_end = &ids + extent as i64;
        Ok(ids.lt(0).select(&from_end, &ids))
    }

    /// Moves indices to the device of the tensor they index. As in PyTorch, they may be on the CPU.
    #[track_caller]
    fn on_device_of(&self, indexed: &Tensor) -> Tensor {
        if indexed.is_traced() { self.clone() } else { self.to(indexed.device()) }
    }

    /// Returns `position` where these traced ids are in range, else an invalid position that encodes the id
    /// for the error message.
    #[track_caller]
    fn mark_out_of_range(&self, extent: usize, position: &Tensor) -> Tensor {
        if self.is_traced() || !self.device().is_cpu() {
            self.ge(0).and(&self.lt(extent as i64)).select(position, &(self + out_of_range_marker(extent)))
        } else {
            position.clone()
        }
    }

    /// Returns the part at an index: `x.at(3)`, `x.at((.., 1..-1))`, `x.at((REST, step(.., -1)))`,
    /// `x.at(&mask)`, `table.at(&ids)` with ids of any rank, `x.at((&rows, &columns))`. Integers and ranges
    /// give views.
    ///
    /// Several index tensors broadcast together. Their axes replace the first indexed axis if the indexed
    /// axes are adjacent, else they come first. As in PyTorch, integers are applied first and do not count as
    /// index tensors.
    #[track_caller]
    pub fn at(&self, index: impl Index) -> Tensor {
        let entries = index.entries();
        let mut operands = vec![self.clone()];
        operands.extend(entries.iter().filter_map(|p| match p {
            Ix::Mask(t) | Ix::Ids(t) => Some(t.clone()),
            _ => None,
        }));
        let operands: Vec<&Tensor> = operands.iter().collect();
        if let Some(failed) = operands.iter().find(|t| t.error().is_some()) {
            return (*failed).clone();
        }
        match self.part(entries) {
            Ok(t) => t,
            Err(e) => Tensor::refuse("index", &operands, e),
        }
    }

    #[track_caller]
    fn part(&self, entries: Vec<Ix>) -> Result<Tensor> {
        let shape = self.shape();
        let (cut, ids) = BasicIndex::of(&shape, complete(entries, &shape)?)?;
        let view = cut.view(self);
        if ids.is_empty() { Ok(view) } else { gather_advanced(view, ids) }
    }

    /// Returns `len` elements of an axis, from `start`.
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

    /// Returns the positions of the non-zero elements, one row each (eager only: the number depends on the
    /// data).
    #[track_caller]
    pub fn nonzero(&self) -> Tensor {
        let (shape, strides) = (self.shape(), self.shape().strides());
        let index_along = |a: usize, i: usize| ((i / strides[a]) % shape[a]) as i64;
        match self.nonzero_positions() {
            Ok(hits) => {
                let rows: Vec<i64> =
                    hits.iter().flat_map(|&i| (0..shape.rank()).map(move |a| index_along(a, i))).collect();
                Tensor::from_slice(&rows, [hits.len(), shape.rank()])
            }
            Err(e) => Tensor::refuse("nonzero", &[self], e),
        }
    }

    /// Returns the positions of the non-zero elements, one tensor per axis.
    #[track_caller]
    pub(crate) fn nonzero_by_axis(&self) -> Result<Vec<Tensor>> {
        let (shape, strides, hits) = (self.shape(), self.shape().strides(), self.nonzero_positions()?);
        let along =
            |a: usize| hits.iter().map(|i| ((i / strides[a]) % shape[a]) as i64).collect::<Vec<i64>>();
        Ok((0..shape.rank()).map(|a| Tensor::from(along(a))).collect())
    }

    /// Returns the row-major positions of the non-zero elements.
    #[track_caller]
    fn nonzero_positions(&self) -> Result<Vec<usize>> {
        if trace::for_operands(&[self]).is_some() {
            let why = "the extent of a mask or `nonzero` depends on the data, so it cannot be traced; use ";
            return Err(Error::trace(message!(why, Term::Select)));
        }
        let flags = self.to_dtype(DType::Bool).to_vec::<bool>()?;
        Ok((0..flags.len()).filter(|&i| flags[i]).collect())
    }

    /// Gathers slices along an axis at integers.
    #[track_caller]
    pub fn index_select(&self, axis: isize, ids: &Tensor) -> Tensor {
        match self.resolve_index(axis, ids) {
            Ok((axis, ids)) => apply1(Take { axis }, &[self, &ids]),
            Err(e) => Tensor::refuse("index_select", &[self, ids], e),
        }
    }

    /// Gathers one element per index along an axis: `out[i, j] = self[index[i, j], j]` for axis 0. The index
    /// may be smaller than this tensor on the other axes.
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        if let Some([x, ids]) = as_vectors([self, index]) {
            return x.gather(axis, &ids).reshape(index.shape());
        }
        if let Ok(axis) = resolve(axis, self.rank())
            && let Some(few) = small_ops::gather_small(self, axis, index)
        {
            return few;
        }
        match self
            .resolve_index(axis, index)
            .and_then(|(axis, ids)| flat_positions(&self.shape(), axis, &ids))
        {
            Ok(at) => apply1(Take { axis: 0 }, &[&self.reshape([-1]), &at]),
            Err(e) => Tensor::refuse("gather", &[self, index], e),
        }
    }

    /// Combines `source` into `self[index[i, j], j]` (for axis 0); `None` replaces, and the last write wins.
    /// The source may be larger than the index; then only its first elements are used.
    #[track_caller]
    pub fn scatter_with(
        &self,
        axis: isize,
        index: &Tensor,
        source: &Tensor,
        combine: Option<Combine>,
    ) -> Tensor {
        if let Some([x, ids, new]) = as_vectors([self, index, source]) {
            return x.scatter_with(axis, &ids, &new, combine).reshape(self.shape());
        }
        if let Ok(axis) = resolve(axis, self.rank())
            && let Some(few) = small_ops::scatter_small(self, axis, index, source, combine)
        {
            return few;
        }
        let fitting = || {
            let (axis, ids) = self.resolve_index(axis, index)?;
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

    /// Returns a copy with `source` written at indices along an axis.
    #[track_caller]
    pub fn scatter(&self, axis: isize, index: &Tensor, source: &Tensor) -> Tensor {
        self.scatter_with(axis, index, source, None)
    }

    /// Returns a copy with `source` added at indices along an axis.
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, source: &Tensor) -> Tensor {
        self.scatter_with(axis, index, source, Some(Combine::Sum))
    }

    /// Returns a copy with slices of `source` added at integers along an axis.
    #[track_caller]
    pub fn index_add(&self, axis: isize, ids: &Tensor, source: &Tensor) -> Tensor {
        self.with_slices("index_add", axis, ids, source, Some(Combine::Sum))
    }

    /// Returns a copy with slices of `source` written at integers along an axis.
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
        match self.resolve_index(axis, ids) {
            Ok((axis, at)) => apply1(Scatter { axis, combine }, &[self, &at, &source.to_dtype(self.dtype())]),
            Err(e) => Tensor::refuse(name, &[self, ids, source], e),
        }
    }

    /// Returns `value` where the mask is true, and this tensor elsewhere.
    #[track_caller]
    pub fn masked_fill<'a>(&self, mask: &Tensor, value: impl Into<Arg<'a>>) -> Tensor {
        match unify("masked_fill", self, value.into()) {
            Ok((own, value)) => mask.select(&value, &own),
            Err(failed) => failed,
        }
    }

    /// Returns the elements where the mask is true, as a vector (eager only).
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

    /// Returns the resolved axis, and the ids counted from the front.
    #[track_caller]
    fn resolve_index(&self, axis: isize, ids: &Tensor) -> Result<(usize, Tensor)> {
        let axis = resolve(axis, self.check()?.rank())?;
        Ok((axis, ids.wrapped_ids(self.shape()[axis])?.on_device_of(self)))
    }
}

/// Returns true if all are in `0..n`, checked in one parallel pass.
fn are_in_range(all: &[i64], n: i64) -> bool {
    const EACH: usize = 1 << 16;
    let outside = AtomicBool::new(false);
    Pool::global().run(all.len().div_ceil(EACH), &|chunk| {
        let own = &all[chunk * EACH..all.len().min((chunk + 1) * EACH)];
        let signs = own.iter().fold(0, |signs, i| signs | i | (n - 1).wrapping_sub(*i));
        outside.fetch_or(signs < 0, Ordering::Relaxed);
    });
    // If the work was interrupted, not all elements were checked.
    !outside.into_inner() && !stop::requested()
}

/// If scalars are mixed with vectors, returns the scalars as vectors of one element. Returns `None` if there
/// are no scalars, or operands of higher rank.
fn as_vectors<const N: usize>(all: [&Tensor; N]) -> Option<[Tensor; N]> {
    let ranks = || all.iter().map(|t| t.rank());
    if ranks().all(|r| r > 0) || ranks().any(|r| r > 1) || all.iter().any(|t| t.error().is_some()) {
        return None;
    }
    Some(all.map(|t| t.reshape([t.numel()])))
}

/// Returns the row-major positions, in a tensor of `shape`, of elements indexed along `axis`.
#[track_caller]
fn flat_positions(shape: &Shape, axis: usize, ids: &Tensor) -> Result<Tensor> {
    let (own, strides) = (ids.shape(), shape.strides());
    if own.rank() != shape.rank() || (0..own.rank()).any(|a| a != axis && own[a] > shape[a]) {
        let why =
            format!("must have the rank of {shape}, and no larger extents on the axes other than {axis}");
        return Err(Error::shape(format!("an index of extents {own}"), why));
    }
    // Computes few known positions directly.
    if own.numel() <= MAX_DIRECT
        && !trace::is_tracing()
        && ids.device().is_cpu()
        && let Some(ids) = ids.with_data(|d| d.to_vec::<i64>().ok())
    {
        let (signed_strides, mut at): (Vec<i64>, Vec<i64>) =
            (strides.iter().map(|&s| s as i64).collect(), ids);
        let other_strides: Vec<i64> =
            (0..own.rank()).map(|a| if a == axis { 0 } else { signed_strides[a] }).collect();
        at.iter_mut()
            .zip(Offsets::new(&own, &other_strides, 0))
            .for_each(|(at, other)| *at = *at * signed_strides[axis] + other);
        return Ok(Tensor::from_slice(&at, own));
    }
    let position = |ids: &Tensor| {
        let along = |a: usize| if a == axis { ids.clone() } else { Tensor::iota(DType::I64, &own, a) };
        let terms = (0..own.rank()).map(|a| along(a) * strides[a] as i64);
        terms.reduce(|x, y| x + y).unwrap_or_else(|| ids.clone())
    };
    if ids.is_traced() {
        return Ok(ids.mark_out_of_range(shape[axis], &position(ids)));
    }
    // A region, so that the operations run in one pass over memory.
    let args = vec![arg("axis", axis), arg("shape", shape.to_vec())];
    Ok(region1("positions", args, &[ids], |x| position(&x[0])))
}
