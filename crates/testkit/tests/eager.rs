//! Tests that every op and composite gives the same results eagerly and traced, and that composites pass the
//! checks of ops.

use gradus_ir::ops;
use gradus_tensor::{Tensor, apply, func};
use gradus_testkit::{checks, eager, extent};
use std::collections::BTreeMap;

#[test]
fn every_op_eagerly() {
    let mut failures = Vec::new();
    let samples = extent::select(ops::samples().cases, |sample| sample.op.name().to_string());
    for sample in &samples {
        let call = |x: &[Tensor]| apply(sample.op.clone(), &x.iter().collect::<Vec<_>>());
        if let Err(f) = eager::all(&call, &sample.ins) {
            failures.push(format!("{}: {f}", sample.op.name()));
        }
    }
    failures.iter().for_each(|f| println!("{f}\n"));
    assert!(failures.is_empty(), "{} of {} samples fail", failures.len(), samples.len());
}

#[test]
fn every_composite_in_every_way() {
    let mut failures = Vec::new();
    let mut checked: BTreeMap<&str, usize> = BTreeMap::new();
    for sample in extent::select(func::samples().cases, |sample| sample.name) {
        let outcome = eager::all(&*sample.call, &sample.ins)
            .and_then(|graph| checks::all(&graph, &sample.ins, sample.smooth));
        *checked.entry(sample.name).or_default() += 1;
        if let Err(f) = outcome {
            failures.push(format!("{}: {f}", sample.name));
        }
    }
    failures.iter().for_each(|f| println!("{f}\n"));
    println!("{} composites, {} calls", checked.len(), checked.values().sum::<usize>());
    assert!(failures.is_empty(), "{} calls fail", failures.len());
}

/// A region without samples would escape every check.
#[test]
fn every_region_has_samples() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tensor/src/func");
    let sampled: Vec<&str> = func::samples().cases.iter().map(|s| s.name).collect();
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let source = std::fs::read_to_string(entry.expect("an entry").path()).expect("a text file");
        for part in source.split("region").skip(1) {
            let Some(call) = ["(", "1(", "1_with_grad("].iter().find_map(|p| part.strip_prefix(p)) else {
                continue;
            };
            let Some(name) = call.trim_start().strip_prefix('"').and_then(|s| s.split('"').next()) else {
                continue;
            };
            if !sampled.contains(&name) {
                missing.push(name.to_string());
            }
        }
    }
    assert!(missing.is_empty(), "no samples of {missing:?}");
}
