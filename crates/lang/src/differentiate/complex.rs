//! Finds the names and calls whose values are complex, and warns about inputs that may be.

use crate::builtin::{self, Base, Callee, Derivative, Part};
use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Kind, Name};
use crate::syntax::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};

/// Returns the names of equations with complex values, in addition to `known`. Inputs are real unless they
/// are in `known`.
pub(super) fn complex_among(
    equations: &[Equation],
    known: HashSet<Name>,
    program: &Program,
) -> HashSet<Name> {
    let mut found = known;
    // Fast path: most programs have no complex numbers.
    if !equations.iter().any(|e| is_complex(&e.value, &found, program)) {
        return found;
    }
    let mut readers: HashMap<&Name, Vec<&Equation>> = HashMap::new();
    for e in equations {
        e.value.refs().iter().for_each(|r| readers.entry(&r.name).or_default().push(e));
    }
    let mut work: Vec<&Equation> = equations.iter().collect();
    while let Some(e) = work.pop() {
        if !found.contains(&e.target.name) && is_complex(&e.value, &found, program) {
            found.insert(e.target.name.clone());
            work.extend(readers.get(&e.target.name).into_iter().flatten());
        }
    }
    found
}

/// Returns true if an expression is complex, given the complex names.
fn is_complex(e: &Expr, names: &HashSet<Name>, program: &Program) -> bool {
    let is = |e: &Expr| is_complex(e, names, program);
    match &e.kind {
        Kind::Ref(r) => names.contains(&r.name),
        Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => false,
        Kind::Choose(three) => three[1..].iter().any(is),
        Kind::Case(cases, otherwise) => {
            cases.iter().any(|[_, v]| is(v)) || otherwise.as_deref().is_some_and(is)
        }
        Kind::Call(c) => {
            let each: Vec<bool> = c.args.iter().map(is).collect();
            builtin::find(&c.function, program).is_some_and(|callee| {
                let by = if callee.order > 0 { builtin::differentiated(&callee, c) } else { None };
                gives(&callee, by, &each, program)
            })
        }
        _ => e.parts().into_iter().any(is),
    }
}

/// Returns true if a call returns complex numbers, given which arguments are complex, and for a derivative the argument
/// that it is taken for.
pub(super) fn gives(callee: &Callee, by: Option<usize>, each: &[bool], program: &Program) -> bool {
    let any = each.contains(&true);
    if callee.order > 0 {
        // A derivative has the dtype of the argument that it is for.
        return by.map_or(any, |at| each.get(at).copied().unwrap_or_default());
    }
    match &callee.base {
        Base::Pointwise(op) => any && op.complex.is_some() && !op.predicate,
        Base::Table(b) => b.derivative == Derivative::Parts(Part::Both) || any && !b.real,
        Base::User(f) => {
            let given = f.params.iter().zip(each).filter(|(_, is)| **is).map(|(p, _)| p.name.clone());
            complex_among(&f.body, given.collect(), program).contains(&f.result.name)
        }
    }
}

/// Returns warnings for real and imaginary parts of values that are not known to be complex: an input may be
/// complex, and its gradient would differ.
pub(super) fn parts_of_real(
    equations: &[&Equation],
    complex: &HashSet<Name>,
    program: &Program,
) -> Vec<Diagnostic> {
    fn found<'e>(e: &'e Expr, known: &HashSet<Name>, program: &Program, out: &mut Vec<(&'e Expr, Name)>) {
        if let Kind::Call(c) = &e.kind
            && matches!(&*c.function, "real" | "imag" | "conj")
            && c.args.first().is_some_and(|a| !is_complex(a, known, program))
            && let Some(name) = input(&c.args[0], program, &mut HashSet::new())
        {
            out.push((e, name));
        }
        e.parts().into_iter().for_each(|p| found(p, known, program, out));
    }
    let mut all = Vec::new();
    equations.iter().for_each(|e| found(&e.value, complex, program, &mut all));
    let doubt = |(e, name): (&Expr, Name)| {
        let what =
            format!("inputs are assumed to be real, but this is the real or imaginary part of `{name}`");
        let help = format!("if it is complex, declare it: --complex {name}");
        Diagnostic::warning(e.span, what).help(help)
    };
    all.into_iter().map(doubt).collect()
}

/// Returns an input that an expression depends on.
fn input(e: &Expr, program: &Program, seen: &mut HashSet<Name>) -> Option<Name> {
    e.refs().into_iter().find_map(|r| {
        if !seen.insert(r.name.clone()) {
            return None;
        }
        if program.is_input(&r.name) {
            return Some(r.name.clone());
        }
        let own = program.definition(&r.name)?.equations.iter();
        own.map(|i| &program.equations[*i].value).find_map(|e| input(e, program, seen))
    })
}
