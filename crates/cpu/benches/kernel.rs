//! Measures fused kernels, run by the interpreter and as generated code, on one thread and on two.
//!
//! `cargo bench -p gradus-cpu --bench kernel`

use gradus_compile::compile;
use gradus_cpu::{Argument, Executable, Pool};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::reduce::Max;
use gradus_ir::{Aval, DType, Graph, transform};
use gradus_mem::Storage;
use std::time::{Duration, Instant};

/// Time for which a measurement is repeated.
const TIME_LIMIT: Duration = Duration::from_millis(400);

fn graph(inputs: &[&[usize]], f: impl for<'g> Fn(&[Var<'g>]) -> Var<'g>) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = inputs
        .iter()
        .enumerate()
        .map(|(i, s)| b.input(&format!("x{i}"), Aval::new(DType::F32, *s)))
        .collect();
    b.finish(&[f(&ins)]).unwrap()
}

fn gelu<'g>(x: &[Var<'g>]) -> Var<'g> {
    let x = x[0];
    let y = x * 1.5 + 0.25;
    let inner = (y + y * y * y * 0.044715) * 0.797_884_560_802_865_4;
    y * 0.5 * (inner.tanh() + 1.0) * 0.75 + x
}

fn spread<'g>(row: Var<'g>, like: Var<'g>) -> Var<'g> {
    row.spread(&[1], &like.shape())
}

fn softmax<'g>(x: &[Var<'g>]) -> Var<'g> {
    let top = x[0].builder().apply1(Max { axes: vec![1] }, &[x[0]]);
    let e = (x[0] - spread(top, x[0])).exp();
    e / spread(e.sum(&[1]), e)
}

fn softmax_grad<'g>(x: &[Var<'g>]) -> Var<'g> {
    let (y, g) = (x[0], x[1]);
    y * (g - spread((y * g).sum(&[1]), y))
}

fn layer_norm<'g>(x: &[Var<'g>]) -> Var<'g> {
    let n = 1.0 / x[0].shape()[1] as f64;
    let centred = x[0] - spread(x[0].sum(&[1]) * n, x[0]);
    let variance = (centred * centred).sum(&[1]) * n;
    let normal = centred * spread((variance + 1e-5).rsqrt(), centred);
    let shape = x[0].shape();
    normal * x[1].broadcast_to(&shape) + x[2].broadcast_to(&shape)
}

/// Returns the seconds of a run: the shortest of many.
fn seconds(executable: &Executable, pool: &Pool, inputs: &[Storage]) -> f64 {
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < TIME_LIMIT {
        let mut arguments = inputs.iter().map(|s| Argument { storage: s.clone(), offset: 0 }).collect();
        let begin = Instant::now();
        executable.run(pool, &mut arguments).unwrap();
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best
}

fn row(name: &str, graph: &Graph, pools: &[Pool]) {
    let plan = compile(graph, &gradus_cpu::PROFILE).unwrap();
    let steps = plan.steps.len();
    let begin = Instant::now();
    let plain = Executable::interpreted(plan.clone()).unwrap();
    let without = begin.elapsed();
    let begin = Instant::now();
    let native = Executable::of(plan).unwrap();
    let compiling = begin.elapsed().saturating_sub(without);
    let inputs: Vec<Storage> = graph
        .input_avals()
        .iter()
        .map(|a| {
            let n = a.shape.numel();
            let storage = Storage::zeroed(4 * n).unwrap();
            let x: Vec<f32> = (0..n).map(|i| (i * 7919 % 1000) as f32 * 0.004 - 2.0).collect();
            // SAFETY: the storage is new and has this size.
            unsafe { storage.as_ptr().cast::<f32>().copy_from_nonoverlapping(x.as_ptr(), n) };
            storage
        })
        .collect();
    let avals = graph.input_avals().into_iter().chain(graph.output_avals());
    let bytes: usize = avals.map(|a| 4 * a.shape.numel()).sum();
    print!("{name:<24} {steps} step{}", if steps == 1 { " " } else { "s" });
    for pool in pools {
        let (before, after) = (seconds(&plain, pool, &inputs), seconds(&native, pool, &inputs));
        let rate = bytes as f64 / after * 1e-9;
        print!("  {:>9.1} {:>9.1} {:>5.2}× {rate:>6.1}", before * 1e6, after * 1e6, before / after);
    }
    println!("  {:>6.0}", compiling.as_secs_f64() * 1e6);
}

fn main() {
    let pools = [Pool::new(1), Pool::new(2)];
    println!(
        "µs interpreted, µs generated, ratio, GB/s of inputs and outputs: one thread, two; µs to generate"
    );
    row("gelu 64K", &graph(&[&[1 << 16]], gelu), &pools);
    row("gelu 4M", &graph(&[&[1 << 22]], gelu), &pools);
    row("add 64K", &graph(&[&[1 << 16], &[1 << 16]], |x| x[0] + x[1]), &pools);
    row("add 4M", &graph(&[&[1 << 22], &[1 << 22]], |x| x[0] + x[1]), &pools);
    for rows in [256, 4096] {
        println!("[{rows}, 1024]");
        let matrix = [rows, 1024];
        row("softmax", &graph(&[&matrix], softmax), &pools);
        row("softmax gradient", &graph(&[&matrix, &matrix], softmax_grad), &pools);
        let norm = graph(&[&matrix, &[1024], &[1024]], layer_norm);
        row("layer norm", &norm, &pools);
        row("layer norm gradient", &transform::vjp(&norm, &[0]).unwrap(), &pools);
        row("all its gradients", &transform::vjp(&norm, &[0, 1, 2]).unwrap(), &pools);
        row("sum of columns", &graph(&[&matrix], |x| x[0].sum(&[0])), &pools);
    }
}
