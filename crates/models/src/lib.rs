//! The models that come with Gradus: small ones with their data and samples, and language models loaded from
//! files.
#![forbid(unsafe_code)]

pub mod base64;
pub mod batch;
pub mod bert;
mod blocks;
pub mod chat;
pub mod config;
pub mod constrain;
pub mod convert;
pub mod decoder;
pub mod engine;
pub mod gguf;
pub mod gpt;
mod gpt2;
pub mod language;
pub mod matrix;
pub mod names;
pub mod network;
pub mod norm;
pub mod rope;
mod sequence;
pub mod session;
pub mod small;
pub mod stop;
pub mod tokenizer;
pub mod tune;
pub mod weights;

pub use language::{Generated, LanguageModel};
