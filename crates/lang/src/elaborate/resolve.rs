//! Name resolution: relations among calls, functions, keywords, ranks, exports. Runs before sizes are known.

use super::collect::Seen;
use super::scope::keys;
use super::symbols::{compare_indices, number_symbols, refuse_symbols};
use crate::builtin::{self, Callee};
use crate::program::{Definition, Program};
use crate::syntax::ast::{Call, Comparison, Equation, Expr, Function, Index, Kind, Name, Place, Ref};
use crate::syntax::diagnostic::{Diagnostic, add_near};
use crate::syntax::order::components;
use crate::syntax::parse::{MAX_NESTED, places_of};
use crate::syntax::source::Span;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Program {
    pub(crate) fn resolve(&mut self, faults: &mut Vec<Diagnostic>) -> Seen {
        let defined: HashSet<Name> = self.equations.iter().map(|e| e.target.name.clone()).collect();
        let mut params: HashMap<Name, Span> = HashMap::new();
        for (name, p) in &self.params {
            if let Some(before) = params.insert(name.clone(), p.span) {
                let what = format!("`{name}` is declared twice");
                faults.push(Diagnostic::error(p.span, what).and(before, "first here").about(name));
            }
        }
        let equations = std::mem::take(&mut self.equations);
        let look = Look { program: self, defined: &defined, params: &params, formal: &[], relation: false };
        let mut found = Vec::with_capacity(equations.len());
        equations.into_iter().for_each(|e| look.equation(e, &mut found, faults));
        number_symbols(&mut found, faults);
        self.hold_states(&mut found, faults);
        let mut sinks = std::mem::take(&mut self.sinks);
        let look = Look { program: self, defined: &defined, params: &params, formal: &[], relation: false };
        sinks.iter_mut().for_each(|(_, e, _)| look.expr(e, faults));
        (self.equations, self.sinks) = (found, sinks);
        self.name_sinks();
        self.resolve_functions(&params, faults);
        self.write_time_out();
        self.write_fixed_steps();
        let seen = self.define();
        self.check_names(faults);
        let joined = self.joined();
        self.check_left_ranges(&joined, faults);
        self.check_kinds(&joined, faults);
        self.check_reductions(&joined, faults);
        if seen.uneven {
            self.check_ranks(faults);
        }
        self.check_params(faults);
        self.check_times(seen.timed, faults);
        self.check_bounded(faults);
        if seen.timed || !self.functions.is_empty() {
            self.check_sums(faults);
        }
        self.check_terms(faults);
        if seen.relations {
            self.check_negation(faults);
        }
        for (name, span) in &self.exports {
            if self.definition(name).is_none() {
                let what = format!("`{name}` is exported, but no equation defines or reads it");
                let names = self.names.iter().map(|n| &**n);
                add_near(faults, Diagnostic::error(*span, what), name, names);
            }
        }
        seen
    }

    /// Resolves the names of an expression.
    pub(super) fn looked_up(&self, e: &Expr, faults: &mut Vec<Diagnostic>) -> Expr {
        let defined = self.equations.iter().map(|e| e.target.name.clone()).collect();
        let params = self.params.iter().map(|(n, p)| (n.clone(), p.span)).collect();
        let mut out = e.clone();
        Look { program: self, defined: &defined, params: &params, formal: &[], relation: false }
            .expr(&mut out, faults);
        out
    }

    /// Returns the names with several equations, in order.
    fn joined(&self) -> Vec<&Definition> {
        let mut out: Vec<_> = self.definitions.values().filter(|d| d.equations.len() > 1).collect();
        out.sort_by_key(|d| d.equations[0]);
        out
    }

    /// Refuses ranges on the left that seem to select a part: such a range is a name for the entire axis.
    fn check_left_ranges(&self, joined: &[&Definition], faults: &mut Vec<Diagnostic>) {
        let range = |p: &&Place| matches!(p.index, Index::Slice(None, ..));
        for d in joined {
            for at in 0..d.rank {
                let own = || d.equations.iter().map(|i| &self.equations[*i].target);
                let Some(first) = own().filter_map(|t| t.places.get(at)).find(range) else { continue };
                let part = |p: &&Place| p.index.constant().is_some() || range(p) && p.index != first.index;
                if let Some(other) = own().filter_map(|t| t.places.get(at)).find(part) {
                    let what = "a range on the left is a name for an entire axis; it does not select a part";
                    let fault = Diagnostic::error(first.span, what).and(other.span, "also written here");
                    faults.push(fault.help("write offsets (B[i+1] = V[i]) or single positions (B[0] = 5)"));
                }
            }
        }
    }

    /// Refuses names that lines of gradient programs call.
    fn check_names(&self, faults: &mut Vec<Diagnostic>) {
        let help = |what: &str| format!("give the {what} another name");
        for (name, f) in &self.functions {
            if let Some(why) = builtin::taken(name, true, self) {
                faults.push(Diagnostic::error(f.span, why).help(help("function")).about(name));
            }
        }
        for name in &self.names {
            if let Some(why) = builtin::taken(name, false, self)
                && let Some(d) = self.definition(name)
            {
                faults.push(Diagnostic::error(d.span, why).help(help("tensor")).about(name));
            }
        }
    }

    fn resolve_functions(&mut self, params: &HashMap<Name, Span>, faults: &mut Vec<Diagnostic>) {
        let mut resolved = HashMap::new();
        for (name, f) in &self.functions {
            let mut own: HashSet<Name> = f.body.iter().map(|e| e.target.name.clone()).collect();
            if !own.contains(&f.result.name) {
                let what = format!("no equation of `{name}` defines its result `{}`", f.result.name);
                let fault = Diagnostic::error(f.result.span, what);
                faults.push(fault.about(name).about(&f.result.name));
            }
            own.extend(f.params.iter().map(|p| p.name.clone()));
            let formal: Vec<Name> = f.params.iter().chain([&f.result]).flat_map(keys).collect();
            let look = Look { program: self, defined: &own, params, formal: &formal, relation: false };
            let mut body = Vec::with_capacity(f.body.len());
            f.body.iter().for_each(|e| look.equation(e.clone(), &mut body, faults));
            refuse_symbols(&body, faults);
            for r in body.iter().flat_map(Equation::reads) {
                if !own.contains(&r.name) && !params.contains_key(&r.name) {
                    let what = format!("`{}` is neither a parameter of `{name}` nor defined in it", r.name);
                    let near = own.iter().map(|n| &**n);
                    add_near(faults, Diagnostic::error(r.span, what).about(name), &r.name, near);
                }
            }
            resolved.insert(name.clone(), Arc::new(Function { body, ..(**f).clone() }));
        }
        self.functions = resolved;
        let names: Vec<&Name> = self.functions.keys().collect();
        let at: HashMap<&Name, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let called = |name: &Name| {
            let mut called = Vec::new();
            let parts = self.functions[name].body.iter().flat_map(|e| [&e.value].into_iter().chain(&e.guard));
            parts.for_each(|e| callees(e, &mut called));
            called.iter().filter_map(|n| at.get(n).copied()).collect()
        };
        let needs: Vec<Vec<usize>> = names.iter().map(|n| called(n)).collect();
        let mut deep = vec![0; names.len()];
        for group in components(&needs) {
            let fault = |i: usize, what: String| {
                Diagnostic::error(self.functions[names[i]].span, what).about(names[i])
            };
            if group.len() > 1 || needs[group[0]].contains(&group[0]) {
                let own = |i: &usize| fault(*i, format!("the function `{}` calls itself", names[*i]));
                faults.extend(group.iter().map(own));
                continue;
            }
            // Calls nest on the stack, so their depth is limited.
            let at = group[0];
            deep[at] = needs[at].iter().map(|i| deep[*i] + 1).max().unwrap_or(0);
            if deep[at] == MAX_NESTED {
                let what =
                    format!("from `{}` on, functions call functions more than {MAX_NESTED} deep", names[at]);
                faults.push(fault(at, what));
            }
        }
    }

    /// Checks that the left sides of a name are all relations or all tensors.
    fn check_kinds(&self, joined: &[&Definition], faults: &mut Vec<Diagnostic>) {
        for d in joined {
            let mut targets = d.equations.iter().map(|i| &self.equations[*i].target);
            let Some(first) = targets.next() else { continue };
            if let Some(other) = targets.find(|t| t.relation != first.relation) {
                let kind = |r: &Ref| if r.relation { "a relation here" } else { "a tensor here" };
                let what = format!("`{}` is a relation and a tensor", first.name);
                let fault = Diagnostic::error(other.span, what)
                    .here(kind(other))
                    .and(first.span, kind(first))
                    .about(&first.name);
                faults.push(
                    fault.help("parentheses on the left make a name Boolean, brackets make it numbers"),
                );
            }
        }
    }

    fn check_ranks(&self, faults: &mut Vec<Diagnostic>) {
        let check = |r: &Ref, faults: &mut Vec<Diagnostic>| {
            let Some(d) = self.definition(&r.name) else { return };
            if r.places.len() != d.rank && r.span != d.span {
                let count = |n: usize| if n == 1 { "1 index".into() } else { format!("{n} indices") };
                let what = format!(
                    "`{}` has {} here and {} elsewhere",
                    r.name,
                    count(r.places.len()),
                    count(d.rank)
                );
                let there = if d.equations.is_empty() { "first read here" } else { "defined here" };
                faults.push(Diagnostic::error(r.span, what).and(d.span, there).about(&r.name));
            }
        };
        for e in &self.equations {
            check(&e.target, faults);
            for r in e.reads() {
                check(r, faults);
            }
        }
    }

    fn check_params(&self, faults: &mut Vec<Diagnostic>) {
        let numbers = match self.numbers(&HashMap::new()) {
            Ok(numbers) => numbers,
            Err(fault) => return faults.push(fault),
        };
        for (name, (size, span)) in &self.axes {
            match number(size, &numbers) {
                Ok(x) if x.fract() == 0.0 && (0.0..9.0e15).contains(&x) => {}
                Ok(x) if x.fract() == 0.0 && x > 0.0 => {
                    let what = format!("the size of `{name}` is too large: {x}");
                    faults.push(Diagnostic::error(*span, what).about(name));
                }
                Ok(x) => {
                    let what = format!("the size of `{name}` must be a whole number, not {x}");
                    faults.push(Diagnostic::error(*span, what).about(name));
                }
                Err(fault) => faults.push(fault),
            }
        }
    }

    /// Returns the declared size of an index for these values of the parameters.
    pub fn size(&self, index: &str, numbers: &HashMap<Name, f64>) -> Option<usize> {
        let (size, _) = self.axes.get(index)?;
        number(size, numbers).ok().filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as usize)
    }

    /// Returns the values of the parameters; `set` overrides some.
    pub fn numbers(&self, set: &HashMap<Name, f64>) -> Result<HashMap<Name, f64>, Diagnostic> {
        let mut out = HashMap::new();
        for (name, p) in &self.params {
            let x = match set.get(name) {
                Some(x) => *x,
                None => number(&p.value, &out)?,
            };
            if p.whole && x.fract() != 0.0 {
                let what = format!("`{name}` must be a whole number, not {x}");
                return Err(Diagnostic::error(p.span, what).about(name));
            }
            out.insert(name.clone(), x);
        }
        Ok(out)
    }
}

