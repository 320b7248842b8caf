//! Graphs as equations: read back, they give the same values.

use gradus_ir::{Aval, DType, Graph, transform};
use gradus_lang::ast::Name;
use gradus_lang::{Program, Settings, Source, raise};
use gradus_tensor::{ScanOptions, Tensor, compile_graph, scan, trace};
use std::collections::BTreeMap;
use std::sync::Arc;

fn numbers(seed: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919 + seed * 104729 + 13) % 1000) as f64 / 1000.0 + 0.1).collect()
}

/// Raises a graph, lowers the text again, and compares all outputs; gives the text.
fn round_trip(graph: &Graph) -> String {
    let text = raise(graph, &[]).unwrap();
    let program = Program::parse(Source::new("raised", &text)).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let names: Vec<Name> = graph.inputs().iter().map(|(n, _)| n.as_str().into()).collect();
    let ins: Vec<Tensor> = graph
        .input_avals()
        .iter()
        .enumerate()
        .map(|(i, a)| Tensor::from_slice(&numbers(i, a.shape.numel()), a.shape.clone()).to_dtype(a.dtype))
        .collect();
    let direct = compile_graph(&Arc::new(graph.clone())).unwrap().run(&ins.iter().collect::<Vec<_>>()).unwrap();
    let given: BTreeMap<Name, Tensor> = names.iter().cloned().zip(ins).filter(|(n, _)| program.is_input(n)).collect();
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let outputs = program.outputs();
    let found = program.run(&given, &settings, &outputs).unwrap_or_else(|f| panic!("{text}\n{f}"));
    for (name, direct) in outputs.iter().zip(&direct) {
        let found = &found[name];
        assert_eq!(found.shape(), direct.shape(), "{text}");
        let far = (found.to_dtype(DType::F64) - direct.to_dtype(DType::F64)).abs();
        let most = if far.numel() == 0 { 0.0 } else { far.max(()).item::<f64>().unwrap() };
        assert!(most < 1e-12, "{name} is off by {most}\n{text}");
    }
    text
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
        trace(&[&x], |v| v[0].gt(0.5).select(&v[0], 0.0)).unwrap(),
        trace(&[&x], |v| v[0].logsumexp([1], false)).unwrap(),
        trace(&[&x], |v| v[0].unfold(2, 2, 1)).unwrap(),
        trace(&[&m], |v| v[0].inv()).unwrap(),
        trace(&[&m], |v| v[0].matmul(&v[0]).matmul(&v[0].t()).diagonal(0, 0, 1)).unwrap(),
        trace(&[&m], |v| v[0].argmax(1)).unwrap(),
        trace(&[&m], |v| vec![v[0].exp(), v[0].clone(), Tensor::full([3, 3], 2.0).to_dtype(DType::F64)]).unwrap(),
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
