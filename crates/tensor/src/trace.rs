//! Tracing: running a function on nodes instead of data, which leaves a graph.
//!
//! An operation is recorded in the youngest trace that any of its operands belongs to. What a trace sees from
//! outside follows one rule: **cells, and nodes of an enclosing trace, become extra inputs; any other data
//! becomes a constant**. A cell written during a trace becomes an extra output.

use crate::cell::Cell;
use crate::plan::called;
use crate::tensor::{Inner, Tensor};
use gradus_ir::graph::{Id, Origin};
use gradus_ir::ops::call::Call;
use gradus_ir::ops::select::StopGradient;
use gradus_ir::{Aval, Builder, Error, Graph, Op, Result, transform};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A value of a graph being traced.
pub(crate) struct Traced {
    pub(crate) trace: Arc<Trace>,
    pub(crate) id: Id,
    pub(crate) aval: Aval,
}

/// A graph being traced.
pub(crate) struct Trace {
    builder: Builder,
    age: u64,
    open: AtomicBool,
    /// Whether nodes remember their lines. Those of a composite do not: its caller's is the one to name.
    placed: bool,
    captures: Mutex<Vec<Capture>>,
    /// Cells whose gradients are values of this trace while it is open.
    gradients: Mutex<Vec<Kept>>,
}

/// A cell whose gradient a trace has changed.
struct Kept {
    cell: Cell,
    /// The gradient it had before, which comes back when the trace ends.
    before: Option<Tensor>,
    /// Whether the function said what the gradient is, and did not add to what was there.
    replaced: bool,
}

/// Something from outside: which input it became, and which value it has by now (cells can be written).
struct Capture {
    tensor: Tensor,
    input: Id,
    now: Id,
}

/// A traced function: its graph, what it captured and which cells it writes.
#[derive(Clone)]
pub struct TracedFunction {
    /// Inputs: the function's own, then one per captured tensor. Outputs: the function's own, then one per
    /// written cell.
    pub graph: Arc<Graph>,
    /// The captured cells and outer nodes.
    pub captured: Vec<Tensor>,
    /// The written cells.
    pub written: Vec<Tensor>,
}

/// Which line of another language is being run.
static LINE: OnceLock<fn() -> Option<String>> = OnceLock::new();

/// From now on what is traced remembers the line of another language that called it. Only the first call counts.
pub fn trace_lines(line: fn() -> Option<String>) {
    let _ = LINE.set(line);
}

thread_local! {
    static TRACES: RefCell<Vec<Arc<Trace>>> = const { RefCell::new(Vec::new()) };
}

fn innermost() -> Option<Arc<Trace>> {
    TRACES.with(|t| t.borrow().last().cloned())
}

/// Whether a function is being traced on this thread.
pub fn is_tracing() -> bool {
    TRACES.with(|t| !t.borrow().is_empty())
}

/// The trace that must record an operation on these operands, if any. One without operands (an index, a constant)
/// belongs to the innermost, so that graphs hold what is computed and not its elements.
pub(crate) fn for_operands(ins: &[&Tensor]) -> Option<Arc<Trace>> {
    if ins.is_empty() {
        return innermost();
    }
    let mut youngest: Option<Arc<Trace>> = None;
    for t in ins {
        let trace = match &*t.0 {
            Inner::Node(n) => Some(n.trace.clone()),
            Inner::Cell(_) => innermost(),
            _ => None,
        };
        if let Some(trace) = trace
            && youngest.as_ref().is_none_or(|y| y.age < trace.age)
        {
            youngest = Some(trace);
        }
    }
    youngest
}

/// A gradient that a function being traced leaves behind.
pub struct TracedGradient {
    /// The leaf.
    pub leaf: Tensor,
    /// Its gradient, a value of the trace, or none.
    pub value: Option<Tensor>,
    /// Whether it stands in place of what the leaf had before, or is to be added to it.
    pub replaced: bool,
}

