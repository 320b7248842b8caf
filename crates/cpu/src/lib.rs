//! The CPU device: what plans run on by default.

pub mod vector;
