//! Builds graphs. Every application of an op goes through [`Builder`], which infers types and merges equal nodes
//! (hash-consing). The first error is kept and returned by [`Builder::finish`].

use super::{Graph, Id, Node, Origin, StableHasher, Var};
use crate::ops::{Op, source};
use crate::{Aval, Error, Literal, Result, message};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A graph under construction, shared by the values in it.
///
/// Derivative rules and traced functions apply ops without handling errors. The builder keeps the first failure
/// and returns placeholders for later values; [`Builder::finish`] returns the failure.
#[derive(Debug, Default)]
pub struct Builder(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    /// Nodes by the hash of op and operands. On a collision the node is stored under the next free key.
    known: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>,
    /// Names of inputs, each with the lowest number that may still be appended to make a new name.
    names: HashMap<String, usize>,
    inputs: Vec<(String, Id)>,
    derived: HashMap<Derivation, Derived>,
    /// Origin assigned to new nodes.
    origin: Option<Origin>,
    error: Option<Error>,
}

/// A hasher for keys that are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A key of a derived op: the op, the kind of derivation, which directions are present, and which results are needed.
pub(crate) type Derivation = (Op, &'static str, Vec<bool>, Vec<bool>);

/// The derived op, if there is any, and which of the requested results it returns.
pub(crate) type Derived = (Option<Op>, Vec<bool>);

impl State {
    fn aval(&self, id: Id) -> Option<&Aval> {
        self.nodes.get(id.node as usize)?.outs.get(id.out as usize)
    }

    fn check(&self, ids: &[Id]) -> Result<()> {
        match ids.iter().find(|id| self.aval(**id).is_none()) {
            Some(id) => Err(Error::verify(format!("value %{}.{} belongs to another graph", id.node, id.out))),
            None => Ok(()),
        }
    }
}

impl State {
    /// Makes a name that is allowed and not taken.
    fn new_name(&mut self, like: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_.'".contains(c) { c } else { '_' };
        let name: String = like.chars().map(plain).collect();
        let name = if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            name
        } else {
            format!("x{name}")
        };
        let name = match self.names.get(&name).copied() {
            None => name,
            Some(mut k) => {
                while self.names.contains_key(&format!("{name}_{k}")) {
                    k += 1;
                }
                self.names.insert(name.clone(), k + 1);
                format!("{name}_{k}")
            }
        };
        self.names.insert(name.clone(), 1);
        name
    }

    /// Marks the nodes of a graph with these outputs: all inputs, and everything the outputs depend on.
    fn live(&self, outputs: &[Id]) -> Result<Vec<bool>> {
        if let Some(e) = &self.error {
            return Err(e.clone());
        }
        self.check(outputs)?;
        let mut live = vec![false; self.nodes.len()];
        outputs
            .iter()
            .chain(self.inputs.iter().map(|(_, id)| id))
            .for_each(|id| live[id.node as usize] = true);
        for i in (0..self.nodes.len()).rev() {
            if live[i] {
                self.nodes[i].ins.iter().for_each(|id| live[id.node as usize] = true);
            }
        }
        Ok(live)
    }
}

/// Builds the graph of the live nodes. Inputs come first, as in text, so that parsing a printed graph gives nodes the
/// same numbers.
fn graph_of(
    nodes: impl Iterator<Item = Node>,
    live: &[bool],
    inputs: Vec<(String, Id)>,
    outputs: &[Id],
) -> Result<Graph> {
    let mut number = vec![u32::MAX; live.len()];
    inputs.iter().enumerate().for_each(|(i, (_, id))| number[id.node as usize] = i as u32);
    let mut next = inputs.len() as u32;
    for (number, _) in number.iter_mut().zip(live).filter(|(number, live)| **live && **number == u32::MAX) {
        (*number, next) = (next, next + 1);
    }
    let renumbered = |id: &Id| Id { node: number[id.node as usize], out: id.out };
    let (mut all, mut others) = (Vec::with_capacity(next as usize), Vec::with_capacity(next as usize));
    for mut node in nodes {
        node.ins.iter_mut().for_each(|id| *id = renumbered(id));
        let input = matches!(node.op, Op::Input(_));
        if input { &mut all } else { &mut others }.push(node);
    }
    all.append(&mut others);
    let outputs = outputs.iter().map(renumbered).collect();
    let inputs = inputs.into_iter().map(|(name, id)| (name, renumbered(&id))).collect();
    let graph = Graph { inputs, outputs, nodes: all, hash: OnceLock::new() };
    if cfg!(debug_assertions) {
        graph.verify_own()?;
    }
    Ok(graph)
}

