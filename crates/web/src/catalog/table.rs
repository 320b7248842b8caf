//! The table of operations. Pointwise ops are taken from the catalog of graph ops; each other operation is one line here.

use super::arguments::Arguments;
use super::{Entry, Run};
use crate::session;
use gradus_ir::ops::pointwise;
use gradus_ir::{Aval, DType, Error, Result};
use gradus_tensor::func::{self, AvgPoolOptions, Each, Interpolation, MaxPoolOptions, SOFTPLUS};
use gradus_tensor::{
    AttentionOptions, CrossEntropyOptions, Device, Ix, Tensor, scaled_dot_product_attention,
};

/// Returns all operations.
pub(super) fn entries() -> Vec<Entry> {
    let pointwise_entry = |op: &'static gradus_ir::ops::Pointwise| {
        let arguments = match op.arity {
            1 => "",
            2 => "other: Tensor | number",
            _ => "second: Tensor, third: Tensor",
        };
        Entry { name: op.name, arguments, doc: op.docs.trim(), method: true, run: Run::Pointwise(op) }
    };
    let mut all: Vec<Entry> = pointwise::all().map(pointwise_entry).collect();
    let methods = [shapes(), reductions(), products(), layers(), losses()].concat();
    all.extend(methods.into_iter().map(|(name, arguments, doc, f)| Entry {
        name,
        arguments,
        doc,
        method: true,
        run: Run::Function(f),
    }));
    all.extend(creation().into_iter().map(|(name, arguments, doc, f)| Entry {
        name,
        arguments,
        doc,
        method: false,
        run: Run::Function(f),
    }));
    all
}

