//! Walks an equation of Core from the cotangent of its value down to the tensors it reads, and emits their contributions.
//! Sums are nodes of Core, so what a part means does not depend on the line that it is copied to: nothing here asks which
//! indices the surroundings keep. The printer of Core writes the lines.
//!
//! Covers sums, products, quotients, powers, reductions, parts of tensors, and calls that have no axes from the left side.
//! Equations with time, choices, guards, offsets, index arithmetic or complex numbers go through `back`.

use super::back::Walk;
use super::line;
use super::needed::condition;
use crate::builtin::{self, Base, Derivative, Shape};
use crate::elaborate::core::{Call, Equation, Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, distinct, fresh, in_order, key, keys};
use crate::program::Program;
use crate::syntax::ast::{self, Inside, Name, Projection};
use crate::syntax::source::Span;
use std::collections::HashMap;

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

fn text(t: &str) -> ast::Expr {
    ast::Kind::Text(t.into()).bare()
}

/// True if every entry is a plain index.
fn is_plain(r: &Ref) -> bool {
    !r.relation && r.places.iter().all(|p| matches!(p.index, Index::Named(_, 0)))
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
    /// The number of times that the equation mentions each index.
    mentions: HashMap<Name, usize>,
    /// All indices of the equation.
    all: Names,
    lines: Vec<ast::Equation>,
}

impl Walk<'_> {
    /// Emits all contributions of one equation. Returns `None`, and emits nothing, if the equation is not covered.
    pub(super) fn core_equation(&mut self, e: &Equation, written: &ast::Equation) -> Option<()> {
        let target = &e.target.name;
        let wanted = self.reached.contains(target) && self.wanted.contains(target);
        let relation = self.program.definition(target).is_some_and(|d| d.relation);
        let is_time = |n: &Name| self.program.definition(n).is_some_and(|d| d.time.is_some());
        if !wanted
            || relation
            || e.guard.is_some()
            || e.is_file
            || !self.complex.is_empty()
            || !is_plain(&e.target)
            || is_time(target)
            || !self.covers(&e.value, e.projection == Projection::Sum)
            || condition(written, &self.needed, self.program).is_some()
            || super::scatter::is_written_in_parts(self.program, written)
        {
            return None;
        }
        self.at = e.span;
        self.introduced = Names::new();
        let mut mentions = HashMap::new();
        e.value.mentions(&mut mentions);
        keys(&e.target).into_iter().for_each(|n| *mentions.entry(n).or_default() += 1);
        let all = mentions.keys().cloned().collect();
        let program = self.program;
        let mut back = Back { walk: self, program, equation: e, mentions, all, lines: Vec::new() };
        back.all_of()?;
        let lines = back.lines;
        self.lines.extend(lines);
        Some(())
    }

    /// True if this module differentiates an expression. An entire right side may have axes from the left side.
    fn covers(&self, e: &Expr, whole: bool) -> bool {
        let own = match &e.kind {
            Kind::Ref(r) => {
                !r.relation && r.places.iter().all(|p| is_cut(p) || matches!(p.index, Index::Named(_, 0)))
            }
            Kind::Call(c) => {
                let own = matches!(c.callee.base, Base::User(_));
                let leans = builtin::leans(&c.surface(), self.program);
                (!leans || whole && !own) && (!c.callee.shape().has_axes() || c.axes.is_some())
            }
            Kind::Number(_)
            | Kind::Known(_)
            | Kind::Of(..)
            | Kind::Product(_)
            | Kind::Quotient(_)
            | Kind::Sum(_)
            | Kind::Negative(_)
            | Kind::Power(_)
            | Kind::Reduce(..) => true,
            _ => false,
        };
        own && !e.any_part(|p| !self.covers(p, false))
    }
}

