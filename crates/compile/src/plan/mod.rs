//! The plan that devices run: steps in order, over numbered buffers with assigned memory.
//! `emit.rs` builds a plan, and `memory.rs` assigns the memory. Devices run its steps in order.
//! `verify.rs` and `aliasing.rs` check it, and `print.rs` writes it as text.

mod aliasing;
mod print;
mod verify;

pub(crate) use verify::check_range;

use crate::contraction::Contraction;
use crate::kernel::{Kernel, Level, Store};
use crate::layout::Layout;
use crate::lowered::NotFused;
use gradus_ir::graph::Origin;
use gradus_ir::{Aval, DType, Literal, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// A compiled graph.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All buffers that are read or written.
    pub buffers: Vec<Buffer>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Buffers of the inputs, in order.
    pub inputs: Vec<usize>,
    /// Buffers of the outputs, in order.
    pub outputs: Vec<usize>,
    /// For each output, the input whose memory it may overwrite, if any. It does so if the caller passes ownership of the
    /// input.
    pub donors: Vec<Option<usize>>,
    /// Bytes of the arena.
    pub arena: usize,
    /// Rules of the simplifier that were applied, each with the number of its applications.
    pub simplified: Vec<(&'static str, usize)>,
    /// Ops that did not join the loop nest of an operand, with the reasons.
    pub not_fused: Vec<NotFused>,
}

/// A buffer of row-major elements.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Dtype of the elements.
    pub dtype: DType,
    /// Number of elements.
    pub numel: usize,
    /// The memory in which they are stored.
    pub location: BufferLocation,
}

impl Plan {
    /// Removes all donors except for these pairs of an output and an input. Devices call it with the pairs that are the new and
    /// the old value of a cell, if all other operands may still be in use.
    pub fn keep_donors(&mut self, keeps: &[(usize, usize)]) {
        for (output, donor) in self.donors.iter_mut().enumerate() {
            *donor = donor.filter(|input| keeps.contains(&(output, *input)));
        }
    }

    /// Returns true if a run can return an error that names a source line: see [`Step::can_fail`].
    pub fn can_fail(&self) -> bool {
        self.steps.iter().any(Step::can_fail)
    }
}

impl Buffer {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.numel * self.dtype.size()
    }
}

/// The memory of a buffer.
#[derive(Clone, Debug)]
pub enum BufferLocation {
    /// An input, from the caller.
    Input(usize),
    /// An output, returned to the caller.
    Output(usize),
    /// A constant of the plan.
    Constant(Literal),
    /// A part of the arena that starts at this byte.
    Arena(usize),
}

/// A step of a plan.
#[derive(Clone, Debug)]
pub enum Step {
    /// A loop nest.
    Kernel(Kernel),
    /// A product of matrices.
    Contract(Contraction),
    /// An op that is not a loop nest, on complete row-major operands.
    Routine(Routine),
    /// Runs one of several plans, selected by the first operand.
    Switch(Control),
    /// A loop of known length.
    Scan {
        /// The body, as the only plan.
        control: Control,
        /// Number of operands that all iterations share.
        shared: usize,
        /// Number of carries.
        carries: usize,
        /// Number of iterations.
        length: usize,
        /// If true, iterates from the last slice to the first.
        reverse: bool,
    },
    /// Independent slices: a plan for one index of some outer axes, run for all indices in any order.
    Slices {
        /// The plan of a slice, as the only one.
        control: Control,
        /// The outer axes.
        extents: Vec<usize>,
        /// For each operand and then each result, its stride along each outer axis, in elements.
        moves: Vec<Vec<i64>>,
    },
    /// A loop that runs the second plan as long as the first returns true.
    While {
        /// Condition and body.
        control: Control,
        /// Number of operands that all iterations share.
        shared: usize,
        /// Largest number of iterations; 0 for no bound.
        bound: usize,
    },
}

/// An op on complete buffers.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The op.
    pub op: Op,
    /// Types of the operands.
    pub types: Vec<Aval>,
    /// Types of the results.
    pub results: Vec<Aval>,
    /// Buffers of the operands.
    pub ins: Vec<usize>,
    /// Buffers of the results.
    pub outs: Vec<usize>,
    /// The operand that the first result may overwrite.
    pub overwrites: Option<usize>,
    /// If true, it can return an error.
    pub can_fail: bool,
    /// The source of the op in the traced program, if known.
    pub origin: Option<Origin>,
}

