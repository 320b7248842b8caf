//! Reductions over axes, cumulative operations, sorting.

use crate::axis::{Axes, resolve};
use crate::data::{Data, Element};
use crate::eager::apply::{apply_n, apply1};
use crate::eager::tape;
use crate::tensor::Tensor;
use crate::trace;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::{Combine, Op, reduce};
use gradus_ir::{Class, DType, Error, Shape};

/// Returns the shape with extent 1 on the reduced axes.
fn keepdim_shape(shape: &Shape, axes: &[usize]) -> Shape {
    let reduced = gradus_ir::axis_mask(axes, shape.rank());
    shape.iter().zip(reduced).map(|(&d, reduced)| if reduced { 1 } else { d }).collect()
}

#[track_caller]
fn reduce(
    name: &str,
    x: &Tensor,
    axes: impl Axes,
    keepdim: bool,
    op: impl FnOnce(Vec<usize>) -> Op,
) -> Tensor {
    let shape = x.shape();
    match axes.resolve(shape.rank()) {
        _ if x.error().is_some() => x.clone(),
        Ok(axes) => {
            let to = keepdim_shape(&shape, &axes);
            let y = apply1(op(axes), &[x]);
            if keepdim { y.reshape(to) } else { y }
        }
        Err(e) => Tensor::refuse(name, &[x], e),
    }
}

/// Converts booleans and narrow integers to `i64` for sums, as NumPy and PyTorch do.
#[track_caller]
fn summable(x: &Tensor) -> Tensor {
    if x.dtype().class() <= Class::Int { x.to_dtype(DType::I64) } else { x.clone() }
}

