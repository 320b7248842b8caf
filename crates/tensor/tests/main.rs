//! The tests of tensors: one program, because linking many takes longer than running them.

mod activation;
mod assign;
mod autograd;
mod cache;
mod compiled;
mod composites;
mod control;
mod convert;
mod device;
mod errors;
mod failed;
mod grouped;
mod history;
mod hooks;
mod index;
mod linalg;
mod loss;
mod memory;
mod norm;
mod print;
mod profile;
mod quantized;
mod random;
mod stated;
mod strict;
mod trace;
mod transforms;
mod wgpu;

// Private modules, compiled here with their unit tests: tests of the library itself would compile all of it
// twice.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/eager/inline_list.rs"]
mod inline_list;
