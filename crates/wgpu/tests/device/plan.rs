//! Compares plans of graphs with the reference and the CPU: gradients, cells, steps on the host, failures.

use crate::common::{Random, arguments, gpu, numbers, options, read};
use gradus_compile::Text;
use gradus_cpu::evaluate;
use gradus_device::{Argument, Device, Executable, Request, Sink};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::linalg::Cholesky;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::{reduce, sort};
use gradus_ir::transform::{Unreachable, grad_with_loss};
use gradus_ir::{Aval, DType, Graph, Kind, Literal, reference};
use gradus_mem::Storage;
use gradus_wgpu::{Gpu, Options};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn request(text: Text, keeps: &[(usize, usize)]) -> Request<'_> {
    Request { layouts: &[], keeps, text }
}

fn upload(gpu: &Gpu, inputs: &[Literal]) -> Vec<Storage> {
    inputs.iter().map(|l| gpu.upload(&l.to_bytes()).expect("memory")).collect()
}

fn outputs(gpu: &Gpu, graph: &Graph, storages: &[Storage]) -> Vec<Literal> {
    storages
        .iter()
        .zip(&graph.output_avals())
        .map(|(s, a)| Literal::from_bytes(a, &read(gpu, s)).expect("all bytes"))
        .collect()
}

/// Checks that values differ by at most `bound` times the largest of the reference.
fn close(expected: &[Literal], found: &[Literal], bound: f64, what: &str) {
    assert_eq!(expected.len(), found.len());
    for (k, (e, f)) in expected.iter().zip(found).enumerate() {
        assert_eq!(e.aval(), f.aval(), "{what}");
        let scale = e.f().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (i, (a, b)) in e.f().iter().zip(f.f()).enumerate() {
            let same = (a - b).abs() <= bound * scale || a == b;
            assert!(same, "{what}: element {i} of output {k} is {b}, expected {a}");
        }
        assert_eq!(e.i(), f.i(), "{what}");
    }
}

/// Runs a graph on the device, twice in both kinds of text, and compares with the reference.
fn check(gpu: &Gpu, graph: &Graph, inputs: &[Literal], bound: f64) -> Arc<dyn Executable> {
    let expected = reference::evaluate(graph, inputs).expect("the reference");
    let mut last = None;
    for text in [Text::Generic, Text::Special] {
        let program = gpu.program(graph, &request(text, &[])).expect("a program");
        let storages = upload(gpu, inputs);
        let given = || arguments(&storages.iter().collect::<Vec<_>>());
        let first = program.run(&mut given(), None).expect("a run");
        let second = program.run(&mut given(), None).expect("a run");
        let (first, second) = (outputs(gpu, graph, &first), outputs(gpu, graph, &second));
        close(&expected, &first, bound, &format!("{text:?}"));
        assert_eq!(first, second, "two runs differ");
        // Runs must not overwrite operands.
        for (storage, literal) in storages.iter().zip(inputs) {
            assert!(read(gpu, storage) == literal.to_bytes());
        }
        last = Some(program);
    }
    last.expect("two texts")
}

fn row<'g>(x: Var<'g>, like: Var<'g>) -> Var<'g> {
    x.reshape(like.shape().with(0, 1)).broadcast_to(&like.shape())
}

fn column<'g>(x: Var<'g>, like: Var<'g>) -> Var<'g> {
    x.reshape(like.shape().with(1, 1)).broadcast_to(&like.shape())
}

/// Returns the graph of the loss of two layers and a softmax. Inputs: data, targets, and four parameters.
fn network(batch: usize, inside: usize) -> Graph {
    let b = Builder::new();
    let f32 = |shape: &[usize]| Aval::new(DType::F32, shape);
    let x = b.input("x", f32(&[batch, 20]));
    let t = b.input("t", f32(&[batch, 10]));
    let (w1, b1) = (b.input("w1", f32(&[20, inside])), b.input("b1", f32(&[inside])));
    let (w2, b2) = (b.input("w2", f32(&[inside, 10])), b.input("b2", f32(&[10])));
    let h = x.dot(w1, "ik", "kj", "ij");
    let h = (h + row(b1, h)).tanh();
    let y = h.dot(w2, "ik", "kj", "ij");
    let y = y + row(b2, y);
    let top = b.apply1(reduce::Max { axes: vec![1] }, &[y]);
    let e = y - column(top, y);
    let log = e - column(e.exp().sum(&[1]).log(), e);
    let loss = -(log * t).sum(&[0, 1]) * (1.0 / batch as f64);
    b.finish(&[loss]).expect("a graph")
}

