//! Loopback: a test device that runs programs on the CPU but stores tensors in a private table.
//! The host has no pointer into that table, so code that assumes host memory fails. Programs run when
//! something is read. New memory has a fixed pattern, `f64` is unsupported, reads are counted, and an
//! allocation can be made to fail.

use gradus_compile::{Plan, Profile, Work};
use gradus_cpu::{Cpu, PROFILE};
use gradus_device::{
    Argument, Code, Device, Done, Executable, Pending, Request, Sink, Statistics, memory_error,
};
use gradus_ir::{DType, Error, Result};
use gradus_mem::{HOST, Remote, Storage};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Byte that new memory is filled with.
const FILL: u8 = 0xA5;

/// Largest operand that may be in host memory, in bytes.
const MAX_FROM_HOST: usize = 16;

/// A device for tests.
pub struct Loopback {
    id: u16,
    name: String,
    profile: Profile,
    state: Mutex<State>,
    reads: AtomicUsize,
    /// Number of allocations until one fails; 0 disables failures.
    until_failure: AtomicUsize,
    itself: Weak<Loopback>,
}

#[derive(Default)]
struct State {
    memory: HashMap<u64, Entry>,
    last: u64,
    queue: Vec<Job>,
    /// First failure that no read has reported yet.
    failed: Option<Error>,
}

enum Entry {
    Bytes(Vec<u8>),
    /// An output of a failed run.
    Lost(Error),
}

enum Job {
    Copy { from: u64, at: Range<usize>, to: u64 },
    Run { ready: Arc<dyn Executable>, ins: Vec<Operand>, outs: Vec<u64>, keeps: Vec<(usize, usize)> },
    Free(u64),
}

enum Operand {
    Block(u64, usize),
    Host(Vec<u8>),
}

/// The table entry of one storage.
struct Block {
    device: Weak<Loopback>,
    key: u64,
}

impl Remote for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(device) = self.device.upgrade() {
            device.state().queue.push(Job::Free(self.key));
        }
    }
}

impl Loopback {
    /// Creates a device with this number and name.
    pub fn new(id: u16, name: &str) -> Arc<Loopback> {
        let profile = Profile { dtypes: &DType::WITHOUT_F64, ..PROFILE };
        Arc::new_cyclic(|itself| Loopback {
            id,
            name: name.to_string(),
            profile,
            state: Mutex::default(),
            reads: AtomicUsize::new(0),
            until_failure: AtomicUsize::new(0),
            itself: itself.clone(),
        })
    }

    /// Returns the number of reads since the last call.
    pub fn take_reads(&self) -> usize {
        self.reads.swap(0, Ordering::Relaxed)
    }

    /// Returns the bytes of all storages.
    pub fn used(&self) -> usize {
        let size = |entry: &Entry| if let Entry::Bytes(bytes) = entry { bytes.len() } else { 0 };
        self.state().drain().memory.values().map(size).sum()
    }

    /// Makes the `n`-th allocation from now on fail; 0 disables failures.
    pub fn fail_after(&self, n: usize) {
        self.until_failure.store(n, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_storage(&self, bytes: Vec<u8>) -> Result<Storage> {
        let left = self.until_failure.load(Ordering::Relaxed);
        if left > 0 {
            self.until_failure.store(left - 1, Ordering::Relaxed);
            if left == 1 {
                return Err(memory_error(bytes.len()));
            }
        }
        let (len, mut state) = (bytes.len(), self.state());
        state.last += 1;
        let key = state.last;
        state.memory.insert(key, Entry::Bytes(bytes));
        drop(state);
        let block = Box::new(Block { device: self.itself.clone(), key });
        Storage::on_device(self.id, len, block).ok_or_else(|| memory_error(len))
    }

    fn key(&self, storage: &Storage) -> Result<u64> {
        let own = storage.remote::<Block>().filter(|_| storage.device() == self.id);
        own.map(|block| block.key)
            .ok_or_else(|| Error::device(&self.name, "was given memory of another device"))
    }
}

impl State {
    fn bytes(&self, key: u64) -> Result<&[u8]> {
        match self.memory.get(&key) {
            Some(Entry::Bytes(bytes)) => Ok(bytes),
            Some(Entry::Lost(e)) => Err(e.clone()),
            None => Err(Error::verify("memory is used after it was freed")),
        }
    }

    /// Runs all queued jobs.
    fn drain(&mut self) -> &mut State {
        for job in std::mem::take(&mut self.queue) {
            match job {
                Job::Free(key) => {
                    self.memory.remove(&key);
                }
                Job::Copy { from, at, to } => {
                    let entry = self.bytes(from).map(|all| Entry::Bytes(all[at].to_vec()));
                    self.memory.insert(to, entry.unwrap_or_else(Entry::Lost));
                }
                Job::Run { ready, ins, outs, keeps } => match self.run(&*ready, &ins) {
                    Ok(results) => {
                        for (key, result) in outs.iter().zip(results) {
                            self.memory.insert(*key, Entry::Bytes(result));
                        }
                    }
                    Err(e) => {
                        for (k, key) in outs.iter().enumerate() {
                            let old = keeps.iter().find(|(out, _)| *out == k).map(|(_, i)| &ins[*i]);
                            let kept = old.and_then(|old| self.operand(old).ok());
                            let entry = kept.map_or_else(
                                || Entry::Lost(e.clone()),
                                |(all, at)| Entry::Bytes(all[at..].to_vec()),
                            );
                            self.memory.insert(*key, entry);
                        }
                        self.failed.get_or_insert(e);
                    }
                },
            }
        }
        self
    }

    fn operand<'a>(&'a self, operand: &'a Operand) -> Result<(&'a [u8], usize)> {
        match operand {
            Operand::Block(key, at) => Ok((self.bytes(*key)?, *at)),
            Operand::Host(bytes) => Ok((bytes, 0)),
        }
    }

    fn run(&self, ready: &dyn Executable, ins: &[Operand]) -> Result<Vec<Vec<u8>>> {
        let mut arguments = Vec::with_capacity(ins.len());
        for operand in ins {
            let (bytes, offset) = self.operand(operand)?;
            let storage = Storage::from_slice(bytes).ok_or_else(|| memory_error(bytes.len()))?;
            arguments.push(Argument { storage, offset });
        }
        let outs = ready.run(&mut arguments, None)?;
        Ok(outs.iter().map(|s| s.host::<u8>().unwrap_or_default().to_vec()).collect())
    }
}

impl Device for Loopback {
    fn id(&self) -> u16 {
        self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("kind".to_string(), "a device for tests".to_string())]
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn alloc(&self, bytes: usize) -> Result<Storage> {
        self.new_storage(vec![FILL; bytes])
    }

