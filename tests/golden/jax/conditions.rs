//! Derivatives and batches of loops that end by a condition, and of choices.

use super::tools::*;
use gradus::{DType, ScanOptions, Tensor, cond, scan, switch, while_loop};

/// Computes the square root by Newton's method, until the error is small.
fn root(a: &Tensor) -> Tensor {
    let open = |c: &[Tensor]| (c[0].square() - &c[1]).abs().gt(1e-13);
    while_loop(&[a, a], None, open, |c| vec![(&c[0] + &c[1] / &c[0]) * 0.5, c[1].clone()]).unwrap().remove(0)
}

fn repeat(
    x: &Tensor,
    bound: usize,
    go: impl FnOnce(&Tensor) -> Tensor,
    step: impl FnOnce(&Tensor) -> Tensor,
) -> Tensor {
    while_loop(&[x], Some(bound), |c| go(&c[0]), |c| step(&c[0])).unwrap().remove(0)
}

/// Multiplies a vector by 1.5 and adds a sine, until its norm is large.
fn grow(x: &Tensor, w: &Tensor) -> Tensor {
    repeat(x, 12, |c| c.square().sum(()).lt(20.0), |c| c * 1.5 + (c * w).sin())
}

fn sine_sum_of_grown(x: &Tensor, w: &Tensor) -> Tensor {
    grow(x, w).sin().sum(())
}

fn deep_loop(x: &Tensor, w: &Tensor) -> Tensor {
    let inner = |c: &Tensor| repeat(c, 8, |c| c.square().sum(()).lt(4.0), |c| c * 1.3 + w * 0.1);
    repeat(x, 10, |c| c.sum(()).lt(9.0), |c| inner(c) + (c * 0.3).cosh()).square().sum(())
}

fn scanned_loop(xs: &Tensor, w: &Tensor) -> Tensor {
    let (last, ys) = scan(&[w], &[xs], ScanOptions::default(), |c, x| {
        (vec![grow(&(&c[0] * &x[0] + 0.1), w).sin()], vec![c[0].sum(())])
    })
    .unwrap();
    last[0].square().sum(()) + ys[0].square().sum(())
}

/// Sums a power series up to a number of terms that depends on the data.
fn series(x: &Tensor) -> Tensor {
    let go = |c: &[Tensor]| c[0].lt(9).and(&c[2].abs().max(()).gt(1e-2));
    let step = |c: &[Tensor]| {
        let n = c[0].to_dtype(DType::F64) + 1.0;
        vec![&c[0] + 1, &c[1] + &c[2], &c[2] * x / n]
    };
    let init = [&Tensor::from(0i64), &x.zeros_like(), &x.ones_like()];
    while_loop(&init, Some(10), go, step).unwrap()[1].prod(())
}

fn branch(x: &Tensor, w: &Tensor) -> Tensor {
    let yes = |x: &[Tensor]| (&x[0] * w).sin().sum(());
    cond(&x.sum(()).gt(0.0), &[x], yes, |x| x[0].pow(3.0).sum(()) * w.at(0)).unwrap().remove(0)
}

fn two_choices(x: &Tensor, w: &Tensor) -> Tensor {
    let deep = |x: &Tensor| {
        let yes = |x: &[Tensor]| (&x[0] * w).prod(());
        cond(&x.at(1).gt(0.0), &[x], yes, |x| (x[0].at(0) * w.at(1)).exp()).unwrap().remove(0)
    };
    let no = |x: &[Tensor]| x[0].square().sum(()) * deep(&(&x[0] * 0.5));
    cond(&x.at(0).gt(0.0), &[x], |x| deep(&x[0]), no).unwrap().remove(0).square()
}

fn choose(i: &Tensor, x: &Tensor, w: &Tensor) -> Tensor {
    let cubes = |x: &[Tensor]| vec![x[0].pow(3.0).sum(())];
    let product = |x: &[Tensor]| vec![x[0].prod(()) * w];
    switch(i, &[x], &[&cubes, &product, &|x| vec![(&x[0] * w).exp().sum(())]]).unwrap().remove(0)
}

fn squared_choices(i: &Tensor, x: &Tensor, w: &Tensor) -> Tensor {
    batch(&[i, x], |t| choose(&t[0], &t[1], w)).square().sum(())
}

fn scanned_choices(xs: &Tensor, w: &Tensor) -> Tensor {
    let first = w.at(0) * w.at(1);
    let (last, ys) = scan(&[&first], &[xs], ScanOptions::default(), |c, x| {
        let low = |c: &[Tensor]| vec![&c[0] * &x[0] + w.at(0)];
        let high = |c: &[Tensor]| vec![(&c[0] * w.at(1)).sin() + &x[0] * w.at(2)];
        let c = switch(&x[0].gt(0.0).to_dtype(DType::I64), &[&c[0]], &[&low, &high]).unwrap();
        let y = &c[0] * &x[0];
        (c, vec![y])
    })
    .unwrap();
    &last[0] * ys[0].square().sum(())
}

/// Computes the gradients with respect to both operands.
fn both(x: &Tensor, w: &Tensor, f: fn(&Tensor, &Tensor) -> Tensor) -> Vec<Tensor> {
    ds(&[x, w], |t| f(&t[0], &t[1]))
}

