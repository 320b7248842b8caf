//! Tests the contents of plans: merged axes, shared and unused memory, values that are stored or recomputed.

use crate::device::PROFILE;
use gradus_compile::{BufferLocation, Claim, Operation, Plan, Profile, Step, compile};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::Scalar;
use gradus_ir::ops::call::Call;
use gradus_ir::ops::movement::Broadcast;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::switch::Switch;
use gradus_ir::size::MAX_BYTES;
use gradus_ir::{Aval, DType, Graph, Kind, Literal};
use std::sync::Arc;

/// Returns the graph over `f32` inputs of these shapes.
fn graph(shapes: &[&[usize]], build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = shapes.iter().map(|s| b.input("x", Aval::new(DType::F32, *s))).collect();
    b.finish(&build(&b, &ins)).unwrap()
}

fn planned(shapes: &[&[usize]], build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>) -> Plan {
    compile(&graph(shapes, build), &PROFILE).unwrap()
}

/// Returns the number of times that a plan's own loop nests apply a function.
fn count(plan: &Plan, function: &str) -> usize {
    let nests = plan.steps.iter().filter_map(|s| match s {
        Step::Kernel(k) => Some(k),
        Step::Contract(c) => c.finish.as_ref(),
        _ => None,
    });
    let is = |op: &Operation| matches!(op, Operation::Scalar(Scalar::Pointwise(p)) if p.name == function);
    nests.flat_map(|k| &k.body).filter(|inst| is(&inst.op)).count()
}

#[test]
fn rows_of_several_axes_are_one_axis_of_a_product() {
    let plan = planned(&[&[2, 3, 8], &[8, 4]], |_, x| vec![x[0].dot(x[1], "abk", "kj", "abj")]);
    let [Step::Contract(c)] = &plan.steps[..] else { panic!("{plan}") };
    assert_eq!((c.batch.len(), c.m.0, c.n.0, c.k.0), (0, 6, 4, 8), "{plan}");
    // Reordered rows do not have a common stride.
    let plan = planned(&[&[2, 3, 8], &[8, 4]], |_, x| vec![x[0].dot(x[1], "abk", "kj", "baj")]);
    let [Step::Contract(c)] = &plan.steps[..] else { panic!("{plan}") };
    assert_eq!(c.products() * c.m.0 * c.n.0, 24, "{plan}");
    assert_eq!(c.batch.len(), 1, "{plan}");
}

/// Returns a plan of `n` sorts in sequence. Sorts are not fused, and their results cannot overwrite their operands.
fn sorts(n: usize) -> Plan {
    planned(&[&[32]], |b, x| {
        let mut sorted = x[0];
        for k in 0..n {
            sorted = b.apply(Sort::all(0, k % 2 == 0), &[sorted])[0];
        }
        vec![sorted]
    })
}

#[test]
fn temporaries_that_are_never_needed_together_share_memory() {
    let plan = sorts(6);
    // Each sort writes values and indices. At any time at most two buffers of values and one of indices are in use.
    let most = |dtype: DType| {
        let of = plan
            .buffers
            .iter()
            .filter(|b| matches!(b.location, BufferLocation::Arena(_)) && b.dtype == dtype);
        of.count()
    };
    assert!(most(DType::F32) == 5 && most(DType::I64) == 6, "{plan}");
    assert_eq!(plan.arena, 2 * 32 * 4 + 32 * 8, "{plan}");
}

#[test]
fn lives_go_from_the_first_to_the_last_use() {
    let plan = sorts(3);
    let mut found = plan.lives();
    found.sort_unstable();
    let mut expected = Vec::new();
    for (b, buffer) in plan.buffers.iter().enumerate() {
        let BufferLocation::Arena(at) = buffer.location else { continue };
        let first = plan.steps.iter().position(|s| s.writes().contains(&b)).expect("a writer");
        let last = plan.steps.iter().rposition(|s| s.reads().contains(&b)).unwrap_or(first);
        expected.push((b, at, first, last));
    }
    assert_eq!(found, expected);
    // The next sort reads the values of the first two. No step reads the indices.
    let spans: Vec<(usize, usize)> = found.iter().map(|l| (l.2, l.3)).collect();
    for span in [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)] {
        assert_eq!(spans.iter().filter(|s| **s == span).count(), 1, "{spans:?}");
    }
}

