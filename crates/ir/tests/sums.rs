//! Tests gradients of values that all iterations of a loop share: correct values, and sums of products after the
//! loop.

use gradus_ir::graph::Var;
use gradus_ir::ops::call::Call;
use gradus_ir::ops::scan::Scan;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, Builder, DType, Graph, Literal, reference};
use std::sync::Arc;

const STEPS: usize = 5;

type Step = for<'g> fn(&[Var<'g>]) -> [Var<'g>; 2];

fn aval(shape: &[usize]) -> Aval {
    Aval::new(DType::F64, shape)
}

/// Shapes of the shared operands: weights and bias. The carry and the slice of the input are `[2, 8]`.
const SHARED: [&[usize]; 2] = [&[8, 6], &[6]];

/// Returns the scan of a body from (weights, bias, carry, input) to (carry, output). If `unrolled` is true,
/// writes the iterations one after the other instead.
fn program(step: Step, reverse: bool, unrolled: bool) -> Graph {
    let b = Builder::new();
    let shared: Vec<Var<'_>> = SHARED.iter().map(|s| b.input("w", aval(s))).collect();
    let (h, xs) = (b.input("h", aval(&[2, 8])), b.input("xs", aval(&[STEPS, 2, 8])));
    if !unrolled {
        let r = Builder::new();
        let ins: Vec<Var<'_>> =
            [SHARED[0], SHARED[1], &[2, 8], &[2, 8]].iter().map(|s| r.input("x", aval(s))).collect();
        let body = Arc::new(r.finish(&step(&ins)).unwrap());
        let scan = Scan { body, shared: 2, carries: 1, length: STEPS, reverse };
        return b.finish(&b.apply(scan, &[shared[0], shared[1], h, xs])).unwrap();
    }
    let (mut h, mut ys) = (h, vec![h; STEPS]);
    for k in 0..STEPS {
        let i = if reverse { STEPS - 1 - k } else { k };
        let x = xs.slice_axis(0, i, i + 1).reshape([2, 8]);
        let [next, y] = step(&[shared[0], shared[1], h, x]);
        (h, ys[i]) = (next, y.reshape([1, 2, 8]));
    }
    let ys = b.apply1(gradus_ir::ops::movement::Concat { axis: 0 }, &ys);
    b.finish(&[h, ys]).unwrap()
}

fn values(graph: &Graph) -> Vec<Literal> {
    let mut at = 0.3f64;
    let mut next = || {
        at = (at * 997.0 + 0.377).fract();
        at * 2.0 - 1.0
    };
    let one = |a: Aval| {
        let data = (0..a.shape.numel()).map(|_| next()).collect();
        Literal::floats(a.dtype, a.shape, data)
    };
    graph.input_avals().into_iter().map(one).collect::<Result<Vec<_>, _>>().unwrap()
}

/// Returns the number of products inside of loops, and outside.
fn products(graph: &Graph) -> (usize, usize) {
    let own = |g: &Graph| g.nodes().iter().filter(|n| n.op.name() == "dot").count();
    let attrs = graph.nodes().iter().flat_map(|n| n.op.def().attrs());
    let inner = attrs.flat_map(|(_, a)| a.graphs().into_iter().map(|g| own(g)).collect::<Vec<_>>());
    (inner.sum(), own(graph))
}

/// Compares the gradients with those of the unrolled graph. Returns the products of the gradient graph.
fn checked(step: Step, reverse: bool) -> (usize, usize) {
    let [scanned, unrolled] = [false, true].map(|u| vjp(&program(step, reverse, u), &[0, 1, 2, 3]).unwrap());
    let at = values(&scanned);
    let [found, right] = [&scanned, &unrolled].map(|g| reference::evaluate(g, &at).unwrap());
    for (f, r) in found.iter().zip(&right) {
        assert!(r.f().iter().any(|x| *x != 0.0));
        for (a, b) in f.f().iter().zip(r.f()) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b} in\n{scanned}");
        }
    }
    products(&scanned)
}

fn spread<'g>(bias: Var<'g>) -> Var<'g> {
    bias.broadcast_to(&[2, 6].as_slice().into())
}

fn plain<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
    let gates = (v[2].dot(v[0], "bi", "ij", "bj") + spread(v[1])).tanh();
    let h = gates.dot(v[0], "bj", "ij", "bi") + v[3];
    [h, h * v[3]]
}

