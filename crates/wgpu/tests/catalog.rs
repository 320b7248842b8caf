//! Every op of the catalog on a device, in every dtype that it has: the reference within the op's bound, at samples and at
//! special values. Steps without a kernel run on the host, so every op works.

use gradus_compile::Text;
use gradus_cpu::Cpu;
use gradus_device::{Argument, Device, Request};
use gradus_ir::{Aval, C, DType, Graph, Literal, Result, ops};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks::{describe, device};
use gradus_wgpu::{Gpu, Options, adapters, open_gpu};
use half::{bf16, f16};
use std::cell::Cell;
use std::sync::Arc;

/// Row-major elements in memory.
fn to_bytes(l: &Literal) -> Vec<u8> {
    let d = l.dtype();
    let float = |x: f64| -> Vec<u8> {
        match d {
            DType::F64 | DType::C128 => x.to_ne_bytes().to_vec(),
            DType::BF16 => bf16::from_f64(d.round(x)).to_ne_bytes().to_vec(),
            DType::F16 => f16::from_f64(d.round(x)).to_ne_bytes().to_vec(),
            _ => (x as f32).to_ne_bytes().to_vec(),
        }
    };
    let floats = l.f().iter().flat_map(|x| float(*x));
    let complex = l.c().iter().flat_map(|z| [float(z.re), float(z.im)].concat());
    let ints = l.i().iter().flat_map(|x| x.to_le_bytes()[..d.size()].to_vec());
    floats.chain(complex).chain(ints).collect()
}

/// The literal of row-major elements in memory.
fn from_bytes(aval: &Aval, bytes: &[u8]) -> Literal {
    let d = aval.dtype;
    let float = |b: &[u8]| match *b {
        [a, b] if d == DType::BF16 => bf16::from_ne_bytes([a, b]).to_f64(),
        [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).into(),
        _ => panic!("{d:?} is not on the device"),
    };
    let int = |b: &[u8]| match (d, b) {
        (DType::I8, [a]) => i64::from(*a as i8),
        (DType::U32, [a, b, c, d]) => i64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        (_, [a]) => i64::from(*a),
        (_, [a, b, c, d]) => i64::from(i32::from_le_bytes([*a, *b, *c, *d])),
        (_, b) => i64::from_le_bytes(b.try_into().expect("8 bytes")),
    };
    let elements = bytes.chunks_exact(d.real().size());
    let literal = if d.is_complex() {
        let all: Vec<f64> = elements.map(float).collect();
        Literal::new(aval.clone(), all.chunks_exact(2).map(|z| C::new(z[0], z[1])).collect::<Vec<C>>())
    } else if d.is_differentiable() {
        Literal::new(aval.clone(), elements.map(float).collect::<Vec<f64>>())
    } else {
        Literal::new(aval.clone(), elements.map(int).collect::<Vec<i64>>())
    };
    literal.expect("as many elements as the type says")
}

fn evaluate(gpu: &Gpu, graph: &Graph, inputs: &[Literal]) -> Result<Vec<Literal>> {
    let program = gpu.program(graph, &Request { given: &[], keeps: &[], text: Text::Generic })?;
    let mut given = Vec::with_capacity(inputs.len());
    for literal in inputs {
        given.push(Argument { storage: gpu.upload(&to_bytes(literal))?, offset: 0 });
    }
    let outputs = program.run(&mut given, None)?;
    let parts: Vec<_> = outputs.iter().map(|s| (s, 0..s.len_bytes())).collect();
    let read = gpu.read(&parts).wait()?;
    let literal = |(s, a): (&gradus_mem::Storage, &Aval)| from_bytes(a, s.host().expect("on the host"));
    Ok(read.iter().zip(&graph.output_avals()).map(literal).collect())
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
    let (on_device, elsewhere) = (Cell::new(0), Cell::new(0));
    let mut failures = Vec::new();
    for sample in &ops::samples().cases {
        let graph = graph_of(&sample.op, &sample.ins).expect("a sample that fits");
        let run = |graph: &Graph, inputs: &[Literal]| {
            let wide = |d: DType| matches!(d, DType::F64 | DType::C128);
            let all = || graph.nodes().iter().flat_map(|n| &n.outs).any(|a| wide(a.dtype));
            match evaluate(&gpu, graph, inputs) {
                // What has no `f64` says so; the check is about the rest.
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
        if let Err(f) = device(&graph, &sample.ins, &run) {
            failures.push(format!("{}: {}", sample.op.name(), f.of(describe(&graph, &sample.ins))));
        }
    }
    println!("{} graphs on the device, {} with f64 or c128", on_device.get(), elsewhere.get());
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
    assert!(on_device.get() > elsewhere.get());
}
