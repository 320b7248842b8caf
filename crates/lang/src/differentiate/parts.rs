//! Gives names to calls inside calls before differentiation, as if they had equations of their own. So every
//! intermediate value is computed once, and a second derivative differentiates one line per value. Without names,
//! every line would contain all inner calls again. Positional arguments that are not tensors get names too.

use super::along::{along, ones_along, size, unsized_in_condition, unsized_indices};
use super::backward::{step_of, times};
use super::branch::{Mask, behind, branches, guard, has_many};
use super::{bare, locate, reference};
use crate::builtin::{self, Base, Derivative, Shape};
use crate::elaborate::core::{Call, Equation, Expr, Index, Kind, Place, Ref};
use crate::elaborate::is_ambiguous;
use crate::elaborate::scope::{Names, free, keys, numbered};
use crate::program::Program;
use crate::syntax::ast::{self, Array, Comparison, Inside, Name, Projection};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;
use std::collections::HashSet;

/// A program with names for parts of its expressions.
pub(super) struct Named {
    pub(super) program: Program,
    /// The equations of the program in Core.
    pub(super) equations: Vec<Equation>,
    /// The lines of the new names.
    pub(super) found: Vec<ast::Equation>,
}

impl Program {
    /// Returns the program with names for such arguments. Only equations of the names in `among` are changed.
    /// `None` if there are no such arguments.
    pub(super) fn with_parts(&self, equations: &[Equation], among: impl Fn(&Name) -> bool) -> Option<Named> {
        let mut found: Vec<(usize, Vec<Equation>, Equation)> = Vec::new();
        let mut taken: HashSet<Name> = HashSet::new();
        let relation = |n: &Name| self.definition(n).is_some_and(|d| d.relation);
        let number = |n: &Name| self.params.iter().any(|p| p.0 == *n);
        for (at, e) in equations.iter().enumerate() {
            let flows = || e.value.any_ref(&mut |r| !relation(&r.name) && !number(&r.name));
            let looked_at = e.guard.is_some() || !is_flat(&e.value);
            if !looked_at || !among(&e.target.name) || relation(&e.target.name) || !flows() {
                continue;
            }
            let (step, found_here, masks) = (step_of(e, self), Vec::new(), Vec::new());
            let mut parts =
                Parts { program: self, equation: e, step, taken: &mut taken, found: found_here, masks };
            let guard = e.guard.as_ref().map(|g| parts.still(g));
            parts.masks.extend(guard.clone().map(Mask::new));
            let value = parts.part(&e.value);
            if !parts.found.is_empty() {
                let changed = Equation { target: e.target.clone(), value, guard, ..*e };
                found.push((at, parts.found, changed));
            }
        }
        if found.is_empty() {
            return None;
        }
        let mut out = Named { program: self.clone(), equations: Vec::new(), found: Vec::new() };
        let mut lines = Vec::with_capacity(self.equations.len());
        let mut found = found.into_iter().peekable();
        for (at, e) in equations.iter().enumerate() {
            let Some((_, parts, changed)) = found.next_if(|f| f.0 == at) else {
                lines.push(self.equations[at].clone());
                out.equations.push(e.clone());
                continue;
            };
            for part in parts {
                let mut line = part.printed(self)?;
                locate(&mut line, e.span);
                line.local = true;
                out.equations.push(Equation { by_step: self.is_step_by_step(&line), ..part });
                out.found.push(line.clone());
                lines.push(line);
            }
            let written = &self.equations[at];
            lines.push(ast::Equation { spelled: written.spelled, local: written.local, ..changed.surface() });
            out.equations.push(changed);
        }
        out.equations.iter_mut().enumerate().for_each(|(number, e)| e.number = number);
        out.program.equations = lines;
        out.program = out.program.again().ok()?;
        Some(out)
    }
}

