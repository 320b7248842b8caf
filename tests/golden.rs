//! Compares values and gradients with PyTorch's, from `tests/golden/pytorch.json`.
//!
//! Each case names a function, its arguments and inputs; the modules here define the call of that function in
//! Gradus. Gradients come from the eager backward pass, and again from the graph: trace, then `vjp`.

mod activation;
mod attention;
mod case;
mod conv;
mod core;
pub(crate) mod literal;
mod loss;
mod norm;
mod shape;

use case::{Args, Case};
use gradus::Tensor;

/// Calls the equivalent of a PyTorch function. Returns `None` if no module has one.
fn call(name: &str, args: &Args, ins: &[Tensor]) -> Option<Vec<Tensor>> {
    core::call(name, args, ins)
        .or_else(|| activation::call(name, args, ins))
        .or_else(|| norm::call(name, args, ins))
        .or_else(|| loss::call(name, args, ins))
        .or_else(|| attention::call(name, args, ins))
        .or_else(|| conv::call(name, args, ins))
        .or_else(|| shape::call(name, args, ins))
}

#[test]
fn every_case_agrees_with_pytorch() {
    let cases = Case::load();
    let mut failures = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for case in &cases {
        match case.check(&call) {
            Ok(()) => drop(names.insert(case.name.clone())),
            Err(e) => failures.push(format!("{} {}: {e}", case.name, case.args)),
        }
    }
    for f in &failures {
        println!("{f}");
    }
    assert!(failures.is_empty(), "{} of {} cases fail", failures.len(), cases.len());
    assert!(names.len() >= 150, "only {} functions are covered", names.len());
}
