//! Walks an equation of Core from the cotangent of its value down to the tensors it reads, and emits their contributions.
//! Sums are nodes of Core, so what a part means does not depend on the line that it is copied to: nothing here asks which
//! indices the surroundings keep. The printer of Core writes the lines.
//!
//! Covers sums, products, quotients, powers, reductions, choices, parts of tensors, and calls that have no axes from the
//! left side. Equations with time go through `back`.

mod branch;
mod call;
mod complex;
mod contribute;
mod ones;
mod time;

use self::branch::Mask;
use super::back::Walk;
use super::settled::{movable_equation, step_of};
use super::shift::with_named_ranges;
use crate::builtin;
use crate::elaborate::Elaborate;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, keys};
use crate::program::Program;
use crate::syntax::ast::{self, Inside, Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

fn bare(kind: Kind) -> Expr {
    kind.at(Span::default())
}

fn reference(name: Name, places: Vec<Place>) -> Expr {
    bare(Kind::Ref(Ref { name, places, relation: false, span: Span::default() }))
}

fn negative(e: Expr) -> Expr {
    match e.kind {
        Kind::Negative(inner) => *inner,
        _ => bare(Kind::Negative(Box::new(e))),
    }
}

/// A product; the sign of the cotangent moves to the front.
fn times(ct: Expr, others: impl IntoIterator<Item = Expr>) -> Expr {
    let others: Vec<Expr> = others.into_iter().collect();
    if others.is_empty() {
        return ct;
    }
    if let Kind::Negative(inner) = ct.kind {
        return negative(times(*inner, others));
    }
    let mut factors = match ct.kind {
        Kind::Product(factors) => factors,
        _ => vec![ct],
    };
    factors.extend(others);
    bare(Kind::Product(factors))
}

fn over(ct: Expr, under: Expr) -> Expr {
    match ct.kind {
        Kind::Negative(inner) => negative(over(*inner, under)),
        _ => bare(Kind::Quotient(Box::new([ct, under]))),
    }
}

/// A sum over some indices, as far inside as elaboration puts it.
fn summed(e: Expr, axes: &[Name]) -> Expr {
    match e.kind {
        Kind::Negative(one) => bare(Kind::Negative(Box::new(summed(*one, axes)))),
        Kind::Quotient(two) if !axes.iter().any(|n| two[1].has_index(n)) => {
            let [over, under] = *two;
            bare(Kind::Quotient(Box::new([summed(over, axes), under])))
        }
        _ => bare(Kind::Reduce(Projection::Sum, axes.to_vec(), Box::new(e), Origin::Product)),
    }
}

fn text(t: &str) -> ast::Expr {
    ast::Kind::Text(t.into()).bare()
}

/// True if an entry is a time or a fixed step.
fn is_timed(p: &Place) -> bool {
    matches!(p.index, Index::Time(..) | Index::Moment(_))
}

/// True if an entry reads an index at an offset or computes positions.
fn is_moved(p: &Place) -> bool {
    matches!(p.index, Index::Named(_, 1.. | ..=-1)) || p.index.is_arithmetic()
}

/// True if an entry takes a part of its axis.
fn is_cut(p: &Place) -> bool {
    matches!(p.index, Index::At(_) | Index::Symbol(..) | Index::Slice(..))
}

fn plain(places: &[Place]) -> Vec<Place> {
    places.iter().map(|p| Place { dotted: false, ..p.clone() }).collect()
}

/// An equation being differentiated.
struct Back<'w, 'a> {
    walk: &'w mut Walk<'a>,
    program: &'a Program,
    equation: &'w Equation,
    /// The same on the surface tree, from which indices without another size have it.
    written: &'w ast::Equation,
    /// The number of times that the equation mentions each index.
    mentions: HashMap<Name, usize>,
    /// All indices of the equation.
    all: Names,
    /// The conditions of the branches around the current expression.
    masks: Vec<Mask>,
    /// The time of the equation, if it is evaluated step by step; it is not an axis then.
    step: Option<Name>,
}

impl Walk<'_> {
    /// Emits all contributions of one equation. Returns `None`, and emits nothing, if the equation is not covered.
    pub(super) fn core_equation(&mut self, e: &Equation, written: &ast::Equation) -> Option<()> {
        let target = &e.target.name;
        let wanted = self.reached.contains(target) && self.wanted.contains(target);
        if !wanted || !e.value.any_ref(&mut |_| true) {
            return Some(());
        }
        // Ranges on the left are names there.
        if let Cow::Owned(named) = with_named_ranges(written, self.program) {
            let e = Elaborate::new(self.program, &named).equation(e.number);
            return self.core_equation(&e, &named);
        }
        let relation = |n: &Name| self.program.definition(n).is_some_and(|d| d.relation);
        if e.target.relation || relation(target) {
            let flows = |r: &Ref| self.wanted.contains(&r.name) && !relation(&r.name);
            if e.any_read(&mut |r| flows(r)) {
                let what = format!("the Boolean relation `{target}` has no derivative");
                self.blocked.push(Diagnostic::error(e.span, what).here("a threshold"));
            }
            return Some(());
        }
        // Time is not tested yet.
        if self.program.definition(target).is_some_and(|d| d.time.is_some())
            || e.target.places.iter().any(is_timed)
            || e.any_read(&mut |r| r.places.iter().any(is_timed))
        {
            return None;
        }
        let step = step_of(self.program, written).cloned();
        let timed = match &step {
            Some(time) => Some(time::with_axes(e, time, self.program)?),
            None => None,
        };
        let e = timed.as_ref().unwrap_or(e);
        if e.is_file
            || e.target.computed().any(|e| !self.covers(e, false))
            || !self.covers(&e.value, e.projection == Projection::Sum && e.guard.is_none())
            || e.guard.as_ref().is_some_and(|g| !self.covers(g, false))
        {
            return None;
        }
        self.at = e.span;
        self.introduced = Names::new();
        let mut mentions = HashMap::new();
        [&e.value].into_iter().chain(&e.guard).for_each(|e| e.mentions(&mut mentions));
        keys(&e.target).into_iter().for_each(|n| *mentions.entry(n).or_default() += 1);
        let all = mentions.keys().cloned().collect();
        let program = self.program;
        let before = (self.lines.len(), self.blocked.len(), self.doubtful.len(), self.inferred.len());
        let refused = self.refused.len();
        let (laid_out, ahead) = (self.laid_out.clone(), self.ahead.clone());
        self.equation = Some(Arc::new(written.clone()));
        self.outer = Names::new();
        let (walk, masks) = (&mut *self, Vec::new());
        let mut back = Back { walk, program, equation: e, written, mentions, all, masks, step };
        let masks = back.conditions(written);
        if back.all_of(masks).is_none() {
            self.lines.truncate(before.0);
            self.blocked.truncate(before.1);
            self.doubtful.truncate(before.2);
            self.inferred.truncate(before.3);
            self.refused.truncate(refused);
            (self.laid_out, self.ahead) = (laid_out, ahead);
            return None;
        }
        Some(())
    }

    /// True if this module differentiates an expression. An entire right side may have axes from the left side.
    fn covers(&self, e: &Expr, whole: bool) -> bool {
        let own = match &e.kind {
            Kind::Call(c) => {
                let leans = builtin::leans(&c.surface(), self.program);
                (!leans || whole) && (!c.callee.shape().has_axes() || c.axes.is_some())
            }
            Kind::Ref(_)
            | Kind::Number(_)
            | Kind::Known(_)
            | Kind::Of(..)
            | Kind::Product(_)
            | Kind::Quotient(_)
            | Kind::Sum(_)
            | Kind::Negative(_)
            | Kind::Power(_)
            | Kind::Compare(..)
            | Kind::And(_)
            | Kind::Or(_)
            | Kind::Not(_)
            | Kind::Choose(..)
            | Kind::Reduce(..) => true,
            Kind::Array(..) | Kind::Invalid(..) => false,
        };
        own && !e.any_part(|p| !self.covers(p, false))
    }
}

