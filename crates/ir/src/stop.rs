//! Stops long routines: their loops poll from time to time whether a stop is requested, and end early if so.
//!
//! A loop that ends early leaves unspecified values, and so do the loops after it. The caller of the routine calls
//! [`check`] before it reads any result, and gets an error in that case. [`STRIDE`], [`filled`] and [`copied`] are
//! for passes over many elements.

use crate::{Error, Kind, Result};
use std::cell::Cell;
use std::sync::OnceLock;

/// Elements that a pass processes between two polls, which takes about a millisecond.
pub const STRIDE: usize = 1 << 16;

static CALLBACK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Sets the function that loops call, on their own thread, to learn whether a stop is requested. It is called often
/// and must be fast. Only the first call of `set_callback` has an effect.
pub fn set_callback(requested: fn() -> bool) {
    let _ = CALLBACK.set(requested);
}

/// Returns true if a loop should end early, because a stop is requested. Stays true until [`check`].
#[inline]
pub fn requested() -> bool {
    STOPPED.get()
        || (!QUIET.get() && CALLBACK.get().is_some_and(|requested| requested()) && !STOPPED.replace(true))
}

/// A guard: until it is dropped, loops of this thread do not poll. A thread that holds a lock must not poll: the
/// poll may take a lock that another thread holds while it waits for this one.
pub struct Quiet(bool);

/// Suspends polling on this thread until the result is dropped.
#[must_use]
pub fn quiet() -> Quiet {
    Quiet(QUIET.replace(true))
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.set(self.0);
    }
}

/// Returns an error if a stop is requested. Loops of functions that return a `Result` call it.
#[inline]
pub fn poll() -> Result<()> {
    if requested() { check() } else { Ok(()) }
}

/// Returns an error if a loop of this thread ended early since the last call.
#[inline]
pub fn check() -> Result<()> {
    if STOPPED.replace(false) { Err(Error::new(Kind::Interrupted)) } else { Ok(()) }
}

/// Returns `n` copies of a value, or an error once a stop is requested.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        poll()?;
        all.resize(n.min(all.len() + STRIDE), value.clone());
    }
    Ok(all)
}

/// Returns a copy of the elements, or an error once a stop is requested.
pub fn copied<T: Copy>(elements: &[T]) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(elements.len());
    for some in elements.chunks(STRIDE) {
        poll()?;
        all.extend_from_slice(some);
    }
    Ok(all)
}
