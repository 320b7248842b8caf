//! Compares kernels over unusual layouts and sizes on a software adapter with the reference. Results must be within the
//! bounds of the ops.

use crate::common::{Gpu, attention, limits, planned};
use gradus_compile::{BufferLocation, Text};
use gradus_gpu::{Barriers, Command, Dialect, GpuProgram, Limits, SMALL, translate, translate_with_checks};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::fft::Fft;
use gradus_ir::ops::reduce::{ArgMax, Max};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::source::RandomBits;
use gradus_ir::ops::{Bound, Combine, Form, movement};
use gradus_ir::reference::evaluate;
use gradus_ir::{Aval, C, DType, Graph, Literal, Op};
use gradus_testkit::compare::{Allowed, compare, largest, ulp};
use gradus_testkit::random::Random;
use std::sync::Arc;

/// Inputs of a graph: dtypes and shapes.
type Inputs<'a> = &'a [(DType, &'a [usize])];

fn graph(inputs: Inputs<'_>, build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = inputs.iter().map(|(d, s)| b.input("x", Aval::new(*d, *s))).collect();
    b.finish(&build(&b, &ins)).expect("a graph")
}

/// Returns the sum of the bounds of all ops of a graph.
fn bounds(graph: &Graph) -> f64 {
    let one = |op: &Op| match op.def().bound() {
        Bound::Exact => 0.0,
        Bound::Ulps(n) | Bound::Terms(n) | Bound::Largest(n) => n,
    };
    let all = |n: &gradus_ir::graph::Node| {
        let ins: Vec<Aval> = n.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        match n.op.def().form(&ins) {
            Form::Scan(scan) => bounds(&scan.body) * scan.length as f64,
            Form::Region(body) => bounds(&body),
            _ => one(&n.op),
        }
    };
    graph.nodes().iter().map(all).sum()
}

/// Compares a graph on the adapter with the reference in both kinds of text, with and without barriers. Errors may be at
/// most the bounds of the ops times the largest value times `terms`, the number of terms of the longest sum whose terms
/// have both signs.
pub(crate) fn check(name: &str, graph: &Graph, terms: f64) {
    let mut random = Random::new(7);
    let inputs: Vec<Literal> = graph.input_avals().iter().map(|a| random.literal(a)).collect();
    let expected = evaluate(graph, &inputs).expect("a value");
    for barriers in [Barriers::Cheap, Barriers::Expensive] {
        for text in [Text::Generic, Text::Special] {
            let found = Gpu::get().evaluate(graph, &inputs, &limits(barriers), text).expect("a program");
            let found = found.unwrap_or_else(|why| panic!("{name}: {why}"));
            for (e, f) in expected.iter().zip(&found) {
                let scale = inputs.iter().map(largest).fold(largest(e), f64::max);
                let each = vec![bounds(graph) * e.dtype().epsilon() * scale * terms; e.data().len()];
                let close = compare(e, f, Allowed::Each(&each));
                close.unwrap_or_else(|d| panic!("{name}, {barriers:?}, {text:?}: {d}"));
            }
        }
    }
}

const F: DType = DType::F32;

#[test]
fn products_of_odd_sizes() {
    let sizes = [
        (1, 1, 1),
        (4, 4, 4),
        (5, 7, 3),
        (64, 64, 16),
        (65, 66, 17),
        (33, 130, 70),
        (128, 256, 64),
        (3, 200, 50),
    ];
    for (m, n, k) in sizes {
        // Each operand row-major, and transposed.
        for (a, b) in [("ik", "kj"), ("ki", "kj"), ("ik", "jk"), ("ki", "jk")] {
            let shape = |labels: &str| -> Vec<usize> {
                labels.chars().map(|l| [m, k, n]["ikj".find(l).expect("a label")]).collect()
            };
            let (sa, sb) = (shape(a), shape(b));
            let g = graph(&[(F, &sa), (F, &sb)], |_, x| vec![x[0].dot(x[1], a, b, "ij")]);
            check(&format!("{a},{b} {m}x{n}x{k}"), &g, k as f64);
        }
    }
}

#[test]
fn products_with_batches_and_other_dtypes() {
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let g = graph(&[(dtype, &[3, 2, 40, 24]), (dtype, &[3, 2, 24, 36])], |_, x| {
            vec![x[0].dot(x[1], "abik", "abkj", "abij")]
        });
        check(&format!("batches of {dtype}"), &g, 24.0);
        let g = graph(&[(dtype, &[5, 40, 24]), (dtype, &[24, 36])], |_, x| {
            vec![x[0].dot(x[1], "aik", "kj", "aij")]
        });
        check(&format!("one batch of {dtype}"), &g, 24.0);
    }
    // A matrix times a vector, and a sum over all axes.
    let g = graph(&[(F, &[300, 500]), (F, &[500])], |_, x| vec![x[0].dot(x[1], "ik", "k", "i")]);
    check("a matrix and a vector", &g, 500.0);
    let g = graph(&[(F, &[5000]), (F, &[5000])], |_, x| vec![x[0].dot(x[1], "k", "k", "")]);
    check("two vectors", &g, 5000.0);
}

#[test]
fn products_with_fused_kernels() {
    for (m, n) in [(64, 64), (33, 50), (7, 12), (130, 128)] {
        for dtype in [F, DType::BF16] {
            let g = graph(&[(F, &[m, 20]), (F, &[20, n]), (F, &[n])], |_, x| {
                let y = x[0].dot(x[1], "ik", "kj", "ij") + x[2].broadcast_to(&[m, n][..].into());
                vec![y.tanh().to(dtype), y]
            });
            check(&format!("bias and tanh of {m}x{n} to {dtype}"), &g, 20.0);
        }
    }
    // Few tiles and a long sum.
    let g = graph(&[(F, &[64, 512]), (F, &[512, 100]), (F, &[100])], |_, x| {
        let y = x[0].dot(x[1], "ik", "kj", "ij") + x[2].broadcast_to(&[64, 100][..].into());
        vec![y.tanh().to(DType::BF16), y]
    });
    check("a long sum with a fused kernel", &g, 512.0);
    // The result of the product is used by another step.
    let g = graph(&[(F, &[40, 20]), (F, &[20, 36])], |_, x| {
        let y = x[0].dot(x[1], "ik", "kj", "ij");
        vec![y.exp(), y.dot(x[1], "ij", "kj", "ik")]
    });
    check("a product used twice", &g, 200.0);
}

#[test]
fn layouts() {
    for dtype in [F, DType::BF16, DType::U8, DType::I64, DType::C64, DType::Bool] {
        for (m, n) in [(4, 8), (5, 7), (1, 9), (16, 1)] {
            let g = graph(&[(dtype, &[m, n])], |_, x| vec![x[0].permute(&[1, 0])]);
            check(&format!("transposed {dtype} {m}x{n}"), &g, 1.0);
            let g = graph(&[(dtype, &[m, n])], |_, x| vec![x[0].flip(&[0, 1])]);
            check(&format!("flipped {dtype} {m}x{n}"), &g, 1.0);
            let g = graph(&[(dtype, &[n])], |_, x| vec![x[0].broadcast_to(&[m, n][..].into())]);
            check(&format!("repeated {dtype} {m}x{n}"), &g, 1.0);
            let g = graph(&[(dtype, &[m, n + 3])], |_, x| vec![x[0].slice_axis(1, 1, n + 1)]);
            check(&format!("a slice {dtype} {m}x{n}"), &g, 1.0);
            let g = graph(&[(dtype, &[m, n])], |_, x| vec![x[0].pad(vec![1, -1], vec![2, 3], vec![0, 0])]);
            check(&format!("padded {dtype} {m}x{n}"), &g, 1.0);
            let g = graph(&[(dtype, &[m, n]), (dtype, &[m, 3])], |b, x| {
                vec![b.apply1(movement::Concat { axis: 1 }, &[x[0], x[1], x[0]])]
            });
            check(&format!("joined {dtype} {m}x{n}"), &g, 1.0);
        }
    }
}

#[test]
fn several_axes_and_broadcasts() {
    let g = graph(&[(F, &[3, 5, 7]), (F, &[5, 1]), (F, &[3, 1, 7])], |_, x| {
        let shape = &[3, 5, 7][..];
        let y = x[0].permute(&[2, 1, 0]).permute(&[2, 1, 0]) + x[1].broadcast_to(&shape.into());
        vec![y * x[2].broadcast_to(&shape.into())]
    });
    check("three axes", &g, 4.0);
    let g = graph(&[(F, &[2, 3, 4, 5, 6])], |_, x| vec![x[0].permute(&[4, 2, 0, 3, 1])]);
    check("five axes", &g, 1.0);
    let g = graph(&[(F, &[6, 8])], |b, x| vec![x[0] + b.iota(F, [6, 8], 1)]);
    check("an index", &g, 1.0);
}

#[test]
fn reductions() {
    for dtype in [F, DType::BF16] {
        for (m, n) in [(1, 1), (3, 5), (7, 64), (40, 100), (5, 300), (3, 5000), (2, 70_000)] {
            for axes in [&[0][..], &[1], &[0, 1]] {
                let g = graph(&[(dtype, &[m, n])], |_, x| vec![x[0].sum(axes)]);
                let most = axes.iter().map(|a| [m, n][*a]).product::<usize>();
                check(&format!("sums of {dtype} {m}x{n} along {axes:?}"), &g, most as f64);
                let g =
                    graph(&[(dtype, &[m, n])], |b, x| vec![b.apply1(Max { axes: axes.to_vec() }, &[x[0]])]);
                check(&format!("maxima of {dtype} {m}x{n} along {axes:?}"), &g, 1.0);
            }
        }
    }
}

#[test]
fn several_passes_over_a_row() {
    for dtype in [F, DType::BF16, DType::F16] {
        for (m, n) in [(3, 8), (5, 33), (4, 400), (2, 3000)] {
            for axis in [0, 1] {
                let g = graph(&[(dtype, &[m, n])], |b, x| {
                    let shape = &[m, n][..];
                    let wide = |v: Var<'_>| -> Vec<usize> {
                        (0..2).map(|a| if a == axis { 1 } else { v.shape()[0] }).collect()
                    };
                    let top = b.apply1(Max { axes: vec![axis] }, &[x[0]]);
                    let e = (x[0] - top.reshape(wide(top)).broadcast_to(&shape.into())).exp();
                    let sum = e.sum(&[axis]);
                    vec![e / sum.reshape(wide(sum)).broadcast_to(&shape.into())]
                });
                check(&format!("softmax of {dtype} {m}x{n} along {axis}"), &g, 4.0);
            }
        }
    }
}

