//! Backward passes and gradient hooks.

use crate::call::{refs, unwrapped};
use crate::error::{raise, runtime_error, store_exception};
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::{Backward, HookHandle};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// Leaves that a backward pass has reached, with functions to call when it is over.
    static WAITING: RefCell<Vec<(Py<PyWeakrefReference>, Py<PyAny>)>> = const { RefCell::new(Vec::new()) };
}

/// Calls the hooks of leaves that a backward pass has reached, if it succeeded.
pub(crate) fn after_backward(py: Python<'_>, done: PyResult<()>) -> PyResult<()> {
    let waiting = WAITING.with(RefCell::take);
    done?;
    for (leaf, hook) in waiting {
        if let Some(leaf) = leaf.bind(py).upgrade() {
            crate::trace_deps::note_function(hook.bind(py))?;
            hook.bind(py).call1((crate::trace_deps::argument_inside(leaf),))?;
        }
    }
    Ok(())
}

/// Forgets the leaves that were reached by a pass that adds nothing to them.
pub(crate) fn forget_reached() {
    drop(WAITING.with(RefCell::take));
}

/// The function of a hook, visible to Python's garbage collector, which may clear it: the function may refer
/// to the hook's own tensor.
pub(crate) struct PythonHook(Mutex<Option<Py<PyAny>>>);

impl PythonHook {
    fn new(function: Py<PyAny>) -> Arc<PythonHook> {
        Arc::new(PythonHook(Mutex::new(Some(function))))
    }

    fn function(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let function = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        function.as_ref().map(|f| f.clone_ref(py))
    }

    /// Visits the functions of hooks that only this tensor keeps alive, for the garbage collector. Never
    /// blocks.
    pub(crate) fn visit(x: &gradus::Tensor, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let mut result = Ok(());
        x.visit_own_hooks(&mut |payload| {
            if let Some(called) = payload.downcast_ref::<PythonHook>()
                && let Ok(function) = called.0.try_lock()
                && let (Some(function), true) = (&*function, result.is_ok())
            {
                result = visit.call(function);
            }
        });
        result
    }

    /// Removes and returns the functions of hooks that only this tensor keeps alive. The caller drops them
    /// without holding a lock.
    pub(crate) fn clear(x: &gradus::Tensor) -> Vec<Py<PyAny>> {
        let mut functions = Vec::new();
        x.visit_own_hooks(&mut |payload| {
            if let Some(called) = payload.downcast_ref::<PythonHook>()
                && let Ok(mut function) = called.0.try_lock()
            {
                functions.extend(function.take());
            }
        });
        functions
    }
}

/// Removes a hook, with `remove()` or at the end of a `with` block.
#[pyclass(name = "_Hook", module = "gradus", frozen)]
pub(crate) struct PyHook(HookHandle);

#[pymethods]
impl PyHook {
    /// Removes the hook: it is not called again.
    fn remove(&self) {
        self.0.remove();
    }

    fn __enter__(slf: Py<PyHook>) -> Py<PyHook> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.0.remove();
    }
}

