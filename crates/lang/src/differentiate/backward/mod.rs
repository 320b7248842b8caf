//! Walks an equation of Core from the cotangent of its value down to the tensors it reads, and emits their contributions.
//! Sums are nodes of Core, so what a part means does not depend on the line that it is copied to. The printer of Core
//! writes the lines.

mod branch;
mod call;
mod complex;
mod contribute;
mod positions;
mod time;

use super::along::{along, is_time_name, ones_along, ones_at_offset, unsized_indices};
use super::branch::Mask;
use super::needed::Needed;
use super::{bare, plain, reference};
use crate::builtin;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, key, keys, numbered};
use crate::program::Program;
use crate::syntax::ast::{self, Inside, Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::source::Span;
use std::collections::{HashMap, HashSet};

fn negative(e: Expr) -> Expr {
    match e.kind {
        Kind::Negative(inner) => *inner,
        _ => bare(Kind::Negative(Box::new(e))),
    }
}

/// Returns a product, without products among its factors; the sign of the cotangent moves to the front.
pub(super) fn times(ct: Expr, others: impl IntoIterator<Item = Expr>) -> Expr {
    let others: Vec<Expr> = others.into_iter().collect();
    if others.is_empty() {
        return ct;
    }
    if let Kind::Negative(inner) = ct.kind {
        return negative(times(*inner, others));
    }
    let factors = |e: Expr| match e.kind {
        Kind::Product(factors) => factors,
        _ => vec![e],
    };
    bare(Kind::Product([ct].into_iter().chain(others).flat_map(factors).collect()))
}

/// Multiplies by ones along an index that is summed inside an expression, where the index is free.
fn with_ones(e: &mut Expr, index: &Name, ones: &Expr, program: &Program) {
    let multiplied = |e: &mut Expr| times(std::mem::replace(e, bare(Kind::Number(1.0))), [ones.clone()]);
    if e.axis_order(program).contains(index) {
        *e = multiplied(e);
    } else if e.has_index(index) {
        // The derivative of a call sums its cotangent over indices that its argument lacks. If another argument has the
        // index, and the call does not combine positions along it, the cotangent gets it as an axis. Otherwise the
        // cotangent is multiplied by the ones and summed before the call.
        if let Kind::Call(call) = &mut e.kind
            && call.callee.order > 0
            && let Some((cotangent, others)) = call.args.split_last_mut()
        {
            let paired = !call.mixes.contains(index) && others.iter().any(|a| a.names.contains(index));
            if paired {
                if !cotangent.names.contains(index) {
                    cotangent.names.push(index.clone());
                }
                cotangent.value = multiplied(&mut cotangent.value);
                return;
            }
            if cotangent.names.contains(index) {
                cotangent.value = summed(multiplied(&mut cotangent.value), std::slice::from_ref(index));
                cotangent.names.retain(|n| n != index);
                return;
            }
        }
        e.change_parts(&mut |part| with_ones(part, index, ones, program));
    }
}

fn over(ct: Expr, under: Expr) -> Expr {
    match ct.kind {
        Kind::Negative(inner) => negative(over(*inner, under)),
        _ => bare(Kind::Quotient(Box::new([ct, under]))),
    }
}

/// Returns a sum over some indices, as far inside as elaboration puts it.
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

/// Returns true if an entry takes a part of its axis.
fn is_cut(p: &Place) -> bool {
    matches!(p.index, Index::At(_) | Index::Symbol(..) | Index::Slice(..))
}

/// The state that equations share while a program is differentiated.
pub(super) struct Walk<'a> {
    pub(super) program: &'a Program,
    pub(super) equations: &'a [Equation],
    pub(super) prefix: String,
    /// The conditions under which names are needed that only branches read.
    pub(super) needed: Needed,
    /// The names that the loss depends on.
    pub(super) reached: HashSet<Name>,
    /// The names that depend on the names whose gradients are wanted.
    pub(super) wanted: HashSet<Name>,
    /// Errors for expressions that cannot be moved to another line.
    pub(super) refused: Vec<Diagnostic>,
    pub(super) lines: Vec<ast::Equation>,
    /// Errors for derivatives that are needed but do not exist.
    pub(super) blocked: Vec<Diagnostic>,
    /// Warnings for derivatives that exist but are probably not what is meant.
    pub(super) doubtful: Vec<Diagnostic>,
    /// The tensors whose gradients have all time steps and elements.
    pub(super) laid_out: HashSet<Name>,
    /// The names of contributions that have lines of their own because of their time.
    pub(super) helpers: HashSet<Name>,
    /// The names of ones along inferred indices, by equation and index.
    pub(super) inferred: Vec<((Span, Name), Name)>,
    /// The names whose values are complex, including gradients.
    pub(super) complex: HashSet<Name>,
}

