//! Eager execution: applies an op to tensors at once, records it for gradients, and runs the backward pass.
//!
//! ```text
//!                 op, operands
//!                      │
//!                  apply.rs ──────── an operand is traced ──────▶ trace.rs adds a node to a graph
//!                      │
//!       ┌──────────────┼─────────────────────┐
//!       ▼              ▼                     ▼
//! pointwise.rs    call_cache.rs ─ not there ▶ execute.rs ──▶ a view of the operand
//! a loop over     the programs that           │      ├─────▶ small_ops.rs: few elements, directly
//! slices          this thread called last ◀───┘      └─────▶ a program of the global cache, compiled at its first call
//!       └──────────────┴─────────────────────┘
//!                      │ results
//!                   tape.rs ──────── an operand requires gradients ──────▶ a node, with the values that its plan reads
//!                                                                           │
//!                                                          plan.rs: the gradient graph of a call, derived once
//!                                                                           │
//!                                                  backward.rs runs the plans of the nodes, last node first
//! ```
//!
//! | cache | scope; key | filled by | bound |
//! |---|---|---|---|
//! | calls in `call_cache` | thread; op or composite, with its types | `execute.rs`, `region.rs` and `contract.rs`, for a call that it does not contain | 256 slots; a new call replaces the one in its slot |
//! | programs of ops in `execute` | process; op, device, types, layouts | the first call | as [`plan::BoundedCache`] |
//! | programs of graphs in `execute` | process; graph, device, cells that it updates | the first compilation | 256 programs, then as [`plan::BoundedCache`] |
//! | plans in `plan` | process; call, types, operands that require gradients | the first recorded call | as [`plan::BoundedCache`] |
//! | plans of pointwise ops | process; op, dtype, operands that require gradients | the first recorded call | none, since there are few |

pub(crate) mod apply;
pub(crate) mod backward;
pub(crate) mod call_cache;
pub(crate) mod execute;
pub(crate) mod inline_list;
pub(crate) mod plan;
pub(crate) mod pointwise;
pub(crate) mod small_ops;
pub(crate) mod tape;
