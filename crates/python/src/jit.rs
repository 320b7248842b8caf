//! Functions compiled when they are first called with arguments of new types or structure.

use crate::error::{raise, raised};
use crate::graph::PyGraph;
use crate::numbers::Numbers;
use crate::tree::Tree;
use gradus::{Aval, Compiled, Error, Tensor, Whose};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most programs that a function is kept compiled as.
const MOST: usize = 64;

/// What a traced function looked at besides its arguments.
#[derive(Default)]
struct Noted {
    /// Modules that were called.
    modules: Vec<Py<PyAny>>,
    /// Functions whose values it depends on.
    guards: Vec<Py<PyAny>>,
    /// What brings numbers that live in Python up to date before each run.
    before: Vec<Py<PyAny>>,
}

thread_local! {
    static NOTED: RefCell<Vec<Noted>> = const { RefCell::new(Vec::new()) };
}

/// Whether a function is being compiled. What it reads from outside is then an input of the program, not a constant of
/// it: later changes are seen, and changes by the program last.
pub(crate) fn is_compiling() -> bool {
    gradus::is_tracing() && NOTED.with(|n| !n.borrow().is_empty())
}

/// Counts changes of modules: as long as it stays, no module has to be looked at.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Says that a module has other settings or members than before.
#[pyfunction]
pub(crate) fn _module_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Remembers that the function being compiled depends on a module.
#[pyfunction]
pub(crate) fn _note_module(module: Py<PyAny>) {
    NOTED.with(|n| {
        if let Some(noted) = n.borrow_mut().last_mut()
            && !noted.modules.iter().any(|m| m.is(&module))
        {
            noted.modules.push(module);
        }
    });
}

/// Has the function being compiled depend on what another gives: it must be equal at each call.
#[pyfunction]
pub(crate) fn _note_guard(f: Py<PyAny>) {
    NOTED.with(|n| {
        if let Some(noted) = n.borrow_mut().last_mut() {
            noted.guards.push(f);
        }
    });
}

/// Values that a program depends on, beside what gives them.
struct Guards {
    modules: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// The count of changes up to which modules are known to be as they were.
    looked: AtomicU64,
    others: Vec<(Py<PyAny>, Py<PyAny>)>,
}

impl Guards {
    fn of(py: Python<'_>, noted: &Noted) -> PyResult<Guards> {
        let looked = CHANGES.load(Ordering::Relaxed).into();
        let modules = noted.modules.iter().map(|m| Ok((m.clone_ref(py), settings(m.bind(py))?.unbind())));
        let others = noted.guards.iter().map(|f| Ok((f.clone_ref(py), f.call0(py)?)));
        let modules = modules.collect::<PyResult<_>>()?;
        Ok(Guards { modules, looked, others: others.collect::<PyResult<_>>()? })
    }

    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
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

/// What a program depends on in a module.
fn settings<'py>(module: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    module.call_method0("_settings")
}

/// Has a function called before each run of the function being compiled.
#[pyfunction]
pub(crate) fn _before_run(f: Py<PyAny>) {
    NOTED.with(|n| {
        if let Some(noted) = n.borrow_mut().last_mut() {
            noted.before.push(f);
        }
    });
}

/// One compiled program.
struct Program {
    arguments: Tree,
    types: Vec<Aval>,
    /// What brings numbers that live in Python up to date before each run.
    before: Vec<Py<PyAny>>,
    guards: Guards,
    /// What it read from outside by name.
    numbers: Numbers,
    /// Arguments that it changes in place, by number; their new values come last of its results.
    changed: Vec<usize>,
    /// Gradients that it reads or leaves behind; values of these come behind those.
    gradients: Vec<Gradient>,
    /// Which arguments required gradients and were leaves, if it depends on that.
    arguments_required: Option<Vec<(bool, bool)>>,
    /// Which cells required gradients: their freezing makes another program.
    required: Vec<bool>,
    results: Tree,
    compiled: Compiled,
}

