//! Compares loops that run as one program, have hoisted work or are merged with the reference. The bits must be equal for any
//! number of threads, with and without generated code.

use crate::checked::checked;
use gradus_compile::{Plan, Step};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::scan::Scan;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, DType, Graph};
use std::sync::Arc;

/// Makes a scan over (shared, carries, slices) of these shapes, from a step function.
struct Loop<'a> {
    dtype: DType,
    shared: &'a [&'a [usize]],
    carries: &'a [&'a [usize]],
    slices: &'a [&'a [usize]],
    length: usize,
    reverse: bool,
}

impl Loop<'_> {
    fn graph(&self, step: impl for<'r> Fn(&[Var<'r>]) -> Vec<Var<'r>>) -> Graph {
        let r = Builder::new();
        let of = |s: &&[usize]| Aval::new(self.dtype, *s);
        let takes: Vec<Aval> = [self.shared, self.carries, self.slices].concat().iter().map(of).collect();
        let ins: Vec<Var<'_>> = takes.iter().map(|a| r.input("x", a.clone())).collect();
        let body = Arc::new(r.finish(&step(&ins)).unwrap());
        let (shared, carries) = (self.shared.len(), self.carries.len());
        let b = Builder::new();
        let stack = |a: &Aval| a.with_shape([&[self.length], &a.shape[..]].concat());
        let outer =
            takes.iter().enumerate().map(|(i, a)| if i < shared + carries { a.clone() } else { stack(a) });
        let ins: Vec<Var<'_>> = outer.map(|a| b.input("x", a)).collect();
        let scan = Scan { body, shared, carries, length: self.length, reverse: self.reverse };
        b.finish(&b.apply(scan, &ins)).unwrap()
    }
}

fn scans(plan: &Plan) -> Vec<&Step> {
    plan.steps.iter().filter(|s| matches!(s, Step::Scan { .. })).collect()
}

/// Returns the numbers of kernels and products of a loop's step.
fn steps_of(step: &Step) -> (usize, usize) {
    let Step::Scan { control, .. } = step else { return (0, 0) };
    let count = |f: fn(&Step) -> bool| control.plans[0].steps.iter().filter(|s| f(s)).count();
    (count(|s| matches!(s, Step::Kernel(_))), count(|s| matches!(s, Step::Contract(_))))
}

#[test]
fn elementwise_steps_of_any_shape() {
    for dtype in [DType::F32, DType::F64] {
        for reverse in [false, true] {
            for (shape, length) in
                [(vec![], 50), (vec![3], 7), (vec![5, 130], 4), (vec![2, 2500], 3), (vec![40], 1)]
            {
                let s = &shape[..];
                let own = Loop { dtype, shared: &[s], carries: &[s, s], slices: &[s], length, reverse };
                // The body exchanges the carries. One output is the previous carry, another depends on all carries.
                let graph = own.graph(|v| {
                    let (w, a, b, x) = (v[0], v[1], v[2], v[3]);
                    vec![b, (a * w + x).tanh(), a, b * x - w]
                });
                let plan = checked(&graph, 1e-5);
                let small = shape.iter().product::<usize>() <= 1024;
                assert!(!small || steps_of(scans(&plan)[0]) == (1, 0), "{plan}");
                let graph = own.graph(|v| vec![v[1].sin() + v[3], v[2] * v[0] + v[1].cos(), v[1]]);
                checked(&graph, 1e-5);
            }
        }
    }
}

#[test]
fn a_carry_read_at_another_index_than_it_is_written() {
    let own = Loop {
        dtype: DType::F32,
        shared: &[],
        carries: &[&[6, 6]],
        slices: &[&[6]],
        length: 9,
        reverse: false,
    };
    let graph = own.graph(|v| {
        let turned = v[0].permute(&[1, 0]) * 0.5;
        let spread = v[1].reshape([6, 1]).broadcast_to(&[6, 6].as_slice().into());
        vec![turned + spread, v[0].sum(&[0])]
    });
    checked(&graph, 1e-5);
}

fn recurrence(reverse: bool) -> Graph {
    let shared: [&[usize]; 2] = [&[24, 16], &[16]];
    let own = Loop {
        dtype: DType::F32,
        shared: &shared,
        carries: &[&[6, 24]],
        slices: &[&[6, 24]],
        length: 11,
        reverse,
    };
    own.graph(|v| {
        let bias = (v[1] * 2.0).broadcast_to(&[6, 16].as_slice().into());
        let gates = (v[2].dot(v[0], "bi", "ij", "bj") + bias).tanh();
        let h = gates.dot(v[0], "bj", "ij", "bi") + v[3];
        vec![h, h * v[3]]
    })
}

#[test]
fn values_without_carries_are_computed_before_the_loop() {
    for reverse in [false, true] {
        let forward = recurrence(reverse);
        let plan = checked(&forward, 1e-5);
        assert_eq!(scans(&plan).len(), 1);
        // Doubling the bias is hoisted, and the weights of the second product are transposed before the loop.
        assert_eq!(plan.steps.len(), 3, "{plan}");
        let pull = vjp(&forward, &[0, 1, 2, 3]).unwrap();
        let plan = checked(&pull, 1e-4);
        let loops = scans(&plan);
        assert_eq!(loops.len(), 2);
        // In the backward pass, an iteration has the two products that depend on the carry. The other products are
        // computed outside of the loop, or kept by the forward pass.
        assert_eq!((steps_of(loops[0]).1, steps_of(loops[1]).1), (2, 2), "{plan}");
        assert_eq!(plan.steps.iter().filter(|s| matches!(s, Step::Contract(_))).count(), 3, "{plan}");
    }
}

#[test]
fn a_loop_and_the_same_loop_with_stacked_carries_are_merged() {
    let forward = recurrence(false);
    let b = Builder::new();
    let ins: Vec<Var<'_>> = forward.input_avals().into_iter().map(|a| b.input("x", a)).collect();
    let cts: Vec<Var<'_>> = forward.output_avals().into_iter().map(|a| b.input("g", a)).collect();
    let pull = vjp(&forward, &[0, 1, 2, 3]).unwrap();
    let outs = [b.inline(&forward, &ins), b.inline(&pull, &[&ins[..], &cts].concat())].concat();
    let both = b.finish(&outs).unwrap();
    let plan = checked(&both, 1e-4);
    assert_eq!(scans(&plan).len(), 2, "{plan}");
}

#[test]
fn functions_of_small_inputs_are_computed_before_the_loop() {
    let own =
        Loop { dtype: DType::F32, shared: &[], carries: &[&[]], slices: &[&[]], length: 300, reverse: true };
    let graph = own.graph(|v| vec![v[0] * v[1].cos()]);
    let plan = checked(&graph, 1e-5);
    assert_eq!(plan.steps.len(), 2, "{plan}");
    assert!(!scans(&plan)[0].to_string().contains("cos"), "{plan}");
}
