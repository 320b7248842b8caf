//! Collects statements into a program: flattens blocks and splits sums into one equation per term.

use super::block::{self, Names, Scope};
use super::library::{Imports, Library};
use crate::program::{Definition, Loader, Param, Program};
use crate::syntax::ast::{Equation, Expr, Function, Kind, Name, Projection, Ref, Statement};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::is_timed;
use std::collections::HashSet;
use std::sync::Arc;

/// Features that occur in some equation; checks for absent features are skipped.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    /// A name is used with different numbers of indices.
    pub(super) uneven: bool,
    /// A time index.
    pub(crate) timed: bool,
    /// A relation.
    pub(super) relations: bool,
}

impl Program {
    /// Fills everything except for names and definitions.
    pub(crate) fn collect(
        &mut self,
        statements: Vec<Statement>,
        loader: &dyn Loader,
        faults: &mut Vec<Diagnostic>,
    ) {
        let local = block::any_local(&statements);
        let mut names = if local { Names::of(&statements) } else { Names::default() };
        self.equations.reserve(statements.len());
        self.add(statements, &Scope::new(), &mut names, &mut Imports::new(loader), faults);
    }

    fn add(
        &mut self,
        statements: Vec<Statement>,
        scope: &Scope,
        names: &mut Names,
        imports: &mut Imports<'_>,
        faults: &mut Vec<Diagnostic>,
    ) {
        for statement in statements {
            match statement {
                Statement::Equation(e) if scope.is_empty() => {
                    self.check_dots(&e, faults);
                    terms(e, &mut self.equations);
                }
                Statement::Equation(e) => {
                    self.check_dots(&e, faults);
                    let e = self.in_block(&e, scope, names);
                    terms(e, &mut self.equations);
                }
                Statement::Sink(path, value, span) => {
                    Program::check_no_dots(&value, faults);
                    let value = self.part_in_block(&value, scope, names, false);
                    self.sinks.push((path, value, span));
                }
                Statement::Export(exported) => {
                    for (name, span) in exported {
                        if self.exported(&name, span, scope).is_none() {
                            let what = format!(
                                "cannot export `{name}`: `let` defines it in this block, and the name is also used outside"
                            );
                            let help = "give the exported tensor a name that nothing else has";
                            faults.push(Diagnostic::error(span, what).help(help).about(&name));
                            continue;
                        }
                        match self.exports.iter().find(|(n, _)| *n == name) {
                            Some((_, before)) => {
                                let what = format!("`{name}` is exported twice");
                                self.warnings.push(
                                    Diagnostic::warning(span, what).and(*before, "first here").about(&name),
                                );
                            }
                            None => self.exports.push((name, span)),
                        }
                    }
                }
                Statement::While(name, Some(most), go, span) => {
                    let before = self.axes.insert(name.clone(), (most, span)).map(|a| a.1);
                    let other = self.bounded.insert(name.clone(), (go, span)).map(|b| b.1);
                    if let Some(before) = before.or(other) {
                        let what = format!("the end of `{name}` is declared twice");
                        faults.push(Diagnostic::error(span, what).and(before, "first here").about(&name));
                    }
                }
                Statement::While(name, None, go, span) => {
                    if let Some((_, before)) = self.times.insert(name.clone(), (go, span)) {
                        let what = format!("the end of `{name}` is declared twice");
                        faults.push(Diagnostic::error(span, what).and(before, "first here").about(&name));
                    }
                }
                Statement::Axis(name, size, span) => {
                    if let Some((_, before)) = self.axes.insert(name.clone(), (size, span)) {
                        let what = format!("the size of `{name}` is declared twice");
                        faults.push(Diagnostic::error(span, what).and(before, "first here").about(&name));
                    }
                }
                Statement::Param { name, whole, fixed, value, span } => {
                    self.params.push((name, Param { value, whole, fixed, span }));
                }
                Statement::Function(f) => self.add_function(f, faults),
                Statement::Import(path, alias, span) => {
                    self.import(&Library::of(&path, alias), span, imports, faults);
                }
                Statement::Block(inside, _) => {
                    let scope = self.inner_scope(&inside, scope, names);
                    self.add(inside, &scope, names, imports, faults);
                }
            }
        }
    }

