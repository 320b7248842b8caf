//! Writes programs as JSON and reads them, so that a web page can run a program without the compiler.
//! `crates/web/PROTOCOL.md` describes the format. Constants are stored separately, as literals. Reading checks all numbers.
//! A native file also has the constants, a checksum, and a hash of the limits for which the program was compiled.

use crate::limits::Limits;
use crate::program::{Check, Command, GpuProgram, Memory, Module, Word};
use gradus_compile::{Buffer, BufferLocation};
use gradus_ir::{Aval, DType, Error, Literal, Result, Shape};
use serde_json::{Value, json};

/// The version of the format.
pub const VERSION: u64 = 1;

/// Largest number of workgroups, threads or offsets in a file. Larger numbers are errors.
const MAX: u64 = u32::MAX as u64;

impl GpuProgram {
    /// Converts the program to JSON. Also returns its constants, in the order of their numbers. A host step is written
    /// without its plan, so a program with host steps cannot be read back.
    pub fn to_json(&self) -> (Value, Vec<Literal>) {
        let mut constants = Vec::new();
        let buffers: Vec<Value> = self.buffers.iter().map(|b| buffer_json(b, &mut constants)).collect();
        let value = json!({
            "version": VERSION,
            "modules": self.modules.iter().map(module_json).collect::<Vec<_>>(),
            "buffers": buffers,
            "commands": self.commands.iter().map(command_json).collect::<Vec<_>>(),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "donors": self.donors,
            "arena": self.arena,
            "page": self.page,
            "checks": self.checks.iter().map(check_json).collect::<Vec<_>>(),
        });
        (value, constants)
    }

    /// Reads a program. Rejects other versions, host steps, and inconsistent numbers.
    pub fn from_json(value: &Value, constants: &[Literal]) -> Result<GpuProgram> {
        let version = number(&value["version"], "version")?;
        if version != VERSION {
            return Err(wrong(format!("has version {version}; this build reads version {VERSION}")));
        }
        let program = GpuProgram {
            modules: list(value, "modules", module)?,
            buffers: list(value, "buffers", |b| buffer(b, constants))?,
            commands: list(value, "commands", command)?,
            inputs: list(value, "inputs", index)?,
            outputs: list(value, "outputs", index)?,
            donors: list(value, "donors", |d| if d.is_null() { Ok(None) } else { index(d).map(Some) })?,
            arena: index(&value["arena"])?,
            page: if value["page"].is_null() { None } else { Some(index(&value["page"])?) },
            checks: list(value, "checks", check)?,
        };
        program.verify()?;
        Ok(program)
    }

    /// Converts the program, which was compiled for `limits`, to the content of a file: a line of JSON with version, hash and
    /// checksum, a line with the program, and the bytes of the constants.
    pub fn to_bytes(&self, limits: &Limits) -> Result<Vec<u8>> {
        if let Some(Command::Host { why, .. }) =
            self.commands.iter().find(|c| matches!(c, Command::Host { .. }))
        {
            let why = format!("has a host step ({why}); only programs without host steps can be saved");
            return Err(Error::value("a program", why));
        }
        let (program, constants) = self.to_json();
        let types: Vec<Value> =
            constants.iter().map(|c| json!([c.dtype().name(), c.shape().to_vec()])).collect();
        let mut body = json!({"program": program, "constants": types}).to_string().into_bytes();
        body.push(b'\n');
        constants.iter().for_each(|c| body.extend(c.to_bytes()));
        let header =
            json!({"version": VERSION, "limits": limits.hash(), "checksum": format!("{:016x}", hash(&body))});
        Ok([format!("{header}\n").into_bytes(), body].concat())
    }

    /// Reads a file that [`to_bytes`](GpuProgram::to_bytes) wrote. Rejects damaged files, other versions, and programs that
    /// were compiled for other limits.
    pub fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<GpuProgram> {
        let (header, body) = line(bytes)?;
        let version = number(&header["version"], "version")?;
        if version != VERSION {
            return Err(wrong(format!("has version {version}; this build reads version {VERSION}")));
        }
        if text(&header["checksum"], "checksum")? != format!("{:016x}", hash(body)) {
            return Err(wrong("is damaged: its checksum does not match; save the program again"));
        }
        if text(&header["limits"], "limits")? != limits.hash() {
            return Err(wrong(
                "was compiled for a device with other limits; compile the program for this device",
            ));
        }
        let (content, mut rest) = line(body)?;
        let constants = list(&content, "constants", |c| {
            let dtype = dtype(&c[0])?;
            let extents = c[1].as_array().ok_or_else(|| wrong("has a constant without a shape"))?;
            let extents = extents.iter().map(index).collect::<Result<Vec<usize>>>()?;
            Ok(Aval::new(dtype, Shape::from(extents)))
        })?;
        let take = |aval: Aval| {
            let size = aval.shape.iter().try_fold(aval.dtype.size(), |n, extent| n.checked_mul(*extent));
            let (own, after) = size
                .and_then(|size| rest.split_at_checked(size))
                .ok_or_else(|| wrong("lacks bytes of a constant"))?;
            rest = after;
            Literal::from_bytes(&aval, own)
        };
        let constants = constants.into_iter().map(take).collect::<Result<Vec<Literal>>>()?;
        GpuProgram::from_json(&content["program"], &constants)
    }

