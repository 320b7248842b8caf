//! Prints the milliseconds of convolutions and their gradients, lookups, sorting and related ops: the shortest of several
//! rounds.
//!
//! `cargo bench -p gradus-cpu --bench routine`

use gradus_cpu::{Argument, Executable, Pool};
use gradus_ir::ops::Combine;
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::reduce::ArgMax;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::source::RandomBits;
use gradus_ir::ops::window::Fold;
use gradus_ir::{Aval, Builder, DType, Graph, Op, Var, transform};
use gradus_mem::Storage;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn graph_of(op: impl Into<Op>, ins: &[Aval]) -> Result<Graph, Failure> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = ins.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = b.apply(op, &ins);
    Ok(b.finish(&outs)?)
}

/// Makes numbers of any dtype; integers are below `most`.
fn filled(aval: &Aval, most: u64) -> Option<Storage> {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    match aval.dtype {
        DType::F32 => Storage::from_fn(aval.shape.numel(), |_| next() as f32 / (1u64 << 30) as f32 - 1.0),
        DType::I64 => Storage::from_fn(aval.shape.numel(), |_| (next() % most) as i64),
        _ => Storage::from_fn(aval.shape.numel(), |_| next() as u32),
    }
}

fn time(name: &str, graph: &Graph, most: u64) -> Result<(), Failure> {
    // A second argument selects the cases whose names contain it.
    if std::env::args().nth(2).is_some_and(|part| !name.contains(&part)) {
        return Ok(());
    }
    let executable = Executable::new(graph)?;
    let storages = graph.input_avals().iter().map(|a| filled(a, most)).collect::<Option<Vec<_>>>();
    let storages = storages.ok_or("memory")?;
    let mut best = f64::INFINITY;
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < 1.0 {
        let mut arguments = storages.iter().map(|s| Argument { storage: s.clone(), offset: 0 }).collect();
        let start = Instant::now();
        executable.run(Pool::global(), &mut arguments)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:>34} {:9.3} ms", best * 1e3);
    Ok(())
}

fn main() -> Result<(), Failure> {
    if let Some(threads) = std::env::args().nth(1) {
        Pool::global().set_threads(threads.parse()?);
    }
    let f32s = |shape: &[usize]| Aval::new(DType::F32, shape);
    for (n, c, h, o) in [(64, 32, 26, 64), (64, 1, 28, 32)] {
        let plain = Conv {
            stride: vec![1, 1],
            low: vec![0, 0],
            high: vec![0, 0],
            base_dilation: vec![1, 1],
            window_dilation: vec![1, 1],
        };
        let conv = graph_of(plain, &[f32s(&[n, 1, c, h, h]), f32s(&[1, o, c, 3, 3])])?;
        let name = format!("{n}x{c}x{h}x{h} to {o}");
        time(&name, &conv, 1)?;
        time(&format!("{name}, to input"), &transform::vjp(&conv, &[0])?, 1)?;
        time(&format!("{name}, to window"), &transform::vjp(&conv, &[1])?, 1)?;
    }
    let index = Aval::new(DType::I64, [8192]);
    let (table, rows) = (f32s(&[50_000, 512]), f32s(&[8192, 512]));
    time("look-up", &graph_of(Take { axis: 0 }, &[table.clone(), index.clone()])?, 50_000)?;
    let sum = Scatter { axis: 0, combine: Some(Combine::Sum) };
    time("sum into", &graph_of(sum, &[table, index, rows])?, 50_000)?;
    let x = f32s(&[1024, 4096]);
    time("sort", &graph_of(Sort::all(1, false), std::slice::from_ref(&x))?, 1)?;
    let sum = Cumulate { combine: Combine::Sum, axis: 1, reverse: false };
    time("running sum", &graph_of(sum, std::slice::from_ref(&x))?, 1)?;
    time("position of the largest", &graph_of(ArgMax { axis: 1 }, &[x])?, 1)?;
    let state = Aval::new(DType::U32, [4]);
    time("random words", &graph_of(RandomBits { shape: [1024, 4096].into() }, &[state])?, 1)?;
    let fold = Fold { extent: [26, 26].into(), size: vec![2, 2], stride: vec![2, 2], dilation: vec![1, 1] };
    time("fold", &graph_of(fold, &[f32s(&[64, 32, 13, 13, 2, 2])])?, 1)?;
    Ok(())
}
