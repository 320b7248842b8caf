//! The tensor of Gradus: one type for data, cells and traced nodes, with eager autograd, tracing and composites.
#![forbid(unsafe_code)]

mod apply;
mod arg;
mod axis;
mod backward;
mod cell;
mod contract;
mod convert;
mod create;
mod data;
mod einsum;
mod execute;
pub mod func;
mod index;
mod movement;
mod ops;
mod plan;
mod print;
mod random;
mod reduce;
mod region;
mod tape;
mod tensor;
mod trace;

pub use apply::{apply, apply_n, apply1, call, try_apply};
pub use arg::{Arg, Number};
pub use axis::{All, Axes};
pub use backward::{Backward, grad};
pub use data::Element;
pub use func::{
    AttentionOptions, CrossEntropyOptions, KlReduction, NllOptions, PoissonNllOptions, Reduction,
    TripletMarginOptions, binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss,
    cross_entropy, embedding, gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss,
    margin_ranking_loss, mse_loss, nll_loss, poisson_nll_loss, scaled_dot_product_attention, smooth_l1_loss,
    soft_margin_loss, triplet_margin_loss,
};
pub use index::{Index, Ix, NEW, REST, step};
pub use movement::Dims;
pub use random::{Generator, default_generator, manual_seed};
pub use region::{Args, arg, region, region1};
pub use tape::{GradMode, no_grad, set_grad_enabled};
pub use tensor::Tensor;
pub use trace::{Outputs, TracedFunction, trace, trace_function};
