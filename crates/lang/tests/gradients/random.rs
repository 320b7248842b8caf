//! Random equations of ranges, offsets and functions with indices of their own: gradients, plain and merged, of all that run.

use crate::check::{check_with, load, settings};
use gradus_lang::GradientOptions;
use gradus_lang::ast::Name;
use gradus_tensor::Tensor;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

const FUNCTIONS: &str = "fn f(a[x]) -> o[y] { o[y] = a[y=::-1] a[y] a[y] }\n\
    fn g(a[x]) -> o[x,z] { o[x,z] = a[x] sin(a[z-1]) }\n";

fn place() -> impl Strategy<Value = String> {
    (select(vec!["r", "s"]), select(vec!["", "", "", "=::-1", "=::-1", "-1", "+1"]))
        .prop_map(|(i, how)| format!("{i}{how}"))
}

fn tensor() -> impl Strategy<Value = String> {
    prop_oneof![
        (select(vec!["V", "U"]), place()).prop_map(|(n, p)| format!("{n}[{p}]")),
        (place(), place()).prop_map(|(p, q)| format!("M[{p},{q}]")),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    tensor().prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} {b}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            2 => (select(vec!["sin", "tanh", "softmax"]), inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            4 => (select(vec!["f", "g"]), inner).prop_map(|(f, a)| format!("{f}({a})")),
        ]
    })
}

fn program() -> impl Strategy<Value = String> {
    let left = || select(vec!["r", "s", "r,s", "s,r", "k", "k,s"]);
    (left(), expression(), left(), expression()).prop_map(|(l, a, m, b)| {
        format!(
            "{FUNCTIONS}T[{l}] = {a}\nW[{m}] = {b}\nLoss = T[{l}] T[{l}] + sin(W[{m}]) + V[r] U[r] M[r,s]"
        )
    })
}

#[test]
fn random_equations() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut runner = TestRunner::deterministic();
    let shapes: [(&str, &[usize]); 3] = [("V", &[3]), ("U", &[3]), ("M", &[3, 3])];
    let inputs: BTreeMap<Name, Tensor> =
        shapes.iter().map(|(n, s)| (Name::from(*n), Tensor::full(s.to_vec(), 0.5f64))).collect();
    let mut ran = 0;
    for _ in 0..cases {
        let text = program().new_tree(&mut runner).unwrap().current();
        let program = load(&text);
        let runs = program.run(&inputs, &settings(None), &["Loss".into()]).is_ok();
        // A call whose argument keeps an index for its neighbours may be asked to have an equation of its own.
        if runs && program.gradient(&GradientOptions::default()).is_ok() {
            check_with(&text, &shapes, None);
            ran += 1;
        }
    }
    assert!(ran * 4 >= cases, "{ran} of {cases} ran");
}
