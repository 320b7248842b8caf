//! Composites: one function each over tensors, by topic.
//!
//! A composite has no kernel and no derivative of its own: it is written with other operations, usually inside
//! [`region1`](crate::region1), which makes it one named call when it runs, prints and differentiates. Each file
//! ends in the samples from which the test kit checks its composites in every way.

pub mod activation;
pub mod attention;
mod attention_samples;
pub mod embedding;
pub mod loss;
pub mod loss_class;
pub mod loss_more;
pub mod norm;
pub mod numeric;
pub mod samples;
pub mod softmax;
pub mod stats;

mod shape;

pub use attention::{AttentionOptions, scaled_dot_product_attention};
pub use embedding::embedding;
pub use loss::{
    KlReduction, Reduction, binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, kl_div,
    l1_loss, mse_loss, smooth_l1_loss,
};
pub use loss_class::{CrossEntropyOptions, NllOptions, cross_entropy, nll_loss};
pub use loss_more::{
    PoissonNllOptions, TripletMarginOptions, cosine_embedding_loss, gaussian_nll_loss, hinge_embedding_loss,
    margin_ranking_loss, poisson_nll_loss, soft_margin_loss, triplet_margin_loss,
};
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
    loss::samples(&mut s);
    loss_class::samples(&mut s);
    loss_more::samples(&mut s);
    embedding::samples(&mut s);
    attention_samples::samples(&mut s);
    s
}
