//! Tracing: which values become inputs, outputs, constants, regions or errors.

use gradus_ir::graph::parse;
use gradus_ir::{Aval, DType, Literal, reference};
use gradus_tensor::{
    All, Generator, Tensor, call, compile_named, grad, jit, no_grad, region1, trace, trace_function,
    trace_named, value_and_grad_of, vmap,
};

fn floats(l: &[Literal]) -> Vec<Vec<f64>> {
    l.iter().map(|l| l.f().to_vec()).collect()
}

#[test]
fn cells_become_inputs_and_written_cells_outputs() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_();
    let step = Tensor::from(0.0f64).cell();
    let avals = [Aval::new(DType::F64, [2])];
    let traced = trace_function(&avals, |x| {
        no_grad(|| step.add_(1.0));
        let y = &x[0] * &w;
        no_grad(|| step.add_(1.0));
        y + &step
    })
    .unwrap();
    assert_eq!((traced.captured.len(), traced.written.len()), (2, 1));
    assert!(
        traced.written[0].is_same(&step)
            && traced.captured[0].is_same(&step)
            && traced.captured[1].is_same(&w)
    );
    assert_eq!(step.item::<f64>().unwrap(), 0.0, "tracing runs nothing");
    let names: Vec<&str> = traced.graph.inputs().iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["x", "cell", "cell_1"]);
    let values: Vec<Literal> = [&Tensor::from([10.0, 20.0])]
        .into_iter()
        .chain(&traced.captured)
        .map(|t| t.to_literal().unwrap())
        .collect();
    let out = reference::evaluate(&traced.graph, &values).unwrap();
    assert_eq!(floats(&out), [vec![12.0, 42.0], vec![2.0]]);
}

#[test]
fn repeated_elements_become_a_constant_of_one_element() {
    let big = Tensor::full([1000, 1000], 2.0);
    let g = trace(&[&Tensor::ones([1000, 1000])], |x| &x[0] * &big).unwrap();
    let text = g.to_string();
    assert!(text.len() < 400, "{text}");
    assert!(text.contains("f32[]{2.0}"), "{text}");
}

#[test]
fn an_inner_trace_captures_outer_values() {
    let x = Tensor::from([1.0, 2.0]);
    let outer = trace(&[&x], |x| {
        let inner = trace_function(&[Aval::new(DType::F64, [2])], |y| &y[0] * &x[0]).unwrap();
        assert_eq!(inner.captured.len(), 1);
        assert!(inner.captured[0].is_same(&x[0]));
        let doubled = &x[0] * 2.0;
        call("inner", &inner.graph, &[&doubled, &inner.captured[0]]).unwrap().remove(0)
    })
    .unwrap();
    let out = reference::evaluate(&outer, &[x.to_literal().unwrap()]).unwrap();
    assert_eq!(out[0].f(), [2.0, 8.0]);
}

#[test]
fn values_do_not_outlive_their_trace() {
    let mut kept = Vec::new();
    trace(&[&Tensor::ones([2])], |x| {
        kept.push(x[0].clone());
        x[0].clone()
    })
    .unwrap();
    let e = (&kept[0] + 1.0).check().map(|_| ()).unwrap_err().to_string();
    assert!(e.contains("finished trace"), "{e}");
    let e = kept[0].to_vec::<f32>().unwrap_err().to_string();
    assert!(e.contains("has no elements while"), "{e}");
    let e = trace(&[&Tensor::ones([2])], |x| &x[0] + &Tensor::ones([3])).unwrap_err().to_string();
    assert!(e.contains("extents [2] and [3]") && e.contains("trace.rs"), "{e}");
}

#[test]
fn regions_are_one_call_with_one_name() {
    let double = |x: &Tensor| region1("double", vec![], &[x], |x| &x[0] + &x[0]);
    let g = trace(&[&Tensor::ones([2])], |x| double(&double(&x[0]))).unwrap();
    let text = g.to_string();
    assert_eq!(text.matches("name=\"double\"").count(), 2, "{text}");
    assert_eq!(text.matches("region @").count(), 1, "equal bodies are one region: {text}");
    assert_eq!(parse(&text).unwrap().canonical_hash(), g.canonical_hash());
    let bad = region1("pair", vec![], &[&Tensor::ones([2])], |x| &x[0] + &Tensor::ones([3]));
    let e = bad.error().unwrap().to_string();
    assert!(e.starts_with("pair: add:") && e.contains("tests/trace.rs"), "{e}");
}

