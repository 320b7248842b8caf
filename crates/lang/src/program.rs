//! A program: what its texts say, one equation per term, every name looked up and every call checked before any
//! size is known.

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

/// A number that a program names.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its value, in numbers and parameters before it.
    pub value: Expr,
    /// Whether it must be whole.
    pub whole: bool,
    /// Whether nobody may change it.
    pub fixed: bool,
    /// Where.
    pub span: Span,
}

/// What is known of a name.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    /// Its equations, in order; none for an input.
    pub equations: Vec<usize>,
    /// How many indices it has.
    pub rank: usize,
    /// Whether it is a Boolean relation.
    pub relation: bool,
    /// Whether it moves with virtual time, and at which place its time index stands.
    pub time: Option<usize>,
    /// Whether it is for its neighbours only.
    pub local: bool,
    /// Where it first stands.
    pub span: Span,
    /// Its indices where it is first defined, or first read.
    pub places: Vec<crate::ast::Place>,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The text and what it imports.
    pub sources: Vec<Source>,
    /// The equations, one per term of a sum.
    pub equations: Vec<Equation>,
    /// The names that equations define or read, in order of appearance.
    pub names: Vec<Name>,
    /// What is known of each.
    pub definitions: HashMap<Name, Definition>,
    /// The names that have a value at every step without a time on their left, with the name of that time.
    pub per_step: HashMap<Name, Name>,
    /// The functions.
    pub functions: HashMap<Name, Arc<Function>>,
    /// The sizes that were declared.
    pub axes: BTreeMap<Name, (Expr, Span)>,
    /// The times that go on while a name holds, by that name.
    pub times: BTreeMap<Name, (Name, Span)>,
    /// The times that end at the first step at which a name does not hold, at the latest after as many steps as their axis.
    pub bounded: BTreeMap<Name, (Name, Span)>,
    /// The parameters and constants, in order.
    pub params: Vec<(Name, Param)>,
    /// The names to give.
    pub exports: Vec<(Name, Span)>,
    /// The files to write.
    pub sinks: Vec<(Arc<str>, Expr, Span)>,
    /// What is doubtful.
    pub warnings: Vec<Diagnostic>,
    /// The names that blocks give.
    pub locals: Vec<Local>,
}

/// Reads the texts that a program imports.
pub trait Loader {
    /// The text under a path, relative to the program.
    fn load(&self, path: &str) -> std::result::Result<String, String>;
}

/// No imports.
pub struct NoImports;

impl Loader for NoImports {
    fn load(&self, _: &str) -> std::result::Result<String, String> {
        Err("imports need a file to be relative to".into())
    }
}

impl Program {
    /// A program without imports.
    pub fn parse(source: Source) -> std::result::Result<Program, Faults> {
        Program::load(source, &NoImports)
    }

    /// A program with what it imports, checked as far as that goes without sizes.
    pub fn load(source: Source, loader: &dyn Loader) -> std::result::Result<Program, Faults> {
        Program::read(source, loader).map_err(|unsound| unsound.faults())
    }

    /// The same; of one that is wrong, with what could be read of it.
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
        // All that is wrong counts here, said or not: a function that calls itself must not be called.
        let unknown = program.concerned(&faults, &parsed);
        Err(Box::new(Unsound { program, faults, unknown, parsed }))
    }

    /// The names that faults are about; nothing if a declaration has one, which may concern all of them.
    fn concerned(&self, faults: &[Diagnostic], parsed: &Parsed) -> Option<HashSet<Name>> {
        // Terms of one equation begin at the same place, and equations do not overlap.
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

    /// The same, looked up again after equations were added.
    pub(crate) fn again(mut self) -> std::result::Result<Program, Faults> {
        let mut faults = Vec::new();
        self.definitions.clear();
        self.names.clear();
        self.resolve(&mut faults);
        if faults.is_empty() { Ok(self) } else { Err(Faults { sources: self.sources, faults }) }
    }

    /// The statements of the text, read again: few ask for them, and a copy of each costs everyone.
    pub fn statements(&self) -> Vec<Statement> {
        self.sources.first().map(|text| crate::parse::parse_all(text, 0).statements).unwrap_or_default()
    }

    /// What is known of a name.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// Whether no equation defines a name that some equation reads.
    pub fn is_input(&self, name: &str) -> bool {
        self.definition(name).is_some_and(|d| d.equations.is_empty())
    }

    /// The names that no equation defines.
    pub fn inputs(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(|n| self.is_input(n))
    }

    /// What a run gives: the exports, or else all names that nothing else uses.
    pub fn outputs(&self) -> Vec<Name> {
        if !self.exports.is_empty() {
            return self.exports.iter().map(|e| e.0.clone()).collect();
        }
        let mut read: HashSet<&Name> = HashSet::new();
        // What is written to a file is not used by the program.
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

/// A file that gives a name its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Its path, relative to the program.
    pub path: &'a str,
    /// Whether its first line is a header, if the program says it: `table("facts.tsv", header=true)`.
    pub header: Option<bool>,
}

impl Equation {
    /// The file that gives the name its value.
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

    /// Every tensor that its right side, its guard and positions on its left read.
    pub fn reads(&self) -> Vec<&Ref> {
        let mut refs = self.value.refs();
        refs.extend(self.guard.iter().flat_map(Expr::refs));
        refs.extend(self.target.computed().flat_map(Expr::refs));
        refs
    }

    /// Whether something holds for one of them.
    pub(crate) fn any_read<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        self.value.any_ref(f)
            || self.guard.as_ref().is_some_and(|g| g.any_ref(f))
            || self.target.computed().any(|e| e.any_ref(f))
    }
}

/// A program that something is wrong with, as far as it could be read.
pub struct Unsound {
    program: Program,
    faults: Vec<Diagnostic>,
    /// The names that it is about, if that is known.
    unknown: Option<HashSet<Name>>,
    parsed: Parsed,
}

impl Unsound {
    /// What could be read.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What is wrong, with sizes too where that does not depend on inputs.
    pub fn faults(self) -> Faults {
        // How many steps there are is not known yet.
        let timed = self.program.definitions.values().any(|d| d.time.is_some());
        let more = match &self.unknown {
            Some(unknown) if !timed => self.program.faults_beside(unknown),
            _ => Vec::new(),
        };
        self.and(more)
    }

    /// What is wrong, with inputs, sizes and what the command was told too; besides names that could not be read, those that
    /// could not be given are unknown.
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
        // Of names in lines that could not be read nothing is known, so nothing is wrong with them either.
        faults.retain(|d| !d.message.split('`').skip(1).step_by(2).any(|n| parsed.skipped.contains(n)));
        faults.extend(parsed.faults);
        faults.sort_by_key(Diagnostic::span);
        faults.truncate(crate::parse::MOST_FAULTS);
        Faults { sources: program.sources, faults }
    }
}

/// All that is wrong with a program, with the texts it is about.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The texts.
    pub sources: Vec<Source>,
    /// What is wrong.
    pub faults: Vec<Diagnostic>,
}

impl Faults {
    /// The first messages with the lines they are about, and how many more there are.
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
