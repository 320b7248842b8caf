//! Answers requests about equation programs: checking, formatting, gradients, drawings and values.

use crate::request::{Fault, Request, number, wrong};
use crate::session::{keep, tensor};
use gradus_draw::svg;
use gradus_ir::{Aval, Result as CoreResult};
use gradus_lang::{
    Diagnostic, Faults, GradientOptions, Lowered, NoImports, Program, Settings, Severity, Source, format,
};
use gradus_tensor::{Tensor, call};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Name = std::sync::Arc<str>;

/// Answers a request whose verb follows `program.`.
pub(crate) fn answer(verb: &str, request: &Request) -> Result<Value, Fault> {
    let source = Source::new("program", request.text("source")?);
    Ok(match verb {
        "check" => check(source),
        "format" => json!(format(&source)?),
        "gradient" => {
            let program = Program::parse(source)?;
            let wrt = request.list("wrt")?.iter().filter_map(Value::as_str).map(Into::into).collect();
            let loss = request.field("of").as_str().map(Into::into);
            json!(program.gradient(&GradientOptions { loss, wrt, ..GradientOptions::default() })?.text())
        }
        "draw" => {
            let (_, lowered, _) = lowered(source, request)?;
            json!(svg(&lowered.named_graph()?))
        }
        "run" => {
            let (program, lowered, inputs) = lowered(source, request)?;
            let values = lowered.run(&inputs)?;
            named(&program, lowered.outputs.iter().filter_map(|n| Some((n.clone(), values.get(n)?.clone()))))?
        }
        "apply" => {
            let (program, lowered, inputs) = lowered(source, request)?;
            let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
            let outs = call("program", &lowered.graph, &ins)?;
            named(&program, lowered.outputs.iter().cloned().zip(outs))?
        }
        _ => {
            return Err(
                gradus_ir::Error::value(format!("the request `program.{verb}`"), "is not known").into()
            );
        }
    })
}

/// Returns a program, its graph for the inputs of a request, and these inputs.
fn lowered(source: Source, request: &Request) -> Result<(Program, Lowered, BTreeMap<Name, Tensor>), Fault> {
    let program = Program::parse(source)?;
    let mut inputs: BTreeMap<Name, Tensor> = BTreeMap::new();
    for row in request.list("inputs")? {
        let name = row["name"].as_str().ok_or_else(|| wrong("name", row, "a string"))?;
        inputs.insert(name.into(), tensor(number(&row["id"], "id")?)?);
    }
    let mut wanted: Vec<Name> =
        request.list("outputs")?.iter().filter_map(Value::as_str).map(Into::into).collect();
    if wanted.is_empty() {
        wanted = program.outputs();
    }
    let avals: BTreeMap<Name, Aval> =
        inputs.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect();
    let lowered = program.lower(&avals, &Settings::default(), &wanted)?;
    Ok((program, lowered, inputs))
}

/// Returns values with their names and the names of their axes.
fn named(program: &Program, values: impl Iterator<Item = (Name, Tensor)>) -> CoreResult<Value> {
    let mut all = Vec::new();
    for (name, t) in values {
        let axes = axes(program, &name);
        let axes = if axes.len() == t.rank() { axes } else { Vec::new() };
        all.push(json!({"name": &*name, "axes": axes, "tensor": keep(t)?}));
    }
    Ok(Value::Array(all))
}

/// Returns the indices of a name as they are written in the program.
fn axes(program: &Program, name: &str) -> Vec<String> {
    let indices = program.definition(name).map(|d| &d.places);
    indices.into_iter().flatten().map(ToString::to_string).collect()
}

fn check(source: Source) -> Value {
    match Program::read(source, &NoImports) {
        Ok(program) => {
            let sizes = program.check_sizes().err().map_or_else(Vec::new, |f| f.faults);
            let all: Vec<&Diagnostic> = sizes.iter().chain(&program.warnings).collect();
            let faults = Faults {
                sources: program.sources.clone(),
                faults: all.iter().map(|d| (*d).clone()).collect(),
            };
            let inputs: Vec<Value> =
                program.inputs().map(|n| json!({"name": &**n, "axes": axes(&program, n)})).collect();
            let outputs: Vec<String> = program.outputs().iter().map(|n| n.to_string()).collect();
            json!({
                "diagnostics": diagnostics(&faults),
                "text": if faults.faults.is_empty() { String::new() } else { faults.render(false) },
                "inputs": inputs,
                "outputs": outputs,
            })
        }
        Err(unsound) => {
            let faults = unsound.faults();
            json!({"diagnostics": diagnostics(&faults), "text": faults.render(false), "inputs": [], "outputs": []})
        }
    }
}

fn diagnostics(faults: &Faults) -> Vec<Value> {
    let one = |d: &Diagnostic| {
        let span = d.span();
        let source = faults.sources.get(span.file as usize).or(faults.sources.first());
        let position = |byte| source.map_or((1, 1), |s| s.position(byte));
        let ((line, column), (end_line, end_column)) = (position(span.start), position(span.end));
        json!({
            "severity": if d.severity == Severity::Error { "error" } else { "warning" },
            "message": d.message,
            "help": d.help,
            "line": line,
            "column": column,
            "endLine": end_line,
            "endColumn": end_column,
        })
    };
    faults.faults.iter().map(one).collect()
}
