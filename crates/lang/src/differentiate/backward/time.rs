//! Time: contributions to steps. Within a step, time is not an axis, and nothing is summed over it.

use super::contribute::at_same_step;
use super::{Back, bare, reference};
use crate::builtin;
use crate::elaborate::core::{Expr, Index, Kind, Place, Ref};
use crate::elaborate::time::sees_time;
use crate::syntax::ast::{Comparison, Name};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;

fn target(name: &Name, places: Vec<Place>) -> Ref {
    Ref { name: name.clone(), places, relation: false, span: Span::default() }
}

impl Back<'_, '_> {
    /// Emits the line that adds a cotangent to the gradient of a tensor at these indices.
    pub(super) fn add(&mut self, r: &Ref, mut places: Vec<Place>, mut ct: Expr) -> Option<()> {
        let by = moving(&r.places).map_or(0, |t| t.1);
        if by < 0 || r.places.iter().any(|p| matches!(p.index, Index::Moment(_))) {
            self.all_elements(r)?;
        }
        if self.fixed_step(r, &places, &ct)? {
            return Some(());
        }
        let name = self.walk.name(&r.name);
        if by > self.last_step(&r.name) {
            // Steps after the tensor's last are read as 0 and have no gradient. Contributions to them are dropped by a
            // helper name that has only the existing steps.
            let ahead = Name::from(format!("{name}_ahead"));
            let now: Vec<Place> = self.walk.all_places(&r.name, &places).iter().map(at_same_step).collect();
            self.emit(target(&ahead, places), ct)?;
            // All reads ahead are added to the helper name, which is read back once.
            if !self.walk.ahead.insert(ahead.clone()) {
                return Some(());
            }
            ct = reference(ahead, now.clone());
            places = now;
        }
        // A function without time among its parameters is called at every step, so its contributions are summed over
        // the steps.
        let time = moving(&self.equation.target.places).map(|t| t.0.clone());
        let each = |t: &Name| moving(&places).is_none() && sees_time(&ct.surface(), t, self.program);
        if let Some(time) = time.filter(each) {
            let steps = Name::from(format!("{name}_steps"));
            let now = Place { index: Index::Time(time, 0), dotted: false, span: Span::default() };
            self.emit(target(&steps, places.iter().cloned().chain([now.clone()]).collect()), ct)?;
            if !self.walk.ahead.insert(steps.clone()) {
                return Some(());
            }
            places = self.walk.all_places(&r.name, &places);
            ct = reference(steps, places.iter().cloned().chain([now]).collect());
        }
        self.emit(target(&name, places), ct)
    }

    /// The number of time steps that a tensor has after the last step of the loop.
    fn last_step(&self, name: &Name) -> i64 {
        self.walk.lefts(name).filter_map(|t| moving(&t.places)).map(|t| t.1).max().unwrap_or(0)
    }

    /// Contributes to a fixed step that the steps themselves compute and read. Contributions of later steps are
    /// accumulated backwards and added at that step. Returns false for other reads.
    fn fixed_step(&mut self, r: &Ref, places: &[Place], ct: &Expr) -> Option<bool> {
        let moment = |p: &Place| if let Index::Moment(m) = p.index { Some(m) } else { None };
        let found = places.iter().enumerate().find_map(|(i, p)| Some((i, moment(p)?)));
        let (Some((axis, m)), Some(time)) = (found, self.step.clone()) else { return Some(false) };
        let is = |p: &Place| matches!(p.index, Index::Moment(x) if x == m);
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
        if self.walk.ahead.insert(later.clone()) {
            let all = self.walk.all_places(&r.name, places);
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