macro_rules! reductions {
    ($($(#[doc = $doc:literal])* $name:ident $keep:ident |$x:ident| $prepare:expr, |$axes:ident| $op:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])*
            #[track_caller]
            pub fn $name(&self, axes: impl Axes) -> Tensor {
                let $x = self;
                reduce(stringify!($name), &$prepare, axes, false, |$axes| $op.into())
            }
            $(#[doc = $doc])*
            ///
            /// The reduced axes are kept with extent 1.
            #[track_caller]
            pub fn $keep(&self, axes: impl Axes) -> Tensor {
                let $x = self;
                reduce(stringify!($name), &$prepare, axes, true, |$axes| $op.into())
            }
        )*}
    };
}

reductions! {
    /// Sum over axes (`()` for all); integers and booleans as `i64`.
    sum sum_keepdim |x| summable(x), |axes| reduce::Sum { axes };
    /// Product over axes (`()` for all); integers and booleans as `i64`.
    prod prod_keepdim |x| summable(x), |axes| reduce::Prod { axes };
    /// Maximum over axes (`()` for all); NaN if an element is NaN. Ties share the gradient evenly.
    max max_keepdim |x| x.clone(), |axes| reduce::Max { axes };
    /// Minimum over axes (`()` for all); NaN if an element is NaN. Ties share the gradient evenly.
    min min_keepdim |x| x.clone(), |axes| reduce::Min { axes };
    /// True where any element along the axes (`()` for all) is non-zero.
    any any_keepdim |x| x.to_dtype(DType::Bool), |axes| reduce::Max { axes };
    /// True where all elements along the axes (`()` for all) are non-zero.
    all all_keepdim |x| x.to_dtype(DType::Bool), |axes| reduce::Min { axes };
}

impl Tensor {
    // The closure only constructs the op. Applied inside the closure, the op would not get the caller's location.
    #[track_caller]
    fn along<O: Into<Op>>(&self, name: &str, axis: isize, op: impl FnOnce(usize) -> O) -> Tensor {
        match resolve(axis, self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axis) => apply1(op(axis), &[self]),
            Err(e) => Tensor::refuse(name, &[self], e),
        }
    }

    /// Converts booleans to `u8`, which can be compared.
    #[track_caller]
    fn comparable(&self) -> Tensor {
        if self.dtype() == DType::Bool { self.to_dtype(DType::U8) } else { self.clone() }
    }

    /// Position of the first maximum along an axis; the first NaN counts as the maximum.
    #[track_caller]
    pub fn argmax(&self, axis: isize) -> Tensor {
        self.comparable().along("argmax", axis, |axis| reduce::ArgMax { axis })
    }

    /// Position of the first minimum along an axis; the first NaN counts as the minimum.
    #[track_caller]
    pub fn argmin(&self, axis: isize) -> Tensor {
        self.comparable().along("argmin", axis, |axis| reduce::ArgMin { axis })
    }

    /// Returns a scalar as a vector of one element, if its axis is written as 0 or -1.
    pub(crate) fn as_vector(&self, axis: isize) -> Option<Tensor> {
        (self.rank() == 0 && matches!(axis, 0 | -1) && self.error().is_none()).then(|| self.reshape([1]))
    }

    #[track_caller]
    fn cumulate(&self, name: &str, axis: isize, combine: Combine) -> Tensor {
        if let Some(line) = self.as_vector(axis) {
            return line.cumulate(name, 0, combine).squeeze(0isize);
        }
        self.along(name, axis, |axis| Cumulate { combine, axis, reverse: false })
    }

    /// Running sum along an axis.
    #[track_caller]
    pub fn cumsum(&self, axis: isize) -> Tensor {
        summable(self).cumulate("cumsum", axis, Combine::Sum)
    }

    /// Running product along an axis; the gradient is exact where factors are zero.
    #[track_caller]
    pub fn cumprod(&self, axis: isize) -> Tensor {
        summable(self).cumulate("cumprod", axis, Combine::Prod)
    }

    /// Running maximum along an axis; of equal maxima the latest gets the gradient.
    #[track_caller]
    pub fn cummax(&self, axis: isize) -> Tensor {
        self.cumulate("cummax", axis, Combine::Max)
    }

    /// Running minimum along an axis; of equal minima the latest gets the gradient.
    #[track_caller]
    pub fn cummin(&self, axis: isize) -> Tensor {
        self.cumulate("cummin", axis, Combine::Min)
    }

    /// Running `log Σ exp` along an axis, without overflow.
    #[track_caller]
    pub fn logcumsumexp(&self, axis: isize) -> Tensor {
        self.cumulate("logcumsumexp", axis, Combine::LogSumExp)
    }

    /// Sorts along an axis. Returns the elements and their original positions; stable, NaN counts as largest.
    #[track_caller]
    pub fn sort(&self, axis: isize, descending: bool) -> (Tensor, Tensor) {
        self.sort_along("sort", axis, descending, None)
    }

    #[track_caller]
    fn sort_along(
        &self,
        name: &'static str,
        axis: isize,
        descending: bool,
        first: Option<usize>,
    ) -> (Tensor, Tensor) {
        if let Some(line) = self.as_vector(axis) {
            let (values, positions) = line.sort_along(name, 0, descending, first);
            return (values.squeeze(0isize), positions.squeeze(0isize));
        }
        match resolve(axis, self.rank()) {
            Ok(axis) => {
                let [values, positions] = apply_n(Sort { axis, descending, first }, &[self]);
                (values, positions)
            }
            Err(_) if self.error().is_some() => (self.clone(), self.clone()),
            Err(e) => {
                let failed = Tensor::refuse(name, &[self], e);
                (failed.clone(), failed)
            }
        }
    }

    /// Positions that would sort along an axis.
    #[track_caller]
    pub fn argsort(&self, axis: isize, descending: bool) -> Tensor {
        self.sort(axis, descending).1
    }

    /// The `k` largest (or smallest) elements along an axis in order, and their positions.
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> (Tensor, Tensor) {
        let extent = match self.as_vector(axis) {
            Some(_) => Ok(1),
            None => resolve(axis, self.rank()).map(|a| self.shape()[a]),
        };
        if let Some(&extent) = extent.as_ref().ok().filter(|n| k > **n && self.error().is_none()) {
            let why = format!("must be at most the extent of the axis, {extent}");
            let e = Tensor::refuse("topk", &[self], Error::value(format!("k = {k}"), why));
            return (e.clone(), e);
        }
        if let Some(few) = self.small_topk(k, axis, largest) {
            return few;
        }
        self.sort_along("topk", axis, largest, Some(k).filter(|k| extent.is_ok_and(|n| *k < n)))
    }

    /// Computes `topk` along the last axis directly if there are at most `MAX_DIRECT` elements. Returns `None` if there
    /// are more, if the device or dtype is not supported, or if a gradient or trace would be recorded.
    fn small_topk(&self, k: usize, axis: isize, largest: bool) -> Option<(Tensor, Tensor)> {
        let last = resolve(axis, self.rank()).ok()? + 1 == self.rank();
        if !last || trace::is_tracing() || (self.requires_grad() && tape::is_grad_enabled()) {
            return None;
        }
        self.with_data(|d| match d.aval.dtype {
            _ if !d.is_host() => None,
            DType::F32 => first_of_rows::<f32>(d, k, largest),
            DType::F64 => first_of_rows::<f64>(d, k, largest),
            DType::I64 => first_of_rows::<i64>(d, k, largest),
            _ => None,
        })
    }
}

/// Largest number of elements that are sorted directly.
const MAX_DIRECT: usize = 256;

/// Returns the first `k` of each row in the order of `Sort`, and their positions.
fn first_of_rows<T: Element + PartialOrd>(d: &Data, k: usize, largest: bool) -> Option<(Tensor, Tensor)> {
    let (&n, outer) = d.aval.shape.split_last()?;
    if n == 0 || d.aval.shape.numel() > MAX_DIRECT {
        return None;
    }
    let all = d.to_vec::<T>().ok()?;
    // NaN is the only value that is not comparable with itself.
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let order = |a: &T, b: &T| a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)));
    let (mut values, mut positions) = (Vec::new(), Vec::new());
    let mut indices: Vec<usize> = Vec::with_capacity(n);
    for line in all.chunks(n) {
        indices.clear();
        indices.extend(0..n);
        indices.sort_by(|&a, &b| if largest { order(&line[b], &line[a]) } else { order(&line[a], &line[b]) });
        values.extend(indices[..k].iter().map(|&p| line[p]));
        positions.extend(indices[..k].iter().map(|&p| p as i64));
    }
    let shape: Shape = outer.iter().copied().chain([k]).collect();
    let positions = Data::new(shape.clone(), &positions).ok()?;
    Some((Tensor::data(Data::new(shape, &values).ok()?), Tensor::data(positions)))
}
