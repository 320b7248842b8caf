//! Tests a loss with its gradients as one program. For inputs that no gradient reaches, it returns an error,
//! or zeros.

use gradus_ir::graph::Id;
use gradus_ir::reference::evaluate;
use gradus_ir::transform::{Unreachable, grad_with_cotangent, grad_with_loss};
use gradus_ir::{Aval, Builder, DType, Error, Graph, Literal};
use gradus_tensor::{
    Tensor, grad, hessian, hvp, jacobian, jvp, linearize, trace, value_and_grad, value_and_grad_as, vjp, vmap,
};

/// Asserts that the text contains these parts and names a line of this file.
#[track_caller]
fn assert_says(e: &Error, parts: &[&str]) {
    let text = e.to_string();
    parts.iter().for_each(|p| assert!(text.contains(p), "`{p}` is not in\n{text}"));
    let location = e.location().unwrap_or_else(|| panic!("no location in\n{text}"));
    assert!(location.file().ends_with("tests/strict.rs"), "another location in\n{text}");
}

fn literal(v: &[f64]) -> Literal {
    Literal::new(Aval::new(DType::F64, [v.len()]), v.to_vec()).unwrap()
}

/// Outputs: an auxiliary value, then Σ (w x)². `idle` and `ids` are unused; `step` is used through rounding
/// only.
fn program() -> Graph {
    let b = Builder::new();
    let vector = Aval::new(DType::F64, [2]);
    let input = |name: &str| b.input(name, vector.clone());
    let (x, w, _, step) = (input("x"), input("w"), input("idle"), input("step"));
    b.input("ids", Aval::new(DType::I64, [2]));
    let y = x * w;
    b.finish(&[y, (y * y).sum(&[0]) + step.floor().sum(&[0]), y.gt(x)]).unwrap()
}

#[test]
fn the_loss_comes_first_then_the_rest_then_gradients() {
    let graph = program();
    let loss = graph.outputs()[1];
    let w = graph.inputs()[1].1;
    let both = grad_with_loss(&graph, loss, [w, graph.inputs()[0].1], Unreachable::Error).unwrap();
    let by_name = grad_with_loss(&graph, loss, ["w", "x"], Unreachable::Error).unwrap();
    assert_eq!(both, by_name);
    let ids = Literal::new(Aval::new(DType::I64, [2]), vec![1i64, 2]).unwrap();
    let point =
        [literal(&[1.0, 2.0]), literal(&[3.0, -1.0]), literal(&[9.0, 9.0]), literal(&[0.5, 2.5]), ids];
    let outs = evaluate(&both, &point).unwrap();
    assert_eq!(outs.len(), 5);
    assert_eq!((outs[0].f(), outs[1].f(), outs[2].i()), (&[15.0][..], &[3.0, -2.0][..], &[1, 0][..]));
    // d/dw Σ (w x)² = 2 w x², and the same with x and w exchanged.
    assert_eq!((outs[3].f(), outs[4].f()), (&[6.0, -8.0][..], &[18.0, 4.0][..]));
    // Training mode: zeros for unused inputs; an input requested twice is returned twice.
    let wrt = ["idle", "step", "w", "w"];
    let outs = evaluate(&grad_with_loss(&graph, loss, wrt, Unreachable::Zeros).unwrap(), &point)
        .unwrap()
        .split_off(3);
    let right: [&[f64]; 4] = [&[0.0, 0.0], &[0.0, 0.0], &[6.0, -8.0], &[6.0, -8.0]];
    outs.iter().zip(right).for_each(|(g, right)| assert_eq!(g.f(), right));
}

