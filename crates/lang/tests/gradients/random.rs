//! Random equations with ranges, offsets and functions with new indices. Checks the plain and merged
//! gradients of those that run.

use crate::common::check::{check_with, load, numbers, settings};
use gradus_ir::{Aval, transform};
use gradus_lang::ast::Name;
use gradus_lang::{GradientOptions, Program, Source, raise};
use gradus_tensor::{Tensor, compile_graph};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::sync::Arc;

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
        // If an argument of a call keeps an index because of other factors, the gradient may require that the
        // call has its own equation.
        if runs && program.gradient(&GradientOptions::default()).is_ok() {
            check_with(&text, &shapes, None);
            ran += 1;
        }
    }
    assert!(ran * 4 >= cases, "{ran} of {cases} ran");
}

const MORE: &str = "fn g(a) -> y { y = sin(a) + 0.5 a }\n\
    fn s(a[x]) -> y { y = a[x] a[x] }\n\
    fn f(a[x]) -> o[y] { o[y] = a[y=::-1] a[y] a[y] }\n\
    fn h(a[x], b[y]) -> c[y] { c[y] = a[x] b[y] index(y) size(x) }\n\
    fn w(a[x], b[x]) -> y[x] { y[x] = a[x] b[x+1] }\n";

fn index() -> impl Strategy<Value = &'static str> {
    select(vec!["r", "s", "q"])
}

fn wide_place() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => index().prop_map(String::from),
        1 => index().prop_map(|i| format!("{i}=::-1")),
        1 => index().prop_map(|i| format!("{i}+1")),
        1 => index().prop_map(|i| format!("{i}-1")),
        1 => select(vec!["0", "-1", "2"]).prop_map(String::from),
    ]
}

/// Nested choices, reductions, quotients and calls.
fn wide() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (select(vec!["V", "U"]), wide_place()).prop_map(|(n, p)| format!("{n}[{p}]")),
        (select(vec!["M", "N"]), wide_place(), wide_place()).prop_map(|(n, p, q)| format!("{n}[{p},{q}]")),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let e = || inner.clone();
        prop_oneof![
            4 => (e(), e()).prop_map(|(a, b)| format!("{a} {b}")),
            2 => (e(), select(vec!["+", "-"]), e()).prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            1 => (e(), e()).prop_map(|(a, b)| format!("({a}) / (2 + ({b}) ** 2)")),
            1 => (e(), e()).prop_map(|(a, b)| format!("(2 + ({a}) ** 2) ** sin({b})")),
            2 => (e(), e(), e()).prop_map(|(c, a, b)| format!("({c} > 0.4 ? {a} : {b})")),
            1 => (e(), e(), e()).prop_map(|(c, a, b)| format!("case {{ {c} > 0.4 -> {a}, {a} > 0.3 -> {b} }}")),
            1 => (e(), e(), e()).prop_map(|(c, a, b)| format!("where({c} > 0.4, {a}, {b})")),
            1 => (e(), e(), e()).prop_map(|(c, a, b)| format!("case({c} > 0.4, {a}, {a} > 0.3, {b})")),
            // Functions along an axis of a choice, whose condition may have other indices, or the same in another
            // order.
            3 => (select(vec!["softmax", "cumsum"]), select(vec!["where", "masked_fill", "case"]), e(), e(), e())
                .prop_map(|(f, choice, c, a, b)| match choice {
                    "masked_fill" => format!("{f}({choice}({a}, {c} > 0.4, {b}))"),
                    _ => format!("{f}({choice}({c} > 0.4, {a}, {b}))"),
                }),
            2 => (select(vec!["sum", "max", "prod", "avg", "min"]), index(), e())
                .prop_map(|(h, i, a)| format!("reduce({h}, {i}) ({a})")),
            1 => (select(vec!["sum", "max", "prod", "mean", "logsumexp"]), index(), e())
                .prop_map(|(h, i, a)| format!("{h}({a}, axis=\"{i}\")")),
            2 => (select(vec!["softmax", "cumsum", "lnorm"]), e()).prop_map(|(f, a)| format!("{f}({a})")),
            1 => (select(vec!["softmax", "cumsum"]), index(), e()).prop_map(|(f, i, a)| format!("{f}({a}, axis=\"{i}\")")),
            2 => (select(vec!["sin", "tanh", "exp"]), e()).prop_map(|(f, a)| format!("{f}({a})")),
            2 => (select(vec!["g", "s", "f"]), e()).prop_map(|(f, a)| format!("{f}({a})")),
            2 => (select(vec!["h", "w"]), e(), e()).prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
        ]
    })
}

