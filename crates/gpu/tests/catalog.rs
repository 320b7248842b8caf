//! Compares every op of the catalog, in every dtype, on a software adapter with the reference. Results at samples and at
//! special values must be within the op's bound. The reasons of host steps are compared with a list.

use crate::common::{Gpu, limits};
use gradus_compile::Text;
use gradus_gpu::Barriers;
use gradus_ir::{Graph, Literal, ops};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{describe, device};
use gradus_testkit::extent;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// Checks every op. Returns the reasons why steps ran on the host.
fn every_op(barriers: Barriers, text: Text) -> BTreeSet<String> {
    let limits = limits(barriers);
    let (hosts, mut failures) = (RefCell::new(BTreeSet::new()), Vec::new());
    for sample in &extent::first(ops::samples().cases, |sample| sample.op.name().to_string()) {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        let on_gpu = |graph: &Graph, inputs: &[Literal]| -> gradus_ir::Result<Vec<Literal>> {
            match Gpu::get().evaluate(graph, inputs, &limits, text)? {
                Ok(outputs) => Ok(outputs),
                Err(why) => {
                    hosts.borrow_mut().insert(why);
                    gradus_cpu::evaluate(graph, inputs)
                }
            }
        };
        if let Err(f) = device(&graph, &sample.ins, &on_gpu) {
            failures.push(format!("{}: {}", sample.op.name(), f.of(describe(&graph, &sample.ins))));
        }
    }
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
    hosts.into_inner()
}

/// Compares the reasons of host steps with the list in `tests/out`. The short run of the test kit need not reach all of
/// them. A full run with `GRADUS_UPDATE=1` rewrites the list.
fn listed(hosts: &BTreeSet<String>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/out/host_steps.txt");
    if std::env::var_os("GRADUS_UPDATE").is_some() && extent::full() {
        let found: String = hosts.iter().map(|why| format!("{why}\n")).collect();
        std::fs::write(&file, &found).expect("a file");
    }
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let expected: BTreeSet<String> = text.lines().map(str::to_string).collect();
    let is_expected = if extent::full() { *hosts == expected } else { hosts.is_subset(&expected) };
    assert!(is_expected, "other steps run on the host:\n{hosts:#?}");
}

#[test]
fn every_op_without_barriers() {
    listed(&every_op(Barriers::Expensive, Text::Generic));
}

#[test]
fn every_op_with_barriers() {
    listed(&every_op(Barriers::Cheap, Text::Special));
}
