//! The tests of the GPU code generator: one program, because linking many takes longer than running them.

mod attention;
mod catalog;
mod common;
mod kernels;
mod nvrtc;
mod saved;
mod text;