#[test]
fn a_weight_used_twice_gets_two_products_after_the_loop() {
    for reverse in [false, true] {
        // The loop that runs forward again has 2 products. The backward loop has 4: both again for their
        // values, and two for the cotangent of the carry.
        assert_eq!(checked(plain, reverse), (2 + 4, 2));
    }
}

#[test]
fn products_are_found_in_regions_and_through_linear_ops() {
    fn step<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
        let r = Builder::new();
        let ins: Vec<Var<'_>> = [&[2, 8][..], &[8, 6], &[6]].iter().map(|s| r.input("x", aval(s))).collect();
        let turned = ins[1].permute(&[1, 0]) * 0.5;
        let gates = ins[0].dot(turned, "bi", "ji", "bj") + spread(ins[2]);
        let body = Arc::new(r.finish(&[gates]).unwrap());
        let gates = v[0].builder().apply1(Call::new("gates", vec![], body), &[v[2], v[0], v[1]]).tanh();
        let h = gates.dot(v[0], "bj", "ij", "bi").sin() + v[3];
        [h, h * 2.0]
    }
    assert_eq!(checked(step, false).1, 2);
}

#[test]
fn sums_without_products_are_accumulated_in_carries() {
    fn step<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
        let scale = (v[0].sum(&[1]) + v[1].sum(&[0]).broadcast_to(&[8].as_slice().into())).sin();
        let h = (v[2] * scale.reshape([1, 8]).broadcast_to(&[2, 8].as_slice().into())).tanh() + v[3];
        [h, h]
    }
    assert_eq!(checked(step, true), (0, 0));
}

#[test]
fn factors_larger_than_the_values_of_the_loop_are_not_kept() {
    // Both factors are far larger than the carry and the input.
    fn step<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
        let many = v[2].reshape([2, 8, 1]).broadcast_to(&[2, 8, 9].as_slice().into()).sin();
        let made = many.dot(v[0], "bik", "ij", "bjk").tanh();
        let h = made.sum(&[1, 2]).reshape([2, 1]).broadcast_to(&[2, 8].as_slice().into()) + v[3];
        [h, h * v[1].sum(&[0]).broadcast_to(&[2, 8].as_slice().into())]
    }
    assert_eq!(checked(step, false).1, 0);
}

/// Returns the index that an iteration computes from its input: 0 or 7, depending on the sign of the first
/// element.
fn chosen<'g>(x: Var<'g>) -> Var<'g> {
    let one = x.slice_axis(0, 0, 1).slice_axis(1, 0, 1).reshape([1]);
    one.lt(one.full_like(0.0)).to(DType::I64) * 7.0
}

#[test]
fn gradients_of_selected_weights_are_accumulated_in_carries() {
    // The gradient of the weights scatters into a row that differs between iterations. The scatter is linear
    // in the rows but not in the index, so one scatter after the loop cannot replace those of the iterations.
    fn step<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
        let row = v[0].take(chosen(v[3]), 0).broadcast_to(&[2, 6].as_slice().into());
        let gates = (row + spread(v[1])).tanh();
        let h = v[2] * gates.sum(&[1]).reshape([2, 1]).broadcast_to(&[2, 8].as_slice().into()) + v[3];
        [h, h * v[3]]
    }
    let xs = &values(&vjp(&program(step, false, false), &[0]).unwrap())[3];
    let signs: Vec<bool> = (0..STEPS).map(|t| xs.f()[t * 16] < 0.0).collect();
    assert!(signs.contains(&true) && signs.contains(&false), "both rows are chosen: {signs:?}");
    for reverse in [false, true] {
        assert_eq!(checked(step, reverse), (0, 0));
    }
}

#[test]
fn a_factor_shared_by_all_iterations_is_not_stacked() {
    // The weights' gradient is Σ aₜ bᵀ with the bias b: the sum of all aₜ is carried, then multiplied by b once.
    fn step<'g>(v: &[Var<'g>]) -> [Var<'g>; 2] {
        let scale = v[0].dot(v[1], "ij", "j", "i").sin();
        let h = v[2] * scale.reshape([1, 8]).broadcast_to(&[2, 8].as_slice().into()) + v[3];
        [h, h * v[3]]
    }
    assert_eq!(checked(step, false).1, 1);
    let gradient = vjp(&program(step, false, false), &[0, 1, 2, 3]).unwrap();
    let all = gradient.nodes().iter().flat_map(|n| &n.outs);
    let stacks: Vec<&Aval> = all.filter(|a| a.shape[..] == [STEPS, 6]).collect();
    assert!(stacks.is_empty(), "{stacks:?} in\n{gradient}");
}
