//! Eager autograd: tape nodes and recording. `backward.rs` runs the pass over them.
//!
//! A node stores the call, the targets of its gradients, and only those operands and results that the
//! gradient graph reads. That graph is derived once per op and operand types (`plan.rs`). Nodes are owned by
//! the tensors they produced, and are freed without recursion.

use crate::data::Data;
use crate::device::{Device, device_of};
use crate::eager::inline_list::InlineList;
use crate::eager::plan::{Plan, PointwisePlans, plan_for};
use crate::hook::Hook;
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

/// The destination of an operand's gradient.
#[derive(Clone)]
pub(crate) enum Target {
    /// The fields of an [`Edge`], stored directly so that a target is no larger than an edge.
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
    /// Recording number: larger than that of earlier calls on the same thread and of the calls that produced
    /// the operands.
    pub(crate) order: u64,
    pub(crate) plan: Handle<Plan>,
    /// Device of the operands. Cotangents are moved there before the gradient runs.
    pub(crate) device: Device,
    /// Source location of the user's call.
    pub(crate) location: &'static Location<'static>,
    pub(crate) state: Mutex<State>,
}

// Together with its reference count, a node takes two cache lines. On other systems the mutex may be larger.
#[cfg(target_os = "linux")]
const _: () = assert!(size_of::<Node>() <= 120);

/// The mutable state of a node.
pub(crate) struct State {
    /// Values saved for the gradient. A backward pass takes them, so that each node's values are freed as the
    /// pass advances.
    pub(crate) recorded: Option<Recorded>,
    /// Boxed, because it is rarely present.
    pub(crate) watched: Option<Box<Watched>>,
}

/// Results whose gradients are retained or observed by hooks.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) kept: Vec<RetainedGradient>,
    pub(crate) hooks: Vec<(usize, Hook)>,
}

/// The gradient of one result.
#[derive(Default)]
pub(crate) struct RetainedGradient {
    pub(crate) out: usize,
    /// If true, backward passes accumulate it, because `retain_grad` was called.
    pub(crate) retained: bool,
    pub(crate) grad: Option<Tensor>,
}

impl Edge {
    /// Updates the retained gradient of this result.
    pub(crate) fn update_retained(&self, change: impl FnOnce(&mut RetainedGradient)) {
        let mut state = lock(&self.node.state);
        let all = &mut state.watched.get_or_insert_default().kept;
        let at = all.iter().position(|k| k.out == self.out).unwrap_or_else(|| {
            all.push(RetainedGradient { out: self.out, ..RetainedGradient::default() });
            all.len() - 1
        });
        change(&mut all[at]);
    }
}

/// Values that the gradient of a call needs.
#[derive(Clone)]
pub(crate) struct Recorded {
    /// Destinations of the operands' gradients.
    pub(crate) targets: InlineList<Option<Target>>,
    /// Values that the gradient graph reads: operands (cells with their version), then results. Results are
    /// stored without their node, which would otherwise keep itself alive.
    pub(crate) saved: InlineList<(Tensor, u64)>,
}

impl Recorded {
    /// Returns true if earlier recorded calls are reachable from this one.
    fn has_predecessors(&self) -> bool {
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

/// Largest capacity that `GARBAGE` keeps when it is empty.
const KEPT_GARBAGE: usize = 256;

/// Frees long chains of nodes iteratively, because recursion would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let recorded = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).recorded.take();
        let Some(own) = recorded.filter(Recorded::has_predecessors) else { return };
        if FREEING.replace(true) {
            // If the thread is ending and its list is gone, `own` is dropped here.
            let _ = GARBAGE.try_with(|g| g.borrow_mut().push(own));
            return;
        }
        drop(own);
        while let Ok(Some(next)) = GARBAGE.try_with(|g| g.borrow_mut().pop()) {
            drop(next);
        }
        let shrink = |g: &RefCell<Vec<Recorded>>| {
            if g.borrow().capacity() > KEPT_GARBAGE {
                g.borrow_mut().shrink_to(KEPT_GARBAGE);
            }
        };
        let _ = GARBAGE.try_with(shrink);
        FREEING.set(false);
    }
}

/// Returns true if operations on this thread are recorded for gradients.
#[inline]
pub fn is_grad_enabled() -> bool {
    GRAD.get()
}

