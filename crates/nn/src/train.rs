//! The training loop shared by programs: runs batches, writes and resumes checkpoints, and reports each step
//! to a callback.
//! If the loss diverges, the loop ends with an error and keeps the last good checkpoint.

use crate::data::{Loader, Position};
use crate::finite;
use crate::optim::Optimizer;
use crate::step::{Outcome, Step};
use gradus_files::atomic;
use gradus_files::safetensors::{Notes, Reader};
use gradus_ir::{DType, Error, Result};
use gradus_tensor::Device;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Total number of batches, including those of resumed runs.
    pub batches: u64,
    /// Path of checkpoints, if any.
    pub checkpoint: Option<PathBuf>,
    /// Number of batches between checkpoints; 0 writes one at the end only.
    pub every: u64,
    /// Continues from the checkpoint, if there is one.
    pub resume: bool,
    /// Text stored in checkpoints. A checkpoint to resume from must have the same.
    pub notes: Notes,
    /// Text stored in checkpoints and not compared when resuming.
    pub remarks: Notes,
}

/// Largest magnitude of a loss that counts as finite. Beyond it, squares and sums of a step overflow in
/// `f32`.
pub const MAX_LOSS: f64 = 1e20;

/// Progress of a run.
pub struct Progress<'a> {
    /// Batches done, this one included.
    pub batch: u64,
    /// Total number of batches.
    pub batches: u64,
    /// The optimiser, with the rate of the next step.
    pub optimizer: &'a Optimizer,
    /// Results of the step.
    pub outcome: &'a Outcome,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All batches are done.
    Done,
    /// The run was stopped, and has written a checkpoint if configured.
    Stopped,
}

const BATCHES: &str = "batches";
const EPOCH: &str = "loader.epoch";
const BATCH: &str = "loader.batch";

/// Trains a model. Calls `each` after every batch (a progress bar, a log); `stop` ends the run after the
/// current batch (Ctrl-C).
///
/// The run ends with an error if a loss is not finite or exceeds [`MAX_LOSS`]. It also ends if an update
/// makes a parameter or optimizer state non-finite. The checkpoint is then the last one from which a step
/// gave a finite loss.
pub fn train(
    config: &Config,
    step: &mut Step<'_>,
    loader: &mut Loader,
    stop: &AtomicBool,
    mut each: impl FnMut(&Progress<'_>) -> Result<()>,
) -> Result<Ended> {
    let mut done = resume(config, step, loader)?;
    let mut saved = RunCheckpoint::new(config);
    while done < config.batches {
        let batch = loader.next_batch()?;
        let outcome = step.run(&batch)?;
        done += 1;
        let loss = outcome.loss.to(Device::CPU).to_dtype(DType::F64).item::<f64>()?;
        if !(loss.is_finite() && loss.abs() <= MAX_LOSS) {
            let kept = saved.restore()?;
            return Err(divergence_error(done, &format!("the loss is {loss:e}"), kept));
        }
        saved.confirm();
        let (batches, optimizer) = (config.batches, step.optimizer());
        each(&Progress { batch: done, batches, optimizer, outcome: &outcome })?;
        let stopping = stop.load(Ordering::Relaxed);
        if stopping || done == config.batches || config.every > 0 && done.is_multiple_of(config.every) {
            if let Some(name) = not_finite(step)? {
                return Err(divergence_error(
                    done,
                    &format!("the update makes `{name}` not finite"),
                    saved.exists(),
                ));
            }
            saved.write(step, loader, done)?;
        }
        if stopping {
            saved.confirm();
            return Ok(Ended::Stopped);
        }
    }
    saved.confirm();
    Ok(Ended::Done)
}

fn divergence_error(step: u64, what: &str, kept: bool) -> Error {
    let kept = if kept { "the last good checkpoint is kept" } else { "no good checkpoint was written" };
    let advice = "try a lower rate, a clipped norm of the gradients, a warm-up, or f64";
    Error::value(format!("step {step}:"), format!("{what}; {advice}; {kept}"))
}

/// Returns the name of a parameter or optimizer state that is not finite. Buffers may hold infinities, as
/// masks do.
fn not_finite(step: &Step<'_>) -> Result<Option<String>> {
    for (name, cell) in step.optimizer().parameters().cloned().chain(step.optimizer().state()) {
        if !finite::is_finite(&cell)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The checkpoint of a run. The previous checkpoint is kept until a step after the new one has given a finite
/// loss.
struct RunCheckpoint<'a> {
    config: &'a Config,
    /// If true, the checkpoint was written by this run and no step has been taken since.
    unconfirmed: bool,
}

impl<'a> RunCheckpoint<'a> {
    fn new(config: &'a Config) -> RunCheckpoint<'a> {
        RunCheckpoint { config, unconfirmed: false }
    }

    fn previous(path: &Path) -> PathBuf {
        path.with_extension("before.safetensors")
    }

    fn exists(&self) -> bool {
        self.config.checkpoint.as_ref().is_some_and(|path| path.exists())
    }

    fn write(&mut self, step: &Step<'_>, loader: &Loader, done: u64) -> Result<()> {
        let Some(path) = &self.config.checkpoint else { return Ok(()) };
        let Position { epoch, batch } = loader.position();
        let counts = [(BATCHES, done), (EPOCH, epoch), (BATCH, batch)];
        let mut notes = self.config.notes.clone();
        notes.extend(self.config.remarks.clone());
        notes.extend(counts.iter().map(|(key, n)| (key.to_string(), n.to_string())));
        if path.exists() {
            let before = Self::previous(path);
            let _ = fs::remove_file(&before);
            // Uses a hard link, or a copy if the file system has no links.
            let linked = fs::hard_link(path, &before).or_else(|_| fs::copy(path, &before).map(drop));
            linked.map_err(|e| atomic::failed(&before, format!("cannot be written: {e}")))?;
        }
        self.unconfirmed = true;
        step.save(path, &notes)
    }

    /// Removes the previous checkpoint: a step from the current one has given a finite loss, or no step
    /// follows.
    fn confirm(&mut self) {
        if let (true, Some(path)) = (self.unconfirmed, &self.config.checkpoint) {
            let _ = fs::remove_file(Self::previous(path));
            self.unconfirmed = false;
        }
    }

    /// Handles a diverged loss: if it came from the first step after the checkpoint, restores the previous
    /// checkpoint. Returns true if there is a good checkpoint.
    fn restore(&mut self) -> Result<bool> {
        let Some(path) = &self.config.checkpoint else { return Ok(false) };
        if self.unconfirmed {
            let before = Self::previous(path);
            let restored = if before.exists() { fs::rename(&before, path) } else { fs::remove_file(path) };
            restored.map_err(|e| atomic::failed(path, format!("cannot be restored: {e}")))?;
        }
        Ok(path.exists())
    }
}

/// Restores a checkpoint; returns the number of batches it has done.
fn resume(config: &Config, step: &mut Step<'_>, loader: &mut Loader) -> Result<u64> {
    let Some(path) = config.checkpoint.as_ref().filter(|path| config.resume && path.exists()) else {
        return Ok(0);
    };
    // Removes incomplete files. No other process writes here: only the one that resumes a run writes its
    // checkpoints.
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
