//! Graphs as Python objects, which can be printed, drawn and written as equations.

use crate::call::{Function, unwrapped};
use crate::error::raise;
use gradus::ir::graph::Id;
use gradus::ir::transform::{self, Unreachable};
use gradus::{Graph, Tensor};
use pyo3::prelude::*;
use std::sync::Arc;

/// A traced function: operations on tensors, which can be printed, drawn and written as equations.
///
/// >>> import gradus
/// >>> graph = gradus.trace(lambda x: x * x, gradus.ones(3))
/// >>> print(graph.equations(), end="")
/// Y[i] = x[i] x[i]
/// export Y
/// >>> graph.svg().startswith("<svg")
/// True
#[pyclass(name = "Graph", module = "gradus", frozen)]
pub(crate) struct PyGraph(pub(crate) Arc<Graph>);

impl PyGraph {
    /// Returns names of the outputs: `Y`, or `Y0`, `Y1` and so on.
    fn output_names(&self) -> Vec<String> {
        let n = self.0.outputs().len();
        (0..n).map(|i| if n == 1 { "Y".to_string() } else { format!("Y{i}") }).collect()
    }

    /// Returns the inputs that can have gradients.
    fn float_inputs(&self) -> Vec<(String, Id)> {
        let float = |(_, id): &&(String, Id)| self.0.aval(*id).dtype.is_differentiable();
        self.0.inputs().iter().filter(float).cloned().collect()
    }

    /// Returns the graph with the gradients of the first output as additional outputs.
    fn with_gradient(&self) -> PyResult<Graph> {
        let Some(loss) = self.0.outputs().first().copied() else {
            return Err(crate::error::value_error("a graph without outputs has no gradient"));
        };
        let wrt = self.float_inputs().into_iter().map(|(_, id)| id);
        raise(transform::grad_with_loss(&self.0, loss, wrt, Unreachable::Zeros))
    }
}

#[pymethods]
impl PyGraph {
    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    /// The graph as a picture for notebooks.
    fn _repr_html_(&self) -> String {
        gradus::draw::svg(&self.0)
    }

    /// The graph as SVG. With `grad`, each value is drawn with its gradient. With `order`, nodes are numbered
    /// in the order of evaluation, followed by the gradients in the order of the backward pass.
    ///
    /// >>> import gradus
    /// >>> graph = gradus.trace(lambda x: (x * x).sum(), gradus.ones(3))
    /// >>> [f"({n})" in graph.svg(grad=True, order=True) for n in (1, 2, 3, 4, 5, 6)]
    /// [True, True, True, True, True, False]
    #[pyo3(signature = (grad=false, order=false))]
    fn svg(&self, grad: bool, order: bool) -> PyResult<String> {
        let is_float = |i: &usize| self.0.aval(self.0.inputs()[*i].1).dtype.is_differentiable();
        let wrt: Vec<usize> = (0..self.0.inputs().len()).filter(is_float).collect();
        let options = gradus::draw::Options { wrt: grad.then_some(&wrt), order };
        raise(gradus::draw::svg_with(&self.0, &options))
    }

    /// Names of the inputs: arguments, then tensors from outside of the function.
    ///
    /// >>> import gradus
    /// >>> w = gradus.ones(3, requires_grad=True)
    /// >>> gradus.trace(lambda x: x * w, gradus.ones(3)).inputs
    /// ['x', 'w']
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.0.inputs().iter().map(|(name, _)| name.clone()).collect()
    }

    /// The graph in Graphviz's language.
    fn dot(&self) -> String {
        gradus::draw::dot(&self.0)
    }

    /// The graph as equations; with `grad`, including those of the gradient of its first output, a scalar.
    #[pyo3(signature = (grad=false))]
    pub(crate) fn equations(&self, grad: bool) -> PyResult<String> {
        let mut names = self.output_names();
        let both = if grad { Some(self.with_gradient()?) } else { None };
        if grad {
            names.extend(self.float_inputs().iter().map(|(name, _)| format!("Grad_{name}")));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        raise(gradus::lang::raise(both.as_ref().unwrap_or(&self.0), &names))
    }

    /// The graph of the gradient of the first output, a scalar, for all float inputs.
    fn gradient(&self) -> PyResult<PyGraph> {
        let both = self.with_gradient()?;
        let gradients: Vec<usize> = (self.0.outputs().len()..both.outputs().len()).collect();
        Ok(PyGraph(Arc::new(raise(both.with_outputs(&gradients))?)))
    }

    /// Number of operations.
    fn __len__(&self) -> usize {
        self.0.stats().nodes as usize
    }
}

/// Traces a function of a list of tensors with these names. `after` is called when the function has run, and
/// may name tensors from outside.
#[pyfunction]
pub(crate) fn _trace<'py>(
    names: Vec<String>,
    ins: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
    after: &Bound<'py, PyAny>,
) -> PyResult<PyGraph> {
    let all = unwrapped(ins)?;
    let f = Function::new(f).on(&all);
    let mut failed = None;
    let named: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&all).collect();
    let graph = gradus::trace_named(&named, |x| {
        let outs = f.call(&[x]);
        failed = after.call0().err();
        outs
    });
    let graph = f.finish(graph)?;
    failed.map_or(Ok(()), Err)?;
    Ok(PyGraph(Arc::new(graph)))
}
