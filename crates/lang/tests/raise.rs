//! Raises graphs to equations, and checks that the equations have the same values.

mod loops;

use gradus_ir::literal::Data;
use gradus_ir::ops::pointwise::{Cast, Map, find};
use gradus_ir::{Aval, Builder, Class, DType, Graph, transform};
use gradus_lang::ast::Name;
use gradus_lang::{Program, Settings, Source, raise};
use gradus_tensor::{ScanOptions, Tensor, compile_graph, scan, trace, trace_named};
use std::collections::BTreeMap;
use std::sync::Arc;

fn numbers(seed: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919 + seed * 104729 + 13) % 1000) as f64 / 1000.0 + 0.1).collect()
}

/// Raises a graph, lowers the text again, and compares all outputs. Returns the text.
fn round_trip(graph: &Graph) -> String {
    let avals = graph.input_avals();
    let tensor = |(i, a): (usize, &Aval)| {
        Tensor::from_slice(&numbers(i, a.shape.numel()), a.shape.clone()).to_dtype(a.dtype)
    };
    let ins: Vec<Tensor> = avals.iter().enumerate().map(tensor).collect();
    round_trip_on(graph, ins)
}

fn round_trip_on(graph: &Graph, ins: Vec<Tensor>) -> String {
    round_trip_in(DType::F64, graph, ins)
}

/// As `round_trip`, for a program with floats of this dtype.
fn round_trip_in(float: DType, graph: &Graph, ins: Vec<Tensor>) -> String {
    let text = raise(graph, &[]).unwrap();
    let program = Program::parse(Source::new("raised", &text)).unwrap_or_else(|f| panic!("{text}\n{f}"));
    // The name of an input, or the legal name that it gets.
    let legal = |name: &str| {
        let clean = name.replace(['.', '\''], "_");
        let all = [clean.clone(), format!("{clean}_"), format!("T{clean}")];
        all.into_iter().map(Name::from).find(|n| program.is_input(n))
    };
    let direct =
        compile_graph(&Arc::new(graph.clone())).unwrap().run(&ins.iter().collect::<Vec<_>>()).unwrap();
    let given: BTreeMap<Name, Tensor> =
        graph.inputs().iter().zip(ins).filter_map(|((name, _), t)| Some((legal(name)?, t))).collect();
    let settings = Settings { float, ..Settings::default() };
    let outputs = program.outputs();
    let found = program.run(&given, &settings, &outputs).unwrap_or_else(|f| panic!("{text}\n{f}"));
    for (name, direct) in outputs.iter().zip(&direct) {
        let found = &found[name];
        assert_eq!(found.shape(), direct.shape(), "{text}");
        // Floats have the dtype of the program, not that of the graph.
        let mixed = graph.nodes().iter().flat_map(|n| &n.outs).any(|a| !is_own(a.dtype, float));
        if mixed || direct.dtype().class() < Class::Float {
            assert_eq!(found.dtype(), direct.dtype(), "{name}\n{text}");
        }
        let (found, direct) = (found.to_literal().unwrap(), direct.to_literal().unwrap());
        let close =
            |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-12 * (1.0 + b.abs());
        let parts = |l: &gradus_ir::Literal| match l.data() {
            Data::F(v) => v.to_vec(),
            Data::I(v) => v.iter().map(|x| *x as f64).collect(),
            Data::C(v) => v.iter().flat_map(|z| [z.re, z.im]).collect(),
        };
        assert_eq!(parts(&found).len(), parts(&direct).len(), "{text}");
        for (a, b) in parts(&found).into_iter().zip(parts(&direct)) {
            assert!(close(a, b), "{name}: {a} beside {b}\n{text}");
        }
    }
    // Every op has a name in the language, except those of users and `bitcast`.
    let unnamed = text.lines().find(|line| line.contains("graph(") && !line.contains(" = bitcast("));
    assert_eq!(unnamed, None, "{text}");
    text
}

/// Returns true if a dtype is implied in a program with floats of this dtype.
fn is_own(dtype: DType, float: DType) -> bool {
    dtype.class() < Class::Float || dtype.real() == float
}

