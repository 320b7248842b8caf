//! The bits of elements read as another dtype.

use super::*;
use crate::{DType, Shape, message, op_struct};

op_struct! {
    /// The bits of the elements as elements of another dtype, least significant first. If the new dtype is wider, the
    /// last axis holds the parts of one element and disappears. If it is narrower, the parts become a new last axis. No
    /// gradient passes.
    pub struct Bitcast = "bitcast" {
        /// The dtype of the result.
        dtype: DType,
    }
}

impl Primitive for Bitcast {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let (from, to) = (ins[0].dtype, self.dtype);
        if let Some(d) = [from, to].into_iter().find(|d| *d == DType::Bool || d.is_complex()) {
            return Err(Error::dtype(d, "it takes integers and real floats"));
        }
        let (wide, narrow) = (to.size() / from.size(), from.size() / to.size());
        let mut shape = ins[0].shape.to_vec();
        if wide > 1 && shape.pop() != Some(wide) {
            let why = message!("needs a last axis of extent ", wide, ", the parts of one ", to);
            return Err(Error::shape(format!("shape {}", ins[0].shape), why));
        }
        if narrow > 1 {
            shape.push(narrow);
        }
        Ok(vec![Aval::new(to, Shape::from(shape))])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let outs = self.infer(ins);
        Form::external(move |ins: &[Literal]| {
            let (outs, [x]) = (outs.clone()?, ins) else {
                return Err(Error::verify("a bitcast takes one operand"));
            };
            outs.iter().map(|aval| Literal::from_bytes(aval, &x.to_bytes())).collect()
        })
    }
}

impl Sampled for Bitcast {
    fn samples(s: &mut Samples) {
        // Bytes that form finite `f16` numbers.
        let bytes = s.ints_of(DType::U8, (0, 0x70), [3, 2]);
        s.case(Bitcast { dtype: DType::F16 }, [bytes.clone()]);
        s.case(Bitcast { dtype: DType::I8 }, [bytes]);
        let words = s.ints_of(DType::I32, (-9, 9), [2]);
        s.case(Bitcast { dtype: DType::U8 }, [words]);
        let none = s.ints_of(DType::U8, (0, 1), [0, 4]);
        s.case(Bitcast { dtype: DType::U32 }, [none]);
        let op = Bitcast { dtype: DType::F32 };
        s.error(op.clone(), &[Aval::new(DType::U8, [3])], "a last axis of extent 4");
        s.error(op.clone(), &[Aval::new(DType::U8, [])], "a last axis of extent 4");
        s.error(op, &[Aval::new(DType::Bool, [4])], "it takes integers and real floats");
    }
}
