//! Activation functions, elementwise unless their documentation says otherwise.
//!
//! At a kink the derivative is PyTorch's. Integers become `f32`; NaN stays NaN.

use crate::axis::resolve;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error};
use std::f64::consts::FRAC_1_SQRT_2;

const SELU_SCALE: f64 = 1.0507009873554805;
const SELU_ALPHA: f64 = 1.6732632423543772;

/// Converts integers and booleans to `f32`.
#[track_caller]
pub(super) fn floating(x: &Tensor) -> Tensor {
    if x.dtype().class() < Class::Float { x.to_dtype(DType::F32) } else { x.clone() }
}

/// Converts half precision to `f32`, for sums of many terms.
#[track_caller]
pub(super) fn wide(x: &Tensor) -> Tensor {
    if matches!(x.dtype(), DType::F16 | DType::BF16) { x.to_dtype(DType::F32) } else { x.clone() }
}

/// `alpha (exp(x / scale) - 1)` where `x` is not positive, else `x`. The argument of `expm1` is clamped to at
/// most 0, so that the unused branch does not overflow.
fn exponential_below_zero(x: &Tensor, alpha: f64, scale: f64) -> Tensor {
    let positive = x.gt(0.0);
    let below = positive.select(0.0, x);
    let below = if scale == 1.0 { below } else { below / scale };
    positive.select(x, &(below.expm1() * alpha))
}

/// Clamps `x` to a range; the derivative is 0 at both ends.
fn clamp_to_range(x: &Tensor, low: f64, high: f64) -> Tensor {
    let x = x.le(low).select(low, x);
    x.ge(high).select(high, &x)
}

/// Settings of [`Tensor::softplus`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftplusOptions {
    /// Factor of the argument.
    pub beta: f64,
    /// Value of `beta x` above which the result is `x`.
    pub threshold: f64,
}

/// PyTorch's defaults of [`Tensor::softplus`], which every front end uses.
pub const SOFTPLUS: SoftplusOptions = SoftplusOptions { beta: 1.0, threshold: 20.0 };

impl Tensor {
    /// The positive part; its derivative at 0 is 0. Integers keep their dtype.
    #[track_caller]
    pub fn relu(&self) -> Tensor {
        region1("relu", vec![], &[self], |x| x[0].le(0).select(0, &x[0]))
    }

    /// Clamps to the range 0 to 6; the derivative is 0 at both ends.
    #[track_caller]
    pub fn relu6(&self) -> Tensor {
        region1("relu6", vec![], &[&floating(self)], |x| clamp_to_range(&x[0], 0.0, 6.0))
    }

    /// `x` where positive, else `slope · x`; the derivative at 0 is the slope.
    #[track_caller]
    pub fn leaky_relu(&self, negative_slope: f64) -> Tensor {
        let args = vec![arg("negative_slope", negative_slope)];
        region1("leaky_relu", args, &[&floating(self)], |x| {
            x[0].gt(0.0).select(&x[0], &(&x[0] * negative_slope))
        })
    }

    /// `x` where positive, else `weight · x` with a learned weight: a scalar, or one per channel (axis 1).
    #[track_caller]
    pub fn prelu(&self, weight: &Tensor) -> Tensor {
        let x = floating(self);
        for t in [&x, weight] {
            if t.error().is_some() {
                return t.clone();
            }
        }
        let (shape, count) = (x.shape(), weight.numel());
        let channels = if shape.rank() < 2 { 1 } else { shape[1] };
        if weight.rank() > 1 || (count != 1 && count != channels) {
            let why = format!("must be one number or a vector of {channels}, one per channel (axis 1)");
            let what = format!("a weight of shape {}", weight.shape());
            return Tensor::refuse("prelu", &[&x, weight], Error::shape(what, why));
        }
        region1("prelu", vec![], &[&x, weight], |x| {
            let (x, w) = (&x[0], &x[1]);
            let w = if count == 1 { w.reshape(Vec::<usize>::new()) } else { channelwise(w, x.rank()) };
            x.gt(0.0).select(x, &(w * x))
        })
    }

