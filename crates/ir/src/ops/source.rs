//! Ops without operands to differentiate: inputs, constants, indices, random bits.
//! Each returns a value of a declared type. The random stream is defined in `philox.rs`.

use super::*;
use crate::graph::Builder;
use crate::{DType, Shape, op_struct};

op_struct! {
    /// An input of the graph.
    pub struct Input = "input" {
        /// Its index among the inputs.
        index: usize,
        /// Its type.
        aval: Aval,
    }
}

impl Primitive for Input {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 0)?;
        Ok(vec![self.aval.clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Input
    }
}

/// Inputs occur in every sample graph, so they need no samples.
impl Sampled for Input {
    fn samples(_s: &mut Samples) {}
}

op_struct! {
    /// A fixed value.
    pub struct Constant = "constant" {
        /// The value.
        value: Literal,
    }
}

impl Primitive for Constant {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 0)?;
        Ok(vec![self.value.aval().clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Constant(self.value.clone())
    }
}

impl Sampled for Constant {
    fn samples(s: &mut Samples) {
        for value in [s.normal([2, 2]), s.ints((-5, 5), [3]), s.bools([2]), s.complex((-1.0, 1.0), [2])] {
            s.case(Constant { value }, []);
        }
        for special in [f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE] {
            s.case(Constant { value: Literal::scalar(DType::F64, special) }, []);
        }
        let value = Literal::scalar(DType::F64, 1.0);
        s.error(Constant { value }, &[Aval::scalar(DType::F64)], "takes 0 operands, got 1");
    }
}

op_struct! {
    /// The index along one axis: 0, 1, 2, …
    pub struct Iota = "iota" {
        /// The type of the result.
        aval: Aval,
        /// The axis along which the values count.
        axis: usize,
    }
}

impl Primitive for Iota {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 0)?;
        check_axes(&[self.axis], self.aval.rank())?;
        if self.aval.dtype == DType::Bool {
            return Err(Error::dtype(DType::Bool, "an index needs a numeric dtype"));
        }
        Ok(vec![self.aval.clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Iota { axis: self.axis }
    }
}

impl Sampled for Iota {
    fn samples(s: &mut Samples) {
        s.case(Iota { aval: Aval::new(DType::I64, [2, 3]), axis: 1 }, []);
        s.case(Iota { aval: Aval::new(DType::F64, [2, 3]), axis: 0 }, []);
        s.case(Iota { aval: Aval::new(DType::I64, [0]), axis: 0 }, []);
        s.error(Iota { aval: Aval::new(DType::I64, [2]), axis: 1 }, &[], "axis 1 is out of range");
        s.error(Iota { aval: Aval::new(DType::Bool, [2]), axis: 0 }, &[], "an index needs a numeric dtype");
    }
}

impl Builder {
    /// Returns the index along an axis.
    pub fn iota(&self, dtype: DType, shape: impl Into<Shape>, axis: usize) -> Var<'_> {
        self.apply1(Iota { aval: Aval::new(dtype, shape), axis }, &[])
    }
}

op_struct! {
    /// Random `u32` words of the Philox4x32-10 stream at a state (key low, key high, offset low, offset high), and
    /// the state after them. A state gives the same words on every device.
    pub struct RandomBits = "random_bits" {
        /// Extents of the words.
        shape: Shape,
    }
}

impl Primitive for RandomBits {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let state = Aval::new(DType::U32, [4]);
        if ins[0] != state {
            return Err(Error::shape(format!("state {}", ins[0]), format!("must be {state}")));
        }
        Ok(vec![Aval::new(DType::U32, &self.shape), state])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Bits
    }
}

impl Sampled for RandomBits {
    fn samples(s: &mut Samples) {
        for shape in [&[3, 5][..], &[], &[0]] {
            let state = s.ints_of(DType::U32, (0, 1 << 31), [4]);
            s.case(RandomBits { shape: shape.into() }, [state]);
        }
        let wrong = Aval::new(DType::I64, [4]);
        s.error(RandomBits { shape: Shape::scalar() }, &[wrong], "state i64[4] must be u32[4]");
    }
}
