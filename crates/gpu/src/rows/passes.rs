//! Schedules the passes of a kernel over a row: a reduction that depends on another's result comes in a later pass.

use gradus_compile::{Kernel, Level, Operation};

/// Instructions of one pass over a row: those per element, then reductions and other instructions per row.
pub(super) struct Pass {
    pub(super) elements: Vec<bool>,
    pub(super) rows: Vec<usize>,
}

/// Returns the passes over a row.
pub(super) fn passes(kernel: &Kernel) -> Vec<Pass> {
    let reduces = |i: usize| matches!(kernel.body[i].op, Operation::Reduce(_));
    // For each element instruction, the first pass in which it can be computed; for each row instruction, the pass after
    // which its value is known.
    let mut pass: Vec<i64> = Vec::with_capacity(kernel.body.len());
    for (i, inst) in kernel.body.iter().enumerate() {
        let per_element = inst.level == Level::Element || reduces(i);
        let first = if inst.level == Level::Row && !reduces(i) { -1 } else { 0 };
        let after = |a: &usize| pass[*a] + (per_element && kernel.body[*a].level == Level::Row) as i64;
        let own = inst.args.iter().map(after).max().unwrap_or(first).max(first);
        pass.push(own);
    }
    let stored = kernel.stores.iter().map(|s| s.value).filter(|v| kernel.body[*v].level == Level::Element);
    let last = pass.iter().copied().max().unwrap_or(0).max(0);
    (-1..=last)
        .map(|now| {
            let mut elements = vec![false; kernel.body.len()];
            for (i, inst) in kernel.body.iter().enumerate() {
                if reduces(i) && pass[i] == now {
                    inst.args.iter().for_each(|a| elements[*a] = true);
                }
            }
            if now == last {
                stored.clone().for_each(|v| elements[v] = true);
            }
            for (i, inst) in kernel.body.iter().enumerate().rev() {
                if elements[i] && inst.level == Level::Element {
                    inst.args.iter().for_each(|a| elements[*a] = true);
                }
            }
            for (own, inst) in elements.iter_mut().zip(&kernel.body) {
                *own &= inst.level == Level::Element;
            }
            let rows = (0..kernel.body.len())
                .filter(|i| kernel.body[*i].level == Level::Row && pass[*i] == now)
                .collect();
            Pass { elements, rows }
        })
        .collect()
}