#[test]
fn pieces_that_leave_their_buffer_are_refused() {
    let plan = planned(&[&[8]], |_, x| vec![x[0].slice_axis(0, 1, 8).pad(vec![0], vec![1], vec![0])]);
    plan.verify().unwrap();
    let moved = |by: i64| {
        let mut plan = plan.clone();
        let Step::Kernel(k) = &mut plan.steps[0] else { panic!("a loop nest") };
        let pieces = k.body.iter_mut().find_map(|inst| match &mut inst.op {
            Operation::Pieces(pieces) => Some(pieces),
            _ => None,
        });
        pieces.expect("pieces")[0].access.layout.offset += by;
        plan.verify()
    };
    moved(-1).unwrap();
    for by in [1, -2] {
        let why = moved(by).expect_err("outside of its buffer").to_string();
        assert!(why.contains("b0: f32[8] is accessed as f32 at"), "{why}");
    }
}

#[test]
fn values_of_shared_operands_are_computed_once() {
    let plan = planned(&[&[16], &[16], &[5, 16]], |b, x| {
        let r = Builder::new();
        let ins: Vec<Var<'_>> = (0..3).map(|_| r.input("x", Aval::new(DType::F32, [16]))).collect();
        let total = (ins[1] * ins[0].exp()).sum(&[0]).spread(&[0], &ins[1].shape());
        let body = Arc::new(r.finish(&[(total + ins[2]).tanh()]).unwrap());
        let scan = Scan { body, shared: 1, carries: 1, length: 5, reverse: false };
        b.apply(scan, &[x[0], x[1], x[2]])
    });
    let inner = plan.steps.iter().find_map(|s| match s {
        Step::Scan { control, .. } => Some(&control.plans[0]),
        _ => None,
    });
    let inner = inner.expect("a loop");
    assert_eq!((count(&plan, "exp"), count(inner, "exp"), count(inner, "tanh")), (1, 0, 1), "{plan}");
}

#[test]
fn constants_are_scalars_only_if_all_elements_are_equal() {
    let with = |data: Vec<f64>| {
        planned(&[&[4]], |b, x| {
            vec![x[0] + b.constant(Literal::floats(DType::F32, [4], data.clone()).unwrap())]
        })
    };
    let buffers = |plan: &Plan| -> Vec<usize> {
        plan.buffers
            .iter()
            .filter(|b| matches!(b.location, BufferLocation::Constant(_)))
            .map(|b| b.numel)
            .collect()
    };
    assert_eq!(buffers(&with(vec![2.0; 4])), [0usize; 0]);
    assert_eq!(buffers(&with(vec![2.0, 3.0, 4.0, 5.0])), [4]);
}

#[test]
fn the_largest_value_is_allowed_and_no_larger_one() {
    let of = |elements: usize| {
        let graph = graph(&[&[1]], |b, x| {
            vec![b.apply1(Broadcast { shape: [elements].into() }, &[x[0]]).exp().sum(&[0])]
        });
        compile(&graph, &PROFILE).map(|_| ())
    };
    of(MAX_BYTES / 4).unwrap();
    let error = of(MAX_BYTES / 4 + 1).expect_err("too large");
    assert!(matches!(error.kind(), Kind::Memory { bytes } if *bytes == MAX_BYTES + 4), "{error}");
}

#[test]
fn cheap_values_are_computed_again_and_expensive_ones_are_stored() {
    // Sums values along columns, then reads the summed values again in another loop nest.
    let stored = |cheap: bool| {
        let plan = planned(&[&[4096, 8]], |_, x| {
            let value = if cheap { x[0] * 2.0 + 1.0 } else { x[0].tanh().exp().sin().tanh().exp().sin() };
            let sums = value.sum(&[0]).spread(&[0], &value.shape());
            vec![value * sums]
        });
        let large =
            |b: &&gradus_compile::Buffer| matches!(b.location, BufferLocation::Arena(_)) && b.numel >= 4096;
        plan.buffers.iter().filter(large).count()
    };
    assert_eq!((stored(true), stored(false)), (0, 1));
}

/// Returns the rows of a value weighted by the scores of these rows, for each part of a batch.
fn attended<'g>(h: Var<'g>) -> Var<'g> {
    let scores = h.dot(h, "bid", "bjd", "bij").exp();
    let shares = scores / scores.sum(&[2]).spread(&[2], &scores.shape());
    shares.dot(h, "bij", "bjd", "bid")
}

#[test]
fn slices_begin_with_the_loop_nest_that_their_products_read() {
    let plan = planned(&[&[16, 64, 32]], |_, x| vec![attended(x[0].tanh())]);
    let [Step::Slices { control, extents, .. }] = &plan.steps[..] else { panic!("{plan}") };
    assert_eq!(extents, &[16], "{plan}");
    let body = &control.plans[0];
    assert!(matches!(body.steps[0], Step::Kernel(_)) && count(body, "tanh") == 1, "{plan}");
}

