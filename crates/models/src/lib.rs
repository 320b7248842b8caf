//! The models that come with Gradus: a struct, its loss, and what makes its data and samples.
#![forbid(unsafe_code)]

pub mod gpt;
pub mod names;
