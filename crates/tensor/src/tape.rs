//! Eager autograd: tape nodes and recording. The pass over them is in `backward.rs`.
//!
//! A node keeps the call, where gradients flow, and only those operands and results that the call's gradient
//! graph reads. That graph is derived once per call and types from the declarations, like every other
//! derivative. Nodes are owned by the tensors they made, and are freed without recursion.

use crate::data::Data;
use crate::device::{Device, device_of};
use crate::few::Few;
use crate::hook::Hook;
use crate::plan::{Plan, RowPlans, plan_for};
use crate::tensor::{Inner, Tensor};
use gradus_ir::ops::{Derivative, Pointwise};
use gradus_ir::{DType, Op, Result};
use gradus_mem::Handle;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result of a tape node.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) node: Handle<Node>,
    pub(crate) out: usize,
}

/// Where the gradient of an operand goes.
#[derive(Clone)]
pub(crate) enum Target {
    /// An edge, taken apart so that a target is no larger than one.
    Node(Handle<Node>, u32),
    Leaf(Tensor),
}

impl From<&Edge> for Target {
    fn from(edge: &Edge) -> Target {
        Target::Node(edge.node.clone(), edge.out as u32)
    }
}

/// One recorded call.
pub(crate) struct Node {
    /// Larger than that of earlier calls on the same thread, and of the calls that made the operands.
    pub(crate) order: u64,
    pub(crate) plan: Handle<Plan>,
    /// Device of the operands. Cotangents are moved there before the gradient runs.
    pub(crate) device: Device,
    /// Where the user made the call.
    pub(crate) place: &'static Location<'static>,
    pub(crate) state: Mutex<State>,
}

// With its count, a node takes two cache lines.
const _: () = assert!(size_of::<Node>() <= 120);

/// What changes about a node.
pub(crate) struct State {
    /// Until a backward pass takes it: what is behind a call is then freed while the pass has it at hand.
    pub(crate) recorded: Option<Recorded>,
    /// Seldom any, hence the box.
    pub(crate) watched: Option<Box<Watched>>,
}

/// Results whose gradients somebody wants to see.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) kept: Vec<Kept>,
    pub(crate) hooks: Vec<(usize, Hook)>,
}

/// The gradient of one result.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) out: usize,
    /// Whether backward passes add to it: `retain_grad` asked for that.
    pub(crate) retained: bool,
    pub(crate) grad: Option<Tensor>,
}

impl Edge {
    /// Changes what is kept of the gradient of this result.
    pub(crate) fn keep(&self, change: impl FnOnce(&mut Kept)) {
        let mut state = lock(&self.node.state);
        let all = &mut state.watched.get_or_insert_default().kept;
        let at = all.iter().position(|k| k.out == self.out).unwrap_or_else(|| {
            all.push(Kept { out: self.out, ..Kept::default() });
            all.len() - 1
        });
        change(&mut all[at]);
    }
}

/// What the gradient of a call needs.
#[derive(Clone)]
pub(crate) struct Recorded {
    /// Where the gradients of the operands go.
    pub(crate) targets: Few<Option<Target>>,
    /// What the gradient graph reads: operands (cells with their version), then results, these without the node that
    /// they would keep alive by it.
    pub(crate) saved: Few<(Tensor, u64)>,
}

impl Recorded {
    /// Whether calls were recorded behind this one.
    fn is_behind(&self) -> bool {
        let is_node = |t: &Option<Target>| matches!(t, Some(Target::Node(..)));
        let has_node = |(t, _): &(Tensor, u64)| matches!(&*t.0, Inner::Data(_, Some(_)));
        self.targets.iter().any(is_node) || self.saved.iter().any(has_node)
    }
}

pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static GRAD: Cell<bool> = const { Cell::new(true) };
    static FREEING: Cell<bool> = const { Cell::new(false) };
    static GARBAGE: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) };
}

/// Room that the list of garbage keeps.
const KEPT_GARBAGE: usize = 256;

/// Dropping a long chain frees it from a list instead of by recursion.
impl Drop for Node {
    fn drop(&mut self) {
        let recorded = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).recorded.take();
        let Some(own) = recorded.filter(Recorded::is_behind) else { return };
        if FREEING.replace(true) {
            // Of an ending thread, whose list is gone, what is left is dropped here.
            let _ = GARBAGE.try_with(|g| g.borrow_mut().push(own));
            return;
        }
        drop(own);
        while let Ok(Some(next)) = GARBAGE.try_with(|g| g.borrow_mut().pop()) {
            drop(next);
        }
        let too_much = |g: &RefCell<Vec<Recorded>>| {
            if g.borrow().capacity() > KEPT_GARBAGE {
                g.borrow_mut().shrink_to(KEPT_GARBAGE);
            }
        };
        let _ = GARBAGE.try_with(too_much);
        FREEING.set(false);
    }
}

