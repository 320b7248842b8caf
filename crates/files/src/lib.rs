//! Tensors in files: read within bounds, written whole or not at all.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod csv;
mod digits;
pub mod idx;
pub mod json;
pub mod npy;
pub mod npz;
pub mod png;
pub mod safetensors;
pub mod table;
pub mod tokens;

use atomic::failed;
use gradus_ir::{DType, Result};
use gradus_tensor::Tensor;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How many bytes of a file are read at most: what a larger one holds belongs into safetensors, read by memory map.
pub const MOST_BYTES: u64 = 4 << 30;

/// The endings of files that hold tensors.
pub const ENDINGS: &[&str] = &["npy", "npz", "json", "csv", "tsv", "safetensors", "txt", "md"];

/// What is wanted of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The name of the tensor, for files that hold several.
    pub name: &'a str,
    /// How many axes it has, where that is known.
    pub rank: Option<usize>,
    /// Whether it is a relation: a table of it holds facts.
    pub relation: bool,
    /// The sizes of its axes, as far as they are known.
    pub extents: &'a [Option<usize>],
    /// Whether whole numbers that floats do not hold are wanted as such, where the file does not say what they are.
    pub whole: bool,
}

/// The ending of a file's name, in small letters.
pub fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The tensor that a file holds.
pub fn read(path: &Path, wanted: &Wanted<'_>) -> Result<Tensor> {
    match ending(path).as_str() {
        "npy" => npy::read(path),
        "npz" => npz::read_one(path, wanted.name),
        "json" => json::read(path, wanted.name, wanted.whole),
        "csv" | "tsv" if wanted.relation => table::Facts::read(path)?.tensor(wanted.extents, 0),
        "csv" | "tsv" => table::read(path, wanted.rank, wanted.whole),
        "txt" | "md" => tokens::read(path, wanted.rank),
        "safetensors" => {
            let file = safetensors::Reader::open(path)?;
            let name = chosen(path, wanted.name, &file.names())?;
            file.tensor(&name)
        }
        _ => Err(unknown(path, ENDINGS)),
    }
}

/// Writes one tensor to a file, in the format of its ending.
pub fn write(path: &Path, name: &str, tensor: &Tensor) -> Result<()> {
    match ending(path).as_str() {
        "npy" => npy::write(path, tensor),
        "npz" => npz::write(path, &[(name.to_string(), tensor.clone())]),
        "json" => json::write(path, tensor),
        "csv" => table::write(path, tensor, ','),
        "tsv" => table::write(path, tensor, '\t'),
        "jsonl" => json::write_rows(path, name, tensor),
        "safetensors" => {
            let named = [(name.to_string(), tensor.clone())];
            safetensors::write(path, &named, &safetensors::Notes::new())
        }
        _ => Err(unknown(path, &["npy", "npz", "json", "csv", "tsv", "jsonl", "safetensors"])),
    }
}

fn unknown(path: &Path, endings: &[&str]) -> gradus_ir::Error {
    let each: Vec<String> = endings.iter().map(|e| format!(".{e}")).collect();
    failed(path, format!("has no ending that is known: {}", each.join(", ")))
}

/// Of the names in a file: the one wanted, or the only one.
fn chosen(path: &Path, wanted: &str, names: &[String]) -> Result<String> {
    match names {
        _ if names.iter().any(|n| n == wanted) => Ok(wanted.to_string()),
        [only] => Ok(only.clone()),
        _ => {
            let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
            Err(failed(path, format!("has no tensor `{wanted}`, only: {}", shown.join(", "))))
        }
    }
}

/// All bytes of a file, unless there are too many.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| failed(path, format!("cannot be read: {e}")))?;
    let size = file.metadata().map(|m| m.len()).unwrap_or(0);
    let mut out = Vec::new();
    let too_many = || failed(path, format!("has more than {MOST_BYTES} bytes"));
    if size > MOST_BYTES {
        return Err(too_many());
    }
    // A pipe has no size: the limit holds while reading as well.
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut out);
    read.map_err(|e| failed(path, format!("cannot be read: {e}")))?;
    if out.len() as u64 > MOST_BYTES { Err(too_many()) } else { Ok(out) }
}

/// A file as text.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| failed(path, "is no text in UTF-8"))
}

/// Elements as numbers, whatever their dtype; complex ones are refused.
pub fn numbers(path: &Path, tensor: &Tensor) -> Result<Vec<f64>> {
    if tensor.dtype().is_complex() {
        return Err(failed(path, "cannot hold complex numbers"));
    }
    tensor.to_dtype(DType::F64).to_vec::<f64>()
}
