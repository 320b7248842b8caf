//! Sums over the steps of a loop: what a gradient adds up for a value that all steps share.
//!
//! A product of what the steps have (`dW += aₜ bₜᵀ`) need not be computed step by step: the factors are kept, and one
//! contraction behind the loop sums over the steps too. What is linear in such products follows it.

use super::dot::Dot;
use super::pointwise::rows::{add, mul};
use super::switch::build;
use super::*;
use crate::graph::{Id, Node};

/// What is known behind a loop of the values of its step.
pub(super) struct After<'a, 'g> {
    /// Sums that were carried.
    pub(super) carried: &'a dyn Fn(Id) -> Var<'g>,
    /// All steps of what was kept.
    pub(super) stack: &'a dyn Fn(Id) -> Var<'g>,
    /// What is the same in all steps.
    pub(super) same: &'a dyn Fn(Id) -> Var<'g>,
}

/// How the sum over all steps of a value of the step is had.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    /// In a carry, step by step.
    Carried(Id),
    /// By one contraction of what the steps have.
    Product(Dot, [Id; 2]),
    /// By an op that is linear in the sums of some operands; the others are the same in all steps.
    Of(Op, Vec<Sum>),
    /// The same in all steps.
    Same(Id),
}

/// A step as a graph, of whose inputs the first are the same in all steps, and what the loop keeps of it anyway.
pub(super) struct Steps<'a> {
    graph: &'a Graph,
    /// Whether a value may differ between steps.
    varies: Vec<bool>,
    /// Values of which all steps are kept.
    pub(super) kept: Vec<Id>,
    /// Elements that may be kept of a step besides: as many as are.
    left: usize,
}

impl<'a> Steps<'a> {
    /// `kept` are outputs of the graph that the loop stacks; so it does the inputs from `slices` on.
    pub(super) fn new(graph: &'a Graph, shared: usize, slices: usize, kept: &[Id]) -> Steps<'a> {
        let mut varies = Vec::with_capacity(graph.nodes().len());
        for node in graph.nodes() {
            varies.push(match &node.op {
                Op::Input(input) => input.index >= shared,
                _ => node.ins.iter().any(|id| varies[id.node as usize]),
            });
        }
        let inputs = graph.inputs()[slices..].iter().map(|(_, id)| *id);
        let kept: Vec<Id> = inputs.chain(kept.iter().copied()).collect();
        let left = kept.iter().map(|id| graph.aval(*id).shape.numel()).sum();
        Steps { graph, varies, kept, left }
    }

    fn numel(&self, id: Id) -> usize {
        self.graph.aval(id).shape.numel()
    }

    /// How to have the sum of a value. Keeps no more of a step than it has elements, nor twice what was kept before.
    pub(super) fn sum(&mut self, id: Id) -> Sum {
        if !self.varies[id.node as usize] {
            return Sum::Carried(id);
        }
        let node = &self.graph.nodes()[id.node as usize];
        self.product(id, node).or_else(|| self.linear(id, node)).unwrap_or(Sum::Carried(id))
    }

    fn product(&mut self, id: Id, node: &Node) -> Option<Sum> {
        let Op::Dot(dot) = &node.op else { return None };
        let factors: [Id; 2] = node.ins[..].try_into().ok()?;
        if !factors.iter().all(|f| self.varies[f.node as usize]) {
            return None;
        }
        let mut new: Vec<Id> = factors.iter().copied().filter(|f| !self.kept.contains(f)).collect();
        new.dedup();
        let size: usize = new.iter().map(|f| self.numel(*f)).sum();
        if size > self.left || size > self.numel(id) {
            return None;
        }
        let used = |c: char| [&dot.lhs, &dot.rhs, &dot.out].iter().any(|l| l.contains(c));
        let step = ('a'..='z').chain('A'..='Z').chain('\u{100}'..).find(|c| !used(*c))?;
        self.left -= size;
        self.kept.extend(new);
        let all = |labels: &str| format!("{step}{labels}");
        Some(Sum::Product(Dot::new(all(&dot.lhs), all(&dot.rhs), dot.out.clone()), factors))
    }

    fn linear(&mut self, id: Id, node: &Node) -> Option<Sum> {
        let varying: Vec<bool> = node.ins.iter().map(|id| self.varies[id.node as usize]).collect();
        let summed = match linear(&node.op) {
            Derivative::Linear(linear) => varying.iter().enumerate().all(|(i, v)| linear.has(i) == *v),
            Derivative::Multilinear(linear) => {
                let mut those = (0..varying.len()).filter(|&i| varying[i]);
                those.next().is_some_and(|i| linear.has(i)) && those.next().is_none()
            }
            _ => false,
        };
        if !summed || node.outs.len() != 1 {
            return None;
        }
        let before = (self.kept.len(), self.left);
        let operand = |id: &Id| if self.varies[id.node as usize] { self.sum(*id) } else { Sum::Same(*id) };
        let operands: Vec<Sum> = node.ins.iter().map(operand).collect();
        // No sum may take more room than that of the whole, nor as much for nothing.
        let carried: usize = operands.iter().map(|s| self.carried(s)).sum();
        let for_something = operands.iter().any(Sum::has_product);
        if carried < self.numel(id) || carried == self.numel(id) && for_something {
            return Some(Sum::Of(node.op.clone(), operands));
        }
        self.kept.truncate(before.0);
        self.left = before.1;
        None
    }

    fn carried(&self, sum: &Sum) -> usize {
        match sum {
            Sum::Carried(id) => self.numel(*id),
            Sum::Product(..) | Sum::Same(_) => 0,
            Sum::Of(_, operands) => operands.iter().map(|s| self.carried(s)).sum(),
        }
    }
}

impl Sum {
    /// The values that are carried.
    pub(super) fn in_carries(&self, to: &mut Vec<Id>) {
        match self {
            Sum::Carried(id) if !to.contains(id) => to.push(*id),
            Sum::Of(_, operands) => operands.iter().for_each(|s| s.in_carries(to)),
            _ => {}
        }
    }

