//! The thirty-six faults that were found in another graph autodiff, each with the right value here.
//!
//! A test is named after its fault. Values are asserted as numbers where they are known and against central
//! differences in `f64` otherwise; `crate::common::gradients` takes each gradient in five ways that must agree.

mod attention;
mod batches;
mod control;
mod forward;
mod graphs;
mod layers;
mod quantised;
mod rules;
