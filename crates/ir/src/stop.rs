//! Stopping long routines: their loops ask now and then whether the results are still wanted, and are left early if not.
//!
//! A loop that is left leaves rubbish behind, and so does what follows. Whoever started it all hears of it by
//! [`check`] before looking at any result.

use crate::{Error, Kind, Result};
use std::cell::Cell;
use std::sync::OnceLock;

static ASK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// From now on loops ask this, on the thread they run on. It is asked often and must be quick. Only the first call counts.
pub fn ask(wanted: fn() -> bool) {
    let _ = ASK.set(wanted);
}

/// Whether to leave a loop, since nobody wants its results any more. Stays so until [`check`].
#[inline]
pub fn wanted() -> bool {
    STOPPED.get() || (!QUIET.get() && ASK.get().is_some_and(|ask| ask()) && !STOPPED.replace(true))
}

/// While it lives, loops of this thread do not ask. Whoever holds a lock must not: answering may take a lock that another
/// thread has while it waits for this one.
pub struct Quiet(bool);

/// Does not ask until the result is dropped.
#[must_use]
pub fn quiet() -> Quiet {
    Quiet(QUIET.replace(true))
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.set(self.0);
    }
}

/// An error at once if nobody wants the results any more: for loops that may fail.
#[inline]
pub fn poll() -> Result<()> {
    if wanted() { check() } else { Ok(()) }
}

/// An error if a loop was left on this thread since this was last asked.
#[inline]
pub fn check() -> Result<()> {
    if STOPPED.replace(false) { Err(Error::new(Kind::Interrupted)) } else { Ok(()) }
}
