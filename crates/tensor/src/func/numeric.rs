//! Clamping, interpolation, replacement of special values, angles, comparison within tolerances.

use super::activation::{floating, wide};
use crate::arg::{Arg, Number};
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error, Result};
use std::f64::consts::PI;

/// Returns the largest finite number of a float dtype.
fn largest(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F32 => f32::MAX as f64,
        DType::F16 => 65504.0,
        DType::BF16 => (2.0 - 1.0 / 128.0) * 2f64.powi(127),
        _ => f64::MAX,
    }
}

/// Converts an operand to a tensor; a number takes its dtype from `other`.
#[track_caller]
fn operand(x: Arg<'_>, other: &Tensor) -> Tensor {
    match x {
        Arg::Tensor(t) => t.clone(),
        Arg::Number(n) => Tensor::from_literal(&n.literal(n.dtype_with(other.dtype()))),
    }
}

/// Returns a bound as a number for elements of a dtype: for integer dtypes an integer, if the bound is one.
fn bound(x: f64, dtype: DType) -> Number {
    if dtype.class() == Class::Int && (x.fract() == 0.0 || x.is_infinite()) {
        Number::Int(dtype.from_float(x))
    } else {
        Number::Float(x)
    }
}

#[track_caller]
fn clamp_to(name: &'static str, x: &Tensor, min: Option<f64>, max: Option<f64>) -> Tensor {
    if min.is_some_and(f64::is_nan) || max.is_some_and(f64::is_nan) {
        return Tensor::refuse(
            name,
            &[x],
            Error::value("a bound of NaN", "cannot limit anything; use a number, or None for no bound"),
        );
    }
    let args = min.map(|b| arg("min", b)).into_iter().chain(max.map(|b| arg("max", b))).collect();
    region1(name, args, &[x], |x| {
        let mut y = x[0].clone();
        if let Some(low) = min.map(|b| Arg::Number(bound(b, y.dtype()))) {
            y = y.le(low).select(low, &y);
        }
        if let Some(high) = max.map(|b| Arg::Number(bound(b, y.dtype()))) {
            y = y.ge(high).select(high, &y);
        }
        y
    })
}

/// Returns the operand as a float, if it is a real number.
fn real_number(x: Arg<'_>) -> Option<f64> {
    match x {
        Arg::Number(Number::Float(x)) => Some(x),
        Arg::Number(Number::Int(i)) if i.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => Some(i as f64),
        _ => None,
    }
}

impl Tensor {
    /// Clamps to at least `min` and at most `max`, where present; `max` is applied last. The derivative at a
    /// bound is 0, as in PyTorch. Integers stay integers if the bounds are integers.
    #[track_caller]
    pub fn clamp(&self, min: impl Into<Option<f64>>, max: impl Into<Option<f64>>) -> Tensor {
        clamp_to("clamp", self, min.into(), max.into())
    }

