//! Tests the texts of kernels: naga accepts all WGSL, NVRTC accepts all CUDA C, and all threads reach every barrier. Some
//! texts are compared with files in `tests/out`; `GRADUS_UPDATE=1` rewrites the files.

use crate::common::{attention, limits};
use crate::nvrtc;
use gradus_compile::Text;
use gradus_gpu::{Barriers, Command, Dialect, GpuProgram, translate};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::Combine;
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::fft::Fft;
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::pointwise::cast::Cast;
use gradus_ir::ops::reduce::{ArgMax, Max};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::source::RandomBits;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, DType, Graph, ops};
use gradus_testkit::catalog::graph_of;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

fn graph(
    inputs: &[(DType, &[usize])],
    build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>,
) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = inputs.iter().map(|(d, s)| b.input("x", Aval::new(*d, *s))).collect();
    b.finish(&build(&b, &ins)).expect("a graph")
}

const F: DType = DType::F32;

/// Graphs whose kernels are compared with files.
fn kept() -> Vec<(&'static str, Graph)> {
    let softmax = |dtype: DType, m: usize, n: usize| {
        graph(&[(dtype, &[m, n])], |b, x| {
            let wide = |v: Var<'_>| -> Vec<usize> { vec![v.shape()[0], 1] };
            let shape = &[m, n][..];
            let top = b.apply1(Max { axes: vec![1] }, &[x[0]]);
            let e = (x[0] - top.reshape(wide(top)).broadcast_to(&shape.into())).exp();
            let sum = e.sum(&[1]);
            vec![e / sum.reshape(wide(sum)).broadcast_to(&shape.into())]
        })
    };
    vec![
        ("add", graph(&[(F, &[1024]), (F, &[1024])], |_, x| vec![x[0] + x[1]])),
        (
            "add_transposed",
            graph(&[(F, &[30, 50]), (F, &[50, 30])], |_, x| vec![x[0] + x[1].permute(&[1, 0])]),
        ),
        ("bf16_tanh", graph(&[(DType::BF16, &[333])], |_, x| vec![x[0].tanh()])),
        ("i64_division", graph(&[(DType::I64, &[64]), (DType::I64, &[64])], |_, x| vec![x[0] / x[1]])),
        ("c64_product", graph(&[(DType::C64, &[64]), (DType::C64, &[64])], |_, x| vec![x[0] * x[1]])),
        ("compare", graph(&[(F, &[100]), (F, &[100])], |_, x| vec![x[0].lt(x[1])])),
        (
            "concat",
            graph(&[(F, &[8, 3]), (F, &[8, 5])], |b, x| vec![b.apply1(Concat { axis: 1 }, &[x[0], x[1]])]),
        ),
        ("sum_rows", graph(&[(F, &[50, 600])], |_, x| vec![x[0].sum(&[1])])),
        ("sum_columns", graph(&[(F, &[600, 50])], |_, x| vec![x[0].sum(&[0])])),
        ("attention", attention([4, 300, 300, 4], false)),
        (
            "convolution",
            graph(&[(F, &[2, 1, 4, 9, 9]), (F, &[1, 16, 4, 3, 3])], |b, x| {
                let conv = Conv {
                    stride: vec![1, 1],
                    low: vec![1, 1],
                    high: vec![1, 1],
                    base_dilation: vec![1, 1],
                    window_dilation: vec![1, 1],
                };
                vec![b.apply1(conv, &[x[0], x[1]])]
            }),
        ),
        ("softmax", softmax(F, 40, 300)),
        ("softmax_bf16", softmax(DType::BF16, 40, 300)),
        (
            "matmul",
            graph(&[(F, &[256, 128]), (F, &[128, 192])], |_, x| vec![x[0].dot(x[1], "ik", "kj", "ij")]),
        ),
        (
            "matmul_bias",
            graph(&[(F, &[100, 70]), (F, &[70, 90]), (F, &[90])], |_, x| {
                vec![(x[0].dot(x[1], "ik", "kj", "ij") + x[2].broadcast_to(&[100, 90][..].into())).tanh()]
            }),
        ),
    ]
    .into_iter()
    .chain(more_kept())
    .collect()
}

