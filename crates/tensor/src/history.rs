//! The recorded history of an eager tensor: the operations whose gradients a backward pass would compute.
//! Takes a tensor; returns its operations one by one ([`RecordedOp`]), or all of them in order ([`History`]).
//! A history has a graph, which can be printed, drawn and written as equations. `tape.rs` records the
//! operations; nothing here runs while they are recorded.

use crate::eager::tape::{Node, Target, lock};
use crate::tensor::{Inner, Tensor};
use gradus_ir::graph::Id;
use gradus_ir::{Aval, Builder, Error, Graph, Op, Result, message};
use gradus_mem::Handle;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;

/// Largest operand, in elements, that a graph of a history contains as a constant. Larger ones are inputs.
const MAX_CONSTANT: usize = 16;

/// An operation recorded for gradients.
#[derive(Clone)]
pub struct RecordedOp(Handle<Node>);

/// An operand of a recorded operation.
#[derive(Clone)]
pub enum Operand {
    /// A result of another recorded operation, by index.
    Result(RecordedOp, usize),
    /// A leaf, for which a backward pass accumulates a gradient.
    Leaf(Tensor),
    /// A value without gradient. The tape keeps it only if the gradient of the operation reads it.
    Value(Option<Tensor>),
}

impl RecordedOp {
    /// Returns the name of the op, or of the composite.
    pub fn name(&self) -> &str {
        &self.0.plan.name
    }

    /// Returns the op.
    pub fn op(&self) -> &Op {
        &self.0.plan.op
    }

    /// Returns the recording number. It is larger than those of the operations that produced the operands, so
    /// that a backward pass visits operations in descending order.
    pub fn order(&self) -> u64 {
        self.0.order
    }

    /// Returns the source location of the call.
    pub fn location(&self) -> &'static Location<'static> {
        self.0.location
    }

    /// Returns an address that identifies the operation.
    pub fn addr(&self) -> usize {
        self.0.addr()
    }

    /// Returns the operands, in order. Returns an error if a backward pass has freed them.
    pub fn operands(&self) -> Result<Vec<Operand>> {
        let state = lock(&self.0.state);
        let Some(recorded) = &state.recorded else {
            let why = "was freed by a backward pass; set `retain_graph` to keep it";
            return Err(Error::value(format!("the history of `{}`", self.name()), why));
        };
        let saved = |i: usize| {
            let at = self.0.plan.reads_in.iter().position(|read| *read == i)?;
            recorded.saved.get(at).map(|(value, _)| value.clone())
        };
        let operand = |(i, target): (usize, &Option<Target>)| match target {
            Some(Target::Node(node, out)) => Operand::Result(RecordedOp(node.clone()), *out as usize),
            Some(Target::Leaf(leaf)) => Operand::Leaf(leaf.clone()),
            None => Operand::Value(saved(i)),
        };
        let mut operands: Vec<Operand> = recorded.targets.iter().enumerate().map(operand).collect();
        // A number as second operand has no target.
        operands.extend((operands.len()..self.0.plan.ins.len()).map(|i| Operand::Value(saved(i))));
        Ok(operands)
    }

    /// Returns the types of the operands, if result `out` has type `aval`.
    fn operand_types(&self, out: usize, aval: &Aval) -> Vec<Aval> {
        let plan = &self.0.plan;
        // The plan of a pointwise op serves all extents, and its operands have the extents of the result.
        match plan.outs.get(out) == Some(aval) {
            true => plan.ins.clone(),
            false => plan.ins.iter().map(|a| Aval::new(a.dtype, aval.shape.clone())).collect(),
        }
    }
}

/// The operations that produced a tensor, back to the leaves.
pub struct History {
    ops: Vec<RecordedOp>,
    leaves: Vec<Tensor>,
    graph: Graph,
}

impl History {
    /// Returns the operations, each after those that produced its operands. The tensor is a result of the
    /// last one; a backward pass visits them in reverse.
    pub fn ops(&self) -> &[RecordedOp] {
        &self.ops
    }

    /// Returns the leaves, in the order of their first use.
    pub fn leaves(&self) -> &[Tensor] {
        &self.leaves
    }

    /// Returns the history as a graph whose output is the tensor. The first inputs are the leaves, by their
    /// names ([`Tensor::named`]) or as `x`, `x_1` and so on. Inputs named `c` follow: operands without
    /// gradient that are large or that the tape did not keep.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Tensor {
    /// Returns the operation that produced this tensor, and which of its results the tensor is; `None` for a
    /// leaf and for a tensor without gradient.
    pub fn recorded(&self) -> Option<(RecordedOp, usize)> {
        match &*self.0 {
            Inner::Data(_, Some(edge)) => Some((RecordedOp(edge.node.clone()), edge.out)),
            _ => None,
        }
    }

    /// Returns an address that identifies a cell; `None` for any other tensor.
    pub fn cell_addr(&self) -> Option<usize> {
        self.as_cell().map(|cell| cell.addr())
    }

