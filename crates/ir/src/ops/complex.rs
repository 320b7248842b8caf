//! Complex numbers and their parts. These ops are linear over the reals, not over the complex numbers, so they define
//! their adjoints under the real inner product.

use super::*;
use crate::{DType, message, op_struct};

fn infer_part(ins: &[Aval]) -> Result<Vec<Aval>> {
    arity(ins, 1)?;
    if !ins[0].dtype.is_complex() {
        return Err(Error::dtype(ins[0].dtype, message!("it takes ", &[DType::C64, DType::C128][..])));
    }
    Ok(vec![ins[0].with_dtype(ins[0].dtype.real())])
}

op_struct! {
    /// Real part.
    pub struct Re = "re" {}
}

impl Primitive for Re {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_part(ins)
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.complex(ct.full_like(0.0)))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Re)
    }
}

op_struct! {
    /// Imaginary part.
    pub struct Im = "im" {}
}

impl Primitive for Im {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_part(ins)
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.full_like(0.0).complex(ct))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Im)
    }
}

op_struct! {
    /// Complex conjugate.
    pub struct Conj = "conj" {}
}

impl Primitive for Conj {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_part(ins)?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.conj())
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Conj)
    }
}

op_struct! {
    /// The complex number of a real and an imaginary part.
    pub struct Complex = "complex" {}
}

impl Primitive for Complex {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        let dtype = ins[0].dtype;
        if dtype.complex().real() != dtype {
            return Err(Error::dtype(dtype, message!("the parts must be ", DType::F32, " or ", DType::F64)));
        }
        if ins[0] != ins[1] {
            return Err(Error::shape(
                message!("parts ", &ins[0], " and ", &ins[1]),
                "must have the same type",
            ));
        }
        Ok(vec![ins[0].with_dtype(dtype.complex())])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(if operand == 0 { ct.re() } else { ct.im() })
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Complex)
    }
}

macro_rules! unary_samples {
    ($($name:ident),*) => {$(
        impl Sampled for $name {
            fn samples(s: &mut Samples) {
                for shape in [&[2, 3][..], &[], &[0]] {
                    let z = s.complex((-2.0, 2.0), shape);
                    s.case($name {}, [z]);
                }
                s.error($name {}, &[Aval::new(DType::F64, [2])], "it takes c64, c128");
            }
        }
    )*};
}
unary_samples!(Re, Im, Conj);

impl Sampled for Complex {
    fn samples(s: &mut Samples) {
        let ins = [s.normal([2, 3]), s.normal([2, 3])];
        s.case(Complex {}, ins);
        let int = Aval::new(DType::I32, [2]);
        s.error(Complex {}, &[int.clone(), int], "the parts must be f32 or f64");
    }
}

impl<'g> Var<'g> {
    /// Returns the real part.
    pub fn re(self) -> Var<'g> {
        self.builder().apply1(Re {}, &[self])
    }
    /// Returns the imaginary part.
    pub fn im(self) -> Var<'g> {
        self.builder().apply1(Im {}, &[self])
    }
    /// Returns the complex conjugate.
    pub fn conj(self) -> Var<'g> {
        self.builder().apply1(Conj {}, &[self])
    }
    /// Returns the complex number with real part `self` and imaginary part `im`.
    pub fn complex(self, im: Var<'g>) -> Var<'g> {
        self.builder().apply1(Complex {}, &[self, im])
    }
}
