//! Raises loops to equations, long ones to virtual time, and checks that the equations have the same values.

use super::{numbers, round_trip};
use gradus_ir::{DType, Graph, transform};
use gradus_tensor::{Keep, ScanOptions, Tensor, region1, scan, trace, while_loop};

fn f64s(seed: usize, shape: &[usize]) -> Tensor {
    let n = shape.iter().product();
    Tensor::from_slice(&numbers(seed, n), shape.to_vec()) - 0.5
}

/// Raises a graph and the gradient of its sum, without calls of `graph`.
fn both_ways(graph: &Graph) -> [String; 2] {
    let wrt: Vec<usize> = (0..graph.inputs().len()).collect();
    let texts = [round_trip(graph), round_trip(&transform::vjp(graph, &wrt).unwrap())];
    texts.iter().for_each(|t| assert!(!t.contains("graph("), "{t}"));
    texts
}

fn rnn(v: &[Tensor], how: ScanOptions) -> Vec<Tensor> {
    let (w, x, h) = (v[0].clone(), &v[1], &v[2]);
    let (last, all) = scan(&[h], &[x], how, |c, s| {
        let next = (c[0].matmul(&w) + &s[0]).tanh();
        (vec![next.clone()], vec![next.square(), s[0].softmax(-1)])
    })
    .unwrap();
    last.into_iter().chain(all).collect()
}

#[test]
fn a_long_loop_is_virtual_time() {
    let v = [f64s(1, &[3, 3]), f64s(2, &[20, 2, 3]), f64s(3, &[2, 3])];
    for reverse in [false, true] {
        let how = || ScanOptions { reverse, ..ScanOptions::default() };
        let graph = trace(&v.each_ref(), |v| rnn(v, how())).unwrap();
        let [forward, gradient] = both_ways(&graph);
        assert!(forward.contains("axis t = 20\n") && forward.contains(", *t+1] ="), "{forward}");
        // The loop itself is three lines: product, sum, and the state.
        assert!(gradient.contains(", *t+1] ="), "{gradient}");
    }
}

#[test]
fn its_text() {
    let v = [f64s(1, &[3, 3]), f64s(2, &[20, 2, 3]), f64s(3, &[2, 3])];
    let graph = trace(&v.each_ref(), |v| {
        let w = v[0].clone();
        let step = |c: &[Tensor], s: &[Tensor]| {
            let next = (c[0].matmul(&w) + &s[0]).tanh();
            (vec![next.clone()], vec![next])
        };
        scan(&[&v[2]], &[&v[1]], ScanOptions::default(), step).unwrap().1
    })
    .unwrap();
    let expected = "axis t = 20\nT1[i, j, *0] = z[i, j]\nT2[i, k, *t] = T1[i, j, *t] x[j, k]\n\
        T3[i, k, *t] = y[t, i, k]\nT4[i, k, *t] = T2[i, k, *t] + T3[i, k, *t]\nT5[i, k, *t] = tanh(T4[i, k, *t])\n\
        T1[i, k, *t+1] = T5[i, k, *t]\nOut[t, i, k] = T5[i, k, *t]\nexport Out\n";
    assert_eq!(round_trip(&graph), expected);
}

#[test]
fn steps_that_keep_few_and_steps_of_steps() {
    let v = [f64s(1, &[3, 3]), f64s(2, &[30, 2, 3]), f64s(3, &[2, 3])];
    for keep in [Keep::Every(6), Keep::Every(10)] {
        let how = || ScanOptions { keep, ..ScanOptions::default() };
        let graph = trace(&v.each_ref(), |v| rnn(v, how())).unwrap();
        both_ways(&graph);
    }
}

#[test]
fn loops_of_other_lengths_and_within_each_other() {
    let (x, y) = (f64s(1, &[20, 3]), f64s(2, &[7, 3]));
    let graph = trace(&[&x, &y], |v| {
        let inner = v[1].clone();
        let (c, ys) = scan(&[&v[0].sum([0])], &[&v[0]], ScanOptions::default(), |c, s| {
            let (c, _) = scan(&[&c[0]], &[&inner], ScanOptions::default(), |c, s| {
                (vec![(&c[0] * &s[0]).sin() + &c[0]], Vec::new())
            })
            .unwrap();
            (vec![&c[0] * 0.5 + &s[0]], vec![c[0].clone()])
        })
        .unwrap();
        let (d, _) = scan(&[&c[0]], &[&v[1]], ScanOptions::default(), |c, s| {
            (vec![&c[0] * 0.5 + s[0].reshape([3, 1]).reshape([3])], Vec::new())
        })
        .unwrap();
        vec![d[0].clone(), ys[0].clone()]
    })
    .unwrap();
    both_ways(&graph);
}

