//! Composites: one function each over tensors, by topic.
//!
//! A composite has no kernel and no derivative of its own: it is written with other operations, usually inside
//! [`region1`](crate::region1), which makes it one named call when it runs, prints and differentiates. Each file
//! ends in the samples from which the test kit checks its composites in every way.

pub mod activation;
pub mod norm;
pub mod numeric;
pub mod samples;
pub mod softmax;
pub mod stats;

mod shape;

pub use norm::BatchNormOptions;
pub use samples::{Sample, Samples};
pub use stats::{cdist, cosine_similarity, pairwise_distance};

/// Samples of every composite.
pub fn samples() -> Samples {
    let mut s = Samples::default();
    activation::samples(&mut s);
    norm::samples(&mut s);
    numeric::samples(&mut s);
    shape::samples(&mut s);
    softmax::samples(&mut s);
    stats::samples(&mut s);
    s
}
