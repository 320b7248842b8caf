//! Pipelines: kernels compiled by the driver. Each source text is compiled once. Background threads compile the new
//! kernels of a program in parallel, while commands are queued. Only a submission waits for its kernels.

use crate::cache::DiskCache;
use crate::context::{Fault, guarded, lock};
use gradus_gpu::Module;
use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// Number of stored kernels at which those that no program uses are dropped.
const KEPT: usize = 2048;
/// The time that a thread waits for more kernels before it ends.
const IDLE_TIMEOUT: Duration = Duration::from_millis(200);

/// The kernels of a device.
pub(crate) struct Pipelines {
    device: wgpu::Device,
    known: Mutex<HashMap<Arc<Module>, Arc<Pipeline>>>,
    layouts: Mutex<HashMap<Vec<bool>, wgpu::BindGroupLayout>>,
    work: Arc<Work>,
}

/// Kernels that wait for a background thread.
struct Work {
    waiting: Mutex<Waiting>,
    added: Condvar,
    /// Signals that a thread found no more kernels.
    idle: Condvar,
    disk: Option<DiskCache>,
}

#[derive(Default)]
struct Waiting {
    pipelines: VecDeque<Arc<Pipeline>>,
    /// The number of threads.
    threads: usize,
    /// The number of threads that wait for kernels.
    idle: usize,
}

/// A kernel. The first thread that needs it compiles it.
pub(crate) struct Pipeline {
    device: wgpu::Device,
    work: Arc<Work>,
    module: Arc<Module>,
    layout: wgpu::BindGroupLayout,
    ready: OnceLock<std::result::Result<wgpu::ComputePipeline, String>>,
}

impl Pipelines {
    pub(crate) fn new(device: wgpu::Device, disk: Option<DiskCache>) -> Pipelines {
        let (added, idle) = (Condvar::new(), Condvar::new());
        let work = Arc::new(Work { waiting: Mutex::default(), added, idle, disk });
        Pipelines { device, known: Mutex::default(), layouts: Mutex::default(), work }
    }

    /// Returns the kernel of a module, and starts compiling it in the background.
    pub(crate) fn prepare(&self, module: &Module) -> std::result::Result<Arc<Pipeline>, Fault> {
        let (pipeline, is_new) = self.find(module)?;
        if is_new {
            self.start(pipeline.clone());
        }
        Ok(pipeline)
    }

    /// Returns the kernel of a module without starting to compile it. The first submission that needs the kernel compiles it.
    pub(crate) fn prepare_late(&self, module: &Module) -> std::result::Result<Arc<Pipeline>, Fault> {
        self.find(module).map(|(pipeline, _)| pipeline)
    }

    /// Waits until the background threads have compiled all queued kernels.
    pub(crate) fn finish(&self) {
        let busy = |w: &mut Waiting| w.threads > w.idle || (w.threads > 0 && !w.pipelines.is_empty());
        drop(self.work.idle.wait_while(lock(&self.work.waiting), busy));
    }

    /// Returns the kernel of a module, and true if it is new.
    fn find(&self, module: &Module) -> std::result::Result<(Arc<Pipeline>, bool), Fault> {
        let mut known = lock(&self.known);
        if let Some(pipeline) = known.get(module) {
            return Ok((pipeline.clone(), false));
        }
        if known.len() >= KEPT {
            known.retain(|_, pipeline| Arc::strong_count(pipeline) > 1);
        }
        let layout = self.layout(&module.writable)?;
        let module = Arc::new(module.clone());
        let (device, work) = (self.device.clone(), self.work.clone());
        let ready = OnceLock::new();
        let pipeline = Arc::new(Pipeline { device, work, module: module.clone(), layout, ready });
        known.insert(module, pipeline.clone());
        Ok((pipeline, true))
    }

