//! A reentrant lock for compiled functions that change state. Waiting threads release the GIL.

use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Interval at which a waiting thread checks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// A lock that the owning thread can acquire again.
#[derive(Default)]
pub(crate) struct ReentrantLock {
    now: Mutex<Option<ThreadId>>,
    over: Condvar,
}

/// Releases the lock when dropped; a nested guard of the same thread does nothing.
pub(crate) struct ReentrantGuard<'a>(Option<&'a ReentrantLock>);

impl ReentrantLock {
    fn now(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the lock. Releases the GIL while waiting, because the holder may need the GIL to finish.
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