    /// `x` where positive, else `alpha (exp(x) - 1)`.
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Tensor {
        let args = vec![arg("alpha", alpha)];
        region1("elu", args, &[&floating(self)], |x| exponential_below_zero(&x[0], alpha, 1.0))
    }

    /// The `elu` whose constants keep mean 0 and variance 1 from layer to layer.
    #[track_caller]
    pub fn selu(&self) -> Tensor {
        region1("selu", vec![], &[&floating(self)], |x| {
            exponential_below_zero(&x[0], SELU_ALPHA, 1.0) * SELU_SCALE
        })
    }

    /// `x` where positive, else `alpha (exp(x / alpha) - 1)`: its derivative at 0 is 1. `alpha` must not be
    /// 0.
    #[track_caller]
    pub fn celu(&self, alpha: f64) -> Tensor {
        if alpha == 0.0 {
            return Tensor::refuse(
                "celu",
                &[self],
                Error::value("alpha 0", "cannot be divided by; use another number"),
            );
        }
        let args = vec![arg("alpha", alpha)];
        region1("celu", args, &[&floating(self)], |x| exponential_below_zero(&x[0], alpha, alpha))
    }

    /// `x Φ(x)` with the cumulative normal distribution `Φ`, accurate also where `Φ` is small.
    #[track_caller]
    pub fn gelu(&self) -> Tensor {
        region1("gelu", vec![], &[&floating(self)], |x| (&x[0] * -FRAC_1_SQRT_2).erfc() * &x[0] * 0.5)
    }

    /// `gelu` with PyTorch's approximation by a hyperbolic tangent.
    #[track_caller]
    pub fn gelu_tanh(&self) -> Tensor {
        let slope = std::f64::consts::FRAC_2_PI.sqrt();
        region1("gelu_tanh", vec![], &[&floating(self)], |x| {
            let x = &x[0];
            let inner = (x * x * x * 0.044715 + x) * slope;
            (inner.tanh() + 1.0) * x * 0.5
        })
    }

    /// `x sigmoid(x)`, also known as swish.
    #[track_caller]
    pub fn silu(&self) -> Tensor {
        region1("silu", vec![], &[&floating(self)], |x| &x[0] * x[0].sigmoid())
    }

    /// `x tanh(softplus(x))`.
    #[track_caller]
    pub fn mish(&self) -> Tensor {
        region1("mish", vec![], &[&floating(self)], |x| &x[0] * x[0].logaddexp(0.0).tanh())
    }

    /// `log(1 + exp(beta x)) / beta` without overflow, and `x` itself where `beta x` exceeds the threshold
    /// ([`SOFTPLUS`] has PyTorch's defaults).
    #[track_caller]
    pub fn softplus(&self, beta: f64, threshold: f64) -> Tensor {
        if beta == 0.0 {
            return Tensor::refuse(
                "softplus",
                &[self],
                Error::value("beta 0", "cannot be divided by; use another number"),
            );
        }
        let args = vec![arg("beta", beta), arg("threshold", threshold)];
        region1("softplus", args, &[&floating(self)], |x| {
            let scaled = &x[0] * beta;
            scaled.gt(threshold).select(&x[0], &(scaled.logaddexp(0.0) / beta))
        })
    }

    /// Logarithm of `sigmoid`, accurate for large positive and negative `x`.
    #[track_caller]
    pub fn logsigmoid(&self) -> Tensor {
        region1("logsigmoid", vec![], &[&floating(self)], |x| -(-&x[0]).logaddexp(0.0))
    }

    /// `x / (1 + |x|)`.
    #[track_caller]
    pub fn softsign(&self) -> Tensor {
        region1("softsign", vec![], &[&floating(self)], |x| &x[0] / (x[0].abs() + 1.0))
    }