#[test]
fn small_slices_take_several_products_each() {
    let plan = planned(&[&[256, 16, 4]], |_, x| vec![attended(x[0])]);
    let [Step::Slices { control, extents, .. }] = &plan.steps[..] else { panic!("{plan}") };
    let each = control.plans[0].steps.iter().find_map(|s| match s {
        Step::Contract(c) => Some(c.products()),
        _ => None,
    });
    let slices: usize = extents.iter().product();
    assert!(slices < 256 && each == Some(256 / slices), "{plan}");
}

#[test]
fn first_and_last_steps_that_share_no_values_are_not_sliced() {
    let shapes: [&[usize]; 2] = [&[16, 64, 32]; 2];
    let plan = planned(&shapes, |_, x| vec![attended(x[0]), x[1].tanh()]);
    assert!(matches!(plan.steps[..], [Step::Slices { .. }, Step::Kernel(_)]), "{plan}");
    let plan = planned(&shapes, |_, x| vec![attended(x[0]), x[1].dot(x[1], "bid", "bjd", "bij")]);
    let sliced = |s: &Step| matches!(s, Step::Slices { control, .. } if control.plans[0].outputs.len() == 1);
    let apart = |s: &Step| matches!(s, Step::Contract(c) if c.products() == 16);
    assert!(plan.steps.len() == 2 && plan.steps.iter().any(sliced) && plan.steps.iter().any(apart), "{plan}");
}

#[test]
fn equal_indices_are_one_instruction_and_different_ones_are_not() {
    let indices = |second: usize| {
        let plan = planned(&[&[4, 5]], |b, x| {
            let index = |axis| b.iota(DType::F32, [4, 5], axis);
            vec![x[0] * index(0) + index(second)]
        });
        let [Step::Kernel(k)] = &plan.steps[..] else { panic!("{plan}") };
        k.body.iter().filter(|i| matches!(i.op, Operation::Index(_))).count()
    };
    assert_eq!((indices(0), indices(1)), (1, 2));
}

#[test]
fn a_device_runs_the_regions_that_it_claims_by_name() {
    const fn claim(name: &'static str) -> Claim {
        Claim { name, fits: |_, _, _| true, overwrites: None, can_fail: false }
    }
    let profile = Profile { claims: const { &[claim("first"), claim("second")] }, ..PROFILE };
    let body = Arc::new(graph(&[&[8]], |_, x| vec![x[0].exp()]));
    let region = |name: &str| Call::new(name, vec![], body.clone());
    let graph = graph(&[&[8]], |b, x| {
        let other = b.apply1(region("other"), x);
        vec![b.apply1(region("second"), &[other])]
    });
    let plan = compile(&graph, &profile).unwrap();
    let routines = plan.steps.iter().filter_map(|s| match s {
        Step::Routine(r) => Some(match &r.op {
            gradus_ir::Op::Call(call) => call.name.to_string(),
            op => op.name().to_string(),
        }),
        _ => None,
    });
    assert_eq!(routines.collect::<Vec<String>>(), ["second"], "{plan}");
    assert_eq!(count(&plan, "exp"), 1, "{plan}"); // the other region is its body
}

/// Inputs and outputs have memory of their own, so each takes one of the buffers that a kernel may bind.
#[test]
fn kernels_bind_no_more_large_buffers_than_a_device_allows() {
    let mut profile = PROFILE;
    (profile.fuse.buffers, profile.fuse.large) = (3, 0);
    let graph = graph(&[&[32]], |_, x| {
        let values = std::iter::successors(Some(x[0]), |y| Some(y.sin()));
        values.skip(1).take(6).collect()
    });
    let plan = compile(&graph, &profile).unwrap();
    let written: Vec<usize> = plan.steps.iter().map(|s| s.writes().len()).collect();
    assert_eq!(written, [2, 3, 1], "{plan}");
}

/// Sorts count as no operations, so the bytes decide.
#[test]
fn the_work_of_a_switch_is_that_of_its_largest_branch() {
    let work = |sorts: [usize; 2]| {
        let branch = |count: usize| {
            let sorted = graph(&[&[64]], |b, x| {
                vec![(0..count).fold(x[0], |x, _| b.apply(Sort::all(0, false), &[x])[0])]
            });
            Arc::new(sorted)
        };
        let branches = || sorts.map(branch).to_vec();
        planned(&[&[], &[64]], |b, x| b.apply(Switch { branches: branches() }, &[x[0].to(DType::I32), x[1]]))
            .work()
    };
    assert_eq!(work([1, 3]), work([3, 1]));
    assert!(work([1, 3]).bytes > work([1, 1]).bytes);
}