/// The gradients that the innermost trace leaves behind, of leaves that it does not change.
pub fn traced_gradients() -> Vec<TracedGradient> {
    let Some(trace) = innermost() else { return Vec::new() };
    let captures = trace.captures();
    let changed = |cell: &Cell| {
        captures.iter().any(|c| c.now != c.input && c.tensor.as_cell().is_some_and(|own| own.is_same(cell)))
    };
    let left = |k: &Kept| TracedGradient {
        leaf: Tensor::new(Inner::Cell(k.cell.attached())),
        value: k.cell.grad(),
        replaced: k.replaced,
    };
    trace.kept().iter().filter(|k| !changed(&k.cell)).map(left).collect()
}

/// Whether a trace that is open has made or replaced the gradient of a leaf: else it is one from outside.
pub fn gradient_is_traced(leaf: &Tensor) -> bool {
    let Some(cell) = leaf.as_cell() else { return false };
    TRACES.with(|t| t.borrow().iter().any(|trace| trace.kept().iter().any(|k| k.cell.is_same(cell))))
}

/// Tells the innermost trace, if there is one, that a gradient is about to be replaced.
pub(crate) fn replaces_gradient(cell: &Cell, by: Option<&Tensor>) {
    let Some(trace) = innermost() else { return };
    trace.keep(cell, cell.grad(), true);
    if by.is_none()
        && let Some(kept) = trace.kept().iter_mut().find(|k| k.cell.is_same(cell))
    {
        kept.replaced = true;
    }
}

impl Trace {
    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.gradients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a cell whose gradient is about to change, once.
    fn keep(&self, cell: &Cell, before: Option<Tensor>, replaced: bool) {
        let mut all = self.kept();
        if !all.iter().any(|k| k.cell.is_same(cell)) {
            all.push(Kept { cell: cell.clone(), before, replaced });
        }
    }

    fn captures(&self) -> MutexGuard<'_, Vec<Capture>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(self: &Arc<Trace>, id: Id) -> Tensor {
        Tensor::new(Inner::Node(Traced { trace: self.clone(), id, aval: self.builder.aval(id) }))
    }

    /// The value of a tensor inside this trace.
    fn read(&self, t: &Tensor) -> Result<Id> {
        match &*t.0 {
            Inner::Node(n) if std::ptr::eq(&*n.trace, self) => Ok(n.id),
            Inner::Node(n) if !n.trace.open.load(Ordering::Relaxed) => {
                Err(Error::trace("a value of a finished trace cannot be used"))
            }
            Inner::Node(n) if n.trace.age > self.age => {
                Err(Error::trace("a value of an inner trace cannot be used outside of it"))
            }
            Inner::Node(n) => Ok(self.capture(t, &n.aval)),
            Inner::Cell(c) if c.is_detached() => {
                let whole = Tensor::new(Inner::Cell(c.attached()));
                let id = self.capture(&whole, &c.aval());
                let (node, _) = self.builder.try_apply_ids(Op::from(StopGradient {}), vec![id])?;
                Ok(Id { node, out: 0 })
            }
            Inner::Cell(c) => Ok(self.capture(t, &c.aval())),
            Inner::Data(d, _) => {
                // Repeated elements stay repeated: the constant holds each once.
                let once = self.builder.constant(d.compact().literal()?);
                Ok(once.broadcast_to(&d.aval.shape).id())
            }
            Inner::Failed(e) => Err(e.clone()),
        }
    }

    fn capture(&self, t: &Tensor, aval: &Aval) -> Id {
        let mut captures = self.captures();
        if let Some(c) = captures.iter().find(|c| c.tensor.is_same(t)) {
            return c.now;
        }
        let name = if t.as_cell().is_some() { "cell" } else { "outer" };
        let input = self.builder.input(name, aval.clone()).id();
        captures.push(Capture { tensor: t.clone(), input, now: input });
        input
    }

    /// Records an operation that is called at a place.
    pub(crate) fn apply(
        self: &Arc<Trace>,
        op: Op,
        ins: &[&Tensor],
        place: &'static Location<'static>,
    ) -> Result<Vec<Tensor>> {
        if !self.open.load(Ordering::Relaxed) {
            return Err(Error::trace("a value of a finished trace cannot be used"));
        }
        let ids = ins.iter().map(|t| self.read(t)).collect::<Result<Vec<Id>>>()?;
        let origin = self.placed.then(|| {
            let operands = ins.iter().filter_map(|t| t.aval()).collect();
            Origin::new(called(&op), operands, place, LINE.get().and_then(|line| line()))
        });
        let (node, outs) = self.builder.from_origin(&origin, || self.builder.try_apply_ids(op, ids))?;
        Ok((0..outs).map(|out| self.node(Id { node, out })).collect())
    }
}

