//! Tests that the thread pool runs every chunk once, for any scheduling of the threads. A test that hangs fails after a time
//! limit.

use gradus_cpu::Pool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

/// Time limit of a test. The slowest takes well under a second on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the body of a test on a separate thread. Resumes the panic of the body, or panics if the body has not
/// returned within the limit. A thread that hangs ends with the process.
fn bounded(limit: Duration, body: impl FnOnce() + Send + 'static) {
    let (done, end) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        // Dropped when the body returns or panics.
        let _done = done;
        body();
    });
    if end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("the test hangs: it has not ended within {limit:?}");
    }
    if let Err(thrown) = thread.join() {
        std::panic::resume_unwind(thrown);
    }
}

fn counts(n: usize) -> Vec<AtomicUsize> {
    (0..n).map(|_| AtomicUsize::new(0)).collect()
}

fn assert_once(pool: &Pool, chunks: usize) {
    let seen = counts(chunks);
    pool.run(chunks, &|chunk| {
        seen[chunk].fetch_add(1, SeqCst);
    });
    assert!(seen.iter().all(|count| count.load(SeqCst) == 1), "{chunks} chunks");
}

#[test]
fn runs_every_chunk_once() {
    bounded(LIMIT, || {
        for threads in [0, 1, 2, 3, 5] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads.max(1));
            for chunks in [0, 1, 2, 3, 7, 100] {
                (0..50).for_each(|_| assert_once(&pool, chunks));
            }
        }
    });
}

#[test]
fn workers_share_the_work() {
    bounded(LIMIT, || {
        let pool = Pool::new(3);
        // Every chunk waits for the others, so a single thread would wait forever.
        let meet = Barrier::new(3);
        pool.run(3, &|_| {
            meet.wait();
        });
    });
}

#[test]
fn wakes_workers_that_sleep() {
    bounded(LIMIT, || {
        let pool = Pool::new(2);
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(2));
            let meet = Barrier::new(2);
            pool.run(2, &|_| {
                meet.wait();
            });
        }
    });
}

#[test]
fn waits_for_a_slow_worker() {
    bounded(LIMIT, || {
        let pool = Pool::new(2);
        let caller = std::thread::current().id();
        let done = AtomicUsize::new(0);
        let meet = Barrier::new(2);
        pool.run(2, &|_| {
            meet.wait();
            if std::thread::current().id() != caller {
                std::thread::sleep(Duration::from_millis(20));
            }
            done.fetch_add(1, SeqCst);
        });
        assert_eq!(done.load(SeqCst), 2);
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_stays_usable() {
    bounded(LIMIT, || {
        let pool = Pool::new(3);
        for bad in 0..20 {
            let thrown = catch_unwind(AssertUnwindSafe(|| {
                pool.run(20, &|chunk| {
                    if chunk == bad {
                        std::panic::panic_any(chunk);
                    }
                });
            }));
            assert_eq!(thrown.expect_err("it was thrown").downcast_ref::<usize>(), Some(&bad));
            assert_once(&pool, 20);
        }
    });
}

#[test]
fn a_worker_may_panic_too() {
    bounded(LIMIT, || {
        let pool = Pool::new(2);
        let caller = std::thread::current().id();
        let meet = Barrier::new(2);
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            pool.run(2, &|_| {
                meet.wait();
                assert_eq!(std::thread::current().id(), caller, "a worker");
            });
        }));
        let message = *thrown.expect_err("it was thrown").downcast::<String>().expect("a message");
        assert!(message.contains("a worker"), "{message}");
        assert_once(&pool, 9);
    });
}

#[test]
fn a_job_inside_a_chunk_stays_on_its_thread() {
    bounded(LIMIT, || {
        let pool = Pool::new(3);
        let seen = counts(7 * 11);
        pool.run(7, &|outer| {
            let here: ThreadId = std::thread::current().id();
            pool.run(11, &|inner| {
                assert_eq!(std::thread::current().id(), here);
                seen[outer * 11 + inner].fetch_add(1, SeqCst);
            });
            pool.set_threads(1);
        });
        assert!(seen.iter().all(|count| count.load(SeqCst) == 1));
        assert_eq!(pool.threads(), 3);
    });
}

#[test]
fn many_threads_may_call_at_once() {
    bounded(LIMIT, || {
        let pool = Pool::new(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|_| assert_once(&pool, 13)));
            }
        });
    });
}

#[test]
fn a_second_caller_does_not_wait() {
    bounded(LIMIT, || {
        let pool = Pool::new(2);
        let (started, release) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pool.run(2, &|_| {
                    started.store(true, SeqCst);
                    while !release.load(SeqCst) {
                        std::thread::yield_now();
                    }
                });
            });
            while !started.load(SeqCst) {
                std::thread::yield_now();
            }
            assert_once(&pool, 5);
            release.store(true, SeqCst);
        });
    });
}

#[test]
fn the_number_of_threads_changes() {
    bounded(LIMIT, || {
        let pool = Pool::new(1);
        for threads in [3, 1, 2, 2, 4] {
            pool.set_threads(threads);
            assert_eq!(pool.threads(), threads);
            let meet = Barrier::new(threads);
            pool.run(threads, &|_| {
                meet.wait();
            });
            assert_once(&pool, 50);
        }
        assert!(Pool::global().threads() >= 1);
    });
}

#[test]
fn a_test_that_hangs_fails() {
    // A barrier that needs one thread more than the pool has.
    let hangs = || {
        let meet = Barrier::new(3);
        Pool::new(2).run(2, &|_| {
            meet.wait();
        });
    };
    let thrown = catch_unwind(|| bounded(Duration::from_millis(200), hangs)).expect_err("it hangs");
    let message = thrown.downcast_ref::<String>().expect("a message");
    assert_eq!(message, "the test hangs: it has not ended within 200ms");
    let thrown = catch_unwind(|| bounded(LIMIT, || std::panic::panic_any(7))).expect_err("it panics");
    assert_eq!(thrown.downcast_ref::<i32>(), Some(&7));
}