    fn has_product(&self) -> bool {
        match self {
            Sum::Product(..) => true,
            Sum::Of(_, operands) => operands.iter().any(Sum::has_product),
            Sum::Carried(_) | Sum::Same(_) => false,
        }
    }

    /// Marks the nodes of what is the same in all steps.
    fn marked(&self, needed: &mut [bool]) {
        match self {
            Sum::Same(id) => needed[id.node as usize] = true,
            Sum::Of(_, operands) => operands.iter().for_each(|s| s.marked(needed)),
            _ => {}
        }
    }

    /// The sum as a value behind the loop, from those of the step that are known there.
    pub(super) fn built<'g>(&self, b: &'g Builder, of: &After<'_, 'g>) -> Var<'g> {
        match self {
            Sum::Carried(id) => (of.carried)(*id),
            Sum::Product(dot, factors) => b.apply1(dot.clone(), &factors.map(of.stack)),
            Sum::Of(op, operands) => {
                let operands: Vec<Var<'g>> = operands.iter().map(|s| s.built(b, of)).collect();
                b.apply1(op.clone(), &operands)
            }
            Sum::Same(id) => (of.same)(*id),
        }
    }
}

/// The values of a step that sums need and that are the same in all steps, computed outside.
pub(super) fn same<'g>(b: &'g Builder, step: &Graph, shared: &[Var<'g>], sums: &[Sum]) -> Vec<Vec<Var<'g>>> {
    let mut needed = vec![false; step.nodes().len()];
    sums.iter().for_each(|sum| sum.marked(&mut needed));
    for (i, node) in step.nodes().iter().enumerate().rev().filter(|(_, n)| !n.ins.is_empty()) {
        if needed[i] {
            node.ins.iter().for_each(|id| needed[id.node as usize] = true);
        }
    }
    let mut values: Vec<Vec<Var<'g>>> = Vec::with_capacity(needed.len());
    for (node, needed) in step.nodes().iter().zip(needed) {
        let operands = |values: &[Vec<Var<'g>>]| -> Vec<Var<'g>> {
            node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect()
        };
        values.push(match &node.op {
            _ if !needed => Vec::new(),
            Op::Input(input) => vec![shared[input.index]],
            op => b.apply(op.clone(), &operands(&values)),
        });
    }
    values
}

/// In what an op is linear; of the pointwise ones, addition and multiplication are.
fn linear(op: &Op) -> Derivative {
    match op {
        Op::Map(Map(row)) if std::ptr::eq(*row, &add) => Derivative::Linear(Operands::All),
        Op::Map(Map(row)) if std::ptr::eq(*row, &mul) => Derivative::Multilinear(Operands::All),
        _ => op.def().derivative(),
    }
}

/// The graph with the regions opened that give these outputs, or operands of sums that do: products stand in them.
pub(super) fn opened(graph: &Graph, outputs: std::ops::Range<usize>) -> Result<Arc<Graph>> {
    let mut open = vec![false; graph.nodes().len()];
    let mut seen = open.clone();
    let mut next: Vec<Id> = graph.outputs()[outputs.clone()].to_vec();
    while let Some(id) = next.pop() {
        let node = &graph.nodes()[id.node as usize];
        if std::mem::replace(&mut seen[id.node as usize], true) {
            continue;
        }
        match (&node.op, linear(&node.op)) {
            // What is computed again stays together.
            (Op::Call(call), _) => open[id.node as usize] = !call.remat.0,
            (_, Derivative::Linear(_) | Derivative::Multilinear(_)) => next.extend(&node.ins),
            _ => {}
        }
    }
    if !open.contains(&true) {
        return Ok(Arc::new(graph.clone()));
    }
    let flat = build(&graph.input_avals(), |r, ins| {
        let mut values: Vec<Vec<Var<'_>>> = Vec::with_capacity(open.len());
        for (node, open) in graph.nodes().iter().zip(&open) {
            let operands: Vec<Var<'_>> =
                node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
            let mut outs = match &node.op {
                Op::Input(input) => vec![ins[input.index]],
                Op::Call(call) if *open => r.inline(&call.body, &operands),
                op => r.apply(op.clone(), &operands),
            };
            outs.resize(node.outs.len(), outs[0]);
            values.push(outs);
        }
        graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect()
    })?;
    opened(&flat, outputs)
}
