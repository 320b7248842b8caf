//! Derivatives of graphs, as graphs.
//!
//! Both transforms are one walk over the nodes and read only what the ops declare: [`jvp`] goes forward with
//! tangents, [`vjp`] goes back with cotangents. Inner products are real: `⟨a, b⟩ = Re Σ conj(a)·b`, so a
//! complex gradient is the direction of steepest ascent (PyTorch's convention).

mod jvp;
mod vjp;

pub use jvp::{jvp, jvp_into};
pub use vjp::{pull, vjp, vjp_into};
