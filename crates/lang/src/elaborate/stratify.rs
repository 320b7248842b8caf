//! Refuses rules that depend on their own negation: a relation must be complete before a rule negates it.

use crate::program::Program;
use crate::syntax::ast::{Comparison, Equation, Expr, Kind, Name, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::order::components;
use std::collections::HashMap;

/// The monotonicity of a rule in a relation that it reads.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    /// Increasing: more facts never remove a conclusion.
    Plus,
    /// Decreasing: more facts may remove conclusions.
    Minus,
    /// Neither.
    Mixed,
}

impl Sign {
    fn flipped(self) -> Sign {
        match self {
            Sign::Plus => Sign::Minus,
            Sign::Minus => Sign::Plus,
            Sign::Mixed => Sign::Mixed,
        }
    }
}

/// Collects the tensors that an expression reads, with its monotonicity in each.
fn signed<'a>(e: &'a Expr, sign: Sign, out: &mut Vec<(&'a Ref, Sign)>) {
    match &e.kind {
        Kind::Ref(r) => {
            out.push((r, sign));
            r.computed().for_each(|p| signed(p, Sign::Mixed, out));
        }
        Kind::Not(one) | Kind::Negative(one) => signed(one, sign.flipped(), out),
        Kind::Compare(c, two) => {
            let (left, right) = match c {
                Comparison::Gt | Comparison::Ge => (sign, sign.flipped()),
                Comparison::Lt | Comparison::Le => (sign.flipped(), sign),
                Comparison::Eq | Comparison::Ne => (Sign::Mixed, Sign::Mixed),
            };
            signed(&two[0], left, out);
            signed(&two[1], right, out);
        }
        Kind::Choose(three) => {
            signed(&three[0], Sign::Mixed, out);
            three[1..].iter().for_each(|p| signed(p, sign, out));
        }
        Kind::Case(cases, otherwise) => {
            cases.iter().for_each(|[c, _]| signed(c, Sign::Mixed, out));
            let values = cases.iter().map(|[_, v]| v).chain(otherwise.as_deref());
            values.for_each(|v| signed(v, sign, out));
        }
        _ => e.parts().into_iter().for_each(|p| signed(p, sign, out)),
    }
}

impl Program {
    /// Reports relations that depend on their own negation, one error per group of mutually dependent names.
    pub(super) fn check_negation(&self, faults: &mut Vec<Diagnostic>) {
        let relation = |n: &Name| self.definition(n).is_some_and(|d| d.relation);
        let rules: Vec<&Equation> = self.equations.iter().filter(|e| relation(&e.target.name)).collect();
        let mut names: Vec<&Name> = Vec::new();
        let mut at: HashMap<&Name, usize> = HashMap::new();
        for rule in &rules {
            at.entry(&rule.target.name).or_insert_with(|| {
                names.push(&rule.target.name);
                names.len() - 1
            });
        }
        let mut needs = vec![Vec::new(); names.len()];
        let mut minus = Vec::new();
        for rule in &rules {
            let mut reads = Vec::new();
            for part in [&rule.value].into_iter().chain(&rule.guard) {
                signed(part, Sign::Plus, &mut reads);
            }
            let own = at[&rule.target.name];
            for (r, sign) in reads {
                let Some(read) = at.get(&r.name).copied() else { continue };
                needs[own].push(read);
                if sign != Sign::Plus {
                    minus.push((own, read, r));
                }
            }
        }
        for group in components(&needs) {
            let inside = |(own, read, _): &&(usize, usize, &Ref)| group.contains(own) && group.contains(read);
            let Some((own, read, r)) = minus.iter().find(inside) else { continue };
            let mut cycle = vec![format!("`{}` needs the negation of `{}`", names[*own], names[*read])];
            let way = path(&needs, *read, *own);
            cycle.extend(way.windows(2).map(|w| format!("`{}` needs `{}`", names[w[0]], names[w[1]])));
            let what = format!("`{}` needs its own negation: {}", names[*own], cycle.join(", "));
            let help = "a rule can negate only relations that do not depend on it";
            let fault = Diagnostic::error(r.span, what).here("negated here").help(help);
            faults.push(way.iter().fold(fault, |fault, at| fault.about(names[*at])));
        }
    }
}

/// Returns a shortest path from one node to another along dependencies, including both.
fn path(needs: &[Vec<usize>], from: usize, to: usize) -> Vec<usize> {
    let mut before: HashMap<usize, usize> = HashMap::new();
    let mut work = std::collections::VecDeque::from([from]);
    while let Some(node) = work.pop_front().filter(|n| *n != to) {
        for next in needs[node].iter().filter(|n| **n != from) {
            before.entry(*next).or_insert_with(|| {
                work.push_back(*next);
                node
            });
        }
    }
    let mut way = vec![to];
    while let Some(node) = before.get(&way[0]).filter(|_| way[0] != from) {
        way.insert(0, *node);
    }
    if way[0] == from { way } else { Vec::new() }
}
