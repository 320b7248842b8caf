//! The representation between graph and plan: units of work over values. Passes fuse and reorder units. In debug builds,
//! `verify.rs` checks the invariants after each pass.

mod print;
#[cfg(test)]
mod tests;
mod verify;

use crate::contraction::Contraction;
use crate::depend::Depend;
use crate::group::{Group, Member, Value};
use gradus_ir::{Aval, Literal, Op, graph};
use std::sync::Arc;

/// A graph as units of work over values.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    /// Type and origin of each value.
    pub(crate) values: Vec<(Aval, Origin)>,
    pub(crate) units: Vec<Unit>,
    /// The dependencies between units.
    pub(crate) depend: Depend,
    /// The values of the outputs. Each is computed by a unit, row-major, and the value of one output only.
    pub(crate) outputs: Vec<Value>,
    /// The unit that computes each value.
    pub(crate) maker: Vec<Option<usize>>,
    /// Ops that were not fused, with the reasons.
    pub(crate) not_fused: Vec<NotFused>,
}

/// An op that did not join the loop nest of an operand, with the reason. It is formatted as text only on demand.
#[derive(Clone, Debug)]
pub struct NotFused {
    pub(crate) member: Arc<Member>,
    /// The reason.
    pub why: &'static str,
}

impl NotFused {
    /// Returns the name and shape of the op.
    pub fn what(&self) -> String {
        self.member.describe()
    }
}

/// The origin of a value.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Input(usize),
    Constant(Literal),
    Computed,
}

/// A piece of work that becomes one step of the plan.
#[derive(Clone, Debug)]
pub(crate) enum Unit {
    /// A loop nest.
    Group(Group),
    /// A matrix product, and a group that runs on each block of its result. The numbers of its buffers are numbers of values.
    Contract(Box<Contraction>, Option<Group>),
    /// An op on complete row-major values.
    Routine { op: Op, types: Vec<Aval>, ins: Vec<Value>, outs: Vec<Value>, origin: Option<graph::Origin> },
    /// A unit that was merged into another, or whose values are not needed.
    Gone,
}

impl Unit {
    /// Returns the values that the unit computes, stored or not.
    fn computes(&self) -> Vec<Value> {
        let of = |g: &Group| g.members.iter().map(|(m, _)| m.value).collect::<Vec<_>>();
        match self {
            Unit::Group(group) => of(group),
            Unit::Contract(c, finish) => {
                [c.buffers[2]].into_iter().chain(finish.iter().flat_map(of)).collect()
            }
            Unit::Routine { outs, .. } => outs.clone(),
            Unit::Gone => Vec::new(),
        }
    }

    /// Returns the values that the unit reads from memory.
    pub(crate) fn reads(&self) -> Vec<Value> {
        match self {
            Unit::Group(g) => g.reads(),
            Unit::Contract(c, finish) => {
                let follow = finish.iter().flat_map(Group::reads).filter(|v| *v != c.buffers[2]);
                c.buffers[..2].iter().copied().chain(follow).collect()
            }
            Unit::Routine { ins, .. } => ins.clone(),
            Unit::Gone => Vec::new(),
        }
    }
}
