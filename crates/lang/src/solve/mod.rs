//! Sparse relations: rules that read only relations, constants and tables are solved here before the program
//! is lowered. Takes a program with its settings; returns sorted tuples of relations and elements of counts,
//! sums, minima and maxima. A relation that reads a computed number stays a Boolean tensor, which `lower`
//! evaluates.

mod clock;
mod compile;
mod engine;
mod magic;
pub(crate) mod options;
mod plan;
mod rule;
mod steps;
mod trie;

pub(crate) use clock::{Clock, failure};
pub(crate) use options::Options;

use crate::check::Settings;
use crate::elaborate::Domains;
use crate::program::{Column, Program, Table};
use crate::syntax::ast::{Index, Name};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::limit::fits;
use compile::{Compiled, Source};
use engine::{Engine, Stopped, Store, dedup};
use gradus_ir::DType;
use gradus_tensor::Tensor;
use rule::Kind;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The facts of a relation, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Number of arguments.
    pub width: usize,
    /// For a relation without arguments: true if it holds.
    pub holds: bool,
    /// The arguments of all facts, one fact after the other.
    pub tuples: Vec<u32>,
}

impl Facts {
    /// Returns the number of facts.
    pub fn len(&self) -> usize {
        self.tuples.len().checked_div(self.width).unwrap_or(usize::from(self.holds))
    }

    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Symbols by argument position.
#[derive(Clone, Debug, Default)]
pub struct Symbols(Domains);

impl Symbols {
    /// Returns the symbols at an argument position of a name, if it has any.
    pub fn of(&self, name: &str, position: usize) -> Option<&[Arc<str>]> {
        self.0.symbols(name, position)
    }

    /// Returns the number of a symbol at a position, or an error with the nearest one.
    pub fn code(&self, name: &str, position: usize, symbol: &str) -> Result<u32, Diagnostic> {
        let domain = self.0.domain(name, position);
        domain.and_then(|d| d.find(symbol)).ok_or_else(|| {
            let known = domain.map(|d| &d.symbols[..]).unwrap_or_default();
            let what =
                format!("no fact has the symbol \"{symbol}\" at argument {} of `{name}`", position + 1);
            Diagnostic::error(crate::syntax::source::Span::NOWHERE, what)
                .about(name)
                .nearest(symbol, known.iter().map(|s| &**s))
        })
    }
}

/// The solution of rules.
pub(crate) struct Solution {
    names: HashMap<Name, usize>,
    stores: Vec<Store>,
    sizes: Vec<Vec<u32>>,
    /// The names whose elements are given by constants; they are evaluated as tensors too.
    arrays: HashSet<Name>,
}

impl Solution {
    /// Returns true if a name needs no other evaluation.
    pub(crate) fn holds(&self, name: &Name) -> bool {
        self.names.contains_key(name) && !self.arrays.contains(name)
    }

    fn facts(&self, name: &Name) -> Option<Facts> {
        let of = *self.names.get(name)?;
        let Store::Relation { tries, .. } = &self.stores[of] else { return None };
        let width = self.sizes[of].len();
        let mut tuples = tries.first()?.tuples();
        dedup(&mut tuples, width);
        Some(Facts { width, holds: tries.first()?.len() > 0, tuples })
    }

    /// Returns the value of a name as a tensor, unless it is too large.
    pub(crate) fn tensor(&self, name: &Name, float: DType) -> gradus_ir::Result<Option<Tensor>> {
        let Some(of) = self.names.get(name).copied() else { return Ok(None) };
        let shape: Vec<usize> = self.sizes[of].iter().map(|n| *n as usize).collect();
        fits(&shape)?;
        Ok(Some(match &self.stores[of] {
            Store::Numbers(numbers) => Tensor::from_slice(numbers, shape).to_dtype(float),
            Store::Relation { tries, .. } => match tries.first() {
                Some(trie) => dense(&trie.tuples(), trie.len() > 0, &shape),
                None => return Ok(None),
            },
        }))
    }
}

/// Tuples as a Boolean tensor.
fn dense(tuples: &[u32], holds: bool, shape: &[usize]) -> Tensor {
    if shape.is_empty() {
        return Tensor::from_slice(&[holds], []);
    }
    let mut truth = vec![false; shape.iter().product()];
    for tuple in tuples.chunks_exact(shape.len()) {
        let at = tuple.iter().zip(shape).fold(0, |at, (x, n)| at * n + *x as usize);
        truth[at] = true;
    }
    Tensor::from_slice(&truth, shape.to_vec())
}

impl Program {
    /// Returns true if an equation writes a relation, a symbol or a table.
    pub(crate) fn has_facts(&self) -> bool {
        let symbol = |p: &crate::syntax::ast::Place| matches!(p.index, Index::Symbol(..));
        self.equations.iter().any(|e| e.target.relation || e.target.places.iter().any(symbol))
            || self.definitions.values().any(|d| d.relation)
    }

