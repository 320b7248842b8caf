//! The command line.

use clap::{Args, Parser, Subcommand};
use gradus::gpu::Dialect;
use gradus::ir::format::Compute;
use std::path::PathBuf;

/// Tensor equations: run them, differentiate them into equations, check and explain them.
#[derive(Parser, Debug)]
#[command(name = "gradus", version, about, long_about = None, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  gradus run mlp.eq                     the values of a program
  gradus grad mlp.eq                    its gradient, as equations
  gradus check mlp.eq                   whether its gradients are right
  echo 'Y = 1 + 2' | gradus run -       a program from standard input

Exit codes: 0 all is well; 1 the program is wrong, a file cannot be read, or a run
or a check failed; 2 the command line is wrong: an option that does not exist, that
has no such value, or that this program has nothing for.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Run a program: the values of its exports, or of all names that nothing else uses
    #[command(after_help = "\
Examples:
  gradus run mlp.eq
  gradus run mlp.eq --input X=x.npy --set rate=0.1 --only Loss,Probs
  gradus run rnn.eq --steps 20 --f64 --json
  gradus run report.eq --out results")]
    Run(RunArgs),
    /// The gradient of a program, as a program
    #[command(after_help = "\
Examples:
  gradus grad mlp.eq                                the program and its gradient equations
  gradus grad mlp.eq --wrt W1,W2 --gradients-only   only what these gradients need
  gradus grad mlp.eq --merged -o mlp.grad.eq        one line per gradient, into a file
  gradus grad mlp.eq | gradus run - --only Grad_W1  gradients are programs: run them")]
    Grad(GradArgs),
    /// Check a program, then every gradient against finite differences and forward mode
    #[command(after_help = "\
Examples:
  gradus check mlp.eq
  gradus check mlp.eq --loss Energy --input X=x.npy
  gradus check mlp.eq --device wgpu    values and gradients compared with the CPU

Where the loss has no derivative (a kink, a jump, an infinite slope) the table says
\"not differentiable here\", and nothing fails.")]
    Check(CheckArgs),
    /// What every equation costs: einsum, contraction order, arithmetic, bytes, time, kernels
    #[command(after_help = "\
Examples:
  gradus explain mlp.eq
  gradus explain mlp.eq --json
  gradus explain mlp.eq --svg mlp.svg
  gradus explain mlp.eq --svg mlp.svg --order    nodes numbered as they are evaluated
  gradus explain mlp.eq --kernels                WGSL; --kernels=cuda: CUDA C
  gradus explain mlp.eq --asm                    instructions for the CPU
  gradus explain mlp.eq --profile trace.json     times of steps, for Perfetto
  gradus grad mlp.eq | gradus explain -")]
    Explain(ExplainArgs),
    /// Write a program or a trained model as a folder that a web page runs on WebGPU
    #[command(after_help = "\
Examples:
  gradus export mlp.eq --web site --input W=w.npy --input X=x.npy --feed X
  gradus export mlp.eq --web site ... --feed X,Y --train W --rate 0.01
  gradus export mlp.eq --web site --weights runs/mlp --input X=x.npy --feed X
  gradus export runs/names --web site

The folder holds plan.json (kernels and commands), weights.safetensors, a
runtime of less than 20 kB and a page that calls it. Sizes are those of the
inputs given here. Steps without a kernel are refused by name.")]
    Export(crate::export::ExportArgs),
    /// Show the playground, or any folder of static files, in a browser; serves this computer only
    #[command(after_help = "\
Examples:
  gradus web           the page that `cargo xtask web` has built
  gradus web site      a folder that `gradus export` has written")]
    Web(crate::web::WebArgs),
    /// Write a program in the one form that all programs are printed in; comments and blank lines stay
    #[command(after_help = "\
Examples:
  gradus fmt mlp.eq           rewrites the file
  gradus fmt mlp.eq --check   changes nothing, fails if something would change
  gradus fmt - < mlp.eq       to standard output")]
    Fmt(FmtArgs),
    /// Ask for rows of a relation or elements of a tensor; only what they need is computed
    #[command(after_help = "\
Examples:
  gradus query family.eq 'Anc(1, x)'    everyone of whom 1 is an ancestor
  gradus query family.eq 'Anc(1, 4)'    yes or no
  gradus query mlp.eq 'Probs[0, o]'     numbers with their indices")]
    Query(QueryArgs),
    /// Train a model, or a program of equations with a loss, as a configuration says
    #[command(after_help = "\
