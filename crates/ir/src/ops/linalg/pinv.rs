//! The pseudo-inverse.

use super::qr::RECTANGLES;
use super::*;
use crate::op_struct;

op_struct! {
    /// Moore-Penrose pseudo-inverse of `[..,m,n]`, as `[..,n,m]`. Singular values of at most `eps · max(m, n)` times
    /// the largest count as 0. The derivative is that along matrices of the same rank.
    pub struct Pinv = "pinv" {}
}

impl Primitive for Pinv {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let [m, n] = extents(&ins[0])?;
        Ok(vec![with_last_extents(&ins[0], &[n, m])])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    /// Golub and Pereyra's formula. It has no quotients of singular values, so equal ones cause no problem.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), a, p) = (tangents[0], rule.ins[0], rule.outs[0]) else { return vec![None] };
        let dah = da.mh();
        let within = p.mm(da).mm(p);
        let left = p.mm(p.mh()).mm(dah - dah.mm(a).mm(p));
        let right = (dah - p.mm(a).mm(dah)).mm(p.mh()).mm(p);
        vec![Some(left + right - within)]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let epsilon = ins.first().map_or(0.0, |a| a.dtype.epsilon());
        form_per_matrix(Factorisation::Pinv, Inverse { epsilon }, self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

/// The routine, with the relative threshold below which a singular value counts as 0.
struct Inverse {
    epsilon: f64,
}

impl MatrixFunction for Inverse {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let one = |a: &Mat<T>| {
            let (u, s, v) = spectral::svd(a)?;
            let least = self.epsilon * a.rows.max(a.cols) as f64 * s.first().copied().unwrap_or(0.0);
            let inverse = |s: f64| if s <= least { 0.0 } else { 1.0 / s };
            let scaled = Mat::from_fn(v.rows, v.cols, |i, j| v[(i, j)] * T::of(inverse(s[j])));
            Ok(T::data(scaled.times(&u.adjoint()).data))
        };
        ins.iter().map(one).collect()
    }
}

impl Sampled for Pinv {
    fn samples(s: &mut Samples) {
        for shape in RECTANGLES {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 2.0);
                s.case(Pinv {}, [a]);
            }
        }
        let deficient = s.floats([3, 2], &[1.0, 2.0, 2.0, 4.0, -1.0, -2.0]);
        s.kink(Pinv {}, [deficient]);
        s.error(Pinv {}, &[Aval::new(DType::F64, [2])], "must have at least two axes");
        s.error(Pinv {}, &[Aval::new(DType::I8, [2, 2])], "it takes floats and complex numbers");
    }
}
