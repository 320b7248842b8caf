//! Transforms of functions of lists of tensors; `gradus/transforms.py` extends them to functions of nested
//! arguments.

use crate::call::{Function, first, refs, unwrapped, wrap_both, wrapped};
use crate::error::{raise, value_error};
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::{Backward, Keep, LinearMap, ScanOptions, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

type Lists<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

#[pyfunction]
pub(crate) fn _value_and_grad<'py>(ins: &Bound<'py, PyAny>, f: &Bound<'py, PyAny>) -> PyResult<Lists<'py>> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    wrap_both(ins.py(), f.finish(gradus::value_and_grad(&refs(&all), |x| f.call(&[x])))?)
}

/// A linear map from lists of tensors to lists of tensors: the result of `linearize` and `vjp`.
///
/// >>> import gradus
/// >>> y, push = gradus.linearize(lambda x: x * x, gradus.tensor([1.0, 2.0]))
/// >>> push(gradus.ones(2))
/// tensor([2., 4.])
#[pyclass(name = "LinearMap", module = "gradus", frozen)]
pub(crate) struct PyLinearMap(LinearMap);

#[pymethods]
impl PyLinearMap {
    fn __call__<'py>(&self, ins: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let all = unwrapped(ins)?;
        wrapped(ins.py(), &raise((self.0)(&refs(&all)))?)
    }
}

#[pyfunction]
pub(crate) fn _vjp<'py>(
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyList>, PyLinearMap)> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    let (outs, map) = f.finish(gradus::vjp(&refs(&all), |x| f.call(&[x])))?;
    Ok((wrapped(ins.py(), &outs)?, PyLinearMap(map)))
}

#[pyfunction]
pub(crate) fn _linearize<'py>(
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyList>, PyLinearMap)> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    let (outs, map) = f.finish(gradus::linearize(&refs(&all), |x| f.call(&[x])))?;
    Ok((wrapped(ins.py(), &outs)?, PyLinearMap(map)))
}

#[pyfunction]
pub(crate) fn _jvp<'py>(
    ins: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
) -> PyResult<Lists<'py>> {
    let (all, tangents) = (unwrapped(ins)?, unwrapped(tangents)?);
    let f = Function::new(f).on(&all);
    wrap_both(ins.py(), f.finish(gradus::jvp(&refs(&all), &refs(&tangents), |x| f.call(&[x])))?)
}

#[pyfunction]
pub(crate) fn _hvp<'py>(
    ins: &Bound<'py, PyAny>,
    vectors: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let (all, vectors) = (unwrapped(ins)?, unwrapped(vectors)?);
    let f = Function::new(f).on(&all);
    wrapped(ins.py(), &f.finish(gradus::hvp(&refs(&all), &refs(&vectors), |x| f.call(&[x])))?)
}

/// Returns the single result of a function of one tensor.
fn single(f: &Function<'_>, x: &Tensor) -> Tensor {
    let outs = f.call(&[std::slice::from_ref(x)]);
    outs.into_iter()
        .next()
        .unwrap_or_else(|| Tensor::failed(gradus::Error::trace("the function returned no tensor")))
}

#[pyfunction]
pub(crate) fn _jacobian(x: T, f: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    let f = Function::new(f).on(std::slice::from_ref(&x.0));
    let jacobian = || gradus::jacobian(&x.0, |x| single(&f, x));
    PyTensor::out(f.finish(x.0.device().with(jacobian))?)
}

#[pyfunction]
pub(crate) fn _hessian(x: T, f: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    let f = Function::new(f).on(std::slice::from_ref(&x.0));
    let hessian = || gradus::hessian(&x.0, |x| single(&f, x));
    PyTensor::out(f.finish(x.0.device().with(hessian))?)
}

#[pyfunction]
pub(crate) fn _vmap<'py>(
    ins: &Bound<'py, PyAny>,
    axes: Vec<Option<isize>>,
    f: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    wrapped(ins.py(), &f.finish(gradus::vmap(&refs(&all), &axes, |x| f.call(&[x])))?)
}

#[pyfunction]
pub(crate) fn _checkpoint<'py>(
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    wrapped(ins.py(), &f.finish(gradus::checkpoint(&refs(&all), |x| f.call(&[x])))?)
}

#[pyfunction]
pub(crate) fn _custom_vjp<'py>(
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
    rule: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(ins)?;
    let (f, rule) = (Function::new(f).on(&all), Function::new(rule).on(&all));
    let outs = gradus::custom_vjp(&refs(&all), |x| f.call(&[x]), |x, y, g| rule.call(&[x, y, g]));
    let outs = rule.finish(Ok(())).and_then(|()| f.finish(outs))?;
    wrapped(ins.py(), &outs)
}

#[pyfunction]
pub(crate) fn _custom_jvp<'py>(
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
    rule: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(ins)?;
    let (f, rule) = (Function::new(f).on(&all), Function::new(rule).on(&all));
    let outs = gradus::custom_jvp(&refs(&all), |x| f.call(&[x]), |x, y, t| rule.call(&[x, y, t]));
    let outs = rule.finish(Ok(())).and_then(|()| f.finish(outs))?;
    wrapped(ins.py(), &outs)
}

