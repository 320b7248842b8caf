//! The CPU device is the reference within every op's bound: each sample, its derivatives, and random graphs.

use gradus_ir::ops;
use gradus_ir::transform;
use gradus_ir::{Graph, Literal};
use gradus_testkit::Failure;
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{describe, device};

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
