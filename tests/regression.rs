//! Tests for thirty-six faults that were found in another autodiff of graphs. A test is named after its
//! fault. Values are compared with known numbers or with central differences in `f64`.
//! `crate::common::gradients` computes each gradient in five ways, which must agree.

mod attention;
mod batches;
mod control;
mod forward;
mod graphs;
mod layers;
mod quantised;
mod rules;
