//! The count of live bytes, kept one counter per thread: a counter shared by all would double the
//! price of a small storage, and far more than that under contention.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most threads that count on their own; the others share one counter.
const OWNERS: usize = u64::BITS as usize;

/// One counter per owner. Storages freed on another thread than their maker's can make one
/// negative, so only the wrapping sum of all of them means anything, and an owner leaves its count
/// behind.
static OWN: [Counter; OWNERS] = [const { Counter(AtomicUsize::new(0)) }; OWNERS];
/// The counter of threads without their own, and of those that are ending.
static SHARED: Counter = Counter(AtomicUsize::new(0));
/// The set of counters with an owner, as bits.
static OWNED: AtomicU64 = AtomicU64::new(0);

/// A counter on a cache line of its own.
#[repr(align(64))]
struct Counter(AtomicUsize);

thread_local! {
    static CLAIM: Claim = const { Claim(Cell::new(None)) };
}

/// The index of the counter only this thread writes, once it has one.
struct Claim(Cell<Option<usize>>);

impl Claim {
    #[inline]
    fn counter(&self) -> Option<&'static AtomicUsize> {
        let index = self.0.get().or_else(|| self.claim())?;
        Some(&OWN[index].0)
    }

    #[cold]
    fn claim(&self) -> Option<usize> {
        // `x | (x + 1)` sets the lowest clear bit. Acquire: the last owner's count must be seen.
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
        // Nobody else writes this counter, so it needs no locked addition.
        Ok(Some(own)) => own.store(own.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed),
        _ => _ = SHARED.0.fetch_add(by, Ordering::Relaxed),
    }
}

/// Counts the bytes of a new storage as live.
#[inline]
pub(crate) fn add(bytes: usize) {
    change(bytes);
}

/// Takes back what [`add`] counted, on any thread.
#[inline]
pub(crate) fn sub(bytes: usize) {
    change(bytes.wrapping_neg());
}

/// Bytes in the live [`Storage`](crate::Storage)s of all threads: exact while no other thread makes
/// or drops one, an estimate otherwise.
pub fn live_bytes() -> usize {
    let counters = OWN.iter().chain([&SHARED]).map(|counter| counter.0.load(Ordering::Relaxed));
    let sum = counters.fold(0, usize::wrapping_add);
    // Counters read at different times can miss the making of a storage and see its end.
    sum.cast_signed().max(0).cast_unsigned()
}
