//! Packs the patches of a convolution as an operand of a matrix product, directly from the operand of the convolution.
//!
//! A lane of the packed operand is an output position. An entry along the depth is a channel and a position in the
//! window. The offset of an element is the offset of its lane plus the offset of its depth entry. Both are stored in
//! tables.

use super::spread::Axis;
use crate::Isa;
use crate::gemm::{MAX_ROWS, Pack, Panel, TransposeBlock};

/// The patches of the images of one group.
pub(super) struct Patches<'a, T> {
    /// The elements from the first image on, with explicit zeros if patches exceed the image.
    pub(super) x: &'a [T],
    /// Stride between images.
    pub(super) image: usize,
    /// Offset of each entry along the depth.
    pub(super) depth_offsets: &'a [usize],
    /// Number of consecutive depth entries whose offsets increase by one.
    pub(super) run: usize,
    /// The starts of the patches of an image.
    pub(super) starts: &'a Starts,
}

/// The offsets of the patches of an image: one per row of output positions, and a stride within rows.
pub(super) struct Starts {
    rows: Vec<usize>,
    /// Number of positions in a row.
    pub(super) row: usize,
    pub(super) stride: usize,
}

/// Returns the sum of index times stride for every index, in row-major order. Takes an extent and a stride per axis.
fn distances(axes: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    axes.fold(vec![0], |all, (extent, distance)| {
        all.iter().flat_map(|at| (0..extent).map(move |i| at + i * distance)).collect()
    })
}

/// Returns the offset of each entry along the depth; `space` is the number of elements of a channel.
pub(super) fn depth_offsets(channels: usize, space: usize, axes: &[Axis]) -> Vec<usize> {
    let window = axes.iter().map(|a| (a.window, a.dilation as usize * a.memory_stride));
    distances([(channels, space)].into_iter().chain(window))
}

impl Starts {
    pub(super) fn new(axes: &[Axis]) -> Starts {
        let Some((last, outer)) = axes.split_last() else {
            return Starts { rows: vec![0], row: 1, stride: 1 };
        };
        let rows = distances(outer.iter().map(|a| (a.positions, a.stride as usize * a.memory_stride)));
        Starts { rows, row: last.positions, stride: last.stride as usize }
    }

    /// Returns for each row its first position, and the offset of its first element.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.iter().enumerate().map(|(r, &at)| (r * self.row, at))
    }
}

/// Element types of patches.
pub(super) trait Packable: TransposeBlock + Send + Sync {}
impl<T: TransposeBlock + Send + Sync> Packable for T {}

impl<T: Packable> Pack<T> for Patches<'_, T> {
    fn pack(&self, panel: Panel, out: &mut [T]) {
        match Isa::best().vectors() {
            Isa::Portable => self.pack_any(panel, out),
            // SAFETY: the processor's best instruction set is not the portable one, so it has AVX2 or NEON.
            _ => unsafe { self.pack_vectors(panel, out) },
        }
    }
}

