//! A program: its equations, one per term, with every name resolved and every call checked before sizes are known.

mod ask;
mod block;
mod bounded;
mod collect;
mod dots;
mod library;
mod positions;
mod resolve;
mod stratify;
mod symbols;

pub use block::Local;
pub(crate) use resolve::number;

use crate::ast::{Equation, Expr, Function, Kind, Name, Ref, Statement};
use crate::diagnostic::{Diagnostic, rendered};
use crate::parse::Parsed;
use crate::run::Settings;
use crate::source::{Source, Span};
use gradus_ir::Aval;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A named number (`param` or `const`).
#[derive(Clone, Debug)]
pub struct Param {
    /// Its value, in terms of numbers and earlier parameters.
    pub value: Expr,
    /// True if it must be an integer.
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
    /// True if the name is visible in its block only (`let`).
    pub local: bool,
    /// Location of the definition, or of the first read.
    pub span: Span,
    /// The indices in the first definition, or in the first read.
    pub places: Vec<crate::ast::Place>,
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
    /// What is doubtful.
    pub warnings: Vec<Diagnostic>,
    /// The names that `let` defines in blocks.
    pub locals: Vec<Local>,
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
        Err("imports need a file to be relative to".into())
    }
}

impl Program {
    /// Parses and checks a program without imports.
    pub fn parse(source: Source) -> std::result::Result<Program, Faults> {
        Program::load(source, &NoImports)
    }

    /// Loads a program and its imports, and makes all checks that do not need sizes.
    pub fn load(source: Source, loader: &dyn Loader) -> std::result::Result<Program, Faults> {
        Program::read(source, loader).map_err(|unsound| unsound.faults())
    }

    /// As `load`; on errors, returns what could be parsed as well.
    pub fn read(source: Source, loader: &dyn Loader) -> std::result::Result<Program, Box<Unsound>> {
        let mut program = Program { sources: vec![source], ..Program::default() };
        let mut parsed = crate::parse::parse_all(&program.sources[0], 0);
        let mut faults = Vec::new();
        program.collect(std::mem::take(&mut parsed.statements), loader, &mut faults);
        if program.resolve(&mut faults).timed {
            program.warnings.extend(program.doubtful_ends());
        }
        if faults.is_empty() && parsed.faults.is_empty() {
            return Ok(program);
        }
        // All errors count here, even those that are not shown: a function that calls itself must not be called.
        let unknown = program.concerned(&faults, &parsed);
        Err(Box::new(Unsound { program, faults, unknown, parsed }))
    }

    /// The names that errors concern; `None` if an error is in a declaration, which may affect all names.
    fn concerned(&self, faults: &[Diagnostic], parsed: &Parsed) -> Option<HashSet<Name>> {
        // The terms of one equation start at the same offset, and equations do not overlap.
        let mut begin: BTreeMap<(u32, u32), Vec<&Equation>> = BTreeMap::new();
        for e in &self.equations {
            begin.entry((e.span.file, e.span.start)).or_default().push(e);
        }
        let at = |d: &Diagnostic| {
            let span = d.span();
            let before = begin.range(..=(span.file, span.start)).next_back();
            before.and_then(|(_, own)| own.iter().find(|e| e.span.holds(span))).map(|e| e.target.name.clone())
        };
        let exports: HashSet<Span> = self.exports.iter().map(|e| e.1).collect();
        let mut bad = parsed.skipped.clone();
        bad.extend(parsed.faults.iter().filter_map(at));
        for fault in faults {
            match at(fault) {
                Some(name) => bad.insert(name),
                None if exports.contains(&fault.span()) => false,
                None => return None,
            };
        }
        Some(bad)
    }

    /// Resolves names again after equations were added.
    pub(crate) fn again(mut self) -> std::result::Result<Program, Faults> {
        let mut faults = Vec::new();
        self.definitions.clear();
        self.names.clear();
        self.resolve(&mut faults);
        if faults.is_empty() { Ok(self) } else { Err(Faults { sources: self.sources, faults }) }
    }

