//! Modules, optimizers, compiled training, data and checkpoints.
//!
//! A model is a struct of parameters and other modules ([`mod@module`]). An [`Optimizer`] is a rule over
//! `Tensor` that runs eagerly or is traced. [`compile_training`] makes forward pass, backward pass and update
//! one executable that changes the parameters in place.
#![forbid(unsafe_code)]

mod caller;
mod capture;
pub mod checkpoint;
pub mod data;
mod finite;
pub mod init;
pub mod layers;
pub mod module;
pub mod optim;
mod sample;
mod step;
mod summary;
mod train;

pub use capture::capture;
pub use gradus_files as file;
pub use gradus_tensor::Device;
pub use layers::*;
pub use module::{Buffer, Forward, Mode, Module, NamedParams, Param, Part, Visitor};
pub use optim::{Clip, Optimizer, Rule, Schedule};
pub use sample::{Choosing, Sampling, log_probability, top_log_probabilities};
pub use step::{Evaluate, Outcome, Step, compile_forward, compile_training};
pub use summary::summary;
pub use train::{Config, Ended, MAX_LOSS, Progress, train};
