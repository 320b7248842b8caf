//! Memory for the temporaries of runs, kept from one run of an executable to the next.
//!
//! New memory is slow at first access, so the memory of a run is kept for the next one. The total is bounded:
//! the memory of the executables that have not run for longest is freed first.

use gradus_device::memory_error;
use gradus_ir::Result;
use gradus_mem::Storage;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Arenas of at most this many bytes are not kept, because allocating them from the block pool is fast.
const MIN_KEPT: usize = 1 << 20;
/// Total bytes kept. The arena of the latest run is kept regardless of its size, because its executable is likely to run again.
const MAX_KEPT: usize = 1 << 30;

/// Arenas with the number of their executable, ordered by last use.
static KEPT: Mutex<VecDeque<(u64, Storage)>> = Mutex::new(VecDeque::new());

fn kept() -> MutexGuard<'static, VecDeque<(u64, Storage)>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The arenas of an executable, identified by a number.
#[derive(Debug)]
pub(crate) struct Arenas(u64);

impl Arenas {
    pub(crate) fn new() -> Arenas {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arenas(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns memory of unspecified contents for a run.
    pub(crate) fn take(&self, bytes: usize) -> Result<Storage> {
        if bytes > MIN_KEPT {
            let mut kept = kept();
            if let Some((_, arena)) =
                kept.iter().rposition(|(own, _)| *own == self.0).and_then(|i| kept.remove(i))
            {
                return Ok(arena);
            }
        }
        // SAFETY: the steps of a plan write every value before they read it, as `plan/verify.rs` has checked.
        unsafe { Storage::uninit(bytes) }.ok_or_else(|| memory_error(bytes))
    }

    /// Returns memory after a run.
    pub(crate) fn put(&self, arena: Storage) {
        if arena.len_bytes() <= MIN_KEPT {
            return;
        }
        // Arenas to free. They are dropped after the lock is released, because returning memory to the system is slow.
        let mut gone = Vec::new();
        let mut kept = kept();
        kept.push_back((self.0, arena));
        let mut bytes: usize = kept.iter().map(|(_, a)| a.len_bytes()).sum();
        while bytes > MAX_KEPT && kept.len() > 1 {
            gone.extend(kept.pop_front());
            bytes -= gone.last().map_or(0, |(_, a)| a.len_bytes());
        }
        drop(kept);
    }
}

impl Drop for Arenas {
    fn drop(&mut self) {
        let (mut gone, mut kept) = (Vec::new(), kept());
        while let Some(i) = kept.iter().position(|(own, _)| *own == self.0) {
            gone.extend(kept.remove(i));
        }
        drop(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A single test, because all tests of a process would share the kept memory.
    #[test]
    fn the_least_recent_arenas_are_freed_first() {
        let each = MAX_KEPT / 4;
        let all: Vec<Arenas> = (0..6).map(|_| Arenas::new()).collect();
        let address = |a: &Arenas| {
            let arena = a.take(each).expect("memory");
            let address = arena.as_ptr().addr();
            a.put(arena);
            address
        };
        let own = |a: &Arenas| {
            kept().iter().filter(|(own, _)| *own == a.0).map(|(_, s)| s.as_ptr().addr()).collect()
        };
        let addresses: Vec<usize> = all.iter().map(address).collect();
        let left: Vec<Vec<usize>> = all.iter().map(own).collect();
        let last = |i: usize| if i < 2 { vec![] } else { vec![addresses[i]] };
        assert_eq!(left, (0..6).map(last).collect::<Vec<_>>());
        // An executable that runs again gets its own arena, which then counts as the most recent.
        assert_eq!(address(&all[2]), addresses[2]);
        address(&all[0]);
        let left: Vec<usize> = all.iter().map(|a| own(a).len()).collect();
        assert_eq!(left, [1, 0, 1, 0, 1, 1]);
        let numbers: Vec<u64> = all.iter().map(|a| a.0).collect();
        drop(all);
        assert!(kept().iter().all(|(own, _)| !numbers.contains(own)));
        let small = Arenas::new();
        small.put(small.take(MIN_KEPT).expect("memory"));
        assert!(own(&small).is_empty());
    }
}
