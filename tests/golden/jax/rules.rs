//! Functions with custom derivatives that differ from the true ones, so that a test shows whether the rule
//! was used.

use super::tools::*;
use gradus::{ScanOptions, Tensor, custom_jvp, custom_vjp, scan};

/// A function whose custom gradients have factors that no derivation would give.
fn product_with_vjp(x: &Tensor, y: &Tensor) -> Tensor {
    let rule = |x: &[Tensor], _: &[Tensor], g: &[Tensor]| {
        [&g[0] * 2.0 * x[0].cos() * &x[1], &g[0] * 0.5 * (&x[0] * &x[1]).tanh()]
    };
    custom_vjp(&[x, y], |x| x[0].sin() * &x[1], rule).unwrap().remove(0)
}

/// The rule uses the saved result.
fn exp_with_vjp(x: &Tensor) -> Tensor {
    custom_vjp(&[x], |x| x[0].exp(), |_, y, g| &g[0] * &y[0]).unwrap().remove(0)
}

fn sum_and_square_with_vjp(x: &Tensor) -> Vec<Tensor> {
    let rule = |x: &[Tensor], _: &[Tensor], g: &[Tensor]| &g[0] * 3.0 * &x[0] + &g[1] * x[0].cos();
    custom_vjp(&[x], |x| [x[0].sum(()), x[0].square()], rule).unwrap()
}

fn product_with_jvp(x: &Tensor, y: &Tensor) -> Tensor {
    let rule = |x: &[Tensor], _: &[Tensor], t: &[Tensor]| {
        x[0].cos() * &x[1] * 1.5 * &t[0] + (-x[0].square()).exp() * 0.5 * &t[1]
    };
    custom_jvp(&[x, y], |x| x[0].sin() * &x[1], rule).unwrap().remove(0)
}

fn bump_and_cubes_with_jvp(x: &Tensor) -> Vec<Tensor> {
    let bump = |x: &Tensor| (-x.square()).exp();
    let rule = |x: &[Tensor], _: &[Tensor], t: &[Tensor]| {
        [&x[0] * -2.0 * bump(&x[0]) * &t[0], (x[0].cos() * &t[0]).sum(())]
    };
    custom_jvp(&[x], |x| [bump(&x[0]), x[0].pow(3.0).sum(())], rule).unwrap()
}

fn vjp_energy(x: &Tensor, y: &Tensor) -> Tensor {
    (product_with_vjp(x, y).tanh() * x).sum(())
}

fn jvp_energy(x: &Tensor, y: &Tensor) -> Tensor {
    (product_with_jvp(x, y).tanh() * x).sum(())
}

fn slopes(x: &[Tensor], f: fn(&Tensor, &Tensor) -> Tensor) -> Vec<Tensor> {
    ds(&[&x[0], &x[1]], |x| f(&x[0], &x[1]))
}

