//! A list that stores up to two items inline. Most calls have one or two operands, and an allocation takes as
//! long as a small call.

use std::iter::{Chain, Flatten};
use std::ops::{Deref, DerefMut};
use std::{array, vec};

/// A list that stores up to two items inline.
#[derive(Clone, Debug, Default)]
pub(crate) enum InlineList<T> {
    #[default]
    None,
    One([T; 1]),
    Two([T; 2]),
    Many(Vec<T>),
}

impl<T> InlineList<T> {
    /// Maps a slice to a list.
    #[inline(always)]
    pub(crate) fn of<A>(from: &[A], mut f: impl FnMut(&A) -> T) -> InlineList<T> {
        match from {
            [] => InlineList::None,
            [a] => InlineList::One([f(a)]),
            [a, b] => InlineList::Two([f(a), f(b)]),
            more => InlineList::Many(more.iter().map(f).collect()),
        }
    }
}

impl<T> Deref for InlineList<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            InlineList::None => &[],
            InlineList::One(items) => items,
            InlineList::Two(items) => items,
            InlineList::Many(items) => items,
        }
    }
}

impl<T> DerefMut for InlineList<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            InlineList::None => &mut [],
            InlineList::One(items) => items,
            InlineList::Two(items) => items,
            InlineList::Many(items) => items,
        }
    }
}

impl<T> FromIterator<T> for InlineList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> InlineList<T> {
        let mut items = items.into_iter();
        let Some(a) = items.next() else { return InlineList::None };
        let Some(b) = items.next() else { return InlineList::One([a]) };
        let Some(c) = items.next() else { return InlineList::Two([a, b]) };
        InlineList::Many([a, b, c].into_iter().chain(items).collect())
    }
}

impl<T> IntoIterator for InlineList<T> {
    type Item = T;
    type IntoIter = Chain<Flatten<array::IntoIter<Option<T>, 2>>, vec::IntoIter<T>>;
    fn into_iter(self) -> Self::IntoIter {
        let (inline, more) = match self {
            InlineList::None => ([None, None], Vec::new()),
            InlineList::One([a]) => ([Some(a), None], Vec::new()),
            InlineList::Two([a, b]) => ([Some(a), Some(b)], Vec::new()),
            InlineList::Many(items) => ([None, None], items),
        };
        inline.into_iter().flatten().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_keep_their_items() {
        for n in 0..5 {
            let mut list: InlineList<usize> = (0..n).collect();
            assert!(list.iter().copied().eq(0..n));
            assert!(InlineList::of(&list, |i| i * 2).into_iter().eq((0..n).map(|i| i * 2)));
            list.iter_mut().for_each(|i| *i += 1);
            assert!(list.into_iter().eq(1..=n));
        }
    }
}
