//! NumPy's format of several arrays: a zip archive of .npy files.

use crate::atomic::{self, failed};
use crate::{MAX_BYTES, choose_name, npy};
use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;
use std::fmt::Display;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use zip::read::ZipFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

fn damaged(path: &Path, e: impl Display) -> Error {
    failed(path, format!("is damaged, or is not a .npz file: {e}"))
}

fn open(path: &Path) -> Result<ZipArchive<Cursor<Vec<u8>>>> {
    ZipArchive::new(Cursor::new(crate::bytes(path)?)).map_err(|e| damaged(path, e))
}

/// Unpacks one array. The sizes in an archive are not trusted, so the limit is checked while unpacking.
fn unpack<R: Read>(path: &Path, name: &str, file: ZipFile<'_, R>) -> Result<Tensor> {
    let mut array = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut array);
    read.map_err(|e| failed(path, format!("`{name}` is damaged: {e}")))?;
    if array.len() as u64 > MAX_BYTES {
        return Err(failed(path, format!("`{name}` has more than {MAX_BYTES} bytes")));
    }
    npy::parse(&array).map_err(|why| failed(path, format!("`{name}` {why}")))
}

/// Reads all arrays, by name and in the order of the archive.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let mut archive = open(path)?;
    let mut all = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|e| damaged(path, e))?;
        let full = entry.name().map_err(|e| damaged(path, e))?.into_owned();
        let name = full.strip_suffix(".npy").unwrap_or(&full).to_string();
        let array = unpack(path, &name, entry)?;
        all.push((name, array));
    }
    Ok(all)
}

/// Reads the array of this name, or the only one.
pub(crate) fn read_one(path: &Path, wanted: &str) -> Result<Tensor> {
    let mut archive = open(path)?;
    let names: Vec<String> =
        archive.file_names().flatten().map(|n| n.trim_end_matches(".npy").to_string()).collect();
    let name = choose_name(path, wanted, &names)?;
    let full = if archive.index_for_name(&name).is_some() { name.clone() } else { format!("{name}.npy") };
    let entry = archive.by_name(&full).map_err(|e| damaged(path, e))?;
    unpack(path, &name, entry)
}

/// Writes named arrays atomically, uncompressed as `numpy.savez` does.
pub fn write(path: impl AsRef<Path>, tensors: &[(String, Tensor)]) -> Result<()> {
    let path = path.as_ref();
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in tensors {
        let array =
            npy::to_bytes(tensor).map_err(|e| failed(path, format!("`{name}` cannot be written: {e}")))?;
        let large = stored.large_file(array.len() as u64 >= u64::from(u32::MAX));
        archive.start_file(format!("{name}.npy"), large).map_err(|e| failed(path, e))?;
        archive.write_all(&array).map_err(|e| failed(path, e))?;
    }
    let cursor = archive.finish().map_err(|e| failed(path, e))?;
    atomic::write(path, &[&cursor.into_inner()])
}