/// An equation being differentiated.
struct Back<'w, 'a> {
    walk: &'w mut Walk<'a>,
    program: &'a Program,
    equation: &'w Equation,
    /// The number of times that the equation mentions each index.
    mentions: HashMap<Name, usize>,
    /// All indices of the equation.
    all: Names,
    /// New names of inner indices in copies of parts.
    introduced: Names,
    /// The conditions of the branches around the current expression.
    masks: Vec<Mask>,
    /// The time of the equation, if it is evaluated step by step; it is not an axis then.
    step: Option<Name>,
}

/// Returns the time of an equation that is evaluated step by step; it is not an axis then.
pub(super) fn step_of<'e>(e: &'e Equation, program: &Program) -> Option<&'e Name> {
    let (time, _) = moving(&e.target.places)?;
    let reads = || -> Vec<Name> { e.reads().iter().map(|r| r.name.clone()).collect() };
    (e.by_step || program.needed(&reads()).contains(&e.target.name)).then_some(time)
}

impl Walk<'_> {
    pub(super) fn name(&self, of: &Name) -> Name {
        format!("{}{of}", self.prefix).into()
    }

    /// Emits all contributions of one equation.
    pub(super) fn equation(&mut self, e: &Equation) {
        let target = &e.target.name;
        let wanted = self.reached.contains(target) && self.wanted.contains(target);
        if !wanted || !e.value.any_ref(&mut |_| true) {
            return;
        }
        // Ranges on the left are names there.
        if let Some(named) = with_named_ranges(e, self.program) {
            return self.equation(&named);
        }
        let relation = |n: &Name| self.program.definition(n).is_some_and(|d| d.relation);
        if e.target.relation || relation(target) {
            let flows = |r: &Ref| self.wanted.contains(&r.name) && !relation(&r.name);
            if e.any_read(&mut |r| flows(r)) {
                let what = format!("the Boolean relation `{target}` has no derivative");
                self.blocked.push(Diagnostic::error(e.span, what).here("a threshold"));
            }
            return;
        }
        let step = step_of(e, self.program).cloned();
        let mut mentions = HashMap::new();
        [&e.value].into_iter().chain(&e.guard).for_each(|e| e.mentions(&mut mentions));
        keys(&e.target).into_iter().for_each(|n| *mentions.entry(n).or_default() += 1);
        let all = mentions.keys().cloned().collect();
        let (program, introduced, masks) = (self.program, Names::new(), Vec::new());
        let refused = self.refused.len();
        let mut back = Back { walk: self, program, equation: e, mentions, all, introduced, masks, step };
        let conditions = back.conditions();
        if back.all_of(conditions).is_none() && self.refused.len() == refused {
            let what = format!("the gradient of this equation of `{target}` cannot be written as equations");
            let help = "give the calls in it equations of their own";
            self.refused.push(Diagnostic::error(e.span, what).help(help));
        }
    }
}

/// Returns an equation with plain names instead of ranges on its left side, which are names there; ranges
/// with the same text on the right side get the same names. `None` if it has no such ranges.
fn with_named_ranges(e: &Equation, program: &Program) -> Option<Equation> {
    let from_start = |p: &Place| !matches!(&p.index, Index::Slice(None, r) if r[0].unwrap_or(0) != 0 || r[2].unwrap_or(1) != 1);
    if e.target.places.iter().all(from_start) {
        return None;
    }
    let mut taken: Names = e.value.index_names().into_iter().chain(keys(&e.target)).collect();
    let mut names = HashMap::new();
    for place in e.target.places.iter().filter(|p| matches!(p.index, Index::Slice(None, ..))) {
        if let Some(k) = key(place) {
            let new = fresh(&k, &taken, program);
            taken.insert(new.clone());
            names.insert(k, new);
        }
    }
    let mut out = e.clone();
    for place in &mut out.target.places {
        if let Some(n) = key(place).and_then(|k| names.get(&k).cloned()) {
            place.index = Index::Named(n, 0);
        }
    }
    out.guard = e.guard.as_ref().map(|g| g.renamed(&names));
    out.value = e.value.renamed(&names);
    Some(out)
}

