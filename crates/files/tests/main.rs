//! The tests of files: one program, because linking many takes longer than running them.

mod formats;
mod gguf;
