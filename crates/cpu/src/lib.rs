//! The CPU device: what plans run on by default.

#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod feature;
pub mod gemm;
pub mod pool;

pub use feature::Isa;
pub use pool::Pool;
