//! Gradients inside a trace: a backward pass there becomes part of the traced function.
//!
//! Gradients are computed for cells that the function reads, arguments that require gradients, leaves that
//! the function creates, and values with `retain_grad`. The gradient of a cell or an argument before the
//! function is an input of the graph; the gradient after the function is an output.

use crate::cell::Cell;
use crate::eager::backward::{Backward, recording_mode};
use crate::eager::tape::is_step;
use crate::hook::{Hook, run_hooks};
use crate::tensor::{Inner, Tensor};
use crate::trace::{Trace, Traced, innermost, outside_traces};
use gradus_ir::attr::Attr;
use gradus_ir::graph::Id;
use gradus_ir::ops::Derivative;
use gradus_ir::ops::call::Call;
use gradus_ir::transform::{Target, gradients_in};
use gradus_ir::{Builder, Error, Op, Result, Term, message};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Gradient state of a trace.
#[derive(Default)]
pub(crate) struct Leaves {
    /// If true, the function depends on which of its arguments require gradients.
    reads_requirements: AtomicBool,
    /// If true, gradients were computed.
    differentiated: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cells: Vec<CellGradient>,
    values: Vec<ValueGradient>,
}

/// The gradient before the function: `None` if the function does not read it, `Some(None)` if there was none,
/// else a cell that holds it during a run.
type Read = Option<Option<Tensor>>;

/// A cell whose gradient the function has read or changed. During the trace, the cell holds the traced
/// gradient.
struct CellGradient {
    cell: Cell,
    /// The gradient before the trace, restored when the trace ends.
    before: Option<Tensor>,
    read: Read,
}

/// A value of the trace whose gradient is observed.
struct ValueGradient {
    id: Id,
    /// If true, it is a leaf.
    leaf: bool,
    /// If true, backward passes accumulate its gradient.
    collects: bool,
    grad: Option<Tensor>,
    /// If the value is an argument: its number, and the tensor outside of the trace.
    argument: Option<(usize, Tensor)>,
    read: Read,
    hooks: Vec<Hook>,
}

/// The tensor whose gradient a traced function reads or changes.
pub enum GradientOwner {
    /// A leaf from outside.
    Leaf(Tensor),
    /// An argument, by number.
    Argument(usize),
}

/// The gradient of a leaf, or of an argument, before and after a traced function.
pub struct TracedGradient {
    /// The owner of the gradient.
    pub of: GradientOwner,
    /// The gradient before the function: `None` if the function does not depend on it, `Some(None)` if there
    /// was none, else a cell to write it into.
    pub read: Option<Option<Tensor>>,
    /// The gradient after the function: `None` if the function does not change it, `Some(None)` if the
    /// function clears it.
    pub left: Option<Option<Tensor>>,
    /// If true, the gradient is propagated from the argument to the operation that produced it.
    pub goes_on: bool,
}

/// Returns a gradient from outside for use inside the trace: data becomes a cell, which the trace captures as
/// an input; nodes of other traces stay nodes.
fn import_gradient(outside: Option<&Tensor>) -> Option<Tensor> {
    let grad = outside?;
    Some(if grad.is_traced() { grad.clone() } else { outside_traces(|| grad.detach().cell()) })
}

