//! The command line.

use clap::{Args, Parser, Subcommand};
use gradus::CacheKind;
use gradus::gpu::Dialect;
use gradus::ir::format::Compute;
use gradus::models::LanguageModel;
use std::path::{Path, PathBuf};

/// Runs programs of tensor equations, differentiates them into equations, checks them and shows their cost.
#[derive(Parser, Debug)]
#[command(name = "gradus", version, about, long_about = None, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  gradus run mlp.eq                     print the values of a program
  gradus grad mlp.eq                    print its gradient as equations
  gradus check mlp.eq                   check that its gradients are correct
  echo 'Y = 1 + 2' | gradus run -       run a program from standard input

Exit codes: 0 success; 1 the program is wrong, a file cannot be read, or a run or a
check failed; 2 the command line is wrong: an unknown option, an invalid value, or
an option that does not apply to this program.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Run a program and print its exports, or all names that no other equation uses
    #[command(after_help = "\
Examples:
  gradus run mlp.eq
  gradus run mlp.eq --input X=x.npy --set rate=0.1 --only Loss,Probs
  gradus run rnn.eq --steps 20 --f64 --json
  gradus run report.eq --out results")]
    Run(RunArgs),
    /// Print the gradient of a program as a program
    #[command(after_help = "\
Examples:
  gradus grad mlp.eq                                print the program and its gradient equations
  gradus grad mlp.eq --wrt W1,W2 --gradients-only   print only what these gradients need
  gradus grad mlp.eq --merged -o mlp.grad.eq        write one line per gradient to a file
  gradus grad mlp.eq | gradus run - --only Grad_W1  run the gradient, which is a program")]
    Grad(GradArgs),
    /// Check a program, and compare every gradient with finite differences and forward mode
    #[command(after_help = "\
Examples:
  gradus check mlp.eq
  gradus check mlp.eq --loss Energy --input X=x.npy
  gradus check mlp.eq --device wgpu    compare values and gradients with the CPU

If the loss has no derivative at a point (a kink, a jump, an infinite slope), the
table shows \"not differentiable here\", and the check does not fail.")]
    Check(CheckArgs),
    /// Print the cost of every equation: einsum, contraction order, arithmetic, bytes, time, kernels
    #[command(after_help = "\
Examples:
  gradus explain mlp.eq
  gradus explain mlp.eq --json
  gradus explain mlp.eq --svg mlp.svg            draw the equations
  gradus explain mlp.eq --svg mlp.svg --ops      draw the operations of the graph
  gradus explain mlp.eq --kernels                print WGSL; --kernels=cuda prints CUDA C
  gradus explain mlp.eq --asm                    print the CPU instructions
  gradus explain mlp.eq --profile trace.json     write the times of steps for Perfetto
  gradus grad mlp.eq | gradus explain -")]
    Explain(ExplainArgs),
    /// Write a program or a trained model to a folder as a web page that runs on WebGPU
    #[command(after_help = "\
Examples:
  gradus export mlp.eq --web site --input W=w.npy --input X=x.npy --feed X
  gradus export mlp.eq --web site ... --feed X,Y --train W --rate 0.01
  gradus export mlp.eq --web site --params runs/mlp --input X=x.npy --feed X
  gradus export runs/names --web site

The folder contains plan.json (kernels and commands), weights.safetensors, a
runtime of less than 20 kB and a page that calls it. The shapes of the inputs
given here are fixed. If a step has no kernel, the export fails and names it.")]
    Export(crate::export::ExportArgs),
    /// Open the playground, or a folder of static files, in a browser; serves only this computer
    #[command(after_help = "\
Examples:
  gradus web           serve the page built by `cargo xtask web`
  gradus web site      serve a folder written by `gradus export`")]
    Web(crate::web::WebArgs),
    /// Format programs in the standard style; keeps comments and blank lines
    #[command(after_help = "\
Examples:
  gradus fmt mlp.eq           rewrite the file
  gradus fmt mlp.eq --check   change nothing; fail if the file is not formatted
  gradus fmt - < mlp.eq       write to standard output")]
    Fmt(FmtArgs),
    /// Print rows of a relation or elements of a tensor; computes only what they need
    #[command(after_help = "\
