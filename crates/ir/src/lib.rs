//! The core of Gradus: element types, the catalog of ops, graphs, derivatives of graphs, and the reference evaluator,
//! which defines their meaning.
//!
//! Nothing here depends on a device, a thread, a file or a clock.
#![forbid(unsafe_code)]

pub mod attr;
mod aval;
mod bessel;
mod complex;
mod dtype;
mod error;
pub mod format;
pub mod graph;
mod igamma;
mod igamma_grad;
pub mod literal;
mod literal_bytes;
mod message;
pub mod ops;
pub mod philox;
pub mod quantize;
pub mod reference;
mod shape;
pub mod size;
mod special;
pub mod stop;
pub mod transform;

pub use aval::Aval;
pub use dtype::{C, Class, DType};
pub use error::{Error, Kind, Result};
pub use graph::{Builder, Graph, Var};
pub use literal::Literal;
pub use message::{Message, RustWords, Term, Words};
pub use ops::{Op, Primitive};
pub use shape::{Shape, axis_mask};
