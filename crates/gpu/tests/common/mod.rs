//! Runs programs on the first Vulkan adapter in a simple way: with one submission per command, and without sharing
//! anything between runs.
#![allow(dead_code, reason = "each test uses a part")]

use gradus_compile::{BufferLocation, Plan, Profile, Text, compile};
use gradus_gpu::{Barriers, Command, Dialect, GpuProgram, Limits, Memory, Word, profile, translate};
use gradus_ir::attr::Attr;
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::call::Call;
use gradus_ir::ops::reduce::Max;
use gradus_ir::{Aval, DType, Graph, Literal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Limits for tests: those that every WebGPU adapter has, with more bindings.
pub(crate) fn limits(barriers: Barriers) -> Limits {
    Limits {
        group: 256,
        shared: 16 << 10,
        bindings: 16,
        binding: 128 << 20,
        groups: 65_535,
        barriers,
        pages: true,
    }
}

/// Returns the plan of a graph for an adapter.
pub(crate) fn planned(graph: &Graph, limits: &Limits) -> gradus_ir::Result<Plan> {
    compile(graph, &profile(limits))
}

/// Returns attention as a region, which has its own kernels. `sizes` are the numbers of heads, queries, keys and features.
pub(crate) fn attention(sizes: [usize; 4], causal: bool) -> Graph {
    attention_as("scaled_dot_product_attention", sizes, causal)
}

/// Returns attention as a region with this name. If the name is not that of attention, the region is inlined.
pub(crate) fn attention_as(name: &str, sizes: [usize; 4], causal: bool) -> Graph {
    attention_with(name, sizes, &Variant { causal, group: 1, ..Variant::default() })
}

/// Options of attention.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variant {
    pub(crate) causal: bool,
    /// Number of query heads that share a head of keys.
    pub(crate) group: usize,
    pub(crate) window: Option<usize>,
    pub(crate) softcap: Option<f64>,
}

/// As [`attention_as`], with options.
pub(crate) fn attention_with(name: &str, [heads, n, m, d]: [usize; 4], variant: &Variant) -> Graph {
    fn wide(v: Var<'_>, m: usize) -> Var<'_> {
        let shape = [v.shape().to_vec(), vec![m]].concat();
        let one = [v.shape().to_vec(), vec![1]].concat();
        v.reshape(one).broadcast_to(&shape.into())
    }
    let Variant { causal, group, window, softcap } = variant.clone();
    let types = [(heads, n), (heads / group, m), (heads / group, m)];
    let types = types.map(|(h, rows)| Aval::new(DType::F32, [h, rows, d]));
    let r = Builder::new();
    let ins: Vec<Var<'_>> = types.iter().map(|a| r.input("x", a.clone())).collect();
    let [k, v] = [ins[1], ins[2]].map(|v| {
        let all = [heads / group, group, m, d];
        v.reshape(vec![heads / group, 1, m, d]).broadcast_to(&all[..].into()).reshape(vec![heads, m, d])
    });
    let mut scores = ins[0].dot(k, "hid", "hjd", "hij") * (1.0 / (d as f64).sqrt());
    if let Some(c) = softcap {
        scores = (scores * (1.0 / c)).tanh() * c;
    }
    if causal || window.is_some() {
        let is_hidden = |i: usize, j: usize| j > i || window.is_some_and(|w| j + w <= i);
        let hidden = |at: usize| if is_hidden(at / m, at % m) { -1e30 } else { 0.0 };
        let hidden = Literal::floats(DType::F32, [n, m], (0..n * m).map(hidden).collect());
        scores = scores + r.constant(hidden.expect("a matrix")).broadcast_to(&scores.shape());
    }
    let e = (scores - wide(r.apply1(Max { axes: vec![2] }, &[scores]), m)).exp();
    let out = (e / wide(e.sum(&[2]), m)).dot(v, "hij", "hjd", "hid");
    let body = Arc::new(r.finish(&[out]).expect("a body"));
    let mut args = vec![
        ("mask", Attr::Bool(false)),
        ("causal", Attr::Bool(causal)),
        ("group", Attr::Int(group as i64)),
        ("dropout", Attr::Float(0f64.to_bits())),
    ];
    args.extend(window.map(|w| ("window", Attr::Int(w as i64))));
    args.extend(softcap.map(|c| ("softcap", Attr::Float(c.to_bits()))));
    let args = args.into_iter().map(|(n, a)| (n.to_string(), a)).collect();
    let b = Builder::new();
    let ins: Vec<Var<'_>> = types.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = b.apply(Call::new(name, args, body), &ins);
    b.finish(&outs).expect("a call")
}

/// Returns a number between -1 and 1.
fn noise(i: u32) -> f32 {
    let mixed = (i ^ (i >> 15)).wrapping_mul(0x2c1b_3c6d);
    (mixed ^ (mixed >> 12)) as i32 as f32 / (1u32 << 31) as f32
}

pub(crate) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipelines: Mutex<HashMap<String, wgpu::ComputePipeline>>,
}

