//! Imports library files: their functions, and the numbers (`const`, `param`) and tensors (`let`) that functions share.
//! In the importing program, names of a library have the alias as prefix.

use super::collect::terms;
use crate::builtin::stem;
use crate::program::{Loader, Param, Program};
use crate::syntax::ast::{Equation, Expr, Function, Kind, Name, Ref, Statement};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::{Source, Span};
use std::collections::{HashMap, HashSet};

/// The maximum number of files that a program may import.
const MAX_IMPORTS: usize = 100;

/// The state of importing.
pub(super) struct Imports<'a> {
    loader: &'a dyn Loader,
    /// The paths of the files being loaded; each imports the next one.
    trail: Vec<String>,
    /// The libraries already imported, with their aliases.
    done: HashSet<Library>,
}

impl<'a> Imports<'a> {
    pub(super) fn new(loader: &'a dyn Loader) -> Imports<'a> {
        Imports { loader, trail: Vec::new(), done: HashSet::new() }
    }
}

/// A library file: its path, and the alias under which the program knows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Library {
    path: String,
    alias: Option<Name>,
}

impl Library {
    /// Returns a library that the program imports.
    pub(super) fn of(path: &str, alias: Option<Name>) -> Library {
        Library { path: path.into(), alias }
    }

    /// Returns a library that this one imports, by a path relative to it.
    fn inner(&self, path: &str, alias: Option<Name>) -> Library {
        let alias = alias.map(|a| self.name(&a)).or_else(|| self.alias.clone());
        if path.starts_with('/') {
            return Library { path: path.into(), alias };
        }
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match (part, parts.last()) {
                (".", _) => {}
                ("..", Some(last)) if !matches!(*last, ".." | "") => drop(parts.pop()),
                _ => parts.push(part),
            }
        }
        Library { path: parts.join("/"), alias }
    }

    /// Returns the program's name for a name of the library.
    fn name(&self, own: &Name) -> Name {
        match &self.alias {
            Some(alias) => format!("{alias}::{own}").into(),
            None => own.clone(),
        }
    }
}

/// Returns the program's name for a tensor that the functions of a library share. A program cannot write such a name.
fn shared(name: &Name) -> Name {
    format!("::{name}").into()
}

/// The names that functions of a library can use.
struct Known {
    /// Functions and numbers, with their names in the program.
    names: HashMap<Name, Name>,
    /// Tensors, with their equations.
    tensors: HashMap<Name, Vec<Equation>>,
}

impl Program {
    pub(super) fn import(
        &mut self,
        library: &Library,
        span: Span,
        imports: &mut Imports<'_>,
        faults: &mut Vec<Diagnostic>,
    ) {
        let path = &library.path;
        if let Some(at) = imports.trail.iter().position(|t| t == path) {
            let way: Vec<String> = imports.trail[at..].iter().map(|t| format!("`{t}`")).collect();
            let what = match &way[1..] {
                [] => format!("`{path}` imports itself"),
                others => format!("`{path}` imports itself through {}", others.join(", ")),
            };
            faults.push(Diagnostic::error(span, what));
            return;
        }
        // If two libraries import a third under the same alias, it is added once.
        if !imports.done.insert(library.clone()) {
            return;
        }
        if self.sources.len() > MAX_IMPORTS {
            faults.push(Diagnostic::error(span, format!("cannot import more than {MAX_IMPORTS} files")));
            return;
        }
        let text = match imports.loader.load(path) {
            Ok(text) => text,
            Err(why) => {
                faults.push(Diagnostic::error(span, format!("`{path}` cannot be imported: {why}")));
                return;
            }
        };
        let file = self.sources.len() as u32;
        self.sources.push(Source::new(path, text));
        let statements = match crate::syntax::parse::parse(&self.sources[file as usize], file) {
            Ok(statements) => statements,
            Err(more) => return faults.extend(more),
        };
        imports.trail.push(path.clone());
        self.add_library(library, &statements, imports, faults);
        imports.trail.pop();
    }

