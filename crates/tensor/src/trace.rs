//! Tracing: runs a function on graph nodes instead of data, and returns the graph.
//!
//! An operation is recorded in the innermost trace that one of its operands belongs to. Values from outside
//! follow one rule: **cells, and nodes of an enclosing trace, become extra inputs; any other data becomes a
//! constant**. A cell written during a trace becomes an extra output.

use crate::cell::Cell;
use crate::eager::plan::call_name;
use crate::leaves::Leaves;
use crate::tensor::{Inner, Tensor};
use gradus_ir::graph::{Id, Line, Origin};
use gradus_ir::ops::select::StopGradient;
use gradus_ir::{Aval, Builder, Error, Graph, Op, Result, message};
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
    /// Number of traces begun before this one: an inner trace has a larger number than those around it.
    number: u64,
    /// False once the function has returned.
    open: AtomicBool,
    /// If true, nodes remember their source lines. Nodes of a composite do not: errors name its caller's
    /// line.
    keeps_lines: bool,
    /// If true, captured tensors give their names to inputs. Bodies of composites, and of transforms that are
    /// applied layer by layer, do not use names. Equal bodies must be equal graphs, which are compiled once.
    named: bool,
    captures: Mutex<Vec<Capture>>,
    pub(crate) leaves: Leaves,
}

/// A value from outside: the input it became, and the values it has had since (cells can be written).
pub(crate) struct Capture {
    pub(crate) tensor: Tensor,
    input: Id,
    written: Vec<Id>,
}

impl Capture {
    fn current(&self) -> Id {
        self.written.last().copied().unwrap_or(self.input)
    }

    /// Returns all values that it has had, the current one last.
    pub(crate) fn values(&self) -> impl Iterator<Item = Id> {
        std::iter::once(self.input).chain(self.written.iter().copied())
    }
}

/// A traced function: its graph, the tensors it captured and the cells it writes.
#[derive(Clone)]
pub struct TracedFunction {
    /// Inputs: the function's own, then one per captured tensor. Outputs: the function's own, then one per
    /// written cell.
    pub graph: Arc<Graph>,
    /// The captured cells, outer nodes, and tensors of devices other than the CPU.
    pub captured: Vec<Tensor>,
    /// The written cells.
    pub written: Vec<Tensor>,
}

/// Returns the current line of another language, such as Python.
static LINE: OnceLock<fn() -> Option<String>> = OnceLock::new();

/// Sets the function that returns the current line of another language, which traced nodes remember. Only the
/// first call has an effect.
pub fn trace_lines(line: fn() -> Option<String>) {
    let _ = LINE.set(line);
}

/// Runs `f`. Nodes that it traces on this thread remember `line` as their line in another language.
pub fn with_line<R>(line: Line, f: impl FnOnce() -> R) -> R {
    /// Restores the previous line when dropped, also during unwinding.
    struct PreviousLine(Option<Line>);
    impl Drop for PreviousLine {
        fn drop(&mut self) {
            OWN_LINE.with(|own| *own.borrow_mut() = self.0.take());
        }
    }
    let _around = PreviousLine(OWN_LINE.with(|own| own.borrow_mut().replace(line)));
    f()
}

/// Returns the current line in another language: that of [`with_line`], else that of [`trace_lines`].
fn current_line() -> Option<Line> {
    let text = || LINE.get().and_then(|line| line()).map(Line::Text);
    OWN_LINE.with(|own| own.borrow().clone()).or_else(text)
}