/// Counters, constant carries, shift registers, and values that depend only on the step.
#[test]
fn carries_of_every_kind() {
    let (x, h) = (f64s(1, &[20, 2, 3]), f64s(2, &[2, 3]));
    let graph = trace(&[&x, &h], |v| {
        let none = Tensor::full([], 0.0);
        let carries = [&v[1], &v[1], &none, &v[1]];
        let (c, ys) = scan(&carries, &[&v[0]], ScanOptions::default(), |c, s| {
            let turned = c[2].reshape([1, 1]).expand([2, 3]) + &s[0];
            let state = &c[3].cumsum(1) * 0.1 + s[0].reshape([3, 2]).reshape([2, 3]);
            let next = vec![c[0].clone(), s[0].clone(), &c[2] + 1.0, state];
            (next, vec![&c[1] + &c[0], turned, c[3].flatten(0, 1)])
        })
        .unwrap();
        c.into_iter().chain(ys).collect::<Vec<_>>()
    })
    .unwrap();
    both_ways(&graph);
}

#[test]
fn a_loop_with_a_condition_comes_to_rest() {
    let x = f64s(1, &[2, 3]) + 1.0;
    let graph = trace(&[&x], |v| {
        let shared = v[0].clone();
        let begin = [&v[0] * 0.0 + 1.0, Tensor::full([], 0.0), v[0].sum(())];
        let go = |c: &[Tensor]| c[2].lt(100.0);
        let step = |c: &[Tensor]| vec![&c[0] * 0.5 + &shared / &c[0] * 0.5, &c[1] + 1.0, &c[2] * 1.5];
        while_loop(&begin.each_ref(), None, go, step).unwrap()
    })
    .unwrap();
    let text = round_trip(&graph);
    assert!(!text.contains("graph("), "{text}");
    let bounded = trace(&[&x], |v| {
        while_loop(&[&v[0]], Some(9), |c| c[0].sum(()).lt(30.0), |c| vec![&c[0] * 1.5]).unwrap()
    })
    .unwrap();
    both_ways(&bounded);
}

/// Only the condition ends such a loop: not infinities, NaN or many rounds. Integers keep their bits.
#[test]
fn only_the_condition_ends_a_loop() {
    let x = Tensor::from_slice(&[1.5f32, 3.0], [2]);
    let n = Tensor::full([], 12_345_678_912_345i64);
    let below = |c: &[Tensor], most: i64| c[1].lt(most);
    type Body = fn(&Tensor) -> Tensor;
    let cases: Vec<(i64, Body)> = vec![
        (12_345_678_912_365, |x| x * 1e30),
        (12_345_678_912_355, |x| &(x / 0.0) - &(x / 0.0)),
        (12_345_678_932_345, |x| x * 0.999),
    ];
    for (most, body) in cases {
        let graph = trace(&[&x, &n], |v| {
            while_loop(&[&v[0], &v[1]], None, |c| below(c, most), |c| vec![body(&c[0]), &c[1] + 1i64])
                .unwrap()
        });
        super::round_trip_in(DType::F32, &graph.unwrap(), vec![x.clone(), n.clone()]);
    }
}

#[test]
fn complex_numbers_in_loops() {
    let (x, y) = (f64s(1, &[20, 3]), f64s(2, &[20, 3]));
    let graph = trace(&[&x, &y], |v| {
        let z = v[0].complex(&v[1]);
        let turn = Tensor::full([3], 0.6).to_dtype(gradus_ir::DType::F64).complex(0.7);
        let begin = &turn * 0.5;
        let (last, all) = scan(&[&begin], &[&z], ScanOptions::default(), |c, s| {
            let next = &c[0] * &turn + s[0].conj();
            (vec![next.clone()], vec![next.abs(), &c[0] * 2.0])
        })
        .unwrap();
        vec![last[0].abs(), all[0].clone(), all[1].imag()]
    })
    .unwrap();
    both_ways(&graph);
}

/// Values that a region computes from the input of this step only are not part of the recursion, even if the
/// region is.
#[test]
fn regions_that_mix_states_and_inputs() {
    let (x, h) = (f64s(1, &[20, 6]), f64s(2, &[2, 3]));
    let graph = trace(&[&x, &h], |v| {
        let step = |c: &[Tensor], s: &[Tensor]| {
            let mixed = region1("mixed", Vec::new(), &[&c[0], &s[0]], |v| {
                (&v[0] * 0.5 + v[1].reshape([3, 2]).t().sin()).tanh()
            });
            (vec![mixed.clone()], vec![mixed])
        };
        scan(&[&v[1]], &[&v[0]], ScanOptions::default(), step).unwrap().1
    })
    .unwrap();
    both_ways(&graph);
}
