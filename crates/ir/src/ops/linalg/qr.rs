//! QR factorisation.

use super::*;
use crate::op_struct;

op_struct! {
    /// `A = Q R` for `A` of shape `[..,m,n]` and `k = min(m,n)`. `Q`, of shape `[..,m,k]`, has orthonormal columns.
    /// `R`, of shape `[..,k,n]`, is upper triangular with a real diagonal. The derivative exists only if the first `k`
    /// columns of `A` are linearly independent.
    pub struct Qr = "qr" {
        /// If true, the diagonal of `R` keeps the signs of the Householder reflections, as in LAPACK. Otherwise no
        /// element of the diagonal is negative.
        reflected: bool,
    }
}

impl Primitive for Qr {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let [m, n] = extents(&ins[0])?;
        let k = m.min(n);
        Ok(vec![with_last_extents(&ins[0], &[m, k]), with_last_extents(&ins[0], &[k, n])])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [q, r]) = (tangents[0], rule.outs) else { return vec![None, None] };
        let (q, r, last) = (*q, *r, da.rank() - 1);
        let (k, n) = (r.shape()[last - 1], r.shape()[last]);
        // Q of a wide matrix depends on its first k columns only.
        let (da1, r1) = (da.slice_axis(last, 0, k), r.slice_axis(last, 0, k));
        let moved = r1.mh().triangular_solve(da1.mh(), true).mh(); // dA R⁻¹
        let inner = q.mh().mm(moved);
        // Qᴴ dQ is skew-Hermitian, so its part below the diagonal determines it, and the diagonal of R stays real.
        let below = inner.part(Part::Below);
        let mut skew = below - below.mh();
        if inner.dtype().is_complex() {
            let turn = inner.part(Part::Diagonal).im().imaginary();
            skew = skew + turn;
        }
        let dq = moved - q.mm(inner - skew);
        let dr1 = (inner - skew).mm(r1).part(Part::Upper);
        if n == k {
            return vec![Some(dq), Some(dr1)];
        }
        let (da2, r2) = (da.slice_axis(last, k, n), r.slice_axis(last, k, n));
        let dr2 = q.mh().mm(da2) - skew.mm(r2);
        vec![Some(dq), Some(da.builder().apply1(movement::Concat { axis: last }, &[dr1, dr2]))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Qr { reflected: self.reflected }, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Qr {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let parts = ins
            .into_iter()
            .map(|a| dense::qr(a, self.reflected))
            .flat_map(|(q, r)| [T::data(q.data), T::data(r.data)]);
        Ok(parts.collect())
    }
}

/// Shapes of rectangular sample matrices.
pub(super) const RECTANGLES: [&[usize]; 6] = [&[3, 3], &[4, 2], &[2, 3], &[2, 3, 2], &[1, 1], &[0, 2]];

impl Sampled for Qr {
    fn samples(s: &mut Samples) {
        for shape in RECTANGLES {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 2.0);
                s.case(Qr { reflected: false }, [a.clone()]);
                s.case(Qr { reflected: true }, [a]);
            }
        }
        s.error(Qr { reflected: false }, &[Aval::new(DType::F64, [2])], "must have at least two axes");
        s.error(
            Qr { reflected: false },
            &[Aval::new(DType::I32, [2, 2])],
            "it takes floats and complex numbers",
        );
    }
}