impl Back<'_, '_> {
    /// Emits the contributions of the equation, given where its name is needed and where its guard holds.
    fn all_of(&mut self, [needed, guard]: [Vec<Mask>; 2]) -> Option<()> {
        let e = self.equation;
        let ct = reference(self.walk.name(&e.target.name), plain(&e.target.places));
        let written = self.written_at_positions(&ct)?;
        let left = keys(&e.target);
        let parts = [&e.value].into_iter().chain(&e.guard);
        let gone: Vec<Name> = parts.flat_map(|p| p.axis_order(self.program)).collect();
        let gone = self.sorted(gone, |n| !left.contains(n));
        if written.is_some() || e.projection == Projection::Sum || gone.is_empty() {
            let masks = [needed, guard].concat();
            return self.under(masks, |back| back.back(&e.value, written.unwrap_or(ct)));
        }
        self.under(needed, |back| {
            // The derivative of a reduction sums over indices that its argument lacks, so the conditions apply first.
            let ct = back.chosen(ct);
            let ct = back.fitting(&e.value, ct)?;
            let own = e.value.axis_order(back.program);
            back.forget(|n| !own.contains(n));
            // Elements at which the guard does not hold are not part of the reduction.
            let body = back.copy(&e.value);
            let masked = back.masks_apart(&guard);
            let under = |x: Expr, or: f64| masked.iter().rev().fold(x, |x, mask| mask.or(x, or));
            let ct = if e.projection == Projection::Avg && e.guard.is_some() {
                // The mean is over the elements at which the guard holds.
                let ones = back.made("ones_like".into(), vec![body], Vec::new(), None)?;
                let held = Box::new(bare(Kind::Product(vec![under(ones, 0.0)])));
                let count = bare(Kind::Reduce(Projection::Sum, gone, held, Origin::Written));
                over(ct, count)
            } else {
                let body = under(body, e.projection.of_nothing());
                back.reduced(e.projection, body, ct, gone)?
            };
            back.under(guard, |back| back.back(&e.value, ct))
        })
    }

    /// Returns some of these names, sorted.
    fn sorted(&self, names: Vec<Name>, among: impl Fn(&Name) -> bool) -> Vec<Name> {
        names.into_iter().filter(among).collect::<Names>().into_iter().collect()
    }

    fn reads_wanted(&self, e: &Expr) -> bool {
        e.any_ref(&mut |r| self.flows(r))
    }

