//! Finds the gradient of each value of a graph in the joint graph, which has the forward and the backward
//! pass. Takes a graph and the inputs to differentiate with respect to; returns names and expressions of
//! gradients, and the flow from gradient to gradient. `scene.rs` and `svg.rs` decide positions and colours.

use crate::label::{self, Origin, shortened};
use gradus_ir::graph::Id;
use gradus_ir::ops::Rule;
use gradus_ir::transform::{check_wrt, cotangents_into, pull};
use gradus_ir::{Aval, Builder, Graph, Op, Result, Var};
use std::collections::BTreeMap;

/// Largest depth of an expression on a box, and in a tooltip.
const DEPTH: usize = 3;
const TIP_DEPTH: usize = 7;
/// Longest expression in bytes. Further parts are replaced by an ellipsis.
const MAX_BYTES: usize = 500;

/// Gradients of the values of a graph, as values of a joint graph.
pub(crate) struct Gradients {
    joint: Graph,
    /// The gradient of each forward value.
    of: BTreeMap<Id, Id>,
    /// For each gradient, the forward values that share it. The last of them shows how it is computed, the
    /// others show its name.
    owners: BTreeMap<Id, Vec<Id>>,
    /// The results of the nodes that read each forward value.
    readers: BTreeMap<Id, Vec<Id>>,
    /// For each value of the joint graph that is a forward value, the name of that value.
    forward: BTreeMap<Id, String>,
    names: BTreeMap<Id, String>,
    /// The flow of gradients: from the gradient of a result to the gradient of an operand of its node.
    pub(crate) flows: Vec<Flow>,
}

/// The part of an operand's gradient that comes from the gradient of a result.
pub(crate) struct Flow {
    pub(crate) node: usize,
    pub(crate) result: usize,
    pub(crate) operand: usize,
}

impl Gradients {
    /// Computes the gradients of all values between the outputs and the inputs `wrt`.
    pub(crate) fn new(graph: &Graph, wrt: &[usize]) -> Result<Gradients> {
        let b = Builder::new();
        let ins: Vec<Var<'_>> =
            graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
        let mut needs = vec![false; ins.len()];
        for &i in wrt {
            check_wrt(graph, i)?;
            needs[i] = true;
        }
        let seed = |(k, a): (usize, Aval)| a.dtype.is_differentiable().then(|| b.input(&format!("g_{k}"), a));
        let seeds: Vec<_> = graph.output_avals().into_iter().enumerate().map(seed).collect();
        let (values, cts) = cotangents_into(&b, graph, &ins, &seeds, &needs);
        let flows = flows(&b, graph, &values, &cts);
        // Makes all values outputs, so that the finished graph keeps them and the outputs have their ids.
        let ids: Vec<Id> = (graph.nodes().iter().enumerate())
            .flat_map(|(i, n)| (0..n.outs.len()).map(move |out| Id { node: i as u32, out: out as u32 }))
            .collect();
        let ct = |id: &Id| cts[id.node as usize][id.out as usize];
        let with: Vec<Id> = ids.iter().copied().filter(|id| ct(id).is_some()).collect();
        let all = ids.iter().map(|id| values[id.node as usize][id.out as usize]);
        let all: Vec<Var<'_>> = all.chain(with.iter().filter_map(ct)).collect();
        let joint = b.finish(&all)?;
        let outputs = joint.outputs();
        let of: BTreeMap<Id, Id> = with.into_iter().zip(outputs[ids.len()..].iter().copied()).collect();
        let names: BTreeMap<Id, String> = ids.iter().map(|id| (*id, label::name(graph, *id))).collect();
        let (mut owners, mut readers) = (BTreeMap::<Id, Vec<Id>>::new(), BTreeMap::<Id, Vec<Id>>::new());
        of.iter().for_each(|(value, gradient)| owners.entry(*gradient).or_default().push(*value));
        for result in &ids {
            let operands = &graph.nodes()[result.node as usize].ins;
            operands.iter().for_each(|id| readers.entry(*id).or_default().push(*result));
        }
        Ok(Gradients {
            owners,
            readers,
            forward: ids.iter().zip(outputs).map(|(id, output)| (*output, names[id].clone())).collect(),
            of,
            names,
            flows,
            joint,
        })
    }

