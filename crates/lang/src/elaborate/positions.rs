//! Index arithmetic in equations: tells sums of indices with integer factors from expressions that compute positions.
//! Takes what the parser read between brackets; returns resolved indices. Sizes are inferred by `eval::sizes`.

use crate::elaborate::scope::{occurrences, place_keys};
use crate::syntax::ast::{Affine, Equation, Expr, Index, Kind, Name, Ref};
use crate::syntax::diagnostic::Diagnostic;

/// Adds two expressions of numbers and parameters. Plain numbers are added at once.
fn sum(a: &Expr, b: &Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (Kind::Number(x), Kind::Number(y)) => Kind::Number(x + y).at(a.span),
        (Kind::Number(0.0), _) => b.clone(),
        (_, Kind::Number(0.0)) => a.clone(),
        _ => Kind::Sum(vec![a.clone(), b.clone()]).at(a.span),
    }
}

fn product(a: &Expr, b: &Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (Kind::Number(x), Kind::Number(y)) => Kind::Number(x * y).at(a.span),
        (Kind::Number(0.0), _) | (_, Kind::Number(0.0)) => Kind::Number(0.0).at(a.span),
        (Kind::Number(1.0), _) => b.clone(),
        (_, Kind::Number(1.0)) => a.clone(),
        _ => Kind::Product(vec![a.clone(), b.clone()]).at(a.span),
    }
}

/// The meaning of bare names between brackets.
pub(super) struct Meaning<'a> {
    /// Returns true if a name is an index.
    pub(super) index: &'a dyn Fn(&Name) -> bool,
    /// Returns true if a name is a number that is known before the run.
    pub(super) number: &'a dyn Fn(&Name) -> bool,
}

/// Returns the linear form of an expression in indices, if it is one.
fn linear(e: &Expr, is: &Meaning<'_>) -> Option<Affine> {
    let number = |x: f64| Kind::Number(x).at(e.span);
    let constant = |offset: Expr| Affine { terms: Vec::new(), offset };
    let of_index = |n: &Name| Affine { terms: vec![(number(1.0), n.clone())], offset: number(0.0) };
    let scaled = |a: Affine, by: &Expr| Affine {
        terms: a.terms.iter().map(|(x, n)| (product(by, x), n.clone())).collect(),
        offset: product(by, &a.offset),
    };
    match &e.kind {
        Kind::Number(x) if x.fract() == 0.0 && x.abs() < 9.0e15 => Some(constant(e.clone())),
        Kind::Ref(r) if r.places.is_empty() && !r.relation && (is.index)(&r.name) => Some(of_index(&r.name)),
        Kind::Ref(r) if r.places.is_empty() && !r.relation && (is.number)(&r.name) => {
            Some(constant(e.clone()))
        }
        Kind::Negative(one) => Some(scaled(linear(one, is)?, &number(-1.0))),
        Kind::Sum(terms) => {
            let mut out = constant(number(0.0));
            for term in terms {
                let term = linear(term, is)?;
                out.offset = sum(&out.offset, &term.offset);
                for (by, name) in term.terms {
                    match out.terms.iter_mut().find(|t| t.1 == name) {
                        Some(own) => own.0 = sum(&own.0, &by),
                        None => out.terms.push((by, name)),
                    }
                }
            }
            Some(out)
        }
        Kind::Product(factors) => {
            let mut out = constant(number(1.0));
            for factor in factors {
                let factor = linear(factor, is)?;
                out = match (out.terms.is_empty(), factor.terms.is_empty()) {
                    (_, true) => scaled(out, &factor.offset),
                    (true, false) => scaled(factor, &out.offset),
                    _ => return None,
                };
            }
            Some(out)
        }
        _ => None,
    }
}

/// Returns the index that an expression between brackets represents, if it is index arithmetic. An expression
/// that reads a tensor is not.
pub(super) fn resolved(e: &Expr, is: &Meaning<'_>) -> Option<Index> {
    let form = linear(e, is)?;
    let whole = |e: &Expr| if let Kind::Number(x) = e.kind { Some(x as i64) } else { None };
    let nonzero = |t: &(Expr, Name)| whole(&t.0) != Some(0);
    match (&form.terms[..], whole(&form.offset)) {
        ([], Some(at)) if at >= 0 => Some(Index::At(at)),
        ([(by, name)], Some(offset)) if whole(by) == Some(1) => Some(Index::Named(name.clone(), offset)),
        _ => {
            // A factor of 0 leaves the index: it is still summed.
            let terms = form.terms.iter().filter(|t| nonzero(t) || form.terms.len() == 1).cloned().collect();
            Some(Index::Affine(Box::new(Affine { terms, offset: form.offset })))
        }
    }
}

