//! Functions that are compiled when they are first called with arguments of new types or structure.
//! Takes a Python function; calls run the program for the structure and types of the arguments, tracing it on
//! a miss.
//! `compiled.rs` runs a program, `trace_deps.rs` and `guard.rs` record what it depends on outside of its
//! arguments.

use crate::compiled::{
    CompiledProgram, Gradient, GradientChange, Hooks, Modes, Read, Rebound, TensorRelation, may_share,
    part_of_a_cell, requirement,
};
use crate::device;
use crate::error::{raise, to_exception};
use crate::graph::PyGraph;
use crate::guard::Guard;
use crate::reentrant_lock::ReentrantLock;
use crate::tensor::PyTensor;
use crate::trace_deps::{Argument, OutsideEffects, Watch};
use crate::tree::Tree;
use crate::unary::MoreMethods;
use gradus::{Compiled, Error, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of programs that are kept for a function.
const MAX_PROGRAMS: usize = 64;

/// Number of consecutive calls without a reusable program after which calls run uncompiled.
const MAX_MISSES: usize = 8;

/// A function that runs as one compiled program for each structure and types of its arguments.
///
/// >>> import gradus
/// >>> @gradus.jit
/// ... def f(x):
/// ...     return (x * 2).exp().sum()
/// >>> f(gradus.tensor([0.0, 0.5]))
/// tensor(3.7183)
#[pyclass(name = "jit", module = "gradus", frozen, dict)]
pub(crate) struct PyJit {
    f: Py<PyAny>,
    programs: Mutex<Vec<Arc<CompiledProgram>>>,
    /// Number of consecutive calls that found no reusable program: the guards of existing ones failed, or no
    /// program could be kept.
    misses: AtomicUsize,
    lock: ReentrantLock,
}

impl PyJit {
    fn programs(&self) -> MutexGuard<'_, Vec<Arc<CompiledProgram>>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the program for these arguments, and their tensors.
    fn program(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<(Arc<CompiledProgram>, Vec<Tensor>)> {
        match self.find_cached(arguments)? {
            CachedProgram::Program(program, tensors) => Ok((program, tensors)),
            other => self.new_program(arguments, &other),
        }
    }

    fn find_cached(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<CachedProgram> {
        let last: Option<Arc<CompiledProgram>> = self.programs().last().cloned();
        let Some(last) = last else { return Ok(CachedProgram::Nothing) };
        let mut tensors = Vec::new();
        let mut like = last.matches_types(arguments, &mut tensors)?.then(|| last.clone());
        if like.is_some() && last.applies(arguments, &tensors)? {
            self.misses.store(0, Ordering::Relaxed);
            return Ok(CachedProgram::Program(last, tensors));
        }
        let others: Vec<Arc<CompiledProgram>> = self.programs().clone();
        for p in others.iter().rev().skip(1) {
            if !p.matches_types(arguments, &mut tensors)? {
                continue;
            }
            if p.applies(arguments, &tensors)? {
                let mut all = self.programs();
                all.retain(|other| !Arc::ptr_eq(other, p));
                all.push(p.clone());
                self.misses.store(0, Ordering::Relaxed);
                return Ok(CachedProgram::Program(p.clone(), tensors));
            }
            like.get_or_insert_with(|| p.clone());
        }
        Ok(like.map_or(CachedProgram::Nothing, CachedProgram::Like))
    }

    /// Returns true if the next call should run uncompiled, because the last programs were used for one call
    /// only. Compilation is retried with decreasing frequency.
    fn runs_plain(&self) -> bool {
        let n = self.misses.load(Ordering::Relaxed);
        n > MAX_MISSES && !n.is_power_of_two()
    }

    fn new_program(
        &self,
        arguments: &Bound<'_, PyTuple>,
        known: &CachedProgram,
    ) -> PyResult<(Arc<CompiledProgram>, Vec<Tensor>)> {
        let (py, n) = (arguments.py(), self.misses.load(Ordering::Relaxed));
        let like = if let CachedProgram::Like(program) = known { Some(program) } else { None };
        if let (Some(like), MAX_MISSES) = (like, n) {
            let name = like
                .guards
                .first_changed(py)
                .map_or("an outside value that it reads".to_string(), |name| format!("`{name}`"));
            warn(
                py,
                &format!(
                    "jit: {name} is different at every call, so the function runs without being compiled"
                ),
            )?;
        }
        let mut tensors = Vec::new();
        let tree = Tree::of(arguments.as_any(), &mut tensors)?;
        let (new, changed, lasting) = self.compile(arguments, tree, &tensors)?;
        if let (Some(name), 1) = (changed.first(), n) {
            let text = format!(
                "jit: the function reads and changes `{name}`, so it runs without being compiled; keep the changing \
                 value in a tensor, or change it outside of the function"
            );
            warn(py, &text)?;
        }
        self.misses.store(if lasting && like.is_none() { 0 } else { n + 1 }, Ordering::Relaxed);
        let new = Arc::new(new);
        if lasting {
            let mut all = self.programs();
            if all.len() >= MAX_PROGRAMS {
                all.remove(0);
            }
            all.push(new.clone());
        }
        Ok((new, tensors))
    }

    /// Compiles a program for these arguments. Returns the program, the names of outside values that the
    /// function both reads and changes, and whether other calls can use the program.
    fn compile(
        &self,
        arguments: &Bound<'_, PyTuple>,
        tree: Tree,
        tensors: &[Tensor],
    ) -> PyResult<(CompiledProgram, Vec<String>, bool)> {
        let py = arguments.py();
        let mut objects = Vec::new();
        tree.objects(arguments.as_any(), &mut objects);
        let related = TensorRelation::of(py, &objects);
        let mut found_outside: Vec<(usize, Tensor)> = Vec::new();
        let mut rooted = false;
        let (traced, compiled) = loop {
            let trace = Trace { f: self.f.bind(py), tree: &tree, tensors, objects: &objects, rooted };
            let (traced, compiled) = trace.run(&found_outside)?;
            let writes = !traced.changed.is_empty() || !compiled.written().is_empty();
            // Views of a tensor that is written must be views inside the trace too. An argument that is also
            // read from outside must be the same leaf there. If one of them is not, traces the function again.
            let views = objects.iter().flatten().any(|p| part_of_a_cell(py, p, compiled.cells()));
            let views = writes
                && (views
                    || (!traced.changed.is_empty() && matches!(related, TensorRelation::ViewsOfOneTensor)));
            let held = |(i, t): (usize, &Tensor)| match &objects[i] {
                Some(object) if !object.get().is_view() => (i, object.get().stored_value()),
                _ => (i, t.clone()),
            };
            let both: Vec<(usize, Tensor)> = tensors
                .iter()
                .enumerate()
                .map(held)
                .filter(|(_, t)| may_share(t, traced.differentiates, writes))
                .filter(|(_, t)| compiled.cells().iter().any(|cell| cell.is_same(t)))
                .collect();
            if both.len() == found_outside.len() && views <= rooted {
                break (traced, compiled);
            }
            if !traced.found.stored.is_empty() {
                let why = "jit: the function stores tensors in an outside container, and also reads arguments from \
                           outside; return the tensors, and store them after the call";
                return Err(crate::error::runtime_error(why));
            }
            for guard in &traced.found.undo {
                guard.get().restore(py)?;
            }
            (found_outside, rooted) = (both, rooted || views);
        };
        let Traced { results, changed, gradients, reads_requires_grad, differentiates, found } = traced;
        let OutsideEffects { mut guards, changed: unstable, undo: _, stored, rebound, before } = found;
        let twins = if let TensorRelation::Twins(twins) = related { twins } else { Vec::new() };
        let lasting = unstable.is_empty() && !rooted;
        let rebound =
            rebound.into_iter().map(|(location, old)| read_of(py, location, old, &compiled, &guards.guards));
        let rebound = rebound.collect::<PyResult<Vec<Rebound>>>()?;
        guards.guards.shrink_to_fit();
        let program = CompiledProgram {
            types: tensors.iter().filter_map(|t| t.aval()).collect(),
            modes: Modes::now(),
            before,
            guards,
            twins,
            found_outside,
            changed,
            gradients,
            arguments_required: reads_requires_grad.then(|| tensors.iter().map(requirement).collect()),
            required: compiled.cells().iter().map(|t| t.requires_grad()).collect(),
            hooks: Hooks::of(tensors.iter().chain(compiled.cells())),
            rebound,
            stored,
            differentiates,
            results,
            compiled,
            arguments: tree,
        };
        Ok((program, unstable, lasting))
    }
}

/// The result of looking up a program.
enum CachedProgram {
    /// The program for the call, with the tensors of its arguments.
    Program(Arc<CompiledProgram>, Vec<Tensor>),
    /// A program for arguments of these types, but for another outside state.
    Like(Arc<CompiledProgram>),
    Nothing,
}

/// Issues a warning with the location of the call of the function.
fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = std::ffi::CString::new(text)?;
    PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), &text, 1)
}

