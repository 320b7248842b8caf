//! `gradus generate` and `gradus chat`: print the text of a language model while it is generated.

use crate::args::{DeviceArgs, Precision, count, share, size};
use crate::{Done, Failure, Terminal};
use clap::Args;
use gradus::files::{atomic, bytes_up_to};
use gradus::models::chat::{Message, Template};
use gradus::models::constrain::Grammar;
use gradus::models::engine::{Finish, Options, WhenFull};
use gradus::models::tune::load_adapter;
use gradus::models::{Generated, LanguageModel};
use gradus::nn::Sampling;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of text generation.
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// Largest number of new tokens
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = count)]
    tokens: usize,
    /// Divide logits by this before sampling; 0 always takes the most likely token
    #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = size)]
    temperature: f64,
    /// Sample from the N most likely tokens only
    #[arg(long, value_name = "N")]
    top_k: Option<usize>,
    /// Sample from the fewest most likely tokens whose probabilities sum to P
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = share)]
    top_p: f64,
    /// Sample from tokens whose probability is at least P times that of the most likely token
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = size)]
    min_p: f64,
    /// Values above 1 make the last 64 tokens less likely to be repeated
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = size)]
    repetition_penalty: f64,
    /// Subtract this from the logit of a token for each time it was generated
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    frequency_penalty: f64,
    /// Subtract this from the logit of a token that was generated before
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    presence_penalty: f64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// End the text before this string; may be given several times
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Generate JSON that is valid under the JSON schema in this file
    #[arg(long, value_name = "FILE")]
    json_schema: Option<PathBuf>,
    /// Add the adapter in this folder, written by `gradus tune`
    #[arg(long, value_name = "FOLDER")]
    adapter: Option<PathBuf>,
    /// When the context is full, drop the earlier half of the text and continue; `chat` drops its oldest messages
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    precision: Precision,
}

impl Choice {
    /// Loads a model, with its adapter if there is one.
    fn load(&self, path: &Path, on: &DeviceArgs) -> Done<LanguageModel> {
        let model = self.precision.load(path, on.device()?)?;
        if let Some(folder) = &self.adapter {
            load_adapter(model.engine.model(), folder)?;
        }
        Ok(model)
    }

    fn options(&self, model: &LanguageModel) -> Done<Options> {
        let sampling = Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            ..Sampling::default()
        };
        let when_full = match self.forget {
            // A token that begins every text is kept.
            true => WhenFull::Forget { keep: model.tokenizer.encode("")?.len() },
            false => WhenFull::Stop,
        };
        let grammar = self.json_schema.as_deref().map(|file| grammar(file, model)).transpose()?;
        Ok(Options {
            tokens: self.tokens,
            sampling,
            seed: self.seed,
            when_full,
            grammar,
            ..Options::default()
        })
    }
}

/// Largest schema file, in bytes.
const MAX_SCHEMA: u64 = 4 << 20;

/// Reads a JSON schema and makes its grammar over the tokens of a model.
fn grammar(file: &Path, model: &LanguageModel) -> Done<Arc<Grammar>> {
    let schema = bytes_up_to(file, MAX_SCHEMA)?;
    model.json_schema(&schema).map_err(|e| Failure::Run(format!("{}: {}", file.display(), e.message())))
}

