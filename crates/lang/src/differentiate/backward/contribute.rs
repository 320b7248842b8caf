//! Turns a cotangent that has arrived at a tensor into the line that adds it to the tensor's gradient.

use super::{Back, Walk, is_cut, plain, reference, text, times};
use crate::differentiate::along::{size, sized_key};
use crate::differentiate::locate;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, in_order, key, keys, place_keys};
use crate::syntax::ast::{self, Inside, Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{is_timed, moving};
use crate::syntax::source::Span;
use std::collections::HashMap;

impl Back<'_, '_> {
    /// Emits the line that adds a cotangent to the gradient of a tensor.
    pub(super) fn contribute(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        if !self.flows(r) {
            return Some(());
        }
        let cut = r.places.iter().any(is_cut);
        if r.places.iter().any(|p| p.index.is_arithmetic()) || cut && self.is_cut_apart(r) {
            // The gradient of a read at positions is the write to them.
            let places: Option<Vec<Place>> =
                plain(&r.places).into_iter().map(|p| self.written_range(p)).collect();
            let places = places?;
            self.all_elements(r)?;
            return self.add(r, places, ct);
        }
        if cut {
            return self.contribute_part(r, ct);
        }
        let (mut places, mut ct) = (plain(&r.places), ct);
        // `apart`: an index at an offset may have another size than the tensor's axis.
        let (mut apart, mut sized_elsewhere) = (false, false);
        let mut other_sizes: Vec<Name> = Vec::new();
        // Sizes must come from tensors: `even(i)` has none, and index arithmetic does not determine one.
        let sized: Vec<Name> =
            ct.refs().into_iter().flat_map(|r| r.places.iter().filter_map(sized_key)).collect();
        for (axis, place) in places.iter_mut().enumerate() {
            let Index::Named(name, by @ (1.. | ..=-1)) = &place.index else { continue };
            // A primed index has the declared size of its name without primes.
            if [name, name.trim_end_matches('\'')].iter().any(|n| self.program.axes.contains_key(*n)) {
                apart = true;
                continue;
            }
            // Other tensors may give the index another size than this one.
            let elsewhere = self.is_sized_elsewhere(r, axis, name);
            let once = r.places.iter().filter(|p| key(p).as_ref() == Some(name)).count() == 1;
            // After the shift, a size can come only from tensors that read the index without an offset.
            let ends = |r: &Ref| r.places.iter().any(|p| p.index == Index::Named(name.clone(), 0));
            // Other axes that are read at the same offset would be read without one, and need the same size then.
            let refs = ct.refs();
            let other_axes = refs.iter().any(|o| has_other_axis(o, &place.index, r, axis));
            let shifts = refs.iter().any(|o| ends(o)) && !other_axes;
            if once && shiftable(&ct, name) && shifts {
                shift(&mut ct, name, -by);
                place.index = Index::Named(name.clone(), 0);
                sized_elsewhere |= elsewhere;
            } else {
                apart |= elsewhere;
                other_sizes.extend(elsewhere.then(|| name.clone()));
            }
        }
        let free = ct.axis_order(self.program);
        let is_unsized = |k: &Name| !free.contains(k) || !sized.contains(k);
        let missing = sized_elsewhere || places.iter().filter_map(key).any(|k| is_unsized(&k));
        // A diagonal at an offset, `C[i, i+1]`, cannot be read without it: its axes may have other sizes.
        let diagonal = keys(r).len() < places.iter().filter(|p| key(p).is_some()).count();
        if missing && diagonal {
            other_sizes.extend(keys(r));
        }
        for name in distinct(other_sizes).iter().filter(|n| is_unsized(n)) {
            let ones = self.ones(&self.equation.value, name);
            ct = times(ct, ones);
        }
        if missing && !apart && !diagonal {
            let whole = reference(r.name.clone(), places.iter().map(unmoved).collect());
            ct = times(ct, [self.made("ones_like".into(), vec![whole], Vec::new(), None)?]);
        }
        if apart {
            self.all_elements(r)?;
        }
        self.add(r, places, ct)
    }

    /// Adds zeros of the tensor's shape to its gradient, so that it has all time steps and elements even if it is only
    /// written at some.
    pub(super) fn all_elements(&mut self, r: &Ref) -> Option<()> {
        if !self.walk.laid_out.insert(r.name.clone()) {
            return Some(());
        }
        let reads = self.walk.equations.iter().flat_map(|e| e.reads()).filter(|o| o.name == r.name);
        let offset = |o: &&Ref| moving(&o.places).map(|t| t.1);
        // The line that writes furthest ahead writes the last step, which `*-1` reads.
        let last = self.walk.lefts(&r.name).filter_map(|o| Some((offset(&o)?, o)));
        let last = last.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, o)| o);
        let moves = last.or_else(|| reads.into_iter().find(|o| offset(o).is_some()));
        let own: Vec<Place> = match moves {
            Some(own) if self.program.is_input(&r.name) => own.places.iter().map(at_same_step).collect(),
            Some(own) => own.places.clone(),
            None => r.places.clone(),
        };
        let places = self.walk.all_places(&r.name, &plain(&own));
        let whole = reference(r.name.clone(), places.clone());
        let zeros = self.made("zeros_like".into(), vec![whole], Vec::new(), None)?;
        let name = self.walk.name(&r.name);
        self.print(Ref { name, places, relation: false, span: Span::default() }, zeros)
    }

    /// Returns true if something other than this axis of `r` determines the size of an index that `r` is read at with
    /// an offset.
    fn is_sized_elsewhere(&self, r: &Ref, axis: usize, name: &Name) -> bool {
        let e = self.equation;
        let plain = Index::Named(name.clone(), 0);
        let has = |o: &Ref| has_other_axis(o, &plain, r, axis);
        let several = self.program.definition(&e.target.name).is_some_and(|d| d.equations.len() > 1);
        let left = several && e.target.name != r.name && has(&e.target);
        left || e.any_read(&mut |o| has(o))
    }

    /// Returns true if a part of a tensor is read at an offset whose index may have another size, and the part can be
    /// written to.
    fn is_cut_apart(&self, r: &Ref) -> bool {
        let moved = |(axis, p): (usize, &Place)| match &p.index {
            Index::Named(n, 1.. | ..=-1) => {
                self.program.axes.contains_key(n) || self.is_sized_elsewhere(r, axis, n)
            }
            _ => false,
        };
        // Ranges that count from the end or backwards cannot be written to.
        let writable = |p: &Place| match &p.index {
            Index::Slice(name, range) => {
                name.is_some() && range[0].unwrap_or(0) >= 0 && range[2].unwrap_or(1) > 0
            }
            _ => true,
        };
        r.places.iter().all(writable) && r.places.iter().enumerate().any(moved)
    }

    /// Emits the line that adds a cotangent of a part to the gradient of the entire tensor.
    fn contribute_part(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        // A line with time contributes at every step, and `add` sums over the steps.
        let time = moving(&self.equation.target.places).map(|t| t.0.clone());
        let own: Vec<Name> = keys(r).into_iter().chain(time).collect();
        let ct = self.closed(ct, &own).0;
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
            // A fixed step is selected before the remaining axes are sliced.
            if let Index::Step(_) | Index::Time(..) = place.index {
                let is_time = matches!(place.index, Index::Time(..));
                places.push(Place { dotted: false, ..place.clone() });
                at.extend(is_time.then(|| "*".into()));
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
        self.add(r, places, ct)
    }

    /// Emits a line, with the sizes that indices have in the equation.
    pub(super) fn emit(&mut self, target: Ref, value: Expr) -> Option<()> {
        let value = self.sized(&target, value);
        self.print(target, value)
    }

    /// Returns a value with the sizes that indices have in the equation.
    pub(super) fn sized(&mut self, target: &Ref, value: Expr) -> Expr {
        let value = self.with_sizes(target, value);
        let mut value = self.with_few_primes(target, value);
        size(&mut value, self.equation, self.program);
        value
    }

    /// Emits a line as it is.
    pub(super) fn print(&mut self, target: Ref, value: Expr) -> Option<()> {
        let line = self.printed(target, value, Projection::Sum, None)?;
        self.walk.lines.push(line);
        Some(())
    }

    pub(super) fn printed(
        &self,
        target: Ref,
        mut value: Expr,
        projection: Projection,
        guard: Option<Expr>,
    ) -> Option<ast::Equation> {
        alone(&mut value);
        let open = value.axis_order(self.program).iter().any(|n| !keys(&target).contains(n));
        if let Kind::Call(call) = &mut value.kind {
            call.whole = !open;
        }
        let (number, span) = (self.equation.number, self.equation.span);
        let (by_step, is_file) = (false, false);
        let equation = Equation { target, guard, projection, value, by_step, is_file, number, span };
        let mut out = equation.printed(self.program)?;
        locate(&mut out, span);
        Some(out)
    }

    /// Renames the new inner indices so that they have no more primes than this line needs.
    fn with_few_primes(&self, target: &Ref, value: Expr) -> Expr {
        let introduced = &self.introduced;
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

    /// Returns a range as index arithmetic, which is allowed on the left side. Refuses ranges without a name,
    /// and those that do not count from the start.
    fn written_range(&mut self, mut place: Place) -> Option<Place> {
        if let Index::Slice(_, range) = &place.index {
            let (from, by) = (range[0].unwrap_or(0), range[2].unwrap_or(1));
            let number = |x: i64| ast::Kind::Number(x as f64).at(place.span);
            let Some(name) = key(&place).filter(|name| from >= 0 && by > 0 && !name.contains(':')) else {
                let what = "the gradient of index arithmetic needs a name for each range, and ranges that count from the start";
                let help = "name the range and count from the front: s=1:3";
                self.walk.refused.push(Diagnostic::error(place.span, what).help(help));
                return None;
            };
            let sum = ast::Affine { terms: vec![(number(by), name)], offset: number(from) };
            place.index = Index::Affine(Box::new(sum));
        }
        Some(place)
    }
}

impl Walk<'_> {
    /// Returns indices for all elements of a tensor: `places`, or new ones if these select only some.
    pub(super) fn all_places(&self, name: &Name, places: &[Place]) -> Vec<Place> {
        let plain: Vec<Option<Name>> = places.iter().filter(|p| !is_timed(p)).map(plain_name).collect();
        let distinct = (1..plain.len()).all(|i| !plain[..i].contains(&plain[i]));
        if distinct && plain.iter().all(Option::is_some) {
            return places.to_vec();
        }
        let own = self.program.definition(name).map(|d| &d.places[..]).unwrap_or_default();
        let mut taken: Names = places.iter().filter(|p| is_timed(p)).filter_map(key).collect();
        let mut one = |(i, p): (usize, &Place)| {
            if is_timed(p) {
                return p.clone();
            }
            let name = own.get(i).and_then(plain_name).unwrap_or_else(|| self.unnamed());
            let new = fresh(&name, &taken, self.program);
            taken.insert(new.clone());
            Place::named(&new)
        };
        places.iter().enumerate().map(&mut one).collect()
    }

    /// Returns a name for an axis that the program has no name for; not one that it declares.
    fn unnamed(&self) -> Name {
        fresh("i", &self.program.axes.keys().cloned().collect(), self.program)
    }

    /// Returns the left sides of a tensor's equations, if it depends on time.
    pub(super) fn lefts(&self, name: &Name) -> impl Iterator<Item = &Ref> {
        let d = self.program.definition(name).filter(|d| d.time.is_some());
        d.into_iter().flat_map(|d| &d.equations).map(|i| &self.equations[*i].target)
    }
}