    /// Returns the domains of argument positions, with the symbols of tables.
    pub(crate) fn domains(&self, tables: &BTreeMap<Name, Table>) -> Domains {
        let mut domains = Domains::new(&self.equations);
        domains.add_tables(tables, &self.equations);
        domains
    }

    /// Returns the symbols of all argument positions.
    pub fn symbols(&self, settings: &Settings) -> Symbols {
        if !self.has_facts() {
            return Symbols::default();
        }
        Symbols(self.domains(&settings.tables))
    }

    /// Returns the size of the domain of an argument position, if known.
    pub fn position_size(&self, name: &str, position: usize, settings: &Settings) -> Option<usize> {
        let options = self.options(&BTreeMap::new(), settings, &mut Vec::new())?;
        options.domain_size(name, position)
    }

    /// Returns the number of elements of a relation as a tensor, if the domains of its arguments have sizes.
    pub fn relation_size(&self, name: &str, settings: &Settings) -> Option<usize> {
        let rank = self.definition(name).filter(|d| d.relation)?.rank;
        let options = self.options(&BTreeMap::new(), settings, &mut Vec::new())?;
        (0..rank).try_fold(1usize, |n, p| Some(n.saturating_mul(options.domain_size(name, p)?)))
    }

    /// Solves the relations that some names need, as far as they read only relations, constants and tables; `None` if there
    /// are none. `excluded` names have a value from elsewhere, or none.
    pub(crate) fn solve_relations(
        &self,
        options: &Options,
        excluded: &dyn Fn(&Name) -> bool,
        needed: &HashSet<Name>,
    ) -> Result<Option<Solution>, Diagnostic> {
        let Some(compiled) = self.compile_relations(options, excluded, needed) else { return Ok(None) };
        let Compiled { names, rules } = compiled;
        let mut engine = Engine::new(&rules, options.float != DType::F64, options.rounds);
        match engine.run() {
            Ok(()) => {}
            Err(Stopped::Unsupported) => return Ok(None),
            Err(Stopped::Failed(e)) => {
                return Err(Diagnostic::error(crate::syntax::source::Span::NOWHERE, e.message()));
            }
        }
        let is_array = |n: &usize| matches!(rules.predicates[*n].kind, Kind::Array(_));
        let arrays = names.iter().filter(|(_, n)| is_array(n)).map(|(name, _)| name.clone()).collect();
        let stores = engine.stores;
        let sizes = rules.predicates.into_iter().map(|p| p.sizes).collect();
        Ok(Some(Solution { names, stores, sizes, arrays }))
    }

    fn compile_relations(
        &self,
        options: &Options,
        excluded: &dyn Fn(&Name) -> bool,
        needed: &HashSet<Name>,
    ) -> Option<Compiled> {
        let domains = &options.domains;
        let axes = |n: &Name| options.axes.get(n).map(|a| a.0);
        let source = Source {
            program: self,
            domains,
            tables: &options.tables,
            numbers: &options.numbers,
            axes: &axes,
            excluded,
        };
        source.compile(needed)
    }

    /// Returns the relations among some names that are solved sparsely, with their facts.
    pub fn facts(
        &self,
        settings: &Settings,
        given: &HashSet<Name>,
        wanted: &[Name],
    ) -> Result<BTreeMap<Name, Facts>, crate::syntax::diagnostic::Faults> {
        let mut faults = Vec::new();
        let none = BTreeMap::new();
        let options = self.options(&none, settings, &mut faults);
        let Some(options) = options.filter(|o| o.sparse && self.has_facts()) else {
            return Ok(BTreeMap::new());
        };
        let solved = self.solve_relations(&options, &|n| given.contains(n), &self.needed(wanted));
        let solved = solved.map_err(|d| settings.faults(self, vec![d]))?;
        let facts = |n: &Name| Some((n.clone(), solved.as_ref()?.facts(n)?));
        Ok(wanted.iter().filter_map(facts).collect())
    }

