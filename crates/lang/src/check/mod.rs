//! Checks that need inputs and settings: whether inputs are given, with which ranks, and as which dtypes they are read.

mod given;
mod settings;

pub use settings::Settings;
