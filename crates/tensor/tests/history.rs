//! The recorded history of eager tensors: operations, operands, order, and its graph.

use gradus_ir::reference;
use gradus_tensor::{All, Backward, Operand, Tensor, no_grad};

fn leaf(values: [f64; 2], name: &str) -> Tensor {
    Tensor::from(values).requires_grad_().named(name)
}

#[test]
fn operations_are_walked_back_to_the_leaves() {
    let (a, b) = (leaf([1.0, 2.0], "a"), leaf([3.0, 4.0], "b"));
    let product = &a * &b;
    let y = (&product + &a).tanh();
    let (tanh, out) = y.recorded().unwrap();
    assert_eq!((tanh.name(), out), ("tanh", 0));
    let operands = tanh.operands().unwrap();
    let [Operand::Result(sum, 0)] = &operands[..] else { panic!("one operand, a sum") };
    assert_eq!(sum.name(), "add");
    let [Operand::Result(mul, 0), Operand::Leaf(second)] = &sum.operands().unwrap()[..] else {
        panic!("a product and a leaf")
    };
    assert!(second.is_same(&a));
    assert_eq!(mul.addr(), product.recorded().unwrap().0.addr());
    assert!(mul.order() < sum.order() && sum.order() < tanh.order());
    assert!(mul.location().file().ends_with("history.rs"));
    assert!(a.recorded().is_none() && a.detach().exp().recorded().is_none());
}

#[test]
fn a_history_is_a_graph_with_the_same_value() {
    let (a, b) = (leaf([0.5, -1.0], "a"), leaf([3.0, 4.0], "b"));
    let shared = &a * &b;
    let y = (shared.softmax(0) * &shared + a.exp() / 2.0).sum(All);
    let history = y.history().unwrap();
    let leaves: Vec<_> = history.leaves().iter().map(|t| t.name().unwrap().to_string()).collect();
    assert_eq!(leaves, ["a", "b"]);
    let names: Vec<&str> = history.ops().iter().map(|op| op.name()).collect();
    assert_eq!(names.iter().filter(|n| **n == "softmax").count(), 1, "{names:?}");
    assert_eq!((names[0], *names.last().unwrap()), ("mul", "sum"));
    let orders: Vec<u64> = history.ops().iter().map(|op| op.order()).collect();
    assert!(orders.is_sorted(), "{orders:?}");
    let graph = history.graph();
    let inputs: Vec<&str> = graph.inputs().iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(inputs[..2], ["a", "b"]);
    if inputs.len() == 2 {
        let values = [a.to_literal().unwrap(), b.to_literal().unwrap()];
        let value = reference::evaluate(graph, &values).unwrap()[0].f()[0];
        assert!((value - y.item::<f64>().unwrap()).abs() < 1e-12);
    } else {
        panic!("all operands are leaves or kept: {graph}");
    }
}

#[test]
fn operands_that_were_not_kept_are_inputs() {
    let a = leaf([1.0, 2.0], "a");
    let large = Tensor::from([5.0, 6.0]);
    let y = &a + &large;
    let graph = y.history().unwrap().graph().to_string();
    assert!(graph.contains("(a: f64[2], c: f64[2])") && graph.contains("add(a, c)"), "{graph}");
}

#[test]
fn numbers_are_operands_too() {
    let a = leaf([1.0, 2.0], "a");
    let y = &a * 3.0;
    let operands = y.recorded().unwrap().0.operands().unwrap();
    let [Operand::Leaf(_), Operand::Value(Some(three))] = &operands[..] else {
        panic!("a leaf and a number")
    };
    assert_eq!(three.to_vec::<f64>().unwrap(), [3.0, 3.0]);
    let graph = y.history().unwrap().graph().clone();
    let value = reference::evaluate(&graph, &[a.to_literal().unwrap()]).unwrap();
    assert_eq!(value[0].f(), [3.0, 6.0]);
}

#[test]
fn a_leaf_has_an_empty_history_and_others_have_none() {
    let a = leaf([1.0, 2.0], "a");
    let own = a.history().unwrap();
    assert!(own.ops().is_empty() && own.leaves()[0].is_same(&a));
    assert_eq!((own.graph().inputs().len(), own.graph().outputs().len()), (1, 1));
    for without in [a.detach(), no_grad(|| a.exp())] {
        let e = without.history().err().unwrap().to_string();
        assert!(e.contains("no recorded history"), "{e}");
    }
}

#[test]
fn a_backward_pass_frees_the_history_unless_it_is_retained() {
    let a = leaf([1.0, 2.0], "a");
    let y = a.square().sum(All);
    y.backward_as(None, Backward { retain_graph: true, ..Backward::default() }).unwrap();
    assert_eq!(y.history().unwrap().ops().len(), 2);
    y.backward().unwrap();
    let e = y.history().err().unwrap().to_string();
    assert!(e.contains("freed by a backward pass"), "{e}");
}

#[test]
fn a_long_history_is_walked_without_recursion() {
    let a = leaf([1.0, 2.0], "a");
    let mut y = a.clone();
    for _ in 0..50_000 {
        y = &y + &a;
    }
    assert_eq!(y.history().unwrap().ops().len(), 50_000);
}