    /// Clamps to a range; the derivative is 0 at both ends.
    #[track_caller]
    pub fn hardtanh(&self, min: f64, max: f64) -> Tensor {
        if min.is_nan() || max.is_nan() || min > max {
            let why = "is empty; the first number must be at most the second";
            return Tensor::refuse(
                "hardtanh",
                &[self],
                Error::value(format!("the range {min} to {max}"), why),
            );
        }
        let args = vec![arg("min", min), arg("max", max)];
        region1("hardtanh", args, &[&floating(self)], |x| clamp_to_range(&x[0], min, max))
    }

    /// `(x + 3) / 6` clamped to the range 0 to 1; the derivative is 0 at -3 and 3.
    #[track_caller]
    pub fn hardsigmoid(&self) -> Tensor {
        region1("hardsigmoid", vec![], &[&floating(self)], |x| clamp_to_range(&(&x[0] + 3.0), 0.0, 6.0) / 6.0)
    }

    /// `x hardsigmoid(x)`; the derivative is 0 at -3 and 1 at 3.
    #[track_caller]
    pub fn hardswish(&self) -> Tensor {
        region1("hardswish", vec![], &[&floating(self)], |x| {
            &x[0] * (clamp_to_range(&(&x[0] + 3.0), 0.0, 6.0) / 6.0)
        })
    }

    /// `a sigmoid(b)` for the two halves `a` and `b` along an axis.
    #[track_caller]
    pub fn glu(&self, axis: isize) -> Tensor {
        let x = floating(self);
        if x.error().is_some() {
            return x;
        }
        let a = match resolve(axis, x.rank()) {
            Ok(a) => a,
            Err(e) => return Tensor::refuse("glu", &[&x], e),
        };
        let extent = x.shape()[a];
        if !extent.is_multiple_of(2) {
            let what = format!("axis {axis} of extent {extent}");
            return Tensor::refuse("glu", &[&x], Error::shape(what, "cannot be halved; it must be even"));
        }
        region1("glu", vec![arg("axis", a)], &[&x], |x| {
            let half = |start| x[0].narrow(a as isize, start, extent / 2);
            half(0) * half(extent / 2).sigmoid()
        })
    }

    /// `x - tanh(x)`.
    #[track_caller]
    pub fn tanhshrink(&self) -> Tensor {
        region1("tanhshrink", vec![], &[&floating(self)], |x| &x[0] - x[0].tanh())
    }

    /// Moves `x` towards 0 by `lambda`; gives 0, with derivative 0, where `|x| <= lambda`.
    #[track_caller]
    pub fn softshrink(&self, lambda: f64) -> Tensor {
        if lambda.is_nan() || lambda < 0.0 {
            let what = format!("lambda {lambda}");
            return Tensor::refuse("softshrink", &[self], Error::value(what, "must be 0 or more"));
        }
        region1("softshrink", vec![arg("lambda", lambda)], &[&floating(self)], |x| {
            let x = &x[0];
            let inside = x.lt(-lambda).select(&(x + lambda), &(x * 0.0));
            x.gt(lambda).select(&(x - lambda), &inside)
        })
    }

    /// 0, with derivative 0, from `-lambda` to `lambda`; else `x`.
    #[track_caller]
    pub fn hardshrink(&self, lambda: f64) -> Tensor {
        region1("hardshrink", vec![arg("lambda", lambda)], &[&floating(self)], |x| {
            x[0].abs().le(lambda).select(0.0, &x[0])
        })
    }

    /// `x` above the threshold, else `value`.
    #[track_caller]
    pub fn threshold(&self, threshold: f64, value: f64) -> Tensor {
        let args = vec![arg("threshold", threshold), arg("value", value)];
        region1("threshold", args, &[&floating(self)], |x| x[0].le(threshold).select(value, &x[0]))
    }
}

