//! Image operations on the last axes: resampling, pixel shuffling, unfolding into columns, padding modes.

use super::each::{Each, check_memory, failed, floats, integers, pad_with, signed, split_shape};
use super::pool::{adaptive_avg_pool, floating, product};
use crate::eager::apply::apply1;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::index::Take;
use gradus_ir::ops::window::{Fold, Windows, window_count};
use gradus_ir::{Error, Result};

/// Interpolation modes of [`interpolate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The element at index `i · extent / size`, rounded down exactly.
    Nearest,
    /// The element whose centre is nearest; of two equally near, the later.
    NearestExact,
    /// Linear, bilinear or trilinear, by the number of axes. With `align_corners` the centres of the corner
    /// elements stay fixed; without it the edges of the image do.
    Linear {
        /// If true, the centres of the corner elements stay fixed.
        align_corners: bool,
    },
    /// The mean of the covered elements, as [`adaptive_avg_pool`].
    Area,
}

/// Distance between new elements, in old elements: `of / to`, or the reciprocal of a scale factor.
#[derive(Clone, Copy)]
enum Step {
    Extents { of: usize, to: usize },
    Size(f64),
}

impl Step {
    /// Returns the centre of new element `i`, in units of old elements.
    fn middle(self, i: usize) -> f64 {
        match self {
            Step::Extents { of, to } => (i as f64 + 0.5) * of as f64 / to as f64,
            Step::Size(step) => (i as f64 + 0.5) * step,
        }
    }

    /// Returns the index of the old element at or below the start, or the centre, of new element `i`.
    fn below(self, i: usize, middle: bool, extent: usize) -> i64 {
        match self {
            // Computes with twice the position, so that centres are integers.
            Step::Extents { of, to } => {
                ((2 * i as u128 + middle as u128) * of as u128 / (2 * to as u128)) as i64
            }
            Step::Size(step) => {
                let at = if middle { self.middle(i) } else { i as f64 * step };
                (at.floor() as i64).min(extent as i64 - 1)
            }
        }
    }
}

/// Returns for each new element its two old neighbours, and the weight of the second.
fn between(extent: usize, size: usize, align_corners: bool, step: Step) -> (Vec<i64>, Vec<i64>, Vec<f64>) {
    let last = extent as i64 - 1;
    let neighbours = |i: usize| {
        let at = match (align_corners, size) {
            (true, 1) => 0.0,
            (true, _) => i as f64 * (extent as f64 - 1.0) / (size as f64 - 1.0),
            (false, _) => (step.middle(i) - 0.5).max(0.0),
        };
        let first = (at.floor() as i64).min(last);
        (first, (first + 1).min(last), (at - first as f64).min(1.0))
    };
    let all: Vec<(i64, i64, f64)> = (0..size).map(neighbours).collect();
    (all.iter().map(|p| p.0).collect(), all.iter().map(|p| p.1).collect(), all.iter().map(|p| p.2).collect())
}

/// Resamples the last axes to `size`.
///
/// The nearest modes keep integers; the others convert them to `f32`. `Nearest` divides exactly; PyTorch
/// divides in `f32`, which can differ for some extents.
#[track_caller]
pub fn interpolate(x: &Tensor, size: &[usize], mode: Interpolation) -> Tensor {
    resampled(x, size, None, mode)
}

/// Resamples the last axes to `factor` times their extents, rounded down. Positions are computed from the
/// factors, not from the rounded extents.
#[track_caller]
pub fn interpolate_by(x: &Tensor, factors: &[f64], mode: Interpolation) -> Tensor {
    let shape = x.shape();
    let extents = &shape[shape.rank().saturating_sub(factors.len())..];
    let size: Vec<usize> = extents.iter().zip(factors).map(|(&n, f)| (n as f64 * f) as usize).collect();
    resampled(x, &size, Some(factors), mode)
}

