//! Selection between values, `stop_gradient`, and barriers that delay a value.
//! Each takes values of one type and returns a value of that type.
//! Which values are checkpointed with a barrier is decided by `call.rs`.

use super::*;
use crate::{DType, message, op_struct};

op_struct! {
    /// The second operand where the first is true, else the third. A NaN in an element that is not selected affects
    /// neither the value nor the derivative.
    pub struct Select = "select" {}
}

impl Primitive for Select {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 3)?;
        if ins[0].dtype != DType::Bool {
            return Err(Error::dtype(ins[0].dtype, "the condition must be bool"));
        }
        if ins[1] != ins[2] || ins[0].shape != ins[1].shape {
            let what = message!("condition ", &ins[0], " and branches ", &ins[1], " and ", &ins[2]);
            return Err(Error::shape(what, "must have equal extents, and both branches the same dtype"));
        }
        Ok(vec![ins[1].clone()])
    }

    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::Only(&[1, 2]))
    }

    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let zero = ct.full_like(0.0);
        Some(if operand == 1 { rule.ins[0].select(ct, zero) } else { rule.ins[0].select(zero, ct) })
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Select)
    }
}

impl Sampled for Select {
    fn samples(s: &mut Samples) {
        for shape in [&[2, 3][..], &[], &[0]] {
            let ins = [s.bools(shape), s.normal(shape), s.normal(shape)];
            s.case(Select {}, ins);
            let ins = [s.bools(shape), s.ints((0, 9), shape), s.ints((0, 9), shape)];
            s.case(Select {}, ins);
        }
        let ins = [s.bools([2]), s.complex((-1.0, 1.0), [2]), s.complex((-1.0, 1.0), [2])];
        s.case(Select {}, ins);
        let (c, x, y) = (Aval::new(DType::Bool, [2]), Aval::new(DType::F64, [2]), Aval::new(DType::F64, [3]));
        s.error(Select {}, &[c, x.clone(), y], "must have equal extents");
        s.error(Select {}, &[x.clone(), x.clone(), x], "the condition must be bool");
    }
}

impl<'g> Var<'g> {
    /// Returns `yes` where this boolean is true, else `no`.
    pub fn select(self, yes: Var<'g>, no: Var<'g>) -> Var<'g> {
        self.builder().apply1(Select {}, &[self, yes, no])
    }
}

op_struct! {
    /// The operand, treated as a constant by every derivative.
    pub struct StopGradient = "stop_gradient" {}
}

impl Primitive for StopGradient {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        Ok(ins.to_vec())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Identity)
    }
}

impl Sampled for StopGradient {
    fn samples(s: &mut Samples) {
        let x = s.normal([2, 3]);
        s.kink(StopGradient {}, [x]);
        s.error(StopGradient {}, &[], "takes 1 operands, got 0");
    }
}

op_struct! {
    /// The first operand, available only after the others are computed. Values computed from it are never merged with
    /// equal values computed from the operand itself, so that checkpointed values are recomputed where they are
    /// needed.
    pub struct Barrier = "barrier" {}
}

impl Primitive for Barrier {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        match ins.first() {
            Some(first) => Ok(vec![first.clone()]),
            None => Err(Error::new(crate::Kind::Arity { expected: 1, found: 0 })),
        }
    }

    fn derivative(&self) -> Derivative {
        Derivative::LinearJvp(Operands::Only(&[0]))
    }

    // The value does not depend on the operands that it waits for.
    fn jvp<'g>(&self, _: &Rule<'_, 'g>, _: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![None]
    }

    fn transpose<'g>(&self, _: &Rule<'_, 'g>, _: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct)
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let mut ins = batch.ins.to_vec();
        ins[0] = batch.with_axis(0);
        batch.builder.apply(self.clone(), &ins)
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Identity)
    }
}

impl Sampled for Barrier {
    fn samples(s: &mut Samples) {
        let ins = [s.normal([2, 3]), s.normal([2])];
        s.case(Barrier {}, [ins[0].clone()]);
        s.case(Barrier {}, ins);
        s.error(Barrier {}, &[], "takes 1 operands, got 0");
    }
}
