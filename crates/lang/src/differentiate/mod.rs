//! The gradient of a program as a program: one line per contribution, in reverse order. Reads Core; the printer of Core
//! writes the lines.
//!
//! Only index algebra is differentiated here. For a call, the line calls the function's derivative (`f_grad`), which
//! is the vjp of its ops.

mod along;
mod assumed;
mod backward;
mod branch;
mod complex;
mod held;
mod lines;
mod merge;
mod needed;
mod parts;
mod scatter;

pub(crate) use needed::{Needed, condition, where_needed};

use crate::builtin::Derivative;
use crate::elaborate::{core, elaborate_all};
use crate::program::{Definition, Faults, Program};
use crate::syntax::ast::{Call, Equation, Expr, Function, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::limit::MAX_CALLS;
use crate::syntax::source::Span;
use std::collections::{BTreeMap, HashSet};

/// Options of `Program::gradient`.
#[derive(Clone, Debug, Default)]
pub struct GradientOptions {
    /// The scalar to differentiate; without, `Loss`, or the only scalar that nothing else uses.
    pub loss: Option<Name>,
    /// The names whose gradients are wanted; if empty, all.
    pub wrt: Vec<Name>,
    /// True to write all contributions to one gradient on one line.
    pub merged: bool,
    /// The inputs that are complex numbers; the others are real.
    pub complex: Vec<Name>,
}

/// Gradient equations.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// The scalar that was differentiated.
    pub loss: Name,
    /// The equations, in order.
    pub equations: Vec<Equation>,
    /// The names that have a gradient, each with the gradient's name.
    pub names: BTreeMap<Name, Name>,
    /// Warnings: expressions without a derivative where one would be needed.
    pub warnings: Vec<Diagnostic>,
}

impl Gradient {
    /// Returns the equations as text, one per line.
    pub fn text(&self) -> String {
        self.equations.iter().map(|e| format!("{e}\n")).collect()
    }
}

impl Program {
    /// Returns the gradient equations of a scalar.
    pub fn gradient(&self, options: &GradientOptions) -> Result<Gradient, Faults> {
        self.differentiated(options).map_err(|faults| Faults { sources: self.sources.clone(), faults })
    }

    /// Refuses times that end by a condition only: the number of steps is not known before the run, so there is no
    /// backward pass.
    fn check_ends(&self, reached: &HashSet<Name>) -> Result<(), Vec<Diagnostic>> {
        if self.times.is_empty() {
            return Ok(());
        }
        let ends = |e: &&Equation| moving(&e.target.places).is_some_and(|t| self.times.contains_key(t.0));
        let mut called = Vec::new();
        let own = self.equations.iter().filter(|e| reached.contains(&e.target.name));
        own.clone().for_each(|e| self.bodies(&e.value, &mut called));
        let Some(e) = own.chain(called.iter().flat_map(|f| &f.body)).find(ends) else { return Ok(()) };
        let what = format!("`{}` has no derivative: its time ends by a condition only", e.target.name);
        let ends = moving(&e.target.places).and_then(|t| Some((t.0, &self.times.get(t.0)?.0)));
        let help =
            ends.map(|(t, go)| format!("declare the largest number of steps: axis {t} = 100 while {go}"));
        let fault = Diagnostic::error(e.target.span, what).help(help.unwrap_or_default());
        Err(vec![fault.about(&e.target.name)])
    }