impl Builder {
    /// Starts an empty graph.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Starts an empty graph with capacity for about `nodes` nodes.
    pub fn with_capacity(nodes: usize) -> Builder {
        let known = HashMap::with_capacity_and_hasher(nodes, BuildHasherDefault::default());
        Builder(Mutex::new(State { nodes: Vec::with_capacity(nodes), known, ..State::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an input. A name that is taken gets a number appended; characters not allowed in names become `_`.
    pub fn input(&self, name: &str, aval: Aval) -> Var<'_> {
        let mut s = self.state();
        let name = s.new_name(name);
        let index = s.inputs.len();
        let id = Id { node: s.nodes.len() as u32, out: 0 };
        s.nodes.push(Node {
            op: source::Input { index, aval: aval.clone() }.into(),
            ins: vec![],
            outs: vec![aval],
            origin: None,
        });
        s.inputs.push((name, id));
        Var::new(self, id)
    }

    /// Renames the inputs, in order, by the rules of [`Builder::input`]. Inputs after the last name keep theirs.
    pub fn name_inputs<N: AsRef<str>>(&self, names: &[N]) {
        let mut s = self.state();
        s.names.clear();
        let old: Vec<String> = s.inputs.iter().map(|(name, _)| name.clone()).collect();
        for (i, old) in old.iter().enumerate() {
            s.inputs[i].0 = s.new_name(names.get(i).map_or(old, |name| name.as_ref()));
        }
    }

    /// Returns the name of an input; `None` for any other value.
    pub fn input_name(&self, id: Id) -> Option<String> {
        self.state().inputs.iter().find(|(_, input)| *input == id).map(|(name, _)| name.clone())
    }

    /// Returns the ids of the inputs added so far, in order.
    pub fn input_ids(&self) -> Vec<Id> {
        self.state().inputs.iter().map(|(_, id)| *id).collect()
    }

    /// Adds a constant.
    pub fn constant(&self, value: Literal) -> Var<'_> {
        self.apply1(source::Constant { value }, &[])
    }

    /// Adds a constant whose elements all have the value `value`.
    pub fn full(&self, aval: &Aval, value: f64) -> Var<'_> {
        self.constant(Literal::scalar(aval.dtype, value)).broadcast_to(&aval.shape)
    }

    /// Returns the type of a value.
    pub fn aval(&self, id: Id) -> Aval {
        // A value of another graph has no type here; applying an op to it returns an error.
        self.state().aval(id).cloned().unwrap_or_else(|| Aval::scalar(crate::DType::F32))
    }

    /// Calls `read` with the nodes added so far. `read` must not add nodes, because the builder is locked
    /// during the call.
    pub fn with_nodes<R>(&self, read: impl FnOnce(&[Node]) -> R) -> R {
        read(&self.state().nodes)
    }

    /// Applies an op, or returns an error if the operands do not fit it.
    pub fn try_apply<'g>(&'g self, op: impl Into<Op>, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
        let (op, ids) = (op.into(), ins.iter().map(|v| v.id()).collect());
        let (node, outs) = self.try_apply_ids(op, ids)?;
        Ok((0..outs).map(|out| Var::new(self, Id { node, out })).collect())
    }

    /// Applies an op to values given by id. Returns the node and its number of results.
    pub fn try_apply_ids(&self, op: Op, ins: Vec<Id>) -> Result<(u32, u32)> {
        let mut s = self.state();
        s.check(&ins)?;
        let State { nodes, known, origin, .. } = &mut *s;
        let mut hasher = StableHasher::default();
        (&op, &ins).hash(&mut hasher);
        let mut hash = hasher.finish();
        while let Some(&node) = known.get(&hash) {
            let found = &nodes[node as usize];
            if (&found.op, &found.ins) == (&op, &ins) {
                return Ok((node, found.outs.len() as u32));
            }
            hash = hash.wrapping_add(1);
        }
        let avals: Vec<Aval> =
            ins.iter().map(|id| nodes[id.node as usize].outs[id.out as usize].clone()).collect();
        let outs = op.infer(&avals)?;
        let (node, count) = (nodes.len() as u32, outs.len() as u32);
        nodes.push(Node { op, ins, outs, origin: origin.clone() });
        known.insert(hash, node);
        Ok((node, count))
    }

    /// Runs `make`, whose nodes replace a node with this origin, and assigns them that origin. Without an origin, the
    /// one set before stays in effect.
    pub fn from_origin<R>(&self, origin: &Option<Origin>, make: impl FnOnce() -> R) -> R {
        if origin.is_none() {
            return make();
        }
        let before = self.set_origin(origin.clone());
        let made = make();
        self.set_origin(before);
        made
    }

    /// Sets the origin of nodes added from now on. Returns the previous one.
    pub fn set_origin(&self, origin: Option<Origin>) -> Option<Origin> {
        std::mem::replace(&mut self.state().origin, origin)
    }

