//! The device `webgpu`: the page executes the commands of its programs in order. No function here blocks. The
//! page reads a value after it has executed the commands that compute the value.

use crate::memory::{Block, Memory, post};
use crate::page::page;
use crate::request::{Fault, Request, bytes};
use gradus_compile::{BufferLocation, Plan, Profile, Text, Work};
use gradus_cpu::Cpu;
use gradus_device::{
    Argument, Code, CodeBody, Device, Done, Executable, Pending, Request as PrepareRequest, Sink, Statistics,
};
use gradus_gpu::{Barriers, Command, Dialect, GpuProgram, Limits, profile, translate};
use gradus_ir::{DType, Error, Result};
use gradus_mem::{HOST, Storage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The name of the device.
pub(crate) const NAME: &str = "webgpu";
/// Largest operand on the CPU, in bytes, that is uploaded automatically.
const HOST_OPERAND: usize = 16;
/// Alignment of operands, in bytes.
const ALIGN: usize = 16;

/// The GPU of the page.
struct WebGpu {
    id: u16,
    limits: Limits,
    profile: Profile,
    memory: Arc<Memory>,
}

/// Loaded programs by number, which requests of the page refer to.
static PROGRAMS: Mutex<Option<HashMap<u32, Weak<Loaded>>>> = Mutex::new(None);
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Answers the requests that concern the device.
pub(crate) fn answer(verb: &str, request: &Request) -> Result<Value, Fault> {
    match verb {
        "open" => open(request).map_err(Fault::from),
        "host" => {
            let program = loaded(request.number("program")?)?;
            let reads =
                request.list("reads")?.iter().map(|b| bytes(b, "reads")).collect::<Result<Vec<_>>>()?;
            let results = program.run_on_host(request.number("command")? as usize, &reads)?;
            let page = page()?;
            let give = |bytes: Vec<u8>| json!({"bytes": bytes.len(), "at": page.give(bytes)});
            Ok(results.into_iter().map(give).collect())
        }
        _ => {
            let program = loaded(request.number("program")?)?;
            let check = program.program.checks.get(request.number("check")? as usize);
            let check = check.ok_or_else(|| Error::value("the check", "does not exist in this program"))?;
            let what = program.plan.steps.get(check.step).map_or_else(String::new, |s| s.title());
            let at = request.number("position")?;
            let extent = check.extent;
            Ok(json!(format!("{what}: the index at position {at} must be at least 0 and below {extent}")))
        }
    }
}

fn open(request: &Request) -> Result<Value> {
    let limit = |name: &str, default: u32| {
        request.field("limits")[name].as_u64().map_or(default, |n| u32::try_from(n).unwrap_or(u32::MAX))
    };
    let least = Limits::WEBGPU;
    let software = request.field("software").as_bool() == Some(true);
    let limits = Limits {
        group: limit("group", least.group),
        shared: limit("shared", least.shared),
        bindings: limit("bindings", least.bindings),
        binding: u64::from(limit("binding", 128 << 20)),
        groups: limit("groups", least.groups),
        barriers: if software { Barriers::Expensive } else { Barriers::Cheap },
        pages: false,
    };
    gradus_device::open(NAME, |id| {
        let memory = Memory::new(id, usize::try_from(limits.binding).unwrap_or(usize::MAX));
        Ok(Arc::new(WebGpu { id, profile: profile(&limits), limits, memory }))
    })?;
    Ok(Value::Null)
}

fn loaded(number: u32) -> Result<Arc<Loaded>> {
    let programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = programs.as_ref().and_then(|all| all.get(&number)?.upgrade());
    found.ok_or_else(|| Error::value(format!("program {number}"), "is not loaded"))
}

/// Makes the error for a value that is requested synchronously.
fn cannot_wait() -> Error {
    Error::device(NAME, "cannot wait for a result in a web page; read the tensor with `await tensor.data()`")
}

impl Device for WebGpu {
    fn id(&self) -> u16 {
        self.id
    }

    fn name(&self) -> &str {
        NAME
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("kind".into(), "WebGPU of the page".into())]
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn alloc(&self, bytes: usize) -> Result<Storage> {
        self.memory.storage(self.memory.take(bytes)?, bytes)
    }

    fn upload(&self, bytes: &[u8]) -> Result<Storage> {
        let block = self.memory.take(bytes.len())?;
        if let Some((buffer, start)) = block.location {
            page()?.write(buffer, start, bytes);
        }
        self.memory.storage(block, bytes.len())
    }

    fn read(&self, _: &[(&Storage, Range<usize>)]) -> Pending {
        Pending::ready(Err(cannot_wait()))
    }

    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage> {
        if at.start > at.end || at.end > from.len_bytes() {
            return Err(Error::value("a range of bytes", "is outside of its storage"));
        }
        let block = self.memory.take(at.len())?;
        if let (Some(source), Some(target)) = (block_of(from)?.location, block.location) {
            copy(source, at.start, target, at.len())?;
        }
        self.memory.storage(block, at.len())
    }

    fn prepare(&self, mut plan: Plan, request: &PrepareRequest<'_>) -> Result<Arc<dyn Executable>> {
        let wide = |d: DType| matches!(d, DType::F64 | DType::C128);
        if let Some(buffer) = plan.buffers.iter().find(|b| wide(b.dtype)) {
            return Err(Error::unsupported(NAME, buffer.dtype));
        }
        // Only cells may be overwritten, because other operands may still be in use.
        plan.keep_donors(request.keeps);
        let program = translate(&plan, &self.limits, Dialect::Wgsl, request.text)?;
        Ok(Loaded::new(self, program, plan)?)
    }

    fn finish(&self) -> Pending {
        Pending::ready(Err(cannot_wait()))
    }

    fn trim(&self) {}

    fn memory(&self) -> Statistics {
        self.memory.statistics()
    }
}

fn block_of(storage: &Storage) -> Result<&Block> {
    storage.remote::<Block>().ok_or_else(|| Error::device(NAME, "cannot read a tensor of another device"))
}

/// Queues a copy of bytes, from an offset in one block to the start of another.
fn copy(from: (u32, usize), offset: usize, to: (u32, usize), bytes: usize) -> Result<()> {
    if !offset.is_multiple_of(4) {
        return Err(Error::device(
            NAME,
            "cannot copy elements from an offset that is not a multiple of 4 bytes",
        ));
    }
    let from = [from.0 as usize, from.1 + offset];
    post(json!({"c": "copy", "from": from, "to": [to.0 as usize, to.1], "bytes": bytes.next_multiple_of(4)}));
    Ok(())
}

/// A buffer of the page and an offset in it; `None` if there are no elements.
type Slot = Option<(u32, usize)>;

/// A program that the page has loaded.
#[derive(Debug)]
struct Loaded {
    number: u32,
    program: GpuProgram,
    plan: Plan,
    memory: Arc<Memory>,
    constants: Vec<(usize, Storage)>,
    /// For each command that runs on the host, its executable, which is made at the first run.
    hosts: Vec<OnceLock<Arc<dyn Executable>>>,
    runs: AtomicU64,
}

impl Loaded {
    fn new(device: &WebGpu, program: GpuProgram, plan: Plan) -> Result<Arc<Loaded>> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut constants = Vec::new();
        for (b, buffer) in program.buffers.iter().enumerate() {
            if let BufferLocation::Constant(value) = &buffer.location {
                constants.push((b, device.upload(&value.to_bytes())?));
            }
        }
        let hosts = program.commands.iter().map(|_| OnceLock::new()).collect();
        let (text, _) = program.to_json();
        let memory = device.memory.clone();
        let loaded = Loaded { number, program, plan, memory, constants, hosts, runs: AtomicU64::new(0) };
        let loaded = Arc::new(loaded);
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        programs.get_or_insert_default().insert(number, Arc::downgrade(&loaded));
        post(json!({"c": "load", "program": number, "plan": text}));
        Ok(loaded)
    }

    /// Runs a step that has no kernel.
    fn run_on_host(&self, command: usize, reads: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let (Some(Command::Host { plan, .. }), Some(host)) =
            (self.program.commands.get(command), self.hosts.get(command))
        else {
            return Err(Error::value(format!("command {command}"), "is not a host step"));
        };
        let executable = match host.get() {
            Some(executable) => executable.clone(),
            None => {
                let request = PrepareRequest { layouts: &[], keeps: &[], text: Text::Special };
                let made = Cpu.prepare((**plan).clone(), &request)?;
                host.get_or_init(|| made).clone()
            }
        };
        let argument = |bytes: &Vec<u8>| Cpu.upload(bytes).map(|storage| Argument { storage, offset: 0 });
        let mut arguments = reads.iter().map(argument).collect::<Result<Vec<_>>>()?;
        let results = executable.run(&mut arguments, None)?;
        Ok(results.iter().map(|s| s.host::<u8>().unwrap_or_default().to_vec()).collect())
    }

    /// Returns memory of an operand that the program's kernels can read. New memory is added to
    /// `temporaries`, which owns it.
    fn operand(&self, a: &Argument, b: usize, temporaries: &mut Vec<Block>) -> Result<Slot> {
        let bytes = self.program.buffers[b].bytes();
        if bytes == 0 {
            return Ok(None);
        }
        if a.storage.device() != HOST && a.offset.is_multiple_of(ALIGN) {
            let location = block_of(&a.storage)?.location;
            // Kernels read small operands from the heap. A small part of a large tensor is in another buffer,
            // so it is copied.
            let is_heap = self.program.memory(b) == gradus_gpu::Memory::Heap;
            if let Some((buffer, start)) = location.filter(|(buffer, _)| (*buffer == 0) == is_heap) {
                return Ok(Some((buffer, start + a.offset)));
            }
        }
        let block = self.copied(a, bytes)?;
        let slot = block.location;
        temporaries.push(block);
        Ok(slot)
    }

    /// Allocates memory and copies the value of an argument to it.
    fn copied(&self, a: &Argument, bytes: usize) -> Result<Block> {
        let block = self.memory.take(bytes)?;
        let Some(to) = block.location else { return Ok(block) };
        if let Some(all) = a.storage.host::<u8>() {
            if bytes > HOST_OPERAND {
                let why =
                    format!("cannot read a tensor of {bytes} bytes on the cpu; move it to the device first");
                return Err(Error::device(NAME, why));
            }
            page()?.write(to.0, to.1, &all[a.offset..a.offset + bytes]);
        } else if let Some(from) = block_of(&a.storage)?.location {
            copy(from, a.offset, to, bytes)?;
        }
        Ok(block)
    }

    fn check(&self, arguments: &[Argument]) -> Result<()> {
        let program = &self.program;
        if arguments.len() != program.inputs.len() {
            let why = format!("must be {}, got {}", program.inputs.len(), arguments.len());
            return Err(Error::value("the number of arguments", why));
        }
        let fits = |(a, b): (&Argument, &usize)| {
            a.offset.saturating_add(program.buffers[*b].bytes()) <= a.storage.len_bytes()
        };
        if !arguments.iter().zip(&program.inputs).all(fits) {
            return Err(Error::value("an argument", "has fewer bytes than its type needs"));
        }
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        programs.get_or_insert_default().remove(&self.number);
        post(json!({"c": "unload", "program": self.number}));
    }
}

