//! Statements to equations: imports followed, blocks opened, sums split into one equation per term.

use super::{Definition, Loader, Param, Program};
use crate::ast::{Equation, Expr, Function, Kind, Name, Ref, Statement};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};
use std::collections::HashSet;
use std::sync::Arc;

/// How many texts a program may import.
const MOST_IMPORTS: usize = 100;

impl Program {
    /// Fills everything but the names.
    pub(super) fn collect(&mut self, loader: &dyn Loader, faults: &mut Vec<Diagnostic>) {
        let statements = std::mem::take(&mut self.statements);
        let mut outside = HashSet::new();
        targets(&statements, &mut outside);
        self.add(&statements, &outside, loader, faults);
        self.statements = statements;
    }

    fn add(
        &mut self,
        statements: &[Statement],
        outside: &HashSet<Name>,
        loader: &dyn Loader,
        faults: &mut Vec<Diagnostic>,
    ) {
        for statement in statements {
            match statement {
                Statement::Equation(e) => self.equations.extend(terms(e)),
                Statement::Sink(path, value, span) => self.sinks.push((path.clone(), value.clone(), *span)),
                Statement::Export(names) => {
                    for (name, span) in names {
                        match self.exports.iter().find(|(n, _)| n == name) {
                            Some((_, before)) => {
                                let what = format!("`{name}` is exported twice");
                                self.warnings
                                    .push(Diagnostic::warning(*span, what).and(*before, "first here"));
                            }
                            None => self.exports.push((name.clone(), *span)),
                        }
                    }
                }
                Statement::Axis(name, size, span) => {
                    if let Some((_, before)) = self.axes.insert(name.clone(), (size.clone(), *span)) {
                        let what = format!("the size of `{name}` is declared twice");
                        faults.push(Diagnostic::error(*span, what).and(before, "first here"));
                    }
                }
                Statement::Param { name, whole, fixed, value, span } => {
                    let param = Param { value: value.clone(), whole: *whole, fixed: *fixed, span: *span };
                    self.params.push((name.clone(), param));
                }
                Statement::Function(f) => self.add_function(f.clone(), faults),
                Statement::Import(path, alias, span) => {
                    let mut trail = vec![self.sources[0].name.clone()];
                    self.import(path, alias.as_ref(), *span, loader, &mut trail, faults);
                }
                Statement::Block(inside, _) => {
                    let fresh = scoped(inside, outside);
                    self.add(&fresh, outside, loader, faults);
                }
            }
        }
    }

    fn add_function(&mut self, f: Function, faults: &mut Vec<Diagnostic>) {
        if let Some(before) = self.functions.get(&f.name) {
            let what = format!("the function `{}` is defined twice", f.name);
            faults.push(Diagnostic::error(f.span, what).and(before.span, "first here"));
            return;
        }
        let body = f.body.iter().flat_map(terms).collect();
        self.functions.insert(f.name.clone(), Arc::new(Function { body, ..f }));
    }

    fn import(
        &mut self,
        path: &str,
        alias: Option<&Name>,
        span: Span,
        loader: &dyn Loader,
        trail: &mut Vec<Arc<str>>,
        faults: &mut Vec<Diagnostic>,
    ) {
        if trail.iter().any(|t| **t == *path) {
            faults.push(Diagnostic::error(span, format!("`{path}` imports itself")));
            return;
        }
        if self.sources.len() > MOST_IMPORTS {
            faults.push(Diagnostic::error(span, format!("more than {MOST_IMPORTS} texts are imported")));
            return;
        }
        let text = match loader.load(path) {
            Ok(text) => text,
            Err(why) => {
                faults.push(Diagnostic::error(span, format!("`{path}` cannot be imported: {why}")));
                return;
            }
        };
        let file = self.sources.len() as u32;
        self.sources.push(Source::new(path, text));
        let statements = match crate::parse::parse(&self.sources[file as usize], file) {
            Ok(statements) => statements,
            Err(more) => return faults.extend(more),
        };
        trail.push(path.into());
        // Functions of a library know each other by their own names.
        let own = |s: &Statement| match s {
            Statement::Function(f) => Some(f.name.clone()),
            _ => None,
        };
        let names: HashSet<Name> = statements.iter().filter_map(own).collect();
        let prefixed = |name: &Name| match alias {
            Some(alias) => Name::from(format!("{alias}::{name}")),
            None => name.clone(),
        };
        for statement in statements {
            match statement {
                Statement::Function(mut f) => {
                    for e in &mut f.body {
                        e.value = renamed_calls(&e.value, &|n| names.contains(n).then(|| prefixed(n)));
                    }
                    f.name = prefixed(&f.name);
                    self.add_function(f, faults);
                }
                Statement::Import(path, inner, span) => {
                    let inner = inner.map(|i| prefixed(&i)).or_else(|| alias.cloned());
                    self.import(&path, inner.as_ref(), span, loader, trail, faults);
                }
                other => {
                    let what = "what is imported may hold functions and imports only";
                    faults.push(Diagnostic::error(other.span(), what));
                }
            }
        }
        trail.pop();
    }