/// Returns further graphs whose kernels are compared with files: other dtypes, routines and a loop.
fn more_kept() -> Vec<(&'static str, Graph)> {
    let index = |n: usize| (DType::I64, vec![n]);
    let rows = |m: usize, n: usize| (F, vec![m, n]);
    let of = |inputs: &[(DType, Vec<usize>)],
              build: &dyn for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>| {
        let inputs: Vec<(DType, &[usize])> = inputs.iter().map(|(d, s)| (*d, &s[..])).collect();
        graph(&inputs, |b, x| build(b, x))
    };
    let c64 = (DType::C64, vec![64]);
    let cumulate = Cumulate { combine: Combine::Sum, axis: 1, reverse: false };
    let body = graph(&[(F, &[3, 3]), (F, &[5, 3]), (F, &[5, 3])], |_, x| {
        let h = (x[1].dot(x[0], "ik", "kj", "ij") + x[2]).tanh();
        vec![h, h * 2.0]
    });
    let scan = Scan { body: Arc::new(body), shared: 1, carries: 1, length: 3, reverse: false };
    vec![
        (
            "gelu",
            of(&[(F, vec![1000])], &|_, x| {
                let inner = (x[0] + x[0] * x[0] * x[0] * 0.044715) * 0.797_884_6;
                vec![x[0] * (inner.tanh() + 1.0) * 0.5]
            }),
        ),
        (
            "layer_norm",
            of(&[rows(40, 256)], &|_, x| {
                fn wide(v: Var<'_>) -> Var<'_> {
                    v.reshape([40, 1]).broadcast_to(&[40, 256][..].into())
                }
                let centred = x[0] - wide(x[0].sum(&[1]) * (1.0 / 256.0));
                let variance = (centred * centred).sum(&[1]) * (1.0 / 256.0);
                vec![centred / wide((variance + 1e-5).sqrt())]
            }),
        ),
        ("f16_add", of(&[(DType::F16, vec![333]), (DType::F16, vec![333])], &|_, x| vec![x[0] + x[1]])),
        ("u8_to_f32", of(&[(DType::U8, vec![333])], &|b, x| vec![b.apply1(Cast { to: F }, &[x[0]]) * 0.5])),
        ("c64_division", of(&[c64.clone(), c64], &|_, x| vec![x[0] / x[1]])),
        ("select", of(&[rows(7, 9), rows(7, 9)], &|_, x| vec![x[0].lt(x[1]).select(x[0], x[1])])),
        ("argmax", of(&[rows(30, 100)], &|b, x| vec![b.apply1(ArgMax { axis: 1 }, &[x[0]])])),
        ("sort", of(&[rows(3, 64)], &|b, x| b.apply(Sort::all(1, false), &[x[0]]))),
        ("cumsum", of(&[rows(3, 1500)], &|b, x| vec![b.apply1(cumulate.clone(), &[x[0]])])),
        ("take", of(&[rows(10, 6), index(9)], &|_, x| vec![x[0].take(x[1], 0)])),
        (
            "scatter_add",
            of(&[rows(10, 6), index(41), rows(41, 6)], &|_, x| {
                vec![x[0].scatter(x[1], x[2], 0, Some(Combine::Sum))]
            }),
        ),
        (
            "random_bits",
            of(&[(DType::U32, vec![4])], &|b, x| b.apply(RandomBits { shape: [1000].into() }, &[x[0]])),
        ),
        (
            "fourier",
            of(&[(DType::C64, vec![2, 60])], &|b, x| {
                vec![b.apply1(Fft { axis: 1, inverse: false }, &[x[0]])]
            }),
        ),
        (
            "matmul_bf16",
            of(&[(DType::BF16, vec![128, 64]), (DType::BF16, vec![64, 128])], &|_, x| {
                vec![x[0].dot(x[1], "ik", "kj", "ij")]
            }),
        ),
        ("matvec", of(&[rows(300, 500), (F, vec![500])], &|_, x| vec![x[0].dot(x[1], "ik", "k", "i")])),
        (
            "loop",
            of(&[(F, vec![3, 3]), (F, vec![5, 3]), (F, vec![3, 5, 3])], &|b, x| b.apply(scan.clone(), x)),
        ),
    ]
}

/// Returns the program of a graph; `None` if the graph does not compile for a device without `f64`.
fn program(graph: &Graph, barriers: Barriers, dialect: Dialect, text: Text) -> Option<GpuProgram> {
    let limits = limits(barriers);
    let plan = crate::common::planned(graph, &limits).ok()?;
    Some(translate(&plan, &limits, dialect, text).expect("a program"))
}

/// Returns all texts of the catalog and of the graphs above.
fn all(dialect: Dialect) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let samples = ops::samples().cases.into_iter().filter_map(|s| graph_of(&s.op, &s.ins).ok());
    let gradient = vjp(&attention([4, 300, 300, 4], true), &[0, 1, 2]).expect("a gradient");
    for graph in samples.chain(kept().into_iter().map(|(_, g)| g)).chain([gradient]) {
        for barriers in [Barriers::Cheap, Barriers::Expensive] {
            for text in [Text::Generic, Text::Special] {
                let program = program(&graph, barriers, dialect, text);
                found.extend(program.into_iter().flat_map(|p| p.modules).map(|m| m.text));
            }
        }
    }
    found
}

