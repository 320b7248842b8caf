//! Rearranges elements: splits, repetitions, rolls, rotations, windows, grids.

use super::each::{Each, failed, integers};
use crate::axis::{Axes, resolve};
use crate::eager::apply::apply1;
use crate::movement::Dims;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::index::Take;
use gradus_ir::ops::window::Windows;
use gradus_ir::{Error, Result, Shape};

/// Order of the axes of [`meshgrid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The first vector varies along the first axis: matrix order.
    Ij,
    /// The first vector varies along the second axis: Cartesian order.
    Xy,
}

/// Broadcasts vectors (or scalars) over a grid, one axis each.
#[track_caller]
pub fn meshgrid(tensors: &[&Tensor], indexing: Indexing) -> Vec<Tensor> {
    if let Some(failed) = failed(tensors) {
        return vec![failed; tensors.len().max(1)];
    }
    if let Some(t) = tensors.iter().find(|t| t.rank() > 1) {
        let e = Error::shape(format!("an operand of shape {}", t.shape()), "must be a vector or a scalar");
        return vec![Tensor::refuse("meshgrid", tensors, e); tensors.len()];
    }
    let n = tensors.len();
    let grid: Shape = tensors.iter().map(|t| t.numel()).collect();
    let along = |(i, t): (usize, &&Tensor)| {
        let column: Vec<usize> = (0..n).map(|j| if i == j { t.numel() } else { 1 }).collect();
        let spread = t.reshape(column).expand_to(&grid);
        if indexing == Indexing::Xy && n > 1 { spread.transpose(0, 1) } else { spread }
    };
    tensors.iter().enumerate().map(along).collect()
}

impl Tensor {
    /// Repeats the tensor `repeats[i]` times along axis `i`; additional numbers add axes in front.
    #[track_caller]
    pub fn repeat(&self, repeats: &[usize]) -> Tensor {
        let shape = self.shape();
        let Some(lead) = repeats.len().checked_sub(shape.rank()) else {
            let why = format!("must be at least {}, one per axis", shape.rank());
            let e = Error::shape(format!("{} numbers of repetitions", repeats.len()), why);
            return if self.error().is_some() { self.clone() } else { Tensor::refuse("repeat", &[self], e) };
        };
        region1("repeat", vec![arg("repeats", repeats.to_vec())], &[self], |x| {
            let own = || vec![1; lead].into_iter().chain(shape.iter().copied());
            let alone: Vec<usize> = own().flat_map(|d| [1, d]).collect();
            let wide: Shape = own().zip(repeats).flat_map(|(d, &r)| [r, d]).collect();
            let merged: Vec<usize> = own().zip(repeats).map(|(d, &r)| d.saturating_mul(r)).collect();
            x[0].reshape(alone).expand_to(&wide).reshape(merged)
        })
    }

    /// As [`repeat`](Tensor::repeat), where missing numbers are 1 for the first axes.
    #[track_caller]
    pub fn tile(&self, repeats: &[usize]) -> Tensor {
        let missing = self.rank().saturating_sub(repeats.len());
        self.repeat(&[vec![1; missing], repeats.to_vec()].concat())
    }

    /// Repeats each element along an axis, with one number for all or one number per element. Without an
    /// axis, repeats the elements in row-major order.
    #[track_caller]
    pub fn repeat_interleave(&self, repeats: impl Into<Each>, axis: Option<isize>) -> Tensor {
        let (x, axis) = axis.map_or_else(|| (self.reshape([self.numel()]), 0), |a| (self.clone(), a));
        let shape = x.shape();
        let plan = || {
            let a = resolve(axis, shape.rank())?;
            Ok((a, repeats.into().resolve("repeats", shape[a], 0)?))
        };
        let (a, repeats) = match plan() {
            _ if x.error().is_some() => return x,
            Ok(plan) => plan,
            Err(e) => return Tensor::refuse("repeat_interleave", &[self], e),
        };
        let args = vec![arg("repeats", repeats.clone()), arg("axis", a)];
        region1("repeat_interleave", args, &[&x], |x| match repeats.first() {
            Some(&r) if repeats.iter().all(|&other| other == r) => {
                let wide: Shape = [&shape[..=a], &[r], &shape[a + 1..]].concat().into();
                let merged = shape.with(a, shape[a].saturating_mul(r));
                x[0].unsqueeze(a as isize + 1).expand_to(&wide).reshape(merged)
            }
            _ => {
                let each = repeats.iter().enumerate();
                let ids: Vec<i64> = each.flat_map(|(i, &r)| std::iter::repeat_n(i as i64, r)).collect();
                let n = ids.len();
                apply1(Take { axis: a }, &[&x[0], &integers(ids, [n])])
            }
        })
    }

