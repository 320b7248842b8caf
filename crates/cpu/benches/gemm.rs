//! Measures matrix products: prints the shortest of many times in a table. `cargo bench -p gradus-cpu --bench gemm`.

use gradus_cpu::gemm::{Operand, Output, Problem, Real, Strided};
use gradus_cpu::{Isa, Pool};
use half::bf16;
use std::time::{Duration, Instant};

/// Batch, m, n, k, and for A and B each true if it is stored transposed.
const SHAPES: &[(usize, usize, usize, usize, bool, bool)] = &[
    (1, 32, 512, 128, false, false),
    (1, 32, 128, 512, false, false),
    (1, 32, 128, 512, false, true),
    (1, 64, 64, 64, false, false),
    (1, 128, 128, 128, false, false),
    (1, 512, 512, 512, false, false),
    (1, 1024, 1024, 1024, false, false),
    (1, 2048, 2048, 2048, false, false),
    (64, 128, 64, 128, false, false),
    (1, 256, 512, 784, false, false),
    (1, 784, 512, 256, true, false),
    (1, 128, 512, 2048, true, false),
    (1, 512, 128, 2048, true, false),
    (1, 256, 784, 512, false, true),
    (1, 2048, 512, 128, false, false),
    (1, 2048, 128, 512, false, false),
    (1, 2048, 384, 128, false, false),
    (1, 32, 200, 30, false, false),
    (1, 8, 1024, 1024, false, false),
    (1, 8, 1024, 1024, false, true),
    (1, 1, 1024, 1024, false, false),
    (1, 1, 1024, 1024, false, true),
    (1, 2048, 10, 128, false, false),
    (1, 16, 16, 65536, true, false),
];

/// Time limit of each cell of the table.
const TIME_LIMIT: Duration = Duration::from_millis(100);

fn main() {
    let pools = [Pool::new(1), Pool::new(2), Pool::new(Pool::global().threads())];
    let threads: Vec<String> = pools.iter().map(|pool| format!("{} threads", pool.threads())).collect();
    println!("Gflop/s, best of many");
    println!("{:<34} {:>9} {:>12} {:>12} {:>12}", "", "", threads[0], threads[1], threads[2]);
    for &shape in SHAPES {
        for &isa in Isa::available() {
            if isa == isa.vectors() {
                row::<f32>("f32", shape, isa, &pools, 0.5, 0.5);
            }
            row::<bf16>("bf16", shape, isa, &pools, bf16::from_f32(0.5), 0.5);
        }
        row::<f64>("f64", shape, Isa::best(), &pools, 0.5, 0.5);
    }
    let start = Instant::now();
    (0..10_000).for_each(|_| pools[1].run(2, &|_| {}));
    println!("an empty job on 2 threads: {:.2} µs", start.elapsed().as_secs_f64() * 100.0);
}

fn row<T: Real>(
    name: &str,
    shape: (usize, usize, usize, usize, bool, bool),
    isa: Isa,
    pools: &[Pool],
    fill: T,
    zero: T::Sum,
) {
    let (batch, m, n, k, turned_a, turned_b) = shape;
    let (a, b) = (vec![fill; batch * m * k], vec![fill; batch * k * n]);
    let mut c = vec![zero; batch * m * n];
    let strided = |data: &[T], lanes: usize, across: bool| {
        let (lane, depth) = if across { (1, lanes as isize) } else { (k as isize, 1) };
        Operand::Strided(Strided { data: data.as_ptr(), batch: (lanes * k) as isize, lane, depth })
    };
    let (a, b) = (strided(&a, m, turned_a), strided(&b, n, !turned_b));
    let output = Output { data: c.as_mut_ptr(), batch: (m * n) as isize, row: n as isize };
    let problem = Problem { batch, m, n, k, a, b, c: output, accumulate: false, finish: None };
    let speeds: Vec<String> = pools
        .iter()
        .map(|pool| {
            let (start, mut best) = (Instant::now(), Duration::MAX);
            while start.elapsed() < TIME_LIMIT {
                let one = Instant::now();
                // SAFETY: the matrices have these extents and strides, and no other thread accesses C.
                unsafe { T::gemm(pool, isa, &problem) };
                best = best.min(one.elapsed());
            }
            format!("{:>12.1}", (2 * batch * m * n * k) as f64 / best.as_secs_f64() / 1e9)
        })
        .collect();
    let letter = |turned: bool| if turned { 'T' } else { 'N' };
    let letters = format!("{}{}", letter(turned_a), letter(turned_b));
    println!(
        "{name:<4} {batch:>3} x {m:>4}x{n:>4}x{k:>5} {letters:<9} {:>9} {}",
        format!("{isa:?}"),
        speeds.join(" ")
    );
}