/// Restores the previous mode when dropped.
pub struct GradMode(bool);

impl Drop for GradMode {
    fn drop(&mut self) {
        GRAD.set(self.0);
    }
}

/// Switches recording on this thread on or off until the guard is dropped.
#[must_use = "the mode lasts as long as the guard"]
pub fn set_grad_enabled(on: bool) -> GradMode {
    GradMode(GRAD.replace(on))
}

/// Runs a function without recording gradients.
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _mode = set_grad_enabled(false);
    f()
}

/// Returns true if a pointwise op is piecewise constant (`floor`, `sign`): its gradient is a known zero, not
/// a missing derivative.
pub(crate) fn is_step(op: &Op) -> bool {
    matches!(op, Op::Map(map) if map.0.partials.is_none())
}

/// Records a call, if a gradient can flow through it.
pub(crate) fn record(
    op: &Op,
    ins: &[&Tensor],
    datas: &[&Data],
    outs: &[&Data],
    location: &'static Location<'static>,
) -> Result<Option<Handle<Node>>> {
    let flows = outs.iter().any(|d| d.aval.dtype.is_differentiable());
    if !flows || (op.def().derivative() == Derivative::Zero && !is_step(op)) {
        return Ok(None);
    }
    let needs: InlineList<bool> = InlineList::of(ins, |t| t.requires_grad());
    let plan = plan_for(op, datas, outs, &needs)?;
    let read = |i: usize| match ins[i].as_cell().filter(|c| !c.requires_grad()) {
        // A cell that requires no gradient is saved by value: it may change before the pass, as running
        // statistics do.
        Some(cell) => cell.value(),
        None => ins[i].clone(),
    };
    let device = device_of(datas.iter().copied())?;
    Ok(Some(node(plan, device, ins, read, |k| outs[k].clone(), location)))
}

/// Records a pointwise op, if a gradient can flow through it. `value` returns the current value of an operand by
/// index, `out` the result; each is called only if the gradient reads what it returns.
#[inline]
pub(crate) fn record_pointwise(
    op: &'static Pointwise,
    plans: &PointwisePlans,
    ins: &[&Tensor],
    value: impl Fn(usize) -> Tensor,
    out: impl Fn() -> Data,
    dtype: DType,
    location: &'static Location<'static>,
) -> Result<Option<Handle<Node>>> {
    let needs = [0, 1].map(|i| ins.get(i).is_some_and(|t| t.requires_grad()));
    if needs == [false, false] || !is_grad_enabled() {
        return Ok(None);
    }
    let plan = plans.get(op, dtype, needs)?;
    let read = |i: usize| ins.get(i).filter(|t| t.requires_grad()).map_or_else(|| value(i), |t| (*t).clone());
    Ok(Some(node(plan, Device::CPU, ins, read, |_| out(), location)))
}

thread_local! {
    /// Recording number of the last node of this thread, or larger.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

/// Makes the node of a call, with those operands and results that the plan reads.
#[inline(always)]
fn node(
    plan: Handle<Plan>,
    device: Device,
    ins: &[&Tensor],
    operand: impl Fn(usize) -> Tensor,
    result: impl Fn(usize) -> Data,
    location: &'static Location<'static>,
) -> Handle<Node> {
    let read_in = |&i: &usize| {
        let t = operand(i);
        let version = t.as_cell().map_or(0, |c| c.version());
        (t, version)
    };
    let read_out = |&k: &usize| (Tensor::with(|| Inner::Data(result(k), None)), 0);
    let saved = match (&*plan.reads_in, &*plan.reads_out) {
        (reads, []) => InlineList::of(reads, read_in),
        ([], reads) => InlineList::of(reads, read_out),
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
    let targets = InlineList::of(ins, target);
    order += 1;
    CLOCK.set(order);
    let empty = || Mutex::new(State { recorded: None, watched: None });
    let mut node = Handle::with(|| Node { order, plan, device, location, state: empty() });
    // Written in place: moving the mutex would copy its padding in pieces, which stalls the processor.
    if let Some(node) = node.get_mut() {
        node.state.get_mut().unwrap_or_else(PoisonError::into_inner).recorded =
            Some(Recorded { targets, saved });
    }
    node
}