#[test]
fn sorting() {
    for dtype in [F, DType::BF16, DType::I64, DType::U8] {
        for (shape, axis) in [(&[7][..], 0), (&[1000], 0), (&[3, 64], 1), (&[100, 5], 0), (&[2, 33, 3], 1)] {
            for descending in [false, true] {
                let g = graph(&[(dtype, shape)], |b, x| b.apply(Sort::all(axis, descending), &[x[0]]));
                check(&format!("sort {dtype} {shape:?} along {axis}, descending {descending}"), &g, 1.0);
            }
        }
    }
}

#[test]
fn running_combinations() {
    for dtype in [F, DType::BF16, DType::I32, DType::I64] {
        for (shape, axis) in [(&[5][..], 0), (&[4000], 0), (&[3, 1500], 1), (&[2100, 5], 0), (&[3, 40, 7], 1)]
        {
            for reverse in [false, true] {
                for combine in [Combine::Sum, Combine::Max] {
                    let g = graph(&[(dtype, shape)], |b, x| {
                        vec![b.apply1(Cumulate { combine, axis, reverse }, &[x[0]])]
                    });
                    let name = format!("{combine:?} of {dtype} {shape:?} along {axis}, reverse {reverse}");
                    check(&name, &g, 1.0);
                }
            }
        }
    }
}

