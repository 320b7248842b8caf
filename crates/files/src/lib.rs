//! Tensors in files: bounds are checked on reading, and writes are atomic.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod csv;
mod digits;
pub mod gguf;
pub mod idx;
pub mod json;
pub mod npy;
// Not in the browser: the archive crate would request random numbers from the page, and pages open no
// archives.
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

/// Largest file that is read into memory, in bytes. Larger data belongs in safetensors files, which are mapped.
pub const MAX_BYTES: u64 = 4 << 30;

/// Largest number of elements that a table of facts, or the one-hot form of a text, may expand to.
const MAX_ELEMENTS: usize = 1 << 28;

/// Extensions of files that hold tensors.
pub const ENDINGS: &[&str] = &["npy", "npz", "json", "csv", "tsv", "safetensors", "txt", "md"];

/// The properties that a caller expects of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The name of the tensor, for files that hold several.
    pub name: &'a str,
    /// Number of axes, if known.
    pub rank: Option<usize>,
    /// If true, the tensor is a relation, and a table lists its facts.
    pub relation: bool,
    /// The sizes of its axes, as far as known.
    pub extents: &'a [Option<usize>],
    /// If true, and if the file does not declare a dtype, integers that floats cannot hold are read as
    /// integers.
    pub exact_integers: bool,
}

/// Returns the extension of a file name, in lower case.
pub fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Reads the tensor of a file.
pub fn read(path: &Path, wanted: &Wanted<'_>) -> Result<Tensor> {
    match ending(path).as_str() {
        "npy" => npy::read(path),
        #[cfg(not(target_arch = "wasm32"))]
        "npz" => npz::read_one(path, wanted.name),
        "json" => json::read(path, wanted.name, wanted.exact_integers),
        "csv" | "tsv" if wanted.relation => table::Facts::read(path)?.tensor(wanted.extents, 0),
        "csv" | "tsv" => table::read(path, wanted.rank, wanted.exact_integers),
        "txt" | "md" => tokens::read(path, wanted.rank),
        "safetensors" => {
            let file = safetensors::Reader::open(path)?;
            // Training checkpoints store parameters under names with a prefix.
            let (names, stored) = (file.names(), file.stored(wanted.name));
            let has_own = names.iter().any(|n| n == wanted.name);
            match !has_own && names.contains(&stored) {
                true => file.tensor(&stored),
                false => file.tensor(&choose_name(path, wanted.name, &names)?),
            }
        }
        _ => Err(unknown_extension(path, ENDINGS)),
    }
}

/// Writes one tensor to a file, in the format of its extension.
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
        _ => Err(unknown_extension(path, &["npy", "npz", "json", "csv", "tsv", "jsonl", "safetensors"])),
    }
}

fn unknown_extension(path: &Path, endings: &[&str]) -> gradus_ir::Error {
    let each: Vec<String> = endings.iter().map(|e| format!(".{e}")).collect();
    failed(path, format!("has an unknown extension; use one of {}", each.join(", ")))
}

/// Chooses among the names in a file: the requested one, or the only one.
fn choose_name(path: &Path, wanted: &str, names: &[String]) -> Result<String> {
    match names {
        _ if names.iter().any(|n| n == wanted) => Ok(wanted.to_string()),
        [only] => Ok(only.clone()),
        _ => {
            let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
            Err(failed(path, format!("has no tensor `{wanted}`, only: {}", shown.join(", "))))
        }
    }
}

/// Opens a file for reading. A named pipe is an error: opening it would wait until another process writes to
/// it. Open descriptors of the caller can be read, such as `/dev/stdin` and the `/dev/fd/63` of a shell's
/// `<(…)`.
pub fn open(path: &Path) -> Result<File> {
    refuse_named_pipe(path)?;
    File::open(path).map_err(|e| failed(path, format!("cannot be read: {e}")))
}

#[cfg(unix)]
fn refuse_named_pipe(path: &Path) -> Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let is_pipe = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo());
    // `canonicalize` fails for an anonymous pipe such as `/dev/fd/63`, because its link names no file.
    if is_pipe && path.canonicalize().is_ok_and(|own| !own.starts_with("/dev/fd")) {
        let why = "is a named pipe, which cannot be read; write its content to a file, or use standard input";
        return Err(failed(path, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_named_pipe(_: &Path) -> Result<()> {
    Ok(())
}

/// Reads all bytes of a file, up to [`MAX_BYTES`].
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    bytes_up_to(path, MAX_BYTES)
}

/// Reads all bytes of a file; more than `most` are an error.
pub fn bytes_up_to(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata().map(|m| m.len()).unwrap_or(0);
    let mut out = Vec::new();
    let too_many = || failed(path, format!("has more than {most} bytes"));
    if size > most {
        return Err(too_many());
    }
    // A pipe has no size, so the limit is also checked while reading.
    let read = file.take(most + 1).read_to_end(&mut out);
    read.map_err(|e| failed(path, format!("cannot be read: {e}")))?;
    if out.len() as u64 > most { Err(too_many()) } else { Ok(out) }
}

/// Returns the length and the checksum of a file's content as text. Equal contents give equal texts.
pub fn fingerprint(path: &Path) -> Result<String> {
    fingerprint_of(open(path)?).map_err(|e| failed(path, format!("cannot be read: {e}")))
}

/// Returns what [`fingerprint`] returns, for the bytes of any reader.
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

/// Reads a file as text.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| failed(path, "is not UTF-8 text"))
}

/// Returns the elements as floats; a complex dtype is an error.
pub fn numbers(path: &Path, tensor: &Tensor) -> Result<Vec<f64>> {
    if tensor.dtype().is_complex() {
        return Err(failed(path, "cannot hold complex numbers"));
    }
    tensor.to_dtype(DType::F64).to_vec::<f64>()
}
