//! Discrete Fourier transforms along one axis or several, of complex and real signals.

use super::each::{floats, signed};
use crate::axis::{Axes, resolve};
use crate::eager::apply::apply1;
use crate::region::{Args, arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::fft::Fft;
use gradus_ir::{Class, DType, Error, Result, size};

/// The transform that is divided by the number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FftNorm {
    /// The inverse.
    #[default]
    Backward,
    /// Both, by the square root, which makes both unitary.
    Ortho,
    /// The forward transform.
    Forward,
}

impl FftNorm {
    fn name(self) -> &'static str {
        match self {
            FftNorm::Backward => "backward",
            FftNorm::Ortho => "ortho",
            FftNorm::Forward => "forward",
        }
    }

    fn factor(self, n: usize, inverse: bool) -> f64 {
        match self {
            FftNorm::Ortho => 1.0 / (n as f64).sqrt(),
            FftNorm::Backward if inverse => 1.0 / n as f64,
            FftNorm::Forward if !inverse => 1.0 / n as f64,
            _ => 1.0,
        }
    }
}

/// Crops an axis, or pads it with zeros at the end, to extent `n`.
#[track_caller]
fn resize_axis(x: &Tensor, axis: usize, n: usize) -> Tensor {
    let by = n as i64 - x.dim(axis as isize) as i64;
    if by == 0 {
        return x.clone();
    }
    let padding: Vec<(i64, i64)> = (axis..x.rank()).map(|a| (0, if a == axis { by } else { 0 })).collect();
    x.pad_zeros(&padding)
}

#[track_caller]
fn complex(x: &Tensor) -> Tensor {
    x.to_dtype(x.dtype().complex())
}

#[track_caller]
fn real(x: &Tensor) -> Tensor {
    if x.dtype().class() < Class::Float { x.to_dtype(DType::F32) } else { x.clone() }
}

#[track_caller]
fn transform(x: &Tensor, axis: usize, n: usize, inverse: bool, norm: FftNorm) -> Tensor {
    let y = apply1(Fft { axis, inverse }, &[&resize_axis(&complex(x), axis, n)]);
    let factor = norm.factor(n, inverse);
    if factor == 1.0 { y } else { y * factor }
}

/// Returns the real signal of `n` elements whose spectrum begins with `x`.
#[track_caller]
fn real_signal(x: &Tensor, axis: usize, n: usize, norm: FftNorm) -> Tensor {
    // A frequency that is not its own mirror image has weight 2. Imaginary parts of the other frequencies are
    // ignored.
    let half = n / 2 + 1;
    let weight = |k: usize| if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
    let spread: Vec<usize> = (0..x.rank()).map(|a| if a == axis { half } else { 1 }).collect();
    let weights = floats(x.dtype().real(), (0..half).map(weight).collect(), spread);
    transform(&(resize_axis(x, axis, half) * weights), axis, n, true, norm).real()
}

impl Tensor {
    /// Returns the resolved axis and its extent, or a failed tensor.
    #[track_caller]
    fn resolve_length(
        &self,
        name: &str,
        axis: isize,
        n: Option<usize>,
        least: usize,
    ) -> Result<(usize, usize), Tensor> {
        if self.error().is_some() {
            return Err(self.clone());
        }
        let find = || {
            let axis = resolve(axis, self.rank())?;
            match n.unwrap_or(self.shape()[axis]) {
                n if n >= least => size::check_elements(n, DType::C128.size()).map(|()| (axis, n)),
                n => Err(Error::value(
                    format!("a transform of {n} elements"),
                    format!("must be of at least {least}"),
                )),
            }
        };
        // Not `map_err`: inside a closure `track_caller` would lose the caller's line.
        match find() {
            Ok(found) => Ok(found),
            Err(e) => Err(Tensor::refuse(name, &[self], e)),
        }
    }

    /// `y[k] = Σ x[t] exp(-2πi k t / n)` along an axis, cropped or zero-padded to `n` elements.
    #[track_caller]
    pub fn fft(&self, n: impl Into<Option<usize>>, axis: isize, norm: FftNorm) -> Tensor {
        match self.resolve_length("fft", axis, n.into(), 0) {
            Ok((axis, n)) => {
                region1("fft", args(&[axis], &[n], norm), &[self], |x| transform(&x[0], axis, n, false, norm))
            }
            Err(failed) => failed,
        }
    }