    /// Collects the program's own functions that an expression calls, directly or through others.
    fn bodies<'a>(&'a self, e: &Expr, out: &mut Vec<&'a Function>) {
        if let Kind::Call(c) = &e.kind
            && let Some(f) = self.functions.get(crate::builtin::stem(&c.function).0)
            && !out.iter().any(|g| g.name == f.name)
        {
            out.push(f);
            f.body.iter().for_each(|e| self.bodies(&e.value, out));
        }
        e.parts().into_iter().for_each(|p| self.bodies(p, out));
    }

    /// Refuses programs with too many calls: these could not run, and differentiation would visit each call.
    fn check_calls(&self) -> Result<(), Diagnostic> {
        let mut known = BTreeMap::new();
        let mut all = 0usize;
        for e in &self.equations {
            all = all.saturating_add(self.calls_in(&e.value, &mut known));
            if all > MAX_CALLS {
                let what = format!("the program calls its own functions more than {MAX_CALLS} times");
                return Err(Diagnostic::error(e.value.span, what).here("called here"));
            }
        }
        Ok(())
    }

    /// Returns the number of calls of the program's own functions that an expression leads to; `known` caches
    /// it by function.
    fn calls_in<'a>(&'a self, e: &'a Expr, known: &mut BTreeMap<&'a str, usize>) -> usize {
        let own = match &e.kind {
            Kind::Call(c) => self.functions.get(crate::builtin::stem(&c.function).0),
            _ => None,
        };
        let here = own.map_or(0, |f| match known.get(&*f.name) {
            Some(count) => *count,
            None => {
                let within = f.body.iter().map(|e| self.calls_in(&e.value, known));
                let count = within.fold(1, usize::saturating_add);
                known.insert(&f.name, count);
                count
            }
        });
        e.parts().into_iter().map(|p| self.calls_in(p, known)).fold(here, usize::saturating_add)
    }

    fn differentiated(&self, options: &GradientOptions) -> Result<Gradient, Vec<Diagnostic>> {
        let loss = self.loss(options).map_err(|d| vec![d])?;
        let whole = Span::NOWHERE;
        if let Some(name) = options.complex.iter().find(|n| !self.is_input(n)) {
            let what = format!("`{name}` is declared complex, but is not an input");
            return Err(vec![Diagnostic::error(whole, what).nearest(name, self.inputs().map(|n| &**n))]);
        }
        for name in &options.wrt {
            if let Some(d) = self.definition(name).filter(|d| d.relation) {
                let what = format!("`{name}` is a Boolean relation and has no gradient");
                return Err(vec![Diagnostic::error(d.span, what).about(name)]);
            }
            if self.definition(name).is_none() {
                let what = format!("cannot differentiate with respect to `{name}`: there is no such tensor");
                let names = self.names.iter().map(|n| &**n);
                return Err(vec![Diagnostic::error(whole, what).nearest(name, names)]);
            }
        }
        let mut equations = elaborate_all(&self.equations, self);
        let (reached, wanted) = (self.reached_from(&loss, &equations), self.leading_to(&options.wrt));
        self.check_ends(&reached)?;
        let written = self.with_written_values(|n| reached.contains(n) && wanted.contains(n));
        let written = written.map_err(|d| vec![d])?;
        let (plain, values) = written.as_ref().map_or((self, &[][..]), |(program, added)| (program, added));
        let single = plain.with_single_lines(|n| reached.contains(n) && wanted.contains(n));
        let single = single.map_err(|d| vec![d])?;
        let (plain, added) = single.as_ref().map_or((plain, &[][..]), |(program, added)| (program, added));
        let mut parts = [values, added].concat();
        let (mut reached, mut wanted) = (reached, wanted);
        if !parts.is_empty() {
            equations = elaborate_all(&plain.equations, plain);
            (reached, wanted) = (plain.reached_from(&loss, &equations), plain.leading_to(&options.wrt));
        }
        let named = plain.with_parts(&equations, |n| reached.contains(n) && wanted.contains(n));
        let mut program = plain;
        if let Some(named) = &named {
            (program, equations) = (&named.program, named.equations.clone());
            parts.extend(named.found.iter().cloned());
            (reached, wanted) = (program.reached_from(&loss, &equations), program.leading_to(&options.wrt));
        }
        let parts = &parts[..];
        // Lists that were given names are constants, and their gradients were not requested.
        for list in parts.iter().filter(|p| p.value.refs().is_empty()) {
            wanted.remove(&list.target.name);
        }
        let flowing: Vec<&core::Equation> =
            equations.iter().filter(|e| reached.contains(&e.target.name)).collect();
        let needed = where_needed(&flowing, |n| *n == loss, program);
        let flowing: Vec<&Equation> =
            program.equations.iter().filter(|e| reached.contains(&e.target.name)).collect();
        let known: HashSet<Name> = options.complex.iter().cloned().collect();
        let mut complex = complex::complex_among(&program.equations, known, program);
        let mut doubtful = complex::parts_of_real(&flowing, &complex, program);
        if complex.contains(&loss) {
            let what = format!("`{loss}` is a complex number; only a real one can be differentiated");
            let at = self.definition(&loss).map(|d| d.span).unwrap_or_default();
            let help =
                format!("take a part of it: Total = real({loss}), and differentiate that (--loss Total)");
            return Err(vec![Diagnostic::error(at, what).help(help).about(&loss)]);
        }
        let prefix = self.prefix();
        let gradients: Vec<Name> = complex.iter().map(|n| format!("{prefix}{n}").into()).collect();
        complex.extend(gradients);
        let mut walk = backward::Walk {
            program,
            equations: &equations,
            prefix: prefix.clone(),
            needed,
            reached,
            wanted,
            refused: Vec::new(),
            lines: Vec::new(),
            blocked: Vec::new(),
            doubtful: Vec::new(),
            laid_out: HashSet::new(),
            helpers: HashSet::new(),
            inferred: Vec::new(),
            complex,
        };
        let one = Kind::Number(1.0).bare();
        let seed = Call { function: "const".into(), args: vec![one], named: Vec::new() };
        let target = Ref { name: walk.name(&loss), places: Vec::new(), relation: false, span: whole };
        let at = self.definition(&loss).map(|d| d.span).unwrap_or_default();
        walk.lines.push(line(target, Kind::Call(Box::new(seed)).bare(), at));
        equations.iter().rev().for_each(|e| walk.equation(e));
        let (lines, blocked) =
            (without_nothing(walk.lines, &walk.prefix, &walk.helpers, program), walk.blocked);
        doubtful.extend(walk.doubtful);
        let with: HashSet<&str> = lines.iter().map(|e| &*e.target.name).collect();
        if !walk.refused.is_empty() {
            return Err(walk.refused);
        }
        if let Some(d) = self.called_as_a_tensor(&lines) {
            return Err(vec![d]);
        }
        let gradient_of = |n: &Name| Name::from(format!("{prefix}{n}"));
        if let Some(name) = options.wrt.iter().find(|n| !with.contains(&*gradient_of(n))) {
            if !blocked.is_empty() {
                return Err(blocked);
            }
            let what = format!("`{loss}` does not depend on `{name}`");
            let at = self.definition(name).map(|d| d.span).unwrap_or_default();
            return Err(vec![Diagnostic::error(at, what).about(&loss).about(name)]);
        }
        let names = self
            .names
            .iter()
            .map(|n| (n.clone(), gradient_of(n)))
            .filter(|(_, g)| with.contains(&**g))
            .collect();
        let lines = if options.merged { merge::merged(lines, self) } else { lines };
        let mut equations = parts::read(parts, &lines);
        equations.extend(lines);
        // Write sums over time as `sum=`, because gradient lines with time may read them.
        equations.iter_mut().for_each(Equation::spell_out);
        let mut warnings = blocked;
        warnings.iter_mut().for_each(|w| w.severity = crate::syntax::diagnostic::Severity::Warning);
        warnings.extend(doubtful);
        Ok(Gradient { loss, equations, names, warnings })
    }

    /// Reports a tensor with the name of a function that some lines call: the lines would read the tensor instead.
    fn called_as_a_tensor(&self, lines: &[Equation]) -> Option<Diagnostic> {
        fn calls(e: &Expr, name: &Name) -> bool {
            matches!(&e.kind, Kind::Call(c) if c.function == *name)
                || e.parts().into_iter().any(|p| calls(p, name))
        }
        let names = ["real", "imag", "conj", "complex"].map(Name::from);
        let name = names.iter().filter(|n| self.definition(n).is_some());
        let name = name.into_iter().find(|n| lines.iter().any(|e| calls(&e.value, n)))?;
        let what = format!("`{name}` is a builtin that lines of this gradient call");
        let at = self.definition(name)?.span;
        Some(Diagnostic::error(at, what).here("a tensor").help("give the tensor another name").about(name))
    }

    /// Returns the scalar to differentiate.
    pub fn loss(&self, options: &GradientOptions) -> Result<Name, Diagnostic> {
        self.check_calls()?;
        let whole = Span::NOWHERE;
        let scalar = |n: &&Name| self.definition(n).is_some_and(|d| d.rank == 0 && !d.equations.is_empty());
        if let Some(name) = &options.loss {
            if self.is_input(name) {
                let what = format!(
                    "`{name}` is an input; only a scalar that an equation defines can be differentiated"
                );
                return Err(Diagnostic::error(whole, what)
                    .help(format!("for the gradient with respect to `{name}`: --wrt {name}"))
                    .about(name));
            }
            let Some(d) = self.definition(name) else {
                let names = self.names.iter().filter(|n| scalar(n)).map(|n| &**n);
                return Err(
                    Diagnostic::error(whole, format!("no equation defines `{name}`")).nearest(name, names)
                );
            };
            if d.rank > 0 {
                return Err(no_scalar(name, d));
            }
            return Ok(name.clone());
        }
        if let Some(loss) = self.names.iter().find(|n| n.eq_ignore_ascii_case("loss") && scalar(n)) {
            return Ok(loss.clone());
        }
        let outputs = self.outputs();
        let known = options.complex.iter().cloned().collect();
        let complex = complex::complex_among(&self.equations, known, self);
        let candidates: Vec<&Name> =
            outputs.iter().filter(scalar).filter(|n| !complex.contains(*n)).collect();
        let larger = |n: &&Name| n.eq_ignore_ascii_case("loss") && !self.is_input(n);
        let larger = self.names.iter().find(larger).and_then(|n| Some((n, self.definition(n)?)));
        match (&candidates[..], larger) {
            ([one], _) => Ok((*one).clone()),
            ([], Some((name, d))) => Err(no_scalar(name, d)),
            ([], None) => {
                Err(Diagnostic::error(whole, "no scalar to differentiate: nothing is called `Loss`")
                    .help("name one that an equation defines, with --loss"))
            }
            _ => {
                let names: Vec<&str> = candidates.iter().map(|n| &***n).collect();
                let what = format!("several scalars could be differentiated: {}", names.join(", "));
                Err(Diagnostic::error(whole, what).help("choose one with --loss"))
            }
        }
    }

    /// Returns the names that a loss depends on differentiably.
    fn reached_from<'a>(&'a self, loss: &'a Name, equations: &'a [core::Equation]) -> HashSet<Name> {
        let mut reached: HashSet<Name> = HashSet::with_capacity(self.names.len());
        let mut work = vec![loss];
        while let Some(name) = work.pop() {
            if !reached.insert(name.clone()) {
                continue;
            }
            // No gradient flows through a relation, which is a threshold.
            let own = self.definition(name).filter(|d| !d.relation);
            for i in own.iter().flat_map(|d| &d.equations) {
                flowing(&equations[*i].value, &mut work);
            }
        }
        reached
    }

    /// Returns the prefix of gradient names: `Grad_`, or `Grad2_` and so on if the program already has such
    /// names.
    fn prefix(&self) -> String {
        let taken = |p: &str| self.names.iter().any(|n| n.starts_with(p));
        let numbered = (2..).map(|n| format!("Grad{n}_"));
        std::iter::once("Grad_".to_string()).chain(numbered).find(|p| !taken(p)).unwrap_or_default()
    }

    /// Returns the names that depend on some of `wrt`, including these; all names if `wrt` is empty.
    fn leading_to(&self, wrt: &[Name]) -> HashSet<Name> {
        if wrt.is_empty() {
            return self.names.iter().cloned().collect();
        }
        let mut readers: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
        for e in &self.equations {
            for r in e.reads() {
                readers.entry(&r.name).or_default().push(&e.target.name);
            }
        }
        let mut out: HashSet<Name> = HashSet::new();
        let mut work: Vec<&Name> = wrt.iter().collect();
        while let Some(name) = work.pop() {
            if out.insert(name.clone()) {
                work.extend(readers.get(name).into_iter().flatten());
            }
        }
        out
    }
}

