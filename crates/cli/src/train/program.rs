//! Prepares the training of a program of equations with a loss. The equations of the gradients are added to
//! the program, and both are compiled together.

use super::Prepared;
use super::keys::Keys;
use super::language::Common;
use super::optimizer::optimizer;
use super::validation::HeldOut;
use crate::args::{InputArgs, Pair};
use crate::inputs::declared;
use crate::{Done, Failure, Terminal, open};
use gradus::files;
use gradus::lang::ast::{Index, Name};
use gradus::lang::{GradientOptions, Program, Settings};
use gradus::nn::data::{Dataset, Loader};
use gradus::nn::{Module, Param, Visitor, compile_forward, compile_training, init};
use gradus::{Generator, Result, Tensor, call, custom_vjp};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The trained inputs of a program, by name.
struct Parameters(Vec<(Name, Param)>);

impl Module for Parameters {
    fn visit(&self, v: &mut Visitor) {
        self.0.iter().for_each(|(name, p)| v.field(name, p));
    }
}

/// Inputs that are not trained. Batched ones are indexed along their first axis; the others are the same in
/// every batch.
struct Inputs {
    fields: Vec<(Tensor, bool)>,
    examples: usize,
}

impl Dataset for Inputs {
    fn len(&self) -> usize {
        self.examples
    }

    fn batch(&self, ids: &[usize]) -> Result<Vec<Tensor>> {
        let ids = Tensor::from(ids.iter().map(|i| *i as i64).collect::<Vec<i64>>());
        let field = |(t, batched): &(Tensor, bool)| match batched {
            true => t.index_select(0, &ids).check().cloned(),
            false => Ok(t.clone()),
        };
        self.fields.iter().map(field).collect()
    }
}