impl Back<'_, '_> {
    fn all_of(&mut self, masks: Vec<Mask>) -> Option<()> {
        let e = self.equation;
        let mut ct = reference(self.walk.name(&e.target.name), plain(&e.target.places));
        if let Some(ct) = self.written_at_positions(&ct) {
            return self.under(masks, |back| back.back(&e.value, ct));
        }
        if e.projection != Projection::Sum {
            let left = keys(&e.target);
            let parts = [&e.value].into_iter().chain(&e.guard);
            let gone: Vec<Name> = parts.flat_map(|p| p.axis_order(self.program)).collect();
            let gone = self.sorted(gone, |n| !left.contains(n));
            if !gone.is_empty() {
                // Elements at which the guard does not hold are not part of the reduction.
                let body = self.copy(&e.value);
                let masked = self.masks_apart(&masks);
                let under = |x: Expr, or: f64| masked.iter().rev().fold(x, |x, mask| mask.or(x, or));
                ct = if e.projection == Projection::Avg && e.guard.is_some() {
                    // The mean is over the elements at which the guard holds.
                    let ones = self.made("ones_like".into(), vec![body], Vec::new(), None)?;
                    let held = Box::new(bare(Kind::Product(vec![under(ones, 0.0)])));
                    let count = bare(Kind::Reduce(Projection::Sum, gone, held, Origin::Written));
                    over(self.fitting(&e.value, ct)?, count)
                } else {
                    let body = under(body, e.projection.of_nothing());
                    self.reduced(e.projection, body, self.fitting(&e.value, ct)?, gone)?
                };
            }
        }
        self.under(masks, |back| back.back(&e.value, ct))
    }

