//! Writes GGUF files atomically, one tensor at a time.

use super::{ALIGNMENT, DEFAULT_ALIGNMENT, Format, MAGIC, Metadata, VERSION, Value};
use crate::atomic;
use gradus_ir::{Result, Shape};
use gradus_tensor::Tensor;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

/// The elements of a tensor to write.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Bytes in a format, as stored in another file.
    Bytes(Format, Shape, &'a [u8]),
    /// A tensor, in the format of its dtype.
    Tensor(Tensor),
}

/// A tensor to write.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub content: Content<'a>,
}

impl Entry<'_> {
    /// Returns format, shape and number of bytes, or the reason why the tensor cannot be written.
    fn head(&self) -> std::result::Result<(Format, Shape, usize), String> {
        let (format, shape) = match &self.content {
            Content::Bytes(format, shape, _) => (*format, shape.clone()),
            Content::Tensor(t) => {
                t.check().map_err(|e| e.to_string())?;
                let format = Format::of_dtype(t.dtype());
                (format.ok_or_else(|| format!("GGUF has no format for {}", t.dtype()))?, t.shape())
            }
        };
        if !format.is_in_files() {
            return Err(format!("GGUF has no format {}", format.name()));
        }
        if shape.len() > super::MAX_AXES || shape.contains(&0) {
            return Err(format!("GGUF has no tensors of shape {shape}"));
        }
        let row = shape.last().copied().unwrap_or(1);
        let fits = row.is_multiple_of(format.block_elements());
        let bytes = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let bytes = bytes.filter(|_| fits).and_then(|n| format.bytes_of(n));
        let bytes = bytes.ok_or_else(|| format!("shape {shape} does not fit format {}", format.name()))?;
        match &self.content {
            Content::Bytes(_, _, given) if given.len() != bytes => {
                Err(format!("the content has {} bytes, but shape {shape} needs {bytes}", given.len()))
            }
            _ => Ok((format, shape, bytes)),
        }
    }
}

/// Writes metadata and tensors to a file atomically.
pub fn write(path: impl AsRef<Path>, metadata: &Metadata, tensors: &[Entry<'_>]) -> Result<()> {
    let path = path.as_ref();
    let stated = metadata.get(ALIGNMENT).map_or(Some(DEFAULT_ALIGNMENT as i64), Value::integer);
    let alignment = stated
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| n.is_power_of_two() && (8..=1 << 16).contains(n));
    let Some(alignment) = alignment else {
        return Err(atomic::failed(path, format!("`{ALIGNMENT}` is not a power of two from 8 to 65536")));
    };
    if let Some((name, _)) = metadata.iter().find(|(_, v)| !is_uniform(v)) {
        return Err(atomic::failed(
            path,
            format!("metadata `{name}` is an array with values of another type than it declares"),
        ));
    }
    let (mut names, mut table, mut at) = (HashSet::new(), Vec::new(), 0usize);
    for entry in tensors {
        let refused = |why| atomic::failed(path, format!("tensor `{}` cannot be written: {why}", entry.name));
        if entry.name.is_empty() || entry.name.len() > super::MAX_NAME {
            return Err(refused(format!("its name must have 1 to {} bytes", super::MAX_NAME)));
        }
        if !names.insert(&entry.name) {
            return Err(refused("its name occurs twice".to_string()));
        }
        let (format, shape, bytes) = entry.head().map_err(refused)?;
        push_text(&mut table, &entry.name);
        table.extend((shape.len() as u32).to_le_bytes());
        shape.iter().rev().for_each(|n| table.extend((*n as u64).to_le_bytes()));
        table.extend(format.id().to_le_bytes());
        table.extend((at as u64).to_le_bytes());
        at += bytes.next_multiple_of(alignment);
    }
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    head.extend((metadata.len() as u64).to_le_bytes());
    for (name, v) in metadata.iter() {
        push_text(&mut head, name);
        head.extend((v.kind() as u32).to_le_bytes());
        push_value(&mut head, v);
    }
    head.extend(table);
    atomic::write_with(path, |file| {
        let failed = |e: io::Error| atomic::failed(path, e);
        write_aligned(file, &head, alignment).map_err(failed)?;
        for entry in tensors {
            match &entry.content {
                Content::Bytes(_, _, bytes) => write_aligned(file, bytes, alignment).map_err(failed)?,
                Content::Tensor(t) => write_aligned(file, &t.to_bytes()?, alignment).map_err(failed)?,
            }
        }
        Ok(())
    })
}

/// Returns true if the values of an array, also of nested ones, have the type that the array declares.
fn is_uniform(v: &Value) -> bool {
    match v {
        Value::Array(kind, items) => items.iter().all(|v| v.kind() == *kind && is_uniform(v)),
        _ => true,
    }
}

/// Writes bytes, and zeros up to the next multiple of the alignment.
fn write_aligned(file: &mut dyn Write, bytes: &[u8], alignment: usize) -> io::Result<()> {
    file.write_all(bytes)?;
    let zeros = bytes.len().next_multiple_of(alignment) - bytes.len();
    file.write_all(&vec![0; zeros])
}

fn push_text(out: &mut Vec<u8>, s: &str) {
    out.extend((s.len() as u64).to_le_bytes());
    out.extend(s.as_bytes());
}

fn push_value(out: &mut Vec<u8>, v: &Value) {
    match v {
        Value::U8(x) => out.extend(x.to_le_bytes()),
        Value::I8(x) => out.extend(x.to_le_bytes()),
        Value::U16(x) => out.extend(x.to_le_bytes()),
        Value::I16(x) => out.extend(x.to_le_bytes()),
        Value::U32(x) => out.extend(x.to_le_bytes()),
        Value::I32(x) => out.extend(x.to_le_bytes()),
        Value::F32(x) => out.extend(x.to_le_bytes()),
        Value::U64(x) => out.extend(x.to_le_bytes()),
        Value::I64(x) => out.extend(x.to_le_bytes()),
        Value::F64(x) => out.extend(x.to_le_bytes()),
        Value::Bool(x) => out.push(u8::from(*x)),
        Value::String(x) => push_text(out, x),
        Value::Array(kind, items) => {
            out.extend((*kind as u32).to_le_bytes());
            out.extend((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| push_value(out, item));
        }
    }
}
