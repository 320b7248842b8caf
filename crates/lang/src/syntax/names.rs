//! Sets of index names. Sets are small and numerous: a sorted list needs one allocation and is faster than a tree.

use crate::syntax::ast::Name;

/// A sorted set of index names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(Vec<Name>);

impl Names {
    pub(crate) fn new() -> Names {
        Names(Vec::new())
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        // Linear search: most sets have a few names of one letter.
        match self.0.iter().position(|n| **n >= *name) {
            Some(at) if *self.0[at] == *name => Ok(at),
            Some(at) => Err(at),
            None => Err(self.0.len()),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|n| **n == *name)
    }

    /// Inserts a name. Returns true if it was not in the set before.
    pub(crate) fn insert(&mut self, name: Name) -> bool {
        let place = self.place(&name);
        if let Err(at) = place {
            self.0.insert(at, name);
        }
        place.is_err()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Name> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names in either set.
    pub(crate) fn union<'a>(&'a self, other: &'a Names) -> impl Iterator<Item = &'a Name> {
        self.0.iter().chain(other.0.iter().filter(|n| !self.contains(n)))
    }
}

impl Extend<Name> for Names {
    fn extend<I: IntoIterator<Item = Name>>(&mut self, names: I) {
        names.into_iter().for_each(|n| {
            self.insert(n);
        });
    }
}

impl FromIterator<Name> for Names {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Names {
        let mut all: Vec<Name> = names.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        Names(all)
    }
}

impl IntoIterator for Names {
    type Item = Name;
    type IntoIter = std::vec::IntoIter<Name>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Names {
    type Item = &'a Name;
    type IntoIter = std::slice::Iter<'a, Name>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