/// Reshapes a vector to broadcast along axis 1 of tensors of this rank.
pub(super) fn channelwise(vector: &Tensor, rank: usize) -> Tensor {
    let mut dims = vec![1usize; rank.saturating_sub(1)];
    if let Some(channel) = dims.first_mut() {
        *channel = vector.numel();
    }
    vector.reshape(dims)
}

pub(super) fn samples(s: &mut super::Samples) {
    type Activation = (&'static str, fn(&Tensor) -> Tensor, &'static [f64]);
    let smooth: [Activation; 13] = [
        ("relu", Tensor::relu, &[0.0, -0.0]),
        ("relu6", Tensor::relu6, &[0.0, 6.0]),
        ("selu", Tensor::selu, &[0.0]),
        ("gelu", Tensor::gelu, &[0.0, -30.0, 30.0]),
        ("gelu_tanh", Tensor::gelu_tanh, &[0.0, -30.0, 30.0]),
        ("silu", Tensor::silu, &[0.0, -800.0, 800.0]),
        ("mish", Tensor::mish, &[0.0, -800.0, 800.0]),
        ("logsigmoid", Tensor::logsigmoid, &[0.0, -800.0, 800.0]),
        ("softsign", Tensor::softsign, &[0.0, 1.0]),
        ("hardsigmoid", Tensor::hardsigmoid, &[-3.0, 3.0]),
        ("hardswish", Tensor::hardswish, &[-3.0, 3.0]),
        ("tanhshrink", Tensor::tanhshrink, &[0.0, 800.0]),
        ("elu", |x| x.elu(0.7), &[0.0, 800.0]),
    ];
    for (name, f, special) in smooth {
        for shape in [&[2, 3][..], &[0], &[1, 4]] {
            let x = s.draw.distinct(shape);
            s.case(name, [x], move |x| f(&x[0]));
        }
        let x = s.draw.uniform((-1.5, -0.5), []);
        s.case(name, [x], move |x| f(&x[0]));
        let x = s.draw.floats([special.len()], special);
        s.kink(name, [x], move |x| f(&x[0]));
    }
    let with: [Activation; 7] = [
        ("leaky_relu", |x| x.leaky_relu(0.2), &[0.0]),
        ("celu", |x| x.celu(1.5), &[0.0, 900.0]),
        ("softplus", |x| x.softplus(2.5, 1.5), &[0.6, -300.0, 300.0]),
        ("hardtanh", |x| x.hardtanh(-0.7, 1.3), &[-0.7, 1.3]),
        ("softshrink", |x| x.softshrink(0.6), &[-0.6, 0.6, 0.0]),
        ("hardshrink", |x| x.hardshrink(0.6), &[-0.6, 0.6, 0.0]),
        ("threshold", |x| x.threshold(0.1, -2.0), &[0.1]),
    ];
    for (name, f, special) in with {
        let x = s.draw.distinct([2, 3]);
        s.case(name, [x], move |x| f(&x[0]));
        let x = s.draw.floats([special.len()], special);
        s.kink(name, [x], move |x| f(&x[0]));
    }
    // A second derivative at 0 that a piecewise formula would lose.
    let zero = s.draw.floats([1], &[0.0]);
    s.case("softplus", [zero.clone()], |x| x[0].softplus(1.0, 20.0));
    s.case("logsigmoid", [zero], |x| x[0].logsigmoid());
    for (shape, weight) in [(&[2, 3][..], &[3][..]), (&[2, 3, 2], &[1]), (&[4], &[]), (&[0, 2], &[2])] {
        let ins = [s.draw.distinct(shape), s.draw.normal(weight)];
        s.case("prelu", ins, |x| x[0].prelu(&x[1]));
    }
    for (shape, axis) in [(&[2, 4][..], -1), (&[6, 3], 0), (&[1, 2, 1], 1), (&[0, 2], 0)] {
        let x = s.draw.normal(shape);
        s.case("glu", [x], move |x| x[0].glu(axis));
    }
}
