//! Square roots of positive definite matrices.

use super::*;
use crate::op_struct;

op_struct! {
    /// Cholesky factor: the lower triangular `L` with a positive diagonal for which `L Lᴴ` is the Hermitian part of the
    /// operand. It is an error if the Hermitian part is not positive definite.
    pub struct Cholesky = "cholesky" {}
}

impl Primitive for Cholesky {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        square(&ins[0])?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    /// `dL = L Φ(L⁻¹ dA L⁻ᴴ)`, where `Φ` keeps the lower triangle and halves the diagonal.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let l = rule.outs[0];
        let moved = |da: Var<'g>| {
            let half = l.triangular_solve(da.hermitian(), true);
            let inner = l.triangular_solve(half.mh(), true).mh();
            l.mm(inner.part(Part::Below) + inner.part(Part::Diagonal) * 0.5)
        };
        vec![tangents[0].map(moved)]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Cholesky, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Cholesky {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        ins.iter().map(|a| Ok(T::data(dense::cholesky(a)?.data))).collect()
    }
}

impl Sampled for Cholesky {
    fn samples(s: &mut Samples) {
        for shape in SQUARES {
            for complex in [false, true] {
                // A diagonal large enough to make the Hermitian part positive definite.
                let a = sample_matrix(s, shape, complex, 5.0);
                s.case(Cholesky {}, [a]);
            }
        }
        square_errors(s, Cholesky {}, &[]);
    }
}