thread_local! {
    static OWN_LINE: RefCell<Option<Line>> = const { RefCell::new(None) };
    static TRACES: RefCell<Vec<Arc<Trace>>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn innermost() -> Option<Arc<Trace>> {
    TRACES.with(|t| t.borrow().last().cloned())
}

/// Returns true if a function is being traced on this thread.
pub fn is_tracing() -> bool {
    TRACES.with(|t| !t.borrow().is_empty())
}

/// Number of traces begun, on any thread.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Returns the number of traces begun so far, for [`Tensor::is_traced_since`].
pub fn traces_begun() -> u64 {
    BEGUN.load(Ordering::Relaxed)
}

impl Tensor {
    /// Returns true if this is a value of a trace that began after [`traces_begun`] returned `begun`.
    pub fn is_traced_since(&self, begun: u64) -> bool {
        matches!(&*self.0, Inner::Node(n) if n.trace.number >= begun)
    }
}

/// Returns the trace that must record an operation on these operands, if any. An operation without operands
/// (an index, a constant) belongs to the innermost trace, so that graphs store the operation and not its
/// elements.
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
            && youngest.as_ref().is_none_or(|y| y.number < trace.number)
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

    /// Returns the value of a tensor inside this trace.
    pub(crate) fn read(&self, t: &Tensor) -> Result<Id> {
        match &*t.0 {
            Inner::Node(n) if std::ptr::eq(&*n.trace, self) => Ok(n.id),
            Inner::Node(n) if !n.trace.open.load(Ordering::Relaxed) => {
                Err(Error::trace("a value of a finished trace cannot be used"))
            }
            Inner::Node(n) if n.trace.number > self.number => {
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
            // A graph holds no device memory, so a device tensor becomes an input.
            Inner::Data(d, _) if !d.is_host() => Ok(self.capture(t, &d.aval)),
            Inner::Data(d, _) => {
                // Broadcast elements are stored once and broadcast in the graph.
                let once = self.builder.constant(d.compact().literal()?);
                Ok(once.broadcast_to(&d.aval.shape).id())
            }
            Inner::Failed(e) => Err(e.clone()),
        }
    }

    fn capture(&self, t: &Tensor, aval: &Aval) -> Id {
        let mut captures = self.captures();
        if let Some(c) = captures.iter().find(|c| c.tensor.is_same(t)) {
            return c.current();
        }
        let input = self.builder.input(default_input_name(t), aval.clone()).id();
        captures.push(Capture { tensor: t.clone(), input, written: Vec::new() });
        input
    }

    /// Names the inputs after the captured tensors, with the names that these have at the end of the trace.
    fn name_captures(&self) {
        let names: Vec<String> = self.captures().iter().map(|c| self.name_of(&c.tensor)).collect();
        let own = self.builder.input_ids().len() - names.len();
        let mut all: Vec<String> =
            self.builder.input_ids()[..own].iter().filter_map(|id| self.builder.input_name(*id)).collect();
        all.extend(names);
        self.builder.name_inputs(&all);
    }

    /// Returns the name of a captured tensor: that of a cell, of a cell's gradient, or of an input of an
    /// enclosing trace.
    fn name_of(&self, t: &Tensor) -> String {
        let name = match &*t.0 {
            Inner::Node(n) => n.trace.builder.input_name(n.id),
            Inner::Cell(c) => c.name().map(|name| name.to_string()).or_else(|| self.leaves.gradient_name(t)),
            _ => None,
        };
        name.unwrap_or_else(|| default_input_name(t).to_string())
    }

    /// Returns the values that a tensor has had in this trace, if it was read here.
    pub(crate) fn values_of(&self, t: &Tensor) -> Vec<Id> {
        match &*t.0 {
            Inner::Node(n) if std::ptr::eq(&*n.trace, self) => vec![n.id],
            _ => self.captures().iter().filter(|c| c.tensor.is_same(t)).flat_map(Capture::values).collect(),
        }
    }

    /// Records an operation; `location` is the caller's.
    pub(crate) fn apply(
        self: &Arc<Trace>,
        op: Op,
        ins: &[&Tensor],
        location: &'static Location<'static>,
    ) -> Result<Vec<Tensor>> {
        if !self.open.load(Ordering::Relaxed) {
            return Err(Error::trace("a value of a finished trace cannot be used"));
        }
        let ids = ins.iter().map(|t| self.read(t)).collect::<Result<Vec<Id>>>()?;
        let origin = self.keeps_lines.then(|| {
            let operands = ins.iter().filter_map(|t| t.aval()).collect();
            Origin::new(call_name(&op), operands, location, current_line())
        });
        let (node, outs) = self.builder.from_origin(&origin, || self.builder.try_apply_ids(op, ids))?;
        Ok((0..outs).map(|out| self.node(Id { node, out })).collect())
    }
}

/// Returns the name of the input for a captured tensor that has no name.
fn default_input_name(t: &Tensor) -> &'static str {
    if t.is_cell() { "cell" } else { "outer" }
}