#[test]
fn gradients_are_for_any_value_of_the_graph() {
    let graph = program();
    let (y, loss) = (graph.outputs()[0], graph.outputs()[1]);
    let ids = Literal::new(Aval::new(DType::I64, [2]), vec![1i64, 2]).unwrap();
    let point =
        [literal(&[1.0, 2.0]), literal(&[3.0, -1.0]), literal(&[9.0, 9.0]), literal(&[0.5, 2.5]), ids];
    // An output that is an intermediate value, an input, and the loss itself.
    let both = grad_with_loss(&graph, loss, [y, graph.inputs()[0].1, loss], Unreachable::Error).unwrap();
    let outs = evaluate(&both, &point).unwrap().split_off(3);
    let right: [&[f64]; 3] = [&[6.0, -4.0], &[18.0, 4.0], &[1.0]];
    outs.iter().zip(right).for_each(|(g, right)| assert_eq!(g.f(), right));
    // A value that is not an output: the rounded step, which no gradient passes.
    let floor = (0..graph.nodes().len()).find(|&i| graph.nodes()[i].op.name() == "floor").unwrap();
    let floor = Id { node: floor as u32, out: 0 };
    let outs = evaluate(&grad_with_loss(&graph, loss, [floor], Unreachable::Error).unwrap(), &point).unwrap();
    assert_eq!(outs[3].f(), [1.0, 1.0]);
    let e = grad_with_loss(&graph, y, [floor], Unreachable::Error).unwrap_err();
    assert_says(&e, &["a loss must be a real scalar to have gradients; this one is f64[2]"]);
    let e = grad_with_cotangent(&graph, y, [floor], Unreachable::Error).unwrap_err();
    assert_says(&e, &["no derivative of the loss flows to value %", "(floor) (f64[2])"]);
}

#[test]
fn a_loss_that_is_not_a_scalar_takes_a_cotangent() {
    let graph = program();
    let y = graph.outputs()[0];
    let both = grad_with_cotangent(&graph, y, ["w", "idle"], Unreachable::Zeros).unwrap();
    let names: Vec<&str> = both.inputs().iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["x", "w", "idle", "step", "ids", "d_output"]);
    let ids = Literal::new(Aval::new(DType::I64, [2]), vec![1i64, 2]).unwrap();
    let vector = [[1.0, 2.0], [3.0, -1.0], [9.0, 9.0], [0.5, 2.5]].map(|v| literal(&v));
    let point: Vec<Literal> = vector.into_iter().chain([ids, literal(&[10.0, -7.0])]).collect();
    let outs = evaluate(&both, &point).unwrap();
    assert_eq!(outs[0].f(), [3.0, -2.0]);
    // Σ ⟨w x, d⟩ for w is x d.
    assert_eq!((outs[3].f(), outs[4].f()), (&[10.0, -14.0][..], &[0.0, 0.0][..]));
}

#[test]
fn inputs_without_gradient_and_missing_ones_are_named() {
    let graph = program();
    let loss = graph.outputs()[1];
    let strict = |wrt: &str| grad_with_loss(&graph, loss, ["x", wrt], Unreachable::Error).unwrap_err();
    assert_says(&strict("idle"), &["no derivative of the loss flows to input `idle` (f64[2])"]);
    // No gradient flows through an op without a derivative.
    assert_says(&strict("step"), &["flows to input `step`"]);
    for unreachable in [Unreachable::Error, Unreachable::Zeros] {
        let refused = |wrt: &str| grad_with_loss(&graph, loss, [wrt], unreachable).unwrap_err();
        assert_says(&refused("bias"), &["input `bias` is not in the graph; it has x, w, idle, step, ids"]);
        assert_says(
            &refused("ids"),
            &["input `ids` is i64[2]: only float and complex values have derivatives"],
        );
        let absent = Id { node: 99, out: 0 };
        let e = grad_with_loss(&graph, loss, [absent], unreachable).unwrap_err();
        assert_says(&e, &["%99.0 is not a value of the graph; its inputs are x, w, idle, step, ids"]);
        let e = grad_with_loss(&graph, loss, [graph.outputs()[2]], unreachable).unwrap_err();
        assert_says(&e, &["(gt) is bool[2]: only float and complex values have derivatives"]);
        let e = grad_with_cotangent(&graph, graph.outputs()[2], ["x"], unreachable).unwrap_err();
        assert_says(&e, &["the loss is bool[2]: only float and complex values have derivatives"]);
        let e = grad_with_loss(&graph, graph.inputs()[0].1, ["x"], unreachable).unwrap_err();
        assert_says(&e, &["the loss %0.0 is not an output of the graph, which has 3"]);
        let e = grad_with_loss(&graph, graph.outputs()[0], ["x"], unreachable).unwrap_err();
        assert_says(&e, &["a loss must be a real scalar to have gradients; this one is f64[2]"]);
        let e = grad_with_loss(&graph, graph.outputs()[2], ["x"], unreachable).unwrap_err();
        assert_says(&e, &["real scalar", "bool[2]"]);
    }
}

