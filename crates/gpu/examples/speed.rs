//! Measures the speed of kernels on the first Vulkan adapter: `cargo run --release -p gradus-gpu --example speed`.
//! Figures of software adapters do not predict those of GPUs.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Gpu, limits};
use gradus_gpu::{Barriers, Limits, profile};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::Combine;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::reduce::Max;
use gradus_ir::ops::sort::Sort;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, DType, Graph};

fn graph(
    inputs: &[(DType, &[usize])],
    build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>,
) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = inputs.iter().map(|(d, s)| b.input("x", Aval::new(*d, *s))).collect();
    b.finish(&build(&b, &ins)).expect("a graph")
}

const F: DType = DType::F32;

fn main() {
    // Compiles for the adapter's limit on bindings. With a larger limit, errors would occur at run time only.
    let limits = Limits { binding: Gpu::get().binding(), ..limits(Barriers::Cheap) };
    let show = |name: &str, graph: &Graph, work: f64, unit: &str, times: usize| match Gpu::get()
        .seconds(graph, &limits, times)
    {
        Ok(s) => println!("{name:32} {:10.3} ms {:10.1} {unit}/s", s * 1e3, work / s / 1e9),
        Err(why) => println!("{name:32} {why}"),
    };
    // With numbers of tokens as arguments, measures attention only: by its own kernels, and by products with the scores in
    // memory.
    let tokens: Vec<usize> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    for &n in &tokens {
        for (name, of) in [("kernels", "scaled_dot_product_attention"), ("products", "products")] {
            let mut profile = profile(&limits);
            // Otherwise attention of medium size is always computed by products.
            profile.scores.keys = usize::MAX;
            let forward = common::attention_as(of, [16, n, n, 64], true);
            let backward = vjp(&forward, &[0, 1, 2]).expect("a gradient");
            for (pass, graph) in [("forward", &forward), ("gradients", &backward)] {
                match Gpu::get().seconds_with(graph, &profile, &limits, 5) {
                    Ok(s) => println!("attention of {n:5} tokens, {name:8} {pass:9} {:10.2} ms", s * 1e3),
                    Err(why) => println!("attention of {n:5} tokens, {name:8} {pass:9} {why}"),
                }
            }
        }
    }
    if !tokens.is_empty() {
        return;
    }
    let n = 1 << 26;
    let bytes = n as f64 * 4.0;
    let g = graph(&[(F, &[n])], |_, x| vec![x[0] + 1.0]);
    show("copy and add 64M", &g, 2.0 * bytes, "GB", 10);
    let g = graph(&[(F, &[n])], |_, x| vec![x[0] * ((x[0] * 0.7).tanh() + 1.0) * 0.5]);
    show("gelu chain 64M", &g, 2.0 * bytes, "GB", 10);
    let g = graph(&[(DType::BF16, &[n])], |_, x| vec![x[0] * 2.0]);
    show("bf16 64M", &g, bytes, "GB", 10);
    let g = graph(&[(F, &[8192, 8192])], |_, x| vec![x[0].permute(&[1, 0]) + 1.0]);
    show("transpose 64M", &g, 2.0 * bytes, "GB", 10);
    let g = graph(&[(F, &[n])], |_, x| vec![x[0].sum(&[0])]);
    show("sum of 64M", &g, bytes, "GB", 10);
    let g = graph(&[(F, &[16384, 4096])], |_, x| vec![x[0].sum(&[1])]);
    show("sums of rows 16384x4096", &g, bytes, "GB", 10);
    let g = graph(&[(F, &[16384, 4096])], |_, x| vec![x[0].sum(&[0])]);
    show("sums of columns 16384x4096", &g, bytes, "GB", 10);
    for dtype in [F, DType::BF16] {
        let g = graph(&[(dtype, &[16384, 4096])], |b, x| {
            let shape = &[16384, 4096][..];
            let wide = |v: Var<'_>| -> Vec<usize> { vec![v.shape()[0], 1] };
            let top = b.apply1(Max { axes: vec![1] }, &[x[0]]);
            let e = (x[0] - top.reshape(wide(top)).broadcast_to(&shape.into())).exp();
            let sum = e.sum(&[1]);
            vec![e / sum.reshape(wide(sum)).broadcast_to(&shape.into())]
        });
        show(&format!("softmax {dtype} 16384x4096"), &g, 2.0 * bytes * dtype.size() as f64 / 4.0, "GB", 10);
    }
    for (m, k, n) in
        [(4096, 4096, 4096), (1024, 1024, 1024), (512, 512, 512), (64, 16384, 64), (4096, 768, 3072)]
    {
        for (a, b) in [("ik", "kj"), ("ki", "kj"), ("ik", "jk")] {
            let shape = |l: &str| -> Vec<usize> {
                l.chars().map(|c| [m, k, n]["ikj".find(c).expect("a label")]).collect()
            };
            let (sa, sb) = (shape(a), shape(b));
            let g = graph(&[(F, &sa), (F, &sb)], |_, x| vec![x[0].dot(x[1], a, b, "ij")]);
            show(&format!("product {m}x{k}x{n} {a},{b}"), &g, 2.0 * (m * k * n) as f64, "GFLOP", 5);
        }
    }
    let g = graph(&[(DType::BF16, &[4096, 4096]), (DType::BF16, &[4096, 4096])], |_, x| {
        vec![x[0].dot(x[1], "ik", "kj", "ij")]
    });
    show("product 4096 bf16", &g, 2.0 * 4096f64.powi(3), "GFLOP", 5);
    let g = graph(&[(F, &[50257, 768]), (DType::I64, &[8192])], |_, x| vec![x[0].take(x[1], 0)]);
    show("gather 8192 rows of 768", &g, 8192.0 * 768.0 * 8.0, "GB", 10);
    let g = graph(&[(F, &[50257, 768]), (DType::I64, &[8192]), (F, &[8192, 768])], |_, x| {
        vec![x[0].scatter(x[1], x[2], 0, Some(Combine::Sum))]
    });
    show("scatter 8192 rows of 768", &g, (50257.0 * 2.0 + 8192.0) * 768.0 * 4.0, "GB", 2);
    let g = graph(&[(F, &[1 << 20])], |b, x| b.apply(Sort::all(0, false), &[x[0]]));
    show("sort 1M", &g, (1 << 20) as f64, "G", 2);
    let g = graph(&[(F, &[1 << 24])], |b, x| {
        vec![b.apply1(Cumulate { combine: Combine::Sum, axis: 0, reverse: false }, &[x[0]])]
    });
    show("cumulative sum of 16M", &g, (1 << 24) as f64 * 8.0, "GB", 5);
}
