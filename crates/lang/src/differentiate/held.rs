//! Gives names to what derivatives hold constant: the arguments of `stop_gradient`, and the conditions by which times end. A
//! loss in which these names are inputs has exactly the derivatives that the gradient program computes; tests compare the two.

use crate::builtin::{self, Derivative};
use crate::elaborate::scope::{Names, axis_order, bound_by, kept_by_each, kept_within, keys, occurrences};
use crate::program::Program;
use crate::syntax::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;

impl Program {
    /// Returns the program with every `stop_gradient(…)`, and the condition of every time with a bound, replaced by a
    /// name, and the equations that define those names.
    pub fn held(&self) -> (Program, Vec<Equation>) {
        let mut found = Vec::new();
        let mut open = self.clone();
        for e in &mut open.equations {
            let mut around: Names = keys(&e.target).into_iter().collect();
            around.extend(e.guard.iter().flat_map(occurrences));
            let value = Hold { program: self, equation: e, found: &mut found }.part(&e.value, &around);
            e.value = value;
        }
        for (time, (go, _)) in &mut open.bounded {
            let own = |name: Name| {
                let place = Place { index: Index::Time(time.clone(), 0), ..Place::named(time) };
                Ref { name, places: vec![place], relation: false, span: Span::default() }
            };
            let held = own(format!("Held_{}", found.len()).into());
            let now = |r: &Ref| matches!(&r.places[..], [Place { index: Index::Time(_, 0), .. }]);
            let is_go = |r: &Ref| (r.name == *go && now(r)).then(|| held.clone());
            for e in open.equations.iter_mut().filter(|e| e.target.name != *go) {
                e.value = e.value.with_refs(&is_go);
                e.guard = e.guard.as_ref().map(|g| g.with_refs(&is_go));
            }
            let [yes, no] = [1.0, 0.0].map(|x| Kind::Number(x).bare());
            let condition = own(std::mem::replace(go, held.name.clone()));
            let value = Kind::Choose(Box::new([Kind::Ref(condition).bare(), yes, no])).bare();
            found.push(held_by(held, value));
        }
        (open, found)
    }

    /// Returns a function of the program that uses `stop_gradient` inside, where `held` does not see it.
    pub fn holds_inside(&self) -> Option<&Name> {
        fn holds(e: &Expr) -> bool {
            matches!(&e.kind, Kind::Call(c) if &*c.function == "stop_gradient")
                || e.parts().into_iter().any(holds)
        }
        let own = |f: &crate::syntax::ast::Function| f.body.iter().any(|e| holds(&e.value));
        self.functions.iter().filter(|(_, f)| own(f)).map(|(n, _)| n).min()
    }
}

struct Hold<'a> {
    program: &'a Program,
    equation: &'a Equation,
    found: &'a mut Vec<Equation>,
}

impl Hold<'_> {
    fn part(&mut self, e: &Expr, keep: &Names) -> Expr {
        if let Kind::Call(call) = &e.kind {
            let mut around = keep.clone();
            around.extend(bound_by(call));
            let args = call.args.iter().zip(kept_by_each(&around, &call.args));
            if self.is_held(call) {
                return args.map(|(a, keep)| self.name(a, &keep)).next().unwrap_or_else(|| e.clone());
            }
            let args = args.map(|(a, keep)| self.part(a, &keep)).collect();
            let (function, named) = (call.function.clone(), call.named.clone());
            return Kind::Call(Box::new(Call { function, args, named })).at(e.span);
        }
        let parts: Vec<Expr> = e.parts().into_iter().cloned().collect();
        let mut each = parts.iter().zip(kept_within(e, keep, self.program));
        e.map_parts(&mut |_| each.next().map_or_else(|| e.clone(), |(p, keep)| self.part(p, &keep)))
    }

    fn is_held(&self, call: &Call) -> bool {
        let callee = builtin::find(&call.function, self.program);
        &*call.function == "stop_gradient" && callee.is_some_and(|c| c.derivative() == Derivative::Stop)
    }

    /// Returns a name for the held expression, with its own indices.
    fn name(&mut self, value: &Expr, keep: &Names) -> Expr {
        let time = moving(&self.equation.target.places).map(|t| t.0);
        let place = |n: &Name| match time {
            Some(t) if t == n => Place { index: Index::Time(n.clone(), 0), ..Place::named(n) },
            _ => Place::named(n),
        };
        let places = axis_order(value, keep, self.program).iter().map(place).collect();
        let name = Name::from(format!("Held_{}", self.found.len()));
        let target = Ref { name, places, relation: false, span: Span::default() };
        self.found.push(held_by(target.clone(), value.clone()));
        Kind::Ref(target).at(value.span)
    }
}

/// Returns the equation of a name that stands for a value.
fn held_by(target: Ref, value: Expr) -> Equation {
    let span = value.span;
    let (guard, projection) = (None, Projection::Sum);
    Equation { target, guard, projection, spelled: false, value, local: false, span }
}
