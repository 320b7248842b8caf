//! Equations under construction. Each index has a kind; kinds of indices that are combined are joined.
//! `finish` names the kinds and returns statements.

use super::{Base, Source, View, number};
use crate::elaborate::scope::renamed;
use crate::syntax::ast::{
    Call, Equation, Expr, Function, Index, Kind, Name, Place, Projection, Ref, Statement,
};
use crate::syntax::source::Span;
use gradus_ir::DType;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An equation whose indices are numbered, each with its kind.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) name: Name,
    /// The time index of the left side, which follows its other indices.
    pub(crate) when: Option<Index>,
    /// The kinds of its indices: first those of the left side, in order.
    pub(crate) kinds: Vec<usize>,
    /// The number of indices on the left.
    pub(crate) left: usize,
    pub(crate) projection: Projection,
    /// The right side, in which index `k` has the name `#k`.
    pub(crate) value: Expr,
}

/// A function of the program.
pub(crate) struct Own {
    pub(crate) name: Name,
    /// Its parameters, with the kinds of their indices.
    pub(crate) params: Vec<(Name, Vec<usize>)>,
    pub(crate) result: (Name, Vec<usize>),
    pub(crate) body: Vec<Draft>,
}

pub(crate) struct Drafts {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) functions: Vec<Own>,
    pub(crate) taken: BTreeSet<Name>,
    /// The tensors that are Boolean relations.
    pub(crate) relations: BTreeSet<Name>,
    /// The dtype of all floats, if all have the same: then the text does not state it.
    float: Option<DType>,
    /// The time of the program or function that is being written.
    pub(crate) clock: Clock,
    /// The name of the time with each number of steps.
    pub(crate) times: BTreeMap<usize, Name>,
    /// The times that end by a condition, each with the name of its condition.
    pub(crate) times_by_condition: Vec<(Name, Name)>,
    parent: Vec<usize>,
    extents: Vec<usize>,
    /// Kinds whose size must be declared, because no tensor on a right side has the index.
    declared: BTreeSet<usize>,
    /// Kinds of plain indices that run over all steps of a time, with the time's name.
    laid_out: BTreeMap<usize, Name>,
    count: usize,
}

/// The time of a program or function. It has one length; loops inside its steps become functions.
#[derive(Clone, Copy, Default)]
pub(crate) struct Clock {
    pub(crate) steps: Option<usize>,
    pub(crate) within: bool,
}

/// Returns the name of index `k` of a draft.
pub(crate) fn local(k: usize) -> Name {
    format!("#{k}").into()
}

impl Drafts {
    /// Makes an empty set of drafts. `float` is the dtype of all floats, if all have the same.
    pub(crate) fn new(float: Option<DType>) -> Drafts {
        Drafts {
            float,
            drafts: Vec::new(),
            functions: Vec::new(),
            taken: BTreeSet::new(),
            relations: BTreeSet::new(),
            clock: Clock::default(),
            times: BTreeMap::new(),
            times_by_condition: Vec::new(),
            parent: Vec::new(),
            extents: Vec::new(),
            declared: BTreeSet::new(),
            laid_out: BTreeMap::new(),
            count: 0,
        }
    }

    /// Returns a dtype if the text must state it. Booleans, complex numbers and the program's own floats need
    /// none.
    pub(crate) fn said(&self, dtype: DType) -> Option<DType> {
        let known = dtype == DType::Bool || dtype.is_complex() || Some(dtype) == self.float;
        Some(dtype).filter(|_| !known)
    }

    /// Returns a value that is the same number at all indices.
    pub(crate) fn number(&self, x: f64, dtype: DType, kinds: Vec<usize>) -> View {
        View { base: Base::Number(x, self.said(dtype)), kinds, when: None }
    }

    /// Writes a conversion to a dtype.
    pub(crate) fn cast(&mut self, x: &View, dtype: DType) -> View {
        let places: Vec<usize> = (0..x.kinds.len()).collect();
        let value = cast(operand(x, &places), dtype);
        self.equation(x.kinds.clone(), Vec::new(), Projection::Sum, value)
    }

