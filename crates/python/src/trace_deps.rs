//! Records what a function depends on outside of its arguments, while it is traced to be compiled.
//! `_reads.py` watches the function's frames and reports reads; the result is [`OutsideEffects`], whose
//! guards decide when the program applies.

use crate::guard::{Guard, traced_in};
use crate::tensor::PyTensor;
use gradus::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Dependencies of a traced function in addition to its arguments.
struct TraceDeps {
    /// Modules that were called, and their settings at that time.
    modules: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// Functions on whose results the traced function depends.
    functions: Vec<Py<PyAny>>,
    /// Functions that update Python numbers before each run. Each returns a function that undoes its update,
    /// or None.
    before: Vec<Py<PyAny>>,
    /// The observer of the traced function's frames (`gradus._reads.Reads`).
    reads: Py<PyAny>,
    arguments: Vec<Argument>,
    of_tensors: TensorProperties,
    /// Number of traces begun when the function was traced, its own included.
    begun: u64,
    /// Leaves that the traced function has made.
    made: Vec<Tensor>,
}

/// Properties of tensors from outside, in addition to their types, that a function depends on.
#[derive(Default)]
struct TensorProperties {
    /// The tensors whose `requires_grad` the function read, each with the value it read.
    required: Vec<(Tensor, bool)>,
    /// The tensors whose elements the function read, each with these bytes and its version when the bytes were
    /// last compared.
    elements: Vec<(Tensor, Vec<u8>, AtomicU64)>,
}

impl TensorProperties {
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

/// A tensor argument of a function.
pub(crate) struct Argument {
    pub(crate) outside: Py<PyTensor>,
    pub(crate) inside: Py<PyTensor>,
    /// The initial value of `inside`.
    pub(crate) initial: Tensor,
}

thread_local! {
    static TRACE_DEPS: RefCell<Vec<TraceDeps>> = const { RefCell::new(Vec::new()) };
}

/// Returns true if a function is being compiled. Tensors that it reads from outside are then inputs of the
/// program, not constants: later changes are seen, and changes by the program persist.
pub(crate) fn is_compiling() -> bool {
    gradus::is_tracing() && TRACE_DEPS.with(|n| !n.borrow().is_empty())
}

/// Returns true if a tensor that was made when `trace_count` traces had begun existed before the function being
/// compiled.
pub(crate) fn is_from_outside(trace_count: u64) -> bool {
    with(|n| trace_count < n.begun).unwrap_or(true)
}

/// Registers a new leaf: if a function being compiled makes a leaf and changes it, the program is used for
/// one call only.
pub(crate) fn register_leaf(leaf: Tensor) -> Tensor {
    if is_compiling() && leaf.is_cell() {
        with(|n| n.made.push(leaf.clone()));
    }
    leaf
}

/// Counts changes of modules. While the count is unchanged, no module needs to be checked.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Registers that a module's settings or members have changed.
#[pyfunction]
pub(crate) fn _module_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Calls `f` with the dependencies of the innermost function being compiled, if any.
fn with<R>(f: impl FnOnce(&mut TraceDeps) -> R) -> Option<R> {
    TRACE_DEPS.with(|n| n.borrow_mut().last_mut().map(f))
}

fn reads(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    with(|n| n.reads.bind(py).clone())
}

/// Registers that the function being compiled depends on a module, in its current state.
#[pyfunction]
pub(crate) fn _note_module(module: &Bound<'_, PyAny>) -> PyResult<()> {
    let known = with(|n| n.modules.iter().any(|(m, _)| m.is(module)));
    let (Some(false), Some(reads)) = (known, reads(module.py())) else { return Ok(()) };
    reads.call_method1("module", (module,))?;
    let now = settings(module)?.unbind();
    with(|n| n.modules.push((module.clone().unbind(), now)));
    Ok(())
}

/// Registers the call of a function that the observer cannot reach by a name, such as a hook.
pub(crate) fn note_function(f: &Bound<'_, PyAny>) -> PyResult<()> {
    reads(f.py()).map_or(Ok(()), |reads| reads.call_method1("function", (f,)).map(drop))
}

/// Returns the tensor that represents an argument inside the function being compiled, or the tensor itself.
pub(crate) fn argument_inside<'py>(tensor: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let py = tensor.py();
    let find = |n: &mut TraceDeps| {
        let argument = n.arguments.iter().find(|a| a.outside.bind(py).is(&tensor));
        argument.map(|a| a.inside.bind(py).clone().into_any())
    };
    with(find).flatten().unwrap_or(tensor)
}