const ROWS: &[Option<isize>] = &[Some(0), None];

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("tangents_of_while", |x| {
        let one = x[0].ones_like();
        let first = jvp(&[&x[0], &x[1]], &[&x[2], &one], |t| {
            vec![root(&t[0]) * root(&t[1]) + root(&(&t[0] * &t[1]))]
        });
        [first, jvp(&[&x[0]], &[&one], |a| vec![push(&a[0], &x[2], root)])].concat()
    }),
    ("batched_while_tangents", |x| {
        let all = |a: &Tensor| batch(&[a], |a| root(&a[0]));
        let outside = jvp(&[&x[0]], &[&x[1]], |a| vec![all(&a[0])]);
        let inside = batch(&refs(x), |t| push(&t[0], &t[1], root));
        [outside, vec![inside, jacfwd(&x[0], all)]].concat()
    }),
    ("gradient_of_bounded_while", |x| {
        [vec![grow(&x[0], &x[1])], both(&x[0], &x[1], |x, w| grow(x, w).square().sum(()))].concat()
    }),
    ("hvp_of_bounded_while", |x| {
        let product = hvp(&refs(&x[..2]), &refs(&x[2..]), |t| sine_sum_of_grown(&t[0], &t[1]));
        [product, vec![hessian(&x[0], |y| sine_sum_of_grown(y, &x[1]))]].concat()
    }),
    ("batched_bounded_while", |x| {
        let values = vmap(&refs(x), ROWS, |t| vec![grow(&t[0], &t[1])]);
        let slopes = vmap(&refs(x), ROWS, |t| both(&t[0], &t[1], sine_sum_of_grown));
        [values, slopes, vmap(&refs(x), ROWS, |t| vec![hessian(&t[0], |x| sine_sum_of_grown(x, &t[1]))])]
            .concat()
    }),
    ("gradient_of_a_batch_of_whiles", |x| {
        both(&x[0], &x[1], |x, w| batch(&[x], |x| grow(&x[0], w)).square().sum(()))
    }),
    ("while_in_a_while", |x| {
        let curvature = jacfwd(&x[0], |y| d(y, |y| deep_loop(y, &x[1])));
        [both(&x[0], &x[1], deep_loop), vec![curvature]].concat()
    }),
    ("while_in_a_scan", |x| {
        let product = hvp(&[&x[1]], &[&x[1].cos()], |w| scanned_loop(&x[0], &w[0]));
        [both(&x[0], &x[1], scanned_loop), product].concat()
    }),
    ("while_with_a_counter", |x| vec![d(&x[0], series), hessian(&x[0], series)]),
    ("gradients_of_cond", |x| {
        let blocks = hessians(&[&x[0], &x[2]], |t| branch(&t[0], &t[1]));
        let other = hessian(&x[1], |y| branch(y, &x[2]));
        [both(&x[0], &x[2], branch), blocks, both(&x[1], &x[2], branch), vec![other]].concat()
    }),
    ("batched_cond", |x| {
        let values = |w: &Tensor| vmap(&[&x[0], w], ROWS, |t| vec![branch(&t[0], &t[1])]);
        let slopes = vmap(&refs(x), ROWS, |t| both(&t[0], &t[1], branch));
        let curvatures = vmap(&refs(x), ROWS, |t| vec![hessian(&t[0], |x| branch(x, &t[1]))]);
        let total = d(&x[1], |w| values(w)[0].square().sum(()));
        [values(&x[1]), slopes, curvatures, vec![total]].concat()
    }),
    ("nested_conds", |x| {
        let slopes = vmap(&refs(x), ROWS, |t| both(&t[0], &t[1], two_choices));
        [slopes, vmap(&refs(x), ROWS, |t| vec![hessian(&t[0], |x| two_choices(x, &t[1]))])].concat()
    }),
    ("batched_switch", |x| {
        let slopes = |t: &[Tensor]| ds(&[&t[1], &t[2]], |a| choose(&t[0], &a[0], &a[1]));
        let own = [Some(0), Some(0), None];
        let values = vmap(&refs(x), &own, |t| vec![choose(&t[0], &t[1], &t[2])]);
        let shared = vmap(&[&x[0], &x[1].at(0), &x[2]], &[Some(0), None, None], slopes);
        [values, vmap(&refs(x), &own, slopes), shared].concat()
    }),
    ("second_order_of_switch", |x| {
        let own = hessian(&x[2], |w| squared_choices(&x[0], &x[1], w));
        let mixed = jacfwd(&x[2], |w| d(&x[1], |y| squared_choices(&x[0], y, w)));
        let vectors = [&x[1].sin(), &(&x[2] * 0.5)];
        let product = hvp(&[&x[1], &x[2]], &vectors, |t| squared_choices(&x[0], &t[0], &t[1]));
        [vec![own, mixed], product].concat()
    }),
    ("scan_over_branches", |x| {
        let own = hessian(&x[1], |w| scanned_choices(&x[0], w));
        [both(&x[0], &x[1], scanned_choices), vec![own]].concat()
    }),
];
