//! The tests of the test kit, on every device: one program, because linking many takes longer than running
//! them.

mod catalog;
mod cpu;
mod eager;
mod edges;
mod faults;
mod gauge;
mod geometry;
mod meaning;
mod random_graphs;
mod text;
mod user_primitive;
