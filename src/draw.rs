//! Draws graphs as SVG or Graphviz text, and the equations of a program ([`svg_of_program`]).

pub use gradus_draw::*;
use gradus_ir::Aval;
use gradus_lang::Program;
use gradus_lang::ast::{Equation, Kind, Name};

/// Draws equations of a program as SVG: a box for each of the tensors `names` with its type, if `type_of` returns one,
/// and its equations. Arrows come from the tensors that the equations read.
pub fn svg_of_program(program: &Program, names: &[Name], type_of: impl Fn(&Name) -> Option<Aval>) -> String {
    let outputs = program.outputs();
    let part = |name: &Name| {
        let (mut lines, mut needs): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
        for e in program.equations.iter().filter(|e| e.target.name == *name) {
            let line = source_text(program, e);
            // An equation with several terms is one line of the program.
            match lines.iter_mut().find(|other| line.starts_with(&***other) || other.starts_with(&*line)) {
                Some(other) if other.len() < line.len() => *other = line,
                Some(_) => {}
                None => lines.push(line),
            }
            for r in e.reads() {
                needs.extend(names.iter().position(|n| *n == r.name).filter(|n| !needs.contains(n)));
            }
        }
        let mut equations = program.equations.iter().filter(|e| e.target.name == *name);
        let role = if program.is_input(name) {
            Role::Input
        } else if outputs.contains(name) {
            Role::Output
        } else if equations.all(|e| is_constant(&e.value.kind)) {
            Role::Constant
        } else {
            Role::Inner
        };
        let note = type_of(name).map(|aval| aval.to_string()).unwrap_or_default();
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

/// An equation on one line: as in the source text, or formatted if it has none.
fn source_text(program: &Program, e: &Equation) -> String {
    let own = program.sources.get(e.span.file as usize).map_or("", |s| s.slice(e.span));
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    if own.is_empty() { e.to_string() } else { own }
}