/// A gradient that a function reads or leaves behind.
struct Gradient {
    of: Whose,
    /// A cell for what was there before, or that there was nothing, if the function depends on it.
    read: Option<Option<Tensor>>,
    left: Left,
}

/// What becomes of a gradient.
enum Left {
    AsItWas,
    Forgotten,
    /// There is a value.
    Replaced,
    /// There is a value, which goes on to what the argument was computed from.
    GoesOn,
}

impl Gradient {
    /// Whose it is in a call with these arguments.
    fn tensor<'a>(&'a self, arguments: &'a [Tensor]) -> Option<&'a Tensor> {
        match &self.of {
            Whose::Leaf(leaf) => Some(leaf),
            Whose::Argument(i) => arguments.get(*i),
        }
    }
}

/// Whether a tensor requires gradients, and is a leaf.
fn requirement(t: &Tensor) -> (bool, bool) {
    (t.requires_grad(), t.is_leaf())
}

impl Program {
    /// Whether it is for these arguments; their tensors are left in the list.
    fn fits(&self, arguments: &Bound<'_, PyTuple>, tensors: &mut Vec<Tensor>) -> PyResult<bool> {
        tensors.clear();
        if !self.arguments.matches(arguments.as_any(), tensors)? || tensors.len() != self.types.len() {
            return Ok(false);
        }
        let same = |(t, a): (&Tensor, &Aval)| t.dtype() == a.dtype && t.shape() == a.shape;
        if !tensors.iter().zip(&self.types).all(same) {
            return Ok(false);
        }
        if self.compiled.cells().iter().zip(&self.required).any(|(t, was)| t.requires_grad() != *was) {
            return Ok(false);
        }
        if let Some(was) = &self.arguments_required
            && !tensors.iter().map(requirement).eq(was.iter().copied())
        {
            return Ok(false);
        }
        let other = |g: &Gradient| match &g.read {
            Some(read) => read.is_some() != g.tensor(tensors).and_then(Tensor::grad).is_some(),
            None => false,
        };
        if self.gradients.iter().any(other) {
            return Ok(false);
        }
        if !self.numbers.unchanged(arguments.py()) {
            return Ok(false);
        }
        self.guards.hold(arguments.py())
    }

    fn run(&self, py: Python<'_>, tensors: &[Tensor]) -> PyResult<Vec<Tensor>> {
        for f in &self.before {
            f.bind(py).call0()?;
        }
        for g in &self.gradients {
            if let (Some(Some(cell)), Some(grad)) = (&g.read, g.tensor(tensors).and_then(Tensor::grad)) {
                raise(cell.set_(&grad.detach()))?;
            }
        }
        let ins: Vec<&Tensor> = tensors.iter().collect();
        // A step that changes parameters is done with gradients; anything else may be part of what is differentiated.
        let written = self.compiled.written();
        let recorded = gradus::is_grad_enabled()
            && !written.iter().any(|t| t.requires_grad())
            && tensors.iter().chain(self.compiled.cells()).any(|t| t.requires_grad());
        raise(py.detach(|| {
            if !recorded {
                return self.compiled.run(&ins);
            }
            // As one operation that backward passes know.
            // What it changes is given as it is now.
            let now = |t: &Tensor| if written.iter().any(|w| w.is_same(t)) { t.detach() } else { t.clone() };
            let cells: Vec<Tensor> = self.compiled.cells().iter().map(now).collect();
            let all: Vec<&Tensor> = ins.iter().copied().chain(&cells).collect();
            let mut outs = gradus::call("jit", self.compiled.graph(), &all)?;
            let news = outs.split_off(outs.len() - written.len());
            for (cell, new) in written.iter().zip(&news) {
                cell.set_(&new.detach())?;
            }
            Ok(outs)
        }))
    }
}

