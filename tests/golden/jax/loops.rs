//! Derivatives and batches of scans.

use super::tools::*;
use gradus::{Keep, ScanOptions, Tensor, cond, scan};

const FORWARD: ScanOptions = ScanOptions { reverse: false, keep: Keep::All, length: None, unroll: 0 };

/// Operands `h, xs, w, u`; returns the last state and the output of each step.
fn rnn(t: &[Tensor]) -> Vec<Tensor> {
    let (last, said) = scan(&[&t[0]], &[&t[1]], FORWARD, |h, x| {
        let h = (t[2].matmul(&h[0]) + t[3].matmul(&x[0])).tanh();
        let y = h.square().sum(()) + x[0].at(0);
        (vec![h], vec![y])
    })
    .unwrap();
    [last, said].concat()
}

fn rnn_loss(t: &[Tensor]) -> Tensor {
    let outs = rnn(t);
    outs[0].square().sum(()) + outs[1].sin().sum(())
}

/// Returns the operands with operand `i` replaced.
fn with(t: &[Tensor], i: usize, x: &Tensor) -> Vec<Tensor> {
    let mut all = t.to_vec();
    all[i] = x.clone();
    all
}

/// Computes gradient and curvature of a scan, which do not depend on the carries that it keeps.
fn long_scan(x: &[Tensor], keep: Keep) -> Vec<Tensor> {
    let f = |w: &Tensor| {
        let how = ScanOptions { keep, ..FORWARD };
        let (_, ys) = scan(&[&x[0]], &[&x[1]], how, |h, x| {
            (vec![(w.matmul(&h[0]) + &x[0]).tanh()], vec![&h[0] * &x[0]])
        })
        .unwrap();
        ys[0].square().sum(())
    };
    [vec![d(&x[2], f)], hvp(&[&x[2]], &[&x[3]], |w| f(&w[0]))].concat()
}

fn reverse_scan_loss(t: &[Tensor]) -> Tensor {
    let how = ScanOptions { reverse: true, ..FORWARD };
    let (last, ys) =
        scan(&[&t[0]], &[&t[1]], how, |c, x| (vec![(&c[0] * &x[0]).sin() + &x[0]], vec![c[0].square()]))
            .unwrap();
    (&last[0] * ys[0].at(0)).sum(()) + ys[0].at(3).square().sum(())
}

fn last_carry(c: &Tensor, xs: &Tensor) -> Tensor {
    scan(&[c], &[xs], FORWARD, |c, x| (vec![c[0].sin() + &x[0] * &c[0]], vec![])).unwrap().0.remove(0)
}

fn nested_scan_loss(h: &Tensor, xs: &Tensor, w: &Tensor) -> Tensor {
    let (last, ys) = scan(&[h], &[xs], FORWARD, |c, rows| {
        let (inner, ys) = scan(&[&c[0]], &[&rows[0]], FORWARD, |c, x| {
            (vec![(&c[0] * w + &x[0]).sin()], vec![&c[0] * &x[0]])
        })
        .unwrap();
        (vec![&inner[0] * 0.5 + &c[0]], vec![ys[0].sum(0)])
    })
    .unwrap();
    last[0].square().sum(()) + (&ys[0] * w).sum(())
}

fn descent_loss(x: &Tensor, a: &Tensor) -> Tensor {
    let loss = |x: &Tensor| a.matmul(x).cos().sum(()) + x.square().sum(()) * 0.5;
    let how = ScanOptions { length: Some(5), ..FORWARD };
    let (last, losses) =
        scan(&[x], &[], how, |x, _| (vec![&x[0] - d(&x[0], loss) * 0.1], vec![loss(&x[0])])).unwrap();
    loss(&last[0]) + losses[0].square().sum(())
}

fn loss_with_counter(h: &Tensor, xs: &Tensor, w: &Tensor) -> Tensor {
    let (last, ys) = scan(&[&Tensor::from(0i64), h], &[xs], FORWARD, |c, x| {
        let even = c[0].remainder(2).eq(0);
        let yes = |h: &[Tensor]| (&h[0] * w).sin();
        let h = cond(&even, &[&c[1]], yes, |h| &h[0] * &x[0] + w.square()).unwrap().remove(0);
        let y = &h * &c[0].to_dtype(h.dtype());
        (vec![&c[0] + 1, h], vec![y])
    })
    .unwrap();
    (&last[1] * ys[0].at(2)).sum(()) + ys[0].square().sum(())
}

fn lstm_loss(w: &Tensor, b: &Tensor, xs: &Tensor) -> Tensor {
    let (last, hs) = scan(&[&b.at(..1), &b.at(1..2)], &[xs], FORWARD, |carry, x| {
        let gate =
            |j: usize| w.at(j).matmul(&Tensor::cat(&[&carry[0], &carry[1], &x[0], &b.narrow(0, j, 1)], 0));
        let (i, o, g, k) = (gate(0), gate(1), gate(2), gate(3));
        let c = g.sigmoid() * &carry[1] + i.sigmoid() * k.tanh();
        let h = o.sigmoid() * c.tanh();
        (vec![h.clone(), c], vec![h])
    })
    .unwrap();
    (&last[0] * &last[1]).sum(()) + hs[0].square().sum(())
}

