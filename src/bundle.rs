//! Bundles: compiled functions and their weights as files that a web page runs without the compiler.
//!
//! A bundle is a folder with `plan.json` (kernels and commands), `weights.safetensors`, a small JavaScript
//! runtime and a page that shows how to call it. `web/BUNDLE.md` describes the format.

use crate::files::{atomic, safetensors};
use crate::gpu::{Command, Dialect, Limits, profile, translate};
use crate::{Compiled, DType, Error, Graph, Result, Tensor};
use gradus_compile::{Text, compile};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// The runtime, as written by `web/scripts/build.mjs`.
const RUNTIME: &str = include_str!("bundle/runtime.js");
/// The page that calls the runtime.
const PAGE: &str = include_str!("bundle/index.html");

/// Programs and the cells that they share.
pub struct Bundle {
    name: String,
    limits: Limits,
    cells: Vec<(String, Tensor)>,
    tables: Vec<(String, Tensor)>,
    /// Names of the cells that programs use.
    used: BTreeSet<String>,
    programs: Map<String, Value>,
    notes: Map<String, Value>,
    /// Constants of the programs, and the initial values of cells.
    weights: Vec<(String, Tensor)>,
}

impl Bundle {
    /// Makes a bundle without programs, for the limits that every WebGPU adapter has.
    pub fn new(name: impl Into<String>) -> Bundle {
        Bundle {
            name: name.into(),
            limits: Limits::WEBGPU,
            cells: Vec::new(),
            tables: Vec::new(),
            used: BTreeSet::new(),
            programs: Map::new(),
            notes: Map::new(),
            weights: Vec::new(),
        }
    }

    /// Names cells. Programs keep these cells on the device from run to run, under these names.
    pub fn cells(mut self, cells: impl IntoIterator<Item = (String, Tensor)>) -> Bundle {
        self.cells.extend(cells);
        self
    }

    /// Adds a text for the page, such as the characters of a language model's tokens.
    pub fn note(mut self, name: &str, text: &str) -> Bundle {
        self.notes.insert(name.to_string(), json!(text));
        self
    }

    /// Gives a cell the values of a table, one row per run; the last row is used for all later runs. Numbers
    /// that depend only on the step, such as learning rates, are such cells.
    pub fn table(mut self, name: &str, cell: &Tensor, rows: &Tensor) -> Bundle {
        self.tables.push((name.to_string(), cell.clone()));
        self.weights.push((name.to_string(), rows.clone()));
        self
    }

    /// Adds a training step. Parameters and optimizer state become cells. Numbers of the optimizer that
    /// depend on the step become tables for `steps` steps; later steps use the last row.
    pub fn training(
        mut self,
        step: &mut crate::nn::Step<'_>,
        batch: &[&Tensor],
        inputs: &[&str],
        outputs: &[&str],
        steps: u64,
    ) -> Result<Bundle> {
        let new: Vec<_> = step
            .cells()
            .into_iter()
            .filter(|(_, c)| !self.cells.iter().any(|(_, own)| own.is_same(c)))
            .collect();
        self.cells.extend(new);
        for (i, (cell, rows)) in step.optimizer().numbers(steps).into_iter().enumerate() {
            self = self.table(&format!("optimizer.numbers.{i}"), &cell, &rows);
        }
        self.program("step", step.executable(batch)?, inputs, outputs)
    }

