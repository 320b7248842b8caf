//! `gradus train`: trains a model as a configuration describes, and writes a log, a plot of the loss and
//! checkpoints.

mod curve;
mod events;
mod journal;
mod keys;
pub(crate) mod language;
mod lock;
mod optimizer;
mod program;
mod resume;
mod validation;

use crate::args::TrainArgs;
use crate::{Done, Failure, Terminal, open};
use gradus::files::atomic;
use gradus::lang::Lowered;
use gradus::nn::data::Loader;
use gradus::nn::{Config, Ended, Step, train};
use gradus::{DType, Device, Error, Result, Tensor};
use journal::{Journal, Record};
use keys::Keys;
use language::Common;
use lock::Lock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use validation::Validation;

/// Name of the checkpoint in an output folder.
const CHECKPOINT: &str = "checkpoint.safetensors";

/// Returns the checkpoint of a run, which is given by its output folder or by the checkpoint itself.
pub(crate) fn checkpoint(run: &Path) -> PathBuf {
    if run.is_dir() { run.join(CHECKPOINT) } else { run.to_path_buf() }
}

/// A compiled training step, and its batches.
pub(crate) struct Prepared {
    step: Step<'static>,
    loader: Loader,
    /// The description of the model that is stored in checkpoints.
    note: serde_json::Value,
    /// Loss on held-out examples, if requested.
    validation: Option<Validation>,
    /// The program, used to check that its fixpoints have converged.
    program: Option<Arc<Lowered>>,
}

impl Prepared {
    /// Compiles the step for the types of the first batch, then rewinds the loader.
    fn new(
        mut loader: Loader,
        note: serde_json::Value,
        validation: Option<Validation>,
        step: impl FnOnce(&[Tensor]) -> Result<Step<'static>>,
    ) -> Done<Prepared> {
        let step = step(&loader.next_batch()?)?;
        loader.seek(Default::default());
        Ok(Prepared { step, loader, note, validation, program: None })
    }
}

/// Set by Ctrl-C: the run ends after the current batch. A second Ctrl-C ends the process at once.
static STOP: AtomicBool = AtomicBool::new(false);

/// Returns true if Ctrl-C was pressed since [`listen`].
pub(crate) fn stopping() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Makes Ctrl-C set the flag instead of ending the process.
pub(crate) fn listen() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // If the handler cannot be set, Ctrl-C ends the process; the last checkpoint remains.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
    STOP.store(false, Ordering::Relaxed);
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64())
}

pub(crate) fn run(args: &TrainArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut keys = Keys::read(&args.config)?;
    let folder = open::folder(&args.config);
    let steps = keys.count("steps", 1)?;
    let steps = keys.need("steps", "the number of batches to train on", steps)?;
    let fits = "the folder to write to";
    let out = keys.text("out", fits)?;
    let out = folder.join(keys.need("out", fits, out)?);
    let every = keys.count_or("checkpoint_every", 0, 0)?;
    let log_every = keys.count_or("log_every", 1, (steps / 100).max(1))?;
    let accumulate = keys.count_or("accumulate", 1, 1)?;
    let seed = keys.count_or("seed", 0, 0)?;
    // Locked before the run is prepared. A folder that does not exist is created only when the configuration
    // is known to be valid.
    let lock = if out.is_dir() { Some(Lock::take(&out, terminal)?) } else { None };
    let device = args.on.device()?;
    let common = Common { folder: &folder, updates: steps / accumulate, seed, device };
    gradus::manual_seed(common.seed);
    if !keys.has("model") {
        return Err(keys.fault("model", "is missing; it must be one of names, gpt, program"));
    }
    let mut prepared = match keys.word("model", &["names", "gpt", "program"])? {
        "names" => language::names(&mut keys, &common)?,
        "gpt" => language::gpt(&mut keys, &common)?,
        _ => program::program(&mut keys, &common, terminal)?,
    };
    let kind = optimizer::kind(&mut keys)?;
    let recorded = keys.recorded();
    keys.finish()?;
    if accumulate > 1 {
        prepared.step = prepared.step.accumulate(accumulate);
    }
    std::fs::create_dir_all(&out).map_err(|e| Failure::Run(format!("{}: {e}", out.display())))?;
    let _lock = match lock {
        Some(lock) => lock,
        None => Lock::take(&out, terminal)?,
    };
    let checkpoint = out.join(CHECKPOINT);
    let notes =
        [("model", prepared.note.to_string()), ("optimizer", kind), ("accumulate", accumulate.to_string())];
    let notes = notes.map(|(key, value)| (key.to_string(), value)).into();
    if checkpoint.exists() {
        if !args.resume {
            let why = "already exists; continue from it with --resume, or choose another folder with `out`";
            return Err(Failure::Run(format!("{} {why}", checkpoint.display())));
        }
        if !args.force {
            resume::check(&checkpoint, &notes, &recorded)?;
        }
    }
    let config = Config {
        batches: steps,
        checkpoint: Some(checkpoint),
        every,
        resume: args.resume,
        notes,
        remarks: resume::remarks(&recorded),
    };
    follow(&mut prepared, &config, &out, log_every, terminal)?;
    if let Some(path) = &args.profile {
        // The checkpoint has been written, so this step does not change it.
        let batch = prepared.loader.next_batch()?;
        atomic::write(path, &[prepared.step.timeline(&batch)?.trace().as_bytes()])?;
    }
    Ok(())
}