Examples:
  gradus train names.toml            writes into the folder that `out` names
  gradus train names.toml --resume   goes on from the last checkpoint there

A run locks its folder: a second one in it fails at once. --resume refuses
other settings (seed, rate, data, ...) than the checkpoint's, unless --force;
`steps` may grow, except under a schedule that they stretch. A loss that is
not finite, or beyond 1e20, ends the run and keeps the last good checkpoint.

A configuration:
  model = \"names\"                # or gpt, or program
  data = \"names.txt\"             # paths are relative to the configuration
  steps = 2000                   # batches
  batch = 32
  out = \"run\"                    # log, event file, loss curve, checkpoint
  seed = 0
  checkpoint_every = 500         # Ctrl-C writes one too
  log_every = 20
  accumulate = 1                 # batches whose gradients make an update
  [optimizer]
  name = \"adamw\"
  rate = 3e-3
  clip_norm = 1.0                # or clip_value
  average = 0.999                # of the weights, for use and validation
  [schedule]
  name = \"cosine\"
  warm_up = 100                  # updates
  [validation]
  every = 500                    # the loss on what is held out
  [sizes]
  width = 200

Optimisers: adamw, adam, sgd, rmsprop, adagrad, lion, adafactor; keys are
their fields in gradus::nn::optim (weight_decay, betas, eps, momentum, ...).
Schedules: constant; step (every, gamma); multistep (at, gamma); linear (to);
cosine (to); one_cycle (up, first, last); piecewise (points = [[0, 1], [9, 2]]).
Sizes: names has context, embed, width; gpt has context, width, heads, layers.
Held out: one name in ten; of a text or of examples the last `part`, 0.1.

