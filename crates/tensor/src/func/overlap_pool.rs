//! Max pooling over windows that overlap, written as one strided slice of the input for each position in a
//! window.
//! The forward pass is the maximum of these slices; the gradient adds slices back at their source. Both are
//! pointwise, without indexing.
//! `pool.rs` chooses between this file, `tiled_pool.rs` and the general method.

use super::each::{floats, pad_with, scalar};
use super::pool::Slide;
use crate::eager::apply::apply1;
use crate::region::{Args, region1_with_grad};
use crate::tensor::Tensor;
use gradus_ir::ops::movement::{Pad, Slice};
use gradus_ir::ops::window::Fold;

/// Largest number of elements of a window that is expanded into slices.
pub(super) const MAX: usize = 25;

/// Windows over the last axes of a tensor, `slides[i]` along the `i`-th of them.
pub(super) struct Overlapping<'a> {
    pub(super) lead: &'a [usize],
    pub(super) slides: &'a [Slide],
}

impl Overlapping<'_> {
    /// Number of windows along each axis.
    fn counts(&self) -> Vec<usize> {
        self.slides.iter().map(|s| s.count as usize).collect()
    }

    /// Number of elements in a window.
    fn elements(&self) -> usize {
        self.slides.iter().map(|s| s.size as usize).product()
    }

    /// Returns the index, per axis of the padded input, of position `k` in the first window.
    fn offsets(&self, k: usize) -> Vec<usize> {
        let mut rest = k;
        let along = self.slides.iter().rev().map(|s| {
            let i = rest % s.size as usize;
            rest /= s.size as usize;
            i * s.dilation as usize
        });
        let mut offsets: Vec<usize> = along.collect();
        offsets.reverse();
        offsets
    }

    /// Pads the input, with the lowest number of the dtype, to the extents that the windows cover.
    fn padded(&self, x: &Tensor) -> Tensor {
        let low: Vec<i64> = self.slides.iter().map(|s| s.padding).collect();
        let high: Vec<i64> = self.slides.iter().map(|s| s.high()).collect();
        pad_with(x, &low, &high, x.dtype().lowest())
    }

    /// Returns the elements at position `k` of all windows.
    fn slice(&self, padded: &Tensor, k: usize) -> Tensor {
        let lead = self.lead.len();
        let (mut start, mut stop, mut step) = (vec![0; lead], self.lead.to_vec(), vec![1; lead]);
        for (offset, s) in self.offsets(k).into_iter().zip(self.slides) {
            start.push(offset);
            stop.push(offset + ((s.count - 1) * s.stride) as usize + 1);
            step.push(s.stride as usize);
        }
        apply1(Slice { start, stop, step }, &[padded])
    }

    /// Scatters values to the elements from which [`slice`](Self::slice) takes position `k`; 0 elsewhere.
    /// Strides must be 1.
    fn put_back(&self, values: &Tensor, k: usize) -> Tensor {
        let lead = self.lead.len();
        let (mut low, mut high) = (vec![0; lead], vec![0; lead]);
        for (offset, s) in self.offsets(k).into_iter().zip(self.slides) {
            let first = offset as i64 - s.padding;
            low.push(first);
            high.push(s.extent - first - s.count);
        }
        let interior = vec![0; low.len()];
        apply1(Pad { low, high, interior }, &[values])
    }

    /// Returns for each window whether its position `k` is inside of the input, or `None` if all are.
    fn inside(&self, k: usize) -> Option<Tensor> {
        let offsets = self.offsets(k);
        let mut all = vec![true];
        for (&offset, s) in offsets.iter().zip(self.slides) {
            let along = |p: i64| (0..s.extent).contains(&(p * s.stride + offset as i64 - s.padding));
            all = all.iter().flat_map(|before| (0..s.count).map(move |p| *before && along(p))).collect();
        }
        all.contains(&false).then(|| Tensor::from_slice(&all, self.counts()))
    }

    /// The maximum of each window, NaN if the window contains one.
    fn largest(&self, x: &Tensor) -> Tensor {
        let padded = self.padded(x);
        let first = self.slice(&padded, 0);
        (1..self.elements()).fold(first, |top, k| top.maximum(&self.slice(&padded, k)))
    }

    /// Sends the cotangent of each window to its first position that holds the maximum (if that is NaN, the
    /// first NaN).
    fn grad(&self, x: &Tensor, y: &Tensor, g: &Tensor) -> Tensor {
        let n = self.elements();
        let number = |k: usize| scalar(x.dtype(), k as f64).expand(y.shape());
        let padded = self.padded(x);
        let chosen = (0..n - 1).rev().fold(number(n - 1), |later, k| {
            let element = self.slice(&padded, k);
            let mut here = element.eq(y).logical_or(&element.is_nan());
            // Excludes padding, which may equal the lowest element.
            if let Some(inside) = self.inside(k) {
                here = here.logical_and(&inside);
            }
            here.select(&number(k), &later)
        });
        if self.slides.iter().any(|s| s.stride > 1) {
            return self.grad_by_folding(&chosen, g);
        }
        let part = |k: usize| self.put_back(&chosen.eq(&number(k)).select(g, 0), k);
        (1..n).fold(part(0), |sum, k| sum + part(k))
    }

    /// Sends the cotangents `g` to the positions `chosen` of their windows, by writing all windows and
    /// folding them. Used for strides above 1, where the slices put back would contain mostly zeros.
    fn grad_by_folding(&self, chosen: &Tensor, g: &Tensor) -> Tensor {
        let each = |f: fn(&Slide) -> i64| self.slides.iter().map(|s| f(s) as usize).collect::<Vec<usize>>();
        let (size, counts) = (each(|s| s.size), self.counts());
        let numbers = floats(g.dtype(), (0..self.elements()).map(|k| k as f64).collect(), &size[..]);
        let wide = |t: &Tensor| t.reshape([self.lead, &counts, &vec![1; size.len()]].concat());
        let whole = [self.lead, &counts, &size].concat();
        let spread = wide(chosen).eq(&numbers).select(&wide(g).expand(whole), 0);
        let extent = each(|s| (s.count - 1) * s.stride + s.reach());
        let (low, high): (Vec<i64>, Vec<i64>) = self.slides.iter().map(|s| (-s.padding, -s.high())).unzip();
        let fold = Fold {
            extent: extent[..].into(),
            size,
            stride: each(|s| s.stride),
            dilation: each(|s| s.dilation),
        };
        pad_with(&apply1(fold, &[&spread]), &low, &high, 0.0)
    }

    /// Runs the pooling as a region.
    #[track_caller]
    pub(super) fn pool(&self, name: &'static str, args: Args, x: &Tensor) -> Tensor {
        region1_with_grad(name, args, &[x], |x| self.largest(&x[0]), |x, y, g| self.grad(&x[0], y, g))
    }
}
