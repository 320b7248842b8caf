//! Walks an expression from the cotangent of its value down to the tensors it reads, and emits their contributions.

use super::along::sized;
use super::branch::{Mask, may_be_infinite, multiplies};
use super::line;
use super::needed::{Needed, condition};
use super::settled::{movable_equation, own_result, settled, step_of};
use super::shift::with_named_ranges;
use crate::builtin::{self, Base, Derivative, Shape};
use crate::elaborate::scope::{
    Names, bound_by, free, fresh, in_order, kept_by, kept_by_each, keys, occurrences, outermost, renamed,
};
use crate::program::Program;
use crate::syntax::ast::{Call, Equation, Expr, Function, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) struct Walk<'a> {
    pub(super) program: &'a Program,
    pub(super) prefix: String,
    /// The conditions under which names are needed that only branches read.
    pub(super) needed: Needed,
    /// The names that the loss depends on.
    pub(super) reached: HashSet<Name>,
    /// The names that depend on the names whose gradients are wanted.
    pub(super) wanted: HashSet<Name>,
    /// Errors for expressions that cannot be moved to another line.
    pub(super) refused: Vec<Diagnostic>,
    pub(super) lines: Vec<Equation>,
    /// Errors for derivatives that are needed but do not exist.
    pub(super) blocked: Vec<Diagnostic>,
    /// Warnings for derivatives that exist but are probably not what is meant.
    pub(super) doubtful: Vec<Diagnostic>,
    /// The current equation.
    pub(super) equation: Option<Arc<Equation>>,
    /// The location of the expression being differentiated.
    pub(super) at: Span,
    /// The tensors whose gradients have all time steps or elements.
    pub(super) laid_out: HashSet<Name>,
    /// The names of helper sums: contributions from after the last time step, or per step.
    pub(super) ahead: HashSet<Name>,
    /// The indices that the right side leaves to be reduced at the left side.
    pub(super) outer: Names,
    /// New names of inner summation indices in copies of parts.
    pub(super) introduced: Names,
    /// The conditions of the branches around the current expression.
    pub(super) masks: Vec<Mask>,
    /// The time index of the current equation, if it is evaluated step by step; it is not an axis then.
    pub(super) step: Option<Name>,
    /// The names of ones along inferred indices, by equation and index.
    pub(super) inferred: Vec<((Span, Name), Name)>,
    /// The names whose values are complex, including gradients.
    pub(super) complex: HashSet<Name>,
}

pub(super) fn reference(name: Name, places: Vec<Place>) -> Expr {
    Kind::Ref(Ref { name, places, relation: false, span: Span::default() }).bare()
}

pub(super) fn call(function: String, args: Vec<Expr>, named: Vec<(Name, Expr)>) -> Expr {
    Kind::Call(Box::new(Call { function: function.into(), args, named })).bare()
}

pub(super) fn text(t: &str) -> Expr {
    Kind::Text(t.into()).bare()
}

fn negative(e: Expr) -> Expr {
    match e.kind {
        Kind::Negative(inner) => *inner,
        _ => Kind::Negative(Box::new(e)).bare(),
    }
}

/// A product; the sign of the cotangent moves to the front.
pub(super) fn times(ct: Expr, others: impl IntoIterator<Item = Expr>) -> Expr {
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
    Kind::Product(factors).bare()
}

pub(super) fn over(ct: Expr, under: Expr) -> Expr {
    match ct.kind {
        Kind::Negative(inner) => negative(over(*inner, under)),
        _ => Kind::Quotient(Box::new([ct, under])).bare(),
    }
}

/// Indices without the dot of a default axis.
pub(super) fn plain(places: &[Place]) -> Vec<Place> {
    places.iter().map(|p| Place { dotted: false, ..p.clone() }).collect()
}

