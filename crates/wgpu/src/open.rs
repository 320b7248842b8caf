//! Lists the adapters that wgpu finds, the most capable first, and opens one of them with the limits that it supports.
//! The environment variables `WGPU_BACKEND` of wgpu and `VK_DRIVER_FILES` of Vulkan restrict the backends and the drivers.

use crate::cache::{self, DiskCache};
use crate::capacity;
use crate::context::{Context, Fault, Loss};
use crate::copy;
use crate::device::Gpu;
use crate::late;
use crate::memory::{Usage, first_heap};
use crate::pipeline::Pipelines;
use crate::queue::State;
use gradus_device::{Device, memory_error};
use gradus_gpu::{Barriers, Limits, Module, profile};
use gradus_ir::{Error, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// Properties of an adapter that is not open yet.
#[derive(Clone, Debug)]
pub struct AdapterFacts {
    /// The number of the adapter, as in `wgpu:0`.
    pub index: usize,
    /// The name of the adapter.
    pub name: String,
    /// Name and version of the driver.
    pub driver: String,
    /// `vulkan` or another backend.
    pub backend: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: String,
    /// Bytes of the largest binding, which is also the size of the largest tensor.
    pub binding: u64,
    /// Bytes of its largest local memory, if the backend reports it.
    pub memory: Option<u64>,
    /// Number of storage buffers that one kernel may bind.
    pub bindings: u32,
    /// Largest number of threads in a workgroup.
    pub group: u32,
    /// Bytes of memory that a workgroup shares.
    pub shared: u32,
}

/// Options for opening a device.
#[derive(Clone, Debug)]
pub struct Options {
    /// Initial size of the heap in bytes; it doubles when it is full.
    pub heap: usize,
    /// Largest number of bytes to allocate from the system for tensors.
    pub most: usize,
    /// Largest size of a binding in bytes, if it is less than the adapter's limit.
    pub binding: u64,
    /// The folder in which compiled kernels are cached; `None` disables the cache.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options { heap: 8 << 20, most: usize::MAX, binding: u64::MAX, cache: cache::folder() }
    }
}

/// Returns the adapters that can run compute kernels, in the order of their numbers.
pub fn adapters() -> Vec<AdapterFacts> {
    let facts = |(index, adapter): (usize, &wgpu::Adapter)| {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        AdapterFacts {
            index,
            memory: capacity::bytes(adapter),
            bindings: limits.max_storage_buffers_per_shader_stage,
            group: limits.max_compute_invocations_per_workgroup,
            shared: limits.max_compute_workgroup_storage_size,
            driver: driver(&info),
            backend: info.backend.to_string(),
            kind: kind(info.device_type).to_string(),
            binding: limits.max_storage_buffer_binding_size,
            name: info.name,
        }
    };
    found().iter().enumerate().map(facts).collect()
}

/// Returns the number of the first adapter whose name or driver contains this text, ignoring case.
pub fn adapter_named(text: &str) -> Result<usize> {
    let wanted = text.to_lowercase();
    let named = |a: &AdapterFacts| format!("{} {}", a.name, a.driver).to_lowercase().contains(&wanted);
    let all = adapters();
    all.iter()
        .find(|a| !wanted.is_empty() && named(a))
        .map(|a| a.index)
        .ok_or_else(|| missing(format!("wgpu:{text}")))
}

/// Makes the error for an adapter that does not exist. It lists the adapters that exist.
fn missing(name: String) -> Error {
    let adapters = adapters();
    let why = if adapters.is_empty() {
        "no adapter was found: install a Vulkan driver (for tests in software: mesa-vulkan-drivers), and unset \
         WGPU_BACKEND and VK_DRIVER_FILES unless they name one that is installed"
            .to_string()
    } else {
        let names = adapters.iter().map(|a| format!("wgpu:{} is {}", a.index, a.name));
        format!("there is no such adapter; {}", names.collect::<Vec<_>>().join(", "))
    };
    Error::device(name, why)
}

/// Opens an adapter by its number among [`adapters`]. `host` is the CPU device, which runs steps without a kernel.
pub fn open(index: usize, id: u16, host: Arc<dyn Device>) -> Result<Arc<dyn Device>> {
    Ok(open_gpu(index, id, host, &Options::default())?)
}

