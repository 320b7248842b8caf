//! Schedules names with time: which step computes which time step of each name, in which order, forwards or backwards.
//! Takes the equations of a group; returns a `Schedule`, or the error that no order exists. `stream` runs it.

use super::Solver;
use crate::builtin::Base;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place, Ref};
use crate::lower::eval::Eval;
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{from_moment, moving};
use crate::syntax::order::components;
use crate::syntax::source::Span;
use std::collections::HashMap;

/// Returns the offset of a time index: 1 for `*t+1`.
pub(super) fn offset(places: &[Place]) -> Option<i64> {
    moving(places).map(|t| t.1)
}

/// Returns the fixed time step among some indices: 0 for `*0`.
pub(super) fn fixed(places: &[Place]) -> Option<i64> {
    places.iter().find_map(|p| match p.index {
        Index::Step(at) => Some(at),
        _ => None,
    })
}

/// The names of a group, with their numbers.
pub(super) type Group = HashMap<Name, usize>;

/// Returns true for a call of a function of the program.
pub(super) fn calls_own(e: &Expr) -> bool {
    matches!(&e.kind, Kind::Call(c) if matches!(c.callee.base, Base::User(_)))
}

/// A read of a name of the group by an equation of another, and by how many time steps earlier.
struct Edge {
    reader: usize,
    read: usize,
    lag: i64,
}

/// A read of a name of the group at a fixed time step.
pub(super) struct FixedRead<'a> {
    pub(super) equation: &'a Equation,
    pub(super) read: &'a Ref,
    pub(super) of: usize,
    pub(super) moment: i64,
}

/// The order in which steps compute the names of a group.
pub(super) struct Schedule<'a> {
    pub(super) names: Vec<Name>,
    pub(super) at: Group,
    /// Step `k` computes the value of a name at time step `k + shift`.
    pub(super) shift: Vec<i64>,
    /// The names within a step, in dependency order.
    pub(super) order: Vec<usize>,
    /// If true, later steps depend on earlier ones, false for the opposite.
    pub(super) forwards: bool,
    /// The largest number of steps back at which values are read.
    pub(super) lags: usize,
    /// If true, no step depends on another.
    pub(super) independent: bool,
    /// Reads at fixed time steps inside the loop.
    pub(super) fixed: Vec<FixedRead<'a>>,
    pub(super) span: Span,
}

impl<'a> Solver<'a> {
    /// Returns true if an equation is part of the loop of a group: it has time on its left and depends on the group, or
    /// must be evaluated step by step anyway.
    pub(super) fn steps(&self, e: &Equation, names: &Group) -> bool {
        offset(&e.target.places).is_some() && (self.needs(e, names) || e.by_step)
    }

    /// Returns true if an equation reads any of these names.
    pub(super) fn needs(&self, e: &Equation, names: &Group) -> bool {
        e.any_read(&mut |r| names.contains_key(&r.name))
    }