    /// Splits an axis into pieces of `size`; the last is smaller if the size does not divide the extent. The
    /// pieces are views.
    #[track_caller]
    pub fn split(&self, size: usize, axis: isize) -> Vec<Tensor> {
        let extent = match resolve(axis, self.rank()) {
            _ if self.error().is_some() => return vec![self.clone()],
            Ok(a) => self.shape()[a],
            Err(e) => return vec![Tensor::refuse("split", &[self], e)],
        };
        if size == 0 && extent > 0 {
            return vec![Tensor::refuse("split", &[self], Error::value("size 0", "must be at least 1"))];
        }
        if extent == 0 {
            return vec![self.clone()];
        }
        let starts = (0..extent).step_by(size);
        starts.map(|start| self.narrow(axis, start, size.min(extent - start))).collect()
    }

    /// Splits an axis into pieces of these sizes, which must add up to the extent. The pieces are views.
    #[track_caller]
    pub fn split_with_sizes(&self, sizes: &[usize], axis: isize) -> Vec<Tensor> {
        let extent = match resolve(axis, self.rank()) {
            _ if self.error().is_some() => return vec![self.clone()],
            Ok(a) => self.shape()[a],
            Err(e) => return vec![Tensor::refuse("split_with_sizes", &[self], e)],
        };
        if sizes.iter().try_fold(0usize, |n, &s| n.checked_add(s)) != Some(extent) {
            let e = Error::shape(format!("sizes {sizes:?}"), format!("must add up to the extent {extent}"));
            return vec![Tensor::refuse("split_with_sizes", &[self], e)];
        }
        let mut start = 0;
        let mut pieces = Vec::with_capacity(sizes.len());
        for &size in sizes {
            pieces.push(self.narrow(axis, start, size));
            start += size;
        }
        pieces
    }

    /// Splits an axis into at most `chunks` pieces of equal size; the last may be smaller. The pieces are
    /// views.
    #[track_caller]
    pub fn chunk(&self, chunks: usize, axis: isize) -> Vec<Tensor> {
        if chunks == 0 && self.error().is_none() {
            return vec![Tensor::refuse("chunk", &[self], Error::value("0 chunks", "must be at least 1"))];
        }
        let extent = resolve(axis, self.rank()).map_or(0, |a| self.shape()[a]);
        self.split(extent.div_ceil(chunks.max(1)).max(1), axis)
    }

    /// Returns the slices along an axis, without that axis, as views.
    #[track_caller]
    pub fn unbind(&self, axis: isize) -> Vec<Tensor> {
        match resolve(axis, self.rank()) {
            _ if self.error().is_some() => vec![self.clone()],
            Ok(a) => (0..self.shape()[a]).map(|i| self.narrow(axis, i, 1).squeeze(axis)).collect(),
            Err(e) => vec![Tensor::refuse("unbind", &[self], e)],
        }
    }

    /// Moves the axes `source` to the positions `destination`; the others keep their order.
    #[track_caller]
    pub fn movedim(&self, source: impl Axes, destination: impl Axes) -> Tensor {
        let rank = self.rank();
        let order = |from: Vec<usize>, to: Vec<usize>| {
            let mut rest = (0..rank).filter(|a| !from.contains(a));
            let source_of = |j: usize| match to.iter().position(|&t| t == j) {
                Some(k) => from.get(k).copied(),
                None => rest.next(),
            };
            (0..rank).map(source_of).map(|a| a.unwrap_or(0) as isize).collect::<Vec<isize>>()
        };
        match (source.resolve(rank), destination.resolve(rank)) {
            _ if self.error().is_some() => self.clone(),
            (Ok(from), Ok(to)) if from.len() == to.len() => self.permute(order(from, to)),
            (Ok(from), Ok(to)) => {
                let e = Error::shape(
                    format!("{} axes", from.len()),
                    format!("need as many positions, but there are {}", to.len()),
                );
                Tensor::refuse("movedim", &[self], e)
            }
            (Err(e), _) | (_, Err(e)) => Tensor::refuse("movedim", &[self], e),
        }
    }