impl Routine {
    /// Returns the name of the op, or of the region if the device runs a region as one step.
    pub fn name(&self) -> &str {
        if let Op::Call(call) = &self.op { &call.name } else { self.op.name() }
    }

    /// Returns the buffers (written, read) that may have the same memory, if any.
    pub(crate) fn overwritten(&self) -> Option<(usize, usize)> {
        let (written, read) = (*self.outs.first()?, *self.ins.get(self.overwrites?)?);
        // The operand must not be read as another operand too.
        (self.ins.iter().filter(|b| **b == read).count() == 1).then_some((written, read))
    }
}

/// Plans that are run by a step of another plan.
#[derive(Clone, Debug)]
pub struct Control {
    /// The plans.
    pub plans: Vec<Arc<Plan>>,
    /// Buffers of the operands.
    pub ins: Vec<usize>,
    /// Buffers of the results.
    pub outs: Vec<usize>,
}

impl Step {
    /// Returns the buffers that the step reads.
    pub fn reads(&self) -> Vec<usize> {
        match self {
            Step::Kernel(k) => k.loads().map(|a| a.buffer).collect(),
            Step::Contract(c) => c.reads(),
            Step::Routine(r) => r.ins.clone(),
            Step::Switch(c)
            | Step::Scan { control: c, .. }
            | Step::Slices { control: c, .. }
            | Step::While { control: c, .. } => c.ins.clone(),
        }
    }

    /// Returns true if the step can return an error: an index out of range, a matrix without a factorisation,
    /// a failed allocation in a loop or branch.
    pub fn can_fail(&self) -> bool {
        match self {
            Step::Kernel(_) | Step::Contract(_) => false,
            Step::Slices { control, .. } => control.plans.iter().any(|plan| plan.can_fail()),
            Step::Routine(r) => r.can_fail,
            Step::Switch(_) | Step::Scan { .. } | Step::While { .. } => true,
        }
    }

    /// Returns the buffers that the step writes.
    pub fn writes(&self) -> Vec<usize> {
        match self {
            Step::Kernel(k) => k.stores.iter().map(|s| s.access.buffer).collect(),
            Step::Contract(c) => c.writes(),
            Step::Routine(r) => r.outs.clone(),
            Step::Switch(c)
            | Step::Scan { control: c, .. }
            | Step::Slices { control: c, .. }
            | Step::While { control: c, .. } => c.outs.clone(),
        }
    }
}

impl Step {
    /// Returns the layouts by which the step writes to a buffer, each with its extents; none unless it is a loop nest or a
    /// product.
    fn writes_at(&self, buffer: usize) -> Vec<(Layout, Vec<usize>)> {
        let nest = |k: &Kernel| {
            let stores = k.stores.iter().filter(|s| s.access.buffer == buffer);
            let axes =
                |s: &Store| if k.body[s.value].level == Level::Row { k.parallel } else { k.axes.len() };
            stores.map(|s| (s.access.layout.clone(), k.axes[..axes(s)].to_vec())).collect::<Vec<_>>()
        };
        match self {
            Step::Kernel(k) => nest(k),
            Step::Contract(c) => {
                let (extents, strides) = c.axes(2).unzip();
                let own =
                    (c.buffers[2] == buffer).then(|| (Layout { offset: c.offsets[2], strides }, extents));
                own.into_iter().chain(c.finish.iter().flat_map(nest)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Replaces buffers by others. Has no effect unless the step is a loop nest or a product.
    pub(crate) fn rename(&mut self, other: &HashMap<usize, usize>) {
        let to = |b: &mut usize| *b = other.get(b).copied().unwrap_or(*b);
        match self {
            Step::Kernel(k) => k.accesses_mut().into_iter().for_each(|a| to(&mut a.buffer)),
            Step::Contract(c) => {
                c.buffers.iter_mut().for_each(to);
                let finish = c.finish.iter_mut().flat_map(Kernel::accesses_mut);
                finish.for_each(|a| to(&mut a.buffer));
            }
            _ => {}
        }
    }
}
