//! `cargo bench -p gradus-bench` measures each stage from a program to its results, for a training step of a
//! GPT.

mod gpt;

use criterion::{Criterion, criterion_group, criterion_main};
use gpt::Gpt;
use gradus::ir::transform::{Unreachable, grad_with_loss};
use gradus::lang::{GradientOptions, Program, Source};
use gradus::{Graph, Tensor, compile, trace};
use gradus_compile::{Options, simplify};
use gradus_cpu::Executable;
use std::hint::black_box;

fn gradient(graph: &Graph) -> gradus::Result<Graph> {
    let weights: Vec<_> = graph.inputs()[2..].iter().map(|(_, id)| *id).collect();
    grad_with_loss(graph, graph.outputs()[0], weights, Unreachable::Error)
}

/// Measures the stages from a Rust function to a plan.
fn graphs(c: &mut Criterion) {
    let gpt = Gpt { layers: 12, batch: 4, context: 64, width: 128, heads: 4, vocabulary: 256 };
    let inputs = gpt.inputs();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let make = || trace(&inputs, |v| gpt.loss(v)).expect("a graph");
    let graph = make();
    let both = gradient(&graph).expect("a gradient");
    let flat = both.inlined().expect("a graph");
    let plan = gradus_compile::compile(&both, &gradus_cpu::PROFILE).expect("a plan");
    c.bench_function("trace a loss", |b| b.iter(make));
    c.bench_function("differentiate it", |b| b.iter(|| gradient(&graph)));
    c.bench_function("inline regions", |b| b.iter(|| both.inlined()));
    c.bench_function("simplify", |b| b.iter(|| simplify(&flat, &Options::default())));
    c.bench_function("plan, simplification included", |b| {
        b.iter(|| gradus_compile::compile(&both, &gradus_cpu::PROFILE))
    });
    c.bench_function("generate code", |b| b.iter(|| Executable::of(plan.clone())));
}

/// Measures runs of a compiled function, and of the same function run op by op.
fn runs(c: &mut Criterion) {
    let gpt = Gpt { layers: 2, batch: 4, context: 64, width: 128, heads: 4, vocabulary: 256 };
    let inputs = gpt.inputs();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let step = compile(&inputs, |v| vec![gpt.loss(v)]).expect("an executable");
    let owned: Vec<Tensor> = inputs.iter().map(|t| (*t).clone()).collect();
    c.bench_function("run a compiled loss of 2 layers", |b| b.iter(|| step.run(&inputs)));
    c.bench_function("run it op by op", |b| b.iter(|| black_box(gpt.loss(&owned))));
}

/// Measures the stages of programs of equations.
fn equations(c: &mut Criterion) {
    let text = include_str!("../../../examples/equations/transformer_block.eq");
    let read = || Program::parse(Source::new("transformer_block", text)).expect("a program");
    let program = read();
    c.bench_function("read and check equations", |b| b.iter(read));
    c.bench_function("differentiate equations", |b| b.iter(|| program.gradient(&GradientOptions::default())));
}

criterion_group!(stages, graphs, runs, equations);
criterion_main!(stages);