/// Removes lines that read a gradient to which nothing contributes: that gradient is 0.
fn without_nothing(
    mut lines: Vec<Equation>,
    prefix: &str,
    helpers: &HashSet<Name>,
    program: &Program,
) -> Vec<Equation> {
    loop {
        let with: HashSet<&Name> = lines.iter().map(|e| &e.target.name).collect();
        let is_nothing = |r: &Ref| {
            let of = r.name.strip_prefix(prefix).is_some_and(|n| program.definition(n).is_some());
            (of || helpers.contains(&r.name)) && !with.contains(&r.name)
        };
        let kept: Vec<bool> = lines.iter().map(|e| !e.value.any_ref(&mut |r| is_nothing(r))).collect();
        if kept.iter().all(|k| *k) {
            return lines;
        }
        let mut kept = kept.into_iter();
        lines.retain(|_| kept.next().unwrap_or(true));
    }
}

/// Returns the error for a loss that has indices.
fn no_scalar(name: &Name, d: &Definition) -> Diagnostic {
    let indices: Vec<String> = d.places.iter().map(|p| p.index.to_string()).collect();
    let count = crate::syntax::diagnostic::indices(d.rank);
    let what = format!("`{name}` has {count}; only a scalar can be differentiated");
    let help =
        format!("sum it: Total = {name}[{}], and differentiate that (--loss Total)", indices.join(", "));
    Diagnostic::error(d.span, what).help(help).about(name)
}