impl Back<'_, '_> {
    fn all_of(&mut self) -> Option<()> {
        let e = self.equation;
        let mut ct = reference(self.walk.name(&e.target.name), plain(&e.target.places));
        if e.projection != Projection::Sum {
            let left = keys(&e.target);
            let gone: Vec<Name> = self.sorted(e.value.laid(self.program), |n| !left.contains(n));
            if !gone.is_empty() {
                let body = self.copy(&e.value);
                ct = self.reduced(e.projection, body, ct, gone)?;
            }
        }
        self.back(&e.value, ct)
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
        match &e.kind {
            Kind::Number(_) | Kind::Known(_) | Kind::Of(..) => Some(()),
            Kind::Ref(r) => self.contribute(r, ct),
            Kind::Product(factors) => {
                for (i, factor) in factors.iter().enumerate() {
                    if !self.reads_wanted(factor) {
                        continue;
                    }
                    let others = factors.iter().enumerate().filter(|(j, _)| *j != i);
                    let others: Vec<Expr> = others.map(|(_, f)| self.copy(f)).collect();
                    self.back(factor, times(ct.clone(), others))?;
                }
                Some(())
            }
            Kind::Quotient(two) => {
                let [a, b] = &**two;
                let under = self.copy(b);
                self.back(a, over(ct.clone(), under.clone()))?;
                if !self.reads_wanted(b) {
                    return Some(());
                }
                let squared = bare(Kind::Power(Box::new([under, bare(Kind::Number(2.0))])));
                let above = self.copy(a);
                self.back(b, negative(over(times(ct, [above]), squared)))
            }
            Kind::Sum(terms) => {
                let all = e.laid(self.program);
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
                let ct = self.closed(ct, &e.laid(self.program));
                let copy = self.copy(body);
                let ct = self.reduced(*how, copy, ct, axes)?;
                self.back(body, ct)
            }
            Kind::Call(call) => self.call(e, call, ct),
            _ => None,
        }
    }

    /// The cotangent of a term that is repeated along indices of its neighbours, which nothing else has: once for each
    /// position.
    fn repeated(&self, whole: &Expr, all: &[Name], term: &Expr, ct: Expr) -> Option<Expr> {
        let mut said = term.laid(self.program);
        said.extend(ct.laid(self.program));
        let missing: Names = all.iter().filter(|n| !said.contains(n)).cloned().collect();
        let mut ones = Vec::new();
        for index in &missing {
            let having = |e| having(e, index, self.program);
            ones.push(self.ones(index, having(whole).or_else(|| having(&self.equation.value))?)?);
        }
        Some(times(ct, ones))
    }

    /// Ones along an index of a tensor.
    fn ones(&self, index: &Name, r: &Ref) -> Option<Expr> {
        let mut taken = self.all.clone();
        let mut names = HashMap::new();
        for other in keys(r).into_iter().filter(|k| k != index) {
            let new = fresh(&other, &taken, self.program);
            taken.insert(new.clone());
            names.insert(other, new);
        }
        let like = reference(r.name.clone(), plain(&r.places)).renamed(&names);
        let all = self.made("ones_like".into(), vec![like], Vec::new(), None)?;
        let gone: Names = names.into_values().collect();
        if gone.is_empty() {
            return Some(all);
        }
        Some(bare(Kind::Reduce(Projection::Max, gone.into_iter().collect(), Box::new(all), Origin::Written)))
    }

    /// True if the equation mentions an index outside of one of its parts too.
    fn is_used_outside(&self, part: &Expr, index: &Name) -> bool {
        let mut own = HashMap::new();
        part.mentions(&mut own);
        self.mentions.get(index) > own.get(index)
    }

    /// A copy of a part for another line, with new names for its inner indices.
    fn copy(&mut self, e: &Expr) -> Expr {
        let free = e.laid(self.program);
        let inner = |n: &Name| !free.contains(n) && !self.is_used_outside(e, n);
        let inner: Names = e.index_names().into_iter().filter(inner).collect();
        let mut taken: Names = self.all.union(&self.walk.introduced).cloned().collect();
        let mut names = HashMap::new();
        for name in inner {
            let new = fresh(&name, &taken, self.program);
            taken.insert(new.clone());
            self.walk.introduced.insert(new.clone());
            names.insert(name, new);
        }
        e.renamed(&names)
    }

