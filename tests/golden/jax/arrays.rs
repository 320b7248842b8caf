//! Second derivatives of functions of whole arrays: reductions, contractions, indexing, sorting, convolution.

use super::tools::*;
use gradus::func::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, MaxPoolOptions, avg_pool2d, conv_transpose1d, conv1d,
    conv2d, max_pool2d,
};
use gradus::{Tensor, cdist, step};

fn cube(x: &Tensor) -> Tensor {
    x.pow(3.0)
}

fn strided(stride: usize, padding: usize) -> ConvOptions {
    ConvOptions { stride: stride.into(), padding: padding.into(), ..ConvOptions::default() }
}

fn cubes_after_movement(x: &Tensor) -> Tensor {
    let wide = Tensor::cat(&[&x.flip(1), &x.roll(&[1], &[0]).t().reshape([2, 3])], 1);
    let part = wide.pad_zeros(&[(1, 0), (0, 2)]).at((step(.., -1), step(.., 2)));
    cube(&part).tril(1).sum(()) * x.sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("second_derivatives_of_softmax", |x| {
        let softmax = jacfwd(&x[0], |x| jacrev(x, |x| x.softmax(0)));
        vec![softmax, jacrev(&x[0], |x| jacfwd(x, |x| x.log_softmax(0)))]
    }),
    ("third_of_logsumexp", |x| {
        vec![jacfwd(&x[0], |x| hessian(x, |x| x.logsumexp(1, false).square().sum(())))]
    }),
    ("hessian_of_prod_with_a_zero", |x| {
        let product = |x: &Tensor| x.prod(());
        let third = jacrev(&x[0], |x| jacfwd(x, |x| jacrev(x, product)));
        vec![jacfwd(&x[0], |x| jacrev(x, product)), third]
    }),
    ("hessian_of_prod_with_zeros", |x| {
        vec![hessian(&x[0], |x| x.prod(1).sum(()) + x.prod(0).square().sum(()) * 0.5)]
    }),
    ("hessian_of_cumprod_with_a_zero", |x| {
        let weighed = |y: &Tensor| (&x[1] * y.cumprod(0)).sum(());
        vec![jacfwd(&x[0], |x| x.cumprod(0)), hessian(&x[0], weighed)]
    }),
    ("hvp_of_cumsum", |x| {
        hvp(&[&x[0]], &[&x[1]], |x| (x[0].cumsum(1).sin() * x[0].cumsum(0).square()).sum(()))
    }),
    ("hessian_of_logcumsumexp", |x| vec![jacfwd(&x[0], |x| jacrev(x, |x| x.logcumsumexp(0)))]),
    ("hessian_of_cummax", |x| vec![hessian(&x[0], |x| (x.square().cummax(0) * x.sin().cummin(0)).sum(()))]),
    ("hvp_of_max_and_min", |x| {
        hvp(&[&x[0]], &[&x[1]], |x| {
            (cube(&x[0]).max(1) * x[0].min(1)).sum(()) + x[0].sin().max(0).square().sum(())
        })
    }),
    ("hessian_of_sort", |x| {
        let up = hessian(&x[0], |y| (&x[1] * cube(&y.sort(0, false).0)).sum(()));
        vec![up, hessian(&x[0], |y| (&x[1] * (y * y).sort(0, true).0).sum(()))]
    }),
    ("hvp_of_sort_along_an_axis", |x| {
        hvp(&[&x[0]], &[&x[2]], |y| {
            (y[0].sort(0, false).0 * &x[1] * cube(&y[0]).sort(1, false).0.cumsum(1)).sum(())
        })
    }),
    ("gradient_through_argsort", |x| {
        let f = |x: &Tensor, y: &Tensor| {
            (y.index_select(0, &x.argsort(0, false)).sin() * x.sort(0, false).0 * y).sum(())
        };
        let both = ds(&[&x[0], &x[1]], |a| f(&a[0], &a[1]));
        [both, vec![jacfwd(&x[0], |a| d(&x[1], |b| f(a, b)))]].concat()
    }),
    ("hessian_of_topk", |x| {
        vec![hessian(&x[0], |x| x.topk(3, 0, true).0.prod(()) - x.topk(2, 0, false).0.exp().sum(()))]
    }),
    ("hvp_of_repeated_rows", |x| {
        hvp(&[&x[0]], &[&x[2]], |y| (y[0].index_select(0, &x[1]).tanh() * y[0].square().sum(())).sum(()))
    }),
    ("hessian_of_gather", |x| {
        vec![hessian(&x[0], |y| cube(&y.gather(1, &x[1])).sum(()) + y.gather(0, &x[1].at(..2)).sin().sum(()))]
    }),
    ("hessian_of_scatter_add", |x| {
        hessians(&[&x[0], &x[2]], |a| {
            ((a[0].scatter_add(0, &x[1], &a[1].square()) * 0.5).exp() * &a[0]).sum(())
        })
    }),
    ("hvp_of_scatter", |x| {
        hvp(&[&x[0], &x[2]], &[&x[3], &x[4]], |a| {
            (a[0].index_copy(0, &x[1], &a[1].sin()) * &a[0]).square().sum(())
        })
    }),
    ("hvp_of_einsum_of_three", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| {
            let (a, b) = (&t[0], &t[1]);
            Tensor::einsum("ik,jk,jl->il", &[a, b, b]).square().sum(())
                + Tensor::einsum("ik,jk->", &[&a.square(), &b.log()])
        })
    }),
    ("hessian_of_einsum_with_diagonals", |x| {
        vec![hessian(&x[0], |a| Tensor::einsum("ii,ij,jj->", &[a, a, &a.sin()]))]
    }),
    ("tangent_of_pullback_of_matmul", |x| {
        jvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| {
            let (_, pull) = gradus::vjp(&[&t[0], &t[1]], |t| t[0].matmul(&t[1]).tanh()).unwrap();
            pull(&[&t[0].matmul(&t[1]).cos()]).unwrap()
        })
    }),
    ("third_of_a_matrix_power", |x| {
        vec![jacfwd(&x[0], |a| hessian(a, |a| a.matmul(a).matmul(a).matmul(a).trace()))]
    }),
    ("hessian_of_kron", |x| hessians(&[&x[0], &x[1]], |t| t[0].kron(&t[1]).sin().sum(()))),
    ("hessian_of_norms", |x| {
        let norms = [2.0, 3.0].map(|p| hessian(&x[0], |x| x.norm(p, (), false)));
        let unit = jacfwd(&x[0], |x| jacrev(x, |x| x.normalize(3.0, 0, 1e-12)));
        [norms.to_vec(), vec![unit]].concat()
    }),
    ("hessian_of_variance", |x| {
        vec![hessian(&x[0], |x| {
            x.var(1, 1.0).square().sum(()) + (x.std(0, 0.0) * x.square().mean(0)).sum(())
        })]
    }),
    ("hvp_of_distances", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| (-cdist(&t[0], &t[1], 2.0)).exp().sum(()))
    }),
    ("hessian_through_movement", |x| vec![hessian(&x[0], cubes_after_movement)]),
    ("hvp_of_conv2d", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| conv2d(&t[0], &t[1], None, &strided(1, 1)).tanh().sum(()))
    }),
    ("hvp_of_conv1d_with_everything", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| {
            let how = ConvOptions { dilation: 2.into(), groups: 2, ..strided(2, 2) };
            conv1d(&t[0], &t[1], None, &how).sin().square().sum(())
        })
    }),
    ("hessian_of_conv2d", |x| {
        let conv = |w: &Tensor| conv2d(&x[0], w, None, &strided(2, 0));
        let whole = hessian(&x[1], |w| (conv(w) * 0.3).exp().sum(()));
        vec![whole, jacfwd(&x[1], |w| jacrev(w, |w| conv(&w.sin())))]
    }),
    ("gradient_of_a_conv_gradient", |x| {
        let loss =
            |x: &Tensor, w: &Tensor| conv2d(x, w, None, &strided(2, 1)).softplus(1.0, 20.0).square().sum(());
        ds(&[&x[0], &x[1]], |t| d(&t[0], |x| loss(x, &t[1])).square().sum(()))
    }),
    ("hvp_of_conv_transpose", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| {
            let how = ConvTransposeOptions { stride: 2.into(), ..ConvTransposeOptions::default() };
            conv_transpose1d(&t[0], &t[1], None, &how).tanh().square().sum(())
        })
    }),
    ("hvp_of_pools", |x| {
        hvp(&[&x[0]], &[&x[1]], |t| {
            let top = max_pool2d(&t[0].square(), [2, 3], &MaxPoolOptions::default());
            (top * avg_pool2d(&t[0].sin(), [2, 3], &AvgPoolOptions::default())).sum(())
        })
    }),
];
