//! Compares two programs up to names of indices.

pub(crate) mod check;

use gradus_lang::ast::{Equation, Function, Statement};

/// Returns true if statements are equal up to their locations.
pub(crate) fn same(a: &[Statement], b: &[Statement]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_statement(a, b))
}

fn same_equation(a: &Equation, b: &Equation) -> bool {
    (&a.target, &a.guard, a.projection, &a.value, a.local)
        == (&b.target, &b.guard, b.projection, &b.value, b.local)
}

fn same_function(a: &Function, b: &Function) -> bool {
    let body = a.body.len() == b.body.len() && a.body.iter().zip(&b.body).all(|(a, b)| same_equation(a, b));
    (&a.name, &a.params, &a.result) == (&b.name, &b.params, &b.result) && body
}

fn same_statement(a: &Statement, b: &Statement) -> bool {
    match (a, b) {
        (Statement::Equation(a), Statement::Equation(b)) => same_equation(a, b),
        (Statement::Function(a), Statement::Function(b)) => same_function(a, b),
        (Statement::Block(a, _), Statement::Block(b, _)) => same(a, b),
        (Statement::Sink(p, a, _), Statement::Sink(q, b, _)) => p == q && a == b,
        (Statement::While(n, s, a, _), Statement::While(m, t, b, _)) => n == m && s == t && a == b,
        (Statement::Axis(n, a, _), Statement::Axis(m, b, _)) => n == m && a == b,
        (Statement::Import(p, a, _), Statement::Import(q, b, _)) => p == q && a == b,
        (Statement::Export(a), Statement::Export(b)) => a.iter().map(|n| &n.0).eq(b.iter().map(|n| &n.0)),
        (
            Statement::Param { name, whole, fixed, value, .. },
            Statement::Param { name: name2, whole: whole2, fixed: fixed2, value: value2, .. },
        ) => (name, whole, fixed, value) == (name2, whole2, fixed2, value2),
        _ => false,
    }
}
