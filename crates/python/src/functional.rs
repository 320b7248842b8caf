//! Functions of neural networks: activations with parameters, convolutions, pooling, images.

use crate::error::{raise, value_error};
use crate::tensor::{PyTensor, compute, result};
use crate::value::{PerAxis, T, list};
use gradus::func::SOFTPLUS;
use gradus::func::conv::{ConvOptions, ConvTransposeOptions, Padding};
use gradus::func::image::{Interpolation, PadMode, UnfoldOptions};
use gradus::func::pool::{AvgPoolOptions, MaxPoolOptions};
use gradus::ir::Class;
use gradus::{DType, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Defines activation functions, in place on request.
macro_rules! activations {
    ($($name:ident ($($arg:ident: $ty:ty = $default:tt),*) $(as $text:literal)? $doc:literal |$x:ident| $f:expr;)*) => {
        $(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyfunction]
            // Defaults are single tokens, because PyO3 shows no others.
            #[pyo3(signature = (input, $($arg = $default,)* inplace=false) $(, text_signature = $text)?)]
            pub(crate) fn $name<'py>(input: &Bound<'py, PyTensor>, $($arg: $ty,)* inplace: bool) -> PyResult<Bound<'py, PyTensor>> {
                let py = input.py();
                let new = compute(py, &input.get().value(py)?, |$x| $f);
                if inplace {
                    input.get().write(py, new)?;
                    return Ok(input.clone());
                }
                Bound::new(py, PyTensor::out(new)?)
            }
        )*
    };
}

activations! {
    relu() "x where positive, else 0." |x| x.relu();
    relu6() "Clamped to the range 0 to 6." |x| clamped(x, 0.0, 6.0, |x| x.relu6());
    selu() "The scaled exponential linear unit, which keeps variances." |x| x.selu();
    silu() "x sigmoid(x)." |x| x.silu();
    mish() "x tanh(softplus(x))." |x| x.mish();
    hardsigmoid() "x / 6 + 1 / 2, clamped to the range 0 to 1." |x| x.hardsigmoid();
    hardswish() "x hardsigmoid(x)." |x| x.hardswish();
    leaky_relu(negative_slope: f64 = 0.01) "x where positive, else x times a slope." |x| x.leaky_relu(negative_slope);
    elu(alpha: f64 = 1.0) "x where positive, else alpha (exp(x) - 1)." |x| x.elu(alpha);
    celu(alpha: f64 = 1.0) "x where positive, else alpha (exp(x / alpha) - 1)." |x| x.celu(alpha);
    hardtanh(min_val: f64 = {-1.0}, max_val: f64 = 1.0) as "(input, min_val=-1.0, max_val=1.0, inplace=False)" "Clamped to a range." |x| clamped(x, min_val, max_val, |x| x.hardtanh(min_val, max_val));
    softplus(beta: f64 = {SOFTPLUS.beta}, threshold: f64 = {SOFTPLUS.threshold}) as "(input, beta=1.0, threshold=20.0, inplace=False)" "log(1 + exp(beta x)) / beta." |x| x.softplus(beta, threshold);
    softshrink(lambd: f64 = 0.5) "Moved towards 0 by lambd; 0 where |x| is at most lambd." |x| x.softshrink(lambd);
    hardshrink(lambd: f64 = 0.5) "0 where |x| is at most lambd." |x| x.hardshrink(lambd);
}

/// Clamps integers to bounds truncated to integers, as PyTorch does; calls `f` for other dtypes.
fn clamped(x: &Tensor, low: f64, high: f64, f: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    match x.dtype().class() {
        Class::Int => {
            let [low, high] = [low, high].map(|b| Tensor::from(b.trunc()).to_dtype(x.dtype()));
            x.maximum(&low).minimum(&high)
        }
        _ => f(x),
    }
}

/// x where above a threshold, else a value.
#[doc = example!(threshold)]
#[pyfunction]
#[pyo3(signature = (input, threshold, value, inplace=false))]
pub(crate) fn threshold(input: T, threshold: f64, value: f64, inplace: bool) -> PyResult<PyTensor> {
    let _ = inplace;
    if input.0.dtype().class() == Class::Int {
        let [threshold, value] =
            [threshold, value].map(|n| Tensor::from(n.trunc()).to_dtype(input.0.dtype()));
        return PyTensor::out(input.0.gt(&threshold).select(&input.0, &value));
    }
    PyTensor::out(input.0.threshold(threshold, value))
}

