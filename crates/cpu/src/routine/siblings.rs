//! Runs consecutive products of quantised weights with the same activations, such as the queries, keys and values of
//! attention, as one job. Takes the steps of a plan; returns the number of steps that run as one job, and the weights
//! that a job reads. A job rounds the activations once, and divides its outputs among threads without waiting between
//! products.

use super::region::{PreparedRegion, product};
use crate::Pool;
use crate::quantized::int8;
use crate::tile::Memory;
use gradus_compile::{BufferLocation, Plan, Routine, Step};
use gradus_ir::{Error, Result};

/// Returns the number of steps from `first` on that run as one job. It is 1 unless they are products of integers.
pub(crate) fn count(plan: &Plan, first: usize) -> usize {
    let routine = |i: usize| match plan.steps.get(i) {
        Some(Step::Routine(r)) => {
            let weights = PreparedRegion::of_routine(r)?.integer_product()?;
            Some((r, weights.format, weights.width))
        }
        _ => None,
    };
    let Some((own, format, width)) = routine(first) else { return 1 };
    let mut written = Vec::new();
    for i in first.. {
        let Some((other, ..)) =
            routine(i).filter(|(o, f, w)| o.ins[0] == own.ins[0] && (*f, *w) == (format, width))
        else {
            return (i - first).max(1);
        };
        // The steps of a job run at the same time. Each result must therefore be in the arena and overlap neither the
        // other results nor the activations, and the weights must be outside of the arena.
        let is_separate = match range(plan, other.outs[0]) {
            Some(out) => !written.iter().chain(&range(plan, own.ins[0])).any(|r| overlap(&out, r)),
            None => false,
        };
        let constant = !matches!(plan.buffers[other.ins[1]].location, BufferLocation::Arena(_));
        if !(is_separate && constant) {
            return (i - first).max(1);
        }
        written.extend(range(plan, other.outs[0]));
    }
    1
}

/// Returns the range of bytes of a buffer in the arena, if it is in the arena.
fn range(plan: &Plan, buffer: usize) -> Option<std::ops::Range<usize>> {
    match plan.buffers[buffer].location {
        BufferLocation::Arena(at) => Some(at..at + plan.buffers[buffer].bytes()),
        _ => None,
    }
}

fn overlap(a: &std::ops::Range<usize>, b: &std::ops::Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Returns the buffer of weights if a step is a product with quantised weights.
pub(crate) fn weights(step: &Step) -> Option<usize> {
    match step {
        Step::Routine(r) if super::region::is_product(r) => r.ins.get(1).copied(),
        _ => None,
    }
}

/// Runs the steps of a job, as determined by [`count`]: the routine of each step and its prepared call.
///
/// # Safety
/// As for [`super::run`], for each step. Each call was prepared for its routine.
pub(crate) unsafe fn run<'a>(
    steps: impl Iterator<Item = (&'a Routine, &'a PreparedRegion)>,
    pool: &Pool,
    memory: Memory<'_>,
) -> Result<()> {
    let products: Option<Vec<int8::Product>> =
        steps.map(|(routine, prepared)| product(routine, prepared, memory)).collect();
    let products = products.ok_or_else(|| Error::verify("a step is not a product of integers"))?;
    // SAFETY: the caller guarantees operands and results of the extents of each step, which no other thread accesses;
    // `count` has checked that results do not overlap.
    unsafe { int8::dot(pool, &products) };
    Ok(())
}
