//! Domains of argument positions: positions that share an index in some equation share their domain, which is a list of
//! symbols or a range of integers. Domains whose indices are compared share their symbols. Takes equations; returns the
//! domain of each position, its symbols and its size.

use crate::program::{Column, Table};
use crate::syntax::ast::{Equation, Expr, Index, Kind, Name, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The values that an argument position can have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    /// In order of first appearance.
    pub(crate) symbols: Vec<Arc<str>>,
    codes: HashMap<Arc<str>, u32>,
    /// The smallest size that the written integers permit (one more than the largest), and the location of that
    /// integer.
    least: Option<(usize, Span)>,
    /// Where the first symbol is written.
    named_at: Option<Span>,
    /// The extents, along positions with this domain, of number lists that define a tensor.
    listed: Vec<usize>,
    /// The names of indices that are used at positions with this domain.
    indices: Vec<Name>,
    /// If true, a tensor that is read from a table has this domain at some position.
    tabled: bool,
}

impl Domain {
    /// Returns the number of a symbol; a new symbol gets the next number.
    fn code(&mut self, symbol: &Arc<str>) -> u32 {
        match self.codes.get(symbol) {
            Some(code) => *code,
            None => {
                let code = self.symbols.len() as u32;
                self.symbols.push(symbol.clone());
                self.codes.insert(symbol.clone(), code);
                code
            }
        }
    }

    pub(crate) fn find(&self, symbol: &str) -> Option<u32> {
        self.codes.get(symbol).copied()
    }
}

/// The domains of all positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domains {
    all: Vec<Domain>,
    of: HashMap<Name, Vec<usize>>,
    /// For each domain, the domain that holds its symbols: the same for all domains whose indices are compared.
    with_symbols: Vec<usize>,
    /// One more than the largest integer in any table.
    tables: usize,
}

/// Disjoint sets of numbers (union-find).
#[derive(Default)]
struct Sets {
    parents: Vec<usize>,
}

/// Disjoint sets of positions.
#[derive(Default)]
struct Joins {
    sets: Sets,
    of: HashMap<Name, Vec<usize>>,
}

impl Sets {
    fn root(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}

impl Joins {
    /// Returns the numbers of a name's positions.
    fn positions(&mut self, r: &Ref) -> Vec<usize> {
        if !self.of.contains_key(&r.name) {
            self.of.insert(r.name.clone(), Vec::new());
        }
        let own = self.of.entry(r.name.clone()).or_default();
        while own.len() < r.places.len() {
            own.push(self.sets.parents.len());
            self.sets.parents.push(self.sets.parents.len());
        }
        own[..r.places.len()].to_vec()
    }
}

/// Calls `f` with every tensor of an expression, except in calls, whose arguments may have axes of other sizes.
fn each_ref<'a>(e: &'a Expr, f: &mut impl FnMut(&'a Ref)) {
    match &e.kind {
        Kind::Ref(r) => f(r),
        Kind::Call(_) => {}
        _ => e.parts().into_iter().for_each(|p| each_ref(p, f)),
    }
}

/// Returns the tensors of an equation in the order they are written.
fn refs(e: &Equation) -> Vec<&Ref> {
    let mut out = vec![&e.target];
    [&e.value].into_iter().chain(&e.guard).for_each(|part| each_ref(part, &mut |r| out.push(r)));
    out
}

/// Calls `f` with the indices of every comparison in an expression.
fn each_comparison(e: &Expr, f: &mut impl FnMut(Vec<&Name>)) {
    fn indices<'a>(e: &'a Expr, out: &mut Vec<&'a Name>) {
        match &e.kind {
            Kind::Of(function, index) if &**function == "index" => out.push(index),
            Kind::Sum(_) | Kind::Product(_) | Kind::Negative(_) => {
                e.parts().into_iter().for_each(|p| indices(p, out));
            }
            _ => {}
        }
    }
    if let Kind::Compare(_, two) = &e.kind {
        let mut compared = Vec::new();
        two.iter().for_each(|side| indices(side, &mut compared));
        f(compared);
    }
    e.parts().into_iter().for_each(|p| each_comparison(p, f));
}

/// Returns the list of numbers that is the entire right side of an equation.
pub(crate) fn list_of(e: &Equation) -> Option<&crate::syntax::ast::Array> {
    match &e.value.kind {
        Kind::Array(array) => Some(array),
        Kind::Call(call) if &*call.function == "const" => match &call.args.first()?.kind {
            Kind::Array(array) => Some(array),
            _ => None,
        },
        _ => None,
    }
}

