//! The indices of expressions of Core: those that are free, in axis order; all that are mentioned; and renaming. Nothing
//! here depends on the line around an expression.

use crate::builtin::{self, Base, Callee, Mixes, Shape};
use crate::elaborate::core::{Arg, Call, Equation, Expr, Kind, Ref};
use crate::elaborate::scope::{Names, bound_by, distinct, keys, rename_settings, renamed_place};
use crate::program::Program;
use crate::syntax::ast::{self, Inside, Name};
use crate::syntax::indices::moving;
use std::collections::HashMap;

impl Expr {
    /// Returns the free indices, in axis order: that of first appearance, or that of a call's result.
    pub(crate) fn axis_order(&self, program: &Program) -> Vec<Name> {
        match &self.kind {
            Kind::Ref(r) => keys(r),
            // The size of an index is one number; its position is an array along the index.
            Kind::Of(function, ..) if &**function == "size" => Vec::new(),
            Kind::Of(_, _, index) => vec![index.clone()],
            Kind::Call(call) => call.axis_order(program),
            Kind::Reduce(_, axes, body, _) => {
                body.axis_order(program).into_iter().filter(|n| !axes.contains(n)).collect()
            }
            // The axes of a choice are those of its values, then those of its conditions.
            Kind::Choose(cases, otherwise) => {
                let values = cases.iter().map(|[_, v]| v).chain(otherwise.as_deref());
                let all = values.chain(cases.iter().map(|[c, _]| c));
                distinct(all.flat_map(|e| e.axis_order(program)))
            }
            _ => distinct(self.parts().into_iter().flat_map(|p| p.axis_order(program))),
        }
    }

    /// Returns a call in the expression that takes names of its axes from the left side.
    pub(crate) fn leaning(&self, program: &Program) -> Option<&Call> {
        match &self.kind {
            Kind::Call(call) if call.takes_names_from_left(program) => Some(call),
            _ => self.parts().into_iter().find_map(|p| p.leaning(program)),
        }
    }

    /// Counts how often each index is mentioned, also as the axis of a call or of a reduction.
    pub(crate) fn mentions(&self, out: &mut HashMap<Name, usize>) {
        let own = match &self.kind {
            Kind::Ref(r) => keys(r),
            Kind::Of(_, _, index) => vec![index.clone()],
            Kind::Reduce(_, axes, ..) => axes.clone(),
            Kind::Call(call) => call.bound.iter().cloned().collect(),
            _ => Vec::new(),
        };
        own.into_iter().for_each(|n| *out.entry(n).or_default() += 1);
        self.any_part(|part| {
            part.mentions(out);
            false
        });
    }

    /// Applies `f` to every part in place.
    pub(crate) fn change_parts(&mut self, f: &mut impl FnMut(&mut Expr)) {
        match &mut self.kind {
            Kind::Number(_) | Kind::Array(..) | Kind::Known(_) | Kind::Of(..) => {}
            Kind::Ref(r) => r.change_computed(f),
            Kind::Product(parts) | Kind::Sum(parts) | Kind::Invalid(_, parts) => parts.iter_mut().for_each(f),
            Kind::Call(call) => call.args.iter_mut().for_each(|a| f(&mut a.value)),
            Kind::Quotient(two)
            | Kind::Power(two)
            | Kind::Compare(_, two)
            | Kind::And(two)
            | Kind::Or(two) => two.iter_mut().for_each(f),
            Kind::Negative(one) | Kind::Not(one) | Kind::Reduce(_, _, one, _) => f(one),
            Kind::Choose(cases, otherwise) => {
                cases.iter_mut().flatten().chain(otherwise.as_deref_mut()).for_each(f);
            }
        }
    }

    /// Renames indices, wherever they are mentioned.
    pub(crate) fn renamed(&self, names: &HashMap<Name, Name>) -> Expr {
        let mut out = self.clone();
        if !names.is_empty() {
            out.rename(names);
        }
        out
    }

