//! Sums over the iterations of a loop: the gradients of values that all iterations share.
//!
//! A sum of products (`dW += aₜ bₜᵀ`) need not be computed in every iteration. The loop keeps the factors, and one
//! contraction after the loop also sums over iterations. Ops that are linear in such sums are applied after the loop
//! too.

use super::dot::Dot;
use super::pointwise::table::{add, mul};
use super::switch::build;
use super::*;
use crate::graph::{Id, Node};

/// Values available after a loop, by their ids in its body.
pub(super) struct LoopResults<'a, 'g> {
    /// Sums accumulated in carries.
    pub(super) carried: &'a dyn Fn(Id) -> Var<'g>,
    /// Values kept for all iterations, stacked along a leading axis.
    pub(super) stack: &'a dyn Fn(Id) -> Var<'g>,
    /// Values that are the same in all iterations.
    pub(super) invariant: &'a dyn Fn(Id) -> Var<'g>,
}

/// The computation of the sum of a value over all iterations.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    /// Accumulated in a carry.
    Carried(Id),
    /// One contraction of stacked values after the loop.
    Product(Dot, [Id; 2]),
    /// An op that is linear in the sums of some operands; the others are the same in all iterations.
    Linear(Op, Vec<Sum>),
    /// A value that is the same in all iterations.
    Invariant(Id),
}

/// Decides how to compute sums over the iterations of a loop. Holds the body of the loop, a graph whose first inputs
/// are shared by all iterations, and the values that the loop stacks.
pub(super) struct SumPlanner<'a> {
    graph: &'a Graph,
    /// True for each node that may differ between iterations.
    varies: Vec<bool>,
    /// Values that are stacked over all iterations.
    pub(super) kept: Vec<Id>,
    /// Number of elements per iteration that may still be kept; initially as many as are kept already.
    left: usize,
}

impl<'a> SumPlanner<'a> {
    /// Finds the nodes that differ between iterations. `kept` are outputs of the graph that the loop stacks,
    /// in addition to the inputs from `slices` on.
    pub(super) fn new(graph: &'a Graph, shared: usize, slices: usize, kept: &[Id]) -> SumPlanner<'a> {
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
        SumPlanner { graph, varies, kept, left }
    }

    fn numel(&self, id: Id) -> usize {
        self.graph.aval(id).shape.numel()
    }

    /// Decides how to sum a value. The factors of a product are kept only if they have at most as many elements as the
    /// product. The number of kept elements at most doubles.
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
        let label = ('a'..='z').chain('A'..='Z').chain('\u{100}'..).find(|c| !used(*c))?;
        self.left -= size;
        self.kept.extend(new);
        let all = |labels: &str| format!("{label}{labels}");
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
        let operand =
            |id: &Id| if self.varies[id.node as usize] { self.sum(*id) } else { Sum::Invariant(*id) };
        let operands: Vec<Sum> = node.ins.iter().map(operand).collect();
        // The sums of the operands must not be larger in total than the sum of the value. If they are equally large,
        // at least one must be a product.
        let carried: usize = operands.iter().map(|s| self.carried(s)).sum();
        let any_product = operands.iter().any(Sum::has_product);
        if carried < self.numel(id) || carried == self.numel(id) && any_product {
            return Some(Sum::Linear(node.op.clone(), operands));
        }
        self.kept.truncate(before.0);
        self.left = before.1;
        None
    }

    fn carried(&self, sum: &Sum) -> usize {
        match sum {
            Sum::Carried(id) => self.numel(*id),
            Sum::Product(..) | Sum::Invariant(_) => 0,
            Sum::Linear(_, operands) => operands.iter().map(|s| self.carried(s)).sum(),
        }
    }
}

impl Sum {
    /// Collects the values accumulated in carries.
    pub(super) fn collect_carried(&self, to: &mut Vec<Id>) {
        match self {
            Sum::Carried(id) if !to.contains(id) => to.push(*id),
            Sum::Linear(_, operands) => operands.iter().for_each(|s| s.collect_carried(to)),
            _ => {}
        }
    }

    fn has_product(&self) -> bool {
        match self {
            Sum::Product(..) => true,
            Sum::Linear(_, operands) => operands.iter().any(Sum::has_product),
            Sum::Carried(_) | Sum::Invariant(_) => false,
        }
    }

    /// Marks the nodes of values that are the same in all iterations.
    fn mark_invariants(&self, needed: &mut [bool]) {
        match self {
            Sum::Invariant(id) => needed[id.node as usize] = true,
            Sum::Linear(_, operands) => operands.iter().for_each(|s| s.mark_invariants(needed)),
            _ => {}
        }
    }

    /// Builds the sum after the loop from the values available there.
    pub(super) fn build<'g>(&self, b: &'g Builder, of: &LoopResults<'_, 'g>) -> Var<'g> {
        match self {
            Sum::Carried(id) => (of.carried)(*id),
            Sum::Product(dot, factors) => b.apply1(dot.clone(), &factors.map(of.stack)),
            Sum::Linear(op, operands) => {
                let operands: Vec<Var<'g>> = operands.iter().map(|s| s.build(b, of)).collect();
                b.apply1(op.clone(), &operands)
            }
            Sum::Invariant(id) => (of.invariant)(*id),
        }
    }
}

/// Computes the values that sums need and that are the same in all iterations, outside of the loop.
pub(super) fn invariants<'g>(
    b: &'g Builder,
    step: &Graph,
    shared: &[Var<'g>],
    sums: &[Sum],
) -> Vec<Vec<Var<'g>>> {
    let mut needed = vec![false; step.nodes().len()];
    sums.iter().for_each(|sum| sum.mark_invariants(&mut needed));
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

/// Returns the operands in which an op is linear, also for pointwise addition and multiplication.
fn linear(op: &Op) -> Derivative {
    match op {
        Op::Map(Map(own)) if std::ptr::eq(*own, &add) => Derivative::Linear(Operands::All),
        Op::Map(Map(own)) if std::ptr::eq(*own, &mul) => Derivative::Multilinear(Operands::All),
        _ => op.def().derivative(),
    }
}

/// Inlines regions whose results are these outputs or operands of their sums, since regions may contain products.
pub(super) fn inline_products(graph: &Graph, outputs: std::ops::Range<usize>) -> Result<Arc<Graph>> {
    let mut open = vec![false; graph.nodes().len()];
    let mut seen = open.clone();
    let mut next: Vec<Id> = graph.outputs()[outputs.clone()].to_vec();
    while let Some(id) = next.pop() {
        let node = &graph.nodes()[id.node as usize];
        if std::mem::replace(&mut seen[id.node as usize], true) {
            continue;
        }
        match (&node.op, linear(&node.op)) {
            // A region that is recomputed stays a region.
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
    inline_products(&flat, outputs)
}