#[track_caller]
fn resampled(x: &Tensor, size: &[usize], factors: Option<&[f64]>, mode: Interpolation) -> Tensor {
    if let Some(failed) = failed(&[x]) {
        return failed;
    }
    let plan = || {
        let (lead, spatial) = split_shape(&x.shape(), size.len(), "interpolation")?;
        let size = Each::from(size).resolve("size", size.len(), 1)?;
        if spatial.contains(&0) {
            return Err(Error::shape(format!("extents {spatial:?}"), "have nothing to interpolate between"));
        }
        check_memory(x, &size)?;
        Ok((lead.len(), spatial, size))
    };
    let (lead, spatial, size) = match plan() {
        Ok(plan) => plan,
        Err(e) => return Tensor::refuse("interpolate", &[x], e),
    };
    let (name, align) = match mode {
        Interpolation::Nearest => ("nearest", false),
        Interpolation::NearestExact => ("nearest-exact", false),
        Interpolation::Linear { align_corners } => ("linear", align_corners),
        Interpolation::Area => return adaptive_avg_pool(x, &size),
    };
    let step = |j: usize| match factors.and_then(|f| f.get(j)) {
        Some(&f) if f * spatial[j] as f64 != size[j] as f64 => Step::Size(1.0 / f),
        _ => Step::Extents { of: spatial[j], to: size[j] },
    };
    let mut args =
        vec![arg("size", size.clone()), arg("mode", name.to_string()), arg("align_corners", align)];
    if let Some(factors) = factors {
        args.push(arg("factors", factors.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")));
    }
    region1("interpolate", args, &[x], |x| {
        let linear = matches!(mode, Interpolation::Linear { .. });
        let mut y = if linear { floating(&x[0]) } else { x[0].clone() };
        for (j, (&extent, &size)) in spatial.iter().zip(&size).enumerate() {
            let (axis, step) = (lead + j, step(j));
            if extent == size && matches!(step, Step::Extents { .. }) {
                continue;
            }
            let at = |ids: Vec<i64>| apply1(Take { axis }, &[&y, &integers(ids, [size])]);
            if linear {
                let (first, second, share) = between(extent, size, align, step);
                let share = floats(y.dtype(), share, [vec![size], vec![1; y.rank() - axis - 1]].concat());
                y = at(first) * (1.0 - &share) + at(second) * share;
            } else {
                let middle = mode == Interpolation::NearestExact;
                y = at((0..size).map(|i| step.below(i, middle, extent)).collect());
            }
        }
        y
    })
}

/// Maps `[…,C·r²,H,W]` to `[…,C,H·r,W·r]`: channels become the pixels of `r` by `r` blocks.
#[track_caller]
pub fn pixel_shuffle(x: &Tensor, upscale_factor: usize) -> Tensor {
    let r = upscale_factor;
    let shape = x.shape();
    let squared = r.checked_mul(r).filter(|&q| q > 0);
    let (lead, [c, h, w], q) = match (&shape[..], squared) {
        _ if x.error().is_some() => return x.clone(),
        ([lead @ .., c, h, w], Some(q)) if c.is_multiple_of(q) => (lead, [*c, *h, *w], q),
        _ => {
            let why = format!("must be [..,C,H,W] with C a multiple of {r} squared, and {r} at least 1");
            return Tensor::refuse("pixel_shuffle", &[x], Error::shape(format!("shape {shape}"), why));
        }
    };
    let n = lead.len() as isize;
    region1("pixel_shuffle", vec![arg("upscale_factor", r)], &[x], |x| {
        let order: Vec<isize> = (0..=n).chain([n + 3, n + 1, n + 4, n + 2]).collect();
        let blocks = x[0].reshape([lead, &[c / q, r, r, h, w]].concat()).permute(order);
        blocks.reshape([lead, &[c / q, h * r, w * r]].concat())
    })
}

/// Maps `[…,C,H·r,W·r]` to `[…,C·r²,H,W]`: the inverse of [`pixel_shuffle`].
#[track_caller]
pub fn pixel_unshuffle(x: &Tensor, downscale_factor: usize) -> Tensor {
    let r = downscale_factor;
    let shape = x.shape();
    let (lead, [c, h, w]) = match &shape[..] {
        _ if x.error().is_some() => return x.clone(),
        [lead @ .., c, h, w] if r > 0 && h.is_multiple_of(r) && w.is_multiple_of(r) => (lead, [*c, *h, *w]),
        _ => {
            let why = format!("must be [..,C,H,W] with H and W multiples of {r}, and {r} at least 1");
            return Tensor::refuse("pixel_unshuffle", &[x], Error::shape(format!("shape {shape}"), why));
        }
    };
    let n = lead.len() as isize;
    region1("pixel_unshuffle", vec![arg("downscale_factor", r)], &[x], |x| {
        let order: Vec<isize> = (0..=n).chain([n + 2, n + 4, n + 1, n + 3]).collect();
        let blocks = x[0].reshape([lead, &[c, h / r, r, w / r, r]].concat()).permute(order);
        blocks.reshape([lead, &[c.saturating_mul(r).saturating_mul(r), h / r, w / r]].concat())
    })
}

/// Options of [`unfold`] and [`fold`].
#[derive(Clone, Debug)]
pub struct UnfoldOptions {
    /// Stride between windows; default 1.
    pub stride: Each,
    /// Zero padding; default 0.
    pub padding: Each,
    /// Spacing of the elements of a window; default 1.
    pub dilation: Each,
}

impl Default for UnfoldOptions {
    fn default() -> UnfoldOptions {
        UnfoldOptions { stride: 1.into(), padding: 0.into(), dilation: 1.into() }
    }
}

/// Windows over the last axes, after padding.
struct Columns {
    op: Windows,
    padding: Vec<i64>,
    padded: Vec<usize>,
    counts: Vec<usize>,
}

fn columns(spatial: &[usize], kernel: &[usize], o: &UnfoldOptions) -> Result<Columns> {
    let n = kernel.len();
    let size = Each::from(kernel).resolve("kernel", n, 1)?;
    let stride = o.stride.resolve("stride", n, 1)?;
    let dilation = o.dilation.resolve("dilation", n, 1)?;
    let padding = o.padding.resolve("padding", n, 0)?;
    let padded: Vec<usize> = (0..n).map(|i| spatial[i].saturating_add(2 * padding[i])).collect();
    let count = |i: usize| window_count(padded[i], size[i], stride[i], dilation[i]);
    let counts = (0..n).map(count).collect::<Result<Vec<_>>>()?;
    Ok(Columns { op: Windows { size, stride, dilation }, padding: signed(&padding), padded, counts })
}

fn args_of(c: &Columns) -> Vec<(String, gradus_ir::attr::Attr)> {
    vec![
        arg("kernel", c.op.size.clone()),
        arg("stride", c.op.stride.clone()),
        arg("padding", c.padding.clone()),
        arg("dilation", c.op.dilation.clone()),
    ]
}

/// Copies all windows over the last axes into columns: `[N,C,spatial]` becomes `[N, C · elements of a window,
/// windows]`.
#[track_caller]
pub fn unfold(x: &Tensor, kernel: &[usize], options: &UnfoldOptions) -> Tensor {
    let n = kernel.len();
    let plan = || {
        let (lead, spatial) = split_shape(&x.shape(), n, "unfolding")?;
        let columns = columns(&spatial, kernel, options)?;
        match &lead[..] {
            [lead @ .., c] => Ok((lead.to_vec(), *c, columns)),
            _ => {
                Err(Error::shape(format!("shape {}", x.shape()), format!("must be [..,C] and {n} more axes")))
            }
        }
    };
    let (lead, channels, c) = match plan() {
        _ if x.error().is_some() => return x.clone(),
        Ok(plan) => plan,
        Err(e) => return Tensor::refuse("unfold", &[x], e),
    };
    region1("unfold", args_of(&c), &[x], |x| {
        let view = apply1(c.op.clone(), &[&pad_with(&x[0], &c.padding, &c.padding, 0.0)]);
        let k = lead.len() as isize + 1;
        let (n, all) = (n as isize, k + 2 * n as isize);
        let order: Vec<isize> = (0..k).chain(k + n..all).chain(k..k + n).collect();
        let rows = channels.saturating_mul(product(kernel));
        view.permute(order).reshape([&lead[..], &[rows, product(&c.counts)]].concat())
    })
}

/// Sums overlapping windows, the transpose of [`unfold`]: `[N, C · elements of a window, windows]` becomes
/// `[N,C,output_size]`.
#[track_caller]
pub fn fold(x: &Tensor, output_size: &[usize], kernel: &[usize], options: &UnfoldOptions) -> Tensor {
    let n = kernel.len();
    let shape = x.shape();
    let plan = || {
        if output_size.len() != n {
            let why = format!("must be one extent per window axis, {n}");
            return Err(Error::value(format!("output_size {output_size:?}"), why));
        }
        let columns = columns(output_size, kernel, options)?;
        let (elements, windows) = (product(kernel), product(&columns.counts));
        match &shape[..] {
            [lead @ .., rows, found] if rows.is_multiple_of(elements) && *found == windows => {
                Ok((lead.to_vec(), rows / elements, columns))
            }
            _ => {
                let why = format!("must be [.., a multiple of {elements}, {windows}]");
                Err(Error::shape(format!("columns {shape}"), why))
            }
        }
    };
    let (lead, channels, c) = match plan() {
        _ if x.error().is_some() => return x.clone(),
        Ok(plan) => plan,
        Err(e) => return Tensor::refuse("fold", &[x], e),
    };
    let args = [vec![arg("output_size", output_size.to_vec())], args_of(&c)].concat();
    region1("fold", args, &[x], |x| {
        let k = lead.len() as isize + 1;
        let (n, all) = (n as isize, k + 2 * n as isize);
        let order: Vec<isize> = (0..k).chain(k + n..all).chain(k..k + n).collect();
        let view = x[0].reshape([&lead[..], &[channels], kernel, &c.counts].concat()).permute(order);
        let Windows { size, stride, dilation } = c.op.clone();
        let whole = apply1(Fold { extent: c.padded.clone().into(), size, stride, dilation }, &[&view]);
        let crop: Vec<i64> = c.padding.iter().map(|p| -p).collect();
        pad_with(&whole, &crop, &crop, 0.0)
    })
}

/// Padding modes of [`pad`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A constant value.
    Constant(f64),
    /// The elements mirrored at the outermost one, which is not repeated; the padding must be smaller than
    /// the extent.
    Reflect,
    /// The outermost element.
    Replicate,
    /// The elements of the opposite end; the padding must not exceed the extent.
    Circular,
}

/// Makes the `count` elements of padding before or after an axis.
#[track_caller]
fn border(x: &Tensor, axis: usize, count: usize, before: bool, mode: PadMode) -> Tensor {
    let (extent, a) = (x.shape()[axis], axis as isize);
    match mode {
        PadMode::Reflect if before => x.narrow(a, 1, count).flip(a),
        PadMode::Reflect => x.narrow(a, extent - 1 - count, count).flip(a),
        PadMode::Circular if before => x.narrow(a, extent - count, count),
        PadMode::Circular => x.narrow(a, 0, count),
        _ => {
            let edge = x.narrow(a, if before { 0 } else { extent - 1 }, 1);
            edge.expand_to(&x.shape().with(axis, count))
        }
    }
}

/// Pads the last axes, with numbers in PyTorch's order: before and after the last axis, before and after the
/// one before it, and so on. Negative numbers crop.
#[track_caller]
pub fn pad(x: &Tensor, padding: &[i64], mode: PadMode) -> Tensor {
    let n = padding.len() / 2;
    let plan = || {
        if !padding.len().is_multiple_of(2) {
            return Err(Error::value(format!("padding {padding:?}"), "must be pairs: before and after"));
        }
        let (lead, spatial) = split_shape(&x.shape(), n, "padding")?;
        let side = |k: usize| padding.iter().skip(k).step_by(2).rev().copied().collect::<Vec<i64>>();
        let (low, high) = (side(0), side(1));
        for (i, &extent) in spatial.iter().enumerate() {
            let crop = |n: i64| n.min(0).unsigned_abs() as usize;
            let mut cropped = crop(low[i]).saturating_add(crop(high[i]));
            if mode == PadMode::Replicate {
                // Replication pads before it crops, so that an axis may be padded and then cropped by its
                // full extent.
                cropped = cropped.saturating_sub(low[i].max(high[i]).max(0) as usize);
            }
            let left = extent.saturating_sub(cropped);
            let most = match mode {
                PadMode::Constant(_) => usize::MAX,
                PadMode::Reflect => left.saturating_sub(1),
                PadMode::Replicate if extent > 0 => usize::MAX,
                PadMode::Replicate => 0,
                PadMode::Circular => left,
            };
            if low[i].max(high[i]).max(0) as usize > most || cropped > extent {
                let what = format!("padding {} and {} of extent {extent}", low[i], high[i]);
                let why = match (cropped > extent, mode) {
                    (true, _) => format!("crops more than the {extent} elements there are"),
                    (false, PadMode::Reflect) => {
                        format!("may be at most {most}, as many as can be reflected")
                    }
                    (false, _) => format!("may be at most {most}, as many as there are"),
                };
                return Err(Error::shape(what, why));
            }
        }
        Ok((lead.len(), low, high))
    };
    let (lead, low, high) = match plan() {
        _ if x.error().is_some() => return x.clone(),
        Ok(plan) => plan,
        Err(e) => return Tensor::refuse("pad", &[x], e),
    };
    let (name, value) = match mode {
        PadMode::Constant(value) => ("constant", value),
        PadMode::Reflect => ("reflect", 0.0),
        PadMode::Replicate => ("replicate", 0.0),
        PadMode::Circular => ("circular", 0.0),
    };
    let args = vec![arg("padding", padding.to_vec()), arg("mode", name.to_string()), arg("value", value)];
    region1("pad", args, &[x], |x| {
        if matches!(mode, PadMode::Constant(_)) {
            return pad_with(&x[0], &low, &high, value);
        }
        let crop = |v: &[i64]| v.iter().map(|&n| n.min(0)).collect::<Vec<i64>>();
        let replicate = mode == PadMode::Replicate;
        let mut y = if replicate { x[0].clone() } else { pad_with(&x[0], &crop(&low), &crop(&high), 0.0) };
        for i in 0..n {
            let axis = lead + i;
            let side = |n: i64, before| (n > 0).then(|| border(&y, axis, n as usize, before, mode));
            let (before, after) = (side(low[i], true), side(high[i], false));
            let parts: Vec<&Tensor> = before.iter().chain([&y]).chain(&after).collect();
            if parts.len() > 1 {
                y = Tensor::cat(&parts, axis as isize);
            }
            if y.error().is_some() {
                return y; // too large: the other axes have no extents
            }
        }
        if replicate { pad_with(&y, &crop(&low), &crop(&high), 0.0) } else { y }
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    use Interpolation::*;
    let modes =
        [Nearest, NearestExact, Linear { align_corners: false }, Linear { align_corners: true }, Area];
    for mode in modes {
        let cases: [(&[usize], &[usize]); 4] =
            [(&[2, 3], &[5]), (&[1, 5, 4], &[3, 2]), (&[2, 1], &[3]), (&[0, 3], &[1])];
        for (x, size) in cases {
            let x = s.draw.normal(x);
            s.case("interpolate", [x], move |x| interpolate(&x[0], size, mode));
        }
        for factors in [&[1.7, 0.6], &[2.0, 1.5]] {
            let x = s.draw.normal([1, 3, 4]);
            s.case("interpolate", [x], move |x| interpolate_by(&x[0], factors, mode));
        }
    }
    for (x, r) in [(&[2, 8, 1, 3][..], 2), (&[9, 2, 2], 3), (&[4, 0, 2], 1)] {
        let x = s.draw.normal(x);
        s.case("pixel_shuffle", [x], move |x| pixel_shuffle(&x[0], r));
    }
    for (x, r) in [(&[2, 1, 2, 6][..], 2), (&[1, 3, 6], 3)] {
        let x = s.draw.normal(x);
        s.case("pixel_unshuffle", [x], move |x| pixel_unshuffle(&x[0], r));
    }
    let odd = UnfoldOptions { stride: [2, 1].into(), padding: [1, 0].into(), dilation: [2, 1].into() };
    for (x, o) in [(&[2, 2, 4, 5][..], odd.clone()), (&[3, 4, 4], UnfoldOptions::default())] {
        let x = s.draw.normal(x);
        s.case("unfold", [x], move |x| unfold(&x[0], &[2, 3], &o));
    }
    let x = s.draw.normal([1, 12, 6]);
    s.case("fold", [x], move |x| fold(&x[0], &[4, 5], &[2, 3], &odd));
    let x = s.draw.normal([6, 4]);
    s.case("fold", [x], |x| fold(&x[0], &[5], &[2], &UnfoldOptions::default()));
    let modes = [
        PadMode::Constant(0.0),
        PadMode::Constant(1.5),
        PadMode::Reflect,
        PadMode::Replicate,
        PadMode::Circular,
    ];
    for mode in modes {
        let cases: [(&[usize], &[i64]); 3] =
            [(&[2, 4], &[2, 1]), (&[1, 3, 4], &[1, 2, 2, 1]), (&[2, 5], &[-1, 2])];
        for (x, padding) in cases {
            let x = s.draw.normal(x);
            s.case("pad", [x], move |x| pad(&x[0], padding, mode));
        }
    }
}