#[test]
fn naga_accepts_every_text() {
    for text in all(Dialect::Wgsl) {
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|e| panic!("{}\n{text}", e.emit_to_string(&text)));
        let flags = naga::valid::ValidationFlags::all();
        let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::empty());
        validator.validate(&module).unwrap_or_else(|e| panic!("{}\n{text}", e.emit_to_string(&text)));
    }
}

/// Tests that generic text has extents, strides and constants as parameters, so that other values need no new kernel.
#[test]
fn other_shapes_share_generic_text() {
    let texts = |graph: &Graph| -> Vec<String> {
        let program = program(graph, Barriers::Cheap, Dialect::Wgsl, Text::Generic).expect("a plan");
        program.modules.into_iter().map(|m| m.text).collect()
    };
    let add = |n: usize, by: f64| graph(&[(F, &[n])], |_, x| vec![x[0].tanh() + by]);
    assert_eq!(texts(&add(1000, 1.5)), texts(&add(64, -2.0)));
    let turned =
        |m: usize, n: usize| graph(&[(F, &[m, n]), (F, &[n, m])], |_, x| vec![x[0] + x[1].permute(&[1, 0])]);
    assert_eq!(texts(&turned(6, 10)), texts(&turned(22, 34)));
    // In generic text, kernels of three axes use the text for four axes.
    let moved =
        |shape: &[usize], order: &[usize]| graph(&[(F, shape)], |_, x| vec![x[0].permute(order).exp()]);
    assert_eq!(texts(&moved(&[3, 5, 7], &[2, 1, 0])), texts(&moved(&[3, 5, 7, 9], &[3, 2, 1, 0])));
    let sums = |m: usize, n: usize| graph(&[(F, &[m, n])], |_, x| vec![x[0].sum(&[1])]);
    assert_eq!(texts(&sums(10, 5000)), texts(&sums(9, 6004)));
    let dot = |m: usize, k: usize, n: usize| {
        graph(&[(F, &[m, k]), (F, &[k, n])], |_, x| vec![x[0].dot(x[1], "ik", "kj", "ij")])
    };
    assert_eq!(texts(&dot(256, 64, 256)), texts(&dot(512, 32, 320)));
    let rows =
        |m: usize, n: usize| graph(&[(F, &[m, n]), (DType::I64, &[9])], |_, x| vec![x[0].take(x[1], 0)]);
    assert_eq!(texts(&rows(10, 20)), texts(&rows(33, 7)));
}

/// Tests that there is no barrier after a return or inside an `if`: browsers reject a barrier that some threads may not
/// reach.
#[test]
fn all_threads_reach_every_barrier() {
    let mut barriers = 0;
    for text in all(Dialect::Wgsl).iter().filter(|t| t.contains("workgroupBarrier")) {
        let main = text.find("fn main").expect("an entry point");
        let mut open: Vec<&str> = Vec::new();
        for line in text[main..].lines().map(str::trim) {
            assert!(line != "return;", "{text}");
            if line == "workgroupBarrier();" {
                barriers += 1;
                assert!(!open.iter().any(|l| l.starts_with("if")), "{text}");
            }
            if line.starts_with('}') {
                open.pop();
            }
            if line.ends_with('{') {
                open.push(line);
            }
        }
    }
    assert!(barriers > 0);
}

#[test]
fn nvrtc_accepts_every_text() {
    let Some(compiler) = nvrtc::Nvrtc::load() else { return };
    for text in all(Dialect::Cuda) {
        compiler.compile(&text).unwrap_or_else(|log| panic!("{log}\n{text}"));
    }
}

#[test]
fn kept_texts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/out");
    let update = std::env::var_os("GRADUS_UPDATE").is_some();
    assert!(kept().len() >= 30);
    for (name, graph) in kept() {
        let texts = [
            ("wgsl", Barriers::Cheap, Dialect::Wgsl, Text::Special),
            ("generic.wgsl", Barriers::Expensive, Dialect::Wgsl, Text::Generic),
            ("cu", Barriers::Cheap, Dialect::Cuda, Text::Special),
        ];
        for (ending, barriers, dialect, text) in texts {
            let program = program(&graph, barriers, dialect, text).expect("a plan");
            let host = program.commands.iter().any(|c| matches!(c, Command::Host { .. }));
            assert!(!host, "{name} runs on the host");
            let found: String = program.modules.iter().map(|m| m.text.as_str()).collect();
            let file = folder.join(format!("{name}.{ending}"));
            if update {
                std::fs::create_dir_all(&folder).expect("a folder");
                std::fs::write(&file, &found).expect("a file");
            }
            let expected = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(
                found == expected,
                "the kernel differs from {}; GRADUS_UPDATE=1 rewrites it",
                file.display()
            );
        }
    }
}
