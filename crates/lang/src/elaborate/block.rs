//! Blocks: names that `let` defines in a block are visible only there. In the program each such name is unique: it is
//! renamed if the name is used elsewhere, so that appended lines, such as gradients, can read it.

use crate::builtin;
use crate::elaborate::scope::numbered;
use crate::elaborate::time::summed_time;
use crate::program::{Local, Program};
use crate::syntax::ast::{Equation, Expr, Kind, Name, Ref, Statement};
use crate::syntax::source::Span;
use std::collections::{HashMap, HashSet};

/// The names of the enclosing blocks, as written, with their positions in `Program::locals`.
pub(super) type Scope = HashMap<Name, usize>;

/// The names in a program, as needed to resolve blocks.
#[derive(Default)]
pub(super) struct Names {
    /// Names that are used where no block defines them.
    outside: HashSet<Name>,
    /// Names that equations define.
    targets: HashSet<Name>,
    functions: HashSet<Name>,
    /// All names in use, including those of locals.
    taken: HashSet<Name>,
}

impl Names {
    pub(super) fn of(statements: &[Statement]) -> Names {
        let mut names = Names::default();
        names.gather(statements, &mut Vec::new());
        names
    }

    fn note(&mut self, name: &Name, blocks: &[HashSet<Name>]) {
        self.taken.insert(name.clone());
        if !blocks.iter().any(|b| b.contains(name)) {
            self.outside.insert(name.clone());
        }
    }

    fn gather(&mut self, statements: &[Statement], blocks: &mut Vec<HashSet<Name>>) {
        for s in statements {
            match s {
                Statement::Equation(e) => {
                    self.note(&e.target.name, blocks);
                    self.targets.insert(e.target.name.clone());
                    self.expression(&e.value, blocks);
                    e.guard.iter().for_each(|g| self.expression(g, blocks));
                    e.target.computed().for_each(|p| self.expression(p, blocks));
                }
                Statement::Sink(_, e, _) => self.expression(e, blocks),
                Statement::Export(names) => names.iter().for_each(|(n, _)| self.note(n, blocks)),
                Statement::Param { name, .. } => self.note(name, &[]),
                Statement::Function(f) => {
                    self.note(&f.name, &[]);
                    self.functions.insert(f.name.clone());
                }
                Statement::Block(inside, _) => {
                    blocks.push(given(inside).cloned().collect());
                    self.gather(inside, blocks);
                    blocks.pop();
                }
                Statement::Axis(..) | Statement::While(..) | Statement::Import(..) => {}
            }
        }
    }

    fn expression(&mut self, e: &Expr, blocks: &[HashSet<Name>]) {
        match &e.kind {
            Kind::Ref(r) => self.note(&r.name, blocks),
            Kind::Call(c) => self.note(&c.function, blocks),
            _ => {}
        }
        e.parts().into_iter().for_each(|p| self.expression(p, blocks));
    }

    /// Returns the name of a local in the program: as written, unless that is in use.
    fn fresh(&mut self, written: &Name, locals: &[Local]) -> Name {
        if !self.outside.contains(written) && !locals.iter().any(|l| l.name == *written) {
            return written.clone();
        }
        let name = numbered(written, 2).find(|n| !self.taken.contains(n)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }
}

/// Returns true if some block defines names by `let`.
pub(super) fn any_local(statements: &[Statement]) -> bool {
    statements.iter().any(|s| match s {
        Statement::Block(inside, _) => given(inside).next().is_some() || any_local(inside),
        _ => false,
    })
}

/// Returns the names that `let` defines directly in a block, not in blocks within.
fn given(inside: &[Statement]) -> impl Iterator<Item = &Name> {
    inside.iter().filter_map(|s| match s {
        Statement::Equation(e) if e.local => Some(&e.target.name),
        _ => None,
    })
}

impl Program {
    /// Returns the scope inside a block.
    pub(super) fn inner_scope(&mut self, inside: &[Statement], outer: &Scope, names: &mut Names) -> Scope {
        let (mut scope, mut own) = (outer.clone(), HashSet::new());
        for written in given(inside).filter(|n| own.insert(*n)) {
            let name = names.fresh(written, &self.locals);
            scope.insert(written.clone(), self.locals.len());
            self.locals.push(Local { written: written.clone(), name, lets: Vec::new(), uses: Vec::new() });
        }
        scope
    }

    /// Resolves a name at a location.
    fn local(&mut self, written: &Name, span: Span, scope: &Scope) -> Name {
        let Some(at) = scope.get(written) else { return written.clone() };
        let local = &mut self.locals[*at];
        local.uses.push(Span { end: span.start + written.len() as u32, ..span });
        local.name.clone()
    }

    /// Resolves the names of an equation in a block.
    pub(super) fn in_block(&mut self, e: &Equation, scope: &Scope, names: &Names) -> Equation {
        if let Some(at) = scope.get(&e.target.name).filter(|_| e.local) {
            self.locals[*at].lets.push(Span { end: e.target.span.start, ..e.span });
        }
        let name = self.local(&e.target.name, e.target.span, scope);
        let relation = e.target.relation;
        let target = e.target.map_computed(&mut |p| self.part_in_block(p, scope, names, relation));
        Equation {
            target: Ref { name, ..target },
            value: self.part_in_block(&e.value, scope, names, relation),
            guard: e.guard.as_ref().map(|g| self.part_in_block(g, scope, names, relation)),
            ..e.clone()
        }
    }