    /// Returns true if a Boolean value of the graph is Boolean in the program too, by the form of its
    /// equation.
    pub(crate) fn is_truth(&self, x: &View) -> bool {
        let Base::Tensor(name, _) = &x.base else { return false };
        if self.relations.contains(name) {
            return true;
        }
        let mut own = self.drafts.iter().filter(|d| d.name == *name).map(|d| &d.value.kind);
        own.next().is_none_or(|kind| match kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => true,
            Kind::Call(call) => TRUTHS.contains(&&*call.function),
            _ => false,
        })
    }

    /// Returns the name of the time with this number of steps.
    pub(crate) fn time(&mut self, steps: usize) -> Name {
        let mut next: Name = if self.times.is_empty() { "t".into() } else { format!("t{steps}").into() };
        while self.taken.contains(&next) {
            next = format!("{next}_").into();
        }
        self.times.entry(steps).or_insert(next).clone()
    }

    /// Makes a kind for a plain index that runs over all steps of a time.
    pub(crate) fn laid_out(&mut self, time: &Name, steps: usize) -> usize {
        let kind = self.kind(steps);
        self.laid_out.insert(kind, time.clone());
        kind
    }

    /// Makes a new kind of index.
    pub(crate) fn kind(&mut self, extent: usize) -> usize {
        self.parent.push(self.parent.len());
        self.extents.push(extent);
        self.parent.len() - 1
    }

    /// Returns the size of an index of this kind.
    pub(crate) fn extent(&self, kind: usize) -> usize {
        self.extents[kind]
    }

    pub(crate) fn root(&self, mut kind: usize) -> usize {
        while self.parent[kind] != kind {
            kind = self.parent[kind];
        }
        kind
    }

    /// Joins two kinds, unless their extents differ.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if self.extents[a] == self.extents[b] {
            let (low, high) = (a.min(b), a.max(b));
            self.parent[high] = low;
        }
    }

    /// Makes a new name for a value.
    pub(crate) fn fresh(&mut self) -> Name {
        loop {
            self.count += 1;
            let name = Name::from(format!("T{}", self.count));
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Writes an equation for a new tensor. `left` has the kinds of the indices on the left side, `more`
    /// those of the others.
    pub(crate) fn equation(
        &mut self,
        left: Vec<usize>,
        more: Vec<usize>,
        how: Projection,
        value: Expr,
    ) -> View {
        let name = self.fresh();
        // An equation that reads a value at the current step has a value per step.
        let mut times = value.refs().into_iter().flat_map(|r| &r.places);
        let when = times.find_map(|p| match &p.index {
            Index::Time(time, _) => Some(Index::Time(time.clone(), 0)),
            _ => None,
        });
        self.add(name.clone(), when.clone(), left.clone(), more, how, value);
        View::named(name, left, when)
    }

    pub(crate) fn add(
        &mut self,
        name: Name,
        when: Option<Index>,
        left: Vec<usize>,
        more: Vec<usize>,
        projection: Projection,
        value: Expr,
    ) {
        let used: BTreeSet<Name> = value.refs().into_iter().flat_map(crate::elaborate::scope::keys).collect();
        for (k, kind) in left.iter().enumerate() {
            if !used.contains(&local(k)) {
                self.declared.insert(*kind);
            }
        }
        let kinds: Vec<usize> = left.iter().chain(&more).copied().collect();
        self.drafts.push(Draft { name, when, left: left.len(), kinds, projection, value });
    }

    /// Writes an equation that gives a value a name, at the time index `when` if there is one.
    pub(crate) fn copy(&mut self, view: &View, name: Name, when: Option<Index>) {
        let places: Vec<usize> = (0..view.kinds.len()).collect();
        self.add(name, when, view.kinds.clone(), Vec::new(), Projection::Sum, operand(view, &places));
    }

    /// Returns a value as a plain tensor; writes an equation for it if it is not one.
    pub(crate) fn solid(&mut self, view: &View) -> View {
        if view.is_plain() {
            return view.clone();
        }
        let places: Vec<usize> = (0..view.kinds.len()).collect();
        self.equation(view.kinds.clone(), Vec::new(), Projection::Sum, operand(view, &places))
    }

    /// Names all indices and returns the statements. `names` renames tensors.
    pub(crate) fn finish(mut self, names: &HashMap<Name, Name>) -> Vec<Statement> {
        let mut letters: BTreeMap<usize, Name> = BTreeMap::new();
        let mut next = 0;
        let drafts = std::mem::take(&mut self.drafts);
        let functions = std::mem::take(&mut self.functions);
        let own = functions.iter().flat_map(|f| {
            let heads = f.params.iter().map(|p| &p.1).chain([&f.result.1]);
            heads.chain(f.body.iter().map(|d| &d.kinds)).flatten()
        });
        let all = drafts.iter().flat_map(|d| &d.kinds).chain(own).map(|k| self.root(*k));
        for root in all.collect::<Vec<_>>() {
            letters.entry(root).or_insert_with(|| {
                // An index with the name of a tensor would be read as that tensor.
                let free = |name: &Name| !self.taken.contains(name) && !names.values().any(|n| n == name);
                let name = (next..).map(letter).find(free).unwrap_or_else(|| "i".into());
                next = (next..).find(|n| letter(*n) == name).map_or(next, |n| n + 1);
                name
            });
        }
        letters.extend(self.laid_out.iter().map(|(kind, time)| (*kind, time.clone())));
        let mut sizes: Vec<(Name, usize)> = self.times.iter().map(|(n, time)| (time.clone(), *n)).collect();
        let mut sized = BTreeSet::new();
        for kind in self.declared.iter().filter(|k| !self.laid_out.contains_key(k)) {
            let root = self.root(*kind);
            if let (true, Some(name)) = (sized.insert(root), letters.get(&root)) {
                sizes.push((name.clone(), self.extents[root]));
            }
        }
        let mut out = Vec::new();
        for f in functions {
            let named = |name: &Name, kinds: &[usize]| {
                let places = self.names(&letters, kinds).iter().map(Place::named).collect();
                Ref { name: name.clone(), places, relation: false, span: Span::default() }
            };
            let params = f.params.iter().map(|(name, kinds)| named(name, kinds)).collect();
            let result = named(&f.result.0, &f.result.1);
            let body = f.body.iter().map(|d| self.equation_of(d, &letters, &mut sizes, names)).collect();
            let (name, span) = (f.name, Span::default());
            out.push(Statement::Function(Function { name, params, result, body, span }));
        }
        for d in &drafts {
            out.push(Statement::Equation(self.equation_of(d, &letters, &mut sizes, names)));
        }
        let axis = |(name, n): (Name, usize)| Statement::Axis(name, number(n as f64), Span::default());
        let bounded = |(time, go)| Statement::While(time, None, go, Span::default());
        let times: Vec<Statement> =
            std::mem::take(&mut self.times_by_condition).into_iter().map(bounded).collect();
        sizes.into_iter().map(axis).chain(times).chain(out).collect()
    }

    /// Returns distinct names for indices of these kinds: repeated names get primes.
    fn names(&self, letters: &BTreeMap<usize, Name>, kinds: &[usize]) -> Vec<Name> {
        let mut used: Vec<Name> = Vec::new();
        for kind in kinds {
            let mut name = letters.get(&self.root(*kind)).cloned().unwrap_or_else(|| "i".into());
            while used.contains(&name) {
                name = format!("{name}'").into();
            }
            used.push(name);
        }
        used
    }

    fn equation_of(
        &self,
        d: &Draft,
        letters: &BTreeMap<usize, Name>,
        sizes: &mut Vec<(Name, usize)>,
        names: &HashMap<Name, Name>,
    ) -> Equation {
        let used = self.names(letters, &d.kinds);
        let own: HashMap<Name, Name> = used.iter().enumerate().map(|(k, n)| (local(k), n.clone())).collect();
        let other = |n: &Name| names.get(n).unwrap_or(n).clone();
        let value = renamed(&d.value, &own);
        let value = value.with_refs(&|r: &Ref| Some(Ref { name: other(&r.name), ..r.clone() }));
        // A primed index that only the left side has needs a declared size if the index without primes has
        // one.
        for (at, name) in used[..d.left].iter().enumerate().filter(|(_, n)| n.ends_with('\'')) {
            let plain = name.trim_end_matches('\'');
            let is_declared = |n: &str| sizes.iter().any(|(s, _)| **s == *n);
            let free = !crate::elaborate::scope::occurrences(&value).contains(name);
            if free && is_declared(plain) && !is_declared(name) {
                sizes.insert(0, (name.clone(), self.extents[self.root(d.kinds[at])]));
            }
        }
        let when = d.when.clone().map(|index| Place { index, dotted: false, span: Span::default() });
        let places = used[..d.left].iter().map(Place::named).chain(when).collect();
        let relation = self.relations.contains(&d.name);
        let target = Ref { name: other(&d.name), places, relation, span: Span::default() };
        let (guard, projection, span) = (None, d.projection, Span::default());
        Equation { target, guard, projection, spelled: false, value, local: false, span }
    }
}

/// Returns the `n`th index name. The letter `t` is left for time.
fn letter(n: usize) -> Name {
    const LETTERS: &[u8] = b"ijklmnopqrsuvwxyzabcdefgh";
    let one = char::from(LETTERS[n % LETTERS.len()]);
    match n / LETTERS.len() {
        0 => one.to_string().into(),
        round => format!("{one}{round}").into(),
    }
}

/// Functions that return booleans.
const TRUTHS: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "is_nan", "is_inf", "is_finite"];

/// Converts an expression to a dtype.
pub(crate) fn cast(e: Expr, dtype: DType) -> Expr {
    let named = vec![("to".into(), Kind::Text(dtype.name().into()).bare())];
    Kind::Call(Box::new(Call { function: "cast".into(), args: vec![e], named })).bare()
}

/// Returns an expression that reads a value; axis `k` has the index `places[k]`.
pub(crate) fn operand(view: &View, places: &[usize]) -> Expr {
    match &view.base {
        Base::Number(x, None) => number(*x),
        Base::Number(x, Some(dtype)) => cast(number(*x), *dtype),
        Base::Tensor(name, sources) => {
            let place = |s: &Source| {
                let index = match s {
                    Source::Axis(k) => Index::Named(local(places[*k]), 0),
                    Source::At(at) => Index::At(*at),
                };
                Place { index, dotted: false, span: Span::default() }
            };
            let places = sources.iter().map(place).chain(view.time_place()).collect();
            Kind::Ref(Ref { name: name.clone(), places, relation: false, span: Span::default() }).bare()
        }
    }
}
