//! Compares values of nested transforms with JAX's, from `tests/golden/jax.json`.
//!
//! A case names a function of its inputs; the modules here define it with Gradus, and the Python files next
//! to them define it with JAX. Each case runs eagerly, and again as one traced graph: a transform inside a
//! trace gives the same values.

#[path = "golden/jax/arrays.rs"]
mod arrays;
#[path = "golden/jax/batches.rs"]
mod batches;
#[path = "golden/jax/complexes.rs"]
mod complexes;
#[path = "golden/jax/conditions.rs"]
mod conditions;
#[path = "golden/jax/fourier.rs"]
mod fourier;
#[path = "golden/jax/linear.rs"]
mod linear;
#[path = "golden/jax/loops.rs"]
mod loops;
#[path = "golden/jax/networks.rs"]
mod networks;
#[path = "golden/jax/orders.rs"]
mod orders;
#[path = "golden/jax/rules.rs"]
mod rules;
#[path = "golden/jax/tools.rs"]
mod tools;

use crate::golden::literal::{compare, literals};
use gradus::ir::{Literal, reference};
use gradus::{Tensor, trace};

use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tools::Function;

const TOLERANCE: f64 = 1e-10;

fn same(how: &str, found: &[Literal], right: &[Literal]) -> Result<(), String> {
    if found.len() != right.len() {
        return Err(format!("{how}: {} outputs, JAX has {}", found.len(), right.len()));
    }
    for (k, (found, right)) in found.iter().zip(right).enumerate() {
        compare(found, right, TOLERANCE).map_err(|e| format!("{how}: output {k}: {e}"))?;
    }
    Ok(())
}

fn check(f: Function, inputs: &[Literal], outputs: &[Literal]) -> Result<(), String> {
    let text = |e: gradus::Error| e.to_string();
    let ins: Vec<Tensor> = inputs.iter().map(Tensor::from_literal).collect();
    let eager = f(&ins).iter().map(|t| t.to_literal().map_err(text)).collect::<Result<Vec<_>, _>>()?;
    same("eagerly", &eager, outputs)?;
    let graph = trace(&ins.iter().collect::<Vec<_>>(), f).map_err(text)?;
    same("traced", &reference::evaluate(&graph, inputs).map_err(text)?, outputs)
}

#[test]
fn every_case_agrees_with_jax() {
    let all: Value = serde_json::from_str(include_str!("golden/jax.json")).expect("the file is JSON");
    let tables = [
        orders::TABLE,
        arrays::TABLE,
        batches::TABLE,
        complexes::TABLE,
        networks::TABLE,
        loops::TABLE,
        conditions::TABLE,
        rules::TABLE,
        linear::TABLE,
        fourier::TABLE,
    ];
    let mut table: BTreeMap<&str, Function> = tables.into_iter().flatten().copied().collect();
    let (mut failures, mut right) = (Vec::new(), 0);
    for case in all["cases"].as_array().expect("a list of cases") {
        let name = case["name"].as_str().expect("a case has a name");
        let run = |f| {
            let (inputs, outputs) = (literals(&case["inputs"]), literals(&case["outputs"]));
            // A panic is a failure of its case, and the others still run.
            catch_unwind(AssertUnwindSafe(|| check(f, &inputs, &outputs))).unwrap_or(Err("panics".into()))
        };
        match table.remove(name).map_or(Err("is not known here".into()), run) {
            Ok(()) => right += 1,
            Err(e) => failures.push(format!("{name}: {e}")),
        }
    }
    failures.extend(table.keys().map(|name| format!("{name}: is not in the file")));
    for f in &failures {
        println!("{f}");
    }
    assert!(failures.is_empty(), "{} cases fail", failures.len());
    assert!(right >= 200, "only {right} functions are covered");
}

#[test]
fn a_wrong_number_is_seen() {
    let all: Value = serde_json::from_str(include_str!("golden/jax.json")).expect("the file is JSON");
    for case in all["cases"].as_array().expect("a list of cases") {
        let right = literals(&case["outputs"]);
        for k in 0..right.len() {
            let mut wrong = case["outputs"].clone();
            let last = wrong[k]["data"].as_array_mut().and_then(|data| data.last_mut()).expect("a number");
            let x = last.as_f64().expect("a number");
            *last = (x + 3e-10 * x.abs().max(1.0)).into();
            assert!(same("", &literals(&wrong), &right).is_err(), "{}: output {k}", case["name"]);
        }
    }
}
