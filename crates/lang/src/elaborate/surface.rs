//! Core as text. Writes every sum, axis and name of a temperature out, as expressions of the surface tree, so that the
//! text means the same wherever its parts are copied to, and parses and elaborates to the same Core.

use crate::elaborate::core::{Call, Equation, Expr, Kind};
use crate::syntax::ast;
use crate::syntax::ast::Name;

fn text(t: &str) -> ast::Expr {
    ast::Kind::Text(t.into()).bare()
}

impl Expr {
    /// The expression with everything written out.
    pub(crate) fn surface(&self) -> ast::Expr {
        let two = |two: &[Expr; 2]| Box::new([two[0].surface(), two[1].surface()]);
        let all = |parts: &[Expr]| parts.iter().map(Expr::surface).collect();
        let kind = match &self.kind {
            Kind::Number(x) => ast::Kind::Number(*x),
            Kind::Array(array, _) => ast::Kind::Array(array.clone()),
            Kind::Known(number) => {
                let call =
                    ast::Call { function: "const".into(), args: vec![(**number).clone()], named: Vec::new() };
                ast::Kind::Call(Box::new(call))
            }
            Kind::Invalid(..) => ast::Kind::Text("".into()),
            Kind::Ref(r) => ast::Kind::Ref(r.map_computed(&mut Expr::surface)),
            Kind::Of(function, _, index) => ast::Kind::Of(function.clone(), index.clone()),
            Kind::Call(call) => ast::Kind::Call(Box::new(call.surface())),
            Kind::Product(parts) => ast::Kind::Product(all(parts)),
            Kind::Quotient(parts) => ast::Kind::Quotient(two(parts)),
            Kind::Sum(parts) => ast::Kind::Sum(all(parts)),
            Kind::Negative(one) => ast::Kind::Negative(Box::new(one.surface())),
            Kind::Power(parts) => ast::Kind::Power(two(parts)),
            Kind::Compare(sign, parts) => ast::Kind::Compare(*sign, two(parts)),
            Kind::And(parts) => ast::Kind::And(two(parts)),
            Kind::Or(parts) => ast::Kind::Or(two(parts)),
            Kind::Not(one) => ast::Kind::Not(Box::new(one.surface())),
            Kind::Choose(cases, otherwise) => match (&cases[..], otherwise) {
                ([[c, yes]], Some(no)) => {
                    ast::Kind::Choose(Box::new([c.surface(), yes.surface(), no.surface()]))
                }
                _ => ast::Kind::Case(
                    cases.iter().map(|[c, v]| [c.surface(), v.surface()]).collect(),
                    otherwise.as_ref().map(|e| Box::new(e.surface())),
                ),
            },
            Kind::Reduce(how, axes, body, _) => {
                ast::Kind::Reduce(*how, axes.clone(), Box::new(body.surface()))
            }
        };
        kind.at(self.span)
    }
}

impl Call {
    fn surface(&self) -> ast::Call {
        let mut named = self.settings.clone();
        named.retain(|(k, _)| self.axes.is_none() || &**k != "axis");
        let mut add = |key: &str, value: ast::Expr| {
            // `wrt` comes last.
            let at = named.iter().position(|(k, _)| &**k == "wrt").unwrap_or(named.len());
            named.insert(at, (Name::from(key), value));
        };
        match self.axes.as_deref() {
            None => {}
            Some([one]) => add("axis", text(one)),
            Some(all) => add("axis", ast::Kind::List(all.iter().map(|n| text(n)).collect()).bare()),
        }
        let args: Vec<ast::Expr> = self.args.iter().map(|a| a.value.surface()).collect();
        let call = ast::Call { function: self.function.clone(), args, named };
        if !self.callee.has_temperature(&call) {
            return call;
        }
        let mut named = call.named;
        named.push(("like".into(), text(&self.like)));
        ast::Call { named, ..call }
    }
}

impl Equation {
    /// The equation with everything written out.
    pub(crate) fn surface(&self) -> ast::Equation {
        ast::Equation {
            target: self.target.map_computed(&mut Expr::surface),
            guard: self.guard.as_ref().map(Expr::surface),
            projection: self.projection,
            spelled: false,
            value: self.value.surface(),
            local: false,
            span: self.span,
        }
    }
}
