//! Means, variances, norms and distances; `f16` and `bf16` are computed in `f32`.

use super::activation::{floating, wide};
use crate::axis::{Axes, resolve};
use crate::region::{Args, arg, region, region1};
use crate::tensor::Tensor;
use gradus_ir::{DType, Error};

/// Square root whose derivative at 0 is 0.
fn root(x: &Tensor) -> Tensor {
    let zero = x.eq(0.0);
    zero.select(0.0, &zero.select(1.0, x).sqrt())
}

/// Converts a result back to the half-precision dtype of its operand.
fn restore_half(y: Tensor, from: &Tensor) -> Tensor {
    if matches!(from.dtype(), DType::F16 | DType::BF16) { y.to_dtype(from.dtype()) } else { y }
}

/// The square of the modulus.
fn squared_modulus(x: &Tensor) -> Tensor {
    if x.dtype().is_complex() { x.real().square() + x.imag().square() } else { x.square() }
}

/// Runs a reduction over axes as one region; `f` keeps the reduced axes, with extent 1.
#[track_caller]
fn reduce_region(
    name: &'static str,
    x: &Tensor,
    axes: impl Axes,
    keepdim: bool,
    args: Args,
    f: impl FnOnce(&Tensor, &[isize]) -> Tensor,
) -> Tensor {
    let [y] = reduce_region_n(name, x, axes, keepdim, args, |x, axes| [f(x, axes)]);
    y
}

/// Runs several reductions over axes as one region.
#[track_caller]
fn reduce_region_n<const N: usize>(
    name: &'static str,
    x: &Tensor,
    axes: impl Axes,
    keepdim: bool,
    args: Args,
    f: impl FnOnce(&Tensor, &[isize]) -> [Tensor; N],
) -> [Tensor; N] {
    let all = |t: Tensor| std::array::from_fn(|_| t.clone());
    let axes = match axes.resolve(x.rank()) {
        _ if x.error().is_some() => return all(x.clone()),
        Ok(axes) => axes,
        Err(e) => return all(Tensor::refuse(name, &[x], e)),
    };
    let args = [vec![arg("axes", axes.clone()), arg("keepdim", keepdim)], args].concat();
    let found = region(name, args, &[x], |x| {
        let axes: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
        f(&wide(&x[0]), &axes).map(|y| {
            let y = restore_half(y, &x[0]);
            if keepdim { y } else { y.squeeze(&axes) }
        })
    });
    match found.map(<[Tensor; N]>::try_from) {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => all(Tensor::failed(Error::verify("the region must return one result per reduction"))),
        Err(e) => all(Tensor::failed(e)),
    }
}

/// Returns the number of elements that are reduced into one.
fn count(x: &Tensor, axes: &[isize]) -> f64 {
    let shape = x.shape();
    axes.iter().filter_map(|&a| resolve(a, shape.rank()).ok()).map(|a| shape[a] as f64).product()
}

pub(super) fn mean_kept(x: &Tensor, axes: &[isize]) -> Tensor {
    x.sum_keepdim(axes) / count(x, axes)
}

fn var_kept(x: &Tensor, axes: &[isize], correction: f64) -> Tensor {
    let from_mean = x - mean_kept(x, axes);
    squared_modulus(&from_mean).sum_keepdim(axes) / (count(x, axes) - correction).max(0.0)
}

#[track_caller]
fn mean(x: &Tensor, axes: impl Axes, keepdim: bool) -> Tensor {
    reduce_region("mean", x, axes, keepdim, vec![], mean_kept)
}

#[track_caller]
fn var(x: &Tensor, axes: impl Axes, correction: f64, keepdim: bool) -> Tensor {
    let args = vec![arg("correction", correction)];
    reduce_region("var", &floating(x), axes, keepdim, args, |x, axes| var_kept(x, axes, correction))
}

