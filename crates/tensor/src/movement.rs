//! Rearranges elements: reshape, permute, expand, squeeze, flip, pad, concatenation.

use crate::axis::{Axes, resolve};
use crate::data::Data;
use crate::eager::apply::apply1;
use crate::eager::small_ops;
use crate::tensor::Tensor;
use gradus_ir::ops::movement::{Concat, Flip, Pad, Permute, Reshape};
use gradus_ir::{Error, Result, Shape};

/// Extents as users write them; one may be -1, which is inferred.
pub trait Dims {
    /// The extents.
    fn dims(&self) -> Vec<i64>;
}

/// Converts an extent. One that is too large stays too large instead of becoming -1.
fn signed(extent: usize) -> i64 {
    i64::try_from(extent).unwrap_or(i64::MAX)
}

macro_rules! dims {
    ($($t:ty: $signed:expr),*) => {$(
        impl<const N: usize> Dims for [$t; N] {
            fn dims(&self) -> Vec<i64> { self.as_slice().dims() }
        }
        impl Dims for [$t] {
            fn dims(&self) -> Vec<i64> { self.iter().copied().map($signed).collect() }
        }
        impl Dims for Vec<$t> {
            fn dims(&self) -> Vec<i64> { self.as_slice().dims() }
        }
    )*};
}
dims!(usize: signed, isize: |d| d as i64, i64: |d| d, i32: i64::from);

impl Dims for Shape {
    fn dims(&self) -> Vec<i64> {
        self[..].dims()
    }
}

impl<T: Dims + ?Sized> Dims for &T {
    fn dims(&self) -> Vec<i64> {
        (**self).dims()
    }
}

/// Replaces -1 in the extents of a reshape by the extent that fits the number of elements.
fn infer_extent(dims: &[i64], numel: usize) -> Result<Shape> {
    let unknown = dims.iter().filter(|&&d| d == -1).count();
    if unknown > 1 || dims.iter().any(|&d| d < -1) {
        return Err(Error::value(
            format!("extents {dims:?}"),
            "may have one -1, and no other negative number",
        ));
    }
    let known = dims.iter().filter(|&&d| d != -1).try_fold(1usize, |n, &d| n.checked_mul(d as usize));
    let missing = match (unknown, known) {
        (0, _) => 0,
        (_, Some(known)) if known > 0 && numel.is_multiple_of(known) => numel / known,
        _ => {
            return Err(Error::shape(
                format!("{numel} elements"),
                format!("cannot be divided into {dims:?}"),
            ));
        }
    };
    Ok(dims.iter().map(|&d| if d == -1 { missing } else { d as usize }).collect())
}

impl Tensor {
    /// Returns a view without running an op. Returns `None` if a gradient would be recorded.
    pub(crate) fn try_view(&self, how: impl FnOnce(&Data) -> Option<Data>) -> Option<Tensor> {
        if self.requires_grad() && crate::eager::tape::is_grad_enabled() {
            return None;
        }
        self.with_data(|d| how(d).map(Tensor::data))
    }

    #[track_caller]
    fn permute_axes(&self, axes: Vec<usize>) -> Tensor {
        let view = self.try_view(|d| {
            let (shape, own) = (&d.aval.shape, d.strides());
            let all = axes.len() == own.len() && !gradus_ir::axis_mask(&axes, own.len()).contains(&false);
            let dims: Shape = if all { axes.iter().map(|&a| shape[a]).collect() } else { return None };
            Some(d.with_layout(&dims, axes.iter().map(|&a| own[a]).collect(), d.offset))
        });
        // Not a closure: inside one, `track_caller` would lose the caller's line.
        if let Some(view) = view { view } else { apply1(Permute { axes }, &[self]) }
    }

    /// Reshapes in row-major order; one extent may be -1. Copies only if the layout requires it.
    #[track_caller]
    pub fn reshape(&self, dims: impl Dims) -> Tensor {
        match infer_extent(&dims.dims(), self.numel()) {
            _ if self.error().is_some() => self.clone(),
            Ok(shape) if shape == self.shape() => self.clone(),
            Ok(shape) => {
                let fits = shape.checked_numel() == Some(self.numel());
                let view = if fits { self.try_view(|d| d.reshaped(&shape)) } else { None };
                if let Some(view) = view { view } else { apply1(Reshape { shape }, &[self]) }
            }
            Err(e) => Tensor::refuse("reshape", &[self], e),
        }
    }

