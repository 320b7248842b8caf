//! A linear primitive with an argument, computed by other ops: a rotation by right angles.

use gradus::ir::graph::Builder;
use gradus::ir::ops::movement::{Flip, Permute};
use gradus::ir::ops::{Derivative, Form, Operands, Primitive, Rule, arity, check_axes};
use gradus::ir::{Aval, Graph, Op, Result, Var, op_struct};
use std::sync::Arc;

op_struct! {
    /// Rotates the first two axes by `quarters` right angles.
    pub struct Rot90 = "user_rot90" {
        /// Number of right angles, from the first axis towards the second.
        quarters: i64,
    }
}

impl Rot90 {
    fn body(&self, x: Aval) -> Result<Graph> {
        let b = Builder::new();
        let v = b.input("x", x);
        let mut order: Vec<usize> = (0..v.rank()).collect();
        order.swap(0, 1);
        let turned = match self.quarters.rem_euclid(4) {
            0 => v,
            1 => b.apply1(Flip { axes: vec![0] }, &[b.apply1(Permute { axes: order }, &[v])]),
            2 => b.apply1(Flip { axes: vec![0, 1] }, &[v]),
            _ => b.apply1(Permute { axes: order }, &[b.apply1(Flip { axes: vec![0] }, &[v])]),
        };
        b.finish(&[turned])
    }
}

impl Primitive for Rot90 {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&[0, 1], ins[0].rank())?;
        Ok(self.body(ins[0].clone())?.output_avals())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }

    // The adjoint of a rotation is its inverse.
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.builder().apply1(Op::user(Rot90 { quarters: -self.quarters }), &[ct]))
    }

    fn form(&self, ins: &[Aval]) -> Form {
        match self.body(ins[0].clone()) {
            Ok(body) => Form::Region(Arc::new(body)),
            Err(e) => Form::external(move |_| Err(e.clone())),
        }
    }
}
