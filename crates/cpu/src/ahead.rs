//! Memory that a later job reads, prefetched by threads that wait.
//! Takes ranges of memory, in the order in which the job's chunks read them; threads ask for the next part to prefetch.
//! A program decides which memory that is; the pool decides when its threads wait.

use crate::gemm::prefetch_far;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Most ranges.
const RANGES: usize = 4;
/// Most bytes that are prefetched from each end: half of a second-level cache.
const MOST: usize = 1 << 19;
/// Bytes that are prefetched at a time: few, so that a thread notices soon when it waits no longer.
const PART: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The end from which a thread reads.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Front,
    Back,
}

/// Addresses are only prefetched and never dereferenced, so ranges may be read while they are replaced.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Address and length of each range.
    ranges: [[AtomicUsize; 2]; RANGES],
    /// Bytes of all ranges.
    total: AtomicUsize,
    front: Counter,
    back: Counter,
}

/// Bytes prefetched from one end.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicUsize);

impl Ahead {
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
        let most = (total / 2).min(MOST);
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