    /// The cotangent of the value that a line writes at positions or to parts of its name, if its reduction is not a sum.
    fn written_at_positions(&mut self, ct: &Expr) -> Option<Expr> {
        if self.equation.projection == Projection::Sum {
            return None;
        }
        let moved = movable_equation(self.program, self.written);
        let ct = self.walk.written_at_positions(&moved, &ct.surface())?;
        Some(Elaborate::new(self.program, self.written).expr(&ct, &self.all))
    }

    /// Some of these names, sorted.
    fn sorted(&self, names: Vec<Name>, among: impl Fn(&Name) -> bool) -> Vec<Name> {
        names.into_iter().filter(among).collect::<Names>().into_iter().collect()
    }

    fn reads_wanted(&self, e: &Expr) -> bool {
        e.any_ref(&mut |r| self.flows(r))
    }

    /// True if the gradient of a tensor is wanted.
    fn flows(&self, r: &Ref) -> bool {
        let relation = || self.program.definition(&r.name).is_some_and(|d| d.relation);
        self.walk.wanted.contains(&r.name) && !relation()
    }

    /// Emits the contributions of an expression with cotangent `ct`.
    fn back(&mut self, e: &Expr, ct: Expr) -> Option<()> {
        if !self.reads_wanted(e) {
            return Some(());
        }
        let ct = self.fitting(e, ct)?;
        match &e.kind {
            Kind::Number(_) | Kind::Known(_) | Kind::Of(..) => Some(()),
            Kind::Ref(r) => {
                let ct = self.chosen(ct);
                self.contribute(r, ct)
            }
            Kind::Product(factors) => {
                for (i, factor) in factors.iter().enumerate() {
                    if !self.reads_wanted(factor) {
                        continue;
                    }
                    let others = factors.iter().enumerate().filter(|(j, _)| *j != i);
                    let others: Option<Vec<Expr>> = others.map(|(_, f)| self.conjugate_copy(f)).collect();
                    self.back(factor, times(ct.clone(), others?))?;
                }
                Some(())
            }
            Kind::Quotient(two) => {
                let [a, b] = &**two;
                let under = self.conjugate_copy(b)?;
                self.back(a, over(ct.clone(), under.clone()))?;
                if !self.reads_wanted(b) {
                    return Some(());
                }
                let squared = bare(Kind::Power(Box::new([under, bare(Kind::Number(2.0))])));
                let above = self.conjugate_copy(a)?;
                self.back(b, negative(over(times(ct, [above]), squared)))
            }
            Kind::Sum(terms) => {
                let all = e.axis_order(self.program);
                for term in terms.iter().filter(|t| self.reads_wanted(t)).collect::<Vec<_>>() {
                    let own = self.repeated(e, &all, term, ct.clone())?;
                    self.back(term, own)?;
                }
                Some(())
            }
            Kind::Negative(one) => self.back(one, negative(ct)),
            Kind::Power(two) => self.power(two, ct),
            Kind::Reduce(how, axes, body, _) => {
                // The indices of a reduction are local, so those that are also used outside get new names.
                let mut taken: Names = self.all.union(&self.walk.introduced).cloned().collect();
                let mut names = HashMap::new();
                for axis in axes.iter().filter(|a| self.is_used_outside(e, a)) {
                    let new = fresh(axis, &taken, self.program);
                    taken.insert(new.clone());
                    names.insert(axis.clone(), new);
                }
                let body = &body.renamed(&names);
                let axes: Vec<Name> = axes.iter().map(|a| names.get(a).unwrap_or(a).clone()).collect();
                if *how == Projection::Sum {
                    return self.back(body, ct);
                }
                let ct = self.chosen(ct);
                let ct = self.closed(ct, &e.axis_order(self.program)).0;
                let copy = self.copy(body);
                let ct = self.reduced(*how, copy, ct, axes)?;
                self.enter(body, ct)
            }
            Kind::Call(call) => self.through(e, call, ct),
            Kind::Choose(cases, otherwise) => self.choice(e, cases, otherwise.as_deref(), &ct),
            // A condition has no derivative; used as a number, it is a threshold.
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => {
                let help = "stop_gradient(…) around it says that none is meant";
                let fault = Diagnostic::error(e.span, "a comparison has no derivative");
                self.walk.blocked.push(fault.here("a threshold").help(help));
                Some(())
            }
            Kind::Array(..) | Kind::Invalid(..) => None,
        }
    }