    /// Swaps two axes, as [`transpose`](Tensor::transpose).
    #[track_caller]
    pub fn swapaxes(&self, a: isize, b: isize) -> Tensor {
        self.transpose(a, b)
    }

    /// Moves elements by `shifts` along each of `axes`; elements that leave at the end reappear at the start.
    /// One shift without axes rolls the elements in row-major order.
    #[track_caller]
    pub fn roll(&self, shifts: &[i64], axes: &[isize]) -> Tensor {
        let shape = self.shape();
        if axes.is_empty() && shifts.len() == 1 && self.error().is_none() {
            return self.reshape([self.numel()]).roll(shifts, &[0]).reshape(shape);
        }
        let resolved = axes.iter().map(|&a| resolve(a, shape.rank())).collect::<Result<Vec<usize>>>();
        let axes = match resolved {
            _ if self.error().is_some() => return self.clone(),
            Ok(axes) if axes.len() == shifts.len() => axes,
            Ok(axes) => {
                let e = Error::shape(
                    format!("{} shifts", shifts.len()),
                    format!("do not match {} axes; pass one shift for each axis", axes.len()),
                );
                return Tensor::refuse("roll", &[self], e);
            }
            Err(e) => return Tensor::refuse("roll", &[self], e),
        };
        region1("roll", vec![arg("shifts", shifts.to_vec()), arg("axes", axes.clone())], &[self], |x| {
            let mut y = x[0].clone();
            for (&shift, &a) in shifts.iter().zip(&axes) {
                let extent = shape[a];
                let by = if extent == 0 { 0 } else { (shift as i128).rem_euclid(extent as i128) as usize };
                if by > 0 {
                    let a = a as isize;
                    y = Tensor::cat(&[&y.narrow(a, extent - by, by), &y.narrow(a, 0, extent - by)], a);
                }
            }
            y
        })
    }

    /// Rotates by `k` right angles in the plane of two axes, from the first towards the second. Returns a
    /// view.
    #[track_caller]
    pub fn rot90(&self, k: isize, axis1: isize, axis2: isize) -> Tensor {
        match k.rem_euclid(4) {
            1 => self.flip(axis2).transpose(axis1, axis2),
            2 => self.flip([axis1, axis2]),
            3 => self.transpose(axis1, axis2).flip(axis2),
            _ => self.clone(),
        }
    }

    /// Returns all windows of `size` along an axis, `step` apart, as a new last axis; the axis then counts
    /// windows. Returns a view. For windows as columns of a matrix see [`unfold`](super::unfold).
    #[track_caller]
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Tensor {
        match resolve(axis, self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(a) => {
                let last = self.movedim(a as isize, -1);
                let windows = Windows { size: vec![size], stride: vec![step], dilation: vec![1] };
                apply1(windows, &[&last]).movedim(-2, a as isize)
            }
            Err(e) => Tensor::refuse("unfold", &[self], e),
        }
    }

    /// Flattens to one axis, in row-major order.
    #[track_caller]
    pub fn ravel(&self) -> Tensor {
        self.reshape([self.numel()])
    }

    /// Splits one axis into several; one of their extents may be -1.
    #[track_caller]
    pub fn unflatten(&self, axis: isize, dims: impl Dims) -> Tensor {
        let shape = self.shape();
        match resolve(axis, shape.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(a) => {
                let around = |s: &[usize]| s.iter().map(|&d| d as i64).collect::<Vec<i64>>();
                self.reshape([around(&shape[..a]), dims.dims(), around(&shape[a + 1..])].concat())
            }
            Err(e) => Tensor::refuse("unflatten", &[self], e),
        }
    }

    /// Reshapes to the extents of another tensor.
    #[track_caller]
    pub fn reshape_as(&self, other: &Tensor) -> Tensor {
        if let Some(failed) = failed(&[self, other]) { failed } else { self.reshape(other.shape()) }
    }

    /// Broadcasts to the extents of another tensor.
    #[track_caller]
    pub fn expand_as(&self, other: &Tensor) -> Tensor {
        if let Some(failed) = failed(&[self, other]) { failed } else { self.expand_to(&other.shape()) }
    }

