//! Tests factorisations by functions of the factors that do not depend on phases, signs and order. Each
//! passes every check. Most equal a function that is computed without factors, in value, slope and curvature.

use gradus_ir::ops::Samples;
use gradus_ir::{DType, Graph, Literal, reference, transform};
use gradus_tensor::{Tensor, trace};
use gradus_testkit::compare::{Allowed, compare};
use gradus_testkit::random::Random;
use gradus_testkit::{checks, eager};

type Function = fn(&Tensor) -> Tensor;

/// Matrices with a heavy diagonal, single and batched, real and complex.
fn matrices(shapes: &[&[usize]]) -> Vec<Literal> {
    let mut s = Samples::default();
    let mut all = Vec::new();
    for shape in shapes {
        for noise in [s.normal(*shape), s.complex((-1.0, 1.0), *shape)] {
            let x = Tensor::from_literal(&noise);
            let (rows, columns) = (x.dim(-2), x.dim(-1));
            // 2, 3, 4 on the diagonal keep eigenvalues and singular values apart.
            let steps = Tensor::iota(DType::I64, [columns], 0) + 2;
            let eye = Tensor::eye(rows.max(columns)).narrow(0, 0, rows).narrow(1, 0, columns);
            let diagonal = (eye * steps).to_dtype(x.dtype());
            all.push((x * 0.5 + diagonal).to_literal().unwrap());
        }
    }
    all
}

const SQUARE: &[&[usize]] = &[&[3, 3], &[2, 2, 2]];
const TALL: &[&[usize]] = &[&[3, 2], &[2, 3, 2], &[3, 3]];
const WIDE: &[&[usize]] = &[&[2, 3], &[2, 2, 3]];

/// Returns `V diag(w) back`.
fn weighed(v: &Tensor, w: &Tensor, back: &Tensor) -> Tensor {
    (v * &w.unsqueeze(-2)).matmul(back)
}

fn by_eigh(x: &Tensor, f: Function) -> Tensor {
    let (w, v) = x.eigh();
    weighed(&v, &f(&w), &v.adjoint())
}

fn by_eig(x: &Tensor, f: Function) -> Tensor {
    let (w, v) = x.eig();
    weighed(&v, &f(&w), &v.inv())
}

fn by_svd(x: &Tensor, f: Function) -> Tensor {
    let (u, s, vh) = x.svd();
    weighed(&u, &f(&s), &vh)
}

fn by_lu(x: &Tensor) -> Tensor {
    let (p, l, u) = x.lu();
    p.matmul(&l).matmul(&u)
}

fn by_qr(x: &Tensor) -> Tensor {
    let (q, r) = x.qr();
    q.matmul(&r)
}

/// Returns `X Xᴴ`. If the columns are orthonormal, it is the projection on their span.
fn times_adjoint(x: &Tensor) -> Tensor {
    x.matmul(&x.adjoint())
}

fn complex(x: &Tensor) -> Tensor {
    x.to_dtype(DType::C128)
}

/// Returns the projection on the first column.
fn first(v: &Tensor) -> Tensor {
    times_adjoint(&v.narrow(-1, 0, 1))
}

fn squares(x: &Tensor) -> Tensor {
    x.real().square() + x.imag().square()
}

fn hermitian(x: &Tensor) -> Tensor {
    (x + &x.adjoint()) * 0.5
}

/// Runs every check of a function of factors.
#[track_caller]
fn invariant(shapes: &[&[usize]], f: Function) {
    for a in matrices(shapes) {
        let call = |x: &[Tensor]| vec![f(&x[0])];
        let ins = [a];
        let graph = eager::all(&call, &ins).unwrap_or_else(|f| panic!("{f}"));
        checks::all(&graph, &ins, true).unwrap_or_else(|f| panic!("{f}"));
    }
}

/// Returns the value, tangent, gradient and second derivatives along random directions.
fn orders(graph: &Graph, a: &Literal) -> Vec<Literal> {
    let mut random = Random::new(3);
    let (t, u) = (random.literal(a.aval()), random.literal(a.aval()));
    let c = random.literal(&graph.output_avals()[0]);
    let forward = transform::jvp(graph, &[0]).unwrap();
    let reverse = transform::vjp(graph, &[0]).unwrap();
    let twice = transform::jvp(&reverse, &[0]).unwrap();
    let back = transform::vjp(&reverse, &[0]).unwrap();
    let value = |g: &Graph, ins: &[&Literal]| {
        reference::evaluate(g, &ins.iter().map(|l| (*l).clone()).collect::<Vec<_>>()).unwrap()
    };
    [value(&forward, &[a, &t]), value(&twice, &[a, &c, &u]), value(&back, &[a, &c, &u])].concat()
}

