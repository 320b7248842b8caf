//! Every builtin: its values beside the tensor crate's, its gradients of first and second order beside differences.

#[path = "builtins/cases.rs"]
mod cases;
#[path = "common/check.rs"]
mod check;
#[path = "builtins/losses.rs"]
mod losses;
#[path = "builtins/places.rs"]
mod places;

use cases::Case;
use check::{check_with, load, numbers, settings};
use gradus_ir::DType;
use gradus_ir::ops::pointwise;
use gradus_lang::GradientOptions;
use gradus_lang::ast::Name;
use gradus_tensor::{Tensor, apply1};
use std::collections::{BTreeMap, BTreeSet};

type Inputs = BTreeMap<Name, Tensor>;

fn cases() -> Vec<Case> {
    let tables = [
        cases::numbers(),
        cases::along(),
        cases::reductions(),
        losses::losses(),
        cases::fourier(),
        places::linalg(),
        places::images(),
        places::arrays(),
    ];
    tables.into_iter().flatten().collect()
}

fn drawn(name: &str, shape: &[usize]) -> Tensor {
    Tensor::from_slice(&numbers(name, shape.iter().product()), shape.to_vec())
}

fn inputs(case: &Case) -> Vec<Tensor> {
    case.inputs.iter().map(|(n, s)| drawn(n, s)).collect()
}