/// A dispatch in two dimensions may have more groups than the kernel has tiles. These groups must not write.
#[test]
fn more_groups_than_tiles() {
    let limits = Limits { groups: 5, ..limits(Barriers::Cheap) };
    let product = graph(&[(F, &[7, 64, 32]), (F, &[7, 32, 64]), (F, &[64, 64])], |_, x| {
        vec![x[0].dot(x[1], "bik", "bkj", "bij"), x[2] * 2.0]
    });
    let program = with_limits(&product, &limits, 32.0);
    let groups = |c: &Command| matches!(c, Command::Dispatch { groups: [4, 2, 1], .. });
    assert!(program.commands.iter().any(groups), "8 groups for 7 tiles");
    let forward = attention([17, 64, 64, 8], true);
    let program = with_limits(&forward, &limits, 1.0);
    let groups = |c: &Command| matches!(c, Command::Dispatch { groups: [5, 4, 1], .. });
    assert!(program.commands.iter().any(groups), "20 groups for 17 tiles");
}

#[test]
fn fourier_transforms() {
    let lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 30, 97, 100, 128, 210, 1009, 1024, 4096];
    for inverse in [false, true] {
        for n in lengths {
            let g = graph(&[(DType::C64, &[2, n])], |b, x| vec![b.apply1(Fft { axis: 1, inverse }, &[x[0]])]);
            check(&format!("lines of {n}, inverse {inverse}"), &g, 1.0);
        }
        for n in [12, 13, 64] {
            let shape = [3, n, 5];
            let g = graph(&[(DType::C64, &shape)], |b, x| vec![b.apply1(Fft { axis: 1, inverse }, &[x[0]])]);
            check(&format!("an inner axis of {n}, inverse {inverse}"), &g, 1.0);
        }
    }
}