    fn upload(&self, bytes: &[u8]) -> Result<Storage> {
        self.new_storage(bytes.to_vec())
    }

    fn read(&self, parts: &[(&Storage, Range<usize>)]) -> Pending {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let keys: Result<Vec<u64>> = parts.iter().map(|(storage, _)| self.key(storage)).collect();
        let mut state = self.state();
        let state = state.drain();
        if let Some(e) = state.failed.take() {
            return Pending::ready(Err(e));
        }
        let one = |(key, (_, at)): (u64, &(&Storage, Range<usize>))| {
            let bytes = state.bytes(key)?;
            Storage::from_slice(&bytes[at.clone()]).ok_or_else(|| memory_error(at.len()))
        };
        Pending::ready(keys.and_then(|keys| keys.into_iter().zip(parts).map(one).collect()))
    }

    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage> {
        let (key, new) = (self.key(from)?, self.alloc(at.len())?);
        let to = self.key(&new)?;
        self.state().queue.push(Job::Copy { from: key, at, to });
        Ok(new)
    }

    fn prepare(&self, plan: Plan, request: &Request<'_>) -> Result<Arc<dyn Executable>> {
        let sizes = plan.outputs.iter().map(|&b| plan.buffers[b].bytes()).collect();
        let ready = Cpu.prepare(plan, request)?;
        let device = self.itself.upgrade().ok_or_else(|| Error::verify("the device was dropped"))?;
        Ok(Arc::new(Ready { device, ready, sizes, keeps: request.keeps.to_vec() }))
    }

    fn finish(&self) -> Pending {
        self.read(&[])
    }

    fn trim(&self) {}

    fn memory(&self) -> Statistics {
        let used = self.used();
        Statistics { used, reserved: used, peak: used }
    }
}

/// A program whose runs are queued.
struct Ready {
    device: Arc<Loopback>,
    ready: Arc<dyn Executable>,
    sizes: Vec<usize>,
    keeps: Vec<(usize, usize)>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready on {}", self.device.name)
    }
}

impl Executable for Ready {
    fn run(&self, arguments: &mut Vec<Argument>, _: Option<&mut dyn Sink>) -> Result<Vec<Storage>> {
        let operand = |a: &Argument| match a.storage.host::<u8>() {
            None => Ok(Operand::Block(self.device.key(&a.storage)?, a.offset)),
            Some(all) if all.len() - a.offset <= MAX_FROM_HOST => Ok(Operand::Host(all[a.offset..].to_vec())),
            Some(_) => Err(Error::device(&self.device.name, "was given a tensor in host memory")),
        };
        let ins: Vec<Operand> = arguments.iter().map(operand).collect::<Result<_>>()?;
        debug_assert!(arguments.iter().all(|a| [HOST, self.device.id].contains(&a.storage.device())));
        let outs: Vec<Storage> = self.sizes.iter().map(|&n| self.device.alloc(n)).collect::<Result<_>>()?;
        let keys = outs.iter().map(|s| self.device.key(s)).collect::<Result<_>>()?;
        let job = Job::Run { ready: self.ready.clone(), ins, outs: keys, keeps: self.keeps.clone() };
        self.device.state().queue.push(job);
        // Dropping the arguments queues their release after this run.
        arguments.clear();
        Ok(outs)
    }

    fn explain(&self) -> String {
        self.ready.explain()
    }

    fn steps(&self) -> Vec<String> {
        self.ready.steps()
    }

    fn code(&self) -> Vec<Code> {
        self.ready.code()
    }

    fn costs(&self) -> Vec<Work> {
        self.ready.costs()
    }

    fn arena(&self) -> usize {
        self.ready.arena()
    }

    fn done(&self) -> Done {
        self.ready.done()
    }
}
