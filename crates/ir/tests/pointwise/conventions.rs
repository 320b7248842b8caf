//! Tests derivatives at points where calculus leaves a choice or gives infinity: both modes return the stated value.

use super::{INF, NAN, assert_same, evaluate, graph_of, op_named};
use gradus_ir::transform::{jvp, vjp};
use gradus_ir::{Aval, C, DType, Graph, Literal};

/// Returns the gradient of a graph from scalars to a scalar. Checks that forward and reverse mode agree.
fn gradient(what: &str, graph: &Graph, at: &[f64], wrt: &[usize], tolerance: f64) -> Vec<f64> {
    let ins: Vec<Literal> = at.iter().chain(&[1.0]).map(|&x| Literal::scalar(DType::F64, x)).collect();
    let number = |l: &Literal| l.f()[0];
    let back: Vec<f64> = evaluate(&vjp(graph, wrt).unwrap(), &ins).iter().map(number).collect();
    let ahead = |&i: &usize| number(&evaluate(&jvp(graph, &[i]).unwrap(), &ins)[1]);
    let ahead: Vec<f64> = wrt.iter().map(ahead).collect();
    assert_same(&format!("{what}{at:?}, reverse and forward"), &back, &ahead, tolerance);
    back
}

/// Returns the first derivatives of a pointwise op at a point.
fn slopes(name: &str, at: &[f64]) -> Vec<f64> {
    let wrt: Vec<usize> = (0..at.len()).collect();
    let graph = graph_of(&op_named(name), &vec![Aval::scalar(DType::F64); at.len()]);
    gradient(name, &graph, at, &wrt, 0.0)
}

/// Returns the second derivatives of a binary op at a point: those of the first partial, then those of the
/// second.
fn curvature(name: &str, [a, b]: [f64; 2]) -> Vec<f64> {
    let graph = graph_of(&op_named(name), &[Aval::scalar(DType::F64), Aval::scalar(DType::F64)]);
    let of = |k: usize| gradient(name, &vjp(&graph, &[k]).unwrap(), &[a, b, 1.0], &[0, 1], 1e-14);
    [of(0), of(1)].concat()
}

#[test]
fn first_derivatives_at_kinks_ties_and_poles() {
    let table: &[(&str, &[f64], &[f64])] = &[
        ("maximum", &[1.0, 1.0], &[0.5, 0.5]),
        ("maximum", &[0.0, -0.0], &[0.5, 0.5]),
        ("maximum", &[2.0, 1.0], &[1.0, 0.0]),
        ("maximum", &[NAN, 1.0], &[0.0, 0.0]),
        ("minimum", &[1.0, 1.0], &[0.5, 0.5]),
        ("minimum", &[2.0, 1.0], &[0.0, 1.0]),
        ("minimum", &[1.0, NAN], &[0.0, 0.0]),
        ("abs", &[0.0], &[0.0]),
        ("abs", &[-0.0], &[0.0]),
        ("abs", &[-3.0], &[-1.0]),
        ("abs", &[INF], &[1.0]),
        ("copysign", &[-2.0, 1.0], &[-1.0, 0.0]),
        ("copysign", &[2.0, -0.0], &[-1.0, 0.0]),
        ("copysign", &[0.0, -1.0], &[0.0, 0.0]),
        ("pow", &[0.0, 2.0], &[0.0, 0.0]),
        ("pow", &[0.0, 1.0], &[1.0, 0.0]),
        ("pow", &[0.0, 0.0], &[0.0, 0.0]),
        ("pow", &[2.0, 0.0], &[0.0, 2.0_f64.ln()]),
        ("pow", &[-3.0, 2.0], &[-6.0, NAN]),
        ("pow", &[-3.0, 0.0], &[0.0, NAN]),
        ("pow", &[-2.0, -1.0], &[-0.25, NAN]),
        ("pow", &[0.0, 0.5], &[INF, 0.0]),
        ("pow", &[0.0, -1.0], &[-INF, -INF]),
        ("pow", &[-3.0, 0.5], &[NAN, NAN]),
        ("sqrt", &[0.0], &[INF]),
        ("sqrt", &[4.0], &[0.25]),
        ("rsqrt", &[0.0], &[-INF]),
        ("cbrt", &[0.0], &[INF]),
        ("cbrt", &[-8.0], &[1.0 / 12.0]),
        ("log", &[0.0], &[INF]),
        ("reciprocal", &[0.0], &[-INF]),
        ("hypot", &[0.0, 0.0], &[0.0, 0.0]),
        ("hypot", &[3.0, -4.0], &[0.6, -0.8]),
        ("hypot", &[3e200, 4e200], &[0.6, 0.8]),
        ("atan2", &[0.0, 0.0], &[0.0, 0.0]),
        ("atan2", &[-0.0, -0.0], &[0.0, 0.0]),
        ("atan2", &[0.0, -2.0], &[-0.5, 0.0]),
        ("atan2", &[3e200, 4e200], &[1.6e-201, -1.2e-201]),
        ("atan2", &[3e-200, 4e-200], &[1.6e199, -1.2e199]),
        ("logaddexp", &[1.0, 1.0], &[0.5, 0.5]),
        ("logaddexp", &[-INF, -INF], &[0.5, 0.5]),
        ("logaddexp", &[INF, INF], &[0.5, 0.5]),
        ("logaddexp", &[-INF, 1.0], &[0.0, 1.0]),
        ("logaddexp", &[INF, 1.0], &[1.0, 0.0]),
        ("logaddexp", &[-INF, INF], &[0.0, 1.0]),
        ("logaddexp", &[1000.0, -1000.0], &[1.0, 0.0]),
        ("fmod", &[5.5, 2.0], &[1.0, -2.0]),
        ("fmod", &[-5.5, 2.0], &[1.0, 2.0]),
        ("fmod", &[4.0, 2.0], &[1.0, -2.0]),
        ("fmod", &[5.5, INF], &[1.0, 0.0]),
        ("remainder", &[5.5, 2.0], &[1.0, -2.0]),
        ("remainder", &[-5.5, 2.0], &[1.0, 3.0]),
        ("remainder", &[5.5, -2.0], &[1.0, 3.0]),
        // The quotient rounds to 10; the remainder shows that it is 9.
        ("remainder", &[1.0, 0.1], &[1.0, -9.0]),
        ("floor_div", &[5.5, 2.0], &[0.0, 0.0]),
        ("sign", &[0.0], &[0.0]),
        ("floor", &[1.0], &[0.0]),
        ("ceil", &[1.0], &[0.0]),
        ("round", &[0.5], &[0.0]),
        ("trunc", &[0.0], &[0.0]),
        ("sigmoid", &[INF], &[0.0]),
        ("sigmoid", &[-INF], &[0.0]),
        ("tanh", &[INF], &[0.0]),
        ("exp", &[-INF], &[0.0]),
        ("erf", &[-INF], &[0.0]),
        ("erfc", &[INF], &[0.0]),
        ("atan", &[INF], &[0.0]),
        ("asinh", &[INF], &[0.0]),
        ("asin", &[1.0], &[INF]),
        ("acos", &[-1.0], &[-INF]),
        ("acosh", &[1.0], &[INF]),
        ("atanh", &[-1.0], &[INF]),
        ("erfinv", &[1.0], &[INF]),
        ("lgamma", &[1.0], &[-0.5772156649015329]),
        ("digamma", &[1.0], &[1.6449340668482264]),
        ("polygamma", &[1.0, 1.0], &[0.0, -2.4041138063191886]),
        ("polygamma", &[0.0, 1.0], &[0.0, 1.6449340668482264]),
    ];
    for (name, at, want) in table {
        assert_same(&format!("{name}{at:?}"), &slopes(name, at), want, 4e-16);
    }
}

