//! Time: contributions to steps. Within a step, time is not an axis, and nothing is summed over it.

use super::{Back, bare, reference};
use crate::builtin::{self, Base, Shape};
use crate::differentiate::shift::at_hand;
use crate::elaborate::Elaborate;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place, Ref};
use crate::elaborate::scope::key;
use crate::elaborate::time::sees_time;
use crate::program::Program;
use crate::syntax::ast::{self, Comparison, Name};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;

fn target(name: &Name, places: Vec<Place>) -> Ref {
    Ref { name: name.clone(), places, relation: false, span: Span::default() }
}

/// The equation with the axes of calls that work along others than the time of the step. `None` if some axes are not
/// known.
pub(super) fn with_axes(e: &Equation, time: &Name, program: &Program) -> Option<Equation> {
    fn set(e: &mut Expr, time: &Name, dotted: Option<&Name>, program: &Program) -> bool {
        let mut known = true;
        e.change_parts(&mut |p| known &= set(p, time, dotted, program));
        let Kind::Call(c) = &mut e.kind else { return known };
        let shape = c.callee.shape();
        // The axes of other functions have their places, which time would move.
        if matches!(c.callee.base, Base::User(_))
            || !matches!(shape, Shape::Pointwise | Shape::Along | Shape::Reduce | Shape::ReduceOne)
        {
            return false;
        }
        if !shape.has_axes() || c.axes.is_some() {
            return known;
        }
        let Some(first) = c.args.first() else { return false };
        let own: Vec<Name> = first.value.axis_order(program).into_iter().filter(|n| n != time).collect();
        c.axes = match (dotted.filter(|d| own.contains(d)), shape) {
            (Some(d), _) => Some(vec![d.clone()]),
            (None, Shape::Reduce) => Some(own).filter(|own| !own.is_empty()),
            (None, _) => own.last().map(|last| vec![last.clone()]),
        };
        c.dotted = None;
        known && c.axes.is_some()
    }
    let mut out = e.clone();
    let dotted = e.target.places.iter().find(|p| p.dotted).and_then(key);
    let known = [&mut out.value].into_iter().chain(&mut out.guard);
    known.map(|part| set(part, time, dotted.as_ref(), program)).reduce(|a, b| a && b)?.then_some(out)
}

impl Back<'_, '_> {
    fn surface_of(&self, r: &Ref) -> ast::Ref {
        r.map_computed(&mut Expr::surface)
    }

    /// Indices for all elements of a tensor: `places`, or new ones if these select only some.
    fn all_places(&self, name: &Name, places: &[Place]) -> Vec<Place> {
        let own = self.surface_of(&target(name, places.to_vec()));
        let all = self.walk.all_places(name, &own.places);
        Elaborate::new(self.program, self.written).reference(&ast::Ref { places: all, ..own }).places
    }

    /// Emits the line that adds a cotangent to the gradient of a tensor at these indices.
    pub(super) fn add(&mut self, r: &Ref, mut places: Vec<Place>, mut ct: Expr) -> Option<()> {
        let by = moving(&r.places).map_or(0, |t| t.1);
        if by < 0 || r.places.iter().any(|p| matches!(p.index, Index::Moment(_))) {
            self.walk.all_moments(&self.surface_of(r));
        }
        if self.fixed_step(r, &places, &ct)? {
            return Some(());
        }
        let name = self.walk.name(&r.name);
        if by > self.walk.last_moment(&r.name) {
            // Steps after the tensor's last are read as 0 and have no gradient. Contributions to them are dropped by a
            // helper name that has only the existing steps.
            let ahead = Name::from(format!("{name}_ahead"));
            let now: Vec<Place> = self.all_places(&r.name, &places).iter().map(at_hand).collect();
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
            places = self.all_places(&r.name, &places);
            ct = reference(steps, places.iter().cloned().chain([now]).collect());
        }
        self.emit(target(&name, places), ct)
    }

    /// Contributes to a fixed step that the steps themselves compute and read. Contributions of later steps are
    /// accumulated backwards and added at that step. Returns false for other reads.
    fn fixed_step(&mut self, r: &Ref, places: &[Place], ct: &Expr) -> Option<bool> {
        let moment = |p: &Place| if let Index::Moment(m) = p.index { Some(m) } else { None };
        let found = places.iter().enumerate().find_map(|(i, p)| Some((i, moment(p)?)));
        let (Some((axis, m)), Some(time)) = (found, self.step.clone()) else { return Some(false) };
        let is = |p: &ast::Place| matches!(p.index, ast::Index::Moment(x) if x == m);
        let given = self.walk.moments(&r.name).any(|t| t.places.iter().any(is));
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
            let all = self.all_places(&r.name, places);
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