    /// Clamps to at least `min`. The derivative at the bound is 0 for a number; for a tensor it is shared
    /// evenly, as in `maximum`.
    #[track_caller]
    pub fn clamp_min<'a>(&self, min: impl Into<Arg<'a>>) -> Tensor {
        let min = min.into();
        match real_number(min) {
            Some(b) => clamp_to("clamp_min", self, Some(b), None),
            None => self.maximum(min),
        }
    }

    /// Clamps to at most `max`. The derivative at the bound is 0 for a number; for a tensor it is shared
    /// evenly, as in `minimum`.
    #[track_caller]
    pub fn clamp_max<'a>(&self, max: impl Into<Arg<'a>>) -> Tensor {
        let max = max.into();
        match real_number(max) {
            Some(b) => clamp_to("clamp_max", self, None, Some(b)),
            None => self.minimum(max),
        }
    }

    /// `self + weight (end - self)`: linear interpolation, exact at weights 0 and 1.
    #[track_caller]
    pub fn lerp<'a, 'b>(&self, end: impl Into<Arg<'a>>, weight: impl Into<Arg<'b>>) -> Tensor {
        let start = floating(self);
        let (end, weight) = (operand(end.into(), &start), operand(weight.into(), &start));
        region1("lerp", vec![], &[&start, &end, &weight], |x| {
            let [start, end, weight] = [&x[0], &x[1], &x[2]];
            let way = end - start;
            // Computes from the nearer end, so that both ends are exact.
            let nearer = weight.real().lt(0.5);
            nearer.select(&(start + weight * &way), &(end - (1.0 - weight) * &way))
        })
    }

    /// `log(x / (1 - x))`, the inverse of `sigmoid`. With `eps`, `x` is clamped to `eps` to `1 - eps`, with
    /// derivative 0 outside.
    #[track_caller]
    pub fn logit(&self, eps: impl Into<Option<f64>>) -> Tensor {
        let eps = eps.into();
        region1("logit", eps.map(|e| arg("eps", e)).into_iter().collect(), &[&floating(self)], |x| {
            let mut x = x[0].clone();
            if let Some(eps) = eps {
                // Both bounds are compared with `x` itself. For `eps` above 0.5 the lower bound is applied
                // where both hold, as in PyTorch.
                let (low, high) = (x.lt(eps), x.gt(1.0 - eps));
                x = low.select(eps, &high.select(1.0 - eps, &x));
            } else {
                // Gives NaN outside of 0 to 1, also for the derivative.
                x = &x * x.ge(0.0).logical_and(&x.le(1.0)).select(&x.ones_like(), f64::NAN);
            }
            x.log() - (-x).log1p()
        })
    }

    /// `sin(π x) / (π x)`, and 1 at 0.
    #[track_caller]
    pub fn sinc(&self) -> Tensor {
        region1("sinc", vec![], &[&floating(self)], |x| {
            // Uses the series near 0, so that all derivatives are correct there too.
            let t = &x[0] * PI;
            let near = t.abs().lt(1.0);
            let square = near.select(&t, 0.0).square();
            let term = |sum: Tensor, k: u32| 1.0 - sum * &square / f64::from(2 * k * (2 * k + 1));
            let series = (1..=10).rev().fold(square.ones_like(), term);
            let far = near.select(1.0, &t);
            near.select(&series, &(far.sin() / far))
        })
    }

    /// `x log(y)`, and 0 where `x` is 0 unless `y` is NaN.
    #[track_caller]
    pub fn xlogy<'a>(&self, y: impl Into<Arg<'a>>) -> Tensor {
        let x = floating(self);
        let y = floating(&operand(y.into(), &x));
        region1("xlogy", vec![], &[&x, &y], |x| {
            let (x, y) = (&x[0], &x[1]);
            let out = y.le(0.0) | y.eq(f64::INFINITY);
            x * (x.eq(0.0) & out).select(1.0, y).log()
        })
    }

    /// Replaces NaN and infinities; `None` stands for the largest and lowest finite number of the dtype. The
    /// derivative is 0 where an element was replaced.
    #[track_caller]
    pub fn nan_to_num(
        &self,
        nan: f64,
        posinf: impl Into<Option<f64>>,
        neginf: impl Into<Option<f64>>,
    ) -> Tensor {
        if self.error().is_some() || self.dtype().class() < Class::Float {
            return self.clone();
        }
        let most = largest(self.dtype());
        let (posinf, neginf) = (posinf.into().unwrap_or(most), neginf.into().unwrap_or(-most));
        let args = vec![arg("nan", nan), arg("posinf", posinf), arg("neginf", neginf)];
        region1("nan_to_num", args, &[self], |x| {
            let finite = |x: &Tensor| {
                let y = x.eq(f64::NEG_INFINITY).select(neginf, x);
                let y = x.eq(f64::INFINITY).select(posinf, &y);
                x.is_nan().select(nan, &y)
            };
            let x = &x[0];
            if x.dtype().is_complex() { finite(&x.real()).complex(&finite(&x.imag())) } else { finite(x) }
        })
    }

    /// The fractional part, with the sign of `x`; its derivative is 1 everywhere.
    #[track_caller]
    pub fn frac(&self) -> Tensor {
        self - self.trunc()
    }

    /// Gives 0 for negative elements, 1 for positive ones, and `value` at 0.
    #[track_caller]
    pub fn heaviside<'a>(&self, value: impl Into<Arg<'a>>) -> Tensor {
        let value = operand(value.into(), self);
        region1("heaviside", vec![], &[self, &value], |x| {
            x[0].eq(0).select(&x[1], &x[0].gt(0).to_dtype(x[0].dtype()))
        })
    }

    /// Converts radians to degrees.
    #[track_caller]
    pub fn rad2deg(&self) -> Tensor {
        self * (180.0 / PI)
    }

    /// Converts degrees to radians.
    #[track_caller]
    pub fn deg2rad(&self) -> Tensor {
        self * (PI / 180.0)
    }

    /// The angle of complex numbers, from -π to π. The angle of a real number is π if it is negative, else 0.
    #[track_caller]
    pub fn angle(&self) -> Tensor {
        region1("angle", vec![], &[&floating(self)], |x| {
            let x = &x[0];
            if x.dtype().is_complex() {
                return x.imag().atan2(&x.real());
            }
            let angle = x.lt(0.0).select(&x.full_like(PI), 0.0);
            x.is_nan().select(x, &angle)
        })
    }

    /// Makes complex numbers with this tensor as modulus and with these angles; half precision gives `c64`.
    #[track_caller]
    pub fn polar<'a>(&self, angle: impl Into<Arg<'a>>) -> Tensor {
        let angle = operand(angle.into(), self);
        region1("polar", vec![], &[&wide(&floating(self)), &wide(&floating(&angle))], |x| {
            (&x[0] * x[1].cos()).complex(&(&x[0] * x[1].sin()))
        })
    }

    /// Returns true for elements with `|self - other| <= atol + rtol |other|` (PyTorch's defaults are 1e-5
    /// and 1e-8). Equal infinities are close; with `equal_nan`, so are two NaN.
    #[track_caller]
    pub fn is_close<'a>(&self, other: impl Into<Arg<'a>>, rtol: f64, atol: f64, equal_nan: bool) -> Tensor {
        let (x, other) = (self, operand(other.into(), self));
        let args = vec![arg("rtol", rtol), arg("atol", atol), arg("equal_nan", equal_nan)];
        region1("is_close", args, &[x, &other], |x| {
            let (x, y) = (&x[0], &x[1]);
            let (fx, fy) = (floating(x), floating(y));
            let near = (&fx - &fy).abs().le(&(fy.abs() * rtol + atol));
            // With an infinite operand the comparison of distances is meaningless, so only equality counts.
            let close = x.eq(y) | (near & fx.is_finite() & fy.is_finite());
            if equal_nan { close | (x.is_nan() & y.is_nan()) } else { close }
        })
    }

    /// Returns true if all elements are close; see [`is_close`](Tensor::is_close).
    #[track_caller]
    pub fn allclose<'a>(
        &self,
        other: impl Into<Arg<'a>>,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> Result<bool> {
        self.is_close(other, rtol, atol, equal_nan).all(()).item()
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    type Range = (Option<f64>, Option<f64>);
    let ranges: [Range; 4] =
        [(Some(-0.7), Some(1.3)), (None, Some(0.6)), (Some(-0.1), None), (Some(1.3), Some(-0.7))];
    for (min, max) in ranges {
        for shape in [&[2, 3][..], &[0], &[1, 4]] {
            let x = s.draw.distinct(shape);
            s.case("clamp", [x], move |x| x[0].clamp(min, max));
        }
        let ints = s.draw.ints((-3, 4), [5]);
        s.case("clamp", [ints], |x| x[0].clamp(-1.0, 2.0));
    }
    let edge = s.draw.floats([5], &[-0.7, 1.3, 0.0, f64::NAN, f64::INFINITY]);
    s.kink("clamp", [edge.clone()], |x| x[0].clamp(-0.7, 1.3));
    s.kink("clamp_min", [edge.clone()], |x| x[0].clamp_min(-0.7));
    s.kink("clamp_max", [edge], |x| x[0].clamp_max(1.3));
    let ins = [s.draw.distinct([2, 3]), s.draw.uniform((0.5, 0.7), [3])];
    s.case("clamp_min", ins.clone(), |x| x[0].clamp_min(&x[1]));
    s.case("clamp_max", ins, |x| x[0].clamp_max(&x[1]));
    for (a, b, w) in [(&[2, 3][..], &[3][..], &[2, 1][..]), (&[], &[], &[]), (&[0, 2], &[2], &[])] {
        let ins = [s.draw.normal(a), s.draw.normal(b), s.draw.uniform((-0.5, 1.5), w)];
        s.case("lerp", ins, |x| x[0].lerp(&x[1], &x[2]));
    }
    let ins = [s.draw.normal([2]), s.draw.normal([2]), s.draw.floats([], &[0.5])];
    s.case("lerp", ins, |x| x[0].lerp(&x[1], &x[2]));
    for eps in [None, Some(0.1)] {
        let x = s.draw.uniform((0.15, 0.85), [2, 3]);
        s.case("logit", [x], move |x| x[0].logit(eps));
    }
    let x = s.draw.floats([2], &[0.02, 0.97]);
    s.case("logit", [x], |x| x[0].logit(0.1));
    let x = s.draw.floats([2, 4], &[0.0, 1e-9, 0.3, -0.2, 1.0, 0.7, -2.3, 9.1]);
    s.case("sinc", [x], |x| x[0].sinc());
    let edge = s.draw.floats([2], &[1.0 / PI, -1.0 / PI]);
    s.case("sinc", [edge], |x| x[0].sinc());
    for (a, b) in [(&[2, 3][..], &[3][..]), (&[], &[]), (&[0, 2], &[1, 2])] {
        let ins = [s.draw.normal(a), s.draw.uniform((0.3, 2.0), b)];
        s.case("xlogy", ins, |x| x[0].xlogy(&x[1]));
        let ins = [s.draw.distinct(a), s.draw.normal(b)];
        s.case("heaviside", ins, |x| x[0].heaviside(&x[1]));
        let ins = [s.draw.uniform((0.3, 2.0), a), s.draw.normal(b)];
        s.case("polar", ins.clone(), |x| x[0].polar(&x[1]));
        s.case("is_close", ins, |x| x[0].is_close(&x[1], 0.5, 0.1, true));
        let z = s.draw.complex((0.2, 2.0), a);
        s.case("angle", [z.clone()], |x| x[0].angle());
        s.case("abs", [z], |x| x[0].abs());
        let x = s.draw.uniform((1.1, 1.9), a);
        s.case("frac", [x.clone()], |x| x[0].frac());
        s.case("angle", [x.clone()], |x| x[0].angle());
        s.case("rad2deg", [x.clone()], |x| x[0].rad2deg());
        s.case("deg2rad", [x.clone()], |x| x[0].deg2rad());
        s.case("nan_to_num", [x], |x| x[0].nan_to_num(0.0, None, None));
    }
    let ins = [s.draw.floats([3], &[0.0, 0.0, 0.0]), s.draw.floats([3], &[0.0, -1.0, 2.0])];
    s.kink("xlogy", ins.clone(), |x| x[0].xlogy(&x[1]));
    s.kink("heaviside", ins, |x| x[0].heaviside(&x[1]));
    let zero = s.draw.complex((0.0, 0.0), [2]);
    s.kink("abs", [zero.clone()], |x| x[0].abs());
    s.kink("angle", [zero], |x| x[0].angle());
    let special = s.draw.floats([4], &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5]);
    s.kink("nan_to_num", [special], |x| x[0].nan_to_num(0.25, 9.0, None));
    let z = s.draw.complex((-2.0, 2.0), [3]);
    s.case("nan_to_num", [z], |x| x[0].nan_to_num(0.0, None, None));
}
