//! Tests the cost of derivatives: arithmetic relative to the forward pass, no duplicate nodes, no unused
//! nodes.

#[path = "../bench/benches/stages/gpt.rs"]
mod gpt;

use crate::common::{f64s, noise};
use gpt::Gpt;
use gradus::func::{conv2d, linear};
use gradus::ir::graph::{Id, Stats};
use gradus::ir::{Op, reference, transform};
use gradus::{
    AttentionOptions, CrossEntropyOptions, DType, Graph, Literal, ScanOptions, Tensor, cond, cross_entropy,
    scaled_dot_product_attention, scan, trace, while_loop,
};
use std::collections::HashSet;

/// Checks that no node is a duplicate or unused, in the graph and in nested graphs.
#[track_caller]
#[allow(clippy::mutable_key_type)] // A graph's lazy hash does not change equality.
fn lean(graph: &Graph) {
    let mut seen: HashSet<(&Op, &[Id])> = HashSet::new();
    let mut used: HashSet<u32> = graph.outputs().iter().map(|id| id.node).collect();
    used.extend(graph.nodes().iter().flat_map(|n| &n.ins).map(|id| id.node));
    for (i, node) in graph.nodes().iter().enumerate() {
        assert!(seen.insert((&node.op, &node.ins)), "node {i} ({}) twice", node.op.name());
        let input = matches!(node.op, Op::Input(_));
        assert!(input || used.contains(&(i as u32)), "node {i} ({}) is used by nothing", node.op.name());
        node.op.def().attrs().iter().flat_map(|(_, a)| a.graphs()).for_each(|g| lean(g));
    }
}

/// Checks that the gradient of a loss costs at most `limit` forward passes, and gives the same values with
/// its regions inlined.
#[track_caller]
fn affordable(ins: &[&Tensor], wrt: &[usize], limit: f64, f: impl Fn(&[Tensor]) -> Tensor) {
    let forward = trace(ins, f).unwrap();
    let gradient = transform::vjp(&forward, wrt).unwrap();
    let (flat, flat_gradient) = (forward.inlined().unwrap(), gradient.inlined().unwrap());
    assert_eq!(crate::common::count(&flat_gradient, "call"), 0);
    for graph in [&forward, &gradient, &flat, &flat_gradient] {
        graph.verify().unwrap();
        lean(graph);
    }
    let one = Literal::scalar(DType::F64, 1.0);
    let point: Vec<Literal> = ins.iter().map(|t| t.to_literal().unwrap()).chain([one]).collect();
    let [right, found] = [&gradient, &flat_gradient].map(|g| reference::evaluate(g, &point).unwrap());
    for (a, b) in found.iter().zip(&right) {
        crate::common::close(a.f(), b.f());
    }
    let ratio = flat_gradient.stats().flops as f64 / flat.stats().flops as f64;
    assert!(ratio <= limit, "the gradient costs {ratio:.2} times the forward pass");
}

#[test]
fn counts_of_single_ops() {
    let stats = |ins: &[&Tensor], f: &dyn Fn(&[Tensor]) -> Tensor| {
        trace(ins, |x| f(x)).unwrap().inlined().unwrap().stats()
    };
    let (a, b) = (Tensor::zeros([3, 4]), Tensor::zeros([4, 5]));
    // Two inputs and a product.
    let product = stats(&[&a, &b], &|x| x[0].dot_labels(&x[1], "ij", "jk", "ik"));
    assert_eq!(product, Stats { nodes: 3, flops: 2 * 3 * 4 * 5, bytes: 4 * (12 + 20 + 15) });
    // Batch labels count once.
    let batch = stats(&[&a, &a], &|x| x[0].dot_labels(&x[1], "bi", "bi", "b"));
    assert_eq!(batch.flops, 2 * 3 * 4);
    assert_eq!(stats(&[&a], &|x| x[0].exp()), Stats { nodes: 2, flops: 12, bytes: 96 });
    assert_eq!(stats(&[&a], &|x| x[0].sum(0)), Stats { nodes: 2, flops: 12, bytes: 4 * (12 + 4) });
    assert_eq!(stats(&[&a], &|x| x[0].cumsum(1)).flops, 12);
    assert_eq!(stats(&[&a], &|x| x[0].t()).flops, 0);
    // [2, 3, 8, 8] with 4 windows of [3, 3, 3]: results [2, 4, 6, 6].
    let image = stats(&[&Tensor::zeros([2, 3, 8, 8]), &Tensor::zeros([4, 3, 3, 3])], &|x| {
        conv2d(&x[0], &x[1], None, &Default::default())
    });
    assert_eq!(image.flops, 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3));
}

