//! GPU code: turns a [`Plan`](gradus_compile::Plan) into a [`GpuProgram`] of kernels in WGSL or CUDA C.
//! A program is data. Nothing here needs a GPU or its library; the device crates run programs.

#![forbid(unsafe_code)]

mod build;
mod dialect;
mod elementwise;
mod explain;
mod host;
mod int;
mod library;
mod limits;
mod memory;
mod nest;
mod pointwise;
mod product;
mod profile;
mod program;
mod ranges;
mod record;
mod routine;
mod rows;
mod saved;
mod scan;
mod tile;
mod translate;

pub use dialect::Dialect;
pub use limits::{Barriers, Limits};
pub use profile::profile;
pub use program::{Check, Command, GpuProgram, Memory, Module, SMALL, Word};
pub use ranges::{GRAIN, Ranges};
pub use saved::VERSION;
pub use translate::{program_of, translate, translate_with_checks};