fn gelu_of(x: &Tensor, approximate: &str) -> PyResult<Tensor> {
    match approximate {
        "none" => Ok(x.gelu()),
        "tanh" => Ok(x.gelu_tanh()),
        other => Err(value_error(format!("approximate must be 'none' or 'tanh', not {other:?}"))),
    }
}

/// x times the standard normal distribution function at x; approximated by tanh on request.
#[doc = example!(gelu)]
#[pyfunction]
#[pyo3(signature = (input, *, approximate="none"))]
pub(crate) fn gelu(py: Python<'_>, input: T, approximate: &str) -> PyResult<PyTensor> {
    PyTensor::out(compute(py, &input.0, |x| gelu_of(x, approximate))?)
}

/// The first half along an axis times the sigmoid of the second.
#[doc = example!(glu)]
#[pyfunction]
#[pyo3(signature = (input, dim=-1), text_signature = "(input, dim=-1)")]
pub(crate) fn glu(input: T, dim: isize) -> PyResult<PyTensor> {
    PyTensor::out(input.0.glu(dim))
}

/// x where positive, else x times a learned slope.
#[doc = example!(prelu)]
#[pyfunction]
pub(crate) fn prelu(input: T, weight: T) -> PyResult<PyTensor> {
    PyTensor::out(input.0.prelu(&weight.0))
}

macro_rules! along {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = example!($name)]
            #[pyo3(signature = (dim=None, dtype=None, *, axis=None))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<isize>,
                dtype: Option<crate::dtype::DTypeArg>,
                axis: Option<isize>,
            ) -> PyResult<PyTensor> {
                let (x, dim) = (self.value(py)?, dim.or(axis).unwrap_or(-1));
                let x = dtype.map_or_else(|| x.clone(), |d| x.to_dtype(d.0));
                result(py, &x, |x| x.$name(dim))
            }
        )*}
    };
}

along! {
    softmax "Positive and summing to 1 along an axis: exp(x) / sum(exp(x)).";
    log_softmax "The logarithm of softmax, without overflow.";
    softmin "softmax of -x.";
}

#[pymethods]
impl PyTensor {
    /// x times the standard normal distribution function at x.
    #[doc = example!(gelu)]
    #[pyo3(signature = (*, approximate="none"))]
    fn gelu(&self, py: Python<'_>, approximate: &str) -> PyResult<PyTensor> {
        PyTensor::out(compute(py, &self.value(py)?, |x| gelu_of(x, approximate))?)
    }

    /// log(1 + exp(beta x)) / beta.
    #[doc = example!(softplus)]
    #[pyo3(signature = (beta=SOFTPLUS.beta, threshold=SOFTPLUS.threshold), text_signature = "($self, beta=1.0, threshold=20.0)")]
    fn softplus(&self, py: Python<'_>, beta: f64, threshold: f64) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.softplus(beta, threshold))
    }

    /// x where positive, else x times a slope.
    #[doc = example!(leaky_relu)]
    #[pyo3(signature = (negative_slope=0.01))]
    fn leaky_relu(&self, py: Python<'_>, negative_slope: f64) -> PyResult<PyTensor> {
        result(py, &self.value(py)?, |x| x.leaky_relu(negative_slope))
    }
}

/// x Wᵀ + b.
#[doc = example!(linear)]
#[pyfunction]
#[pyo3(signature = (input, weight, bias=None))]
pub(crate) fn linear(py: Python<'_>, input: T, weight: T, bias: Option<T>) -> PyResult<PyTensor> {
    result(py, &weight.0, |w| gradus::func::linear(&input.0, w, bias.as_ref().map(|b| &b.0)))
}

/// x1 W x2 + b.
#[doc = example!(bilinear)]
#[pyfunction]
#[pyo3(signature = (input1, input2, weight, bias=None))]
pub(crate) fn bilinear(input1: T, input2: T, weight: T, bias: Option<T>) -> PyResult<PyTensor> {
    PyTensor::out(gradus::func::bilinear(&input1.0, &input2.0, &weight.0, bias.as_ref().map(|b| &b.0)))
}

/// Rows of a table at integer indices.
#[doc = example!(embedding)]
#[pyfunction]
#[pyo3(signature = (input, weight, padding_idx=None))]
pub(crate) fn embedding(py: Python<'_>, input: T, weight: T, padding_idx: Option<i64>) -> PyResult<PyTensor> {
    result(py, &input.0, |ids| gradus::embedding(ids, &weight.0, padding_idx))
}

