//! A reentrant lock of a compiled function: it is held while a program is looked up or compiled, and while a
//! program that changes state runs. Waiting threads release the GIL.

use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Interval at which a waiting thread checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// A lock that the owning thread can acquire again.
#[derive(Default)]
pub(crate) struct ReentrantLock {
    owner: Mutex<Option<ThreadId>>,
    released: Condvar,
}

/// Releases the lock when dropped; a nested guard of the same thread does nothing.
pub(crate) struct ReentrantGuard<'a>(Option<&'a ReentrantLock>);

impl ReentrantLock {
    fn owner(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the lock. Releases the GIL while waiting, because the holder may need the GIL to finish.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<ReentrantGuard<'_>> {
        let own = thread::current().id();
        loop {
            match &mut *self.owner() {
                free @ None => {
                    *free = Some(own);
                    return Ok(ReentrantGuard(Some(self)));
                }
                Some(other) if *other == own => return Ok(ReentrantGuard(None)),
                Some(_) => {}
            }
            py.detach(|| {
                let owner = self.owner();
                drop(self.released.wait_timeout_while(owner, SIGNAL_INTERVAL, |owner| owner.is_some()));
            });
            py.check_signals()?;
        }
    }
}

impl Drop for ReentrantGuard<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            *lock.owner() = None;
            lock.released.notify_one();
        }
    }
}
