//! Convolution and its transpose over any number of spatial axes.
//! Takes inputs, windows and options; applies one `Conv` op, with groups as a batch axis, and adds the bias.

use super::each::{Each, failed};
use crate::eager::apply::apply1;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::conv::Conv;
use gradus_ir::{Error, Result, Shape};

/// Zero padding of the spatial axes of a convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The same number on both sides of each axis.
    Each(Each),
    /// Padding that keeps the extents of the input, for stride 1. An odd total puts the extra zero at the
    /// end.
    Same,
}

impl<T: Into<Each>> From<T> for Padding {
    fn from(n: T) -> Padding {
        Padding::Each(n.into())
    }
}

/// Options of [`conv`].
#[derive(Clone, Debug)]
pub struct ConvOptions {
    /// Stride of the window; default 1.
    pub stride: Each,
    /// Zero padding; default 0.
    pub padding: Padding,
    /// Spacing of the window's elements; default 1.
    pub dilation: Each,
    /// Number of independent groups of channels; default 1.
    pub groups: usize,
}

impl Default for ConvOptions {
    fn default() -> ConvOptions {
        ConvOptions { stride: 1.into(), padding: 0.into(), dilation: 1.into(), groups: 1 }
    }
}

/// Options of [`conv_transpose`].
#[derive(Clone, Debug)]
pub struct ConvTransposeOptions {
    /// Stride of the window in the result; default 1.
    pub stride: Each,
    /// Elements removed from both ends of the result, the padding of the corresponding convolution; default
    /// 0.
    pub padding: Each,
    /// Elements added at the end of the result. A strided convolution maps several extents to one, and this
    /// number chooses among them. It must be below the stride or the dilation; default 0.
    pub output_padding: Each,
    /// Spacing of the window's elements; default 1.
    pub dilation: Each,
    /// Number of independent groups of channels; default 1.
    pub groups: usize,
}

impl Default for ConvTransposeOptions {
    fn default() -> ConvTransposeOptions {
        ConvTransposeOptions {
            stride: 1.into(),
            padding: 0.into(),
            output_padding: 0.into(),
            dilation: 1.into(),
            groups: 1,
        }
    }
}

/// A convolution with checked shapes.
struct Plan {
    op: Conv,
    /// If true, the input has a batch axis.
    batched: bool,
    groups: usize,
    /// Channels of the result.
    channels: usize,
}

/// Returns the number of spatial axes, from the window, and whether the input has a batch axis.
fn spatial_axes(x: &Shape, w: &Shape, axes: Option<usize>, layout: &str) -> Result<(usize, bool)> {
    let n = w.rank().checked_sub(2).filter(|n| axes.is_none_or(|axes| axes == *n));
    match n {
        Some(n) if x.rank() == n + 2 || x.rank() == n + 1 => Ok((n, x.rank() == n + 2)),
        _ => {
            let axes = axes.or(n).map_or("any number of".into(), |n| n.to_string());
            let why = format!("must be [N,C,spatial] or [C,spatial] and {layout} with {axes} spatial axes");
            Err(Error::shape(format!("input {x} and window {w}"), why))
        }
    }
}

fn check_bias(bias: Option<&Tensor>, channels: usize) -> Result<()> {
    match bias {
        Some(b) if b.shape()[..] != [channels] => {
            Err(Error::shape(format!("a bias of shape {}", b.shape()), format!("must be [{channels}]")))
        }
        _ => Ok(()),
    }
}

fn check_groups(groups: usize, counts: &[usize]) -> Result<()> {
    if groups > 0 && counts.iter().all(|n| n.is_multiple_of(groups)) {
        return Ok(());
    }
    Err(Error::value(format!("{groups} groups"), format!("must divide the channels, here {counts:?}")))
}

/// Returns the distance from the first to the last element of a window along an axis.
fn reach(extent: usize, dilation: usize) -> i64 {
    (extent.saturating_sub(1) as i64).saturating_mul(dilation as i64)
}

fn plan(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: &ConvOptions, n: Option<usize>) -> Result<Plan> {
    let (xs, ws) = (x.shape(), w.shape());
    let (n, batched) = spatial_axes(&xs, &ws, n, "[O,C/groups,window]")?;
    let channels = xs[batched as usize];
    check_groups(o.groups, &[channels, ws[0]])?;
    if ws[1].saturating_mul(o.groups) != channels {
        let what = format!("{channels} channels of the input");
        let why = format!("must equal groups × channels of the window, {} × {}", o.groups, ws[1]);
        return Err(Error::shape(what, why));
    }
    check_bias(bias, ws[0])?;
    let stride = o.stride.resolve("stride", n, 1)?;
    let dilation = o.dilation.resolve("dilation", n, 1)?;
    let (low, high) = match &o.padding {
        Padding::Each(padding) => {
            let both = super::each::signed(&padding.resolve("padding", n, 0)?);
            (both.clone(), both)
        }
        Padding::Same if stride.iter().any(|&s| s != 1) => {
            return Err(Error::value(format!("stride {stride:?}"), "must be 1 with `same` padding"));
        }
        Padding::Same => {
            let total: Vec<i64> = (0..n).map(|i| reach(ws[2 + i], dilation[i])).collect();
            (total.iter().map(|t| t / 2).collect(), total.iter().map(|t| t - t / 2).collect())
        }
    };
    let op = Conv { stride, low, high, base_dilation: vec![1; n], window_dilation: dilation };
    Ok(Plan { op, batched, groups: o.groups, channels: ws[0] })
}