/// Runs a function outside of all traces of this thread: the tensors it makes are data.
pub fn outside_traces<R>(f: impl FnOnce() -> R) -> R {
    /// Restores the traces when dropped, also during unwinding.
    struct SuspendedTraces(Vec<Arc<Trace>>);
    impl Drop for SuspendedTraces {
        fn drop(&mut self) {
            TRACES.with(|t| *t.borrow_mut() = std::mem::take(&mut self.0));
        }
    }
    let _aside = SuspendedTraces(TRACES.with(|t| std::mem::take(&mut *t.borrow_mut())));
    f()
}

/// Returns a copy of `value` whose gradient flows to `leaf`.
fn with_gradient_to(leaf: &Tensor, value: &Tensor) -> Result<Tensor> {
    let given = |x: &[Tensor]| vec![x[1].clone()];
    let rule = |_: &[Tensor], _: &[Tensor], g: &[Tensor]| vec![g[0].clone(), Tensor::zeros_like(&g[0])];
    let mut outs = crate::transform::custom_vjp(&[leaf, value], given, rule)?;
    Ok(outs.swap_remove(0))
}

/// Returns true if the innermost trace has written this cell. The cell itself still holds the value from
/// before the write.
pub fn is_rewritten(t: &Tensor) -> bool {
    innermost().is_some_and(|trace| trace.values_of(t).len() > 1)
}

/// Swaps a cell's value: immediately, or as part of the innermost trace.
pub(crate) fn write_cell(tensor: &Tensor, cell: &Cell, value: &Tensor, stays: bool) -> Result<()> {
    let Some(trace) = innermost() else { return cell.set(value) };
    let (own, new) = (cell.aval(), value.aval());
    if new.as_ref() != Some(&own) {
        return Err(Error::shape(message!("a value of type ", new), message!("cannot replace ", own)));
    }
    trace.capture(&Tensor::new(Inner::Cell(cell.attached())), &own);
    // A leaf stores a value without history. With `stays`, gradients of the value flow to the leaf.
    let value = match cell.attached().requires_grad() {
        true if stays && !trace.leaves.is_differentiated() => {
            with_gradient_to(tensor, &value.stop_gradient())?
        }
        true => value.stop_gradient(),
        false => value.clone(),
    };
    let now = trace.read(&value)?;
    if let Some(c) = trace.captures().iter_mut().find(|c| c.tensor.is_same(tensor)) {
        c.written.push(now);
    }
    Ok(())
}

/// Closes the trace when dropped, also during unwinding.
struct OpenTrace(Arc<Trace>);

impl Drop for OpenTrace {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Relaxed);
        self.0.leaves.end();
        TRACES.with(|t| t.borrow_mut().retain(|other| !Arc::ptr_eq(other, &self.0)));
    }
}

/// Return types of a traced function.
pub trait Outputs {
    /// Returns the outputs as a list.
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

/// Traces a function at these input types. Captured tensors are returned separately.
pub fn trace_function<R: Outputs>(ins: &[Aval], f: impl FnOnce(&[Tensor]) -> R) -> Result<TracedFunction> {
    run_traced(ins, f, TraceStyle { names: &[], keeps_lines: true, named: false })
}

/// As [`trace_function`], with these names of the function's own inputs; captured cells keep their names
/// ([`Tensor::named`]). Own inputs without a name are called `x`, `y` and so on.
pub fn trace_function_named<R: Outputs>(
    names: &[impl AsRef<str>],
    ins: &[Aval],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<TracedFunction> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    run_traced(ins, f, TraceStyle { names: &names, keeps_lines: true, named: true })
}

/// Traces the body of a composite, without source lines.
pub(crate) fn trace_body<R: Outputs>(ins: &[Aval], f: impl FnOnce(&[Tensor]) -> R) -> Result<TracedFunction> {
    run_traced(ins, f, TraceStyle { names: &[], keeps_lines: false, named: false })
}

/// The names and source lines that a trace records.
struct TraceStyle<'a> {
    names: &'a [&'a str],
    keeps_lines: bool,
    named: bool,
}

