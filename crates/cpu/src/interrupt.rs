//! Interrupts long runs: the thread that started a run polls a function that says whether to stop.
//!
//! Polling may be expensive, because it may take an interpreter's lock. So a timer thread sets a flag when a
//! poll is due, and runs check only the flag. They check it between chunks of jobs and in the loops of routines
//! (`gradus_ir::stop`). They check only where a failure leaves all arguments unchanged. These are loops,
//! routines, and kernels and products of plans that reuse no argument's memory.

use gradus_ir::{Result, stop};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval of polling.
const EVERY: Duration = Duration::from_millis(50);

static ASK: OnceLock<fn() -> bool> = OnceLock::new();
static DUE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True while this thread runs work that may be interrupted.
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// Sets the function that says whether to stop, which runs call on the thread that started them. Only the first
/// call has an effect.
pub fn ask_to_stop(wanted: fn() -> bool) {
    if ASK.set(wanted).is_err() {
        return;
    }
    stop::ask(due);
    let clock = || loop {
        std::thread::sleep(EVERY);
        DUE.store(true, Ordering::Relaxed);
    };
    // If the timer thread cannot be started, runs are never interrupted.
    let _ = std::thread::Builder::new().name("gradus-clock".into()).spawn(clock);
}

/// Returns true if polling is due and the answer is to stop. A worker reads the answer of the thread whose job it
/// shares.
fn due() -> bool {
    if crate::pool::is_stopped() {
        return true;
    }
    DUE.load(Ordering::Relaxed)
        && ALLOWED.get()
        && DUE.swap(false, Ordering::Relaxed)
        && ASK.get().is_some_and(|ask| ask())
}

/// Runs work that may be interrupted if `allowed`, or if it is inside of such work. Returns an error if it was
/// interrupted.
pub(crate) fn stoppable<R>(allowed: bool, run: impl FnOnce() -> Result<R>) -> Result<R> {
    /// Restores the previous setting, also during unwinding.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALLOWED.set(self.0);
        }
    }
    let _before = Before(ALLOWED.replace(allowed || ALLOWED.get()));
    stop::poll()?;
    let done = run();
    stop::check()?;
    done
}
