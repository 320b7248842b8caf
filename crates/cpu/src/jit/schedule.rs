//! Orders the computation of nodes in passes over a row. Each reduction that depends on another needs a further pass.
//! Takes lowered nodes; returns passes of steps, and the number of row buffers that keep values between passes.

use super::lower::Lowered;
use super::node::Node;

/// Smallest number of nodes for which a value is kept for later passes. Cheaper values are recomputed.
const KEEP: usize = 4;

/// A step of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Compute(usize),
    /// Writes a node to a row buffer, by number.
    Keep(usize, usize),
    /// Reads a node from a row buffer.
    Recall(usize, usize),
    /// Adds a node's operand to its accumulator.
    Fold(usize),
    /// Writes a result, by the number of its store.
    Store(usize),
    /// Writes a row value to its slot.
    Save(usize),
}

/// One pass over a row: steps per element, then steps once per row.
#[derive(Debug, Default)]
pub(super) struct RowPass {
    pub(super) elements: Vec<Step>,
    pub(super) row: Vec<Step>,
}

/// Returns the passes of a kernel over its rows, and the number of row buffers.
pub(super) fn schedule(lowered: &Lowered) -> (Vec<RowPass>, usize) {
    let nodes = &lowered.nodes;
    let live = live(lowered);
    let pass = passes(nodes);
    // A row value is known after all elements of its pass, so it can be stored once per element in the next pass.
    let stored = lowered.stores.iter().filter(|store| !store.row);
    let stored = stored.map(|store| pass[store.node] + i64::from(nodes[store.node].row));
    let last = (0..nodes.len()).filter(|&n| live[n]).map(|n| pass[n]).chain(stored).max().unwrap_or(0).max(0);
    let saved = saved_row_values(lowered, &live, &pass);
    let mut s = Schedule {
        nodes,
        cost: costs(nodes),
        first: vec![None; nodes.len()],
        kept: vec![None; nodes.len()],
        count: 0,
    };
    let mut all: Vec<RowPass> = Vec::new();
    for now in -1..=last {
        let mut elements = Vec::new();
        let mut done = vec![false; nodes.len()];
        let folds = |n: &usize| live[*n] && nodes[*n].is_fold() && pass[*n] == now;
        for n in (0..nodes.len()).filter(folds) {
            nodes[n].nodes().for_each(|a| s.visit(a, &mut done, &mut elements));
            elements.push(Step::Fold(n));
        }
        if now == last {
            let stores = || lowered.stores.iter().enumerate().filter(|(_, store)| !store.row);
            stores().for_each(|(_, store)| s.visit(store.node, &mut done, &mut elements));
            // Stores come after all loads, because they may write to the same memory.
            elements.extend(stores().map(|(i, _)| Step::Store(i)));
        }
        for step in &elements {
            if let Step::Compute(n) = step {
                s.first[*n].get_or_insert(all.len());
            }
        }
        let mut row = Vec::new();
        let mut done = vec![false; nodes.len()];
        let own = |n: &usize| live[*n] && nodes[*n].row && pass[*n] == now;
        for n in (0..nodes.len()).filter(own).filter(|&n| !nodes[n].is_fold() && !nodes[n].is_load()) {
            if !nodes[n].is_mask() {
                s.visit_masks(n, &mut done, &mut row);
                row.push(Step::Compute(n));
                row.extend(saved[n].then_some(Step::Save(n)));
            }
        }
        if now == last {
            row.extend((0..lowered.stores.len()).filter(|&i| lowered.stores[i].row).map(Step::Store));
        }
        all.push(RowPass { elements, row });
    }
    for n in 0..nodes.len() {
        if let (Some(buffer), Some(first)) = (s.kept[n], s.first[n]) {
            let steps = &mut all[first].elements;
            let at = steps.iter().position(|step| *step == Step::Compute(n)).map_or(0, |at| at + 1);
            steps.insert(at, Step::Keep(n, buffer));
        }
    }
    (all, s.count)
}

