//! Gives names to calls inside calls before differentiation, as if they had equations of their own. So every
//! intermediate value is computed once, and a second derivative differentiates one line per value. Without names,
//! every line would contain all inner calls again. Positional arguments that are not tensors get names too.

use super::along::{along, sized, unsized_indices};
use super::back::times;
use super::branch::{Mask, behind, guard};
use super::inferred::ones_along;
use super::settled::{movable, names_in, own_result, settled, step_of};
use crate::builtin::{self, Base, Callee, Derivative, Shape};
use crate::elaborate::scope::{
    Names, axis_order, bound_by, free, kept_by_each, kept_within, keys, numbered, occurrences, outermost,
};
use crate::program::Program;
use crate::syntax::ast::{Array, Call, Equation, Expr, Function, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;
use std::borrow::Cow;
use std::collections::HashSet;

impl Program {
    /// The program with names for such arguments, and the equations of those names. Only equations of the names in
    /// `among` are changed.
    pub(super) fn with_parts(&self, among: impl Fn(&Name) -> bool) -> Option<(Program, Vec<Equation>)> {
        let (mut equations, mut found) = (Vec::with_capacity(self.equations.len()), Vec::new());
        let mut taken: HashSet<Name> = HashSet::new();
        for e in &self.equations {
            let relation = |n: &Name| self.definition(n).is_some_and(|d| d.relation);
            let number = |n: &Name| self.params.iter().any(|p| p.0 == *n);
            let flows = || e.value.any_ref(&mut |r| !relation(&r.name) && !number(&r.name));
            let looked_at = e.guard.is_some() || !is_flat(&e.value);
            if !looked_at || !among(&e.target.name) || relation(&e.target.name) || !flows() {
                equations.push(Cow::Borrowed(e));
                continue;
            }
            let mut around: Names = keys(&e.target).into_iter().collect();
            around.extend(e.guard.iter().flat_map(occurrences));
            let (found_here, masks) = (Vec::new(), Vec::new());
            let mut parts = Parts { program: self, equation: e, taken: &mut taken, found: found_here, masks };
            // An index that occurs twice in a guard is summed in it, unless the rest of the equation has it too.
            let left: Names = keys(&e.target).into_iter().collect();
            let kept_by: Names = left.union(&occurrences(&e.value)).cloned().collect();
            let guard = e.guard.as_ref().map(|g| parts.still(g, &kept_by));
            let elsewhere = guard.iter().map(|g| movable(self, e, g, &kept_by));
            parts.masks.extend(elsewhere.map(|g| Mask::new(&g, true, &kept_by, self)));
            let value = parts.part(&e.value, &around);
            if parts.found.is_empty() {
                equations.push(Cow::Borrowed(e));
                continue;
            }
            // If the guard kept an index only for an expression that now has a name, the guard gets a name too.
            let there: Names = left.union(&occurrences(&value)).cloned().collect();
            let guard = guard.map(|g| match free(&g, &there, self) == free(&g, &kept_by, self) {
                true => g,
                false => {
                    let names = axis_order(&g, &kept_by, self);
                    parts.named(g, names, &kept_by)
                }
            });
            // An index that was kept only for arguments that now have names is reduced here, at the left side as
            // before.
            let before = outermost(&e.value, &around, self);
            let all = around.union(&before).cloned().collect();
            let here = outermost(&value, &around, self);
            let is_lost = |n: &Name| before.contains(n) && !around.contains(n) && !here.contains(n);
            let lost: Vec<Name> = outermost(&value, &all, self).into_iter().filter(is_lost).collect();
            let value = match lost.is_empty() {
                true => value,
                false => Kind::Reduce(e.projection, lost, Box::new(value)).at(e.value.span),
            };
            found.extend(parts.found.iter().cloned());
            equations.extend(parts.found.into_iter().map(Cow::Owned));
            equations.push(Cow::Owned(Equation { target: e.target.clone(), value, guard, ..*e }));
        }
        if found.is_empty() {
            return None;
        }
        let equations = equations.into_iter().map(Cow::into_owned).collect();
        let program = Program { equations, ..self.clone() };
        Some((program.again().ok()?, found))
    }
}

/// The parts that some lines read, directly or through other parts. Parts are in dependency order.
pub(super) fn read(parts: &[Equation], lines: &[Equation]) -> Vec<Equation> {
    if parts.is_empty() {
        return Vec::new();
    }
    let mut needed: HashSet<&Name> = lines.iter().flat_map(Equation::reads).map(|r| &r.name).collect();
    let mut out: Vec<Equation> = Vec::new();
    for part in parts.iter().rev() {
        if needed.contains(&part.target.name) {
            needed.extend(part.reads().into_iter().map(|r| &r.name));
            out.push(part.clone());
        }
    }
    out.reverse();
    out
}

/// True if an expression has no parts that could get names.
fn is_flat(e: &Expr) -> bool {
    e.is_single() || matches!(e.kind, Kind::Product(_) | Kind::Sum(_)) && !e.any_part(|p| !p.is_single())
}

pub(super) struct Parts<'a> {
    pub(super) program: &'a Program,
    pub(super) equation: &'a Equation,
    taken: &'a mut HashSet<Name>,
    found: Vec<Equation>,
    /// The conditions of the branches around the current expression.
    pub(super) masks: Vec<Mask>,
}