fn network_inputs(graph: &Graph) -> Vec<Literal> {
    let avals = graph.input_avals();
    let mut inputs: Vec<Literal> =
        avals.iter().enumerate().map(|(i, a)| numbers(&a.shape, i as u64)).collect();
    // Targets are positive, so that the terms of the loss do not cancel.
    let targets = inputs[1].f().iter().map(|x| x.abs()).collect();
    inputs[1] = Literal::floats(DType::F32, inputs[1].shape().clone(), targets).expect("the same shape");
    inputs
}

const PARAMETERS: [&str; 4] = ["w1", "b1", "w2", "b2"];

#[test]
fn forward_and_backward_of_a_network() {
    let Some(gpu) = gpu(&options()) else { return };
    for (batch, inside) in [(32, 64), (7, 33), (1, 1), (256, 300)] {
        let forward = network(batch, inside);
        let both = grad_with_loss(&forward, forward.outputs()[0], PARAMETERS, Unreachable::Error);
        let both = both.expect("a gradient");
        let program = check(&gpu, &both, &network_inputs(&both), 1e-5);
        let text = program.explain();
        assert!(text.lines().next().is_some_and(|l| l.contains(" 0 host steps")), "{text}");
    }
}

/// Returns the graph of a training step: loss and new parameters.
fn training(batch: usize, inside: usize) -> Graph {
    let forward = network(batch, inside);
    let both = grad_with_loss(&forward, forward.outputs()[0], PARAMETERS, Unreachable::Error);
    let both = both.expect("a gradient");
    let b = Builder::new();
    let ins: Vec<Var<'_>> = both.inputs().iter().map(|(n, id)| b.input(n, both.aval(*id).clone())).collect();
    let rate = b.input("rate", Aval::new(DType::F32, [0usize; 0]));
    let outs = b.inline(&both, &ins);
    let new = outs[1..].iter().zip(&ins[2..]).map(|(g, w)| *w - *g * rate.broadcast_to(&g.shape()));
    let all: Vec<Var<'_>> = outs[..1].iter().copied().chain(new).collect();
    b.finish(&all).expect("a graph")
}

#[test]
fn cells_are_overwritten() {
    let Some(gpu) = gpu(&options()) else { return };
    let graph = training(32, 48);
    let keeps: Vec<(usize, usize)> = (0..4).map(|k| (k + 1, k + 2)).collect();
    let step = gpu.program(&graph, &request(Text::Special, &keeps)).expect("a program");
    let mut model = network_inputs(&graph);
    model[6] = Literal::scalar(DType::F32, 0.25);
    let mut cells = upload(&gpu, &model[..6]);
    let rate = Storage::from_slice(&[0.25f32]).expect("memory");
    gpu.finish().wait().expect("the end of the queue");
    let mut used = None;
    let mut losses = Vec::new();
    for round in 0..6 {
        let expected = evaluate(&graph, &model).expect("the CPU");
        let mut given: Vec<Argument> =
            cells.drain(..).chain([rate.clone()]).map(|storage| Argument { storage, offset: 0 }).collect();
        // The test still holds data and targets, but not the parameters.
        let held: Vec<Storage> = given[..2].iter().map(|a| a.storage.clone()).collect();
        let kept = (round == 3).then(|| given[2].storage.clone());
        let new = step.run(&mut given, None).expect("a run");
        let found = outputs(&gpu, &graph, &new);
        close(&expected, &found, 1e-5, &format!("round {round}"));
        if let Some(kept) = kept {
            // A copy of a parameter that was made before the step keeps the old value.
            assert!(read(&*gpu, &kept) == model[2].to_bytes());
        }
        losses.push(found[0].f()[0]);
        model.splice(2..6, found.into_iter().skip(1));
        cells = held.into_iter().chain(new.into_iter().skip(1)).collect();
        let now = gpu.memory().used;
        assert_eq!(now, *used.get_or_insert(now), "round {round} needs new memory");
    }
    assert!(losses[5] < losses[0], "{losses:?}");
}