#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// GGUF file, or folder with config.json, tokenizer.json and safetensors files
    pub(crate) model: PathBuf,
    /// Text to continue
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Print the numbers of tokens and tokens per second at the end
    #[arg(long)]
    pub(crate) stats: bool,
    /// Write the times of the steps that compute one token as a trace, which Perfetto opens
    #[arg(long, value_name = "OUT")]
    pub(crate) profile: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ChatArgs {
    /// GGUF file, or folder with config.json, tokenizer.json and safetensors files
    pub(crate) model: PathBuf,
    /// System prompt: instructions for the model, given before the first message
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

/// Returns a callback that prints pieces as they are generated. A closed pipe, as of `| head`, ends
/// generation.
fn printer<'a>(terminal: &'a mut Terminal<'_>) -> impl FnMut(&str) -> bool + 'a {
    |piece| write!(terminal.out, "{piece}").and_then(|()| terminal.out.flush()).is_ok()
}

pub(crate) fn run(args: &GenerateArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut model = args.choice.load(&args.model, &args.on)?;
    let options = args.choice.options(&model)?;
    let done = model.generate(&args.prompt, &options, &args.choice.stop, printer(terminal))?;
    writeln!(terminal.out)?;
    note_full(&done, terminal)?;
    if args.stats {
        writeln!(terminal.err, "{}", speed(&done))?;
    }
    if let Some(path) = &args.profile {
        let text = model.engine.cached_tokens().to_vec();
        atomic::write(path, &[model.engine.timeline(&text)?.trace().as_bytes()])?;
    }
    Ok(())
}

/// Says that a text ended because the context is full.
fn note_full(done: &Generated, terminal: &mut Terminal<'_>) -> Done {
    if done.finish == Finish::Full {
        writeln!(terminal.err, "note: the context of the model is full; use --forget to continue")?;
    }
    Ok(())
}

fn speed(done: &Generated) -> String {
    let rate = |n: usize, time: std::time::Duration| n as f64 / time.as_secs_f64().max(1e-9);
    format!(
        "{} prompt tokens, {:.1} per second; {} new tokens, {:.1} per second",
        done.prompt,
        rate(done.prompt, done.prefill),
        done.tokens,
        rate(done.tokens.saturating_sub(1), done.decode)
    )
}

/// Encodes a conversation as the prompt of its next answer. With `--forget`, removes the oldest messages that
/// do not fit. Returns `None` if the conversation is too long.
fn prompt(
    messages: &mut Vec<Message>,
    (model, template): (&LanguageModel, &Template),
    options: &mut Options,
) -> Done<Option<Vec<i64>>> {
    let (context, tokenizer) = (model.engine.model().config.context, &model.tokenizer);
    let tokens = match &mut options.when_full {
        WhenFull::Stop => template.encode(messages, tokenizer)?,
        WhenFull::Forget { keep } => {
            // Leaves positions for the answer.
            let most = context - options.tokens.min(context / 2);
            let tokens = template.encode_within(messages, tokenizer, most)?;
            *keep = template.instructions(messages, tokenizer)?;
            tokens
        }
    };
    Ok(Some(tokens).filter(|tokens| tokens.len() < context))
}

/// Holds a conversation: a line of input is a message, `/clear` starts a new conversation, `/exit` or end of
/// input ends it.
pub(crate) fn chat(args: &ChatArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut model = args.choice.load(&args.model, &args.on)?;
    let Some(template) = model.template.clone() else {
        return Err(Failure::Run("the model has no chat template; use `gradus generate`".into()));
    };
    let mut options = args.choice.options(&model)?;
    let begin = || args.system.iter().map(|text| Message::new("system", text)).collect::<Vec<_>>();
    let mut messages = begin();
    loop {
        if terminal.interactive {
            write!(terminal.out, "> ")?;
            terminal.out.flush()?;
        }
        let mut line = String::new();
        if terminal.input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match line.trim() {
            "" => continue,
            "/exit" => return Ok(()),
            "/clear" => messages = begin(),
            text => {
                messages.push(Message::new("user", text));
                let count = messages.len();
                let Some(prompt) = prompt(&mut messages, (&model, &template), &mut options)? else {
                    messages.pop();
                    let way = match args.choice.forget {
                        true => "shorten the message",
                        false => "shorten the message, use /clear, or start with --forget",
                    };
                    let context = model.engine.model().config.context;
                    writeln!(
                        terminal.err,
                        "note: the conversation has no answer, because it does not fit the context of {context} tokens; {way}"
                    )?;
                    continue;
                };
                if messages.len() < count {
                    let dropped = count - messages.len();
                    writeln!(terminal.err, "note: dropped the {dropped} oldest messages")?;
                }
                let stop = &args.choice.stop;
                let done = model.continue_tokens(&prompt, &options, stop, printer(terminal))?;
                writeln!(terminal.out)?;
                note_full(&done, terminal)?;
                writeln!(terminal.err, "({})", speed(&done))?;
                messages.push(Message::new("assistant", done.text));
            }
        }
    }
}
