//! Tests the pointwise table: derivatives against finite differences and against each other, values at zeros,
//! infinities and NaN, and the conventions at kinks, ties, poles and overflow.

mod conventions;
mod differences;
mod values;

use gradus_ir::literal::Data;
use gradus_ir::ops::pointwise;
use gradus_ir::{Aval, Builder, C, Graph, Literal, Op, reference};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn graph_of(op: &Op, ins: &[Aval]) -> Graph {
    let b = Builder::new();
    let ins: Vec<_> = ins.iter().map(|a| b.input("x", a.clone())).collect();
    b.finish(&b.apply(op.clone(), &ins)).unwrap()
}

fn avals(ins: &[Literal]) -> Vec<Aval> {
    ins.iter().map(|l| l.aval().clone()).collect()
}

fn op_named(name: &str) -> Op {
    pointwise::find(name).unwrap_or_else(|| panic!("no op {name}")).into()
}

fn evaluate(graph: &Graph, ins: &[Literal]) -> Vec<Literal> {
    reference::evaluate(graph, ins).unwrap()
}

fn joined(a: &[Literal], b: &[Literal]) -> Vec<Literal> {
    [a, b].concat()
}

/// Returns the elements of any class as complex numbers.
fn elements(l: &Literal) -> Vec<C> {
    match l.data() {
        Data::F(v) => v.iter().map(|&x| C::from(x)).collect(),
        Data::C(v) => v.to_vec(),
        Data::I(v) => v.iter().map(|&x| C::from(x as f64)).collect(),
    }
}

/// Checks that numbers are equal within a relative tolerance, and NaN is equal to NaN.
#[track_caller]
fn assert_same(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (k, (&g, &w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= tolerance * w.abs();
        assert!(same, "{what}: number {k} is {g:?}, not {w:?}");
    }
}
