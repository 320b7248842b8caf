//! Turns a cotangent that has arrived at a tensor into the line that adds it to the tensor's gradient.

use super::along::sized_key;
use super::back::{Walk, call, plain, reference, text, times};
use super::shift::{at_hand, shiftable, shifted, unmoved};
use crate::elaborate::scope::{Names, free, fresh, key, keys, occurrences};
use crate::elaborate::time::sees_time;
use crate::syntax::ast::{Affine, Comparison, Expr, Index, Kind, Name, Place, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::source::Span;

impl Walk<'_> {
    /// Emits the line that adds a cotangent to the gradient of a tensor.
    pub(super) fn contribute(&mut self, r: &Ref, ct: Expr) {
        if !self.flows(r) {
            return;
        }
        let cut =
            r.places.iter().any(|p| matches!(p.index, Index::At(_) | Index::Symbol(..) | Index::Slice(..)));
        let (mut places, mut ct) = (plain(&r.places), ct);
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
        let cut_apart = || cut && r.places.iter().all(writable) && r.places.iter().enumerate().any(moved);
        let arithmetic = r.places.iter().any(|p| p.index.is_arithmetic()) || cut_apart();
        // True if an index at an offset may have another size than the tensor's axis.
        let mut apart = false;
        if arithmetic {
            // The gradient of a read at positions is the write to them.
            places.iter_mut().for_each(|p| self.written_range(p));
            self.all_elements(r);
        } else if cut {
            ct = self.summed_outside(ct, &keys(r).into_iter().collect());
            (places, ct) = self.uncut(r, ct);
        } else {
            let mut sized_elsewhere = false;
            // Sizes must come from tensors: `even(i)` has none, and index arithmetic does not determine one.
            let sized: Vec<Name> =
                ct.refs().into_iter().flat_map(|r| r.places.iter().filter_map(sized_key)).collect();
            for (axis, place) in places.iter_mut().enumerate() {
                let Index::Named(name, by) = &place.index else { continue };
                if *by != 0 && self.program.axes.contains_key(name) {
                    apart = true;
                    continue;
                }
                // Other tensors may give the index another size than this one.
                let elsewhere = *by != 0 && self.is_sized_elsewhere(r, axis, name);
                let once = r.places.iter().filter(|p| key(p).as_ref() == Some(name)).count() == 1;
                // After the shift, a size can come only from tensors that read the index without an offset.
                let ends = |r: &Ref| r.places.iter().any(|p| p.index == Index::Named(name.clone(), 0));
                if *by != 0 && once && shiftable(&ct, name) && ct.refs().into_iter().any(ends) {
                    ct = shifted(&ct, name, -by);
                    place.index = Index::Named(name.clone(), 0);
                    sized_elsewhere |= elsewhere;
                } else {
                    apart |= elsewhere;
                }
            }
            let target: Vec<Name> = places.iter().filter_map(key).collect();
            let left = free(&ct, &target.iter().cloned().collect(), self.program);
            let unsized_ = |k: &Name| !left.contains(k) || !sized.contains(k);
            if !apart && (sized_elsewhere || target.iter().any(unsized_)) {
                let whole = places.iter().map(unmoved).collect();
                ct =
                    times(ct, [call("ones_like".into(), vec![reference(r.name.clone(), whole)], Vec::new())]);
            }
        }
        if apart {
            self.all_elements(r);
        }
        let by = moving(&r.places).map_or(0, |t| t.1);
        if by < 0 || r.places.iter().any(|p| matches!(p.index, Index::Moment(_))) {
            self.all_moments(r);
        }
        if self.fixed_step(r, &places, &ct) {
            return;
        }
        let name = self.name(&r.name);
        if by > self.last_moment(&r.name) {
            // Steps after the tensor's last are read as 0 and have no gradient. Contributions to them are dropped by a
            // helper name that has only the existing steps.
            let ahead = Name::from(format!("{name}_ahead"));
            let now: Vec<Place> = self.all_places(&r.name, &places).iter().map(at_hand).collect();
            self.emit(Ref { name: ahead.clone(), places, relation: false, span: Span::default() }, ct);
            // All reads ahead are added to the helper name, which is read back once.
            if !self.ahead.insert(ahead.clone()) {
                return;
            }
            ct = reference(ahead, now.clone());
            places = now;
        }
        // A function without time among its parameters is called at every step, so its contributions are summed over
        // the steps.
        let time = self.equation.as_ref().and_then(|e| moving(&e.target.places)).map(|t| t.0.clone());
        if let Some(time) = time.filter(|t| moving(&places).is_none() && sees_time(&ct, t, self.program)) {
            let steps = Name::from(format!("{name}_steps"));
            let now = Place { index: Index::Time(time, 0), dotted: false, span: Span::default() };
            let at: Vec<Place> = places.iter().cloned().chain([now.clone()]).collect();
            self.emit(Ref { name: steps.clone(), places: at, relation: false, span: Span::default() }, ct);
            if !self.ahead.insert(steps.clone()) {
                return;
            }
            places = self.all_places(&r.name, &places);
            ct = reference(steps, places.iter().cloned().chain([now]).collect());
        }
        self.emit(Ref { name, places, relation: false, span: Span::default() }, ct);
    }

    /// The free indices of an expression. Positional functions do not see the time of the current step.
    pub(super) fn free_here(&self, e: &Expr, keep: &Names) -> Names {
        let Some(time) = &self.step else { return free(e, keep, self.program) };
        let is_time = |p: &Place| matches!(&p.index, Index::Time(n, _) if n == time);
        let without = |r: &Ref| {
            let places = r.places.iter().filter(|p| !is_time(p)).cloned().collect();
            r.places.iter().any(is_time).then(|| Ref { places, ..r.clone() })
        };
        let moves = e.any_ref(&mut |r| r.places.iter().any(is_time));
        let mut out = free(&e.with_refs(&without), keep, self.program);
        out.extend(moves.then(|| time.clone()));
        out
    }

    /// Contributes to a fixed step that the steps themselves compute and read. Contributions of later steps are
    /// accumulated backwards and added at that step. Returns false for other reads.
    fn fixed_step(&mut self, r: &Ref, places: &[Place], ct: &Expr) -> bool {
        let moment = |p: &Place| if let Index::Moment(m) = p.index { Some(m) } else { None };
        let Some((axis, m)) = places.iter().enumerate().find_map(|(i, p)| Some((i, moment(p)?))) else {
            return false;
        };
        let (Some(time), Some(e)) = (self.step.clone(), self.equation.clone()) else { return false };
        let given = self.moments(&r.name).any(|t| t.places.iter().any(|p| moment(p) == Some(m)));
        let loops = || self.program.needed(std::slice::from_ref(&r.name)).contains(&e.target.name);
        if m < 0 || given || !loops() {
            return false;
        }
        let at = |places: &[Place], by: i64| {
            let mut out = places.to_vec();
            out[axis].index = Index::Time(time.clone(), by);
            out
        };
        let target = |name: &Name, places: Vec<Place>| Ref {
            name: name.clone(),
            places,
            relation: false,
            span: Span::default(),
        };
        let name = self.name(&r.name);
        let later = Name::from(format!("{name}_later_{m}"));
        self.emit(target(&later, at(places, 0)), ct.clone());
        if self.ahead.insert(later.clone()) {
            let all = self.all_places(&r.name, places);
            let equation = self.equation.take();
            self.emit(target(&later, at(&all, 0)), reference(later.clone(), at(&all, 1)));
            let index = Kind::Of("index".into(), time.clone()).bare();
            let now = Kind::Compare(Comparison::Eq, Box::new([index, Kind::Number(m as f64).bare()])).bare();
            let arrived = [now, reference(later, at(&all, 0)), Kind::Number(0.0).bare()];
            self.emit(target(&name, at(&all, 0)), Kind::Choose(Box::new(arrived)).bare());
            self.equation = equation;
        }
        true
    }

    /// True if something other than this axis of `r` determines the size of an index that `r` is read at with an
    /// offset.
    pub(super) fn is_sized_elsewhere(&self, r: &Ref, axis: usize, name: &Name) -> bool {
        let Some(e) = &self.equation else { return false };
        let plain = Index::Named(name.clone(), 0);
        let has = |o: &Ref| {
            o.places
                .iter()
                .enumerate()
                .any(|(p, place)| place.index == plain && (o.name != r.name || p != axis))
        };
        let several = self.program.definition(&e.target.name).is_some_and(|d| d.equations.len() > 1);
        let left = several && e.target.name != r.name && has(&e.target);
        left || e.any_read(&mut |o| has(o))
    }

    /// Rewrites a range as index arithmetic, which is allowed on the left side.
    fn written_range(&mut self, place: &mut Place) {
        let Index::Slice(_, range) = &place.index else { return };
        let (from, by) = (range[0].unwrap_or(0), range[2].unwrap_or(1));
        let number = |x: i64| Kind::Number(x as f64).at(place.span);
        match key(place).filter(|_| from >= 0 && by > 0) {
            Some(name) if !name.contains(':') => {
                place.index =
                    Index::Affine(Box::new(Affine { terms: vec![(number(by), name)], offset: number(from) }));
            }
            _ => {
                let what = "the gradient of index arithmetic needs a name for each range, and ranges that count from the start";
                let help = "name the range and count from the front: s=1:3";
                self.refused.push(Diagnostic::error(place.span, what).help(help));
            }
        }
    }

    /// Adds zeros of the tensor's shape to its gradient, so that it has all elements even if it is only written at
    /// positions.
    pub(super) fn all_elements(&mut self, r: &Ref) {
        if !self.laid_out.insert(r.name.clone()) {
            return;
        }
        let reads = self.program.equations.iter().flat_map(|e| e.reads()).filter(|o| o.name == r.name);
        let moves = self.moments(&r.name).chain(reads).find(|o| moving(&o.places).is_some());
        let own = match moves {
            Some(own) if self.program.is_input(&r.name) => own.places.iter().map(at_hand).collect(),
            Some(own) => own.places.clone(),
            None => r.places.clone(),
        };
        let places = self.all_places(&r.name, &plain(&own));
        let zeros = call("zeros_like".into(), vec![reference(r.name.clone(), places.clone())], Vec::new());
        let target = Ref { name: self.name(&r.name), places, relation: false, span: Span::default() };
        let equation = self.equation.take();
        self.emit(target, zeros);
        self.equation = equation;
    }

    /// Indices for all elements of a tensor: `places`, or new ones if these select only some.
    pub(super) fn all_places(&self, name: &Name, places: &[Place]) -> Vec<Place> {
        let named = |p: &Place| match &p.index {
            Index::Named(n, 0) => Some(n.clone()),
            _ => None,
        };
        let timed = |p: &Place| matches!(p.index, Index::Time(..) | Index::Moment(_));
        let plain: Vec<Option<Name>> = places.iter().filter(|p| !timed(p)).map(named).collect();
        let distinct = (1..plain.len()).all(|i| !plain[..i].contains(&plain[i]));
        if distinct && plain.iter().all(Option::is_some) {
            return places.to_vec();
        }
        let own = self.program.definition(name).map(|d| &d.places[..]).unwrap_or_default();
        let mut taken: Names = places.iter().filter(|p| timed(p)).filter_map(key).collect();
        let mut one = |(i, p): (usize, &Place)| {
            if timed(p) {
                return p.clone();
            }
            let new =
                fresh(&own.get(i).and_then(named).unwrap_or_else(|| self.unnamed()), &taken, self.program);
            taken.insert(new.clone());
            Place::named(&new)
        };
        places.iter().enumerate().map(&mut one).collect()
    }

    /// A name for an axis that the program has no name for; not one that it declares.
    pub(super) fn unnamed(&self) -> Name {
        fresh("i", &self.program.axes.keys().cloned().collect(), self.program)
    }

    /// The left sides of a tensor's equations, if it depends on time.
    pub(super) fn moments(&self, name: &Name) -> impl Iterator<Item = &Ref> {
        let d = self.program.definition(name).filter(|d| d.time.is_some());
        d.into_iter().flat_map(|d| &d.equations).map(|i| &self.program.equations[*i].target)
    }

    /// The number of time steps that a tensor has after the last step of the loop.
    pub(super) fn last_moment(&self, name: &Name) -> i64 {
        self.moments(name).filter_map(|t| moving(&t.places)).map(|t| t.1).max().unwrap_or(0)
    }

    /// The cotangent of an entire tensor, from that of a slice of it.
    fn uncut(&self, r: &Ref, ct: Expr) -> (Vec<Place>, Expr) {
        let mut taken = occurrences(&ct);
        taken.extend(keys(r));
        let own = self.program.definition(&r.name).map(|d| d.places.clone()).unwrap_or_default();
        let (mut places, mut at) = (Vec::new(), Vec::new());
        for (i, place) in r.places.iter().enumerate() {
            match &place.index {
                Index::At(_) | Index::Symbol(..) | Index::Slice(..) => {
                    let name = match own.get(i).map(|p| &p.index) {
                        Some(Index::Named(n, _)) => n.clone(),
                        _ => self.unnamed(),
                    };
                    let name = fresh(&name, &taken, self.program);
                    taken.insert(name.clone());
                    places.push(Place::named(&name));
                    let constant = place.index.constant().map(|at| at.to_string());
                    at.push(constant.unwrap_or_else(|| place.index.to_string()));
                }
                // The time step is selected before the remaining axes are sliced.
                Index::Moment(_) => places.push(Place { dotted: false, ..place.clone() }),
                Index::Time(..) => {
                    places.push(Place { dotted: false, ..place.clone() });
                    at.push("*".into());
                }
                _ => {
                    // A repeated index is one axis, at its first appearance; ranges have got other names.
                    if !places.iter().any(|p| key(p) == key(place)) {
                        at.push(":".into());
                    }
                    places.push(Place { dotted: false, ..place.clone() });
                }
            }
        }
        let whole = reference(r.name.clone(), places.clone());
        let named = vec![("at".into(), text(&at.join(", "))), ("wrt".into(), text("x"))];
        (places, call("slice_grad".into(), vec![whole, ct], named))
    }

    /// Adds zeros to a gradient that is contributed to at some time steps only, so that it has all of the tensor's
    /// steps.
    pub(super) fn all_moments(&mut self, r: &Ref) {
        if !self.laid_out.insert(r.name.clone()) {
            return;
        }
        let reads = self.program.equations.iter().flat_map(|e| e.reads()).filter(|o| o.name == r.name);
        let places = match self.moments(&r.name).chain(reads).find(|o| moving(&o.places).is_some()) {
            Some(own) if self.program.is_input(&r.name) => plain(&own.places).iter().map(at_hand).collect(),
            Some(own) => plain(&own.places),
            None => return,
        };
        let zeros = call("zeros_like".into(), vec![reference(r.name.clone(), places.clone())], Vec::new());
        let target = Ref { name: self.name(&r.name), places, relation: false, span: Span::default() };
        self.emit(target, zeros);
    }
}
