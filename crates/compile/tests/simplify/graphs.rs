//! Tests complete graphs: merged, dead and constant values; a mask; running time.

use super::{default, f64s, graph, ops, same_bits};
use gradus_compile::{Options, simplify};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::select::Barrier;
use gradus_ir::{Aval, DType, Graph, transform};
use std::time::Instant;

/// Tests that values that become equal are merged, and that unused values are dropped.
#[test]
fn equal_values_are_merged_and_unused_ones_dropped() {
    let g = graph(&[f64s(&[3])], |x| {
        let dead = x[0].cos().sinh();
        let same = dead * 0.0;
        vec![(x[0] * 1.0).exp() + (x[0] - 0.0).exp(), same.lt(same).select(dead, x[0].tan())]
    });
    let after = default(&g);
    assert_eq!(ops(&after.graph), "exp add tan");
    same_bits(&g, &after.graph);
}

/// The rule for nested concatenations requires that the inner one has no other reader. The first round removes that reader.
#[test]
fn a_rule_applies_after_other_readers_are_removed() {
    let g = graph(&[Aval::new(DType::I64, [3]), Aval::new(DType::I64, [2])], |x| {
        let concat = |a, b| x[0].builder().apply1(Concat { axis: 0 }, &[a, b]);
        let inner = concat(x[0], x[1]);
        vec![concat(inner, x[1]), inner * 0.0]
    });
    let after = default(&g);
    assert_eq!(ops(&after.graph), "concat constant broadcast", "{}", after.graph);
    same_bits(&g, &after.graph);
}

/// Tests that values after a barrier are not merged with values before it, because they are recomputed on purpose.
#[test]
fn barriers_stay() {
    let g = graph(&[f64s(&[3])], |x| {
        let held = x[0].builder().apply1(Barrier {}, &[x[0]]);
        vec![x[0].exp(), (held * 1.0).exp()]
    });
    assert_eq!(ops(&default(&g).graph), "barrier exp exp");
}

fn causal_mask(b: &Builder, n: usize) -> Var<'_> {
    let (row, column) = (b.iota(DType::I64, [n, n], 0), b.iota(DType::I64, [n, n], 1));
    row.ge(column + 0.0)
}

#[test]
fn a_causal_mask_is_a_constant() {
    let g = graph(&[f64s(&[2, 6, 6])], |x| {
        let mask = causal_mask(x[0].builder(), 6).broadcast_to(&x[0].shape());
        vec![mask.select(x[0], x[0].full_like(f64::NEG_INFINITY))]
    });
    let after = default(&g);
    assert_eq!(ops(&after.graph), "constant broadcast constant broadcast select");
    same_bits(&g, &after.graph);
    // A larger mask is not folded to a constant, but stays a comparison of two indices.
    let large = graph(&[f64s(&[2])], |x| vec![x[0], causal_mask(x[0].builder(), 1025)]);
    assert_eq!(ops(&default(&large).graph), "iota iota ge");
}

/// Returns `n` layers of attention over one projection that is split into queries, keys and values.
fn attention_layers(n: usize) -> Graph {
    let (t, d) = (4, 6);
    let mut avals = vec![f64s(&[t, d])];
    (0..n).for_each(|_| avals.extend([f64s(&[3 * d, d]), f64s(&[d, d]), f64s(&[d])]));
    let forward = graph(&avals, |v| {
        let mut x = v[0];
        for w in v[1..].chunks(3) {
            let scale = w[2].reshape([1, d]).broadcast_to(&[t, d].into());
            let norm = (x.square().sum(&[1]) / d as f64 + 1e-5).sqrt();
            let h = x / norm.spread(&[1], &x.shape()) * scale;
            let all = h.dot(w[0].permute(&[1, 0]), "ik", "kj", "ij");
            let [q, k, u] = [0, 1, 2].map(|i| all.slice_axis(1, i * d, (i + 1) * d));
            let scores = q.dot(k.permute(&[1, 0]), "ik", "kj", "ij") / 2.0;
            let scores = causal_mask(x.builder(), t).select(scores, scores.full_like(f64::NEG_INFINITY));
            let weights = scores.exp();
            let weights = weights / weights.sum(&[1]).spread(&[1], &[t, t].into());
            x = x + weights.dot(u, "ik", "kj", "ij").dot(w[1].permute(&[1, 0]), "ik", "kj", "ij");
        }
        vec![x.square().sum(&[0, 1])]
    });
    transform::vjp(&forward, &(0..avals.len()).collect::<Vec<_>>()).unwrap().inlined().unwrap()
}

#[test]
fn the_gradient_of_attention() {
    let g = attention_layers(2);
    let after = default(&g);
    println!("{} nodes before, {} after: {:?}", g.nodes().len(), after.graph.nodes().len(), after.fired);
    same_bits(&g, &after.graph);
    let count = |g: &Graph, name: &str| g.nodes().iter().filter(|n| n.op.name() == name).count();
    // Transposes of weights and keys, also those in their gradients, become labels of products.
    assert_eq!((count(&after.graph, "permute"), count(&after.graph, "iota")), (0, 0));
    // The gradients of queries, keys and values are concatenated.
    assert_eq!((count(&g, "pad"), count(&g, "concat")), (6, 0));
    assert_eq!((count(&after.graph, "pad"), count(&after.graph, "concat")), (0, 2));
    // A second simplification changes nothing.
    let again = default(&after.graph);
    assert_eq!((again.fired.len(), again.rounds), (0, 1));
    assert!(again.graph == after.graph);
}

/// Tests that simplification takes at most a generous time. The README has the time of a release build.
#[test]
fn a_thousand_nodes() {
    let g = attention_layers(20);
    let again = default(&g).graph;
    for (name, g) in [("as derived", &g), ("already simple", &again)] {
        let best = (0..5)
            .map(|_| {
                let start = Instant::now();
                let s = default(g);
                (start.elapsed(), s.rounds)
            })
            .min()
            .unwrap();
        println!("{name}: {} nodes in {:?}, {} rounds", g.nodes().len(), best.0, best.1);
        assert!(best.0.as_micros() < 100 * g.nodes().len() as u128);
    }
}

/// Tests that the rule `order of products` chooses the order with the fewest multiplications.
#[test]
fn chains_of_products() {
    let shapes = [f64s(&[30, 2]), f64s(&[2, 30]), f64s(&[30, 3]), f64s(&[3, 40])];
    let g = graph(&shapes, |x| vec![x[1..].iter().fold(x[0], |a, b| a.dot(*b, "ik", "kj", "ij"))]);
    let after = simplify(&g, &Options { also: vec!["order of products"] }).unwrap();
    let (old, new) = (g.stats().flops, after.graph.stats().flops);
    println!("{old} then {new}: {:?}", after.fired);
    assert!(new * 2 < old, "{old} then {new}");
}