#[test]
fn positions_of_the_largest() {
    for dtype in [F, DType::BF16, DType::U8] {
        for (shape, axis) in
            [(&[5][..], 0), (&[4000], 0), (&[30, 100], 1), (&[300, 7], 0), (&[2, 2000, 3], 1)]
        {
            let g = graph(&[(dtype, shape)], |b, x| vec![b.apply1(ArgMax { axis }, &[x[0]])]);
            check(&format!("argmax of {dtype} {shape:?} along {axis}"), &g, 1.0);
        }
    }
}

/// Replaces the divisions inside of complex divisions by divisions with an error of two units in the last place, which
/// devices may have.
fn with_bad_divisions(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let mut out = String::from(
        "fn f_bad(a: f32, b: f32) -> f32 {\n  let q = a / b;\n  return select(q, bitcast<f32>(bitcast<u32>(q) + 2u), q != 0.0f);\n}\n",
    );
    let mut inside = false;
    for line in text.lines() {
        inside |= ["fn c_over(", "fn f_quotient(", "fn c_div("].iter().any(|f| line.starts_with(f));
        inside &= line != "}";
        let mut line = line.to_string();
        while let Some(at) = line.find(" / ").filter(|_| inside) {
            let start = line[..at].rfind(|c| !is_name(c)).map_or(0, |k| k + 1);
            let end = at + 3 + line[at + 3..].find(|c| !is_name(c)).unwrap_or(line.len() - at - 3);
            let (a, b) = (&line[start..at], &line[at + 3..end]);
            if a.is_empty() {
                break;
            }
            line = format!("{}f_bad({a}, {b}){}", &line[..start], &line[end..]);
        }
        out += &line;
        out += "\n";
    }
    out
}

