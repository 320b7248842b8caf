//! Programs of the equation language, as Python objects.

use crate::convert::tensor_of;
use crate::dtype::DTypeArg;
use crate::error::{raise, type_error, value_error};
use crate::tensor::PyTensor;
use gradus::lang::ast::Name;
use gradus::lang::{Faults, GradientOptions, Program, Settings, Source};
use gradus::{Aval, DType, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::{BTreeMap, HashMap};

/// Tensor equations: checked when the object is created, run on tensors, differentiated into equations.
///
/// >>> import gradus
/// >>> p = gradus.Program("Y[i] = relu(W[i,j] X[j])")
/// >>> p.run(W=[[1., -1.], [2., 1.]], X=[1., 2.])["Y"]
/// tensor([0., 4.])
#[pyclass(name = "Program", module = "gradus", frozen)]
pub(crate) struct PyProgram {
    program: Program,
    text: String,
}

/// Makes an exception from faults, with the lines they refer to.
fn faulty(faults: Faults) -> PyErr {
    let mut text = format!("\n{faults}");
    // Replaces the command's syntax of arguments by Python's.
    while let Some((before, rest)) = text.split_once("--input ")
        && let Some((name, after)) = rest.split_once("=FILE")
    {
        text = format!("{before}run({name}=…){after}");
    }
    let options =
        [("--wrt ", "wrt=['", "']"), ("--complex ", "complex=['", "']"), ("--loss ", "loss='", "'")];
    for (option, open, close) in options {
        while let Some((before, rest)) = text.split_once(option) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            text = format!("{before}{open}{}{close}{}", &rest[..end], &rest[end..]);
        }
    }
    let text = text.replace("--loss", "loss=");
    value_error(text)
}

/// Inputs and settings of a run.
struct Run {
    inputs: BTreeMap<Name, Tensor>,
    settings: Settings,
    wanted: Vec<Name>,
}

impl Run {
    fn avals(&self) -> BTreeMap<Name, Aval> {
        self.inputs.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect()
    }
}

impl PyProgram {
    fn new(program: Program, text: String) -> PyProgram {
        PyProgram { program, text }
    }

    /// Converts the arguments of a run. Inputs are in the dictionary `inputs`, or keywords other than the
    /// settings.
    fn parse_run(
        &self,
        inputs: Option<&Bound<'_, PyDict>>,
        only: Option<Names>,
        dtype: Option<DTypeArg>,
        steps: Option<usize>,
        set: Option<HashMap<String, f64>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Run> {
        let float = dtype.map_or(DType::F32, |d| d.0);
        let mut all = BTreeMap::new();
        for (name, value) in inputs.into_iter().flatten().chain(named.into_iter().flatten()) {
            let t = tensor_of(&value, None)?;
            let own = if t.dtype().is_complex() { float.complex() } else { float };
            let t = if t.dtype().is_differentiable() { t.to_dtype(own) } else { t };
            all.insert(Name::from(name.extract::<String>()?.as_str()), t);
        }
        let set = set.unwrap_or_default().into_iter().map(|(k, v)| (Name::from(k.as_str()), v)).collect();
        let settings = Settings { float, steps, set, ..Settings::default() };
        let wanted = match only {
            None => self.program.outputs(),
            Some(names) => names.0.iter().map(|n| Name::from(n.as_str())).collect(),
        };
        Ok(Run { inputs: all, settings, wanted })
    }

    fn gradient_of(
        &self,
        loss: Option<&str>,
        wrt: Option<Names>,
        merged: bool,
        complex: Option<Names>,
    ) -> PyResult<gradus::lang::Gradient> {
        let names = |names: Option<Names>| {
            names.map_or_else(Vec::new, |n| n.0).iter().map(|n| Name::from(n.as_str())).collect()
        };
        let (wrt, complex) = (names(wrt), names(complex));
        let options = GradientOptions { loss: loss.map(Name::from), wrt, merged, complex };
        self.program.gradient(&options).map_err(faulty)
    }
}

/// One name or a list of names.
struct Names(Vec<String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Names {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Names> {
        if let Ok(one) = obj.extract::<String>() {
            return Ok(Names(vec![one]));
        }
        let why = |_| type_error(format!("expected a name or a list of names, not {}", &*obj));
        obj.extract::<Vec<String>>().map(Names).map_err(why)
    }
}

#[pymethods]
impl PyProgram {
    #[new]
    fn create(text: &str) -> PyResult<PyProgram> {
        let program = Program::parse(Source::new("<program>", text)).map_err(faulty)?;
        Ok(PyProgram::new(program, text.to_string()))
    }

    /// Runs the program. Returns the values of its outputs, or of the names in `only`, by name.
    #[pyo3(signature = (inputs=None, *, only=None, dtype=None, steps=None, set=None, **named))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Option<&Bound<'py, PyDict>>,
        only: Option<Names>,
        dtype: Option<DTypeArg>,
        steps: Option<usize>,
        set: Option<HashMap<String, f64>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let run = self.parse_run(inputs, only, dtype, steps, set, named)?;
        let lowered = self.program.lower(&run.avals(), &run.settings, &run.wanted).map_err(faulty)?;
        let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| run.inputs.get(n)).collect();
        // As one operation, which backward passes and traces support.
        let mut values = raise(py.detach(|| gradus::call("program", &lowered.graph, &ins)))?;
        let checks = values.split_off(lowered.outputs.len());
        if !checks.iter().any(|t| t.is_traced()) {
            lowered.check(&checks).map_err(faulty)?;
        }
        let out = PyDict::new(py);
        for (name, value) in lowered.outputs.iter().zip(values) {
            out.set_item(name.to_string(), PyTensor::out(value)?)?;
        }
        Ok(out)
    }

