//! Compares graphs that are large enough for several tiles, parts of rows, columns and threads with the reference.

use gradus_cpu::{Executable, Pool, evaluate_on};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::{Op, movement, pointwise, reduce, sort};
use gradus_ir::{Aval, DType, Graph, Literal, Shape, reference};

fn numbers(shape: &[usize], seed: usize) -> Literal {
    let n: usize = shape.iter().product();
    let one = |i: usize| {
        let h = (i + 1).wrapping_mul(0x9E37_79B9).wrapping_add(seed * 7919) % 10_007;
        h as f64 / 5_003.0 - 1.0
    };
    Literal::floats(DType::F32, shape, (0..n).map(one).collect()).expect("as many as the shape says")
}

/// Compares runs on 1, 2 and 3 threads with the reference. Temporaries are overwritten before use. Differences may be up
/// to `bound` times the largest value.
fn assert_equals_reference(graph: &Graph, inputs: &[Literal], bound: f64) {
    let expected = reference::evaluate(graph, inputs).expect("the reference");
    let executable = Executable::new(graph).expect("a plan").poisoned();
    let mut first: Option<Vec<Literal>> = None;
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        // Twice, so that the arena is reused.
        for _ in 0..2 {
            let found = evaluate_on(&pool, &executable, graph, inputs).expect("the device");
            for (e, f) in expected.iter().zip(&found) {
                assert_eq!(e.aval(), f.aval());
                let scale = e.f().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                for (i, (a, b)) in e.f().iter().zip(f.f()).enumerate() {
                    let close = (a - b).abs() <= bound * scale || (a.is_nan() && b.is_nan()) || a == b;
                    assert!(close, "element {i}: {a} on the reference, {b} here\n{}", executable.plan());
                }
                assert_eq!(e.i(), f.i());
            }
            assert_eq!(&found, first.get_or_insert(found.clone()), "other bits on {threads} threads");
        }
    }
}

fn build(
    shapes: &[&[usize]],
    f: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>,
) -> (Graph, Vec<Literal>) {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = shapes.iter().map(|s| b.input("x", Aval::new(DType::F32, *s))).collect();
    let outs = f(&b, &ins);
    let inputs = shapes.iter().enumerate().map(|(i, s)| numbers(s, i)).collect();
    (b.finish(&outs).expect("a graph"), inputs)
}

fn broadcast_along<'g>(x: Var<'g>, axis: usize, shape: &Shape) -> Var<'g> {
    x.reshape(shape.with(axis, 1)).broadcast_to(shape)
}

#[test]
fn rows_short_long_and_in_parts() {
    for shape in [[300, 7], [5, 1000], [3, 8192], [2, 20_000], [1, 100_000], [4000, 1], [1, 1]] {
        let (graph, inputs) = build(&[&shape], |b, x| {
            let s = x[0].shape();
            let top = b.apply1(reduce::Max { axes: vec![1] }, &[x[0]]);
            let e = (x[0] - broadcast_along(top, 1, &s)).exp();
            let total = e.sum(&[1]);
            let y = e / broadcast_along(total, 1, &s);
            vec![y, total.log() + top]
        });
        assert_equals_reference(&graph, &inputs, 1e-5);
    }
}

#[test]
fn columns_and_all_axes() {
    for shape in
        [vec![5000, 3], vec![70, 600], vec![256, 1300], vec![16, 128, 40], vec![3, 5, 7, 11], vec![100_000]]
    {
        let (graph, inputs) = build(&[&shape, &shape], |_, x| {
            let y = (x[0] * x[1]).tanh();
            let rank = x[0].shape().rank();
            let mut outs = vec![y, y.sum(&(0..rank).collect::<Vec<_>>())];
            outs.extend((0..rank).map(|a| (y * y).sum(&[a])));
            if rank > 2 {
                outs.push(y.sum(&[0, 1]));
                outs.push(y.sum(&[rank - 1, 0]));
            }
            outs
        });
        assert_equals_reference(&graph, &inputs, 1e-4);
    }
}

