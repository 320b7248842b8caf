//! Wrong ops, each with a correct counterpart, to test the checks themselves.
//!
//! A check that never fails proves nothing. Every fault here is a mistake that can happen when adding an op.
//! A test ensures that [`checks::all`](crate::checks::all) rejects the wrong op, by the check named, and
//! accepts the correct one.

mod linear;
mod nonlinear;
mod pointwise;
mod text;
mod typing;

use gradus_ir::attr::Attrs;
use gradus_ir::ops::{Batch, Bound, Derivative, Form, Named, Primitive, Rule};
use gradus_ir::{Aval, Literal, Op, Result, Var};
use std::fmt;

/// A mistake, and its correct counterpart.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Description of the mistake.
    pub what: &'static str,
    /// The wrong op.
    pub wrong: Op,
    /// The right op.
    pub right: Op,
    /// Operands for both.
    pub ins: Vec<Literal>,
    /// If true, finite differences are valid at these operands.
    pub smooth: bool,
    /// The check that detects it, by the beginning of its name.
    pub caught: &'static str,
}

/// Returns all faults, and registers their ops for parsing, so that the text check does not reject them first.
pub fn faults() -> Vec<Fault> {
    [pointwise::faults(), linear::faults(), nonlinear::faults(), typing::faults(), text::faults()].concat()
}

/// Calls each function for its fault and registers the wrong op.
macro_rules! list {
    ($($name:ident),* $(,)?) => {
        pub(super) fn faults() -> Vec<$crate::faults::Fault> {
            vec![$({
                let fault = $name();
                gradus_ir::ops::registry::register(fault.wrong.name(), |_| Some($name().wrong));
                fault
            }),*]
        }
    };
}
use list;

type Infer = fn(&[Aval]) -> Result<Vec<Aval>>;
type Transpose = for<'a, 'b, 'g> fn(&'a Rule<'b, 'g>, usize, Var<'g>) -> Option<Var<'g>>;
type Jvp = for<'a, 'b, 'c, 'g> fn(&'a Rule<'b, 'g>, &'c [Option<Var<'g>>]) -> Vec<Option<Var<'g>>>;
type Batching = for<'a, 'b, 'g> fn(&'a Batch<'b, 'g>) -> Vec<Var<'g>>;

/// An op that behaves like another one, except for the parts that are replaced.
#[derive(Clone)]
struct ModifiedOp {
    name: &'static str,
    op: Op,
    infer: Option<Infer>,
    derivative: Option<Derivative>,
    transpose: Option<Transpose>,
    jvp: Option<Jvp>,
    form: Option<fn(&[Aval]) -> Form>,
    batch: Option<Batching>,
}

impl ModifiedOp {
    fn new(name: &'static str, op: impl Into<Op>) -> ModifiedOp {
        ModifiedOp {
            name,
            op: op.into(),
            infer: None,
            derivative: None,
            transpose: None,
            jvp: None,
            form: None,
            batch: None,
        }
    }

    fn infer(self, infer: Infer) -> ModifiedOp {
        ModifiedOp { infer: Some(infer), ..self }
    }

    fn derivative(self, derivative: Derivative) -> ModifiedOp {
        ModifiedOp { derivative: Some(derivative), ..self }
    }

    fn transpose(self, transpose: Transpose) -> ModifiedOp {
        ModifiedOp { transpose: Some(transpose), ..self }
    }

    fn jvp(self, jvp: Jvp) -> ModifiedOp {
        ModifiedOp { jvp: Some(jvp), derivative: Some(Derivative::Jvp), ..self }
    }

    fn form(self, form: fn(&[Aval]) -> Form) -> ModifiedOp {
        ModifiedOp { form: Some(form), ..self }
    }

    fn batch(self, batch: Batching) -> ModifiedOp {
        ModifiedOp { batch: Some(batch), ..self }
    }

    fn op(self) -> Op {
        Op::user(self)
    }
}

impl fmt::Debug for ModifiedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (like {:?})", self.name, self.op)
    }
}

impl Named for ModifiedOp {
    fn name(&self) -> &str {
        self.name
    }
    fn docs(&self) -> &str {
        "A deliberately wrong op."
    }
    fn attrs(&self) -> Attrs {
        Attrs::new()
    }
}

impl Primitive for ModifiedOp {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        self.infer.map_or_else(|| self.op.def().infer(ins), |infer| infer(ins))
    }
    fn derivative(&self) -> Derivative {
        self.derivative.unwrap_or_else(|| self.op.def().derivative())
    }
    fn partials<'g>(&self, rule: &Rule<'_, 'g>) -> Vec<Option<Var<'g>>> {
        self.op.def().partials(rule)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        match self.transpose {
            Some(transpose) => transpose(rule, operand, ct),
            None => self.op.def().transpose(rule, operand, ct),
        }
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        match self.jvp {
            Some(jvp) => jvp(rule, tangents),
            None => self.op.def().jvp(rule, tangents),
        }
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        self.batch.map_or_else(|| batch.unrolled(), |rule| rule(batch))
    }
    fn form(&self, ins: &[Aval]) -> Form {
        self.form.map_or_else(|| self.op.def().form(ins), |form| form(ins))
    }
    fn bound(&self) -> Bound {
        self.op.def().bound()
    }
}