    /// Returns the schedule of a group.
    pub(super) fn schedule(&self, group: &[usize], by_condition: bool) -> Eval<Schedule<'a>> {
        let names: Vec<Name> = group.iter().map(|i| self.name(*i).clone()).collect();
        let at: Group = names.iter().enumerate().map(|(g, n)| (n.clone(), g)).collect();
        let span = self.own(group[0]).first().copied().map(|e| e.span).unwrap_or_default();
        let (edges, fixed) = self.edges(group, &at)?;
        // A step computes what its equations write: the next value of states, and the current value of other names. So
        // all equations of a step apply to the same steps, and none reads a state that does not exist.
        let last = |i: &usize| {
            let own = self.own(*i).into_iter().filter(|e| self.steps(e, &at));
            own.filter_map(|e| offset(&e.target.places)).max().unwrap_or(0)
        };
        let by_step: Vec<i64> = group.iter().map(last).collect();
        let lags = |shift: &[i64]| -> Vec<i64> {
            edges.iter().map(|e| e.lag + shift[e.read] - shift[e.reader]).collect()
        };
        let one_way = |lags: &[i64]| lags.iter().all(|l| *l >= 0) || lags.iter().all(|l| *l <= 0);
        let by_moment = vec![0; group.len()];
        let shift = match [by_step, by_moment].into_iter().find(|s| {
            let own = lags(s);
            one_way(&own)
                && (!by_condition || s.iter().all(|by| *by == 0))
                && self.ordered(&edges, &own, group.len())
        }) {
            Some(shift) => shift,
            None => return Err(self.unordered(group, &names, &edges, span)),
        };
        let lags = lags(&shift);
        let mut now = vec![Vec::new(); group.len()];
        edges.iter().zip(&lags).filter(|(_, lag)| **lag == 0).for_each(|(e, _)| now[e.reader].push(e.read));
        // A fixed time step that the same step computes can be read if its name is computed before.
        for f in &fixed {
            let reader = at.get(&f.equation.target.name).copied().unwrap_or(0);
            now[reader].push(f.of);
            if components(&now).iter().any(|c| c.len() > 1 || now[c[0]].contains(&c[0])) {
                now[reader].pop();
            }
        }
        let order: Vec<usize> = components(&now).into_iter().flatten().collect();
        Ok(Schedule {
            names,
            at,
            shift,
            order,
            forwards: lags.iter().all(|l| *l >= 0),
            lags: lags.iter().map(|l| l.unsigned_abs() as usize).max().unwrap_or(1).max(1),
            independent: edges.is_empty(),
            fixed,
            span,
        })
    }

    /// Returns true if no name depends on itself within a step.
    fn ordered(&self, edges: &[Edge], lags: &[i64], names: usize) -> bool {
        let mut now = vec![Vec::new(); names];
        edges.iter().zip(lags).filter(|(_, lag)| **lag == 0).for_each(|(e, _)| now[e.reader].push(e.read));
        components(&now).iter().all(|c| c.len() == 1 && !now[c[0]].contains(&c[0]))
    }

    /// Returns the error that no order exists.
    fn unordered(
        &self,
        group: &[usize],
        names: &[Name],
        edges: &[Edge],
        span: Span,
    ) -> crate::lower::eval::Fault {
        if !edges.iter().all(|e| e.lag >= 0) && !edges.iter().all(|e| e.lag <= 0) {
            let what = "these equations depend on both earlier and later steps of themselves";
            return Diagnostic::error(span, what).into();
        }
        let mut now = vec![Vec::new(); group.len()];
        edges.iter().filter(|e| e.lag == 0).for_each(|e| now[e.reader].push(e.read));
        let own = components(&now).into_iter().find(|c| c.len() > 1 || now[c[0]].contains(&c[0]));
        let own = own.map_or(0, |c| c[0]);
        let span = self.own(group[own]).first().map_or(span, |e| e.span);
        let what = format!("`{}` depends on itself at the same step", names[own]);
        let target = self.own(group[own]).first().map(|e| &e.target);
        let with = |index: &dyn Fn(&Name) -> Index| {
            let place = |p: &Place| match &p.index {
                Index::Time(t, 0) => index(t).to_string(),
                other => other.to_string(),
            };
            let places = target.iter().flat_map(|t| &t.places).map(place);
            format!("{}[{}] = …", names[own], places.collect::<Vec<_>>().join(","))
        };
        let ahead = with(&|t| Index::Time(t.clone(), 1));
        let laid_out = with(&|t| Index::Named(t.clone(), 0));
        let help = format!(
            "for a state, write its next step: {ahead}; for a fixpoint at each step, use a plain index: {laid_out}"
        );
        Diagnostic::error(span, what).help(help).into()
    }

    fn edges(&self, group: &[usize], names: &Group) -> Eval<(Vec<Edge>, Vec<FixedRead<'a>>)> {
        let (mut edges, mut fixed_reads) = (Vec::new(), Vec::new());
        for (reader, i) in group.iter().enumerate() {
            for e in self.own(*i).into_iter().filter(|e| self.steps(e, names)) {
                self.check_times(e, names)?;
                let Some(by) = offset(&e.target.places) else { continue };
                for r in e.reads() {
                    let Some(&read) = names.get(&r.name) else { continue };
                    if let Some(own) = from_moment(&e.target, &r.places) {
                        edges.push(Edge { reader, read, lag: by - own });
                    } else if let Some(moment) = fixed(&r.places) {
                        fixed_reads.push(FixedRead { equation: e, read: r, of: read, moment });
                    } else {
                        let what =
                            format!("`{}` depends on itself, but not at one step from another", r.name);
                        return Err(Diagnostic::error(r.span, what).about(&r.name).into());
                    }
                }
            }
        }
        Ok((edges, fixed_reads))
    }

    /// Refuses equations of a loop that read the group both at the current step and along all of time.
    fn check_times(&self, e: &Equation, names: &Group) -> Eval<()> {
        let time = moving(&e.target.places).map(|t| t.0);
        for r in e.reads().into_iter().filter(|r| names.contains_key(&r.name)) {
            let plain = |p: &&Place| matches!((&p.index, time), (Index::Named(n, _), Some(t)) if n == t);
            if let Some(p) = r.places.iter().find(plain) {
                let what = format!("`{}` is the time of this line", p.index);
                return Err(Diagnostic::error(p.span, what).help(format!("write *{}", p.index)).into());
            }
        }
        Ok(())
    }
}
