//! The thirty-six faults that were found in another graph autodiff, each with the right value here.
//!
//! A test is named after its fault. Values are asserted as numbers where they are known and against central
//! differences in `f64` otherwise; `common::gradients` takes each gradient in five ways that must agree.

mod common;

#[path = "regression/attention.rs"]
mod attention;
#[path = "regression/batches.rs"]
mod batches;
#[path = "regression/control.rs"]
mod control;
#[path = "regression/forward.rs"]
mod forward;
#[path = "regression/graphs.rs"]
mod graphs;
#[path = "regression/layers.rs"]
mod layers;
#[path = "regression/quantised.rs"]
mod quantised;
#[path = "regression/rules.rs"]
mod rules;
