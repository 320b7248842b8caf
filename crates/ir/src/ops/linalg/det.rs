//! Determinant, adjugate, and sign and logarithm of the determinant. Takes square matrices; returns one number per
//! matrix, or matrices. The algorithms are in `dense.rs` and `spectral.rs`.

use super::*;
use crate::op_struct;

/// Returns the type of one scalar per square matrix.
fn scalars(ins: &[Aval]) -> Result<Aval> {
    arity(ins, 1)?;
    square(&ins[0])?;
    Ok(with_last_extents(&ins[0], &[]))
}

op_struct! {
    /// Determinant. Its first derivative, by cofactors, is exact also for singular matrices; higher ones need a
    /// regular matrix.
    pub struct Det = "det" {}
}

impl Primitive for Det {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        Ok(vec![scalars(ins)?])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let cofactors = || rule.ins[0].builder().apply1(Adjugate {}, &[rule.ins[0]]).mt();
        vec![tangents[0].map(|da| (cofactors() * da).sum(&[da.rank() - 2, da.rank() - 1]))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Det, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Det {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        Ok(ins.into_iter().map(|a| T::data(vec![spectral::determinant(a)])).collect())
    }
}

op_struct! {
    /// Adjugate: the transpose of the matrix of cofactors, which is `det(A) A⁻¹` where `A` is regular. Its derivative
    /// needs a regular matrix.
    pub struct Adjugate = "adjugate" {}
}

impl Primitive for Adjugate {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        scalars(ins)?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    /// `d adj(A) = (tr(A⁻¹ dA) - A⁻¹ dA) adj(A)`.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let adjugate = rule.outs[0];
        let moved = |da: Var<'g>| {
            let x = rule.ins[0].solve(da);
            let last = [da.rank() - 2, da.rank() - 1];
            let trace = x.part(Part::Diagonal).sum(&last).spread(&last, &da.shape());
            trace * adjugate - x.mm(adjugate)
        };
        vec![tangents[0].map(moved)]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Adjugate, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Adjugate {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        Ok(ins.iter().map(|a| T::data(spectral::adjugate(a).data)).collect())
    }
}

op_struct! {
    /// Sign (a number of modulus 1, or 0) and logarithm of the modulus of the determinant. A singular matrix gives 0
    /// and minus infinity, and has no derivative.
    pub struct Slogdet = "slogdet" {}
}

impl Primitive for Slogdet {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let sign = scalars(ins)?;
        let log = sign.with_dtype(sign.dtype.real());
        Ok(vec![sign, log])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let Some(da) = tangents[0] else { return vec![None, None] };
        let x = rule.ins[0].solve(da).part(Part::Diagonal);
        let trace = x.sum(&[da.rank() - 2, da.rank() - 1]);
        match trace.dtype().is_complex() {
            true => vec![Some(rule.outs[0] * trace.im().imaginary()), Some(trace.re())],
            false => vec![None, Some(trace)],
        }
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Slogdet, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Slogdet {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let one = |mut a: Mat<T>| {
            let (_, sign) = dense::lu(&mut a);
            let pivots: Vec<T> = (0..a.rows).map(|i| a[(i, i)]).collect();
            let zero = pivots.iter().any(|p| *p == T::default());
            let sign = pivots.iter().fold(T::of(sign), |s, p| s * p.phase());
            let log = pivots.iter().map(|p| p.size().ln()).sum::<f64>();
            [T::data(vec![if zero { T::default() } else { sign }]), vec![log].into()]
        };
        Ok(ins.into_iter().flat_map(one).collect())
    }
}

macro_rules! samples {
    ($($name:ident),*) => {$(
        impl Sampled for $name {
            fn samples(s: &mut Samples) {
                for shape in SQUARES {
                    for complex in [false, true] {
                        let a = sample_matrix(s, shape, complex, 1.5);
                        s.case($name {}, [a]);
                    }
                }
                square_errors(s, $name {}, &[]);
            }
        }
    )*};
}
samples!(Det, Adjugate, Slogdet);
