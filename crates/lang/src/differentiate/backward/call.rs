//! Calls: their derivatives with the same axes and temperature.

use super::{Back, bare, plain, reference, text, times};
use crate::builtin::{self, Base, Derivative, Shape};
use crate::elaborate::core::{Call, Expr, Index, Kind, Origin, Ref};
use crate::elaborate::scope::{Names, fresh, keys};
use crate::syntax::ast::{self, Function, Inside, Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use std::collections::HashMap;

impl Back<'_, '_> {
    /// Returns the cotangent of a positional call that is a part of a right side, without indices that the
    /// result lacks: these would be taken for names of its axes.
    fn without_others(&mut self, e: &Expr, ct: Expr) -> Expr {
        let own = e.axis_order(self.program);
        // Contributions of a line with time are summed over its steps where they are added.
        let time = moving(&self.equation.target.places).map(|t| t.0);
        match self.sorted(ct.axis_order(self.program), |n| !own.contains(n) && time != Some(n)) {
            none if none.is_empty() => ct,
            others => {
                // The size of an index of a written sum comes from inside the sum.
                let nothing = Ref { places: Vec::new(), ..self.equation.target.clone() };
                let ct = self.with_sizes(&nothing, ct);
                bare(Kind::Reduce(Projection::Sum, others, Box::new(ct), Origin::Written))
            }
        }
    }

    /// Returns the cotangent of a call, summed over others than its indices. After that, a branch counts as
    /// taken if it is taken at any of their positions.
    fn closing(&mut self, e: &Expr, c: &Call, ct: Expr) -> Expr {
        let mut own = e.axis_order(self.program);
        if c.takes_names_from_left(self.program) {
            own.extend(keys(&self.equation.target));
        }
        let (ct, gone) = self.closed(ct, &own);
        self.forget(|n| gone.contains(n));
        ct
    }

    /// Returns true if the derivative of a call is a factor of its cotangent.
    pub(super) fn is_factor(&self, c: &Call) -> bool {
        let pulled = c.settings.iter().any(|(k, _)| &**k == "wrt");
        let pointwise = c.callee.shape() == Shape::Pointwise && c.args.len() == 1;
        pointwise && !pulled && !self.is_complex(&c.args[0].value)
    }

    pub(super) fn call(&mut self, e: &Expr, c: &Call, ct: Expr) -> Option<()> {
        let surface = c.outline();
        let derivative = c.callee.derivative_of(&surface);
        match derivative {
            Derivative::Stop => return Some(()),
            Derivative::None => {
                let what = format!("`{}` has no derivative", c.function);
                let help = "write stop_gradient(…) around it if no gradient is wanted";
                self.walk.blocked.push(Diagnostic::error(e.span, what).here("needed here").help(help));
                return Some(());
            }
            Derivative::Parts(part) => return self.part(part, c, ct),
            Derivative::Core | Derivative::OfResult => {}
        }
        if &*c.function == "sig" && c.args.len() == 1 {
            let what = "`sig` without a temperature is a step, which has no derivative";
            let help = "give it one, sig(x, T), or set --temperature, which its gradient uses too";
            self.walk.doubtful.push(Diagnostic::warning(e.span, what).here("needed here").help(help));
        }
        // If all axes are reduced, their names do not matter, so the argument may take them from the left side.
        let all = c.callee.shape() == Shape::Reduce && !c.settings.iter().any(|(k, _)| &**k == "axis");
        let mut args: Vec<Expr> = Vec::with_capacity(c.args.len());
        for a in &c.args {
            args.push(if all { self.copy_here(&a.value) } else { self.copy(&a.value) });
        }
        let function = Name::from(format!("{}_grad", c.function));
        let pulled = c.settings.iter().any(|(k, _)| &**k == "wrt");
        if derivative == Derivative::OfResult {
            let ct = self.closing(e, c, ct);
            let y = match self.result(e) {
                Some(y) => y,
                None => settled(self.copy(e)),
            };
            let ct = self.derivative(c, function, vec![y, ct], c.settings.clone())?;
            return self.back(&c.args[0].value, ct);
        }
        if self.is_factor(c) {
            let slope = self.derivative(c, function, args, c.settings.clone())?;
            return self.back(&c.args[0].value, times(ct, [slope]));
        }
        let ct = self.closing(e, c, ct);
        let whole = self.equation.value == *e;
        let ct = match &c.callee.base {
            Base::User(_) if c.takes_names_from_left(self.program) && !whole => {
                self.refuse_leaning(e);
                return None;
            }
            Base::User(f) if c.takes_names_from_left(self.program) => self.called_apart(f, c, ct),
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
            let settings = with_respect_to(&c.settings, &param.name);
            let ct = self.derivative(c, function.clone(), all, settings)?;
            self.enter(&arg.value, ct)?;
        }
        Some(())
    }

    /// Renames the cotangent of a call of the program's own function that takes names from the left side. If the left side
    /// gives a new axis the name of an index of an argument, possibly of another size, the two must be different names
    /// here.
    fn called_apart(&self, f: &Function, c: &Call, ct: Expr) -> Expr {
        let args: Vec<Vec<Name>> = c.args.iter().map(|a| a.names.clone()).collect();
        let mut left = keys(&self.equation.target);
        left.retain(|n| self.step.as_ref() != Some(n));
        let own = match builtin::own_names(f, &args) {
            Some(own) if own.len() == left.len() => own,
            _ => return ct,
        };
        let args: Names = c.args.iter().flat_map(|a| a.value.index_names()).collect();
        let mut taken: Names = args.union(&self.introduced).cloned().collect();
        taken.extend(ct.index_names());
        let mut names = HashMap::new();
        for (_, name) in own.iter().zip(left).filter(|(own, name)| *own != name && args.contains(name)) {
            let new = fresh(&name, &taken, self.program);
            taken.insert(new.clone());
            names.insert(name, new);
        }
        ct.renamed(&names)
    }

    /// Returns a call of the derivative of a call, with the same axes and temperature.
    fn derivative(
        &self,
        c: &Call,
        function: Name,
        args: Vec<Expr>,
        settings: Vec<(Name, ast::Expr)>,
    ) -> Option<Expr> {
        let axes = c.axes.clone().or_else(|| Some(vec![c.dotted.clone()?]));
        let made =
            Call::made(function, args, settings, axes, c.like.clone(), self.step.as_ref(), self.program)?;
        Some(bare(Kind::Call(Box::new(made))))
    }

    pub(super) fn made(
        &self,
        function: Name,
        args: Vec<Expr>,
        settings: Vec<(Name, ast::Expr)>,
        axes: Option<Vec<Name>>,
    ) -> Option<Expr> {
        let like = self.equation.target.name.clone();
        let made = Call::made(function, args, settings, axes, like, self.step.as_ref(), self.program)?;
        Some(bare(Kind::Call(Box::new(made))))
    }

    /// `max_grad(body, ct, axis="j", wrt="x")` and the like.
    pub(super) fn reduced(&self, how: Projection, body: Expr, ct: Expr, axes: Vec<Name>) -> Option<Expr> {
        let function = match how {
            Projection::Avg => "mean_grad",
            Projection::Max => "max_grad",
            Projection::Min => "min_grad",
            Projection::Prod => "prod_grad",
            Projection::Sum => "sum_grad",
        };
        self.made(function.into(), vec![body, ct], vec![("wrt".into(), text("x"))], Some(axes))
    }

    /// Returns a read of the left side, if it equals this expression.
    fn result(&self, e: &Expr) -> Option<Expr> {
        let target = &self.equation.target;
        let d = self.program.definition(&target.name)?;
        let left: Names = keys(target).into_iter().collect();
        let same = e.axis_order(self.program).into_iter().collect::<Names>() == left;
        let alone = d.equations.len() == 1 && self.equation.guard.is_none() && self.equation.value == *e;
        let plain_places =
            target.places.iter().all(|p| matches!(p.index, Index::Named(_, 0) | Index::Time(..)));
        (alone && same && plain_places).then(|| reference(target.name.clone(), plain(&target.places)))
    }
}

/// Returns a call with its axes among its settings, so that its text has them.
fn settled(mut e: Expr) -> Expr {
    if let Kind::Call(call) = &mut e.kind {
        call.settings = call.surface().named;
        call.settings.retain(|(k, _)| &**k != "like");
    }
    e
}

/// Returns the settings of a derivative for the argument `which`; for higher orders, `wrt` lists the
/// arguments in order.
fn with_respect_to(settings: &[(Name, ast::Expr)], which: &str) -> Vec<(Name, ast::Expr)> {
    let mut out: Vec<(Name, ast::Expr)> = settings.iter().filter(|(k, _)| &**k != "wrt").cloned().collect();
    let before = settings.iter().find(|(k, _)| &**k == "wrt").map(|(_, v)| &v.kind);
    let wrt = match before {
        None => text(which),
        Some(ast::Kind::List(all)) => {
            ast::Kind::List(all.iter().cloned().chain([text(which)]).collect()).bare()
        }
        Some(other) => ast::Kind::List(vec![other.clone().bare(), text(which)]).bare(),
    };
    out.push(("wrt".into(), wrt));
    out
}