#[test]
fn outputs_without_cells_never_overwrite_inputs() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [100]));
    let graph = b.finish(&[x * 2.0]).expect("a graph");
    let value = numbers(&[100], 1);
    let program = gpu.program(&graph, &request(Text::Generic, &[])).expect("a program");
    let mut given: Vec<Argument> =
        upload(&gpu, &[value]).into_iter().map(|storage| Argument { storage, offset: 0 }).collect();
    let text = program.explain();
    let used = gpu.memory().used;
    let out = program.run(&mut given, None).expect("a run");
    assert_eq!(gpu.memory().used, used, "{text}");
    drop(out);
}

/// Returns a matrix times its transpose plus a diagonal. It is positive definite if `diagonal` is positive.
fn gram<'g>(x: Var<'g>, diagonal: f64) -> Var<'g> {
    let n = x.shape()[0];
    let eye = (0..n * n).map(|i| if i % (n + 1) == 0 { diagonal } else { 0.0 }).collect();
    let eye = Literal::floats(DType::F32, [n, n], eye).expect("a matrix");
    x.dot(x, "ik", "jk", "ij") * (1.0 / n as f64) + x.builder().constant(eye)
}

#[test]
fn steps_on_the_host_in_the_middle() {
    let Some(gpu) = gpu(&options()) else { return };
    for n in [1, 7, 40, 200] {
        let b = Builder::new();
        let x = b.input("x", Aval::new(DType::F32, [n, n]));
        let y = b.input("y", Aval::new(DType::F32, [n, n]));
        let root = b.apply1(Cholesky {}, &[gram(x.tanh() * y, 1.0)]);
        let after = root * 2.0 + x;
        let again = b.apply1(Cholesky {}, &[gram(after, 1.0)]);
        let graph = b.finish(&[again - y, root, after]).expect("a graph");
        let program = check(&gpu, &graph, &[numbers(&[n, n], 1), numbers(&[n, n], 2)], 1e-5);
        let text = program.explain();
        assert!(text.lines().next().is_some_and(|l| l.contains(" 2 host steps")), "{text}");
        assert!(text.contains("host: "), "{text}");
    }
}

#[test]
fn a_failing_host_step_leaves_cells_unchanged() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [6, 6]));
    let cell = b.input("cell", Aval::new(DType::F32, [6, 6]));
    let root = b.apply1(Cholesky {}, &[gram(x, -3.0)]);
    let graph = b.finish(&[cell + root, cell * 2.0]).expect("a graph");
    for (text, keeps) in [(Text::Special, &[(0, 1)][..]), (Text::Generic, &[])] {
        let program = gpu.program(&graph, &request(text, keeps)).expect("a program");
        let inputs = [numbers(&[6, 6], 1), numbers(&[6, 6], 2)];
        let mut given: Vec<Argument> =
            upload(&gpu, &inputs).into_iter().map(|storage| Argument { storage, offset: 0 }).collect();
        let used = gpu.memory().used;
        let expected = evaluate(&graph, &inputs).expect_err("not positive definite");
        let error = program.run(&mut given, None).expect_err("not positive definite");
        assert_eq!(error.to_string(), expected.to_string());
        assert_eq!((given.len(), gpu.memory().used), (2, used));
        for (a, literal) in given.iter().zip(&inputs) {
            assert!(read(&*gpu, &a.storage) == literal.to_bytes());
        }
    }
}

/// Returns a graph that gathers rows of a table, and adds their sum to a cell.
fn lookup() -> Graph {
    let b = Builder::new();
    let table = b.input("table", Aval::new(DType::F32, [10, 4]));
    let index = b.input("index", Aval::new(DType::I64, [3]));
    let cell = b.input("cell", Aval::new(DType::F32, [4]));
    let rows = (table * 2.0).take(index, 0);
    b.finish(&[cell + rows.sum(&[0])]).expect("a graph")
}

