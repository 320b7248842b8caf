//! The GGUF format: metadata, then a table of tensors, then their aligned bytes.
//!
//! [`Reader`] maps a file and checks its complete header before use. It checks counts against the remaining
//! bytes, names, shapes and alignment. It also checks that tensors are inside of the file and do not overlap.
//! [`write()`] writes the same format. `gradus_models` interprets the metadata.

mod value;
mod write;

pub use gradus_ir::format::Format;
pub use value::{Kind, Metadata, Value};
pub use write::{Content, Entry, write};

use crate::atomic;
use gradus_ir::{Aval, DType, Error, Result, Shape};
use gradus_mem::FileMap;
use gradus_tensor::{Memory, Tensor};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first bytes of a file.
const MAGIC: &[u8; 4] = b"GGUF";

/// The version that is written. Version 2 has the same layout and can be read too.
const VERSION: u32 = 3;

/// The key under which files state their alignment.
const ALIGNMENT: &str = "general.alignment";

/// The alignment of files that state none.
const DEFAULT_ALIGNMENT: usize = 32;

/// Largest number of values in all arrays of the metadata together. A value takes far more bytes in memory
/// than in the file.
const MAX_VALUES: usize = 1 << 22;

/// Deepest nesting of arrays.
const MAX_DEPTH: usize = 4;

/// Largest number of tensors.
const MAX_TENSORS: usize = 1 << 20;

/// Largest number of axes of a tensor.
const MAX_AXES: usize = 4;

/// Largest length of a name, in bytes.
const MAX_NAME: usize = 1 << 10;

/// The table entry of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Its name.
    pub name: String,
    /// Storage format of its elements.
    pub format: Format,
    /// Its extents; elements along the last axis are contiguous.
    pub shape: Shape,
    /// Offset of its first byte in the file.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
}

/// A GGUF file, read by memory map: only requested tensors are read.
pub struct Reader {
    path: PathBuf,
    map: Arc<FileMap>,
    metadata: Metadata,
    tensors: Vec<Info>,
    index: HashMap<String, usize>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("tensors", &self.tensors.len()).finish()
    }
}

impl Reader {
    /// Opens a file and checks its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
        let path = path.as_ref().to_path_buf();
        crate::refuse_named_pipe(&path)?;
        let map = FileMap::open(&path).map_err(|e| atomic::failed(&path, format!("cannot be read: {e}")))?;
        let (metadata, tensors) = header(&map).map_err(|why| atomic::failed(&path, why))?;
        let index = tensors.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        Ok(Reader { path, map: Arc::new(map), metadata, tensors, index })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns all tensors, in the order of the table.
    pub fn tensors(&self) -> &[Info] {
        &self.tensors
    }

    /// Returns the table entry of a tensor.
    pub fn info(&self, name: &str) -> Result<&Info> {
        let found = self.index.get(name).and_then(|at| self.tensors.get(*at));
        found.ok_or_else(|| self.failed(format!("has no tensor `{name}`")))
    }

    /// Returns the bytes of a tensor as stored.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        let info = self.info(name)?;
        let bytes = self.map.get(info.offset..info.offset + info.bytes);
        bytes.ok_or_else(|| self.failed(format!("tensor `{name}` is outside of the file")))
    }

    /// Reads a tensor in the dtype of its elements; quantized formats and 16-bit integers as `f32`.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let (info, bytes) = (self.info(name)?, self.bytes(name)?);
        let Some(dtype) = info.format.dtype() else { return self.dequantized(name) };
        let t = Tensor::from_bytes(&Aval::new(dtype, info.shape.clone()), bytes);
        t.check().map_err(|e| self.failed(format!("tensor `{name}` cannot be read: {e}")))?;
        Ok(t)
    }

    /// Reads a tensor of any format as `f32`.
    pub fn dequantized(&self, name: &str) -> Result<Tensor> {
        let (info, bytes) = (self.info(name)?, self.bytes(name)?);
        if info.format == Format::F32 {
            return self.tensor(name);
        }
        // A file may declare more elements than fit into memory.
        let mut out = Vec::new();
        let n = info.shape.iter().product();
        out.try_reserve_exact(n).map_err(|_| self.failed(format!("no memory for tensor `{name}`")))?;
        out.resize(n, 0.0f32);
        info.format.dequantize(bytes, &mut out);
        let t = Tensor::from_slice(&out, info.shape.clone());
        t.check().map_err(|e| self.failed(format!("tensor `{name}` cannot be read: {e}")))?;
        Ok(t)
    }

    /// Returns the bytes of a tensor as a `u8` tensor of its rows: the last axis counts bytes instead of
    /// elements. The tensor reads them directly from the map; if their offset is not aligned, they are
    /// copied.
    pub fn stored(&self, name: &str) -> Result<Tensor> {
        let (info, bytes) = (self.info(name)?, self.bytes(name)?);
        let mut extents = info.shape.to_vec();
        if let Some(last) = extents.last_mut() {
            *last = info.format.bytes_of(*last).unwrap_or(0);
        }
        let aval = Aval::new(DType::U8, extents.into_iter().collect::<Shape>());
        let t = match self.map.storage(info.offset..info.offset + info.bytes) {
            Some(storage) => {
                Tensor::from_memory(Memory { storage, offset: 0, strides: row_major(&aval), aval })
            }
            None => Tensor::from_bytes(&aval, bytes),
        };
        t.check().map_err(|e| self.failed(format!("tensor `{name}` cannot be read: {e}")))?;
        Ok(t)
    }

    /// Returns the pages of the file to the system, which reads them again when they are used.
    pub fn release(&self) {
        self.map.release();
    }

    /// Makes an error that names the file.
    pub fn failed(&self, why: impl ToString) -> Error {
        atomic::failed(&self.path, why)
    }
}

