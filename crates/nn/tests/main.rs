//! The tests of models and training: one program, because linking many takes longer than running them.

mod checkpoint;
mod common;
mod file;
mod init;
mod layers;
mod loader;
mod module;
mod names;
mod optim;
mod resume;
mod sampling;
mod step;
mod update_rules;