/// A backward pass inside of a trace: gradients of a recorded value for the cells it was computed from, if they require
/// them. The cells keep these as their gradients until the trace ends, so that an optimiser can be traced too; what they
/// had before comes back then.
pub(crate) fn backward(root: &Traced, seed: &Tensor) -> Result<()> {
    let trace = &root.trace;
    let seed = trace.read(seed)?;
    let graph = trace.builder.finish_ids(&[root.id])?;
    let reached = reached(&graph);
    let mut wrt = Vec::new();
    {
        let captures = trace.captures();
        let own = graph.inputs().len() - captures.len();
        for (i, c) in captures.iter().enumerate() {
            let input = graph.inputs()[own + i].1;
            let Some(cell) = c.tensor.as_cell().filter(|cell| cell.requires_grad()) else { continue };
            if !reached[input.node as usize] {
                continue;
            }
            if c.now != c.input {
                let why =
                    "a parameter is changed before the backward pass that needs it; trace one step at a time";
                return Err(Error::trace(why));
            }
            wrt.push((own + i, cell.clone()));
        }
    }
    if wrt.is_empty() {
        return Err(Error::gradient("nothing here requires gradients: no parameter was used"));
    }
    let positions: Vec<usize> = wrt.iter().map(|(i, _)| *i).collect();
    let pull = transform::vjp(&graph, &positions)?;
    let mut ids = trace.builder.input_ids();
    ids.push(seed);
    let call = Op::from(Call::new("backward", Vec::new(), Arc::new(pull)));
    let (node, _) = trace.builder.try_apply_ids(call, ids)?;
    for (out, (_, cell)) in wrt.into_iter().enumerate() {
        let new = trace.node(Id { node, out: out as u32 });
        let before = cell.grad();
        let ours =
            before.as_ref().is_some_and(|g| matches!(&*g.0, Inner::Node(n) if Arc::ptr_eq(&n.trace, trace)));
        let sum = match &before {
            Some(g) if ours => g + &new,
            _ => new,
        };
        sum.check()?;
        trace.keep(&cell, before.filter(|_| !ours), false);
        cell.set_grad(Some(sum));
    }
    Ok(())
}

/// Which nodes the outputs of a graph are computed from.
fn reached(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.nodes().len()];
    graph.outputs().iter().for_each(|id| live[id.node as usize] = true);
    for i in (0..live.len()).rev() {
        if live[i] {
            graph.nodes()[i].ins.iter().for_each(|id| live[id.node as usize] = true);
        }
    }
    live
}

/// Runs a function as if nothing was being traced: what it makes is data.
pub fn outside_traces<R>(f: impl FnOnce() -> R) -> R {
    /// Brings the traces back on every way out.
    struct Aside(Vec<Arc<Trace>>);
    impl Drop for Aside {
        fn drop(&mut self) {
            TRACES.with(|t| *t.borrow_mut() = std::mem::take(&mut self.0));
        }
    }
    let _aside = Aside(TRACES.with(|t| std::mem::take(&mut *t.borrow_mut())));
    f()
}

/// Swaps a cell's value: now, or as part of the innermost trace.
pub(crate) fn write_cell(tensor: &Tensor, cell: &Cell, value: &Tensor) -> Result<()> {
    let Some(trace) = innermost() else { return cell.set(value) };
    let (own, new) = (cell.aval(), value.aval());
    if new.as_ref() != Some(&own) {
        return Err(Error::shape(format!("a value of type {new:?}"), format!("cannot replace {own}")));
    }
    trace.capture(&Tensor::new(Inner::Cell(cell.attached())), &own);
    let now = trace.read(value)?;
    if let Some(c) = trace.captures().iter_mut().find(|c| c.tensor.is_same(tensor)) {
        c.now = now;
    }
    Ok(())
}

