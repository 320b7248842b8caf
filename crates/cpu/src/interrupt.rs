//! Stopping long runs: whoever started one may be asked now and then whether it is still wanted.
//!
//! Asking may be expensive (an interpreter's lock), so a clock says when it is time to, and a run looks at the clock's flag
//! only. It looks where failing leaves everything as it was: between the turns of loops, and between the steps of plans that
//! take over no argument's memory.

use gradus_ir::{Error, Kind, Result};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a wish to stop may go unnoticed.
const EVERY: Duration = Duration::from_millis(50);

static ASK: OnceLock<fn() -> bool> = OnceLock::new();
static DUE: AtomicBool = AtomicBool::new(false);

/// From now on runs ask whether they should stop, on the thread that started them. Only the first call counts.
pub fn ask_to_stop(wanted: fn() -> bool) {
    if ASK.set(wanted).is_err() {
        return;
    }
    let clock = || loop {
        std::thread::sleep(EVERY);
        DUE.store(true, Ordering::Relaxed);
    };
    // Without a thread nobody asks, and runs go to their end.
    let _ = std::thread::Builder::new().name("gradus-clock".into()).spawn(clock);
}

/// An error if whoever started the run wants it to stop.
#[inline]
pub(crate) fn check() -> Result<()> {
    if DUE.load(Ordering::Relaxed) && DUE.swap(false, Ordering::Relaxed) && ASK.get().is_some_and(|ask| ask())
    {
        return Err(Error::new(Kind::Interrupted));
    }
    Ok(())
}