    /// The program with the gradient equations of the scalar `loss` (the only one, if omitted), for the names
    /// in `wrt`, or for all that it depends on. Inputs are real, except those named in `complex`.
    #[pyo3(signature = (loss=None, wrt=None, merged=false, complex=None))]
    fn grad(
        &self,
        loss: Option<&str>,
        wrt: Option<Names>,
        merged: bool,
        complex: Option<Names>,
    ) -> PyResult<PyProgram> {
        let gradient = self.gradient_of(loss, wrt, merged, complex)?;
        let program = self.program.extended(&gradient.equations).map_err(faulty)?;
        // The gradient of a gradient is appended to a text that is already open.
        let own = self.program.sources.first().is_some_and(|s| *s.text == *self.text);
        let before = if own { self.program.open_text() } else { self.text.clone() };
        let text = format!("{}\n{}", before.trim_end(), gradient.text());
        Ok(PyProgram::new(program, text))
    }

    /// The gradient equations alone, as text. Inputs are real, except those named in `complex`.
    #[pyo3(signature = (loss=None, wrt=None, merged=false, complex=None))]
    fn gradient(
        &self,
        loss: Option<&str>,
        wrt: Option<Names>,
        merged: bool,
        complex: Option<Names>,
    ) -> PyResult<String> {
        Ok(self.gradient_of(loss, wrt, merged, complex)?.text())
    }

    /// Describes the cost of a run: kernels, arithmetic, memory. The cost depends on sizes, so pass the
    /// arguments of `run`: a tensor for each name in `inputs`, in a dictionary or by keyword.
    #[pyo3(signature = (inputs=None, *, only=None, dtype=None, steps=None, set=None, **named))]
    fn explain(
        &self,
        inputs: Option<&Bound<'_, PyDict>>,
        only: Option<Names>,
        dtype: Option<DTypeArg>,
        steps: Option<usize>,
        set: Option<HashMap<String, f64>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let run = self.parse_run(inputs, only, dtype, steps, set, named)?;
        let lowered = self.program.lower(&run.avals(), &run.settings, &run.wanted).map_err(faulty)?;
        Ok(raise(lowered.compiled())?.explain())
    }

    /// The graph of the program for inputs of these types.
    #[pyo3(signature = (inputs=None, *, only=None, dtype=None, steps=None, set=None, **named))]
    fn graph(
        &self,
        inputs: Option<&Bound<'_, PyDict>>,
        only: Option<Names>,
        dtype: Option<DTypeArg>,
        steps: Option<usize>,
        set: Option<HashMap<String, f64>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<crate::graph::PyGraph> {
        let run = self.parse_run(inputs, only, dtype, steps, set, named)?;
        let lowered = self.program.lower(&run.avals(), &run.settings, &run.wanted).map_err(faulty)?;
        Ok(crate::graph::PyGraph(lowered.graph.clone()))
    }

    /// The names that no equation defines.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.program.inputs().map(|n| n.to_string()).collect()
    }

    /// The names that a run returns.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.program.outputs().iter().map(|n| n.to_string()).collect()
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("gradus.Program({:?})", self.text)
    }

    /// The equations as a picture for notebooks.
    fn _repr_html_(&self) -> String {
        self.svg()
    }

    /// The equations as SVG: a box per tensor, with arrows from the tensors that its equations read.
    ///
    /// >>> import gradus
    /// >>> gradus.Program("Y[i] = relu(W[i,j] X[j])").svg().startswith("<svg")
    /// True
    fn svg(&self) -> String {
        gradus::draw::svg_of_program(&self.program, &self.program.names, |_| None)
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyProgram>) -> (Bound<'py, pyo3::types::PyType>, (String,)) {
        (slf.get_type(), (slf.get().text.clone(),))
    }
}