/// Integers keep all bits and wrap on overflow, also in loops; floats of other dtypes are rounded as in the
/// graph. This holds for programs of `f32` and of `f64`.
#[test]
fn numbers_of_every_kind() {
    let large = Tensor::from_slice(&[16_777_217i64, -16_777_219, 2_000_000_011], [3]);
    let small = Tensor::from_slice(&[1.7f32, -0.3, 2.25], [3]);
    let int = |t: &Tensor| t.to_dtype(DType::I32);
    let wide = |t: &Tensor| t.to_dtype(DType::F64);
    let walk = |x: &Tensor, by: i64| {
        let rows = Tensor::stack(&[x; 9], 0);
        let (last, all) = scan(&[&x.zeros_like()], &[&rows], ScanOptions::default(), |c, s| {
            let next = &c[0] * by + &s[0];
            (vec![next.clone()], vec![next])
        })
        .unwrap();
        [last, all].concat()
    };
    let i64s = [large.clone()];
    let i32s = [int(&large)];
    let floats = [small.clone()];
    type Body<'a> = Box<dyn Fn(&[Tensor]) -> Vec<Tensor> + 'a>;
    let cases: Vec<(&[Tensor], Body)> = vec![
        (&i64s, Box::new(|v| vec![&v[0] + 1i64, v[0].sum(()), v[0].max(()), v[0].gt(16_777_216i64)])),
        (
            &i64s,
            Box::new(|v| {
                vec![v[0].floor_div(3i64), v[0].remainder(10i64), v[0].gt(0i64).select(&v[0], &-&v[0])]
            }),
        ),
        (
            &i64s,
            Box::new(|v| {
                vec![&v[0] * &v[0], v[0].cumsum(0), v[0].sort(0, true).0, int(&v[0]), v[0].flip([0])]
            }),
        ),
        (&i64s, Box::new(|v| walk(&v[0], 1_103_515_245))),
        (
            &i64s,
            Box::new(|v| vec![Tensor::from_slice(&[i64::MAX, i64::MIN, 9_007_199_254_740_993], [3]) - &v[0]]),
        ),
        (
            &i32s,
            Box::new(|v| {
                vec![&v[0] * &v[0] * 100_003i64, &v[0] - 7i64, v[0].to_dtype(DType::U8), v[0].prod(())]
            }),
        ),
        (&i32s, Box::new(|v| walk(&v[0], 7919))),
        (
            &floats,
            Box::new(|v| vec![v[0].to_dtype(DType::F16).exp() * 3.1, v[0].to_dtype(DType::BF16).square()]),
        ),
        (
            &floats,
            Box::new(|v| vec![(wide(&v[0]) * 1e-30 * 1e-30 * 1e60).to_dtype(DType::F32), wide(&v[0]).exp()]),
        ),
        (
            &floats,
            Box::new(|v| {
                vec![v[0].to_dtype(DType::F16).matmul(&v[0].to_dtype(DType::F16)), int(&(&v[0] * 3.0))]
            }),
        ),
        (&floats, Box::new(|v| walk(&v[0].to_dtype(DType::F16), 3))),
    ];
    for (ins, f) in &cases {
        let graph = trace(&ins.iter().collect::<Vec<_>>(), |v| f(v)).unwrap();
        for float in [DType::F32, DType::F64] {
            round_trip_in(float, &graph, ins.to_vec());
        }
    }
}

fn f64s(shape: &[usize]) -> Tensor {
    Tensor::from_slice(&numbers(1, shape.iter().product()), shape.to_vec())
}

#[test]
fn a_network_reads_as_one_would_write_it() {
    let (x, w, b) = (f64s(&[2, 3]), f64s(&[3, 4]), f64s(&[4]));
    let graph = trace(&[&x, &w, &b], |v| (v[0].matmul(&v[1]) + &v[2]).tanh().softmax(-1)).unwrap();
    let text = round_trip(&graph);
    let expected = "T1[i, j] = x[i, k] y[k, j]\nT2[i, j] = T1[i, j] + z[j]\nT3[i, j] = tanh(T2[i, j])\n\
                    Out[i, j] = softmax(T3[i, j], axis=\"j\")\nexport Out\n";
    let names: Vec<&str> = graph.inputs().iter().map(|(n, _)| n.as_str()).collect();
    let expected = expected.replace("x[", &format!("{}[", names[0])).replace("y[", &format!("{}[", names[1]));
    assert_eq!(text, expected.replace("z[", &format!("{}[", names[2])));
}