    /// A cotangent for something with these indices: summed over the others, except for those that one tensor only has.
    /// They are summed with the line.
    fn closed(&self, ct: Expr, own: &[Name]) -> Expr {
        let refs = ct.refs();
        let several = |n: &Name| refs.iter().filter(|r| keys(r).contains(n)).count() > 1;
        let others = ct.laid(self.program).into_iter().filter(|n| !own.contains(n) && several(n));
        match others.collect::<Vec<_>>() {
            none if none.is_empty() => ct,
            others => bare(Kind::Reduce(Projection::Sum, others, Box::new(ct), Origin::Product)),
        }
    }

    /// The cotangent of a positional call that is a part of a right side. Indices that the result lacks would be taken for
    /// names of its axes.
    fn without_others(&self, e: &Expr, ct: Expr) -> Expr {
        let own = e.laid(self.program);
        match self.sorted(ct.laid(self.program), |n| !own.contains(n)) {
            none if none.is_empty() => ct,
            others => bare(Kind::Reduce(Projection::Sum, others, Box::new(ct), Origin::Written)),
        }
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
            return self.back(base, times(ct, factors));
        }
        let own = distinct(base.laid(self.program).into_iter().chain(exponent.laid(self.program)));
        let ct = self.closed(ct, &own);
        for (part, name) in [(base, "x"), (exponent, "y")] {
            let args = vec![x.clone(), y.clone(), ct.clone()];
            let ct = self.made("pow_grad".into(), args, vec![("wrt".into(), text(name))], None)?;
            self.back(part, ct)?;
        }
        Some(())
    }

    fn call(&mut self, e: &Expr, c: &Call, ct: Expr) -> Option<()> {
        // A warning belongs to it.
        if &*c.function == "sig" && c.args.len() == 1 {
            return None;
        }
        let surface = c.surface();
        let derivative = c.callee.derivative_of(&surface);
        match derivative {
            Derivative::Stop => return Some(()),
            Derivative::None | Derivative::Parts(_) => return None,
            Derivative::Core | Derivative::OfResult => {}
        }
        let args: Vec<Expr> = c.args.iter().map(|a| self.copy(&a.value)).collect();
        let function = Name::from(format!("{}_grad", c.function));
        let is_wrt = |s: &&(Name, ast::Expr)| &*s.0 == "wrt";
        let pulled = c.settings.iter().any(|s| is_wrt(&s));
        if derivative == Derivative::OfResult {
            let ct = self.closed(ct, &e.laid(self.program));
            let y = match self.result(e) {
                Some(y) => y,
                None => settled(self.copy(e)),
            };
            let ct = self.derivative(c, function, vec![y, ct], c.settings.clone())?;
            return self.back(&c.args[0].value, ct);
        }
        if c.callee.shape() == Shape::Pointwise && args.len() == 1 && !pulled {
            let slope = self.derivative(c, function, args, c.settings.clone())?;
            return self.back(&c.args[0].value, times(ct, [slope]));
        }
        let ct = self.closed(ct, &e.laid(self.program));
        let whole = self.equation.value == *e;
        let ct = match &c.callee.base {
            Base::User(_) => self.without_others(e, ct),
            _ if c.callee.shape() == Shape::Positional && !whole => self.without_others(e, ct),
            _ => ct,
        };
        let (params, still) = (c.callee.bound(c.args.len(), pulled), c.callee.still(&surface));
        for (i, arg) in c.args.iter().enumerate() {
            let Some(param) = params.get(i) else { continue };
            if still[i] {
                continue;
            }
            let all = args.iter().cloned().chain([ct.clone()]).collect();
            let settings = super::back::with_respect_to(&c.settings, &param.name);
            let ct = self.derivative(c, function.clone(), all, settings)?;
            self.back(&arg.value, ct)?;
        }
        Some(())
    }

    /// A call of the derivative of a call, with the same axes and temperature.
    fn derivative(
        &self,
        c: &Call,
        function: Name,
        args: Vec<Expr>,
        settings: Vec<(Name, ast::Expr)>,
    ) -> Option<Expr> {
        let made = Call::made(function, args, settings, c.axes.clone(), c.like.clone(), self.program)?;
        Some(bare(Kind::Call(Box::new(made))))
    }

    fn made(
        &self,
        function: Name,
        args: Vec<Expr>,
        settings: Vec<(Name, ast::Expr)>,
        axes: Option<Vec<Name>>,
    ) -> Option<Expr> {
        let like = self.equation.target.name.clone();
        let made = Call::made(function, args, settings, axes, like, self.program)?;
        Some(bare(Kind::Call(Box::new(made))))
    }

    /// `max_grad(body, ct, axis="j", wrt="x")` and the like.
    fn reduced(&self, how: Projection, body: Expr, ct: Expr, axes: Vec<Name>) -> Option<Expr> {
        let function = match how {
            Projection::Avg => "mean_grad",
            Projection::Max => "max_grad",
            Projection::Min => "min_grad",
            Projection::Prod => "prod_grad",
            Projection::Sum => "sum_grad",
        };
        self.made(function.into(), vec![body, ct], vec![("wrt".into(), text("x"))], Some(axes))
    }

    /// A read of the left side, if it equals this expression.
    fn result(&self, e: &Expr) -> Option<Expr> {
        let target = &self.equation.target;
        let d = self.program.definition(&target.name)?;
        let left: Names = keys(target).into_iter().collect();
        let same = e.laid(self.program).into_iter().collect::<Names>() == left;
        let alone = d.equations.len() == 1 && self.equation.value == *e;
        (alone && same).then(|| reference(target.name.clone(), plain(&target.places)))
    }

    /// Emits the line that adds a cotangent to the gradient of a tensor.
    fn contribute(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        if !self.flows(r) {
            return Some(());
        }
        if r.places.iter().any(is_cut) {
            return self.contribute_part(r, ct);
        }
        let places = plain(&r.places);
        let free = ct.laid(self.program);
        let sized: Vec<Name> = ct.refs().into_iter().flat_map(keys).collect();
        let mut ct = ct;
        if keys(r).iter().any(|k| !free.contains(k) || !sized.contains(k)) {
            let own = reference(r.name.clone(), places.clone());
            ct = times(ct, [self.made("ones_like".into(), vec![own], Vec::new(), None)?]);
        }
        let name = self.walk.name(&r.name);
        self.emit(Ref { name, places, relation: false, span: Span::default() }, ct)
    }

    /// Emits the line that adds a cotangent of a part to the gradient of the entire tensor.
    fn contribute_part(&mut self, r: &Ref, ct: Expr) -> Option<()> {
        let ct = self.closed(ct, &keys(r));
        let mut taken: Names = ct.index_names().into_iter().chain(keys(r)).collect();
        let own = self.program.definition(&r.name).map(|d| d.places.clone()).unwrap_or_default();
        let (mut places, mut at): (Vec<Place>, Vec<String>) = Default::default();
        for (i, place) in r.places.iter().enumerate() {
            if is_cut(place) {
                let name = match own.get(i).map(|p| &p.index) {
                    Some(Index::Named(n, _)) => n.clone(),
                    _ => self.walk.unnamed(),
                };
                let name = fresh(&name, &taken, self.program);
                taken.insert(name.clone());
                places.push(Place::named(&name));
                let constant = place.index.constant().map(|at| at.to_string());
                at.push(constant.unwrap_or_else(|| place.index.to_string()));
                continue;
            }
            // A repeated index is one axis, at its first appearance; ranges have got other names.
            if !places.iter().any(|p| key(p) == key(place)) {
                at.push(":".into());
            }
            places.push(Place { dotted: false, ..place.clone() });
        }
        let whole = reference(r.name.clone(), places.clone());
        let settings = vec![("at".into(), text(&at.join(", "))), ("wrt".into(), text("x"))];
        let ct = self.made("slice_grad".into(), vec![whole, ct], settings, None)?;
        let name = self.walk.name(&r.name);
        self.emit(Ref { name, places, relation: false, span: Span::default() }, ct)
    }

    fn emit(&mut self, target: Ref, value: Expr) -> Option<()> {
        let mut value = self.with_few_primes(&target, value);
        if !self.has_sizes(&value) {
            return None;
        }
        alone(&mut value);
        let open = value.laid(self.program).iter().any(|n| !keys(&target).contains(n));
        if let Kind::Call(call) = &mut value.kind {
            call.whole = !open;
        }
        let (projection, number, span) = (Projection::Sum, self.equation.number, self.equation.span);
        let (guard, by_step, is_file) = (None, false, false);
        let equation = Equation { target, guard, projection, value, by_step, is_file, number, span };
        let printed = equation.printed(self.program)?;
        self.lines.push(line(printed.target, printed.value, span));
        Some(())
    }

    /// True if something in a value gives a size to the indices of functions of an index.
    fn has_sizes(&self, value: &Expr) -> bool {
        let given = |n: &Name| {
            let has = |r: &Ref| r.places.iter().any(|p| matches!(&p.index, Index::Named(own, _) if own == n));
            self.program.axes.contains_key(n) || value.any_ref(&mut |r| has(r))
        };
        !value.any(&|e| matches!(&e.kind, Kind::Of(_, _, index) if !given(index)))
    }

    /// Renames the new inner indices so that they have no more primes than this line needs.
    fn with_few_primes(&self, target: &Ref, value: Expr) -> Expr {
        let introduced = &self.walk.introduced;
        let all: Names = value.index_names().into_iter().collect();
        let left = keys(target);
        let stem = |n: &str| Name::from(n.trim_end_matches('\''));
        let declared = |n: &Name| self.program.axes.keys().any(|a| a.ends_with('\'') && stem(a) == stem(n));
        let inner = |n: &Name| introduced.contains(n) && !left.contains(n) && !declared(n);
        if !all.iter().any(inner) {
            return value;
        }
        let mut taken: Names = all.iter().filter(|n| !inner(n)).cloned().collect();
        taken.extend(left.iter().cloned());
        let mut names = HashMap::new();
        for name in in_order(&value.surface(), &all).into_iter().filter(inner) {
            let new = fresh(&stem(&name), &taken, self.program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        value.renamed(&names)
    }
}

/// A tensor with an index that is free in an expression and has there the size of an axis.
fn having<'e>(e: &'e Expr, index: &Name, program: &Program) -> Option<&'e Ref> {
    match &e.kind {
        Kind::Ref(r) => Some(r).filter(|r| keys(r).contains(index)),
        Kind::Reduce(_, axes, ..) if axes.contains(index) => None,
        Kind::Call(c) => {
            let stays = || e.laid(program).contains(index);
            let by_name = match (&c.callee.base, c.callee.shape()) {
                (Base::User(_), _) | (_, Shape::Reduce | Shape::ReduceOne) => stays(),
                (_, shape) => matches!(shape, Shape::Pointwise | Shape::Along),
            };
            c.args.iter().filter(|_| by_name).find_map(|a| having(&a.value, index, program))
        }
        _ => e.parts().into_iter().find_map(|p| having(p, index, program)),
    }
}

/// A call with its axes among its settings, so that its text has them.
fn settled(mut e: Expr) -> Expr {
    if let Kind::Call(call) = &mut e.kind {
        call.settings = call.surface().named;
        call.settings.retain(|(k, _)| &**k != "like");
    }
    e
}

/// Marks calls as parts of a right side, which copies of entire right sides become.
fn alone(e: &mut Expr) {
    e.change_parts(&mut alone);
    if let Kind::Call(call) = &mut e.kind {
        call.whole = false;
    }
}