#[track_caller]
fn std(x: &Tensor, axes: impl Axes, correction: f64, keepdim: bool) -> Tensor {
    let args = vec![arg("correction", correction)];
    reduce_region("std", &floating(x), axes, keepdim, args, |x, axes| root(&var_kept(x, axes, correction)))
}

#[track_caller]
fn var_mean(x: &Tensor, axes: impl Axes, correction: f64, keepdim: bool) -> (Tensor, Tensor) {
    let args = vec![arg("correction", correction)];
    let f = |x: &Tensor, axes: &[isize]| [var_kept(x, axes, correction), mean_kept(x, axes)];
    reduce_region_n("var_mean", &floating(x), axes, keepdim, args, f).into()
}

#[track_caller]
fn std_mean(x: &Tensor, axes: impl Axes, correction: f64, keepdim: bool) -> (Tensor, Tensor) {
    let args = vec![arg("correction", correction)];
    let f = |x: &Tensor, axes: &[isize]| [root(&var_kept(x, axes, correction)), mean_kept(x, axes)];
    reduce_region_n("std_mean", &floating(x), axes, keepdim, args, f).into()
}

fn norm_kept(x: &Tensor, p: f64, axes: &[isize]) -> Tensor {
    match p {
        2.0 => root(&squared_modulus(x).sum_keepdim(axes)),
        1.0 => x.abs().sum_keepdim(axes),
        0.0 => x.ne(0.0).to_dtype(x.dtype().real()).sum_keepdim(axes),
        f64::INFINITY => x.abs().max_keepdim(axes),
        f64::NEG_INFINITY => x.abs().min_keepdim(axes),
        _ => {
            // Replaces zeros before each power: there, a factor of the derivative can be infinite, and 0 · ∞ would be
            // NaN.
            let at_zero = if p > 0.0 { 0.0 } else { f64::INFINITY };
            let power = |x: &Tensor, p: f64| {
                let zero = x.eq(0.0);
                zero.select(at_zero, &zero.select(1.0, x).pow(p))
            };
            power(&power(&x.abs(), p).sum_keepdim(axes), 1.0 / p)
        }
    }
}

