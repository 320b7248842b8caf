//! Batches inside and outside of derivatives.

use super::tools::*;
use gradus::Tensor;
use gradus::func::{ConvOptions, conv1d};

const FIRST: Option<isize> = Some(0);

fn energy(x: &Tensor, a: &Tensor) -> Tensor {
    a.matmul(x).tanh().square().sum(()) + x.cos().prod(())
}

fn product_of_rows(x: &Tensor, ids: &Tensor) -> Tensor {
    x.index_select(0, ids).prod(()) * x.sum(())
}

fn scatter_energy(x: &Tensor, ids: &Tensor, y: &Tensor) -> Tensor {
    (x.scatter_add(0, ids, y).sin() * x).sum(())
}

fn conv_energy(x: &Tensor, w: &Tensor) -> Tensor {
    conv1d(x, w, None, &ConvOptions::default()).tanh().square().sum(())
}

fn einsum_energy(a: &Tensor, b: &Tensor) -> Tensor {
    Tensor::einsum("i,ij,kj,k->", &[a, b, &b.sin(), a])
}

fn sum_of_reductions(x: &Tensor, s: &Tensor) -> Tensor {
    (x * s).max(()) + x.std((), 0.0) * s + x.logcumsumexp(0).at(2) * x.pow(s).cumsum(0).sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("gradients_of_examples", |x| {
        vmap(&[&x[0], &x[1]], &[FIRST, None], |t| ds(&[&t[0], &t[1]], |t| energy(&t[0], &t[1])))
    }),
    ("gradient_of_a_batch", |x| {
        ds(&[&x[0], &x[1]], |t| {
            vmap(&[&t[0], &t[1]], &[FIRST, None], |t| vec![energy(&t[0], &t[1])])[0].square().sum(())
        })
    }),
    ("hessians_of_examples", |x| {
        vmap(&[&x[0], &x[1]], &[FIRST, None], |t| vec![hessian(&t[0], |x| energy(x, &t[1]))])
    }),
    ("gradients_over_two_axes", |x| {
        vmap(&[&x[0]], &[Some(1)], |t| vmap(&[&x[1]], &[Some(2)], |a| vec![d(&t[0], |x| energy(x, &a[0]))]))
    }),
    ("outer_product_of_batches", |x| {
        vmap(&[&x[0], &x[1]], &[FIRST, None], |t| {
            vmap(&[&t[0], &t[1]], &[None, FIRST], |t| vec![d(&t[1], |a| energy(&t[0], a))])
        })
    }),
    ("jacobians_over_the_middle_axis", |x| {
        let f = |x: &Tensor, a: &Tensor| a.matmul(x).sin();
        let own = vmap(&[&x[0], &x[1]], &[FIRST, Some(1)], |t| vec![jacfwd(&t[0], |x| f(x, &t[1]))]);
        let shared = vmap(&[&x[0].at(0), &x[1]], &[None, Some(-2)], |t| vec![jacrev(&t[1], |a| f(&t[0], a))]);
        [own, shared].concat()
    }),
    ("hvps_of_examples", |x| {
        vmap(&[&x[0], &x[1]], &[FIRST, FIRST], |t| hvp(&[&t[0]], &[&t[1]], |y| energy(&y[0], &x[2])))
    }),
    ("tangents_in_many_directions", |x| {
        vec![batch(&[&x[1]], |v| push(&x[0], &v[0], |y| d(y, |y| energy(y, &x[2]))))]
    }),
    ("pullbacks_of_many_cotangents", |x| {
        let (_, pull) = gradus::vjp(&[&x[0]], |x| x[0].exp() * x[0].square().sum(())).unwrap();
        let all = |c: &Tensor| batch(&[c], |c| pull(&[&c[0]]).unwrap().remove(0));
        vec![all(&x[1]), d(&x[1], |c| all(c).pow(3.0).sum(()))]
    }),
    ("hessian_through_a_batch", |x| vec![hessian(&x[1], |a| batch(&[&x[0]], |x| energy(&x[0], a)).sum(()))]),
    ("gradient_of_a_batch_of_gradients", |x| {
        vec![d(&x[1], |a| batch(&[&x[0]], |x| d(&x[0], |x| energy(x, a))).square().sum(()))]
    }),
    ("batched_sort_gradients", |x| {
        let f = |y: &Tensor, p: f64| (&x[1] * y.sort(0, false).0.pow(p)).sum(());
        let slopes = batch(&[&x[0]], |x| d(&x[0], |x| f(x, 2.0)));
        vec![slopes, batch(&[&x[0]], |x| hessian(&x[0], |x| f(x, 3.0)))]
    }),
    ("batched_gather_hessians", |x| {
        let own =
            vmap(&[&x[0], &x[1]], &[FIRST, FIRST], |t| vec![hessian(&t[0], |x| product_of_rows(x, &t[1]))]);
        let row = x[0].at(0);
        [own, vmap(&[&row, &x[1]], &[None, FIRST], |t| vec![hessian(&t[0], |x| product_of_rows(x, &t[1]))])]
            .concat()
    }),
    ("batched_scatter_gradients", |x| {
        let own = vmap(&[&x[0], &x[1], &x[2]], &[FIRST; 3], |t| {
            ds(&[&t[0], &t[2]], |a| scatter_energy(&a[0], &t[1], &a[1]))
        });
        let mixed = vmap(&[&x[0].at(0), &x[1], &x[2]], &[None, FIRST, FIRST], |t| {
            vec![jacfwd(&t[0], |x| d(&t[2], |y| scatter_energy(x, &t[1], y)))]
        });
        [own, mixed].concat()
    }),
    ("batched_kernels", |x| {
        let own =
            vmap(&[&x[0], &x[1]], &[FIRST, FIRST], |t| ds(&[&t[0], &t[1]], |t| conv_energy(&t[0], &t[1])));
        let shared =
            vmap(&[&x[0].at(0), &x[1]], &[None, FIRST], |t| vec![d(&t[1], |w| conv_energy(&t[0], w))]);
        [own, shared].concat()
    }),
    ("batched_contractions", |x| {
        let own =
            vmap(&[&x[0], &x[1]], &[FIRST, FIRST], |t| ds(&[&t[0], &t[1]], |t| einsum_energy(&t[0], &t[1])));
        [own, vec![batch(&[&x[0]], |a| hessian(&a[0], |a| einsum_energy(a, &x[1].at(1))))]].concat()
    }),
    ("batched_prod_hessians", |x| {
        let own = batch(&[&x[0]], |x| hessian(&x[0], |x| x.prod(())));
        [vec![own], vmap(&[&x[0]], &[Some(1)], |x| vec![jacfwd(&x[0], |x| x.cumprod(0))])].concat()
    }),
    ("batched_softmax_hessians", |x| {
        vec![batch(&[&x[0]], |x| jacfwd(&x[0], |x| jacrev(x, |x| x.softmax(0))))]
    }),
    ("batched_reductions", |x| {
        vmap(&[&x[0], &x[1]], &[FIRST, FIRST], |t| ds(&[&t[0], &t[1]], |t| sum_of_reductions(&t[0], &t[1])))
    }),
    ("three_batches_deep", |x| {
        let f = |a: &Tensor, b: &Tensor| (a * b).sin() * a;
        let (a, b) = (x[0].at((.., .., 0)), x[0].at((.., .., 1)));
        vec![batch(&[&a, &b], |t| {
            batch(&[&t[1]], |b| batch(&[&t[0]], |a| d(&a[0], |a| d(&b[0], |b| f(a, b)))))
        })]
    }),
    ("tangent_of_a_batch_of_hessians", |x| {
        let f = |x: &Tensor| (x.at(0) * x.at(1)).exp() + x.pow(4.0).sum(());
        jvp(&[&x[0]], &[&x[1]], |t| vec![batch(&[&t[0]], |x| hessian(&x[0], f))])
    }),
];
