//! Prints the nanoseconds per element of the loops on a tile of 1024 elements, for each instruction set of this machine.
//!
//! `cargo bench -p gradus-cpu --bench vector`

use gradus_cpu::Isa;
use gradus_cpu::vector::{Convert, Loops, conversions_on, loops_on};
use std::hint::black_box;
use std::time::Instant;

const TILE: usize = 1024;

/// Returns the shortest time of several rounds, because the machine may be busy.
fn nanoseconds(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..20 {
            run();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (20 * TILE) as f64);
    }
    best
}

/// Prints a line of the table: `figure` for each instruction set.
fn row(name: &str, figure: impl Fn(Isa) -> f64) {
    print!("{name:>12}");
    for isa in Isa::available() {
        print!("{:>10.3}", figure(*isa));
    }
    println!();
}

fn conversion<T: Clone + Default, U: Clone + Default>(name: &str, pick: impl Fn(Isa) -> Convert<T, U>) {
    let x = vec![T::default(); TILE];
    row(name, |isa| {
        let (f, mut y) = (pick(isa), vec![U::default(); TILE]);
        // SAFETY: both have the length of a tile and do not overlap.
        nanoseconds(|| unsafe { f(black_box(x.as_ptr()), y.as_mut_ptr(), TILE) })
    });
}

fn table<T: gradus_cpu::vector::Element + Default>(from: impl Fn(usize) -> T) {
    let x: Vec<T> = (0..TILE).map(from).collect();
    let b: Vec<T> = x.iter().rev().copied().collect();
    let (x, b) = (x.as_ptr(), b.as_ptr());
    let loops = |isa| -> &'static Loops<T> { loops_on(isa).unwrap() };
    let (unary, binary) = loops(Isa::Portable).names();
    for name in unary {
        row(name, |isa| {
            let (f, mut y) = (loops(isa).unary(name).unwrap(), vec![T::default(); TILE]);
            // SAFETY: both have the length of a tile and do not overlap.
            nanoseconds(|| unsafe { f(black_box(x), y.as_mut_ptr(), TILE) })
        });
    }
    for name in binary {
        row(name, |isa| {
            let (f, mut y) = (loops(isa).binary(name).unwrap(), vec![T::default(); TILE]);
            // SAFETY: all have the length of a tile and do not overlap.
            nanoseconds(|| unsafe { (f.vv)(black_box(x), b, y.as_mut_ptr(), TILE) })
        });
    }
    row("lt", |isa| {
        let (f, mut y) = (loops(isa).compare("lt").unwrap(), vec![0; TILE]);
        // SAFETY: all have the length of a tile and do not overlap.
        nanoseconds(|| unsafe { (f.vv)(black_box(x), b, y.as_mut_ptr(), TILE) })
    });
    row("fma", |isa| {
        let (f, mut y) = (loops(isa).fma, vec![T::default(); TILE]);
        // SAFETY: all have the length of a tile, and the result does not overlap the operands.
        nanoseconds(|| unsafe { (f.vvv)(black_box(x), b, x, y.as_mut_ptr(), TILE) })
    });
    row("select", |isa| {
        let (f, m, mut y) = (loops(isa).select, vec![1; TILE], vec![T::default(); TILE]);
        // SAFETY: all have the length of a tile and do not overlap.
        nanoseconds(|| unsafe { (f.vv)(black_box(m.as_ptr()), x, b, y.as_mut_ptr(), TILE) })
    });
    for (name, pick) in [
        ("sum", (|l| l.sum) as fn(&Loops<T>) -> unsafe fn(*const T, usize) -> T),
        ("max", |l| l.max),
        ("min", |l| l.min),
    ] {
        row(name, |isa| {
            let f = pick(loops(isa));
            // SAFETY: the operand has the length of a tile.
            nanoseconds(|| _ = black_box(unsafe { f(black_box(x), TILE) }))
        });
    }
    row("dot", |isa| {
        let f = loops(isa).dot;
        // SAFETY: both have the length of a tile.
        nanoseconds(|| _ = black_box(unsafe { f(black_box(x), b, TILE) }))
    });
}

fn main() {
    print!("{:>12}", "");
    for isa in Isa::available() {
        print!("{:>10}", format!("{isa:?}"));
    }
    println!("\nf32");
    // Ordinary numbers, positive because of logarithms.
    table(|i| 0.01 + i as f32 * 0.003);
    println!("f64");
    table(|i| 0.01 + i as f64 * 0.003);
    println!("conversions");
    let on = |isa| conversions_on(isa).unwrap();
    conversion("f32_f64", |isa| on(isa).f32_f64);
    conversion("f64_f32", |isa| on(isa).f64_f32);
    conversion("f32_bf16", |isa| on(isa).f32_bf16);
    conversion("bf16_f32", |isa| on(isa).bf16_f32);
    conversion("f32_f16", |isa| on(isa).f32_f16);
    conversion("f16_f32", |isa| on(isa).f16_f32);
    conversion("f32_i64", |isa| on(isa).f32_i64);
    conversion("f64_i64", |isa| on(isa).f64_i64);
    conversion("i64_f32", |isa| on(isa).i64_f32);
    conversion("mask_f32", |isa| on(isa).mask_f32);
}
