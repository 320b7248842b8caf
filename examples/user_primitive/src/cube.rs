//! A pointwise primitive with its own routine: the third power.

use gradus::ir::ops::{Batch, Bound, Derivative, Form, Primitive, Rule, arity};
use gradus::ir::{Aval, Class, Error, Literal, Result, Var, op_struct};

op_struct! {
    /// Third power.
    pub struct Cube = "user_cube" {}
}

impl Primitive for Cube {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        if ins[0].dtype.class() != Class::Float {
            return Err(Error::dtype(ins[0].dtype, "it takes floats"));
        }
        Ok(ins.to_vec())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Pointwise
    }

    // The one rule, from which forward mode, reverse mode and all orders follow.
    fn partials<'g>(&self, rule: &Rule<'_, 'g>) -> Vec<Option<Var<'g>>> {
        vec![Some(rule.ins[0] * rule.ins[0] * 3.0)]
    }

    // Elementwise, so a batch is one application. Without this, it would be one for each element.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(gradus::ir::Op::user(Cube {}))
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::external(|ins| {
            let cubes: Vec<f64> = ins[0].f().iter().map(|x| x * x * x).collect();
            Ok(vec![Literal::new(ins[0].aval().clone(), cubes)?])
        })
    }

    fn bound(&self) -> Bound {
        Bound::Ulps(2.0)
    }
}