    /// Parses the statements of the text again. They are not stored, because they are rarely needed and would double
    /// the memory.
    pub fn statements(&self) -> Vec<Statement> {
        self.sources.first().map(|text| crate::parse::parse_all(text, 0).statements).unwrap_or_default()
    }

    /// The definition of a name.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// True if some equation reads a name that none defines.
    pub fn is_input(&self, name: &str) -> bool {
        self.definition(name).is_some_and(|d| d.equations.is_empty())
    }

    /// The names that no equation defines.
    pub fn inputs(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(|n| self.is_input(n))
    }

    /// The outputs of a run: the exports, or else all names that nothing else reads.
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
    /// True if the first line is a header, if the program states it: `table("facts.tsv", header=true)`.
    pub header: Option<bool>,
}

impl Equation {
    /// The file that the name is read from, if the right side is one.
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

    /// All tensors that the right side, the guard and computed indices on the left read.
    pub fn reads(&self) -> Vec<&Ref> {
        let mut refs = self.value.refs();
        refs.extend(self.guard.iter().flat_map(Expr::refs));
        refs.extend(self.target.computed().flat_map(Expr::refs));
        refs
    }

    /// True if `f` holds for one of the tensors read.
    pub(crate) fn any_read<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        self.value.any_ref(f)
            || self.guard.as_ref().is_some_and(|g| g.any_ref(f))
            || self.target.computed().any(|e| e.any_ref(f))
    }
}

/// A program with errors, as far as it could be parsed.
pub struct Unsound {
    program: Program,
    faults: Vec<Diagnostic>,
    /// The names that errors concern, if that is known.
    unknown: Option<HashSet<Name>>,
    parsed: Parsed,
}

impl Unsound {
    /// The part of the program that could be parsed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// All errors, including those about sizes that do not depend on inputs.
    pub fn faults(self) -> Faults {
        // Without settings, the number of time steps is not known.
        let timed = self.program.definitions.values().any(|d| d.time.is_some());
        let more = match &self.unknown {
            Some(unknown) if !timed => self.program.faults_beside(unknown),
            _ => Vec::new(),
        };
        self.and(more)
    }

    /// All errors, including those about inputs, sizes and the command line (`told`). Names in `unread`, whose inputs
    /// could not be read, are treated as unknown.
    pub fn faults_given(
        self,
        inputs: &BTreeMap<Name, Aval>,
        unread: &HashSet<Name>,
        settings: &Settings,
        wanted: &[Name],
        mut told: Vec<Diagnostic>,
    ) -> Faults {
        let Some(unknown) = &self.unknown else { return self.faults() };
        let unknown = unknown.union(unread).cloned().collect();
        told.extend(self.program.faults_besides(inputs, &unknown, settings, wanted));
        let faults = self.and(told);
        Faults { sources: faults.sources.into_iter().chain(settings.command.clone()).collect(), ..faults }
    }

    fn and(self, more: Vec<Diagnostic>) -> Faults {
        let Unsound { program, mut faults, parsed, .. } = self;
        faults.extend(more);
        // Nothing is known about names in lines that could not be parsed, so errors about them are dropped.
        faults.retain(|d| !d.message.split('`').skip(1).step_by(2).any(|n| parsed.skipped.contains(n)));
        faults.extend(parsed.faults);
        faults.sort_by_key(Diagnostic::span);
        faults.truncate(crate::parse::MOST_FAULTS);
        Faults { sources: program.sources, faults }
    }
}

/// All errors of a program, with its source texts.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The source texts.
    pub sources: Vec<Source>,
    /// The errors.
    pub faults: Vec<Diagnostic>,
}

impl Faults {
    /// Renders the first errors with their source lines, and the number of further ones.
    pub fn render(&self, colour: bool) -> String {
        rendered(&self.faults, &self.sources, colour)
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Faults {}