/// Vectors that are 1 at the index of each integer and 0 elsewhere; `num_classes` -1 uses the largest
/// integer.
#[doc = example!(one_hot)]
#[pyfunction]
#[pyo3(signature = (tensor, num_classes=-1), text_signature = "(tensor, num_classes=-1)")]
pub(crate) fn one_hot(tensor: T, num_classes: i64) -> PyResult<PyTensor> {
    let classes = match num_classes {
        -1 if tensor.0.numel() == 0 => {
            return Err(value_error("num_classes is required for an empty tensor"));
        }
        -1 => raise(tensor.0.to_dtype(gradus::DType::I64).max(()).item::<i64>())? + 1,
        n => n,
    };
    let classes = usize::try_from(classes).map_err(|_| value_error("class indices must not be negative"))?;
    PyTensor::out(tensor.0.one_hot(classes))
}

fn padding_of(padding: Option<&Bound<'_, PyAny>>) -> PyResult<Padding> {
    match padding {
        None => Ok(Padding::Each(0usize.into())),
        Some(p) => match p.extract::<String>() {
            Ok(name) if name == "same" => Ok(Padding::Same),
            Ok(name) if name == "valid" => Ok(Padding::Each(0usize.into())),
            Ok(name) => Err(value_error(format!("padding must be 'same', 'valid' or numbers, not {name:?}"))),
            Err(_) => Ok(Padding::Each(p.extract::<PerAxis>()?.each())),
        },
    }
}

fn each(n: Option<PerAxis>, otherwise: usize) -> gradus::Each {
    n.map_or_else(|| otherwise.into(), PerAxis::each)
}

macro_rules! convolutions {
    ($($conv:ident $transpose:ident;)*) => {$(
        /// Convolution: products of a window with every position of the input, summed.
        #[doc = example!($conv)]
        #[pyfunction]
        #[pyo3(signature = (input, weight, bias=None, stride=None, padding=None, dilation=None, groups=1))]
        pub(crate) fn $conv(
            py: Python<'_>,
            input: T,
            weight: T,
            bias: Option<T>,
            stride: Option<PerAxis>,
            padding: Option<&Bound<'_, PyAny>>,
            dilation: Option<PerAxis>,
            groups: usize,
        ) -> PyResult<PyTensor> {
            let how = ConvOptions {
                stride: each(stride, 1),
                padding: padding_of(padding)?,
                dilation: each(dilation, 1),
                groups,
            };
            result(py, &input.0, |x| gradus::func::$conv(x, &weight.0, bias.as_ref().map(|b| &b.0), &how))
        }

        /// The transpose of a convolution.
        #[doc = example!($transpose)]
        #[pyfunction]
        #[pyo3(signature = (input, weight, bias=None, stride=None, padding=None, output_padding=None, groups=1, dilation=None))]
        pub(crate) fn $transpose(
            py: Python<'_>,
            input: T,
            weight: T,
            bias: Option<T>,
            stride: Option<PerAxis>,
            padding: Option<PerAxis>,
            output_padding: Option<PerAxis>,
            groups: usize,
            dilation: Option<PerAxis>,
        ) -> PyResult<PyTensor> {
            let how = ConvTransposeOptions {
                stride: each(stride, 1),
                padding: each(padding, 0),
                output_padding: each(output_padding, 0),
                dilation: each(dilation, 1),
                groups,
            };
            result(py, &input.0, |x| gradus::func::$transpose(x, &weight.0, bias.as_ref().map(|b| &b.0), &how))
        }
    )*};
}

convolutions! {
    conv1d conv_transpose1d;
    conv2d conv_transpose2d;
    conv3d conv_transpose3d;
}

fn per_axis(n: Vec<usize>, axes: usize) -> Vec<usize> {
    if n.len() == 1 { vec![n[0]; axes] } else { n }
}

/// Returns the stride of a pooling. As in PyTorch, an empty list means the kernel's extents.
fn pool_stride(stride: Option<PerAxis>) -> Option<gradus::Each> {
    stride.filter(|s| !s.0.is_empty()).map(PerAxis::each)
}

/// Computes the mean of windows of integers, rounded towards zero. Sums are exact up to 2⁵³, as in `f64`.
fn integer_avg_pool(x: &Tensor, kernel: &[usize], how: &AvgPoolOptions) -> Tensor {
    let wide = x.to_dtype(DType::F64);
    let sums = |x: &Tensor| {
        gradus::func::avg_pool(x, kernel, &AvgPoolOptions { divisor_override: Some(1.0), ..how.clone() })
    };
    let ones = wide.ones_like();
    // The mean of ones is their number over the divisor.
    let divisor = (sums(&ones) / gradus::func::avg_pool(&ones, kernel, how)).round();
    (sums(&wide) / divisor).trunc().to_dtype(x.dtype())
}