impl Leaves {
    /// Returns true if gradients were computed.
    pub(crate) fn is_differentiated(&self) -> bool {
        self.differentiated.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers that a cell's gradient is about to be read or replaced.
    fn register(&self, cell: &Cell, reads: bool) {
        let mut state = self.state();
        if state.cells.iter().any(|k| k.cell.is_same(cell)) {
            return;
        }
        let before = cell.grad();
        let read = reads.then(|| import_gradient(before.as_ref()));
        if let Some(Some(now)) = &read {
            cell.set_grad(Some(now.clone()));
        }
        state.cells.push(CellGradient { cell: cell.clone(), before, read });
    }

    /// Returns the name of a cell that holds the gradient of a named cell at the start of the function.
    pub(crate) fn gradient_name(&self, gradient: &Tensor) -> Option<String> {
        let state = self.state();
        let holds = |k: &&CellGradient| matches!(&k.read, Some(Some(read)) if read.is_same(gradient));
        Some(format!("{}.grad", state.cells.iter().find(holds)?.cell.name()?))
    }

    /// Restores the gradients that cells had before the trace.
    pub(crate) fn end(&self) {
        for entry in self.state().cells.drain(..) {
            entry.cell.set_grad(entry.before);
        }
    }

    fn with<R>(&self, id: Id, f: impl FnOnce(&mut ValueGradient) -> R) -> Option<R> {
        self.state().values.iter_mut().find(|v| v.id == id).map(f)
    }

    /// Returns the entry of a value and creates it if it is missing.
    fn entry<R>(&self, id: Id, f: impl FnOnce(&mut ValueGradient) -> R) -> R {
        let mut state = self.state();
        let at = state.values.iter().position(|v| v.id == id).unwrap_or_else(|| {
            let (leaf, collects, grad, argument, read, hooks) = (false, false, None, None, None, Vec::new());
            state.values.push(ValueGradient { id, leaf, collects, grad, argument, read, hooks });
            state.values.len() - 1
        });
        f(&mut state.values[at])
    }
}

/// Registers with the innermost trace, if any, that the gradient of a cell is read or replaced.
pub(crate) fn register_access(cell: &Cell, reads: bool) {
    if let Some(trace) = innermost() {
        trace.leaves.register(cell, reads);
    }
}

/// Registers the outside tensor that an argument of the innermost trace represents.
pub fn traced_argument(argument: &Tensor, number: usize, outside: &Tensor) {
    if let Inner::Node(n) = &*argument.0
        && outside.requires_grad()
    {
        n.trace.leaves.entry(n.id, |v| {
            (v.leaf, v.collects) = (outside.is_leaf(), outside.is_leaf());
            v.argument = Some((number, outside.clone()));
            v.hooks = outside.as_cell().map_or_else(Vec::new, |cell| cell.hooks());
        });
    }
}

/// Returns the gradients that the innermost trace reads from outside or changes.
pub fn traced_gradients() -> Vec<TracedGradient> {
    let Some(trace) = innermost() else { return Vec::new() };
    let state = trace.leaves.state();
    let changed = |read: &Read, now: &Option<Tensor>| match (read, now) {
        (Some(Some(was)), Some(now)) => !was.is_same(now),
        (Some(None), None) => false,
        _ => true,
    };
    let of_cell = |k: &CellGradient| {
        let (now, of) = (k.cell.grad(), GradientOwner::Leaf(Tensor::new(Inner::Cell(k.cell.attached()))));
        let left = changed(&k.read, &now).then_some(now);
        TracedGradient { of, read: k.read.clone(), left, goes_on: false }
    };
    let of_value = |v: &ValueGradient| {
        let (number, _) = v.argument.as_ref()?;
        let untouched = v.grad.is_none() && v.read.is_none();
        let left = (!untouched && changed(&v.read, &v.grad)).then(|| v.grad.clone());
        Some(TracedGradient {
            of: GradientOwner::Argument(*number),
            read: v.read.clone(),
            left,
            goes_on: !v.leaf,
        })
    };
    state.cells.iter().map(of_cell).chain(state.values.iter().filter_map(of_value)).collect()
}

/// Returns true if the innermost trace depends on which of its arguments require gradients.
pub fn traced_requirements() -> bool {
    innermost().is_some_and(|trace| trace.leaves.reads_requirements.load(Ordering::Relaxed))
}

/// Returns true if the innermost trace has computed gradients.
pub fn traced_differentiates() -> bool {
    innermost().is_some_and(|trace| trace.leaves.is_differentiated())
}

impl Traced {
    /// Returns true if gradients flow to or through this value.
    pub(crate) fn requires_grad(&self) -> bool {
        self.trace.leaves.reads_requirements.store(true, Ordering::Relaxed);
        let ids: Vec<Id> = self.trace.targets().into_iter().map(|(_, t)| t.id).collect();
        // Most traces have no targets; then the graph is not searched.
        if ids.is_empty() {
            return false;
        }
        self.trace.builder.with_nodes(|nodes| {
            let last = self.id.node as usize;
            let mut flows = vec![false; last + 1];
            for (i, node) in nodes.iter().enumerate().take(last + 1) {
                let through = || {
                    node.ins.iter().any(|id| flows[id.node as usize])
                        && (node.op.def().derivative() != Derivative::Zero || is_step(&node.op))
                };
                flows[i] = ids.iter().any(|id| id.node as usize == i) || through();
            }
            flows[last] && self.aval.dtype.is_differentiable()
        })
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.trace.leaves.with(self.id, |v| v.leaf).unwrap_or(false) || !self.requires_grad()
    }

