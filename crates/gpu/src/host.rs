//! Prepares steps that run on the CPU. Each becomes a plan of one step, whose inputs are the buffers that the step reads
//! and whose outputs are the buffers that it writes.

use gradus_compile::{Buffer, BufferLocation, Contraction, Kernel, Operation, Plan, Step};
use gradus_ir::Result;
use std::collections::HashMap;

/// A plan of one step, and the buffers of the original plan that it reads and writes.
pub(crate) struct StepPlan {
    pub(crate) plan: Plan,
    pub(crate) reads: Vec<usize>,
    pub(crate) writes: Vec<usize>,
}

/// Makes a plan of one step.
pub(crate) fn step_plan(plan: &Plan, step: &Step) -> Result<StepPlan> {
    let distinct = |mut all: Vec<usize>| {
        all.sort_unstable();
        all.dedup();
        all
    };
    let (reads, writes) = (distinct(step.reads()), distinct(step.writes()));
    let mut own = Plan::default();
    let mut number = HashMap::new();
    for (k, &b) in reads.iter().enumerate() {
        number.insert(b, own.buffers.len());
        own.inputs.push(own.buffers.len());
        own.buffers.push(Buffer { location: BufferLocation::Input(k), ..plan.buffers[b].clone() });
    }
    for (k, &b) in writes.iter().enumerate() {
        number.insert(b, own.buffers.len());
        own.outputs.push(own.buffers.len());
        own.buffers.push(Buffer { location: BufferLocation::Output(k), ..plan.buffers[b].clone() });
    }
    own.donors = vec![None; own.outputs.len()];
    let mut step = step.clone();
    rename(&mut step, &|b| number.get(&b).copied().unwrap_or(b));
    own.steps.push(step);
    own.verify()?;
    Ok(StepPlan { plan: own, reads, writes })
}

/// Renumbers the buffers of a step.
pub(crate) fn rename(step: &mut Step, to: &dyn Fn(usize) -> usize) {
    let list = |all: &mut Vec<usize>| all.iter_mut().for_each(|b| *b = to(*b));
    match step {
        Step::Kernel(k) => kernel(k, to),
        Step::Contract(c) => contraction(c, to),
        Step::Routine(r) => {
            list(&mut r.ins);
            list(&mut r.outs);
        }
        Step::Switch(c)
        | Step::Scan { control: c, .. }
        | Step::Slices { control: c, .. }
        | Step::While { control: c, .. } => {
            list(&mut c.ins);
            list(&mut c.outs);
        }
    }
}

fn contraction(c: &mut Contraction, to: &dyn Fn(usize) -> usize) {
    c.buffers.iter_mut().for_each(|b| *b = to(*b));
    if let Some(k) = &mut c.finish {
        kernel(k, to);
    }
}

fn kernel(k: &mut Kernel, to: &dyn Fn(usize) -> usize) {
    for inst in &mut k.body {
        match &mut inst.op {
            Operation::Load(access) => access.buffer = to(access.buffer),
            Operation::Pieces(pieces) => {
                pieces.iter_mut().for_each(|p| p.access.buffer = to(p.access.buffer))
            }
            _ => {}
        }
    }
    k.stores.iter_mut().for_each(|s| s.access.buffer = to(s.access.buffer));
}
