//! `cargo run --release -p gradus-bench`: how long it takes to differentiate a training step, as a graph.

#![forbid(unsafe_code)]

mod gpt;

use gpt::Gpt;
use gradus::ir::transform::{Unreachable, grad_with_loss};
use gradus::{Graph, Result, trace};
use std::time::{Duration, Instant};

const REPEATS: usize = 30;

/// The times of a task run again and again, shortest first.
fn times(mut task: impl FnMut() -> Result<Graph>) -> Result<Vec<Duration>> {
    let mut all = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let start = Instant::now();
        task()?;
        all.push(start.elapsed());
    }
    all.sort();
    Ok(all)
}

fn report(name: &str, graph: &Graph, times: &[Duration]) {
    let nodes = graph.stats().nodes;
    println!("{name}: {nodes} nodes; median {:.2?}, least {:.2?}", times[times.len() / 2], times[0]);
}

fn main() -> Result<()> {
    let gpt = Gpt { layers: 12, batch: 4, context: 64, width: 128, heads: 4, vocabulary: 256 };
    let inputs = gpt.inputs();
    let inputs: Vec<_> = inputs.iter().collect();
    let make = || trace(&inputs, |v| gpt.loss(v));
    let graph = make()?;
    report("trace the loss of a GPT of 12 layers", &graph, &times(make)?);
    let gradient = |graph: &Graph| {
        let weights: Vec<_> = graph.inputs()[2..].iter().map(|(_, id)| *id).collect();
        grad_with_loss(graph, graph.outputs()[0], weights, Unreachable::Error)
    };
    report("differentiate it", &gradient(&graph)?, &times(|| gradient(&graph))?);
    let flat = graph.inlined()?;
    report("differentiate it, regions inlined", &gradient(&flat)?, &times(|| gradient(&flat))?);
    Ok(())
}