/// Whether operations on this thread are recorded for gradients.
#[inline]
pub fn is_grad_enabled() -> bool {
    GRAD.get()
}

/// Restores the mode when it goes.
pub struct GradMode(bool);

impl Drop for GradMode {
    fn drop(&mut self) {
        GRAD.set(self.0);
    }
}

/// Switches recording on this thread on or off while the guard lives.
#[must_use = "the mode lasts as long as the guard"]
pub fn set_grad_enabled(on: bool) -> GradMode {
    GradMode(GRAD.replace(on))
}

/// Runs a function without recording gradients.
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _mode = set_grad_enabled(false);
    f()
}

/// Whether a row is flat between its jumps (`floor`, `sign`): zeros flow back through it, as a derivative that is known
/// and not as one that is missing.
pub(crate) fn is_step(op: &Op) -> bool {
    matches!(op, Op::Map(map) if map.0.partials.is_none())
}

/// Records a call if a gradient can flow through it.
pub(crate) fn record(
    op: &Op,
    ins: &[&Tensor],
    datas: &[&Data],
    outs: &[&Data],
    place: &'static Location<'static>,
) -> Result<Option<Handle<Node>>> {
    let flows = outs.iter().any(|d| d.aval.dtype.is_differentiable());
    if !flows || (op.def().derivative() == Derivative::Zero && !is_step(op)) {
        return Ok(None);
    }
    let needs: Few<bool> = Few::of(ins, |t| t.requires_grad());
    let plan = plan_for(op, datas, outs, &needs)?;
    let read = |i: usize| match ins[i].as_cell().filter(|c| !c.requires_grad()) {
        // What no gradient flows to is kept as it is now: it may change before the pass, as statistics do.
        Some(cell) => cell.value(),
        None => ins[i].clone(),
    };
    let device = device_of(datas.iter().copied())?;
    Ok(Some(node(plan, device, ins, read, |k| outs[k].clone(), place)))
}

/// The same for a row of the pointwise table, whose operands may be held; `value` (of an operand by its place, as it is now)
/// and `out` are made only if the gradient reads them.
#[inline]
pub(crate) fn record_row(
    row: &'static Pointwise,
    plans: &RowPlans,
    ins: &[&Tensor],
    value: impl Fn(usize) -> Tensor,
    out: impl Fn() -> Data,
    dtype: DType,
    place: &'static Location<'static>,
) -> Result<Option<Handle<Node>>> {
    let needs = [0, 1].map(|i| ins.get(i).is_some_and(|t| t.requires_grad()));
    if needs == [false, false] || !is_grad_enabled() {
        return Ok(None);
    }
    let plan = plans.get(row, dtype, needs)?;
    let read = |i: usize| ins.get(i).filter(|t| t.requires_grad()).map_or_else(|| value(i), |t| (*t).clone());
    Ok(Some(node(plan, Device::CPU, ins, read, |_| out(), place)))
}

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

/// The node of a call, with those operands and results that the plan reads.
#[inline(always)]
fn node(
    plan: Handle<Plan>,
    device: Device,
    ins: &[&Tensor],
    operand: impl Fn(usize) -> Tensor,
    result: impl Fn(usize) -> Data,
    place: &'static Location<'static>,
) -> Handle<Node> {
    let read_in = |&i: &usize| {
        let t = operand(i);
        let version = t.as_cell().map_or(0, |c| c.version());
        (t, version)
    };
    let read_out = |&k: &usize| (Tensor::with(|| Inner::Data(result(k), None)), 0);
    let saved = match (&*plan.reads_in, &*plan.reads_out) {
        (reads, []) => Few::of(reads, read_in),
        ([], reads) => Few::of(reads, read_out),
        (ins, outs) => ins.iter().map(read_in).chain(outs.iter().map(read_out)).collect(),
    };
    let mut order = CLOCK.get();
    let target = |t: &&Tensor| match &*t.0 {
        Inner::Data(_, Some(edge)) => {
            order = order.max(edge.node.order);
            Some(edge.into())
        }
        Inner::Cell(c) if c.requires_grad() => Some(Target::Leaf((*t).clone())),
        _ => None,
    };
    let targets = Few::of(ins, target);
    order += 1;
    CLOCK.set(order);
    let empty = || Mutex::new(State { recorded: None, watched: None });
    let mut node = Handle::with(|| Node { order, plan, device, place, state: empty() });
    // Filled where it stays: a lock is moved together with the gap behind its flags, by pieces that the processor waits for.
    if let Some(node) = node.get_mut() {
        node.state.get_mut().unwrap_or_else(PoisonError::into_inner).recorded =
            Some(Recorded { targets, saved });
    }
    node
}
