//! Gives names to unnamed expressions: queries, and expressions that are written to files. Each becomes an equation
//! whose left side has the free indices of the expression.

use crate::elaborate::scope::{Names, free, in_order};
use crate::program::{Faults, Program};
use crate::syntax::ast::{Call, Equation, Expr, Kind, Name, Projection, Ref};
use crate::syntax::source::Source;

impl Program {
    /// Returns a left side, `name` with the free indices of `value`, and the equations that define it.
    pub(super) fn named(&self, name: Name, value: &Expr) -> (Ref, Vec<Equation>) {
        let open = free(value, &Names::new(), self);
        let places = in_order(value, &open).iter().map(crate::syntax::ast::Place::named).collect();
        let target = Ref { name, places, relation: false, span: value.span };
        let equation = Equation {
            target: target.clone(),
            guard: None,
            projection: Projection::Sum,
            spelled: false,
            value: value.clone(),
            local: true,
            span: value.span,
        };
        let mut equations = Vec::new();
        super::collect::terms(equation, &mut equations);
        (target, equations)
    }

    /// Gives names to expressions that are written to files, except for tensors and `topk` of tensors.
    pub(super) fn name_sinks(&mut self) {
        let mut sinks = std::mem::take(&mut self.sinks);
        let mut equations = Vec::new();
        for (i, (_, value, _)) in sinks.iter_mut().enumerate() {
            let mut name = |value: &Expr| {
                let mut name = format!("file_{i}");
                while self.equations.iter().any(|e| *e.target.name == *name) {
                    name.push('\'');
                }
                let (target, own) = self.named(name.into(), value);
                equations.extend(own);
                Kind::Ref(target).at(value.span)
            };
            match &value.kind {
                Kind::Ref(_) => {}
                Kind::Call(c) if &*c.function == "topk" && c.args.len() == 1 => {
                    if !matches!(c.args[0].kind, Kind::Ref(_)) {
                        let call = Call { args: vec![name(&c.args[0])], ..(**c).clone() };
                        *value = Kind::Call(Box::new(call)).at(value.span);
                    }
                }
                _ => *value = name(value),
            }
        }
        self.sinks = sinks;
        self.equations.extend(equations);
    }

    /// Returns a copy of the program with an equation for the query in `source`, and the new name on its left side.
    pub fn ask(&self, source: Source) -> Result<(Program, Name), Faults> {
        let mut grown = self.clone();
        let file = grown.sources.len() as u32;
        grown.sources.push(source);
        let mut value = match crate::syntax::parse::parse_expression(&grown.sources[file as usize], file) {
            Ok(value) => value,
            Err(faults) => return Err(Faults { sources: grown.sources, faults }),
        };
        let mut faults = Vec::new();
        Program::check_no_dots(&value, &mut faults);
        value = grown.looked_up(&value, &mut faults);
        if !faults.is_empty() {
            return Err(Faults { sources: grown.sources, faults });
        }
        let numbered = (1..).map(|n| Name::from(format!("value_{n}")));
        let name = numbered.into_iter().find(|n| self.definition(n).is_none()).unwrap_or_default();
        let (_, equations) = grown.named(name.clone(), &value);
        Ok((grown.extended(&equations)?, name))
    }
}
