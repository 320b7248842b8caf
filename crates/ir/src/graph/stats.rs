//! Counts the cost of a graph from the forms of its ops. Takes a graph or a node; returns counts of nodes, operations
//! and bytes. A plan's cost is counted in `gradus-compile`.

use super::{Graph, Node};
use crate::Aval;
use crate::ops::{Form, Scalar};
use std::ops::AddAssign;

/// Counts over a graph. They saturate rather than overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of nodes, including those of nested graphs. The body of a loop counts once, not once per iteration.
    pub nodes: u64,
    /// Arithmetic operations: one per element of a pointwise op or a selection, one per element combined by a reduction,
    /// two per product of a contraction or convolution. Casts, movement, sorting, Fourier transforms and external routines
    /// count as none.
    pub flops: u64,
    /// Bytes of operands and results, summed over the nodes that compute.
    pub bytes: u64,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Stats {
    /// Returns the cost of running the same nodes `times` times.
    fn repeated(self, times: usize) -> Stats {
        let times = times as u64;
        let (flops, bytes) = (self.flops.saturating_mul(times), self.bytes.saturating_mul(times));
        Stats { flops, bytes, ..self }
    }

    /// Returns the nodes of both, and the larger of the two costs.
    fn either(self, other: Stats) -> Stats {
        Stats {
            nodes: self.nodes.saturating_add(other.nodes),
            flops: self.flops.max(other.flops),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

impl Graph {
    /// Counts nodes, arithmetic and memory traffic. A loop counts its body once per iteration, or once if the number
    /// of iterations is unknown. A choice counts its most expensive branch.
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for node in &self.nodes {
            sum += self.node_stats(node);
        }
        sum
    }

    /// Counts one node of the graph, with the graphs nested in it.
    pub fn node_stats(&self, node: &Node) -> Stats {
        let ins: Vec<Aval> = node.ins.iter().map(|id| self.aval(*id).clone()).collect();
        let mut own = Stats { nodes: 1, ..Stats::default() };
        match node.op.def().form(&ins) {
            // The cost of an op with nested graphs is the cost of those graphs.
            Form::Region(body) => own += body.stats(),
            Form::Switch(branches) => {
                own += branches.iter().map(|b| b.stats()).reduce(Stats::either).unwrap_or_default();
            }
            Form::Scan(scan) => own += scan.body.stats().repeated(scan.length),
            Form::While(op) => {
                let mut step = op.condition.stats();
                step += op.body.stats();
                own += step.repeated(op.bound.max(1));
            }
            Form::Input | Form::Constant(_) => {}
            form => {
                own.flops = flops(&form, &ins, &node.outs);
                own.bytes = ins.iter().chain(&node.outs).map(bytes).fold(0, u64::saturating_add);
            }
        }
        own
    }
}

fn count(aval: &Aval) -> u64 {
    aval.shape.numel() as u64
}

fn bytes(aval: &Aval) -> u64 {
    count(aval).saturating_mul(aval.dtype.size() as u64)
}

fn product(extents: impl IntoIterator<Item = usize>) -> u64 {
    extents.into_iter().fold(1, |n: u64, e| n.saturating_mul(e as u64))
}

fn flops(form: &Form, ins: &[Aval], outs: &[Aval]) -> u64 {
    match form {
        Form::Pointwise(Scalar::Pointwise(_) | Scalar::Select) => count(&outs[0]),
        Form::Reduce { .. } | Form::ArgReduce { .. } | Form::Cumulate { .. } | Form::Fold(_) => {
            count(&ins[0])
        }
        Form::Scatter { combine: Some(_), .. } => count(&ins[2]),
        Form::Contract { lhs, rhs, .. } => {
            let (l, r) = (ins[0].shape.iter(), ins[1].shape.iter());
            let all = lhs.chars().zip(l).chain(rhs.chars().zip(r));
            let mut seen: Vec<char> = Vec::new();
            let extents = all.filter(|(label, _)| {
                let new = !seen.contains(label);
                seen.push(*label);
                new
            });
            product(extents.map(|(_, e)| *e)).saturating_mul(2)
        }
        // Each result sums the products over channels and window elements.
        Form::Convolve(_) => {
            product(ins[1].shape.iter().skip(2).copied()).saturating_mul(2).saturating_mul(count(&outs[0]))
        }
        _ => 0,
    }
}
