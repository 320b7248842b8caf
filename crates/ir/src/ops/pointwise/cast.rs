//! Conversion between dtypes.

use crate::graph::Var;
use crate::op_struct;
use crate::ops::*;
use crate::{Aval, Class, DType, Result};

op_struct! {
    /// Converts every element: float to integer truncates and saturates (NaN to 0), integer to integer wraps, any
    /// number to boolean tests for nonzero, complex to real drops the imaginary part.
    pub struct Cast = "cast" {
        /// The dtype to convert to.
        to: DType,
    }
}

impl Primitive for Cast {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        Ok(vec![ins[0].with_dtype(self.to)])
    }

    // The op is a step function if either dtype is an integer or boolean.
    fn derivative(&self) -> Derivative {
        if self.to.is_differentiable() { Derivative::Linear(Operands::All) } else { Derivative::Zero }
    }

    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let from = rule.ins[0].dtype();
        from.is_differentiable().then(|| ct.to(from))
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Cast)
    }
}

impl Sampled for Cast {
    fn samples(s: &mut Samples) {
        let float = s.uniform((-3.0, 3.0), [2, 3]);
        s.kink(Cast { to: DType::F32 }, [float.clone()]);
        s.case(Cast { to: DType::F64 }, [float.clone()]);
        s.case(Cast { to: DType::C128 }, [float.clone()]);
        s.kink(Cast { to: DType::I32 }, [float.clone()]);
        s.kink(Cast { to: DType::Bool }, [float]);
        let complex = s.complex((-1.0, 1.0), [3]);
        s.case(Cast { to: DType::F64 }, [complex]);
        let ints = s.ints((-300, 300), [4]);
        s.case(Cast { to: DType::U8 }, [ints]);
        s.error(Cast { to: DType::F32 }, &[], "takes 1 operands, got 0");
    }
}

impl<'g> Var<'g> {
    /// Converts to another dtype; returns `self` if it has that dtype already.
    pub fn to(self, dtype: DType) -> Var<'g> {
        if self.dtype() == dtype { self } else { self.builder().apply1(Cast { to: dtype }, &[self]) }
    }

    /// Returns the complex conjugate of a complex value; a real value is returned unchanged.
    pub fn conj_if_complex(self) -> Var<'g> {
        if self.dtype().class() == Class::Complex { self.conj() } else { self }
    }
}