/// Determines how the function reads a location that it reassigns. If the tensor there is an input of the
/// program, the program keeps the cell. The tensor gets a copy of the cell, because other code may use the
/// tensor.
fn read_of(
    py: Python<'_>,
    location: Py<Guard>,
    old: Option<Py<PyTensor>>,
    compiled: &Compiled,
    others: &[Py<Guard>],
) -> PyResult<Rebound> {
    let Some(old) = old else { return Ok(Rebound { location, read: Read::Original }) };
    let cell = old.get().stored_value();
    if !compiled.cells().iter().any(|c| c.is_same(&cell)) {
        return Ok(Rebound { location, read: if old.get().is_view() { Read::Original } else { Read::Any } });
    }
    if old.get().is_view() || others.iter().any(|g| g.get().is_of(py, &old)) {
        return Ok(Rebound { location, read: Read::Original });
    }
    let new = cell.detach().copied();
    let new = if cell.requires_grad() { new.requires_grad_() } else { new.cell() };
    raise(new.set_grad(cell.grad().as_ref()))?;
    old.get().rebind(new);
    Ok(Rebound { location, read: Read::From(cell) })
}

/// A function about to be traced.
struct Trace<'a, 'py> {
    f: &'a Bound<'py, PyAny>,
    tree: &'a Tree,
    tensors: &'a [Tensor],
    objects: &'a [Option<Bound<'py, PyTensor>>],
    /// If true, arguments that are views are views of the same tensors inside the trace.
    rooted: bool,
}

