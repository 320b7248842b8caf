//! Threads that call a function which changes things take turns.

use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How often somebody who waits looks whether Python was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Whose turn it is.
#[derive(Default)]
pub(crate) struct ReentrantLock {
    now: Mutex<Option<ThreadId>>,
    over: Condvar,
}

/// A turn, until it is dropped; within one of the same thread it is part of that.
pub(crate) struct ReentrantGuard<'a>(Option<&'a ReentrantLock>);

impl ReentrantLock {
    fn now(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn, without Python's lock, which whoever has it may need to come to an end.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<ReentrantGuard<'_>> {
        let own = thread::current().id();
        loop {
            match &mut *self.now() {
                free @ None => {
                    *free = Some(own);
                    return Ok(ReentrantGuard(Some(self)));
                }
                Some(other) if *other == own => return Ok(ReentrantGuard(None)),
                Some(_) => {}
            }
            py.detach(|| {
                let now = self.now();
                drop(self.over.wait_timeout_while(now, LOOK, |now| now.is_some()));
            });
            py.check_signals()?;
        }
    }
}

impl Drop for ReentrantGuard<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            *lock.now() = None;
            lock.over.notify_one();
        }
    }
}
