//! Turns a cotangent that has arrived at a tensor into the line that adds it to the tensor's gradient.

use super::{Back, is_cut, plain, reference, text, times};
use crate::differentiate::line;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place, Ref};
use crate::elaborate::scope::{Names, fresh, in_order, key, keys};
use crate::syntax::ast::{self, Inside, Name, Projection};
use crate::syntax::source::Span;
use std::collections::HashMap;

impl Back<'_, '_> {
    /// Emits the line that adds a cotangent to the gradient of a tensor.
    pub(super) fn contribute(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        if !self.flows(r) {
            return Some(());
        }
        if r.places.iter().any(is_cut) {
            return self.contribute_part(r, ct);
        }
        let places = plain(&r.places);
        let free = ct.laid(self.program);
        let sized: Vec<Name> = ct.refs().into_iter().flat_map(keys).collect();
        let mut ct = ct;
        if keys(r).iter().any(|k| !free.contains(k) || !sized.contains(k)) {
            let own = reference(r.name.clone(), places.clone());
            ct = times(ct, [self.made("ones_like".into(), vec![own], Vec::new(), None)?]);
        }
        let name = self.walk.name(&r.name);
        self.emit(Ref { name, places, relation: false, span: Span::default() }, ct)
    }

    /// Emits the line that adds a cotangent of a part to the gradient of the entire tensor.
    fn contribute_part(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        let ct = self.closed(ct, &keys(r)).0;
        let mut taken: Names = ct.index_names().into_iter().chain(keys(r)).collect();
        let own = self.program.definition(&r.name).map(|d| d.places.clone()).unwrap_or_default();
        let (mut places, mut at): (Vec<Place>, Vec<String>) = Default::default();
        for (i, place) in r.places.iter().enumerate() {
            if is_cut(place) {
                let name = match own.get(i).map(|p| &p.index) {
                    Some(ast::Index::Named(n, _)) => n.clone(),
                    _ => self.walk.unnamed(),
                };
                let name = fresh(&name, &taken, self.program);
                taken.insert(name.clone());
                places.push(Place::named(&name));
                let constant = place.index.constant().map(|at| at.to_string());
                at.push(constant.unwrap_or_else(|| place.index.to_string()));
                continue;
            }
            // A repeated index is one axis, at its first appearance; ranges have got other names.
            if !places.iter().any(|p| key(p) == key(place)) {
                at.push(":".into());
            }
            places.push(Place { dotted: false, ..place.clone() });
        }
        let whole = reference(r.name.clone(), places.clone());
        let settings = vec![("at".into(), text(&at.join(", "))), ("wrt".into(), text("x"))];
        let ct = self.made("slice_grad".into(), vec![whole, ct], settings, None)?;
        let name = self.walk.name(&r.name);
        self.emit(Ref { name, places, relation: false, span: Span::default() }, ct)
    }

    fn emit(&mut self, target: Ref, value: Expr) -> Option<()> {
        let mut value = self.with_few_primes(&target, value);
        if !self.has_sizes(&value) {
            return None;
        }
        alone(&mut value);
        let open = value.laid(self.program).iter().any(|n| !keys(&target).contains(n));
        if let Kind::Call(call) = &mut value.kind {
            call.whole = !open;
        }
        let (projection, number, span) = (Projection::Sum, self.equation.number, self.equation.span);
        let (guard, by_step, is_file) = (None, false, false);
        let equation = Equation { target, guard, projection, value, by_step, is_file, number, span };
        let printed = equation.printed(self.program)?;
        self.lines.push(line(printed.target, printed.value, span));
        Some(())
    }

    /// True if something in a value gives a size to the indices of functions of an index.
    fn has_sizes(&self, value: &Expr) -> bool {
        let given = |n: &Name| {
            let has = |r: &Ref| r.places.iter().any(|p| matches!(&p.index, Index::Named(own, _) if own == n));
            self.program.axes.contains_key(n) || value.any_ref(&mut |r| has(r))
        };
        !value.any(&|e| matches!(&e.kind, Kind::Of(_, _, index) if !given(index)))
    }

    /// Renames the new inner indices so that they have no more primes than this line needs.
    fn with_few_primes(&self, target: &Ref, value: Expr) -> Expr {
        let introduced = &self.walk.introduced;
        let all: Names = value.index_names().into_iter().collect();
        let left = keys(target);
        let stem = |n: &str| Name::from(n.trim_end_matches('\''));
        let declared = |n: &Name| self.program.axes.keys().any(|a| a.ends_with('\'') && stem(a) == stem(n));
        let inner = |n: &Name| introduced.contains(n) && !left.contains(n) && !declared(n);
        if !all.iter().any(inner) {
            return value;
        }
        let mut taken: Names = all.iter().filter(|n| !inner(n)).cloned().collect();
        taken.extend(left.iter().cloned());
        let mut names = HashMap::new();
        for name in in_order(&value.surface(), &all).into_iter().filter(inner) {
            let new = fresh(&stem(&name), &taken, self.program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        value.renamed(&names)
    }
}

/// Marks calls as parts of a right side, which copies of entire right sides become.
fn alone(e: &mut Expr) {
    e.change_parts(&mut alone);
    if let Kind::Call(call) = &mut e.kind {
        call.whole = false;
    }
}
