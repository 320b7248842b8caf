//! Checks an assumption of gradient lines: inputs are real unless declared complex. Lines that would differ for
//! complex inputs are found by differentiating again.

use crate::differentiate::GradientOptions;
use crate::program::Program;
use crate::syntax::ast::{Equation, Kind, Name};
use crate::syntax::diagnostic::Diagnostic;
use std::collections::HashSet;

/// Returns the prefix and the loss of a gradient, if this line is its start: `Grad_Loss = const(1.0)`.
fn seed<'e>(e: &'e Equation, program: &Program) -> Option<(&'e str, Name)> {
    let name = &e.target.name;
    let Kind::Call(c) = &e.value.kind else { return None };
    let one = matches!(c.args.first().map(|a| &a.kind), Some(Kind::Number(1.0)));
    let (_, behind) =
        name.strip_prefix("Grad").filter(|_| &*c.function == "const" && one)?.split_once('_')?;
    let loss = program.definition(behind).filter(|d| d.rank == 0 && !d.equations.is_empty());
    loss.map(|_| (&name[..name.len() - behind.len()], behind.into()))
}

impl Program {
    /// Returns errors for lines of gradients that assume real inputs which are complex, and that `wanted`
    /// depends on.
    pub(crate) fn taken_for_real(&self, complex: &[Name], wanted: &[Name]) -> Vec<Diagnostic> {
        if complex.is_empty() {
            return Vec::new();
        }
        let needed = self.needed(wanted);
        let mut found = Vec::new();
        for (prefix, loss) in self.equations.iter().filter_map(|e| seed(e, self)) {
            // The program that was differentiated is what the loss depends on; other lines may have been added since.
            let own = self.needed(std::slice::from_ref(&loss));
            let base = self.equations.iter().filter(|e| own.contains(&e.target.name)).cloned().collect();
            let (exports, sinks) = (Vec::new(), Vec::new());
            let Ok(base) = Program { equations: base, exports, sinks, ..self.clone() }.again() else {
                continue;
            };
            let lines = |complex: &[Name], merged: bool| -> HashSet<String> {
                let complex = complex.iter().filter(|n| base.is_input(n)).cloned().collect();
                let options =
                    GradientOptions { loss: Some(loss.clone()), complex, merged, ..Default::default() };
                let gradient = base.gradient(&options);
                gradient.iter().flat_map(|g| &g.equations).map(Equation::to_string).collect()
            };
            let all = |complex: &[Name]| [false, true].map(|merged| lines(complex, merged));
            let (right, real) = (all(complex), all(&[]));
            let among = |sets: &[HashSet<String>; 2], line: &str| sets.iter().any(|s| s.contains(line));
            let own = |e: &&Equation| e.target.name.starts_with(prefix) && needed.contains(&e.target.name);
            for e in self.equations.iter().filter(own) {
                let line = e.to_string();
                if among(&real, &line) && !among(&right, &line) {
                    let what = "this gradient line assumes that inputs are real, but some are complex";
                    let names: Vec<&str> = complex.iter().map(|n| &**n).collect();
                    let help = format!("generate it with --complex {}", names.join(" --complex "));
                    found.push(Diagnostic::error(e.span, what).help(help));
                }
            }
        }
        found
    }
}
