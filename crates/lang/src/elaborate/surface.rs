//! Converts Core to the surface tree with every sum, axis and temperature written out. So parts keep their
//! meaning when they are copied to other lines, and the text elaborates to the same Core. `print` decides
//! what can be left out.

use crate::builtin::{Base, Takes};
use crate::elaborate::core::{Arg, Call, Equation, Expr, Kind, Origin};
use crate::syntax::ast;
use crate::syntax::ast::{Name, Projection};
use std::cell::Cell;

/// The parts that a text leaves out. Each axis of a sum that no program wrote, and the axes of each call that may be
/// left as the program has them, are counted in the order of the text.
#[derive(Default)]
pub(super) struct Spelling {
    left_out: Vec<bool>,
    /// True to leave out everything that can be.
    all: bool,
    count: Cell<usize>,
}

impl Spelling {
    pub(super) fn without(left_out: Vec<bool>) -> Spelling {
        Spelling { left_out, ..Spelling::default() }
    }

    /// Returns the number of things that could be left out of the text.
    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    fn leaves_out(&self) -> bool {
        let at = self.count.replace(self.count.get() + 1);
        self.all || self.left_out.get(at).copied().unwrap_or(false)
    }
}

fn text(t: &str) -> ast::Expr {
    ast::Kind::Text(t.into()).bare()
}

impl Expr {
    /// Returns the expression with everything written out.
    pub(crate) fn surface(&self) -> ast::Expr {
        self.spelled(&Spelling::default())
    }

    /// Returns the expression without the sums and axes that a line may imply.
    pub(crate) fn shortest(&self) -> ast::Expr {
        self.spelled(&Spelling { all: true, ..Spelling::default() })
    }

    pub(super) fn spelled(&self, s: &Spelling) -> ast::Expr {
        let one = |e: &Expr| Box::new(e.spelled(s));
        let two = |two: &[Expr; 2]| Box::new([two[0].spelled(s), two[1].spelled(s)]);
        let all = |parts: &[Expr]| parts.iter().map(|p| p.spelled(s)).collect();
        let kind = match &self.kind {
            Kind::Number(x) => ast::Kind::Number(*x),
            Kind::Array(array, _) => ast::Kind::Array(array.clone()),
            Kind::Known(number) => {
                let call =
                    ast::Call { function: "const".into(), args: vec![(**number).clone()], named: Vec::new() };
                ast::Kind::Call(Box::new(call))
            }
            Kind::Invalid(..) => ast::Kind::Text("".into()),
            Kind::Ref(r) => ast::Kind::Ref(r.map_computed(&mut |e| e.spelled(s))),
            Kind::Of(function, _, index) => ast::Kind::Of(function.clone(), index.clone()),
            Kind::Call(call) => ast::Kind::Call(Box::new(call.spelled(s))),
            Kind::Product(parts) => ast::Kind::Product(all(parts)),
            Kind::Quotient(parts) => ast::Kind::Quotient(two(parts)),
            Kind::Sum(parts) => ast::Kind::Sum(all(parts)),
            Kind::Negative(part) => ast::Kind::Negative(one(part)),
            Kind::Power(parts) => ast::Kind::Power(two(parts)),
            Kind::Compare(sign, parts) => ast::Kind::Compare(*sign, two(parts)),
            Kind::And(parts) => ast::Kind::And(two(parts)),
            Kind::Or(parts) => ast::Kind::Or(two(parts)),
            Kind::Not(part) => ast::Kind::Not(one(part)),
            Kind::Choose(cases, otherwise) => match (&cases[..], otherwise) {
                ([[c, yes]], Some(no)) => {
                    ast::Kind::Choose(Box::new([c.spelled(s), yes.spelled(s), no.spelled(s)]))
                }
                _ => ast::Kind::Case(
                    cases.iter().map(|[c, v]| [c.spelled(s), v.spelled(s)]).collect(),
                    otherwise.as_deref().map(one),
                ),
            },
            Kind::Reduce(how, axes, body, origin) => {
                let implied = *how == Projection::Sum && matches!(origin, Origin::Product);
                let shown: Vec<Name> =
                    axes.iter().filter(|_| !(implied && s.leaves_out())).cloned().collect();
                if shown.is_empty() && !axes.is_empty() {
                    return body.spelled(s);
                }
                ast::Kind::Reduce(*how, shown, one(body))
            }
        };
        kind.at(self.span)
    }
}

impl Call {
    /// Returns the call with everything written out.
    pub(crate) fn surface(&self) -> ast::Call {
        self.spelled(&Spelling::default())
    }

    /// Returns the call with its settings and the arguments that are tensors. Other arguments become 0,
    /// unless the indices of the result depend on them.
    pub(crate) fn outline(&self) -> ast::Call {
        let full = match &self.callee.base {
            Base::User(_) => true,
            Base::Table(b) => b.params.iter().any(|p| p.takes == Takes::Classes),
            Base::Pointwise(_) => false,
        };
        let argument = |a: &Arg| match &a.value.kind {
            Kind::Ref(_) => a.value.surface(),
            _ if full => a.value.surface(),
            _ => ast::Kind::Number(0.0).bare(),
        };
        let args = self.args.iter().map(argument).collect();
        ast::Call { function: self.function.clone(), args, named: self.named(&Spelling::default()) }
    }

    fn spelled(&self, s: &Spelling) -> ast::Call {
        let named = self.named(s);
        let args = self.args.iter().map(|a| a.value.spelled(s)).collect();
        ast::Call { function: self.function.clone(), args, named }
    }

    /// Returns the settings, with axes and the name of the temperature.
    fn named(&self, s: &Spelling) -> Vec<(Name, ast::Expr)> {
        let mut named = self.settings.clone();
        let as_written = self.axes.is_some() && self.may_leave_axes() && s.leaves_out();
        named.retain(|(k, _)| self.axes.is_none() || as_written || &**k != "axis");
        let mut add = |key: &str, value: ast::Expr| {
            // `wrt` comes last.
            let at = named.iter().position(|(k, _)| &**k == "wrt").unwrap_or(named.len());
            named.insert(at, (Name::from(key), value));
        };
        match self.axes.as_deref().filter(|_| !as_written) {
            None => {}
            Some([one]) => add("axis", text(one)),
            Some(all) => add("axis", ast::Kind::List(all.iter().map(|n| text(n)).collect()).bare()),
        }
        if self.has_temperature() {
            add("like", text(&self.like));
        }
        named
    }

    /// Returns true if the axes may be left as the program has them: those that it wrote, and, except for derivatives,
    /// those that the first argument shows.
    pub(super) fn may_leave_axes(&self) -> bool {
        let written = self.settings.iter().any(|(k, _)| &**k == "axis");
        let shown = || matches!(self.args.first().map(|a| &a.value.kind), Some(Kind::Ref(_)));
        let one = self.callee.shape().has_one_axis();
        let derivative = self.callee.order > 0 || self.function.ends_with("_grad");
        written || !derivative && (!one || shown())
    }
}

impl Equation {
    /// Returns the equation with everything written out.
    pub(crate) fn surface(&self) -> ast::Equation {
        self.with(self.value.surface())
    }

    /// Returns an equation with this left side and guard.
    pub(super) fn with(&self, value: ast::Expr) -> ast::Equation {
        ast::Equation {
            target: self.target.map_computed(&mut Expr::surface),
            guard: self.guard.as_ref().map(Expr::surface),
            projection: self.projection,
            spelled: false,
            value,
            local: false,
            span: self.span,
        }
    }
}
