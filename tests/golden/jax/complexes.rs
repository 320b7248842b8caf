//! Complex functions, with gradients under the inner product `Re Σ conj(a)·b`.

use super::tools::*;
use gradus::ir::C;
use gradus::{ScanOptions, Tensor, scan};

const I: C = C::new(0.0, 1.0);

fn square(w: &Tensor) -> Tensor {
    (w.real().square() + w.imag().square()).sum(())
}

/// Neither holomorphic nor antiholomorphic.
fn smooth(w: &Tensor) -> Tensor {
    (w * 0.5).exp() * w.conj() + w.sin() / (w * w.conj() + 2.0)
}

/// Runs a diagonal state space, whose state rotates and decays.
fn state_space_loss(a: &Tensor, u: &Tensor) -> Tensor {
    let (last, ys) = scan(&[&a.zeros_like()], &[u], ScanOptions::default(), |h, u| {
        let next = &h[0] * (a * I - 0.3).exp() + &u[0];
        (vec![next], vec![(&h[0] * u[0].conj()).real()])
    })
    .unwrap();
    square(&last[0]) + ys[0].sin().sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("complex_gradient", |x| vec![d(&x[0], |w| square(&(w.sin() * w.exp())))]),
    ("complex_gradients_of_functions", |x| {
        let functions: [fn(&Tensor) -> Tensor; 9] = [
            Tensor::exp,
            Tensor::sin,
            Tensor::cos,
            Tensor::tanh,
            Tensor::sqrt,
            Tensor::log,
            Tensor::sinh,
            Tensor::reciprocal,
            Tensor::square,
        ];
        functions.map(|f| d(&x[0], |w| square(&f(w)))).to_vec()
    }),
    ("complex_gradient_of_a_gradient", |x| vec![d(&x[0], |w| square(&(d(w, |w| square(&smooth(w))) + w)))]),
    ("complex_hvp", |x| hvp(&[&x[0]], &[&x[1]], |w| square(&smooth(&w[0])))),
    ("complex_pullback", |x| {
        let (out, pull) = gradus::vjp(&[&x[0]], |w| smooth(&w[0])).unwrap();
        [out, pull(&[&x[1]]).unwrap()].concat()
    }),
    ("complex_tangent_of_pullback", |x| {
        jvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |t| vec![pull(&t[0], &t[1], smooth)])
    }),
    ("complex_pullback_of_tangent", |x| {
        let both = |t: &[Tensor]| jvp(&[&t[0]], &[&t[1]], |w| vec![smooth(&w[0])]);
        gradus::vjp(&[&x[0], &x[1]], both).unwrap().1(&[&x[2], &x[3]]).unwrap()
    }),
    ("complex_matmul_gradients", |x| {
        ds(&refs(x), |t| {
            let product = t[0].matmul(&t[1]);
            square(&((&product * 0.3).exp() * &t[2] + product.conj().t()))
        })
    }),
    ("complex_einsum_second", |x| {
        let f = |a: &Tensor| square(&Tensor::einsum("ij,jk,lk->il", &[a, &x[1], &a.conj()]));
        jvp(&[&x[0]], &[&x[2]], |a| vec![d(&a[0], f)])
    }),
    ("real_hessian_through_complex", |x| {
        vec![hessian(&x[0], |x| {
            let w = x.complex(&x.sin()) * (x.sum(()) * I).exp();
            (&w * &w * &w).real().sum(()) + (&w + 2.0).abs().pow(3.0).sum(())
        })]
    }),
    ("real_jacobian_of_polar", |x| {
        let f = |angle: &Tensor| {
            let w = x[1].polar(angle);
            Tensor::stack(&[&(&w / (&w + 1.0)).real(), &w.sqrt().imag()], 0)
        };
        vec![jacfwd(&x[0], |angle| jacfwd(angle, f))]
    }),
    ("complex_gradients_of_examples", |x| {
        let f = |w: &Tensor, c: &Tensor| square(&(w * w / (c + 2.0))) + (w * c.conj()).real();
        vmap(&refs(x), &[Some(0), Some(0)], |t| ds(&[&t[0], &t[1]], |t| f(&t[0], &t[1])))
    }),
    ("complex_abs_and_angle", |x| {
        let f = |w: &Tensor| (w.abs().pow(3.0) * w.angle()).sum(());
        vec![d(&x[0], f), push(&x[0], &x[0].conj(), |w| d(w, f))]
    }),
    ("complex_scan", |x| {
        let both = ds(&[&x[0], &x[1]], |t| state_space_loss(&t[0], &t[1]));
        [both, vec![push(&x[0], &x[2], |a| d(a, |a| state_space_loss(a, &x[1])))]].concat()
    }),
];