#[test]
fn a_failing_step_leaves_cells_unchanged() {
    let Some(gpu) = gpu(&options()) else { return };
    let graph = lookup();
    let program = gpu.program(&graph, &request(Text::Special, &[(0, 2)])).expect("a program");
    let index = |last: i64| Literal::ints(DType::I64, [3], vec![0, 7, last]).expect("three");
    let inputs = |last| vec![numbers(&[10, 4], 1), index(last), numbers(&[4], 3)];
    let mut given: Vec<Argument> =
        upload(&gpu, &inputs(10)).into_iter().map(|storage| Argument { storage, offset: 0 }).collect();
    let expected = evaluate(&graph, &inputs(10)).expect_err("out of range");
    let error = program.run(&mut given, None).expect_err("out of range");
    assert_eq!(error.kind(), expected.kind());
    assert!(matches!(error.kind(), Kind::Index { index: 10, extent: 10, .. }), "{error}");
    assert_eq!(given.len(), 3);
    for (a, literal) in given.iter().zip(&inputs(10)) {
        assert!(read(&*gpu, &a.storage) == literal.to_bytes());
    }
    // With a valid index the same arguments work.
    given[1].storage = upload(&gpu, &[index(9)]).remove(0);
    let out = program.run(&mut given, None).expect("a run");
    let expected = reference::evaluate(&graph, &inputs(9)).expect("the reference");
    close(&expected, &outputs(&gpu, &graph, &out), 1e-6, "after the failure");
}

#[test]
fn a_bad_index_is_reported_with_the_results() {
    let Some(gpu) = gpu(&options()) else { return };
    let graph = lookup();
    let program = gpu.program(&graph, &request(Text::Generic, &[])).expect("a program");
    assert!(program.explain().lines().next().is_some_and(|l| l.contains(" 0 host steps")));
    let inputs = |index: [i64; 3]| {
        let index = Literal::ints(DType::I64, [3], index.to_vec()).expect("three");
        vec![numbers(&[10, 4], 1), index, numbers(&[4], 3)]
    };
    let run = |index: [i64; 3]| {
        let given = upload(&gpu, &inputs(index));
        program.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None).expect("queued").remove(0)
    };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [4]));
    let double = b.finish(&[x + x]).expect("a graph");
    let double = gpu.program(&double, &request(Text::Generic, &[])).expect("a program");
    let doubled = |x: &Storage| double.run(&mut arguments(&[x]), None).map(|mut all| all.remove(0));
    for index in [[0, 10, 11], [-1, 2, 3], [0, 0, i64::MAX], [4, i64::MIN, 99], [1 << 32, 0, 0]] {
        let (before, bad, after) = (run([0, 7, 9]), run(index), run([1, 1, 1]));
        let built = doubled(&bad).expect("queued");
        let copied = gpu.copy(&bad, 4..12).expect("queued");
        let expected = evaluate(&graph, &inputs(index)).expect_err("out of range");
        for storage in [&built, &bad, &copied] {
            let error = gpu.read(&[(storage, 0..8)]).wait().expect_err("out of range");
            assert_eq!(error.to_string(), expected.to_string());
            assert_eq!(error.kind(), expected.kind());
        }
        // The error is known after the read, so ops on the result fail at once.
        assert_eq!(doubled(&built).expect_err("out of range").kind(), expected.kind());
        // Results of runs before and after the failed one are valid.
        for (storage, index) in [(before, [0, 7, 9]), (after, [1, 1, 1])] {
            let expected = reference::evaluate(&graph, &inputs(index)).expect("the reference");
            close(&expected, &outputs(&gpu, &graph, &[storage]), 1e-6, "next to the failure");
        }
    }
}

