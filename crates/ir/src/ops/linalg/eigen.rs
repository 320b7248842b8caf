//! Eigenvalues and eigenvectors.
//! Takes square matrices; returns eigenvalues and vectors with a fixed phase. The algorithms are in `spectral.rs`.

use super::*;
use crate::{message, op_struct};

/// Returns `1 / (w_j - w_i)` at row `i` and column `j`, 0 where they are equal.
fn gaps<'g>(w: Var<'g>, like: Var<'g>) -> Var<'g> {
    (w.along_rows(like) - w.along_columns(like)).reciprocal_or_zero()
}

op_struct! {
    /// Eigenvalues (real, ascending) of the Hermitian part of a matrix, and orthonormal eigenvectors as columns. The
    /// phase of each vector makes its first entry of at least half the largest modulus real and positive. Derivatives
    /// of the vectors omit the part that mixes vectors of equal eigenvalues.
    pub struct Eigh = "eigh" {}
}

impl Primitive for Eigh {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let n = square(&ins[0])?;
        Ok(vec![with_last_extents(&ins[0], &[n]).with_dtype(ins[0].dtype.real()), ins[0].clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [w, v]) = (tangents[0], rule.outs) else { return vec![None, None] };
        let v = *v;
        let inner = v.mh().mm(da.hermitian()).mm(v);
        let between = gaps(w.to(v.dtype()), inner);
        let dv = v.mm(inner * between);
        let dw = inner.diagonals();
        if !v.dtype().is_complex() {
            return vec![Some(dw), Some(dv)];
        }
        let turn = phase_correction(v, dv).imaginary();
        vec![Some(dw.re()), Some(dv - v * turn.along_rows(v))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Eigh, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Eigh {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let mut parts = Vec::new();
        for a in &ins {
            let (w, v) = spectral::eigh(a)?;
            parts.extend([w.into(), T::data(v.data)]);
        }
        Ok(parts)
    }
}

op_struct! {
    /// Eigenvalues of a complex matrix ordered by their real parts (equal ones by their imaginary parts, larger
    /// first), and unit eigenvectors as columns. The phase of each vector makes its first entry of at least half the
    /// largest modulus real and positive.
    pub struct Eig = "eig" {}
}

impl Primitive for Eig {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        if !ins[0].dtype.is_complex() {
            return Err(Error::dtype(ins[0].dtype, message!("it takes ", &[DType::C64, DType::C128][..])));
        }
        let n = square(&ins[0])?;
        Ok(vec![with_last_extents(&ins[0], &[n]), ins[0].clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (Some(da), [w, v]) = (tangents[0], rule.outs) else { return vec![None, None] };
        let v = *v;
        let inner = v.solve(da.mm(v));
        let dv = v.mm(inner * gaps(*w, inner));
        // Normalise to length 1, and to the phase of the convention.
        let stretch = (v.conj() * dv).sum(&[v.rank() - 2]).re();
        let turn = stretch.complex(phase_correction(v, dv));
        vec![Some(inner.diagonals()), Some(dv - v * turn.along_rows(v))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Eig, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Eig {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let mut parts = Vec::new();
        for a in ins {
            let data = a.data.iter().map(|x| x.complex()).collect();
            let (w, v) = spectral::eig(&Mat { rows: a.rows, cols: a.cols, data })?;
            parts.extend([w.into(), v.data.into()]);
        }
        Ok(parts)
    }
}

impl Sampled for Eigh {
    fn samples(s: &mut Samples) {
        for shape in SQUARES {
            for complex in [false, true] {
                let a = sample_matrix(s, shape, complex, 2.0);
                s.case(Eigh {}, [a]);
            }
        }
        square_errors(s, Eigh {}, &[]);
        let equal = s.floats([2, 2], &[2.0, 0.0, 0.0, 2.0]);
        s.kink(Eigh {}, [equal]);
    }
}

impl Sampled for Eig {
    fn samples(s: &mut Samples) {
        for shape in SQUARES {
            let a = sample_matrix(s, shape, true, 2.0);
            s.case(Eig {}, [a]);
        }
        square_errors(s, Eig {}, &[]);
        s.error(Eig {}, &[Aval::new(DType::F64, [2, 2])], "it takes c64, c128");
    }
}