    /// Adds a compiled function. The page passes its arguments, and gets its results, by these names.
    pub fn program(
        mut self,
        name: &str,
        compiled: &Compiled,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<Bundle> {
        let graph = compiled.graph();
        let (own, all_outputs) = (graph.inputs().len() - compiled.cells().len(), graph.outputs().len());
        let own_outputs = all_outputs - compiled.written().len();
        if own != inputs.len() || own_outputs != outputs.len() {
            let why = format!("has {own} arguments and {own_outputs} results, which need as many names");
            return Err(Error::value(format!("the program `{name}`"), why));
        }
        let mut sources = fields(graph.input_avals().iter().zip(inputs), "from", "input");
        let mut sinks = fields(graph.output_avals().iter().zip(outputs), "to", "output");
        for cell in compiled.cells() {
            let table = self.tables.iter().find(|(_, c)| c.is_same(cell)).map(|(name, _)| name.clone());
            sources.push(match table {
                Some(name) => json!({"from": "table", "name": name}),
                None => json!({"from": "cell", "name": self.cell(cell)?}),
            });
        }
        for cell in compiled.written() {
            sinks.push(json!({"to": "cell", "name": self.cell(cell)?}));
        }
        let input = |w: &Tensor| compiled.cells().iter().position(|c| c.is_same(w)).map(|i| own + i);
        let keeps: Vec<(usize, usize)> = compiled
            .written()
            .iter()
            .enumerate()
            .filter_map(|(k, w)| Some((own_outputs + k, input(w)?)))
            .collect();
        let (plan, constants) = self.plan(name, graph, &keeps)?;
        let mut names = Vec::new();
        for (n, constant) in constants.iter().enumerate() {
            names.push(format!("{name}.constant.{n}"));
            self.weights.push((format!("{name}.constant.{n}"), Tensor::from_literal(constant)));
        }
        let entry = json!({"plan": plan, "inputs": sources, "outputs": sinks, "constants": names});
        if self.programs.insert(name.to_string(), entry).is_some() {
            return Err(Error::value(format!("the program `{name}`"), "is in the bundle already"));
        }
        Ok(self)
    }

    /// Converts a graph to kernels and commands as JSON; returns its constants too.
    fn plan(
        &self,
        name: &str,
        graph: &Graph,
        keeps: &[(usize, usize)],
    ) -> Result<(Value, Vec<crate::Literal>)> {
        let wide = |d: &DType| matches!(d, DType::F64 | DType::C128);
        let inputs = graph.input_avals();
        let types = graph.nodes().iter().flat_map(|n| &n.outs).chain(&inputs);
        if let Some(aval) = types.into_iter().find(|a| wide(&a.dtype)) {
            return Err(Error::dtype(aval.dtype, "WebGPU has only 32-bit floats; use 32-bit inputs"));
        }
        let mut plan = compile(graph, &profile(&self.limits))?;
        // Only cells may be overwritten, because the page may still use other operands.
        plan.keep_donors(keeps);
        let program = translate(&plan, &self.limits, Dialect::Wgsl, Text::Special)?;
        let host = |c: &Command| if let Command::Host { why, .. } = c { Some(why.clone()) } else { None };
        let hosts: Vec<String> = program.commands.iter().filter_map(host).collect();
        if !hosts.is_empty() {
            let why = format!("has steps without a kernel: {}", hosts.join("; "));
            return Err(Error::value(format!("the program `{name}`"), why));
        }
        Ok(program.to_json())
    }

    fn cell(&mut self, cell: &Tensor) -> Result<String> {
        let Some((name, _)) = self.cells.iter().find(|(_, c)| c.is_same(cell)) else {
            return Err(Error::value("a cell of the program", "has no name; give it one with `cells`"));
        };
        self.used.insert(name.clone());
        Ok(name.clone())
    }

    /// Writes the bundle to a folder, which is created if necessary. Each file is written atomically.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let failed = |e: std::io::Error| Error::file(folder.display().to_string(), e.to_string());
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut weights = self.weights.clone();
        let mut cells = Map::new();
        for (name, value) in self.cells.iter().filter(|(name, _)| self.used.contains(name)) {
            cells.insert(name.clone(), json!(name));
            weights.push((name.clone(), value.detach()));
        }
        let manifest = json!({
            "gradus": 1, "name": self.name, "notes": self.notes, "cells": cells, "programs": self.programs,
        });
        safetensors::write(folder.join("weights.safetensors"), &weights, &Default::default())?;
        atomic::write(&folder.join("gradus.js"), &[RUNTIME.as_bytes()])?;
        atomic::write(&folder.join("index.html"), &[PAGE.as_bytes()])?;
        atomic::write(&folder.join("plan.json"), &[manifest.to_string().as_bytes()])
    }
}

/// Describes names and types of arguments or results.
fn fields<'a>(
    all: impl Iterator<Item = (&'a crate::Aval, &'a &'a str)>,
    key: &str,
    kind: &str,
) -> Vec<Value> {
    let field = |(aval, name): (&crate::Aval, &&str)| json!({key: kind, "name": name, "shape": aval.shape.to_vec(), "dtype": aval.dtype.name()});
    all.map(field).collect()
}
