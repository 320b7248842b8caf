//! Replaces regions by their bodies.

use crate::attr::Attr;
use crate::graph::{Builder, Id, Var};
use crate::ops::call::Call;
use crate::ops::{Form, Op};
use crate::{Aval, Graph, Result};
use std::sync::Arc;

impl Graph {
    /// Returns the same graph without regions: each call, at any depth, is replaced by its body, also inside loops
    /// and switches. Equal values of several regions are then computed once, such as the forward values of a region
    /// and of its derivative. Checkpointed values stay separate, because barriers keep them apart. Names, regions'
    /// own gradient rules and the marks of checkpoints not yet differentiated are lost: differentiate first.
    pub fn inlined(&self) -> Result<Graph> {
        self.inlined_except(&|_, _| false)
    }

    /// As [`Graph::inlined`], but keeps calls for which `keep` returns true, given their operand types.
    pub fn inlined_except(&self, keep: KeepCall<'_>) -> Result<Graph> {
        let b = Builder::with_capacity(self.nodes().len());
        let ins: Vec<Var<'_>> =
            self.inputs().iter().map(|(n, id)| b.input(n, self.aval(*id).clone())).collect();
        let outs: Vec<Id> = inline_into(&b, self, &ins, keep)?.into_iter().map(Var::id).collect();
        b.into_graph(&outs)
    }
}

/// Returns whether to keep a call.
type KeepCall<'k> = &'k dyn Fn(&Call, &[Aval]) -> bool;

/// Builds the outputs of a graph over these inputs. Inlines all regions except those that are kept.
fn inline_into<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    keep: KeepCall<'_>,
) -> Result<Vec<Var<'g>>> {
    let mut values: Vec<Vec<Var<'g>>> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        crate::stop::poll()?;
        let outs = if let Op::Input(input) = &node.op {
            let missing = || crate::Error::value("the inputs", format!("lack input {}", input.index));
            vec![ins.get(input.index).copied().ok_or_else(missing)?]
        } else {
            let operands: Vec<Var<'g>> =
                node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
            let avals: Vec<Aval> = operands.iter().map(|v| v.aval()).collect();
            let kept = matches!(&node.op, Op::Call(call) if keep(call, &avals));
            match node.op.def().form(&avals) {
                Form::Region(body) if !kept => {
                    b.from_origin(&node.origin, || inline_into(b, &body, &operands, keep))?
                }
                _ => {
                    let op = if kept { node.op.clone() } else { without_regions(&node.op, keep)? };
                    b.from_origin(&node.origin, || b.try_apply(op, &operands))?
                }
            }
        };
        values.push(outs);
    }
    Ok(graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect())
}

/// Inlines the regions in the graphs that an op holds.
fn without_regions(op: &Op, keep: KeepCall<'_>) -> Result<Op> {
    let attrs = op.def().attrs();
    if attrs.iter().all(|(_, a)| a.graphs().is_empty()) {
        return Ok(op.clone());
    }
    let mut flat = Vec::with_capacity(attrs.len());
    for (name, attr) in &attrs {
        flat.push((*name, inlined_attr(attr, keep)?));
    }
    // A user's op without a registered parser is left unchanged.
    let found = |name: &str| flat.iter().find(|(n, _)| *n == name).map(|(_, a)| a.clone());
    Ok(Op::parse(op.name(), &found).unwrap_or_else(|| op.clone()))
}

fn inlined_attr(attr: &Attr, keep: KeepCall<'_>) -> Result<Attr> {
    Ok(match attr {
        Attr::Graph(g) => Attr::Graph(Arc::new(g.inlined_except(keep)?)),
        Attr::Map(entries) => {
            let one = |(name, a): &(String, Attr)| Ok((name.clone(), inlined_attr(a, keep)?));
            Attr::Map(entries.iter().map(one).collect::<Result<Vec<_>>>()?)
        }
        other => other.clone(),
    })
}
