//! Generic checks for every op, transform and device.
//!
//! [`checks`] holds the checks of one graph at one point. They concern its types, its text, its first three
//! derivatives, batches, other dtypes, and a device that evaluates it. [`catalog`] applies them to every
//! sample of every op; [`random_graphs`] to compositions of ops; [`faults`] are wrong ops that the checks
//! must detect.
//!
//! The reference evaluator defines the expected values. Gradients are checked in `f64`, with random tangents
//! and cotangents: with a cotangent of ones and equal extents, a permutation transposed by itself would pass.
#![forbid(unsafe_code)]

pub mod catalog;
pub mod checks;
pub mod compare;
pub mod eager;
pub mod extent;
mod failure;
pub mod faults;
pub mod loopback;
pub mod random;
pub mod random_graphs;
pub mod vector;

pub use failure::Failure;
