//! Equations being written: their indices have kinds until all are known, then names.

use super::{Base, Seen, Source, number};
use crate::ast::{Equation, Expr, Index, Kind, Name, Place, Projection, Ref, Statement};
use crate::scope::renamed;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An equation over its own indices, each of a kind.
pub(crate) struct Draft {
    pub(crate) name: Name,
    /// The kinds of its indices: first those of the left side, in order.
    pub(crate) kinds: Vec<usize>,
    /// How many are on the left.
    pub(crate) left: usize,
    pub(crate) projection: Projection,
    /// The right side; index `k` is called `#k`.
    pub(crate) value: Expr,
}

pub(crate) struct Drafts {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) taken: BTreeSet<Name>,
    parent: Vec<usize>,
    extents: Vec<usize>,
    /// Kinds whose size must be declared, since nothing on the right of an equation has it.
    declared: BTreeSet<usize>,
    count: usize,
}

/// What index `k` of a draft is called.
pub(crate) fn local(k: usize) -> Name {
    format!("#{k}").into()
}

impl Drafts {
    pub(crate) fn new() -> Drafts {
        let (drafts, taken, declared) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Drafts { drafts, taken, parent: Vec::new(), extents: Vec::new(), declared, count: 0 }
    }

    /// A new kind of index.
    pub(crate) fn kind(&mut self, extent: usize) -> usize {
        self.parent.push(self.parent.len());
        self.extents.push(extent);
        self.parent.len() - 1
    }

    /// How many places an index of this kind has.
    pub(crate) fn extent(&self, kind: usize) -> usize {
        self.extents[kind]
    }

    fn root(&self, mut kind: usize) -> usize {
        while self.parent[kind] != kind {
            kind = self.parent[kind];
        }
        kind
    }

    /// Two kinds that meet are one.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if self.extents[a] == self.extents[b] {
            let (low, high) = (a.min(b), a.max(b));
            self.parent[high] = low;
        }
    }

    /// A new name for a value.
    pub(crate) fn fresh(&mut self) -> Name {
        loop {
            self.count += 1;
            let name = Name::from(format!("T{}", self.count));
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// An equation for a new tensor with these indices on the left.
    pub(crate) fn equation(
        &mut self,
        left: Vec<usize>,
        more: Vec<usize>,
        how: Projection,
        value: Expr,
    ) -> Seen {
        let name = self.fresh();
        self.add(name.clone(), left.clone(), more, how, value);
        let sources = (0..left.len()).map(Source::Axis).collect();
        Seen { base: Base::Tensor(name, sources), kinds: left }
    }

    fn add(&mut self, name: Name, left: Vec<usize>, more: Vec<usize>, projection: Projection, value: Expr) {
        let used: BTreeSet<Name> = value.refs().into_iter().flat_map(crate::scope::keys).collect();
        for (k, kind) in left.iter().enumerate() {
            if !used.contains(&local(k)) {
                self.declared.insert(*kind);
            }
        }
        let kinds: Vec<usize> = left.iter().chain(&more).copied().collect();
        self.drafts.push(Draft { name, left: left.len(), kinds, projection, value });
    }

    /// A value under a name of its own.
    pub(crate) fn copy(&mut self, seen: &Seen, name: Name) {
        let places: Vec<usize> = (0..seen.kinds.len()).collect();
        self.add(name, seen.kinds.clone(), Vec::new(), Projection::Sum, operand(seen, &places));
    }

    /// A value as a tensor with all its axes in order.
    pub(crate) fn solid(&mut self, seen: &Seen) -> Seen {
        if seen.is_plain() {
            return seen.clone();
        }
        let places: Vec<usize> = (0..seen.kinds.len()).collect();
        self.equation(seen.kinds.clone(), Vec::new(), Projection::Sum, operand(seen, &places))
    }

    /// The statements, all indices named; some tensors under other names.
    pub(crate) fn finish(mut self, names: &HashMap<Name, Name>) -> Vec<Statement> {
        let mut letters: BTreeMap<usize, Name> = BTreeMap::new();
        let drafts = std::mem::take(&mut self.drafts);
        let all = drafts.iter().flat_map(|d| &d.kinds).map(|k| self.root(*k));
        for root in all.collect::<Vec<_>>() {
            let n = letters.len();
            letters.entry(root).or_insert_with(|| letter(n));
        }
        let mut out = Vec::new();
        let mut sized = BTreeSet::new();
        for kind in &self.declared {
            let root = self.root(*kind);
            if let (true, Some(name)) = (sized.insert(root), letters.get(&root)) {
                out.push(Statement::Axis(name.clone(), number(self.extents[root] as f64), Span::default()));
            }
        }
        let declared: Vec<Name> = sized.iter().filter_map(|r| letters.get(r).cloned()).collect();
        for d in drafts {
            let mut used: Vec<Name> = Vec::new();
            let mut own: HashMap<Name, Name> = HashMap::new();
            for (k, kind) in d.kinds.iter().enumerate() {
                let mut name = letters.get(&self.root(*kind)).cloned().unwrap_or_else(|| "i".into());
                while used.contains(&name) {
                    name = format!("{name}'").into();
                }
                used.push(name.clone());
                own.insert(local(k), name);
            }
            let value = renamed(&d.value, &own);
            let other = |n: &Name| names.get(n).unwrap_or(n).clone();
            let value = value.with_refs(&|r: &Ref| Some(Ref { name: other(&r.name), ..r.clone() }));
            // An index with a prime has no declared size: it borrows that of the one without.
            for name in used.iter().filter(|n| n.ends_with('\'')) {
                let plain = name.trim_end_matches('\'');
                let position = used.iter().position(|u| u == name).unwrap_or(0);
                let free = position < d.left && !crate::scope::occurrences(&value).contains(name);
                if free && declared.iter().any(|x| **x == *plain) {
                    let size = self.extents[self.root(d.kinds[position])];
                    let new = Statement::Axis(name.clone(), number(size as f64), Span::default());
                    if !out.iter().any(|s| matches!(s, Statement::Axis(n, ..) if n == name)) {
                        out.insert(0, new);
                    }
                }
            }
            let places = used[..d.left].iter().map(Place::named).collect();
            let target = Ref { name: other(&d.name), places, relation: false, span: Span::default() };
            let (guard, projection, span) = (None, d.projection, Span::default());
            out.push(Statement::Equation(Equation { target, guard, projection, value, local: false, span }));
        }
        out
    }
}

fn letter(n: usize) -> Name {
    const LETTERS: &[u8] = b"ijklmnopqrstuvwxyzabcdefgh";
    let one = char::from(LETTERS[n % LETTERS.len()]);
    match n / LETTERS.len() {
        0 => one.to_string().into(),
        round => format!("{one}{round}").into(),
    }
}

/// A value in an equation, its axes called by these indices.
pub(crate) fn operand(seen: &Seen, places: &[usize]) -> Expr {
    match &seen.base {
        Base::Number(x) => number(*x),
        Base::Tensor(name, sources) => {
            let place = |s: &Source| {
                let index = match s {
                    Source::Axis(k) => Index::Named(local(places[*k]), 0),
                    Source::At(at) => Index::At(*at),
                };
                Place { index, dotted: false, span: Span::default() }
            };
            let places = sources.iter().map(place).collect();
            Kind::Ref(Ref { name: name.clone(), places, relation: false, span: Span::default() }).bare()
        }
    }
}