    /// The cross product along an axis of extent 3; the other axes broadcast.
    #[track_caller]
    pub fn cross(&self, other: &Tensor, axis: isize) -> Tensor {
        let ins = [self, other];
        let plan = || {
            let both = self.shape().broadcast(&other.shape());
            let shape = both.ok_or_else(|| {
                Error::shape(format!("extents {} and {}", self.shape(), other.shape()), "do not broadcast")
            })?;
            let a = resolve(axis, shape.rank())?;
            let from_end = a as isize - shape.rank() as isize;
            if self.dim(from_end) != 3 || other.dim(from_end) != 3 {
                return Err(Error::shape(format!("axis {axis}"), "must have extent 3 in both"));
            }
            Ok((shape, a as isize))
        };
        if let Some(failed) = failed(&ins) {
            return failed;
        }
        let (shape, a) = match plan() {
            Ok(plan) => plan,
            Err(e) => return Tensor::refuse("cross", &ins, e),
        };
        region1("cross", vec![arg("axis", a as i64)], &ins, |x| {
            let (a1, a2) = (x[0].expand_to(&shape), x[1].expand_to(&shape));
            let rolled = |t: &Tensor, by: i64| t.roll(&[by], &[a]);
            rolled(&a1, -1) * rolled(&a2, -2) - rolled(&a1, -2) * rolled(&a2, -1)
        })
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    let x = s.draw.normal([2, 3]);
    s.case("repeat", [x.clone()], |x| x[0].repeat(&[2, 1, 3]));
    s.case("repeat", [x.clone()], |x| x[0].repeat(&[0, 2]));
    s.case("tile", [x.clone()], |x| x[0].tile(&[2]));
    s.case("repeat_interleave", [x.clone()], |x| x[0].repeat_interleave(2, Some(1)));
    s.case("repeat_interleave", [x.clone()], |x| x[0].repeat_interleave([2, 0, 1], Some(-1)));
    s.case("repeat_interleave", [x.clone()], |x| x[0].repeat_interleave(3, None));
    s.case("roll", [x.clone()], |x| x[0].roll(&[-1, 4], &[0, 1]));
    s.case("roll", [x.clone()], |x| x[0].roll(&[2], &[]));
    for k in [0, 1, 2, 3, -1] {
        s.case("rot90", [x.clone()], move |x| x[0].rot90(k, 0, 1));
    }
    let scalar = s.draw.normal([]);
    s.case("repeat", [scalar], |x| x[0].repeat(&[2, 2]));
    let empty = s.draw.normal([0, 2]);
    s.case("roll", [empty], |x| x[0].roll(&[1, 1], &[0, 1]));
    let x = s.draw.normal([2, 5, 3]);
    s.case("split", [x.clone()], |x| x[0].split(2, 1));
    s.case("split_with_sizes", [x.clone()], |x| x[0].split_with_sizes(&[1, 0, 4], -2));
    s.case("chunk", [x.clone()], |x| x[0].chunk(2, 2));
    s.case("unbind", [x.clone()], |x| x[0].unbind(0));
    s.case("movedim", [x.clone()], |x| x[0].movedim([0, 2], [1, 0]));
    s.case("swapaxes", [x.clone()], |x| x[0].swapaxes(0, -1));
    s.case("tensor_unfold", [x.clone()], |x| x[0].unfold(1, 3, 2));
    s.case("tensor_unfold", [x.clone()], |x| x[0].unfold(0, 1, 1));
    s.case("ravel", [x.clone()], |x| x[0].ravel());
    s.case("unflatten", [x.clone()], |x| x[0].unflatten(1, [1, -1]));
    let y = s.draw.normal([3, 10]);
    s.case("reshape_as", [x, y], |x| x[0].reshape_as(&x[1]));
    let ins = [s.draw.normal([2, 1]), s.draw.normal([2, 3])];
    s.case("expand_as", ins, |x| x[0].expand_as(&x[1]));
    for (a, b, axis) in [(&[2, 3][..], &[2, 3][..], -1), (&[3, 2], &[3, 1], 0), (&[3], &[4, 3], 1)] {
        let ins = [s.draw.normal(a), s.draw.normal(b)];
        s.case("cross", ins, move |x| x[0].cross(&x[1], axis));
    }
    for indexing in [Indexing::Ij, Indexing::Xy] {
        let ins = [s.draw.normal([2]), s.draw.normal([]), s.draw.normal([3])];
        s.case("meshgrid", ins, move |x| meshgrid(&x.iter().collect::<Vec<_>>(), indexing));
    }
}
