//! Times with a bound and a condition, `axis t = 100 while Go`: all steps are taken, and from the first one at which the
//! condition does not hold, states keep their values. Takes equations; adds guards to those of states, and a line that keeps
//! each state. So the derivative of such a time is that of guarded lines.

use crate::program::Program;
use crate::syntax::ast::{Equation, Expr, Index, Inside, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::numbered;
use crate::syntax::source::Span;
use std::collections::HashSet;

/// Returns the time of a state that a line writes one step ahead.
fn ahead(r: &Ref) -> Option<&Name> {
    r.places.iter().find_map(|p| match &p.index {
        Index::Time(time, 1) => Some(time),
        _ => None,
    })
}

/// Returns true if a line writes all elements of a step: each index except for the time is a name that occurs once.
fn covers_all(r: &Ref) -> bool {
    let mut before: Vec<&Name> = Vec::new();
    r.places.iter().all(|p| match &p.index {
        Index::Named(name, 0) => {
            let new = !before.contains(&name);
            before.push(name);
            new
        }
        Index::Time(..) => true,
        _ => false,
    })
}

/// Returns the line of a state's mean, with a name of its own, the indices of the state that it mentions, and the time of the
/// current step.
fn mean_of(e: &Equation, names: &HashSet<Name>) -> Equation {
    let mentioned: Vec<Name> = [&e.value].into_iter().chain(&e.guard).flat_map(Inside::index_names).collect();
    let places = e.target.places.iter().filter_map(|p| match &p.index {
        Index::Time(t, _) => Some(Place { index: Index::Time(t.clone(), 0), ..p.clone() }),
        Index::Named(n, _) => mentioned.contains(n).then(|| p.clone()),
        _ => None,
    });
    let base = format!("{}_mean", e.target.name);
    let name = [Name::from(&*base)].into_iter().chain(numbered(&base, 2)).find(|n| !names.contains(n));
    let target = Ref { name: name.unwrap_or_default(), places: places.collect(), ..e.target.clone() };
    Equation { target, local: true, ..e.clone() }
}

/// Returns true if a line keeps a state while a condition does not hold, as in `X[*t+1] when !Go[*t] = X[*t]`.
fn keeps_state(e: &Equation, go: &Name) -> bool {
    let by_condition =
        |g: &Expr| matches!(&g.kind, Kind::Not(c) if matches!(&c.kind, Kind::Ref(r) if r.name == *go));
    e.guard.as_ref().is_some_and(by_condition)
        && matches!(&e.value.kind, Kind::Ref(r) if r.name == e.target.name)
}

/// Returns the condition at the current step.
fn condition(go: &Name, time: &Name, span: Span) -> Expr {
    let place = Place { index: Index::Time(time.clone(), 0), dotted: false, span };
    Kind::Ref(Ref { name: go.clone(), places: vec![place], relation: false, span }).at(span)
}

impl Program {
    /// Makes the states of bounded times keep their values from the step at which their condition does not hold.
    pub(super) fn hold_states(&self, equations: &mut Vec<Equation>, faults: &mut Vec<Diagnostic>) {
        if self.bounded.is_empty() {
            return;
        }
        // Lines that keep states are there already if more lines were appended to a program.
        let goes = || self.bounded.values().map(|(go, _)| go);
        let (mut kept, new): (Vec<Equation>, Vec<Equation>) =
            std::mem::take(equations).into_iter().partition(|e| goes().any(|go| keeps_state(e, go)));
        *equations = new;
        let all = equations.iter().flat_map(|e| e.reads().into_iter().chain([&e.target]));
        let mut names: HashSet<Name> = all.map(|r| r.name.clone()).collect();
        names.extend(self.params.iter().map(|p| p.0.clone()));
        for e in equations.iter_mut() {
            let Some((time, (go, at))) =
                ahead(&e.target).and_then(|t| Some((t.clone(), self.bounded.get(t)?)))
            else {
                continue;
            };
            // Lines of gradients run backwards. A line that was checked before has its condition.
            let holds = condition(go, &time, *at);
            let is_held = matches!(&e.value.kind, Kind::Choose(three) if three[0] == holds)
                || e.guard.as_ref().is_some_and(|g| reads(g, go));
            if is_gradient(&e.target.name) || is_held {
                continue;
            }
            let places = e.target.places.iter().map(|p| match &p.index {
                Index::Time(t, _) => Place { index: Index::Time(t.clone(), 0), ..p.clone() },
                _ => p.clone(),
            });
            let before = Ref { places: places.collect(), ..e.target.clone() };
            let before = Kind::Ref(before).at(e.target.span);
            // A name defined by a mean has only one line, so this line keeps the state. The mean has a line of its
            // own: inside a choice, its value would be summed over indices that several parts have.
            if e.projection == Projection::Avg {
                if !covers_all(&e.target) {
                    let what = format!(
                        "a mean at these indices cannot define `{}`: its time ends by a condition",
                        e.target.name
                    );
                    let help = "give the mean a name of its own, and read it in the state";
                    faults.push(Diagnostic::error(e.target.span, what).help(help).about(&e.target.name));
                    continue;
                }
                let mean = mean_of(e, &names);
                let read = Kind::Ref(mean.target.clone()).at(e.value.span);
                let value = Kind::Choose(Box::new([holds, read, before])).at(e.value.span);
                let state = Equation { projection: Projection::Sum, guard: None, value, ..e.clone() };
                names.insert(mean.target.name.clone());
                *e = mean;
                kept.push(state);
                continue;
            }
            let full = covers_all(&e.target);
            let keeps = |k: &Equation| {
                k.target.name == e.target.name && (covers_all(&k.target) || k.target == e.target)
            };
            // One line keeps each element: two would add up. A line for all elements replaces those for some.
            if full {
                kept.retain(|k| k.target.name != e.target.name || covers_all(&k.target));
            }
            if !kept.iter().any(keeps) {
                kept.push(Equation {
                    guard: Some(Kind::Not(Box::new(holds.clone())).at(*at)),
                    value: before,
                    ..e.clone()
                });
            }
            e.guard = Some(match e.guard.take() {
                Some(guard) => Kind::And(Box::new([holds, guard])).at(*at),
                None => holds,
            });
        }
        equations.append(&mut kept);
    }
}

impl Program {
    /// Refuses sums over the steps of a bounded time, and lists of them: how many count is not known before the run.
    pub(super) fn check_bounded(&self, faults: &mut Vec<Diagnostic>) {
        if self.bounded.is_empty() {
            return;
        }
        let time = |r: &Ref| {
            r.places
                .iter()
                .find_map(|p| if let Index::Time(t, _) = &p.index { Some(t.clone()) } else { None })
        };
        let ends = |name: &Name| {
            let own = self.equations.iter().filter(|e| e.target.name == *name);
            own.filter_map(|e| time(&e.target)).find_map(|t| self.bounded.get(&t))
        };
        for e in self.equations.iter().filter(|e| time(&e.target).is_none() && !is_gradient(&e.target.name)) {
            let read = e.reads().into_iter().filter(|r| time(r).is_some());
            let Some((r, (go, at))) = read.filter_map(|r| Some((r, ends(&r.name)?))).next() else { continue };
            let what = format!(
                "only the last step of `{}` can be read: its time ends when `{go}` does not hold",
                r.name
            );
            let fault = Diagnostic::error(r.span, what).and(*at, "the condition").about(&r.name);
            faults.push(fault.help("read the last step: *-1"));
        }
    }
}

/// Returns true if a name is that of a gradient: `Grad_X`, `Grad2_X`.
fn is_gradient(name: &str) -> bool {
    let rest = name.strip_prefix("Grad").map(|r| r.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.is_some_and(|r| r.starts_with('_'))
}

/// Returns true if a guard already reads the condition of its time.
fn reads(guard: &Expr, go: &Name) -> bool {
    guard.any_ref(&mut |r| r.name == *go)
}