    /// Returns the layout of a kernel's bindings: its storage buffers, then the uniform buffer of parameters.
    fn layout(&self, writable: &[bool]) -> std::result::Result<wgpu::BindGroupLayout, Fault> {
        let mut layouts = lock(&self.layouts);
        if let Some(layout) = layouts.get(writable) {
            return Ok(layout.clone());
        }
        let entry = |binding: usize, ty: wgpu::BufferBindingType, has_dynamic_offset: bool| {
            wgpu::BindGroupLayoutEntry {
                binding: binding as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
                count: None,
            }
        };
        let storage = |(i, writable): (usize, &bool)| {
            entry(i, wgpu::BufferBindingType::Storage { read_only: !writable }, false)
        };
        let mut entries: Vec<_> = writable.iter().enumerate().map(storage).collect();
        entries.push(entry(writable.len(), wgpu::BufferBindingType::Uniform, true));
        let layout = guarded(&self.device, || {
            let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
            self.device.create_bind_group_layout(&descriptor)
        })?;
        layouts.insert(writable.to_vec(), layout.clone());
        Ok(layout)
    }

    /// Queues a kernel for the background threads, and starts a thread if too few run. Threads end if the queue is empty
    /// for a while.
    fn start(&self, pipeline: Arc<Pipeline>) {
        let mut waiting = lock(&self.work.waiting);
        waiting.pipelines.push_back(pipeline);
        let most = thread::available_parallelism().map_or(1, NonZero::get).min(8);
        if waiting.idle >= waiting.pipelines.len() || waiting.threads >= most {
            self.work.added.notify_one();
            return;
        }
        let work = self.work.clone();
        let started = thread::Builder::new().name("gradus-pipelines".to_string()).spawn(move || work.run());
        // If no thread can be started, the submission that needs the kernel compiles it.
        waiting.threads += usize::from(started.is_ok());
    }
}

impl Work {
    /// Compiles queued kernels. The last thread to end stores the compiled kernels on disk.
    fn run(&self) {
        while let Some(pipeline) = self.next() {
            let _ = pipeline.ready();
        }
        if lock(&self.waiting).threads == 0 {
            self.disk.iter().for_each(DiskCache::save);
        }
    }

    /// Returns the next kernel, or `None` if none arrived for a while.
    fn next(&self) -> Option<Arc<Pipeline>> {
        let mut waiting = lock(&self.waiting);
        if waiting.pipelines.is_empty() {
            waiting.idle += 1;
            self.idle.notify_all();
            let timed = self.added.wait_timeout_while(waiting, IDLE_TIMEOUT, |w| w.pipelines.is_empty());
            waiting = timed.map_or_else(|e| e.into_inner().0, |(guard, _)| guard);
            waiting.idle -= 1;
        }
        let next = waiting.pipelines.pop_front();
        if next.is_none() {
            waiting.threads -= 1;
            self.idle.notify_all();
        }
        next
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("module", &self.module).finish_non_exhaustive()
    }
}

impl Pipeline {
    /// Returns the compiled kernel. Compiles it, or waits for the thread that compiles it. The error is that of the driver.
    pub(crate) fn ready(&self) -> std::result::Result<&wgpu::ComputePipeline, &str> {
        let compile = || {
            // Catches panics, because an error in the shader compiler must not end the process.
            let caught = catch_unwind(AssertUnwindSafe(|| self.compile()));
            caught.unwrap_or_else(|_| {
                Err("failed to compile a kernel: the shader compiler panicked".to_string())
            })
        };
        self.ready.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// Returns the layout of its bindings.
    pub(crate) fn layout(&self) -> &wgpu::BindGroupLayout {
        &self.layout
    }

    /// Returns, for each binding, true if the kernel writes to it.
    pub(crate) fn writable(&self) -> &[bool] {
        &self.module.writable
    }

    fn compile(&self) -> std::result::Result<wgpu::ComputePipeline, String> {
        let (device, disk) = (&self.device, self.work.disk.as_ref());
        let made = guarded(device, || {
            let source = wgpu::ShaderSource::Wgsl(self.module.text.as_str().into());
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&self.layout)],
                immediate_size: 0,
            });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: Default::default(),
                cache: disk.map(DiskCache::cache),
            })
        });
        if made.is_ok() {
            disk.into_iter().for_each(DiskCache::note);
        }
        made.map_err(|fault| match fault {
            Fault::Memory => "does not have enough memory to compile a kernel".to_string(),
            Fault::Refused(why) => format!("rejects a kernel: {why}"),
        })
    }
}
