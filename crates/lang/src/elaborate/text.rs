//! A program in Core as text: its groups in dependency order as comments, then all equations with every sum, axis and
//! temperature written out. The text is a program with the same Core.

use super::Core;
use super::groups::{Equations, Group, Solved};
use crate::elaborate::core;
use crate::elaborate::scope::{distinct, renamed};
use crate::program::Program;
use crate::syntax::ast::{self, Equation, Expr, Name};
use std::collections::HashMap;
use std::fmt::Write;

impl Program {
    /// Returns the program in Core, as text.
    pub fn core(&self) -> String {
        let core = Core::new(self);
        let mut out = String::new();
        for line in core.heads() {
            let _ = writeln!(out, "# {line}");
        }
        for (name, p) in &self.params {
            let (kind, whole) = (if p.fixed { "const" } else { "param" }, if p.whole { ": int" } else { "" });
            let _ = writeln!(out, "{kind} {name}{whole} = {}", p.value);
        }
        for (name, (size, _)) in &self.axes {
            let ends = self.bounded.get(name).map(|(go, _)| format!(" while {go}")).unwrap_or_default();
            let _ = writeln!(out, "axis {name} = {size}{ends}");
        }
        for (name, (go, _)) in &self.times {
            let _ = writeln!(out, "axis {name} while {go}");
        }
        let mut functions: Vec<_> = self.functions.values().collect();
        functions.sort_by_key(|f| (f.span.file, f.span.start));
        for f in functions {
            let body = core.body(&f.name).iter().zip(&f.body).map(|(e, own)| written(e, own)).collect();
            let _ = writeln!(out, "{}", ast::Function { body, ..(**f).clone() });
        }
        for (e, own) in core.equations.iter().zip(&self.equations) {
            let _ = writeln!(out, "{}", written(e, own));
        }
        for (path, value, _) in &self.sinks {
            let _ = writeln!(out, "\"{path}\" = {value}");
        }
        if !self.exports.is_empty() {
            let names: Vec<&str> = self.exports.iter().map(|e| &*e.0).collect();
            let _ = writeln!(out, "export {}", names.join(", "));
        }
        out
    }

    /// Returns true if two programs have the same equations in Core. Ignores the names of indices and the relative
    /// order of equations that define different names.
    pub fn has_same_core(&self, other: &Program) -> bool {
        let all = |p: &Program| {
            let core = Core::new(p);
            let mut out: HashMap<Name, Vec<Equation>> = HashMap::new();
            for (e, own) in core.equations.iter().zip(&p.equations) {
                out.entry(e.target.name.clone()).or_default().push(written(e, own));
            }
            out
        };
        let (own, other) = (all(self), all(other));
        own.len() == other.len()
            && own.iter().all(|(name, lines)| {
                other.get(name).is_some_and(|others| {
                    lines.len() == others.len() && lines.iter().zip(others).all(|(a, b)| same(a, b))
                })
            })
    }
}

/// Returns the surface form of a Core equation, with every sum and temperature explicit. `own` is the equation in the
/// source; it is returned unchanged if it reads a file.
fn written(e: &core::Equation, own: &Equation) -> Equation {
    if own.file().is_some() {
        return own.clone();
    }
    let mut out = Equation { local: own.local, spelled: own.spelled, ..e.surface() };
    out.spell_out();
    out
}

/// Returns true if two equations differ in the names of indices only.
fn same(a: &Equation, b: &Equation) -> bool {
    let tensor = |e: &Equation| ast::Kind::Ref(e.target.clone()).at(e.span);
    let parts = |e: &Equation| -> Vec<Expr> {
        [tensor(e), e.value.clone()].into_iter().chain(e.guard.clone()).collect()
    };
    let names = |parts: &[Expr]| distinct(parts.iter().flat_map(ast::Inside::index_names));
    let (a_parts, b_parts) = (parts(a), parts(b));
    let (own, other) = (names(&a_parts), names(&b_parts));
    if own.len() != other.len() || a_parts.len() != b_parts.len() || a.projection != b.projection {
        return false;
    }
    let to: HashMap<Name, Name> = own.into_iter().zip(other).filter(|(a, b)| a != b).collect();
    // Trees that differ only in the position of a sign or a pair of parentheses have the same text.
    a_parts.iter().zip(&b_parts).all(|(a, b)| renamed(a, &to).to_string() == b.to_string())
}

impl Core<'_> {
    /// Returns one line per group: the way it is solved, and its names.
    fn heads(&self) -> Vec<String> {
        let all = Equations::new(self.program, &self.equations);
        let head = |group: &Group| {
            let how = match group.solved {
                Solved::Plain => "plain",
                Solved::Steps if all.is_backward(group) => "steps, backward:",
                Solved::Steps => "steps:",
                Solved::Rules => "rules:",
                Solved::Fixpoint => "fixpoint:",
            };
            let names: Vec<&str> = group.names.iter().map(|i| &*all.names[*i].0).collect();
            format!("{how} {}", names.join(", "))
        };
        all.groups().iter().map(head).collect()
    }
}