    /// Returns an error if a number of a buffer, of a module or of bytes is out of range.
    fn verify(&self) -> Result<()> {
        if self.page.is_some_and(|page| page == 0 || page % 16 != 0) {
            return Err(wrong("has a page size of 0 or one that is not a multiple of 16 bytes"));
        }
        let known = |b: usize| b < self.buffers.len();
        let ends = self.inputs.iter().chain(&self.outputs).all(|b| known(*b));
        let donors = self.donors.len() <= self.outputs.len()
            && self.donors.iter().flatten().all(|i| *i < self.inputs.len());
        if !ends || !donors {
            return Err(wrong(
                "has the number of an input, output or donor that is not a buffer of the program",
            ));
        }
        // Marks the buffers that commands access. A value inside of a kernel has a buffer that no command accesses, and that
        // needs no memory.
        let mut used = vec![false; self.buffers.len()];
        for command in &self.commands {
            let Command::Dispatch { parameters, .. } = command else { continue };
            for word in parameters {
                if let Word::Start { buffer, .. } = word
                    && let Some(used) = used.get_mut(*buffer)
                {
                    *used = true;
                }
            }
        }
        for (number, buffer) in self.buffers.iter().enumerate() {
            let fits = match &buffer.location {
                BufferLocation::Input(i) => self.inputs.get(*i) == Some(&number),
                BufferLocation::Output(k) => *k < self.outputs.len(),
                BufferLocation::Arena(_) if !used[number] => true,
                BufferLocation::Arena(at) => {
                    let bytes = buffer.numel.checked_mul(buffer.dtype.size());
                    let end = bytes.and_then(|bytes| bytes.checked_add(*at));
                    // A temporary must not cross the end of a page of the arena.
                    let fits = |end: &usize| self.page.is_none_or(|p| *end <= at.saturating_add(p - at % p));
                    end.filter(fits).is_some_and(|end| end <= self.arena)
                }
                BufferLocation::Constant(literal) => {
                    literal.aval().shape.numel() == buffer.numel && literal.dtype() == buffer.dtype
                }
            };
            if !fits {
                return Err(wrong(format!("has buffer {number} at a location that cannot contain it")));
            }
        }
        for command in &self.commands {
            let Command::Dispatch { module, bindings, parameters, .. } = command else {
                return Err(wrong("has a host step; only programs without host steps can be loaded"));
            };
            let writable = self.modules.get(*module).map(|m| m.writable.len());
            let pages = self.page.map_or(1, |page| self.arena.div_ceil(page));
            let memory = |m: &Memory| match m {
                Memory::Own(b) => known(*b),
                Memory::Page(k) => *k < pages,
                Memory::Heap | Memory::Arena => true,
            };
            let word = |w: &Word| !matches!(w, Word::Start { buffer, .. } if !known(*buffer));
            if writable != Some(bindings.len())
                || !bindings.iter().all(memory)
                || !parameters.iter().all(word)
            {
                return Err(wrong("has a command whose module, bindings and parameters do not match"));
            }
        }
        if !self.checks.iter().all(|c| known(c.word) && known(c.index)) {
            return Err(wrong("has a check of a buffer that does not exist"));
        }
        Ok(())
    }
}

impl Limits {
    /// Returns a hash of all limits, as text.
    fn hash(&self) -> String {
        format!("{:016x}", hash(format!("{self:?}").as_bytes()))
    }
}

/// Returns the FNV-1a hash of bytes, which is the same in every build.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// Splits the first line, which is JSON, from the rest.
fn line(bytes: &[u8]) -> Result<(Value, &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n').ok_or_else(|| wrong("has no line of JSON"))?;
    let value =
        serde_json::from_slice(&bytes[..end]).map_err(|e| wrong(format!("is not valid JSON: {e}")))?;
    Ok((value, &bytes[end + 1..]))
}

fn dtype(value: &Value) -> Result<DType> {
    let name = text(value, "dtype")?;
    DType::parse(&name).ok_or_else(|| wrong(format!("has the unknown dtype `{name}`")))
}

fn wrong(why: impl Into<String>) -> Error {
    Error::value("a saved program", why.into())
}

fn buffer_json(buffer: &Buffer, constants: &mut Vec<Literal>) -> Value {
    let location = match &buffer.location {
        BufferLocation::Input(i) => json!(["input", i]),
        BufferLocation::Output(k) => json!(["output", k]),
        BufferLocation::Arena(at) => json!(["arena", at]),
        BufferLocation::Constant(literal) => {
            constants.push(literal.clone());
            json!(["constant", constants.len() - 1])
        }
    };
    json!({"dtype": buffer.dtype.name(), "numel": buffer.numel, "place": location})
}

