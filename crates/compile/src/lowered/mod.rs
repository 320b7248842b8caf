//! Between graph and plan: units of work over values. Passes fuse and move units; what must hold of them is checked after each.

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
    /// Types of the values and what they are from the start.
    pub(crate) values: Vec<(Aval, Origin)>,
    pub(crate) units: Vec<Unit>,
    /// What must run before what.
    pub(crate) depend: Depend,
    /// The values of the outputs: row-major, computed, each only once.
    pub(crate) outputs: Vec<Value>,
    /// The unit that computes each value.
    pub(crate) home: Vec<Option<usize>>,
    /// What did not fuse.
    pub(crate) apart: Vec<Apart>,
}

/// An op that did not join the loop nest of an operand, and why. It becomes text only where someone reads it.
#[derive(Clone, Debug)]
pub struct Apart {
    pub(crate) member: Arc<Member>,
    /// The reason.
    pub why: &'static str,
}

impl Apart {
    /// The op and its shape.
    pub fn what(&self) -> String {
        self.member.describe()
    }
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Input(usize),
    Constant(Literal),
    Computed,
}

/// Work that is done in one go.
#[derive(Clone, Debug)]
pub(crate) enum Unit {
    /// A loop nest.
    Group(Group),
    /// A product of matrices, whose buffers are values here, and what follows it block by block.
    Contract(Box<Contraction>, Option<Group>),
    /// An op on whole row-major values.
    Whole { op: Op, types: Vec<Aval>, ins: Vec<Value>, outs: Vec<Value>, origin: Option<graph::Origin> },
    /// Moved into another.
    Gone,
}

impl Unit {
    /// Values it computes, in memory or not.
    fn computes(&self) -> Vec<Value> {
        let of = |g: &Group| g.members.iter().map(|(m, _)| m.value).collect::<Vec<_>>();
        match self {
            Unit::Group(group) => of(group),
            Unit::Contract(c, finish) => {
                [c.buffers[2]].into_iter().chain(finish.iter().flat_map(of)).collect()
            }
            Unit::Whole { outs, .. } => outs.clone(),
            Unit::Gone => Vec::new(),
        }
    }

    /// Values read from memory.
    pub(crate) fn reads(&self) -> Vec<Value> {
        match self {
            Unit::Group(g) => g.reads(),
            Unit::Contract(c, finish) => {
                let follow = finish.iter().flat_map(Group::reads).filter(|v| *v != c.buffers[2]);
                c.buffers[..2].iter().copied().chain(follow).collect()
            }
            Unit::Whole { ins, .. } => ins.clone(),
            Unit::Gone => Vec::new(),
        }
    }
}