#[test]
fn a_bad_index_that_was_computed() {
    let Some(gpu) = gpu(&options()) else { return };
    // Indices and slices are temporaries, whose memory later steps reuse.
    let b = Builder::new();
    let table = b.input("table", Aval::new(DType::F32, [100, 50]));
    let index = b.input("index", Aval::new(DType::I64, [60]));
    let moved = index * 2.0 + 1.0;
    let mut x = (table * 2.0).take(moved, 0);
    for _ in 0..3 {
        let s = x.sum(&[1]);
        x = (x * column(s, x)).take(moved - 1.0, 0);
    }
    let graph = b.finish(&[x]).expect("a graph");
    for (bad, text) in [(49, Text::Special), (50, Text::Special), (-3, Text::Generic), (29, Text::Generic)] {
        let index = (0..60).map(|i| if i == 37 { bad } else { i % 25 }).collect();
        let inputs = [numbers(&[100, 50], 1), Literal::ints(DType::I64, [60], index).expect("sixty")];
        let program = gpu.program(&graph, &request(text, &[])).expect("a program");
        let given = upload(&gpu, &inputs);
        let out = program.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None).expect("queued");
        let found = gpu.read(&[(&out[0], 0..8)]).wait();
        match evaluate(&graph, &inputs) {
            Ok(expected) => close(&expected, &outputs(&gpu, &graph, &out), 1e-5, "in range"),
            Err(expected) => assert_eq!(found.expect_err("out of range").to_string(), expected.to_string()),
        }
    }
}

#[test]
fn a_bad_index_in_a_loop() {
    let Some(gpu) = gpu(&options()) else { return };
    // Each iteration looks up rows by computed indices, whose memory the next one reuses.
    let b = Builder::new();
    let table = b.input("table", Aval::new(DType::F32, [10, 4]));
    let carry = b.input("carry", Aval::new(DType::F32, [3, 4]));
    let index = b.input("index", Aval::new(DType::I64, [3]));
    let rows = table.take(index + 2.0, 0) + table.take(index, 0);
    let body = b.finish(&[(carry + rows).tanh()]).expect("a graph");
    let b = Builder::new();
    let table = b.input("table", Aval::new(DType::F32, [10, 4]));
    let carry = b.input("carry", Aval::new(DType::F32, [3, 4]));
    let index = b.input("index", Aval::new(DType::I64, [6, 3]));
    let scan = Scan { body: Arc::new(body), shared: 1, carries: 1, length: 6, reverse: false };
    let last = b.apply1(scan, &[table, carry, index]);
    let graph = b.finish(&[last * 2.0]).expect("a graph");
    for (at, bad) in [(0, 0), (4, 8), (17, 9), (9, -1), (9, 11)] {
        let index = (0..18).map(|i| if i == at { bad } else { i % 8 }).collect();
        let index = Literal::ints(DType::I64, [6, 3], index).expect("eighteen");
        let inputs = [numbers(&[10, 4], 1), numbers(&[3, 4], 2), index];
        let program = gpu.program(&graph, &request(Text::Special, &[])).expect("a program");
        let given = upload(&gpu, &inputs);
        let out = program.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None);
        // A loop on the host reports the error at once. A loop on the device reports it when its results are read.
        let found = out.and_then(|out| gpu.read(&[(&out[0], 0..48)]).wait().map(|_| out));
        match (reference::evaluate(&graph, &inputs), found) {
            (Ok(expected), Ok(out)) => close(&expected, &outputs(&gpu, &graph, &out), 1e-5, "in range"),
            (Err(expected), Err(error)) => assert_eq!(error.kind(), expected.kind()),
            (expected, found) => panic!("index {bad}: {expected:?}, found {found:?}"),
        }
    }
}

#[test]
fn writes_to_cells_wait_for_runs_that_may_have_failed() {
    let Some(gpu) = gpu(&options()) else { return };
    let graph = lookup();
    let program = gpu.program(&graph, &request(Text::Generic, &[])).expect("a program");
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [4]));
    let cell = b.input("cell", Aval::new(DType::F32, [4]));
    let update = b.finish(&[cell - x]).expect("a graph");
    let update = gpu.program(&update, &request(Text::Special, &[(0, 1)])).expect("a program");
    let value = numbers(&[4], 5);
    let index = Literal::ints(DType::I64, [3], vec![0, 1, 10]).expect("three");
    let given = upload(&gpu, &[numbers(&[10, 4], 1), index, numbers(&[4], 3)]);
    let bad = program.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None).expect("queued").remove(0);
    let mut both: Vec<Argument> = upload(&gpu, std::slice::from_ref(&value))
        .into_iter()
        .map(|storage| Argument { storage, offset: 0 })
        .collect();
    both.insert(0, Argument { storage: bad, offset: 0 });
    let error = update.run(&mut both, None).expect_err("out of range");
    assert!(matches!(error.kind(), Kind::Index { index: 10, extent: 10, .. }), "{error}");
    assert!(both.len() == 2 && read(&*gpu, &both[1].storage) == value.to_bytes());
}

