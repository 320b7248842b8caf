//! Tests what a scan computes per element of a batch: only values that depend on the batch get the batch axis.

use gradus_ir::graph::Var;
use gradus_ir::ops::scan::Scan;
use gradus_ir::transform::vmap;
use gradus_ir::{Aval, Builder, DType, Graph, Literal, reference};
use std::sync::Arc;

const BATCH: usize = 4;

fn aval(shape: &[usize]) -> Aval {
    Aval::new(DType::F64, shape)
}

/// Returns a scan over 5 inputs `[3]` with a shared weight `[2, 3]` and a carry `[2]`.
fn scan() -> Graph {
    let r = Builder::new();
    let ins: Vec<Var<'_>> = [&[2, 3][..], &[2], &[3]].iter().map(|s| r.input("x", aval(s))).collect();
    let h = (ins[0].dot(ins[2], "ij", "j", "i") + ins[1]).tanh();
    let body = Arc::new(r.finish(&[h, h * 2.0]).unwrap());
    let b = Builder::new();
    let ins: Vec<Var<'_>> = [&[2, 3][..], &[2], &[5, 3]].iter().map(|s| b.input("x", aval(s))).collect();
    b.finish(&b.apply(Scan { body, shared: 1, carries: 1, length: 5, reverse: false }, &ins)).unwrap()
}

/// Returns the shapes of the operands of the only scan of a graph.
fn operands(graph: &Graph) -> Vec<Vec<usize>> {
    let mut scans = graph.nodes().iter().filter(|n| n.op.name() == "scan");
    let (scan, other) = (scans.next().expect("a scan"), scans.next());
    assert!(other.is_none(), "{graph}");
    scan.ins.iter().map(|id| graph.aval(*id).shape.to_vec()).collect()
}

fn wave(shape: &[usize], phase: f64) -> Literal {
    let numel: usize = shape.iter().product();
    Literal::floats(DType::F64, shape, (0..numel).map(|i| (i as f64 * 1.7 + phase).sin()).collect()).unwrap()
}

#[test]
fn only_operands_that_depend_on_the_batch_and_carries_get_its_axis() {
    let graph = scan();
    let shapes = |axes: [Option<usize>; 3]| operands(&vmap(&graph, &axes, BATCH).unwrap());
    assert_eq!(shapes([None, Some(0), None]), [vec![2, 3], vec![BATCH, 2], vec![5, 3]]);
    assert_eq!(shapes([None, None, Some(0)]), [vec![2, 3], vec![BATCH, 2], vec![5, BATCH, 3]]);
    assert_eq!(shapes([Some(0), None, None]), [vec![BATCH, 2, 3], vec![BATCH, 2], vec![5, 3]]);
}

#[test]
fn a_batched_scan_equals_a_scan_of_each_element() {
    let graph = scan();
    let batched = vmap(&graph, &[None, None, Some(0)], BATCH).unwrap();
    let (w, h, xs) = (wave(&[2, 3], 0.0), wave(&[2], 0.4), wave(&[BATCH, 5, 3], 0.9));
    let found = reference::evaluate(&batched, &[w.clone(), h.clone(), xs.clone()]).unwrap();
    for k in 0..BATCH {
        let own = Literal::floats(DType::F64, [5, 3], xs.f()[k * 15..(k + 1) * 15].to_vec()).unwrap();
        let expected = reference::evaluate(&graph, &[w.clone(), h.clone(), own]).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            let n = expected.f().len();
            assert_eq!(&found.f()[k * n..(k + 1) * n], expected.f());
        }
    }
}
