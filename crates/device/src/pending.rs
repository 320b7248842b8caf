//! Results that a device has yet to compute.

use gradus_ir::Result;
use gradus_mem::Storage;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Storages of the host that a device is about to fill. Await it, or [`wait`](Pending::wait) for it where threads can.
#[must_use = "reads only happen when they are waited for"]
pub struct Pending(State);

enum State {
    Ready(Option<Result<Vec<Storage>>>),
    Reading(Box<dyn Reading>),
}

/// A read in progress.
pub trait Reading: Send {
    /// The storages, if they are there; otherwise wakes the task when it is worth asking again.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<Storage>>>;
    /// Blocks until the storages are there. An error where threads cannot block.
    fn wait(self: Box<Self>) -> Result<Vec<Storage>>;
}

impl Pending {
    /// A result that is there already.
    pub fn ready(result: Result<Vec<Storage>>) -> Pending {
        Pending(State::Ready(Some(result)))
    }

    /// A read in progress.
    pub fn reading(read: impl Reading + 'static) -> Pending {
        Pending(State::Reading(Box::new(read)))
    }

    /// Blocks until the storages are there.
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
