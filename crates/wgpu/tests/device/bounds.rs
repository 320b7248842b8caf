//! Tests bounds: for any index value, the device returns the CPU's result or the CPU's error; temporaries that exceed a binding
//! are in several buffers.

use crate::common::{Random, arguments, gpu, numbers, options, read};
use gradus_compile::Text;
use gradus_cpu::evaluate;
use gradus_device::{Device, Request};
use gradus_ir::graph::Builder;
use gradus_ir::ops::Combine;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::{Aval, DType, Graph, Literal};
use gradus_wgpu::{Gpu, Options};

fn run(gpu: &Gpu, graph: &Graph, inputs: &[Literal], text: Text) -> gradus_ir::Result<Vec<Literal>> {
    let program = gpu.program(graph, &Request { layouts: &[], keeps: &[], text })?;
    let given: Vec<_> = inputs.iter().map(|l| gpu.upload(&l.to_bytes()).expect("memory")).collect();
    let out = program.run(&mut arguments(&given.iter().collect::<Vec<_>>()), None)?;
    let parts: Vec<_> = out.iter().map(|s| (s, 0..s.len_bytes())).collect();
    let all = gpu.read(&parts).wait()?;
    let literal = |(s, a): (&gradus_mem::Storage, &Aval)| {
        Literal::from_bytes(a, s.host().expect("on the host")).expect("all bytes")
    };
    Ok(all.iter().zip(&graph.output_avals()).map(literal).collect())
}

/// Gathers and scatters at random indices of every dtype; most are in range, some have any value. The result or the error
/// must be that of the CPU. A tensor next to the operands in memory must keep its bytes.
#[test]
fn any_index_value() {
    let Some(gpu) = gpu(&options()) else { return };
    let mut random = Random::new(5);
    let (mut failed, mut passed) = (0, 0);
    for round in 0..60 {
        let (rows, n) = (1 + random.below(40), 1 + random.below(70));
        let dtype = [DType::I64, DType::I32, DType::U8, DType::I8, DType::U32][round % 5];
        let b = Builder::new();
        let table = b.input("table", Aval::new(DType::F32, [rows, 3]));
        let index = b.input("index", Aval::new(dtype, [n]));
        let updates = b.input("updates", Aval::new(DType::F32, [n, 3]));
        let out = match round % 3 {
            0 => table.take(index, 0),
            1 => table.scatter(index, updates, 0, Some(Combine::Sum)),
            _ => table.scatter(index, updates, 0, None),
        };
        let graph = b.finish(&[out]).expect("a graph");
        // In half of the runs, one index has any value.
        let wild = (round % 2 == 0).then(|| random.below(n));
        let ends = [i64::MIN, i64::MAX, -1, rows as i64, 1 << 32, (1 << 32) - 1, 1 << 31, -(1 << 31)];
        let value = |i: usize, random: &mut Random| match wild {
            Some(at) if at == i && random.below(2) == 0 => ends[random.below(ends.len())],
            Some(at) if at == i => random.next() as i64,
            _ => random.below(rows) as i64,
        };
        let all = (0..n).map(|i| value(i, &mut random)).collect();
        let index = Literal::ints(DType::I64, [n], all).expect("indices").cast(dtype);
        let inputs = [numbers(&[rows, 3], 1), index, numbers(&[n, 3], 2)];
        let neighbour = random.bytes(4096);
        let kept = gpu.upload(&neighbour).expect("memory");
        let text = if round % 4 < 2 { Text::Generic } else { Text::Special };
        match (evaluate(&graph, &inputs), run(&gpu, &graph, &inputs, text)) {
            (Ok(expected), Ok(found)) => {
                passed += 1;
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
                assert!(expected[0].f().iter().zip(found[0].f()).all(close), "{expected:?}\n{found:?}");
            }
            (Err(expected), Err(found)) => {
                failed += 1;
                assert_eq!(found.to_string(), expected.to_string());
            }
            (expected, found) => panic!("{expected:?} on the CPU, {found:?} here"),
        }
        assert!(read(&*gpu, &kept) == neighbour, "another tensor has changed");
    }
    assert!(failed > 10 && passed > 30, "{failed} of {} failed", failed + passed);
}

/// Tests four values of 6 MB that are needed at the same time, with bindings of 8 MiB.
#[test]
fn temporaries_in_several_buffers() {
    let small = Options { binding: 8 << 20, ..options() };
    let (Some(small), Some(large)) = (gpu(&small), gpu(&options())) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [1500, 1000]));
    let running = |x, axis, reverse| b.apply1(Cumulate { combine: Combine::Max, axis, reverse }, &[x]);
    let (p, q) = (running(x, 0, false), running(x, 1, true));
    let (r, s) = (running(p, 1, false), running(q, 0, true));
    let graph = b.finish(&[(p + q * 0.5 + r * 0.25 + s * 0.125).sum(&[1])]).expect("a graph");
    let inputs = [numbers(&[1500, 1000], 3)];
    let expected = run(&large, &graph, &inputs, Text::Special).expect("one buffer");
    assert_eq!(run(&small, &graph, &inputs, Text::Special).expect("several buffers"), expected);
    let found = evaluate(&graph, &inputs).expect("the CPU");
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * a.abs();
    assert!(found[0].f().iter().zip(expected[0].f()).all(close));
    // A value that is larger than a binding is rejected, with its size.
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [3 << 20]));
    let graph = b.finish(&[x + x]).expect("a graph");
    let request = Request { layouts: &[], keeps: &[], text: Text::Special };
    let error = small.program(&graph, &request).expect_err("too large");
    let text = error.to_string();
    assert!(text.contains("12582912 bytes is larger than the device's largest binding of 8388608"), "{text}");
}
