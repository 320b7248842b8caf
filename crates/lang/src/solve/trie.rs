//! Stores the tuples of a relation: a trie with one level per column, in an order of columns that a join asks for.
//! Takes tuples of `u32`; returns membership, and the values of the next column below a prefix.
//! The last column is a `Set`, which is a sorted list, a hash set or a bit set, whichever is the smallest.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes a `u32` by one multiplication. Keys are numbers of symbols or integers of the program's own
/// domains, so collisions chosen by an attacker cost time only.
#[derive(Clone, Copy, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }

    fn write_u32(&mut self, x: u32) {
        let mixed = (self.0 ^ u64::from(x)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

type Fast = BuildHasherDefault<Mix>;

/// Longest list that is kept sorted.
const FEW: usize = 128;

/// A set of numbers below a size that is known.
#[derive(Clone, Debug)]
pub(super) enum Set {
    Few(Vec<u32>),
    Hashed(HashSet<u32, Fast>),
    /// One bit per number, and how many are set.
    Bits(Vec<u64>, usize),
}

impl Set {
    fn new() -> Set {
        Set::Few(Vec::new())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Set::Few(list) => list.len(),
            Set::Hashed(set) => set.len(),
            Set::Bits(_, count) => *count,
        }
    }

    pub(super) fn contains(&self, x: u32) -> bool {
        match self {
            Set::Few(list) => list.binary_search(&x).is_ok(),
            Set::Hashed(set) => set.contains(&x),
            Set::Bits(words, _) => words.get(x as usize / 64).is_some_and(|w| w >> (x % 64) & 1 == 1),
        }
    }

    /// Adds a number below `size`; returns whether it was absent.
    fn insert(&mut self, x: u32, size: u32) -> bool {
        let added = match self {
            Set::Few(list) => match list.binary_search(&x) {
                Ok(_) => false,
                Err(at) => {
                    list.insert(at, x);
                    true
                }
            },
            Set::Hashed(set) => set.insert(x),
            Set::Bits(words, count) => match words.get_mut(x as usize / 64) {
                Some(word) => {
                    let before = *word;
                    *word |= 1 << (x % 64);
                    *count += usize::from(*word != before);
                    *word != before
                }
                None => false,
            },
        };
        if added {
            self.shrink(size as usize);
        }
        added
    }

    /// Changes to the form that takes the least memory: 4 bytes a number in a list, about 8 hashed, one bit of all.
    fn shrink(&mut self, size: usize) {
        let n = self.len();
        let bits = n >= 8 && n * 32 >= size;
        match self {
            Set::Bits(..) => {}
            _ if bits => {
                let mut words = vec![0u64; size.div_ceil(64)];
                self.each(|x| {
                    words[x as usize / 64] |= 1 << (x % 64);
                    false
                });
                *self = Set::Bits(words, n);
            }
            Set::Few(list) if n > FEW => *self = Set::Hashed(list.iter().copied().collect()),
            _ => {}
        }
    }

    /// Calls `f` with every number until it returns true; returns whether it did.
    pub(super) fn each(&self, mut f: impl FnMut(u32) -> bool) -> bool {
        match self {
            Set::Few(list) => list.iter().any(|x| f(*x)),
            Set::Hashed(set) => set.iter().any(|x| f(*x)),
            Set::Bits(words, _) => words.iter().enumerate().any(|(at, word)| {
                let mut left = *word;
                while left != 0 {
                    if f(at as u32 * 64 + left.trailing_zeros()) {
                        return true;
                    }
                    left &= left - 1;
                }
                false
            }),
        }
    }
}

/// One level of a trie: what follows each value of its column.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Inner(HashMap<u32, Node, Fast>),
    Leaf(Set),
}

impl Node {
    fn new(levels: usize) -> Node {
        if levels > 1 { Node::Inner(HashMap::default()) } else { Node::Leaf(Set::new()) }
    }

    /// Calls `f` with every value of the column of this level, and what follows it, until it returns true.
    pub(super) fn each<'n>(&'n self, mut f: impl FnMut(u32, Option<&'n Node>) -> bool) -> bool {
        match self {
            Node::Inner(map) => map.iter().any(|(x, below)| f(*x, Some(below))),
            Node::Leaf(set) => set.each(|x| f(x, None)),
        }
    }

