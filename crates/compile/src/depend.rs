//! Stores the transitive dependencies between units of work, so that fusion never creates a cycle.
//! Takes the dependencies of new units; decides whether an op may join a unit, and whether two units may be merged.
//! `group.rs` and `lower.rs` decide whether a fusion is worthwhile.

/// A set of units, as a bit set.
#[derive(Clone, Debug, Default)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    fn insert(&mut self, i: usize) {
        if self.0.len() <= i / 64 {
            self.0.resize(i / 64 + 1, 0);
        }
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn remove(&mut self, i: usize) {
        if let Some(w) = self.0.get_mut(i / 64) {
            *w &= !(1 << (i % 64));
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * i + bit)
            })
        })
    }

    fn union(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// For each unit, the set of all units that must run before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depend {
    before: Vec<Set>,
}

impl Depend {
    /// Adds a unit that depends on the units `needs`. Returns its number.
    pub(crate) fn new_unit(&mut self, needs: &[usize]) -> usize {
        self.before.push(Set::default());
        let unit = self.before.len() - 1;
        // No unit depends on the new unit yet, so no other set changes.
        self.before[unit] = self.with(unit, needs.iter().copied());
        unit
    }

    /// Adds dependencies to a unit.
    pub(crate) fn add(&mut self, unit: usize, needs: impl IntoIterator<Item = usize>) {
        let mut needs = needs.into_iter().peekable();
        if needs.peek().is_none() {
            return;
        }
        self.before[unit] = self.with(unit, needs);
        self.propagate(unit);
    }

    /// Takes the dependencies of a unit, and adds `needs` and their dependencies to them.
    fn with(&mut self, unit: usize, needs: impl IntoIterator<Item = usize>) -> Set {
        let mut own = std::mem::take(&mut self.before[unit]);
        for need in needs {
            own.union(&self.before[need]);
            own.insert(need);
        }
        own
    }

    /// Adds the dependencies of a unit to all units that depend on it.
    fn propagate(&mut self, unit: usize) {
        let own = self.before[unit].clone();
        self.before.iter_mut().filter(|b| b.has(unit)).for_each(|b| b.union(&own));
    }

    /// Returns true if `other` must run before `unit`.
    pub(crate) fn needs(&self, unit: usize, other: usize) -> bool {
        self.before[unit].has(other)
    }

    /// Returns true if an op that depends on `needs` may become part of `unit`, that is, if no other unit of `needs` depends on
    /// `unit`.
    pub(crate) fn could_join(&self, unit: usize, needs: &[usize]) -> bool {
        needs.iter().all(|&n| n == unit || !self.needs(n, unit))
    }

    /// Returns true if two units may be merged, that is, if no third unit must run between them.
    pub(crate) fn could_merge(&self, a: usize, b: usize) -> bool {
        let (first, last) = match (self.needs(b, a), self.needs(a, b)) {
            // A unit between the two would depend on one of them, and the other would depend on that unit. So if neither
            // depends on the other, there is none.
            (false, false) => return true,
            (true, _) => (a, b),
            (_, true) => (b, a),
        };
        !self.before[last].iter().any(|x| x != first && self.needs(x, first))
    }

    /// Merges `b` into `a`.
    pub(crate) fn merge(&mut self, a: usize, b: usize) {
        let other = std::mem::take(&mut self.before[b]);
        self.before[a].union(&other);
        self.before[a].remove(a);
        self.before[a].remove(b);
        for x in &mut self.before {
            if x.has(b) {
                x.remove(b);
                x.insert(a);
            }
        }
        self.propagate(a);
    }
}