/// Results of tracing a function, except its graph.
struct Traced {
    results: Tree,
    changed: Vec<usize>,
    gradients: Vec<Gradient>,
    reads_requires_grad: bool,
    differentiates: bool,
    found: TraceEffects,
}

/// Effects of a function outside of its arguments. Locations are stored without the values assigned to them.
type TraceEffects = OutsideEffects<(Py<Guard>, Option<Py<PyTensor>>)>;

impl Trace<'_, '_> {
    fn run(&self, found_outside: &[(usize, Tensor)]) -> PyResult<(Traced, Compiled)> {
        let (py, tree) = (self.f.py(), self.tree);
        let naming = py.import("gradus._names")?;
        let positional = naming.call_method1("arguments", (self.f, tree.positional()))?;
        let names = tree.argument_names(py, &positional.extract::<Vec<String>>()?);
        let ins: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(self.tensors).collect();
        let _traced = device::Traced::on(device::of_operands(self.tensors));
        let mut failed: Option<PyErr> = None;
        let mut traced = None;
        let called = |x: &[Tensor]| {
            let all = self.call(x, found_outside)?;
            naming.call_method1("name_outside", (self.f,))?;
            Ok(all)
        };
        let compiled = gradus::compile_named(&ins, |x| match called(x) {
            Ok((outs, all)) => {
                traced = Some(all);
                outs
            }
            Err(e) => {
                failed = Some(e);
                vec![Tensor::failed(Error::trace("the function raised an exception"))]
            }
        });
        if let Some(e) = failed {
            return Err(e);
        }
        let compiled = raise(compiled)?;
        Ok((traced.ok_or_else(|| to_exception(&Error::trace("the function returned no tensor")))?, compiled))
    }

