//! Softmax and related functions along an axis, without overflow; `f16` and `bf16` are computed in `f32`.

use super::activation::{floating, wide};
use crate::axis::{Axes, resolve};
use crate::region::{arg, region1, region1_with_grad};
use crate::tensor::Tensor;

/// Returns the maximum, which is subtracted before `exp`. Results and derivatives do not depend on it.
fn shift(x: &Tensor, axes: &[isize]) -> Tensor {
    x.max_keepdim(axes).stop_gradient()
}

/// A composite along one axis: its function, and its gradient from the result and the result's cotangent.
struct AxisComposite {
    name: &'static str,
    f: fn(&Tensor, isize) -> Tensor,
    grad: fn(&Tensor, &Tensor, isize) -> Tensor,
}

impl AxisComposite {
    #[track_caller]
    fn call(&self, x: &Tensor, axis: isize) -> Tensor {
        let x = floating(x);
        if let Some(line) = x.as_vector(axis) {
            return self.call(&line, 0).squeeze(0isize);
        }
        let at = match resolve(axis, x.rank()) {
            _ if x.error().is_some() => return x,
            Ok(at) => at as isize,
            Err(e) => return Tensor::refuse(self.name, &[&x], e),
        };
        let body = |x: &[Tensor]| (self.f)(&wide(&x[0]), at).to_dtype(x[0].dtype());
        let grad = |_: &[Tensor], y: &Tensor, g: &Tensor| (self.grad)(y, g, at);
        region1_with_grad(self.name, vec![arg("axis", at as usize)], &[&x], body, grad)
    }
}

/// Runs a gradient along an axis as a region; `y` and `g` have one type.
#[track_caller]
fn grad_along(
    name: &'static str,
    [y, g]: [&Tensor; 2],
    axis: isize,
    f: fn(&Tensor, &Tensor, isize) -> Tensor,
) -> Tensor {
    match resolve(axis, y.rank()) {
        _ if y.error().is_some() => y.clone(),
        Ok(at) => region1(name, vec![arg("axis", at)], &[y, g], |v| {
            f(&wide(&v[0]), &wide(&v[1]), at as isize).to_dtype(v[0].dtype())
        }),
        Err(e) => Tensor::refuse(name, &[y, g], e),
    }
}

/// Gradient of `y = x.softmax(axis)` from `y` and its cotangent `g`: `y·(g - Σ y·g)`.
#[track_caller]
pub fn softmax_grad(y: &Tensor, g: &Tensor, axis: isize) -> Tensor {
    grad_along("softmax_grad", [y, g], axis, |y, g, axis| y * (g - (y * g).sum_keepdim(axis)))
}

/// Gradient of `y = x.log_softmax(axis)` from `y` and its cotangent `g`: `g - exp(y)·Σ g`.
#[track_caller]
pub fn log_softmax_grad(y: &Tensor, g: &Tensor, axis: isize) -> Tensor {
    grad_along("log_softmax_grad", [y, g], axis, |y, g, axis| g - y.exp() * g.sum_keepdim(axis))
}

fn softmax(x: &Tensor, axis: isize) -> Tensor {
    let e = (x - shift(x, &[axis])).exp();
    &e / e.sum_keepdim(axis)
}

fn log_softmax(x: &Tensor, axis: isize) -> Tensor {
    let x = x - shift(x, &[axis]);
    &x - x.exp().sum_keepdim(axis).log()
}

impl Tensor {
    /// `exp(x) / Σ exp(x)` along an axis; NaN where all elements are minus infinity.
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Tensor {
        AxisComposite { name: "softmax", f: softmax, grad: softmax_grad }.call(self, axis)
    }

    /// `softmax` of the negated tensor.
    #[track_caller]
    pub fn softmin(&self, axis: isize) -> Tensor {
        let grad = |y: &Tensor, g: &Tensor, axis: isize| -softmax_grad(y, g, axis);
        AxisComposite { name: "softmin", f: |x, axis| softmax(&-x, axis), grad }.call(self, axis)
    }

    /// Logarithm of `softmax`, accurate where `softmax` is small.
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Tensor {
        AxisComposite { name: "log_softmax", f: log_softmax, grad: log_softmax_grad }.call(self, axis)
    }

    /// `log Σ exp(x)` over axes (`()` for all), without overflow. Over no elements, or if all are minus
    /// infinity, it is minus infinity, with derivative 0.
    #[track_caller]
    pub fn logsumexp(&self, axes: impl Axes, keepdim: bool) -> Tensor {
        let x = floating(self);
        let axes = match axes.resolve(x.rank()) {
            _ if x.error().is_some() => return x,
            Ok(axes) => axes,
            Err(e) => return Tensor::refuse("logsumexp", &[&x], e),
        };
        let args = vec![arg("axes", axes.clone()), arg("keepdim", keepdim)];
        region1("logsumexp", args, &[&x], |x| {
            let axes: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
            let full = wide(&x[0]);
            let largest = shift(&full, &axes);
            let largest = largest.is_finite().select(&largest, 0.0);
            let sum = (&full - &largest).exp().sum_keepdim(&axes);
            let nothing = sum.eq(0.0);
            let log = nothing.select(1.0, &sum).log() + largest;
            let y = nothing.select(f64::NEG_INFINITY, &log).to_dtype(x[0].dtype());
            if keepdim { y } else { y.squeeze(axes) }
        })
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    type Function = (&'static str, fn(&Tensor, isize) -> Tensor);
    let along: [Function; 3] =
        [("softmax", Tensor::softmax), ("softmin", Tensor::softmin), ("log_softmax", Tensor::log_softmax)];
    for (name, f) in along {
        for (shape, axis) in [(&[2, 3][..], 1), (&[3, 2, 2], 0), (&[1, 4], -2), (&[0, 2], 0), (&[2, 0], 0)] {
            let x = s.draw.normal(shape);
            s.case(name, [x], move |x| f(&x[0], axis));
        }
        let far = s.draw.floats([2, 2], &[1000.0, 1001.0, -1000.0, -1000.5]);
        s.case(name, [far], move |x| f(&x[0], -1));
        let ties = s.draw.floats([3], &[0.5, 0.5, 0.5]);
        s.case(name, [ties], move |x| f(&x[0], 0));
    }
    for (shape, axis) in [(&[2, 3][..], 1), (&[3, 2, 2], -3), (&[0, 2], 0), (&[2, 0], 0)] {
        let ins = [s.draw.uniform((0.1, 0.9), shape), s.draw.normal(shape)];
        s.case("softmax_grad", ins.clone(), move |v| softmax_grad(&v[0], &v[1], axis));
        s.case("log_softmax_grad", ins, move |v| log_softmax_grad(&v[0], &v[1], axis));
    }
    let cases = [
        (&[2, 3][..], vec![1]),
        (&[3, 2, 2], vec![0, -1]),
        (&[], vec![]),
        (&[0, 2], vec![0]),
        (&[1, 3], vec![0]),
    ];
    for (shape, axes) in cases {
        for keepdim in [false, true] {
            let (x, axes) = (s.draw.normal(shape), axes.clone());
            s.case("logsumexp", [x], move |x| x[0].logsumexp(&axes, keepdim));
        }
    }
    let x = s.draw.normal([2, 3]);
    s.case("logsumexp", [x], |x| x[0].logsumexp((), false));
    let low = f64::NEG_INFINITY;
    let edge = s.draw.floats([2, 2], &[low, low, low, 1.0]);
    s.kink("logsumexp", [edge], |x| x[0].logsumexp(1, false));
}
