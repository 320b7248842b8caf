//! Tests programs with control flow: sums and products, branches, loops, a transformer layer, state-space and
//! delta-rule recurrences, functions with and without custom rules. Values and gradients are compared in all
//! ways of `crate::common::gradients`, with other formulations and with differences.

use crate::common::{
    batched, checked, close, count, f64s, gradients, near, noise, second_order, types_within,
};
use gradus::func::linear;
use gradus::ir::ops::call::Call;
use gradus::ir::{Op, reference, transform};
use gradus::{
    AttentionOptions, Graph, Keep, Literal, ScanOptions, Tensor, apply1, arg, cond, grad, region1,
    scaled_dot_product_attention, scan, trace, vmap, while_loop,
};
use std::sync::Arc;

#[test]
fn sums_and_products() {
    let (x, y) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([4.0, 5.0, 6.0]));
    assert_eq!(gradients(&[&x, &y], |v| (&v[0] + &v[1]).sum(())), [[1.0; 3], [1.0; 3]]);
    assert_eq!(gradients(&[&x, &y], |v| (&v[0] * &v[1]).sum(())), [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]);
    // A value that is used twice gets gradients from both uses.
    assert_eq!(gradients(&[&x], |v| (&v[0] * &v[0] + &v[0]).sum(())), [[3.0, 5.0, 7.0]]);
    // An operand that is not used has a gradient of zeros.
    assert_eq!(gradients(&[&x, &y], |v| v[0].sum(())), [[1.0; 3], [0.0; 3]]);
}

#[test]
fn a_linear_system() {
    // 2x + y = 3, x + 3y = 5: x = 4/5, y = 7/5; the gradient of x + 10y in the right side is A⁻ᵀ (1, 10) =
    // (-7, 19) / 5.
    let (a, b) = (Tensor::from([[2.0, 1.0], [1.0, 3.0]]), Tensor::from([3.0, 5.0]));
    let (w, right) = (Tensor::from([1.0, 10.0]), [-1.4, 3.8]);
    let loss = |v: &[Tensor]| (v[0].solve(&v[1]) * &w).sum(());
    close(&f64s(&a.solve(&b)), &[0.8, 1.4]);
    let g = checked(&[&a, &b], loss);
    close(&g[1], &right);
    // The gradient of the matrix is minus the outer product of that gradient and the solution.
    close(&g[0], &[right[0] * -0.8, right[0] * -1.4, right[1] * -0.8, right[1] * -1.4]);
    second_order(&[&a, &b], loss);
    let many = Tensor::stack(&[&b, &(&b * 2.0)], 0);
    batched(&[&a, &many], &[None, Some(0)], |v| v[0].solve(&v[1]));
}

#[test]
fn a_choice_by_branch_and_by_select() {
    let branch =
        |p: &Tensor, x: &Tensor| cond(p, &[x], |x| x[0].square() * 3.0, |x| x[0].exp()).unwrap().remove(0);
    let x = Tensor::from([0.5, -1.0]);
    for (yes, slope) in [(true, [3.0, -6.0]), (false, [0.5f64.exp(), (-1f64).exp()])] {
        let p = Tensor::from(yes);
        let g = checked(&[&x], |x| branch(&p, &x[0]).sum(()));
        close(&g[0], &slope);
        second_order(&[&x], |x| branch(&p, &x[0]).sum(()));
        // Selecting each element gives the same gradient.
        let select = grad(&[&x], |x| p.select(&(x[0].square() * 3.0), &x[0].exp()).sum(())).unwrap();
        close(&g[0], &f64s(&select[0]));
    }
    // The predicate may come from the data; a batch of predicates becomes a select.
    let by_sign = |x: &Tensor| branch(&x.gt(0.0), x);
    close(&f64s(&batched(&[&x], &[Some(0)], |x| by_sign(&x[0]))), &[0.75, (-1f64).exp()]);
    let slopes = batched(&[&x], &[Some(0)], |x| grad(&[&x[0]], |x| by_sign(&x[0])).unwrap().remove(0));
    close(&f64s(&slopes), &[3.0, (-1f64).exp()]);
    // In the graph a choice is one op with two bodies. If it is batched over its predicate, there is no such
    // op.
    let p = Tensor::from([true, false]);
    let one = trace(&[&p.at(0), &x], |v| branch(&v[0], &v[1])).unwrap();
    assert_eq!(count(&one, "switch"), 1);
    let all = transform::vmap(&one, &[Some(0), None], 2).unwrap();
    assert_eq!((count(&all, "switch"), count(&all, "select") > 0), (0, true));
}