#[pymethods]
impl PyTensor {
    /// Adds the gradients of this tensor to every leaf it depends on. A tensor that is not a scalar needs
    /// `gradient`.
    #[doc = example!(backward)]
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        &self,
        py: Python<'_>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let x = self.value(py)?;
        if gradient.is_none() && x.requires_grad() && x.numel() != 1 {
            return Err(runtime_error(format!(
                "grad can be implicitly created only for scalar outputs, not for {:?} elements: pass `gradient`, a tensor of \
                 this shape such as ones_like(output), or call backward() of a sum or mean",
                x.shape().to_vec()
            )));
        }
        let how = Backward {
            retain_graph: retain_graph.unwrap_or(create_graph),
            create_graph,
            ..Backward::default()
        };
        // Arrays and lists get the output's dtype.
        let seed = gradient.map(|g| match g.is_instance_of::<PyTensor>() {
            true => g.extract::<T>().map(|g| g.0),
            false => crate::convert::tensor_of(g, Some(x.dtype())),
        });
        let seed = seed.transpose()?;
        let Some(inputs) = inputs.filter(|i| !i.is_none()) else {
            return after_backward(py, raise(py.detach(|| x.backward_as(seed.as_ref(), how))));
        };
        // Accumulates only into these tensors.
        let one = inputs.is_instance_of::<PyTensor>();
        let inputs = if one { vec![inputs.extract::<T>()?.0] } else { unwrapped(inputs)? };
        if inputs.is_empty() {
            return Err(runtime_error("`inputs` argument to `backward()` cannot be empty."));
        }
        let (how, wrt) = (Backward { allow_unused: true, ..how }, refs(&inputs));
        let found = raise(py.detach(|| gradus::autograd::grad(&[&x], &[seed.as_ref()], &wrt, how)))?;
        for (input, new) in inputs.iter().zip(found) {
            let Some(new) = new else { continue };
            let _mode = gradus::set_grad_enabled(create_graph && gradus::is_grad_enabled());
            if !input.is_leaf() {
                input.retain_grad();
            }
            let sum = input.grad().map_or_else(|| new.clone(), |old| &old + &new);
            raise(input.set_grad(Some(&sum)))?;
        }
        after_backward(py, Ok(()))
    }

    /// Calls `hook(gradient)` in every backward pass that reaches this tensor. A result other than `None`
    /// replaces the gradient. `remove()` of the returned handle removes the hook.
    ///
    /// >>> import gradus
    /// >>> x = gradus.ones(2, requires_grad=True)
    /// >>> handle = x.register_hook(lambda g: g * 10)
    /// >>> (x * 3).sum().backward()
    /// >>> x.grad
    /// tensor([30., 30.])
    fn register_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<PyHook> {
        let from_outside = !crate::trace_deps::is_compiling();
        let called = PythonHook::new(hook);
        let payload: gradus::Payload = called.clone();
        let call = move |g: &gradus::Tensor| {
            Python::attach(|py| {
                let Some(hook) = called.function(py) else { return Ok(None) };
                let called = || -> PyResult<Option<gradus::Tensor>> {
                    if from_outside {
                        crate::trace_deps::note_function(hook.bind(py))?;
                    }
                    let new = hook.bind(py).call1((PyTensor::out(g.clone())?,))?;
                    if new.is_none() { Ok(None) } else { Ok(Some(new.extract::<T>()?.0)) }
                };
                called().map_err(store_exception)
            })
        };
        raise(self.value(py)?.register_hook_with(Some(payload), call)).map(PyHook)
    }

    /// Calls `hook(tensor)` after every backward pass that has added to this leaf's `.grad`.
    ///
    /// >>> import gradus
    /// >>> x = gradus.ones(2, requires_grad=True)
    /// >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
    /// >>> (x * 3).sum().backward()
    /// tensor([3., 3.])
    fn register_post_accumulate_grad_hook(slf: &Bound<'_, PyTensor>, hook: Py<PyAny>) -> PyResult<PyHook> {
        let x = slf.get().value(slf.py())?;
        if !x.is_leaf() {
            let why = "post accumulate grad hooks cannot be registered on non-leaf tensors";
            return Err(runtime_error(why));
        }
        // A weak reference, because the leaf holds the hook.
        let leaf = PyWeakrefReference::new(slf)?.unbind();
        let called = PythonHook::new(hook);
        let payload: gradus::Payload = called.clone();
        let reached = move |_: &gradus::Tensor| {
            Python::attach(|py| {
                if let Some(hook) = called.function(py) {
                    WAITING.with(|w| w.borrow_mut().push((leaf.clone_ref(py), hook)));
                }
            });
            Ok(None)
        };
        raise(x.register_hook_with(Some(payload), reached)).map(PyHook)
    }
}