/// Returns row-major strides.
fn row_major(aval: &Aval) -> Vec<i64> {
    let mut strides: Vec<i64> = Vec::with_capacity(aval.rank());
    for i in 0..aval.rank() {
        strides.push(aval.shape[i + 1..].iter().product::<usize>() as i64);
    }
    strides
}

/// Returns true if a file begins with the GGUF magic number.
pub fn is_gguf(path: &Path) -> bool {
    use std::io::Read;
    let mut first = [0; 4];
    crate::open(path).is_ok_and(|mut f| f.read_exact(&mut first).is_ok()) && &first == MAGIC
}

/// The unread part of a header.
struct Cursor<'a> {
    all: &'a [u8],
    at: usize,
    /// Number of array values read so far.
    values: usize,
}

type Parsed<T> = std::result::Result<T, String>;

impl<'a> Cursor<'a> {
    fn left(&self) -> usize {
        self.all.len() - self.at
    }

    fn take(&mut self, n: usize) -> Parsed<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.all.len());
        let end = end.ok_or_else(|| {
            format!(
                "is truncated: {n} bytes are expected at byte {}, but only {} are left",
                self.at,
                self.left()
            )
        })?;
        let bytes = &self.all[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    fn u32(&mut self) -> Parsed<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Parsed<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a count of items of at least `bytes` each, which must fit into the rest of the file.
    fn count(&mut self, bytes: usize, what: &str) -> Parsed<usize> {
        let n = self.u64()?;
        match usize::try_from(n).ok().filter(|n| *n <= self.left() / bytes) {
            Some(n) => Ok(n),
            None => {
                Err(format!("declares {n} {what}, more than its {} remaining bytes can hold", self.left()))
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let n = self.count(1, "bytes of text")?;
        let at = self.at;
        let text = std::str::from_utf8(self.take(n)?);
        text.map(str::to_string).map_err(|_| format!("has text that is not UTF-8 at byte {at}"))
    }

    fn name(&mut self, what: &str) -> Parsed<String> {
        let name = self.string()?;
        match name.len() {
            1..=MAX_NAME => Ok(name),
            n => Err(format!("has a {what} name of {n} bytes; 1 to {MAX_NAME} are allowed")),
        }
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let id = self.u32()?;
        Kind::of_id(id).ok_or_else(|| format!("has a value of unknown type {id}"))
    }

    fn value(&mut self, kind: Kind, depth: usize) -> Parsed<Value> {
        Ok(match kind {
            Kind::U8 => Value::U8(u8::from_le_bytes(self.array()?)),
            Kind::I8 => Value::I8(i8::from_le_bytes(self.array()?)),
            Kind::U16 => Value::U16(u16::from_le_bytes(self.array()?)),
            Kind::I16 => Value::I16(i16::from_le_bytes(self.array()?)),
            Kind::U32 => Value::U32(self.u32()?),
            Kind::I32 => Value::I32(i32::from_le_bytes(self.array()?)),
            Kind::F32 => Value::F32(f32::from_le_bytes(self.array()?)),
            Kind::U64 => Value::U64(self.u64()?),
            Kind::I64 => Value::I64(i64::from_le_bytes(self.array()?)),
            Kind::F64 => Value::F64(f64::from_le_bytes(self.array()?)),
            Kind::Bool => match self.array::<1>()? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                [other] => return Err(format!("has a boolean with the value {other}")),
            },
            Kind::String => Value::String(self.string()?),
            Kind::Array => {
                let kind = self.kind()?;
                if depth == MAX_DEPTH {
                    return Err(format!("nests arrays more than {MAX_DEPTH} deep"));
                }
                let n = self.count(kind.least_bytes(), "values in an array")?;
                self.values += n;
                if self.values > MAX_VALUES {
                    return Err(format!("has more than {MAX_VALUES} values in arrays"));
                }
                let items = (0..n).map(|_| self.value(kind, depth + 1)).collect::<Parsed<_>>()?;
                Value::Array(kind, items)
            }
        })
    }

    fn metadata(&mut self, n: usize) -> Parsed<Metadata> {
        let mut metadata = Metadata::new();
        for _ in 0..n {
            let name = self.name("metadata")?;
            let kind = self.kind()?;
            let value = self.value(kind, 0).map_err(|why| format!("{why} (in `{name}`)"))?;
            if metadata.set(name.clone(), value).is_some() {
                return Err(format!("has the metadata `{name}` twice"));
            }
        }
        Ok(metadata)
    }

    /// Reads one table entry. The offset is still relative to the start of the data.
    fn info(&mut self) -> Parsed<Info> {
        let name = self.name("tensor")?;
        let axes = self.u32()? as usize;
        if axes > MAX_AXES {
            return Err(format!("has tensor `{name}` with {axes} axes; at most {MAX_AXES} are allowed"));
        }
        let extents = (0..axes).map(|_| self.u64()).collect::<Parsed<Vec<u64>>>()?;
        let id = self.u32()?;
        let format = Format::of_id(id)
            .ok_or_else(|| format!("has tensor `{name}` in format {id}, which is not supported"))?;
        let offset = self.u64()?;
        // The file lists the fastest axis first.
        let shape: Option<Vec<usize>> = extents.iter().rev().map(|n| usize::try_from(*n).ok()).collect();
        let elements = shape.as_ref().and_then(|s| s.iter().try_fold(1usize, |all, n| all.checked_mul(*n)));
        let row = shape.as_ref().map_or(1, |s| s.last().copied().unwrap_or(1));
        if !row.is_multiple_of(format.block_elements()) {
            let (name_of, block) = (format.name(), format.block_elements());
            return Err(format!(
                "has tensor `{name}` with rows of {row} elements; {name_of} needs a multiple of {block}"
            ));
        }
        let bytes = elements.and_then(|n| format.bytes_of(n));
        match (shape, bytes, usize::try_from(offset)) {
            (Some(shape), Some(bytes), Ok(offset)) if !shape.contains(&0) => {
                Ok(Info { name, format, shape: shape.into_iter().collect(), offset, bytes })
            }
            _ => Err(format!("has tensor `{name}` with the impossible extents {extents:?}")),
        }
    }
}

/// Reads and checks metadata and table of a file.
fn header(all: &[u8]) -> Parsed<(Metadata, Vec<Info>)> {
    let mut c = Cursor { all, at: 0, values: 0 };
    if c.take(4).ok() != Some(MAGIC) {
        return Err("is not a GGUF file: it does not begin with `GGUF`".to_string());
    }
    match c.u32()? {
        2 | VERSION => {}
        swapped if (1..=VERSION).contains(&swapped.swap_bytes()) => {
            return Err("is a big-endian GGUF file, which is not supported".to_string());
        }
        other => return Err(format!("has GGUF version {other}; 2 and {VERSION} are supported")),
    }
    // A table entry has at least a name, the number of axes, a format and an offset.
    let tensors = c.count(24, "tensors")?;
    if tensors > MAX_TENSORS {
        return Err(format!("declares {tensors} tensors; at most {MAX_TENSORS} are allowed"));
    }
    let entries = c.count(13, "metadata entries")?;
    let metadata = c.metadata(entries)?;
    let mut infos = (0..tensors).map(|_| c.info()).collect::<Parsed<Vec<Info>>>()?;
    let alignment = match metadata.get(ALIGNMENT).map(|v| v.integer()) {
        None => DEFAULT_ALIGNMENT,
        Some(Some(n)) if (8..=1 << 16).contains(&n) && (n as u64).is_power_of_two() => n as usize,
        Some(_) => return Err(format!("has a `{ALIGNMENT}` that is not a power of two from 8 to 65536")),
    };
    resolve_offsets(&mut infos, c.at, alignment, all.len())?;
    Ok((metadata, infos))
}

/// Converts offsets to the start of the file, and checks them.
fn resolve_offsets(infos: &mut [Info], header: usize, alignment: usize, len: usize) -> Parsed<()> {
    let data = header.next_multiple_of(alignment);
    let mut order: Vec<(usize, usize, &str)> = Vec::with_capacity(infos.len());
    for info in infos.iter_mut() {
        if !info.offset.is_multiple_of(alignment) {
            return Err(format!(
                "has tensor `{}` at offset {}, which is not a multiple of {alignment}",
                info.name, info.offset
            ));
        }
        let from = info.offset.checked_add(data);
        let end = from.and_then(|from| from.checked_add(info.bytes)).filter(|end| *end <= len);
        let (Some(from), Some(_)) = (from, end) else {
            return Err(format!("is truncated: tensor `{}` is incomplete", info.name));
        };
        info.offset = from;
    }
    order.extend(infos.iter().map(|info| (info.offset, info.offset + info.bytes, info.name.as_str())));
    order.sort_unstable();
    if let Some([a, b]) = order.windows(2).map(|w| [w[0], w[1]]).find(|[a, b]| a.1 > b.0) {
        return Err(format!("has tensors `{}` and `{}` that overlap", a.2, b.2));
    }
    let mut names: Vec<&str> = order.iter().map(|(_, _, name)| *name).collect();
    names.sort_unstable();
    match names.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => Err(format!("has tensor `{}` twice", twice[0])),
        None => Ok(()),
    }
}