#[test]
fn an_unrolled_a_bounded_and_an_unbounded_loop() {
    // x ← x·w + 1 while the norm is below 20, at most 12 times.
    let run = |x: &Tensor, w: &Tensor, bound| {
        let below = |c: &[Tensor]| c[0].square().sum(()).lt(400.0);
        while_loop(&[x], bound, below, |c| &c[0] * w + 1.0).unwrap().remove(0)
    };
    let written = |x: &Tensor, w: &Tensor| {
        let mut x = x.clone();
        for _ in 0..12 {
            let go = x.square().sum(()).lt(400.0);
            x = go.select(&(&x * w + 1.0), &x);
        }
        x
    };
    let (x, w) = (Tensor::from([1.0, 0.5]), Tensor::from([1.5, 1.2]));
    let right = f64s(&written(&x, &w));
    close(&f64s(&run(&x, &w, None)), &right);
    close(&f64s(&run(&x, &w, Some(12))), &right);
    let g = checked(&[&x, &w], |v| run(&v[0], &v[1], Some(12)).sin().sum(()));
    let expected = grad(&[&x, &w], |v| written(&v[0], &v[1]).sin().sum(())).unwrap();
    g.iter().zip(&expected).for_each(|(a, b)| close(a, &f64s(b)));
    second_order(&[&x, &w], |v| run(&v[0], &v[1], Some(12)).sin().sum(()));
    // Each element of a batch takes its own number of steps.
    let xs = Tensor::from([[1.0, 0.5], [19.0, 1.0], [30.0, 0.0]]);
    batched(&[&xs, &w], &[Some(0), None], |v| run(&v[0], &v[1], None));
    batched(&[&xs, &w], &[Some(0), None], |v| {
        grad(&[&v[1]], |w| run(&v[0], &w[0], Some(12)).sin().sum(())).unwrap().remove(0)
    });
}

/// Pre-norm attention and gated MLP over `[n, 4]`, two heads.
fn layer(v: &[Tensor]) -> Tensor {
    let n = v[0].dim(0);
    let heads = |t: Tensor| t.reshape([n, 2, 2]).transpose(0, 1);
    let h = v[0].rms_norm([4], Some(&v[1]), 1e-6);
    let [q, k, u] = [2, 3, 4].map(|i| heads(linear(&h, &v[i], None)));
    let how = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let a = scaled_dot_product_attention(&q.rope(1e4, 0), &k.rope(1e4, 0), &u, &how);
    let x = &v[0] + linear(&a.transpose(0, 1).reshape([n, 4]), &v[5], None);
    let h = x.layer_norm([4], Some(&v[6]), Some(&v[7]), 1e-6);
    &x + linear(&(linear(&h, &v[8], None).silu() * linear(&h, &v[9], None)), &v[10], None)
}

#[test]
fn a_transformer_layer() {
    let shapes: [&[usize]; 11] =
        [&[3, 4], &[4], &[4, 4], &[4, 4], &[4, 4], &[4, 4], &[4], &[4], &[6, 4], &[6, 4], &[4, 6]];
    let ins: Vec<Tensor> = shapes.iter().enumerate().map(|(i, s)| noise(s, 40 + i as u64)).collect();
    let ins: Vec<&Tensor> = ins.iter().collect();
    let c = noise(&[3, 4], 60);
    let g = checked(&ins, |v| (layer(v) * &c).sum(()));
    assert!(g.iter().all(|g| g.iter().any(|x| x.abs() > 1e-4)), "a weight has no gradient");
    second_order(&ins, |v| (layer(v) * &c).sum(()));
    // Causal: the first position does not see the others.
    let first = grad(&ins, |v| layer(v).at(0).sum(())).unwrap();
    assert!(f64s(&first[0])[4..].iter().all(|g| *g == 0.0));
    // The layer keeps its parts by name, and so does its gradient.
    let graph = trace(&ins, layer).unwrap();
    let gradient = transform::vjp(&graph, &(0..11).collect::<Vec<_>>()).unwrap();
    let text = gradient.to_string();
    for name in ["rms_norm_vjp", "rope_vjp", "scaled_dot_product_attention_vjp", "layer_norm_vjp"] {
        assert!(text.contains(name), "{name}");
    }
}

