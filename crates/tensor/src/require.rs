//! An op that makes a run fail: a check that cannot be made during tracing because it depends on elements.
//! Takes a boolean scalar and returns it; evaluating it is an error if it is false.

use crate::eager::apply::apply1;
use crate::tensor::Tensor;
use gradus_ir::ops::reduce::Min;
use gradus_ir::ops::{Batch, Declared, Derivative, Form, Primitive, arity, registry};
use gradus_ir::{Aval, DType, Error, Literal, Op, Result, Var, op_struct};
use std::sync::Once;

op_struct! {
    /// Returns its operand, a boolean scalar. Evaluating it is an error if the operand is false.
    pub struct Require = "require" {
        /// Subject of the error.
        what: String,
        /// Reason of the error.
        why: String,
    }
}

impl Primitive for Require {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        match ins[0] == Aval::scalar(DType::Bool) {
            true => Ok(ins.to_vec()),
            false => Err(Error::shape(format!("the operand {}", ins[0]), "must be a boolean scalar")),
        }
    }

    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }

    // Requires all elements of the batch at once.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let all = batch.builder.apply1(Min { axes: vec![0] }, &[batch.ins[0]]);
        let required = batch.builder.apply1(Op::user(self.clone()), &[all]);
        vec![required.broadcast_to(&batch.ins[0].shape())]
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        let op = self.clone();
        Form::external(move |ins: &[Literal]| match ins.first().map(|l| l.i()) {
            Some([holds]) if *holds != 0 => Ok(ins.to_vec()),
            _ => Err(Error::shape(op.what.clone(), op.why.clone())),
        })
    }
}

/// Returns a boolean scalar that must be true when the program runs: otherwise the run fails with this error.
/// Operations that depend on the result run only after the check.
#[track_caller]
pub fn require(holds: &Tensor, what: &str, why: &str) -> Tensor {
    // Registers the op, so that graphs can be parsed from text.
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        registry::register(Require::NAME, |attrs| Require::from_attrs(attrs).map(Op::user));
    });
    apply1(Op::user(Require { what: what.into(), why: why.into() }), &[holds])
}