struct Schedule<'a> {
    nodes: &'a [Node],
    cost: Vec<usize>,
    /// The pass in which an element's value is first computed.
    first: Vec<Option<usize>>,
    /// The row buffer of each value, if it is kept.
    kept: Vec<Option<usize>>,
    count: usize,
}

impl Schedule<'_> {
    /// Adds the steps that compute a value of an element.
    fn visit(&mut self, n: usize, done: &mut [bool], steps: &mut Vec<Step>) {
        let node = &self.nodes[n];
        if done[n] || node.row && !node.is_mask() {
            return;
        }
        done[n] = true;
        if self.first[n].is_some() && self.cost[n] >= KEEP && !node.is_mask() {
            let count = &mut self.count;
            let buffer = *self.kept[n].get_or_insert_with(|| {
                *count += 1;
                *count - 1
            });
            return steps.push(Step::Recall(n, buffer));
        }
        // Visits operands in the order in which they were created, so that few values need registers at the same time. Masks
        // come last, because there are few mask registers.
        let mut operands: Vec<usize> = node.nodes().collect();
        operands.sort_unstable_by_key(|&a| (self.nodes[a].is_mask(), a));
        operands.into_iter().for_each(|a| self.visit(a, done, steps));
        steps.push(Step::Compute(n));
    }

    /// Adds the masks that a row node needs.
    fn visit_masks(&self, n: usize, done: &mut [bool], steps: &mut Vec<Step>) {
        for a in self.nodes[n].nodes().filter(|&a| self.nodes[a].is_mask()) {
            if !std::mem::replace(&mut done[a], true) {
                self.visit_masks(a, done, steps);
                steps.push(Step::Compute(a));
            }
        }
    }
}

/// Returns, for each node, true if a store needs it.
fn live(lowered: &Lowered) -> Vec<bool> {
    let mut live = vec![false; lowered.nodes.len()];
    lowered.stores.iter().for_each(|s| live[s.node] = true);
    for n in (0..live.len()).rev() {
        if live[n] {
            lowered.nodes[n].nodes().for_each(|a| live[a] = true);
        }
    }
    live
}

/// Returns, for each value per element, the first pass in which it can be computed; for each value per row, the pass
/// after which it is known.
fn passes(nodes: &[Node]) -> Vec<i64> {
    let mut pass: Vec<i64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let in_row = node.row && !node.is_fold();
        let first = if in_row { -1 } else { 0 };
        let args = node.nodes().map(|a| pass[a] + (!in_row && nodes[a].row) as i64);
        pass.push(args.max().unwrap_or(first).max(first));
    }
    pass
}

/// Returns, for each row value, true if it is used outside of the steps per row of its pass. The entries of other nodes have
/// no meaning.
fn saved_row_values(lowered: &Lowered, live: &[bool], pass: &[i64]) -> Vec<bool> {
    let nodes = &lowered.nodes;
    let mut saved = vec![false; nodes.len()];
    lowered.stores.iter().for_each(|s| saved[s.node] = true);
    for (n, node) in nodes.iter().enumerate().filter(|(n, _)| live[*n]) {
        // Masks are computed again wherever they are used, so their operands must be saved.
        let near = |a: usize| node.row && !node.is_fold() && !node.is_mask() && pass[a] == pass[n];
        node.nodes().filter(|&a| !near(a)).for_each(|a| saved[a] = true);
    }
    saved
}

/// Returns, for each value, the number of nodes that its computation needs if no node is shared.
fn costs(nodes: &[Node]) -> Vec<usize> {
    let mut cost: Vec<usize> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let args: usize = node.nodes().filter(|&a| !nodes[a].row).map(|a| cost[a]).sum();
        cost.push((args + (!node.is_load() && !node.row) as usize).min(1 << 20));
    }
    cost
}