    /// The names in order of appearance, and what the equations say of each.
    pub(super) fn define(&mut self) {
        let mut names = Vec::new();
        let mut definitions = std::mem::take(&mut self.definitions);
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
                let is_time = |p: &crate::ast::Place| {
                    matches!(p.index, crate::ast::Index::Time(..) | crate::ast::Index::Moment(_))
                };
                d.time = d.time.or(r.places.iter().position(is_time));
            };
            note(&e.target, true);
            for r in e.reads() {
                note(r, false);
            }
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
    }
}

/// Names that equations outside of blocks define.
fn targets(statements: &[Statement], out: &mut HashSet<Name>) {
    for s in statements {
        match s {
            Statement::Equation(e) => {
                out.insert(e.target.name.clone());
            }
            Statement::Block(inside, _) => {
                for s in inside {
                    if !matches!(s, Statement::Equation(e) if e.local) {
                        targets(std::slice::from_ref(s), out);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A block's statements with its `let` names changed where others use them too.
fn scoped(inside: &[Statement], outside: &HashSet<Name>) -> Vec<Statement> {
    let mut inside = inside.to_vec();
    let local = |s: &Statement| match s {
        Statement::Equation(e) if e.local && outside.contains(&e.target.name) => Some(e.target.name.clone()),
        _ => None,
    };
    let clashing: HashSet<Name> = inside.iter().filter_map(local).collect();
    for name in clashing {
        let mut n = 2;
        let fresh = loop {
            let candidate = Name::from(format!("{name}_{n}"));
            if !outside.contains(&candidate) {
                break candidate;
            }
            n += 1;
        };
        let change = |r: &Ref| (r.name == name).then(|| Ref { name: fresh.clone(), ..r.clone() });
        for s in &mut inside {
            if let Statement::Equation(e) = s {
                e.value = e.value.with_refs(&change);
                e.guard = e.guard.as_ref().map(|g| g.with_refs(&change));
                if let Some(target) = change(&e.target) {
                    e.target = target;
                }
            }
        }
    }
    inside
}

/// One equation per term of the sum on the right.
pub(super) fn terms(e: &Equation) -> Vec<Equation> {
    match &e.value.kind {
        Kind::Sum(terms) => {
            // Not a copy of all terms for each of them.
            let one = |t: &Expr| Equation {
                value: t.clone(),
                span: e.target.span.to(t.span),
                target: e.target.clone(),
                guard: e.guard.clone(),
                ..*e
            };
            terms.iter().map(one).collect()
        }
        _ => vec![e.clone()],
    }
}

/// Calls of some functions under their new names.
fn renamed_calls(e: &Expr, name: &impl Fn(&Name) -> Option<Name>) -> Expr {
    let mut out = e.map_parts(&mut |part| renamed_calls(part, name));
    if let Kind::Call(call) = &mut out.kind
        && let Some(new) = name(&call.function)
    {
        call.function = new;
    }
    out
}

impl Expr {
    /// The same with some tensors changed.
    pub(crate) fn with_refs(&self, change: &impl Fn(&Ref) -> Option<Ref>) -> Expr {
        match &self.kind {
            Kind::Ref(r) => change(r).map_or_else(|| self.clone(), |r| Kind::Ref(r).at(self.span)),
            _ => self.map_parts(&mut |part| part.with_refs(change)),
        }
    }
}
