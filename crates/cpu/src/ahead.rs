//! Prefetches memory that a later job reads, on threads that wait.
//! Takes ranges of memory, in the order in which the job's chunks read them. Each call of a waiting thread prefetches the next
//! part. The executable decides which memory to prefetch; the pool decides when a thread prefetches.

use crate::gemm::prefetch_far;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Largest number of ranges.
const RANGES: usize = 4;
/// Largest number of bytes that are prefetched from each end: half of a second-level cache.
const MAX: usize = 1 << 19;
/// Bytes that are prefetched by one call. They are few, so that a thread notices soon that it need not wait any longer.
const PART: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The end of the ranges from which a thread prefetches.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Front,
    Back,
}

/// The memory to prefetch. Addresses are never dereferenced, so a thread may use an outdated range while another replaces the
/// ranges.
#[derive(Default)]
pub(crate) struct Prefetcher {
    /// Address and length of each range.
    ranges: [[AtomicUsize; 2]; RANGES],
    /// Total bytes of all ranges.
    total: AtomicUsize,
    front: Counter,
    back: Counter,
}

/// The number of bytes prefetched from one end.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicUsize);

impl Prefetcher {
    /// Replaces the ranges. Ranges after the fourth are ignored.
    pub(crate) fn set(&self, ranges: impl Iterator<Item = (*const u8, usize)>) {
        let mut total = 0;
        let mut slots = self.ranges.iter();
        for ([address, length], (start, bytes)) in slots.by_ref().zip(ranges) {
            address.store(start.addr(), Relaxed);
            length.store(bytes, Relaxed);
            total += bytes;
        }
        slots.for_each(|[_, length]| length.store(0, Relaxed));
        self.total.store(total, Relaxed);
        self.front.0.store(0, Relaxed);
        self.back.0.store(0, Relaxed);
    }

    /// Prefetches the next bytes from one end. Returns false if none are left.
    pub(crate) fn prefetch(&self, side: Side) -> bool {
        let (total, done) =
            (self.total.load(Relaxed), if side == Side::Front { &self.front } else { &self.back });
        let most = (total / 2).min(MAX);
        if done.0.load(Relaxed) >= most {
            return false;
        }
        let at = done.0.fetch_add(PART, Relaxed);
        let mut at = if side == Side::Front { at } else { total.saturating_sub(at + PART) };
        for [address, length] in &self.ranges {
            let length = length.load(Relaxed);
            if at < length {
                let start = address.load(Relaxed).wrapping_add(at);
                (0..PART).step_by(LINE).for_each(|i| prefetch_far(start.wrapping_add(i)));
                break;
            }
            at -= length;
        }
        true
    }
}
