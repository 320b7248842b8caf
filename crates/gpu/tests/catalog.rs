//! Every op of the catalog on a software adapter, in every dtype: the reference within the op's bound, at samples and at
//! special values. What runs on the host is listed.

mod common;

use common::{Gpu, limits};
use gradus_compile::Text;
use gradus_gpu::Barriers;
use gradus_ir::{Graph, Literal, ops};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{describe, device};
use std::cell::RefCell;
use std::collections::BTreeMap;

fn every_op(barriers: Barriers, text: Text) -> BTreeMap<String, usize> {
    let limits = limits(barriers);
    let (hosts, mut failures) = (RefCell::new(BTreeMap::new()), Vec::new());
    let only = std::env::var("GRADUS_ONLY").ok();
    for sample in &ops::samples().cases {
        if only.as_deref().is_some_and(|o| o != sample.op.name()) {
            continue;
        }
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        let on_gpu = |graph: &Graph, inputs: &[Literal]| -> gradus_ir::Result<Vec<Literal>> {
            match Gpu::get().evaluate(graph, inputs, &limits, text)? {
                Ok(outputs) => Ok(outputs),
                Err(why) => {
                    *hosts.borrow_mut().entry(why).or_insert(0) += 1;
                    gradus_cpu::evaluate(graph, inputs)
                }
            }
        };
        if let Err(f) = device(&graph, &sample.ins, &on_gpu) {
            failures.push(format!("{}: {}", sample.op.name(), f.of(describe(&graph, &sample.ins))));
        }
    }
    for (why, count) in hosts.borrow().iter() {
        println!("{count} {why}");
    }
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
    hosts.into_inner()
}

#[test]
fn every_op_without_barriers() {
    every_op(Barriers::Dear, Text::Generic);
}

#[test]
fn every_op_with_barriers() {
    every_op(Barriers::Cheap, Text::Special);
}