/// Prepares a run of a program, with its parameters and inputs, from the table `program`.
pub(crate) fn program(keys: &mut Keys, common: &Common<'_>, terminal: &mut Terminal<'_>) -> Done<Prepared> {
    let batch = keys.count("batch", 1)?;
    let mut own = keys.table("program")?;
    let fits = "the path of a program of equations";
    let file = own.text("file", fits)?;
    let file = common.folder.join(own.need("file", fits, file)?);
    let opened = open::program(&file, terminal)?;
    // A resumed run needs the same program, imports and inputs, but their paths may differ.
    let texts: Vec<&str> = opened.program.sources.iter().map(|s| &*s.text).collect();
    own.record("file", &files::fingerprint_of(texts.join("\0").as_bytes())?);
    let mut given = InputArgs { f64: own.flag("f64", false)?, ..InputArgs::default() };
    given.steps = own.count("time", 1)?.map(|n| n as usize);
    let mut set = own.table("set")?;
    for name in set.keys() {
        let value = set.number(&name, 0.0)?.to_string();
        given.set.push(Pair { name, value });
    }
    let mut inputs = own.table("inputs")?;
    for name in inputs.keys() {
        check_is_input(&inputs, &opened.program, &name)?;
        let path = inputs.text(&name, "the path of a file")?.unwrap_or_default();
        inputs.record(&name, &files::fingerprint(&common.folder.join(&path))?);
        given.inputs.push(pair(&name, common.folder, &path));
    }
    let mut parameters = own.table("parameters")?;
    let names = parameters.keys();
    if names.is_empty() {
        return Err(own.fault(
            "parameters",
            "is missing; it must be a table of the inputs to train and their initial values",
        ));
    }
    for name in &names {
        check_is_input(&parameters, &opened.program, name)?;
        if parameters.is_text(name) {
            let path = parameters.text(name, "the path of a file")?.unwrap_or_default();
            parameters.record(name, &files::fingerprint(&common.folder.join(&path))?);
            given.inputs.push(pair(name, common.folder, &path));
        }
    }
    let loss = own.text("loss", "the name of a scalar")?;
    let names: Vec<Name> = names.iter().map(|n| n.as_str().into()).collect();
    let options = GradientOptions {
        loss: loss.map(|n| n.as_str().into()),
        wrt: names.clone(),
        ..GradientOptions::default()
    };
    let gradient = opened.program.gradient(&options)?;
    let joint = opened.program.extended(&gradient.equations)?;
    let wanted: Vec<Name> = [&gradient.loss]
        .into_iter()
        .chain(names.iter().filter_map(|n| gradient.names.get(n)))
        .cloned()
        .collect();
    let mut ready = given.ready(&opened, std::slice::from_ref(&gradient.loss))?;
    let mut model = Parameters(Vec::new());
    let g = Generator::new(common.seed);
    for name in &names {
        let first = match ready.inputs.remove(name) {
            Some(t) => t,
            None => {
                initial_value(&mut parameters, name, &opened.program, &ready.settings, &ready.inputs, &g)?
            }
        };
        model.0.push((name.clone(), Param::new(&first.to_dtype(ready.settings.float))));
    }
    let batched = own.names("batched")?;
    if let Some(other) = batched.iter().find(|n| !ready.inputs.contains_key(n.as_str())) {
        return Err(own.fault(
            "batched",
            &format!("contains `{other}`; it must list inputs with data that are not trained"),
        ));
    }
    let counted =
        batched.iter().filter_map(|n| ready.inputs.get(n.as_str())).map(|t| t.shape().first().copied());
    let counts: Vec<usize> = counted.map(|n| n.unwrap_or(0)).collect();
    if counts.iter().any(|n| *n != counts[0]) {
        return Err(
            own.fault("batched", &format!("contains inputs with different numbers of examples: {counts:?}"))
        );
    }
    match batch {
        None if !batched.is_empty() => {
            return Err(keys.fault("batch", "is missing; it must be the number of examples per batch"));
        }
        Some(_) if batched.is_empty() => {
            return Err(
                own.fault("batched", "is missing; it must be a list of the inputs to divide into batches")
            );
        }
        _ => {}
    }
    own.finish()?;
    let examples = counts.first().copied().unwrap_or(1);
    let asked = HeldOut::read(keys, false)?;
    if asked.is_some() && batched.is_empty() {
        return Err(keys.fault(
            "validation",
            "needs examples to hold out; list inputs with examples in `program.batched`",
        ));
    }
    let trained = asked.as_ref().map_or(examples, |asked| asked.rest(examples));
    let order: Vec<Name> = ready.inputs.keys().cloned().collect();
    let some = |from: usize, examples: usize| {
        let field = |(n, t): (&Name, &Tensor)| match batched.iter().any(|b| **b == **n) {
            true => (t.narrow(0, from, examples), true),
            false => (t.clone(), false),
        };
        Inputs { fields: ready.inputs.iter().map(field).collect(), examples }
    };
    let batch = batch.map_or(1, |n| n as usize);
    let (inputs, held_out) = (some(0, trained), some(trained, examples - trained));
    model.to(common.device)?;
    let loader = Loader::new(inputs, batch)?.to(common.device);
    let loader = if batched.is_empty() { loader } else { loader.shuffle(common.seed) };
    let optimizer = optimizer(keys, model.parameters(), common.updates)?;
    let note = serde_json::json!({"name": "program", "loss": &*gradient.loss});
    let mut first = loader;
    let sample = first.next_batch()?;
    first.seek(Default::default());
    let mut avals = BTreeMap::new();
    let all = order.iter().zip(&sample).chain(model.0.iter().map(|(n, p)| (n, &**p)));
    for (name, t) in all {
        avals.insert(
            name.clone(),
            t.check()?.aval().ok_or_else(|| Failure::Run(format!("`{name}` has no type")))?,
        );
    }
    let lowered = Arc::new(joint.lower(&avals, &ready.settings, &wanted)?);
    let run = lowered.clone();
    let loss = move |m: &Parameters, batch: &[Tensor]| loss_with_gradients(&run, m, &order, batch);
    let model = Arc::new(model);
    let validation = match asked {
        Some(asked) => {
            let held_out_loss = compile_forward(model.clone(), loss.clone());
            Some(asked.with(keys, held_out, batch, held_out_loss, common.device)?)
        }
        None => None,
    };
    let mut prepared =
        Prepared::new(first, note, validation, |batch| compile_training(model, loss, optimizer, batch))?;
    prepared.program = Some(lowered);
    Ok(prepared)
}

fn pair(name: &str, folder: &Path, path: &str) -> Pair {
    Pair { name: name.to_string(), value: folder.join(path).display().to_string() }
}