/// Tests complex quotients on devices that do not round quotients correctly. They are within one unit in the last place,
/// because a remainder corrects each part.
#[test]
fn complex_quotients_where_divisions_are_inexact() {
    let mut random = Random::new(11);
    let n = 4096;
    let part = |random: &mut Random| random.normal() * 2f64.powi(random.below(80) as i32 - 40);
    let dividend: Vec<C> = (0..n).map(|_| C::new(part(&mut random), part(&mut random))).collect();
    let divisor = |i: usize, random: &mut Random| match i % 3 {
        0 => C::new(part(random), 0.0),
        1 => C::new(0.0, part(random)),
        _ => C::new(random.normal(), random.normal()),
    };
    let divisors: Vec<C> = (0..n).map(|i| divisor(i, &mut random)).collect();
    let literal = |v: Vec<C>| Literal::new(Aval::new(DType::C64, [n]), v).expect("a literal").rounded();
    let inputs = [literal(dividend), literal(divisors)];
    let quotient = graph(&[(DType::C64, &[n]), (DType::C64, &[n])], |_, x| vec![x[0] / x[1]]);
    let inverse = graph(&[(DType::C64, &[n])], |_, x| vec![x[0].reciprocal()]);
    for (g, inputs) in [(quotient, &inputs[..]), (inverse, &inputs[1..])] {
        let limits = limits(Barriers::Cheap);
        let plan = planned(&g, &limits).expect("a plan");
        let mut program = translate(&plan, &limits, Dialect::Wgsl, Text::Special).expect("a program");
        for module in &mut program.modules {
            let text = with_bad_divisions(&module.text);
            assert!(text.matches("f_bad(").count() > 2, "{text}");
            module.text = text;
        }
        let bytes: Vec<Vec<u8>> = inputs.iter().map(Literal::to_bytes).collect();
        let found = Gpu::get().run(&program, &bytes).expect("a result");
        let found = Literal::from_bytes(&g.output_avals()[0], &found[0]).expect("all bytes");
        let expected = evaluate(&g, inputs).expect("a value").remove(0);
        let each: Vec<f64> = expected.c().iter().map(|z| ulp(DType::C64, z.norm())).collect();
        compare(&expected, &found, Allowed::Each(&each)).unwrap_or_else(|d| panic!("{d}"));
    }
}

/// Runs a graph with these limits; returns the program and its results, compared with the reference.
pub(crate) fn with_limits(g: &Graph, limits: &Limits, terms: f64) -> GpuProgram {
    let mut random = Random::new(3);
    let inputs: Vec<Literal> = g.input_avals().iter().map(|a| random.literal(a)).collect();
    let plan = planned(g, limits).expect("a plan");
    let program = translate(&plan, limits, Dialect::Wgsl, Text::Special).expect("a program");
    assert!(
        program.commands.iter().all(|c| matches!(c, Command::Dispatch { .. })),
        "a step runs on the host"
    );
    let found = Gpu::get().evaluate(g, &inputs, limits, Text::Special).expect("a program").expect("a value");
    for (e, f) in evaluate(g, &inputs).expect("a value").iter().zip(&found) {
        let each = vec![bounds(g) * e.dtype().epsilon() * largest(e) * terms; e.data().len()];
        compare(e, f, Allowed::Each(&each)).unwrap_or_else(|d| panic!("{d}"));
    }
    program
}

/// Temporaries that together exceed a binding are in several pages, each of which is a buffer. Checks find an index out
/// of range in any page.
#[test]
fn temporaries_in_several_pages() {
    let n = 3000;
    let running = |reverse: bool| Cumulate { combine: Combine::Sum, axis: 1, reverse };
    let g = graph(&[(F, &[4, n]), (DType::I64, &[n])], |b, x| {
        let first = b.apply1(running(false), &[x[0]]);
        let second = b.apply1(running(true), &[x[0]]);
        let third = b.apply1(running(true), &[first * second]);
        let index = b.apply1(Cumulate { combine: Combine::Max, axis: 0, reverse: true }, &[x[1]]);
        vec![(first + third.take(index, 1)).sum(&[1]), second]
    });
    for barriers in [Barriers::Cheap, Barriers::Expensive] {
        // A page has space for one of the four temporaries.
        let limits = Limits { binding: 64 << 10, ..limits(barriers) };
        let program = with_limits(&g, &limits, (n * n) as f64);
        assert!(program.pages().len() > 2 && program.pages().iter().all(|p| *p <= 64 << 10));
        let one = Limits { pages: false, ..limits };
        assert_eq!(with_limits(&g, &one, (n * n) as f64).pages().len(), 1);
    }
}