    /// Applies an op. On failure the error is kept, and the results are placeholders.
    pub fn apply<'g>(&'g self, op: impl Into<Op>, ins: &[Var<'g>]) -> Vec<Var<'g>> {
        self.try_apply(op, ins).unwrap_or_else(|e| vec![self.fail(e)])
    }

    /// Applies an op with one result.
    pub fn apply1<'g>(&'g self, op: impl Into<Op>, ins: &[Var<'g>]) -> Var<'g> {
        match self.apply(op, ins).first() {
            Some(v) => *v,
            None => self.fail(Error::verify("an op without results was used as a value")),
        }
    }

    /// Keeps the error if it is the first, and returns a placeholder.
    pub fn fail(&self, e: Error) -> Var<'_> {
        let mut s = self.state();
        s.error.get_or_insert(e);
        let op = Op::from(source::Constant { value: Literal::scalar(crate::DType::F32, 0.0) });
        let id = Id { node: s.nodes.len() as u32, out: 0 };
        let outs = vec![Aval::scalar(crate::DType::F32)];
        s.nodes.push(Node { op, ins: vec![], outs, origin: None });
        Var::new(self, id)
    }

    /// Returns the first error, if any.
    pub fn error(&self) -> Option<Error> {
        self.state().error.clone()
    }

    /// Returns the derived op for `key`, made once per graph: equal layers differentiate their regions once.
    pub(crate) fn derived(&self, key: Derivation, make: impl FnOnce() -> Result<Derived>) -> Result<Derived> {
        if let Some(found) = self.state().derived.get(&key) {
            return Ok(found.clone());
        }
        let made = make()?; // not under the lock, because rules build graphs
        self.state().derived.insert(key, made.clone());
        Ok(made)
    }

    /// Copies another graph into this one, with `ins` as its inputs. Returns its outputs.
    pub fn inline<'g>(&'g self, graph: &Graph, ins: &[Var<'g>]) -> Vec<Var<'g>> {
        let values = self.inline_all(graph, ins);
        graph.outputs.iter().map(|id| values[id.node as usize][id.out as usize]).collect()
    }

    /// Copies another graph into this one. Returns the values of all its nodes.
    pub fn inline_all<'g>(&'g self, graph: &Graph, ins: &[Var<'g>]) -> Vec<Vec<Var<'g>>> {
        let mut values: Vec<Vec<Var<'g>>> = Vec::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            let outs = if let Op::Input(input) = &node.op {
                match ins.get(input.index) {
                    Some(v) if v.aval() == node.outs[0] => vec![*v],
                    Some(v) => {
                        let what = message!("input ", input.index, " of type ", v.aval());
                        vec![self.fail(Error::shape(what, message!("must be ", &node.outs[0])))]
                    }
                    None => {
                        vec![self.fail(Error::value("the inputs", format!("lack input {}", input.index)))]
                    }
                }
            } else {
                let operands: Vec<Var<'g>> =
                    node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
                let mut outs = self.from_origin(&node.origin, || self.apply(node.op.clone(), &operands));
                outs.resize(node.outs.len(), outs[0]);
                outs
            };
            values.push(outs);
        }
        values
    }

    /// Finishes the graph with these outputs. It keeps all inputs and only those nodes that the outputs depend on.
    pub fn finish(&self, outputs: &[Var<'_>]) -> Result<Graph> {
        let ids: Vec<Id> = outputs.iter().map(|v| v.id()).collect();
        self.finish_ids(&ids)
    }

    /// As [`Builder::finish`], with outputs by id.
    pub fn finish_ids(&self, outputs: &[Id]) -> Result<Graph> {
        let s = self.state();
        let live = s.live(outputs)?;
        let nodes = s.nodes.iter().zip(&live).filter(|(_, live)| **live).map(|(n, _)| n.clone());
        graph_of(nodes, &live, s.inputs.clone(), outputs)
    }

    /// As [`Builder::finish_ids`], but consumes the builder and copies nothing.
    pub fn into_graph(self, outputs: &[Id]) -> Result<Graph> {
        let s = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let live = s.live(outputs)?;
        let nodes = s.nodes.into_iter().zip(&live).filter(|(_, live)| **live).map(|(n, _)| n);
        graph_of(nodes, &live, s.inputs, outputs)
    }

    /// Returns the value of all elements, if `id` is a constant with equal elements, also one that is broadcast or reshaped.
    pub fn splat(&self, id: Id) -> Option<f64> {
        let s = self.state();
        let mut node = s.nodes.get(id.node as usize)?;
        loop {
            match &node.op {
                Op::Constant(c) => return c.value.splat(),
                Op::Broadcast(_) | Op::Reshape(_) => node = &s.nodes[node.ins[0].node as usize],
                _ => return None,
            }
        }
    }

    /// Adds a constant of zeros.
    pub fn zeros(&self, aval: &Aval) -> Var<'_> {
        self.full(aval, 0.0)
    }
}