/// Returns an error unless `name` is an input of the program.
fn check_is_input(keys: &Keys, program: &Program, name: &str) -> Done {
    if program.is_input(name) {
        return Ok(());
    }
    let inputs: Vec<&str> = program.inputs().map(|n| &**n).collect();
    Err(keys.fault(name, &format!("is not an input of the program; its inputs are {}", inputs.join(", "))))
}

/// Makes the initial value of a parameter: a number that fills it, or a table with a distribution. Axes have
/// their declared sizes, else those of inputs with the same index.
fn initial_value(
    keys: &mut Keys,
    name: &Name,
    program: &Program,
    settings: &Settings,
    inputs: &BTreeMap<Name, Tensor>,
    g: &Generator,
) -> Done<Tensor> {
    let mut own = if keys.is_table(name) { Some(keys.table(name)?) } else { None };
    let given = match &mut own {
        Some(own) => own.counts("shape")?,
        None => None,
    };
    let shape: Vec<usize> = match given {
        Some(shape) => shape.iter().map(|n| *n as usize).collect(),
        None => {
            let places = program.definition(name).map(|d| d.places.clone()).unwrap_or_default();
            let numbers = program.numbers(&settings.set).unwrap_or_default();
            let sizes = declared(program, &places, &numbers).into_iter().zip(&places);
            let sizes = sizes.map(|(size, place)| size.or_else(|| of_inputs(program, inputs, &place.index)));
            let shape: Option<Vec<usize>> = sizes.collect();
            let why = "has axes of unknown size; write { normal = 0.1, shape = [2, 3] }, or declare its axes";
            shape.ok_or_else(|| keys.fault(name, why))?
        }
    };
    let Some(mut own) = own else { return Ok(Tensor::full(&shape[..], keys.number(name, 0.0)?)) };
    let value = match ["normal", "uniform", "fill"].into_iter().find(|k| own.has(k)) {
        Some("normal") => init::normal(&shape[..], 0.0, own.number("normal", 1.0)?, g),
        Some("uniform") => {
            let (low, high) = own.two("uniform", (0.0, 1.0))?;
            init::uniform(&shape[..], low, high, g)
        }
        Some(_) => Tensor::full(&shape[..], own.number("fill", 0.0)?),
        None => {
            return Err(keys.fault(
                name,
                "has no initial value; set `normal` (standard deviation), `uniform` (two bounds) or `fill`",
            ));
        }
    };
    own.finish()?;
    Ok(value)
}

/// Returns the size of an axis with this index in any input.
fn of_inputs(program: &Program, inputs: &BTreeMap<Name, Tensor>, index: &Index) -> Option<usize> {
    inputs.iter().find_map(|(name, t)| {
        let at = program.definition(name)?.places.iter().position(|p| p.index == *index)?;
        t.shape().get(at).copied()
    })
}

/// Returns the loss and the convergence flags of fixpoints. The program also computes the gradients; the
/// custom derivative rule returns these, scaled by the cotangent of the loss.
fn loss_with_gradients(
    run: &gradus::lang::Lowered,
    m: &Parameters,
    order: &[Name],
    batch: &[Tensor],
) -> Vec<Tensor> {
    let parameter = |name: &Name| m.0.iter().position(|(n, _)| n == name);
    let mut operands: Vec<&Tensor> = Vec::new();
    for name in &run.inputs {
        let data = || order.iter().position(|n| n == name).and_then(|at| batch.get(at));
        operands.extend(parameter(name).map(|at| &*m.0[at].1).or_else(data));
    }
    let failed = |e| vec![Tensor::failed(e)];
    let whole =
        |x: &[Tensor]| call("program", &run.graph, &x.iter().collect::<Vec<_>>()).unwrap_or_else(failed);
    let rule = |x: &[Tensor], results: &[Tensor], cotangents: &[Tensor]| -> Vec<Tensor> {
        let each = run.inputs.iter().zip(x).map(|(name, x)| match parameter(name) {
            Some(at) => &results[1 + at] * &cotangents[0],
            None => x.zeros_like(),
        });
        each.collect()
    };
    let mut all = custom_vjp(&operands, whole, rule).unwrap_or_else(failed);
    if all.len() > 1 {
        all.drain(1..=m.0.len());
    }
    all
}
