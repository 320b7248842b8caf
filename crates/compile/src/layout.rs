//! Layouts: affine maps from an index to a row-major position in another value. Takes layouts and shapes; returns the
//! layouts of views, reshapes and split axes, or `None` if no strides express them.
//!
//! Views, reshapes and broadcasts are represented by such maps, so they move no elements.

use gradus_ir::ops::IndexMap;

/// `position = offset + Σ strides[a] · index[a]`, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Position of the first element.
    pub offset: i64,
    /// Stride of each axis, in elements.
    pub strides: Vec<i64>,
}

impl Layout {
    /// Returns the row-major layout of a shape.
    pub fn row_major(shape: &[usize]) -> Layout {
        let mut strides = vec![1i64; shape.len()];
        for a in (1..shape.len()).rev() {
            strides[a - 1] = strides[a] * shape[a] as i64;
        }
        Layout { offset: 0, strides }
    }

    /// Returns the smallest and the largest position over these extents; `None` if there are no elements.
    pub fn ends(&self, extents: &[usize]) -> Option<(i64, i64)> {
        let ranges: Option<Vec<_>> = extents.iter().map(|e| Some((0, e.checked_sub(1)? as i64))).collect();
        ranges.map(|ranges| self.bounds_over(&ranges))
    }

    /// Returns the smallest and the largest position over inclusive ranges of indices.
    pub(crate) fn bounds_over(&self, ranges: &[(i64, i64)]) -> (i64, i64) {
        let ends = ranges.iter().zip(&self.strides).map(|(r, &s)| (s * r.0, s * r.1));
        ends.fold((self.offset, self.offset), |(low, high), (a, b)| (low + a.min(b), high + a.max(b)))
    }

    /// Returns true if different indices over these extents have different positions because every stride exceeds the
    /// span of all axes with smaller strides. A layout may be injective even if this returns false.
    pub(crate) fn is_injective(&self, extents: &[usize]) -> bool {
        if extents.contains(&0) {
            return true;
        }
        let axes = extents.iter().zip(&self.strides).filter(|(e, _)| **e > 1);
        let mut axes: Vec<(i64, i64)> = axes.map(|(e, s)| (s.abs(), *e as i64 - 1)).collect();
        axes.sort_unstable();
        let mut far = 0;
        axes.iter().all(|(step, last)| {
            let longer = *step > far;
            far += step * last;
            longer
        })
    }

    /// Returns the layout of a view of this layout.
    pub fn through(&self, map: &IndexMap) -> Layout {
        let shift: i64 = map.offset.iter().zip(&self.strides).map(|(o, s)| o * s).sum();
        let step = |s: &Option<(usize, i64)>| s.map_or(0, |(axis, step)| step * self.strides[axis]);
        Layout { offset: self.offset + shift, strides: map.steps.iter().map(step).collect() }
    }

    /// Returns the layout of the same elements in the same order over the extents `to`. Returns `None` if strides
    /// cannot express it.
    pub fn reshaped(&self, from: &[usize], to: &[usize]) -> Option<Layout> {
        if from.contains(&0) {
            return Some(Layout::row_major(to));
        }
        let fine = refine(from, to)?;
        let fine_strides = self.cut(from, &cut(from, &fine)?);
        let mut strides = vec![0; to.len()];
        let mut k = 0;
        for (a, pieces) in cut(to, &fine)?.iter().enumerate() {
            let own = &fine_strides.strides[k..k + pieces.len()];
            // The parts of a merged axis must have compatible strides.
            if (1..pieces.len()).any(|i| own[i - 1] != own[i] * pieces[i] as i64) {
                return None;
            }
            strides[a] = own.last().copied().unwrap_or(0);
            k += pieces.len();
        }
        Some(Layout { offset: self.offset, strides })
    }

    /// Returns the layout over the parts into which each axis is split.
    pub fn cut(&self, shape: &[usize], pieces: &[Vec<usize>]) -> Layout {
        let mut strides = Vec::new();
        for (a, pieces) in pieces.iter().enumerate() {
            let mut step = self.strides[a];
            let from = strides.len();
            for &extent in pieces.iter().rev() {
                strides.push(step);
                step *= extent as i64;
            }
            strides[from..].reverse();
            debug_assert!(pieces.iter().product::<usize>() == shape[a]);
        }
        Layout { offset: self.offset, strides }
    }

