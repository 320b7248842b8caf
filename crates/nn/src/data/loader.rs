//! Batches of a dataset: shuffled, prepared ahead by a thread, and resumable at any batch.

use super::Dataset;
use gradus_ir::{Error, Result};
use gradus_tensor::{Device, Generator, Tensor};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// The position of the next batch. Together with the seed it determines the state of a loader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Completed passes over the data.
    pub epoch: u64,
    /// Batches of the current pass so far.
    pub batch: u64,
}

type Batch = Result<Vec<Tensor>>;

/// An endless sequence of batches, pass after pass. The order of a pass depends only on the seed and the
/// pass.
pub struct Loader {
    order: Order,
    at: Position,
    ahead: usize,
    /// Receives batches that a thread prepares, from `at` on.
    prepared: Option<Receiver<Batch>>,
}

/// The assignment of examples to batches.
#[derive(Clone)]
struct Order {
    data: Arc<dyn Dataset>,
    size: usize,
    seed: Option<u64>,
    keep_last: bool,
    device: Device,
}

impl Order {
    fn batches(&self) -> usize {
        let n = self.data.len();
        if self.keep_last { n.div_ceil(self.size) } else { n / self.size }
    }

    /// Returns the examples of a pass, in order.
    fn examples(&self, epoch: u64) -> Result<Vec<usize>> {
        let n = self.data.len();
        let Some(seed) = self.seed else { return Ok((0..n).collect()) };
        // Each pass has its own random stream: positions are sorted by random words.
        let words = Generator::new(seed.wrapping_add(epoch.wrapping_mul(0x9E37_79B9_7F4A_7C15))).bits([n]);
        Ok(words.argsort(0, false).to_vec::<i64>()?.into_iter().map(|i| i as usize).collect())
    }

    fn batch(&self, examples: &[usize], batch: usize) -> Batch {
        let from = batch * self.size;
        let batch = self.data.batch(&examples[from..examples.len().min(from + self.size)])?;
        batch.iter().map(|t| t.to(self.device).check().cloned()).collect()
    }

    /// Makes batches from a position on, until `put` returns false.
    fn make(&self, from: Position, put: impl Fn(Batch) -> bool) {
        let mut first = from.batch as usize;
        for epoch in from.epoch.. {
            let examples = match self.examples(epoch) {
                Ok(examples) => examples,
                Err(e) => {
                    put(Err(e));
                    return;
                }
            };
            for batch in first..self.batches() {
                if !put(self.batch(&examples, batch)) {
                    return;
                }
            }
            first = 0;
        }
    }
}

impl Loader {
    /// Makes batches of `size` examples in order; drops the remainder of a pass.
    pub fn new(data: impl Dataset + 'static, size: usize) -> Result<Loader> {
        let order = Order { data: Arc::new(data), size, seed: None, keep_last: false, device: Device::CPU };
        let n = order.data.len();
        if size == 0 || n == 0 {
            return Err(Error::value(
                format!("batches of {size}"),
                format!("cannot be taken from {n} examples"),
            ));
        }
        Ok(Loader { order, at: Position::default(), ahead: 2, prepared: None })
    }

    /// Shuffles each pass in its own order, which the seed determines.
    pub fn shuffle(mut self, seed: u64) -> Loader {
        self.order.seed = Some(seed);
        self
    }

    /// Keeps the remainder of a pass as a smaller batch.
    pub fn keep_last(mut self) -> Loader {
        self.order.keep_last = true;
        self
    }

    /// Moves batches to a device, ahead of their use.
    pub fn to(mut self, device: Device) -> Loader {
        self.order.device = device;
        self
    }

    /// Sets the number of batches prepared ahead.
    pub fn ahead(mut self, batches: usize) -> Loader {
        self.ahead = batches;
        self
    }

    /// Returns the number of batches in a pass.
    pub fn batches(&self) -> usize {
        self.order.batches()
    }

    /// Returns the position of the next batch.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Continues from another batch.
    pub fn seek(&mut self, at: Position) {
        self.at = at;
        self.prepared = None;
    }

    /// Returns the next batch.
    pub fn next_batch(&mut self) -> Batch {
        let batches = self.order.batches() as u64;
        if batches == 0 {
            let why = format!("need more examples than the {} of the dataset", self.order.data.len());
            return Err(Error::value(format!("batches of {}", self.order.size), why));
        }
        if self.at.batch >= batches {
            self.at = Position { epoch: self.at.epoch + 1, batch: 0 };
            self.prepared = None;
        }
        let prepared = self.prepared.get_or_insert_with(|| start(self.order.clone(), self.at, self.ahead));
        let lost = || Err(Error::value("the loader's thread", "has ended: a dataset panicked"));
        let batch = match prepared.recv().unwrap_or_else(|_| lost()) {
            Ok(batch) => batch,
            Err(e) => {
                // The thread has gone past this batch. After it is dropped, the next call starts a thread at this
                // batch.
                self.prepared = None;
                return Err(e);
            }
        };
        self.at.batch += 1;
        if self.at.batch == batches {
            self.at = Position { epoch: self.at.epoch + 1, batch: 0 };
        }
        Ok(batch)
    }

    /// Iterates over the rest of this pass.
    pub fn pass(&mut self) -> impl Iterator<Item = Batch> {
        let epoch = self.at.epoch;
        std::iter::from_fn(move || (self.at.epoch == epoch).then(|| self.next_batch()))
    }
}

/// Starts a thread that prepares batches from a position on, up to `ahead` of them. It ends when the receiver
/// is dropped.
fn start(order: Order, from: Position, ahead: usize) -> Receiver<Batch> {
    let (sender, receiver) = sync_channel(ahead);
    std::thread::spawn(move || order.make(from, |batch| sender.send(batch).is_ok()));
    receiver
}
