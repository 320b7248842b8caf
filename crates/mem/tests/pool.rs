//! Memory of the pool: reused on its thread, bounded, returned to the system, and counted.
//!
//! The process has one allocator and one count of live bytes, so these tests run one at a time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use gradus_mem::{Handle, Storage, live_bytes, stats, trim};

/// The system allocator. It counts the bytes of pooled blocks smaller than a large page, recognised by their alignment,
/// and can be made to fail.
struct Counting;

static POOLED_BYTES: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    /// Number of pooled blocks that this thread may still allocate.
    static ALLOWANCE: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: forwards to the system allocator, or returns null as an allocator may.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == 64 {
            let Some(left) = ALLOWANCE.get().checked_sub(1) else { return std::ptr::null_mut() };
            ALLOWANCE.set(left);
            POOLED_BYTES.fetch_add(layout.size() as isize, Relaxed);
        }
        // SAFETY: the caller guarantees a layout of nonzero size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if layout.align() == 64 {
            POOLED_BYTES.fetch_sub(layout.size() as isize, Relaxed);
        }
        // SAFETY: the caller guarantees that `ptr` was allocated with `layout`, here by the system allocator.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() == 64 {
            // SAFETY: the caller guarantees a layout of nonzero size; a block that is not null has `layout.size()` bytes.
            return unsafe {
                let ptr = self.alloc(layout);
                if !ptr.is_null() {
                    ptr.write_bytes(0, layout.size());
                }
                ptr
            };
        }
        // SAFETY: the caller guarantees a layout of nonzero size.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs one test at a time. At the end of the test, all of its memory must have been returned.