/// Makes bare names of indices in a computed index numbers: `Idx[i]+k` is `Idx[i]+index(k)`.
pub(super) fn indices_as_numbers(e: &mut Expr, is_index: &dyn Fn(&Name) -> bool) {
    match &e.kind {
        Kind::Ref(r) if r.places.is_empty() && !r.relation && is_index(&r.name) => {
            e.kind = Kind::Of("index".into(), r.name.clone());
        }
        Kind::Ref(_) => {}
        Kind::Call(call) if call.args.len() == 1 && &*call.function == "index" => {}
        // Settings may be names of indices: `argmax(B[i,j], axis=j)`.
        Kind::Call(call) => {
            let mut call = call.clone();
            call.args.iter_mut().for_each(|a| indices_as_numbers(a, is_index));
            e.kind = Kind::Call(call);
        }
        _ => e.change_parts(&mut |part| indices_as_numbers(part, is_index)),
    }
}

/// Reports an index that is summed inside a computed index, `T[A[i,k] B[k]]`: it would be easy to misread where.
pub(super) fn summed_inside(e: &Equation) -> Option<Diagnostic> {
    let mut found = None;
    let mut look = |r: &Ref| {
        for place in &r.places {
            let Index::Computed(inside) = &place.index else { continue };
            let refs = inside.refs();
            let times =
                |n: &Name| refs.iter().filter(|r| crate::elaborate::scope::keys(r).contains(n)).count();
            let twice = place_keys(place).into_iter().find(|n| times(n) > 1);
            if let Some(name) = twice.filter(|n| !outside(e, inside, n)) {
                let what = format!("index `{name}` is summed inside of a computed index");
                let help = format!("give the sum a name: Position[…] = {inside}");
                found = Some(Diagnostic::error(place.span, what).help(help).about(&name));
            }
        }
        false
    };
    look(&e.target);
    e.any_read(&mut look);
    found
}

/// Returns true if an index appears in an equation outside of an expression.
fn outside(e: &Equation, inside: &Expr, name: &Name) -> bool {
    fn has(e: &Expr, inside: &Expr, name: &Name) -> bool {
        if std::ptr::eq(e, inside) {
            return false;
        }
        let own = match &e.kind {
            Kind::Ref(r) => in_plain_places(r, name),
            Kind::Of(_, index) => index == name,
            Kind::Call(call) => crate::elaborate::scope::bound_by(call).contains(name),
            _ => false,
        };
        own || e.any_part(|p| has(p, inside, name))
    }
    fn in_plain_places(r: &Ref, name: &Name) -> bool {
        let plain = r.places.iter().filter(|p| !matches!(p.index, Index::Computed(_)));
        plain.flat_map(place_keys).any(|n| n == *name)
    }
    let left = in_plain_places(&e.target, name) || e.target.computed().any(|p| has(p, inside, name));
    left || has(&e.value, inside, name) || e.guard.as_ref().is_some_and(|g| occurrences(g).contains(name))
}

/// Returns true if two entries of left sides never name the same position, as far as integer factors show it.
pub(super) fn never_equal(a: &Index, b: &Index) -> bool {
    fn form(index: &Index) -> Option<(i64, i64)> {
        match index {
            Index::Named(_, by) => Some((1, *by)),
            Index::At(at) if *at >= 0 => Some((0, *at)),
            Index::Affine(sum) => {
                let whole = |e: &Expr| if let Kind::Number(x) = e.kind { Some(x as i64) } else { None };
                let mut factor = 0;
                for (by, _) in &sum.terms {
                    factor = gcd(factor, whole(by)?);
                }
                Some((factor, whole(&sum.offset)?))
            }
            _ => None,
        }
    }
    fn gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a.abs() } else { gcd(b, a % b) }
    }
    if !matches!((a, b), (Index::Affine(_), _) | (_, Index::Affine(_))) {
        return false;
    }
    let (Some((x, p)), Some((y, q))) = (form(a), form(b)) else { return false };
    let factor = gcd(x, y);
    if factor == 0 { p != q } else { (p - q) % factor != 0 }
}
