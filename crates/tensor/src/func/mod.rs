//! Composites: one function each over tensors, by topic.
//!
//! A composite has no kernel and no derivative of its own: it is written with other operations, usually inside
//! [`region1`](crate::region1), which makes it one named call when it runs, prints and differentiates. Each file
//! ends in the samples from which the test kit checks its composites in every way.

pub mod samples;

mod shape;

pub use samples::{Sample, Samples};

/// Samples of every composite.
pub fn samples() -> Samples {
    let mut s = Samples::default();
    shape::samples(&mut s);
    s
}