    fn rename(&mut self, names: &HashMap<Name, Name>) {
        let new = |n: &mut Name| {
            if let Some(other) = names.get(n) {
                *n = other.clone();
            }
        };
        self.change_parts(&mut |p| p.rename(names));
        match &mut self.kind {
            Kind::Ref(r) => r.places.iter_mut().for_each(|p| *p = renamed_place(p, names)),
            Kind::Of(_, _, index) => new(index),
            Kind::Reduce(_, axes, ..) => axes.iter_mut().for_each(new),
            Kind::Call(call) => {
                rename_settings(&mut call.settings, names);
                call.args.iter_mut().flat_map(|a| &mut a.names).for_each(new);
                call.axes.iter_mut().flatten().for_each(new);
                call.dotted.iter_mut().for_each(new);
                let all = |set: &Names| set.iter().map(|n| names.get(n).unwrap_or(n).clone()).collect();
                call.bound = all(&call.bound);
                if let Mixes::Along(axes) = &call.mixes {
                    call.mixes = Mixes::Along(all(axes));
                }
            }
            _ => {}
        }
    }
}

impl Call {
    /// Makes a call that no line of a program has, with all that elaboration would decide. Within a step, its
    /// time is not an axis of arguments. `None` if there is no such function.
    pub(crate) fn made(
        function: Name,
        args: Vec<Expr>,
        settings: Vec<(Name, ast::Expr)>,
        axes: Option<Vec<Name>>,
        like: Name,
        step: Option<&Name>,
        program: &Program,
    ) -> Option<Call> {
        let callee: Callee = builtin::find(&function, program)?;
        let argument = |value: Expr| {
            let names = value.axis_order(program).into_iter().filter(|n| Some(n) != step).collect();
            Arg { names, value }
        };
        let args: Vec<Arg> = args.into_iter().map(argument).collect();
        let mut out = Call {
            function,
            args,
            settings,
            bound: Names::new(),
            axes,
            axes_at: Default::default(),
            dotted: None,
            like,
            mixes: Mixes::Everything,
            by: None,
            whole: false,
            callee,
        };
        let call = out.outline();
        out.bound = bound_by(&call);
        let names = |arg: &ast::Expr| {
            let own = call.args.iter().position(|a| std::ptr::eq(a, arg));
            own.map(|at| out.args[at].names.clone()).unwrap_or_default()
        };
        let mixes = out.callee.mixes(&call, out.bound.clone(), &names);
        out.by = (out.callee.order > 0).then(|| builtin::differentiated(&out.callee, &call)).flatten();
        out.mixes = mixes;
        Some(out)
    }

    /// Returns true if the call takes names of its axes from the left side.
    pub(crate) fn takes_names_from_left(&self, program: &Program) -> bool {
        let may = match &self.callee.base {
            Base::Pointwise(_) => false,
            Base::Table(b) => matches!(b.shape, Shape::Resize | Shape::Grow | Shape::Positional),
            Base::User(_) => true,
        };
        may && self.callee.order == 0 && builtin::takes_names_from_left(&self.outline(), program)
    }

    /// Returns the indices of the result, in axis order.
    fn axis_order(&self, program: &Program) -> Vec<Name> {
        let (call, each) = (self.outline(), self.args.iter().map(|a| a.names.clone()).collect::<Vec<_>>());
        let left = builtin::leaves(&call, &each, program);
        let mut out = builtin::laid_out(&call, &each, program);
        out.retain(|n| left.contains(n));
        // Within a step, the time is not an axis of the arguments, but the call has a value at every step.
        let step = |a: &Arg| {
            let lacks = |n: &Name| !a.names.contains(n);
            let has_time = |r: &Ref| moving(&r.places).is_some_and(|t| lacks(t.0));
            let may = a.value.any_ref(&mut |r| has_time(r)) || a.value.is_of_index();
            may.then(|| a.value.axis_order(program))?.into_iter().rfind(lacks)
        };
        distinct(out.into_iter().chain(left).chain(self.args.iter().filter_map(step)))
    }

    /// Returns true if the call uses the temperature of a name.
    pub(crate) fn has_temperature(&self) -> bool {
        let args = vec![ast::Kind::Number(0.0).bare(); self.args.len()];
        let call = ast::Call { function: self.function.clone(), args, named: self.settings.clone() };
        self.callee.has_temperature(&call)
    }
}

impl Equation {
    /// Returns all indices that the equation mentions.
    pub(crate) fn index_names(&self) -> Names {
        let parts = [&self.value].into_iter().chain(&self.guard);
        parts.flat_map(Expr::index_names).chain(keys(&self.target)).collect()
    }
}
