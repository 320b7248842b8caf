//! Results that a device has not computed yet, as a future that a thread can also wait for.

use gradus_ir::Result;
use gradus_mem::Storage;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Storages of the host that a device will fill. Await it, or call [`wait`](Pending::wait) on a thread that may block.
#[must_use = "a read is complete only after it was awaited or waited for"]
pub struct Pending(State);

enum State {
    Ready(Option<Result<Vec<Storage>>>),
    Reading(Box<dyn Reading>),
}

/// A read in progress.
pub trait Reading: Send {
    /// Returns the storages if they are ready. Otherwise wakes the task when another poll may succeed.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<Storage>>>;
    /// Blocks until the storages are ready. Returns an error on targets whose threads cannot block.
    fn wait(self: Box<Self>) -> Result<Vec<Storage>>;
}

impl Pending {
    /// Wraps a result that is ready.
    pub fn ready(result: Result<Vec<Storage>>) -> Pending {
        Pending(State::Ready(Some(result)))
    }

    /// Wraps a read in progress.
    pub fn reading(read: impl Reading + 'static) -> Pending {
        Pending(State::Reading(Box::new(read)))
    }

    /// Blocks until the storages are ready.
    pub fn wait(self) -> Result<Vec<Storage>> {
        match self.0 {
            State::Ready(result) => result.unwrap_or_else(|| Ok(Vec::new())),
            State::Reading(read) => read.wait(),
        }
    }
}

impl Future for Pending {
    type Output = Result<Vec<Storage>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => Poll::Ready(result.take().unwrap_or_else(|| Ok(Vec::new()))),
            State::Reading(read) => read.poll(context),
        }
    }
}
