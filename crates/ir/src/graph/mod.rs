//! The graph: ops on tensors, in an order where every operand comes before its use.
//!
//! A graph is immutable once built. [`Builder`] makes one and merges equal applications; [`Graph::verify`] checks its
//! invariants; text (`print`, `parse`) and the canonical hash identify it.

mod build;
mod hash;
mod origin;
mod parse;
mod print;
mod stats;
mod var;
mod verify;

pub use build::Builder;
pub use hash::StableHasher;
pub use origin::{Line, Origin, Step};
pub use parse::parse;
pub use print::{FORMAT_VERSION, attr_text, literal_text};
pub use stats::Stats;
pub use var::{IntoVar, Var};

use crate::ops::Op;
use crate::{Aval, Error, Result};
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// One result of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Index of the node.
    pub node: u32,
    /// Index of the result.
    pub out: u32,
}

/// An application of an op.
#[derive(Clone, Debug)]
pub struct Node {
    /// The op.
    pub op: Op,
    /// Its operands.
    pub ins: Vec<Id>,
    /// Types of its results.
    pub outs: Vec<Aval>,
    /// The call that the node comes from, if known. It does not affect the meaning of the graph.
    pub origin: Option<Origin>,
}

/// A graph from named inputs to outputs.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    inputs: Vec<(String, Id)>,
    outputs: Vec<Id>,
    hash: OnceLock<u128>,
}

impl Graph {
    /// Returns the nodes, operands first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the names and ids of the inputs, in order.
    pub fn inputs(&self) -> &[(String, Id)] {
        &self.inputs
    }

    /// Returns the outputs, in order.
    pub fn outputs(&self) -> &[Id] {
        &self.outputs
    }

    /// Returns the type of a value.
    pub fn aval(&self, id: Id) -> &Aval {
        &self.nodes[id.node as usize].outs[id.out as usize]
    }

    /// Returns the types of the inputs.
    pub fn input_avals(&self) -> Vec<Aval> {
        self.inputs.iter().map(|(_, id)| self.aval(*id).clone()).collect()
    }

    /// Returns the types of the outputs.
    pub fn output_avals(&self) -> Vec<Aval> {
        self.outputs.iter().map(|id| self.aval(*id).clone()).collect()
    }

    /// Returns the index of the input with this name.
    pub fn input(&self, name: &str) -> Result<usize> {
        self.inputs.iter().position(|(n, _)| n == name).ok_or_else(|| {
            let names: Vec<&str> = self.inputs.iter().map(|(n, _)| n.as_str()).collect();
            Error::value(
                format!("input `{name}`"),
                format!("is not in the graph; it has {}", names.join(", ")),
            )
        })
    }

    /// Returns true if an output depends on the value `from`.
    pub fn reaches(&self, from: Id) -> bool {
        let mut live = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|id| live[id.node as usize] = true);
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if live[i] {
                node.ins.iter().for_each(|id| live[id.node as usize] = true);
            }
        }
        live.get(from.node as usize).copied().unwrap_or(false)
    }

    /// Returns a hash of the computation, equal for graphs that differ only in node order or dead nodes.
    pub fn canonical_hash(&self) -> u128 {
        *self.hash.get_or_init(|| hash::graph_hash(self))
    }

    /// Returns true if the nodes of two equal graphs come from the same source lines.
    pub fn same_origins(&self, other: &Graph) -> bool {
        std::ptr::eq(self, other)
            || self.nodes.iter().map(|n| &n.origin).eq(other.nodes.iter().map(|n| &n.origin))
    }

    /// Returns the graph with only these outputs, rebuilt so that unused nodes are gone.
    pub fn with_outputs(&self, outputs: &[usize]) -> Result<Graph> {
        let b = Builder::new();
        let ins: Vec<Var<'_>> =
            self.inputs.iter().map(|(n, id)| b.input(n, self.aval(*id).clone())).collect();
        let outs = b.inline(self, &ins);
        let choose = |&i: &usize| {
            let why = || format!("is not in the graph, which has {}", outs.len());
            outs.get(i).copied().ok_or_else(|| Error::value(format!("output {i}"), why()))
        };
        let chosen = outputs.iter().map(choose).collect::<Result<Vec<Var<'_>>>>()?;
        b.finish(&chosen)
    }
}

impl Graph {
    /// Removes inputs that no output depends on. Returns the graph and a flag per input that is true if it was kept.
    pub fn without_unused_inputs(&self) -> Result<(Graph, Vec<bool>)> {
        let mut used = vec![false; self.inputs.len()];
        for id in self.nodes.iter().flat_map(|n| &n.ins).chain(&self.outputs) {
            if let Op::Input(input) = &self.nodes[id.node as usize].op {
                used[input.index] = true;
            }
        }
        let b = Builder::new();
        // An unused input is replaced by a constant, which is dead and so is removed.
        let value = |((name, id), used): (&(String, Id), &bool)| {
            let aval = self.aval(*id).clone();
            if *used { b.input(name, aval) } else { b.zeros(&aval) }
        };
        let ins: Vec<Var<'_>> = self.inputs.iter().zip(&used).map(value).collect();
        let outs = b.inline(self, &ins);
        Ok((b.finish(&outs)?, used))
    }
}

/// Compares canonical hashes: 128 bits, so equal hashes are taken for equal graphs.
impl PartialEq for Graph {
    fn eq(&self, other: &Graph) -> bool {
        std::ptr::eq(self, other) || self.canonical_hash() == other.canonical_hash()
    }
}

impl Eq for Graph {}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, h: &mut H) {
        h.write_u128(self.canonical_hash());
    }
}
