//! Compares every op of the catalog on a device, in every dtype that it supports, with the reference: within the op's
//! bound, at samples and at special values. Steps without a kernel run on the host, so every op works.

use gradus_compile::Text;
use gradus_cpu::Cpu;
use gradus_device::{Argument, Device, Request};
use gradus_ir::{Aval, DType, Graph, Literal, Result, ops};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{Floats, describe, device_with};
use gradus_testkit::extent;
use gradus_wgpu::{Gpu, Options, adapters, open_gpu};
use std::cell::Cell;
use std::sync::Arc;

fn evaluate(gpu: &Gpu, graph: &Graph, inputs: &[Literal]) -> Result<Vec<Literal>> {
    let program = gpu.program(graph, &Request { layouts: &[], keeps: &[], text: Text::Generic })?;
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

#[test]
fn every_op() {
    if adapters().is_empty() {
        let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
        assert!(!required, "GRADUS_ORACLES=required, but there is no wgpu adapter");
        println!("skipped: no wgpu adapter");
        return;
    }
    let options = Options { cache: None, ..Options::default() };
    let gpu = open_gpu(0, 1, Arc::new(Cpu), &options).expect("the first adapter opens");
    let floats = Floats { subnormals: gpu.keeps_subnormals().expect("a product") };
    let (on_device, elsewhere) = (Cell::new(0), Cell::new(0));
    let mut failures = Vec::new();
    for sample in &extent::select(ops::samples().cases, |sample| sample.op.name().to_string()) {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        let run = |graph: &Graph, inputs: &[Literal]| {
            let wide = |d: DType| matches!(d, DType::F64 | DType::C128);
            let all = || graph.nodes().iter().flat_map(|n| &n.outs).any(|a| wide(a.dtype));
            match evaluate(&gpu, graph, inputs) {
                // Values of `f64` are rejected; the check is about the other dtypes.
                Err(e)
                    if matches!(e.kind(), gradus_ir::Kind::Device { why, .. } if why.contains("has no "))
                        && all() =>
                {
                    elsewhere.set(elsewhere.get() + 1);
                    gradus_cpu::evaluate(graph, inputs)
                }
                result => {
                    on_device.set(on_device.get() + 1);
                    result
                }
            }
        };
        if let Err(f) = device_with(&graph, &sample.ins, &run, floats) {
            failures.push(format!("{}: {}", sample.op.name(), f.of(describe(&graph, &sample.ins))));
        }
    }
    println!("{} graphs on the device, {} with f64 or c128", on_device.get(), elsewhere.get());
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
    assert!(on_device.get() > elsewhere.get());
}