/// Returns an equation derived from the expression at `span`; errors in it are reported there.
fn line(target: Ref, value: Expr, span: Span) -> Equation {
    let (guard, projection, spelled, local) = (None, Projection::Sum, false, false);
    let mut out = Equation { target, guard, projection, spelled, value, local, span };
    locate(&mut out, span);
    out
}

/// Sets the location of all parts of an equation that have none.
fn locate(e: &mut Equation, span: Span) {
    fn set(e: &mut Expr, span: Span) {
        let own = |s: Span| if s == Span::default() { span } else { s };
        e.change_parts(&mut |p| set(p, span));
        e.span = own(e.span);
        if let Kind::Ref(r) = &mut e.kind {
            r.span = own(r.span);
            r.places.iter_mut().for_each(|p| p.span = own(p.span));
        }
    }
    e.target.span = span;
    set(&mut e.value, span);
}

fn bare(kind: core::Kind) -> core::Expr {
    kind.at(Span::default())
}

fn reference(name: Name, places: Vec<core::Place>) -> core::Expr {
    bare(core::Kind::Ref(core::Ref { name, places, relation: false, span: Span::default() }))
}

/// Returns indices without the dot of a default axis.
fn plain<E: Clone>(places: &[Place<E>]) -> Vec<Place<E>> {
    places.iter().map(|p| Place { dotted: false, ..p.clone() }).collect()
}

/// Collects the names of tensors through which a derivative flows.
fn flowing<'e>(e: &'e core::Expr, out: &mut Vec<&'e Name>) {
    match &e.kind {
        core::Kind::Ref(r) => out.push(&r.name),
        core::Kind::Compare(..) | core::Kind::And(_) | core::Kind::Or(_) | core::Kind::Not(_) => {}
        core::Kind::Choose(cases, otherwise) => {
            cases.iter().map(|[_, v]| v).chain(otherwise.as_deref()).for_each(|p| flowing(p, out));
        }
        core::Kind::Call(c) => {
            let surface = c.outline();
            if matches!(c.callee.derivative_of(&surface), Derivative::Stop | Derivative::None) {
                return;
            }
            let args = c.args.iter().zip(c.callee.still(&surface));
            args.filter(|(_, still)| !still).for_each(|(a, _)| flowing(&a.value, out));
        }
        _ => e.parts().into_iter().for_each(|p| flowing(p, out)),
    }
}