#[test]
fn long_chains_of_runs_that_may_have_failed() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [10]));
    let index = b.input("index", Aval::new(DType::I64, [10]));
    let graph = b.finish(&[x.take(index, 0)]).expect("a graph");
    let program = gpu.program(&graph, &request(Text::Generic, &[])).expect("a program");
    let order = |n: i64| Literal::ints(DType::I64, [10], (0..10).map(|i| (i * 3 + 1) % n).collect());
    let (good, bad) = (order(10).expect("ten"), order(11).expect("ten"));
    let value = numbers(&[10], 1);
    for fails in [None, Some(20), Some(140)] {
        let mut expected = value.f().to_vec();
        let mut x = upload(&gpu, std::slice::from_ref(&value)).remove(0);
        let [right, wrong] = [&good, &bad].map(|l| upload(&gpu, std::slice::from_ref(l)).remove(0));
        let mut failed = None;
        for round in 0..150 {
            let index = if fails == Some(round) { &wrong } else { &right };
            match program.run(&mut arguments(&[&x, index]), None) {
                Ok(mut out) => x = out.remove(0),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            expected = good.i().iter().map(|i| expected[*i as usize]).collect();
        }
        let found = gpu.read(&[(&x, 0..40)]).wait();
        if fails.is_none() {
            assert!(failed.is_none());
            let found = found.expect("a read");
            let found: Vec<f64> =
                found[0].host::<f32>().expect("on the host").iter().map(|x| f64::from(*x)).collect();
            assert_eq!(found, expected);
        } else {
            let error = failed.map_or_else(|| found.map(|_| ()), Err).expect_err("out of range");
            assert!(matches!(error.kind(), Kind::Index { index: 10, extent: 10, .. }), "{error}");
        }
    }
}

thread_local! {
    static STOP: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[test]
fn interrupted_runs_and_reads() {
    let Some(gpu) = gpu(&options()) else { return };
    gradus_ir::stop::set_callback(|| STOP.get());
    let graph = lookup();
    let program = gpu.program(&graph, &request(Text::Special, &[(0, 2)])).expect("a program");
    let index = Literal::ints(DType::I64, [3], vec![1, 2, 3]).expect("three");
    let inputs = [numbers(&[10, 4], 1), index, numbers(&[4], 3)];
    let mut given: Vec<Argument> =
        upload(&gpu, &inputs).into_iter().map(|storage| Argument { storage, offset: 0 }).collect();
    STOP.set(true);
    let run = program.run(&mut given, None);
    let storage = given[2].storage.clone();
    let found = gpu.read(&[(&storage, 0..16)]).wait();
    STOP.set(false);
    assert_eq!(*run.expect_err("interrupted").kind(), Kind::Interrupted);
    assert_eq!(*found.expect_err("interrupted").kind(), Kind::Interrupted);
    assert!(given.len() == 3 && read(&*gpu, &storage) == inputs[2].to_bytes());
    drop(storage);
    let out = program.run(&mut given, None).expect("a run");
    let expected = reference::evaluate(&graph, &inputs).expect("the reference");
    close(&expected, &outputs(&gpu, &graph, &out), 1e-6, "afterwards");
}

#[test]
fn tensors_without_elements() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [0, 5]));
    let w = b.input("w", Aval::new(DType::F32, [5, 3]));
    let product = x.dot(w, "ik", "kj", "ij");
    let graph = b.finish(&[x * 2.0, x.sum(&[0]), product, product.sum(&[0, 1])]).expect("a graph");
    check(&gpu, &graph, &[numbers(&[0, 5], 0), numbers(&[5, 3], 0)], 0.0);
}

