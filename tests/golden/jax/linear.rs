//! Linear algebra: values, gradients and second derivatives; for factors, functions that do not depend on
//! phases and order.

use super::tools::*;
use gradus::{Tensor, Triangular};

const LOWER: Triangular = Triangular::LOWER;
const UPPER: Triangular = Triangular::UPPER;

fn scale_columns_and_multiply(v: &Tensor, w: &Tensor, back: &Tensor) -> Tensor {
    (v * &w.unsqueeze(-2)).matmul(back)
}

fn projector_on_first(v: &Tensor) -> Tensor {
    let v = v.narrow(-1, 0, 1);
    v.matmul(&v.adjoint())
}

fn squared_magnitudes(x: &Tensor) -> Tensor {
    x.real().square() + x.imag().square()
}

fn solve_orders(x: &[Tensor]) -> Vec<Tensor> {
    orders(&refs(x), |x| vec![x[0].solve(&x[1])])
}

fn triangular_orders(x: &[Tensor], ways: &[Triangular]) -> Vec<Tensor> {
    ways.iter().flat_map(|how| orders(&refs(x), |x| vec![x[0].triangular_solve(&x[1], *how)])).collect()
}

fn by_lu(x: &Tensor) -> Vec<Tensor> {
    let (_, l, u) = x.lu();
    vec![l, u]
}

fn by_qr(x: &Tensor) -> Vec<Tensor> {
    let (q, r) = x.qr();
    vec![q.matmul(&r), projector_on_first(&q), squared_magnitudes(&r)]
}

fn by_svd(x: &Tensor) -> Vec<Tensor> {
    let (u, s, vh) = x.svd();
    vec![
        s.clone(),
        scale_columns_and_multiply(&u, &s.sin(), &vh),
        projector_on_first(&u),
        squared_magnitudes(&vh),
    ]
}

fn by_eigh(x: &Tensor) -> Vec<Tensor> {
    let (w, v) = x.eigh();
    vec![
        w.clone(),
        scale_columns_and_multiply(&v, &(&w * 0.3).exp(), &v.adjoint()),
        projector_on_first(&v),
        squared_magnitudes(&v),
    ]
}

fn by_eig(x: &Tensor) -> Vec<Tensor> {
    let (w, v) = x.eig();
    vec![w.pow(3.0).sum(-1), scale_columns_and_multiply(&v, &(&w * 0.3).exp(), &v.inv())]
}

fn lstsq_orders(x: &[Tensor]) -> Vec<Tensor> {
    orders(&refs(x), |x| vec![x[0].lstsq(&x[1])])
}

fn energy(a: &Tensor, b: &Tensor) -> Tensor {
    a.solve(b).sin().sum(()) + a.slogdet().1
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("solve", solve_orders),
    ("solve_for_a_vector", solve_orders),
    ("solve_complex", solve_orders),
    ("solve_many", solve_orders),
    ("solve_triangles", |x| {
        let [adjoint, unit] = [Triangular { adjoint: true, ..LOWER }, Triangular { unit: true, ..UPPER }];
        triangular_orders(x, &[LOWER, UPPER, adjoint, unit])
    }),
    ("solve_complex_triangles", |x| {
        let [adjoint, unit] = [Triangular { adjoint: true, ..UPPER }, Triangular { unit: true, ..LOWER }];
        triangular_orders(x, &[LOWER, adjoint, unit])
    }),
    ("solve_many_triangles", |x| triangular_orders(x, &[LOWER])),
    ("inverse", |x| orders_of_each(x, |x| vec![x.inv()])),
    ("determinant", |x| orders_of_each(x, |x| vec![x.det()])),
    ("determinant_hessian", |x| {
        vec![jacfwd(&x[0], |x| hessian(x, |x| x.det().exp())), hessian(&x[1], Tensor::det)]
    }),
    ("log_determinant", |x| {
        let all = orders_of_each(x, |x| {
            let (sign, log) = x.slogdet();
            // The sign of a real determinant does not move: its logarithm alone.
            if x.dtype().is_complex() { vec![sign, log] } else { vec![log] }
        });
        [all, vec![x[0].slogdet().0]].concat()
    }),
    ("cholesky", |x| orders_of_each(x, |x| vec![x.cholesky()])),
    ("lu_factors", |x| orders_of_each(x, by_lu)),
    ("lu_factors_of_rectangles", |x| orders_of_each(x, by_lu)),
    ("qr_factors", |x| orders_of_each(x, by_qr)),
    ("svd_factors", |x| orders_of_each(x, by_svd)),
    ("eigh_factors", |x| orders_of_each(x, by_eigh)),
    ("eig_factors", |x| orders_of_each(x, by_eig)),
    ("pseudo_inverse", |x| orders_of_each(x, |x| vec![x.pinv()])),
    ("least_squares", |x| [lstsq_orders(&x[..2]), lstsq_orders(&x[2..])].concat()),
    ("least_norm", lstsq_orders),
    ("least_of_rank_one", |x| {
        let both = |x: &[Tensor]| {
            let f = |x: &[Tensor]| vec![x[0].matmul(&x[1]).lstsq(&x[2])];
            [f(x), orders(&refs(x), f)].concat()
        };
        [both(&x[..3]), both(&x[3..])].concat()
    }),
    ("exponential", |x| orders_of_each(x, |x| vec![x.matrix_exp()])),
    ("exponential_of_a_large_matrix", |x| {
        vec![(&x[0] * 6.0).matrix_exp(), jacfwd(&(&x[0] * 2.0), Tensor::matrix_exp)]
    }),
    ("powers", |x| {
        let power = |x: &Tensor, n| orders(&[x], |x| vec![x[0].matrix_power(n)]);
        [power(&x[0], 5), power(&x[1], -2)].concat()
    }),
    ("systems_of_examples", |x| {
        let slopes = vmap(&refs(x), &[Some(0), Some(0)], |x| ds(&[&x[0], &x[1]], |x| energy(&x[0], &x[1])));
        let b = x[1].at(0);
        [slopes, vec![batch(&[&x[0]], |a| hessian(&a[0], |a| energy(a, &b)))]].concat()
    }),
];
