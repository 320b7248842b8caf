//! Stopping long runs: whoever started one may be asked now and then whether it is still wanted.
//!
//! Asking may be expensive (an interpreter's lock), so a clock says when it is time to, and a run looks at the clock's flag
//! only. It looks where failing leaves everything as it was: in loops and routines, and in kernels and products of plans that
//! take over no argument's memory. It looks between the chunks of jobs and in the loops of routines (`gradus_ir::stop`).

use gradus_ir::{Result, stop};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a wish to stop may go unnoticed.
const EVERY: Duration = Duration::from_millis(50);

static ASK: OnceLock<fn() -> bool> = OnceLock::new();
static DUE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread runs what may be left half done.
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// From now on runs ask whether they should stop, on the thread that started them. Only the first call counts.
pub fn ask_to_stop(wanted: fn() -> bool) {
    if ASK.set(wanted).is_err() {
        return;
    }
    stop::ask(due);
    let clock = || loop {
        std::thread::sleep(EVERY);
        DUE.store(true, Ordering::Relaxed);
    };
    // Without a thread nobody asks, and runs go to their end.
    let _ = std::thread::Builder::new().name("gradus-clock".into()).spawn(clock);
}

/// Whether it is time to ask, and the answer is to stop. A worker is told by the thread whose job it shares.
fn due() -> bool {
    if crate::pool::is_stopped() {
        return true;
    }
    DUE.load(Ordering::Relaxed)
        && ALLOWED.get()
        && DUE.swap(false, Ordering::Relaxed)
        && ASK.get().is_some_and(|ask| ask())
}

/// Runs something that may be left half done if `allowed`, or if this runs inside of something that may be; an error if it
/// was.
pub(crate) fn stoppable<R>(allowed: bool, run: impl FnOnce() -> Result<R>) -> Result<R> {
    /// Brings back what was allowed, also when unwinding.
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