/// Returns the value that has the gradient of a tensor: for an argument its initial value, even if the
/// argument was changed since.
pub(crate) fn with_gradient(tensor: &PyTensor, value: Tensor) -> Tensor {
    if !value.is_traced() {
        return value;
    }
    let find = |n: &mut TraceDeps| {
        let argument = n.arguments.iter().find(|a| std::ptr::eq(a.inside.get(), tensor));
        argument.filter(|a| a.initial.is_leaf() && a.initial.requires_grad()).map(|a| a.initial.clone())
    };
    with(find).flatten().unwrap_or(value)
}

/// Registers that the function being compiled depends on whether a tensor from outside requires gradients.
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

/// Registers that the function depends on the elements of a tensor from outside.
pub(crate) fn note_elements(t: &Tensor) -> gradus::Result<()> {
    let was = t.to_bytes()?;
    with(|n| n.of_tensors.elements.push((t.clone(), was, t.version().into())));
    Ok(())
}

/// Makes the function being compiled depend on the result of another function, which must be equal at each
/// call.
#[pyfunction]
pub(crate) fn _note_guard(f: Py<PyAny>) {
    with(|n| n.functions.push(f));
}

/// Makes the function being compiled depend on the value at a location (`gradus._Guard`).
#[pyfunction]
pub(crate) fn _note_location(
    kind: &str,
    owner: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<()> {
    reads(owner.py()).map_or(Ok(()), |reads| reads.call_method1("guard", (kind, owner, key, name)).map(drop))
}

/// Registers a function to call with the observer (`gradus._reads.Reads`) when the trace is over.
#[pyfunction]
pub(crate) fn _after_trace(f: &Bound<'_, PyAny>) -> PyResult<()> {
    reads(f.py()).map_or(Ok(()), |reads| reads.call_method1("undo", (f,)).map(drop))
}

/// Returns true if the function being compiled has written to a tensor from outside.
#[pyfunction]
pub(crate) fn _is_rewritten(t: &Bound<'_, PyTensor>) -> bool {
    gradus::is_rewritten(&t.get().stored_value())
}

/// Returns true if a function is being compiled.
#[pyfunction]
pub(crate) fn _is_compiling() -> bool {
    is_compiling()
}

/// Registers a function to call before each run of the function being compiled. Its argument says whether
/// this is the call for which the function was traced; numbers are then as in the trace. It may return a
/// function that undoes its effects if the run fails.
#[pyfunction]
pub(crate) fn _before_run(f: Py<PyAny>) {
    with(|n| n.before.push(f));
}

/// Returns the settings of a module that a program depends on.
fn settings<'py>(module: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    module.call_method0("_settings")
}

