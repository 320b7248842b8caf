//! The tests of language models: one program, because linking many takes longer than running them.

mod batch;
mod blocks;
mod common;
mod constrain;
mod decoder;
mod hostile;
mod minilm;
mod session;
mod smollm2;
mod tokenizer;
mod tune;
mod tune_learns;

// Modules with unit tests, compiled here: tests of the library itself would compile all of it twice.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/base64.rs"]
mod base64;
#[allow(dead_code, unreachable_pub)]
#[path = "../src/stop.rs"]
mod stop;
