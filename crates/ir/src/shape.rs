//! Extents of a tensor, stored inline for up to six axes so that shapes need no allocation.
//! Holds the rules of broadcasting, row-major strides and element counts that do not overflow.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

const INLINE: usize = 6;

/// The extents of a tensor, outermost first; a scalar has none.
#[derive(Eq)]
pub struct Shape(Repr);

// Up to INLINE extents are always `Inline`, followed by zeros, so that hashing agrees with equality.
#[derive(PartialEq, Eq, Hash)]
enum Repr {
    Inline(u32, [usize; INLINE]),
    Heap(Box<[usize]>),
}

/// Returns a flag per axis that is true if `axes` contains it. Linear time, where looking up each axis is quadratic.
pub fn axis_mask(axes: &[usize], rank: usize) -> Vec<bool> {
    let mut mask = vec![false; rank];
    for &axis in axes {
        if let Some(named) = mask.get_mut(axis) {
            *named = true;
        }
    }
    mask
}

impl Shape {
    /// Makes a shape of these extents.
    pub fn new(extents: &[usize]) -> Shape {
        if extents.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..extents.len()].copy_from_slice(extents);
            Shape(Repr::Inline(extents.len() as u32, inline))
        } else {
            Shape(Repr::Heap(extents.into()))
        }
    }

    /// Returns the shape of a scalar.
    #[inline]
    pub fn scalar() -> Shape {
        Shape::new(&[])
    }

    /// Returns the number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.len()
    }

    /// Returns the number of elements. Returns `None` if the product of the nonzero extents, times 16 bytes,
    /// overflows an `isize`. If it does not, no product of some of the extents overflows either.
    #[inline]
    pub fn checked_numel(&self) -> Option<usize> {
        let n = self.iter().filter(|d| **d != 0).try_fold(1usize, |n, &d| n.checked_mul(d))?;
        (n <= isize::MAX as usize / 16).then_some(if self.contains(&0) { 0 } else { n })
    }

    /// Returns the number of elements of a shape that passed inference.
    #[inline]
    pub fn numel(&self) -> usize {
        self.checked_numel().unwrap_or(usize::MAX)
    }

    /// Returns the row-major strides in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.len()];
        for i in (1..self.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(self[i]);
        }
        strides
    }

    /// Broadcasts by NumPy's rule: aligned at the last axis, extents must be equal or 1.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let at = |s: &Shape, i: usize| if i + s.rank() < rank { 1 } else { s[i + s.rank() - rank] };
        let mut out = Vec::with_capacity(rank);
        for i in 0..rank {
            out.push(match (at(self, i), at(other, i)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return None,
            });
        }
        Some(Shape::from(out))
    }

    /// Removes these axes, in any order.
    pub fn without(&self, axes: &[usize]) -> Shape {
        let gone = axis_mask(axes, self.rank());
        self.iter().enumerate().filter(|(i, _)| !gone[*i]).map(|(_, &d)| d).collect()
    }

    /// Replaces the extent of one axis.
    pub fn with(&self, axis: usize, extent: usize) -> Shape {
        self.iter().enumerate().map(|(i, &d)| if i == axis { extent } else { d }).collect()
    }
}

impl Clone for Shape {
    // Inlined so that the copy is written directly to its destination.
    #[inline(always)]
    fn clone(&self) -> Shape {
        Shape(match &self.0 {
            Repr::Inline(n, d) => Repr::Inline(*n, *d),
            Repr::Heap(d) => Repr::Heap(d.clone()),
        })
    }
}

impl PartialEq for Shape {
    // A loop instead of a slice comparison: there are few extents, and a call of `memcmp` takes longer than the loop.
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Deref for Shape {
    type Target = [usize];
    #[inline]
    fn deref(&self) -> &[usize] {
        match &self.0 {
            Repr::Inline(n, d) => &d[..*n as usize],
            Repr::Heap(d) => d,
        }
    }
}

impl From<Vec<usize>> for Shape {
    fn from(v: Vec<usize>) -> Shape {
        Shape::new(&v)
    }
}

impl From<&[usize]> for Shape {
    fn from(v: &[usize]) -> Shape {
        Shape::new(v)
    }
}

impl From<&Shape> for Shape {
    fn from(v: &Shape) -> Shape {
        v.clone()
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(v: [usize; N]) -> Shape {
        Shape::new(&v)
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(v: &[usize; N]) -> Shape {
        Shape::new(v)
    }
}

impl From<usize> for Shape {
    fn from(n: usize) -> Shape {
        Shape::new(&[n])
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(it: I) -> Shape {
        it.into_iter().collect::<Vec<_>>().into()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.iter().map(|d| d.to_string()).collect();
        write!(f, "[{}]", parts.join(","))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting() {
        let b = |a: &[usize], b: &[usize]| Shape::new(a).broadcast(&Shape::new(b)).map(|s| s.to_vec());
        assert_eq!(b(&[4, 2], &[2]), Some(vec![4, 2]));
        assert_eq!(b(&[2, 1], &[1, 3]), Some(vec![2, 3]));
        assert_eq!(b(&[0], &[1]), Some(vec![0]));
        assert_eq!(b(&[], &[5]), Some(vec![5]));
        assert_eq!(b(&[2], &[3]), None);
        assert_eq!(b(&[2], &[0]), None);
    }

    #[test]
    fn long_and_large() {
        let long = Shape::new(&[1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(long.numel(), 5040);
        assert_eq!(long, Shape::from(vec![1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(Shape::new(&[usize::MAX, 2]).checked_numel(), None);
        assert_eq!(Shape::new(&[usize::MAX, 0]).checked_numel(), None);
        assert_eq!(Shape::new(&[1 << 40, 0]).checked_numel(), Some(0));
        assert_eq!(Shape::new(&[2, 3, 4]).strides(), vec![12, 4, 1]);
    }
}
