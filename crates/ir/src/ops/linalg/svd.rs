//! Singular value decomposition.

use super::qr::RECTANGLES;
use super::*;
use crate::op_struct;

op_struct! {
    /// `A = U diag(s) Vᴴ` for `A` of `[..,m,n]`, where `k` is the smaller of `m` and `n`: `U` of `[..,m,k]`, `s` of
    /// `[..,k]` (real, descending) and `Vᴴ` of `[..,k,n]`. The phase of each column of `U` makes its first entry of
    /// at least half the largest modulus real and positive. Derivatives of the vectors omit the parts that mix
    /// vectors of equal singular values, and those of zero singular values.
    pub struct Svd = "svd" {}
}

impl Primitive for Svd {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let [m, n] = extents(&ins[0])?;
        let k = m.min(n);
        let s = with_last_extents(&ins[0], &[k]).with_dtype(ins[0].dtype.real());
        Ok(vec![with_last_extents(&ins[0], &[m, k]), s, with_last_extents(&ins[0], &[k, n])])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [u, s, vh]) = (tangents[0], rule.outs) else { return vec![None; 3] };
        let (u, vh, rows) = (*u, *vh, da.rank() - 2);
        let (m, n, k) = (da.shape()[rows], da.shape()[rows + 1], u.shape()[rows + 1]);
        let inner = u.mh().mm(da).mm(vh.mh());
        let s = s.to(da.dtype());
        let (row, column) = (s.along_columns(inner), s.along_rows(inner));
        // (s_j - s_i)(s_j + s_i) keeps the digits of values that are close.
        let between = ((column - row) * (column + row)).reciprocal_or_zero();
        let mut of_u = between * (inner * column + row * inner.mh());
        let of_v = between * (row * inner + inner.mh() * column);
        let ds = inner.diagonals();
        let inverse = s.reciprocal_or_zero();
        if da.dtype().is_complex() {
            of_u = of_u + (ds.im().imaginary() * inverse).on_diagonal(inner);
        }
        let mut du = u.mm(of_u);
        let mut dvh = -of_v.mm(vh);
        if m > k {
            let out = da.mm(vh.mh());
            du = du + (out - u.mm(inner)) * inverse.along_rows(u);
        }
        if n > k {
            let out = u.mh().mm(da);
            dvh = dvh + (out - inner.mm(vh)) * inverse.along_columns(vh);
        }
        if !da.dtype().is_complex() {
            return vec![Some(du), Some(ds), Some(dvh)];
        }
        let turn = phase_correction(u, du).imaginary();
        let (du, dvh) = (du - u * turn.along_rows(u), dvh + vh * turn.along_columns(vh));
        vec![Some(du), Some(ds.re()), Some(dvh)]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Svd, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Svd {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let mut parts = Vec::new();
        for a in &ins {
            let (u, s, v) = spectral::svd(a)?;
            parts.extend([T::data(u.data), s.into(), T::data(v.adjoint().data)]);
        }
        Ok(parts)
    }
}

impl Sampled for Svd {
    fn samples(s: &mut Samples) {
        for shape in RECTANGLES {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 2.0);
                s.case(Svd {}, [a]);
            }
        }
        let deficient = s.floats([3, 2], &[1.0, 2.0, 2.0, 4.0, -1.0, -2.0]);
        s.kink(Svd {}, [deficient]);
        s.error(Svd {}, &[Aval::new(DType::F64, [2])], "must have at least two axes");
        s.error(Svd {}, &[Aval::new(DType::Bool, [2, 2])], "it takes floats and complex numbers");
    }
}