Examples:
  gradus query family.eq 'Anc(1, x)'    print all x of which 1 is an ancestor
  gradus query family.eq 'Anc(1, 4)'    print yes or no
  gradus query mlp.eq 'Probs[0, o]'     print elements with their indices")]
    Query(QueryArgs),
    /// Train a model, or equations with a loss, as a configuration file says
    #[command(after_help = "\
Examples:
  gradus train names.toml            train, and write to the folder `out`
  gradus train names.toml --resume   continue from the last checkpoint there

A run locks its folder; a second run in the same folder fails at once. --resume
fails if settings (seed, rate, data, ...) differ from those of the checkpoint,
unless --force is given. `steps` may be increased, except with the schedules
linear, cosine and one_cycle. If the loss is not finite or exceeds 1e20, the run
ends and keeps the last good checkpoint.

A configuration:
  model = \"names\"                # or gpt, or program
  data = \"names.txt\"             # paths are relative to the configuration
  steps = 2000                   # number of batches
  batch = 32                     # examples per batch
  out = \"run\"                    # folder for logs, loss curve, checkpoint
  seed = 0
  checkpoint_every = 500         # batches; Ctrl-C also writes a checkpoint
  log_every = 20                 # batches
  accumulate = 1                 # batches per update
  [optimizer]
  name = \"adamw\"
  rate = 3e-3
  clip_norm = 1.0                # or clip_value
  average = 0.999                # decay of averaged weights
  [schedule]
  name = \"cosine\"
  warm_up = 100                  # updates
  [validation]
  every = 500                    # batches between losses on held-out data
  [sizes]
  width = 200

Optimisers: adamw, adam, sgd, rmsprop, adagrad, lion, adafactor. Their keys are
the fields in gradus::nn::optim (weight_decay, betas, eps, momentum, ...).
Schedules: constant; step (every, gamma); multistep (at, gamma); linear (to);
cosine (to); one_cycle (up, first, last); piecewise (points = [[0, 1], [9, 2]]).
Sizes: names has context, embed, width; gpt has context, width, heads, layers.
Held-out data: one name in ten; for a text or examples, the last fraction `part`
(default 0.1).

