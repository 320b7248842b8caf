//! Max pooling over windows that tile the input without overlap.
//! Every element is in at most one window, so that the gradient is a pointwise selection within each window,
//! without indexing.

use super::each::{floats, scalar};
use crate::region::{Args, region1_with_grad};
use crate::tensor::Tensor;

/// Largest number of elements of a window that is expanded into slices.
pub(super) const MAX: usize = 16;

/// Adjacent windows along the last axes: extents before these axes, number of windows and window extent of each axis.
pub(super) struct Tiles {
    pub(super) lead: Vec<usize>,
    pub(super) count: Vec<usize>,
    pub(super) size: Vec<usize>,
}

impl Tiles {
    /// Number of elements of a window.
    fn elements(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the leading extents, and for each other axis the two extents that `f(count, size)` returns.
    fn cut(&self, f: impl Fn(usize, usize) -> [usize; 2]) -> Vec<usize> {
        let pairs = self.count.iter().zip(&self.size).flat_map(|(&c, &s)| f(c, s));
        self.lead.iter().copied().chain(pairs).collect()
    }

    /// Returns the elements that windows cover, with each axis of extent `count · size` split into two axes.
    fn covered(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for (i, (c, s)) in self.count.iter().zip(&self.size).enumerate() {
            if x.shape()[self.lead.len() + i] > c * s {
                x = x.narrow((self.lead.len() + i) as isize, 0, c * s);
            }
        }
        x.reshape(self.cut(|c, s| [c, s]))
    }

    /// Returns one tensor for each position in a window, in row-major order.
    fn parts(&self, x: &Tensor) -> Vec<Tensor> {
        let covered = self.covered(x);
        let part_at = |k: usize| {
            let (mut part, mut rest) = (covered.clone(), k);
            for (i, &s) in self.size.iter().enumerate().rev() {
                part = part.narrow((self.lead.len() + 2 * i + 1) as isize, rest % s, 1);
                rest /= s;
            }
            part.reshape([&self.lead[..], &self.count].concat())
        };
        (0..self.elements()).map(part_at).collect()
    }

    /// Returns the maximum of each window; NaN if the window contains a NaN.
    fn largest(&self, x: &Tensor) -> Tensor {
        let mut parts = self.parts(x).into_iter();
        let first = parts.next().unwrap_or_else(|| x.clone());
        parts.fold(first, |top, next| top.maximum(&next))
    }

    /// Returns the gradient: the cotangent of each window at the first position that holds the maximum (if that is NaN,
    /// at the first NaN), and 0 elsewhere.
    fn grad(&self, x: &Tensor, y: &Tensor, g: &Tensor) -> Tensor {
        let n = self.elements();
        let number = |k: usize| scalar(x.dtype(), k as f64);
        let parts = self.parts(x).into_iter().enumerate().take(n - 1).rev();
        let chosen = parts.fold(number(n - 1).expand(y.shape()), |later, (k, part)| {
            let here = number(k).expand(y.shape());
            part.eq(y).select(&here, &part.is_nan().select(&here, &later))
        });
        let within: Vec<usize> = self.size.iter().flat_map(|&s| [1, s]).collect();
        let numbers = floats(x.dtype(), (0..n).map(|k| k as f64).collect(), within);
        let wide = |t: &Tensor| t.reshape(self.cut(|c, _| [c, 1]));
        let spread = wide(&chosen).eq(&numbers).select(&wide(g).expand(self.cut(|c, s| [c, s])), 0);
        let whole: Vec<usize> = self.count.iter().zip(&self.size).map(|(c, s)| c * s).collect();
        let shape = x.shape();
        let beyond: Vec<i64> =
            shape[self.lead.len()..].iter().zip(&whole).map(|(d, w)| (d - w) as i64).collect();
        let grad = spread.reshape([&self.lead[..], &whole].concat());
        match beyond.iter().all(|&b| b == 0) {
            true => grad,
            false => super::each::pad_with(&grad, &vec![0; beyond.len()], &beyond, 0.0),
        }
    }

    /// Runs the pooling as a region.
    #[track_caller]
    pub(super) fn pool(&self, name: &'static str, args: Args, x: &Tensor) -> Tensor {
        region1_with_grad(name, args, &[x], |x| self.largest(&x[0]), |x, y, g| self.grad(&x[0], y, g))
    }
}