A program instead of `data` and `sizes`:
  [program]
  file = \"logistic.eq\"
  loss = \"Loss\"
  inputs = { X = \"x.npy\", T = \"t.npy\" }
  batched = [\"X\", \"T\"]           # those that `batch` takes examples of
  # First values: a number, a file, or { normal | uniform | fill, shape }
  parameters = { W = { normal = 0.1 }, b = 0 }")]
    Train(TrainArgs),
    /// Texts that a trained language model makes
    #[command(after_help = "\
Examples:
  gradus sample run
  gradus sample run --count 5 --temperature 0.8 --seed 7
  gradus sample run/checkpoint.safetensors --length 500")]
    Sample(SampleArgs),
    /// Continue a text with a language model from a file
    #[command(after_help = "\
Examples:
  gradus generate model.gguf 'The capital of France is'
  gradus generate folder 'Once upon a time' --tokens 200 --temperature 0.8 --top-p 0.9
  gradus generate model.gguf 'Q: 1+1? A:' --stop Q: --stats
  gradus generate model.gguf 'A person:' --json-schema person.json

Special tokens in the prompt are taken as text.")]
    Generate(crate::generate::GenerateArgs),
    /// Talk with a language model: a line is a message, /clear begins anew, /exit ends
    #[command(after_help = "\
Examples:
  gradus chat model.gguf
  gradus chat model.gguf --system 'You answer in one sentence.' --temperature 0.7
  echo 'Who are you?' | gradus chat model.gguf")]
    Chat(crate::generate::ChatArgs),
    /// Fine-tune a language model on texts or on pairs of answers, and write an adapter or a model
    #[command(after_help = "\
Examples:
  gradus tune model.gguf texts.jsonl --out adapter          an adapter (LoRA); quantised weights stay
  gradus tune model.gguf texts.jsonl --out tuned --merge    the model with the adapter added
  gradus tune folder texts.jsonl --out tuned --full         all weights
  gradus tune model.gguf pairs.jsonl --out adapter --beta 0.1
  gradus generate model.gguf 'Hello' --adapter adapter

A line of DATA is a JSON object; all are of one kind:
  {\"text\": …}                                a text to learn
  {\"prompt\": …, \"completion\": …}           a prompt, and what shall follow it
  {\"messages\": [{\"role\", \"content\"}, …]}   a conversation, whose last message is learned
  {\"prompt\": …, \"chosen\": …, \"rejected\": …} a better and a worse answer (DPO)
Ctrl-C ends the training after the current update and writes what was learned.")]
    Tune(crate::tune::TuneArgs),
    /// Vectors of texts, by a sentence encoder from a folder: a JSON list for each
    #[command(after_help = "\
Examples:
  gradus embed folder 'A text' 'Another text'
  gradus embed folder < texts.txt")]
    Embed(crate::embed::EmbedArgs),
    /// Answer HTTP requests with a model, as OpenAI's interface does
    #[command(after_help = "\
Examples:
  gradus serve model.gguf
  gradus serve model.gguf --port 8000 --slots 8 --embeddings minilm
  gradus serve model.gguf --host 0.0.0.0 --key SECRET    other computers too

Endpoints: POST /v1/chat/completions, /v1/completions, /v1/embeddings;
GET /v1/models, /metrics (Prometheus), /health. Ctrl-C lets open requests end.")]
    Serve(crate::serve::ServeArgs),
    /// List the tensors of a file of weights, with their types, parameter counts and memory
    #[command(after_help = "\
Examples:
  gradus inspect model.gguf
  gradus inspect model.safetensors --json")]
    Inspect(crate::inspect::InspectArgs),
    /// Write a model in another form: a GGUF file as a Hugging Face folder, or back, or quantised
    #[command(after_help = "\
Examples:
  gradus convert model.gguf folder --dtype bf16
  gradus convert folder model.gguf
  gradus convert folder model.gguf --type Q4_K    quantises matrices and reports the error
  gradus convert model.gguf other.gguf --type Q8_0

In a folder quantised weights of a GGUF file become numbers of the dtype.")]
    Convert(crate::convert::ConvertArgs),
    /// The devices that programs can run on, with their limits
    #[command(after_help = "\
Examples:
  gradus devices
  gradus devices --measure    also how fast each of them is")]
    Devices(DevicesArgs),
    /// Type equations and see their values
    #[command(after_help = "\
Examples:
  gradus repl
  gradus repl mlp.eq    begins with the equations of a file")]
    Repl(ReplArgs),
    /// Completions for a shell
    #[command(after_help = "\
Examples:
  gradus completions bash > ~/.local/share/bash-completion/completions/gradus
  gradus completions fish > ~/.config/fish/completions/gradus.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Verb {
    /// The field in which the verb stores the command line, if its messages point at it.
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
        "" => Err("expected names with a comma between two of them".into()),
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
    text.parse().map_err(|_| "expected a whole number, 0 or more".to_string())
}

/// Parses a finite number, 0 or more.
pub(crate) fn size(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
    if x.is_finite() && x >= 0.0 { Ok(x) } else { Err("expected a number from 0 on".into()) }
}

/// Parses a fraction: above 0, at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
    if x > 0.0 && x <= 1.0 { Ok(x) } else { Err("expected a number above 0, at most 1".into()) }
}

/// Where programs run.
#[derive(Args, Debug)]
pub(crate) struct On {
    /// Where to run, one of `gradus devices`
    #[arg(long = "device", value_name = "NAME", default_value = "cpu")]
    name: String,
}

impl On {
    /// Opens the device. An unknown name is a usage error.
    pub(crate) fn device(&self) -> crate::Done<gradus::Device> {
        gradus::Device::named(&self.name).map_err(|e| crate::Failure::Usage(e.to_string()))
    }
}

/// The precision of products with quantised weights.
#[derive(Args, Debug)]
pub(crate) struct Precision {
    /// Numbers in products with quantised weights: f32, or int8, which rounds activations and is faster
    #[arg(long, value_name = "NUMBERS", default_value = "f32", value_parser = compute)]
    pub(crate) compute: Compute,
}

fn compute(text: &str) -> Result<Compute, String> {
    Compute::of_name(text).ok_or_else(|| "expected f32 or int8".to_string())
}

/// What a run is given, whatever it is for.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Given {
    /// A tensor from a file (.npy .npz .json .csv .tsv .safetensors .txt): inputs, and instead of the files that a program names
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    pub(crate) inputs: Vec<Pair>,
    /// A parameter, a small input, or what a state begins with: --set rate=0.1, --set 'X=[1, 2, 3]'
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) set: Vec<Pair>,
    /// The temperature of sig in the equations of a name, * for all
    #[arg(long = "temperature", value_name = "NAME=T", value_parser = pair)]
    pub(crate) temperatures: Vec<Pair>,
    /// How many steps virtual time has; of one that ends by a condition, at most
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) steps: Option<usize>,
    /// How many rounds a fixpoint may take
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) rounds: Option<usize>,
    /// How far numbers may still have to go when a fixpoint counts as reached, relative to their size; without, 1e-6, and 1e-12 in f64
    #[arg(long, value_name = "X", value_parser = size)]
    pub(crate) tolerance: Option<f64>,
    /// Give values of fixpoints that were not reached
    #[arg(long)]
    pub(crate) allow_unconverged: bool,
    /// Compute in f64 instead of f32
    #[arg(long)]
    pub(crate) f64: bool,
    /// Inputs that another option has read; `--input` and `--set` come first.
    #[arg(skip)]
    pub(crate) tensors: Vec<(String, gradus::Tensor)>,
    /// All of the command line, for messages to point at.
    #[arg(skip)]
    pub(crate) command: Option<gradus::lang::Source>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
    /// The names to give, and nothing else
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) only: Vec<String>,
    /// Write every value, and the files that the program names, into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// One JSON object instead of text: name to {"shape", "dtype", "data"}. What JSON has no numbers for is "NaN", "inf" and "-inf"; --input reads all of it back
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Args, Debug)]
pub(crate) struct GradArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    /// The scalar to differentiate: without, Loss, or the only one that nothing else uses
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
    /// The names whose gradients are wanted: without, all
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) wrt: Vec<String>,
    /// The inputs that are complex numbers: the others are taken for real
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) complex: Vec<String>,
    /// All contributions to a gradient in one line
    #[arg(long)]
    pub(crate) merged: bool,
    /// Leave the program itself out
    #[arg(long)]
    pub(crate) gradients_only: bool,
    /// Write to a file
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// A device that the gradient is for. Equations are the same for every device: this only checks that it is there
    #[command(flatten)]
    pub(crate) on: On,
    /// All of the command line, for messages to point at.
    #[arg(skip)]
    pub(crate) command: Option<gradus::lang::Source>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
    /// The scalar to differentiate: without, Loss, or else all outputs with random weights
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
    /// How far a gradient may be from finite differences, relative to its size
    #[arg(long, value_name = "X", default_value_t = 1e-6, value_parser = size)]
    pub(crate) within: f64,
    /// Where random directions begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
    /// The names to compute, and nothing else
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = name)]
    pub(crate) only: Vec<String>,
    /// One JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the program into a file
    #[arg(long, value_name = "OUT")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: On,
    /// With --svg: number the nodes in the order of evaluation
    #[arg(long, requires = "svg")]
    pub(crate) order: bool,
    /// Print the graph, buffers and GPU kernels instead; needs no GPU
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
    /// Print the program with every sum and axis written out instead; needs no inputs
    #[arg(long, conflicts_with_all = ["json", "svg", "kernels", "asm", "profile"])]
    pub(crate) core: bool,
    /// Print the generated instructions instead; with --device, the kernels
    #[arg(long, conflicts_with = "json")]
    pub(crate) asm: bool,
    /// Write the times of the plan's steps as a trace, which Perfetto opens
    #[arg(long, value_name = "OUT")]
    pub(crate) profile: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct DevicesArgs {
    /// Measure bandwidth and arithmetic, which takes a second for each device
    #[arg(long)]
    pub(crate) measure: bool,
    /// One JSON list instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FmtArgs {
    /// The programs, - for standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; fail if something would change
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// The program, - for standard input
    pub(crate) file: PathBuf,
    /// A tensor with names to bind and numbers to hold: Anc(1, x), Probs[0, o]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) given: Given,
    /// One JSON list of rows instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReplArgs {
    /// A program to begin with
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) given: Given,
}

#[derive(Args, Debug)]
pub(crate) struct TrainArgs {
    /// The configuration, in TOML
    pub(crate) config: PathBuf,
    /// Go on from the last checkpoint, if there is one
    #[arg(long)]
    pub(crate) resume: bool,
    /// With --resume: accept changed settings
    #[arg(long, requires = "resume")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Args, Debug)]
pub(crate) struct SampleArgs {
    /// A checkpoint, or the output folder of a run
    #[arg(value_name = "CHECKPOINT|FOLDER")]
    pub(crate) path: PathBuf,
    /// Below 1 what is likely becomes likelier; 0 always takes the likeliest
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = size)]
    pub(crate) temperature: f64,
    /// Choose among so many of the likeliest only
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<usize>,
    /// How many texts
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) count: usize,
    /// Characters of a text, for models that do not end it themselves
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) length: usize,
    /// Where random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) on: On,
}
