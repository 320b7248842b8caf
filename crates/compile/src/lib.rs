//! Compiles graphs to plans: inlines regions that the device does not implement, optimises loops, simplifies, fuses ops into
//! kernels, and assigns memory.
//!
//! Each stage has one representation that can be printed and checked: [`Graph`], then units of fused ops, then a [`Plan`] of
//! [`Kernel`]s. Devices run plans. The passes do not know the device: their assumptions about it are in its [`Profile`].

#![forbid(unsafe_code)]

mod contraction;
mod cost;
mod depend;
mod emit;
mod group;
mod kernel;
mod layout;
mod loops;
mod lower;
mod lowered;
mod memory;
mod merge_small;
mod plan;
mod profile;
mod recompute;
mod simplify;
mod slices;

pub use contraction::Contraction;
pub use cost::{Work, amount};
pub use kernel::{Access, Inst, Kernel, Level, Operation, Piece, Store};
pub use layout::Layout;
pub use lowered::NotFused;
pub use memory::in_page;
pub use plan::{Buffer, BufferLocation, Control, Plan, Routine, Step};
pub use profile::{Claim, Fuse, Loops, Memory, Profile, Recompute, Slices, Split, StoredScores, Text};
pub use simplify::{Options, Rule, Simplified, rules, simplify};

use gradus_ir::{Graph, Result, stop};

/// The layout of an input in memory: the number of stored elements, and the positions of the input's elements among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputLayout {
    /// Number of elements that may be read.
    pub numel: usize,
    /// The layout of the input's elements among them.
    pub layout: Layout,
}

/// Compiles a graph for a device. The inputs are row-major.
pub fn compile(graph: &Graph, profile: &Profile) -> Result<Plan> {
    compile_with(graph, &[], profile)
}

/// Compiles a graph for a device. The inputs have these layouts.
pub fn compile_with(graph: &Graph, layouts: &[InputLayout], profile: &Profile) -> Result<Plan> {
    let inlined = graph.inlined_except(&|call, types| profile.claims(call, types))?;
    let Simplified { graph, fired, .. } =
        simplify(&loops::optimize_loops(inlined, &profile.loops)?, &Options::default())?;
    let mut lowered = lower::lower(&graph, layouts, profile)?;
    checked(|| lowered.verify())?;
    recompute::recompute(&mut lowered, &profile.recompute);
    checked(|| lowered.verify())?;
    merge_small::merge(&mut lowered, profile.fuse.small);
    checked(|| lowered.verify())?;
    let not_fused = std::mem::take(&mut lowered.not_fused);
    let mut plan = emit::emit(lowered, &graph, profile)?;
    plan.simplified = fired;
    plan.not_fused = not_fused;
    checked(|| plan.verify_steps())?;
    if let Some(limits) = &profile.slices {
        slices::slice(&mut plan, limits, profile.memory.align);
    }
    checked(|| plan.verify_steps())?;
    memory::plan_memory(&mut plan, profile.memory.align, profile.memory.page);
    checked(|| plan.verify())?;
    stop::poll()?;
    Ok(plan)
}

/// Checks the result of a pass in debug builds.
fn checked(verify: impl FnOnce() -> Result<()>) -> Result<()> {
    if cfg!(debug_assertions) { verify() } else { Ok(()) }
}