    fn add_library(
        &mut self,
        library: &Library,
        statements: &[Statement],
        imports: &mut Imports<'_>,
        faults: &mut Vec<Diagnostic>,
    ) {
        for s in statements {
            if let Statement::Import(path, alias, span) = s {
                self.import(&library.inner(path, alias.clone()), *span, imports, faults);
            }
        }
        let known = self.known(library, statements);
        for s in statements {
            match s {
                Statement::Function(f) => {
                    let f = Function { name: library.name(&f.name), body: known.body(f), ..f.clone() };
                    self.add_function(f, faults);
                }
                Statement::Param { name, whole, fixed, value, span } => {
                    let value = known.part(value, &HashSet::new());
                    let param = Param { value, whole: *whole, fixed: *fixed, span: *span };
                    self.params.push((library.name(name), param));
                }
                Statement::Import(..) => {}
                Statement::Equation(e) if e.local => self.check_dots(e, faults),
                other => {
                    let what =
                        "an imported file may contain only functions, `const`, `param`, `let` and imports";
                    faults.push(Diagnostic::error(other.span(), what));
                }
            }
        }
    }

    fn known(&self, library: &Library, statements: &[Statement]) -> Known {
        let mut known = Known { names: HashMap::new(), tensors: HashMap::new() };
        // Imported names can be used as if they were the library's own.
        let imported = self.functions.keys().chain(self.params.iter().map(|p| &p.0));
        let prefix = library.alias.as_ref().map(|a| format!("{a}::")).unwrap_or_default();
        for full in imported {
            if let Some(own) = full.strip_prefix(&prefix) {
                known.names.insert(own.into(), full.clone());
            }
        }
        for s in statements {
            match s {
                Statement::Function(Function { name, .. }) | Statement::Param { name, .. } => {
                    known.names.insert(name.clone(), library.name(name));
                }
                Statement::Equation(e) if e.local => {
                    terms(e.clone(), known.tensors.entry(e.target.name.clone()).or_default());
                }
                _ => {}
            }
        }
        known
    }
}

impl Known {
    /// Returns the equations of a function with the program's names, followed by those of the shared tensors
    /// that it reads.
    fn body(&self, f: &Function) -> Vec<Equation> {
        let own = f.params.iter().map(|p| &p.name).chain(f.body.iter().map(|e| &e.target.name));
        let own: HashSet<&Name> = own.collect();
        let mut body: Vec<Equation> = f.body.iter().map(|e| self.equation(e, &own)).collect();
        let (mut at, mut there) = (0, HashSet::new());
        while let Some(e) = body.get(at) {
            let mut read: Vec<Name> = e.reads().iter().map(|r| r.name.clone()).collect();
            calls(&e.value, &mut read);
            for name in read.iter().filter_map(|n| n.strip_prefix("::")) {
                if let Some((name, own)) = self.tensors.get_key_value(name).filter(|(n, _)| there.insert(*n))
                {
                    body.extend(own.iter().map(|e| {
                        let e = self.equation(e, &HashSet::new());
                        Equation { target: Ref { name: shared(name), ..e.target.clone() }, ..e }
                    }));
                }
            }
            at += 1;
        }
        body
    }

    fn equation(&self, e: &Equation, own: &HashSet<&Name>) -> Equation {
        Equation {
            target: e.target.map_computed(&mut |p| self.part(p, own)),
            value: self.part(&e.value, own),
            guard: e.guard.as_ref().map(|g| self.part(g, own)),
            ..e.clone()
        }
    }

    /// Renames an expression to the program's names, except for the function's own names.
    fn part(&self, e: &Expr, own: &HashSet<&Name>) -> Expr {
        let mut out = e.map_parts(&mut |p| self.part(p, own));
        match &mut out.kind {
            Kind::Ref(r) if !own.contains(&r.name) => {
                let number = self.names.get(&r.name).filter(|_| r.places.is_empty()).cloned();
                let tensor = || self.tensors.contains_key(&r.name).then(|| shared(&r.name));
                if let Some(name) = number.or_else(tensor) {
                    r.name = name;
                }
            }
            Kind::Call(c) if !own.contains(&c.function) => {
                if let Some(name) = self.function(&c.function) {
                    c.function = name;
                }
            }
            _ => {}
        }
        out
    }

    /// Returns the program's name for a function, a derivative, or a relation that is written like a call.
    fn function(&self, name: &Name) -> Option<Name> {
        if self.tensors.contains_key(name) {
            return Some(shared(name));
        }
        let derivative = || {
            let (stem, order) = stem(name);
            self.names.get(stem).map(|full| format!("{full}{}", "_grad".repeat(order)).into())
        };
        self.names.get(name).cloned().or_else(derivative)
    }
}

/// Collects the names of all functions that an expression calls.
fn calls(e: &Expr, out: &mut Vec<Name>) {
    if let Kind::Call(c) = &e.kind {
        out.push(c.function.clone());
    }
    e.parts().into_iter().for_each(|p| calls(p, out));
}