#[test]
fn second_derivatives_at_kinks_ties_and_poles() {
    let log = 2.0_f64.ln();
    let table = [
        ("maximum", [1.0, 1.0], [0.0; 4]),
        ("copysign", [0.0, 1.0], [0.0; 4]),
        ("hypot", [0.0, 0.0], [0.0; 4]),
        ("hypot", [3.0, 4.0], [0.128, -0.096, -0.096, 0.072]),
        ("atan2", [0.0, 0.0], [0.0; 4]),
        ("atan2", [1.0, 2.0], [-0.16, -0.12, -0.12, 0.16]),
        ("logaddexp", [1.0, 1.0], [0.25, -0.25, -0.25, 0.25]),
        ("logaddexp", [-INF, -INF], [0.0; 4]),
        ("logaddexp", [INF, INF], [0.0; 4]),
        ("logaddexp", [-INF, 1.0], [0.0; 4]),
        ("fmod", [5.5, 2.0], [0.0; 4]),
        ("pow", [0.0, 2.0], [2.0, 0.0, 0.0, 0.0]),
        ("pow", [0.0, 3.0], [0.0; 4]),
        ("pow", [0.0, 0.0], [0.0; 4]),
        ("pow", [2.0, 0.0], [0.0, 0.5, 0.5, log * log]),
        ("pow", [2.0, 1.0], [0.0, 1.0 + log, 1.0 + log, 2.0 * log * log]),
    ];
    for (name, at, want) in table {
        assert_same(&format!("{name}{at:?}"), &curvature(name, at), &want, 1e-14);
    }
    // The partial by the exponent stays 0 even if that by the base is infinite.
    assert_eq!(curvature("pow", [0.0, 0.5])[2..], [0.0, 0.0]);
}

#[test]
fn powers_of_complex_zero() {
    let graph = graph_of(&op_named("pow"), &[Aval::scalar(DType::C128), Aval::scalar(DType::C128)]);
    let back = vjp(&graph, &[0, 1]).unwrap();
    for (exponent, slope) in [(2.0, 0.0), (1.0, 1.0), (0.0, 0.0)] {
        let ins = [0.0, exponent, 1.0].map(|x| Literal::scalar(DType::C128, x));
        let grads: Vec<C> = evaluate(&back, &ins).iter().map(|g| g.c()[0]).collect();
        assert_eq!(grads, [C::from(slope), C::ZERO], "0^{exponent}");
    }
}