/// The selective state space: `h = exp(Δ·A) h + Δ·B·x`, `y = C·h`; x and Δ are `[t, d]`, A `[d, s]`, B and C
/// `[t, s]`.
fn selective(v: &[Tensor], keep: Keep) -> Tensor {
    let [x, delta, a, b, c] = v else { panic!("five inputs") };
    let start = a.zeros_like();
    let step = |h: &[Tensor], at: &[Tensor]| {
        let (delta, x) = (at[1].unsqueeze(1), at[0].unsqueeze(1));
        let h = (&delta * a).exp() * &h[0] + delta * x * at[2].unsqueeze(0);
        let y = h.matmul(&at[3]);
        (vec![h], vec![y])
    };
    let how = ScanOptions { keep, ..ScanOptions::default() };
    scan(&[&start], &[x, delta, b, c], how, step).unwrap().1.remove(0)
}

/// Computes the selective state space with scalars.
fn selective_in_scalars(v: &[Vec<f64>], [t, d, s]: [usize; 3]) -> Vec<f64> {
    let [x, delta, a, b, c] = v else { panic!("five inputs") };
    let (mut h, mut y) = (vec![0.0; d * s], vec![0.0; t * d]);
    for i in 0..t {
        for j in 0..d {
            for k in 0..s {
                let (dt, at) = (delta[i * d + j], j * s + k);
                h[at] = (dt * a[at]).exp() * h[at] + dt * b[i * s + k] * x[i * d + j];
                y[i * d + j] += c[i * s + k] * h[at];
            }
        }
    }
    y
}

#[test]
fn a_selective_scan() {
    let (t, d, s) = (5, 3, 2);
    let ins = [
        noise(&[t, d], 1),
        noise(&[t, d], 2).exp(),
        -noise(&[d, s], 3).exp(),
        noise(&[t, s], 4),
        noise(&[t, s], 5),
    ];
    let plain: Vec<Vec<f64>> = ins.iter().map(f64s).collect();
    let right = selective_in_scalars(&plain, [t, d, s]);
    let refs: Vec<&Tensor> = ins.iter().collect();
    let weights = noise(&[t, d], 6);
    // The recurrence unrolled into tensor operations.
    let written = |v: &[Tensor]| {
        let (mut h, mut ys) = (v[2].zeros_like(), Vec::new());
        for i in 0..t as i64 {
            let (x, delta) = (v[0].at(i).unsqueeze(1), v[1].at(i).unsqueeze(1));
            h = (&delta * &v[2]).exp() * &h + delta * x * v[3].at(i).unsqueeze(0);
            ys.push(h.matmul(&v[4].at(i)));
        }
        Tensor::stack(&ys.iter().collect::<Vec<_>>(), 0)
    };
    let expected = grad(&refs, |v| (written(v) * &weights).sum(())).unwrap();
    for keep in [Keep::All, Keep::Every(2), Keep::Sqrt, Keep::Recursive] {
        close(&f64s(&selective(&ins, keep)), &right);
        let g = checked(&refs, |v| (selective(v, keep) * &weights).sum(()));
        g.iter().zip(&expected).for_each(|(a, b)| close(a, &f64s(b)));
    }
    second_order(&refs, |v| (selective(v, Keep::All) * &weights).sum(()));
    // A batch of sequences shares A.
    let two = |t: &Tensor| Tensor::stack(&[t, &(t * 0.5)], 0);
    let [x, delta, a, b, c] = [two(&ins[0]), two(&ins[1]), ins[2].clone(), two(&ins[3]), two(&ins[4])];
    let axes = [Some(0), Some(0), None, Some(0), Some(0)];
    batched(&[&x, &delta, &a, &b, &c], &axes, |v| selective(v, Keep::All));
    batched(&[&x, &delta, &a, &b, &c], &axes, |v| {
        let ins: Vec<&Tensor> = v.iter().collect();
        grad(&ins, |v| selective(v, Keep::All).square().sum(())).unwrap().swap_remove(2)
    });
}