/// Promotes both operands to one float dtype, or returns the failed operand.
#[track_caller]
fn promote_pair(a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Tensor> {
    for t in [a, b] {
        if t.error().is_some() {
            return Err(t.clone());
        }
    }
    let dtype = floating(a).dtype().promote(floating(b).dtype());
    Ok([a.to_dtype(dtype), b.to_dtype(dtype)])
}

/// Returns an error if the order is NaN.
fn check_order(p: f64) -> Result<(), Error> {
    if p.is_nan() {
        Err(Error::value("the order NaN", "is not valid; use a number or infinity"))
    } else {
        Ok(())
    }
}

impl Tensor {
    /// Arithmetic mean over axes (`()` for all). Integers give `f32`; no elements give NaN.
    #[track_caller]
    pub fn mean(&self, axes: impl Axes) -> Tensor {
        mean(self, axes, false)
    }

    /// `mean` with the reduced axes kept, with extent 1.
    #[track_caller]
    pub fn mean_keepdim(&self, axes: impl Axes) -> Tensor {
        mean(self, axes, true)
    }

    /// Variance over axes (`()` for all): `Σ |x - mean|² / (n - correction)`. A correction of 1 gives the
    /// unbiased estimate from a sample, 0 the variance of a population.
    #[track_caller]
    pub fn var(&self, axes: impl Axes, correction: impl Into<f64>) -> Tensor {
        var(self, axes, correction.into(), false)
    }

    /// `var` with the reduced axes kept, with extent 1.
    #[track_caller]
    pub fn var_keepdim(&self, axes: impl Axes, correction: impl Into<f64>) -> Tensor {
        var(self, axes, correction.into(), true)
    }

    /// Standard deviation over axes (`()` for all), the square root of `var`; where it is 0, its derivative
    /// is 0.
    #[track_caller]
    pub fn std(&self, axes: impl Axes, correction: impl Into<f64>) -> Tensor {
        std(self, axes, correction.into(), false)
    }

    /// `std` with the reduced axes kept, with extent 1.
    #[track_caller]
    pub fn std_keepdim(&self, axes: impl Axes, correction: impl Into<f64>) -> Tensor {
        std(self, axes, correction.into(), true)
    }

    /// Variance and mean over axes in one call; integers give `f32`.
    #[track_caller]
    pub fn var_mean(&self, axes: impl Axes, correction: impl Into<f64>, keepdim: bool) -> (Tensor, Tensor) {
        var_mean(self, axes, correction.into(), keepdim)
    }

    /// Standard deviation and mean over axes in one call.
    #[track_caller]
    pub fn std_mean(&self, axes: impl Axes, correction: impl Into<f64>, keepdim: bool) -> (Tensor, Tensor) {
        std_mean(self, axes, correction.into(), keepdim)
    }

    /// Vector norm `(Σ |x|^p)^(1/p)` over axes (`()` for all). Order infinity gives the largest modulus, minus infinity
    /// the smallest, 0 the number of non-zero elements. The derivative is 0 at the zero vector and for elements that
    /// are 0. For orders infinity and minus infinity, tied elements share the derivative evenly.
    #[track_caller]
    pub fn norm(&self, p: impl Into<f64>, axes: impl Axes, keepdim: bool) -> Tensor {
        let (x, p) = (floating(self), p.into());
        match check_order(p) {
            Ok(()) => {
                reduce_region("norm", &x, axes, keepdim, vec![arg("p", p)], |x, axes| norm_kept(x, p, axes))
            }
            Err(e) => Tensor::refuse("norm", &[&x], e),
        }
    }

    /// Divides by the norm of order `p` along an axis, or by `eps` if that is larger (PyTorch's defaults are
    /// 2 and 1e-12).
    #[track_caller]
    pub fn normalize(&self, p: impl Into<f64>, axis: isize, eps: f64) -> Tensor {
        let (x, p) = (floating(self), p.into());
        let a = match check_order(p).and_then(|()| resolve(axis, x.rank())) {
            _ if x.error().is_some() => return x,
            Ok(a) => a,
            Err(e) => return Tensor::refuse("normalize", &[&x], e),
        };
        let args = vec![arg("p", p), arg("axis", a), arg("eps", eps)];
        region1("normalize", args, &[&x], |x| {
            let full = wide(&x[0]);
            restore_half(&full / clamp_to_least(&norm_kept(&full, p, &[a as isize]), eps), &x[0])
        })
    }
}

/// Clamps to at least `least`, with derivative 0 where it is clamped.
fn clamp_to_least(x: &Tensor, least: f64) -> Tensor {
    x.le(least).select(least, x)
}

/// Cosine of the angle between vectors along an axis, after broadcasting. Norms are clamped to at least `eps`
/// (PyTorch's default is 1e-8).
#[track_caller]
pub fn cosine_similarity(a: &Tensor, b: &Tensor, axis: isize, eps: f64) -> Tensor {
    let [a, b] = match promote_pair(a, b) {
        Ok(pair) => pair,
        Err(failed) => return failed,
    };
    let Some(shape) = a.shape().broadcast(&b.shape()) else {
        let what = format!("extents {} and {}", a.shape(), b.shape());
        return Tensor::refuse("cosine_similarity", &[&a, &b], Error::shape(what, "do not broadcast"));
    };
    let along = match resolve(axis, shape.rank()) {
        Ok(along) => along,
        Err(e) => return Tensor::refuse("cosine_similarity", &[&a, &b], e),
    };
    let args = vec![arg("axis", along), arg("eps", eps)];
    region1("cosine_similarity", args, &[&a, &b], |x| {
        let along = along as isize;
        let full: Vec<Tensor> = x.iter().map(|t| wide(t).expand_to(&shape)).collect();
        let unit = |t: &Tensor| t / clamp_to_least(&norm_kept(t, 2.0, &[along]), eps);
        restore_half((unit(&full[0]) * unit(&full[1]).conj()).sum(along), &x[0])
    })
}

/// Norm of order `p` of the difference along the last axis, after broadcasting. `eps` (PyTorch's default is
/// 1e-6) is added to every difference.
#[track_caller]
pub fn pairwise_distance(a: &Tensor, b: &Tensor, p: f64, eps: f64, keepdim: bool) -> Tensor {
    let [a, b] = match promote_pair(a, b) {
        Ok(pair) => pair,
        Err(failed) => return failed,
    };
    let fits = check_order(p).and_then(|()| match a.shape().broadcast(&b.shape()) {
        Some(shape) => resolve(-1, shape.rank()).map(drop),
        None => Err(Error::shape(format!("extents {} and {}", a.shape(), b.shape()), "do not broadcast")),
    });
    if let Err(e) = fits {
        return Tensor::refuse("pairwise_distance", &[&a, &b], e);
    }
    let args = vec![arg("p", p), arg("eps", eps), arg("keepdim", keepdim)];
    region1("pairwise_distance", args, &[&a, &b], |x| {
        let distance = restore_half(norm_kept(&(wide(&x[0]) - wide(&x[1]) + eps), p, &[-1]), &x[0]);
        if keepdim { distance } else { distance.squeeze(-1) }
    })
}

/// Distances of order `p` between every vector of `a` (`… n d`) and every vector of `b` (`… m d`): `… n m`.
/// The axes before the last two broadcast. The derivative is 0 where two vectors are equal.
#[track_caller]
pub fn cdist(a: &Tensor, b: &Tensor, p: f64) -> Tensor {
    let [a, b] = match promote_pair(a, b) {
        Ok(pair) => pair,
        Err(failed) => return failed,
    };
    let (sa, sb) = (a.shape(), b.shape());
    let fits = check_order(p).and_then(|()| {
        let (Some(la), Some(lb)) = (sa.rank().checked_sub(2), sb.rank().checked_sub(2)) else {
            return Err(Error::shape(format!("extents {sa} and {sb}"), "must have at least two axes each"));
        };
        if sa[la + 1] != sb[lb + 1] {
            let what = format!("vectors of extents {} and {}", sa[la + 1], sb[lb + 1]);
            return Err(Error::shape(what, "have no distance; the last axes must have equal extents"));
        }
        let lead = |s: &[usize]| gradus_ir::Shape::from(s.to_vec());
        match lead(&sa[..la]).broadcast(&lead(&sb[..lb])) {
            Some(_) => Ok(()),
            None => Err(Error::shape(format!("leading extents of {sa} and {sb}"), "do not broadcast")),
        }
    });
    if let Err(e) = fits {
        return Tensor::refuse("cdist", &[&a, &b], e);
    }
    region1("cdist", vec![arg("p", p)], &[&a, &b], |x| {
        let apart = wide(&x[0]).unsqueeze(-2) - wide(&x[1]).unsqueeze(-3);
        restore_half(norm_kept(&apart, p, &[-1]).squeeze(-1), &x[0])
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    let shapes = [
        (&[2, 3][..], vec![1]),
        (&[3, 2, 2], vec![0, -1]),
        (&[1, 4], vec![-1]),
        (&[0, 2], vec![1]),
        (&[4], vec![0]),
    ];
    for (shape, axes) in &shapes {
        for keepdim in [false, true] {
            let (x, a) = (s.draw.normal(*shape), axes.clone());
            s.case("mean", [x], move |x| mean(&x[0], &a, keepdim));
            for correction in [0.0, 1.0] {
                let (x, a) = (s.draw.normal(*shape), axes.clone());
                s.case("var", [x], move |x| var(&x[0], &a, correction, keepdim));
                let (x, a) = (s.draw.normal(*shape), axes.clone());
                s.case("std", [x], move |x| std(&x[0], &a, correction, keepdim));
                let (x, a) = (s.draw.normal(*shape), axes.clone());
                s.case("var_mean", [x], move |x| var_mean(&x[0], &a, correction, keepdim));
                let (x, a) = (s.draw.normal(*shape), axes.clone());
                s.case("std_mean", [x], move |x| std_mean(&x[0], &a, correction, keepdim));
            }
        }
        for p in [2.0, 1.0, 3.0, 0.5, -1.5, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
            let (x, a) = (s.draw.distinct(*shape), axes.clone());
            s.case("norm", [x], move |x| x[0].norm(p, &a, false));
        }
    }
    let z = s.draw.complex((-2.0, 2.0), [2, 3]);
    s.case("mean", [z.clone()], |x| x[0].mean(1));
    s.case("var", [z.clone()], |x| x[0].var(1, 1));
    s.case("norm", [z], |x| x[0].norm(2, 1, true));
    let scalar = s.draw.uniform((0.5, 1.5), []);
    s.case("norm", [scalar.clone()], |x| x[0].norm(2, (), false));
    s.case("mean", [scalar], |x| x[0].mean(()));
    let flat = s.draw.floats([2, 2], &[1.5, 1.5, 0.0, 2.0]);
    s.kink("std", [flat], |x| x[0].std(1, 1));
    for p in [2.0, 1.0, 3.0, 0.5, -1.5, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
        let zeros = s.draw.floats([3, 2], &[0.0, 0.0, 0.0, 1.0, -2.0, 2.0]);
        s.kink("norm", [zeros], move |x| x[0].norm(p, 1, false));
    }
    for (p, axis) in [(2.0, 0), (1.0, -1), (3.0, 1), (f64::INFINITY, 1)] {
        let x = s.draw.distinct([2, 3]);
        s.case("normalize", [x], move |x| x[0].normalize(p, axis, 1e-12));
    }
    let zeros = s.draw.floats([2, 2], &[0.0, 0.0, 3.0, 4.0]);
    s.kink("normalize", [zeros], |x| x[0].normalize(2, 1, 1e-3));
    for (left, right, axis) in
        [(&[2, 3][..], &[2, 3][..], 1), (&[4, 1], &[2], 0), (&[3], &[2, 3], -1), (&[0, 2], &[0, 2], 1)]
    {
        let ins = [s.draw.normal(left), s.draw.normal(right)];
        s.case("cosine_similarity", ins, move |x| cosine_similarity(&x[0], &x[1], axis, 1e-8));
    }
    let ins = [s.draw.floats([2], &[0.0, 0.0]), s.draw.floats([2], &[1.0, 2.0])];
    s.kink("cosine_similarity", ins, |x| cosine_similarity(&x[0], &x[1], 0, 1e-8));
    for (left, right, p) in
        [(&[2, 3][..], &[2, 3][..], 2.0), (&[2, 3], &[3], 1.0), (&[2], &[2], 3.0), (&[0, 2], &[2], 2.0)]
    {
        for keepdim in [false, true] {
            let ins = [s.draw.distinct(left), s.draw.normal(right)];
            s.case("pairwise_distance", ins, move |x| pairwise_distance(&x[0], &x[1], p, 1e-6, keepdim));
        }
    }
    for (left, right, p) in [
        (&[3, 2][..], &[4, 2][..], 2.0),
        (&[2, 1, 3], &[2, 3], 1.0),
        (&[1, 2], &[1, 2], 3.0),
        (&[0, 2], &[3, 2], 2.0),
    ] {
        let ins = [s.draw.distinct(left), s.draw.normal(right)];
        s.case("cdist", ins, move |x| cdist(&x[0], &x[1], p));
    }
    let points = s.draw.floats([2, 2], &[0.0, 1.0, 2.0, 2.0]);
    s.kink("cdist", [points.clone(), points], |x| cdist(&x[0], &x[1], 2.0));
}