impl<T: Packable> Patches<'_, T> {
    /// # Safety
    /// The processor has AVX2 or NEON.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn pack_vectors(&self, panel: Panel, out: &mut [T]) {
        if self.starts.row < T::SIDE && self.run >= T::SIDE {
            // SAFETY: the caller guarantees that the processor has AVX2 or NEON.
            unsafe { self.pack_transposed(panel, out) }
        } else {
            self.pack_any(panel, out);
        }
    }

    /// Returns the offset of the first element of a patch.
    fn start(&self, lane: usize) -> usize {
        let starts = self.starts;
        let positions = starts.rows.len() * starts.row;
        let (image, row, position) = (lane / positions, lane % positions / starts.row, lane % starts.row);
        image * self.image + starts.rows[row] + position * starts.stride
    }

    /// Packs elements that are contiguous along the depth and not along the lanes, by transposing blocks.
    ///
    /// # Safety
    /// The processor has AVX2 or NEON.
    #[inline(always)]
    unsafe fn pack_transposed(&self, panel: Panel, out: &mut [T]) {
        let Panel { width, lanes, .. } = panel;
        let depth_offsets = &self.depth_offsets[panel.depth..panel.depth + panel.steps];
        let (out, side) = (&mut out[..depth_offsets.len() * width], T::SIDE);
        let full = lanes / side * side;
        for first in (0..full).step_by(side) {
            let mut from = [0; MAX_ROWS];
            for (l, at) in from.iter_mut().enumerate().take(side) {
                *at = self.start(panel.lane + first + l);
            }
            let furthest = from[..side].iter().copied().max().unwrap_or(0);
            let mut p = 0;
            while p < depth_offsets.len() {
                let whole = p + side <= depth_offsets.len()
                    && depth_offsets[p + side - 1] == depth_offsets[p] + side - 1;
                if whole && furthest + depth_offsets[p] + side <= self.x.len() {
                    // SAFETY: the caller guarantees AVX2 or NEON; the check above has verified that all rows of the
                    // block are within `x`, and the destination is within `out`.
                    unsafe {
                        let mut rows = [self.x.as_ptr(); MAX_ROWS];
                        for (row, at) in rows.iter_mut().zip(from) {
                            *row = self.x.as_ptr().wrapping_add(at + depth_offsets[p]);
                        }
                        T::transpose(&rows, out.as_mut_ptr().add(p * width + first), width);
                    }
                    p += side;
                } else {
                    (0..side).for_each(|l| out[p * width + first + l] = self.x[from[l] + depth_offsets[p]]);
                    p += 1;
                }
            }
        }
        for lane in full..lanes {
            let from = &self.x[self.start(panel.lane + lane)..];
            for (to, offset) in out.chunks_exact_mut(width).zip(depth_offsets) {
                to[lane] = from[*offset];
            }
        }
        zero_missing_lanes(out, width, lanes);
    }

    #[inline(always)]
    fn pack_any(&self, panel: Panel, out: &mut [T]) {
        let (Panel { width, lanes, .. }, starts) = (panel, self.starts);
        let depth_offsets = &self.depth_offsets[panel.depth..panel.depth + panel.steps];
        let positions = starts.rows.len() * starts.row;
        let mut lane = 0;
        while lane < lanes {
            let at = panel.lane + lane;
            let (image, row, position) = (at / positions, at % positions / starts.row, at % starts.row);
            let from = image * self.image + starts.rows[row] + position * starts.stride;
            let count = (starts.row - position).min(lanes - lane);
            let rows = Rows { x: &self.x[from..], depth_offsets, width, count, stride: starts.stride };
            // May copy more than `count` lanes if source and destination have that many: later copies overwrite the
            // additional lanes.
            let left = self.x.len() - from - depth_offsets.last().copied().unwrap_or(0);
            let available = left.min(width - lane);
            match count {
                _ if starts.stride > 1 => rows.copy_each(&mut out[lane..]),
                1..=3 if available >= 4 => rows.copy_short::<4>(&mut out[lane..]),
                5..=8 if available >= 8 => rows.copy_short::<8>(&mut out[lane..]),
                1 => rows.copy_short::<1>(&mut out[lane..]),
                2 => rows.copy_short::<2>(&mut out[lane..]),
                3 => rows.copy_short::<3>(&mut out[lane..]),
                4 => rows.copy_short::<4>(&mut out[lane..]),
                5..=8 => rows.copy_long::<4>(&mut out[lane..]),
                _ => rows.copy_long::<8>(&mut out[lane..]),
            }
            lane += count;
        }
        zero_missing_lanes(out, width, lanes);
    }
}

/// Fills the lanes from `lanes` to `width` with zeros.
#[inline(always)]
fn zero_missing_lanes<T: Copy + Default>(out: &mut [T], width: usize, lanes: usize) {
    for row in out.chunks_exact_mut(width).filter(|_| lanes < width) {
        let (eights, rest) = row[lanes..].as_chunks_mut::<8>();
        eights.iter_mut().for_each(|eight| *eight = [T::default(); 8]);
        rest.iter_mut().for_each(|x| *x = T::default());
    }
}

/// A range of `count` lanes of a panel, for all depth entries. `width` is the stride between entries in the
/// destination, and `stride` the one between lanes in the source.
struct Rows<'a, T> {
    x: &'a [T],
    depth_offsets: &'a [usize],
    width: usize,
    count: usize,
    stride: usize,
}

impl<T: Copy> Rows<'_, T> {
    /// Copies elements one by one.
    #[inline(always)]
    fn copy_each(&self, out: &mut [T]) {
        for (&offset, to) in self.depth_offsets.iter().zip(out.chunks_mut(self.width)) {
            let x = &self.x[offset..];
            for i in 0..self.count {
                to[i] = x[i * self.stride];
            }
        }
    }

    /// Copies `N` elements at once; every row must have `N`.
    #[inline(always)]
    fn copy_short<const N: usize>(&self, out: &mut [T]) {
        for (&offset, to) in self.depth_offsets.iter().zip(out.chunks_mut(self.width)) {
            if let (Some(x), Some(to)) = (self.x[offset..].first_chunk::<N>(), to.first_chunk_mut::<N>()) {
                *to = *x;
            }
        }
    }

    /// Copies at least `N` elements, `N` at a time; the last group overlaps the one before.
    #[inline(always)]
    fn copy_long<const N: usize>(&self, out: &mut [T]) {
        for (&offset, to) in self.depth_offsets.iter().zip(out.chunks_mut(self.width)) {
            let (x, to) = (&self.x[offset..][..self.count], &mut to[..self.count]);
            for (to, x) in to.as_chunks_mut::<N>().0.iter_mut().zip(x.as_chunks::<N>().0) {
                *to = *x;
            }
            if let (Some(x), Some(to)) = (x.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
                *to = *x;
            }
        }
    }
}