    pub(super) fn add_function(&mut self, f: Function, faults: &mut Vec<Diagnostic>) {
        if let Some(before) = self.functions.get(&f.name) {
            let what = format!("the function `{}` is defined twice", f.name);
            faults.push(Diagnostic::error(f.span, what).and(before.span, "first here").about(&f.name));
            return;
        }
        for place in f.params.iter().chain([&f.result]).flat_map(|r| &r.places).filter(|p| p.dotted) {
            faults.push(Diagnostic::error(place.span, "a dot is not allowed in the head of a function"));
        }
        f.body.iter().for_each(|e| self.check_dots(e, faults));
        let mut body = Vec::with_capacity(f.body.len());
        f.body.into_iter().for_each(|e| terms(e, &mut body));
        self.functions.insert(f.name.clone(), Arc::new(Function { body, ..f }));
    }

    /// Collects the names in order of appearance, and their definitions.
    pub(super) fn define(&mut self) -> Seen {
        let mut names = Vec::with_capacity(self.equations.len());
        let mut definitions = std::mem::take(&mut self.definitions);
        definitions.reserve(self.equations.len());
        let mut seen = Seen::default();
        let params: HashSet<&Name> = self.params.iter().map(|p| &p.0).collect();
        for (at, e) in self.equations.iter().enumerate() {
            let mut note = |r: &Ref, defines: bool| {
                if !defines && params.contains(&r.name) {
                    return;
                }
                let d = definitions.entry(r.name.clone()).or_insert_with(|| {
                    names.push(r.name.clone());
                    Definition { span: r.span, rank: r.places.len(), ..Definition::default() }
                });
                seen.uneven |= d.rank != r.places.len();
                let first = d.equations.is_empty() && (defines || d.places.is_empty());
                if first {
                    d.span = r.span;
                    d.places = r.places.clone();
                    d.rank = r.places.len();
                }
                if defines {
                    d.equations.push(at);
                    d.local |= e.local;
                }
                d.relation |= r.relation;
                seen.relations |= r.relation;
                let time = r.places.iter().position(is_timed);
                d.time = d.time.or(time);
                seen.timed |= time.is_some();
            };
            note(&e.target, true);
            e.any_read(&mut |r| {
                note(r, false);
                false
            });
        }
        for (_, value, _) in &self.sinks {
            for r in value.refs() {
                if !definitions.contains_key(&r.name) && !params.contains(&r.name) {
                    names.push(r.name.clone());
                    let d = Definition {
                        span: r.span,
                        rank: r.places.len(),
                        places: r.places.clone(),
                        ..Definition::default()
                    };
                    definitions.insert(r.name.clone(), d);
                }
            }
        }
        self.definitions = definitions;
        self.names = names;
        seen
    }
}

/// Splits the sum on the right into one equation per term. Under reductions other than a sum, the right side is one
/// value, as if in parentheses. In a relation the entire sum is compared with 0, unless no term can be negative: then
/// it is greater than 0 where some term is.
pub(super) fn terms(e: Equation, out: &mut Vec<Equation>) {
    match e.value.kind {
        Kind::Sum(_) if e.projection != Projection::Sum => {
            let span = e.value.span;
            out.push(Equation { value: Kind::Product(vec![e.value]).at(span), ..e });
        }
        Kind::Sum(terms) if !e.target.relation || terms.iter().all(never_negative) => {
            out.extend(terms.into_iter().map(|value| Equation {
                span: e.target.span.to(value.span),
                value,
                target: e.target.clone(),
                guard: e.guard.clone(),
                ..e
            }));
        }
        kind => out.push(Equation { value: kind.at(e.value.span), ..e }),
    }
}

/// Returns true if the form of an expression shows that it cannot be negative.
fn never_negative(e: &Expr) -> bool {
    match &e.kind {
        Kind::Ref(r) => r.relation,
        Kind::Number(x) => *x >= 0.0,
        Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) | Kind::Of(..) => true,
        Kind::Product(parts) | Kind::Sum(parts) => parts.iter().all(never_negative),
        _ => false,
    }
}

impl Expr {
    /// Returns a copy with some tensors replaced.
    pub(crate) fn with_refs(&self, change: &impl Fn(&Ref) -> Option<Ref>) -> Expr {
        match &self.kind {
            Kind::Ref(r) => {
                let changed = change(r).unwrap_or_else(|| r.clone());
                Kind::Ref(changed.map_computed(&mut |e| e.with_refs(change))).at(self.span)
            }
            _ => self.map_parts(&mut |part| part.with_refs(change)),
        }
    }
}
