//! Derivatives of networks in typical uses: curvature, gradient penalties, training inside of training.

use super::tools::*;
use gradus::{
    AttentionOptions, BatchNormOptions, CrossEntropyOptions, Reduction, Tensor,
    binary_cross_entropy_with_logits, checkpoint, cross_entropy, embedding, mse_loss,
    scaled_dot_product_attention,
};

fn mlp(x: &Tensor, p: &[Tensor]) -> Tensor {
    (x.matmul(&p[0]) + &p[1]).tanh().matmul(&p[2]) + &p[3]
}

fn mlp_loss(x: &Tensor, y: &Tensor, p: &[Tensor]) -> Tensor {
    mse_loss(&mlp(x, p), y, Reduction::Mean)
}

fn attend(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Tensor {
    scaled_dot_product_attention(q, k, v, &AttentionOptions { causal, ..AttentionOptions::default() })
}

fn block(x: &Tensor, p: &[Tensor]) -> Tensor {
    let h = x.layer_norm([4], None, None, 1e-5);
    let x = x + attend(&h.matmul(&p[0]), &h.matmul(&p[1]), &h.matmul(&p[2]), true);
    &x + x.layer_norm([4], None, None, 1e-5).matmul(&p[3]).gelu().matmul(&p[4])
}

fn checkpoint_one(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> Tensor {
    checkpoint(ins, f).unwrap().remove(0)
}

fn nested_checkpoints(x: &Tensor, w: &Tensor) -> Tensor {
    let inner = |x: &Tensor, w: &Tensor| checkpoint_one(&[x, w], |t| t[0].matmul(&t[1]).tanh());
    checkpoint_one(&[x, w], |t| inner(&(inner(&t[0], &t[1]) * &t[0]), &t[1].t())).square().sum(())
}

/// Returns the tensors with these indices.
fn select(all: Vec<Tensor>, which: &[usize]) -> Vec<Tensor> {
    which.iter().map(|&i| all[i].clone()).collect()
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("hvp_of_mlp", |x| hvp(&refs(&x[2..6]), &refs(&x[6..]), |p| mlp_loss(&x[0], &x[1], p))),
    ("gradients_of_mlp_examples", |x| {
        let axes = [Some(0), Some(0), None, None, None, None];
        vmap(&refs(x), &axes, |t| ds(&refs(&t[2..]), |p| mlp_loss(&t[0], &t[1], p)))
    }),
    ("gauss_newton_product_of_mlp", |x| {
        let (params, vectors) = (refs(&x[1..5]), refs(&x[5..]));
        let (out, tangent) = gradus::jvp(&params, &vectors, |p| mlp(&x[0], p)).unwrap();
        let (_, pull) = gradus::vjp(&params, |p| mlp(&x[0], p)).unwrap();
        pull(&[&(&tangent[0] * out[0].sigmoid())]).unwrap()
    }),
    ("jacobians_of_mlp", |x| {
        let of_weight = |w: &Tensor| mlp(&x[0], &[std::slice::from_ref(w), &x[2..]].concat());
        let own = |y: &Tensor| mlp(y, &x[1..]);
        vec![jacfwd(&x[0], own), jacrev(&x[1], of_weight), jacfwd(&x[0], |x| jacrev(x, own))]
    }),
    ("gradient_of_the_laplacian_of_mlp", |x| {
        let laplacian = |x: &Tensor, p: &[Tensor]| hessian(x, |x| mlp(x, p).sum(())).trace();
        let all = ds(&refs(&x[1..]), |p| batch(&[&x[0]], |x| laplacian(&x[0], p).square()).sum(()));
        select(all, &[0, 2])
    }),
    ("gradient_penalty_of_mlp", |x| {
        let all = ds(&refs(&x[2..]), |p| {
            let slopes = batch(&[&x[0]], |x| d(&x[0], |x| mlp(x, p).sum(())));
            (slopes.norm(2.0, 1, false) - 1.0).square().mean(()) + mlp_loss(&x[0], &x[1], p)
        });
        select(all, &[0, 1, 2])
    }),
    ("gradient_after_two_inner_steps", |x| {
        let (value, grads) = gradus::value_and_grad(&refs(&x[4..]), |p| {
            let mut p = p.to_vec();
            for _ in 0..2 {
                let g = ds(&refs(&p), |p| mlp_loss(&x[0], &x[1], p));
                p = p.iter().zip(&g).map(|(p, g)| p - g * 0.1).collect();
            }
            mlp_loss(&x[2], &x[3], &p)
        })
        .unwrap();
        [value, grads].concat()
    }),
    ("hessian_of_a_layer", |x| {
        hessians(&[&x[3], &x[4]], |t| {
            mlp_loss(&x[0], &x[1], &[x[2].clone(), t[0].clone(), t[1].clone(), x[5].clone()])
        })
    }),
    ("second_derivatives_of_layer_norm", |x| {
        let norm = |y: &Tensor| y.layer_norm([4], Some(&x[1]), Some(&x[2]), 1e-5);
        vec![jacfwd(&x[0], |y| jacrev(y, norm))]
    }),
    ("hvp_of_rms_norm", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| t[0].rms_norm([4], Some(&t[1]), 1e-6).sin().sum(()))
    }),
    ("hvp_of_batch_norm", |x| {
        hvp(&[&x[0]], &[&x[3]], |t| {
            let how = BatchNormOptions { training: true, momentum: 0.1, eps: 1e-5 };
            t[0].batch_norm(None, Some(&x[1]), Some(&x[2]), &how).0.silu().square().sum(())
        })
    }),
    ("hessian_of_group_norm", |x| {
        let f = |y: &Tensor| (y.group_norm(2, Some(&x[1]), Some(&x[2]), 1e-5) * 0.4).exp().sum(());
        vec![d(&x[0], |y| d(y, f).square().sum(()))]
    }),
    ("hessian_of_attention", |x| hessians(&refs(x), |t| attend(&t[0], &t[1], &t[2], false).sin().sum(()))),
    ("hvp_of_causal_attention", |x| {
        hvp(&refs(&x[..3]), &refs(&x[3..]), |t| attend(&t[0], &t[1], &t[2], true).square().sum(()))
    }),
    ("hvp_of_a_transformer_block", |x| {
        hvp(&refs(&x[1..6]), &refs(&x[6..]), |p| block(&x[0], p).square().mean(()))
    }),
    ("gradient_norms_of_transformer_examples", |x| {
        let all = ds(&refs(&x[1..]), |p| {
            batch(&[&x[0]], |x| d(&x[0], |x| block(x, p).sin().mean(())).square().sum(())).sum(())
        });
        select(all, &[0, 3])
    }),
    ("hvp_of_cross_entropy", |x| {
        let f = |y: &Tensor| cross_entropy(&y.square(), &x[1], &CrossEntropyOptions::default());
        [hvp(&[&x[0]], &[&x[2]], |y| f(&y[0])), vec![hessian(&x[0], f)]].concat()
    }),
    ("hvp_of_embedding", |x| {
        hvp(&[&x[0], &x[2]], &[&x[3], &x[4]], |t| {
            embedding(&x[1], &t[0], None).matmul(&t[1]).tanh().square().mean(())
        })
    }),
    ("hvp_of_binary_cross_entropy", |x| {
        hvp(&refs(&x[2..6]), &refs(&x[6..]), |p| {
            binary_cross_entropy_with_logits(&mlp(&x[0], p), &x[1], None, None, Reduction::Mean)
        })
    }),
    ("stopped_target", |x| {
        let params = refs(&x[1..]);
        let f = |p: &[Tensor]| (mlp(&x[0], p) - mlp(&x[0].sin(), p).stop_gradient()).square().mean(());
        let (_, tangents) = gradus::jvp(&params, &params, |p| ds(&refs(p), f)).unwrap();
        [select(ds(&params, f), &[0, 1, 2]), select(tangents, &[2])].concat()
    }),
    ("hvp_of_checkpointed_mlp", |x| {
        hvp(&refs(&x[2..6]), &refs(&x[6..]), |p| {
            let h = checkpoint_one(&[&x[0]], |x| (x[0].matmul(&p[0]) + &p[1]).tanh());
            (checkpoint_one(&[&h], |h| h[0].matmul(&p[2]).sin() * &p[3]) - &x[1]).square().mean(())
        })
    }),
    ("gradients_of_nested_checkpoints", |x| {
        let all =
            vmap(&refs(x), &[Some(0), None], |t| ds(&[&t[0], &t[1]], |t| nested_checkpoints(&t[0], &t[1])));
        [all, vec![hessian(&x[0].at(0), |y| nested_checkpoints(y, &x[1]))]].concat()
    }),
    ("hamiltonian_field", |x| {
        let energy = |s: &Tensor| x[1].matmul(s).cos().sum(()) + s.square().sum(()) * 0.5;
        let field = |s: &Tensor| {
            let g = d(s, energy);
            Tensor::cat(&[&g.at(2..), &-g.at(..2)], 0)
        };
        let twice = d(&x[0], |s| field(&field(s)).square().sum(()));
        vec![field(&x[0]), jacfwd(&x[0], field), twice]
    }),
    ("kernel_derivatives", |x| {
        let mean = |q: &Tensor, s: &Tensor| x[1].dot(&(-(&x[0] - q).square().sum(1) * s.exp()).exp());
        let slope = jacfwd(&x[3], |s| d(&x[2], |q| mean(q, s)));
        vec![slope, jacrev(&x[3], |s| hessian(&x[2], |q| mean(q, s)))]
    }),
];