fn wide_program() -> impl Strategy<Value = String> {
    let left = select(vec!["", "[r]", "[s]", "[r,s]", "[s.,q]", "[k]"]);
    let how = select(vec!["=", "=", "=", "max=", "min=", "avg=", "prod="]);
    let guard = select(vec!["", "", "", " when U[s] > 0.5", " when M[s,q] V[q] > 0.5"]);
    (left, guard, how, wide()).prop_map(|(l, guard, how, e)| {
        let read = l.replace('.', "");
        format!("{MORE}T{l}{guard} {how} {e}\nLoss = tanh(T{read}) + U[r] V[r] + M[i,j] N[i,j]")
    })
}

/// Raises the gradient that the core computes, and checks that the equations have the same values.
fn raised(program: &Program, inputs: &BTreeMap<Name, Tensor>) {
    let avals: BTreeMap<Name, Aval> = inputs.iter().map(|(n, t)| (n.clone(), t.aval().unwrap())).collect();
    let lowered = program.lower(&avals, &settings(None), &["Loss".into()]).unwrap();
    let graph = transform::vjp(&lowered.graph, &(0..inputs.len()).collect::<Vec<_>>()).unwrap();
    let text = raise(&graph, &[]).unwrap();
    let again = load(&text);
    let names: Vec<Name> = graph.inputs().iter().map(|(n, _)| n.as_str().into()).collect();
    let mut ins: Vec<Tensor> = lowered.inputs.iter().map(|n| inputs[n].clone()).collect();
    ins.extend(graph.input_avals()[ins.len()..].iter().map(|a| Tensor::zeros_of(a) + 1.0));
    let direct = compile_graph(&Arc::new(graph)).unwrap().run(&ins.iter().collect::<Vec<_>>()).unwrap();
    let given = names.into_iter().zip(ins).filter(|(n, _)| again.is_input(n)).collect();
    let outputs = again.outputs();
    let found = again.run(&given, &settings(None), &outputs).unwrap_or_else(|f| panic!("{text}\n{f}"));
    for (name, direct) in outputs.iter().zip(&direct) {
        let far = (&found[name] - direct).abs().max(()).item::<f64>().unwrap();
        let most = direct.abs().max(()).item::<f64>().unwrap();
        assert!(far <= 1e-12 * (1.0 + most), "{name}: {far}\n{text}");
    }
}

/// Random choices, guards and reductions.
#[test]
fn random_choices() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let mut runner = TestRunner::deterministic();
    let shapes: [(&str, &[usize]); 4] = [("V", &[3]), ("U", &[3]), ("M", &[3, 3]), ("N", &[3, 3])];
    let one = |(n, s): &(&str, &[usize])| {
        (Name::from(*n), Tensor::from_slice(&numbers(n, s.iter().product()), s.to_vec()))
    };
    let inputs: BTreeMap<Name, Tensor> = shapes.iter().map(one).collect();
    let (mut ran, mut wrong) = (0, Vec::new());
    for case in 0..cases {
        let text = wide_program().new_tree(&mut runner).unwrap().current();
        // Not every generated program is valid.
        let Ok(program) = Program::parse(Source::new("test", &text)) else { continue };
        let Ok(out) = program.run(&inputs, &settings(None), &["Loss".into()]) else { continue };
        let finite = out[&Name::from("Loss")].item::<f64>().unwrap().is_finite();
        if finite && program.gradient(&GradientOptions::default()).is_ok() {
            ran += 1;
            let holds = || {
                check_with(&text, &shapes, None);
                // Every eighth program, because this takes as long as all other checks.
                if ran % 8 == 0 {
                    raised(&program, &inputs);
                }
            };
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(holds)).is_err() {
                wrong.push(format!("{case}: {}", text.lines().nth(5).unwrap_or_default()));
            }
        }
    }
    assert!(
        wrong.is_empty() && ran * 4 >= cases,
        "{} of {ran} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