/// The gated delta rule, one head: `S = g·S`, `S += β·k (v − Sᵀk)ᵀ`, `y = Sᵀq`; q and k are `[t, k]`, v
/// `[t, v]`, g and β `[t]`.
fn delta_net(v: &[Tensor]) -> (Tensor, Tensor) {
    let start = v[1].at(0).zeros_like().outer(&v[2].at(0).zeros_like());
    let step = |state: &[Tensor], at: &[Tensor]| {
        let [q, k, v, g, beta] = at else { panic!("five inputs") };
        let kept = &state[0] * g;
        let wrong = v - kept.t().matmul(k);
        let state = kept + k.outer(&(wrong * beta));
        let y = state.t().matmul(q);
        (vec![state], vec![y])
    };
    let inputs: Vec<&Tensor> = v.iter().collect();
    let (mut last, mut ys) = scan(&[&start], &inputs, ScanOptions::default(), step).unwrap();
    (last.remove(0), ys.remove(0))
}

#[test]
fn a_gated_delta_net() {
    let (t, dk, dv) = (4, 3, 2);
    let ins = [
        noise(&[t, dk], 1),
        noise(&[t, dk], 2).normalize(2.0, -1, 1e-12),
        noise(&[t, dv], 3),
        noise(&[t], 4).sigmoid(),
        noise(&[t], 5).sigmoid(),
    ];
    let p: Vec<Vec<f64>> = ins.iter().map(f64s).collect();
    // The recurrence in scalars.
    let (mut s, mut right) = (vec![0.0; dk * dv], vec![0.0; t * dv]);
    for i in 0..t {
        s.iter_mut().for_each(|x| *x *= p[3][i]);
        for b in 0..dv {
            let seen: f64 = (0..dk).map(|a| s[a * dv + b] * p[1][i * dk + a]).sum();
            let wrong = p[2][i * dv + b] - seen;
            (0..dk).for_each(|a| s[a * dv + b] += p[4][i] * p[1][i * dk + a] * wrong);
            right[i * dv + b] = (0..dk).map(|a| s[a * dv + b] * p[0][i * dk + a]).sum();
        }
    }
    let (last, ys) = delta_net(&ins);
    close(&f64s(&ys), &right);
    close(&f64s(&last), &s);
    let (wy, ws) = (noise(&[t, dv], 6), noise(&[dk, dv], 7));
    let loss = |v: &[Tensor]| {
        let (last, ys) = delta_net(v);
        (ys * &wy).sum(()) + (last * &ws).sum(())
    };
    let refs: Vec<&Tensor> = ins.iter().collect();
    let g = checked(&refs, loss);
    let written = |v: &[Tensor]| {
        let mut state = Tensor::zeros([dk, dv]).to_dtype(gradus::DType::F64);
        let mut total = Tensor::from(0.0);
        for i in 0..t as i64 {
            let [q, k, u, gate, beta] = [0, 1, 2, 3, 4].map(|j: usize| v[j].at(i));
            state = state * gate;
            let wrong = u - k.matmul(&state);
            state = state + k.unsqueeze(1) * (wrong * beta).unsqueeze(0);
            total = total + (q.matmul(&state) * wy.at(i)).sum(());
        }
        total + (state * &ws).sum(())
    };
    let expected = grad(&refs, written).unwrap();
    g.iter().zip(&expected).for_each(|(a, b)| close(a, &f64s(b)));
    second_order(&refs, loss);
    let two = ins.each_ref().map(|t| Tensor::stack(&[t, &(t * 0.5)], 0));
    batched(&two.each_ref(), &[Some(0); 5], |v| delta_net(v).1);
}