/// Runs a loop of this step; returns the sum of all its results.
fn looped(x: &Tensor, ys: &Tensor, step: fn(&Tensor, &Tensor) -> [Tensor; 2]) -> Tensor {
    let (last, sums) = scan(&[x], &[ys], ScanOptions::default(), |c, y| {
        let [next, out] = step(&c[0], &y[0]);
        (vec![next], vec![out])
    })
    .unwrap();
    last[0].sum(()) + sums[0].sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("custom_gradients", |x| [vec![vjp_energy(&x[0], &x[1])], slopes(x, vjp_energy)].concat()),
    ("custom_gradient_of_a_gradient", |x| {
        ds(&refs(x), |x| {
            let both = slopes(x, vjp_energy);
            both[0].sin().sum(()) + both[1].sin().sum(())
        })
    }),
    ("custom_gradient_hessian", |x| {
        let twice = jacrev(&x[0], |a| jacrev(a, |a| vjp_energy(a, &x[1])));
        vec![twice, jacrev(&x[0], |a| d(&x[1], |y| vjp_energy(a, y)))]
    }),
    ("custom_gradient_third", |x| {
        let f = |x: &Tensor| (exp_with_vjp(x) * exp_with_vjp(&x.sin())).sum(());
        vec![jacrev(&x[0], |x| jacrev(x, |x| jacrev(x, f)))]
    }),
    ("custom_gradient_of_two_results", |x| {
        let f = |x: &Tensor| {
            let out = sum_and_square_with_vjp(x);
            out[0].sin() * out[1].cos().sum(())
        };
        vec![d(&x[0], f), jacrev(&x[0], |x| d(x, f))]
    }),
    ("custom_gradients_of_examples", |x| {
        let many = vmap(&refs(x), &[Some(0), None], |x| slopes(x, vjp_energy));
        let norm = |x: &Tensor, y: &Tensor| d(x, |x| vjp_energy(x, y)).square().sum(());
        [many, vec![batch(&[&x[0]], |a| d(&a[0], |a| norm(a, &x[1])))]].concat()
    }),
    ("custom_gradient_of_a_batch", |x| {
        ds(&refs(x), |x| batch(&[&x[0]], |a| vjp_energy(&a[0], &x[1])).square().sum(()))
    }),
    ("custom_gradient_in_a_loop", |x| {
        slopes(x, |x, ys| {
            looped(x, ys, |c, y| [product_with_vjp(c, y).tanh(), exp_with_vjp(&(c * 0.3)).sum(())])
        })
    }),
    ("custom_tangents", |x| {
        let along = |f: fn(&Tensor, &Tensor) -> Tensor| {
            jvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |x| vec![f(&x[0], &x[1])])
        };
        [along(product_with_jvp), along(jvp_energy)].concat()
    }),
    ("custom_tangents_reversed", |x| {
        let back =
            gradus::vjp(&refs(x), |x| product_with_jvp(&x[0], &x[1])).unwrap().1(&[&x[1].cos()]).unwrap();
        [slopes(x, jvp_energy), back].concat()
    }),
    ("custom_tangents_twice", |x| {
        let f = |a: &Tensor| jvp_energy(a, &x[1]);
        vec![
            jacfwd(&x[0], |a| jacfwd(a, f)),
            jacfwd(&x[0], |a| jacrev(a, f)),
            jacrev(&x[0], |a| jacfwd(a, f)),
            jacrev(&x[0], |a| jacrev(&x[1], |y| jvp_energy(a, y))),
        ]
    }),
    ("custom_tangents_thrice", |x| {
        let first = jacfwd(&x[0], |a| hessian(a, |a| jvp_energy(a, &x[1])));
        vec![first, jacrev(&x[0], |a| hessian(&x[1], |y| jvp_energy(a, y)))]
    }),
    ("custom_tangents_of_two_results", |x| {
        let f = |x: &Tensor| {
            let out = bump_and_cubes_with_jvp(x);
            out[0].square().sum(()) * &out[1]
        };
        let along = jvp(&[&x[0]], &[&x[1]], |x| bump_and_cubes_with_jvp(&x[0]));
        [along, vec![d(&x[0], f), hessian(&x[0], f)]].concat()
    }),
    ("custom_tangents_of_examples", |x| {
        let y = &x[1];
        let along = vmap(&[&x[0], &x[2]], &[Some(0), Some(0)], |a| {
            jvp(&[&a[0]], &[&a[1]], |a| vec![product_with_jvp(&a[0], y)])
        });
        let many = vmap(&[&x[0], y], &[Some(0), None], |x| slopes(x, jvp_energy));
        let bent = batch(&[&x[0]], |a| hessian(&a[0], |a| jvp_energy(a, y)));
        [along, many, vec![bent]].concat()
    }),
    ("custom_tangent_of_a_batch", |x| {
        let f = |a: &Tensor| batch(&[a], |a| jvp_energy(&a[0], &x[1])).square().sum(());
        let along = jvp(&[&x[0]], &[&x[2]], |a| vec![f(&a[0])]);
        [along, vec![push(&x[0], &x[2], |a| d(a, f))]].concat()
    }),
    ("custom_tangents_in_a_loop", |x| {
        let f = |x: &Tensor, ys: &Tensor| {
            looped(x, ys, |c, y| [product_with_jvp(c, y).tanh(), bump_and_cubes_with_jvp(c).remove(1)])
        };
        [slopes(x, f), vec![hessian(&x[0], |a| f(a, &x[1]))]].concat()
    }),
];
