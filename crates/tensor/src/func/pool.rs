//! Max and average pooling over windows of the last axes, with fixed or adaptive windows.

use super::each::{Each, check_memory, failed, floats, integers, pad_with, split_shape};
use super::overlap_pool::{self, Overlapping};
use super::tiled_pool::{self, Tiles};
use crate::eager::apply::apply1;
use crate::region::{Args, arg, region, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::index::Take;
use gradus_ir::ops::window::Windows;
use gradus_ir::{DType, Error, Result};

/// Options of [`max_pool`].
#[derive(Clone, Debug)]
pub struct MaxPoolOptions {
    /// Stride between windows; default: the extent of the window.
    pub stride: Option<Each>,
    /// Padding, which is never the maximum, at most half a window; default 0.
    pub padding: Each,
    /// Spacing of the elements of a window; default 1.
    pub dilation: Each,
    /// If true, a last, partly filled window counts; default false.
    pub ceil_mode: bool,
}

impl Default for MaxPoolOptions {
    fn default() -> MaxPoolOptions {
        MaxPoolOptions { stride: None, padding: 0.into(), dilation: 1.into(), ceil_mode: false }
    }
}

/// Options of [`avg_pool`].
#[derive(Clone, Debug)]
pub struct AvgPoolOptions {
    /// Stride between windows; default: the extent of the window.
    pub stride: Option<Each>,
    /// Zero padding, at most half a window; default 0.
    pub padding: Each,
    /// If true, a last, partly filled window counts; default false.
    pub ceil_mode: bool,
    /// If true, padding counts as elements; default true.
    pub count_include_pad: bool,
    /// Divisor to use instead of the number of elements.
    pub divisor_override: Option<f64>,
}

impl Default for AvgPoolOptions {
    fn default() -> AvgPoolOptions {
        AvgPoolOptions {
            stride: None,
            padding: 0.into(),
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }
}

/// Windows along one axis, `size` elements each.
#[derive(Clone, Copy)]
pub(super) struct Slide {
    pub(super) extent: i64,
    pub(super) size: i64,
    pub(super) stride: i64,
    pub(super) padding: i64,
    pub(super) dilation: i64,
    pub(super) count: i64,
}

impl Slide {
    /// Number of elements from the first to the last of a window, both included.
    pub(super) fn reach(&self) -> i64 {
        (self.size - 1) * self.dilation + 1
    }

    /// Padding at the end that the last window covers; negative if the window ends before the input does.
    pub(super) fn high(&self) -> i64 {
        (self.count - 1) * self.stride + self.reach() - self.extent - self.padding
    }

    /// Index of the first element of a window that is not padding; beyond the extent if there is none.
    fn first(&self, window: i64) -> i64 {
        let start = window * self.stride - self.padding;
        if start >= 0 { start } else { (start % self.dilation + self.dilation) % self.dilation }
    }

    /// Number by which the sum of a window is divided.
    fn divisor(&self, window: i64, include_padding: bool) -> i64 {
        let start = window * self.stride - self.padding;
        let end = (start + self.size).min(self.extent + self.padding);
        if include_padding { end - start } else { end.min(self.extent) - start.max(0) }
    }
}

/// Returns the windows along each axis of `spatial`, or an error if they do not fit.
fn slides(
    spatial: &[usize],
    size: &[usize],
    stride: &Option<Each>,
    padding: &Each,
    dilation: &Each,
    ceil_mode: bool,
) -> Result<Vec<Slide>> {
    let n = size.len();
    let size = Each::from(size).resolve("kernel", n, 1)?;
    let stride = stride.as_ref().map_or(Ok(size.clone()), |s| s.resolve("stride", n, 1))?;
    let padding = padding.resolve("padding", n, 0)?;
    let dilation = dilation.resolve("dilation", n, 1)?;
    let slide = |i: usize| {
        let [extent, size, stride, padding, dilation] =
            [spatial[i], size[i], stride[i], padding[i], dilation[i]].map(|v| v as i64);
        let mut s = Slide { extent, size, stride, padding, dilation, count: 0 };
        if padding > s.reach() / 2 {
            let why = format!("must be at most half of the {} elements that a window spans", s.reach());
            return Err(Error::value(format!("padding {padding} on spatial axis {i}"), why));
        }
        let room = extent.saturating_add(2 * padding) - s.reach();
        let mut count = if room < 0 { 0 } else { room / stride + 1 };
        // A partly filled window must begin before the padding at the end.
        if ceil_mode && room.rem_euclid(stride) != 0 {
            let more = room.div_euclid(stride) + 2;
            count = if (more - 1) * stride < extent + padding { more } else { count };
        }
        s.count = count;
        let before = (0..count).take_while(|p| p * stride < padding);
        if count < 1 || before.chain([count - 1]).any(|p| s.first(p) >= extent) {
            let what = format!(
                "a window that spans {} elements with padding {padding} on spatial axis {i}",
                s.reach()
            );
            return Err(Error::shape(what, format!("does not fit extent {extent}")));
        }
        Ok(s)
    };
    (0..n).map(slide).collect()
}

/// Returns the windows as new last axes, with `value` as padding.
#[track_caller]
fn windows(x: &Tensor, slides: &[Slide], value: f64) -> Tensor {
    let low: Vec<i64> = slides.iter().map(|s| s.padding).collect();
    let high: Vec<i64> = slides.iter().map(|s| s.high()).collect();
    let each = |f: fn(&Slide) -> i64| slides.iter().map(|s| f(s) as usize).collect::<Vec<usize>>();
    let op = Windows { size: each(|s| s.size), stride: each(|s| s.stride), dilation: each(|s| s.dilation) };
    apply1(op, &[&pad_with(x, &low, &high, value)])
}

/// Returns the product of extents; saturates instead of overflowing.
pub(super) fn product(extents: &[usize]) -> usize {
    extents.iter().fold(1, |n: usize, &d| n.saturating_mul(d))
}

/// Returns extents with which a vector broadcasts along axis `i` of `n`.
fn along(i: usize, n: usize, extent: usize) -> Vec<usize> {
    (0..n).map(|j| if j == i { extent } else { 1 }).collect()
}

/// Gathers the elements of `x` at positions within its last axes.
#[track_caller]
fn at_positions(x: &Tensor, positions: &Tensor, lead: &[usize], spatial: &[usize]) -> Tensor {
    if let Some(failed) = failed(&[positions]) {
        return failed;
    }
    let planes = product(lead);
    let own = positions.shape();
    let flat = positions.reshape([vec![planes], own[lead.len()..].to_vec()].concat());
    let starts: Vec<i64> = (0..planes).map(|p| (p * product(spatial)) as i64).collect();
    let starts = integers(starts, along(0, flat.rank(), planes));
    apply1(Take { axis: 0 }, &[&x.reshape([product(&x.shape())]), &(flat + starts)]).reshape(&own)
}

/// Selects the name for the number of axes: `pool1d`, `pool2d`, `pool3d`, or `pool`.
macro_rules! by_rank {
    ($n:expr, $($name:literal)*) => { [$($name),*].get($n).copied().unwrap_or([$($name),*][0]) };
}

/// Checks a max pooling. Returns name and arguments, leading and pooled extents, and the windows, or a failed
/// tensor.
#[allow(clippy::type_complexity)]
#[track_caller]
fn plan(
    x: &Tensor,
    kernel: &[usize],
    options: &MaxPoolOptions,
) -> std::result::Result<(&'static str, Args, Vec<usize>, Vec<usize>, Vec<Slide>), Tensor> {
    let n = kernel.len();
    let name = by_rank!(n, "max_pool" "max_pool1d" "max_pool2d" "max_pool3d");
    let MaxPoolOptions { stride, padding, dilation, ceil_mode } = options;
    let found = split_shape(&x.shape(), n, "pooling").and_then(|(lead, spatial)| {
        let slides = slides(&spatial, kernel, stride, padding, dilation, *ceil_mode)?;
        Ok((lead, spatial, slides))
    });
    let (lead, spatial, slides) = match found {
        Ok(found) => found,
        Err(e) => return Err(Tensor::refuse(name, &[x], e)),
    };
    let ints = |f: fn(&Slide) -> i64| slides.iter().map(f).collect::<Vec<i64>>();
    let args = vec![
        arg("kernel", ints(|s| s.size)),
        arg("stride", ints(|s| s.stride)),
        arg("padding", ints(|s| s.padding)),
        arg("dilation", ints(|s| s.dilation)),
        arg("ceil_mode", *ceil_mode),
    ];
    Ok((name, args, lead, spatial, slides))
}

/// Returns the largest element of each window over the last `kernel.len()` axes, and its row-major position within
/// these axes.
///
/// If several elements of a window are equally large, the result is the first, and the gradient goes to it alone.
/// If a window has NaN, the result is its first NaN.
#[track_caller]
pub fn max_pool_with_indices(x: &Tensor, kernel: &[usize], options: &MaxPoolOptions) -> (Tensor, Tensor) {
    if x.error().is_some() {
        return (x.clone(), x.clone());
    }
    let n = kernel.len();
    let (name, args, lead, spatial, slides) = match plan(x, kernel, options) {
        Ok(plan) => plan,
        Err(failed) => return (failed.clone(), failed),
    };
    let both = region(name, args, &[x], |x| {
        let x = &x[0];
        let view = windows(x, &slides, x.dtype().lowest());
        let counts: Vec<usize> = slides.iter().map(|s| s.count as usize).collect();
        let in_window = view.reshape([&lead[..], &counts, &[product(kernel)]].concat()).argmax(-1);
        // Converts the position in the window to a position in the input, axis by axis.
        let mut position = scalar_zero();
        for (i, s) in slides.iter().enumerate() {
            let (inner, size) = (product(&kernel[i + 1..]), kernel[i]);
            let offsets = (0..product(kernel)).map(|k| (k / inner % size) as i64 * s.dilation).collect();
            let starts: Vec<i64> = (0..s.count).map(|p| p * s.stride - s.padding).collect();
            let axis = along(i, n, counts[i]);
            let offset = apply1(Take { axis: 0 }, &[&integers(offsets, [product(kernel)]), &in_window]);
            let mut at = offset + integers(starts, &axis[..]);
            if s.padding > 0 {
                // If all elements equal the padding value, the padding would be chosen; uses the first
                // element instead.
                let first: Vec<i64> = (0..s.count).map(|p| s.first(p)).collect();
                at = at.maximum(&integers(first, &axis[..]));
            }
            position = position * s.extent + at;
        }
        (at_positions(x, &position, &lead, &spatial), position)
    });
    pair_or_failed(both)
}

/// Makes the integer 0, from which positions are accumulated.
#[track_caller]
fn scalar_zero() -> Tensor {
    super::each::scalar(DType::I64, 0.0)
}

fn pair_or_failed(outs: Result<Vec<Tensor>>) -> (Tensor, Tensor) {
    let outs = outs.and_then(|v| {
        <[Tensor; 2]>::try_from(v)
            .map_err(|v| Error::verify(format!("expected two results, found {}", v.len())))
    });
    match outs {
        Ok([a, b]) => (a, b),
        Err(e) => (Tensor::failed(e.clone()), Tensor::failed(e)),
    }
}

/// Largest element of each window over the last `kernel.len()` axes; see [`max_pool_with_indices`].
#[track_caller]
pub fn max_pool(x: &Tensor, kernel: &[usize], options: &MaxPoolOptions) -> Tensor {
    if x.error().is_some() {
        return x.clone();
    }
    let (name, mut args, lead, _, slides) = match plan(x, kernel, options) {
        Ok(plan) => plan,
        Err(failed) => return failed,
    };
    // The windows tile the input: they do not overlap, and none is partly filled.
    let tiled =
        |s: &Slide| s.stride == s.size && s.dilation == 1 && s.padding == 0 && s.count * s.size <= s.extent;
    if !slides.iter().all(tiled) && product(kernel) <= overlap_pool::MAX {
        args.push(arg("written_out", true));
        return Overlapping { lead: &lead, slides: &slides }.pool(name, args, x);
    }
    if !slides.iter().all(tiled) || product(kernel) > tiled_pool::MAX {
        return max_pool_with_indices(x, kernel, options).0;
    }
    args.push(arg("tiled", true));
    let count = slides.iter().map(|s| s.count as usize).collect();
    Tiles { lead, count, size: kernel.to_vec() }.pool(name, args, x)
}

/// Mean of each window over the last `kernel.len()` axes. Integers are converted to `f32`.
#[track_caller]
pub fn avg_pool(x: &Tensor, kernel: &[usize], options: &AvgPoolOptions) -> Tensor {
    let n = kernel.len();
    let name = by_rank!(n, "avg_pool" "avg_pool1d" "avg_pool2d" "avg_pool3d");
    if let Some(failed) = failed(&[x]) {
        return failed;
    }
    let AvgPoolOptions { stride, padding, ceil_mode, count_include_pad, divisor_override } = options;
    let plan = || {
        let (_, spatial) = split_shape(&x.shape(), n, "pooling")?;
        slides(&spatial, kernel, stride, padding, &1.into(), *ceil_mode)
    };
    let slides = match plan() {
        Ok(slides) => slides,
        Err(e) => return Tensor::refuse(name, &[x], e),
    };
    if *divisor_override == Some(0.0) {
        return Tensor::refuse(name, &[x], Error::value("divisor_override", "must not be 0"));
    }
    let ints = |f: fn(&Slide) -> i64| slides.iter().map(f).collect::<Vec<i64>>();
    let mut args = vec![
        arg("kernel", ints(|s| s.size)),
        arg("stride", ints(|s| s.stride)),
        arg("padding", ints(|s| s.padding)),
        arg("ceil_mode", *ceil_mode),
        arg("count_include_pad", *count_include_pad),
    ];
    args.extend(divisor_override.map(|d| arg("divisor_override", d)));
    region1(name, args, &[x], |x| {
        let x = floating(&x[0]);
        let view = windows(&x, &slides, 0.0);
        let last: Vec<isize> = (1..=n as isize).map(|a| -a).collect();
        let sum = view.sum(last);
        if let Some(divisor) = divisor_override {
            return sum / *divisor;
        }
        // The counts are products over axes, and usually all equal.
        let counts = slides.iter().fold(vec![1.0], |counts: Vec<f64>, s| {
            let own = |p| s.divisor(p, *count_include_pad) as f64;
            counts.iter().flat_map(|c| (0..s.count).map(move |p| c * own(p))).collect()
        });
        match counts.first() {
            Some(&c) if counts.iter().all(|&d| d == c) => sum / c,
            _ => {
                let extents: Vec<usize> = slides.iter().map(|s| s.count as usize).collect();
                &sum / floats(x.dtype(), counts, extents)
            }
        }
    })
}

/// Converts integers to `f32`.
#[track_caller]
pub(super) fn floating(x: &Tensor) -> Tensor {
    if x.dtype().is_differentiable() { x.clone() } else { x.to_dtype(DType::F32) }
}

/// Returns start and end of window `i` of `count` windows of nearly equal length. If `count` does not divide the
/// extent, adjacent windows may share one element.
fn bin(i: usize, count: usize, extent: usize) -> (usize, usize) {
    let [i, n, extent] = [i, count, extent].map(|v| v as u128);
    ((i * extent / n) as usize, ((i + 1) * extent).div_ceil(n) as usize)
}

/// Gathers the windows of an adaptive pooling as a new axis after each pooled axis: `…, S` becomes `…, O, K,
/// …`. Windows shorter than the longest repeat their last element.
#[track_caller]
fn bins(x: &Tensor, sizes: &[usize]) -> (Tensor, Vec<Vec<usize>>) {
    let lead = x.rank() - sizes.len();
    let (mut view, mut lengths) = (x.clone(), Vec::new());
    for (j, &count) in sizes.iter().enumerate() {
        let axis = lead + 2 * j;
        let Some(&extent) = view.shape().get(axis) else { break };
        let ranges: Vec<(usize, usize)> = (0..count).map(|i| bin(i, count, extent)).collect();
        let longest = ranges.iter().map(|(a, b)| b - a).max().unwrap_or(1);
        if count * longest == extent {
            let shape = view.shape();
            view = view.reshape([&shape[..axis], &[count, longest], &shape[axis + 1..]].concat());
        } else {
            let indices = |(a, b): &(usize, usize)| {
                let (a, b) = (*a, *b);
                (0..longest).map(move |k| (a + k).min(b - 1) as i64)
            };
            let table = integers(ranges.iter().flat_map(indices).collect(), [count, longest]);
            view = apply1(Take { axis }, &[&view, &table]);
        }
        lengths.push(ranges.iter().map(|(a, b)| b - a).collect());
    }
    (view, lengths)
}

fn adaptive_plan(x: &Tensor, sizes: &[usize]) -> Result<(Vec<usize>, Vec<usize>)> {
    if sizes.is_empty() {
        return Err(Error::value(
            "an empty output size",
            "selects no axes; pass one extent for each of the last axes",
        ));
    }
    let (lead, spatial) = split_shape(&x.shape(), sizes.len(), "pooling")?;
    let sizes = Each::from(sizes).resolve("output_size", sizes.len(), 1)?;
    if let Some(i) = (0..sizes.len()).find(|&i| spatial[i] == 0) {
        return Err(Error::shape(format!("spatial axis {i} of extent 0"), "has nothing to pool"));
    }
    check_memory(x, &sizes)?;
    Ok((lead, spatial))
}

/// Mean over `size` windows of nearly equal length along each of the last axes. Where the size does not divide the
/// extent, adjacent windows may share one element. Integers are converted to `f32`.
#[track_caller]
pub fn adaptive_avg_pool(x: &Tensor, size: &[usize]) -> Tensor {
    let n = size.len();
    let name =
        by_rank!(n, "adaptive_avg_pool" "adaptive_avg_pool1d" "adaptive_avg_pool2d" "adaptive_avg_pool3d");
    if let Some(failed) = failed(&[x]) {
        return failed;
    }
    if let Err(e) = adaptive_plan(x, size) {
        return Tensor::refuse(name, &[x], e);
    }
    region1(name, vec![arg("output_size", size.to_vec())], &[x], |x| {
        let (view, lengths) = bins(&floating(&x[0]), size);
        let lead = x[0].rank() - n;
        // From the last axis on, so that the indices of the axes before it stay valid.
        let each = lengths.iter().enumerate().rev();
        each.fold(view, |y, (j, lengths)| mean_of(&y, lead + 2 * j, lengths))
    })
}

/// Mean over axis `axis + 1`, counting only the first `lengths[i]` elements at index `i` of `axis`.
#[track_caller]
fn mean_of(x: &Tensor, axis: usize, lengths: &[usize]) -> Tensor {
    let Some(&longest) = x.shape().get(axis + 1) else { return x.clone() };
    let inner = vec![1; x.rank() - axis - 2];
    if lengths.iter().all(|&l| l == longest) {
        return x.sum(axis as isize + 1) / longest as f64;
    }
    let flags: Vec<bool> = lengths.iter().flat_map(|&l| (0..longest).map(move |k| k < l)).collect();
    let counts = Tensor::from_slice(&flags, [&[lengths.len(), longest][..], &inner].concat());
    let sum = counts.select(x, &super::each::scalar(x.dtype(), 0.0)).sum(axis as isize + 1);
    let divisors = lengths.iter().map(|&l| l as f64).collect();
    &sum / floats(x.dtype(), divisors, [&[lengths.len()][..], &inner].concat())
}

/// Maximum over `size` windows of nearly equal length along each of the last axes, as [`max_pool`]. Where the size
/// does not divide the extent, adjacent windows may share one element.
#[track_caller]
pub fn adaptive_max_pool(x: &Tensor, size: &[usize]) -> Tensor {
    let n = size.len();
    let name =
        by_rank!(n, "adaptive_max_pool" "adaptive_max_pool1d" "adaptive_max_pool2d" "adaptive_max_pool3d");
    if let Some(failed) = failed(&[x]) {
        return failed;
    }
    let (lead, spatial) = match adaptive_plan(x, size) {
        Ok(plan) => plan,
        Err(e) => return Tensor::refuse(name, &[x], e),
    };
    region1(name, vec![arg("output_size", size.to_vec())], &[x], |x| {
        let (view, lengths) = bins(&x[0], size);
        let longest: Vec<usize> = lengths.iter().map(|l| l.iter().copied().max().unwrap_or(1)).collect();
        let first = lead.len() as isize;
        let every_second = |from: isize| (0..n as isize).map(move |j| from + 2 * j);
        let order: Vec<isize> =
            (0..first).chain(every_second(first)).chain(every_second(first + 1)).collect();
        let in_window =
            view.permute(order).reshape([&lead[..], size, &[product(&longest)]].concat()).argmax(-1);
        let (mut position, mut left) = (scalar_zero(), in_window);
        for i in 0..n {
            let inner = product(&longest[i + 1..]) as i64;
            let (k, rest) = (left.floor_div(inner), left.remainder(inner));
            let starts: Vec<i64> = (0..size[i]).map(|p| bin(p, size[i], spatial[i]).0 as i64).collect();
            let at = k + integers(starts, along(i, n, size[i]));
            (position, left) = (position * spatial[i] as i64 + at, rest);
        }
        at_positions(&x[0], &position, &lead, &spatial)
    })
}