For a program of equations, replace `data` and `[sizes]` by:
  [program]
  file = \"logistic.eq\"
  loss = \"Loss\"
  inputs = { X = \"x.npy\", T = \"t.npy\" }
  batched = [\"X\", \"T\"]           # inputs that are divided into batches
  # Initial values: a number, a file, or { normal | uniform | fill, shape }
  parameters = { W = { normal = 0.1 }, b = 0 }")]
    Train(TrainArgs),
    /// Generate texts with a language model trained by `gradus train`
    #[command(after_help = "\
Examples:
  gradus sample run
  gradus sample run --count 5 --temperature 0.8 --seed 7
  gradus sample run/checkpoint.safetensors --length 500")]
    Sample(SampleArgs),
    /// Continue a text with a language model from a GGUF file or a Hugging Face folder
    #[command(after_help = "\
Examples:
  gradus generate model.gguf 'The capital of France is'
  gradus generate folder 'Once upon a time' --tokens 200 --temperature 0.8 --top-p 0.9
  gradus generate model.gguf 'Q: 1+1? A:' --stop Q: --stats
  gradus generate model.gguf 'A person:' --json-schema person.json

Names of special tokens in the prompt are encoded as plain text.")]
    Generate(crate::generate::GenerateArgs),
    /// Chat with a language model: each line is a message, /clear starts a new conversation, /exit ends
    #[command(after_help = "\
Examples:
  gradus chat model.gguf
  gradus chat model.gguf --system 'You answer in one sentence.' --temperature 0.7
  echo 'Who are you?' | gradus chat model.gguf")]
    Chat(crate::generate::ChatArgs),
    /// Fine-tune a language model on texts or on pairs of answers, and write an adapter or a model
    #[command(after_help = "\
Examples:
  gradus tune model.gguf texts.jsonl --out adapter          train an adapter (LoRA); weights stay quantised
  gradus tune model.gguf texts.jsonl --out tuned --merge    write the model with the adapter added
  gradus tune folder texts.jsonl --out tuned --full         train all weights
  gradus tune model.gguf pairs.jsonl --out adapter --beta 0.1
  gradus generate model.gguf 'Hello' --adapter adapter

Each line of DATA is a JSON object; all lines have the same form:
  {\"text\": …}                                a text to learn
  {\"prompt\": …, \"completion\": …}           a prompt, and the completion to learn
  {\"messages\": [{\"role\", \"content\"}, …]}   a conversation; its last message is learned
  {\"prompt\": …, \"chosen\": …, \"rejected\": …} a preferred and a rejected answer (DPO)
Ctrl-C ends the training after the current update and writes the trained weights.")]
    Tune(crate::tune::TuneArgs),
    /// Print the embedding of each text as a JSON list, computed by a sentence encoder
    #[command(after_help = "\
Examples:
  gradus embed folder 'A text' 'Another text'
  gradus embed folder < texts.txt")]
    Embed(crate::embed::EmbedArgs),
    /// Serve a model over HTTP with the OpenAI API
    #[command(after_help = "\
Examples:
  gradus serve model.gguf
  gradus serve model.gguf --port 8000 --slots 8 --embeddings minilm
  gradus serve model.gguf --host 0.0.0.0 --key SECRET    accept requests from other computers

Endpoints: POST /v1/chat/completions, /v1/completions, /v1/embeddings;
GET /v1/models, /metrics (Prometheus), /health. At Ctrl-C the server finishes open
requests and exits.")]
    Serve(crate::serve::ServeArgs),
    /// List the tensors of a file of weights, with their types, parameter counts and memory
    #[command(after_help = "\
Examples:
  gradus inspect model.gguf
  gradus inspect model.safetensors --json")]
    Inspect(crate::inspect::InspectArgs),
    /// Convert a model from GGUF to a Hugging Face folder or back, or quantise it
    #[command(after_help = "\
Examples:
  gradus convert model.gguf folder --dtype bf16
  gradus convert folder model.gguf
  gradus convert folder model.gguf --type Q4_K    quantise matrices and report the error
  gradus convert model.gguf other.gguf --type Q8_0

In a Hugging Face folder, quantised weights are stored as unquantised numbers of --dtype.")]
    Convert(crate::convert::ConvertArgs),
    /// List the devices that programs can run on, with their limits
    #[command(after_help = "\
Examples:
  gradus devices
  gradus devices --measure    also measure the speed of each device")]
    Devices(DevicesArgs),
    /// Evaluate equations interactively
    #[command(after_help = "\
Examples:
  gradus repl
  gradus repl mlp.eq    start with the equations of a file")]
    Repl(ReplArgs),
    /// Print the completion script of a shell
    #[command(after_help = "\
Examples:
  gradus completions bash > ~/.local/share/bash-completion/completions/gradus
  gradus completions fish > ~/.config/fish/completions/gradus.fish")]
    Completions {
        /// The shell to print completions for
        shell: clap_complete::Shell,
    },
}

impl Verb {
    /// Returns the field in which the verb stores the command line, if its messages point at it.
    pub(crate) fn command(&mut self) -> Option<&mut Option<gradus::lang::Source>> {
        match self {
            Verb::Run(args) => Some(&mut args.given.command),
            Verb::Grad(args) => Some(&mut args.command),
            Verb::Check(args) => Some(&mut args.given.command),
            Verb::Explain(args) => Some(&mut args.given.command),
            Verb::Export(args) => Some(&mut args.given.command),
            Verb::Query(args) => Some(&mut args.given.command),
            Verb::Repl(args) => Some(&mut args.given.command),
            _ => None,
        }
    }
}

/// A name and a value, written `NAME=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Parses one name of a list; fails if it is empty.
fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected names separated by commas".into()),
        name => Ok(name.to_string()),
    }
}

fn pair(text: &str) -> Result<Pair, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok(Pair { name: name.trim().to_string(), value: value.trim().to_string() })
        }
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Parses the language of GPU kernels.
fn dialect(text: &str) -> Result<Dialect, String> {
    match text {
        "wgsl" => Ok(Dialect::Wgsl),
        "cuda" => Ok(Dialect::Cuda),
        _ => Err("expected wgsl or cuda".into()),
    }
}

/// Parses an integer, 0 or more.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected an integer, 0 or more".to_string())
}

/// Parses a finite number, 0 or more.
pub(crate) fn size(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
    if x.is_finite() && x >= 0.0 { Ok(x) } else { Err("expected a finite number, 0 or more".into()) }
}

/// Parses a fraction: above 0, at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
    if x > 0.0 && x <= 1.0 { Ok(x) } else { Err("expected a number above 0 and at most 1".into()) }
}

