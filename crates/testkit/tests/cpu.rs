//! The CPU device is the reference within every op's bound: each sample, its derivatives, and random graphs.

use gradus_ir::ops;
use gradus_ir::transform;
use gradus_ir::{Graph, Literal, reference};
use gradus_tensor::{Tensor, func, trace};
use gradus_testkit::Failure;
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{describe, device};
use gradus_testkit::random::Random;
use gradus_testkit::random_graphs::{Grown, Recipe};
use proptest::prelude::*;

fn on_cpu(graph: &Graph, inputs: &[Literal]) -> gradus_ir::Result<Vec<Literal>> {
    gradus_cpu::evaluate(graph, inputs)
}

fn checked(name: &str, graph: &Graph, inputs: &[Literal], failures: &mut Vec<(String, Failure)>) {
    if let Err(f) = device(graph, inputs, &on_cpu) {
        failures.push((name.to_string(), f.of(describe(graph, inputs))));
    }
}

fn report(failures: Vec<(String, Failure)>) {
    let shown: Vec<String> = failures.iter().take(20).map(|(n, f)| format!("{n}: {f}")).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
}

#[test]
fn every_op() {
    let mut failures = Vec::new();
    for sample in &ops::samples().cases {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        checked(sample.op.name(), &graph, &sample.ins, &mut failures);
    }
    report(failures);
}

#[test]
fn gradients_of_every_op() {
    let mut failures = Vec::new();
    for sample in ops::samples().cases.iter().filter(|s| s.smooth) {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        let wrt: Vec<usize> =
            (0..sample.ins.len()).filter(|&i| sample.ins[i].dtype().is_differentiable()).collect();
        if wrt.is_empty() {
            continue;
        }
        let Ok(forward) = transform::jvp(&graph, &wrt) else { continue };
        let mut inputs = sample.ins.clone();
        inputs.extend(wrt.iter().map(|&i| sample.ins[i].clone()));
        checked(&format!("jvp of {}", sample.op.name()), &forward, &inputs, &mut failures);
    }
    report(failures);
}

#[test]
fn every_composite_and_its_gradient() {
    let mut failures = Vec::new();
    for sample in func::samples().cases {
        let tensors: Vec<Tensor> = sample.ins.iter().map(|l| Tensor::from_literal(l)).collect();
        let graph =
            trace(&tensors.iter().collect::<Vec<_>>(), |x| (sample.call)(x)).expect("a sample that fits");
        if graph.input_avals().len() != sample.ins.len() {
            continue; // it reads a cell, as random ones do
        }
        checked(sample.name, &graph, &sample.ins, &mut failures);
        let wrt: Vec<usize> =
            (0..sample.ins.len()).filter(|&i| sample.ins[i].dtype().is_differentiable()).collect();
        let Ok(pull) = transform::vjp(&graph, &wrt) else { continue };
        let mut inputs = sample.ins.clone();
        for aval in pull.input_avals().iter().skip(inputs.len()) {
            inputs.push(Random::new(inputs.len() as u64).literal(aval));
        }
        checked(&format!("gradient of {}", sample.name), &pull, &inputs, &mut failures);
    }
    report(failures);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Fused, planned and poisoned graphs are the reference's, in f64 but for rounding.
    #[test]
    fn random_graphs(seed in any::<u64>(), steps in prop::collection::vec(any::<[u16; 4]>(), 5..=30)) {
        let Grown { graph, inputs } = Recipe { seed, steps, smooth: false }.grow().expect("a graph");
        let executable = gradus_cpu::Executable::new(&graph).expect("a plan").poisoned();
        let expected = reference::evaluate(&graph, &inputs).expect("the reference");
        let found = gradus_cpu::evaluate_on(gradus_cpu::Pool::global(), &executable, &graph, &inputs);
        for (e, f) in expected.iter().zip(&found.expect("the device")) {
            let scale = e.f().iter().filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs()));
            let close = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * scale;
            prop_assert!(e.f().iter().zip(f.f()).all(close), "{e:?}\n{f:?}\n{}", executable.plan());
            prop_assert_eq!(e.i(), f.i());
        }
    }
}
