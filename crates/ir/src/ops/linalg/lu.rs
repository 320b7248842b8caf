//! Elimination with row exchanges.

use super::*;
use crate::op_struct;

op_struct! {
    /// `A = P L U` by elimination with partial pivoting: the unit lower triangular `L` (below the diagonal) and the upper
    /// triangular `U` in one matrix, and for each row of them the row of `A` it came from. Its derivative needs a regular `A`.
    pub struct Lu = "lu" {}
}

impl Primitive for Lu {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let n = square(&ins[0])?;
        Ok(vec![ins[0].clone(), ending(&ins[0], &[n]).with_dtype(DType::I64)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    /// With `M = L⁻¹ Pᵀ dA U⁻¹`, `dL` is `L` times its part below the diagonal and `dU` the rest times `U`.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [lu, from]) = (tangents[0], rule.outs) else { return vec![None, None] };
        let (lu, rows) = (*lu, da.rank() - 2);
        let da = da.take_along(from.along_columns(da), rows);
        let left = TriangularSolve { lower: true, transpose: false, unit: true };
        let right = TriangularSolve { lower: false, transpose: true, unit: false };
        let half = da.builder().apply1(left, &[lu, da]);
        let inner = da.builder().apply1(right, &[lu, half.mt()]).mt();
        let below = inner.part(Part::Below);
        let dl = lu.part(Part::Below).mm(below) + below;
        let du = inner.part(Part::Upper).mm(lu.part(Part::Upper));
        vec![Some(dl + du), None]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        each(self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl Kernel for Lu {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let one = |mut a: Mat<T>| {
            let (from, _) = dense::lu(&mut a);
            [T::data(a.data), from.iter().map(|&i| i as i64).collect::<Vec<i64>>().into()]
        };
        Ok(ins.into_iter().flat_map(one).collect())
    }
}

impl Sampled for Lu {
    fn samples(s: &mut Samples) {
        for shape in SQUARES {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 1.5);
                s.case(Lu {}, [a]);
            }
        }
        let exchanged = s.floats([3, 3], &[0.1, 2.0, 0.3, 1.5, 0.2, -0.4, 0.3, 0.5, -1.2]);
        s.case(Lu {}, [exchanged]);
        square_errors(s, Lu {}, &[]);
    }
}
