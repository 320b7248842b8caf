//! What is noted while a function is traced to be compiled: everything outside of its arguments that its program depends on.

use crate::guard::{Guard, traced_in};
use crate::tensor::PyTensor;
use gradus::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a traced function looked at besides its arguments.
struct TraceDeps {
    /// Modules that were called, and their settings then.
    modules: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// Functions whose values it depends on.
    functions: Vec<Py<PyAny>>,
    /// What brings numbers that live in Python up to date before each run; each gives what takes that back, or nothing.
    before: Vec<Py<PyAny>>,
    /// What looks at its frames (`gradus._reads.Reads`).
    reads: Py<PyAny>,
    arguments: Vec<Argument>,
    of_tensors: OfTensors,
    /// How many traces had begun when its own had.
    begun: u64,
    /// Leaves that it has made.
    made: Vec<Tensor>,
}

/// What a function knows of tensors from outside besides their types.
#[derive(Default)]
struct OfTensors {
    /// Whether they require gradients, where it asked.
    required: Vec<(Tensor, bool)>,
    /// Their elements, where it looked at them; and how often the tensor had changed when they were compared last.
    elements: Vec<(Tensor, Vec<u8>, AtomicU64)>,
}

impl OfTensors {
    fn hold(&self) -> bool {
        let same = |(t, was, seen): &(Tensor, Vec<u8>, AtomicU64)| {
            let now = t.version();
            let same = seen.load(Ordering::Relaxed) == now || t.to_bytes().is_ok_and(|b| b == *was);
            if same {
                seen.store(now, Ordering::Relaxed);
            }
            same
        };
        self.required.iter().all(|(t, was)| t.requires_grad() == *was) && self.elements.iter().all(same)
    }
}

/// A tensor that a function is given.
pub(crate) struct Argument {
    pub(crate) outside: Py<PyTensor>,
    pub(crate) inside: Py<PyTensor>,
    /// What `inside` holds at first.
    pub(crate) given: Tensor,
}

thread_local! {
    static TRACE_DEPS: RefCell<Vec<TraceDeps>> = const { RefCell::new(Vec::new()) };
}

/// Whether a function is being compiled. What it reads from outside is then an input of the program, not a constant of
/// it: later changes are seen, and changes by the program last.
pub(crate) fn is_compiling() -> bool {
    gradus::is_tracing() && TRACE_DEPS.with(|n| !n.borrow().is_empty())
}

/// Whether a place that was made when so many traces had begun was there before the function being compiled.
pub(crate) fn is_from_outside(born: u64) -> bool {
    with(|n| born < n.begun).unwrap_or(true)
}

/// A leaf that is made now: if a function being compiled makes it and changes it, the program is for one call.
pub(crate) fn made(leaf: Tensor) -> Tensor {
    if is_compiling() && leaf.is_cell() {
        with(|n| n.made.push(leaf.clone()));
    }
    leaf
}

/// Counts changes of modules: as long as it stays, no module has to be looked at.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Says that a module has other settings or members than before.
#[pyfunction]
pub(crate) fn _module_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Does something with what is noted, if anything is.
fn with<R>(f: impl FnOnce(&mut TraceDeps) -> R) -> Option<R> {
    TRACE_DEPS.with(|n| n.borrow_mut().last_mut().map(f))
}

fn reads(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    with(|n| n.reads.bind(py).clone())
}

/// Remembers that the function being compiled depends on a module, as it is now.
#[pyfunction]
pub(crate) fn _note_module(module: &Bound<'_, PyAny>) -> PyResult<()> {
    let known = with(|n| n.modules.iter().any(|(m, _)| m.is(module)));
    let (Some(false), Some(reads)) = (known, reads(module.py())) else { return Ok(()) };
    reads.call_method1("module", (module,))?;
    let now = settings(module)?.unbind();
    with(|n| n.modules.push((module.clone().unbind(), now)));
    Ok(())
}

/// Remembers that a function is called that is kept where names do not lead, such as a hook.
pub(crate) fn note_function(f: &Bound<'_, PyAny>) -> PyResult<()> {
    reads(f.py()).map_or(Ok(()), |reads| reads.call_method1("function", (f,)).map(drop))
}

/// A tensor as the function being compiled has it, if it is one of its arguments.
pub(crate) fn inside<'py>(tensor: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let py = tensor.py();
    let find = |n: &mut TraceDeps| {
        let argument = n.arguments.iter().find(|a| a.outside.bind(py).is(&tensor));
        argument.map(|a| a.inside.bind(py).clone().into_any())
    };
    with(find).flatten().unwrap_or(tensor)
}