    /// Reorders the axes.
    #[track_caller]
    pub fn permute(&self, axes: impl Axes) -> Tensor {
        match axes.resolve(self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axes) => self.permute_axes(axes),
            Err(e) => Tensor::refuse("permute", &[self], e),
        }
    }

    /// Swaps two axes.
    #[track_caller]
    pub fn transpose(&self, a: isize, b: isize) -> Tensor {
        let rank = self.rank();
        match (resolve(a, rank), resolve(b, rank)) {
            _ if self.error().is_some() => self.clone(),
            (Ok(a), Ok(b)) => {
                let mut axes: Vec<usize> = (0..rank).collect();
                axes.swap(a, b);
                self.permute_axes(axes)
            }
            (Err(e), _) | (_, Err(e)) => Tensor::refuse("transpose", &[self], e),
        }
    }

    /// Swaps the last two axes. Returns a vector or scalar unchanged.
    #[track_caller]
    pub fn t(&self) -> Tensor {
        if self.rank() < 2 { self.clone() } else { self.transpose(-2, -1) }
    }

    /// Broadcasts to other extents by NumPy's rule, without a copy; -1 keeps an extent.
    #[track_caller]
    pub fn expand(&self, dims: impl Dims) -> Tensor {
        let (dims, own) = (dims.dims(), self.shape());
        if self.error().is_some() {
            return self.clone();
        }
        let Some(lead) = dims.len().checked_sub(own.rank()) else {
            let why = format!("has more axes than {dims:?}");
            return Tensor::refuse("expand", &[self], Error::shape(format!("shape {own}"), why));
        };
        let extent = |(j, d): (usize, &i64)| match (*d, j.checked_sub(lead)) {
            (-1, Some(a)) => Ok(own[a]),
            (d, _) if d >= 0 => Ok(d as usize),
            _ => Err(Error::value(format!("extents {dims:?}"), "may have -1 only for existing axes")),
        };
        match dims.iter().enumerate().map(extent).collect::<Result<Shape>>() {
            Ok(shape) => self.expand_to(&shape),
            Err(e) => Tensor::refuse("expand", &[self], e),
        }
    }

    /// Inserts an axis of extent 1.
    #[track_caller]
    pub fn unsqueeze(&self, axis: isize) -> Tensor {
        let shape = self.shape();
        match resolve(axis, shape.rank() + 1) {
            _ if self.error().is_some() => self.clone(),
            Ok(a) => self
                .reshape(shape[..a].iter().chain([&1]).chain(&shape[a..]).copied().collect::<Vec<usize>>()),
            Err(e) => Tensor::refuse("unsqueeze", &[self], e),
        }
    }

    /// Removes these axes if they have extent 1 (`()` for all axes of extent 1).
    #[track_caller]
    pub fn squeeze(&self, axes: impl Axes) -> Tensor {
        let shape = self.shape();
        match axes.resolve(shape.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axes) => {
                let gone: Vec<usize> = axes.into_iter().filter(|&a| shape[a] == 1).collect();
                self.reshape(shape.without(&gone))
            }
            Err(e) => Tensor::refuse("squeeze", &[self], e),
        }
    }

    /// Merges axes `from` to `to` into one.
    #[track_caller]
    pub fn flatten(&self, from: isize, to: isize) -> Tensor {
        let shape = self.shape();
        if shape.rank() == 0 {
            return self.reshape([1usize]);
        }
        match (resolve(from, shape.rank()), resolve(to, shape.rank())) {
            _ if self.error().is_some() => self.clone(),
            (Ok(a), Ok(b)) if a <= b => {
                let merged: usize = shape[a..=b].iter().product();
                self.reshape(
                    shape[..a]
                        .iter()
                        .chain([&merged])
                        .chain(&shape[b + 1..])
                        .copied()
                        .collect::<Vec<usize>>(),
                )
            }
            (Ok(_), Ok(_)) => Tensor::refuse(
                "flatten",
                &[self],
                Error::value("the first axis", "must not be after the last"),
            ),
            (Err(e), _) | (_, Err(e)) => Tensor::refuse("flatten", &[self], e),
        }
    }

    /// Reverses axes.
    #[track_caller]
    pub fn flip(&self, axes: impl Axes) -> Tensor {
        match axes.resolve(self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axes) => apply1(Flip { axes }, &[self]),
            Err(e) => Tensor::refuse("flip", &[self], e),
        }
    }

    /// Pads with zeros: `(before, after)` for each of the last axes; negative numbers crop.
    #[track_caller]
    pub fn pad_zeros(&self, padding: &[(i64, i64)]) -> Tensor {
        let rank = self.rank();
        let Some(lead) = rank.checked_sub(padding.len()) else {
            let why = format!("is too long for a tensor of rank {rank}");
            return Tensor::refuse(
                "pad_zeros",
                &[self],
                Error::shape(format!("padding of {} axes", padding.len()), why),
            );
        };
        let side = |f: fn(&(i64, i64)) -> i64| [vec![0; lead], padding.iter().map(f).collect()].concat();
        apply1(Pad { low: side(|p| p.0), high: side(|p| p.1), interior: vec![0; rank] }, &[self])
    }

    /// Concatenates tensors along an axis; dtypes are promoted.
    #[track_caller]
    pub fn cat(tensors: &[&Tensor], axis: isize) -> Tensor {
        let Some(first) = tensors.first() else {
            return Tensor::refuse("cat", &[], Error::value("cat", "needs at least one tensor"));
        };
        if let Ok(axis) = resolve(axis, first.rank())
            && let Some(few) = small_ops::concat_small(tensors, axis, false)
        {
            return few;
        }
        let dtype = tensors.iter().fold(first.dtype(), |d, t| d.promote(t.dtype()));
        let cast: Vec<Tensor> = tensors.iter().map(|t| t.to_dtype(dtype)).collect();
        match resolve(axis, first.rank()) {
            Ok(axis) => {
                let fits = |t: &Tensor| {
                    let (a, b) = (t.shape(), first.shape());
                    a.rank() == b.rank() && (0..a.rank()).all(|i| i == axis || a[i] == b[i])
                };
                if let Some(other) = cast.iter().find(|t| t.error().is_none() && !fits(t)) {
                    let what = format!("extents {} and {}", first.shape(), other.shape());
                    let e = Error::shape(what, format!("differ on an axis other than {axis}"));
                    return Tensor::refuse("cat", tensors, e);
                }
                apply1(Concat { axis }, &cast.iter().collect::<Vec<_>>())
            }
            Err(e) => Tensor::refuse("cat", tensors, e),
        }
    }

    /// Stacks tensors of one shape along a new axis.
    #[track_caller]
    pub fn stack(tensors: &[&Tensor], axis: isize) -> Tensor {
        let Some(first) = tensors.first() else {
            return Tensor::refuse("stack", &[], Error::value("stack", "needs at least one tensor"));
        };
        let axis = match resolve(axis, first.rank() + 1) {
            Ok(axis) => axis,
            Err(e) => return Tensor::refuse("stack", tensors, e),
        };
        if let Some(few) = small_ops::concat_small(tensors, axis, true) {
            return few;
        }
        let axis = axis as isize;
        if let Some(other) = tensors.iter().find(|t| t.shape() != first.shape()) {
            let what = format!("extents {} and {}", first.shape(), other.shape());
            return Tensor::refuse("stack", tensors, Error::shape(what, "differ"));
        }
        let wide: Vec<Tensor> = tensors.iter().map(|t| t.unsqueeze(axis)).collect();
        Tensor::cat(&wide.iter().collect::<Vec<_>>(), axis)
    }

    /// Returns the same elements in row-major order without gaps.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor {
        if self.is_contiguous() { self.clone() } else { self.copy_elements() }
    }

    /// Copies the elements to new memory; gradients flow through.
    #[track_caller]
    fn copy_elements(&self) -> Tensor {
        apply1(Concat { axis: 0 }, &[&self.unsqueeze(0)]).squeeze(0)
    }
}