    /// Returns true if the value has a gradient.
    pub(crate) fn has(&self, value: Id) -> bool {
        self.of.contains_key(&value)
    }

    /// Returns the name of a value's gradient.
    pub(crate) fn name(&self, value: Id) -> String {
        format!("∂{}", self.names.get(&value).map_or("?", String::as_str))
    }

    /// Returns two expressions of a value's gradient: a short one for its box, and a longer one for its
    /// tooltip.
    pub(crate) fn expressions(&self, value: Id) -> (String, String) {
        let Some(gradient) = self.of.get(&value) else { return Default::default() };
        let computed_here = self.owners.get(gradient).and_then(|o| o.last()) == Some(&value);
        let written = |depth: usize| {
            let mut text = String::new();
            match computed_here {
                true => self.write_computed(*gradient, value, depth, &mut text),
                false => self.write(*gradient, value, depth, &mut text),
            }
            text
        };
        (written(DEPTH), written(TIP_DEPTH))
    }

    /// Writes a value by its name if it has one, else as an expression. If a gradient has several names,
    /// prefers the name of a value whose gradient flows directly into that of `value`.
    fn write(&self, id: Id, value: Id, depth: usize, text: &mut String) {
        let constant = matches!(self.joint.nodes()[id.node as usize].op, Op::Constant(_));
        let owners = self.owners.get(&id).map_or(&[][..], Vec::as_slice);
        let readers = self.readers.get(&value).map_or(&[][..], Vec::as_slice);
        let named = owners.iter().find(|owner| readers.contains(owner)).or(owners.last());
        match (named, self.forward.get(&id)) {
            (Some(owner), _) => text.push_str(&self.name(*owner)),
            (_, Some(name)) if !constant => text.push_str(name),
            _ => self.write_computed(id, value, depth, text),
        }
    }

    fn write_computed(&self, id: Id, value: Id, depth: usize, text: &mut String) {
        let node = &self.joint.nodes()[id.node as usize];
        match label::origin(&self.joint, node) {
            Origin::Input(name) => text.push_str(name),
            Origin::Constant(literal) => text.push_str(&shortened(&label::value(literal), 24)),
            // Limits the length too, because shared values are written again for each use.
            _ if depth == 0 || text.len() > MAX_BYTES => text.push('…'),
            _ => {
                text.push_str(&label::title(node));
                for (k, id) in node.ins.iter().enumerate() {
                    text.push_str(if k == 0 { "(" } else { ", " });
                    self.write(*id, value, depth - 1, text);
                }
                text.push_str(if node.ins.is_empty() { "()" } else { ")" });
                if node.outs.len() > 1 {
                    text.push_str(&format!(".{}", id.out));
                }
            }
        }
    }
}

/// Applies the rule of each node to each result separately, to find the operands that receive a part of its
/// gradient. The nodes that this adds are unused, so the finished graph does not contain them.
fn flows<'g>(
    b: &'g Builder,
    graph: &Graph,
    values: &[Vec<Var<'g>>],
    cts: &[Vec<Option<Var<'g>>>],
) -> Vec<Flow> {
    let mut flows = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| !n.ins.is_empty()) {
        let at = |id: &Id| (id.node as usize, id.out as usize);
        let ins: Vec<Var<'g>> = node.ins.iter().map(at).map(|(n, o)| values[n][o]).collect();
        let wanted: Vec<bool> = node.ins.iter().map(at).map(|(n, o)| cts[n][o].is_some()).collect();
        if !wanted.contains(&true) {
            continue;
        }
        let rule = Rule { ins: &ins, outs: &values[i] };
        for (result, ct) in cts[i].iter().enumerate().filter(|(_, ct)| ct.is_some()) {
            let one: Vec<_> = (0..cts[i].len()).map(|r| ct.filter(|_| r == result)).collect();
            let reached = pull(b, &node.op, &rule, &one, &wanted);
            let reached = reached.iter().enumerate().filter(|(_, g)| g.is_some());
            flows.extend(reached.map(|(operand, _)| Flow { node: i, result, operand }));
        }
    }
    flows
}
