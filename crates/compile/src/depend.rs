//! Which unit of work needs which, transitively, so that fusing never makes two units wait for each other.

/// Sets of units, as bits.
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

    fn union(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// For each unit, all that must run before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depend {
    before: Vec<Set>,
}

impl Depend {
    /// A unit that needs these.
    pub(crate) fn new_unit(&mut self, needs: &[usize]) -> usize {
        self.before.push(Set::default());
        let unit = self.before.len() - 1;
        self.add(unit, needs.iter().copied());
        unit
    }

    /// Makes a unit need others too.
    pub(crate) fn add(&mut self, unit: usize, needs: impl IntoIterator<Item = usize>) {
        let mut own = std::mem::take(&mut self.before[unit]);
        for need in needs {
            own.union(&self.before[need]);
            own.insert(need);
        }
        self.before[unit] = own;
        self.spread(unit);
    }

    /// Whatever needs the unit needs what it needs.
    fn spread(&mut self, unit: usize) {
        let own = self.before[unit].clone();
        self.before.iter_mut().filter(|b| b.has(unit)).for_each(|b| b.union(&own));
    }

    /// Whether all that must run before `unit` is in its set.
    pub(crate) fn needs(&self, unit: usize, other: usize) -> bool {
        self.before[unit].has(other)
    }

    /// Whether an op that needs these may become part of one of them: none of the others may need that one.
    pub(crate) fn could_join(&self, unit: usize, needs: &[usize]) -> bool {
        needs.iter().all(|&n| n == unit || !self.needs(n, unit))
    }

    /// Whether two units may become one: nothing may have to run between them.
    pub(crate) fn could_merge(&self, a: usize, b: usize) -> bool {
        let between =
            |x: usize| (self.needs(x, a) && self.needs(b, x)) || (self.needs(x, b) && self.needs(a, x));
        !(0..self.before.len()).any(|x| x != a && x != b && between(x))
    }

    /// Makes `b` part of `a`.
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
        self.spread(a);
    }
}
