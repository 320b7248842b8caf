//! Solves rules in which all factors are Boolean by one `Closure` op. In each iteration, the op joins only facts that
//! are new (semi-naive evaluation).

use super::Solver;
use super::fixpoint::Extents;
use crate::builtin::named::Named;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Ref};
use crate::lower::eval::{Eval, Term, Values};
use crate::rules::{Atom, Closure, Rule};
use crate::syntax::ast::{Name, Projection};
use crate::syntax::limit::MAX_FACTS;
use gradus_ir::DType;
use gradus_tensor::{Tensor, try_apply};

fn factors(e: &Expr) -> Vec<&Expr> {
    match &e.kind {
        Kind::Product(factors) => factors.iter().collect(),
        _ => vec![e],
    }
}

/// Returns the terms of a right side, each as its factors. Booleans are never negative, so a sum of them
/// holds where some term does.
fn terms(e: &Equation) -> Vec<Vec<&Expr>> {
    match &e.value.kind {
        Kind::Sum(terms) => terms.iter().map(factors).collect(),
        _ => vec![factors(&e.value)],
    }
}

/// Returns the index names, if no index has an offset and all names are distinct.
fn plain(r: &Ref) -> Option<Vec<Name>> {
    let mut names: Vec<Name> = Vec::new();
    for p in &r.places {
        match &p.index {
            Index::Named(n, 0) if !names.contains(n) => names.push(n.clone()),
            _ => return None,
        }
    }
    Some(names)
}

/// Computes all facts that follow by rules from the initial ones.
pub(super) fn closed(first: &[Tensor], still: &[Tensor], rules: &[Rule]) -> gradus_ir::Result<Vec<Tensor>> {
    let ins: Vec<&Tensor> = first.iter().chain(still).collect();
    try_apply(Closure::new(first.len(), rules).op(), &ins)
}

/// The relations that the rules read but do not extend. They are operands of the op.
struct Still {
    values: Vec<Tensor>,
    /// The name of each relation; `None` if it is the value of an expression.
    names: Vec<Option<Name>>,
}

impl Still {
    fn put(&mut self, name: Option<Name>, value: Tensor) -> usize {
        self.values.push(value);
        self.names.push(name);
        self.values.len() - 1
    }
}

impl<'a> Solver<'a> {
    /// Returns the rules of a group and the other relations that they read. Returns `None` if there is a batch, an
    /// equation is not a sum of products of Boolean factors with plain indices, or the relations have more than
    /// `MAX_FACTS` elements.
    pub(super) fn closure(
        &self,
        group: &[usize],
        names: &[Name],
        known: &Values,
    ) -> Eval<Option<(Vec<Rule>, Vec<Tensor>)>> {
        if !self.batch.is_empty() {
            return Ok(None);
        }
        let mut rules = Vec::new();
        let mut still = Still { values: Vec::new(), names: Vec::new() };
        for (g, i) in group.iter().enumerate() {
            for e in self.own(*i).into_iter().filter(|e| e.reads().iter().any(|r| names.contains(&r.name))) {
                let Some(own) = self.rules_of(e, g, names, known, &mut still)? else { return Ok(None) };
                rules.extend(own);
            }
        }
        let grown = names.iter().filter_map(|n| known.get(n)?.as_ref()).map(|v| v.tensor.numel());
        let places = grown.chain(still.values.iter().map(Tensor::numel)).sum::<usize>();
        Ok((places <= MAX_FACTS).then_some((rules, still.values)))
    }

    /// Returns the initial facts of a relation: those of terms that read no growing relation.
    pub(super) fn first(&self, name: usize, names: &[Name], known: &Values, sizes: &Extents) -> Eval<Tensor> {
        let grows = |e: &Expr| e.any_ref(&mut |r| names.contains(&r.name));
        let mut found = Vec::new();
        for e in self.own(name) {
            if !grows(&e.value) {
                found.push((e, self.term(e, known, None)?));
            } else if let Kind::Sum(terms) = &e.value.kind {
                for term in terms.iter().filter(|t| !grows(t)) {
                    let alone = Equation { value: term.clone(), ..e.clone() };
                    let mut term = Term::new(self.core, self.options, known, &self.batch, None, &alone)?;
                    term.infer_sizes()?;
                    found.push((e, term.evaluate()?));
                }
            }
        }
        match known.get(self.name(name)) {
            Some(Some(nothing)) if found.is_empty() => Ok(nothing.tensor.clone()),
            _ => Ok(self.joined(&found, true, Some(sizes))?.tensor),
        }
    }

    /// Returns the rules of an equation for the relation with number `head` in the group; `None` if it has another
    /// form.
    fn rules_of(
        &self,
        e: &'a Equation,
        head: usize,
        names: &[Name],
        known: &Values,
        still: &mut Still,
    ) -> Eval<Option<Vec<Rule>>> {
        // Reports sizes that do not agree, as for other equations.
        let mut whole = Term::new(self.core, self.options, known, &self.batch, None, e)?;
        whole.infer_sizes()?;
        let Some(left) = plain(&e.target).filter(|_| e.projection == Projection::Sum && e.guard.is_none())
        else {
            return Ok(None);
        };
        let mut rules = Vec::new();
        for factors in terms(e) {
            let mut variables = left.clone();
            let mut number = |n: &Name| {
                variables.iter().position(|v| v == n).unwrap_or_else(|| {
                    variables.push(n.clone());
                    variables.len() - 1
                })
            };
            let mut body = Vec::new();
            for factor in &factors {
                let (relation, own) = match &factor.kind {
                    Kind::Ref(r) if names.contains(&r.name) => {
                        let Some(own) = plain(r) else { return Ok(None) };
                        (names.iter().position(|n| *n == r.name).unwrap_or(0), own)
                    }
                    _ if factor.any_ref(&mut |r| names.contains(&r.name)) => return Ok(None),
                    _ => {
                        let Some((at, own)) = still_of(&whole, factor, still) else { return Ok(None) };
                        (names.len() + at, own)
                    }
                };
                body.push(Atom { relation, variables: own.iter().map(&mut number).collect() });
            }
            // Terms that read no relation of the group are part of the initial facts.
            if body.iter().any(|a| a.relation < names.len()) {
                rules
                    .push(Rule { head: Atom { relation: head, variables: (0..left.len()).collect() }, body });
            }
        }
        Ok(Some(rules))
    }
}

/// Returns the number and indices of a factor that reads no relation of the group, if it is Boolean. Adds it to `still`
/// if necessary.
fn still_of(whole: &Term<'_>, factor: &Expr, still: &mut Still) -> Option<(usize, Vec<Name>)> {
    if let Kind::Ref(r) = &factor.kind
        && let Some(own) = plain(r)
        && let Some(Some(value)) = whole.values.get(&r.name)
    {
        let at = still.names.iter().position(|n| n.as_ref() == Some(&r.name));
        let is_truth = value.tensor.dtype() == DType::Bool && value.batch.is_empty();
        let put = |still: &mut Still| still.put(Some(r.name.clone()), value.tensor.clone());
        return is_truth.then(|| (at.unwrap_or_else(|| put(still)), own));
    }
    let value: Named = whole.eval(factor).ok().filter(|v| v.tensor.dtype() == DType::Bool)?;
    let mut own = value.axes.clone();
    own.sort();
    Some((still.put(None, value.aligned(&own)), own))
}