#[test]
fn gradients_too() {
    let (x, w) = (f64s(&[2, 3]), f64s(&[3, 4]));
    let graph = trace(&[&x, &w], |v| v[0].matmul(&v[1]).gelu().log_softmax(1).square().mean(())).unwrap();
    let gradient = transform::vjp(&graph, &[0, 1]).unwrap();
    round_trip(&gradient);
    let wide = trace(&[&x], |v| (v[0].sum_keepdim([0]) * 2.0 + &v[0]).max([1]) - v[0].mean([1])).unwrap();
    round_trip(&wide);
    round_trip(&transform::vjp(&wide, &[0]).unwrap());
}

#[test]
fn movements_and_everything_else() {
    let (x, m) = (f64s(&[2, 3, 4]), f64s(&[3, 3]));
    let cases: Vec<Graph> = vec![
        trace(&[&x], |v| v[0].permute([2, 0, 1])).unwrap(),
        trace(&[&x], |v| v[0].at((0, .., 1..3))).unwrap(),
        trace(&[&x], |v| v[0].flip([1, 2])).unwrap(),
        trace(&[&x], |v| v[0].reshape([6, 4]).t()).unwrap(),
        trace(&[&x], |v| v[0].unsqueeze(0).expand([5, 2, 3, 4]).sum([0])).unwrap(),
        trace(&[&x], |v| v[0].sum([0]).unsqueeze(0).expand([2, 3, 4])).unwrap(),
        trace(&[&x], |v| v[0].pad_zeros(&[(1, 0), (0, 2), (0, 0)])).unwrap(),
        trace(&[&x], |v| Tensor::cat(&[&v[0], &v[0]], 1)).unwrap(),
        trace(&[&x], |v| v[0].cumsum(2)).unwrap(),
        trace(&[&x], |v| v[0].sort(1, true).0).unwrap(),
        trace(&[&x], |v| v[0].topk(2, 1, true).0).unwrap(),
        trace(&[&x], |v| v[0].topk(1, 0, false).1).unwrap(),
        trace(&[&x], |v| v[0].gt(0.5).select(&v[0], 0.0)).unwrap(),
        trace(&[&x], |v| v[0].logsumexp([1], false)).unwrap(),
        trace(&[&x], |v| v[0].unfold(2, 2, 1)).unwrap(),
        trace(&[&m], |v| v[0].inv()).unwrap(),
        trace(&[&m], |v| v[0].matmul(&v[0]).matmul(&v[0].t()).diagonal(0, 0, 1)).unwrap(),
        trace(&[&m], |v| v[0].argmax(1)).unwrap(),
        trace(&[&m], |v| vec![v[0].exp(), v[0].clone(), Tensor::full([3, 3], 2.0).to_dtype(DType::F64)])
            .unwrap(),
        trace(&[&x, &m], |v| {
            let how = ScanOptions::default();
            scan(&[&v[1]], &[&v[0].permute([2, 0, 1])], how, |c, s| {
                let next = s[0].matmul(&c[0]).sum([0]).tanh() + &c[0];
                (vec![next.clone()], vec![next])
            })
            .unwrap()
            .1
        })
        .unwrap(),
    ];
    for graph in &cases {
        round_trip(graph);
        let wrt: Vec<usize> = (0..graph.inputs().len()).collect();
        if graph.output_avals().iter().all(|a: &Aval| a.dtype == DType::F64) {
            round_trip(&transform::vjp(graph, &wrt).unwrap());
        }
    }
}

/// A graph and its gradient, if it has one.
fn with_gradient(graph: &Graph, ins: &[gradus_ir::Literal]) {
    let tensors: Vec<Tensor> = ins.iter().map(Tensor::from_literal).collect();
    round_trip_on(graph, tensors.clone());
    let real = |a: &Aval| a.dtype == DType::F64;
    let wrt: Vec<usize> =
        graph.input_avals().iter().enumerate().filter(|(_, a)| real(a)).map(|(i, _)| i).collect();
    if wrt.is_empty() || !graph.output_avals().iter().all(real) {
        return;
    }
    let Ok(gradient) = transform::vjp(graph, &wrt) else { return };
    let ones = graph.output_avals().into_iter().map(|a| Tensor::full_of(&a, 0.7));
    round_trip_on(&gradient, tensors.into_iter().chain(ones).collect());
}

#[test]
fn every_op_of_the_catalog() {
    let mut count = 0;
    for sample in gradus_ir::ops::samples().cases {
        let b = Builder::new();
        let ins: Vec<_> =
            sample.ins.iter().enumerate().map(|(i, l)| b.input(&format!("x{i}"), l.aval().clone())).collect();
        let outs = b.apply(sample.op.clone(), &ins);
        with_gradient(&b.finish(&outs).unwrap(), &sample.ins);
        count += 1;
    }
    assert!(count > 500, "{count}");
}