    pub(crate) fn grad(&self) -> Option<Tensor> {
        self.trace.leaves.reads_requirements.store(true, Ordering::Relaxed);
        let shown = |v: &mut ValueGradient| {
            if v.leaf || v.collects || v.argument.is_none() { v.read_gradient() } else { None }
        };
        self.trace.leaves.with(self.id, shown).flatten()
    }

    pub(crate) fn set_grad(&self, grad: Option<&Tensor>) {
        self.trace.leaves.entry(self.id, |v| {
            if v.argument.is_some() && v.read.is_none() && grad.is_none() {
                v.read_gradient(); // registers the old gradient, so that clearing counts as a change
            }
            v.grad = grad.map(|g| g.detach());
        });
    }

    pub(crate) fn retain_grad(&self) {
        self.trace.leaves.entry(self.id, |v| v.collects = true);
    }

    pub(crate) fn retains_grad(&self) -> bool {
        self.trace.leaves.with(self.id, |v| v.collects && !v.leaf).unwrap_or(false)
    }

    pub(crate) fn hook(&self, hook: Hook) {
        self.trace.leaves.entry(self.id, |v| v.hooks.push(hook));
    }

    /// Returns a leaf for this value: the value itself if it is an input, else a new node that is not merged
    /// with equal ones.
    pub(crate) fn leaf(&self, whole: &Tensor) -> Result<Tensor> {
        let is_input = self.trace.builder.with_nodes(|nodes| match nodes.get(self.id.node as usize) {
            Some(node) => matches!(node.op, Op::Input(_)),
            None => false,
        });
        let leaf = if is_input { whole.clone() } else { self.unique_node()? };
        let Inner::Node(n) = &*leaf.0 else { return Ok(leaf) };
        self.trace.leaves.entry(n.id, |v| (v.leaf, v.collects) = (true, true));
        Ok(leaf)
    }

    /// Wraps this value in a call with a unique number, so that no other node equals it.
    fn unique_node(&self) -> Result<Tensor> {
        let b = Builder::new();
        let same = b.input("x", self.aval.clone());
        let body = Arc::new(b.finish(&[same])?);
        let number = Attr::Int(self.trace.leaves.state().values.len() as i64);
        let call = Call::new("leaf", vec![("number".into(), number)], body);
        let (node, _) = self.trace.builder.try_apply_ids(call.into(), vec![self.id])?;
        Ok(self.trace.node(Id { node, out: 0 }))
    }
}

impl ValueGradient {
    /// Returns the current gradient. The first read of an argument's gradient returns that of the outside
    /// tensor.
    fn read_gradient(&mut self) -> Option<Tensor> {
        if let (None, None, Some((_, outside)), true) = (&self.read, &self.grad, &self.argument, self.leaf) {
            let before = import_gradient(outside.as_cell().and_then(|cell| cell.grad()).as_ref());
            self.grad.clone_from(&before);
            self.read = Some(before);
        }
        self.grad.clone()
    }
}

/// The destination of a gradient.
#[derive(Clone)]
enum Destination {
    Cell(Cell),
    Value(Id),
}

impl Trace {
    /// Returns all values whose gradients are accumulated or observed. A cell that was written contributes
    /// several values.
    fn targets(&self) -> Vec<(Destination, Target)> {
        let mut all = Vec::new();
        for c in self.captures().iter() {
            let Some(cell) = c.tensor.as_cell().filter(|cell| cell.requires_grad()) else { continue };
            all.extend(c.values().map(|id| (Destination::Cell(cell.clone()), Target { id, ends: true })));
        }
        let state = self.leaves.state();
        all.extend(
            state.values.iter().map(|v| (Destination::Value(v.id), Target { id: v.id, ends: v.leaf })),
        );
        all
    }

