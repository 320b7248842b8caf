//! Axes as users write them: counted from the front, or from the end if negative.

use gradus_ir::{Error, Kind, Result};

/// Returns the axis counted from the front, or an error if the rank is too small.
pub(crate) fn resolve(axis: isize, rank: usize) -> Result<usize> {
    let at = if axis < 0 { axis + rank as isize } else { axis };
    if at >= 0 && (at as usize) < rank { Ok(at as usize) } else { Err(out_of_range(axis, rank)) }
}

fn out_of_range(axis: isize, rank: usize) -> Error {
    Error::new(Kind::Axis { axis: axis as i64, rank })
}

/// One axis, several, or all of them.
pub trait Axes {
    /// Returns the axes counted from the front, each once, in the order of the argument.
    fn resolve(&self, rank: usize) -> Result<Vec<usize>>;
}

/// All axes.
#[derive(Clone, Copy, Debug)]
pub struct All;

impl Axes for All {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        Ok((0..rank).collect())
    }
}

impl Axes for () {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        Ok((0..rank).collect())
    }
}

impl Axes for isize {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        Ok(vec![resolve(*self, rank)?])
    }
}

impl Axes for [isize] {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        let (mut axes, mut seen) = (Vec::with_capacity(self.len()), vec![false; rank]);
        for &axis in self {
            let a = resolve(axis, rank)?;
            if seen.get_mut(a).is_some_and(|seen| std::mem::replace(seen, true)) {
                return Err(out_of_range(axis, rank));
            }
            axes.push(a);
        }
        Ok(axes)
    }
}

impl<const N: usize> Axes for [isize; N] {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        self.as_slice().resolve(rank)
    }
}

impl Axes for Vec<isize> {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        self.as_slice().resolve(rank)
    }
}

impl<T: Axes + ?Sized> Axes for &T {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        (**self).resolve(rank)
    }
}

impl<T: Axes> Axes for Option<T> {
    fn resolve(&self, rank: usize) -> Result<Vec<usize>> {
        self.as_ref().map_or_else(|| All.resolve(rank), |axes| axes.resolve(rank))
    }
}