/// Returns the value of an expression of numbers and parameters.
pub(crate) fn number(e: &Expr, known: &HashMap<Name, f64>) -> Result<f64, Diagnostic> {
    let two = |two: &[Expr; 2]| Ok::<_, Diagnostic>((number(&two[0], known)?, number(&two[1], known)?));
    Ok(match &e.kind {
        Kind::Number(x) => *x,
        Kind::Array(a) if a.shape.is_empty() => {
            let x = a.numbers.first().copied().unwrap_or(0.0);
            match a.whole.as_ref().and_then(|w| w.first()).filter(|n| x as i64 != **n) {
                Some(n) => {
                    let what = format!("numbers known before the run are floats, and no float is {n}");
                    return Err(Diagnostic::error(e.span, what).help("write the number where it is used"));
                }
                None => x,
            }
        }
        Kind::Ref(r) if r.places.is_empty() => *known.get(&r.name).ok_or_else(|| {
            let what = format!("`{}` is not a number that is known before the run", r.name);
            Diagnostic::error(e.span, what).nearest(&r.name, known.keys().map(|k| &**k))
        })?,
        Kind::Negative(x) => -number(x, known)?,
        Kind::Product(parts) => parts.iter().map(|p| number(p, known)).product::<Result<f64, _>>()?,
        Kind::Sum(parts) => parts.iter().map(|p| number(p, known)).sum::<Result<f64, _>>()?,
        Kind::Quotient(parts) => two(parts).map(|(a, b)| a / b)?,
        Kind::Power(parts) => two(parts).map(|(a, b)| a.powf(b))?,
        Kind::Call(call) if &*call.function == "const" && call.args.len() == 1 => {
            number(&call.args[0], known)?
        }
        _ => return Err(Diagnostic::error(e.span, "expected numbers and parameters only")),
    })
}