    fn call(&self, x: &[Tensor], found_outside: &[(usize, Tensor)]) -> PyResult<(Vec<Tensor>, Traced)> {
        let py = self.f.py();
        let mut x: Vec<Tensor> = x.to_vec();
        for (i, leaf) in found_outside {
            x[*i] = leaf.clone();
        }
        for (i, (inside, outside)) in x.iter().zip(self.tensors).enumerate() {
            gradus::traced_argument(inside, i, outside);
        }
        let inner = self.tree.build(py, &mut x.iter().cloned())?;
        let inner = inner.cast::<PyTuple>().map_err(PyErr::from)?;
        let mut objects = Vec::new();
        self.tree.objects(inner.as_any(), &mut objects);
        let unrelated = self.relate(&objects)?;
        let (args, kwargs) = (inner.get_item(0)?, inner.get_item(1)?);
        let args = args.cast::<PyTuple>().map_err(PyErr::from)?;
        let tensors = self.objects.iter().zip(&objects).zip(&x).filter_map(|((outside, inside), initial)| {
            let (outside, inside) = (outside.clone()?.unbind(), inside.clone()?.unbind());
            Some(Argument { outside, inside, initial: initial.clone() })
        });
        let watch = Watch::begin(self.f, inner, tensors.collect())?;
        let out = self.f.call(args, Some(kwargs.cast::<PyDict>().map_err(PyErr::from)?))?;
        let mut outs = Vec::new();
        let results = Tree::of(&out, &mut outs)?;
        let found = watch.end()?;
        // An argument that holds another value after the call was changed in place.
        let mut after = Vec::new();
        let mut changed = Vec::new();
        if self.tree.matches(inner.as_any(), &mut after)? && after.len() == x.len() {
            changed = (0..x.len()).filter(|&i| unrelated[i] && !after[i].is_same(&x[i])).collect();
            outs.extend(changed.iter().map(|&i| after[i].clone()));
        }
        let mut gradients = Vec::new();
        for g in gradus::traced_gradients() {
            let change = match g.left {
                None => GradientChange::Unchanged,
                Some(None) => GradientChange::Cleared,
                Some(Some(value)) => {
                    outs.push(value);
                    if g.goes_on { GradientChange::Propagated } else { GradientChange::Replaced }
                }
            };
            gradients.push(Gradient { of: g.of, read: g.read, change });
        }
        let found = found.map(|(location, new, old)| {
            outs.push(new);
            (location, old)
        });
        for tensor in &found.stored {
            outs.push(tensor.get().value(py)?);
        }
        let (reads_requires_grad, differentiates) =
            (gradus::traced_requirements(), gradus::traced_differentiates());
        Ok((outs, Traced { results, changed, gradients, reads_requires_grad, differentiates, found }))
    }

    /// Relates arguments inside the trace as they are related outside: the same tensor, or views of one
    /// tensor. Returns for each argument true if it is unrelated to all others.
    fn relate(&self, inside: &[Option<Bound<'_, PyTensor>>]) -> PyResult<Vec<bool>> {
        let py = self.f.py();
        let mut unrelated = vec![true; self.objects.len()];
        for (j, object) in self.objects.iter().enumerate() {
            let (Some(object), Some(Some(own))) = (object, inside.get(j)) else { continue };
            let find = |of: &PyTensor, before: usize| {
                let same = |p: &Option<Bound<'_, PyTensor>>| {
                    p.as_ref().is_some_and(|p| std::ptr::eq::<PyTensor>(p.get(), of))
                };
                self.objects.iter().take(before).position(same)
            };
            let twin = find(object.get(), j).and_then(|i| inside[i].clone());
            if let Some(twin) = twin {
                own.get().become_part(&twin, crate::view::View::At(vec![gradus::Ix::Rest]))?;
                unrelated[j] = false;
                continue;
            }
            let ancestry = object.get().ancestry(py);
            let Some((root, _)) = ancestry.last().filter(|_| self.rooted) else { continue };
            let nearest =
                ancestry.iter().enumerate().find_map(|(k, (of, _))| Some((k, find(of.get(), usize::MAX)?)));
            let (k, mut whole) = match nearest.map(|(k, i)| (k, inside[i].clone())) {
                Some((k, Some(whole))) => (k, whole),
                _ if root.get().stored_value().is_leaf() => (ancestry.len() - 1, root.bind(py).clone()),
                _ => {
                    let why = "jit: cannot write to a view of a computed tensor; pass a clone of it to the function";
                    return Err(crate::error::runtime_error(why));
                }
            };
            for (_, how) in ancestry[1..=k].iter().rev() {
                whole = Bound::new(py, PyTensor::part_of(&whole, how.clone())?)?;
            }
            own.get().become_part(&whole, ancestry[0].1.clone())?;
            unrelated[j] = false;
        }
        Ok(unrelated)
    }
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns positional and keyword arguments as one tuple.
fn argument_tuple<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = args.py();
    let kwargs = kwargs.map_or_else(|| PyDict::new(py), |k| k.clone());
    PyTuple::new(py, [args.as_any(), kwargs.as_any()])
}

