//! Attention, rotary positions and labels: every setting has an effect, and every operand has a gradient.

use crate::common::{adjoint, batched, checked, close, f64s, noise, second_order};
use gradus::{
    AttentionOptions, CrossEntropyOptions, Tensor, cross_entropy, grad, jvp, scaled_dot_product_attention,
};

/// Computes attention by its formula.
fn plain(q: &Tensor, k: &Tensor, v: &Tensor, scale: f64, cap: Option<f64>, bias: Option<&Tensor>) -> Tensor {
    let mut s = q.matmul(&k.t()) * scale;
    if let Some(cap) = cap {
        s = (s / cap).tanh() * cap;
    }
    if let Some(bias) = bias {
        s += bias;
    }
    let e = (&s - s.max_keepdim(-1)).exp();
    (&e / e.sum_keepdim(-1)).matmul(v)
}

fn qkv() -> [Tensor; 3] {
    [noise(&[2, 3, 4], 1), noise(&[2, 5, 4], 2), noise(&[2, 5, 2], 3)]
}

#[test]
fn fault_02_attention_scale_and_cap() {
    let [q, k, v] = qkv();
    let c = noise(&[2, 3, 2], 4);
    let settings = [(None, None), (Some(2.0), None), (None, Some(0.5)), (Some(3.0), Some(0.7))];
    let mut firsts = Vec::new();
    for (scale, softcap) in settings {
        let how = AttentionOptions { scale, softcap, ..AttentionOptions::default() };
        let attend = |x: &[Tensor]| scaled_dot_product_attention(&x[0], &x[1], &x[2], &how);
        let right = |x: &[Tensor]| plain(&x[0], &x[1], &x[2], scale.unwrap_or(0.5), softcap, None);
        let ins = [q.clone(), k.clone(), v.clone()];
        close(&f64s(&attend(&ins)), &f64s(&right(&ins)));
        firsts.push(f64s(&attend(&ins))[0]);
        let found = checked(&[&q, &k, &v], |x| (attend(x) * &c).sum(()));
        let written = grad(&[&q, &k, &v], |x| (right(x) * &c).sum(())).unwrap();
        found.iter().zip(&written).for_each(|(a, b)| close(a, &f64s(b)));
    }
    firsts.sort_by(f64::total_cmp);
    assert!(firsts.windows(2).all(|w| w[1] - w[0] > 1e-4), "each setting changes the result: {firsts:?}");
}

#[test]
fn fault_03_attention_bias_rope_tables_and_soft_labels() {
    let [q, k, v] = qkv();
    let bias = noise(&[3, 5], 5);
    let c = noise(&[2, 3, 2], 4);
    let with = |bias: &Tensor| AttentionOptions { mask: Some(bias.clone()), ..AttentionOptions::default() };
    checked(&[&q, &k, &v, &bias], |x| {
        (scaled_dot_product_attention(&x[0], &x[1], &x[2], &with(&x[3])) * &c).sum(())
    });
    let ins = [q.clone(), k.clone(), v.clone()];
    let found = scaled_dot_product_attention(&ins[0], &ins[1], &ins[2], &with(&bias));
    close(&f64s(&found), &f64s(&plain(&q, &k, &v, 0.5, None, Some(&bias))));
    // Four query heads share two heads of keys and values.
    let (q4, k2, v2) = (noise(&[4, 3, 2], 6), noise(&[2, 5, 2], 7), noise(&[2, 5, 2], 8));
    let how = AttentionOptions { enable_gqa: true, ..AttentionOptions::default() };
    checked(&[&q4, &k2, &v2], |x| scaled_dot_product_attention(&x[0], &x[1], &x[2], &how).square().sum(()));
    let repeated = |t: &Tensor| t.repeat_interleave(2, Some(0));
    let found = scaled_dot_product_attention(&q4, &k2, &v2, &how);
    close(&f64s(&found), &f64s(&plain(&q4, &repeated(&k2), &repeated(&v2), 0.5f64.sqrt(), None, None)));
    // Rotary cosines and sines.
    let (x, cos, sin) = (noise(&[3, 4], 9), noise(&[3, 2], 10), noise(&[3, 2], 11));
    let weights = noise(&[3, 4], 12);
    checked(&[&x, &cos, &sin], |v| (v[0].rope_with(&v[1], &v[2]) * &weights).sum(()));
    // Labels as probabilities: the gradient of -Σ p log softmax(x) / n in p.
    let (x, p) = (noise(&[2, 3], 13), noise(&[2, 3], 14).softmax(1));
    let loss = |v: &[Tensor]| cross_entropy(&v[0], &v[1], &CrossEntropyOptions::default());
    let g = checked(&[&x, &p], loss);
    close(&g[1], &f64s(&(x.log_softmax(1) * -0.5)));
}

#[test]
fn fault_13_attention_forward_in_all_operands() {
    let [q, k, v] = qkv();
    let how = AttentionOptions { scale: Some(1.5), softcap: Some(0.8), causal: true, ..Default::default() };
    let attend = |x: &[Tensor]| scaled_dot_product_attention(&x[0], &x[1], &x[2], &how);
    let h = 1e-5;
    for i in 0..3 {
        let ins = [&q, &k, &v];
        let mut along = ins.map(|t| t.zeros_like());
        along[i] = noise(&ins[i].shape(), 20);
        let (_, t) = jvp(&ins, &along.each_ref(), attend).unwrap();
        let moved =
            |h: f64| attend(&[0, 1, 2].map(|j| if i == j { ins[j] + &along[j] * h } else { ins[j].clone() }));
        let right = (moved(h) - moved(-h)) / (2.0 * h);
        crate::common::near(&f64s(&t[0]), &f64s(&right), 1e-7);
        assert!(f64s(&t[0]).iter().any(|t| t.abs() > 1e-3));
    }
    second_order(&[&q, &k, &v], |x| attend(x).square().sum(()));
    // In a batch, each element has its own operands.
    let stack = |t: &Tensor| Tensor::stack(&[t, &(t * 2.0), &-t], 0);
    batched(&[&stack(&q), &stack(&k), &v], &[Some(0), Some(0), None], attend);
}

#[test]
fn fault_14_rope_forward_is_the_rotation_itself() {
    let (x, t) = (noise(&[3, 4], 1), noise(&[3, 4], 2));
    let turn = |x: &Tensor| x.rope(100.0, 2);
    let (_, pushed) = jvp(&[&x], &[&t], |x| turn(&x[0])).unwrap();
    close(&f64s(&pushed[0]), &f64s(&turn(&t)));
    // The map is a rotation: it keeps lengths, and its adjoint is the inverse rotation.
    close(&f64s(&turn(&x).square().sum(-1)), &f64s(&x.square().sum(-1)));
    let (_, pull) = gradus::vjp(&[&x], |x| turn(&x[0])).unwrap();
    close(&f64s(&pull(&[&turn(&t)]).unwrap()[0]), &f64s(&t));
    adjoint(&x, turn);
    // Position 1 by one radian on the first pair of two: (1, 0) goes to (cos, sin).
    let unit = Tensor::from([[0.0, 0.0], [1.0, 0.0]]);
    close(&f64s(&unit.rope(1e4, 0)), &[0.0, 0.0, 1f64.cos(), 1f64.sin()]);
}
