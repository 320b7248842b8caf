//! Compares a device with the reference: every op of the catalog in every supported dtype, at samples and at special values;
//! derivatives; composed functions and their gradients; random graphs with loops. Results must be within the bounds of the ops.
//! Steps without a kernel run on the host, so every op is supported.

use gradus_compile::Text;
use gradus_cpu::Cpu;
use gradus_device::{Argument, Device, Request};
use gradus_ir::ops::{Bound, Form};
use gradus_ir::{Aval, DType, Graph, Literal, Result, ops, reference};
use gradus_testkit::catalog::{Case, composites, derivatives, graph_of};
use gradus_testkit::checks::{Floats, describe, device_with};
use gradus_testkit::compare::{Allowed, compare, largest};
use gradus_testkit::extent;
use gradus_testkit::random::Random;
use gradus_testkit::random_graphs::{Grown, Recipe};
use gradus_wgpu::{Gpu, Options, adapter_named, adapters, open_gpu};
use std::cell::Cell;
use std::sync::Arc;

/// Opens the adapter that `GRADUS_ADAPTER` names, otherwise the first. Returns `None` if there is none.
fn gpu() -> Option<Arc<Gpu>> {
    if adapters().is_empty() {
        let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
        assert!(!required, "GRADUS_ORACLES=required, but there is no wgpu adapter");
        println!("skipped: no wgpu adapter");
        return None;
    }
    let options = Options { cache: None, ..Options::default() };
    let adapter = std::env::var("GRADUS_ADAPTER").map_or(0, |name| adapter_named(&name).expect("an adapter"));
    Some(open_gpu(adapter, 1, Arc::new(Cpu), &options).expect("the adapter opens"))
}

fn evaluate(gpu: &Gpu, graph: &Graph, inputs: &[Literal], text: Text) -> Result<Vec<Literal>> {
    let program = gpu.program(graph, &Request { layouts: &[], keeps: &[], text })?;
    let mut given = Vec::with_capacity(inputs.len());
    for literal in inputs {
        given.push(Argument { storage: gpu.upload(&literal.to_bytes())?, offset: 0 });
    }
    let outputs = program.run(&mut given, None)?;
    let parts: Vec<_> = outputs.iter().map(|s| (s, 0..s.len_bytes())).collect();
    let read = gpu.read(&parts).wait()?;
    let literal =
        |(s, a): (&gradus_mem::Storage, &Aval)| Literal::from_bytes(a, s.host().expect("on the host"));
    read.iter().zip(&graph.output_avals()).map(literal).collect()
}

/// Checks all cases on the device. Graphs with `f64` and `c128`, which the device rejects, run on the CPU.
fn check(cases: Vec<Case>) {
    let Some(gpu) = gpu() else { return };
    let floats = Floats { subnormals: gpu.keeps_subnormals().expect("a product") };
    let (on_device, elsewhere) = (Cell::new(0), Cell::new(0));
    let mut failures = Vec::new();
    for (name, graph, inputs) in extent::first(cases, |(name, ..)| name.clone()) {
        let run = |graph: &Graph, inputs: &[Literal]| {
            let wide = |d: DType| matches!(d, DType::F64 | DType::C128);
            let all = || graph.nodes().iter().flat_map(|n| &n.outs).any(|a| wide(a.dtype));
            match evaluate(&gpu, graph, inputs, Text::Generic) {
                Err(e) if matches!(e.kind(), gradus_ir::Kind::Unsupported { .. }) && all() => {
                    elsewhere.set(elsewhere.get() + 1);
                    gradus_cpu::evaluate(graph, inputs)
                }
                result => {
                    on_device.set(on_device.get() + 1);
                    result
                }
            }
        };
        if let Err(f) = device_with(&graph, &inputs, &run, floats) {
            failures.push(format!("{name}: {}", f.of(describe(&graph, &inputs))));
        }
    }
    println!("{} graphs on the device, {} with f64 or c128", on_device.get(), elsewhere.get());
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
    assert!(on_device.get() > elsewhere.get() / 8);
}

#[test]
fn every_op() {
    let cases = ops::samples().cases.into_iter().map(|sample| {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        (sample.op.name().to_string(), graph, sample.ins)
    });
    check(cases.collect());
}

#[test]
fn derivatives_of_every_op() {
    check(derivatives());
}

#[test]
fn every_composite_and_its_gradient() {
    check(composites());
}

/// Returns the sum of the bounds of all ops of a graph. Ops in loops count for every iteration.
fn bounds(graph: &Graph) -> f64 {
    let one = |node: &gradus_ir::graph::Node| {
        let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        match node.op.def().form(&ins) {
            Form::Region(body) => bounds(&body),
            Form::Switch(all) => all.iter().map(|b| bounds(b)).fold(0.0, f64::max),
            Form::Scan(scan) => bounds(&scan.body) * scan.length as f64,
            Form::While(op) => bounds(&op.body) * op.bound.max(8) as f64,
            _ => match node.op.def().bound() {
                Bound::Exact => 0.0,
                Bound::Ulps(n) | Bound::Terms(n) | Bound::Largest(n) => n.max(1.0),
            },
        }
    };
    graph.nodes().iter().map(one).sum()
}

/// Tests random graphs of smooth ops with scans, conditional loops, switches and regions. Ops may enlarge the errors of earlier
/// ops: values and slopes are at most 8, and the factor over a few ops is below 64.
#[test]
fn random_graphs_with_loops() {
    let Some(gpu) = gpu() else { return };
    let (mut random, mut loops) = (Random::new(22), 0);
    for seed in 0..if extent::full() { 2000 } else { 60 } {
        let steps = (0..5 + random.below(26)).map(|_| [0; 4].map(|_: u8| random.bits() as u16)).collect();
        let recipe = Recipe { seed, steps, smooth: true };
        let Grown { graph, inputs } = recipe.grow_in(DType::F32).expect("a graph");
        loops += graph.nodes().iter().filter(|n| ["scan", "while"].contains(&n.op.name())).count();
        let expected = reference::evaluate(&graph, &inputs).expect("the reference");
        let text = if seed % 2 == 0 { Text::Generic } else { Text::Special };
        let found = evaluate(&gpu, &graph, &inputs, text).expect("the device");
        for (e, f) in expected.iter().zip(&found) {
            let limit = 64.0 * bounds(&graph) * DType::F32.epsilon() * largest(e).max(1.0);
            let each = vec![limit; e.data().len()];
            compare(e, f, Allowed::Each(&each)).unwrap_or_else(|d| panic!("{recipe:?}\n{graph}\n{d}"));
        }
    }
    assert!(loops > 10, "{loops} loops");
}
