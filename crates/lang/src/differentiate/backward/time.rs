//! Time: contributions to steps. Within a step, time is not an axis, and nothing is summed over it.

use super::{Back, bare, reference, times};
use crate::builtin;
use crate::elaborate::core::{Expr, Index, Kind, Place, Ref};
use crate::elaborate::scope::{distinct, numbered, place_keys};
use crate::elaborate::time::sees_time;
use crate::syntax::ast::{Comparison, Name};
use crate::syntax::indices::{is_timed, moving};
use crate::syntax::source::Span;

fn target(name: &Name, places: Vec<Place>) -> Ref {
    Ref { name: name.clone(), places, relation: false, span: Span::default() }
}

impl Back<'_, '_> {
    /// Emits the line that adds a cotangent to the gradient of a tensor at these indices.
    pub(super) fn add(&mut self, r: &Ref, places: Vec<Place>, ct: Expr) -> Option<()> {
        let by = moving(&r.places).map_or(0, |t| t.1);
        if by < 0 || r.places.iter().any(|p| matches!(p.index, Index::Step(_))) {
            self.all_elements(r)?;
        }
        if self.fixed_step(r, &places, &ct)? {
            return Some(());
        }
        let (mut to, mut ct) = (target(&self.walk.name(&r.name), places), ct);
        let (step, read) = (moving(&self.equation.target.places), moving(&to.places));
        let (step, read) = (step.map(|t| t.0.clone()), read.map(|t| t.0.clone()));
        let sees = |t: &Name| sees_time(&ct.surface(), t, self.program);
        match (step, &read) {
            // Time is not an axis in the equation, but would be one in a sum over the steps.
            (Some(t), None) if ct.has_free_index(&t) && sees(&t) => {
                ct = self.apart(&to, ct, "steps", Index::Time(t.clone(), 0), Index::Time(t, 0))?
            }
            // Time is an axis in the equation, but would not be one in a line that writes to the steps.
            (None, Some(t)) if sees(t) => {
                let axis = Index::Named(t.clone(), 0);
                ct = self.apart(&to, ct, "axis", axis.clone(), axis)?;
            }
            _ => {}
        }
        // Steps after the tensor's last are read as 0 and have no gradient. Contributions to them are dropped by a name
        // that has only the existing steps.
        let last = self.last_step(&r.name);
        if let Some(time) = read.filter(|_| by > last) {
            let [all, existing] = [by, last].map(|by| Index::Time(time.clone(), by));
            ct = self.apart(&to, ct, "ahead", all, existing.clone())?;
            to.places.iter_mut().filter(|p| is_timed(p)).for_each(|p| p.index = existing.clone());
        }
        self.emit(to, ct)
    }

    /// Gives a contribution a name of its own, with the indices of the left side `to` and a time. Returns a read of it.
    fn apart(&mut self, to: &Ref, value: Expr, word: &str, written: Index, read: Index) -> Option<Expr> {
        let value = self.sized(to, value);
        let base = format!("{}_{word}", to.name);
        let free = |n: &Name| !self.walk.helpers.contains(n) && self.program.definition(n).is_none();
        let name = [Name::from(&*base)].into_iter().chain(numbered(&base, 2)).find(free)?;
        self.walk.helpers.insert(name.clone());
        let plain = to.places.iter().filter(|p| !is_timed(p));
        let time = match &written {
            Index::Named(time, _) | Index::Time(time, _) => time,
            _ => return None,
        };
        let own = distinct(plain.flat_map(place_keys).filter(|n| n != time));
        // The value may lack indices of the left side; ones give them their sizes.
        let (free, equation, program) = (value.axis_order(self.program), self.equation, self.program);
        let missing = own.iter().filter(|n| !free.contains(n) && !program.axes.contains_key(*n));
        let ones: Vec<Expr> = missing.filter_map(|n| self.ones(&equation.value, n)).collect();
        let value = times(value, ones);
        let with = |index: &Index| {
            let time = Place { index: index.clone(), dotted: false, span: Span::default() };
            own.iter().map(Place::named).chain([time]).collect::<Vec<Place>>()
        };
        self.print(target(&name, with(&written)), value)?;
        Some(reference(name, with(&read)))
    }

    /// Returns the number of time steps that a tensor has after the last step of the loop.
    fn last_step(&self, name: &Name) -> i64 {
        self.walk.lefts(name).filter_map(|t| moving(&t.places)).map(|t| t.1).max().unwrap_or(0)
    }

    /// Contributes to a fixed step that the steps themselves compute and read. Contributions of later steps are
    /// accumulated backwards and added at that step. Returns false for other reads.
    fn fixed_step(&mut self, r: &Ref, places: &[Place], ct: &Expr) -> Option<bool> {
        let moment = |p: &Place| if let Index::Step(m) = p.index { Some(m) } else { None };
        let found = places.iter().enumerate().find_map(|(i, p)| Some((i, moment(p)?)));
        let (Some((axis, m)), Some(time)) = (found, self.step.clone()) else { return Some(false) };
        let is = |p: &Place| matches!(p.index, Index::Step(x) if x == m);
        let given = self.walk.lefts(&r.name).any(|t| t.places.iter().any(is));
        let loops =
            || self.program.needed(std::slice::from_ref(&r.name)).contains(&self.equation.target.name);
        if m < 0 || given || !loops() {
            return Some(false);
        }
        let at = |places: &[Place], by: i64| {
            let mut out = places.to_vec();
            out[axis].index = Index::Time(time.clone(), by);
            out
        };
        let name = self.walk.name(&r.name);
        let later = Name::from(format!("{name}_later_{m}"));
        self.emit(target(&later, at(places, 0)), ct.clone())?;
        if self.walk.helpers.insert(later.clone()) {
            let all = self.walk.all_places(&r.name, places);
            let zeros = reference(r.name.clone(), all.clone());
            let zeros = self.made("zeros_like".into(), vec![zeros], Vec::new(), None)?;
            self.print(target(&later, at(&all, 0)), zeros)?;
            self.print(target(&later, at(&all, 0)), reference(later.clone(), at(&all, 1)))?;
            let callee = builtin::find("index", self.program)?;
            let index = bare(Kind::Of("index".into(), callee, time.clone()));
            let step = bare(Kind::Number(m as f64));
            let now = bare(Kind::Compare(Comparison::Eq, Box::new([index, step])));
            let (arrived, zero) = (reference(later, at(&all, 0)), bare(Kind::Number(0.0)));
            let value = bare(Kind::Choose(vec![[now, arrived]], Some(Box::new(zero))));
            self.print(target(&name, at(&all, 0)), value)?;
        }
        Some(true)
    }
}