    /// Resolves the names of an expression; `relation` is true on the right side of a relation.
    pub(super) fn part_in_block(&mut self, e: &Expr, scope: &Scope, names: &Names, relation: bool) -> Expr {
        match &e.kind {
            Kind::Ref(r) => {
                let name = self.local(&r.name, r.span, scope);
                let inside = r.map_computed(&mut |p| self.part_in_block(p, scope, names, relation));
                Kind::Ref(Ref { name, ..inside }).at(e.span)
            }
            Kind::Call(c) => {
                let callee = builtin::find(&c.function, self);
                let bare = |a: &Expr| matches!(&a.kind, Kind::Ref(r) if r.places.is_empty());
                // Bare names are indices in the parentheses of a relation, and words after most keywords.
                let known = callee.is_some() || names.functions.contains(&c.function);
                let facts = names.targets.contains(&c.function) || relation && c.named.is_empty() && !known;
                let of_index = facts || callee.as_ref().is_some_and(builtin::Callee::is_of_index);
                let tensor = |key: &Name| callee.as_ref().is_some_and(|f| f.signature().is_param(key));
                let mut call = (**c).clone();
                if facts {
                    call.function = self.local(&c.function, e.span, scope);
                }
                for a in call.args.iter_mut().filter(|a| !(of_index && bare(a))) {
                    *a = self.part_in_block(a, scope, names, relation);
                }
                for (_, v) in call.named.iter_mut().filter(|(k, v)| !bare(v) || tensor(k)) {
                    *v = self.part_in_block(v, scope, names, relation);
                }
                Kind::Call(Box::new(call)).at(e.span)
            }
            _ => e.map_parts(&mut |p| self.part_in_block(p, scope, names, relation)),
        }
    }

    /// Returns the exported name; `None` if the name was changed because another one exists outside the
    /// block.
    pub(super) fn exported(&mut self, written: &Name, span: Span, scope: &Scope) -> Option<Name> {
        Some(self.local(written, span, scope)).filter(|name| name == written)
    }

    /// Returns true if some block defines the name by `let`.
    pub(crate) fn ends_with_a_block(&self, name: &str) -> bool {
        self.locals.iter().any(|l| *l.written == *name)
    }

    /// Returns the text of the program, for appending lines that read its names, such as a gradient. Names
    /// defined by `let` that are read get their unique names and lose `let`.
    pub fn open_text(&self) -> String {
        self.open_text_from("")
    }

    /// As `open_text`, for a text in another folder: `way` is the path from there to the program's folder, and is put
    /// before the paths of files.
    pub fn open_text_from(&self, way: &str) -> String {
        let text = self.sources.first().map_or("", |s| &*s.text);
        let read: HashSet<&Name> = self.equations.iter().flat_map(Equation::reads).map(|r| &r.name).collect();
        let statements = if way.is_empty() { Vec::new() } else { self.statements() };
        let mut files = Vec::new();
        read_files(&statements, text, &mut files);
        let moved: Vec<(Span, String)> =
            files.into_iter().map(|(span, path)| (span, format!("\"{way}/{path}\""))).collect();
        let mut edits: Vec<(Span, &str)> = moved.iter().map(|(span, new)| (*span, &**new)).collect();
        for local in self.locals.iter().filter(|l| read.contains(&l.name)) {
            edits.extend(local.lets.iter().map(|s| (*s, "")));
            edits.extend(local.uses.iter().map(|s| (*s, &*local.name)));
        }
        // Appended lines with time may read this sum over time, and a plain `=` would then be ambiguous.
        for e in self.equations.iter().filter(|e| e.span.file == 0 && read.contains(&e.target.name)) {
            let sign = || {
                // Each term is an equation; the sign is before the first one.
                let terms = self.equations.iter().filter(|o| o.target.span == e.target.span);
                let first = terms.map(|o| o.value.span.start).min()?;
                let before = text.get(e.target.span.start as usize..first as usize)?;
                let end = before.rfind('=')?;
                let start = if before[..end].ends_with('+') { end - 1 } else { end };
                let at = |n: usize| e.target.span.start + n as u32;
                Some(Span { start: at(start), end: at(end + 1), ..e.target.span })
            };
            if summed_time(e).is_some()
                && let Some(sign) = sign()
            {
                edits.push((sign, "sum="));
            }
        }
        edits.sort_by_key(|(s, _)| s.start);
        edits.dedup_by_key(|(s, _)| s.start);
        let (mut out, mut at) = (String::new(), 0);
        for (span, new) in edits {
            out.push_str(text.get(at..span.start as usize).unwrap_or_default());
            out.push_str(new);
            at = span.end as usize;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

/// The relative paths of files that statements read, with their spans in the text.
fn read_files<'a>(statements: &'a [Statement], text: &str, out: &mut Vec<(Span, &'a str)>) {
    for statement in statements {
        let (path, span) = match statement {
            Statement::Import(path, _, span) => (path, *span),
            Statement::Equation(Equation { value: Expr { kind: Kind::Text(path), span }, .. }) => {
                (path, *span)
            }
            Statement::Equation(Equation { value: Expr { kind: Kind::Call(call), span }, .. })
                if &*call.function == "table" =>
            {
                let Some(Kind::Text(path)) = call.args.first().map(|a| &a.kind) else { continue };
                (path, *span)
            }
            Statement::Block(inside, _) => {
                read_files(inside, text, out);
                continue;
            }
            _ => continue,
        };
        let written = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let quote =
            written.find('"').and_then(|from| Some((from, from + 1 + written[from + 1..].find('"')?)));
        if let (Some((from, to)), false) = (quote, path.starts_with('/')) {
            let at = |byte: usize| span.start + byte as u32;
            out.push((Span { start: at(from), end: at(to + 1), ..span }, path));
        }
    }
}