impl Walk<'_> {
    pub(super) fn name(&self, of: &Name) -> Name {
        format!("{}{of}", self.prefix).into()
    }

    pub(super) fn emit(&mut self, target: Ref, value: Expr) {
        let value = self.with_sizes_of_arithmetic(&target, value);
        let value = self.summed_outside(value, &keys(&target).into_iter().collect());
        let value = self.with_few_primes(&target, value);
        let value = match &self.equation {
            Some(e) if value.is_of_index() => sized(&value, e, self.program),
            _ => value,
        };
        self.lines.push(line(target, value, self.at));
    }

    /// Sums a value over those indices that the equation sums at its left side, except for kept ones. Without the sum,
    /// an index that was only kept because of a neighbouring factor, which the value lacks, would be summed further
    /// inside.
    pub(super) fn summed_outside(&self, value: Expr, keep: &Names) -> Expr {
        let lost = self.lost_outside(&value, keep);
        match lost.is_empty() {
            true => value,
            false => Kind::Reduce(Projection::Sum, lost, Box::new(value)).bare(),
        }
    }

    fn lost_outside(&self, value: &Expr, keep: &Names) -> Vec<Name> {
        if value.is_single() || !value.any_part(|p| !p.is_single()) {
            return Vec::new();
        }
        let outer: Vec<&Name> = self.outer.iter().filter(|n| !keep.contains(n)).collect();
        if outer.is_empty() {
            return Vec::new();
        }
        let here = outermost(value, keep, self.program);
        if outer.iter().all(|n| here.contains(n)) {
            return Vec::new();
        }
        let is_lost = |n: &Name| outer.contains(&n) && !here.contains(n);
        let all = keep.iter().chain(outer.iter().copied()).cloned().collect();
        outermost(value, &all, self.program).into_iter().filter(is_lost).collect()
    }

    /// Renames the new inner indices so that they have no more primes than this line needs.
    fn with_few_primes(&self, target: &Ref, value: Expr) -> Expr {
        if self.introduced.is_empty() {
            return value;
        }
        let (all, left) = (occurrences(&value), keys(target));
        // Indices of the left side are not inner sums, even if other lines have introduced the name. Indices whose
        // sizes the program declares with primes keep their names too.
        let stem = |n: &str| Name::from(n.trim_end_matches('\''));
        let declared = |n: &Name| self.program.axes.keys().any(|a| a.ends_with('\'') && stem(a) == stem(n));
        let inner = |n: &Name| self.introduced.contains(n) && !left.contains(n) && !declared(n);
        if !all.iter().any(inner) {
            return value;
        }
        let mut taken: Names = all.iter().filter(|n| !inner(n)).cloned().collect();
        taken.extend(left.iter().cloned());
        let mut names = HashMap::new();
        for name in in_order(&value, &all).into_iter().filter(inner) {
            let new = fresh(&stem(&name), &taken, self.program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        renamed(&value, &names)
    }

    /// Emits all contributions of one equation.
    pub(super) fn equation(&mut self, e: &Equation) {
        let target = &e.target.name;
        if !self.reached.contains(target) || !self.wanted.contains(target) || !e.value.any_ref(&mut |_| true)
        {
            return;
        }
        let e = with_named_ranges(e, self.program);
        let left: Names = keys(&e.target).into_iter().collect();
        let mut keep = left.clone();
        keep.extend(e.guard.iter().flat_map(occurrences));
        let e = Arc::new(movable_equation(self.program, &e));
        self.at = e.span;
        self.equation = Some(e.clone());
        self.introduced = Names::new();
        if e.target.relation || self.program.definition(target).is_some_and(|d| d.relation) {
            let reads = e.reads().into_iter().any(|r| self.flows(r));
            if reads {
                let what = format!("the Boolean relation `{target}` has no derivative");
                self.blocked.push(Diagnostic::error(e.span, what).here("a threshold"));
            }
            return;
        }
        let mut ct = reference(self.name(target), plain(&e.target.places));
        // Only nested parts can contain sums that move to another line.
        let nested = e.value.any_part(|p| !p.is_single());
        self.outer = if nested { outermost(&e.value, &keep, self.program) } else { Names::new() };
        // Within a time step there is no sum over time.
        self.step = step_of(self.program, &e).cloned();
        if let Some(time) = &self.step {
            self.outer = self.outer.iter().filter(|n| *n != time).cloned().collect();
        }
        let kept_by: Names = left.union(&occurrences(&e.value)).cloned().collect();
        // A call that takes its names from the left side cannot be inside a choice whose condition has other names.
        let infinite = may_be_infinite(&e.value) || multiplies(&e.value, &self.needed);
        let leaning = builtin::leaning(&e.value, self.program);
        let own = |c: &Call| self.program.functions.contains_key(&c.function);
        let chosen_later = infinite && leaning.is_none_or(own);
        let elsewhere = condition(&e, &self.needed, self.program).filter(|_| chosen_later);
        let masks = elsewhere.iter().chain(&e.guard).map(|g| Mask::new(g, true, &kept_by, self.program));
        let masks: Vec<Mask> = masks.collect();
        if let Some(ct) = self.written_at_positions(&e, &ct) {
            return self.under(&masks, |walk| walk.back(&e.value, ct, &keep));
        }
        if e.projection != Projection::Sum {
            let mut gone = outermost(&e.value, &keep, self.program);
            gone.extend(e.guard.iter().flat_map(|g| free(g, &kept_by, self.program)));
            let gone: Vec<Name> = gone.into_iter().filter(|n| !left.contains(n)).collect();
            if !gone.is_empty() {
                keep.extend(gone.iter().cloned());
                // Elements at which the guard does not hold are not part of the reduction.
                let body = self.apart(&e.value, &keep);
                let nothing = e.projection.of_nothing();
                let masked = self.masks_apart(&masks);
                let under = |x: Expr, or: f64| masked.iter().rev().fold(x, |x, mask| mask.or(x, or));
                ct = if e.projection == Projection::Avg && e.guard.is_some() {
                    // The mean is over the elements at which the guard holds.
                    let held = under(call("ones_like".into(), vec![body], Vec::new()), 0.0);
                    let held = Kind::Product(vec![held]).bare();
                    let count = Kind::Reduce(Projection::Sum, gone.clone(), Box::new(held)).bare();
                    over(self.fitting(&e.value, ct), count)
                } else {
                    reduced(e.projection, under(body, nothing), self.fitting(&e.value, ct), &gone)
                };
            }
        }
        self.under(&masks, |walk| walk.back(&e.value, ct, &keep));
    }

    /// True if the gradient of a tensor is wanted.
    pub(super) fn flows(&self, r: &Ref) -> bool {
        let relation = || self.program.definition(&r.name).is_some_and(|d| d.relation);
        self.wanted.contains(&r.name) && !relation()
    }

    pub(super) fn reads_wanted(&self, e: &Expr) -> bool {
        e.any_ref(&mut |r| self.flows(r))
    }

    /// Emits the contributions of an expression with cotangent `ct`.
    pub(super) fn back(&mut self, e: &Expr, ct: Expr, keep: &Names) {
        if !self.reads_wanted(e) {
            return;
        }
        let ct = self.fitting(e, ct);
        match &e.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Array(_) | Kind::List(_) | Kind::Of(..) => {}
            // A condition has no derivative; used as a number, it is a threshold.
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => {
                let help = "stop_gradient(…) around it says that none is meant";
                let fault = Diagnostic::error(e.span, "a comparison has no derivative");
                self.blocked.push(fault.here("a threshold").help(help));
            }
            Kind::Ref(r) if self.masks.is_empty() => self.contribute(r, ct),
            Kind::Ref(r) => {
                let ct = self.chosen(ct, &keys(r).into_iter().collect());
                self.contribute(r, ct);
            }
            Kind::Product(factors) => {
                let kept = kept(keep, factors);
                for (i, factor) in factors.iter().enumerate() {
                    if !self.reads_wanted(factor) {
                        continue;
                    }
                    let mut others = Vec::with_capacity(factors.len());
                    for (_, (f, keep)) in factors.iter().zip(&kept).enumerate().filter(|(j, _)| *j != i) {
                        let apart = if f.is_single() { f.clone() } else { self.apart(f, keep) };
                        others.push(self.conjugate(apart));
                    }
                    self.back(factor, times(ct.clone(), others), &kept[i]);
                }
            }
            Kind::Quotient(two) => {
                let [a, b] = &**two;
                let (na, nb) = (kept_by(keep, &two[..], a), kept_by(keep, &two[..], b));
                let under = self.apart(b, &nb);
                let under = self.conjugate(under);
                self.back(a, over(ct.clone(), under.clone()), &na);
                if self.reads_wanted(b) {
                    let squared = Kind::Power(Box::new([under, Kind::Number(2.0).bare()])).bare();
                    let above = self.apart(a, &na);
                    let above = self.conjugate(above);
                    self.back(b, negative(over(times(ct, [above]), squared)), &nb);
                }
            }
            Kind::Sum(terms) => {
                let all = free(e, keep, self.program);
                for (term, kept_by) in terms.iter().zip(kept(keep, terms)) {
                    let own = self.repeated(e, &all, term, ct.clone(), keep);
                    self.back(term, own, &kept_by);
                }
            }
            Kind::Negative(one) => self.back(one, negative(ct), keep),
            Kind::Power(two) => self.power(two, ct, keep),
            Kind::Choose(_) | Kind::Case(..) => self.choice(e, &ct, keep),
            Kind::Reduce(how, axes, body) => {
                // The indices of a `reduce` are local, so those that are also used outside get new names.
                let mut taken = keep.clone();
                taken.extend(self.introduced.iter().cloned());
                taken.extend(occurrences(e));
                let mut names = HashMap::new();
                for axis in axes.iter().filter(|a| keep.contains(a)) {
                    let new = fresh(axis, &taken, self.program);
                    taken.insert(new.clone());
                    names.insert(axis.clone(), new);
                }
                let body = &renamed(body, &names);
                let axes: &Vec<Name> = &axes.iter().map(|a| names.get(a).unwrap_or(a).clone()).collect();
                let mut around = keep.clone();
                around.extend(axes.iter().cloned());
                if *how == Projection::Sum {
                    // The cotangent does not show that these indices are kept within the body.
                    let before = self.outer.clone();
                    self.outer.extend(axes.iter().cloned());
                    self.back(body, ct, &around);
                    self.outer = before;
                    return;
                }
                let ct = self.chosen(ct, &around);
                let ct = self.summed_outside(ct, &free(e, keep, self.program));
                let ct = reduced(*how, self.apart(body, &around), ct, axes);
                self.enter(body, ct, &around);
            }
            Kind::Call(c) => self.through(e, c, ct, keep),
        }
    }

    /// Copies a part to another line, with new names for the indices that it sums over.
    fn apart(&mut self, e: &Expr, keep: &Names) -> Expr {
        self.refuse_leaning(e);
        self.copy(e, keep)
    }

    /// Refuses an expression that takes names from the left side: it would mean something else on another line.
    fn refuse_leaning(&mut self, e: &Expr) {
        if let Some(call) = builtin::leaning(e, self.program) {
            let what = format!("`{}` has its indices from the left side of this equation", call.function);
            let help = "give the call an equation of its own";
            self.refused
                .push(Diagnostic::error(e.span, what).here("its gradient needs it in another").help(help));
        }
    }

    pub(super) fn copy(&mut self, e: &Expr, keep: &Names) -> Expr {
        let Some(equation) = &self.equation else { return e.clone() };
        let left = self.free_here(e, keep);
        let mut bound =
            occurrences(e).into_iter().filter(|n| !left.contains(n) && !keep.contains(n)).peekable();
        // Collects the names of the entire equation only if something has to be renamed.
        if bound.peek().is_none() {
            return e.clone();
        }
        let mut taken = occurrences(&equation.value);
        taken.extend(keys(&equation.target));
        taken.extend(equation.guard.iter().flat_map(occurrences));
        // Two copies must not share a summation index either, or they would be summed together.
        taken.extend(self.introduced.iter().cloned());
        let mut names = HashMap::new();
        for bound in bound {
            let new = fresh(&bound, &taken, self.program);
            taken.insert(new.clone());
            self.introduced.insert(new.clone());
            names.insert(bound, new);
        }
        renamed(e, &names)
    }

    fn power(&mut self, two: &[Expr; 2], ct: Expr, keep: &Names) {
        let [base, exponent] = two;
        let (nb, ne) = (kept_by(keep, &two[..], base), kept_by(keep, &two[..], exponent));
        let (x, y) = (self.apart(base, &nb), self.apart(exponent, &ne));
        if let Kind::Number(n) = exponent.kind {
            let mut factors = vec![Kind::Number(n).bare()];
            match n {
                // For n = 0, 0 times an infinite slope must not give NaN; for n = 1, neither must a zeroth power.
                0.0 => {}
                1.0 => factors.clear(),
                2.0 => factors.push(x),
                _ => factors.push(Kind::Power(Box::new([x, Kind::Number(n - 1.0).bare()])).bare()),
            }
            let factors: Vec<Expr> = factors.into_iter().map(|f| self.conjugate(f)).collect();
            return self.back(base, times(ct, factors), &nb);
        }
        let around: Names = nb.union(&ne).cloned().collect();
        let own = free(base, &nb, self.program).union(&free(exponent, &ne, self.program)).cloned().collect();
        let ct = self.chosen(ct, &around);
        let ct = self.summed_outside(ct, &own);
        for (part, name, keep) in [(base, "x", nb), (exponent, "y", ne)] {
            let args = vec![x.clone(), y.clone(), ct.clone()];
            let ct = call("pow_grad".into(), args, vec![("wrt".into(), text(name))]);
            self.enter(part, ct, &keep);
        }
    }

    pub(super) fn call(&mut self, e: &Expr, c: &Call, ct: Expr, keep: &Names) {
        let Some(callee) = builtin::find(&c.function, self.program) else { return };
        match callee.derivative_of(c) {
            Derivative::Stop => return,
            Derivative::None => {
                let what = format!("`{}` has no derivative", c.function);
                let help = "stop_gradient(…) around it says that none is meant";
                self.blocked.push(Diagnostic::error(e.span, what).here("needed here").help(help));
                return;
            }
            Derivative::Parts(part) => return self.part(part, c, ct, keep),
            Derivative::Core | Derivative::OfResult => {}
        }
        if &*c.function == "sig" && c.args.len() == 1 {
            let what = "`sig` without a temperature is a step, which has no derivative";
            let help = "give it one, sig(x, T), or run with --temperature, which its gradient follows";
            self.doubtful.push(Diagnostic::warning(e.span, what).here("needed here").help(help));
        }
        let named = match &self.equation {
            Some(equation) => settled(self.program, equation, &callee, c, keep),
            None => c.named.clone(),
        };
        let mut around = keep.clone();
        around.extend(bound_by(&Call {
            function: c.function.clone(),
            args: Vec::new(),
            named: named.clone(),
        }));
        // If all axes are reduced, their names do not matter, so the argument may take them from the left side.
        let all = callee.shape() == Shape::Reduce && !c.named.iter().any(|(k, _)| &**k == "axis");
        let mut args = Vec::with_capacity(c.args.len());
        for a in &c.args {
            let keep = kept_by(&around, &c.args, a);
            args.push(if all { self.copy(a, &keep) } else { self.apart(a, &keep) });
        }
        let function = format!("{}_grad", c.function);
        let pulled = named.iter().any(|(k, _)| &**k == "wrt");
        // The derivative of a complex function is a factor only for some functions, and never for derivatives.
        let one = callee.shape() == Shape::Pointwise && c.args.len() == 1 && !pulled;
        let factor = one && !self.is_complex(&c.args[0]) && callee.derivative_of(c) != Derivative::OfResult;
        let own = free(e, keep, self.program);
        let lost = if factor { Vec::new() } else { self.lost_outside(&ct, &own) };
        let ct = if factor { ct } else { self.summed_outside(ct, &own) };
        // After a sum over positions, the branch counts as taken if it is taken at any of them.
        self.masks = self.masks.iter().map(|m| m.anywhere(|n| lost.contains(n))).collect();
        if callee.derivative_of(c) == Derivative::OfResult {
            let y = self.result(e).unwrap_or_else(|| call(c.function.to_string(), args, named.clone()));
            return self.back(&c.args[0], call(function, vec![y, ct], named), &around);
        }
        if factor {
            return self.back(&c.args[0], times(ct, [call(function, args, named)]), &around);
        }
        let (params, still) = (callee.bound(c.args.len(), pulled), callee.still(c));
        let whole = self.equation.as_ref().is_some_and(|q| q.value == *e);
        let ct = match &callee.base {
            Base::User(f) if builtin::leans(c, self.program) => {
                if !whole {
                    return self.refuse_leaning(e);
                }
                self.called_apart(f, c, ct, keep)
            }
            // Only a builtin call that is the entire right side may have its axes renamed by the left side.
            Base::User(_) => self.without_others(e, c, ct, keep),
            _ if callee.shape() == Shape::Positional && !whole => self.without_others(e, c, ct, keep),
            _ => ct,
        };
        for (i, arg) in c.args.iter().enumerate() {
            let Some(param) = params.get(i) else { continue };
            if still[i] {
                continue;
            }
            let mut all = args.clone();
            all.push(ct.clone());
            let ct = call(function.clone(), all, with_respect_to(&named, &param.name));
            self.enter(arg, ct, &kept_by(&around, &c.args, arg));
        }
    }

    /// Sums the cotangent of a positional call, if the call is only part of an expression, over indices that the
    /// result lacks: they would be taken for names of its axes.
    fn without_others(&self, e: &Expr, c: &Call, ct: Expr, keep: &Names) -> Expr {
        let own = self.free_here(e, keep);
        let is_other =
            |n: &Name| !own.contains(n) && !self.introduced.contains(n) && self.step.as_ref() != Some(n);
        let others: Vec<Name> = self.free_here(&ct, keep).into_iter().filter(is_other).collect();
        if others.is_empty() || builtin::leans(c, self.program) {
            return ct;
        }
        Kind::Reduce(Projection::Sum, others, Box::new(ct)).bare()
    }

    /// Renames the cotangent of a call of the program's own function that takes names from the left side. If the left
    /// side gives a new axis the name of an index of an argument, possibly of another size, the two must be different
    /// names here.
    fn called_apart(&self, f: &Function, c: &Call, ct: Expr, keep: &Names) -> Expr {
        let Some(equation) = &self.equation else { return ct };
        let Some((own, left)) = own_result(self.program, equation, f, c, keep) else { return ct };
        if own.len() != left.len() {
            return ct;
        }
        let args: Names = c.args.iter().flat_map(occurrences).collect();
        let mut taken: Names = args.iter().chain(&self.introduced).cloned().collect();
        taken.extend(occurrences(&ct));
        let mut names = HashMap::new();
        for (_, name) in own.iter().zip(left).filter(|(own, name)| *own != name && args.contains(name)) {
            let new = fresh(&name, &taken, self.program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        renamed(&ct, &names)
    }

    /// A read of the left side, if it equals this expression.
    fn result(&self, e: &Expr) -> Option<Expr> {
        let equation = self.equation.as_ref()?;
        let d = self.program.definition(&equation.target.name)?;
        let alone = d.equations.len() == 1 && equation.guard.is_none() && equation.value == *e;
        let left: Names = keys(&equation.target).into_iter().collect();
        let plain_places =
            equation.target.places.iter().all(|p| matches!(p.index, Index::Named(_, 0) | Index::Time(..)));
        let same = free(e, &left, self.program) == left;
        (alone && plain_places && same)
            .then(|| reference(equation.target.name.clone(), plain(&equation.target.places)))
    }
}

/// The indices that each part keeps; parts without parts of their own need none.
fn kept(keep: &Names, parts: &[Expr]) -> Vec<Names> {
    match parts.iter().all(Expr::is_single) {
        true => vec![Names::new(); parts.len()],
        false => kept_by_each(keep, parts),
    }
}

/// Collects the names of tensors through which a derivative flows.
pub(super) fn flowing<'e>(e: &'e Expr, program: &Program, out: &mut Vec<&'e Name>) {
    match &e.kind {
        Kind::Ref(r) => out.push(&r.name),
        Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => {}
        Kind::Choose(three) => three[1..].iter().for_each(|p| flowing(p, program, out)),
        Kind::Case(cases, otherwise) => {
            cases.iter().map(|[_, v]| v).chain(otherwise.as_deref()).for_each(|p| flowing(p, program, out));
        }
        Kind::Call(c) => {
            let Some(callee) = builtin::find(&c.function, program) else { return };
            if matches!(callee.derivative_of(c), Derivative::Stop | Derivative::None) {
                return;
            }
            let still = callee.still(c);
            for (arg, _) in c.args.iter().zip(still).filter(|(_, still)| !still) {
                flowing(arg, program, out);
            }
        }
        _ => e.parts().into_iter().for_each(|p| flowing(p, program, out)),
    }
}

/// `max_grad(body, ct, axis="j", wrt="x")` and the like.
pub(super) fn reduced(how: Projection, body: Expr, ct: Expr, axes: &[Name]) -> Expr {
    let function = match how {
        Projection::Avg => "mean_grad",
        Projection::Max => "max_grad",
        Projection::Min => "min_grad",
        Projection::Prod => "prod_grad",
        Projection::Sum => "sum_grad",
    };
    let axis = match axes {
        [one] => text(one),
        _ => Kind::List(axes.iter().map(|a| text(a)).collect()).bare(),
    };
    call(function.into(), vec![body, ct], vec![("axis".into(), axis), ("wrt".into(), text("x"))])
}

/// The settings of a derivative for the argument `which`; for higher orders, `wrt` lists the arguments in order.
pub(super) fn with_respect_to(named: &[(Name, Expr)], which: &str) -> Vec<(Name, Expr)> {
    let mut out: Vec<(Name, Expr)> = named.iter().filter(|(k, _)| &**k != "wrt").cloned().collect();
    let before = named.iter().find(|(k, _)| &**k == "wrt").map(|(_, v)| &v.kind);
    let wrt = match before {
        None => text(which),
        Some(Kind::List(all)) => Kind::List(all.iter().cloned().chain([text(which)]).collect()).bare(),
        Some(other) => Kind::List(vec![other.clone().bare(), text(which)]).bare(),
    };
    out.push(("wrt".into(), wrt));
    out
}