type Function = fn(&Arguments<'_>) -> Result<Vec<Tensor>>;
type Line = (&'static str, &'static str, &'static str, Function);

/// Wraps a single result.
fn one(t: Tensor) -> Result<Vec<Tensor>> {
    t.check()?;
    Ok(vec![t])
}

fn refs(all: &[Tensor]) -> Vec<&Tensor> {
    all.iter().collect()
}

#[rustfmt::skip]
fn shapes() -> Vec<Line> {
    vec![
        ("reshape", "shape: number[]", "Other extents for the same elements; -1 is inferred.", |a| one(a.tensor(0)?.reshape(a.integers(1)?))),
        ("permute", "axes: number[]", "Axes in another order.", |a| one(a.tensor(0)?.permute(a.axes(1)?))),
        ("transpose", "axis1: number, axis2: number", "Two axes exchanged.", |a| one(a.tensor(0)?.transpose(a.axis(1, None)?, a.axis(2, None)?))),
        ("expand", "shape: number[]", "Axes of extent 1 repeated.", |a| one(a.tensor(0)?.expand(a.integers(1)?))),
        ("unsqueeze", "axis: number", "A new axis of extent 1.", |a| one(a.tensor(0)?.unsqueeze(a.axis(1, None)?))),
        ("squeeze", "axes?: number | number[]", "Without axes of extent 1.", |a| one(match a.axes(1)? {
            Some(axes) => a.tensor(0)?.squeeze(axes),
            None => {
                let t = a.tensor(0)?;
                let kept: Vec<usize> = t.shape().iter().copied().filter(|n| *n != 1).collect();
                t.reshape(kept)
            }
        })),
        ("flatten", "from?: number, to?: number", "Several axes as one.", |a| one(a.tensor(0)?.flatten(a.axis(1, Some(0))?, a.axis(2, Some(-1))?))),
        ("flip", "axes: number | number[]", "Elements in reverse order along axes.", |a| one(a.tensor(0)?.flip(a.axes(1)?))),
        ("narrow", "axis: number, start: number, length: number", "A range of an axis.", |a| one(a.tensor(0)?.narrow(a.axis(1, None)?, a.size(2, None)?, a.size(3, None)?))),
        ("slice", "axis: number, start?: number, end?: number, step?: number", "A range of an axis; negative ends count from the end.", |a| {
            let (t, axis) = (a.tensor(0)?, a.axis(1, None)?);
            let axis = if axis < 0 { axis + t.rank() as isize } else { axis };
            let end = |i| if a.has(i) { a.axis(i, None).map(Some) } else { Ok(None) };
            let mut index = vec![Ix::Range(None, None, 1); usize::try_from(axis).map_err(|_| Error::value("an axis", "is out of range"))?];
            index.push(Ix::Range(end(2)?, end(3)?, a.axis(4, Some(1))?));
            one(t.at(index))
        }),
        ("select", "axis: number, index: number", "One element of an axis, which is removed.", |a| {
            let (t, axis, at) = (a.tensor(0)?, a.axis(1, None)?, a.axis(2, None)?);
            let axis = if axis < 0 { axis + t.rank() as isize } else { axis };
            let mut index = vec![Ix::Range(None, None, 1); usize::try_from(axis).map_err(|_| Error::value("an axis", "is out of range"))?];
            index.push(Ix::At(at));
            one(t.at(index))
        }),
        ("pad", "padding: [number, number][]", "Zeros before and after, per axis.", |a| {
            let all = a.pairs(1)?;
            one(a.tensor(0)?.pad_zeros(&all))
        }),
        ("repeat", "repeats: number[]", "The tensor repeated this many times along each axis.", |a| one(a.tensor(0)?.repeat(&a.sizes(1, 1)?))),
        ("roll", "shifts: number[], axes: number[]", "Elements moved along axes; elements that leave reappear at the other end.", |a| one(a.tensor(0)?.roll(&a.integers(1)?, &a.axes(2)?.unwrap_or_default()))),
        ("split", "size: number, axis?: number", "Parts of at most this size.", |a| Ok(a.tensor(0)?.split(a.size(1, None)?, a.axis(2, Some(0))?))),
        ("chunk", "chunks: number, axis?: number", "This many parts.", |a| Ok(a.tensor(0)?.chunk(a.size(1, None)?, a.axis(2, Some(0))?))),
        ("unbind", "axis?: number", "All elements of an axis.", |a| Ok(a.tensor(0)?.unbind(a.axis(1, Some(0))?))),
        ("tril", "diagonal?: number", "The lower triangle; 0 elsewhere.", |a| one(a.tensor(0)?.tril(a.axis(1, Some(0))?))),
        ("triu", "diagonal?: number", "The upper triangle; 0 elsewhere.", |a| one(a.tensor(0)?.triu(a.axis(1, Some(0))?))),
        ("indexSelect", "axis: number, ids: Tensor", "The elements of an axis at these integers.", |a| one(a.tensor(0)?.index_select(a.axis(1, None)?, &a.tensor(2)?))),
        ("gather", "axis: number, index: Tensor", "Gathers, for each element of the index, the element of an axis at that index.", |a| one(a.tensor(0)?.gather(a.axis(1, None)?, &a.tensor(2)?))),
        ("scatterAdd", "axis: number, index: Tensor, source: Tensor", "Adds the source at these integers of an axis.", |a| one(a.tensor(0)?.scatter_add(a.axis(1, None)?, &a.tensor(2)?, &a.tensor(3)?))),
        ("maskedFill", "mask: Tensor, value: number", "A number where the mask is true.", |a| one(a.tensor(0)?.masked_fill(&a.tensor(1)?, &a.operand(2)?))),
        ("where", "yes: Tensor | number, no: Tensor | number", "The first of two values where this mask is true, else the second.", |a| one(a.tensor(0)?.select(&a.operand(1)?, &a.operand(2)?))),
        ("oneHot", "classes: number", "For each integer a vector that is 1 there and 0 elsewhere.", |a| one(a.tensor(0)?.one_hot(a.size(1, None)?))),
        ("toDtype", "dtype: DType", "Converted to another dtype.", |a| one(a.tensor(0)?.to_dtype(a.dtype(1, DType::F32)?))),
        ("stopGradient", "", "The same value, through which no gradient flows.", |a| one(a.tensor(0)?.stop_gradient())),
        ("diagonal", "offset?: number, axis1?: number, axis2?: number", "A diagonal.", |a| one(a.tensor(0)?.diagonal(a.axis(1, Some(0))?, a.axis(2, Some(0))?, a.axis(3, Some(1))?))),
    ]
}

/// Defines a reduction that keeps or removes the reduced axes.
macro_rules! reduction {
    ($name:literal, $doc:literal, $plain:ident, $keep:ident) => {
        ($name, "axes?: number | number[], keepdim?: boolean", $doc, |a| {
            let (t, axes) = (a.tensor(0)?, a.axes(1)?);
            one(if a.flag(2, false)? { t.$keep(axes) } else { t.$plain(axes) })
        })
    };
}

#[rustfmt::skip]
fn reductions() -> Vec<Line> {
    vec![
        reduction!("sum", "The sum along axes.", sum, sum_keepdim),
        reduction!("prod", "The product along axes.", prod, prod_keepdim),
        reduction!("mean", "The mean along axes.", mean, mean_keepdim),
        reduction!("max", "The largest element along axes.", max, max_keepdim),
        reduction!("min", "The smallest element along axes.", min, min_keepdim),
        reduction!("any", "True if some element is not 0.", any, any_keepdim),
        reduction!("all", "True if no element is 0.", all, all_keepdim),
        ("variance", "axes?: number | number[], correction?: number, keepdim?: boolean", "The variance along axes.", |a| {
            let (t, axes, c) = (a.tensor(0)?, a.axes(1)?, a.number(2, Some(1.0))?);
            one(if a.flag(3, false)? { t.var_keepdim(axes, c) } else { t.var(axes, c) })
        }),
        ("std", "axes?: number | number[], correction?: number, keepdim?: boolean", "The standard deviation along axes.", |a| {
            let (t, axes, c) = (a.tensor(0)?, a.axes(1)?, a.number(2, Some(1.0))?);
            one(if a.flag(3, false)? { t.std_keepdim(axes, c) } else { t.std(axes, c) })
        }),
        ("logsumexp", "axes?: number | number[], keepdim?: boolean", "The logarithm of the sum of exponentials.", |a| one(a.tensor(0)?.logsumexp(a.axes(1)?, a.flag(2, false)?))),
        ("norm", "p?: number, axes?: number | number[], keepdim?: boolean", "The p-norm along axes.", |a| one(a.tensor(0)?.norm(a.number(1, Some(2.0))?, a.axes(2)?, a.flag(3, false)?))),
        ("argmax", "axis?: number", "The position of the maximum along an axis.", |a| one(a.tensor(0)?.argmax(a.axis(1, Some(-1))?))),
        ("argmin", "axis?: number", "The position of the minimum along an axis.", |a| one(a.tensor(0)?.argmin(a.axis(1, Some(-1))?))),
        ("cumsum", "axis: number", "Running sums.", |a| one(a.tensor(0)?.cumsum(a.axis(1, None)?))),
        ("cumprod", "axis: number", "Running products.", |a| one(a.tensor(0)?.cumprod(a.axis(1, None)?))),
        ("sort", "axis?: number, descending?: boolean", "Sorted elements, and their positions.", |a| {
            let (values, indices) = a.tensor(0)?.sort(a.axis(1, Some(-1))?, a.flag(2, false)?);
            Ok(vec![values, indices])
        }),
        ("topk", "k: number, axis?: number, largest?: boolean", "The k largest elements, and their positions.", |a| {
            let (values, indices) = a.tensor(0)?.topk(a.size(1, None)?, a.axis(2, Some(-1))?, a.flag(3, true)?);
            Ok(vec![values, indices])
        }),
        ("softmax", "axis?: number", "Exponentials that sum to 1 along an axis.", |a| one(a.tensor(0)?.softmax(a.axis(1, Some(-1))?))),
        ("logSoftmax", "axis?: number", "The logarithm of `softmax`.", |a| one(a.tensor(0)?.log_softmax(a.axis(1, Some(-1))?))),
    ]
}

#[rustfmt::skip]
fn products() -> Vec<Line> {
    vec![
        ("matmul", "other: Tensor", "The product of matrices; leading axes broadcast.", |a| one(a.tensor(0)?.matmul(&a.tensor(1)?))),
        ("dot", "other: Tensor", "The inner product of two vectors.", |a| one(a.tensor(0)?.dot(&a.tensor(1)?))),
        ("outer", "other: Tensor", "The outer product of two vectors.", |a| one(a.tensor(0)?.outer(&a.tensor(1)?))),
        ("solve", "right: Tensor", "The solution of a linear system.", |a| one(a.tensor(0)?.solve(&a.tensor(1)?))),
        ("inv", "", "The inverse matrix.", |a| one(a.tensor(0)?.inv())),
        ("det", "", "The determinant.", |a| one(a.tensor(0)?.det())),
        ("cholesky", "", "The lower Cholesky factor.", |a| one(a.tensor(0)?.cholesky())),
        ("qr", "", "The factors Q and R.", |a| { let (q, r) = a.tensor(0)?.qr(); Ok(vec![q, r]) }),
        ("svd", "", "The factors U, S and Vh.", |a| { let (u, s, v) = a.tensor(0)?.svd(); Ok(vec![u, s, v]) }),
        ("eigh", "", "Eigenvalues and eigenvectors of a Hermitian matrix.", |a| { let (w, v) = a.tensor(0)?.eigh(); Ok(vec![w, v]) }),
    ]
}

#[rustfmt::skip]
fn layers() -> Vec<Line> {
    vec![
        ("relu", "", "Negative numbers become 0.", |a| one(a.tensor(0)?.relu())),
        ("leakyRelu", "negativeSlope?: number", "Negative numbers are scaled.", |a| one(a.tensor(0)?.leaky_relu(a.number(1, Some(0.01))?))),
        ("elu", "alpha?: number", "Negative numbers become alpha times their exponential less 1.", |a| one(a.tensor(0)?.elu(a.number(1, Some(1.0))?))),
        ("gelu", "", "The number times the normal distribution function.", |a| one(a.tensor(0)?.gelu())),
        ("silu", "", "The number times its sigmoid.", |a| one(a.tensor(0)?.silu())),
        ("softplus", "", "log(1 + exp(x)), a smooth `relu`.", |a| one(a.tensor(0)?.softplus(SOFTPLUS.beta, SOFTPLUS.threshold))),
        ("clamp", "min?: number, max?: number", "Not below min, not above max.", |a| one(a.tensor(0)?.clamp(a.maybe_number(1)?, a.maybe_number(2)?))),
        ("linear", "weight: Tensor, bias?: Tensor", "The product with a transposed weight [out, in], plus a bias.", |a| one(func::linear(&a.tensor(0)?, &a.tensor(1)?, a.maybe_tensor(2)?.as_ref()))),
        ("embedding", "ids: Tensor", "The rows of this table at integers.", |a| one(func::embedding(&a.tensor(1)?, &a.tensor(0)?, None))),
        ("layerNorm", "shape: number[], weight?: Tensor, bias?: Tensor, eps?: number", "Mean 0 and variance 1 over the last axes.", |a| one(a.tensor(0)?.layer_norm(a.integers(1)?, a.maybe_tensor(2)?.as_ref(), a.maybe_tensor(3)?.as_ref(), a.number(4, Some(1e-5))?))),
        ("rmsNorm", "shape: number[], weight?: Tensor, eps?: number", "Mean square 1 over the last axes.", |a| one(a.tensor(0)?.rms_norm(a.integers(1)?, a.maybe_tensor(2)?.as_ref(), a.maybe_number(3)?))),
        ("groupNorm", "groups: number, weight?: Tensor, bias?: Tensor, eps?: number", "Mean 0 and variance 1 over groups of channels.", |a| one(a.tensor(0)?.group_norm(a.size(1, None)?, a.maybe_tensor(2)?.as_ref(), a.maybe_tensor(3)?.as_ref(), a.number(4, Some(1e-5))?))),
        ("conv2d", "weight: Tensor, bias?: Tensor, stride?: number | number[], padding?: number | number[], dilation?: number | number[], groups?: number", "Convolution of [N,C,H,W] with windows [O,C/groups,h,w].", |a| {
            let options = func::ConvOptions {
                stride: Each(a.sizes(3, 1)?),
                padding: Each(a.sizes(4, 0)?).into(),
                dilation: Each(a.sizes(5, 1)?),
                groups: a.size(6, Some(1))?,
            };
            one(func::conv(&a.tensor(0)?, &a.tensor(1)?, a.maybe_tensor(2)?.as_ref(), &options))
        }),
        ("maxPool2d", "kernel: number | number[], stride?: number | number[], padding?: number | number[]", "The largest element of each window.", |a| {
            let stride = if a.has(2) { Some(Each(a.sizes(2, 1)?)) } else { None };
            let options = MaxPoolOptions { stride, padding: Each(a.sizes(3, 0)?), ..MaxPoolOptions::default() };
            one(func::max_pool(&a.tensor(0)?, &two(a.sizes(1, 1)?), &options))
        }),
        ("avgPool2d", "kernel: number | number[], stride?: number | number[], padding?: number | number[]", "The mean of each window.", |a| {
            let stride = if a.has(2) { Some(Each(a.sizes(2, 1)?)) } else { None };
            let options = AvgPoolOptions { stride, padding: Each(a.sizes(3, 0)?), ..AvgPoolOptions::default() };
            one(func::avg_pool(&a.tensor(0)?, &two(a.sizes(1, 1)?), &options))
        }),
        ("interpolate", "size: number[], mode?: 'nearest' | 'linear'", "The last axes resampled to these extents.", |a| {
            let mode = if a.has(2) && a.text(2)? == "linear" { Interpolation::Linear { align_corners: false } } else { Interpolation::Nearest };
            one(func::interpolate(&a.tensor(0)?, &a.sizes(1, 1)?, mode))
        }),
        ("dropout", "p: number", "Elements become 0 with probability p; the others are scaled.", |a| {
            let t = a.tensor(0)?;
            one(t.dropout(a.number(1, None)?, true, &session::generator(device_of(&t))?))
        }),
        ("rope", "base?: number, offset?: number", "Rotary positions over [..., positions, features].", |a| one(a.tensor(0)?.rope(a.number(1, Some(10_000.0))?, a.axis(2, Some(0))? as i64))),
        ("attention", "key: Tensor, value: Tensor, options?: { causal?: boolean, mask?: Tensor, scale?: number }", "Scaled dot-product attention over [..., positions, features].", |a| {
            let options = AttentionOptions { causal: a.option(3, "causal").as_bool() == Some(true), mask: a.tensor_option(3, "mask")?, scale: a.option(3, "scale").as_f64(), ..AttentionOptions::default() };
            one(scaled_dot_product_attention(&a.tensor(0)?, &a.tensor(1)?, &a.tensor(2)?, &options))
        }),
    ]
}

/// Returns the sizes of two axes: one number for both, or one for each.
fn two(sizes: Vec<usize>) -> Vec<usize> {
    if let [n] = sizes[..] { vec![n, n] } else { sizes }
}

/// Returns the device of a tensor; in a trace, the page's device.
fn device_of(t: &Tensor) -> Device {
    if t.is_traced() { Device::default() } else { t.device() }
}

#[rustfmt::skip]
fn losses() -> Vec<Line> {
    vec![
        ("mseLoss", "target: Tensor, reduction?: Reduction", "The squared difference.", |a| one(func::mse_loss(&a.tensor(0)?, &a.tensor(1)?, a.reduction(2)?))),
        ("l1Loss", "target: Tensor, reduction?: Reduction", "The absolute difference.", |a| one(func::l1_loss(&a.tensor(0)?, &a.tensor(1)?, a.reduction(2)?))),
        ("huberLoss", "target: Tensor, delta?: number, reduction?: Reduction", "Squared for small differences, absolute for large ones.", |a| one(func::huber_loss(&a.tensor(0)?, &a.tensor(1)?, a.number(2, Some(1.0))?, a.reduction(3)?))),
        ("bceLoss", "target: Tensor, reduction?: Reduction", "Binary cross-entropy of probabilities.", |a| one(func::binary_cross_entropy(&a.tensor(0)?, &a.tensor(1)?, None, a.reduction(2)?))),
        ("bceWithLogits", "target: Tensor, reduction?: Reduction", "Binary cross-entropy of logits.", |a| one(func::binary_cross_entropy_with_logits(&a.tensor(0)?, &a.tensor(1)?, None, None, a.reduction(2)?))),
        ("crossEntropy", "target: Tensor, options?: { labelSmoothing?: number, ignoreIndex?: number, reduction?: Reduction }", "Cross-entropy of logits [n, c, ...] with classes, or with probabilities.", |a| {
            let mut options = CrossEntropyOptions { label_smoothing: a.option(2, "labelSmoothing").as_f64().unwrap_or(0.0), ..CrossEntropyOptions::default() };
            if let Some(i) = a.option(2, "ignoreIndex").as_i64() { options.ignore_index = i; }
            options.reduction = a.reduction_option(2, "reduction")?;
            one(func::cross_entropy(&a.tensor(0)?, &a.tensor(1)?, &options))
        }),
    ]
}

/// Makes a tensor on the device that an argument names.
fn made(a: &Arguments<'_>, device: usize, make: impl FnOnce() -> Result<Tensor>) -> Result<Vec<Tensor>> {
    // In a trace, constants belong to no device.
    if gradus_tensor::is_tracing() {
        return one(make()?);
    }
    let device = a.device(device)?;
    one(device.with(make)?.to(device))
}

#[rustfmt::skip]
fn creation() -> Vec<Line> {
    vec![
        ("zeros", "shape: number[], dtype?: DType, device?: DeviceName", "Zeros.", |a| made(a, 2, || Ok(Tensor::zeros_of(&Aval::new(a.dtype(1, DType::F32)?, a.sizes(0, 1)?))))),
        ("ones", "shape: number[], dtype?: DType, device?: DeviceName", "Ones.", |a| made(a, 2, || Ok(Tensor::full_of(&Aval::new(a.dtype(1, DType::F32)?, a.sizes(0, 1)?), 1.0)))),
        ("full", "shape: number[], value: number, dtype?: DType, device?: DeviceName", "One number everywhere.", |a| made(a, 3, || Ok(Tensor::full_of(&Aval::new(a.dtype(2, DType::F32)?, a.sizes(0, 1)?), a.number(1, None)?)))),
        ("arange", "start: number, stop: number, step?: number, dtype?: DType, device?: DeviceName", "Numbers from start to below stop.", |a| made(a, 4, || {
            let (start, stop, step) = (a.number(0, None)?, a.number(1, None)?, a.number(2, Some(1.0))?);
            Ok(Tensor::arange(start, stop, step).to_dtype(a.dtype(3, DType::F32)?))
        })),
        ("linspace", "start: number, stop: number, count: number, device?: DeviceName", "Numbers at equal distances, both ends included.", |a| made(a, 3, || Ok(Tensor::linspace(a.number(0, None)?, a.number(1, None)?, a.size(2, None)?)))),
        ("eye", "n: number, device?: DeviceName", "The identity matrix.", |a| made(a, 1, || Ok(Tensor::eye(a.size(0, None)?)))),
        ("rand", "shape: number[], device?: DeviceName", "Uniform random numbers from 0 to below 1.", |a| made(a, 1, || Ok(session::generator(drawing(a, 1)?)?.rand(a.sizes(0, 1)?)))),
        ("randn", "shape: number[], device?: DeviceName", "Normal random numbers.", |a| made(a, 1, || Ok(session::generator(drawing(a, 1)?)?.randn(a.sizes(0, 1)?)))),
        ("randint", "low: number, high: number, shape: number[], device?: DeviceName", "Random integers from low to below high, i64.", |a| made(a, 3, || Ok(session::generator(drawing(a, 3)?)?.randint(a.axis(0, None)? as i64, a.axis(1, None)? as i64, a.sizes(2, 1)?)))),
        ("cat", "tensors: Tensor[], axis?: number", "Tensors concatenated along an axis.", |a| one(Tensor::cat(&refs(&a.tensors(0)?), a.axis(1, Some(0))?))),
        ("stack", "tensors: Tensor[], axis?: number", "Tensors along a new axis.", |a| one(Tensor::stack(&refs(&a.tensors(0)?), a.axis(1, Some(0))?))),
        ("einsum", "equation: string, tensors: Tensor[]", "A sum of products by index letters.", |a| one(Tensor::einsum(&a.text(0)?, &refs(&a.tensors(1)?)))),
        ("index", "shape: number[], axis: number, dtype?: DType, device?: DeviceName", "At each element its position along an axis.", |a| made(a, 3, || Ok(Tensor::iota(a.dtype(2, DType::F32)?, a.sizes(0, 1)?, a.size(1, None)?)))),
    ]
}

/// Returns the device whose generator draws: in a trace, the page's device.
fn drawing(a: &Arguments<'_>, i: usize) -> Result<Device> {
    if gradus_tensor::is_tracing() { Ok(Device::default()) } else { a.device(i) }
}
