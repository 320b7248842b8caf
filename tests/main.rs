//! The tests of the whole library: one program, because linking many takes longer than running them.

mod bundle;
mod common;
mod control_flow;
mod cost;
mod examples;
mod golden;
mod golden_jax;
mod regression;
