//! The recorded history of a tensor, under PyTorch's names: `grad_fn` and its `next_functions`.

use crate::error::raise;
use crate::graph::PyGraph;
use crate::print::backward_name;
use crate::tensor::PyTensor;
use gradus::{Operand, RecordedOp, Tensor};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// An operation that was recorded for gradients, or the leaf that a gradient ends at (`AccumulateGrad`).
///
/// >>> import gradus
/// >>> x = gradus.ones(2, requires_grad=True)
/// >>> node = (x * 3).sum().grad_fn
/// >>> node.name(), [f.name() for f, _ in node.next_functions]
/// ('SumBackward0', ['MulBackward0'])
/// >>> product = node.next_functions[0][0]
/// >>> product.next_functions
/// ((<AccumulateGrad object>, 0), (None, 0))
#[pyclass(name = "_Node", module = "gradus", frozen)]
pub(crate) struct PyNode(NodeOrigin);

enum NodeOrigin {
    Op(RecordedOp),
    Leaf(Tensor),
}

impl PyNode {
    fn addr(&self) -> usize {
        match &self.0 {
            NodeOrigin::Op(op) => op.addr(),
            NodeOrigin::Leaf(leaf) => leaf.cell_addr().unwrap_or(0),
        }
    }
}

#[pymethods]
impl PyNode {
    /// The name of the operation in PyTorch's style.
    fn name(&self) -> String {
        match &self.0 {
            NodeOrigin::Op(op) => backward_name(op.name()),
            NodeOrigin::Leaf(_) => "AccumulateGrad".to_string(),
        }
    }

    /// For each operand: the operation that produced it and the number of its result, or `None` for a value
    /// without gradient. Raises an error after a backward pass that did not retain the graph.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let NodeOrigin::Op(op) = &self.0 else { return Ok(PyTuple::empty(py)) };
        let next = |operand: Operand| match operand {
            Operand::Result(op, out) => Ok((Some(Py::new(py, PyNode(NodeOrigin::Op(op)))?), out)),
            Operand::Leaf(leaf) => Ok((Some(Py::new(py, PyNode(NodeOrigin::Leaf(leaf)))?), 0)),
            Operand::Value(_) => Ok((None, 0)),
        };
        PyTuple::new(py, raise(op.operands())?.into_iter().map(next).collect::<PyResult<Vec<_>>>()?)
    }

    /// The leaf, for `AccumulateGrad`.
    #[getter]
    fn variable(&self) -> PyResult<PyTensor> {
        match &self.0 {
            NodeOrigin::Leaf(leaf) => PyTensor::out(leaf.clone()),
            NodeOrigin::Op(_) => {
                Err(PyAttributeError::new_err(format!("{} has no attribute 'variable'", self.name())))
            }
        }
    }

    /// The number of the operation in the order of recording; a backward pass visits larger numbers first.
    /// `None` for a leaf.
    #[getter]
    fn _order(&self) -> Option<u64> {
        if let NodeOrigin::Op(op) = &self.0 { Some(op.order()) } else { None }
    }

    fn __eq__(&self, other: &PyNode) -> bool {
        self.addr() == other.addr()
    }

    fn __hash__(&self) -> usize {
        self.addr()
    }

    fn __repr__(&self) -> String {
        format!("<{} object>", self.name())
    }
}

#[pymethods]
impl PyTensor {
    /// The gradient function of the operation that produced this tensor; `None` for a leaf.
    ///
    /// >>> import gradus
    /// >>> x = gradus.ones(2, requires_grad=True)
    /// >>> x.exp().grad_fn.name()
    /// 'ExpBackward0'
    #[getter]
    fn grad_fn(&self, py: Python<'_>) -> PyResult<Option<PyNode>> {
        Ok(self.value(py)?.recorded().map(|(op, _)| PyNode(NodeOrigin::Op(op))))
    }

    /// The recorded operations that computed this tensor, as a graph that can be printed, drawn and written
    /// as equations. Leaves are its inputs.
    ///
    /// >>> import gradus
    /// >>> x = gradus.ones(2, requires_grad=True)
    /// >>> print((x * x).sum().history().equations(), end="")
    /// T1[i] = x[i] x[i]
    /// Y = T1[i]
    /// export Y
    fn history(&self, py: Python<'_>) -> PyResult<PyGraph> {
        Ok(PyGraph(Arc::new(raise(self.value(py)?.history())?.graph().clone())))
    }

    /// Names the tensor: traced graphs, errors and histories use the name. Views and constants have none.
    fn _set_name(&self, name: &str) {
        if !self.is_view() {
            self.stored_value().named(name);
        }
    }

    /// The name of the tensor in traced graphs, or `None`.
    #[getter]
    fn _name(&self) -> Option<String> {
        self.stored_value().name().map(|name| name.to_string())
    }
}
