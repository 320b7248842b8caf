//! Logarithms of sums of exponentials, also for complex numbers: the core's real functions, or compositions.
//! Terms are scaled by the one with the largest real part, which prevents overflow.

use gradus::ir::Class;
use gradus::{Arg, Tensor};

fn is_complex(x: &Tensor) -> bool {
    x.dtype().class() == Class::Complex
}

/// `log(exp(a) + exp(b))`.
pub(crate) fn logaddexp(a: &Tensor, b: Arg<'_>) -> Tensor {
    let other = match b {
        Arg::Tensor(t) if is_complex(a) || is_complex(t) => t,
        b => return a.logaddexp(b),
    };
    let wide = |t: &Tensor| t.to_dtype(t.dtype().promote(a.dtype()).promote(other.dtype()));
    logaddexp_complex(&wide(a), &wide(other))
}

/// [`logaddexp`] of complex numbers of one dtype.
fn logaddexp_complex(a: &Tensor, b: &Tensor) -> Tensor {
    // An infinite real part determines the result; an operand of -infinity contributes nothing.
    let first = a.real().ge(&b.real()).logical_or(&a.real().is_nan());
    let (large, small) = (first.select(a, b), first.select(b, a));
    let negligible = small.real().eq(f64::NEG_INFINITY);
    let difference = negligible.select(&large.zeros_like(), &(&small - &large));
    negligible.select(&large, &(&large + difference.exp().log1p()))
}

/// `log(sum(exp(x)))` over axes.
pub(crate) fn logsumexp(x: &Tensor, axes: impl gradus::Axes + Clone, keepdim: bool) -> Tensor {
    if !is_complex(x) {
        return x.logsumexp(axes, keepdim);
    }
    let largest = x.real().stop_gradient().max_keepdim(axes.clone());
    let largest = largest.is_finite().select(&largest, &largest.zeros_like());
    let sum = (x - &largest).exp().sum_keepdim(axes.clone()).log() + &largest;
    // The reduced axes have extent 1: this sum removes them.
    if keepdim { sum } else { sum.sum(axes) }
}

/// `log(sum(exp(x[..=i])))` along an axis, by doubling distances.
pub(crate) fn logcumsumexp(x: &Tensor, axis: isize) -> Tensor {
    if !is_complex(x) {
        return x.logcumsumexp(axis);
    } else if x.rank() == 0 && matches!(axis, 0 | -1) {
        return x.clone();
    }
    let n = x.dim(axis);
    let (mut sums, mut distance) = (x.clone(), 1);
    while distance < n {
        let kept = sums.narrow(axis, 0, distance);
        let more = logaddexp_complex(
            &sums.narrow(axis, distance, n - distance),
            &sums.narrow(axis, 0, n - distance),
        );
        sums = Tensor::cat(&[&kept, &more], axis);
        distance *= 2;
    }
    sums
}

/// `x / |x|`, 0 at 0: -1, 0 or 1 for real numbers, a point on the unit circle for complex ones.
pub(crate) fn sgn(x: &Tensor) -> Tensor {
    match x.dtype().class() {
        Class::Complex => {
            let size = x.abs();
            let zero = size.eq(0.0);
            let safe = zero.select(&size.ones_like(), &size);
            zero.select(&x.zeros_like(), &(x / &safe))
        }
        _ if x.dtype() == gradus::DType::Bool => x.clone(),
        _ => x.sign(),
    }
}
