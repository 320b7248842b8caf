//! Threads that share the chunks of one job.
//!
//! Threads without work claim one chunk at a time. The caller claims chunks too. At the end it waits only for workers
//! that have entered the job, so a suspended worker does not delay a job that it has not entered. The caller claims from
//! the front and workers from the back. A processor then tends to get the same chunks, and the same memory, as in the
//! last similar job. Workers spin for some tens of microseconds before they sleep, because the kernels of a program
//! follow each other closely.

use crate::ahead::{Prefetcher, Side};
use gradus_ir::stop;
use std::any::Any;
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The function that a job calls for each chunk.
pub type Chunk<'a> = dyn Fn(usize) + Sync + 'a;

/// A team of threads. See the [module](self).
pub struct Pool {
    /// The team. It is locked by the thread whose job it runs.
    team: Mutex<Team>,
    threads: AtomicUsize,
    prefetcher: Arc<Prefetcher>,
}

type Thrown = Box<dyn Any + Send>;

struct Team {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

struct Worker {
    thread: JoinHandle<()>,
    asleep: Arc<AtomicBool>,
}

/// State shared by the caller and the workers of a team. Counters that different threads write are on separate
/// cache lines.
struct Shared {
    /// The number of jobs so far. A change tells workers that there is a new job, or that the team ends.
    epoch: CacheLine<AtomicUsize>,
    /// Number of workers in the job, with [`OPEN`] while it may be entered and [`WAITED`] while the caller
    /// sleeps.
    state: CacheLine<AtomicUsize>,
    /// Number of chunks claimed from the front, plus [`BACK`] times the number claimed from the back.
    claimed: CacheLine<AtomicU64>,
    /// Written by the caller while the job is closed and empty; read by workers that entered it while open.
    job: UnsafeCell<Job>,
    quit: AtomicBool,
    /// If true, the job must stop. The caller polls and sets this flag; workers read it.
    stopped: Arc<AtomicBool>,
    panic: Mutex<Option<Thrown>>,
    sleep: Mutex<()>,
    left: Condvar,
    prefetcher: Arc<Prefetcher>,
}

#[derive(Clone, Copy)]
struct Job {
    chunk: *const Chunk<'static>,
    chunks: usize,
}

#[repr(align(128))]
struct CacheLine<T>(T);

// SAFETY: `job` is written only while the job is closed and no worker is in it. The function that it points to
// may be called from any thread. All other fields are `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: the function that `job` points to may be called from any thread; all other fields are `Send`.
unsafe impl Send for Shared {}

const OPEN: usize = 1 << (usize::BITS - 1);
const WAITED: usize = 1 << (usize::BITS - 2);
const ENTERED: usize = WAITED - 1;

/// One chunk claimed from the back.
const BACK: u64 = 1 << 32;
/// Largest number of chunks of a job that threads share, small enough that failed claims never reach [`BACK`].
const MAX: usize = 1 << 30;

/// Duration of spinning before a thread sleeps. It is longer than the gap between two kernels of a program, but
/// short enough that an idle program uses hardly any processor time.
const SPIN: Duration = Duration::from_micros(40);

thread_local! {
    /// True while this thread is inside a chunk: jobs started there run on this thread alone.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// On a worker: [`Shared::stopped`] of its team.
    static STOPPED: OnceCell<Arc<AtomicBool>> = const { OnceCell::new() };
}

/// Interval at which a caller that sleeps until workers have left the job polls for a stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns true if this thread is a worker whose job must stop.
pub(crate) fn is_stopped() -> bool {
    STOPPED.with(|s| s.get().is_some_and(|s| s.load(Relaxed)))
}

impl Pool {
    /// Makes a team of `threads` threads, including the caller of [`Pool::run`].
    pub fn new(threads: usize) -> Pool {
        let prefetcher = Arc::<Prefetcher>::default();
        let team = Team::new(threads, &prefetcher);
        Pool { threads: AtomicUsize::new(team.workers.len() + 1), team: Mutex::new(team), prefetcher }
    }

    /// Returns the shared team: one thread per processor that this program may use.
    pub fn global() -> &'static Pool {
        static GLOBAL: OnceLock<Pool> = OnceLock::new();
        GLOBAL.get_or_init(|| Pool::new(std::thread::available_parallelism().map_or(1, usize::from)))
    }

    /// Returns the number of threads that share a job (fewer than requested if the system refused some).
    pub fn threads(&self) -> usize {
        self.threads.load(Relaxed)
    }