#[pymethods]
impl PyJit {
    #[new]
    fn create(f: Bound<'_, PyAny>) -> PyResult<PyJit> {
        if !f.is_callable() {
            return Err(crate::error::type_error("jit takes a function"));
        }
        Ok(PyJit {
            f: f.unbind(),
            programs: Mutex::new(Vec::new()),
            misses: AtomicUsize::new(0),
            lock: ReentrantLock::default(),
        })
    }

    /// Copies the function's docstring; not a getter, which would also replace the class's `__doc__`.
    fn __init__(slf: &Bound<'_, PyJit>, f: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.setattr("__doc__", f.getattr("__doc__")?)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        if gradus::is_tracing() {
            return self.f.bind(py).call(args, kwargs);
        }
        let arguments = argument_tuple(args, kwargs)?;
        // Holds the lock, so that the outside state does not change between the lookup of a program and its
        // run, and waiting threads share one compilation.
        let guard = self.lock.take(py)?;
        let (program, tensors) = match self.find_cached(&arguments)? {
            CachedProgram::Program(program, tensors) => {
                let _guard = program.is_exclusive().then_some(guard);
                return program.call(&arguments, &tensors, false);
            }
            _ if self.runs_plain() => {
                drop(guard); // the function may wait for another thread
                self.misses.fetch_add(1, Ordering::Relaxed);
                return self.f.bind(py).call(args, kwargs);
            }
            other => self.new_program(&arguments, &other)?,
        };
        program.call(&arguments, &tensors, true)
    }

    /// Binds to an object, as methods do.
    fn __get__<'py>(
        slf: &Bound<'py, PyJit>,
        obj: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if obj.is_none() {
            return Ok(slf.clone().into_any());
        }
        slf.py().import("functools")?.getattr("partial")?.call1((slf, obj))
    }

    /// The graph for arguments like these.
    #[pyo3(signature = (*args, **kwargs))]
    fn graph<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<PyGraph> {
        Ok(PyGraph(self.program(&argument_tuple(args, kwargs)?)?.0.compiled.graph().clone()))
    }

    /// The program for arguments like these as equations; with `grad`, followed by those of its gradient.
    #[pyo3(signature = (*args, grad=false, **kwargs))]
    fn equations<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        grad: bool,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        self.graph(args, kwargs)?.equations(grad)
    }

    /// Describes the cost of running it for arguments like these: kernels, arithmetic, memory.
    #[pyo3(signature = (*args, **kwargs))]
    fn explain<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        Ok(self.program(&argument_tuple(args, kwargs)?)?.0.compiled.explain())
    }

    /// Copies and pickles contain the function, which is compiled again. If the function's module contains
    /// this object under the function's name, it is pickled by that name.
    fn __reduce__<'py>(slf: &Bound<'py, PyJit>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, f) = (slf.py(), slf.get().f.bind(slf.py()));
        let name = (f.getattr("__module__").ok(), f.getattr("__qualname__").ok());
        if let (Some(module), Some(name)) = name {
            let find = py.import("gradus.compiled")?.getattr("_found")?;
            let arguments = PyTuple::new(py, [module, name])?;
            if find.call1(&arguments).is_ok_and(|found| found.is(slf)) {
                return Ok((find, arguments));
            }
        }
        Ok((slf.get_type().into_any(), PyTuple::new(py, [f])?))
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, PyJit>, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let f = slf.py().import("copy")?.call_method1("deepcopy", (slf.get().f.bind(slf.py()), memo))?;
        slf.get_type().call1((f,))
    }

    /// The original function.
    #[getter]
    fn __wrapped__(&self, py: Python<'_>) -> Py<PyAny> {
        self.f.clone_ref(py)
    }

    #[getter]
    fn __name__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.f.bind(py).getattr("__name__")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("gradus.jit({})", self.f.bind(py).repr()?))
    }

    /// In a notebook: the graph of the program that ran last, as a picture, or the function's name.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let last = self.programs().last().cloned();
        match last {
            Some(program) => Ok(gradus::draw::svg(program.compiled.graph())),
            None => Ok(format!("<code>{}</code>", escaped(&self.__repr__(py)?))),
        }
    }

    /// Number of compiled programs.
    #[getter]
    fn _programs(&self) -> usize {
        self.programs().len()
    }
}