#[test]
fn a_function_without_a_rule_and_one_with_its_own() {
    // A function without a rule: a region of the user's, which is printed and differentiated by name.
    let soft_step = |x: &Tensor, width: f64| {
        region1("soft_step", vec![arg("width", width)], &[x], |x| (&x[0] / width).tanh() * x[0].exp())
    };
    let x = Tensor::from([0.3, -0.8]);
    let g = checked(&[&x], |x| soft_step(&x[0], 0.5).sum(()));
    let slope = |x: f64| {
        let t = (x / 0.5).tanh();
        x.exp() * (t + (1.0 - t * t) / 0.5)
    };
    close(&g[0], &[slope(0.3), slope(-0.8)]);
    second_order(&[&x], |x| soft_step(&x[0], 0.5).sum(()));
    batched(&[&x], &[Some(0)], |x| soft_step(&x[0], 0.5));
    let graph = trace(&[&x], |x| soft_step(&x[0], 0.5)).unwrap();
    let text = transform::vjp(&graph, &[0]).unwrap().to_string();
    assert!(text.contains("soft_step_vjp") && text.contains("0.5"), "{text}");
    // A function with a custom rule: log(1 + eˣ). Its rule g·sigmoid(x) is finite where the derived gradient
    // is ∞/∞.
    let y = Tensor::from([800.0, -1.0]);
    let body = Arc::new(trace(&[&y], |x| (x[0].exp() + 1.0).log()).unwrap());
    let own = Arc::new(trace(&[&y, &y, &y], |v| &v[2] * v[0].sigmoid()).unwrap());
    let derived = Op::from(Call::new("log1pexp", vec![], body.clone()));
    let stated = Op::from(Call::new("log1pexp", vec![], body).with_grad(own));
    let of = |op: &Op| f64s(&grad(&[&y], |x| apply1(op.clone(), &[&x[0]]).sum(())).unwrap()[0]);
    assert!(of(&derived)[0].is_nan());
    close(&of(&stated), &[1.0, 1.0 / (1.0 + 1f64.exp())]);
    let leaf = y.requires_grad_();
    apply1(stated.clone(), &[&leaf]).sum(()).backward().unwrap();
    close(&f64s(&leaf.grad().unwrap()), &of(&stated));
    // The rule is a graph, so it can be differentiated again: s(1 - s).
    let z = Tensor::from([0.0, -1.0]);
    let again = gradus::hessian(&z, |x| apply1(stated.clone(), &[x]).sum(())).unwrap();
    let s = 1.0 / (1.0 + 1f64.exp());
    close(&f64s(&again), &[0.25, 0.0, 0.0, s * (1.0 - s)]);
}

/// Counts the values that are stacks of `length` carries of this shape.
fn stacks(graph: &Graph, length: usize, carry: &[usize]) -> usize {
    types_within(graph).iter().filter(|a| a.shape.first() == Some(&length) && a.shape[1..] == *carry).count()
}

#[test]
fn a_scan_stores_its_trajectory_only_when_differentiated() {
    let (w, h, xs) = (noise(&[3, 3], 1), noise(&[3], 2), noise(&[7, 2], 3));
    let mix = noise(&[3, 2], 4);
    let f = |v: &[Tensor]| {
        let step = |c: &[Tensor], x: &[Tensor]| {
            let h = (v[0].matmul(&c[0]) + mix.matmul(&x[0])).tanh();
            (vec![h.clone()], vec![h.sum(())])
        };
        let (last, ys) = scan(&[&v[1]], &[&v[2]], ScanOptions::default(), step).unwrap();
        last[0].sum(()) + ys[0].square().sum(())
    };
    let ins = [&w, &h, &xs];
    let forward = trace(&ins, f).unwrap();
    assert_eq!((count(&forward, "scan"), stacks(&forward, 7, &[3])), (1, 0));
    // Forward mode adds tangents to the carries, and stores no trajectory either.
    let push = transform::jvp(&forward, &[0, 1, 2]).unwrap();
    assert_eq!(stacks(&push, 7, &[3]), 0);
    // Reverse mode stores the carries once, and reads them in one backward loop for all three inputs. For `w`
    // it also stores the other factor of the gradient, which is one product after the backward loop.
    let pull = transform::vjp(&forward, &[1, 2]).unwrap();
    assert_eq!(stacks(&pull, 7, &[3]), 1);
    let pull = transform::vjp(&forward, &[0, 1, 2]).unwrap();
    assert_eq!(stacks(&pull, 7, &[3]), 2);
    assert!(count(&pull, "scan") <= 3, "forward, forward with carries, one backward loop");
    let eager = checked(&ins, f);
    let one = Literal::scalar(gradus::DType::F64, 1.0);
    let point: Vec<Literal> = ins.iter().map(|t| t.to_literal().unwrap()).chain([one]).collect();
    let found = reference::evaluate(&pull, &point).unwrap();
    found.iter().zip(&eager).for_each(|(a, b)| close(a.f(), b));
    // Evaluating without differentiating gives the same value.
    near(
        reference::evaluate(&forward, &point[..3]).unwrap()[0].f(),
        &f64s(&f(&ins.map(Tensor::clone))),
        1e-14,
    );
    // For a batch there is still one backward loop.
    let many = vmap(&[&Tensor::stack(&[&xs, &(&xs * 2.0)], 0)], &[Some(0)], |x| {
        grad(&[&x[0]], |x| f(&[w.clone(), h.clone(), x[0].clone()])).unwrap()
    });
    close(&f64s(&many.unwrap()[0].at(0)), &eager[2]);
}
