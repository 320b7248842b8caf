//! Tensors in files: read within bounds, written whole or not at all.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod csv;
mod digits;
pub mod gguf;
pub mod idx;
pub mod json;
pub mod npy;
// The crate that reads archives asks the page of a browser for random numbers, and pages open no archives.
#[cfg(not(target_arch = "wasm32"))]
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
        #[cfg(not(target_arch = "wasm32"))]
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
        #[cfg(not(target_arch = "wasm32"))]
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

/// Opens a file for reading. A named pipe is refused: opening it would wait until another process writes to it.
/// Descriptors that the caller has open are read as they are, such as `/dev/stdin` and the `/dev/fd/63` of a shell's `<(…)`.
pub fn open(path: &Path) -> Result<File> {
    refuse_named_pipe(path)?;
    File::open(path).map_err(|e| failed(path, format!("cannot be read: {e}")))
}

#[cfg(unix)]
fn refuse_named_pipe(path: &Path) -> Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let is_pipe = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo());
    // The pipe of a descriptor has no path of its own, so its link cannot be followed to a file.
    if is_pipe && path.canonicalize().is_ok_and(|own| !own.starts_with("/dev/fd")) {
        let why = "is a named pipe, which is not read: write its content to a file, or use standard input";
        return Err(failed(path, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_named_pipe(_: &Path) -> Result<()> {
    Ok(())
}

/// All bytes of a file, unless there are too many.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    bytes_up_to(path, MOST_BYTES)
}

/// All bytes of a file, unless there are more than `most`.
pub fn bytes_up_to(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata().map(|m| m.len()).unwrap_or(0);
    let mut out = Vec::new();
    let too_many = || failed(path, format!("has more than {most} bytes"));
    if size > most {
        return Err(too_many());
    }
    // A pipe has no size: the limit holds while reading as well.
    let read = file.take(most + 1).read_to_end(&mut out);
    read.map_err(|e| failed(path, format!("cannot be read: {e}")))?;
    if out.len() as u64 > most { Err(too_many()) } else { Ok(out) }
}

/// Length and checksum of a file's content as text: equal for equal content, wherever the file is.
pub fn fingerprint(path: &Path) -> Result<String> {
    fingerprint_of(open(path)?).map_err(|e| failed(path, format!("cannot be read: {e}")))
}

/// As [`fingerprint`], of anything that can be read.
pub fn fingerprint_of(mut content: impl Read) -> std::io::Result<String> {
    let (mut sum, mut length, mut part) = (crc32fast::Hasher::new(), 0u64, vec![0; 1 << 16]);
    loop {
        match content.read(&mut part)? {
            0 => return Ok(format!("{length} bytes with checksum {:08x}", sum.finalize())),
            n => {
                sum.update(&part[..n]);
                length += n as u64;
            }
        }
    }
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