    /// Looks up a value in the column of this level. Returns the node that follows it.
    pub(super) fn at(&self, x: u32) -> Option<Option<&Node>> {
        match self {
            Node::Inner(map) => map.get(&x).map(Some),
            Node::Leaf(set) => set.contains(x).then_some(None),
        }
    }
}

/// The tuples of a relation, by its columns in some order.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    /// The columns, first level first.
    pub(super) order: Vec<usize>,
    /// The size of each level's column.
    sizes: Vec<u32>,
    /// `None` if there are no columns.
    root: Option<Node>,
    len: usize,
}

impl Trie {
    pub(super) fn new(sizes: &[u32], order: &[usize]) -> Trie {
        let own: Vec<u32> = order.iter().map(|c| sizes[*c]).collect();
        let root = (!own.is_empty()).then(|| Node::new(own.len()));
        Trie { order: order.to_vec(), sizes: own, root, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// Adds a tuple, given in the relation's own order of columns; returns whether it was absent.
    pub(super) fn insert(&mut self, tuple: &[u32]) -> bool {
        let Some(mut node) = self.root.as_mut() else {
            let added = self.len == 0;
            self.len = 1;
            return added;
        };
        let last = self.order.len() - 1;
        for (level, column) in self.order.iter().enumerate() {
            let x = tuple[*column];
            match node {
                Node::Inner(map) => {
                    node = match map.entry(x) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => new.insert(Node::new(last - level)),
                    };
                }
                Node::Leaf(set) => {
                    let added = set.insert(x, self.sizes[level]);
                    self.len += usize::from(added);
                    return added;
                }
            }
        }
        false
    }

    pub(super) fn contains(&self, tuple: &[u32]) -> bool {
        let Some(mut node) = self.root.as_ref() else { return self.len > 0 };
        for column in &self.order {
            match node.at(tuple[*column]) {
                Some(Some(below)) => node = below,
                Some(None) => return true,
                None => return false,
            }
        }
        false
    }

    /// Returns all tuples one after the other, in the relation's own order of columns.
    pub(super) fn tuples(&self) -> Vec<u32> {
        fn walk(node: &Node, order: &[usize], tuple: &mut [u32], out: &mut Vec<u32>) {
            node.each(|x, below| {
                tuple[order[0]] = x;
                match below {
                    Some(below) => walk(below, &order[1..], tuple, out),
                    None => out.extend_from_slice(tuple),
                }
                false
            });
        }
        let mut out = Vec::with_capacity(self.len * self.order.len());
        if let Some(root) = &self.root {
            walk(root, &self.order, &mut vec![0; self.order.len()], &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pseudo-random numbers.
    fn numbers(mut state: u64, n: usize, below: u32) -> Vec<u32> {
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % below
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn sets_hold_what_is_added_in_every_form() {
        for (n, size) in [(5, 10), (100, 1000), (500, 1_000_000), (5000, 6000), (40_000, 1_000_000)] {
            let (mut set, mut expected) = (Set::new(), BTreeSet::new());
            for x in numbers(n as u64, n, size) {
                assert_eq!(set.insert(x, size), expected.insert(x));
            }
            let mut found = Vec::new();
            set.each(|x| {
                found.push(x);
                false
            });
            found.sort_unstable();
            assert!(found.iter().eq(&expected) && set.len() == expected.len(), "{n} of {size}");
            assert!((0..size.min(2000)).all(|x| set.contains(x) == expected.contains(&x)));
        }
    }

    #[test]
    fn tries_hold_tuples_in_any_order_of_columns() {
        let sizes = [7, 300, 5];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let (mut trie, mut expected) = (Trie::new(&sizes, &order), BTreeSet::new());
            let columns: Vec<Vec<u32>> = sizes.iter().map(|n| numbers(u64::from(*n), 2000, *n)).collect();
            let rows = columns[0].iter().zip(&columns[1]).zip(&columns[2]);
            for ((&a, &b), &c) in rows {
                let tuple = [a, b, c];
                assert_eq!(trie.insert(&tuple), expected.insert(tuple));
            }
            let all = trie.tuples();
            let found: BTreeSet<[u32; 3]> = all.chunks(3).map(|t| [t[0], t[1], t[2]]).collect();
            assert_eq!(
                (found, all.len(), trie.len()),
                (expected.clone(), 3 * expected.len(), expected.len())
            );
            assert!(expected.iter().all(|t| trie.contains(t)) && !trie.contains(&[6, 299, 9]));
        }
    }
}
