//! Computes sums along columns while the rows that they sum are in cache.
//!
//! The gradient of a bias or a scale is a sum along columns of values that other loop nests read or write by rows. Such a sum
//! is split into sums of a few rows each. The nests around it become slices of the same rows, so that values that both use
//! are loaded from memory once.

use super::{Run, StepUses, Users, emit_slices, make_run, sliced, users};
use crate::kernel::Kernel;
use crate::plan::{Plan, Step};
use crate::profile::Slices;
use std::collections::BTreeSet;
use std::ops::Range;

/// Number of steps that are examined before a sum, and after it.
const NEAR: usize = 8;

/// Replaces sums along columns, and the nests around them, by slices. Considers only values of at least `shared` bytes,
/// because smaller values stay in cache from one step to the next.
pub(super) fn slice(plan: &mut Plan, limits: &Slices, shared: usize, align: usize) {
    // The number of steps that use a buffer does not depend on their order.
    let users = users(plan);
    let mut at = 0;
    while at < plan.steps.len() {
        if let Some(parts) = parts(plan, at, limits.fewest, shared) {
            let steps = gather_nests(plan, at, parts, shared);
            let sums = longest_run(plan, &users, steps, parts, limits);
            if let Some((run, step)) =
                sums.and_then(|run| emit_slices(plan, &run, align).map(|step| (run, step)))
            {
                at = run.steps.start;
                plan.steps.splice(run.steps, [step]);
            }
        }
        at += 1;
    }
}

/// Returns the number of parts into which a sum along columns is split.
fn parts(plan: &Plan, at: usize, fewest: usize, shared: usize) -> Option<usize> {
    match &plan.steps[at] {
        Step::Kernel(k @ Kernel { columns: true, parallel: 2.., .. }) => (k.axes[0] >= fewest
            && large_buffers(plan, &plan.steps[at], shared).next().is_some())
        .then_some(k.axes[0]),
        _ => None,
    }
}

fn large_buffers<'a>(plan: &'a Plan, step: &Step, least: usize) -> impl Iterator<Item = usize> + 'a {
    let all = step.reads().into_iter().chain(step.writes());
    all.filter(move |b| plan.buffers[*b].bytes() >= least)
}

/// Moves the nests that share large values with a sum next to the sum. The steps between these nests are moved after them; no
/// nest depends on such a step. Returns the range of the sum and the nests.
fn gather_nests(plan: &mut Plan, sum: usize, parts: usize, least: usize) -> Range<usize> {
    let mut shared: BTreeSet<usize> = large_buffers(plan, &plan.steps[sum], least).collect();
    let joins = |step: &Step, shared: &mut BTreeSet<usize>| {
        let nest =
            matches!(step, Step::Kernel(_)) && large_buffers(plan, step, least).any(|b| shared.contains(&b));
        let joins = nest && sliced(step, &[parts], &mut |m| m.buffer).is_some();
        if joins {
            shared.extend(large_buffers(plan, step, least));
        }
        joins
    };
    let mut chosen = BTreeSet::from([sum]);
    let mut delayed: BTreeSet<usize> = BTreeSet::new();
    for s in (sum + 1..plan.steps.len()).take(NEAR) {
        let step = &plan.steps[s];
        let waits = step.reads().iter().any(|b| delayed.contains(b));
        if !waits && joins(step, &mut shared) {
            chosen.insert(s);
        } else {
            delayed.extend(step.writes());
        }
    }
    for s in (0..sum).rev().take(NEAR) {
        let step = &plan.steps[s];
        if joins(step, &mut shared) {
            chosen.insert(s);
        } else if step.writes().iter().any(|b| chosen.iter().any(|c| plan.steps[*c].reads().contains(b))) {
            break; // The nests depend on this step, so earlier steps cannot be moved next to them.
        }
    }
    let (first, last) = (chosen.first().copied().unwrap_or(sum), chosen.last().copied().unwrap_or(sum));
    let steps: Vec<(usize, Step)> = (first..).zip(plan.steps.drain(first..=last)).collect();
    let (own, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(s, _)| chosen.contains(s));
    let order = own.into_iter().chain(others).map(|(_, step)| step);
    plan.steps.splice(first..first, order);
    first..first + chosen.len()
}

/// Returns the longest run among these steps that can be sliced.
fn longest_run(
    plan: &Plan,
    users: &Users,
    steps: Range<usize>,
    parts: usize,
    limits: &Slices,
) -> Option<Run> {
    let lengths = (2..=steps.len()).rev();
    let mut ranges = lengths.flat_map(|n| (steps.start..=steps.end - n).map(move |s| s..s + n));
    let step_uses = StepUses::new(plan, users, limits);
    ranges.find_map(|range| make_run(&step_uses, range, &[parts]))
}