/// Observes what a function reads and changes outside, while it is traced.
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
            of_tensors: TensorProperties::default(),
            begun: gradus::traces_begun(),
            made: Vec::new(),
        };
        TRACE_DEPS.with(|n| n.borrow_mut().push(deps));
        let watch = Watch { reads, ended: false };
        watch.reads.call_method0("__enter__")?;
        Ok(watch)
    }

    /// Stops observing, and returns the findings.
    pub(crate) fn end(mut self) -> PyResult<OutsideEffects<Assignment>> {
        let deps = self.stop();
        let py = self.reads.py();
        let (mut guards, mut changed, mut rebound) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stored, mut undo) = (Vec::new(), Vec::new());
        changed.extend(self.reads.getattr("transient")?.extract::<Vec<String>>()?);
        for guard in self.reads.getattr("guards")?.try_iter()? {
            let guard = guard?.cast_into::<Guard>()?;
            let now = guard.get().now(py);
            let tensor = now.as_ref().and_then(|v| v.cast::<PyTensor>().ok());
            let traced = tensor
                .filter(|t| t.get().stored_value().is_traced())
                .map(|t| t.get().value(py))
                .transpose()?;
            if guard.get().holds(py) {
                guards.push(guard.unbind());
            } else if let Some(value) = traced {
                let before = guard.get().restore(py)?.and_then(|v| v.cast_into::<PyTensor>().ok());
                rebound.push((guard.unbind(), value, before.map(Bound::unbind)));
            } else {
                if let Some(now) = &now {
                    traced_in(now, 0, &mut stored)?;
                }
                changed.push(guard.get().name.clone());
                undo.push(guard.clone().unbind());
                guards.push(guard.unbind());
            }
        }
        let Some(deps) = deps else {
            return Err(crate::error::runtime_error("jit: traces ended out of order"));
        };
        let checked_at = CHANGES.load(Ordering::Relaxed).into();
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
        let functions = functions.collect::<PyResult<_>>()?;
        if deps.made.iter().any(gradus::is_rewritten) {
            changed.push("a leaf of its own".to_string());
        }
        let of_tensors = deps.of_tensors;
        if of_tensors.required.iter().any(|(t, was)| t.requires_grad() != *was) {
            changed.push("requires_grad".to_string());
        }
        let guards = Guards { guards, modules: deps.modules, checked_at, functions, of_tensors };
        Ok(OutsideEffects { guards, changed, undo, stored, rebound, before: deps.before })
    }

    fn stop(&mut self) -> Option<TraceDeps> {
        if self.ended {
            return None;
        }
        self.ended = true;
        let none = self.reads.py().None();
        // A profiler that cannot be restored is ignored.
        let _ = self.reads.call_method1("__exit__", (&none, &none, &none));
        TRACE_DEPS.with(|n| n.borrow_mut().pop())
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Dependencies and effects of a function outside of its arguments.
pub(crate) struct OutsideEffects<R> {
    pub(crate) guards: Guards,
    /// Names of the values that the function both read and changed. If there are any, the program is used for
    /// one call only.
    pub(crate) changed: Vec<String>,
    /// Locations of the changed values, for restoring the old ones.
    pub(crate) undo: Vec<Py<Guard>>,
    /// Tensors that the function stored in containers.
    pub(crate) stored: Vec<Py<PyTensor>>,
    /// Outside locations to which the function assigned another tensor.
    pub(crate) rebound: Vec<R>,
    pub(crate) before: Vec<Py<PyAny>>,
}

impl<R> OutsideEffects<R> {
    /// Maps the entries of `rebound`.
    pub(crate) fn map<S>(self, f: impl FnMut(R) -> S) -> OutsideEffects<S> {
        let OutsideEffects { guards, changed, undo, stored, rebound, before } = self;
        OutsideEffects {
            guards,
            changed,
            undo,
            stored,
            rebound: rebound.into_iter().map(f).collect(),
            before,
        }
    }
}

/// A location, the tensor assigned to it, and the one before.
pub(crate) type Assignment = (Py<Guard>, Tensor, Option<Py<PyTensor>>);

/// Values that a program depends on, with their sources.
pub(crate) struct Guards {
    pub(crate) guards: Vec<Py<Guard>>,
    /// Modules with the settings that they must have.
    modules: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// Value of the change counter when the modules were last found to be unchanged.
    checked_at: AtomicU64,
    /// Functions with the results that they must return.
    functions: Vec<(Py<PyAny>, Py<PyAny>)>,
    of_tensors: TensorProperties,
}

impl Guards {
    /// Returns the name of the first value that has changed.
    pub(crate) fn first_changed(&self, py: Python<'_>) -> Option<String> {
        self.guards.iter().find(|g| !g.get().holds(py)).map(|g| g.get().name.clone())
    }

    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.of_tensors.hold() || !self.guards.iter().all(|g| g.get().holds(py)) {
            return Ok(false);
        }
        let now = CHANGES.load(Ordering::Relaxed);
        if self.checked_at.load(Ordering::Relaxed) != now {
            for (module, was) in &self.modules {
                if !settings(module.bind(py))?.eq(was)? {
                    return Ok(false);
                }
            }
            self.checked_at.store(now, Ordering::Relaxed);
        }
        for (f, was) in &self.functions {
            if !f.bind(py).call0()?.eq(was)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
