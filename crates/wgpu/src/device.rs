//! Implements [`Device`] on top of memory, queue and programs.
//! Takes plans and storages; returns executables and storages of this device. `run.rs` and `execute.rs` run programs, and
//! `queue.rs` has the queue.

use crate::context::{Context, lock};
use crate::memory::BlockMemory;
use crate::queue::Bound;
use crate::run::Loaded;
use gradus_compile::{Plan, Profile, Text, compile_with};
use gradus_device::{Device, Executable, Pending, Request, Statistics};
use gradus_gpu::{Dialect, GpuProgram, translate};
use gradus_ir::{DType, Error, Graph, Kind, Result};
use gradus_mem::Storage;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A GPU, or a software adapter, through wgpu.
pub struct Gpu {
    pub(crate) context: Arc<Context>,
    pub(crate) profile: Profile,
    pub(crate) facts: Vec<(String, String)>,
    /// The device that runs the steps without a kernel.
    pub(crate) host: Arc<dyn Device>,
}

impl Gpu {
    /// Prepares a program that comes without a plan.
    pub fn load(&self, program: GpuProgram, text: Text) -> Result<Arc<dyn Executable>> {
        let cells = program.donors.iter().any(Option::is_some);
        Ok(Arc::new(Loaded::new(&self.context, &*self.host, program, None, (text, cells))?))
    }

    /// Compiles a graph for this device, as the content of a file for [`load_saved`](Gpu::load_saved). Returns an error if a
    /// step has no kernel.
    pub fn save(&self, graph: &Graph) -> Result<Vec<u8>> {
        let limits = &self.context.limits;
        let plan = compile_with(graph, &[], &self.profile)?;
        translate(&plan, limits, Dialect::Wgsl, Text::Special)?.to_bytes(limits)
    }

    /// Prepares a program that [`save`](Gpu::save) wrote. Returns an error if the file is damaged, or if the program was
    /// compiled for a device with other limits.
    pub fn load_saved(&self, bytes: &[u8]) -> Result<Arc<dyn Executable>> {
        self.load(GpuProgram::from_bytes(bytes, &self.context.limits)?, Text::Special)
    }

    /// Returns the limits of the device's kernels.
    pub fn limits(&self) -> &gradus_gpu::Limits {
        &self.context.limits
    }

    /// Returns the number of submissions so far.
    pub fn submissions(&self) -> u64 {
        lock(&self.context.state).submissions()
    }

    /// Destroys the device, as if it had been lost. Its tensors can no longer be read, and every later use returns an error.
    pub fn destroy(&self) {
        self.context.device.destroy();
        let _ = self.context.device.poll(wgpu::PollType::Poll);
        self.context.loss.lose("it was destroyed".to_string());
    }
}

impl Device for Gpu {
    fn id(&self) -> u16 {
        self.context.id
    }

    fn name(&self) -> &str {
        &self.context.name
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.facts.clone()
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn alloc(&self, bytes: usize) -> Result<Storage> {
        self.context.take(&mut lock(&self.context.state), bytes)?.storage()
    }

    fn upload(&self, bytes: &[u8]) -> Result<Storage> {
        self.context.upload(bytes)
    }

    fn read(&self, parts: &[(&Storage, Range<usize>)]) -> Pending {
        self.context.read(parts)
    }

    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage> {
        let context = &self.context;
        let block = context.block(from)?;
        if at.start > at.end || at.end > from.len_bytes() {
            return Err(Error::value("a range of bytes", "is outside of its storage"));
        }
        let mut suspects = Vec::new();
        block.add_suspects(&mut suspects)?;
        let mut state = lock(&context.state);
        state.check_run(block.run())?;
        let new = context.take(&mut state, at.len())?;
        let run = state.next_run();
        if let (Some((source, first)), Some(target)) = (bound(block.memory()), bound(new.memory())) {
            context.queue_copy(&mut state, (source, first + at.start), target, at.len(), run);
            new.written_by(run, &suspects);
            if state.count_run() {
                context.submit_list(&mut state)?;
            }
        }
        new.storage()
    }

    fn prepare(&self, mut plan: Plan, request: &Request<'_>) -> Result<Arc<dyn Executable>> {
        let wide = |d: DType| matches!(d, DType::F64 | DType::C128);
        if let Some(buffer) = plan.buffers.iter().find(|b| wide(b.dtype)) {
            return Err(Error::unsupported(self.context.name.clone(), buffer.dtype));
        }
        // Only cells are overwritten. An eager result must not overwrite an operand, because an operand that is still
        // used would have to be copied first.
        plan.keep_donors(request.keeps);
        let cells = !request.keeps.is_empty();
        let program = translate(&plan, &self.context.limits, Dialect::Wgsl, request.text)?;
        Ok(Arc::new(Loaded::new(&self.context, &*self.host, program, Some(plan), (request.text, cells))?))
    }

    fn program(&self, graph: &Graph, request: &Request<'_>) -> Result<Arc<dyn Executable>> {
        let plan = compile_with(graph, request.layouts, &self.profile).map_err(|e| match e.kind() {
            // The compiler's error has only the size. This error also names the limit.
            Kind::Memory { bytes } => self.context.too_large("a value", *bytes),
            _ => e,
        })?;
        self.prepare(plan, request)
    }

    fn finish(&self) -> Pending {
        self.context.finish()
    }

    fn trim(&self) {
        // Ignores the error: if the device has failed, its next use reports that.
        let _ = self.context.reclaim(&mut lock(&self.context.state));
    }

    fn memory(&self) -> Statistics {
        let usage = &self.context.usage;
        Statistics {
            used: usage.used.load(Ordering::Relaxed),
            reserved: usage.reserved.load(Ordering::Relaxed),
            peak: usage.peak.load(Ordering::Relaxed),
        }
    }
}

impl Context {
    /// Uploads bytes to new memory.
    pub(crate) fn upload(self: &Arc<Context>, bytes: &[u8]) -> Result<Storage> {
        let mut state = lock(&self.state);
        let block = self.take(&mut state, bytes.len())?;
        if let Some((to, start)) = bound(block.memory()) {
            let run = state.next_run();
            block.written_by(run, &[]);
            self.write(&mut state, (&to, start), bytes, run)?;
        }
        block.storage()
    }
}

/// Returns the buffer that contains a block, and the offset of the block.
pub(crate) fn bound(memory: &BlockMemory) -> Option<(Bound, usize)> {
    match memory {
        BlockMemory::Empty => None,
        BlockMemory::Heap { start, .. } => Some((Bound::Heap, *start)),
        BlockMemory::Own(own) => Some((Bound::Own(own.clone()), 0)),
    }
}
