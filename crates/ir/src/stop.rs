//! Stopping long routines: their loops ask now and then whether a stop is requested, and end early if it is.
//!
//! A loop that ends early leaves unspecified values behind, and so does what follows. The caller of the routine learns of
//! it from [`check`] before it reads any result. [`STRIDE`], [`filled`] and [`copied`] are for passes over many elements.

use crate::{Error, Kind, Result};
use std::cell::Cell;
use std::sync::OnceLock;

/// Elements that a pass treats between two polls: it takes about a millisecond.
pub const STRIDE: usize = 1 << 16;

static ASK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// From now on loops call this, on the thread they run on, to learn whether a stop is requested. It is called often and
/// must be quick. Only the first call counts.
pub fn ask(requested: fn() -> bool) {
    let _ = ASK.set(requested);
}

/// Whether to end a loop early, because a stop is requested. Stays true until [`check`].
#[inline]
pub fn requested() -> bool {
    STOPPED.get() || (!QUIET.get() && ASK.get().is_some_and(|ask| ask()) && !STOPPED.replace(true))
}

/// While it lives, loops of this thread do not ask. A thread that holds a lock must not: answering may take a lock that
/// another thread holds while it waits for this one.
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

/// Returns an error at once if a stop is requested: for loops that may fail.
#[inline]
pub fn poll() -> Result<()> {
    if requested() { check() } else { Ok(()) }
}

/// Returns an error if a loop of this thread ended early since the last call.
#[inline]
pub fn check() -> Result<()> {
    if STOPPED.replace(false) { Err(Error::new(Kind::Interrupted)) } else { Ok(()) }
}

/// `n` times the same value, or an error once a stop is requested.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        poll()?;
        all.resize(n.min(all.len() + STRIDE), value.clone());
    }
    Ok(all)
}

/// A copy of the elements, or an error once a stop is requested.
pub fn copied<T: Copy>(elements: &[T]) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(elements.len());
    for some in elements.chunks(STRIDE) {
        poll()?;
        all.extend_from_slice(some);
    }
    Ok(all)
}