/// Returns the parts that some lines read, directly or through other parts. Parts are in dependency order.
pub(super) fn read(parts: &[ast::Equation], lines: &[ast::Equation]) -> Vec<ast::Equation> {
    if parts.is_empty() {
        return Vec::new();
    }
    let mut needed: HashSet<&Name> = lines.iter().flat_map(ast::Equation::reads).map(|r| &r.name).collect();
    let mut out: Vec<ast::Equation> = Vec::new();
    for part in parts.iter().rev() {
        if needed.contains(&part.target.name) {
            needed.extend(part.reads().into_iter().map(|r| &r.name));
            out.push(part.clone());
        }
    }
    out.reverse();
    out
}

fn is_single(e: &Expr) -> bool {
    matches!(e.kind, Kind::Number(_) | Kind::Ref(_) | Kind::Of(..))
}

/// Returns true if an expression has no parts that could get names.
fn is_flat(e: &Expr) -> bool {
    is_single(e) || matches!(e.kind, Kind::Product(_) | Kind::Sum(_)) && !e.any_part(|p| !is_single(p))
}

struct Parts<'a> {
    program: &'a Program,
    equation: &'a Equation,
    /// The time of the equation, if it is evaluated step by step; it is not an axis then.
    step: Option<&'a Name>,
    taken: &'a mut HashSet<Name>,
    found: Vec<Equation>,
    /// The conditions of the branches around the current expression.
    masks: Vec<Mask>,
}