struct Serial(#[allow(dead_code)] MutexGuard<'static, ()>, isize, usize);

fn serial() -> Serial {
    static RUNNING: Mutex<()> = Mutex::new(());
    let guard = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    trim();
    Serial(guard, POOLED_BYTES.load(Relaxed), live_bytes())
}

impl Drop for Serial {
    fn drop(&mut self) {
        if !thread::panicking() {
            trim();
            assert_eq!((stats().cached_bytes, stats().cached_blocks), (0, 0));
            assert_eq!(POOLED_BYTES.load(Relaxed), self.1, "bytes not returned");
            assert_eq!(live_bytes(), self.2, "live bytes");
        }
    }
}

fn zeroed(bytes: usize) -> Storage {
    Storage::zeroed(bytes).expect("memory")
}

#[cfg(not(feature = "unpooled"))]
fn addr(storage: &Storage) -> usize {
    storage.host::<u8>().unwrap().as_ptr().addr()
}

#[test]
#[cfg(not(feature = "unpooled"))]
fn a_freed_block_is_reused_in_its_class() {
    let _serial = serial();
    let small = [(0, 0), (1, 64), (100, 192)];
    let large = [(200, 256), (4096, 2049), (9 << 20, 16 << 20)];
    for (len, next) in small.into_iter().chain(large) {
        let first = zeroed(len);
        let at = addr(&first);
        drop(first);
        let second = zeroed(next);
        assert_eq!(addr(&second), at, "{len} then {next} bytes");
    }
    let first = Handle::new([1u64; 20]);
    let at = first.addr();
    drop(first);
    assert_eq!(Handle::new([2u64; 30]).addr(), at);
}

#[test]
#[cfg(not(feature = "unpooled"))]
fn stats_count_cached_blocks() {
    let _serial = serial();
    let (small, large) = (zeroed(32), zeroed(3000));
    assert_eq!((stats().cached_bytes, stats().cached_blocks), (0, 0));
    drop(small);
    assert_eq!((stats().cached_bytes, stats().cached_blocks), (128, 1));
    drop(large);
    assert_eq!((stats().cached_bytes, stats().cached_blocks), (128 + 64 + 4096, 3));
    assert_eq!(stats().live_bytes, live_bytes());
}

#[test]
#[cfg(not(feature = "unpooled"))]
#[cfg_attr(miri, ignore = "fills half a gigabyte")]
fn the_cache_is_bounded_and_prefers_small_blocks() {
    const MIB: usize = 1 << 20;
    let _serial = serial();
    let fill = |count, len| drop((0..count).map(|_| zeroed(len)).collect::<Vec<_>>());
    fill(3, 64 * MIB);
    assert_eq!(stats().cached_bytes, 128 * MIB + 3 * 64, "no more than two of the largest class");
    fill(4, 32 * MIB);
    assert_eq!(stats().cached_bytes / MIB, 64 + 4 * 32, "the fourth evicted a larger one");
    fill(65, MIB);
    assert_eq!(stats().cached_bytes / MIB, 4 * 32 + 65, "and so did one of these");
    let small = zeroed(MIB);
    let at = addr(&small);
    drop(small);
    assert_eq!(addr(&zeroed(MIB)), at);
}

#[test]
fn live_bytes_equal_the_requested_bytes() {
    let _serial = serial();
    let start = live_bytes();
    let a = zeroed(1000);
    let b = Storage::from_slice(&[1.0f64; 3]).expect("memory");
    let c = a.clone();
    assert_eq!(live_bytes() - start, 1024);
    drop(a);
    assert_eq!(live_bytes() - start, 1024);
    drop((b, c));
    assert_eq!(live_bytes(), start);
}

#[test]
fn a_thread_returns_its_blocks_when_it_ends() {
    let serial = serial();
    let work = || {
        for len in 0..if cfg!(miri) { 100 } else { 2000 } {
            drop((zeroed(len * 3), Handle::new([len; 9])));
        }
        stats().cached_blocks
    };
    let cached = thread::spawn(work).join().expect("work");
    assert!(cached > 0 || cfg!(feature = "unpooled"));
    assert_eq!(POOLED_BYTES.load(Relaxed), serial.1);
}

#[test]
fn storages_may_end_on_another_thread() {
    const ROUNDS: usize = if cfg!(miri) { 1 } else { 10 };
    let serial = serial();
    let (send, receive) = mpsc::channel::<Storage>();
    let start = live_bytes();
    let maker = thread::spawn(move || {
        for len in 0..ROUNDS * 300 {
            send.send(Storage::from_fn(len % 300, |i| i as u8).expect("memory")).expect("open");
        }
    });
    let taker = thread::spawn(move || {
        receive.iter().map(|s| s.host::<u8>().unwrap().iter().map(|&x| u64::from(x)).sum::<u64>()).sum()
    });
    maker.join().expect("maker");
    let sum: u64 = taker.join().expect("taker");
    let expected: u64 = (0..300u64).map(|len| (0..len).map(|i| i % 256).sum::<u64>()).sum();
    assert_eq!(sum, ROUNDS as u64 * expected);
    assert_eq!((POOLED_BYTES.load(Relaxed), live_bytes()), (serial.1, start));
}

#[test]
fn many_threads_count_exactly() {
    const THREADS: usize = if cfg!(miri) { 10 } else { 80 };
    let _serial = serial();
    let start = live_bytes();
    let (made, read) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    thread::scope(|scope| {
        let work = |t| {
            let (made, read) = (&made, &read);
            move || {
                let mine: Vec<_> = (0..100).map(|_| zeroed(t)).collect();
                made.wait();
                read.wait();
                drop(mine);
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(work(t))).collect();
        made.wait();
        assert_eq!(live_bytes() - start, 100 * THREADS * (THREADS - 1) / 2);
        read.wait();
        // A scope ends before its threads' local values do; joining waits for those as well.
        threads.into_iter().for_each(|thread| thread.join().expect("work"));
    });
    assert_eq!(live_bytes(), start);
}

#[test]
fn an_ending_thread_may_make_and_drop_storages() {
    /// Works with storages while the thread's other local values are being destroyed.
    struct Late(Vec<Storage>);

    impl Drop for Late {
        fn drop(&mut self) {
            let sum: usize = self.0.iter().map(Storage::len_bytes).sum();
            assert_eq!(sum, 64 + 5000);
            let more = Handle::new((zeroed(64), zeroed(5000)));
            assert_eq!(more.1.host::<u64>().unwrap(), [0; 625]);
            trim();
            assert!(stats().live_bytes >= 2 * sum);
        }
    }

    thread_local! {
        static FIRST: RefCell<Late> = const { RefCell::new(Late(Vec::new())) };
        static LAST: RefCell<Late> = const { RefCell::new(Late(Vec::new())) };
    }

    // One value is registered for destruction before the pool's, the other after.
    let _serial = serial();
    let work = || {
        FIRST.with(|_| ());
        let make = || vec![zeroed(64), zeroed(5000)];
        FIRST.with(|late| late.borrow_mut().0 = make());
        LAST.with(|late| late.borrow_mut().0 = make());
    };
    thread::spawn(work).join().expect("work");
}

#[test]
fn a_failing_allocator_is_reported_and_leaks_nothing() {
    let _serial = serial();
    let makers: [fn(usize) -> Option<Storage>; 3] = [
        Storage::zeroed,
        |len| Storage::from_slice(&vec![1u8; len]),
        |len| Storage::from_fn(len, |i| i as u8),
    ];
    for (len, blocks) in [(8, 1), (192, 1), (193, 2), (5000, 2)] {
        for (allowance, make) in (0..=blocks).flat_map(|n| makers.map(|make| (n, make))) {
            trim();
            ALLOWANCE.set(allowance);
            let made = make(len);
            ALLOWANCE.set(usize::MAX);
            assert_eq!(made.is_some(), allowance == blocks, "{allowance} blocks for {len} bytes");
        }
    }
}

#[test]
fn a_panic_while_filling_leaks_nothing() {
    let _serial = serial();
    for len in [4, 4000] {
        let fill = |i: usize| if i < 3 { 1.0f32 } else { panic!("no more") };
        let result = std::panic::catch_unwind(|| Storage::from_fn(len, fill));
        assert!(result.is_err());
    }
}
