//! Gradus: a tensor system in which the derivative of a program is itself a program.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod bundle;
pub mod draw;
#[cfg(doctest)]
mod guide;

pub use gradus_files as files;
pub use gradus_gpu as gpu;
pub use gradus_ir as ir;
pub use gradus_ir::{Aval, DType, Error, Graph, Kind, Literal, Result, Shape};
pub use gradus_lang as lang;
pub use gradus_mem as mem;
pub use gradus_models as models;
pub use gradus_nn as nn;
pub use gradus_tensor::*;