macro_rules! pools {
    ($($n:literal $max:ident $avg:ident $adaptive_max:ident $adaptive_avg:ident;)*) => {$(
        /// The maximum of each window, with positions on request.
        #[doc = example!($max)]
        #[pyfunction]
        #[pyo3(signature = (input, kernel_size, stride=None, padding=None, dilation=None, ceil_mode=false, return_indices=false))]
        pub(crate) fn $max<'py>(
            py: Python<'py>,
            input: T,
            kernel_size: PerAxis,
            stride: Option<PerAxis>,
            padding: Option<PerAxis>,
            dilation: Option<PerAxis>,
            ceil_mode: bool,
            return_indices: bool,
        ) -> PyResult<Bound<'py, PyAny>> {
            let how = MaxPoolOptions {
                stride: pool_stride(stride),
                padding: each(padding, 0),
                dilation: each(dilation, 1),
                ceil_mode,
            };
            let kernel = per_axis(kernel_size.0, $n);
            if return_indices {
                let (values, at) = gradus::func::max_pool_with_indices(&input.0, &kernel, &how);
                return PyTuple::new(py, [PyTensor::out(values)?, PyTensor::out(at)?])?.into_bound_py_any(py);
            }
            result(py, &input.0, |x| gradus::func::max_pool(x, &kernel, &how))?.into_bound_py_any(py)
        }

        /// The mean of each window.
        #[doc = example!($avg)]
        #[pyfunction]
        #[pyo3(signature = (input, kernel_size, stride=None, padding=None, ceil_mode=false, count_include_pad=true, divisor_override=None))]
        pub(crate) fn $avg(
            py: Python<'_>,
            input: T,
            kernel_size: PerAxis,
            stride: Option<PerAxis>,
            padding: Option<PerAxis>,
            ceil_mode: bool,
            count_include_pad: bool,
            divisor_override: Option<f64>,
        ) -> PyResult<PyTensor> {
            let how = AvgPoolOptions {
                stride: pool_stride(stride),
                padding: each(padding, 0),
                ceil_mode,
                count_include_pad,
                divisor_override,
            };
            let kernel = per_axis(kernel_size.0, $n);
            result(py, &input.0, |x| match x.dtype().class() {
                Class::Int => integer_avg_pool(x, &kernel, &how),
                _ => gradus::func::avg_pool(x, &kernel, &how),
            })
        }

        /// The maximum over windows that give this output size.
        #[doc = example!($adaptive_max)]
        #[pyfunction]
        pub(crate) fn $adaptive_max(py: Python<'_>, input: T, output_size: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
            let size = adaptive(&input.0, output_size, $n)?;
            result(py, &input.0, |x| gradus::func::adaptive_max_pool(x, &size))
        }

        /// The mean over windows that give this output size.
        #[doc = example!($adaptive_avg)]
        #[pyfunction]
        pub(crate) fn $adaptive_avg(py: Python<'_>, input: T, output_size: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
            let size = adaptive(&input.0, output_size, $n)?;
            result(py, &input.0, |x| gradus::func::adaptive_avg_pool(x, &size))
        }
    )*};
}