/// Adapters bind few buffers to a kernel. Fusion stops before a kernel has too many large operands. If a single op has too
/// many, some are copied.
#[test]
fn more_operands_than_bindings() {
    let n = SMALL / 4 + 4;
    let limits = Limits { bindings: 8, ..limits(Barriers::Expensive) };
    let sum = graph(&[(F, &[n][..]); 9], |_, x| vec![x[1..].iter().fold(x[0], |sum, x| sum + *x)]);
    let program = with_limits(&sum, &limits, 9.0);
    assert_eq!(program.commands.len(), 2, "one kernel for five operands, one for the others");
    let joined = graph(&[(F, &[n][..]); 9], |b, x| vec![b.apply1(movement::Concat { axis: 0 }, x)]);
    let program = with_limits(&joined, &limits, 1.0);
    let bound = |c: &Command| matches!(c, Command::Dispatch { bindings, .. } if bindings.len() <= 8);
    assert!(program.commands.iter().all(bound));
}

/// Indices from 0 to 9, with many equal ones.
fn indices<'g>(b: &'g Builder, shape: &[usize], dtype: DType) -> Var<'g> {
    let n: usize = shape.iter().product();
    let all = (0..n as i64).map(|i| (i * i * 7 + i * 3) % 10).collect();
    b.constant(Literal::ints(dtype, shape, all).expect("a literal"))
}

#[test]
fn computed_indices() {
    for dtype in [F, DType::BF16, DType::U8, DType::C64] {
        for index in [DType::I64, DType::I32, DType::U8] {
            let g = graph(&[(dtype, &[10, 6])], |b, x| vec![x[0].take(indices(b, &[5, 7], index), 0)]);
            check(&format!("rows of {dtype} at {index}"), &g, 1.0);
            let g = graph(&[(dtype, &[3, 10])], |b, x| vec![x[0].take(indices(b, &[9], index), 1)]);
            check(&format!("columns of {dtype} at {index}"), &g, 1.0);
            for combine in [None, Some(Combine::Sum), Some(Combine::Max)] {
                if dtype == DType::C64 && combine == Some(Combine::Max) {
                    continue;
                }
                let g = graph(&[(dtype, &[3, 10, 2]), (dtype, &[3, 41, 2])], |b, x| {
                    vec![x[0].scatter(indices(b, &[41], index), x[1], 1, combine)]
                });
                check(&format!("{combine:?} of {dtype} at {index}"), &g, 41.0);
            }
        }
    }
}

#[test]
fn convolutions() {
    for dtype in [F, DType::BF16] {
        for (stride, low, base, window) in
            [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2), (3, -1, 2, 2)]
        {
            let g = graph(&[(dtype, &[2, 2, 3, 9, 11]), (dtype, &[2, 4, 3, 3, 2])], |b, x| {
                let conv = Conv {
                    stride: vec![stride, 1],
                    low: vec![low, 0],
                    high: vec![low, 1],
                    base_dilation: vec![base, 1],
                    window_dilation: vec![window, 1],
                };
                vec![b.apply1(conv, &[x[0], x[1]])]
            });
            check(&format!("{dtype}, stride {stride}, low {low}, dilations {base} and {window}"), &g, 18.0);
        }
    }
}

/// Convolutions large enough for tiles, among them the shapes of both gradients of a convolution.
#[test]
fn convolutions_by_tiles() {
    for (dtype, n, channels, outputs, extent, window, stride, base) in [
        (F, 2, 8, 20, 9, 3, 1, 1),
        (F, 1, 5, 70, 12, 3, 2, 1),
        (F, 2, 16, 16, 5, 3, 1, 2),
        (F, 1, 3, 16, 11, 9, 1, 1),
        (F, 2, 130, 5, 4, 3, 1, 1),
        (DType::BF16, 2, 8, 20, 9, 3, 1, 1),
    ] {
        let g = graph(
            &[(dtype, &[n, 2, channels, extent, extent]), (dtype, &[2, outputs, channels, window, window])],
            |b, x| {
                let conv = Conv {
                    stride: vec![stride; 2],
                    low: vec![1; 2],
                    high: vec![1; 2],
                    base_dilation: vec![base; 2],
                    window_dilation: vec![1; 2],
                };
                vec![b.apply1(conv, &[x[0], x[1]])]
            },
        );
        let terms = channels * window * window;
        check(&format!("{outputs} of {channels} channels, window {window}, {dtype}"), &g, terms as f64);
    }
}