impl Parts<'_> {
    /// Replaces arguments of calls by names, and expressions that take names from the left side, unless they are the
    /// entire right side.
    pub(super) fn part(&mut self, e: &Expr, keep: &Names) -> Expr {
        let whole = std::ptr::eq(e, &self.equation.value)
            && self.equation.guard.is_none()
            && self.equation.projection == Projection::Sum;
        if is_flat(e) {
            return e.clone();
        }
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => return self.still(e, keep),
            Kind::Choose(_) | Kind::Case(..) => return self.choice(e, keep),
            Kind::Array(_) if whole => return e.clone(),
            Kind::Array(_) => return self.still(e, keep),
            Kind::Call(call) => {
                let Some(callee) = builtin::find(&call.function, self.program) else {
                    return if whole { e.clone() } else { self.still(e, keep) };
                };
                let new = self.arguments(e, call, &callee, keep);
                return match self.result(&new, &callee, keep).filter(|_| !whole) {
                    Some(names) => self.named(new, names, keep),
                    None => new,
                };
            }
            _ => {}
        }
        let mut kept = kept_within(e, keep).into_iter();
        // The derivative of a power with a non-constant exponent is a call, so its operands are arguments.
        if let Kind::Power(two) = &e.kind
            && !matches!(two[1].kind, Kind::Number(_))
        {
            let mut alone = self.alone(&two[..], Names::new()).into_iter();
            return e.map_parts(&mut |p| {
                let (keep, alone) = (kept.next().unwrap_or_default(), alone.next().unwrap_or_default());
                let new = self.part(p, &keep);
                let (names, there) =
                    (axis_order(&new, &keep, self.program), free(&new, &alone, self.program));
                let lost = !new.is_single() && names.iter().any(|n| !there.contains(n));
                if lost && !self.leans(&new) { self.taken_only(new, names, &keep) } else { new }
            });
        }
        let masks = self.masks.clone();
        if let Kind::Reduce(_, axes, _) = &e.kind {
            // The indices of a `reduce` are local, so masks are reduced over them.
            self.masks.iter_mut().for_each(|m| *m = m.anywhere(|n| axes.contains(n)));
        }
        let out = e.map_parts(&mut |p| self.part(p, &kept.next().unwrap_or_default()));
        self.masks = masks;
        out
    }

    /// As `part`, for an expression that no gradient passes through. It may be copied to other lines too, so calls
    /// that take names from the left side get names.
    pub(super) fn still(&mut self, e: &Expr, keep: &Names) -> Expr {
        if e.is_single() {
            return e.clone();
        }
        let mut kept = kept_within(e, keep).into_iter();
        let Kind::Call(call) = &e.kind else {
            return match &e.kind {
                Kind::Array(list) => self.list(e, list),
                _ => e.map_parts(&mut |p| self.still(p, &kept.next().unwrap_or_default())),
            };
        };
        if let ("const", Some(Kind::Array(list))) = (&*call.function, call.args.first().map(|a| &a.kind)) {
            return self.list(e, list);
        }
        let callee = builtin::find(&call.function, self.program);
        let alone = self.alone(&call.args, bound_by(call));
        let mut args = Vec::with_capacity(call.args.len());
        for ((a, keep), alone) in call.args.iter().zip(kept).zip(alone) {
            let new = self.still(a, &keep);
            let names = axis_order(&new, &keep, self.program);
            let lies = callee.as_ref().is_some_and(|c| self.lies(c, &new, &names, &alone));
            args.push(if lies && !self.leans(&new) { self.named(new, names, &keep) } else { new });
        }
        let (function, named) = (call.function.clone(), call.named.clone());
        let new = Kind::Call(Box::new(Call { function, args, named })).at(e.span);
        match callee.and_then(|callee| self.result(&new, &callee, keep)) {
            Some(names) => self.named(new, names, keep),
            None => new,
        }
    }

    /// A name for a list, whose axes are those of the left side; without time, if the list has one axis less.
    fn list(&mut self, e: &Expr, list: &Array) -> Expr {
        let mut names = keys(&self.equation.target);
        if list.shape.len() < names.len() {
            let time = moving(&self.equation.target.places).map(|t| t.0);
            names.retain(|n| Some(n) != time);
        }
        if list.shape.len() == names.len() { self.named(e.clone(), names, &Names::new()) } else { e.clone() }
    }

    /// A call with names for those arguments that contain calls or that it takes by position.
    fn arguments(&mut self, e: &Expr, call: &Call, callee: &Callee, keep: &Names) -> Expr {
        if matches!(callee.derivative_of(call), Derivative::None | Derivative::Stop) {
            let kept = kept_within(e, keep);
            let args = call.args.iter().zip(&kept).map(|(a, keep)| self.still(a, keep)).collect();
            return Kind::Call(Box::new(Call { args, ..call.clone() })).at(e.span);
        }
        let mut around = keep.clone();
        around.extend(bound_by(call));
        let still = callee.still(call);
        let behind = behind(&self.masks, self.program, self.equation, callee, call, keep);
        let masks = behind.map(|behind| std::mem::replace(&mut self.masks, behind));
        let mut args = Vec::with_capacity(call.args.len());
        let (alone, kept) = (self.alone(&call.args, bound_by(call)), kept_by_each(&around, &call.args));
        for (((a, keep), alone), still) in call.args.iter().zip(kept).zip(alone).zip(still) {
            let new = self.part(a, &keep);
            let new = self.settled(&new, &keep);
            let names = axis_order(&new, &keep, self.program);
            let named = self.lies(callee, &new, &names, &alone) || !still && self.passes(&new);
            args.push(if named && !self.leans(&new) { self.taken_only(new, names, &keep) } else { new });
        }
        if let Some(masks) = masks {
            self.masks = masks;
        }
        let mut new = Call { args, ..call.clone() };
        // In a time step, time is not an axis, but on the new line it may be, so the axis is written out.
        let at_moment = || step_of(self.program, self.equation).is_some();
        // The same if naming an argument changes which of its axes is last.
        let lies_otherwise = || {
            let names = |c: &Call| c.args.first().map(|a| names_in(self.program, self.equation, c, a, keep));
            let (Some(before), Some(after)) = (names(call), names(&new)) else { return false };
            before.last() != after.last() && Names::from_iter(before) == Names::from_iter(after)
        };
        if callee.shape().has_axes() && (at_moment() || lies_otherwise()) {
            new.named = settled(self.program, self.equation, callee, call, keep);
        }
        Kind::Call(Box::new(new)).at(e.span)
    }

    /// For each argument, the indices that are kept by the left side and by the other arguments that cannot get names.
    fn alone(&self, args: &[Expr], bound: Names) -> Vec<Names> {
        let left: Names = keys(&self.equation.target).into_iter().chain(bound).collect();
        let single = |i: usize| args.iter().enumerate().filter(move |(j, a)| *j != i && a.is_single());
        let kept_by = |i: usize| single(i).flat_map(|(_, a)| occurrences(a)).chain(left.iter().cloned());
        (0..args.len()).map(|i| kept_by(i).collect()).collect()
    }

    /// True if an argument must get a name: it is positional with several axes, or on another line it would be summed
    /// over an index that it keeps here for a neighbour.
    fn lies(&self, callee: &Callee, new: &Expr, names: &[Name], alone: &Names) -> bool {
        if matches!(new.kind, Kind::Ref(_)) {
            return false;
        }
        let there = free(new, alone, self.program);
        callee.shape() == Shape::Positional && names.len() > 1 || names.iter().any(|n| !there.contains(n))
    }

    /// The names of the result axes of a call that takes them from the left side, as far as they are known before
    /// sizes are.
    fn result(&self, e: &Expr, callee: &Callee, keep: &Names) -> Option<Vec<Name>> {
        let Kind::Call(call) = &e.kind else { return None };
        let left = keys(&self.equation.target);
        if let Base::User(f) = &callee.base {
            return self.own_result(e, call, f, keep);
        }
        let around = left.iter().chain(keep).cloned().collect();
        let of = |a: &Expr| match &a.kind {
            Kind::Ref(r) => keys(r),
            _ => axis_order(a, &around, self.program),
        };
        let named = settled(self.program, self.equation, callee, call, keep);
        let axis = named.into_iter().find(|(k, _)| &**k == "axis");
        let axis = axis.and_then(|(_, axis)| if let Kind::Text(t) = axis.kind { Some(t) } else { None });
        builtin::result_names(call, &call.args.iter().map(of).collect::<Vec<_>>(), axis, &left, self.program)
    }

    /// As `result`, for the program's own functions. If one is called at every time step, the result has time as well.
    fn own_result(&self, e: &Expr, call: &Call, f: &Function, keep: &Names) -> Option<Vec<Name>> {
        if !builtin::leans(call, self.program) {
            return None;
        }
        let (own, left) = own_result(self.program, self.equation, f, call, keep)?;
        let mut names: Vec<Name> = Vec::new();
        let own = if own.len() == left.len() { left } else { own };
        let time = moving(&self.equation.target.places).map(|t| t.0).filter(|t| occurrences(e).contains(t));
        for name in own.iter().chain(time) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Some(names)
    }

    /// A name for an expression inside branches, with a guard: it has values only where the branches are taken.
    fn taken_only(&mut self, value: Expr, names: Vec<Name>, keep: &Names) -> Expr {
        // An expression without time must not depend on a condition with time, or the state would depend on itself.
        let time = moving(&self.equation.target.places).map(|t| t.0).filter(|t| !names.contains(t));
        let known = |m: &&Mask| !time.is_some_and(|t| m.reads(t));
        let masks: Vec<Mask> = self.masks.iter().filter(known).cloned().collect();
        let (before, guard) = (self.found.len(), guard(&masks, &names, occurrences(&value), self.program));
        let guard = guard.map(|g| sized(&g, self.equation, self.program));
        let out = self.named(value, names, keep);
        self.found[before..].iter_mut().for_each(|e| e.guard = guard.clone());
        out
    }

    /// A name for an expression with the indices `names`, which kept the indices `keep` in its context. Returns the
    /// expression unchanged if the indices are not plain names.
    pub(super) fn named(&mut self, value: Expr, names: Vec<Name>, keep: &Names) -> Expr {
        let (equation, program) = (self.equation, self.program);
        let time = moving(&equation.target.places).map(|t| t.0);
        if names.iter().any(|n| n.contains([':', ' '])) {
            return value;
        }
        let place = |n: &Name| match time {
            Some(t) if t == n => Place { index: Index::Time(n.clone(), 0), ..Place::named(n) },
            _ => Place::named(n),
        };
        let free = |n: &Name| program.definition(n).is_none() && !program.params.iter().any(|p| p.0 == *n);
        let name = numbered(&equation.target.name, 1).find(|n| free(n) && !self.taken.contains(n));
        let name = name.unwrap_or_default();
        self.taken.insert(name.clone());
        let places = names.iter().map(place).collect();
        let target = Ref { name, places, relation: false, span: Span::default() };
        let span = value.span;
        let value = sized(&self.settled(&value, keep), equation, program);
        let value = self.with_sizes(value, &target);
        self.found.push(Equation {
            target: Ref { span: equation.span, ..target.clone() },
            guard: None,
            projection: Projection::Sum,
            spelled: false,
            value,
            local: true,
            span: equation.span,
        });
        Kind::Ref(target).at(span)
    }

    /// Multiplies a value on a line of its own by ones along indices that only index arithmetic has there, so that
    /// they have the sizes of the equation.
    fn with_sizes(&mut self, value: Expr, target: &Ref) -> Expr {
        let equation = self.equation;
        let left = keys(target);
        let open = unsized_indices(target, &value, true, self.program);
        let mut ones = Vec::new();
        for index in open.into_iter().filter(|n| left.contains(n)) {
            let parts = [&equation.value].into_iter().chain(&equation.guard);
            let mut known = parts.filter_map(|p| along("ones_like", &index, p, equation, self.program));
            if let Some(known) = known.next() {
                ones.push(known);
                continue;
            }
            // Other reads of the equation may allow only a smaller size.
            let has = |r: &&&Ref| keys(r).contains(&index);
            if equation.reads().iter().filter(has).count() > value.refs().iter().filter(has).count() {
                let free = |n: &Name| self.program.definition(n).is_none() && !self.taken.contains(n);
                let name = numbered(&equation.target.name, 1).find(free).unwrap_or_default();
                self.taken.insert(name.clone());
                self.found.push(ones_along(equation, &index, &name));
                ones.push(
                    Kind::Ref(Ref { name, places: vec![Place::named(&index)], ..target.clone() }).bare(),
                );
            }
        }
        if ones.is_empty() { value } else { times(value, ones) }
    }

    /// Writes out the settings that calls inherit from their equation.
    fn settled(&self, e: &Expr, keep: &Names) -> Expr {
        if e.is_single() {
            return e.clone();
        }
        let mut kept = kept_within(e, keep).into_iter();
        let mut out = e.map_parts(&mut |p| self.settled(p, &kept.next().unwrap_or_default()));
        if let (Kind::Call(new), Kind::Call(old)) = (&mut out.kind, &e.kind)
            && let Some(callee) = builtin::find(&old.function, self.program)
        {
            new.named = settled(self.program, self.equation, &callee, old, keep);
        }
        out
    }

    /// True if a gradient passes through a call in this expression to a tensor.
    fn passes(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => false,
            Kind::Call(c) => {
                let number = |r: &&Ref| self.program.params.iter().any(|(n, _)| *n == r.name);
                let reads = |(a, still): (&Expr, bool)| !still && a.refs().iter().any(|r| !number(r));
                let Some(f) = builtin::find(&c.function, self.program) else { return false };
                let has = !matches!(f.derivative_of(c), Derivative::None | Derivative::Stop);
                has && c.args.iter().zip(f.still(c)).any(reads)
            }
            _ => e.parts().into_iter().any(|p| self.passes(p)),
        }
    }

    /// True if an expression contains something that takes its names from the left side, so that it must stay on its
    /// line.
    fn leans(&self, e: &Expr) -> bool {
        matches!(&e.kind, Kind::Array(_))
            || builtin::leaning(e, self.program).is_some()
            || e.parts().into_iter().any(|p| self.leans(p))
    }
}