    /// Returns the facts of a relation that match some arguments, found without evaluating facts they do not
    /// depend on; `None` if the relation is not solved sparsely. `goal` has the argument of each position, or
    /// `None` if it is free.
    pub fn facts_matching(
        &self,
        settings: &Settings,
        given: &HashSet<Name>,
        name: &Name,
        goal: &[Option<u32>],
    ) -> Result<Option<Facts>, crate::syntax::diagnostic::Faults> {
        let none = BTreeMap::new();
        let options = self.options(&none, settings, &mut Vec::new());
        let Some(options) = options.filter(|o| o.sparse && self.has_facts()) else { return Ok(None) };
        let needed = self.needed(std::slice::from_ref(name));
        let Some(compiled) = self.compile_relations(&options, &|n| given.contains(n), &needed) else {
            return Ok(None);
        };
        let Some(of) = compiled.names.get(name).copied() else { return Ok(None) };
        let is_relation = matches!(compiled.rules.predicates[of].kind, Kind::Relation(_));
        if !is_relation || compiled.rules.predicates[of].sizes.len() != goal.len() {
            return Ok(None);
        }
        let (rules, answer) = magic::specialise(&compiled.rules, of, goal);
        let mut engine = Engine::new(&rules, options.float != DType::F64, options.rounds);
        match engine.run() {
            Ok(()) => {}
            Err(Stopped::Unsupported) => return Ok(None),
            Err(Stopped::Failed(e)) => {
                let fault = Diagnostic::error(crate::syntax::source::Span::NOWHERE, e.message());
                return Err(settings.faults(self, vec![fault]));
            }
        }
        let Some(trie) = engine.trie(answer) else { return Ok(None) };
        let width = goal.len();
        let mut tuples = Vec::new();
        for tuple in trie.tuples().chunks_exact(width.max(1)) {
            if tuple.iter().zip(goal).all(|(x, g)| g.is_none_or(|g| g == *x)) {
                tuples.extend_from_slice(tuple);
            }
        }
        dedup(&mut tuples, width);
        Ok(Some(Facts { width, holds: trie.len() > 0, tuples }))
    }

    /// Returns the tensor of a table that is not used by rules.
    pub(crate) fn table_tensor(&self, name: &Name, options: &Options) -> Result<Option<Tensor>, Diagnostic> {
        let Some(table) = options.tables.get(name) else { return Ok(None) };
        let own = self.definition(name).map(|d| (&d.equations[..], d.rank, d.span));
        let Some((equations, rank, span)) = own else { return Ok(None) };
        let span = equations.first().map_or(span, |i| self.equations[*i].value.span);
        let columns = table.columns.len();
        if columns != rank && table.rows() > 0 {
            let what =
                format!("the table has {columns} columns, and the relation `{name}` has {rank} arguments");
            return Err(Diagnostic::error(span, what).about(name));
        }
        let axes = |n: &Name| options.axes.get(n).map(|a| a.0);
        let mut shape = Vec::with_capacity(rank);
        for at in 0..rank {
            let domain = options.domains.number(name, at);
            let size = domain.and_then(|d| options.domains.size(d, axes));
            let place = self.definition(name).and_then(|d| d.places.get(at));
            let declared = place.and_then(|p| match &p.index {
                Index::Named(n, _) => axes(n),
                _ => None,
            });
            shape.push(declared.or(size).unwrap_or_else(|| table.domain()));
        }
        fits(&shape).map_err(|e| Diagnostic::error(span, e.to_string()))?;
        let mut tuples = vec![0u32; table.rows() * rank];
        for (at, column) in table.columns.iter().enumerate() {
            for row in 0..table.rows() {
                let x = match column {
                    Column::Numbers(all) => Some(all[row]),
                    Column::Words(all) => options.domains.domain(name, at).and_then(|d| d.find(&all[row])),
                };
                let size = shape[at];
                match x {
                    Some(x) if (x as usize) < size => tuples[row * rank + at] = x,
                    _ => {
                        let x = x.unwrap_or(0);
                        let what =
                            format!("the table has {x} in column {}, but the axis has size {size}", at + 1);
                        return Err(Diagnostic::error(span, what).about(name));
                    }
                }
            }
        }
        Ok(Some(dense(&tuples, table.rows() > 0, &shape)))
    }
}
