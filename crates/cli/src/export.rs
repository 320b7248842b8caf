//! `gradus export`: writes a program with its tensors, or a trained model, as a folder that a web page runs
//! without the compiler.

use crate::args::InputArgs;
use crate::inputs::avals;
use crate::train::{self, language::Language};
use crate::{Done, Failure, Terminal, open, run};
use clap::Args;
use gradus::bundle::Bundle;
use gradus::lang::Lowered;
use gradus::lang::ast::Name;
use gradus::nn::optim::Adam;
use gradus::nn::{Forward, Module, NamedParams, Optimizer, compile_training};
use gradus::{DType, Device, Tensor, compile};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of steps for which step-dependent numbers of the optimiser are stored. Later steps use those of the
/// last step.
const STEPS: u64 = 10_000;

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Program to read (- reads standard input), or output folder or checkpoint of a language model trained
    /// by `gradus train`
    pub(crate) file: PathBuf,
    /// Folder to write; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) web: PathBuf,
    /// Inputs that the page passes at every run, separated by commas; all others are stored [default: all]
    #[arg(long, value_name = "X,Y", value_delimiter = ',')]
    pub(crate) feed: Vec<String>,
    /// Add a training step that minimises the loss over these inputs with Adam
    #[arg(long, value_name = "W,B", value_delimiter = ',', requires = "feed")]
    pub(crate) train: Vec<String>,
    /// With --train: scalar to minimise
    #[arg(long, value_name = "NAME", default_value = "Loss", requires = "train")]
    pub(crate) loss: String,
    /// With --train: learning rate
    #[arg(long, default_value_t = 1e-3, requires = "train")]
    pub(crate) rate: f64,
    /// Compute only these names, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    #[command(flatten)]
    pub(crate) given: InputArgs,
}

pub(crate) fn run(args: &ExportArgs, terminal: &mut Terminal<'_>) -> Done {
    if args.file.is_dir() || args.file.extension().is_some_and(|e| e == "safetensors") {
        model(args)?;
    } else {
        program(args, terminal)?;
    }
    writeln!(
        terminal.out,
        "wrote {}; to open it, serve this folder, for example with `gradus web`",
        args.web.display()
    )?;
    Ok(())
}

/// Writes a language model whose page passes tokens and gets logits.
fn model(args: &ExportArgs) -> Done {
    let given = &args.given;
    let of_programs = [
        ("--feed", !args.feed.is_empty()),
        ("--train", !args.train.is_empty()),
        ("--only", !args.only.is_empty()),
        ("--params", given.params.is_some()),
        ("--input", !given.inputs.is_empty()),
        ("--set", !given.set.is_empty()),
        ("--temperature", !given.temperatures.is_empty()),
        ("--steps", given.steps.is_some()),
        ("--rounds", given.rounds.is_some()),
        ("--tolerance", given.tolerance.is_some()),
        ("--allow-unconverged", given.allow_unconverged),
        ("--f64", given.f64),
    ];
    if let Some((option, _)) = of_programs.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{option} applies to programs of equations only; {} is a trained model, whose input is tokens",
            args.file.display()
        )));
    }
    let model = Language::load(&train::checkpoint(&args.file), Device::CPU)?;
    let length = match &model {
        Language::Names(m) => m.context,
        Language::Gpt(m, _) => m.sizes.context,
    };
    let tokens = Tensor::zeros([1, length]).to_dtype(DType::I32);
    let (parameters, compiled) = match &model {
        Language::Names(m) => (m.parameters(), compile(&[&tokens], |x| m.forward(&x[0]))?),
        Language::Gpt(m, _) => (m.parameters(), compile(&[&tokens], |x| m.logits(&x[0], &[]))?),
    };
    let title = args.file.file_stem().map_or_else(|| "model".into(), |s| s.to_string_lossy().into_owned());
    let bundle = Bundle::new(title)
        .cells(parameters)
        .note("model", model.name())
        .note("characters", &model.characters());
    bundle.program("run", &compiled, &["tokens"], &["logits"])?.write(&args.web)?;
    Ok(())
}

