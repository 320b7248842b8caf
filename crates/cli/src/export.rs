//! `gradus export`: a program and its tensors as a folder that a web page runs without the compiler.

use crate::args::Given;
use crate::{Done, Failure, Terminal, open, run};
use clap::Args;
use gradus::bundle::Bundle;
use gradus::lang::Lowered;
use gradus::lang::ast::Name;
use gradus::nn::optim::Adam;
use gradus::nn::{NamedParams, Optimizer, compile_training};
use gradus::{Aval, Tensor, compile};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Steps for which the optimiser's numbers are stored; the last are used afterwards.
const STEPS: u64 = 10_000;

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    /// The folder to write; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) web: PathBuf,
    /// Inputs that the page gives at every run; all other inputs are stored. Without it the page gives all
    #[arg(long, value_name = "X,Y", value_delimiter = ',')]
    pub(crate) feed: Vec<String>,
    /// Add the training step of these inputs, which lowers the loss by Adam
    #[arg(long, value_name = "W,B", value_delimiter = ',', requires = "feed")]
    pub(crate) train: Vec<String>,
    /// With --train: the scalar to lower
    #[arg(long, value_name = "NAME", default_value = "Loss", requires = "train")]
    pub(crate) loss: String,
    /// With --train: the learning rate
    #[arg(long, default_value_t = 1e-3, requires = "train")]
    pub(crate) rate: f64,
    /// The names to compute, and nothing else
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    #[command(flatten)]
    pub(crate) given: Given,
}

pub(crate) fn run(args: &ExportArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program_for(&args.file, &args.given, &args.only, terminal)?;
    let program = &opened.program;
    let wanted = run::wanted(&opened, &args.only, &args.given)?;
    let mut needed = wanted.clone();
    if !args.train.is_empty() && !needed.iter().any(|n| **n == *args.loss) {
        needed.push(args.loss.as_str().into());
    }
    let ready = args.given.ready(&opened, &needed)?;
    let avals: BTreeMap<Name, Aval> =
        ready.inputs.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect();
    for name in args.feed.iter().chain(&args.train) {
        if !avals.contains_key(name.as_str()) {
            let names: Vec<&str> = avals.keys().map(|n| &**n).collect();
            return Err(Failure::Usage(format!(
                "no input is called `{name}`; there are {}",
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
    let fed = fed(&lowered, &ready.inputs, &is_fed);
    let ins: Vec<&Tensor> = fed.iter().map(|(_, t)| *t).collect();
    let names: Vec<&str> = fed.iter().map(|(n, _)| *n).collect();
    let compiled = compile(&ins, |x| applied(&lowered, &cells, x))?;
    let outputs: Vec<&str> = lowered.outputs.iter().map(|n| &**n).collect();
    bundle = bundle.program("run", &compiled, &names, &outputs)?;

    if !args.train.is_empty() {
        let lowered = lower(&[args.loss.as_str().into()])?;
        let fed = self::fed(&lowered, &ready.inputs, &is_fed);
        let batch: Vec<&Tensor> = fed.iter().map(|(_, t)| *t).collect();
        let names: Vec<&str> = fed.iter().map(|(n, _)| *n).collect();
        let trained = cells.iter().filter(|(n, _)| args.train.iter().any(|w| **w == ***n));
        let trained: Vec<(String, Tensor)> = trained.map(|(n, t)| (n.to_string(), t.clone())).collect();
        let optimizer = Optimizer::new(trained.clone(), Adam { rate: args.rate, ..Adam::default() });
        let loss = |_: &NamedParams, x: &[Tensor]| applied(&lowered, &cells, x);
        let mut step = compile_training(Box::new(NamedParams(trained)), loss, optimizer, &batch)?;
        bundle = bundle.training(&mut step, &batch, &names, &[args.loss.as_str()], STEPS)?;
    }
    bundle.write(&args.web)?;
    writeln!(terminal.out, "{}: serve this folder and open index.html", args.web.display())?;
    Ok(())
}

/// The inputs that a page feeds, in the order of the graph's.
fn fed<'a>(
    lowered: &'a Lowered,
    inputs: &'a BTreeMap<Name, Tensor>,
    is_fed: &dyn Fn(&str) -> bool,
) -> Vec<(&'a str, &'a Tensor)> {
    let names = lowered.inputs.iter().filter(|n| is_fed(n));
    names.filter_map(|n| Some((&**n, inputs.get(n)?))).collect()
}

/// The outputs of a program, with stored inputs read from their cells.
fn applied(lowered: &Lowered, cells: &BTreeMap<Name, Tensor>, fed: &[Tensor]) -> Vec<Tensor> {
    let mut fed = fed.iter();
    let ins: Vec<&Tensor> =
        lowered.inputs.iter().filter_map(|n| cells.get(n).or_else(|| fed.next())).collect();
    match gradus::call("program", &lowered.graph, &ins) {
        Ok(mut outs) => {
            // The graph's last results are error flags (no fixpoint, bad numbers). A page has no use for them.
            outs.truncate(lowered.outputs.len());
            outs
        }
        Err(e) => vec![Tensor::failed(e)],
    }
}