    /// True if the equation mentions an index outside of one of its parts too.
    fn is_used_outside(&self, part: &Expr, index: &Name) -> bool {
        let mut own = HashMap::new();
        part.mentions(&mut own);
        self.mentions.get(index) > own.get(index)
    }

    /// A copy of a part for another line, with new names for its inner indices.
    fn copy(&mut self, e: &Expr) -> Expr {
        let inner = |n: &Name| !self.is_used_outside(e, n);
        let inner: Names = e.index_names().into_iter().filter(inner).collect();
        self.copy_among(e, &inner)
    }

    /// The conjugate of a part for another line; a real part itself.
    fn conjugate_copy(&mut self, e: &Expr) -> Option<Expr> {
        let copy = self.copy(e);
        self.conjugate(copy)
    }

    /// A copy with new names for all inner indices, also those that are used outside.
    fn copy_all(&mut self, e: &Expr) -> Expr {
        self.copy_among(e, &e.index_names().into_iter().collect())
    }

    fn copy_among(&mut self, e: &Expr, among: &Names) -> Expr {
        let free = e.axis_order(self.program);
        let mut taken: Names = self.all.union(&self.walk.introduced).cloned().collect();
        let mut names = HashMap::new();
        for name in among.iter().filter(|n| !free.contains(n)) {
            let new = fresh(name, &taken, self.program);
            taken.insert(new.clone());
            self.walk.introduced.insert(new.clone());
            names.insert(name.clone(), new);
        }
        e.renamed(&names)
    }

    /// A cotangent for something with these indices, and the others that it is summed over. Those that one tensor only
    /// has are summed with the line.
    fn closed(&self, ct: Expr, own: &[Name]) -> (Expr, Vec<Name>) {
        let refs = ct.refs();
        let several = |n: &Name| refs.iter().filter(|r| keys(r).contains(n)).count() > 1;
        let others = ct.axis_order(self.program).into_iter().filter(|n| !own.contains(n) && several(n));
        // Within a step there is no sum over time.
        let others = others.filter(|n| self.step.as_ref() != Some(n));
        let others: Vec<Name> = others.collect();
        if others.is_empty() {
            return (ct, others);
        }
        (summed(ct, &others), others)
    }

    fn power(&mut self, two: &[Expr; 2], ct: Expr) -> Option<()> {
        let [base, exponent] = two;
        let (x, y) = (self.copy(base), self.copy(exponent));
        if let Kind::Number(n) = exponent.kind {
            let mut factors = vec![bare(Kind::Number(n))];
            match n {
                // For n = 0, 0 times an infinite slope must not give NaN; for n = 1, neither must a zeroth power.
                0.0 => {}
                1.0 => factors.clear(),
                2.0 => factors.push(x),
                _ => factors.push(bare(Kind::Power(Box::new([x, bare(Kind::Number(n - 1.0))])))),
            }
            let factors: Option<Vec<Expr>> = factors.into_iter().map(|f| self.conjugate(f)).collect();
            return self.back(base, times(ct, factors?));
        }
        let own =
            distinct(base.axis_order(self.program).into_iter().chain(exponent.axis_order(self.program)));
        let ct = self.chosen(ct);
        let ct = self.closed(ct, &own).0;
        for (part, name) in [(base, "x"), (exponent, "y")] {
            let args = vec![x.clone(), y.clone(), ct.clone()];
            let ct = self.made("pow_grad".into(), args, vec![("wrt".into(), text(name))], None)?;
            self.enter(part, ct)?;
        }
        Some(())
    }
}