#[test]
fn a_traced_draw_moves_the_generator_when_it_is_run() {
    let generator = Generator::new(7);
    let eager = Generator::new(7).rand([3]);
    let traced = trace_function(&[], |_| generator.rand([3])).unwrap();
    assert_eq!((traced.captured.len(), traced.written.len()), (1, 1));
    let state = traced.captured[0].to_literal().unwrap();
    let out = reference::evaluate(&traced.graph, std::slice::from_ref(&state)).unwrap();
    assert_eq!(out[0].f(), eager.to_literal().unwrap().f());
    assert_eq!(out[1].i(), [7, 0, 1, 0]);
    assert_eq!(state.i(), [7, 0, 0, 0], "tracing draws nothing");
}

fn input_names(graph: &gradus_ir::Graph) -> Vec<&str> {
    graph.inputs().iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn inputs_and_cells_keep_their_names() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_().named("layers.0.weight");
    let (b, twin) = (Tensor::from(0.5).cell(), Tensor::from(0.25).cell().named("w"));
    let x = Tensor::from([3.0, 4.0]);
    let graph = trace_named(&[("data", &x), ("w", &x)], |v| &v[0] * &w + &b + &v[1] * &twin).unwrap();
    assert_eq!(input_names(&graph), ["data", "w", "layers.0.weight", "cell", "w_1"]);
    assert_eq!(parse(&graph.to_string()).unwrap(), graph, "names can be parsed");
    assert_eq!(w.name().as_deref(), Some("layers.0.weight"));
    assert!(b.name().is_none() && x.named("ignored").name().is_none());
    // A name that is set while the function runs counts.
    let late = Tensor::from(2.0).cell();
    let graph = trace(&[&x], |x| &x[0] * &late.named("scale")).unwrap();
    assert_eq!(input_names(&graph), ["x", "scale"]);
}

#[test]
fn names_reach_the_region_of_loss_and_gradients() {
    let w = Tensor::from([1.0, 2.0]).requires_grad_().named("w");
    let x = Tensor::from([3.0, 4.0]);
    let graph =
        trace_named(&[("features", &x)], |x| value_and_grad_of(&[&w], || (&x[0] * &w).sum(All)).unwrap().1)
            .unwrap();
    let text = graph.to_string();
    assert!(text.starts_with("gradus graph 1\nregion @0 (features: f64[2], w: f64[2])"), "{text}");
    assert_eq!(input_names(&graph), ["features", "w"]);
}

#[test]
fn equal_layers_share_a_region_under_any_names_of_cells() {
    let layers = [0, 1].map(|i| Tensor::from([1.0, 2.0]).requires_grad_().named(&format!("layer{i}")));
    let x = Tensor::from([[3.0, 4.0]]);
    let graph = trace(&[&x], |x| {
        let step = |x: &Tensor, w: &Tensor| vmap(&[x], &[Some(0)], |x| (&x[0] * w).tanh()).unwrap().remove(0);
        step(&step(&x[0], &layers[0]), &layers[1])
    })
    .unwrap();
    assert_eq!(graph.to_string().matches("region @").count(), 1, "{graph}");
    assert_eq!(input_names(&graph), ["x", "layer0", "layer1"]);
    let slope = grad(&[&x], |x| (&x[0] * &layers[0]).sum(All)).unwrap();
    assert_eq!(slope[0].to_vec::<f64>().unwrap(), [1.0, 2.0]);
}

#[test]
fn compiled_functions_take_arguments_by_name() {
    let (a, b) = (Tensor::from([5.0, 7.0]), Tensor::from([2.0, 3.0]));
    let minus = compile_named(&[("a", &a), ("b", &b)], |v| &v[0] - &v[1]).unwrap();
    assert_eq!(minus.names(), ["a", "b"]);
    let run = |ins: &[(&str, &Tensor)]| minus.run_named(ins).map(|y| y[0].to_vec::<f64>().unwrap());
    assert_eq!(run(&[("b", &b), ("a", &a)]).unwrap(), [3.0, 4.0]);
    assert_eq!(run(&[("a", &a), ("b", &b)]).unwrap(), [3.0, 4.0]);
    let text = |e: gradus_ir::Result<Vec<f64>>| e.unwrap_err().to_string();
    assert!(text(run(&[("a", &a)])).contains("argument `b` is missing"));
    assert!(text(run(&[("a", &a), ("c", &b)])).contains("argument `c` is unknown"));
    assert!(text(run(&[("a", &a), ("a", &a), ("b", &b)])).contains("argument `a` occurs twice"));
    let e = minus.run(&[&a, &Tensor::from([1.0])]).unwrap_err().to_string();
    assert!(e.contains("compiled: (a: f64[2], b: f64[2])"), "{e}");
    let f = jit(|v: &[Tensor]| &v[0] - &v[1]).names(&["a", "b"]);
    assert_eq!(f.call_named(&[("b", &b), ("a", &a)]).unwrap()[0].to_vec::<f64>().unwrap(), [3.0, 4.0]);
    assert_eq!(f.compiled(&[&a, &b]).unwrap().names(), ["a", "b"]);
}
