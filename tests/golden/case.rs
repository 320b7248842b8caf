//! Reads, runs and compares golden cases.

use super::literal::{compare, literal, literals, parse_float};
use gradus::ir::{Literal, reference, transform};
use gradus::{Tensor, trace};
use serde_json::Value;

/// Largest accepted difference of a number, relative to the number if that is above 1.
const TOLERANCE: f64 = 1e-11;

/// The arguments of a case, by name.
#[derive(Clone, Debug)]
pub(crate) struct Args(Value);

#[allow(dead_code)]
impl Args {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|v| !v.is_null())
    }
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }
    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        let v = self.get(name)?;
        v.as_f64().or_else(|| parse_float(v.as_str()?))
    }
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
    pub(crate) fn str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.get(name)?.as_array()?.iter().map(Value::as_i64).collect()
    }
    pub(crate) fn isizes(&self, name: &str) -> Option<Vec<isize>> {
        Some(self.ints(name)?.into_iter().map(|i| i as isize).collect())
    }
    pub(crate) fn usizes(&self, name: &str) -> Option<Vec<usize>> {
        self.ints(name)?.into_iter().map(|i| usize::try_from(i).ok()).collect()
    }
}

impl std::fmt::Display for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A function of PyTorch at some inputs.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) args: Args,
    inputs: Vec<Literal>,
    outputs: Vec<Literal>,
    cotangents: Vec<Option<Literal>>,
    grads: Vec<Option<Literal>>,
}

/// Calls the equivalents of PyTorch functions.
pub(crate) type Call<'a> = &'a dyn Fn(&str, &Args, &[Tensor]) -> Option<Vec<Tensor>>;

impl Case {
    /// Reads all cases of the file.
    pub(crate) fn load() -> Vec<Case> {
        let all: Value = serde_json::from_str(include_str!("pytorch.json")).expect("the file is JSON");
        let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
        let read = |v: &Value| Case {
            name: v["name"].as_str().unwrap().to_string(),
            args: Args(v["args"].clone()),
            inputs: literals(&v["inputs"]),
            outputs: literals(&v["outputs"]),
            cotangents: list(&v["cotangents"]).iter().map(literal).collect(),
            grads: list(&v["grads"]).iter().map(literal).collect(),
        };
        list(&all["cases"]).iter().map(read).collect()
    }

    /// Runs the case eagerly and as a graph, and compares values and gradients.
    pub(crate) fn check(&self, call: Call<'_>) -> Result<(), String> {
        let ins: Vec<Tensor> = self.inputs.iter().map(Tensor::from_literal).collect();
        let run = |ins: &[Tensor]| call(&self.name, &self.args, ins);
        let outs = run(&ins).ok_or("no module knows this function")?;
        if outs.len() != self.outputs.len() {
            return Err(format!("{} outputs, PyTorch has {}", outs.len(), self.outputs.len()));
        }
        for (k, (out, right)) in outs.iter().zip(&self.outputs).enumerate() {
            let found = out.to_literal().map_err(|e| e.to_string())?;
            compare(&found, right, TOLERANCE).map_err(|e| format!("output {k}: {e}"))?;
        }
        if self.grads.iter().all(Option::is_none) {
            return Ok(());
        }
        self.check_backward(&ins, &run)?;
        self.check_graph(&ins, &run)
    }

    fn check_backward(
        &self,
        ins: &[Tensor],
        run: &dyn Fn(&[Tensor]) -> Option<Vec<Tensor>>,
    ) -> Result<(), String> {
        let leaf =
            |(t, g): (&Tensor, &Option<Literal>)| if g.is_some() { t.requires_grad_() } else { t.clone() };
        let leaves: Vec<Tensor> = ins.iter().zip(&self.grads).map(leaf).collect();
        let outs = run(&leaves).ok_or("no module knows this function")?;
        let how = gradus::Backward { retain_graph: true, ..gradus::Backward::default() };
        for (out, ct) in outs.iter().zip(&self.cotangents) {
            if let Some(ct) = ct
                && out.requires_grad()
            {
                out.backward_as(Some(&Tensor::from_literal(ct)), how).map_err(|e| e.to_string())?;
            }
        }
        for (k, (leaf, right)) in leaves.iter().zip(&self.grads).enumerate() {
            let Some(right) = right else { continue };
            let found =
                leaf.grad().unwrap_or_else(|| leaf.zeros_like()).to_literal().map_err(|e| e.to_string())?;
            compare(&found, right, TOLERANCE).map_err(|e| format!("gradient {k}: {e}"))?;
        }
        Ok(())
    }

    fn check_graph(
        &self,
        ins: &[Tensor],
        run: &dyn Fn(&[Tensor]) -> Option<Vec<Tensor>>,
    ) -> Result<(), String> {
        let text = |e: gradus::Error| e.to_string();
        // A function whose extents depend on the data cannot be traced.
        let graph = match trace(&ins.iter().collect::<Vec<_>>(), |x| run(x).unwrap_or_default()) {
            Err(e) if e.to_string().contains("depends on the data") => return Ok(()),
            graph => graph.map_err(text)?,
        };
        let wrt: Vec<usize> = (0..ins.len()).filter(|&i| self.grads[i].is_some()).collect();
        let vjp = transform::vjp(&graph, &wrt).map_err(text)?;
        let mut all = self.inputs.clone();
        for (k, aval) in graph.output_avals().iter().enumerate().filter(|(_, a)| a.dtype.is_differentiable())
        {
            let zeros = || Tensor::zeros_of(aval).to_literal().map_err(text);
            all.push(self.cotangents[k].clone().map_or_else(zeros, Ok)?);
        }
        let grads = reference::evaluate(&vjp, &all).map_err(text)?;
        for (found, i) in grads.iter().zip(wrt) {
            let right = self.grads[i].as_ref().expect("chosen above");
            compare(found, right, TOLERANCE).map_err(|e| format!("gradient {i} of the graph: {e}"))?;
        }
        Ok(())
    }
}
