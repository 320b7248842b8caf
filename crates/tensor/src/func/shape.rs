//! Rearranging.

use crate::apply::apply1;
use crate::axis::resolve;
use crate::tensor::Tensor;
use gradus_ir::Error;
use gradus_ir::ops::movement::Slice;

impl Tensor {
    /// The diagonal of two axes as the last axis: elements `(i, i + offset)`. A view where the layout allows it.
    #[track_caller]
    pub fn diagonal(&self, offset: isize, axis1: isize, axis2: isize) -> Tensor {
        let shape = self.shape();
        let rank = shape.rank();
        let (a, b) = match (resolve(axis1, rank), resolve(axis2, rank)) {
            _ if self.error().is_some() => return self.clone(),
            (Ok(a), Ok(b)) if a != b => (a, b),
            (Err(e), _) | (_, Err(e)) => return Tensor::refuse("diagonal", &[self], e),
            _ => return Tensor::refuse("diagonal", &[self], Error::value("the two axes", "must differ")),
        };
        let rest: Vec<usize> = (0..rank).filter(|x| *x != a && *x != b).collect();
        let order: Vec<isize> = rest.iter().chain([&a, &b]).map(|&x| x as isize).collect();
        let (n, m) = (shape[a], shape[b]);
        let (row, column) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
        let count = n.saturating_sub(row).min(m.saturating_sub(column));
        // In row-major order neighbours on a diagonal are m + 1 apart.
        let flat = self.permute(order).flatten(-2, -1);
        let first = if count == 0 { 0 } else { row * m + column };
        let mut slice =
            Slice { start: vec![0; rank - 1], stop: flat.shape().to_vec(), step: vec![1; rank - 1] };
        let last = rank - 2;
        slice.start[last] = first;
        slice.stop[last] = if count == 0 { 0 } else { first + (count - 1) * (m + 1) + 1 };
        slice.step[last] = m + 1;
        apply1(slice, &[&flat])
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    for offset in [-1, 0, 2] {
        let x = s.draw.normal([3, 4]);
        s.case("diagonal", [x], move |x| x[0].diagonal(offset, 0, 1));
    }
    let x = s.draw.normal([2, 3, 2]);
    s.case("diagonal", [x], |x| x[0].diagonal(0, -1, 0));
}
