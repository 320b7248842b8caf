//! From graphs to plans: inline regions, simplify, fuse into kernels, place memory.
//!
//! Each stage has one representation that can be printed and checked: [`Graph`](gradus_ir::Graph), then units of
//! fused ops, then a [`Plan`] of [`Kernel`]s. Devices run plans; nothing here knows one.

#![forbid(unsafe_code)]

mod contraction;
mod depend;
mod emit;
mod group;
mod kernel;
mod layout;
mod lower;
mod memory;
mod plan;

pub use contraction::Contraction;
pub use kernel::{Access, Inst, Kernel, Level, Operation, Piece, Store};
pub use layout::Layout;
pub use plan::{Buffer, Control, Place, Plan, Routine, Step};

use gradus_ir::{Graph, Result};

/// The plan of a graph.
pub fn compile(graph: &Graph) -> Result<Plan> {
    let graph = graph.inlined()?;
    let lowered = lower::lower(&graph)?;
    let mut plan = emit::emit(lowered, &graph)?;
    memory::plan_memory(&mut plan);
    Ok(plan)
}