impl Domains {
    /// Returns the domains of equations. Values in tables are added later by `add_tables`.
    pub(crate) fn new(equations: &[Equation]) -> Domains {
        let mut joins = Joins::default();
        let mut compared: Vec<(usize, usize)> = Vec::new();
        for e in equations {
            let mut first: Vec<(&Name, usize)> = Vec::new();
            for r in refs(e) {
                let positions = joins.positions(r);
                for (place, at) in r.places.iter().zip(positions) {
                    let Index::Named(index, _) = &place.index else { continue };
                    match first.iter().find(|(n, _)| *n == index) {
                        Some((_, other)) => joins.sets.join(*other, at),
                        None => first.push((index, at)),
                    }
                }
            }
            for part in [&e.value].into_iter().chain(&e.guard) {
                each_comparison(part, &mut |indices| {
                    let own = |index: &&Name| first.iter().find(|(n, _)| n == index).map(|f| f.1);
                    let all: Vec<usize> = indices.iter().filter_map(own).collect();
                    compared.extend(all.windows(2).map(|two| (two[0], two[1])));
                });
            }
        }
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let mut of = HashMap::new();
        for (name, own) in std::mem::take(&mut joins.of) {
            let mut domains = Vec::with_capacity(own.len());
            for at in own {
                let next = numbers.len();
                domains.push(*numbers.entry(joins.sets.root(at)).or_insert(next));
            }
            of.insert(name, domains);
        }
        let mut shared = Sets { parents: (0..numbers.len()).collect() };
        for (a, b) in compared {
            shared.join(numbers[&joins.sets.root(a)], numbers[&joins.sets.root(b)]);
        }
        let with_symbols = (0..numbers.len()).map(|d| shared.root(d)).collect();
        let all = vec![Domain::default(); numbers.len()];
        let mut out = Domains { all, of, with_symbols, tables: 0 };
        equations.iter().for_each(|e| out.note(e));
        out
    }

    fn note(&mut self, e: &Equation) {
        for r in refs(e) {
            for (at, place) in r.places.iter().enumerate() {
                let Some(number) = self.number(&r.name, at) else { continue };
                if let Index::Symbol(symbol, _) = &place.index {
                    let domain = &mut self.all[self.with_symbols[number]];
                    domain.code(symbol);
                    domain.named_at = domain.named_at.or(Some(place.span));
                }
                let domain = &mut self.all[number];
                match &place.index {
                    Index::At(x) if *x >= 0 && domain.least.is_none_or(|(n, _)| n <= *x as usize) => {
                        domain.least = Some((*x as usize + 1, place.span));
                    }
                    Index::Named(index, _) if !domain.indices.contains(index) => {
                        domain.indices.push(index.clone());
                    }
                    _ => {}
                }
            }
        }
        if let Some(list) = list_of(e)
            && list.shape.len() == e.target.places.len()
        {
            for (at, n) in list.shape.iter().enumerate() {
                let Some(domain) = self.number(&e.target.name, at) else { continue };
                if !self.all[domain].listed.contains(n) {
                    self.all[domain].listed.push(*n);
                }
            }
        }
        if e.file().is_some() {
            for at in 0..e.target.places.len() {
                let Some(domain) = self.number(&e.target.name, at) else { continue };
                self.all[domain].tabled = true;
            }
        }
    }

    /// Reports positions that have symbols as well as integers.
    pub(crate) fn check(&self, faults: &mut Vec<Diagnostic>) {
        for (domain, with_symbols) in self.all.iter().zip(&self.with_symbols) {
            let named = self.all[*with_symbols].named_at;
            if let (Some(named), Some((_, numbered))) = (named, domain.least) {
                let what = "positions that share a domain have a symbol and an integer as arguments";
                let fault = Diagnostic::error(named, what).and(numbered, "the integer");
                faults.push(fault.help("use only symbols or only integers at these positions"));
            }
        }
    }

    /// Adds the symbols and integers of tables.
    pub(crate) fn add_tables(&mut self, tables: &BTreeMap<Name, Table>, equations: &[Equation]) {
        self.tables = tables.values().map(Table::domain).max().unwrap_or(0);
        let given = equations.iter().filter(|e| e.file().is_some());
        for (e, table) in given.filter_map(|e| Some((e, tables.get(&e.target.name)?))) {
            for (at, column) in table.columns.iter().enumerate() {
                let Some(domain) = self.number(&e.target.name, at) else { continue };
                if let Column::Words(words) = column {
                    let domain = &mut self.all[self.with_symbols[domain]];
                    for word in words {
                        domain.code(word);
                    }
                }
            }
        }
    }

    /// Returns the number of the domain of a position.
    pub(crate) fn number(&self, name: &str, position: usize) -> Option<usize> {
        self.of.get(name)?.get(position).copied()
    }

    /// Returns the domain that holds the symbols of a position.
    pub(crate) fn domain(&self, name: &str, position: usize) -> Option<&Domain> {
        self.number(name, position).map(|d| &self.all[self.with_symbols[d]])
    }

    /// Returns the symbols of a position, if it has any.
    pub(crate) fn symbols(&self, name: &str, position: usize) -> Option<&[Arc<str>]> {
        self.domain(name, position).map(|d| &d.symbols[..]).filter(|s| !s.is_empty())
    }

    /// Returns the size of a domain. Returns `None` if nothing determines it, two sizes differ, or a symbol or integer
    /// does not fit. `axis` returns the declared size of an index.
    pub(crate) fn size(&self, domain: usize, axis: impl Fn(&Name) -> Option<usize>) -> Option<usize> {
        let (own, symbols) = (&self.all[domain], &self.all[self.with_symbols[domain]].symbols);
        let least = own.least.map_or(0, |l| l.0).max(symbols.len());
        let declared = own.indices.iter().filter_map(axis);
        let mut fixed: Vec<usize> = declared.chain(own.listed.iter().copied()).collect();
        fixed.sort_unstable();
        fixed.dedup();
        match fixed[..] {
            [n] => (n >= least).then_some(n),
            [] => {
                let tabled = if own.tabled && symbols.is_empty() { self.tables } else { 0 };
                Some(least.max(tabled)).filter(|n| *n > 0)
            }
            _ => None,
        }
    }
}
