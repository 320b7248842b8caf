//! Gradients of lines under `max=`, `min=`, `avg=` and `prod=` that write at positions, or to parts of a name. Takes a
//! program; gives names to the values that such lines write, and cotangents to those names. Sums do not need this.

use super::back::{Walk, call, over, plain, reduced, reference, times};
use super::line;
use crate::elaborate::scope::{Names, fresh, key, keys, numbered, occurrences};
use crate::program::Program;
use crate::syntax::ast::{Comparison, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::is_timed;
use crate::syntax::source::Span;
use std::collections::HashSet;

/// True if a line has a reduction other than a sum, and writes at positions or shares its name with a line that writes
/// to a part.
pub(super) fn is_written_in_parts(program: &Program, e: &Equation) -> bool {
    if e.projection == Projection::Sum || e.target.relation {
        return false;
    }
    let arithmetic = |t: &Ref| t.places.iter().any(|p| p.index.is_arithmetic());
    if arithmetic(&e.target) {
        return true;
    }
    let partial = |t: &Ref| {
        let all = keys(t);
        let distinct = (1..all.len()).all(|i| !all[..i].contains(&all[i]));
        let part = |p: &Place| !matches!(p.index, Index::Named(_, 0) | Index::Time(..));
        let fixed = t.places.iter().any(|p| matches!(p.index, Index::Moment(_)));
        !fixed && (!distinct || t.places.iter().any(part))
    };
    let own = program.definition(&e.target.name).map(|d| &d.equations[..]).unwrap_or_default();
    let target = |i: &usize| &program.equations[*i].target;
    e.projection != Projection::Avg && own.len() > 1 && own.iter().any(|i| partial(target(i)))
}

impl Program {
    /// The program with names for the values that such lines write, and the equations of those names; `None` if there
    /// are none.
    pub(super) fn with_written_values(
        &self,
        among: impl Fn(&Name) -> bool,
    ) -> Result<Option<(Program, Vec<Equation>)>, Diagnostic> {
        let names: HashSet<&Name> = self
            .equations
            .iter()
            .filter(|e| among(&e.target.name) && is_written_in_parts(self, e))
            .map(|e| &e.target.name)
            .collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut taken: Names = self.names.iter().cloned().collect();
        let (mut equations, mut found) = (Vec::new(), Vec::new());
        for e in &self.equations {
            // A mean is over all values that arrive, so its terms are not combined before.
            let keeps = matches!(e.projection, Projection::Sum | Projection::Avg) || is_read(e);
            if !names.contains(&e.target.name) || keeps {
                equations.push(e.clone());
                continue;
            }
            let name = numbered(&e.target.name, 1).find(|n| !taken.contains(n)).unwrap_or_default();
            taken.insert(name.clone());
            let time: Vec<Place> = e.target.places.iter().filter(|p| is_timed(p)).cloned().collect();
            let timed: Vec<Name> = time.iter().filter_map(key).collect();
            let own = keys(&e.target).into_iter().filter(|k| !timed.contains(k));
            let places: Vec<Place> = own.map(|k| Place::named(&k)).chain(time.iter().cloned()).collect();
            let target = Ref { name, places: plain(&places), relation: false, span: e.target.span };
            let written = Equation { target: target.clone(), local: true, ..e.clone() };
            let read = Equation { value: Kind::Ref(target).at(e.value.span), guard: None, ..e.clone() };
            found.push(written.clone());
            equations.push(written);
            equations.push(read);
        }
        let program = Program { equations, ..self.clone() };
        program.again().map(|p| Some((p, found))).map_err(|mut faults| faults.faults.remove(0))
    }
}

/// True if a line writes one tensor, unchanged.
fn is_read(e: &Equation) -> bool {
    let Kind::Ref(r) = &e.value.kind else { return false };
    let plain = |p: &Place| matches!(p.index, Index::Named(_, 0) | Index::Time(..));
    let (own, left) = (keys(r), keys(&e.target));
    e.guard.is_none()
        && r.places.iter().all(plain)
        && own.len() == r.places.len()
        && own.iter().all(|k| left.contains(k))
        && left.iter().all(|k| own.contains(k))
}

fn number(x: f64) -> Expr {
    Kind::Number(x).bare()
}

/// Divides by a count; a count of 0 is replaced by 1.
fn by_count(value: Expr, count: Expr) -> Expr {
    over(value, call("maximum".into(), vec![count, number(1.0)], Vec::new()))
}

/// The position of an index entry, as an expression.
fn position(place: &Place) -> Option<Expr> {
    let index = |n: &Name| Kind::Of("index".into(), n.clone()).bare();
    match &place.index {
        Index::Named(n, 0) => Some(index(n)),
        Index::Named(n, by) => Some(Kind::Sum(vec![index(n), number(*by as f64)]).bare()),
        Index::At(at) if *at >= 0 => Some(number(*at as f64)),
        Index::Affine(sum) => {
            let term = |(by, n): &(Expr, Name)| Kind::Product(vec![by.clone(), index(n)]).bare();
            let terms = sum.terms.iter().map(term).chain([sum.offset.clone()]).collect();
            Some(Kind::Sum(terms).bare())
        }
        Index::Computed(e) => Some((**e).clone()),
        _ => None,
    }
}

impl Walk<'_> {
    /// The cotangent of the value that a line writes at positions or to parts of its name; `None` if the line is a
    /// sum.
    pub(super) fn written_at_positions(&mut self, e: &Equation, ct: &Expr) -> Option<Expr> {
        if !is_written_in_parts(self.program, e) {
            return None;
        }
        let places = plain(&e.target.places);
        match e.projection {
            Projection::Avg => {
                let ones = call("ones_like".into(), vec![e.value.clone()], Vec::new());
                let count = self.helper(e, &places, ones, "count", Projection::Sum);
                if let Some(last) =
                    self.lines.iter_mut().rev().find(|l| l.target.name == count && l.target.places == places)
                {
                    last.guard = e.guard.clone();
                }
                Some(by_count(ct.clone(), reference(count, places)))
            }
            Projection::Prod => {
                let several = self.program.definition(&e.target.name).is_some_and(|d| d.equations.len() > 1);
                let pulled = self.factor_of_product(e, &places).filter(|_| !several);
                if pulled.is_none() {
                    let what =
                        format!("lines of `{}` that multiply parts of it have no derivative", e.target.name);
                    let help = "give the lines names of their own, and combine those";
                    self.refused.push(Diagnostic::error(e.target.span, what).help(help));
                }
                pulled.or_else(|| Some(ct.clone()))
            }
            _ => {
                let Kind::Ref(value) = &e.value.kind else { return None };
                let read = reference(e.target.name.clone(), places.clone());
                let same = Kind::Compare(Comparison::Eq, Box::new([e.value.clone(), read])).bare();
                let hit = Kind::Choose(Box::new([same, number(1.0), number(0.0)])).bare();
                let hits = self.helper(e, &value.places, hit, "hit", Projection::Sum);
                let hit = reference(hits, value.places.clone());
                let count = self.helper(e, &places, hit.clone(), "count", Projection::Sum);
                let shared = times(ct.clone(), [hit.clone()]);
                let mut ct = by_count(shared, reference(count, places.clone()));
                if self.program.definition(&e.target.name).is_some_and(|d| d.equations.len() > 1) {
                    // A tie is shared first between the lines that reach the extreme.
                    let reached = self.helper(e, &places, hit, "reached", Projection::Max);
                    let all = self.all_places(&e.target.name, &places);
                    let lines = Name::from(format!("{}{}_lines", self.prefix, e.target.name));
                    let target = Ref {
                        name: lines.clone(),
                        places: all.clone(),
                        relation: false,
                        span: Span::default(),
                    };
                    let mut sum = line(target, reference(reached, all), self.at);
                    sum.local = true;
                    self.lines.push(sum);
                    ct = by_count(ct, reference(lines, places));
                }
                Some(ct)
            }
        }
    }

    /// The derivative of a product of values written at positions, for one of them. It is computed from the other
    /// factors instead of by division, so that factors of 0 are correct.
    fn factor_of_product(&mut self, e: &Equation, written: &[Place]) -> Option<Expr> {
        let mut taken: Names = occurrences(&e.value);
        taken.extend(keys(&e.target));
        let (mut places, mut conditions) = (Vec::new(), Vec::new());
        for place in written {
            if is_timed(place) {
                places.push(place.clone());
                continue;
            }
            let new = fresh("at", &taken, self.program);
            taken.insert(new.clone());
            let index = Kind::Of("index".into(), new.clone()).bare();
            conditions.push(Kind::Compare(Comparison::Eq, Box::new([index, position(place)?])).bare());
            places.push(Place::named(&new));
        }
        let condition = conditions.into_iter().reduce(|a, b| Kind::And(Box::new([a, b])).bare())?;
        let timed: Vec<Name> = written.iter().filter(|p| is_timed(p)).filter_map(key).collect();
        let axes: Vec<Name> = keys(&e.target).into_iter().filter(|k| !timed.contains(k)).collect();
        let all = reference(self.name(&e.target.name), places.clone());
        let ones = call("ones_like".into(), vec![all.clone()], Vec::new());
        let factor = times(e.value.clone(), [ones]);
        let body = Kind::Choose(Box::new([condition.clone(), factor, number(1.0)])).bare();
        let pulled = reduced(Projection::Prod, body, all, &axes);
        let chosen = Kind::Choose(Box::new([condition, pulled, number(0.0)])).bare();
        let gone = places.iter().filter(|p| !is_timed(p)).filter_map(key).collect();
        Some(Kind::Reduce(Projection::Sum, gone, Box::new(chosen)).bare())
    }

    /// Adds a helper line that gradient lines read, with 0 at elements that it does not write. Returns its name.
    fn helper(&mut self, e: &Equation, places: &[Place], value: Expr, word: &str, how: Projection) -> Name {
        let base = format!("{}{}_{word}", self.prefix, e.target.name);
        let free = |n: &Name| {
            self.program.definition(n).is_none() && !self.lines.iter().any(|l| l.target.name == *n)
        };
        let name = numbered(&base, 1).find(free).unwrap_or_default();
        let target =
            |places: Vec<Place>| Ref { name: name.clone(), places, relation: false, span: Span::default() };
        let mut own = line(target(places.to_vec()), value, self.at);
        (own.projection, own.local) = (how, true);
        let whole = |p: &Place| matches!(p.index, Index::Named(_, 0)) || is_timed(p);
        if !places.iter().all(whole) {
            let all = self.all_places(&e.target.name, places);
            let like = reference(e.target.name.clone(), all.clone());
            let mut zeros = line(target(all), call("zeros_like".into(), vec![like], Vec::new()), self.at);
            (zeros.projection, zeros.local) = (how, true);
            self.lines.push(zeros);
        }
        self.lines.push(own);
        name
    }
}
