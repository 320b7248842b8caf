//! The data that all parts of a device share: the wgpu device, its queue, the state, and errors that wgpu reports.
//! Operations that can fail are called in an error scope of wgpu. Their errors become [`Error`]s that name the device.

use crate::memory::{BlockMemory, Usage};
use crate::pipeline::{Pipeline, Pipelines};
use crate::queue::State;
use gradus_device::memory_error;
use gradus_gpu::Limits;
use gradus_ir::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// An open device. Storages, executables and reads hold it.
pub(crate) struct Context {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: Limits,
    /// If true, the adapter computes on the CPU.
    pub(crate) software: bool,
    /// Alignment of parameter blocks in bytes.
    pub(crate) align: usize,
    /// Bytes of the largest parameter block.
    pub(crate) parameters: usize,
    /// Kernels that copy, in the order of `copy::modules`.
    pub(crate) copies: Vec<Arc<Pipeline>>,
    /// Kernels that store the records of checks, in the order of `late::modules`.
    pub(crate) records: Vec<Arc<Pipeline>>,
    /// Largest number of bytes to allocate from the system.
    pub(crate) most: usize,
    pub(crate) state: Mutex<State>,
    /// Memory of dropped storages. It has its own lock, because storages may be dropped while `state` is locked.
    pub(crate) freed: Mutex<Vec<BlockMemory>>,
    pub(crate) usage: Usage,
    pub(crate) pipelines: Pipelines,
    pub(crate) loss: Arc<Loss>,
}

/// Errors that wgpu reports by callbacks: the loss of the device, and errors outside of all scopes.
#[derive(Default)]
pub(crate) struct Loss {
    is_lost: AtomicBool,
    why: Mutex<Option<String>>,
    uncaptured: Mutex<Option<String>>,
}

impl Loss {
    /// Records why the device was lost.
    pub(crate) fn lose(&self, why: String) {
        lock(&self.why).get_or_insert(why);
        self.is_lost.store(true, Ordering::Release);
    }

    /// Records an error that no scope caught.
    pub(crate) fn report(&self, why: String) {
        lock(&self.uncaptured).get_or_insert(why);
    }
}

/// An error that wgpu reports in an error scope.
#[derive(Debug)]
pub(crate) enum Fault {
    /// There is not enough memory.
    Memory,
    /// An invalid operation, with wgpu's message.
    Refused(String),
}

/// Locks a mutex, even if a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Calls wgpu in an error scope. Returns the error that wgpu reports during the call; without a scope wgpu would panic.
pub(crate) fn guarded<T>(device: &wgpu::Device, call: impl FnOnce() -> T) -> std::result::Result<T, Fault> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let result = call();
    let memory = pollster::block_on(memory.pop());
    let refusals = [pollster::block_on(validation.pop()), pollster::block_on(internal.pop())];
    if memory.is_some() {
        return Err(Fault::Memory);
    }
    match refusals.into_iter().flatten().next() {
        Some(error) => Err(Fault::Refused(error.to_string())),
        None => Ok(result),
    }
}

impl Context {
    /// Makes an error about this device.
    pub(crate) fn error(&self, why: impl Into<String>) -> Error {
        Error::device(self.name.clone(), why)
    }

    /// Converts an error of wgpu. `bytes` is the amount of memory that was requested.
    pub(crate) fn fault(&self, fault: Fault, bytes: usize) -> Error {
        if let Err(lost) = self.check() {
            return lost;
        }
        match fault {
            Fault::Memory => memory_error(bytes),
            Fault::Refused(why) => self.error(why),
        }
    }

    /// Returns an error if the device was lost, or if wgpu reported an error outside of a scope.
    pub(crate) fn check(&self) -> Result<()> {
        if self.loss.is_lost.load(Ordering::Acquire) {
            let why = lock(&self.loss.why).clone().unwrap_or_default();
            let why = format!(
                "was lost: {why}; its tensors cannot be used any more; open the device in a new process"
            );
            return Err(self.error(why));
        }
        match lock(&self.loss.uncaptured).take() {
            Some(why) => Err(self.error(why)),
            None => Ok(()),
        }
    }

    /// Calls wgpu as [`guarded`] does, and converts its error.
    pub(crate) fn call<T>(&self, bytes: usize, call: impl FnOnce() -> T) -> Result<T> {
        guarded(&self.device, call).map_err(|fault| self.fault(fault, bytes))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("name", &self.name).finish_non_exhaustive()
    }
}
