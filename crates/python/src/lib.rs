//! The native part of the Python package: `gradus._native`, wrapped by `python/gradus`.
//!
//! One file per topic; methods of `Tensor` are distributed over them. Functions whose names begin with `_`
//! take and return flat lists of tensors, and have wrappers in Python.

#![allow(non_snake_case, reason = "PyTorch's attributes T and H")]
#![allow(clippy::too_many_arguments, reason = "PyTorch's functions have many arguments")]
#![allow(clippy::doc_lazy_continuation, reason = "docstrings end with Python output, not with Markdown")]
#![deny(clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod examples;

mod accumulate;
mod array;
mod attention;
mod attributes;
mod call;
mod cast;
mod compiled;
mod convert;
mod copy;
mod create;
mod device;
mod dlpack;
mod dtype;
mod error;
mod exponentials;
mod files;
mod functional;
mod graph;
mod guard;
mod history;
mod hook;
mod index;
mod init;
mod integer_division;
mod jit;
mod linalg;
mod loss;
mod models;
mod norm;
mod operators;
mod optim;
mod print;
mod program;
mod random;
mod reduce;
mod reentrant_lock;
mod replace;
mod select;
mod shape;
mod tensor;
mod trace_deps;
mod transform;
mod tree;
mod tune;
mod unary;
mod unique;
mod value;
mod view;
mod words;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use crate::accumulate::_accumulated;
    #[pymodule_export]
    use crate::attention::{rope, rope_at, rope_with, scaled_dot_product_attention};
    #[pymodule_export]
    use crate::attributes::{_rebuild, is_tensor, numel};
    #[pymodule_export]
    use crate::create::{
        _reserve, arange, as_tensor, complex, empty, empty_like, eye, from_dlpack, from_numpy, full,
        full_like, linspace, logspace, ones, ones_like, polar, tensor, tril_indices, triu_indices, zeros,
        zeros_like,
    };
    #[pymodule_export]
    use crate::device::{
        _call_near, _call_on, _default_device, _device_number, _devices, _finish, _memory,
        _set_default_device, _trim,
    };
    #[pymodule_export]
    use crate::dtype::{PyDType, get_default_dtype, set_default_dtype};
    #[pymodule_export]
    use crate::error::_value_error;
    #[pymodule_export]
    use crate::files::{load_safetensors, save_safetensors};
    #[pymodule_export]
    use crate::functional::{
        adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
        adaptive_max_pool2d, adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, bilinear, celu,
        conv_transpose1d, conv_transpose2d, conv_transpose3d, conv1d, conv2d, conv3d, elu, embedding, fold,
        gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, interpolate, leaky_relu, linear, max_pool1d,
        max_pool2d, max_pool3d, mish, one_hot, pad, pixel_shuffle, pixel_unshuffle, prelu, relu, relu6, selu,
        silu, softplus, softshrink, threshold, unfold,
    };
    #[pymodule_export]
    use crate::graph::{_trace, PyGraph};
    #[pymodule_export]
    use crate::guard::Guard;
    #[pymodule_export]
    use crate::history::PyNode;
    #[pymodule_export]
    use crate::hook::PyHook;
    #[pymodule_export]
    use crate::init::{_bound, _fans, _gain, _kaiming_std, _truncated, _xavier_std};
    #[pymodule_export]
    use crate::jit::PyJit;
    #[pymodule_export]
    use crate::linalg::{
        cdist, eig, eigh, eigvals, eigvalsh, einsum, fft, fftfreq, fftn, fftshift, ifft, ifftn, ifftshift,
        inv, irfft, lu, pinv, qr, rfft, rfftfreq, rfftn, slogdet, solve, solve_triangular, svd, svdvals,
        tensordot,
    };
    #[pymodule_export]
    use crate::loss::{
        binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy,
        gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss,
        nll_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss,
    };
    #[pymodule_export]
    use crate::models::{_convert, _dequantize, _quantize, PyLanguageModel};
    #[pymodule_export]
    use crate::norm::{
        batch_norm, cosine_similarity, group_norm, instance_norm, layer_norm, local_response_norm, normalize,
        pairwise_distance, rms_norm,
    };
    #[pymodule_export]
    use crate::optim::{_half_cosine, _lbfgs_step, PyRule, PySchedule};
    #[pymodule_export]
    use crate::print::set_printoptions;
    #[pymodule_export]
    use crate::program::PyProgram;
    #[pymodule_export]
    use crate::random::{
        PyGenerator, bernoulli, dropout, get_rng_state, initial_seed, manual_seed, multinomial, normal, rand,
        rand_like, randint, randn, randn_like, randperm, set_rng_state,
    };
    #[pymodule_export]
    use crate::shape::{broadcast_tensors, cat, meshgrid, stack, where_};
    #[pymodule_export]
    use crate::tensor::PyTensor;
    #[pymodule_export]
    use crate::trace_deps::{
        _after_trace, _before_run, _is_compiling, _is_rewritten, _module_changed, _note_guard,
        _note_location, _note_module,
    };
    #[pymodule_export]
    use crate::transform::{
        _autograd_grad, _checkpoint, _custom_jvp, _custom_vjp, _hessian, _hvp, _jacobian, _jvp, _linearize,
        _look_for_nan, _outside, _scan, _set_grad_enabled, _switch, _value_and_grad, _vjp, _vmap,
        _while_loop, PyLinearMap, get_num_threads, is_grad_enabled, is_tracing, set_num_threads,
    };
    #[pymodule_export]
    use crate::tree::{_flatten, Structure};
    #[pymodule_export]
    use crate::tune::{_adapter, _create_model, _prefer, _reinforce, _save_model, _tune, PyRewardModel};
    #[pymodule_export]
    use crate::unary::{_pointwise, _pointwise_ops};

    /// Adds dtypes under all their names.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        gradus::ask_to_stop(crate::error::stop_requested);
        gradus::wait_with(|wait| Python::attach(|py| py.detach(wait)));
        gradus::trace_lines(crate::error::line);
        let finish = wrap_pyfunction!(crate::device::_finish_all, module)?;
        module.py().import("atexit")?.call_method1("register", (finish,))?;
        for (name, dtype) in crate::dtype::NAMES {
            module.add(*name, PyDType::object(module.py(), *dtype)?)?;
        }
        Ok(())
    }
}