    /// Returns true if the gradient of a tensor is wanted.
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
            Kind::Number(_) | Kind::Known(_) | Kind::Of(..) | Kind::Array(..) => Some(()),
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
                let mut taken: Names = self.all.union(&self.introduced).cloned().collect();
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
                let help = "write stop_gradient(…) around it if no gradient is wanted";
                let fault = Diagnostic::error(e.span, "a comparison has no derivative");
                self.walk.blocked.push(fault.here("a threshold").help(help));
                Some(())
            }
            Kind::Invalid(..) => None,
        }
    }

    /// Returns true if the equation mentions an index outside of one of its parts too.
    fn is_used_outside(&self, part: &Expr, index: &Name) -> bool {
        let mut own = HashMap::new();
        part.mentions(&mut own);
        self.mentions.get(index) > own.get(index)
    }

    /// Returns a copy of a part for another line. An expression that takes names from the left side would
    /// mean something else there.
    fn copy(&mut self, e: &Expr) -> Expr {
        self.refuse_leaning(e);
        self.copy_here(e)
    }

    fn refuse_leaning(&mut self, e: &Expr) {
        if let Some(call) = e.leaning(self.program) {
            let what = format!("`{}` has its indices from the left side of this equation", call.function);
            let help = "give the call an equation of its own";
            let fault = Diagnostic::error(e.span, what).here("its gradient needs it in another").help(help);
            self.walk.refused.push(fault);
        }
    }

    /// Returns a copy of a part, with new names for its inner indices.
    fn copy_here(&mut self, e: &Expr) -> Expr {
        let inner = |n: &Name| !self.is_used_outside(e, n);
        let inner: Names = e.index_names().into_iter().filter(inner).collect();
        self.copy_among(e, &inner)
    }

    /// Returns the conjugate of a part for another line; a real part itself.
    fn conjugate_copy(&mut self, e: &Expr) -> Option<Expr> {
        let copy = self.copy(e);
        self.conjugate(copy)
    }

    /// Returns a copy with new names for all inner indices, also those that are used outside.
    fn copy_all(&mut self, e: &Expr) -> Expr {
        self.copy_among(e, &e.index_names().into_iter().collect())
    }

    fn copy_among(&mut self, e: &Expr, among: &Names) -> Expr {
        let free = e.axis_order(self.program);
        let mut taken: Names = self.all.union(&self.introduced).cloned().collect();
        let mut names = HashMap::new();
        for name in among.iter().filter(|n| !free.contains(n)) {
            let new = fresh(name, &taken, self.program);
            taken.insert(new.clone());
            self.introduced.insert(new.clone());
            names.insert(name.clone(), new);
        }
        e.renamed(&names)
    }

    /// Returns a cotangent for something with these indices, and the others that it is summed over. Those
    /// that appear once are summed with the line.
    fn closed(&self, ct: Expr, own: &[Name]) -> (Expr, Vec<Name>) {
        let mut mentions = HashMap::new();
        ct.mentions(&mut mentions);
        let several = |n: &Name| mentions.get(n).is_some_and(|count| *count > 1);
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

    /// Returns the cotangent of a term that is repeated along indices of its neighbours, which nothing else
    /// has: once for each position.
    fn repeated(&mut self, whole: &Expr, all: &[Name], term: &Expr, ct: Expr) -> Option<Expr> {
        let mut said = term.axis_order(self.program);
        if all.iter().all(|n| said.contains(n)) {
            return Some(ct);
        }
        said.extend(ct.axis_order(self.program));
        said.extend(self.masks.iter().flat_map(|m| m.indices(self.program)));
        let missing: Names = all.iter().filter(|n| !said.contains(n)).cloned().collect();
        let mut ones = Vec::new();
        for index in missing {
            ones.push(match self.ones(whole, &index) {
                Some(ones) => ones,
                None => bare(Kind::Of("size".into(), builtin::find("size", self.program)?, index)),
            });
        }
        Some(times(ct, ones))
    }

    /// Ones along an index of the equation. An index has one size in an equation: that of an axis, or else of an axis that
    /// is read at an offset, or else the size that index arithmetic determines.
    fn ones(&mut self, whole: &Expr, index: &Name) -> Option<Expr> {
        let (equation, program) = (self.equation, self.program);
        let parts = [whole, &equation.value];
        let axis = parts.into_iter().find_map(|e| along("ones_like", index, e, equation, program));
        let declared = program.axes.contains_key(index);
        let at_offset = || {
            let found = |e| ones_at_offset(index, e, equation, program);
            parts.into_iter().find_map(found).filter(|_| !declared)
        };
        let known = axis.or_else(at_offset);
        let ones = known.or_else(|| if declared { None } else { self.inferred(index) })?;
        // Indices that these ones reduce get names of their own: others on the line may have other sizes.
        Some(self.copy_all(&ones))
    }

    /// Ones along an index whose size the equation determines by index arithmetic, by a name of their own.
    fn inferred(&mut self, index: &Name) -> Option<Expr> {
        if !self.equation.value.has_index(index) || is_time_name(index, self.program) {
            return None;
        }
        let known = (self.equation.span, index.clone());
        let name = match self.walk.inferred.iter().find(|(k, _)| *k == known) {
            Some((_, name)) => name.clone(),
            None => {
                let free = |n: &Name| {
                    self.program.definition(n).is_none() && !self.walk.inferred.iter().any(|(_, m)| m == n)
                };
                let name = numbered("Size", 1).find(free).unwrap_or_default();
                let ones = ones_along(self.equation, index, &name, self.program)?.printed(self.program)?;
                self.walk.lines.push(ast::Equation { local: true, ..ones });
                self.walk.inferred.push((known, name.clone()));
                name
            }
        };
        Some(reference(name, vec![Place::named(index)]))
    }

    /// Returns a value with ones along indices that only index arithmetic has: their sizes are those of the
    /// equation.
    pub(super) fn with_sizes(&mut self, target: &Ref, mut value: Expr) -> Expr {
        let open = unsized_indices(target, &value, true, self.program);
        let by_arithmetic = unsized_indices(target, &value, false, self.program);
        let mut ones = Vec::new();
        // Inner sums in copies of parts have all that determines their sizes.
        for index in open.into_iter().filter(|n| !self.introduced.contains(n)).collect::<Vec<_>>() {
            let e = self.equation;
            let left = bare(Kind::Ref(e.target.clone()));
            let mut parts = [&e.value].into_iter().chain(&e.guard).chain([&left]);
            let known = parts.find_map(|p| along("ones_like", &index, p, e, self.program));
            // An index that the equation reads at offsets only has the same size on this line.
            let infer = || by_arithmetic.contains(&index).then(|| self.inferred(&index)).flatten();
            let known = known.or_else(infer).map(|ones| self.copy_all(&ones));
            match value.has_index(&index) && !value.axis_order(self.program).contains(&index) {
                true => known.iter().for_each(|ones| with_ones(&mut value, &index, ones, self.program)),
                false => ones.extend(known),
            }
        }
        times(value, ones)
    }
}
