//! Files that are whole or absent: written aside, then renamed.

use gradus_ir::{Error, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// What went wrong with a file.
pub fn failed(path: &Path, why: impl ToString) -> Error {
    Error::file(path.display().to_string(), why.to_string())
}

/// Writes a file such that at any moment, whatever dies, the path holds its old content or all of the new.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    let Some(name) = path.file_name() else { return Err(failed(path, "is no name of a file")) };
    // In the same folder, since renaming does not cross file systems; named by process, so that two do not mix.
    let aside = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let write = || {
        let mut file = File::create(&aside)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        // The bytes before the name: otherwise a crash of the machine could leave a name without them.
        file.sync_all()?;
        fs::rename(&aside, path)?;
        sync_folder(path)
    };
    write().map_err(|e: std::io::Error| {
        let _ = fs::remove_file(&aside);
        failed(path, format!("cannot be written: {e}"))
    })
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}