fn run_traced<R: Outputs>(
    ins: &[Aval],
    f: impl FnOnce(&[Tensor]) -> R,
    style: TraceStyle<'_>,
) -> Result<TracedFunction> {
    let trace = Arc::new(Trace {
        builder: Builder::new(),
        number: BEGUN.fetch_add(1, Ordering::Relaxed),
        open: AtomicBool::new(true),
        keeps_lines: style.keeps_lines,
        named: style.named,
        captures: Mutex::new(Vec::new()),
        leaves: Leaves::default(),
    });
    let letters = ["x", "y", "z", "u", "v", "w"];
    let letter = |i: usize| if ins.len() <= letters.len() { letters[i].to_string() } else { format!("x{i}") };
    let name = |i: usize| style.names.get(i).map_or_else(|| letter(i), |name| name.to_string());
    let inputs: Vec<Tensor> = ins
        .iter()
        .enumerate()
        .map(|(i, a)| trace.node(trace.builder.input(&name(i), a.clone()).id()))
        .collect();
    TRACES.with(|t| t.borrow_mut().push(trace.clone()));
    let open = OpenTrace(trace.clone());
    let outputs = f(&inputs).outputs();
    let mut ids = outputs.iter().map(|t| trace.read(t)).collect::<Result<Vec<Id>>>()?;
    if trace.named {
        trace.name_captures();
    }
    drop(open);
    let captures = std::mem::take(&mut *trace.captures());
    let written: Vec<&Capture> = captures.iter().filter(|c| !c.written.is_empty()).collect();
    ids.extend(written.iter().map(|c| c.current()));
    let graph = Arc::new(trace.builder.finish_ids(&ids)?);
    let written = written.iter().map(|c| c.tensor.clone()).collect();
    Ok(TracedFunction { graph, written, captured: captures.into_iter().map(|c| c.tensor).collect() })
}

/// Traces a function at the types of these tensors.
///
/// Cells that the function reads become extra inputs after its own, and cells that it writes become extra
/// outputs after its own. Any other tensor from outside becomes a constant. Own inputs are called `x`, `y`
/// and so on ([`trace_named`] sets other names), cells by their names ([`Tensor::named`]).
///
/// ```
/// use gradus_tensor::{Tensor, trace};
/// let graph = trace(&[&Tensor::ones([2, 3])], |x| x[0].exp().sum(1))?;
/// assert_eq!(graph.output_avals()[0].to_string(), "f32[2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn trace<R: Outputs>(ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> R) -> Result<Graph> {
    trace_as::<&str, R>(&[], ins, f)
}

/// As [`trace`], with names of the inputs.
///
/// ```
/// use gradus_tensor::{Tensor, trace_named};
/// let (x, w) = (Tensor::ones([2, 3]), Tensor::ones([3]));
/// let graph = trace_named(&[("x", &x), ("w", &w)], |v| v[0].matmul(&v[1]))?;
/// assert!(graph.to_string().contains("graph (x: f32[2,3], w: f32[3])"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn trace_named<R: Outputs>(ins: &[(&str, &Tensor)], f: impl FnOnce(&[Tensor]) -> R) -> Result<Graph> {
    let (names, ins): (Vec<&str>, Vec<&Tensor>) = ins.iter().copied().unzip();
    trace_as(&names, &ins, f)
}

#[track_caller]
fn trace_as<N: AsRef<str>, R: Outputs>(
    names: &[N],
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Graph> {
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        t.check()?;
        avals.extend(t.aval());
    }
    let location = Location::caller();
    let traced = trace_function_named(names, &avals, f).map_err(|e| e.or_at(location))?;
    Ok(Arc::unwrap_or_clone(traced.graph))
}