/// The device that programs run on.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    /// Device to run on (see `gradus devices`)
    #[arg(long = "device", value_name = "NAME", default_value = "cpu")]
    name: String,
}

impl DeviceArgs {
    /// Opens the device. An unknown name is a usage error.
    pub(crate) fn device(&self) -> crate::Done<gradus::Device> {
        gradus::Device::named(&self.name).map_err(|e| crate::Failure::Usage(e.message()))
    }
}

/// The precision of products with quantised weights, and of cached keys and values.
#[derive(Args, Debug)]
pub(crate) struct Precision {
    /// Activations in products with quantised weights: f32, bf16, or int8, which rounds them to 8 bits and is faster
    #[arg(long, value_name = "NUMBERS", default_value = "f32", value_parser = compute)]
    pub(crate) compute: Compute,
    /// Cached keys and values: f32, bf16 (half of the memory), or q8 (a quarter)
    #[arg(long, value_name = "NUMBERS", default_value = "f32", value_parser = cache)]
    pub(crate) cache: CacheKind,
}

impl Precision {
    /// Loads a model with these settings.
    pub(crate) fn load(&self, path: &Path, device: gradus::Device) -> gradus::Result<LanguageModel> {
        let model = LanguageModel::load_computing(path, device, self.compute)?;
        if self.cache == CacheKind::default() { Ok(model) } else { model.with_cache(self.cache) }
    }
}

fn cache(text: &str) -> Result<CacheKind, String> {
    CacheKind::of_name(text).ok_or_else(|| "expected f32, bf16 or q8".to_string())
}

fn compute(text: &str) -> Result<Compute, String> {
    Compute::of_name(text).ok_or_else(|| "expected f32, bf16 or int8".to_string())
}

/// Inputs and settings of a run, shared by all commands that run programs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct InputArgs {
    /// Read an input from a file (.npy .npz .json .csv .tsv .safetensors .txt); also replaces a file that the program reads
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    pub(crate) inputs: Vec<Pair>,
    /// Set a parameter, a small input, or the first value of a state: --set rate=0.1, --set 'X=[1, 2, 3]'
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) set: Vec<Pair>,
    /// Read inputs from the parameters of a run of `gradus train`: its output folder or checkpoint
    #[arg(long, value_name = "RUN")]
    pub(crate) params: Option<PathBuf>,
    /// Set the temperature of `sig` in the equations of NAME; * sets it in all equations
    #[arg(long = "temperature", value_name = "NAME=T", value_parser = pair)]
    pub(crate) temperatures: Vec<Pair>,
    /// Number of steps of virtual time; if a condition ends the time, the largest number of steps
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) steps: Option<usize>,
    /// Largest number of rounds of a fixpoint, at most 1000000 [default: 10000]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) rounds: Option<usize>,
    /// Largest estimated distance from the limit, relative to the values, at which a fixpoint counts as converged [default: 1e-6, in f64 1e-12]
    #[arg(long, value_name = "X", value_parser = size)]
    pub(crate) tolerance: Option<f64>,
    /// Return the last values of fixpoints that do not converge, instead of failing
    #[arg(long)]
    pub(crate) allow_unconverged: bool,
    /// Compute in f64 instead of f32
    #[arg(long)]
    pub(crate) f64: bool,
    /// The command line, so that messages can point at it.
    #[arg(skip)]
    pub(crate) command: Option<gradus::lang::Source>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Program to read; - reads standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Print only these names, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) only: Vec<String>,
    /// Write every printed value, and the files that the program writes, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object that maps each name to {"shape", "dtype", "data"}. Numbers that JSON lacks are "NaN", "inf" and "-inf"; --input can read the object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