impl Gpu {
    /// Returns the adapter, which is opened at the first call.
    pub(crate) fn get() -> &'static Gpu {
        static GPU: OnceLock<Gpu> = OnceLock::new();
        GPU.get_or_init(Gpu::open)
    }

    fn open() -> Gpu {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        // `GRADUS_ADAPTER` names an adapter to test; without it the first is tested.
        let wanted = std::env::var("GRADUS_ADAPTER").unwrap_or_default().to_lowercase();
        let named = |a: &wgpu::Adapter| a.get_info().name.to_lowercase().contains(&wanted);
        let adapter = adapters.into_iter().find(named).expect("a Vulkan adapter, such as lavapipe");
        let descriptor = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        Gpu { device, queue, pipelines: Mutex::default() }
    }

    /// Returns the bytes of the adapter's largest binding.
    pub(crate) fn binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    fn pipeline(&self, text: &str, layout: &wgpu::BindGroupLayout) -> wgpu::ComputePipeline {
        let known = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        let create = || {
            let source = wgpu::ShaderSource::Wgsl(text.into());
            let module =
                self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: None,
                    bind_group_layouts: &[Some(layout)],
                    immediate_size: 0,
                })),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        known.unwrap_or_else(|| {
            let pipeline = create();
            let mut all = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(text.to_string(), pipeline.clone());
            pipeline
        })
    }

    fn buffer(&self, bytes: usize, fill: u8) -> wgpu::Buffer {
        let size = bytes.next_multiple_of(256).max(256);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let descriptor =
            wgpu::BufferDescriptor { label: None, size: size as u64, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        self.queue.write_buffer(&buffer, 0, &vec![fill; size]);
        buffer
    }

    /// Returns the memory of a program with its inputs and constants, and the offset of each buffer in its memory.
    fn memory(
        &self,
        program: &GpuProgram,
        inputs: &[Vec<u8>],
    ) -> (HashMap<Memory, wgpu::Buffer>, Vec<usize>) {
        // The offset of each buffer in its memory.
        let mut starts = vec![0; program.buffers.len()];
        let mut heap = 0;
        for (b, own) in program.buffers.iter().enumerate() {
            match (&own.location, program.memory(b)) {
                (BufferLocation::Arena(at), _) => starts[b] = program.page_of(*at).1,
                (BufferLocation::Output(k), _) if program.donors[*k].is_some() => {}
                (_, Memory::Heap) => {
                    starts[b] = heap;
                    heap += own.bytes().next_multiple_of(256);
                }
                _ => {}
            }
        }
        for (k, donor) in program.donors.iter().enumerate() {
            if let Some(input) = donor {
                starts[program.outputs[k]] = starts[program.inputs[*input]];
            }
        }
        let mut memory: HashMap<Memory, wgpu::Buffer> = HashMap::new();
        memory.insert(Memory::Heap, self.buffer(heap, 0xa5));
        for (k, bytes) in program.pages().into_iter().enumerate() {
            let page = if k == 0 { Memory::Arena } else { Memory::Page(k) };
            memory.insert(page, self.buffer(bytes, 0x5a));
        }
        for (b, own) in program.buffers.iter().enumerate() {
            if let Memory::Own(owner) = program.memory(b) {
                memory.entry(Memory::Own(owner)).or_insert_with(|| self.buffer(own.bytes(), 0xa5));
            }
            let data = match &own.location {
                BufferLocation::Input(k) => inputs[*k].clone(),
                BufferLocation::Constant(l) => l.to_bytes(),
                _ => continue,
            };
            let mut data = data;
            data.resize(data.len().next_multiple_of(4), 0x77);
            self.queue.write_buffer(&memory[&program.memory(b)], starts[b] as u64, &data);
        }
        (memory, starts)
    }

    /// Runs a program without host steps on these inputs; returns the bytes of its outputs.
    pub(crate) fn run(&self, program: &GpuProgram, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let (memory, starts) = self.memory(program, inputs);
        self.submit(program, &memory, &starts, 1)?;
        for check in &program.checks {
            let word = self.read(&memory[&program.memory(check.word)], starts[check.word], 4);
            if word != [0xff; 4] {
                return Err(format!("index {word:?} of step {} is out of range", check.step));
            }
        }
        let read = |b: &usize| {
            let own = &program.buffers[*b];
            self.read(&memory[&program.memory(*b)], starts[*b], own.bytes())
        };
        Ok(program.outputs.iter().map(read).collect())
    }

    /// Returns the layout of a module's bindings: storage buffers, then the parameters.
    fn layout(&self, writable: &[bool]) -> wgpu::BindGroupLayout {
        let storage = writable.iter().map(|w| wgpu::BufferBindingType::Storage { read_only: !w });
        let entries: Vec<wgpu::BindGroupLayoutEntry> = storage
            .chain([wgpu::BufferBindingType::Uniform])
            .enumerate()
            .map(|(k, ty)| wgpu::BindGroupLayoutEntry {
                binding: k as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        self.device.create_bind_group_layout(&descriptor)
    }

    /// Sets the pipeline, the bindings and the groups of a dispatch.
    fn dispatch(
        &self,
        program: &GpuProgram,
        command: &Command,
        memory: &HashMap<Memory, wgpu::Buffer>,
        starts: &[usize],
    ) -> Result<(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3]), String> {
        let Command::Dispatch { module, bindings, parameters, groups, .. } = command else {
            return Err("a host step".into());
        };
        let word = |w: &Word| match w {
            Word::Value(x) => *x,
            Word::Start { buffer, plus } => {
                (starts[*buffer] / program.buffers[*buffer].dtype.size()) as u32 + plus
            }
        };
        let words: Vec<u8> = parameters.iter().flat_map(|w| word(w).to_le_bytes()).collect();
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let size = words.len() as u64;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let uniform = self.device.create_buffer(&descriptor);
        self.queue.write_buffer(&uniform, 0, &words);
        let module = &program.modules[*module];
        let layout = self.layout(&module.writable);
        let pipeline = self.pipeline(&module.text, &layout);
        let buffers = bindings.iter().map(|m| &memory[m]).chain([&uniform]);
        let all: Vec<wgpu::BindGroupEntry<'_>> = buffers
            .enumerate()
            .map(|(k, b)| wgpu::BindGroupEntry { binding: k as u32, resource: b.as_entire_binding() })
            .collect();
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &all };
        let group = self.device.create_bind_group(&descriptor);
        Ok((pipeline, group, *groups))
    }

    /// Submits all commands `times` times, in one pass, and waits.
    fn submit(
        &self,
        program: &GpuProgram,
        memory: &HashMap<Memory, wgpu::Buffer>,
        starts: &[usize],
        times: usize,
    ) -> Result<(), String> {
        let all = program.commands.iter().map(|c| self.dispatch(program, c, memory, starts));
        let all = all.collect::<Result<Vec<_>, String>>()?;
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (pipeline, group, groups) in std::iter::repeat_n(&all, times).flatten() {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
            }
        }
        self.queue.submit([encoder.finish()]);
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        Ok(())
    }

    /// Returns the seconds of one run of a graph: the shortest of several runs.
    pub(crate) fn seconds(&self, graph: &Graph, limits: &Limits, times: usize) -> Result<f64, String> {
        self.seconds_with(graph, &profile(limits), limits, times)
    }

    /// As [`Gpu::seconds`], with a profile other than that of the limits.
    pub(crate) fn seconds_with(
        &self,
        graph: &Graph,
        profile: &Profile,
        limits: &Limits,
        times: usize,
    ) -> Result<f64, String> {
        let plan = compile(graph, profile).map_err(|e| e.to_string())?;
        let program = translate(&plan, limits, Dialect::Wgsl, Text::Special).map_err(|e| e.to_string())?;
        // Numbers between -1 and 1, because GPUs compute zeros faster.
        let numbers = |b: &usize| -> Vec<u8> {
            let buffer = &program.buffers[*b];
            match buffer.dtype {
                DType::F32 => (0..buffer.numel as u32).flat_map(|i| noise(i).to_le_bytes()).collect(),
                DType::BF16 => (0..buffer.numel as u32)
                    .flat_map(|i| ((noise(i).to_bits() >> 16) as u16).to_le_bytes())
                    .collect(),
                _ => vec![0; buffer.bytes()],
            }
        };
        let inputs: Vec<Vec<u8>> = program.inputs.iter().map(numbers).collect();
        let (memory, starts) = self.memory(&program, &inputs);
        // GPUs that were idle are slow at first.
        let warm = std::time::Instant::now();
        while warm.elapsed().as_millis() < 300 {
            self.submit(&program, &memory, &starts, times)?;
        }
        let mut best = f64::INFINITY;
        for _ in 0..7 {
            let start = std::time::Instant::now();
            self.submit(&program, &memory, &starts, times)?;
            best = best.min(start.elapsed().as_secs_f64() / times as f64);
        }
        Ok(best)
    }

    fn read(&self, from: &wgpu::Buffer, start: usize, bytes: usize) -> Vec<u8> {
        if bytes == 0 {
            return Vec::new();
        }
        let size = bytes.next_multiple_of(4) as u64;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&descriptor);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(from, start as u64, &staging, 0, size);
        self.queue.submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, |r| r.expect("memory can be mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        let mapped = staging.slice(..).get_mapped_range().expect("a mapped range");
        mapped[..bytes].to_vec()
    }

    /// Evaluates a graph. If the program has host steps, returns the reason of the first instead.
    pub(crate) fn evaluate(
        &self,
        graph: &Graph,
        inputs: &[Literal],
        limits: &Limits,
        text: Text,
    ) -> gradus_ir::Result<Result<Vec<Literal>, String>> {
        let plan = planned(graph, limits)?;
        let program = translate(&plan, limits, Dialect::Wgsl, text)?;
        for command in &program.commands {
            if let Command::Host { why, .. } = command {
                return Ok(Err(why.clone()));
            }
        }
        // Save the program and load it again, so that every test also covers the file format.
        let (saved, constants) = program.to_json();
        let saved = serde_json::from_str(&saved.to_string()).expect("JSON");
        let program = GpuProgram::from_json(&saved, &constants)?;
        let inputs: Vec<Vec<u8>> = inputs.iter().map(Literal::to_bytes).collect();
        let outputs = self.run(&program, &inputs).map_err(gradus_ir::Error::verify)?;
        let avals = graph.output_avals();
        Ok(Ok(outputs
            .iter()
            .zip(&avals)
            .map(|(o, a)| Literal::from_bytes(a, o).expect("all bytes"))
            .collect()))
    }
}
