//! Composite functions over tensors, by topic.
//!
//! A composite has no kernel: it is written with other operations. Most composites use
//! [`region1`](crate::region1), which makes them one named call when they run, print and differentiate. The
//! derivative of a composite is that of its body. If the derivative is cheaper to compute from the result,
//! [`region1_with_grad`](crate::region1_with_grad) states it. Each file ends with sample calls from which the
//! test kit checks its composites.

pub mod activation;
pub mod attention;
mod attention_samples;
pub mod cache;
pub mod embedding;
pub mod grouped;
pub mod loss;
pub mod loss_class;
pub mod loss_more;
pub mod norm;
pub mod numeric;
mod overlap_pool;
pub mod quantized;
pub mod samples;
pub mod sampling;
pub mod softmax;
pub mod stats;
mod tiled_pool;

pub mod conv;
mod diagonal;
mod each;
pub mod fft;
pub mod image;
pub mod linalg;
pub mod linear;
pub mod pool;
pub mod pools;
pub mod scatter;
pub mod shape;

pub use activation::{SOFTPLUS, SoftplusOptions};
pub use attention::{AttentionOptions, scaled_dot_product_attention};
pub use cache::{CacheKind, CachedOptions, TextBlocks, cache_write, cached_attention};
pub use conv::{
    ConvOptions, ConvTransposeOptions, Padding, conv, conv_transpose, conv_transpose1d, conv_transpose2d,
    conv_transpose3d, conv1d, conv2d, conv3d,
};
pub use each::Each;
pub use embedding::embedding;
pub use fft::FftNorm;
pub use grouped::{grouped_dot, quantized_grouped_dot};
pub use image::{
    Interpolation, PadMode, UnfoldOptions, fold, interpolate, interpolate_by, pad, pixel_shuffle,
    pixel_unshuffle, unfold,
};
pub use linalg::Triangular;
pub use linear::{addmm, bilinear, linear, tensordot};
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
pub use pool::{
    AvgPoolOptions, MaxPoolOptions, adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool,
    max_pool_with_indices,
};
pub use pools::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d,
};
pub use quantized::{dequantize, quantized_dot};
pub use samples::{Sample, Samples};
pub use sampling::{SampleOptions, sample_tokens, sample_tokens_at};
pub use scatter::Reduce;
pub use shape::{Indexing, meshgrid};
pub use softmax::{log_softmax_grad, softmax_grad};
pub use stats::{cdist, cosine_similarity, pairwise_distance};

/// Returns sample calls of every composite.
pub fn samples() -> Samples {
    let mut s = Samples::default();
    activation::samples(&mut s);
    norm::samples(&mut s);
    numeric::samples(&mut s);
    conv::samples(&mut s);
    diagonal::samples(&mut s);
    image::samples(&mut s);
    linear::samples(&mut s);
    linalg::samples(&mut s);
    fft::samples(&mut s);
    pools::samples(&mut s);
    scatter::samples(&mut s);
    shape::samples(&mut s);
    softmax::samples(&mut s);
    stats::samples(&mut s);
    loss::samples(&mut s);
    loss_class::samples(&mut s);
    loss_more::samples(&mut s);
    embedding::samples(&mut s);
    attention_samples::samples(&mut s);
    cache::samples(&mut s);
    quantized::samples(&mut s);
    grouped::samples(&mut s);
    sampling::samples(&mut s);
    s
}