    /// The inverse of [`fft`](Tensor::fft).
    #[track_caller]
    pub fn ifft(&self, n: impl Into<Option<usize>>, axis: isize, norm: FftNorm) -> Tensor {
        match self.resolve_length("ifft", axis, n.into(), 0) {
            Ok((axis, n)) => {
                region1("ifft", args(&[axis], &[n], norm), &[self], |x| transform(&x[0], axis, n, true, norm))
            }
            Err(failed) => failed,
        }
    }

    /// The first `n / 2 + 1` elements of [`fft`](Tensor::fft) of a real signal; the others are their complex
    /// conjugates.
    #[track_caller]
    pub fn rfft(&self, n: impl Into<Option<usize>>, axis: isize, norm: FftNorm) -> Tensor {
        match self.resolve_length("rfft", axis, n.into(), 1) {
            Ok(_) if self.dtype().is_complex() => {
                let e = Error::dtype(self.dtype(), "the signal must be real; use fft");
                Tensor::refuse("rfft", &[self], e)
            }
            Ok((axis, n)) => region1("rfft", args(&[axis], &[n], norm), &[&real(self)], |x| {
                transform(&x[0], axis, n, false, norm).narrow(axis as isize, 0, n / 2 + 1)
            }),
            Err(failed) => failed,
        }
    }

    /// The inverse of [`rfft`](Tensor::rfft): the real signal of `n` elements (by default an even number)
    /// whose spectrum begins with this tensor.
    #[track_caller]
    pub fn irfft(&self, n: impl Into<Option<usize>>, axis: isize, norm: FftNorm) -> Tensor {
        let n = n.into().unwrap_or(2 * self.dim(axis).saturating_sub(1));
        match self.resolve_length("irfft", axis, Some(n), 1) {
            Ok((axis, n)) => region1("irfft", args(&[axis], &[n], norm), &[&complex(self)], |x| {
                real_signal(&x[0], axis, n, norm)
            }),
            Err(failed) => failed,
        }
    }

    #[track_caller]
    fn transform_along(&self, name: &'static str, axes: impl Axes, inverse: bool, norm: FftNorm) -> Tensor {
        match axes.resolve(self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axes) => region1(name, args(&axes, &[], norm), &[self], |x| {
                let along = |y: Tensor, &a: &usize| transform(&y, a, y.dim(a as isize), inverse, norm);
                axes.iter().fold(complex(&x[0]), along)
            }),
            Err(e) => Tensor::refuse(name, &[self], e),
        }
    }

    /// [`fft`](Tensor::fft) along several axes.
    #[track_caller]
    pub fn fftn(&self, axes: impl Axes, norm: FftNorm) -> Tensor {
        self.transform_along("fftn", axes, false, norm)
    }

    /// The inverse of [`fftn`](Tensor::fftn).
    #[track_caller]
    pub fn ifftn(&self, axes: impl Axes, norm: FftNorm) -> Tensor {
        self.transform_along("ifftn", axes, true, norm)
    }

    /// [`fft`](Tensor::fft) along the last two axes.
    #[track_caller]
    pub fn fft2(&self, norm: FftNorm) -> Tensor {
        self.transform_along("fft2", [-2, -1], false, norm)
    }

    /// The inverse of [`fft2`](Tensor::fft2).
    #[track_caller]
    pub fn ifft2(&self, norm: FftNorm) -> Tensor {
        self.transform_along("ifft2", [-2, -1], true, norm)
    }

    /// [`rfft`](Tensor::rfft) along the last of the axes, [`fft`](Tensor::fft) along the others.
    #[track_caller]
    pub fn rfftn(&self, axes: impl Axes, norm: FftNorm) -> Tensor {
        match axes.resolve(self.rank()).as_deref() {
            Ok([rest @ .., last]) => {
                let rest: Vec<isize> = rest.iter().map(|&a| a as isize).collect();
                self.rfft(None, *last as isize, norm).fftn(rest, norm)
            }
            Ok([]) => Tensor::refuse(
                "rfftn",
                &[self],
                Error::value("an empty list of axes", "cannot be transformed; pass at least one"),
            ),
            Err(e) => Tensor::refuse("rfftn", &[self], e.clone()),
        }
    }

    /// The inverse of [`rfftn`](Tensor::rfftn), with `n` elements along the last of the axes.
    #[track_caller]
    pub fn irfftn(&self, axes: impl Axes, n: impl Into<Option<usize>>, norm: FftNorm) -> Tensor {
        match axes.resolve(self.rank()).as_deref() {
            Ok([rest @ .., last]) => {
                let rest: Vec<isize> = rest.iter().map(|&a| a as isize).collect();
                self.ifftn(rest, norm).irfft(n, *last as isize, norm)
            }
            Ok([]) => Tensor::refuse(
                "irfftn",
                &[self],
                Error::value("an empty list of axes", "cannot be transformed; pass at least one"),
            ),
            Err(e) => Tensor::refuse("irfftn", &[self], e.clone()),
        }
    }

    /// Rolls by half along the axes, which moves frequency 0 to the middle.
    #[track_caller]
    pub fn fftshift(&self, axes: impl Axes) -> Tensor {
        self.shifted("fftshift", axes, |n| n / 2)
    }

    /// The inverse of [`fftshift`](Tensor::fftshift).
    #[track_caller]
    pub fn ifftshift(&self, axes: impl Axes) -> Tensor {
        self.shifted("ifftshift", axes, |n| n - n / 2)
    }

    #[track_caller]
    fn shifted(&self, name: &str, axes: impl Axes, by: impl Fn(usize) -> usize) -> Tensor {
        match axes.resolve(self.rank()) {
            _ if self.error().is_some() => self.clone(),
            Ok(axes) => {
                let shifts: Vec<i64> = axes.iter().map(|&a| by(self.shape()[a]) as i64).collect();
                self.roll(&shifts, &axes.iter().map(|&a| a as isize).collect::<Vec<_>>())
            }
            Err(e) => Tensor::refuse(name, &[self], e),
        }
    }

    /// The frequencies of the elements of [`fft`](Tensor::fft) of `n` samples with spacing `d`, `f32`.
    #[track_caller]
    pub fn fftfreq(n: usize, d: f64) -> Tensor {
        if let Err(e) = size::check_elements(n, 8) {
            return Tensor::refuse("fftfreq", &[], e);
        }
        let frequency = |k: usize| if k < n.div_ceil(2) { k as f64 } else { k as f64 - n as f64 };
        frequencies((0..n).map(frequency).collect(), n, d)
    }

    /// The frequencies of the elements of [`rfft`](Tensor::rfft) of `n` samples with spacing `d`, `f32`.
    #[track_caller]
    pub fn rfftfreq(n: usize, d: f64) -> Tensor {
        if let Err(e) = size::check_elements(n, 8) {
            return Tensor::refuse("rfftfreq", &[], e);
        }
        frequencies((0..=n / 2).map(|k| k as f64).collect(), n, d)
    }
}