fn plan_transpose(
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    o: &ConvTransposeOptions,
    n: Option<usize>,
) -> Result<Plan> {
    let (xs, ws) = (x.shape(), w.shape());
    let (n, batched) = spatial_axes(&xs, &ws, n, "[C,O/groups,window]")?;
    let channels = xs[batched as usize];
    check_groups(o.groups, &[channels])?;
    if ws[0] != channels {
        let what = format!("{channels} channels of the input");
        return Err(Error::shape(what, format!("must equal the {} channels of the window", ws[0])));
    }
    let result = ws[1].saturating_mul(o.groups);
    check_bias(bias, result)?;
    let stride = o.stride.resolve("stride", n, 1)?;
    let dilation = o.dilation.resolve("dilation", n, 1)?;
    let padding = o.padding.resolve("padding", n, 0)?;
    let extra = o.output_padding.resolve("output_padding", n, 0)?;
    if (0..n).any(|i| extra[i] >= stride[i].max(dilation[i])) {
        let why = format!("must be below the stride {stride:?} or the dilation {dilation:?}");
        return Err(Error::value(format!("output_padding {extra:?}"), why));
    }
    // Dilates the input by the stride and convolves with the flipped window: this is the gradient of a
    // convolution.
    let low: Vec<i64> = (0..n).map(|i| reach(ws[2 + i], dilation[i]) - padding[i] as i64).collect();
    let high = (0..n).map(|i| low[i].saturating_add(extra[i] as i64)).collect();
    let op = Conv { stride: vec![1; n], low, high, base_dilation: stride, window_dilation: dilation };
    Ok(Plan { op, batched, groups: o.groups, channels: result })
}

impl Plan {
    #[track_caller]
    fn run(
        self,
        name: &'static str,
        x: &Tensor,
        w: &Tensor,
        bias: Option<&Tensor>,
        window: fn(&Tensor, usize) -> Tensor,
    ) -> Tensor {
        let op = &self.op;
        let args = vec![
            arg("stride", op.stride.clone()),
            arg("low", op.low.clone()),
            arg("high", op.high.clone()),
            arg("spread", op.base_dilation.clone()),
            arg("dilation", op.window_dilation.clone()),
            arg("groups", self.groups),
            arg("batched", self.batched),
            arg("bias", bias.is_some()),
        ];
        let ins: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
        region1(name, args, &ins, |ins| {
            let dtype = ins.iter().fold(ins[0].dtype(), |d, t| d.promote(t.dtype()));
            let (x, w) = (ins[0].to_dtype(dtype), ins[1].to_dtype(dtype));
            let shape = x.shape();
            let batch = if self.batched { shape[0] } else { 1 };
            let (channels, spatial) = (shape[self.batched as usize], &shape[1 + self.batched as usize..]);
            let grouped = [&[batch, self.groups, channels / self.groups][..], spatial].concat();
            let y = apply1(self.op.clone(), &[&x.reshape(grouped), &window(&w, self.groups)]);
            let mut dims = y.shape().to_vec();
            dims.splice(..3.min(dims.len()), [batch, self.channels]);
            let spatial = dims.len().saturating_sub(2);
            let y = y.reshape(&dims[!self.batched as usize..]);
            match ins.get(2) {
                Some(b) => {
                    let column = [vec![self.channels], vec![1; spatial]].concat();
                    y + b.to_dtype(dtype).reshape(column)
                }
                None => y,
            }
        })
    }
}

/// Reshapes `[O, C/groups, window]` to have the groups as an axis.
#[track_caller]
fn grouped(w: &Tensor, groups: usize) -> Tensor {
    let s = w.shape();
    w.reshape([&[groups, s[0] / groups][..], &s[1..]].concat())
}

/// Reshapes `[C, O/groups, window]` to have the groups as an axis, swaps inputs and outputs, and flips the
/// window.
#[track_caller]
fn grouped_transposed(w: &Tensor, groups: usize) -> Tensor {
    let window: Vec<isize> = (3..w.rank() as isize + 1).collect();
    grouped(w, groups).transpose(1, 2).flip(window)
}

#[track_caller]
fn conv_named(
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions,
    n: Option<usize>,
) -> Tensor {
    let ins: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
    let name = match n.or(w.rank().checked_sub(2)) {
        Some(1) => "conv1d",
        Some(2) => "conv2d",
        Some(3) => "conv3d",
        _ => "conv_nd",
    };
    if let Some(failed) = failed(&ins) {
        return failed;
    }
    match plan(x, w, bias, options, n) {
        Ok(plan) => plan.run(name, x, w, bias, grouped),
        Err(e) => Tensor::refuse(name, &ins, e),
    }
}