/// Runs the training loop, and writes and shows its progress.
fn follow(
    prepared: &mut Prepared,
    config: &Config,
    out: &Path,
    log_every: u64,
    terminal: &mut Terminal<'_>,
) -> Done {
    listen();
    let began = Instant::now();
    let mut journal: Option<Journal> = None;
    let (mut first, mut last, mut failure, mut seen) = (0, 0, None, None);
    let (program, mut validation) = (prepared.program.take(), prepared.validation.take());
    let ended = train(config, &mut prepared.step, &mut prepared.loader, &STOP, |p| {
        last = p.batch;
        let mut each = || -> Done {
            if let Some(program) = &program {
                program.check(&p.outcome.outputs)?;
            }
            let journal = match &mut journal {
                Some(journal) => journal,
                None => {
                    first = p.batch - 1;
                    journal.insert(Journal::begin(out, first)?)
                }
            };
            let due = validation.as_mut().filter(|v| v.due(p.batch, p.batches));
            let on_time = p.batch.is_multiple_of(log_every) || p.batch == p.batches || p.batch == 1;
            let logged = on_time || due.is_some();
            if !logged && !terminal.interactive {
                return Ok(());
            }
            let loss = p.outcome.loss.to(Device::CPU).to_dtype(DType::F64).item::<f64>()?;
            let validation = due.map(|v| v.run(p.optimizer, program.as_deref())).transpose()?;
            let mut record =
                Record { step: p.batch, loss, validation, rate: p.optimizer.rate(), time: now() };
            if logged {
                journal.write(&record)?;
            }
            seen = validation.or(seen);
            if terminal.interactive {
                record.validation = seen;
            }
            let pace = began.elapsed().as_secs_f64() / (p.batch - first) as f64;
            let left = pace * (p.batches - p.batch) as f64;
            show(&record, p.batches, left, terminal)
        };
        each().map_err(|e| {
            failure = Some(e);
            Error::value("the run", "was stopped by the caller")
        })
    });
    if terminal.interactive && last > 0 {
        writeln!(terminal.out)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let ended = ended?;
    drop(journal);
    let records = journal::records(out);
    journal::draw(out, &records)?;
    write!(terminal.out, "{}", curve::plot(&records))?;
    let place = out.display();
    match ended {
        Ended::Done if last == 0 => {
            writeln!(terminal.out, "all {} steps were already done: {place}", config.batches)?
        }
        Ended::Done => writeln!(terminal.out, "{} steps done: {place}", config.batches)?,
        Ended::Stopped => writeln!(
            terminal.out,
            "stopped after step {last} of {}: {place}; --resume continues from there",
            config.batches
        )?,
    }
    Ok(())
}

/// Shows progress: on one line that is overwritten in a terminal, else on separate lines.
fn show(r: &Record, steps: u64, left: f64, terminal: &mut Terminal<'_>) -> Done {
    let Record { step, loss, rate, .. } = r;
    let held_out = r.validation.map_or_else(String::new, |v| format!("  validation {v:.4}"));
    let all = format!("{step}/{steps}  loss {loss:.4}{held_out}  rate {rate:.3e}  left {}", duration(left));
    if !terminal.interactive {
        writeln!(terminal.out, "step {all}")?;
        return Ok(());
    }
    const WIDTH: u64 = 24;
    let full = (step * WIDTH / steps.max(1)) as usize;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH as usize - full.min(WIDTH as usize)));
    write!(terminal.out, "\r\x1b[K{bar} {all}")?;
    terminal.out.flush()?;
    Ok(())
}

/// Formats a duration, for instance `1m01s`.
fn duration(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_two_units_at_most() {
        assert_eq!([0.4, 59.0, 61.0, 3725.0, f64::NAN].map(duration), ["0s", "59s", "1m01s", "1h02m", "0s"]);
    }
}