#[track_caller]
fn frequencies(waves: Vec<f64>, n: usize, d: f64) -> Tensor {
    let count = waves.len();
    floats(DType::F32, waves.iter().map(|k| k / (n as f64 * d)).collect(), [count])
}

fn args(axes: &[usize], n: &[usize], norm: FftNorm) -> Args {
    vec![arg("axes", signed(axes)), arg("n", signed(n)), arg("norm", norm.name().to_string())]
}

pub(super) fn samples(s: &mut super::Samples) {
    for norm in [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward] {
        let (x, z) = (s.draw.normal([2, 5]), s.draw.complex((-1.0, 1.0), [4, 2]));
        s.case("fft", [x.clone()], move |x| x[0].fft(None, -1, norm));
        s.case("ifft", [z.clone()], move |x| x[0].ifft(3, 0, norm));
        s.case("fft", [z.clone()], move |x| x[0].fft(6, 0, norm));
        s.case("rfft", [x.clone()], move |x| x[0].rfft(None, 1, norm));
        s.case("rfft", [x], move |x| x[0].rfft(4, 1, norm));
        for n in [None, Some(7), Some(4), Some(1)] {
            let z = z.clone();
            s.case("irfft", [z], move |x| x[0].irfft(n, 0, norm));
        }
        s.case("fftn", [z.clone()], move |x| x[0].fftn((), norm));
        s.case("ifftn", [z.clone()], move |x| x[0].ifftn([1], norm));
        s.case("fft2", [z.clone()], move |x| x[0].fft2(norm));
        s.case("ifft2", [z.clone()], move |x| x[0].ifft2(norm));
        let x = s.draw.normal([2, 4, 3]);
        s.case("rfftn", [x], move |x| x[0].rfftn([0, 1], norm));
        s.case("irfftn", [z], move |x| x[0].irfftn([1, 0], 6, norm));
    }
    let x = s.draw.normal([5, 2]);
    s.case("fftshift", [x.clone()], |x| x[0].fftshift(()));
    s.case("ifftshift", [x], |x| x[0].ifftshift(0));
    let none = s.draw.complex((-1.0, 1.0), [0, 2]);
    s.case("fft", [none], |x| x[0].fft(None, 0, FftNorm::Forward));
}
