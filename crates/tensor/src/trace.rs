//! Tracing: running a function on nodes instead of data, which leaves a graph.
//!
//! An operation is recorded in the youngest trace that any of its operands belongs to. What a trace sees from
//! outside follows one rule: **cells, and nodes of an enclosing trace, become extra inputs; any other data
//! becomes a constant**. A cell written during a trace becomes an extra output.

use crate::cell::Cell;
use crate::leaves::Leaves;
use crate::plan::called;
use crate::tensor::{Inner, Tensor};
use gradus_ir::graph::{Id, Origin};
use gradus_ir::ops::select::StopGradient;
use gradus_ir::{Aval, Builder, Error, Graph, Op, Result};
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
    pub(crate) builder: Builder,
    age: u64,
    open: AtomicBool,
    /// Whether nodes remember their lines. Those of a composite do not: its caller's is the one to name.
    placed: bool,
    captures: Mutex<Vec<Capture>>,
    pub(crate) leaves: Leaves,
}

/// Something from outside: which input it became, and which values it has had since (cells can be written).
pub(crate) struct Capture {
    pub(crate) tensor: Tensor,
    input: Id,
    written: Vec<Id>,
}

impl Capture {
    fn now(&self) -> Id {
        self.written.last().copied().unwrap_or(self.input)
    }

    /// All values that it has had, the one now last.
    pub(crate) fn values(&self) -> impl Iterator<Item = Id> {
        std::iter::once(self.input).chain(self.written.iter().copied())
    }
}

/// A traced function: its graph, what it captured and which cells it writes.
#[derive(Clone)]
pub struct TracedFunction {
    /// Inputs: the function's own, then one per captured tensor. Outputs: the function's own, then one per
    /// written cell.
    pub graph: Arc<Graph>,
    /// The captured cells, outer nodes and tensors of other devices than the CPU.
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

pub(crate) fn innermost() -> Option<Arc<Trace>> {
    TRACES.with(|t| t.borrow().last().cloned())
}

/// Whether a function is being traced on this thread.
pub fn is_tracing() -> bool {
    TRACES.with(|t| !t.borrow().is_empty())
}

/// How many traces have begun, on any thread.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// How many traces have begun: tells what was there before one from what was made in it.
pub fn traces_begun() -> u64 {
    BEGUN.load(Ordering::Relaxed)
}

impl Tensor {
    /// Whether this is a value of a trace that began after so many others.
    pub fn is_traced_since(&self, begun: u64) -> bool {
        matches!(&*self.0, Inner::Node(n) if n.trace.age >= begun)
    }
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

impl Trace {
    pub(crate) fn captures(&self) -> MutexGuard<'_, Vec<Capture>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn node(self: &Arc<Trace>, id: Id) -> Tensor {
        Tensor::new(Inner::Node(Traced { trace: self.clone(), id, aval: self.builder.aval(id) }))
    }

    /// The value of a tensor inside this trace.
    pub(crate) fn read(&self, t: &Tensor) -> Result<Id> {
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
            // A graph holds no memory of a device: what is there is an input.
            Inner::Data(d, _) if !d.is_host() => Ok(self.capture(t, &d.aval)),
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
            return c.now();
        }
        let name = if t.as_cell().is_some() { "cell" } else { "outer" };
        let input = self.builder.input(name, aval.clone()).id();
        captures.push(Capture { tensor: t.clone(), input, written: Vec::new() });
        input
    }

    /// The values that a tensor has had in this trace, if it was read here.
    pub(crate) fn known(&self, t: &Tensor) -> Vec<Id> {
        match &*t.0 {
            Inner::Node(n) if std::ptr::eq(&*n.trace, self) => vec![n.id],
            _ => self.captures().iter().filter(|c| c.tensor.is_same(t)).flat_map(Capture::values).collect(),
        }
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

/// A value whose gradient is that of a leaf.
fn in_place_of(leaf: &Tensor, value: &Tensor) -> Result<Tensor> {
    let given = |x: &[Tensor]| vec![x[1].clone()];
    let rule = |_: &[Tensor], _: &[Tensor], g: &[Tensor]| vec![g[0].clone(), Tensor::zeros_like(&g[0])];
    let mut outs = crate::transform::custom_vjp(&[leaf, value], given, rule)?;
    Ok(outs.swap_remove(0))
}

/// Whether a cell has been given another value in the innermost trace, so that what it holds is of before.
pub fn is_rewritten(t: &Tensor) -> bool {
    innermost().is_some_and(|trace| trace.known(t).len() > 1)
}

/// Swaps a cell's value: now, or as part of the innermost trace.
pub(crate) fn write_cell(tensor: &Tensor, cell: &Cell, value: &Tensor, stays: bool) -> Result<()> {
    let Some(trace) = innermost() else { return cell.set(value) };
    let (own, new) = (cell.aval(), value.aval());
    if new.as_ref() != Some(&own) {
        return Err(Error::shape(format!("a value of type {new:?}"), format!("cannot replace {own}")));
    }
    trace.capture(&Tensor::new(Inner::Cell(cell.attached())), &own);
    // A leaf that is set to a value forgets how that was computed; one that stays is what gradients of that are for.
    let value = match cell.attached().requires_grad() {
        true if stays && !trace.leaves.has_pulled() => in_place_of(tensor, &value.stop_gradient())?,
        true => value.stop_gradient(),
        false => value.clone(),
    };
    let now = trace.read(&value)?;
    if let Some(c) = trace.captures().iter_mut().find(|c| c.tensor.is_same(tensor)) {
        c.written.push(now);
    }
    Ok(())
}

/// Closes the trace on every way out, unwinding included.
struct Open(Arc<Trace>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Relaxed);
        self.0.leaves.end();
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
    let trace = Arc::new(Trace {
        builder: Builder::new(),
        age: BEGUN.fetch_add(1, Ordering::Relaxed),
        open: AtomicBool::new(true),
        placed,
        captures: Mutex::new(Vec::new()),
        leaves: Leaves::default(),
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
    let written: Vec<&Capture> = captures.iter().filter(|c| !c.written.is_empty()).collect();
    ids.extend(written.iter().map(|c| c.now()));
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