/// Returns true if a read has this index on another axis than `axis` of `r`.
fn has_other_axis(read: &Ref, index: &Index, r: &Ref, axis: usize) -> bool {
    read.places.iter().enumerate().any(|(k, p)| p.index == *index && (read.name != r.name || k != axis))
}

/// Returns the index name of an entry without offset.
fn plain_name<E>(p: &ast::Place<E>) -> Option<Name> {
    match &p.index {
        ast::Index::Named(n, 0) => Some(n.clone()),
        _ => None,
    }
}

/// Returns the entry without its offset in time.
fn at_same_step(p: &Place) -> Place {
    match &p.index {
        Index::Time(name, _) => Place { index: Index::Time(name.clone(), 0), ..p.clone() },
        _ => p.clone(),
    }
}

/// Returns the index without its offset.
fn unmoved(p: &Place) -> Place {
    match &p.index {
        Index::Named(name, _) => Place { index: Index::Named(name.clone(), 0), ..p.clone() },
        _ => p.clone(),
    }
}

/// Returns true if an expression is a product of tensors and numbers in which an index can be shifted. A range cannot
/// be.
fn shiftable(e: &Expr, name: &Name) -> bool {
    match &e.kind {
        Kind::Ref(r) => {
            let range = |p: &Place| matches!(p.index, Index::Slice(..)) && key(p).as_ref() == Some(name);
            let arithmetic = |p: &Place| p.index.is_arithmetic() && place_keys(p).contains(name);
            !r.places.iter().any(|p| range(p) || arithmetic(p))
        }
        Kind::Number(_) => true,
        Kind::Product(parts) => parts.iter().all(|p| shiftable(p, name)),
        Kind::Negative(one) => shiftable(one, name),
        Kind::Reduce(Projection::Sum, axes, body, Origin::Product) => {
            !axes.contains(name) && shiftable(body, name)
        }
        _ => false,
    }
}

/// Shifts an index of a product of tensors and numbers.
fn shift(e: &mut Expr, name: &Name, by: i64) {
    e.change_parts(&mut |p| shift(p, name, by));
    if let Kind::Ref(r) = &mut e.kind {
        for place in &mut r.places {
            match &mut place.index {
                Index::Named(n, old) if n == name => *old += by,
                _ => {}
            }
        }
    }
}

/// Marks calls as parts of a right side, which copies of entire right sides become.
fn alone(e: &mut Expr) {
    e.change_parts(&mut alone);
    if let Kind::Call(call) = &mut e.kind {
        call.whole = false;
    }
}