#[test]
fn pieces_views_and_copies() {
    let (graph, inputs) = build(&[&[40, 60], &[40, 30], &[60, 40]], |b, x| {
        let both = b.apply1(movement::Concat { axis: 1 }, &[x[0], x[1]]);
        let padded = b.apply1(
            movement::Pad { low: vec![2, -3], high: vec![-1, 5], interior: vec![0, 0] },
            &[both.exp()],
        );
        let turned = x[2].permute(&[1, 0]);
        let flat = (turned + x[0]).reshape([20, 120]).permute(&[1, 0]).reshape([40, 60]);
        let flipped = b.apply1(movement::Flip { axes: vec![0] }, &[flat]);
        vec![padded * padded, flipped - turned, turned, x[0], x[0]]
    });
    assert_equals_reference(&graph, &inputs, 1e-6);
}

/// Tests casts of half of a buffer to elements of twice the width, and of a complete buffer to elements of half the
/// width. Operand and result have the same bytes but other elements, so the result must not overwrite the operand.
#[test]
fn a_cast_of_a_part_does_not_overwrite_the_rest() {
    for n in [3, 50, 5000] {
        let (graph, inputs) = build(&[&[2, n]], |b, x| {
            let sort = |axis: usize, x| b.apply(sort::Sort::all(axis, false), &[x])[0];
            let part = |k: usize, x| {
                b.apply1(movement::Slice { start: vec![k, 0], stop: vec![k + 1, n], step: vec![1, 1] }, &[x])
            };
            let cast = |to: DType, x| b.apply1(pointwise::Cast { to }, &[x]);
            // Sorts, because the ops before and after a sort are not fused.
            let wide = |k: usize| sort(1, cast(DType::F64, part(k, sort(1, x[0] + k as f64))));
            let narrow = sort(1, cast(DType::BF16, sort(1, x[0] * 2.0)));
            vec![wide(0), wide(1), narrow]
        });
        assert_equals_reference(&graph, &inputs, 1e-6);
    }
}

#[test]
fn products_with_fused_kernels() {
    for (m, n, k) in [(1, 1, 1), (5, 7, 3), (64, 512, 96), (130, 70, 33), (300, 10, 20), (17, 1, 9)] {
        let (graph, inputs) = build(&[&[m, k], &[k, n], &[n], &[m, n], &[n, m]], |_, x| {
            let y = x[0].dot(x[1], "ik", "kj", "ij") + x[2].broadcast_to(&[m, n].into());
            let z = y.tanh() * x[3];
            let w = x[4].dot(x[3], "ij", "jk", "ik") - 1.0;
            vec![z + y, w, x[0].dot(z, "ik", "ij", "kj")]
        });
        assert_equals_reference(&graph, &inputs, 1e-5);
    }
}

#[test]
fn contractions_of_every_kind() {
    let shapes: [&[usize]; 3] = [&[3, 4, 5, 6], &[3, 7, 5, 6], &[6, 6, 4]];
    let (graph, inputs) = build(&shapes, |_, x| {
        vec![
            x[0].dot(x[1], "bihd", "bjhd", "bhij"),
            x[0].dot(x[1], "bihd", "bjhd", "ij"),
            x[0].dot(x[1], "bihd", "bjhd", "hbji"),
            x[2].dot(x[0], "dai", "bihd", "bh"),
            x[2].dot(x[2], "abc", "abc", "abc"),
            x[0].dot(x[2], "bihd", "pqr", "b"),
        ]
    });
    assert_equals_reference(&graph, &inputs, 1e-5);
}

#[test]
fn every_combination_of_elements() {
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [30, 50]));
    let reductions: [Op; 4] = [
        reduce::Sum { axes: vec![0] }.into(),
        reduce::Prod { axes: vec![1] }.into(),
        reduce::Max { axes: vec![0, 1] }.into(),
        reduce::Min { axes: vec![1] }.into(),
    ];
    let outs: Vec<Var<'_>> = reductions.into_iter().map(|op| b.apply1(op, &[x])).collect();
    let graph = b.finish(&outs).expect("a graph");
    assert_equals_reference(&graph, &[numbers(&[30, 50], 3)], 1e-5);
}

