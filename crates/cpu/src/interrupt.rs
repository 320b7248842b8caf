//! Interrupts long runs: the thread that started a run polls a function that returns true to stop the run.
//!
//! Polling may be expensive, because it may acquire an interpreter's lock. So a timer thread sets a flag when a poll is due,
//! and runs check only the flag. They check it between chunks of jobs and in the loops of routines (`gradus_ir::stop`), but
//! only where a failure leaves all arguments unchanged: in loops, in routines, and in kernels and products of plans that do
//! not overwrite arguments.

use gradus_ir::{Result, stop};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

static MUST_STOP: OnceLock<fn() -> bool> = OnceLock::new();
static DUE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True while this thread runs work that may be interrupted.
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// Sets the function that returns true if the current run must stop. It is called on the thread that started the run. Only
/// the first call of `ask_to_stop` has an effect.
pub fn ask_to_stop(must_stop: fn() -> bool) {
    if MUST_STOP.set(must_stop).is_err() {
        return;
    }
    stop::set_callback(poll_stop);
    let clock = || loop {
        std::thread::sleep(POLL_INTERVAL);
        DUE.store(true, Ordering::Relaxed);
    };
    // If the timer thread cannot be started, runs are never interrupted.
    let _ = std::thread::Builder::new().name("gradus-clock".into()).spawn(clock);
}

/// Returns true if a poll is due and requests a stop. A worker does not poll; it reads the result of the thread whose job it
/// shares.
fn poll_stop() -> bool {
    if crate::pool::is_stopped() {
        return true;
    }
    DUE.load(Ordering::Relaxed)
        && ALLOWED.get()
        && DUE.swap(false, Ordering::Relaxed)
        && MUST_STOP.get().is_some_and(|must_stop| must_stop())
}

/// Runs work. The work may be interrupted if `allowed` is true, or if it is part of work that may be interrupted. Returns an
/// error if it was interrupted.
pub(crate) fn stoppable<R>(allowed: bool, run: impl FnOnce() -> Result<R>) -> Result<R> {
    /// Restores the previous setting, also during unwinding.
    struct RestoreAllowed(bool);
    impl Drop for RestoreAllowed {
        fn drop(&mut self) {
            ALLOWED.set(self.0);
        }
    }
    let _restore = RestoreAllowed(ALLOWED.replace(allowed || ALLOWED.get()));
    stop::poll()?;
    let done = run();
    stop::check()?;
    done
}