#[test]
fn counts_of_loops_and_choices() {
    let x = Tensor::zeros([10]);
    let flops = |f: &dyn Fn(&Tensor) -> Tensor| trace(&[&x], |x| f(&x[0])).unwrap().stats();
    let how = ScanOptions { length: Some(7), ..ScanOptions::default() };
    let looped =
        flops(&|x| scan(&[x], &[], how, |c, _| (vec![c[0].exp().sin()], vec![])).unwrap().0.remove(0));
    // Two nodes outside: the input and the scan. Three inside: input, exp, sin.
    assert_eq!((looped.nodes, looped.flops, looped.bytes), (5, 7 * 20, 7 * 2 * 80));
    let chosen =
        flops(&|x| cond(&x.at(0).gt(0.0), &[x], |x| x[0].exp(), |x| x[0].sin().cos()).unwrap().remove(0));
    assert_eq!(chosen.flops, 1 + 20, "one comparison and the more expensive branch");
    let bounded = |bound| {
        flops(&move |x| while_loop(&[x], bound, |c| c[0].at(0).gt(0.0), |c| c[0].sin()).unwrap().remove(0))
    };
    assert_eq!((bounded(None).flops, bounded(Some(6)).flops), (11, 66));
}

#[test]
fn an_mlp() {
    let ins = [
        noise(&[16, 12], 1),
        noise(&[24, 12], 2),
        noise(&[24], 3),
        noise(&[24, 24], 4),
        noise(&[24], 5),
        noise(&[10, 24], 6),
        noise(&[10], 7),
    ];
    let classes = Tensor::from_slice(&(0..16).map(|i| i * 7 % 10).collect::<Vec<i64>>(), [16]);
    let loss = |v: &[Tensor]| {
        let h = linear(&v[0], &v[1], Some(&v[2])).gelu();
        let h = linear(&h, &v[3], Some(&v[4])).tanh();
        cross_entropy(&linear(&h, &v[5], Some(&v[6])), &classes, &CrossEntropyOptions::default())
    };
    let ins: Vec<&Tensor> = ins.iter().collect();
    // With the gradient of the data, which costs another product in the first layer, and without it.
    affordable(&ins, &[0, 1, 2, 3, 4, 5, 6], 4.0, loss);
    affordable(&ins, &[1, 2, 3, 4, 5, 6], 4.0, loss);
}

const WIDTH: usize = 16;

/// Pre-norm attention and MLP, from weights of one layer.
fn layer(x: &Tensor, w: &[Tensor]) -> Tensor {
    let (heads, n) = (2, x.dim(-2));
    let split = |t: &Tensor| t.reshape([n, heads, WIDTH / heads]).transpose(0, 1);
    let h = x.layer_norm([WIDTH], Some(&w[0]), Some(&w[1]), 1e-5);
    let [q, k, v] = [2, 3, 4].map(|i| split(&linear(&h, &w[i], None)));
    let how = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let a = scaled_dot_product_attention(&q.rope(1e4, 0), &k.rope(1e4, 0), &v, &how);
    let x = x + linear(&a.transpose(0, 1).reshape([n, WIDTH]), &w[5], None);
    let h = x.layer_norm([WIDTH], Some(&w[6]), Some(&w[7]), 1e-5);
    &x + linear(&linear(&h, &w[8], None).gelu(), &w[9], None)
}

fn layer_weights(seed: u64) -> Vec<Tensor> {
    let shapes: [&[usize]; 10] = [
        &[WIDTH],
        &[WIDTH],
        &[WIDTH, WIDTH],
        &[WIDTH, WIDTH],
        &[WIDTH, WIDTH],
        &[WIDTH, WIDTH],
        &[WIDTH],
        &[WIDTH],
        &[4 * WIDTH, WIDTH],
        &[WIDTH, 4 * WIDTH],
    ];
    shapes.iter().enumerate().map(|(i, s)| noise(s, seed + i as u64) * 0.5).collect()
}

#[test]
fn a_transformer_of_two_layers() {
    let ins: Vec<Tensor> =
        [noise(&[8, WIDTH], 1)].into_iter().chain(layer_weights(100)).chain(layer_weights(200)).collect();
    let classes = Tensor::from_slice(&(0..8).map(|i| i * 5 % 16).collect::<Vec<i64>>(), [8]);
    let loss = |v: &[Tensor]| {
        let y = layer(&layer(&v[0], &v[1..11]), &v[11..21]);
        cross_entropy(&y, &classes, &CrossEntropyOptions::default())
    };
    let refs: Vec<&Tensor> = ins.iter().collect();
    affordable(&refs, &(0..ins.len()).collect::<Vec<_>>(), 4.0, loss);
    // Gradients of the weights only, as in training.
    affordable(&refs, &(1..ins.len()).collect::<Vec<_>>(), 4.0, loss);
    assert!(f64s(&loss(&ins))[0].is_finite());
}