fn value(text: &str, inputs: &Inputs, name: &str) -> Tensor {
    let found = load(text).run(inputs, &settings(None), &[name.into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}"))[&Name::from(name)].clone()
}

fn far(a: &Tensor, b: &Tensor) -> f64 {
    if a.numel() == 0 { 0.0 } else { (a - b).abs().max(()).item::<f64>().unwrap() }
}

/// Every case, to the end, whichever of them fail.
fn each(check: fn(&Case)) {
    let fails = |c: &Case| std::panic::catch_unwind(|| check(c)).is_err();
    let failed: Vec<String> = cases().iter().filter(|c| fails(c)).map(|c| c.call.clone()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn values() {
    each(|case| {
        let given = inputs(case);
        let by_name = case.inputs.iter().map(|i| Name::from(i.0)).zip(given.iter().cloned()).collect();
        let text = format!("{}Y{} = {}", case.before, case.left, case.call);
        let found = value(&text, &by_name, "Y").to_dtype(DType::F64);
        let expected = (case.expected)(&given).to_dtype(DType::F64);
        assert_eq!(found.shape(), expected.shape(), "{text}");
        assert!(far(&found, &expected) <= 1e-12, "{text}\n{found}\n{expected}");
    });
}

/// Every function of the catalog by its name.
#[test]
fn values_of_rows() {
    let names = ["X[i,j]", "Z[i,j]", "V[i,j]"];
    for row in pointwise::rows() {
        let operands = &names[..row.arity];
        let given: Vec<Tensor> = operands.iter().map(|n| drawn(&n[..1], &[3, 4])).collect();
        let expected = apply1(row, &given.iter().collect::<Vec<_>>());
        let text = format!("Y[i,j] = {}({})", row.name, operands.join(", "));
        let by_name = operands.iter().map(|n| Name::from(&n[..1])).zip(given).collect();
        if expected.error().is_some() {
            // Of truth values and whole numbers only.
            assert!(load(&text).run(&by_name, &settings(None), &["Y".into()]).is_err(), "{text}");
            continue;
        }
        let found = value(&text, &by_name, "Y");
        let (found, expected) = (found.to_dtype(DType::F64), expected.to_dtype(DType::F64));
        let same = found.eq(&expected).logical_or(&found.is_nan().logical_and(&expected.is_nan()));
        assert!(same.all(()).item::<bool>().unwrap(), "{text}");
    }
}

#[test]
fn every_builtin_has_a_case() {
    let cases: BTreeSet<&str> = cases().iter().map(|c| c.name).collect();
    let table = gradus_lang::families().iter().flat_map(|f| f.functions());
    let without: Vec<&str> = table.map(|f| f.0).filter(|n| !cases.contains(n)).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// A program with a loss that weighs every number of the result by itself and its square.
fn with_loss(case: &Case) -> (String, Vec<(&'static str, Vec<usize>)>) {
    let Case { before, left, call, .. } = case;
    let text = format!("{before}Y{left} = {call}\nLoss = R{left} Y{left} Y{left} + R{left} Y{left}");
    let out = (case.expected)(&inputs(case)).shape().to_vec();
    let shapes = case.inputs.iter().map(|(n, s)| (*n, s.to_vec()));
    (text, shapes.chain([("R", out)]).collect())
}

#[test]
fn gradients() {
    each(|case| {
        let (text, shapes) = with_loss(case);
        let shapes: Vec<(&str, &[usize])> = shapes.iter().map(|(n, s)| (*n, &s[..])).collect();
        if case.smooth {
            let shown = check_with(&text, &shapes, None);
            second_order(&text, &shown, &shapes);
            return;
        }
        let gradient = load(&text).gradient(&GradientOptions::default()).unwrap();
        let none = gradient.warnings.first().is_some_and(|w| w.message.contains("has no derivative"));
        let flows = case.inputs.iter().any(|(n, _)| gradient.names.contains_key(*n));
        // What is piecewise constant has a gradient of zeros, or says that it has none.
        assert!(none || !flows || zeros(&text, &shapes), "{text}");
    });
}

/// Whether the gradients of all inputs but the weights are 0.
fn zeros(text: &str, shapes: &[(&str, &[usize])]) -> bool {
    let gradient = load(text).gradient(&GradientOptions::default()).unwrap();
    let given: Inputs = shapes.iter().map(|(n, s)| (Name::from(*n), drawn(n, s))).collect();
    let all = format!("{text}\n{}", gradient.text());
    let of = |n: &str| value(&all, &given, &format!("Grad_{n}")).abs().max(()).item::<f64>().unwrap();
    shapes.iter().filter(|(n, _)| *n != "R").all(|(n, _)| of(n) == 0.0)
}

/// The gradient of the squared length of all gradients beside differences of it.
fn second_order(text: &str, first: &str, shapes: &[(&str, &[usize])]) {
    let squares: Vec<String> = shapes
        .iter()
        .map(|(n, s)| {
            let places: Vec<String> = (0..s.len()).map(|i| format!("a{i}")).collect();
            let places = if s.is_empty() { String::new() } else { format!("[{}]", places.join(",")) };
            format!("Grad_{n}{places} Grad_{n}{places}")
        })
        .collect();
    let text = format!("{text}\n{first}Length = {}", squares.join(" + "));
    let program = load(&text);
    let options = GradientOptions { loss: Some("Length".into()), ..Default::default() };
    let second = program.gradient(&options).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let whole = format!("{text}\n{}", second.text());
    let given: Inputs = shapes.iter().map(|(n, s)| (Name::from(*n), drawn(n, s))).collect();
    let wanted: Vec<Name> = shapes.iter().map(|(n, _)| Name::from(format!("Grad2_{n}"))).collect();
    let found = load(&whole).run(&given, &settings(None), &wanted).unwrap_or_else(|f| panic!("{whole}\n{f}"));
    let directions: Inputs =
        given.iter().map(|(n, x)| (n.clone(), drawn(&format!("to {n}"), &x.shape()))).collect();
    let slope: f64 = given
        .keys()
        .map(|n| (&found[&Name::from(format!("Grad2_{n}"))] * &directions[n]).sum(()).item::<f64>().unwrap())
        .sum();
    let at = |h: f64| {
        let moved = given.iter().map(|(n, x)| (n.clone(), x + &(&directions[n] * h))).collect();
        value(&text, &moved, "Length").item::<f64>().unwrap()
    };
    let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
    let close = (slope - difference).abs() <= 2e-6 * (1.0 + difference.abs());
    assert!(close, "{whole}\n{slope} beside {difference}");
}