/// What has the gradient of a place that holds this value: of an argument, what it held first, however it was changed since.
pub(crate) fn with_gradient(place: &PyTensor, value: Tensor) -> Tensor {
    if !value.is_traced() {
        return value;
    }
    let find = |n: &mut TraceDeps| {
        let argument = n.arguments.iter().find(|a| std::ptr::eq(a.inside.get(), place));
        argument.filter(|a| a.given.is_leaf() && a.given.requires_grad()).map(|a| a.given.clone())
    };
    with(find).flatten().unwrap_or(value)
}

/// Remembers that the function being compiled depends on whether a tensor from outside requires gradients, as it did first.
pub(crate) fn note_requirement(t: &Tensor, on: bool) {
    let note = |n: &mut TraceDeps| {
        let known = &mut n.of_tensors.required;
        if !known.iter().any(|(other, _)| other.is_same(t)) {
            known.push((t.clone(), on));
        }
    };
    if t.is_cell() {
        with(note);
    }
}

/// Remembers that it depends on the elements of a tensor from outside.
pub(crate) fn note_elements(t: &Tensor) -> gradus::Result<()> {
    let was = t.to_bytes()?;
    with(|n| n.of_tensors.elements.push((t.clone(), was, t.version().into())));
    Ok(())
}

/// Has the function being compiled depend on what another gives: it must be equal at each call.
#[pyfunction]
pub(crate) fn _note_guard(f: Py<PyAny>) {
    with(|n| n.functions.push(f));
}

/// Has the function being compiled depend on what stands in a place (`gradus._Guard`).
#[pyfunction]
pub(crate) fn _note_place(
    kind: &str,
    owner: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<()> {
    reads(owner.py()).map_or(Ok(()), |reads| reads.call_method1("guard", (kind, owner, key, name)).map(drop))
}

/// Has a function called when the trace of the function being compiled is over, with what has looked at it (`gradus._reads.Reads`).
#[pyfunction]
pub(crate) fn _after_trace(f: &Bound<'_, PyAny>) -> PyResult<()> {
    reads(f.py()).map_or(Ok(()), |reads| reads.call_method1("undo", (f,)).map(drop))
}

/// Whether the function being compiled has written to a tensor from outside.
#[pyfunction]
pub(crate) fn _is_rewritten(t: &Bound<'_, PyTensor>) -> bool {
    gradus::is_rewritten(&t.get().held())
}

/// Whether a function is being compiled.
#[pyfunction]
pub(crate) fn _is_compiling() -> bool {
    is_compiling()
}

/// Has a function called before each run of the function being compiled, with whether that is the call it is traced for: numbers
/// are then as they were in the trace. It may give one that takes back what it did, in case that the run fails.
#[pyfunction]
pub(crate) fn _before_run(f: Py<PyAny>) {
    with(|n| n.before.push(f));
}

/// What a program depends on in a module.
fn settings<'py>(module: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    module.call_method0("_settings")
}

/// Looks at what a function does from outside, from its beginning to its end.
pub(crate) struct Watch<'py> {
    reads: Bound<'py, PyAny>,
    ended: bool,
}

