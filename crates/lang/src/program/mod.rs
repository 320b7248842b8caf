//! A program: its equations, one per term, with every name resolved. `elaborate` makes it from text, and Core from it.

mod table;

pub use crate::syntax::diagnostic::Faults;
pub use table::{Column, Table, Tables};

use crate::syntax::ast::{Equation, Expr, Function, Kind, Name, Ref, Statement};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::source::{Source, Span};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A named number (`param` or `const`).
#[derive(Clone, Debug)]
pub struct Param {
    /// Its value, in terms of numbers and earlier parameters.
    pub value: Expr,
    /// If true, it must be an integer.
    pub whole: bool,
    /// True for `const`: it cannot be changed from outside.
    pub fixed: bool,
    /// Location in the source.
    pub span: Span,
}

/// The definition of a name.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    /// The equations that define the name, in order; empty for an input.
    pub equations: Vec<usize>,
    /// The number of indices.
    pub rank: usize,
    /// True for a Boolean relation.
    pub relation: bool,
    /// The position of the time index, if the name depends on virtual time.
    pub time: Option<usize>,
    /// If true, the name is visible in its block only (`let`).
    pub local: bool,
    /// Location of the definition, or of the first read.
    pub span: Span,
    /// The indices in the first definition, or in the first read.
    pub places: Vec<crate::syntax::ast::Place>,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The text of the program and those it imports.
    pub sources: Vec<Source>,
    /// The equations, one per term of a sum.
    pub equations: Vec<Equation>,
    /// The names that equations define or read, in order of appearance.
    pub names: Vec<Name>,
    /// The definition of each name.
    pub definitions: HashMap<Name, Definition>,
    /// The names that have a value at every step without time on their left, each with its time.
    pub per_step: HashMap<Name, Name>,
    /// The functions.
    pub functions: HashMap<Name, Arc<Function>>,
    /// The declared sizes of indices.
    pub axes: BTreeMap<Name, (Expr, Span)>,
    /// The times that end by a condition only: for each time, the name of its condition.
    pub times: BTreeMap<Name, (Name, Span)>,
    /// The times that end by a condition, but at the latest after the number of steps that `axes` has.
    pub bounded: BTreeMap<Name, (Name, Span)>,
    /// The parameters and constants, in order.
    pub params: Vec<(Name, Param)>,
    /// The exported names.
    pub exports: Vec<(Name, Span)>,
    /// The files to write.
    pub sinks: Vec<(Arc<str>, Expr, Span)>,
    /// Warnings about doubtful lines.
    pub warnings: Vec<Diagnostic>,
    /// The names that `let` defines in blocks.
    pub locals: Vec<Local>,
}

impl Program {
    /// Parses the statements of the text again. They are not stored, because they are rarely needed and would double
    /// the memory.
    pub fn statements(&self) -> Vec<Statement> {
        self.sources
            .first()
            .map(|text| crate::syntax::parse::parse_all(text, 0).statements)
            .unwrap_or_default()
    }

    /// Returns the names that `wanted` depend on, including `wanted`.
    pub fn needed(&self, wanted: &[Name]) -> HashSet<Name> {
        let mut needed: HashSet<Name> = HashSet::new();
        let mut work: Vec<Name> = wanted.to_vec();
        while let Some(name) = work.pop() {
            // Parameters are numbers, not tensors, so they have no definition.
            let Some(d) = self.definition(&name).filter(|_| !needed.contains(&name)) else { continue };
            for i in &d.equations {
                let e = &self.equations[*i];
                work.extend(e.reads().iter().map(|r| r.name.clone()));
                // The condition that ends the time of this line.
                work.extend(
                    moving(&e.target.places).and_then(|t| self.times.get(t.0)).map(|go| go.0.clone()),
                );
            }
            needed.insert(name);
        }
        needed
    }

    /// Returns the definition of a name.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// Returns true if some equation reads a name that none defines.
    pub fn is_input(&self, name: &str) -> bool {
        self.definition(name).is_some_and(|d| d.equations.is_empty())
    }

    /// Returns true if a name is a state: it depends on time, and its start may be an input.
    pub fn is_state(&self, name: &str) -> bool {
        let own =
            |d: &Definition| d.equations.iter().any(|i| moving(&self.equations[*i].target.places).is_some());
        !self.per_step.contains_key(name) && self.definition(name).is_some_and(own)
    }

    /// Returns the names that no equation defines.
    pub fn inputs(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(|n| self.is_input(n))
    }

    /// Returns the outputs of a run: the exports, or else all names that nothing else reads.
    pub fn outputs(&self) -> Vec<Name> {
        if !self.exports.is_empty() {
            return self.exports.iter().map(|e| e.0.clone()).collect();
        }
        let mut read: HashSet<&Name> = HashSet::new();
        // A name that is only written to a file counts as unread.
        let written: HashSet<&Name> =
            self.sinks.iter().flat_map(|(_, value, _)| value.refs()).map(|r| &r.name).collect();
        for e in self.equations.iter().filter(|e| !(e.local && written.contains(&e.target.name))) {
            for r in e.reads() {
                if r.name != e.target.name {
                    read.insert(&r.name);
                }
            }
        }
        let shown = |n: &&Name| self.definition(n).is_some_and(|d| !d.equations.is_empty() && !d.local);
        let last = self.names.iter().filter(shown).filter(|n| !read.contains(*n));
        let last: Vec<Name> = last.cloned().collect();
        if last.is_empty() { self.names.iter().filter(shown).cloned().collect() } else { last }
    }
}

/// A file that a name is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Its path, relative to the program.
    pub path: &'a str,
    /// If true, the first line is a header, if the program states it: `table("facts.tsv", header=true)`.
    pub header: Option<bool>,
}

impl Equation {
    /// Returns the file that the name is read from, if the right side is one.
    pub fn file(&self) -> Option<File<'_>> {
        match &self.value.kind {
            Kind::Text(path) => Some(File { path, header: None }),
            Kind::Call(call) if &*call.function == "table" => {
                let Kind::Text(path) = &call.args.first()?.kind else { return None };
                let header = call.named.iter().any(|(key, value)| {
                    &**key == "header" && matches!(&value.kind, Kind::Text(t) if &**t == "true")
                });
                Some(File { path, header: Some(header) })
            }
            _ => None,
        }
    }

    /// Returns all tensors that the right side, the guard and computed indices on the left read.
    pub fn reads(&self) -> Vec<&Ref> {
        let mut refs = self.value.refs();
        refs.extend(self.guard.iter().flat_map(Expr::refs));
        refs.extend(self.target.computed().flat_map(Expr::refs));
        refs
    }

    /// Returns true if `f` holds for one of the tensors read.
    pub(crate) fn any_read<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        self.value.any_ref(f)
            || self.guard.as_ref().is_some_and(|g| g.any_ref(f))
            || self.target.computed().any(|e| e.any_ref(f))
    }
}

/// Loads the texts that a program imports.
pub trait Loader {
    /// Returns the text at a path relative to the program.
    fn load(&self, path: &str) -> std::result::Result<String, String>;
}

/// A loader without files: every import is an error.
pub struct NoImports;

impl Loader for NoImports {
    fn load(&self, _: &str) -> std::result::Result<String, String> {
        Err("imports are relative to the program's file, and it has none".into())
    }
}

/// A name that `let` defines inside a block.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name as written in its block.
    pub(crate) written: Name,
    /// The name in the program.
    pub(crate) name: Name,
    /// The spans from the start of its equations to the name: the word `let`.
    pub(crate) lets: Vec<Span>,
    /// The spans of all its uses.
    pub(crate) uses: Vec<Span>,
}
