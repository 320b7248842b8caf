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
mod place;
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
pub use func::{BatchNormOptions, cdist, cosine_similarity, pairwise_distance};
pub use func::{Each, Indexing, Reduce, meshgrid, tensordot};
pub use movement::Dims;
pub use place::{Index, Ix, NEW, REST, step};
pub use random::{Generator, default_generator, manual_seed};
pub use region::{Args, arg, region, region1};
pub use tape::{GradMode, no_grad, set_grad_enabled};
pub use tensor::Tensor;
pub use trace::{Outputs, TracedFunction, trace, trace_function};