#[test]
fn every_composite() {
    let mut count = 0;
    for sample in gradus_tensor::func::samples().cases {
        let ins: Vec<Tensor> = sample.ins.iter().map(Tensor::from_literal).collect();
        let graph = trace(&ins.iter().collect::<Vec<_>>(), |x| (sample.call)(x)).unwrap();
        // The state of a generator is an additional input.
        if graph.inputs().len() != ins.len() {
            continue;
        }
        with_gradient(&graph, &sample.ins);
        count += 1;
    }
    assert!(count > 200, "{count}");
}

/// Linear algebra is raised to calls of the language's functions, also for batches.
#[test]
fn linear_algebra_has_its_names() {
    let m = f64s(&[2, 3, 3]);
    let m = &m + Tensor::eye(3).to_dtype(DType::F64) * 4.0;
    let m = &m + m.t();
    let b = f64s(&[2, 3, 2]);
    let cases: Vec<(Graph, &[&str])> = vec![
        (trace(&[&m], |v| v[0].inv()).unwrap(), &["solve("]),
        (trace(&[&m], |v| v[0].cholesky()).unwrap(), &["cholesky("]),
        (trace(&[&m], |v| v[0].det()).unwrap(), &["det("]),
        (trace(&[&m], |v| v[0].eigh().0).unwrap(), &["eigh(", "part=\"values\""]),
        (trace(&[&m], |v| v[0].qr().1).unwrap(), &["qr(", "part=\"r\""]),
        (trace(&[&m], |v| v[0].qr_reflected().0).unwrap(), &["qr(", "reflected="]),
        (trace(&[&m], |v| v[0].svd().1).unwrap(), &["svd(", "part=\"s\""]),
        (trace(&[&m, &b], |v| v[0].solve(&v[1])).unwrap(), &["solve("]),
    ];
    for (graph, words) in &cases {
        let text = round_trip_on(graph, vec![m.clone(), b.clone()][..graph.inputs().len()].to_vec());
        assert!(!text.contains("graph("), "{text}");
        words.iter().for_each(|w| assert!(text.contains(w), "{text}"));
    }
}

/// Random numbers of `f32` have all bits of the random words that they are computed from.
#[test]
fn words_keep_their_bits() {
    let words = [4_000_000_001i64, 77, 3_123_456_789, 5];
    let state = Tensor::from_slice(&words, [4]).to_dtype(DType::U32);
    let eights = Tensor::from_slice(&[8i64; 50], [50]).to_dtype(DType::U32);
    let graph = |fixed: bool| {
        let b = Builder::new();
        let state = match fixed {
            true => b.constant(state.to_literal().unwrap()),
            false => b.input("state", Aval::new(DType::U32, [4])),
        };
        let words = b.apply(gradus_ir::ops::source::RandomBits { shape: [50].into() }, &[state]);
        let eights = b.constant(eights.to_literal().unwrap());
        let high = b.apply(Map(find("shr").unwrap()), &[words[0], eights]);
        let drawn = b.apply(Cast { to: DType::F32 }, &[high[0]]);
        b.finish(&drawn).unwrap()
    };
    round_trip_in(DType::F32, &graph(false), vec![state.clone()]);
    round_trip_in(DType::F32, &graph(true), Vec::new());
}

/// Inputs with reserved names are renamed, and indices avoid the names of inputs.
#[test]
fn any_name_of_an_input_can_be_written() {
    let (x, s) = (f64s(&[2, 3]), Tensor::from(0.5));
    for name in ["i", "j", "t", "exp", "export", "axis", "while", "true", "layers.0.weight", "_", "w'", "0"] {
        let ins = [(name, &s), ("k", &s), ("tanh", &x)];
        let graph = trace_named(&ins, |v| (v[2].exp() * &v[0] + &v[1]).tanh().sum([1])).unwrap();
        let text = round_trip(&graph);
        assert!(text.contains("Out["), "{text}");
    }
    let w = f64s(&[3, 4]);
    let graph = trace_named(&[("x", &x), ("layers.0.weight", &w)], |v| v[0].matmul(&v[1])).unwrap();
    assert_eq!(round_trip(&graph), "Out[i, j] = x[i, k] layers_0_weight[k, j]\nexport Out\n");
}
