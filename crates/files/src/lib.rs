//! Tensors in files: read within bounds, written whole or not at all.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod safetensors;