/// Parses an output size, in which None keeps the input's extent.
fn adaptive(x: &Tensor, size: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<usize>> {
    let own: Vec<usize> = x.shape().iter().rev().take(n).rev().copied().collect();
    if let Ok(size) = size.extract::<PerAxis>() {
        let size = per_axis(size.0, n);
        if size.len() == n {
            return Ok(size);
        }
        return Err(value_error(format!("output_size must have {n} extents")));
    }
    let some: Vec<Option<usize>> = size.extract()?;
    if some.len() != n || own.len() != n {
        return Err(value_error(format!("output_size must have {n} extents")));
    }
    Ok(some.iter().zip(own).map(|(s, d)| s.unwrap_or(d)).collect())
}

pools! {
    1 max_pool1d avg_pool1d adaptive_max_pool1d adaptive_avg_pool1d;
    2 max_pool2d avg_pool2d adaptive_max_pool2d adaptive_avg_pool2d;
    3 max_pool3d avg_pool3d adaptive_max_pool3d adaptive_avg_pool3d;
}

/// Pads the last axes: `pad` has two numbers per axis, from the last axis on.
#[doc = example!(pad)]
#[pyfunction]
#[pyo3(signature = (input, pad, mode="constant", value=None))]
pub(crate) fn pad(input: T, pad: &Bound<'_, PyAny>, mode: &str, value: Option<f64>) -> PyResult<PyTensor> {
    let mode = match mode {
        "constant" => PadMode::Constant(value.unwrap_or(0.0)),
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        other => {
            return Err(value_error(format!(
                "mode {other:?} is not one of constant, reflect, replicate, circular"
            )));
        }
    };
    PyTensor::out(gradus::func::pad(&input.0, &list(pad)?, mode))
}

/// Resamples the last axes.
#[doc = example!(interpolate)]
#[pyfunction]
#[pyo3(signature = (input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None))]
pub(crate) fn interpolate(
    input: T,
    size: Option<PerAxis>,
    scale_factor: Option<&Bound<'_, PyAny>>,
    mode: &str,
    align_corners: Option<bool>,
    recompute_scale_factor: Option<bool>,
) -> PyResult<PyTensor> {
    let shape = input.0.shape();
    let axes = shape.rank().saturating_sub(2);
    let (size, factors) = match (size, scale_factor) {
        (Some(size), None) => (per_axis(size.0, axes), None),
        (None, Some(factor)) => {
            let factors = match factor.extract::<f64>() {
                Ok(f) => vec![f; axes],
                Err(_) => factor.extract::<Vec<f64>>()?,
            };
            if factors.len() != axes {
                let why = format!("scale_factor has {} entries for {axes} axes to resample", factors.len());
                return Err(value_error(why));
            }
            let size = shape.iter().skip(2).zip(&factors).map(|(&d, f)| (d as f64 * f).floor() as usize);
            (size.collect(), Some(factors))
        }
        _ => return Err(value_error("interpolate needs either size or scale_factor")),
    };
    let mode = match mode {
        "nearest" => Interpolation::Nearest,
        "nearest-exact" => Interpolation::NearestExact,
        "linear" | "bilinear" | "trilinear" => {
            Interpolation::Linear { align_corners: align_corners.unwrap_or(false) }
        }
        "area" => Interpolation::Area,
        other => {
            return Err(value_error(format!(
                "mode {other:?} is not one of nearest, nearest-exact, linear, bilinear, trilinear, area"
            )));
        }
    };
    PyTensor::out(match factors {
        Some(factors) if recompute_scale_factor != Some(true) => {
            gradus::func::interpolate_by(&input.0, &factors, mode)
        }
        _ => gradus::func::interpolate(&input.0, &size, mode),
    })
}

/// Rearranges channels into larger images.
#[doc = example!(pixel_shuffle)]
#[pyfunction]
pub(crate) fn pixel_shuffle(input: T, upscale_factor: usize) -> PyResult<PyTensor> {
    PyTensor::out(gradus::func::pixel_shuffle(&input.0, upscale_factor))
}

/// Rearranges images into more channels.
#[doc = example!(pixel_unshuffle)]
#[pyfunction]
pub(crate) fn pixel_unshuffle(input: T, downscale_factor: usize) -> PyResult<PyTensor> {
    PyTensor::out(gradus::func::pixel_unshuffle(&input.0, downscale_factor))
}

fn windows(dilation: Option<PerAxis>, padding: Option<PerAxis>, stride: Option<PerAxis>) -> UnfoldOptions {
    UnfoldOptions { stride: each(stride, 1), padding: each(padding, 0), dilation: each(dilation, 1) }
}

/// Copies the windows of an image into columns.
#[doc = example!(unfold)]
#[pyfunction]
#[pyo3(signature = (input, kernel_size, dilation=None, padding=None, stride=None))]
pub(crate) fn unfold(
    input: T,
    kernel_size: PerAxis,
    dilation: Option<PerAxis>,
    padding: Option<PerAxis>,
    stride: Option<PerAxis>,
) -> PyResult<PyTensor> {
    PyTensor::out(gradus::func::unfold(
        &input.0,
        &per_axis(kernel_size.0, 2),
        &windows(dilation, padding, stride),
    ))
}

/// Sums columns back into the image from whose windows they come.
#[doc = example!(fold)]
#[pyfunction]
#[pyo3(signature = (input, output_size, kernel_size, dilation=None, padding=None, stride=None))]
pub(crate) fn fold(
    input: T,
    output_size: PerAxis,
    kernel_size: PerAxis,
    dilation: Option<PerAxis>,
    padding: Option<PerAxis>,
    stride: Option<PerAxis>,
) -> PyResult<PyTensor> {
    let how = windows(dilation, padding, stride);
    PyTensor::out(gradus::func::fold(
        &input.0,
        &per_axis(output_size.0, 2),
        &per_axis(kernel_size.0, 2),
        &how,
    ))
}
