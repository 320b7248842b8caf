//! LU factorisation with partial pivoting.

use super::qr::RECTANGLES;
use super::*;
use crate::op_struct;

op_struct! {
    /// `A = P L U` by elimination with partial pivoting, for `A` of `[..,m,n]` and `k` the smaller of `m` and `n`.
    /// One result holds both factors: the unit lower triangular `L` of `[..,m,k]` below the diagonal, and the upper
    /// triangular `U` of `[..,k,n]`. The other holds, for each row, the row of `A` it came from. The derivative needs
    /// nonzero first `k` pivots, else it is an error.
    pub struct Lu = "lu" {}
}

impl Primitive for Lu {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let [m, _] = extents(&ins[0])?;
        Ok(vec![ins[0].clone(), with_last_extents(&ins[0], &[m]).with_dtype(DType::I64)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    /// Let `M = L⁻¹ Pᵀ dA U⁻¹`, of the first `k` rows and columns. `dL` is `L` times the part of `M` below the
    /// diagonal; `dU` is the rest of `M` times `U`. The rows and columns beyond `k` follow from `Pᵀ dA = dL U +
    /// L dU`.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [lu, from]) = (tangents[0], rule.outs) else { return vec![None, None] };
        let (b, lu, rows) = (da.builder(), *lu, da.rank() - 2);
        let (m, n) = (lu.shape()[rows], lu.shape()[rows + 1]);
        let k = m.min(n);
        let da = da.take_along(from.along_columns(da), rows);
        let (head, below_head) = (lu.slice_axis(rows, 0, k), lu.slice_axis(rows, k, m));
        let both = head.slice_axis(rows + 1, 0, k);
        // X ↦ L⁻¹ X and X ↦ X U⁻¹.
        let left =
            |x: Var<'g>| b.apply1(TriangularSolve { lower: true, transpose: false, unit: true }, &[both, x]);
        let right = |x: Var<'g>| {
            let op = TriangularSolve { lower: false, transpose: true, unit: false };
            b.apply1(op, &[both, x.mt()]).mt()
        };
        let half = left(da.slice_axis(rows, 0, k));
        let inner = right(half.slice_axis(rows + 1, 0, k));
        let (below, upper) = (inner.part(Part::Below), inner.part(Part::Upper));
        let dl = both.part(Part::Below).mm(below) + below;
        let mut out = dl + upper.mm(both.part(Part::Upper));
        if n > k {
            let beyond = half.slice_axis(rows + 1, k, n) - below.mm(head.slice_axis(rows + 1, k, n));
            out = b.apply1(movement::Concat { axis: rows + 1 }, &[out, beyond]);
        }
        if m > k {
            let beyond = right(da.slice_axis(rows, k, m)) - below_head.mm(upper);
            out = b.apply1(movement::Concat { axis: rows }, &[out, beyond]);
        }
        vec![Some(out), None]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Lu, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Lu {
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
        for shape in SQUARES.iter().chain(&RECTANGLES[1..4]) {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 1.5);
                s.case(Lu {}, [a]);
            }
        }
        let exchanged = s.floats([3, 3], &[0.1, 2.0, 0.3, 1.5, 0.2, -0.4, 0.3, 0.5, -1.2]);
        s.case(Lu {}, [exchanged]);
        s.error(Lu {}, &[Aval::new(DType::F64, [2])], "must have at least two axes");
        s.error(Lu {}, &[Aval::new(DType::I32, [2, 2])], "it takes floats and complex numbers");
    }
}
