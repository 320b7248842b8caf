//! Tests that the CPU device equals the reference within the bound of each op, for all samples, their
//! derivatives, and random graphs.

use gradus_ir::ops;
use gradus_ir::{Graph, Literal, reference};
use gradus_testkit::Failure;
use gradus_testkit::catalog::{self, graph_of};
use gradus_testkit::checks::{describe, device};
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
    for (name, graph, inputs) in catalog::derivatives() {
        checked(&name, &graph, &inputs, &mut failures);
    }
    report(failures);
}

#[test]
fn every_composite_and_its_gradient() {
    let mut failures = Vec::new();
    let all = catalog::composites();
    assert!(all.len() > 200, "{} composites and gradients", all.len());
    for (name, graph, inputs) in all {
        checked(&name, &graph, &inputs, &mut failures);
    }
    report(failures);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Fused plans, with temporaries filled with 0xFF, give the results of the reference up to rounding.
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
