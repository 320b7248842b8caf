//! Symbols in equations: their numbers, the tables that hold them, and comparisons of indices in rules. Takes
//! equations whose names are looked up; changes them in place. Domains are found by `domains`.

use crate::syntax::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use std::collections::HashSet;

/// Gives symbols their numbers: the domain of a position lists them in order of first appearance.
pub(super) fn number_symbols(equations: &mut [Equation], faults: &mut Vec<Diagnostic>) {
    fn any(e: &Equation) -> bool {
        let symbol = |r: &Ref| r.places.iter().any(|p| matches!(p.index, Index::Symbol(..)));
        symbol(&e.target) || e.any_read(&mut |r| symbol(r))
    }
    if !equations.iter().any(any) {
        return;
    }
    let domains = crate::elaborate::Domains::new(equations);
    domains.check(faults);
    let number = |r: &mut Ref| {
        for (at, place) in r.places.iter_mut().enumerate() {
            if let Index::Symbol(symbol, code) = &mut place.index {
                let own = domains.domain(&r.name, at).and_then(|d| d.find(symbol));
                *code = own.map_or(0, i64::from);
            }
        }
    };
    fn inside(e: &mut Expr, number: &impl Fn(&mut Ref)) {
        if let Kind::Ref(r) = &mut e.kind {
            number(r);
        }
        e.change_parts(&mut |part| inside(part, number));
    }
    for e in equations {
        number(&mut e.target);
        e.target.change_computed(&mut |p| inside(p, &number));
        inside(&mut e.value, &number);
        e.guard.iter_mut().for_each(|g| inside(g, &number));
    }
}

/// Reports symbols in the body of a function, whose arguments have no domains.
pub(super) fn refuse_symbols(body: &[Equation], faults: &mut Vec<Diagnostic>) {
    let symbol = |p: &&Place| matches!(p.index, Index::Symbol(..));
    let mut refs = body.iter().flat_map(|e| e.reads().into_iter().chain([&e.target]));
    if let Some(place) = refs.find_map(|r| r.places.iter().find(symbol)) {
        let what = "a symbol cannot be used inside of a function";
        faults.push(Diagnostic::error(place.span, what).help("pass a tensor that is indexed by it"));
    }
}

/// Makes the settings of a call of `table` words. Reports a call without a path, or with other settings than `header`.
pub(super) fn check_table(call: &mut Call, span: Span) -> Option<Diagnostic> {
    let path = matches!(&call.args[..], [Expr { kind: Kind::Text(_), .. }]);
    for (_, value) in &mut call.named {
        if let Kind::Ref(r) = &value.kind {
            value.kind = Kind::Text(r.name.clone());
        }
    }
    let word = |e: &Expr| matches!(&e.kind, Kind::Text(t) if matches!(&**t, "true" | "false"));
    let header = call.named.iter().all(|(k, v)| &**k == "header" && word(v));
    let what = "`table` takes the path of a file, and whether its first line is a header";
    let fault = Diagnostic::error(span, what).help("write table(\"facts.tsv\", header=true)");
    (!path || !header).then_some(fault)
}

/// Reports an index that is compared with a symbol: the symbol can be an argument.
pub(super) fn compared_symbol(e: &Equation) -> Option<Diagnostic> {
    fn found(e: &Expr) -> Option<(&Expr, &Name)> {
        let index = |e: &Expr| match &e.kind {
            Kind::Ref(r) if r.places.is_empty() => Some(r.name.clone()),
            _ => None,
        };
        match &e.kind {
            Kind::Compare(_, two) => match (&two[0].kind, &two[1].kind) {
                (_, Kind::Text(text)) if index(&two[0]).is_some() => Some((&two[0], text)),
                (Kind::Text(text), _) if index(&two[1]).is_some() => Some((&two[1], text)),
                _ => None,
            },
            _ => e.parts().into_iter().find_map(found),
        }
    }
    let (index, symbol) = [&e.value].into_iter().chain(&e.guard).find_map(found)?;
    let is_index = |p: &Place| matches!(&p.index, Index::Named(n, 0) if n.to_string() == index.to_string());
    let atom = e.reads().into_iter().find(|r| r.relation && r.places.iter().any(is_index));
    let what = format!("`{index}` cannot be compared with the symbol \"{symbol}\"");
    let mut atom = atom.cloned().unwrap_or_else(|| e.target.clone());
    for place in atom.places.iter_mut().filter(|p| is_index(p)) {
        place.index = Index::Symbol(symbol.clone(), 0);
    }
    Some(Diagnostic::error(index.span, what).help(format!("write the symbol as an argument: {atom}")))
}

/// In comparisons of a rule, an index is its value: `x != y` is `index(x) != index(y)`. `free` returns whether a name means
/// nothing else.
pub(super) fn compare_indices(e: &mut Equation, free: impl Fn(&Name) -> bool) {
    fn inside(e: &mut Expr, compared: bool, own: &dyn Fn(&Name) -> bool) {
        if let Kind::Ref(r) = &e.kind
            && compared
            && r.places.is_empty()
            && own(&r.name)
        {
            e.kind = Kind::Of("index".into(), r.name.clone());
            return;
        }
        let compared = match e.kind {
            Kind::Compare(..) => true,
            Kind::Sum(_) | Kind::Product(_) | Kind::Negative(_) => compared,
            _ => false,
        };
        e.change_parts(&mut |part| inside(part, compared, own));
    }
    let relation = |e: &Expr| e.any_ref(&mut |r| r.relation);
    if !e.target.relation && !e.guard.as_ref().is_some_and(relation) {
        return;
    }
    let mut indices: HashSet<Name> =
        e.target.places.iter().filter_map(crate::elaborate::scope::key).collect();
    e.any_read(&mut |r| {
        indices.extend(r.places.iter().filter_map(crate::elaborate::scope::key));
        false
    });
    let own = |n: &Name| indices.contains(n) && free(n);
    if e.target.relation {
        inside(&mut e.value, false, &own);
    }
    e.guard.iter_mut().for_each(|g| inside(g, false, &own));
}