impl Parts<'_> {
    /// Replaces arguments of calls by names, and expressions that take names from the left side, unless they are the
    /// entire right side.
    fn part(&mut self, e: &Expr) -> Expr {
        let whole = std::ptr::eq(e, &self.equation.value)
            && self.equation.guard.is_none()
            && self.equation.projection == Projection::Sum;
        if is_flat(e) {
            return e.clone();
        }
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => self.still(e),
            Kind::Choose(cases, otherwise) => self.choice(cases, otherwise.as_deref(), e.span),
            Kind::Array(..) if whole => e.clone(),
            Kind::Array(..) => self.still(e),
            Kind::Call(call) => {
                let new = self.arguments(call, e.span);
                match self.result(&new).filter(|_| !whole) {
                    Some(names) => self.named(new, names),
                    None => new,
                }
            }
            Kind::Reduce(_, axes, ..) => {
                // The indices of a reduction are local, so masks are reduced over them.
                let over = |m: &Mask| m.anywhere(|n| axes.contains(n), self.program);
                let within = self.masks.iter().map(over).collect();
                let masks = std::mem::replace(&mut self.masks, within);
                let out = changed(e, |p| self.part(p));
                self.masks = masks;
                out
            }
            // The derivative of a power with a non-constant exponent is a call, so its operands are arguments.
            Kind::Power(two) if !matches!(two[1].kind, Kind::Number(_)) => {
                let mut alone = self.alone(&[&two[0], &two[1]], Names::new()).into_iter();
                changed(e, |p| {
                    let (new, alone) = (self.part(p), alone.next().unwrap_or_default());
                    let names = new.axis_order(self.program);
                    let named = !is_single(&new)
                        && self.is_lost(&new, &names, &alone)
                        && !self.takes_names_from_left(&new);
                    if named { self.taken_only(new, names) } else { new }
                })
            }
            _ => changed(e, |p| self.part(p)),
        }
    }

    /// As `part`, for an expression that no gradient passes through. It may be copied to other lines too, so calls
    /// that take names from the left side get names.
    fn still(&mut self, e: &Expr) -> Expr {
        match &e.kind {
            Kind::Array(list, _) => return self.list(e, list),
            Kind::Call(_) => {}
            _ => return changed(e, |p| self.still(p)),
        }
        let mut new = e.clone();
        if let Kind::Call(call) = &mut new.kind {
            let alone = self.alone(&values(call), call.bound.clone());
            let mut args = Vec::with_capacity(alone.len());
            for (a, alone) in call.args.iter().zip(alone) {
                let value = self.still(&a.value);
                let names = value.axis_order(self.program);
                let named = self.needs_name(call.callee.shape(), &value, &names, &alone);
                args.push(if named && !self.takes_names_from_left(&value) {
                    self.named(value, names)
                } else {
                    value
                });
            }
            self.set_arguments(call, args);
        }
        match self.result(&new) {
            Some(names) => self.named(new, names),
            None => new,
        }
    }

    /// Returns a name for a list, whose axes are those of the left side; without time, if the list has one
    /// axis less.
    fn list(&mut self, e: &Expr, list: &Array) -> Expr {
        let mut names = keys(&self.equation.target);
        if list.shape.len() < names.len() {
            let time = moving(&self.equation.target.places).map(|t| t.0);
            names.retain(|n| Some(n) != time);
        }
        if list.shape.len() == names.len() { self.named(e.clone(), names) } else { e.clone() }
    }

    /// Returns a call with names for those arguments that contain calls or that it takes by position.
    fn arguments(&mut self, call: &Call, span: Span) -> Expr {
        let surface = call.outline();
        let mut new = call.clone();
        if matches!(call.callee.derivative_of(&surface), Derivative::None | Derivative::Stop) {
            let args = call.args.iter().map(|a| self.still(&a.value)).collect();
            self.set_arguments(&mut new, args);
            return Kind::Call(Box::new(new)).at(span);
        }
        let still = call.callee.still(&surface);
        let behind = behind(&self.masks, call, self.step, self.program);
        let masks = behind.map(|behind| std::mem::replace(&mut self.masks, behind));
        let alone = self.alone(&values(call), call.bound.clone());
        let mut args = Vec::with_capacity(alone.len());
        for ((a, still), alone) in call.args.iter().zip(still).zip(alone) {
            let value = self.part(&a.value);
            let names = value.axis_order(self.program);
            let named =
                self.needs_name(call.callee.shape(), &value, &names, &alone) || !still && self.passes(&value);
            args.push(if named && !self.takes_names_from_left(&value) {
                self.taken_only(value, names)
            } else {
                value
            });
        }
        if let Some(masks) = masks {
            self.masks = masks;
        }
        self.set_arguments(&mut new, args);
        Kind::Call(Box::new(new)).at(span)
    }

    /// Replaces the arguments of a call. Its axes may be known now: elaboration cannot know those of an argument that
    /// takes its names from the left side.
    fn set_arguments(&self, call: &mut Call, args: Vec<Expr>) {
        let before = call.args.first().map(|a| a.names.clone()).unwrap_or_default();
        for (a, value) in call.args.iter_mut().zip(args) {
            a.names = value.axis_order(self.program).into_iter().filter(|n| Some(n) != self.step).collect();
            a.value = value;
        }
        let shape = call.callee.shape();
        let Some(first) = call.args.first().filter(|_| shape.has_axes() && call.axes.is_none()) else {
            return;
        };
        // A name may change the order of the axes, but not which one is meant.
        let same = Names::from_iter(before.clone()) == Names::from_iter(first.names.clone());
        let own = if same { &before } else { &first.names };
        call.axes = match (call.dotted.take().filter(|d| own.is_empty() || own.contains(d)), shape) {
            (Some(d), _) => Some(vec![d]),
            (None, Shape::Reduce) => Some(own.clone()).filter(|own| !own.is_empty()),
            (None, _) => own.last().map(|last| vec![last.clone()]),
        };
    }

    /// For each argument, the indices that are kept by the left side and by the other arguments that cannot get names.
    fn alone(&self, args: &[&Expr], bound: Names) -> Vec<Names> {
        let left: Names = keys(&self.equation.target).into_iter().chain(bound).collect();
        let single = |i: usize| args.iter().enumerate().filter(move |(j, a)| *j != i && is_single(a));
        let kept = |i: usize| single(i).flat_map(|(_, a)| a.index_names()).chain(left.iter().cloned());
        (0..args.len()).map(|i| kept(i).collect()).collect()
    }

    /// Returns true if a line would sum an expression over one of its indices, or refuse to, with only the indices
    /// `alone` kept around it.
    fn is_lost(&self, value: &Expr, names: &[Name], alone: &Names) -> bool {
        let text = value.shortest();
        let there = free(&text, alone, self.program);
        names.iter().any(|n| !there.contains(n)) || is_ambiguous(&text, alone, self.program)
    }

    /// Returns true if an argument must get a name: it is positional with several axes, or on another line it would be
    /// summed over an index that it has here.
    fn needs_name(&self, shape: Shape, value: &Expr, names: &[Name], alone: &Names) -> bool {
        !matches!(value.kind, Kind::Ref(_))
            && (shape == Shape::Positional && names.len() > 1 || self.is_lost(value, names, alone))
    }

    /// Returns the names of the result axes of a call that takes them from the left side, as far as they are
    /// known before sizes are.
    fn result(&self, e: &Expr) -> Option<Vec<Name>> {
        let Kind::Call(call) = &e.kind else { return None };
        if !call.takes_names_from_left(self.program) {
            return None;
        }
        // If a function is called at every time step, its result has time as well.
        let within =
            |names: Vec<Name>| names.into_iter().filter(|n| Some(n) != self.step).collect::<Vec<_>>();
        let args: Vec<Vec<Name>> =
            call.args.iter().map(|a| within(a.value.axis_order(self.program))).collect();
        let left = within(keys(&self.equation.target));
        let own = match &call.callee.base {
            Base::User(f) => builtin::own_names(f, &args)?,
            _ => {
                let axis = call.axes.as_ref().filter(|a| a.len() == 1).map(|a| a[0].clone());
                let axis = axis.or_else(|| call.dotted.clone());
                builtin::result_names(&call.outline(), &args, axis, &left, self.program)?
            }
        };
        let mut names: Vec<Name> = Vec::new();
        let is_own = matches!(call.callee.base, Base::User(_));
        let own = if is_own && own.len() == left.len() { left } else { own };
        let time = moving(&self.equation.target.places).map(|t| t.0).filter(|t| e.has_index(t));
        for name in own.iter().chain(time) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Some(names)
    }

    /// Returns a name for an expression inside branches, with a guard: it has values only where the branches
    /// are taken.
    fn taken_only(&mut self, value: Expr, names: Vec<Name>) -> Expr {
        // An expression without time must not depend on a condition with time, or the state would depend on itself.
        let time = moving(&self.equation.target.places).map(|t| t.0).filter(|t| !names.contains(t));
        let known = |m: &&Mask| !time.is_some_and(|t| m.condition.has_index(t));
        let masks: Vec<Mask> = self.masks.iter().filter(known).cloned().collect();
        let masks: Vec<Mask> = masks.into_iter().map(|m| self.with_sizes_of(m, &names)).collect();
        let taken = value.index_names().into_iter().collect();
        let mut guard = guard(&masks, &names, taken, self.program);
        guard.iter_mut().for_each(|g| size(g, self.equation, self.program));
        let before = self.found.len();
        let out = self.named(value, names);
        // The lines before the last one are ones along indices, which need no guard.
        if let Some(part) = self.found[before..].last_mut() {
            part.guard = guard;
        }
        out
    }

    /// Returns a name for an expression with the indices `names`. Returns the expression unchanged if the
    /// indices are not plain names.
    fn named(&mut self, mut value: Expr, mut names: Vec<Name>) -> Expr {
        let (equation, program) = (self.equation, self.program);
        let time = moving(&equation.target.places).map(|t| t.0);
        // The gradient of a state at a fixed step collects a contribution of every step, so the part needs a value per step.
        names.extend(time.filter(|t| !names.contains(t) && self.reads_own_step(&value)).cloned());
        if names.iter().any(|n| n.contains([':', ' '])) {
            return value;
        }
        let place = |n: &Name| match time {
            Some(t) if t == n => Place { index: Index::Time(n.clone(), 0), ..Place::named(n) },
            _ => Place::named(n),
        };
        let name = self.new_name(&equation.target.name);
        let places = names.iter().map(place).collect();
        let target = Ref { name, places, relation: false, span: Span::default() };
        let span = value.span;
        size(&mut value, equation, program);
        let value = self.with_sizes(value, &target);
        self.found.push(self.line(target.clone(), value));
        Kind::Ref(target).at(span)
    }

    /// Returns true if an expression reads a fixed step of a tensor that depends on the equation.
    fn reads_own_step(&self, value: &Expr) -> bool {
        let fixed = |r: &&Ref| r.places.iter().any(|p| matches!(p.index, Index::Step(_)));
        let depends =
            |r: &Ref| self.program.needed(std::slice::from_ref(&r.name)).contains(&self.equation.target.name);
        value.refs().into_iter().filter(fixed).any(depends)
    }

    fn new_name(&mut self, stem: &str) -> Name {
        let program = self.program;
        let free = |n: &Name| program.definition(n).is_none() && !program.params.iter().any(|p| p.0 == *n);
        let name = numbered(stem, 1).find(|n| free(n) && !self.taken.contains(n)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    fn line(&self, target: Ref, mut value: Expr) -> Equation {
        settle(&mut value);
        // Without parentheses, the terms of a sum would be lines of their own.
        if matches!(value.kind, Kind::Sum(_)) {
            value = Kind::Product(vec![value]).at(Span::default());
        }
        if let Kind::Call(call) = &mut value.kind {
            call.whole = true;
        }
        Equation {
            target: Ref { span: self.equation.span, ..target },
            guard: None,
            projection: Projection::Sum,
            value,
            by_step: false,
            is_file: false,
            number: 0,
            span: self.equation.span,
        }
    }

    /// Multiplies a value on a line of its own by ones along indices that only index arithmetic has there, so that
    /// they have the sizes of the equation.
    fn with_sizes(&mut self, value: Expr, target: &Ref) -> Expr {
        let left = keys(target);
        let open = unsized_indices(target, &value, true, self.program);
        let open = open.into_iter().filter(|n| left.contains(n));
        let ones: Vec<Expr> = open.filter_map(|n| self.ones(&n)).collect();
        times(value, ones)
    }

    /// Returns a mask with ones along indices whose size its condition does not determine, as far as the equation does.
    /// The indices of the line that it guards have their size there.
    fn with_sizes_of(&mut self, mask: Mask, line: &[Name]) -> Mask {
        let mut open = unsized_in_condition(&mask.condition, self.equation, self.program);
        let free = mask.indices(self.program);
        open.retain(|n| !line.contains(n) && free.contains(n));
        open.iter().fold(mask, |mask, index| match self.ones(index) {
            Some(ones) => mask.and_positive(ones),
            None => mask,
        })
    }

    /// Ones along an index with its size in the equation, which may follow from index arithmetic only.
    fn ones(&mut self, index: &Name) -> Option<Expr> {
        let (equation, program) = (self.equation, self.program);
        let mut parts = [&equation.value].into_iter().chain(&equation.guard);
        if let Some(known) = parts.find_map(|p| along("ones_like", index, p, equation, program)) {
            return Some(known);
        }
        // An index that only the guard reads has the size of the left side.
        if !equation.value.has_index(index) {
            let left = bare(Kind::Ref(equation.target.clone()));
            return along("ones_like", index, &left, equation, program);
        }
        let name = self.new_name("Size");
        self.found.push(ones_along(equation, index, &name, program)?);
        Some(reference(name, vec![Place::named(index)]))
    }

    /// Returns true if a gradient passes through a call in this expression to a tensor.
    fn passes(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => false,
            Kind::Call(c) => {
                let surface = c.outline();
                let number = |r: &Ref| self.program.params.iter().any(|(n, _)| *n == r.name);
                let has = !matches!(c.callee.derivative_of(&surface), Derivative::None | Derivative::Stop);
                let mut args = c.args.iter().zip(c.callee.still(&surface));
                has && args.any(|(a, still)| !still && a.value.any_ref(&mut |r| !number(r)))
            }
            _ => e.any_part(|p| self.passes(p)),
        }
    }

    /// Returns true if an expression contains something that takes its names from the left side, so that it must stay
    /// on its line.
    fn takes_names_from_left(&self, e: &Expr) -> bool {
        e.leaning(self.program).is_some() || e.any(&|e| matches!(e.kind, Kind::Array(..)))
    }

    /// Returns a choice with names for parts of its branches, which have values only where the branch is
    /// taken.
    fn choice(&mut self, cases: &[[Expr; 2]], otherwise: Option<&Expr>, span: Span) -> Expr {
        // Conditions first, since the names of parts read them.
        let cases: Vec<[Expr; 2]> = cases.iter().map(|[c, v]| [self.still(c), v.clone()]).collect();
        let (cases, otherwise) = self.numbered(cases, otherwise.cloned(), span);
        let mut values = Vec::new();
        for (masks, value) in branches(&cases, otherwise.as_ref()) {
            let before = self.masks.len();
            self.masks.extend(masks);
            values.push(self.part(value));
            self.masks.truncate(before);
        }
        let last = otherwise.and_then(|_| values.pop());
        let cases = cases.into_iter().zip(values).map(|([c, _], v)| [c, v]).collect();
        Kind::Choose(cases, last.map(Box::new)).at(span)
    }

    /// Many cases, numbered: the number of the case that holds gets a name, so that the condition of each case does not
    /// repeat those of all cases before it.
    fn numbered(
        &mut self,
        cases: Vec<[Expr; 2]>,
        otherwise: Option<Expr>,
        span: Span,
    ) -> (Vec<[Expr; 2]>, Option<Expr>) {
        // A condition that reads at other positions may have other sizes on a line of its own.
        let here = |p: &Place| {
            matches!(p.index, Index::Named(_, 0) | Index::Time(_, 0) | Index::At(_) | Index::Symbol(..))
        };
        let plain = |c: &Expr| !c.is_of_index() && !c.any_ref(&mut |r| !r.places.iter().all(here));
        if !has_many(&cases) || !cases.iter().all(|[c, _]| plain(c)) {
            return (cases, otherwise);
        }
        let number = |n: usize| bare(Kind::Number(n as f64));
        let which = cases.iter().enumerate().map(|(n, [c, _])| [c.clone(), number(n + 1)]).collect();
        let which = Kind::Choose(which, Some(Box::new(number(0)))).at(span);
        let names = which.axis_order(self.program);
        let which = self.named(which, names);
        if !matches!(which.kind, Kind::Ref(_)) {
            return (cases, otherwise);
        }
        let is = |n: usize| Kind::Compare(Comparison::Eq, Box::new([which.clone(), number(n)])).at(span);
        let values = cases.into_iter().enumerate().map(|(n, [_, v])| [is(n + 1), v]);
        (values.chain(otherwise.map(|v| [is(0), v])).collect(), None)
    }
}

/// Returns an expression with other parts.
fn changed(e: &Expr, mut f: impl FnMut(&Expr) -> Expr) -> Expr {
    let mut out = e.clone();
    out.change_parts(&mut |p| *p = f(p));
    out
}

/// Returns the arguments of a call.
fn values(call: &Call) -> Vec<&Expr> {
    call.args.iter().map(|a| &a.value).collect()
}

/// Sets the axis of calls that have it from a dot on the left side of their equation.
fn settle(e: &mut Expr) {
    e.change_parts(&mut settle);
    if let Kind::Call(call) = &mut e.kind
        && let Some(axis) = call.dotted.take()
    {
        call.axes = Some(vec![axis]);
    }
}