#[test]
fn operands_and_constants_outside_of_the_heap() {
    let Some(gpu) = gpu(&options()) else { return };
    let n = (gradus_gpu::SMALL / 4 / 1000 + 3) * 1000;
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [n / 1000, 1000]));
    let y = b.input("y", Aval::new(DType::F32, [1000]));
    let c = b.constant(numbers(&[n / 1000, 1000], 9));
    let sum = x * 0.5 + c + row(y, x);
    let graph = b.finish(&[sum, sum.sum(&[0]), sum.sum(&[1])]).expect("a graph");
    check(&gpu, &graph, &[numbers(&[n / 1000, 1000], 1), numbers(&[1000], 2)], 1e-5);
}

#[test]
fn runs_on_several_threads() {
    let Some(gpu) = gpu(&Options { heap: 1 << 16, ..options() }) else { return };
    let graph = training(16, 24);
    let step = gpu.program(&graph, &request(Text::Special, &[])).expect("a program");
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [500]));
    let sorted = b.apply(sort::Sort::all(0, false), &[x * 3.0]);
    let root = b.apply1(Cholesky {}, &[gram(x.reshape([20, 25]), 1.0)]);
    let other = b.finish(&[sorted[0] + 1.0, root * 2.0]).expect("a graph");
    let sort = gpu.program(&other, &request(Text::Generic, &[])).expect("a program");
    std::thread::scope(|scope| {
        for seed in 0..4u64 {
            let (gpu, graph, step, other, sort) = (&gpu, &graph, &step, &other, &sort);
            scope.spawn(move || {
                for round in 0..8 {
                    let mut random = Random::new(seed * 100 + round);
                    let mut inputs = network_inputs(graph);
                    inputs[0] = numbers(&[16, 20], random.next());
                    inputs[6] = Literal::scalar(DType::F32, 0.5);
                    let given = upload(gpu, &inputs);
                    let out =
                        step.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None).expect("a run");
                    let values = vec![numbers(&[500], random.next())];
                    let given = upload(gpu, &values);
                    let second = sort.run(&mut arguments(&[&given[0]]), None).expect("a run");
                    let expected = reference::evaluate(graph, &inputs).expect("the reference");
                    close(&expected, &outputs(gpu, graph, &out), 1e-5, "a training step");
                    let expected = reference::evaluate(other, &values).expect("the reference");
                    close(&expected, &outputs(gpu, other, &second), 1e-6, "a sort and a root");
                }
            });
        }
    });
}

#[derive(Default)]
struct Times(Vec<(usize, Duration)>);

impl Sink for Times {
    fn span(&mut self, step: usize, took: Duration) {
        self.0.push((step, took));
    }
}

#[test]
fn times_of_steps_add_up_to_less_than_the_run() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [300, 300]));
    let root = b.apply1(Cholesky {}, &[gram(x.tanh(), 1.0)]);
    let graph = b.finish(&[root * 2.0 + x]).expect("a graph");
    let inputs = [numbers(&[300, 300], 1)];
    let program = gpu.program(&graph, &request(Text::Special, &[])).expect("a program");
    let given = upload(&gpu, &inputs);
    let mut times = Times::default();
    // Run once before, so that kernels are compiled.
    program.run(&mut arguments(&[&given[0]]), None).expect("a run");
    gpu.finish().wait().expect("the end of the queue");
    let start = Instant::now();
    let out = program.run(&mut arguments(&[&given[0]]), Some(&mut times)).expect("a run");
    let whole = start.elapsed();
    let numbers: Vec<usize> = times.0.iter().map(|t| t.0).collect();
    assert_eq!(numbers, (0..program.steps().len()).collect::<Vec<_>>());
    let total: Duration = times.0.iter().map(|t| t.1).sum();
    assert!(total <= whole && times.0.iter().all(|t| t.1 > Duration::ZERO), "{:?} of {whole:?}", times.0);
    let expected = reference::evaluate(&graph, &inputs).expect("the reference");
    close(&expected, &outputs(&gpu, &graph, &out), 1e-5, "with times");
    assert_eq!(program.costs().len(), program.steps().len());
    assert!(program.done().work.flops >= 2.0 * 2.0 * 300f64.powi(3));
}