/// Runs every check of `f`, and compares it with `right`, the same function without factors.
#[track_caller]
fn equals(shapes: &[&[usize]], f: Function, right: Function) {
    invariant(shapes, f);
    for a in matrices(shapes) {
        let x = Tensor::from_literal(&a);
        let graph = |f: Function| trace(&[&x], |x| f(&x[0])).unwrap();
        for (k, (expected, found)) in orders(&graph(right), &a).iter().zip(&orders(&graph(f), &a)).enumerate()
        {
            let limits = vec![1e-10; expected.data().len()];
            if let Err(d) = compare(expected, found, Allowed::Each(&limits)) {
                panic!("value {k} of {}: {d}", a.aval());
            }
        }
    }
}

#[test]
fn products_of_factors_are_the_matrix() {
    let itself: Function = |x| x * 1.0;
    equals(SQUARE, by_lu, itself);
    for shapes in [TALL, WIDE] {
        equals(shapes, by_lu, itself);
        equals(shapes, by_qr, itself);
        equals(shapes, |x| by_svd(x, Tensor::clone), itself);
    }
    equals(SQUARE, |x| times_adjoint(&x.cholesky()), hermitian);
    equals(SQUARE, |x| by_eigh(x, Tensor::clone), hermitian);
    equals(SQUARE, |x| by_eig(x, Tensor::clone), complex);
}

#[test]
fn functions_of_a_matrix_need_no_factors() {
    equals(SQUARE, |x| by_eigh(x, |w| (w * 0.3).exp()), |x| (hermitian(x) * 0.3).matrix_exp());
    equals(SQUARE, |x| by_eigh(x, Tensor::reciprocal), |x| hermitian(x).inv());
    equals(SQUARE, |x| by_eig(x, |w| (w * 0.3).exp()), |x| complex(&(x * 0.3).matrix_exp()));
    equals(SQUARE, |x| x.eigvals().prod(-1), |x| complex(&x.det()));
    equals(SQUARE, |x| x.eigvalsh().square().sum(-1), |x| squares(&hermitian(x)).sum([-2, -1]));
    let log_of_pivots: Function = |x| squares(&x.lu().2.diagonal(0, -2, -1)).log().sum(-1) * 0.5;
    equals(SQUARE, log_of_pivots, |x| x.slogdet().1);
    let trace: Function = |x| x.diagonal(0, -2, -1).sum(-1).real();
    equals(SQUARE, |x| squares(&x.cholesky()).sum([-2, -1]), trace);
    for shapes in [TALL, WIDE] {
        equals(shapes, |x| x.svdvals().square().sum(-1), |x| squares(x).sum([-2, -1]));
        equals(shapes, |x| by_svd(x, Tensor::reciprocal).adjoint(), Tensor::pinv);
    }
}

#[test]
fn spans_of_columns() {
    let onto: Function = |x| x.matmul(&x.pinv());
    equals(TALL, |x| times_adjoint(&x.qr().0), onto);
    equals(TALL, |x| times_adjoint(&x.svd().0), onto);
    equals(WIDE, |x| times_adjoint(&x.svd().2.adjoint()), |x| x.pinv().matmul(x));
}

/// Functions of single vectors, which cannot be computed without factors: projections, and moduli of entries.
#[test]
fn projections_and_moduli() {
    for shapes in [TALL, WIDE] {
        invariant(shapes, |x| first(&x.svd().0));
        invariant(shapes, |x| squares(&x.svd().2));
        invariant(shapes, |x| first(&x.qr().0));
        invariant(shapes, |x| squares(&x.qr().1));
    }
    invariant(SQUARE, |x| first(&x.eigh().1));
    invariant(SQUARE, |x| squares(&x.eigh().1));
    invariant(SQUARE, |x| squares(&x.eig().1));
    // The spectral projection on the first eigenvalue: a column times its row of the inverse.
    invariant(SQUARE, |x| {
        let v = x.eig().1;
        v.narrow(-1, 0, 1).matmul(&v.inv().narrow(-2, 0, 1))
    });
}
