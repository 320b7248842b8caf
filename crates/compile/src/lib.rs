//! From graphs to plans: inline regions that no device code replaces, lighten loops, simplify, fuse into kernels, place memory.
//!
//! Each stage has one representation that can be printed and checked: [`Graph`], then units of
//! fused ops, then a [`Plan`] of [`Kernel`]s. Devices run plans; nothing here knows one: what a pass
//! assumes about the device is in its [`Profile`].

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
pub use lowered::Apart;
pub use plan::{Buffer, Control, Place, Plan, Routine, Step};
pub use profile::{Claim, Fuse, Loops, Memory, Profile, Recompute, Slices, Split, Text};
pub use simplify::{Options, Rule, Simplified, rules, simplify};

use gradus_ir::{Graph, Result, stop};

/// How an input lies in memory: so many elements, of which a layout picks those of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    /// Elements that may be read.
    pub numel: usize,
    /// Where the input's elements are among them.
    pub layout: Layout,
}

/// Compiles a graph whose inputs are row-major for a device.
pub fn compile(graph: &Graph, profile: &Profile) -> Result<Plan> {
    compile_with(graph, &[], profile)
}

/// Compiles a graph whose inputs are stored as `given` says for a device.
pub fn compile_with(graph: &Graph, given: &[Given], profile: &Profile) -> Result<Plan> {
    let inlined = graph.inlined_except(&|call, types| profile.claims(call, types))?;
    let Simplified { graph, fired, .. } =
        simplify(&loops::lightened(inlined, &profile.loops)?, &Options::default())?;
    let mut lowered = lower::lower(&graph, given, profile)?;
    checked(|| lowered.verify())?;
    recompute::recompute(&mut lowered, &profile.recompute);
    checked(|| lowered.verify())?;
    merge_small::merge(&mut lowered, profile.fuse.small);
    checked(|| lowered.verify())?;
    let apart = std::mem::take(&mut lowered.apart);
    let mut plan = emit::emit(lowered, &graph, profile)?;
    plan.simplified = fired;
    plan.apart = apart;
    checked(|| plan.verify_steps())?;
    if let Some(limits) = &profile.slices {
        slices::slice(&mut plan, limits, profile.memory.align);
    }
    checked(|| plan.verify_steps())?;
    memory::plan_memory(&mut plan, profile.memory.align);
    checked(|| plan.verify())?;
    stop::poll()?;
    Ok(plan)
}

/// What a pass promises, checked in debug builds.
fn checked(verify: impl FnOnce() -> Result<()>) -> Result<()> {
    if cfg!(debug_assertions) { verify() } else { Ok(()) }
}
