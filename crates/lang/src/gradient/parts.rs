//! Calls within calls get names before they are differentiated, as if their parts had equations of their own: every value
//! on the way is then computed once, and the next derivative differentiates a line for each instead of all of them again
//! in every line.

use super::settled::settled;
use crate::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::builtin::{self, Base, Callee, Derivative};
use crate::program::Program;
use crate::scope::{Names, besides, bound_by, free, in_order, keys, occurrences};
use crate::source::Span;
use crate::time::moving;
use std::collections::HashSet;

impl Program {
    /// The program with names for the arguments of calls that hold calls, and what defines those names. Only equations of
    /// these names are looked at.
    pub(super) fn with_parts(&self, among: &HashSet<Name>) -> Option<(Program, Vec<Equation>)> {
        let (mut equations, mut found) = (Vec::with_capacity(self.equations.len()), Vec::new());
        let mut taken: HashSet<Name> = HashSet::new();
        for e in &self.equations {
            let relation = self.definition(&e.target.name).is_some_and(|d| d.relation);
            if !among.contains(&e.target.name) || relation {
                equations.push(e.clone());
                continue;
            }
            let mut around: Names = keys(&e.target).into_iter().collect();
            around.extend(e.guard.iter().flat_map(occurrences));
            let mut parts = Parts { program: self, equation: e, taken: &mut taken, found: Vec::new() };
            let value = parts.part(&e.value, &around);
            found.extend(parts.found.iter().cloned());
            equations.append(&mut parts.found);
            equations.push(Equation { value, ..e.clone() });
        }
        if found.is_empty() {
            return None;
        }
        let program = Program { equations, ..self.clone() };
        Some((program.again().ok()?, found))
    }
}

struct Parts<'a> {
    program: &'a Program,
    equation: &'a Equation,
    taken: &'a mut HashSet<Name>,
    found: Vec<Equation>,
}

impl Parts<'_> {
    /// An expression with names for the arguments of its calls that hold calls.
    fn part(&mut self, e: &Expr, keep: &Names) -> Expr {
        let mut around = keep.clone();
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => return e.clone(),
            Kind::Call(call) => {
                let Some(callee) = self.differentiable(call) else { return e.clone() };
                around.extend(bound_by(call));
                let still = callee.still(call);
                let args = call.args.iter().zip(besides(&around, &call.args)).zip(still);
                let one = |((a, keep), still): ((&Expr, Names), bool)| match still {
                    true => a.clone(),
                    false => self.argument(a, &keep),
                };
                let args = args.map(one).collect();
                let (function, named) = (call.function.clone(), call.named.clone());
                return Kind::Call(Box::new(Call { function, args, named })).at(e.span);
            }
            Kind::Reduce(_, axes, _) => around.extend(axes.iter().cloned()),
            _ => {}
        }
        let parts: Vec<Expr> = e.parts().into_iter().cloned().collect();
        let mut each = parts.iter().zip(besides(&around, &parts));
        e.map_parts(&mut |_| each.next().map_or_else(|| e.clone(), |(p, keep)| self.part(p, &keep)))
    }

    /// An argument of a call: by a name, if it holds calls.
    fn argument(&mut self, a: &Expr, keep: &Names) -> Expr {
        if !self.passes(a) || self.leans(a) {
            return a.clone();
        }
        let (equation, program) = (self.equation, self.program);
        let left = keys(&equation.target);
        let time = moving(&equation.target.places).map(|t| t.0);
        let place = |n: &Name| match time {
            Some(t) if t == n => Place { index: Index::Time(n.clone(), 0), ..Place::named(n) },
            _ => Place::named(n),
        };
        let places = in_order(a, &left, &free(a, keep, program)).iter().map(place).collect();
        let value = self.part(&self.settled(a), keep);
        let numbered = (1..).map(|n| Name::from(format!("{}_{n}", equation.target.name)));
        let free = |n: &Name| program.definition(n).is_none() && !program.params.iter().any(|p| p.0 == *n);
        let name = numbered.into_iter().find(|n| free(n) && !self.taken.contains(n)).unwrap_or_default();
        self.taken.insert(name.clone());
        let target = Ref { name, places, relation: false, span: Span::default() };
        self.found.push(Equation {
            target: Ref { span: equation.span, ..target.clone() },
            guard: None,
            projection: Projection::Sum,
            value,
            local: true,
            span: equation.span,
        });
        Kind::Ref(target).at(a.span)
    }

    /// An expression whose calls say what they have from the equation around them.
    fn settled(&self, e: &Expr) -> Expr {
        let mut out = e.map_parts(&mut |p| self.settled(p));
        if let (Kind::Call(new), Kind::Call(old)) = (&mut out.kind, &e.kind)
            && let Some(callee) = builtin::find(&old.function, self.program)
        {
            new.named = settled(self.program, self.equation, &callee, old);
        }
        out
    }

    /// The function of a call, if a derivative passes through it.
    fn differentiable(&self, c: &Call) -> Option<Callee> {
        let callee = builtin::find(&c.function, self.program)?;
        let has = matches!(callee.derivative_of(c), Derivative::Core | Derivative::OfResult);
        Some(callee).filter(|_| has)
    }

    /// Whether a derivative that goes back to tensors passes through calls in an expression.
    fn passes(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => false,
            Kind::Call(c) => {
                let number = |r: &&Ref| self.program.params.iter().any(|(n, _)| *n == r.name);
                let reads = |(a, still): (&Expr, bool)| !still && a.refs().iter().any(|r| !number(r));
                self.differentiable(c).is_some_and(|f| c.args.iter().zip(f.still(c)).any(reads))
            }
            _ => e.parts().into_iter().any(|p| self.passes(p)),
        }
    }

    /// Whether something in an expression is called as the left side calls it: there it must stay.
    fn leans(&self, e: &Expr) -> bool {
        let own = |c: &Call| match builtin::find(&c.function, self.program).map(|f| f.base) {
            Some(Base::User(f)) => {
                let known: Vec<Name> = f.params.iter().flat_map(keys).collect();
                keys(&f.result).iter().any(|k| !known.contains(k))
            }
            _ => false,
        };
        let here = matches!(&e.kind, Kind::Array(_)) || matches!(&e.kind, Kind::Call(c) if own(c));
        here || builtin::leaning(e, self.program).is_some() || e.parts().into_iter().any(|p| self.leans(p))
    }
}