#[derive(Args, Debug)]
pub(crate) struct GradArgs {
    /// Program to read; - reads standard input
    pub(crate) file: PathBuf,
    /// Scalar to differentiate [default: Loss, else the only scalar that no other equation uses]
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
    /// Names to differentiate with respect to, separated by commas [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) wrt: Vec<String>,
    /// Inputs that are complex, separated by commas; all others are real
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) complex: Vec<String>,
    /// Write all contributions to a gradient in one equation
    #[arg(long)]
    pub(crate) merged: bool,
    /// Omit the program itself
    #[arg(long)]
    pub(crate) gradients_only: bool,
    /// Write to a file instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only checked to exist: gradient equations are the same on every device.
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
    /// The command line, so that messages can point at it.
    #[arg(skip)]
    pub(crate) command: Option<gradus::lang::Source>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Program to read; - reads standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Scalar to differentiate [default: Loss, else a sum of all outputs with random weights]
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
    /// Names whose gradients are checked, separated by commas [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) wrt: Vec<String>,
    /// Largest accepted difference between a gradient and finite differences, relative to the gradient
    #[arg(long, value_name = "X", default_value_t = 1e-6, value_parser = size)]
    pub(crate) within: f64,
    /// Seed of the random directions and inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Program to read; - reads standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Compute only these names, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) only: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the equations as an SVG file
    #[arg(long, value_name = "OUT")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
    /// With --svg: draw the operations of the graph instead of the equations
    #[arg(long, requires = "svg")]
    pub(crate) ops: bool,
    /// With --ops: number the operations in the order of evaluation
    #[arg(long, requires = "ops")]
    pub(crate) order: bool,
    /// Print the graph, buffers and GPU kernels instead of the cost; needs no GPU
    #[arg(
        long,
        value_name = "wgsl|cuda",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "wgsl",
        value_parser = dialect,
        conflicts_with_all = ["json", "asm"]
    )]
    pub(crate) kernels: Option<Dialect>,
    /// Print the program with every sum and axis written out, instead of the cost; needs no inputs
    #[arg(long, conflicts_with_all = ["json", "svg", "kernels", "asm", "profile"])]
    pub(crate) core: bool,
    /// Print the generated CPU instructions instead of the cost; with --device wgpu, the kernels
    #[arg(long, conflicts_with = "json")]
    pub(crate) asm: bool,
    /// Write the times of the plan's steps to a trace file for Perfetto
    #[arg(long, value_name = "OUT")]
    pub(crate) profile: Option<PathBuf>,
    /// Also measure the device's peak rates, and print the time of each step and its share of them
    #[arg(long, conflicts_with_all = ["json", "kernels", "asm", "core"])]
    pub(crate) measure: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DevicesArgs {
    /// Measure memory bandwidth and arithmetic speed; takes a second per device
    #[arg(long)]
    pub(crate) measure: bool,
    /// Print one JSON list instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FmtArgs {
    /// Programs to format; - reads standard input and writes standard output
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; fail if a program is not formatted
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// Program to read; - reads standard input
    pub(crate) file: PathBuf,
    /// A tensor or relation with its indices: names are listed, numbers are fixed, as in Anc(1, x) and Probs[0, o]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Print one JSON list of rows instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReplArgs {
    /// Program to start with
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) given: InputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TrainArgs {
    /// Configuration file, in TOML
    pub(crate) config: PathBuf,
    /// Continue from the last checkpoint, if there is one
    #[arg(long)]
    pub(crate) resume: bool,
    /// With --resume: continue even if settings have changed
    #[arg(long, requires = "resume")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
    /// Write a Perfetto trace of one more step after the run
    #[arg(long, value_name = "OUT")]
    pub(crate) profile: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SampleArgs {
    /// Checkpoint, or output folder of a run of `gradus train`
    #[arg(value_name = "CHECKPOINT|FOLDER")]
    pub(crate) path: PathBuf,
    /// Divide logits by this before sampling; 0 always takes the most likely character
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = size)]
    pub(crate) temperature: f64,
    /// Sample from the N most likely characters only
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<usize>,
    /// Number of texts
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) count: usize,
    /// Characters per text, for models that do not end texts themselves
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) length: usize,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}
