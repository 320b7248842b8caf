//! The tensor type of Gradus, with eager autograd, tracing, compilation and composite functions.
#![forbid(unsafe_code)]

mod arg;
mod assign;
mod axis;
mod cell;
mod compiled;
mod contract;
mod control;
mod convert;
mod create;
mod data;
mod device;
mod devices;
mod eager;
mod einsum;
pub mod func;
mod history;
mod hook;
mod index;
mod index_spec;
mod leaves;
mod movement;
mod ops;
mod print;
mod profile;
mod quantized;
mod random;
mod reduce;
mod region;
mod require;
mod tensor;
mod trace;
mod transform;

pub use arg::{Arg, Number};
pub use assign::Patch;
pub use axis::{All, Axes};
pub use cell::wait_with;
pub use compiled::{Compiled, Jit, Measured, compile, compile_graph, compile_named, in_order, jit};
pub use control::{Branch, Keep, ScanOptions, cond, scan, switch, while_loop};
pub use convert::Memory;
pub use data::Element;
pub use device::Device;
pub use devices::DeviceInfo;
pub use eager::apply::{apply, apply_n, apply1, call, try_apply};
pub use eager::backward::Backward;
pub use eager::tape::{GradMode, is_grad_enabled, no_grad, set_grad_enabled};
pub use func::attention::{AttentionOptions, scaled_dot_product_attention};
pub use func::cache::{CacheKind, CachedOptions, TextBlocks, cache_write, cached_attention};
pub use func::embedding::embedding;
pub use func::grouped::{grouped_dot, quantized_grouped_dot};
pub use func::loss::{
    KlReduction, Reduction, binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, kl_div,
    l1_loss, mse_loss, smooth_l1_loss,
};
pub use func::loss_class::{CrossEntropyOptions, NllOptions, cross_entropy, nll_loss};
pub use func::loss_more::{
    PoissonNllOptions, TripletMarginOptions, cosine_embedding_loss, gaussian_nll_loss, hinge_embedding_loss,
    margin_ranking_loss, poisson_nll_loss, soft_margin_loss, triplet_margin_loss,
};
pub use func::quantized::{dequantize, quantized_dot};
pub use func::sampling::{SampleOptions, sample_tokens, sample_tokens_at};
pub use func::{BatchNormOptions, cdist, cosine_similarity, pairwise_distance};
pub use func::{Each, FftNorm, Indexing, Reduce, Triangular, meshgrid, tensordot};
pub use gradus_cpu::ask_to_stop;
pub use gradus_device::{Code, CodeBody, Roofline};
pub use gradus_ir::transform::Unreachable;
pub use history::{History, Operand, RecordedOp};
pub use hook::{HookHandle, Payload, hooks_changed};
pub use index_spec::{Index, Ix, NEW, REST, step};
pub use leaves::{
    GradientOwner, TracedGradient, traced_argument, traced_differentiates, traced_gradients,
    traced_requirements,
};
pub use movement::Dims;
pub use ops::pointwise;
pub use profile::{TimedStep, Timeline};
pub use quantized::{Quantized, Rounding};
pub use random::{Generator, default_generator, manual_seed};
pub use region::{Args, arg, region, region1, region1_with_grad};
pub use require::require;
pub use tensor::Tensor;
pub use trace::{
    Outputs, TracedFunction, is_rewritten, is_tracing, outside_traces, trace, trace_function,
    trace_function_named, trace_lines, trace_named, traces_begun, with_line,
};
pub use transform::{
    LinearMap, checkpoint, custom_jvp, custom_vjp, grad, hessian, hvp, jacobian, jvp, linearize,
    value_and_grad, value_and_grad_as, value_and_grad_of, vjp, vjp_within, vmap,
};

/// Returns the number of threads that share a job.
pub fn threads() -> usize {
    gradus_cpu::Pool::global().threads()
}

/// Sets the number of threads that share a job. A running job is not affected.
pub fn set_threads(threads: usize) {
    gradus_cpu::Pool::global().set_threads(threads);
}

pub mod autograd {
    //! Gradients from the tape: [`grad`] returns them, [`backward_from`] adds them to leaves.
    pub use crate::eager::backward::{Backward, backward_from, grad, look_for_nan};
}