#[test]
fn random_words() {
    for n in [1, 3, 4, 1000] {
        let g = graph(&[(DType::U32, &[4])], |b, x| b.apply(RandomBits { shape: [n].into() }, &[x[0]]));
        check(&format!("{n} words"), &g, 1.0);
    }
}

/// Tests that an index out of range is reported with its position.
#[test]
fn indices_out_of_range() {
    let g = graph(&[(F, &[10]), (DType::I64, &[4])], |_, x| vec![x[0].take(x[1], 0)]);
    let x = Random::new(1).literal(&Aval::new(F, [10]));
    for (index, fails) in
        [([0, 9, 3, 3], false), ([0, 10, 3, 3], true), ([0, 1, 2, -1], true), ([1 << 32, 1, 2, 3], true)]
    {
        let index = Literal::ints(DType::I64, [4], index.to_vec()).expect("a literal");
        for barriers in [Barriers::Cheap, Barriers::Expensive] {
            let found =
                Gpu::get().evaluate(&g, &[x.clone(), index.clone()], &limits(barriers), Text::Generic);
            assert_eq!(found.is_err(), fails, "{index:?}");
        }
    }
}

/// Tests that the words of checks and other temporaries are disjoint, also if a program needs more checks than it may have.
#[test]
fn checks_beyond_the_largest_number_run_on_the_host() {
    let g = graph(&[(F, &[10, 3]), (DType::I64, &[4]), (F, &[4, 3])], |_, x| {
        let once = x[0].scatter(x[1], x[2], 0, None);
        let twice = once.tanh().scatter(x[1], x[2], 0, None);
        vec![twice.exp().scatter(x[1], x[2], 0, None)]
    });
    let limits = limits(Barriers::Cheap);
    let plan = planned(&g, &limits).expect("a plan");
    for most in 0..4 {
        let program =
            translate_with_checks(&plan, &limits, Dialect::Wgsl, Text::Special, most).expect("a program");
        let reasons = program.commands.iter().filter_map(|c| match c {
            Command::Host { why, .. } => Some(why.as_str()),
            Command::Dispatch { .. } => None,
        });
        let expected = vec!["the program has too many checks of indices"; 3 - most];
        assert_eq!(reasons.collect::<Vec<_>>(), expected, "at most {most}");
        assert_eq!(program.checks.len(), most);
        let bytes = |b: usize| match program.buffers[b].location {
            BufferLocation::Arena(at) => at..at + program.buffers[b].bytes(),
            _ => 0..0,
        };
        for word in program.checks.iter().map(|c| c.word) {
            let own = bytes(word);
            let overlaps = |b: &usize| *b != word && bytes(*b).start < own.end && own.start < bytes(*b).end;
            assert_eq!((0..program.buffers.len()).find(overlaps), None, "a buffer overlaps {own:?}");
        }
    }
}

/// Builds a loop whose slices are not aligned, with a product and a value that all iterations share. If `whole` is true,
/// the loop also has an op that needs complete buffers.
fn looped(length: usize, reverse: bool, whole: bool) -> Graph {
    let body = graph(&[(F, &[3, 3]), (F, &[5, 3]), (F, &[5, 3])], |b, x| {
        let h = (x[1].dot(x[0], "ik", "kj", "ij") + x[2]).tanh();
        let y = if whole {
            b.apply1(Cumulate { combine: Combine::Sum, axis: 0, reverse: false }, &[h])
        } else {
            h * 2.0
        };
        vec![h, y]
    });
    graph(&[(F, &[3, 3]), (F, &[5, 3]), (F, &[length, 5, 3])], |b, x| {
        let scan = Scan { body: Arc::new(body.clone()), shared: 1, carries: 1, length, reverse };
        b.apply(scan, x)
    })
}

#[test]
fn loops_of_known_length() {
    for length in [1, 2, 7] {
        for reverse in [false, true] {
            for whole in [false, true] {
                let g = looped(length, reverse, whole);
                check(&format!("{length} iterations, reverse {reverse}, whole {whole}"), &g, 40.0);
            }
        }
    }
}
