//! Tests the conventions at ties, zeros, empty extents and special values that the docs of the ops state.

use gradus_ir::graph::Builder;
use gradus_ir::ops::Combine;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::index::Scatter;
use gradus_ir::ops::pointwise::arith;
use gradus_ir::ops::reduce::{Max, Min, Prod};
use gradus_ir::reference::evaluate;
use gradus_ir::{Aval, DType, Literal, Op, transform};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn floats(v: &[f64]) -> Literal {
    Literal::floats(DType::F64, [v.len()], v.to_vec()).unwrap()
}

/// Returns the gradient of the first operand for these cotangents.
fn gradient(op: impl Into<Op>, ins: &[Literal], ct: &Literal) -> Vec<f64> {
    let graph = graph_of(&op.into(), ins).unwrap();
    let inputs: Vec<Literal> = ins.iter().chain([ct]).cloned().collect();
    evaluate(&transform::vjp(&graph, &[0]).unwrap(), &inputs).unwrap()[0].f().to_vec()
}

#[test]
fn ties_of_extremes_share_evenly() {
    let (x, one) = (floats(&[2.0, 5.0, 5.0, 1.0]), Literal::scalar(DType::F64, 1.0));
    assert_eq!(gradient(Max { axes: vec![0] }, &[x], &one), [0.0, 0.5, 0.5, 0.0]);
    let x = floats(&[2.0, 1.0, 1.0, 1.0]);
    assert_eq!(gradient(Min { axes: vec![0] }, &[x], &one), [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    let (a, b) = (floats(&[1.0, 2.0, 3.0]), floats(&[2.0, 2.0, 2.0]));
    let ones = floats(&[1.0, 1.0, 1.0]);
    assert_eq!(gradient(&arith::maximum, &[a.clone(), b.clone()], &ones), [0.0, 0.5, 1.0]);
    assert_eq!(gradient(&arith::minimum, &[a, b], &ones), [1.0, 0.5, 0.0]);
}

#[test]
fn of_equal_running_maxima_the_latest_gets_the_derivative() {
    let op = Cumulate { combine: Combine::Max, axis: 0, reverse: false };
    let (x, ct) = (floats(&[1.0, 3.0, 3.0, 2.0]), floats(&[1.0, 10.0, 100.0, 1000.0]));
    assert_eq!(gradient(op, std::slice::from_ref(&x), &ct), [1.0, 10.0, 1100.0, 0.0]);
    let op = Cumulate { combine: Combine::Max, axis: 0, reverse: true };
    assert_eq!(gradient(op, &[x], &ct), [0.0, 11.0, 100.0, 1000.0]);
}

#[test]
fn running_extremes_follow_nan() {
    for reverse in [false, true] {
        for combine in [Combine::Max, Combine::Min] {
            let op = Cumulate { combine, axis: 0, reverse };
            for x in [[NAN, 1.0, 2.0], [1.0, NAN, 2.0], [1.0, 2.0, NAN], [NAN, NAN, NAN]] {
                let graph = graph_of(&op.clone().into(), &[floats(&x)]).unwrap();
                checks::all(&graph, &[floats(&x)], false).unwrap();
            }
        }
    }
    let op = Cumulate { combine: Combine::Max, axis: 0, reverse: false };
    let ct = floats(&[1.0, 10.0, 100.0]);
    assert_eq!(gradient(op, &[floats(&[1.0, NAN, 2.0])], &ct), [1.0, 110.0, 0.0]);
}

#[test]
fn a_running_log_sum_exp_of_minus_infinity_has_gradient_zero() {
    let op = Cumulate { combine: Combine::LogSumExp, axis: 0, reverse: false };
    let x = floats(&[-INF, -INF, 0.0, -INF, 0.0]);
    let ct = floats(&[1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(gradient(op, &[x], &ct), [0.0, 0.0, 2.5, 0.0, 0.5]);
}

#[test]
fn products_with_zeros_are_exact() {
    let one = Literal::scalar(DType::F64, 1.0);
    assert_eq!(gradient(Prod { axes: vec![0] }, &[floats(&[0.0, 2.0, 3.0])], &one), [6.0, 0.0, 0.0]);
    assert_eq!(gradient(Prod { axes: vec![0] }, &[floats(&[0.0, 0.0, 3.0])], &one), [0.0, 0.0, 0.0]);
}

#[test]
fn extremes_over_empty_axes_are_constants() {
    let empty = Literal::floats(DType::F64, [0, 2], vec![]).unwrap();
    let graph = graph_of(&Max { axes: vec![0] }.into(), std::slice::from_ref(&empty)).unwrap();
    let forward = transform::jvp(&graph, &[0]).unwrap();
    let outs = evaluate(&forward, &[empty.clone(), empty]).unwrap();
    assert_eq!((outs[0].f(), outs[1].f()), (&[-INF, -INF][..], &[0.0, 0.0][..]));
}

#[test]
fn the_last_of_several_writes_wins() {
    let at = Literal::ints(DType::I64, [3], vec![1, 0, 1]).unwrap();
    let ins = [floats(&[7.0, 8.0, 9.0]), at, floats(&[1.0, 2.0, 3.0])];
    let graph = graph_of(&Scatter { axis: 0, combine: None }.into(), &ins).unwrap();
    assert_eq!(evaluate(&graph, &ins).unwrap()[0].f(), [2.0, 3.0, 9.0]);
    let reverse = transform::vjp(&graph, &[0, 2]).unwrap();
    let inputs: Vec<Literal> = ins.iter().cloned().chain([floats(&[10.0, 20.0, 30.0])]).collect();
    let grads = evaluate(&reverse, &inputs).unwrap();
    assert_eq!(grads[0].f(), [0.0, 0.0, 30.0]);
    assert_eq!(grads[1].f(), [0.0, 10.0, 20.0]);
}

#[test]
fn elements_that_are_not_selected_do_not_affect_gradients() {
    let b = Builder::new();
    let aval = Aval::new(DType::F64, [3]);
    let x = b.input("x", aval.clone());
    let safe = x.gt(x.full_like(0.0)).select(x, x.full_like(1.0));
    let y = x.gt(x.full_like(0.0)).select(safe.log(), x.full_like(0.0));
    let graph = b.finish(&[y]).unwrap();
    let inputs = [floats(&[-1.0, 0.0, 2.0]), floats(&[1.0, 1.0, 1.0])];
    let grads = evaluate(&transform::vjp(&graph, &[0]).unwrap(), &inputs).unwrap();
    assert_eq!(grads[0].f(), [0.0, 0.0, 0.5]);
}

#[test]
fn unused_inputs_have_gradient_zero() {
    let b = Builder::new();
    let (x, _) = (b.input("x", Aval::new(DType::F64, [2])), b.input("y", Aval::new(DType::F64, [3])));
    let graph = b.finish(&[x * x]).unwrap();
    let inputs = [floats(&[1.0, 2.0]), floats(&[1.0, 2.0, 3.0]), floats(&[1.0, 1.0])];
    let grads = evaluate(&transform::vjp(&graph, &[0, 1]).unwrap(), &inputs).unwrap();
    assert_eq!(grads[1].f(), [0.0, 0.0, 0.0]);
    assert!(transform::vjp(&graph, &[2]).unwrap_err().to_string().contains("is not in the graph"));
}
