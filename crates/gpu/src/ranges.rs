//! The free ranges of a heap. Takes sizes and returns the smallest free range that fits.
//! Neighbouring free ranges are merged, which limits fragmentation.

use std::collections::{BTreeMap, BTreeSet};

/// Ranges start and end at multiples of this, in bytes.
pub const GRAIN: usize = 256;

/// Free ranges of a buffer.
#[derive(Debug)]
pub struct Ranges {
    size: usize,
    /// Size of each free range, by its start.
    starts: BTreeMap<usize, usize>,
    /// The same ranges as (size, start).
    sizes: BTreeSet<(usize, usize)>,
}

impl Ranges {
    /// Makes the ranges of a buffer of `size` bytes, all free.
    pub fn new(size: usize) -> Ranges {
        let mut ranges = Ranges { size: 0, starts: BTreeMap::new(), sizes: BTreeSet::new() };
        ranges.extend(size);
        ranges
    }

    /// Returns the bytes of the buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes a range of at least `bytes` bytes. Returns its start, or `None` if no free range is large enough.
    pub fn take(&mut self, bytes: usize) -> Option<usize> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let (size, start) = self.sizes.range((bytes, 0)..).next().copied()?;
        self.remove(start, size);
        if size > bytes {
            self.insert(start + bytes, size - bytes);
        }
        Some(start)
    }

    /// Frees a range that was taken with the same `bytes`.
    pub fn give(&mut self, start: usize, bytes: usize) {
        let (mut start, mut size) = (start, bytes.max(1).next_multiple_of(GRAIN));
        if let Some((&s, &n)) = self.starts.range(..start).next_back()
            && s + n == start
        {
            self.remove(s, n);
            (start, size) = (s, size + n);
        }
        if let Some(&n) = self.starts.get(&(start + size)) {
            self.remove(start + size, n);
            size += n;
        }
        self.insert(start, size);
    }

    /// Enlarges the buffer to `size` bytes; the added bytes are free.
    pub fn extend(&mut self, size: usize) {
        let (from, size) = (self.size, size / GRAIN * GRAIN);
        if size > from {
            self.size = size;
            self.give(from, size - from);
        }
    }

    /// Returns the number of free bytes.
    #[cfg(test)]
    fn free(&self) -> usize {
        self.starts.values().sum()
    }

    fn insert(&mut self, start: usize, size: usize) {
        self.starts.insert(start, size);
        self.sizes.insert((size, start));
    }

    fn remove(&mut self, start: usize, size: usize) {
        self.starts.remove(&start);
        self.sizes.remove(&(size, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_never_overlap_and_join_again() {
        let mut ranges = Ranges::new(64 * GRAIN);
        let mut held: Vec<(usize, usize)> = Vec::new();
        let mut seed = 7u32;
        let mut random = |n: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % n
        };
        for turn in 0..4000 {
            if turn == 2000 {
                ranges.extend(128 * GRAIN);
            }
            if random(2) == 0 && !held.is_empty() {
                let (start, bytes) = held.swap_remove(random(held.len() as u32) as usize);
                ranges.give(start, bytes);
                continue;
            }
            let bytes = random(9 * GRAIN as u32) as usize;
            let Some(start) = ranges.take(bytes) else { continue };
            let end = |s: usize, n: usize| s + n.max(1).next_multiple_of(GRAIN);
            assert!(end(start, bytes) <= ranges.size() && start % GRAIN == 0);
            assert!(held.iter().all(|&(s, n)| end(s, n) <= start || end(start, bytes) <= s));
            held.push((start, bytes));
        }
        held.into_iter().for_each(|(start, bytes)| ranges.give(start, bytes));
        assert_eq!((ranges.free(), ranges.starts.len()), (128 * GRAIN, 1));
    }

    #[test]
    fn a_range_that_does_not_fit_is_none() {
        let mut ranges = Ranges::new(4 * GRAIN);
        assert_eq!(ranges.take(2 * GRAIN), Some(0));
        assert_eq!(ranges.take(3 * GRAIN), None);
        assert_eq!(ranges.take(2 * GRAIN), Some(2 * GRAIN));
        assert_eq!(ranges.take(0), None);
        assert_eq!(ranges.take(usize::MAX), None);
    }
}
