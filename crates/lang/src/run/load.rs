//! Loads programs: text to a program with all checks that do not need sizes, or to all errors.

use crate::check::Settings;
use crate::program::{Loader, NoImports, Program};
use crate::syntax::ast::{Equation, Name};
use crate::syntax::diagnostic::{Diagnostic, Faults};
use crate::syntax::parse::Parsed;
use crate::syntax::source::{Source, Span};
use gradus_ir::Aval;
use std::collections::{BTreeMap, HashSet};

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
        let mut parsed = crate::syntax::parse::parse_all(&program.sources[0], 0);
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

    /// Returns the names that errors concern; `None` if an error is in a declaration, which may affect all
    /// names.
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
    /// Returns the part of the program that could be parsed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns all errors, including those about sizes that do not depend on inputs.
    pub fn faults(self) -> Faults {
        // Without settings, the number of time steps is not known.
        let timed = self.program.definitions.values().any(|d| d.time.is_some());
        let more = match &self.unknown {
            Some(unknown) if !timed => self.program.faults_beside(unknown),
            _ => Vec::new(),
        };
        self.and(more)
    }

    /// Returns all errors, including those about inputs, sizes and the command line (`told`). Names in
    /// `unread`, whose inputs could not be read, are treated as unknown.
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
        faults.retain(|d| !d.names.iter().any(|n| parsed.skipped.contains(n)));
        faults.extend(parsed.faults);
        faults.sort_by_key(Diagnostic::span);
        faults.truncate(crate::syntax::parse::MAX_FAULTS);
        Faults { sources: program.sources, faults }
    }
}