#[pyfunction]
pub(crate) fn _switch<'py>(
    index: T,
    ins: &Bound<'py, PyAny>,
    branches: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(ins)?;
    let branches: Vec<Function<'py>> = branches.iter().map(|f| Function::new(f).on(&all)).collect();
    let closures: Vec<_> = branches.iter().map(|f| move |x: &[Tensor]| f.call(&[x])).collect();
    let each: Vec<gradus::Branch<'_>> = closures.iter().map(|c| c as gradus::Branch<'_>).collect();
    let outs = gradus::switch(&index.0, &refs(&all), &each);
    for f in &branches {
        f.finish(Ok(()))?;
    }
    wrapped(ins.py(), &raise(outs)?)
}

#[pyfunction]
pub(crate) fn _while_loop<'py>(
    init: &Bound<'py, PyAny>,
    bound: Option<usize>,
    condition: &Bound<'py, PyAny>,
    step: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let all = unwrapped(init)?;
    let (condition, step) = (Function::new(condition).on(&all), Function::new(step).on(&all));
    let holds = |x: &[Tensor]| {
        let outs = condition.call(&[x]);
        first(outs)
            .unwrap_or_else(|_| Tensor::failed(gradus::Error::trace("the condition returned no tensor")))
    };
    let outs = gradus::while_loop(&refs(&all), bound, holds, |x| step.call(&[x]));
    condition.finish(Ok(()))?;
    wrapped(init.py(), &step.finish(outs)?)
}

/// `step(carries, slices)` returns the carries and then the outputs.
#[pyfunction]
#[pyo3(signature = (init, inputs, step, reverse=false, length=None, keep=None, unroll=1))]
pub(crate) fn _scan<'py>(
    init: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    step: &Bound<'py, PyAny>,
    reverse: bool,
    length: Option<usize>,
    keep: Option<&Bound<'py, PyAny>>,
    unroll: usize,
) -> PyResult<Lists<'py>> {
    let (carries, stacks) = (unwrapped(init)?, unwrapped(inputs)?);
    let step = Function::new(step).on(if carries.is_empty() { &stacks } else { &carries });
    let keep = match keep {
        None => Keep::All,
        Some(k) => match (k.extract::<usize>(), k.extract::<String>().as_deref()) {
            (Ok(n), _) => Keep::Every(n),
            (_, Ok("sqrt")) => Keep::Sqrt,
            (_, Ok("recursive")) => Keep::Recursive,
            _ => return Err(value_error("keep must be None, a number of steps, 'sqrt' or 'recursive'")),
        },
    };
    let n = carries.len();
    let how = ScanOptions { reverse, keep, length, unroll };
    let outs = gradus::scan(&refs(&carries), &refs(&stacks), how, |c, x| {
        let mut all = step.call(&[c, x]);
        let ys = if all.len() > n { all.split_off(n) } else { Vec::new() };
        (all, ys)
    });
    wrap_both(init.py(), step.finish(outs)?)
}

/// Gradients of outputs for tensors, leaves or not, without changing any `.grad`.
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=false))]
pub(crate) fn _autograd_grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<Vec<Option<T>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let (outs, wrt) = (unwrapped(outputs)?, unwrapped(inputs)?);
    let seeds: Vec<Option<Tensor>> =
        grad_outputs.unwrap_or_default().into_iter().map(|g| g.map(|g| g.0)).collect();
    let seeds: Vec<Option<&Tensor>> = seeds.iter().map(|s| s.as_ref()).collect();
    let how = Backward { retain_graph: retain_graph.unwrap_or(create_graph), create_graph, allow_unused };
    let grads = raise(gradus::autograd::grad(&refs(&outs), &seeds, &refs(&wrt), how));
    crate::hook::forget_reached();
    let grads = grads?;
    let grads = grads.into_iter().map(|g| g.map(PyTensor::out).transpose()).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, grads)
}

/// Sets whether operations are recorded for gradients; returns the previous setting.
#[pyfunction]
pub(crate) fn _set_grad_enabled(on: bool) -> bool {
    let was = gradus::is_grad_enabled();
    std::mem::forget(gradus::set_grad_enabled(on)); // the setting lasts until the next call
    was
}

/// Sets whether backward passes check for NaN; returns the previous setting.
#[pyfunction]
pub(crate) fn _look_for_nan(on: bool) -> bool {
    gradus::autograd::look_for_nan(on)
}

/// The number of threads that compute together.
#[pyfunction]
#[doc = example!(get_num_threads)]
pub(crate) fn get_num_threads() -> usize {
    gradus::threads()
}

/// Sets the number of threads that compute together; a running computation is not affected.
#[pyfunction]
#[doc = example!(set_num_threads)]
pub(crate) fn set_num_threads(py: Python<'_>, num: usize) -> PyResult<()> {
    if num == 0 {
        return Err(crate::error::runtime_error("set_num_threads expects a positive integer"));
    }
    py.detach(|| gradus::set_threads(num));
    Ok(())
}

/// Returns true if operations are recorded for gradients.
#[doc = example!(is_grad_enabled)]
#[pyfunction]
pub(crate) fn is_grad_enabled() -> bool {
    gradus::is_grad_enabled()
}

/// Returns true if a function is being traced.
#[doc = example!(is_tracing)]
#[pyfunction]
pub(crate) fn is_tracing() -> bool {
    gradus::is_tracing()
}

/// Calls a function outside of all traces: the tensors it makes are data.
#[pyfunction]
pub(crate) fn _outside<'py>(f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    gradus::outside_traces(|| f.call0())
}
