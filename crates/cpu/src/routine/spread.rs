//! Writes the operand of a convolution with explicit zeros around and between its elements, so that patches
//! need no bounds checks.

/// One spatial axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Extent of the operand along the axis, and stride in memory.
    pub(super) extent: usize,
    pub(super) memory_stride: usize,
    /// Extents of window and result.
    pub(super) window: usize,
    pub(super) positions: usize,
    pub(super) stride: i64,
    pub(super) low: i64,
    pub(super) base: i64,
    pub(super) dilation: i64,
}

impl Axis {
    /// Returns true if every position that patches read is an element of the operand.
    pub(super) fn is_plain(&self) -> bool {
        self.low == 0 && self.base == 1 && self.reach() <= self.extent
    }

    /// Returns the number of positions from the first to the last that patches read.
    fn reach(&self) -> usize {
        let last = |count: usize, step: i64| count.saturating_sub(1) * step as usize;
        last(self.positions, self.stride) + last(self.window, self.dilation) + 1
    }

    /// Returns the positions that are elements of the operand: the first such position, the element there, and the number
    /// of elements. Their positions have distance `base`.
    fn elements(&self) -> (usize, usize, usize) {
        // The number of elements before the first position that patches read.
        let skipped = (-self.low).max(0) as usize;
        let element = skipped.div_ceil(self.base as usize);
        let first = (element as i64 * self.base + self.low) as usize;
        let fit = self.reach().saturating_sub(first).div_ceil(self.base as usize);
        (first, element, fit.min(self.extent.saturating_sub(element)))
    }
}

/// Returns the axes of an operand that holds exactly the positions that patches read.
pub(super) fn spread_axes(axes: &[Axis]) -> Vec<Axis> {
    let mut memory_stride = 1;
    let mut spread: Vec<Axis> = axes.to_vec();
    for a in spread.iter_mut().rev() {
        *a = Axis { extent: a.reach(), memory_stride, low: 0, base: 1, ..*a };
        memory_stride *= a.extent;
    }
    spread
}

/// Writes one channel with its explicit zeros.
pub(super) fn spread<T: Copy + Default>(x: &[T], axes: &[Axis], out: &mut [T]) {
    out.fill(T::default());
    copy_elements(x, axes, out);
}

/// Copies the elements to their positions between the zeros.
fn copy_elements<T: Copy>(x: &[T], axes: &[Axis], out: &mut [T]) {
    let Some((axis, inner)) = axes.split_first() else {
        if let (Some(to), Some(x)) = (out.first_mut(), x.first()) {
            *to = *x;
        }
        return;
    };
    let (first, element, count) = axis.elements();
    if count == 0 {
        return;
    }
    if inner.is_empty() && axis.base == 1 {
        return out[first..first + count].copy_from_slice(&x[element..element + count]);
    }
    let size: usize = inner.iter().map(Axis::reach).product();
    for i in 0..count {
        let at = (first + i * axis.base as usize) * size;
        copy_elements(&x[(element + i) * axis.memory_stride..], inner, &mut out[at..at + size]);
    }
}