impl<'py> Watch<'py> {
    pub(crate) fn begin(
        f: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        tensors: Vec<Argument>,
    ) -> PyResult<Watch<'py>> {
        let reads = f.py().import("gradus._reads")?.getattr("Reads")?.call1((f, arguments))?;
        let (modules, functions, before) = (Vec::new(), Vec::new(), Vec::new());
        let deps = TraceDeps {
            modules,
            functions,
            before,
            reads: reads.clone().unbind(),
            arguments: tensors,
            of_tensors: OfTensors::default(),
            begun: gradus::traces_begun(),
            made: Vec::new(),
        };
        TRACE_DEPS.with(|n| n.borrow_mut().push(deps));
        let watch = Watch { reads, ended: false };
        watch.reads.call_method0("__enter__")?;
        Ok(watch)
    }

    /// Looks no longer, and says what was found.
    pub(crate) fn end(mut self) -> PyResult<Found<Given>> {
        let deps = self.leave();
        let py = self.reads.py();
        let (mut guards, mut changed, mut rebound) = (Vec::new(), Vec::new(), Vec::new());
        let (mut left, mut undo) = (Vec::new(), Vec::new());
        changed.extend(self.reads.getattr("passing")?.extract::<Vec<String>>()?);
        for guard in self.reads.getattr("guards")?.try_iter()? {
            let guard = guard?.cast_into::<Guard>()?;
            let now = guard.get().now(py);
            let tensor = now.as_ref().and_then(|v| v.cast::<PyTensor>().ok());
            let traced =
                tensor.filter(|t| t.get().held().is_traced()).map(|t| t.get().value(py)).transpose()?;
            if guard.get().holds(py) {
                guards.push(guard.unbind());
            } else if let Some(value) = traced {
                let before = guard.get().restore(py)?.and_then(|v| v.cast_into::<PyTensor>().ok());
                rebound.push((guard.unbind(), value, before.map(Bound::unbind)));
            } else {
                if let Some(now) = &now {
                    traced_in(now, 0, &mut left)?;
                }
                changed.push(guard.get().name.clone());
                undo.push(guard.clone().unbind());
                guards.push(guard.unbind());
            }
        }
        let Some(deps) = deps else {
            return Err(crate::error::runtime_error("jit: traces ended out of order"));
        };
        let looked = CHANGES.load(Ordering::Relaxed).into();
        for (module, was) in &deps.modules {
            let (module, was) = (module.bind(py), was.bind(py));
            let now = settings(module)?;
            if !now.eq(was)? {
                for (now, was) in now.try_iter()?.zip(was.try_iter()?) {
                    let (now, was) = (now?, was?);
                    if !now.eq(&was)? {
                        changed.push(format!("{}.{}", module.get_type().name()?, now.get_item(0)?));
                    }
                }
            }
        }
        let functions =
            deps.functions.into_iter().map(|f| gradus::outside_traces(|| f.call0(py)).map(|now| (f, now)));
        let others = functions.collect::<PyResult<_>>()?;
        if deps.made.iter().any(gradus::is_rewritten) {
            changed.push("a leaf of its own".to_string());
        }
        let of_tensors = deps.of_tensors;
        if of_tensors.required.iter().any(|(t, was)| t.requires_grad() != *was) {
            changed.push("requires_grad".to_string());
        }
        let guards = Guards { guards, modules: deps.modules, looked, others, of_tensors };
        Ok(Found { guards, changed, undo, left, rebound, before: deps.before })
    }

    fn leave(&mut self) -> Option<TraceDeps> {
        if self.ended {
            return None;
        }
        self.ended = true;
        let none = self.reads.py().None();
        // There is nothing to do if a profiler cannot be put back.
        let _ = self.reads.call_method1("__exit__", (&none, &none, &none));
        TRACE_DEPS.with(|n| n.borrow_mut().pop())
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What a function did from outside.
pub(crate) struct Found<R> {
    pub(crate) guards: Guards,
    /// What it changed: the program is for no other call.
    pub(crate) changed: Vec<String>,
    /// Where these stand, to put back what was there.
    pub(crate) undo: Vec<Py<Guard>>,
    /// Tensors that it left in containers.
    pub(crate) left: Vec<Py<PyTensor>>,
    /// Places outside that it gave another tensor.
    pub(crate) rebound: Vec<R>,
    pub(crate) before: Vec<Py<PyAny>>,
}

impl<R> Found<R> {
    /// The same with something else about each place.
    pub(crate) fn map<S>(self, f: impl FnMut(R) -> S) -> Found<S> {
        let Found { guards, changed, undo, left, rebound, before } = self;
        Found { guards, changed, undo, left, rebound: rebound.into_iter().map(f).collect(), before }
    }
}

/// A place, the tensor it was given, and the one before.
pub(crate) type Given = (Py<Guard>, Tensor, Option<Py<PyTensor>>);

/// Values that a program depends on, beside what gives them.
pub(crate) struct Guards {
    pub(crate) guards: Vec<Py<Guard>>,
    modules: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// The count of changes up to which modules are known to be as they were.
    looked: AtomicU64,
    others: Vec<(Py<PyAny>, Py<PyAny>)>,
    of_tensors: OfTensors,
}

impl Guards {
    /// What people call the first thing that is not as it was.
    pub(crate) fn other(&self, py: Python<'_>) -> Option<String> {
        self.guards.iter().find(|g| !g.get().holds(py)).map(|g| g.get().name.clone())
    }

    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.of_tensors.hold() || !self.guards.iter().all(|g| g.get().holds(py)) {
            return Ok(false);
        }
        let now = CHANGES.load(Ordering::Relaxed);
        if self.looked.load(Ordering::Relaxed) != now {
            for (module, was) in &self.modules {
                if !settings(module.bind(py))?.eq(was)? {
                    return Ok(false);
                }
            }
            self.looked.store(now, Ordering::Relaxed);
        }
        for (f, was) in &self.others {
            if !f.bind(py).call0()?.eq(was)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