/// Collects the functions that an expression calls, and those whose derivatives it calls.
fn callees(e: &Expr, out: &mut Vec<Name>) {
    if let Kind::Call(call) = &e.kind {
        out.push(builtin::stem(&call.function).0.into());
        out.push(call.function.clone());
    }
    e.parts().into_iter().for_each(|p| callees(p, out));
}

/// The context of name resolution.
struct Look<'a> {
    program: &'a Program,
    defined: &'a HashSet<Name>,
    /// The parameters, with the locations of their declarations.
    params: &'a HashMap<Name, Span>,
    /// In a function, the indices of its parameters and its result.
    formal: &'a [Name],
    /// If true, the left side is a relation: then unknown calls with indices as arguments are relations too.
    relation: bool,
}

impl Look<'_> {
    /// Resolves the names of an equation. A relation is split into terms only then, because it is known which terms
    /// are Boolean.
    fn equation(&self, mut e: Equation, out: &mut Vec<Equation>, faults: &mut Vec<Diagnostic>) {
        let look = Look { relation: e.target.relation, ..*self };
        look.expr(&mut e.value, faults);
        e.guard.iter_mut().for_each(|g| look.expr(g, faults));
        look.places(&mut e.target, faults);
        faults.extend(super::positions::summed_inside(&e));
        faults.extend(super::symbols::compared_symbol(&e));
        for r in e.reads().into_iter().chain([&e.target]) {
            let number = |p: &&Place| matches!(&p.index, Index::Named(n, _) if self.is_number(n));
            if let Some(place) = r.places.iter().find(number)
                && let Index::Named(name, by) = &place.index
            {
                let what = format!("`{name}` is a number of this program, so it cannot be an index too");
                let number = |x: i64| Kind::Number(x as f64).bare();
                let alone = Ref { name: name.clone(), places: Vec::new(), relation: false, span: place.span };
                let mut at = vec![Kind::Ref(alone).bare()];
                match by {
                    0 => {}
                    1.. => at.push(number(*by)),
                    _ => at.push(Kind::Negative(Box::new(number(-by))).bare()),
                }
                let at = if at.len() == 1 { at.remove(0) } else { Kind::Sum(at).bare() };
                let mut read = r.clone();
                let own = read.places.iter_mut().filter(|p| p.index == place.index);
                own.for_each(|p| p.index = Index::Computed(Box::new(at.clone())));
                let help = format!("write {read} for a position, or give the index another name");
                faults.push(Diagnostic::error(place.span, what).help(help).about(name));
            }
        }
        compare_indices(&mut e, |n| !self.defined.contains(n) && !self.params.contains_key(n));
        if let Some(span) = self.params.get(&e.target.name) {
            let what = format!("`{}` is a parameter and cannot have an equation", e.target.name);
            let fault = Diagnostic::error(e.target.span, what).and(*span, "declared here");
            faults.push(fault.about(&e.target.name));
        }
        match e.target.relation {
            true => super::collect::terms(e, out),
            false => out.push(e),
        }
    }

    fn expr(&self, e: &mut Expr, faults: &mut Vec<Diagnostic>) {
        if let Some(truth) = self.truth(e) {
            *e = truth;
            return;
        }
        if let Kind::Ref(r) = &e.kind
            && r.name.as_bytes().contains(&b':')
            && !self.defined.contains(&r.name)
        {
            let numbers = || self.program.params.iter().map(|p| &*p.0);
            if !r.places.is_empty() || !numbers().any(|n| *n == *r.name) {
                let what = format!("no import defines the number `{}`", r.name);
                add_near(faults, Diagnostic::error(e.span, what), &r.name, numbers());
            }
            return;
        }
        if let Kind::Ref(r) = &mut e.kind {
            return self.places(r, faults);
        }
        let Kind::Call(call) = &e.kind else {
            return e.change_parts(&mut |part| self.expr(part, faults));
        };
        if self.defined.contains(&call.function) || self.is_input_relation(call) {
            *e = self.relation(call, e, faults);
            return;
        }
        // A bare name after a keyword is a word, such as `true`.
        let bare = |e: &Expr| matches!(&e.kind, Kind::Ref(r) if r.places.is_empty());
        let span = e.span;
        let Kind::Call(call) = &mut e.kind else { return };
        call.named.iter_mut().filter(|(_, v)| !bare(v)).for_each(|(_, v)| self.expr(v, faults));
        call.args.iter_mut().for_each(|a| self.expr(a, faults));
        if let Some(of_index) = self.call(call, span, faults) {
            e.kind = of_index;
        }
    }

    /// Returns true if a name between brackets is a parameter, not an index.
    fn is_number(&self, name: &Name) -> bool {
        let index = || self.program.axes.contains_key(name) || self.formal.contains(name);
        !self.defined.contains(name) && self.params.contains_key(name) && !index()
    }

    /// Resolves index arithmetic and computed indices.
    fn places(&self, r: &mut Ref, faults: &mut Vec<Diagnostic>) {
        for place in &mut r.places {
            if let Index::Computed(e) = &mut place.index {
                let is_number = |n: &Name| self.is_number(n);
                let is_index = |n: &Name| !self.defined.contains(n) && !self.is_number(n);
                let is = super::positions::Meaning { index: &is_index, number: &is_number };
                place.index = match super::positions::resolved(e, &is) {
                    Some(index) => index,
                    None => {
                        super::positions::indices_as_numbers(e, &is_index);
                        self.expr(e, faults);
                        Index::Computed(e.clone())
                    }
                };
            }
        }
    }

    /// Returns the value of `true`, `false` and `inf`, unless the program defines the name.
    fn truth(&self, e: &Expr) -> Option<Expr> {
        let Kind::Ref(r) = &e.kind else { return None };
        let known =
            || !r.places.is_empty() || self.defined.contains(&r.name) || self.params.contains_key(&r.name);
        if &*r.name == "inf" {
            return (!known()).then(|| Kind::Number(f64::INFINITY).at(e.span));
        }
        let holds = match &*r.name {
            "true" => Comparison::Eq,
            "false" => Comparison::Ne,
            _ => return None,
        };
        if known() {
            return None;
        }
        let one = || Kind::Number(1.0).at(e.span);
        Some(Kind::Compare(holds, Box::new([one(), one()])).at(e.span))
    }

    /// Returns true for `Par(x, y)` on the right of a relation, if nothing defines `Par`: it is an input.
    fn is_input_relation(&self, call: &Call) -> bool {
        let known = || builtin::find(&call.function, self.program).is_some();
        let table = &*call.function == "table";
        self.relation && !table && call.named.is_empty() && places_of(&call.args).is_some() && !known()
    }

    fn relation(&self, call: &Call, e: &Expr, faults: &mut Vec<Diagnostic>) -> Expr {
        let places = if call.named.is_empty() { places_of(&call.args) } else { None };
        let Some(places) = places else {
            let what = format!("`{}` is a tensor of this program, not a function", call.function);
            faults.push(
                Diagnostic::error(e.span, what)
                    .help(format!("write {} * (…) to multiply", call.function))
                    .about(&call.function),
            );
            return e.clone();
        };
        Kind::Ref(Ref { name: call.function.clone(), places, relation: true, span: e.span }).at(e.span)
    }

    /// Normalises a call, or reports an error. Returns a replacement if it is a function of an index.
    fn call(&self, call: &mut Call, span: Span, faults: &mut Vec<Diagnostic>) -> Option<Kind> {
        if &*call.function == "table" && builtin::find("table", self.program).is_none() {
            faults.extend(super::symbols::check_table(call, span));
            return None;
        }
        if call.function.eq_ignore_ascii_case("const") && call.args.len() == 1 && call.named.is_empty() {
            call.function = "const".into();
            return None;
        }
        if call.function.eq_ignore_ascii_case("const") {
            let what = format!(
                "`const` takes one number or one list, not {} arguments",
                call.args.len() + call.named.len()
            );
            let all: Vec<String> = call.args.iter().map(Expr::to_string).collect();
            let listed = call.args.iter().all(|a| matches!(a.kind, Kind::Number(_))) && all.len() > 1;
            let fault = Diagnostic::error(span, what);
            let list = || format!("write const([{}])", all.join(", "));
            faults.push(if listed { fault.help(list()) } else { fault });
            return None;
        }
        if call.function.eq_ignore_ascii_case("softmax") && call.named.iter().any(|(k, _)| &**k == "mask") {
            call.function = "masked_softmax".into();
        }
        let Some(callee) = builtin::find(&call.function, self.program) else {
            if self.params.contains_key(&call.function) {
                let what = format!("`{}` is a number of this program, not a function", call.function);
                let help = format!("write {} * (…) to multiply", call.function);
                faults.push(Diagnostic::error(span, what).help(help).about(&call.function));
                return None;
            }
            let what = format!("there is no function `{}`", call.function);
            let user = self.program.functions.keys().map(|k| &**k);
            let fault = Diagnostic::error(span, what);
            let counts = "index(i) counts along an index, and axis i = n declares its size";
            match builtin::instead(&call.function).or((&*call.function == "range").then_some(counts)) {
                Some(why) => faults.push(fault.help(why).about(&call.function)),
                None => add_near(faults, fault, &call.function, builtin::names().chain(user)),
            }
            return None;
        };
        call.function = callee.name();
        if callee.is_of_index() {
            return self.of_index(call, span, faults);
        }
        faults.extend(self.arrange(&callee, call, span).err());
        None
    }

    /// `even(i)`, `odd(axis="i")`.
    fn of_index(&self, call: &Call, span: Span, faults: &mut Vec<Diagnostic>) -> Option<Kind> {
        let given = match (&call.args[..], &call.named[..]) {
            ([one], []) => Some(one),
            ([], [(key, one)]) if &**key == "axis" => Some(one),
            _ => None,
        };
        let index = given.and_then(|one| match &one.kind {
            Kind::Ref(r) if r.places.is_empty() => Some(r.name.clone()),
            Kind::Text(t) => Some(t.clone()),
            _ => None,
        });
        if index.is_none() {
            let what = format!("`{}` takes one index", call.function);
            let fault = Diagnostic::error(span, what).help(format!("write {}(i)", call.function));
            faults.push(fault.about(&call.function));
        }
        index.map(|index| Kind::Of(call.function.clone(), index))
    }

    /// Puts the tensors of a call in order and all other arguments under their keywords, or returns an error.
    fn arrange(&self, callee: &Callee, call: &mut Call, at: Span) -> Result<(), Diagnostic> {
        let signature = callee.signature();
        let is = || format!("the signature is {}", signature.text(&call.function));
        let params = callee.params();
        let many = params.first().is_some_and(|p| p.is_many());
        let own = if many { call.args.len() } else { call.args.len().min(params.len()) };
        let (spare, mut by_name) = (&call.args[own..], Vec::new());
        if spare.len() > signature.settings().len() {
            let what = format!("`{}` cannot take {} arguments", call.function, call.args.len());
            return Err(Diagnostic::error(at, what).help(is()).about(&call.function));
        }
        let keyed = signature.settings().zip(spare);
        let mut named: Vec<_> = keyed.map(|(key, value)| (Name::from(key), self.word(value))).collect();
        for (key, value) in &call.named {
            if signature.is_param(key) && !many {
                let place = params.iter().position(|p| p.name == *key);
                if place != Some(own + by_name.len()) {
                    let what = format!(
                        "`{key}` cannot be given by name: it is given already, or an argument before it is missing"
                    );
                    return Err(Diagnostic::error(value.span, what).help(is()).about(&call.function));
                }
                by_name.push(value.clone());
            } else if signature.takes(key) && !named.iter().any(|(k, _)| k == key) {
                named.push((key.clone(), self.word(value)));
            } else {
                let what = format!("`{}` has no keyword `{key}`", call.function);
                let fault = Diagnostic::error(self.keyword(key, value), what).about(&call.function);
                return Err(match crate::syntax::diagnostic::nearest(key, signature.words()) {
                    Some(near) => fault.help(format!("did you mean `{near}=`?")),
                    None => fault.help(is()),
                });
            }
        }
        for key in callee.keys() {
            let given = named.iter().find(|(k, _)| **k == *key.name).map(|(_, value)| value);
            let span = given.map_or(at, |value| value.span);
            key.literally(given).map_err(|fault| Diagnostic::error(span, fault.to_string()).help(is()))?;
        }
        let count = own + by_name.len();
        if count < signature.least() {
            let what = format!("`{}` needs {} arguments, {count} given", call.function, signature.least());
            return Err(Diagnostic::error(at, what).help(is()).about(&call.function));
        }
        call.args.truncate(own);
        call.args.extend(by_name);
        call.named = named;
        Ok(())
    }

    /// Returns the span of a keyword, searched before its value.
    fn keyword(&self, key: &Name, value: &Expr) -> Span {
        let text = self.program.sources.get(value.span.file as usize).map(|s| &s.text);
        let start = text.and_then(|t| t.get(..value.span.start as usize)).and_then(|t| t.rfind(&**key));
        start.map_or(value.span, |at| Span { start: at as u32, end: (at + key.len()) as u32, ..value.span })
    }

    /// Returns a setting: a bare name that is not a parameter of the program is a word.
    fn word(&self, e: &Expr) -> Expr {
        match &e.kind {
            Kind::Ref(r) if r.places.is_empty() && !self.params.contains_key(&r.name) => {
                Kind::Text(r.name.clone()).at(e.span)
            }
            Kind::List(parts) => Kind::List(parts.iter().map(|p| self.word(p)).collect()).at(e.span),
            _ => e.clone(),
        }
    }
}