fn buffer(value: &Value, constants: &[Literal]) -> Result<Buffer> {
    let dtype = dtype(&value["dtype"])?;
    let at = index(&value["place"][1])?;
    let location = match value["place"][0].as_str() {
        Some("input") => BufferLocation::Input(at),
        Some("output") => BufferLocation::Output(at),
        Some("arena") => BufferLocation::Arena(at),
        Some("constant") => match constants.get(at) {
            Some(literal) => BufferLocation::Constant(literal.clone()),
            None => return Err(wrong(format!("lacks constant {at}"))),
        },
        _ => return Err(wrong("has a buffer without a valid `place`")),
    };
    Ok(Buffer { dtype, numel: index(&value["numel"])?, location })
}

fn module_json(module: &Module) -> Value {
    json!({"text": module.text, "writable": module.writable, "group": module.group})
}

fn module(value: &Value) -> Result<Module> {
    let flag =
        |v: &Value| v.as_bool().ok_or_else(|| wrong("has an entry of `writable` that is not a boolean"));
    Ok(Module {
        text: text(&value["text"], "text")?,
        writable: list(value, "writable", flag)?,
        group: three(value, "group")?,
    })
}

fn command_json(command: &Command) -> Value {
    match command {
        Command::Dispatch { module, bindings, parameters, groups, step } => json!({
            "module": module,
            "bindings": bindings.iter().map(binding_json).collect::<Vec<_>>(),
            "parameters": parameters.iter().map(word_json).collect::<Vec<_>>(),
            "groups": groups,
            "step": step,
        }),
        Command::Host { reads, writes, why, step, .. } => {
            json!({"host": why, "reads": reads, "writes": writes, "step": step})
        }
    }
}

fn command(value: &Value) -> Result<Command> {
    if let Some(why) = value["host"].as_str() {
        return Err(wrong(format!(
            "has a host step ({why}); only programs without host steps can be loaded"
        )));
    }
    Ok(Command::Dispatch {
        module: index(&value["module"])?,
        bindings: list(value, "bindings", binding)?,
        parameters: list(value, "parameters", word)?,
        groups: three(value, "groups")?,
        step: index(&value["step"])?,
    })
}

fn binding_json(memory: &Memory) -> Value {
    match memory {
        Memory::Heap => json!(-1),
        Memory::Arena => json!(-2),
        Memory::Page(k) => json!(-2 - *k as i64),
        Memory::Own(b) => json!(b),
    }
}

fn binding(value: &Value) -> Result<Memory> {
    match value.as_i64() {
        Some(-1) => Ok(Memory::Heap),
        Some(-2) => Ok(Memory::Arena),
        Some(below @ ..-2) => Ok(Memory::Page(below.unsigned_abs() as usize - 2)),
        _ => index(value).map(Memory::Own),
    }
}

fn word_json(word: &Word) -> Value {
    match word {
        Word::Value(bits) => json!(bits),
        Word::Start { buffer, plus } => json!([buffer, plus]),
    }
}

fn word(value: &Value) -> Result<Word> {
    if value.is_array() {
        let plus = number(&value[1], "parameter")? as u32;
        return Ok(Word::Start { buffer: index(&value[0])?, plus });
    }
    Ok(Word::Value(number(value, "parameter")? as u32))
}

fn check_json(check: &Check) -> Value {
    json!({"word": check.word, "index": check.index, "extent": check.extent, "step": check.step})
}

fn check(value: &Value) -> Result<Check> {
    Ok(Check {
        step: index(&value["step"])?,
        word: index(&value["word"])?,
        index: index(&value["index"])?,
        extent: index(&value["extent"])?,
    })
}

fn list<T>(value: &Value, name: &str, read: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    let all = value[name].as_array().ok_or_else(|| wrong(format!("lacks the list `{name}`")))?;
    all.iter().map(read).collect()
}

fn three(value: &Value, name: &str) -> Result<[u32; 3]> {
    let all = list(value, name, |v| number(v, name))?;
    match all[..] {
        [x, y, z] => Ok([x as u32, y as u32, z as u32]),
        _ => Err(wrong(format!("has `{name}` of {} numbers instead of 3", all.len()))),
    }
}

fn text(value: &Value, name: &str) -> Result<String> {
    value.as_str().map(str::to_string).ok_or_else(|| wrong(format!("lacks the text `{name}`")))
}

fn number(value: &Value, name: &str) -> Result<u64> {
    let fits = value.as_u64().filter(|n| *n <= MAX);
    fits.ok_or_else(|| wrong(format!("has {value} as `{name}`; it must be an unsigned 32-bit integer")))
}

fn index(value: &Value) -> Result<usize> {
    let fits = value.as_u64().and_then(|n| usize::try_from(n).ok());
    fits.ok_or_else(|| wrong(format!("has {value} as an index or a size; it must be a non-negative integer")))
}