impl Program {
    /// Runs it on arguments, puts new values where it changes them, and gives its results as Python's.
    fn call<'py>(&self, arguments: &Bound<'py, PyTuple>, tensors: &[Tensor]) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let mut outs = self.run(py, tensors)?;
        let has_value = |g: &&Gradient| matches!(g.left, Left::Replaced | Left::GoesOn);
        let values = outs.split_off(outs.len() - self.gradients.iter().filter(has_value).count());
        self.leave(py, tensors, &values)?;
        if !self.changed.is_empty() {
            let news = outs.split_off(outs.len() - self.changed.len());
            let mut places = Vec::new();
            self.arguments.places(arguments.as_any(), &mut places);
            for (i, new) in self.changed.iter().zip(news) {
                if let Some(Some(place)) = places.get(*i) {
                    place.get().write(py, new)?;
                }
            }
        }
        self.results.built(py, &mut outs.into_iter())
    }
}

impl Program {
    /// Puts gradients where they belong.
    fn leave(&self, py: Python<'_>, tensors: &[Tensor], values: &[Tensor]) -> PyResult<()> {
        let mut values = values.iter().map(Tensor::detach);
        let mut on = Vec::new();
        for g in &self.gradients {
            let Some(tensor) = g.tensor(tensors) else { continue };
            match g.left {
                Left::AsItWas => {}
                Left::Forgotten => raise(tensor.set_grad(None))?,
                Left::Replaced => raise(tensor.set_grad(values.next().as_ref()))?,
                Left::GoesOn => on.extend(values.next().map(|g| (tensor, g))),
            }
        }
        let on: Vec<(&Tensor, &Tensor)> = on.iter().map(|(t, g)| (*t, g)).collect();
        if on.is_empty() {
            return Ok(());
        }
        let done = py.detach(|| gradus::autograd::backward_from(&on, gradus::Backward::default()));
        crate::hook::after_backward(py, raise(done))
    }
}

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
    programs: Mutex<Vec<Arc<Program>>>,
}

