//! A list that holds up to two items in place: most calls have one or two operands, and an allocation costs as much
//! as such a call.

use std::iter::{Chain, Flatten};
use std::ops::{Deref, DerefMut};
use std::{array, vec};

/// A list.
#[derive(Clone, Debug, Default)]
pub(crate) enum Few<T> {
    #[default]
    None,
    One([T; 1]),
    Two([T; 2]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// One item for each of these.
    #[inline(always)]
    pub(crate) fn of<A>(from: &[A], mut f: impl FnMut(&A) -> T) -> Few<T> {
        match from {
            [] => Few::None,
            [a] => Few::One([f(a)]),
            [a, b] => Few::Two([f(a), f(b)]),
            more => Few::Many(more.iter().map(f).collect()),
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Few::None => &[],
            Few::One(items) => items,
            Few::Two(items) => items,
            Few::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::None => &mut [],
            Few::One(items) => items,
            Few::Two(items) => items,
            Few::Many(items) => items,
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T> {
        let mut items = items.into_iter();
        let Some(a) = items.next() else { return Few::None };
        let Some(b) = items.next() else { return Few::One([a]) };
        let Some(c) = items.next() else { return Few::Two([a, b]) };
        Few::Many([a, b, c].into_iter().chain(items).collect())
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<Flatten<array::IntoIter<Option<T>, 2>>, vec::IntoIter<T>>;
    fn into_iter(self) -> Self::IntoIter {
        let (inline, more) = match self {
            Few::None => ([None, None], Vec::new()),
            Few::One([a]) => ([Some(a), None], Vec::new()),
            Few::Two([a, b]) => ([Some(a), Some(b)], Vec::new()),
            Few::Many(items) => ([None, None], items),
        };
        inline.into_iter().flatten().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_length() {
        for n in 0..5 {
            let mut few: Few<usize> = (0..n).collect();
            assert!(few.iter().copied().eq(0..n));
            assert!(Few::of(&few, |i| i * 2).into_iter().eq((0..n).map(|i| i * 2)));
            few.iter_mut().for_each(|i| *i += 1);
            assert!(few.into_iter().eq(1..=n));
        }
    }
}