    /// Returns true if the elements of this shape are contiguous in row-major order, starting at offset 0.
    pub fn is_row_major(&self, shape: &[usize]) -> bool {
        self.offset == 0 && same_strides(shape, &self.strides, &Layout::row_major(shape).strides)
    }
}

/// Returns true if two lists of strides are equal, except along extents of 1, where strides have no effect.
pub(crate) fn same_strides(shape: &[usize], a: &[i64], b: &[i64]) -> bool {
    shape.contains(&0) || shape.iter().zip(a.iter().zip(b)).all(|(&e, (a, b))| e == 1 || a == b)
}

/// Returns the coarsest extents above 1 from which the axes of both lists can be composed: `[2,2,3]` for `[4,3]` and
/// `[2,6]`. Returns `None` if there are no such extents.
pub(crate) fn refine(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let plain = |s: &[usize]| s.iter().copied().filter(|&e| e != 1).collect::<Vec<_>>();
    let (a, b) = (plain(a), plain(b));
    if a.contains(&0) || b.contains(&0) {
        return (a == b).then_some(a);
    }
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    let (mut left, mut right) = (1, 1);
    let mut fine = Vec::new();
    loop {
        if left == 1 && right == 1 {
            match (a.next(), b.next()) {
                (None, None) => return Some(fine),
                (Some(x), Some(y)) => (left, right) = (x, y),
                _ => return None,
            }
        } else if left == 1 {
            left = a.next()?;
        } else if right == 1 {
            right = b.next()?;
        }
        // Reads both lists from the outer to the inner axes. The smaller remainder must divide the larger one.
        let piece = left.min(right);
        if left % piece != 0 || right % piece != 0 {
            return None;
        }
        fine.push(piece);
        (left, right) = (left / piece, right / piece);
    }
}

/// Splits each extent of `shape` into the consecutive extents of `fine` whose product it is. Returns `None` if this is
/// impossible.
pub(crate) fn cut(shape: &[usize], fine: &[usize]) -> Option<Vec<Vec<usize>>> {
    let mut fine = fine.iter().copied().peekable();
    let mut all = Vec::with_capacity(shape.len());
    for &extent in shape {
        let (mut pieces, mut product) = (Vec::new(), 1);
        if extent != 1 {
            loop {
                let piece = fine.next()?;
                pieces.push(piece);
                product *= piece;
                if product == extent {
                    break;
                }
                if product == 0 || product > extent {
                    return None;
                }
            }
        }
        all.push(pieces);
    }
    fine.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refinements() {
        assert_eq!(refine(&[16, 128, 64], &[2048, 64]), Some(vec![16, 128, 64]));
        assert_eq!(refine(&[2, 1, 3], &[6]), Some(vec![2, 3]));
        assert_eq!(refine(&[], &[1, 1]), Some(vec![]));
        assert_eq!(refine(&[2, 3], &[3, 2]), None);
        assert_eq!(refine(&[4, 3], &[2, 6]), Some(vec![2, 2, 3]));
        assert_eq!(refine(&[2], &[3]), None);
        assert_eq!(refine(&[0, 3], &[0, 3]), Some(vec![0, 3]));
        assert_eq!(cut(&[2048, 1, 64], &[16, 128, 64]), Some(vec![vec![16, 128], vec![], vec![64]]));
    }

    #[test]
    fn reshapes_of_views() {
        // A transposed [2, 3] cannot be flattened, but its axes can be cut and extents of 1 inserted.
        let transposed = Layout { offset: 5, strides: vec![1, 4] };
        assert_eq!(transposed.reshaped(&[4, 6], &[24]), None);
        let cut = transposed.reshaped(&[4, 6], &[2, 2, 1, 3, 2]);
        assert_eq!(cut, Some(Layout { offset: 5, strides: vec![2, 1, 0, 8, 4] }));
        // Broadcast axes can be flattened if all of them are broadcast.
        let broadcast = Layout { offset: 0, strides: vec![0, 0] };
        assert_eq!(broadcast.reshaped(&[4, 6], &[24]), Some(Layout { offset: 0, strides: vec![0] }));
    }
}