    /// Computes the gradients of these targets and passes them through their hooks.
    fn compute_gradients(
        self: &Arc<Trace>,
        roots: &[(Id, Id)],
        targets: &[Target],
    ) -> Result<Vec<Option<Tensor>>> {
        self.leaves.reads_requirements.store(true, Ordering::Relaxed);
        self.leaves.differentiated.store(true, Ordering::Relaxed);
        let found = gradients_in(&self.builder, roots, targets, |k, g| {
            let hooks = self.leaves.with(targets[k].id, |v| v.hooks.clone()).unwrap_or_default();
            if hooks.is_empty() {
                return Ok(g);
            }
            self.read(&run_hooks(hooks.iter(), self.node(g))?)
        })?;
        Ok(found.into_iter().map(|g| g.map(|id| self.node(id))).collect())
    }
}

/// Returns a gradient as a result of the pass: a constant unless `create_graph` is set.
fn constant_unless_recorded(g: Tensor, how: Backward) -> Tensor {
    if how.create_graph { g } else { g.stop_gradient() }
}

fn sum(slot: Option<Tensor>, g: Tensor) -> Tensor {
    match slot {
        Some(old) => &old + &g,
        None => g,
    }
}

/// Runs a backward pass inside a trace.
pub(crate) fn backward(root: &Traced, seed: &Tensor, how: Backward) -> Result<()> {
    let (trace, _mode) = (&root.trace, recording_mode(how));
    let targets = trace.targets();
    let roots = [(root.id, trace.read(seed)?)];
    let wanted: Vec<Target> = targets.iter().map(|(_, t)| *t).collect();
    let mut found: Vec<(Destination, Tensor)> = Vec::new();
    for ((destination, _), g) in targets.into_iter().zip(trace.compute_gradients(&roots, &wanted)?) {
        let Some(g) = g else { continue };
        match (&destination, found.last_mut()) {
            (Destination::Cell(cell), Some((Destination::Cell(last), total))) if last.is_same(cell) => {
                *total = &*total + &g
            }
            _ => found.push((destination, g)),
        }
    }
    if found.is_empty() {
        return Err(Error::gradient("nothing here requires gradients: no parameter was used"));
    }
    let mut all = Vec::new();
    for (destination, g) in found {
        let seen = match &destination {
            Destination::Cell(cell) => run_hooks(cell.hooks().iter(), g)?,
            Destination::Value(_) => g,
        };
        let g = constant_unless_recorded(seen, how);
        g.check()?;
        all.push((destination, g));
    }
    for (destination, g) in all {
        match destination {
            Destination::Cell(cell) => {
                trace.leaves.register(&cell, true);
                cell.set_grad(Some(sum(cell.grad(), g)));
            }
            Destination::Value(id) => {
                let goes_on = |v: &mut ValueGradient| v.collects || v.argument.is_some();
                if trace.leaves.with(id, goes_on) == Some(true) {
                    let total = sum(trace.leaves.with(id, ValueGradient::read_gradient).flatten(), g);
                    trace.leaves.with(id, |v| v.grad = Some(total));
                }
            }
        }
    }
    Ok(())
}

/// Computes the gradients of `Σ ⟨output, seed⟩` inside a trace.
pub(crate) fn grad(
    trace: &Arc<Trace>,
    outputs: &[(&Tensor, Tensor)],
    wrt: &[&Tensor],
    how: Backward,
) -> Result<Vec<Option<Tensor>>> {
    let _mode = recording_mode(how);
    let mut targets = Vec::new();
    for (i, t) in wrt.iter().enumerate() {
        if !t.check()?.requires_grad() {
            return Err(Error::gradient(message!(
                "a tensor of `",
                Term::Wrt,
                "` does not require gradients"
            )));
        }
        targets.extend(trace.values_of(t).into_iter().map(|id| (i, Target { id, ends: false })));
    }
    // Adds values with hooks as targets, so that their hooks receive the gradients that flow through them.
    let between: Vec<Id> =
        trace.leaves.state().values.iter().filter(|v| !v.hooks.is_empty()).map(|v| v.id).collect();
    targets.extend(between.into_iter().map(|id| (usize::MAX, Target { id, ends: false })));
    let mut roots = Vec::new();
    for (t, seed) in outputs {
        roots.push((trace.read(t)?, trace.read(seed)?));
    }
    let wanted: Vec<Target> = targets.iter().map(|(_, t)| *t).collect();
    let mut grads: Vec<Option<Tensor>> = vec![None; wrt.len()];
    for ((i, _), g) in targets.iter().zip(trace.compute_gradients(&roots, &wanted)?) {
        if let (Some(slot), Some(g)) = (grads.get_mut(*i), g) {
            *slot = Some(sum(slot.take(), g));
        }
    }
    for (slot, t) in grads.iter_mut().zip(wrt) {
        let hooks = t.as_cell().map_or_else(Vec::new, |cell| cell.hooks());
        let seen = slot.take().map(|g| run_hooks(hooks.iter(), g)).transpose()?;
        *slot = seen.map(|g| constant_unless_recorded(g, how));
    }
    Ok(grads)
}