    /// Returns the recorded operations from which this tensor was computed. Returns an error if the tensor
    /// does not require gradients, or if a backward pass has freed the operations.
    ///
    /// ```
    /// use gradus_tensor::{All, Tensor};
    /// let w = Tensor::from([1.0, 2.0]).requires_grad_().named("w");
    /// let history = (&w * &w).tanh().sum(All).history()?;
    /// let names: Vec<&str> = history.ops().iter().map(|op| op.name()).collect();
    /// assert_eq!(names, ["mul", "tanh", "sum"]);
    /// assert!(history.graph().to_string().contains("%1 = mul(w, w)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn history(&self) -> Result<History> {
        let location = Location::caller();
        self.walk_history().map_err(|e| e.or_at(location))
    }

    fn walk_history(&self) -> Result<History> {
        let Some(aval) = self.check()?.aval() else {
            return Err(Error::verify("a tensor that has not failed has no type"));
        };
        if !self.requires_grad() || self.is_traced() {
            let why = "has no recorded history; only leaves that require gradients, and tensors computed from them, have one";
            return Err(Error::gradient(message!("a tensor of type ", aval, " ", why)));
        }
        let mut found = HistoryWalk::default();
        if let Some((op, out)) = self.recorded() {
            found.add(op, out, aval.clone());
        }
        found.walk()?;
        let builder = Builder::new();
        let mut built = HistoryGraph { builder: &builder, leaves: Vec::new(), values: HashMap::new() };
        // Leaves come first, so that they are the first inputs.
        for entry in found.entries.values() {
            for (operand, aval) in entry.operands.iter().zip(&entry.ins) {
                if let Operand::Leaf(leaf) = operand {
                    built.leaf(leaf, aval);
                }
            }
        }
        let mut result = match self.recorded() {
            None => Some(built.leaf(self, &aval)),
            Some(_) => None,
        };
        for entry in found.entries.values() {
            let operands = entry.operands.iter().zip(&entry.ins);
            let ids =
                operands.map(|(operand, aval)| built.operand(operand, aval)).collect::<Result<Vec<Id>>>()?;
            let (node, _) = builder.try_apply_ids(entry.op.op().clone(), ids)?;
            built.values.insert(entry.op.addr(), node);
        }
        if let Some((op, out)) = self.recorded() {
            result = built.values.get(&op.addr()).map(|node| Id { node: *node, out: out as u32 });
        }
        let outputs: Vec<Id> = result.into_iter().collect();
        let leaves = built.leaves.into_iter().map(|(leaf, _)| leaf).collect();
        let ops = found.entries.into_values().map(|entry| entry.op).collect();
        Ok(History { ops, leaves, graph: builder.into_graph(&outputs)? })
    }
}

/// An operation with its operands and their types.
struct Entry {
    op: RecordedOp,
    /// The result that was reached first, and its type.
    reached: (usize, Aval),
    operands: Vec<Operand>,
    ins: Vec<Aval>,
}

/// Operations by recording number and address. Numbers of different threads may be equal, but an operation
/// has a larger number than the operations before it.
#[derive(Default)]
struct HistoryWalk {
    entries: BTreeMap<(u64, usize), Entry>,
    todo: Vec<(u64, usize)>,
}

impl HistoryWalk {
    fn add(&mut self, op: RecordedOp, out: usize, aval: Aval) {
        let key = (op.order(), op.addr());
        if let std::collections::btree_map::Entry::Vacant(slot) = self.entries.entry(key) {
            slot.insert(Entry { op, reached: (out, aval), operands: Vec::new(), ins: Vec::new() });
            self.todo.push(key);
        }
    }

    /// Follows all operands back to the leaves, without recursion: a history may be long.
    fn walk(&mut self) -> Result<()> {
        while let Some(key) = self.todo.pop() {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            entry.operands = entry.op.operands()?;
            entry.ins = entry.op.operand_types(entry.reached.0, &entry.reached.1);
            let before: Vec<(RecordedOp, usize, Aval)> = entry
                .operands
                .iter()
                .zip(&entry.ins)
                .filter_map(|(operand, aval)| match operand {
                    Operand::Result(op, out) => Some((op.clone(), *out, aval.clone())),
                    _ => None,
                })
                .collect();
            before.into_iter().for_each(|(op, out, aval)| self.add(op, out, aval));
        }
        Ok(())
    }
}

/// The graph of a history under construction.
struct HistoryGraph<'b> {
    builder: &'b Builder,
    leaves: Vec<(Tensor, Id)>,
    /// Nodes of the graph by the address of the recorded operation.
    values: HashMap<usize, u32>,
}

impl HistoryGraph<'_> {
    fn leaf(&mut self, leaf: &Tensor, aval: &Aval) -> Id {
        if let Some((_, id)) = self.leaves.iter().find(|(known, _)| known.is_same(leaf)) {
            return *id;
        }
        let name = leaf.name();
        let id = self.builder.input(name.as_deref().unwrap_or("x"), aval.clone()).id();
        self.leaves.push((leaf.clone(), id));
        id
    }

    fn operand(&mut self, operand: &Operand, aval: &Aval) -> Result<Id> {
        match operand {
            Operand::Leaf(leaf) => Ok(self.leaf(leaf, aval)),
            Operand::Result(op, out) => match self.values.get(&op.addr()) {
                Some(node) => Ok(Id { node: *node, out: *out as u32 }),
                None => Err(Error::verify("an operation was recorded before its operands")),
            },
            Operand::Value(value) => Ok(self.value(value.as_ref(), aval)?),
        }
    }

    /// Returns a value without gradient: a constant if it is known and small, or an input.
    fn value(&self, value: Option<&Tensor>, aval: &Aval) -> Result<Id> {
        let known = value.map(Tensor::concrete).transpose()?;
        let once = known.filter(|d| d.aval == *aval).map(|d| d.compact());
        match once.filter(|d| d.aval.shape.numel() <= MAX_CONSTANT) {
            Some(d) => Ok(self.builder.constant(d.literal()?).broadcast_to(&aval.shape).id()),
            None => Ok(self.builder.input("c", aval.clone()).id()),
        }
    }
}
