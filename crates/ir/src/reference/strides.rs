//! Iterates over a strided index space.

/// Element offsets of an index space in row-major order: `base + Σ index·stride`.
#[derive(Clone, Debug)]
pub struct Offsets<'a> {
    extents: &'a [usize],
    strides: &'a [i64],
    index: Vec<usize>,
    at: i64,
    left: usize,
}

impl<'a> Offsets<'a> {
    /// Iterates over these extents with these strides, from a base offset.
    pub fn new(extents: &'a [usize], strides: &'a [i64], base: i64) -> Offsets<'a> {
        let left = extents.iter().product();
        Offsets { extents, strides, index: vec![0; extents.len()], at: base, left }
    }
}

impl Iterator for Offsets<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let at = self.at;
        for a in (0..self.extents.len()).rev() {
            self.index[a] += 1;
            self.at += self.strides[a];
            if self.index[a] < self.extents[a] {
                break;
            }
            self.at -= self.strides[a] * self.extents[a] as i64;
            self.index[a] = 0;
        }
        Some(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Returns the row-major strides as signed numbers.
pub(super) fn strides(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i] as i64;
    }
    strides
}