/// Operands `a, x, b, c`.
fn selective_scan_loss(t: &[Tensor]) -> Tensor {
    let (_, ys) = scan(&[&t[0].zeros_like()], &[&t[1], &t[2], &t[3]], FORWARD, |h, s| {
        let delta = s[0].softplus(1.0, 20.0);
        let decay = (-delta.unsqueeze(1) * &t[0]).exp();
        let h = &h[0] * decay + (&delta * &s[1] * &s[0]).unsqueeze(1);
        let y = (&h * s[2].unsqueeze(1)).sum(1);
        (vec![h], vec![y])
    })
    .unwrap();
    ys[0].square().sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("gradient_of_scan", |x| {
        let (value, grads) = gradus::value_and_grad(&refs(x), rnn_loss).unwrap();
        [value, grads].concat()
    }),
    ("hvp_of_scan", |x| hvp(&refs(&x[..4]), &refs(&x[4..]), rnn_loss)),
    ("hessian_of_scan", |x| {
        let own = hessian(&x[0], |h| rnn_loss(&with(x, 0, h)));
        let mixed = jacrev(&x[1], |xs| jacfwd(&x[3], |u| rnn_loss(&with(&with(x, 1, xs), 3, u))));
        vec![own, mixed]
    }),
    ("jacobians_of_scan", |x| {
        let forward = [0, 1].map(|k| jacfwd(&x[0], |h| rnn(&with(x, 0, h)).swap_remove(k)));
        let reverse = [0, 1].map(|k| jacrev(&x[1], |xs| rnn(&with(x, 1, xs)).swap_remove(k)));
        [forward, reverse].concat()
    }),
    ("batched_scan_gradients", |x| {
        vmap(&refs(x), &[None, Some(0), None, None], |t| {
            ds(&refs(&t[..3]), |a| rnn_loss(&[a, &t[3..]].concat()))
        })
    }),
    ("batched_scan_parameters", |x| {
        let axes = [None, None, Some(0), None];
        let outs = vmap(&refs(x), &axes, rnn);
        [outs, vmap(&refs(x), &axes, |t| vec![d(&t[2], |w| rnn_loss(&with(t, 2, w)))])].concat()
    }),
    ("gradient_of_a_batch_of_scans", |x| {
        ds(&refs(&x[..3]), |t| {
            let loss = |a: &[Tensor]| rnn_loss(&[a, &[t[2].clone(), x[3].clone()]].concat());
            batch(&[&t[0], &t[1]], loss).square().sum(())
        })
    }),
    ("tangent_of_pullback_of_scan", |x| {
        let pull = |t: &[Tensor]| {
            let (_, pull) = gradus::vjp(&refs(t), rnn).unwrap();
            pull(&[&t[0].sin(), &t[1].at((.., 0)).cos()]).unwrap()
        };
        gradus::jvp(&refs(&x[..4]), &refs(&x[4..]), pull).unwrap().1
    }),
    ("reverse_scan_second_order", |x| {
        let both = ds(&refs(&x[..2]), reverse_scan_loss);
        let mixed = push(&x[0], &x[2], |h| d(&x[1], |xs| reverse_scan_loss(&[h.clone(), xs.clone()])));
        [both, vec![mixed]].concat()
    }),
    ("third_of_scan", |x| {
        let f = |c: &Tensor| last_carry(c, &x[1]);
        let tangent = jvp(&[&x[0]], &[&x[0].ones_like()], |c| vec![nth(2, &c[0], &f)]);
        [vec![nth(3, &x[0], &f)], tangent].concat()
    }),
    ("scan_that_keeps_every_third", |x| long_scan(x, Keep::Every(3))),
    ("scan_that_keeps_a_root", |x| long_scan(x, Keep::Sqrt)),
    ("scan_that_keeps_a_logarithm", |x| long_scan(x, Keep::Recursive)),
    ("nested_scans_second_order", |x| {
        let f = |w: &Tensor| nested_scan_loss(&x[0], &x[1], w);
        let product = hvp(&[&x[2]], &[&x[3]], |w| f(&w[0])).remove(0);
        vec![d(&x[2], f), product, hessian(&x[2], f)]
    }),
    ("gradient_descent_in_a_scan", |x| {
        let both = ds(&refs(x), |t| descent_loss(&t[0], &t[1]));
        [both, vec![jacfwd(&x[0], |y| d(y, |y| descent_loss(y, &x[1])))]].concat()
    }),
    ("tangents_in_a_scan", |x| {
        hessians(&[&x[0], &x[2]], |t| {
            let (last, ys) = scan(&[&t[0]], &[&x[1]], FORWARD, |c, v| {
                let next = push(&c[0], &v[0], |c| (c * &t[1]).sin() * c.sum(()));
                (vec![next], vec![c[0].clone()])
            })
            .unwrap();
            last[0].square().sum(()) + ys[0].pow(3.0).sum(())
        })
    }),
    ("scan_with_a_counter_and_a_choice", |x| {
        let both = ds(&[&x[0], &x[2]], |t| loss_with_counter(&t[0], &x[1], &t[1]));
        [both, vec![hessian(&x[0], |h| loss_with_counter(h, &x[1], &x[2]))]].concat()
    }),
    ("hvp_of_lstm", |x| {
        let part = |k: usize| x[1].at((.., .., k)).reshape([4, 1, 5]);
        hvp(&[&part(0), &x[0]], &[&part(1), &x[0].sin()], |t| lstm_loss(&t[0], &t[1], &x[2]))
    }),
    ("gradients_of_a_selective_scan", |x| {
        let product = hvp(&[&x[0]], &[&x[0].cos()], |a| selective_scan_loss(&with(x, 0, &a[0])));
        [ds(&refs(x), selective_scan_loss), product].concat()
    }),
];
