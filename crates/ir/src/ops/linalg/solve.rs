//! Solutions of linear systems.
//! Takes a matrix and right sides; returns the solution. The algorithms are in `dense.rs`.

use super::*;
use crate::{message, op_struct};

/// Checks the types of `A` and `B` in `A X = B`. Returns the type of `X`.
fn system(ins: &[Aval]) -> Result<Vec<Aval>> {
    arity(ins, 2)?;
    let n = square(&ins[0])?;
    let [rows, _] = extents(&ins[1])?;
    if ins[0].dtype != ins[1].dtype {
        return Err(Error::dtype(ins[1].dtype, message!("both sides must be ", ins[0].dtype)));
    }
    if rows != n || ins[0].shape[..ins[0].rank() - 2] != ins[1].shape[..ins[1].rank() - 2] {
        let what = format!("a matrix {} and a right side {}", ins[0].shape, ins[1].shape);
        return Err(Error::shape(what, "must be [..,n,n] and [..,n,k] with the same leading extents"));
    }
    Ok(vec![ins[1].clone()])
}

op_struct! {
    /// The solution `X` of `A X = B`, for square `A` of `[..,n,n]` and `B` of `[..,n,k]`. Evaluating it for a
    /// singular `A` is an error.
    pub struct Solve = "solve" {}
}

impl Primitive for Solve {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        system(ins)
    }
    fn derivative(&self) -> Derivative {
        Derivative::LinearJvp(Operands::Only(&[1]))
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(rule.ins[0].mh().solve(ct))
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![tangents[0].map(|da| -rule.ins[0].solve(da.mm(rule.outs[0])))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        form_per_matrix(Factorisation::Solve, self.clone(), self.infer(ins))
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for Solve {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let [a, b] = <[Mat<T>; 2]>::try_from(ins).map_err(|_| "needs a right side")?;
        Ok(vec![T::data(dense::solve(a, &b)?.data)])
    }
}

op_struct! {
    /// The solution `X` of `op(A) X = B` for the lower or upper triangle of `A`; the other triangle is not read.
    /// `op(A)` is `A` or its transpose. Evaluating it with a zero on the diagonal is an error.
    pub struct TriangularSolve = "triangular_solve" {
        /// If true, uses the lower triangle, else the upper.
        lower: bool,
        /// If true, the triangle is transposed.
        transpose: bool,
        /// If true, the diagonal counts as ones and is not read.
        unit: bool,
    }
}

impl TriangularSolve {
    fn part(&self) -> Part {
        match (self.lower, self.unit) {
            (true, false) => Part::Lower,
            (true, true) => Part::Below,
            (false, false) => Part::Upper,
            (false, true) => Part::Above,
        }
    }
}

impl Primitive for TriangularSolve {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        system(ins)
    }
    fn derivative(&self) -> Derivative {
        Derivative::LinearJvp(Operands::Only(&[1]))
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let adjoint = TriangularSolve { transpose: !self.transpose, ..self.clone() };
        Some(ct.builder().apply1(adjoint, &[rule.ins[0].conj_if_complex(), ct]))
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let moved = |da: Var<'g>| {
            let da = da.part(self.part());
            let right = if self.transpose { da.mt() } else { da }.mm(rule.outs[0]);
            -da.builder().apply1(self.clone(), &[rule.ins[0], right])
        };
        vec![tangents[0].map(moved)]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let TriangularSolve { lower, transpose, unit } = *self;
        form_per_matrix(
            Factorisation::TriangularSolve { lower, transpose, unit },
            self.clone(),
            self.infer(ins),
        )
    }
    fn bound(&self) -> Bound {
        BOUND
    }
}

impl MatrixFunction for TriangularSolve {
    fn run<T: Scalar>(&self, ins: Vec<Mat<T>>) -> std::result::Result<Vec<Data>, String> {
        let [a, b] = <[Mat<T>; 2]>::try_from(ins).map_err(|_| "needs a right side")?;
        Ok(vec![T::data(dense::triangular(&a, b, [self.lower, self.transpose, self.unit])?.data)])
    }
}

/// Adds sample systems for an op.
fn systems(s: &mut Samples, op: impl Into<Op> + Clone) {
    let cases: [(&[usize], usize, bool); 6] = [
        (&[3, 3], 2, false),
        (&[2, 2], 1, true),
        (&[2, 2, 2], 1, false),
        (&[1, 1], 2, false),
        (&[0, 0], 2, false),
        (&[2, 2], 0, false),
    ];
    for (shape, k, complex) in cases {
        let (lead, n) = (&shape[..shape.len() - 2], shape[shape.len() - 1]);
        let right: Vec<usize> = lead.iter().copied().chain([n, k]).collect();
        let a = sample_matrix(s, shape, complex, 2.0);
        let b = if complex { s.complex((-1.0, 1.0), right) } else { s.normal(right) };
        s.case(op.clone(), [a, b]);
    }
    square_errors(s, op.clone(), &[Aval::new(DType::F64, [2, 2])]);
    let f = |shape: &[usize]| Aval::new(DType::F64, shape);
    s.error(op.clone(), &[f(&[2, 2]), f(&[3, 2])], "must be [..,n,n] and [..,n,k]");
    s.error(op.clone(), &[f(&[3, 2, 2]), f(&[2, 2])], "with the same leading extents");
    s.error(op, &[f(&[2, 2]), Aval::new(DType::F32, [2, 2])], "both sides must be f64");
}

impl Sampled for Solve {
    fn samples(s: &mut Samples) {
        systems(s, Solve {});
    }
}

impl Sampled for TriangularSolve {
    fn samples(s: &mut Samples) {
        for k in 0..8 {
            let [lower, transpose, unit] = [0, 1, 2].map(|b| k >> b & 1 == 1);
            systems(s, TriangularSolve { lower, transpose, unit });
        }
    }
}

impl<'g> Var<'g> {
    /// Returns the solution `X` of `self X = right`.
    pub fn solve(self, right: Var<'g>) -> Var<'g> {
        self.builder().apply1(Solve {}, &[self, right])
    }

    /// Returns the solution `X` of `self X = right` for the lower or upper triangle of `self`.
    pub fn triangular_solve(self, right: Var<'g>, lower: bool) -> Var<'g> {
        let op = TriangularSolve { lower, transpose: false, unit: false };
        self.builder().apply1(op, &[self, right])
    }
}
