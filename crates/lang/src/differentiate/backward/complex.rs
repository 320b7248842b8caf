//! Complex numbers. The gradient of `z` is the `g` for which the loss changes by the real part of `conj(g) dz`. So the
//! cotangent of a factor contains the conjugates of the others, and that of a real part is the real part.

use super::{Back, bare};
use crate::builtin::Part;
use crate::differentiate::complex::gives;
use crate::elaborate::core::{Call, Expr, Kind};

impl Back<'_, '_> {
    /// Returns true if the value of an expression is complex.
    pub(super) fn is_complex(&self, e: &Expr) -> bool {
        if self.walk.complex.is_empty() {
            return false;
        }
        match &e.kind {
            Kind::Ref(r) => self.walk.complex.contains(&r.name),
            Kind::Compare(..) | Kind::And(_) | Kind::Or(_) | Kind::Not(_) => false,
            Kind::Choose(cases, otherwise) => {
                cases.iter().map(|[_, v]| v).chain(otherwise.as_deref()).any(|v| self.is_complex(v))
            }
            Kind::Call(c) => {
                let each: Vec<bool> = c.args.iter().map(|a| self.is_complex(&a.value)).collect();
                gives(&c.callee, c.by, &each, self.program)
            }
            _ => e.any_part(|p| self.is_complex(p)),
        }
    }

    fn of(&self, function: &str, args: Vec<Expr>) -> Option<Expr> {
        self.made(function.into(), args, Vec::new(), None)
    }

    /// Converts a cotangent to the dtype of the expression: that of a real expression is real.
    pub(super) fn fitting(&self, e: &Expr, ct: Expr) -> Option<Expr> {
        if !self.is_complex(&ct) || self.is_complex(e) { Some(ct) } else { self.of("real", vec![ct]) }
    }

    /// Returns the conjugate of a factor, if it is complex.
    pub(super) fn conjugate(&self, e: Expr) -> Option<Expr> {
        match &e.kind {
            Kind::Call(c) if &*c.function == "conj" => Some(c.args[0].value.clone()),
            _ if self.is_complex(&e) => self.of("conj", vec![e]),
            _ => Some(e),
        }
    }

    /// Goes back through a function that extracts parts of complex numbers, or combines them.
    pub(super) fn part(&mut self, part: Part, c: &Call, ct: Expr) -> Option<()> {
        // The real part or conjugate of a real number is the number itself; its imaginary part has no gradient.
        if part != Part::Both && !self.is_complex(&c.args[0].value) {
            return if part == Part::Imag { Some(()) } else { self.back(&c.args[0].value, ct) };
        }
        let zero = || bare(Kind::Number(0.0));
        let cotangents = match part {
            Part::Real => vec![self.of("complex", vec![ct, zero()])?],
            Part::Imag => vec![self.of("complex", vec![zero(), ct])?],
            Part::Conjugate => vec![self.of("conj", vec![ct])?],
            Part::Both => vec![self.of("real", vec![ct.clone()])?, self.of("imag", vec![ct])?],
        };
        for (arg, ct) in c.args.iter().zip(cotangents) {
            self.back(&arg.value, ct)?;
        }
        Some(())
    }
}
