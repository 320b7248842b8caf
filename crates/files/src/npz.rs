//! NumPy's format of several arrays: an archive of `.npy` files.

use crate::{MOST_BYTES, atomic, bytes, npy};
use gradus_ir::Result;
use gradus_tensor::Tensor;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Reads all arrays, by name and in the order of the archive.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let file = bytes(path)?;
    let broken =
        |e: zip::result::ZipError| atomic::failed(path, format!("is damaged, or is no archive: {e}"));
    let mut archive = ZipArchive::new(Cursor::new(&file[..])).map_err(broken)?;
    let mut all = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(broken)?;
        let full = entry.name().map_err(broken)?.into_owned();
        let name = full.strip_suffix(".npy").unwrap_or(&full).to_string();
        let mut bytes = Vec::new();
        // The archive's own checksum is compared on the way. What it says of sizes is not to be trusted, so that the
        // limit is held while unpacking.
        entry
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| atomic::failed(path, format!("`{name}` is damaged: {e}")))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(atomic::failed(path, format!("`{name}` has more than {MOST_BYTES} bytes")));
        }
        let t = npy::parse(&bytes).map_err(|why| atomic::failed(path, format!("`{name}` {why}")))?;
        all.push((name, t));
    }
    Ok(all)
}

/// Writes arrays by name, all or nothing, uncompressed as `numpy.savez` does.
pub fn write(path: impl AsRef<Path>, tensors: &[(String, Tensor)]) -> Result<()> {
    let path = path.as_ref();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, t) in tensors {
        let array =
            npy::to_bytes(t).map_err(|e| atomic::failed(path, format!("`{name}` cannot be written: {e}")))?;
        let large = array.len() > u32::MAX as usize;
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        archive.start_file(format!("{name}.npy"), options).map_err(|e| atomic::failed(path, e))?;
        archive.write_all(&array).map_err(|e| atomic::failed(path, e))?;
    }
    let file = archive.finish().map_err(|e| atomic::failed(path, e))?;
    atomic::write(path, &[file.get_ref()])
}