#[test]
fn functions_are_strict_on_request_too() {
    let (x, w) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, -1.0]));
    let f = |v: &[Tensor]| (v[0].square().sum(()), &v[0] + &v[1]);
    let (outs, grads) = value_and_grad(&[&x, &w], f).unwrap();
    assert_eq!(outs[0].item::<f64>().unwrap(), 5.0);
    assert_eq!(outs[1].to_vec::<f64>().unwrap(), [4.0, 1.0]);
    assert_eq!(grads[0].to_vec::<f64>().unwrap(), [2.0, 4.0]);
    assert_eq!(grads[1].to_vec::<f64>().unwrap(), [0.0, 0.0]);
    assert_says(&value_and_grad_as(&[&x, &w], Unreachable::Error, f).unwrap_err(), &["input `y` (f64[2])"]);
    let (_, strict) = value_and_grad_as(&[&x], Unreachable::Error, |v| v[0].square().sum(())).unwrap();
    assert_eq!(strict[0].to_vec::<f64>().unwrap(), [2.0, 4.0]);
}

#[test]
fn forward_values_are_computed_once() {
    let x = Tensor::from([0.5, 2.0]);
    let graph = trace(&[&x], |x| x[0].exp().sum(())).unwrap();
    let both = grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error).unwrap();
    let count = |g: &Graph| g.nodes().iter().filter(|n| n.op.name() == "exp").count();
    assert_eq!((count(&graph), count(&both)), (1, 1), "{both}");
}

#[test]
fn every_transform_names_the_line_it_was_called_from() {
    let (x, n) = (Tensor::from([1.0, 2.0]), Tensor::from([1i64, 2]));
    let scalar = |x: &Tensor| x.to_dtype(DType::F64).sum(());
    let vector = |v: &[Tensor]| v[0].exp();
    assert_says(&grad(&[&n], |n| scalar(&n[0])).unwrap_err(), &["[i64[2]] have no derivatives"]);
    assert_says(&hessian(&n, scalar).unwrap_err(), &["[i64[2]] have no derivatives"]);
    assert_says(&jacobian(&n, scalar).unwrap_err(), &["input `x` is i64[2]: only float and complex"]);
    assert_says(&grad(&[&x], vector).unwrap_err(), &["real scalar", "f64[2]"]);
    assert_says(&hvp(&[&x], &[&x], vector).unwrap_err(), &["real scalar", "f64[2]"]);
    assert_says(&hessian(&x, |x| x.exp()).unwrap_err(), &["real scalar", "f64[2]"]);
    assert_says(&hvp(&[&x], &[], |v| scalar(&v[0])).unwrap_err(), &["tangents of types [] must be [f64[2]]"]);
    assert_says(&jvp(&[&x], &[&x, &x], vector).unwrap_err(), &["tangents of types", "must be [f64[2]]"]);
    assert_says(
        &vjp(&[&x], vector).unwrap().1(&[]).unwrap_err(),
        &["cotangents of types [] must be [f64[2]]"],
    );
    assert_says(&linearize(&[&x], vector).unwrap().1(&[&n]).unwrap_err(), &["tangents of types [i64[2]]"]);
    assert_says(&vmap(&[&x], &[Some(0), None], vector).unwrap_err(), &["2 batch axes must be 1"]);
    assert_says(&vmap(&[&x], &[Some(3)], vector).unwrap_err(), &["axis 3"]);
    assert_says(&vmap(&[&x], &[None], vector).unwrap_err(), &["must not all be None"]);
    let cell = Tensor::from([1.0]).cell();
    let writes = |v: &[Tensor]| {
        cell.set_(&v[0].sum(()).unsqueeze(0)).unwrap();
        v[0].sum(())
    };
    assert_says(&vmap(&[&x], &[Some(0)], writes).unwrap_err(), &["over a batch cannot write a cell"]);
    assert_eq!(cell.to_vec::<f64>().unwrap(), [1.0]);
    let leaf = Tensor::from([1.0]).requires_grad_();
    let trains = |v: &[Tensor]| {
        leaf.data_().set_(&v[0].sum(()).unsqueeze(0)).unwrap();
        v[0].sum(())
    };
    assert_says(&grad(&[&x], trains).unwrap_err(), &["cannot write a cell"]);
}
