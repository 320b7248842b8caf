//! The tests of graphs and ops: one program, because linking many takes longer than running them.

mod batched_scan;
mod pointwise;
mod reference;
mod robust;
mod stated_derivatives;
mod sums;
