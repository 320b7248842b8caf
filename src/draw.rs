//! Draws graphs as SVG or Graphviz text, and the equations of a program ([`svg_of_program`]).

pub use gradus_draw::*;
use gradus_ir::Aval;
use gradus_lang::ast::{Equation, Kind, Name};
use gradus_lang::{Program, Span};

/// Draws equations of a program as SVG: a box for each of the tensors `names` with its type, if `type_of` returns one,
/// and its equations. Arrows come from the tensors that the equations read.
pub fn svg_of_program(program: &Program, names: &[Name], type_of: impl Fn(&Name) -> Option<Aval>) -> String {
    let outputs = program.outputs();
    let part = |name: &Name| {
        let equations = || program.equations.iter().filter(|e| e.target.name == *name);
        let (mut lines, mut needs): (Vec<(Span, String)>, Vec<usize>) = (Vec::new(), Vec::new());
        for e in equations() {
            let (at, line) = (e.target.span, source_text(program, e));
            // Each term of a line is an equation; the text of the last term contains the terms before it.
            let is_same = |(location, text): &(Span, String)| {
                *text == line || *location == at && (line.starts_with(&**text) || text.starts_with(&*line))
            };
            match lines.iter_mut().find(|other| is_same(other)) {
                Some((_, other)) if other.len() < line.len() => *other = line,
                Some(_) => {}
                None => lines.push((at, line)),
            }
            for r in e.reads() {
                needs.extend(names.iter().position(|n| *n == r.name).filter(|n| !needs.contains(n)));
            }
        }
        let role = if program.is_input(name) {
            Role::Input
        } else if outputs.contains(name) {
            Role::Output
        } else if equations().all(|e| is_constant(&e.value.kind)) {
            Role::Constant
        } else {
            Role::Inner
        };
        let note = type_of(name).map(|aval| aval.to_string()).unwrap_or_default();
        let lines = lines.into_iter().map(|(_, line)| line).collect();
        Part { role, title: name.to_string(), note, lines, needs }
    };
    svg_of_parts(&names.iter().map(part).collect::<Vec<_>>())
}

/// Returns true for a number or a list of numbers, also within `const(…)`.
fn is_constant(value: &Kind) -> bool {
    match value {
        Kind::Call(call) => &*call.function == "const",
        other => matches!(other, Kind::Array(_) | Kind::Number(_)),
    }
}

/// Returns an equation on one line: as in the source text, or formatted if the text does not contain it. A gradient
/// equation has the location of the expression from which it is derived, also as that of its target.
fn source_text(program: &Program, e: &Equation) -> String {
    let source = program.sources.get(e.span.file as usize).filter(|_| e.span != e.target.span);
    let own = source.map_or("", |s| s.slice(e.span));
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    if own.is_empty() { e.to_string() } else { own }
}
