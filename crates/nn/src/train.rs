//! The training loop that programs around this crate share: batches, checkpoints, and what it tells them.

use crate::data::{Loader, Position};
use crate::optim::Optimizer;
use crate::step::{Outcome, Step};
use gradus_files::atomic;
use gradus_files::safetensors::{Notes, Reader};
use gradus_ir::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a run is asked to do.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Batches in all, those of resumed runs included.
    pub batches: u64,
    /// Where checkpoints go, if anywhere.
    pub checkpoint: Option<PathBuf>,
    /// A checkpoint after so many batches; 0 is at the end only.
    pub every: u64,
    /// Goes on from the checkpoint, if there is one.
    pub resume: bool,
    /// What checkpoints say besides, and what a checkpoint to resume from must say.
    pub notes: Notes,
}

/// Where a run stands.
pub struct Progress<'a> {
    /// Batches done, this one included.
    pub batch: u64,
    /// Batches to be done in all.
    pub batches: u64,
    /// The optimiser, with the rate of the next step.
    pub optimizer: &'a Optimizer,
    /// What the step gave.
    pub outcome: &'a Outcome,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All batches are done.
    Done,
    /// It was told to stop, and has written a checkpoint if it writes any.
    Stopped,
}

const BATCHES: &str = "batches";
const EPOCH: &str = "loader.epoch";
const BATCH: &str = "loader.batch";

/// Trains. `each` hears of every batch (a progress bar, a log); `stop` ends the run after the batch at hand (Ctrl-C).
pub fn train(
    config: &Config,
    step: &mut Step<'_>,
    loader: &mut Loader,
    stop: &AtomicBool,
    mut each: impl FnMut(&Progress<'_>) -> Result<()>,
) -> Result<Ended> {
    let mut done = resume(config, step, loader)?;
    let save = |step: &Step<'_>, loader: &Loader, done: u64| match &config.checkpoint {
        Some(path) => {
            let Position { epoch, batch } = loader.position();
            let counts = [(BATCHES, done), (EPOCH, epoch), (BATCH, batch)];
            let mut notes = config.notes.clone();
            notes.extend(counts.iter().map(|(key, n)| (key.to_string(), n.to_string())));
            step.save(path, &notes)
        }
        None => Ok(()),
    };
    while done < config.batches {
        let batch = loader.next_batch()?;
        let outcome = step.run(&batch)?;
        done += 1;
        let (batches, optimizer) = (config.batches, step.optimizer());
        each(&Progress { batch: done, batches, optimizer, outcome: &outcome })?;
        let stopping = stop.load(Ordering::Relaxed);
        if stopping || done == config.batches || config.every > 0 && done.is_multiple_of(config.every) {
            save(step, loader, done)?;
        }
        if stopping {
            return Ok(Ended::Stopped);
        }
    }
    Ok(Ended::Done)
}

/// Batches that a checkpoint has done, having gone back to it.
fn resume(config: &Config, step: &mut Step<'_>, loader: &mut Loader) -> Result<u64> {
    let Some(path) = config.checkpoint.as_ref().filter(|path| config.resume && path.exists()) else {
        return Ok(0);
    };
    // Whoever resumes a run is the only one to write its checkpoints.
    atomic::clear(path);
    let file = Reader::open(path)?;
    if let Some((key, own)) = config.notes.iter().find(|(key, own)| file.note(key) != Some(own)) {
        let found = file.note(key).unwrap_or("nothing");
        return Err(file.failed(format!("its `{key}` is {found}, and that of this run is {own}")));
    }
    drop(file);
    let notes = step.load(path)?;
    let number = |key: &str| {
        let count = notes.get(key).and_then(|text| text.parse::<u64>().ok());
        count.ok_or_else(|| Error::file(path.display().to_string(), format!("has no count `{key}`")))
    };
    let at = Position { epoch: number(EPOCH)?, batch: number(BATCH)? };
    let done = number(BATCHES)?;
    loader.seek(at);
    Ok(done)
}