    /// Sets the number of threads, after the running job. Does nothing inside a chunk.
    pub fn set_threads(&self, threads: usize) {
        if INSIDE.get() {
            return;
        }
        let mut team = ignore_poison(self.team.lock());
        if threads.max(1) != team.workers.len() + 1 {
            *team = Team::new(threads, &self.prefetcher);
            self.threads.store(team.workers.len() + 1, Relaxed);
        }
    }

    /// Sets the memory that a later job reads. Threads that wait for a job, or for its end, prefetch this memory. As
    /// when they claim chunks, the caller's thread starts at the front and workers at the back. The memory need not
    /// stay valid.
    pub(crate) fn read_ahead(&self, ranges: impl Iterator<Item = (*const u8, usize)>) {
        if self.threads() > 1 {
            self.prefetcher.set(ranges);
        }
    }

    /// Calls `chunk` for each of `0..chunks`, and returns after all calls.
    ///
    /// Runs on this thread alone, in order, if it is inside a chunk or another thread's job is running. A panic
    /// in a chunk is resumed here, after all threads have left the job. After a panic or a request to stop
    /// (`gradus_ir::stop`), unclaimed chunks are not run.
    pub fn run(&self, chunks: usize, chunk: &Chunk<'_>) {
        // Runs no further job after an interrupted one, because it might read memory that was not written.
        if stop::requested() {
            return;
        }
        if chunks > 1 && chunks <= MAX && !INSIDE.get() && self.threads() > 1 {
            let team = match self.team.try_lock() {
                Ok(team) => Some(team),
                Err(TryLockError::Poisoned(team)) => Some(team.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(team) = team {
                let panic = team.run(chunks, chunk);
                drop(team);
                if let Some(panic) = panic {
                    resume_unwind(panic);
                }
                return;
            }
        }
        (0..chunks).take_while(|_| !stop::requested()).for_each(chunk);
    }
}

impl Team {
    fn new(threads: usize, prefetcher: &Arc<Prefetcher>) -> Team {
        fn nothing(_: usize) {}
        let shared = Arc::new(Shared {
            epoch: CacheLine(AtomicUsize::new(0)),
            state: CacheLine(AtomicUsize::new(0)),
            claimed: CacheLine(AtomicU64::new(0)),
            job: UnsafeCell::new(Job { chunk: &nothing, chunks: 0 }),
            quit: AtomicBool::new(false),
            stopped: Arc::default(),
            panic: Mutex::new(None),
            sleep: Mutex::new(()),
            left: Condvar::new(),
            prefetcher: prefetcher.clone(),
        });
        let spawn_worker = |index: usize| {
            let (shared, asleep) = (shared.clone(), Arc::new(AtomicBool::new(false)));
            let flag = asleep.clone();
            let builder = std::thread::Builder::new().name(format!("gradus-{index}"));
            builder.spawn(move || shared.work(&flag)).ok().map(|thread| Worker { thread, asleep })
        };
        let workers = (1..threads).map_while(spawn_worker).collect();
        Team { shared, workers }
    }

    /// Runs a job. Returns the panic of a chunk, if any.
    fn run(&self, chunks: usize, chunk: &Chunk<'_>) -> Option<Thrown> {
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes, and no worker calls the closure after `leave_all` below has returned.
        let chunk = unsafe { std::mem::transmute::<*const Chunk<'_>, *const Chunk<'static>>(chunk) };
        // SAFETY: this thread has locked the team, and its last job was closed and left by all workers before
        // the lock was released.
        unsafe { *shared.job.get() = Job { chunk, chunks } };
        shared.claimed.0.store(0, Relaxed);
        // Workers enter by an atomic operation on `state` that reads this value, so they see the job and the
        // counter.
        shared.state.0.fetch_or(OPEN, Release);
        shared.epoch.0.fetch_add(1, SeqCst);
        // Wakes at most as many workers as there are other chunks, because waking a thread takes longer than a short chunk.
        for worker in self.workers.iter().take(chunks - 1) {
            if worker.asleep.load(SeqCst) {
                worker.thread.thread().unpark();
            }
        }
        INSIDE.set(true);
        shared.claim(Job { chunk, chunks }, 1);
        INSIDE.set(false);
        shared.leave_all();
        ignore_poison(shared.panic.lock()).take()
    }
}

impl Shared {
    /// Claims and runs chunks until none is left: from the front with `side` 1, from the back with `side`
    /// [`BACK`].
    fn claim(&self, job: Job, side: u64) {
        let work = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let claimed = self.claimed.0.fetch_add(side, Relaxed);
                let (front, back) = ((claimed % BACK) as usize, (claimed / BACK) as usize);
                if front + back >= job.chunks {
                    return;
                }
                if stop::requested() {
                    self.claimed.0.store(MAX as u64, Relaxed);
                    return;
                }
                let index = if side == BACK { job.chunks - 1 - back } else { front };
                // SAFETY: the caller of `Team::run` keeps the closure alive until all threads have left the
                // job, and this thread is in it.
                unsafe { (*job.chunk)(index) };
            }
        }));
        if let Err(panic) = work {
            self.claimed.0.store(MAX as u64, Relaxed);
            ignore_poison(self.panic.lock()).get_or_insert(panic);
        }
    }

    /// Closes the job and waits for the workers in it.
    fn leave_all(&self) {
        self.state.0.fetch_and(!OPEN, Relaxed);
        let mut timeout = SpinTimeout::new();
        while self.state.0.load(Acquire) & ENTERED != 0 {
            if stop::requested() {
                self.stopped.store(true, Relaxed);
            }
            if !self.prefetcher.prefetch(Side::Front) && timeout.over() {
                let guard = ignore_poison(self.sleep.lock());
                self.state.0.fetch_or(WAITED, Relaxed);
                if self.state.0.load(Acquire) & ENTERED != 0 {
                    drop(
                        self.left.wait_timeout(guard, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner),
                    );
                }
                self.state.0.fetch_and(!WAITED, Relaxed);
            }
        }
        self.stopped.store(false, Relaxed);
    }

    /// Runs the main loop of a worker.
    fn work(&self, asleep: &AtomicBool) {
        INSIDE.set(true);
        STOPPED.with(|s| s.get_or_init(|| self.stopped.clone()).clone());
        let mut seen = 0;
        loop {
            let mut timeout = SpinTimeout::new();
            while self.epoch.0.load(Acquire) == seen {
                if !self.prefetcher.prefetch(Side::Back) && timeout.over() {
                    // Either the caller sees the flag, or this thread sees the new epoch.
                    asleep.store(true, SeqCst);
                    while self.epoch.0.load(SeqCst) == seen {
                        std::thread::park();
                    }
                    asleep.store(false, Relaxed);
                }
            }
            seen = self.epoch.0.load(Acquire);
            if self.quit.load(Acquire) {
                return;
            }
            if self.state.0.fetch_add(1, Acquire) & OPEN != 0 {
                // SAFETY: this thread has entered the open job, and the caller writes `job` only when no worker is in it.
                self.claim(unsafe { *self.job.get() }, BACK);
                // Clears the stop request of this thread before the next job. The caller reports the interruption.
                let _ = stop::check();
            }
            let state = self.state.0.fetch_sub(1, Release);
            if state & WAITED != 0 {
                // The caller set the flag while it held this lock, and releases the lock only by waiting. So after the
                // lock has been acquired here, the caller receives the notification.
                drop(ignore_poison(self.sleep.lock()));
                self.left.notify_one();
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.quit.store(true, Release);
        self.shared.epoch.0.fetch_add(1, SeqCst);
        for worker in self.workers.drain(..) {
            worker.thread.thread().unpark();
            // A worker catches the panics of its chunks, so `join` returns no error.
            let _ = worker.thread.join();
        }
    }
}

/// A limit on the time that a thread spins before it sleeps.
struct SpinTimeout {
    start: Instant,
    spins: u32,
}

impl SpinTimeout {
    fn new() -> SpinTimeout {
        SpinTimeout { start: Instant::now(), spins: 0 }
    }

    /// Spins once, for up to about 50 ns, so that the caller checks its condition often. Returns true if the time is over.
    fn over(&mut self) -> bool {
        spin_loop();
        self.spins += 1;
        // Reads the clock only every 16 spins, because that takes as long as a spin.
        self.spins.is_multiple_of(16) && self.start.elapsed() > SPIN
    }
}

/// Ignores that a lock is poisoned: panics of chunks are caught before any lock is released, so the data are valid.
fn ignore_poison<T>(lock: Result<T, PoisonError<T>>) -> T {
    lock.unwrap_or_else(PoisonError::into_inner)
}
