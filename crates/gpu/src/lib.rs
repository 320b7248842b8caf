//! GPU code: turns a [`Plan`](gradus_compile::Plan) into a [`Program`] of kernels in WGSL or CUDA C.
//! A program is data. Nothing here needs a GPU or its library; the device crates run programs.

#![forbid(unsafe_code)]

mod limits;
mod program;

pub use limits::{Barriers, Limits};
pub use program::{Command, Memory, Module, Program, SMALL, Word};
