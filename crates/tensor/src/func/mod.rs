//! Composites: one function each over tensors, by topic.

mod shape;