#[test]
fn a_donated_argument_becomes_the_result() {
    use gradus_cpu::Argument;
    use gradus_mem::Storage;
    let (graph, _) = build(&[&[1000], &[1000]], |_, x| vec![x[0] * 2.0 + x[1]]);
    let executable = Executable::new(&graph).expect("a plan");
    let new = |v: f32| Storage::from_fn(1000, |_| v).expect("memory");
    let (x, y) = (new(3.0), new(1.0));
    let (address, kept) = (x.as_ptr(), y.clone());
    let give = |storage| Argument { storage, offset: 0 };
    let outs = executable.run(Pool::global(), &mut vec![give(x), give(y)]).expect("a run");
    assert_eq!(outs[0].as_ptr(), address);
    assert!(outs[0].host::<f32>().unwrap().iter().all(|v| *v == 7.0));
    assert!(kept.host::<f32>().unwrap().iter().all(|v| *v == 1.0));
    // A run does not change an argument with shared storage.
    let held = new(3.0);
    let outs = executable.run(Pool::global(), &mut vec![give(held.clone()), give(kept)]).expect("a run");
    assert_ne!(outs[0].as_ptr(), held.as_ptr());
    assert!(held.host::<f32>().unwrap().iter().all(|v| *v == 3.0));
}

#[test]
fn a_failed_run_leaves_a_donated_argument_unchanged() {
    use gradus_cpu::Argument;
    use gradus_mem::Storage;
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [1000]));
    let at = b.input("at", Aval::new(DType::I64, [1]));
    let y = x * 2.0;
    let graph = b.finish(&[y, y.take(at, 0)]).expect("a graph");
    let executable = Executable::new(&graph).expect("a plan");
    let run = |at: i64| {
        let x = Storage::from_fn(1000, |i| i as f32).expect("memory");
        let at = Storage::from_fn(1, |_| at).expect("memory");
        let mut arguments: Vec<Argument> =
            [x, at].into_iter().map(|storage| Argument { storage, offset: 0 }).collect();
        (executable.run(Pool::global(), &mut arguments), arguments)
    };
    let (done, _) = run(999);
    assert_eq!(done.expect("a run")[1].host::<f32>().unwrap(), [1998.0]);
    let (done, arguments) = run(1000);
    let error = done.expect_err("the index is out of range").to_string();
    assert!(error.contains("1000"), "{error}");
    assert_eq!(arguments.len(), 2);
    let left = arguments[0].storage.host::<f32>().unwrap();
    assert!(left.iter().enumerate().all(|(i, v)| *v == i as f32), "{:?}", &left[..4]);
}

#[test]
fn twenty_axes() {
    // Reverses twenty axes of extent 2, so that adjacent axes cannot be merged.
    let order: Vec<usize> = (0..20).rev().collect();
    let (graph, inputs) = build(&[&[2; 20], &[2; 20]], |_, x| vec![x[0].permute(&order) + x[1]]);
    let expected = reference::evaluate(&graph, &inputs).expect("the reference");
    let executable = Executable::new(&graph).expect("a plan");
    let found = evaluate_on(Pool::global(), &executable, &graph, &inputs).expect("the device");
    assert_eq!(expected, found);
}

#[test]
fn plans_with_accesses_outside_of_buffers_are_refused() {
    let (graph, _) = build(&[&[4, 5], &[5, 6]], |_, x| vec![x[0].exp(), x[0].dot(x[1], "ik", "kj", "ij")]);
    let plan = gradus_compile::compile(&graph, &gradus_cpu::PROFILE).expect("a plan");
    for b in 0..plan.inputs.len() {
        let mut short = plan.clone();
        short.buffers[b].numel -= 1;
        let error = Executable::of(short).expect_err("an element is missing").to_string();
        assert!(error.contains(&format!("b{b}: f32[")) && error.contains("is accessed as f32 at"), "{error}");
    }
}