/// Closes the trace on every way out, unwinding included.
struct Open(Arc<Trace>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Relaxed);
        for kept in self.0.kept().drain(..) {
            kept.cell.set_grad(kept.before);
        }
        TRACES.with(|t| t.borrow_mut().retain(|other| !Arc::ptr_eq(other, &self.0)));
    }
}

/// What a traced function may return.
pub trait Outputs {
    /// As a list.
    fn outputs(self) -> Vec<Tensor>;
}

impl Outputs for Tensor {
    fn outputs(self) -> Vec<Tensor> {
        vec![self]
    }
}

impl Outputs for Vec<Tensor> {
    fn outputs(self) -> Vec<Tensor> {
        self
    }
}

impl<const N: usize> Outputs for [Tensor; N] {
    fn outputs(self) -> Vec<Tensor> {
        self.into()
    }
}

impl Outputs for (Tensor, Tensor) {
    fn outputs(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

impl Outputs for (Tensor, Tensor, Tensor) {
    fn outputs(self) -> Vec<Tensor> {
        vec![self.0, self.1, self.2]
    }
}

/// Traces a function at these input types, keeping what it captures apart.
pub fn trace_function<R: Outputs>(ins: &[Aval], f: impl FnOnce(&[Tensor]) -> R) -> Result<TracedFunction> {
    traced(ins, f, true)
}

/// Traces the body of a composite.
pub(crate) fn trace_body<R: Outputs>(ins: &[Aval], f: impl FnOnce(&[Tensor]) -> R) -> Result<TracedFunction> {
    traced(ins, f, false)
}

fn traced<R: Outputs>(ins: &[Aval], f: impl FnOnce(&[Tensor]) -> R, placed: bool) -> Result<TracedFunction> {
    static AGE: AtomicU64 = AtomicU64::new(0);
    let trace = Arc::new(Trace {
        builder: Builder::new(),
        age: AGE.fetch_add(1, Ordering::Relaxed),
        open: AtomicBool::new(true),
        placed,
        captures: Mutex::new(Vec::new()),
        gradients: Mutex::new(Vec::new()),
    });
    let names = ["x", "y", "z", "u", "v", "w"];
    let name = |i: usize| if ins.len() <= names.len() { names[i].to_string() } else { format!("x{i}") };
    let inputs: Vec<Tensor> = ins
        .iter()
        .enumerate()
        .map(|(i, a)| trace.node(trace.builder.input(&name(i), a.clone()).id()))
        .collect();
    TRACES.with(|t| t.borrow_mut().push(trace.clone()));
    let open = Open(trace.clone());
    let outputs = f(&inputs).outputs();
    let mut ids = outputs.iter().map(|t| trace.read(t)).collect::<Result<Vec<Id>>>()?;
    drop(open);
    let captures = std::mem::take(&mut *trace.captures());
    let written: Vec<&Capture> = captures.iter().filter(|c| c.now != c.input).collect();
    ids.extend(written.iter().map(|c| c.now));
    let graph = Arc::new(trace.builder.finish_ids(&ids)?);
    let written = written.iter().map(|c| c.tensor.clone()).collect();
    Ok(TracedFunction { graph, written, captured: captures.into_iter().map(|c| c.tensor).collect() })
}

/// The graph of a function at the types of these tensors.
///
/// Cells that the function reads become extra inputs, and cells that it writes extra outputs, behind its own;
/// any other tensor it uses from outside becomes a constant.
///
/// ```
/// use gradus_tensor::{Tensor, trace};
/// let graph = trace(&[&Tensor::ones([2, 3])], |x| x[0].exp().sum(1)).unwrap();
/// assert_eq!(graph.output_avals()[0].to_string(), "f32[2]");
/// ```
#[track_caller]
pub fn trace<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Graph> {
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        t.check()?;
        avals.extend(t.aval());
    }
    let place = Location::caller();
    let traced = trace_function(&avals, f).map_err(|e| e.or_at(place))?;
    Ok(Arc::unwrap_or_clone(traced.graph))
}