/// As [`open`], with options. Returns the concrete type.
pub fn open_gpu(index: usize, id: u16, host: Arc<dyn Device>, options: &Options) -> Result<Arc<Gpu>> {
    let name = format!("wgpu:{index}");
    let Some(adapter) = found().get(index) else { return Err(missing(name)) };
    let info = adapter.get_info();
    let useful = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
    let features = adapter.features() & useful;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("gradus"),
        required_features: features,
        required_limits: adapter.limits(),
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
        .map_err(|e| Error::device(name.clone(), format!("cannot be opened: {e}")))?;
    let loss = Arc::new(Loss::default());
    let lost = loss.clone();
    device
        .set_device_lost_callback(move |reason, why| lost.lose(format!("{reason:?}, {why}").to_lowercase()));
    let uncaptured = loss.clone();
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured.report(error.to_string())));

    let own = device.limits();
    let software = info.device_type == wgpu::DeviceType::Cpu;
    let limits = Limits {
        group: own.max_compute_invocations_per_workgroup.min(own.max_compute_workgroup_size_x),
        shared: own.max_compute_workgroup_storage_size,
        bindings: own.max_storage_buffers_per_shader_stage,
        binding: own.max_storage_buffer_binding_size.min(own.max_buffer_size).min(options.binding),
        groups: own.max_compute_workgroups_per_dimension,
        barriers: if software { Barriers::Expensive } else { Barriers::Cheap },
        pages: true,
    };
    let fault = |fault: Fault| match fault {
        Fault::Memory => memory_error(options.heap),
        Fault::Refused(why) => Error::device(name.clone(), why),
    };
    let usage = Usage::default();
    let heap = first_heap(&device, &usage, options.heap.next_multiple_of(256)).map_err(fault)?;
    let disk = DiskCache::open(&device, &info, options.cache.as_deref());
    let pipelines = Pipelines::new(device.clone(), disk);
    let compiled_late =
        |all: &[Module]| all.iter().map(|m| pipelines.prepare_late(m).map_err(fault)).collect::<Result<_>>();
    let (copies, records) = (compiled_late(&copy::modules())?, compiled_late(&late::modules())?);
    let facts = facts(&info, &limits, &own, features, capacity::bytes(adapter));
    let profile = profile(&limits);
    let context = Context {
        id,
        copies,
        records,
        name,
        align: own.min_uniform_buffer_offset_alignment.max(16) as usize,
        parameters: own.max_uniform_buffer_binding_size.min(1 << 16) as usize,
        device,
        queue,
        limits,
        software,
        most: options.most,
        state: Mutex::new(State::new(heap)),
        freed: Mutex::default(),
        usage,
        pipelines,
        loss,
    };
    Ok(Arc::new(Gpu { context: Arc::new(context), profile, facts, host }))
}

/// Returns the adapters in the order of preference. Adapters of equal preference keep the order of the system, so numbers are
/// stable. The system is queried only once, because a query loads all drivers.
fn found() -> &'static [wgpu::Adapter] {
    static ADAPTERS: OnceLock<Vec<wgpu::Adapter>> = OnceLock::new();
    ADAPTERS.get_or_init(|| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        // Disables validation layers, which are slow and meant for debugging wgpu. Environment variables can enable them.
        descriptor.flags = wgpu::InstanceFlags::empty().with_env();
        let backends = descriptor.backends;
        let instance = wgpu::Instance::new(descriptor);
        let mut adapters = pollster::block_on(instance.enumerate_adapters(backends));
        let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
        adapters.retain(|a| a.get_downlevel_capabilities().flags.contains(computes));
        adapters.sort_by_key(|a| match a.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Cpu => 3,
            wgpu::DeviceType::Other => 4,
        });
        adapters
    })
}

fn kind(kind: wgpu::DeviceType) -> &'static str {
    match kind {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    }
}

fn driver(info: &wgpu::AdapterInfo) -> String {
    format!("{} {}", info.driver, info.driver_info).trim().to_string()
}

fn facts(
    info: &wgpu::AdapterInfo,
    limits: &Limits,
    own: &wgpu::Limits,
    features: wgpu::Features,
    memory: Option<u64>,
) -> Vec<(String, String)> {
    let flags: Vec<String> = features.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    let pairs = [
        ("adapter", info.name.clone()),
        ("driver", driver(info)),
        ("backend", info.backend.to_string()),
        ("type", kind(info.device_type).to_string()),
        ("memory", memory.map_or_else(|| "unknown".to_string(), |bytes| format!("{bytes} bytes"))),
        ("largest binding", format!("{} bytes", limits.binding)),
        ("largest buffer", format!("{} bytes", own.max_buffer_size)),
        ("bindings", limits.bindings.to_string()),
        ("shared memory", format!("{} bytes", limits.shared)),
        ("threads of a group", limits.group.to_string()),
        ("features", flags.join(", ")),
    ];
    pairs.into_iter().map(|(what, fact)| (what.to_string(), fact)).collect()
}
