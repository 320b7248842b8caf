//! The tests of the GPU code generator: one program, because linking many takes longer than running them.

mod attention;
mod catalog;
mod common;
mod kernels;
mod nvrtc;
mod saved;
mod text;

// Private modules, compiled here with their unit tests: tests of the library itself would compile all of it twice.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/ranges.rs"]
mod ranges;
