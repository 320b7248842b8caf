//! Devices for tests, programs written directly, and random numbers.

use gradus_compile::{Buffer, BufferLocation, Text};
use gradus_cpu::Cpu;
use gradus_device::{Argument, Device, Executable};
use gradus_gpu::{Command, GpuProgram, Memory, Module, SMALL, Word};
use gradus_ir::{DType, Literal};
use gradus_mem::Storage;
use gradus_wgpu::{Gpu, Options, adapter_named, adapters, open_gpu};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// Opens a separate device for a test. Returns `None` if there is no adapter.
pub(crate) fn gpu(options: &Options) -> Option<Arc<Gpu>> {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    if adapters().is_empty() {
        let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
        assert!(!required, "GRADUS_ORACLES=required, but there is no wgpu adapter");
        println!("skipped: no wgpu adapter");
        return None;
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    // `GRADUS_ADAPTER` may name the adapter to test. Otherwise the first is tested.
    let adapter = std::env::var("GRADUS_ADAPTER").map_or(0, |name| adapter_named(&name).expect("an adapter"));
    Some(open_gpu(adapter, id, Arc::new(Cpu), options).expect("the adapter opens"))
}

/// Pseudorandom numbers, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// Returns the bytes of a storage of a device.
pub(crate) fn read(device: &dyn Device, storage: &Storage) -> Vec<u8> {
    let all = device.read(&[(storage, 0..storage.len_bytes())]).wait().expect("a read");
    all[0].host::<u8>().expect("on the host").to_vec()
}

/// Returns `f32` elements as bytes.
pub(crate) fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

/// Returns the `f32` elements in some bytes.
pub(crate) fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Returns complete storages as arguments.
pub(crate) fn arguments(storages: &[&Storage]) -> Vec<Argument> {
    storages.iter().map(|s| Argument { storage: (*s).clone(), offset: 0 }).collect()
}

/// Returns the program of `out = x * factor + y` over `n` elements of `f32`. If `n` is small, operands share a binding.
pub(crate) fn multiply_add(n: usize, factor: f32, in_place: bool) -> GpuProgram {
    let small = n * 4 <= SMALL;
    let bindings = if small {
        vec![Memory::Heap]
    } else if in_place {
        vec![Memory::Own(0), Memory::Own(1)]
    } else {
        vec![Memory::Own(0), Memory::Own(1), Memory::Own(2)]
    };
    let (names, writable) = match (small, in_place) {
        (true, _) => (["a", "a", "a"], vec![true]),
        (false, true) => (["a", "b", "a"], vec![true, false]),
        (false, false) => (["a", "b", "c"], vec![false, false, true]),
    };
    let mut declared = String::new();
    for (i, (name, w)) in ["a", "b", "c"].iter().zip(&writable).enumerate() {
        let access = if *w { "read_write" } else { "read" };
        declared += &format!("@group(0) @binding({i}) var<storage, {access}> {name}: array<f32>;\n");
    }
    let (x, y, out) = (names[0], names[1], names[2]);
    let text = format!(
        "struct P {{ x: u32, y: u32, out: u32, n: u32, factor: f32, row: u32 }}
{declared}@group(0) @binding({}) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.y * p.row + id.x;
  if (i < p.n) {{ {out}[p.out + i] = {x}[p.x + i] * p.factor + {y}[p.y + i]; }}
}}
",
        writable.len()
    );
    let buffer = |location| Buffer { dtype: DType::F32, numel: n, location };
    let groups = (n as u32).div_ceil(64);
    let x_groups = groups.min(65_535);
    let start = |buffer| Word::Start { buffer, plus: 0 };
    GpuProgram {
        modules: vec![Module { text, writable, group: [64, 1, 1] }],
        commands: vec![Command::Dispatch {
            module: 0,
            bindings,
            parameters: vec![
                start(0),
                start(1),
                start(2),
                Word::Value(n as u32),
                Word::Value(factor.to_bits()),
                Word::Value(x_groups * 64),
            ],
            groups: [x_groups, groups.div_ceil(x_groups.max(1)), 1],
            step: 0,
        }],
        buffers: vec![
            buffer(BufferLocation::Input(0)),
            buffer(BufferLocation::Input(1)),
            buffer(BufferLocation::Output(0)),
        ],
        inputs: vec![0, 1],
        outputs: vec![2],
        donors: vec![in_place.then_some(0)],
        arena: 0,
        page: None,
        checks: Vec::new(),
    }
}

/// Loads a program.
pub(crate) fn load(gpu: &Gpu, program: GpuProgram, text: Text) -> Arc<dyn Executable> {
    gpu.load(program, text).expect("a program")
}

/// Returns `f32` numbers between -1 and 1.
pub(crate) fn numbers(shape: &[usize], seed: u64) -> Literal {
    let mut random = Random::new(seed + 1);
    let n: usize = shape.iter().product();
    let data = (0..n).map(|_| f64::from(random.below(2001) as f32 / 1000.0 - 1.0)).collect();
    Literal::floats(DType::F32, shape, data).expect("as many as the shape says")
}

/// Returns options for tests: without a cache of kernels, whose files would remain after the tests.
pub(crate) fn options() -> Options {
    Options { cache: None, ..Options::default() }
}