impl PyJit {
    fn programs(&self) -> MutexGuard<'_, Vec<Arc<Program>>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program for these arguments, with their tensors.
    fn program(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<(Arc<Program>, Vec<Tensor>)> {
        let known: Option<Arc<Program>> = self.programs().last().cloned();
        let mut tensors = Vec::new();
        if let Some(p) = known
            && p.fits(arguments, &mut tensors)?
        {
            return Ok((p, tensors));
        }
        let others: Vec<Arc<Program>> = self.programs().clone();
        for p in others.iter().rev().skip(1) {
            if p.fits(arguments, &mut tensors)? {
                let mut all = self.programs();
                all.retain(|other| !Arc::ptr_eq(other, p));
                all.push(p.clone());
                return Ok((p.clone(), tensors));
            }
        }
        tensors.clear();
        let tree = Tree::of(arguments.as_any(), &mut tensors)?;
        let new = Arc::new(self.compile(arguments, tree, &tensors)?);
        let mut all = self.programs();
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push(new.clone());
        Ok((new, tensors))
    }

    fn compile(&self, given: &Bound<'_, PyTuple>, arguments: Tree, tensors: &[Tensor]) -> PyResult<Program> {
        let (py, given) = (given.py(), given.get_item(0)?);
        let types: Vec<Aval> = tensors.iter().filter_map(|t| t.aval()).collect();
        let ins: Vec<&Tensor> = tensors.iter().collect();
        let mut failed: Option<PyErr> = None;
        let mut results = None;
        let mut changed = Vec::new();
        let (mut gradients, mut depends) = (Vec::new(), false);
        NOTED.with(|n| n.borrow_mut().push(Noted::default()));
        let compiled = gradus::compile(&ins, |x| {
            let mut called = || {
                for (i, (inside, outside)) in x.iter().zip(tensors).enumerate() {
                    gradus::traced_argument(inside, i, outside);
                }
                let given = arguments.built(py, &mut x.iter().cloned())?;
                let given = given.cast::<PyTuple>().map_err(PyErr::from)?;
                let (args, kwargs) = (given.get_item(0)?, given.get_item(1)?);
                let args = args.cast::<PyTuple>().map_err(PyErr::from)?;
                let out = self.f.bind(py).call(args, Some(kwargs.cast::<PyDict>().map_err(PyErr::from)?))?;
                let mut outs = Vec::new();
                let tree = Tree::of(&out, &mut outs)?;
                // An argument that holds another value by now was changed in place.
                let mut after = Vec::new();
                if arguments.matches(given.as_any(), &mut after)? && after.len() == x.len() {
                    changed = (0..x.len()).filter(|&i| !after[i].is_same(&x[i])).collect();
                    outs.extend(changed.iter().map(|&i| after[i].clone()));
                }
                for g in gradus::traced_gradients() {
                    let left = match g.left {
                        None => Left::AsItWas,
                        Some(None) => Left::Forgotten,
                        Some(Some(value)) => {
                            outs.push(value);
                            if g.goes_on { Left::GoesOn } else { Left::Replaced }
                        }
                    };
                    gradients.push(Gradient { of: g.of, read: g.read, left });
                }
                depends = gradus::traced_requirements();
                Ok::<_, PyErr>((outs, tree))
            };
            match called() {
                Ok((outs, tree)) => {
                    results = Some(tree);
                    outs
                }
                Err(e) => {
                    failed = Some(e);
                    vec![Tensor::failed(Error::trace("the function raised an exception"))]
                }
            }
        });
        let noted = NOTED.with(|n| n.borrow_mut().pop()).unwrap_or_default();
        if let Some(e) = failed {
            return Err(e);
        }
        let compiled = raise(compiled)?;
        let results = results.ok_or_else(|| raised(&Error::trace("the function gave nothing")))?;
        let required = compiled.cells().iter().map(|t| t.requires_grad()).collect();
        let numbers = Numbers::of(self.f.bind(py), &given.cast_into::<PyTuple>().map_err(PyErr::from)?);
        let guards = Guards::of(py, &noted)?;
        let arguments_required = depends.then(|| tensors.iter().map(requirement).collect());
        Ok(Program {
            arguments,
            types,
            before: noted.before,
            guards,
            numbers,
            changed,
            gradients,
            arguments_required,
            required,
            results,
            compiled,
        })
    }
}

/// A text inside of HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Arguments as one tuple.
fn all<'py>(
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
        Ok(PyJit { f: f.unbind(), programs: Mutex::new(Vec::new()) })
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
        let arguments = all(args, kwargs)?;
        let (program, tensors) = self.program(&arguments)?;
        program.call(&arguments, &tensors)
    }

    /// Bound to an object, as methods are.
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
        Ok(PyGraph(self.program(&all(args, kwargs)?)?.0.compiled.graph().clone()))
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

    /// What running it costs for arguments like these: kernels, arithmetic, memory.
    #[pyo3(signature = (*args, **kwargs))]
    fn explain<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        Ok(self.program(&all(args, kwargs)?)?.0.compiled.explain())
    }

    /// The function itself.
    #[getter]
    fn __wrapped__(&self, py: Python<'_>) -> Py<PyAny> {
        self.f.clone_ref(py)
    }

    #[getter]
    fn __name__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.f.bind(py).getattr("__name__")
    }

    #[getter]
    fn __doc__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.f.bind(py).getattr("__doc__")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("gradus.jit({})", self.f.bind(py).repr()?))
    }

    /// In a notebook: the graph of the program that ran last, as a picture; before there is one, the function's name.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let last = self.programs().last().cloned();
        match last {
            Some(program) => Ok(gradus::draw::svg(program.compiled.graph())),
            None => Ok(format!("<code>{}</code>", escaped(&self.__repr__(py)?))),
        }
    }

    /// How many programs it is compiled as.
    #[getter]
    fn _programs(&self) -> usize {
        self.programs().len()
    }
}
