//! The invariants of a graph, checked after every pass in debug builds.
//!
//! 1. Every operand exists and precedes its use.
//! 2. The types of every node's results equal those that its op infers from the operands.
//! 3. Inputs are exactly the `input` nodes, each once, in order, with distinct names.
//! 4. Outputs exist.
//! 5. The graphs held by structural ops satisfy all of this too.

use super::{Graph, Id};
use crate::ops::Op;
use crate::{Aval, Error, Result};
use std::collections::HashSet;

impl Graph {
    /// Checks every invariant, also in nested graphs.
    pub fn verify(&self) -> Result<()> {
        self.verify_own()?;
        let attrs = self.nodes.iter().flat_map(|n| n.op.def().attrs());
        for (_, attr) in attrs {
            attr.graphs().into_iter().try_for_each(|g| g.verify())?;
        }
        Ok(())
    }

    /// Checks every invariant except in nested graphs, which were checked when they were built.
    pub(super) fn verify_own(&self) -> Result<()> {
        let exists = |id: &Id, before: usize| {
            (id.node as usize) < before && (id.out as usize) < self.nodes[id.node as usize].outs.len()
        };
        let mut inputs = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let at = || format!("node %{i} ({})", node.op.name());
            if let Some(id) = node.ins.iter().find(|id| !exists(id, i)) {
                return Err(Error::verify(format!("{} uses %{} before it exists", at(), id.node)));
            }
            let ins: Vec<Aval> = node.ins.iter().map(|id| self.aval(*id).clone()).collect();
            let outs = node.op.infer(&ins)?;
            if outs != node.outs {
                return Err(Error::verify(format!("{} has types {:?}, infers {outs:?}", at(), node.outs)));
            }
            if let Op::Input(input) = &node.op {
                inputs.push((input.index, i as u32));
            }
        }
        let declared: Vec<(usize, u32)> = self.inputs.iter().map(|(_, id)| id.node).enumerate().collect();
        inputs.sort_unstable();
        if inputs != declared {
            return Err(Error::verify("the inputs are not the input nodes in order"));
        }
        let mut names = HashSet::new();
        for (name, _) in &self.inputs {
            if !names.insert(name) {
                return Err(Error::verify(format!("two inputs are named `{name}`")));
            }
        }
        match self.outputs.iter().find(|id| !exists(id, self.nodes.len())) {
            Some(id) => Err(Error::verify(format!("output %{} does not exist", id.node))),
            None => Ok(()),
        }
    }
}