#[track_caller]
fn conv_transpose_named(
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvTransposeOptions,
    n: Option<usize>,
) -> Tensor {
    let ins: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
    let name = match n.or(w.rank().checked_sub(2)) {
        Some(1) => "conv_transpose1d",
        Some(2) => "conv_transpose2d",
        Some(3) => "conv_transpose3d",
        _ => "conv_transpose",
    };
    if let Some(failed) = failed(&ins) {
        return failed;
    }
    match plan_transpose(x, w, bias, options, n) {
        Ok(plan) => plan.run(name, x, w, bias, grouped_transposed),
        Err(e) => Tensor::refuse(name, &ins, e),
    }
}

/// Convolution (cross-correlation, as in machine learning) of `[N,C,spatial]` or `[C,spatial]` with windows
/// `[O,C/groups,window]`, over as many spatial axes as the window has. Adds a bias `[O]`. Dtypes are
/// promoted.
#[track_caller]
pub fn conv(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
    conv_named(x, w, bias, options, None)
}

/// The transpose of a convolution, which is its gradient for the input: `[N,C,spatial]` or `[C,spatial]` with
/// windows `[C,O/groups,window]`. Each extent becomes `(extent-1)·stride - 2·padding + dilation·(window-1) +
/// output_padding + 1`. Adds a bias `[O]`. Dtypes are promoted.
#[track_caller]
pub fn conv_transpose(
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvTransposeOptions,
) -> Tensor {
    conv_transpose_named(x, w, bias, options, None)
}

macro_rules! ranks {
    ($($n:literal $conv:ident $transpose:ident $layout:literal;)*) => {$(
        #[doc = concat!("[`conv`] of `", $layout, "`.")]
        #[track_caller]
        pub fn $conv(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
            conv_named(x, w, bias, options, Some($n))
        }
        #[doc = concat!("[`conv_transpose`] of `", $layout, "`.")]
        #[track_caller]
        pub fn $transpose(
            x: &Tensor,
            w: &Tensor,
            bias: Option<&Tensor>,
            options: &ConvTransposeOptions,
        ) -> Tensor {
            conv_transpose_named(x, w, bias, options, Some($n))
        }
    )*};
}
ranks! {
    1 conv1d conv_transpose1d "[N,C,L]";
    2 conv2d conv_transpose2d "[N,C,H,W]";
    3 conv3d conv_transpose3d "[N,C,D,H,W]";
}

pub(super) fn samples(s: &mut super::Samples) {
    let plain = ConvOptions::default;
    let cases: [(&[usize], &[usize], bool, ConvOptions); 8] = [
        (&[2, 2, 5], &[3, 2, 3], true, plain()),
        (&[1, 4, 6], &[6, 2, 2], true, ConvOptions { groups: 2, stride: 2.into(), ..plain() }),
        (
            &[3, 5],
            &[3, 1, 2],
            false,
            ConvOptions { groups: 3, dilation: 2.into(), padding: 2.into(), ..plain() },
        ),
        (&[2, 2, 4], &[1, 2, 4], false, ConvOptions { padding: Padding::Same, ..plain() }),
        (
            &[1, 2, 4, 5],
            &[2, 2, 2, 3],
            true,
            ConvOptions { stride: [2, 1].into(), padding: [0, 1].into(), ..plain() },
        ),
        (&[1, 1, 2, 3, 2], &[1, 1, 1, 2, 2], true, plain()),
        (&[0, 2, 4], &[3, 2, 2], true, plain()),
        (&[2, 3], &[4, 3], true, plain()),
    ];
    for (x, w, bias, options) in cases {
        let mut ins = vec![s.draw.normal(x), s.draw.normal(w)];
        ins.extend(bias.then(|| s.draw.normal([w[0]])));
        s.case("conv", ins, move |x| conv(&x[0], &x[1], x.get(2), &options));
    }
    let plain = ConvTransposeOptions::default;
    let cases: [(&[usize], &[usize], bool, ConvTransposeOptions); 4] = [
        (&[2, 2, 3], &[2, 3, 2], true, plain()),
        (
            &[4, 3],
            &[4, 1, 3],
            true,
            ConvTransposeOptions { groups: 2, stride: 2.into(), padding: 1.into(), ..plain() },
        ),
        (
            &[1, 2, 2, 3],
            &[2, 1, 2, 2],
            false,
            ConvTransposeOptions {
                stride: [3, 2].into(),
                output_padding: [1, 0].into(),
                dilation: [1, 2].into(),
                ..plain()
            },
        ),
        (&[0, 1, 2], &[1, 2, 2], true, plain()),
    ];
    for (x, w, bias, options) in cases {
        let mut ins = vec![s.draw.normal(x), s.draw.normal(w)];
        ins.extend(bias.then(|| s.draw.normal([w[1] * options.groups])));
        s.case("conv_transpose", ins, move |x| conv_transpose(&x[0], &x[1], x.get(2), &options));
    }
}