#[test]
fn a_recurrence_runs_forward_three_times() {
    // The recurrence runs once for its value, once for the carries, and once in the backward loop, which adds
    // two products for each product. So there are 5 products for each product, and pointwise ops.
    let (w, h, xs) = (noise(&[12, 12], 1) * 0.3, noise(&[12], 2), noise(&[20, 12], 3));
    let f = |v: &[Tensor]| {
        let step = |c: &[Tensor], x: &[Tensor]| {
            let h = (v[0].matmul(&c[0]) + &x[0]).tanh();
            (vec![h.clone()], vec![h])
        };
        let (last, ys) = scan(&[&v[1]], &[&v[2]], ScanOptions::default(), step).unwrap();
        last[0].square().sum(()) + ys[0].sum(())
    };
    affordable(&[&w, &h, &xs], &[0, 1, 2], 5.5, f);
}

#[test]
fn the_gradient_of_a_gpt_has_no_duplicate_and_no_unused_nodes() {
    let gpt = Gpt { layers: 12, batch: 4, context: 64, width: 128, heads: 4, vocabulary: 256 };
    let inputs = gpt.inputs();
    let graph = trace(&inputs.iter().collect::<Vec<_>>(), |v| gpt.loss(v)).unwrap();
    for graph in [graph.inlined().unwrap(), graph] {
        let weights: Vec<Id> = graph.inputs()[2..].iter().map(|(_, id)| *id).collect();
        let both =
            transform::grad_with_loss(&graph, graph.outputs()[0], weights, transform::Unreachable::Error)
                .unwrap();
        both.verify().unwrap();
        lean(&both);
        let flat = both.inlined().unwrap();
        lean(&flat);
        // 12 layers of 4 products and 2 of attention, and the head: each is three with its two gradients.
        assert_eq!(crate::common::count(&flat, "dot"), 3 * (12 * 6 + 1));
    }
}

/// Tests the simplified graph, which the compiler gets: it has fewer nodes and the same values.
#[test]
fn the_gradient_of_a_gpt_simplified() {
    let gpt = Gpt { layers: 2, batch: 2, context: 5, width: 8, heads: 2, vocabulary: 7 };
    let inputs = gpt.inputs();
    let graph = trace(&inputs.iter().collect::<Vec<_>>(), |v| gpt.loss(v)).unwrap();
    let weights: Vec<Id> = graph.inputs()[2..].iter().map(|(_, id)| *id).collect();
    let both = transform::grad_with_loss(&graph, graph.outputs()[0], weights, transform::Unreachable::Error);
    let flat = both.unwrap().inlined().unwrap();
    let simple = gradus_compile::simplify(&flat, &gradus_compile::Options::default()).unwrap();
    simple.graph.verify().unwrap();
    lean(&simple.graph);
    println!("{} nodes, then {}: {:?}", flat.nodes().len(), simple.graph.nodes().len(), simple.fired);
    let counts = |name: &str| (crate::common::count(&flat, name), crate::common::count(&simple.graph, name));
    assert!(simple.graph.nodes().len() + 40 < flat.nodes().len());
    // Weights are transposed by labels; the other permutes exchange heads and positions, between reshapes.
    assert_eq!((counts("dot"), counts("permute")), ((39, 39), (12, 4)));
    // Gradients of queries, keys and values are concatenated; the causal mask is a constant.
    assert_eq!((counts("pad"), counts("concat"), counts("iota")), ((6, 0), (0, 2), (3, 0)));
    // Weights vary regularly, so that no softmax is uniform. Inputs that are tokens get valid tokens.
    let value = |(k, aval): (usize, &gradus::ir::Aval)| {
        let n = aval.shape.numel();
        match aval.dtype {
            DType::I64 => {
                Literal::ints(aval.dtype, &aval.shape, (0..n).map(|i| (i * 3 % 7) as i64).collect())
            }
            _ => {
                let wave = |i: usize| (1.7 * i as f64 + k as f64).sin();
                Literal::floats(aval.dtype, &aval.shape, (0..n).map(wave).collect())
            }
        }
        .unwrap()
    };
    let point: Vec<Literal> = flat.input_avals().iter().enumerate().map(value).collect();
    let [right, found] = [&flat, &simple.graph].map(|g| reference::evaluate(g, &point).unwrap());
    for (a, b) in found.iter().zip(&right) {
        assert!(b.f().iter().any(|x| *x != 0.0));
        for (x, y) in a.f().iter().zip(b.f()) {
            assert!((x - y).abs() <= 1e-6 * (1.0 + y.abs()), "{x} and {y}");
        }
    }
}
