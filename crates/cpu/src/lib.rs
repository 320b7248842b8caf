//! The CPU device: what plans run on by default.