/// Memory of an output.
enum Output {
    New(Block, usize),
    /// The memory of this argument.
    Taken(usize),
}

impl Executable for Loaded {
    fn run(&self, arguments: &mut Vec<Argument>, _: Option<&mut dyn Sink>) -> Result<Vec<Storage>> {
        self.check(arguments)?;
        let program = &self.program;
        let mut slots: Vec<Slot> = vec![None; program.buffers.len()];
        for (b, storage) in &self.constants {
            slots[*b] = block_of(storage)?.location;
        }
        let mut temporaries = Vec::new();
        let taken: Vec<usize> = program.donors.iter().flatten().copied().collect();
        for (i, (a, &b)) in arguments.iter().zip(&program.inputs).enumerate() {
            if !taken.contains(&i) {
                slots[b] = self.operand(a, b, &mut temporaries)?;
            }
        }
        let mut outputs = Vec::with_capacity(program.outputs.len());
        for (k, &b) in program.outputs.iter().enumerate() {
            let bytes = program.buffers[b].bytes();
            let Some(i) = program.donors.get(k).copied().flatten() else {
                let block = self.memory.take(bytes)?;
                slots[b] = block.location;
                outputs.push(Output::New(block, bytes));
                continue;
            };
            let a = &arguments[i];
            let own = a.storage.is_unique() && a.offset == 0 && a.storage.len_bytes() == bytes;
            let (slot, output) = if own && a.storage.device() != HOST {
                (block_of(&a.storage)?.location, Output::Taken(i))
            } else {
                // The old value is still in use, so a copy is overwritten.
                let block = self.copied(a, bytes)?;
                (block.location, Output::New(block, bytes))
            };
            slots[program.inputs[i]] = slot;
            slots[b] = slot;
            outputs.push(output);
        }
        if program.needs_arena() {
            let arena = self.memory.arena(program.arena)?;
            for (b, buffer) in program.buffers.iter().enumerate() {
                if let BufferLocation::Arena(at) = buffer.location {
                    slots[b] = Some((arena, at));
                }
            }
        }
        post(json!({"c": "run", "program": self.number, "slots": slots}));
        drop(temporaries);
        self.runs.fetch_add(1, Ordering::Relaxed);
        let mut given: Vec<Option<Argument>> = arguments.drain(..).map(Some).collect();
        let output = |output| match output {
            Output::New(block, bytes) => self.memory.storage(block, bytes),
            Output::Taken(i) => {
                let gone = || Error::verify("an argument was donated to two outputs");
                Ok(given[i].take().ok_or_else(gone)?.storage)
            }
        };
        outputs.into_iter().map(output).collect()
    }

    fn explain(&self) -> String {
        self.program.explained(Some(&self.plan))
    }

    fn code(&self) -> Vec<Code> {
        let code = |(step, text): (usize, &str)| Code { step, body: CodeBody::Text(text.to_string()) };
        self.program.texts().map(code).collect()
    }

    fn steps(&self) -> Vec<String> {
        self.plan.steps.iter().map(|step| step.title()).collect()
    }

    fn costs(&self) -> Vec<Work> {
        self.plan.steps.iter().map(|step| step.work(&self.plan)).collect()
    }

    fn arena(&self) -> usize {
        self.program.arena
    }

    fn done(&self) -> Done {
        let runs = self.runs.load(Ordering::Relaxed) as usize;
        Done { work: self.plan.work().times(runs), iterations: 0 }
    }
}

/// Returns the location of a row-major storage in the page's buffers.
pub(crate) fn location_of(storage: &Storage, offset: usize) -> Result<Value> {
    let location = block_of(storage)?.location;
    Ok(location.map_or(Value::Null, |(buffer, start)| json!([buffer, start + offset])))
}
