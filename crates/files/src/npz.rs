//! NumPy's format of several arrays: an archive of .npy files.

use crate::atomic::{self, failed};
use crate::{MOST_BYTES, chosen, npy};
use gradus_ir::Result;
use gradus_tensor::Tensor;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The array of this name, or the only one.
pub(crate) fn read(path: &Path, wanted: &str) -> Result<Tensor> {
    let bytes = crate::bytes(path)?;
    let damaged = |e: &dyn std::fmt::Display| failed(path, format!("is damaged, or is no .npz file: {e}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let names: Vec<String> =
        archive.file_names().flatten().map(|n| n.trim_end_matches(".npy").to_string()).collect();
    let name = chosen(path, wanted, &names)?;
    let full = if archive.index_for_name(&name).is_some() { name.clone() } else { format!("{name}.npy") };
    let file = archive.by_name(&full).map_err(|e| damaged(&e))?;
    // What an archive says of sizes is not to be trusted, so that the limit is held while unpacking.
    let mut array = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut array).map_err(|e| damaged(&e))?;
    if array.len() as u64 > MOST_BYTES {
        return Err(failed(path, format!("`{name}` has more than {MOST_BYTES} bytes")));
    }
    npy::parse(&array).map_err(|why| failed(path, format!("`{name}` {why}")))
}

/// Writes arrays under their names.
pub(crate) fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in tensors {
        let array = npy::to_bytes(tensor)?;
        let large = stored.large_file(array.len() as u64 >= u64::from(u32::MAX));
        archive.start_file(format!("{name}.npy"), large).map_err(|e| failed(path, e))?;
        archive.write_all(&array).map_err(|e| failed(path, e))?;
    }
    let whole = archive.finish().map_err(|e| failed(path, e))?;
    atomic::write(path, &[&whole.into_inner()])
}
