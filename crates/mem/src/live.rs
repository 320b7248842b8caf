//! Counts live bytes with one counter per thread. One counter shared by all threads would double the time to make a
//! small storage, and cost much more under contention.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of threads that have their own counter; further threads share one.
const OWNERS: usize = u64::BITS as usize;

/// One counter per owning thread. A storage may be freed on another thread than the one that made it, so a counter
/// may be negative. Only the wrapping sum of all counters is meaningful. The count of a thread stays in its counter
/// after the thread ends.
static OWN: [Counter; OWNERS] = [const { Counter(AtomicUsize::new(0)) }; OWNERS];
/// The counter of threads without their own, and of threads that are ending.
static SHARED: Counter = Counter(AtomicUsize::new(0));
/// The set of counters that have an owner, one bit each.
static OWNED: AtomicU64 = AtomicU64::new(0);

/// A counter on a cache line of its own.
#[repr(align(64))]
struct Counter(AtomicUsize);

thread_local! {
    static CLAIM: Claim = const { Claim(Cell::new(None)) };
}

/// The index of the counter that only this thread writes, once it has one.
struct Claim(Cell<Option<usize>>);

impl Claim {
    #[inline]
    fn counter(&self) -> Option<&'static AtomicUsize> {
        let index = self.0.get().or_else(|| self.claim())?;
        Some(&OWN[index].0)
    }

    #[cold]
    fn claim(&self) -> Option<usize> {
        // `x | (x + 1)` sets the lowest clear bit. Acquire ordering makes the previous owner's count visible.
        let lowest = |owned: u64| Some(owned | owned.checked_add(1)?);
        let owned = OWNED.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest).ok()?;
        self.0.set(Some(owned.trailing_ones() as usize));
        self.0.get()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(index) = self.0.get() {
            OWNED.fetch_and(!(1 << index), Ordering::Release);
        }
    }
}

#[inline]
fn change(by: usize) {
    match CLAIM.try_with(Claim::counter) {
        // Only this thread writes this counter, so no atomic addition is needed.
        Ok(Some(own)) => own.store(own.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed),
        _ => _ = SHARED.0.fetch_add(by, Ordering::Relaxed),
    }
}

/// Counts the bytes of a new storage as live.
#[inline]
pub(crate) fn add(bytes: usize) {
    change(bytes);
}

/// Subtracts bytes that [`add`] has counted on any thread.
#[inline]
pub(crate) fn sub(bytes: usize) {
    change(bytes.wrapping_neg());
}

/// Returns the bytes in the live [`Storage`](crate::Storage)s of all threads: exact while no other thread
/// makes or drops a storage, an estimate otherwise.
pub fn live_bytes() -> usize {
    let counters = OWN.iter().chain([&SHARED]).map(|counter| counter.0.load(Ordering::Relaxed));
    let sum = counters.fold(0, usize::wrapping_add);
    // Counters are read one after another, so the sum may miss the making of a storage and see its drop.
    sum.cast_signed().max(0).cast_unsigned()
}