/// Writes a program of equations, and its training step if requested.
fn program(args: &ExportArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program_for(&args.file, &args.given, &args.only, terminal)?;
    let program = &opened.program;
    let given = &args.given;
    let wanted = run::wanted(&opened, &args.only, given)?;
    let mut needed = wanted.clone();
    if !args.train.is_empty() && !needed.iter().any(|n| **n == *args.loss) {
        needed.push(args.loss.as_str().into());
    }
    let ready = given.ready(&opened, &needed)?;
    let avals = avals(&ready.inputs);
    for name in args.feed.iter().chain(&args.train) {
        if !avals.contains_key(name.as_str()) {
            let names: Vec<&str> = avals.keys().map(|n| &**n).collect();
            return Err(Failure::Usage(format!(
                "the program has no input `{name}`; its inputs are {}",
                names.join(", ")
            )));
        }
    }
    let is_fed = |name: &str| args.feed.is_empty() || args.feed.iter().any(|f| f == name);
    let cells: BTreeMap<Name, Tensor> = ready
        .inputs
        .iter()
        .filter(|(n, _)| !is_fed(n))
        .map(|(n, t)| {
            let trained = args.train.iter().any(|w| **w == **n);
            (n.clone(), if trained { t.requires_grad_() } else { t.cell() })
        })
        .collect();
    let title = args.file.file_stem().map_or_else(|| "program".into(), |s| s.to_string_lossy().into_owned());
    let named = cells.iter().map(|(n, t)| (n.to_string(), t.clone()));
    let mut bundle = Bundle::new(title).cells(named);

    let lower = |names: &[Name]| {
        let needed = program.needed(names);
        let own = avals.iter().filter(|(n, _)| needed.contains(*n)).map(|(n, a)| (n.clone(), a.clone()));
        program.lower(&own.collect(), &ready.settings, names)
    };
    let lowered = lower(&wanted)?;
    let fed = page_inputs(&lowered, &ready.inputs, &is_fed);
    let ins: Vec<&Tensor> = fed.iter().map(|(_, t)| *t).collect();
    let names: Vec<&str> = fed.iter().map(|(n, _)| *n).collect();
    let compiled = compile(&ins, |x| apply(&lowered, &cells, x))?;
    let outputs: Vec<&str> = lowered.outputs.iter().map(|n| &**n).collect();
    bundle = bundle.program("run", &compiled, &names, &outputs)?;

    if !args.train.is_empty() {
        let lowered = lower(&[args.loss.as_str().into()])?;
        let fed = page_inputs(&lowered, &ready.inputs, &is_fed);
        let batch: Vec<&Tensor> = fed.iter().map(|(_, t)| *t).collect();
        let names: Vec<&str> = fed.iter().map(|(n, _)| *n).collect();
        let trained = cells.iter().filter(|(n, _)| args.train.iter().any(|w| **w == ***n));
        let trained: Vec<(String, Tensor)> = trained.map(|(n, t)| (n.to_string(), t.clone())).collect();
        let optimizer = Optimizer::new(trained.clone(), Adam { rate: args.rate, ..Adam::default() });
        let loss = |_: &NamedParams, x: &[Tensor]| apply(&lowered, &cells, x);
        let mut step = compile_training(Box::new(NamedParams(trained)), loss, optimizer, &batch)?;
        bundle = bundle.training(&mut step, &batch, &names, &[args.loss.as_str()], STEPS)?;
    }
    bundle.write(&args.web)?;
    Ok(())
}

/// Returns the inputs that the page passes, in the order of the graph's inputs.
fn page_inputs<'a>(
    lowered: &'a Lowered,
    inputs: &'a BTreeMap<Name, Tensor>,
    is_fed: &dyn Fn(&str) -> bool,
) -> Vec<(&'a str, &'a Tensor)> {
    let names = lowered.inputs.iter().filter(|n| is_fed(n));
    names.filter_map(|n| Some((&**n, inputs.get(n)?))).collect()
}

/// Applies a program to the inputs from the page; stored inputs are read from their cells.
fn apply(lowered: &Lowered, cells: &BTreeMap<Name, Tensor>, fed: &[Tensor]) -> Vec<Tensor> {
    let mut fed = fed.iter();
    let ins: Vec<&Tensor> =
        lowered.inputs.iter().filter_map(|n| cells.get(n).or_else(|| fed.next())).collect();
    match gradus::call("program", &lowered.graph, &ins) {
        Ok(mut outs) => {
            // The last results of the graph are error flags (fixpoint not reached, bad numbers), which pages
            // do not use.
            outs.truncate(lowered.outputs.len());
            outs
        }
        Err(e) => vec![Tensor::failed(e)],
    }
}
