//! `gradus tune`: fine-tunes a language model on a file of texts or of pairs of answers.

use crate::args::{DeviceArgs, count, size};
use crate::train::{listen, stopping};
use crate::{Done, Failure, Terminal};
use clap::Args;
use gradus::models::LanguageModel;
use gradus::models::small::{Small, create};
use gradus::models::tune::{
    Data, Decay, Dpo, Lora, Progress, Tuning, load_adapter, merge, read_data, save, save_adapter,
};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    /// GGUF file, or folder with config.json, tokenizer.json and safetensors files
    model: PathBuf,
    /// JSON lines: {"text"}, {"prompt", "completion"}, {"messages"}, or {"prompt", "chosen", "rejected"}
    data: PathBuf,
    /// Folder to write the adapter to, or, with --full or --merge, the model
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
    /// Train all weights instead of an adapter
    #[arg(long)]
    full: bool,
    /// Add the trained adapter to the weights and write the model
    #[arg(long, conflicts_with = "full")]
    merge: bool,
    /// Continue training the adapter in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "full")]
    adapter: Option<PathBuf>,
    /// Rank of the adapter
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count)]
    rank: usize,
    /// Scale of the adapter: its output is multiplied by X / rank [default: twice the rank]
    #[arg(long, value_name = "X", value_parser = size)]
    alpha: Option<f64>,
    /// Projections that get an adapter, separated by commas [default: all projections of the blocks]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    targets: Vec<String>,
    /// Number of updates
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count)]
    steps: usize,
    /// Rows per batch (a row holds several texts); for pairs, pairs per batch
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = count)]
    batch: usize,
    /// Batches per update; their gradients are added
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count)]
    accumulate: usize,
    /// Tokens per row [default: those of the longest text]
    #[arg(long, value_name = "N", value_parser = count)]
    length: Option<usize>,
    /// Put each text in a row of its own
    #[arg(long)]
    no_pack: bool,
    /// Learning rate [default: 0.001, for pairs 0.0005]
    #[arg(long, value_name = "X", value_parser = size)]
    rate: Option<f64>,
    /// Number of updates during which the learning rate rises to its value
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count)]
    warmup: usize,
    /// Clip gradients to this norm
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = size)]
    clip: f64,
    /// For pairs: beta of DPO; larger values keep the model closer to the original
    #[arg(long, value_name = "X", default_value_t = 0.1, value_parser = size)]
    beta: f64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print the loss every N updates
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count)]
    every: usize,
    /// If MODEL does not exist, first create a small model there with these characters as vocabulary
    #[arg(long, value_name = "CHARACTERS")]
    new: Option<String>,
    #[command(flatten)]
    on: DeviceArgs,
}

impl TuneArgs {
    fn tuning(&self, rate: f64, decay: Decay) -> Tuning {
        let alpha = self.alpha.unwrap_or(2.0 * self.rank as f64);
        let mut lora = Lora { rank: self.rank, alpha, ..Lora::default() };
        if !self.targets.is_empty() {
            lora.targets.clone_from(&self.targets);
        }
        Tuning {
            lora: (!self.full).then_some(lora),
            steps: self.steps as u64,
            batch: self.batch,
            accumulate: self.accumulate as u64,
            length: self.length,
            pack: !self.no_pack,
            rate: self.rate.unwrap_or(rate),
            warmup: self.warmup as u64,
            decay,
            clip: self.clip,
            seed: self.seed,
            ..Tuning::default()
        }
    }
}

/// Loads the model with its adapter, and the data. First creates the model with the characters `new`, if they are
/// given.
fn load(args: &TuneArgs, new: Option<&String>) -> Done<(LanguageModel, Data)> {
    let device = args.on.device()?;
    if let Some(alphabet) = new {
        let small = Small { alphabet: alphabet.clone(), seed: args.seed, ..Small::default() };
        create(&args.model, &small)?;
    }
    let model = match args.full || args.merge {
        true => LanguageModel::load_f32(&args.model, device)?,
        false => LanguageModel::load(&args.model, device)?,
    };
    if let Some(folder) = &args.adapter {
        load_adapter(model.engine.model(), folder)?;
    }
    let data = read_data(&args.data, &model)?;
    Ok((model, data))
}

pub(crate) fn run(args: &TuneArgs, terminal: &mut Terminal<'_>) -> Done {
    if args.out.is_file() || args.out == args.model {
        let why = "is the model or a file; name another folder to write";
        return Err(Failure::Usage(format!("--out {} {why}", args.out.display())));
    }
    let new = args.new.as_ref().filter(|_| !args.model.exists());
    let (mut model, data) = load(args, new).inspect_err(|_| {
        if new.is_some() {
            // The folder may not exist: the error may have occurred before it was made.
            let _ = std::fs::remove_dir_all(&args.model);
        }
    })?;
    listen();
    let mut stopped = None;
    let out = &mut terminal.out;
    let each = |p: &Progress<'_>| {
        let last = p.step == p.steps || stopping();
        if p.step == 1 || last || p.step.is_multiple_of(args.every.max(1) as u64) {
            let line =
                writeln!(out, "step {} of {}: loss {:.4}, {} tokens", p.step, p.steps, p.loss, p.tokens);
            // A closed pipe does not end the training.
            let _ = line.and_then(|()| out.flush());
        }
        if stopping() {
            stopped = Some(p.step);
        }
        Ok(!stopping())
    };
    match &data {
        Data::Examples(examples) => model.tune(examples, &args.tuning(1e-3, Decay::Linear), each)?,
        Data::Pairs(pairs) => {
            let tuning = args.tuning(5e-4, Decay::Constant);
            model.prefer(pairs, &Dpo { tuning, beta: args.beta, smoothing: 0.0 }, each)?
        }
    };
    let decoder = model.engine.model();
    if args.merge {
        merge(decoder)?;
    }
    match args.full || args.merge {
        true => save(decoder, &args.model, &args.out)?,
        false => save_adapter(decoder, &args.out, Some(&args.model.display().to_string()))?,
    }
    if let Some(step) = stopped {
        writeln!(terminal.err, "note: stopped after step {step} of {}", args.steps)?;
    }
    writeln!(terminal.out, "wrote {}", args.out.display())?;
    Ok(())
}
